"""--format jsonl: jsonl_test.py PROGRAM SOURCE write_page_recordings write_gate_reports

Lines of report, diff, gate and lint through docs/jsonl.schema.json, and against the same command's --format json.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import jsonschema

PROGRAM, SOURCE, WRITE_RECORDINGS, WRITE_GATE_REPORTS = (pathlib.Path(each).resolve() for each in sys.argv[1:5])
del sys.argv[1:5]
RECORDINGS = SOURCE / "recordings"
LADDER = RECORDINGS / "h100-ladder-full.fap"
HOPPER = RECORDINGS / "hopper"
CUBINS = SOURCE / "tests" / "data" / "cubins"
SCHEMA = json.loads((SOURCE / "docs" / "jsonl.schema.json").read_text())
KINDS = {
    kind: jsonschema.Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": SCHEMA["$defs"]})
    for kind in (each["$ref"].rsplit("/", 1)[1] for each in SCHEMA["oneOf"])
}
# Ends a line, the string, or the terminal's patience; and bytes that are not UTF-8.
HOSTILE = 'a"b\\\n\r\x1b[31m\u2028/#2%{"kind":"x"}\n'


def run(*arguments, cwd="/"):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, timeout=600, cwd=cwd)


class JsonlTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.pages = cls.folder / "pages"
        cls.pages.mkdir()
        subprocess.run([WRITE_RECORDINGS, cls.pages, HOSTILE], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def checked(self, text):
        """The lines, if each fits the schema and no two have the same id."""
        self.assertTrue(text.endswith(b"\n"), text[-200:])
        lines = [json.loads(line, parse_constant=self.fail) for line in text.decode().split("\n")[:-1]]
        for line in lines:
            self.assertIn(line["kind"], KINDS)
            KINDS[line["kind"]].validate(line)
        ids = [line["id"] for line in lines]
        self.assertEqual(len(ids), len(set(ids)))
        return lines

    def lines(self, *arguments, code=0, cwd="/"):
        done = run(*arguments, "--format", "jsonl", cwd=cwd)
        self.assertEqual(done.returncode, code, done.stderr)
        return self.checked(done.stdout)

    def refused(self, what, *arguments):
        done = run(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, b""), arguments)
        self.assertIn(what, done.stderr.decode())

    def of_kind(self, lines, kind):
        return [line for line in lines if line["kind"] == kind]

    def test_the_schema_is_one_choice_by_kind(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        whole = jsonschema.Draft202012Validator(SCHEMA)
        first = self.lines("report", LADDER)[0]
        whole.validate(first)
        for wrong in ({**first, "kind": "kernel"}, {**first, "version": 2}, {**first, "more": 1}, {}):
            self.assertFalse(whole.is_valid(wrong), wrong)
        for kind in KINDS:
            self.assertEqual(SCHEMA["$defs"][kind]["properties"]["kind"], {"const": kind})

    def test_every_bundled_recording_gives_the_findings_of_its_json(self):
        for path in sorted([*RECORDINGS.glob("*.fap"), *HOPPER.glob("*.fap")]):
            with self.subTest(path.name):
                lines = self.lines("report", path)
                whole = json.loads(run("report", path, "--format", "json").stdout)
                first = lines[0]
                self.assertEqual(first["kind"], "recording")
                self.assertEqual(first["gpu"], whole["device"]["name"])
                expected = [
                    (entry["kernel"], entry["part"], finding["id"], finding["phase"], finding["evidence"],
                     finding["cure"], finding["weight"], rank)
                    for entry in whole["entries"] for rank, finding in enumerate(entry["findings"], 1)
                ]  # fmt: skip
                names = ("kernel", "part", "finding", "phase", "evidence", "cure", "weight", "rank")
                findings = self.of_kind(lines, "finding")
                self.assertEqual([tuple(line[name] for name in names) for line in findings], expected)
                self.assertEqual(len(self.of_kind(lines, "kernel")), len(whole["entries"]))
                self.assertEqual(len(self.of_kind(lines, "not-measured")), sum(loss["kind"] != "metric_not_a_counter" for loss in whole["losses"]))
                self.assertEqual(first["findings"], len(expected))
                for line in self.of_kind(lines, "kernel") + findings:
                    self.assertEqual(line["gpu"], whole["device"]["name"])
                if path == LADDER:
                    self.assertTrue(all(line["numbers"] for line in findings if line["finding"] != "not-correct"))

    def test_a_line_has_the_finding_its_numbers_and_its_cure(self):
        lines = self.lines("report", LADDER, "--kernel", "serial_softmax", "--shape", "1,8,512,64")
        line = next(each for each in lines if each.get("finding") == "serial-softmax")
        self.assertEqual(line["id"], "finding/serial_softmax/1,8,512,64/-/softmax/serial-softmax")
        self.assertEqual((line["phase"], line["severity"], line["shape"]), ("softmax", "warning", "1,8,512,64"))
        numbers = {number["name"]: (number["value"], number["unit"]) for number in line["numbers"]}
        entry = json.loads(run("report", LADDER, "--kernel", "serial_softmax", "--shape", "1,8,512,64", "--format",
                               "json").stdout)["entries"][0]  # fmt: skip
        softmax = next(phase for phase in entry["phases"]["phases"] if phase["phase"] == "softmax")["metrics"]
        for name, unit in (("phase_time_ratio", "ratio"), ("phase_time_seconds", "seconds")):
            self.assertEqual(numbers[name], (softmax[name], unit))
        self.assertIn("In this recording:", run("report", LADDER, "--explain", line["finding"]).stdout.decode())
        kernel = self.of_kind(lines, "kernel")[0]
        time = next(number for number in kernel["numbers"] if number["name"] == "duration_seconds")
        self.assertAlmostEqual(time["low"], entry["timing"]["p05_ns"] * 1e-9, 15)
        self.assertAlmostEqual(time["high"], entry["timing"]["p95_ns"] * 1e-9, 15)
        self.assertLessEqual(time["low"], time["value"])

    def test_a_late_copy_has_the_line_that_waits(self):
        lines = self.lines("report", HOPPER / "slip-one-stage.fap")
        late = [line for line in lines if line.get("finding") == "wait-for-copy" and line["place"]]
        self.assertTrue(late)
        for line in late:
            self.assertRegex(line["place"], r"^\w+\.\w+:\d+$")
            self.assertIn(f"at {line['place']}:", line["evidence"])

    def test_two_runs_print_the_same(self):
        for arguments in (("report", LADDER), ("diff", HOPPER / "slip-none.fap", HOPPER / "slip-barrier.fap"),
                          ("lint", CUBINS / "lint_sm_90a.cubin")):  # fmt: skip
            self.assertEqual(run(*arguments, "--format", "jsonl").stdout, run(*arguments, "--format", "jsonl").stdout)

    def test_other_numbers_leave_the_ids_as_they_are(self):
        ids = [
            [line["id"] for line in self.lines("report", self.pages / name)] for name in ("sample.fap", "slower.fap")
        ]
        self.assertEqual(*ids)
        whole = {line["id"] for line in self.lines("report", LADDER)}
        part = {line["id"] for line in self.lines("report", LADDER, "--kernel", "^mma$") if line["kind"] == "finding"}
        self.assertTrue(part and part <= whole)

    def test_diff_has_what_changed_and_the_findings_ids(self):
        before, after = HOPPER / "slip-none.fap", HOPPER / "slip-registers.fap"
        lines = self.lines("diff", before, after)
        whole = json.loads(run("diff", before, after, "--format", "json").stdout)
        self.assertEqual(lines[0]["kind"], "diff")
        changed = [each for each in whole["changes"] if each["judgement"] != "same"]
        changes = self.of_kind(lines, "change")
        names = ("kernel", "phase", "metric", "before", "after", "judgement")
        self.assertEqual([[line[name] for name in names] for line in changes],
                         [[each[name] for name in names] for each in changed])  # fmt: skip
        self.assertTrue(all(line["severity"] == "warning" for line in changes if line["judgement"] == "worse"))
        self.assertEqual(sum(lines[0]["metrics"].values()), len(whole["changes"]))
        self.assertEqual(len(self.of_kind(lines, "wait")), sum(each["judgement"] != "same" for each in whole["waits"]))
        found = self.of_kind(lines, "finding")
        self.assertEqual([(line["finding"], line["judgement"]) for line in found],
                         [(each["finding"]["id"], each["judgement"]) for each in whole["findings"]])  # fmt: skip
        self.assertTrue(found)
        ids = {"new": after, "gone": before}
        for line in found:
            self.assertIn(line["id"], {each["id"] for each in self.lines("report", ids[line["judgement"]])})
        other = self.lines("diff", LADDER, before)
        self.assertTrue(other[0]["cannot_say"])
        self.assertTrue(self.of_kind(other, "not-compared"))

    def test_gate_has_the_verdict_its_reasons_and_the_exit_code(self):
        arguments = ("gate", "--candidate", "slip-barrier.fap", "--baseline", "slip-none.fap")
        lines = self.lines(*arguments, code=1, cwd=HOPPER)
        whole = json.loads(run(*arguments, "--format", "json", cwd=HOPPER).stdout)
        first = lines[0]
        self.assertEqual((first["kind"], first["verdict"], first["severity"]), ("gate", "REGRESSION", "error"))
        self.assertEqual(first["exit"], {"code": 1, "meaning": "a regression"})
        self.assertEqual(first["headline"], whole["headline"])
        verdicts = self.of_kind(lines, "verdict")
        self.assertEqual([line["verdict"] for line in verdicts], [case["verdict"] for case in whole["cases"]])
        self.assertEqual(verdicts[0]["why"], whole["cases"][0]["why"])
        self.assertTrue(verdicts[0]["time"]["change"] > 0.3)
        blocking = [line for line in self.of_kind(lines, "comparison") if line["severity"] == "error"]
        self.assertEqual(
            [(line["phase"], line["metric"], line["allowed"]) for line in blocking],
            [(each["phase"], each["metric"], each["allowed"]) for case in whole["cases"]
             for each in case["comparisons"] if each["blocking"] and each["verdict"] == "REGRESSION"])  # fmt: skip
        self.assertTrue(blocking)
        passed = self.lines("gate", "--candidate", "slip-none.fap", "--baseline", "6-persistent.fap", cwd=HOPPER)
        self.assertEqual(passed[0]["exit"]["code"], 0)
        suspect = ("gate", "--candidate", "8-sums.fap", "--baseline", "9-ping-pong-again.fap")
        strict = self.lines(*suspect, "--strict", code=3, cwd=HOPPER)
        self.assertEqual((strict[0]["exit"]["code"], strict[0]["exit_strict"]["code"]), (0, 3))
        self.assertTrue(any(line["cannot_say"] for line in self.of_kind(strict, "verdict")))
        static = self.lines("gate", "--static", CUBINS / "sm_90a.cubin", CUBINS / "lint_sm_90a.cubin", "--thresholds", "none")
        self.assertEqual((static[0]["verdict"], static[0]["gpu"]), ("MISSING", None))

    def test_every_kind_of_gate_result_fits(self):
        folder = self.folder / "gate"
        folder.mkdir()
        subprocess.run([WRITE_GATE_REPORTS, folder], check=True)
        for path in sorted(folder.glob("*.jsonl")):
            with self.subTest(path.name):
                text = path.read_bytes()
                self.assertTrue(text.isascii())
                lines = self.checked(text)
                whole = json.loads(path.with_suffix(".json").read_text())
                self.assertEqual(len(self.of_kind(lines, "verdict")), len(whole["cases"]))
                self.assertEqual(len(self.of_kind(lines, "note")), len(whole["notes"]))
                self.assertEqual(len(self.of_kind(lines, "not-compared")), len(whole["incomparable"]))
        self.assertGreater(len(list(folder.glob("*.jsonl"))), 10)

    def test_lint_has_each_kernels_findings_and_what_was_not_read(self):
        broken = self.folder / "broken.cubin"
        broken.write_bytes((CUBINS / "lint_sm_90a.cubin").read_bytes()[:3000])
        files = [CUBINS / "lint_sm_90a.cubin", CUBINS / "sm_90a_without_lines.cubin"]
        lines = self.lines("lint", *files)
        whole = json.loads(run("lint", *files, "--format", "json").stdout)
        names = ("symbol", "finding", "evidence", "cure")
        self.assertEqual(
            [[line[name] for name in names] for line in self.of_kind(lines, "finding")],
            [[kernel["symbol"], each["id"], each["evidence"], each["cure"]]
             for kernel in whole["kernels"] for each in kernel["findings"]])  # fmt: skip
        self.assertEqual(len(self.of_kind(lines, "code")), len(whole["kernels"]))
        self.assertEqual((lines[-1]["kind"], lines[-1]["read"]), ("lint", whole["cubins"]["read"]))
        moved = self.folder / "elsewhere"
        moved.mkdir()
        copies = [moved / path.name for path in files]
        for path, copy in zip(files, copies):
            copy.write_bytes(path.read_bytes())
        self.assertEqual([line["id"] for line in self.lines("lint", *copies)], [line["id"] for line in lines])
        done = run("lint", files[0], "--fail-on", "spills", "--format", "jsonl")
        found = any(line.get("finding") == "spills" for line in self.checked(done.stdout))
        self.assertEqual((done.returncode, found), (1, True))

    def test_lint_of_a_package_ends_with_its_sums(self):
        package = self.folder / "package"
        package.mkdir()
        (package / "attention.cubin").write_bytes((CUBINS / "sm_90a.cubin").read_bytes())
        (package / "broken.cubin").write_bytes(b"\x7fELF" + b"\x00" * 60)
        lines = self.lines("lint", "--from-wheel", package)
        whole = json.loads(run("lint", "--from-wheel", package, "--format", "json").stdout)
        self.assertEqual(lines[-1]["kind"], "lint")
        self.assertEqual(lines[-1]["not_read"], whole["package"]["skipped_files"])
        self.assertEqual(len(self.of_kind(lines, "not-read")), len(whole["package"]["skipped"]))
        self.assertEqual(len(self.of_kind(lines, "code")), len(whole["kernels"]))

    def test_any_recording_fits(self):
        """Without kernels, without counters, with hostile texts, of a program."""
        for path in sorted(self.pages.glob("*.fap")):
            with self.subTest(path.name):
                lines = self.lines("report", path)
                self.assertEqual(lines[0]["kernels"], len(self.of_kind(lines, "kernel")))
                self.lines("diff", self.pages / "sample.fap", path)
        empty = self.lines("report", self.pages / "empty.fap")
        self.assertEqual((empty[0]["kind"], empty[0]["kernels"], empty[0]["findings"]), ("recording", 0, 0))

    def test_hostile_names_stay_on_their_line(self):
        done = run("report", self.pages / "hostile.fap", "--format", "jsonl").stdout
        self.assertNotRegex(done.decode(), "[\x00-\x09\x0b-\x1f\u2028\u202e]")
        lines = self.checked(done)
        for line in lines:
            self.assertNotRegex(line["id"], r"[\x00-\x1f]")
        self.assertTrue(any('a"b' in line["kernel"] for line in self.of_kind(lines, "kernel")))

    def test_a_kernel_without_findings_says_what_is_not_known(self):
        lines = self.lines("report", self.pages / "program.fap")
        kernels = [line for line in self.of_kind(lines, "kernel") if line["findings"] == 0]
        self.assertTrue(kernels)
        for line in kernels:
            self.assertIsNone(line["correct"])
            self.assertTrue(any("not verified" in text for text in line["cannot_say"]))

    def test_output_goes_to_a_file(self):
        target = self.folder / "report.jsonl"
        self.assertEqual(run("report", LADDER, "--format", "jsonl", "-o", target).stdout, b"")
        self.assertEqual(target.read_bytes(), run("report", LADDER, "--format", "jsonl").stdout)
        self.refused("already exists", "report", LADDER, "--format", "jsonl", "-o", target)
        run("diff", LADDER, LADDER, "--format", "jsonl", "-o", target, "--force")
        self.assertEqual(self.checked(target.read_bytes())[0]["kind"], "diff")

    def test_other_commands_refuse_the_format(self):
        for arguments in (("selftest",), ("gate", "selftest"), ("baseline", "list")):
            self.refused("--format must be text or json, not 'jsonl'", *arguments, "--format", "jsonl")
        two = (self.pages / "program.fap", self.pages / "rank1.fap")
        self.refused("a report of several recordings has no format 'jsonl'", "report", *two, "--format", "jsonl")
        for view in ("--instructions", "--source"):
            self.refused(f"{view} has no format 'jsonl'", "report", LADDER, view, "--format", "jsonl")
        for option in ("--details", "--summary"):
            self.refused(f"{option} has no effect with --format jsonl", "report", LADDER, option, "--format", "jsonl")

    def test_a_reader_that_leaves_early_is_no_harm(self):
        for arguments in (("report", LADDER), ("lint", CUBINS / "lint_sm_90a.cubin"), ("diff", LADDER, LADDER)):
            ends = []
            for format in ("json", "jsonl"):
                read, write = os.pipe()
                os.close(read)
                with os.fdopen(write, "wb") as out:
                    done = subprocess.run([PROGRAM, *map(str, arguments), "--format", format], stdout=out,
                                          stderr=subprocess.PIPE, timeout=600)  # fmt: skip
                ends.append((done.returncode, re.sub(rb"jsonl?", b"", done.stderr)))
            self.assertEqual(*ends, arguments)


if __name__ == "__main__":
    unittest.main()
