// Before and after: what moved.

const JUDGEMENT_CLASSES = {
  worse: "bad",
  better: "good"
};

/** `moved`: after less before; the arrow points to more or less, and the colour says which of them is worse. */
function judgementText(judgement, moved) {
  const isJudged = ["worse", "better", "changed"].includes(judgement);
  const mark = !isJudged || !moved ? "" : moved > 0 ? "\u25b2 " : "\u25bc ";
  return h("span", {class: JUDGEMENT_CLASSES[judgement] || "muted"}, mark, judgement);
}

/** A change as a bar from the middle: to the right is more. Its colour says whether that is worse; an arrow, that it is
    more than `most`. A change from 0 has no ratio, and is beyond any: `Infinity`. */
function changeBar(ratio, most, kind, label) {
  const known = isNumber(ratio) || Math.abs(ratio) === Infinity;
  const beyond = known && Math.abs(ratio) > most;
  const bar =
    s("svg",
      {class: "bar", width: "100%", height: 14, role: "img", "aria-label": beyond ? beyondText(label, most) : label},
      s("rect", {class: "track", width: "100%", height: 14, rx: 2}));
  if (known && most > 0) {
    const length = 50 * Math.min(1, Math.abs(ratio) / most);
    bar.append(
      s("rect", {class: `fill ${kind}`, x: `${ratio < 0 ? 50 - length : 50}%`, width: `${length}%`, height: 14}));
    if (beyond) bar.append(arrowBeyond(Math.sign(ratio), 14, "on-change"));
  }
  bar.append(s("line", {class: "middle", x1: "50%", x2: "50%", y1: 0, y2: 14}));
  return bar;
}

/** What the arrows at bars of `ratios` mean, if there are any. */
function beyondNote(ratios, most) {
  return ratios.some((ratio) => Math.abs(ratio) > most) &&
    h("p", {class: "note"}, `Bars end at \u00b1${percent(most)}. An arrow: the change is beyond that.`);
}

/** A change's ratio, as changeBar() takes it; null: one side has no value. */
function barRatio({before, after, ratio}) {
  if (isNumber(ratio) || !isNumber(before) || !isNumber(after) || before === after) return ratio;
  return Math.sign(after) * Infinity;
}

const END_OF_BARS = 0.5;  // of changes of all metrics

const CHANGE_KINDS = {
  worse: "change-worse",
  better: "change-better"
};

// What is compared and no catalogue has.
const OTHER_METRICS = {
  product_overlap_ratio: {
    label: "work during products",
    unit: "ratio",
    help: "of the cycles from a product's issue to the end of the wait for it"
  },
  correct: {label: "correct", unit: "count", help: "1: its result is correct"},
  kernel_time_share_ratio: {label: "share of the time of all kernels", unit: "ratio", help: ""},
  gpu_busy_ratio: {label: "GPU busy", unit: "ratio", help: ""},
};

/** Findings of one call that are new or gone. */
function findingChanges(before, after, changes) {
  const cards = (judgement, title, entry) => {
    const own = changes.filter((change) => change.judgement === judgement);
    return own.length > 0 &&
      [h("h3", {}, title), h("div", {class: "cards"}, own.map(({finding}) => findingCard({entry, finding}, null)))];
  };
  return changes.length > 0 ? section("Findings", {}, cards("new", "New", after), cards("gone", "Gone", before)) : null;
}

/** Waits of one call that changed; no table if none did. */
function waitChanges(waits) {
  const moved = waits.filter(({judgement}) => judgement !== "same");
  if (moved.length === 0) return null;
  const both = (text) => ({before, after}) => {
    const [first, second] = [...new Set([before, after].filter(Boolean).map(text))];
    if (second === undefined) return first;
    const file = first.slice(0, first.lastIndexOf(":") + 1);  // "" without lines
    return `${first} \u2192 ${second.startsWith(file) ? second.slice(file.length) : second}`;
  };
  const column = (id, title, text) => ({id, title, kind: "num", sortable: false, value: both(text)});
  return section(
    "Waits for asynchronous work", {id: "waits"},
    h("p", {class: "note"},
      "Places whose waits changed by a hundredth of the time of all warps before, or more: before \u2192 after, or one " +
        "value where both are equal or one side alone has the wait."),
    table(
      [
        {id: "phase", title: "waits in", value: ({phase}) => phase, cell: ({phase}) => phaseName(phase)},
        {id: "kind", title: "for", value: ({kind, before, after}) => waitedFor(kind, (after || before).copies)},
        {
          id: "place",
          title: "at",
          value: both(({place}) => place),
          cell: (wait, value) => h("span", {class: "mono"}, value)
        },
        column("times", "times", ({waits: times}) => count(times)),
        column("cycles", "cycles", ({waited_cycles: cycles}) => count(cycles)),
        column("warps", "of warps' time", ({warps_ratio: ratio}) => percent(ratio)),
        {
          id: "judgement",
          title: "is",
          value: ({judgement}) => judgement,
          cell: ({judgement, cost_ratio: cost}) => judgementText(judgement, cost)
        },
      ],
      moved, {caption: "waits for asynchronous work, before and after"}));
}

class DiffApp extends App {
  constructor() {
    super();
    this.name = "diff";
    this.diff = documentOf("diff");
    this.before = new Report(documentOf("before"), null);
    this.after = new Report(documentOf("after"), null);
    this.about = aboutText(this.after.document.device, this.after.document.session.created_at);
    this.places = [["Calls", "calls"], ["What moved", "changes"], ["Recordings", "run"]];
    this.calls = this.callsOf();
  }

  /** The entries that are compared, with their changes. */
  callsOf() {
    const calls = this.diff.entries.map(({before, after}) => ({
                                          after: this.after.entries[after],
                                          before: this.before.entries[before],
                                          changes: [],
                                          waits: [],
                                          findings: [],
                                          time: null
                                        }));
    for (const part of ["changes", "waits", "findings"]) {
      for (const each of this.diff[part]) {
        if (each.entry !== null) calls[each.entry][part].push(each);
      }
    }
    for (const call of calls) {
      call.time = call.changes.find(({metric, phase}) => metric === "duration_seconds" && phase === null) || null;
    }
    return calls;
  }

  content() {
    const call = this.state.kernel === undefined ? null : this.calls.find(({after}) => after.key === this.state.kernel);
    if (this.state.kernel !== undefined && !call) {
      return [
        h("h1", {tabindex: -1}, "Kernel not found"),
        h("p", {}, h("a", {href: this.link({view: "overview"})}, "All calls"))
      ];
    }
    return call ? this.callView(call) : this.overview();
  }

  warnings() {
    const {incomparable, notes, not_compared: apart, only_before: gone, only_after: added} = this.diff;
    return [
      incomparable.length > 0 &&
        h("p", {class: "warning"}, `Before and after are not comparable: ${incomparable.join("; ")}.`),
      notes.length > 0 && h("p", {class: "note"}, `Note: ${notes.join("; ")}.`),
      apart.length > 0 && h("p", {class: "warning"}, `Not compared: ${apart.join("; ")}.`),
      gone.length > 0 && h("p", {class: "warning"}, `Only before: ${gone.join(", ")}.`),
      added.length > 0 && h("p", {class: "note"}, `Only after: ${added.join(", ")}.`)
    ];
  }

  overview() {
    const moved = (judgement) => this.calls.filter(({time}) => time && time.judgement === judgement);
    const worst = [...moved("worse")].sort((a, b) => b.time.ratio - a.time.ratio)[0];
    const best = [...moved("better")].sort((a, b) => a.time.ratio - b.time.ratio)[0];
    const facts =
      (report) => [report.document.device.name,
                   report.document.device.driver_version && `driver ${report.document.device.driver_version}`,
                   report.document.session.created_at]
                    .filter(Boolean)
                    .join(" \u00b7 ");
    return [
      h("h1", {tabindex: -1}, "Before and after"),
      h("p", {class: "lead"}, `before: ${facts(this.before)}`, h("br"), `after: ${facts(this.after)}`),
      this.warnings(),
      this.diff.incomparable.length === 0 &&
        h("div", {class: "tiles"}, tile("Compared", plural(this.calls.length, "call")),
          tile("Slower", String(moved("worse").length), worst && `${worst.after.title} ${change(worst.time.ratio)}`),
          tile("Faster", String(moved("better").length), best && `${best.after.title} ${change(best.time.ratio)}`),
          tile("Same time", String(moved("same").length))),
      this.callTable(),
      this.changeTable(this.diff.changes, "What moved", true),
      h("div", {class: "columns", id: "run"}, section("Before", {}, factList(runFacts(this.before.document))),
        section("After", {}, factList(runFacts(this.after.document)))),
    ];
  }

  callTable() {
    const ratios = this.calls.map(({time}) => time && time.ratio);
    const most = endOfChanges(ratios);
    const shaped = this.calls.some(({after}) => after.shape);
    const shown = findTable(
      this, "calls", [
        {
          id: "kernel",
          title: "kernel",
          width: "minmax(8em, 1.3fr)",
          value: ({after}) => after.name,
          cell: ({after}) => h("span", {class: "kernel-name", title: after.title}, after.name)
        },
        shaped && {id: "shape", title: "shape", width: "10.2em", value: ({after}) => after.shape || null},
        {
          id: "before",
          title: "before",
          kind: "num",
          width: "6em",
          value: ({before}) => before.time,
          cell: (call, value) => valueText(show(value, "seconds"))
        },
        {
          id: "after",
          title: "after",
          kind: "num",
          width: "6em",
          value: ({after}) => after.time,
          cell: (call, value) => valueText(show(value, "seconds"))
        },
        {
          id: "change",
          title: "change",
          kind: "num",
          width: "6em",
          value: ({time}) => (time ? time.ratio : null),
          cell: ({time}, value) => valueText(change(value))
        },
        {
          id: "bar",
          title: "",
          sortable: false,
          width: "5em",
          value: () => null,
          cell: ({time}) =>
            (time ? changeBar(time.ratio, most, CHANGE_KINDS[time.judgement] || "change-same", change(time.ratio)) : "")
        },
        {
          id: "judgement",
          title: "time is",
          width: "8.6em",
          value: ({time}) => (time ? time.judgement : null),
          cell: ({time}) => (time ? judgementText(time.judgement, time.ratio) : valueText(ABSENT))
        },
        {
          id: "phases",
          title: "phases before",
          sortable: false,
          width: "minmax(5.9em, 1fr)",
          value: () => null,
          cell: ({before}) => phaseBar(before, {height: 16, room: 110}) || valueText(ABSENT)
        },
        {
          id: "phases-after",
          title: "phases after",
          sortable: false,
          width: "minmax(5.9em, 1fr)",
          value: () => null,
          cell: ({after}) => phaseBar(after, {height: 16, room: 110}) || valueText(ABSENT)
        },
      ].filter(Boolean),
      this.calls, {
        label: "calls",
        find: "a call",
        textOf: ({after}) => searchable(after.title),
        keyOf: ({after}) => after.key,
        open: ({after}) => this.go({view: "kernel", kernel: after.key})
      });
    return section("Calls", {id: "calls"}, shown, beyondNote(ratios, most));
  }

  /** Changes that are not "same", or all; `named`: with the call in each row. */
  changeTable(changes, title, named) {
    const help = metricHelpOf({...this.after.document.metrics, ...this.after.document.phase_metrics, ...OTHER_METRICS});
    const text = (each, value) => valueText(show(value, help.unit(each.metric)));
    const shown = findTable(
      this, named ? "changes" : "own",
      [
        named && {
          id: "kernel",
          title: "kernel",
          width: "minmax(12.3em, 1fr)",
          value: ({kernel, part, shape}) => [kernel, part, shape].filter(Boolean).join(" \u00b7 "),
          cell: (each, name) => h("span", {title: name}, name)
        },
        {
          id: "phase",
          title: "phase",
          width: "9.4em",
          value: ({phase}) => phase,
          cell: ({phase}) => (phase === null ? h("span", {class: "muted"}, "whole kernel") : phaseName(phase))
        },
        {
          id: "metric",
          title: "metric",
          width: "minmax(8em, 1.4fr)",
          value: ({metric}) => help.label(metric),
          cell: ({metric}, label) => h(
            "span", {title: `${metric}: ${help(metric)}`}, label, " ", h("span", {class: "mono muted"}, metric))
        },
        {id: "before", title: "before", kind: "num", width: "7em", value: ({before}) => before, cell: text},
        {id: "after", title: "after", kind: "num", width: "7em", value: ({after}) => after, cell: text},
        {
          id: "ratio",
          title: "change",
          kind: "num",
          width: "5.6em",
          value: ({ratio}) => (isNumber(ratio) ? Math.abs(ratio) : null),
          cell: ({ratio}) => valueText(change(ratio))
        },
        {
          id: "bar",
          title: "",
          sortable: false,
          width: "4.2em",
          value: () => null,
          cell: (each) => changeBar(
            barRatio(each), END_OF_BARS, CHANGE_KINDS[each.judgement] || "change-same",
            isNumber(each.ratio) || each.before !== 0 ? change(each.ratio) : "from 0")
        },
        {
          id: "judgement",
          title: "is",
          width: "8.6em",
          value: ({judgement}) => judgement,
          cell: ({judgement, before, after}) => judgementText(judgement, after - before)
        },
      ].filter(Boolean),
      changes, {
        label: "changes",
        find: "a kernel, phase or metric",
        textOf: ({kernel, part, shape, phase, metric}) =>
          searchable(kernel, part, shape, phase, metric, help.label(metric)),
        choice: {
          name: "judgement",
          label: "judgement",
          options: [["", "moved"], ["worse", "worse"], ["better", "better"], ["changed", "changed"], ["all", "all"]],
          keeps: ({judgement}, wanted) =>
            wanted === "all" || (wanted === "" ? judgement !== "same" : judgement === wanted)
        }
      });
    return section(title, {id: "changes"}, shown, beyondNote(changes.map(barRatio), END_OF_BARS));
  }

  callView({before, after, changes, waits, findings, time}) {
    const sides = [["before", before], ["after", after]];
    const longest = Math.max(before.time || 0, after.time || 0);
    return [
      h("nav", {class: "crumbs", "aria-label": "calls"}, h("a", {href: this.link({view: "overview"})}, "All calls")),
      h("h1", {tabindex: -1}, after.name, after.shape && h("span", {class: "muted"}, ` \u00b7 ${after.shape}`)),
      h("div", {class: "tiles"}, tile("Before", show(before.time, "seconds")),
        tile("After", show(after.time, "seconds")),
        tile("Change", time ? change(time.ratio) : ABSENT, time && judgementText(time.judgement, time.ratio))),
      section(
        "Time by phase", {id: "phases"}, h("p", {class: "note"}, "Bars are as long as the time of a call."),
        sides.map(([label, entry]) => h("div", {class: "side"}, h("span", {}, label), this.sideBar(entry, longest))),
        this.phaseChanges(before, after)),
      timelineChange(before, after),
      findingChanges(before, after, findings),
      waitChanges(waits),
      this.changeTable(changes, "What moved", false),
    ];
  }

  sideBar(entry, longest) {
    const parts = entry.phases.filter(({metrics}) => metrics.phase_time_ratio > 0);
    const length = longest > 0 && entry.time !== null ? entry.time / longest : 1;
    if (parts.length === 0) return h("span", {class: "absent"}, "no phases");
    return stackedBar(
      parts.map((phase) => ({
                  label: phase.phase,
                  ratio: phase.metrics.phase_time_ratio * length,
                  class: phaseClass(phase.phase),
                  rows: () => phaseRows(phase)
                })),
      {
        height: 26,
        label: `time by phase: ${
          parts.map((phase) => `${phase.phase} ${percent(phase.metrics.phase_time_ratio)}`).join(", ")}`
      });
  }

  phaseChanges(before, after) {
    const names = [...new Set([...after.phases, ...before.phases].map(({phase}) => phase))];
    const value = (entry, name, metric) => {
      const found = entry.phases.find(({phase}) => phase === name);
      return found ? found.metrics[metric] : null;
    };
    const rows =
      names
        .map((name) => ({
               name,
               before: value(before, name, "phase_time_seconds"),
               after: value(after, name, "phase_time_seconds"),
               shareBefore: value(before, name, "phase_time_ratio"),
               shareAfter: value(after, name, "phase_time_ratio")
             }))
        .map((row) => ({...row, moved: isNumber(row.before) && isNumber(row.after) ? row.after - row.before : null}));
    const most = Math.max(0, ...rows.map(({moved}) => Math.abs(moved || 0)));
    return table(
      [
        {id: "phase", title: "phase", value: ({name}) => name, cell: ({name}) => phaseName(name)},
        ...[["before", "time before"], ["after", "time after"]].map(
          ([id, title]) => ({
            id,
            title,
            kind: "num",
            value: (row) => row[id],
            cell: (row, seconds_) => valueText(show(seconds_, "seconds"))
          })),
        {
          id: "moved",
          title: "moved",
          kind: "num",
          value: ({moved}) => moved,
          cell: (row, moved) =>
            (isNumber(moved) ? `${moved > 0 ? "+" : "\u2212"}${seconds(Math.abs(moved))}` : valueText(ABSENT))
        },
        {
          id: "bar",
          title: "",
          sortable: false,
          value: () => null,
          cell: ({moved}) =>
            h("div", {class: "short-bar wide"},
              changeBar(moved, most, moved > 0 ? "change-worse" : "change-better", "moved"))
        },
        ...[["shareBefore", "share before"], ["shareAfter", "share after"]].map(
          ([id, title]) =>
            ({id, title, kind: "num", value: (row) => row[id], cell: (row, share) => valueText(percent(share))})),
      ],
      rows, {caption: "phases before and after", sort: "after"});
  }
}
