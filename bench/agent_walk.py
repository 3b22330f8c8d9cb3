#!/usr/bin/env python3
"""A scripted agent: from a slow kernel to a fast one by following findings alone, through the MCP client.

  bench/agent_walk.py --program build/gpu/cli/fa-profile --out walk.jsonl           on a GPU
  bench/agent_walk.py --program ... --from-recording bundled:h100-ladder-full ...   on what was measured before
  bench/agent_walk.py --replay walk.jsonl                                           what it did, without a GPU

The policy is deterministic and knows no kernel: it verifies, measures, takes the finding that the answer names, looks it
up in CURES, which was written before anything was measured, and goes to the first variant there that it has not tried. A
variant that is wrong or not faster is taken back. The prediction is Amdahl's, for the finding alone: weight w of the time
is gone, the rest stays. A variant changes more than that, so the gain measured can be larger. It ends when no finding
leads on.

The file has a line for each call (tool, arguments, answer, text), and one for each step: the finding followed, the gain
predicted and the gain measured. With --replay the recorded answers take the server's place; calls that differ from the
recorded ones are an error. --library NAME=FILE.so and --cure FINDING=NAME add prepared variants.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]

# Finding: variants that cure it, in the order in which they are tried. Each is a rung of the ladder.
CURES = {
    "serial-softmax": ["wmma"],  # a row is shared by the threads of a warp
    "serial-phase": ["wmma"],
    "tensor-absent": ["wmma", "mma"],  # both products on tensor cores
    "bank-conflicts": ["mma"],  # scores and probabilities stay in registers
    "bottleneck-phase": ["mma", "hopper"],  # less work in the softmax, then work beside it
    "tensor-idle": ["mma", "hopper"],
    "uncoalesced": ["mma", "hopper"],  # 16 bytes a thread; then TMA
    "small-grid": ["mma"],  # smaller tiles for small shapes
    "exp-bound": ["hopper"],  # part of the exponentials on the FMA pipe, the rest beside products
    "softmax-bound": ["hopper"],
    "no-overlap": ["hopper"],
    "wait-for-copy": ["mma", "hopper"],  # more stages
}


class Recorder:
    """Calls tools, and keeps the conversation."""

    def __init__(self, client):
        self._client = client
        self.lines = []

    async def call(self, tool, arguments):
        answer = await self._client.call_tool(tool, arguments, read_timeout_seconds=3600)
        line = {"call": tool, "arguments": arguments, "error": answer.is_error, "answer": answer.structured_content, "text": answer.content[0].text}
        self.lines.append(line)
        return line


class Replay:
    """Answers as they were recorded. Raises SystemExit when the policy asks for something else."""

    def __init__(self, lines):
        self._recorded = [line for line in lines if "call" in line]
        self.lines = []

    async def call(self, tool, arguments):
        if len(self.lines) == len(self._recorded):
            sys.exit(f"the conversation has ended, and the policy calls {tool} {json.dumps(arguments)}")
        line = self._recorded[len(self.lines)]
        if (line["call"], line["arguments"]) != (tool, arguments):
            sys.exit(f"the policy calls {tool} {json.dumps(arguments)}; recorded: {line['call']} {json.dumps(line['arguments'])}")
        self.lines.append(line)
        return line

    def ended(self):
        return len(self.lines) == len(self._recorded)


class Walk:
    """The policy. `setting`: start, shape, from_recording, libraries and cures, as they are in the conversation's first line."""

    def __init__(self, talk, setting):
        self._talk = talk
        self._setting = setting
        self.steps = []

    async def run(self):
        here = await self._measure(self._setting["start"])
        if here is None:
            sys.exit(f"{self._setting['start']} cannot be measured: {self._talk.lines[-1]['text']}")
        first, tried = here, {self._setting["start"]}
        while (move := self._next(here, tried)) is not None:
            finding, name = move
            tried.add(name)
            predicted = here["seconds"] * (1 - finding["weight"])
            there = await self._measure(name)
            kept = there is not None and there["high"] < here["low"]  # the samples' intervals do not meet
            self.steps.append({
                "step": len(self.steps) + 1, "from": here["name"], "finding": finding["id"], "phase": finding["phase"],
                "weight": finding["weight"], "to": name, "gpu": here["gpu"],
                "seconds_before": here["seconds"], "seconds_predicted": predicted, "seconds_after": there and there["seconds"],
                "gain_predicted": here["seconds"] / predicted if predicted > 0 else None,
                "gain_measured": there and here["seconds"] / there["seconds"], "kept": kept,
            })  # fmt: skip
            if kept:
                here = there
        return {"end": here["name"], "start": first["name"], "gpu": here["gpu"], "gain": first["seconds"] / here["seconds"], "steps": len(self.steps)}

    def _next(self, here, tried):
        """The first finding that leads to an untried variant: those that another one explains come last."""
        for finding in sorted(here["findings"], key=lambda one: one["explained_by"] is not None):
            for name in self._setting["cures"].get(finding["id"], []):
                if name not in tried:
                    return finding, name
        return None

    async def _measure(self, name):
        """What a variant takes, and its findings. None: it is wrong, or was not measured."""
        library = self._setting["libraries"].get(name)
        arguments = {"kernel_lib": library} if library else {"kernel": f"^{name}$"}
        arguments["shape"] = self._setting["shape"]
        if self._setting["from_recording"]:
            line = await self._talk.call("report", {"recording": self._setting["from_recording"], **arguments})
        else:
            verified = await self._talk.call("verify", arguments)
            if verified["error"] or verified["answer"]["status"] != "ok":
                return None
            line = await self._talk.call("measure", {**arguments, "ncu_set": "full"})
        if line["error"] or line["answer"]["status"] == "bad_news":
            return None
        answer, duration = line["answer"], line["answer"]["numbers"][0]
        entry = answer["data"]["entries"][0]
        return {"name": name, "seconds": duration["value"], "low": duration["low"], "high": duration["high"], "gpu": duration["gpu"], "findings": entry["findings"]}


def packages():
    """The folder of the SDK: that of the environment, or what ci/setup.sh --mcp fetched."""
    script = '. ci/cuda.sh && echo "$fa_profile_mcp_packages"'
    return os.environ.get("FA_PROFILE_MCP_PACKAGES") or subprocess.run(["bash", "-c", script], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


async def walk_live(given, setting):
    from mcp import Client, StdioServerParameters

    variables = {**os.environ, "FA_PROFILE_MCP_PACKAGES": packages(), "FA_PROFILE_MCP_PYTHON": sys.executable}
    server = StdioServerParameters(command=given.program, args=["mcp", "--root", given.root], env=variables)
    async with Client(server) as client:
        talk = Recorder(client)
        walk = Walk(talk, setting)
        end = await walk.run()
    return talk.lines, walk.steps, end


async def walk_again(lines):
    talk = Replay(lines)
    walk = Walk(talk, lines[0]["setting"])
    end = await walk.run()
    if not talk.ended():
        sys.exit("the conversation goes on where the policy ends")
    return talk.lines, walk.steps, end


def pairs(texts, what):
    split = [text.split("=", 1) for text in texts]
    if any(len(parts) != 2 for parts in split):
        sys.exit(f"give {what}")
    return split


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", help="fa-profile")
    parser.add_argument("--root", default=".", help="folder for the recordings")
    parser.add_argument("--start", default="serial_softmax")
    parser.add_argument("--shape", default="4,16,1024,64")
    parser.add_argument("--from-recording", help="report this recording instead of verifying and measuring")
    parser.add_argument("--library", action="append", default=[], metavar="NAME=FILE.so")
    parser.add_argument("--cure", action="append", default=[], metavar="FINDING=NAME", help="tried before those of CURES")
    parser.add_argument("--out", type=pathlib.Path, help="conversation to write")
    parser.add_argument("--replay", type=pathlib.Path, help="conversation to follow again")
    given = parser.parse_args()
    cures = {finding: list(names) for finding, names in CURES.items()}
    for finding, name in reversed(pairs(given.cure, "--cure FINDING=NAME")):
        cures.setdefault(finding, []).insert(0, name)
    setting = {"start": given.start, "shape": given.shape, "from_recording": given.from_recording,
               "libraries": dict(pairs(given.library, "--library NAME=FILE.so")), "cures": cures}  # fmt: skip
    if bool(given.replay) == bool(given.program):
        sys.exit("give --program or --replay")
    sys.path.insert(0, packages())
    import anyio

    if given.replay:
        lines = [json.loads(line) for line in given.replay.read_text(encoding="utf-8").splitlines()]
        calls, steps, end = anyio.run(walk_again, lines)
        if steps != [line for line in lines if "step" in line] or end != lines[-1]:
            sys.exit("the steps differ from the recorded ones")
    else:
        calls, steps, end = anyio.run(walk_live, given, setting)
        if given.out:
            given.out.write_text("".join(json.dumps(line) + "\n" for line in [{"setting": setting}, *calls, *steps, end]), encoding="utf-8")
    for step in steps:
        after = f"{step['seconds_after'] * 1e6:.1f} us, {step['gain_measured']:.2f} times as fast" if step["seconds_after"] else "not measured"
        print(f"{step['from']}: {step['finding']} ({step['weight']:.2f} of the time), so {step['to']}: predicted {step['gain_predicted']:.2f}"
              f" times by it alone; measured {after}{'' if step['kept'] else '; taken back'}")  # fmt: skip
    print(f"{end['gain']:.1f} times as fast: {end['start']} -> {end['end']}, {end['steps']} steps, {end['gpu']}")


if __name__ == "__main__":
    main()
