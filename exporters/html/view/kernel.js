// One kernel: what it costs, why, and where.

function metricHelpOf(definitions) {
  const help = (id) => (definitions[id] ? definitions[id].help : "");
  help.unit = (id) => (definitions[id] ? definitions[id].unit : "");
  help.label = (id) => (definitions[id] ? definitions[id].label : id);
  return help;
}

function kernelTiles(entry) {
  const {timing, verification, judgement, not_as_certified} = entry.json;
  const achieved = entry.metric("achieved_flops_per_second");
  return h(
    "div", {class: "tiles"},
    tile(
      "Time", timing ? nanoseconds(timing.median_ns) : ABSENT,
      timing ? `p05 ${nanoseconds(timing.p05_ns)}, p95 ${nanoseconds(timing.p95_ns)}, ${timing.samples} samples` :
        verification && !verification.correct ? "not timed: its result is wrong" :
        entry.correct === false               ? "its speed is not certified" :
                                                "not timed"),
    achieved !== null &&
      tile(
        "Achieved", withPrefix(achieved, "FLOP/s"),
        `of a tensor peak of ${show(entry.metric("peak_tensor_flops_per_second"), "flops_per_second")}`),
    tile(
      "Bound by", entry.json.bottleneck || ABSENT,
      entry.topStall ? `${entry.topStall.reason} ${percent(entry.topStall.ratio)}` : null),
    entry.topPhase &&
      tile(
        "Longest phase", h("span", {}, phaseName(entry.topPhase.phase)),
        `${percent(entry.topPhase.metrics.phase_time_ratio)} of the time`),
    verification &&
      tile(
        "Correct", verification.correct ? "yes" : h("strong", {class: "bad"}, "no"),
        verification.error ||
          `${verification.draws_passed} of ${verification.draws} draws, worst error ${
            isNumber(verification.max_error_ratio) ? digits(verification.max_error_ratio) : ABSENT} of the tolerance`),
    judgement &&
      tile(
        "Judged", entry.correct === false ? h("strong", {class: "bad"}, judgement.verdict) : judgement.verdict,
        not_as_certified || judgement.reason ||
          `${nanoseconds(judgement.call_ns)} a call, ${judgement.wrong_calls} of ${judgement.calls} calls wrong`),
    entry.json.use &&
      tile(
        "Launches", entry.json.use.launches.toLocaleString("en-US"),
        `${nanoseconds(entry.json.use.total_ns)}, ${percent(entry.json.use.share_ratio)} of all kernels' time`));
}

function measuredNote(phases) {
  const {inference} = phases;
  const sure = inference && inference.refusal === null ?
    `inferred from machine code: ${percent(inference.direct_ratio)} of ${inference.weighed_by} direct, ${
      percent(inference.derived_ratio)} derived, ${percent(inference.guess_ratio)} guessed` :
    `by ${phases.attribution}${
      inference && inference.refusal ? `; not inferred from machine code: ${inference.refusal}` : ""}`;
  const sampled = phases.samples > 0 ?
    `${count(phases.samples)} samples${
      isNumber(phases.period_cycles) ?
        `, one an SM every ${phases.period_cycles.toLocaleString("en-US")} cycles` :
        ""}, ${phases.dropped_samples > 0 ? `${count(phases.dropped_samples)} dropped` : "none dropped"}; ${
      percent(phases.waiting_ratio)} waited and are in no time share; ` :
    "";
  const open = phases.closures.filter(({closes}) => !closes);
  return [
    h("p", {class: "note"}, `${sampled}phases ${sure}.`),
    phases.closures.length > 0 &&
      h("p", {class: open.length > 0 ? "warning" : "note"},
        open.length > 0 ?
          `Sums that do not close: ${
            open
              .map((each) => `${each.quantity} ${count(each.phases)} in the phases, ${count(each.whole)} in the kernel`)
              .join("; ")}.` :
          `Sums over phases agree with the kernel's counters: ${
            phases.closures.map(({quantity}) => quantity).join(", ")}.`)
  ];
}

/** What is waited for; of an mbarrier that copies complete, where these are issued. */
function waitedFor(kind, copies) {
  if (copies.length === 0) return kind;
  const places = new Map();
  for (const {phase, place} of copies) places.set(phase, [...(places.get(phase) || []), place]);
  return [...places].map(([phase, lines]) => `${phase} ${lines.join(", ")}`).join("; ");
}

/** Places where warps wait for asynchronous work; those with little of the warps' time are left out. */
function waitsTable(entry) {
  const LEAST_SHARE = 0.005;
  const warpCycles = entry.metric("warps_active_cycles");
  if (!isNumber(warpCycles) || warpCycles <= 0) return null;
  const share = ({waits, waited_cycles: waited}) => waits * waited / warpCycles;
  const beside = ({waits, issued_before_cycles: issued}) => (isNumber(issued) ? waits * issued / warpCycles : 0);
  const shown = entry.json.phases.async_waits.filter((wait) => Math.max(share(wait), beside(wait)) >= LEAST_SHARE);
  if (shown.length === 0) return null;
  const most = (cycles) => Object.entries(cycles).sort((a, b) => b[1] - a[1])[0];
  const {overlap} = entry.json.phases;
  const first = overlap && most(overlap.phase_ratio);
  return h(
    "div", {},
    h("p", {class: "note"},
      "Waits for asynchronous work: how long one takes, and for groups how early they were issued before it. Hidden: of " +
        "the cycles from issue to result, those in which the warp did other work, and did not wait for something else." +
        (overlap ? ` Of all products together ${percent(overlap.work_ratio)}${
                     first ? `, ${percent(first[1])} in ${first[0]}` : ""}.` :
                   "")),
    table(
      [
        {id: "phase", title: "waits in", value: ({phase}) => phase, cell: (wait) => phaseName(wait.phase)},
        {id: "kind", title: "for", value: ({kind, copies}) => waitedFor(kind, copies)},
        {id: "place", title: "at", value: ({place}) => place, cell: ({place}) => h("span", {class: "mono"}, place)},
        {id: "times", title: "times", kind: "num", value: ({waits}) => waits, cell: (wait, value) => count(value)},
        {
          id: "cycles",
          title: "cycles",
          kind: "num",
          value: (wait) => wait.waited_cycles,
          cell: (wait, value) => count(value)
        },
        {id: "warps", title: "of warps' time", kind: "num", value: share, cell: (wait, value) => percent(value)},
        {
          id: "issued",
          title: "cycles before",
          kind: "num",
          value: (wait) => wait.issued_before_cycles,
          cell: (wait, value) => (isNumber(value) ? count(value) : "")
        },
        {
          id: "hidden",
          title: "hidden",
          kind: "num",
          value: (wait) => wait.hidden_ratio,
          cell: (wait, value) => (isNumber(value) ? percent(value) : "")
        },
        {
          id: "meanwhile",
          title: "meanwhile mostly",
          value: (wait) => (most(wait.beside_cycles) || [""])[0],
          cell: (wait, value) => (value ? phaseName(value) : "")
        },
      ],
      shown, {caption: "waits for asynchronous work"}));
}

function phasesSection(entry, metricHelp, app) {
  const {phases} = entry.json;
  if (!phases)
    return section(
      "Phases", {id: "phases"},
      h("p", {class: "note"}, "Not measured: nothing was sampled or counted inside this kernel."));
  return section(
    "Phases", {id: "phases"},
    phaseBar(entry, {height: 34}) || h("p", {class: "note"}, "The time of phases is not known: nothing was sampled."),
    phaseTable(entry, metricHelp, app), stallLegend(), waitsTable(entry), measuredNote(phases));
}

function launchTable(launches) {
  const extent = (list) => (list.every((each) => each === 0) ? null : list.join("\u00d7"));
  return table(
    [
      {
        id: "kernel",
        title: "kernel",
        value: (launch) => launch.kernel_name,
        cell: (launch) => h("span", {class: "mono wrap"}, launch.kernel_name)
      },
      {id: "part", title: "part", value: ({part}) => part},
      {id: "grid", title: "grid", kind: "num", value: ({grid}) => extent(grid)},
      {id: "block", title: "block", kind: "num", value: ({block}) => extent(block)},
      {
        id: "cluster",
        title: "cluster",
        kind: "num",
        value: ({cluster}) => extent(cluster),
        cell: (launch, value) => value || h("span", {class: "absent"}, "none")
      },
      {id: "registers", title: "registers", kind: "num", value: (launch) => launch.registers_per_thread},
      {
        id: "shared",
        title: "shared memory",
        kind: "num",
        value: (launch) => launch.static_shared_memory_bytes + launch.dynamic_shared_memory_bytes,
        cell: (launch, value) => show(value, "bytes")
      },
      {
        id: "local",
        title: "local / thread",
        kind: "num",
        value: (launch) => launch.local_memory_per_thread_bytes,
        cell: (launch, value) => show(value, "bytes")
      },
      {
        id: "duration",
        title: "took",
        kind: "num",
        value: (launch) => launch.duration_ns,
        cell: (launch, value) => valueText(nanoseconds(value))
      },
    ],
    launches, {caption: "launches"});
}

function metricsView(entry, definitions) {
  const rows = Object.entries(entry.json.metrics).map(([id, value]) => ({id, value, ...definitions[id]}));
  const search =
    h("input",
      {type: "search", class: "search", placeholder: "Find a metric", "aria-label": "find metrics", oninput: draw});
  const place = h("div", {});
  function draw() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = rows.filter((row) => words.every((word) => `${row.id} ${row.help}`.toLowerCase().includes(word)));
    place.replaceChildren(table(
      [
        {id: "id", title: "metric", value: ({id}) => id, cell: ({id}) => h("span", {class: "mono"}, id)},
        {
          id: "value",
          title: "value",
          kind: "num",
          value: ({value}) => value,
          cell: ({unit}, value) => valueText(show(value, unit))
        },
        {id: "help", title: "what it is", value: ({help}) => help},
      ],
      shown, {caption: "metrics"}));
  }
  draw();
  const known = rows.filter(({value}) => value !== null).length;
  return h(
    "details", {id: "metrics"}, h("summary", {}, `All metrics: ${known} measured, ${rows.length - known} absent`),
    h("div", {class: "toolbar"}, search), place);
}

function codeLinks(entry, report, app) {
  const heads = report.codeOf(entry);
  if (heads.length === 0)
    return h(
      "p", {class: "note"},
      entry.part === null ? "The page has no code of this kernel." : "Its code was measured with the whole call.");
  return h(
    "ul", {class: "links"},
    heads.map(
      (head) =>
        h("li", {},
          head.missing !== null ?
            h("span", {class: "note"}, `${head.function || head.kernel}: ${head.missing}`) :
            h("a", {class: "button", href: app.link({view: "code", kernel: entry.key, fn: head.index})},
              `Source and machine code of ${head.part !== null && entry.part === null ? head.part : entry.name}`),
          head.missing === null && h("span", {class: "muted mono wrap"}, ` ${head.function || ""} `),
          head.missing === null && h("span", {class: "muted"}, plural(head.of_instructions, "instruction")))));
}

/** Links to the kernels before and after this one, and to its parts. */
function kernelNavigation(entry, report, app) {
  const beside = (step, text) => {
    const other = report.entries[entry.index + step];
    return other && h("a", {href: app.link({view: "kernel", kernel: other.key}), title: other.title}, text);
  };
  const parts = report.partsOf(entry);
  return h(
    "nav", {class: "crumbs", "aria-label": "kernels"}, h("a", {href: app.link({view: "overview"})}, "All kernels"),
    beside(-1, "\u2190 previous"), beside(1, "next \u2192"),
    parts.length > 0 &&
      h("span", {},
        "parts: ", parts.map((part) => [h("a", {href: app.link({view: "kernel", kernel: part.key})}, part.part), " "])),
    entry.part !== null && report.find([entry.kernel, entry.shape].filter(Boolean).join("@")) &&
      h("a", {href: app.link({view: "kernel", kernel: [entry.kernel, entry.shape].filter(Boolean).join("@")})},
        "whole call"));
}

function stallsView(entry) {
  const {stalls} = entry.json;
  if (stalls.length === 0) return h("p", {class: "note"}, "Not measured.");
  // Counters of several passes, or of some reasons only: the rest is not what issued.
  const issuing = entry.metric("warp_issuing_ratio") ?? 0;
  return [stallBar(stalls, 1, "all warps of the kernel", 18, issuing), stallTable(stalls)];
}

function kernelView(entry, report, app) {
  const phaseHelp = metricHelpOf(report.document.phase_metrics);
  const metricHelp = metricHelpOf(report.document.metrics);
  return [
    kernelNavigation(entry, report, app),
    h("h1", {tabindex: -1}, entry.name, entry.shape && h("span", {class: "muted"}, ` \u00b7 ${entry.shape}`)),
    kernelTiles(entry),
    entry.findings.length > 0 &&
      section(
        "What to act on", {id: "findings"},
        h("div", {class: "cards"}, entry.findings.map((finding) => findingCard({entry, finding}, null)))),
    attempt("Phases", () => phasesSection(entry, phaseHelp, app)),
    attempt("The time of the call", () => timelineSection(entry, report)),
    section("Code", {id: "code-links"}, codeLinks(entry, report, app)),
    h("div", {class: "columns"},
      section("Roofline", {id: "roofline"}, attempt("The roofline", () => kernelRoofline(entry))),
      section("Speed of light", {id: "speed"}, speedOfLight(entry, metricHelp))),
    h("div", {class: "columns"},
      section("What warps did", {id: "stalls"}, attempt("The stalls", () => stallsView(entry))),
      section("Occupancy", {id: "occupancy"}, attempt("The occupancy", () => occupancyView(entry)))),
    section(
      "Launches", {id: "launches"},
      entry.json.launches.length > 0 ? launchTable(entry.json.launches) : h("p", {class: "note"}, "Not recorded.")),
    metricsView(entry, report.document.metrics),
  ];
}
