#!/usr/bin/env python3
"""A decode step of a transformer of 12 layers in a CUDA graph, replayed on new inputs.

    python3 bench/programs/decode.py [STEPS]

Prints a hash of all outputs and the time of a step. Needs a GPU and PyTorch.
"""

import hashlib
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

LAYERS, TOKENS, WIDTH, HEADS = 12, 16, 1024, 16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)
        self.norm1 = nn.LayerNorm(WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, tokens, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
        attention = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attention.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    torch.manual_seed(0)
    model = nn.Sequential(*[Block() for _ in range(LAYERS)]).cuda().half().eval()
    x = torch.randn(1, TOKENS, WIDTH, device="cuda", dtype=torch.float16)
    with torch.no_grad():
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                model(x)
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = model(x)
        total = torch.zeros(TOKENS, WIDTH, device="cuda", dtype=torch.float64)
        generator = torch.Generator(device="cuda").manual_seed(1)
        start = time.time()
        for _ in range(steps):
            x.copy_(torch.randn(1, TOKENS, WIDTH, generator=generator, device="cuda").half())
            graph.replay()
            total.mul_(0.99).add_(y[0].double())
        torch.cuda.synchronize()
        elapsed = time.time() - start
    digest = hashlib.sha256(total.cpu().numpy().tobytes()).hexdigest()
    print("hash", digest[:16], f"{elapsed / steps * 1e3:.3f} ms a step", flush=True)


if __name__ == "__main__":
    main()
