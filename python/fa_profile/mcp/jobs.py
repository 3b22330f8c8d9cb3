"""Programs that tools start: with limits, one at a time on the GPU, and never left behind."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import fcntl
import os
import pathlib
import secrets
import signal
import stat
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import anyio

from .errors import ToolError

Progress = Callable[[float, str], Awaitable[None]]  # seconds so far, what happens

_WATCH_SECONDS = 0.2
_PROGRESS_SECONDS = 1.0
_GRACE_SECONDS = 3.0  # for a program that was asked to end
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)

_MARK = "FA_PROFILE_JOB"  # variable that tells a program's descendants, whatever session they made
_running: dict[int, str] = {}  # the session of each program that runs, and the value of its mark
_slots = asyncio.Semaphore(4)  # a job on the GPU, and three that read


@dataclass(frozen=True)
class Limits:
    seconds: float = 3600.0  # of one program, whatever a tool asks for
    memory_bytes: int = 64 << 30  # resident, of a program and its children
    output_bytes: int = 64 << 20  # of stdout and of stderr


@dataclass(frozen=True)
class Finished:
    """What a program left: its exit code, and what it printed."""

    code: int
    stdout: str
    stderr: str


@dataclass
class _Running:
    process: asyncio.subprocess.Process
    broken: ToolError | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)


async def run(command: Sequence[str], *, folder: pathlib.Path, limits: Limits, seconds: float, progress: Progress) -> Finished:
    """Runs a program to its end. Cancelling this ends the program and its children first.

    Raises ToolError where it cannot be started, or passes a limit.
    """
    async with _slots:
        return await _run(command, folder, limits, min(limits.seconds, seconds), progress)


async def _run(command: Sequence[str], folder: pathlib.Path, limits: Limits, seconds: float, progress: Progress) -> Finished:
    mark = secrets.token_hex(16)
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=folder,
            env={**_environment(), _MARK: mark},
            start_new_session=True,
            preexec_fn=_end_with_the_server,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ToolError(f"{command[0]} cannot be started: {reason}", "check the installation with the tool doctor") from None
    running = _Running(process)
    _running[process.pid] = mark
    try:
        assert process.stdout is not None and process.stderr is not None
        watch = asyncio.create_task(_watch(running, limits, seconds, progress))
        try:
            stdout, stderr = await asyncio.gather(
                _read(process.stdout, limits.output_bytes, running), _read(process.stderr, limits.output_bytes, running)
            )
            await process.wait()
        finally:
            watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watch
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
        _running.pop(process.pid, None)
    if running.broken is not None:
        raise running.broken
    return Finished(process.returncode or 0, stdout.decode(errors="replace"), stderr.decode(errors="replace"))


def end_all() -> None:
    """Ends all programs at once, for a server that was asked to end."""
    for session in list(_running):
        _signal_session(session, signal.SIGKILL)


@contextlib.asynccontextmanager
async def gpu_lock(progress: Progress) -> AsyncIterator[None]:
    """Held while a program may use the GPU. All servers of this user share it; waiting is reported."""
    lock = _open_lock()
    started = told = time.monotonic()
    try:
        while not _try_lock(lock):
            now = time.monotonic()
            if now - told >= _PROGRESS_SECONDS or told == started:
                told = now
                await progress(now - started, "waiting for the GPU: another job of fa-profile mcp uses it")
            await anyio.sleep(_WATCH_SECONDS)
        yield
    finally:
        os.close(lock)  # which also unlocks


def _open_lock() -> int:
    folder = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    path = os.path.join(folder, f"fa-profile-mcp-{os.getuid()}.lock")
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ToolError(f"the lock of the GPU {path} cannot be opened: {error.strerror}", "set XDG_RUNTIME_DIR to your own folder")
    info = os.fstat(lock)
    if info.st_uid != os.getuid() or not stat.S_ISREG(info.st_mode):
        os.close(lock)
        raise ToolError(f"the lock of the GPU {path} belongs to another user", "set XDG_RUNTIME_DIR to your own folder")
    return lock


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        return False
    return True


def _environment() -> dict[str, str]:
    """The server's, without what is for the server alone."""
    return {name: value for name, value in os.environ.items() if not name.startswith("FA_PROFILE_MCP_")}


def _end_with_the_server() -> None:
    """In the child, before the program: a server that is killed takes it along."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


async def _read(stream: asyncio.StreamReader, most: int, running: _Running) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := await stream.read(1 << 16):
        size += len(part)
        if size <= most:
            parts.append(part)
        elif running.broken is None:
            running.broken = ToolError(f"the program printed more than {most >> 20} MiB", "print less, or select less")
            _signal_session(running.process.pid, signal.SIGKILL)
    return b"".join(parts)


async def _watch(running: _Running, limits: Limits, seconds: float, progress: Progress) -> None:
    started = told = time.monotonic()
    while True:
        await asyncio.sleep(_WATCH_SECONDS)
        now = time.monotonic()
        if now - started > seconds:
            running.broken = ToolError(
                f"it took longer than {seconds:g} s and was ended", "give a larger timeout_s, or ask for less: one kernel, one shape"
            )
        elif (memory := _resident_bytes(running.process.pid)) > limits.memory_bytes:
            running.broken = ToolError(
                f"it used {memory / (1 << 30):.1f} GiB of memory, more than the limit of {limits.memory_bytes / (1 << 30):g} GiB, "
                "and was ended",
                "use a smaller shape, or start the server with a larger --max-memory-gib",
            )
        if running.broken is not None:
            await _end(running.process)
            return
        if now - told >= _PROGRESS_SECONDS:
            told = now
            await progress(now - started, f"running for {now - started:.0f} s of at most {seconds:.0f} s")


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ends the program and whatever it started: politely, then not."""
    for sent, patience in ((signal.SIGTERM, _GRACE_SECONDS), (signal.SIGKILL, _GRACE_SECONDS)):
        deadline = time.monotonic() + patience
        if not _signal_session(process.pid, sent):
            break
        while time.monotonic() < deadline and _members(process.pid):
            await asyncio.sleep(0.02)
    process._transport.close()  # type: ignore[attr-defined]  # its pipes may be held by what escaped
    await process.wait()


def _signal_session(session: int, sent: int) -> bool:
    """Whether the session had a process to signal."""
    members = _members(session)
    for member in members:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(member, sent)
    return bool(members)


def _members(session: int) -> list[int]:
    """Processes that the session's program started and that have not ended: in the session, with its mark, or below those.

    A process that cleared its environment, left the session and lost its parent is not found.
    """
    mark = f"{_MARK}={_running[session]}".encode() if session in _running else None
    found: set[int] = set()
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        fields = _stat_fields(name) if name.isdigit() else None
        if fields is None or fields[0] in ("Z", "X"):
            continue
        parents[int(name)] = int(fields[1])
        if int(fields[3]) == session or (mark and _has_variable(name, mark)):
            found.add(int(name))
    while below := {process for process, parent in parents.items() if parent in found} - found:
        found |= below
    return sorted(found)


def _has_variable(process: str, variable: bytes) -> bool:
    try:
        return variable in pathlib.Path("/proc", process, "environ").read_bytes().split(b"\0")
    except OSError:  # of another user, or ended
        return False


def _resident_bytes(session: int) -> int:
    page = os.sysconf("SC_PAGE_SIZE")
    total = 0
    for member in _members(session):
        fields = _stat_fields(str(member))
        total += int(fields[21]) * page if fields is not None else 0
    return total


def _stat_fields(process: str) -> list[str] | None:
    """The fields of /proc/PID/stat from the third one on: state, parent, group, session."""
    try:
        text = pathlib.Path("/proc", process, "stat").read_text(errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()
