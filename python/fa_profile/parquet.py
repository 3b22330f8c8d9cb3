"""Many recordings as Parquet: launches, metrics, phases and findings, for DuckDB, ClickHouse, Spark and Trino."""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import dataclasses
import datetime
import fcntl
import glob
import hashlib
import os
import re
import stat
import sys
from typing import Any, Callable, Iterable, Iterator, Optional, Union

import numpy as np

from ._error import Error
from .parquet_columns import KERNEL_NAME, MOST_CHARACTERS, RECORDING, TABLES, Column
from .recording import Path, Recording, _file

# Rows in memory before files are written, and characters in them: some 150 MB with the files. More where texts are long.
_BATCH_ROWS = 250_000
_BATCH_CHARACTERS = 1 << 27
_MOST_READERS = 8
# Hive's name of the folder for null. DuckDB, Spark and Trino read null; ClickHouse reads this text.
_ABSENT = "__HIVE_DEFAULT_PARTITION__"
_FOLDER_CHARACTERS = 100
_DATABASE = b"SQLite format 3\0"
_STATE = "_fa_profile"
_FILE = re.compile(
    "(" + "|".join(table.name for table in TABLES) + r")/date=[^/]+/gpu=[^/]+/kernel=[^/]+/[0-9a-f]{32}\.parquet"
)

Source = Union[Path, Recording]


@dataclasses.dataclass
class Export:
    """What to_parquet() did: numbers of recordings, and those skipped, each with its path and the reason."""

    read: int = 0  # so far, of all kinds
    exported: int = 0
    known: int = 0  # exported before
    skipped: list[tuple[str, Error]] = dataclasses.field(default_factory=list)


def to_parquet(
    recordings: Union[Source, Iterable[Source]],
    folder: Path,
    *,
    progress: Optional[Callable[[Export], None]] = None,
) -> Export:
    """Adds recordings to the Parquet below `folder`: launches/date=.../gpu=.../kernel=.../*.parquet, and as much for
    metrics, phases and findings. docs/parquet.schema.txt describes the columns.

    `recordings`: Recordings, paths, folders (their ``*.fap`` files, at any depth) and patterns (``runs/**/*.fap``). A
    recording is known by its bytes and is added once, also when several processes write to `folder`. One that cannot be
    read is skipped. What a killed process left is removed by the next one. Memory holds a batch of rows, and the ids of
    all recordings of the folder. A call writes a file for each date, GPU and kernel: few calls with many recordings make
    files that are read fast. `progress` is called after each recording.

    Raises Error without pyarrow, without any recording, or where `folder` cannot be written.
    """
    _require_pyarrow()
    dataset = _Dataset(os.fspath(folder))
    export = Export()
    batch = _Batch()
    seen: set[str] = set()
    for source, outcome in _read_each(recordings, dataset.known):
        export.read += 1
        if isinstance(outcome, Error):
            export.skipped.append((_text(source), outcome))
        elif isinstance(outcome, str) or outcome.identity in seen:
            export.known += 1
        else:
            seen.add(outcome.identity)
            batch.add(outcome)
        if batch.rows >= _BATCH_ROWS or batch.characters >= _BATCH_CHARACTERS:
            dataset.commit(batch, export)
            batch = _Batch()
        if progress:
            progress(export)
    if not export.read:
        raise Error("there are no recordings to export", "give recordings (*.fap), folders of them, or patterns")
    dataset.commit(batch, export)
    return export


def _require_pyarrow() -> None:
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise Error(
            f"writing Parquet needs the package pyarrow, which cannot be loaded: {error}",
            f"{sys.executable} -m pip install pyarrow",
        ) from error


@dataclasses.dataclass
class _Read:
    """A recording's rows, as columns of cells; None: absent."""

    identity: str
    facts: list[Any]  # of RECORDING
    tables: dict[str, dict[str, list[Any]]]


def _read(source: Source, known: set[str]) -> Union[_Read, str, Error]:
    """The rows of a recording; the identity of one that is known; or why it cannot be read."""
    try:
        if isinstance(source, Recording):
            identity = _identity(source.path)
            return identity if identity in known else _rows(source, identity)
        # SQLite rolls back the journal of a killed run when it is opened, which changes the file.
        recording = Recording(source) if not _is_whole(source) else None
        identity = _identity(source)
        if identity in known:
            return identity
        return _rows(recording or Recording(source), identity)
    except Error as error:
        return error
    except OSError as error:
        return Error(f"{_text(source)} cannot be read: {error.strerror or error}")
    except MemoryError:
        return Error(f"{_text(source)} cannot be read: out of memory")


def _is_whole(path: Path) -> bool:
    """A regular file that begins as a database and has no journal; others are left to Recording, which refuses them."""
    if not stat.S_ISREG(os.stat(path).st_mode) or os.path.exists(os.fsdecode(path) + "-journal"):
        return False
    with open(path, "rb") as file:
        return file.read(len(_DATABASE)) == _DATABASE


def _identity(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _rows(recording: Recording, identity: str) -> _Read:
    def cells(table: str) -> dict[str, list[Any]]:
        return {name: column for name, _, column in getattr(recording._core, table)()}

    facts = {
        **recording.session,
        **recording.device,
        "recording_id": identity,
        "recording": _text(recording.path),
        "recorded_at": _moment(recording.session["created_at"]),
        "gpu_name": recording.device["name"],
        "gpu_uuid": recording.device["uuid"],
        "losses": len(cells("losses")["kind"]),
    }
    tables = {table.name: cells(table.source) for table in TABLES}
    return _Read(identity, [facts[column.name] for column in RECORDING], tables)


def _moment(text: object) -> Optional[datetime.datetime]:
    try:
        return datetime.datetime.strptime(str(text), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)
    except ValueError:
        return None


def _text(source: Source) -> str:
    """The path; bytes that are not UTF-8 are escaped, as they are in names."""
    return os.fsencode(source.path if isinstance(source, Recording) else source).decode(errors="backslashreplace")


def _read_each(
    recordings: Union[Source, Iterable[Source]], known: set[str]
) -> Iterator[tuple[Source, Union[_Read, str, Error]]]:
    """Recordings first. Files follow the oldest first, so that a batch has few dates; threads read ahead, because
    reading one leaves Python's lock free."""
    if isinstance(recordings, (str, os.PathLike, Recording)):
        recordings = [recordings]
    paths: list[str] = []
    for source in recordings:
        if isinstance(source, Recording):
            yield source, _read(source, known)
        else:
            paths += _files(source)
    paths.sort(key=_age)
    readers = min(_MOST_READERS, len(os.sched_getaffinity(0)))
    pool = concurrent.futures.ThreadPoolExecutor(readers)
    ahead: collections.deque[tuple[str, concurrent.futures.Future[Union[_Read, str, Error]]]] = collections.deque()
    try:
        for path in paths:
            ahead.append((path, pool.submit(_read, path, known)))
            if len(ahead) > 2 * readers:
                first, future = ahead.popleft()
                yield first, future.result()
        for first, future in ahead:
            yield first, future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _files(source: Path) -> list[str]:
    """The recordings that a path, a folder or a pattern names."""
    name = os.fsdecode(_file(source, "a recording"))
    if os.path.isdir(name):
        entries = [os.path.join(base, entry) for base, _, files in os.walk(name, onerror=_refuse) for entry in files]
        files = [entry for entry in entries if entry.endswith(".fap")]
        if not files:
            raise Error(f"there are no recordings (*.fap) in {_text(name)}", "give the folder that has them")
        return files
    if os.path.lexists(name) or not glob.has_magic(name):
        return [name]  # Recording tells what is wrong with it
    found = glob.glob(name, recursive=True)
    files = [file for file in found if not file.endswith("-journal") and not os.path.isdir(file)]
    if not files:
        raise Error(f"no file matches {_text(name)}", "** matches folders at any depth: 'runs/**/*.fap'")
    return files


def _refuse(error: OSError) -> None:
    raise Error(f"{_text(error.filename)} cannot be read: {error.strerror}", "leave it out, or make it readable")


def _age(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0


def _folder_name(text: Optional[str]) -> str:
    """A name that no file system and no engine takes for something else; different texts may have the same."""
    if text is None:
        return _ABSENT
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", text)[:_FOLDER_CHARACTERS] or "_"


def _function_of(kernel: Optional[str]) -> Optional[str]:
    """flash_fwd_kernel<...>~fae1<<<(16, 4), 128>>> -> flash_fwd_kernel; CUDA graph 5 -> CUDA graph"""
    return kernel and re.sub(r" \d+$", "", re.split("[<(~]", kernel, maxsplit=1)[0])


class _Texts(dict[Optional[str], Optional[str]]):
    """Each text once, because most cells repeat those of other rows, and none of those that would fill the memory."""

    def __missing__(self, text: Optional[str]) -> Optional[str]:
        self[text] = text and text[:MOST_CHARACTERS]
        return self[text]


class _Batch:
    """Recordings whose rows are written together."""

    def __init__(self) -> None:
        self.rows = 0
        self.characters = 0
        self.identities: list[str] = []
        self._facts: list[list[Any]] = []
        self._sizes: dict[str, list[int]] = {table.name: [] for table in TABLES}
        self._cells: dict[str, dict[str, list[Any]]] = {t.name: {c.name: [] for c in t.columns} for t in TABLES}
        self._texts = _Texts()

    def add(self, read: _Read) -> None:
        self.identities.append(read.identity)
        self._facts.append(read.facts)
        for table in TABLES:
            columns = read.tables[table.name]
            rows = len(columns["kernel"])
            for column in table.columns:
                cells = columns.get("kernel" if column is KERNEL_NAME else column.name, [None] * rows)
                if column.kind == "text":
                    cells = [self._texts[cell] for cell in cells]
                    self.characters += sum(map(len, filter(None, cells)))
                self._cells[table.name][column.name] += cells
            self._sizes[table.name].append(rows)
            self.rows += rows

    def partitions(self, left_out: set[str]) -> Iterator[tuple[str, Any]]:
        """(folder, pyarrow.Table) of each partition; without the recordings in `left_out`."""
        import pyarrow

        columns = zip(RECORDING, zip(*self._facts))
        facts = pyarrow.table({column.name: _array(column, list(cells)) for column, cells in columns})
        places: dict[str, int] = {}
        of_recording = np.array([places.setdefault(_place(one), len(places)) for one in self._facts])
        wanted = np.array([identity not in left_out for identity in self.identities])
        for table in TABLES:
            cells = self._cells[table.name]
            names = cells[KERNEL_NAME.name]
            kernels: dict[str, int] = {}
            codes = {name: kernels.setdefault(_folder_name(_function_of(name)), len(kernels)) for name in set(names)}
            # Of each row: the number of its recording, and of its folder.
            recording = np.repeat(np.arange(len(self._facts)), self._sizes[table.name])
            folder = of_recording[recording] * len(kernels) + np.array([codes[name] for name in names], np.int64)
            order = np.argsort(folder, kind="stable")
            order = order[wanted[recording[order]]]
            rows = pyarrow.table({column.name: _array(column, cells[column.name]) for column in table.columns}).take(order)
            starts = np.flatnonzero(np.diff(folder[order], prepend=-1))
            for start, end in zip(starts, [*starts[1:], len(order)]):
                place, kernel = divmod(int(folder[order[start]]), len(kernels))
                part = facts.take(recording[order[start:end]])
                for name, column in zip(rows.column_names, rows.slice(start, end - start).columns):
                    part = part.append_column(name, column)
                yield f"{table.name}/{list(places)[place]}/kernel={list(kernels)[kernel]}", part


def _place(facts: list[Any]) -> str:
    known = {column.name: fact for column, fact in zip(RECORDING, facts)}
    moment = known["recorded_at"]
    return f"date={moment.date() if moment else _ABSENT}/gpu={_folder_name(known['gpu_name'])}"


def _array(column: Column, cells: list[Any]) -> Any:
    """Numbers that are not finite are absent."""
    import pyarrow

    types = {
        "text": pyarrow.string(),
        "number": pyarrow.float64(),
        "count": pyarrow.int64(),
        "flag": pyarrow.bool_(),
        "time": pyarrow.timestamp("us", "UTC"),
    }
    if column.kind != "number":
        return pyarrow.array(cells, types[column.kind])
    numbers = np.array(cells, np.float64)  # None: NaN
    return pyarrow.array(numbers, types["number"], mask=~np.isfinite(numbers))


class _Dataset:
    """The folder. What FOLDER/_fa_profile has: `exported`, the recordings of each batch that is in the tables; `files`, those
    of a batch that is being written; `unfinished`, where they are moved to; `lock`, held meanwhile. A batch counts as a
    whole, once its file in `exported` is there. That holds when a process is killed, not when the power fails."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.known: set[str] = set()
        self._batches: set[str] = set()
        with self._locked():
            pass

    def commit(self, batch: _Batch, export: Export) -> None:
        if not batch.identities:
            return
        with self._locked():
            left_out = self.known.intersection(batch.identities)  # another process was faster
            new = sorted(set(batch.identities) - left_out)
            if new:
                self._write(batch, left_out, new)
            export.known += len(left_out)
            export.exported += len(new)

    def _write(self, batch: _Batch, left_out: set[str], new: list[str]) -> None:
        import pyarrow.parquet

        name = hashlib.sha256("".join(new).encode()).hexdigest()[:32]
        targets: list[str] = []
        try:
            for folder, rows in batch.partitions(left_out):
                part = self._path(_STATE, "files", str(len(targets)))
                pyarrow.parquet.write_table(rows, part, compression="zstd", store_schema=False)
                targets.append(f"{folder}/{name}.parquet")
            self._save("unfinished", targets)
            for number, target in enumerate(targets):
                os.makedirs(os.path.dirname(self._path(target)), exist_ok=True)
                os.replace(self._path(_STATE, "files", str(number)), self._path(target))
            self._save(os.path.join("exported", name), new)
        finally:
            self._catch_up()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            for folder in ("exported", "files"):
                os.makedirs(self._path(_STATE, folder), exist_ok=True)
            with open(self._path(_STATE, "lock"), "ab") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                self._catch_up()
                yield
        except (FileExistsError, NotADirectoryError) as error:
            raise Error(f"{_text(self._folder)} is not a folder", "the folder to write to comes first") from error
        except OSError as error:
            raise Error(
                f"{_text(self._folder)} cannot be written: {error.strerror or error}",
                "make room, or give a folder that is writable; then export again: nothing is added twice",
            ) from error

    def _catch_up(self) -> None:
        """Learns what was exported, and removes what is unfinished: whoever holds the lock no longer works on it."""
        for batch in set(os.listdir(self._path(_STATE, "exported"))) - self._batches:
            self.known.update(self._lines(os.path.join("exported", batch)))
            self._batches.add(batch)
        for target in self._lines("unfinished"):
            # A file that anybody with access may have changed decides about files in the tables alone.
            if _FILE.fullmatch(target) and os.path.basename(target)[: -len(".parquet")] not in self._batches:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._path(target))
        for part in os.listdir(self._path(_STATE, "files")):
            os.unlink(self._path(_STATE, "files", part))
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path(_STATE, "unfinished"))

    def _lines(self, name: str) -> list[str]:
        try:
            with open(self._path(_STATE, name), encoding="ascii", errors="replace") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def _save(self, name: str, lines: list[str]) -> None:
        part = self._path(_STATE, "files", "lines")
        with open(part, "w", encoding="ascii") as file:
            file.write("".join(f"{line}\n" for line in lines))
        os.replace(part, self._path(_STATE, name))

    def _path(self, *names: str) -> str:
        return os.path.join(self._folder, *names)
