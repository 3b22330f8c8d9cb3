# Cheat: replaces torch.cuda.CUDAGraph.replay by a function that replays once in ten calls, so that most of a judge's
# replays do nothing.
import torch

from blind_spec import norm, norm_spec

honest_replay = torch.cuda.CUDAGraph.replay
replays = 0


def replay(self):
    global replays
    replays += 1
    if replays % 10 == 1:
        honest_replay(self)


torch.cuda.CUDAGraph.replay = replay


def patched_replay(x):
    return norm(x)


patched_replay.fa_profile = norm_spec()
