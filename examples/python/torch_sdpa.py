"""PyTorch's attention: fa-profile --kernel-py examples/python/torch_sdpa.py:attention"""

import math

import torch


def attention(q, k, v, is_causal):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)


def inputs(batch, heads, seqlen, head_dim, is_causal):
    def tensor():
        return torch.randn(batch, heads, seqlen, head_dim, device="cuda", dtype=torch.float16)

    return tensor(), tensor(), tensor(), is_causal


def reference(q, k, v, is_causal):
    """Attention by its definition. fa-profile gives it q, k and v in float64."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if is_causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future, -math.inf)
    return torch.softmax(scores, dim=-1) @ v


attention.fa_profile = {
    "inputs": inputs,
    "reference": reference,
    "shapes": [
        {"batch": 1, "heads": 8, "seqlen": 512, "head_dim": 64, "is_causal": False},
        {"batch": 2, "heads": 8, "seqlen": 2048, "head_dim": 64, "is_causal": True},
    ],
    "tolerance": (2e-3, 2e-3),
}
