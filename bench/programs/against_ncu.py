#!/usr/bin/env python3
"""A whole program under fa-profile beside one of its steps under Nsight Compute: time and values.

    python3 bench/programs/against_ncu.py --fa-profile build/gpu/cli/fa-profile

fa-profile spreads the passes of set `full` over the launches of the whole program; ncu replays each launch. Both leave
caches and clocks as they are. A class is a kernel with its grid and block; of ncu's launches of a class the median
counts. It reports and does not judge. Needs a GPU, ncu and PyTorch.
"""

import argparse
import collections
import glob
import os
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

NCU = ["ncu", "--clock-control", "none", "--cache-control", "none", "--set", "full", "-f"]
SLOW_US = 20  # the report's own figure: below it, rates over elapsed time include the GPU's start


def timed(command):
    start = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout[-2000:]}")
    return time.monotonic() - start


def base_name(demangled):
    """attention<64> of `void a::attention<64>(int)`: without return type, namespaces, template and arguments."""
    name = re.sub(r"\(anonymous namespace\)|<unnamed>", "unnamed", demangled)
    return re.split(r"[<(]", name)[0].split("::")[-1].split(" ")[-1]


def of_ncu(report):
    """{class: {metric: median over its launches}}"""
    import ncu_report  # its folder is put on the path by main()
    values = collections.defaultdict(lambda: collections.defaultdict(list))
    actions = ncu_report.load_report(report).range_by_idx(0)
    for i in range(actions.num_actions()):
        action = actions.action_by_idx(i)
        grid, block = ([int(action.metric_by_name(f"launch__{what}_dim_{axis}").as_double()) for axis in "xyz"]
                       for what in ("grid", "block"))
        kernel = values[(base_name(action.name(ncu_report.IAction.NameBase_DEMANGLED)), *grid, *block)]
        for name in action.metric_names():
            try:
                kernel[name].append(action.metric_by_name(name).as_double())
            except (TypeError, RuntimeError, ValueError):
                pass  # text, or a value per instruction
    return {kernel: {name: statistics.median(v) for name, v in metrics.items()} for kernel, metrics in values.items()}


def of_recording(path):
    """{class: {metric: value}} of the classes with counters; a class that is in the recording twice is left out."""
    database = sqlite3.connect(path)
    classes, twice = {}, set()
    for range_id, name, *shape in database.execute(
            "SELECT r.id, l.kernel_name, grid_x, grid_y, grid_z, block_x, block_y, block_z FROM range r "
            "JOIN launch l ON l.case_id = r.case_id GROUP BY r.id"):
        key = (base_name(name), *shape)
        (twice.add if key in classes else lambda _: None)(key)
        classes[key] = dict(database.execute(
            "SELECT m.name, v.value FROM value v JOIN metric m ON m.id = v.metric_id WHERE v.range_id = ?",
            (range_id,)))
    return {key: values for key, values in classes.items() if key not in twice}


def difference(a, b):
    return 0.0 if a == b else abs(a - b) / max(abs(a), abs(b))


def table(ours, theirs, deterministic):
    print("| class | time | deterministic: equal | of | others: median | within 2 % | of |\n|---|---|---|---|---|---|---|")
    everything, unequal = [], []
    for kernel in sorted(ours.keys() & theirs.keys(), key=lambda k: -theirs[k]["gpu__time_duration.sum"]):
        mine, its = ours[kernel], theirs[kernel]
        us = its["gpu__time_duration.sum"] / 1e3
        both = mine.keys() & its.keys()
        exact = [difference(mine[m], its[m]) for m in both & deterministic]
        others = [difference(mine[m], its[m]) for m in both - deterministic]
        if us >= SLOW_US:
            everything += others
        unequal += [f"{kernel[0][:44]}: {m}: {mine[m]:.0f}, ncu {its[m]:.0f}"
                    for m in sorted(both & deterministic) if mine[m] != its[m]]
        print(f"| {kernel[0][:44]} | {us:.1f} us | {sum(d == 0 for d in exact)} | {len(exact)} | "
              f"{100 * statistics.median(others):.2f} % | {sum(d <= 0.02 for d in others)} | {len(others)} |")
    if everything:
        print(f"\nOf {len(everything)} other values of kernels over {SLOW_US} us the median differs by "
              f"{100 * statistics.median(everything):.2f} %.")
    print("".join(f"\n- {line}" for line in unequal))
    print(f"\nClasses with counters: {len(ours)}; in both: {len(ours.keys() & theirs.keys())}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fa-profile", default="build/gpu/cli/fa-profile")
    parser.add_argument("--skip", type=int, default=1000, help="launches before ncu's first")
    parser.add_argument("--count", type=int, default=200, help="launches that ncu measures")
    parser.add_argument("--kernel", default=".", help="kernels that ncu measures, a regular expression")
    parser.add_argument("program", nargs="?", default=os.path.join(os.path.dirname(__file__), "training.py"))
    arguments = parser.parse_args()
    sys.path += glob.glob("/opt/nvidia/nsight-compute/*/extras/python")
    program = [sys.executable, arguments.program]
    with tempfile.TemporaryDirectory() as folder:
        recording, report = os.path.join(folder, "a.fap"), os.path.join(folder, "a.ncu-rep")
        alone = timed(program)
        ours = timed([arguments.fa_profile, "--ncu-set", "full", "--summary", "-o", recording, "--", *program])
        some = ["--kernel-name", f"regex:{arguments.kernel}", "--launch-skip", str(arguments.skip)]
        one, several = (timed([*NCU, "-o", report, *some, "--launch-count", str(count), *program])
                        for count in (1, arguments.count))
        launches = sqlite3.connect(recording).execute("SELECT sum(launches) FROM kernel_work").fetchone()[0]
        each = (several - one) / (arguments.count - 1)
        print(f"{os.path.basename(arguments.program)}: {launches} launches; alone {alone:.1f} s; fa-profile, all of it, "
              f"{ours:.1f} s; ncu, {arguments.count} launches, {several:.1f} s, {each:.2f} s a launch: "
              f"{each * launches / 60:.0f} min for all of them.\n")
        listed = subprocess.run([arguments.fa_profile, "list", "inputs"], capture_output=True, text=True, check=True)
        deterministic = {line.split()[1] for line in listed.stdout.splitlines() if line.startswith("deterministic")}
        table(of_recording(recording), of_ncu(report), deterministic)


if __name__ == "__main__":
    main()
