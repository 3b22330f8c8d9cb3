"""A program that profiles itself with torch.profiler.

    fa-profile -- python3 bench/programs/torch_profiler.py

It prints a checksum and how many GPU events torch.profiler saw: both are the same alone and watched. Needs PyTorch and
a GPU.
"""

import torch
from torch.profiler import ProfilerActivity, profile

STEPS = 2000


def main():
    torch.manual_seed(1)
    x = torch.randn(1024, 1024, device="cuda") * 0.03
    weights = x.clone()
    for _ in range(STEPS):
        x = torch.nn.functional.layer_norm(x @ weights, (1024,))
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(20):
            x = torch.nn.functional.layer_norm(x @ weights, (1024,))
        torch.cuda.synchronize()
    events = sum(event.device_type == torch.autograd.DeviceType.CUDA for event in profiler.events())
    for _ in range(STEPS):
        x = torch.nn.functional.layer_norm(x @ weights, (1024,))
    print(f"checksum {x.double().sum().item():.6f}, torch.profiler saw {events} GPU events")


if __name__ == "__main__":
    main()
