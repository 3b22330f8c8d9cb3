"""The pytest plug-in: a test fails, with the gate's words, when a kernel exceeds its limits.

    @pytest.mark.fa_profile(max_share={"softmax": 0.4})
    def test_attention():
        attention(q, k, v)

The test is run in a child process under fa-profile, and what it recorded is judged. With ``recording="x.fap"`` the test
is run here, and that recording is judged. A test that takes the fixture ``fa_profile_gate`` judges recordings itself.
A test with the mark that nothing has judged fails.
docs/python.md has the details.
"""

from __future__ import annotations

import inspect
import os
import sys
import tempfile
from pathlib import Path as FilePath
from typing import Any, Callable, Mapping, NoReturn, Optional, Union

import pytest

from . import _child, profiling
from ._error import Error, NoGpuError
from .limits import Limits
from .recording import Path, Recording, _file, question

_CHILD_OUTCOME = "FA_PROFILE_PYTEST_OUTCOME"
_CHILD_SECONDS = "FA_PROFILE_PYTEST_SECONDS"
_LIMITS = ("max_share", "minimum", "maximum", "kernel", "shape")
_HELD_TO = (*_LIMITS, "baseline", "thresholds")
_MEASURED = ("ncu_set", "seconds", "options", "timeout")
_KNOWN = (*_HELD_TO, *_MEASURED, "recording", "strict")
_MARK = "@pytest.mark.fa_profile"
_JUDGED = pytest.StashKey[bool]()  # of a test: something was held to its limits
_PASSED = pytest.StashKey[bool]()

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
    given = {} if mark is None else _named_arguments_of(mark)
    defaults = {key: given[key] for key in (*_HELD_TO, "strict") if key in given}

    def judge(recording: Union[Recording, Path], **held_to: Any) -> None:
        __tracebackhide__ = True
        unknown = sorted(set(held_to) - {*_HELD_TO, "strict"})
        if unknown:
            raise TypeError(f"fa_profile_gate has no argument {unknown[0]}; it has {', '.join((*_HELD_TO, 'strict'))}")
        arguments = _resolved(request.node, {"recording": recording, **defaults, **held_to})
        _judge(request.node, arguments["recording"], arguments)

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
    arguments = _arguments_of(pyfuncitem, mark)
    if inspect.iscoroutinefunction(pyfuncitem.obj):
        _fail_unawaited()
    if "recording" in arguments:
        _call(pyfuncitem)
        _judge(pyfuncitem, arguments["recording"], arguments)
    else:
        with tempfile.TemporaryDirectory(prefix="fa-profile-") as folder:
            _judge(pyfuncitem, _measure(pyfuncitem, arguments, folder), arguments)
    return True


@pytest.hookimpl(trylast=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Comes here when the test has passed."""
    __tracebackhide__ = True
    item.stash[_PASSED] = True
    if not _takes_gate(item):
        _require_verdict(item, "make the test a function, or a method of a class without unittest.TestCase")


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Not before: a fixture may call the gate when it ends."""
    __tracebackhide__ = True
    if _takes_gate(item) and item.stash.get(_PASSED, False):
        _require_verdict(item, "call fa_profile_gate in the test, or take neither the fixture nor the mark")


def _takes_gate(item: pytest.Item) -> bool:
    return "fa_profile_gate" in getattr(item, "fixturenames", ())


def _require_verdict(item: pytest.Item, cure: str) -> None:
    __tracebackhide__ = True
    is_marked = item.get_closest_marker("fa_profile") is not None and _CHILD_OUTCOME not in os.environ
    if is_marked and not item.stash.get(_JUDGED, False):
        pytest.fail(f"{_MARK} had no effect, nothing was judged: {cure}", pytrace=False)


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
    result = item.obj(**{name: item.funcargs[name] for name in names})
    if inspect.isgenerator(result) or inspect.isasyncgen(result) or inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        _fail_unawaited()


def _fail_unawaited() -> NoReturn:
    __tracebackhide__ = True
    pytest.fail(f"{_MARK} cannot call an async function or a generator: make the test a plain function", pytrace=False)


def _arguments_of(item: pytest.Item, mark: pytest.Mark) -> dict[str, Any]:
    """Those of the mark, checked as far as it goes before anything is measured."""
    __tracebackhide__ = True
    given = _named_arguments_of(mark)
    if not any(key in given for key in ("max_share", "minimum", "maximum", "thresholds", "baseline")):
        pytest.fail(f"{_MARK} has no limit: give max_share, minimum, maximum, thresholds or baseline", pytrace=False)
    arguments = _resolved(item, given)
    try:
        if "recording" in arguments and not isinstance(arguments["recording"], Recording):
            _file(arguments["recording"], "a recording")
        profiling.check(**{key: arguments[key] for key in _MEASURED if key in arguments})
        files, _, _ = question(arguments.get("baseline"), arguments.get("thresholds"), _limits_of(arguments), *_place_of(item))
        for file in files:
            if not os.path.exists(file):
                raise Error(f"{os.fsdecode(file)} cannot be read: No such file or directory", "check the path of the baseline")
    except Error as error:
        _fail(error)
    return arguments


def _limits_of(arguments: Mapping[str, Any]) -> Limits:
    return Limits(**{key: arguments[key] for key in _LIMITS if key in arguments})


def _named_arguments_of(mark: pytest.Mark) -> Mapping[str, Any]:
    __tracebackhide__ = True
    if mark.args:
        pytest.fail(f"{_MARK} takes its arguments by name: max_share={{'softmax': 0.4}}", pytrace=False)
    for key in mark.kwargs:
        if key not in _KNOWN:
            pytest.fail(f"{_MARK} has no argument {key}; it has {', '.join(_KNOWN)}", pytrace=False)
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
            resolved[key] = [found(path) if isinstance(path, (str, os.PathLike)) else path for path in value]
    return resolved


def _place_of(item: pytest.Item) -> tuple[str, int]:
    """The file and line that a broken limit is reported at."""
    file, line, _ = item.location
    return file, (line or 0) + 1


def _judge(item: pytest.Item, recording: Union[Recording, Path], arguments: Mapping[str, Any]) -> None:
    __tracebackhide__ = True
    try:
        opened = recording if isinstance(recording, Recording) else Recording(recording)
        held_to = (arguments.get("baseline"), arguments.get("thresholds"), _limits_of(arguments))
        verdict = opened._judge(*held_to, *_place_of(item))
    except Error as error:
        _fail(error)
    item.stash[_JUDGED] = True
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
