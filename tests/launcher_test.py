#!/usr/bin/env python3
"""The launcher ./fa-profile on a small checkout that real CMake and ninja build: launcher_test.py SOURCE"""

import os
import pathlib
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from support.processes import LONG, wait_for

SOURCE = None
FILES = {
    "CMakeLists.txt": """
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
add_subdirectory(library/deep)
add_subdirectory(cli)
""",
    "CMakePresets.json": """{"version": 6, "configurePresets": [
{"name": "host", "generator": "Ninja", "binaryDir": "${sourceDir}/build/host"}]}
""",
    "cmake/text.cmake": """
file(READ ${FROM} text)
file(READ ${BESIDE} beside)
file(WRITE ${TO} "const char* Text() { return \\"${text}${beside}\\"; }")
""",
    "library/deep/CMakeLists.txt": """
add_custom_command(OUTPUT text.cpp DEPENDS texts/text.md ${PROJECT_SOURCE_DIR}/cmake/text.cmake
  COMMAND ${CMAKE_COMMAND} -DFROM=${CMAKE_CURRENT_SOURCE_DIR}/texts/text.md
          -DBESIDE=${CMAKE_CURRENT_SOURCE_DIR}/texts/beside.md -DTO=text.cpp -P ${PROJECT_SOURCE_DIR}/cmake/text.cmake)
add_library(deep STATIC text.cpp)
""",
    "library/deep/texts/text.md": "text",
    "library/deep/texts/beside.md": ", too",
    "cli/CMakeLists.txt": """
add_executable(fa_profile_cli main.cpp)
set_target_properties(fa_profile_cli PROPERTIES OUTPUT_NAME fa-profile)
target_include_directories(fa_profile_cli PRIVATE ${PROJECT_SOURCE_DIR}/headers)
target_link_libraries(fa_profile_cli deep)
""",
    "cli/main.cpp": """
#include <cstdio>
#include "header.h"
const char* Text();
int main() { std::printf("%s %d\\n", Text(), kNumber); }
""",
    "headers/header.h": "constexpr int kNumber = 1;\n",
    "unrelated/notes.md": "not built from\n",
    "ci/setup.sh": "#!/bin/sh\n",
}
NOBODY = 65534


class LauncherTest(unittest.TestCase):
    def setUp(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="fa-profile-launcher-"))
        folder.chmod(0o755)
        self.addCleanup(shutil.rmtree, folder)
        self.root, self.home = folder / "checkout", folder / "home"
        self.home.mkdir()
        for name, text in FILES.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for name in ("fa-profile", "ci/cuda.sh"):
            shutil.copy(SOURCE / name, self.root / name)
        (self.root / "ci/setup.sh").chmod(0o755)
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-qm", "small")

    def git(self, *words):
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, "-C", self.root, *words], check=True, timeout=LONG)

    def launch(self, as_user=(), **more):
        """(what the program printed, whether the launcher built)."""
        environment = self.environment() | more
        done = subprocess.run(
            [*as_user, self.root / "fa-profile"], env=environment, capture_output=True, text=True, timeout=LONG, cwd="/"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, "building" in done.stderr

    def state(self):
        return {path: path.lstat().st_mtime_ns for path in self.root.rglob("*")}

    def edit(self, name, old, new):
        path = self.root / name
        path.write_text(path.read_text().replace(old, new))

    def test_a_second_launch_builds_nothing_and_writes_nothing(self):
        self.assertEqual(self.launch(), ("text, too 1\n", True))
        before = self.state()
        self.assertEqual(self.launch(), ("text, too 1\n", False))
        self.assertEqual(self.state(), before)

    def test_an_edit_of_anything_that_the_build_reads_is_in_the_next_launch(self):
        self.launch()
        for name, old, new, printed in (
            ("cli/main.cpp", "%s %d", "%s! %d", "text, too! 1\n"),
            ("headers/header.h", "1", "2", "text, too! 2\n"),
            ("library/deep/texts/text.md", "text", "words", "words, too! 2\n"),
            ("library/deep/texts/beside.md", "too", "also", "words, also! 2\n"),  # which ninja has not heard of
            ("cmake/text.cmake", "${text}${beside}", "${beside}", None),
            ("cli/CMakeLists.txt", "deep)", "deep)\nset_property(TARGET fa_profile_cli PROPERTY CXX_STANDARD 20)", None),
            ("CMakeLists.txt", "CXX)", "CXX)\nadd_compile_options(-g)", None),
            ("CMakePresets.json", "Ninja", "Ninja", None),
        ):
            with self.subTest(edited=name):
                self.edit(name, old, new)
                out, built = self.launch()
                self.assertTrue(built)
                if printed and "beside" not in name:
                    self.assertEqual(out, printed)
                self.assertFalse(self.launch()[1], "again")

    def test_a_deleted_or_added_file_beside_what_the_build_reads_is_a_reason_to_build(self):
        self.launch()
        (self.root / "headers" / "more.h").touch()
        self.assertTrue(self.launch()[1])
        (self.root / "headers" / "more.h").unlink()
        self.assertTrue(self.launch()[1])

    def test_mcp_gets_its_packages_and_finds_a_client_on_stdin(self):
        (self.root / "ci/setup.sh").write_text('#!/bin/sh\necho "setup $1" >&2; if [ "$1" = --mcp ]; then cat >&2; fi\n')
        self.edit("cli/main.cpp", "#include <cstdio>", "#include <cstdio>\n#include <cstdlib>")
        self.edit("cli/main.cpp", 'Text(), kNumber', 'std::getenv("FA_PROFILE_MCP_PACKAGES"), std::getchar()')
        done = subprocess.run([self.root / "fa-profile", "mcp"], env=self.environment(), capture_output=True, text=True, timeout=LONG, cwd="/", input="A")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, rf"/fa-profile/mcp-[0-9.]+ {ord('A')}\n")  # setup read nothing of it
        self.assertIn("setup --mcp", done.stderr)

    def test_help_of_any_command_installs_builds_and_writes_nothing(self):
        (self.root / "ci/setup.sh").write_text("#!/bin/sh\necho installed >&2; exit 9\n")
        shutil.copytree(SOURCE / "dashboards", self.root / "dashboards", ignore=shutil.ignore_patterns("*.png", "__pycache__"))
        before = self.state()
        for words, printed in ((["--help"], "not built yet"), (["report", "-h"], "not built yet"), (["demo", "--help"], "--hosts N")):
            with self.subTest(words):
                command = [self.root / "fa-profile", *words]
                environment = self.environment()
                done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONG, cwd="/")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn(printed, done.stdout)
                self.assertEqual(self.state(), before)
                self.assertEqual(list(self.home.iterdir()), [])
        done = subprocess.run([self.root / "fa-profile", "--", "x", "--help"], env=environment, capture_output=True, text=True, timeout=LONG)
        self.assertEqual(done.returncode, 2, "the help of the user's program: this launch builds")

    def test_a_new_commit_is_a_reason_to_build(self):
        self.launch()
        self.git("commit", "-q", "--allow-empty", "-m", "next")
        self.assertTrue(self.launch()[1])

    def test_what_the_program_is_not_built_from_is_no_reason_to_build(self):
        self.launch()
        (self.root / "unrelated" / "notes.md").write_text("edited\n")
        (self.root / "fa-profile-20260101T000000Z.fap").touch()
        self.assertFalse(self.launch()[1])

    def environment(self):
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "FA_PROFILE_PRESET": "host"}

    def test_an_interrupted_first_build_says_so_and_the_next_launch_builds_the_rest(self):
        started, hold = self.home / "started", self.home / "hold"
        hold.touch()
        loop = f"touch {started}; while [ -e {hold} ]; do sleep 0.05; done"
        (self.root / "cmake/text.cmake").write_text(f'execute_process(COMMAND sh -c "{loop}")' + FILES["cmake/text.cmake"])
        interrupted = subprocess.Popen(
            [self.root / "fa-profile"],
            env=self.environment(),
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # it may be ignored here
        )
        wait_for("the build", started.exists)
        os.killpg(interrupted.pid, signal.SIGINT)
        told = interrupted.communicate(timeout=LONG)[1]
        self.assertEqual(interrupted.returncode, -signal.SIGINT)
        self.assertIn("interrupted; the next start builds the rest", told)
        self.assertNotIn("could not build", told)
        hold.unlink()
        again = subprocess.run([self.root / "fa-profile"], env=self.environment(), capture_output=True, text=True, timeout=LONG)
        self.assertEqual((again.returncode, again.stdout), (0, "text, too 1\n"))
        self.assertIn("building what an earlier start left unfinished", again.stderr)
        self.assertFalse(self.launch()[1])

    def test_the_setup_goes_on_after_an_interrupted_installation(self):
        shutil.copy(SOURCE / "ci/setup.sh", self.root / "ci/setup.sh")
        fakes, half, calls = self.home / "bin", self.home / "half-installed", self.home / "calls"
        fakes.mkdir()
        half.touch()
        for name, lines in {
            "dpkg-query": "",
            "sudo": 'if [ "$1" = -n ]; then shift; fi; exec "$@"',
            "dpkg": f'if [ "$1" = --audit ]; then ls {half} 2>/dev/null || true; else rm {half}; fi',
            "apt-get": f'if [ -e {half} ]; then exit 100; fi; echo "$@" >>{calls}',
            "nvdisasm": "",
            "cuobjdump": "",
        }.items():
            (fakes / name).write_text(f"#!/bin/sh\n{lines}\n")
            (fakes / name).chmod(0o755)
        environment = self.environment() | {"PATH": f"{fakes}:{os.environ['PATH']}", "CUDACXX": "/bin/true", "TMPDIR": str(self.home)}
        before = set(self.home.iterdir())
        setup = [self.root / "ci/setup.sh", "--runtime"]
        done = subprocess.run(setup, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONG)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("libfmt-dev", calls.read_text())
        self.assertEqual(set(self.home.iterdir()), before - {half} | {calls}, "nothing else is left")

    def test_on_a_terminal_one_line_shows_how_much_of_the_build_is_left(self):
        terminal, end = pty.openpty()
        self.addCleanup(os.close, terminal)
        done = subprocess.run([self.root / "fa-profile"], env=self.environment(), stdout=subprocess.PIPE, stderr=end, timeout=LONG)
        os.close(end)
        self.assertEqual((done.returncode, done.stdout), (0, b"text, too 1\n"))
        shown = b""
        try:
            while part := os.read(terminal, 65536):
                shown += part
        except OSError:
            pass  # the end of a terminal
        self.assertRegex(shown.decode(), r"\r\x1b\[Kfa-profile: step 1 of \d+, about \d+:\d\d minutes left\r\x1b\[K")
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown)

    def test_another_user_runs_the_build_of_the_checkouts_owner_and_writes_nothing(self):
        self.assertEqual(self.launch(), ("text, too 1\n", True))
        as_user = ()
        if os.geteuid() == 0:
            as_user = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
            os.chown(self.home, NOBODY, NOBODY)
        else:
            for path in [self.root, *self.root.rglob("*")]:
                path.chmod(path.stat().st_mode & ~0o222)
                self.addCleanup(path.chmod, path.stat().st_mode | 0o200)
        before = self.state()
        out = self.launch(as_user, GIT_TEST_ASSUME_DIFFERENT_OWNER="1")
        self.assertEqual(out, ("text, too 1\n", False))
        self.assertEqual(self.state(), before)
        self.assertEqual(list(self.home.iterdir()), [])


if __name__ == "__main__":
    SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
