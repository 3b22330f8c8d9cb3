// The page's documents, as the JSON formats of fa-profile have them, and what the views ask of them.

// What would reorder or hide text, and controls: shown as \u{202E}, as the text report does.
const UNSAFE = new RegExp(
  "[\\u0000-\\u0008\\u000a-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff" +
    "\\ufff9-\\ufffb]|[\\u{e0000}-\\u{e0fff}]",
  "gu");

function printable(text) {
  return text.replace(UNSAFE, (c) => `\\u{${c.codePointAt(0).toString(16).toUpperCase()}}`).replaceAll("\t", "    ");
}

function parse(json) {
  // JSON has what is unsafe as escapes; those of <, > and & are everywhere and harmless.
  if (!/\\(?:u(?!003[ce]|0026)|[bfnrt])/.test(json)) return JSON.parse(json);
  return JSON.parse(json, (key, value) => (typeof value === "string" ? printable(value) : value));
}

/** The document with this id; null: the page has none. */
function documentOf(id) {
  const element = document.getElementById(id);
  return element ? parse(element.textContent) : null;
}

/** A packed document (zlib, base64). */
async function unpack(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return parse(await new Response(stream).text());
}

function shapeText(shape) {
  if (!shape) return "";
  if (!("num_heads" in shape)) return Object.entries(shape).map(([name, value]) => `${name}=${value}`).join(",");
  const numbers = [shape.batch, shape.num_heads, shape.seqlen, shape.head_dim].join(",");
  return shape.causal ? `${numbers} causal` : numbers;
}

/** A report document with what the views need of it: of each entry its title, key and code. */
class Report {
  constructor(document_, code) {
    this.document = document_;
    STALLS.groups = document_.stall_groups;
    STALLS.reasons = document_.stall_reasons;
    this.entries = document_.entries.map((entry, index) => new Entry(entry, index));
    giveKeys(this.entries);
    this.code = (code ? code.kernels : []).map((head, index) => ({
                                                 ...head,
                                                 index,
                                                 shape: shapeText(head.shape),
                                                 packed: document.getElementById(`code-${index}`) !== null,
                                               }));
  }

  get isProgram() {
    return this.document.program !== null;
  }

  find(key) {
    return this.entries.find((entry) => entry.key === key) || null;
  }

  /** The functions of an entry whose code was listed. */
  codeOf(entry) {
    return this.code.filter(
      (head) => head.kernel === entry.kernel && head.shape === entry.shape &&
        (entry.part === null || head.part === entry.part));
  }

  partsOf(entry) {
    return entry.part !== null ?
      [] :
      this.entries.filter(
        (other) => other.part !== null && other.kernel === entry.kernel && other.shape === entry.shape);
  }

  get shapes() {
    return [...new Set(this.entries.map((entry) => entry.shape))];
  }
}

const MOST_OF_KEY = 200;

/** Names for addresses: as readable as they can be, and no two alike. */
function giveKeys(items) {
  const seen = new Map();
  for (const item of items) {
    item.key = item.key.slice(0, MOST_OF_KEY);
    const times = seen.get(item.key) || 0;
    seen.set(item.key, times + 1);
    if (times > 0) item.key += ` (${times + 1})`;
  }
}

class Entry {
  constructor(json, index) {
    this.json = json;
    this.index = index;
    this.kernel = json.kernel;
    this.part = json.part;
    this.shape = shapeText(json.shape);
    this.name = json.part === null ? json.kernel : `${json.kernel} / ${json.part}`;
    this.title = this.shape ? `${this.name} \u00b7 ${this.shape}` : this.name;
    this.key = [json.kernel, this.shape, json.part].filter(Boolean).join("@");
  }

  metric(id) {
    const value = this.json.metrics[id];
    return isNumber(value) ? value : null;
  }

  /** Seconds of one call; null: not timed, or not correct. */
  get time() {
    return this.json.timing ? this.json.timing.median_ns * 1e-9 : null;
  }

  get correct() {
    return this.json.verification ? this.json.verification.correct : null;
  }

  /** GPU time of all launches of a watched program. */
  get total() {
    return this.json.use ? this.json.use.total_ns * 1e-9 : null;
  }

  /** Findings to act on: without those that another finding explains. */
  get findings() {
    return this.json.findings.filter(({cause}) => cause === null);
  }

  get phases() {
    return this.json.phases ? this.json.phases.phases : [];
  }

  get topPhase() {
    return this.phases.find((phase) => phase.phase !== UNATTRIBUTED && phase.metrics.phase_time_ratio > 0) || null;
  }

  /** Null where only some reasons were counted, as by the set `phases`. */
  get topStall() {
    return this.metric("stall_wait_ratio") === null ? null : this.json.stalls[0] || null;
  }
}

const UNATTRIBUTED = "(unattributed)";

// Colours of phases, by name: a phase looks the same in every chart. Others take the next free colour.
const PHASE_COLOURS = {
  softmax: 0,
  "exponential and reduction": 0,
  qk: 1,
  matrix: 1,
  pv: 2,
  load_kv: 3,
  loads: 3,
  load_q: 4,
  stores: 4,
  rescale: 5,
  "other arithmetic": 5,
  epilogue: 6,
  setup: 7,
  control: 7,
  sync: 8,
  barriers: 8,
};
const PHASE_COLOUR_COUNT = 9;
const givenColours = new Map();

function phaseClass(name) {
  if (name === UNATTRIBUTED) return "p-none";
  if (Object.hasOwn(PHASE_COLOURS, name)) return `p${PHASE_COLOURS[name]}`;
  if (!givenColours.has(name)) givenColours.set(name, (givenColours.size * 4) % PHASE_COLOUR_COUNT);
  return `p${givenColours.get(name)}`;
}

// Stall reasons and their groups, as the page's reports have them: one program wrote them all.
const STALLS = {
  groups: [],
  reasons: {}
};

function stallGroup(reason) {
  const id = Object.hasOwn(STALLS.reasons, reason) ? STALLS.reasons[reason].group : "other";
  return STALLS.groups.find(({group}) => group === id);
}

function stallHelp(reason) {
  return Object.hasOwn(STALLS.reasons, reason) ? STALLS.reasons[reason].help : stallGroup(reason).help;
}

/**
 * [{group, ratio, reasons}] of a stall mix; empty: the mix is not known. `issuing`: the share that issued; without it
 * the rest, as where all samples are known.
 */
function stallMix(stalls, issuing) {
  if (stalls.length === 0) return [];
  const sums = new Map(STALLS.groups.map((group) => [group.group, {group, ratio: 0, reasons: []}]));
  let all = 0;
  for (const stall of stalls) {
    const sum = sums.get(stallGroup(stall.reason).group);
    sum.ratio += stall.ratio;
    sum.reasons.push(stall);
    all += stall.ratio;
  }
  sums.get("issuing").ratio += issuing ?? Math.max(0, 1 - all);
  return [...sums.values()].filter(({ratio}) => ratio > 0);
}
