"""A small transformer block through torch.compile in mode reduce-overhead: Triton kernels, launched from CUDA graphs.

    fa-profile -- python3 bench/programs/compiled.py

It prints the time of a step and a checksum. Needs PyTorch with Triton, a C compiler and a GPU.
"""

import time

import torch

WIDTH, HEADS, TOKENS, STEPS = 1024, 16, 256, 3000


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out = torch.nn.Linear(WIDTH, WIDTH)
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        qkv = self.qkv(self.norm(x)).view(x.shape[0], TOKENS, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        attention = torch.nn.functional.scaled_dot_product_attention(*qkv)
        x = x + self.out(attention.transpose(1, 2).reshape(x.shape))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def main():
    torch.manual_seed(1)
    model = torch.compile(Block().cuda().half(), mode="reduce-overhead")
    x = torch.randn(2, TOKENS, WIDTH, device="cuda", dtype=torch.half)
    with torch.no_grad():
        for _ in range(10):
            result = model(x)
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(STEPS):
            result = model(x)
        torch.cuda.synchronize()
        step_us = (time.perf_counter() - start) / STEPS * 1e6
    print(f"step {step_us:.0f} us, checksum {result.double().sum().item():.6f}")


if __name__ == "__main__":
    main()
