#!/usr/bin/env python3
"""Writes table.inc, the built-in metric sets, from what Nsight Compute says and does.

  generate.py SECTIONS HEADERS CHIPS > table.inc

SECTIONS  a folder of Nsight Compute's .section files; they say, with architecture filters, which metrics a set shows.
HEADERS   basic.txt, detailed.txt, full.txt, roofline.txt: the column names, one a line, of
            ncu --set SET --page raw --csv PROGRAM
          on a GH100. They hold what the sections do not spell out: the breakdowns of throughputs and the metrics behind
          the memory chart and the memory tables.
CHIPS     GA100.txt, AD104.txt, GH100.txt, GB100.txt: base metric names, the first word of each line of
            fa-profile list counters --chip CHIP

On GH100 a set is what Nsight Compute collected. On the other chips it is what the sections ask of that chip, and of the
breakdowns, chart and tables what the chip has by name.

A row: a metric, then for each chip the sets and groups that hold it, as letters of SETS and GROUPS.
"""

import pathlib
import re
import sys

SETS = {"basic": "b", "detailed": "d", "full": "f", "roofline": "r"}
GROUPS = {"breakdown": "B", "chart": "C", "tables": "T"}
CHIPS = {"GA100": 80, "AD104": 89, "GH100": 90, "GB100": 100}
ROLLUPS = (".avg", ".max", ".min", ".sum")
NOT_METRICS = {"MetricDefinitions", "Group", "SuffixTable"}

TOKEN = re.compile(r'\s+|#[^\n]*|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<word>[\w.+-]+)|(?P<mark>[{}:,;])')


def parse(text):
    """A message as a list of (field, value); a value is a string or again a message."""
    stack = [[]]
    field = None
    position = 0
    while position < len(text):
        match = TOKEN.match(text, position)
        if not match:
            raise ValueError(f"unexpected {text[position]!r} at offset {position}")
        position = match.end()
        if match["string"] is not None:
            stack[-1].append((field, match["string"][1:-1]))
        elif match["word"] is not None:
            if text[position:].lstrip()[:1] in ("{", ":"):
                field = match["word"]
            else:
                stack[-1].append((field, match["word"]))
        elif match["mark"] == "{":
            message = []
            stack[-1].append((field, message))
            stack.append(message)
        elif match["mark"] == "}":
            stack.pop()
    return stack[0]


def all_of(message, name):
    return [value for field, value in message if field == name]


def arch(text):
    return int(text.removeprefix("CC_"))


def in_range(message, cc):
    low = all_of(message, "MinArch")
    high = all_of(message, "MaxArch")
    return (not low or arch(low[0]) <= cc) and (not high or cc <= arch(high[0]))


def passes(message, cc):
    """Whether the message's filter admits the compute capability. Scopes, drivers and virtual GPUs are not looked at."""
    for condition in all_of(message, "Filter"):
        items = all_of(condition, "Items")
        if not in_range(condition, cc) or (items and not any(in_range(item, cc) for item in items)):
            return False
    return True


def names(message, cc):
    """The metrics that a message asks of a compute capability: name -> whether all its rollups are collected.

    They are not where an alternative ("Options") replaces the name that the message states first.
    """
    if not isinstance(message, list):
        return {}
    options = [o for o in all_of(message, "Options") if isinstance(o, list) and all_of(o, "Name")]
    for option in options:
        if passes(option, cc):
            return {all_of(option, "Name")[0]: False}
    found = {}
    if not passes(message, cc):
        return found
    for field, value in message:
        if field == "Name" and value:
            found[value] = True
        elif field == "SuffixTable":
            suffixes = [all_of(s, "Name")[0] for part in all_of(value, "Suffixes") for s in all_of(part, "Suffix")]
            bases = [b for part in all_of(value, "BaseNames") for b in all_of(part, "BaseName") if passes(b, cc)]
            found.update((all_of(b, "Name")[0] + s, True) for b in bases for s in suffixes)
        elif field not in NOT_METRICS and value not in options:
            for name, rollups in names(value, cc).items():
                found[name] = found.get(name, False) or rollups
    return found


def definitions(message, cc):
    """Derived metrics of a section: name -> the expression over other metrics."""
    found = {}
    for outer in all_of(message, "MetricDefinitions"):
        for inner in all_of(outer, "MetricDefinitions"):
            if passes(inner, cc):
                found[all_of(inner, "Name")[0]] = all_of(inner, "Expression")[0]
    return found


def with_rollups(metric):
    """Nsight Compute collects all four rollups of a counter or throughput that names one; not of a sampled one."""
    base, rollup, rest = re.match(r"(.*?)(\.(?:avg|max|min|sum)(?=\.|$)|$)(.*)", metric).groups()
    if not rollup or "Triage" in metric or ":" in metric or metric.startswith("derived__"):
        return {metric}
    return {base + r + rest for r in ROLLUPS}


class Chip:
    def __init__(self, path):
        self.bases = {line.split()[0] for line in path.read_text().splitlines() if line.strip()}

    def has(self, metric):
        base = metric
        while base and base not in self.bases:
            base = base.rpartition(".")[0]
        return bool(base) and base != metric


def asked(sections, set_name, cc):
    """What the sections of a set ask of a compute capability: metrics with all rollups, and groups by name."""
    found = set()
    for section in sections:
        if not passes(section, cc) or set_name not in (all_of(s, "Identifier")[0] for s in all_of(section, "Sets")):
            continue
        wanted = names(section, cc)
        defined = definitions(section, cc)
        queue = [n for n in wanted if n in defined]
        while queue:
            for operand in re.findall(r"[A-Za-z_][\w.]*__[\w.]+", defined[queue.pop()]):
                if operand not in wanted:
                    wanted[operand] = False
                    queue += [operand] if operand in defined else []
        for name, rollups in wanted.items():
            found |= with_rollups(name) if rollups else {name}
    return found


def main():
    section_dir, header_dir, chip_dir = map(pathlib.Path, sys.argv[1:])
    sections = [parse(path.read_text()) for path in sorted(section_dir.glob("*.section"))]
    chips = {name: Chip(chip_dir / f"{name}.txt") for name in CHIPS}
    # The first columns describe the launch ("ID" to "CC"); a unit may follow the name.
    headers = {
        name: {line.split()[0] for line in (header_dir / f"{name}.txt").read_text().splitlines()[11:] if line.strip()}
        for name in SETS
    }

    # Metrics that Nsight Compute collected without a section naming them, starting with the set that has the fewest.
    unexplained = {name: {m for m in headers[name] - asked(sections, name, 90) if chips["GH100"].has(m)} for name in SETS}
    groups = {"breakdown": unexplained["basic"]}
    groups["chart"] = unexplained["detailed"] - groups["breakdown"]
    groups["tables"] = unexplained["full"] - groups["breakdown"] - groups["chart"]
    in_set = {"basic": ["breakdown"], "roofline": ["breakdown"], "detailed": ["breakdown", "chart"], "full": list(GROUPS)}

    rows = {}
    for chip, cc in CHIPS.items():
        holds = {SETS[name]: headers[name] if chip == "GH100" else asked(sections, name, cc) for name in SETS}
        for group, letter in GROUPS.items():
            holds[letter] = {m for m in groups[group] if chips[chip].has(m)}
        for name, letter in SETS.items():
            for group in in_set[name]:
                holds[letter] = holds[letter] | holds[GROUPS[group]]
        for letter, metrics in holds.items():
            for metric in metrics:
                rows.setdefault(metric, {}).setdefault(chip, "")
                rows[metric][chip] += letter
    print("// Written by generate.py: metric, then what holds it on " + ", ".join(CHIPS) + ".")
    for metric in sorted(rows):
        # Groups are expanded above; numbered temporaries are Nsight Compute's own.
        if not metric.startswith(("breakdown:", "group:memory__", "derived_tempMetric")):
            print("{" + ", ".join(f'"{field}"' for field in (metric, *(rows[metric].get(c, "") for c in CHIPS))) + "},")


if __name__ == "__main__":
    main()
