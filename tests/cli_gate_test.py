"""fa-profile gate, whole: the program on runs that were kept from a GPU, and on bad input. Arguments: program, source root.

What is judged how is tested with the judge (judge_test and its likes); here that the program asks it the right question.
"""

import gzip
import io
import json
import pathlib
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

from support.recordings import LADDER

PROGRAM, ROOT = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
DATA = ROOT / "tests" / "data" / "gate"
SAME, WORSE = DATA / "pair-same-code.json", DATA / "pair-ptxas-o1.json"


def run(*arguments, cwd=None):
    # Outside the repository: no ci/thresholds.yaml that happens to be there.
    result = subprocess.run([PROGRAM, "gate", *map(str, arguments)], capture_output=True, text=True, cwd=cwd or "/", timeout=600)
    return result.returncode, result.stdout, result.stderr


def change(kernel, edit, source=SAME):
    """The kept run with the candidate's values of one kernel changed, as text."""
    run_of_pairs = json.loads(source.read_text())
    candidate = run_of_pairs["candidate"]
    index = next(i for i, case in enumerate(candidate["cases"]) if case["kernel"] == kernel)
    edit(candidate, index)
    return json.dumps(run_of_pairs)


class SlipsOfRung8Test(unittest.TestCase):
    """Recordings of the kernel with one thing done worse each (docs/optimising.md): none passes, and the phase is named."""

    HOPPER = ROOT / "recordings" / "hopper"

    def judge(self, candidate, baseline="slip-none.fap"):
        return run("--candidate", candidate, "--baseline", baseline, cwd=self.HOPPER)  # as the page has it

    def test_each_slip_is_a_regression_that_names_its_phase(self):
        slips = {  # the first line, and what stands further down
            "one-stage": ("44.2 % slower: sync waits 25.3 % of the warps' time (was 11.5 %)", r"long_scoreboard stalls"),
            "no-overlap": ("15.0 % slower: pv costs 189 % more", r"instructions in pv .*\+142\.8 %"),
            "unfolded-scale": ("19.7 % slower: softmax executes 21 % more instructions",
                               r"instructions in softmax .*\+20\.9 %"),
            "no-swizzle": ("perhaps 5.0 % slower: conflicting wavefronts 0.0 % -> 87.5 % in epilogue",
                           r"bank conflicts in epilogue 0 -> 917,504"),
            "barrier": ("35.5 % slower: sync executes 147,456 barriers instead of none", r"barriers in sync 0 -> 147,456"),
            "registers": ("28.8 % slower: qk has 3,932,160 local sectors instead of none, the largest growth of all phases",
                          r"local sectors in qk 0 -> 3,932,160"),
        }
        self.assertEqual(
            {f"slip-{name}.fap" for name in (*slips, "none")}, {path.name for path in self.HOPPER.glob("slip-*.fap")}
        )
        for name, (first, further_down) in slips.items():
            with self.subTest(name):
                code, out, err = self.judge(f"slip-{name}.fap")
                self.assertEqual(code, 1, out + err)
                headline, blocked = out.split("\n\n")[0].split("\nblocked by\n")
                self.assertEqual(headline.replace("\n  ", " "), f"REGRESSION: hopper_64 4,16,2048,64: {first}")
                for line in blocked.splitlines():
                    self.assertRegex(line, r"^  - hopper_64 4,16,2048,64: .* -> .*; allowed: .*|^  - \d+ more; --json FILE writes all$")
                self.assertRegex(out, further_down)

    def test_the_kernel_itself_and_its_other_recording_pass(self):
        self.assertEqual(self.judge("slip-none.fap", "6-persistent.fap")[0], 0)

    def test_ping_pong_taken_away_is_suspect_and_names_its_phase(self):
        code, out, err = self.judge("8-sums.fap", "9-ping-pong-again.fap")
        self.assertEqual(code, 0, out + err)
        self.assertTrue(out.startswith("SUSPECT: hopper_64 4,16,2048,64: perhaps 2.8 % slower: qk costs 62 % more\n"), out)

    def test_waits_name_the_copies_that_they_wait_for(self):
        # schedule.h: Q is loaded in line 77, K in 78 and 80, V in 81 and 83.
        copies = {"K": {78, 80}, "V": {81, 83}, "Q": {77}}
        waits = {"Q": {89, 140, 164}, "K": {91, 118, 141, 167}, "V": {101, 121, 133, 171}}
        seen = set()
        for path in sorted(self.HOPPER.glob("*.fap")):
            report = subprocess.run([PROGRAM, "report", path, "--format", "json"], capture_output=True, timeout=600, check=True)
            for wait in json.loads(report.stdout)["entries"][0]["phases"]["async_waits"]:
                if wait["kind"] != "mbarrier":
                    continue
                lines = {int(copy["place"].removeprefix("schedule.h:")) for copy in wait["copies"]}
                line = int(wait["place"].removeprefix("schedule.h:"))
                tensors = [tensor for tensor in waits if line in waits[tensor]]
                if wait["phase"] == "sync":
                    seen.add(tensors[0])
                    self.assertEqual(lines, copies[tensors[0]], f"{path.name}: {wait}")
                elif wait["phase"].startswith("load_"):
                    self.assertEqual(lines, set(), f"{path.name}: room is given by warps: {wait}")
        self.assertEqual(seen, {"Q", "K", "V"})

    def test_the_steps_become_faster(self):
        steps = ["1-plain", "2-overlap", "3-lazy-rescale", "5-tma-store", "6-persistent", "8-sums", "9-ping-pong-again"]
        for before, after in zip(steps, steps[1:]):
            diff = subprocess.run(
                [PROGRAM, "diff", self.HOPPER / f"{before}.fap", self.HOPPER / f"{after}.fap", "--format", "json"],
                capture_output=True, text=True, timeout=600, check=True,
            )
            changes = json.loads(diff.stdout)["changes"]
            (duration,) = [row for row in changes if row["metric"] == "duration_seconds" and row["phase"] is None]
            self.assertLess(duration["after"], duration["before"], after)


class CliGateTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, text):
        path = pathlib.Path(self.folder.name) / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def refused(self, *arguments, says=()):
        code, out, err = run(*arguments)
        self.assertEqual((code, out), (2, ""), err)
        self.assertEqual(err.count("fa-profile: error:"), 1, err)
        for text in says:
            self.assertIn(text, err)

    def test_same_code_passes(self):
        code, out, _ = run("--replay", SAME)
        self.assertEqual(code, 0)
        self.assertTrue(out.startswith("PASS: 7 cases, 7 with the same machine code"), out)
        self.assertIn("the baseline against itself: 0 of 67 judged worse; equal machine code: 0 of 67", out)

    def test_limits_that_are_found_and_name_other_kernels_are_not_applied(self):
        hopper = ROOT / "recordings" / "hopper"
        pair = ("--baseline", hopper / "1-plain.fap", "--candidate", hopper / "8-sums.fap")
        left_out = "ci/thresholds.yaml in the current folder is not applied: its rules name other kernels"
        code, out, err = run(*pair, cwd=ROOT)
        self.assertEqual(code, 0, out + err)
        self.assertEqual(" ".join(out.split()).count(left_out), 1, out)
        self.assertEqual(out.split("\n\n")[0], run(*pair, "--thresholds", "none", cwd=ROOT)[1].split("\n\n")[0])
        code, out, err = run("--candidate", hopper / "8-sums.fap", "--explain", cwd=ROOT)
        self.assertEqual((code, out.count(left_out)), (0, 1), out + err)
        self.assertIn("from the defaults", out)
        # Named by the user, or with one rule that matches, a rule that checks nothing stays an error.
        code, _, err = run(*pair, "--thresholds", "ci/thresholds.yaml", cwd=ROOT)
        self.assertEqual(code, 2)
        self.assertIn("ci/thresholds.yaml:19: 'wmma' matches no kernel", err)
        rule = "  - {{kernel: {}, metric: registers_per_thread, maximum: 255, owner: me}}\n"
        self.file("ci/thresholds.yaml", "version: 1\nrules:\n" + rule.format("hopper_64") + rule.format("mma"))
        code, _, err = run(*pair, cwd=self.folder.name)
        self.assertEqual(code, 2)
        self.assertIn("ci/thresholds.yaml:4: 'mma' matches no kernel", err)

    def test_what_a_rule_names_has_to_be_measured_with_strict(self):
        # A run of before the gate measured what rules name, and one of after it.
        code, out, _ = run("--replay", SAME, "--strict", cwd=ROOT)
        self.assertEqual(code, 3, out)
        self.assertRegex(out, r"thresholds.yaml:23: not checked, because tensor_core_utilization_ratio of mma was not")
        code, out, _ = run("--replay", DATA / "pair-identical.json", "--strict", cwd=ROOT)
        self.assertEqual(code, 0, out)
        self.assertNotIn("not checked", out)

    def of_baseline(self, name, card, slower=()):
        """Two processes of the committed baseline as evidence of that card, with some kernels 3.5 % slower."""
        evidence = json.loads((ROOT / "ci/baselines/nvidia-h200/ladder.json").read_text())["evidence"]
        evidence["environment"]["gpu_uuid"] = card
        recording, timing = (next(process for process in evidence["processes"] if process["kind"] == kind)
                             for kind in ("recording", "timing"))
        evidence["processes"] = [recording, timing]  # the times are in the second
        for case, times in zip(evidence["cases"], timing["values"]):
            if case["kernel"] in slower:
                times[:] = [1.035 * time for time in times]
            for function in case.get("code", []):
                function["code_hash"] = "f" * 16 if slower else function["code_hash"]  # equal code passes untimed
        return self.file(name, json.dumps(evidence))

    def test_another_card_of_the_model_has_wider_limits(self):
        slower = ("cublas", "wmma", "mma")
        baselines = ("--baselines", ROOT / "ci/baselines")
        other = self.of_baseline("other.json", "GPU-f6af83b6-0000-0000-0000-000000000000", slower)
        code, out, err = run("--candidate", other, *baselines)
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"the candidate ran on another card, GPU-f6af83b6-[0-9a-f-]+, than the\s+base, GPU-0d3da9e9-")
        code, out, _ = run("--candidate", other, *baselines, "--format", "json")
        self.assertEqual(code, 0, out)
        times = {case["kernel"]: comparison for case in json.loads(out)["cases"] for comparison in case["comparisons"]
                 if comparison["metric"] == "duration_seconds" and case["shape"] == "1,8,512,64"}
        for kernel in slower:
            self.assertRegex(times[kernel]["reason"], "^another card: within 2.[0-9] % and 6.8 % between cards$")
        for kernel in ("minimal", "scalar", "tiled", "serial_softmax"):
            self.assertFalse(times[kernel].get("reason"))
        # On the baseline's card the budget is what it was.
        same = self.of_baseline("same.json", "GPU-0d3da9e9-25da-6088-0d66-9eaff227a047", slower)
        code, out, _ = run("--candidate", same, *baselines)
        self.assertIn("drifted, within the budget of 5.0 %", out)
        self.assertNotIn("another card", out)

    def test_limits_are_explained_without_a_baseline(self):
        code, out, err = run("--explain", "--candidate", LADDER)
        self.assertEqual(code, 0, err)
        self.assertIn("mma 1,8,512,64", out)

    def test_worse_code_is_a_regression_and_is_explained(self):
        code, out, _ = run("--replay", WORSE)
        self.assertEqual(code, 1)
        # ptxas -O1 slows down every phase: pv, which has most of the time, is not the cause (42.5 -> 42.9 %).
        self.assertRegex(out, r"REGRESSION +tiled 1,8,512,64: 21\.\d % slower in every phase\n")
        self.assertRegex(out, r"  - every large phase is slower, by 1\d\.\d to 5\d\.\d %\n  - softmax costs 5\d % more: 6\.6 -> 8\.5 % of the time\n")
        self.assertNotIn("42.5 -> 42.9 %", out)
        self.assertRegex(out, r"  - qk costs 1\d % more and its share falls from 54\.2 to 46\.2 %\n")
        self.assertIn("    what to do: let neighbouring threads use neighbouring addresses", out)
        self.assertRegex(out, r"PASS +cublas 1,8,512,64")

    def test_a_wrong_kernel_fails_whatever_its_speed(self):
        def wrong(candidate, index):
            candidate["cases"][index]["verification"] = {
                "draws": 3, "draws_passed": 0, "max_abs_error": 5.07, "max_error_ratio": 5070.0, "nonfinite": 12}
            candidate["cases"][index]["code"][0]["code_hash"] = "00000000000000aa"
        code, out, _ = run("--replay", self.file("wrong.json", change("mma", wrong)))
        self.assertEqual(code, 1)
        self.assertRegex(out, r"REGRESSION +mma 1,8,512,64: wrong: 12 outputs are NaN")

    def test_another_gpu_is_incomparable(self):
        run_of_pairs = json.loads(SAME.read_text())
        run_of_pairs["candidate"]["environment"]["gpu_name"] = "NVIDIA A100"
        for case in run_of_pairs["candidate"]["cases"]:
            for code in case.get("code", []):
                code["code_hash"] = "00000000000000aa"
        path = self.file("a100.json", json.dumps(run_of_pairs))
        code, out, _ = run("--replay", path)
        self.assertEqual(code, 0)
        self.assertTrue(out.startswith("INCOMPARABLE"), out[:200])
        self.assertEqual(run("--replay", path, "--strict")[0], 3)

    def test_a_recording_of_the_promoted_baseline_holds_against_it(self):
        candidate = self.of_baseline("same.json", "GPU-0d3da9e9-25da-6088-0d66-9eaff227a047")
        code, out, _ = run("--candidate", candidate, "--baselines", ROOT / "ci/baselines")
        self.assertEqual(code, 0)
        for kernel in ("minimal", "scalar", "tiled", "cublas", "serial_softmax", "wmma", "mma"):
            self.assertRegex(out, rf"PASS +{kernel} 1,8,512,64: the same machine code")

    def test_code_that_redact_removed_leaves_its_case_incomplete(self):
        # Of cuBLAS the bundled recording has no code. On both sides: counters and times alone are compared.
        kept = pathlib.Path(self.folder.name) / "kept.json"
        code, out, err = run("--candidate", LADDER, "--baseline", LADDER, "--save", kept)
        self.assertEqual(code, 0, out + err)
        self.assertTrue(out.startswith("PASS: "), out)
        for side in ("base", "candidate"):
            self.assertEqual(out.count(f"{side}: no machine code of cublas in the recording: code removed"), 1, out)
        # As if the base had code of it:
        base = json.loads(kept.read_text())
        code_of = {case["kernel"]: case.get("code", []) for case in base["cases"]}
        self.assertEqual([kernel for kernel, functions in code_of.items() if not functions], ["cublas"])
        for case in base["cases"]:
            case["code"] = case.get("code") or code_of["tiled"]
        whole = self.file("whole.json", json.dumps(base))
        code, out, err = run("--candidate", LADDER, "--baseline", whole, "--strict")
        self.assertEqual(code, 3, out + err)
        self.assertEqual(len(re.findall(r"(?m)^INCONCLUSIVE cublas \S+: no machine code in the candidate$", out)), 3, out)
        self.assertNotIn("REGRESSION", out)

    def test_every_report_is_written_whole(self):
        folder = pathlib.Path(self.folder.name)
        outputs = {"markdown": "c.md", "sarif": "c.sarif", "junit": "c.xml", "json": "c.json", "html": "c.html", "textfile": "c.prom"}
        arguments = [part for name, file in outputs.items() for part in (f"--{name}", folder / file)]
        code, _, _ = run("--replay", WORSE, *arguments)
        self.assertEqual(code, 1)
        self.assertEqual(json.loads((folder / "c.json").read_text())["verdict"], "REGRESSION")
        self.assertIn('"verdict":"REGRESSION"', (folder / "c.html").read_text())
        self.assertEqual(json.loads((folder / "c.sarif").read_text())["version"], "2.1.0")
        self.assertTrue((folder / "c.md").read_text().startswith("<!-- fa-profile gate -->"))
        self.assertIn("0 of 1,200,000", (folder / "c.md").read_text())
        self.assertIn('faprof_gate_verdict{case="tiled 1,8,512,64",verdict="REGRESSION"} 1', (folder / "c.prom").read_text())

    def test_a_process_counts_once(self):
        ladder = str(LADDER)
        code, _, err = run("--candidate", ladder, "--baseline", ladder, "--baseline", ladder)
        self.assertEqual(code, 2)
        self.assertIn(f"{ladder} has the same content as {ladder}", err)

    def wheel(self, name, files):
        """A wheel with these cubins of tests/data, or bytes, by name."""
        path = pathlib.Path(self.folder.name) / name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
            wheel.writestr("package/__init__.py", "")
            for inside, content in files.items():
                data = content if isinstance(content, bytes) else (ROOT / "tests/data/cubins" / content).read_bytes()
                wheel.writestr(inside, data)
        return path

    def test_wheels_are_compared_kernel_by_kernel(self):
        old = self.wheel("old.whl", {"package/a.cubin": "sm_90a.cubin", "package/b.cubin": "lint_sm_90a.cubin"})
        same = self.wheel("same.whl", {"package/b.cubin": "lint_sm_90a.cubin", "package/a.cubin": "sm_90a.cubin"})
        code, out, err = run("--static", old, same)
        self.assertEqual(code, 0, out + err)
        self.assertIn("PASS", out)
        self.assertRegex(out, r"package/a/\w+: the same machine code")

        # The same kernels by an older compiler.
        older = self.wheel("older.whl", {"package/a.cubin": "sm_90_cuda12.cubin", "package/b.cubin": "lint_sm_90a.cubin"})
        code, out, err = run("--static", older, old)
        self.assertEqual(code, 0, out + err)
        self.assertIn("package/a/indexed: other machine code, worse by no limit\n  instructions in the code of loads: 142 -> 173", out)
        self.assertIn("package/b/clean: the same machine code", out)

        gone = self.wheel("gone.whl", {"package/b.cubin": "lint_sm_90a.cubin"})
        code, out, err = run("--strict", "--static", old, gone)
        self.assertEqual(code, 3, out + err)
        self.assertIn("MISSING: package/a/indexed: only in the base", out)

    def test_code_for_another_architecture_is_no_pass(self):
        old = self.wheel("old.whl", {"package/a.cubin": "sm_90a.cubin", "package/b.cubin": "sm_80.cubin"})
        new = self.wheel("new.whl", {"package/a.cubin": "sm_90a.cubin", "package/b.cubin": "sm_90a.cubin"})
        code, out, err = run("--strict", "--static", old, new)
        self.assertEqual(code, 3, out + err)
        self.assertRegex(out, r"INCONCLUSIVE: package/b/\w+: machine code was not compared: sm_80 in the base, sm_90 in the\s+candidate")

    def test_a_library_of_a_wheel_keeps_its_name_from_release_to_release(self):
        cubin = (ROOT / "tests/data/cubins/sm_90a.cubin").read_bytes()
        old = self.wheel("old.whl", {"package.libs/k-0123abcd.so.1": cubin, "package/_C.cpython-311-x86_64-linux-gnu.so": cubin})
        new = self.wheel("new.whl", {"package.libs/k-89abcdef.so.2": cubin, "package/_C.cpython-312-x86_64-linux-gnu.so": cubin})
        code, out, err = run("--strict", "--static", old, new)
        self.assertEqual(code, 0, out + err)
        for kernel in ("package.libs/k/indexed", "package/_C/indexed"):
            self.assertIn(f"{kernel}: the same machine code", out)

    def test_what_a_wheel_holds_and_cannot_be_read_is_never_a_pass(self):
        good = (ROOT / "tests/data/cubins/sm_90a.cubin").read_bytes()
        old = self.wheel("old.whl", {"package/a.cubin": good})
        for damaged in (good[:2000], good[: len(good) // 2]):
            new = self.wheel("new.whl", {"package/a.cubin": good, "package/damaged.cubin": damaged})
            code, out, err = run("--strict", "--static", old, new)
            self.assertEqual(code, 3, out + err)
            self.assertTrue(out.startswith("INCONCLUSIVE: 1 cubin of the candidate not read"), out)
            self.assertIn("package/damaged.cubin", out)
        self.refused("--static", old, self.wheel("empty.whl", {}), says=["contains no kernels"])
        cut = pathlib.Path(self.folder.name) / "cut.whl"
        cut.write_bytes(old.read_bytes()[:-40])
        self.refused("--static", old, cut, says=["cut.whl"])

    CUBINS = ROOT / "tests/data/cubins"

    def hidden_code(self, cubin):
        """Files of a package with this GPU code, by name, which neither their names nor their first bytes show."""
        inner, tar = io.BytesIO(), io.BytesIO()
        with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("deep/k.bin", cubin)
        with tarfile.open(fileobj=tar, mode="w:gz") as archive:
            entry = tarfile.TarInfo("k.so")
            entry.size = len(cubin)
            archive.addfile(entry, io.BytesIO(cubin))
        program = pathlib.Path("/bin/true").read_bytes()
        return {
            "data.bin": b"abc" + cubin, "a.pyd": b"MZ" + bytes(300) + cubin, "b.dll": b"MZ" + bytes(300) + cubin,
            "i.zip": inner.getvalue(), "i.tar.gz": tar.getvalue(), "k.gz": gzip.compress(cubin), "x.o": program + cubin,
            "tool": program + inner.getvalue(), "words.csv.gz": gzip.compress(b"1,2,3"),
        }

    def unpacked(self, name, files):
        folder = pathlib.Path(self.folder.name) / name
        (folder / "package").mkdir(parents=True)
        for inside, content in files.items():
            (folder / inside).write_bytes(content)
        return folder

    def test_no_file_hides_gpu_code_from_the_gate(self):
        good = (self.CUBINS / "sm_80.cubin").read_bytes()
        sides = [self.hidden_code((self.CUBINS / name).read_bytes()) for name in ("sm_90a.cubin", "sm_90_cuda12.cubin")]
        libraries = {"a.pyd", "b.dll", "i.tar.gz"}  # their code, and that of a copy of it, is compared
        for make in (self.wheel, self.unpacked):
            for compared in (True, False):
                with self.subTest(package=make.__name__, compared=compared):
                    old, new, same = (
                        make(f"{compared}{number}.whl" if make == self.wheel else f"{compared}{number}",
                             {"package/good.so": good} | {f"package/{name}": content for name, content in sides[side].items()
                                                          if (name in libraries) == compared})
                        for number, side in enumerate((0, 1, 0))
                    )
                    code, out, err = run("--strict", "--static", old, same)
                    self.assertEqual(code, 0, out + err)
                    self.assertNotIn("csv", out)
                    code, out, err = run("--strict", "--static", old, new)
                    names = ("a", "b", "i.tar.gz/k") if compared else ("data.bin", "i.zip/deep/k.bin", "k.gz/k", "tool/deep/k.bin", "x.o")
                    if compared:
                        self.assertEqual(code, 0, out + err)
                        for name in names:
                            self.assertIn(f"{name}/indexed: other machine code, worse by no limit\n  instructions in the code", out)
                    else:
                        self.assertEqual(code, 3, out + err)
                        listed = ", ".join(f"package/{name}" for name in names)
                        self.assertIn(f"INCONCLUSIVE: other GPU code, which was not compared, in {listed}", out.replace("\n  ", " "))

    def test_an_object_linked_into_a_library_changes_with_it(self):
        files = [{"package/k.so": code, "package/k.o": b"\x7fELF" + code} for code in
                 ((self.CUBINS / name).read_bytes() for name in ("sm_90a.cubin", "sm_90_cuda12.cubin"))]
        old, new = (self.unpacked(str(number), content) for number, content in enumerate(files))
        code, out, err = run("--strict", "--static", new, old)
        self.assertEqual(code, 0, out + err)
        self.assertNotIn("k.o", out)

    @staticmethod
    def fatbin(*entries):
        """A fatbin of entries: kind (1: PTX, 2: cubin, 8: LTO-IR), compute capability, bytes."""
        body = b""
        for kind, capability, data in entries:
            data += bytes(-len(data) % 8)
            head = struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(data), 0, 0, 0, 1, capability, 64, 0, 0x11, 0, 0)
            body += head[:64].ljust(64, b"\0") + data
        return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body

    def test_ptx_and_lto_ir_next_to_equal_machine_code_may_not_change(self):
        cubin = (self.CUBINS / "sm_80.cubin").read_bytes()
        ptx = b".version 8.0\n.target sm_90\n.visible .entry %s(){ret;}\n"
        slower = b".version 8.1\n.target sm_90\n.visible .entry %s(){bar.sync 0; ret;}\n"
        changes = {
            "PTX compute_90": ((1, 90, ptx % b"_ZN6sample7indexedEPKiPf"), (1, 90, slower % b"_ZN6sample7indexedEPKiPf")),
            "LTO-IR compute_90": ((8, 90, b"one" * 20), (8, 90, b"two" * 20)),
            "other GPU code, which was not compared, in the PTX": ((1, 90, ptx % b"alone"), (1, 90, slower % b"alone")),
        }
        for number, (says, (before, after)) in enumerate(changes.items()):
            with self.subTest(says):
                program = pathlib.Path("/bin/true").read_bytes()
                old, new = (pathlib.Path(self.folder.name) / f"{side}{number}.so" for side in ("old", "new"))
                old.write_bytes(program + self.fatbin((2, 80, cubin), before))
                new.write_bytes(program + self.fatbin((2, 80, cubin), after))
                code, out, err = run("--strict", "--static", old, old)
                self.assertEqual(code, 0, out + err)
                code, out, err = run("--strict", "--static", old, new)
                self.assertEqual(code, 3, out + err)
                self.assertIn("INCONCLUSIVE", out)
                self.assertIn(says, out)

    def test_all_code_that_was_not_read_is_counted(self):
        good = pathlib.Path(self.folder.name) / "good.so"
        bad = pathlib.Path(self.folder.name) / "bad.so"
        cubin = (self.CUBINS / "sm_90a.cubin").read_bytes()
        head = b"\x7fELF\x02\x01\x41\x08" + bytes(8) + b"\x02\0\xbe\0" + bytes(44)
        good.write_bytes(cubin)
        bad.write_bytes(cubin + head * 20_000)
        code, out, err = run("--strict", "--static", good, bad)
        self.assertEqual(code, 3, out + err)
        self.assertIn("INCONCLUSIVE: 20000 cubins of the candidate not read", out)
        self.assertLess(len(out.splitlines()), 100)

    def test_bad_input_is_one_error_and_code_2(self):
        self.refused(says=["gate needs something to judge", "--pair BASE HEAD"])
        self.refused("--replay", SAME, "--static", PROGRAM, says=["one thing at a time"])
        self.refused("--replay", "/nonexistent.json", says=["/nonexistent.json"])
        self.refused("--replay", self.file("cut.json", SAME.read_text()[:5000]), says=["cut.json"])
        self.refused("--candidate", LADDER, "--baselines", self.folder.name,
                     says=["baseline promote"])
        self.refused("--replay", SAME, "--thresholds", self.file("t.yaml", "version: 1\nrules:\n  - {kernel: tiles, "
                     "metric: instructions, relative: 1%, owner: me}\n"), says=["t.yaml:3", "tiled"])
        self.refused("--replay", SAME, "--kernel", "mma", says=["--kernel has no effect"])
        self.refused("--replay", SAME, "--save", "x.json", says=["--save has no effect with --replay"])
        self.refused("--replay", SAME, "--json", "/nonexistent/x.json", says=["folder /nonexistent not found"])
        self.refused("--static", PROGRAM, says=["--static BASE HEAD"])
        self.refused("--measure", PROGRAM, says=["--save"])

    def test_an_option_that_would_do_nothing_is_refused(self):
        recording = LADDER
        for question, options in (
            (("--replay", SAME), ("--baseline", "--suite", "--baselines", "--arch", "--base-log", "--pairs", "--processes")),
            (("--static", PROGRAM, PROGRAM), ("--baseline", "--suite", "--baselines", "--recordings")),
            (("--static", "base.json", PROGRAM), ("--base-log",)),
            (("--candidate", recording), ("--arch", "--base-log", "--head-log", "--draws")),
            (("--candidate", recording, "--baseline", recording), ("--suite", "--baselines")),
            (("--candidate", recording, "--explain"), ("--html", "--textfile", "--strict", "--summary")),
            (("--measure", PROGRAM, "--save", "x.json"), ("--json", "--strict", "--pairs", "--baseline")),
            (("--replay", SAME, "--html", "-"), ("--format", "--annotations")),
        ):
            for option in options:
                value = {"--strict": (), "--summary": (), "--annotations": (), "--format": ("json",)}.get(option, ("9",))
                self.refused(*question, option, *value, says=[f"{option} has no effect", "leave "])

    def test_an_edited_baseline_is_refused(self):
        text = (ROOT / "ci" / "baselines" / "nvidia-h200" / "ladder.json").read_text()
        self.assertIn('"registers_per_thread":143', text)
        edited = self.file("ladder.json", text.replace('"registers_per_thread":143', '"registers_per_thread":153', 1))
        self.refused("--candidate", LADDER, "--baseline", edited,
                     says=["receipt"])

    def test_the_quoted_error_rate_equals_the_selftests(self):
        code, out, err = run("selftest", "--format", "json")
        self.assertEqual(code, 0, out + err)
        report = json.loads(out)
        rates = {(rate["rule"], rate["question"]): rate for rate in report["rates"]}
        quoted = json.loads((ROOT / "ci" / "gate" / "data" / "error-rate.json").read_text())["error_rate"]
        same, runs = rates[("gate", "same code")], rates[("gate", "same code, independent runs, a run")]
        found_3, found_5 = rates[("gate", "+3 %")], rates[("gate", "+5 %")]
        self.assertIn(f"{same['hits']} of {same['trials']:,} comparisons", quoted)
        self.assertIn(f"{runs['hits']} of {runs['trials']} independent runs", quoted)
        self.assertIn(f"at most {100 * runs['high']:.2g} %", quoted)
        self.assertIn(f"{100 * found_3['hits'] / found_3['trials']:.1f} % at +3 %", quoted)
        self.assertIn(f"{100 * found_5['hits'] / found_5['trials']:.0f} % at +5 %", quoted)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
