"""Parser and formatters of formulas.

`parse` reads what `format_formula` writes, in each of its styles. Nothing is ever evaluated as code.
"""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations, islice

from logiclens.errors import FormulaSyntaxError, LogicLensError, quoted
from logiclens.formula.dnf import DNF, Complement, Cube, Literal, conjunction
from logiclens.formula.groups import NO_GROUPS, Groups
from logiclens.formula.notation import (
    LATEX_ESCAPES,
    QUOTED_ESCAPES,
    SYMBOLS,
    WORDS,
    Style,
    format_cube,
    format_cubes,
    format_negation,
    quoted_name,
)
from logiclens.formula.packed_rows import unknown_concept
from logiclens.words import percent

MAX_DEPTH = 100
"""The deepest nesting of parentheses and negations that is read."""


_OPERATORS = {
    "&&": "&", "||": "|", "&": "&", "|": "|", "~": "~", "!": "~", "(": "(", ")": ")",
    "∧": "&", "∨": "|", "¬": "~", "⊤": "1", "⊥": "0",
    r"\land": "&", r"\wedge": "&", r"\lor": "|", r"\vee": "|", r"\lnot": "~", r"\neg": "~",
    r"\top": "1", r"\bot": "0", r"\left(": "(", r"\right)": ")",
}  # fmt: skip


def format_formula(formula: DNF | Complement | Cube | Literal, style: Style = "ascii") -> str:
    r"""Return the text of a formula; a complement is the negation of the formula that it refers to.

    Args:
        formula: the formula.
        style: `"ascii"`, `"unicode"` or `"latex"`. Default: `"ascii"`.

    >>> formula = (Literal("age >= 72.5") & ~Literal("smoker")) | Literal("sepsis")
    >>> print(format_formula(formula))
    ("age >= 72.5" & ~smoker) | sepsis
    >>> print(format_formula(formula, "unicode"))
    ("age >= 72.5" ∧ ¬smoker) ∨ sepsis
    >>> print(format_formula(~Literal("smoker"), "latex"))
    \lnot \text{smoker}
    >>> print(format_formula(Complement(formula), "unicode"))
    ¬(("age >= 72.5" ∧ ¬smoker) ∨ sepsis)
    """
    if isinstance(formula, Complement):
        return format_negation(formula.of.cubes, style)
    return format_cubes((formula | DNF.false).cubes, style)


def format_first_order(
    formula: DNF | Complement,
    head: str,
    *,
    fidelity: float | None = None,
    groups: Groups = NO_GROUPS,
    other: str | None = None,
) -> str:
    """Return the formula as a first-order sentence, which `parse` does not read.

    `↔` says that the formula equals the network on all rows; with `fidelity`, `≈` and the fidelity are written instead.
    `⊕` says that any two cubes exclude each other, by their literals or by `groups`. A complement is written with the
    name of the `other` class.

    Args:
        formula: the formula.
        head: name of the class.
        fidelity: the share of rows on which formula and network agree, if not all. Default: None.
        groups: what is known about the concepts. Default: nothing.
        other: name of the other class, for a complement. Default: None.

    >>> odd = Literal("one") | Literal("three")
    >>> print(format_first_order(odd, "odd", groups=Groups([["one", "two", "three"]])))
    ∀x: odd(x) ↔ one(x) ⊕ three(x)
    >>> print(format_first_order(odd, "odd", fidelity=0.973))
    ∀x: odd(x) ≈ one(x) ∨ three(x)   [fidelity 97.3%]
    >>> print(format_first_order(Complement(odd), "even", other="odd"))
    ∀x: even(x) ↔ ¬odd(x)
    """
    if not isinstance(formula, Complement):
        body = _first_order_body(formula, groups)
    elif other is not None:
        body = f"¬{quoted_name(other)}(x)"
    else:
        body = f"¬({_first_order_body(formula.of, groups)})"
    sign, note = ("↔", "") if fidelity is None else ("≈", f"   [fidelity {percent(fidelity, 1)}]")
    return f"∀x: {quoted_name(head)}(x) {sign} {body}{note}"


def _first_order_body(formula: DNF, groups: Groups) -> str:
    symbols = SYMBOLS["unicode"]
    apart = len(formula) > 1 and all(groups.apart(a, b) for a, b in combinations(formula.cubes, 2))
    body = (" ⊕ " if apart else symbols.disjunction).join(
        format_cube(
            ["¬" * (not lit.positive) + quoted_name(lit.concept) + "(x)" for lit in cube], symbols, len(formula)
        )
        for cube in formula
    )
    return body or symbols.false


def parse(text: str, names: Sequence[str] | None = None) -> DNF | Complement:
    """Read a formula from text; with `names`, every concept must be one of them.

    Reads `& | ~`, `∧ ∨ ¬`, `and or not`, LaTeX's `\\land \\lor \\lnot`, parentheses, `True` and `False`. A name with
    other characters than letters, digits and `_` needs double quotes. A negation of the whole text, `~(...)`, is read
    as the `Complement` that prints so; other negations are expanded.

    Args:
        text: the formula.
        names: the concepts that it may use. Default: any.

    >>> parse('(a & ~b) | "age >= 72.5"')
    DNF('(a & ~b) | "age >= 72.5"')
    >>> parse("~(a & b | c)")
    Complement('(a & b) | c')
    >>> parse("a & (b")
    Traceback (most recent call last):
    logiclens.errors.FormulaSyntaxError: column 7: expected ')' to close the '(' at column 5, but the text ends.
    """
    if not isinstance(text, str):
        raise LogicLensError(f"a formula is read from text, got {type(text).__name__}.")
    with _no_collector():
        formula = _Parser(text).formula()
    if names is not None:
        allowed = set(names)
        for concept in formula.concepts:
            if concept not in allowed:
                raise unknown_concept(concept, names)
    return formula


@contextmanager
def _no_collector() -> Iterator[None]:
    """Pause the garbage collector: a formula has no cycles, and it would visit its millions of parts many times."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


_LATEX_ESCAPE = "|".join(re.escape(escape) for escape in sorted(LATEX_ESCAPES.values(), key=len, reverse=True))
_LATEX_PIECE = re.compile(_LATEX_ESCAPE + r"|(?P<end>\})|(?P<plain>[^\\{}])", re.DOTALL)
_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<word>[^\W\d]\w*)"
    rf"|(?P<latex>\\text\{{(?:(?:{_LATEX_ESCAPE}|[^\\{{}}])*\}})?)"
    r"|(?P<operator>\\left\(|\\right\)|\\[a-z]+|&&|\|\||[&|~!()∧∨¬⊤⊥])"
    r'|(?P<quoted>"(?:[^"\\]|\\.)*")'
    r"|(?P<end>\Z)"
    r"|(?P<other>.))",
    re.DOTALL,
)
_UNESCAPED = {escape: character for character, escape in LATEX_ESCAPES.items()}
_QUOTED_ESCAPE = re.compile(r"\\(?:(?P<code>x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|(?P<letter>.))", re.DOTALL)
_UNQUOTED = {escape[1]: character for character, escape in QUOTED_ESCAPES.items()}


_WORD, _OPERATOR, _QUOTED, _LATEX, _END = (_TOKEN.groupindex[n] for n in ("word", "operator", "quoted", "latex", "end"))


class _Tokens:
    """The kind and the value of every token, in two sequences because there may be millions.

    The end of the text is a token of its own, twice, so that looking ahead needs no check.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.kinds: list[str] = []
        self.values: list[str] = []
        names: dict[str, str] = {}
        kinds, values, shared, words, operators = (
            self.kinds.append, self.values.append, names.setdefault, WORDS, _OPERATORS
        )  # fmt: skip
        for found in _TOKEN.finditer(text):
            group = found.lastindex or 0
            value = found[group]
            kind = "name"
            if group == _WORD:
                kind = words.get(value, "name")
            elif group == _OPERATOR:
                if value not in operators:
                    column = found.start(group) + 1
                    raise FormulaSyntaxError(f"column {column}: unknown operator {quoted(value)}.", column)
                kind = operators[value]
            elif group == _QUOTED:
                value = value[1:-1] if "\\" not in value else _unquote(value[1:-1], found.start(group) + 1)
            elif group == _LATEX:
                value = _latex_value(text, found.start(group))
            elif group == _END:
                break
            else:
                start = found.start(group)
                raise FormulaSyntaxError(f"column {start + 1}: {_unexpected(text, start)}", start + 1)
            kinds(kind)
            # Equal names are one text in memory.
            values(shared(value, value) if kind == "name" else value)
        self.kinds += ["end", "end"]

    def column(self, place: int) -> int:
        """Return the column of a token, counted from 1. Only messages need it, so the text is read again for it."""
        found = next(islice(_TOKEN.finditer(self.text), place, None))
        return found.start(found.lastindex or 0) + 1


def _unexpected(text: str, position: int) -> str:
    if text[position] == '"':
        return "this quote is never closed."
    if text[position] in "∀↔≈":
        return "this is a printed sentence, not a formula: read str(explanation[...].formula) instead."
    return f"unexpected {text[position]!r}. Concepts are joined by & | ~ and ( ); other names stand in double quotes."


def _unquote(body: str, column: int) -> str:
    def replace(match: re.Match[str]) -> str:
        code = int(match["code"][1:], 16) if match["code"] else None
        if code is not None and code <= sys.maxunicode:
            return chr(code)
        if match["letter"] not in _UNQUOTED:
            at = column + 1 + match.start()
            raise FormulaSyntaxError(f"column {at}: unknown escape {quoted(match[0])}.", at)
        return _UNQUOTED[match["letter"]]

    return _QUOTED_ESCAPE.sub(replace, body)


def _latex_value(text: str, start: int) -> str:
    """Return the name in the \\text{...} that begins at `start`."""
    characters: list[str] = []
    position = start + len(r"\text{")
    while True:
        match = _LATEX_PIECE.match(text, position)
        if match is None:
            if position < len(text):
                at = position + 1
                raise FormulaSyntaxError(f"column {at}: {quoted(text[position])} must be escaped inside \\text.", at)
            raise FormulaSyntaxError(f"column {start + 1}: this \\text{{ is never closed.", start + 1)
        position = match.end()
        if match["end"]:
            return "".join(characters)
        characters.append(match["plain"] or _UNESCAPED[match.group()])


class _Parser:
    """Recursive descent over the tokens; `|` binds loosest, then `&`, then `~`.

    A part is a list of cubes until the whole text is read. Most parts are literals, which are read in a loop.
    """

    def __init__(self, text: str) -> None:
        self.tokens = _Tokens(text)
        self.kinds, self.values = self.tokens.kinds, self.tokens.values
        self.position = self.depth = 0
        # Each literal is one object, however often it occurs.
        self.known: tuple[dict[str, Literal], dict[str, Literal]] = {}, {}

    def formula(self) -> DNF | Complement:
        if self.kinds[:2] == ["~", "("]:
            self.position = 1
            negated = DNF(self.unary())
            # A negated name is a literal.
            if self.kinds[self.position] == "end" and (negated.n_literals > 1 or len(negated) > 1):
                return Complement(negated)
            self.position = 0
        cubes = self.disjunction()
        if self.kinds[self.position] != "end":
            raise self.error(f"expected '&', '|' or the end, but {self.found()}.")
        return DNF(cubes)

    def disjunction(self) -> list[Cube]:
        cubes: list[Cube] = []
        kinds, single = self.kinds, Cube.of_checked
        while True:
            literal = self.literal()
            if literal is not None and kinds[self.position] != "&":
                cubes.append(single((literal,)))
            else:
                cubes += self.conjunction(literal)
            if kinds[self.position] != "|":
                return cubes
            self.position += 1

    def conjunction(self, literal: Literal | None) -> list[Cube]:
        """Read a conjunction that begins with a literal, which is read already, or with something else."""
        run: list[Literal] = []
        parts: list[list[Literal] | DNF] = [run]
        while True:
            if literal is not None:
                run.append(literal)
            elif len(part := self.unary()) == 1:
                run += part[0].literals
            else:
                run = []
                parts += [DNF(part), run]
            if self.kinds[self.position] != "&":
                return _joined(parts) if len(parts) > 1 else _cubes_of(run)
            self.position += 1
            literal = self.literal()

    def literal(self) -> Literal | None:
        """Read a name or a negated name, if one comes next; None if not, or if the nesting must be checked."""
        kinds, place = self.kinds, self.position
        positive = kinds[place] != "~"
        if not positive:
            place += 1
        if kinds[place] != "name" or self.depth + 2 > MAX_DEPTH:
            return None
        name, known = self.values[place], self.known[positive]
        literal = known.get(name)
        if literal is None:
            literal = known[name] = self.named(place, positive)
        self.position = place + 1
        return literal

    def named(self, place: int, positive: bool) -> Literal:
        if not self.values[place]:
            column = self.tokens.column(place)
            raise FormulaSyntaxError(f"column {column}: a name cannot be empty.", column)
        return Literal.of_checked(self.values[place], positive)

    def unary(self) -> list[Cube]:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"parentheses and negations nest more than {MAX_DEPTH} deep.")
        cubes = self.atom()
        self.depth -= 1
        return cubes

    def atom(self) -> list[Cube]:
        if self.accept("~"):
            negated = self.unary()
            if len(negated) == 1 and len(negated[0]) == 1:
                return [Cube([negated[0].literals[0].negated])]
            return list((~DNF(negated)).cubes)
        if self.accept("1"):
            return [Cube()]
        if self.accept("0"):
            return []
        opened = self.position
        if self.accept("("):
            cubes = self.disjunction()
            if not self.accept(")"):
                raise self.error(
                    f"expected ')' to close the '(' at column {self.tokens.column(opened)}, but {self.found()}."
                )
            return cubes if len(cubes) == 1 else list(dict.fromkeys(cubes))
        if self.accept("name"):
            return [Cube([self.named(self.position - 1, True)])]
        raise self.error(f"expected a concept, '~' or '(', but {self.found()}.")

    def accept(self, kind: str) -> bool:
        if self.kinds[self.position] != kind:
            return False
        self.position += 1
        return True

    def found(self) -> str:
        return "the text ends" if self.kinds[self.position] == "end" else f"found {quoted(self.values[self.position])}"

    def error(self, message: str) -> FormulaSyntaxError:
        column = self.tokens.column(self.position)
        return FormulaSyntaxError(f"column {column}: {message}", column)


def _joined(parts: list[list[Literal] | DNF]) -> list[Cube]:
    """Return the conjunction of runs of literals and formulas, whose literals keep the order of the text."""
    factors = []
    for part in parts:
        if not isinstance(part, list):
            factors.append(part)
        elif part:
            cubes = _cubes_of(part)
            if not cubes:
                return []
            factors.append(DNF(cubes))
    return list((factors[0] if len(factors) == 1 else conjunction(factors)).cubes)


def _cubes_of(run: list[Literal]) -> list[Cube]:
    """Return the conjunction of literals: one cube, or none if a concept and its negation are among them."""
    if len(run) > 1 and len({literal.concept for literal in run}) < len(run):
        run = list(dict.fromkeys(run))
        if len({literal.concept for literal in run}) < len(run):
            return []
    return [Cube.of_checked(tuple(run))]
