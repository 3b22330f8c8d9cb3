"""A small torch for tests without a GPU: tensors in memory, an allocator that hands freed memory out again, and a GPU
whose time passes when a kernel calls spend_ns()."""

import contextlib
import ctypes
import math
import os
import random
import struct
import types

__version__ = "2.0.fake"
version = types.SimpleNamespace(cuda=os.environ.get("FAKE_TORCH_BUILT_FOR", "13.0") or None)


class dtype:
    def __init__(self, name, code, floats=False):
        self.name, self.code, self.size, self.floats = name, code, struct.calcsize(code), floats

    def __repr__(self):
        return f"torch.{self.name}"


float16, float32, float64 = dtype("float16", "e", True), dtype("float32", "f", True), dtype("float64", "d", True)
uint8, int16, int32, int64 = dtype("uint8", "B"), dtype("int16", "h"), dtype("int32", "i"), dtype("int64", "q")
bool_ = dtype("bool", "?")

freed = {}  # by size: memory that the allocator has


class Memory:
    def __init__(self, size):
        self.bytes = freed[size].pop() if freed.get(size) else bytearray(size)

    def __del__(self):
        freed.setdefault(len(self.bytes), []).append(self.bytes)


class Tensor:
    is_cuda, requires_grad = True, False

    def __init__(self, shape, of, memory=None):
        self.shape, self.dtype = tuple(shape), of
        self.memory = memory or Memory(self.numel() * of.size)

    def numel(self):
        return math.prod(self.shape)

    def element_size(self):
        return self.dtype.size

    def dim(self):
        return len(self.shape)

    def stride(self):
        return tuple(math.prod(self.shape[axis + 1 :]) for axis in range(self.dim()))

    def data_ptr(self):
        return ctypes.addressof((ctypes.c_char * len(self.memory.bytes)).from_buffer(self.memory.bytes))

    def is_contiguous(self):
        return True

    def is_complex(self):
        return False

    def cpu(self):
        return self

    def all(self):
        return make([all(self.tolist())], (), bool_)

    def is_floating_point(self):
        return self.dtype.floats

    def tolist(self):
        return list(struct.unpack(f"={self.numel()}{self.dtype.code}", self.memory.bytes))

    def assign(self, values):
        self.memory.bytes[:] = struct.pack(f"={self.numel()}{self.dtype.code}", *values)
        return self

    def __getitem__(self, index):
        return make([self.tolist()[index]], (), self.dtype)

    def __setitem__(self, index, value):
        values = self.tolist()
        values[index] = value
        self.assign(values)

    def item(self):
        return self.tolist()[0]

    def to(self, of):
        convert = float if of.floats else int
        return make([convert(value) for value in self.tolist()], self.shape, of)

    def double(self):
        return self.to(float64)

    def clone(self):
        return make(self.tolist(), self.shape, self.dtype)

    def detach(self):
        return self

    def contiguous(self):
        return self

    def flatten(self):
        return Tensor((self.numel(),), self.dtype, self.memory)

    def view(self, of):
        return Tensor(self.shape, of, self.memory)

    def fill_(self, value):
        return self.assign([value] * self.numel())

    def sum(self):
        return make([sum(self.tolist())], (), float64 if self.dtype.floats else int64)

    def max(self):
        return make([max(self.tolist())], (), self.dtype)

    def argmax(self):
        values = self.tolist()
        return make([values.index(max(values))], (), int64)

    def each(self, other, how, of=None):
        theirs = other.tolist() if isinstance(other, Tensor) else [other] * self.numel()
        return make([how(a, b) for a, b in zip(self.tolist(), theirs)], self.shape, of or self.dtype)

    def __eq__(self, other):
        return self.each(other, lambda a, b: a == b, bool_)

    def __gt__(self, other):
        return self.each(other, lambda a, b: a > b, bool_)

    def __and__(self, other):
        return self.each(other, lambda a, b: a and b)

    def __or__(self, other):
        return self.each(other, lambda a, b: a or b)

    def __invert__(self):
        return self.each(0, lambda a, _: not a)

    def __add__(self, other):
        return self.each(other, lambda a, b: a + b)

    def __sub__(self, other):
        return self.each(other, lambda a, b: a - b)

    def __mul__(self, other):
        return self.each(other, lambda a, b: a * b)

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self.each(other, lambda a, b: a / b if b else math.inf)

    def abs(self):
        return self.each(0, lambda a, _: abs(a))


def make(values, shape, of):
    return Tensor(shape, of).assign(values)


def is_tensor(value):
    return isinstance(value, Tensor)


def empty(*shape, dtype=float32, device=None):
    return Tensor(shape, dtype)


def empty_like(other):
    return Tensor(other.shape, other.dtype)


def zeros_like(other):
    return make([0] * other.numel(), other.shape, other.dtype)


def randn(*shape, device=None, dtype=float32):
    return make([random.gauss(0, 1) for _ in range(math.prod(shape))], shape, dtype)


def isfinite(one):
    return one.each(0, lambda a, _: math.isfinite(a), bool_)


def isnan(one):
    return one.each(0, lambda a, _: math.isnan(a), bool_)


def where(condition, one, other):
    return make(
        [b if a else c for a, b, c in zip(condition.tolist(), one.tolist(), other.tolist())], one.shape, one.dtype
    )


def manual_seed(seed):
    random.seed(seed)


# The GPU.

now_ns = 0.0
captured = []  # the graph that is being captured, if there is one
log = []  # what the profiler would see
capturable = True
works = True


def spend_ns(nanoseconds):
    global now_ns
    if captured:
        captured[-1].ns += nanoseconds
    else:
        now_ns += nanoseconds


class CUDAGraph:
    def __init__(self):
        self.ns = 0.0

    def replay(self):
        spend_ns(self.ns)


class Event:
    def __init__(self, enable_timing=False):
        self.ns = 0.0

    def record(self):
        self.ns = now_ns

    def synchronize(self):
        pass

    def elapsed_time(self, other):
        return (other.ns - self.ns) / 1e6


class Stream:
    def wait_stream(self, other):
        pass

    def synchronize(self):
        pass


nn = types.SimpleNamespace(Parameter=Tensor)


@contextlib.contextmanager
def graph(made):
    captured.append(made)
    try:
        if not capturable:
            raise RuntimeError("operation not permitted when stream is capturing")
        yield
    finally:
        captured.pop()


def synchronize():
    if not works:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")


cuda = types.SimpleNamespace(
    is_available=lambda: os.environ.get("FAKE_TORCH_DEVICES", "1") != "0",
    device_count=lambda: int(os.environ.get("FAKE_TORCH_DEVICES", "1")),
    set_device=lambda number: log.append(f"device {number}"),
    get_device_name=lambda: "Fake GPU",
    init=lambda: None,
    synchronize=synchronize,
    empty_cache=freed.clear,
    current_stream=Stream,
    Stream=Stream,
    stream=lambda stream: contextlib.nullcontext(),
    CUDAGraph=CUDAGraph,
    graph=graph,
    Event=Event,
    _sleep=lambda cycles: spend_ns(cycles / 1.5),
    cudart=lambda: types.SimpleNamespace(
        cudaProfilerStart=lambda: log.append("start"), cudaProfilerStop=lambda: log.append("stop")
    ),
    nvtx=types.SimpleNamespace(
        range_push=lambda name: log.append(f"push {name}"), range_pop=lambda: log.append("pop")
    ),
)
