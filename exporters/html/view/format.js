// Numbers as people read them: three significant digits, an SI prefix, a unit. What was not measured is "n/a".
const ABSENT = "n/a";

function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

/** Three significant digits, without an exponent: 0.12, 5.85, 91.8, 1,234. */
function digits(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e15 || size < 1e-4) return value.toExponential(2);
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(size)));
  return value.toLocaleString("en-US", {minimumFractionDigits: 0, maximumFractionDigits: Math.min(decimals, 4)});
}

function withPrefix(value, unit) {
  const prefixes = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
  const [step, prefix] = prefixes.find(([least]) => Math.abs(value) >= least * 0.9995) || [1, ""];
  return `${digits(value / step)} ${prefix}${unit}`.trimEnd();
}

function seconds(value) {
  const [step, unit] =
    [[1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]].find(([least]) => Math.abs(value) >= least * 0.9995) ||
    [1e-9, "ns"];
  return `${digits(value / step)} ${unit}`;
}

function percent(ratio) {
  if (!isNumber(ratio)) return ABSENT;
  const value = 100 * ratio;
  if (value !== 0 && Math.abs(value) < 0.05) return `<0.1\u202f%`;
  return `${value.toFixed(Math.abs(value) < 99.95 ? 1 : 0)}\u202f%`;
}

const UNITS = {
  bytes: "B",
  bytes_per_second: "B/s",
  flops: "FLOP",
  flops_per_second: "FLOP/s",
  flops_per_byte: "FLOP/B",
  hertz: "Hz",
  instructions_per_cycle: "/cycle",
};

/** A value of a unit of the metric catalogue. */
function show(value, unit) {
  if (!isNumber(value)) return ABSENT;
  if (unit === "seconds") return seconds(value);
  if (unit === "ratio") return percent(value);
  return withPrefix(value, UNITS[unit] || "");
}

function nanoseconds(value) {
  return isNumber(value) ? seconds(value * 1e-9) : ABSENT;
}

function count(value) {
  return show(value, "count");
}

/** "+4.3 %" of a relative change. */
function change(ratio) {
  if (!isNumber(ratio)) return ABSENT;
  const size = Math.abs(ratio);
  const text = size !== 0 && size < 0.0005 ? `${digits(100 * size)}\u202f%` : percent(size);
  return `${ratio > 0 ? "+" : ratio < 0 ? "\u2212" : "\u00b1"}${text}`;
}

function plural(number, one, many) {
  return `${number.toLocaleString("en-US")} ${number === 1 ? one : many || `${one}s`}`;
}

/** The beginning of a text, with a mark where it is cut. */
function shorten(text, most) {
  return text.length <= most ? text : `${text.slice(0, most - 1)}\u2026`;
}

/** A value in a cell; an absent one looks absent. */
function valueText(text) {
  return text === ABSENT ? h("span", {class: "absent", title: "not measured"}, ABSENT) : text;
}
