"""Count the modules that one command runs through: those in which a function is called, from reading to writing.

    python -m lab.scripts.modules.py

prints the modules by package, and their number, for `logiclens explain t.csv --target y --report r.html --save model`.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
import tempfile
import threading
from collections import defaultdict
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd

import logiclens
from logiclens.cli import main

SOURCE = Path(logiclens.__file__).parent


def modules_of(arguments: list[str]) -> dict[str, int]:
    """Return the modules of ours in which a command calls a function, each with its number of functions called."""
    called: set[Any] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        # The body of a module or a class is run by the import, not by the command.
        if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            called.add(frame.f_code)

    before = sys.argv
    sys.argv = ["logiclens", *arguments]
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            main()
    except SystemExit as finished:
        if finished.code:
            raise
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        sys.argv = before
    found: defaultdict[str, int] = defaultdict(int)
    for code in called:
        path = Path(code.co_filename)
        if path.is_relative_to(SOURCE):
            found[".".join(path.relative_to(SOURCE).with_suffix("").parts)] += 1
    return dict(sorted(found.items()))


def table(rows: int = 200) -> pd.DataFrame:
    """A small table with numbers, texts, gaps and two classes."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"age": random.integers(20, 95, rows), "unit": random.choice(["A", "B", "C"], rows)})
    frame["lab"] = np.where(random.random(rows) < 0.1, np.nan, random.normal(5, 1, rows).round(2))
    frame["y"] = np.where((frame["age"] >= 60) & (frame["unit"] == "A"), "yes", "no")
    return frame


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        data, page, model = (str(Path(place) / name) for name in ("t.csv", "r.html", "model"))
        table().to_csv(data, index=False)
        found = modules_of(["explain", data, "--target", "y", "--report", page, "--save", model])
    for name, functions in found.items():
        print(f"{name:<32} {functions:>4} functions")
    print(f"{len(found)} modules")
