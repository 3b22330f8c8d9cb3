# Honest: keeps a scratch tensor between calls for the scales of the rows; every call computes them and the output
# anew.
import torch

from blind_spec import norm_spec

scratch = {}


def kept_scratch(x):
    if x.shape not in scratch:
        scratch[x.shape] = torch.empty(x.shape[0], 1, device=x.device, dtype=x.dtype)
    scale = scratch[x.shape]
    torch.mean(x * x, dim=-1, keepdim=True, out=scale)
    return x * scale.add_(1e-6).rsqrt_()


kept_scratch.fa_profile = norm_spec()
