"""What the exporter costs: exporter_figures.py PROGRAM WRITE_RECORDINGS PAGE_FIGURES [--scrapes N] [--recordings N]

Prints how long pages take to make (PAGE_FIGURES, bench/page_figures.cpp), then starts `fa-profile serve` with 10,000 series
and prints how long scrapes take, how long they take beside clients that do not read, and its memory: at the start, after
N scrapes, and after N spooled recordings. Needs ab (Debian: apache2-utils).
"""
import argparse
import json
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.request


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def state_of(series):
    """The exporter's state with so many series, spread over GPUs within their budget."""
    now = time.time()
    phase = {"cycles": 123456789.5, "instructions": 1e9, "wavefronts": 1e6, "excess_wavefronts": 1e5,
             "stall_cycles": {r: 1e8 / 3 for r in ("memory", "shared_memory", "barrier", "math_pipe", "dependency", "ready")}}
    phases = ("load_q", "load_kv", "qk", "softmax", "pv", "rescale", "epilogue")
    gpus, have = [], 0
    while have < series:
        kernels = {}
        while len(kernels) < 25 and have < series:
            kernels[f"kernel_{len(kernels)}"] = {
                "shapes": {}, "phases": {p: phase for p in phases}, "gauges": {}, "origin": "program",
                "commit": "", "sm_active_cycles": 1e9, "warps_active_cycles": 8e9, "dram_bytes": 1e9}
            have += 4 + 10 * len(phases)
        gpus.append({"gpu": len(gpus), "uuid": f"GPU-{len(gpus)}", "kernels": kernels})
    return {"totals": {"version": 1, "folded": 0, "gpus": gpus}, "counted": [], "last_recording": now, "recordings_counted": 0,
            "recordings_bad": 0, "recordings_duplicate": 0, "perfmon_conflicts": 0, "failed_runs": 0}


class Exporter:
    def __init__(self, program, folder, interval="15s"):
        self.port = free_port()
        self.process = subprocess.Popen(
            [program, "serve", "--listen", f"127.0.0.1:{self.port}", "--spool", folder / "spool", "--state", folder / "state",
             "--no-nvml", "--interval", interval, "--keep", "10"], stderr=open(folder / "log", "ab"))
        while True:
            try:
                self.get("/healthz")
                break
            except OSError:
                time.sleep(0.05)

    def get(self, path="/metrics", gzip=False):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers={"Accept-Encoding": "gzip"} if gzip else {})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    def memory_mb(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1000

    def value(self, name):
        found = re.search(rf"^{name} (\S+)$", self.get().decode(), re.M)
        return float(found[1]) if found else 0

    def scrape_ms(self, count=50, gzip=False):
        times = []
        for _ in range(count):
            begin = time.perf_counter()
            self.get(gzip=gzip)
            times.append((time.perf_counter() - begin) * 1e3)
        return statistics.median(times)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("write_recordings")
    parser.add_argument("page_figures")
    parser.add_argument("--scrapes", type=int, default=1_000_000)
    parser.add_argument("--recordings", type=int, default=10_000)
    options = parser.parse_args()
    subprocess.run([options.page_figures], check=True)
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        (folder / "spool").mkdir()
        (folder / "state").mkdir()
        (folder / "state" / "exporter.json").write_text(json.dumps(state_of(10_000)))
        exporter = Exporter(options.program, folder)
        print(f"\nseries {exporter.value('faprof_exporter_series'):.0f}, page {len(exporter.get()) / 1e6:.2f} MB, "
              f"gzip {len(exporter.get(gzip=True)) / 1e6:.3f} MB")
        print(f"scrape, client's time: {exporter.scrape_ms():.2f} ms plain, {exporter.scrape_ms(gzip=True):.2f} ms gzip")
        slow = []
        for _ in range(100):
            client = socket.create_connection(("127.0.0.1", exporter.port))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            slow.append(client)
        print(f"the same beside 100 clients that do not read: {exporter.scrape_ms():.2f} ms plain")
        for client in slow:
            client.close()
        print(f"memory: {exporter.memory_mb():.1f} MB at the start")
        step = max(1, options.scrapes // 4)
        for done in range(step, options.scrapes + 1, step):
            begin = time.perf_counter()
            subprocess.run(["ab", "-q", "-k", "-c", "4", "-n", str(step), "-H", "Accept-Encoding: gzip",
                            f"http://127.0.0.1:{exporter.port}/metrics"], check=True, stdout=subprocess.DEVNULL)
            rate = step / (time.perf_counter() - begin)
            print(f"memory: {exporter.memory_mb():.1f} MB after {done} scrapes ({rate:.0f} a second)", flush=True)
        exporter.stop()

        exporter = Exporter(options.program, folder, "100ms")
        source = folder / "source"
        source.mkdir()
        subprocess.run([options.write_recordings, source, str(options.recordings)], check=True)
        begin = time.perf_counter()
        files = sorted(source.glob("*.fap"))
        for part in range(4):
            for file in files[part * len(files) // 4 : (part + 1) * len(files) // 4]:
                file.rename(folder / "spool" / file.name)
            target = (part + 1) * len(files) // 4
            while exporter.value(r'faprof_exporter_recordings_total\{result="counted"\}') < target:
                time.sleep(0.5)
            print(f"memory: {exporter.memory_mb():.1f} MB after {target} recordings "
                  f"({target / (time.perf_counter() - begin):.0f} a second)", flush=True)
        exporter.stop()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
