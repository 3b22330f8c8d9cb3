#!/usr/bin/env python3
"""A decoder with a paged KV cache and continuous batching: requests come and go, CUDA graphs by batch size.

    python3 bench/programs/paged_decoder.py [REQUESTS]

Attention over the pages is a Triton kernel, all else PyTorch. Prints the steps, the time of one and a checksum of all
tokens. Needs a GPU and PyTorch.
"""

import collections
import random
import sys
import time

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import nn

WIDTH, HEADS, KV_HEADS, HEAD, LAYERS, VOCABULARY = 1024, 16, 4, 64, 4, 8192
PAGE, PAGES, MOST_PAGES = 16, 1024, 32  # tokens of a page, pages of the cache, pages of a request
BATCHES = (1, 2, 4, 8, 16)


@triton.jit
def paged_attention(q, k_cache, v_cache, tables, lengths, out, scale,
                    HEADS: tl.constexpr, KV_HEADS: tl.constexpr, HEAD: tl.constexpr,
                    PAGE: tl.constexpr, MOST_PAGES: tl.constexpr):
    request, head = tl.program_id(0), tl.program_id(1)
    lane = tl.arange(0, HEAD)
    slot = tl.arange(0, PAGE)
    length = tl.load(lengths + request)
    query = tl.load(q + (request * HEADS + head) * HEAD + lane).to(tl.float32)
    kv_head = head // (HEADS // KV_HEADS)
    largest = -float("inf")
    total = 0.0
    sums = tl.zeros([HEAD], tl.float32)
    for page in range(0, tl.cdiv(length, PAGE)):
        row = tl.load(tables + request * MOST_PAGES + page)
        place = ((row * PAGE + slot[:, None]) * KV_HEADS + kv_head) * HEAD + lane[None, :]
        inside = page * PAGE + slot < length
        keys = tl.load(k_cache + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.where(inside, tl.sum(keys * query[None, :], axis=1) * scale, -float("inf"))
        new = tl.maximum(largest, tl.max(scores, axis=0))
        weights = tl.exp(scores - new)
        values = tl.load(v_cache + place, mask=inside[:, None], other=0.0).to(tl.float32)
        kept = tl.exp(largest - new)
        total = total * kept + tl.sum(weights, axis=0)
        sums = sums * kept + tl.sum(weights[:, None] * values, axis=0)
        largest = new
    tl.store(out + (request * HEADS + head) * HEAD + lane, (sums / total).to(tl.float16))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, (HEADS + 2 * KV_HEADS) * HEAD, bias=False)
        self.out = nn.Linear(HEADS * HEAD, WIDTH, bias=False)
        self.register_buffer("k", torch.zeros(PAGES, PAGE, KV_HEADS, HEAD))
        self.register_buffer("v", torch.zeros(PAGES, PAGE, KV_HEADS, HEAD))

    def forward(self, x, state):
        batch = x.shape[0]
        q, k, v = self.qkv(x).split([HEADS * HEAD, KV_HEADS * HEAD, KV_HEADS * HEAD], dim=1)
        self.k.view(-1, KV_HEADS, HEAD).index_copy_(0, state.slots[:batch], k.view(batch, KV_HEADS, HEAD))
        self.v.view(-1, KV_HEADS, HEAD).index_copy_(0, state.slots[:batch], v.view(batch, KV_HEADS, HEAD))
        out = torch.empty(batch, HEADS * HEAD, device=x.device, dtype=x.dtype)
        paged_attention[batch, HEADS](
            q.contiguous(), self.k, self.v, state.tables, state.lengths, out, HEAD**-0.5,
            HEADS, KV_HEADS, HEAD, PAGE, MOST_PAGES)  # fmt: skip
        return self.out(out)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.attention = Attention()
        self.up, self.down = nn.Linear(WIDTH, 8 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x, state):
        x = x + self.attention(self.norm1(x), state)
        gate, up = self.up(self.norm2(x)).chunk(2, dim=1)
        return x + self.down(F.silu(gate) * up)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens, state):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, state)
        return self.head(x).argmax(dim=1)


class State:
    """What a step reads: of each request its token, the slot of the cache for it, its pages, and its length."""

    def __init__(self):
        most = max(BATCHES)
        self.tokens = torch.zeros(most, dtype=torch.long, device="cuda")
        self.slots = torch.zeros(most, dtype=torch.long, device="cuda")
        self.lengths = torch.ones(most, dtype=torch.int32, device="cuda")
        self.tables = torch.zeros(most, MOST_PAGES, dtype=torch.int32, device="cuda")


def main():
    torch.manual_seed(0)
    rng = random.Random(0)
    model, state = Decoder().cuda().half().eval(), State()
    graphs = {}
    with torch.no_grad():
        for batch in BATCHES:
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                for _ in range(2):
                    model(state.tokens[:batch], state)
            stream.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                out = model(state.tokens[:batch], state)
            graphs[batch] = graph, out
        requests = int(sys.argv[1]) if len(sys.argv) > 1 else 400
        waiting = collections.deque({"token": rng.randrange(VOCABULARY), "left": rng.randrange(20, 200), "length": 0,
                                     "pages": []} for _ in range(requests))  # fmt: skip
        running, free, checksum, steps = [], list(range(1, PAGES)), 0, 0
        torch.cuda.synchronize()
        start = time.monotonic()
        while waiting or running:
            while waiting and len(running) < max(BATCHES) and rng.random() < 0.3:
                running.append(waiting.popleft())
            if not running:
                continue
            for request in running:
                if request["length"] % PAGE == 0:
                    request["pages"].append(free.pop())
                request["length"] += 1
            batch = next(size for size in BATCHES if size >= len(running))
            spare = batch - len(running)  # they write to page 0, which no request has
            last = [request["length"] - 1 for request in running]
            slots = [request["pages"][-1] * PAGE + place % PAGE for request, place in zip(running, last)]
            state.tokens[:batch] = torch.tensor([request["token"] for request in running] + [0] * spare)
            state.slots[:batch] = torch.tensor(slots + [0] * spare)
            state.lengths[:batch] = torch.tensor([place + 1 for place in last] + [1] * spare, dtype=torch.int32)
            state.tables[:batch] = torch.tensor(
                [request["pages"] + [0] * (MOST_PAGES - len(request["pages"])) for request in running]
                + [[0] * MOST_PAGES] * spare, dtype=torch.int32)  # fmt: skip
            graph, out = graphs[batch]
            graph.replay()
            steps += 1
            for request, token in zip(running, out.tolist()):
                request["token"] = token
                request["left"] -= 1
                checksum = (checksum * 31 + token * (request["length"] + 1)) % (1 << 61)
                if request["left"] == 0:
                    free.extend(request["pages"])
            running = [request for request in running if request["left"] > 0]
        elapsed = time.monotonic() - start
    print(f"{steps} steps, {elapsed / steps * 1e3:.3f} ms each, checksum {checksum}", flush=True)


if __name__ == "__main__":
    main()
