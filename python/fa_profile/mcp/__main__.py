"""Starts the server: `python3 -m fa_profile.mcp`, or this file by its path, as the program fa-profile does.

Started by its path it needs no installed package fa_profile: only the folder of this file.
"""

import importlib.util
import os
import pathlib
import sys

_SDK = "mcp>=2,<3"


def _missing_sdk():
    # type: () -> str
    """Why the server cannot run here; empty: it can."""
    python = "%s (Python %d.%d)" % (sys.executable, sys.version_info[0], sys.version_info[1])
    if sys.version_info < (3, 10):
        return "fa-profile: error: mcp needs Python 3.10 or later, and %s is older\n  hint: set FA_PROFILE_MCP_PYTHON to one" % python
    try:
        import jsonschema  # noqa: F401
        import mcp.server.lowlevel  # noqa: F401
        import mcp_types  # noqa: F401
    except ImportError as error:
        return (
            "fa-profile: error: the Python package mcp, version 2, cannot be loaded by %s: %s\n"
            "  hint: %s -m pip install '%s'; or name another Python with FA_PROFILE_MCP_PYTHON" % (python, error, sys.executable, _SDK)
        )
    return ""


def _load_beside():
    # type: () -> str
    """Loads this folder as the package fa_profile_mcp. Returns the name."""
    name = "fa_profile_mcp"
    folder = pathlib.Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry or ".") != str(folder)]
    spec = importlib.util.spec_from_file_location(name, str(folder / "__init__.py"), submodule_search_locations=[str(folder)])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return name


def main():
    # type: () -> int
    package = __package__ if __package__ else _load_beside()
    packages = os.environ.get("FA_PROFILE_MCP_PACKAGES")
    if packages:
        sys.path.insert(0, packages)
    problem = _missing_sdk()
    if problem:
        print(problem, file=sys.stderr)
        return 2
    code = importlib.import_module(package + ".server").main(sys.argv[1:])
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
