#!/usr/bin/env python3
"""What `fa-profile serve` costs a running kernel, and whether NVML and a recording agree about it.

Calls a kernel back to back (`kernel_loop`) and compares its rate in periods with and without `fa-profile serve
--interval 1s` that is scraped once a second, in the order off on on off, so that drifting clocks fall on both alike.
Beside it: the tensor and SM activity that serve tells from NVML's GPM for this kernel and for one without tensor
instructions, and what a recording of the same two tells. A benchmark, not a test: it reports and does not judge.
Needs a GPU; prints each number when it has it, and whatever it has when something fails or it is stopped.

  bench/serve_overhead.py --build build/gpu

About 75 s. Exit code 0: everything was measured; 2: something was not, and the output says what.
"""

import argparse
import contextlib
import ctypes
import http.client
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)
SAMPLE = re.compile(r'^(faprof_\w+)\{([^}]*)\} (\S+)')
GPU = re.compile(r'gpu="(\d+)"')
WANTED = ("faprof_device_tensor_active_ratio", "faprof_device_sm_active_ratio", "faprof_device_sm_occupancy_ratio")


class Trouble(Exception):
    pass


def say(text=""):
    print(text, flush=True)


def start(command, **kwargs):
    """A child that dies with this process, however it ends."""
    return subprocess.Popen(command, preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL), **kwargs)


def stop(process):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return False
    return True


def tail(file):
    file.seek(0)
    return file.read().decode(errors="replace")[-1500:].strip()


class Loop:
    """`kernel_loop`, and how many calls it had done when."""

    def __init__(self, program, kernel, shape, seconds):
        self.points = []
        self.errors = tempfile.TemporaryFile()
        self.process = start([program, "--kernel", kernel, "--shape", shape, "--seconds", str(seconds), "--interval", "0.1"],
                             stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            fields = line.split()
            with contextlib.suppress(ValueError, IndexError):
                self.points.append((float(fields[0]), int(fields[1])))

    def wait_for_calls(self, limit=30):
        end = time.monotonic() + limit
        while not self.points:
            if self.process.poll() is not None or time.monotonic() > end:
                raise Trouble(f"kernel_loop makes no calls: {tail(self.errors) or 'it printed nothing'}")
            time.sleep(0.05)

    def rate(self, begin, end):
        """Calls a second between two times on CLOCK_MONOTONIC."""
        if self.process.poll() is not None:
            raise Trouble(f"kernel_loop has ended: {tail(self.errors) or 'it printed nothing'}")
        inside = [point for point in list(self.points) if begin <= point[0] <= end]
        if len(inside) < 2:
            raise Trouble("kernel_loop printed too few lines in a period")
        (t0, n0), (t1, n1) = inside[0], inside[-1]
        return (n1 - n0) / (t1 - t0)

    def close(self):
        stop(self.process)
        self.reader.join(5)
        self.process.stdout.close()
        self.errors.close()


class Serve:
    """`fa-profile serve`, scraped once a second."""

    def __init__(self, program):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        self.folder = tempfile.TemporaryDirectory()
        for name in ("spool", "state"):
            os.mkdir(os.path.join(self.folder.name, name))
        self.log = tempfile.TemporaryFile()
        self.values = {}  # (metric, gpu) -> [value of each scrape]
        self.collectors = {}
        self.milliseconds = []
        self.bytes = 0
        self.failed = []
        self.done = threading.Event()
        self.process = start([program, "serve", "--listen", self.address, "--interval", "1s",
                              "--spool", os.path.join(self.folder.name, "spool"),
                              "--state", os.path.join(self.folder.name, "state")],
                             stdout=self.log, stderr=self.log)
        self.thread = threading.Thread(target=self._scrape_on, daemon=True)
        try:
            self._wait()
        except BaseException:
            self.close()
            raise
        self.begun = time.monotonic()
        self.thread.start()

    def _get(self):
        begin = time.monotonic()
        with urllib.request.urlopen(f"http://{self.address}/metrics", timeout=2) as answer:
            body = answer.read()
        return body.decode(), (time.monotonic() - begin) * 1e3

    def _wait(self):
        end = time.monotonic() + 10
        while True:
            if self.process.poll() is not None:
                raise Trouble(f"fa-profile serve ended with {self.process.returncode}: {tail(self.log)}")
            try:
                self._get()
                return
            except (OSError, http.client.HTTPException) as error:
                if time.monotonic() > end:
                    raise Trouble(f"fa-profile serve does not answer: {error}; it said: {tail(self.log)}") from error
                time.sleep(0.05)

    def _scrape_on(self):
        due = time.monotonic()
        while not self.done.wait(max(0.0, due - time.monotonic())):
            due += 1.0
            try:
                text, milliseconds = self._get()
            except (OSError, http.client.HTTPException) as error:
                self.failed.append(str(error))
                continue
            self.milliseconds.append(milliseconds)
            self.bytes = len(text)
            self._keep(text)

    def _keep(self, text):
        for line in text.splitlines():
            sample = SAMPLE.match(line)
            if not sample:
                continue
            name, labels, value = sample.groups()
            if name == "faprof_exporter_up":
                self.collectors[labels] = value
            gpu = GPU.search(labels)
            if name in WANTED and gpu:
                with contextlib.suppress(ValueError):
                    self.values.setdefault((name, gpu.group(1)), []).append(float(value))

    def cpu_share(self):
        """Of one core since it answered first, and its resident megabytes."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        resident = int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 1e6
        return used / (time.monotonic() - self.begun), resident

    def close(self):
        self.done.set()
        if self.thread.is_alive():
            self.thread.join(5)
        if not stop(self.process):
            say("note: fa-profile serve did not end on SIGTERM within 5 s")
        self.log.close()
        self.folder.cleanup()


def activity(serves):
    """{metric: median} of the GPU that was busiest; a metric that was never served is missing."""
    pooled = {}
    for serve in serves:
        for (metric, gpu), values in serve.values.items():
            pooled.setdefault(gpu, {}).setdefault(metric, []).extend(values)
    medians = [{metric: statistics.median(values) for metric, values in metrics.items()} for metrics in pooled.values()]
    return max(medians, key=lambda metrics: metrics.get(WANTED[1], 0.0), default={})


def measure_overhead(options, results):
    periods = "off on on off".split() * options.blocks
    loop = Loop(options.loop, options.kernel, options.shape, len(periods) * (options.period + 8) + 60)
    served = []
    try:
        loop.wait_for_calls()
        time.sleep(1.0)
        say(f"\n| period | serve | {options.kernel} calls/s |\n|---|---|---|")
        for number, state in enumerate(periods, 1):
            serve = Serve(options.fa_profile) if state == "on" else None
            try:
                begin = time.monotonic() + options.settle
                time.sleep(options.period)
                rate = loop.rate(begin, time.monotonic())
                if serve:
                    results.setdefault("cost", []).append(serve.cpu_share())
            finally:
                if serve:
                    serve.close()
                    served.append(serve)
                    results["serves"] = served
            results.setdefault("rates", []).append((state, rate))
            say(f"| {number} | {state} | {rate:.1f} |")
    finally:
        results["activity"][options.kernel] = activity(served)
        loop.close()


def print_overhead(results):
    rates = results.get("rates", [])
    # off on | on off: neighbours, whichever came first
    pairs = [dict(rates[i:i + 2]) for i in range(0, len(rates) - 1, 2)]
    ratios = [pair["on"] / pair["off"] for pair in pairs if len(pair) == 2]
    if ratios:
        spread = f"{min(ratios):.5f} to {max(ratios):.5f}"
        error = statistics.stdev(ratios) / len(ratios) ** 0.5 if len(ratios) > 1 else float("nan")
        say(f"\nRate with serve over without: {statistics.mean(ratios):.5f} (standard error {error:.5f}; "
            f"{len(ratios)} pairs, {spread}).")
    off = [rate for state, rate in rates if state == "off"]
    if len(off) > 1:
        say(f"Periods without serve among themselves: standard deviation {statistics.stdev(off) / statistics.mean(off):.3%}.")
    serves = results.get("serves", [])
    times = [value for serve in serves for value in serve.milliseconds]
    if times:
        say(f"Scrapes: {len(times)}, median {statistics.median(times):.1f} ms, slowest {max(times):.1f} ms, "
            f"{serves[-1].bytes} bytes; failed: {sum(len(serve.failed) for serve in serves)}.")
    if "cost" in results:
        shares, sizes = zip(*results["cost"])
        say(f"serve itself: {statistics.mean(shares):.2%} of a core, start included; {max(sizes):.1f} MB resident.")
    if serves:
        say("Collectors: " + (", ".join(f"{labels} {value}" for labels, value in sorted(serves[-1].collectors.items()))
                              or "none served"))


def measure_free_kernel(options, results):
    loop = Loop(options.loop, options.free, options.shape, 60)
    try:
        loop.wait_for_calls()
        time.sleep(1.0)
        serve = Serve(options.fa_profile)
        try:
            time.sleep(5.0)
        finally:
            serve.close()
            results["activity"][options.free] = activity([serve])
    finally:
        loop.close()


def record(options):
    """{kernel: metrics} of a recording of both kernels."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.fap")
        steps = [[options.fa_profile, "--ncu-set", "detailed", "--kernel", f"^({options.kernel}|{options.free})$",
                  "--shape", options.shape, "--phases", "off", "--draws", "1", "--raw", "none", "--summary", "-o", path],
                 [options.fa_profile, "report", path, "--format", "json"]]
        for step in steps:
            with start(step, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                try:
                    text, errors = process.communicate(timeout=60)
                except BaseException:
                    process.kill()
                    raise
            if process.returncode != 0:
                raise Trouble(f"{' '.join(step)} ended with {process.returncode}: {errors[-1500:].strip()}")
            if not os.path.exists(path):
                raise Trouble("fa-profile recorded nothing: " + (errors or text)[:300].strip())
        return {entry["kernel"]: entry.get("metrics", {}) for entry in json.loads(text)["entries"]}


def record_beside_serve(options, results):
    serve = Serve(options.fa_profile)
    try:
        time.sleep(1.2)
        results["recording beside serve"] = record(options)
    finally:
        serve.close()


def print_activity(options, results):
    def number(value):
        return "n/a" if value is None else f"{value:.3f}"

    def product(metrics):
        tensor, active = metrics.get("tensor_core_utilization_ratio"), metrics.get("sm_active_ratio")
        return None if tensor is None or active is None else tensor * active

    say("\n| kernel | tensor, GPM | SM active, GPM | tensor, recording | SM active, recording | product, recording "
        "| product, recorded beside serve |\n|---|---|---|---|---|---|---|")
    for kernel in (options.kernel, options.free):
        served = results["activity"].get(kernel, {})
        recorded = results.get("recording", {}).get(kernel, {})
        beside = results.get("recording beside serve", {}).get(kernel, {})
        say(f"| {kernel} | " + " | ".join(number(value) for value in (
            served.get(WANTED[0]), served.get(WANTED[1]), recorded.get("tensor_core_utilization_ratio"),
            recorded.get("sm_active_ratio"), product(recorded), product(beside))) + " |")
    say("\nGPM counts a share of the time, gaps between calls included; a recording's tensor ratio is a share of the "
        "cycles in which an SM was active, so its product with the share of active SMs is what compares.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build/gpu", help="build folder with cli/fa-profile and bench/kernel_loop")
    parser.add_argument("--kernel", default="mma", help="a kernel on the tensor cores")
    parser.add_argument("--free", default="tiled", help="a kernel without a tensor instruction")
    parser.add_argument("--shape", default="4,16,1024,64")
    parser.add_argument("--period", type=float, default=4.0, help="seconds a period")
    parser.add_argument("--settle", type=float, default=1.0, help="seconds at its start that do not count")
    parser.add_argument("--blocks", type=int, default=3, help="times off on on off")
    parser.add_argument("--limit", type=int, default=150, help="seconds after which it ends with what it has")
    options = parser.parse_args()
    options.fa_profile = os.path.join(options.build, "cli", "fa-profile")
    options.loop = os.path.join(options.build, "bench", "kernel_loop")

    def end(number, _):
        raise Trouble(f"ended by {signal.Signals(number).name}" + (" (--limit)" if number == signal.SIGALRM else ""))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
        signal.signal(number, end)
    signal.alarm(options.limit)

    results = {"activity": {}}
    failures = []

    def step(name, action):
        if any("ended by" in failure for failure in failures):
            return
        try:
            action()
        except (Trouble, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
            failures.append(f"{name}: {error}")
            say(f"\n{name} failed: {error}")

    begun = time.monotonic()
    step("overhead", lambda: measure_overhead(options, results))
    print_overhead(results)
    step("kernel without tensor instructions", lambda: measure_free_kernel(options, results))
    step("recording", lambda: results.update(recording=record(options)))
    step("recording beside serve", lambda: record_beside_serve(options, results))
    signal.alarm(0)
    print_activity(options, results)
    say(f"\n{options.shape}; periods of {options.period:g} s, the first {options.settle:g} s not counted; "
        f"{time.monotonic() - begun:.0f} s in all.")
    for failure in failures:
        say("not measured: " + failure.splitlines()[0])
    return 2 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
