"""What `verify` says of a model, read back as a reader does and applied to rows.

Only the printed texts are used: formulas, meanings of concepts, columns with their kinds, and who decides. A folder
that is verified must answer so, whatever was changed in its files.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from logiclens.verify import Report
from tests.fuzz.samples import Row, date_part, predicate_holds

Cube = tuple[tuple[str, bool], ...]

QUOTED = r'"(?:[^"\\]|\\.)*"'
COMPARED = re.compile(r"(?P<sign>>=|<=|>|<|is) (?P<value>.*)", re.DOTALL)
PART = re.compile(
    r"(?P<part>month|weekday|hour|days) (?:of|from) (?P<columns>.+?)(?: \((?:[0-9]|days)[^()]*\))? "
    r"(?P<rest>(?:>=|<=|>|<|is) .*)"
)


class Unclear(ValueError):
    """A statement that cannot be read back."""


def split(text: str, separator: str) -> list[str]:
    """Split a text where the separator stands outside of quotes and parentheses."""
    parts, depth, start, at = [], 0, 0, 0
    while at < len(text):
        if quoted := re.compile(QUOTED, re.DOTALL).match(text, at):
            at = quoted.end()
            continue
        depth += (text[at] == "(") - (text[at] == ")")
        if not depth and text.startswith(separator, at):
            parts.append(text[start:at])
            start = at = at + len(separator)
            continue
        at += 1
    return [*parts, text[start:]]


def name_of(text: str) -> str:
    """The name that a printed text stands for: what is quoted is escaped as in Python."""
    return str(ast.literal_eval(text)) if re.fullmatch(QUOTED, text, re.DOTALL) else text


def formula_of(text: str) -> list[Cube]:
    """The cubes of a printed formula."""
    if text == "False":
        return []
    parts = split(text, " | ")
    return [_cube(part[1:-1] if part.startswith("(") and len(parts) > 1 else part) for part in parts]


def _cube(text: str) -> Cube:
    if text == "True":
        return ()
    return tuple((name_of(part.removeprefix("~")), not part.startswith("~")) for part in split(text, " & "))


@dataclass(frozen=True)
class Column:
    """A column as the statement names it, with its kind."""

    name: str
    kind: str


class Statement:
    """A report of `verify`, ready to answer rows."""

    def __init__(self, report: Report) -> None:
        """Read the texts of a report."""
        printed = [str(one).partition("\n")[0] for one in report.classes]
        self.names = [text[: text.rindex(": equal on ")] for text in printed]
        if len({*self.names}) < len(self.names):
            raise Unclear("two classes are printed alike")
        self.labels = [one.name if one.label is None else one.label for one in report.classes]
        self.formulas = [one.formula for one in report.classes]
        self.decides = report.decides
        self.columns = [*_columns(report.columns)]
        self.meanings = {}
        for line in report.meanings:
            term, *meant = split(line, " means: ")
            self.meanings[name_of(term)] = " means: ".join(meant)

    def answer(self, row: Row) -> Any:
        """The answer to a row that the statement promises."""
        fires = [self._fires(text, row) for text in self.formulas]
        if self.decides == "Every label is decided by its own formula.":
            return [int(fire) for fire in fires]
        if self.decides == "Where not exactly one formula fires, nobody decides.":
            return self.labels[fires.index(True)] if sum(fires) == 1 else None
        said, _, otherwise = self.decides.removesuffix(".").rpartition("; otherwise ")
        if listed := _after(said, "The first that applies decides: "):
            order = [(name, fires[self.names.index(name)]) for name in split(listed, ", ")]
        elif listed := _after(said, ", the first of these: "):
            order = []
            for entry in split(listed, ", "):
                cube, name = self._named(entry)
                order.append((name, self._holds(_cube(cube), row)))
        elif said.rstrip().endswith(":"):
            order = []
        else:
            raise Unclear(self.decides)
        name = next((name for name, fire in order if fire), otherwise)
        return None if name == "nobody decides" else self.labels[self.names.index(name)]

    def _named(self, entry: str) -> tuple[str, str]:
        """A rule and its class, which is printed in parentheses behind it."""
        name = next((name for name in self.names if entry.endswith(f" ({name})")), None)
        if name is None:
            raise Unclear(entry)
        return entry[: -len(name) - 3], name

    def _fires(self, text: str, row: Row) -> bool:
        other = _after(text, "otherwise (not: ")
        cubes = formula_of(other[:-1] if other else text)
        return any(self._holds(cube, row) for cube in cubes) == (not other)

    def _holds(self, cube: Cube, row: Row) -> bool:
        return all(self._concept(name, row) == positive for name, positive in cube)

    def _concept(self, name: str, row: Row) -> bool:
        meant = self.meanings.get(name)
        if meant == "the column of that name":
            return self._compared(self._column(name), None, row)
        if meant is None:
            return self._condition(name, row, is_name=True)
        return self._condition(meant, row, is_name=False)

    def _column(self, name: str) -> Column:
        found = [column for column in self.columns if column.name == name]
        if len(found) != 1:
            raise Unclear(f"no column {name!r}")
        return found[0]

    def _condition(self, text: str, row: Row, *, is_name: bool) -> bool:
        """Whether a condition holds: the name of a concept, or a meaning, where odd names are quoted."""
        for column in sorted(self.columns, key=lambda one: -len(one.name)):
            if is_name and text == column.name:
                return self._compared(column, None, row)
            spellings = [column.name] if is_name else [column.name, _quoted_as(text)]
            for spelling in spellings:
                if spelling and text.startswith(f"{spelling} ") and name_of(spelling) == column.name:
                    return self._compared(column, text[len(spelling) + 1 :], row)
        if match := PART.fullmatch(text):
            return self._part(match, row)
        raise Unclear(text)

    def _part(self, match: re.Match[str], row: Row) -> bool:
        columns = [name_of(part) for part in split(match["columns"], " to ")]
        compared = COMPARED.fullmatch(match["rest"])
        if compared is None:
            raise Unclear(match[0])
        number = date_part({"part": match["part"], "columns": columns}, row)
        sign = "==" if compared["sign"] == "is" else compared["sign"]
        return predicate_holds({"operator": sign, "value": float(compared["value"])}, number)

    def _compared(self, column: Column, rest: str | None, row: Row) -> bool:
        cell = row[column.name]
        if rest is None:
            return cell is not None and float(cell) >= 0.5
        if rest == "is missing":
            return cell is None
        match = COMPARED.fullmatch(rest)
        if match is None:
            raise Unclear(rest)
        return predicate_holds(
            {
                "operator": "==" if match["sign"] == "is" else match["sign"],
                "value": _value(match["value"], column.kind),
            },
            cell,
        )


def _value(text: str, kind: str) -> Any:
    """A printed value, as a column of this kind holds it."""
    if kind == "text":
        return name_of(text) if text.startswith('"') else str(ast.literal_eval(text)) if text[:1] == "'" else text
    if kind == "true or false" or text in ("True", "False"):
        return {"True": True, "False": False}.get(text, text)
    if kind == "date":
        return name_of(text)
    return float(text)


def _quoted_as(text: str) -> str | None:
    match = re.match(QUOTED, text, re.DOTALL)
    return match[0] if match else None


def _columns(text: str) -> Iterator[Column]:
    listed = _after(text, ": ") or ""
    for entry in split(listed.removesuffix("."), ", "):
        match = re.fullmatch(r"(.*) \(([a-z0-9. ]+)\)", entry, re.DOTALL)
        if match is None:
            raise Unclear(text)
        yield Column(name_of(match[1]), match[2])


def _after(text: str, start: str) -> str:
    """What follows a text; empty if it is not there. Only a sentence may stand before it."""
    before, found, rest = text.partition(start)
    return rest if found and '"' not in before else ""
