"""Two ranks that add up gradients with NCCL, one GPU each.

    fa-profile -o 'ranks-%q{RANK}.fap' -- torchrun --nproc-per-node 2 bench/programs/ranks.py

Each rank prints the time of a step and a checksum. Needs PyTorch and two GPUs.
"""

import time

import torch
import torch.distributed

WIDTH, STEPS = 4096, 400


def main():
    torch.distributed.init_process_group("nccl")
    rank = torch.distributed.get_rank()
    torch.cuda.set_device(rank)
    torch.manual_seed(rank)
    weights = torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.half) * 0.01
    x = torch.randn(1024 * (1 + rank), WIDTH, device="cuda", dtype=torch.half)  # rank 1 has twice the work

    def step():
        gradient = (x.T @ (x @ weights)).float() * 1e-6
        torch.distributed.all_reduce(gradient)
        return gradient

    for _ in range(5):
        step()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(STEPS):
        result = step()
    torch.cuda.synchronize()
    step_us = (time.perf_counter() - start) / STEPS * 1e6
    print(f"rank {rank}: step {step_us:.0f} us, checksum {result.double().sum().item():.6f}")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
