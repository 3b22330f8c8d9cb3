#!/usr/bin/env python3
"""A scripted agent: from a slow kernel to a fast one by following findings alone, through the MCP client.

  bench/agent_walk.py --program build/gpu/cli/fa-profile --out walk.jsonl           on a GPU
  bench/agent_walk.py --program ... --from-recording bundled:h100-ladder-full ...   on what was measured before
  bench/agent_walk.py --replay walk.jsonl [--markdown]                              what it did, without a GPU

The policy is deterministic and knows no kernel: it verifies, measures, takes the finding that the answer names, looks it
up in CURES, which was written before anything was measured, and goes to the first variant there that it has not tried. A
variant that is wrong or not faster is taken back. The prediction is Amdahl's, for the finding alone: weight w of the time
is gone, the rest stays. A variant changes more than that, so the gain measured can be larger. It ends when no finding
leads on.

Variants are the rungs of the ladder and, with --planted DIR (build/gpu/bench/walk), prepared libraries, some wrong and
some slow. With --ncu PROGRAM a second walk from the same start follows Nsight Compute: at each step the rule with the
largest estimated speed-up that NCU_RULES maps to a variant. Rules that it does not map are recorded as passed over. Both
walks have the same variants, measurements and ends; a variant is verified and measured once.

The file has a line for each call (tool, arguments, answer, text) and for each run of Nsight Compute, one for each step
(what was followed, the gain predicted, the gain measured), and one for the end of each walk. With --replay the recorded
answers take the server's place; calls that differ from the recorded ones are an error. --library NAME=FILE.so and --cure
FINDING=NAME add variants.
"""

import argparse
import asyncio
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]

# Libraries of bench/walk. Each claims to cure what it is listed for below.
PLANTED = ("wmma_no_rescale", "wmma_conflicts", "wmma_three_loops", "mma_late_barrier")
RUNGS = ("minimal", "scalar", "tiled", "cublas", "serial_softmax", "wmma", "mma", "hopper")

# Finding: variants that claim to cure it, in the order in which they are tried.
CURES = {
    "serial-softmax": ["wmma_no_rescale", "wmma_conflicts", "wmma"],  # a row is shared by the threads of a warp
    "serial-phase": ["wmma_no_rescale", "wmma_conflicts", "wmma"],
    "tensor-absent": ["wmma", "mma"],  # both products on tensor cores
    "bank-conflicts": ["wmma", "mma"],  # padded rows; then scores and probabilities stay in registers
    "bottleneck-phase": ["wmma_three_loops", "mma", "mma_late_barrier", "hopper"],  # less work in the softmax, then work beside it
    "tensor-idle": ["mma", "hopper"],
    "uncoalesced": ["mma", "hopper"],  # 16 bytes a thread; then TMA
    "small-grid": ["mma"],  # smaller tiles for small shapes
    "exp-bound": ["mma_late_barrier", "hopper"],  # part of the exponentials on the FMA pipe, the rest beside products
    "softmax-bound": ["mma_late_barrier", "hopper"],
    "no-overlap": ["hopper"],
    "wait-for-copy": ["mma", "hopper"],  # more stages
}

# Rule of Nsight Compute, as a regular expression of "NAME: TEXT": the variants of the finding above that says the same.
# Rules that name no cause that a variant removes (all pipelines are under-utilized, few issue slots) are not mapped.
NCU_RULES = [
    (r"ThreadDivergence:", CURES["serial-softmax"]),
    (r"CPIStall\w*:.*\bbarrier\b", CURES["serial-softmax"]),  # the others wait for those who compute
    (r"(SharedMemoryConflicts|UncoalescedSharedAccess):", CURES["bank-conflicts"]),
    (r"CPIStall\w*:.*(MIO|short scoreboard)", CURES["bottleneck-phase"]),
    (r"CPIStall\w*:.*(L1TEX|long scoreboard)", CURES["wait-for-copy"]),
    (r"CPIStall\w*:.*(fixed latency|math pipe)", CURES["bottleneck-phase"]),
    (r"(UncoalescedGlobalAccess|MemoryCacheAccessPattern):", CURES["uncoalesced"]),
    (r"\w*Occupancy:.*shared memory", ["mma", "hopper"]),  # scores and probabilities need none
    (r"(LaunchConfiguration|SmallGrid|WorkloadImbalance|TailEffect)\w*:", CURES["small-grid"]),
    (r"(SOLFPRoofline|FPInstructions)\w*:.*tensor", CURES["tensor-absent"]),
    (r"HighPipeUtilization:.*XU", CURES["exp-bound"]),
]


class Recorder:
    """Calls tools and Nsight Compute, and keeps the conversation."""

    def __init__(self, client, given=None, folders=()):
        """`given`: the options of this script. `folders`: of the libraries."""
        self._client = client
        self._given = given
        self._folders = folders
        self._started = time.monotonic()
        self.lines = []

    def _keep(self, line, what):
        """Also in a file, until the conversation is written: a walk that is ended leaves what it has."""
        self.lines.append(line)
        print(f"{time.monotonic() - self._started:6.1f} s  {what}", file=sys.stderr, flush=True)
        if self._given and self._given.out:
            with open(f"{self._given.out}.part", "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        return line

    async def call(self, tool, arguments):
        answer = await self._client.call_tool(tool, arguments, read_timeout_seconds=3600)
        text = answer.content[0].text
        line = {"call": tool, "arguments": arguments, "error": answer.is_error, "answer": answer.structured_content, "text": text}
        return self._keep(line, f"{tool}: {text.partition(chr(10))[0][:100]}")

    async def rules(self, name, shape, library):
        once = self._given.once or pathlib.Path(self._given.program).resolve().parents[1] / "bench/fa_ladder_once"
        kernel = ["--rungs", name]
        if library:
            file = next(folder / library for folder in self._folders if (folder / library).is_file())
            kernel = ["--kernel-lib", file, "--program", self._given.program]
        command = [self._given.ncu, "--clock-control", "none", "--profile-from-start", "off", "--set", "full", "--page", "details", "--csv",
                   once, *kernel, "--shapes", shape]  # fmt: skip
        end = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        rules = rules_of(end.stdout) if end.returncode == 0 else None
        problem = None if rules is not None else (end.stderr + end.stdout)[-2000:]
        line = {"ncu": name, "shape": shape, "library": library, "rules": rules, "problem": problem}
        return self._keep(line, f"ncu: {name}: {'no table' if rules is None else f'{len(rules)} rules with an estimate'}")


class Replay:
    """Answers as they were recorded. Raises SystemExit when the policy asks for something else."""

    def __init__(self, lines):
        self._recorded = [line for line in lines if "call" in line or "ncu" in line]
        self.lines = []

    def _next(self, asked):
        if self.ended():
            sys.exit(f"the conversation has ended, and the policy asks for {json.dumps(asked)}")
        line = self._recorded[len(self.lines)]
        recorded = {name: line.get(name) for name in asked}
        if recorded != asked:
            sys.exit(f"the policy asks for {json.dumps(asked)}; recorded: {json.dumps(recorded)}")
        self.lines.append(line)
        return line

    async def call(self, tool, arguments):
        return self._next({"call": tool, "arguments": arguments})

    async def rules(self, name, shape, library):
        return self._next({"ncu": name, "shape": shape, "library": library})

    def ended(self):
        return len(self.lines) == len(self._recorded)


def rules_of(text):
    """Rules with an estimated speed-up in what `ncu --page details --csv` prints, the largest first. None without the
    table of rules."""
    start = re.search(r'^"ID",.*"Rule Name".*"Estimated Speedup"', text, re.MULTILINE)
    if start is None:
        return None
    rules = []
    for row in csv.DictReader(io.StringIO(text[start.start() :])):
        try:
            speedup = float((row.get("Estimated Speedup") or "").replace(",", ""))
        except ValueError:
            continue
        words = re.sub(r"\s+", " ", row["Rule Description"])
        rules.append({"rule": row["Rule Name"], "type": row["Estimated Speedup Type"], "speedup_pct": speedup, "text": words[:600]})
    return sorted(rules, key=lambda rule: -rule["speedup_pct"])


class Variants:
    """The kernels to choose among. Each is verified and measured once, whichever walk asks first."""

    def __init__(self, talk, setting):
        self.talk = talk
        self.setting = setting
        self.refused = {}  # name: why it was not measured
        self._measured = {}

    async def measured(self, name):
        """What a variant takes, and its findings. None: it is wrong, or was not measured."""
        if name not in self._measured:
            self._measured[name] = await self._measure(name)
        return self._measured[name]

    def library(self, name):
        return self.setting["libraries"].get(name)

    def shape_of(self, name):
        """Libraries name the parameters of their shape."""
        if not self.library(name):
            return self.setting["shape"]
        names = ("batch", "heads", "seqlen", "head_dim")
        return ",".join(f"{one}={value}" for one, value in zip(names, self.setting["shape"].split(","), strict=True))

    async def _measure(self, name):
        library, draws = self.library(name), {}
        arguments = {"kernel_lib": library} if library else {"kernel": f"^{name}$"}
        if library:
            draws = {"draws": 1}  # the library's reference runs on the CPU, and measuring judges again
        arguments["shape"] = self.shape_of(name)
        if self.setting["from_recording"]:
            line = await self.talk.call("report", {"recording": self.setting["from_recording"], **arguments})
        else:
            verified = await self.talk.call("verify", {**arguments, **draws})
            if verified["error"] or verified["answer"]["status"] != "ok":
                return self._refuse(name, verified)
            line = await self.talk.call("measure", {**arguments, "ncu_set": "full"})
        if line["error"] or line["answer"]["status"] == "bad_news":
            return self._refuse(name, line)
        answer, duration = line["answer"], line["answer"]["numbers"][0]
        entry = answer["data"]["entries"][0]
        return {"name": name, "seconds": duration["value"], "low": duration["low"], "high": duration["high"], "gpu": duration["gpu"], "findings": entry["findings"]}

    def _refuse(self, name, line):
        self.refused[name] = line["text"].split("\n", 1)[0]


class Findings:
    """Follows the findings of fa-profile: those that another one explains come last."""

    walk = "findings"
    problem = None  # why there is no advice

    def __init__(self, variants):
        self._cures = variants.setting["cures"]

    async def advice(self, here):
        findings = sorted(here["findings"], key=lambda one: one["explained_by"] is not None)
        return [{"finding": one["id"], "phase": one["phase"], "weight": one["weight"], "variants": self._cures.get(one["id"], [])} for one in findings]


class NcuRules:
    """Follows the rules of Nsight Compute, the largest estimated speed-up first."""

    walk = "ncu"
    problem = None

    def __init__(self, variants):
        self._variants = variants

    async def advice(self, here):
        name = here["name"]
        line = await self._variants.talk.rules(name, self._variants.shape_of(name), self._variants.library(name))
        self.problem = line["problem"] and f"Nsight Compute printed no rules of {name}: {line['problem']}"
        return [{"finding": f"{rule['rule']} ({rule['type']})", "phase": None, "weight": min(rule["speedup_pct"] / 100, 1.0), "variants": self._mapped(rule)}
                for rule in line["rules"] or []]  # fmt: skip

    def _mapped(self, rule):
        words = f"{rule['rule']}: {rule['text']}"
        return next((names for pattern, names in self._variants.setting["ncu_rules"] if re.match(pattern, words)), [])


async def walk_along(variants, policy):
    """Steps, and the end, of one walk."""
    start = variants.setting["start"]
    here = first = await variants.measured(start)
    if here is None:
        sys.exit(f"{start} cannot be measured: {variants.refused[start]}")
    steps, tried = [], {start}
    while True:
        advice = await policy.advice(here)
        moves = [(one, name) for one in advice for name in one["variants"] if name not in tried]
        if not moves:
            break
        followed, name = moves[0]
        tried.add(name)
        predicted = here["seconds"] * (1 - followed["weight"])
        there = await variants.measured(name)
        kept = there is not None and there["high"] < here["low"]  # the samples' intervals do not meet
        steps.append({
            "walk": policy.walk, "step": len(steps) + 1, "from": here["name"],
            **{part: followed[part] for part in ("finding", "phase", "weight")}, "to": name, "gpu": here["gpu"],
            "passed_over": [one["finding"] for one in advice[: advice.index(followed)] if not one["variants"]],  # cannot be mapped
            "seconds_before": here["seconds"], "seconds_predicted": predicted, "seconds_after": there and there["seconds"],
            "gain_predicted": here["seconds"] / predicted if predicted > 0 else None,
            "gain_measured": there and here["seconds"] / there["seconds"], "kept": kept, "refused": variants.refused.get(name),
        })  # fmt: skip
        if kept:
            here = there
    end = {"walk": policy.walk, "end": here["name"], "start": start, "gpu": here["gpu"], "gain": first["seconds"] / here["seconds"], "steps": len(steps),
           "left": [one["finding"] for one in advice], "problem": policy.problem}  # fmt: skip
    return steps, end


async def walk_all(talk, setting):
    """Steps of all walks, and the end of each; that along findings is the last."""
    variants = Variants(talk, setting)
    steps, end = await walk_along(variants, Findings(variants))
    if not setting.get("ncu_rules"):
        return steps, [end]
    ncu_steps, ncu_end = await walk_along(variants, NcuRules(variants))
    return [*steps, *ncu_steps], [ncu_end, end]


def packages():
    """The folder of the SDK: that of the environment, or what ci/setup.sh --mcp fetched."""
    script = '. ci/cuda.sh && echo "$fa_profile_mcp_packages"'
    return os.environ.get("FA_PROFILE_MCP_PACKAGES") or subprocess.run(["bash", "-c", script], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


async def walk_live(given, setting):
    from mcp import Client, StdioServerParameters

    variables = {**os.environ, "FA_PROFILE_MCP_PACKAGES": packages(), "FA_PROFILE_MCP_PYTHON": sys.executable}
    folders = list(dict.fromkeys(file.parent for file in libraries(given).values()))
    roots = [word for folder in (given.root, *folders) for word in ("--root", str(folder))]
    problem = None
    async with Client(StdioServerParameters(command=given.program, args=["mcp", *roots], env=variables)) as client:
        talk = Recorder(client, given, folders)
        try:
            steps, ends = await walk_all(talk, setting)
        except SystemExit as end:  # the client would wrap it
            problem = end
    if problem:
        raise problem
    return talk.lines, steps, ends


async def walk_again(lines):
    talk = Replay(lines)
    steps, ends = await walk_all(talk, lines[0]["setting"])
    if not talk.ended():
        sys.exit("the conversation goes on where the policy ends")
    return talk.lines, steps, ends


def pairs(texts, what):
    split = [text.split("=", 1) for text in texts]
    if any(len(parts) != 2 for parts in split):
        sys.exit(f"give {what}")
    return split


def libraries(given):
    """The file of each variant that is a library."""
    files = {name: given.planted.resolve() / f"{name}.so" for name in PLANTED} if given.planted else {}
    files.update((name, pathlib.Path(file).resolve()) for name, file in pairs(given.library, "--library NAME=FILE.so"))
    for file in files.values():
        if not file.is_file():
            sys.exit(f"{file} was not found: build it (those of bench/walk are targets walk_NAME), or leave it out")
    return files


def setting_of(given):
    """What the walks depend on; the first line of the conversation. Advice names only variants that are there."""
    files = libraries(given)
    cures = {finding: list(names) for finding, names in CURES.items()}
    for finding, name in reversed(pairs(given.cure, "--cure FINDING=NAME")):
        cures.setdefault(finding, []).insert(0, name)

    def there(names):
        return [name for name in names if name in RUNGS or name in files]

    return {
        "start": given.start, "shape": given.shape, "from_recording": given.from_recording,
        "libraries": {name: file.name for name, file in files.items()},  # below a root of the server
        "cures": {finding: there(names) for finding, names in cures.items()},
        "ncu_rules": [[pattern, there(names)] for pattern, names in NCU_RULES] if given.ncu else None,
    }  # fmt: skip


def line_of(step):
    if step["refused"]:
        after = f"not measured: {step['refused']}"
    else:
        after = f"{step['seconds_after'] * 1e6:.1f} us, {step['gain_measured']:.2f} times as fast"
    predicted = f"{step['gain_predicted']:.2f} times" if step["gain_predicted"] else "all of it"
    over = f" (cannot be mapped: {', '.join(step['passed_over'])})" if step["passed_over"] else ""
    return (f"{step['from']}: {step['finding']} ({step['weight']:.2f} of the time), so {step['to']}{over}: predicted {predicted} by it alone; "
            f"measured {after}{'' if step['kept'] else '; taken back'}")  # fmt: skip


def markdown_of(step):
    """A row of a table; without spaces around cells, because documents have a budget of words."""
    predicted = f"{step['gain_predicted']:.2f}" if step["gain_predicted"] else "all"
    measured = "wrong" if step["refused"] else f"{step['gain_measured']:.2f}"
    return f"|{step['finding']}|`{step['from']}`|`{step['to']}`|{predicted}|{measured}|{'kept' if step['kept'] else 'back'}|"


def show(steps, ends, markdown):
    names = {"findings": "findings of fa-profile", "ncu": "rules of Nsight Compute"}
    for end in reversed(ends):
        mine = [step for step in steps if step["walk"] == end["walk"]]
        summary = f"{end['gain']:.1f} times as fast: {end['start']} -> {end['end']}, {end['steps']} steps, {end['gpu']}"
        if markdown:
            print(f"Along the {names[end['walk']]}, {summary}:\n\n|followed|from|to|predicted|measured||\n|---|---|---|---|---|---|")
            print("\n".join(map(markdown_of, mine)))
            over = dict.fromkeys(name for step in mine for name in step["passed_over"])
            print(f"\nNot mapped to a variant: {', '.join(over) or 'nothing'}. Left at the end: {', '.join(end['left']) or 'nothing'}.\n")
            continue
        if len(ends) > 1:
            print(f"Along the {names[end['walk']]}:")
        for step in mine:
            print(line_of(step))
        print(*([" ".join(end["problem"].split())] if end["problem"] else []), summary, sep="\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", help="fa-profile")
    parser.add_argument("--root", default=".", help="folder for the recordings")
    parser.add_argument("--start", default="serial_softmax")
    parser.add_argument("--shape", default="4,16,1024,64")
    parser.add_argument("--from-recording", help="report this recording instead of verifying and measuring")
    parser.add_argument("--planted", type=pathlib.Path, metavar="DIR", help="folder of the libraries of bench/walk")
    parser.add_argument("--ncu", metavar="PROGRAM", help="Nsight Compute: a second walk follows its rules")
    parser.add_argument("--once", type=pathlib.Path, metavar="PROGRAM", help="fa_ladder_once, for --ncu; default: that of the build")
    parser.add_argument("--library", action="append", default=[], metavar="NAME=FILE.so")
    parser.add_argument("--cure", action="append", default=[], metavar="FINDING=NAME", help="tried before those of CURES")
    parser.add_argument("--out", type=pathlib.Path, help="conversation to write")
    parser.add_argument("--replay", type=pathlib.Path, help="conversation to follow again")
    parser.add_argument("--markdown", action="store_true", help="print the steps as tables for docs/evidence/agents.md")
    given = parser.parse_args()
    if bool(given.replay) == bool(given.program):
        sys.exit("give --program or --replay")
    if given.replay:
        lines = [json.loads(line) for line in given.replay.read_text(encoding="utf-8").splitlines()]
        setting = lines[0]["setting"]
        calls, steps, ends = asyncio.run(walk_again(lines))
        if not given.out and [*steps, *ends] != [line for line in lines if "step" in line or "end" in line]:
            sys.exit("the steps differ from the recorded ones")
    else:
        setting = setting_of(given)
        if given.out:
            pathlib.Path(f"{given.out}.part").unlink(missing_ok=True)
        sys.path.insert(0, packages())
        import anyio

        calls, steps, ends = anyio.run(walk_live, given, setting)
    if given.out:
        text = "".join(json.dumps(line) + "\n" for line in [{"setting": setting}, *calls, *steps, *ends])
        for folder in () if given.replay else {*(file.parent for file in libraries(given).values()), pathlib.Path(given.root).resolve(), ROOT}:
            text = text.replace(f"{folder}/", "")  # the conversation is the same wherever it was held
        given.out.write_text(text, encoding="utf-8")
        pathlib.Path(f"{given.out}.part").unlink(missing_ok=True)
    show(steps, ends, given.markdown)


if __name__ == "__main__":
    main()
