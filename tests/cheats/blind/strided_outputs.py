# Honest: a product whose output is a transposed slice with gaps between its elements, and a row that is expanded
# without being copied (stride 0).
import torch


def product(a, b):
    c = a @ b
    return c.t()[::2, 1:], c[0].expand(16, -1)


def strided_outputs(a, b):
    c = torch.empty(b.shape[1], a.shape[0], device=a.device, dtype=a.dtype).t()  # columns first
    torch.matmul(a, b, out=c)
    return c.t()[::2, 1:], c[0].expand(16, -1)


def inputs(n):
    return torch.randn(n, n // 2, device="cuda").t(), torch.randn(n, n, device="cuda")


strided_outputs.fa_profile = {
    "inputs": inputs,
    "reference": product,
    "shapes": [{"n": 1024}],
    "tolerance": (1e-3, 1e-4),
}
