"""The folders that tools may read and write."""

from __future__ import annotations

import os
import pathlib
import stat
import urllib.parse
from collections.abc import Iterator, Sequence

from .errors import ToolError

MOST_RECORDINGS = 200  # that are listed
_MOST_ENTRIES = 50_000  # of folders that a listing looks at
_SKIPPED = {"node_modules", "__pycache__", "site-packages"}


class Roots:
    """Folders, without symbolic links in their paths. The first one is the folder in which commands run."""

    def __init__(self, folders: Sequence[str | os.PathLike[str]]) -> None:
        """Raises ToolError for a path that is not a folder."""
        self.folders: list[pathlib.Path] = []
        for folder in folders:
            path = pathlib.Path(folder).resolve()
            if not path.is_dir():
                raise ToolError(f"root {folder} is not a folder", "give an existing folder with --root DIR")
            self.folders.append(path)

    @property
    def first(self) -> pathlib.Path:
        return self.folders[0]

    def narrowed(self, uris: Sequence[str]) -> Roots:
        """What these roots and those that a client names (file:// URIs) have in common. Raises ToolError where they have
        nothing in common. A client that names no folder gets all."""
        if not uris:
            return self
        common: list[pathlib.Path] = []
        for uri in uris:
            parts = urllib.parse.urlsplit(uri)
            if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
                continue
            theirs = pathlib.Path(urllib.parse.unquote(parts.path)).resolve()
            for ours in self.folders:
                inner = theirs if theirs.is_relative_to(ours) else ours if ours.is_relative_to(theirs) else None
                if inner is not None and inner.is_dir() and inner not in common:
                    common.append(inner)
        if not common:
            raise ToolError(
                f"the client's roots have no folder in common with the server's: {self._names()}",
                "start the server with --root DIR for a folder of the client's workspace",
            )
        return Roots(common)

    def file_to_read(self, path: str, what: str) -> pathlib.Path:
        """The real path of a regular file below a root. Raises ToolError for anything else."""
        found = self._below(path, what)
        try:
            mode = found.stat().st_mode
        except OSError as error:
            raise ToolError(f"{what} {path} cannot be read: {error.strerror}", f"give the path of a file below {self._names()}")
        if not stat.S_ISREG(mode):
            raise ToolError(f"{what} {path} is not a regular file", "give the path of a file")
        return found

    def file_or_folder(self, path: str, what: str) -> pathlib.Path:
        found = self._below(path, what)
        if found.is_dir():
            return found
        return self.file_to_read(path, what)

    def file_to_write(self, path: str, what: str, suffix: str, overwrite: bool) -> pathlib.Path:
        """The real path of a file to make below a root. Raises ToolError if it exists, unless `overwrite`."""
        found = self._below(path, what)
        if found.suffix != suffix:
            raise ToolError(f"{what} {path} does not end with {suffix}", f"give a name that ends with {suffix}")
        if not found.parent.is_dir():
            raise ToolError(f"the folder of {what} {path} was not found", "make the folder first, or give another path")
        if found.exists() and not found.is_file():
            raise ToolError(f"{what} {path} is not a regular file", "give another path")
        if found.exists() and not overwrite:
            raise ToolError(f"{what} {path} exists", "give another path, or overwrite=true to replace it")
        return found

    def shown(self, path: pathlib.Path) -> str:
        """As a tool takes it: relative to the first root where possible."""
        return str(path.relative_to(self.first)) if path.is_relative_to(self.first) else str(path)

    def recordings(self) -> list[pathlib.Path]:
        """Recordings (*.fap) below the roots, the newest first, at most MOST_RECORDINGS."""
        found: dict[pathlib.Path, float] = {}
        for folder in self.folders:
            for path in _walk(folder):
                try:
                    info = path.lstat()
                except OSError:
                    continue
                if stat.S_ISREG(info.st_mode):
                    found[path] = info.st_mtime
        return sorted(found, key=lambda path: (-found[path], str(path)))[:MOST_RECORDINGS]

    def _below(self, path: str, what: str) -> pathlib.Path:
        if not path or "\0" in path or len(os.fsencode(path)) > 4096:
            raise ToolError(f"the path of {what} is empty, too long, or has a NUL character", "give the path of a file")
        try:
            named = pathlib.Path(path)
            if named.is_absolute() or len(self.folders) == 1:
                found = (self.first / named).resolve()
            else:
                found = next((there for folder in self.folders if (there := (folder / named).resolve()).exists()),
                             (self.first / named).resolve())  # fmt: skip
        except (OSError, RuntimeError, ValueError) as error:  # a loop of symbolic links
            raise ToolError(f"{what} {path} cannot be resolved: {error}", "give the path of a file") from None
        if not any(found.is_relative_to(folder) for folder in self.folders):
            raise ToolError(
                f"{what} {path} is outside the roots",
                f"use a file below {self._names()}, or start the server with --root DIR for its folder",
            )
        return found

    def _names(self) -> str:
        return ", ".join(str(folder) for folder in self.folders)


def _walk(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Paths that end with .fap. Follows no symbolic links."""
    entries = 0
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        entries += len(folders) + len(files)
        for name in files:
            if name.endswith(".fap"):
                yield pathlib.Path(parent, name)
        if entries > _MOST_ENTRIES:
            return
