// The gate's verdict: what got worse, how sure that is, and why.

const VERDICTS = {
  PASS: "good",
  IMPROVED: "good",
  REGRESSION: "bad",
  SUSPECT: "unsure",
  INCONCLUSIVE: "unsure",
  INCOMPARABLE: "unsure",
  MISSING: "unsure",
};
const VERDICT_MARKS = {
  PASS: "\u2713",
  IMPROVED: "\u2713",
  REGRESSION: "\u2717"
};
const TIERS = ["static", "counters", "paired test", "budget"];

function verdictChip(verdict) {
  return h("span", {class: `verdict ${VERDICTS[verdict] || ""}`}, `${VERDICT_MARKS[verdict] || "?"} ${verdict}`);
}

/** Changes with their 95 % intervals on one axis. An arrow at its end in place of a dot: the change is beyond. */
function intervalCell(comparison, most) {
  const {change: middle, change_low: low, change_high: high} = comparison;
  if (!isNumber(middle)) return valueText(ABSENT);
  const at = (ratio) => `${50 + 50 * Math.max(-1, Math.min(1, ratio / most))}%`;
  const within = (ratio) => Math.abs(ratio) <= most;
  const value = within(middle) ? change(middle) : beyondText(change(middle), most);
  const label = isNumber(low) && isNumber(high) ? `${value}, 95 % from ${change(low)} to ${change(high)}` : value;
  const chart =
    s("svg", {class: "bar", width: "100%", height: 16, role: "img", "aria-label": label},
      s("rect", {class: "track", y: 7, width: "100%", height: 2}),
      s("line", {class: "middle", x1: "50%", x2: "50%", y1: 0, y2: 16}));
  const kind = `point ${
    comparison.verdict === "REGRESSION" ? "change-worse" :
      comparison.verdict === "IMPROVED" ? "change-better" :
                                          "point-kernel"}`;
  chart.append(
    within(middle) ? s("circle", {class: kind, cx: at(middle), cy: 8, r: 3.5}) :
                     arrowBeyond(Math.sign(middle), 16, kind));
  // Above the dot, with ends taller than it: a short interval is seen, too.
  if (isNumber(low) || isNumber(high)) {
    chart.append(
      s("line",
        {class: "interval", x1: isNumber(low) ? at(low) : "0%", x2: isNumber(high) ? at(high) : "100%", y1: 8, y2: 8}));
    for (const end of [low, high].filter((ratio) => isNumber(ratio) && within(ratio)))
      chart.append(s("line", {class: "interval end", x1: at(end), x2: at(end), y1: 1, y2: 15}));
  }
  return withTip(
    chart, comparison.metric,
    () => [
      ["change", change(middle)],
      ["95 % interval", isNumber(low) || isNumber(high) ? `${change(low)} to ${change(high)}` : ABSENT]]);
}

/** `what`: whose change the dots are. */
function intervalLegend(what = "change") {
  const mark = (kind) =>
    s("svg", {class: "swatch", width: 12, height: 12, "aria-hidden": "true"},
      s("circle", {class: `point ${kind}`, cx: 6, cy: 6, r: 3.5}));
  const line =
    s("svg", {class: "swatch", width: 22, height: 12, "aria-hidden": "true"},
      s("line", {class: "interval", x1: 0, x2: 22, y1: 6, y2: 6}));
  return h(
    "ul", {class: "legend", "aria-label": "marks of intervals"},
    [["change-worse", "worse"], ["change-better", "better"], ["point-kernel", "neither"]].map(
      ([kind, text]) => h("li", {}, mark(kind), `${what}: ${text}`)),
    h("li", {}, line, "its 95 % interval"),
    h("li", {},
      "middle: no change; right: more than before; an arrow, or an interval without an end: beyond the axis"));
}

class GateApp extends App {
  constructor() {
    super();
    this.name = "gate";
    this.gate = documentOf("gate");
    this.about = aboutText(
      {name: this.gate.candidate.gpu_name, driver_version: this.gate.candidate.driver_version},
      this.gate.candidate.taken_at);
    this.places = [["Cases", "cases"], ["How it was judged", "run"]];
    this.cases = this.gate.cases.map((each) => {
      const title = each.shape === null ? each.kernel : `${each.kernel} \u00b7 ${each.shape}`;
      return {
        ...each,
        title,
        key: title,
        time: each.comparisons.find(({metric, phase}) => metric === "duration_seconds" && phase === null) || null
      };
    });
    giveKeys(this.cases);
  }

  content() {
    const chosen = this.state.case === undefined ? null : this.cases.find(({key}) => key === this.state.case);
    if (this.state.case !== undefined && !chosen) {
      return [
        h("h1", {tabindex: -1}, "Case not found"),
        h("p", {}, h("a", {href: this.link({view: "overview"})}, "All cases"))
      ];
    }
    return chosen ? this.caseView(chosen) : this.overview();
  }

  overview() {
    const {verdict, headline, candidate, incomparable, notes, suspects} = this.gate;
    const counts = new Map();
    for (const each of this.cases) counts.set(each.verdict, (counts.get(each.verdict) || 0) + 1);
    const bad = this.cases.filter((each) => each.verdict === "REGRESSION").slice(0, 6);
    return [
      h("h1", {tabindex: -1}, verdictChip(verdict), " ",
        headline ? headline.replace(`${verdict}: `, "") : `${plural(this.cases.length, "case")} judged`),
      h("p", {class: "lead"},
        [
          candidate.gpu_name, candidate.driver_version && `driver ${candidate.driver_version}`,
          candidate.taken_at || this.gate.today
        ].filter(Boolean)
          .join(" \u00b7 ")),
      incomparable.length > 0 && h("p", {class: "warning"}, `Not comparable: ${incomparable.join("; ")}.`),
      suspects.length > 0 && h("p", {class: "warning"}, `To be measured again: ${suspects.join(", ")}.`),
      h("div", {class: "tiles"},
        [...counts].map(([name, number]) => tile(name, String(number), number === 1 ? "case" : "cases"))),
      bad.length > 0 && section("What got worse", {}, h("div", {class: "cards"}, bad.map((each) => this.card(each)))),
      this.caseTable(),
      section(
        "How it was judged", {id: "run"}, this.facts(),
        notes.length > 0 && [h("h3", {}, "Notes"), h("ul", {}, notes.map((note) => h("li", {}, note)))]),
    ];
  }

  card(each) {
    return h(
      "article", {class: "finding"},
      h("div", {class: "finding-head"}, h("a", {href: this.link({view: "case", case: each.key})}, each.title),
        each.phase !== null && phaseName(each.phase), h("span", {class: "grow"}),
        h("span", {class: "num"}, each.time ? change(each.time.change) : "")),
      h("p", {}, each.headline), each.why.slice(0, 3).map((why) => h("p", {class: "muted"}, why)),
      each.findings.slice(0, 1).map(
        (finding) => finding.cure !== null && h("p", {class: "cure"}, h("strong", {}, "Cure: "), finding.cure)),
      each.place !== null && h("p", {class: "mono muted"}, `${each.place.file}:${each.place.line}`));
  }

  caseTable() {
    const most = 1.15 * endOfChanges(this.cases.map(({time}) => time && time.change));
    const verdicts = [...new Set(this.cases.map(({verdict}) => verdict))];
    const shown = findTable(
      this, "cases",
      [
        {
          id: "verdict",
          title: "verdict",
          width: "10em",
          value: ({verdict}) => verdict,
          cell: ({verdict}) => verdictChip(verdict)
        },
        {
          id: "case",
          title: "case",
          width: "minmax(12em, 1fr)",
          value: ({title}) => title,
          cell: ({title}) => h("span", {class: "kernel-name", title}, title)
        },
        {
          id: "before",
          title: "baseline",
          kind: "num",
          width: "5.5em",
          value: ({time}) => (time ? time.baseline : null),
          cell: (each, value) => valueText(show(value, "seconds"))
        },
        {
          id: "after",
          title: "candidate",
          kind: "num",
          width: "5.5em",
          value: ({time}) => (time ? time.candidate : null),
          cell: (each, value) => valueText(show(value, "seconds"))
        },
        {
          id: "change",
          title: "change",
          kind: "num",
          width: "5.5em",
          value: ({time}) => (time ? time.change : null),
          cell: (each, value) => valueText(change(value))
        },
        {
          id: "interval",
          title: "time, 95 % interval",
          help: `change of the time; the axis goes from \u2212${percent(most)} to +${percent(most)}`,
          sortable: false,
          width: "10em",
          value: () => null,
          cell: ({time}) => (time ? intervalCell(time, most) : "")
        },
        {
          id: "headline",
          title: "what happened",
          width: "minmax(13em, 1.2fr)",
          value: ({headline}) => headline,
          cell: ({headline, identical}) =>
            h("span", {title: headline || ""}, headline || (identical ? "the same machine code" : ""))
        },
      ],
      this.cases, {
        label: "cases",
        find: "a case, phase or metric",
        textOf: (each) => searchable(each.title, each.headline, each.phase, ...each.why),
        choice: verdicts.length > 1 ? {
          name: "verdict",
          label: "verdict",
          options: [["", "all verdicts"], ...verdicts.map((text) => [text, text])],
          keeps: ({verdict}, wanted) => wanted === "" || verdict === wanted
        } :
                                      null,
        keyOf: ({key}) => key,
        open: ({key}) => this.go({view: "case", case: key})
      });
    const drawn = this.cases.some(({time}) => time && isNumber(time.change));
    return section(
      "Cases", {id: "cases"}, shown, drawn && intervalLegend("time"),
      drawn &&
        h("p", {class: "note"},
          `The axis goes from \u2212${percent(most)} to +${
            percent(most)}. A case may get worse in something else than its time.`));
  }

  facts() {
    const {baseline, candidate, design, today, reproduce, control} = this.gate;
    const side = (each) => [each.origin, each.gpu_name, each.driver_version && `driver ${each.driver_version}`,
                            each.cuda_runtime_version && `CUDA ${each.cuda_runtime_version}`,
                            each.tool_version && `fa-profile ${each.tool_version}`,
                            each.tool_commit && `commit ${each.tool_commit}`, each.taken_at]
                             .filter(Boolean)
                             .join(" \u00b7 ");
    return factList([
      ["Baseline", side(baseline)], ["Candidate", side(candidate)], ["Design", design], ["Judged on", today || ""],
      [
        "Control",
        control ? `${control.passed ? "passed" : "failed"}: ${plural(control.false_positives, "false alarm")} in ${
                    plural(control.trials, "comparison")} of the baseline with itself${
                    control.equal_code_trials ?
                      `, ${control.equal_code_worse} in ${control.equal_code_trials} of equal code` :
                      ""}${control.reason ? `; ${control.reason}` : ""}` :
                                            ""
      ],
      ["Again", reproduce || ""]
    ].filter(([, text]) => text !== ""));
  }

  caseView(each) {
    const most = 1.15 * endOfChanges(each.comparisons.map((comparison) => comparison.change));
    return [
      h("nav", {class: "crumbs", "aria-label": "cases"}, h("a", {href: this.link({view: "overview"})}, "All cases")),
      h("h1", {tabindex: -1}, verdictChip(each.verdict), " ", each.title),
      h("p", {class: "lead"}, each.headline),
      h("div", {class: "tiles"},
        each.time &&
          tile(
            "Time", show(each.time.candidate, "seconds"),
            `from ${show(each.time.baseline, "seconds")}: ${change(each.time.change)}`),
        each.phase !== null && tile("Got worse most", phaseName(each.phase)),
        (each.bottleneck_before || each.bottleneck_after) &&
          tile("Longest phase", each.bottleneck_after || ABSENT, `before: ${each.bottleneck_before || ABSENT}`),
        each.place !== null &&
          tile(
            "Hottest line",
            h("span", {class: "mono"},
              `${each.place.file.slice(each.place.file.lastIndexOf("/") + 1)}:${each.place.line}`),
            each.place.file)),
      each.why.length > 0 && section("Why", {}, h("ul", {}, each.why.map((why) => h("li", {}, why)))),
      each.findings.length > 0 &&
        section(
          "What to act on", {},
          h("div", {class: "cards"},
            each.findings.map(
              (finding) =>
                h("article", {class: "finding"}, h("span", {class: "chip strong"}, finding.id),
                  h("p", {}, finding.evidence),
                  finding.cure !== null && h("p", {class: "cure"}, h("strong", {}, "Cure: "), finding.cure))))),
      section(
        "Comparisons", {},
        each.comparisons.length > 0 ? this.comparisonTable(each.comparisons, most) : h("p", {class: "note"}, "None.")),
    ];
  }

  comparisonTable(comparisons, most) {
    const shown = table(
      [
        {
          id: "metric",
          title: "metric",
          value: ({metric}) => metric,
          cell: ({metric}) => h("span", {class: "mono"}, metric)
        },
        {
          id: "phase",
          title: "phase",
          value: ({phase}) => phase,
          cell: ({phase}) => (phase === null ? h("span", {class: "muted"}, "whole kernel") : phaseName(phase))
        },
        {
          id: "verdict",
          title: "verdict",
          value: ({verdict}) => verdict,
          cell: (c) => [verdictChip(c.verdict), !c.blocking && h("span", {class: "muted"}, " note")]
        },
        {
          id: "baseline",
          title: "baseline",
          kind: "num",
          value: (c) => c.baseline,
          cell: (c, value) => valueText(show(value, c.unit))
        },
        {
          id: "candidate",
          title: "candidate",
          kind: "num",
          value: (c) => c.candidate,
          cell: (c, value) => valueText(show(value, c.unit))
        },
        {
          id: "change",
          title: "change",
          kind: "num",
          value: (c) => c.change,
          cell: (c, value) => valueText(change(value))
        },
        {
          id: "interval",
          title: "95 % interval",
          sortable: false,
          value: () => null,
          cell: (c) => h("div", {class: "short-bar wide"}, intervalCell(c, most))
        },
        {
          id: "p",
          title: "p",
          kind: "num",
          value: ({p}) => p,
          cell: (c, value) => (isNumber(value) ? digits(value) : valueText(ABSENT))
        },
        {id: "tier", title: "tier", value: ({tier}) => tier, cell: ({tier}) => TIERS[tier] || String(tier)},
        {
          id: "reason",
          title: "reason and rule",
          value: ({reason}) => reason,
          cell: (c) => h("span", {class: "muted"}, [c.reason, c.rule].filter(Boolean).join("; "))
        },
      ],
      comparisons, {caption: "comparisons", order: this.tableState("comparisons", {})});
    return [shown, comparisons.some((each) => isNumber(each.change)) && intervalLegend()];
  }
}
