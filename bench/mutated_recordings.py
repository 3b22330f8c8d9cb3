#!/usr/bin/env python3
"""Mutated recordings against every command that reads one: bench/mutated_recordings.py --program build/host/cli/fa-profile

Each case is a recording of this repository with damage of one kind: bytes, pages and checksums, values and types, text,
rows, tables, blobs. report (text, JSON, CSV), diff, textfile, push, gate, lint and serve read it. Whatever they conclude,
what must hold is: no crash and no hang; a documented exit code; an error is one, in printable UTF-8; JSON, CSV and
Prometheus pages parse; no counter is negative, infinite or NaN; serve stays up.

A benchmark, because it takes long: 2,000 cases took 12 minutes on two cores. A case depends on the seed and its
number alone: --case N repeats one. Needs no GPU. Exit code: 0 everything held, 1 something did not, 2 it could not run.
"""

import argparse
import collections
import concurrent.futures
import csv
import http.server
import io
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
SERVE_CASES = 100  # that one server sees before a fresh one with a fresh state
COMMANDS = ["report text", "report json", "report jsonl", "report csv", "report html", "perfetto", "folded", "speedscope",
            "instructions", "source", "compare", "diff", "textfile", "push", "gate", "lint", "serve"]

NUMBERS = [0, -1, 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, -(2**63), 1e308, -1e308, 1e300, 5e-324, -5e-324, -0.0, 0.5]
NUMBERS += [1e19, -1e19, float("inf"), float("-inf")]
NAN = [0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001]
MARK = -1.2345678901234567e-301  # a double that nothing else holds
INVALID_UTF8 = [b"\xff\xfe", b"a\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc0\xaf", b"a\x00b", b"\x80" * 64]
HOSTILE_TEXT = [
    "\x1b]0;title\x07\x1b[2J\x1b[31mred",
    "a\nfa-profile: error: forged\nfaprof_forged_total 1",
    'x"} 1\nfaprof_forged{a="\\',
    "a\r\x08\x7f\x85\x9b31m",
    "\u202egnp.exe\u2066\u200b\ufeff",
    "",
    " ",
    "\\",
    "a,b\";'\n\t=cmd()",
    "../../../../etc/passwd",
    "::<<<>>>((()))(anonymous namespace)",
    "%s%n%n{0}{}$(reboot)`reboot`",
    "NaN",
    "-1",
]


# ---------------------------------------------------------------------------------------------------------- files


def page_size(data):
    """0 where the header is too short to have one, or names an impossible size."""
    if len(data) < 512:
        return 0
    size = 65536 if data[16:18] == b"\0\1" else data[16] << 8
    return size if size >= 512 and not size & (size - 1) and size <= len(data) else 0


def seal(data):
    """The file with the number of its pages and their checksums made right: see SQLite's fileformat2 and cksumvfs."""
    data, size = bytearray(data), page_size(data)
    if not size:
        return bytes(data)
    del data[len(data) // size * size :]
    data[28:32] = struct.pack(">I", len(data) // size)
    data[92:96] = data[24:28]
    if data[20] != 8:
        return bytes(data)
    words = struct.Struct(f"<{(size - 8) // 4}I")
    for page in range(0, len(data), size):
        low = high = 0
        values = words.unpack_from(data, page)
        for first, second in zip(values[::2], values[1::2]):
            low = (low + first + high) & 0xFFFFFFFF
            high = (high + second + low) & 0xFFFFFFFF
        struct.pack_into("<II", data, page + size - 8, low, high)
    return bytes(data)


def flip(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8, 64])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def flip_sealed(data, rng):
    """Not in the header's first 100 bytes, where a flip is mostly another format."""
    return seal(data[:100] + flip(data[100:], rng))


def zero_pages(data, rng):
    data, size = bytearray(data), page_size(data)
    for _ in range(rng.choice([1, 1, 3])):
        page = rng.randrange(1, len(data) // size) * size
        data[page : page + size] = bytes(size)
    return seal(data) if rng.random() < 0.5 else bytes(data)


def swap_pages(data, rng):
    data, size = bytearray(data), page_size(data)
    one, other = (rng.randrange(1, len(data) // size) * size for _ in range(2))
    data[one : one + size], data[other : other + size] = data[other : other + size], data[one : one + size]
    return seal(data)


def truncate(data, rng):
    data = data[: rng.choice([rng.randrange(len(data)), len(data) - rng.randrange(1, 512), rng.randrange(512)])]
    return seal(data) if rng.random() < 0.5 else data


def extend(data, rng):
    data += rng.randbytes(rng.choice([1, 100, 4096, 65536]))
    return seal(data) if rng.random() < 0.5 else data


# ------------------------------------------------------------------------------------------------------------ SQL


class Tables:
    """A recording's tables, open for what its format forbids."""

    def __init__(self, path, rng):
        self.rng, self.db = rng, sqlite3.connect(path, isolation_level=None)
        self.db.text_factory = bytes
        for pragma in ("foreign_keys=0", "ignore_check_constraints=1", "journal_mode=MEMORY", "synchronous=0"):
            self.db.execute(f"PRAGMA {pragma}")
        names = self.db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
        self.names = [name.decode() for (name,) in names.fetchall()]
        self.full = [name for name in self.names if self.count(name)]

    def count(self, table):
        return self.db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]

    def columns(self, table, kinds=("INTEGER", "REAL", "TEXT", "BLOB"), keys=True):
        rows = self.db.execute(f"PRAGMA table_info({table})").fetchall()
        return [row[1].decode() for row in rows if row[2].decode() in kinds and (keys or not row[5])]

    def cell(self, *kinds, ending=""):
        """(table, column), with rows in it."""
        found = [(t, c) for t in self.full for c in self.columns(t, kinds) if c.endswith(ending)]
        return self.rng.choice(found)

    def where(self, table):
        """One row, some rows, or all."""
        step = self.rng.choice([1, 1, 1, 2, 10])
        key = ", ".join(self.columns(table))
        one = f"({key}) IN (SELECT {key} FROM {table} LIMIT 1 OFFSET {self.rng.randrange(self.count(table))})"
        return one if step > 1 or self.rng.random() < 0.6 else "1"

    def set(self, table, column, value, expression="?"):
        self.free(table)
        try:
            self.db.execute(f"UPDATE OR REPLACE {table} SET {column} = {expression} WHERE {self.where(table)}", (value,))
        except (sqlite3.IntegrityError, sqlite3.OperationalError, OverflowError):
            pass  # not even SQLite takes it: the recording stays as it is

    def free(self, table):
        """Takes NOT NULL, CHECK and REFERENCES away, and keeps the schema's text for a reader that compares it."""
        self.db.execute("PRAGMA writable_schema=1")
        (sql,) = self.db.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
        self.kept = getattr(self, "kept", {}) | {table: sql.decode()}
        self.db.execute("UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '') WHERE name = ?", (table,))
        self.reload()

    def reload(self):
        (version,) = self.db.execute("PRAGMA schema_version").fetchone()
        self.db.execute(f"PRAGMA schema_version={version + 1}")

    def close(self):
        for table, sql in getattr(self, "kept", {}).items():
            self.db.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (sql, table))
        self.db.close()


def numbers(tables, rng):
    for _ in range(rng.choice([1, 1, 3])):
        tables.set(*tables.cell("INTEGER", "REAL"), rng.choice(NUMBERS))


def nan(tables, rng):
    """SQLite stores no NaN: the mark becomes one in the file."""
    tables.set(*tables.cell("REAL"), MARK)


def types(tables, rng):
    table, column = tables.cell("INTEGER", "REAL", "TEXT", "BLOB")
    tables.set(table, column, rng.choice([None, "text", b"\0blob", 7, 0.25, "12", "1e5", ""]))


def invalid_utf8(tables, rng):
    tables.set(*tables.cell("TEXT"), rng.choice(INVALID_UTF8), "CAST(? AS TEXT)")


def hostile_text(tables, rng):
    for _ in range(rng.choice([1, 1, 4])):
        tables.set(*tables.cell("TEXT"), rng.choice(HOSTILE_TEXT))


def long_text(tables, rng):
    unit = rng.choice(["x", "long name ", "\u00e4", "a::", "\u202e", "<", "\n"])
    tables.set(*tables.cell("TEXT"), unit * (rng.choice([1_000, 50_000, 300_000]) // len(unit)))


def delete_rows(tables, rng):
    for _ in range(rng.choice([1, 1, 2])):
        table = rng.choice(tables.full)
        if tables.count(table):
            tables.db.execute(f"DELETE FROM {table} WHERE {tables.where(table)}")


def duplicate_rows(tables, rng):
    table = rng.choice(tables.full)
    columns = ", ".join(tables.columns(table, keys=False))
    if not columns:
        return
    times = rng.choice([1, 1, 50])
    for _ in range(times):
        try:
            tables.db.execute(f"INSERT INTO {table}({columns}) SELECT {columns} FROM {table} WHERE {tables.where(table)} LIMIT 200")
        except (sqlite3.IntegrityError, sqlite3.OperationalError):
            return  # a key that has to be named


def schema(tables, rng):
    table = rng.choice(tables.names)
    column = rng.choice(tables.columns(table))
    tables.db.execute("PRAGMA legacy_alter_table=1")
    change = rng.choice(
        [
            f"DROP TABLE {table}",
            f"ALTER TABLE {table} DROP COLUMN {column}",
            f"ALTER TABLE {table} RENAME COLUMN {column} TO other",
            f"ALTER TABLE {table} RENAME TO other",
            f"ALTER TABLE {table} ADD COLUMN other TEXT DEFAULT 'x'",
            f"CREATE TRIGGER other AFTER INSERT ON {table} BEGIN DELETE FROM {table}; END",
            "CREATE VIEW other AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
            f"CREATE TABLE other AS SELECT * FROM {table}",
        ]
    )
    try:
        tables.db.execute(change)
    except sqlite3.OperationalError:
        tables.db.execute("CREATE TABLE other(x)")


def version(tables, rng):
    name = rng.choice(["user_version", "user_version", "application_id"])
    tables.db.execute(f"PRAGMA {name}={rng.choice([0, 1, 2, 3, 4, 99, -1, 2**31 - 1])}")


def references(tables, rng):
    for _ in range(rng.choice([1, 1, 3])):
        table, column = tables.cell("INTEGER", ending="id")
        tables.set(table, column, rng.choice([0, -1, 1, 2, 999_999, 2**62]), rng.choice(["?", f"{column} + (? & 1)"]))


def blobs(tables, rng):
    table, column = tables.cell("BLOB")
    (blob,) = tables.db.execute(f"SELECT {column} FROM {table} ORDER BY random() LIMIT 1").fetchone()
    blob = bytes(blob or b"")
    change = rng.choice(
        [
            lambda: b"",
            lambda: blob[: rng.randrange(len(blob) + 1)],
            lambda: flip(blob, rng) if blob else b"x",
            lambda: rng.randbytes(rng.choice([1, 100, 5000])),
            lambda: b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 2**60) + blob[13:],  # a frame that claims an exbibyte
            lambda: blob + blob,
        ]
    )
    tables.set(table, column, change())


FILE_KINDS = {
    "bytes flipped": flip,
    "bytes flipped, sealed": flip_sealed,
    "pages of zeros": zero_pages,
    "pages swapped": swap_pages,
    "truncated": truncate,
    "extended": extend,
}
SQL_KINDS = {
    "numbers": numbers,
    "NaN": nan,
    "types and NULL": types,
    "invalid UTF-8": invalid_utf8,
    "hostile text": hostile_text,
    "long text": long_text,
    "rows deleted": delete_rows,
    "rows repeated": duplicate_rows,
    "tables and columns": schema,
    "versions": version,
    "references": references,
    "blobs": blobs,
}
KINDS = [*FILE_KINDS, *SQL_KINDS, "two of these"]


def mutate(kind, source, path, rng):
    """Writes a mutant of `source` to `path`."""
    if kind == "two of these":
        mutate(rng.choice(list(SQL_KINDS)), source, path, rng)
        mutate(rng.choice(KINDS[:-1]), path.read_bytes(), path, rng)
        return
    if kind in FILE_KINDS:
        path.write_bytes(FILE_KINDS[kind](source, rng))
        return
    path.write_bytes(source)
    try:
        tables = Tables(path, rng)
        try:
            if tables.full:
                SQL_KINDS[kind](tables, rng)
        finally:
            tables.close()
    except (sqlite3.DatabaseError, IndexError):
        pass  # of two mutations the first left nothing to change, or no table of this kind
    data = path.read_bytes()
    if kind == "NaN":
        data = data.replace(struct.pack(">d", MARK), struct.pack(">Q", rng.choice(NAN)))
    path.write_bytes(seal(data))


def sources(program, folder):
    """{name: bytes} of the recordings to mutate: small ones, the bundled one, and this with two of its kernels."""
    corpus = ROOT / "tests/fuzz/corpus/recording/good"
    small = [ROOT / "tests/data/version1.fap", *sorted(corpus.glob("**/many.fap")), *sorted(corpus.glob("**/one-4096.fap"))]
    found = {str(path.relative_to(ROOT)): path.read_bytes() for path in small}
    bundled = next((ROOT / "recordings").glob("*-ladder-full.fap"))
    thin = folder / "thin.fap"
    shutil.copy(bundled, thin)
    tables = Tables(thin, random.Random(0))
    keep = "SELECT min(id) FROM kernel_case WHERE kernel IN ('mma', 'serial_softmax') GROUP BY kernel"
    tables.db.execute(f"DELETE FROM kernel_case WHERE id NOT IN ({keep})")
    changed = True
    while changed:  # what refers to a row that is gone goes too
        changed = False
        for table in tables.names:
            for (_, _, parent, child_column, parent_column, *_) in tables.db.execute(
                f"PRAGMA foreign_key_list({table})"
            ).fetchall():
                child, other, key = child_column.decode(), parent.decode(), (parent_column or b"id").decode()
                changed |= 0 < tables.db.execute(
                    f"DELETE FROM {table} WHERE {child} NOT IN (SELECT {key} FROM {other})"
                ).rowcount
    for table, column, parent in (
        ("value", "range_id", "range"),
        ("timing_sample", "timing_id", "timing"),
        ("pc_sample", "sampling_id", "pc_sampling"),
        ("sass_count", "counting_id", "sass_counting"),
    ):
        tables.db.execute(f"DELETE FROM {table} WHERE {column} NOT IN (SELECT id FROM {parent})")
    tables.db.execute("DELETE FROM counter_image WHERE id NOT IN (SELECT image_id FROM range WHERE image_id > 0)")
    tables.db.execute("VACUUM")
    tables.close()
    found["thin"] = seal(thin.read_bytes())
    thin.write_bytes(found["thin"])
    done = subprocess.run([program, "report", thin], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"without the recording of two kernels: {done.stderr}", file=sys.stderr)
        del found["thin"]
    found["bundled"] = bundled.read_bytes()
    return found


# --------------------------------------------------------------------------------------------------------- checks


SAMPLE = re.compile(r'([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\n"])*",?)*)\})? (\S+)(?: \d+)?')
SUMMED = ("_total", "_count", "_sum", "_bucket")


def wrong_text(data, what):
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return [f"{what} is not UTF-8"]
    raw = sorted({c for c in text if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0})
    return [f"{what} has raw control characters {raw}"] if raw else []


def wrong_page(data):
    wrong, seen = wrong_text(data, "the page"), set()
    if wrong:
        return wrong
    for line in data.decode().split("\n")[:-1]:
        if line.startswith("#") or not line:
            continue
        match = SAMPLE.fullmatch(line)
        if not match:
            return [f"the page does not parse: {line[:200]!r}"]
        series = (match[1], match[2])
        if series in seen:
            return [f"the page has a series twice: {series}"]
        seen.add(series)
        value = float(match[3])
        if not math.isfinite(value):
            wrong.append(f"{match[1]} is {value}")
        elif value < 0 and match[1].endswith(SUMMED):
            wrong.append(f"{match[1]} is negative")
        if match[1].startswith("faprof_forged"):
            wrong.append("a metric is forged")
    return sorted(set(wrong))


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def wrong_json(data):
    try:
        json.loads(data, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        return [f"the JSON does not parse: {error}"[:200]]
    return []


def wrong_json_lines(data):
    return [wrong for line in data.splitlines() for wrong in wrong_json(line)]


def wrong_csv(data):
    csv.field_size_limit(sys.maxsize)
    wrong = wrong_text(data.replace(b"\r\n", b"\n"), "the CSV")
    if not wrong:
        widths = {len(row) for row in csv.reader(io.StringIO(data.decode(), newline=""))}
        if len(widths) != 1:
            wrong.append(f"the CSV has rows of {sorted(widths)} cells")
    return wrong


def wrong_html(data):
    documents = re.findall(rb'<script type="application/json" id="\w+">(.*?)</script>', data, re.S)
    if len(documents) != 2 or not data.endswith(b"</html>\n"):
        return [f"the page has {len(documents)} documents"]
    return [wrong for document in documents for wrong in wrong_json(document)]


class Gateway(http.server.BaseHTTPRequestHandler):
    """A Pushgateway that takes everything and keeps the body, by the path of the group."""

    bodies = {}

    def do_PUT(self):
        self.bodies[self.path] = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_PUT

    def log_message(self, *_):
        pass


class Judged:
    """What one command made of one mutant."""

    def __init__(self, refused, wrong, seconds):
        self.refused, self.wrong, self.seconds = refused, wrong, seconds


class Commands:
    """The commands that take a file and end."""

    def __init__(self, program, folder, limit):
        self.program, self.folder, self.limit = program, folder, limit
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def judge(self, name, good, path, number):
        job = f"case-{number}"
        arguments, codes, wrong_output = {
            "report text": (["report", "--details", path], (0, 2), lambda out: wrong_text(out, "the report")),
            "report json": (["report", "--format", "json", path], (0, 2), wrong_json),
            "report jsonl": (["report", "--format", "jsonl", path], (0, 2), wrong_json_lines),
            "report csv": (["report", "--format", "csv", path], (0, 2), wrong_csv),
            "perfetto": (["report", "--format", "perfetto", path], (0, 2), lambda _: []),
            "folded": (["report", "--format", "folded", path], (0, 2), lambda out: wrong_text(out, "the stacks")),
            "speedscope": (["report", "--format", "speedscope", path], (0, 2), wrong_json),
            "report html": (["report", "--format", "html", path], (0, 2), wrong_html),
            "instructions": (["report", "--instructions", "--format", "csv", path], (0, 2), wrong_csv),
            "source": (["report", "--source", path], (0, 2), lambda out: wrong_text(out, "the source lines")),
            "diff": (["diff", good, path], (0, 2), lambda out: wrong_text(out, "the diff")),
            "textfile": (["textfile", path], (0, 2), wrong_page),
            "push": (
                ["push", "--gateway", f"http://127.0.0.1:{self.server.server_port}", "--job", job, path],
                (0, 2),
                lambda _: wrong_page(Gateway.bodies.pop(f"/metrics/job/{job}", b"")),
            ),
            "gate": (
                ["gate", "--baseline", good, "--candidate", path],
                (0, 1, 2),
                lambda out: wrong_text(out, "the verdict"),
            ),
            "lint": (["lint", path], (0, 2), lambda out: wrong_text(out, "the findings")),
        }[name]
        start = time.monotonic()
        try:
            done = subprocess.run(
                [self.program, *arguments],
                capture_output=True,
                timeout=self.limit,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,  # where gate finds no ci/thresholds.yaml, whose rules name kernels of the ladder
            )
        except subprocess.TimeoutExpired:
            return Judged(False, [f"takes more than {self.limit:g} s"], self.limit)
        seconds = time.monotonic() - start
        wrong = wrong_text(done.stderr, "stderr")
        if done.returncode < 0:
            wrong.append(f"is killed by signal {-done.returncode}")
        elif done.returncode not in codes:
            wrong.append(f"ends with {done.returncode}")
        elif done.returncode == 2:
            errors = len(re.findall(rb"^fa-profile: error: ", done.stderr, re.M))
            if errors != 1:
                wrong.append(f"has {errors} errors on stderr")
        else:
            wrong += wrong_output(done.stdout)
        return Judged(done.returncode == 2, wrong, seconds)


class Served:
    """fa-profile serve with a spool, which one mutant after another goes through."""

    def __init__(self, program, folder, limit):
        self.program, self.folder, self.limit = program, folder, limit
        self.round, self.cases, self.process = 0, 0, None

    def start(self):
        self.stop()
        self.round, self.cases = self.round + 1, 0
        self.spool = self.folder / f"spool-{self.round}"
        self.spool.mkdir()
        self.log = self.folder / f"serve-{self.round}.log"
        with open(self.log, "wb") as log:
            command = [self.program, "serve", "--spool", self.spool, "--state", self.folder / f"state-{self.round}"]
            command += ["--listen", "127.0.0.1:0", "--interval", "100ms", "--no-nvml"]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.wait(lambda: re.search(rb"127\.0\.0\.1:(\d+)", self.log.read_bytes()))
        self.port = int(re.search(rb"127\.0\.0\.1:(\d+)", self.log.read_bytes())[1])
        self.wait(lambda: b"faprof_" in self.page())

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(self.limit)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def wait(self, condition):
        """Whether it came true before the server ended or a hang."""
        end = time.monotonic() + self.limit
        while self.process.poll() is None and time.monotonic() < end:
            try:
                if condition():
                    return True
            except (OSError, urllib.error.URLError):
                pass
            time.sleep(0.02)
        return False

    def page(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=self.limit) as reply:
            return reply.read()

    def collections(self):
        match = re.search(rb"^faprof_exporter_last_collection_timestamp_seconds(?:\{.*\})? (\S+)", self.page(), re.M)
        return match and float(match[1])

    def judge(self, path, number):
        if self.cases >= SERVE_CASES or self.process is None or self.process.poll() is not None:
            self.start()
        self.cases += 1
        start, name = time.monotonic(), f"case-{number}.fap"
        part = self.spool / f".{name}.part"
        shutil.copy(path, part)
        part.rename(self.spool / name)
        wrong, before = [], self.log.stat().st_size
        if not self.wait(lambda: not (self.spool / name).exists()):
            wrong.append("serve leaves it in the spool")
        elif not self.wait(lambda now=self.collections(): self.collections() != now):
            wrong.append("serve collects no more")
        elif self.process.poll() is None:
            wrong += wrong_page(self.page())
        if self.process.poll() is not None:
            wrong.append(f"serve ends with {self.process.returncode}")
        with open(self.log, "rb") as log:
            log.seek(before)
            wrong += wrong_text(log.read(), "the log")
        if wrong:
            self.start()  # the next case shall not suffer for this one
        return Judged((self.spool / "bad" / name).exists(), wrong, time.monotonic() - start)


# ------------------------------------------------------------------------------------------------------- campaign


class Campaign:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.sources = sources(options.program, folder)
        self.commands = Commands(options.program, folder, options.limit)
        self.served = Served(options.program, folder, options.limit)
        self.cells = collections.defaultdict(collections.Counter)  # (kind, command): results
        self.failures = collections.defaultdict(list)  # (command, what): numbers of cases
        self.slowest = (0.0, "", 0)

    def make(self, number):
        """(kind, path of the source, path of the mutant) of this number."""
        rng = random.Random(f"{self.options.seed}:{number}")
        kind = KINDS[number % len(KINDS)]
        # The large ones take seconds a case; the small ones reach most of the same code.
        large = [name for name in ("bundled", "thin") if name in self.sources]
        small = [name for name in self.sources if name not in large]
        name = rng.choices([rng.choice(small), *large], [92, 1, 7][: 1 + len(large)])[0]
        good, path = self.folder / f"source-{number}.fap", self.folder / f"case-{number}.fap"
        good.write_bytes(self.sources[name])
        mutate(kind, self.sources[name], path, rng)
        return kind, good, path

    def run(self, numbers):
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            ahead = collections.deque()
            for number in numbers:
                ahead.append((number, pool.submit(self.files, number)))
                if len(ahead) > 2 * self.options.jobs:
                    self.finish(*ahead.popleft())
            while ahead:
                self.finish(*ahead.popleft())
        self.served.stop()

    def files(self, number):
        kind, good, path = self.make(number)
        judged = {name: self.commands.judge(name, good, path, number) for name in COMMANDS[:-1]}
        good.unlink()
        return kind, path, judged

    def finish(self, number, future):
        kind, path, judged = future.result()
        judged["serve"] = self.served.judge(path, number)
        failed = False
        for command, result in judged.items():
            self.cells[kind, command]["failed" if result.wrong else "refused" if result.refused else "read"] += 1
            self.slowest = max(self.slowest, (result.seconds, command, number))
            for what in result.wrong:
                failed = True
                self.failures[command, what].append(number)
                print(f"case {number} ({kind}): {command}: {what}", flush=True)
        if failed and self.options.keep:
            shutil.move(path, self.options.keep / path.name)
        else:
            path.unlink()

    def print_table(self):
        print("\nread/refused, and what failed, by kind and command:\n")
        widths = [max(len(kind) for kind in KINDS)] + [max(len(name), 11) for name in COMMANDS]
        rows = [["kind", *COMMANDS]]
        for kind in KINDS:
            row = [kind]
            for command in COMMANDS:
                cell = self.cells[kind, command]
                row.append(f"{cell['read']}/{cell['refused']}" + (f" {cell['failed']}!" if cell["failed"] else ""))
            rows.append(row)
        for row in rows:
            print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
        print(f"\nslowest: {self.slowest[1]}, {self.slowest[0]:.1f} s, case {self.slowest[2]}")
        for (command, what), numbers in sorted(self.failures.items(), key=lambda each: -len(each[1])):
            print(f"FAILED {len(numbers)} times: {command}: {what} (cases {', '.join(map(str, numbers[:5]))})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/host/cli/fa-profile", metavar="FILE")
    parser.add_argument("--seed", default="1", help="of every choice (default 1)")
    parser.add_argument("--cases", type=int, default=2000, metavar="N", help="how many (default 2000)")
    parser.add_argument("--case", type=int, metavar="N", help="this one only; its file stays")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="cases at once")
    parser.add_argument(
        "--limit", type=float, default=300, metavar="S", help="seconds of a command that are a hang (default 300)"
    )
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="keep the files of cases that fail here")
    options = parser.parse_args()
    options.program = options.program.resolve()
    if not options.program.exists():
        print(f"{options.program} not found: build it, or name it with --program", file=sys.stderr)
        return 2
    if options.keep:
        options.keep = options.keep.resolve()
        options.keep.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))  # so that the server and the folder go
    with tempfile.TemporaryDirectory(prefix="fa-profile-mutants-") as folder:
        campaign = Campaign(options, pathlib.Path(folder))
        numbers = range(options.cases) if options.case is None else [options.case]
        print(f"seed {options.seed}, {len(numbers)} cases, {options.program}", flush=True)
        try:
            if options.case is not None:
                kept = pathlib.Path(f"case-{options.case}.fap").resolve()
                shutil.copy(campaign.make(options.case)[2], kept)
                print(f"the mutant is {kept}")
            campaign.run(numbers)
        finally:
            campaign.served.stop()
            campaign.print_table()  # of what was done, when it was stopped
    return 1 if campaign.failures else 0


if __name__ == "__main__":
    sys.exit(main())
