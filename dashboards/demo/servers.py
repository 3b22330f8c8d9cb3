"""The servers of the demo and of its tests: fa-profile serve, Prometheus and Alertmanager, each a child with a log.

A child ends with the process that started it, however that one ends: the kernel sends it SIGTERM (setpriv --pdeathsig).
Start children in the main thread, because the signal comes when the thread that started them ends.
"""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

DASHBOARDS = pathlib.Path(__file__).resolve().parent.parent
ROOT = DASHBOARDS.parent
HOST = "127.0.0.1"
START_SECONDS = 300  # for a server to answer: on a busy machine it takes long, and one that ends is noticed at once
# Limits of a page, from the configuration that we give to everybody.
LIMITS = {
    name: int(value) if value.isdigit() else value
    for name, value in re.findall(
        r"^    (\w+_limit): (\w+)$", (DASHBOARDS / "prometheus.yml").read_text(), re.MULTILINE
    )
}


# Set when the program was asked to end. It does where it waits, never in the middle of starting a child.
asked_to_end = threading.Event()


class ServerError(Exception):
    """An error for the user who started the servers; the message says what to do."""


RESERVED = []


def free_ports(count):
    """`count` free ports in a row, below the range from which the kernel takes ports for outgoing connections.

    Until this process ends, no other caller on this machine gets them.
    """
    while True:
        first = random.randrange(12000, 32000)
        ports = list(range(first, first + count))
        if all([reserve(port) for port in ports]) and not any(map(in_use, ports)):
            return ports


def reserve(port):
    """Whether this process is the first to want it: an abstract socket has one owner, and goes with its process."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0fa-profile-port-{port}")
    except OSError:
        claim.close()
        return False
    RESERVED.append(claim)
    return True


def in_use(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return True
    return False


def get(url, timeout=60):
    try:
        with urllib.request.urlopen(url, timeout=timeout) as reply:
            return reply.read()
    except urllib.error.HTTPError as error:
        with error:
            text = error.read().decode(errors="replace")
        raise ServerError(f"{url}: HTTP {error.code}: {text}") from None


def wait_for(what, condition, seconds, children=(), pause=0.5):
    """The first true value of `condition()`; an error counts as not yet. Fails when a child has ended.

    Ends the program, with 0, when it was asked to end.
    """
    end, last = time.monotonic() + seconds, None
    while True:
        if asked_to_end.is_set():
            sys.exit(0)
        for child in children:
            child.check()
        try:
            value = condition()
            if value:
                return value
            last = value
        except (OSError, ValueError, KeyError, ServerError) as error:
            last = error
        if time.monotonic() > end:
            raise ServerError(f"waited {seconds:g} s in vain for {what} (last: {last})")
        time.sleep(pause)


class Child:
    """A server as a child process; its output goes to folder/<name>.log."""

    def __init__(self, name, folder):
        self.name = name
        self.log = pathlib.Path(folder) / f"{name}.log"
        self.process = None

    def start(self, argv):
        if self.process is not None and self.process.poll() is None:
            raise ServerError(f"{self.name} runs already")
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", *map(str, argv)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def log_end(self, lines=15):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def check(self):
        """Fails when the child has ended by itself."""
        if self.process is not None and self.process.poll() is not None:
            code = self.process.returncode
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            raise ServerError(f"{self.name} ended ({how}); the end of its log:\n{self.log_end()}")

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self, seconds=60):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        self.process.send_signal(signal.SIGCONT)  # one that a drill has frozen would not hear it
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def kill(self):
        self.process.kill()
        self.process.wait()


class Serve(Child):
    """fa-profile serve with its own spool."""

    def __init__(
        self, folder, program, port, hosts=0, simulate_interval=5, interval=5, name="fa-profile-serve", more=()
    ):
        super().__init__(name, folder)
        self.program, self.port, self.hosts = program, port, hosts
        self.simulate_interval, self.interval, self.more = simulate_interval, interval, more
        self.spool = pathlib.Path(folder) / f"{name}-spool"
        self.state = pathlib.Path(folder) / f"{name}-state"
        self.spool.mkdir(exist_ok=True)
        self.address = f"{HOST}:{port}"

    def add_recordings(self):
        """Copies the bundled recordings into the spool, as a run of fa-profile would: whole, then renamed."""
        for recording in sorted((ROOT / "recordings").glob("*.fap")):
            part = self.spool / f".{recording.name}.part"
            shutil.copyfile(recording, part)
            part.rename(self.spool / recording.name)

    def start(self):
        argv = [self.program, "serve", f"--spool={self.spool}", f"--state={self.state}"]
        argv += [f"--listen={self.address}", f"--interval={self.interval}s", *self.more]
        if self.hosts:
            argv += [f"--simulate-fleet={self.hosts}", f"--simulate-interval={self.simulate_interval}s"]
        if not os.path.exists("/dev/nvidiactl"):
            argv.append("--no-nvml")  # without a GPU its absence would be an alert
        super().start(argv)
        wait_for("fa-profile serve to answer", lambda: get(f"http://{self.address}/healthz"), START_SECONDS, [self], 0.1)


class Alertmanager(Child):
    """With the configuration that we give to everybody, whose receivers have no address."""

    def __init__(self, folder, port):
        super().__init__("alertmanager", folder)
        self.folder, self.port, self.address = pathlib.Path(folder), port, f"{HOST}:{port}"

    def start(self):
        super().start(
            [
                "prometheus-alertmanager",
                f"--config.file={DASHBOARDS / 'alertmanager.yml'}",
                f"--storage.path={self.folder / 'alertmanager'}",
                f"--web.listen-address={self.address}",
                "--cluster.listen-address=",
                "--log.level=warn",
            ]
        )
        wait_for("Alertmanager to be ready", lambda: get(f"http://{self.address}/-/ready"), START_SECONDS, [self], 0.1)

    def alerts(self, name=None):
        """Labels of the alerts that fire, inhibited ones included."""
        found = json.loads(get(f"http://{self.address}/api/v2/alerts?active=true"))
        return [alert["labels"] for alert in found if name in (None, alert["labels"]["alertname"])]


def rules_at(speedup, folder, shortest="10s"):
    """Writes the rules with every time divided by `speedup`; the files."""
    command = [
        sys.executable,
        "-B",
        DASHBOARDS / "generate.py",
        "--speedup",
        str(speedup),
        "--shortest",
        shortest,
        "-o",
        folder,
    ]
    # In a session apart: Ctrl-C in the terminal is for the demo, which ends when this is done.
    done = subprocess.run(command, capture_output=True, text=True, start_new_session=True)
    if done.returncode:
        raise ServerError(f"dashboards/generate.py --speedup failed:\n{done.stderr}")
    return sorted(pathlib.Path(folder).glob("*.yml"))


def scrape_job(name, interval, **more):
    """A job of Prometheus's configuration; `more` goes into it as it is."""
    return (
        {"job_name": name, "scrape_interval": f"{interval}s", "scrape_timeout": f"{min(interval, 10)}s"} | LIMITS | more
    )


def jobs_of(serve, interval):
    """The two jobs of a server with a simulated fleet: itself, and its hosts."""
    real = {"targets": [serve.address], "labels": {"instance": "this-host"}}
    found = {"url": f"http://{serve.address}/simulated/targets", "refresh_interval": "30s"}
    return [
        scrape_job("fa-profile", interval, static_configs=[real]),
        scrape_job("fa-profile-simulated", interval, http_sd_configs=[found]),
    ]


class Prometheus(Child):
    def __init__(self, folder, port, jobs, rules=(), alertmanager=None, name="prometheus", more=()):
        super().__init__(name, folder)
        self.port, self.address, self.more = port, f"{HOST}:{port}", more
        self.data = pathlib.Path(folder) / f"{name}-data"
        self.config = pathlib.Path(folder) / f"{name}.yml"
        config = {
            "global": {"scrape_interval": "5s", "evaluation_interval": "5s"},
            "scrape_configs": jobs,
            "rule_files": [str(path) for path in rules],
        }
        if alertmanager:
            config["alerting"] = {"alertmanagers": [{"static_configs": [{"targets": [alertmanager.address]}]}]}
        self.config.write_text(json.dumps(config, indent=1))

    def start(self):
        super().start(
            [
                "prometheus",
                f"--config.file={self.config}",
                f"--storage.tsdb.path={self.data}",
                f"--web.listen-address={self.address}",
                "--storage.tsdb.retention.time=1d",
                "--log.level=warn",
                *self.more,
            ]
        )
        wait_for("Prometheus to be ready", lambda: get(f"http://{self.address}/-/ready"), START_SECONDS, [self], 0.1)

    def api(self, path, timeout=60, **parameters):
        return json.loads(get(f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}", timeout))[
            "data"
        ]

    def query(self, expr, at=None):
        """[(labels, value)] of an instant query."""
        data = self.api("query", query=expr, **({} if at is None else {"time": at}))
        if data["resultType"] == "scalar":
            return [({}, float(data["result"][1]))]
        return [(each["metric"], float(each["value"][1])) for each in data["result"]]

    def value(self, expr):
        """The one value of `expr`, or None."""
        found = self.query(expr)
        return found[0][1] if found else None

    def targets(self):
        return self.api("targets", state="active")["activeTargets"]

    def firing(self, name):
        return [labels for labels, _ in self.query(f'ALERTS{{alertname="{name}", alertstate="firing"}}')]
