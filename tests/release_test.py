"""fa-profile release, whole: packages made of cubins, and bad input. Arguments: program, source root.

What is judged how is tested on values (judge_release_test); here that packages are read, and what the program answers.
"""

import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

import jsonschema

PROGRAM, ROOT = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
CUBINS = ROOT / "tests" / "data" / "cubins"
CODE, SPILLS, NEWER = (CUBINS / name for name in ("release_sm_80.cubin", "release_spills_sm_80.cubin", "release_sm_90.cubin"))
SPILLED = "worse         sums<64>  [sm_80"


def run(*arguments, **environment):
    # Without nvdisasm: no CUDA toolkit is needed.
    values = {**os.environ, "PATH": "/bin", "FA_PROFILE_NVDISASM": "", **environment}
    result = subprocess.run([PROGRAM, "release", *map(str, arguments)], capture_output=True, text=True, cwd="/", env=values,
                            timeout=600)
    return result.returncode, result.stdout, result.stderr


def fatbin(*entries):
    """Entries: kind (1: PTX, 2: cubin), compute capability, bytes."""
    body = b""
    for kind, capability, data in entries:
        data += bytes(-len(data) % 8)
        head = struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(data), 0, 0, 0, 1, capability, 64, 0, 0x11, 0, 0)
        body += head[:64].ljust(64, b"\0") + data
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


class ReleaseTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def wheel(self, name, **files):
        path = self.folder / name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
            wheel.writestr("package/__init__.py", "")
            for inside, content in files.items():
                wheel.writestr(f"package/{inside}.cubin", content if isinstance(content, bytes) else content.read_bytes())
        return path

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def check(self, code, *arguments):
        done, out, err = run("check", *arguments)
        self.assertEqual(done, code, out + err)
        self.assertEqual(err, "")
        return out

    def refused(self, says, *arguments):
        code, out, err = run(*arguments)
        self.assertEqual((code, out), (2, ""), err)
        for words in says:
            self.assertIn(words, err)

    def test_equal_code_passes(self):
        old, new = self.wheel("p-1.whl", a=CODE, b=NEWER), self.wheel("p-2.whl", a=CODE, b=NEWER)
        out = self.check(0, "--strict", old, new)
        self.assertTrue(out.startswith("PASS: every kernel in both has the same code\n"), out)
        self.assertRegex(out, r"sm_80 +2 +2 +0 +0 +0 +0 +0")

    def test_planted_spills_are_found_in_each_kind_of_package(self):
        folders = []
        for name, cubin in (("one", CODE), ("two", SPILLS)):
            (self.folder / name / "package").mkdir(parents=True)
            (self.folder / name / "package" / "a.cubin").write_bytes(cubin.read_bytes())
            folders.append(self.folder / name)
        self.assertIn(SPILLED, self.check(1, *folders))
        old, new = self.wheel("p-1.whl", a=CODE), self.wheel("p-2.whl", a=SPILLS)
        out = self.check(1, old, new)
        self.assertTrue(out.startswith("REGRESSION: 1 kernel is worse; 1 kernel changed\n"), out)
        self.assertRegex(out, r"local memory accesses in loops 0 -> [1-9][0-9]*, local memory accesses 0 -> [1-9]")
        self.assertIn("stack frame 0 B -> 216 B", out)
        self.assertIn("registers 80 -> 32", out)
        self.assertIn(SPILLED, self.check(1, CODE, SPILLS))  # the names of the files do not matter
        debs = [self.deb("p_1.deb", CODE), self.deb("p_2.deb", SPILLS)]
        self.assertIn(SPILLED, self.check(1, *debs))
        self.assertIn(SPILLED, self.check(1, old, folders[1]))  # a wheel and what was installed from it
        program = pathlib.Path("/bin/true").read_bytes()
        libraries = [self.write(f"libp.so.{i}", program + fatbin((2, 80, cubin.read_bytes()))) for i, cubin in
                     enumerate((CODE, SPILLS))]
        self.assertIn(SPILLED, self.check(1, *libraries))
        out = self.check(3, "--strict", new, old)
        self.assertTrue(out.startswith("SUSPECT"), out)  # without spills, and with less occupancy

    def deb(self, name, cubin):
        files = io.BytesIO()
        with tarfile.open(fileobj=files, mode="w:xz") as tar:
            entry = tarfile.TarInfo("./usr/lib/k.cubin")
            entry.size = cubin.stat().st_size
            tar.addfile(entry, io.BytesIO(cubin.read_bytes()))
        data = b"!<arch>\n"
        for inside, content in (("debian-binary", b"2.0\n"), ("data.tar.xz", files.getvalue())):
            data += f"{inside:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode() + content + b"\n" * (len(content) % 2)
        return self.write(name, data)

    def test_lost_kernels_and_architectures_fail_unless_allowed(self):
        old = self.wheel("p-1.whl", a=CODE, b=NEWER)
        less = self.wheel("p-2.whl", b=NEWER)
        out = self.check(1, old, less)
        self.assertIn("REGRESSION: sm_80 is lost", out)
        self.assertRegex(out, r"sm_80 +2 -> 0 .*lost")
        self.check(0, "--strict", "--allow-lost", "sm_80", old, less)
        self.check(1, "--allow-lost", "sm_90", old, less)
        # lint_sm_90a.cubin has other kernels for the same architecture as sm_90a.cubin.
        old, less = (self.wheel(f"q-{i}.whl", **files) for i, files in
                     enumerate(({"a": CUBINS / "sm_90a.cubin", "b": CUBINS / "lint_sm_90a.cubin"},
                                {"a": CUBINS / "sm_90a.cubin"})))
        out = self.check(1, old, less)
        self.assertRegex(out, r"REGRESSION: \d+ kernels are lost")
        self.check(0, "--strict", "--allow-lost", ".", old, less)
        self.refused(["--allow-lost", "("], "check", "--allow-lost", "(", old, less)

    def test_a_saved_release_stands_for_its_package(self):
        old, new = self.wheel("p-1.whl", a=CODE), self.wheel("p-2.whl", a=SPILLS)
        saved = self.folder / "release.json"
        code, out, err = run("save", old, "-o", saved)
        self.assertEqual((code, out), (0, ""), err)
        self.assertIn("2 kernels", err)
        schema = json.loads((ROOT / "docs" / "release.schema.json").read_text())
        jsonschema.Draft7Validator(schema).validate(json.loads(saved.read_text()))
        self.assertEqual(self.check(1, saved, new), self.check(1, old, new))
        self.check(0, "--strict", saved, old)
        self.refused(["--kernel and --arch have no effect"], "check", "--arch", "80", saved, new)
        self.refused(["does not end in .json"], "save", old, "-o", self.folder / "release.txt")
        self.refused(["release save PACKAGE"], "check", self.write("bad.json", b"{}"), new)
        self.refused(["release save PACKAGE"], "check", self.write("bad.json", saved.read_bytes()[:-9]), new)
        self.refused(["no GPU code"], "check", old, saved)  # a saved release is the old side

    def test_code_that_was_not_read_is_no_pass(self):
        cut = NEWER.read_bytes()[:5000]
        good, bad = self.wheel("p-1.whl", a=CODE, b=NEWER), self.wheel("p-2.whl", a=CODE, b=cut)
        out = self.check(3, "--strict", "--allow-lost", "sm_90", good, bad)
        self.assertIn("INCONCLUSIVE: not known: new release, not read: package/b.cubin", out)
        self.assertIn("INCONCLUSIVE: not known: old release, not read: package/b.cubin", self.check(0, bad, good))

    def test_ptx_alone_is_compared_by_its_text(self):
        ptx = b".version 8.0\n.target sm_90\n.visible .entry k(){ret;}\n"
        other = b".version 8.1\n.target sm_90\n.visible .entry k(){bar.sync 0; ret;}\n"
        program = pathlib.Path("/bin/true").read_bytes()
        old, same, new = (self.write(name, program + fatbin((1, 90, text))) for name, text in
                          (("old.so", ptx), ("same.so", ptx), ("new.so", other)))
        self.assertIn("PASS", self.check(0, "--strict", old, same))
        out = self.check(3, "--strict", old, new)
        self.assertIn("INCONCLUSIVE: not known: what is compiled from PTX compute_90: it changed", out)

    def test_reports(self):
        old, new = self.wheel("p-1.whl", a=CODE, b=NEWER), self.wheel("p-2.whl", a=SPILLS, b=NEWER)
        summary, markdown, report = (self.folder / name for name in ("summary", "r.md", "r.json"))
        code, out, err = run("check", "--format", "json", "--markdown", markdown, "--json", report, "--summary", old, new,
                             GITHUB_STEP_SUMMARY=str(summary))
        self.assertEqual(code, 1, err)
        self.assertEqual(out, report.read_text())
        document = json.loads(out)
        schema = json.loads((ROOT / "docs" / "release-check.schema.json").read_text())
        jsonschema.Draft7Validator(schema).validate(document)
        self.assertEqual((document["verdict"], document["exit_code"]), ("REGRESSION", 1))
        row = document["kernels"][0]
        self.assertEqual((row["architecture"], row["verdict"]), ("sm_80", "REGRESSION"))
        self.assertEqual(row["changes"][0]["metric"], "loop_local_accesses")
        self.assertEqual({one["architecture"]: one["same"] for one in document["architectures"]}, {"sm_80": 1, "sm_90": 2})
        self.assertTrue(markdown.read_text().startswith("<!-- fa-profile release -->\n**REGRESSION**"))
        self.assertEqual(summary.read_text(), markdown.read_text() + "\n")

    def test_limits(self):
        old, new = self.wheel("p-1.whl", a=CODE), self.wheel("p-2.whl", a=SPILLS)
        allow = "".join(f'  - {{kernel: "*sums*", metric: {metric}, absolute: 1000, owner: me}}\n'
                        for metric in ("loop_local_accesses", "local_accesses", "stack_frame_bytes"))
        limits = self.write("limits.yaml", b"version: 1\nrules:\n" + allow.encode())
        out = self.check(0, "--thresholds", limits, old, new)
        self.assertTrue(out.startswith("SUSPECT"), out)  # the instructions more than 20 %
        limits.write_text('version: 1\nrules:\n  - {kernel: "*", metric: local_accesses, maximum: 0, owner: me}\n')
        self.assertIn(f"({limits}:3)", self.check(1, "--thresholds", limits, new, new))
        limits.write_text("version: 1\nrules:\n  - {kernel: nobody, metric: local_accesses, maximum: 0}\n")
        self.refused(["limits.yaml"], "check", "--thresholds", limits, old, new)
        self.check(0, "--strict", "--kernel", "copy", old, new)

    def test_what_cannot_be_compared_is_refused(self):
        good = self.wheel("p-1.whl", a=CODE)
        self.refused(["/nowhere.whl"], "check", "/nowhere.whl", good)
        self.refused(["no GPU code in"], "check", good, self.wheel("empty.whl"))
        self.refused(["cut.whl"], "check", good, self.write("cut.whl", good.read_bytes()[:300]))
        self.refused(["no GPU code in"], "check", good, self.write("text", b"text"))
        self.refused(["holds no code for sm_100, only for sm_80"], "check", "--arch", "sm_100", good, good)
        self.refused(["no kernel matches"], "check", "--kernel", "nobody", good, good)
        self.refused(["GITHUB_STEP_SUMMARY"], "check", "--summary", good, good)
        self.refused(["file"], "check", "--json", "-", good, good)
        self.refused(["release check needs NEW"], "check", good)


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    unittest.main(verbosity=2)
