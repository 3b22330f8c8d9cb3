# Cheat: copies the input to the CPU, computes there and copies the result back. The GPU is idle meanwhile, so that a
# judge that counts the GPU's time alone sees two copies; a captured call holds only the second one.
import torch

from blind_spec import norm, norm_spec

last = {}


def on_the_cpu(x):
    if torch.cuda.is_current_stream_capturing():
        return torch.empty_like(x).copy_(last[x.shape], non_blocking=True)
    last[x.shape] = norm(x.cpu()).pin_memory()
    return last[x.shape].to(x.device, non_blocking=True)


on_the_cpu.fa_profile = norm_spec()
