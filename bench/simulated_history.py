#!/usr/bin/env python3
"""A history of simulated nights: simulated_history.py PROGRAM HISTORY.db [--nights N] [--seed N]

Writes evidence of N nights of one card, adds it with `fa-profile gate history add`, and prints what was put in. The noise is
like that measured on an H200: 0.2 to 0.7 % between processes of one night; between nights 0.3 to 0.7 %, which is assumed.
docs/gate.md shows the picture of the defaults.
"""
import argparse
import datetime
import json
import math
import pathlib
import random
import subprocess
import tempfile

# Kernel, time, deviation between processes and between nights, and what happens: from which night (as a share), by how much.
CASES = (
    ("minimal", 587e-6, 0.0021, 0.003, ()),
    ("scalar", 219e-6, 0.0031, 0.003, ()),
    ("tiled", 23.2e-6, 0.0035, 0.005, ((0.6, 0.034),)),
    ("cublas", 12.9e-6, 0.0067, 0.007, ()),
    ("wmma", 23.0e-6, 0.0059, 0.006, ((0.3, 0.021), (0.75, -0.045))),
    ("mma", 5.69e-6, 0.0067, 0.006, tuple((share / 7, 0.019) for share in range(1, 7))),
)
PROCESSES = 10


def night(number, nights, levels, generator):
    day = datetime.datetime(2026, 9, 1, 3) + datetime.timedelta(days=number)
    processes = []
    for _ in range(PROCESSES):
        values = []
        for (_, _, between_processes, _, _), level in zip(CASES, levels):
            seconds = level * math.exp(generator.gauss(0, between_processes))
            values.append([seconds * 1.755e9, seconds])
        processes.append({"kind": "timing", "values": values})
    return {
        "format": "fa-profile evidence", "version": 1, "origin": "simulated",
        "environment": {"gpu_name": "NVIDIA H200 (simulated)", "gpu_uuid": "GPU-simulated", "driver_version": "580.159.04",
                        "cuda_runtime_version": "13.0", "sm_clock_max_hz": 1980000000,
                        "tool_commit": f"{generator.getrandbits(48):012x}", "taken_at": day.strftime("%Y-%m-%dT%H:%M:%SZ")},
        "losses": [], "columns": {"timing": [["", "duration_cycles"], ["", "duration_seconds"]]},
        "cases": [{"kernel": name, "shape": "1,8,512,64"} for name, *_ in CASES], "processes": processes}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("history")
    parser.add_argument("--nights", type=int, default=84)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    generator = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number in range(given.nights):
            levels = []
            for _, seconds, _, between_nights, changes in CASES:
                moved = sum(size for share, size in changes if number >= round(share * given.nights))
                levels.append(seconds * math.exp(moved + generator.gauss(0, between_nights)))
            files.append(pathlib.Path(folder) / f"night{number}.json")
            files[-1].write_text(json.dumps(night(number, given.nights, levels, generator)))
        subprocess.run([given.program, "gate", "history", "add", given.history, *map(str, files)], check=True)
    for name, _, _, _, changes in CASES:
        print(name, *(f"night {round(share * given.nights)}: {size:+.1%}" for share, size in changes))


if __name__ == "__main__":
    main()
