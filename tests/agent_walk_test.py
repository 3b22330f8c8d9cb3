#!/usr/bin/env python3
"""The policies of bench/agent_walk.py on answers that this test makes: agent_walk_test.py SOURCE

mcp_test.py holds the same walk against the server.
"""

import asyncio
import contextlib
import importlib.util
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
SCRIPT = SOURCE / "bench/agent_walk.py"
CONVERSATION = SOURCE / "tests/data/agent_walk.jsonl"
spec = importlib.util.spec_from_file_location("agent_walk", SCRIPT)
walk = importlib.util.module_from_spec(spec)
spec.loader.exec_module(walk)


def finding(name, weight, explained_by=None):
    return {"id": name, "phase": "softmax", "weight": weight, "explained_by": explained_by}


# Seconds and findings of each kernel of this test's GPU; None: its results are wrong.
KERNELS = {
    "serial_softmax": (1250e-6, [finding("bottleneck-phase", 0.56, "serial-softmax"), finding("serial-softmax", 0.56)]),
    "wmma_no_rescale": None,
    "wmma_conflicts": (100e-6, [finding("bottleneck-phase", 0.5, "bank-conflicts"), finding("bank-conflicts", 0.4)]),
    "wmma": (50e-6, [finding("bottleneck-phase", 0.5)]),
    "wmma_three_loops": (60e-6, [finding("bottleneck-phase", 0.6)]),
    "mma": (16e-6, [finding("exp-bound", 0.31)]),
    "mma_late_barrier": (16.01e-6, [finding("exp-bound", 0.31)]),
    "hopper": (10e-6, [finding("unheard-of", 0.5)]),
}
RULES = {
    "serial_softmax": [("HighPipeUtilization", "local", 96.0, "All compute pipelines are under-utilized."),
                       ("CPIStall", "global", 64.0, "each warp spends 14 cycles being stalled waiting for sibling warps at a CTA barrier")],
    "wmma_conflicts": [("SharedMemoryConflicts", "global", 40.0, "8-way bank conflict")],
}  # fmt: skip


class FakeTalk:
    """The server of a machine with a GPU, and Nsight Compute."""

    def __init__(self):
        self.lines = []

    def _keep(self, line):
        self.lines.append(line)
        return line

    async def call(self, tool, arguments):
        name = arguments["kernel_lib"].removesuffix(".so") if "kernel_lib" in arguments else arguments["kernel"].strip("^$")
        line = {"call": tool, "arguments": arguments, "error": False, "text": f"{name}: certified\nmore"}
        if KERNELS[name] is None:
            if tool == "measure":
                raise AssertionError("a wrong kernel is measured")
            return self._keep({**line, "answer": {"status": "bad_news"}, "text": f"{name}: wrong: 3 of 3 draws\nmore"})
        seconds, findings = KERNELS[name]
        duration = {"value": seconds, "low": seconds * 0.99, "high": seconds * 1.01, "gpu": "a GPU"}
        return self._keep({**line, "answer": {"status": "ok", "numbers": [duration], "data": {"entries": [{"findings": findings}]}}})

    async def rules(self, name, shape, library):
        rules = [{"rule": rule, "type": kind, "speedup_pct": pct, "text": text} for rule, kind, pct, text in RULES.get(name, [])]
        return self._keep({"ncu": name, "shape": shape, "library": library, "rules": rules, "problem": None})


class AgentWalkTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name).resolve()

    def setting(self, ncu=None):
        for name in walk.PLANTED:
            (self.folder / f"{name}.so").touch()
        given = types.SimpleNamespace(start="serial_softmax", shape="1,16,1024,64", from_recording=None, planted=self.folder, library=[], cure=[], ncu=ncu)
        return walk.setting_of(given)

    def run_walk(self, ncu=None):
        talk = FakeTalk()
        steps, ends = asyncio.run(walk.walk_all(talk, self.setting(ncu)))
        return talk, steps, ends

    def test_planted_variants_are_refused_or_taken_back(self):
        talk, steps, (end,) = self.run_walk()
        self.assertEqual([(step["finding"], step["from"], step["to"], step["kept"]) for step in steps], [
            ("serial-softmax", "serial_softmax", "wmma_no_rescale", False),  # wrong
            ("serial-softmax", "serial_softmax", "wmma_conflicts", True),
            ("bank-conflicts", "wmma_conflicts", "wmma", True),
            ("bottleneck-phase", "wmma", "wmma_three_loops", False),  # slower
            ("bottleneck-phase", "wmma", "mma", True),
            ("exp-bound", "mma", "mma_late_barrier", False),  # gains nothing
            ("exp-bound", "mma", "hopper", True),
        ])  # fmt: skip
        self.assertEqual(steps[0]["refused"], "wmma_no_rescale: wrong: 3 of 3 draws")
        self.assertIsNone(steps[0]["gain_measured"])
        self.assertAlmostEqual(steps[1]["gain_predicted"], 1 / 0.44)
        self.assertAlmostEqual(steps[1]["gain_measured"], 12.5)
        self.assertEqual((end["end"], end["left"]), ("hopper", ["unheard-of"]))
        self.assertAlmostEqual(end["gain"], 125)
        measured = [line["arguments"] for line in talk.lines if line["call"] == "measure"]
        self.assertEqual(measured[1], {"kernel_lib": "wmma_conflicts.so", "shape": "batch=1,heads=16,seqlen=1024,head_dim=64", "ncu_set": "full"})

    def test_the_walk_along_rules_of_ncu_measures_nothing_again(self):
        talk, steps, (ncu, end) = self.run_walk(ncu="ncu")
        self.assertEqual((ncu["walk"], end["walk"]), ("ncu", "findings"))
        along = [step for step in steps if step["walk"] == "ncu"]
        self.assertEqual([(step["finding"], step["to"], step["kept"]) for step in along], [
            ("CPIStall (global)", "wmma_no_rescale", False),
            ("CPIStall (global)", "wmma_conflicts", True),
            ("SharedMemoryConflicts (global)", "wmma", True),
        ])  # fmt: skip
        self.assertEqual(along[0]["passed_over"], ["HighPipeUtilization (local)"])
        self.assertAlmostEqual(along[0]["gain_predicted"], 1 / 0.36)
        self.assertEqual((ncu["end"], ncu["left"]), ("wmma", []))
        asked = [json.dumps(line["arguments"], sort_keys=True) for line in talk.lines if line.get("call") == "measure"]
        self.assertEqual(len(asked), len(set(asked)))
        self.assertEqual([line["ncu"] for line in talk.lines if "ncu" in line], ["serial_softmax", "serial_softmax", "wmma_conflicts", "wmma"])

    def test_a_conversation_is_followed_again_and_printed_as_tables(self):
        talk, steps, ends = self.run_walk(ncu="ncu")
        file = self.folder / "walk.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in [{"setting": self.setting("ncu")}, *talk.lines, *steps, *ends]), encoding="utf-8")
        end = subprocess.run([sys.executable, "-B", SCRIPT, "--replay", file, "--markdown"], capture_output=True, text=True, check=True)
        for line in (
            "Along the findings of fa-profile, 125.0 times as fast: serial_softmax -> hopper, 7 steps, a GPU:",
            "|serial-softmax|`serial_softmax`|`wmma_no_rescale`|2.27|wrong|back|",
            "|bank-conflicts|`wmma_conflicts`|`wmma`|1.67|2.00|kept|",
            "Along the rules of Nsight Compute, 25.0 times as fast: serial_softmax -> wmma, 3 steps, a GPU:",
            "|CPIStall (global)|`serial_softmax`|`wmma_no_rescale`|2.78|wrong|back|",
            "Not mapped to a variant: HighPipeUtilization (local). Left at the end: nothing.",
        ):
            self.assertIn(line + "\n", end.stdout)
        self.assertLess(end.stdout.index("fa-profile"), end.stdout.index("Nsight"))
        lines = file.read_text(encoding="utf-8").splitlines()
        file.write_text("\n".join(line for line in lines if '"ncu": "wmma_conflicts"' not in line), encoding="utf-8")
        end = subprocess.run([sys.executable, "-B", SCRIPT, "--replay", file], capture_output=True, text=True, check=False)
        self.assertEqual(end.returncode, 1)
        self.assertIn('the policy asks for {"ncu": "wmma_conflicts"', end.stderr)

    def test_the_table_of_ncu_is_read(self):
        def printed(**variables):
            command = [sys.executable, "-B", SOURCE / "tests/support/fake_ncu.py", "fa_ladder_once", "--rungs", "serial_softmax"]
            return subprocess.run(command, capture_output=True, text=True, check=False, env=variables).stdout

        rules = walk.rules_of(printed())
        self.assertEqual([(rule["rule"], rule["type"], rule["speedup_pct"]) for rule in rules], [("HighPipeUtilization", "local", 96.3), ("CPIStall", "global", 63.9)])
        self.assertIn("at a CTA barrier. A high number", rules[1]["text"])
        self.assertIsNone(walk.rules_of(printed(FAKE_NCU="fails")))
        self.assertEqual(walk.rules_of('"ID","Rule Name","Rule Description","Estimated Speedup Type","Estimated Speedup"\n"0","A"\n'), [])

    def test_rules_are_mapped_by_name_and_text(self):
        policy = walk.NcuRules(types.SimpleNamespace(setting={"ncu_rules": walk.NCU_RULES}))
        for rule, text, first in (
            ("ThreadDivergence", "Instructions are executed in warps of 32 threads", "wmma_no_rescale"),
            ("CPIStall", "stalled waiting for a scoreboard dependency on a MIO (memory input/output) operation", "wmma_three_loops"),
            ("CPIStall", "stalled waiting for a scoreboard dependency on a L1TEX operation", "mma"),
            ("UncoalescedSharedAccess", "has uncoalesced shared accesses", "wmma"),
            ("TheoreticalOccupancy", "limited by the required amount of shared memory", "mma"),
            ("TheoreticalOccupancy", "limited by the number of required registers", None),
            ("IssueSlotUtilization", "Every scheduler is capable of issuing one instruction per cycle", None),
        ):
            self.assertEqual((policy._mapped({"rule": rule, "text": text}) or [None])[0], first, (rule, text))

    def test_the_variants_are_what_is_built(self):
        listed = (SOURCE / "bench/walk/CMakeLists.txt").read_text(encoding="utf-8")
        self.assertEqual(re.search(r"foreach\(name (.*)\)", listed)[1].split(), list(walk.PLANTED))
        self.assertEqual(sorted(path.stem for path in (SOURCE / "bench/walk").glob("*.cu")), sorted(walk.PLANTED))
        named = {name for names in [*walk.CURES.values(), *[names for _, names in walk.NCU_RULES]] for name in names}
        self.assertLessEqual(named, {*walk.PLANTED, *walk.RUNGS})
        self.assertLessEqual(set(walk.PLANTED), named)

    def test_a_library_that_is_not_built_is_named(self):
        (self.folder / "empty").mkdir()
        end = subprocess.run([sys.executable, "-B", SCRIPT, "--program", "none", "--planted", self.folder / "empty"], capture_output=True, text=True, check=False)
        self.assertEqual(end.returncode, 1)
        self.assertIn("wmma_no_rescale.so was not found: build it", end.stderr)

    def test_the_bundled_conversation_names_no_folder_of_its_machine(self):
        self.assertNotRegex(CONVERSATION.read_text(encoding="utf-8"), r'[" ]/\w+/')
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            steps, ends = [], []
            for line in map(json.loads, CONVERSATION.read_text(encoding="utf-8").splitlines()):
                (steps if "step" in line else ends if "end" in line else []).append(line)
            walk.show(steps, ends, markdown=True)
        self.assertIn("times as fast: serial_softmax -> ", out.getvalue())


if __name__ == "__main__":
    unittest.main()
