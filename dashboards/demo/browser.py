"""Headless Chromium, for the test of the preview page and for its screenshots."""

import os
import subprocess
import tempfile


def browse(url, *more, height=2400, width=1400):
    """Opens the page and lets its scripts run: what Chromium printed, and the lines of the page's console."""
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [
                "chromium",
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--hide-scrollbars",
                f"--user-data-dir={profile}",
                f"--window-size={width},{height}",
                "--virtual-time-budget=30000",
                "--enable-logging=stderr",
                *more,
                url,
            ],
            env=os.environ | {"HOME": profile},
            capture_output=True,
            text=True,
            timeout=600,
            check=True,
        )
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


def page_source(url):
    """The page after its scripts ran, and what they wrote to the console."""
    return browse(url, "--dump-dom")


def screenshot(url, path, height, width=1400):
    browse(url, f"--screenshot={path}", height=height, width=width)
