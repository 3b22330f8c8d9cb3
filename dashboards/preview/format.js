// Values as text, in the units that the dashboards use.

const scaled = (value, steps, digits) => {
  const [factor, name] = steps.find(([factor]) => Math.abs(value) >= factor) ?? steps[steps.length - 1];
  return `${number(value / factor, digits)} ${name}`.trim();
};

const PREFIXES = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']];
const metric = unit => PREFIXES.map(([factor, prefix]) => [factor, prefix + unit]);
const BINARY = [[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']];
const SHORT = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e4, ''], [1, '']];
const SECONDS = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns']];

// Three significant digits unless told; whole numbers stay whole.
function number(value, decimals) {
  if (decimals !== undefined) return value.toFixed(decimals).replace(/^-(0(\.0*)?)$/, '$1');
  if (Number.isInteger(value) || Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-US');
  return Number(value.toPrecision(3)).toString();
}

const UNITS = {
  none: (value, decimals) => Math.abs(value) >= 1e6 ? scaled(value, SHORT, decimals) : number(value, decimals),
  percentunit: (value, decimals = Math.abs(value) >= 0.1 || value === 0 ? 0 : 1) => `${number(100 * value, decimals)} %`,
  s: (value, decimals) => value === 0 ? '0 s' : scaled(value, SECONDS, decimals),
  bytes: (value, decimals) => scaled(value, BINARY, decimals),
  hertz: (value, decimals) => scaled(value, metric('Hz'), decimals),
  watt: (value, decimals) => scaled(value, metric('W'), decimals),
  flops: (value, decimals) => scaled(value, metric('FLOP/s'), decimals),
  reqps: (value, decimals) => `${number(value, decimals)} req/s`,
  celsius: (value, decimals) => `${number(value, decimals)} °C`,
  bool_yes_no: value => value === 0 ? 'no' : value === 1 ? 'yes' : number(value),
};

export function format(value, unit = 'none', decimals = undefined) {
  if (!UNITS[unit]) throw new Error(`the preview does not know the unit ${unit}`);
  return UNITS[unit](value, decimals);
}

export function clock(seconds, withSeconds) {
  const text = new Date(seconds * 1000).toISOString().slice(11, 19);
  return withSeconds ? text : text.slice(0, 5);
}

const COLOURS = {
  green: '#3a8f4d', red: '#cf3a3a', orange: '#e08a1e', yellow: '#c9a400', blue: '#2f6fc4', purple: '#7a4fb8',
  'dark-blue': '#1f4e8f', text: '#1f2733',
};

export const colour = name => COLOURS[name] ?? name;

// The colour of the last threshold at or below `value`.
export function thresholdColour(value, thresholds) {
  let found = thresholds.steps[0].color;
  for (const step of thresholds.steps) if (step.value !== null && value >= step.value) found = step.color;
  return colour(found);
}

export const PALETTE = ['#2f6fc4', '#e08a1e', '#3a8f4d', '#c23b5a', '#7a4fb8', '#12908e', '#9a6a3a', '#d268a8',
                        '#6b7785', '#a3a01f', '#5aa9e6', '#f2b56b', '#7fc68d', '#e58a9d', '#b597e0'];
