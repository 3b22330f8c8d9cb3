#!/usr/bin/env python3
"""Screenshots of the preview page of a demo that runs, for the README: screenshots.py [--page ADDRESS] [-o FOLDER]

Six to seven minutes after the start of the demo: the phases are compared with six minutes ago.
"""

import argparse
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import browser  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "preview" / "screenshots"
MOST_BYTES = 300_000
MOST_HEIGHT = 1440  # what is below is as good, and too long for a README
SHOTS = {
    "fleet": "board=fleet&simulated=true",
    "phases": "board=phases&simulated=true&kernel=mma&since=6h",
    "kernel": "board=kernel&simulated=true&kernel=mma&instance=sim-host-001",
    "gpu": "board=gpu&simulated=true&instance=sim-host-001",
    "gate": "board=gate&simulated=true",
    "exporter": "board=exporter",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", default="http://127.0.0.1:9470/")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=FOLDER)
    parser.add_argument("--only", choices=SHOTS)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for name, chosen in SHOTS.items():
        if options.only not in (None, name):
            continue
        address = f"{options.page}?{chosen}&refresh=0"
        source, console = browser.browse(address, "--dump-dom", height=400)
        height = re.search(r'data-state="done"[^>]* data-height="(\d+)"', source)
        if not height or console:
            print(f"{address} is not drawn: {console or source[-500:]}", file=sys.stderr)
            return 1
        path = options.output / f"{name}.png"
        browser.screenshot(address, path, min(int(height[1]), MOST_HEIGHT))
        size = path.stat().st_size
        print(f"{path}: {size / 1000:.0f} kB")
        if size > MOST_BYTES:
            print(f"{path} has more than {MOST_BYTES // 1000} kB", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
