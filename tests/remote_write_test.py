"""Roll-ups alone reach remote storage, as docs/scale.md sets it up: remote_write_test.py PROGRAM SOURCE

A simulated host of eight GPUs, a real Prometheus with the shipped rules (their times divided), and a real VictoriaMetrics
as the target of the remote_write block that the document shows.
"""
import collections
import contextlib
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

from support.processes import LONG, free_port, get_text, wait_for

PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
SPEEDUP = 2000  # six hours are 11 s, two minutes one
EVALUATIONS = 4  # with every roll-up, before they are compared
MOST_PER_GPU = 60


def documented_blocks():
    """The remote_write blocks of docs/scale.md, by the system that they are for."""
    text = (SOURCE / "docs" / "scale.md").read_text()
    return {name: yaml.safe_load(block)["remote_write"]
            for name, block in re.findall(r"### (\w+)[^\n]*\n(?:(?!###)[\s\S])*?```yaml\n(remote_write:[\s\S]*?)```", text)}


def identity(labels):
    return tuple(sorted(labels.items()))


class RemoteWrite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.processes = []
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(cls.stop)
        cls.start_everything()

    @classmethod
    def stop(cls):
        for process in cls.processes:
            process.terminate()
        for process in cls.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LONG)
            process.kill()
            process.wait()
        shutil.rmtree(cls.folder)

    @classmethod
    def start(cls, name, *command):
        with open(cls.folder / f"{name}.log", "w") as log:
            cls.processes.append(subprocess.Popen([str(word) for word in command], stdout=log, stderr=log))

    @classmethod
    def start_everything(cls):
        exporter, cls.prometheus, cls.remote = free_port(), free_port(), free_port()
        cls.start("serve", PROGRAM, "serve", "--no-nvml", "--simulate-fleet", 1, "--simulate-interval", "500ms",
                  "--listen", f"127.0.0.1:{exporter}")
        cls.start("victoria-metrics", "victoria-metrics", "-storageDataPath", cls.folder / "remote", "-retentionPeriod", 1,
                  "-httpListenAddr", f"127.0.0.1:{cls.remote}", "-memory.allowedBytes", "256MB", "-loggerLevel", "WARN")
        subprocess.run([sys.executable, "-B", SOURCE / "dashboards" / "generate.py", "--speedup", str(SPEEDUP), "-o",
                        cls.folder / "rules"], check=True)
        block = documented_blocks()["VictoriaMetrics"]
        block[0]["url"] = f"http://127.0.0.1:{cls.remote}/api/v1/write"
        block[0]["queue_config"] = {"batch_send_deadline": "500ms"}
        config = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
            "rule_files": [f"{cls.folder}/rules/recording.yml", f"{cls.folder}/rules/rollups.yml"],
            "remote_write": block,
            "scrape_configs": [{"job_name": "fa-profile-simulated", "sample_limit": 17000, "http_sd_configs": [
                {"url": f"http://127.0.0.1:{exporter}/simulated/targets", "refresh_interval": "1s"}]}]}
        (cls.folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        wait_for("the exporter answers", lambda: get_text(exporter, "/healthz"))
        wait_for("VictoriaMetrics answers", lambda: get_text(cls.remote, "/health"))
        cls.start("prometheus", "prometheus", "--config.file", cls.folder / "prometheus.yml", "--storage.tsdb.path",
                  cls.folder / "local", "--web.listen-address", f"127.0.0.1:{cls.prometheus}", "--log.level", "warn")
        cls.records = [rule["record"] for group in yaml.safe_load((cls.folder / "rules" / "rollups.yml").read_text())["groups"]
                       for rule in group["rules"]]
        wait_for("roll-ups of every phase", cls.enough)
        # What Prometheus has up to a moment, and the same once it arrived.
        cls.newest = max(timestamp for samples in cls.local_samples().values() for timestamp in samples)
        cls.local = wait_for("no sample of that time is still to come", cls.settled_samples)
        cls.arrived = wait_for("they arrive", cls.remote_samples)

    @classmethod
    def enough(cls):
        answer = json.loads(get_text(cls.prometheus, "/api/v1/query",
                                query="count_over_time(rollup_gpu_phase:faprof_phase_cycles:increase[1m])"))
        found = answer["data"]["result"]
        return found and min(int(series["value"][1]) for series in found) >= EVALUATIONS

    @classmethod
    def local_samples(cls):
        """{labels: {milliseconds: value}}, each sample as it was stored."""
        answer = json.loads(get_text(cls.prometheus, "/api/v1/query", query='{__name__=~"rollup_.+"}[5m]'))
        return {identity(series["metric"]): {round(1000 * at): float(value) for at, value in series["values"]}
                for series in answer["data"]["result"]}

    @classmethod
    def settled_samples(cls):
        """The local samples up to then; None until each record has a later one: an evaluation ends before the next begins."""
        found = cls.local_samples()
        later = {dict(labels)["__name__"] for labels, samples in found.items() if max(samples) > cls.newest}
        if not later >= set(cls.records):
            return None
        up_to_then = {labels: {at: value for at, value in samples.items() if at <= cls.newest} for labels, samples in found.items()}
        return {labels: samples for labels, samples in up_to_then.items() if samples}

    @classmethod
    def remote_samples(cls):
        """All that VictoriaMetrics has, up to then; None until it has a sample of each time that Prometheus has."""
        lines = get_text(cls.remote, "/api/v1/export", **{"match[]": '{__name__=~".+"}'}).splitlines()
        found = {}
        for line in map(json.loads, lines):
            found[identity(line["metric"])] = {at: value for at, value in zip(line["timestamps"], line["values"])
                                               if value is not None and at <= cls.newest}
        whole = all(samples.keys() <= found.get(labels, {}).keys() for labels, samples in cls.local.items())
        return found if whole else None

    def test_only_the_roll_ups_arrive(self):
        names = {dict(labels)["__name__"] for labels in self.arrived}
        self.assertEqual(names, set(self.records))
        self.assertEqual(names, {dict(labels)["__name__"] for labels in self.local})
        # The raw metrics and the rules in between are with Prometheus alone.
        everything = json.loads(get_text(self.prometheus, "/api/v1/label/__name__/values"))["data"]
        self.assertIn("faprof_phase_cycles_total", everything)
        self.assertIn("gpu_kernel_phase:faprof_phase_cycles:ratio", everything)

    def test_a_gpu_has_at_most_60(self):
        counts = collections.Counter((dict(labels)["instance"], dict(labels)["gpu"]) for labels in self.arrived
                                     if "gpu" in dict(labels))
        self.assertEqual(len(counts), 8)
        self.assertLessEqual(max(counts.values()), MOST_PER_GPU)
        print(f"series a GPU in remote storage: {max(counts.values())}; of the job: {len(self.arrived) - counts.total()}")

    def test_values_equal_those_of_prometheus(self):
        self.assertEqual(set(self.arrived), set(self.local))
        compared = 0
        for labels, samples in self.local.items():
            self.assertEqual(self.arrived[labels].keys(), samples.keys(), labels)
            for at, value in samples.items():  # VictoriaMetrics keeps decimals: some 15 digits
                self.assertTrue(math.isclose(self.arrived[labels][at], value, rel_tol=1e-12), (labels, value))
            compared += len(samples)
        self.assertGreaterEqual(compared, EVALUATIONS * len(self.local) / 2)

    def test_they_can_be_queried_there(self):
        answer = json.loads(get_text(self.remote, "/api/v1/query", step="1m", time=self.newest / 1000, nocache=1,
                                query='sum by (phase) (rollup_gpu_phase:faprof_phase_cycles:increase{simulated="true"})'))
        phases = {series["metric"]["phase"]: float(series["value"][1]) for series in answer["data"]["result"]}
        self.assertGreater(phases["softmax"], 0)


class Documents(unittest.TestCase):
    def test_every_documented_block_keeps_the_roll_ups_alone(self):
        blocks = documented_blocks()
        self.assertEqual(set(blocks), {"Mimir", "Thanos", "VictoriaMetrics"})
        shipped = re.search(r"^# *remote_write:\n(?:#.*\n)+", (SOURCE / "dashboards" / "prometheus.yml").read_text(), re.M)[0]
        blocks["dashboards/prometheus.yml"] = yaml.safe_load(re.sub("(?m)^#", "", shipped))["remote_write"]
        for name, block in blocks.items():
            keep = [rule for rule in block[0]["write_relabel_configs"] if rule["action"] == "keep"]
            self.assertEqual(keep, [{"source_labels": ["__name__"], "regex": "rollup_.+", "action": "keep"}], name)
            with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
                yaml.safe_dump({"remote_write": block}, file)
                file.flush()
                done = subprocess.run(["promtool", "check", "config", "--syntax-only", file.name], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
