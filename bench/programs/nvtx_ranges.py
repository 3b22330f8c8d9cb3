#!/usr/bin/env python3
"""A small transformer with NVTX ranges: eager, in a CUDA graph, a prefill, and training steps under emit_nvtx().

nvtx_ranges.py [--no-ranges] prints the time of a step of each, and a checksum. Needs PyTorch and a GPU.
"""
import argparse
import contextlib
import time

import torch

WIDTH, HEADS, LAYERS = 1024, 16, 6


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-ranges", action="store_true", help="the same work without a call of NVTX")
    return parser.parse_args()


def weights(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.half) * 0.02


class Transformer:
    def __init__(self, span):
        self.span = span
        self.layers = [
            (weights(WIDTH, 3 * WIDTH), weights(WIDTH, WIDTH), weights(WIDTH, 4 * WIDTH), weights(4 * WIDTH, WIDTH))
            for _ in range(LAYERS)
        ]

    def __call__(self, x):
        batch, tokens, _ = x.shape
        for to_qkv, to_out, up, down in self.layers:
            with self.span("layer"):
                with self.span("attn"):
                    qkv = (x @ to_qkv).view(batch, tokens, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
                    out = torch.nn.functional.scaled_dot_product_attention(*qkv)
                    x = x + out.transpose(1, 2).reshape(batch, tokens, WIDTH) @ to_out
                with self.span("mlp"):
                    x = x + torch.nn.functional.gelu(x @ up) @ down
        return x


def microseconds(steps, step):
    for _ in range(20):
        step()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / steps * 1e6


def main():
    no_ranges = parse().no_ranges
    span = (lambda name: contextlib.nullcontext()) if no_ranges else torch.cuda.nvtx.range
    torch.manual_seed(0)
    model = Transformer(span)
    token = torch.randn(1, 16, WIDTH, device="cuda", dtype=torch.half)
    prompt = torch.randn(4, 2048, WIDTH, device="cuda", dtype=torch.half)

    def eager():
        with span("eager"):
            model(token)

    def prefill():
        with span("prefill"):
            model(prompt)

    with torch.no_grad():
        times = {"eager": microseconds(500, eager)}
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(3):
                model(token)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with span("capture"), torch.cuda.graph(graph):
            result = model(token)

        def decode():
            with span("decode"):
                graph.replay()

        times["decode"] = microseconds(2000, decode)
        times["prefill"] = microseconds(100, prefill)
        checksum = result.float().sum().item()
    weight = torch.randn(512, 512, device="cuda", requires_grad=True)
    features = token.float()[0, :, :512]
    with span("train"), contextlib.nullcontext() if no_ranges else torch.autograd.profiler.emit_nvtx():
        for _ in range(20):
            (torch.tanh(features @ weight) ** 2).sum().backward()
    torch.cuda.synchronize()
    print(", ".join(f"{name} {time_us:.1f} us" for name, time_us in times.items()) + f", checksum {checksum:.6f}")


if __name__ == "__main__":
    main()
