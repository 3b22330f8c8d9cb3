"""Run as: python3 dependency_rule_test.py ROOT. The rule holds in ROOT, and notices where it does not hold."""

import pathlib
import re
import sys
import tempfile
import unittest

import dependency_rule

ROOT = pathlib.Path(sys.argv.pop(1))

# What docs/architecture.md calls the outside libraries.
LIBRARIES = {
    "CUDA runtime": "cuda",
    "libarchive": "archive",
    "libcurl": "curl",
    "libmicrohttpd": "microhttpd",
    "nlohmann-json": "json",
    "prometheus-cpp": "prometheus",
    "yaml-cpp": "yaml",
}


def named(word):
    """What a word of the document's table grants: a folder, by its last parts, or libraries."""
    if word == "text":
        return dependency_rule.TEXT
    library = LIBRARIES.get(word, word.lower())
    if word in LIBRARIES or word != word.lower() or library in ("fmt", "nanobind", "protozero", "zlib", "zstd"):
        return {library}
    return {word} if word in dependency_rule.RULE else {stage for stage in dependency_rule.RULE if stage.endswith("/" + word)}


def documented(text):
    """{folder: what it may include} of the table in docs/architecture.md."""
    table = text.partition("## Who may include what\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", table, re.M)
    return {folder: [named(word) for word in granted.split(", ")] for folder, granted in rows}


class DependencyRuleTest(unittest.TestCase):
    def in_tree(self, files):
        """Violations in a tree of {path: text}."""
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files.items():
                target = pathlib.Path(folder) / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text)
            return dependency_rule.violations(pathlib.Path(folder))

    def test_repository_keeps_the_rule(self):
        self.assertEqual(dependency_rule.violations(ROOT), [])

    def test_the_documents_table_is_the_rule(self):
        text = (ROOT / "docs" / "architecture.md").read_text()
        rows = documented(text)
        self.assertEqual(sorted(rows), sorted(dependency_rule.RULE))
        for folder, (stages, libraries) in dependency_rule.RULE.items():
            with self.subTest(folder):
                self.assertTrue(f"| `{folder}/`" in text, "no row in The folders, in flow order")
                self.assertNotIn(set(), rows[folder], "a word that names no folder and no library")
                self.assertEqual(sorted(set().union(*rows[folder])), sorted(stages | libraries))

    def test_only_notices_go_to_stderr(self):
        self.assertEqual(dependency_rule.writers_to_stderr(ROOT), [])

    def test_every_folder_has_a_rule(self):
        for stage in dependency_rule.RULE:
            with self.subTest(stage):
                bad = self.in_tree({f"{stage}/x.cpp": '#include "fa_profile/nowhere.h"\n'})
                self.assertEqual(len(bad), 1)

    def test_cupti_outside_collect_is_named(self):
        bad = self.in_tree({"profiler/analyze/deep/x.cpp": "\n  # include <cupti_result.h>\n"})
        self.assertEqual(
            bad, ["profiler/analyze/deep/x.cpp:2: profiler/analyze must not include cupti_result.h, which is cupti"]
        )

    def test_another_stages_public_header_is_refused(self):
        files = {
            "kernels/include/fa_profile/kernels.h": "",
            "profiler/collect/x.cpp": '#include "fa_profile/kernels.h"\n',
        }
        self.assertEqual(len(self.in_tree(files)), 1)

    def test_a_stage_defines_names_in_its_own_namespace(self):
        self.assertEqual(self.in_tree({"exporters/web/x.h": "namespace fa_profile::web {\n"}), [])
        self.assertEqual(
            self.in_tree({"ci/gate/judge/x.h": "\nnamespace fa_profile {\n"}),
            ["ci/gate/judge/x.h:2: ci/gate/judge defines names in fa_profile::gate, not in fa_profile"],
        )

    def test_model_and_own_headers_are_free(self):
        files = {
            "profiler/model/include/fa_profile/error.h": "#include <string>\n",
            "profiler/collect/cupti_owner.h": "#include <cupti.h>\n",
            "profiler/collect/x.cpp": '#include "cupti_owner.h"\n#include "fa_profile/error.h"\n',
        }
        self.assertEqual(self.in_tree(files), [])


if __name__ == "__main__":
    unittest.main()
