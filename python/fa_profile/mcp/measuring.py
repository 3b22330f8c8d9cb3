"""Answers that run a user's code: verify, measure, profile_program, gate, receipt.

The kernels run in the workers of fa-profile's judge, never in this process. Whatever may use the GPU holds the lock.
"""

from __future__ import annotations

import json
import pathlib
import re
import secrets
import shutil
import tempfile
import time
from typing import Any

from . import reports
from .answers import Answer, Call, Cure, Json, Number, amount
from .errors import ToolError
from .work import Work

_PYTHON_KERNEL = r"\.py:\w+$"  # how FILE.py:FUNCTION ends


def _kernel_options(work: Work, arguments: Json) -> list[str]:
    """Which kernel: of the ladder, a library, or a Python file."""
    library, python = arguments.get("kernel_lib"), arguments.get("kernel_py")
    if library and python:
        raise ToolError("kernel_lib and kernel_py are given", "give one of them")
    options: list[str] = []
    if library:
        options += ["--kernel-lib", str(work.roots.file_to_read(library, "kernel library"))]
    elif python:
        options += ["--kernel-py", _python_kernel(work, python), "--python", work.settings.python]
    return options


def _python_kernel(work: Work, text: str) -> str:
    file, colon, function = text.rpartition(":")
    if not colon or not re.fullmatch(r"[A-Za-z_]\w*", function):
        raise ToolError(f"kernel_py {text} is not FILE.py:FUNCTION", "give it as mine.py:my_kernel")
    return f"{work.roots.file_to_read(file, 'kernel in Python')}:{function}"


def _judging_options(arguments: Json) -> list[str]:
    options = reports.selection(arguments)
    for name in ("draws", "calls"):
        if arguments.get(name) is not None:
            options += [f"--{name}", str(arguments[name])]
    return options


def _own(arguments: Json) -> Json:
    """The arguments that name the kernel, for the next call."""
    return {name: arguments[name] for name in ("kernel_lib", "kernel_py", "kernel", "shape", "causal") if arguments.get(name)}


def _seconds(arguments: Json, default: float) -> float:
    return float(arguments.get("timeout_s", default))


async def verify(work: Work, arguments: Json) -> Answer:
    """A receipt is written on the way, for what it says in numbers; it is not kept."""
    with tempfile.TemporaryDirectory(prefix="fa-profile-mcp-") as folder:
        return await _judge(work, arguments, pathlib.Path(folder, "receipt.json"), kept=None)


async def _judge(work: Work, arguments: Json, receipt: pathlib.Path, kept: str | None) -> Answer:
    options = _kernel_options(work, arguments)
    command = ["verify", *options, *_judging_options(arguments)]
    if options:
        command += ["--receipt", str(receipt)]
        if arguments.get("timeout_s"):
            command += ["--timeout", str(max(1, int(arguments["timeout_s"])))]
    async with work.gpu():
        finished = await work.run(*command, seconds=_seconds(arguments, 900))
    lines = [line for line in finished.stdout.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if re.match(r"(PASS|FAIL|NO VERDICT)", line)), "")
    cases, gpu = _cases(receipt)
    word = {0: "ok", 1: "bad_news"}.get(finished.code, "cannot_say")
    answer = Answer(last or "fa-profile printed no verdict", word)
    if cases:
        worst = min(cases, key=lambda case: ("wrong", "refused", "cannot say", "certified").index(case["verdict"]))
        answer.verdict = f"{worst['kernel']} at {worst['shape']}: {worst['verdict']}" + (f": {worst['reason']}" if worst["reason"] else "")
        answer.numbers = _judged_numbers(worst, gpu)
        if worst["verdict"] == "cannot say":
            answer.cannot_say.append(f"whether the speed is real: {worst['reason']}")
        if worst["weak_tolerance"]:
            answer.cannot_say.append(f"much about correctness: the tolerance also accepts {worst['weak_tolerance']}")
    else:
        counts = re.search(r"(\d+) comparisons, (\d+) not correct", last)
        if counts:
            gpu = lines[0].split(",")[0] if lines else None
            answer.numbers = [Number("comparisons with the reference", int(counts[1]), "comparisons", "exact count", gpu),
                              Number("not correct", int(counts[2]), "comparisons", "exact count", gpu)]  # fmt: skip
        if not options:
            answer.cannot_say.append("whether a time is real: only kernels of a library or in Python are judged (kernel_lib, kernel_py)")
    if word == "ok":
        answer.next.append(Call("measure", _own(arguments), "where its time goes"))
        if options and kept is None:
            answer.next.append(Call("receipt", {"action": "make", "path": "receipt.json", **_own(arguments)}, "to keep the proof"))
    elif word == "bad_news":
        refused = bool(cases) and worst["verdict"] == "refused"
        answer.cure = Cure(reports.CURE_OF_REFUSED if refused else reports.CURE_OF_WRONG, why_there="a judgement has no source line")
    answer.data = {"exit_code": finished.code, "receipt": kept, "cases": [_case_row(case) for case in cases]}
    answer.details = ["", *lines]
    return answer


def _cases(receipt: pathlib.Path) -> tuple[list[Json], str | None]:
    try:
        read: Any = json.loads(receipt.read_text(encoding="utf-8"))
        return list(read["cases"]), str(read["gpu"]["name"])
    except (OSError, ValueError, KeyError, TypeError):
        return [], None


def _judged_numbers(case: Json, gpu: str | None) -> list[Number]:
    times = sorted(case["durations_ns"])
    numbers = []
    if times:
        middle = times[len(times) // 2] / 1e9
        numbers.append(Number("time of a call", middle, "seconds", f"least to most of {len(times)} bursts", gpu, times[0] / 1e9, times[-1] / 1e9))
    if case["calls"]:
        most = 1.0 - 0.05 ** (1.0 / case["calls"])
        error = f"of {case['calls']} calls" + (f"; 95 %: fewer than {amount(most, 'ratio')} are wrong" if not case["wrong_calls"] else "")
        numbers.append(Number("wrong calls", case["wrong_calls"], "calls", error, gpu))
    numbers.append(Number("largest error, of the tolerance", case["max_error_ratio"], "ratio", f"over {case['draws']} random inputs", gpu))
    return numbers


def _case_row(case: Json) -> Json:
    names = ("kernel", "shape", "verdict", "reason", "draws", "draws_passed", "max_error_ratio", "calls", "wrong_calls", "conditions")
    return {name: case[name] for name in names} | {"durations_seconds": [value / 1e9 for value in case["durations_ns"]]}


def _new_recording(work: Work, arguments: Json) -> pathlib.Path:
    if arguments.get("output"):
        return work.roots.file_to_write(arguments["output"], "recording", ".fap", bool(arguments.get("overwrite")))
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())  # not unique: a second job of the same second waits for the GPU
    return work.roots.first / f"fa-profile-{stamp}-{secrets.token_hex(4)}.fap"


def _measuring_options(work: Work, arguments: Json, output: pathlib.Path) -> list[str]:
    options = reports.selection(arguments)
    if arguments.get("ncu_set"):
        options += ["--ncu-set", arguments["ncu_set"]]
    if arguments.get("phase_map"):
        options += ["--phase-map", str(work.roots.file_to_read(arguments["phase_map"], "phase map"))]
    if arguments.get("overwrite"):
        options.append("--force")
    return [*options, "-o", str(output)]


async def measure(work: Work, arguments: Json) -> Answer:
    output = _new_recording(work, arguments)
    command = [*_kernel_options(work, arguments), *_measuring_options(work, arguments, output), "--summary"]
    if arguments.get("repeats") is not None:
        command += ["--repeats", str(arguments["repeats"])]
    async with work.gpu():
        finished = await work.run(*command, seconds=_seconds(arguments, 900))
    name = work.roots.shown(output)
    if not output.is_file():
        raise ToolError(f"fa-profile wrote no recording: {_last_line(finished.stderr or finished.stdout)}", "call the tool verify: a refused kernel is not measured")
    reading = reports.Reading(await work.json("report", str(output)), name)
    rejected = finished.code == 1 or reports.rejected(reading) is not None
    again = Call("verify", _own(arguments), "the judgement in full")
    compared = Call("diff", {"before": "BEFORE.fap", "after": name}, "with the recording before the change")
    answer = await reports.summary(work, reading, [again if rejected else compared])
    if finished.code != 0 and answer.status == "ok":
        answer.status = "bad_news" if rejected else "cannot_say"
        answer.verdict = f"fa-profile ended with exit code {finished.code}: {_last_line(finished.stderr)}. {answer.verdict}"
        if rejected:
            answer.cure = Cure("do not use its time before the tool verify certifies the kernel", why_there="a judgement has no source line")
    answer.data = {**(answer.data or {}), "written": name}
    answer.details.insert(1, f"wrote {name}")
    return answer


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it printed nothing"])[-1]


async def profile_program(work: Work, arguments: Json) -> Answer:
    command = _program(work, arguments["command"])
    output = _new_recording(work, arguments)
    options = _measuring_options(work, arguments, output) + ["--exit-code", "report"]
    if arguments.get("duration_s") is not None:
        options += ["--duration", str(arguments["duration_s"])]
    if arguments.get("torch_modules"):
        options.append("--torch-modules")
    folder = work.roots.file_or_folder(arguments["folder"], "folder") if arguments.get("folder") else work.roots.first
    if not folder.is_dir():
        raise ToolError(f"{arguments['folder']} is not a folder", "give the folder in which the program runs")
    async with work.gpu():
        finished = await work.run(*options, "--", *command, seconds=_seconds(arguments, 900), folder=folder)
    name = work.roots.shown(output)
    if not output.is_file():
        raise ToolError(f"fa-profile wrote no recording: {_last_line(finished.stderr or finished.stdout)}", "run the program by itself first")
    reading = reports.Reading(await work.json("report", str(output)), name)
    answer = await reports.summary(work, reading)
    program = reading.report["program"]
    if program:
        answer.verdict = f"the GPU is busy {amount(program['busy_ratio'], 'ratio')} of the time. {answer.verdict}"
        busy = Number("GPU busy", program["busy_ratio"], "ratio", f"of {amount(program['watched_ns'] / 1e9, 'seconds')} watched", reading.gpu)
        answer.numbers = [busy, *answer.numbers[:2]]
    answer.data = {**(answer.data or {}), "written": name}
    answer.details.insert(1, f"wrote {name}")
    return answer


def _program(work: Work, command: list[str]) -> list[str]:
    """A program below a root; or `python3 FILE.py ARGUMENTS`, with the server's Python and a file below a root."""
    if command[0] in ("python", "python3"):
        if len(command) < 2 or command[1].startswith("-"):
            raise ToolError("python3 needs a file here", 'give command as ["python3", "train.py", ...], without -c or -m')
        return [work.settings.python, str(work.roots.file_to_read(command[1], "program")), *command[2:]]
    program = work.roots.file_to_read(command[0], "program")
    if shutil.which(str(program)) is None:
        raise ToolError(f"{command[0]} is not executable", "give a program, or python3 and a file")
    return [str(program), *command[1:]]


async def gate(work: Work, arguments: Json) -> Answer:
    command, on_gpu = _gate_command(work, arguments)
    command += ["--thresholds", _thresholds(work, arguments)]
    if arguments.get("save"):
        saved = work.roots.file_to_write(arguments["save"], "file", ".json", bool(arguments.get("overwrite")))
        command += ["--save", str(saved)]
    if on_gpu:
        async with work.gpu():
            found = await work.json("gate", *command, seconds=_seconds(arguments, 1800))
    else:
        found = await work.json("gate", *command, seconds=_seconds(arguments, 600))
    verdict = found["verdict"]
    word = {"REGRESSION": "bad_news", "PASS": "ok", "IMPROVED": "ok"}.get(verdict, "cannot_say")
    answer = Answer(found["headline"] or verdict, word)
    gpu = found["candidate"]["gpu_name"]
    worst = found["cases"][0] if found["cases"] else None
    if worst:
        answer.numbers = _gate_numbers(worst, gpu)
        cure = next((finding for finding in worst["findings"] if finding["cure"]), None)
        place = worst["place"] or {}
        if worst["incorrect"]:
            refused = any("not certified" in line for line in (worst["headline"] or "", *worst["why"]))
            answer.cure = Cure(reports.CURE_OF_REFUSED if refused else reports.CURE_OF_WRONG, why_there="a judgement has no source line")
        elif verdict not in ("PASS", "IMPROVED") and (cure or worst["why"] or verdict == "REGRESSION"):
            reason = worst["why"][0] if worst["why"] else worst["headline"] or "the tool diff on a recording of each names the phase"
            text = cure["cure"] if cure else f"undo or rewrite what made this worse: {reason}"
            answer.cure = Cure(text, cure["id"] if cure else None, worst["phase"], place.get("file"), place.get("line"),
                               "the code that got worse" if place else "the gate names no line for it")  # fmt: skip
    answer.cannot_say = _unknown_to_the_gate(found)
    answer.next = _after_gate(arguments, verdict)
    rows = []
    for case in found["cases"]:
        blocking = [c for c in case["comparisons"] if c["blocking"] and c["verdict"] not in ("PASS", "IMPROVED")]
        names = ("kernel", "shape", "verdict", "headline", "why", "phase", "place")
        rows.append({n: case[n] for n in names} | {"blocked_by": [f"{_measured(c)}: {c['reason']}" for c in blocking]})
    answer.data = {"verdict": verdict, "design": found["design"], "cases": rows, "notes": found["notes"]}
    for row in rows:
        answer.details.append(f"  {row['verdict']} {row['kernel']} {row['shape'] or ''}: {row['headline'] or ''}")
        answer.details += [f"    {why}" for why in row["why"][:3]]
    answer.details += [f"  note: {note}" for note in found["notes"] if note not in answer.cannot_say]
    return answer


def _unknown_to_the_gate(found: Json) -> list[str]:
    unknown = [f"not comparable: {reason}" for reason in found["incomparable"]]
    if found["control"] and not found["control"]["passed"]:
        unknown.append(f"whether the machine was quiet: {found['control']['reason']}")
    open_verdicts = ("INCONCLUSIVE", "SUSPECT", "MISSING")
    for case in found["cases"]:
        name = f"{case['kernel']} {case['shape'] or ''}".rstrip()
        if case["verdict"] in open_verdicts:
            unknown.append(f"{name}: {case['headline']}")
        else:
            unknown += [f"{name}: {_measured(c)}: {c['reason']}" for c in case["comparisons"] if c["verdict"] in open_verdicts]
    times = [c for case in found["cases"] for c in case["comparisons"] if c["metric"] == "duration_seconds"]
    if found["design"] == "static" or not times:
        unknown.append("whether it is faster: no time was compared. gate with base and head measures both")
    elif any(c["change"] is not None and c["change_low"] is None and c["change_high"] is None for c in times):
        unknown.append("how certain the change of the time is: so few recordings a side give no interval. gate with base and head measures pairs")
    return unknown + [note for note in found["notes"] if re.search(r"\b(not|cannot|another)\b", note)]  # what limits the verdict


def _measured(comparison: Json) -> str:
    return f"{comparison['metric']} of {comparison['phase']}" if comparison["phase"] else str(comparison["metric"])


def _gate_command(work: Work, arguments: Json) -> tuple[list[str], bool]:
    """The question, and whether it needs the GPU."""
    base, head = arguments.get("base"), arguments.get("head")
    asked = [name for name in ("replay", "candidate") if arguments.get(name)] + (["base and head"] if base or head else [])
    if len(asked) != 1 or bool(base) != bool(head):
        raise ToolError(
            f"the gate was asked for {' and '.join(asked) or 'nothing'}",
            "give one of: base and head (two builds); candidate, with or without baseline (recordings); replay (a saved run)",
        )
    if arguments.get("replay"):
        return ["--replay", str(work.roots.file_to_read(arguments["replay"], "saved run"))], False
    if arguments.get("candidate"):
        command = ["--candidate", *[str(work.recording(file, "candidate")) for file in arguments["candidate"]]]
        if arguments.get("baseline"):
            return [*command, "--baseline", *[str(work.recording(file, "baseline")) for file in arguments["baseline"]]], False
        return [*command, "--baselines", str(work.roots.file_or_folder("ci/baselines", "folder of baselines"))], False
    static = bool(arguments.get("static"))
    if static and any(re.search(_PYTHON_KERNEL, str(side)) for side in (base, head)):
        raise ToolError(
            "static compares machine code in files, and a kernel in Python has none before it runs",
            "leave static out: base and head are then measured in turns, which needs a GPU; or give the files that its compiler kept (*.cubin)",
        )
    builds = [_build(work, str(side)) for side in (base, head)]
    command = ["--static" if static else "--pair", *builds]
    if any(".py:" in build for build in builds):
        command += ["--python", work.settings.python]
    return [*command, *reports.selection(arguments)] if not static else command, not static


def _build(work: Work, text: str) -> str:
    return _python_kernel(work, text) if re.search(_PYTHON_KERNEL, text) else str(work.roots.file_or_folder(text, "build"))


def _thresholds(work: Work, arguments: Json) -> str:
    """A file below a root, or "none": without one, fa-profile takes ci/thresholds.yaml where it runs."""
    given = arguments.get("thresholds")
    if given == "none":
        return "none"
    if given:
        return str(work.roots.file_to_read(given, "threshold file"))
    try:
        return str(work.roots.file_to_read("ci/thresholds.yaml", "threshold file"))
    except ToolError:
        return "none"


def _gate_numbers(case: Json, gpu: str | None) -> list[Number]:
    comparisons = [c for c in case["comparisons"] if c["change"] is not None]
    comparisons.sort(key=lambda c: (c["metric"] != "duration_seconds", c["verdict"] != "REGRESSION", -abs(c["change"])))
    numbers = []
    for one in comparisons[:3]:
        bounded = one["change_low"] is not None and one["change_high"] is not None
        error = f"95 %, {one['pairs']} pairs" if bounded else "exact count" if one["tier"] < 2 else "one measurement a side"
        values = f"{amount(one['baseline'], one['unit'])} -> {amount(one['candidate'], one['unit'])}"
        by = "change of its time, as a share of the base's whole time" if one["metric"] == "phase_time_ratio" else "relative change"
        numbers.append(Number(f"{_measured(one)}, {values}: {by}", one["change"], "ratio", error, gpu,
                              one["change_low"] if bounded else None, one["change_high"] if bounded else None))  # fmt: skip
    return numbers


def _after_gate(arguments: Json, verdict: str) -> list[Call]:
    if verdict in ("PASS", "IMPROVED"):
        head = arguments.get("head")
        library = {"kernel_py": head} if head and ".py:" in head else {"kernel_lib": head} if head else None
        if library and not arguments.get("static"):
            return [Call("receipt", {"action": "make", "path": "receipt.json", **library}, "to keep the proof")]
        return []
    if arguments.get("candidate"):
        return [Call("report", {"recording": arguments["candidate"][0], "view": "phase"}, "where the time goes now")]
    return [Call("list_kernels", {}, "what can be measured, to find out more")]


async def receipt(work: Work, arguments: Json) -> Answer:
    if arguments["action"] == "make":
        if not arguments.get("kernel_lib") and not arguments.get("kernel_py"):
            raise ToolError("a receipt is for a kernel of a library or in Python", "give kernel_lib or kernel_py")
        path = work.roots.file_to_write(arguments["path"], "receipt", ".json", bool(arguments.get("overwrite")))
        with tempfile.TemporaryDirectory(prefix="fa-profile-mcp-") as folder:
            made = pathlib.Path(folder, "receipt.json")
            answer = await _judge(work, arguments, made, work.roots.shown(path))
            if not made.is_file():
                raise ToolError("fa-profile wrote no receipt", "call the tool verify, which says why")
            _put(made, path, bool(arguments.get("overwrite")))
        answer.next.append(Call("receipt", {"action": "check", "path": work.roots.shown(path), **_library(arguments)}, "to measure again what it says"))
        return answer
    return await _check_receipt(work, arguments)


def _put(made: pathlib.Path, path: pathlib.Path, overwrite: bool) -> None:
    """Never replaces a file that came there meanwhile, unless asked to."""
    try:
        with open(path, "wb" if overwrite else "xb") as file:
            file.write(made.read_bytes())
    except OSError as error:
        raise ToolError(f"the receipt {path} cannot be written: {error.strerror}", "give another path") from None


def _library(arguments: Json) -> Json:
    return {name: arguments[name] for name in ("kernel_lib", "kernel_py") if arguments.get(name)}


async def _check_receipt(work: Work, arguments: Json) -> Answer:
    path = work.roots.file_to_read(arguments["path"], "receipt")
    options = _kernel_options(work, arguments)
    if not options:
        raise ToolError("the check needs the kernel", "give kernel_lib or kernel_py")
    async with work.gpu():
        finished = await work.run("receipt", "check", str(path), *options, seconds=_seconds(arguments, 900))
    lines = [line for line in finished.stdout.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if re.match(r"(AGREES|DIFFERS|NOT CHECKED)", line)), "")
    rows = []
    for line in lines:
        found = re.match(r"(agrees|DIFFERS|not compared) +(.+?): (.*)", line)
        if found:
            rows.append({"result": found[1].lower(), "what": found[2], "text": found[3]})
    word = "ok" if last.startswith("AGREES") else "bad_news" if last.startswith("DIFFERS") else "cannot_say"
    answer = Answer(last or "fa-profile printed no verdict", word)
    for result in ("agrees", "differs", "not compared"):
        count = sum(row["result"] == result for row in rows)
        answer.numbers.append(Number(result, count, "lines of the receipt", "exact count"))
    if word == "bad_news":
        first = next((row for row in rows if row["result"] == "differs"), None)
        text = "trust what was measured now, not the receipt" + (f": {first['what']} differs" if first else "")
        answer.cure = Cure(text, why_there="a receipt is about files and times")
        answer.next = [Call("verify", _library(arguments), "what is true now")]
    elif word == "cannot_say":
        answer.cannot_say.append(last.partition(": ")[2] or "why")
    answer.data = {"exit_code": finished.code, "receipt": work.roots.shown(path), "cases": [], "compared": rows}
    answer.details = ["", *lines]
    return answer
