#!/usr/bin/env python3
"""clang-tidy over the sources that a preset compiled, without the tests: ci/clang_tidy.py BUILD_FOLDER

Most of clang's time goes to headers. So the units of one folder are read as one, with the flags of all of them: it is a
library, in which no name is used twice. Where it does not compile, each unit is read by itself, which takes longer and
finds the same. Exit code: 0 nothing found, 1 something found.
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


def as_one(units, folder, name):
    """Writes a source that includes the units, and returns its entry for compile_commands.json."""
    source = folder / f"{name}.cxx"
    source.write_text("".join(f'#include "{unit["file"]}"\n' for unit in units))
    options = dict.fromkeys(option for unit in units for option in flags(unit["command"]))
    command = ["c++", "-std=c++20", *(word for option in options for word in option), "-c", str(source)]
    return {"directory": units[0]["directory"], "file": str(source), "command": shlex.join(command)}


def tidy(database, file):
    result = subprocess.run([*TIDY, str(database), file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return result.returncode, result.stdout


def check(database, entry, units, build):
    """Returns whether nothing was found, and what was."""
    code, text = tidy(database, entry["file"])
    if "[clang-diagnostic-error]" not in text:
        return code == 0, text
    print(f"clang-tidy: the units of {pathlib.Path(entry['file']).stem}/ do not compile as one, so each is read by itself:")
    print(*re.findall(r".*clang-diagnostic-error.*", text)[:3], sep="\n", flush=True)
    results = [tidy(build, unit["file"]) for unit in units]
    return all(code == 0 for code, _ in results), "".join(text for _, text in results)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    root = pathlib.Path(__file__).resolve().parent.parent
    groups = collections.defaultdict(list)
    units = json.loads((build / "compile_commands.json").read_text())
    for unit in {unit["file"]: unit for unit in reversed(units)}.values():  # a fuzzer compiles some a second time
        file = pathlib.Path(unit["file"])
        if not file.is_relative_to(root) or "nanobind-static.dir" in file.parts:
            continue  # nanobind's own
        place = file.relative_to(build if file.is_relative_to(build) else root)
        if place.suffix in (".cpp", ".cxx") and place.parts[0] != "tests":
            groups["-".join(place.parts if place.parts[0] in ALONE else place.parent.parts)].append(unit)
    folder = build / "clang-tidy"
    folder.mkdir(exist_ok=True)
    entries = {name: as_one(units, folder, name) for name, units in groups.items()}
    (folder / "compile_commands.json").write_text(json.dumps(list(entries.values()), indent=1))
    failed = not entries
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        largest_first = sorted(groups, key=lambda name: -len(groups[name]))
        for nothing_found, text in pool.map(lambda name: check(folder, entries[name], groups[name], build), largest_first):
            print(text, end="", flush=True)
            failed |= not nothing_found
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
