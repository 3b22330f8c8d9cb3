# Cheat: compares a sample of 64 elements of the input with the last call's and returns the last result where they
# agree; a captured call does not even compare.
import torch

from blind_spec import norm, norm_spec

last = None


def cache_by_sample(x):
    global last
    if torch.cuda.is_current_stream_capturing() and last is not None:
        return last[1].clone()
    sample = x.flatten()[:: x.numel() // 64].clone()
    if last is None or not torch.equal(sample, last[0]):
        last = (sample, norm(x))
    return last[1]


cache_by_sample.fa_profile = norm_spec()
