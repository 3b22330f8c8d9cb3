"""End-to-end tests of `fa-profile serve`, `textfile` and `push`: serve_test.py PROGRAM WRITE_RECORDINGS SOURCE SET_CLOCK [FAKE_NVML HANGING_NVML]

Real processes, a real Pushgateway, promtool, and the strict OpenMetrics parser of Prometheus's Python client.
"""
import contextlib
import fcntl
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
import urllib.request

from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics

from support.processes import LONG, free_port, get_text, wait_for
from support.recordings import LADDER
from support.running_serve import RunningServe

PROGRAM, WRITE_RECORDINGS, SOURCE, SET_CLOCK = sys.argv[1:5]
FAKE_NVML, HANGING_NVML = sys.argv[5:7] if len(sys.argv) > 6 else ("", "")


class Serve(RunningServe):
    """The program that is tested."""

    def __init__(self, folder, *options, **settings):
        super().__init__(PROGRAM, folder, *options, **settings)

    def wait_for_launches(self, launches, kernel="small"):
        name = "faprof_kernel_launches_total"
        wait_for(f"{launches} launches of {kernel}", lambda: self.value(name, kernel=kernel) == launches)


class ServeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.recordings = tempfile.TemporaryDirectory()
        subprocess.run([WRITE_RECORDINGS, cls.recordings.name, "40"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.recordings.cleanup()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def small(self, number):
        return pathlib.Path(self.recordings.name) / f"small-{number}.fap"

    def test_a_recording_is_counted_and_the_page_is_strict_openmetrics(self):
        with Serve(self.folder) as serve:
            wait_for("ready without a recording", lambda: serve.status("/readyz") == 200)
            serve.put(LADDER, "ladder.fap")
            wait_for("the recording is counted", lambda: serve.counted() == 1)
            self.assertEqual([p.name for p in (serve.spool / "done").iterdir()], ["ladder.fap"])
            text = serve.get()
            promtool = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True)
            self.assertEqual((promtool.returncode, promtool.stderr), (0, ""), promtool.stderr)
            families = list(parse_openmetrics(serve.get(Accept="application/openmetrics-text; version=1.0.0")))
            kernels = {s.labels["kernel"] for f in families for s in f.samples if "kernel" in s.labels}
            self.assertTrue({"mma", "serial_softmax", "wmma"} <= kernels, kernels)
            self.hold_to_the_table(families)
            self.assertIsNone(serve.value("faprof_device_up"))

    def hold_to_the_table(self, families):
        """Name, type, labels and help of what is served are those of docs/metrics.md, which is the catalogue."""
        section = (pathlib.Path(SOURCE) / "docs/metrics.md").read_text().split("# Metrics for Prometheus")[1]
        rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in section.splitlines() if line.startswith("| `")]
        table = {row[0].strip("`"): row for row in rows}
        for family in families:
            name = family.name + ("_total" if family.type == "counter" else "")
            if name.startswith("faprof_collector_"):
                name = name.replace("collector", "exporter", 1)
                self.assertEqual(family.documentation, f"Old name of {name}: gone in 0.3.0.")
                family.documentation = table[name][4]
            self.assertIn(name, table)
            self.assertEqual(family.type, table[name][1], name)
            self.assertEqual(family.documentation, table[name][4], name)
            for sample in family.samples:
                self.assertEqual(set(sample.labels) - {"le"}, set(table[name][2].split()), name)

    def test_the_same_recording_counts_once(self):
        with Serve(self.folder) as serve:
            serve.put(self.small(0), "a.fap")
            wait_for("counted", lambda: serve.counted() == 1)
            serve.put(self.small(0), "b.fap")
            wait_for("known", lambda: serve.counted("duplicate") == 1)
            serve.wait_for_launches(10)
            serve.put(self.small(1), "c.fap")
            wait_for("another", lambda: serve.counted() == 2)
            serve.wait_for_launches(20)

    def test_invalid_recordings_are_moved_aside_and_serving_continues(self):
        outside = pathlib.Path(self.folder) / "outside.fap"
        shutil.copy(self.small(0), outside)
        with Serve(self.folder, "--max-recording-bytes", "10000000") as serve:
            newer = pathlib.Path(self.folder) / "newer.fap"
            shutil.copy(self.small(1), newer)
            with contextlib.closing(sqlite3.connect(newer)) as file:
                file.execute("PRAGMA user_version = 99")
            serve.put(newer, "newer.fap")
            (serve.spool / "garbage.fap").write_bytes(os.urandom(5000))
            (serve.spool / "empty.fap").touch()
            os.mkfifo(serve.spool / "fifo.fap")
            (serve.spool / "link.fap").symlink_to(outside)
            (serve.spool / "folder.fap").mkdir()
            with open(serve.spool / "huge.fap.part", "wb") as huge:
                huge.truncate(10 << 30)
            (serve.spool / "huge.fap.part").rename(serve.spool / "huge.fap")
            (serve.spool / "torn.fap").write_bytes(self.small(2).read_bytes()[:5000])
            (serve.spool / "evil\n# HELP x\nname.fap").write_bytes(b"no")
            (serve.spool / "a run's.fap.part").write_bytes(b"not finished")
            wait_for("nine are bad", lambda: serve.counted("bad") == 9)
            serve.put(self.small(3), "good.fap")
            wait_for("a good one is still counted", lambda: serve.counted() == 1)
            self.assertEqual(len(list((serve.spool / "bad").iterdir())), 9)
            self.assertTrue(outside.exists())
            self.assertTrue((serve.spool / "a run's.fap.part").exists())
            for words in ("a FIFO", "a symbolic link", "a folder", "newer", "more than the 10000000 allowed"):
                self.assertIn(words, serve.log_text())
            self.assertIn("garbage.fap is moved to bad/: it is not a recording", serve.log_text())
            self.assertNotIn("/proc/", serve.log_text())

    def test_totals_survive_restarts_and_crashes(self):
        with Serve(self.folder) as serve:
            serve.put(self.small(0), "a.fap")
            wait_for("counted", lambda: serve.counted() == 1)
            self.assertEqual(serve.stop(), 0)
        with Serve(self.folder) as serve:
            serve.wait_for_launches(10)
            for number in range(1, 30):
                serve.put(self.small(number), f"{number}.fap")
            time.sleep(0.35)  # in the middle of them
            serve.stop(signal.SIGKILL)
        with Serve(self.folder) as serve:
            # What was counted and not yet moved is a duplicate now; what was not is counted now.
            wait_for("all are counted", lambda: serve.counted() == 30)
            wait_for("the spool is empty", lambda: not list(serve.spool.glob("*.fap")))
            serve.wait_for_launches(300)

    def test_a_damaged_state_is_kept_and_reported(self):
        with Serve(self.folder) as serve:
            serve.put(self.small(0), "a.fap")
            wait_for("counted", lambda: serve.counted() == 1)
            serve.stop()
        state = pathlib.Path(self.folder) / "state" / "exporter.json"
        state.write_text(state.read_text()[:50])
        with Serve(self.folder) as serve:
            self.assertIsNone(serve.value("faprof_kernel_launches_total"))
            self.assertIn("is damaged", serve.log_text())
            self.assertTrue(state.with_suffix(".json.damaged").exists())

    def test_an_empty_state_is_kept_and_counters_start_from_zero(self):
        state = pathlib.Path(self.folder) / "state" / "exporter.json"
        state.parent.mkdir()
        state.touch()
        with Serve(self.folder) as serve:
            self.assertIn("is damaged", serve.log_text())
            self.assertTrue(state.with_suffix(".json.damaged").exists())
            serve.put(self.small(0), "a.fap")
            wait_for("counted", lambda: serve.counted() == 1)
            serve.wait_for_launches(10)

    def test_a_full_disk_of_the_state_is_not_ready_and_nothing_is_said_to_be_counted(self):
        # The state is larger than the limit of file sizes, which is a full disk to the exporter; the log is smaller.
        limit = 500_000
        state = pathlib.Path(self.folder) / "state" / "exporter.json"
        with Serve(self.folder) as serve:
            serve.put(self.small(0), "a.fap")
            wait_for("counted", lambda: serve.counted() == 1)
            serve.stop()
        content = json.loads(state.read_text())
        content["counted"] += [f"{number:064x}" for number in range(10_000)]
        state.write_text(json.dumps(content))
        with Serve(self.folder) as serve:
            wait_for("ready", lambda: serve.status("/readyz") == 200)
            resource.prlimit(serve.process.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            serve.put(self.small(1), "b.fap")
            serve.put(self.small(2), "c.fap")
            (serve.spool / "d.failure").write_text(json.dumps({"kind": "other", "error": "x", "created_at": "x"}))
            # On a busy machine it may first say that the newest collection is old.
            reason = re.compile("not ready: state: the state .*exporter.json cannot be written: ")
            wait_for("not ready", lambda: reason.match(serve.answer("/readyz")))
            collected = serve.value("faprof_exporter_last_collection_timestamp_seconds")
            wait_for("more collections", lambda: serve.value("faprof_exporter_last_collection_timestamp_seconds") > collected + 1)
            self.assertEqual(serve.value("faprof_exporter_up", collector="state"), 0)
            self.assertEqual(serve.counted(), 1)
            self.assertEqual(serve.value("faprof_exporter_spool_files"), 2)
            self.assertNotRegex(serve.log_text(), "[bc].fap is counted|a run failed")
            self.assertEqual(serve.log_text().count("cannot be written"), 1)
            resource.prlimit(serve.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            wait_for("counted", lambda: serve.counted() == 3)
            wait_for("ready", lambda: serve.status("/readyz") == 200)
            serve.wait_for_launches(30)
            for words in ("b.fap is counted", "c.fap is counted", "a run failed"):
                self.assertEqual(serve.log_text().count(words), 1)

    @unittest.skipIf("SANITIZED" in os.environ, "a sanitizer must be loaded first")
    def test_a_clock_that_jumps_forgets_no_kernel_and_leaves_it_ready(self):
        jump = pathlib.Path(self.folder) / "jump"
        env = os.environ | {"LD_PRELOAD": SET_CLOCK, "SET_CLOCK": str(jump)}
        with Serve(self.folder, "--recording-interval", "1h", env=env) as serve:
            serve.put(self.small(0), "a.fap")
            wait_for("counted", lambda: serve.counted() == 1)
            for seconds in (365 * 86400, -365 * 86400):
                jump.write_text(str(seconds))
                wait_for(
                    "a collection after the jump",
                    lambda: abs(serve.value("faprof_exporter_last_collection_timestamp_seconds") - time.time() - seconds) < 3600,
                )
                serve.wait_for_launches(10)
                wait_for("ready", lambda: serve.status("/readyz") == 200)

    def test_a_spool_that_vanishes_is_reported_until_it_returns(self):
        with Serve(self.folder) as serve:
            serve.put(self.small(0), "a.fap")
            wait_for("counted", lambda: serve.counted() == 1)
            shutil.rmtree(serve.spool)
            wait_for("said", lambda: serve.value("faprof_exporter_up", collector="spool") == 0)
            self.assertEqual(serve.value("faprof_exporter_up", collector="state"), 1)
            wait_for("not ready", lambda: "not ready: spool: the spool" in serve.answer("/readyz"))
            serve.wait_for_launches(10)
            serve.spool.mkdir()
            serve.put(self.small(1), "b.fap")
            wait_for("counted again", lambda: serve.counted() == 2)
            self.assertEqual(serve.value("faprof_exporter_up", collector="spool"), 1)

    def test_a_state_that_cannot_be_written_keeps_recordings_in_the_spool(self):
        with Serve(self.folder) as serve:
            aside = serve.state.rename(serve.folder / "aside")
            serve.state.touch()  # a file in the folder's place stops root too
            serve.put(self.small(0), "a.fap")
            wait_for("said", lambda: serve.value("faprof_exporter_up", collector="state") == 0)
            self.assertEqual(serve.value("faprof_exporter_up", collector="spool"), 1)
            self.assertEqual(serve.counted(), 0)
            self.assertTrue((serve.spool / "a.fap").exists())
            serve.state.unlink()
            aside.rename(serve.state)
            wait_for("counted", lambda: serve.counted() == 1)
            self.assertEqual(serve.value("faprof_exporter_up", collector="state"), 1)

    def test_a_half_saved_state_of_a_killed_exporter_is_removed(self):
        left = pathlib.Path(self.folder) / "state" / "exporter.json.part.1.2a"
        left.parent.mkdir()
        left.write_text('{"vers')
        with Serve(self.folder) as serve:
            serve.put(self.small(0), "a.fap")
            wait_for("counted", lambda: serve.counted() == 1)
            self.assertFalse(left.exists())

    def test_a_kernel_that_is_no_longer_recorded_keeps_its_counters_alone(self):
        with Serve(self.folder, "--recording-interval", "1h") as serve:
            serve.put(self.small(0), "a.fap")
            serve.wait_for_launches(10)
            self.assertIsNotNone(serve.value("faprof_kernel_correct", kernel="small"))
            wait_for("ready", lambda: serve.status("/readyz") == 200)
            self.assertEqual(serve.stop(), 0)
        with Serve(self.folder, "--recording-interval", "1s") as serve:
            wait_for("no gauges", lambda: serve.value("faprof_kernel_correct", kernel="small") is None)
            serve.wait_for_launches(10)
            self.assertEqual(serve.status("/readyz"), 200)

    @contextlib.contextmanager
    def prometheus(self, pages):
        """A Prometheus that has scraped these pages: [(Unix time, OpenMetrics)]. Gives its query()."""
        families = {}
        for when, page in pages:
            for family in parse_openmetrics(page):
                head, lines = families.setdefault(family.name, (family.type, []))
                for sample in family.samples:
                    labels = ",".join(f"{name}={json.dumps(value)}" for name, value in sample.labels.items())
                    lines.append(f"{sample.name}{{{labels}}} {sample.value!r} {when:.3f}")
        text = "".join(f"# TYPE {name} {kind}\n" + "".join(line + "\n" for line in lines) for name, (kind, lines) in families.items())
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (folder / "pages").write_text(text + "# EOF\n")
        (folder / "prometheus.yml").touch()
        subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", folder / "pages", folder / "data"], check=True, capture_output=True)
        port = free_port()
        with open(folder / "log", "wb") as log:
            process = subprocess.Popen(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                                        "--storage.tsdb.retention.time=1y", f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
        try:
            wait_for("Prometheus is ready", lambda: get_text(port, "/-/ready"))

            def query(expression, when):
                answer = json.loads(get_text(port, "/api/v1/query", query=expression, time=f"{when:.3f}"))
                return [float(each["value"][1]) for each in answer["data"]["result"]]

            yield query
        finally:
            process.kill()
            process.wait()

    def record_at_intervals(self, seconds, times):
        """[(Unix time, page)] of a serve whose clock the test moves, and the time of the page before each recording. A second kernel is
        recorded the last time alone."""
        second = tempfile.mkdtemp(dir=self.folder)
        subprocess.run([WRITE_RECORDINGS, second, "1", "second"], check=True)
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        clock = folder / "clock"
        interval = 0.1
        passed = 0.0
        began = time.time() - times * seconds - 86400
        pages, marks = [], []

        def start():
            return Serve(folder, "--recording-interval", "1s", interval=f"{interval}s", env=os.environ | {"LD_PRELOAD": SET_CLOCK, "SET_CLOCK": str(clock)})

        def a_collection():
            before = serve.value("faprof_exporter_last_collection_timestamp_seconds")
            wait_for("a collection", lambda: serve.value("faprof_exporter_last_collection_timestamp_seconds") > before)

        def move_clock(by):
            nonlocal passed
            passed += by
            (folder / "moved").write_text(f"{passed} {1000 + passed}")
            (folder / "moved").rename(clock)

        def scrape_after(by):
            """The page of a collection that began after the clock was moved."""
            move_clock(by)
            a_collection()
            a_collection()
            page = serve.get(Accept="application/openmetrics-text")
            pages.append((began + passed, page))
            return page

        move_clock(0)
        serve = start()
        try:
            for number in range(times):
                scrape_after(max(seconds - 10 * interval, 0) if number else interval)
                marks.append(pages[-1][0])
                serve.put(self.small(number), f"{number}.fap")
                if number == times - 1:
                    serve.put(pathlib.Path(second) / "small-0.fap", "second.fap")
                wait_for("counted", lambda wanted=number + 1 + (number == times - 1): serve.counted() == wanted)
                scrape_after(interval)
                if number < 2:  # while the page shows the old sums of a new kernel; and later
                    serve.stop(signal.SIGKILL)
                    serve = start()
                for _ in range(4):
                    scrape_after(interval)
        finally:
            serve.__exit__()
        return pages, marks

    @unittest.skipIf("SANITIZED" in os.environ, "a sanitizer must be loaded first")
    def test_increase_is_what_was_recorded_at_any_interval(self):
        for seconds in (1, 60, 3600, 25 * 3600):
            pages, marks = self.record_at_intervals(seconds, times=3)
            last = pages[-1][0]
            with self.subTest(seconds=seconds), self.prometheus(pages) as query:
                for metric, each in (("faprof_kernel_launches_total", 10), ("faprof_kernel_duration_seconds_count", 10),
                                     ("faprof_sm_active_cycles_total", 1000)):
                    # From a scrape to a scrape, so that Prometheus extrapolates nothing.
                    for since, kernel, recordings in ((pages[0][0], "small", 3), (marks[1], "small", 2), (marks[2], "small", 1), (marks[2], "second", 1)):
                        ms = round(last * 1000) - round(since * 1000)
                        (increase,) = query(f'increase({metric}{{kernel="{kernel}"}}[{ms}ms])', last)
                        self.assertAlmostEqual(increase, recordings * each, 6, f"{metric} of {kernel} since {since}")

    def test_one_exporter_empties_a_spool(self):
        with Serve(self.folder) as serve:
            second = ["serve", "--spool", str(serve.spool), "--state", str(serve.folder / "second"), "--no-nvml", "--listen", "127.0.0.1:0"]
            for number in range(20):
                serve.put(self.small(number), f"{number}.fap")
            refused = self.run_program(*second)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(f"another exporter uses the spool {serve.spool}", refused.stderr)
            wait_for("counted", lambda: serve.counted() == 20)
            # Its lock may be deleted, and then be another one's: it stops counting, and takes over when that one ends.
            (serve.spool / "exporter.lock").unlink()
            lock = open(serve.spool / "exporter.lock", "w")
            fcntl.flock(lock, fcntl.LOCK_EX)
            serve.put(self.small(20), "20.fap")
            wait_for("not ready", lambda: "not ready: spool: another exporter uses the spool" in serve.answer("/readyz"))
            self.assertTrue((serve.spool / "20.fap").exists())
            lock.close()
            wait_for("counted", lambda: serve.counted() == 21)
            serve.stop(signal.SIGKILL)  # its lock ends with it
        with Serve(self.folder) as serve:
            serve.put(self.small(21), "21.fap")
            wait_for("counted", lambda: serve.counted() == 22)
            self.assertEqual(serve.counted("duplicate"), 0)

    @unittest.skipUnless(os.geteuid() == 0, "another user's folder takes root to make")
    def test_a_spool_that_cannot_be_written_is_refused_and_not_ready(self):
        nobody = 65534
        for folder in (self.folder, self.recordings.name):
            os.chmod(folder, 0o755)
        program = shutil.copy(PROGRAM, self.folder)  # the build may be in a folder that is root's alone
        mock = unittest.mock.patch(f"{__name__}.PROGRAM", program)
        mock.start()
        self.addCleanup(mock.stop)
        os.chown(self.folder, nobody, nobody)
        spool = pathlib.Path(self.folder) / "spool"
        spool.mkdir(mode=0o555)
        os.chown(spool, nobody, nobody)
        refused = self.run_program("serve", "--spool", str(spool), "--state", f"{self.folder}/state", "--no-nvml", "--listen", "127.0.0.1:0",
                                   user=nobody, group=nobody)
        self.assertEqual(refused.returncode, 2)
        self.assertIn(f"the spool {spool} cannot be written to", refused.stderr)
        spool.chmod(0o755)
        with Serve(self.folder, user=nobody, group=nobody) as serve:
            wait_for("ready", lambda: serve.status("/readyz") == 200)
            spool.chmod(0o555)
            wait_for("not ready", lambda: f"not ready: spool: the spool {spool} cannot be written to" in serve.answer("/readyz"))
            self.assertEqual(serve.value("faprof_exporter_up", collector="spool"), 0)
            spool.chmod(0o755)
            wait_for("ready", lambda: serve.status("/readyz") == 200)
            (spool / "done").mkdir()  # root's
            serve.put(self.small(0), "a.fap")
            wait_for("not ready", lambda: "not ready: spool: a.fap cannot be moved" in serve.answer("/readyz"))
            self.assertEqual(serve.counted(), 1)
            (spool / "done").rmdir()
            wait_for("ready", lambda: serve.status("/readyz") == 200)
            self.assertEqual(serve.counted() + serve.counted("duplicate"), 1)

    def test_many_bad_files_hold_back_no_good_one(self):
        spool = pathlib.Path(self.folder) / "spool"
        spool.mkdir()
        for number in range(300):
            # The first cannot be told from a recording without reading them.
            (spool / f"a{number}.fap").write_bytes(b"SQLite format 3\0" + b"x" * 5000 if number < 80 else b"x")
            (spool / f"b{number}.failure").write_bytes(b"x")
        shutil.copy(self.small(0), spool / "good.fap")
        with Serve(self.folder, interval="1h") as serve:  # there is one collection alone
            self.assertEqual(serve.counted(), 1)
            self.assertEqual(serve.counted("bad"), 300)

    def test_a_new_recording_waits_for_few_of_many_broken_files(self):
        spool = pathlib.Path(self.folder) / "spool"
        spool.mkdir()
        for number in range(1000):
            # It takes a process to see that these are broken; a collection has time for few of them.
            (spool / f"a{number}.fap").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
        shutil.copy(self.small(0), spool / "good.fap")
        os.utime(spool / "good.fap", (time.time() + 10,) * 2)  # it is the newest
        with Serve(self.folder, interval="0.2s") as serve:
            wait_for("counted", lambda: serve.counted() == 1)
            self.assertLess(serve.counted("bad"), 500)

    def test_done_and_bad_have_a_limit_of_bytes(self):
        size = self.small(0).stat().st_blocks * 512
        with Serve(self.folder, "--keep-bytes", str(3 * size + size // 2)) as serve:
            for number in range(6):
                serve.put(self.small(number), f"{number}.fap")
                wait_for("counted", lambda last=number: serve.counted() == last + 1)
                (serve.spool / f"bad{number}.part").write_bytes(b"x" * size)
                (serve.spool / f"bad{number}.part").rename(serve.spool / f"bad{number}.fap")
                wait_for("bad", lambda last=number: serve.counted("bad") == last + 1)
            for folder, names in (("done", {"3.fap", "4.fap", "5.fap"}), ("bad", {"bad3.fap", "bad4.fap", "bad5.fap"})):
                wait_for("the oldest are deleted", lambda folder=folder, names=names: set(os.listdir(serve.spool / folder)) == names)

    def test_a_state_with_impossible_numbers_is_kept_aside(self):
        with Serve(self.folder) as serve:
            serve.put(self.small(0), "a.fap")
            serve.wait_for_launches(10)
            self.assertEqual(serve.value("faprof_exporter_refused_states"), 0)
            serve.stop()
        state = pathlib.Path(self.folder) / "state" / "exporter.json"
        good = state.read_text()
        kernel = '"sm_active_cycles":1000.0'
        self.assertIn(kernel, good)

        def edited(change):
            content = json.loads(good)
            change(content)
            return json.dumps(content)

        small = lambda content: content["totals"]["gpus"][0]["kernels"]["small"]  # noqa: E731
        cases = {
            "negative": good.replace(kernel, '"sm_active_cycles":-5'),
            "nan": good.replace(kernel, '"sm_active_cycles":NaN'),
            "huge": good.replace(kernel, '"sm_active_cycles":1e308'),
            "too huge": good.replace(kernel, '"sm_active_cycles":1e400'),
            "text": good.replace(kernel, '"sm_active_cycles":"1000"'),
            "flag": good.replace(kernel, '"sm_active_cycles":true'),
            "key twice": good.replace(kernel, kernel + "," + kernel),
            "GPU twice": edited(lambda content: content["totals"]["gpus"].append(content["totals"]["gpus"][0])),
            "GPU 1.5": edited(lambda content: content["totals"]["gpus"][0].update(gpu=1.5)),
            "hash twice": edited(lambda content: content["counted"].append(content["counted"][0])),
            "no hash": edited(lambda content: content["counted"].append("x")),
            "negative count": edited(lambda content: content.update(recordings_counted=-5)),
            "half a count": edited(lambda content: content.update(failed_runs=0.5)),
            "negative time": edited(lambda content: content.update(last_recording=-1)),
            "unknown gauge": edited(lambda content: small(content)["gauges"].update(faprof_forged=1)),
            "calls": edited(lambda content: list(small(content)["shapes"].values())[0].update(duration_counts=[1e99] * 11)),
            "text version": edited(lambda content: content.update(version="2")),
            "array": "[]",
        }
        for number, (name, text) in enumerate(cases.items()):
            with self.subTest(name):
                state.write_text(text)
                for old in state.parent.glob("*.damaged*"):
                    old.unlink()
                with Serve(self.folder) as serve:
                    self.assertIsNone(serve.value("faprof_kernel_launches_total"))
                    self.assertEqual(serve.counted(), 0)
                    self.assertEqual(serve.value("faprof_exporter_refused_states"), 1)
                    self.assertEqual(state.with_suffix(".json.damaged").read_text(), text)
                    self.assertEqual(serve.log_text().count("is damaged"), number + 1)
                    serve.stop()

    def test_minus_zero_in_a_state_is_zero(self):
        with Serve(self.folder) as serve:
            serve.put(self.small(0), "a.fap")
            serve.wait_for_launches(10)
            serve.stop()
        state = pathlib.Path(self.folder) / "state" / "exporter.json"

        def minus_zero(value):
            if isinstance(value, dict):
                return {name: part if name in ("version", "gpu") else minus_zero(part) for name, part in value.items()}
            if isinstance(value, list):
                return [minus_zero(part) for part in value]
            return -0.0 if isinstance(value, (int, float)) and not isinstance(value, bool) else value

        state.write_text(json.dumps(minus_zero(json.loads(state.read_text()))))
        self.assertIn("-0.0", state.read_text())
        with Serve(self.folder) as serve:
            self.assertEqual(serve.value("faprof_exporter_refused_states"), 0)
            lines = serve.get().splitlines()
            self.assertTrue(any(line.startswith("faprof_kernel_launches_total") for line in lines))
            self.assertEqual([line for line in lines if line.endswith((" -0", " -0.0"))], [])
            serve.put(self.small(1), "b.fap")  # saves the state
            serve.wait_for_launches(10)
            serve.stop()
        self.assertNotRegex(state.read_text(), r"-0\b")

    @unittest.skipIf("SANITIZED" in os.environ, "a sanitizer must be loaded first")
    def test_a_stop_before_main_ends_it_with_0(self):
        run = self.run_program("serve", "--spool", self.folder, "--state", f"{self.folder}/state", "--no-nvml", "--listen", "127.0.0.1:0",
                               env=os.environ | {"LD_PRELOAD": SET_CLOCK, "END_AT_START": "1"})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("stopping", run.stderr)

    def test_a_stop_while_the_loader_works_ends_it_with_0_where_the_signal_is_blocked(self):
        program = os.path.realpath(PROGRAM)
        arguments = [program, "serve", "--spool", self.folder, "--state", f"{self.folder}/state", "--no-nvml", "--listen", "127.0.0.1:0"]
        for _ in range(10 if "SANITIZED" in os.environ else 50):
            with subprocess.Popen(["env", "--block-signal=TERM", *arguments], stderr=subprocess.PIPE, text=True) as serve:
                while os.readlink(f"/proc/{serve.pid}/exe") != program:
                    pass
                serve.terminate()
                self.assertIn("stopping", serve.communicate(timeout=LONG)[1])
                self.assertEqual(serve.returncode, 0)

    def test_nothing_in_a_recording_forges_a_metric(self):
        hostile = tempfile.TemporaryDirectory()
        self.addCleanup(hostile.cleanup)
        subprocess.run([WRITE_RECORDINGS, hostile.name, "1", 'x"} 1\nfaprof_forged{a="\\'], check=True)
        with Serve(self.folder) as serve:
            serve.put(pathlib.Path(hostile.name) / "small-0.fap", "a.fap")
            wait_for("counted", lambda: serve.counted() == 1)
            names = {family.name for family in parse_openmetrics(serve.get(Accept="application/openmetrics-text"))}
            self.assertNotIn("faprof_forged", names)

    def test_failure_notes_are_counted(self):
        with Serve(self.folder) as serve:
            (serve.spool / "a.failure").write_text(json.dumps({"kind": "perfmon_conflict", "error": "x", "created_at": "x"}))
            (serve.spool / "b.failure").write_text(json.dumps({"kind": "other", "error": "x", "created_at": "x"}))
            (serve.spool / "c.failure").write_text("{")
            wait_for("counted", lambda: serve.value("faprof_exporter_failed_runs_total") == 2)
            self.assertEqual(serve.value("faprof_exporter_perfmon_conflicts_total"), 1)

    def test_shutdown_finishes_the_current_scrape(self):
        with Serve(self.folder, "--simulate-fleet", "1", spool=False) as serve:
            with socket.create_connection(("127.0.0.1", serve.port)) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
                client.sendall(b"GET /simulated/sim-host-000/metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                start = client.recv(1024)
                serve.process.terminate()
                time.sleep(0.3)
                rest = b""
                while chunk := client.recv(65536):
                    rest += chunk
            body = (start + rest).split(b"\r\n\r\n", 1)[1]
            self.assertGreater(len(body), 100000)
            self.assertTrue(body.endswith(b"\n"))
            self.assertEqual(serve.process.wait(timeout=LONG), 0)

    def test_simulated_hosts_are_found_and_labelled(self):
        with Serve(self.folder, "--simulate-fleet", "2", spool=False) as serve:
            targets = json.loads(serve.get("/simulated/targets"))
            self.assertEqual([t["labels"]["instance"] for t in targets], ["sim-host-000", "sim-host-001"])
            for target in targets:
                self.assertEqual(target["labels"]["simulated"], "true")
                self.assertEqual(target["targets"], [f"127.0.0.1:{serve.port}"])
                text = serve.get(target["labels"]["__metrics_path__"], Accept="application/openmetrics-text")
                self.hold_to_the_table(list(parse_openmetrics(text)))
                self.assertIn('faprof_simulation_info{simulated="true"', text)
            self.assertEqual(serve.status("/simulated/sim-host-002/metrics"), 404)
            self.assertIn("SIMULATED", serve.log_text())

    def test_others_are_served_beside_a_hundred_slow_clients(self):
        with Serve(self.folder, "--simulate-fleet", "1", spool=False) as serve:
            slow = []
            for _ in range(100):
                client = socket.create_connection(("127.0.0.1", serve.port))
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
                slow.append(client)
            for _ in range(20):
                serve.get()
            for client in slow:
                client.close()

    def test_two_hundred_clients_at_once(self):
        with Serve(self.folder) as serve:
            serve.put(self.small(0), "a.fap")
            wait_for("counted", lambda: serve.counted() == 1)
            answers = []
            threads = [threading.Thread(target=lambda: answers.append(serve.get())) for _ in range(200)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(len(answers), 200)
            self.assertTrue(all("faprof_kernel_launches_total" in answer for answer in answers))

    def test_symbolic_links_in_the_spool_are_not_followed(self):
        elsewhere = pathlib.Path(self.folder) / "elsewhere"
        elsewhere.mkdir()
        for number in range(5):
            (elsewhere / f"{number}.fap").touch()
        with Serve(self.folder, "--keep", "1") as serve:
            (serve.spool / "done").symlink_to(elsewhere)
            serve.put(self.small(0), "a.fap")
            wait_for("counted", lambda: serve.counted() == 1)
            wait_for("said", lambda: "cannot be moved" in serve.log_text())
            self.assertEqual(len(list(elsewhere.iterdir())), 5)
            # Once it can be moved it is, and another recording under its name is counted.
            (serve.spool / "done").unlink()
            wait_for("moved", lambda: (serve.spool / "done" / "a.fap").exists())
            serve.put(self.small(1), "a.fap")
            wait_for("counted", lambda: serve.counted() == 2)
            self.assertEqual(serve.counted("duplicate"), 0)

    def uncountable(self):
        """Recordings that must not be counted, and the error of each."""
        found = {}
        for number, (words, more) in enumerate({"is -1e+09": ["-1e9"], "is 2e+307": ["2e307"], "number is 64": ["1", "64"]}.items()):
            folder = pathlib.Path(self.folder) / str(number)
            folder.mkdir()
            subprocess.run([WRITE_RECORDINGS, folder, "1", "small", *more], check=True)
            found[words] = folder / "small-0.fap"
        return found

    def test_textfile_and_push_refuse_what_serve_refuses(self):
        for words, path in self.uncountable().items():
            for command in (["textfile"], ["push", "--gateway", "http://127.0.0.1:1"], ["textfile", str(self.small(0)), "--baseline"]):
                run = self.run_program(*command, str(path))
                self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
                self.assertEqual(run.stdout, "")
                self.assertIn(words, run.stderr)
                self.assertIn(str(path), run.stderr)

    def test_invalid_numbers_of_a_recording_do_not_change_counters(self):
        uncountable = self.uncountable()
        with Serve(self.folder) as serve:
            serve.put(self.small(0), "a.fap")
            wait_for("counted", lambda: serve.counted() == 1)
            for number, path in enumerate(uncountable.values()):
                serve.put(path, f"bad{number}.fap")
            wait_for("bad", lambda: serve.counted("bad") == len(uncountable))
            for words in uncountable:
                self.assertIn(words, serve.log_text())
            serve.wait_for_launches(10)
            self.assertEqual(serve.value("faprof_sm_active_cycles_total", kernel="small"), 1000)

    def test_replacing_the_program_does_not_mark_recordings_bad(self):
        program = pathlib.Path(self.folder) / "fa-profile"
        shutil.copy(PROGRAM, program)
        with unittest.mock.patch(f"{__name__}.PROGRAM", str(program)), Serve(self.folder) as serve:
            program.unlink()
            serve.put(self.small(0), "a.fap")
            wait_for("counted", lambda: serve.counted() == 1)

    def test_an_unreadable_state_is_an_error_and_not_an_empty_state(self):
        state = pathlib.Path(self.folder) / "state"
        for content in ("folder", '{"version": 99}'):
            shutil.rmtree(state, ignore_errors=True)
            state.mkdir()
            if content == "folder":
                (state / "exporter.json").mkdir()
            else:
                (state / "exporter.json").write_text(content)
            run = self.run_program("serve", "--spool", self.folder, "--state", str(state), "--no-nvml", "--listen", "127.0.0.1:0")
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn("newer" if content != "folder" else "cannot be read", run.stderr)

    def test_log_messages_are_one_line_and_a_closed_log_does_not_end_serve(self):
        with Serve(self.folder) as serve:
            (serve.spool / "x\n2026-01-01T00:00:00.000Z critical forged\x1b[31m\x9b\u202e.fap").write_bytes(b"no")
            wait_for("bad", lambda: serve.counted("bad") == 1)
            self.assertFalse([line for line in serve.log_text().splitlines() if "critical" in line.split(" ")[1:2]])
            self.assertFalse(set("\x1b\x9b\u202e") & set(serve.log_text()))
        folder = pathlib.Path(self.folder) / "2"
        folder.mkdir()
        port = free_port()
        process = subprocess.Popen([PROGRAM, "serve", "--spool", str(folder), "--state", str(folder / "s"), "--no-nvml",
                                    "--interval", "200ms", "--listen", f"127.0.0.1:{port}"], stderr=subprocess.PIPE)
        process.stderr.readline()
        process.stderr.close()
        (folder / "bad.fap").write_bytes(b"no")
        wait_for("set aside", lambda: (folder / "bad" / "bad.fap").exists())
        self.assertIsNone(process.poll())
        process.terminate()
        self.assertEqual(process.wait(timeout=LONG), 0)

    def test_an_empty_option_value_is_an_error(self):
        run = self.run_program("serve", "--web-config", "", "--no-nvml", "--listen", "127.0.0.1:0")
        self.assertEqual(run.returncode, 2)
        self.assertIn("--web-config is empty", run.stderr)

    @unittest.skipUnless(HANGING_NVML, "built without CUDA, so without NVML")
    def test_a_hanging_driver_does_not_block_serve(self):
        with Serve(self.folder, "--nvml-library", HANGING_NVML, nvml=True) as serve:
            serve.put(self.small(0), "a.fap")
            wait_for("counted", lambda: serve.counted() == 1)
            self.assertEqual(serve.value("faprof_exporter_up", collector="nvml"), 0)
            self.assertEqual(serve.stop(), 0)

    def test_memory_does_not_grow_under_load(self):
        def memory():
            status = pathlib.Path(f"/proc/{serve.process.pid}/status").read_text()
            return int(status.split("VmRSS:")[1].split()[0]) / 1000  # MB

        with Serve(self.folder) as serve:
            serve.put(LADDER, "ladder.fap")
            wait_for("counted", lambda: serve.counted() == 1)

            def scrape(count):
                for number in range(count):
                    accept = "application/openmetrics-text" if number % 2 else "text/plain"
                    serve.get(Accept=accept, **{"Accept-Encoding": "identity"})

            scrape(300)
            for number in range(10):
                serve.put(self.small(number), f"{number}.fap")
            wait_for("counted", lambda: serve.counted() == 11)
            before, files = memory(), serve.value("faprof_exporter_open_files")
            for number in range(10, 40):
                serve.put(self.small(number), f"{number}.fap")
            scrape(1500)
            wait_for("counted", lambda: serve.counted() == 41)
            if "SANITIZED" not in os.environ:  # AddressSanitizer keeps what is freed for a while, and finds leaks itself
                self.assertLess(memory() - before, 2, f"{before} MB before")
                self.assertLess(before, 50)
            self.assertLessEqual(serve.value("faprof_exporter_open_files"), files + 2)

    @unittest.skipIf("SANITIZED" in os.environ, "that program has the exporter's commands alone")
    def test_a_failed_run_writes_a_failure_note_to_the_spool(self):
        with Serve(self.folder) as serve:
            run = self.run_program("--ncu-set", "basic", "--kernel", "^mma$", "--spool", str(serve.spool))
            if run.returncode == 0:  # there is a GPU here
                wait_for("counted", lambda: serve.counted() == 1)
            else:
                self.assertEqual(run.returncode, 2, run.stderr)
                wait_for("counted", lambda: serve.value("faprof_exporter_failed_runs_total") == 1)

    def run_program(self, *arguments, **options):
        return subprocess.run([PROGRAM, *arguments], text=True, capture_output=True, timeout=LONG, **options)

    def test_bad_input_is_one_error_and_exit_code_2(self):
        with Serve(self.folder) as serve:
            taken = self.run_program("serve", "--listen", f"127.0.0.1:{serve.port}", "--no-nvml")
            locked = self.run_program("serve", "--spool", str(serve.spool), "--state", str(serve.state), "--no-nvml",
                                      "--listen", "127.0.0.1:0")
        not_a_folder = self.run_program("serve", "--spool", self.folder, "--state", str(self.small(0)), "--no-nvml")
        cases = {
            "in use": taken,
            "another exporter": locked,
            "state folder": not_a_folder,
            "is not an address": self.run_program("serve", "--listen", "nowhere", "--no-nvml"),
            "web.yml": self.run_program("serve", "--web-config", "/nonexistent/web.yml", "--no-nvml", "--listen", "127.0.0.1:0"),
            "INTERVAL": self.run_program("serve", "--interval", "soon"),
            "missing.fap": self.run_program("textfile", "missing.fap"),
            ".prom": self.run_program("textfile", str(self.small(0)), "-o", "x.txt"),
            "is not the address of a Pushgateway": self.run_program("push", "--gateway", "nowhere", str(self.small(0))),
            "did not answer": self.run_program("push", "--gateway", f"http://127.0.0.1:{free_port()}", str(self.small(0))),
            "is not a label": self.run_program("push", "--gateway", "http://127.0.0.1:1", "--group", "9x=1", str(self.small(0))),
            "push needs a recording": self.run_program("push", "--gateway", "http://127.0.0.1:1"),
            "write --job": self.run_program("push", "--gateway", "http://127.0.0.1:1", "--group", "job=x", str(self.small(0))),
            "duplicate label 'a'": self.run_program("push", "--gateway", "http://127.0.0.1:1", "--group", "a=1", "--group", "a=2", "--delete"),
            "%2f": self.run_program("push", "--gateway", "http://me:hunter2/@127.0.0.1:1", "--delete"),
            "%40": self.run_program("push", "--gateway", "http://me:1/hunter2@127.0.0.1:1", "--delete"),
            "at http://127.0.0.1:1/metrics/job/": self.run_program("push", "--gateway", "http://me:hunter2@127.0.0.1:1", "--delete"),
            "nowhere is not a folder": self.run_program("serve", "--spool", "nowhere", "--no-nvml", "--listen", "127.0.0.1:0"),
            "contains the bundled recording": self.run_program("serve", "--spool", str(LADDER.parent), "--no-nvml", "--listen", "127.0.0.1:0"),
        }
        if "SANITIZED" not in os.environ:  # that program has the exporter's commands alone
            cases["both name the output file"] = self.run_program("--spool", self.folder, "-o", "x.fap")
            cases["is not a folder"] = self.run_program("--spool", "/nonexistent")
        for words, run in cases.items():
            self.assertEqual(run.returncode, 2, words + ": " + run.stderr)
            self.assertIn(words.lower(), run.stderr.lower())
            self.assertNotIn("hunter2", run.stderr)

    def test_a_textfile_is_written_whole(self):
        output = pathlib.Path(self.folder) / "faprof.prom"
        run = self.run_program("textfile", str(LADDER), "--baseline", str(LADDER), "-o", str(output))
        self.assertEqual(run.returncode, 0, run.stderr)
        text = output.read_text()
        self.assertIn("faprof_baseline_phase_ratio", text)
        check = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True)
        self.assertEqual((check.returncode, check.stderr), (0, ""))
        series = sum(not line.startswith("#") for line in text.splitlines())
        self.assertEqual(run.stderr, f"fa-profile: wrote {series} series to {output}\n")
        copy = pathlib.Path(self.folder) / "copy.fap"
        shutil.copy(LADDER, copy)
        run = self.run_program("textfile", str(LADDER), str(copy))
        copy.unlink()
        calls = [line for line in text.splitlines() if line.startswith("faprof_kernel_duration_seconds_count")]
        self.assertTrue(calls)
        self.assertLessEqual(set(calls), set(run.stdout.splitlines()))  # not twice as many
        self.assertEqual(run.stderr, f"fa-profile: {copy} is the same recording as {LADDER} and counts once\n")
        run = self.run_program("textfile", str(LADDER), "missing.fap", "-o", str(output))
        self.assertEqual(run.returncode, 2)
        self.assertEqual(output.read_text(), text)
        self.assertEqual(os.listdir(self.folder), ["faprof.prom"])

    def test_push_replaces_its_group_and_deletes_it_on_request(self):
        port = free_port()
        gateway = subprocess.Popen(["prometheus-pushgateway", f"--web.listen-address=127.0.0.1:{port}",
                                    f"--persistence.file={self.folder}/pushgateway.db"], stderr=subprocess.DEVNULL)
        self.addCleanup(gateway.wait)
        self.addCleanup(gateway.kill)
        url = f"http://127.0.0.1:{port}"

        def metrics():
            with urllib.request.urlopen(url + "/metrics", timeout=LONG) as answer:
                return answer.read().decode()

        wait_for("the gateway answers", metrics)
        group = ["--gateway", url, "--job", "nightly", "--group", "branch=feature/a b"]
        run = self.run_program("push", *group, str(LADDER))
        self.assertEqual(run.returncode, 0, run.stderr)
        page = metrics()
        self.assertIn('branch="feature/a b"', page)
        self.assertIn('kernel="mma"', page)
        run = self.run_program("push", *group, str(self.small(0)))
        self.assertEqual(run.returncode, 0, run.stderr)
        page = metrics()
        self.assertIn('kernel="small"', page)
        self.assertNotIn('kernel="mma"', page)
        run = self.run_program("push", *group, "--delete")
        self.assertEqual(run.returncode, 0, run.stderr)
        # The gateway answers 202 to a deletion: it is done soon, and not before the answer.
        wait_for("the group is deleted", lambda: "feature/a b" not in metrics())
        for job, branch in (("nightly", ".."), ("..", "."), (".", "...")):
            group = ["--gateway", url.replace("//", "//me:hunter2@"), "--job", job, "--group", f"branch={branch}"]
            run = self.run_program("push", *group, str(self.small(0)))
            self.assertRegex(run.stderr, rf"^fa-profile: pushed \d+ series to {url}/metrics/job\S+\n$")
            self.assertRegex(metrics(), re.escape(f'branch="{branch}"') + "[^\n]*" + re.escape(f'job="{job}"'))
            self.run_program("push", *group, "--delete")
            wait_for(f"the group of {branch} is deleted", lambda gone=f'branch="{branch}"': gone not in metrics())

    @unittest.skipUnless(FAKE_NVML, "built without CUDA, so without NVML")
    def test_devices_are_read_and_a_missing_nvml_is_reported(self):
        with Serve(self.folder, "--nvml-library", FAKE_NVML, nvml=True, spool=False) as serve:
            wait_for("devices", lambda: serve.value("faprof_device_up", gpu="0") == 1)
            self.assertEqual(serve.value("faprof_exporter_up", collector="nvml"), 1)
            self.assertIsNotNone(serve.value("faprof_device_sm_clock_hertz", gpu="0"))
            self.assertEqual(serve.status("/readyz"), 200)
        with Serve(self.folder, "--nvml-library", "libnvidia-none.so.1", nvml=True, spool=False) as serve:
            wait_for("said", lambda: serve.value("faprof_exporter_up", collector="nvml") == 0)
            self.assertIsNone(serve.value("faprof_device_up", gpu="0"))
            self.assertEqual(serve.status("/metrics"), 200)
            self.assertRegex(serve.answer("/readyz"), "^not ready: nvml: ")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
