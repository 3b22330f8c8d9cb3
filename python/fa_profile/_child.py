"""What runs below fa-profile: `python -m fa_profile._child PAYLOAD` calls a function that profile() was given."""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import runpy
import sys
import time
import traceback
import types
from typing import Any, Callable, Optional


def wait_for_gpu() -> None:
    """Waits for what this thread's CUDA context has launched. Without a context, or without CUDA, it does nothing."""
    try:
        driver = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL | os.RTLD_NOLOAD)
    except OSError:
        return
    driver.cuCtxSynchronize()


def repeat(call: Callable[[], object], seconds: float) -> int:
    """Calls it at least once, and until `seconds` have passed. Returns how often."""
    end = time.monotonic() + seconds
    calls = 0
    while calls == 0 or time.monotonic() < end:
        call()
        wait_for_gpu()
        calls += 1
    return calls


def write_outcome(path: str, **outcome: Any) -> None:
    """For the parent: `calls`, or the `error`."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(outcome, file)


def _take_streams() -> None:
    """The streams of the parent, in place of fa-profile's."""
    streams = os.environ.pop("FA_PROFILE_CHILD_STREAMS", "")
    for stream, own in zip(streams.split(",") if streams else [], (1, 2)):
        os.dup2(int(stream), own)
        os.close(int(stream))


def _import_main(script: Optional[tuple[str, str]]) -> None:
    """The parent's script as the module __main__, without what `if __name__ == "__main__"` guards."""
    if script is None:
        return
    kind, name = script
    main = types.ModuleType("__mp_main__")
    sys.modules["__main__"] = sys.modules["__mp_main__"] = main
    run = runpy.run_module if kind == "module" else runpy.run_path
    main.__dict__.update(run(name, run_name="__mp_main__"))


def main(payload: str) -> int:
    _take_streams()
    with open(payload, "rb") as file:
        said = pickle.load(file)
    try:
        _import_main(said["main"])
        function, args, kwargs = pickle.loads(said["call"])
        calls = repeat(lambda: function(*args, **kwargs), said["seconds"])
    except BaseException as error:
        traceback.print_exc()
        write_outcome(said["outcome"], error=f"{type(error).__name__}: {error}")
        return 1
    write_outcome(said["outcome"], calls=calls)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
