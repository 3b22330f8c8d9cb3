"""Captures a CUDA graph again and again, launches it, and throws it away.

    fa-profile -- python3 bench/programs/captures.py

It prints the time of a round and a checksum. Needs PyTorch and a GPU.
"""

import time

import torch

ROUNDS, LAUNCHES = 300, 20


def main():
    torch.manual_seed(1)
    x = torch.randn(512, 512, device="cuda") * 0.05
    weights = torch.randn(512, 512, device="cuda") * 0.05
    torch.nn.functional.gelu(x @ weights)  # cuBLAS cannot begin inside a capture
    torch.cuda.synchronize()
    start = time.perf_counter()
    total = 0.0
    for _ in range(ROUNDS):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = torch.nn.functional.gelu(x @ weights) @ weights
        for _ in range(LAUNCHES):
            graph.replay()
        torch.cuda.synchronize()
        total += result.double().sum().item()
        graph.reset()
    print(f"round {(time.perf_counter() - start) / ROUNDS * 1e6:.0f} us, checksum {total:.6f}")


if __name__ == "__main__":
    main()
