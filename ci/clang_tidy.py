#!/usr/bin/env python3
"""clang-tidy over the sources that a preset compiled, without the tests: ci/clang_tidy.py BUILD_FOLDER

Most of clang's time goes to headers. So the units below one top-level folder are read as one, with the flags of all of
them. Where that does not compile, because two libraries use a name twice, each folder below it is read by itself, and in
the end each unit: it takes longer and finds the same. Exit code: 0 nothing found, 1 something found.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

TIDY = ["clang-tidy-16", "--quiet", "--extra-arg=-Wno-error", "-p"]
ALONE = {"bench"}  # programs: each has a main()


def flags(command):
    """The options of a compiler's command line that decide what a source includes."""
    words = shlex.split(command)
    for word, following in zip(words, words[1:]):
        if word.startswith(("-I", "-D")):
            yield (word,)
        elif word == "-isystem":
            yield (word, following)


def as_one(units, folder):
    """Writes a source that includes the units, with a database for it; returns the source."""
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "all.cxx"
    source.write_text("".join(f'#include "{unit["file"]}"\n' for unit in units))
    options = dict.fromkeys(option for unit in units for option in flags(unit["command"]))
    command = ["c++", "-std=c++20", *(word for option in options for word in option), "-c", str(source)]
    entry = {"directory": units[0]["directory"], "file": str(source), "command": shlex.join(command)}
    (folder / "compile_commands.json").write_text(json.dumps([entry]))
    return source


def tidy(source):
    result = subprocess.run([*TIDY, str(source.parent), str(source)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return result.returncode, result.stdout


def grouped(units, depth):
    """The units by the first `depth` parts of their place."""
    groups = collections.defaultdict(list)
    for unit in units:
        groups[unit["place"][:depth]].append(unit)
    return groups


def check(units, depth, build):
    """Reads units that share `depth` parts of their place. Returns whether nothing was found, and what was."""
    place = units[0]["place"][:depth if len(units) > 1 else None]  # a folder for each: they are read at the same time
    source = as_one(units, build.joinpath("clang-tidy", *place))
    code, text = tidy(source)
    if len(units) == 1 or "[clang-diagnostic-error]" not in text:
        return code == 0, text
    print(f"clang-tidy: the units below {'/'.join(place)}/ do not compile as one, so they are read in parts:")
    print(*re.findall(r".*clang-diagnostic-error.*", text)[:3], sep="\n", flush=True)
    results = [check(part, depth + 1, build) for part in grouped(units, depth + 1).values()]
    return all(nothing_found for nothing_found, _ in results), "".join(text for _, text in results)


def ours(build, root):
    """The units of the database without tests and nanobind's own; the place of each is its path's parts."""
    units = json.loads((build / "compile_commands.json").read_text())
    files = {unit["file"]: unit for unit in reversed(units)}  # a fuzzer compiles some a second time
    unity = [pathlib.Path(file).read_text() for file in files if "/Unity/" in file]
    read = set(re.findall(r'#include "(.*)"', "".join(unity)))
    for unit in files.values():
        file = pathlib.Path(unit["file"])
        if unit["file"] in read or not file.is_relative_to(root) or "nanobind-static.dir" in file.parts:
            continue
        place = file.relative_to(build if file.is_relative_to(build) else root).parts
        if file.suffix in (".cpp", ".cxx") and place[0] != "tests":
            yield unit | {"place": place}


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    units = list(ours(build, pathlib.Path(__file__).resolve().parent.parent))
    alone = [[unit] for unit in units if unit["place"][0] in ALONE]
    together = grouped([unit for unit in units if unit["place"][0] not in ALONE], 1)
    groups = sorted([*together.values(), *alone], key=len, reverse=True)
    failed = not groups
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for nothing_found, text in pool.map(lambda group: check(group, 1, build), groups):
            print(text, end="", flush=True)
            failed |= not nothing_found
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
