"""A transformer of 12 layers in half precision (PyTorch): decoding step by step and from a CUDA graph, and a prefill.

    fa-profile --ncu-set full -o transformer.fap -- python3 bench/programs/transformer.py

It prints how long one step of each kind took and a checksum of what it computed, which must not depend on who watches.
"""

import time

import torch

LAYERS, WIDTH, HEADS = 12, 1024, 16


def main():
    torch.manual_seed(1)
    up = [torch.randn(WIDTH, 4 * WIDTH, device="cuda", dtype=torch.half) * 0.02 for _ in range(LAYERS)]
    down = [torch.randn(4 * WIDTH, WIDTH, device="cuda", dtype=torch.half) * 0.02 for _ in range(LAYERS)]

    def model(x):
        for a, b in zip(up, down):
            heads = x.view(x.shape[0], x.shape[1], HEADS, WIDTH // HEADS).transpose(1, 2)
            attention = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads)
            x = torch.nn.functional.layer_norm(x + attention.transpose(1, 2).reshape(x.shape), (WIDTH,))
            x = x + torch.nn.functional.gelu(x @ a) @ b
        return x

    def repeat(step, steps):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(steps):
            result = step()
        torch.cuda.synchronize()
        return (time.perf_counter() - start) / steps * 1e6, result

    tokens = torch.randn(1, 16, WIDTH, device="cuda", dtype=torch.half)
    prompt = torch.randn(4, 2048, WIDTH, device="cuda", dtype=torch.half)
    with torch.no_grad():
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(30):
                model(tokens)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = model(tokens)
        eager, _ = repeat(lambda: model(tokens), 3000)
        replayed, _ = repeat(graph.replay, 12000)
        prefill, result = repeat(lambda: model(prompt), 400)
    print(f"eager {eager:.0f} us, graph {replayed:.1f} us, prefill {prefill:.0f} us, "
          f"checksum {captured.double().sum().item():.6f} {result.double().sum().item():.6f}")


if __name__ == "__main__":
    main()
