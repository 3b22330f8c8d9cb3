# Honest: takes a list of tensors of unequal sizes and an integer, and returns a list of as many results: a launch for
# each.
import torch


def softmaxes(parts, power):
    return [torch.softmax(part**power, dim=-1) for part in parts]


def ragged_list(parts, power):
    return softmaxes(parts, power)


def inputs(count, columns):
    return [torch.rand(16 * (i + 1), columns + i, device="cuda") for i in range(count)], 3


ragged_list.fa_profile = {
    "inputs": inputs,
    "reference": softmaxes,
    "shapes": [{"count": 6, "columns": 700}],
    "tolerance": (1e-7, 1e-4),
}
