"""The tools: their names, descriptions, schemas and annotations."""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

import jsonschema

from . import machine, measuring, reports
from .answers import Answer, Cure, Json, list_of, object_of, schema_of
from .errors import ToolError
from .work import Work

_LOG = logging.getLogger("fa_profile.mcp")

_TEXT: Json = {"type": "string"}
_TEXT_OR_NULL: Json = {"type": ["string", "null"]}
_NUMBER_OR_NULL: Json = {"type": ["number", "null"]}
_BOOLEAN: Json = {"type": "boolean"}
_STALLS = list_of(object_of({"reason": _TEXT, "ratio": {"type": "number"}}))


def _text(description: str, most: int = 4096) -> Json:
    return {"type": "string", "minLength": 1, "maxLength": most, "description": description}


_FULL: Json = {"type": "boolean", "description": "all of the answer, not its first 4 KB"}
_RECORDING = _text("A recording (*.fap) below a root, or bundled:NAME")
_OVERWRITE: Json = {"type": "boolean", "description": "replace the file if it exists; otherwise that is an error"}
_TIMEOUT: Json = {"type": "number", "minimum": 1, "maximum": 86400, "description": "Seconds after which the work is ended"}
_SELECTION: Json = {
    "kernel": _text("Regular expression: only kernels whose name matches"),
    "shape": _text("BATCH,HEADS,SEQLEN,HEAD_DIM, or NAME=VALUE,... of a library's parameters"),
    "causal": {"type": "boolean", "description": "causal attention, for shape"},
}
_KERNEL: Json = {
    "kernel_lib": _text("Your kernel library (*.so) below a root"),
    "kernel_py": _text("Your kernel in Python: FILE.py:FUNCTION, the file below a root"),
    **_SELECTION,
}
_MEASURING: Json = {
    "ncu_set": {"enum": ["basic", "detailed", "full", "roofline", "phases"], "description": "metrics to collect; default full"},
    "output": _text("Recording to write (*.fap) below a root; default: a new name in the first root"),
    "overwrite": _OVERWRITE,
    "timeout_s": _TIMEOUT,
    "full": _FULL,
}

_RECORDED = object_of(
    {
        **{name: _TEXT_OR_NULL for name in ("name", "gpu", "driver", "recorded", "metric_set")},
        **{"complete": _BOOLEAN, "program": _BOOLEAN},
    }
)
_ENTRY = object_of(
    {
        "kernel": _TEXT,
        "shape": _TEXT_OR_NULL,
        "causal": _BOOLEAN,
        "duration_seconds": _NUMBER_OR_NULL,
        "share_ratio": {**_NUMBER_OR_NULL, "description": "of the program's kernel time; null: not of a program"},
        "launches": {"type": ["integer", "null"]},
        "correct": {"type": ["boolean", "null"], "description": "null: not compared"},
        "judgement": {"enum": ["certified", "wrong", "refused", "cannot say", None]},
        "bound_by": {"enum": ["compute", "memory", "latency", None]},
        "top_phase": _TEXT_OR_NULL,
        "findings": list_of(object_of({"id": _TEXT, "phase": _TEXT_OR_NULL, "explained_by": _TEXT_OR_NULL, "weight": _NUMBER_OR_NULL})),
    }
)
_METRIC = object_of({name: _TEXT for name in ("name", "unit", "error")} | {name: _NUMBER_OR_NULL for name in ("value", "low", "high")} | {"gpu": _TEXT_OR_NULL})
_LAUNCH = object_of(
    {"kernel_name": _TEXT, "grid": list_of({"type": "integer"}), "block": list_of({"type": "integer"})}
    | {name: {"type": ["integer", "null"]} for name in ("registers_per_thread", "static_shared_memory_bytes", "dynamic_shared_memory_bytes")}
)
_PHASE_NUMBERS = ("phase_time_ratio", "phase_time_seconds", "phase_instructions", "phase_threads_per_instruction", "phase_tensor_instructions",
                  "phase_bank_conflict_ratio", "phase_coalescing_ratio", "phase_global_bytes", "phase_barriers")  # fmt: skip
_PHASE = object_of({"phase": _TEXT, "top_stalls": _STALLS, **{name: _NUMBER_OR_NULL for name in _PHASE_NUMBERS}})
_FINDING = object_of({"kernel": _TEXT, "shape": _TEXT_OR_NULL, "id": _TEXT, "phase": _TEXT_OR_NULL, "evidence": _TEXT, "cure": _TEXT,
                      "weight": _NUMBER_OR_NULL, "explained_by": _TEXT_OR_NULL})  # fmt: skip
_LINE = object_of({"file": _TEXT_OR_NULL, "line": {"type": ["integer", "null"]}, "text": _TEXT_OR_NULL, "share_ratio": _NUMBER_OR_NULL,
                   "phases": list_of(object_of({"phase": _TEXT, "ratio": {"type": "number"}})), "top_stalls": _STALLS})  # fmt: skip
_SUMMARY = {"view": {"const": "summary"}, "recording": _RECORDED, "entries": list_of(_ENTRY)}
_REPORT: Json = {
    "oneOf": [
        object_of(_SUMMARY),
        object_of({"view": {"const": "kernel"}, "recording": _RECORDED, "entry": _ENTRY, "launch": {"oneOf": [{"type": "null"}, _LAUNCH]},
                   "metrics": list_of(_METRIC), "stalls": _STALLS}),
        object_of({"view": {"const": "phase"}, "recording": _RECORDED, "entry": _ENTRY, "from": _TEXT, "samples": {"type": "integer"},
                   "sums_close": _BOOLEAN, "phases": list_of(_PHASE)}),
        object_of({"view": {"const": "finding"}, "recording": _RECORDED, "findings": list_of(_FINDING)}),
        object_of({"view": {"const": "source"}, "recording": _RECORDED, "entry": _ENTRY, "lines": list_of(_LINE)}),
    ]
}  # fmt: skip
_MEASURED = object_of({**_SUMMARY, "written": _TEXT})
_CHANGE = object_of({name: _TEXT_OR_NULL for name in ("kernel", "part", "shape", "phase", "metric", "judgement", "unit")}
                    | {name: _NUMBER_OR_NULL for name in ("before", "after", "ratio")})  # fmt: skip
_CHANGED_FINDING = object_of({name: _TEXT_OR_NULL for name in ("kernel", "shape", "id", "phase", "evidence", "cure")})
_JUDGED = object_of(
    {name: _TEXT for name in ("kernel", "shape", "verdict", "reason", "conditions")}
    | {name: {"type": "integer"} for name in ("draws", "draws_passed", "calls", "wrong_calls")}
    | {"max_error_ratio": _NUMBER_OR_NULL, "durations_seconds": list_of({"type": "number"})}
)
_JUDGEMENT: Json = {"exit_code": {"type": "integer"}, "receipt": _TEXT_OR_NULL, "cases": list_of(_JUDGED)}
_COMPARED = list_of(object_of({"result": {"enum": ["agrees", "differs", "not compared"]}, "what": _TEXT, "text": _TEXT}))
_PLACE: Json = {"oneOf": [{"type": "null"}, object_of({"file": _TEXT, "line": {"type": "integer"}})]}


@dataclass(frozen=True)
class Tool:
    name: str
    title: str
    description: str
    arguments: Json  # properties of the input
    data: Json  # schema of the answer's own part
    answer: Callable[[Work, Json], Awaitable[Answer]]
    required: Sequence[str] = ()
    read_only: bool = True
    destructive: bool = False  # it can replace a file, or run a program that can
    open_world: bool = False

    @property
    def input_schema(self) -> Json:
        optional = [name for name in self.arguments if name not in self.required]
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **object_of(self.arguments, optional=optional)}

    @property
    def output_schema(self) -> Json:
        return schema_of(self.data)


TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "doctor",
            "What would stop a measurement here",
            "Checks the GPU, driver, CUPTI and tools of this machine, and names the cure for what is missing; with file: whether a "
            "program or library has line information. Call it first, and after an error.",
            {"file": _text("A program, library or cubin below a root"), "full": _FULL},
            object_of({"can_measure": {"type": ["boolean", "null"], "description": "null: only a file was checked"},
                       "checks": list_of(object_of({"level": {"enum": ["ok", "warning", "problem"]}, "subject": _TEXT,
                                                    "detail": _TEXT, "cure": _TEXT_OR_NULL}))}),
            machine.doctor,
        ),
        Tool(
            "list_kernels",
            "Kernels and recordings that are there",
            "Lists the ladder's kernels, with kernel_lib also that of a library (whose code then runs in a child process), and the "
            "recordings below the roots.",
            {"kernel_lib": _text("Your kernel library (*.so) below a root"), "full": _FULL},
            object_of({"kernels": list_of(object_of({"kernel": _TEXT, "teaches": _TEXT_OR_NULL, "library": _TEXT_OR_NULL, "shape": _TEXT_OR_NULL})),
                       "recordings": list_of(_TEXT), "bundled": list_of(_TEXT)}),
            machine.list_kernels,
            read_only=False,
        ),
        Tool(
            "lint",
            "Problems that machine code shows",
            "Reads compiled kernels (cubins, objects, libraries, programs, wheels) without a GPU: registers, spills, occupancy, barriers "
            "in loops. Measures nothing.",
            {
                "files": {"type": "array", "items": _text("A file below a root"), "minItems": 1, "maxItems": 100},
                "wheel": _text("A wheel, or the folder of a Python package, below a root"),
                "kernel": _SELECTION["kernel"],
                "arch": _text("Only code for this architecture: sm_90a", 16),
                "threads": {"type": "integer", "minimum": 1, "maximum": 1024, "description": "Threads per block"},
                "smem": {"type": "integer", "minimum": 0, "maximum": 1048576, "description": "Bytes of dynamic shared memory per block"},
                "full": _FULL,
            },
            object_of({"kernels": list_of(object_of(
                {name: _TEXT_OR_NULL for name in ("file", "architecture", "name")}
                | {name: {"type": ["integer", "null"]} for name in ("registers_per_thread", "stack_frame_bytes")}
                | {"line_information": {"type": ["boolean", "null"]},
                   "findings": list_of(object_of({"id": _TEXT, "phase": _TEXT_OR_NULL, "evidence": _TEXT, "cure": _TEXT}))}))}),
            machine.lint,
        ),
        Tool(
            "verify",
            "Is it right, and is its time real?",
            "Runs a kernel on random inputs against its reference; of a kernel library or a Python kernel it also judges, from a separate "
            "process, whether the time is that of the work. Needs a GPU. Call it before you believe any speed.",
            {
                **_KERNEL,
                "draws": {"type": "integer", "minimum": 1, "maximum": 100000, "description": "Random inputs per shape"},
                "calls": {"type": "integer", "minimum": 0, "maximum": 1000000, "description": "Calls whose results are compared"},
                "timeout_s": _TIMEOUT,
                "full": _FULL,
            },
            object_of(_JUDGEMENT),
            measuring.verify,
            read_only=False,
        ),
        Tool(
            "measure",
            "Measure a kernel",
            "Times a kernel, reads its counters and phases, and writes a recording. Needs a GPU. Answers with the finding to act on.",
            {
                **_KERNEL,
                "phase_map": _text("YAML file below a root that assigns code to phases"),
                "repeats": {"type": "integer", "minimum": 0, "maximum": 100000, "description": "Timed samples; default 100"},
                **_MEASURING,
            },
            _MEASURED,
            measuring.measure,
            read_only=False,
            destructive=True,
        ),
        Tool(
            "profile_program",
            "Where a program's GPU time goes",
            "Runs a program below a root, or python3 with a file below a root, under the profiler, and writes a recording. The program runs "
            "with your rights. Needs a GPU.",
            {
                "command": {"type": "array", "items": {"type": "string", "maxLength": 4096}, "minItems": 1, "maxItems": 1000,
                            "description": 'Program and arguments: ["python3", "train.py", "--steps", "10"]; no shell'},
                "folder": _text("Folder below a root in which it runs; default: the first root"),
                "kernel": _SELECTION["kernel"],
                "nvtx": _text("Regular expression: count only launches inside NVTX ranges whose path matches"),
                "torch_modules": {"type": "boolean", "description": "an NVTX range around each layer of a PyTorch model"},
                "duration_s": {"type": "number", "minimum": 0.1, "maximum": 1000000, "description": "Seconds to record; default: to the end"},
                **_MEASURING,
            },
            _MEASURED,
            measuring.profile_program,
            required=("command",),
            read_only=False,
            destructive=True,
            open_world=True,
        ),
        Tool(
            "report",
            "Read a recording",
            "summary: the one finding to act on; kernel: counters and stalls of one kernel; phase: which part of it costs what; finding: where "
            "one was found; source: the hottest source lines. Needs no GPU.",
            {
                "recording": _RECORDING,
                "view": {"enum": ["summary", "kernel", "phase", "finding", "source"], "description": "default summary"},
                **_SELECTION,
                "nvtx": _text("Of a program: regular expression of NVTX ranges"),
                "phase": _text("For view phase and source: the phase"),
                "finding": _text("For view finding: its id"),
                "full": _FULL,
            },
            _REPORT,
            reports.report,
            required=("recording",),
        ),
        Tool(
            "diff",
            "What changed between two recordings",
            "Times, phases, counters and findings of two recordings of the same kernel. It does not judge noise: gate does. Needs no GPU.",
            {
                "before": _RECORDING,
                "after": _RECORDING,
                "kernel": _text("Only this kernel, by its name"),
                "full": _FULL,
            },
            object_of({"incomparable": list_of(_TEXT), "changes": list_of(_CHANGE), "new_findings": list_of(_CHANGED_FINDING),
                       "gone_findings": list_of(_CHANGED_FINDING)}),
            reports.diff,
            required=("before", "after"),
        ),
        Tool(
            "gate",
            "Is it worse?",
            "The verdict on a change. base and head: two builds, measured in turns on the GPU, with an interval (static: machine code alone, "
            "without a GPU). candidate, with baseline: recordings. replay: a saved run.",
            {
                "base": _text("Build before the change: a program, a kernel library, or FILE.py:FUNCTION"),
                "head": _text("Build after the change"),
                "static": {"type": "boolean", "description": "compare the machine code of base and head, without a GPU"},
                "candidate": {"type": "array", "items": _RECORDING, "minItems": 1, "maxItems": 100},
                "baseline": {"type": "array", "items": _RECORDING, "minItems": 1, "maxItems": 100},
                "replay": _text("A run that save kept (*.json)"),
                "thresholds": _text("File of limits, or none; default: ci/thresholds.yaml if it exists"),
                "save": _text("Keep what was measured in this file (*.json) below a root"),
                **_SELECTION,
                **{"overwrite": _OVERWRITE, "timeout_s": _TIMEOUT, "full": _FULL},
            },
            object_of({"verdict": _TEXT, "design": _TEXT, "notes": list_of(_TEXT),
                       "cases": list_of(object_of({"kernel": _TEXT, "shape": _TEXT_OR_NULL, "verdict": _TEXT, "headline": _TEXT_OR_NULL,
                                                   "why": list_of(_TEXT), "phase": _TEXT_OR_NULL, "place": _PLACE, "blocked_by": list_of(_TEXT)}))}),
            measuring.gate,
            read_only=False,
            destructive=True,
        ),
        Tool(
            "explain",
            "What a word of an answer means",
            "The text of a finding of report or lint (when it fires, from which counters, the cure in full), of a metric by its id or label, of a "
            "stall reason, or of a word of the view kernel (latency, shared memory). Needs no GPU.",
            {"name": _text("A finding, a metric, a stall reason or another word, as an answer prints it", 200),
             "recording": {**_RECORDING, "description": "also its value, or where it is, in this recording"}, "full": _FULL},
            object_of({"name": _TEXT, "kind": {"enum": ["finding", "lint finding", "metric", "phase metric", "stall reason", "word"]}, "text": _TEXT}),
            machine.explain,
            required=("name",),
        ),
        Tool(
            "receipt",
            "Keep or check a proof",
            "make: judge a kernel as verify does and write the receipt; check: measure again and compare with a receipt. Needs a GPU (check "
            "without one compares files).",
            {
                "action": {"enum": ["make", "check"]},
                "path": _text("The receipt (*.json) below a root"),
                **_KERNEL,
                **{"overwrite": _OVERWRITE, "timeout_s": _TIMEOUT, "full": _FULL},
            },
            object_of({**_JUDGEMENT, "compared": _COMPARED}, optional=("compared",)),
            measuring.receipt,
            required=("action", "path"),
            read_only=False,
            destructive=True,
        ),
    )
}  # fmt: skip


def check_arguments(tool: Tool, arguments: object) -> Json:
    """The arguments of a call. Raises ToolError for what the input schema does not allow."""
    given = {} if arguments is None else arguments
    validator = jsonschema.Draft202012Validator(tool.input_schema)
    error = next(iter(sorted(validator.iter_errors(given), key=lambda found: len(found.absolute_path))), None)
    if error is not None:
        place = ".".join(str(part) for part in error.absolute_path) or "the arguments"
        known = ", ".join(tool.arguments)
        raise ToolError(f"{tool.name}: {place}: {error.message[:300]}", f"the arguments of {tool.name} are {known}; tools/list has their schema")
    assert isinstance(given, dict)
    if not all(map(math.isfinite, _numbers(given))):
        raise ToolError(f"{tool.name}: NaN and Infinity are not numbers of JSON", "give a finite number, or leave the argument out")
    # 128.0 is an integer of JSON Schema, and none of a command line.
    whole = {name for name, schema in tool.arguments.items() if schema.get("type") == "integer"}
    return {name: int(value) if name in whole else value for name, value in given.items()}


def _numbers(value: object) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _numbers(part)


async def call(work: Work, tool: Tool, arguments: Json) -> Answer:
    """The answer, also where the tool fails."""
    try:
        return await tool.answer(work, arguments)
    except ToolError as error:
        return error_answer(error)
    except Exception as error:  # a mistake in this server: the client gets no stack trace
        _LOG.exception("the tool %s failed", tool.name)
        return error_answer(ToolError(f"the tool {tool.name} failed: {type(error).__name__}: {error}", "this is a mistake in fa-profile mcp: report it"))


def error_answer(error: ToolError) -> Answer:
    return Answer(error.message, status="error", cure=Cure(error.cure))
