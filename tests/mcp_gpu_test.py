#!/usr/bin/env python3
"""The agents' door on a GPU, with the official client: mcp_gpu_test.py PROGRAM SOURCE BUILD

BUILD has examples/layer_norm.so, tests/kernel_libs/watched.so and bench/kernel_loop. What each answer must hold is in
mcp_test.py; here nothing is faked. Takes about a minute and a half. Prints "no GPU here" and ends where there is none.
"""

import fcntl
import os
import pathlib
import shutil
import sys
import time
import unittest

BUILD = pathlib.Path(sys.argv.pop(3)).resolve()
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
if not shutil.which("nvidia-smi"):
    print("no GPU here")
    sys.exit(0)
import mcp_test as door  # noqa: E402  (takes PROGRAM and SOURCE)
from mcp_test import anyio, connect, run_async, wait_for  # noqa: E402

QUICK = b"watched_how=quick"
LAYER_NORM = {"kernel_lib": "layer_norm.so", "shape": "rows=4096,cols=1024"}
VIEWS = ("summary", "kernel", "phase", "finding", "source")


class McpGpuTest(door.Door):
    def setUp(self):
        super().setUp()
        shutil.copy(BUILD / "examples/layer_norm.so", self.root)
        self.started = time.monotonic()

    def tearDown(self):
        print(f"  {self.id().rpartition('.')[2]}: {time.monotonic() - self.started:.1f} s", file=sys.stderr)

    def client(self, *options):
        return connect("--root", self.root, "--root", BUILD / "bench", "--root", BUILD / "tests/kernel_libs", *options, variables=self.variables)

    def watched(self, how):
        """The library of tests/kernel_libs/watched.cu, made to do something else. Returns its name."""
        assert len(how) == 5, how
        library = (BUILD / "tests/kernel_libs/watched.so").read_bytes()
        self.assertIn(QUICK, library)
        (self.root / f"{how}.so").write_bytes(library.replace(QUICK, QUICK[:-5] + how.encode()))
        return f"{how}.so"

    def check_measured(self, content, cure=True):
        """Three numbers of this GPU with their errors, a cure with its finding, and calls that lead on."""
        self.assertEqual(len(content["numbers"]), 3)
        for number in content["numbers"]:
            self.assertTrue(number["gpu"], number)
            self.assertTrue(number["unit"], number)
            if number["value"] is not None:
                self.assertTrue(number["error"], number)
        if cure:
            self.assertTrue(content["cure"]["text"])
            self.assertTrue(content["cure"]["finding"])
        self.assertTrue(content["next"])

    @run_async
    async def test_a_kernel_of_the_ladder_is_verified_measured_and_read_in_every_view(self):
        mma = {"kernel": "^mma$", "shape": "1,8,512,64"}
        async with self.client() as client:
            content, _ = await self.call(client, "doctor", {}, status="ok")
            self.assertTrue(content["data"]["can_measure"])
            content, _ = await self.call(client, "list_kernels", {}, status="ok")
            self.assertIn("mma", [one["kernel"] for one in content["data"]["kernels"]])
            content, _ = await self.call(client, "verify", mma, status="ok")
            self.assertEqual(content["numbers"][1]["value"], 0)
            self.assertEqual([following["tool"] for following in content["next"]], ["measure"])
            content, text = await self.call(client, "measure", {**mma, "output": "before.fap"}, status="ok")
            self.check_measured(content)
            self.assertIn("wrote before.fap", text)
            self.assertTrue((self.root / "before.fap").is_file())
            finding = content["cure"]["finding"]
            for view in VIEWS:
                content, _ = await self.call(client, "report", {"recording": "before.fap", "view": view}, status="ok")
                self.check_measured(content, cure=view != "phase")
            for following in content["next"]:
                if following["tool"] in ("report", "explain"):
                    await self.call(client, following["tool"], following["arguments"])
            content, _ = await self.call(client, "explain", {"name": finding, "recording": "before.fap"}, status="ok")
            self.assertIn("In this recording", content["data"]["text"])
            await self.call(client, "explain", {"name": "duration_seconds", "recording": "before.fap"}, status="ok")
            content, _ = await self.call(client, "measure", {**mma, "output": "after.fap", "repeats": 200}, status="ok")
            content, _ = await self.call(client, "diff", {"before": "before.fap", "after": "after.fap"})
            self.assertEqual(content["data"]["incomparable"], [])
            self.assertIn("mma", content["verdict"])

    @run_async
    async def test_a_library_is_judged_measured_and_proved(self):
        async with self.client() as client:
            content, _ = await self.call(client, "list_kernels", {"kernel_lib": "layer_norm.so"}, status="ok")
            self.assertEqual([one["kernel"] for one in content["data"]["kernels"] if one["library"]], ["layer_norm"])
            content, _ = await self.call(client, "verify", LAYER_NORM, status="ok")
            self.assertIn("certified", content["verdict"])
            self.check_measured(content, cure=False)
            content, _ = await self.call(client, "measure", LAYER_NORM, status="ok")
            self.check_measured(content, cure=False)
            self.assertEqual(content["data"]["entries"][0]["judgement"], "certified")
            receipt = {"path": "mine.json", **LAYER_NORM}
            await self.call(client, "receipt", {"action": "make", **receipt}, status="ok")
            content, _ = await self.call(client, "receipt", {"action": "check", **receipt})
            self.assertEqual(content["data"]["exit_code"], 0, content["verdict"])
            self.assertTrue(content["data"]["compared"])
            content, _ = await self.call(client, "lint", {"files": ["layer_norm.so"]})
            self.assertTrue(content["data"]["kernels"])

    @run_async
    async def test_a_wrong_kernel_is_bad_news(self):
        async with self.client() as client:
            content, _ = await self.call(client, "verify", {"kernel_lib": self.watched("wrong")}, status="bad_news")
            self.assertIn("wrong", content["verdict"])
            self.assertEqual(content["next"], [])

    @run_async
    async def test_a_slower_build_is_a_regression(self):
        async with self.client() as client:
            arguments = {"base": self.watched("quick"), "head": self.watched("slow!"), "thresholds": "none"}
            content, _ = await self.call(client, "gate", arguments, status="bad_news")
            self.assertEqual(content["data"]["verdict"], "REGRESSION")
            number = content["numbers"][0]
            self.assertTrue(number["gpu"])
            self.assertGreater(number["low"], 0.5)
            self.assertTrue(content["cure"]["text"])

    @run_async
    async def test_a_program_is_profiled(self):
        async with self.client() as client:
            command = ["kernel_loop", "--kernel", "mma", "--shape", "1,8,512,64", "--seconds", "2"]
            content, text = await self.call(client, "profile_program", {"command": command, "ncu_set": "basic", "output": "program.fap"})
            self.assertIn(content["status"], ("ok", "cannot_say"))
            self.assertTrue(content["verdict"].startswith("the GPU is busy "), text)
            self.check_measured(content, cure=False)
            self.assertTrue(content["data"]["recording"]["program"])

    @run_async
    async def test_a_cancelled_measurement_frees_the_gpu_for_the_next_in_line(self):
        hangs, told, answers = self.watched("hangs"), [], []

        async def progress(seconds, total, message):
            told.append(message)

        async def wait_in_line(client):
            answers.append(await client.call_tool("verify", {"kernel_lib": self.watched("quick")}, progress_callback=progress))

        def running():
            for process in pathlib.Path("/proc").glob("[0-9]*"):
                with open(process / "cmdline", "rb") as file:
                    if b"/" + hangs.encode() in file.read() and door.alive(process.name):
                        return True
            return False

        async with self.client() as first, self.client() as second:
            async with anyio.create_task_group() as waiting:
                async with anyio.create_task_group() as group:
                    group.start_soon(lambda: first.call_tool("measure", {"kernel_lib": hangs}))
                    await anyio.to_thread.run_sync(lambda: wait_for("the measurement", running))
                    waiting.start_soon(wait_in_line, second)
                    while not told:
                        await anyio.sleep(0.05)
                    self.assertIn("waiting for the GPU", told[0])
                    self.assertEqual(answers, [])
                    group.cancel_scope.cancel()
            self.assertEqual(answers[0].structured_content["status"], "ok", answers[0].content[0].text)
            await anyio.to_thread.run_sync(lambda: wait_for("the job to end", lambda: not running()))
        lock = os.open(next((self.folder / "runtime").glob("fa-profile-mcp-*.lock")), os.O_RDWR)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(lock)


if __name__ == "__main__":
    unittest.main(verbosity=2)
