#!/usr/bin/env python3
"""Numbers that several formats carry agree, and keep to their bounds: numbers_test.py PROGRAM SOURCE [PACKAGE]

Every bundled recording goes through every format. The JSON report is the reference. PACKAGE: the folder that has the
Python package.
"""

import base64
import collections
import csv
import io
import itertools
import json
import math
import pathlib
import re
import struct
import subprocess
import sys
import unittest
import zlib

PROGRAM, SOURCE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
if sys.argv[3:]:
    sys.path.insert(0, sys.argv[3])
    import fa_profile
else:
    fa_profile = None
del sys.argv[1:]

METRICS_PAGE = (SOURCE / "docs/metrics.md").read_text()
RECORDINGS = sorted(SOURCE.glob("recordings/**/*.fap")) + [SOURCE / "tests/data/version1.fap"]

# What a name that ends in _ratio compares, if it is not a share: an error with its tolerance, p95 - p05 with the median,
# two kinds of work.
UNBOUNDED = {"max_error_ratio", "spread_ratio", "qk_to_pv_ratio"}
# A difference of two times: it is negative where parts overlap.
SIGNED = {"gap_timing_seconds"}
# What a recording of all stall reasons adds up to: counters of 19 passes (docs/known-limits.md).
WARP_STATES = (0.97, 1.03)
# The one call of the bundled recordings that adds up to more.
WARP_STATES_OF = {"scalar@4,16,1024,64": (0.97, 1.05)}
# Each pass is another launch there: what differs by more is left out, and named.
WARP_STATES_OF_PROGRAMS = (0.9, 1.1)
# What a metric of the kernel is, by other metrics that the report shows.
IDENTITIES = {
    "achieved_flops_per_second": lambda m: m["shape_flops"] / m["duration_seconds"],
    "arithmetic_intensity_dram": lambda m: (m["tensor_flops"] + m["fp32_flops"]) / m["dram_bytes"],
    "dram_bytes_per_second": lambda m: m["dram_bytes"] / m["duration_seconds"],
    "dram_sol_ratio": lambda m: m["dram_bytes_per_second"] / m["peak_dram_bytes_per_second"],
    "executed_flops_per_second": lambda m: (m["tensor_flops"] + m["fp32_flops"]) / m["duration_seconds"],
    "hmma_instruction_ratio": lambda m: m["hmma_instructions"] / m["instructions"],
    "instructions_per_cycle": lambda m: m["instructions"] / m["sm_active_cycles"],
    "l2_bytes_per_second": lambda m: m["l2_bytes"] / m["duration_seconds"],
    "roofline_ratio": lambda m: max(
        m["executed_flops_per_second"] / m["peak_tensor_flops_per_second"],
        m["dram_bytes_per_second"] / m["peak_dram_bytes_per_second"],
    ),
    "roofline_ridge": lambda m: m["peak_tensor_flops_per_second"] / m["peak_dram_bytes_per_second"],
    "shared_conflicts_per_request": lambda m: m["shared_excess_wavefronts"] / m["shared_instructions"],
    "shared_wavefronts_per_request": lambda m: m["shared_wavefronts"] / m["shared_instructions"],
    "tensor_core_utilization_ratio": lambda m: m["tensor_active_cycles"] / m["sm_active_cycles"],
}
# Sums over phases, from another run than the kernel's counter: polling is never the same twice (docs/phases.md).
PHASE_SUMS = {"phase_tensor_flops": 1e-9, "phase_instructions": 0.04}
LIMITS = {"threads_per_instruction": 32, "instructions_per_cycle": 4}
# The fewest comparisons of each kind: with fewer, a format or a check is gone.
LEAST = {
    "bounds": 40000,
    "sums": 900,
    "within JSON": 1500,
    "CSV": 20000,
    "JSON lines": 900,
    "diff": 7000,
    "HTML": 40000,
    "HTML code": 60000,
    "text": 8000,
    "Prometheus": 1800,
    "stacks": 2000,
    "Perfetto": 120,
    "Python": 10000,
}


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], check=True, stdout=subprocess.PIPE).stdout


def report(path, form):
    return run("report", path, "--format", form)


def near(a, b, ratio=1e-9):
    return math.isclose(a, b, rel_tol=ratio, abs_tol=1e-300)


def call_name(entry):
    """As CallName() has it."""
    shape = entry["shape"] or {}
    values = [str(shape[key]) for key in ("batch", "num_heads", "seqlen", "head_dim") if key in shape]
    name = entry["kernel"]
    if values:
        name += "@" + ",".join(values) + (",causal" if shape["causal"] else "")
    return name + ("/" + entry["part"] if entry["part"] else "")


def leaves(value, path=()):
    """(path, number) of every number."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, value


def fields(message):
    """(number, value) of a protobuf message's fields."""

    def varint(at):
        value = shift = 0
        while True:
            byte = message[at]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return value, at

    at = 0
    while at < len(message):
        key, at = varint(at)
        kind = key & 7
        if kind == 0:
            value, at = varint(at)
        else:
            size, at = varint(at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
            value, at = message[at : at + size], at + size
        yield key >> 3, value


def slices(trace):
    """The debug annotations of each slice of a Perfetto trace, texts and doubles."""
    for packet in (value for number, value in fields(trace) if number == 1):
        for event in (value for number, value in fields(packet) if number == 11):
            annotations = {}
            for annotation in (value for number, value in fields(event) if number == 4):
                given = dict(fields(annotation))
                if 5 in given:
                    annotations[given[10].decode()] = struct.unpack("<d", given[5])[0]
                elif 6 in given:
                    annotations[given[10].decode()] = given[6].decode()
            if annotations:
                yield annotations


PHASE_COLUMNS = {
    "time%": "phase_time_ratio",
    "time": "phase_time_seconds",
    "warps%": "phase_warp_time_ratio",
    "issue%": "phase_issue_ratio",
    "waits%": "phase_waiting_ratio",
    "instr": "phase_instructions",
    "thr/instr": "phase_threads_per_instruction",
    "tensor": "phase_tensor_instructions",
    "peak%": "phase_tensor_utilization_ratio",
    "FLOPs": "phase_flops",
    "exp": "phase_exponentials",
    "MUFU%": "phase_mufu_utilization_ratio",
    "shared": "phase_shared_wavefronts",
    "confl%": "phase_bank_conflict_ratio",
    "global": "phase_global_bytes",
    "useful%": "phase_coalescing_ratio",
    "local": "phase_local_sectors",
    "barriers": "phase_barriers",
}
PREFIXES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12}
UNITS = ("FLOP/s", "FLOP/B", "FLOP", "B/s", "B", "s", "Hz", "%", "")


def printed(text):
    """The value of "1.04 kFLOP/B" and its resolution, or None."""
    match = re.fullmatch(r"(-?[\d,]+(?:\.\d+)?)\s*(\S*)", text)
    if match is None:
        return None
    digits, word = match[1].replace(",", ""), match[2]
    decimals = len(digits.partition(".")[2])
    for unit in UNITS:
        if word.endswith(unit) and word[: len(word) - len(unit)] in PREFIXES:
            scale = 0.01 if unit == "%" else PREFIXES[word[: len(word) - len(unit)]]
            return float(digits) * scale, 10**-decimals * scale
    return None


class Numbers(unittest.TestCase):
    counts = collections.Counter()

    def agree(self, kind, a, b, what, ratio=1e-9):
        self.counts[kind] += 1
        if not near(a, b, ratio):
            self.wrong.append(f"{kind}: {what}: {a!r} and {b!r}")

    def holds(self, kind, condition, what):
        self.counts[kind] += 1
        if not condition:
            self.wrong.append(f"{kind}: {what}")

    def test_every_recording(self):
        for path in RECORDINGS:
            with self.subTest(recording=path.name):
                self.wrong = []
                self.document = json.loads(report(path, "json"))
                self.bounds()
                for entry in self.document["entries"]:
                    self.entry(entry)
                self.program()
                self.csv(report(path, "csv"), "CSV")
                self.json_lines(report(path, "jsonl").decode())
                self.html(report(path, "html").decode())
                self.text(run("report", path, "--details", "--format", "text").decode())
                self.prometheus(run("textfile", path).decode())
                self.stacks(report(path, "folded").decode(), json.loads(report(path, "speedscope")))
                self.perfetto(report(path, "perfetto"))
                if fa_profile:
                    self.python(path)
                self.assertFalse(self.wrong, "\n".join([f"{len(self.wrong)} contradictions:", *self.wrong[:40]]))

    def test_differences(self):
        """Each recording against the next with a call in common: both values of a change are those of the reports."""
        documents = [json.loads(report(path, "json")) for path in RECORDINGS]
        calls = [{call_name(entry) for entry in document["entries"]} for document in documents]
        for before, after in itertools.combinations(range(len(RECORDINGS)), 2):
            if calls[before] & calls[after] and not any(calls[before] & calls[other] for other in range(before + 1, after)):
                with self.subTest(before=RECORDINGS[before].name, after=RECORDINGS[after].name):
                    self.wrong = []
                    self.difference(documents, before, after)
                    self.assertFalse(self.wrong, "\n".join([f"{len(self.wrong)} contradictions:", *self.wrong[:40]]))

    def difference(self, documents, before, after):
        sides = {"before": self.values_of(documents[before]), "after": self.values_of(documents[after])}
        changes = json.loads(run("diff", RECORDINGS[before], RECORDINGS[after], "--format", "json"))["changes"]
        self.holds("diff", changes, "it compares nothing")
        for change in changes:
            key = tuple(change[name] for name in ("kernel", "part", "shape", "phase", "metric"))
            for side, values in sides.items():
                self.holds("diff", change[side] in values[key], f"{side} {key}: {change[side]}, {values[key]}")
            if change["ratio"] is not None:
                self.agree("diff", change["ratio"], change["after"] / change["before"] - 1, f"ratio of {key}", 1e-6)

    @staticmethod
    def values_of(document):
        """Values by what a change is identified with; calls with one name have several."""
        values = collections.defaultdict(list)
        for entry in document["entries"]:
            call = entry["kernel"], entry["part"], call_name({**entry, "part": None}).partition("@")[2] or None
            phases = entry["phases"] or {"phases": [], "overlap": None}
            tables = [(None, entry["metrics"]), (None, Numbers.others(entry, phases))]
            tables += [(phase["phase"], phase["metrics"]) for phase in phases["phases"]]
            for phase, metrics in tables:
                for name, value in metrics.items():
                    values[(*call, phase, name)].append(value)
        if document["program"]:
            values["", None, None, None, "gpu_busy_ratio"].append(document["program"]["busy_ratio"])
        return values

    @staticmethod
    def others(entry, phases):
        """What a difference compares and the reports do not call a metric."""
        return {
            "product_overlap_ratio": phases["overlap"] and phases["overlap"]["work_ratio"],
            "kernel_time_share_ratio": entry["use"] and entry["use"]["share_ratio"],
            "correct": entry["verification"] and float(entry["verification"]["correct"]),
        }

    # Within the JSON report.

    def bounds(self):
        for path, value in leaves(self.document):
            where = ".".join(map(str, path))
            name = next(key for key in reversed(path) if isinstance(key, str))
            if name.endswith("_ratio") and name not in UNBOUNDED or name == "ratio":
                self.holds("bounds", 0 <= value <= 1 + 1e-12, f"{where} = {value} is outside 0 to 1")
            elif name not in SIGNED and "temperature" not in name:
                self.holds("bounds", value >= 0, f"{where} = {value} is negative")

    def entry(self, entry):
        name, metrics = call_name(entry), entry["metrics"]
        same = lambda a, b, what: self.agree("within JSON", a, b, f"{name}: {what}")  # noqa: E731
        if entry["timing"]:
            timing = entry["timing"]
            if metrics["duration_seconds"] is not None:
                same(timing["median_ns"] * 1e-9, metrics["duration_seconds"], "median and duration_seconds")
            ordered = [timing[key] for key in ("min_ns", "p05_ns", "median_ns", "p95_ns")]
            self.holds("within JSON", ordered == sorted(ordered), f"{name}: quantiles {ordered}")
            same((timing["p95_ns"] - timing["p05_ns"]) / timing["median_ns"], timing["spread_ratio"], "spread_ratio")
        if entry["occupancy"]:
            same(entry["occupancy"]["theoretical_ratio"], metrics["theoretical_occupancy_ratio"], "theoretical occupancy")
            same(entry["occupancy"]["waves"], metrics["waves"], "waves")
        for stall in entry["stalls"]:
            same(stall["ratio"], metrics[f"stall_{stall['reason']}_ratio"], f"stall {stall['reason']}")
        states = [metrics[key] for key in metrics if key.startswith("stall_") or key == "warp_issuing_ratio"]
        if None not in states:
            low, high = WARP_STATES_OF_PROGRAMS if entry["use"] else WARP_STATES_OF.get(name, WARP_STATES)
            self.holds("sums", low <= sum(states) <= high, f"{name}: warp states add up to {sum(states)}")
        for key, formula in IDENTITIES.items():
            try:
                value = formula(collections.defaultdict(lambda: None, metrics))
            except (TypeError, ZeroDivisionError):
                continue  # absent
            if metrics[key] is not None:
                same(value, metrics[key], key)
        for key, most in LIMITS.items():
            if metrics[key] is not None:
                self.holds("bounds", metrics[key] <= most, f"{name}: {key} = {metrics[key]}, at most {most}")
        # A call of several kernels has the limit of its longest (docs/known-limits.md).
        if len(entry["launches"]) == 1 and metrics["achieved_occupancy_ratio"]:
            possible, achieved = metrics["theoretical_occupancy_ratio"], metrics["achieved_occupancy_ratio"]
            self.holds("within JSON", achieved <= 1.02 * possible, f"{name}: occupancy {achieved} of {possible}")
        if entry["phases"]:
            self.phases(name, entry)

    def phases(self, name, entry):
        table, metrics = entry["phases"], entry["metrics"]
        phases = table["phases"]
        column = lambda key: [phase["metrics"][key] for phase in phases if phase["metrics"][key] is not None]  # noqa: E731
        for key in ("phase_time_ratio", "phase_warp_time_ratio", "phase_issue_ratio"):
            if column(key):
                self.agree("sums", sum(column(key)), 1, f"{name}: {key}")
        if column("phase_time_seconds"):
            total = metrics["duration_seconds"] or entry["timing"]["median_ns"] * 1e-9
            self.agree("sums", sum(column("phase_time_seconds")), total, f"{name}: phase_time_seconds")
        for phase in phases:
            stalled = sum(stall["ratio"] for stall in phase["stalls"])
            self.holds("sums", stalled <= 1 + 1e-9, f"{name}: stalls of {phase['phase']} are {stalled}")
            values = phase["metrics"]
            wavefronts, ideal = values["phase_shared_wavefronts"], values["phase_shared_wavefronts_ideal"]
            if wavefronts:
                excess = max(0, wavefronts - ideal)
                self.agree("within JSON", excess, values["phase_bank_conflicts"], f"{name}: conflicts of {phase['phase']}")
                ratio = values["phase_bank_conflict_ratio"]
                self.agree("within JSON", excess / wavefronts, ratio, f"{name}: conflict ratio of {phase['phase']}")
        for phase, kernel in (("phase_tensor_flops", "tensor_flops"), ("phase_instructions", "instructions")):
            if len(column(phase)) == len(phases) and metrics[kernel] is not None:
                self.agree("sums", sum(column(phase)), metrics[kernel], f"{name}: {phase}", PHASE_SUMS[phase])
        whole = {"instructions": metrics["instructions"], "HMMA instructions": metrics["hmma_instructions"]}
        parts = {"instructions": "phase_instructions"}
        for closure in table["closures"]:
            quantity, off = closure["quantity"], abs(closure["phases"] - closure["whole"])
            allowed = closure["limit_ratio"] * closure["whole"]
            self.holds("sums", closure["closes"] == (off <= allowed), f"{name}: closure of {quantity}")
            if quantity in whole:
                self.agree("within JSON", closure["whole"], whole[quantity], f"{name}: {quantity}")
            if quantity in parts:
                self.agree("sums", sum(column(parts[quantity])), closure["phases"], f"{name}: {quantity} of the phases")
            if not closure["closes"]:
                losses = [loss for loss in self.document["losses"] if loss["kind"] == "phase_sums_open"]
                named = any(loss["subject"] == name and loss["reason"].startswith(quantity) for loss in losses)
                self.holds("sums", named, f"{name}: {quantity} do not close, and the report does not say so")

    def program(self):
        program = self.document["program"]
        if program is None:
            return
        used = [entry["use"] for entry in self.document["entries"] if entry["use"]]
        same = lambda a, b, what: self.agree("sums", a, b, what)  # noqa: E731
        same(program["busy_ratio"] + program["idle_ratio"], 1, "busy and idle")
        same(program["busy_ns"] / program["watched_ns"], program["busy_ratio"], "busy_ratio")
        for key, total in (("total_ns", "kernel_ns"), ("launches", "launches"), ("graph_launches", "graph_launches")):
            same(sum(use[key] for use in used), program[total], total)
        same(sum(use["share_ratio"] for use in used), 1, "shares of the kernels")
        same(sum(use["total_ns"] for use in program["memory"]), program["memory_ns"], "memory_ns")
        gpu_ns = program["kernel_ns"] + program["memory_ns"]
        for use in program["memory"]:
            same(use["total_ns"] / gpu_ns, use["share_ratio"], f"share of {use['kind']}")
        for use in program["nvtx"]:
            same(use["gpu_ns"] / program["kernel_ns"], use["share_ratio"], f"share of {use['path']}")

    # Other formats against it.

    def identified(self):
        """Values by what a row of the CSV report is identified with."""
        values = {}
        for entry in self.document["entries"]:
            shape = entry["shape"] or {}
            attention = [str(int(shape[key])) for key in ("batch", "num_heads", "seqlen", "head_dim", "causal") if key in shape]
            parameters = "" if attention else ",".join(f"{name}={value}" for name, value in shape.items())
            identity = (entry["kernel"], entry["part"] or "", *(attention or [""] * 5), parameters)
            tables = [("", entry["metrics"])]
            tables += [(phase["phase"], phase["metrics"]) for phase in (entry["phases"] or {"phases": []})["phases"]]
            for phase, metrics in tables:
                for key, value in metrics.items():
                    if value is not None:
                        values[(*identity, key, phase)] = value
        return values

    def csv(self, text, kind):
        rows = {}
        for row in csv.reader(io.StringIO(text.decode())):
            rows[(*row[:8], row[8], row[11])] = row[9]
        for key, value in self.identified().items():
            self.holds(kind, key in rows, f"{key} is missing")
            if key in rows:
                self.agree(kind, float(rows[key]), value, key, 0)

    def json_lines(self, text):
        """A line for each entry, followed by one for each of its findings."""
        lines = [json.loads(line) for line in text.splitlines()]
        entries, findings, entry = iter(self.document["entries"]), iter(()), None
        for line in lines:
            what = line["id"]
            if line["kind"] == "kernel":
                self.holds("JSON lines", next(findings, None) is None, f"{what}: findings are missing before it")
                entry = next(entries)
                findings = iter(entry["findings"])
                self.holds("JSON lines", line["findings"] == len(entry["findings"]), f"{what}: {line['findings']} findings")
            elif line["kind"] == "finding":
                self.agree("JSON lines", line["weight"], next(findings)["weight"], f"{what}: weight", 0)
            for number in line.get("numbers", ()):
                self.json_lines_number(entry, line["phase"] if line["kind"] == "finding" else None, number, what)
        self.holds("JSON lines", next(entries, None) is None and next(findings, None) is None, "entries are missing")
        self.agree("JSON lines", lines[0]["kernels"], len(self.document["entries"]), "kernels")
        self.agree("JSON lines", lines[0]["findings"], sum(line["kind"] == "finding" for line in lines), "findings")

    def json_lines_number(self, entry, phase, number, what):
        name = number["name"]
        if name in ("launches", "kernel_time_share_ratio"):
            expected = entry["use"][{"kernel_time_share_ratio": "share_ratio"}.get(name, name)]
        elif name in entry["metrics"]:
            expected = entry["metrics"][name]
        else:
            (expected,) = (row["metrics"][name] for row in entry["phases"]["phases"] if row["phase"] == phase)
        self.agree("JSON lines", number["value"], expected, f"{what}: {name}", 0)
        for key, quantile in (("low", "p05_ns"), ("high", "p95_ns")):
            if key in number:
                self.agree("JSON lines", number[key], entry["timing"][quantile] * 1e-9, f"{what}: {key} of {name}")
        if number["unit"] == "ratio" and name not in UNBOUNDED:
            self.holds("bounds", 0 <= number["value"] <= 1 + 1e-12, f"{what}: {name} is {number['value']}")

    def html(self, page):
        documents = dict(re.findall(r'<script type="application/json" id="(.*?)">(.*?)</script>', page, re.S))
        self.holds("HTML", json.loads(documents["report"]) == self.document, "the page's report is not the JSON report")
        self.counts["HTML"] += sum(1 for _ in leaves(self.document))
        entries = {call_name(entry): entry for entry in self.document["entries"]}
        sums = collections.defaultdict(collections.Counter)
        counted = collections.defaultdict(lambda: True)
        for packed in re.findall(r'<script type="application/octet-stream" id="code-\d+">(.*?)</script>', page, re.S):
            for function in json.loads(zlib.decompress(base64.b64decode(packed)))[0]["kernels"]:
                name = call_name(function)
                counted[name] &= function["counted"] and len(function["instructions"]) == function["of_instructions"]
                for row in function["instructions"]:
                    for key in ("executed", "shared_wavefronts", "excess_wavefronts", "global_sectors"):
                        sums[name][row["phase"], key] += row[key] or 0
                    stalled = sum(stall["ratio"] for stall in row["stalls"])
                    self.holds("HTML code", stalled <= 1 + 1e-9, f"{name}: stalls of {row['offset']:#x} are {stalled}")
        metrics = {
            "executed": "phase_instructions",
            "shared_wavefronts": "phase_shared_wavefronts",
            "global_sectors": "phase_global_sectors",
        }
        for name, of_phases in sums.items():
            if name not in entries or not entries[name]["phases"] or not counted[name]:
                continue
            for phase, (key, metric) in itertools.product(entries[name]["phases"]["phases"], metrics.items()):
                value = phase["metrics"][metric]
                if value is not None:
                    self.agree("HTML code", of_phases[phase["phase"], key], value, f"{name}: {metric} of {phase['phase']}")

    def text(self, page):
        """Metrics in the blocks of kernels: as many digits as are printed."""
        labels = {metric["label"]: key for key, metric in self.document["metrics"].items()}
        line = re.compile(
            r"(?:^|\s\s)(" + "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True)) + r")"
            r"\s\s+(-?[\d,]+(?:\.\d+)?(?: \S+)?)(?=\s|$)",
            re.M,
        )
        for block in re.split(r"^── ", page, flags=re.M)[1:]:
            title = block.partition("\n")[0].rstrip("─ ")
            entry = next((entry for entry in self.document["entries"] if self.is_titled(entry, title)), None)
            for label, text in line.findall(block) if entry else ():
                key, value = labels[label], printed(text)
                self.holds("text", value is not None, f"{title}: {key} is printed as '{text}'")
                if value and entry["metrics"][key] is not None:
                    off = abs(value[0] - entry["metrics"][key])
                    self.holds("text", off <= 0.501 * value[1], f"{title}: {key}: {text}, {entry['metrics'][key]}")
            if entry and entry["phases"]:
                self.text_phases(entry, block)

    def text_phases(self, entry, block):
        """Tables of phases: "softmax  52  286 us  51 ..."; a column ends where its title ends."""
        phases = {phase["phase"]: phase["metrics"] for phase in entry["phases"]["phases"]}
        columns = []
        for line in block.splitlines():
            if re.match(r"  phase  +\S", line):
                columns = [(m[0], m.end()) for m in re.finditer(r"\S+", line) if m[0] in PHASE_COLUMNS]
                continue
            name = next((phase for phase in phases if line.startswith(f"  {phase} ")), None)
            if not line.strip():
                columns = []
            for title, end in columns if name else ():
                text = re.search(r"(\S+(?: [^\d\s]\S*)?)$", line[:end])[1]
                value, metric = printed(text), phases[name][PHASE_COLUMNS[title]]
                scale = 100 if title.endswith("%") else 1
                if value is None or metric is None:
                    self.holds("text", text == "n/a" and metric is None, f"{name}: {title}: {text}, {metric}")
                else:
                    self.holds("text", abs(value[0] - scale * metric) <= 0.501 * value[1], f"{name}: {title}: {text}, {metric}")

    @staticmethod
    def is_titled(entry, title):
        kernel, at, shape = call_name({**entry, "part": None}).partition("@")
        kernel += "/" + entry["part"] if entry["part"] else ""
        shown, *rest = title.split(" · ")
        return (kernel.startswith(shown[:-3]) if title.endswith("...") else kernel == shown) and (not at or shape in rest)

    def prometheus(self, page):
        """Counters, added up over kernels: labels of a program's kernels are shortened."""
        series = collections.Counter()
        for name, labels, value in re.findall(r"^(faprof_\w+)\{(.*?)\} (\S+)$", page, re.M):
            by_label = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels))
            series[name, by_label.get("phase", ""), by_label.get("reason", "")] += float(value)
            if name.endswith("_ratio"):
                self.holds("Prometheus", "overhead" in name or 0 <= float(value) <= 1, f"{name}{{{labels}}} is {value}")
        self.gauges(page)
        groups = {reason: row["group"] for reason, row in self.document["stall_reasons"].items()}
        expected = collections.Counter()
        for entry in self.document["entries"]:
            if entry["part"] and entry["shape"]:
                continue
            metrics = entry["metrics"]
            launches = entry["use"]["launches"] if entry["use"] else entry["timing"]["samples"] if entry["timing"] else 0
            expected["faprof_kernel_launches_total", "", ""] += launches
            expected["faprof_kernel_profiled_launches_total", "", ""] += metrics["sm_active_cycles"] is not None
            for name in ("sm_active_cycles", "tensor_active_cycles", "warps_active_cycles", "dram_bytes"):
                expected[f"faprof_{name}_total", "", ""] += metrics[name] or 0
            for phase in (entry["phases"] or {"phases": []})["phases"]:
                label, values = phase["phase"], phase["metrics"]
                label = "unattributed" if label == "(unattributed)" else label.replace(" ", "_")
                expected["faprof_phase_instructions_total", label, ""] += values["phase_instructions"] or 0
                expected["faprof_shared_wavefronts_total", label, ""] += values["phase_shared_wavefronts"] or 0
                expected["faprof_shared_excess_wavefronts_total", label, ""] += values["phase_bank_conflicts"] or 0
                cycles = (values["phase_time_ratio"] or 0) * (metrics["sm_active_cycles"] or 0)
                expected["faprof_phase_cycles_total", label, ""] += cycles
                warps = (values["phase_warp_time_ratio"] or 0) * (metrics["warps_active_cycles"] or 0)
                for stall in phase["stalls"]:
                    key = "faprof_phase_stall_cycles_total", label, groups.get(stall["reason"], "other")
                    expected[key] += stall["ratio"] * warps
        # The phases beyond the limit of a kernel are added up as "other".
        if any(phase == "other" for _, phase, _ in series):
            series, expected = (self.over_phases(sums) for sums in (series, expected))
        for key, value in expected.items():
            if value or key in series:
                self.agree("Prometheus", series[key], value, key)
        unknown = {key[2] for key in series if key[0] == "faprof_phase_stall_cycles_total"} - set(groups.values()) - {"other"}
        self.holds("Prometheus", not unknown, f"unknown groups {unknown}")

    def gauges(self, page):
        """Gauges of a kernel are those of its costliest call. Labels of a program's kernels are shortened."""
        costliest = {}
        for entry in self.document["entries"]:
            before = costliest.get(entry["kernel"])
            if not entry["part"] and entry["timing"]:
                if before is None or entry["timing"]["median_ns"] > before["timing"]["median_ns"]:
                    costliest[entry["kernel"]] = entry
        sources = dict(re.findall(r"^\| `(faprof_kernel_\w+)` \| gauge \|.*\| (\w+) \|$", METRICS_PAGE, re.M))
        for name, kernel, value in re.findall(r'^(faprof_kernel_\w+)\{gpu="\d+",kernel="([^"]+)"\} (\S+)$', page, re.M):
            source = sources.get(name)
            if kernel in costliest and source in costliest[kernel]["metrics"]:
                self.agree("Prometheus", float(value), costliest[kernel]["metrics"][source], f"{name} of {kernel}")
        for bucket in ("_bucket", "_count"):
            histogram = re.findall(rf'^faprof_kernel_duration_seconds{bucket}\{{(.*?)(?:,le="\+Inf")?\}} (\S+)$', page, re.M)
            launches = dict(re.findall(r"^faprof_kernel_launches_total\{(.*?)\} (\S+)$", page, re.M))
            for labels, value in histogram:
                if "le=" not in labels:
                    self.agree("Prometheus", float(value), float(launches[labels]), f"duration_seconds{bucket} of {labels}")

    @staticmethod
    def over_phases(sums):
        all_phases = collections.Counter()
        for (name, _, reason), value in sums.items():
            all_phases[name, "", reason] += value
        return all_phases

    def stacks(self, folded, speedscope):
        stacks = [line.rpartition(" ") for line in folded.splitlines()]
        own = collections.Counter()
        for stack, _, value in stacks:
            own[stack] += int(value)
        profile = speedscope["profiles"][0]
        frames = [frame["name"] for frame in speedscope["shared"]["frames"]]
        other = collections.Counter()
        for sample, weight in zip(profile["samples"], profile["weights"]):
            other[";".join(frames[index].replace(";", ",") for index in sample)] += weight
        self.holds("stacks", set(own) == set(other), "the stacks of folded and speedscope differ")
        for stack, value in own.items():
            self.agree("stacks", value, other[stack], stack)
        self.agree("stacks", sum(own.values()), profile["endValue"], "all GPU time")
        for entry in self.document["entries"]:
            if entry["part"] or not entry["timing"] or not entry["phases"] or entry["use"] or not own:
                continue
            name = call_name(entry)
            time = collections.Counter()
            for stack, value in own.items():
                if stack.startswith(name + ";"):
                    time.update({phase: value for phase in stack.split(";")[1:]})
            if any(part["part"] for part in self.document["entries"] if part["kernel"] == entry["kernel"]):
                continue  # its parts are frames of their own
            for phase in entry["phases"]["phases"]:
                seconds = phase["metrics"]["phase_time_seconds"]
                if seconds and phase["phase"] in time:
                    # Whole nanoseconds of each line.
                    shown = time[phase["phase"]]
                    self.holds("stacks", abs(shown - seconds * 1e9) <= 2, f"{name}: {phase['phase']}: {shown} ns, {seconds} s")

    def perfetto(self, trace):
        entries = {call_name(entry): entry for entry in self.document["entries"]}
        for annotations in slices(trace):
            entry = entries.get(annotations.get("call"))
            if entry is None or annotations.get("part"):
                continue
            for key, value in annotations.items():
                if isinstance(value, float) and entry["metrics"].get(key) is not None:
                    self.agree("Perfetto", value, entry["metrics"][key], f"{call_name(entry)}: {key}")

    def python(self, path):
        recording = fa_profile.open(path)
        self.holds("Python", json.loads(recording.report("json")) == self.document, "its JSON is not the program's")
        values = collections.defaultdict(list)
        for row in self.identified().items():
            values[row[0][0], row[0][1], row[0][9], row[0][8]].append(row[1])
        for row in recording.metrics.rows():
            key = row["kernel"], row["part"] or "", row["phase"] or "", row["metric"]
            self.holds("Python", row["value"] in values[key], f"{key} is {row['value']}, not one of {values[key]}")

    @classmethod
    def tearDownClass(cls):
        print("compared:", ", ".join(f"{kind} {cls.counts[kind]:,}" for kind in LEAST), file=sys.stderr)


class Enough(unittest.TestCase):
    """Runs last."""

    def test_that_enough_was_compared(self):
        for kind, least in LEAST.items():
            if kind != "Python" or fa_profile:
                self.assertGreaterEqual(Numbers.counts[kind], least, kind)


if __name__ == "__main__":
    suite = unittest.TestSuite()
    suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(each) for each in (Numbers, Enough))
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful())
