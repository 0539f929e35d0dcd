"""Door of formula texts: trees that are spelled in many ways, mutated texts, and questions about formulas."""

from __future__ import annotations

import itertools
import random
from typing import Any

from hypothesis import strategies as st

from logiclens.formula import DNF, Literal, parse
from logiclens.formula.dnf import Cube
from logiclens.formula.minimisation import simplify
from logiclens.formula.notation import SYMBOLS, latex_name, quoted_name
from logiclens.formula.text import format_formula
from tests.fuzz import hostile
from tests.fuzz.judge import Failure, Outcome, Place, Refused, attempt
from tests.oracles.brute_force import holds

Tree = list[Any]
Document = dict[str, Any]

AND, OR = ("&", "&&", "∧", "and", "\\land", "\\wedge"), ("|", "||", "∨", "or", "\\lor", "\\vee")
NOT, OPEN, CLOSE = ("~", "!", "¬", "not ", "\\lnot ", "\\neg "), ("(", "\\left("), (")", "\\right)")
TRUE, FALSE = ("True", "⊤", "\\top"), ("False", "⊥", "\\bot")
PIECES = (
    *AND,
    *OR,
    *NOT,
    *OPEN,
    *CLOSE,
    *TRUE,
    *FALSE,
    '"',
    "\\text{",
    "}",
    "\\",
    " ",
    "\n",
    "∀x: ",
    "↔",
    "a",
    "b",
    "1",
)

# Cases ---------------------------------------------------------------------------------------------------------------


def trees(n_names: int) -> st.SearchStrategy[Tree]:
    """A formula as nested lists: ["name", 0], ["and", …], ["or", …], ["not", …], ["true"] and ["false"]."""
    leaves = st.integers(0, n_names - 1).map(lambda at: ["name", at]) | st.sampled_from([["true"], ["false"]])
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: ["and", *parts])
            | st.lists(inner, min_size=2, max_size=3).map(lambda parts: ["or", *parts])
            | inner.map(lambda part: ["not", part])
        ),
        max_leaves=8,
    )


@st.composite
def spelled(draw: st.DrawFn) -> Document:
    """Draw a tree, the names of its concepts and the spelling of its symbols."""
    names = draw(st.lists(hostile.names(), min_size=1, max_size=4, unique=True))
    spelling = draw(st.lists(st.integers(0, 5), min_size=1, max_size=12))
    return {"kind": "tree", "names": names, "tree": draw(trees(len(names))), "spelling": spelling}


@st.composite
def mutated(draw: st.DrawFn) -> Document:
    """Draw the text of a tree with pieces put in, taken out and repeated."""
    case = draw(spelled())
    text = Spelling(case["names"], case["spelling"]).text(case["tree"])
    for _ in range(draw(st.integers(1, 3))):
        at, length = draw(st.integers(0, len(text))), draw(st.integers(0, 3))
        text = text[:at] + draw(st.sampled_from(PIECES) | hostile.texts(lone=True)) + text[at + length :]
    return {"kind": "text", "text": text * draw(st.sampled_from([1, 1, 1, 2, 30]))}


def soups() -> st.SearchStrategy[Document]:
    """Draw a text of pieces in any order, or of one piece many times."""
    pieces = st.lists(st.sampled_from(PIECES) | hostile.texts(lone=True), max_size=12).map("".join)
    deep = st.builds(lambda piece, times, end: piece * times + end, st.sampled_from(PIECES), st.sampled_from([99, 101,
                     5000]), st.sampled_from(["", "a"]))  # fmt: skip
    return (pieces | deep).map(lambda text: {"kind": "text", "text": text})


def cubes(n_names: int) -> st.SearchStrategy[list[list[list[Any]]]]:
    """Draw a formula as lists of literals [concept, positive]."""
    cube = st.dictionaries(st.integers(0, n_names - 1), st.booleans(), max_size=3)
    return st.lists(cube.map(lambda signs: [[at, sign] for at, sign in signs.items()]), max_size=8)


@st.composite
def questions(draw: st.DrawFn) -> Document:
    """Draw two formulas to compare and simplify."""
    n_names = draw(st.integers(1, 8))
    return {"kind": "question", "n": n_names, "first": draw(cubes(n_names)), "second": draw(cubes(n_names))}


@st.composite
def large_questions(draw: st.DrawFn) -> Document:
    """Draw a random 3-DNF of many cubes, a parity or a pigeonhole formula: hard ones must end too."""
    kind = draw(st.sampled_from(["random", "parity", "pigeonhole"]))
    size = draw(st.integers(2, {"random": 200, "parity": 10, "pigeonhole": 11}[kind]))
    return {"kind": "large", "form": kind, "size": size, "seed": draw(st.integers(0, 10_000))}


def cases() -> st.SearchStrategy[Document]:
    """Draw a case of any kind."""
    usual = [spelled(), mutated(), soups(), questions()]
    return st.integers(0, 40).flatmap(lambda at: large_questions() if at == 40 else usual[at % 4])


# Checks --------------------------------------------------------------------------------------------------------------


class Spelling:
    """Writes trees, each symbol in the next of the spellings that were drawn."""

    def __init__(self, names: list[str], choices: list[int]) -> None:
        """Take the names of the concepts and the choices, which repeat."""
        self.names, self.choices = names, itertools.cycle(choices)

    def one_of(self, spellings: tuple[str, ...]) -> str:
        """Return the next spelling of a symbol."""
        return spellings[next(self.choices) % len(spellings)]

    def text(self, tree: Tree) -> str:
        """Return the text of a tree, with parentheses around every operation."""
        kind, *parts = tree
        if kind == "name":
            name = self.names[parts[0]]
            return latex_name(name) if next(self.choices) % 3 == 0 else quoted_name(name)
        if kind in ("true", "false"):
            return self.one_of(TRUE if kind == "true" else FALSE)
        if kind == "not":
            return f"{self.one_of(NOT)}{self.one_of(OPEN)}{self.text(parts[0])}{self.one_of(CLOSE)}"
        texts = [f"{self.one_of(OPEN)}{self.text(part)}{self.one_of(CLOSE)}" for part in parts]
        joined = f" {self.one_of(AND if kind == 'and' else OR)} ".join(texts)
        return joined


def truth(tree: Tree, row: tuple[bool, ...]) -> bool:
    """Evaluate a tree on a row by Python itself."""
    kind, *parts = tree
    if kind == "name":
        return row[parts[0]]
    if kind in ("true", "false"):
        return kind == "true"
    values = [truth(part, row) for part in parts]
    return not values[0] if kind == "not" else all(values) if kind == "and" else any(values)


def check(case: Document, place: Place) -> Outcome:
    """Parse, compare with the tree, and read back what every style writes."""
    if case["kind"] == "question":
        return _check_question(case)
    if case["kind"] == "large":
        return _check_large(case)
    text = case["text"] if case["kind"] == "text" else Spelling(case["names"], case["spelling"]).text(case["tree"])
    formula = attempt(parse, text)
    if isinstance(formula, Refused):
        if case["kind"] == "tree":
            raise Failure("a formula is refused", formula.message)
        return Outcome.refused
    if case["kind"] == "tree":
        names = case["names"]
        for row in itertools.product([False, True], repeat=len(names)):
            if holds(formula, dict(zip(names, row, strict=True))) != truth(case["tree"], row):
                raise Failure("a formula is read with another meaning")
    for style in SYMBOLS:
        written = attempt(format_formula, formula, style)
        if isinstance(written, Refused) or parse(written) != formula:
            raise Failure(f"a formula is not read back as it was written ({style})")
    return Outcome.agreed


def _dnf(listed: list[list[list[Any]]]) -> DNF:
    return DNF(Cube(Literal(f"c{at}", sign) for at, sign in cube) for cube in listed)


def _check_question(case: Document) -> Outcome:
    first, second = _dnf(case["first"]), _dnf(case["second"])
    names = [f"c{at}" for at in range(case["n"])]
    rows = [dict(zip(names, row, strict=True)) for row in itertools.product([False, True], repeat=case["n"])]
    said = [[holds(formula, row) for row in rows] for formula in (first, second, first & second, ~first)]
    if said[2] != [a and b for a, b in zip(said[0], said[1], strict=True)] or said[3] != [not a for a in said[0]]:
        raise Failure("a conjunction or negation has another meaning")
    if first.implies(second) != all(b or not a for a, b in zip(said[0], said[1], strict=True)):
        raise Failure("implies is wrong")
    if first.equivalent(second) != (said[0] == said[1]):
        raise Failure("equivalent is wrong")
    shorter = attempt(simplify, first)
    if not isinstance(shorter, Refused) and [holds(shorter.formula, row) for row in rows] != said[0]:
        raise Failure("simplify changes the meaning")
    return Outcome.agreed


def _check_large(case: Document) -> Outcome:
    formula = _dnf(_large(case))
    asked = [
        attempt(formula.implies, DNF.false), attempt(formula.equivalent, DNF.true), attempt(simplify, formula),
    ]  # fmt: skip
    return Outcome.refused if any(isinstance(answer, Refused) for answer in asked) else Outcome.agreed


def _large(case: Document) -> list[list[list[Any]]]:
    size, chance = case["size"], random.Random(case["seed"])
    if case["form"] == "parity":
        rows = itertools.product([False, True], repeat=size)
        return [[[at, sign] for at, sign in enumerate(row)] for row in rows if sum(row) % 2]
    if case["form"] == "pigeonhole":
        holes = size - 1
        alone = [[[pigeon * holes + hole, False] for hole in range(holes)] for pigeon in range(size)]
        pairs = itertools.combinations(range(size), 2)
        return alone + [[[a * holes + h, True], [b * holes + h, True]] for a, b in pairs for h in range(holes)]
    return [
        [[at, chance.random() < 0.5] for at in chance.sample(range(max(size, 3)), 3)] for _ in range(int(4.4 * size))
    ]
