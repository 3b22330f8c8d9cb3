"""bench/gate_trials.py on a program that only acts as if it measured: gate_trials_script_test.py PROGRAM SOURCE

PROGRAM (fa-profile) reads the trial data that come out.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
SCRIPT = SOURCE / "bench" / "gate_trials.py"
sys.path.insert(0, str(SCRIPT.parent))
import gate_trials  # noqa: E402

# Answers gate-sample and gate --measure. A kernel takes 100 us, and 1 us more for each unit of work in its name.
FAKE = r"""#!/usr/bin/python3 -SE
import json, pathlib, sys
arguments = sys.argv[1:]
def values(option): return [arguments[i + 1] for i, word in enumerate(arguments) if word == option]
with open(pathlib.Path(__file__).with_name("calls"), "a") as calls: calls.write(" ".join(arguments) + "\n")
if not values("--kernel"): sys.exit("no --kernel")
kernels = values("--kernel")[0][2:-2].split("|")
cases = [("gate_reference", "")] + [(kernel, shape) for kernel in kernels for shape in values("--shape")]
loaded = [pathlib.Path(path).stem for path in values("--kernel-lib")]
if any("_" in kernel and kernel not in loaded for kernel in kernels): sys.exit("a library is missing")
def seconds(kernel):
    work = kernel.rsplit("_", 1)[-1]
    return (100 + (int(work) if work.isdigit() and "padding" not in kernel else 0)) * 1e-6
environment = {"gpu_name": "NVIDIA H200", "gpu_uuid": "GPU-0", "driver_version": "1", "tool_commit": "c"}
if arguments[0] == "verify":
    for kernel, shape in cases[1:]:
        print(kernel, shape, "WRONG, 0 of 1" if kernel == "mma_counter" else "correct, 1 of 1 draws")
    sys.exit(1)
crashes = pathlib.Path(__file__).with_name("crashes")
if crashes.exists() and crashes.read_text() in kernels: sys.exit("it crashed")
order = int((values("--order") or ["0"])[0])
if arguments[0] == "gate-sample":
    lines = [{"kernel": kernel, "shape": shape, "duration_seconds": seconds(kernel) * (1 + 1e-4 * (order % 7)),
              "duration_cycles": 1e9 * seconds(kernel)} for kernel, shape in reversed(cases)]
    print("a kernel may print")
    print(json.dumps({"version": 1, "throttled": False, "temperature_celsius": 40.0, "sm_clock_hz": 1e9,
                      "environment": environment, "cases": lines}))
else:
    kinds = ["recording"] * int(values("--recordings")[0]) + ["timing"]
    columns = {"recording": [["", "instructions"]], "timing": [["", "duration_cycles"], ["", "duration_seconds"]]}
    rows = {"recording": [[1000.0]] * len(cases), "timing": [[1e5, 1e-4]] * len(cases)}
    facts = []
    for kernel, shape in cases:
        name = "void fa_profile::mutant::" + kernel + "(int)"
        facts.append({"kernel": kernel, "launches": [{"kernel_name": name, "grid": [1, 1, 1], "block": [1, 1, 1]}],
                      "code": [{"symbol": f"_ZN6mutant{len(kernel)}{kernel}EE", "name": name, "code_hash": "0" * 16}]})
        if shape: facts[-1]["shape"] = shape
    pathlib.Path(values("--save")[0]).write_text(json.dumps({
        "format": "fa-profile evidence", "version": 1, "origin": "fake", "environment": environment, "losses": [],
        "columns": columns, "cases": facts, "processes": [{"kind": kind, "values": rows[kind]} for kind in kinds]}))
"""


class GateTrialsScriptTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.fake = self.folder / "fake"
        self.fake.write_text(FAKE)
        self.fake.chmod(0o755)
        self.libraries = self.folder / "libs"
        self.libraries.mkdir()
        for kernel in gate_trials.kernels_of(gate_trials.every_mutant()):
            (self.libraries / f"{kernel}.so").write_text("")

    def run_script(self, *words, code=0):
        done = subprocess.run([sys.executable, "-B", str(SCRIPT), *map(str, words)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=6000)  # fmt: skip
        self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout

    def calls(self, kind):
        return [line for line in (self.folder / "calls").read_text().splitlines() if line.startswith(kind)]

    def same(self):
        path = self.folder / "same.json"
        self.run_script("same", "--program", self.fake, "--sets", 3, "--recordings", 2, "-o", path)
        return path

    def mutants(self, changes):
        choice, path = self.folder / "choice.json", self.folder / "mutants.json"
        choice.write_text(json.dumps(changes))
        self.run_script("mutants", "--program", self.fake, "--libs", self.libraries, "--choose", choice,
                        "--pairs", 8, "--recordings", 2, "-o", path)  # fmt: skip
        return path

    def test_the_build_makes_the_mutants_of_the_table(self):
        text = (SOURCE / "tests/kernel_libs/CMakeLists.txt").read_text()
        for mutant in gate_trials.every_mutant():
            rung, change = mutant.name.split("_", 1)
            if mutant.kind == "work" and rung != "scalar":
                phase, work = change.rsplit("_", 1)
                self.assertRegex(text, rf"gate_mutant_family\({rung} {phase} [0-9 ]*\b{work}\b")
            elif mutant.kind != "work":
                self.assertRegex(text, rf"gate_mutant\(({rung}|\$\{{rung\}}) {change}\b")

    def test_same_code_runs_in_pairs_of_three_with_one_order_each(self):
        evidence = json.loads(self.same().read_text())
        orders = [re.search(r"--order (\d+)", call)[1] for call in self.calls("gate-sample")]
        self.assertEqual(orders, [str(1 + i // 3) for i in range(72)])
        kinds = [process["kind"] for process in evidence["processes"]]
        self.assertEqual(kinds, ["recording"] * 2 + ["timing"] * 72)
        self.assertEqual(len(evidence["cases"]), 9)
        for row in evidence["processes"][-1]["values"]:
            self.assertAlmostEqual(row[0], 1e5, places=3)
            self.assertAlmostEqual(row[1], 1e-4, delta=1e-6)

    def test_measuring_ends_before_the_time_is_over_and_keeps_what_there_is(self):
        path = self.folder / "same.json"
        self.run_script("same", "--program", self.fake, "--seconds", 0, "--recordings", 1, "-o", path)
        evidence = json.loads(path.read_text())
        self.assertEqual([process["kind"] for process in evidence["processes"]], ["recording", "timing"])

    def test_calibration_compares_each_mutant_with_its_base(self):
        path = self.folder / "calibration.json"
        text = self.run_script("calibrate", "--program", self.fake, "--libs", self.libraries, "--processes", 3, "-o", path)
        changes = json.loads(path.read_text())
        wrong = {"mma_counter mma_same"}  # chosen, and then found to be wrong
        self.assertEqual(set(changes), {mutant.key for mutant in gate_trials.every_mutant()} - wrong)
        self.assertAlmostEqual(changes["tiled_pv_4 tiled_pv_3"], 1 / 103, places=6)
        self.assertRegex(text, r"tiled_pv_4 +tiled_pv_3 +work +103\.\d\d us +\+0\.97 % \+- 0\.00")
        self.assertIn("not correct: mma_counter\n", text)
        self.assertRegex(text, r"chosen, \d+, until \d+ s: mma_epilogue_sync ")

    def test_a_kernel_that_crashes_is_left_out(self):
        path = self.folder / "calibration.json"
        (self.folder / "crashes").write_text("mma_counter")
        text = self.run_script("calibrate", "--program", self.fake, "--libs", self.libraries, "--processes", 1, "-o", path)
        self.assertIn("it crashed", text)
        self.assertNotIn("mma_counter mma_same", json.loads(path.read_text()))

    def test_the_choice_has_equal_times_and_two_of_a_family_that_are_slower(self):
        changes = {"mma_counter mma_same": 0.004, "tiled_counter tiled_same": -0.006, "mma_pv_4 mma_pv_3": 0.019,
                   "mma_pv_5 mma_pv_3": 0.03, "mma_pv_6 mma_pv_3": 0.044, "mma_pv_12 mma_pv_3": 0.05,
                   "wmma_barrier_1 wmma_same": 0.03, "scalar_qk_5 scalar_qk_1": 0.001,
                   "mma_softmax_17 mma_softmax_4": 0.2}  # fmt: skip
        self.assertEqual([mutant.name for mutant in gate_trials.choose(changes)],
                         ["mma_counter", "scalar_qk_5", "wmma_barrier_1", "mma_pv_5", "mma_pv_6", "mma_softmax_17"])  # fmt: skip

    def test_what_is_assembled_is_trial_data(self):
        mutants = self.mutants({"mma_counter mma_same": 0.0, "mma_pv_4 mma_pv_3": 0.03, "tiled_lazy_rescale tiled_same": 0.0})
        out = self.folder / "trials.json"
        text = self.run_script("assemble", "--same", self.same(), "--mutants", mutants, "-o", out)
        self.assertIn("same code: 72 timing processes, 2 recordings, 9 cases", text)
        self.assertIn("mutants: 48 timing processes, 4 recordings, 7 cases", text)
        data = json.loads(out.read_text())
        self.assertEqual(data["facts"], [
            {"kernel": "mma_counter", "base": "mma_same", "phase": "load_kv", "faster_tiers": False},
            {"kernel": "tiled_lazy_rescale", "base": "tiled_same", "phase": "rescale", "faster_tiers": False},
            {"kernel": "mma_pv_4", "base": "mma_pv_3", "phase": "pv", "faster_tiers": True}])  # fmt: skip
        names = {code["name"] for case in data["mutants"]["cases"] for code in case["code"]}
        self.assertEqual(names - {"void fa_profile::mutant::gate_reference(int)"}, {"void fa_profile::mutant::Id(int)"})
        self.assertIn("_ZN6mutant2IdEE", out.read_text())
        done = subprocess.run([PROGRAM, "gate", "selftest", "--data", str(out), "--trials", "20",
                               "--power-trials", "20"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=6000)  # fmt: skip
        self.assertIn(done.returncode, (0, 1), done.stdout)
        self.assertIn("mutant mma_pv_4", done.stdout)

    def test_parts_of_two_machines_are_refused(self):
        other = json.loads(self.same().read_text())
        other["environment"]["gpu_uuid"] = "GPU-1"
        path = self.folder / "other.json"
        path.write_text(json.dumps(other))
        text = self.run_script("assemble", "--same", self.folder / "same.json", path, "--mutants", path,
                               "-o", self.folder / "out.json", code=1)  # fmt: skip
        self.assertIn("gpu_uuid differs", text)
        self.assertFalse((self.folder / "out.json").exists())

    def test_independent_runs_of_another_gpu_are_added_once(self):
        mutants = self.mutants({"mma_counter mma_same": 0.0, "mma_pv_4 mma_pv_3": 0.03})
        out, other = self.folder / "trials.json", self.folder / "other.json"
        self.run_script("assemble", "--same", self.same(), "--mutants", mutants, "-o", out)
        evidence = json.loads((self.folder / "same.json").read_text())
        evidence["environment"]["gpu_uuid"] = "GPU-1"
        other.write_text(json.dumps(evidence))
        text = self.run_script("extend", out, "--same", other, "-o", out)
        self.assertIn("more same code: 72 timing processes, 0 recordings, 9 cases", text)
        text = self.run_script("extend", out, "--same", other, "-o", out, code=1)
        self.assertIn("this GPU has processes in the data already", text)
        self.assertEqual(len(json.loads(out.read_text())["more_same_code"]), 1)
        done = subprocess.run([PROGRAM, "gate", "selftest", "--data", str(out), "--trials", "5", "--format", "json"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=6000)  # fmt: skip
        self.assertEqual(done.stderr, "")
        runs = [rate for rate in json.loads(done.stdout)["rates"] if rate["question"].endswith("independent runs, a run")]
        self.assertEqual([rate["trials"] for rate in runs], [6])

    def test_a_missing_library_is_named(self):
        (self.libraries / "mma_same.so").unlink()
        text = self.run_script("calibrate", "--program", self.fake, "--libs", self.libraries,
                               "-o", self.folder / "c.json", code=1)  # fmt: skip
        self.assertIn("lacks mma_same.so: build the target gate_mutants", text)

    def test_cubins_of_one_size_are_refused(self):
        header = gate_trials.FAT_BINARY + b"\x01\x00\x10\x00" + bytes(8)
        entry = bytes(8) + (4096).to_bytes(8, "little") + bytes(48)
        for kernel in ("mma_same", "mma_counter", "tiled_same"):
            (self.libraries / f"{kernel}.so").write_bytes(b"ELF" + header + entry)
        of = lambda *kernels: [self.libraries / f"{kernel}.so" for kernel in kernels]  # noqa: E731
        gate_trials.require_different_sizes(of("mma_same", "tiled_same"))  # never in one process
        with self.assertRaisesRegex(gate_trials.Failed, "mma_same and mma_counter have one size"):
            gate_trials.require_different_sizes(of("mma_same", "mma_counter"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
