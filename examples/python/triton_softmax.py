"""A row softmax in Triton: fa-profile --kernel-py examples/python/triton_softmax.py:softmax"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(out, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    values = tl.load(x + row * columns + offsets, mask=inside, other=-float("inf")).to(tl.float32)
    exponentials = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + offsets, exponentials / tl.sum(exponentials, axis=0), mask=inside)


def softmax(x):
    out = torch.empty_like(x)
    rows, columns = x.shape
    softmax_kernel[(rows,)](out, x, columns, BLOCK=triton.next_power_of_2(columns), num_warps=4)
    return out


def inputs(rows, columns):
    return torch.randn(rows, columns, device="cuda", dtype=torch.float16)


# What fa-profile needs to know. Without fa-profile it is an attribute that nothing reads.
softmax.fa_profile = {
    "inputs": inputs,
    "reference": lambda x: torch.softmax(x, dim=-1),
    "shapes": [{"rows": 4096, "columns": 1024}, {"rows": 1024, "columns": 4000}],
    "tolerance": (1e-4, 1e-3),
}
