#!/usr/bin/env python3
"""The demo as a user runs it, and its preview page in a real browser: demo_test.py PROGRAM

Fails, and never skips, when Prometheus, Alertmanager, Chromium or Chart.js is missing: ci/setup.sh installs them.
"""

import html.parser
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "dashboards" / "demo"))

import browser  # noqa: E402
import servers  # noqa: E402
from servers import get  # noqa: E402

from support.processes import LONG, wait_for  # noqa: E402

DEMO = ROOT / "dashboards" / "demo" / "demo.py"
PROGRAM = None
HOSTS = 2

# Alerts that must not fire in a demo where every server is up. Not FaprofExporterDown and FaprofMetricsStale: a busy
# machine may miss a scrape of one second, and "five minutes" of it are about a second here.
MUST_BE_SILENT = {
    "FaprofNoTargets",
    "FaprofGpuLost",
    "FaprofCollectorDown",
    "FaprofSeriesBudget",
    "FaprofKernelIncorrect",
    "FaprofBadRecordings",
}


class Panels(html.parser.HTMLParser):
    """What the page says about its panels: {(dashboard, title): (state, text)}."""

    def __init__(self, page):
        super().__init__()
        self.panels, self.page_state, self.here, self.depth = {}, None, None, 0
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag == "body":
            self.page_state = found.get("data-state")
        if tag == "section" and "data-title" in found:
            self.here = (found["data-board"], found["data-title"])
            self.panels.setdefault(self.here, []).append([found["data-state"], ""])

    def handle_endtag(self, tag):
        if tag == "section":
            self.here = None

    def handle_data(self, text):
        if self.here:
            self.panels[self.here][-1][1] += text


def descendants(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *descendants(int(child))]
    return found


def processes_with(word):
    """The command lines of processes that name `word`."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in line:
            found.append(line)
    return found


def mask(pid, name):
    """A set of signals of /proc/PID/status: bit N - 1 is signal N."""
    return int(re.search(rf"^{name}:\s*(\w+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)[1], 16)


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Running:
    """One run of the demo, in a separate folder that is also its folder for temporary data."""

    def __init__(self, *more):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fa-profile-demo-test-"))
        self.base = servers.free_ports(4)[0]
        self.errors = open(self.folder / "stderr", "w+")
        self.process = subprocess.Popen(
            [
                DEMO,
                "--program",
                PROGRAM,
                "--hosts",
                str(HOSTS),
                "--port-base",
                str(self.base),
                "--interval",
                "1",
                *more,
            ],
            cwd=self.folder,
            env=os.environ | {"TMPDIR": str(self.folder)},
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )

    def lines(self):
        """What it prints once everything runs."""
        found = []
        while not found or not found[-1].startswith("Ctrl-C"):
            line = self.process.stdout.readline()
            if not line:
                self.process.wait()
                raise AssertionError(f"the demo ended with {self.process.returncode}: {self.error_text()}")
            found.append(line)
        return found

    def error_text(self):
        self.errors.seek(0)
        return self.errors.read()

    def end(self, number):
        self.process.send_signal(number)
        return self.process.wait(LONG)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def temporary(self):
        return [path for path in self.folder.iterdir() if path.name != "stderr"]


class DemoTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.demo = Running("--speedup", "240")
        cls.addClassCleanup(cls.demo.close)
        cls.said = "".join(cls.demo.lines())
        cls.prometheus = servers.Prometheus(cls.demo.folder, cls.demo.base + 1, [], name="asked")
        cls.prometheus.config.unlink()
        cls.alertmanager = servers.Alertmanager(cls.demo.folder, cls.demo.base + 2)

    def test_1_prints_its_addresses_and_that_data_is_simulated(self):
        for port in range(self.demo.base, self.demo.base + 4):
            self.assertIn(f"http://127.0.0.1:{port}/", self.said)
        self.assertIn("sim-host-001", self.said)
        self.assertIn('simulated="true"', self.said)

    def test_2_every_target_is_up_and_every_rule_evaluates(self):
        def all_up():
            targets = self.prometheus.targets()
            return len(targets) == HOSTS + 1 and all(target["health"] == "up" for target in targets)

        wait_for("every target to be up", all_up)

        def all_evaluated():
            groups = self.prometheus.api("rules")["groups"]
            self.rules = [rule for group in groups for rule in group["rules"]]
            return all(rule["health"] != "unknown" for rule in self.rules)

        wait_for("every rule to be evaluated", all_evaluated)
        self.assertGreater(len(self.rules), 40)
        self.assertEqual([(rule["name"], rule.get("lastError")) for rule in self.rules if rule["health"] != "ok"], [])

    def test_3_the_planted_outlier_is_named_and_no_other_gpu(self):
        found = wait_for(
            "FaprofGpuOutlier to reach Alertmanager", lambda: self.alertmanager.alerts("FaprofGpuOutlier")
        )
        self.assertEqual(
            [(each["instance"], each["gpu"], each["simulated"]) for each in found], [("sim-host-001", "5", "true")]
        )
        firing = {labels["alertname"] for labels in self.alertmanager.alerts()}
        self.assertEqual(firing & MUST_BE_SILENT, set())

    def test_4_every_panel_of_every_dashboard_is_drawn(self):
        wait_for(
            "data of a minute ago, in the rules' time",
            lambda: self.prometheus.query("job_kernel_phase:faprof_phase_cycles:ratio offset 15s"),
        )
        page, console = browser.page_source(f"http://127.0.0.1:{self.demo.base}/?board=all&refresh=0")
        self.assertEqual(console, [])
        found = Panels(page)
        self.assertEqual(found.page_state, "done")
        self.assertIn("not Grafana", page.partition("<title>")[2].partition("</title>")[0])
        wanted = {}
        for path in (ROOT / "dashboards" / "grafana").glob("*.json"):
            for panel in json.loads(path.read_text())["panels"]:
                key = (path.stem, panel["title"])
                wanted[key] = wanted.get(key, 0) + 1
        self.assertEqual({key: len(states) for key, states in found.panels.items()}, wanted)
        wrong = {key: state for key, states in found.panels.items() for state in states if state[0] != "drawn"}
        self.assertEqual(wrong, {})
        page, console = browser.page_source(f"http://127.0.0.1:{self.demo.base}/?board=nothing&refresh=0")
        self.assertEqual((console, Panels(page).page_state), ([], "error"))
        self.assertIn("no board is called nothing: take fleet, ", page)

    def test_5_the_planted_change_of_a_phase_is_named_and_no_other(self):
        name = "FaprofPhaseShareAboveBaseline"
        found = wait_for(f"{name} to reach Alertmanager", lambda: self.alertmanager.alerts(name))
        named = [tuple(each[label] for label in ("instance", "gpu", "kernel", "phase")) for each in found]
        self.assertEqual(named, [("sim-host-000", "2", "mma", "softmax")])

    def test_5_the_specimens_softmax_fires_on_each_simulated_gpu(self):
        name, gpus = "FaprofSoftmaxBottleneck", 8 * HOSTS
        specimens = {("cublas", "le_2048"), ("serial_softmax", "le_512"), ("hopper", "le_2048")}

        def all_fire():
            found = [each for each in self.alertmanager.alerts(name) if "simulated" in each]
            return found if len(found) >= len(specimens) * gpus else None

        found = wait_for(f"{name} of each GPU to reach Alertmanager", all_fire, 60)
        self.assertEqual({(each["kernel"], each["shape"]) for each in found}, specimens)
        self.assertEqual(len(found), len(specimens) * gpus)

    def test_6_serves_the_loopback_and_its_own_files_alone(self):
        for path in ("/../demo/demo.py", "/style.css/../../demo/demo.py", "/api/v2/status", "/preview"):
            with self.assertRaisesRegex(servers.ServerError, "HTTP 404", msg=path):
                get(f"http://127.0.0.1:{self.demo.base}{path}")
        # /proc/net/tcp's fourth column: 0A is listening; its second the address, 0100007F the loopback.
        lines = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        lines += [line.split() for line in pathlib.Path("/proc/net/tcp6").read_text().splitlines()[1:]]
        listening = {int(line[1].partition(":")[2], 16): line[1].partition(":")[0] for line in lines if line[3] == "0A"}
        self.assertEqual([listening.get(self.demo.base + i) for i in range(4)], ["0100007F"] * 4)

    def test_7_a_second_demo_on_the_same_ports_is_an_error_at_once(self):
        done = subprocess.run(
            [DEMO, "--program", PROGRAM, "--port-base", str(self.demo.base)],
            capture_output=True,
            text=True,
            timeout=LONG,
        )
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(f"{self.demo.base + 1} (Prometheus)", done.stderr)
        self.assertIn("--port-base", done.stderr)

    def test_8_options_that_make_no_sense_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "file").touch()
            for option in (("--seconds", "0"), ("--seconds", "nan"), ("--keep", folder), ("--keep", f"{folder}/file")):
                done = subprocess.run(
                    [DEMO, "--program", PROGRAM, *option],
                    capture_output=True,
                    text=True,
                    timeout=LONG,
                )
                self.assertEqual(done.returncode, 2, option)
                self.assertRegex(done.stderr.splitlines()[-1], f"error: {option[0]} (takes|must) ")

    def test_9_sigterm_ends_everything_and_leaves_nothing(self):
        children = descendants(self.demo.process.pid)
        self.assertGreaterEqual(len(children), 3)
        self.assertEqual(self.demo.end(signal.SIGTERM), 0, self.demo.error_text())
        self.assertEqual([pid for pid in children if alive(pid)], [])
        self.assertEqual(self.demo.temporary(), [])
        self.assertEqual(self.demo.error_text(), "")


class EndingTest(unittest.TestCase):
    def setUp(self):
        self.demo = Running()
        self.addCleanup(self.demo.close)
        self.demo.lines()
        self.children = descendants(self.demo.process.pid)

    def gone(self):
        return not any(alive(pid) for pid in self.children)

    def test_a_server_that_dies_ends_the_demo_and_is_named(self):
        names = {pathlib.Path(f"/proc/{pid}/comm").read_text().strip(): pid for pid in self.children}
        os.kill(names["prometheus"], signal.SIGKILL)
        self.assertEqual(self.demo.process.wait(LONG), 2)
        self.assertIn("prometheus ended (signal 9)", self.demo.error_text())
        self.assertTrue(self.gone())
        self.assertEqual(self.demo.temporary(), [])

    def test_no_server_outlives_a_demo_that_is_killed(self):
        self.assertEqual(self.demo.end(signal.SIGKILL), -signal.SIGKILL)
        wait_for("every server to end", self.gone)


class InterruptTest(unittest.TestCase):
    """What a signal does at each moment of the start: as the demo comes to it, however long that takes."""

    def ends_clean(self, number, moment, codes=(0,)):
        demo = Running("--seconds", "600")
        try:
            wait_for(moment.__name__, lambda: demo.process.poll() is not None or moment(demo), pause=0.002)
            self.assertIn(demo.end(number), codes, demo.error_text())
            self.assertEqual(demo.error_text(), "")
            self.assertEqual(demo.temporary(), [])
            wait_for("every child to be gone", lambda: not processes_with(str(demo.folder)))
        finally:
            demo.close()

    def at(self, moment, codes=lambda number: (0,)):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number.name):
                self.ends_clean(number, moment, codes(number))

    def test_before_anything_the_signal_may_end_it(self):
        self.at(lambda demo: True, lambda number: (0, -number))

    def test_while_python_starts_and_imports(self):
        def signals_are_blocked(demo):
            return mask(demo.process.pid, "SigBlk") >> (signal.SIGTERM - 1) & 1

        self.at(signals_are_blocked)

    def test_before_the_rules_are_made(self):
        def handlers_are_there(demo):
            return mask(demo.process.pid, "SigCgt") >> (signal.SIGTERM - 1) & 1

        self.at(handlers_are_there)

    def test_while_the_folder_is_made(self):
        self.at(lambda demo: demo.temporary())

    def test_while_the_rules_are_made(self):
        self.at(lambda demo: [each for each in processes_with(str(demo.folder)) if "generate.py" in each])

    def test_while_the_servers_start(self):
        for name in ("fa-profile-serve", "alertmanager", "prometheus"):
            with self.subTest(server=name):
                self.at(lambda demo, name=name: list(demo.folder.glob(f"*/{name}.log")))

    def test_once_everything_runs(self):
        self.at(lambda demo: demo.lines())


if __name__ == "__main__":
    PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
