#!/usr/bin/env python3
"""The pictures of docs/html-report.md: html_pictures.py --program build/ci/cli/fa-profile [-o FOLDER]

Look at each of them before you commit it.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.chromium import Browser  # noqa: E402
from support.recordings import LADDER  # noqa: E402

MOST_BYTES = 150_000
PYTORCH = "pytorch-sdpa"
# name: (recording, light or dark, view, height)
SHOTS = {
    "kernel-light": (LADDER.stem, "light", "#view=kernel&kernel=mma@2,16,2048,128", 760),
    "code-dark": (PYTORCH, "dark", "#view=code&kernel={kernel}&sort=share_ratio", 620),
    "program-dark": (PYTORCH, "dark", "", 640),
    "timeline-light": ("h100-timeline", "light", "#view=kernel&kernel=wmma@2,16,4096,64", 620),
}
SCROLL_TO = {"program-dark": "time", "timeline-light": "timeline"}  # the id of an element
FIRST_KERNEL = "JSON.parse(document.getElementById('code').textContent).kernels.find((each) => !each.missing)?.kernel ?? ''"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=ROOT / "docs" / "images" / "html")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, (recording, scheme, view, height) in SHOTS.items():
            page = pathlib.Path(folder) / f"{recording}.html"
            file = ROOT / "recordings" / f"{recording}.fap"
            subprocess.run([options.program, "report", file, "--format", "html", "-o", page, "--force"], check=True)
            browser = Browser(1120, height)
            try:
                browser.prefer(scheme)
                browser.open(page)
                kernel = browser.value(f"encodeURIComponent({FIRST_KERNEL})")
                browser.open(page, view.format(kernel=kernel))
                browser.wait("document.querySelector('svg.bar')")
                if name in SCROLL_TO:
                    browser.value(f"document.getElementById('{SCROLL_TO[name]}').scrollIntoView()")
                browser.picture(options.output / f"{name}.png")
            finally:
                browser.close()
            size = (options.output / f"{name}.png").stat().st_size
            print(f"{name}: {size / 1000:.0f} kB")
            if size > MOST_BYTES:
                print(f"{name} has more than {MOST_BYTES // 1000} kB", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
