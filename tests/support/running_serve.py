"""fa-profile serve as a process of a test."""

import pathlib
import shutil
import signal
import subprocess
import urllib.error
import urllib.request

from prometheus_client.parser import text_string_to_metric_families as parse_text

from support.processes import LONG, free_port, wait_for


class RunningServe:
    """A running exporter with its own spool and state."""

    def __init__(self, program, folder, *options, spool=True, nvml=False, port=None, interval="200ms", **process):
        self.folder = pathlib.Path(folder)
        self.spool = self.folder / "spool"
        self.state = self.folder / "state"
        self.spool.mkdir(exist_ok=True)
        self.port = port or free_port()
        self.log = open(self.folder / "log", "ab")
        command = [program, "serve", "--listen", f"127.0.0.1:{self.port}", "--interval", interval, *options]
        if spool:
            command += ["--spool", str(self.spool), "--state", str(self.state)]
        if not nvml:
            command += ["--no-nvml"]
        self.process = subprocess.Popen(command, stderr=self.log, stdout=self.log, **process)
        wait_for("the first collection", lambda: self.process.poll() is not None or self.get())

    def get(self, path="/metrics", **headers):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=headers)
        with urllib.request.urlopen(request, timeout=LONG) as answer:
            return answer.read().decode()

    def answer(self, path):
        """The text, whatever the status is."""
        try:
            return self.get(path)
        except urllib.error.HTTPError as error:
            return error.read().decode()

    def status(self, path):
        try:
            self.get(path)
            return 200
        except urllib.error.HTTPError as error:
            return error.code

    def value(self, name, **labels):
        for family in parse_text(self.get()):
            for sample in family.samples:
                if sample.name == name and all(sample.labels.get(k) == v for k, v in labels.items()):
                    return sample.value
        return None

    def put(self, source, name):
        part = self.spool / (name + ".part")
        shutil.copy(source, part)
        part.rename(self.spool / name)

    def counted(self, result="counted"):
        return self.value("faprof_exporter_recordings_total", result=result) or 0

    def log_text(self):
        return (self.folder / "log").read_text()

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        code = self.process.wait(timeout=LONG)
        self.log.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.close()
