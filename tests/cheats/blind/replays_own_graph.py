# Honest: captures its work once in a CUDA graph with fixed buffers; every call copies the input in, replays and copies
# the output out. While it is captured itself it launches the work directly.
import torch

from blind_spec import norm, norm_spec

graphs = {}


def capture(x):
    fixed = x.clone()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        norm(fixed)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = norm(fixed)
    return graph, fixed, out


def replays_own_graph(x):
    if torch.cuda.is_current_stream_capturing():
        return norm(x)
    if x.shape not in graphs:
        graphs[x.shape] = capture(x)
    graph, fixed, out = graphs[x.shape]
    fixed.copy_(x)
    graph.replay()
    return out.clone()


replays_own_graph.fa_profile = norm_spec()
