"""Parser and formatters of formulas.

`parse` reads what `format_formula` writes, in each of its styles. Nothing is ever evaluated as code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from logiclens.errors import FormulaSyntaxError, LogicLensError
from logiclens.formula.dnf import DNF, Complement, Cube, Literal
from logiclens.formula.groups import NO_GROUPS, Groups
from logiclens.formula.notation import (
    LATEX_ESCAPES,
    QUOTED_ESCAPES,
    SYMBOLS,
    WORDS,
    Style,
    format_cube,
    format_cubes,
    quoted_name,
    symbols_of,
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
    symbols = symbols_of(style)
    if isinstance(formula, Complement):
        if formula.is_constant:
            return symbols.true if not formula.of.cubes else symbols.false
        text = format_formula(formula.of, style)
        (cube, *others) = formula.of.cubes
        alone = not others and len(cube) == 1 and cube.literals[0].positive
        return f"{symbols.negation}{text}" if alone else f"{symbols.negation}({text})"
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


def parse(text: str, names: Sequence[str] | None = None) -> DNF:
    """Read a formula from text; with `names`, every concept must be one of them.

    Reads `& | ~`, `∧ ∨ ¬`, `and or not`, LaTeX's `\\land \\lor \\lnot`, parentheses, `True` and `False`. A name with
    other characters than letters, digits and `_` needs double quotes.

    >>> parse('(a & ~b) | "age >= 72.5"')
    DNF('(a & ~b) | "age >= 72.5"')
    >>> parse("a & (b")
    Traceback (most recent call last):
    logiclens.errors.FormulaSyntaxError: column 7: expected ')' to close the '(' at column 5, but the text ends.
    """
    if not isinstance(text, str):
        raise LogicLensError(f"a formula is read from text, got {type(text).__name__}.")
    formula = _Parser(_tokens(text), len(text)).formula()
    if names is not None:
        for concept in formula.concepts:
            if concept not in names:
                raise unknown_concept(concept, names)
    return formula


@dataclass(frozen=True)
class _Token:
    kind: str
    value: str
    column: int


_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r'|(?P<quoted>"(?:[^"\\]|\\.)*")'
    r"|(?P<latex>\\text\{)"
    r"|(?P<operator>\\left\(|\\right\)|\\[a-z]+|&&|\|\||[&|~!()∧∨¬⊤⊥])"
    r"|(?P<word>[^\W\d]\w*)",
    re.DOTALL,
)
_LATEX_PIECE = re.compile(
    "|".join(re.escape(escape) for escape in sorted(LATEX_ESCAPES.values(), key=len, reverse=True))
    + r"|(?P<end>\})|(?P<plain>[^\\{}])",
    re.DOTALL,
)
_UNESCAPED = {escape: character for character, escape in LATEX_ESCAPES.items()}
_UNQUOTED = {escape[1]: character for character, escape in QUOTED_ESCAPES.items()}


def _tokens(text: str) -> list[_Token]:
    tokens, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        column = position + 1
        if match is None:
            raise FormulaSyntaxError(f"column {column}: {_unexpected(text, position)}", column)
        kind, value, position = match.lastgroup or "", match.group(), match.end()
        if kind == "operator":
            if value not in _OPERATORS:
                raise FormulaSyntaxError(f"column {column}: unknown operator {value!r}.", column)
            tokens.append(_Token(_OPERATORS[value], value, column))
        elif kind == "word":
            tokens.append(_Token(WORDS.get(value, "name"), value, column))
        elif kind == "quoted":
            tokens.append(_Token("name", _unquote(value[1:-1], column), column))
        elif kind == "latex":
            value, position = _read_latex_name(text, position, column)
            tokens.append(_Token("name", value, column))
    return tokens


def _unexpected(text: str, position: int) -> str:
    if text[position] == '"':
        return "this quote is never closed."
    if text[position] in "∀↔≈":
        return "this is a printed sentence, not a formula: read str(explanation[...].formula) instead."
    return f"unexpected {text[position]!r}. Concepts are joined by & | ~ and ( ); other names stand in double quotes."


def _unquote(body: str, column: int) -> str:
    def replace(match: re.Match[str]) -> str:
        if match[1] not in _UNQUOTED:
            at = column + 1 + match.start()
            raise FormulaSyntaxError(f"column {at}: unknown escape {match[0]!r}.", at)
        return _UNQUOTED[match[1]]

    return re.sub(r"\\(.)", replace, body, flags=re.DOTALL)


def _read_latex_name(text: str, position: int, column: int) -> tuple[str, int]:
    characters: list[str] = []
    while True:
        match = _LATEX_PIECE.match(text, position)
        if match is None:
            if position < len(text):
                at = position + 1
                raise FormulaSyntaxError(f"column {at}: {text[position]!r} must be escaped inside \\text.", at)
            raise FormulaSyntaxError(f"column {column}: this \\text{{ is never closed.", column)
        position = match.end()
        if match["end"]:
            return "".join(characters), position
        characters.append(match["plain"] or _UNESCAPED[match.group()])


class _Parser:
    """Recursive descent over the tokens; `|` binds loosest, then `&`, then `~`."""

    def __init__(self, tokens: list[_Token], length: int) -> None:
        self.tokens, self.end, self.position, self.depth = tokens, length + 1, 0, 0

    def formula(self) -> DNF:
        formula = self.disjunction()
        if self.position < len(self.tokens):
            token = self.tokens[self.position]
            raise self.error(f"expected '&', '|' or the end, but found {token.value!r}.")
        return formula

    def disjunction(self) -> DNF:
        parts = [self.conjunction()]
        while self.accept("|"):
            parts.append(self.conjunction())
        return DNF(cube for part in parts for cube in part)

    def conjunction(self) -> DNF:
        parts = [self.unary()]
        while self.accept("&"):
            parts.append(self.unary())
        literals = [literal for part in parts for cube in part for literal in cube]
        if all(len(part) == 1 for part in parts) and len({lit.concept for lit in literals}) == len(set(literals)):
            return DNF([Cube(literals)])
        formula = parts[0]
        for part in parts[1:]:
            formula = formula & part
        return formula

    def unary(self) -> DNF:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"parentheses and negations nest more than {MAX_DEPTH} deep.")
        formula = self.atom()
        self.depth -= 1
        return formula

    def atom(self) -> DNF:
        if self.accept("~"):
            negated = self.unary()
            (cube,) = negated.cubes if len(negated) == 1 else (Cube(),)
            return DNF([Cube([cube.literals[0].negated])]) if len(cube) == 1 else ~negated
        if self.accept("1"):
            return DNF.true
        if self.accept("0"):
            return DNF.false
        if opened := self.accept("("):
            formula = self.disjunction()
            if not self.accept(")"):
                raise self.error(f"expected ')' to close the '(' at column {opened.column}, but {self.found()}.")
            return formula
        if name := self.accept("name"):
            if not name.value:
                raise FormulaSyntaxError(f"column {name.column}: a name cannot be empty.", name.column)
            return DNF([Cube([Literal(name.value)])])
        raise self.error(f"expected a concept, '~' or '(', but {self.found()}.")

    def accept(self, kind: str) -> _Token | None:
        if self.position < len(self.tokens) and self.tokens[self.position].kind == kind:
            self.position += 1
            return self.tokens[self.position - 1]
        return None

    def found(self) -> str:
        return f"found {self.tokens[self.position].value!r}" if self.position < len(self.tokens) else "the text ends"

    def error(self, message: str) -> FormulaSyntaxError:
        column = self.tokens[self.position].column if self.position < len(self.tokens) else self.end
        return FormulaSyntaxError(f"column {column}: {message}", column)
