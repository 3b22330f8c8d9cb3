#!/usr/bin/env python3
"""Judges every library and Python file of tests/cheats/blind: judge_cheats.py FA_PROFILE [REGEX]. Needs a GPU of sm_90a,
nvcc, and a python3 with PyTorch and Triton on PATH.

truth.txt says of each file what it is (cheat or honest) and, in its last column, what the judge makes of it: caught,
harmless (certified, and the time is that of right work), missed, certified, or cannot_say. Prints a line each and the
sums. Exit code 1: a verdict is not as listed.
"""

import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLIND = pathlib.Path(__file__).resolve().parent / "blind"
INCLUDE = BLIND.parents[2] / "kernels" / "include"
SECONDS = 60
CORRECT, NOT_CORRECT, NO_VERDICT, NO_ANSWER = 0, 1, 3, -1  # exit codes of verify, and that it did not end


def build(file, folder):
    """The options that name the kernel."""
    name, kind = file.rsplit(".", 1)
    if kind == "py":
        return ["--kernel-py", f"{BLIND / file}:{name}"]
    library = folder / f"{name}.so"
    command = ["nvcc", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", "-arch=sm_90a", "-I", str(INCLUDE)]
    subprocess.run([*command, str(BLIND / f"{name}.cu"), "-o", str(library)], check=True, capture_output=True)
    return ["--kernel", f"^{name}$", "--kernel-lib", str(library)]


def judge(program, name, kernel):
    """The verdict's text and the exit code."""
    command = [program, "verify", *kernel]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, errors="replace")
    except subprocess.TimeoutExpired:
        return f"no answer within {SECONDS} s", NO_ANSWER
    lines = [line for line in run.stdout.splitlines() if re.match(rf"{name}[ @]", line)]
    said = re.sub(r"^\S+ +(\w+=\S+ +)?", "", lines[-1]) if lines else (run.stderr.strip().splitlines() or ["nothing"])[0]
    return said, run.returncode


def is_as_listed(listed, said, code):
    if listed == "caught":
        return code == NOT_CORRECT
    if listed == "cannot_say":
        return code == NO_VERDICT and said.startswith("cannot say")
    return code == CORRECT and said.startswith("certified")


def main():
    program = os.path.abspath(sys.argv[1])
    if not pathlib.Path("/dev/nvidiactl").exists():
        print("no GPU here")
        return 0
    wanted = re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    rows = [line.split() for line in (BLIND / "truth.txt").read_text().splitlines() if line and not line.startswith("#")]
    rows = [row for row in rows if wanted.search(row[0])]
    counts = collections.Counter()
    differs = 0
    with tempfile.TemporaryDirectory() as folder:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            kernels = list(pool.map(lambda row: build(row[0], pathlib.Path(folder)), rows))
        for (file, truth, kind, listed), kernel in zip(rows, kernels):  # one at a time: the GPU must be theirs alone
            said, code = judge(program, file.rsplit(".", 1)[0], kernel)
            as_listed = is_as_listed(listed, said, code)
            differs += not as_listed
            counts[truth, listed if as_listed else "NOT AS LISTED"] += 1
            print(f"{file:25} {truth:6} {listed:9} {'' if as_listed else 'DIFFERS '}{said[:150]}", flush=True)
    print(", ".join(f"{truth} {what}: {count}" for (truth, what), count in sorted(counts.items())))
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
