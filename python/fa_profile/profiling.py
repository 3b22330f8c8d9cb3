"""Profiles of Python functions: the program fa-profile runs them in a child process."""

from __future__ import annotations

import json
import math
import numbers
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path as FilePath
from typing import IO, Any, Callable, Mapping, Optional, Sequence

from . import _core
from ._error import Error, NoGpuError
from .recording import Path, Recording

_INSTALL = "install fa-profile (docs/install.md), and name it with FA_PROFILE=/path/to/fa-profile or put it on PATH"
_IN_CHILD = "FA_PROFILE_IN_CHILD"
_GRACE_SECONDS = 30.0  # for a program that was asked to end


def find_program() -> str:
    """The program fa-profile: that of the variable FA_PROFILE; else the one beside this package, in a build folder; else
    the one on PATH. Raises NoGpuError where there is none."""
    named = os.environ.get("FA_PROFILE")
    if named:
        found = shutil.which(named)
        if found is None:
            raise Error(f"FA_PROFILE is {named}, which is not a program that can be run", "correct it or unset it")
        return found
    folder = FilePath(__file__).resolve().parent
    for beside in (folder / "bin" / "fa-profile", folder.parents[1] / "cli" / "fa-profile"):
        if os.access(beside, os.X_OK) and beside.is_file():
            return str(beside)
    found = shutil.which("fa-profile")
    if found is None:
        raise NoGpuError("the program fa-profile was not found, and only it measures", _INSTALL)
    return found


def profile(
    function: Callable[..., object],
    *,
    args: Sequence[Any] = (),
    kwargs: Optional[Mapping[str, Any]] = None,
    ncu_set: str = "full",
    seconds: float = 5.0,
    output: Optional[Path] = None,
    options: Sequence[str] = (),
    program: Optional[str] = None,
    timeout: Optional[float] = None,
) -> Recording:
    """Runs `function` in a child process under the program fa-profile, and returns what it recorded.

    Counters are measured over repetitions, so the function is called again and again for `seconds`, and the GPU is
    waited for after each call; 0: one call. `ncu_set`: "basic", "detailed", "full", "roofline" or "phases". `options`:
    more options of fa-profile, like ``["--kernel", "flash", "--replay", "kernel"]``. `output`: a file for the
    recording; without one it is deleted with the Recording, unless ``save()`` copies it. `program`: instead of
    ``find_program()``. `timeout`: seconds after which the child is ended, and Error raised.

    The function and its arguments go to the child by pickle: a function of a module or of the script that runs. With
    cloudpickle installed also a lambda, a closure, or a function of a notebook. The child imports the script as
    multiprocessing does: what it does at its top level is done again, unless ``if __name__ == "__main__"`` guards it.

    Raises NoGpuError where there is no GPU or no program, and Error where the function fails or nothing was launched.
    """
    if _IN_CHILD in os.environ:
        raise Error(
            "profile() was called in the child process of profile()",
            "the child imports the script: guard what it runs with if __name__ == '__main__':",
        )
    check(ncu_set=ncu_set, seconds=seconds, options=options, timeout=timeout)
    with tempfile.TemporaryDirectory(prefix="fa-profile-") as folder:
        payload = FilePath(folder, "payload")
        outcome = FilePath(folder, "outcome.json")
        payload.write_bytes(_payload(function, tuple(args), dict(kwargs or {}), seconds, str(outcome)))
        keep: Optional[tempfile.TemporaryDirectory[str]] = None
        if output is None:
            keep = tempfile.TemporaryDirectory(prefix="fa-profile-")
            output = os.path.join(keep.name, "profile.fap")
        path = os.fspath(output)
        command = [sys.executable, "-m", "fa_profile._child", str(payload)]
        streams = (os.dup(1), os.dup(2))  # the child's own, as they are here: fa-profile's go elsewhere
        try:
            code, text = _run(
                command,
                path,
                ncu_set=ncu_set,
                options=options,
                program=program,
                timeout=timeout,
                environment={"FA_PROFILE_CHILD_STREAMS": f"{streams[0]},{streams[1]}"},
                pass_fds=streams,
            )
        finally:
            for stream in streams:
                os.close(stream)
        failure = _outcome(outcome).get("error")
        if failure is not None:
            raise Error(f"the function failed: {failure}", "run it without profile() first")
        if code != 0:
            raise _error_of(text, code)
        recording = Recording(path)
        recording._keep = keep
        return recording


def check(*, ncu_set: str = "full", seconds: float = 5.0, options: Sequence[str] = (), timeout: Optional[float] = None) -> None:
    """Raises Error for what cannot be measured with, whatever the machine."""
    sets = _core.metric_sets()
    if ncu_set not in sets:
        raise Error(f"unknown ncu_set {ncu_set!r}", f"use one of {', '.join(sets)}")
    for name, value, example in (("seconds", seconds, "5.0"), ("timeout", timeout, "600.0")):
        is_number = isinstance(value, numbers.Real) and not isinstance(value, bool) and 0 <= value < math.inf
        if not is_number and not (name == "timeout" and value is None):
            raise Error(f"{name} is not a number of seconds: {value!r}", f"give a number from 0 on, as {name}={example}")
    if isinstance(options, str) or not all(isinstance(option, str) for option in _listed(options)):
        raise Error(f"options are not a list of texts: {options!r}", 'give a list, as options=["--kernel", "flash"]')


def _listed(options: object) -> list[object]:
    return list(options) if isinstance(options, (list, tuple)) else [options]


def _payload(
    function: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any], seconds: float, outcome: str
) -> bytes:
    if not callable(function):
        raise Error(f"{function!r} cannot be called", "give a function")
    return pickle.dumps(
        {
            "main": _main_script(),
            "seconds": float(seconds),
            "outcome": outcome,
            "call": _pickled((function, args, kwargs)),
        }
    )


def _main_script() -> Optional[tuple[str, str]]:
    """("module", name) or ("path", file): what runs as __main__ here. None: a notebook, a prompt, or the program of a
    package (python -m pytest), which nothing guards."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return None if spec.name.endswith("__main__") else ("module", spec.name)
    file: str = getattr(main, "__file__", None) or ""
    is_script = os.path.isfile(file) and os.path.basename(file) != "ipython"
    return ("path", os.path.abspath(file)) if is_script else None


def _pickled(call: tuple[Callable[..., object], tuple[Any, ...], dict[str, Any]]) -> bytes:
    reason: Exception
    if getattr(call[0], "__module__", None) != "__main__" or _main_script() is not None:
        try:
            return pickle.dumps(call)
        except Exception as error:  # whatever a type's __reduce__ raises
            reason = error
    else:
        reason = pickle.PicklingError("it was defined in a notebook or at a prompt")
    try:
        import cloudpickle
    except ImportError:
        raise Error(
            f"{call[0]!r} and its arguments cannot be handed to a child process: {reason}",
            "use a function at the top level of a module, or install cloudpickle",
        ) from reason
    return bytes(cloudpickle.dumps(call))


def _run(
    command: Sequence[str],
    output: str,
    *,
    ncu_set: str,
    options: Sequence[str],
    program: Optional[str],
    timeout: Optional[float],
    environment: Mapping[str, str],
    pass_fds: Sequence[int] = (),
    cwd: Optional[str] = None,
) -> tuple[int, str]:
    """Runs `command` under fa-profile. Returns fa-profile's exit code, and the end of what both printed."""
    arguments = [program or find_program(), "--ncu-set", ncu_set, "--exit-code", "report", "-o", output, *options]
    python_path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    variables = {**os.environ, **environment, _IN_CHILD: "1", "PYTHONPATH": python_path}
    with tempfile.TemporaryFile() as log:
        try:
            process = subprocess.Popen(
                [*arguments, "--", *command], stdout=log, stderr=log, env=variables, pass_fds=pass_fds, cwd=cwd
            )
        except OSError as error:
            raise Error(f"{arguments[0]} cannot be started: {error.strerror}", _INSTALL) from error
        code = _wait(process, timeout)
        return code, _text_of(log)


def _wait(process: subprocess.Popen[bytes], timeout: Optional[float]) -> int:
    try:
        return process.wait(timeout)
    except BaseException as error:
        process.terminate()  # fa-profile passes it on, and ends when the program has
        try:
            process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            raise Error(f"it took longer than {timeout:g} s", "give a longer timeout, or fewer seconds") from None
        raise


def _text_of(log: IO[bytes], most: int = 64 * 1024) -> str:
    log.seek(0, os.SEEK_END)
    log.seek(max(log.tell() - most, 0))
    return log.read().decode(errors="replace")


def _outcome(path: FilePath) -> dict[str, Any]:
    """What the child wrote (_child.py); empty: it did not come as far."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def _error_of(text: str, code: int) -> Error:
    """The error that fa-profile printed, as an Error."""
    found = re.search(r"^fa-profile: error: (.*)(?:\n  hint: (.*))?", text, re.MULTILINE)
    if found is None:
        last = text.strip().splitlines()[-1:] or ["it printed nothing"]
        return Error(f"fa-profile ended with exit code {code}: {last[0]}", "run fa-profile doctor")
    message, hint = found.group(1), found.group(2) or ""
    return (NoGpuError if " needs a GPU" in message else Error)(message, hint)
