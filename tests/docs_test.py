"""The documents are whole and readable: docs_test.py ROOT

Relative links and their anchors resolve, commands have options that exist, prose wraps at 120 columns, and the README and
cells of tables are short. Phrases that readers stumbled over are absent from documents, from help texts and error messages of
the folders in PLAIN_TEXTS, and from comments of those in PLAIN_COMMENTS.
Generated files have a line that renews them, and folders are explained.
"""

import ast
import fnmatch
import itertools
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
COLUMNS = 120
CELL = 300  # characters that a cell of a table may have

BANNED = (
    r"(?<!there )\b(is|are) no (?!longer\b|more\b|less\b|fewer\b|better\b|slower\b|faster\b|smaller\b|larger\b|older\b)",
    r"\b(?<!phase )of which\b",
    r"\bstands? (in|here|there|beside|twice)\b",
    r"\b(is|are) said\b",
    r"\b(nobody|somebody)\b",
    r"\blies? in\b",
    r"\bwhat (is|are) not\b",
    r"\b(is|are) told\b",
    r"\bsays? so\b",
    r"\bof its own\b",
    r"\bat hand\b",
    r"\bmay you\b",
    r"\bto the proof\b",
    r"\bsays? nothing (to|about) it\b",
)
# An error begins with the file: "x.fap cannot be read: ...". In texts alone: a subject may come before these words.
FILE_LAST = r"^cannot (read|write|open)\b"
# Generated from the program's tables.
NOT_PROSE = {"docs/metrics.md"}
# Documents whose style and width are not checked yet, by the beginning of the name. Remove an entry once it is clean.
LATER = ("kernels/", "tests/")
# Folders whose string literals (help texts, errors) are checked. Add a folder once it is clean.
PLAIN_TEXTS = ("bench", "ci/gate", "cli", "dashboards", "exporters", "kernels", "profiler", "python")

# Folders and files whose comments are checked. Add one once it is clean.
PLAIN_COMMENTS = (
    "bench", "ci", "cli", "cmake", "dashboards", "examples", "exporters", "fa-profile", "kernels", "profiler", "python", "tests",
    "CMakeLists.txt",
)
SLASHES = (".cpp", ".h", ".cu", ".cuh", ".js")
HASHES = (".py", ".sh", ".cmake", ".txt", ".yml", ".yaml", "")
STARS = re.compile(r"/\*(.*?)\*/", re.DOTALL)
# Files of blind authors and of programs, and this file, which names the phrases.
NOT_OURS = ("tests/cheats/blind/", "tests/data/", "tests/fuzz/corpus/", "tests/docs_test.py")

# Folders whose files a program wrote: each needs a line in CONTRIBUTING.md, Renew golden files.
GENERATED = (
    "ci/gate/data/",
    "ci/static/",
    "dashboards/preview/screenshots/",
    "docs/images/",
    "recordings/",
    "tests/data/gate/",
    "tests/data/golden/",
    "tests/fuzz/corpus/recording/good/",
)

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def documents():
    listed = subprocess.run(["git", "ls-files", "-z", "*.md"], cwd=ROOT, stdout=subprocess.PIPE, check=False).stdout
    names = [name for name in listed.decode().split("\0") if name]
    names = names or [str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md")]  # not a checkout
    return sorted(name for name in names if not name.startswith("tests/data/golden/"))


def tracked():
    """Names of the files under version control; [] without a checkout."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=False).stdout
    return [name for name in listed.decode().split("\0") if name]


def comments(path):
    """[(line number, text)] of a file's comments and, in Python, docstrings."""
    text = path.read_text()
    mark = "//" if path.suffix in SLASHES else "#" if path.suffix in HASHES else None
    found = []
    for number, line in enumerate(text.splitlines() if mark else [], 1):
        _, has, comment = line.partition(mark)
        if has:
            found.append((number, comment))
    if path.suffix in (*SLASHES, ".css"):
        found += [(text.count("\n", 0, match.start()) + 1, match[1]) for match in STARS.finditer(text)]
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(node):
                found.append((node.body[0].lineno, ast.get_docstring(node)))
    return found


def expanded(pattern):
    """a.{x,y} -> a.x, a.y"""
    parts = [part.split(",") for part in re.split(r"[{}]", pattern)]
    return ["".join(chosen) for chosen in itertools.product(*parts)]


def prose(text):
    """[(line number, line)] outside of fences and indented code."""
    fenced, found = False, []
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            found.append((number, line))
    return found


def anchors(text):
    """The fragments that GitHub gives to headings."""
    titles = [line.lstrip("#").strip() for _, line in prose(text) if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def commands_of(text):
    """[(line number, arguments)] of fa-profile in fences and indented code, before `--`, a comment, a pipe or a gap."""
    outside = {number for number, _ in prose(text)}
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        command = re.match(r"\s*(?:\$ |[\w.=]+ )*\S*\bfa-profile (.*)", line)
        if command and number not in outside:
            found.append((number, " " + re.split(r" -- | #|   | [|&]", command[1])[0]))
    return found


class DocsTest(unittest.TestCase):
    def test_relative_links_resolve(self):
        for name in documents():
            text = "\n".join(line for _, line in prose((ROOT / name).read_text()))  # a link may go over two lines
            for target in LINK.findall(re.sub(r"`[^`]*`", "", text)):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, fragment = target.partition("#")
                with self.subTest(f"{name}: {target}"):
                    file = (ROOT / name).parent / path if path else ROOT / name
                    self.assertTrue(file.exists(), "no such file")
                    if fragment and file.suffix == ".md":
                        self.assertIn(fragment, anchors(file.read_text()), "no such heading")

    def test_commands_have_files_and_options_that_exist(self):
        texts = {name: (ROOT / name).read_text() for name in documents() if name.startswith(("README.md", "docs/", "examples/"))}
        sources = [*(ROOT / "cli").rglob("*.cpp"), *(ROOT / "dashboards").rglob("*.py"), ROOT / "fa-profile"]
        known = "\n".join(path.read_text() for path in sources)  # what the program and ./fa-profile demo take
        commands = [(f"{name}:{number}", command) for name, text in texts.items() for number, command in commands_of(text)]
        self.assertGreater(len(commands), 80)
        for where, command in commands:
            for option in re.findall(r"(?<= )--[a-z-]+", command):
                with self.subTest(where):
                    self.assertRegex(known, rf"{option}\b")
            for library in re.findall(r"\S+\.so\b", command):
                example = re.fullmatch(r"build/gpu/examples/(\w+)\.so", library)
                with self.subTest(where):
                    self.assertTrue(not example or (ROOT / "examples" / example[1]).is_dir(), library)
            for file in re.findall(r"(?<![\w/])(?:recordings|tests|examples|ci)/[\w/.-]+", command):
                with self.subTest(where):
                    self.assertTrue((ROOT / file).exists(), file)

    def test_the_readme_is_short(self):
        self.assertLess(len((ROOT / "README.md").read_text().split()), 1000, "move details to a page of docs/")

    def test_prose_wraps(self):
        for name in documents():
            if name in NOT_PROSE or name.startswith(LATER):
                continue
            for number, line in prose((ROOT / name).read_text()):
                if not line.lstrip().startswith("|"):
                    with self.subTest(f"{name}:{number}"):
                        self.assertLessEqual(len(line), COLUMNS)

    def test_a_blank_line_does_not_cut_a_table(self):
        for name in documents():
            lines = [(number, line) for number, line in prose((ROOT / name).read_text())] + [(0, "")]
            for (_, before), (number, line), (_, after) in zip(lines, lines[1:], lines[2:]):
                if line.startswith("|") and not before.strip():
                    with self.subTest(f"{name}:{number}"):
                        self.assertRegex(after, r"^\|[ :|-]+$", "a row without its heading: remove the blank line above it")

    def test_a_cell_of_a_table_is_short(self):
        for name in documents():
            if name in NOT_PROSE or not name.startswith(("README.md", "CONTRIBUTING.md", "docs/")):
                continue
            for number, line in prose((ROOT / name).read_text()):
                for cell in re.split(r"(?<!\\)\|", line)[1:-1] if line.startswith("|") else []:
                    with self.subTest(f"{name}:{number}"):
                        self.assertLessEqual(len(cell.strip()), CELL, "write a list below the table")

    def test_documents_are_in_plain_english(self):
        for name in documents():
            if name in NOT_PROSE or name.startswith(LATER):
                continue
            for number, line in prose((ROOT / name).read_text()):
                self.check(f"{name}:{number}", re.sub(r"`[^`]*`|\"[^\"]*\"", "", line))

    def test_texts_are_in_plain_english(self):
        for folder in PLAIN_TEXTS:
            for path in sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in {".cpp", ".cu", ".h", ".py"}):
                for number, line in enumerate(path.read_text().splitlines(), 1):
                    for text in STRING.findall(line):
                        self.check(f"{path.relative_to(ROOT)}:{number}", text, (*BANNED, FILE_LAST))

    def test_comments_are_in_plain_english(self):
        checked = 0
        for name in PLAIN_COMMENTS:
            place = ROOT / name
            for path in sorted([place] if place.is_file() else place.rglob("*")):
                where = str(path.relative_to(ROOT))
                if not path.is_file() or path.suffix not in (*SLASHES, *HASHES, ".css") or where.startswith(NOT_OURS):
                    continue
                for number, comment in comments(path):
                    checked += 1
                    self.check(f"{where}:{number}", comment)
        self.assertGreater(checked, 1000)

    def test_files_that_guides_name_exist(self):
        files = tracked()
        checked = 0
        for name in ("CONTRIBUTING.md", "docs/architecture.md"):
            for path in re.findall(r"[\w./{},-]*[\w}]\.(?:cpp|h|cu|cuh|py|js|cmake|yaml|yml)\b", (ROOT / name).read_text()) if files else []:
                for one in expanded(path.removeprefix("../")):
                    checked += 1
                    with self.subTest(f"{name}: {one}"):
                        self.assertTrue(fnmatch.filter(files, "*" + one.replace("NAME", "*")), "no such file")
        self.assertTrue(not files or checked > 100, checked)

    def test_every_generated_file_has_a_line_that_renews_it(self):
        section = (ROOT / "CONTRIBUTING.md").read_text().partition("## Renew golden files\n")[2].partition("\n## ")[0]
        cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| ")][1:]
        patterns = [one for cell in cells for quoted in re.findall(r"`([^`]+)`", cell) for one in expanded(quoted)]
        self.assertGreater(len(patterns), 20)
        attributes = [line for line in (ROOT / ".gitattributes").read_text().splitlines() if "linguist-generated" in line]
        files = tracked()
        for pattern in patterns if files else []:
            with self.subTest(pattern):
                self.assertTrue(fnmatch.filter(files, pattern) or fnmatch.filter(files, f"{pattern}/*"), "no such file")
        generated = [name for name in files if name.startswith(GENERATED) or name.endswith(".svg")]
        for test in (ROOT / "tests").glob("*_test.cpp"):
            generated += re.findall(r'ExpectGolden\("([^"]+)"', test.read_text())
        for name in generated:
            with self.subTest(name):
                renewed = any(fnmatch.fnmatch(name, pattern) or name.startswith(pattern + "/") for pattern in patterns)
                self.assertTrue(renewed, "CONTRIBUTING.md, Renew golden files, has no line for it")
        for name in (name for pattern in patterns for name in (*fnmatch.filter(files, pattern), *fnmatch.filter(files, f"{pattern}/*"))):
            with self.subTest(name):
                folded = any(fnmatch.fnmatch(name, line.split()[0].replace("**", "*")) for line in attributes)
                self.assertTrue(folded, ".gitattributes does not mark it as generated")

    def test_every_folder_is_explained(self):
        architecture = (ROOT / "docs/architecture.md").read_text()
        files = tracked()
        table = architecture.partition("## The folders, in flow order\n")[2].partition("\n\n")[0]
        rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
        for folder in re.findall(r"`([^`]+)/`", " ".join(rows)):
            with self.subTest(folder):
                self.assertTrue(not files or any(name.startswith(folder + "/") for name in files), "no such folder")
        explained = architecture + (ROOT / "CONTRIBUTING.md").read_text()
        for parts in sorted({tuple(name.split("/")[:-1][:2]) for name in files if "/" in name and name[0] != "."}):
            with self.subTest("/".join(parts)):
                named = re.search(rf"{'/'.join(parts)}\b", explained)
                self.assertTrue(named, "neither architecture.md nor CONTRIBUTING.md names it")

    def check(self, where, text, banned=BANNED):
        for phrase in banned:
            found = re.search(phrase, text, re.IGNORECASE)
            with self.subTest(where):
                self.assertIsNone(found, f"{where}: '{found and found.group()}' in: {text.strip()}")


if __name__ == "__main__":
    unittest.main()
