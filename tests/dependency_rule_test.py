"""Run as: python3 dependency_rule_test.py ROOT. The rule holds in ROOT, and notices where it does not hold."""

import pathlib
import sys
import tempfile
import unittest

import dependency_rule

ROOT = pathlib.Path(sys.argv.pop(1))


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

    def test_the_document_names_every_folder_that_has_a_rule(self):
        text = (ROOT / "docs" / "architecture.md").read_text()
        for folder in dependency_rule.RULE:
            with self.subTest(folder):
                self.assertTrue(f"| `{folder}/`" in text, "no row in The folders, in flow order")

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
