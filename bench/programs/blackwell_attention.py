"""Attention kernels that Triton compiles for Blackwell without a GPU. Each line belongs to one phase:

    pip install triton==3.5.0 setuptools numpy
    python3 blackwell_attention.py [--half tuned|set-aside] [--count N] [--name NAME] FOLDER

writes FOLDER/NAME.cubin for N variants in the order of the hashes of their names (the last bit of the SHA-256 chooses
the half), or for one. What Triton cannot compile is named and does not count. `infer_phases --lines
blackwell_attention.py FOLDER/*.cubin` compares the phases inferred from their machine code with the comments below.
"""

import argparse
import hashlib
import itertools
import os
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def pointers(Q, K, V, O, scale, H, N, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
            D: tl.constexpr, WS: tl.constexpr, STAGES: tl.constexpr):
    tile = tl.program_id(0)
    base = tl.program_id(1).to(tl.int64) * N * D
    rows = tile * BM + tl.arange(0, BM)
    keys = tl.arange(0, BN)
    dims = tl.arange(0, D)
    q = tl.load(Q + base + rows[:, None] * D + dims[None, :])  # load_q
    m = tl.full([BM], float("-inf"), tl.float32)
    l = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    last = N
    if CAUSAL:
        last = (tile + 1) * BM
    for first in tl.range(0, last, BN, num_stages=STAGES, warp_specialize=WS):
        k = tl.load(K + base + (first + keys)[:, None] * D + dims[None, :])  # load_kv
        s = tl.dot(q, tl.trans(k))  # qk
        s = s * scale  # softmax
        if CAUSAL:
            s = tl.where(rows[:, None] >= (first + keys)[None, :], s, float("-inf"))  # softmax
        m_new = tl.maximum(m, tl.max(s, 1))  # softmax
        p = tl.math.exp2(s - m_new[:, None])  # softmax
        alpha = tl.math.exp2(m - m_new)  # softmax
        l = l * alpha + tl.sum(p, 1)  # softmax
        acc = acc * alpha[:, None]  # rescale
        v = tl.load(V + base + (first + keys)[:, None] * D + dims[None, :])  # load_kv
        p = p.to(V.dtype.element_ty)  # softmax
        acc = tl.dot(p, v, acc)  # pv
        m = m_new  # softmax
    acc = acc / l[:, None]  # epilogue
    tl.store(O + base + rows[:, None] * D + dims[None, :], acc.to(O.dtype.element_ty))  # epilogue


@triton.jit
def descriptors(q_d, k_d, v_d, o_d, scale, H, N, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
            D: tl.constexpr, WS: tl.constexpr, STAGES: tl.constexpr):
    tile = tl.program_id(0)
    head = tl.program_id(1)
    row = head * N + tile * BM
    rows = tile * BM + tl.arange(0, BM)
    keys = tl.arange(0, BN)
    q = q_d.load([row, 0])  # load_q
    m = tl.full([BM], float("-inf"), tl.float32)
    l = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    last = N
    if CAUSAL:
        last = (tile + 1) * BM
    for first in tl.range(0, last, BN, num_stages=STAGES, warp_specialize=WS):
        k = k_d.load([head * N + first, 0])  # load_kv
        s = tl.dot(q, k.T)  # qk
        s = s * scale  # softmax
        if CAUSAL:
            s = tl.where(rows[:, None] >= (first + keys)[None, :], s, float("-inf"))  # softmax
        m_new = tl.maximum(m, tl.max(s, 1))  # softmax
        p = tl.math.exp2(s - m_new[:, None])  # softmax
        alpha = tl.math.exp2(m - m_new)  # softmax
        l = l * alpha + tl.sum(p, 1)  # softmax
        acc = acc * alpha[:, None]  # rescale
        v = v_d.load([head * N + first, 0])  # load_kv
        p = p.to(v_d.dtype)  # softmax
        acc = tl.dot(p, v, acc)  # pv
        m = m_new  # softmax
    acc = acc / l[:, None]  # epilogue
    o_d.store([row, 0], acc.to(o_d.dtype))  # epilogue


@triton.jit
def persistent(q_d, k_d, v_d, o_d, scale, H, N, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
            D: tl.constexpr, WS: tl.constexpr, STAGES: tl.constexpr):
    tiles = N // BM
    for item in tl.range(tl.program_id(0), tiles * H, tl.num_programs(0)):
        tile = item % tiles
        head = item // tiles
        row = head * N + tile * BM
        rows = tile * BM + tl.arange(0, BM)
        keys = tl.arange(0, BN)
        q = q_d.load([row, 0])  # load_q
        m = tl.full([BM], float("-inf"), tl.float32)
        l = tl.zeros([BM], tl.float32)
        acc = tl.zeros([BM, D], tl.float32)
        last = N
        if CAUSAL:
            last = (tile + 1) * BM
        for first in tl.range(0, last, BN, num_stages=STAGES, warp_specialize=WS):
            k = k_d.load([head * N + first, 0])  # load_kv
            s = tl.dot(q, k.T)  # qk
            s = s * scale  # softmax
            if CAUSAL:
                s = tl.where(rows[:, None] >= (first + keys)[None, :], s, float("-inf"))  # softmax
            m_new = tl.maximum(m, tl.max(s, 1))  # softmax
            p = tl.math.exp2(s - m_new[:, None])  # softmax
            alpha = tl.math.exp2(m - m_new)  # softmax
            l = l * alpha + tl.sum(p, 1)  # softmax
            acc = acc * alpha[:, None]  # rescale
            v = v_d.load([head * N + first, 0])  # load_kv
            p = p.to(v_d.dtype)  # softmax
            acc = tl.dot(p, v, acc)  # pv
            m = m_new  # softmax
        acc = acc / l[:, None]  # epilogue
        o_d.store([row, 0], acc.to(o_d.dtype))  # epilogue


KERNELS = {"pointers": pointers, "descriptors": descriptors, "persistent": persistent}
ARCHITECTURE = 100


def build(kind, dtype, bm, bn, d, causal, ws, warps, stages):
    kernel = KERNELS[kind]
    constants = {"CAUSAL": causal, "BM": bm, "BN": bn, "D": d, "WS": ws, "STAGES": stages}
    rows = (bm, bn, bn, bm)
    tensors = [f"*{dtype}" if kind == "pointers" else f"tensordesc<{dtype}[{n},{d}]>" for n in rows]
    signature = dict(zip(kernel.arg_names, [*tensors, "fp32", "i32", "i32"]), **dict.fromkeys(constants, "constexpr"))
    aligned = {(i,): [["tt.divisibility", 16]] for i in (range(4) if kind == "pointers" else ())}
    aligned[(6,)] = [["tt.divisibility", 16]]
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=aligned)
    target = GPUTarget("cuda", ARCHITECTURE, 32)
    return triton.compile(source, target=target, options={"num_warps": warps, "num_stages": stages}).asm["cubin"]


def variants():
    """By name, the arguments of build()."""
    named = {}
    for one in itertools.product(KERNELS, ("fp16", "bf16", "fp8e4nv"), (64, 128), (32, 64, 128), (64, 128),
                                 (False, True), (False, True), (4, 8), (2, 3)):
        kind, dtype, bm, bn, d, causal, ws, warps, stages = one
        if ws and kind == "pointers":
            continue
        options = ("_causal" if causal else "") + ("_ws" if ws else "")
        named[f"{kind}_{dtype}_{bm}x{bn}_d{d}{options}_w{warps}_s{stages}_sm{ARCHITECTURE}"] = one
    return named


def digest(name):
    return hashlib.sha256(name.encode()).hexdigest()


def is_set_aside(name):
    return int(digest(name)[-1], 16) % 2 == 1


def write(path, arguments):
    """In another process, because Triton's compiler may end it. Returns whether it went well."""
    child = os.fork()
    if child == 0:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        try:
            cubin = build(*arguments)
            with open(path, "wb") as file:
                file.write(cubin)
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("tuned", "set-aside"))
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--name")
    parser.add_argument("folder")
    given = parser.parse_args()
    chosen = {name: one for name, one in variants().items()
              if given.name in (None, name) and given.half in (None, "set-aside" if is_set_aside(name) else "tuned")}
    if not chosen:
        sys.exit(f"no variant is called {given.name}")
    os.makedirs(given.folder, exist_ok=True)
    left = given.count
    for name in sorted(chosen, key=digest):
        if left == 0:
            break
        written = write(os.path.join(given.folder, name + ".cubin"), chosen[name])
        left -= written
        print(name if written else f"{name}: Triton cannot compile it", flush=True)


if __name__ == "__main__":
    main()
