# Cheat: a thread of a pool computes on a stream of its own, and the caller's stream never waits for it, so that the
# timing of that stream sees an empty call.
from concurrent.futures import ThreadPoolExecutor

import torch

from blind_spec import norm, norm_spec

pool = ThreadPoolExecutor(1)
side = None


def work(x, out):
    global side
    with torch.no_grad():
        side = side or torch.cuda.Stream()
        with torch.cuda.stream(side):
            out.copy_(norm(x))
        side.synchronize()


def pool_thread(x):
    out = torch.empty_like(x)
    if not torch.cuda.is_current_stream_capturing():
        torch.cuda.current_stream().synchronize()
    pool.submit(work, x, out).result()
    return out


pool_thread.fa_profile = norm_spec()
