"""NVTX ranges, by which fa-profile, Nsight Systems and other tools group GPU work."""

from __future__ import annotations

import contextlib
from types import TracebackType
from typing import Optional

from . import _core


class Range(contextlib.ContextDecorator):
    """A push/pop range of the calling thread, from `with` to its end; as a decorator, around each call.

    Without `domain` it is in NVTX's default domain, like those of ``torch.cuda.nvtx``: they nest. Where no tool listens
    it does nothing.
    """

    def __init__(self, name: str, *, domain: Optional[str] = None) -> None:
        self.name = _text("name", name)
        self.domain = None if domain is None else _text("domain", domain)

    def __enter__(self) -> Range:
        _core.range_push(self.name, self.domain)
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        _core.range_pop(self.domain)


def _text(what: str, text: str) -> str:
    """As UTF-8 can have it."""
    if not isinstance(text, str):
        raise TypeError(f"the {what} of an NVTX range must be a str, not {type(text).__name__}: {text!r}")
    return text.encode(errors="backslashreplace").decode()


def range(name: str, *, domain: Optional[str] = None) -> Range:  # noqa: A001
    """``with fa_profile.range("attention"): ...`` or ``@fa_profile.range("attention")``; see Range."""
    return Range(name, domain=domain)
