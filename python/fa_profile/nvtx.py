"""NVTX ranges, by which fa-profile, Nsight Systems and other tools group GPU work."""

from __future__ import annotations

import contextlib
import inspect
import threading
from types import TracebackType
from typing import Any, Callable, Optional, TypeVar

from . import _core


_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Thread(threading.local):
    """The ranges that a thread is in."""

    def __init__(self) -> None:
        self.entered: list[Range] = []


_thread = _Thread()


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
        _thread.entered.append(self)
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if self not in _thread.entered:
            raise RuntimeError(f"the NVTX range {self.name!r} ends where it did not begin; write it as with fa_profile.range(...):")
        _thread.entered.remove(self)
        _core.range_pop(self.domain)

    def __call__(self, func: _Function) -> _Function:
        if inspect.iscoroutinefunction(func) or inspect.isgeneratorfunction(func) or inspect.isasyncgenfunction(func):
            raise TypeError(
                f"an NVTX range cannot mark {func.__qualname__}, which is suspended while other functions of its thread run; "
                f"inside it write with fa_profile.range({self.name!r}): around a part without await or yield"
            )
        return super().__call__(func)


def _text(what: str, text: str) -> str:
    """As UTF-8 can have it."""
    if not isinstance(text, str):
        raise TypeError(f"the {what} of an NVTX range must be a str, not {type(text).__name__}: {text!r}")
    return text.encode(errors="backslashreplace").decode()


def range(name: str, *, domain: Optional[str] = None) -> Range:  # noqa: A001
    """``with fa_profile.range("attention"): ...`` or ``@fa_profile.range("attention")``; see Range."""
    return Range(name, domain=domain)
