# Honest: takes a module with weights, and its input; the reference runs a copy of the module in float64.
import copy

import torch


def module_argument(module, x):
    with torch.no_grad():
        return module(x)


def inputs(rows, width):
    layers = [torch.nn.LayerNorm(width), torch.nn.Linear(width, 2 * width), torch.nn.SiLU()]
    module = torch.nn.Sequential(*layers, torch.nn.Linear(2 * width, width)).cuda()
    return module, torch.randn(rows, width, device="cuda")


def reference(module, x):
    with torch.no_grad():
        return copy.deepcopy(module).double()(x.double())


module_argument.fa_profile = {
    "inputs": inputs,
    "reference": reference,
    "shapes": [{"rows": 512, "width": 256}],
    "tolerance": (1e-4, 1e-4),
}
