# Honest: halves the distance of its argument to its neighbour in place, over and over, and returns the argument and the
# step: each call works on what the one before has left.
import torch


def step(x, neighbour):
    return x + 0.5 * (neighbour - x)


def returns_its_argument(x, neighbour):
    x.lerp_(neighbour, 0.5)
    return x, neighbour


def inputs(n):
    return torch.randn(n, n, device="cuda"), torch.randn(n, n, device="cuda")


returns_its_argument.fa_profile = {
    "inputs": inputs,
    "reference": lambda x, neighbour: (step(x, neighbour), neighbour),
    "shapes": [{"n": 1024}],
    "tolerance": (1e-6, 1e-5),
}
