// Draws every panel of a dashboard, or with ?board=all of all of them, from what Prometheus answers.
//
// The address keeps what was chosen: board, range, refresh (seconds, 0 for none), and every variable by its name.
// When all is drawn, body's data-state is "done" (data-height: its pixels) and each panel's "drawn", "na" or "error".
import {draw} from './panels.js';
import {labelValues, now, run, secondsOf} from './queries.js';

const RANGES = ['5m', '15m', '1h', '6h', '24h'];
const chosen = new URLSearchParams(location.search);
const $ = id => document.getElementById(id);

function choose(name, value) {
  chosen.set(name, value);
  history.replaceState(null, '', `?${chosen}`);
}

const shortName = board => board.title.split(' / ').pop();
const idOf = board => board.uid.replace(/^faprof-/, '');

// A duration that the board offers, as long as it takes in the demo, where rules have shorter times too.
function spedUp(text, about) {
  const seconds = Math.max(Math.round(secondsOf(text) / about.speedup), 3 * about.interval);
  return seconds % 60 ? `${seconds}s` : `${seconds / 60}m`;
}

// All that there is, and compared with what a demo has lived to see.
function initial(variable) {
  if (variable.name === 'since') return variable.options[0].value;
  if (variable.type === 'query') return variable.allValue;
  if (variable.name === 'simulated') return '.*';
  return variable.current.value;
}

async function optionsOf(variable, values, range, about) {
  if (variable.type === 'query') {
    const found = await labelValues(variable.query.query, values, range);
    return [['All', variable.allValue], ...found.map(value => [value, value])];
  }
  if (variable.type === 'interval') {
    const here = value => about.speedup > 1 ? ` (${spedUp(value, about)} here)` : '';
    return variable.options.map(({value}) => [value + here(value), value]);
  }
  return variable.options.map(option => [option.text, option.value]);
}

function selector(label, name, options, current, redraw) {
  const box = document.createElement('label');
  const select = document.createElement('select');
  for (const [text, value] of options) select.add(new Option(text, value, false, value === current));
  select.onchange = () => { choose(name, select.value); redraw(); };
  box.append(label, select);
  return box;
}

// Fills the bar; returns what to substitute in queries.
async function variables(boards, range, about, redraw) {
  const values = {__rate_interval: `${4 * about.interval}s`, __range: `${Math.round(range.end - range.start)}s`};
  const fields = [];
  const known = new Map(boards.flatMap(board => board.templating.list).map(variable => [variable.name, variable]));
  for (const variable of known.values()) {
    if (variable.type === 'datasource') continue;
    const options = await optionsOf(variable, values, range, about);
    const wanted = chosen.get(variable.name) ?? initial(variable);
    const current = options.some(([, value]) => value === wanted) ? wanted : initial(variable);
    values[variable.name] = variable.type === 'interval' ? spedUp(current, about) : current;
    fields.push(selector(variable.label, variable.name, options, current, redraw));
  }
  fields.push(selector('Range', 'range', RANGES.map(text => [text, text]), chosen.get('range') ?? '15m', redraw));
  $('variables').replaceChildren(...fields);
  return values;
}

async function fill(section, panel, values, range) {
  const body = section.querySelector('.body');
  try {
    const results = await run(panel, values, range);
    body.replaceChildren();
    if (draw(body, panel, results, range)) {
      section.dataset.state = 'drawn';
    } else {
      body.textContent = panel.fieldConfig.defaults.noValue;
      section.dataset.state = 'na';
    }
  } catch (error) {
    body.textContent = error.message;
    section.dataset.state = 'error';
  }
}

function frame(board, panel) {
  const {x, y, w, h} = panel.gridPos;
  const section = document.createElement('section');
  section.className = `panel ${panel.type}`;
  section.style.gridArea = `${y + 1} / ${x + 1} / span ${h} / span ${w}`;
  Object.assign(section.dataset, {board: idOf(board), title: panel.title, type: panel.type, state: 'loading'});
  section.innerHTML = '<h2><span class="title"></span><span class="note"></span></h2><div class="body"></div>';
  section.querySelector('.title').textContent = panel.title;
  section.querySelector('h2').title = panel.description;
  return section;
}

async function show(about) {
  const wanted = chosen.get('board') ?? 'fleet';
  const boards = wanted === 'all' ? about.boards : about.boards.filter(board => idOf(board) === wanted);
  if (!boards.length) throw new Error(`no board is called ${wanted}: take ${about.boards.map(idOf).join(', ')} or all`);
  document.body.dataset.state = 'loading';
  for (const each of $('boards').children) each.classList.toggle('here', each.dataset.board === wanted);
  const range = {end: await now()};
  range.start = Math.max(range.end - secondsOf(chosen.get('range') ?? '15m'), about.started);
  range.step = Math.max(about.interval, Math.ceil((range.end - range.start) / 150));
  range.start = range.end - range.step * Math.max(1, Math.floor((range.end - range.start) / range.step));
  const redraw = () => show(about).catch(fail);
  const values = await variables(boards, range, about, redraw);
  const pages = boards.map(board => {
    const page = document.createElement('div');
    page.className = 'grid';
    page.append(...board.panels.map(panel => frame(board, panel)));
    return page;
  });
  const headed = boards.flatMap((board, index) => {
    const head = document.createElement('p');
    head.className = 'about';
    head.append(Object.assign(document.createElement('b'), {textContent: shortName(board)}), ` ${board.description}`);
    return [head, pages[index]];
  });
  // Charts measure their place, so panels are drawn where they are shown; a page drawn before is replaced whole.
  for (const canvas of document.querySelectorAll('canvas')) Chart.getChart(canvas)?.destroy();
  $('board').replaceChildren(...headed);
  await Promise.all(boards.flatMap((board, index) => board.panels.map((panel, number) =>
    fill(pages[index].children[number], panel, values, range))));
  document.body.dataset.state = 'done';
  document.body.dataset.height = document.documentElement.scrollHeight;
  const refresh = Number(chosen.get('refresh') ?? 30);
  clearTimeout(show.timer);
  if (refresh > 0) show.timer = setTimeout(redraw, 1000 * refresh);
}

function fail(error) {
  document.body.dataset.state = 'error';
  $('board').textContent = `Nothing can be shown: ${error.message}`;
}

async function main() {
  const about = await (await fetch('demo.json')).json();
  for (const board of about.boards) {
    const button = document.createElement('a');
    button.href = `?board=${idOf(board)}`;
    button.dataset.board = idOf(board);
    button.textContent = shortName(board);
    $('boards').append(button);
  }
  $('simulated').hidden = false;
  $('simulated').textContent =
    `Simulated: ${about.hosts} hosts of 8 GPUs (sim-host-…) repeat a bundled recording with noise. Planted: GPU 5 of ` +
    'sim-host-001 is slow, and softmax of mma changes on GPU 2 of sim-host-000. this-host is that recording itself.';
  $('about').textContent =
    `Times in rules are ${about.speedup} times shorter than in operation: a window of 6h is ${spedUp('6h', about)} here. ` +
    'Clocks show UTC.';
  await show(about);
}

main().catch(fail);
