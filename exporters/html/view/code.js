// Source and machine code of one function, with what each line cost.

const unpacked = new Map();

/** {instructions, lines} of a listing. */
async function codeOf(index) {
  if (!unpacked.has(index)) {
    const [instructions, source] = await unpack(`code-${index}`);
    unpacked.set(
      index,
      {instructions: instructions.kernels[0].instructions, lines: source.kernels[0].lines, source: source.kernels[0]});
  }
  return unpacked.get(index);
}

function hottestOf(rows, value) {
  return rows.reduce((most, row) => Math.max(most, value(row) || 0), 0);
}

function lineName(row) {
  return row.file === null ? null : `${row.file.slice(row.file.lastIndexOf("/") + 1)}:${row.line}`;
}

/** The line's number is always there; the file's name is cut. */
function placeCell(row) {
  return h(
    "span", {class: "place mono", title: `${row.file}:${row.line}`},
    h("span", {class: "file"}, row.file.slice(row.file.lastIndexOf("/") + 1)), `:${row.line}`);
}

/** What both views show of a row's cost. */
function noneText() {
  return h("span", {class: "muted", title: "none"}, "\u2013");
}

function costColumns(rows, head) {
  const hottest = hottestOf(rows, (row) => row.share_ratio);
  const heat = (id, title, help) => {
    const most = hottestOf(rows, (row) => row[id]);
    return {
      id,
      title,
      kind: "num",
      width: "7em",
      help,
      value: (row) => row[id],
      cell: (row, value) =>
        (isNumber(value) && value > 0 ? heatCell(value, most, "heat-count", count(value)) : noneText())
    };
  };
  const excess = (id, of, title, help) => ({
    id,
    title,
    kind: "num",
    width: "4.4em",
    help,
    value: (row) => (row[of] > 0 && isNumber(row[id]) ? row[id] / row[of] : null),
    cell: (row, value) => (isNumber(value) ? percent(value) : noneText())
  });
  const shown = (id) => rows.some((row) => isNumber(row[id]) && row[id] > 0);
  return [
    {
      id: "share_ratio",
      title: head.weighed_by === "samples" ? "samples" : head.weighed_by || "share",
      kind: "num",
      width: "8em",
      help: `share of the function's ${head.weighed_by || "weight"}`,
      value: (row) => row.share_ratio,
      cell: (row, value) =>
        (isNumber(value) ? heatCell(value, hottest, "heat-share", value === 0 ? "0" : percent(value)) :
                           valueText(ABSENT))
    },
    head.samples > 0 && {
      id: "stalls",
      title: "warps",
      kind: "bar",
      width: "7em",
      help: "what warps did: of the row's own samples; sorted by its largest stall",
      value: (row) => (row.stalls[0] ? row.stalls[0].ratio : null),
      cell: (row) => (row.stalls.length > 0 ? stallBar(row.stalls, 1, "stalls", 12) : "")
    },
    shown("executed") && heat("executed", "executed", "by warps, in one call"),
    shown("threads_per_instruction") && {
      id: "threads_per_instruction",
      title: "threads",
      kind: "num",
      width: "4.4em",
      help: "mean active threads, of 32",
      value: (row) => row.threads_per_instruction,
      cell: (row, value) => (isNumber(value) ? digits(value) : noneText())
    },
    shown("shared_wavefronts") && heat("shared_wavefronts", "wavefronts", "SASS shared wavefronts"),
    shown("excess_wavefronts") &&
      excess("excess_wavefronts", "shared_wavefronts", "confl.", "wavefronts that bank conflicts caused, of the row's"),
    shown("global_sectors") && heat("global_sectors", "sectors", "of global memory, 32 bytes each"),
    shown("excess_sectors") &&
      excess(
        "excess_sectors", "global_sectors", "excess",
        "sectors that the same threads side by side would not need, of the row's"),
  ].filter(Boolean);
}

function instructionColumns(rows, head) {
  return [
    {
      id: "offset",
      title: "offset",
      kind: "num",
      width: "4.6em",
      value: ({offset}) => offset,
      cell: ({offset}) => h("span", {class: "mono"}, offset.toString(16).padStart(4, "0"))
    },
    {
      id: "phase",
      title: "phase",
      width: "9em",
      help: "and how it is known",
      value: ({phase}) => phase,
      cell: (row) => h("span", {title: row.grade ? `${row.grade}: ${row.reason}` : "no phase"}, phaseName(row.phase))
    },
    ...costColumns(rows, head),
    rows.some((row) => row.file !== null) && {
      id: "line",
      title: "source",
      width: "10em",
      value: (row) => (row.file === null ? null : `${row.file}:${String(row.line).padStart(7, "0")}`),
      cell: (row) => (row.file === null ? valueText(ABSENT) : placeCell(row))
    },
    {
      id: "text",
      title: "instruction",
      width: "minmax(20em, 1fr)",
      value: ({text}) => text,
      cell: ({text}) => h("code", {title: text}, text)
    },
  ].filter(Boolean);
}

function noSource(row, source) {
  return source.read_files.includes(row.file) ?
    h("span", {class: "absent", title: "the file that was read has fewer lines: it is another version"},
      "no such line now") :
    h("span", {class: "absent", title: "the machine that wrote this page did not read the file"}, "source not read");
}

function lineColumns(rows, head, source) {
  return [
    {
      id: "place",
      title: "line",
      width: "11em",
      value: (row) => `${row.file}:${String(row.line).padStart(7, "0")}`,
      cell: placeCell
    },
    {
      id: "phase",
      title: "phase",
      width: "9em",
      value: ({phases}) => (phases[0] ? phases[0].phase : null),
      cell: (row) =>
        (row.phases[0] ? h("span", {title: row.phases.map((each) => `${each.phase} ${percent(each.ratio)}`).join(", ")},
                           phaseName(row.phases[0].phase),
                           row.phases.length > 1 && h("span", {class: "muted"}, ` +${row.phases.length - 1}`)) :
                         "")
    },
    ...costColumns(rows, head),
    {
      id: "instructions",
      title: "instr.",
      kind: "num",
      width: "4em",
      help: "machine instructions of the line",
      value: (row) => row.instructions
    },
    {
      id: "text",
      title: "source",
      width: "minmax(20em, 1fr)",
      value: ({text}) => text,
      cell: (row, text) => (text === null ? noSource(row, source) : h("code", {title: text}, text))
    },
  ];
}

/** A strip of the function's code by address: colour is the phase, length the samples. A click goes there. */
function codeMap(rows, go) {
  const most = hottestOf(rows, (row) => row.share_ratio);
  const step = Math.max(1, Math.ceil(rows.length / 400));
  const bars = Math.ceil(rows.length / step);
  const map =
    s("svg", {
      class: "code-map",
      viewBox: `0 0 ${bars} 40`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": "samples and phases by address; the table has the same"
    },
      s("title", {},
        "The code by address: colour is the phase, height the square root of the samples. Click to go there."));
  for (let bar = 0; bar < bars; bar += 1) {
    const group = rows.slice(bar * step, (bar + 1) * step);
    const hot = group.reduce((best, row) => ((row.share_ratio || 0) > (best.share_ratio || 0) ? row : best));
    const tall = most > 0 ? 34 * Math.sqrt((hot.share_ratio || 0) / most) : 0;
    map.append(
      s("rect", {class: `fill ${phaseClass(hot.phase)}`, x: bar, y: 36, width: 1.02, height: 4}),
      tall > 0.2 &&
        s("rect", {class: `fill ${phaseClass(hot.phase)}`, x: bar, y: 35 - tall, width: 1.02, height: tall}));
  }
  map.addEventListener("click", (event) => {
    const box = map.getBoundingClientRect();
    go(Math.min(rows.length - 1, Math.floor((event.clientX - box.left) / box.width * bars) * step));
  });
  return map;
}

class CodeView {
  constructor(head, code, app) {
    this.head = head;
    this.code = code;
    this.app = app;
    this.state = app.state;
    const hasLines = code.lines.length > 0;
    if (!hasLines || !["source", "sass"].includes(this.state.mode)) this.state.mode = hasLines ? "source" : "sass";
    this.place = h("div", {});
    this.counted = h("span", {class: "muted", role: "status"});
    this.search = h("input", {
      type: "search",
      class: "search",
      placeholder: "Find text, phase, stall or line  ( / )",
      "aria-label": "find in the code",
      oninput: () => {
        this.state.q = this.search.value;
        this.filter();
      }
    });
    this.search.value = this.state.q || "";
    this.modes = hasLines &&
      h("div", {class: "tabs", role: "group", "aria-label": "what to show"},
        ["source", "sass"].map(
          (mode) =>
            button(mode === "source" ? "Source" : "Machine code", () => this.setMode(mode), {"data-mode": mode})));
    this.phases =
      h("select", {
        "aria-label": "phase",
        onchange: () => {
          this.state.phase = this.phases.value;
          this.filter();
        }
      },
        h("option", {value: ""}, "all phases"),
        [...new Set(code.instructions.map(({phase}) => phase))].sort().map(
          (phase) => h("option", {value: phase}, phase)));
    this.phases.value = this.state.phase || "";
    this.map = codeMap(code.instructions, (index) => this.goTo(index));
    this.element =
      h("div", {},
        h("div", {class: "toolbar"}, this.modes, this.search, this.phases, this.counted, h("span", {class: "grow"}),
          hasLines && h("span", {class: "muted hint"}, "Enter on a source line shows its machine code")),
        this.map, this.place);
    this.draw();
  }

  setMode(mode) {
    this.state.mode = mode;
    delete this.state.sort;
    delete this.state.row;
    this.draw();
  }

  draw() {
    const source = this.state.mode === "source";
    const rows = source ? this.code.lines : this.code.instructions;
    if (this.modes)
      for (const each of this.modes.children)
        each.setAttribute("aria-pressed", String(each.dataset.mode === this.state.mode));
    const state = {
      sort: this.state.sort || (source ? "share_ratio" : null),
      descending: this.state.up !== "1",
      selected: this.state.row
    };
    this.long = new LongTable((source ? lineColumns : instructionColumns)(rows, this.head, this.code.source), {
      label: source ? "source lines" : "machine instructions",
      state,
      keyOf: (row) => (source ? `${row.file}:${row.line}` : String(row.index)),
      open: source ? (row) => this.showLine(row) : null,
      changed: () => {
        Object.assign(this.state, {sort: state.sort, up: state.descending ? undefined : "1", row: state.selected});
        this.app.changed();
      },
    });
    this.place.replaceChildren(this.long.element);
    this.filter();
    requestAnimationFrame(() => this.long.reveal());
  }

  /** The machine code of a source line. */
  showLine(row) {
    this.state.q = `${lineName(row)}`;
    this.search.value = this.state.q;
    this.setMode("sass");
  }

  goTo(index) {
    Object.assign(this.state, {mode: "sass", sort: undefined, q: undefined, phase: undefined, row: String(index)});
    this.search.value = this.phases.value = "";
    this.draw();
    this.app.changed();
  }

  filter() {
    const words = (this.state.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    const all = this.state.mode === "source" ? this.code.lines : this.code.instructions;
    const rows = all.filter((row) => this.isOfPhase(row) && words.every((word) => this.textOf(row).includes(word)));
    this.counted.textContent = `${rows.length.toLocaleString("en-US")} of ${all.length.toLocaleString("en-US")}`;
    this.long.setRows(rows);
    this.app.changed();
  }

  isOfPhase(row) {
    if (!this.state.phase) return true;
    return row.phase === this.state.phase || (row.phases || []).some(({phase}) => phase === this.state.phase);
  }

  textOf(row) {
    const place = lineName(row);
    return [
      row.text || "", row.phase || "", ...(row.phases || []).map(({phase}) => phase), place ? `${place}` : "",
      ...row.stalls.slice(0, 2).map(({reason}) => reason)
    ].join("\n")
      .toLowerCase();
  }
}

function drawnCode(head, code, app) {
  return [codeNotes(head, code), new CodeView(head, code, app).element, stallLegend()];
}

function codeView(entry, report, app) {
  const heads = report.codeOf(entry).filter((head) => head.missing === null);
  const head = heads.find(({index}) => String(index) === app.state.fn) || heads[0];
  const place = h("div", {"aria-live": "polite"}, h("p", {class: "note"}, "Unpacking the code\u2026"));
  const title = [
    h("nav", {class: "crumbs", "aria-label": "code"}, h("a", {href: app.link({view: "overview"})}, "All kernels"),
      h("a", {href: app.link({view: "kernel", kernel: entry.key})}, entry.title),
      heads.length > 1 &&
        heads.map(
          (each) =>
            h("a", {
              href: app.link({view: "code", kernel: entry.key, fn: each.index}),
              "aria-current": each === head ? "page" : null
            },
              each.part || each.function))),
    h("h1", {tabindex: -1}, "Code of ", entry.name,
      entry.shape && h("span", {class: "muted"}, ` \u00b7 ${entry.shape}`))
  ];
  if (!head) return [...title, h("p", {class: "note"}, "The page has no code of this kernel.")];
  if (!head.packed) {
    return [
      ...title,
      h("p", {class: "warning"}, "The code was left out, because the page would be too large for a browser. ",
        "See it with fa-profile report --instructions --kernel NAME.")
    ];
  }
  codeOf(head.index)
    .catch(() => null)
    .then((code) => place.replaceChildren(...(code ? [attempt("The code", () => drawnCode(head, code, app))].flat() : [
      h("p", {class: "warning"},
        "This browser cannot unpack the code: it needs DecompressionStream (Chromium 80, Firefox 113, Safari 16.4).")
    ])));
  return [...title, place];
}

function codeNotes(head, code) {
  const notes = [
    head.samples > 0 ? `${count(head.samples)} samples${
                         isNumber(head.call_share_ratio) && head.call_share_ratio < 1 ?
                           `, ${percent(head.call_share_ratio)} of the call's` :
                           ""}` :
                       "not sampled",
    head.counted ? "counted" : "not counted", `phases by ${head.attribution}`
  ];
  if (isNumber(code.source.unplaced_ratio) && code.source.unplaced_ratio > 0)
    notes.push(`${percent(code.source.unplaced_ratio)} of the weight has no line`);
  return h(
    "div", {}, h("p", {class: "mono muted wrap"}, head.function), h("p", {class: "note"}, `${notes.join("; ")}.`),
    code.source.read_files.length > 0 &&
      h("p", {class: "note"},
        `Source text is of the machine that wrote this page, as it was then: ${code.source.read_files.join(", ")}.`),
    code.source.changed_files.length > 0 &&
      h("p", {class: "warning"},
        `Changed after the recording was made, so lines may have moved: ${code.source.changed_files.join(", ")}.`));
}
