"""The documents are whole and readable: docs_test.py ROOT

Relative links and their anchors resolve, prose wraps at 120 columns, and phrases that readers stumbled over are absent from
documents, and from help texts and error messages of the folders in PLAIN_TEXTS.
"""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
COLUMNS = 120

BANNED = (
    r"(is|are) (no|none of) (?!longer|more\b|less\b|fewer\b|slower\b|faster\b|response)",
    r"of which",
    r"stands? (in|here|there|beside|twice)\b",
    r"(is|are) said\b",
    r"nobody",
    r"somebody",
    r"\blies? in\b",
    r"what is not",
    r"of what\b",
    r"(is|are) told\b",
    r"says so",
    r"of its own\b",
    r"at hand\b",
    r"\bmay you\b",
    r"puts? .{0,20}to the proof",
    r"says? nothing (to|about) it",
)
# Quotations of what a program prints, and generated from its tables.
NOT_PROSE = {"docs/metrics.md"}
# Documents that are not edited for style yet. Remove an entry once its folder is clean.
DOCUMENTS_LATER = ()
# Folders whose string literals are checked. Add a folder once it is clean.
PLAIN_TEXTS = ("dashboards",)

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def documents():
    listed = subprocess.run(["git", "ls-files", "-z", "*.md"], cwd=ROOT, stdout=subprocess.PIPE, check=False).stdout
    names = [name for name in listed.decode().split("\0") if name]
    names = names or [str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md")]  # not a checkout
    return sorted(name for name in names if not name.startswith("tests/data/golden/"))


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


class DocsTest(unittest.TestCase):
    def test_relative_links_resolve(self):
        for name in documents():
            text = (ROOT / name).read_text()
            for number, line in prose(text):
                for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
                    if re.match(r"[a-z]+:", target):
                        continue
                    path, _, fragment = target.partition("#")
                    with self.subTest(f"{name}:{number}: {target}"):
                        file = (ROOT / name).parent / path if path else ROOT / name
                        self.assertTrue(file.exists(), "no such file")
                        if fragment and file.suffix == ".md":
                            self.assertIn(fragment, anchors(file.read_text()), "no such heading")

    def test_prose_wraps(self):
        for name in documents():
            for number, line in prose((ROOT / name).read_text()):
                if len(line) > COLUMNS and not line.lstrip().startswith("|") and " " in line.strip()[2:COLUMNS]:
                    self.fail(f"{name}:{number}: {len(line)} columns, at most {COLUMNS}")

    def test_documents_are_in_plain_english(self):
        for name in documents():
            if name in NOT_PROSE or name.startswith(DOCUMENTS_LATER):
                continue
            for number, line in prose((ROOT / name).read_text()):
                self.check(f"{name}:{number}", re.sub(r"`[^`]*`|\"[^\"]*\"", "", line))

    def test_texts_are_in_plain_english(self):
        for folder in PLAIN_TEXTS:
            for path in sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in {".cpp", ".cu", ".h", ".py"}):
                for number, line in enumerate(path.read_text().splitlines(), 1):
                    for text in STRING.findall(line):
                        self.check(f"{path.relative_to(ROOT)}:{number}", text)

    def check(self, where, text):
        for phrase in BANNED:
            found = re.search(phrase, text, re.IGNORECASE)
            with self.subTest(where):
                self.assertIsNone(found, f"{where}: '{found and found.group()}' in: {text.strip()}")


if __name__ == "__main__":
    unittest.main()
