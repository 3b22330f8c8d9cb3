#!/usr/bin/env python3
"""fa-profile watch on a GPU: watch_gpu_test.py PROGRAM LIBRARY, with tests/kernel_libs/watched.cu"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

from support.processes import LONG

PROGRAM, LIBRARY = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
QUICK = b"watched_how=quick"
TABLE = r"(?s)The machine code or its launch changed\..*\n  finding "


class Watching:
    """A running fa-profile watch, whose stdout and stderr are read as they come."""

    def __init__(self, *arguments):
        self.text, self.read = "", 0
        self.changed = threading.Condition()
        self.process = subprocess.Popen([PROGRAM, "watch", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.reader = threading.Thread(target=self.listen)
        self.reader.start()

    def listen(self):
        for line in self.process.stdout:
            with self.changed:
                self.text += line
                self.changed.notify_all()
        with self.changed:
            self.read = None  # it ended
            self.changed.notify_all()

    def wait_for(self, pattern):
        """The text since the last call, once it holds the pattern."""
        with self.changed:
            came = self.changed.wait_for(lambda: self.read is None or re.search(pattern, self.text[self.read :]), LONG)
            if not came or self.read is None:
                raise AssertionError(f"{pattern} does not come after:\n{self.text}")
            text, self.read = self.text[self.read :], len(self.text)
            return text

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(LONG)
        self.reader.join()
        self.process.stdout.close()
        return code


class WatchGpuTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.library = self.folder / "mine.so"
        os.environ["TMPDIR"] = str(self.folder)

    def build(self, how):
        """What a linker does: the new library under another name, then renamed."""
        assert len(how) == 5, how
        new = self.folder / "new"
        new.write_bytes(LIBRARY.read_bytes().replace(QUICK, QUICK[:-5] + how.encode()))
        new.rename(self.library)

    def test_each_change_prints_what_moved_until_ctrl_c(self):
        self.build("quick")
        watch = Watching(str(self.library), "-o", str(self.folder / "kept"), "--ncu-set", "basic", "--phases", "on", "--draws", "2")
        try:
            self.assertIn("2 of 2 draws", watch.wait_for("phases  "))
            self.build("slow!")
            text = watch.wait_for(TABLE)
            self.assertRegex(text, r"\n  time +\S+ us +\S+ us +\+\S+ %  worse\n")
            self.build("slow!")  # the same again
            watch.wait_for("The same machine code, launched as before: .* noise")
            self.build("wrong")
            text = watch.wait_for("correct it took")
            self.assertIn("NOT CORRECT: watched@n=100000", text)
            self.assertIn("0 of 2 draws", text)
            self.library.write_bytes(LIBRARY.read_bytes()[:20000])  # in place, and cut off
            self.assertIn("error: ", watch.wait_for("not measured: "))
            self.build("hangs")
            self.build("quick")  # ends the measurement that hangs, or comes before it
            self.assertRegex(watch.wait_for(TABLE), r"\n  time +\S+ us +\S+ us +-\S+ %  better\n")
            self.library.unlink()
            watch.wait_for("is not there any more")
            self.build("quick")
            watch.wait_for("noise")
        finally:
            code = watch.stop()
        self.assertEqual(code, 0, watch.text)
        kept = sorted(path.name for path in (self.folder / "kept").iterdir())
        self.assertEqual(kept, [f"watch-{number:04}.fap" for number in range(1, 7)], watch.text)

    def test_a_kernel_that_hangs_ends_with_the_next_change_and_with_ctrl_c(self):
        self.build("hangs")
        watch = Watching(str(self.library), "--ncu-set", "basic", "--draws", "1")
        try:
            watch.wait_for("watching")
            with self.assertRaises(subprocess.TimeoutExpired):  # longer than a measurement takes
                watch.process.wait(8)
            self.build("quick")
            watch.wait_for("time  ")
            self.build("hangs")
            with self.assertRaises(subprocess.TimeoutExpired):
                watch.process.wait(8)
        finally:
            code = watch.stop()
        self.assertEqual(code, 0, watch.text)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["mine.so"], "temporary files are left")


if __name__ == "__main__":
    if not shutil.which("nvidia-smi"):
        print("no GPU here")
        sys.exit(0)
    unittest.main(verbosity=2)
