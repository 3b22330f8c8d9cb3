"""Tables of a recording: NumPy inside, Arrow and pandas outside."""

from __future__ import annotations

import difflib
import functools
import html
import inspect
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, Sequence, Union, overload

import numpy as np
from numpy.typing import NDArray

from . import _core

if TYPE_CHECKING:
    import pandas

Array = NDArray[Any]
# Selectors of rows: a slice, a mask of booleans, or row numbers.
Rows = Union[slice, Array, Sequence[bool], Sequence[int]]

_SHOWN_ROWS = 20
_SHOWN_COLUMNS = 10
_SHOWN_CHARACTERS = 60


def _to_array(kind: str, cells: list[Any]) -> Array:
    """Absent cells: NaN among numbers and counts, None among texts and flags."""
    absent = any(cell is None for cell in cells)
    if kind == "number" or (kind == "count" and absent):
        return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
    if kind == "count":
        return np.array(cells, dtype=np.int64)
    if kind == "flag" and not absent:
        return np.array(cells, dtype=np.bool_)
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def _to_cell(kind: str, value: Any) -> Any:
    """A value of an array as plain Python has it; None: absent."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    return int(value) if kind == "count" else value


def printable(text: str) -> str:
    """One line: what a terminal or a page would obey is escaped."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def _printable(text: str, most: int = _SHOWN_CHARACTERS) -> str:
    safe = printable(text[: most + 1])
    return safe if len(safe) <= most else safe[: most - 3] + "..."


def _shown(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:,.0f}" if 1e3 <= abs(cell) < 1e15 else f"{cell:.4g}"
    if isinstance(cell, int) and not isinstance(cell, bool):
        return f"{cell:,}"
    return _printable(str(cell))


class Frame:
    """A table with named columns, each a NumPy array that cannot be written to.

    A small part of what a pandas DataFrame does, with the same spelling: ``frame["column"]``, ``frame[mask]``,
    ``frame[["a", "b"]]``, ``columns``, ``shape``, ``len()``, ``head()``, ``sort_values()``. The rest comes from its
    DataFrame, where pandas is installed: ``frame.groupby("shape")``; ``to_pandas()`` gives it whole. Every library that
    takes Arrow's PyCapsule interface takes a Frame: ``pyarrow.table(frame)``, ``polars.DataFrame(frame)``.

    What was not measured is absent, which is never 0: NaN among numbers, None among texts, null in Arrow, NA in pandas.
    """

    def __init__(self, columns: Mapping[str, tuple[str, Array]]) -> None:
        self._columns = dict(columns)
        for _, array in self._columns.values():
            array.flags.writeable = False

    @classmethod
    def _of_core(cls, columns: list[tuple[str, str, list[Any]]]) -> Frame:
        return cls({name: (kind, _to_array(kind, cells)) for name, kind, cells in columns})

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self._columns)

    @property
    def dtypes(self) -> dict[str, np.dtype[Any]]:
        return {name: array.dtype for name, (_, array) in self._columns.items()}

    def __len__(self) -> int:
        return next((len(array) for _, array in self._columns.values()), 0)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, as rows() has them: ``pandas.DataFrame(frame)`` takes them too."""
        return iter(self.rows())

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    @overload
    def __getitem__(self, key: str) -> Array: ...
    @overload
    def __getitem__(self, key: list[str]) -> Frame: ...
    @overload
    def __getitem__(self, key: Rows) -> Frame: ...
    def __getitem__(self, key: Any) -> Any:
        """A column by its name; some columns by their names; rows by a slice, a mask or their numbers."""
        if isinstance(key, str):
            return self._column(key)[1]
        if isinstance(key, list) and key and all(isinstance(name, str) for name in key):
            return Frame({name: self._column(name) for name in key})
        return self._rows(key)

    def _column(self, name: str) -> tuple[str, Array]:
        try:
            return self._columns[name]
        except KeyError:
            raise KeyError(f"no column {name!r}{self._hint(name)}") from None

    def _hint(self, name: object) -> str:
        """The columns that are near; where it is the metric or phase of a row, how to select that."""
        near = difflib.get_close_matches(str(name), self._columns, 3, 0.6)
        near += [one for one in self._columns if str(name) and str(name) in one and one not in near]
        columns = f"he columns are {', '.join(self._columns)}"
        for column in ("metric", "phase", "kernel"):
            if column in self._columns and name in self._columns[column][1].tolist():
                return f"; it is a {column}: select({column}={name!r}); t{columns}"
        return f"; did you mean {' or '.join(near[:3])}? T{columns}" if near else f"; t{columns}"

    def _rows(self, rows: Rows) -> Frame:
        if not isinstance(rows, slice):
            rows = np.asarray(rows)
            if rows.size == 0 and rows.dtype.kind != "b":
                rows = rows.astype(np.int64)
            if rows.ndim != 1 or rows.dtype.kind not in "biu":
                raise TypeError("rows are selected by a slice, a mask of booleans, or their numbers")
        return Frame({name: (kind, array[rows]) for name, (kind, array) in self._columns.items()})

    def select(self, **equal: Any) -> Frame:
        """The rows whose columns have these values; None selects absent cells: ``select(kernel="mma", phase=None)``."""
        mask = np.ones(len(self), dtype=np.bool_)
        for name, wanted in equal.items():
            kind, array = self._column(name)
            mask &= np.fromiter((_to_cell(kind, cell) == wanted for cell in array), dtype=np.bool_, count=len(self))
        return self._rows(mask)

    def sort_values(self, by: str, ascending: bool = True) -> Frame:
        """Rows in the order of a column; equal ones keep theirs, absent ones come last."""
        kind, array = self._column(by)
        cells = [_to_cell(kind, cell) for cell in array]
        present = [i for i, cell in enumerate(cells) if cell is not None]
        present.sort(key=lambda i: cells[i], reverse=not ascending)
        absent = [i for i, cell in enumerate(cells) if cell is None]
        return self._rows(np.array(present + absent, dtype=np.int64))

    def head(self, n: int = 5) -> Frame:
        """The first `n` rows; a negative `n`: all but the last ``-n``, as pandas has it."""
        return self._rows(slice(None, n))

    def rows(self) -> list[dict[str, Any]]:
        """Each row as a dictionary of plain Python values; None: absent."""
        cells = {name: self._cells(name) for name in self._columns}
        return [{name: column[i] for name, column in cells.items()} for i in range(len(self))]

    def _cells(self, name: str) -> list[Any]:
        kind, array = self._columns[name]
        return [_to_cell(kind, cell) for cell in array]

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame of pandas, which has to be installed. Counts and flags with absent cells are Int64 and boolean."""
        import pandas

        nullable = {"count": "Int64", "flag": "boolean"}
        series = {}
        for name, (kind, array) in self._columns.items():
            if kind in nullable and array.dtype.kind not in "ib":
                series[name] = pandas.Series(self._cells(name), dtype=nullable[kind])
            else:
                series[name] = pandas.Series(array.copy())
        return pandas.DataFrame(series)

    def __getattr__(self, name: str) -> Any:
        """A column; or what only a DataFrame has, of a new one: ``frame.groupby("kernel")``."""
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._columns:
            return self._columns[name][1]
        try:
            frame = self.to_pandas()
        except ImportError:
            raise AttributeError(f"a Frame has no {name!r}; a DataFrame may have it: install pandas") from None
        if not hasattr(frame, name):
            columns = ", ".join(self._columns)
            raise AttributeError(f"a Frame has no {name!r}, nor has a DataFrame; the columns are {columns}")
        attribute = getattr(frame, name)
        return self._naming_columns(attribute) if inspect.ismethod(attribute) else attribute

    def _naming_columns(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """The method of a DataFrame, with the columns in its KeyError."""

        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return method(*args, **kwargs)
            except KeyError as error:
                error.args = (f"{error.args[0]!r}{self._hint(error.args[0])}",) if error.args else ()
                raise

        return call

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's PyCapsule interface: one record batch. A requested schema is not heeded, as the interface allows."""
        return _core.arrow_stream([(name, kind, self._cells(name)) for name, (kind, _) in self._columns.items()])

    def _shown_cells(self) -> tuple[list[str], list[list[str]]]:
        names = self.columns[:_SHOWN_COLUMNS]
        first = self.head(_SHOWN_ROWS)
        columns = [[_shown(cell) for cell in first._cells(name)] for name in names]
        return names, [list(row) for row in zip(*columns)]

    def _left_out(self) -> str:
        rows, columns = self.shape
        text = f"{rows:,} row{'' if rows == 1 else 's'}, {columns} columns"
        if rows > _SHOWN_ROWS or columns > _SHOWN_COLUMNS:
            text += f"; shown are {min(rows, _SHOWN_ROWS)} and {min(columns, _SHOWN_COLUMNS)}"
        return text

    def _is_right(self, name: str) -> bool:
        return self._columns[name][0] in ("number", "count")

    def __repr__(self) -> str:
        names, rows = self._shown_cells()
        widths = [max(len(cell) for cell in column) for column in zip(names, *rows)]
        right = [self._is_right(name) for name in names]

        def line(cells: Sequence[str]) -> str:
            padded = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right))
            return "  ".join(padded).rstrip()

        return "\n".join([*(line(row) for row in [names, *rows]), f"[{self._left_out()}]"])

    def _repr_html_(self) -> str:
        names, rows = self._shown_cells()
        right = [self._is_right(name) for name in names]

        def line(cells: Sequence[str], tag: str) -> str:
            styles = (' style="text-align:right"' if r else ' style="text-align:left"' for r in right)
            return "<tr>" + "".join(f"<{tag}{s}>{html.escape(c)}</{tag}>" for c, s in zip(cells, styles)) + "</tr>"

        body = "".join(line(row, "td") for row in rows)
        return (
            f"<table><thead>{line(names, 'th')}</thead><tbody>{body}</tbody></table>"
            f"<small>{html.escape(self._left_out())}</small>"
        )
