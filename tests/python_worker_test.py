#!/usr/bin/env python3
"""What a kernel in Python answers to the judge, profiler/python/fa_profile_worker.py: python_worker_test.py SOURCE

A fake torch is in place of PyTorch. What shares memory of a GPU is in python_gpu_test.py and cheats/judge_cheats.py.
"""

import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

SOURCE = None
KERNEL = """
import random
import torch

def double(x, scale=2):
    return {"twice": x + x, "none": None, "rest": (x * 3, torch.empty(0))}

def inputs(n):
    return torch.randn(n, device="cuda")

def reference(x, scale=2):
    return {"twice": 2 * x, "none": None, "rest": (3 * x, torch.empty(0))}

double.fa_profile = {"inputs": inputs, "reference": reference, "shapes": [{"n": 4}], "tolerance": (1e-3, 1e-2)}
"""
RETURNS = 'return {"twice": x + x, "none": None, "rest": (x * 3, torch.empty(0))}'
DEADLINE = 120  # seconds, for a busy machine


class Worker:
    """A worker or a referee, and what it answers."""

    def __init__(self, test, text, case="double@n=4"):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="fa-profile-worker-", dir=test.folder))
        (folder / "kernel.py").write_text(text)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.shared = tempfile.TemporaryFile(dir=folder)
        self.shared.truncate(8 * 64)

        def place_descriptors():
            os.dup2(os.dup2(theirs.fileno(), 20), 3)
            os.dup2(os.dup2(self.shared.fileno(), 21), 4)
            os.set_inheritable(3, True)
            os.set_inheritable(4, True)

        command = [sys.executable, "-B", SOURCE / "profiler/python/fa_profile_worker.py"]
        self.process = subprocess.Popen(
            [*command, "--kernel", f"{folder / 'kernel.py'}:double", f"--case={case}"],
            env={**os.environ, "PYTHONPATH": str(SOURCE / "tests/support/fake_torch")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            close_fds=False,
            preexec_fn=place_descriptors,
        )
        theirs.close()
        ours.settimeout(DEADLINE)
        self.channel = ours
        test.addCleanup(self.end)

    def ask(self, **task):
        self.channel.send(json.dumps(task).encode())
        return json.loads(self.channel.recv(1 << 17))

    def values(self, place, count):
        return struct.unpack(f"={count}d", os.pread(self.shared.fileno(), 8 * count, 8 * place))

    def end(self):
        self.channel.close()
        self.shared.close()
        out, self.err = self.process.communicate(timeout=DEADLINE)
        return self.process.returncode, out


class WorkerTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="fa-profile-worker-test-")
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def loaded(self, text):
        return Worker(self, text).ask(do="load", device=0, values=[])

    def test_the_referee_describes_the_tensors_that_inputs_gives(self):
        answer = Worker(self, KERNEL).ask(do="describe", device=0)
        self.assertEqual(answer["error"], "")
        self.assertEqual([tensor["shape"] for tensor in answer["tensors"]], ["16"])  # bytes
        self.assertTrue(answer["mostly_fp32"])
        self.assertEqual(answer["tolerance"], [1e-3, 1e-2])

    def test_the_worker_names_what_the_kernel_returns(self):
        outputs = self.loaded(KERNEL)["outputs"]
        self.assertEqual([one["name"] for one in outputs], ["output['twice']", "output['rest'] 0"])
        self.assertEqual([one["extents"] for one in outputs], [[4], [4]])
        self.assertEqual([one["input"] for one in outputs], [-1, -1])
        self.assertEqual(outputs[0]["tolerance"], [0, 0], "the referee says it")

    def test_an_argument_that_is_returned_is_in_place(self):
        outputs = self.loaded(KERNEL.replace(RETURNS, "x[0] = 5\n    return x"))["outputs"]
        self.assertEqual(outputs[0]["input"], 0)

    def test_integers_are_named_as_such(self):
        outputs = self.loaded(KERNEL.replace(RETURNS, "return x.to(torch.int64)"))["outputs"]
        self.assertEqual((outputs[0]["format"], outputs[0]["floating"]), (9, False))

    def test_what_is_not_a_plain_tensor_is_refused(self):
        lazy = KERNEL.replace(RETURNS, "return Lazy(x.shape, x.dtype)") + "class Lazy(torch.Tensor):\n    pass\n"
        self.assertIn("output is a Lazy: return plain tensors", self.loaded(lazy)["error"])
        self.assertIn("it returns float, not tensors", self.loaded(KERNEL.replace(RETURNS, "return 1.5"))["error"])
        self.assertIn("it returns no tensors", self.loaded(KERNEL.replace(RETURNS, "return None"))["error"])

    def test_a_kernel_that_raises_is_named_with_its_place(self):
        error = self.loaded(KERNEL.replace(RETURNS, "raise ValueError('no')"))["error"]
        self.assertRegex(error, r"ValueError: no, at kernel.py:\d+ in double")

    def test_the_reference_of_a_draw_goes_to_the_shared_memory(self):
        referee = Worker(self, KERNEL)
        self.assertEqual(referee.ask(do="describe", device=0)["error"], "")
        outputs = [
            {"name": "a", "shape": [4], "floating": True, "dtype": "torch.float32", "place": place}
            for place in (0, 8)
        ]
        task = {"do": "reference", "seed": 7, "round_bits": 0, "outputs": outputs}
        self.assertEqual(referee.ask(**task)["error"], "")
        twice, thrice = referee.values(0, 4), referee.values(8, 4)
        self.assertNotEqual(twice, (0, 0, 0, 0))
        for two, three in zip(twice, thrice):
            self.assertAlmostEqual(3 * two, 2 * three)
        self.assertEqual(referee.ask(**{**task, "seed": 8})["error"], "")
        self.assertNotEqual(referee.values(0, 4), twice)

    def test_outputs_that_the_reference_does_not_have(self):
        referee = Worker(self, KERNEL)
        self.assertEqual(referee.ask(do="describe", device=0)["error"], "")

        def error(*outputs):
            return referee.ask(do="reference", seed=1, round_bits=0, outputs=list(outputs))["error"]

        one = {"name": "output", "shape": [4], "floating": True, "dtype": "torch.float32", "place": 0}
        self.assertEqual(error(one), "it returns 1 outputs, the reference 2")
        self.assertEqual(error(one, {**one, "shape": [2, 2]}), "output has shape (2, 2), the reference (4,)")
        integer = {**one, "floating": False, "dtype": "torch.int32"}
        self.assertEqual(error(integer, one), "output has dtype torch.int32, the reference torch.float64")
        self.assertEqual(error(one, {**one, "place": 62}), "the shared memory is too small")

    def test_outputs_whose_shapes_depend_on_the_inputs_are_no_mistake_of_the_kernel(self):
        varies = "its outputs have other shapes for other inputs"
        reference = KERNEL.replace('return {"twice": 2 * x', 'return torch.empty(1 if x.item() > 0 else 2)\n    return {"": x')
        referee = Worker(self, reference)
        self.assertEqual(referee.ask(do="describe", device=0)["error"], "")
        output = {"name": "output", "floating": True, "dtype": "torch.float32", "place": 0}
        errors = []
        for shape in ([1], [2]):  # one of them is that of the first draw
            task = {"do": "reference", "round_bits": 0, "outputs": [{**output, "shape": shape}]}
            errors.append({referee.ask(**task, seed=seed)["error"] for seed in range(2, 14)})
        self.assertIn({"", varies}, errors)

    def test_only_tensors_on_the_gpu_may_be_random(self):
        task = {"do": "draw", "seed": 3, "tensor": 0}
        other = KERNEL.replace('return torch.randn(n, device="cuda")', "return torch.randn(n), random.random()")
        referee = Worker(self, other)
        self.assertEqual(referee.ask(do="describe", device=0)["error"], "")
        answer = referee.ask(**task)
        self.assertIn("gives argument 1 another value for another seed", answer["error"])
        self.assertTrue(answer["refusal"])
        referee = Worker(self, KERNEL.replace("randn(n,", "randn(n + random.randrange(9),"))
        self.assertEqual(referee.ask(do="describe", device=0)["error"], "")
        self.assertIn("tensors of other shapes or types", referee.ask(**task)["error"])

    def test_a_file_that_cannot_be_loaded_is_refused_with_a_cure(self):
        worker = Worker(self, "import nothing_of_that_name\n")
        answer = worker.ask(do="describe", device=0)
        self.assertIn("No module named 'nothing_of_that_name'", answer["error"])
        self.assertTrue(answer["refusal"] and answer["hint"])
        self.assertEqual(worker.end()[0], 2)

    def test_a_bad_task_is_an_error_and_the_end_of_the_channel_the_end(self):
        worker = Worker(self, "print('loud')\n" + KERNEL)
        self.assertIn("KeyError", worker.ask(do="fly")["error"])
        self.assertIn("KeyError", worker.ask()["error"])
        worker.channel.send(b"{")
        self.assertIn("JSONDecodeError", json.loads(worker.channel.recv(1 << 17))["error"])
        code, out = worker.end()
        self.assertEqual((code, out), (0, b""))
        self.assertIn(b"loud", worker.err)


if __name__ == "__main__":
    SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
