"""What a tool answers when it cannot do its job."""

from __future__ import annotations


class ToolError(Exception):
    """`message` tells what is wrong, `cure` what to do. It becomes an answer; it never ends the server."""

    def __init__(self, message: str, cure: str) -> None:
        super().__init__(message, cure)
        self.message = message
        self.cure = cure

    def __str__(self) -> str:
        return f"{self.message} (cure: {self.cure})"
