#!/usr/bin/env python3
"""What a fleet costs a Prometheus: simulated GPUs, a real Prometheus, the shipped limits, rules and dashboard queries.

    bench/fleet_scale.py --program build/host/cli/fa-profile --gpus 100,1000     a table, one column a size
    bench/fleet_scale.py --program build/host/cli/fa-profile --windows           what full windows cost the rules

A benchmark, not a test: it reports and does not judge. Exporter and Prometheus run on this machine and share it with
whatever else it does; how much that was is in the table. docs/evidence/exporter.md holds the figures.
Needs Debian's prometheus. Standard library only.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
GPUS_PER_HOST = 8
QUERY_TIMEOUT = 60
MOST_GPUS_AT_ONCE = 1000  # more would not fit one panel, and take minutes


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def get(port, path, timeout=QUERY_TIMEOUT + 5, **parameters):
    url = f"http://127.0.0.1:{port}{path}?{urllib.parse.urlencode(parameters)}"
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return answer.read().decode()


class Process:
    """A child, what it has used of the processor, and how large it is."""

    def __init__(self, folder, name, *command):
        with open(folder / f"{name}.log", "w") as log:
            self.child = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log)
        # Where memory ends, this goes first and not what else runs here.
        pathlib.Path(f"/proc/{self.child.pid}/oom_score_adj").write_text("1000")

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.child.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self, which="VmRSS"):
        status = pathlib.Path(f"/proc/{self.child.pid}/status").read_text()
        return int(re.search(rf"{which}:\s+(\d+)", status)[1]) / 1024

    def stop(self):
        self.child.terminate()
        try:
            self.child.wait(60)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


class Fleet:
    """A simulated fleet and the Prometheus that scrapes it."""

    def __init__(self, stack, program, hosts, scrape_interval, rule_interval=None):
        self.hosts = hosts
        folder = pathlib.Path(tempfile.mkdtemp(prefix="fleet-scale-"))
        stack.callback(shutil.rmtree, folder)
        exporter, self.port = free_port(), free_port()
        (folder / "rules").mkdir()
        for path in (ROOT / "dashboards" / "rules").glob("*.yml"):
            text = path.read_text()
            if rule_interval:
                text = re.sub(r"(?m)^(    interval:) .*$", rf"\1 {rule_interval}", text)
            (folder / "rules" / path.name).write_text(text)
        limits = re.search(r"job_name: fa-profile\n((?:    (?:#.*|\w+_limit: .*)\n)+)",
                           (ROOT / "dashboards" / "prometheus.yml").read_text())[1]
        (folder / "prometheus.yml").write_text(
            f"global:\n  scrape_interval: {scrape_interval}s\n  scrape_timeout: {min(10, scrape_interval)}s\n"
            f"rule_files: [rules/*.yml]\nscrape_configs:\n  - job_name: fa-profile-simulated\n{limits}    http_sd_configs:\n"
            f"      - url: http://127.0.0.1:{exporter}/simulated/targets\n")
        self.exporter = Process(folder, "serve", program, "serve", "--no-nvml", "--simulate-fleet", hosts,
                                "--simulate-interval", "60s", "--listen", f"127.0.0.1:{exporter}")
        stack.callback(self.exporter.stop)
        self.wait("the exporter", lambda: get(exporter, "/healthz"))
        self.prometheus = Process(folder, "prometheus", "prometheus", "--config.file", folder / "prometheus.yml",
                                  "--storage.tsdb.path", folder / "data", "--web.listen-address", f"127.0.0.1:{self.port}",
                                  "--storage.tsdb.retention.time", "1d", "--log.level", "warn")
        stack.callback(self.prometheus.stop)
        self.wait(f"{hosts} targets", lambda: self.number("sum(up)") == hosts, 300 + 2 * scrape_interval)

    @staticmethod
    def wait(what, condition, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                if condition():
                    return
            time.sleep(0.5)
        sys.exit(f"not there after {seconds} s: {what}")

    def query(self, expr):
        return json.loads(get(self.port, "/api/v1/query", query=expr))["data"]["result"]

    def number(self, expr):
        result = self.query(expr)
        return float(result[0]["value"][1]) if result else None

    def own(self, name):
        """Prometheus's metric of itself, by label text."""
        return {labels: float(value) for labels, value in
                re.findall(rf"(?m)^{name}(?:{{([^}}]*)}})? (\S+)$", get(self.port, "/metrics"))}

    def groups(self):
        """{(name, when): (interval, seconds)} of each rule group's newest evaluation."""
        found = json.loads(get(self.port, "/api/v1/rules"))["data"]["groups"]
        return {(group["name"], group["lastEvaluation"]): (group["interval"], group["evaluationTime"]) for group in found
                if group["evaluationTime"]}

    def dashboards(self, only="", **variables):
        """Seconds of each panel's query over six hours, as a dashboard asks; and those that failed."""
        pairs = [f"{name}={value}" for name, value in variables.items()]
        queries = json.loads(subprocess.run([sys.executable, "-B", ROOT / "dashboards" / "generate.py", "--queries", *pairs],
                                            check=True, capture_output=True, text=True).stdout)
        seconds, failed = [], []
        for query in queries:
            now = time.time()
            span = {} if query["instant"] else {"start": now - 6 * 3600, "end": now, "step": 60}
            name = f"{query['dashboard']}: {query['panel']}"
            if not name.startswith(only):
                continue
            try:
                get(self.port, "/api/v1/query" if query["instant"] else "/api/v1/query_range", query=query["query"],
                    timeout=QUERY_TIMEOUT, **span)
                seconds.append((time.time() - now, name))
            except (urllib.error.HTTPError, OSError) as error:
                failed.append(f"{name} ({error})")
        return sorted(seconds), failed


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, round(share * (len(values) - 1)))]


def busy_seconds():
    """Processor time that all programs of the machine have used, and what the hypervisor took."""
    user, nice, system, _, _, irq, softirq, steal = map(int, pathlib.Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def rule_rows(evaluations):
    """From {(group, when): (interval, seconds)}: the median evaluation of each group."""
    seconds, intervals = {}, {}
    for (name, _), (interval, took) in evaluations.items():
        seconds.setdefault(name, []).append(took)
        intervals[name] = interval
    median = {name: statistics.median(took) for name, took in seconds.items()}
    busiest = max(median, key=lambda name: median[name] / intervals[name])
    return {"rules: one evaluation of all groups": f"{sum(median.values()):.1f} s",
            "rules: group that is busy most of its interval":
                f"{busiest}: {median[busiest]:.1f} s (at most {max(seconds[busiest]):.1f}) of {intervals[busiest]:.0f} s"}


def query_rows(what, times, failed):
    only = [seconds for seconds, _ in times]
    return {f"queries, {what}: p50, p99": f"{1000 * statistics.median(only):.0f} ms, {quantile(only, 0.99):.2f} s",
            f"queries, {what}: slowest": f"{times[-1][0]:.2f} s ({times[-1][1]})",
            f"queries, {what}: failed": f"{len(failed)} of {len(failed) + len(times)}"}


def measure(fleet, gpus, interval, minutes):
    begin, busy = time.monotonic(), busy_seconds()
    before = [process.cpu_seconds() for process in (fleet.prometheus, fleet.exporter)]
    missed = sum(fleet.own("prometheus_rule_group_iterations_missed_total").values())
    evaluations = {}
    while time.monotonic() < begin + 60 * minutes:
        time.sleep(5)
        evaluations |= fleet.groups()
    seconds = time.monotonic() - begin
    cpu = [(process.cpu_seconds() - was) / seconds for process, was in zip((fleet.prometheus, fleet.exporter), before)]
    others = (busy_seconds() - busy) / seconds - sum(cpu)
    window = f"[{round(seconds)}s]"
    durations = [float(value) for series in fleet.query(f"scrape_duration_seconds{window}") for _, value in series["values"]]
    roll_ups = fleet.number('count({__name__=~"rollup_gpu.*"})') or 0
    alerts = json.loads(get(fleet.port, "/api/v1/alerts"))["data"]["alerts"]
    row = {
        "GPUs (hosts)": f"{gpus:,} ({fleet.hosts:,})",
        "scrape interval": f"{interval} s",
        "processor used by other programs meanwhile": f"{others:.1f} of {os.cpu_count()} cores",
        "series in Prometheus": f"{fleet.own('prometheus_tsdb_head_series')['']:,.0f}",
        "of them per GPU": f"{fleet.own('prometheus_tsdb_head_series')[''] / gpus:,.0f}",
        "samples a scrape": f"{fleet.number('avg(scrape_samples_scraped)'):,.0f}",
        "samples a second": f"{fleet.number('sum(scrape_samples_scraped)') / interval:,.0f}",
        "scrapes that failed": f"{fleet.number(f'sum(count_over_time(up{window}) - sum_over_time(up{window}))'):,.0f}"
                               f" of {fleet.number(f'sum(count_over_time(up{window}))'):,.0f}",
        "scrape duration, p50": f"{1000 * quantile(durations, 0.5):.0f} ms",
        "scrape duration, p99": f"{1000 * quantile(durations, 0.99):.0f} ms",
        **rule_rows(evaluations),
        "rules: evaluations missed": f"{sum(fleet.own('prometheus_rule_group_iterations_missed_total').values()) - missed:.0f}",
        "alerts pending or firing": f"{len(alerts):,}",
        "roll-up series a GPU": f"{roll_ups / gpus:.0f}",
        "Prometheus: memory, resident (peak)": f"{fleet.prometheus.megabytes():,.0f} ({fleet.prometheus.megabytes('VmHWM'):,.0f}) MB",
        "Prometheus: processor": f"{cpu[0]:.2f} cores",
        "exporter: memory, resident": f"{fleet.exporter.megabytes():,.0f} MB",
        "exporter: processor": f"{cpu[1]:.2f} cores",
    }
    for what, only, variables in (("dashboard Fleet, every host", "fleet:", {}),
                                  ("all dashboards, one host", "", {"instance": "sim-host-000"}),
                                  ("all dashboards, every host", "", {})):
        if not only and not variables and gpus > MOST_GPUS_AT_ONCE:
            row |= dict.fromkeys((f"queries, {what}: {of}" for of in ("p50, p99", "slowest", "failed")), "not asked")
            continue
        times, failed = fleet.dashboards(only, **variables)
        row |= query_rows(what, times, failed)
        for failure in failed:
            print(f"failed: {failure}", file=sys.stderr)
    return row


def sizes(arguments):
    rows = []
    for gpus, interval in arguments.gpus:
        hosts = -(-gpus // GPUS_PER_HOST)
        with contextlib.ExitStack() as stack:
            fleet = Fleet(stack, arguments.program, hosts, interval)
            rows.append(measure(fleet, hosts * GPUS_PER_HOST, interval, arguments.minutes))
        print("\n".join(f"{key}: {value}" for key, value in rows[-1].items()) + "\n", file=sys.stderr, flush=True)
    print("| | " + " | ".join(["measured"] * len(rows)) + " |\n|---|" + "---|" * len(rows))
    for key in rows[0]:
        print(f"| {key} | " + " | ".join(row[key] for row in rows) + " |")


def windows(arguments):
    """Scrapes 16 GPUs once a second, so that a window holds as many samples as it would after hours."""
    print("| samples in a window | rules of 16 GPUs, all groups |\n|---|---|")
    with contextlib.ExitStack() as stack:
        fleet = Fleet(stack, arguments.program, 2, 1, "5s")
        for samples in (60, 120, 240, 360, 480):
            while (there := fleet.number("min(count_over_time(up[6h]))")) < samples:
                time.sleep(max(0.2, (samples - there) / 2))
            rounds = []
            for _ in range(5):
                time.sleep(5)
                rounds.append(sum(seconds for _, seconds in fleet.groups().values()))
            print(f"| {fleet.number('avg(count_over_time(up[6h]))'):.0f} | {1000 * statistics.median(rounds):.0f} ms |", flush=True)


def size(text):
    """GPUS or GPUS@SECONDS."""
    gpus, _, interval = text.partition("@")
    return int(gpus), int(interval or 15)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="the fa-profile to measure with")
    parser.add_argument("--gpus", type=lambda text: [size(part) for part in text.split(",")], default=[(100, 15)],
                        metavar="N[@SECONDS],...", help="sizes, each with its scrape interval; default 100@15")
    parser.add_argument("--minutes", type=float, default=5, help="measured for each size, once all targets are up")
    parser.add_argument("--windows", action="store_true")
    arguments = parser.parse_args()
    if not shutil.which("prometheus"):
        sys.exit("prometheus not found: install Debian's package, or run ci/setup.sh")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # through the cleaning up
    windows(arguments) if arguments.windows else sizes(arguments)


if __name__ == "__main__":
    main()
