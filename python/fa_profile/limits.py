"""Limits given as arguments, as the rules of a threshold file: the gate's own reader checks and applies them."""

from __future__ import annotations

import json
import math
import numbers
import re
from collections.abc import Mapping
from typing import NamedTuple, Optional

from ._error import Error


_EXAMPLES = {
    "max_share": '{"softmax": 0.4}',
    "minimum": '{"tensor_core_utilization_ratio": 0.5}',
    "maximum": '{"registers_per_thread": 128}',
}


class Limits(NamedTuple):
    max_share: Optional[Mapping[str, float]] = None
    minimum: Optional[Mapping[str, float]] = None
    maximum: Optional[Mapping[str, float]] = None
    kernel: str = "*"
    shape: str = "*"

    def to_yaml(self, line: int = 1) -> str:
        """A threshold file with one line of rules, which is line number `line`. Empty: there is no limit."""
        for key, example in _EXAMPLES.items():
            given = getattr(self, key)
            if given is not None and not isinstance(given, Mapping):
                raise Error(f"{key} must be a mapping from names to limits, not {given!r}", f"write {key}={example}")
        rules = [self._rule(f"{phase}/phase_time_ratio", "maximum", most) for phase, most in (self.max_share or {}).items()]
        rules += [self._rule(name, "minimum", least) for name, least in (self.minimum or {}).items()]
        rules += [self._rule(name, "maximum", most) for name, most in (self.maximum or {}).items()]
        return "\n" * (line - 1) + "{version: 1, rules: [" + ", ".join(rules) + "]}\n" if rules else ""

    def _rule(self, name: str, demand: str, value: float) -> str:
        phase, _, metric = name.rpartition("/")
        parts = {"kernel": self.kernel, "shape": self.shape, "phase": phase, "metric": metric}
        texts = [f"{key}: {_quoted(key, text)}" for key, text in parts.items() if text]
        return "{" + ", ".join([*texts, f"{demand}: {_number(name, value)}"]) + "}"


def in_python(error: Error, place: str, line: int) -> Error:
    """An error of limits that were given as arguments: these have no column, and a share is not written as 40%."""
    message = re.sub(rf"^({re.escape(f'{place}:{line}')}):\d+: ", r"\1: ", error.message)
    if "%" not in error.hint:
        return Error(message, error.hint)
    percent = re.fullmatch(r"did you mean (\S+)%\?", error.hint)
    share = float(percent[1]) / 100 if percent else 1.0
    return Error(message, f"did you mean {share:g}?" if share < 1.0 else "write a share from 0 to 1, as 0.4")


def _quoted(key: str, text: str) -> str:
    if not isinstance(text, str):
        raise Error(f"{key} is not a text: {text!r}", "give a name, or a pattern with * and ?")
    return json.dumps(text, ensure_ascii=False)


def _number(name: str, value: float) -> str:
    """As the threshold file spells it; a time has its unit there."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise Error(f"the limit of {name} is not a number: {value!r}", "give a number in the metric's unit, a share as 0.4")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if name.endswith("_seconds") and 0 < number < math.inf:
        return f"{number * 1e9:.6f}".rstrip("0").rstrip(".") + "ns"
    return repr(value) if type(value) is int else repr(number)
