// Metrics over the time of a call: a row for each, all with the same axis of time, and one slider that reads them.

const SERIES_HEIGHT = 46;

/** Microseconds, or of a long call milliseconds: one unit for the whole axis. */
function axisTime(ns, length) {
  const [step, unit] = length < 1e7 ? [1e3, "us"] : [1e6, "ms"];
  return `${(ns / step).toLocaleString("en-US", {maximumFractionDigits: 1})} ${unit}`;
}

/** Round times from 0 on, four to seven. */
function timeTicks(length) {
  const least = length / 6;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 2.5, 5, 10].find((each) => each * power >= least) * power;
  const ticks = [];
  for (let at = 0; at <= length; at += step) ticks.push(at);
  return ticks;
}

/** Which sample of a series covers this time; -1: none. */
function sampleAt(series, ns) {
  let low = 0;
  let high = series.start_ns.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (series.start_ns[middle] <= ns)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && ns < series.start_ns[low - 1] + series.duration_ns[low - 1] ? low - 1 : -1;
}

function ratioAt(series, ns) {
  const index = sampleAt(series, ns);
  return index < 0 ? null : series.ratio[index];
}

/** The samples as steps, in a box of 1000 by 100. Where there is none the path is interrupted. */
function stepPath(series, length) {
  const x = (ns) => (1000 * Math.min(ns, length) / length).toFixed(2);
  let path = "";
  let end = null;
  for (let i = 0; i < series.start_ns.length && series.start_ns[i] < length; i += 1) {
    const [start, duration] = [series.start_ns[i], series.duration_ns[i]];
    const y = (100 - 100 * Math.min(1, series.ratio[i])).toFixed(2);
    if (end !== null && start - end > duration / 2) {
      path += "V100";
      end = null;
    }
    path += `${end === null ? `M${x(start)},100` : ""}V${y}H${x(start + duration)}`;
    end = start + duration;
  }
  return `${path}V100`;
}

/** s() would cut a path of a long call, as it cuts texts. */
function stepLine(kind, series, length) {
  const line = s("path", {class: kind});
  line.setAttribute("d", stepPath(series, length));
  return line;
}

/** For readers of the screen: how the metric went, in words. */
function seriesText(series, length) {
  const parts = [0, 1, 2, 3].map((quarter) => {
    let [weighted, time] = [0, 0];
    series.start_ns.forEach((start, i) => {
      const middle = start + series.duration_ns[i] / 2;
      if (Math.floor(4 * middle / length) !== quarter) return;
      weighted += series.ratio[i] * series.duration_ns[i];
      time += series.duration_ns[i];
    });
    return percent(time > 0 ? weighted / time : null);
  });
  return `mean of each quarter of the time: ${parts.join(", ")}`;
}

/** `tail`: the part of the time that is shaded; undefined or false: none. `before`: the same metric of another recording,
    or null. */
function seriesChart({series, before, tail}, length, ticks) {
  const at = (ns) => `${100 * Math.min(ns, length) / length}%`;
  const note = newId("series");
  return s(
    "svg", {
      class: "series-chart",
      width: "100%",
      height: SERIES_HEIGHT,
      role: "img",
      "aria-label": `${series.label} over the time of the call`,
      "aria-describedby": note
    },
    s("desc", {id: note}, seriesText(series, length), before && `; before: ${seriesText(before, length)}`),
    s("rect", {class: "series-back", width: "100%", height: SERIES_HEIGHT}),
    tail && s("rect", {class: "series-tail", x: at(tail.start_ns), width: at(tail.duration_ns), height: SERIES_HEIGHT}),
    ticks.map((tick) => s("line", {class: "grid", x1: at(tick), x2: at(tick), y1: 0, y2: SERIES_HEIGHT})),
    s("line", {class: "grid", x1: 0, x2: "100%", y1: SERIES_HEIGHT / 2, y2: SERIES_HEIGHT / 2}),
    s("svg", {viewBox: "0 0 1000 100", preserveAspectRatio: "none", width: "100%", height: SERIES_HEIGHT},
      stepLine("series-steps", series, length), before && stepLine("series-before", before, length)),
    s("line", {class: "series-cursor", x1: 0, x2: 0, y1: 0, y2: SERIES_HEIGHT, visibility: "hidden"}));
}

function timeAxis(ticks, length) {
  const last = 0.93 * length;
  return s(
    "svg", {class: "series-ticks", width: "100%", height: 18, "aria-hidden": "true"},
    ticks.map(
      (tick) =>
        s("text", {
          class: "tick",
          x: `${100 * tick / length}%`,
          y: 12,
          "text-anchor": tick === 0 ? "start" :
            tick > last             ? "end" :
                                      "middle"
        },
          axisTime(tick, length))));
}

/** "Tail: in the last 40 us, 4.0 % of the call, ..."; `side`: " before", " after", or nothing. */
function tailText(tails, side = "") {
  const long = tails.filter(({samples}) => samples > 1);
  if (long.length === 0) return `Tail${side}: none longer than the sample in which the call ended.`;
  const below = ({below_ratio: ratio}) => `below ${Math.round(100 * ratio)}\u202f%`;
  const parts = long.map(
    (tail) => `in the last ${nanoseconds(tail.duration_ns)}, ${
      percent(tail.share_ratio)} of the call, SMs active stays ${below(tail)} of its largest value`);
  const short = tails.filter(({samples}) => samples <= 1)
                  .map((tail) => `${below(tail)} is at most the sample in which the call ended`);
  return `Tail${side}: ${[...parts, ...short].join("; ")}.`;
}

/** The series of each launch together, in the order of the metrics. */
function seriesGroups(all) {
  const groups = new Map();
  for (const series of all) groups.set(series.group, [...(groups.get(series.group) || []), series]);
  return [...groups.values()];
}

/** Middles of the samples of the series that has the most. */
function timesOf(all, length) {
  const most = all.reduce((a, b) => (b.start_ns.length > a.start_ns.length ? b : a));
  return most.start_ns.map((start, i) => start + most.duration_ns[i] / 2).filter((at) => at < length);
}

function seriesTable(rows, times, length) {
  const column = (series, title) => ({
    id: title,
    title,
    kind: "num",
    width: "minmax(8.8em, 1fr)",
    value: (at) => ratioAt(series, at),
    cell: (at, value) => valueText(percent(value))
  });
  const columns = [
    {
      id: "time",
      title: "time",
      kind: "num",
      width: "6em",
      help: "middle of a sample",
      value: (at) => at,
      cell: (at) => axisTime(at, length)
    },
    ...rows.flatMap(
      ({series,
        before}) => [column(series, series.label), ...(before ? [column(before, `${series.label}, before`)] : [])])
  ];
  const place = h("div", {});
  return h(
    "details", {
      ontoggle: () => {
        if (place.hasChildNodes()) return;
        const long = new LongTable(columns, {label: "metrics over time"});
        place.append(long.element);
        long.setRows(times);
      }
    },
    h("summary", {}, "The chart as a table"), place);
}

function meanText(series, before) {
  return before ? `mean ${percent(series.mean_ratio)}, before ${percent(before.mean_ratio)}` :
                  `mean ${percent(series.mean_ratio)}, largest ${percent(series.largest_ratio)}`;
}

/** Adds to a row of {series, before, tail} its element, and set(ns), which reads it. */
function drawSeries(row, length, ticks) {
  const {series, before} = row;
  const chart = seriesChart(row, length, ticks);
  const cursor = chart.querySelector(".series-cursor");
  const value = h("div", {class: "series-value num", "aria-hidden": "true"});
  const element =
    h("div", {class: "series"},
      h("div", {class: "series-name"}, series.label, h("div", {class: "muted"}, meanText(series, before))),
      h("div", {class: "series-scale tick", "aria-hidden": "true"}, h("span", {}, "100\u202f%"), h("span", {}, "0")),
      h("div", {class: "series-plot"}, chart), value);
  const set = (ns) => {
    const x = `${100 * ns / length}%`;
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    cursor.setAttribute("visibility", "visible");
    value.replaceChildren(percent(ratioAt(series, ns)));
    if (before) value.append(h("div", {class: "muted"}, percent(ratioAt(before, ns))));
  };
  return {...row, element, set};
}

/** The slider, and what a pointer over the charts does: both read all rows at a time. */
function seriesReader(rows, times, length) {
  const said = h("div", {class: "series-value num", "aria-hidden": "true"});
  const word = (ns, {series, before}) =>
    `${series.label} ${percent(ratioAt(series, ns))}${before ? `, before ${percent(ratioAt(before, ns))}` : ""}`;
  const words = (ns) => `${axisTime(ns, length)}: ${rows.map((row) => word(ns, row)).join(", ")}`;
  const read = (index) => {
    const ns = times[index];
    rows.forEach((row) => row.set(ns));
    said.textContent = axisTime(ns, length);
    slider.value = index;
    slider.setAttribute("aria-valuetext", words(ns));
  };
  const slider = h("input", {
    type: "range",
    class: "series-slider",
    min: 0,
    max: times.length - 1,
    value: 0,
    "aria-label": "time in the call",
    "aria-valuetext": words(times[0]),
    oninput: () => read(Number(slider.value)),
    onfocus: () => read(Number(slider.value))
  });
  const follow = (event) => {
    const box = slider.getBoundingClientRect();
    const at = length * (event.clientX - box.left) / box.width;
    const after = times.findIndex((time) => time >= at);
    const index = after < 0 ? times.length - 1 : after;
    const before = Math.max(0, index - 1);
    read(at - times[before] < times[index] - at ? before : index);
  };
  for (const {element} of rows) element.querySelector(".series-plot").addEventListener("pointermove", follow);
  return {slider, said};
}

const TIMELINE_NOTE =
  "CUPTI's PM sampling of the whole GPU: other programs on it are counted too. The rows between two lines are of one " +
  "launch of the call, other rows of another launch. Times count from the first sample with activity in that launch, " +
  "so rows of different launches may be off by a few samples.";

/** `time`: seconds of the call without sampling; null: not said. `before`: the timeline of the same call in another
    recording, whose lines are drawn over it; null: none. */
function timelineChart(timeline, time, before = null) {
  const {tails, series: all} = timeline;
  const length = Math.max(1, timeline.active_ns, before ? before.active_ns : 0);
  const times = timesOf([...all, ...(before ? before.series : [])], length);
  if (times.length === 0) return h("p", {class: "note"}, "No sample saw activity.");
  const ticks = timeTicks(length);
  const tail = tails.find(({samples}) => samples > 1);
  const smGroup = (all.find(({metric}) => metric === "sm_active") || {}).group;
  const rowOf = (series) => ({
    series,
    before: (before && before.series.find(({metric}) => metric === series.metric)) || null,
    tail: series.group === smGroup && tail
  });
  const groups = seriesGroups(all).map((group) => group.map((series) => drawSeries(rowOf(series), length, ticks)));
  const {slider, said} = seriesReader(groups.flat(), times, length);
  return [
    before && before.tails.length > 0 && h("p", {}, tailText(before.tails, " before")),
    tails.length > 0 && h("p", {}, tailText(tails, before ? " after" : "")),
    before && h("p", {class: "note"}, "The area is after, the line before."),
    h("div", {},
      groups.map(
        (rows) =>
          h("div", {class: "series-group", role: "group", "aria-label": "sampled in one launch"},
            rows.map(({element}) => element))),
      h("div", {class: "series"}, h("div", {class: "series-name muted"}, "time"), h("div", {}),
        h("div", {class: "series-plot"}, timeAxis(ticks, length), slider), said)),
    h("p", {class: "note"},
      time !== null &&
        `The call takes ${seconds(time)}; the GPU was active for ${
          nanoseconds(timeline.active_ns)} in the longest launch that was sampled, and the axis is as long. `,
      TIMELINE_NOTE, tail && " The shaded end is the tail."),
    seriesTable(groups.flat(), times, length),
  ];
}

/** What kept this call from being sampled. */
function timelineLosses(entry, report) {
  const call = [entry.kernel, entry.shape].filter(Boolean).join("@");
  return report.document.losses.filter(({kind, subject}) => kind.startsWith("timeline_") && subject === call);
}

/** Null: the run did not sample over time. */
function timelineSection(entry, report) {
  const {timeline} = entry.json;
  const losses = entry.part === null ? timelineLosses(entry, report) : [];
  if (!timeline && losses.length === 0) return null;
  return section(
    "Over the time of the call", {id: "timeline"},
    losses.map(({kind, reason}) => h("p", {class: "warning"}, h("strong", {}, kind), ` ${reason}`)),
    timeline && timelineChart(timeline, entry.time));
}

/** What changed over the time of a call; null: one side was not sampled. */
function timelineChange(before, after) {
  if (!before.json.timeline || !after.json.timeline) return null;
  return section(
    "Over the time of the call", {id: "timeline"}, timelineChart(after.json.timeline, null, before.json.timeline));
}
