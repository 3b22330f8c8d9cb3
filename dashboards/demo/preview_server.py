"""Serves dashboards/preview/ on the loopback, with the dashboards as JSON and Prometheus's query API behind /api/."""

import http.server
import json
import threading
import urllib.error
import urllib.request

from servers import DASHBOARDS, HOST, ServerError

CHART = "/usr/share/javascript/chart.js/chart.min.js"
ORDER = ["fleet", "phases", "kernel", "gpu", "gate", "exporter"]
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}


def boards():
    found = {path.stem: json.loads(path.read_text()) for path in (DASHBOARDS / "grafana").glob("*.json")}
    return [found[name] for name in sorted(found, key=lambda name: (ORDER + [name]).index(name))]


def pages():
    """{path of the address: file}. Nothing else is served."""
    found = {f"/{path.name}": path for path in (DASHBOARDS / "preview").iterdir() if path.suffix in TYPES}
    return found | {"/": found["/index.html"]}


def handler(prometheus, about):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def reply(self, status, kind, body):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            path = self.path.partition("?")[0]
            if path.startswith("/api/v1/"):
                return self.forward()
            if path == "/demo.json":
                return self.reply(200, "application/json", json.dumps(about | {"boards": boards()}).encode())
            if path == "/favicon.ico":
                return self.reply(204, "image/x-icon", b"")
            if path == "/chart.js":
                with open(CHART, "rb") as library:
                    return self.reply(200, TYPES[".js"], library.read())
            file = pages().get(path)
            if file is None:
                return self.reply(404, "text/plain", b"no such page\n")
            return self.reply(200, TYPES[file.suffix], file.read_bytes())

        def forward(self):
            try:
                with urllib.request.urlopen(f"http://{prometheus}{self.path}", timeout=30) as found:
                    status, body = found.status, found.read()
            except urllib.error.HTTPError as error:
                status, body = error.code, error.read()
            except OSError as error:
                status = 502
                body = json.dumps({"status": "error", "error": f"Prometheus does not answer: {error}"}).encode()
            self.reply(status, "application/json", body)

        def log_message(self, *_):
            pass

    return Handler


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 64

    def handle_error(self, *_):
        pass  # a browser that went away in the middle of a reply


def start(port, prometheus, about):
    """The running server; shutdown() and server_close() end it."""
    try:
        server = Server((HOST, port), handler(prometheus, about))
    except OSError as error:
        raise ServerError(f"the preview page cannot listen on port {port}: {error.strerror}") from None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
