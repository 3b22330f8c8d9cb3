"""A process in which a kernel in Python runs for fa-profile's judge: `python3 fa_profile_worker.py --kernel ... --case ...`

It answers messages on descriptor 3 until that closes, as library_server.h says for kernel libraries. The judge believes
no answer: it checks what it can from outside. What differs from a library:

  describe          -> the tensors that inputs() gives on the GPU, as bytes, and the outputs of the reference
  load, device      -> calls the kernel once; the tensors that it returns, and which of them are its arguments
  graph, chain      -> also `outputs`: where the captured calls write, for each set
  outputs           -> likewise, of the last calls without a graph
  draw, seed, tensor-> inputs() with another seed; where the tensor is
  trace             -> `kernels`: those of a call of each set with their streams, if there are several
  reference, seed, counts, places, round_bits -> the reference of that draw, to the shared memory (descriptor 4)

Everything that inputs() gives but tensors on the GPU is that of its first call, seed FIRST_SEED.
"""

import argparse
import collections
import ctypes
import json
import mmap
import os
import socket
import sys

import fa_profile_kernel as runner
from fa_profile_kernel import KernelFailed, Mismatch, Refusal, flat

CHANNEL, SHARED = 3, 4
LONGEST_MESSAGE = 128 << 10
FIRST_SEED = 1
MOST_KEPT_DRAWS = 16  # a round of the judge has as many sets at most
MOST_RANK = 12
# From number_format.h.
FORMATS = {
    "float32": 1, "float16": 2, "bfloat16": 3, "float8_e4m3fn": 4, "float8_e5m2": 5, "int8": 6, "int32": 7,
    "float64": 8, "int64": 9, "int16": 10, "uint8": 11, "bool": 11,
}  # fmt: skip
BYTES_FORMAT = 11
INPUT, OUTPUT = 1, 2  # of kernel_abi_2.h, as is:
DRAWN_BY_FUNCTION = 4

torch = None
driver = None


class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 64)]


def call_driver(name, *arguments):
    global driver
    driver = driver or ctypes.CDLL("libcuda.so.1")
    code = getattr(driver, name)(*arguments)
    if code != 0:
        raise Mismatch(f"{name} failed with CUDA error {code}: its tensors must be in memory of PyTorch's own allocator")


def export_memory(address):
    """The handle of the allocation that contains the address, and the offset in it."""
    base, size, handle = ctypes.c_uint64(), ctypes.c_size_t(), Handle()
    call_driver("cuMemGetAddressRange_v2", ctypes.byref(base), ctypes.byref(size), ctypes.c_uint64(address))
    call_driver("cuIpcGetMemHandle", ctypes.byref(handle), base)
    return bytes(handle.bytes).hex(), address - base.value


def import_memory(text):
    handle, address = Handle(), ctypes.c_uint64()
    handle.bytes[:] = bytes.fromhex(text)
    call_driver("cuIpcOpenMemHandle_v2", ctypes.byref(address), handle, ctypes.c_uint(1))
    return address.value


def is_on_gpu(tensor):
    return tensor.is_cuda and tensor.numel() > 0


def is_empty(output):
    return output is None or (torch.is_tensor(output) and output.numel() == 0)


def bytes_of(tensor):
    """From its first element to its last."""
    return (1 + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride()))) * tensor.element_size()


def type_name(tensor):
    return str(tensor.dtype).replace("torch.", "")


def tensor_json(name, format_number, role, shape, draw, tolerance):
    return {
        "name": name,
        "format": format_number,
        "role": role,
        "shape": ",".join(map(str, shape)) or "1",
        "draw": [draw, 0, 0],
        "tolerance": tolerance,
        "file": "",
    }


def mostly_fp32(tensors):
    """One small tensor of another type does not make a mixed-precision kernel."""
    elements = sum(one.numel() for one in tensors)
    fp32 = sum(one.numel() for one in tensors if type_name(one) == "float32")
    return elements > 0 and 3 * fp32 >= 2 * elements


def layouts_of(tensors):
    return [(one.shape, one.stride(), one.dtype, one.requires_grad) for one in tensors]


def argument_of(output, inputs, name):
    """The number of the argument that is this output; -1: none."""
    start = output.data_ptr()
    for number, one in enumerate(inputs):
        if not one.data_ptr() <= start < one.data_ptr() + bytes_of(one):
            continue
        dense = bytes_of(one) == one.numel() * one.element_size()
        if dense and start == one.data_ptr() and output.numel() == one.numel() and output.is_contiguous() and output.dtype == one.dtype:
            return number
        raise KernelFailed(f"{name} is a part of an argument: return the whole argument, or a separate tensor")
    return -1


class Server:
    def __init__(self, kernel, case):
        self.kernel = kernel
        self.case = case
        self.arguments = None  # the first draw
        self.draws = collections.OrderedDict()
        self.sets = []
        self.graphs = {}
        self.kept = {}  # outputs of calls without a graph, by set

    def answer(self, asked):
        tasks = {
            "describe": self.describe,
            "load": self.load,
            "open": self.open,
            "graph": self.graph,
            "run": self.run,
            "outputs": self.outputs,
            "trace": self.trace,
            "draw": self.draw,
            "reference": self.reference,
        }
        return tasks[asked["do"]](asked)

    # Both processes.

    def open_gpu(self, device):
        global torch
        if torch is not None:
            return
        runner.load_torch()
        torch = runner.torch
        runner.open_device(device)
        self.arguments = self.kernel.new_inputs(self.case, FIRST_SEED)

    def tensors_of(self, arguments):
        """Those on the GPU, in the order of with_tensors()."""
        found = []
        runner.map_tensors(lambda one: found.append(one) if is_on_gpu(one) else None, arguments)
        return found

    def with_tensors(self, tensors):
        """The first draw with other tensors on the GPU."""
        rest = iter(tensors)
        return runner.map_tensors(lambda one: next(rest) if is_on_gpu(one) else one, self.arguments)

    # The referee.

    def describe(self, asked):
        self.open_gpu(asked["device"])
        tensors = [
            tensor_json(f"argument {number}", BYTES_FORMAT, INPUT, [bytes_of(one)], DRAWN_BY_FUNCTION, [0, 0])
            for number, one in enumerate(self.tensors_of(self.arguments))
        ]
        floats = [one for one in self.tensors_of(self.arguments) if one.is_floating_point()]
        return {
            "kernel": self.kernel.name,
            "parameters": [],
            "words": [],
            "tensors": tensors,
            "has_reference": True,
            "has_check": False,
            "tolerance": list(self.kernel.tolerance),
            "mostly_fp32": mostly_fp32(floats),
        }

    def drawn(self, seed):
        if seed not in self.draws:
            made = self.kernel.new_inputs(self.case, seed)
            tensors = self.tensors_of(made)
            if layouts_of(tensors) != layouts_of(self.tensors_of(self.arguments)):
                raise Refusal(
                    f"inputs() of {self.case} gives tensors of other shapes or types for another seed",
                    "only their values may be random",
                )
            self.require_equal_rest(made)
            self.draws[seed] = tensors
            torch.cuda.synchronize()
            while len(self.draws) > MOST_KEPT_DRAWS:
                self.draws.popitem(last=False)
        return self.draws[seed]

    def require_equal_rest(self, made):
        """A graph keeps CPU numbers and tensors as they were at its capture."""

        def rest(arguments):
            leaves = flat(list(arguments[0]), "argument") + flat(arguments[1], "argument")
            return [(name, one) for name, one in leaves if not (torch.is_tensor(one) and is_on_gpu(one))]

        for (name, one), (_, first) in zip(rest(made), rest(self.arguments)):
            if torch.is_tensor(one) and torch.is_tensor(first):
                same = one.shape == first.shape and bool((one == first).all().item())
            elif isinstance(one, (int, float, str, bool, type(None))):
                same = type(one) is type(first) and one == first
            else:
                same = True  # of objects nothing is known
            if not same:
                raise Refusal(
                    f"inputs() of {self.case} gives {name} another value for another seed",
                    "only tensors on the GPU may be random",
                )

    def draw(self, asked):
        tensor = self.drawn(asked["seed"])[asked["tensor"]]
        handle, offset = export_memory(tensor.data_ptr())
        return {"handle": handle, "offset": offset}

    def rounded(self, tensor, bits):
        """Rounds to this many bits after the first; fp32 has 23."""
        if bits == 0 or type_name(tensor) != "float32":
            return tensor
        unit = 1 << (23 - bits)
        return ((tensor.contiguous().view(torch.int32) + unit // 2) & ~(unit - 1)).view(torch.float32)

    def expected(self, tensors, round_bits=0):
        copies = [self.rounded(one.detach().clone(), round_bits) for one in tensors]
        arguments, keywords = runner.map_tensors(
            lambda one: runner.for_reference(one, self.kernel.precision), self.with_tensors(copies)
        )
        result = runner.call_of_user(
            self.kernel.file,
            f"reference() of {self.case} fails",
            "it is called with the inputs, floating-point tensors as float64; "
            '"reference_precision": "inputs" leaves them as they are',
            self.kernel.reference,
            *arguments,
            **keywords,
        )
        torch.cuda.synchronize()
        return [(name, one) for name, one in runner.flat_outputs(result) if not is_empty(one)]

    def shapes_vary(self, outputs):
        """Whether the reference has outputs of other shapes for the first draw."""
        first = self.expected(self.tensors_of(self.arguments))
        return [one.shape for _, one in outputs] != [one.shape for _, one in first]

    def reference(self, asked):
        outputs = self.expected(self.drawn(asked["seed"]), asked["round_bits"])
        wanted = asked["outputs"]
        if [list(one.shape) for _, one in outputs] != [one["shape"] for one in wanted] and self.shapes_vary(outputs):
            return {"error": "its outputs have other shapes for other inputs", "varies": True}
        if len(outputs) != len(wanted):
            raise KernelFailed(f"it returns {len(wanted)} outputs, the reference {len(outputs)}")
        memory = mmap.mmap(SHARED, 0)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for (_, one), of_kernel in zip(outputs, wanted):
            name = of_kernel["name"]
            if not torch.is_tensor(one):
                raise KernelFailed(f"{name} is a tensor, the reference {type(one).__name__}")
            if one.is_complex():
                one = torch.view_as_real(one)
            if list(one.shape) != of_kernel["shape"]:
                raise KernelFailed(f"{name} has shape {tuple(of_kernel['shape'])}, the reference {tuple(one.shape)}")
            if one.is_floating_point() != of_kernel["floating"]:
                raise KernelFailed(f"{name} has dtype {of_kernel['dtype']}, the reference {one.dtype}")
            values = one.detach().double().cpu().contiguous()
            if 8 * (of_kernel["place"] + values.numel()) > len(memory):
                raise Mismatch("the shared memory is too small")
            ctypes.memmove(start + 8 * of_kernel["place"], values.data_ptr(), 8 * values.numel())
        return {}

    # The worker.

    def load(self, asked):
        self.open_gpu(asked["device"])
        self.stream = torch.cuda.Stream()
        inputs = self.tensors_of(self.arguments)
        self.layouts = layouts_of(inputs)
        returned = self.call(self.arguments)
        torch.cuda.synchronize()
        outputs = []
        for name, one in returned:
            if type_name(one) not in FORMATS:
                raise KernelFailed(f"{name} has dtype {one.dtype}, which cannot be compared")
            if one.dim() > MOST_RANK:
                raise KernelFailed(f"{name} has more than {MOST_RANK} dimensions")
            described = tensor_json(name, FORMATS[type_name(one)], OUTPUT, one.shape, 0, [0, 0])
            described["extents"] = list(one.shape)
            described["floating"] = one.is_floating_point()
            described["dtype"] = str(one.dtype)
            described["input"] = argument_of(one, inputs, name)
            outputs.append(described)
        if not outputs:
            raise KernelFailed("it returns no tensors: return the outputs, also those that it writes in place")
        return {"why_not": "", "workspace_bytes": 0, "flops": 0, "bytes": 0, "outputs": outputs}

    def call(self, arguments):
        """[(name, tensor)] of the outputs of a call on the worker's stream."""
        with torch.cuda.stream(self.stream):
            result = self.kernel.function(*arguments[0], **arguments[1])
        outputs = []
        for name, one in flat(result, "output"):
            if is_empty(one):
                continue
            if not torch.is_tensor(one):
                raise KernelFailed(
                    f"it returns {type(one).__name__}, not tensors: return the outputs, also those that it writes in place"
                )
            if type(one) not in (torch.Tensor, torch.nn.Parameter):
                raise KernelFailed(f"{name} is a {type(one).__name__}: return plain tensors, which hold their values")
            if not one.is_cuda:
                raise KernelFailed(f"{name} is not on the GPU")
            outputs.append((name, torch.view_as_real(one.detach()) if one.is_complex() else one.detach()))
        return outputs

    def map_tensor(self, handle, layout):
        shape, stride, dtype, gradient = layout
        size = 1 + sum((n - 1) * step for n, step in zip(shape, stride))
        element = torch.empty((), dtype=dtype).element_size()
        address = import_memory(handle)
        described = {"shape": (size * element,), "typestr": "|u1", "data": (address, False), "version": 3}
        memory = type("Memory", (), {"__cuda_array_interface__": described})()
        mapped = torch.as_tensor(memory, device="cuda").view(dtype).as_strided(shape, stride)
        return mapped.requires_grad_(gradient)

    def open(self, asked):
        for handles in asked["sets"]:
            tensors = [self.map_tensor(handle, layout) for handle, layout in zip(handles, self.layouts)]
            self.sets.append(self.with_tensors(tensors))
        return {}

    def view(self, tensor):
        handle, offset = export_memory(tensor.data_ptr())
        return {"handle": handle, "offset": offset, "strides": list(tensor.stride())}

    def views(self, outputs):
        """For one call; null for outputs that are arguments: the judge has their memory."""
        addresses = {one.data_ptr() for arguments in self.sets for one in self.tensors_of(arguments)}
        return [None if one.data_ptr() in addresses else self.view(one) for _, one in outputs]

    def capture(self, arguments, chain):
        with torch.cuda.stream(self.stream):
            self.call(arguments)
        self.stream.synchronize()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            for _ in range(chain):
                outputs = self.call(arguments)
        return graph, outputs

    def graph(self, asked):
        try:
            made = [self.capture(arguments, asked["chain"]) for arguments in self.sets]
        except KernelFailed:
            raise
        except Exception as error:
            torch.cuda.synchronize()
            return {"error": runner.one_line(error, 200)}
        for chain in [one for one in self.graphs if one > 1 and asked["chain"] > 1]:
            del self.graphs[chain]
        self.graphs[asked["chain"]] = made
        torch.cuda.synchronize()
        return {"outputs": [self.views(outputs) for _, outputs in made]}

    def run(self, asked):
        chain, order = asked["chain"], asked["order"]
        for number in order:
            if chain:
                with torch.cuda.stream(self.stream):
                    self.graphs[chain][number][0].replay()
            else:
                self.kept.pop(number, None)
                self.kept[number] = self.call(self.sets[number])
        self.stream.synchronize()
        return {}

    def outputs(self, asked):
        del asked
        return {"outputs": [self.views(self.kept[number]) if number in self.kept else [] for number in range(len(self.sets))]}


    def trace(self, asked):
        del asked
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            for arguments in self.sets:
                self.call(arguments)
            torch.cuda.synchronize()
        events = profile.profiler.kineto_results.events()
        found = {(one.device_resource_id(), one.name()) for one in events if one.device_type().name == "CUDA"}
        if len({stream for stream, _ in found}) < 2:
            return {"kernels": []}
        return {"kernels": [f"{name[:60]} on stream {stream}" for stream, name in sorted(found)]}


def serve(server, channel):
    while True:
        try:
            message = channel.recv(LONGEST_MESSAGE)
        except OSError:
            return
        if not message:
            return
        try:
            answer = server.answer(json.loads(message))
        except Refusal as refusal:
            answer = {"error": str(refusal), "hint": refusal.hint, "refusal": True}
        except (KernelFailed, Mismatch) as failure:
            answer = {"error": str(failure)}
        except KeyboardInterrupt:
            return
        except BaseException as error:
            runner.show_traceback(error)
            answer = {"error": runner.describe_error(error, server.kernel.file)}
        channel.send(json.dumps({"error": "", **answer}).encode())


def close_memory():
    """For the referee, the only one with the shared memory: the worker is a process of the same user."""
    PR_SET_DUMPABLE = 4
    try:
        os.fstat(SHARED)
    except OSError:
        return
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def main(arguments):
    parser = argparse.ArgumentParser(description="A part of fa-profile --kernel-py; not to be started by hand")
    parser.add_argument("--kernel", required=True)
    parser.add_argument("--case", required=True)
    options = parser.parse_args(arguments)
    runner.end_with_parent()
    close_memory()
    os.dup2(2, 1)  # what the kernel prints is not fa-profile's report
    channel = socket.socket(fileno=CHANNEL)
    try:
        server = Server(runner.Kernel(options.kernel), options.case)
    except Refusal as refusal:
        channel.recv(LONGEST_MESSAGE)
        channel.send(json.dumps({"error": str(refusal), "hint": refusal.hint, "refusal": True}).encode())
        os._exit(2)
    serve(server, channel)
    sys.stderr.flush()
    os._exit(0)  # threads of the kernel's file cannot hold the end back


if __name__ == "__main__":
    main(sys.argv[1:])
