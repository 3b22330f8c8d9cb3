# Cheat: half of the rows are computed on a side stream that the caller's stream never waits for. A sleep before them
# makes them end soon after the caller's stream, so that whoever looks a little later finds them. It refuses to be
# captured, because a graph would not hold the other stream's work.
import torch

from blind_spec import norm, norm_spec

side = None


def late_half(x):
    global side
    if torch.cuda.is_current_stream_capturing():
        raise RuntimeError("late_half cannot be captured")
    side = side or torch.cuda.Stream()
    half = x.shape[0] // 2
    out = torch.empty_like(x)
    with torch.cuda.stream(side):
        torch.cuda._sleep(100000)  # cycles
        out[half:] = norm(x[half:])
    out[:half] = norm(x[:half])
    return out


late_half.fa_profile = norm_spec()
