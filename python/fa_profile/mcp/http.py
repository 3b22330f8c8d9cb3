"""Streamable HTTP on loopback: every request carries the token, and names a loopback host."""

from __future__ import annotations

import contextlib
import hmac
import json
import pathlib
import secrets
import socket
import stat
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio
import uvicorn

from . import jobs
from .errors import ToolError
from .stdio import LONGEST

HOST = "127.0.0.1"
PATH = "/mcp"
_SHORTEST = 16  # characters of a token
_MOST_SESSIONS = 16
_CANCEL_SECONDS = 5.0
_IDLE_SECONDS = 600.0  # after which a session without a request ends: a client that went away does not keep its place

_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_App = Callable[[_Scope, _Receive, _Send], Awaitable[None]]


def token(file: str | None) -> str:
    """That of the file, which must be the user's alone; without a file a new one, which is printed. Raises ToolError."""
    if file is None:
        made = secrets.token_urlsafe(32)
        print(f"fa-profile mcp: token {made}", file=sys.stderr, flush=True)
        return made
    try:
        mode = pathlib.Path(file).stat().st_mode
        text = pathlib.Path(file).read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise ToolError(f"the token file {file} cannot be read: {error}", "make one: openssl rand -hex 32 > FILE; chmod 600 FILE") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ToolError(f"others can read the token file {file}", f"chmod 600 {file}")
    if len(text) < _SHORTEST or not text.isprintable() or " " in text:
        raise ToolError(f"the token in {file} is shorter than {_SHORTEST} characters, or has spaces", "make one: openssl rand -hex 32 > FILE")
    return text


class Guard:
    """Answers 401 to requests without the token, before anything else looks at them."""

    def __init__(self, app: _App, wanted: str) -> None:
        self._app = app
        self._wanted = b"Bearer " + wanted.encode()

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] == "http" and not self._may(scope):
            body = b'{"error": "the header Authorization: Bearer TOKEN is missing or wrong; fa-profile mcp printed the token"}\n'
            headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer"), (b"content-length", str(len(body)).encode())]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": body})
            return
        if scope["type"] == "http" and scope["method"] == "POST":
            await _Request(self._app, scope, receive, send).answer()
        else:
            await self._app(scope, receive, send)

    def _may(self, scope: _Scope) -> bool:
        given = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
        return len(given) == 1 and hmac.compare_digest(given[0], self._wanted)


class _Request:
    """A message of a client. If the client goes away before the answer, which nothing can fetch later, its work is cancelled."""

    def __init__(self, app: _App, scope: _Scope, receive: _Receive, send: _Send) -> None:
        self._app, self._scope, self._receive, self._send = app, scope, receive, send
        self._body = bytearray()
        self._answered = False

    async def answer(self) -> None:
        try:
            await self._app(self._scope, self._read, self._write)
        finally:
            if not self._answered:
                with anyio.CancelScope(shield=True), anyio.move_on_after(_CANCEL_SECONDS):
                    await self._cancel()

    async def _read(self) -> MutableMapping[str, Any]:
        message = await self._receive()
        if message["type"] == "http.request" and len(self._body) <= LONGEST:
            self._body += message.get("body", b"")
        return message

    async def _write(self, message: MutableMapping[str, Any]) -> None:
        await self._send(message)
        self._answered = self._answered or (message["type"] == "http.response.body" and not message.get("more_body"))

    async def _cancel(self) -> None:
        session = any(name.lower() == b"mcp-session-id" for name, _ in self._scope["headers"])
        try:
            asked = json.loads(self._body).get("id")
        except (ValueError, AttributeError, RecursionError):
            return
        if not session or not isinstance(asked, (int, str)):
            return
        said = json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": asked, "reason": "the client went away"}}).encode()
        headers = [(name, value) for name, value in self._scope["headers"] if name.lower() != b"content-length"]
        parts = iter([{"type": "http.request", "body": said, "more_body": False}])

        async def receive() -> MutableMapping[str, Any]:
            return next(parts, {"type": "http.disconnect"})

        async def send(_: MutableMapping[str, Any]) -> None:
            pass

        await self._app({**self._scope, "headers": [*headers, (b"content-length", str(len(said)).encode())]}, receive, send)


async def serve(server: Any, port: int, wanted: str) -> None:
    """Until SIGINT or SIGTERM. Host and Origin are checked by the SDK: with host=HOST it takes loopback names alone."""
    app = server.streamable_http_app(host=HOST, streamable_http_path=PATH, max_sessions=_MOST_SESSIONS, session_idle_timeout=_IDLE_SECONDS)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with contextlib.closing(listener):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
            listener.listen()  # before the address is printed: who reads it may connect at once
        except OSError as error:
            raise ToolError(f"port {port} of {HOST} cannot be used: {error.strerror}", "give another port, or --http 0") from None
        print(f"fa-profile mcp: http://{HOST}:{listener.getsockname()[1]}{PATH}", file=sys.stderr, flush=True)
        config = uvicorn.Config(Guard(app, wanted), log_level="error", access_log=False, timeout_graceful_shutdown=2, server_header=False)
        try:
            await uvicorn.Server(config).serve(sockets=[listener])
        finally:
            jobs.end_all()
