"""A tiny evaluator of DMN decision tables, written from the standard: the judge of the export.

It knows numbers, texts, truth values, dates with a time, durations, `null`, comparisons with three truth values,
`and`, `or`, `not`, lists of tests, and the hit policies FIRST, ANY and COLLECT.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

SPACE = {"dmn": "https://www.omg.org/spec/DMN/20191111/MODEL/"}
TOKEN = re.compile(
    r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<number>\d+\.?\d*|\.\d+)|(?P<date>date and time|date|duration)\s*\('
    r"|(?P<word>[A-Za-z_]\w*)|(?P<sign>>=|<=|!=|\.\.|[-+*/=<>(),.?]))"
)


def decide(source: str, row: dict[str, Any]) -> Any:
    """The answer of a decision table on a row: a label, None, or with COLLECT a list."""
    root = ET.fromstring(source)
    table = root.find(".//dmn:decisionTable", SPACE)
    names = {data.find("dmn:description", SPACE).text: data for data in root.findall("dmn:inputData", SPACE)}
    values = {
        data.get("name"): value_of(row[column], data.find("dmn:variable", SPACE).get("typeRef"))
        for column, data in names.items()
    }
    inputs = [
        Parser(text_of(one.find("dmn:inputExpression", SPACE)), values).whole()
        for one in table.findall("dmn:input", SPACE)
    ]
    found = []
    for rule in table.findall("dmn:rule", SPACE):
        cells = [text_of(cell) for cell in rule.findall("dmn:inputEntry", SPACE)]
        if all(passes(cell, value, values) for cell, value in zip(cells, inputs, strict=True)):
            found.append(Parser(text_of(rule.find("dmn:outputEntry", SPACE)), {}).whole())
    if table.get("hitPolicy") == "COLLECT":
        return [plain(one) for one in found]
    if table.get("hitPolicy") == "ANY":
        return (
            plain(found[0]) if found and all(type(one) is type(found[0]) and one == found[0] for one in found) else None
        )
    return plain(found[0]) if found else None


def plain(value: Any) -> Any:
    """A number as Python prints a label."""
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 and abs(value) < 10**16 else float(value)
    return value


def text_of(element: ET.Element | None) -> str:
    text = None if element is None else element.find("dmn:text", SPACE)
    return (text.text or "") if text is not None else ""


def value_of(cell: Any, kind: str) -> Any:
    """A cell as a value of FEEL. NaN is missing; infinities are larger than any number."""
    if cell is None or cell != cell:
        return None
    if kind == "number" or (kind == "Any" and isinstance(cell, int | float) and not isinstance(cell, bool)):
        return cell if math.isinf(cell) else Fraction(cell)
    return moment(cell) if kind == "date and time" else cell


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def passes(cell: str, value: Any, values: dict[str, Any]) -> bool:
    """Whether a value passes a cell: `-`, `not(tests)` or tests, of which one is enough."""
    if cell == "-":
        return True
    parser = Parser(cell, {**values, "?": value})
    if cell.startswith("not(") and "?" not in cell:
        parser.take("not")
        parser.take("(")
        return not any(test is True for test in parser.tests(value))
    return any(test is True for test in parser.tests(value))


class Parser:
    """Recursive descent: or, and, comparison, sum, product, value."""

    def __init__(self, text: str, values: dict[str, Any]) -> None:
        self.tokens, self.values, position = [], values, 0
        while position < len(text.rstrip()):
            found = TOKEN.match(text, position)
            assert found is not None, text[position:]
            self.tokens.append((found.lastgroup, found[found.lastgroup or 0]))
            position = found.end()

    def whole(self) -> Any:
        value = self.either()
        assert not self.tokens, self.tokens
        return value

    def next(self, *texts: str) -> bool:
        return bool(self.tokens) and self.tokens[0][0] != "text" and self.tokens[0][1] in texts

    def take(self, *texts: str) -> str:
        assert not texts or self.next(*texts), (texts, self.tokens)
        return self.tokens.pop(0)[1]

    def tests(self, value: Any) -> list[Any]:
        found = []
        while True:
            if self.next(">=", "<=", ">", "<"):
                found.append(compared(self.take(), value, self.sum()))
            else:
                uses = any(token == ("sign", "?") for token in self.tokens)
                test = self.either()
                found.append(test if uses else equal(value, test))
            if not self.next(","):
                break
            self.take(",")
        return found

    def either(self) -> Any:
        value = self.both()
        while self.next("or"):
            self.take()
            other = self.both()
            value = (
                True
                if True in (value, other) and (value is True or other is True)
                else None
                if None in (value, other)
                else False
            )
        return value

    def both(self) -> Any:
        value = self.comparison()
        while self.next("and"):
            self.take()
            other = self.comparison()
            value = False if value is False or other is False else None if value is None or other is None else True
        return value

    def comparison(self) -> Any:
        value = self.sum()
        if self.next(">=", "<=", ">", "<", "=", "!="):
            sign = self.take()
            other = self.sum()
            if sign in ("=", "!="):
                return equal(value, other) == (sign == "=")
            return compared(sign, value, other)
        return value

    def sum(self) -> Any:
        value = self.product()
        while self.next("-"):
            self.take()
            other = self.product()
            value = None if value is None or other is None else value - other
        return value

    def product(self) -> Any:
        value = self.member()
        while self.next("/"):
            self.take()
            other = self.member()
            value = (
                None
                if value is None or other is None
                else Fraction(value // timedelta(microseconds=1), other // timedelta(microseconds=1))
            )
        return value

    def member(self) -> Any:
        value = self.value()
        while self.next("."):
            self.take()
            part = self.take()
            value = (
                None if value is None else Fraction(value.isoweekday() if part == "weekday" else getattr(value, part))
            )
        return value

    def value(self) -> Any:
        kind, text = self.tokens.pop(0)
        if kind == "text":
            return (
                re.sub(r"\\(u[0-9A-F]{4}|.)", lambda m: unescaped(m[1]), text[1:-1], flags=re.DOTALL)
                .encode("utf-16", "surrogatepass")
                .decode("utf-16")
            )
        if kind == "number":
            return Fraction(text)
        if text == "-":
            return -self.value()
        if text == "(":
            value = self.either()
            self.take(")")
            return value
        if kind == "date":
            inner = self.either()
            self.take(")")
            return made(text, inner)
        if text == "not":
            self.take("(")
            inner = self.either()
            self.take(")")
            return None if inner is None else not inner
        return (
            {"true": True, "false": False, "null": None}[text]
            if text in ("true", "false", "null")
            else self.values[text]
        )


def unescaped(escape: str) -> str:
    return chr(int(escape[1:], 16)) if len(escape) == 5 else {"n": "\n", "r": "\r", "t": "\t"}.get(escape, escape)


def made(kind: str, inner: Any) -> Any:
    if inner is None:
        return None
    if kind == "date and time":
        return moment(inner)
    if kind == "date":
        return inner.replace(hour=0, minute=0, second=0, microsecond=0)
    sign, days, hours, minutes, seconds = re.fullmatch(r"(-?)P(\d+)D(?:T(\d+)H(\d+)M([\d.]+)S)?", inner).groups("0")
    found = timedelta(
        days=int(days), hours=int(hours), minutes=int(minutes), microseconds=int(Fraction(seconds) * 10**6)
    )
    return -found if sign == "-" else found


def equal(one: Any, other: Any) -> bool:
    return (type(one) is type(other) and bool(one == other)) or (one is None and other is None)


def compared(sign: str, one: Any, other: Any) -> bool | None:
    if one is None or other is None:
        return None
    return {">=": one >= other, ">": one > other, "<=": one <= other, "<": one < other}[sign]
