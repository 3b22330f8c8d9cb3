#!/usr/bin/env python3
"""fa-profile with a GPU that is not there, for tests of `fa-profile mcp`.

What needs a GPU is answered with what the real program once wrote: recordings and a saved run of the gate that are in the
repository. All else goes to the real program. Variables: REAL_PROGRAM, FAKE_SOURCE (the checkout), FAKE_MODE (below),
FAKE_PIDS (a file that gets the process ids of `hang`).
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

SOURCE = pathlib.Path(os.environ["FAKE_SOURCE"])
REAL = os.environ["REAL_PROGRAM"]
MODE = os.environ.get("FAKE_MODE", "")
RECORDING = SOURCE / "recordings/hopper/1-plain.fap"
AFTER = SOURCE / "recordings/hopper/2-overlap.fap"
GPU = "NVIDIA H100 80GB HBM3"


def real(*arguments):
    sys.stdout.flush()
    os.execv(REAL, [REAL, *arguments])


def value_of(arguments, option):
    return arguments[arguments.index(option) + 1] if option in arguments else None


def misbehave():
    """What the mode asks for, of a program that does not do its job."""
    if MODE == "hang":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"])
        with open(os.environ["FAKE_PIDS"], "a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {child.pid}\n")
        time.sleep(3600)
    elif MODE == "flood":
        line = b"x" * 65535 + b"\n"
        while True:
            sys.stdout.buffer.write(line)
    elif MODE == "memory":
        kept = bytearray(600 << 20)
        for place in range(0, len(kept), 4096):
            kept[place] = 1
        time.sleep(3600)
    elif MODE == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif MODE == "error":
        print("fa-profile: error: the kernel library mine.so has no kernel\n  hint: define FaProfileKernel()", file=sys.stderr)
        sys.exit(2)
    elif MODE == "silent":
        sys.exit(0)


def judged(verdict, reason):
    counters = {name: 1.0e6 for name in ("instructions", "tensor_cycles", "sm_cycles", "fp64_cycles", "l2_sectors", "dram_sectors")}
    return {
        "kernel": "mine", "shape": "rows=4096,cols=1024", "seed": "0" * 16, "draws": 6, "draws_passed": 0 if verdict == "wrong" else 6,
        "max_error_ratio": 3.0 if verdict == "wrong" else 0.16, "verdict": verdict, "reason": reason, "calls": 3000,
        "wrong_calls": 12 if verdict == "wrong" else 0, "same_bits": True, "largest_difference": 0.0,
        "conditions": "fp16; no tensor cores", "weak_tolerance": "", "accepted_weak_tolerance": False,
        "durations_ns": [11400.0, 11500.0, 11600.0], "calls_a_burst": 100, "calls_a_graph": 10, "sets": 3,
        **counters, **{f"timed_{name}": value for name, value in counters.items()},
    }  # fmt: skip


def verify(arguments):
    verdict, reason, code = {
        "wrong": ("wrong", "12 of 3000 calls are wrong", 1),
        "refused": ("refused", "a timed call executes 0.2 of the instructions of a verified one", 1),
        "unclear": ("cannot say", "another process uses the GPU", 3),
    }.get(MODE, ("certified", "", 0))
    print(f"{GPU}, driver 580.159.04: |error| <= 1e-3 + 1e-3*|reference| against float64")
    receipt = value_of(arguments, "--receipt")
    if receipt:
        print(f"mine             rows=4096,cols=1024    {verdict}: {reason or '11.5 us a call, 0 of 3000 calls wrong (95 %: under 0.1 %)'}")
        digest = "0" * 64
        text = json.dumps({
            "format": "fa-profile receipt", "version": 3, "date": "2026-11-26T12:00:00Z",
            "tool": {"version": "0.2.0", "commit": "unknown", "sha256": digest},
            "gpu": {"name": GPU, "driver": "580.159.04", "cuda_driver": "13.0", "cuda_runtime": "13.0"},
            "library": {"file": "mine.so", "sha256": digest}, "sources": {}, "tensors": {}, "cases": [judged(verdict, reason)], "sha256": digest,
        })  # fmt: skip
        pathlib.Path(receipt).write_text(text, encoding="utf-8")
    else:
        print("mma              1,8,512,64             correct, 100 of 100 draws, max error 1.61e-01")
    word = {0: "PASS", 1: "FAIL", 3: "NO VERDICT"}[code]
    print(f"{word}: 1 comparisons, {1 if code == 1 else 0} not correct")
    sys.exit(code)


def check_receipt():
    print(f"receipt of mine.so, 2026-11-26T12:00:00Z, {GPU}")
    print("agrees       library: SHA-256 5d41")
    if MODE == "wrong":
        print("DIFFERS      mine rows=4096,cols=1024: time: 11.4 to 11.6 us in the receipt, 14.0 to 14.1 us now (5 % are allowed)")
        print("DIFFERS: measured again, it is not what the receipt says")
        sys.exit(1)
    print("agrees       mine rows=4096,cols=1024: time: 11.4 to 11.6 us in the receipt, 11.4 to 11.5 us now (5 % are allowed)")
    print("AGREES: measured again, it is what the receipt says")


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("--version", "report", "diff", "lint", "list", "new", "baseline"):
        real(*arguments)
    misbehave()
    if arguments[0] == "doctor":
        print("ok       GPU          NVIDIA H100 80GB HBM3, driver 580.159.04\nok       CUPTI        found: libcupti.so.13")
    elif arguments[0] == "verify":
        verify(arguments)
    elif arguments[:2] == ["receipt", "check"]:
        check_receipt()
    elif arguments[0] == "gate":
        if "--pair" in arguments:
            real("gate", "--replay", str(SOURCE / "tests/data/gate/pair-ptxas-o1.json"), "--thresholds", "none", "--format", "json")
        real(*arguments)
    else:  # measures
        output = value_of(arguments, "-o")
        if output:
            shutil.copyfile(AFTER if "after" in output else SOURCE / "recordings/pytorch-sdpa.fap" if "--" in arguments else RECORDING, output)
        sys.exit(1 if MODE == "refused" else 0)


if __name__ == "__main__":
    main()
