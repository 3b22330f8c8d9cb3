# Honest: reads a count from the GPU in the middle (.item()) to size its output, so that a CUDA graph cannot capture it;
# the output has another length for each draw.
import torch


def positives(x):
    return x[x > 0]


def asks_for_a_count(x):
    flat = x.flatten()
    keep = flat > 0
    place = keep.cumsum(dim=0)
    out = torch.empty(int(place[-1].item()), device=x.device, dtype=x.dtype)
    out[place[keep] - 1] = flat[keep]
    return out


def inputs(n):
    return torch.randn(n, n, device="cuda")


asks_for_a_count.fa_profile = {
    "inputs": inputs,
    "reference": positives,
    "shapes": [{"n": 1024}],
    "tolerance": (0, 0),
}
