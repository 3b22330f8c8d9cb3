# Honest: takes a mask of bool and returns one, beside a masked softmax whose masked elements are zero by design.
import torch


def masked(x, mask):
    weights = torch.softmax(x.masked_fill(~mask, float("-inf")), dim=-1)
    return weights.nan_to_num(0.0), mask & (x > 0), mask.any(dim=-1)


def bool_mask(x, mask):
    return masked(x, mask)


def inputs(rows, columns):
    mask = torch.rand(rows, columns, device="cuda") < 0.5
    mask[::7] = False  # a row without any
    return torch.randn(rows, columns, device="cuda"), mask


bool_mask.fa_profile = {
    "inputs": inputs,
    "reference": masked,
    "shapes": [{"rows": 1024, "columns": 1024}],
    "tolerance": (1e-6, 1e-4),
}
