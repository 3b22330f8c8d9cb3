#!/usr/bin/env python3
"""fa-profile with kernels in Python on a GPU, with PyTorch and Triton: python_gpu_test.py PROGRAM SOURCE

The python3 that is first on PATH must have them; the test prints "no GPU here" and ends where it has not.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = SOURCE = None
LONG = 900  # seconds
HEAD = """
import torch
import triton
import triton.language as tl

@triton.jit
def scale_kernel(out, x, n, BLOCK: tl.constexpr, ROUNDS: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    value = tl.load(x + offsets, mask=inside)
    for _ in tl.static_range(ROUNDS):
        value = tl.sin(value)
    tl.store(out + offsets, value * 2, mask=inside{condition})

def scale(x):
    out = torch.empty_like(x)
    n = x.numel()
    scale_kernel[(triton.cdiv(n, 1024),)](out, x, n, BLOCK=1024, ROUNDS={rounds})
{more}
    return out

def inputs(n):
    return torch.randn(n, device="cuda")

def reference(x):
    for _ in range({reference_rounds}):
        x = torch.sin(x)
    return 2 * x

scale.fa_profile = {{
    "inputs": inputs, "reference": reference, "shapes": [{{"n": 1000000}}, {{"n": 3000001}}],
    "tolerance": (1e-5, 1e-4),
}}
"""
CASES = ["scale@n=1000000", "scale@n=3000001"]


def kernel(rounds=1, reference_rounds=None, condition="", more=""):
    reference_rounds = rounds if reference_rounds is None else reference_rounds
    return HEAD.format(rounds=rounds, reference_rounds=reference_rounds, condition=condition, more=more)


class PythonGpuTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="fa-profile-python-gpu-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return f"{self.folder / name}:scale"

    def run_program(self, *arguments, code=0):
        end = subprocess.run(
            [PROGRAM, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=LONG, check=False
        )
        self.assertEqual(end.returncode, code, f"{end.stdout[-4000:]}\n{end.stderr[-4000:]}")
        return end

    def report(self, kernel_name, *options, code=0):
        """The entries of the report, and the losses."""
        arguments = ["--kernel-py", kernel_name, "--format", "json", "-o", self.folder / "r.fap", "--force", *options]
        report = json.loads(self.run_program(*arguments, code=code).stdout)
        return report["entries"], report["losses"]

    def gate(self, base, head, code):
        """The result as JSON. Few processes: what is tested is the way, not the statistics."""
        few = ["--pairs", "5", "--second-pairs", "7", "--phase-pairs", "0", "--format", "json"]
        return json.loads(self.run_program("gate", "--pair", base, head, *few, code=code).stdout)


class VerifyTest(PythonGpuTest):
    def test_the_examples_are_right(self):
        for example in ("triton_softmax.py:softmax", "torch_sdpa.py:attention"):
            end = self.run_program("verify", "--kernel-py", SOURCE / "examples/python" / example, "--draws", "3")
            self.assertIn("PASS: 2 comparisons, 0 not correct", end.stdout)

    def test_one_wrong_element_is_named(self):
        name = self.write("wrong.py", kernel(more="    out[12345] = 77"))
        end = self.run_program("verify", "--kernel-py", name, "--draws", "2", code=1)
        self.assertIn("output[12345]: 77, expected", end.stdout)

    def test_elements_that_are_not_written_are_counted(self):
        name = self.write("unwritten.py", kernel(condition=" & (offsets != 1000)"))
        end = self.run_program("verify", "--kernel-py", name, "--draws", "2", code=1)
        self.assertRegex(end.stdout, r"\d never written; output\[1000\]: never written")

    def test_a_crash_on_the_gpu_is_the_kernels_and_the_other_case_is_verified(self):
        crash = "    if n == 1000000:\n        torch.zeros(4, device='cuda')[torch.tensor([10**9], device='cuda')] = 1"
        end = self.run_program("verify", "--kernel-py", self.write("crash.py", kernel(more=crash)), code=1)
        lines = [line for line in end.stdout.splitlines() if line.startswith("scale@")]
        self.assertIn("FAILED", lines[0])
        self.assertIn("certified: ", lines[-1])


class MeasureTest(PythonGpuTest):
    def test_a_call_of_one_launch_has_time_counters_and_phases(self):
        entries, losses = self.report(self.write("right.py", kernel()), "--ncu-set", "full", "--draws", "2")
        self.assertEqual([entry["kernel"] for entry in entries], CASES)
        for entry, n in zip(entries, (1000000, 3000001)):
            self.assertTrue(entry["verification"]["correct"])
            self.assertIn("graph replay", entry["timing"]["method"])
            self.assertGreater(entry["timing"]["sm_clock_hz"], 5e8)
            self.assertLess(entry["timing"]["sm_clock_hz"], 4e9)
            self.assertEqual([launch["grid"] for launch in entry["launches"]], [[-(-n // 1024), 1, 1]])
            self.assertTrue(entry["phases"], losses)
            self.assertGreater(entry["metrics"]["dram_bytes"], 0, losses)
        kinds = {one["kind"] for one in losses}
        self.assertFalse(kinds & {"launches_estimated", "counters_not_measured"}, losses)

    def test_of_a_call_of_several_launches_kernels_are_parts_and_counts_are_added(self):
        more = "    out = out + 0.0\n    out = out * 1.0\n    out = out * 1.0"
        entries, losses = self.report(
            self.write("several.py", kernel(more=more)), "--ncu-set", "full", "--kernel", "n=1000000", "--draws", "2"
        )
        whole = [entry for entry in entries if entry["part"] is None]
        parts = [entry for entry in entries if entry["part"]]
        self.assertEqual(len(whole), 1)
        self.assertEqual(len(whole[0]["launches"]), 4, whole[0]["launches"])
        self.assertEqual(sorted(part["part"].endswith(" x2") for part in parts), [False, False, True], parts)
        for entry in (*whole, *parts):
            self.assertGreater(entry["metrics"]["instructions"], 0, losses)
        self.assertAlmostEqual(
            whole[0]["metrics"]["instructions"], sum(part["metrics"]["instructions"] for part in parts), delta=1
        )
        self.assertFalse([one for one in losses if one["kind"] == "launches_estimated"], losses)

    def test_a_wrong_kernel_is_recorded_and_not_measured(self):
        name = self.write("wrong.py", kernel(more="    out[12345] = 77"))
        entries, _ = self.report(name, "--kernel", "n=1000000", "--draws", "1", code=1)
        self.assertFalse(entries[0]["verification"]["correct"])
        self.assertIsNone(entries[0]["timing"])

    def test_the_example_of_attention_is_measured(self):
        entries, losses = self.report(
            SOURCE / "examples/python/torch_sdpa.py:attention", "--ncu-set", "basic", "--kernel", "seqlen=512"
        )
        self.assertTrue(entries[0]["verification"]["correct"])
        self.assertGreater(entries[0]["metrics"]["sm_active_cycles"], 0, losses)


class GateTest(PythonGpuTest):
    def test_the_same_code_passes(self):
        base, head = self.write("base.py", kernel()), self.write("head.py", kernel())
        self.assertEqual(self.gate(base, head, 0)["verdict"].lower(), "pass")

    def test_slower_code_is_a_regression(self):
        base = self.write("base.py", kernel(rounds=20))
        head = self.write("head.py", kernel(rounds=40))
        # 20 and 40 sines are other functions: each has its own reference, which the verdict notes.
        result = self.gate(base, head, 1)
        self.assertEqual(result["verdict"].lower(), "regression")
        self.assertIn("reference() differ", json.dumps(result))

    def test_a_wrong_head_is_a_regression_that_is_named(self):
        base = self.write("base.py", kernel())
        head = self.write("head.py", kernel(more="    out[12345] = 77"))
        text = json.dumps(self.gate(base, head, 1))
        self.assertIn("wrong: the error is", text)
        self.assertIn("scale@n=1000000", text)


def why_not():
    check = "import torch, triton; assert torch.cuda.is_available()"
    end = subprocess.run([sys.executable, "-c", check], stderr=subprocess.PIPE, text=True, check=False)
    return end.stderr.strip().rsplit("\n", 1)[-1] if end.returncode else ""


if __name__ == "__main__":
    PROGRAM, SOURCE = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
    if reason := why_not():
        print(f"no GPU here, or no PyTorch and Triton: {reason}")
        sys.exit(0)
    os.environ["PATH"] = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"  # python3 is this one
    unittest.main(verbosity=2)
