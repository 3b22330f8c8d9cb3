"""Training steps of a small transformer: forward, backward, AdamW.

    fa-profile -- python3 bench/programs/training.py

It prints the time of a step and the last loss. Needs PyTorch and a GPU.
"""

import os
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS adds up in one order

import torch

WIDTH, HEADS, LAYERS, STEPS = 1024, 16, 4, 150


def main():
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(1)
    layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True)
    model = torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    x = torch.randn(8, 512, WIDTH, device="cuda")
    target = torch.randn(8, 512, WIDTH, device="cuda")

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.mse_loss(model(x).float(), target)
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(5):
        step()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(STEPS):
        loss = step()
    torch.cuda.synchronize()
    print(f"step {(time.perf_counter() - start) / STEPS * 1e6:.0f} us, loss {loss.item():.6f}")


if __name__ == "__main__":
    main()
