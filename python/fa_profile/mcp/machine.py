"""Answers without a measurement: doctor, list_kernels, lint, explain."""

from __future__ import annotations

import contextlib
import re

from . import reports, words
from .answers import Answer, Call, Cure, Json, Number, amount
from .errors import ToolError
from .work import BUNDLED, Work, bundled_recordings

_SHOWN = 16  # recordings, the newest first
_LADDER = "h100-ladder-full"  # the bundled recording that texts of findings are printed with


async def doctor(work: Work, arguments: Json) -> Answer:
    command = ["doctor"]
    if arguments.get("file"):
        command.append(str(work.roots.file_to_read(arguments["file"], "file")))
    finished = await work.run(*command)
    checks = _checks(finished.stdout)
    if not checks:
        raise ToolError("fa-profile doctor printed nothing that can be read", "run `fa-profile doctor` by hand")
    answer = _of_file(checks) if arguments.get("file") else _of_machine(checks)
    good = sum(check["level"] == "ok" for check in checks)
    answer.numbers = [Number(f"checks that passed, of {len(checks)}", good, "checks", "exact count")]
    for check in checks:
        answer.details.append(f"  {check['level']}: {check['subject']}: {check['detail']}" + (f" (cure: {check['cure']})" if check["cure"] else ""))
    return answer


def _of_file(checks: list[Json]) -> Answer:
    worst = next((check for check in checks if check["level"] != "ok"), None)
    shown = worst or checks[0]
    answer = Answer(f"{shown['subject']}: {shown['detail']}", data={"can_measure": None, "checks": checks})
    if worst:
        answer.status = "bad_news"
        answer.cure = Cure(worst["cure"] or "see the problem")
    answer.cannot_say = ["whether this machine can measure: doctor without a file says it"]
    return answer


def _of_machine(checks: list[Json]) -> Answer:
    problem = next((check for check in checks if check["level"] == "problem"), None)
    answer = Answer("everything that a measurement needs is there", data={"can_measure": problem is None, "checks": checks})
    if problem is None:
        answer.next = [Call("list_kernels", {}, "what can be measured")]
        return answer
    answer.status = "bad_news"
    answer.verdict = f"this machine cannot do it: {problem['subject']}: {problem['detail']}"
    answer.cure = Cure(problem["cure"] or "see the problem")
    answer.cannot_say = ["anything that has to be measured: verify, measure, profile_program, gate with base and head"]
    answer.next = [Call("list_kernels", {}, "recordings that can be read without a GPU")]
    return answer


def _checks(text: str) -> list[Json]:
    checks: list[Json] = []
    for line in text.splitlines():
        found = re.match(r"(ok|warning|PROBLEM) +(.+?)  +(.*)", line) or re.match(r"(ok|warning|PROBLEM) +(\S+) (.*)", line)
        if found:
            checks.append({"level": found[1].lower(), "subject": found[2], "detail": found[3], "cure": None})
        elif checks and (cure := re.match(r" +cure: (.*)", line)):
            checks[-1]["cure"] = cure[1]
    return checks


async def list_kernels(work: Work, arguments: Json) -> Answer:
    command = ["list", "kernels"]
    library = arguments.get("kernel_lib")
    if library:
        command += ["--kernel-lib", str(work.roots.file_to_read(library, "kernel library"))]
    kernels = []
    async with work.gpu() if library else contextlib.nullcontext():  # its code runs
        listed = await work.run(*command)
    for line in listed.stdout.splitlines():
        found = re.match(r"(\d+|-) (\S+) +(.*)", line)
        if found:
            own = found[1] == "-"
            shape = found[3].rpartition("--shape ")[2] if own else None
            kernels.append({"kernel": found[2], "teaches": None if own else found[3], "library": library if own else None, "shape": shape})
    recordings = [work.roots.shown(path) for path in work.roots.recordings()]
    bundled = [BUNDLED + name for name in bundled_recordings(work.settings)]
    answer = Answer(f"{len(kernels)} kernels can be measured; {len(recordings)} recordings below the roots, {len(bundled)} bundled")
    answer.numbers = [Number("kernels", len(kernels), "kernels", "exact count")]
    mine = next((one for one in kernels if one["library"]), None)
    if mine:
        answer.next.append(Call("verify", {"kernel_lib": library, "shape": mine["shape"]}, "whether it is right, and its time real"))
    if recordings or bundled:
        answer.next.append(Call("report", {"recording": (recordings + bundled)[0]}, "what a recording says"))
    if not arguments.get("full"):
        recordings, bundled = recordings[:_SHOWN], bundled[:_SHOWN]
    answer.data = {"kernels": kernels, "recordings": recordings, "bundled": bundled}
    answer.details = ["", *[f"  {one['kernel']}: {one['teaches'] or one['library']}" + (f", shape {one['shape']}" if one["shape"] else "") for one in kernels]]
    answer.details += [f"  recording {name}" for name in recordings + bundled]
    return answer


async def lint(work: Work, arguments: Json) -> Answer:
    command = ["lint"]
    if arguments.get("wheel"):
        command += ["--from-wheel", str(work.roots.file_or_folder(arguments["wheel"], "wheel"))]
    files = [str(work.roots.file_to_read(file, "file")) for file in arguments.get("files", [])]
    if not files and not arguments.get("wheel"):
        raise ToolError("there is nothing to lint", "give files (cubins, objects, libraries, programs), or wheel")
    for name in ("kernel", "arch", "threads", "smem"):
        if arguments.get(name) is not None:
            command.append(f"--{name}={arguments[name]}")
    found = await work.json(*command, *files, seconds=600)
    kernels = found["kernels"]
    findings = [(kernel, finding) for kernel in kernels for finding in kernel["findings"]]
    answer = Answer(f"{len(kernels)} kernels, no finding")
    if findings:
        kernel, finding = findings[0]
        answer.status = "bad_news"
        answer.verdict = f"{len(kernels)} kernels, {len(findings)} findings: {kernel['name']}: {finding['id']}: {finding['evidence']}"
        place = re.search(r"([\w./+-]+):(\d+)", finding["evidence"])
        answer.cure = Cure(finding["cure"], finding["id"], finding["phase"])
        if place:
            answer.cure.file, answer.cure.line, answer.cure.why_there = place[1], int(place[2]), "named by line information"
        else:
            answer.cure.why_there = "the code has no line information of it (compile with -lineinfo)"
        answer.next = [Call("explain", {"name": finding["id"]}, "what it means, and the cure in full")]
    else:
        answer.next = [Call("verify", {}, "what the machine code cannot tell: whether it is right, and its time")]
    shown = findings[0][0] if findings else kernels[0] if kernels else None
    if shown:
        spilled = shown["spills"]["store_bytes"] + shown["spills"]["load_bytes"]
        answer.numbers = [
            Number("registers a thread", shown["registers_per_thread"], "registers", "exact, from the code"),
            Number("spilled a thread", spilled, "bytes", "exact, from the code"),
        ]
        occupancy = shown["occupancy"]["theoretical_ratio"] if shown["occupancy"] else shown["occupancy_limit_ratio"]
        answer.numbers.append(Number("theoretical occupancy", occupancy, "ratio", "computed" if shown["occupancy"] else "an upper limit: give threads"))
    answer.cannot_say = ["how long anything takes: lint reads machine code and measures nothing"]
    answer.cannot_say += [f"{skipped}: skipped" for skipped in map(str, found["cubins"]["skipped"][:3])]
    names = ("file", "architecture", "name", "registers_per_thread", "stack_frame_bytes", "line_information")
    answer.data = {
        "kernels": [
            {n: kernel[n] for n in names}
            | {"findings": [{n: f[n] for n in ("id", "phase", "evidence", "cure")} for f in kernel["findings"]]}
            for kernel in sorted(kernels, key=lambda one: -len(one["findings"]))
        ]
    }
    answer.details = ["", *[f"  {k['name']} ({k['architecture']}): {f['id']}: {f['evidence']}" for k, f in findings]]
    return answer


async def explain(work: Work, arguments: Json) -> Answer:
    """A finding of report or lint, a metric, a stall reason, or a word of the views."""
    name = arguments["name"].strip()
    recording = arguments.get("recording")
    lint_ids: list[str] = []
    report_ids: list[str] = []
    for line in (await work.run("list", "findings")).stdout.splitlines():
        found = re.match(r"(\S+) +(report|lint) ", line)
        if found:
            (lint_ids if found[2] == "lint" else report_ids).append(found[1])
    if name in lint_ids or name in report_ids:
        return await _explain_finding(work, name, name in lint_ids, recording)
    reading = await reports.read(work, recording or BUNDLED + _LADDER, {})
    word = words.vocabulary(reading.report).get(name.lower())
    if word is None:
        near = ", ".join([*report_ids, *lint_ids])
        known = "a metric by its id or label, a stall reason and a word of the view kernel as they are printed"
        raise ToolError(f"nothing has the name '{name}'", f"explain takes a finding ({near}), {known}; for all metrics read fa-profile://metrics")
    return await _explain_word(work, word, reading if recording else None)


async def _explain_word(work: Work, word: words.Word, reading: reports.Reading | None) -> Answer:
    """`reading`: the recording that was named."""
    named = f"{word.id} ({word.label})" if word.label != word.id else word.id
    answer = Answer(f"{named}: {word.text}", data={"name": word.id, "kind": word.kind, "text": f"{named}: {word.text}"})
    if word.kind == "stall reason":
        cures = await _cures_of_stalls(work)
        answer.cure = Cure(cures.get(word.id, cures["other"]), "bottleneck-phase", why_there="report with view=phase shows which phase waits for it")
    if reading is None or not reading.entries:
        return answer
    entry = reading.entry()
    phase = reports.top_phase(entry)
    if word.kind == "metric":
        answer.numbers = [reading.metric(entry, word.id)]
    elif word.kind == "phase metric" and phase is not None:
        answer.numbers = [reading.number(f"{phase['phase']}: {word.label}", word.id, phase["metrics"].get(word.id))]
    elif word.kind == "stall reason":
        ratio = next((stall["ratio"] for stall in entry["stalls"] if stall["reason"] == word.id), None)
        answer.numbers = [Number(f"{word.id}, of warp-cycles", ratio, "ratio", "one measurement, its error is not known", reading.gpu)]
    if answer.numbers:
        answer.verdict += f" In {reports.where(entry)}: {answer.numbers[0].name}: {amount(answer.numbers[0].value, answer.numbers[0].unit)}."
    answer.next = [Call("report", {"recording": reading.name, "view": "kernel", **reports.selected(reading, entry)}, "the kernel's counters and stalls")]
    return answer


async def _cures_of_stalls(work: Work) -> dict[str, str]:
    text = (await finding_text(work, "bottleneck-phase", False, None)).partition("\nwhat to do")[2]
    found = re.findall(r"^  (\w+): (.*(?:\n {6,}.*)*)", text, re.MULTILINE)
    return {reason: re.sub(r"\s+", " ", cure) for reason, cure in found}


async def finding_text(work: Work, name: str, is_lint: bool, recording: str | None) -> str:
    """As fa-profile explains it. Raises ToolError where no recording is there to explain it with."""
    if is_lint:
        return (await work.run("lint", "--explain", name)).stdout
    path = work.recording(recording if recording else BUNDLED + _LADDER)
    return (await work.run("report", str(path), "--explain", name)).stdout


async def _explain_finding(work: Work, name: str, is_lint: bool, recording: str | None) -> Answer:
    text = await finding_text(work, name, is_lint, recording)
    general, _, found = text.partition("\nIn this recording:")
    if recording is None:
        found = ""
    title = general.split("\n", 1)[0]
    cure = re.search(r"^what to do +(.*(?:\n {8,}.*)*)", general, re.MULTILINE)
    answer = Answer(title)
    if cure:
        answer.cure = Cure(re.sub(r"\s+", " ", cure[1]), name, None, why_there="report with view=finding names it, for one recording")
    if recording is not None:
        reading = await reports.read(work, recording, {})
        there = [(e, f) for e in reading.entries for f in e["findings"] if f["id"] == name]
        if there:
            answer.numbers = reading.numbers(*there[0])
            if answer.cure:
                answer.cure.text, answer.cure.phase = there[0][1]["cure"], there[0][1]["phase"]
        answer.next = [Call("report", {"recording": recording, "view": "finding", "finding": name}, "where it was found, with its source line")]
    answer.data = {"name": name, "kind": "lint finding" if is_lint else "finding", "text": general.strip() + ("\n\nIn this recording:" + found if found else "")}
    answer.details = ["", *answer.data["text"].rstrip().split("\n")[1:]]
    return answer


async def metric_rows(work: Work) -> list[Json]:
    rows = []
    for line in (await work.run("list", "metrics")).stdout.splitlines():
        found = re.match(r"(\S+) +(\S+) +(.*)", line)
        if found:
            rows.append({"metric": found[1], "unit": found[2], "help": found[3]})
    return rows
