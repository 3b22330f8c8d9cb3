// Variables filled in, and queries sent to Prometheus.

async function api(path, parameters) {
  const reply = await fetch(`api/v1/${path}?${new URLSearchParams(parameters)}`);
  const answer = await reply.json();
  if (answer.status !== 'success') throw new Error(answer.error ?? `HTTP ${reply.status}`);
  return answer.data;
}

const SECONDS = {s: 1, m: 60, h: 3600, d: 86400};
export const secondsOf = text => Number(text.slice(0, -1)) * SECONDS[text.at(-1)];

export const now = async () => Number((await api('query', {query: 'time()'})).result[1]);

export function substitute(expr, values) {
  return expr.replace(/\$\{?(\w+)\}?/g, (text, name) => {
    if (!(name in values)) throw new Error(`no variable ${name}`);
    return values[name];
  });
}

// Values of a variable of the type `query`: label_values(metric{...}, label), over the range shown.
export async function labelValues(query, values, range) {
  const [, selector, label] = /^label_values\((.*), (\w+)\)$/.exec(substitute(query, values));
  const found = await api(`label/${label}/values`, {'match[]': selector, start: range.start, end: range.end});
  return found.sort((a, b) => a.localeCompare(b, 'en', {numeric: true}));
}

export const legend = (template, labels) => {
  if (template !== '__auto') return template.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, name) => labels[name] ?? '').trim();
  const {__name__: name, ...rest} = labels;
  const text = Object.entries(rest).map(([key, value]) => `${key}=${value}`).join(', ');
  return text || name || 'value';
};

// [{name, labels, values}] with a value, or null, for each step of the range.
async function series(target, expr, range) {
  const {start, end, step} = range;
  const data = await api('query_range', {query: expr, start, end, step});
  const count = Math.floor((end - start) / step + 1e-6) + 1;
  return data.result.map(({metric, values}) => {
    const line = new Array(count).fill(null);
    for (const [time, text] of values) {
      const value = Number(text);
      if (Number.isFinite(value)) line[Math.round((time - start) / step)] = value;
    }
    return {name: legend(target.legendFormat, metric), labels: metric, values: line};
  }).filter(each => each.values.some(value => value !== null));
}

async function instant(target, expr, range) {
  const data = await api('query', {query: expr, time: range.end});
  const vector = data.resultType === 'scalar' ? [{metric: {}, value: data.result}] : data.result;
  return vector.map(({metric, value}) => (
    {name: legend(target.legendFormat, metric), labels: metric, values: [Number(value[1])]}
  )).filter(each => Number.isFinite(each.values[0]));
}

// One list of series for each of the panel's targets.
export function run(panel, values, range) {
  return Promise.all(panel.targets.map(target => {
    const expr = substitute(target.expr, values);
    return target.instant ? instant(target, expr, range) : series(target, expr, range);
  }));
}
