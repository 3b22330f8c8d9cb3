// A watched program: where its GPU time went.

function programTiles(report) {
  const {program} = report.document;
  const top = report.entries.filter(({json}) => json.use).sort((a, b) => b.json.use.total_ns - a.json.use.total_ns)[0];
  return h(
    "div", {class: "tiles"},
    tile(
      "Watched", nanoseconds(program.watched_ns),
      `${plural(program.windows, "window")}; counters were measured for ${nanoseconds(program.measuring_ns)} more`),
    tile("GPU busy", percent(program.busy_ratio), `idle ${percent(program.idle_ratio)}`),
    tile(
      "Kernels", nanoseconds(program.kernel_ns),
      `${plural(program.launches, "launch", "launches")} of ${plural(program.classes, "class", "classes")}, ${
        program.graph_launches.toLocaleString("en-US")} in CUDA graphs`),
    top &&
      tile("Most time", percent(top.json.use.share_ratio), h("span", {class: "clamp", title: top.kernel}, top.kernel)),
    program.unrecorded_ns > 0 &&
      tile(
        "Estimated", nanoseconds(program.unrecorded_ns),
        "of the time launches were counted, and their time is an estimate"));
}

const MOST_BARS = 12;

/** A bar for each launch class, the largest first. */
function timeByKernel(report, app) {
  const classes = report.entries.filter(({json}) => json.use && json.use.total_ns > 0)
                    .sort((a, b) => b.json.use.total_ns - a.json.use.total_ns);
  if (classes.length === 0) return null;
  const most = classes[0].json.use.total_ns;
  const rest = classes.slice(MOST_BARS);
  return section(
    "Time by kernel", {id: "time"},
    table(
      [
        {
          id: "kernel",
          title: "kernel",
          sortable: false,
          value: ({kernel}) => kernel,
          cell: (entry) =>
            h("a", {class: "kernel-name", href: app.link({view: "kernel", kernel: entry.key}), title: entry.kernel},
              entry.kernel)
        },
        {
          id: "bar",
          title: "GPU time, by phase where measured",
          sortable: false,
          value: () => null,
          cell: (entry) => h("div", {class: "phase-time long"}, classBar(entry, entry.json.use.total_ns / most))
        },
        {
          id: "share",
          title: "share",
          kind: "num",
          sortable: false,
          value: ({json}) => json.use.share_ratio,
          cell: (entry, value) => valueText(percent(value))
        },
        {
          id: "total",
          title: "time",
          kind: "num",
          sortable: false,
          value: ({json}) => json.use.total_ns,
          cell: (entry, value) => nanoseconds(value)
        },
        {
          id: "launches",
          title: "launches",
          kind: "num",
          sortable: false,
          value: ({json}) => json.use.launches,
          cell: (entry, value) => value.toLocaleString("en-US")
        },
      ],
      classes.slice(0, MOST_BARS), {caption: "time by kernel"}),
    rest.length > 0 &&
      h("p", {class: "note"},
        `${plural(rest.length, "more launch class", "more launch classes")} took ${
          nanoseconds(rest.reduce((sum, {json}) => sum + json.use.total_ns, 0))}: see the table of kernels.`));
}

function classBar(entry, length) {
  const parts = entry.phases.filter(({metrics}) => metrics.phase_time_ratio > 0);
  if (parts.length === 0) return ratioBar(length, {label: entry.kernel, kind: "accent", height: 18});
  return stackedBar(
    parts.map((phase) => ({
                label: phase.phase,
                ratio: phase.metrics.phase_time_ratio * length,
                class: phaseClass(phase.phase),
                rows: () => phaseRows(phase)
              })),
    {height: 18, label: `${entry.kernel} by phase`});
}

/** NVTX rows as a tree: each with its children, and the time that none of them has. */
function nvtxTree(rows) {
  const roots = [];
  const open = [];
  for (const row of rows) {
    const node = {row, children: []};
    open.length = Math.min(open.length, row.level);
    (open.length > 0 ? open[open.length - 1].children : roots).push(node);
    open.push(node);
  }
  return roots;
}

const ICICLE_ROW = 26;
const MOST_LEVELS = 12;  // what is nested deeper is in the table

/** What most of the range's time is bound by: of its launch class with the most time. */
function boundOf(row, report) {
  const entry = row.kernels[0] && report.entries.find(({kernel}) => kernel === row.kernels[0].kernel);
  return (entry && entry.json.bottleneck) || "";
}

const BOUNDS = ["compute", "memory", "latency"];

function boundLegend(bounds) {
  const known = BOUNDS.filter((bound) => bounds.has(bound));
  if (known.length === 0) return null;
  return h(
    "p", {class: "note"}, "The kernel with the most time of a range is bound by ",
    ...known.flatMap((bound) => [h("span", {class: `bound-key bound-${bound}`}, bound), " "]),
    bounds.has("") ? "or has no counters." : "");
}

/** The ranges' GPU time: a row for each level, a width for each share.
    `chosen`: the node that fills the width, or null. */
function icicle(roots, chosen, choose, bound) {
  const top = chosen ? [chosen] : roots;
  const all = top.reduce((sum, {row}) => sum + row.gpu_ns, 0);
  const depth = (nodes) => (nodes.length === 0 ? 0 : 1 + Math.max(...nodes.map(({children}) => depth(children))));
  const levels = Math.min(depth(top), MOST_LEVELS);
  const chart = s("svg", {
    class: "icicle",
    width: "100%",
    height: levels * ICICLE_ROW,
    role: "img",
    "aria-label": "GPU time by NVTX range; the table below has the same"
  });
  const draw = (nodes, from, level) => {
    let at = from;
    for (const node of nodes) {
      const width = all > 0 ? node.row.gpu_ns / all : 0;
      if (width > 0.0008 && level < MOST_LEVELS) {
        chart.append(icicleCell(node, at, width, level, choose, bound(node.row)));
        draw(node.children, at, level + 1);
      }
      at += width;
    }
  };
  draw(top, 0, 0);
  return chart;
}

function icicleCell(node, at, width, level, choose, bound) {
  const {row} = node;
  const cell = s(
    "svg",
    {x: `${100 * at}%`, width: `${100 * width}%`, y: level * ICICLE_ROW, height: ICICLE_ROW - 1, class: "icicle-cell"},
    s("rect",
      {class: `fill level${level % 4}${bound && ` bound-${bound}`}`, width: "100%", height: ICICLE_ROW - 1, rx: 2}),
    width > 0.03 && s("text", {class: "icicle-label", x: 6, y: ICICLE_ROW / 2, dy: "0.32em"}, row.name));
  cell.addEventListener("click", () => choose(node));
  return withTip(
    cell, row.path,
    () => [
      ["GPU time", nanoseconds(row.gpu_ns)], ["of all kernels", percent(row.share_ratio)],
      ["launches", row.launches.toLocaleString("en-US")], ["ranges", row.ranges.toLocaleString("en-US")],
      ["host time", nanoseconds(row.host_ns)], ...(bound ? [["bound by", bound]] : [])]);
}

function nvtxView(report, app) {
  const {nvtx, nvtx_ratio: inside} = report.document.program;
  if (nvtx.length === 0)
    return section("NVTX ranges", {id: "nvtx"}, h("p", {class: "note"}, "The program has no NVTX ranges."));
  const roots = nvtxTree(nvtx);
  const place = h("div", {});
  const nodes = new Map();
  const name = (node) => {
    nodes.set(node.row, node);
    node.children.forEach(name);
  };
  roots.forEach(name);
  const show_ = (node) => {
    app.state.range = node && node.row.path.length <= MOST_SHOWN ? node.row.path : undefined;
    app.changed();
    place.replaceChildren(
      node ?
        h("p", {class: "note"}, button("All ranges", () => show_(null), {class: "plain"}), ` \u203a ${node.row.path}`) :
        "",
      icicle(roots, node, show_, (row) => boundOf(row, report)));
  };
  show_([...nodes.values()].find(({row}) => row.path === app.state.range) || null);
  const long = new LongTable(
    [
      {
        id: "range",
        title: "range",
        width: "minmax(14em, 2fr)",
        value: ({path}) => path,
        cell: (row) => {
          const name = h("span", {class: "kernel-name", title: row.path}, row.name);
          name.style.paddingLeft = `${Math.min(row.level, 12)}rem`;
          return name;
        }
      },
      {
        id: "share",
        title: "share",
        kind: "num",
        width: "5em",
        help: "of the time of all kernels",
        value: (row) => row.share_ratio,
        cell: (row, value) => valueText(percent(value))
      },
      {
        id: "gpu",
        title: "GPU time",
        kind: "num",
        width: "6em",
        value: (row) => row.gpu_ns,
        cell: (row, value) => nanoseconds(value)
      },
      {
        id: "host",
        title: "host time",
        kind: "num",
        width: "6em",
        value: (row) => row.host_ns,
        cell: (row, value) => nanoseconds(value)
      },
      {
        id: "launches",
        title: "launches",
        kind: "num",
        width: "6em",
        value: (row) => row.launches,
        cell: (row, value) => value.toLocaleString("en-US")
      },
      {
        id: "ranges",
        title: "ranges",
        kind: "num",
        width: "5em",
        value: (row) => row.ranges,
        cell: (row, value) => value.toLocaleString("en-US")
      },
      {
        id: "kernel",
        title: "most time in",
        width: "minmax(10em, 1fr)",
        value: (row) => (row.kernels[0] ? row.kernels[0].kernel : null),
        cell: (row) =>
          (row.kernels[0] ? h("a", {
            class: "kernel-name",
            title: row.kernels[0].kernel,
            href: kernelLink(row.kernels[0].kernel, report, app)
          },
                              row.kernels[0].kernel) :
                            valueText(ABSENT))
      },
    ],
    {label: "NVTX ranges", ...app.tableState("nvtx", {}), open: (row) => show_(nodes.get(row))});
  long.setRows(nvtx);
  return section(
    "NVTX ranges", {id: "nvtx"},
    h("p", {class: "note"}, `${percent(inside)} of the kernels' time is inside ranges. `,
      "A range includes those nested in it. A click, or Enter in the table, widens a range."),
    place, boundLegend(new Set(nvtx.map((row) => boundOf(row, report)))), long.element);
}

const MOST_LAYERS = 40;

/** Which kernels each layer launches, and what holds them back. */
function layersView(report, app) {
  const {layers} = report.document.program;
  if (layers.length === 0) return null;
  const entryOf = ({kernel}) => report.entries.find((entry) => entry.kernel === kernel);
  const why = (row) => {
    const entry = entryOf(row);
    const first = entry && entry.json.findings[0];
    return [entry && entry.json.bottleneck_evidence, first && first.id].filter(Boolean).join("; ") || null;
  };
  return section(
    "Layers", {id: "layers"},
    h("p", {class: "note"}, "NVTX ranges whose paths differ in numbers alone are one layer; without nested ranges."),
    table(
      [
        {
          id: "layer",
          title: "layer",
          value: ({layer}) => layer,
          cell: ({layer}) => h("span", {class: "kernel-name", title: layer}, layer)
        },
        {
          id: "kernel",
          title: "kernel",
          value: ({kernel}) => kernel,
          cell: ({kernel}) =>
            h("a", {class: "kernel-name", title: kernel, href: kernelLink(kernel, report, app)}, kernel)
        },
        {
          id: "share",
          title: "share",
          kind: "num",
          help: "of the time of all kernels",
          value: (row) => row.share_ratio,
          cell: (row, value) => valueText(percent(value))
        },
        {
          id: "gpu",
          title: "GPU time",
          kind: "num",
          value: (row) => row.gpu_ns,
          cell: (row, value) => nanoseconds(value)
        },
        {
          id: "launches",
          title: "launches",
          kind: "num",
          value: (row) => row.launches,
          cell: (row, value) => value.toLocaleString("en-US")
        },
        {id: "why", title: "why", value: why, cell: (row, value) => valueText(value || ABSENT)},
      ],
      layers.slice(0, MOST_LAYERS), {caption: "layers", sort: "gpu"}),
    layers.length > MOST_LAYERS &&
      h("p", {class: "note"}, `${layers.length - MOST_LAYERS} more are in the JSON report.`));
}

function kernelLink(name, report, app) {
  const entry = report.entries.find(({kernel}) => kernel === name);
  return entry ? app.link({view: "kernel", kernel: entry.key}) : null;
}

function memoryView(report) {
  const {memory} = report.document.program;
  if (memory.length === 0) return null;
  return section(
    "Copies and sets", {id: "memory"},
    table(
      [
        {id: "kind", title: "kind", value: ({kind}) => kind},
        {
          id: "share",
          title: "share",
          kind: "num",
          help: "of the time of all kernels, copies and sets",
          value: (row) => row.share_ratio,
          cell: (row, value) => valueText(percent(value))
        },
        {
          id: "total",
          title: "time",
          kind: "num",
          value: (row) => row.total_ns,
          cell: (row, value) => nanoseconds(value)
        },
        {
          id: "operations",
          title: "operations",
          kind: "num",
          value: ({operations}) => operations,
          cell: (row, value) => value.toLocaleString("en-US")
        },
        {
          id: "bytes",
          title: "bytes",
          kind: "num",
          value: ({bytes}) => bytes,
          cell: (row, value) => show(value, "bytes")
        },
        {
          id: "rate",
          title: "rate",
          kind: "num",
          value: (row) => (row.total_ns > 0 ? row.bytes / row.total_ns * 1e9 : null),
          cell: (row, value) => valueText(show(value, "bytes_per_second"))
        },
      ],
      memory, {caption: "copies and sets", sort: "total"}));
}

function programView(report, app) {
  return [timeByKernel(report, app), layersView(report, app), nvtxView(report, app), memoryView(report)];
}
