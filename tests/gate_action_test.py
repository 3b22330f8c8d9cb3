"""The gate for other repositories: the action, GitLab's template and what gate init writes. Arguments: program, source root.

The scripts run here as a runner runs them, with the variables that it sets, on machine code and on saved runs; the YAML goes
through the schemas that editors use. What needs a GPU runs with a program that only writes down how it was called.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import jsonschema
import yaml

from support.recordings import LADDER

PROGRAM, ROOT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
ACTION, WORKFLOWS, SCHEMAS = ROOT / "ci" / "action", ROOT / "ci" / "workflows", ROOT / "tests" / "data" / "schemas"
CUBINS = ROOT / "tests" / "data" / "cubins"
MARKER = "<!-- fa-profile gate -->"


class Loader(yaml.SafeLoader):
    """YAML as GitHub reads it, where `on` is a word; and GitLab's !reference."""


Loader.yaml_implicit_resolvers = {first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
                                  for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), "tf")
Loader.add_constructor("!reference", lambda loader, node: loader.construct_sequence(node))


def load(text):
    return yaml.load(text, Loader)


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.bin = self.folder / "bin"
        self.bin.mkdir()

    def script(self, name, text):
        path = self.bin / name
        path.write_text("#!/bin/bash\n" + text)
        path.chmod(0o755)
        return path

    def run_in(self, *arguments, **environment):
        """As a step: only what a runner sets, and what the workflow gives."""
        values = {"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": os.environ.get("HOME", "/"), **environment}
        values = {name: str(value) for name, value in values.items()}
        done = subprocess.run([str(argument) for argument in arguments], cwd=self.folder, env=values, text=True,
                              capture_output=True, timeout=600)
        return done.returncode, done.stdout, done.stderr


class GateScriptTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.script("nvidia-smi", "exit 9\n")  # a machine without a GPU, whatever this one has
        for name in ("base", "head"):
            (self.folder / name).mkdir()
            shutil.copy(CUBINS / "sm_90a.cubin", self.folder / name / "kernel.cubin")

    def gate(self, **environment):
        values = {"FA_PROFILE": PROGRAM, "GATE_BASE": "base/kernel.cubin", "GATE_HEAD": "head/kernel.cubin", **environment}
        return self.run_in("bash", ACTION / "gate.sh", **values)

    def spy(self):
        """A program that writes down its arguments, and a GPU for it."""
        self.script("nvidia-smi", 'echo "GPU 0: NVIDIA H200"\n')
        calls = self.folder / "calls"
        program = self.script("spy", f'printf "%s|" "$@" >>{calls}; echo >>{calls}\n')
        return program, lambda: [line.rstrip("|").split("|") for line in calls.read_text().splitlines()]

    def test_machine_code_is_judged_where_there_is_no_gpu(self):
        summary, output = self.folder / "summary", self.folder / "output"
        code, out, err = self.gate(GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=summary, GITHUB_OUTPUT=output)
        self.assertEqual(code, 0, out + err)
        self.assertIn("gate: static: base/kernel.cubin and head/kernel.cubin", err)
        self.assertEqual(output.read_text(), "exit-code=0\nmode=static\nreport=gate-report\n")
        report = self.folder / "gate-report"
        self.assertTrue((report / "gate.md").read_text().startswith(MARKER))
        self.assertTrue(summary.read_text().startswith(MARKER))
        self.assertEqual(json.loads((report / "gate.json").read_text())["verdict"], "PASS")
        self.assertEqual(sorted(path.name for path in report.iterdir()), ["gate.json", "gate.md", "gate.sarif", "gate.xml"])

    def test_a_broken_rule_is_exit_code_1_with_every_report(self):
        limits = self.folder / "limits.yaml"
        limits.write_text('version: 1\nrules:\n  - {kernel: "*", metric: registers_per_thread, maximum: 1, owner: me}\n')
        output = self.folder / "output"
        code, out, err = self.gate(GATE_THRESHOLDS=limits, GITHUB_OUTPUT=output)
        self.assertEqual(code, 1, out + err)
        self.assertIn("exit-code=1\n", output.read_text())
        self.assertIn("REGRESSION", (self.folder / "gate-report" / "gate.md").read_text())

    def test_the_defaults_hold_where_the_base_has_no_limits_yet(self):
        code, out, err = self.gate(GATE_THRESHOLDS="base/ci/thresholds.yaml")
        self.assertEqual(code, 0, out + err)
        self.assertIn("there is no base/ci/thresholds.yaml yet: the defaults hold", err)

    def test_reports_of_an_older_run_do_not_stay(self):
        self.assertEqual(self.gate()[0], 0)
        code, _, err = self.gate(GATE_HEAD="head/gone.cubin")
        self.assertEqual(code, 2, err)
        self.assertIn("GATE_HEAD is head/gone.cubin, which does not exist", err)
        limits = self.folder / "limits.yaml"
        limits.write_text("version: 2\n")
        code, _, err = self.gate(GATE_THRESHOLDS=limits)
        self.assertEqual(code, 2, err)
        self.assertEqual(list((self.folder / "gate-report").iterdir()), [])

    def test_builds_are_measured_in_turns_where_there_is_a_gpu(self):
        program, calls = self.spy()
        for name in ("base", "head"):
            shutil.copy(CUBINS / "sm_90a.cubin", self.folder / name / "kernel.so")
        code, _, err = self.gate(FA_PROFILE=program, GATE_SHAPES="1,8,512,64\n2,8,512,64 causal\n", GATE_KERNEL="a|b c",
                                 GATE_STRICT="false", GATE_BASE="base/kernel.so", GATE_HEAD="head/kernel.so")
        self.assertEqual(code, 0, err)
        self.assertEqual(self.gate(FA_PROFILE=program)[0], 0)
        call, of_cubins = calls()
        self.assertEqual(of_cubins[:2], ["gate", "--static"])  # --pair cannot call them
        self.assertEqual(call[:2], ["gate", "--pair"])
        self.assertEqual(call[2:4], ["base/kernel.so", "head/kernel.so"])
        self.assertEqual([call[i + 1] for i, word in enumerate(call) if word == "--shape"], ["1,8,512,64", "2,8,512,64 causal"])
        self.assertNotIn("--strict", call)
        self.assertIn("--save", call)

    def test_programs_are_recorded_in_turns(self):
        program, calls = self.spy()
        code, _, err = self.gate(FA_PROFILE=program, GATE_BASE="", GATE_HEAD="", GATE_BASE_COMMAND="python3 base/x.py '1 2'",
                                 GATE_HEAD_COMMAND="python3 head/x.py", GATE_RECORDINGS="3")
        self.assertEqual(code, 0, err)
        *recorded, judged = calls()
        files = [call[call.index("-o") + 1].rsplit("/", 1)[1] for call in recorded]
        self.assertEqual(files, ["base-1.fap", "head-1.fap", "head-2.fap", "base-2.fap", "base-3.fap", "head-3.fap"])
        self.assertEqual(recorded[0][-4:], ["--", "bash", "-c", "python3 base/x.py '1 2'"])
        self.assertEqual(sum(word == "--candidate" for word in judged), 3)

    def test_what_was_asked_wrongly_is_named(self):
        for environment, text in (({"GATE_HEAD": ""}, "GATE_HEAD is not set"), ({"GATE_MODE": "fast"}, "GATE_MODE is 'fast'"),
                                  ({"GATE_STRICT": "yes"}, "GATE_STRICT is 'yes'"),
                                  ({"GATE_BASE_COMMAND": "x"}, "set both GATE_BASE_COMMAND and GATE_HEAD_COMMAND"),
                                  ({"FA_PROFILE": "/no/fa-profile"}, "there is no /no/fa-profile")):
            code, out, err = self.gate(**environment)
            self.assertEqual((code, out), (2, ""), err)
            self.assertIn(text, err)


class InstallScriptTest(FolderTest):
    def setUp(self):
        super().setUp()
        tree = self.folder / "fa-profile-1" / "bin"
        tree.mkdir(parents=True)
        program = tree / "fa-profile"
        program.write_text("#!/bin/sh\necho fa-profile 1\n")
        program.chmod(0o755)
        self.tarball = self.folder / "fa-profile-1.tar.gz"
        with tarfile.open(self.tarball, "w:gz") as archive:
            archive.add(tree.parent, arcname="fa-profile-1")
        self.sum = hashlib.sha256(self.tarball.read_bytes()).hexdigest()

    def install(self, **environment):
        return self.run_in("bash", ACTION / "install.sh", RUNNER_TEMP=self.folder / "temp",
                           GITHUB_PATH=self.folder / "path", **environment)

    def test_a_tarball_is_unpacked_and_added_to_the_path(self):
        code, out, err = self.install(FA_PROFILE_TARBALL=self.tarball, FA_PROFILE_SHA256=self.sum)
        self.assertEqual(code, 0, err)
        self.assertTrue((pathlib.Path(out.strip()) / "fa-profile").exists())
        self.assertEqual((self.folder / "path").read_text(), out)

    def test_an_address_is_fetched_and_its_checksum_compared(self):
        self.script("curl", f'while [ "$1" != --output ]; do shift; done; cp {self.tarball} "$2"\n')
        address = "https://example.com/fa-profile.tar.gz"
        self.assertEqual(self.install(FA_PROFILE_TARBALL=address, FA_PROFILE_SHA256=self.sum)[0], 0)
        for environment, text in (({"FA_PROFILE_SHA256": "0" * 64}, "the checksum of https://example.com"),
                                  ({}, "FA_PROFILE_SHA256 is not set")):
            code, out, err = self.install(FA_PROFILE_TARBALL=address, **environment)
            self.assertEqual((code, out), (2, ""), err)
            self.assertIn(text, err)

    def test_what_cannot_be_installed_is_named(self):
        (self.folder / "text").write_text("no archive")
        for tarball, text in (("http://example.com/x.tar.gz", "use https:// or a path"), (self.folder / "gone", "there is no file"),
                              (self.folder / "text", "not a tarball of fa-profile")):
            code, out, err = self.install(FA_PROFILE_TARBALL=tarball)
            self.assertEqual((code, out), (2, ""), err)
            self.assertIn(text, err)
        self.assertEqual(list((self.folder / "temp").glob("*")) if (self.folder / "temp").exists() else [], [])

    def test_without_a_tarball_the_installed_program_is_used(self):
        self.script("fa-profile", "")
        code, out, err = self.install()
        self.assertEqual((code, out.strip()), (0, str(self.bin)), err)


class YamlTest(unittest.TestCase):
    ACTIONS = (ACTION / "action.yml", ACTION / "comment" / "action.yml", ACTION / "release" / "action.yml")

    def fits(self, schema, document):
        validator = jsonschema.Draft7Validator(json.loads((SCHEMAS / schema).read_text()))
        self.assertEqual([error.message for error in validator.iter_errors(document)], [])

    def test_actions_fit_the_schema(self):
        for path in self.ACTIONS:
            with self.subTest(path):
                self.fits("github-action.json", load(path.read_text()))

    def test_nothing_that_a_stranger_chose_is_part_of_a_script(self):
        for path in self.ACTIONS:
            for step in load(path.read_text())["runs"]["steps"]:
                self.assertNotIn("${{", step.get("run", ""))
                if "uses" in step:
                    self.assertRegex(step["uses"], r"@v\d+$|@[0-9a-f]{40}$")

    def test_the_action_gives_the_script_all_that_it_reads(self):
        for action, script in (("action.yml", "gate.sh"), ("release/action.yml", "release/release.sh")):
            steps = load((ACTION / action).read_text())["runs"]["steps"]
            given = {name for step in steps for name in step.get("env", {})}
            read = set(re.findall(r"\$\{?!?((?:GATE|RELEASE|FA_PROFILE)_[A-Z0-9_]+)", (ACTION / script).read_text()))
            self.assertEqual(read - given, set())
            inputs = set(load((ACTION / action).read_text())["inputs"])
            used = set(re.findall(r"inputs\.([a-z0-9-]+)", (ACTION / action).read_text()))
            self.assertEqual(inputs, used)

    def test_the_template_fits_the_schema_and_its_scripts_are_sound(self):
        jobs = load((WORKFLOWS / "gitlab-template.yml").read_text())
        self.fits("gitlab-ci.json", jobs)
        for job in jobs.values():
            for key in ("before_script", "script", "after_script"):
                for line in filter(lambda line: isinstance(line, str), job.get(key, [])):
                    self.assertEqual(subprocess.run(["bash", "-n", "-c", line]).returncode, 0, line)
            if "script" in job:
                self.assertIn("$CI_MERGE_REQUEST_SOURCE_PROJECT_ID == $CI_PROJECT_ID", job["rules"][0]["if"])
                self.assertEqual(job["extends"], ".fa-profile-install")

    def test_the_scripts_are_clean(self):
        self.assertIsNotNone(shutil.which("shellcheck"))
        for name in ("action/gate.sh", "action/install.sh", "action/release/release.sh", "package.sh", "package_test.sh"):
            done = subprocess.run(["shellcheck", ROOT / "ci" / name], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)


class ReleaseScriptTest(FolderTest):
    def setUp(self):
        super().setUp()
        (self.folder / "dist").mkdir()
        for name, cubin in (("old.cubin", "release_sm_80.cubin"), ("dist/new.cubin", "release_spills_sm_80.cubin")):
            shutil.copy(CUBINS / cubin, self.folder / name)

    def release(self, **environment):
        values = {"FA_PROFILE": PROGRAM, "RELEASE_OLD": "old.cubin", "RELEASE_NEW": "dist/*.cubin", **environment}
        return self.run_in("bash", ACTION / "release" / "release.sh", **values)

    def test_spills_are_exit_code_1_with_every_report(self):
        output, summary = self.folder / "output", self.folder / "summary"
        code, out, err = self.release(GITHUB_OUTPUT=output, GITHUB_STEP_SUMMARY=summary)
        self.assertEqual(code, 1, out + err)
        self.assertIn("REGRESSION", out)
        self.assertEqual(output.read_text(), "exit-code=1\nreport=release-report\n")
        report = self.folder / "release-report"
        self.assertEqual(sorted(path.name for path in report.iterdir()), ["release-check.json", "release.json", "release.md"])
        self.assertIn("REGRESSION", summary.read_text())
        # What it keeps is the next release's old one.
        code, out, err = self.release(RELEASE_OLD="release-report/release.json")
        self.assertEqual(code, 0, out + err)

    def test_a_release_on_the_index_is_downloaded(self):
        self.script("python3", 'echo "$@" >&2; while [ "$1" != --dest ]; do shift; done; cp old.cubin "$2/name.whl"\n')
        code, out, err = self.release(RELEASE_OLD="name==1.0")
        self.assertIn("-m pip download --quiet --no-deps --only-binary :all: --dest", err)
        self.assertIn("name.whl", err)  # not a zip archive: it was given to the program
        self.assertEqual(code, 2, out + err)

    def test_what_is_not_one_release_is_refused(self):
        shutil.copy(CUBINS / "release_sm_80.cubin", self.folder / "dist" / "other.cubin")
        for says, environment in (("matches 2 files", {}), ("does not exist", {"RELEASE_NEW": "dist/none*"}),
                                  ("RELEASE_NEW is not set", {"RELEASE_NEW": ""}),
                                  ("use true or false", {"RELEASE_STRICT": "maybe", "RELEASE_NEW": "dist/new.cubin"})):
            code, out, err = self.release(**environment)
            self.assertEqual(code, 2, out + err)
            self.assertIn(says, err)

    def test_losses_may_be_allowed(self):
        code, out, err = self.release(RELEASE_NEW=CUBINS / "release_sm_90.cubin", RELEASE_STRICT="false")
        self.assertEqual(code, 1, out + err)
        code, out, err = self.release(RELEASE_NEW=CUBINS / "release_sm_90.cubin", RELEASE_ALLOW_LOST="sm_80")
        self.assertEqual(code, 0, out + err)


class GateInitTest(FolderTest):
    def init(self, *arguments):
        return self.run_in(PROGRAM, "gate", "init", *arguments)

    def refused(self, *arguments, says):
        before = sorted(self.folder.rglob("*"))
        code, out, err = self.init(*arguments)
        self.assertEqual((code, out), (2, ""), err)
        self.assertEqual(err.count("fa-profile: error:"), 1, err)
        self.assertIn(says, err)
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_the_file_passes_explain_and_judges_as_no_file_does(self):
        cubin, recording = CUBINS / "sm_90a.cubin", LADDER
        code, out, err = self.init(cubin, recording)
        self.assertEqual(code, 0, err)
        self.assertTrue(out.startswith("wrote ci/thresholds.yaml\n"), out)
        text = (self.folder / "ci" / "thresholds.yaml").read_text()
        self.assertIn('#  #   "mma", shape "1,8,512,64": sm_90,', text)
        schema = json.loads((ROOT / "ci" / "thresholds.schema.json").read_text())
        self.assertEqual(list(jsonschema.Draft7Validator(schema).iter_errors(yaml.safe_load(text))), [])
        for question in (("--static", cubin, cubin), ("--candidate", recording, "--baseline", recording)):
            code, out, err = self.run_in(PROGRAM, "gate", "--explain", *question)
            self.assertEqual(code, 0, err)
            self.assertIn("from ci/thresholds.yaml and the defaults", out)
            self.assertNotIn(" default\n", out)
            self.assertEqual(self.run_in(PROGRAM, "gate", *question)[0], 0)

    def test_every_proposed_rule_can_be_used(self):
        cubin = CUBINS / "sm_90a.cubin"
        self.assertEqual(self.init(cubin)[0], 0)
        path = self.folder / "ci" / "thresholds.yaml"
        path.write_text(re.sub(r"(?m)^#(?=rules:|exceptions:|  |$)", "", path.read_text()))
        code, out, err = self.run_in(PROGRAM, "gate", "--static", cubin, cubin)
        self.assertEqual(code, 0, out + err)

    def test_the_workflows_fit_their_schemas_and_name_what_was_found(self):
        (self.folder / "build").mkdir()
        shutil.copy(CUBINS / "sm_90a.cubin", self.folder / "build" / "libmine.so")
        code, out, err = self.init("build/libmine.so", "--workflow", "github", "--from", "me/fa-profile")
        self.assertEqual(code, 0, err)
        schema = jsonschema.Draft7Validator(json.loads((SCHEMAS / "github-workflows.json").read_text()))
        texts = {}
        for name in ("gate.yml", "gate-comment.yml"):
            texts[name] = (self.folder / ".github" / "workflows" / name).read_text()
            self.assertEqual([error.message for error in schema.iter_errors(load(texts[name]))], [])
            self.assertNotRegex(texts[name], r"@[A-Z]+@")
        gate, comment = (load(texts[name]) for name in ("gate.yml", "gate-comment.yml"))
        self.assertEqual(comment["on"]["workflow_run"]["workflows"], [gate["name"]])
        step = gate["jobs"]["gate"]["steps"][-1]
        self.assertRegex(step["uses"], r"^me/fa-profile/ci/action@v\d+\.\d+\.\d+$")
        self.assertLessEqual(set(step["with"]), set(load((ACTION / "action.yml").read_text())["inputs"]))
        self.assertEqual((step["with"]["base"], step["with"]["thresholds"]), ("base/build/libmine.so", "base/ci/thresholds.yaml"))
        self.assertIn("head.repo.full_name == github.repository", gate["jobs"]["gate"]["if"])
        code, out, err = self.init("-o", "limits.yaml", "--workflow", "gitlab", "--from", "group/team/fa-profile")
        self.assertEqual(code, 0, err)
        self.assertIn("what it builds instead of build/libmine.so (GATE_BASE and GATE_HEAD)", out)
        jobs = load((self.folder / ".gitlab" / "fa-profile-gate.yml").read_text())
        jsonschema.Draft7Validator(json.loads((SCHEMAS / "gitlab-ci.json").read_text())).validate(jobs)
        template = load((WORKFLOWS / "gitlab-template.yml").read_text())
        for name in ("gate", "gate comment"):
            self.assertIn(jobs[name]["extends"], template)
        self.assertEqual(jobs["gate"]["variables"]["GATE_THRESHOLDS"], "base/limits.yaml")
        self.assertEqual(jobs["include"][0]["file"], "/ci/workflows/gitlab-template.yml")

    def test_a_workflow_compares_the_cubin_that_was_given(self):
        shutil.copy(CUBINS / "sm_90a.cubin", self.folder / "other.cubin")
        code, out, err = self.init(CUBINS / "sm_90a.cubin", "other.cubin", "--workflow", "github")
        self.assertEqual(code, 0, err)
        self.assertNotIn("libmine.so", out)
        step = load((self.folder / ".github" / "workflows" / "gate.yml").read_text())["jobs"]["gate"]["steps"][-1]
        self.assertEqual((step["with"]["base"], step["with"]["head"]), ("base/other.cubin", "head/other.cubin"))

    def test_a_damaged_cubin_in_a_folder_is_named(self):
        (self.folder / "build").mkdir()
        whole = (CUBINS / "sm_90a.cubin").read_bytes()
        (self.folder / "build" / "cut.cubin").write_bytes(whole[:9000])
        self.refused("build", says="build/cut.cubin: the cubin is cut off")

    def test_nothing_is_written_over_or_half_written(self):
        (self.folder / "ci").mkdir()
        limits = self.folder / "ci" / "thresholds.yaml"
        limits.symlink_to("/nonexistent/target")
        self.refused(says="ci/thresholds.yaml already exists")
        limits.unlink()
        (self.folder / ".github" / "workflows").mkdir(parents=True)
        (self.folder / ".github" / "workflows" / "gate-comment.yml").write_text("mine")
        self.refused("--workflow", "github", says="gate-comment.yml already exists")
        self.refused(CUBINS / "gone.cubin", says="gone.cubin")
        self.refused("-o", "/tmp/x.yaml", "--workflow", "gitlab", says="cannot be part of a workflow")
        self.refused("--workflow", "gitlab", "--from", "a/b\n: c", says="--from must be GROUP/REPOSITORY, not 'a/b\\x0A: c'")
        for name in ("a", "a/", "a//b", "/a", "a/b/c", "-a/b", "../b", "o/" + 3000 * "n"):
            self.refused("--workflow", "github", "--from", name, says="--from must be OWNER/REPOSITORY, not '")
        self.refused("-o", "-", says="- cannot be written")
        self.refused("--workflow", "jenkins", says="--workflow must be github or gitlab, not 'jenkins'")
        self.refused("--from", "me/fa-profile", says="--from has no effect without --workflow")
        self.refused("-o", "n" * 300, says="its name is too long")
        self.refused("-o", "none/x.yaml", says="mkdir -p none")
        self.refused("-o", "ci", says="it is a directory")
        shutil.rmtree(self.folder / ".github" / "workflows")
        (self.folder / ".github" / "workflows").write_text("a file")
        self.refused("--workflow", "github", says=".github/workflows is not a folder")

    def test_a_workflow_is_added_to_limits_that_are_there(self):
        (self.folder / "limits.yaml").write_text("version: 1\n")
        code, out, err = self.init("-o", "limits.yaml", "--workflow", "gitlab")
        self.assertEqual(code, 0, err)
        self.assertTrue(out.startswith("kept limits.yaml\nwrote .gitlab/fa-profile-gate.yml\n"), out)
        self.assertEqual((self.folder / "limits.yaml").read_text(), "version: 1\n")
        self.refused("-o", "limits.yaml", says="limits.yaml already exists")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
