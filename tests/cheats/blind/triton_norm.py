# Honest: a Triton kernel, compiled in the first call, a program a row.
import torch
import triton
import triton.language as tl

from blind_spec import norm_spec


@triton.jit
def norm_kernel(out, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + offsets, mask=offsets < columns, other=0.0)
    scale = tl.rsqrt(tl.sum(values * values, axis=0) / columns + 1e-6)
    tl.store(out + row * columns + offsets, values * scale, mask=offsets < columns)


def triton_norm(x):
    out = torch.empty_like(x)
    norm_kernel[(x.shape[0],)](out, x, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]), num_warps=4)
    return out


triton_norm.fa_profile = norm_spec()
