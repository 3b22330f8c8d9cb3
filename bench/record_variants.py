#!/usr/bin/env python3
"""Records the kernels of tests/phase_variants on a GPU, for docs/evidence/phases.md.

    bench/record_variants.py --program build/gpu/cli/fa-profile build/gpu/tests/phase_variants/libs OUT

Writes OUT/variants-HEAD_DIM[-causal]-SEQLEN.fap, one recording for each shape that a kernel takes. A kernel that could hang
because warps wait for each other is verified by itself first, and left out if it does not end within 30 s.
"""

import argparse
import pathlib
import re
import subprocess
import sys

COULD_HANG = re.compile("producer|wgmma|grid_splits")


def shape_of(program, path):
    """The one that a library is made for: its parameters' defaults."""
    command = [program, "list", "kernels", "--kernel-lib", str(path), "--match", path.stem]
    return re.search(r"--shape (\S+)", subprocess.run(command, check=True, capture_output=True, text=True).stdout)[1]


def options(libraries, shape):
    return [f"--kernel-lib={path}" for path in libraries] + ["--kernel", "^v", "--shape", shape]


def ends(program, path, shape):
    command = [program, "verify", *options([path], shape), "--draws", "1"]
    try:
        return subprocess.run(command, timeout=30, check=False, stdout=subprocess.DEVNULL).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--draws", default="3")
    parser.add_argument("libraries", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    worst = 0
    paths = sorted(arguments.libraries.glob("v_*.so"))
    by_shape = {}
    for path in paths:
        by_shape.setdefault(shape_of(arguments.program, path.resolve()), []).append(path)
    for shape, chosen in by_shape.items():
        for path in [path for path in chosen if COULD_HANG.search(path.name)]:
            if not ends(arguments.program, path, shape):
                print(f"left out: {path.stem} is wrong, or does not end", flush=True)
                chosen.remove(path)
        values = dict(parameter.split("=") for parameter in shape.split(","))
        causal = "-causal" if values["causal"] == "1" else ""
        name = arguments.out / f"variants-{values['head_dim']}{causal}-{values['seqlen']}.fap"
        command = [arguments.program, "--ncu-set", "phases", "--phases", "on", "--draws", arguments.draws,
                   "--repeats", "5", "--raw", "none", "--force", "-o", str(name), *options(chosen, shape)]  # fmt: skip
        worst = max(worst, subprocess.run(command, timeout=400, check=False).returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())
