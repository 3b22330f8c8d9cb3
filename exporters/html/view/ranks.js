// Recordings of one program's processes side by side: what the ranks differ in is what the fastest of them wait for.

class RanksApp extends App {
  constructor() {
    super();
    this.name = "ranks";
    this.ranks = documentOf("ranks");
    const [first] = this.ranks.ranks;
    this.about = first ? aboutText(first.device, first.created_at) : "";
    this.places = [["Ranks", "ranks"], ["Kernels", "kernels"], ["NVTX ranges", "nvtx"]];
  }

  content() {
    const {ranks, spread_ratio: spread, kernels, nvtx} = this.ranks;
    const most = Math.max(0, ...ranks.map((rank) => rank.kernel_ns));
    return [
      h("h1", {tabindex: -1}, `${plural(ranks.length, "recording")} side by side`),
      h("div", {class: "tiles"},
        tile("Spread", percent(most > 0 ? spread : null), "of the kernels' time: most less least, of the mean"),
        tile("Kernels", String(kernels.length), "by full name"), tile("NVTX ranges", String(nvtx.length), "by path")),
      section(
        "Ranks", {id: "ranks"},
        table(
          [
            {id: "recording", title: "recording", value: ({recording}) => recording},
            {
              id: "gpu",
              title: "GPU",
              value: ({device}) => device.name,
              cell: ({device}) => [device.name || valueText(ABSENT), h("span", {class: "muted"}, ` #${device.ordinal}`)]
            },
            {id: "driver", title: "driver", value: ({device}) => device.driver_version},
            {
              id: "bar",
              title: "time of all kernels",
              sortable: false,
              value: () => null,
              cell: (rank) =>
                h("div", {class: "phase-time"},
                  ratioBar(most > 0 ? rank.kernel_ns / most : 0, {label: nanoseconds(rank.kernel_ns), height: 16}))
            },
            {
              id: "kernels",
              title: "",
              kind: "num",
              value: (rank) => rank.kernel_ns,
              cell: (rank, value) => nanoseconds(value)
            },
            {
              id: "busy",
              title: "GPU busy",
              kind: "num",
              value: (rank) => rank.busy_ratio,
              cell: (rank, value) => valueText(percent(value))
            },
            {
              id: "watched",
              title: "watched",
              kind: "num",
              value: (rank) => rank.watched_ns,
              cell: (rank, value) => nanoseconds(value)
            },
            {
              id: "launches",
              title: "launches",
              kind: "num",
              value: (rank) => rank.launches,
              cell: (rank, value) => value.toLocaleString("en-US")
            },
            {
              id: "complete",
              title: "ended",
              value: ({complete}) => (complete ? "itself" : "killed"),
              cell: ({complete}) => (complete ? "itself" : h("strong", {class: "bad"}, "killed"))
            },
          ],
          ranks, {caption: "ranks", order: this.tableState("ranks", {})})),
      this.times("Kernels", "kernels", kernels, "kernel"),
      nvtx.length > 0 && this.times("NVTX ranges", "nvtx", nvtx, "range"),
    ];
  }

  /** A row for each kernel or range: a small bar for each rank, and their spread. */
  times(title, id, rows, name) {
    const shown = findTable(
      this, id,
      [
        {
          id: "name",
          title: name,
          width: "minmax(16em, 1.4fr)",
          value: (row) => row[name],
          cell: (row) => {
            const label = h("span", {class: "kernel-name", title: row[name]}, row[name]);
            label.style.paddingLeft = `${Math.min(row.level || 0, 12)}em`;
            return label;
          }
        },
        {
          id: "mean",
          title: "mean",
          kind: "num",
          width: "6em",
          value: (row) => row.mean_ns,
          cell: (row, value) => nanoseconds(value)
        },
        {
          id: "spread",
          title: "spread",
          kind: "num",
          width: "6em",
          help: "most less least, of the mean",
          value: (row) => (row.mean_ns > 0 ? row.spread_ratio : null),
          cell: (row, value) => valueText(percent(value))
        },
        {
          id: "bars",
          title: "by rank",
          sortable: false,
          width: "minmax(12em, 1fr)",
          value: () => null,
          cell: (row) => this.bars(row)
        },
      ],
      rows, {label: title, find: `a ${name}`, textOf: (row) => searchable(row[name])});
    return section(title, {id}, shown);
  }

  bars(row) {
    const most = Math.max(...row.total_ns);
    const width = 100 / row.total_ns.length;
    const text =
      row.total_ns
        .map((value, i) => `${this.ranks.ranks[i].recording} ${value > 0 ? nanoseconds(value) : "did not run"}`)
        .join(", ");
    const chart = s("svg", {class: "bar", width: "100%", height: 24, role: "img", "aria-label": text});
    row.total_ns.forEach((value, i) => {
      const tall = most > 0 ? 22 * value / most : 0;
      const bar = s("rect", {
        class: "fill accent",
        x: `${i * width}%`,
        width: `${width * 0.86}%`,
        y: 24 - tall,
        height: Math.max(tall, 0.5)
      });
      chart.append(
        withTip(bar, this.ranks.ranks[i].recording, () => [["time", value > 0 ? nanoseconds(value) : "did not run"]]));
    });
    return chart;
  }
}
