#!/usr/bin/env python3
"""Compares two releases each of public wheels, and holds the counts against nvdisasm: bench/compare_releases.py --program FA_PROFILE

Downloads the wheels with pip (about 450 MB) into --folder, where they stay. Prints a Markdown table for docs/evidence/gate.md:
what `release check` says and how long it takes; and of how many kernels of the new release `lint`, which disassembles, counts
the same instructions, in loops and not, and the same accesses of local memory and matrix instructions. Exit code 1: it counts
others. Needs no GPU; nvdisasm for the second part.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import zipfile

# Name, the two versions, the library that is also disassembled, for these architectures.
PAIRS = (
    ("torchvision", "0.20.1", "0.21.0", "torchvision/_C.so", ("sm_75", "sm_80", "sm_90")),
    ("bitsandbytes", "0.44.1", "0.45.0", "bitsandbytes/libbitsandbytes_cuda126.so", ("sm_75", "sm_90")),
    ("nvidia-nvjpeg-cu12", "12.3.3.54", "12.4.0.76", "nvidia/nvjpeg/lib/libnvjpeg.so.12", ("sm_86", "sm_100", "sm_120")),
    ("nvidia-curand-cu12", "10.3.7.77", "10.3.9.90", "nvidia/curand/lib/libcurand.so.10", ("sm_89", "sm_90")),
)


def download(name, version, folder):
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not list(folder.glob(pattern)):
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
                        "--python-version", "312", "--dest", str(folder), f"{name}=={version}"], check=True)
    return next(folder.glob(pattern))


def in_lint(kernel):
    rows = kernel["phases"]
    count = lambda rows, what: sum(row[what] for row in rows)
    loops = [row for row in rows if row["loop_depth"] > 0]
    return {"instructions": sum(row["instructions"] for row in rows), "loop_instructions": sum(row["instructions"] for row in loops),
            "local_accesses": count(rows, "local"), "loop_local_accesses": count(loops, "local"),
            "tensor_instructions": count(rows, "tensor")}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--program", default="build/ci/cli/fa-profile")
    options.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/wheels"))
    arguments = options.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    agree = compared = 0
    print("| wheel | size | kernels | verdict | seconds |\n|---|---|---|---|---|")
    for name, before, after, library, architectures in PAIRS:
        old, new = (download(name, version, arguments.folder) for version in (before, after))
        begin = time.monotonic()
        done = subprocess.run([arguments.program, "release", "check", "--format", "json", str(old), str(new)], capture_output=True)
        seconds = time.monotonic() - begin
        if done.returncode not in (0, 1):
            sys.exit(done.stderr.decode())
        result = json.loads(done.stdout)
        size = (old.stat().st_size + new.stat().st_size) / 1e6
        print(f"| {name} {before}, {after} | {size:.0f} MB | {result['old']['kernels']:,}, {result['new']['kernels']:,} | "
              f"{result['verdict']}: {result['headline']} | {seconds:.0f} |", flush=True)
        for architecture in architectures:
            with tempfile.TemporaryDirectory() as folder:
                file = zipfile.ZipFile(new).extract(library, folder)
                saved = pathlib.Path(folder) / "release.json"
                subprocess.run([arguments.program, "release", "save", file, "--arch", architecture, "-o", str(saved)], check=True,
                               stderr=subprocess.DEVNULL)
                codes = {code["code_hash"]: code for code in json.loads(saved.read_text())["code"]}
                lint = subprocess.run([arguments.program, "lint", file, "--arch", architecture, "--format", "json"], check=True,
                                      capture_output=True)
            for kernel in json.loads(lint.stdout)["kernels"]:
                code = codes.get(kernel["code_hash"])
                if code is None:
                    continue
                compared += 1
                expected = in_lint(kernel)
                if expected == {key: code[key] for key in expected}:
                    agree += 1
                else:
                    print(f"differs: {kernel['name']} {architecture}: {expected}", file=sys.stderr)
    print(f"\n{agree:,} of {compared:,} kernels have the counts of their disassembly.")
    return 0 if agree == compared else 1


if __name__ == "__main__":
    sys.exit(main())
