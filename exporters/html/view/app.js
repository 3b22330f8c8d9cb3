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
    if (address === location.hash || address === "#") return;
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
    const content = this.content();
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
