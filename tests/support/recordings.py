"""The bundled recording of the ladder, whatever GPU it is of."""

import pathlib

(LADDER,) = (pathlib.Path(__file__).resolve().parents[2] / "recordings").glob("*-ladder-full.fap")
