"""Answers about a recording: fa-profile report and diff, as an agent reads them."""

from __future__ import annotations

import math
import pathlib
from .answers import Answer, Call, Cure, Json, Number, amount, clipped
from .errors import ToolError
from .work import Work

# The metric that shows a finding; one of a phase starts with phase_.
_SHOWN_BY = {
    "serial-softmax": "phase_threads_per_instruction",
    "serial-phase": "phase_threads_per_instruction",
    "tensor-idle": "tensor_core_utilization_ratio",
    "tensor-absent": "tensor_core_utilization_ratio",
    "bank-conflicts": "phase_bank_conflict_ratio",
    "uncoalesced": "phase_coalescing_ratio",
    "local-memory": "local_memory_bytes",
    "exponentials-again": "phase_exponentials",
    "exp-bound": "phase_mufu_utilization_ratio",
    "softmax-bound": "phase_instructions",
    "low-occupancy": "achieved_occupancy_ratio",
    "small-grid": "waves",
    "launch-gaps": "gap_launches_seconds",
}
_KERNEL_METRICS = (
    "duration_seconds", "achieved_flops_per_second", "roofline_ratio", "tensor_core_utilization_ratio", "compute_sol_ratio",
    "memory_sol_ratio", "dram_sol_ratio", "l1_sol_ratio", "achieved_occupancy_ratio", "theoretical_occupancy_ratio", "waves",
    "issue_slot_utilization_ratio", "instructions", "threads_per_instruction", "shared_conflicts_per_request",
    "global_load_sectors_per_request", "dram_bytes", "l2_hit_ratio", "local_memory_bytes", "registers_per_thread",
    "shared_memory_per_block_bytes",
)  # fmt: skip
CURE_OF_WRONG = "do not use its time: correct the results first, then call verify again"
CURE_OF_REFUSED = (
    "do not use its time: it is not that of the verified work. Look for work that a timed call leaves out, keeps from the call before, or does "
    "on another stream or outside the call; each call must do all of it again. Then call verify again"
)
CURE_OF_CHANGED = "do not use its time: let each call do the same work, whatever was called before; then call verify and measure again"


def exactly(name: str) -> str:
    """A regular expression that matches this name alone."""
    return "^" + _literally(name) + "$"


def _literally(text: str) -> str:
    return "".join("\\" + c if c in ".^$*+?{}[]|()\\" else c if c.isprintable() else "." for c in text)


def _matching(name: str, others: set[str]) -> str:
    """A regular expression that matches this name and none of the others; short, where the name is long."""
    for ends in (100, 200, 400):
        if len(name) > 2 * ends and not any(o != name and o.startswith(name[:ends]) and o.endswith(name[-ends:]) for o in others):
            return f"^{_literally(name[:ends])}.*{_literally(name[-ends:])}$"
    return exactly(name)


def shape_text(shape: Json | None) -> str | None:
    """As the option --shape takes it; without `causal`, which is another option."""
    if shape is None:
        return None
    attention = ("batch", "num_heads", "seqlen", "head_dim")
    if all(name in shape for name in attention) and set(shape) <= {*attention, "causal"}:
        return ",".join(str(shape[name]) for name in attention)
    return ",".join(f"{name}={value}" for name, value in shape.items()) or None


def selection(arguments: Json) -> list[str]:
    """Options of fa-profile for what a tool was asked to select."""
    options: list[str] = []
    for name in ("kernel", "shape", "nvtx"):
        if arguments.get(name):
            options.append(f"--{name}={arguments[name]}")  # as one word: a value may begin with a dash
    if arguments.get("causal"):
        options.append("--causal")
    return options


class Reading:
    """A recording's report."""

    def __init__(self, report: Json, name: str) -> None:
        self.report = report
        self.name = name  # as the tools take it
        self.gpu: str | None = report["device"].get("name")
        self.entries: list[Json] = [entry for entry in report["entries"] if entry["part"] is None]

    def entry(self) -> Json:
        """The entry that takes the most time. Raises ToolError where there is none."""
        if not self.entries:
            raise ToolError(f"{self.name} has no kernel", "record again: the program or the run ended before a kernel did")
        return max(self.entries, key=total_seconds)

    def number(self, name: str, metric: str, value: float | None, error: str | None = None) -> Number:
        described = (self.report["phase_metrics"] if metric.startswith("phase_") else self.report["metrics"]).get(metric, {})
        if error is None:
            error = "exact count" if described.get("deterministic") else "one measurement, its error is not known"
        return Number(name, value, described.get("unit", ""), error if value is not None else "", self.gpu)

    def duration(self, entry: Json, name: str = "duration") -> Number:
        timing = entry["timing"]
        if timing is None:
            return Number(name, None, "seconds", "", self.gpu)
        low, high = (timing[part] / 1e9 if timing[part] is not None else None for part in ("p05_ns", "p95_ns"))
        error = f"p05 to p95 of {timing['samples']} samples, one process"
        return Number(name, timing["median_ns"] / 1e9, "seconds", error, self.gpu, low, high)

    def share(self, phase: Json, samples: int) -> Number:
        value = phase["metrics"].get("phase_time_ratio")
        number = Number(f"{phase['phase']}: share of the time", value, "ratio", "", self.gpu)
        if value is not None and samples > 0:
            error = 1.96 * math.sqrt(max(value * (1 - value), 0) / samples)
            number.low, number.high = max(value - error, 0.0), min(value + error, 1.0)
            number.error = f"95 % by sampling alone, {samples} samples"
        return number

    def numbers(self, entry: Json, finding: Json | None) -> list[Number]:
        """Three numbers: the time, the phase or limit that matters, and what shows the finding."""
        numbers = [self.duration(entry)]
        phase = phase_named(entry, finding["phase"] if finding else None) or top_phase(entry)
        if phase is not None:
            numbers.append(self.share(phase, entry["phases"]["samples"]))
        else:
            numbers.append(self.metric(entry, "issue_slot_utilization_ratio"))
        metric = _SHOWN_BY.get(finding["id"] if finding else "", "")
        waits = "samples wait" in finding["evidence"] if finding and finding["id"] == "wait-for-copy" else False
        if waits and phase is not None:
            ratio = next((stall["ratio"] for stall in phase["stalls"] if stall["reason"] == "long_scoreboard"), None)
            return [*numbers, Number(f"{phase['phase']}: long_scoreboard, of its samples", ratio, "ratio", "by sampling", self.gpu)]
        if metric.startswith("phase_") and phase is not None:
            numbers.append(self.number(f"{phase['phase']}: {self.label(metric)}", metric, phase["metrics"].get(metric)))
        elif metric and not metric.startswith("phase_"):
            numbers.append(self.metric(entry, metric))
        else:
            numbers.append(self.metric(entry, "achieved_flops_per_second" if entry["metrics"].get("achieved_flops_per_second")
                                       else "achieved_occupancy_ratio"))  # fmt: skip
        return numbers

    def metric(self, entry: Json, metric: str) -> Number:
        return self.number(self.label(metric), metric, entry["metrics"].get(metric))

    def label(self, metric: str) -> str:
        known = {**self.report["metrics"], **self.report["phase_metrics"]}.get(metric, {})
        return str(known.get("label", metric))

    def losses(self) -> list[str]:
        """What could not be measured, one line for each reason."""
        lines: dict[str, list[str]] = {}
        for loss in sorted(self.report["losses"], key=lambda loss: loss["kind"].startswith("metric_")):
            lines.setdefault(f"{loss['kind'].replace('_', ' ')}: {loss['reason']}", []).append(str(loss["subject"]))
        return [f"{what} ({', '.join(dict.fromkeys(names)) if len(names) < 4 else f'{len(names)} times'})" for what, names in lines.items()]


def total_seconds(entry: Json) -> float:
    if entry["use"]:
        return float(entry["use"]["total_ns"]) / 1e9
    return float(entry["timing"]["median_ns"] or 0) / 1e9 if entry["timing"] else 0.0


def where(entry: Json) -> str:
    shape = shape_text(entry["shape"])
    causal = " causal" if (entry["shape"] or {}).get("causal") is True else ""
    return f"{entry['kernel']} at {shape}{causal}" if shape else str(entry["kernel"])


def phase_named(entry: Json, name: str | None) -> Json | None:
    phases = entry["phases"]["phases"] if entry["phases"] else []
    return next((phase for phase in phases if phase["phase"] == name), None)


def known_phase(entry: Json, name: str) -> Json:
    """Raises ToolError where the entry has no such phase."""
    found = phase_named(entry, name)
    if found is None:
        names = ", ".join(str(phase["phase"]) for phase in entry["phases"]["phases"]) if entry["phases"] else ""
        raise ToolError(f"{where(entry)} has no phase {name}", f"its phases are {names}" if names else "leave phase out: the recording has no phases of it")
    return found


def top_phase(entry: Json) -> Json | None:
    phases = entry["phases"]["phases"] if entry["phases"] else []
    return max(phases, key=lambda phase: phase["metrics"].get("phase_time_ratio") or 0.0, default=None)


def main_finding(entry: Json) -> Json | None:
    """The finding to act on: the first that no other finding explains."""
    found: list[Json] = entry["findings"]
    return next((finding for finding in found if finding["cause"] is None), found[0] if found else None)


def bad_news(entry: Json) -> str | None:
    """Why its time must not be used; None: nothing is known against it."""
    verification, judgement = entry["verification"], entry["judgement"]
    if verification and not verification["correct"]:
        return f"the results are wrong: {verification['error'] or verification['where'] or 'see the tool verify'}"
    if judgement and judgement["verdict"] in ("wrong", "refused"):
        return f"{judgement['verdict']}: {judgement['reason']}"
    if entry["not_as_certified"]:
        return f"the measured call is not the certified one: {entry['not_as_certified']}"
    return None


def rejected(reading: Reading) -> Json | None:
    """The first entry whose time must not be used."""
    return next((entry for entry in reading.entries if bad_news(entry)), None)


def _cure_of_rejected(entry: Json) -> Cure:
    """Before its speed counts, a kernel must be right, and its time real: no finding about the speed helps."""
    verification, judgement = entry["verification"], entry["judgement"]
    wrong = (verification and not verification["correct"]) or (judgement and judgement["verdict"] == "wrong")
    text = CURE_OF_WRONG if wrong else CURE_OF_REFUSED if judgement and judgement["verdict"] == "refused" else CURE_OF_CHANGED
    return Cure(text, why_there="a judgement has no source line")


def trust(entry: Json) -> list[str]:
    """What is unknown about an entry."""
    unknown = []
    if entry["verification"] is None:
        unknown.append(f"whether the results of {clipped(entry['kernel'], 60)} are right: this recording compared none")
    if entry["judgement"] and entry["judgement"]["verdict"] == "cannot say":
        unknown.append(f"whether the time is real: {entry['judgement']['reason']}")
    if entry["timing"] is None:
        unknown.append(f"how long {entry['kernel']} takes: it was not timed")
    if entry["phases"] is None:
        unknown.append("which part of the kernel costs what: the recording has no phases of it")
    elif (entry["phases"]["inference"] or {}).get("refusal"):
        unknown.append(f"its phases: not inferred from machine code: {entry['phases']['inference']['refusal']}")
    return unknown


def place_in(sources: Json | None, phase: str | None) -> tuple[str | None, int | None, str]:
    """The source line that most samples of the phase are on: file, line, why."""
    kernels = sources["kernels"] if sources else []
    missing = next((kernel["missing"] for kernel in kernels if kernel["missing"]), None)
    best: tuple[float, Json] | None = None
    for kernel in kernels:
        for line in kernel["lines"] or []:
            part = 1.0 if phase is None else sum(p["ratio"] for p in line["phases"] if p["phase"] == phase)
            weight = (line["share_ratio"] or 0.0) * part
            if weight > 0 and (best is None or weight > best[0]):
                best = (weight, line)
    if best is None:
        lines = any(kernel["lines"] for kernel in kernels)
        none = f"no sample is on a source line of {phase or 'it'}" if lines else "the recording has no source lines of it (compile with -lineinfo)"
        return None, None, str(missing or none)
    of = f"of {phase}" if phase else "of the kernel"
    return best[1]["file"], best[1]["line"], f"the line {of} with the most samples, {amount(best[0], 'ratio')} of its function's"


async def read(work: Work, name: str, arguments: Json) -> Reading:
    path = work.recording(name)
    return Reading(await work.json("report", str(path), *selection(arguments)), name)


async def source_lines(work: Work, path: pathlib.Path, entry: Json, limit: int) -> Json | None:
    """Hottest lines of one entry, or None: fa-profile has none."""
    options = ["--kernel", exactly(entry["kernel"])]
    shape = shape_text(entry["shape"])
    if shape:
        options += ["--shape", shape]
    if (entry["shape"] or {}).get("causal") is True:
        options.append("--causal")
    options += ["--source", "--limit", str(limit), "--source-root", str(work.roots.first)]
    try:
        return await work.json("report", str(path), *options)
    except ToolError:
        return None


def selected(reading: Reading, entry: Json) -> Json:
    """Arguments that select this entry alone."""
    arguments: Json = {"kernel": _matching(entry["kernel"], {other["kernel"] for other in reading.entries})}
    shape = shape_text(entry["shape"])
    if shape:
        arguments["shape"] = shape
    if (entry["shape"] or {}).get("causal") is True:
        arguments["causal"] = True
    return arguments


async def cure_of(work: Work, reading: Reading, entry: Json, finding: Json | None) -> Cure | None:
    if bad_news(entry):
        return _cure_of_rejected(entry)
    if finding is None:
        return None
    path = work.recording(reading.name)
    file, line, why = place_in(await source_lines(work, path, entry, 200), finding["phase"])
    return Cure(finding["cure"], finding["id"], finding["phase"], file, line, why)


def entry_json(entry: Json) -> Json:
    timing, phase = entry["timing"], top_phase(entry)
    return {
        "kernel": entry["kernel"],
        "shape": shape_text(entry["shape"]),
        "causal": (entry["shape"] or {}).get("causal") is True,
        "duration_seconds": timing["median_ns"] / 1e9 if timing and timing["median_ns"] is not None else None,
        "share_ratio": entry["use"]["share_ratio"] if entry["use"] else None,
        "launches": entry["use"]["launches"] if entry["use"] else None,
        "correct": entry["verification"]["correct"] if entry["verification"] else None,
        "judgement": entry["judgement"]["verdict"] if entry["judgement"] else None,
        "bound_by": entry["bottleneck"],
        "top_phase": phase["phase"] if phase else None,
        "findings": [{"id": f["id"], "phase": f["phase"], "explained_by": f["cause"], "weight": f["weight"]} for f in entry["findings"]],
    }


def entry_line(entry: Json) -> str:
    timing, use, phase = entry["timing"], entry["use"], top_phase(entry)
    parts = [where(entry)]
    if use:
        parts.append(f"{amount(use['share_ratio'], 'ratio')} of the kernels' time, {use['launches']} launches")
    parts.append(amount(timing["median_ns"] / 1e9, "seconds") if timing and timing["median_ns"] is not None else "not timed")
    if entry["bottleneck"]:
        parts.append(f"bound by {entry['bottleneck']}")
    if phase:
        parts.append(f"{phase['phase']} {amount(phase['metrics'].get('phase_time_ratio'), 'ratio')}")
    if entry["findings"]:
        parts.append(", ".join(dict.fromkeys(f["id"] for f in entry["findings"] if f["cause"] is None)))
    return "; ".join(parts)


async def summary(work: Work, reading: Reading, extra: list[Call] | None = None) -> Answer:
    """What a recording says, and the one finding to act on."""
    entry = reading.entry()
    ranked = sorted(reading.entries, key=lambda e: -total_seconds(e) * max((f["weight"] or 0 for f in e["findings"]), default=0))
    with_findings = [e for e in ranked if main_finding(e)]
    wrong = rejected(reading)
    chosen = wrong or (with_findings[0] if with_findings else entry)
    finding = None if wrong else main_finding(chosen)
    what = f"{where(chosen)} takes {amount(reading.duration(chosen).value, 'seconds')}"
    if chosen["bottleneck"]:
        what += f", bound by {chosen['bottleneck']}"
    if finding:
        what += f": {finding['id']}: {finding['evidence']}"
    if len(reading.entries) > 1 and not wrong:
        what = f"{len(reading.entries)} cases; most to gain: {what}"
    answer = Answer(what, numbers=reading.numbers(chosen, finding))
    if wrong:
        answer.status = "bad_news"
        answer.verdict = f"{where(wrong)}: {bad_news(wrong)}. What was measured of it: {what}"
    answer.cure = await cure_of(work, reading, chosen, finding)
    if finding:
        answer.next.append(Call("explain", {"name": finding["id"], "recording": reading.name}, "what the finding means, and the cure in full"))
    if chosen["phases"]:
        answer.next.append(Call("report", {"recording": reading.name, "view": "phase", **selected(reading, chosen)}, "where in the kernel the time goes"))
    answer.next += extra or []
    answer.cannot_say = list(dict.fromkeys(line for e in [chosen] for line in trust(e))) + reading.losses()
    shown = sorted(reading.entries, key=lambda e: -total_seconds(e))
    answer.data = {"view": "summary", "recording": facts(reading), "entries": [entry_json(e) for e in shown]}
    answer.details = ["", facts_line(reading), *[f"  {entry_line(e)}" for e in shown]]
    return answer


def facts(reading: Reading) -> Json:
    report = reading.report
    return {
        "name": reading.name,
        "gpu": reading.gpu,
        "driver": report["device"].get("driver_version"),
        "recorded": report["session"].get("created_at"),
        "metric_set": report["session"].get("metric_set"),
        "complete": report["session"].get("complete") is not False,
        "program": report["program"] is not None,
    }


def facts_line(reading: Reading) -> str:
    known = facts(reading)
    return f"recorded {known['recorded']}, {known['gpu']}, driver {known['driver']}, set {known['metric_set']}"


def others_line(reading: Reading, chosen: Json) -> list[str]:
    others = [where(entry) for entry in reading.entries if entry is not chosen]
    return [f"{len(others)} other cases match, and the one with the most time is shown: {clipped('; '.join(others), 300)}"] if others else []


async def kernel_view(work: Work, reading: Reading, full: bool) -> Answer:
    entry = reading.entry()
    finding = main_finding(entry)
    verdict = f"{where(entry)} takes {amount(reading.duration(entry).value, 'seconds')}"
    if entry["bottleneck"]:
        verdict += f", bound by {entry['bottleneck']} ({entry['bottleneck_evidence']})"
    answer = Answer(verdict, numbers=reading.numbers(entry, finding), cannot_say=trust(entry))
    if reason := bad_news(entry):
        answer.status, answer.verdict = "bad_news", f"{where(entry)}: {reason}. " + verdict
    answer.cure = await cure_of(work, reading, entry, finding)
    answer.next.append(Call("report", {"recording": reading.name, "view": "phase", **selected(reading, entry)}, "where in the kernel the time goes"))
    known = [name for name in (entry["metrics"] if full else _KERNEL_METRICS) if entry["metrics"].get(name) is not None]
    launch = entry["launches"][0] if entry["launches"] else None
    answer.data = {
        "view": "kernel",
        "recording": facts(reading),
        **{"entry": entry_json(entry), "launch": launch and _launch(launch)},
        "metrics": [reading.metric(entry, name).json() | {"name": name} for name in known],
        "stalls": entry["stalls"] if full else entry["stalls"][:6],
    }
    answer.details = ["", *[f"finding {f['id']}: {f['evidence']}. Cure: {f['cure']}" for f in entry["findings"]]]
    answer.details += ["stalls, of warp-cycles: " + ", ".join(f"{s['reason']} {amount(s['ratio'], 'ratio')}" for s in entry["stalls"][:6])]
    if entry["occupancy"]:
        limits = " and ".join(entry["occupancy"]["limiters"])
        answer.details.append(f"occupancy {amount(entry['occupancy']['theoretical_ratio'], 'ratio')} at most, limited by {limits or 'nothing'}")
    answer.details += [_metric_line(reading, entry, name) for name in known] + others_line(reading, entry)
    return answer


def _metric_line(reading: Reading, entry: Json, name: str) -> str:
    exact = reading.report["metrics"].get(name, {}).get("deterministic")
    number = reading.metric(entry, name)
    return f"  {number.name}: {amount(number.value, number.unit)}" + (", exact" if exact else "")


def _launch(launch: Json) -> Json:
    names = ("kernel_name", "grid", "block", "registers_per_thread", "static_shared_memory_bytes", "dynamic_shared_memory_bytes")
    return {name: launch[name] for name in names}


async def phase_view(work: Work, reading: Reading, phase: str | None) -> Answer:
    entry = reading.entry()
    if not entry["phases"] or not entry["phases"]["phases"]:
        return Answer(
            f"cannot say which part of {where(entry)} costs what: {reading.name} has no phases of it",
            "cannot_say",
            numbers=reading.numbers(entry, main_finding(entry)),
            cure=Cure("measure with ncu_set full, detailed or phases; for your own kernel name phases, or give phase_map"),
            cannot_say=trust(entry),
            next=[Call("report", {"recording": reading.name, "view": "kernel", **selected(reading, entry)}, "counters of the whole kernel")],
        )
    phases, samples = entry["phases"]["phases"], entry["phases"]["samples"]
    chosen = known_phase(entry, phase) if phase else top_phase(entry)
    assert chosen is not None
    finding = next((f for f in entry["findings"] if f["phase"] == chosen["phase"] and f["cause"] is None), None)
    stalls = ", ".join(f"{s['reason']} {amount(s['ratio'], 'ratio')}" for s in chosen["stalls"][:2])
    share = reading.share(chosen, samples)
    answer = Answer(f"{chosen['phase']} takes {amount(share.value, 'ratio')} of {where(entry)}; its warps wait for: {stalls}", numbers=[share])
    for metric in ("phase_time_seconds", "phase_threads_per_instruction"):
        answer.numbers.append(reading.number(f"{chosen['phase']}: {reading.label(metric)}", metric, chosen["metrics"].get(metric)))
    answer.cure = await cure_of(work, reading, entry, finding)
    answer.next.append(Call("report", {"recording": reading.name, "view": "source", **selected(reading, entry)}, "the hottest source lines"))
    open_sums = [c["quantity"] for c in entry["phases"]["closures"] if not c["closes"]]
    answer.cannot_say = trust(entry) + [f"where all of it goes: the phases' {name} do not add up to the kernel's" for name in open_sums]
    if entry["phases"]["dropped_samples"]:
        answer.cannot_say.append(f"the shares exactly: {entry['phases']['dropped_samples']} samples were dropped")
    metrics = ("phase_time_ratio", "phase_time_seconds", "phase_instructions", "phase_threads_per_instruction", "phase_tensor_instructions",
             "phase_bank_conflict_ratio", "phase_coalescing_ratio", "phase_global_bytes", "phase_barriers")  # fmt: skip
    rows = [{"phase": p["phase"], "top_stalls": p["stalls"][:2], **{n: p["metrics"].get(n) for n in metrics}} for p in phases]
    answer.data = {
        "view": "phase",
        "recording": facts(reading),
        "entry": entry_json(entry),
        **{"from": entry["phases"]["attribution"], "samples": samples, "sums_close": not open_sums, "phases": rows},
    }
    answer.details = ["", f"phases of {where(entry)} by {entry['phases']['attribution']}, {samples} samples; sums " + ("differ" if open_sums else "close")]
    for row in rows:
        top = ", ".join(f"{s['reason']} {amount(s['ratio'], 'ratio')}" for s in row["top_stalls"])
        answer.details.append(
            f"  {row['phase']}: {amount(row['phase_time_ratio'], 'ratio')}, {amount(row['phase_time_seconds'], 'seconds')}, "
            f"{amount(row['phase_instructions'], 'instructions')}, {amount(row['phase_threads_per_instruction'], 'threads')} an instruction; {top}"
        )
    answer.details += others_line(reading, entry)
    return answer


async def finding_view(work: Work, reading: Reading, wanted: str | None) -> Answer:
    found = [(e, f) for e in reading.entries for f in e["findings"] if wanted in (None, f["id"])]
    found.sort(key=lambda pair: -total_seconds(pair[0]) * (pair[1]["weight"] or 0))
    if not found:
        known = list(dict.fromkeys(f["id"] for e in reading.entries for f in e["findings"]))
        answer = Answer(f"{wanted or 'nothing'} was found in {reading.name}: " + ("no such finding here" if wanted else "no finding fired"))
        answer.next = [Call("report", {"recording": reading.name, "view": "finding", "finding": known[0]}, "a finding that is there")] if known else []
        answer.data = {"view": "finding", "recording": facts(reading), "findings": []}
        answer.cannot_say = [line for e in reading.entries[:3] for line in trust(e)]
        return answer
    entry, finding = next(((e, f) for e, f in found if f["cause"] is None), found[0])
    answer = Answer(f"{where(entry)}: {finding['id']}: {finding['evidence']}", numbers=reading.numbers(entry, finding))
    answer.cure = await cure_of(work, reading, entry, finding)
    answer.next = [Call("explain", {"name": finding["id"], "recording": reading.name}, "what it means, when it fires, and the cure in full")]
    answer.cannot_say = trust(entry)
    rows = [{"kernel": e["kernel"], "shape": shape_text(e["shape"]), **{n: f[n] for n in ("id", "phase", "evidence", "cure", "weight")},
             "explained_by": f["cause"]} for e, f in found]  # fmt: skip
    answer.data = {"view": "finding", "recording": facts(reading), "findings": rows}
    answer.details = ["", *[f"  {where(e)}: {f['id']}: {f['evidence']}" for e, f in found if f is not finding]]
    return answer


async def source_view(work: Work, reading: Reading, phase: str | None, full: bool) -> Answer:
    entry = reading.entry()
    if phase is not None:
        known_phase(entry, phase)
    sources = await source_lines(work, work.recording(reading.name), entry, 200 if full else 40)
    file, line, why = place_in(sources, phase)
    kernels = sources["kernels"] if sources else []
    rows = []
    for kernel in kernels:
        for one in kernel["lines"] or []:
            if phase is None or any(p["phase"] == phase for p in one["phases"]):
                rows.append({"file": one["file"], "line": one["line"], "text": one.get("text"), "share_ratio": one["share_ratio"],
                             "phases": one["phases"][:3], "top_stalls": one["stalls"][:2]})  # fmt: skip
    answer = Answer("", numbers=reading.numbers(entry, main_finding(entry)), cannot_say=trust(entry))
    if file is None:
        answer.status, answer.verdict = "cannot_say", f"cannot say which lines of {where(entry)} cost what: {why}"
    else:
        top = rows[0]["share_ratio"]
        answer.verdict = f"{file}:{line} is {why}, in {where(entry)}"
        answer.numbers.insert(0, Number(f"{rows[0]['file']}:{rows[0]['line']}", top, "ratio", "share of the function's samples", reading.gpu))
        del answer.numbers[3:]
    finding = main_finding(entry)
    if bad_news(entry):
        answer.cure = _cure_of_rejected(entry)
    elif finding:
        answer.cure = Cure(finding["cure"], finding["id"], finding["phase"], *place_in(sources, finding["phase"]))
    answer.next = [Call("report", {"recording": reading.name, "view": "kernel", **selected(reading, entry)}, "counters of the whole kernel")]
    answer.data = {"view": "source", "recording": facts(reading), "entry": entry_json(entry), "lines": rows}
    answer.details = [""]
    for row in rows[: None if full else 20]:
        stalls = ", ".join(f"{s['reason']} {amount(s['ratio'], 'ratio')}" for s in row["top_stalls"])
        inside = ", ".join(p["phase"] for p in row["phases"])
        answer.details.append(f"  {amount(row['share_ratio'], 'ratio')} {row['file']}:{row['line']} [{inside}] {stalls} {clipped(row['text'] or '', 80)}")
    answer.details += others_line(reading, entry)
    return answer


async def report(work: Work, arguments: Json) -> Answer:
    reading = await read(work, arguments["recording"], arguments)
    full = bool(arguments.get("full"))
    view = arguments.get("view", "summary")
    if view == "kernel":
        return await kernel_view(work, reading, full)
    if view == "phase":
        return await phase_view(work, reading, arguments.get("phase"))
    if view == "finding":
        return await finding_view(work, reading, arguments.get("finding"))
    if view == "source":
        return await source_view(work, reading, arguments.get("phase"), full)
    return await summary(work, reading)


async def diff(work: Work, arguments: Json) -> Answer:
    before, after = (work.recording(arguments[side], f"recording `{side}`") for side in ("before", "after"))
    found = await work.json("diff", str(before), str(after))
    later = Reading(await work.json("report", str(after)), arguments["after"])
    labels = {**later.report["metrics"], **later.report["phase_metrics"]}
    kernel = arguments.get("kernel")
    changes = [c for c in found["changes"] if kernel is None or c["kernel"] == kernel]
    moved = sorted((c for c in changes if c["judgement"] != "same"), key=lambda c: c["judgement"] == "changed")
    times = [c for c in changes if c["metric"] == "duration_seconds" and c["phase"] is None and c["part"] is None]
    answer = Answer("", cannot_say=[f"not comparable: {reason}" for reason in found["incomparable"]])
    if not times:
        answer.status = "cannot_say"
        answer.verdict = "cannot say which is faster: the recordings have no timed kernel in common"
    else:
        best = max(times, key=lambda c: abs(c["ratio"] or 0))
        answer.verdict = "; ".join(_time_line(c) for c in sorted(times, key=lambda c: -abs(c["ratio"] or 0))[:3])
        if any(c["judgement"] == "worse" for c in times):
            answer.status = "bad_news"
        answer.cannot_say.append("whether the difference is noise: each side is one process. gate with base and head measures both in turns")
        inside = [c for c in moved if c["phase"] and c["metric"] == "phase_time_seconds" and c["kernel"] == best["kernel"]]
        for change in [best, *sorted(inside, key=lambda c: -abs((c["after"] or 0) - (c["before"] or 0)))][:3]:
            name = f"{change['phase'] or change['kernel']}: time, {change['judgement']}, was {amount(change['before'], 'seconds')}"
            answer.numbers.append(Number(name, change["after"], "seconds", "one process each side", later.gpu))
    new = [f for f in found["findings"] if f["judgement"] == "new" and (kernel is None or f["kernel"] == kernel)]
    gone = [f for f in found["findings"] if f["judgement"] == "gone" and (kernel is None or f["kernel"] == kernel)]
    if new:
        answer.cure = Cure(new[0]["finding"]["cure"], new[0]["finding"]["id"], new[0]["finding"]["phase"])
        answer.cure.why_there = "the tool report, view source, of the later recording has its lines"
    answer.next = [Call("report", {"recording": arguments["after"], "view": "summary"}, "what to act on now")]
    rows = [{n: c[n] for n in ("kernel", "part", "shape", "phase", "metric", "before", "after", "ratio", "judgement")}
            | {"unit": labels.get(c["metric"], {}).get("unit", "")} for c in moved]  # fmt: skip
    answer.data = {
        "incomparable": found["incomparable"],
        "changes": rows,
        "new_findings": [_finding_row(f) for f in new],
        "gone_findings": [_finding_row(f) for f in gone],
    }
    answer.details = ["", *[f"  new {f['kernel']}: {f['finding']['id']}: {f['finding']['evidence']}" for f in new]]
    answer.details += [f"  gone {f['kernel']}: {f['finding']['id']}" for f in gone]
    for row in rows:
        label = labels.get(row["metric"], {}).get("label", row["metric"])
        name = f"{row['phase']}: {label}" if row["phase"] else label
        change = f"{row['ratio'] * 100:+.1f} %" if row["ratio"] is not None else "n/a"
        answer.details.append(f"  {row['kernel']} {name}: {amount(row['before'], row['unit'])} -> {amount(row['after'], row['unit'])}, {change}, {row['judgement']}")
    return answer


def _time_line(change: Json) -> str:
    ratio = change["ratio"] or 0.0
    word = {"same": "as fast as before", "better": f"{-ratio * 100:.1f} % faster", "worse": f"{ratio * 100:.1f} % slower"}
    shape = f" at {change['shape']}" if change["shape"] else ""
    times = f"{amount(change['before'], 'seconds')} -> {amount(change['after'], 'seconds')}"
    return f"{change['kernel']}{shape}: {word.get(change['judgement'], change['judgement'])} ({times})"


def _finding_row(row: Json) -> Json:
    return {"kernel": row["kernel"], "shape": row["shape"], **{n: row["finding"][n] for n in ("id", "phase", "evidence", "cure")}}
