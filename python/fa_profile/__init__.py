"""fa-profile in Python: recordings as tables, profiles of functions, NVTX ranges, and the gate in pytest.

    import fa_profile

    r = fa_profile.open("run.fap")
    r.kernels, r.phases, r.metrics, r.findings    # tables: .to_pandas(), or Arrow
    r.diff("later.fap")
    r.gate(max_share={"softmax": 0.4})
    r = fa_profile.profile(train_step, ncu_set="full")
    with fa_profile.range("attention"): ...
    fa_profile.to_parquet(["monday.fap", "tuesday.fap"], "history")

docs/python.md explains it.
"""

from ._core import commit as _commit
from ._core import version as _version
from ._error import Error, NoGpuError
from .frame import Frame
from .nvtx import Range, range
from .parquet import Export, to_parquet
from .profiling import find_program, profile
from .recording import Diff, Recording, Verdict, open

__version__ = _version()
__commit__ = _commit()
__all__ = [
    "Diff",
    "Error",
    "Export",
    "Frame",
    "NoGpuError",
    "Range",
    "Recording",
    "Verdict",
    "find_program",
    "open",
    "profile",
    "range",
    "to_parquet",
]
