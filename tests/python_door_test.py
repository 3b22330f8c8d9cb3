#!/usr/bin/env python3
"""fa-profile with kernels in Python, on a machine without a GPU: python_door_test.py PROGRAM SOURCE

A fake torch is in place of PyTorch. What needs a GPU is in python_gpu_test.py.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from support.processes import LONG

PROGRAM = SOURCE = None
KERNEL = """
import torch

def double(x):
    return x + x

def inputs(n):
    return torch.randn(n, device="cuda")

double.fa_profile = {"inputs": inputs, "reference": lambda x: 2 * x, "shapes": [{"n": 4}, {"n": 6}]}
"""


class DoorTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="fa-profile-door-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.write("kernel.py", KERNEL)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def run_program(self, *arguments, code=0):
        environment = {**os.environ, "PYTHONPATH": str(SOURCE / "tests/support/fake_torch")}
        end = subprocess.run(
            [PROGRAM, *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
        )
        self.assertEqual(end.returncode, code, end.stdout + end.stderr)
        return end

    def refusal(self, *arguments):
        end = self.run_program(*arguments, code=2)
        self.assertEqual(end.stdout, "")
        return end.stderr

    def test_a_right_kernel_passes(self):
        end = self.run_program("verify", "--kernel-py", "kernel.py:double", "--draws", "2", "--no-timing")
        lines = end.stdout.splitlines()
        self.assertEqual(
            lines[0], "kernel.py:double: |error| <= 0.001 + 0.001*|reference|, compared in float64"
        )
        self.assertRegex(lines[1], r"^double@n=4 +correct, 2 of 2 draws, max error 0.00e\+00$")
        self.assertEqual(lines[-1], "PASS: 2 comparisons, 0 not correct")

    def test_a_wrong_kernel_fails_and_its_element_is_named(self):
        self.write("wrong.py", KERNEL.replace("return x + x", "out = x + x\n    out[2] = 99\n    return out"))
        end = self.run_program("verify", "--kernel-py", "wrong.py:double", "--kernel", "n=6", code=1)
        self.assertRegex(end.stdout, r"double@n=6 +WRONG, 0 of 10 draws, .*: output at \[2\] is 99, the reference")
        self.assertIn("FAIL: 1 comparisons, 1 not correct", end.stdout)

    def test_what_the_file_prints_goes_to_stderr_as_its_own(self):
        self.write("loud.py", "print('\\x1b[2Jloud')\n" + KERNEL)
        end = self.run_program("verify", "--kernel-py", "loud.py:double", code=3)
        last = end.stdout.splitlines()[-1]
        self.assertEqual(last, "NO VERDICT: 2 comparisons, 0 not correct, 2 without a verdict on the time")
        self.assertNotIn("loud", end.stdout.replace("loud.py", ""))
        self.assertIn("loud.py printed: \\x1B[2Jloud", end.stderr)

    def test_errors_name_their_cure(self):
        verify = ("verify", "--kernel-py")
        self.assertIn("names no function", self.refusal(*verify, "kernel.py"))
        self.assertIn("Python file none.py not found", self.refusal(*verify, "none.py:double"))
        error = self.refusal(*verify, "kernel.py:triple")
        self.assertIn("has no function triple", error)
        self.assertIn("functions with fa_profile: double", error)
        self.assertIn("no kernel matches 'n=5'", self.refusal(*verify, "kernel.py:double", "--kernel", "n=5"))
        error = self.refusal(*verify, "kernel.py:double", "--python", "./no-python")
        self.assertIn("--python /path/to/venv/bin/python", error)

    def test_a_case_by_its_name_is_for_kernels_in_python(self):
        self.assertIn("--case applies only to a kernel in Python", self.refusal("--case=double@n=4"))

    def test_options_without_effect_are_refused(self):
        kernel = ("--kernel-py", "kernel.py:double")
        shape = ("--shape", "1,8,512,64")
        self.assertIn("--shape has no effect on a kernel in Python", self.refusal("verify", *kernel, *shape))
        self.assertIn("--replay has no effect on a kernel in Python", self.refusal(*kernel, "--replay", "kernel"))
        self.assertIn("--raw has no effect on a kernel in Python", self.refusal(*kernel, "--raw", "none"))
        for command in ((), ("verify",)):
            error = self.refusal(*command, *kernel, "--tensor", "x=x.npy")
            self.assertIn("--tensor has no effect on a kernel in Python", error)
        self.assertIn("--kernel-py has no effect on a program", self.refusal(*kernel, "--", "true"))
        for command in ((), ("verify",)):
            error = self.refusal(*command, "--python", "python3")
            self.assertIn("--python applies only to a kernel in Python", error)
        self.assertIn("--python has no effect", self.refusal("gate", "--python", "python3", "--candidate", "a.fap"))
        pair = ("gate", "--pair", "kernel.py:double", "kernel.py:double")
        self.assertIn("--shape has no effect on a kernel in Python", self.refusal(*pair, *shape))


if __name__ == "__main__":
    PROGRAM, SOURCE = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
    unittest.main()
