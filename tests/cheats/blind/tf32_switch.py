# Cheat: declares a product in fp32 and switches PyTorch to TF32 for it, under a tolerance a thousand times as wide as
# fp32 needs.
import torch


def tf32_switch(a, b):
    torch.backends.cuda.matmul.allow_tf32 = True
    return a @ b


def inputs(n):
    return tuple(torch.randn(n, n, device="cuda", dtype=torch.float32) for _ in range(2))


tf32_switch.fa_profile = {
    "inputs": inputs,
    "reference": lambda a, b: a @ b,
    "shapes": [{"n": 512}],
    "tolerance": (1e-1, 1e-2),
}
