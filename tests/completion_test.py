"""Shell completion and manual pages: completion_test.py PROGRAM SOURCE

Both are written from the command line's own description. The shells themselves complete command lines here.
"""
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from support.processes import LONG

PROGRAM, SOURCE = sys.argv[1:3]
ENVIRONMENT = {**os.environ, "LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": "1782864000"}  # 2026-07-01
HAS_KERNELS = subprocess.run([PROGRAM, "list", "kernels"], capture_output=True).returncode == 0


def run(*command, **options):
    return subprocess.run(command, text=True, capture_output=True, timeout=LONG, env=ENVIRONMENT, **options)


def printed(*arguments):
    """stdout of fa-profile, which must succeed."""
    made = run(PROGRAM, *arguments)
    assert made.returncode == 0 and made.stderr == "", made.stderr
    return made.stdout


def commands_of(path=()):
    """[(words, help)] of a command and all below it, as --help lists them."""
    text = printed(*path, "--help")
    found = [(path, text)]
    listed = text.split("Subcommands:\n")[1].split("\n\n")[0] if "Subcommands:\n" in text else ""
    for name in re.findall(r"^  (\S+)", listed, re.M):
        found += commands_of((*path, name))
    return found


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        for name in ("bash", "zsh", "fish"):
            (cls.folder / f"_fa-profile.{name}").write_text(printed("completion", name))
        (cls.folder / "work" / "sub").mkdir(parents=True)
        for name in ("a.fap", "b c.fap", "run.fap.part", "x.json", "x.txt"):
            (cls.folder / "work" / name).touch()

    def bash(self, *words):
        """What bash offers for the last of these words."""
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _fa_profile; '
                  'if ((${#COMPREPLY[@]})); then printf "%s\\n" "${COMPREPLY[@]}"; fi')
        made = run("bash", "--norc", "-c", script, "bash", str(self.folder / "_fa-profile.bash"), "fa-profile", *words,
                   cwd=self.folder / "work")
        self.assertEqual(made.stderr, "")
        return made.stdout.splitlines()

    def fish(self, line):
        made = run("fish", "--no-config", "-c", 'source $argv[1]; complete -C $argv[2]',
                   str(self.folder / "_fa-profile.fish"), f"fa-profile {line}", cwd=self.folder / "work")
        self.assertEqual(made.stderr, "")
        return [each.split("\t")[0] for each in made.stdout.splitlines()]

    def test_bash_completes_commands_options_choices_and_files(self):
        self.assertEqual(self.bash("rep"), ["report"])
        self.assertIn("gate", self.bash(""))
        self.assertEqual(self.bash("gate", "hi"), ["history"])
        self.assertEqual(self.bash("gate", "history", ""), ["add", "show"])
        self.assertEqual(self.bash("--ncu"), ["--ncu-set"])
        self.assertEqual(self.bash("--ncu-set", ""), ["basic", "detailed", "full", "roofline", "phases", "triage"])
        self.assertTrue({"text", "json", "jsonl", "csv"} <= set(self.bash("report", "--format", "")))
        self.assertEqual(self.bash("report", "--format", "=", "js"), ["json", "jsonl"])  # as bash splits --format=js
        self.assertEqual(self.bash("report", "--explain", "bank"), ["bank-conflicts"])
        self.assertEqual(self.bash("report", ""), ["sub", "a.fap", "b c.fap", "run.fap.part"])
        self.assertEqual(self.bash("report", "a.fap", "b"), ["b c.fap"])
        self.assertEqual(self.bash("diff", "--format", "text", "a.fap", ""), ["sub", "a.fap", "b c.fap"])
        self.assertEqual(sorted(self.bash("gate", "--candidate", "a.fap", "x")), ["x.json", "x.txt"])  # several values
        self.assertEqual(self.bash("serve", "--spool", ""), ["sub"])
        self.assertEqual(self.bash("new", "k"), ["kernel-lib"])
        self.assertEqual(self.bash("new", "s"), ["skill"])
        self.assertEqual(self.bash("man", "gate", "selft"), ["selftest"])
        self.assertIn("gate-selftest", self.bash("man", "gate"))
        self.assertEqual(self.bash("help", "gate", "selft"), ["selftest"])
        self.assertEqual(self.bash("completion", "z"), ["zsh"])
        self.assertEqual(self.bash("--warmup", ""), [])
        self.assertEqual(self.bash("report", "--nvtx", ""), [])
        self.assertNotIn("--kernel-library", self.bash("--"))

    def test_bash_completes_the_program_that_follows_two_dashes(self):
        self.assertIn("env", self.bash("-o", "x.fap", "--", "en"))
        self.assertEqual(self.bash("-o", "x.fap", "--", "python3", "x.t"), ["x.txt"])

    @unittest.skipUnless(HAS_KERNELS, "built without the kernels")
    def test_the_ladders_kernels_are_choices(self):
        self.assertEqual(self.bash("--kernel", "se"), ["serial_softmax"])
        self.assertEqual(self.fish("gate --kernel se"), ["serial_softmax"])

    def test_bash_knows_every_option_that_help_lists(self):
        for path, text in commands_of():
            offered = self.bash(*path, "-")
            for option in re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.M):
                self.assertIn(option, offered, path)

    def test_fish_completes_commands_options_choices_and_files(self):
        self.assertEqual(self.fish("rep"), ["report"])
        self.assertEqual(self.fish("gate history "), ["add", "show"])
        self.assertEqual(self.fish("--ncu"), ["--ncu-set"])
        self.assertEqual(self.fish("--ncu-set f"), ["full"])
        self.assertEqual(self.fish("report --format js"), ["json", "jsonl"])
        self.assertEqual(self.fish("report --format=js"), ["--format=json", "--format=jsonl"])
        self.assertEqual(self.fish("report a"), ["a.fap"])
        self.assertEqual(self.fish("serve --spool s"), ["sub/"])
        self.assertEqual(self.fish("gate --baselines report --str"), ["--strict"])  # a value that is a command's name
        self.assertIn("env", self.fish("-o x.fap -- en"))
        self.assertEqual(self.fish("-o x.fap -- python3 x.t"), ["x.txt"])

    def test_zsh_completes_commands_options_choices_and_files(self):
        (self.folder / "_fa-profile").write_text((self.folder / "_fa-profile.zsh").read_text())
        with Zsh(self.folder) as zsh:
            for typed, completed in {
                "rep": "report",
                "gate hist": "gate history",
                "gate history sh": "gate history show",
                "--ncu-s": "--ncu-set",
                "--ncu-set f": "--ncu-set full",
                "report --format js": "report --format json",
                "report --format=js": "report --format=json",
                "report --explain bank": "report --explain bank-conflicts",
                "report a": "report a.fap",
                "serve --spool s": "serve --spool sub",
                "-- python3 x.t": "-- python3 x.txt",
            }.items():
                self.assertEqual(zsh.complete(typed).rstrip(), completed)

    def test_the_shells_find_no_fault_in_what_is_written(self):
        for command in (["bash", "-n"], ["zsh", "-n"], ["fish", "--no-execute"], ["shellcheck"]):
            shell = "bash" if command[0] == "shellcheck" else command[0]
            made = run(*command, str(self.folder / f"_fa-profile.{shell}"))
            self.assertEqual((made.returncode, made.stdout, made.stderr), (0, "", ""), command)

    def test_another_shell_is_refused(self):
        made = run(PROGRAM, "completion", "tcsh")
        self.assertEqual((made.returncode, made.stdout), (2, ""))
        self.assertIn("SHELL must be bash, zsh or fish, not 'tcsh'", made.stderr)


class Zsh:
    """An interactive zsh, whose fa-profile is a function that prints its arguments."""

    def __init__(self, folder):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder / "work")
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**ENVIRONMENT, "TERM": "vt100", "HOME": str(folder)})
        self.told = b""
        self.send(f"PS1= PS2= RPS1= PROMPT_EOL_MARK=; fpath=({folder} $fpath); autoload -U compinit; compinit -u -D; "
                  "fa-profile() { print -r -- GOT'<'$*'>'; }; fa-profile ready\n")
        self.wait_for(b"GOT<ready>")

    def send(self, text):
        os.write(self.terminal, text.encode())

    def wait_for(self, pattern):
        end = time.monotonic() + LONG
        while not (found := re.search(pattern, self.told)):
            if time.monotonic() > end or not select.select([self.terminal], [], [], LONG)[0]:
                raise AssertionError(f"zsh did not answer: {self.told!r}")
            self.told += os.read(self.terminal, 65536)
        return found

    def complete(self, words):
        """The command line after the tabulator, as zsh runs it."""
        self.told = b""
        self.send(f"fa-profile {words}\t\n")
        return self.wait_for(rb"GOT<(.*)>\r").group(1).decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.terminal)


class ManPages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        made = run(PROGRAM, "man", "-o", folder.name)
        assert made.returncode == 0, made.stderr
        cls.pages = {page.name: page.read_text() for page in cls.folder.iterdir()}

    def test_every_command_has_a_page_with_its_options(self):
        commands = commands_of()
        self.assertEqual(set(self.pages), {"-".join(("fa-profile", *path)) + ".1" for path, _ in commands})
        for path, text in commands:
            name = "-".join(("fa-profile", *path)) + ".1"
            shown = run("mandoc", "-Tascii", "-O", "width=200", str(self.folder / name)).stdout
            plain = re.sub(".\b", "", shown)
            for option in re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.M):
                self.assertRegex(plain, rf"(?m)^ +(-\w, )?{option}\b", name)

    def test_mandoc_finds_no_fault(self):
        paths = [str(self.folder / name) for name in self.pages]
        lint = run("mandoc", "-Tlint", "-W", "warning", *paths)
        self.assertEqual((lint.returncode, lint.stdout, lint.stderr), (0, "", ""))

    def test_pages_are_ascii_and_dated_as_the_sources(self):
        for name, text in self.pages.items():
            self.assertTrue(text.isascii(), name)
            self.assertIn(" 1 2026-07-01 ", text)
            for line in text.splitlines():
                self.assertRegex(line, r"^(\.\\\"|\.(TH|SH|SS|TP|B|BR|br)\b|[^.'])", name)

    def test_all_pages_are_written_or_none(self):
        with tempfile.TemporaryDirectory() as folder:
            made = run("bash", "-c", f'ulimit -f 4; "{PROGRAM}" man -o "{folder}"')
            self.assertEqual(made.returncode, 2, made.stderr)
            self.assertIn("cannot be written: File too large", made.stderr)
            self.assertEqual(os.listdir(folder), [])

    def test_a_page_is_printed(self):
        self.assertEqual(printed("man", "gate", "selftest"), self.pages["fa-profile-gate-selftest.1"])
        self.assertEqual(printed("man", "fa-profile-gate-selftest"), self.pages["fa-profile-gate-selftest.1"])
        self.assertEqual(printed("man"), self.pages["fa-profile.1"])
        self.assertIn(".SH DESCRIPTION\nWhich part of a GPU kernel costs what, why, and did that change?\n", printed("man"))
        self.assertNotIn("\\fI\\fR", "".join(self.pages.values()))
        for arguments, words in {
            ("gate", "selftset"): "no manual page fa-profile-gate-selftset; did you mean fa-profile-gate-selftest",
            ("-o", "/nonexistent"): "mkdir -p /nonexistent",
            ("report", "-o", str(self.folder)): "--output writes every page",
        }.items():
            made = run(PROGRAM, "man", *arguments)
            self.assertEqual((made.returncode, made.stdout), (2, ""), arguments)
            self.assertIn(words, made.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
