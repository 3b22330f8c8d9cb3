"""Runs a kernel that is a Python function for fa-profile: describes, verifies and times it, or calls it to be measured.

fa-profile starts this file: `python3 fa_profile_kernel.py MODE --kernel FILE.py:FUNCTION --answer PATH ...`. A line of
JSON for each answer goes to PATH, so that nothing the kernel prints can get into it. docs/python-kernels.md says what
FILE.py contains. Only the standard library is imported here, and torch once a kernel runs.
"""

import argparse
import contextlib
import ctypes
import hashlib
import importlib
import importlib.util
import inspect
import json
import math
import os
import pathlib
import random
import signal
import sys
import sysconfig
import time
import traceback

VERSION = 1
KEYS = {"inputs", "reference", "shapes", "tolerance", "reference_precision"}
DOCS = "docs/python-kernels.md has an example"
ALONE = "fa-profile verify --kernel-py shows it alone"
MOST_CASES = 500
MOST_CASE_CHARACTERS = 150
REPLAY_NS = 200_000  # a sample lasts about as long: an event costs 2 us
MOST_REPEATS = 200
COUNTED_CALLS = 4  # in the NVTX range that tells how often a call launches each kernel
COUNT_RANGE = "fa-profile: one call"
WARM_UP_RANGE = "fa-profile: warm-up"
SLOW_IN_A_ROW = 4
LEAST_CALLS = 60  # each pass of the counters takes one; the largest set has 34 passes
CLOCK_CYCLES = (100_000, 1_100_000)


class Refusal(Exception):
    """The job cannot be done: fa-profile ends with this error and its cure."""

    def __init__(self, message, hint):
        super().__init__(message)
        self.hint = hint


class Answers:
    """The file of answers. A child that the kernel's file forks has none: it ends when it tries to answer."""

    def __init__(self, path):
        self._file = open(path, "a", encoding="utf-8")
        self._process = os.getpid()

    def write(self, **answer):
        if os.getpid() != self._process:
            os._exit(0)
        self._file.write(json.dumps(answer, allow_nan=False) + "\n")
        self._file.flush()


def finite(number):
    """JSON has no NaN and no infinity: null."""
    return number if math.isfinite(number) else None


def one_line(text, most=600):
    line = " ".join(str(text).split())
    return line if len(line) <= most else line[:most] + "..."


def place_of(error, file):
    """", at softmax.py:12 in softmax": the innermost frame in the kernel's file, else the innermost one."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == str(file)]
    if not frames or pathlib.Path(frames[-1].filename) == pathlib.Path(__file__):
        frames = []
    frame = (own or frames or [None])[-1]
    return f", at {pathlib.Path(frame.filename).name}:{frame.lineno} in {frame.name}" if frame else ""


def describe_error(error, file):
    if isinstance(error, SystemExit):
        return f"it called sys.exit({error.code!r}){place_of(error, file)}"
    text = one_line(str(error))
    return type(error).__name__ + (f": {text}" if text else "") + place_of(error, file)


def show_traceback(error):
    """fa-profile passes stderr on."""
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    sys.stderr.write("".join(lines)[-4000:])
    sys.stderr.flush()


def call_of_user(file, what, hint, function, *arguments, **keywords):
    """Calls code of the file that is not the kernel. Whatever it raises ends the job."""
    try:
        return function(*arguments, **keywords)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        show_traceback(error)
        raise Refusal(f"{what}: {describe_error(error, file)}", hint) from None


# The file of the kernel.


def module_name(file):
    """Folder to import from and dotted name, as Python has it for a file of a package."""
    parts = [file.stem]
    folder = file.parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def import_file(file):
    folder, name = module_name(file)
    sys.path[0] = str(folder)  # this file's own folder is of no use
    if "." in name:
        module = importlib.import_module(name)
        if not os.path.samefile(module.__file__, file):
            raise ImportError(f"Python imports {module.__file__} for {name}")
        return module
    name = name if name not in sys.modules and name.isidentifier() else "fa_profile_measured_file"
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def import_hint(error):
    if isinstance(error, ModuleNotFoundError):
        return (
            f"this is {sys.executable}: install {error.name} there, or name the python that has it "
            "(--python /path/to/venv/bin/python)"
        )
    return "the file must be importable: try `python3 FILE.py`"


def load_module(file):
    if not file.is_file():
        raise Refusal(f"{file} not found", "give --kernel-py FILE.py:FUNCTION")
    try:
        return import_file(file)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        show_traceback(error)
        raise Refusal(f"{file} cannot be imported: {describe_error(error, file)}", import_hint(error)) from None


def measurable(module):
    """Names of the functions that have an attribute fa_profile."""
    return sorted(name for name, value in vars(module).items() if isinstance(getattr(value, "fa_profile", None), dict))


def find_function(module, file, name):
    found = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None:
        known = ", ".join(measurable(module))
        hint = f"functions with fa_profile: {known}" if known else f"no function of it has fa_profile: {DOCS}"
        raise Refusal(f"{file} has no function {name}", hint)
    if not callable(found):
        raise Refusal(f"{name} in {file} is not a function", DOCS)
    return found


def label_of(value):
    return str(value).replace("torch.", "")


def case_name(function, shape):
    label = ",".join(f"{key}={label_of(value)}" for key, value in shape.items())
    return f"{function}@{label}" if label else function


class Kernel:
    """A function and what its attribute fa_profile says."""

    def __init__(self, text):
        path, _, self.name = text.rpartition(":")
        self.file = pathlib.Path(path).resolve()
        module = load_module(self.file)
        self.function = find_function(module, self.file, self.name)
        says = getattr(self.function, "fa_profile", None)
        if not isinstance(says, dict):
            self.refuse("is missing, or is not a dictionary")
        for key in says:
            if key not in KEYS:
                self.refuse(f"has an unknown key {key!r}; the keys are {', '.join(sorted(KEYS))}")
        self.inputs = self.function_of(says, "inputs")
        self.reference = self.function_of(says, "reference")
        self.tolerance = self.tolerance_of(says)
        self.precision = says.get("reference_precision", "float64")
        if self.precision not in ("float64", "inputs"):
            self.refuse('["reference_precision"] must be "float64" or "inputs"')
        self.shapes = self.shapes_of(says)

    def refuse(self, what):
        raise Refusal(f"{self.name}.fa_profile in {self.file} {what}".replace(" [", "["), DOCS)

    def function_of(self, says, key):
        if not callable(says.get(key)):
            self.refuse(f'["{key}"] must be a function')
        return says[key]

    def tolerance_of(self, says):
        given = says.get("tolerance", (1e-3, 1e-3))
        numbers = list(given) if isinstance(given, (tuple, list)) else []
        good = len(numbers) == 2 and all(
            isinstance(one, (int, float)) and math.isfinite(one) and one >= 0 for one in numbers
        )
        if not good:
            self.refuse('["tolerance"] must be two numbers, (absolute, relative), not negative')
        return float(numbers[0]), float(numbers[1])

    def shapes_of(self, says):
        shapes = says.get("shapes", [{}])
        if not isinstance(shapes, (list, tuple)) or not shapes or not all(isinstance(one, dict) for one in shapes):
            self.refuse('["shapes"] must be a list of dictionaries, the keyword arguments of inputs()')
        if len(shapes) > MOST_CASES:
            self.refuse(f'["shapes"] has more than {MOST_CASES} entries')
        named = {}
        for shape in shapes:
            name = case_name(self.name, shape)
            if not name.isprintable() or " " in name or len(name) > MOST_CASE_CHARACTERS:
                self.refuse(
                    f'["shapes"] has an entry whose name {name[:80]!r} is too long or has a space: '
                    "use numbers or short words"
                )
            if name in named:
                self.refuse(f'["shapes"] has {name} twice')
            named[name] = shape
        return named

    def contract(self):
        """Defines when the kernel is correct, as text: its hash shows whether two files agree."""
        return json.dumps(
            [
                self.tolerance,
                self.precision,
                [case.partition("@")[2] for case in self.shapes],
                source_of(self.inputs),
                source_of(self.reference),
            ]
        )

    def shape(self, case):
        if case not in self.shapes:
            raise Refusal(f"{self.file} has no case {case}", f"its cases are {', '.join(self.shapes)}")
        return self.shapes[case]

    def new_inputs(self, case, seed):
        torch.manual_seed(seed)
        random.seed(seed)
        made = call_of_user(
            self.file,
            f"inputs() of {case} fails",
            "its arguments are those of the entry in shapes",
            self.inputs,
            **self.shape(case),
        )
        if isinstance(made, dict):
            return (), made
        return (tuple(made) if isinstance(made, (tuple, list)) else (made,)), {}


def source_of(function):
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return getattr(function, "__qualname__", type(function).__name__)


# Torch.


def load_torch():
    global torch
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise Refusal(
            f"{sys.executable} cannot import torch: {one_line(error)}",
            "name the python that has it (--python /path/to/venv/bin/python)",
        ) from None


def open_device(number):
    if not torch.cuda.is_available():
        built = getattr(getattr(torch, "version", None), "cuda", None)
        raise Refusal(
            f"torch {torch.__version__} of {sys.executable} has no CUDA device",
            "`nvidia-smi` must list a GPU; check CUDA_VISIBLE_DEVICES"
            if built
            else "this torch is built without CUDA: install one with CUDA, or name another python with --python",
        )
    count = torch.cuda.device_count()
    if number >= count:
        raise Refusal(f"CUDA device {number} not found", f"torch sees devices 0 to {count - 1}")
    torch.cuda.set_device(number)


def map_tensors(change, value):
    """The same nested value with each tensor changed."""
    if torch.is_tensor(value):
        return change(value)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(map_tensors(change, one) for one in value)
    if isinstance(value, dict):
        return {key: map_tensors(change, one) for key, one in value.items()}
    return value


def for_reference(tensor, precision):
    copy = tensor.detach().clone()
    return copy.double() if precision == "float64" and copy.is_floating_point() else copy


def flat(value, name):
    """[(name, leaf)] of nested lists and dictionaries."""
    if isinstance(value, dict):
        items = [(f"{name}[{key!r}]", one) for key, one in value.items()]
    elif isinstance(value, (list, tuple)):
        items = [(f"{name} {index}", one) for index, one in enumerate(value)]
    else:
        return [(name, value)]
    return [pair for key, one in items for pair in flat(one, key)]


def flat_outputs(value):
    """[(name, tensor)] of what a function returned."""
    return [(name, one.detach() if torch.is_tensor(one) else one) for name, one in flat(value, "output")]


class Mismatch(Exception):
    """Outputs that cannot be compared with the reference's."""


def require_tensors(outputs):
    """None among tensors is an output that the kernel does not have."""
    others = [one for _, one in outputs if not torch.is_tensor(one)]
    if len(others) < len(outputs) and all(one is None for one in others):
        return
    wrong = [one for one in others if one is not None] or others
    kind = type(wrong[0]).__name__ if wrong else "nothing"
    raise Mismatch(f"it returns {kind}, not tensors: return the outputs, also those that it writes in place")


def pair_outputs(outputs, expected):
    """[(name, output, reference)]"""
    require_tensors(outputs)
    if len(outputs) != len(expected):
        raise Mismatch(f"it returns {len(outputs)} outputs, the reference {len(expected)}")
    pairs = []
    for (name, output), (_, reference) in zip(outputs, expected):
        if output is None and reference is None:
            continue
        if not torch.is_tensor(output) or not torch.is_tensor(reference):
            raise Mismatch(f"{name} is {type(output).__name__}, the reference {type(reference).__name__}")
        if tuple(output.shape) != tuple(reference.shape):
            raise Mismatch(f"{name} has shape {tuple(output.shape)}, the reference {tuple(reference.shape)}")
        if output.is_floating_point() != reference.is_floating_point():
            raise Mismatch(f"{name} has dtype {output.dtype}, the reference {reference.dtype}")
        pairs.append((name, output, reference))
    return pairs


# Verification.

INTEGERS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}


def poison(outputs):
    """Fills memory with bytes 255, which are NaN in every floating-point type, and frees it: the allocator hands it to
    the next outputs of these sizes. An element that still has it was not written."""
    torch.cuda.empty_cache()
    kept = []
    try:
        for bytes_of_output in outputs:
            for _ in range(2):
                kept.append(torch.empty(bytes_of_output, dtype=torch.uint8, device="cuda").fill_(255))
    except RuntimeError:  # out of memory: the rest is not poisoned
        pass
    torch.cuda.synchronize()


def poisoned(output):
    """Where an output still has the poison; absent: a type that has no NaN."""
    size = output.element_size()
    if not output.is_floating_point() or size not in INTEGERS:
        return None
    bits = output.contiguous().view(getattr(torch, INTEGERS[size]))
    return bits == (255 if size == 1 else -1)


def place(index, shape):
    """"[3, 17]" of the index in a flat tensor."""
    places = []
    for extent in reversed(shape):
        places.insert(0, index % extent)
        index //= extent
    return str(places)


class Totals:
    """The results of a case's comparisons."""

    def __init__(self):
        self.draws_passed = 0
        self.max_abs_error = 0.0
        self.max_error_ratio = 0.0
        self.nonfinite = 0
        self.unwritten = 0
        self.worst = ""

    def blame(self, name, shape, index, what):
        self.worst = self.worst or f"{name} at {place(index, shape)} {what}"

    def compare(self, name, output, reference, tolerance):
        """Whether an output is right."""
        shape = tuple(output.shape)
        if output.numel() == 0:
            return True
        old = poisoned(output)
        unwritten = int(old.sum().item()) if old is not None else 0
        got, want = output.double().flatten(), reference.double().flatten()
        same = (got == want) | (torch.isnan(got) & torch.isnan(want))
        broken = ~torch.isfinite(got) & ~same
        if unwritten:
            self.unwritten += unwritten
            self.blame(name, shape, first(old.flatten()), "was not written")
            broken = broken & ~old.flatten()
        nonfinite = int(broken.sum().item())
        if nonfinite:
            self.nonfinite += nonfinite
            index = first(broken)
            self.blame(name, shape, index, f"is {got[index].item()}, the reference {want[index].item():.6g}")
        right = self.compare_values(name, shape, got, want, same, tolerance if output.is_floating_point() else None)
        return right and not unwritten and not nonfinite

    def compare_values(self, name, shape, got, want, same, tolerance):
        """`tolerance`: None when values must be equal."""
        zero = torch.zeros_like(want)
        error = torch.where(same | ~torch.isfinite(got), zero, (got - want).abs())
        error = torch.where(torch.isfinite(error), error, zero + sys.float_info.max)
        allowed = zero + 0.5 if tolerance is None else tolerance[1] * want.abs() + tolerance[0]
        allowed = torch.where(torch.isfinite(want), allowed, zero)
        # If no error is allowed, any is too large.
        ratio = torch.where(error == 0, zero, error / torch.where(allowed > 0, allowed, zero + sys.float_info.min))
        largest = float(ratio.max().item())
        self.max_abs_error = max(self.max_abs_error, float(error.max().item()))
        self.max_error_ratio = max(self.max_error_ratio, largest)
        if largest <= 1.0:
            return True
        index = int(ratio.argmax().item())
        self.blame(name, shape, index, f"is {got[index].item():.9g}, the reference {want[index].item():.9g}")
        return False


def first(flags):
    """Index of the first true element."""
    return int(flags.to(torch.uint8).argmax().item())


class KernelFailed(Exception):
    """The kernel raised; the text says what."""


@contextlib.contextmanager
def blaming(kernel):
    """What is raised inside is the kernel's fault; its traceback goes to stderr."""
    try:
        yield
    except (KeyboardInterrupt, KernelFailed):
        raise
    except BaseException as error:
        show_traceback(error)
        raise KernelFailed(describe_error(error, kernel.file)) from None


def call_kernel(kernel, arguments, keywords):
    with blaming(kernel):
        result = kernel.function(*arguments, **keywords)
        torch.cuda.synchronize()
        return result


def verify_draw(kernel, case, seed, sizes, totals):
    arguments, keywords = kernel.new_inputs(case, seed)
    copies = map_tensors(lambda one: for_reference(one, kernel.precision), (arguments, keywords))
    expected = call_of_user(
        kernel.file,
        f"reference() of {case} fails",
        "it is called with the inputs, floating-point tensors as float64; "
        '"reference_precision": "inputs" leaves them as they are',
        kernel.reference,
        *copies[0],
        **copies[1],
    )
    torch.cuda.synchronize()
    poison(sizes)
    outputs = flat_outputs(call_kernel(kernel, arguments, keywords))
    pairs = pair_outputs(outputs, flat_outputs(expected))
    sizes[:] = [max(1, output.numel() * output.element_size()) for _, output, _ in pairs]
    right = [totals.compare(name, output, reference, kernel.tolerance) for name, output, reference in pairs]
    totals.draws_passed += all(right)


def verify_case(kernel, case, draws, seed):
    totals = Totals()
    # The first call shows the sizes of the outputs; Triton compiles and tunes in it.
    sizes = []
    error = ""
    done = 0
    try:
        arguments, keywords = kernel.new_inputs(case, seed)
        outputs = flat_outputs(call_kernel(kernel, arguments, keywords))
        sizes = [max(1, one.numel() * one.element_size()) for _, one in outputs if torch.is_tensor(one)]
        del arguments, keywords, outputs
        for draw in range(draws):
            done += 1
            verify_draw(kernel, case, seed + draw, sizes, totals)
    except (KernelFailed, Mismatch) as failure:
        error = str(failure)
    return {
        "case": case,
        "draws": done if error else draws,
        "draws_passed": totals.draws_passed,
        "max_abs_error": finite(totals.max_abs_error),
        "max_error_ratio": finite(totals.max_error_ratio),
        "nonfinite": totals.nonfinite,
        "unwritten": totals.unwritten,
        "worst": totals.worst,
        "error": error,
    }


def device_works():
    try:
        torch.cuda.synchronize()
        return True
    except Exception:
        return False


def verify(kernel, options, answers):
    for case in options.case:
        answer = verify_case(kernel, case, options.draws, options.seed)
        answers.write(verified=answer)
        if answer["error"] and not device_works():
            return  # later cases would be blamed: fa-profile starts another process for them


# Timing.


def capture(call, repeats):
    """A CUDA graph of this many calls."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        call()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            call()
    return graph


def elapsed_ns(work, before=None):
    """Time on the GPU that `work` takes. `before` is put on the stream ahead of it, so that the CPU gets ahead."""
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    if before:
        before()
    start.record()
    work()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e6


def repeats_for(call_ns):
    return int(min(MOST_REPEATS, max(1, round(REPLAY_NS / max(call_ns, 1.0)))))


def spin(cycles):
    torch.cuda._sleep(cycles)  # a kernel that spins so many cycles of the SM clock


def clock_hz(work):
    """The SM clock right after `work`, from how much longer a kernel takes that spins longer."""
    work()
    short = elapsed_ns(lambda: spin(CLOCK_CYCLES[0]))
    work()
    long = elapsed_ns(lambda: spin(CLOCK_CYCLES[1]))
    return (CLOCK_CYCLES[1] - CLOCK_CYCLES[0]) * 1e9 / (long - short) if long > short else None


def cycles_to_launch(work):
    """Cycles of the GPU that take longer than the CPU takes to launch `work`; a tenth of a second at most."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    seconds = 1.5 * (time.perf_counter() - start) + 3e-4
    torch.cuda.synchronize()
    return int(min(seconds, 0.1) * 2e9)


class Replays:
    """Samples of a call: replays of a CUDA graph, or calls between events where it cannot be captured."""

    def __init__(self, call):
        try:
            once = capture(call, 1)
            once.replay()
            repeats = repeats_for(elapsed_ns(once.replay))
            graph = capture(call, repeats)
            self.work, self.before, self.repeats, how = graph.replay, None, repeats, "graph replay"
        except Exception as error:
            self.why = one_line(error, 200)
            torch.cuda.synchronize()
            self.repeats = repeats_for(elapsed_ns(call))
            self.work = lambda: [call() for _ in range(self.repeats)]
            cycles = cycles_to_launch(self.work)
            self.before = (lambda: spin(cycles)) if has_spin() else None  # the GPU waits, not the CPU
            how = "events"
        self.method = f"{how}, {self.repeats} {'call' if self.repeats == 1 else 'calls'} a sample"
        self.work()

    def sample(self):
        return elapsed_ns(self.work, self.before) / self.repeats


def has_spin():
    return hasattr(torch.cuda, "_sleep")


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def time_case(kernel, case, launches, warmup):
    arguments, keywords = kernel.new_inputs(case, 1)
    for _ in range(max(1, warmup)):
        call_kernel(kernel, arguments, keywords)

    def call():
        kernel.function(*arguments, **keywords)

    durations, clocks = [], []
    with blaming(kernel):
        replays = Replays(call)
        for _ in range(launches):
            durations.append(replays.sample())
            if has_spin():
                clocks.append(clock_hz(replays.work))
    clocks = [clock for clock in clocks if clock]
    answer = {"case": case, "durations_ns": durations, "method": replays.method}
    if clocks:
        answer["sm_clock_hz"] = median(clocks)
    return answer


def time_cases(kernel, options, answers):
    for case in options.case:
        try:
            answers.write(timed=time_case(kernel, case, options.launches, options.warmup))
        except KernelFailed as failure:
            answers.write(timed={"case": case, "error": str(failure)})
            if not device_works():
                return


# Being measured.


def call_until_measured(call, seconds, limit):
    """Calls until `seconds` have passed and no calls were slow for a while: those whose counters are taken are, one
    after the other. A single slow one is the machine's."""
    start = last_slow = time.perf_counter()
    fastest = math.inf
    calls = slow = 0
    while True:
        before = time.perf_counter()
        call()
        torch.cuda.synchronize()
        now = time.perf_counter()
        fastest = min(fastest, now - before)
        slow = slow + 1 if now - before > 5 * fastest + 0.002 else 0
        if slow >= SLOW_IN_A_ROW:
            last_slow = now
        calls += 1
        quiet = now - start > seconds and now - last_slow > 0.4 * seconds
        if now - start > limit or (quiet and calls >= LEAST_CALLS):
            return calls


@contextlib.contextmanager
def nvtx_range(name):
    torch.cuda.nvtx.range_push(name)
    yield
    torch.cuda.nvtx.range_pop()


def call_between_profiler_calls(kernel, arguments, keywords, options):
    """Calls that were made between cudaProfilerStart and cudaProfilerStop, without those of COUNT_RANGE."""

    def call():
        kernel.function(*arguments, **keywords)

    with nvtx_range(WARM_UP_RANGE):  # ranges are watched a moment after the first one
        for _ in range(max(1, options.warmup)):
            call_kernel(kernel, arguments, keywords)
    cudart = torch.cuda.cudart()
    cudart.cudaProfilerStart()
    time.sleep(0.2)
    calls = call_until_measured(call, options.seconds, options.limit / 2)
    with nvtx_range(COUNT_RANGE):
        for _ in range(COUNTED_CALLS):
            call()
        torch.cuda.synchronize()
    time.sleep(0.2)
    cudart.cudaProfilerStop()
    return calls


def run(kernel, options, answers):
    """Calls the kernel to be measured, under fa-profile -- PROGRAM."""
    case = options.case[0]
    arguments, keywords = kernel.new_inputs(case, 1)
    try:
        with blaming(kernel):
            calls = call_between_profiler_calls(kernel, arguments, keywords, options)
    except KernelFailed as failure:
        raise Refusal(f"{case} fails: {failure}", ALONE) from None
    answers.write(ran={"case": case, "calls": calls + COUNTED_CALLS, "counted_calls": COUNTED_CALLS})


def imported_from(folder, kernel_file):
    """Files of modules in the folder or below, relative to it, but for the kernel's own."""
    files = {pathlib.Path(one.__file__).resolve() for one in list(sys.modules.values()) if getattr(one, "__file__", None)}
    files -= {pathlib.Path(__file__).resolve(), pathlib.Path(kernel_file).resolve()}
    installed = {pathlib.Path(path) for path in sysconfig.get_paths().values()}
    installed |= {path.resolve() for path in installed}
    own = [one for one in files if one.is_relative_to(folder) and not any(one.is_relative_to(path) for path in installed)]
    relative = [one.relative_to(folder) for one in own]
    return sorted(str(one) for one in relative if not {"site-packages", "dist-packages"} & set(one.parts))


def describe(kernel, options, answers):
    del options
    digest = hashlib.sha256(kernel.contract().encode("utf-8", "replace")).hexdigest()
    answers.write(
        described={
            "version": VERSION,
            "kernel": kernel.name,
            "cases": list(kernel.shapes),
            "tolerance": list(kernel.tolerance),
            "contract": digest,
            "sources": imported_from(pathlib.Path(kernel.file).resolve().parent, kernel.file),
        }
    )


MODES = {"describe": describe, "verify": verify, "time": time_cases, "run": run}


def end_with_parent():
    """A fa-profile that is killed takes this process with it."""
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    except (AttributeError, OSError):
        pass


def parse_options(arguments):
    parser = argparse.ArgumentParser(description="A part of fa-profile --kernel-py; not to be started by hand")
    parser.add_argument("mode", choices=sorted(MODES))
    parser.add_argument("--kernel", required=True)
    parser.add_argument("--answer", required=True)
    parser.add_argument("--case", action="append", default=[])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--launches", type=int, default=15)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--device", type=int, default=0)
    return parser.parse_args(arguments)


def serve(options, answers):
    kernel = Kernel(options.kernel)
    answers.write(loaded=True)
    if options.mode != "describe":
        load_torch()
        open_device(options.device)
    MODES[options.mode](kernel, options, answers)


def main(arguments):
    options = parse_options(arguments)
    end_with_parent()
    os.dup2(2, 1)  # what the kernel prints is not fa-profile's report
    if options.mode == "run":
        signal.setitimer(signal.ITIMER_REAL, options.limit)  # ends a run that hangs, whatever it waits for
    answers = Answers(options.answer)
    code = 0
    try:
        serve(options, answers)
        answers.write(done=True)
    except Refusal as refusal:
        answers.write(error={"message": str(refusal), "hint": refusal.hint})
        code = 2
    sys.stdout.flush()
    sys.stderr.flush()
    if options.mode != "run":
        os._exit(code)  # threads of the kernel's file cannot hold the answer back
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
