#!/usr/bin/env python3
"""Records the kernels of tests/phase_variants on a GPU, for docs/evidence/phases.md.

    bench/record_variants.py --program build/gpu/cli/fa-profile build/gpu/tests/phase_variants/libs OUT

Writes OUT/variants-HEAD_DIM[-causal]-SEQLEN.fap, one recording for each shape that a kernel takes. A kernel that could hang
because warps wait for each other is verified by itself first, and left out if it does not end within 30 s.
"""

import argparse
import ctypes
import pathlib
import re
import subprocess
import sys

BATCH, HEADS = 1, 8
# head_dim, causal, seqlen
SHAPES = ((64, 0, 512), (64, 1, 512), (128, 0, 512), (128, 1, 512), (64, 0, 4096))
COULD_HANG = re.compile("producer|wgmma|grid_splits")


class Arguments(ctypes.Structure):
    """fa_profile_attention_args of kernel_abi.h."""

    _fields_ = [("struct_size", ctypes.c_uint32)] + [
        (name, ctypes.c_int32) for name in ("batch", "num_heads", "seqlen", "head_dim", "causal")
    ] + [("softmax_scale", ctypes.c_float)] + [(name, ctypes.c_void_p) for name in "q k v o workspace".split()] + [
        ("workspace_bytes", ctypes.c_size_t), ("stream", ctypes.c_void_p)]  # fmt: skip


def takes(library, head_dim, causal, seqlen):
    error = ctypes.create_string_buffer(1024)
    call = Arguments(ctypes.sizeof(Arguments), BATCH, HEADS, seqlen, head_dim, causal, head_dim**-0.5)
    return library.fa_profile_kernel_supports(ctypes.byref(call), error, len(error)) == 0


def options(libraries, head_dim, causal, seqlen):
    shape = f"{BATCH},{HEADS},{seqlen},{head_dim}" + (" causal" if causal else "")
    return [f"--kernel-lib={path}" for path in libraries] + ["--kernel", "^v", "--shape", shape]


def ends(program, path, shape):
    command = [program, "verify", *options([path], *shape), "--draws", "1"]
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
    loaded = {path: ctypes.CDLL(str(path.resolve())) for path in paths}
    for shape in SHAPES:
        head_dim, causal, seqlen = shape
        chosen = [path for path, library in loaded.items() if takes(library, *shape)]
        for path in chosen:  # at the first shape that it takes
            del loaded[path]
        for path in [path for path in chosen if COULD_HANG.search(path.name)]:
            if not ends(arguments.program, path, shape):
                print(f"left out: {path.stem} is wrong, or does not end", flush=True)
                chosen.remove(path)
        name = arguments.out / f"variants-{head_dim}{'-causal' if causal else ''}-{seqlen}.fap"
        command = [arguments.program, "--ncu-set", "phases", "--phases", "on", "--draws", arguments.draws,
                   "--repeats", "5", "--raw", "none", "--force", "-o", str(name), *options(chosen, *shape)]  # fmt: skip
        worst = max(worst, subprocess.run(command, timeout=400, check=False).returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())
