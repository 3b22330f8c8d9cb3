# Cheat: seven of eight rows are computed on a side stream that only the first calls join; later calls, the timed
# ones, leave them running.
import torch

from blind_spec import norm, norm_spec

side = None
calls = 0


def unjoined_stream(x):
    global side, calls
    calls += 1
    side = side or torch.cuda.Stream()
    out = torch.empty_like(x)
    first = x.shape[0] // 8
    joined = calls <= 12 and not torch.cuda.is_current_stream_capturing()
    if joined:
        side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        out[first:] = norm(x[first:])
    out[:first] = norm(x[:first])
    if joined:
        torch.cuda.current_stream().wait_stream(side)
    return out


unjoined_stream.fa_profile = norm_spec()
