// One function for each type of panel: draw(body, panel, results, range). `results` is a list of series per target.
import {clock, colour, format, PALETTE, thresholdColour} from './format.js';

const MOST_LINES = 48;
const MOST_STATES = 20;

const element = (kind, name, text) => {
  const made = document.createElement(kind);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
};

const defaults = panel => panel.fieldConfig.defaults;
const shown = (panel, value) => format(value, defaults(panel).unit, defaults(panel).decimals);
const last = values => values.at(-1);
const byName = (a, b) => a.name.localeCompare(b.name, 'en', {numeric: true});

// A panel that is not drawn says why.
function note(body, text) {
  body.closest('.panel').querySelector('.note').textContent = text;
}

function dashedBy(panel) {
  const found = panel.fieldConfig.overrides.find(each => each.properties.some(({id}) => id === 'custom.lineStyle'));
  return found && new RegExp(found.matcher.options.slice(1, -1));
}

// A dashed series has the colour of the series that it is held against, when its name says which.
function colours(names, dashed) {
  const plain = names.filter(name => !dashed?.test(name));
  const found = new Map(plain.map((name, index) => [name, PALETTE[index % PALETTE.length]]));
  const words = name => name.replace(dashed, '').trim();
  for (const name of names) {
    if (found.has(name)) continue;
    const partner = plain.find(each => each === words(name)) ?? plain.find(each => each.startsWith(`${words(name)} `));
    found.set(name, partner ? found.get(partner) : '#6b7785');
  }
  return found;
}

function legendList(lines, panel) {
  const list = element('div', 'legend');
  for (const {name, values, mark, dash} of lines) {
    const item = element('span', 'item');
    const line = element('i', dash ? 'dash' : '');
    line.style.borderColor = mark;
    const value = last(values);
    item.append(line, element('span', '', name), element('b', '', value === null ? 'n/a' : shown(panel, value)));
    item.title = name;
    list.append(item);
  }
  return list;
}

function axes(panel, range, stack, small) {
  const {min, max, unit} = defaults(panel);
  const grid = {color: '#e8ebef', drawTicks: false};
  const ticks = {color: '#5d6875', font: {size: 11}, padding: 6};
  const withSeconds = range.end - range.start < 1800;
  return {
    x: {type: 'linear', min: range.start, max: range.end, display: !small, grid, border: {display: false},
        ticks: {...ticks, maxTicksLimit: 7, maxRotation: 0, includeBounds: false,
                callback: value => clock(value, withSeconds)}},
    y: {stacked: stack, min, max: stack ? max : undefined, display: !small, grid, beginAtZero: min === 0,
        ticks: {...ticks, maxTicksLimit: 6, callback: value => format(Number(value.toPrecision(6)), unit)}},
  };
}

function chart(body, datasets, panel, range, {stack = false, small = false} = {}) {
  const holder = element('div', small ? 'spark' : 'chart');
  const canvas = element('canvas');
  holder.append(canvas);
  body.append(holder);
  // eslint-disable-next-line no-undef
  return new Chart(canvas, {
    type: 'line',
    data: {datasets},
    options: {
      animation: false, parsing: false, normalized: true, responsive: true, maintainAspectRatio: false,
      events: small ? [] : undefined,
      interaction: {mode: 'nearest', intersect: false, axis: 'xy'},
      scales: axes(panel, range, stack, small),
      plugins: {
        legend: {display: false},
        tooltip: {enabled: !small, callbacks: {
          title: items => clock(items[0].parsed.x, true),
          label: item => ` ${item.dataset.label}: ${shown(panel, item.parsed.y)}`,
        }},
      },
    },
  });
}

function points(values, range) {
  return values.map((y, index) => ({x: range.start + index * range.step, y: y ?? NaN}));
}

function timeseries(body, panel, results, range) {
  const stack = defaults(panel).custom.stacking.mode === 'normal';
  const dashed = dashedBy(panel);
  const behind = line => dashed?.test(line.name) ?? false;
  const all = results.flat().sort((a, b) => behind(a) - behind(b) || byName(a, b));
  const lines = all.length > MOST_LINES ? spread(all) : all;
  if (lines.length < all.length) note(body, `${lines.length} of ${format(all.length)} series: choose in the variables`);
  const mark = colours(lines.map(line => line.name), dashed);
  for (const line of lines) {
    line.dash = behind(line);
    line.mark = mark.get(line.name);
  }
  chart(body, lines.map((line, index) => ({
    label: line.name, data: points(line.values, range), borderColor: line.mark, borderWidth: line.dash ? 1.5 : 1.8,
    borderDash: line.dash ? [6, 5] : [], backgroundColor: `${line.mark}99`, fill: stack && (index ? '-1' : 'origin'),
    stack: line.dash ? `dash ${line.name}` : 'values', pointHitRadius: 8,
    pointRadius: line.values.filter(value => value !== null).length < 3 ? 2.5 : 0,
  })), panel, range, {stack});
  body.append(legendList(lines, panel));
}

// With more series than anybody can read: evenly over their ranks, the smallest and the largest among them.
function spread(all) {
  const value = each => last(each.values) ?? -Infinity;
  const ranked = [...all].sort((a, b) => value(a) - value(b));
  const kept = new Set();
  for (let i = 0; i < MOST_LINES; ++i) kept.add(ranked[Math.round(i * (ranked.length - 1) / (MOST_LINES - 1))]);
  return all.filter(each => kept.has(each));
}

function stat(body, panel, results, range) {
  const found = results.flat();
  const values = found.map(each => last(each.values));
  // One value, or one with a name of each query.
  if (found.length !== panel.targets.length || values.includes(null)) return false;
  const [value] = values;
  const named = values.map((each, index) => `${shown(panel, each)} ${found[index].name}`);
  const text = values.length > 1 ? named.join(' · ') : shown(panel, value);
  const {thresholds} = defaults(panel);
  const box = element('div', 'stat');
  box.append(element('span', 'value', text));
  box.classList.toggle('long', text.length > 8);
  if (panel.options.colorMode === 'background') {
    box.classList.add('filled');
    box.style.background = thresholdColour(value, thresholds);
  } else {
    box.style.color = colour('text');
  }
  body.append(box);
  if (found[0].values.length > 2 && panel.options.graphMode === 'area') {
    const mark = panel.options.colorMode === 'background' ? '#ffffff' : '#2f6fc4';
    chart(box, [{data: points(found[0].values, range), borderColor: `${mark}aa`, borderWidth: 1.2, pointRadius: 0,
                 backgroundColor: `${mark}22`, fill: true}], panel, range, {small: true});
  }
  return true;
}

// Rows of all targets merged by their labels, as Grafana's transformation `merge` does.
function merged(panel, results) {
  const rows = new Map();
  results.forEach((vector, index) => {
    const column = panel.targets.length > 1 ? `Value #${panel.targets[index].refId}` : 'Value';
    for (const {labels, values} of vector) {
      const {__name__, ...rest} = labels;
      const key = JSON.stringify(Object.entries(rest).sort());
      rows.set(key, {...(rows.get(key) ?? rest), [column]: values[0]});
    }
  });
  return [...rows.values()];
}

function table(body, panel, results) {
  const rows = merged(panel, results);
  const {indexByName, renameByName, excludeByName} = panel.transformations.find(({id}) => id === 'organize').options;
  const there = new Set(rows.flatMap(row => Object.keys(row)));
  const columns = [...there].filter(key => !excludeByName[key])
                            .sort((a, b) => (indexByName[a] ?? 99) - (indexByName[b] ?? 99));
  const sortBy = panel.options.sortBy[0]?.displayName;
  const key = sortBy && columns.find(column => (renameByName[column] ?? column) === sortBy);
  if (key) rows.sort((a, b) => (b[key] ?? -Infinity) - (a[key] ?? -Infinity));
  const made = element('table');
  const head = made.createTHead().insertRow();
  for (const column of columns) {
    const cell = element('th', column.startsWith('Value') ? 'number' : '', renameByName[column] ?? column);
    head.append(cell);
  }
  const lines = made.createTBody();
  for (const row of rows) {
    const line = lines.insertRow();
    for (const column of columns) {
      const value = row[column];
      const text = typeof value === 'number' ? shown(panel, value) : value ?? '';
      line.append(element('td', typeof value === 'number' ? 'number' : '', text));
    }
  }
  const holder = element('div', 'scroll');
  holder.append(made);
  body.append(holder);
  note(body, rows.length > 5 ? `${rows.length} rows` : '');
}

function bargauge(body, panel, results) {
  const bars = results.flat().map(({name, values}) => ({name, value: last(values)})).sort((a, b) => b.value - a.value);
  const {thresholds, min = 0} = defaults(panel);
  // Bars begin where `min` is, and what is below goes to the left of it.
  const low = Math.min(min, ...bars.map(bar => bar.value));
  const width = Math.max(min, ...bars.map(bar => bar.value)) - low || 1;
  const list = element('div', 'bars scroll');
  for (const bar of bars) {
    const row = element('div', 'bar');
    const fill = element('i');
    fill.style.marginLeft = `${100 * (Math.min(bar.value, min) - low) / width}%`;
    fill.style.width = `${100 * Math.abs(bar.value - min) / width}%`;
    fill.style.background = thresholdColour(bar.value, thresholds);
    const track = element('span', 'track');
    track.append(fill);
    row.append(element('span', 'label', bar.name), track, element('b', '', shown(panel, bar.value)));
    row.title = bar.name;
    list.append(row);
  }
  body.append(list);
  note(body, bars.length > 12 ? `${bars.length} bars` : '');
}

// Text and colour of a state, from the panel's mappings or thresholds.
function stateOf(panel, value) {
  const mapping = defaults(panel).mappings.find(each => String(value) in each.options)?.options[String(value)];
  if (mapping) return {text: mapping.text, mark: colour(mapping.color)};
  return {text: shown(panel, value), mark: thresholdColour(value, defaults(panel).thresholds)};
}

function timeAxis(range) {
  const axis = element('div', 'times');
  const withSeconds = range.end - range.start < 1800;
  for (let i = 0; i <= 4; ++i) {
    axis.append(element('span', '', clock(range.start + (range.end - range.start) * i / 4, withSeconds)));
  }
  return axis;
}

function stateTimeline(body, panel, results, range) {
  const size = each => Math.max(...each.values.map(value => Math.abs(value ?? 0)));
  const all = results.flat().sort((a, b) => size(b) - size(a) || byName(a, b));
  const rows = all.slice(0, MOST_STATES);
  if (rows.length < all.length) note(body, `${rows.length} of ${all.length} rows, largest first`);
  const list = element('div', 'states scroll');
  for (const {name, values} of rows) {
    const row = element('div', 'state');
    const track = element('span', 'track');
    for (let from = 0; from < values.length;) {
      if (values[from] === null) { ++from; continue; }
      const {mark} = stateOf(panel, values[from]);
      let to = from + 1;
      while (to < values.length && values[to] !== null && stateOf(panel, values[to]).mark === mark) ++to;
      const piece = element('i', '', (to - from) / values.length > 0.12 ? stateOf(panel, values[to - 1]).text : '');
      piece.style.left = `${100 * from / values.length}%`;
      piece.style.width = `${100 * (to - from) / values.length}%`;
      piece.style.background = mark;
      track.append(piece);
      from = to;
    }
    row.append(element('span', 'label', name), track);
    row.title = name;
    list.append(row);
  }
  body.append(list, timeAxis(range));
}

function heatmap(body, panel, results, range) {
  const bound = ({labels}) => Number(labels.le.replace('+Inf', 'Infinity'));
  const buckets = results.flat().map(each => ({le: bound(each), values: each.values})).sort((a, b) => a.le - b.le);
  // Buckets count everything below their bound: a row is what is above the bound before.
  const below = (i, t) => buckets[i - 1]?.values[t] ?? 0;
  const rows = buckets.map(({le, values}, i) => (
    {le, values: values.map((value, t) => value === null ? null : Math.max(0, value - below(i, t)))}
  ));
  const used = rows.map(row => row.values.some(value => value > 1e-9));
  const kept = rows.slice(Math.max(0, used.indexOf(true) - 1), used.lastIndexOf(true) + 2).reverse();
  if (!kept.length) return false;
  const most = Math.max(...kept.flatMap(row => row.values.map(value => value ?? 0)));
  const list = element('div', 'heatmap');
  for (const row of kept) {
    const line = element('div', 'heat');
    line.append(element('span', 'label', Number.isFinite(row.le) ? `≤ ${shown(panel, row.le)}` : 'above'));
    const track = element('span', 'track');
    row.values.forEach((value, t) => {
      const cell = element('i');
      if (value > 1e-9) {
        cell.style.background = `hsl(${38 - 16 * value / most} 92% ${90 - 48 * Math.sqrt(value / most)}%)`;
        cell.title = `${clock(range.start + t * range.step, true)}: ${format(value)} calls`;
      }
      track.append(cell);
    });
    line.append(track);
    list.append(line);
  }
  body.append(list, timeAxis(range));
  return true;
}

const DRAW = {timeseries, stat, table, bargauge, heatmap, 'state-timeline': stateTimeline};

// False when there is nothing to draw.
export function draw(body, panel, results, range) {
  const how = DRAW[panel.type];
  if (!how) throw new Error(`the preview does not know panels of the type ${panel.type}`);
  if (results.every(vector => vector.length === 0)) return false;
  return how(body, panel, results, range) ?? true;
}
