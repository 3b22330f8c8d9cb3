# Cheat: its `inputs` repeats one row without copying it, and the kernel computes that row alone and repeats it
# likewise. For any other input of that shape it is wrong.
import torch

from blind_spec import norm, norm_spec


def inputs(rows, columns):
    return torch.randn(1, columns, device="cuda").expand(rows, columns)


def one_row_for_all(x):
    return norm(x[:1]).expand(x.shape)


one_row_for_all.fa_profile = norm_spec(inputs=inputs)
