#!/usr/bin/env python3
"""Takes the data of `fa-profile gate selftest` on a GPU: processes of the same code, and of mutants with their bases.

    bench/gate_trials.py list                                                which mutants there are
    bench/gate_trials.py pack build/gpu -o libs.tar.xz                       the mutants' libraries, small enough to travel
    bench/gate_trials.py calibrate --program FA_PROFILE --libs L -o C.json   how much slower each mutant is
    bench/gate_trials.py same --program FA_PROFILE -o same.json              sets of processes of the same code
    bench/gate_trials.py mutants --program FA_PROFILE --libs L --choose C.json -o mutants.json
    bench/gate_trials.py assemble --same SAME... --mutants MUTANTS... -o F   one file of trial data; needs no GPU
    bench/gate_trials.py extend DATA --same SAME -o F                        adds independent runs of another GPU

To renew ci/gate/data/h200-trials.json (an idle GPU for 16 minutes): build the targets fa_profile_cli and gate_mutants
of preset gpu; pack, if the GPU is on another machine (else --libs build/gpu/tests/kernel_libs/gate); calibrate; same;
mutants; assemble -o ci/gate/data/h200-trials.json; fa-profile gate selftest. More independent runs, on another GPU of
the model: same --sets 15 --recordings 1 -o more.json, then extend. CHOSEN replaces --choose. Write the new rates into
ci/gate/data/error-rate.json (cli_gate_test compares it with the selftest), docs/evidence/gate.md and README.md. What
takes long saves what it has after every few processes, and stops before --seconds (560) are over.

The file has `same_code`, evidence of at least 66 timing processes of the same cases, one of at least 10 us (better:
200); `more_same_code` of other GPUs, for independent runs; `mutants` with 8 pairs each (better: 22); all in the order in
which they ran. `facts` name a mutant, its original, the phase that was made worse, and whether code or counters alone
must find it: {"kernel":"mma_softmax_5","base":"mma","phase":"softmax","faster_tiers":false}.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import struct
import subprocess
import sys
import tarfile
import tempfile
import time

# Where the kernels are timed: an SM has one block at a time, and no other block's work hides a slower phase.
SHAPES = {"mma": "heads=1,seqlen=8192"} | dict.fromkeys(("wmma", "tiled", "scalar"), "heads=2,seqlen=2048")

# Changed code that should take the same time, and the phase that is changed. All are compared with RUNG_same.
REFACTORINGS = {
    "mma_counter": "load_kv",
    "mma_once_4": "epilogue",
    "mma_epilogue_sync": "epilogue",
    "mma_shared_line": "load_kv",
    "mma_lazy_rescale": "rescale",
    "mma_warp_sync": "rescale",
    "mma_padding_24": "epilogue",
    "wmma_counter": "load_kv",
    "wmma_once_4": "epilogue",
    "wmma_epilogue_sync": "epilogue",
    "wmma_shared_line": "load_kv",
    "wmma_split_load_q": "load_q",
    "wmma_two_step_scale": "epilogue",
    "wmma_warp_sync": "rescale",
    "wmma_registers_3": "",
    "tiled_counter": "load_kv",
    "tiled_once_4": "epilogue",
    "tiled_epilogue_sync": "epilogue",
    "tiled_shared_line": "load_kv",
    "tiled_clamped_mask": "softmax",
    "tiled_lazy_rescale": "rescale",
    "tiled_registers_4": "",
    "tiled_padding_12": "load_q",
    "scalar_counter": "load_kv",
    "scalar_once_4": "epilogue",
    "scalar_wide_store": "epilogue",
}
# Faults, and the phase that they slow down. Compared with RUNG_same too.
FAULTS = {
    "mma_barrier_1": "sync",
    "mma_barrier_2": "sync",
    "mma_conflict_1": "pv",
    "mma_spill": "",
    "wmma_barrier_1": "sync",
    "tiled_barrier_1": "sync",
    "tiled_conflict_p": "pv",
    "scalar_key_last": "qk",
}
# More work in a phase: RUNG_PHASE_WORK. The first of a family is the others' base; "mma softmax" has two families,
# because the first four exponentials are hidden by other warps' work.
FAMILIES = (
    ("mma", "softmax", (3, 4)),
    ("mma", "softmax", (4, 5, 6, 7, 8, 9, 10, 12, 14, 17)),
    ("mma", "qk", (3, 4, 5, 6, 12)),
    ("mma", "pv", (3, 4, 5, 6, 12)),
    ("mma", "load_kv", (3, 4, 5, 6, 12)),
    ("mma", "rescale", (3, 12, 16)),
    ("wmma", "softmax", (3, 4, 6, 8, 11)),
    ("wmma", "qk", (3, 4, 6, 8, 11)),
    ("wmma", "pv", (3, 4, 6, 8, 11)),
    ("wmma", "rescale", (3, 6, 8)),
    ("wmma", "load_kv", (3, 4, 8)),
    ("tiled", "softmax", (3, 4, 6, 8, 11)),
    ("tiled", "qk", (3, 4, 6, 8, 11)),
    ("tiled", "pv", (3, 4, 6, 8, 11)),
    ("tiled", "load_kv", (3, 6, 8)),
    ("scalar", "qk", (1, 5, 7, 9, 12)),
    ("scalar", "softmax", (1, 5, 7, 9, 12)),
)

# The mutants that `mutants` measures without --choose. Choose here by hand what a calibration shows to be right.
CHOSEN = ()

MOST_EQUAL = 0.005  # changed code in equal time
SLOWER = (0.02, 0.05)  # what is near the gate's tolerance
MOST_REFACTORINGS, MOST_HIDDEN, MOST_SLOWER = 18, 3, 15  # so many are chosen; of the slower two of a family at most
WORSE = ("mma_conflict_1", "mma_softmax_17")  # chosen too: what no gate may miss

SAME_KERNELS = ("wmma", "mma", "tiled", "cublas")
SAME_SHAPES = ("1,8,512,64", "2,8,1024,64")
PAIRS = 8  # of the gate's first stage, of three processes each: the base, the candidate, and the control
ARMS = 3

FAT_BINARY = bytes.fromhex("50ed55ba")


class Failed(Exception):
    """What ends the script, with a message."""


class Mutant:
    def __init__(self, name, base, phase, kind):
        self.name, self.base, self.phase, self.kind = name, base, phase, kind

    @property
    def rung(self):
        return self.name.split("_")[0]

    @property
    def key(self):
        return f"{self.name} {self.base}"


def every_mutant():
    mutants = []
    for kind, names in (("refactoring", REFACTORINGS), ("fault", FAULTS)):
        mutants += [Mutant(name, name.split("_")[0] + "_same", phase, kind) for name, phase in names.items()]
    for rung, phase, works in FAMILIES:
        mutants += [Mutant(f"{rung}_{phase}_{work}", f"{rung}_{phase}_{works[0]}", phase, "work") for work in works[1:]]
    return mutants


def kernels_of(mutants):
    """The mutants and their bases, each once."""
    return sorted({kernel for mutant in mutants for kernel in (mutant.name, mutant.base)})


def groups_of(mutants):
    """By shape: what one process measures."""
    groups = {}
    for mutant in mutants:
        groups.setdefault(SHAPES[mutant.rung], []).append(mutant)
    return groups


# Measuring -----------------------------------------------------------------------------------------------------------


class Libraries:
    """The folder of the libraries; from an archive of `pack`, which is unpacked as long as this is open."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.unpacked = None

    def __enter__(self):
        if self.path.is_dir():
            return self
        self.unpacked = tempfile.TemporaryDirectory()
        with tarfile.open(self.path) as archive:
            archive.extractall(self.unpacked.name, filter="data")
        self.path = pathlib.Path(self.unpacked.name)
        return self

    def __exit__(self, *_):
        if self.unpacked:
            self.unpacked.cleanup()

    def options(self, kernels):
        paths = [self.path / f"{kernel}.so" for kernel in kernels]
        missing = [path.name for path in paths if not path.is_file()]
        if missing:
            raise Failed(f"{self.path} lacks {', '.join(missing)}: build the target gate_mutants")
        return [option for path in paths for option in ("--kernel-lib", str(path))]


def selection(kernels, shapes):
    pattern = "^(" + "|".join(kernels) + ")$"
    return ["--kernel", pattern] + [option for shape in shapes for option in ("--shape", shape)]


def run(command, most=0):
    """What a command prints; `most` is the largest exit code that is not an error."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=500)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"more than {late.timeout:.0f} s: {' '.join(command)[:300]}...") from late
    if 0 <= done.returncode <= most:
        return done.stdout
    raise Failed(f"exit code {done.returncode} of: {' '.join(command)[:300]}...\n{done.stderr[-1500:]}")


def sample(program, options, order):
    """One timing process, as the gate runs it: its line of JSON."""
    out = run([program, "gate-sample", *options, "--launches", "15", "--order", str(order)])
    lines = [line for line in out.splitlines() if line.startswith("{") and '"version"' in line]
    if not lines:
        raise Failed(f"no sample from {program}: {out[-500:]}")
    return json.loads(lines[-1])


class Clock:
    """Ends a loop before its time is over."""

    def __init__(self, seconds):
        self.start = time.monotonic()
        self.seconds = seconds
        self.restart()

    def spent(self):
        return time.monotonic() - self.start

    def restart(self):
        """Another loop begins."""
        self.longest = 0.0
        self.last = time.monotonic()

    def lap(self):
        now = time.monotonic()
        self.longest = max(self.longest, now - self.last)
        self.last = now

    def has_room(self):
        """For one more lap."""
        return self.spent() + 1.5 * self.longest < self.seconds


def write(path, text):
    """Whole or not at all."""
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(text)
    os.replace(temporary, path)


def measured_facts(program, options, recordings, path):
    """Evidence with what recordings show of the cases, and one timing process, which fills its columns."""
    run([program, "gate", "--measure", program, *options, "--processes", "1", "--recordings", str(recordings),
         "--draws", "1", "--save", str(path)])  # fmt: skip
    evidence = json.loads(path.read_text())
    evidence["processes"] = [process for process in evidence["processes"] if process["kind"] == "recording"]
    return evidence


def add_timing(evidence, taken):
    """Appends a sample's process to evidence. A throttled one is kept and marked: the selftest leaves it out."""
    columns = [tuple(column) for column in evidence["columns"]["timing"]]
    values = {(case["kernel"], case.get("shape", "")): case for case in taken["cases"]}
    rows = []
    for case in evidence["cases"]:
        found = values.get((case["kernel"], case.get("shape", "")))
        if not found:
            rows.append([])
            continue
        if "error" in found:
            raise Failed(f"{case['kernel']} {case.get('shape', '')}: {found['error']}")
        rows.append([found.get(metric) for _, metric in columns])
    process = {"kind": "timing", "values": rows}
    process.update({key: taken[key] for key in ("sm_clock_hz", "temperature_celsius") if key in taken})
    if taken.get("throttled"):
        process["throttled"] = True
    evidence["processes"].append(process)


def changes_of(samples, mutants):
    """By mutant: the base's time in us, how much slower it is, and the standard error of that."""
    times = {}
    for taken in samples:
        for case in taken["cases"]:
            if "duration_seconds" in case:
                times.setdefault(case["kernel"], []).append(case["duration_seconds"])
    changes = {}
    for mutant in mutants:
        base, changed = times.get(mutant.base, []), times.get(mutant.name, [])
        if not base or len(base) != len(changed):
            continue
        ratios = [after / before - 1.0 for before, after in zip(base, changed)]
        error = statistics.stdev(ratios) / len(ratios) ** 0.5 if len(ratios) > 1 else float("nan")
        changes[mutant.name, mutant.base] = (statistics.median(base) * 1e6, statistics.mean(ratios), error)
    return changes


def wrong_kernels(program, options):
    """Kernels that do not compute attention, or crash: each runs in a process alone."""
    out = run([program, "verify", *options, "--draws", "1", "--no-timing"], most=1)
    return {line.split()[0] for line in out.splitlines() if re.search(r" (WRONG|FAILED)\b", line)}


def without_wrong(arguments, shape, mutants, libraries):
    """The mutants that are right, and whose base is."""
    kernels = kernels_of(mutants)
    wrong = wrong_kernels(arguments.program, [*selection(kernels, [shape]), *libraries.options(kernels)])
    print(f"{shape}: {len(kernels)} kernels verified; not correct: {', '.join(sorted(wrong)) or 'none'}", flush=True)
    return [mutant for mutant in mutants if not {mutant.name, mutant.base} & wrong]


def first_sample(arguments, shape, mutants, libraries):
    """A sample of all mutants, or if the process fails, of those that are right; and which these are."""
    for attempt in range(2):
        kernels = kernels_of(mutants)
        options = [*selection(kernels, [shape]), *libraries.options(kernels)]
        try:
            return sample(arguments.program, options, 1), options, mutants
        except Failed as failure:
            print(failure, flush=True)
            if attempt == 1:
                raise
            mutants = without_wrong(arguments, shape, mutants, libraries)


def calibrate_group(arguments, shape, mutants, libraries, clock):
    """Prints a line for each mutant of a shape, and returns by how much each is slower."""
    taken, options, mutants = first_sample(arguments, shape, mutants, libraries)
    samples = [taken]
    clock.restart()
    while len(samples) < arguments.processes and clock.has_room():
        samples.append(sample(arguments.program, options, len(samples) + 1))
        clock.lap()
    print(f"{shape}: {len(samples)} processes of {len(kernels_of(mutants))} kernels, at most {clock.longest:.2f} s each")
    changes = changes_of(samples, mutants)
    for mutant in mutants:
        base_us, change, error = changes[mutant.name, mutant.base]
        print(f"  {mutant.name:22} {mutant.base:17} {mutant.kind:11} {base_us:8.2f} us "
              f"{100 * change:+7.2f} % +- {100 * error:.2f}", flush=True)  # fmt: skip
    return {f"{name} {base}": change for (name, base), (_, change, _) in changes.items()}


def calibrate(arguments):
    """Times everything in a few processes, prints by how much each mutant is slower, and verifies what is chosen."""
    clock = Clock(arguments.seconds)
    groups = groups_of(every_mutant())
    changes = {}
    with Libraries(arguments.libs) as libraries:
        for number, (shape, mutants) in enumerate(groups.items(), 1):
            clock.seconds = arguments.seconds * number / len(groups)
            changes.update(calibrate_group(arguments, shape, mutants, libraries, clock))
            write(arguments.out, json.dumps(changes, indent=1) + "\n")
        for shape, mutants in groups_of(choose(changes)).items():
            right = without_wrong(arguments, shape, mutants, libraries)
            for mutant in set(mutants) - set(right):
                del changes[mutant.key]
    write(arguments.out, json.dumps(changes, indent=1) + "\n")
    chosen = choose(changes)
    print(f"chosen, {len(chosen)}, until {clock.spent():.0f} s: {' '.join(mutant.name for mutant in chosen)}")


def choose(changes):
    """Mutants: refactorings in equal time, what is slower by 2 to 5 %, and a few that are much worse."""
    known = [mutant for mutant in every_mutant() if mutant.key in changes]
    equal = [mutant for mutant in known if abs(changes[mutant.key]) <= MOST_EQUAL]
    chosen = [mutant for mutant in equal if mutant.kind == "refactoring"][:MOST_REFACTORINGS]
    chosen += [mutant for mutant in equal if mutant.kind == "work"][:MOST_HIDDEN]
    by_family = {}
    for mutant in known:
        if mutant.kind != "refactoring" and SLOWER[0] <= changes[mutant.key] <= SLOWER[1]:
            by_family.setdefault(mutant.base if mutant.kind == "work" else mutant.name, []).append(mutant)
    slower = []
    for wanted in (0.032, 0.045):  # first one of each family: many phases before many grades
        for family in by_family.values():
            left = [mutant for mutant in family if mutant not in slower]
            slower += sorted(left, key=lambda mutant: abs(changes[mutant.key] - wanted))[:1]  # noqa: B023
    return chosen + slower[:MOST_SLOWER] + [mutant for mutant in known if mutant.name in WORSE]


def measure_group(arguments, kernels, shapes, library_options, processes, recordings, clock, save):
    """Evidence of kernels at shapes: recordings, then timing processes, in the gate's order, until the time is over."""
    options = [*selection(kernels, shapes), *library_options]
    part = arguments.out.with_name(arguments.out.name + ".facts")
    evidence = measured_facts(arguments.program, options, recordings, part)
    part.unlink()
    print(f"{len(kernels)} kernels: {recordings} recordings until {clock.spent():.0f} s", flush=True)
    clock.restart()
    for process in range(processes):
        # The cases of a process have a random order: the same in the three processes of a pair, as in the gate.
        add_timing(evidence, sample(arguments.program, options, process // ARMS + 1))
        clock.lap()
        if process % (PAIRS * ARMS) == PAIRS * ARMS - 1:
            save(evidence)
        if not clock.has_room():
            break
    save(evidence)
    timed = sum(process["kind"] == "timing" for process in evidence["processes"])
    print(f"{timed} timing processes, at most {clock.longest:.2f} s each, until {clock.spent():.0f} s", flush=True)
    return evidence


def measure_same(arguments):
    clock = Clock(arguments.seconds)
    measure_group(
        arguments, SAME_KERNELS, SAME_SHAPES, [], arguments.sets * PAIRS * ARMS, arguments.recordings, clock,
        lambda evidence: write(arguments.out, as_text(evidence)),
    )  # fmt: skip


def chosen_mutants(arguments):
    if arguments.choose:
        mutants = choose(json.loads(arguments.choose.read_text()))
    else:
        mutants = [mutant for mutant in every_mutant() if mutant.name in CHOSEN]
    if not mutants:
        raise Failed("no mutant is chosen: give --choose, or fill CHOSEN in this file")
    return mutants


def measure_mutants(arguments):
    clock = Clock(arguments.seconds)
    groups = groups_of(chosen_mutants(arguments))
    total = sum(len(kernels_of(mutants)) for mutants in groups.values())
    parts, failures = [], []
    done = 0
    with Libraries(arguments.libs) as libraries:
        for shape, mutants in groups.items():
            kernels = kernels_of(mutants)
            done += len(kernels)
            clock.seconds = arguments.seconds * done / total
            try:
                parts.append(
                    measure_group(
                        arguments, kernels, [shape], libraries.options(kernels), arguments.pairs * ARMS,
                        arguments.recordings, clock,
                        lambda evidence: write(arguments.out, as_text(merged([*parts, evidence]))),
                    )
                )  # fmt: skip
            except Failed as failure:  # the other shape can still be measured
                failures.append(f"{shape}: {failure}")
    if failures:
        raise Failed("\n".join(failures))


# Files ---------------------------------------------------------------------------------------------------------------


def as_text(evidence):
    """JSON with a line for each process and case."""
    head = {key: value for key, value in evidence.items() if key not in ("cases", "processes")}
    lists = [
        f'"{key}":[\n' + ",\n".join(json.dumps(item, separators=(",", ":")) for item in evidence[key]) + "]"
        for key in ("cases", "processes")
    ]
    return json.dumps(head, separators=(",", ":"))[:-1] + "," + ",\n".join(lists) + "}"


def merged(parts):
    """One evidence of several from the same GPU and driver: all cases, and the processes one after the other."""
    whole = {key: value for key, value in parts[0].items() if key not in ("cases", "processes", "columns", "losses")}
    for part in parts[1:]:
        for key in ("gpu_uuid", "driver_version", "tool_commit"):
            if part["environment"].get(key) != whole["environment"].get(key):
                raise Failed(f"{key} differs: parts of one file must be of one GPU, driver and tool")
    whole["losses"] = sorted({loss for part in parts for loss in part["losses"]})
    whole["columns"] = {}
    for kind in ("recording", "timing"):
        columns = sorted({tuple(column) for part in parts for column in part["columns"].get(kind, [])})
        whole["columns"][kind] = [list(column) for column in columns]
    cases = {}
    for part in parts:
        for case in part["cases"]:
            cases.setdefault((case["kernel"], case.get("shape", "")), case)
    whole["cases"] = list(cases.values())
    whole["processes"] = [moved(process, part, whole) for part in parts for process in part["processes"]]
    return whole


def moved(process, part, whole):
    """A process with its values where another evidence has their cases and columns."""
    names = [tuple(column) for column in part["columns"][process["kind"]]]
    columns = [tuple(column) for column in whole["columns"][process["kind"]]]
    rows = {}
    for case, row in zip(part["cases"], process["values"]):
        by_name = dict(zip(names, row))
        values = [by_name.get(column) for column in columns]
        while values and values[-1] is None:
            values.pop()
        rows[case["kernel"], case.get("shape", "")] = values
    values = [rows.get((case["kernel"], case.get("shape", "")), []) for case in whole["cases"]]
    return {**process, "values": values}


def without_ids(text):
    """Function names, mangled too, without the mutant's name, which only tells kernels of one process apart."""
    kernels = kernels_of(every_mutant())
    mangled = "|".join(f"{len(kernel)}{kernel}" for kernel in kernels)
    plain = "|".join(sorted(kernels, key=len, reverse=True))
    return re.sub(rf"(?<=mutant::)({plain})\b", "Id", re.sub(rf"(?<!\d)({mangled})(?=E)", "2Id", text))


def phase_of(mutant):
    """Samples of the loop in softmax of rung 3 are in no phase: its line is not in the inlined function."""
    return "" if mutant.name.startswith("tiled_softmax_") else mutant.phase


def assemble(arguments):
    same = merged([json.loads(path.read_text()) for path in arguments.same])
    parts = [json.loads(without_ids(path.read_text())) for path in arguments.mutants]
    mutants = merged(parts)
    kernels = {case["kernel"] for case in mutants["cases"]}
    facts = [
        {"kernel": mutant.name, "base": mutant.base, "phase": phase_of(mutant), "faster_tiers": mutant.kind != "refactoring"}
        for mutant in every_mutant()
        if mutant.name in kernels and mutant.base in kernels
    ]
    write_data(arguments.out, {"facts": facts, "same_code": same, "more_same_code": [], "mutants": mutants})


def extend(arguments):
    data = json.loads(arguments.data.read_text())
    more = merged([json.loads(path.read_text()) for path in arguments.same])
    gpus = [evidence["environment"]["gpu_uuid"] for evidence in (data["same_code"], *data.get("more_same_code", []))]
    if more["environment"]["gpu_uuid"] in gpus:
        raise Failed("this GPU has processes in the data already: a selftest takes each GPU's runs for independent")
    data["more_same_code"] = [*data.get("more_same_code", []), times_alone(more)]
    write_data(arguments.out, data)


def times_alone(evidence):
    """What independent runs need: the timing processes."""
    cases = [{key: case[key] for key in ("kernel", "shape") if key in case} for case in evidence["cases"]]
    processes = [process for process in evidence["processes"] if process["kind"] == "timing"]
    return {**evidence, "columns": {"timing": evidence["columns"]["timing"]}, "cases": cases, "processes": processes}


def write_data(path, data):
    text = '{"format":"fa-profile trial data","version":2,"facts":[\n'
    text += ",\n".join(json.dumps(fact, separators=(",", ":")) for fact in data["facts"])
    text += '],\n"same_code":' + as_text(data["same_code"])
    text += ',\n"more_same_code":[' + ",\n".join(as_text(more) for more in data["more_same_code"])
    text += '],\n"mutants":' + as_text(data["mutants"]) + "}\n"
    write(path, text)
    named = [("more same code", more) for more in data["more_same_code"]]
    for name, evidence in (("same code", data["same_code"]), *named, ("mutants", data["mutants"])):
        kinds = [process["kind"] for process in evidence["processes"]]
        print(f"{name}: {kinds.count('timing')} timing processes, {kinds.count('recording')} recordings, "
              f"{len(evidence['cases'])} cases")  # fmt: skip
    print(f"{path}: {len(data['facts'])} mutants, {len(text) / 1e6:.2f} MB")


def cubin_bytes(library):
    """Size of the only cubin in a library: from the header of its entry in the fat binary."""
    data = library.read_bytes()
    start = data.find(FAT_BINARY)
    if start < 0:
        raise Failed(f"{library} has no machine code for a GPU")
    entry = start + struct.unpack_from("<H", data, start + 6)[0]
    stored, compressed = struct.unpack_from("<QI", data, entry + 8)
    return struct.unpack_from("<Q", data, entry + 56)[0] if compressed else stored


def require_different_sizes(libraries):
    """CUPTI gives cubins of one size one checksum, so samples of one process could not be told apart."""
    kernel_of = {}
    for library in libraries:
        shape = SHAPES[library.stem.split("_")[0]]
        other = kernel_of.setdefault((shape, cubin_bytes(library)), library.stem)
        if other != library.stem:
            raise Failed(f"the cubins of {other} and {library.stem} have one size: "
                     "change the factor of mutant_padding in mutant.cuh")  # fmt: skip


def pack(arguments):
    """All libraries in one archive: most of each is the same CUDA runtime."""
    folder = arguments.build / "tests/kernel_libs/gate"
    kernels = kernels_of(every_mutant())
    Libraries(folder).options(kernels)
    require_different_sizes([folder / f"{kernel}.so" for kernel in kernels])
    with tarfile.open(arguments.out, "w:xz", preset=6) as archive:
        for kernel in sorted(kernels, key=lambda name: (name.split("_")[0], name)):
            archive.add(folder / f"{kernel}.so", f"{kernel}.so")
    print(f"{arguments.out}: {len(kernels)} libraries, {arguments.out.stat().st_size / 1e6:.1f} MB")


def list_mutants(_):
    for mutant in every_mutant():
        print(f"{mutant.name:22} {mutant.base:17} {SHAPES[mutant.rung]:12} {mutant.kind:11} {mutant.phase or '-'}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)

    def add(name, function, *, measures=True):
        command = commands.add_parser(name)
        command.set_defaults(function=function)
        if measures:
            command.add_argument("--program", required=True, help="fa-profile, built with the kernels")
            command.add_argument("--seconds", type=float, default=560.0, help="stop before (default 560)")
        return command

    add("list", list_mutants, measures=False)
    command = add("pack", pack, measures=False)
    command.add_argument("build", type=pathlib.Path)
    command = add("calibrate", calibrate)
    command.add_argument("--libs", required=True)
    command.add_argument("--processes", type=int, default=8, help="timing processes of each kernel (default 8)")
    command = add("same", measure_same)
    command.add_argument("--sets", type=int, default=30, help=f"of {PAIRS * ARMS} processes (default 30)")
    command.add_argument("--recordings", type=int, default=16)
    command = add("mutants", measure_mutants)
    command.add_argument("--libs", required=True)
    command.add_argument("--choose", type=pathlib.Path, help="calibration to choose by; default: CHOSEN in this file")
    command.add_argument("--pairs", type=int, default=16, help=f"of {ARMS} processes (default 16)")
    command.add_argument("--recordings", type=int, default=12)
    command = add("assemble", assemble, measures=False)
    command.add_argument("--same", type=pathlib.Path, nargs="+", required=True)
    command.add_argument("--mutants", type=pathlib.Path, nargs="+", required=True)
    command = add("extend", extend, measures=False)
    command.add_argument("data", type=pathlib.Path)
    command.add_argument("--same", type=pathlib.Path, nargs="+", required=True)
    for name, command in commands.choices.items():
        if name != "list":
            command.add_argument("--out", "-o", type=pathlib.Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    parsed = parse()
    try:
        parsed.function(parsed)
    except Failed as failure:
        sys.exit(f"gate_trials.py: {failure}")
