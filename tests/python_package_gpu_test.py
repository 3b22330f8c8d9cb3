#!/usr/bin/env python3
"""The Python package on a GPU: python_package_gpu_test.py PACKAGE PROGRAM SOURCE

PACKAGE: the folder that has fa_profile/ with its extension. The kernel is PTX that the driver compiles, called through
ctypes: neither PyTorch nor a CUDA toolkit is needed. Prints "no GPU here" and ends where there is none.
"""

import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

# profile()'s child imports this script again, without the arguments.
if len(sys.argv) > 3:
    os.environ["FA_PROFILE_PACKAGE_TEST"] = os.pathsep.join(sys.argv[1:4])
    del sys.argv[1:4]
PACKAGE, PROGRAM, SOURCE = (
    pathlib.Path(path).resolve() for path in os.environ["FA_PROFILE_PACKAGE_TEST"].split(os.pathsep)
)
sys.path.insert(0, str(PACKAGE))
os.environ["FA_PROFILE"] = str(PROGRAM)
os.environ["PYTHONPATH"] = os.pathsep.join([str(PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])])
LONG = 600  # seconds

# `spin<<<264, 256>>>` adds and multiplies 20,000 times.
KERNEL = '''
import ctypes

import fa_profile

PTX = b"""
.version 7.0
.target sm_80
.address_size 64
.visible .entry spin(.param .u64 out)
{
  .reg .pred %p<2>;
  .reg .u32 %r<2>;
  .reg .u64 %rd<3>;
  .reg .f32 %f<2>;
  mov.u32 %r1, 20000;
  mov.f32 %f1, 0f3F800000;
again:
  fma.rn.f32 %f1, %f1, %f1, %f1;
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra again;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd2, %rd1;
  st.global.f32 [%rd2], %f1;
  ret;
}
"""
cuda = ctypes.CDLL("libcuda.so.1")


def check(result):
    assert result == 0, f"CUDA driver error {result}"


def load():
    check(cuda.cuInit(0))
    context, module, kernel, memory = (ctypes.c_void_p() for _ in range(4))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
    check(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"spin"))
    check(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4)))
    return kernel, memory


loaded = []


def step(launches=20):
    if not loaded:
        loaded.append(load())
    kernel, memory = loaded[0]
    arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.pointer(memory), ctypes.c_void_p))
    with fa_profile.range("step"):
        for _ in range(launches):
            with fa_profile.range("spin"):
                check(cuda.cuLaunchKernel(kernel, 264, 1, 1, 256, 1, 1, 0, None, arguments, None))


def fail():
    step()
    raise ValueError("no luck")
'''


def has_gpu():
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


class PythonPackageGpuTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="fa-profile-package-")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        (cls.folder / "work.py").write_text(KERNEL)
        sys.path.insert(0, str(cls.folder))
        import fa_profile
        import work

        cls.fa_profile, cls.work = fa_profile, work
        cls.recording = fa_profile.profile(work.step, kwargs={"launches": 10}, ncu_set="basic", seconds=4)

    def test_the_kernel_is_counted_timed_and_measured(self):
        (row,) = self.recording.kernels.select(function="spin").rows()
        self.assertGreater(row["launches"], 100)
        self.assertGreater(row["duration_ns"], 10_000)
        self.assertEqual((row["grid"], row["block"]), ("264,1,1", "256,1,1"))
        self.assertGreater(row["share_ratio"], 0.99)
        self.assertGreater(row["sm_active_ratio"], 0.5)
        self.assertGreater(row["registers_per_thread"], 0)
        self.assertGreater(self.recording.program["launches"], 100)

    def test_ranges_nest_and_hold_the_launches(self):
        ranges = {row["path"]: row for row in self.recording.nvtx.rows()}
        self.assertLessEqual({"step", "step / spin"}, set(ranges))
        self.assertEqual(ranges["step"]["launches"], ranges["step / spin"]["launches"])
        self.assertGreater(ranges["step"]["launches"], 100)
        self.assertGreater(ranges["step / spin"]["ranges"], 5 * ranges["step"]["ranges"])

    def test_a_profile_can_be_kept_and_compared(self):
        self.recording.save(self.folder / "kept.fap")
        kept = self.fa_profile.open(self.folder / "kept.fap")
        self.assertEqual(kept.kernels.rows(), self.recording.kernels.rows())
        self.assertEqual(len(self.recording.diff(kept).moved), 0)

    def test_a_function_that_fails_is_an_error(self):
        with self.assertRaisesRegex(self.fa_profile.Error, "the function failed: ValueError: no luck"):
            self.fa_profile.profile(self.work.fail, seconds=0)

    def test_a_function_without_a_kernel_is_an_error(self):
        with self.assertRaisesRegex(self.fa_profile.Error, "launched no kernel"):
            self.fa_profile.profile(abs, args=(1,), seconds=0)

    def test_a_marked_test_is_measured_and_judged(self):
        (self.folder / "test_spin.py").write_text(
            "import pytest, work\n"
            "@pytest.mark.fa_profile(maximum={'registers_per_thread': 255}, kernel='spin*', ncu_set='basic', seconds=3)\n"
            "def test_fine():\n    work.step()\n"
            "@pytest.mark.fa_profile(maximum={'registers_per_thread': 1}, kernel='spin*', ncu_set='basic', seconds=3)\n"
            "def test_too_many():\n    work.step()\n"
        )
        command = [sys.executable, "-B", "-m", "pytest", "-p", "fa_profile.pytest_plugin", "-p", "no:cacheprovider", "-q"]
        end = subprocess.run(
            [*command, "test_spin.py"], cwd=self.folder, capture_output=True, text=True, timeout=LONG, check=False
        )
        self.assertIn("1 failed, 1 passed", end.stdout, end.stdout + end.stderr)
        self.assertIn("REGRESSION: spin", end.stdout)
        self.assertIn("is above the maximum of 1", end.stdout)


if __name__ == "__main__":
    if has_gpu():
        unittest.main()
    print("no GPU here")
