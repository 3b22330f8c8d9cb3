#!/usr/bin/env python3
"""Drills on real Prometheus and Alertmanager: drills_test.py PROGRAM

What goes wrong fires its alert, and resolves it after.

The rules are those of dashboards/rules/ with every time divided by 720. What happens to an exporter happens to a real
fa-profile serve; conditions of GPUs come from pages made by hand. Fails, and never skips, when a server is missing.
"""

import http.server
import json
import pathlib
import shutil
import signal
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "dashboards" / "demo"))

import servers  # noqa: E402

from support.processes import LONG, wait_for  # noqa: E402

PROGRAM = None
SPEEDUP = 720
# Nothing is recorded during the drills, and 15 s are three hours here.
RIGHTLY = {"FaprofRecordingsStale", "FaprofNoRecordings"}
# A busy machine may miss a scrape of one second, and "five minutes" of it are less than a second here.
OF_A_BUSY_MACHINE = {"FaprofExporterDown", "FaprofMetricsStale", "FaprofScrapeSlow"}


class Page:
    """An exporter's page by hand: healthy until a drill says otherwise."""

    def __init__(self):
        self.values, self.more, self.delay = {}, "", 0

    def text(self):
        time.sleep(self.delay)
        now = time.time()
        healthy = {
            "faprof_exporter_last_collection_timestamp_seconds": now,
            "faprof_exporter_series": 100,
            "faprof_exporter_last_recording_timestamp_seconds": now,
            'faprof_device_up{gpu="0"}': 1,
        }
        return "".join(f"{name} {value}\n" for name, value in (healthy | self.values).items()) + self.more


PAGES = {name: Page() for name in ("still", "flood", "budget", "gpu", "ecc", "kernel", "gate", "slow", "reset")}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = PAGES[self.path.strip("/")].text().encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Pages(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # Prometheus hangs up on a page that is too slow


class DrillsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="fa-profile-drills-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.pages = Pages((servers.HOST, 0), Handler)
        threading.Thread(target=cls.pages.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.pages.server_close)
        cls.addClassCleanup(cls.pages.shutdown)
        PAGES["reset"].values = {
            'faprof_device_xid_errors_total{gpu="0",xid="79"}': 7,
            'faprof_exporter_recordings_total{result="bad"}': 40,
            "faprof_exporter_series_dropped_total": 1000,
        }
        ports = servers.free_ports(3)
        cls.serve = servers.Serve(cls.folder, PROGRAM, ports[0], interval=1)
        cls.alertmanager = servers.Alertmanager(cls.folder, ports[1])
        jobs = [
            servers.scrape_job(name, interval, file_sd_configs=[{"files": [f"{cls.folder}/{name}.json"]}])
            for name, interval in (("fa-profile", 1), ("fa-profile-slow", 2))
        ]
        rules = servers.rules_at(SPEEDUP, cls.folder / "rules", "5s")
        cls.prometheus = servers.Prometheus(cls.folder, ports[2], jobs, rules, cls.alertmanager)
        cls.write_targets(True)
        cls.serve.add_recordings()
        for child in (cls.serve, cls.alertmanager, cls.prometheus):
            cls.addClassCleanup(child.stop)
            child.start()

    @classmethod
    def write_targets(cls, there):
        def target(name):
            return {
                "targets": [f"{servers.HOST}:{cls.pages.server_port}"],
                "labels": {"instance": name, "__metrics_path__": f"/{name}"},
            }

        real = {"targets": [cls.serve.address], "labels": {"instance": "serve"}}
        files = {
            "fa-profile.json": [real, *(target(name) for name in PAGES if name != "slow")],
            "fa-profile-slow.json": [target("slow")],
        }
        for name, targets in files.items():
            part = cls.folder / f"{name}.part"
            part.write_text(json.dumps(targets if there else []))
            part.rename(cls.folder / name)

    def alerts(self):
        """{(alert, instance)} as Alertmanager has them."""
        return {(labels["alertname"], labels.get("instance", "")) for labels in self.alertmanager.alerts()}

    def fires(self, *wanted):
        missing, end = set(wanted), time.monotonic() + LONG
        while missing and time.monotonic() < end:
            missing -= self.alerts()  # one after another will do: that an Xid is new is true for a moment only
            time.sleep(0.5)
        self.assertEqual(missing, set(), "did not fire")

    def resolves(self, *wanted):
        self.assertTrue(wait_for(f"{wanted} to resolve", lambda: not set(wanted) & self.alerts()))

    def new_alerts(self, seconds):
        """What fires within so long and should not."""
        before, found = self.alerts(), set()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found |= self.alerts() - before
            time.sleep(0.5)
        return {each for each in found if each[0] not in RIGHTLY | OF_A_BUSY_MACHINE}

    def test_0_healthy_targets_fire_nothing(self):
        self.fires(("FaprofXid", "reset"))  # new to this Prometheus, so it is news: for some seconds, so look first
        wait_for("every target to be up", lambda: self.prometheus.value("sum(up)") == len(PAGES) + 1)
        self.resolves(("FaprofXid", "reset"))
        self.assertEqual(self.new_alerts(3), set())

    def test_1_flood_garbage_in_the_spool_is_reported_and_stops_nothing(self):
        for i in range(70):
            (self.serve.spool / f"garbage-{i}.fap").write_bytes(b"SQLite format 3\0" + bytes(i))
        for kind in ("perfmon_conflict", "other"):
            note = {"kind": kind, "error": "drill", "created_at": "2026-01-01T00:00:00Z"}
            (self.serve.spool / f"{kind}.failure").write_text(json.dumps(note))
        self.fires(("FaprofBadRecordings", "serve"), ("FaprofPerfmonConflict", "serve"), ("FaprofRunsFail", "serve"))
        wait_for("serve to be scraped still", lambda: self.prometheus.value('up{instance="serve"}') == 1)
        self.serve.check()

    def test_2_every_bad_page_fires_its_alert(self):
        PAGES["still"].values = {"faprof_exporter_last_collection_timestamp_seconds": time.time()}
        PAGES["flood"].more = "".join(f'faprof_kernel_registers{{gpu="0",kernel="k{i}"}} 1\n' for i in range(17000))
        PAGES["budget"].values = {"faprof_exporter_series": 1900}
        PAGES["gpu"].values = {
            'faprof_device_up{gpu="0"}': 0,
            'faprof_device_xid_errors_total{gpu="0",xid="79"}': 1,
            'faprof_device_throttled{gpu="0",reason="hw_thermal"}': 1,
        }
        PAGES["ecc"].values = {'faprof_device_ecc_errors_total{gpu="0",kind="uncorrected"}': 2}
        PAGES["kernel"].values = {'faprof_kernel_correct{gpu="0",kernel="mma"}': 0}
        PAGES["gate"].values = {'faprof_gate_verdict{case="mma 1,1,512,64",verdict="REGRESSION"}': 1}
        PAGES["slow"].delay = 1.3
        wanted = [
            ("FaprofMetricsStale", "still"),
            ("FaprofExporterDown", "flood"),
            ("FaprofSeriesBudget", "budget"),
            ("FaprofGpuLost", "gpu"),
            ("FaprofXid", "gpu"),
            ("FaprofUncorrectedEcc", "ecc"),
            ("FaprofKernelIncorrect", "kernel"),
            ("FaprofGateRegression", "gate"),
            ("FaprofScrapeSlow", "slow"),
        ]
        self.fires(*wanted)
        flood = next(each for each in self.prometheus.targets() if each["labels"]["instance"] == "flood")
        self.assertIn("sample limit", flood["lastError"])
        for page in PAGES.values():
            page.values, page.more, page.delay = page.values if page is PAGES["reset"] else {}, "", 0
        self.resolves(*wanted)

    def test_3_a_missing_spool_fires_and_resolves(self):
        away = self.serve.spool.with_name("away")
        self.serve.spool.rename(away)
        self.fires(("FaprofCollectorDown", "serve"))
        away.rename(self.serve.spool)
        self.resolves(("FaprofCollectorDown", "serve"))

    def test_4_a_killed_exporter_fires_and_resolves(self):
        self.serve.kill()
        self.fires(("FaprofExporterDown", "serve"))
        self.serve.start()
        self.resolves(("FaprofExporterDown", "serve"))

    def test_5_a_frozen_exporter_fires_and_resolves(self):
        self.serve.signal(signal.SIGSTOP)
        self.fires(("FaprofExporterDown", "serve"))
        self.serve.signal(signal.SIGCONT)
        self.resolves(("FaprofExporterDown", "serve"))

    def test_6_alerts_of_the_flood_resolve_although_the_counters_keep_their_values(self):
        self.resolves(("FaprofBadRecordings", "serve"), ("FaprofPerfmonConflict", "serve"), ("FaprofRunsFail", "serve"))
        self.assertEqual(self.prometheus.value('faprof_exporter_recordings_total{instance="serve",result="bad"}'), 70)

    def test_7_counters_that_restart_at_zero_fire_nothing(self):
        self.serve.stop()
        shutil.rmtree(self.serve.state)
        PAGES["reset"].values = dict.fromkeys(PAGES["reset"].values, 0)
        self.serve.start()
        bad = 'faprof_exporter_recordings_total{instance="serve",result="bad"}'
        wait_for("the counters to begin again", lambda: self.prometheus.value(bad) == 0)
        wait_for("the exporter to be up", lambda: ("FaprofExporterDown", "serve") not in self.alerts())
        self.assertEqual(self.new_alerts(6), set())
        self.assertEqual({name for name, _ in self.alerts()} - RIGHTLY - OF_A_BUSY_MACHINE, set())

    def test_8_missing_targets_fire_and_resolve(self):
        self.write_targets(False)
        self.fires(("FaprofNoTargets", ""))
        self.write_targets(True)
        self.resolves(("FaprofNoTargets", ""))


if __name__ == "__main__":
    PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
