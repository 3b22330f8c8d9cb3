#!/usr/bin/env python3
"""What an installed package has to do, in a few seconds: try_wheel.py RECORDINGS"""

import pathlib
import subprocess
import sys
import tempfile

import fa_profile

recordings = pathlib.Path(sys.argv[1]).resolve()
ladder = fa_profile.open(*recordings.glob("*-ladder-full.fap"))
assert ladder.kernels.shape[0] == 30, ladder.kernels.shape
assert len(ladder.phases.select(kernel="mma", phase="softmax")) == 3
assert ladder.diff(recordings / "pytorch-sdpa.fap").incomparable
assert not ladder.gate(max_share={"softmax": 0.3}, kernel="mma").passed
assert "arrow_array_stream" in repr(ladder.metrics.__arrow_c_stream__())
with fa_profile.range("step"):
    pass
try:
    fa_profile.open("none.fap")
    raise AssertionError("a missing file was read")
except fa_profile.Error as error:
    assert error.hint
if sys.version_info >= (3, 10):  # the agents' door, without its SDK: one error that names the cure
    said = subprocess.run([sys.executable, "-m", "fa_profile.mcp"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert said.returncode == 2 and "pip install 'mcp>=2,<3'" in said.stderr, said.stderr
with tempfile.TemporaryDirectory() as folder:
    test = pathlib.Path(folder, "test_it.py")
    test.write_text(
        "import pytest\n"
        f'@pytest.mark.fa_profile(max_share={{"softmax": 0.3}}, recording={str(ladder.path)!r}, kernel="mma")\n'
        "def test_it(): pass\n"
    )
    # Through its installed entry point.
    said = subprocess.run([sys.executable, "-m", "pytest", "-q", test], capture_output=True, text=True, cwd=folder)
    assert "REGRESSION: mma 4,16,1024,64" in said.stdout, said.stdout + said.stderr
print(f"Python {sys.version.split()[0]}: {fa_profile.__file__} {fa_profile.__version__}")
