#!/usr/bin/env python3
"""Programs that are carried to a GPU machine need nothing but what every system has: standalone_programs_test.py FILE..."""

import re
import subprocess
import sys
import unittest

FILES = sys.argv[1:]
EVERYWHERE = r"(libstdc\+\+|libm|libgcc_s|libc|ld-linux-x86-64)\.so\.\d+"


class StandaloneProgramsTest(unittest.TestCase):
    def test_no_library_of_a_package_is_needed(self):
        self.assertTrue(FILES)
        for file in FILES:
            printed = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True, timeout=60).stdout
            needed = re.findall(r"\(NEEDED\).*\[(.*)\]", printed)
            self.assertEqual([name for name in needed if not re.fullmatch(EVERYWHERE, name)], [], file)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
