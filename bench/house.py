"""Draws the house: rooms (folders of product code), their size, and who includes whom.

python3 bench/house.py [ROOT] [--mermaid] [--hide=ROOM,ROOM]

--hide leaves out arrows into rooms that every room includes. Text: a line per room with files, lines, the rooms it includes and how often. Mermaid: the same as a flowchart for Markdown.
An arrow that runs back (its target also reaches its origin) is marked. Tests are left out.
"""

import collections
import pathlib
import re
import sys

SOURCES = {".h", ".cuh", ".cpp", ".cu", ".c"}
TOP = ("profiler", "kernels", "exporters", "ci", "cli", "python", "bench")
OWN = ("cli/help", "kernels/hopper")  # rooms within one that counts its folders as itself
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def room_of(path):
    """profiler/store/include/fa_profile/x.h -> profiler/store; kernels/selftest/x.cu -> kernels; those of OWN are rooms."""
    parts = [part for part in path.parent.parts if part not in ("include", "fa_profile")]
    room = "/".join(parts)
    return parts[0] if parts[0] in ("kernels", "bench", "cli") and room not in OWN else room


def house(root):
    files = [
        path.relative_to(root) for top in TOP for path in sorted((root / top).rglob("*")) if path.suffix in SOURCES
    ]
    by_name = collections.defaultdict(list)
    for path in files:
        by_name[path.name].append(path)
    lines, count, arrows = collections.Counter(), collections.Counter(), collections.Counter()
    for path in files:
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        room = room_of(path)
        lines[room] += text.count("\n")
        count[room] += 1
        for header in INCLUDE.findall(text):
            found = [p for p in by_name[pathlib.PurePath(header).name] if str(p).endswith(header)]
            same = [p for p in found if room_of(p) == room]
            if found and not same:
                arrows[room, room_of(found[0])] += 1
    return count, lines, arrows


def reaches(arrows, start, goal):
    seen, todo = set(), [start]
    while todo:
        room = todo.pop()
        if room == goal:
            return True
        if room not in seen:
            seen.add(room)
            todo += [b for a, b in arrows if a == room]
    return False


def main(argv):
    root = pathlib.Path(next((a for a in argv if not a.startswith("--")), "."))
    count, lines, arrows = house(root)
    hidden = next((a[len("--hide=") :].split(",") for a in argv if a.startswith("--hide=")), [])
    arrows = {arrow: n for arrow, n in arrows.items() if arrow[1] not in hidden}
    if "--mermaid" in argv:
        print("flowchart TD")
        for room in sorted(count):
            print(f'  {room.replace("/", "_")}["{room}<br/>{count[room]} files, {lines[room]:,} lines"]')
        for (a, b), n in sorted(arrows.items()):
            back = reaches(arrows, b, a)
            print(f'  {a.replace("/", "_")} {"-.->" if back else "-->"}|{n}| {b.replace("/", "_")}')
        return
    for room in sorted(count):
        to = ", ".join(
            f'{b} {n}{" (back)" if reaches(arrows, b, a) else ""}' for (a, b), n in sorted(arrows.items()) if a == room
        )
        print(f"{room:22} {count[room]:4} files {lines[room]:7,} lines -> {to or '-'}")
    print(f"{'all':22} {sum(count.values()):4} files {sum(lines.values()):7,} lines")


if __name__ == "__main__":
    main(sys.argv[1:])
