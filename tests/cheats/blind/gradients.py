# Honest: forward and backward: PyTorch's autograd launches the second half from a thread of its own, on the same
# stream; the outputs are a loss and two gradients.
import torch


def loss(x, weight):
    return torch.tanh(x @ weight).square().sum()


def gradients(x, weight):
    with torch.enable_grad():
        x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
        value = loss(x, weight)
        value.backward()
    return value.detach(), x.grad, weight.grad


def inputs(rows, width):
    return torch.randn(rows, width, device="cuda"), torch.randn(width, width, device="cuda") / width**0.5


gradients.fa_profile = {
    "inputs": inputs,
    "reference": gradients,
    "shapes": [{"rows": 1024, "width": 512}],
    "tolerance": (5e-4, 1e-4),
}
