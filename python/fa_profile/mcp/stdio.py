"""Messages over stdin and stdout: one a line, none longer than LONGEST, and an answer to those that are not messages."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from typing import Any

import anyio
import mcp_types as types

LONGEST = 4 << 20  # bytes of a message
_PARSE_ERROR = -32700
_INVALID_REQUEST = -32600


class Pipes:
    """The two ends, in place of the SDK's: it reads lines of any length, and is silent about those that are not messages.

    Takes over the file descriptors 0 and 1: whatever else reads or prints gets nothing, or goes to stderr.
    """

    def __init__(self) -> None:
        self._stdin = os.dup(0)
        self._stdout = os.dup(1)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
        self._lock = anyio.Lock()

    async def write(self, text: str) -> None:
        async with self._lock:
            await anyio.to_thread.run_sync(_write_all, self._stdout, text.encode(), abandon_on_cancel=True)

    async def flush(self) -> None:
        pass

    def __aiter__(self) -> AsyncIterator[str]:
        return self._messages()

    async def _messages(self) -> AsyncIterator[str]:
        async for line in self._lines():
            if not line.strip():
                continue
            problem = None if line.endswith(b"\n") else _error(None, _PARSE_ERROR, f"the message is longer than {LONGEST >> 20} MiB")
            problem = problem or _problem_of(line)
            if problem is None:
                yield line.decode("utf-8", errors="replace")
            else:
                await self.write(json.dumps(problem) + "\n")

    async def _lines(self) -> AsyncIterator[bytes]:
        """Lines with their end; the beginning of one that is too long, without an end."""
        kept, skipping = bytearray(), False
        while part := await anyio.to_thread.run_sync(os.read, self._stdin, 1 << 16, abandon_on_cancel=True):
            while part:
                piece, newline, part = part.partition(b"\n")
                if skipping:
                    skipping = not newline
                    continue
                kept += piece
                if len(kept) > LONGEST:
                    yield bytes(kept[:100])
                    kept, skipping = bytearray(), not newline
                elif newline:
                    yield bytes(kept) + b"\n"
                    kept = bytearray()


def _problem_of(line: bytes) -> dict[str, Any] | None:
    """The answer to a line that is not a message of JSON-RPC; None: it is one."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return _error(None, _PARSE_ERROR, "the line is not JSON")
    try:
        types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except Exception:  # whatever the validator raises
        asked = message.get("id") if isinstance(message, dict) else None
        known = asked if isinstance(asked, (str, int)) and not isinstance(asked, bool) else None
        return _error(known, _INVALID_REQUEST, "not a message of JSON-RPC 2.0: it needs jsonrpc, method, and params as an object")
    return None


def _error(asked: str | int | None, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": asked, "error": {"code": code, "message": message}}


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
