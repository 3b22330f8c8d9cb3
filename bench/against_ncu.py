#!/usr/bin/env python3
"""fa-profile beside Nsight Compute, on one GPU and the same kernels: speed and truth.

Runs `fa_ladder_once` under `ncu --set full` and the same kernels under `fa-profile --ncu-set full`, and writes two
Markdown tables: how long each whole process took, and how the values of every metric that both report compare. A
benchmark, not a test: it reports and does not judge. Needs a GPU, ncu, and a build with preset gpu.

  bench/against_ncu.py --build build/gpu --out docs/against-ncu.md

The truth table compares kernel replay with kernel replay, caches as they are (`ncu --cache-control none`), clocks free
(`--clock-control none`), in separate runs: what differs is noise between runs, or a difference of the tools.
"""

import argparse
import collections
import csv
import io
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

MISSION = "1,8,512,64"
TEN_SHAPES = [f"{b},{h},{s},64" for b, h, s in
              [(1, 8, 512), (1, 8, 256), (1, 8, 384), (1, 8, 640), (1, 4, 512),
               (2, 8, 256), (2, 4, 512), (1, 16, 256), (1, 12, 384), (1, 6, 512)]]


def timed(command, **kwargs):
    start = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return seconds, done.stdout


def peak_memory_mb(command):
    """Peak resident set of one command, in MB."""
    pid = os.posix_spawn(command[0], command, os.environ,
                         file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)} ended with status {status}")
    return usage.ru_maxrss / 1024


def read_ncu(text):
    """[(kernel name, {metric: value})] in launch order, from `ncu --csv --page raw --print-units base`."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    rows = list(csv.reader(io.StringIO("\n".join(lines[first:]))))
    header, kernels = rows[0], []
    for row in rows[2:]:  # row 1 holds the units
        values = {}
        for name, text_value in zip(header, row):
            try:
                values[name] = float(text_value.replace(",", ""))
            except ValueError:
                pass
        kernels.append((row[header.index("Kernel Name")], values))
    return kernels


def read_recording(path):
    """[(kernel id and part, {metric: value})] in range order."""
    database = sqlite3.connect(path)
    ranges = []
    for range_id, kernel, part in database.execute(
            "SELECT r.id, c.kernel, r.part FROM range r JOIN kernel_case c ON c.id = r.case_id ORDER BY r.id"):
        values = dict(database.execute(
            "SELECT m.name, v.value FROM value v JOIN metric m ON m.id = v.metric_id WHERE v.range_id = ?",
            (range_id,)))
        ranges.append((kernel + ("/" + part if part else ""), values))
    return ranges


def relative(ours, theirs):
    if ours == theirs:
        return 0.0
    return abs(ours - theirs) / max(abs(ours), abs(theirs))


def truth_table(recording, ncu_kernels, deterministic, out):
    ranges = read_recording(recording)
    if len(ranges) != len(ncu_kernels):
        sys.exit(f"{len(ranges)} ranges against {len(ncu_kernels)} kernels: the runs did not do the same")
    differences = collections.defaultdict(list)  # metric -> [(difference, kernel, ours, theirs)]
    for (kernel, ours), (_, theirs) in zip(ranges, ncu_kernels):
        for metric in ours.keys() & theirs.keys():
            differences[metric].append((relative(ours[metric], theirs[metric]), kernel, ours[metric], theirs[metric]))
    every = [d[0] for rows in differences.values() for d in rows]
    exact = {m: rows for m, rows in differences.items() if m in deterministic}
    noisy = {m: rows for m, rows in differences.items() if m not in deterministic}
    noisy_all = sorted(d[0] for rows in noisy.values() for d in rows)
    unequal = [(m, d) for m, rows in sorted(exact.items()) for d in rows if d[0] > 0]

    def share(values, limit):
        return 100.0 * sum(v <= limit for v in values) / max(1, len(values))

    print("| | metrics | values | identical | within 1 % | within 10 % | median difference |", file=out)
    print("|---|---|---|---|---|---|---|", file=out)
    for name, group in (("all common", differences), ("deterministic in the catalogue", exact), ("the rest", noisy)):
        values = [d[0] for rows in group.values() for d in rows]
        if not values:
            continue
        print(f"| {name} | {len(group)} | {len(values)} | {share(values, 0):.1f} % | {share(values, 0.01):.1f} % | "
              f"{share(values, 0.10):.1f} % | {100 * statistics.median(values):.3f} % |", file=out)
    print(f"\n{len(unequal)} of {sum(len(r) for r in exact.values())} deterministic values differ.", file=out)
    for metric, (difference, kernel, ours, theirs) in unequal[:40]:
        print(f"- `{metric}` in {kernel}: {ours:.10g} against {theirs:.10g} ({100 * difference:.2g} %)", file=out)
    print("\nOutliers, by unit (values of the rest that differ by more than 10 %):\n", file=out)
    print("| unit and counter | values over 10 % | of | largest |", file=out)
    print("|---|---|---|---|", file=out)
    groups = collections.defaultdict(list)
    for metric, rows in noisy.items():
        groups[metric.split(".")[0] if "Triage" not in metric else ".".join(metric.split(".")[:3])] += rows
    outliers = [(sum(d[0] > 0.10 for d in rows), name, rows) for name, rows in groups.items()]
    for count, name, rows in sorted(outliers, reverse=True)[:40]:
        if count == 0:
            break
        worst = max(rows)
        print(f"| `{name}` | {count} | {len(rows)} | {worst[1]}: {worst[2]:.6g} against {worst[3]:.6g} |", file=out)
    return len(every), len(noisy_all)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/gpu", help="build folder of preset gpu")
    parser.add_argument("--out", default="-", help="Markdown file to write, or - for standard output")
    parser.add_argument("--hundred", action="store_true", help="also 100 ranges: ncu alone takes minutes")
    arguments = parser.parse_args()
    program = os.path.join(arguments.build, "bench", "fa_ladder_once")
    profiler = os.path.join(arguments.build, "cli", "fa-profile")
    ncu = ["ncu", "--clock-control", "none", "--profile-from-start", "off"]
    out = sys.stdout if arguments.out == "-" else open(arguments.out, "w", encoding="utf-8")

    gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                         capture_output=True, text=True, check=True).stdout.strip().splitlines()[0]
    ncu_version = subprocess.run(["ncu", "--version"], capture_output=True, text=True,
                                 check=True).stdout.strip().splitlines()[-1]
    print(f"{gpu}; Nsight Compute {ncu_version}; {time.strftime('%Y-%m-%d', time.gmtime())}.\n", file=out)

    with tempfile.TemporaryDirectory() as folder:
        def ours(name, *options):
            return [profiler, "--ncu-set", "full", "--draws", "1", "--format", "csv", "-o",
                    os.path.join(folder, name), *options]

        rows = []
        alone, _ = timed([program, "--shapes", MISSION])
        timed(ours("cold.fap", "--repeats", "0"))  # fills the plan cache
        counters, _ = timed(ours("counters.fap", "--repeats", "0"))
        default, _ = timed([profiler, "--ncu-set", "full", "-o", os.path.join(folder, "default.fap")])
        theirs, _ = timed([*ncu, "--set", "full", "-f", "-o", os.path.join(folder, "speed"), program, "--shapes",
                           MISSION])
        phases, _ = timed([profiler, "--ncu-set", "phases", "--draws", "1", "--repeats", "0", "-o",
                           os.path.join(folder, "phases.fap")])
        memory_ten = peak_memory_mb(ours("memory.fap", "--repeats", "0"))
        rows.append(("the program alone", alone, None))
        rows.append(("ncu --set full, the ladder once", theirs, None))
        rows.append(("fa-profile --ncu-set full, 10 ranges, counters only (1 draw, no timing)", counters, theirs))
        rows.append(("fa-profile --ncu-set full, 10 ranges, with 10 draws and 100 timed launches", default, theirs))
        rows.append(("fa-profile --ncu-set phases, 10 ranges, counters only", phases, theirs))
        memory = [("10 ranges, set full", memory_ten)]
        if arguments.hundred:
            shapes = [option for shape in TEN_SHAPES for option in ("--shape", shape)]
            hundred, _ = timed(ours("hundred.fap", "--repeats", "0", *shapes))
            memory.append(("100 ranges, set full", peak_memory_mb(ours("hundred2.fap", "--repeats", "0", *shapes))))
            theirs100, _ = timed([*ncu, "--set", "full", "-f", "-o", os.path.join(folder, "speed100"), program,
                                  "--shapes", ";".join(TEN_SHAPES)])
            rows.append(("ncu --set full, the ladder at ten shapes", theirs100, None))
            rows.append(("fa-profile --ncu-set full, 100 ranges, counters only", hundred, theirs100))
        print("## Speed: whole processes\n\n| | seconds | of ncu's time |\n|---|---|---|", file=out)
        for name, seconds, base in rows:
            print(f"| {name} | {seconds:.2f} | {'' if base is None else f'1/{base / seconds:.1f}'} |", file=out)
        print("\n| peak resident memory of the process | MB |\n|---|---|", file=out)
        for name, megabytes in memory:
            print(f"| {name} | {megabytes:.0f} |", file=out)

        print("\n## Truth: every metric that both report\n", file=out)
        _, text = timed([*ncu, "--cache-control", "none", "--set", "full", "--csv", "--page", "raw", "--print-units",
                         "base", program, "--shapes", MISSION])
        timed(ours("truth.fap", "--repeats", "0", "--replay", "kernel"))
        _, inputs = timed([profiler, "list", "inputs"])
        deterministic = {line.split()[1] for line in inputs.splitlines() if line.startswith("deterministic")}
        truth_table(os.path.join(folder, "truth.fap"), read_ncu(text), deterministic, out)


if __name__ == "__main__":
    main()
