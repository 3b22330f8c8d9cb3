#!/usr/bin/env python3
"""Recordings as Parquet: python_export_test.py PACKAGE SOURCE

PACKAGE: the folder that has fa_profile/ with its extension. pyarrow and DuckDB are where ci/setup.sh put them.

The bundled recordings go the whole way, from files through the command to rows. The 10,000 recordings that the queries of
docs/parquet.sql are asked about are simulated below the reader of files: tables of three bundled recordings, without the
metrics of phases, with other names, dates, cards, drivers and times. So the second part tests batches, partitions and
queries, not reading.
"""

import collections
import contextlib
import datetime
import io
import itertools
import math
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

PACKAGE, SOURCE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
del sys.argv[1:]
sys.path.insert(0, str(PACKAGE))

from support.forge import forge  # noqa: E402
from support.processes import LONG  # noqa: E402
from support.recordings import LADDER  # noqa: E402

PACKAGES = os.environ.get("FA_PROFILE_PARQUET_PACKAGES") or subprocess.run(
    ["bash", "-c", '. ci/cuda.sh && echo "$fa_profile_parquet_packages"'], cwd=SOURCE, check=True, capture_output=True, text=True,
    timeout=LONG).stdout.strip()  # fmt: skip
if not pathlib.Path(PACKAGES, "pyarrow").is_dir():
    sys.exit(f"no packages in {PACKAGES}: run ci/setup.sh")
sys.path.append(PACKAGES)

import duckdb  # noqa: E402
import fa_profile  # noqa: E402
import pyarrow.parquet  # noqa: E402
from fa_profile import parquet, parquet_columns  # noqa: E402
from fa_profile import export as command  # noqa: E402

BUNDLED = sorted(SOURCE.glob("recordings/**/*.fap"))
SMALL = sorted(SOURCE.glob("recordings/hopper/*.fap"))
SDPA = SOURCE / "recordings/pytorch-sdpa.fap"
QUERIES = SOURCE / "docs/parquet.sql"
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE), PACKAGES])}
TABLES = {table.name: table for table in parquet_columns.TABLES}


READ = {}  # recordings by path


def opened(path):
    """A recording that is read once for all tests."""
    if str(path) not in READ:
        READ[str(path)] = fa_profile.open(path)
    return READ[str(path)]


def several(paths):
    return [opened(path) for path in paths]


def rows_in(paths, table):
    return sum(len(getattr(opened(path), TABLES[table].source)) for path in paths)


def start(folder, *recordings, before="pass", **options):
    """The command in a process; `before` runs in it first, with `parquet` being the module that writes."""
    code = f"import os, signal, sys\nfrom fa_profile import export, parquet\n{before}\nsys.exit(export.main(sys.argv[1:]))"
    return subprocess.Popen(
        [sys.executable, "-B", "-c", code, str(folder), *map(str, recordings)],
        env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)  # fmt: skip


def run(folder, *recordings, code=0, **options):
    process = start(folder, *recordings, **options)
    out, err = process.communicate(timeout=LONG)
    if process.returncode != code:
        raise AssertionError(f"exit code {process.returncode}, not {code}: {out}{err}")
    return out, err


def query(folder, text):
    """Rows as dictionaries."""
    with duckdb.connect() as connection:
        found = connection.execute(text.replace("'history/", f"'{folder}/"))
        names = [column[0] for column in found.description]
        return [dict(zip(names, row)) for row in found.fetchall()]


def rows_of(folder, table):
    return query(folder, f"SELECT * FROM 'history/{table}/**/*.parquet'")


def ids(folder, table="launches"):
    return [row["recording_id"] for row in query(folder, f"SELECT DISTINCT recording_id FROM 'history/{table}/**/*.parquet'")]


def count(folder, table="launches"):
    return query(folder, f"SELECT count(*) AS n FROM 'history/{table}/**/*.parquet'")[0]["n"]


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*") if path.is_file())


def parquet_files(folder):
    return [name for name in files(folder) if not name.startswith("_fa_profile/")]


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="fa-profile-export-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.folder = self.scratch / "history"

    def refuses(self, words, *arguments):
        with self.assertRaisesRegex(fa_profile.Error, words) as raised:
            fa_profile.to_parquet(*arguments)
        self.assertTrue(raised.exception.hint)


class BundledTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="fa-profile-export-")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name) / "history"
        cls.cut = pathlib.Path(scratch.name) / "cut\x1b.fap"
        cls.cut.write_bytes(SMALL[0].read_bytes()[:100_000])
        cls.text = pathlib.Path(scratch.name) / "text.fap"
        cls.text.write_text("no recording")
        cls.pipe = pathlib.Path(scratch.name) / "pipe.fap"
        os.mkfifo(cls.pipe)
        rows = parquet._rows

        def keep(recording, identity):
            READ[recording.path] = recording
            return rows(recording, identity)

        out, err = io.StringIO(), io.StringIO()
        with changed(parquet, "_rows", keep), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            cls.code = command.main([str(path) for path in (cls.folder, SOURCE / "recordings", cls.cut, cls.text, cls.pipe)])
        cls.out, cls.err = out.getvalue(), err.getvalue()

    def test_every_row_of_every_recording_is_there(self):
        found = {table: collections.defaultdict(list) for table in TABLES}
        for table, recordings in found.items():
            for row in rows_of(self.folder, table):
                recordings[row["recording"]].append(row)
        for path in BUNDLED:
            recording = opened(path)
            for table in parquet_columns.TABLES:
                expected = getattr(recording, table.source).rows()
                rows = found[table.name].pop(str(path), [])
                columns = [column.name for column in table.columns]

                def values(row, columns=columns):
                    return sorted_key(row.get("kernel" if name == "kernel_name" else name) for name in columns)

                def written(row, columns=columns):
                    return sorted_key(row[name] for name in columns)

                self.assertEqual(sorted(map(values, expected)), sorted(map(written, rows)), (path, table.name))
                for row in rows:
                    self.assertEqual(row["recorded_at"].strftime("%Y-%m-%dT%H:%M:%S"), recording.session["created_at"][:19])
                    self.assertEqual(str(row["date"]), recording.session["created_at"][:10])
                    self.assertEqual(row["gpu_name"], recording.device["name"])
                    self.assertEqual(row["gpu"], recording.device["name"].replace(" ", "_"))
                    self.assertEqual(row["driver_version"], recording.device["driver_version"])
                    self.assertEqual(row["losses"], len(recording.losses))
                    self.assertTrue(row["kernel_name"].replace(" ", "_").startswith(row["kernel"]), row["kernel_name"])
        self.assertFalse(any(map(len, found.values())))

    def test_columns_have_the_documented_names_and_types(self):
        types = {"text": "VARCHAR", "number": "DOUBLE", "count": "BIGINT", "flag": "BOOLEAN", "time": "TIMESTAMP WITH TIME ZONE"}
        for table in parquet_columns.TABLES:
            columns = [*parquet_columns.RECORDING, *table.columns]
            expected = [(column.name, types[column.kind]) for column in columns]
            expected += [(column.name, "DATE" if column.name == "date" else "VARCHAR") for column in parquet_columns.PARTITIONS]
            found = query(self.folder, f"DESCRIBE SELECT * FROM 'history/{table.name}/**/*.parquet'")
            self.assertEqual([(row["column_name"], row["column_type"]) for row in found], expected)
        self.assertEqual(
            (SOURCE / "docs/parquet.schema.txt").read_text(), parquet_columns.describe(),
            "renew it: python3 -m fa_profile.export --columns > docs/parquet.schema.txt")  # fmt: skip

    def test_no_column_of_the_package_is_left_out(self):
        metrics = (SOURCE / "docs/metrics.md").read_text()
        of_phases = set(re.findall("^## (phase_.*)$", metrics, re.MULTILINE))
        of_kernels = set(re.findall("^## (.*)$", metrics, re.MULTILINE)) - of_phases
        recording = opened(SDPA)
        metrics_of_kernels = of_kernels | set(recording.metrics["metric"]) - of_phases
        for table in parquet_columns.TABLES:
            has = set(getattr(recording, table.source).columns) - {"kernel"} - metrics_of_kernels | {"kernel_name"}
            has |= of_phases if table.name == "phases" else set()
            self.assertEqual({column.name for column in table.columns}, has)

    def test_no_number_is_nan(self):
        for table in TABLES:
            for row in rows_of(self.folder, table):
                self.assertFalse([name for name, cell in row.items() if isinstance(cell, float) and not math.isfinite(cell)])

    def test_bad_files_are_named_and_skipped(self):
        self.assertEqual(self.code, 2)
        self.assertEqual(self.out, f"{self.folder}: {len(BUNDLED)} exported, 0 there already, 3 skipped\n")
        said = "".join(sorted(self.err.splitlines(keepends=True)))
        escaped = str(self.cut).replace("\x1b", "\\x1b")
        self.assertEqual(
            said,
            f"fa-profile: skipped: {escaped} is truncated: it has 100000 of 249856 bytes\n"
            f"fa-profile: skipped: {self.pipe} is not a regular file\n"
            f"fa-profile: skipped: {self.text} is not a recording\n",
        )

    def test_a_recording_is_added_once(self):
        before = {name: (self.folder / name).stat().st_mtime_ns for name in parquet_files(self.folder)}
        copied = self.folder.parent / "copied.fap"
        shutil.copy(SMALL[3], copied)
        out, err = run(self.folder, self.folder.parent / "c*d.fap", SMALL[3], SOURCE / "recordings/hopper")
        self.assertEqual((out, err), (f"{self.folder}: 0 exported, {len(SMALL) + 2} there already, 0 skipped\n", ""))
        self.assertEqual({name: (self.folder / name).stat().st_mtime_ns for name in parquet_files(self.folder)}, before)

    def test_launches_of_one_function_share_a_folder(self):
        kernels = {path.name for path in self.folder.glob("launches/date=2026-11-23/gpu=NVIDIA_H200/*")}
        self.assertIn("kernel=flash_fwd_kernel", kernels)
        self.assertIn("kernel=CUDA_graph", kernels)
        self.assertEqual(len(list(self.folder.glob("launches/*/*/kernel=CUDA_graph/*"))), 1)
        for name in parquet_files(self.folder):
            self.assertRegex(name, r"^[a-z]+/date=[0-9-]+/gpu=[A-Za-z0-9_]+/kernel=[A-Za-z0-9_.-]{1,100}/[0-9a-f]{32}\.parquet$")

    def test_the_queries_of_the_documents_run(self):
        for _, text in documented():
            query(self.folder, text)
        spills = query(self.folder, documented()[2][1])
        self.assertIn(("flash_fwd_kernel", datetime.date(2026, 11, 23), 1), [(r["kernel"], r["since"], r["recordings"]) for r in spills])


def sorted_key(cells):
    """Comparable, also where cells are absent."""
    return [(cell is not None, str(type(cell)), cell if cell is not None else 0) for cell in cells]


def documented():
    """[(question, query)] of docs/parquet.sql."""
    found = []
    for part in QUERIES.read_text().split("\n\n"):
        comment = " ".join(line[3:] for line in part.splitlines() if line.startswith("--"))
        text = "\n".join(line for line in part.splitlines() if not line.startswith("--"))
        if text.strip():
            found.append((comment, text))
    return found


class ExportTest(Scratch):
    def test_recordings_come_as_paths_folders_patterns_and_objects(self):
        runs = self.scratch / "runs/deep"
        runs.mkdir(parents=True)
        for path in SMALL[:3]:
            shutil.copy(path, runs)
        shutil.copy(SMALL[3], runs / "killed.fap.part")
        (runs / "note.txt").write_text("no recording")
        done = fa_profile.to_parquet(self.scratch / "runs", self.folder)
        self.assertEqual((done.read, done.exported, done.known, done.skipped), (3, 3, 0, []))
        done = fa_profile.to_parquet([str(self.scratch / "runs/**/*.fap*")], self.folder)
        self.assertEqual((done.exported, done.known, done.skipped), (1, 3, []))
        done = fa_profile.to_parquet(iter(several(SMALL[3:5])), self.folder)
        self.assertEqual((done.exported, done.known), (1, 1))
        done = fa_profile.to_parquet([SMALL[5], SMALL[5], opened(SMALL[5])], self.folder)
        self.assertEqual((done.exported, done.known), (1, 2))
        self.assertEqual(len(ids(self.folder)), 6)
        self.assertEqual(count(self.folder), 6)

    def test_the_size_of_a_batch_does_not_change_the_rows(self):
        fa_profile.to_parquet(several(SMALL[:4]), self.folder)
        with changed(parquet, "_BATCH_ROWS", 300):
            fa_profile.to_parquet(several(SMALL[:4]), self.scratch / "small")
        self.assertGreater(len(parquet_files(self.scratch / "small")), len(parquet_files(self.folder)))
        for table in TABLES:
            rows = [sorted(sorted_key(row.values()) for row in rows_of(folder, table)) for folder in (self.folder, self.scratch / "small")]
            self.assertEqual(*rows)

    def test_what_is_wrong_has_a_cure(self):
        file = self.scratch / "file"
        file.write_text("")
        self.refuses("there are no recordings to export", [], self.folder)
        self.refuses(r"there are no recordings \(\*.fap\) in ", self.scratch, self.folder)
        self.refuses("no file matches .*/zzz/", [SMALL[0], self.scratch / "zzz/*.fap"], self.folder)
        self.refuses("the path of a recording is not a path: 3", [3], self.folder)
        self.refuses("the path of a recording is empty", "", self.folder)
        self.refuses("is not a folder", SMALL[0], file)
        self.refuses("is not a folder", SMALL[0], file / "below")
        self.assertEqual(parquet_files(self.folder), [])
        done = fa_profile.to_parquet(self.scratch / "missing.fap", self.folder)
        self.assertIn("missing.fap cannot be read: No such file", done.skipped[0][1].message)
        for arguments, words in ((("x",), "give the folder to write to, then recordings"), ((SMALL[0], self.folder), "is not a folder")):
            process = start(*arguments)
            self.assertIn(words, process.communicate(timeout=LONG)[1])
            self.assertEqual(process.returncode, 2)

    def test_without_pyarrow_the_error_names_the_cure(self):
        (self.scratch / "pyarrow.py").write_text("raise ImportError('not here')")
        environment = {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join([str(self.scratch), str(PACKAGE)])}
        end = subprocess.run(
            [sys.executable, "-B", "-m", "fa_profile.export", str(self.folder), str(SMALL[0])],
            env=environment, capture_output=True, text=True, timeout=LONG, check=False)  # fmt: skip
        self.assertEqual(end.returncode, 2)
        self.assertRegex(end.stderr, r"^fa-profile: error: writing Parquet needs the package pyarrow, .*not here\n  hint: .* -m pip install ")
        self.assertFalse(self.folder.exists())

    def test_help_and_columns_need_no_pyarrow(self):
        for option, words in (("--help", "FOLDER"), ("--columns", "recording_id (string): SHA-256")):
            end = subprocess.run(
                [sys.executable, "-B", "-m", "fa_profile.export", option], env={**ENVIRONMENT, "PYTHONPATH": str(PACKAGE)},
                capture_output=True, text=True, timeout=LONG, check=True)  # fmt: skip
            self.assertIn(words, end.stdout)
            self.assertEqual(end.stderr, "")

    def test_hostile_names_stay_in_their_folders(self):
        names = ["../../../out", "a/b=c%2Fd", "x" * 9000, "kernel\u202e\U0001f600", "<<<1>>>", "__HIVE_DEFAULT_PARTITION__ x", "con", "'; DROP"]
        forged = []
        for number, name in enumerate(names):
            forged.append(forge(
                SMALL[0], self.scratch / f"{number}.fap", ("UPDATE kernel_case SET kernel = ?", [name]),
                ("UPDATE device SET name = ?", [f"../{name[:100]}"])))  # fmt: skip
        done = fa_profile.to_parquet(forged, self.folder)
        self.assertEqual((done.exported, done.skipped), (len(names), []))
        kept = {name[:parquet_columns.MOST_CHARACTERS] for name in names}
        self.assertEqual({row["kernel_name"] for row in rows_of(self.folder, "launches")}, kept)
        self.assertEqual({path.name for path in self.scratch.iterdir() if path.suffix != ".fap"}, {"history"})
        for name in parquet_files(self.folder):
            self.assertRegex(name, r"^[a-z]+/date=[^/]+/gpu=[A-Za-z0-9_.-]{1,100}/kernel=[A-Za-z0-9_.-]{1,100}/[0-9a-f]{32}\.parquet$")

    def test_an_unknown_date_or_gpu_is_null(self):
        forged = forge(SMALL[0], self.scratch / "a.fap", "UPDATE session SET created_at = ''", "UPDATE device SET name = ''")
        fa_profile.to_parquet([forged, SMALL[1]], self.folder)
        row = query(self.folder, "SELECT * FROM 'history/launches/**/*.parquet' WHERE date IS NULL")[0]
        self.assertEqual((row["gpu"], row["gpu_name"], row["recorded_at"]), (None, None, None))
        self.assertEqual(count(self.folder), 2)

    def test_a_number_that_is_not_finite_is_null(self):
        column = parquet_columns.Column("x", "number", "")
        self.assertEqual(parquet._array(column, [1.5, None, math.nan, math.inf, -math.inf]).to_pylist(), [1.5, None, None, None, None])

    def test_writers_at_the_same_time_add_a_recording_once(self):
        # Each has read its recordings before one may write.
        hold = """
commit = parquet._Dataset.commit
def held(self, *arguments):
    print("ready", flush=True)
    sys.stdin.readline()
    commit(self, *arguments)
parquet._Dataset.commit = held
"""
        sides = (SMALL[:4], SMALL[:4], SMALL[2:6])
        writers = [start(self.folder, *paths, before=hold, stdin=subprocess.PIPE) for paths in sides]
        said = []
        for writer in writers:
            self.assertEqual(writer.stdout.readline(), "ready\n")
        for writer in writers:
            writer.stdin.write("go\n")
            writer.stdin.flush()
        for writer in writers:
            out, err = writer.communicate(timeout=LONG)
            self.assertEqual(writer.returncode, 0, err)
            said.append([int(number) for number in re.findall(r"(\d+) (?:exported|there|skipped)", out)])
        self.assertEqual([sum(column) for column in zip(*said)], [6, 6, 0])
        self.assertEqual(len(ids(self.folder)), 6)
        for table in TABLES:
            self.assertEqual(count(self.folder, table), rows_in(SMALL[:6], table))

    def test_a_killed_writer_leaves_nothing_that_counts_twice(self):
        fa_profile.to_parquet(opened(SMALL[0]), self.folder)
        most = 3 + len(TABLES)  # the list of files, a file of each table, the list of recordings: and one that is not killed
        for kill_at in range(1, most + 1):
            shutil.copytree(self.folder, self.scratch / str(kill_at))
        # In a process that has not used pyarrow yet, so that it may fork.
        kill = f"""
import fa_profile
recordings = [fa_profile.open(path) for path in {[str(path) for path in SMALL[1:3]]}]
replace, calls = os.replace, []
def killed(*arguments):
    calls.append(1)
    if len(calls) == kill_at:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(*arguments)
os.replace = killed
for kill_at in range(1, {most + 1}):
    child = os.fork()
    if child == 0:
        fa_profile.to_parquet(recordings, os.path.join({str(self.scratch)!r}, str(kill_at)))
        os._exit(0)
    print(os.waitpid(child, 0)[1])
sys.exit()
"""
        self.assertEqual(run("", before=kill)[0].split(), [str(int(signal.SIGKILL))] * (most - 1) + ["0"])
        for kill_at in range(1, most):
            folder = self.scratch / str(kill_at)
            done = fa_profile.to_parquet(several(SMALL[2:4]), folder)  # other recordings than those of the killed one
            self.assertEqual((done.exported, done.known), (2, 0))
            done = fa_profile.to_parquet(several(SMALL[:4]), folder)
            self.assertEqual((done.exported, done.known), (1, 3))
            for table in TABLES:
                self.assertEqual(count(folder, table), rows_in(SMALL[:4], table))
            self.assertEqual([name for name in files(folder) if "/files/" in name or "unfinished" in name], [])

    def test_a_full_disk_leaves_nothing(self):
        def full(*_, **__):
            raise OSError(28, "No space left on device")

        real = os.replace
        for module, name, replacement in (
            (pyarrow.parquet, "write_table", full),
            (os, "replace", lambda source, target: full() if "phases" in target else real(source, target)),
        ):
            with changed(module, name, replacement):
                self.refuses("history cannot be written: No space left", several(SMALL[:2]), self.folder)
            self.assertEqual([name for name in files(self.folder) if not name.endswith("lock")], [])
        self.assertEqual(fa_profile.to_parquet(several(SMALL[:2]), self.folder).exported, 2)

    def test_the_list_of_unfinished_files_cannot_delete_others(self):
        fa_profile.to_parquet(several(SMALL[:2]), self.folder)
        mine = self.scratch / "launches" / "date=1" / "gpu=1" / "kernel=1"
        mine.mkdir(parents=True)
        (mine / f"{'0' * 32}.parquet").write_text("")
        written = parquet_files(self.folder)
        names = [f"../launches/date=1/gpu=1/kernel=1/{'0' * 32}.parquet", str(mine / f"{'0' * 32}.parquet"), *written]
        (self.folder / "_fa_profile/unfinished").write_text("\n".join(names))
        fa_profile.to_parquet(opened(SMALL[2]), self.folder)
        self.assertTrue((mine / f"{'0' * 32}.parquet").exists())
        self.assertEqual(len(ids(self.folder)), 3)


@contextlib.contextmanager
def changed(module, name, value):
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


# 30 days of November, 10,000 recordings. What the queries have to find:
RECORDINGS = 10_000
DRIVERS = {1: "570.124.06", 9: "575.57.08", 20: "580.159.04"}  # from this day on
SLOW_DRIVER, SLOW_GPU, SOFTMAX_SLOWER = "580.159.04", "NVIDIA H200", 1.07
SLOW_CARD, CARD_SLOWER = "GPU-00000003", 1.12
SPILLING, SPILLS_FROM, SPILLED_BYTES = "rows_kernel", 15, 3_145_728.0
CARDS = {"NVIDIA H200": range(8), "NVIDIA H100 80GB HBM3": range(8, 16)}
KERNELS = {
    "attend<128, 64, half>~00aa<<<132, 384>>>": SMALL[0],
    "attention_fwd": SMALL[6],
    "rows_kernel<float>~00bb<<<(8, 64), 256>>>": SOURCE / "recordings/h100-timeline.fap",  # it has no softmax
}


class SimulatedCore:
    """In place of _core.Recording: tables of a bundled recording, changed."""

    def __init__(self, template, **changes):
        self._template = template
        self._changes = changes

    def device(self):
        return {**self._template["device"], **self._changes["device"]}

    def session(self):
        return {**self._template["session"], **self._changes["session"]}

    def losses(self):
        return self._template["losses"]

    def _table(self, name):
        changes = self._changes.get(name, {})
        return [(column, kind, changes.get(column, cells)) for column, kind, cells in self._template[name]]

    def kernels(self):
        return self._table("kernels")

    def metrics(self):
        return self._table("metrics")

    def phases(self):
        return self._table("phases")

    def findings(self):
        return self._table("findings")


class Simulated(fa_profile.Recording):
    def __init__(self, path, core):
        self.path = path
        self._core = core


def templates():
    found = {}
    for kernel, path in KERNELS.items():
        core = opened(path)._core
        tables = {name: getattr(core, name)() for name in ("kernels", "metrics", "phases", "findings", "losses")}
        of_kernel = [row for row, phase in enumerate(cells_of(tables["metrics"], "phase")) if phase is None]
        tables["metrics"] = [(c, k, [cells[row] for row in of_kernel]) for c, k, cells in tables["metrics"]]  # to take less time
        for name in ("kernels", "metrics", "phases", "findings"):
            tables[name] = [(c, k, [kernel] * len(cells) if c == "kernel" else cells) for c, k, cells in tables[name]]
        found[kernel] = {**tables, "device": core.device(), "session": core.session()}
    return found


def cells_of(table, name):
    """Without phases there are no columns for their metrics."""
    return next((cells for column, _, cells in table if column == name), [])


def simulate():
    """10,000 recordings, one at a time, in the order of their dates."""
    generator = random.Random(38)
    of_kernel = templates()
    kernels = list(of_kernel)
    for number in range(RECORDINGS):
        moment = datetime.datetime(2026, 11, 1) + datetime.timedelta(days=30) * number / RECORDINGS
        kernel = kernels[number % len(kernels)]
        template = of_kernel[kernel]
        gpu = generator.choice(list(CARDS))
        card = f"GPU-{generator.choice(CARDS[gpu]):08x}"
        driver = DRIVERS[max(day for day in DRIVERS if day <= moment.day)]
        times = (CARD_SLOWER if card == SLOW_CARD else 1) * math.exp(generator.gauss(0, 0.006))
        softmax = SOFTMAX_SLOWER if (driver, gpu) == (SLOW_DRIVER, SLOW_GPU) else 1
        phases = template["phases"]
        seconds = [
            None if s is None else s * times * (softmax if phase == "softmax" else 1)
            for phase, s in zip(cells_of(phases, "phase"), cells_of(phases, "phase_time_seconds"))
        ]
        template = dict(template)
        if kernel.startswith(SPILLING) and moment.day >= SPILLS_FROM:
            row = {"kernel": kernel, "shape": cells_of(template["kernels"], "shape")[0], "finding": "local-memory", "weight": 0.1}
            template["findings"] = [(c, k, [*cells, row.get(c)]) for c, k, cells in template["findings"]]
            row.update(metric="local_memory_bytes", value=SPILLED_BYTES, unit="bytes")
            template["metrics"] = [(c, k, [*cells, row.get(c)]) for c, k, cells in template["metrics"]]
        yield Simulated(
            f"simulated/{number}.fap",
            SimulatedCore(
                template,
                device={"name": gpu, "uuid": card, "driver_version": driver},
                session={"created_at": moment.strftime("%Y-%m-%dT%H:%M:%SZ"), "command_line": str(number)},
                kernels={"duration_ns": [ns and ns * times for ns in cells_of(template["kernels"], "duration_ns")]},
                phases={"phase_time_seconds": seconds},
            ),
        )


class FleetTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="fa-profile-export-")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name) / "history"
        cls.largest = 0
        add = parquet._Batch.add

        def measured(batch, read):
            add(batch, read)
            cls.largest = max(cls.largest, batch.rows)

        with changed(parquet, "_identity", lambda path: parquet.hashlib.sha256(path.encode()).hexdigest()):
            with changed(parquet._Batch, "add", measured), changed(parquet, "_BATCH_ROWS", 100_000):
                cls.done = fa_profile.to_parquet(simulate(), cls.folder)
            cls.again = fa_profile.to_parquet(itertools.islice(simulate(), 50, 150), cls.folder)
        cls.questions = documented()

    def test_each_is_there_once(self):
        self.assertEqual((self.done.exported, self.done.known, self.done.skipped), (RECORDINGS, 0, []))
        self.assertEqual((self.again.exported, self.again.known), (0, 100))
        self.assertEqual(len(ids(self.folder)), RECORDINGS)
        self.assertEqual(count(self.folder), RECORDINGS)

    def test_batches_bound_memory_and_share_files(self):
        batches = len(list(self.folder.glob("_fa_profile/exported/*")))
        self.assertGreater(batches, 2)
        self.assertLess(self.largest, 100_000 + 1000)
        # A date, GPU and kernel has a file, and another where a batch ends; not one for each recording.
        days = 30 * len(CARDS)
        self.assertLessEqual(len(list(self.folder.glob("launches/**/*.parquet"))), days * len(KERNELS) + batches * len(CARDS) * len(KERNELS))

    def test_which_driver_made_softmax_slower_on_which_gpus(self):
        question, text = self.questions[0]
        self.assertIn("Which driver made softmax slower, on which GPUs?", question)
        rows = query(self.folder, text)
        with_softmax = {kernel for kernel in KERNELS if not kernel.startswith(SPILLING)}
        self.assertEqual({(row["gpu"], row["kernel_name"]) for row in rows}, {("NVIDIA_H200", kernel) for kernel in with_softmax})
        self.assertEqual(len(rows), len(with_softmax))
        for row in rows:
            self.assertEqual((row["driver_before"], row["driver_version"]), ("575.57.08", SLOW_DRIVER))
            self.assertEqual(row["since"], datetime.date(2026, 11, 20))
            self.assertAlmostEqual(row["slower_ratio"], SOFTMAX_SLOWER - 1, delta=0.005)
            self.assertGreater(row["recordings"], 300)

    def test_which_cards_are_slower_than_others_of_their_model(self):
        self.assertIn("Which cards", self.questions[1][0])
        (row,) = query(self.folder, self.questions[1][1])
        self.assertEqual((row["gpu"], row["gpu_uuid"], row["kernels"]), ("NVIDIA_H200", SLOW_CARD, len(KERNELS)))
        self.assertAlmostEqual(row["slower_ratio"], CARD_SLOWER - 1, delta=0.005)

    def test_since_when_which_kernels_use_local_memory(self):
        self.assertIn("local memory", self.questions[2][0])
        rows = query(self.folder, self.questions[2][1])
        self.assertEqual({row["gpu"] for row in rows}, {gpu.replace(" ", "_") for gpu in CARDS})
        for row in rows:
            self.assertEqual((row["kernel"], row["since"], row["local_bytes"]), (SPILLING, datetime.date(2026, 11, 15), SPILLED_BYTES))
        self.assertEqual(len(self.questions), 3)


if __name__ == "__main__":
    unittest.main()
