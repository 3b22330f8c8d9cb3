#!/usr/bin/env python3
"""The launcher ./fa-profile on a small checkout that real CMake and ninja build: launcher_test.py SOURCE"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from support.processes import LONG

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
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "FA_PROFILE_PRESET": "host"} | more
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

    def test_help_of_any_command_installs_builds_and_writes_nothing(self):
        (self.root / "ci/setup.sh").write_text("#!/bin/sh\necho installed >&2; exit 9\n")
        shutil.copytree(SOURCE / "dashboards", self.root / "dashboards", ignore=shutil.ignore_patterns("*.png", "__pycache__"))
        before = self.state()
        for words, printed in ((["--help"], "not built yet"), (["report", "-h"], "not built yet"), (["demo", "--help"], "--hosts N")):
            with self.subTest(words):
                command = [self.root / "fa-profile", *words]
                environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "FA_PROFILE_PRESET": "host"}
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
