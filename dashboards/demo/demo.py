#!/usr/bin/env -S --block-signal=INT --block-signal=TERM --block-signal=HUP python3
"""fa-profile demo: Prometheus, Alertmanager, fa-profile serve with a simulated fleet, a preview of the dashboards.

Runs until Ctrl-C, SIGTERM, --seconds, or until one of the servers ends. Everything listens on 127.0.0.1, and nothing is left
behind. Exit code: 0 when it was asked to end, at any moment of its start too; 2 for an error. A signal that comes before
the first line above has blocked it ends a process that has done nothing yet. Standard library only; the servers are
Debian's packages.
"""

import argparse
import pathlib
import shutil
import signal
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import preview_server  # noqa: E402
import servers  # noqa: E402

PORTS = ["preview page", "Prometheus", "Alertmanager", "fa-profile serve"]


def new_or_empty(folder):
    try:
        return not any(folder.iterdir())
    except FileNotFoundError:
        return True
    except OSError:  # a file, or one that cannot be read
        return False


def arguments():
    parser = argparse.ArgumentParser(
        prog="fa-profile demo",
        description="Real Prometheus and Alertmanager with this project's "
        "rules, fa-profile serve with a simulated fleet, and a preview of every dashboard.",
    )
    parser.add_argument("--hosts", type=int, default=3, metavar="N", help="simulated hosts of 8 GPUs, 2 or more (default 3)")
    parser.add_argument(
        "--keep",
        type=pathlib.Path,
        metavar="DIR",
        help="keep data, configuration and logs in DIR, a new or empty folder",
    )
    parser.add_argument(
        "--port-base", type=int, default=9470, metavar="P", help="the first of four ports (default 9470)"
    )
    parser.add_argument("--seconds", type=float, metavar="S", help="end after S seconds")
    parser.add_argument(
        "--speedup",
        type=float,
        default=60,
        metavar="X",
        help="divide every time in the rules by X (default 60: an hour becomes a minute)",
    )
    parser.add_argument(
        "--interval",
        type=int,
        default=3,
        metavar="S",
        help="seconds between two scrapes, and two recordings of a simulated GPU (default 3)",
    )
    parser.add_argument("--program", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not 2 <= options.hosts <= 1000:
        parser.error("--hosts takes 2 to 1000: a slower GPU is planted on the second")
    if not 1024 <= options.port_base <= 65535 - len(PORTS):
        parser.error(f"--port-base takes 1024 to {65535 - len(PORTS)}")
    if options.seconds is not None and not options.seconds > 0:
        parser.error("--seconds takes more than 0")
    if options.keep and not new_or_empty(options.keep):
        parser.error(f"--keep must name a new or empty folder; {options.keep} is not")
    if not 1 <= options.speedup <= 3600 or not 1 <= options.interval <= 60:
        parser.error("--speedup takes 1 to 3600, --interval 1 to 60")
    return options


def check_tools(program):
    missing = [tool for tool in ("prometheus", "prometheus-alertmanager", "setpriv") if not shutil.which(tool)]
    if not pathlib.Path(preview_server.CHART).exists():
        missing.append(preview_server.CHART)
    if missing:
        raise servers.ServerError(
            f"missing: {', '.join(missing)}; ci/setup.sh --demo installs Debian's packages of them"
        )
    if not program.exists():
        raise servers.ServerError(f"program {program} not found; start ./fa-profile demo, which builds it")


def check_ports(base):
    taken = [f"{base + i} ({what})" for i, what in enumerate(PORTS) if servers.in_use(base + i)]
    if taken:
        raise servers.ServerError(f"in use: port {', '.join(taken)}; choose others with --port-base")


class Demo:
    def __init__(self, options, folder):
        self.options = options
        page, prometheus, alertmanager, serve = range(options.port_base, options.port_base + len(PORTS))
        self.page_port = page
        rules = servers.rules_at(options.speedup, folder / "rules", f"{max(10, 3 * options.interval)}s")
        self.serve = servers.Serve(folder, options.program, serve, options.hosts, options.interval, options.interval)
        self.alertmanager = servers.Alertmanager(folder, alertmanager)
        jobs = servers.jobs_of(self.serve, options.interval)
        self.prometheus = servers.Prometheus(folder, prometheus, jobs, rules, self.alertmanager)
        self.children = [self.serve, self.alertmanager, self.prometheus]
        self.page = None

    def start(self):
        self.serve.add_recordings()
        for child in self.children:
            child.start()
        options = self.options
        about = {
            "speedup": options.speedup,
            "interval": options.interval,
            "hosts": options.hosts,
            "started": time.time(),
        }
        self.page = preview_server.start(self.page_port, self.prometheus.address, about)

    def say(self):
        print(
            f"""preview       http://{servers.HOST}:{self.page_port}/ (the dashboards, drawn without Grafana)
Prometheus    http://{self.prometheus.address}/
Alertmanager  http://{self.alertmanager.address}/
exporter      http://{self.serve.address}/metrics

Simulated: {self.options.hosts} hosts of 8 GPUs (sim-host-000 and on), which repeat the bundled recording with noise;
their series carry simulated="true". Planted: GPU 5 of sim-host-001 is 25 % slower than the others, and on GPU 2
of sim-host-000 the softmax of mma becomes slower after a while. The target this-host is real: the bundled
recording, counted once. Times in the rules are {self.options.speedup:g} times shorter than in dashboards/rules/.
Ctrl-C ends everything.""",
            flush=True,
        )

    def stop(self):
        if self.page:
            self.page.shutdown()
            self.page.server_close()
        for child in reversed(self.children):
            child.stop()


def run(options, folder):
    demo = None
    try:
        demo = Demo(options, folder)
        demo.start()
        demo.say()
        end = time.monotonic() + (options.seconds or float("inf"))
        while time.monotonic() < end and not servers.asked_to_end.is_set():
            for child in demo.children:
                child.check()
            time.sleep(0.5)
    finally:
        if demo:
            demo.stop()


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main():
    for number in ENDING:
        signal.signal(number, lambda *_: servers.asked_to_end.set())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    options = arguments()
    folder = None
    try:
        check_tools(options.program)
        check_ports(options.port_base)
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
        else:
            folder = pathlib.Path(tempfile.mkdtemp(prefix="fa-profile-demo-"))
        run(options, (options.keep or folder).resolve())
    except (servers.ServerError, OSError) as error:
        print(f"fa-profile demo: {error}", file=sys.stderr)
        return 2
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
