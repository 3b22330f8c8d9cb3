"""PyTorch's scaled dot-product attention: its flash, memory-efficient and cuDNN kernels, eager and in a CUDA graph.

    fa-profile -o pytorch-sdpa.fap -- python3 bench/programs/sdpa.py

It prints the time of a call of each and a checksum. Needs PyTorch and a GPU.
"""

import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

BATCH, HEADS, TOKENS, HEAD_DIM = 4, 16, 2048, 64
ROUNDS, CALLS = 150, 10
BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}


def main():
    torch.manual_seed(1)
    q, k, v = (torch.randn(BATCH, HEADS, TOKENS, HEAD_DIM, device="cuda", dtype=torch.half) for _ in range(3))

    def attend():
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)

    graphs, results = {}, {}
    seconds = dict.fromkeys((f"{name}{kind}" for name in BACKENDS for kind in ("", "_graph")), 0.0)
    with torch.no_grad():
        for name, backend in BACKENDS.items():
            with sdpa_kernel(backend):
                for _ in range(3):
                    attend()
                graphs[name] = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graphs[name]):
                    results[name] = attend()
        for _ in range(ROUNDS):
            for name, backend in BACKENDS.items():
                with sdpa_kernel(backend), torch.cuda.nvtx.range(name):
                    for kind, step in (("", attend), ("_graph", graphs[name].replay)):
                        start = time.perf_counter()
                        for _ in range(CALLS):
                            step()
                        torch.cuda.synchronize()
                        seconds[name + kind] += time.perf_counter() - start
    times = ", ".join(f"{name} {total / ROUNDS / CALLS * 1e6:.1f} us" for name, total in seconds.items())
    print(f"{times}, checksum {sum(result.double().sum().item() for result in results.values()):.6f}")


if __name__ == "__main__":
    main()
