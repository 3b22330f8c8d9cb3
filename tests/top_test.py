"""`fa-profile top` against a real `fa-profile serve`, on a real pseudo-terminal: top_test.py PROGRAM SOURCE"""

import base64
import contextlib
import fcntl
import http.server
import os
import pathlib
import pty
import re
import select
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest
import urllib.request

from support.processes import LONG, free_port, wait_for
from support.recordings import LADDER
from support.running_serve import RunningServe

PROGRAM, SOURCE = sys.argv[1:3]
RECORDINGS = pathlib.Path(SOURCE) / "recordings"
ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def environment(**changes):
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG")}
    return {**kept, "TERM": "xterm", "LC_ALL": "C.UTF-8", **changes}


def top(*arguments, **changes):
    return subprocess.run([PROGRAM, "top", *arguments], text=True, capture_output=True, timeout=LONG, env=environment(**changes))


class Terminal:
    """fa-profile top on a terminal of its own."""

    def __init__(self, *arguments, columns=120, lines=40, **changes):
        self.master, self.slave = pty.openpty()
        self.resize(columns, lines)
        self.before = termios.tcgetattr(self.slave)
        self.text = ""
        self.process = subprocess.Popen([PROGRAM, "top", *arguments], stdin=self.slave, stdout=self.slave, stderr=self.slave,
                                        env=environment(**changes), start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def resize(self, columns, lines):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def press(self, keys):
        os.write(self.master, keys.encode())

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            self.text += os.read(self.master, 65536).decode(errors="replace")

    def screen(self):
        """What the newest whole frame shows, without colours."""
        frames = self.text.split("\x1b[H")
        whole = [frame.split("\x1b[J")[0] for frame in frames if "\x1b[J" in frame]
        return COLOUR.sub("", whole[-1]).replace("\x1b[K", "").replace("\r", "") if whole else ""

    def wait_for(self, words):
        end = time.monotonic() + LONG
        while not re.search(words, self.screen()):
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"no '{words}' on the screen:\n{self.screen()}\n{self.text[-2000:]!r}")
            self.read(1)

    def end(self):
        """The exit code, and everything that was written."""
        while self.process.poll() is None:
            self.read(0.1)
        while select.select([self.master], [], [], 0)[0]:
            self.read(0)
        return self.process.returncode, self.text

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@contextlib.contextmanager
def page_server(page, status=200, missing=0):
    """Its address. `page`: text, or a function of the number of the request."""
    asked = iter(range(10**9))

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = (page(next(asked)) if callable(page) else page).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body) + missing))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class TlsServe(RunningServe):
    """serve with TLS and a password."""

    def __init__(self, folder, authority):
        self.trust = ssl.create_default_context(cafile=authority)
        super().__init__(PROGRAM, folder, "--web-config", str(pathlib.Path(folder) / "web.yml"))

    def get(self, path="/metrics", **headers):
        request = urllib.request.Request(f"https://127.0.0.1:{self.port}{path}", headers={
            "Authorization": "Basic " + base64.b64encode(b"me:sesame").decode()})
        with urllib.request.urlopen(request, timeout=LONG, context=self.trust) as answer:
            return answer.read().decode()


class TopTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.serve = RunningServe(PROGRAM, folder.name)
        cls.addClassCleanup(cls.serve.__exit__)
        cls.address = f"127.0.0.1:{cls.serve.port}"
        cls.serve.put(LADDER, "ladder.fap")
        wait_for("counted", lambda: cls.serve.counted() == 1)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_once_refuses_an_interval(self):
        run = top("localhost", "--once", "--interval", "5s")
        self.assertEqual(run.returncode, 2)
        self.assertIn("--interval has no effect with --once", run.stderr)

    def test_once_prints_kernels_and_phases_of_a_real_serve(self):
        for address in (self.address, f"http://{self.address}", f"http://{self.address}/metrics"):
            run = top(address, "--once")
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            self.assertIn(f"http://{self.address}/metrics", run.stdout)
            self.assertIn("1 recordings", run.stdout)
            kernels = run.stdout.split("Kernels by GPU time")[1].split("\n\n")[0]
            seconds = self.serve.value("faprof_kernel_duration_seconds_sum", kernel="mma", shape="le_512")
            self.assertGreater(seconds, 0)
            order = [line.split()[1] for line in kernels.splitlines()[2:]]
            self.assertEqual(order[0], "minimal")  # the slowest of the ladder
            self.assertEqual(set(order), {"minimal", "scalar", "tiled", "cublas", "serial_softmax", "wmma", "mma", "hopper"})
            self.assertRegex(run.stdout, r"Phases of serial_softmax on GPU 0[^\n]*\n[^\n]*\n(pv|softmax) ")
            self.assertNotIn("\x1b", run.stdout)
            self.assertNotIn("█", run.stdout)
        self.assertIn("█", top(self.address, "--once", "--bars", "always").stdout)
        self.assertIn("##########", top(self.address, "--once", "--bars", "always", LC_ALL="C").stdout)

    def test_the_terminal_is_given_back_at_every_end(self):
        for end in ("q", "\x03", signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with Terminal(self.address) as terminal:
                terminal.wait_for("Phases of minimal")
                if isinstance(end, str):
                    terminal.press(end)
                else:
                    terminal.process.send_signal(end)
                code, text = terminal.end()
                self.assertEqual(code, 0, end)
                self.assertTrue(text.startswith(ENTER), end)
                self.assertTrue(text.endswith("\x1b[?7h\x1b[?25h" + LEAVE), end)
                self.assertEqual(termios.tcgetattr(terminal.slave), terminal.before, end)

    def test_colours_are_left_out_where_they_are_unwanted(self):
        for changes, coloured in (({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False)):
            with Terminal(self.address, **changes) as terminal:
                terminal.wait_for("Phases of minimal")
                terminal.press("q")
                _, text = terminal.end()
                self.assertEqual(bool(COLOUR.search(text)), coloured, changes)

    def test_keys_select_a_kernel_and_the_order(self):
        with Terminal(self.address, "--interval", "1h") as terminal:
            terminal.wait_for("Phases of minimal")
            terminal.wait_for("> minimal")
            terminal.press("\x1b[B\x1bOB")
            terminal.wait_for("> scalar")
            terminal.wait_for("Phases of scalar")
            terminal.press("\x1b[A")
            terminal.wait_for("> serial_softmax")
            for order in ("GPU time", "launches", "name"):
                terminal.press("s")
                terminal.wait_for(f"Kernels by {order}")
            terminal.press("xyz\x1b[15~q")
            self.assertEqual(terminal.end()[0], 0)

    def test_a_resized_terminal_is_filled_anew(self):
        with Terminal(self.address, "--interval", "1h", columns=100) as terminal:
            terminal.wait_for("Phases of minimal")
            self.assertEqual(max(map(len, terminal.screen().split("\n"))), 100)
            terminal.resize(60, 12)
            terminal.wait_for("1 to 3 of 8")
            lines = terminal.screen().split("\n")
            self.assertEqual(max(map(len, lines)), 60, lines)
            self.assertLessEqual(len(lines), 12)

    def test_a_new_recording_is_the_newest_time(self):
        folder = self.folder / "own"
        folder.mkdir()
        with RunningServe(PROGRAM, folder) as serve, Terminal(f"127.0.0.1:{serve.port}", "--interval", "200ms", lines=60) as terminal:
            terminal.wait_for("No kernel was counted")
            serve.put(LADDER, "ladder.fap")
            terminal.wait_for(r"Kernels by newest GPU time")
            terminal.wait_for(r"minimal")
            serve.put(RECORDINGS / "pytorch-sdpa.fap", "sdpa.fap")
            terminal.wait_for("(?s)newest.*flash_fwd_kernel.*minimal")

    def test_a_server_that_goes_away_and_comes_back_is_waited_for(self):
        pages = {"away": False}

        def page(_):
            if pages["away"]:
                raise ConnectionResetError
            return 'faprof_kernel_duration_seconds_sum{gpu="0",kernel="mma"} 1\n'

        with page_server(page) as address, Terminal(address, "--interval", "200ms") as terminal:
            terminal.wait_for("mma")
            pages["away"] = True
            terminal.wait_for("Trying again every 0.2 s: http.* did not answer")
            terminal.wait_for("mma")  # the newest page stays
            pages["away"] = False
            terminal.wait_for("(?s)metrics(?!.*Trying again)")
            terminal.press("q")
            self.assertEqual(terminal.end()[0], 0)

    def test_a_restarted_serve_is_found_again(self):
        serve = RunningServe(PROGRAM, self.folder)
        with Terminal(f"127.0.0.1:{serve.port}", "--interval", "200ms") as terminal:
            with serve:
                serve.put(LADDER, "ladder.fap")
                terminal.wait_for("minimal")
                self.assertEqual(serve.stop(), 0)
            terminal.wait_for("did not answer")
            with RunningServe(PROGRAM, self.folder, port=serve.port) as again:
                wait_for("counted before", lambda: again.counted() == 1)
                terminal.wait_for("^(?s:(?!.*Trying again).*minimal)")
                terminal.press("q")
                self.assertEqual(terminal.end()[0], 0)

    def test_q_and_signals_end_a_request_that_waits(self):
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as silent:
            for end in ("q", "\x03"):
                with Terminal(f"127.0.0.1:{silent.getsockname()[1]}") as terminal:
                    while ENTER not in terminal.text:
                        terminal.read(1)
                    terminal.press(end)
                    code, text = terminal.end()
                    self.assertEqual(code, 0)
                    self.assertTrue(text.endswith(LEAVE))

    def test_labels_do_not_command_the_terminal(self):
        hostile = "\x1b]0;owned\x07\x1b[2J\u202e\u009b31m"
        page = "".join(f'{name}{{gpu="{hostile}",kernel="{hostile}",phase="{hostile}",name="{hostile}",reason="{hostile}"}} 1\n'
                       for name in ("faprof_gpu_info", "faprof_kernel_launches_total", "faprof_phase_cycles_total",
                                    "faprof_device_throttled", "faprof_phase_stall_cycles_total"))
        with page_server(page) as address:
            run = top(address, "--once")
            self.assertEqual(run.returncode, 0)
            self.assertFalse(set("\x1b\x07\u202e\u009b") & set(run.stdout))
            with Terminal(address) as terminal:
                terminal.wait_for("owned")
                terminal.press("q")
                _, text = terminal.end()
                known = re.sub(r"\x1b\[(\?1049[hl]|\?25[hl]|\?7[hl]|H|J|K|[0-9;]*m)", "", text)
                self.assertFalse(set("\x1b\x07\u202e\u009b") & set(known), repr(known))

    def test_tls_and_passwords_are_those_of_the_web_configuration(self):
        key, certificate = self.folder / "server.key", self.folder / "server.crt"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                       check=True, capture_output=True)
        (self.folder / "web.yml").write_text(
            f"tls_server_config: {{cert_file: {certificate}, key_file: {key}}}\n"
            "basic_auth_users: {me: $2b$04$pxApfqUhUWbRem59cMinIeEtF30NQrfKmP0lk7LuuPyDfyaI1IdNe}\n")
        password = self.folder / "password"
        password.write_text("sesame\n")
        wrong = self.folder / "wrong"
        wrong.write_text("hunter2\n")
        with TlsServe(self.folder, certificate) as serve:
            address = f"https://127.0.0.1:{serve.port}"
            access = ("--ca", str(certificate), "--user", "me", "--password-file", str(password))
            run = top(address, "--once", *access)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            self.assertIn("No kernel was counted", run.stdout)
            self.assertEqual(top(f"https://me:sesame@127.0.0.1:{serve.port}", "--once", *access[:2]).returncode, 0)
            for arguments, words in (
                ((address, *access[2:]), "--ca FILE"),
                ((address, *access[:2]), "--user NAME --password-file FILE"),
                ((address, *access[:4], "--password-file", str(wrong)), "status 401"),
                ((f"http://127.0.0.1:{serve.port}",), "is it https:// there"),
            ):
                run = top(*arguments, "--once")
                self.assertEqual((run.returncode, run.stdout), (2, ""), run.stderr)
                self.assertIn(words, run.stderr)
                self.assertNotIn("hunter2", run.stderr)
                self.assertNotIn("sesame", run.stderr)

    def test_bad_input_is_one_error_with_a_cure(self):
        away = f"127.0.0.1:{free_port()}"
        missing = str(self.folder / "missing")
        with page_server("<html>") as html, page_server("go_goroutines 1\n") as other, page_server("", 404) as absent, \
                page_server("x 1\n", missing=9) as cut:
            for arguments, words in (
                ((away, "--once"), "check that fa-profile serve runs there"),
                (("ftp://127.0.0.1", "--once"), "write HOST:PORT or http"),
                (("http://me:hunter2/@127.0.0.1", "--once"), "write / as %2F"),
                (("no-such-host.invalid", "--once"), "http://no-such-host.invalid:9407/metrics did not answer"),
                (("--once", "-5"), "top has no option -5"),
                ((html, "--once"), f"{html}/metrics: line 1 is not a metric: <html>"),
                ((cut, "--once"), f"{cut}/metrics broke off its answer"),
                ((other, "--once"), "has no metrics of fa-profile"),
                ((absent, "--once"), "answered with status 404"),
                ((self.address,), "--once prints the tables and ends"),
                ((self.address, "--once", "--interval", "soon"), "--interval must be a time like 500ms"),
                ((self.address, "--once", "--interval", "0"), "--interval must be a time from 100ms to 1d, not '0'"),
                ((":99999",), "cannot be used: a port is a number up to 65535"),
                (("ftp://x",), "cannot be used: it begins with neither http:// nor https://"),
                ((self.address, "--once", "--user", "me"), "--user and --password-file go together"),
                ((self.address, "--once", "--user", "me", "--password-file", missing), "missing"),
                ((self.address, "--once", "--cert", missing), "--cert and --key go together"),
                ((f"https://{self.address}", "--once", "--ca", missing), "missing"),
                ((self.address, "--once", "--ca", __file__), "--ca has no effect on http://"),
                ((f"http://{self.address}", "--once", "--cert", __file__, "--key", __file__), "--cert has no effect on http://"),
                ((f"me:x@{self.address}", "--once", "--user", "me", "--password-file", __file__), "--user gives another"),
            ):
                run = top(*arguments)
                self.assertEqual((run.returncode, run.stdout), (2, ""), f"{arguments}: {run.stderr}")
                self.assertIn(words, run.stderr)
                self.assertIn("hint: ", run.stderr)
                self.assertNotIn("hunter2", run.stderr)

    def test_a_page_without_end_is_refused(self):
        with page_server("# " + "x" * (9 << 20)) as address:
            run = top(address, "--once")
            self.assertEqual((run.returncode, run.stdout), (2, ""))
            self.assertIn("has more than 8 MiB", run.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
