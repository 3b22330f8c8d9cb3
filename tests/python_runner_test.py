#!/usr/bin/env python3
"""The runner of kernels in Python, profiler/python/fa_profile_kernel.py: python_runner_test.py SOURCE

A fake torch is in place of PyTorch.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

from support.processes import LONG

SOURCE = None
KERNEL = """
import torch

def double(x):
    out = torch.empty_like(x)
    for i in range(x.numel()):
        out[i] = 2 * x.tolist()[i]
    torch.spend_ns(1000 * x.numel())
    return out

def inputs(n):
    return torch.randn(n, device="cuda")

def reference(x):
    return x + x

double.fa_profile = {
    "inputs": inputs, "reference": reference, "shapes": [{"n": 4}, {"n": 6}], "tolerance": (1e-3, 1e-3),
}
"""


def changed(*changes):
    text = KERNEL
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def body(*lines):
    """The kernel with other code before its return."""
    return changed(("    return out\n", "".join(f"    {line}\n" for line in lines) + "    return out\n"))


class RunnerTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="fa-profile-runner-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.end = None

    def write(self, text, name="kernel.py"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def ask(self, mode, text=KERNEL, *options, kernel=None, environment=None, cases=("double@n=4",)):
        """The answers, each an object with one key."""
        kernel = kernel or f"{self.write(text)}:double"
        answer = self.folder / "answer"
        answer.unlink(missing_ok=True)
        command = [sys.executable, "-B", SOURCE / "profiler/python/fa_profile_kernel.py", mode]
        command += ["--kernel", kernel, "--answer", answer, *options]
        for case in cases if mode != "describe" else ():
            command += ["--case", case]
        fake = {"PYTHONPATH": str(SOURCE / "tests/support/fake_torch"), **(environment or {})}
        self.end = subprocess.run(
            command, env={**os.environ, **fake}, capture_output=True, text=True, timeout=LONG, check=False
        )
        lines = answer.read_text().splitlines() if answer.exists() else []
        return [json.loads(line) for line in lines]

    def verified(self, text, *options, **more):
        answers = [one["verified"] for one in self.ask("verify", text, *options, **more) if "verified" in one]
        self.assertTrue(answers, self.end.stderr)
        return answers[0]

    def error(self, *arguments, **more):
        answers = self.ask(*arguments, **more)
        self.assertIn("error", answers[-1], self.end.stderr)
        self.assertEqual(self.end.returncode, 2)
        return answers[-1]["error"]["message"] + " | " + answers[-1]["error"]["hint"]


class DescribeTest(RunnerTest):
    def test_lists_the_cases(self):
        described = self.ask("describe")[1]["described"]
        self.assertEqual(described["kernel"], "double")
        self.assertEqual(described["cases"], ["double@n=4", "double@n=6"])

    def test_needs_no_torch_for_a_file_that_needs_none(self):
        text = "def f(): pass\nf.fa_profile = {'inputs': f, 'reference': f}\n"
        answers = self.ask("describe", kernel=f"{self.write(text)}:f", environment={"PYTHONPATH": ""})
        self.assertEqual(answers[1]["described"]["cases"], ["f"])

    def test_the_contract_changes_with_the_reference_and_not_with_the_kernel(self):
        def contract(text, name="double"):
            return self.ask("describe", kernel=f"{self.write(text)}:{name}")[1]["described"]["contract"]

        first = contract(KERNEL)
        self.assertEqual(first, contract(body("x = x")))
        self.assertEqual(first, contract(changed(("double", "twice")), "twice"))
        self.assertNotEqual(first, contract(changed(("return x + x", "return 2.0 * x"))))
        self.assertNotEqual(first, contract(changed(("(1e-3, 1e-3)", "(1e-1, 1e-3)"))))
        self.assertNotEqual(first, contract(changed(('{"n": 6}', '{"n": 5}'))))

    def test_a_file_of_a_package_may_import_its_neighbours(self):
        self.write("", "pack/__init__.py")
        self.write("def inputs(): return ()\n", "pack/common.py")
        path = self.write(
            "from .common import inputs\ndef f(): pass\nf.fa_profile = {'inputs': inputs, 'reference': f}\n",
            "pack/kernel.py",
        )
        self.assertEqual(self.ask("describe", kernel=f"{path}:f")[1]["described"]["cases"], ["f"])

    def test_the_examples_are_short_and_whole(self):
        for example in sorted((SOURCE / "examples/python").glob("*.py")):
            text = example.read_text()
            compile(text, example, "exec")
            self.assertLess(text.count("\n"), 60, example)
        described = self.ask("describe", kernel=f"{SOURCE / 'examples/python/torch_sdpa.py'}:attention")[1]["described"]
        self.assertEqual(len(described["cases"]), 2)

    def test_a_dtype_and_a_word_are_labels(self):
        text = changed(('[{"n": 4}, {"n": 6}]', '[{"n": 4, "of": torch.float16, "mode": "fast"}]'))
        self.assertEqual(self.ask("describe", text)[1]["described"]["cases"], ["double@n=4,of=float16,mode=fast"])


class ErrorTest(RunnerTest):
    def test_of_the_file(self):
        self.assertIn("not found", self.error("describe", kernel=f"{self.folder}/none.py:f"))
        error = self.error("describe", kernel=f"{self.write(KERNEL)}:triple")
        self.assertIn("has no function triple", error)
        self.assertIn("functions with fa_profile: double", error)
        self.assertIn("is not a function", self.error("describe", kernel=f"{self.write('f = 1')}:f"))
        self.assertIn("SyntaxError", self.error("describe", "def double(:\n"))
        self.assertIn("ZeroDivisionError: division by zero, at kernel.py:2", self.error("describe", "\n1 / 0\n"))
        self.assertIn("it called sys.exit(3)", self.error("describe", "import sys\nsys.exit(3)\n"))

    def test_a_module_that_this_python_lacks(self):
        error = self.error("describe", "import no_such_module_here\n")
        self.assertIn("No module named 'no_such_module_here'", error)
        self.assertIn("--python", error)

    def test_of_the_attribute(self):
        for old, new, message in [
            ("double.fa_profile", "triple", "fa_profile"),
            ('"inputs": inputs', '"inputs": 3', '["inputs"] must be a function'),
            ('"reference": reference,', "", '["reference"] must be a function'),
            ("(1e-3, 1e-3)", "(float('nan'), 1)", "two numbers"),
            ("(1e-3, 1e-3)", "1e-3", "two numbers"),
            ('[{"n": 4}, {"n": 6}]', "[]", "a list of dictionaries"),
            ('[{"n": 4}, {"n": 6}]', '[{"n": 4}, {"n": 4}]', "double@n=4 twice"),
            ('[{"n": 4}, {"n": 6}]', '[{"n": [1, 2]}]', "has a space"),
            ('"shapes"', '"shape"', "unknown key 'shape'"),
            ('"tolerance"', '"reference_precision": 8, "tolerance"', "reference_precision"),
        ]:
            with self.subTest(new):
                text = changed((old, new)) if old != "double.fa_profile" else "def double(): pass\n"
                self.assertIn(message, self.error("describe", text))

    def test_of_torch(self):
        plain = "def double(): pass\ndouble.fa_profile = {'inputs': double, 'reference': double}\n"
        self.assertIn("cannot import torch", self.error("verify", plain, environment={"PYTHONPATH": ""}))
        none = {"FAKE_TORCH_DEVICES": "0"}
        self.assertIn("has no CUDA device", self.error("verify", environment=none))
        none["FAKE_TORCH_BUILT_FOR"] = ""
        self.assertIn("built without CUDA", self.error("verify", environment=none))
        self.assertIn("CUDA device 3 not found", self.error("verify", KERNEL, "--device", "3"))

    def test_of_inputs_and_of_the_reference(self):
        error = self.error("verify", changed(("return torch.randn(n,", "return torch.randn(n / 0,")))
        self.assertIn("inputs() of double@n=4 fails: ZeroDivisionError", error)
        self.assertIn("at kernel.py:12 in inputs", error)
        error = self.error("verify", changed(("return x + x", "return x @ x")))
        self.assertIn("reference() of double@n=4 fails: TypeError", error)
        self.assertIn("reference_precision", error)
        self.assertIn("has no case double@n=5", self.error("verify", cases=["double@n=5"]))


class VerifyTest(RunnerTest):
    def test_a_right_kernel(self):
        answers = self.ask("verify", KERNEL, "--draws", "3", cases=["double@n=6", "double@n=4"])
        self.assertEqual([list(answer)[0] for answer in answers], ["loaded", "verified", "verified", "done"])
        for answer, case in zip(answers[1:3], ["double@n=6", "double@n=4"]):
            result = answer["verified"]
            self.assertEqual((result["case"], result["draws"], result["draws_passed"]), (case, 3, 3))
            self.assertEqual((result["error"], result["nonfinite"], result["unwritten"]), ("", 0, 0))
            self.assertLess(result["max_error_ratio"], 0.01)

    def test_one_wrong_element_is_named(self):
        result = self.verified(body("out[2] = 100.0"), "--draws", "3")
        self.assertEqual((result["draws_passed"], result["nonfinite"], result["unwritten"]), (0, 0, 0))
        self.assertGreater(result["max_error_ratio"], 1000)
        self.assertRegex(result["worst"], r"^output at \[2\] is 100, the reference -?[\d.e-]+$")

    def test_the_tolerance_is_absolute_and_relative(self):
        def passes(tolerance, value, by):
            text = changed(("return torch.randn(n,", f"return torch.empty(n).fill_({value / 2}); torch.randn(n,"))
            text = text.replace("(1e-3, 1e-3)", tolerance)
            text = text.replace("    return out\n", f"    out[1] = {value + by}\n    return out\n")
            return self.verified(text, "--draws", "1")["draws_passed"] == 1

        self.assertTrue(passes("(0.5, 0)", 1000.0, 0.25))
        self.assertFalse(passes("(0.5, 0)", 1000.0, 1.0))
        self.assertTrue(passes("(0, 0.01)", 1000.0, 8.0))
        self.assertFalse(passes("(0, 0.01)", 1000.0, 12.0))
        self.assertFalse(passes("(0, 0.01)", 0.0, 0.001))

    def test_each_draw_has_other_inputs(self):
        text = body("import pathlib", f"pathlib.Path('{self.folder}/seen').open('a').write(str(x.tolist()) + chr(10))")
        self.verified(text, "--draws", "3")
        seen = (self.folder / "seen").read_text().splitlines()
        self.assertEqual((len(seen), len(set(seen))), (4, 3))  # the first call repeats the first draw

    def test_nan_and_infinity(self):
        result = self.verified(body("out[1] = float('nan')", "out[3] = float('inf')"), "--draws", "1")
        self.assertEqual((result["nonfinite"], result["unwritten"]), (2, 0))
        self.assertRegex(result["worst"], r"output at \[1\] is nan")

    def test_nan_that_the_reference_has_too_is_right(self):
        text = changed(("return x + x", "return where_two(x + x)")) + (
            "def where_two(t):\n    t[1] = float('nan')\n    t[2] = float('-inf')\n    return t\n"
        )
        text = text.replace("    return out\n", "    return where_two(out)\n")
        self.assertEqual(self.verified(text, "--draws", "2")["draws_passed"], 2)

    def test_a_number_where_the_reference_is_infinite_or_nan_is_wrong(self):
        for odd in ("inf", "-inf", "nan"):
            text = changed(("return x + x", "return odd(x + x)")) + (
                f"def odd(t):\n    t[1] = float('{odd}')\n    return t\n"
            )
            result = self.verified(text, "--draws", "2")
            self.assertEqual((result["draws_passed"], result["nonfinite"]), (0, 0))
            self.assertIsNone(result["max_error_ratio"])
            self.assertRegex(result["worst"], rf"output at \[1\] is -?[\d.e-]+, the reference {odd}$")

    def test_elements_that_are_not_written(self):
        result = self.verified(changed(("range(x.numel())", "range(x.numel() - 1)")), "--draws", "2")
        self.assertEqual((result["unwritten"], result["nonfinite"], result["draws_passed"]), (2, 0, 0))
        self.assertEqual(result["worst"], "output at [3] was not written")

    def test_a_kernel_that_raises_is_not_correct(self):
        result = self.verified(body("raise ValueError('too small')"))
        self.assertEqual(result["error"], "ValueError: too small, at kernel.py:9 in double")
        self.assertIn("Traceback", self.end.stderr)
        self.assertIn("sys.exit(7)", self.verified(body("import sys", "sys.exit(7)"))["error"])

    def test_outputs_that_cannot_be_compared(self):
        for new, message in [
            ("return None", "it returns NoneType, not tensors"),
            ("return ()", "it returns nothing"),
            ("return torch.empty(3)", "output has shape (3,), the reference (4,)"),
            ("return out, out", "it returns 2 outputs, the reference 1"),
            ("return out.to(torch.int32)", "output has dtype torch.int32, the reference torch.float64"),
        ]:
            with self.subTest(new):
                result = self.verified(changed(("return out\n", new + "\n")))
                self.assertIn(message, result["error"])

    def test_integers_must_be_equal(self):
        text = changed(
            ("return out\n", "return {'n': (out, x.to(torch.int32))}\n"),
            ("return x + x", "return {'n': (x + x, x.to(torch.int32) + ONE)}"),
        )
        self.assertEqual(self.verified(text + "ONE = 0\n", "--draws", "2")["draws_passed"], 2)
        result = self.verified(text + "ONE = 1\n", "--draws", "2")
        self.assertEqual(result["draws_passed"], 0)
        self.assertIn("output['n'] 1 at [0]", result["worst"])

    def test_the_reference_gets_float64_unless_the_file_wants_the_inputs_as_they_are(self):
        text = changed(("return x + x", "assert x.dtype is torch.float64\n    return x + x"))
        self.assertEqual(self.verified(text)["draws_passed"], 10)
        text = text.replace("float64", "float32").replace('"shapes"', '"reference_precision": "inputs", "shapes"')
        self.assertEqual(self.verified(text)["draws_passed"], 10)

    def test_a_kernel_that_changes_its_inputs_is_compared_with_what_they_were(self):
        self.assertEqual(self.verified(body("x.fill_(0)"))["draws_passed"], 10)

    def test_after_a_crash_of_the_gpu_no_later_case_is_blamed(self):
        text = body("torch.works = False")
        answers = self.ask("verify", text, cases=["double@n=4", "double@n=6"])
        self.assertEqual([list(answer)[0] for answer in answers], ["loaded", "verified", "done"])
        self.assertIn("illegal memory access", answers[1]["verified"]["error"])

    def test_what_is_printed_is_not_in_the_answers_and_not_on_stdout(self):
        text = "print('at import')\n" + body("print('{\"done\": true}')", "import os", "os.write(1, b'raw')")
        self.assertEqual(self.verified(text)["draws_passed"], 10)
        self.assertEqual(self.end.stdout, "")
        self.assertIn("at import", self.end.stderr)

    def test_a_child_that_the_file_forks_does_not_answer(self):
        answers = self.ask("verify", "import os\nos.fork()\n" + KERNEL)
        self.assertEqual([list(answer)[0] for answer in answers], ["loaded", "verified", "done"])

    def test_a_thread_that_does_not_end_does_not_hold_the_answer_back(self):
        text = "import threading, time\nthreading.Thread(target=lambda: time.sleep(3600)).start()\n" + KERNEL
        self.assertEqual(self.verified(text)["draws_passed"], 10)


class TimeTest(RunnerTest):
    def timed(self, text, *options, cases=("double@n=4",)):
        answers = self.ask("time", text, "--launches", "5", *options, cases=cases)
        return [answer["timed"] for answer in answers if "timed" in answer]

    def test_replays_of_a_graph(self):
        (timed,) = self.timed(KERNEL)
        self.assertEqual(timed["method"], "graph replay, 50 calls a sample")
        self.assertEqual(len(timed["durations_ns"]), 5)
        for duration in timed["durations_ns"]:
            self.assertAlmostEqual(duration, 4000, delta=1)
        self.assertAlmostEqual(timed["sm_clock_hz"], 1.5e9, delta=1e6)

    def test_events_for_a_call_that_cannot_be_captured(self):
        (timed,) = self.timed("import torch\ntorch.capturable = False\n" + KERNEL)
        self.assertEqual(timed["method"], "events, 50 calls a sample")
        self.assertAlmostEqual(timed["durations_ns"][0], 4000, delta=1)

    def test_each_case_in_the_order_given(self):
        timed = self.timed(KERNEL, cases=["double@n=6", "double@n=4"])
        self.assertEqual([one["case"] for one in timed], ["double@n=6", "double@n=4"])

    def test_a_case_that_raises(self):
        first, second = self.timed(body("assert x.numel() > 4, 'no'"), cases=["double@n=4", "double@n=6"])
        self.assertEqual(first["error"], "AssertionError: no, at kernel.py:9 in double")
        self.assertIn("durations_ns", second)


class RunTest(RunnerTest):
    def test_calls_between_the_profilers_start_and_stop_and_some_in_a_range(self):
        text = "import atexit, torch\natexit.register(lambda: print(torch.log))\n" + body("torch.log.append('call')")
        answer = self.ask("run", text, "--seconds", "0.2", "--warmup", "2")[1]["ran"]
        self.assertEqual((answer["case"], answer["counted_calls"]), ("double@n=4", 4))
        range_name = "push fa-profile: one call"
        log = self.end.stderr
        before, inside, after = log[: log.index("start")], log[log.index("start") :], log[log.index(range_name) :]
        self.assertEqual(before.count("call"), 2)
        self.assertEqual(after.count("'call'"), 4)
        self.assertEqual(inside.count("'call'"), answer["calls"])
        self.assertTrue(log.rstrip().endswith("'pop', 'stop']"), log[-200:])

    def test_goes_on_while_calls_are_slow_and_makes_enough_of_them(self):
        slow = body("import time", "global calls", "calls += 1", "time.sleep(0.02 if 20 < calls < 80 else 0)")
        answer = self.ask("run", slow.replace("import torch", "import torch\ncalls = 0"), "--seconds", "0.2")[1]["ran"]
        self.assertGreaterEqual(answer["calls"], 79)
        answer = self.ask("run", body("import time", "time.sleep(0.01)"), "--seconds", "0.01")[1]["ran"]
        self.assertGreaterEqual(answer["calls"], 64)

    def test_a_kernel_that_raises_ends_the_job(self):
        self.assertIn("double@n=4 fails: ValueError: no", self.error("run", body("raise ValueError('no')")))

    def test_a_kernel_that_hangs_is_ended_by_a_signal(self):
        self.ask("run", body("import time", "time.sleep(3600)"), "--limit", "1")
        self.assertEqual(self.end.returncode, -signal.SIGALRM)


if __name__ == "__main__":
    SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
