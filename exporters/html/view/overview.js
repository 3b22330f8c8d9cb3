// The first view: what was measured, what to act on, and every kernel in a table.

function tile(label, value, note) {
  return h(
    "div", {class: "tile"}, h("div", {class: "tile-label"}, label), h("div", {class: "tile-value"}, value),
    note && h("div", {class: "tile-note"}, note));
}

/** [[label, text]] of the machine and the run; what is unknown is left out. */
function runFacts({session, device, clocks}) {
  const hertz = (value) => (isNumber(value) ? withPrefix(value, "Hz") : null);
  const facts = [
    [
      "GPU",
      [
        device.name, device.chip, device.sm_count && `${device.sm_count} SMs`,
        device.compute_capability && `compute capability ${device.compute_capability}`
      ]
    ],
    [
      "Driver",
      [
        device.driver_version, device.cuda_driver_version && `CUDA ${device.cuda_driver_version}`,
        device.cupti_version && `CUPTI ${device.cupti_version}`
      ]
    ],
    [
      "Recorded",
      [
        session.created_at, session.tool_version && `fa-profile ${session.tool_version}`,
        session.tool_commit && `commit ${session.tool_commit}`
      ]
    ],
    [
      "Measured",
      [
        session.metric_set && `set ${session.metric_set}`, session.replay_mode && `${session.replay_mode} replay`,
        session.cache_policy && `${session.cache_policy} cache`,
        session.timed_launches > 0 && `${session.timed_launches} timed launches`
      ]
    ],
    ...clocks.map(
      (clock) =>
        [`Clocks ${clock.when}`,
         [
           clock.sm_hz && `SM ${hertz(clock.sm_hz)}`, clock.memory_hz && `memory ${hertz(clock.memory_hz)}`,
           isNumber(clock.temperature_celsius) && `${digits(clock.temperature_celsius)} \u00b0C`,
           isNumber(clock.power_watts) && `${digits(clock.power_watts)} W`
         ]]),
    ["Command", [session.command_line]],
  ];
  return facts.map(([label, parts]) => [label, parts.filter(Boolean).join(" \u00b7 ")]).filter(([,
                                                                                                 text]) => text !== "");
}

function factList(facts) {
  return h("dl", {class: "facts run"}, facts.map(([label, text]) => [h("dt", {}, label), h("dd", {}, text)]));
}

/** Findings of all kernels, the weightiest first: weight, times the kernel's share of a program's time. */
function rankedFindings(report) {
  const found = report.entries.flatMap(
    (entry) => entry.findings.map(
      (finding) => ({
        entry,
        finding,
        weight: finding.weight * (report.isProgram ? (entry.json.use && entry.json.use.share_ratio) || 0 : 1),
      })));
  return found.sort((a, b) => b.weight - a.weight);
}

/** As the text report counts them: a rule once for each kernel, whatever the number of its shapes and phases. */
function countFindings(report) {
  return new Set(rankedFindings(report).map(({entry, finding}) => JSON.stringify([entry.name, finding.id]))).size;
}

function findingCard({entry, finding}, app) {
  return h(
    "article", {class: "finding"},
    h("div", {class: "finding-head"}, h("span", {class: "chip strong"}, finding.id),
      finding.phase !== null && phaseName(finding.phase), h("span", {class: "grow"}),
      h("span", {class: "num", title: "share of the kernel's time that it is about"}, percent(finding.weight))),
    app && h("a", {href: app.link({view: "kernel", kernel: entry.key})}, entry.title), h("p", {}, finding.evidence),
    h("p", {class: "cure"}, h("strong", {}, "Cure: "), finding.cure));
}

/** Findings of one rule together: the weightiest in full, the other kernels as links. */
function findingGroup(found, app) {
  const [{entry, finding}] = found;
  const linked = 4;
  return h(
    "article", {class: "finding"},
    h("div", {class: "finding-head"}, h("span", {class: "chip strong"}, finding.id),
      h("span", {class: "muted"}, `in ${plural(found.length, "call")}`), h("span", {class: "grow"}),
      h("span", {class: "num", title: "share of the kernel's time that it is about, at most"},
        percent(finding.weight))),
    h("a", {href: app.link({view: "kernel", kernel: entry.key})}, entry.title),
    finding.phase !== null && [" ", phaseName(finding.phase)], h("p", {}, finding.evidence),
    h("p", {class: "cure"}, h("strong", {}, "Cure: "), finding.cure),
    found.length > 1 &&
      h("p", {class: "also"}, "also ",
        found.slice(1, linked + 1)
          .map(
            (each, i) =>
              [i > 0 && "; ",
               h("a", {
                 href: app.link({view: "kernel", kernel: each.entry.key}),
                 title: `${percent(each.finding.weight)}: ${each.finding.evidence}`
               },
                 each.entry.title)]),
        found.length > linked + 1 && `; ${found.length - linked - 1} more`));
}

const MOST_CARDS = 6;

function findingsView(report, app) {
  const groups = new Map();
  for (const each of rankedFindings(report)) {
    groups.set(each.finding.id, [...(groups.get(each.finding.id) || []), each]);
  }
  if (groups.size === 0) {
    return section("What to act on", {id: "findings"}, h("p", {class: "note"}, "No rule found anything."));
  }
  const cards = [...groups.values()].map((found) => findingGroup(found, app));
  const rest = cards.slice(MOST_CARDS);
  return section(
    "What to act on", {id: "findings"}, h("div", {class: "cards"}, cards.slice(0, MOST_CARDS)),
    rest.length > 0 &&
      h("details", {}, h("summary", {}, `${plural(rest.length, "more kind of finding", "more kinds of findings")}`),
        h("div", {class: "cards"}, rest)));
}

/** A long reason is cut, its share is not. */
function stallCell({reason, ratio}) {
  const share = percent(ratio);
  return h(
    "div", {class: "cut", title: `${reason} ${share}`}, h("span", {}, reason), h("span", {class: "muted"}, share));
}

function kernelColumns(report) {
  const metric = (id, title, unit, help, width = "4.6em") => ({
    id,
    title,
    kind: "num",
    width,
    help,
    value: (entry) => entry.metric(id),
    cell: (entry, value) => valueText(show(value, unit))
  });
  const fastestAt = new Map();
  for (const entry of report.entries)
    fastestAt.set(
      entry.shape, Math.max(fastestAt.get(entry.shape) || 0, entry.metric("achieved_flops_per_second") || 0));
  const programs = report.isProgram ?
    [
      {
        id: "share",
        title: "share",
        kind: "num",
        width: "4.2em",
        help: "of the time of all kernels",
        value: ({json}) => (json.use ? json.use.share_ratio : null),
        cell: (entry, value) => valueText(percent(value))
      },
      {
        id: "total",
        title: "total",
        kind: "num",
        width: "4.8em",
        help: "GPU time of all launches",
        value: (entry) => entry.total,
        cell: (entry, value) => valueText(show(value, "seconds"))
      },
      {
        id: "launches",
        title: "launches",
        kind: "num",
        width: "4.8em",
        value: ({json}) => (json.use ? json.use.launches : null),
        cell: (entry, value) => valueText(isNumber(value) ? value.toLocaleString("en-US") : ABSENT)
      },
    ] :
    [
      {
        id: "shape",
        title: "shape",
        width: "8em",
        help: "batch, heads, sequence length, head dimension",
        value: (entry) => entry.shape || null
      },
      {
        id: "correct",
        title: "correct",
        width: "4.2em",
        value: (entry) =>
          (entry.correct === null ? null :
             entry.correct        ? "yes" :
                                    "no"),
        cell: (entry, value) => (value === "no" ? h("strong", {class: "bad"}, "no") : valueText(value || ABSENT))
      },
    ];
  return [
    {
      id: "kernel",
      title: "kernel",
      width: "minmax(8em, 1.2fr)",
      value: (entry) => entry.name,
      cell: (entry) =>
        h("span", {class: entry.part === null ? "kernel-name" : "kernel-name part", title: entry.name},
          entry.part === null ? entry.kernel : entry.part)
    },
    ...programs,
    {
      id: "time",
      title: "time",
      kind: "num",
      width: "4.8em",
      help: "median of one call, without the profiler",
      value: (entry) => entry.time,
      cell: (entry, value) => valueText(show(value, "seconds"))
    },
    {
      id: "achieved",
      title: "achieved",
      kind: "num",
      width: "9em",
      help: "FLOPs of the shape per second; the bar: of the fastest at the shape",
      value: (entry) => entry.metric("achieved_flops_per_second"),
      cell: (entry, value) => (
        isNumber(value) ? heatCell(value, fastestAt.get(entry.shape), "accent", show(value, "flops_per_second"), true) :
                          valueText(ABSENT))
    },
    metric("tensor_core_utilization_ratio", "tensor", "ratio", "tensor pipe active"),
    metric("achieved_occupancy_ratio", "occup.", "ratio", "achieved occupancy"),
    metric("compute_sol_ratio", "SM", "ratio", "busiest compute unit, of its peak"),
    metric("memory_sol_ratio", "memory", "ratio", "busiest memory unit, of its peak"),
    {
      id: "stall",
      title: "top stall",
      width: "minmax(8em, 1fr)",
      value: (entry) => (entry.topStall ? entry.topStall.reason : null),
      cell: (entry) => (entry.topStall ? stallCell(entry.topStall) : valueText(ABSENT))
    },
    {
      id: "phases",
      title: "time by phase",
      width: "minmax(9em, 1.4fr)",
      help: "sorted by the largest phase's share",
      value: (entry) => (entry.topPhase ? entry.topPhase.metrics.phase_time_ratio : null),
      kind: "bar",
      cell: (entry) => phaseBar(entry, {height: 18}) || valueText(ABSENT)
    },
  ];
}

function kernelTable(report, app) {
  const columns =
    kernelColumns(report).filter((column) => report.entries.some((entry) => column.value(entry) !== null));
  const shapes = report.shapes.filter(Boolean);
  const shown = findTable(app, "kernels", columns, report.entries, {
    label: "kernels",
    find: "a kernel, phase or finding",
    textOf: searchText,
    choice: shapes.length > 1 ? {
      name: "shape",
      label: "shape",
      options: [["", "all shapes"], ...shapes.map((text) => [text, text])],
      keeps: (entry, shape) => shape === "" || entry.shape === shape
    } :
                                null,
    usual: {sort: report.isProgram ? "share" : null},
    prefix: "",
    hint: "Enter opens a row; titles sort",
    keyOf: (entry) => entry.key,
    open: (entry) => app.go({view: "kernel", kernel: entry.key}),
    rowClass: (entry) => (entry.part === null ? "" : "part"),
  });
  const names = [...new Set(report.entries.flatMap((entry) => entry.phases.map(({phase}) => phase)))];
  return section("Kernels", {id: "kernels"}, shown, names.length > 0 && phaseLegend(names.slice(0, 24)));
}

function searchText(entry) {
  if (!entry.searched) {
    entry.searched = searchable(
      entry.title, ...entry.phases.map(({phase}) => phase), ...entry.json.findings.map(({id}) => id),
      entry.json.bottleneck, ...entry.json.launches.map((launch) => launch.kernel_name));
  }
  return entry.searched;
}

/** "7 kernels at 3 shapes" */
function measuredText(report) {
  const kernels =
    plural(new Set(report.entries.filter(({part}) => part === null).map(({kernel}) => kernel)).size, "kernel");
  const shapes = report.shapes.filter(Boolean).length;
  return shapes > 0 ? `${kernels} at ${plural(shapes, "shape")}` : kernels;
}

function summaryTiles(report) {
  const calls = report.entries.filter(({part}) => part === null);
  const checked = calls.filter(({correct}) => correct !== null);
  const wrong = checked.filter(({correct}) => !correct);
  const best = calls.filter((entry) => entry.metric("achieved_flops_per_second") !== null)
                 .sort((a, b) => b.metric("achieved_flops_per_second") - a.metric("achieved_flops_per_second"))[0];
  const found = countFindings(report);
  return h(
    "div", {class: "tiles"}, tile("Measured", plural(calls.length, "call"), measuredText(report)),
    checked.length > 0 &&
      tile(
        "Correct", `${checked.length - wrong.length} of ${checked.length}`,
        wrong.length > 0 ? h("strong", {class: "bad"}, wrong.map(({title}) => title).join(", ")) :
                           "against a float64 reference"),
    best && tile("Fastest", withPrefix(best.metric("achieved_flops_per_second"), "FLOP/s"), best.title),
    tile(
      "Findings", String(found),
      found > 0 ? `the weightiest: ${rankedFindings(report)[0].finding.id}` : "no rule found anything"));
}

function rooflineOverview(report, app) {
  const calls = report.entries.filter(({part}) => part === null);
  const shapes = report.shapes.filter(
    (shape) => calls.some((entry) => entry.shape === shape && kernelPoint(entry) && roofsOf(entry).length > 0));
  if (shapes.length === 0) return null;
  const place = h("div", {});
  const state = app.keep("roofline", {shape: shapes[0]});
  if (shapes.includes(app.state["roofline-shape"])) state.shape = app.state["roofline-shape"];
  const changed = () => {
    app.state["roofline-shape"] = state.shape === shapes[0] ? undefined : state.shape;
    app.changed();
  };
  function draw() {
    const chosen = calls.filter((entry) => entry.shape === state.shape);
    const points =
      chosen.map((entry) => ({point: kernelPoint(entry, shorten(entry.kernel.replace(/[<(].*/s, ""), 20)), entry}))
        .filter(({point}) => point);
    const first = points.find(({entry}) => roofsOf(entry).length > 0);
    if (!first) return place.replaceChildren(h("p", {class: "note"}, "Not measured at this shape."));
    return place.replaceChildren(
      h("div", {class: "columns"},
        rooflineChart(
          roofsOf(first.entry), points.slice(0, 60).map(({point}) => point),
          `roofline of ${plural(points.length, "kernel")}`),
        h("div", {}, rooflineTable(points, app))));
  }
  const select = shapes.length > 1 &&
    h("select", {
                  "aria-label": "shape of the roofline",
                  onchange: () => {
                    state.shape = select.value;
                    changed();
                    draw();
                  }
                 },
      shapes.map((shape) => h("option", {value: shape}, shape)));
  if (select) select.value = state.shape;
  changed();
  draw();
  return section("Roofline", {id: "roofline"}, select && h("div", {class: "toolbar"}, select), place);
}

function rooflineTable(points, app) {
  return table(
    [
      {
        id: "kernel",
        title: "kernel",
        value: ({entry}) => entry.kernel,
        cell: ({entry}) =>
          h("a", {class: "kernel-name", title: entry.title, href: app.link({view: "kernel", kernel: entry.key})},
            entry.kernel)
      },
      {
        id: "intensity",
        title: "FLOP/B, DRAM",
        kind: "num",
        value: ({point}) => point.intensity,
        cell: (row, value) => withPrefix(value, "")
      },
      {
        id: "flops",
        title: "executed",
        kind: "num",
        value: ({point}) => point.flops,
        cell: (row, value) => withPrefix(value, "FLOP/s")
      },
      {
        id: "ratio",
        title: "of the roofline",
        kind: "num",
        value: ({entry}) => entry.metric("roofline_ratio"),
        cell: (row, value) => valueText(percent(value))
      },
    ],
    points.slice(0, 60), {caption: "roofline", sort: "flops"});
}

/** What is missing, by kind. */
function lossesView(report) {
  const {losses} = report.document;
  if (losses.length === 0) return section("Missing data", {id: "losses"}, h("p", {class: "note"}, "Nothing was lost."));
  const kinds = losses.reduce((map, loss) => map.set(loss.kind, [...(map.get(loss.kind) || []), loss]), new Map());
  return section(
    "Missing data", {id: "losses"},
    [...kinds].sort((a, b) => a[1].length - b[1].length).map(([kind, list]) => lossGroup(kind, list)));
}

function lossGroup(kind, list) {
  const total = list.reduce((sum, loss) => sum + loss.count, 0);
  const details =
    h("details", {
      ontoggle: () => {
        if (!details.open || details.children.length > 1) return;
        details.append(
          table(
            [
              {id: "subject", title: "what", value: ({subject}) => subject},
              {id: "reason", title: "why", value: ({reason}) => reason},
              {id: "count", title: "count", kind: "num", value: (loss) => loss.count},
            ],
            list.slice(0, 500), {caption: kind}),
          list.length > 500 && h("p", {class: "note"}, `and ${list.length - 500} more`));
      }
    },
      h("summary", {}, h("strong", {}, kind), ` ${total.toLocaleString("en-US")} `,
        h("span", {class: "muted"}, `${list[0].subject}: ${list[0].reason}${list.length > 1 ? ", \u2026" : ""}`)));
  return details;
}

function overview(report, app) {
  const {device, session} = report.document;
  return [
    h("h1", {tabindex: -1},
      report.isProgram ? (session.command_line || "Program").split(" -- ").pop() : measuredText(report)),
    h("p", {class: "lead"},
      [device.name, device.driver_version && `driver ${device.driver_version}`, session.created_at]
        .filter(Boolean)
        .join(" \u00b7 ")),
    !session.complete && h("p", {class: "warning"}, "The run ended early. What was recorded is complete."),
    report.isProgram ? programTiles(report) : summaryTiles(report),
    attempt("What to act on", () => findingsView(report, app)),
    report.isProgram && attempt("The time of the program", () => programView(report, app)),
    attempt("The table of kernels", () => kernelTable(report, app)),
    attempt("The roofline", () => rooflineOverview(report, app)),
    attempt("Missing data", () => lossesView(report)),
    attempt(
      "How it was measured", () => section("How it was measured", {id: "run"}, factList(runFacts(report.document)))),
  ];
}
