# Honest: a Triton kernel that Triton's autotuner runs in four configurations in its first call and whose fastest one
# every later call uses.
import torch
import triton
import triton.language as tl

from blind_spec import norm_spec


@triton.autotune(
    configs=[triton.Config({"ROWS": rows}, num_warps=warps) for rows in (1, 4) for warps in (2, 8)],
    key=["columns"],
)
@triton.jit
def norm_kernel(out, x, rows, columns, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    for i in range(ROWS):
        row = (tl.program_id(0) * ROWS + i).to(tl.int64)
        offsets = tl.arange(0, BLOCK)
        mask = (offsets < columns) & (row < rows)
        values = tl.load(x + row * columns + offsets, mask=mask, other=0.0)
        scale = tl.rsqrt(tl.sum(values * values, axis=0) / columns + 1e-6)
        tl.store(out + row * columns + offsets, values * scale, mask=mask)


def autotuned_triton(x):
    out = torch.empty_like(x)
    rows, columns = x.shape
    norm_kernel[lambda meta: (triton.cdiv(rows, meta["ROWS"]),)](
        out, x, rows, columns, BLOCK=triton.next_power_of_2(columns)
    )
    return out


autotuned_triton.fa_profile = norm_spec()
