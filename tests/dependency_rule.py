"""The dependency rule: which stage may include what, and who may write to stderr. `python3 dependency_rule.py ROOT`
prints each violation.

A stage sees its own headers, its public header folder, and the stages and outside libraries that RULE grants it. cli/
(but for its rooms), tests/ and bench/ wire the stages together and are free.

A stage defines names in its own namespace, so that two stages cannot define one name in two ways.
"""

import pathlib
import re
import sys

# Outside libraries, by the beginning of the header's name. What no line claims (the standard library, POSIX) is free.
OUTSIDE = {
    "cupti": r"(cupti|nvperf)",
    "cuda": r"(cuda|cooperative_groups|mma\.h|cute/|cutlass/|driver_types|vector_types)",
    "cublas": r"cublas",
    "nvtx": r"(nvtx3/|nvToolsExt)",
    "nvml": r"nvml\.h",
    "sqlite": r"sqlite3\.h",
    "zstd": r"(zstd|zdict)",
    "fmt": r"fmt/",
    "spdlog": r"spdlog/",
    "json": r"nlohmann/",
    "yaml": r"yaml-cpp/",
    "prometheus": r"prometheus/",
    "zlib": r"zlib\.h",
    "archive": r"archive(_entry)?\.h",
    "microhttpd": r"microhttpd\.h",
    "gnutls": r"gnutls/",
    "curl": r"curl/",
    "cli11": r"CLI/",
    "re2": r"re2/",
    "boost": r"boost/",
    "protozero": r"protozero/",
    "nanobind": r"nanobind/",
}
TEXT = {"fmt", "spdlog"}  # formatting and logging
# Stage: the folder, the stages and the outside libraries it may include.
BASE = {"profiler/base"}
MODEL = BASE | {"profiler/model"}
CODE = MODEL | {"profiler/sass", "profiler/analyze"}
RULE = {
    "profiler/base": (set(), {"fmt"}),
    "profiler/base/readers": (BASE, {"json", "yaml", "re2", "gnutls", "fmt"}),
    "profiler/model": (BASE, set()),
    "kernels": (MODEL | {"profiler/base/readers"}, {"cuda", "cublas", "nvtx", "json"} | TEXT),
    "profiler/collect/control": (MODEL, {"re2"} | TEXT),
    "profiler/collect": (MODEL | {"profiler/collect/control"}, {"cuda", "cupti", "nvtx", "nvml"} | TEXT),
    "profiler/judge": (MODEL | {"kernels", "profiler/collect/control"}, {"cuda", "json", "fmt"}),
    "profiler/store": (MODEL, {"sqlite", "zstd"} | TEXT),
    "profiler/inject": (MODEL | {"profiler/base/readers", "profiler/store", "profiler/collect/control", "profiler/collect"}, TEXT),
    "profiler/sass": (MODEL, {"json", "zstd"} | TEXT),
    "profiler/analyze": (MODEL | {"profiler/sass"}, TEXT),
    "profiler/load": (CODE | {"profiler/base/readers", "profiler/store"}, {"yaml", "re2"} | TEXT),
    "profiler/load/packages": (CODE | {"profiler/base/readers", "profiler/load"}, {"re2", "archive"} | TEXT),
    "profiler/python": (MODEL | {"profiler/base/readers"}, {"json"} | TEXT),
    "exporters": (MODEL, {"json", "protozero"} | TEXT),
    "exporters/html": (MODEL | {"profiler/base/readers", "exporters"}, {"zlib"} | TEXT),
    "exporters/prometheus": (MODEL, {"json", "prometheus", "zlib"}),
    "exporters/web": (MODEL | {"profiler/base/readers"}, {"yaml", "re2", "microhttpd", "gnutls"} | TEXT),
    "exporters/serve": (
        MODEL | {"profiler/base/readers", "profiler/load", "exporters/prometheus", "exporters/web"},
        {"json", "gnutls", "curl"} | TEXT,
    ),
    "ci/gate/files": (MODEL | {"profiler/base/readers"}, {"json", "yaml", "re2"} | TEXT),
    "ci/gate/judge": (MODEL | {"ci/gate/files"}, {"boost"} | TEXT),
    "ci/gate/report": (MODEL | {"profiler/analyze", "ci/gate/files", "ci/gate/judge"}, {"json"} | TEXT),
    "ci/gate/trials": (MODEL | {"ci/gate/files", "ci/gate/judge"}, {"json", "boost"} | TEXT),
    "ci/gate/history": (MODEL | {"profiler/base/readers", "profiler/store", "ci/gate/files", "ci/gate/judge"}, {"json", "re2", "sqlite"} | TEXT),
    "ci/gate/evidence": (CODE | {"profiler/base/readers", "profiler/load", "ci/gate/files"}, {"re2"} | TEXT),
    "ci/gate/measure": (MODEL | {"profiler/base/readers", "profiler/sass", "profiler/python", "ci/gate/files", "ci/gate/judge"}, TEXT),
    "python": (
        CODE | {"profiler/load", "exporters"} | {f"ci/gate/{room}" for room in ("files", "judge", "report", "evidence")},
        {"nanobind", "nvtx"},
    ),
    "ci/gate": (MODEL | {"profiler/base/readers"} | {f"ci/gate/{room}" for room in ("files", "judge", "evidence", "measure")}, TEXT),
    "cli/jobs": (
        CODE
        | {"kernels", "ci/gate/files", "ci/gate/judge"}
        | {f"profiler/{room}" for room in ("base/readers", "collect/control", "collect", "store", "inject", "load", "python", "judge")},
        {"json"} | TEXT,
    ),
    "cli/help": (BASE, {"cli11", "fmt"}),
    "cli/watch": (CODE | {"profiler/load", "exporters"}, TEXT),
}
# Texts for stderr go through notice.h, which escapes what a terminal would obey.
TO_STDERR = re.compile(r"std::cerr\s*<<|\bf(printf|puts|write)\s*\(.*\bstderr\b")
MAY_WRITE = {"profiler/base/notice.cpp", "profiler/base/progress_bar.cpp"}
# The namespace of a stage, by the longest beginning of its folder. Base and model are the nouns of all stages; the names of
# the kernels' functions are in recordings and baselines.
NAMESPACE = {
    "profiler/base": "fa_profile",
    "profiler/model": "fa_profile",
    "kernels": "fa_profile",
    "profiler/store": "fa_profile::store",
    "profiler/collect": "fa_profile::collect",
    "profiler/inject": "fa_profile::inject",
    "profiler/sass": "fa_profile::sass",
    "profiler/analyze": "fa_profile::analyze",
    "profiler/load": "fa_profile::load",
    "profiler/python": "fa_profile::python",
    "exporters": "fa_profile::exporters",
    "exporters/prometheus": "fa_profile::prom",
    "exporters/web": "fa_profile::web",
    "exporters/serve": "fa_profile::serve",
    "ci/gate": "fa_profile::gate",
    "profiler/judge": "fa_profile::judge",
    "cli/jobs": "fa_profile::jobs",
    "cli/help": "fa_profile::help",
    "cli/watch": "fa_profile::watch",
    "python": "fa_profile::python",
}
OPENED = re.compile(r"^namespace (fa_profile[\w:]*)")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')
SOURCES = {".h", ".cuh", ".cpp", ".cu", ".c"}


def public_headers(root):
    """{"fa_profile/x.h": stage}"""
    return {
        f"fa_profile/{header.name}": stage
        for stage in RULE
        for header in (root / stage / "include" / "fa_profile").glob("*.h")
    }


def outside_library(header):
    return next((name for name, start in OUTSIDE.items() if re.match(start, header)), None)


def namespace_of(stage):
    return NAMESPACE[max((folder for folder in NAMESPACE if (stage + "/").startswith(folder + "/")), key=len)]


def violations(root):
    owner = public_headers(root)
    found = []
    for stage, (stages, libraries) in RULE.items():
        within = [root / other for other in RULE if other.startswith(stage + "/")]  # stages of their own
        files = (
            path
            for path in (root / stage).rglob("*")
            if path.suffix in SOURCES and not any(path.is_relative_to(folder) for folder in within)
        )
        for path in sorted(files):
            for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
                opened = OPENED.match(line)
                wanted = namespace_of(stage)
                if opened and opened.group(1) != wanted and not (opened.group(1) + "::").startswith(wanted + "::"):
                    found.append(f"{path.relative_to(root)}:{number}: {stage} defines names in {wanted}, not in {opened.group(1)}")
                match = INCLUDE.match(line)
                if not match:
                    continue
                header = match.group(1)
                where = f"{path.relative_to(root)}:{number}: {stage} must not include {header}"
                if header.startswith("fa_profile/"):
                    if header not in owner:
                        found.append(f"{where}: no stage has this header")
                    elif owner[header] != stage and owner[header] not in stages:
                        found.append(f"{where}, which is {owner[header]}'s")
                elif header.startswith(".."):
                    found.append(f"{where}: private headers are a folder's own")
                else:
                    library = outside_library(header)
                    if library and library not in libraries and not (path.parent / header).exists():
                        found.append(f"{where}, which is {library}")
    return found


def writers_to_stderr(root):
    return [
        f"{path.relative_to(root)}:{number}: writes to stderr past fa_profile/notice.h"
        for folder in ("profiler", "exporters", "kernels", "ci", "cli", "python")
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in SOURCES and str(path.relative_to(root)) not in MAY_WRITE
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if TO_STDERR.search(line)
    ]


if __name__ == "__main__":
    bad = violations(pathlib.Path(sys.argv[1])) + writers_to_stderr(pathlib.Path(sys.argv[1]))
    print("\n".join(bad))
    sys.exit(bool(bad))
