"""Many recordings as Parquet: python3 -m fa_profile.export FOLDER RECORDING..."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Optional, Sequence

from ._error import Error
from .frame import printable
from .parquet import Export, to_parquet
from .parquet_columns import describe

_PAUSE_S = 0.2


class _Progress:
    """Names what is skipped at once; on a terminal, counts."""

    def __init__(self) -> None:
        self._named = 0
        self._next = 0.0
        self._line = sys.stderr.isatty()

    def show(self, export: Export) -> None:
        for _, error in export.skipped[self._named :]:
            self._write(f"fa-profile: skipped: {printable(error.message)}\n")
        self._named = len(export.skipped)
        if self._line and time.monotonic() >= self._next:
            self._next = time.monotonic() + _PAUSE_S
            self._write(f"{export.read:,} recordings")

    def end(self) -> None:
        self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write(("\r\x1b[K" if self._line else "") + text)
        sys.stderr.flush()


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """0: all recordings are in the folder; 2: some, or all, could not be exported; 130: interrupted."""
    parser = argparse.ArgumentParser(
        prog="python3 -m fa_profile.export",
        description="Adds recordings to a folder of Parquet: launches, metrics, phases and findings, by date, GPU and kernel. A "
        "recording that is there already is not added again; one that cannot be read is named and skipped. Exit code: 0 all "
        "recordings are in the folder, 2 not all.",
        epilog="Needs pyarrow. Export a day's recordings in one call: each call writes a file for each date, GPU and kernel. "
        "docs/python.md shows how to query the folder.",
    )
    parser.add_argument("folder", metavar="FOLDER", nargs="?", help="where launches/, metrics/, phases/, findings/ are, or are made")
    parser.add_argument("recordings", metavar="RECORDING", nargs="*", help="a *.fap, a folder of them, or a pattern: 'runs/**/*.fap'")
    parser.add_argument("--columns", action="store_true", help="print the tables and columns, and end")
    given = parser.parse_args(arguments)
    if given.columns:
        sys.stdout.write(describe())
        return 0
    if given.folder is None or not given.recordings:
        parser.error("give the folder to write to, then recordings")
    progress = _Progress()
    try:
        export = to_parquet(given.recordings, given.folder, progress=progress.show)
    except Error as error:
        progress.end()
        print("fa-profile: error: " + "\n".join(printable(line) for line in str(error).splitlines()), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        progress.end()
        print("fa-profile: interrupted; export again to continue", file=sys.stderr)
        return 130
    progress.end()
    print(f"{printable(given.folder)}: {export.exported:,} exported, {export.known:,} there already, {len(export.skipped):,} skipped")
    return 2 if export.skipped else 0


if __name__ == "__main__":
    sys.exit(main())
