// The program's start: which kind of page this is, the bar at its top, the keyboard.

class ReportApp extends App {
  constructor() {
    super();
    this.report = new Report(documentOf("report"), documentOf("code"));
    this.name = this.report.isProgram ? "program" : "report";
    this.about = aboutText(this.report.document.device, this.report.document.session.created_at);
    const ofPrograms =
      this.report.isProgram ? [["Time", "time"], ["Layers", "layers"], ["NVTX", "nvtx"], ["Copies", "memory"]] : [];
    this.places = [
      ["Findings", "findings"], ...ofPrograms, ["Kernels", "kernels"], ["Roofline", "roofline"],
      ["Missing data", "losses"], ["Run", "run"]
    ];
  }

  content() {
    const entry = this.state.kernel === undefined ? null : this.report.find(this.state.kernel);
    if (this.state.kernel !== undefined && entry === null) {
      return [
        h("h1", {tabindex: -1}, "Kernel not found"),
        h("p", {}, `This report has no kernel '${printable(this.state.kernel)}'. `,
          h("a", {href: this.link({view: "overview"})}, "All kernels"))
      ];
    }
    if (entry && this.state.view === "code") return codeView(entry, this.report, this);
    if (entry) return kernelView(entry, this.report, this);
    return overview(this.report, this);
  }
}

/** "NVIDIA H200 · driver 580.159.04 · 2026-11-21", at the top of every view. */
function aboutText({name, driver_version: driver}, date) {
  return [name, driver && `driver ${driver}`, date && date.slice(0, 10)].filter(Boolean).join(" \u00b7 ");
}

const HELP = [
  ["/", "find"], ["Tab", "next control; a table is one, then its titles"],
  ["\u2191 \u2193 PgUp PgDn Home End", "move in a table"], ["Enter", "open the row"], ["Alt+\u2190", "back"],
  ["?", "this help"]
];

function helpDialog() {
  const dialog =
    h("dialog", {"aria-label": "keyboard"}, h("h2", {}, "Keyboard"),
      h("dl", {class: "facts"}, HELP.map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])),
      button("Close", () => dialog.close()));
  return dialog;
}

function onKeys(app, dialog) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
    if (event.key === "?") dialog.showModal();
    if (event.key !== "/") return;
    const search = app.main.querySelector("input[type=search]");
    if (!search) return;
    event.preventDefault();
    search.focus();
    search.select();
  });
}

/** The bar at the top: name, places of the first view, theme. */
function topBar(app, dialog) {
  const place = ([text, id]) => button(text, () => {
    if (app.state.kernel !== undefined || app.state.case !== undefined) {
      app.go({view: "overview"});
      app.then = id;
    } else {
      scrollTo_(id);
    }
  }, {class: "plain"});
  return h(
    "header", {class: "top"},
    h("a", {
      class: "skip",
      href: "#main",
      onclick: (event) => {
        event.preventDefault();
        app.main.querySelector("h1").focus();
      }
    },
      "Skip to the content"),
    h("a", {class: "brand", href: app.link({view: "overview"})}, "fa-profile"), h("span", {class: "muted"}, app.name),
    h("nav", {"aria-label": "places"}, (app.places || []).map(place)), h("span", {class: "grow"}),
    h("span", {class: "muted hint about", title: app.about}, app.about || ""),
    button("?", () => dialog.showModal(), {"aria-label": "keyboard help", class: "plain"}), themeButton());
}

function scrollTo_(id) {
  const element = document.getElementById(id);
  if (element) element.scrollIntoView();
}

function start() {
  setTheme(storedTheme());
  const kinds = [["report", ReportApp], ["diff", DiffApp], ["ranks", RanksApp], ["gate", GateApp]];
  const [, Kind] = kinds.find(([id]) => document.getElementById(id));
  const app = new Kind();
  const dialog = helpDialog();
  document.body.append(topBar(app, dialog), app.main, app.status, dialog, tip);
  onKeys(app, dialog);
  window.addEventListener("hashchange", () => {
    app.show();
    if (app.then) scrollTo_(app.then);
    app.then = null;
  });
  app.show(true);
  document.body.dataset.state = "drawn";
}

start();
