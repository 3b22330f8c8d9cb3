// The charts of a kernel: its phases, where warps wait, the roofline, speed of light, occupancy.

function phaseRows(phase) {
  const {metrics} = phase;
  return [
    ["time", show(metrics.phase_time_seconds, "seconds")], ["of the kernel", percent(metrics.phase_time_ratio)],
    ["instructions", count(metrics.phase_instructions)],
    ...phase.stalls.slice(0, 3).map((stall) => [stall.reason, percent(stall.ratio)])
  ];
}

/** One bar for the kernel's time, a part for each phase. Null: no phases were measured. */
function phaseBar(entry, options = {}) {
  const parts = entry.phases.filter(({metrics}) => metrics.phase_time_ratio > 0);
  if (parts.length === 0) return null;
  const text = parts.map((phase) => `${phase.phase} ${percent(phase.metrics.phase_time_ratio)}`).join(", ");
  return stackedBar(
    parts.map((phase) => ({
                label: phase.phase,
                ratio: phase.metrics.phase_time_ratio,
                class: phaseClass(phase.phase),
                rows: () => phaseRows(phase),
              })),
    {label: `time by phase: ${text}`, ...options});
}

/** A bar of a stall mix; `ratio`: its length of the chart's width; `issuing`: as of stallMix(). */
function stallBar(stalls, ratio, label, height = 14, issuing = null) {
  const mix = stallMix(stalls, issuing);
  return stackedBar(
    mix.map(({group, ratio: share, reasons}) => ({
              label: group.title,
              ratio: share * ratio,
              class: `s-${group.group}`,
              rows: () => [["share", percent(share)], ...reasons.map((each) => [each.reason, percent(each.ratio)])],
            })),
    {
      height,
      labels: false,
      label: `${label}: ${mix.map((each) => `${each.group.title} ${percent(each.ratio)}`).join(", ")}`
    });
}

function swatch(className) {
  return s(
    "svg", {class: "swatch", width: 12, height: 12, "aria-hidden": "true"},
    s("rect", {class: `fill ${className}`, width: 12, height: 12, rx: 2}));
}

function stallLegend() {
  return h(
    "ul", {class: "legend", "aria-label": "colours of stalls"},
    STALLS.groups.map((group) => h("li", {title: group.help}, swatch(`s-${group.group}`), group.title)));
}

function phaseLegend(names) {
  return h(
    "ul", {class: "legend", "aria-label": "colours of phases"},
    names.map((name) => h("li", {}, swatch(phaseClass(name)), name)));
}

function phaseName(name) {
  return h("span", {class: "phase-name"}, swatch(phaseClass(name)), name);
}

/** A row for each phase: its bar is as long as its time, and split by what warps waited for. */
function phaseTable(entry, metricHelp, app) {
  const longest = Math.max(...entry.phases.map(({metrics}) => metrics.phase_time_ratio || 0));
  const metric = (id) => (phase) => phase.metrics[id];
  const number = (id, title, unit, help) => ({
    id,
    title,
    kind: "num",
    help: help || metricHelp(id),
    value: metric(id),
    cell: (phase, value) => valueText(show(value, unit))
  });
  return table(
    [
      {id: "phase", title: "phase", value: ({phase}) => phase, cell: ({phase}) => phaseName(phase)},
      {
        id: "bar",
        title: "time, by what warps did",
        sortable: false,
        value: () => null,
        cell: (phase) => {
          const ratio = longest > 0 ? (phase.metrics.phase_time_ratio || 0) / longest : 0;
          return h(
            "div", {class: "phase-time"},
            phase.stalls.length > 0 ?
              stallBar(phase.stalls, ratio, `${phase.phase}, what its warps did`, 18) :
              ratioBar(ratio, {label: `${phase.phase}: stalls not known`, kind: "s-unknown", height: 18}));
        }
      },
      number("phase_time_ratio", "of the time", "ratio"),
      number("phase_time_seconds", "time", "seconds"),
      number("phase_instructions", "instructions", "instructions"),
      number("phase_tensor_utilization_ratio", "tensor", "ratio"),
      number("phase_mufu_utilization_ratio", "MUFU", "ratio"),
      number("phase_bank_conflict_ratio", "conflicts", "ratio"),
      number("phase_coalescing_ratio", "coalesced", "ratio"),
    ],
    entry.phases, {
      caption: "phases",
      sort: "phase_time_ratio",
      open: (phase) => phaseDetails(phase, metricHelp),
      opened: openedPhases(app)
    });
}

/** Which phases are open, as the address has it. */
function openedPhases(app) {
  const names = new Set((app.state.open || "").split("\n").filter(Boolean));
  return {
    has: ({phase}) => names.has(phase),
    set: ({phase}, flag) => {
      if (flag)
        names.add(phase);
      else
        names.delete(phase);
      app.state.open = [...names].join("\n");
      app.changed();
    }
  };
}

function phaseDetails(phase, metricHelp) {
  const known = Object.entries(phase.metrics).filter(([, value]) => value !== null);
  return h(
    "div", {class: "columns"}, h("div", {}, h("h3", {}, "What its warps did"), stallTable(phase.stalls)),
    h("div", {}, h("h3", {}, "Counters"),
      h("dl", {class: "facts"},
        known.map(
          ([id, value]) =>
            [h("dt", {title: metricHelp(id)}, metricHelp.label(id)),
             h("dd", {class: "num"}, show(value, metricHelp.unit(id)))]))));
}

function stallTable(stalls) {
  if (stalls.length === 0) return h("p", {class: "note"}, "Not known: it has too few samples.");
  return table(
    [
      {
        id: "reason",
        title: "stall reason",
        value: ({reason}) => reason,
        cell: ({reason}) =>
          h("span", {class: "phase-name", title: stallHelp(reason)}, swatch(`s-${stallGroup(reason).group}`), reason)
      },
      {
        id: "bar",
        title: "",
        sortable: false,
        value: () => null,
        cell: (stall) =>
          h("div", {class: "short-bar"},
            ratioBar(
              stall.ratio / stalls[0].ratio,
              {label: percent(stall.ratio), kind: `s-${stallGroup(stall.reason).group}`, height: 10}))
      },
      {id: "ratio", title: "share", kind: "num", value: ({ratio}) => ratio, cell: (stall, value) => percent(value)},
    ],
    stalls, {caption: "stalls", sort: "ratio"});
}

const SPEEDS = [
  ["compute_sol_ratio", "Compute"],
  ["memory_sol_ratio", "Memory"],
  ["l1_sol_ratio", "L1"],
  ["l2_sol_ratio", "L2"],
  ["dram_sol_ratio", "DRAM"],
  ["tensor_core_utilization_ratio", "Tensor pipe"],
  ["fma_pipe_ratio", "FMA pipe"],
  ["alu_pipe_ratio", "ALU pipe"],
  ["xu_pipe_ratio", "XU pipe"],
  ["lsu_pipe_ratio", "LSU pipe"],
  ["issue_slot_utilization_ratio", "Issue slots"],
  ["sm_active_ratio", "SMs active"],
];

function speedOfLight(entry, metricHelp) {
  return table(
    [
      {
        id: "name",
        title: "unit",
        sortable: false,
        value: ([, title]) => title,
        cell: ([id, title]) => h("span", {title: metricHelp(id)}, title)
      },
      {
        id: "bar",
        title: "of its peak",
        sortable: false,
        value: () => null,
        cell: ([id, title]) =>
          h("div", {class: "short-bar wide"},
            ratioBar(entry.metric(id), {label: `${title} ${percent(entry.metric(id))}`}))
      },
      {
        id: "value",
        title: "",
        kind: "num",
        sortable: false,
        value: ([id]) => entry.metric(id),
        cell: (row, value) => valueText(percent(value))
      },
    ],
    SPEEDS, {caption: "speed of light"});
}

function roofsOf(entry) {
  const bytes = entry.metric("peak_dram_bytes_per_second");
  return [["peak_tensor_flops_per_second", "tensor"], ["peak_mma_sync_flops_per_second", "mma.sync"]]
    .map(([id, title]) => ({flops: entry.metric(id), bytes, title}))
    .filter(({flops}) => bytes > 0 && flops > 0)
    .map((roof) => ({...roof, label: `${roof.title} ${withPrefix(roof.flops, "FLOP/s")}`}));
}

/** The kernel by its DRAM traffic; null: not counted. */
function kernelPoint(entry, text) {
  const intensity = entry.metric("arithmetic_intensity_dram");
  const flops = entry.metric("executed_flops_per_second");
  if (!(intensity > 0) || !(flops > 0)) return null;
  return {
    intensity,
    flops,
    text,
    label: entry.title,
    class: "point-kernel",
    rows: () => [
      ["executed", withPrefix(flops, "FLOP/s")], ["intensity, DRAM", withPrefix(intensity, "FLOP/B")],
      ["of the roofline", percent(entry.metric("roofline_ratio"))]],
  };
}

/** [[unit, seconds]]: the least time that each unit needs for a phase's work, at the clock of the profiled pass. */
function leastTimes(entry, metrics) {
  const cycles = entry.metric("peak_l1_bytes_per_second") / 128;  // of all SMs, a second
  const tensor = entry.metric("gmma_instructions") > 0 ? null : entry.metric("peak_mma_sync_flops_per_second");
  return [
    ["tensor cores", metrics.phase_tensor_flops, tensor || entry.metric("peak_tensor_flops_per_second")],
    ["fp32", metrics.phase_flops, entry.metric("peak_fp32_flops_per_second")],
    ["MUFU", metrics.phase_mufu_utilization_ratio * metrics.phase_time_seconds, 1],
    ["shared memory", metrics.phase_shared_wavefronts, cycles], ["L1", metrics.phase_global_bytes, 128 * cycles],
    ["instruction issue", metrics.phase_instructions, 4 * cycles]
  ].filter(([, work]) => work > 0)
    .map(([unit, work, peak]) => [unit, work / peak]);
}

const MOST_OVERSHOOT = 1.1;  // shares of time are sampled; far above, the work runs while other phases are sampled

/** {flops, ratio, unit}: the FLOP/s that the phase would have if its busiest unit were never idle. Null: the recording
    lacks the peaks, or the phase's time does not hold its work. */
function ownRoof(entry, metrics, work) {
  if (entry.metric("peak_fp32_flops_per_second") === null || entry.metric("peak_l1_bytes_per_second") === null)
    return null;
  const [unit, least] = leastTimes(entry, metrics).reduce((a, b) => (b[1] > a[1] ? b : a));
  const ratio = least / metrics.phase_time_seconds;
  const flops = work / least;
  return isNumber(flops) && ratio <= MOST_OVERSHOOT ? {flops, ratio: Math.min(1, ratio), unit} : null;
}

/** Phases by the bytes of global memory that they asked L1 for. */
function phasePoints(entry) {
  return entry.phases
    .map((phase) => {
      const {metrics} = phase;
      const work = (metrics.phase_tensor_flops || 0) + (metrics.phase_flops || 0);
      if (!(work > 0) || !(metrics.phase_time_seconds > 0) || metrics.phase_global_bytes === null) return null;
      const intensity = metrics.phase_global_bytes > 0 ? work / metrics.phase_global_bytes : null;
      const flops = work / metrics.phase_time_seconds;
      const roof = ownRoof(entry, metrics, work);
      return {
        roof,
        intensity,
        flops,
        text: phase.phase,
        label: phase.phase,
        mark: "diamond",
        class: phaseClass(phase.phase),
        rows: () => [
          ["executed", withPrefix(flops, "FLOP/s")], ["FLOPs", withPrefix(work, "")],
          ["global memory", show(metrics.phase_global_bytes, "bytes")],
          ["intensity, L1", intensity === null ? "no bytes" : withPrefix(intensity, "FLOP/B")],
          ...(
            roof ?
              [["its own roof", withPrefix(roof.flops, "FLOP/s")], ["of it", `${percent(roof.ratio)}, ${roof.unit}`]] :
              [])],
      };
    })
    .filter(Boolean);
}

function ownRoofColumns() {
  const ofRoof = (value) => ({roof}) => (roof ? value(roof) : null);
  return [
    {
      id: "roof",
      title: "its roof",
      kind: "num",
      value: ofRoof(({flops}) => flops),
      cell: (point, value) => valueText(isNumber(value) ? withPrefix(value, "FLOP/s") : ABSENT)
    },
    {
      id: "ratio",
      title: "of it",
      kind: "num",
      value: ofRoof(({ratio}) => ratio),
      cell: (point, value) => valueText(percent(value))
    },
    {id: "unit", title: "by", value: ofRoof(({unit}) => unit)},
  ];
}

function pointTable(points) {
  return h(
    "details", {}, h("summary", {}, "The chart as a table"),
    table(
      [
        {id: "label", title: "what", value: ({label}) => label},
        {
          id: "intensity",
          title: "FLOP/B",
          kind: "num",
          value: ({intensity}) => intensity,
          cell: (point, value) => (value === null ? "no bytes" : withPrefix(value, ""))
        },
        {
          id: "flops",
          title: "executed",
          kind: "num",
          value: ({flops}) => flops,
          cell: (point, value) => withPrefix(value, "FLOP/s")
        },
        ...(points.some(({roof}) => roof) ? ownRoofColumns() : []),
      ],
      points, {caption: "roofline", sort: "flops"}));
}

function kernelRoofline(entry) {
  const roofs = roofsOf(entry);
  const kernel = kernelPoint(entry, "kernel");
  const points = [...(kernel ? [kernel] : []), ...phasePoints(entry)];
  if (roofs.length === 0 || points.length === 0)
    return h("p", {class: "note"}, "Not measured: it takes the counters of the sets full or roofline.");
  return h(
    "div", {}, rooflineChart(roofs, points, `roofline of ${entry.title}`),
    h("p", {class: "note"}, "The circle is the kernel, by its DRAM traffic. ",
      "Diamonds are phases, by the bytes of global memory that they asked L1 for: ",
      "caches may have served them, so the DRAM roof does not bound them."),
    points.some(({roof}) => roof) &&
      h("p", {class: "note"}, "The line above a diamond ends at the phase's own roof: its FLOP/s if its busiest unit ",
        "(tensor cores, fp32, MUFU, shared memory, L1 or instruction issue) were never idle. ",
        "A phase whose work overlaps other phases has none: its share of the time does not hold that work."),
    pointTable(points));
}

function occupancyView(entry) {
  const {occupancy} = entry.json;
  const achieved = entry.metric("achieved_occupancy_ratio");
  if (!occupancy && achieved === null) return h("p", {class: "note"}, "Not measured.");
  const several = entry.json.launches.length > 1;  // then the two are not of the same kernels
  const theoretical = occupancy ? occupancy.theoretical_ratio : entry.metric("theoretical_occupancy_ratio");
  return h(
    "div", {},
    ratioBar(
      achieved,
      {label: `achieved ${percent(achieved)}, theoretical ${percent(theoretical)}`, mark: theoretical, height: 18}),
    h("dl", {class: "facts"}, h("dt", {}, several ? "achieved by all kernels" : "achieved"),
      h("dd", {class: "num"}, valueText(percent(achieved))),
      h("dt", {}, several ? "theoretical of the longest (the mark)" : "theoretical (the mark)"), h("dd", {class: "num"}, valueText(percent(theoretical))), occupancy && [
        h("dt", {}, "limited by"),
        h("dd", {}, occupancy.limiters.map((limiter) => h("span", {class: "chip"}, limiter))),
        h("dt", {}, "blocks per SM"), h("dd", {class: "num"}, occupancy.blocks_per_sm), h("dt", {}, "waves"),
        h("dd", {class: "num"}, digits(occupancy.waves))
      ]));
}
