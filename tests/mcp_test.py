#!/usr/bin/env python3
"""The agents' door, with the official client: mcp_test.py PROGRAM SOURCE

The server runs as `fa-profile mcp` starts it. What needs a GPU is answered by tests/support/fake_fa_profile.py. The SDK is
where ci/setup.sh put it.
"""

import contextlib
import http.client
import importlib
import importlib.util
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SOURCE / "tests/support"))
from processes import LONG, wait_for  # noqa: E402

PACKAGES = os.environ.get("FA_PROFILE_MCP_PACKAGES") or subprocess.run(["bash", "-c", '. ci/cuda.sh && echo "$fa_profile_mcp_packages"'], cwd=SOURCE, check=True, capture_output=True,
                          text=True, timeout=LONG).stdout.strip()  # fmt: skip
if not pathlib.Path(PACKAGES, "mcp").is_dir():
    sys.exit(f"no packages in {PACKAGES}: run ci/setup.sh")
sys.path.insert(0, PACKAGES)
sys.path.insert(1, str(SOURCE / "python/fa_profile"))  # not the package: its extension may be of another Python
import anyio  # noqa: E402
import httpx2  # noqa: E402
import jsonschema  # noqa: E402
import mcp_types as types  # noqa: E402
from mcp import Client, StdioServerParameters  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402

sys.path.remove(str(SOURCE / "python/fa_profile"))

FAKE = SOURCE / "tests/support/fake_fa_profile.py"
SERVER = SOURCE / "python/fa_profile/mcp/__main__.py"
LADDER = "bundled:h100-ladder-full"
TOOLS = ["doctor", "list_kernels", "lint", "verify", "measure", "profile_program", "report", "diff", "gate", "explain", "receipt"]
MALFORMED = 2000


def environment(**more):
    """Of the server; nothing in it depends on this machine's other settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FA_PROFILE", "FAKE_", "PYTHON"))}
    fixed = {"FA_PROFILE_MCP_PACKAGES": PACKAGES, "FA_PROFILE_MCP_PYTHON": sys.executable, "REAL_PROGRAM": str(PROGRAM), "FAKE_SOURCE": str(SOURCE)}
    return {**kept, **fixed, **{name: str(value) for name, value in more.items()}}


def command(*options, fake=False):
    if fake:
        return [sys.executable, "-B", str(SERVER), "--program", str(FAKE), *map(str, options)]
    return [str(PROGRAM), "mcp", *map(str, options)]


def connect(*options, fake=False, mode="auto", variables=None, **client):
    words = command(*options, fake=fake)
    return Client(StdioServerParameters(command=words[0], args=words[1:], env=environment(**(variables or {})), cwd=str(SOURCE)), mode=mode, **client)


def run_async(test):
    """A test that is a coroutine function, with a limit."""

    def run(self):
        async def limited():
            with anyio.fail_after(LONG):
                await test(self)

        try:
            anyio.run(limited)
        except BaseException as error:
            inner = error
            while len(getattr(inner, "exceptions", ())) == 1:  # of each client around it
                inner = inner.exceptions[0]
            raise inner from None

    run.__name__ = test.__name__
    return run


def server_module(name):
    """A module of the server, as the server loads it beside this Python's packages."""
    folder = SOURCE / "python/fa_profile/mcp"
    if "fa_profile_mcp" not in sys.modules:
        spec = importlib.util.spec_from_file_location("fa_profile_mcp", folder / "__init__.py", submodule_search_locations=[str(folder)])
        sys.modules["fa_profile_mcp"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["fa_profile_mcp"])
    return importlib.import_module(f"fa_profile_mcp.{name}")


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


class Door(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name).resolve()
        runtime = self.folder / "runtime"
        runtime.mkdir()
        self.variables = {"XDG_RUNTIME_DIR": runtime, "FAKE_PIDS": self.folder / "pids.txt"}
        self.root = self.folder / "root"
        self.root.mkdir()
        shutil.copyfile(SOURCE / "recordings/hopper/1-plain.fap", self.root / "plain.fap")
        for name in ("mine.so", "old.so", "program"):
            (self.root / name).write_text("#!/bin/sh\n", encoding="utf-8")
            (self.root / name).chmod(0o755)
        (self.root / "mine.py").write_text("def kernel(): pass\n", encoding="utf-8")

    def fake(self, *options, fake_mode="", **client):
        """A client of a server whose program has a GPU, and behaves as `fake_mode` has it."""
        return connect("--root", self.root, *options, fake=True, variables={**self.variables, "FAKE_MODE": fake_mode}, **client)

    async def call(self, client, name, arguments, *, error=False, status=None):
        """The answer, after what holds for each answer was checked."""
        if not hasattr(client, "described"):
            client.described = {tool.name: tool for tool in (await client.list_tools()).tools}
        answer = await client.call_tool(name, arguments)
        text, content = answer.content[0].text, answer.structured_content
        what = f"{name} {arguments}: {text}"
        self.assertEqual(answer.is_error, error, what)
        jsonschema.Draft202012Validator(client.described[name].output_schema).validate(content)
        if not arguments.get("full"):
            self.assertLessEqual(len(text.encode()), 4096, what)
            self.assertLessEqual(len(text.split("\n")), 60, what)
            self.assertLessEqual(len(json.dumps(content)), 8192 + 64, what)
        self.assertNotIn("Traceback", text)
        self.assertTrue(text.removeprefix("error: ").startswith(content["verdict"][:40]), what)
        for following in content["next"]:
            schema = client.described[following["tool"]].input_schema
            jsonschema.Draft202012Validator(schema).validate(following["arguments"])
        if error:
            self.assertEqual(content["status"], "error", what)
            self.assertTrue(content["cure"]["text"], what)
        if status:
            self.assertEqual(content["status"], status, what)
        return content, text


class ConformanceTest(Door):
    @run_async
    async def test_tools_have_valid_schemas_and_true_annotations(self):
        for mode in ("auto", "legacy"):
            async with connect("--root", self.root, mode=mode) as client:
                self.assertEqual(client.server_info.name, "fa-profile")
                tools = (await client.list_tools()).tools
                self.assertEqual([tool.name for tool in tools], TOOLS)
                for tool in tools:
                    for schema in (tool.input_schema, tool.output_schema):
                        jsonschema.Draft202012Validator.check_schema(schema)
                        self.assertEqual((schema["type"], schema["additionalProperties"]), ("object", False), tool.name)
                    self.assertLess(len(tool.description), 400, tool.name)
                    writes = "output" in tool.input_schema["properties"] or "overwrite" in tool.input_schema["properties"]
                    runs_code = "kernel_lib" in tool.input_schema["properties"]
                    self.assertEqual(tool.annotations.read_only_hint, not (writes or runs_code), tool.name)
                    self.assertEqual(tool.annotations.destructive_hint, writes, tool.name)
                    self.assertEqual(tool.annotations.open_world_hint, tool.name == "profile_program", tool.name)

    @run_async
    async def test_recordings_findings_and_metrics_are_resources(self):
        async with connect("--root", self.root) as client:
            listed = {one.uri: one for one in (await client.list_resources()).resources}
            for uri in ("fa-profile://recording/plain.fap", "fa-profile://recording/bundled%3Apytorch-sdpa", "fa-profile://finding/spills"):
                self.assertIn(uri, listed)
            self.assertEqual(len((await client.list_resource_templates()).resource_templates), 3)
            for uri, words in (
                ("fa-profile://recording/plain.fap", "hopper_64"),
                ("fa-profile://finding/serial-softmax", "fires when"),
                ("fa-profile://finding/spills", "fires when"),
                ("fa-profile://metric/waves", "Blocks over the blocks that fit"),
                ("fa-profile://metrics", "duration_seconds (seconds)"),
            ):
                self.assertIn(words, (await client.read_resource(uri)).contents[0].text, uri)
            for uri in ("fa-profile://finding/none", "fa-profile://recording/../x.fap", "file:///etc/passwd", "fa-profile://recording/%2Fetc%2Fpasswd"):
                with self.assertRaisesRegex(Exception, "cure"):
                    await client.read_resource(uri)

    @run_async
    async def test_the_prompt_is_the_loop(self):
        async with connect("--root", self.root) as client:
            self.assertEqual([one.name for one in (await client.list_prompts()).prompts], ["make_this_kernel_faster"])
            got = await client.get_prompt("make_this_kernel_faster", {"kernel": "mine", "kernel_lib": "mine.so", "shape": "n=4"})
            text = got.messages[0].content.text
            for word in ("kernel_lib=mine.so", "shape=n=4", *[f"{name}" for name in ("verify", "measure", "gate", "receipt", "diff")]):
                self.assertIn(word, text)
            for name, arguments in (("make_this_kernel_faster", {}), ("other", {"kernel": "x"})):
                with self.assertRaisesRegex(Exception, "kernel"):
                    await client.get_prompt(name, arguments)

    @run_async
    async def test_an_unknown_tool_is_an_error_of_the_protocol(self):
        async with connect("--root", self.root) as client:
            with self.assertRaisesRegex(Exception, "unknown tool rm; the tools are doctor"):
                await client.call_tool("rm", {})


class ReadingTest(Door):
    @run_async
    async def test_recordings_are_read_without_a_gpu(self):
        async with connect("--root", self.root, "--root", SOURCE / "tests/data") as client:
            one = {"kernel": "^serial_softmax$", "shape": "1,8,512,64"}
            content, text = await self.call(client, "report", {"recording": LADDER, **one}, status="ok")
            self.assertEqual(content["cure"]["finding"], "serial-softmax")
            self.assertEqual([number["gpu"] for number in content["numbers"]], ["NVIDIA H100 80GB HBM3"] * 3)
            self.assertEqual([number["unit"] for number in content["numbers"]], ["seconds", "ratio", "threads"])
            self.assertRegex(content["cure"]["file"] or "", "rung5_serial_softmax.cuh$")
            # The order: verdict, numbers, cure, what is unknown, what is next.
            places = [text.index(word) for word in ("duration: 552 us (551 us", "cure: share a row", "  at kernels/", "cannot say: ", "next: explain")]
            self.assertEqual(places, sorted(places))
            for view, words in (("kernel", "registers per thread"), ("phase", "softmax: 56.5 %"), ("finding", "serial-softmax"), ("source", ".cuh:")):
                content, text = await self.call(client, "report", {"recording": LADDER, "view": view, **one})
                self.assertIn(words, text)
                self.assertEqual(content["data"]["view"], view)
            content, _ = await self.call(client, "report", {"recording": LADDER, "view": "phase", "phase": "pv", **one})
            self.assertTrue(content["verdict"].startswith("pv takes 40.4 %"))
            content, text = await self.call(client, "report", {"recording": LADDER, "view": "kernel", "full": True, **one})
            self.assertGreater(len(content["data"]["metrics"]), 60)
            self.assertFalse(content["truncated"])
            content, _ = await self.call(client, "report", {"recording": "bundled:pytorch-sdpa"})
            self.assertTrue(content["data"]["recording"]["program"])
            content, _ = await self.call(client, "report", {"recording": "plain.fap", "view": "finding", "finding": "spills"})
            self.assertIn("no such finding here", content["verdict"])

    @run_async
    async def test_every_bundled_recording_is_read_in_every_view(self):
        async with connect("--root", SOURCE / "recordings") as client:
            names = [str(path.relative_to(SOURCE / "recordings")) for path in sorted((SOURCE / "recordings").rglob("*.fap"))]
            self.assertGreater(len(names), 15)
            for name in names:
                thorough = name in ("h100-hopper.fap", "h100-timeline.fap", "pytorch-sdpa.fap", "hopper/slip-one-stage.fap")
                views = ("summary", "kernel", "phase", "finding", "source") if thorough else ("summary",)
                for view in views:
                    content, _ = await self.call(client, "report", {"recording": name, "view": view})
                    self.assertNotEqual((content["data"], content["status"]), (None, "ok"), (name, view))

    @run_async
    async def test_what_cannot_be_known_is_named(self):
        async with connect("--root", SOURCE / "tests/data") as client:
            content, _ = await self.call(client, "report", {"recording": "bundled:pytorch-sdpa", "view": "source"}, status="cannot_say")
            self.assertIn("cannot say which lines", content["verdict"])
            content, _ = await self.call(client, "diff", {"before": LADDER, "after": "bundled:pytorch-sdpa"}, status="cannot_say")
            self.assertIn("GPU: NVIDIA H100", content["data"]["incomparable"][0])
            content, _ = await self.call(client, "report", {"recording": "bundled:pytorch-sdpa"})
            self.assertIn("this recording compared none", " ".join(content["cannot_say"]))
            await self.call(client, "report", {"recording": LADDER, "view": "phase", "phase": "none"}, error=True)
            content, _ = await self.call(client, "diff", {"before": "bundled:hopper/1-plain", "after": "bundled:hopper/2-overlap"}, status="ok")
            self.assertIn("12.0 % faster (194 us -> 171 us)", content["verdict"])
            self.assertIn("whether the difference is noise", " ".join(content["cannot_say"]))
            content, _ = await self.call(client, "diff", {"before": "bundled:hopper/2-overlap", "after": "bundled:hopper/1-plain"}, status="bad_news")
            self.assertIn("no-overlap", [finding["id"] for finding in content["data"]["new_findings"]])
            content, _ = await self.call(client, "report", {"recording": "bundled:h100-timeline", "view": "phase"}, status="cannot_say")
            self.assertIn("ncu_set", content["cure"]["text"])

    @run_async
    async def test_gate_lint_and_explain_need_no_gpu(self):
        async with connect("--root", SOURCE) as client:
            content, _ = await self.call(client, "gate", {"replay": "tests/data/gate/pair-ptxas-o1.json"}, status="bad_news")
            self.assertEqual((content["cure"]["file"], content["cure"]["line"]), ("kernels/rung2_scalar.cu", 79))
            self.assertEqual((content["numbers"][0]["error"], content["numbers"][0]["unit"]), ("95 %, 8 pairs", "ratio"))
            await self.call(client, "gate", {"replay": "tests/data/gate/pair-same-code.json"}, status="ok")
            sides = {"candidate": ["bundled:hopper/1-plain"], "baseline": ["bundled:hopper/8-sums"]}
            content, _ = await self.call(client, "gate", {**sides, "thresholds": "none"}, status="bad_news")
            self.assertEqual(content["data"]["verdict"], "REGRESSION")
            cubin = "tests/data/cubins/sm_90a.cubin"
            await self.call(client, "gate", {"base": cubin, "head": cubin, "static": True, "thresholds": "none"}, status="ok")
            content, _ = await self.call(client, "lint", {"files": ["tests/data/cubins/lint_sm_90a.cubin"]}, status="bad_news")
            self.assertRegex(content["cure"]["file"], "lint.cu$")
            await self.call(client, "lint", {"files": [cubin], "kernel": "reduce"}, status="ok")
            for name in ("serial-softmax", "spills", "waves", "short_scoreboard", "latency"):
                content, _ = await self.call(client, "explain", {"name": name}, status="ok")
                self.assertIn(name, content["verdict"])
            content, _ = await self.call(client, "explain", {"name": "serial-softmax", "recording": LADDER})
            self.assertIn("In this recording", content["data"]["text"])
            for arguments in ({}, {"base": cubin}, {"replay": "x.json", "candidate": ["y.fap"]}, {"candidate": ["none.fap"]}):
                await self.call(client, "gate", arguments, error=True)

    @run_async
    async def test_an_unknown_phase_is_named_with_those_there_are(self):
        async with connect("--root", self.root) as client:
            for view in ("phase", "source"):
                one = {"recording": LADDER, "kernel": "^mma$", "shape": "1,8,512,64"}
                content, text = await self.call(client, "report", {**one, "view": view, "phase": "none"}, error=True)
                self.assertIn("has no phase none", text)
                self.assertIn("softmax", content["cure"]["text"])

    @run_async
    async def test_the_gate_names_what_changed_and_by_what(self):
        sides = {"candidate": ["bundled:hopper/8-sums"], "baseline": ["bundled:hopper/1-plain"], "thresholds": "none"}
        async with connect("--root", self.root) as client:
            content, text = await self.call(client, "gate", sides, status="ok")
            self.assertEqual(content["data"]["verdict"], "IMPROVED")
            self.assertIn("duration_seconds, 194 us -> 140 us: relative change: -28.1 %", text)
            self.assertIn("no interval", content["cannot_say"][0])
            self.assertIn("another card", " ".join(content["cannot_say"]))
            content, text = await self.call(client, "gate", {**sides, "full": True})
            for number in content["numbers"]:
                self.assertRegex(number["name"], "relative change|as a share of the base's whole time")
        share = {"metric": "phase_time_ratio", "phase": "softmax", "unit": "ratio", "baseline": 0.529, "candidate": 0.674, "change": 0.0639,
                 "change_low": None, "change_high": None, "tier": 2, "pairs": 0, "verdict": "IMPROVED"}  # fmt: skip
        number = server_module("measuring")._gate_numbers({"comparisons": [share]}, None)[0]
        self.assertIn("52.9 % -> 67.4 %: change of its time, as a share of the base's whole time: 6.39 %", number.text())

    @run_async
    async def test_static_says_why_it_has_no_kernel_in_python(self):
        async with self.fake() as client:
            sides = {"base": "mine.py:kernel", "head": "mine.py:kernel", "thresholds": "none"}
            content, text = await self.call(client, "gate", {**sides, "static": True}, error=True)
            self.assertIn("none before it runs", text)
            self.assertIn("leave static out", content["cure"]["text"])
            await self.call(client, "gate", sides)

    def test_arguments_of_the_next_call_are_never_cut(self):
        reports, answers = server_module("reports"), server_module("answers")
        name = "k" + "<(x)>" * 700
        reading = reports.Reading({"device": {}, "entries": [{"kernel": one, "shape": None, "part": None} for one in (name, "k" + "<(y)>" * 700, "k")]}, "a.fap")
        chosen = reports.selected(reading, reading.entries[0])["kernel"]
        self.assertEqual([bool(re.search(chosen, entry["kernel"])) for entry in reading.entries], [True, False, False])
        self.assertLess(len(chosen), 500)
        for length in (700, 2000, 9000):
            arguments = {"kernel": "x" * length}
            answer = answers.Answer("v", details=["d" * 5000], next=[answers.Call("report", arguments, "why"), answers.Call("explain", {"name": "a"}, "why")])
            text, content = answer.rendered(full=False)
            self.assertEqual([call["arguments"] for call in content["next"]], [arguments, {"name": "a"}] if length < 2500 else [{"name": "a"}])
            self.assertEqual(content["truncated"], length > 2500)
            self.assertLessEqual(len(json.dumps(content)), 8192 + 64)
            for line in text.split("\n"):
                if line.startswith("next: report"):
                    self.assertIn(json.dumps(arguments), line)

    @run_async
    async def test_every_word_of_the_kernel_view_is_explained(self):
        asked = {}
        async with connect("--root", SOURCE / "recordings") as client:
            for name, kernel in (("h100-ladder-full.fap", "^wmma$"), ("h100-hopper.fap", "."), ("pytorch-sdpa.fap", ".")):
                content, text = await self.call(client, "report", {"recording": name, "view": "kernel", "kernel": kernel})
                _, _, details = text.partition("\n\n")
                words = [finding["id"] for finding in content["data"]["entry"]["findings"]]
                words += [stall["reason"] for stall in content["data"]["stalls"]] + re.findall(r"[a-z]+(?:_[a-z]+)+(?= [\d.]+ %)", text)
                words += [metric["name"] for metric in content["data"]["metrics"]] + re.findall(r"^  ([^:]+): ", details, re.MULTILINE)
                words += [content["data"]["entry"]["bound_by"]] if content["data"]["entry"]["bound_by"] else []
                words += [word for found in re.findall(r"limited by (.*)", details) for word in found.split(" and ")]
                asked.update(dict.fromkeys(words))
            self.assertGreater(len(asked), 50)
            report = subprocess.run([PROGRAM, "report", SOURCE / "recordings/hopper/1-plain.fap", "--format", "json"], capture_output=True, check=True, timeout=LONG)
            listed = subprocess.run([PROGRAM, "list", "findings"], capture_output=True, text=True, check=True, timeout=LONG)
            findings = {line.split()[0] for line in listed.stdout.splitlines()}
            known = server_module("words").vocabulary(json.loads(report.stdout))
            self.assertEqual([word for word in asked if word not in findings and word.lower() not in known], [])
            for name, word in known.items():
                self.assertGreater(len(word.text), 15, name)
            for word in ("SMs active", "XU pipe", "compute throughput", "mio_throttle", "shared memory", "latency", "phase_barriers", "(unattributed)"):
                content, _ = await self.call(client, "explain", {"name": word, "recording": "hopper/1-plain.fap"}, status="ok")
                self.assertIn(word.lower(), content["data"]["text"].lower())
            content, _ = await self.call(client, "explain", {"name": "MIO_throttle", "recording": "h100-ladder-full.fap"})
            self.assertEqual((content["data"]["kind"], content["cure"]["finding"]), ("stall reason", "bottleneck-phase"))
            self.assertIn("wider accesses, ldmatrix", content["cure"]["text"])
            self.assertEqual(content["numbers"][0]["unit"], "ratio")
            content, _ = await self.call(client, "explain", {"name": "bottleneck-phase", "recording": "h100-ladder-full.fap"})
            self.assertNotIn("it depends", content["cure"]["text"])

    @run_async
    async def test_without_a_gpu_the_answer_names_what_works(self):
        async with connect("--root", self.root, variables={"CUDA_VISIBLE_DEVICES": ""}) as client:
            content, _ = await self.call(client, "doctor", {}, status="bad_news")
            self.assertFalse(content["data"]["can_measure"])
            content, _ = await self.call(client, "doctor", {"file": "plain.fap"}, status="bad_news")
            self.assertIsNone(content["data"]["can_measure"])
            self.assertIn("plain.fap", content["verdict"])
            content, _ = await self.call(client, "list_kernels", {})
            self.assertEqual(content["data"]["recordings"], ["plain.fap"])
            self.assertIn(LADDER, content["data"]["bundled"])
            for name, arguments in (("verify", {"kernel": "mma"}), ("measure", {"kernel": "mma"}), ("profile_program", {"command": ["program"]})):
                content, text = await self.call(client, name, arguments, error=True)
                self.assertIn("needs a GPU", text)
                self.assertIn("bundled" if "bundled" in text else "recordings", content["cure"]["text"])
            self.assertEqual(sorted(path.name for path in self.root.glob("*.fap")), ["plain.fap"])

    def test_a_number_that_is_none_is_refused(self):
        tools, errors = server_module("tools"), server_module("errors")
        with self.assertRaisesRegex(errors.ToolError, "NaN and Infinity"):
            tools.check_arguments(tools.TOOLS["verify"], {"kernel": "mma", "timeout_s": float("nan")})

    def test_a_whole_number_may_be_written_with_a_point(self):
        tools = server_module("tools")
        self.assertEqual(repr(tools.check_arguments(tools.TOOLS["lint"], {"files": ["a"], "threads": 128.0})["threads"]), "128")

    def test_cures_are_in_the_words_of_the_tools(self):
        work, jobs = server_module("work"), server_module("jobs")
        error = work._error_of(jobs.Finished(2, "", "fa-profile: error: --kernel-lib x.so failed\n  hint: give --shape=N, --force, or --kernel-libs\n"))
        self.assertEqual((error.message, error.cure), ("kernel_lib x.so failed", "give shape=N, overwrite=true, or --kernel-libs"))

    @run_async
    async def test_arguments_are_checked_against_the_schema(self):
        async with connect("--root", self.root) as client:
            for name, arguments, words in (
                ("report", {}, "'recording' is a required property"),
                ("report", {"recording": 5}, "5 is not of type 'string'"),
                ("report", {"recording": "plain.fap", "view": "all"}, "'all' is not one of"),
                ("report", {"recording": "plain.fap", "verbose": True}, "Additional properties"),
                ("explain", {"name": ""}, "''"),
                ("explain", {"name": "none"}, "nothing has the name 'none'"),
                ("profile_program", {"command": "rm -rf /"}, "is not of type 'array'"),
                ("verify", {"draws": 0}, "0 is less than the minimum"),
                ("lint", {}, "nothing to lint"),
                ("report", {"recording": "plain.fap", "kernel": "--output=x.html"}, "no kernel matches '--output=x.html'"),
                ("receipt", {"action": "make", "path": "x.json"}, "give kernel_lib"),
                ("receipt", {"action": "check", "path": "x.json"}, "x.json"),
                ("report", {"recording": "bundled:none"}, "bundled:h100-ladder-full"),
            ):
                _, text = await self.call(client, name, arguments, error=True)
                self.assertIn(words, text)


class SafetyTest(Door):
    @run_async
    async def test_paths_outside_the_roots_are_refused(self):
        secret = self.folder / "secret.fap"
        shutil.copyfile(self.root / "plain.fap", secret)
        (self.root / "link.fap").symlink_to(secret)
        (self.root / "away").symlink_to(self.folder)
        os.mkfifo(self.root / "pipe.fap")
        (self.root / "loop.fap").symlink_to("loop.fap")
        async with self.fake() as client:
            for path in ("../secret.fap", str(secret), "link.fap", "away/secret.fap", "sub/../../secret.fap", "//etc/passwd"):
                for name, arguments in (
                    ("report", {"recording": path}),
                    ("diff", {"before": "plain.fap", "after": path}),
                    ("gate", {"candidate": [path], "thresholds": "none"}),
                    ("gate", {"replay": path}),
                    ("gate", {"replay": "plain.fap", "thresholds": path}),
                    ("gate", {"base": "old.so", "head": path}),
                    ("lint", {"files": [path]}),
                    ("doctor", {"file": path}),
                    ("explain", {"name": "spills", "recording": path}),
                    ("verify", {"kernel_lib": path}),
                    ("verify", {"kernel_py": f"{path}:kernel"}),
                    ("measure", {"kernel_lib": "mine.so", "output": path}),
                    ("measure", {"kernel_lib": "mine.so", "phase_map": path}),
                    ("profile_program", {"command": [path]}),
                    ("profile_program", {"command": ["python3", path]}),
                    ("profile_program", {"command": ["program"], "folder": path}),
                    ("receipt", {"action": "check", "path": path, "kernel_lib": "mine.so"}),
                ):
                    if (name, arguments.get("recording")) == ("explain", path):
                        arguments = {"name": "serial-softmax", "recording": path}
                    _, text = await self.call(client, name, arguments, error=True)
                    self.assertIn("outside the roots", text, (name, arguments))
            for path in ("pipe.fap", "loop.fap", ".", "", "a\0b", "none.fap", "x" * 5000):
                await self.call(client, "report", {"recording": path}, error=True)
            for words in (["python3", "-c", "print()"], ["python3"], ["sh", "-c", "true"], ["mine.py"]):
                await self.call(client, "profile_program", {"command": words}, error=True)
        self.assertFalse((self.folder / "x.fap").exists())

    @run_async
    async def test_roots_of_the_client_only_narrow(self):
        (self.root / "inner").mkdir()
        shutil.copyfile(self.root / "plain.fap", self.root / "inner/inner.fap")

        def roots(*folders):
            async def listed(_):
                return types.ListRootsResult(roots=[types.Root(uri=f"file://{folder}") for folder in folders])

            return listed

        async with self.fake(mode="legacy", list_roots_callback=roots(self.root / "inner")) as client:
            await self.call(client, "report", {"recording": "inner.fap"})
            await self.call(client, "report", {"recording": str(self.root / "plain.fap")}, error=True)
        async with self.fake(mode="legacy", list_roots_callback=roots("/")) as client:
            await self.call(client, "report", {"recording": "plain.fap"})
            await self.call(client, "report", {"recording": str(SOURCE / "recordings/pytorch-sdpa.fap")}, error=True)
        async with self.fake(mode="legacy", list_roots_callback=roots("/etc")) as client:
            _, text = await self.call(client, "report", {"recording": "plain.fap"}, error=True)
            self.assertIn("no folder in common", text)

    @run_async
    async def test_files_are_replaced_only_when_asked(self):
        async with self.fake() as client:
            before = (self.root / "plain.fap").read_bytes()
            _, text = await self.call(client, "measure", {"kernel_lib": "mine.so", "output": "plain.fap"}, error=True)
            self.assertIn("exists", text)
            await self.call(client, "measure", {"kernel_lib": "mine.so", "output": "mine.py"}, error=True)
            await self.call(client, "measure", {"kernel_lib": "mine.so", "output": "none/x.fap"}, error=True)
            self.assertEqual((self.root / "plain.fap").read_bytes(), before)
            content, _ = await self.call(client, "measure", {"kernel_lib": "mine.so"})
            self.assertTrue((self.root / content["data"]["written"]).is_file())
            again, _ = await self.call(client, "measure", {"kernel_lib": "mine.so"})
            self.assertNotEqual(content["data"]["written"], again["data"]["written"])
            receipt = {"action": "make", "path": "mine.json", "kernel_lib": "mine.so"}
            await self.call(client, "receipt", receipt)
            await self.call(client, "receipt", receipt, error=True)
            await self.call(client, "receipt", {**receipt, "overwrite": True})
            await self.call(client, "gate", {"base": "old.so", "head": "mine.so", "save": "mine.json"}, error=True)

    @run_async
    async def test_time_memory_and_output_are_limited(self):
        for mode, options, words in (
            ("hang", ["--max-seconds", 1], "took longer than 1 s"),
            ("flood", [], "printed more than 64 MiB"),
            ("memory", ["--max-memory-gib", 0.25], "GiB of memory, more than the limit of 0.25 GiB"),
            ("crash", [], "exit code -11"),
            ("silent", [], "wrote no recording"),
            ("error", [], "define FaProfileKernel()"),
        ):
            async with self.fake(*options, fake_mode=mode) as client:
                _, text = await self.call(client, "measure", {"kernel_lib": "mine.so"}, error=True)
                self.assertIn(words, text)
                await self.call(client, "report", {"recording": "plain.fap"})
        pids = (self.folder / "pids.txt").read_text(encoding="utf-8").split()
        wait_for("the programs to end", lambda: not any(alive(pid) for pid in pids))


class MeasuringTest(Door):
    @run_async
    async def test_a_kernel_is_verified_measured_and_proved(self):
        mine = {"kernel_lib": "mine.so", "shape": "rows=4096,cols=1024"}
        async with self.fake() as client:
            await self.call(client, "doctor", {}, status="ok")
            content, _ = await self.call(client, "verify", mine, status="ok")
            self.assertIn("certified", content["verdict"])
            self.assertEqual([number["unit"] for number in content["numbers"]], ["seconds", "calls", "ratio"])
            self.assertEqual((content["numbers"][0]["low"], content["numbers"][0]["high"]), (1.14e-05, 1.16e-05))
            content, _ = await self.call(client, "verify", {"kernel": "mma"}, status="ok")
            self.assertIn("whether a time is real", " ".join(content["cannot_say"]))
            await self.call(client, "verify", {"kernel_py": "mine.py:kernel"}, status="ok")
            content, text = await self.call(client, "measure", {**mine, "output": "before.fap"}, status="ok")
            self.assertEqual(content["data"]["written"], "before.fap")
            self.assertIn("wrote before.fap", text)
            await self.call(client, "measure", {**mine, "output": "after.fap"}, status="ok")
            content, _ = await self.call(client, "diff", {"before": "before.fap", "after": "after.fap"}, status="ok")
            self.assertIn("12.0 % faster", content["verdict"])
            content, _ = await self.call(client, "gate", {"base": "old.so", "head": "mine.so"}, status="bad_news")
            content, _ = await self.call(client, "receipt", {"action": "make", "path": "mine.json", **mine}, status="ok")
            self.assertEqual(json.loads((self.root / "mine.json").read_text(encoding="utf-8"))["format"], "fa-profile receipt")
            content, _ = await self.call(client, "receipt", {"action": "check", "path": "mine.json", "kernel_lib": "mine.so"}, status="ok")
            self.assertEqual(content["data"]["compared"][0]["result"], "agrees")
            content, _ = await self.call(client, "profile_program", {"command": ["python3", "mine.py"]})
            self.assertIn("the GPU is busy 58.3 %", content["verdict"])

    @run_async
    async def test_bad_news_are_not_errors(self):
        mine = {"kernel_lib": "mine.so"}
        for mode, status, words in (("wrong", "bad_news", "wrong: 12 of 3000"), ("refused", "bad_news", "refused: a timed"), ("unclear", "cannot_say", "another process")):
            async with self.fake(fake_mode=mode) as client:
                content, text = await self.call(client, "verify", mine, status=status)
                self.assertIn(words, text)
                self.assertNotIn("measure", [following["tool"] for following in content["next"]])
                if mode == "wrong":
                    (self.root / "r.json").write_text("{}", encoding="utf-8")
                    content, _ = await self.call(client, "receipt", {"action": "check", "path": "r.json", **mine}, status="bad_news")
                    self.assertIn("DIFFERS", content["verdict"])
                if mode == "refused":
                    self.assertIn("not that of the verified work", content["cure"]["text"])
                    content, text = await self.call(client, "measure", mine, status="bad_news")
                    self.assertIn("exit code 1", text)
                    self.assertIn("do not use its time", content["cure"]["text"])
                    self.assertIsNone(content["cure"]["finding"])
                    self.assertIn("verify", [following["tool"] for following in content["next"]])

    @run_async
    async def test_a_recording_of_a_refused_kernel_has_no_advice_on_speed(self):
        reports = server_module("reports")
        entry = {"verification": None, "judgement": {"verdict": "refused", "reason": "r"}, "not_as_certified": None}
        cure = await reports.cure_of(None, None, entry, {"id": "exponentials-again", "phase": "softmax", "cure": "compute fewer exp2"})
        self.assertIn("not that of the verified work", cure.text)
        cure = await reports.cure_of(None, None, {**entry, "judgement": {"verdict": "wrong", "reason": "r"}}, None)
        self.assertIn("correct the results", cure.text)

    @run_async
    async def test_two_recordings_of_one_second_have_two_names(self):
        names = []

        async def measure(client):
            names.append((await client.call_tool("measure", {"kernel_lib": "mine.so"})).structured_content["data"]["written"])

        async with self.fake() as client, anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(measure, client)
        self.assertEqual(len(set(names)), 3)


class CancellingTest(Door):
    def pids(self, count=1):
        """Process ids of the programs that hang, once `count` of them do."""

        def read():
            lines = (self.folder / "pids.txt").read_text(encoding="utf-8").splitlines()
            return [pid for line in lines for pid in line.split()] if len(lines) >= count else None

        return wait_for("the program to start", read)

    @run_async
    async def test_a_cancelled_job_ends_with_its_children(self):
        for mode in ("auto", "legacy"):
            (self.folder / "pids.txt").unlink(missing_ok=True)
            told = []

            async def progress(seconds, total, message, told=told):
                told.append((seconds, message))

            async with self.fake(fake_mode="hang", mode=mode) as client:
                async with anyio.create_task_group() as group:
                    group.start_soon(lambda client=client: client.call_tool("measure", {"kernel_lib": "mine.so"}, progress_callback=progress))
                    pids = await anyio.to_thread.run_sync(self.pids)
                    while not told:
                        await anyio.sleep(0.05)
                    self.assertTrue(all(alive(pid) for pid in pids))
                    group.cancel_scope.cancel()
                await anyio.to_thread.run_sync(lambda: wait_for("the job to end", lambda: not any(alive(pid) for pid in pids)))
                self.assertRegex(told[0][1], r"running for \d+ s of at most")
                await self.call(client, "report", {"recording": "plain.fap"})

    @run_async
    async def test_what_left_the_session_of_a_program_ends_with_the_call(self):
        jobs, errors = server_module("jobs"), server_module("errors")
        left = self.folder / "left.txt"

        async def progress(seconds, message):
            pass

        async def run(command):
            left.unlink(missing_ok=True)
            with anyio.fail_after(LONG):
                await jobs.run(["sh", "-c", command], folder=self.folder, limits=jobs.Limits(), seconds=2, progress=progress)

        # Its parent has gone; its parent is there and the environment is not.
        await run("setsid sh -c 'echo $$ >left.txt; exec sleep 3600' >/dev/null 2>&1 & while ! [ -s left.txt ]; do sleep 0.05; done")
        self.assertFalse(alive(left.read_text(encoding="utf-8").strip()))
        with self.assertRaisesRegex(errors.ToolError, "took longer than 2 s"):
            await run("env -i setsid sh -c 'echo $$ >left.txt; exec sleep 3600' & sleep 3600")
        self.assertFalse(alive(left.read_text(encoding="utf-8").strip()))

    @run_async
    async def test_one_job_has_the_gpu_and_others_report_that_they_wait(self):
        told = []

        async def progress(seconds, total, message):
            told.append(message)

        async with self.fake(fake_mode="hang") as first, self.fake() as second:
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: first.call_tool("measure", {"kernel_lib": "mine.so"}))
                await anyio.to_thread.run_sync(self.pids)
                async with anyio.create_task_group() as waiting:
                    waiting.start_soon(lambda: second.call_tool("verify", {"kernel_lib": "mine.so"}, progress_callback=progress))
                    while not told:
                        await anyio.sleep(0.05)
                    self.assertIn("waiting for the GPU", told[0])
                    await self.call(second, "report", {"recording": "plain.fap"})  # needs no GPU
                    told.clear()
                    waiting.start_soon(lambda: second.call_tool("list_kernels", {"kernel_lib": "mine.so"}, progress_callback=progress))
                    while not any("waiting for the GPU" in message for message in told):
                        await anyio.sleep(0.05)
                    waiting.cancel_scope.cancel()
                group.cancel_scope.cancel()
            await self.call(second, "verify", {"kernel_lib": "mine.so"}, status="ok")

    def start_hanging(self):
        """A server without a client of the SDK, whose program hangs."""
        server = subprocess.Popen(command("--root", self.root, fake=True), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  env=environment(**self.variables, FAKE_MODE="hang"), cwd=SOURCE)  # fmt: skip
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.kill)
        for message in (*HANDSHAKE, request(2, "tools/call", name="measure", arguments={"kernel_lib": "mine.so"})):
            server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.flush()
        return server, self.pids()

    def test_a_client_that_goes_away_ends_the_server_and_its_children(self):
        server, pids = self.start_hanging()
        server.stdin.close()
        self.assertEqual(server.wait(LONG), 0)
        wait_for("the job to end", lambda: not any(alive(pid) for pid in pids))

    def test_signals_end_the_server_and_its_children(self):
        server, pids = self.start_hanging()
        with contextlib.closing(server.stdin):
            server.send_signal(signal.SIGTERM)
            self.assertEqual(server.wait(LONG), 128 + signal.SIGTERM)
            wait_for("the job to end", lambda: not any(alive(pid) for pid in pids))

    def test_a_killed_server_takes_its_program_along(self):
        server, pids = self.start_hanging()
        with contextlib.closing(server.stdin):
            server.kill()
            server.wait(LONG)
            wait_for("the program to end", lambda: not alive(pids[0]))
            os.kill(int(pids[1]), signal.SIGKILL)  # what the program itself started, and fa-profile would end


def request(number, method, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


HANDSHAKE = (
    request(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"}),
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)


def malformed(random_numbers):
    """Lines that are not requests, or requests that nothing can answer well."""
    values = [None, True, 0, -1, 1e308, 10**400, "", "x", "\0", "\ud800", [], [1], {}, {"a": {}}, "x" * 2000]
    names = [*TOOLS, "tools/call", "rm", "", "__class__", "a" * 300]
    methods = ["tools/call", "tools/list", "resources/read", "prompts/get", "initialize", "ping", "completion/complete", "x", "", "notifications/cancelled"]

    def one():
        kind = random_numbers.randrange(12)
        value = random_numbers.choice(values)
        method = random_numbers.choice(methods)
        number = random_numbers.randrange(100, 10**6)
        if kind == 0:
            return bytes(random_numbers.randrange(256) for _ in range(random_numbers.randrange(1, 200))).replace(b"\n", b" ")
        if kind == 1:
            return b"[" * random_numbers.choice([1, 2, 100_000])
        if kind == 2:
            return json.dumps({"jsonrpc": value, "id": number, "method": method}).encode()
        if kind == 3:
            return json.dumps({"jsonrpc": "2.0", "id": value, "method": method, "params": {}}).encode()
        if kind == 4:
            return json.dumps({"jsonrpc": "2.0", "id": number, "method": value, "params": {}}).encode()
        if kind == 5:
            return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": value}).encode()
        if kind == 6:
            return json.dumps(request(number, "tools/call", name=random_numbers.choice(names), arguments=value)).encode()
        if kind == 7:
            return json.dumps(request(number, "tools/call", name=value, arguments={})).encode()
        if kind == 8:
            whole = json.dumps(request(number, "tools/call", name="report", arguments={"recording": "plain.fap"})).encode()
            return whole[: random_numbers.randrange(1, len(whole))]
        if kind == 9:
            arguments = {random_numbers.choice(["recording", "full", "view", "kernel"]): value}
            return json.dumps(request(number, "tools/call", name="report", arguments=arguments)).encode()
        if kind == 10:
            return json.dumps([request(number, method)] * 3).encode()
        return json.dumps(request(number, random_numbers.choice(["resources/read", "prompts/get"]), uri=value, name=value)).encode()

    return one


class RobustnessTest(Door):
    def test_it_still_answers_after_2000_malformed_requests(self):
        make = malformed(random.Random(39))
        log = open(self.folder / "log.txt", "wb")
        self.addCleanup(log.close)
        server = subprocess.Popen(command("--root", self.root), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                  env=environment(**self.variables), cwd=SOURCE)  # fmt: skip
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.kill)
        answers, texts = {}, []

        def read():
            for line in server.stdout:
                answer = json.loads(line)  # nothing but messages
                texts.append(line)
                self.assertEqual(answer["jsonrpc"], "2.0")
                if isinstance(answer.get("id"), int):
                    answers[answer["id"]] = answer

        reader = threading.Thread(target=read)
        reader.start()

        def send(line):
            server.stdin.write(line + b"\n")
            server.stdin.flush()

        for message in HANDSHAKE:
            send(json.dumps(message).encode())
        for _ in range(MALFORMED):
            send(make())
        send(b'{"jsonrpc": "2.0", "id": 7, "method": "' + b"x" * (9 << 20) + b'"}')
        send(json.dumps(request(8, "tools/call", name="report", arguments={"recording": "plain.fap"})).encode())
        wait_for("the answer after them", lambda: answers.get(8))
        self.assertIn("hopper_64", json.dumps(answers[8]["result"]))
        self.assertNotIn(7, answers)
        everything = b"".join(texts)
        self.assertIn(b"the line is not JSON", everything)
        self.assertIn(b"longer than 4 MiB", everything)
        self.assertNotIn(b"Traceback", everything)
        server.stdin.close()
        self.assertEqual(server.wait(LONG), 0)
        reader.join(LONG)


class StartTest(Door):
    def refused(self, *options, words, fake=False, **variables):
        end = subprocess.run(command(*options, fake=fake), env=environment(**variables), cwd=SOURCE, capture_output=True, text=True, timeout=LONG,
                             stdin=subprocess.DEVNULL, check=False)  # fmt: skip
        self.assertEqual(end.returncode, 2, end.stderr)
        self.assertIn(words, end.stderr)
        self.assertIn("hint: ", end.stderr)
        self.assertNotIn("Traceback", end.stderr)
        self.assertEqual(end.stdout, "")

    def test_one_error_names_the_cure(self):
        (self.folder / "open.txt").write_text("x" * 40, encoding="utf-8")
        (self.folder / "short.txt").write_text("x", encoding="utf-8")
        (self.folder / "open.txt").chmod(0o644)
        (self.folder / "short.txt").chmod(0o600)
        self.refused(words="the Python package mcp, version 2, cannot be loaded", FA_PROFILE_MCP_PACKAGES="", FA_PROFILE_MCP_PYTHON=self.bare_python())
        self.refused(words="none/python cannot be started", FA_PROFILE_MCP_PYTHON="none/python")
        self.refused("--root", self.folder / "none", words="is not a folder")
        self.refused("--http", 99999, words="65535")
        self.refused("--token-file", self.folder / "open.txt", words="without --http")
        self.refused("--http", 0, "--token-file", self.folder / "open.txt", words="others can read")
        self.refused("--http", 0, "--token-file", self.folder / "short.txt", words="shorter than 16")
        self.refused("--http", 0, "--token-file", self.folder / "none", words="cannot be read")
        self.refused("--max-seconds", 0, words="max-seconds")
        program = self.folder / "other"
        program.write_text("#!/bin/sh\necho other 1\n", encoding="utf-8")
        program.chmod(0o755)
        self.refused("--program", program, fake=True, words="is not fa-profile")
        self.refused("--program", self.folder / "none", fake=True, words="was not found")

    def bare_python(self):
        """A Python that finds the standard library alone."""
        script = self.folder / "python"
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n', encoding="utf-8")
        script.chmod(0o755)
        return script


class HttpTest(Door):
    def start(self, *options, fake=False, **variables):
        server = subprocess.Popen(command("--root", self.root, "--http", 0, *options, fake=fake), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  env=environment(**self.variables, **variables), cwd=SOURCE)  # fmt: skip
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait, LONG)
        self.addCleanup(server.kill)
        token = None if options else server.stderr.readline().split()[-1]
        port = int(re.search(r"http://127\.0\.0\.1:(\d+)/mcp", server.stderr.readline())[1])
        return server, port, token

    def post(self, port, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG)
        with contextlib.closing(connection):
            body = json.dumps(HANDSHAKE[0])
            given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **{k.replace("_", "-"): v for k, v in headers.items()}}
            connection.request("POST", "/mcp", body, {name: value for name, value in given.items() if value is not None})
            return connection.getresponse().status

    def test_a_client_that_goes_away_ends_its_work(self):
        _, port, token = self.start(fake=True, FAKE_MODE="hang")
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

        def post(message):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG)
            self.addCleanup(connection.close)
            connection.request("POST", "/mcp", json.dumps(message), headers)
            return connection

        headers["Mcp-Session-Id"] = post(HANDSHAKE[0]).getresponse().getheader("Mcp-Session-Id")
        post(HANDSHAKE[1]).getresponse().read()
        asked = post(request(2, "tools/call", name="measure", arguments={"kernel_lib": "mine.so"}))
        file = self.folder / "pids.txt"
        pids = wait_for("the program to start", lambda: file.exists() and file.read_text(encoding="utf-8").split())
        self.assertTrue(all(alive(pid) for pid in pids))
        asked.sock.shutdown(socket.SHUT_RDWR)
        asked.close()
        wait_for("the job to end", lambda: not any(alive(pid) for pid in pids))
        listed = post(request(3, "tools/list")).getresponse()  # the session lives
        self.assertEqual(listed.status, 200)
        self.assertIn(b"list_kernels", listed.read())

    def test_it_needs_the_token_and_a_loopback_host(self):
        server, port, token = self.start()
        right = {"Authorization": f"Bearer {token}"}

        def answers():
            return self.post(port, **right)

        self.assertEqual(wait_for("the server", answers), 200)
        for wrong in ({}, {"Authorization": "Bearer"}, {"Authorization": f"Bearer {token}x"}, {"Authorization": f"Basic {token}"}, {"Authorization": token}):
            self.assertEqual(self.post(port, **wrong), 401, wrong)
        self.assertEqual(self.post(port, **right, Host="attacker.example"), 421)
        self.assertEqual(self.post(port, **right, Host=f"localhost:{port}"), 200)
        self.assertEqual(self.post(port, **right, Origin="http://attacker.example"), 403)
        self.assertEqual(self.post(port, **right, Origin=f"http://127.0.0.1:{port}"), 200)
        listening = pathlib.Path("/proc/net/tcp").read_text(encoding="utf-8")
        self.assertRegex(listening, f"0100007F:{port:04X} 00000000:0000 0A")  # on 127.0.0.1 alone
        server.send_signal(signal.SIGTERM)
        server.wait(LONG)

    @run_async
    async def test_the_official_client_reads_a_recording(self):
        file = self.folder / "token.txt"
        file.write_text("0123456789abcdef0123456789abcdef\n", encoding="utf-8")
        file.chmod(0o600)
        _, port, _ = self.start("--token-file", file)
        async with httpx2.AsyncClient(headers={"Authorization": "Bearer 0123456789abcdef0123456789abcdef"}, timeout=LONG) as web:
            for mode in ("auto", "legacy"):
                async with Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=web), mode=mode) as client:
                    content, _ = await self.call(client, "report", {"recording": "plain.fap"})
                    self.assertIn("hopper_64", content["verdict"])


class SkillTest(Door):
    TEXT = (SOURCE / "skills/fa-profile/SKILL.md").read_text(encoding="utf-8")

    def blocks(self, language):
        found = re.findall(rf"^ *```{language}\n(.*?)^ *```", self.TEXT, re.MULTILINE | re.DOTALL)
        return [line.strip() for block in found for line in block.splitlines() if line.strip()]

    @run_async
    async def test_each_call_of_the_skill_works(self):
        calls = [line.split(" ", 1) for line in self.blocks("mcp")]
        self.assertEqual(sorted({name for name, _ in calls}), sorted(set(TOOLS) - {"lint", "profile_program"}))
        async with self.fake() as client:
            for name, arguments in calls:
                await self.call(client, name, json.loads(arguments))
        for name in TOOLS:
            self.assertIn(f"`{name}`", self.TEXT)

    def test_each_command_of_the_skill_works(self):
        shutil.copyfile(SOURCE / "recordings/hopper/1-plain.fap", self.root / "before.fap")
        shutil.copyfile(SOURCE / "recordings/hopper/2-overlap.fap", self.root / "after.fap")
        shutil.copyfile(SOURCE / "tests/data/cubins/sm_90a.cubin", self.root / "mine.cubin")
        commands = self.blocks("sh")
        self.assertGreater(len(commands), 10)
        on_gpu = ("verify", "--kernel-lib", "gate --pair", "receipt check", "-o program.fap")
        for line in commands:
            words = line.split()
            self.assertEqual(words[0], "fa-profile", line)
            if words[1:3] == ["--kernel-lib", "mine.so"]:
                self.assertIn("-o", words)
                (self.root / "before.fap").rename(self.root / "kept.fap")
            needs_gpu = any(line.startswith(f"fa-profile {start}") for start in on_gpu)
            end = subprocess.run([PROGRAM, *words[1:]], cwd=self.root, capture_output=True, text=True, timeout=LONG, check=False,
                                 env=environment(CUDA_VISIBLE_DEVICES=""), stdin=subprocess.DEVNULL)  # fmt: skip
            if (self.root / "kept.fap").exists():
                (self.root / "kept.fap").rename(self.root / "before.fap")
            if line == "fa-profile doctor":
                self.assertIn("GPU", end.stdout)
            elif needs_gpu:  # its options are known, and it fails later
                self.assertNotRegex(end.stderr, "unknown|has no (command|option)|did you mean|takes no", line)
                self.assertEqual(end.returncode, 2, line)
            else:
                self.assertEqual(end.returncode, 0, f"{line}: {end.stderr}")

    def test_new_skill_writes_it_into_a_repository(self):
        made = subprocess.run([PROGRAM, "new", "skill", self.root], capture_output=True, text=True, timeout=LONG, check=True)
        self.assertEqual((self.root / "skills/fa-profile/SKILL.md").read_text(encoding="utf-8"), self.TEXT)
        self.assertIn("fa-profile mcp --root ", made.stdout)
        for folder, words in ((self.root, "is not empty"), (self.root / "none", "is not a folder"), (self.root / "mine.py", "is not a folder")):
            end = subprocess.run([PROGRAM, "new", "skill", folder], capture_output=True, text=True, timeout=LONG, check=False)
            self.assertEqual(end.returncode, 2)
            self.assertIn(words, end.stderr)
            self.assertIn("hint: ", end.stderr)

    def test_it_has_the_form_that_agents_read(self):
        head = re.match(r"---\nname: fa-profile\ndescription: >-\n((?:  .*\n)+)---\n", self.TEXT)
        self.assertTrue(head and len(head[1]) < 1024)
        self.assertIn("skills/fa-profile/SKILL.md", (SOURCE / "AGENTS.md").read_text(encoding="utf-8"))


class WalkTest(Door):
    """bench/agent_walk.py: the scripted agent, on recorded measurements and on recorded conversations."""

    def walk(self, *options, code=0, **variables):
        end = subprocess.run([sys.executable, "-B", SOURCE / "bench/agent_walk.py", *options], env=environment(**self.variables, **variables), cwd=SOURCE,
                             capture_output=True, text=True, timeout=LONG, check=False)  # fmt: skip
        self.assertEqual(end.returncode, code, end.stdout + end.stderr)
        return end.stdout if code == 0 else end.stderr

    def test_findings_alone_lead_to_a_kernel_ten_times_as_fast(self):
        file = self.folder / "walk.jsonl"
        said = self.walk("--program", PROGRAM, "--root", self.root, "--from-recording", LADDER, "--out", file)
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        self.assertGreater(lines[-1]["gain"], 10)
        self.assertEqual((lines[-1]["start"], lines[-1]["end"]), ("serial_softmax", "hopper"))
        first = next(line for line in lines if "step" in line)
        self.assertEqual((first["finding"], first["to"], first["kept"]), ("serial-softmax", "wmma", True))
        self.assertEqual(self.walk("--replay", file), said)
        self.assertEqual([path.name for path in self.folder.glob("*.part")], [])

    def test_a_second_walk_follows_rules_of_nsight_compute(self):
        file = self.folder / "walk.jsonl"
        options = ["--program", PROGRAM, "--root", self.root, "--from-recording", LADDER, "--ncu", SOURCE / "tests/support/fake_ncu.py"]
        said = self.walk(*options, "--out", file)
        self.assertRegex(said, r"(?s)Along the findings of fa-profile:.*Along the rules of Nsight Compute:.*cannot be mapped: HighPipeUtilization")
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        steps = [(line["finding"], line["to"]) for line in lines if line.get("walk") == "ncu" and "step" in line]
        self.assertEqual(steps, [("CPIStall (global)", "wmma"), ("SharedMemoryConflicts (global)", "mma"), ("CPIStall (global)", "hopper")])
        self.assertEqual(self.walk("--replay", file), said)
        forbidden = self.walk(*options, "--out", file, FAKE_NCU="fails")
        self.assertRegex(forbidden, r"Along the rules of Nsight Compute:\nNsight Compute printed no rules of serial_softmax: .*ERR_NVGPUCTRPERM")

    def test_without_a_gpu_it_ends_with_one_error(self):
        said = self.walk("--program", PROGRAM, "--root", self.root, "--out", self.folder / "walk.jsonl", code=1, CUDA_VISIBLE_DEVICES="")
        self.assertIn("serial_softmax cannot be measured: error: this needs a GPU", said)
        self.assertNotIn("Traceback", said)
        self.assertIn('"call": "verify"', (self.folder / "walk.jsonl.part").read_text(encoding="utf-8"))

    def test_the_bundled_conversation_is_followed_again(self):
        file = SOURCE / "tests/data/agent_walk.jsonl"
        self.assertRegex(self.walk("--replay", file), r"\d+\.\d times as fast: serial_softmax -> ")
        lines = file.read_text(encoding="utf-8").splitlines()
        self.assertGreater(json.loads(lines[-1])["gain"], 10)
        other = self.folder / "other.jsonl"
        other.write_text("\n".join(lines).replace('"id": "serial-softmax"', '"id": "small-grid"', 1), encoding="utf-8")
        self.assertIn("recorded", self.walk("--replay", other, code=1))


if __name__ == "__main__":
    unittest.main()
