#!/usr/bin/env python3
"""A Hugging Face Llama with random weights that generates with a static cache: torch.compile, Triton, CUDA graphs.

    python3 bench/programs/hf_decode.py [ROUNDS]

Prints the time of a token and a checksum of the tokens of each round. Needs a GPU, PyTorch and transformers.
"""

import os
import sys
import time

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
import torch  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM  # noqa: E402

BATCH, PROMPT, TOKENS = 8, 512, 256


def main():
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=2048,
        intermediate_size=5632,
        num_hidden_layers=6,
        num_attention_heads=16,
        num_key_value_heads=4,
        vocab_size=32000,
        max_position_embeddings=4096,
    )
    model = LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval()
    prompt = torch.randint(0, config.vocab_size, (BATCH, PROMPT), device="cuda")
    options = {"do_sample": False, "cache_implementation": "static", "pad_token_id": 0}
    with torch.no_grad():
        model.generate(prompt, max_new_tokens=8, **options)
        for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
            torch.cuda.synchronize()
            start = time.monotonic()
            tokens = model.generate(prompt, max_new_tokens=TOKENS, **options)
            torch.cuda.synchronize()
            elapsed = time.monotonic() - start
            print(f"{elapsed / TOKENS * 1e3:.2f} ms a token, checksum {tokens.sum().item()}", flush=True)


if __name__ == "__main__":
    main()
