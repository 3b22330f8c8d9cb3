#!/usr/bin/env python3
"""Rungs of the ladder beside PyTorch's cuDNN and FlashAttention backends, on one GPU, in one process.

  bench/against_sdpa.py --library build/gpu/bench/fa_rung_calls.so [--rung hopper]... [--shape B,H,S,D[,causal]]...

Each contender's calls are captured into CUDA graphs: a chain of calls, and one call alone. The graphs are replayed in
turn, round after round, so that all see the same clocks and temperature. Printed for each shape: the median time of a
call over the rounds, TFLOP/s, and how many times as fast as cuDNN the contender is, with the smallest and the largest
ratio of a round; then the median SM clock and power while the shape was measured. PyTorch's inputs are drawn like the
ladder's: standard normal, fp16. A rung is verified first. A benchmark, not a test: it reports and does not judge.
Needs a GPU and PyTorch.
"""

import argparse
import ctypes
import json
import statistics
import subprocess
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

SHAPES = ["1,8,512,64", "8,16,512,64", "8,16,512,128", "4,16,2048,64", "4,16,2048,128", "1,16,16384,64",
          "1,16,16384,128", "1,16,16384,128,causal"]
BACKENDS = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}


class Shape:
    def __init__(self, text):
        parts = text.split(",")
        self.text = text
        self.causal = parts[4:] == ["causal"]
        if len(parts) != 4 + self.causal:
            sys.exit(f"the shape '{text}' must be B,H,S,D or B,H,S,D,causal")
        self.sizes = [int(part) for part in parts[:4]]

    def flop(self):
        batch, heads, seqlen, head_dim = self.sizes
        return 4.0 * batch * heads * seqlen * seqlen * head_dim * (0.5 if self.causal else 1.0)


class Rung:
    def __init__(self, functions, name, shape):
        self.functions = functions
        self.handle = functions.fa_rung_open(name.encode(), *shape.sizes, int(shape.causal))
        if not self.handle:
            sys.exit(f"{name} did not open at {shape.text}")

    def call(self):
        if self.functions.fa_rung_launch(self.handle, torch.cuda.current_stream().cuda_stream) != 0:
            sys.exit("a launch failed")

    def close(self):
        self.functions.fa_rung_close(self.handle)


class Sdpa:
    def __init__(self, backend, shape):
        self.backend, self.causal = backend, shape.causal
        self.q, self.k, self.v = (torch.randn(shape.sizes, dtype=torch.float16, device="cuda") for _ in range(3))

    def call(self):
        with sdpa_kernel(self.backend):
            torch.nn.functional.scaled_dot_product_attention(self.q, self.k, self.v, is_causal=self.causal)

    def close(self):
        pass


def capture(contender, calls):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            contender.call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            contender.call()
    graph.replay()
    torch.cuda.synchronize()
    return graph


def replay_us(graph, replays):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(replays):
        graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1000.0 / replays


class ClocksAndPower:
    """What nvidia-smi reads ten times a second, until asked."""

    def __enter__(self):
        self.process = subprocess.Popen(
            ["nvidia-smi", "-i", str(torch.cuda.current_device()), "--query-gpu=clocks.sm,power.draw",
             "--format=csv,noheader,nounits", "-lms", "100"], stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        rows = [line.split(",") for line in self.process.communicate()[0].splitlines() if line.count(",") == 1]
        self.mhz = statistics.median(float(row[0]) for row in rows) if rows else float("nan")
        self.watts = statistics.median(float(row[1]) for row in rows) if rows else float("nan")


def measure(library, rungs, shape, rounds, round_ms):
    contenders = {name: Sdpa(backend, shape) for name, backend in BACKENDS.items()}
    contenders.update({name: Rung(library, name, shape) for name in rungs})
    graphs = {}
    for name, contender in contenders.items():
        one = capture(contender, 1)
        chain = max(1, min(20, int(2000 / max(replay_us(one, 5), 1))))
        graphs[name] = {"chain": (capture(contender, chain), chain), "alone": (one, 1)}
    times = {name: {"chain": [], "alone": []} for name in contenders}
    with ClocksAndPower() as card:
        for i in range(rounds + 1):  # the first warms up
            for how in ("chain", "alone"):
                for name in contenders:
                    graph, calls = graphs[name][how]
                    replays = max(3, int(round_ms * 1000 / replay_us(graph, 1)))
                    us = replay_us(graph, replays) / calls
                    if i > 0:
                        times[name][how].append(us)
    for contender in contenders.values():
        contender.close()
    del graphs
    torch.cuda.empty_cache()
    return times, card


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--rung", action="append")
    parser.add_argument("--shape", action="append")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--round-ms", type=float, default=20, help="time of one contender in a round")
    parser.add_argument("--json", help="write all times to this file")
    arguments = parser.parse_args()

    library = ctypes.CDLL(arguments.library)
    library.fa_rung_open.restype = ctypes.c_void_p
    library.fa_rung_launch.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    library.fa_rung_close.argtypes = [ctypes.c_void_p]
    torch.manual_seed(1)
    torch.randn(1, device="cuda")  # makes the context that the rungs share

    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True,
                            text=True, check=True).stdout.split()[0]
    print(f"{torch.cuda.get_device_name()}, driver {driver}, PyTorch {torch.__version__}, "
          f"cuDNN {torch.backends.cudnn.version()}; {arguments.rounds} rounds\n")
    print("| shape | kernel | us, in a chain | TFLOP/s | us, alone | x cuDNN, in a chain | x cuDNN, alone | MHz | W |")
    print("|---|---|---|---|---|---|---|---|---|")
    kept = []
    for text in arguments.shape or SHAPES:
        shape = Shape(text)
        times, card = measure(library, arguments.rung or ["hopper", "mma"], shape, arguments.rounds,
                              arguments.round_ms)
        for name, by_how in times.items():
            median = {how: statistics.median(values) for how, values in by_how.items()}
            row = [text, name, f"{median['chain']:.2f}", f"{shape.flop() / median['chain'] * 1e-6:.0f}",
                   f"{median['alone']:.2f}"]
            for how in ("chain", "alone"):
                ratios = [theirs / ours for theirs, ours in zip(times["cuDNN"][how], by_how[how])]
                row.append(f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
            print("| " + " | ".join([*row, f"{card.mhz:.0f}", f"{card.watts:.0f}"]) + " |", flush=True)
        kept.append({"shape": text, "us": times, "mhz": card.mhz, "watts": card.watts})
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(kept, file, indent=1)


if __name__ == "__main__":
    main()
