"""PyTorch's scaled dot-product attention: its flash, memory-efficient and cuDNN kernels, eager and in a CUDA graph.

    fa-profile -o pytorch-sdpa.fap -- python3 bench/programs/sdpa.py

It prints the time of a call of each and a checksum. Needs PyTorch and a GPU.
"""

import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

BATCH, HEADS, TOKENS, HEAD_DIM = 4, 16, 2048, 64
CALLS = 2500
BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}


def microseconds(step):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(CALLS):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / CALLS * 1e6


def main():
    torch.manual_seed(1)
    q, k, v = (torch.randn(BATCH, HEADS, TOKENS, HEAD_DIM, device="cuda", dtype=torch.half) for _ in range(3))
    times, checksum = [], 0.0
    with torch.no_grad():
        for name, backend in BACKENDS.items():
            with sdpa_kernel(backend):
                attend = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v)
                for _ in range(3):
                    attend()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    result = attend()
                with torch.cuda.nvtx.range(name):
                    times.append(f"{name} {microseconds(attend):.1f} us")
                    times.append(f"graph {microseconds(graph.replay):.1f} us")
                checksum += result.double().sum().item()
    print(f"{', '.join(times)}, checksum {checksum:.6f}")


if __name__ == "__main__":
    main()
