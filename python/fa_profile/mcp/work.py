"""What a tool works with: the program fa-profile, the roots of the call, and its progress."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from . import jobs
from .errors import ToolError
from .roots import Roots

BUNDLED = "bundled:"  # a recording that comes with the program, as bundled:h100-ladder-full
_READ_SECONDS = 120.0
_WITHOUT_GPU = (
    "run the server on a machine where `nvidia-smi` lists a GPU; without one report, diff, lint, explain and gate "
    "(replay, candidate, static) work on recordings and code: list_kernels names recordings"
)
_OPTIONS = ("kernel-lib", "kernel-py", "kernel", "shape", "causal", "nvtx", "ncu-set", "phase-map", "repeats", "draws", "calls", "thresholds",
            "baseline", "candidate", "replay", "static", "save", "arch", "threads", "smem", "torch-modules")  # arguments of tools, too
_INSTALL = "install fa-profile (docs/install.md), and name it with --program FILE"


@dataclass(frozen=True)
class Settings:
    """What the server was started with."""

    program: str
    roots: Roots
    limits: jobs.Limits = field(default_factory=jobs.Limits)
    python: str = "python3"  # runs kernels and programs in Python
    bundled: pathlib.Path | None = None  # folder of the recordings that come with the program


@dataclass(frozen=True)
class Work:
    """One call of a tool."""

    settings: Settings
    roots: Roots
    progress: jobs.Progress

    async def run(self, *arguments: str, seconds: float = _READ_SECONDS, folder: pathlib.Path | None = None) -> jobs.Finished:
        """Runs fa-profile. Raises ToolError, with fa-profile's own hint, where it could not do its job."""
        finished = await jobs.run(
            [self.settings.program, *arguments],
            folder=folder or self.roots.first,
            limits=self.settings.limits,
            seconds=seconds,
            progress=self.progress,
        )
        if finished.code < 0 or finished.code > 3:
            raise _crash(finished)
        if finished.code == 2 and arguments[:1] != ("doctor",):
            raise _error_of(finished)
        return finished

    async def json(self, *arguments: str, seconds: float = _READ_SECONDS) -> dict[str, Any]:
        """What it writes with --format json."""
        finished = await self.run(*arguments, "--format", "json", seconds=seconds)
        try:
            read = json.loads(finished.stdout)
        except ValueError:
            read = None
        if not isinstance(read, dict):
            raise ToolError(
                f"{self.settings.program} did not write JSON",
                "check with the tool doctor that it is fa-profile, of the version of this server",
            )
        return read

    @contextlib.asynccontextmanager
    async def gpu(self) -> AsyncIterator[None]:
        async with jobs.gpu_lock(self.progress):
            yield

    def recording(self, path: str, what: str = "recording") -> pathlib.Path:
        if not path.startswith(BUNDLED):
            return self.roots.file_to_read(path, what)
        name = path.removeprefix(BUNDLED)
        found = bundled_recordings(self.settings).get(name)
        if found is None:
            known = ", ".join(BUNDLED + one for one in bundled_recordings(self.settings)) or "none"
            raise ToolError(f"there is no recording {path}", f"the bundled recordings are: {known}")
        return found


def bundled_recordings(settings: Settings) -> dict[str, pathlib.Path]:
    """By name, as the tools take them after `bundled:`."""
    folder = settings.bundled
    if folder is None or not folder.is_dir():
        return {}
    return {str(path.relative_to(folder))[:-4]: path for path in sorted(folder.rglob("*.fap"))}


def find_program(named: str | None) -> str:
    """The program fa-profile: the one named, or that of the variable FA_PROFILE, or the one on PATH.
    Raises ToolError."""
    wanted = named or os.environ.get("FA_PROFILE") or "fa-profile"
    found = shutil.which(wanted)
    if found is None:
        raise ToolError(f"the program {wanted} was not found", _INSTALL)
    return os.path.abspath(found)


def find_bundled(program: str) -> pathlib.Path | None:
    """The folder of recordings next to an installed program, or in the checkout that it was built in."""
    here = pathlib.Path(program).resolve().parent
    checkout = [parent / "recordings" for parent in here.parents if (parent / "profiler" / "model").is_dir()]
    places = [here.parent / "share" / "fa-profile" / "recordings", *checkout]
    return next((place for place in places if any(place.glob("*.fap"))), None)


def _error_of(finished: jobs.Finished) -> ToolError:
    """The error that fa-profile printed."""
    found = re.search(r"^fa-profile: error: (.*)(?:\n  hint: (.*))?", finished.stderr, re.MULTILINE)
    if found is None:
        last = (finished.stderr.strip() or finished.stdout.strip()).splitlines()[-1:] or ["it printed nothing"]
        return ToolError(f"fa-profile could not do it: {last[0]}", "call the tool doctor")
    needs = re.search(r"needs a GPU(?:, and none can be used here \((.*?)\)|: (.*))", found[1])
    if needs:
        return ToolError(f"this needs a GPU: {needs[1] or needs[2]}", _WITHOUT_GPU)
    return ToolError(_in_our_words(found[1]), _in_our_words(found[2] or "call the tool doctor"))


def _in_our_words(text: str) -> str:
    """Options of the command line as the arguments of the tools: kernel_lib for --kernel-lib."""
    text = re.sub(r"--force\b", "overwrite=true", text)
    return re.sub(rf"--({'|'.join(_OPTIONS)})(?![\w-])=?", lambda found: found[1].replace("-", "_") + ("=" if found[0].endswith("=") else ""), text)


def _crash(finished: jobs.Finished) -> ToolError:
    last = finished.stderr.strip().splitlines()[-1:] or ["it printed nothing"]
    return ToolError(f"fa-profile ended with exit code {finished.code}: {last[0]}", "call the tool doctor")
