#!/usr/bin/env python3
"""Runs the programs of this folder alone and watched, and compares what they print, how they end and how long they take.

    compare.py --fa-profile PATH [--set full] [--recordings FOLDER] [PROGRAM...]

PROGRAM: a name from this folder, or the path of a program such as build/gpu/bench/fa_threads. Prints a line for each program; exit code 1 when one of them printed or returned something else when it was watched.
ranks.py needs two GPUs and is left out unless it is named.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ONE_GPU = ("transformer", "nvtx_ranges", "sdpa", "compiled", "training", "captures", "launches", "torch_profiler")
LONGEST_S = 300


def command(program):
    if "/" in program:
        return [program]
    path = str(HERE / f"{program}.py")
    return ["torchrun", "--nproc-per-node", "2", path] if program == "ranks" else [sys.executable, path]


def run(arguments):
    start = time.perf_counter()
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=LONGEST_S)
    return done, time.perf_counter() - start


def results(text):
    """What must not depend on who watches: checksums and losses."""
    return sorted(re.findall(r"(?:checksum|loss) .*", text))


def times(text):
    return ", ".join(re.findall(r"\w+ [\d.]+ us", text))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fa-profile", required=True)
    parser.add_argument("--set", default="full")
    parser.add_argument("--recordings", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("programs", nargs="*", default=ONE_GPU)
    arguments = parser.parse_args()
    wrong = 0
    for program in arguments.programs:
        name = pathlib.Path(program).name
        alone, alone_s = run(command(program))
        output = arguments.recordings / f"{name}{'-%q{RANK}' if program == 'ranks' else ''}.fap"
        watched, watched_s = run([arguments.fa_profile, "--ncu-set", arguments.set, "--summary", "--force",
                                  "-o", str(output), "--", *command(program)])
        same = alone.returncode == watched.returncode and results(alone.stdout) == results(watched.stdout) != []
        wrong += not same
        print(f"{name}: {'same' if same else 'DIFFERENT'}, exit code {watched.returncode}, "
              f"{alone_s:.1f} s alone, {watched_s:.1f} s watched")
        print(f"  alone   {times(alone.stdout)}\n  watched {times(watched.stdout)}")
        (arguments.recordings / f"{name}.txt").write_text(
            f"{alone.stdout}\n{alone.stderr}\n--- watched ---\n{watched.stdout}\n{watched.stderr}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
