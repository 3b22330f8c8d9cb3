"""Recordings, their differences, and the gate's verdict on them."""

from __future__ import annotations

import builtins
import functools
import html
import os
import shutil
import tempfile
from typing import Any, Mapping, Optional, Sequence, Union

from . import _core
from ._error import Error
from .frame import Frame, printable
from .limits import Limits, in_python

Path = Union[str, "os.PathLike[str]"]
PathList = Union[Path, Sequence[Path]]
Values = Mapping[str, float]

_KERNEL_COLUMNS = ("kernel", "part", "shape", "duration_ns", "bottleneck", "findings")
_PROGRAM_COLUMNS = ("kernel", "share_ratio", "gpu_time_ns", "launches", "duration_ns", "bottleneck", "findings")


def open(path: Path, *, phase_map: Optional[Path] = None, phase_from: str = "best") -> Recording:  # noqa: A001
    """Reads a recording (``*.fap``). Nothing of CUDA is needed.

    `phase_map`: a YAML file that assigns code to phases (docs/phase-map.md). `phase_from`: where phases come from,
    "best", "map", "functions", "code" or "opcodes", as the option ``--phase-from`` of fa-profile has it.
    Raises Error where the file is missing, damaged or of a newer version.
    """
    return Recording(path, phase_map=phase_map, phase_from=phase_from)


class Recording:
    """What a run measured, and what is concluded from it. ``print(recording.report())`` prints all of it."""

    def __init__(self, path: Path, *, phase_map: Optional[Path] = None, phase_from: str = "best") -> None:
        if not isinstance(phase_from, str):
            raise Error(f"phase_from is not a text: {phase_from!r}", "use best, map, functions, code or opcodes")
        given_map = None if phase_map is None else _file(phase_map, "a phase map")
        self._core = _core.open(_file(path, "a recording"), given_map, phase_from)
        self.path = os.fspath(path)
        self._keep: object = None  # what has to live as long as the file

    @property
    def device(self) -> dict[str, Union[str, int, None]]:
        """The GPU and its driver: name, chip, uuid, sm_count, driver_version, ..."""
        return self._core.device()

    @property
    def session(self) -> dict[str, Union[str, bool, None]]:
        """How and when it was measured: created_at, command_line, metric_set, replay_mode, ..."""
        return self._core.session()

    @property
    def program(self) -> Optional[dict[str, Union[int, float, None]]]:
        """Of a watched program: how long it was watched, how busy the GPU was. None: another recording."""
        return self._core.program()

    @functools.cached_property
    def kernels(self) -> Frame:
        """One row per kernel, shape and part: times, launches, findings, then each metric of docs/metrics.md."""
        return Frame._of_core(self._core.kernels())

    @functools.cached_property
    def phases(self) -> Frame:
        """One row per phase of a kernel: its share of the time, its worst stall, what its instructions did."""
        return Frame._of_core(self._core.phases())

    @functools.cached_property
    def metrics(self) -> Frame:
        """One row per metric of a kernel or phase (absent: the whole kernel), with its unit and better direction."""
        return Frame._of_core(self._core.metrics())

    @functools.cached_property
    def findings(self) -> Frame:
        """One row per finding: its evidence, its cure, and the share of the kernel's time that it is about."""
        return Frame._of_core(self._core.findings())

    @functools.cached_property
    def timeline(self) -> Frame:
        """One row per sample of a metric over the time of a call, of a run with --timeline; start_ns counts from the
        first activity of the launch that the metric was sampled in."""
        return Frame._of_core(self._core.timeline())

    @functools.cached_property
    def nvtx(self) -> Frame:
        """One row per NVTX range of a watched program, a range before those nested in it."""
        return Frame._of_core(self._core.nvtx())

    @functools.cached_property
    def layers(self) -> Frame:
        """One row per layer of a watched program and kernel that it launches, most time first. A layer: NVTX ranges whose
        paths differ in numbers alone, ``net / layers.* / mlp``; without the ranges nested in it."""
        return Frame._of_core(self._core.layers())

    @functools.cached_property
    def memory(self) -> Frame:
        """One row per kind of copies and sets of a watched program."""
        return Frame._of_core(self._core.memory())

    @functools.cached_property
    def losses(self) -> Frame:
        """One row for each thing that could not be measured, with the reason."""
        return Frame._of_core(self._core.losses())

    def diff(self, other: Union[Recording, Path], *, min_ratio: float = 0.02) -> Diff:
        """What changed from this recording to `other`. A noisy metric that moved by less than `min_ratio` is the same."""
        after = other if isinstance(other, Recording) else Recording(other)
        return Diff(self._core.diff(after._core, min_ratio), self.path, after.path)

    def report(self, format: str = "text", *, width: int = 100) -> str:  # noqa: A002
        """The report as ``fa-profile report`` prints it; `format`: "text", "json",
        "jsonl" or "csv"."""
        return self._core.report(format, width)

    def gate(
        self,
        baseline: Optional[PathList] = None,
        *,
        thresholds: Optional[Path] = None,
        max_share: Optional[Values] = None,
        minimum: Optional[Values] = None,
        maximum: Optional[Values] = None,
        kernel: str = "*",
        shape: str = "*",
    ) -> Verdict:
        """The verdict of ``fa-profile gate`` on this recording.

        `baseline`: recordings or evidence to compare with, or a promoted baseline; without one the limits alone count.
        `thresholds`: a threshold file (docs/gate.md). Or limits as arguments, of the kernels and shapes that match:
        `max_share` of a phase's time, like ``{"softmax": 0.4}``; `minimum` and `maximum` of a metric in its unit, like
        ``{"registers_per_thread": 128}``, of a phase ``{"softmax/phase_instructions": 1e6}``.
        Raises Error where there can be no verdict: no limit, an unknown metric, a limit that matches no kernel.
        """
        limits = Limits(max_share, minimum, maximum, kernel, shape)
        return self._judge(baseline, thresholds, limits, "fa_profile.gate", 1)

    def _judge(
        self, baseline: Optional[PathList], thresholds: Optional[Path], limits: Limits, place: str, line: int
    ) -> Verdict:
        files, text, name = question(baseline, thresholds, limits, place, line)
        try:
            return Verdict(_core.gate(os.fsencode(self.path), files, text, name), self.path)
        except Error as error:
            raise (in_python(error, place, line) if thresholds is None else error) from None

    def save(self, path: Path, *, force: bool = False) -> None:
        """Copies the recording's file. That of ``profile()`` is deleted with the Recording, unless it has a name.

        An existing file is replaced with `force` only.
        """
        name = os.fspath(path)
        _file(name, "the copy")
        folder = os.path.dirname(name) or "."
        if not os.path.isdir(folder):
            raise Error(f"{name} cannot be written: folder {folder} not found", f"make it first, with os.makedirs({folder!r})")
        if os.path.isdir(name):
            raise Error(f"{name} is a folder", "give the name of a file in it")
        if os.path.exists(name) and os.path.samefile(name, self.path):
            return
        if os.path.lexists(name) and not force:
            raise Error(f"{name} exists", "give another name, or force=True to replace it")
        try:
            _copy(self.path, name)
        except OSError as error:
            raise Error(f"{name} cannot be written: {error.strerror}", "give a file in a folder that is writable") from error

    def __repr__(self) -> str:
        return f"<fa_profile.Recording {self.path!r}: {self._summary()}>"

    def _summary(self) -> str:
        count = len(self.kernels)
        facts = [str(self.device["name"] or "unknown GPU"), f"{count} row{'' if count == 1 else 's'} of kernels"]
        if self.session["created_at"]:
            facts.insert(1, str(self.session["created_at"]))
        return printable(", ".join(facts))

    def _repr_html_(self) -> str:
        if self.program is None:
            table = self.kernels[list(_KERNEL_COLUMNS)]
        else:
            table = self.kernels.sort_values("share_ratio", ascending=False)[list(_PROGRAM_COLUMNS)]
        losses = f"<p>What could not be measured: {len(self.losses)}, in <code>.losses</code></p>" if len(self.losses) else ""
        title = f"<b>{_name_in_html(self.path)}</b> {html.escape(self._summary())}"
        return f"<div><p>{title}</p>{table._repr_html_()}{losses}</div>"


class Diff:
    """What changed between two recordings. ``print(diff)`` prints it as ``fa-profile diff`` does."""

    def __init__(self, core: _core.Difference, before: str, after: str) -> None:
        self._core = core
        self.before = before
        self.after = after

    @functools.cached_property
    def changes(self) -> Frame:
        """One row per metric: before, after, change_ratio, and a judgement: better, worse, same, changed, new, gone."""
        return Frame._of_core(self._core.changes())

    @functools.cached_property
    def waits(self) -> Frame:
        """One row per place where warps wait for asynchronous work, with both sides' times, cycles and share of the warps'
        time. cost_ratio: cycles waited more, of those of all warps before. The judgement is better, worse, new, gone, or
        same, below 0.01."""
        return Frame._of_core(self._core.waits())

    @functools.cached_property
    def findings(self) -> Frame:
        """One row per finding that one side has. The judgement is new or gone."""
        return Frame._of_core(self._core.findings())

    @property
    def incomparable(self) -> list[str]:
        """Reasons why the two cannot be compared: another GPU, driver, metric set."""
        return self._core.incomparable()

    @property
    def notes(self) -> list[str]:
        """What the judgements allow for: two cards of one model."""
        return self._core.notes()

    @property
    def only_before(self) -> list[str]:
        """Kernels that only the first recording has."""
        return self._core.only_before()

    @property
    def only_after(self) -> list[str]:
        """Kernels that only the second recording has."""
        return self._core.only_after()

    @property
    def moved(self) -> Frame:
        """The changes that are not "same"."""
        return self.changes._rows(self.changes["judgement"] != "same")

    def __str__(self) -> str:
        return self._core.text()

    def __repr__(self) -> str:
        return f"<fa_profile.Diff {self.before!r} -> {self.after!r}: {len(self.moved)} of {len(self.changes)} moved>"

    def _repr_html_(self) -> str:
        reasons = "".join(f"<p>cannot be compared: {html.escape(printable(one))}</p>" for one in self.incomparable)
        reasons += "".join(f"<p>note: {html.escape(printable(one))}</p>" for one in self.notes)
        names = f"{_name_in_html(self.before)} &rarr; {_name_in_html(self.after)}"
        return f"<div><p><b>{names}</b></p>{reasons}{self.moved._repr_html_()}</div>"


class Verdict:
    """The gate's verdict. ``print(verdict)`` prints it as ``fa-profile gate`` does."""

    def __init__(self, core: _core.GateResult, candidate: str) -> None:
        self._core = core
        self.candidate = candidate

    @property
    def verdict(self) -> str:
        """PASS, IMPROVED, MISSING, SUSPECT, INCONCLUSIVE, INCOMPARABLE or REGRESSION (docs/gate-reference.md)."""
        return self._core.verdict()

    @property
    def passed(self) -> bool:
        """The gate's exit code would be 0: there is no regression."""
        return self.exit_code() == 0

    def exit_code(self, *, strict: bool = False) -> int:
        """0, 1 of a regression; with `strict` 3 of an unclear verdict."""
        return self._core.exit_code(strict)

    @property
    def headline(self) -> str:
        return self._core.headline()

    @functools.cached_property
    def cases(self) -> Frame:
        """One row per kernel and shape, the worst first: kernel, shape, verdict, headline."""
        columns = list(zip(*self._core.cases())) or [(), (), (), ()]
        names = ("kernel", "shape", "verdict", "headline")
        return Frame._of_core([(name, "text", [cell or None for cell in cells]) for name, cells in zip(names, columns)])

    def json(self) -> str:
        """As docs/gate.schema.json has it."""
        return self._core.json()

    def brief(self) -> str:
        """The text without the cases that passed, unless all did."""
        return self._core.text(True)

    def __str__(self) -> str:
        return self._core.text(False)

    def __repr__(self) -> str:
        return f"<fa_profile.Verdict {printable(self.headline)}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def question(
    baseline: Optional[PathList], thresholds: Optional[Path], limits: Limits, place: str, line: int
) -> tuple[list[bytes], str, str]:
    """The files of the baseline, and the text and name of the rules. Raises Error for what is wrong with any recording."""
    text, name = limits.to_yaml(line), place
    if thresholds is not None:
        if text:
            raise Error("a threshold file and limits are given", "write the limits into the file")
        _file(thresholds, "a threshold file")
        name = os.fspath(thresholds)
        text = _read_thresholds(name)
    sides: list[Any] = list(baseline) if isinstance(baseline, (list, tuple)) else [] if baseline is None else [baseline]
    if thresholds is None and not text and not sides:
        raise Error("there is nothing to judge by", "give max_share, minimum, maximum, thresholds or baseline")
    files = [_file(side, "a baseline") for side in sides]
    try:
        _core.check_thresholds(text, name)
    except Error as error:
        raise (in_python(error, place, line) if thresholds is None else error) from None
    return files, text, name


def _name_in_html(path: str) -> str:
    return html.escape(printable(os.path.basename(path)))


def _copy(source: str, target: str) -> None:
    """Leaves no part of a copy that fails, and what was there before."""
    handle, part = tempfile.mkstemp(prefix=".fa-profile-", dir=os.path.dirname(target) or ".")
    os.close(handle)
    try:
        shutil.copyfile(source, part)
        shutil.copymode(source, part)
        os.replace(part, target)
    except OSError:
        os.unlink(part)
        raise


def _file(path: Path, what: str) -> bytes:
    """The path as the file system has it."""
    if not isinstance(path, (str, os.PathLike)):
        raise Error(f"the path of {what} is not a path: {path!r}", "give the path of a file, as a text")
    name = os.fsencode(path)
    if not name:
        raise Error(f"the path of {what} is empty", "give the path of a file")
    if b"\0" in name:
        raise Error(f"the path of {what} has a NUL character: {path!r}", "give the path of a file")
    return name


def _read_thresholds(path: str) -> str:
    most = 1 << 20
    _file(path, "a threshold file")
    try:
        with builtins.open(path, "rb") as file:
            text = file.read(most + 1)
    except OSError as error:
        raise Error(f"{path} cannot be read: {error.strerror}", "give a threshold file (docs/gate.md)") from error
    if len(text) > most:
        raise Error(f"{path} has more than 1 MiB", "give a threshold file (docs/gate.md)")
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise Error(f"{path} is not UTF-8", "save it as UTF-8") from error
