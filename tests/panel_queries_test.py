#!/usr/bin/env python3
"""Every query of every panel against a real Prometheus that scrapes the real exporter, then an empty and a stale one:
panel_queries_test.py PROGRAM

`panel_queries_test.py PROGRAM PanelQueriesBench` holds the queries to a time instead (label bench): how long they take is
the machine's speed too. Fails, and never skips, when Prometheus or Chromium is missing: ci/setup.sh installs them.
"""

import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "dashboards" / "demo"))

import browser  # noqa: E402
import preview_server  # noqa: E402
import servers  # noqa: E402

from support.processes import LONG, wait_for  # noqa: E402

PROGRAM = None
HOSTS = 2
SPEEDUP = 360
VALUES = {"window": "20s", "since": "5s", "__rate_interval": "6s", "__range": "20s"}

# What a store whose exporters are gone still knows, and rightly: Prometheus writes these itself.
OF_PROMETHEUS = ("up{", "scrape_duration_seconds{", "scrape_samples_scraped{", "ALERTS{")


def queries():
    command = [
        sys.executable,
        "-B",
        ROOT / "dashboards" / "generate.py",
        "--queries",
        *(f"{k}={v}" for k, v in VALUES.items()),
    ]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def where(query):
    return f"{query['dashboard']} / {query['panel']} / {query['legend']}: {query['query']}"


def looks_back(query):
    """Whether it may still see samples of before: it has a range, or a recording rule has."""
    return "[" in query["query"] or re.search(r"\b(gpu|job|rollup)_?\w*:", query["query"])


class Stores(unittest.TestCase):
    """A Prometheus that scrapes the exporter, and an empty one."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="fa-profile-queries-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        ports = servers.free_ports(3)
        rules = servers.rules_at(SPEEDUP, cls.folder / "rules")
        cls.serve = servers.Serve(cls.folder, PROGRAM, ports[0], HOSTS, simulate_interval=1, interval=1)
        cls.prometheus = servers.Prometheus(cls.folder, ports[1], servers.jobs_of(cls.serve, 1), rules)
        cls.empty = servers.Prometheus(cls.folder, ports[2], [], rules, name="empty")
        cls.queries = queries()
        cls.serve.add_recordings()
        for child in (cls.serve, cls.prometheus, cls.empty):
            cls.addClassCleanup(child.stop)
            child.start()
        cls.started = time.time()

    @classmethod
    def wait_for_data(cls):
        wait_for(
            "rules over the window, and those before",
            lambda: cls.prometheus.query("job_kernel_phase:faprof_phase_cycles:ratio offset 10s"),
            children=[cls.serve, cls.prometheus],
        )
        wait_for("an alert that fires", lambda: cls.prometheus.firing("FaprofGpuOutlier"))

    def ranges(self):
        """(query, values, seconds) of every query that is drawn over time."""
        end = time.time()
        for query in self.queries:
            if not query["instant"]:
                before = time.monotonic()
                data = self.prometheus.api("query_range", query=query["query"], start=end - 15, end=end, step=1)
                seconds = time.monotonic() - before
                yield query, [float(value) for series in data["result"] for _, value in series["values"]], seconds


class PanelQueriesTest(Stores):
    def every(self, prometheus, judge, at=None):
        """Runs every query; fails with all that `judge(query, result)` says."""
        wrong = []
        for query in self.queries:
            try:
                result = prometheus.query(query["query"], at)
            except servers.ServerError as error:
                wrong.append(f"{where(query)}\n  fails: {error}")
                continue
            said = judge(query, result)
            if said:
                wrong.append(f"{where(query)}\n  {said}")
        self.assertEqual(wrong, [], "\n".join(["", *wrong]))

    def test_1_on_live_data_all_have_finite_values_with_the_labels_they_claim(self):
        self.wait_for_data()

        def judge(query, result):
            # A busy machine may miss scrapes of a second, so a result may take its time to be there.
            if not result:
                try:
                    result = wait_for("a result", lambda: self.prometheus.query(query["query"]), LONG / 10)
                except servers.ServerError:
                    return "has no result"
            if not all(math.isfinite(value) for _, value in result):
                return (
                    f"has values that are not finite: {[value for _, value in result if not math.isfinite(value)][:3]}"
                )
            there = set().union(*(set(labels) for labels, _ in result)) - {"__name__"}
            if not there <= set(query["labels"]):
                return f"has the labels {sorted(there - set(query['labels']))} that it does not claim"
            lacking = set(query["labels"]) - there
            return f"lacks the labels {sorted(lacking)} that it claims" if lacking else None

        self.every(self.prometheus, judge)

    def test_2_on_a_range_all_succeed_with_finite_values(self):
        wrong = [where(query) for query, values, _ in self.ranges() if not all(map(math.isfinite, values))]
        self.assertEqual(wrong, [])

    def test_3_on_an_empty_store_all_succeed_and_have_no_result(self):
        wait_for("its rules to be evaluated", lambda: self.empty.firing("FaprofNoTargets"))
        self.every(self.empty, lambda query, result: f"shows {result[:2]}" if result else None)

    def test_3_on_an_empty_store_every_panel_of_the_preview_reads_na(self):
        about = {"speedup": SPEEDUP, "interval": 1, "hosts": HOSTS, "started": self.started}
        page = preview_server.start(servers.free_ports(1)[0], self.empty.address, about)
        try:
            source, console = browser.page_source(f"http://{servers.HOST}:{page.server_port}/?board=all&refresh=0")
        finally:
            page.shutdown()
            page.server_close()
        self.assertEqual(console, [])
        panels = re.findall(
            r'<section class="panel [^>]*data-title="([^"]*)"[^>]*data-state="([^"]*)".*?<div class="body">(.*?)</div>',
            source,
        )
        self.assertEqual([panel for panel in panels if panel[1:] != ("na", "n/a")], [])
        self.assertEqual(len(panels), len({(query["dashboard"], query["panel"]) for query in self.queries}))

    def test_4_after_the_exporter_ends_no_value_looks_current(self):
        self.serve.stop()
        wait_for("the targets to be down", lambda: self.prometheus.value("sum(up)") == 0)
        self.assertEqual(self.prometheus.value("sum(up == bool 0)"), HOSTS + 1)

        def judge(query, result):
            excused = looks_back(query) or any(name in query["query"] for name in OF_PROMETHEUS)
            return f"still shows {result[:2]}" if result and not excused else None

        self.every(self.prometheus, judge)

    def test_5_an_hour_later_no_query_has_a_result(self):
        self.every(
            self.prometheus,
            lambda query, result: f"still shows {result[:2]}" if result and "[7d]" not in query["query"] else None,
            at=time.time() + 3600,
        )
        self.every(
            self.prometheus,
            lambda query, result: f"still shows {result[:2]}" if result else None,
            at=time.time() + 8 * 86400,
        )


class PanelQueriesBench(Stores):
    def test_on_live_data_every_query_takes_less_than_a_second(self):
        self.wait_for_data()
        slow = []
        for query in self.queries:
            before = time.monotonic()
            self.prometheus.query(query["query"])
            slow.append((time.monotonic() - before, where(query)))
        slow += [(seconds, where(query)) for query, _, seconds in self.ranges()]
        slow.sort(reverse=True)
        print(f"{len(slow)} queries, the slowest {1e3 * slow[0][0]:.0f} ms: {slow[0][1]}")
        self.assertEqual([each for each in slow if each[0] > 1], [])


if __name__ == "__main__":
    PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2, defaultTest=None if sys.argv[1:] else "PanelQueriesTest")
