// Tables that sort. A long one keeps only the rows in sight in the page, so that thousands scroll smoothly.
//
// A column: {id, title, help, kind: "num" or "text", width, value(row), cell(row, value)}. `value` sorts; without
// `cell` it is shown. A null value is absent, and comes last whichever way the table is sorted.

function sortRows(rows, column, descending) {
  const keyed = rows.map((row, index) => ({row, index, value: column.value(row)}));
  keyed.sort((a, b) => {
    if (a.value === b.value) return a.index - b.index;
    if (a.value === null || a.value === undefined) return 1;
    if (b.value === null || b.value === undefined) return -1;
    const order = typeof a.value === "string" ? a.value.localeCompare(b.value) : a.value - b.value;
    return descending ? -order : order;
  });
  return keyed.map(({row}) => row);
}

function cellContent(column, row) {
  const value = column.value(row);
  if (column.cell) return column.cell(row, value);
  return value === null || value === undefined ? valueText(ABSENT) : String(value);
}

/** The title, which sorts when it is pressed. */
function headContent(column, sortBy) {
  if (column.title === "") return hidden(column.kind === "num" ? "value" : "chart");
  return column.sortable === false ? column.title : button(column.title, () => sortBy(column), {class: "sort"});
}

/** A small table. `open(row)` makes rows expand: it returns what is shown below. `opened`: {has(row), set(row, flag)},
    which rows are. `order`: what tableState() gives. */
function table(
  columns, rows,
  {caption, sort = null, descending = true, open = null, opened = null, rowClass = null, order = null} = {}) {
  const body = h("tbody", {});
  const {state, changed} = order || {state: {sort, descending}, changed: () => {}};
  const head = h("tr", {}, open && h("th", {class: "opener"}, hidden("details")));
  const heads = columns.map(
    (column) => h("th", {scope: "col", class: column.kind || "text", title: column.help}, headContent(column, sortBy)));
  head.append(...heads);
  function sortBy(column) {
    state.descending = state.sort === column.id ? !state.descending : column.kind === "num";
    state.sort = column.id;
    changed();
    draw();
  }
  function draw() {
    const by = columns.find(({id}) => id === state.sort);
    columns.forEach((column, i) => setSorted(heads[i], column === by ? state.descending : null));
    const shown = by ? sortRows(rows, by, state.descending) : rows;
    body.replaceChildren(...shown.flatMap((row) => tableRow(columns, row, open, opened, rowClass)));
  }
  draw();
  return h(
    "div", {class: "table-scroll"},
    h("table", {}, caption && h("caption", {class: "hidden"}, caption), h("thead", {}, head), body));
}

/** A number, and beside it a bar as long as its share of the largest. */
function heatCell(ratio, hottest, className, text, wide = false) {
  return h(
    "span", {class: wide ? "heat wide" : "heat"}, h("span", {class: "heat-text num"}, text),
    ratioBar(hottest > 0 && isNumber(ratio) ? ratio / hottest : 0, {label: text, kind: className, height: 12}));
}

function setSorted(head, descending) {
  if (descending === null)
    head.removeAttribute("aria-sort");
  else
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
}

function tableRow(columns, row, open, opened, rowClass) {
  const cells = columns.map(
    (column, i) => h(
      i === 0 ? "th" : "td", {scope: i === 0 ? "row" : null, class: column.kind || "text"}, cellContent(column, row)));
  const line = h("tr", {class: rowClass && rowClass(row)}, ...cells);
  if (!open) return [line];
  const below = h("tr", {class: "below", hidden: true}, h("td", {colspan: columns.length + 1}));
  const show_ = (isOpen) => {
    below.hidden = !isOpen;
    toggle.setAttribute("aria-expanded", String(isOpen));
    if (isOpen && !below.firstChild.hasChildNodes()) below.firstChild.append(open(row));
  };
  const toggle = button("\u25b8", () => {
    show_(below.hidden);
    if (opened) opened.set(row, !below.hidden);
  }, {class: "expand", "aria-expanded": "false", "aria-label": `details of ${columns[0].value(row)}`});
  line.prepend(h("td", {class: "opener"}, toggle));
  if (opened && opened.has(row)) show_(true);
  return [line, below];
}

const ROW_HEIGHT = 30;
const OVERSCAN = 8;
const ALL_IN_PAGE = 60;  // up to so many rows there is nothing to scroll

// Paper does not scroll: it gets all rows.
const shownTables = [];
window.addEventListener("beforeprint", () => {
  shownTables.forEach((each) => each.draw(true));
  document.querySelectorAll("#findings details").forEach((each) => each.setAttribute("open", ""));
});
window.addEventListener("afterprint", () => shownTables.forEach((each) => each.draw()));

/** A table of any length. `open(row)` is called for a row that is clicked, or entered with the keyboard. `state`:
    {sort, descending, selected}, which is the caller's to keep; `changed()` is called when it changes. */
class LongTable {
  constructor(columns, {label, open = null, state = {}, changed = () => {}, keyOf = null, rowClass = null}) {
    this.columns = columns;
    this.open = open;
    this.state = state;
    this.changed = changed;
    this.keyOf = keyOf;
    this.rowClass = rowClass;
    this.rows = [];
    this.active = -1;
    this.prefix = newId("row");
    const template = columns.map(({width}) => width || "minmax(6em, 1fr)").join(" ");
    this.head = h("div", {class: "long-head", role: "row", "aria-rowindex": 1});
    this.spacer = h("div", {class: "long-rows", role: "rowgroup"});
    this.element =
      h("div",
        {class: "long-table", role: "grid", tabindex: 0, "aria-label": label, onkeydown: (event) => this.onKey(event)},
        h("div", {class: "long-sticky", role: "rowgroup"}, this.head), this.spacer);
    this.element.style.setProperty("--columns", template);
    const least = columns.reduce((sum, {width}) => sum + parseFloat((width || "6").replace("minmax(", "")), 0);
    this.element.style.setProperty("--least", `calc(${least}em + ${columns.length + 1} * var(--gap))`);
    this.element.addEventListener("scroll", () => this.draw());
    this.heads = columns.map(
      (column) =>
        h("div", {role: "columnheader", class: column.kind || "text", title: column.help},
          headContent(column, () => this.sortBy(column))));
    this.head.append(...this.heads);
    shownTables.push(this);
  }

  setRows(rows) {
    this.given = rows;
    this.sort();
  }

  sortBy(column) {
    this.state.descending = this.state.sort === column.id ? !this.state.descending : column.kind === "num";
    this.state.sort = column.id;
    this.changed();
    this.sort();
  }

  sort() {
    const by = this.columns.find(({id}) => id === this.state.sort);
    this.columns.forEach((column, i) => setSorted(this.heads[i], column === by ? this.state.descending : null));
    this.rows = by ? sortRows(this.given, by, this.state.descending) : this.given;
    this.element.setAttribute("aria-rowcount", this.rows.length + 1);
    this.element.classList.toggle("scrolls", this.rows.length > ALL_IN_PAGE);
    this.spacer.style.height = `${Math.max(1, this.rows.length) * ROW_HEIGHT}px`;
    this.active = this.keyOf ? this.rows.findIndex((row) => this.keyOf(row) === this.state.selected) : -1;
    this.draw();
  }

  /** Puts the rows in sight into the page; `everything`: all of them, for print. */
  draw(everything = false) {
    const few = this.rows.length <= ALL_IN_PAGE || everything;
    const first = few ? 0 : Math.max(0, Math.floor(this.element.scrollTop / ROW_HEIGHT) - OVERSCAN);
    const inSight = Math.ceil((this.element.clientHeight || 600) / ROW_HEIGHT);
    const end = few ? this.rows.length : Math.min(this.rows.length, first + inSight + 2 * OVERSCAN);
    const lines = [];
    for (let i = first; i < end; i += 1) lines.push(this.line(i));
    if (lines.length === 0)
      lines.push(h("div", {role: "row", class: "long-none"}, h("div", {role: "gridcell"}, "none")));
    this.spacer.replaceChildren(...lines);
    if (this.active >= first && this.active < end)
      this.element.setAttribute("aria-activedescendant", `${this.prefix}-${this.active}`);
    else
      this.element.removeAttribute("aria-activedescendant");
  }

  line(index) {
    const row = this.rows[index];
    const line =
      h("div", {
        role: "row",
        id: `${this.prefix}-${index}`,
        "aria-rowindex": index + 2,
        class: `long-row ${(this.rowClass && this.rowClass(row)) || ""}`,
        "aria-selected": index === this.active ? "true" : null,
        onclick: (event) => {
          if (event.target.closest("a, button")) return;
          this.select(index);
          if (this.open) this.open(row);
        },
      },
        ...this.columns.map(
          (column) => h("div", {role: "gridcell", class: column.kind || "text"}, cellContent(column, row))));
    line.style.top = `${index * ROW_HEIGHT}px`;
    return line;
  }

  select(index) {
    this.active = Math.max(0, Math.min(index, this.rows.length - 1));
    if (this.keyOf && this.rows.length > 0) this.state.selected = this.keyOf(this.rows[this.active]);
    this.reveal();
    this.changed();
  }

  /** Scrolls the active row into sight. */
  reveal() {
    if (this.active < 0) return this.draw();
    const top = this.active * ROW_HEIGHT;
    const room = this.element.clientHeight - this.head.offsetHeight - ROW_HEIGHT;
    if (this.rows.length > ALL_IN_PAGE) {
      if (top < this.element.scrollTop) this.element.scrollTop = top;
      if (top > this.element.scrollTop + room) this.element.scrollTop = top - room;
    }
    this.draw();
    const line = document.getElementById(`${this.prefix}-${this.active}`);
    if (line && this.rows.length <= ALL_IN_PAGE) line.scrollIntoView({block: "nearest"});
    return undefined;
  }

  onKey(event) {
    if (event.target !== this.element || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW_HEIGHT) - 2);
    const steps = {
      ArrowDown: this.active + 1,
      ArrowUp: this.active - 1,
      PageDown: this.active + page,
      PageUp: this.active - page,
      Home: 0,
      End: this.rows.length - 1
    };
    if (event.key in steps) {
      event.preventDefault();
      this.select(steps[event.key]);
    } else if (event.key === "Enter" && this.active >= 0 && this.open) {
      event.preventDefault();
      this.open(this.rows[this.active]);
    }
  }
}

/** A long table with a field that finds rows, and a choice among them; both, and its order, are in the address.
    `textOf(row)`: what is searched. `choice`: {name, label, options: [[value, text]], keeps(row, value)}; value "" is
    the usual one. `usual`: the order at first. */
function findTable(
  app, id, columns, rows, {label, find, textOf, choice = null, usual = {}, prefix, hint = null, ...more}) {
  const names = ["query", ...(choice ? [choice.name] : [])];
  const {state, changed} = app.tableState(id, usual, {names, ...(prefix === undefined ? {} : {prefix})});
  const long = new LongTable(columns, {label, state, changed, ...more});
  const counted = h("span", {class: "muted", role: "status"});
  const search = h("input", {
    type: "search",
    class: "search",
    placeholder: `Find ${find}  ( / )`,
    "aria-label": `find ${label.toLowerCase()}`,
    oninput: filter
  });
  const select = choice &&
    h("select", {"aria-label": choice.label, onchange: filter},
      choice.options.map(([value, text]) => h("option", {value}, text)));
  search.value = state.query || "";
  if (choice) {
    const known = choice.options.some(([value]) => value === state[choice.name]);
    select.value = known ? state[choice.name] : "";
  }
  function filter() {
    state.query = search.value;
    if (choice) state[choice.name] = select.value;
    const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = rows.filter(
      (row) => (!choice || choice.keeps(row, select.value)) && words.every((word) => textOf(row).includes(word)));
    counted.textContent = `${shown.length.toLocaleString("en-US")} of ${rows.length.toLocaleString("en-US")}`;
    long.setRows(shown);
    changed();
  }
  filter();
  return [
    h("div", {class: "toolbar"}, search, select, counted, h("span", {class: "grow"}),
      hint && h("span", {class: "muted hint"}, hint)),
    long.element
  ];
}

/** Texts in one, to be searched without regard to case. */
function searchable(...texts) {
  return texts.filter(Boolean).join("\n").toLowerCase();
}
