"""A headless Chromium that a test drives: it types keys, reads the page, and takes pictures of it.

It speaks Chromium's DevTools protocol through a pipe (--remote-debugging-pipe), which needs no other package.
"""

import base64
import json
import os
import select
import subprocess
import tempfile
import time

from support.processes import LONG

KEYS = {"Enter": 13, "Tab": 9, "Escape": 27, "End": 35, "Home": 36, "PageDown": 34, "PageUp": 33, "ArrowUp": 38, "ArrowDown": 40}


class Browser:
    """One page of a Chromium without network. `console`: what the page has written there, errors of scripts included."""

    def __init__(self, width=1400, height=1000):
        self.console = []
        self.requests = []
        self.loaded = False
        self.last = 0
        self.rest = b""
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.to = os.pipe()
        self.source, to_write = os.pipe()
        self.process = subprocess.Popen(
            [
                "sh",
                "-c",
                f'exec "$@" 3<&{to_read} 4>&{to_write}',
                "sh",
                "chromium",
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--hide-scrollbars",
                "--allow-pre-commit-input",  # else it drops keys that come before the first picture of a page
                "--remote-debugging-pipe",
                f"--user-data-dir={self.profile.name}",
                f"--window-size={width},{height}",
                "about:blank",
            ],
            env=os.environ | {"HOME": self.profile.name},
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_read)
        os.close(to_write)
        self.session = None
        page = next(each for each in self.ask("Target.getTargets")["targetInfos"] if each["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.resize(width, height)

    def resize(self, width, height=1000):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def close(self):
        self.process.terminate()
        self.process.wait(LONG)
        os.close(self.to)
        os.close(self.source)
        self.profile.cleanup()

    def message(self):
        """The next message; raises TimeoutError when there is none for long."""
        while b"\0" not in self.rest:
            if not select.select([self.source], [], [], LONG)[0]:
                raise TimeoutError("Chromium does not answer")
            got = os.read(self.source, 1 << 20)
            if not got:
                raise EOFError("Chromium has ended")
            self.rest += got
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def note(self, event):
        """Keeps what a test asks of an event."""
        name, about = event.get("method"), event.get("params", {})
        if name == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(each.get("value", each.get("description"))) for each in about["args"]))
        elif name == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.console.append(details.get("exception", {}).get("description", details["text"]))
        elif name == "Log.entryAdded":
            self.console.append(about["entry"]["text"])
        elif name == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif name == "Page.loadEventFired":
            self.loaded = True
        return name

    def ask(self, method, **parameters):
        self.last += 1
        request = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.to, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            self.note(answer)
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def navigate(self, url):
        """Loads a page. Chromium answers before it has left the page before."""
        self.loaded = False
        self.ask("Page.navigate", url=url)
        while not self.loaded:
            self.note(self.message())

    def open(self, path, fragment=""):
        """Loads a file and waits until the page has drawn itself."""
        self.navigate("about:blank")  # else a new fragment would not load the page again
        self.navigate(f"file://{path}{fragment}")
        self.wait("document.body.dataset.state === 'drawn'")

    def value(self, expression):
        """The value of a JavaScript expression, a promise's included."""
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression):
        end = time.monotonic() + LONG
        while not self.value(f"!!({expression})"):
            if time.monotonic() > end or self.console:
                raise TimeoutError(f"not true: {expression}; console: {self.console}")
            time.sleep(0.02)

    def text(self, selector):
        """The text of the elements of a selector."""
        return self.value(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)")

    def press(self, *keys):
        for key in keys:
            code = KEYS[key] if key in KEYS else ord(key.upper()) if key.isalnum() else 0
            about = {"key": key, "windowsVirtualKeyCode": code}
            text = "\r" if key == "Enter" else key if len(key) == 1 else None
            self.ask("Input.dispatchKeyEvent", type="keyDown", **about, **({"text": text} if text else {}))
            self.ask("Input.dispatchKeyEvent", type="keyUp", **about)

    def prefer(self, scheme):
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path, height=None, width=None):
        """A PNG of what is in sight, or of the page's first `height` pixels."""
        clip = {"clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}} if height else {}
        got = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=bool(height), **clip)
        with open(path, "wb") as file:
            file.write(base64.b64decode(got["data"]))
