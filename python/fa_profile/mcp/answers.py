"""The form of every answer: the verdict, numbers that show it, the cure with its source line, what to call next.

An answer has the same contents twice: as structured content, by SCHEMA, and as text of at most TEXT_BYTES and TEXT_LINES
unless the caller asked for all of it.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

TEXT_LINES = 60
TEXT_BYTES = 4096
STRUCTURED_BYTES = 8192
FULL_BYTES = 256 * 1024  # of text, and of structured content, if all was asked for
_TEXT_MOST = 600  # characters of one line of text
_STRUCTURED_TEXT_MOST = 3000  # characters of one text in structured content
_DEEPEST = 12
_SHORT_UNITS = {"bytes": "B", "bytes_per_second": "B/s", "flops": "FLOP", "flops_per_second": "FLOP/s", "hertz": "Hz"}

Json = dict[str, Any]

_TEXT: Json = {"type": "string"}
_TEXT_OR_NULL: Json = {"type": ["string", "null"]}
_NUMBER_OR_NULL: Json = {"type": ["number", "null"]}


def object_of(properties: Json, description: str = "", optional: Sequence[str] = ()) -> Json:
    """Schema of an object that has these properties and no others."""
    schema: Json = {
        "type": "object",
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
        "properties": properties,
    }
    return {"description": description, **schema} if description else schema


def list_of(items: Json) -> Json:
    return {"type": "array", "items": items}


_NUMBER = object_of(
    {
        "name": _TEXT,
        "value": {"type": ["number", "null"], "description": "null: not measured"},
        "unit": {**_TEXT, "description": "seconds, ratio (0 to 1), bytes, instructions, ..."},
        "low": {**_NUMBER_OR_NULL, "description": "of the interval that `error` names"},
        "high": _NUMBER_OR_NULL,
        "error": {**_TEXT, "description": "how exact the value is, and how that is known"},
        "gpu": {**_TEXT_OR_NULL, "description": "the GPU that it was measured on; null: not measured on a GPU"},
    }
)
_CURE = object_of(
    {
        "text": _TEXT,
        "finding": {**_TEXT_OR_NULL, "description": "id for the tool explain"},
        "phase": _TEXT_OR_NULL,
        "file": _TEXT_OR_NULL,
        "line": {"type": ["integer", "null"]},
        "why_there": {**_TEXT_OR_NULL, "description": "why this source line; or why no line can be named"},
    }
)
_NEXT = object_of({"tool": _TEXT, "arguments": {"type": "object"}, "why": _TEXT})


def schema_of(data: Json) -> Json:
    """Output schema of a tool whose own part is `data`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **object_of(
            {
                "status": {
                    "enum": ["ok", "bad_news", "cannot_say", "error"],
                    "description": "bad_news: the job was done, and something is wrong, slower or not real; error: it was not done",
                },
                "verdict": _TEXT,
                "numbers": {**list_of(_NUMBER), "description": "that show the verdict, the most telling first"},
                "cure": {"oneOf": [{"type": "null"}, _CURE]},
                "cannot_say": {**list_of(_TEXT), "description": "what is unknown, and why"},
                "next": {**list_of(_NEXT), "description": "calls that lead on"},
                "truncated": {"type": "boolean", "description": "something was left out; full=true gives it"},
                "data": {"oneOf": [{"type": "null"}, data]},
            }
        ),
    }


@dataclass
class Number:
    name: str
    value: float | None
    unit: str
    error: str
    gpu: str | None = None
    low: float | None = None
    high: float | None = None

    def json(self) -> Json:
        return {
            "name": self.name,
            "value": _finite(self.value),
            "unit": self.unit,
            "low": _finite(self.low),
            "high": _finite(self.high),
            "error": self.error,
            "gpu": self.gpu,
        }

    def text(self) -> str:
        shown = amount(self.value, self.unit)
        if self.low is not None and self.high is not None:
            shown += f" ({amount(self.low, self.unit)} to {amount(self.high, self.unit)}: {self.error})"
        elif self.error:
            shown += f" ({self.error})"
        return f"{self.name}: {shown}" + (f" [{self.gpu}]" if self.gpu else "")


@dataclass
class Cure:
    text: str
    finding: str | None = None
    phase: str | None = None
    file: str | None = None
    line: int | None = None
    why_there: str | None = None

    def json(self) -> Json:
        return dict(self.__dict__)

    def lines(self) -> list[str]:
        named = [f"finding {self.finding}" if self.finding else "", f"phase {self.phase}" if self.phase else ""]
        names = ", ".join(name for name in named if name)
        lines = [f"cure: {self.text}" + (f" ({names})" if names else "")]
        if self.file is not None:
            place = f"{self.file}:{self.line}" if self.line is not None else self.file
            lines.append(f"  at {place}" + (f": {self.why_there}" if self.why_there else ""))
        elif self.why_there:
            lines.append(f"  source line: cannot say: {self.why_there}")
        return lines


@dataclass
class Call:
    """What to call next."""

    tool: str
    arguments: Json
    why: str


@dataclass
class Answer:
    verdict: str
    status: str = "ok"
    numbers: list[Number] = field(default_factory=list)
    cure: Cure | None = None
    cannot_say: list[str] = field(default_factory=list)
    next: list[Call] = field(default_factory=list)
    data: Json | None = None
    details: list[str] = field(default_factory=list)  # lines for people, after the rest

    @property
    def is_error(self) -> bool:
        return self.status == "error"

    def rendered(self, full: bool) -> tuple[str, Json]:
        """The text, and the structured content, each within its limit."""
        structured, shrunk = self._structured(FULL_BYTES if full else STRUCTURED_BYTES, full)
        text, cut = self._text(full)
        structured["truncated"] = shrunk or cut
        return text, structured

    def _structured(self, most: int, full: bool) -> tuple[Json, bool]:
        content = _clean(
            {
                "status": self.status,
                "verdict": self.verdict,
                "numbers": [number.json() for number in self.numbers],
                "cure": self.cure.json() if self.cure else None,
                "cannot_say": self.cannot_say if full else self.cannot_say[:6],
                "next": [],
                "truncated": False,
                "data": self.data,
            },
            FULL_BYTES if full else _STRUCTURED_TEXT_MOST,
        )
        # A call whose arguments were cut would fail: it is whole, or left out.
        calls = [dict(call.__dict__) for call in self.next]
        kept = [call for call in calls if len(json.dumps(call)) <= most // 3]
        shrunk = (not full and len(self.cannot_say) > 6) or len(kept) < len(calls)
        while len(json.dumps(content)) + len(json.dumps(kept)) > most and _halve_longest(content):
            shrunk = True
        return {**content, "next": kept}, shrunk

    def _text(self, full: bool) -> tuple[str, bool]:
        lines = [("error: " if self.is_error else "") + self.verdict]
        lines += [f"  {number.text()}" for number in self.numbers]
        lines += self.cure.lines() if self.cure else []
        lines += [f"cannot say: {reason}" for reason in (self.cannot_say if full else self.cannot_say[:4])]
        most = FULL_BYTES if full else _TEXT_MOST
        lines = [clipped(printable(line), most) for line in lines]
        lines += [f"next: {call.tool} {json.dumps(call.arguments)}: {call.why}" for call in self.next]  # whole: it is to be called
        return _fitted(lines + [clipped(printable(line), most) for line in self.details], full)


def amount(value: float | None, unit: str) -> str:
    """A value as people read it: 552 us, 56.5 %, 29.4 MB, 31.5 M instructions."""
    value = _finite(value)
    if value is None:
        return "not measured"
    if unit == "ratio":
        return f"{_digits(value * 100)} %"
    if unit == "seconds":
        for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
            if abs(value) >= scale:
                return f"{_digits(value / scale)} {name}"
        return f"{_digits(value / 1e-9)} ns"
    short = _SHORT_UNITS.get(unit, f" {unit}".replace("_", " ")).removesuffix(" count")
    for scale, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= scale:
            return f"{_digits(value / scale)} {prefix}{short}".rstrip()
    return f"{_digits(value)} {short.lstrip()}".rstrip()


def printable(text: str) -> str:
    """On one line, without characters that steer a terminal or hide text: recordings are files of others."""
    shown = (c if c == " " or unicodedata.category(c)[0] not in "CZ" else " " for c in text.replace("\t", " "))
    return "".join(shown)


def clipped(text: str, most: int = _TEXT_MOST) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def _digits(value: float) -> str:
    if value == 0:
        return "0"
    places = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{min(places, 9)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _clean(value: Any, most: int, depth: int = 0) -> Any:
    """With short, printable texts and finite numbers."""
    if depth > _DEEPEST:
        return None
    if isinstance(value, str):
        return clipped("\n".join(printable(line) for line in value.split("\n")), most)
    if isinstance(value, float):
        return _finite(value)
    if isinstance(value, dict):
        return {str(name): _clean(part, most, depth + 1) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(part, most, depth + 1) for part in value]
    return value


def _halve_longest(content: Json) -> bool:
    """Cuts the list or text of the answer that takes the most room to half of it. False: nothing is left to cut."""
    best: tuple[int, Any, Any] = (64, None, None)
    places: list[Any] = [content]
    while places:
        place = places.pop()
        for key, part in list(place.items() if isinstance(place, dict) else enumerate(place)):
            if isinstance(part, (dict, list)):
                places.append(part)
            if (isinstance(part, list) and len(part) > 1) or isinstance(part, str):
                size = len(json.dumps(part))
                if size > best[0]:
                    best = (size, place, key)
    _, place, key = best
    if place is None:
        return False
    part = place[key]
    place[key] = part[: len(part) // 2] if isinstance(part, list) else clipped(part, max(len(part) // 2, 16))
    return True


def _fitted(lines: list[str], full: bool) -> tuple[str, bool]:
    most_lines, most_bytes = (1_000_000, FULL_BYTES) if full else (TEXT_LINES, TEXT_BYTES)
    size = 0
    for count, line in enumerate(lines):
        left = len(lines) - count
        note = f"({left} more lines" + ("" if full else "; full=true gives them") + ")"
        room_for_note = len(note) + 1 if left > 1 else 0
        needed = len(line.encode()) + 1
        if size + needed + room_for_note > most_bytes or (count == most_lines - 1 and left > 1):
            return "\n".join([*lines[:count], note]), True
        size += needed
    return "\n".join(lines), False
