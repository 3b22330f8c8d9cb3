"""The pytest plug-in: a test fails, with the gate's words, when a kernel exceeds its limits.

    @pytest.mark.fa_profile(max_share={"softmax": 0.4})
    def test_attention():
        attention(q, k, v)

The test is run in a child process under fa-profile, and what it recorded is judged. With ``recording="x.fap"`` the test
is run here, and that recording is judged. A test that takes the fixture ``fa_profile_gate`` judges recordings itself.
docs/python.md has the details.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path as FilePath
from typing import Any, Callable, Mapping, NoReturn, Optional, Union

import pytest

from . import _child, profiling
from ._error import Error, NoGpuError
from .limits import Limits
from .recording import Path, PathList, Recording

_CHILD_OUTCOME = "FA_PROFILE_PYTEST_OUTCOME"
_CHILD_SECONDS = "FA_PROFILE_PYTEST_SECONDS"
_LIMITS = ("max_share", "minimum", "maximum", "kernel", "shape")
_HELD_TO = (*_LIMITS, "baseline", "thresholds")
_MEASURED = ("ncu_set", "seconds", "options", "timeout")
_KNOWN = (*_HELD_TO, *_MEASURED, "recording", "strict")
_MARK = "@pytest.mark.fa_profile"

Gate = Callable[..., None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("fa-profile").addoption(
        "--fa-profile-no-gpu",
        choices=("skip", "fail"),
        default="skip",
        help="what becomes of a test that fa-profile has to measure, without a GPU (default skip)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "fa_profile(max_share, minimum, maximum, kernel, shape, thresholds, baseline, recording, ncu_set, seconds, "
        "options, timeout, strict): profile the test, or judge a recording, and fail with the gate's words",
    )


@pytest.fixture
def fa_profile_gate(request: pytest.FixtureRequest) -> Gate:
    """Judges a recording: ``fa_profile_gate("x.fap", max_share={"softmax": 0.4})``. The mark's limits are defaults."""
    mark = request.node.get_closest_marker("fa_profile")
    defaults = {} if mark is None else {key: mark.kwargs[key] for key in (*_HELD_TO, "strict") if key in mark.kwargs}
    place, line = _place_of(request.node)

    def judge(recording: Union[Recording, Path], **held_to: Any) -> None:
        __tracebackhide__ = True
        unknown = sorted(set(held_to) - {*_HELD_TO, "strict"})
        if unknown:
            raise TypeError(f"fa_profile_gate has no argument {unknown[0]}; it has {', '.join((*_HELD_TO, 'strict'))}")
        arguments = _resolved(request.node, {"recording": recording, **defaults, **held_to})
        _judge(arguments["recording"], arguments, place, line)

    return judge


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Optional[bool]:
    __tracebackhide__ = True
    outcome = os.environ.get(_CHILD_OUTCOME)
    if outcome is not None:
        _call_below(pyfuncitem, outcome)
        return True
    mark = pyfuncitem.get_closest_marker("fa_profile")
    if mark is None or "fa_profile_gate" in pyfuncitem.fixturenames:
        return None
    arguments = _resolved(pyfuncitem, _arguments_of(mark))
    place, line = _place_of(pyfuncitem)
    if "recording" in arguments:
        _call(pyfuncitem)
        _judge(arguments["recording"], arguments, place, line)
    else:
        with tempfile.TemporaryDirectory(prefix="fa-profile-") as folder:
            _judge(_measure(pyfuncitem, arguments, folder), arguments, place, line)
    return True


def _call_below(item: pytest.Function, outcome: str) -> None:
    """The test in the child process. A test that fails leaves no outcome: the parent shows what pytest printed."""
    __tracebackhide__ = True
    try:
        calls = _child.repeat(lambda: _call(item), float(os.environ[_CHILD_SECONDS]))
    except pytest.skip.Exception as skipped:
        _child.write_outcome(outcome, skipped=str(skipped))
        raise
    _child.write_outcome(outcome, calls=calls)


def _call(item: pytest.Function) -> None:
    __tracebackhide__ = True
    names = item._fixtureinfo.argnames
    item.obj(**{name: item.funcargs[name] for name in names})


def _arguments_of(mark: pytest.Mark) -> Mapping[str, Any]:
    __tracebackhide__ = True
    if mark.args:
        pytest.fail(f"{_MARK} takes its arguments by name: max_share={{'softmax': 0.4}}", pytrace=False)
    for key in mark.kwargs:
        if key not in _KNOWN:
            pytest.fail(f"{_MARK} has no argument {key}; it has {', '.join(_KNOWN)}", pytrace=False)
    if not any(key in mark.kwargs for key in ("max_share", "minimum", "maximum", "thresholds", "baseline")):
        pytest.fail(f"{_MARK} has no limit: give max_share, minimum, maximum, thresholds or baseline", pytrace=False)
    return mark.kwargs


def _resolved(item: pytest.Item, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """With paths from the test's file on, or else from the folder where pytest was started."""

    def found(path: Path) -> Path:
        beside = item.path.parent / path
        return beside if beside.exists() else item.config.invocation_params.dir / path

    resolved = dict(arguments)
    for key in ("recording", "baseline", "thresholds"):
        value = arguments.get(key)
        if isinstance(value, (str, os.PathLike)):
            resolved[key] = found(value)
        elif isinstance(value, (list, tuple)):
            resolved[key] = [found(path) for path in value]
    return resolved


def _place_of(item: pytest.Item) -> tuple[str, int]:
    """The file and line that a broken limit is reported at."""
    file, line, _ = item.location
    return file, (line or 0) + 1


def _judge(recording: Union[Recording, Path], arguments: Mapping[str, Any], place: str, line: int) -> None:
    __tracebackhide__ = True
    try:
        opened = recording if isinstance(recording, Recording) else Recording(recording)
        limits = Limits(**{key: arguments[key] for key in _LIMITS if key in arguments})
        baseline: Optional[PathList] = arguments.get("baseline")
        verdict = opened._judge(baseline, arguments.get("thresholds"), limits, place, line)
    except Error as error:
        _fail(error)
    if verdict.exit_code(strict=bool(arguments.get("strict", False))) != 0:
        pytest.fail(verdict.brief(), pytrace=False)


def _measure(item: pytest.Function, arguments: Mapping[str, Any], folder: str) -> Recording:
    """Runs the test alone in a pytest below fa-profile."""
    __tracebackhide__ = True
    outcome = FilePath(folder, "outcome.json")
    output = os.path.join(folder, "test.fap")
    node = str(item.path) + item.nodeid[item.nodeid.find("::") :]
    command = [sys.executable, "-m", "pytest", node, "--rootdir", str(item.config.rootpath), "-p", "no:cacheprovider"]
    command += ["-q", "--no-header", "-o", "addopts=", "-p", __name__]
    if item.config.inipath is not None:
        command += ["-c", str(item.config.inipath)]
    try:
        code, text = profiling._run(
            command,
            output,
            ncu_set=arguments.get("ncu_set", "full"),
            options=arguments.get("options", ()),
            program=None,
            timeout=arguments.get("timeout"),
            environment={_CHILD_OUTCOME: str(outcome), _CHILD_SECONDS: str(float(arguments.get("seconds", 5.0)))},
            cwd=str(item.config.invocation_params.dir),
        )
        ended = profiling._outcome(outcome)
        if "skipped" in ended:
            pytest.skip(ended["skipped"])
        problem = profiling._error_of(text, code) if code != 0 else None
        if problem is not None and (ended or isinstance(problem, NoGpuError)):
            raise problem
        if not ended:
            pytest.fail(f"the test failed below fa-profile:\n{text}", pytrace=False)
        return Recording(output)
    except NoGpuError as error:
        if item.config.getoption("--fa-profile-no-gpu") == "skip":
            pytest.skip(f"{error.message} ({error.hint})")
        _fail(error)
    except Error as error:
        _fail(error)


def _fail(error: Error) -> NoReturn:
    __tracebackhide__ = True
    # Not pytest.fail(): pytest would print the error that is being handled, too.
    raise pytest.fail.Exception(f"fa-profile: {error}", pytrace=False) from None
