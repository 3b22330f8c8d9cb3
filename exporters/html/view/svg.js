// Charts in SVG. Lengths are shares of the chart's width, so that it fits every page; a table with the same values is
// near each of them.

/** A bar of `parts` [{label, ratio, class, rows}]; ratios are of the whole width, the rest of it is the track. `room`:
    about its width in pixels, where that is so small that few labels fit. */
function stackedBar(parts, {height = 22, label, labels = true, room = Infinity}) {
  const bar =
    s("svg", {class: "bar", width: "100%", height, role: "img", "aria-label": label},
      s("rect", {class: "track", width: "100%", height, rx: 2}));
  let at = 0;
  for (const part of parts) {
    const width = Math.max(0, Math.min(part.ratio, 1 - at));
    if (!(width > 0)) continue;
    // A nested svg cuts a label that does not fit.
    const cell =
      s("svg", {x: `${100 * at}%`, width: `${100 * width}%`, height},
        s("rect", {class: `fill ${part.class}`, width: "100%", height, rx: 1}),
        labels && width > 0.045 && width * room > 8 * part.label.length &&
          s("text", {class: `bar-label on-${part.class}`, x: 6, y: height / 2, dy: "0.35em"}, part.label));
    bar.append(withTip(cell, part.label, part.rows));
    at += width;
  }
  return bar;
}

/** A bar of one value from 0 to 1, with a mark at another, such as the theoretical occupancy. */
function ratioBar(ratio, {label, mark = null, kind = "accent", height = 14}) {
  const bar =
    s("svg", {class: "bar", width: "100%", height, role: "img", "aria-label": label},
      s("rect", {class: "track", width: "100%", height, rx: 2}));
  if (isNumber(ratio)) {
    bar.append(s("rect", {class: `fill ${kind}`, width: `${100 * Math.min(1, Math.max(0, ratio))}%`, height, rx: 2}));
  }
  if (isNumber(mark)) {
    const x = `${100 * Math.min(1, mark)}%`;
    bar.append(s("line", {class: "mark", x1: x, x2: x, y1: 0, y2: height}));
  }
  return bar;
}

/** Where the axis of relative changes ends on both sides of its middle: at the largest, 100 % at most. */
function endOfChanges(ratios) {
  return Math.max(0.02, ...ratios.filter(isNumber).map((ratio) => Math.min(1, Math.abs(ratio))));
}

/** An arrow at an end of an axis: the value lies beyond it. `side`: -1 is left, 1 right. */
function arrowBeyond(side, height, kind) {
  const [back, middle] = [-8 * side, height / 2];
  return s(
    "svg", {class: "beyond", x: side < 0 ? "0%" : "100%", height},
    s("path", {class: kind, d: `M0,${middle}l${back},${1 - middle}v${height - 2}z`}));
}

/** The text of a chart whose axis ends at `most`. */
function beyondText(text, most) {
  return `${text}, beyond the axis, which ends at \u00b1${percent(most)}`;
}

/** Powers of ten from `low` to `high`, and the positions between. Null: no axis has room for them. */
function logScale(low, high, from, to) {
  if (!(low > 1e-30) || !(high < 1e30)) return null;
  const start = Math.floor(Math.log10(low));
  const end = Math.ceil(Math.log10(high));
  const at = (value) => from + (to - from) * (Math.log10(value) - start) / (end - start);
  const ticks = [];
  for (let power = start; power <= end; power += 1) ticks.push(10 ** power);
  return {at, ticks, low: 10 ** start, high: 10 ** end};
}

const ROOFLINE = {
  width: 620,
  height: 370,
  left: 80,
  right: 84,
  top: 14,
  bottom: 46
};

/** Log-log: `roofs` [{flops, bytes, label}] and `points` [{intensity, flops, label, class, mark, rows}]. A point whose
    intensity is null moved no bytes: it is drawn in the margin at the right. */
function rooflineChart(roofs, points, label) {
  const {width, height, left, right, top, bottom} = ROOFLINE;
  const finite = points.filter(({intensity}) => intensity !== null);
  const peak = Math.max(...roofs.map(({flops}) => flops));
  const ridges = roofs.map(({flops, bytes}) => flops / bytes);
  const x = logScale(
    Math.min(1, ...ridges, ...finite.map((p) => p.intensity)) * 0.9,
    Math.max(1000, ...ridges, ...finite.map((p) => p.intensity)) * 1.1, left, width - right);
  const y = logScale(Math.min(peak / 1e3, ...points.map(({flops}) => flops)) * 0.9, peak * 1.1, height - bottom, top);
  if (x === null || y === null) return h("p", {class: "note"}, "No chart: its values are too far apart.");
  const chart = s("svg", {class: "roofline", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label});
  drawAxes(chart, x, y);
  for (const [index, roof] of roofs.entries()) drawRoof(chart, x, y, roof, index);
  if (finite.length < points.length) {
    chart.append(
      s("text", {class: "axis-label", x: width - right / 2 + 4, y: height - bottom + 15, "text-anchor": "middle"},
        "no bytes"));
  }
  const places = points.map(
    (point) => ({x: point.intensity === null ? width - right / 2 + 4 : x.at(point.intensity), y: y.at(point.flops)}));
  const taken = [
    ...roofs.map((roof, i) => textBox(roofLabel(x, y, roof, i), roof.label)),
    ...places.map((at) => ({left: at.x - 8, right: at.x + 8, top: at.y - 6, bottom: at.y + 6}))
  ];
  // Labels last: no mark is drawn over one.
  chart.append(...points.map((point, i) => drawPoint(places[i], y, point)));
  chart.append(...points.map((point, i) => drawPointLabel(places[i], point, taken)).filter(Boolean));
  return h("div", {class: "chart"}, chart);
}

function drawAxes(chart, x, y) {
  const {width, height, left, right, top, bottom} = ROOFLINE;
  for (const tick of x.ticks) {
    chart.append(
      s("line", {class: "grid", x1: x.at(tick), x2: x.at(tick), y1: top, y2: height - bottom}),
      s("text", {class: "tick", x: x.at(tick), y: height - bottom + 15, "text-anchor": "middle"},
        withPrefix(tick, "")));
  }
  for (const tick of y.ticks) {
    chart.append(
      s("line", {class: "grid", x1: left, x2: width - right, y1: y.at(tick), y2: y.at(tick)}),
      s("text", {class: "tick", x: left - 6, y: y.at(tick), dy: "0.35em", "text-anchor": "end"},
        withPrefix(tick, "FLOP/s")));
  }
  chart.append(
    s("text", {class: "axis-label", x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle"},
      "arithmetic intensity, FLOP per byte"));
}

/** Where the label of a roof ends. That of a lower one is left of its ridge, above the slope: right of it are points. */
function roofLabel(x, y, {flops, bytes}, index) {
  const {width, right} = ROOFLINE;
  const at = index === 0 ? {x: width - right - 4, y: y.at(flops) - 9} : {x: x.at(flops / bytes) - 14, y: y.at(flops)};
  return {...at, anchor: "end"};
}

function drawRoof(chart, x, y, roof, index) {
  const {flops, bytes, label} = roof;
  const at = roofLabel(x, y, roof, index);
  const least = Math.max(x.low, y.low / bytes);
  const ridge = flops / bytes;
  // The slope is the same for all: the first roof draws it.
  const corners = [...(index === 0 ? [[least, bytes * least]] : []), [ridge, flops], [x.high, flops]];
  chart.append(
    s("polyline", {class: `roof roof-${index}`, points: corners.map(([a, b]) => `${x.at(a)},${y.at(b)}`).join(" ")}),
    s("text", {class: "roof-label", x: at.x, y: at.y, dy: "0.35em", "text-anchor": at.anchor}, label));
  if (index > 0) return;
  const middle = Math.sqrt(least * ridge);
  const slope = Math.atan2(y.at(flops) - y.at(bytes * least), x.at(ridge) - x.at(least)) * 180 / Math.PI;
  const on = {x: x.at(middle), y: y.at(bytes * middle)};
  chart.append(s(
    "text",
    {class: "roof-label", x: on.x, y: on.y - 6, "text-anchor": "middle", transform: `rotate(${slope} ${on.x} ${on.y})`},
    `DRAM ${withPrefix(bytes, "B/s")}`));
}

/** The room of a text of a chart that begins or ends at x, and has its middle at y. */
function textBox({x, y, anchor}, text) {
  const length = text.length * 6.2;
  const left = anchor === "end" ? x - length : x;
  return {left, right: left + length, top: y - 6, bottom: y + 6};
}

function overlap(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/** Where the label of a point finds room beside it, the nearest first; null: nowhere. */
function placeLabel(at, text, taken) {
  const {width, left} = ROOFLINE;
  for (const dy of [0, -12, 12, -24, 24]) {
    for (const anchor of ["start", "end"]) {
      const place = {x: anchor === "end" ? at.x - 10 : at.x + 10, y: at.y + dy, anchor};
      const box = textBox(place, text);
      if (box.left < left || box.right > width || taken.some((other) => overlap(box, other))) continue;
      taken.push(box);
      return place;
    }
  }
  return null;
}

/** A line from a point up to the roof that it alone has. */
function drawOwnRoof({x, y}, top, kind) {
  return s(
    "g", {class: `own-roof ${kind}`}, s("rect", {x: x - 0.75, y: top, width: 1.5, height: Math.max(0, y - top)}),
    s("rect", {x: x - 8, y: top - 1.5, width: 16, height: 3}));
}

function drawPoint(at, y, point) {
  const shape = point.mark === "diamond" ?
    s("path", {class: `point ${point.class}`, d: `M${at.x},${at.y - 6}l6,6l-6,6l-6,-6z`}) :
    s("circle", {class: `point ${point.class}`, cx: at.x, cy: at.y, r: 6});
  const group = s("g", {}, point.roof && drawOwnRoof(at, y.at(point.roof.flops), point.class), shape);
  return withTip(group, point.label, point.rows);
}

function drawPointLabel(at, point, taken) {
  const place = point.text && placeLabel(at, point.text, taken);
  if (!place) return null;
  const label =
    s("text", {class: "point-label", x: place.x, y: place.y, dy: "0.35em", "text-anchor": place.anchor}, point.text);
  return withTip(label, point.label, point.rows);
}
