#!/usr/bin/env python3
"""Draws the comments that docs/evidence/gate.md shows: gate_stories.py [STORY ...] [--program F] [--keep FOLDER]

Each story is a run of pairs of processes that were recorded on an H200 (ci/gate/data/h200-trials.json): a kernel and the
same kernel made worse on purpose. Three timing processes in a row are a block: base, candidate, and the base again.
`fa-profile gate --replay` judges the run and writes the comment, cmark-gfm renders it as GitHub does, and Chromium takes
the picture: docs/images/gate/STORY.png. --keep: the runs, comments and pages stay in FOLDER.
"""
import argparse
import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "dashboards" / "demo"))

import browser  # noqa: E402

DATA = ROOT / "tests" / "data" / "gate" / "stories.json"
PICTURES = ROOT / "docs" / "images" / "gate"
MOST_BYTES = 150_000
WIDTH = 900
FIRST_PAIRS = 8
# Base and candidate.
STORIES = {
    "softmax": ("mma_same", "mma_softmax_17"),
    "serial-softmax": ("mma_same", "mma_serial_softmax"),
    "bank-conflicts": ("mma_same", "mma_conflict_1"),
    "wrong-result": ("mma_same", "mma_softmax_17"),
    "faster": ("mma_conflict_1", "mma_same"),
}
# No run of the data has a wrong result: this story's candidate gets one.
WRONG = {"draws": 3, "draws_passed": 0, "max_abs_error": 0.4127, "max_error_ratio": 386.2}

PAGE = """<!DOCTYPE html><html><head><meta charset="utf-8"><style>
body {{ margin: 0; padding: 16px; background: #fff; color: #1f2328; font: 14px/1.5 "DejaVu Sans", sans-serif; }}
.comment {{ border: 1px solid #d1d9e0; border-radius: 6px; }}
.author {{ padding: 8px 16px; background: #f6f8fa; border-bottom: 1px solid #d1d9e0; border-radius: 6px 6px 0 0; }}
.author span {{ color: #59636e; }}
.body {{ padding: 16px; overflow-wrap: break-word; }}
.body > :first-child {{ margin-top: 0; }} .body > :last-child {{ margin-bottom: 0; }}
h3 {{ font-size: 1.25em; line-height: 1.25; margin: 24px 0 16px; }}
p, ul, table, pre, details {{ margin: 0 0 16px; }}
ul {{ padding-left: 2em; }} li + li {{ margin-top: .25em; }} li > ul {{ margin: .25em 0 0; }}
table {{ border-collapse: collapse; display: block; width: max-content; max-width: 100%; overflow: auto; }}
th, td {{ border: 1px solid #d1d9e0; padding: 6px 13px; }} th {{ font-weight: 600; }}
tr:nth-child(2n) td {{ background: #f6f8fa; }}
code {{ background: #818b981f; border-radius: 6px; padding: .2em .4em; font: 85% "DejaVu Sans Mono", monospace; }}
pre {{ background: #f6f8fa; border-radius: 6px; padding: 16px; overflow: auto; line-height: 1.45; }}
pre code {{ background: none; padding: 0; }}
summary {{ cursor: pointer; }}
</style></head><body><div class="comment"><div class="author"><b>github-actions</b> <span>bot commented</span></div>
<div class="body">{}</div></div>
<script>document.documentElement.dataset.height = document.documentElement.offsetHeight</script></body></html>
"""


def evidence(data, kernel, origin):
    """What is known of one kernel without its processes: under the name mma, in the data's layout."""
    index = [facts["kernel"] for facts in data["cases"]].index(kernel)
    side = {key: value for key, value in data.items() if key not in ("cases", "processes")}
    side["origin"] = origin
    side["cases"] = [copy.deepcopy(data["cases"][index]) | {"kernel": "mma"}, copy.deepcopy(data["cases"][-1])]
    side["processes"] = []
    return side, index


def run_of_pairs(data, base, candidate):
    """The processes in the order in which they ran. A block of three has the order that a run's has. Each process measured
    every kernel; there are few recordings, so each is both sides of a pair.
    """
    sides = [evidence(data, base, "build/base"), evidence(data, candidate, "build/head"), evidence(data, base, "build/base")]
    timed = [process for process in data["processes"] if process["kind"] == "timing"]
    recorded = [process for process in data["processes"] if process["kind"] == "recording"]
    blocks = [timed[at : at + 3][:: 1 if at % 2 == 0 else -1] for at in range(0, len(timed) - 2, 3)]
    for numbered in (enumerate([[one, one] for one in recorded]), enumerate(blocks)):
        for pair, block in numbered:
            for (side, index), process in zip(sides, block):
                values = [process["values"][index], process["values"][-1]]
                side["processes"].append(process | {"pair": pair, "stage": 1 if pair < FIRST_PAIRS else 2, "values": values})
    base, candidate, control = (side for side, _ in sides)
    return {"version": 1, "second_stage": True, "base": base, "candidate": candidate, "control": control}


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=False, timeout=600, **options)


def comment(program, story, data, folder):
    """The comment of a story, as Markdown."""
    pair = run_of_pairs(data, *STORIES[story])
    if story == "wrong-result":
        pair["candidate"]["cases"][0]["verification"] = WRONG
    saved, markdown = folder / f"{story}.json", folder / f"{story}.md"
    saved.write_text(json.dumps(pair))
    done = run(program, "gate", "--replay", saved, "--markdown", markdown, cwd=folder, stdout=subprocess.PIPE)
    if done.returncode not in (0, 1):
        sys.exit(f"{story}: the gate did not judge {saved}")
    (folder / f"{story}.txt").write_bytes(done.stdout)
    return markdown


def draw(story, markdown, folder):
    html = run("cmark-gfm", "--unsafe", "-e", "table", "-e", "autolink", "-e", "strikethrough", markdown,
               stdout=subprocess.PIPE).stdout.decode()
    page = folder / f"{story}.html"
    page.write_text(PAGE.format(html))
    source, _ = browser.browse(page.as_uri(), "--dump-dom", height=400, width=WIDTH)
    height = int(re.search(r'data-height="(\d+)"', source)[1])
    picture = PICTURES / f"{story}.png"
    browser.screenshot(page.as_uri(), picture, height, WIDTH)
    size = picture.stat().st_size
    print(f"{picture.relative_to(ROOT)}: {size / 1000:.0f} kB")
    if size > MOST_BYTES:
        sys.exit(f"{picture} has more than {MOST_BYTES // 1000} kB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stories", nargs="*", metavar="STORY", choices=[[], *STORIES])
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build" / "ci" / "cli" / "fa-profile")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    data = json.loads(DATA.read_text())
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.keep or pathlib.Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for story in options.stories or STORIES:
            draw(story, comment(options.program.resolve(), story, data, folder), folder)


if __name__ == "__main__":
    main()
