"""The one writer of tables, and what every page shares: estimates, and parts between two markers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab.runs.results import RESULTS, ROOT
from logiclens.metrics.scores import standard_error

NOTHING = "–"
DOCS = ROOT / "docs"
WIDE = 250


def table(rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table with aligned columns; the first row is its head.

    >>> print(table([["a", "b"], [1, "x | y"]]))
    | a | b      |
    | - | ------ |
    | 1 | x \\| y |
    """
    cells = [[" ".join(str(cell).split()).replace("|", "\\|") for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)]
    # Nobody reads a line as long as a screen is wide several times; it is not filled with blanks.
    widths = widths if sum(widths) <= WIDE else [1] * len(widths)
    cells.insert(1, ["-" * max(width, 1) for width in widths])
    return "\n".join("| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |" for row in cells)


def code(text: str) -> str:
    return f"`{text}`" if "`" not in text else f"`` {text} ``"


@dataclass(frozen=True)
class Estimate:
    """A mean over folds with its standard error; one value alone has none."""

    mean: float
    error: float | None
    n: int = 1

    @classmethod
    def of(cls, values: Iterable[float]) -> Estimate | None:
        numbers = [value for value in values if math.isfinite(value)]
        if not numbers:
            return None
        error = standard_error(numbers) if len(numbers) > 1 else None
        return cls(math.fsum(numbers) / len(numbers), error, len(numbers))

    def text(self, digits: int = 1, *, signed: bool = False) -> str:
        # A rounded -0.0 is 0.0.
        mean = f"{round(self.mean, digits) + 0.0:{'+' if signed else ''}.{digits}f}"
        return mean if self.error is None else f"{mean} ± {self.error:.{digits}f}"

    def apart(self, other: Estimate) -> float | None:
        """Return the difference to another estimate in combined standard errors; None if either has no error."""
        if self.error is None or other.error is None:
            return None
        spread, difference = math.hypot(self.error, other.error), self.mean - other.mean
        return difference / spread if spread else 0.0 if difference == 0 else math.copysign(math.inf, difference)


def mean_text(values: Iterable[float], digits: int = 1, *, signed: bool = False) -> str:
    estimate = Estimate.of(values)
    return "" if estimate is None else estimate.text(digits, signed=signed)


def similarity(sets: Sequence[Iterable[str]]) -> float:
    """Return the mean overlap of two sets, as shared members in per cent of all members of both; NaN of one set.

    >>> similarity([["age"], ["age", "unit"]])
    50.0
    """
    both = [(set(a), set(b)) for place, a in enumerate(sets) for b in sets[place + 1 :]]
    return 100 * float(np.mean([len(a & b) / len(a | b) if a | b else 1.0 for a, b in both])) if both else math.nan


def with_part(page: str, name: str, text: str) -> str:
    """Return a page with the text between the markers of this name replaced; one without markers stays as it is.

    >>> with_part("a <!-- x -->old<!-- end of x --> b", "x", "new")
    'a <!-- x -->\\n\\nnew\\n\\n<!-- end of x --> b'
    """
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    if begin not in page:
        return page
    before, rest = page.split(begin)
    return f"{before}{begin}\n\n{text}\n\n{end}{rest.split(end)[1]}"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"wrote {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")


def write_part(path: Path, name: str, text: str) -> None:
    write(path, with_part(path.read_text(encoding="utf-8"), name, text))


def read_json(name: str) -> dict[str, object]:
    path = RESULTS / name
    content: dict[str, object] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return content
