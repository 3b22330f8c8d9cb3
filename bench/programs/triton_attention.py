"""Two attention kernels in Triton: plain online softmax, and a causal one with other tiles, warps and stages.

    fa-profile --ncu-set full --phases on -o triton.fap -- python3 bench/programs/triton_attention.py

It holds both against PyTorch's scaled_dot_product_attention, and prints the time of a call of each and a checksum. Needs
PyTorch with Triton, a C compiler and a GPU.
"""

import sys
import time

import torch
import triton
import triton.language as tl

BATCH, HEADS, TOKENS, HEAD_DIM = 4, 16, 2048, 64
ROUNDS, CALLS = 150, 10
LOG2_E = 1.4426950408889634


@triton.jit
def attend(q, k, v, o, scale, tokens, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD_DIM: tl.constexpr):
    """A program owns BLOCK_M query rows of one head. `scale` is that of base-2 exponentials."""
    base = tl.program_id(1) * tokens * HEAD_DIM
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, HEAD_DIM)
    q_tile = tl.load(q + base + rows[:, None] * HEAD_DIM + columns[None, :])
    maximum = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    output = tl.zeros([BLOCK_M, HEAD_DIM], tl.float32)
    for start in range(0, tokens, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        k_tile = tl.load(k + base + keys[None, :] * HEAD_DIM + columns[:, None])
        scores = tl.dot(q_tile, k_tile) * scale
        larger = tl.maximum(maximum, tl.max(scores, 1))
        weights = tl.exp2(scores - larger[:, None])
        correction = tl.exp2(maximum - larger)
        total = total * correction + tl.sum(weights, 1)
        output = output * correction[:, None]
        v_tile = tl.load(v + base + keys[:, None] * HEAD_DIM + columns[None, :])
        output = tl.dot(weights.to(tl.float16), v_tile, output)
        maximum = larger
    output = output / total[:, None]
    tl.store(o + base + rows[:, None] * HEAD_DIM + columns[None, :], output.to(tl.float16))


@triton.jit
def attend_causal(q, k, v, o, scale, tokens, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD_DIM: tl.constexpr):
    """The same with a causal mask: the keys before the diagonal in one loop, those on it in another that masks."""
    base = tl.program_id(1) * tokens * HEAD_DIM
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_M  # the longest first
    rows = first + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, HEAD_DIM)
    q_tile = tl.load(q + base + rows[:, None] * HEAD_DIM + columns[None, :])
    maximum = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    output = tl.zeros([BLOCK_M, HEAD_DIM], tl.float32)
    for start in range(0, first, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        k_tile = tl.load(k + base + keys[None, :] * HEAD_DIM + columns[:, None])
        v_tile = tl.load(v + base + keys[:, None] * HEAD_DIM + columns[None, :])
        scores = tl.dot(q_tile, k_tile)
        larger = tl.maximum(maximum, tl.max(scores, 1) * scale)
        weights = tl.exp2(scores * scale - larger[:, None])
        correction = tl.exp2(maximum - larger)
        total = total * correction + tl.sum(weights, 1)
        output = tl.dot(weights.to(tl.float16), v_tile, output * correction[:, None])
        maximum = larger
    for start in range(first, first + BLOCK_M, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        k_tile = tl.load(k + base + keys[None, :] * HEAD_DIM + columns[:, None])
        v_tile = tl.load(v + base + keys[:, None] * HEAD_DIM + columns[None, :])
        scores = tl.where(rows[:, None] >= keys[None, :], tl.dot(q_tile, k_tile), float("-inf"))
        larger = tl.maximum(maximum, tl.max(scores, 1) * scale)
        weights = tl.exp2(scores * scale - larger[:, None])
        correction = tl.exp2(maximum - larger)
        total = total * correction + tl.sum(weights, 1)
        output = tl.dot(weights.to(tl.float16), v_tile, output * correction[:, None])
        maximum = larger
    output = output / total[:, None]
    tl.store(o + base + rows[:, None] * HEAD_DIM + columns[None, :], output.to(tl.float16))


# name: kernel, causal, query rows, keys, warps, stages. The small tile of the causal kernel makes it use mma.sync.
KERNELS = {
    "plain": (attend, False, 128, 64, 4, 3),
    "causal": (attend_causal, True, 32, 32, 2, 2),
}


def main():
    torch.manual_seed(1)
    q, k, v = (torch.randn(BATCH, HEADS, TOKENS, HEAD_DIM, device="cuda", dtype=torch.half) for _ in range(3))
    results = {name: torch.empty_like(q) for name in KERNELS}

    def call(name):
        kernel, _, block_m, block_n, warps, stages = KERNELS[name]
        kernel[(TOKENS // block_m, BATCH * HEADS)](
            q, k, v, results[name], HEAD_DIM**-0.5 * LOG2_E, TOKENS,
            BLOCK_M=block_m, BLOCK_N=block_n, HEAD_DIM=HEAD_DIM, num_warps=warps, num_stages=stages,
        )  # fmt: skip

    seconds = dict.fromkeys(KERNELS, 0.0)
    for name, (_, causal, *_) in KERNELS.items():
        call(name)
        expected = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=causal)
        error = (results[name].float() - expected).abs().max().item()
        if not error < 4e-3:
            sys.exit(f"{name} differs from scaled_dot_product_attention by {error:.2e}")
    for _ in range(ROUNDS):
        for name in KERNELS:
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(CALLS):
                call(name)
            torch.cuda.synchronize()
            seconds[name] += time.perf_counter() - start
    times = ", ".join(f"{name} {total / ROUNDS / CALLS * 1e6:.1f} us" for name, total in seconds.items())
    print(f"{times}, checksum {sum(result.double().sum().item() for result in results.values()):.6f}")


if __name__ == "__main__":
    main()
