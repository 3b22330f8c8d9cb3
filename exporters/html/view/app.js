// Which view the page shows: what follows # in its address says it, so that every view can be linked.

class App {
  constructor() {
    this.kept = new Map();  // what tables remember while other views are shown
    this.state = {};
    this.main = h("main", {id: "main"});
    this.status = h("div", {class: "hidden", role: "status", "aria-live": "polite"});
  }

  keep(name, initial) {
    if (!this.kept.has(name)) this.kept.set(name, initial);
    return this.kept.get(name);
  }

  /** {state, changed}: a table's order and the texts of `names` (its search, what it is filtered by), as the address has
      them, else as they were. After a change of `state`, `changed()` puts them into the address, unless they are as
      usual. `prefix`: of their names there. */
  tableState(id, usual, {names = [], prefix = `${id}-`} = {}) {
    const state = this.keep(id, {sort: null, descending: true, ...usual});
    const first = {sort: null, descending: true, ...usual};
    const given = (name) => this.state[prefix + name];
    for (const name of ["sort", ...names])
      if (given(name) !== undefined) state[name] = given(name);
    if (given("sort") !== undefined) state.descending = given("up") !== "1";
    const changed = () => {
      const sorted = state.sort !== first.sort || state.descending !== first.descending;
      this.state[`${prefix}sort`] = sorted ? state.sort : undefined;
      this.state[`${prefix}up`] = sorted && !state.descending ? "1" : undefined;
      for (const name of names) this.state[prefix + name] = state[name];
      this.changed();
    };
    return {state, changed};
  }

  link(state) {
    return `#${
      new URLSearchParams(
        Object.entries(state).filter(([, value]) => value !== undefined && value !== "" && value !== null))}`;
  }

  go(state) {
    location.hash = this.link(state);
  }

  /** The state has changed within a view: the address follows. */
  changed() {
    if (this.drawing) return;
    const address = this.link(this.state);
    if (address === (location.hash || "#")) return;
    try {
      history.replaceState(null, "", address);
    } catch (error) { /* a page of a sandbox keeps its address */
    }
  }

  read() {
    this.state = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  }

  show(first = false) {
    this.read();
    this.drawing = true;
    tip.hidden = true;
    shownTables.length = 0;
    const content = [attempt("This view", () => this.content())].flat();
    this.main.classList.toggle("wide", this.state.view === "code");
    this.main.replaceChildren(...content.flat(3).filter((each) => each instanceof Node));
    this.drawing = false;
    this.changed();
    const heading = this.main.querySelector("h1");
    document.title = `${heading ? heading.textContent : "fa-profile"} \u00b7 fa-profile`;
    if (first) return;
    window.scrollTo(0, 0);
    if (heading) heading.focus({preventScroll: true});
    this.status.textContent = heading ? heading.textContent : "";
  }
}
