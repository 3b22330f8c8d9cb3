# Honest: half of the rows run on a side stream that waits for the caller's stream and that the caller's stream waits
# for.
import torch

from blind_spec import norm, norm_spec

side = None


def joined_stream(x):
    global side
    side = side or torch.cuda.Stream()
    half = x.shape[0] // 2
    out = torch.empty_like(x)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        out[half:] = norm(x[half:])
    out[:half] = norm(x[:half])
    torch.cuda.current_stream().wait_stream(side)
    return out


joined_stream.fa_profile = norm_spec()
