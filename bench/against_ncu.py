#!/usr/bin/env python3
"""fa-profile and Nsight Compute, on one GPU and the same kernels: speed and truth.

Runs `fa_ladder_once` under `ncu --set full` and the same kernels under `fa-profile --ncu-set full`, and writes two
Markdown tables: how long each whole process took, and how the values of every metric that both report compare. A
benchmark, not a test: it reports and does not judge. Needs a GPU, ncu, and a build with preset gpu.

  bench/against_ncu.py --build build/gpu --out report.md

The truth table compares kernel replay with kernel replay, caches as they are (`ncu --cache-control none`), clocks free
(`--clock-control none`), in separate runs: what differs is noise between runs, or a difference of the tools.
"""

import argparse
import collections
import glob
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


def read_ncu(report):
    """[(kernel name, {metric: value})] in launch order, in full precision, through Nsight Compute's own reader."""
    import ncu_report  # its folder is put on the path by main()
    actions = ncu_report.load_report(report).range_by_idx(0)
    kernels = []
    for i in range(actions.num_actions()):
        action = actions.action_by_idx(i)
        values = {}
        for name in action.metric_names():
            try:
                values[name] = action.metric_by_name(name).as_double()
            except (TypeError, RuntimeError, ValueError):
                pass  # text, or a value per instruction
        kernels.append((action.name(), values))
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


def of_elapsed_time(metric):
    return any(word in metric for word in ("elapsed", "per_second", "time_duration"))


def shares(name, values, out):
    def within(limit):
        return 100.0 * sum(v <= limit for v in values) / len(values)

    if values:
        print(f"| {name} | {len(values)} | {within(0):.1f} % | {within(0.01):.1f} % | {within(0.10):.1f} % | "
              f"{100 * statistics.median(values):.3f} % |", file=out)


def truth_table(ours, theirs, again, deterministic, out):
    """Three lists of (kernel, values), launch by launch: fa-profile, ncu, and ncu once more."""
    if not len(ours) == len(theirs) == len(again):
        sys.exit(f"{len(ours)} ranges against {len(theirs)} and {len(again)} kernels: the runs did not do the same")
    pairs = [(metric, relative(mine[metric], its[metric]), kernel, mine[metric], its[metric], twice[metric])
             for (kernel, mine), (_, its), (_, twice) in zip(ours, theirs, again)
             for metric in sorted(mine.keys() & its.keys() & twice.keys())]
    # cuBLAS kernels spin while they wait: their instruction counts differ from launch to launch by themselves.
    exact = [p for p in pairs if p[0] in deterministic and not p[2].startswith("cublas")]
    rest = [p for p in pairs if p[0] not in deterministic]
    print("| | values | identical | within 1 % | within 10 % | median difference |", file=out)
    print("|---|---|---|---|---|---|", file=out)
    shares("deterministic in the catalogue, our own kernels", [p[1] for p in exact], out)
    shares("the rest", [p[1] for p in rest], out)
    shares("of these, not per elapsed time", [p[1] for p in rest if not of_elapsed_time(p[0])], out)
    shares("of these, per elapsed time", [p[1] for p in rest if of_elapsed_time(p[0])], out)
    shares("ncu against ncu, the rest", [relative(p[4], p[5]) for p in rest], out)
    unequal = [p for p in exact if p[1] > 0]
    print(f"\n{len(unequal)} of {len(exact)} deterministic values differ.", file=out)
    for metric, difference, kernel, mine, its, _ in unequal:
        print(f"- `{metric}` in {kernel}: {mine:.10g} against {its:.10g} ({100 * difference:.2g} %)", file=out)
    groups = collections.defaultdict(list)
    for metric, difference, kernel, mine, its, twice in rest:
        name = ".".join(metric.split(".")[:3]) if "Triage" in metric else metric.split(".")[0]
        groups[name].append((difference, kernel, mine, its, relative(its, twice)))
    print("\nCounters with most values over 10 %:\n", file=out)
    print("| counter | over 10 % | ncu against ncu | of | largest: ours against ncu's |", file=out)
    print("|---|---|---|---|---|", file=out)
    outliers = sorted(((sum(v[0] > 0.10 for v in rows), name) for name, rows in groups.items()), reverse=True)
    for count, name in outliers[:4]:
        if count == 0:
            break
        rows = groups[name]
        worst = max(rows)
        print(f"| `{name}` | {count} | {sum(v[4] > 0.10 for v in rows)} | {len(rows)} | "
              f"{worst[1]}: {worst[2]:.6g} against {worst[3]:.6g} |", file=out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/gpu", help="build folder of preset gpu")
    parser.add_argument("--out", default="-", help="Markdown file to write, or - for standard output")
    parser.add_argument("--ncu-python", default="", help="folder of ncu_report.py (extras/python of Nsight Compute)")
    parser.add_argument("--hundred", action="store_true", help="also 100 ranges: ncu alone takes minutes")
    arguments = parser.parse_args()
    program = os.path.join(arguments.build, "bench", "fa_ladder_once")
    profiler = os.path.join(arguments.build, "cli", "fa-profile")
    ncu = ["ncu", "--clock-control", "none", "--profile-from-start", "off"]
    out = sys.stdout if arguments.out == "-" else open(arguments.out, "w", encoding="utf-8")

    folders = glob.glob("/opt/nvidia/nsight-compute/*/extras/python") + [arguments.ncu_python]
    sys.path += [folder for folder in folders if folder]
    gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                         capture_output=True, text=True, check=True).stdout.strip().splitlines()[0]
    ncu_version = subprocess.run(["ncu", "--version"], capture_output=True, text=True,
                                 check=True).stdout.strip().splitlines()[-1]
    print(f"{gpu}; Nsight Compute {ncu_version}; {time.strftime('%Y-%m-%d', time.gmtime())}.\n", file=out)

    with tempfile.TemporaryDirectory() as folder:
        def ours(name, *options, phases="off"):
            return [profiler, "--ncu-set", "full", "--draws", "1", "--phases", phases, "--format", "csv", "-o",
                    os.path.join(folder, name), *options]

        rows = []
        alone, _ = timed([program, "--shapes", MISSION])
        timed(ours("cold.fap", "--repeats", "0"))  # fills the plan cache
        counters, _ = timed(ours("counters.fap", "--repeats", "0"))
        default, _ = timed([profiler, "--ncu-set", "full", "-o", os.path.join(folder, "default.fap")])
        theirs, _ = timed([*ncu, "--set", "full", "-f", "-o", os.path.join(folder, "speed"), program, "--shapes",
                           MISSION])
        inside, _ = timed(ours("inside.fap", "--repeats", "0", phases="on"))
        one, _ = timed(ours("one.fap", "--repeats", "0", "--kernel", "^mma$"))
        one_inside, _ = timed(ours("one_inside.fap", "--repeats", "0", "--kernel", "^mma$", phases="on"))
        phases, _ = timed([profiler, "--ncu-set", "phases", "--draws", "1", "--repeats", "0", "--phases", "off", "-o",
                           os.path.join(folder, "phases.fap")])
        memory_ten = peak_memory_mb(ours("memory.fap", "--repeats", "0"))
        rows.append(("the program alone", alone, None))
        rows.append(("ncu --set full, the ladder once", theirs, None))
        rows.append(("fa-profile --ncu-set full, 10 ranges, counters only (1 draw, no timing)", counters, theirs))
        rows.append(("the same, and inside the kernels (PC samples, counts per instruction)", inside, theirs))
        rows.append(("fa-profile --ncu-set full: all that, 10 draws and 100 timed launches", default, theirs))
        rows.append(("fa-profile --ncu-set full, rung 7 alone, counters only", one, None))
        rows.append(("the same, and inside the kernel", one_inside, None))
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

        _, inputs = timed([profiler, "list", "inputs"])
        deterministic = {line.split()[1] for line in inputs.splitlines() if line.startswith("deterministic")}
        for number, shape in enumerate((MISSION, "4,16,1024,64")):
            print(f"\n## Truth: every metric that both report, shape {shape}\n", file=out)
            reports = [os.path.join(folder, f"truth{number}{run}") for run in "ab"]
            for report in reports:
                timed([*ncu, "--cache-control", "none", "--set", "full", "-f", "-o", report, program, "--shapes", shape])
            recording = os.path.join(folder, f"truth{number}.fap")
            timed(ours(f"truth{number}.fap", "--repeats", "0", "--replay", "kernel", "--raw", "none", "--shape", shape))
            first, second = (read_ncu(report + ".ncu-rep") for report in reports)
            truth_table(read_recording(recording), first, second, deterministic, out)
            out.flush()


if __name__ == "__main__":
    main()
