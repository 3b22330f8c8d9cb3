"""Run as: python3 opcode_texts_test.py ROOT. Only the table of opcodes names one: a new architecture is rows there.

Texts in code count, comments do not. kernels/selftest names opcodes, too: its truths are about instructions."""

import io
import pathlib
import re
import sys
import tempfile
import tokenize
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
TABLE = "profiler/sass/opcode_table.cpp"
MAY_NAME = {TABLE, "profiler/sass/opcodes.cpp"}
FOLDERS = ("profiler", "exporters", "ci", "cli", "python")
SOURCES = {".h", ".cuh", ".cpp", ".cu", ".inc", ".py"}
ROW = re.compile(r'^    \{"([A-Z][A-Z0-9_]*)", C::', re.M)
# A text of C++, or what could hold a quotation mark that begins none.
TOKEN = re.compile(r'"((?:[^"\\\n]|\\.)*)"|//[^\n]*|/\*.*?\*/|\'(?:[^\'\\\n]|\\.){1,4}\'', re.S)


def bases(root):
    return set(ROW.findall((root / TABLE).read_text()))


def texts(path):
    """Line numbers and texts."""
    code = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type == tokenize.STRING:
                yield token.start[0], token.string.lstrip("bfruBFRU").strip("\"'")
        return
    for match in TOKEN.finditer(code):
        if match.group(1) is not None:
            yield code.count("\n", 0, match.start()) + 1, match.group(1)


def violations(root):
    known = bases(root)

    def is_opcode(word):
        return re.fullmatch(r"[\w.]+", word) and word.split(".")[0] in known

    return [
        f'{path.relative_to(root)}:{number}: "{text}"'
        for folder in FOLDERS
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in SOURCES and str(path.relative_to(root)) not in MAY_NAME
        for number, text in texts(path)
        if text.split() and all(map(is_opcode, text.split()))
    ]


class OpcodeTextsTest(unittest.TestCase):
    def test_the_table_alone_names_opcodes(self):
        self.assertEqual(violations(ROOT), [], "ask fa_profile/opcodes.h, or add what it does not answer")

    def test_a_text_elsewhere_is_found(self):
        self.assertGreater(len(bases(ROOT)), 200)
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            files = {
                TABLE: (ROOT / TABLE).read_text(),
                "profiler/analyze/x.cpp": "// \"BAR\"\nint n = 1'000;\nbool b = opcode.starts_with(\"SYNCS.ARRIVE\");\n",
                "cli/x.h": 'constexpr auto kLoads = "LDG LD";  /* "NOP" */\nauto text = "BAR CHART";\n',
                "python/x.py": '"""MUFU is a pipe."""\nNAMES = {"MUFU.EX2": 1}  # "RET"\n',
            }
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            found = [line.split(": ")[0] for line in violations(root)]
            self.assertEqual(found, ["profiler/analyze/x.cpp:3", "cli/x.h:1", "python/x.py:2"])


if __name__ == "__main__":
    unittest.main()
