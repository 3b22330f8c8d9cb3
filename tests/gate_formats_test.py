"""The gate's reports against the formats' own schemas and tools, and the workflows: gate_formats_test.py PROGRAM SOURCE

PROGRAM (write_gate_reports) writes every report of sample results, among them such whose every text is hostile. SARIF and
JUnit go through their schemas (tests/data/schemas), Markdown through GitHub's own parser, the textfile through promtool,
workflows through the schemas that editors use; ci/comment.sh runs with a gh and a curl that only write down what they are
asked.
"""
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import jsonschema
import yaml

PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
SCHEMAS = SOURCE / "tests" / "data" / "schemas"
WORKFLOWS = SOURCE / "ci" / "workflows"
MARKER = "<!-- fa-profile gate -->"
REPORTS = {}  # extension -> {name: bytes}


def run(*command, **options):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=6000,
                          **options)


def setUpModule():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([PROGRAM, folder], check=True, timeout=6000)
        for path in sorted(pathlib.Path(folder).iterdir()):
            REPORTS.setdefault(path.suffix, {})[path.stem] = path.read_bytes()


class Rendered(html.parser.HTMLParser):
    """What a page would show: its tags, and the text outside the elements where nothing is looked for."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.loose, self.comments = [], [], "", []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, tuple(sorted(attributes))))
        if tag not in ("br", "hr", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise ValueError(f"</{tag}> closes nothing")

    def handle_comment(self, text):
        self.comments.append(text)

    def handle_data(self, text):
        if not {"code", "pre"} & set(self.open):
            self.loose += text


def rendered(markdown):
    """As GitHub renders a comment, before it takes out what it does not allow."""
    done = subprocess.run(["cmark-gfm", "--unsafe", "-e", "table", "-e", "autolink", "-e", "strikethrough", "-e", "tasklist"],
                          input=markdown, stdout=subprocess.PIPE, check=True, timeout=600)
    return Rendered(done.stdout.decode())


class MarkdownTest(unittest.TestCase):
    def test_only_the_tags_of_the_report_come_out(self):
        alignments = ((), (("align", "left"),), (("align", "right"),))
        allowed = {("h3", ()), ("p", ()), ("ul", ()), ("li", ()), ("strong", ()), ("code", ()), ("pre", ()), ("table", ()),
                   ("thead", ()), ("tbody", ()), ("tr", ()), ("code", (("class", "language-sh"),)), ("pre", (("lang", "sh"),)),
                   ("details", ()), ("summary", ())}
        allowed |= {(cell, alignment) for cell in ("td", "th") for alignment in alignments}
        for name, text in REPORTS[".md"].items():
            page = rendered(text)
            with self.subTest(name):
                self.assertLessEqual(set(page.tags), allowed)
                self.assertEqual(page.open, [])
                self.assertEqual(page.comments, [" fa-profile gate "])
                self.assertEqual([tag for tag, _ in page.tags].count("h3"), 1)
                self.assertLessEqual([tag for tag, _ in page.tags].count("details"), 1)
                self.assertLessEqual(text.split(b"<details>")[0].count(b"\n"), 38)  # and two around the fold

    def test_a_hostile_report_has_the_structure_of_any_other(self):
        def structure(text):
            return [tag for tag, _ in rendered(text).tags if tag not in ("code", "pre")]
        like = structure(REPORTS[".md"]["prefixed22"])  # "mma 1. OWNED end"
        for name, text in REPORTS[".md"].items():
            # A command that is too long to be copied is left out.
            if name.startswith("prefixed") and len(json.loads(REPORTS[".json"][name])["reproduce"]) <= 4096:
                with self.subTest(name):
                    self.assertEqual(structure(text), like)

    def test_nothing_outside_of_code_is_looked_up(self):
        # Of the page as rendered, as GitHub and GitLab look for people, issues, commits, addresses, emoji and formulas.
        references = re.compile(
            r"@\w|[#!&~$^][\w(]|(?<!\S)%\w|\bgh-\d|www\.|://|\w@\w|:\w+:|\b[0-9a-f]{7,40}\b|\\\(|[<>|`*_\[\]{}](?<!->)", re.I)
        for name, text in REPORTS[".md"].items():
            with self.subTest(name):
                found = references.search(rendered(text).loose)
                self.assertIsNone(found, found)

    def test_no_line_is_a_command_to_gitlab(self):
        for name, text in REPORTS[".md"].items():
            block = False
            for line in text.decode().splitlines():
                block ^= line.startswith("```")
                self.assertFalse(not block and line.startswith("/"), (name, line))

    def test_it_fits_and_its_marker_is_found(self):
        for name, text in REPORTS[".md"].items():
            with self.subTest(name):
                self.assertLessEqual(len(text), 65536)
                self.assertEqual(text.decode().split("\n")[0], MARKER)


class SarifTest(unittest.TestCase):
    def test_it_is_valid(self):
        schema = json.loads((SCHEMAS / "sarif-schema-2.1.0.json").read_text())
        validator = jsonschema.Draft4Validator(schema)
        for name, text in REPORTS[".sarif"].items():
            with self.subTest(name):
                self.assertEqual([error.message for error in validator.iter_errors(json.loads(text))], [])
        wrong = json.loads(REPORTS[".sarif"]["regression"])
        wrong["runs"][0]["results"][0]["level"] = "fatal"
        self.assertTrue(list(validator.iter_errors(wrong)))

    def test_every_result_has_what_github_needs(self):
        for name, text in REPORTS[".sarif"].items():
            run = json.loads(text)["runs"][0]
            rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
            self.assertEqual(len(rules), len(set(rules)))
            for result in run["results"]:
                with self.subTest(name):
                    self.assertEqual(rules[result["ruleIndex"]], result["ruleId"])
                    place = result["locations"][0]["physicalLocation"]
                    self.assertRegex(place["artifactLocation"]["uri"], r"^(?!/)(?!.*(^|/)\.\.?(/|$))[\w/.~%-]+$")
                    self.assertGreaterEqual(place["region"]["startLine"], 1)
                    self.assertRegex(result["partialFingerprints"]["primaryLocationLineHash"], r"^[0-9a-f]{16}:1$")
                    self.assertNotRegex(result["message"]["text"], r"[\[\]{}\\\n]")


class JunitTest(unittest.TestCase):
    def test_it_is_valid(self):
        self.assertIsNotNone(shutil.which("xmllint"))
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, text in REPORTS[".xml"].items():
                paths.append(pathlib.Path(folder) / f"{name}.xml")
                paths[-1].write_bytes(text)
            done = run("xmllint", "--noout", "--nonet", "--schema", SCHEMAS / "junit-10.xsd", *paths)
            self.assertEqual(done.returncode, 0, done.stdout.decode()[-3000:])
            paths[0].write_text("<testsuites><testsuite/></testsuites>")
            self.assertNotEqual(run("xmllint", "--noout", "--schema", SCHEMAS / "junit-10.xsd", paths[0]).returncode, 0)

    def test_counts_are_those_of_its_cases(self):
        for name, text in REPORTS[".xml"].items():
            root = ElementTree.fromstring(text)
            suite = root.find("testsuite")
            with self.subTest(name):
                self.assertEqual([child.tag for child in root], ["testsuite"])
                self.assertEqual({child.tag for child in suite}, {"testcase"})
                self.assertEqual(int(suite.get("tests")), len(suite))
                for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
                    self.assertEqual(int(suite.get(attribute)), len(suite.findall(f"testcase/{tag}")))

    def test_texts_survive_as_texts(self):
        root = ElementTree.fromstring(REPORTS[".xml"]["hostile11"])  # "]]></failure></testcase>..."
        self.assertEqual(len(root.findall(".//testcase")), len(ElementTree.fromstring(REPORTS[".xml"]["regression"])[0]))
        self.assertTrue(root.find(".//failure").get("message").startswith("]]></failure></testcase><testcase name=\"OWNED\"/>"))


class JsonTest(unittest.TestCase):
    def test_it_is_valid(self):
        schema = json.loads((SOURCE / "docs" / "gate.schema.json").read_text())
        jsonschema.Draft7Validator.check_schema(schema)
        validator = jsonschema.Draft7Validator(schema)
        for name, text in REPORTS[".json"].items():
            with self.subTest(name):
                self.assertTrue(text.isascii())
                self.assertEqual([error.message for error in validator.iter_errors(json.loads(text))], [])
        wrong = json.loads(REPORTS[".json"]["regression"])
        wrong["cases"][0]["comparisons"] = [{}]
        self.assertTrue(list(validator.iter_errors(wrong)))


class TextfileTest(unittest.TestCase):
    def test_promtool_accepts_it(self):
        for name in ("regression", "control", "nothing", *(name for name in REPORTS[".prom"] if name.startswith("hostile"))):
            with self.subTest(name):
                done = run("promtool", "check", "metrics", input=REPORTS[".prom"][name])
                self.assertEqual((done.returncode, done.stdout), (0, b""))


FAKE_GH = """#!/usr/bin/env python3
import json, os, sys
with open(os.environ["CALLS"], "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
answers = json.loads(os.environ["ANSWERS"])
for part, answer in answers.items():
    if part in " ".join(sys.argv[1:]):
        if answer is None:
            sys.exit(1)
        for page in answer:
            print(json.dumps(page))
        break
"""


class CommentTest(unittest.TestCase):
    """ci/comment.sh"""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("gh", "curl"):
            (self.folder / name).write_text(FAKE_GH)
            (self.folder / name).chmod(0o755)
        self.report = self.folder / "gate.md"
        self.report.write_bytes(REPORTS[".md"]["regression"])
        self.calls = self.folder / "calls"

    def comment(self, answers, files=None, **environment):
        self.calls.write_text("")
        values = {"PATH": f"{self.folder}:{os.environ['PATH']}", "CALLS": str(self.calls), "ANSWERS": json.dumps(answers),
                  **environment}
        done = run("bash", SOURCE / "ci" / "comment.sh", *(files or [self.report]), env=values)
        return done.returncode, done.stdout.decode(), [json.loads(line) for line in self.calls.read_text().splitlines()]

    def github(self, answers, files=None, **more):
        return self.comment(answers, files, GH_REPO="o/r", GH_TOKEN="t", HEAD_OWNER="fork", HEAD_BRANCH="b $(x)",
                            HEAD_SHA="abc", **more)

    PULLS = [[{"number": 6, "head": {"sha": "other"}}, {"number": 7, "head": {"sha": "abc"}}]]
    BOT = {"login": "github-actions[bot]"}

    def test_the_first_report_is_a_new_comment(self):
        code, output, calls = self.github({"/comments": [[{"id": 1, "user": self.BOT, "body": "hello"}]], "pulls": self.PULLS})
        self.assertEqual(code, 0, output)
        self.assertIn("head=fork:b $(x)", calls[0])
        self.assertEqual(calls[-1], ["api", "--method", "POST", "repos/o/r/issues/7/comments", "-F", f"body=@{self.report}"])

    def test_a_later_one_replaces_it(self):
        pages = [[{"id": 1, "user": {"login": "mallory"}, "body": MARKER}],
                 [{"id": 2, "user": self.BOT, "body": f"see {MARKER}"}, {"id": 3, "user": self.BOT, "body": f"{MARKER}\nold"}]]
        code, output, calls = self.github({"issues/comments": [], "/comments": pages, "pulls": self.PULLS})
        self.assertEqual(code, 0, output)
        self.assertEqual(calls[-1][:4], ["api", "--method", "PATCH", "repos/o/r/issues/comments/3"])

    def test_a_pull_request_that_moved_on_is_left_alone(self):
        code, output, calls = self.github({"pulls": [[{"number": 6, "head": {"sha": "other"}}]]})
        self.assertEqual((code, len(calls)), (0, 1), output)
        self.assertIn("no open pull request is at abc", output)

    def test_a_refused_request_is_a_failure(self):
        for answers in ({"pulls": None}, {"/comments": None, "pulls": self.PULLS},
                        {"POST": None, "/comments": [[]], "pulls": self.PULLS}):
            code, output, _ = self.github(answers)
            self.assertEqual(code, 2, output)
            self.assertIn("could not be written", output)

    def test_a_missing_setting_is_named(self):
        code, output, calls = self.comment({}, None, GH_REPO="o/r", GH_TOKEN="t")
        self.assertEqual((code, calls), (2, []), output)
        self.assertEqual(len(output.splitlines()), 1, output)
        self.assertIn("not set: HEAD_OWNER HEAD_BRANCH HEAD_SHA; set them as ci/workflows/github-gate-comment.yml", output)

    def test_only_a_report_is_posted(self):
        missing, link = self.folder / "missing.md", self.folder / "link.md"
        link.symlink_to("/etc/passwd")
        code, output, calls = self.github({}, [missing, link])
        self.assertEqual((code, calls), (0, []), output)
        other = self.folder / "other.md"
        for text in ("hello\n" + MARKER, MARKER + "\n" + "x" * 65536):
            other.write_text(text)
            code, output, calls = self.github({}, [missing, other, self.report])
            self.assertEqual((code, calls), (2, []), output)

    def gitlab(self, answers, **more):
        return self.comment(answers, None, GITLAB_CI="true", CI_API_V4_URL="https://lab/api/v4", CI_PROJECT_ID="5", **more)

    def test_gitlab_replaces_its_own_note(self):
        notes = [[{"id": 1, "author": {"id": 8}, "body": MARKER}, {"id": 2, "author": {"id": 9}, "body": f"{MARKER}\nold"}]]
        answers = {"PUT": [{}], "/user": [{"id": 9}], "notes?": notes}
        code, output, calls = self.gitlab(answers, CI_MERGE_REQUEST_IID="3", GATE_NOTE_TOKEN="secret")
        self.assertEqual(code, 0, output)
        self.assertIn("https://lab/api/v4/projects/5/merge_requests/3/notes/2", calls[-1])
        self.assertIn("PUT", calls[-1])
        self.assertIn(f"body@{self.report}", calls[-1])
        self.assertNotIn("secret", json.dumps(calls))

    def test_gitlab_writes_a_new_note_and_needs_a_token(self):
        answers = {"POST": [{}], "/user": [{"id": 9}], "notes?": [[{"id": 1, "author": {"id": 8}, "body": MARKER}]]}
        code, output, calls = self.gitlab(answers, CI_MERGE_REQUEST_IID="3", GATE_NOTE_TOKEN="secret")
        self.assertEqual(code, 0, output)
        self.assertIn("POST", calls[-1])
        for more in ({"CI_MERGE_REQUEST_IID": "3"}, {"GATE_NOTE_TOKEN": "secret"}):
            code, output, calls = self.gitlab(answers, **more)
            self.assertEqual((code, calls), (0, []), output)
        code, output, _ = self.gitlab({"/user": None}, CI_MERGE_REQUEST_IID="3", GATE_NOTE_TOKEN="secret")
        self.assertEqual(code, 2, output)


class Loader(yaml.SafeLoader):
    """YAML as GitHub reads it, where `on` is a word; and GitLab's !reference."""


Loader.yaml_implicit_resolvers = {first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
                                  for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), "tf")
Loader.add_constructor("!reference", lambda loader, node: loader.construct_sequence(node))


class WorkflowTest(unittest.TestCase):
    # Of pull requests; the nightly ones run no code of a pull request.
    GITHUB = sorted(set(WORKFLOWS.glob("github-*.yml")) - {WORKFLOWS / "github-nightly.yml"})
    NIGHTLY = WORKFLOWS / "github-nightly.yml", WORKFLOWS / "gitlab-nightly.yml"

    def load(self, path):
        return yaml.load(path.read_text(), Loader)

    def test_they_fit_their_schemas(self):
        self.assertEqual(len(self.GITHUB), 2)
        github = jsonschema.Draft7Validator(json.loads((SCHEMAS / "github-workflows.json").read_text()))
        gitlab = jsonschema.Draft7Validator(json.loads((SCHEMAS / "gitlab-ci.json").read_text()))
        files = [(path, github) for path in (*self.GITHUB, self.NIGHTLY[0])]
        for path, validator in [*files, (WORKFLOWS / "gitlab-gate.yml", gitlab), (self.NIGHTLY[1], gitlab)]:
            with self.subTest(path.name):
                self.assertEqual([error.message for error in validator.iter_errors(self.load(path))], [])

    @unittest.skipUnless(shutil.which("actionlint"), "no actionlint here")
    def test_actionlint_finds_nothing(self):
        done = run("actionlint", "-config-file", "/dev/null", *self.GITHUB, self.NIGHTLY[0])
        self.assertEqual(done.returncode, 0, done.stdout.decode())

    def nightly_scripts(self):
        steps = self.load(self.NIGHTLY[0])["jobs"]["history"]["steps"]
        return ["\n".join(step["run"] for step in steps if "run" in step),
                "\n".join(self.load(self.NIGHTLY[1])["gate:history"]["script"])]

    def test_a_night_is_measured_added_shown_and_held_against_the_baseline_and_nothing_is_promoted(self):
        for script in self.nightly_scripts():
            done = run("bash", "-n", "-c", script)
            self.assertEqual(done.returncode, 0, done.stdout.decode())
            commands = re.findall(r"fa-profile gate ((?:--measure|history (?:add|show)|--strict --candidate))", script)
            self.assertEqual(commands, ["--measure", "history add", "history show", "history show", "--strict --candidate"])
            self.assertNotIn("${{", script)
            for word in ("promote ", "--pair", "|| true"):
                self.assertNotIn(word, script)
            # A repository without a baseline has its history all the same.
            budget = script[script.index("if ! compgen"):]
            with tempfile.TemporaryDirectory() as empty:
                done = subprocess.run(["bash", "-e", "-c", budget], cwd=empty, stdout=subprocess.PIPE,
                                      env={**os.environ, "GITHUB_STEP_SUMMARY": "summary"})  # fmt: skip
            self.assertEqual((done.returncode, done.stdout), (0, b"no baseline is promoted: docs/gate.md\n"))

    def test_a_nightly_job_runs_the_default_branch_alone_on_the_gpu(self):
        github, gitlab = (self.load(path) for path in self.NIGHTLY)
        self.assertEqual(set(github["on"]), {"schedule", "workflow_dispatch"})
        self.assertEqual(github["permissions"], {})
        job = github["jobs"]["history"]
        self.assertEqual(job["permissions"], {"contents": "read"})
        self.assertEqual(job["concurrency"]["group"], "gate-gpu")
        for step in job["steps"]:
            if "uses" in step:
                self.assertRegex(step["uses"], r"@v\d+$|@[0-9a-f]{40}$")
            if step.get("uses", "").startswith("actions/checkout"):
                self.assertFalse(step["with"]["persist-credentials"])
        self.assertEqual(gitlab["gate:history"]["resource_group"], "gate-gpu")
        self.assertIn('$CI_PIPELINE_SOURCE == "schedule"', gitlab["gate:history"]["rules"][0]["if"])

    def scripts(self):
        for path in self.GITHUB:
            for job in self.load(path)["jobs"].values():
                yield from ((path.name, step["run"]) for step in job["steps"] if "run" in step)
        for name, job in self.load(WORKFLOWS / "gitlab-gate.yml").items():
            for key in ("before_script", "script", "after_script"):
                yield from ((name, line) for line in job.get(key, []) if isinstance(line, str))

    def test_scripts_are_sound(self):
        for name, script in self.scripts():
            with self.subTest(name=name, script=script):
                done = run("bash", "-n", "-c", script)
                self.assertEqual(done.returncode, 0, done.stdout.decode())
                # What a stranger chose, a branch's name say, reaches a script through its environment alone.
                self.assertNotIn("${{", script)

    def test_tokens_have_the_least_permissions(self):
        for path in self.GITHUB:
            workflow = self.load(path)
            self.assertEqual(workflow["permissions"], {})
            for name, job in workflow["jobs"].items():
                writes = {right for right, level in job["permissions"].items() if level == "write"}
                # What runs a pull request's code comments on nothing; what comments runs none of it.
                self.assertEqual(writes, {"comment": {"pull-requests"}}.get(name, {"security-events"}))
                for step in job["steps"]:
                    if step.get("uses", "").startswith("actions/checkout"):
                        self.assertFalse(step["with"]["persist-credentials"])
                        self.assertNotIn("ref", step["with"])
                    if "uses" in step:
                        self.assertRegex(step["uses"], r"@v\d+$|@[0-9a-f]{40}$")

    def test_no_fork_reaches_the_gpu(self):
        jobs = self.load(WORKFLOWS / "github-gate.yml")["jobs"]
        self.assertIn("github.event.pull_request.head.repo.full_name == github.repository", jobs["pair"]["if"])
        self.assertEqual([name for name, job in jobs.items() if "self-hosted" in job["runs-on"]], ["pair"])
        jobs = self.load(WORKFLOWS / "gitlab-gate.yml")
        self.assertIn("$CI_MERGE_REQUEST_SOURCE_PROJECT_ID == $CI_PROJECT_ID", jobs["gate:pair"]["rules"][0]["if"])
        self.assertEqual([name for name, job in jobs.items() if "tags" in job], ["gate:pair"])

    OPTIONS = {"--baseline", "--candidate", "--pair", "--static", "--baselines", "--thresholds", "--explain", "--strict",
               "--markdown", "--sarif", "--junit", "--json", "--textfile", "--annotations", "--summary", "--save"}

    def test_workflows_use_options_that_the_gate_has(self):
        commands = [script for _, script in self.scripts() if "fa-profile gate" in script]
        self.assertEqual(len(commands), 4)
        for script in commands:
            command = script[script.index("fa-profile gate"):].replace("\\\n", " ").splitlines()[0]
            options = set(re.findall(r"(?<=\s)--[a-z]+", command))
            self.assertLessEqual(options, self.OPTIONS)
            self.assertIn("--thresholds", options)
            self.assertRegex(script, r'"\$(RUNNER_TEMP|GATE_ROOT)/base/ci/thresholds.yaml"')
            self.assertIn("--strict", options)

    def test_a_pull_request_cannot_change_its_judge(self):
        builds = [script for _, script in self.scripts() if "cmake --build" in script]
        self.assertEqual(len(builds), 4)
        for script in builds:  # the base first, and then it is no longer written
            self.assertRegex(script, r'for side in "\$(RUNNER_TEMP|GATE_ROOT)/base" (head|\.); do')
            self.assertRegex(script, r'find "\$(RUNNER_TEMP|GATE_ROOT)/base" -type f -exec chmod a-w')
        for name, script in self.scripts():
            if name != "github-gate-comment.yml":  # that one checks out the default branch
                self.assertNotRegex(script, r"(?m)(^|[\s.])(head/|\./|base/)?ci/\w+\.sh", name)

    def test_one_job_writes_the_note(self):
        jobs = self.load(WORKFLOWS / "gitlab-gate.yml")
        notes = {name for name, script in self.scripts() if name in jobs and "comment.sh" in script}
        self.assertEqual(notes, {"gate:comment"})
        needs = {need["job"] for need in jobs["gate:comment"]["needs"]}
        self.assertEqual(needs, {"gate:static", "gate:pair"})

    def test_the_comment_is_of_the_gate_and_its_reports(self):
        gate, comment = (self.load(WORKFLOWS / name) for name in ("github-gate.yml", "github-gate-comment.yml"))
        self.assertEqual(comment["on"]["workflow_run"]["workflows"], [gate["name"]])
        artifacts = {step["with"]["name"] for job in gate["jobs"].values() for step in job["steps"]
                     if step.get("uses", "").startswith("actions/upload-artifact")}
        self.assertEqual(artifacts, {"gate-static", "gate-pair"})
        script = comment["jobs"]["comment"]["steps"][-1]["run"]
        self.assertEqual(script.split()[1:], ["reports/gate-pair/gate.md", "reports/gate-static/gate.md"])

    def test_the_comment_script_is_clean(self):
        self.assertIsNotNone(shutil.which("shellcheck"))
        done = run("shellcheck", SOURCE / "ci" / "comment.sh")
        self.assertEqual(done.returncode, 0, done.stdout.decode())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
