"""Result of a verification, and the text of names, formulas, rows and domains in results and messages."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

from .files import Label
from .predicates import value_text
from .records import MOST_CONCEPTS, ORDERS, PARTS, Edit, Formula, Model, Predicate

SYMBOLS = frozenset('&|~()"=,;:\\')
"""Characters that cause a name to be quoted, except as part of a comparison."""
COMPARISONS = (">=", "<=", "==", "!=")


_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
"""Characters without ink that Python calls printable, besides the variation selectors."""


def printable(text: str) -> str:
    r"""Return the text with every character escaped that cannot be seen.

    In a text of Latin and other letters of the same looks, such as Cyrillic, the other letters are escaped too.

    >>> print(printable("a\u200bge"), printable("\u0430ge"), printable("größe"))
    a\u200bge \u0430ge größe
    """
    mixed = any(map(_is_latin, text))
    return "".join(ascii(character)[1:-1] if _is_hidden(character, mixed) else character for character in text)


def _is_hidden(character: str, beside_latin: bool) -> bool:
    if not character.isprintable() or character in _BLANK:
        return True
    name = unicodedata.name(character, "")
    if "VARIATION SELECTOR" in name:
        return True
    return beside_latin and name.startswith(("CYRILLIC ", "GREEK ", "ARMENIAN ", "CHEROKEE ", "LISU ", "COPTIC "))


def _is_latin(character: str) -> bool:
    return unicodedata.name(character, "").startswith("LATIN ")


def name_text(name: str) -> str:
    r"""Return the name of a concept or a class; quoted if it could be misread.

    >>> print(name_text("age >= 60"), name_text("a | b"), name_text("a\nb"))
    age >= 60 "a | b" "a\nb"
    """
    bare = name
    for comparison in COMPARISONS:
        bare = bare.replace(f" {comparison} ", "  ")
    plain = printable(bare) == bare and not SYMBOLS & set(bare) and bare == bare.strip()
    if plain and bare not in ("", "True", "False"):
        return name
    return '"' + printable(name.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def label_text(label: Label) -> str:
    """Return a class label as text; a text that could be taken for a number or a truth value is quoted.

    >>> label_text(1), label_text("1"), label_text("ill")
    ('1', '"1"', 'ill')
    """
    if not isinstance(label, str):
        return str(label)
    try:
        float(label)
    except ValueError:
        return name_text(label)
    return '"' + printable(label) + '"'


def column_text(name: str) -> str:
    """Return the name of a column or a concept, quoted unless it is one word."""
    return _term(name)


def meaning_text(predicate: Predicate) -> str:
    """Return a predicate so that it can be read in one way only: texts are always quoted.

    >>> meaning_text(Predicate("age", ">=", 60.0)), meaning_text(Predicate("my unit", "==", "2"))
    ('age >= 60', '"my unit" is "2"')
    """
    column, value = column_text(predicate.column), predicate.value
    if predicate.part is not None:
        begin, numbers = PARTS[predicate.part.kind]
        column = f"{begin} {' to '.join(map(column_text, predicate.part.columns))} ({numbers})"
    if predicate.operator == "missing":
        return f"{column} is missing"
    text = value_text(value)
    if isinstance(value, str):
        text = '"' + printable(value.replace("\\", "\\\\").replace('"', '\\"')) + '"'
    return f"{column} {predicate.operator if predicate.operator in ORDERS else 'is'} {text}"


def formula_text(formula: Formula) -> str:
    """Return a formula as text, a disjunction of conjunctions.

    >>> formula_text(((("a", True), ("b", False)), (("c", True),)))
    '(a & ~b) | c'
    >>> formula_text(()), formula_text(((),))
    ('False', 'True')
    """
    if not formula:
        return "False"
    cubes = [" & ".join(("" if value else "~") + _term(name) for name, value in cube) for cube in formula]
    if len(formula) > 1:
        cubes = [f"({text})" if len(cube) > 1 else text for cube, text in zip(formula, cubes, strict=True)]
    return " | ".join(text or "True" for text in cubes)


def complement_text(formula: Formula) -> str:
    """Return the text of a class that is the complement of another class's formula.

    Args:
        formula: the formula of the other class.

    >>> complement_text(((("a", True),),))
    'otherwise (not: a)'
    """
    return f"otherwise (not: {formula_text(formula)})"


def _term(name: str) -> str:
    """Return a name for use in a formula: quoted unless it is one word, to show the scope of a negation."""
    text = name_text(name)
    return text if text.startswith('"') or name.isidentifier() else f'"{text}"'


def row_text(concepts: Sequence[str], row: int) -> str:
    """Return a row as text.

    Args:
        concepts: names of the concepts; the first is the highest bit of the row number.
        row: row number.

    >>> row_text(["age >= 60", "smoker"], 2)
    'age >= 60 = 1, smoker = 0'
    """
    last = len(concepts) - 1
    return ", ".join(f"{name_text(name)} = {row >> (last - k) & 1}" for k, name in enumerate(concepts))


def domain_text(concepts: Sequence[str]) -> str:
    """Return in words all rows of the concepts of a head.

    >>> domain_text(["a", "b"])
    'all 4 rows of its 2 concepts'
    """
    if not concepts:
        return "the one row of no concepts"
    if len(concepts) > MOST_CONCEPTS:
        return f"all 2^{len(concepts)} rows of its {len(concepts)} concepts, proved unit by unit"
    return f"all {2 ** len(concepts)} rows of its {len(concepts)} concept{'s' * (len(concepts) > 1)}"


NOT_COVERED = (
    "Concepts between 0 and 1, such as scores of an encoder: the claim is about concepts cut to 0 and 1.",
    "Whether the rules are right about the world: measure that on rows that were not trained on.",
    "Who made the folder: hashes show that its files belong together, and only a signature shows who made them.",
    "Confidences, recurrence and metrics: they are repeated as stated and not checked.",
    "Figures in result.json, which `logiclens report` shows: that file is not read.",
    "Arithmetic less precise than float32, such as TF32, bfloat16 or quantised weights.",
)
"""What no certificate covers, as `verify` prints it; `docs/exact.md` says the same sentences."""
NOT_WATCHED = "Who edited the rules, when and why: the history is repeated as stated and not checked."
"""The same for rules that people edited."""


def history_text(edit: Edit) -> str:
    """Return one line of the history, whole and as stated."""
    reason = "" if edit.why is None else f", because {edit.why!r}"
    signed = ", ".join(repr(part) for part in (edit.who, edit.when) if part is not None)
    return f"{edit.what!r}{reason}{f' ({signed})' if signed else ''}"


_KINDS = {"boolean": "true or false", "timedelta": "duration"}


def columns_text(model: Model) -> str:
    """Return which columns of a table the model reads, in their order, and of which kinds."""
    cutting = model.cutting
    if cutting is None:
        read = [
            f"{column_text(name)} ({'true or false' if name in model.predicates else 'true from 0.5 on'})"
            for name in model.concepts
        ]
        return f"The columns are the concepts: {', '.join(read)}."
    read = []
    for column in cutting.columns:
        kind = cutting.kinds.get(column)
        read.append(f"{column_text(column)} ({'not used' if kind is None else _KINDS.get(kind, kind)})")
    return f"Columns{', by position' if cutting.positional else ''}: {', '.join(read)}."


def decision_text(model: Model) -> str:
    """Return how the rules decide between classes, in words."""
    rules, names = model.rules, [label_text(rule.label) for rule in model.rules.classes]
    if rules.multilabel:
        return "Every label is decided by its own formula."
    otherwise = "nobody decides" if rules.otherwise is None else names[rules.otherwise]
    if rules.resolve == "order":
        return f"The first that applies decides: {', '.join(names[p] for p in rules.order)}; otherwise {otherwise}."
    if rules.resolve == "none":
        return "Where not exactly one formula fires, nobody decides."
    cubes = [
        (confidence, f"{formula_text((cube,))} ({names[place]})")
        for place, rule in enumerate(rules.classes)
        for cube, confidence in zip(rule.formula, rule.confidence, strict=False)
    ]
    # The sort is stable: of two cubes of the same confidence the first decides.
    listed = ", ".join(text for _, text in sorted(cubes, key=lambda cube: -cube[0]))
    return (
        "Where several formulas fire, the cube with the highest confidence decides, "
        f"the first of these: {listed}; otherwise {otherwise}."
    )


@dataclass(frozen=True)
class ClassReport:
    """The verified claim of one class: the head equals its formula.

    Attributes:
        name: class of the head.
        formula: the formula as text.
        domain: the domain in words.
        rows: number of rows of the domain.
        smallest_logit: smallest `|logit|` on these rows, or a lower bound on it if the head was proved by units.
        bound: bound on float32 rounding.

    >>> import tempfile
    >>> from logiclens import EntropyClassifier
    >>> rows = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10
    >>> model = EntropyClassifier(booleanise=None, exact=True).fit(rows, [0, 0, 0, 1] * 10)
    >>> from logiclens.verify import verify
    >>> report = verify(model.save(tempfile.mkdtemp() + "/model"))
    >>> print(report.classes[1].formula, report.classes[1].rows)
    x0 & x1 4
    """

    name: str
    formula: str
    domain: str
    rows: int
    smallest_logit: float
    bound: float
    confidence: tuple[float, ...] = ()
    """Stated confidence of each cube; of a complement, its one confidence."""
    label: Label | None = None
    """The class as predictions give it: a text, a number, true or false; None if it is the name."""
    is_edited: bool = False
    """Whether the head was compiled from rules that people edited."""

    def __str__(self) -> str:
        """Return two lines of text, and more for edited rules and for stated confidences."""
        # Round to the safe side: no printed number may be better than the computed one.
        smallest = Context(prec=2, rounding=ROUND_FLOOR).create_decimal_from_float(self.smallest_logit)
        bound = Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(self.bound)
        origin = "\n  compiled from rules that people edited" if self.is_edited else ""
        if self.confidence:
            shares = ", ".join(f"{round(share, 4):g}" for share in self.confidence)
            origin += f"\n  confidence {shares} (as stated, not checked)"
        return (
            f"{name_text(self.name) if self.label is None else label_text(self.label)}: equal on {self.domain}; "
            f"smallest |logit| {float(smallest):g}, float32 rounding at most {float(bound):.1e}\n"
            f"  {self.formula}{origin}"
        )


@dataclass(frozen=True)
class Report:
    """Result of `verify`: every head equals its formula.

    Attributes:
        classes: one report per class.
        does_not_cover: sentences about what a certificate does not cover.
        decides: how the rules decide between classes, in words.
        columns: which columns the model reads, in words.
        meanings: what concepts mean, in words, whose names do not say it without doubt.
        target: name of the predicted column, if it is known.
        history: what people changed in the rules, as stated.

    >>> import tempfile
    >>> from logiclens import EntropyClassifier
    >>> rows = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10
    >>> model = EntropyClassifier(booleanise=None, exact=True).fit(rows, [0, 0, 0, 1] * 10)
    >>> from logiclens.verify import verify
    >>> report = verify(model.save(tempfile.mkdtemp() + "/model"))
    >>> [entry.name for entry in report.classes]
    ['0', '1']
    """

    classes: tuple[ClassReport, ...]
    does_not_cover: tuple[str, ...]
    decides: str
    columns: str
    meanings: tuple[str, ...] = ()
    target: str | None = None
    history: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return a paragraph for each class, what the rules rest on, and a verdict."""
        target = [] if self.target is None else [f"They predict {column_text(self.target)}."]
        lines = [*map(str, self.classes), *self.meanings, self.columns, *target, self.decides]
        if self.history:
            lines += ["Edited, as stated and not checked:", *(f"- {edit}" for edit in self.history)]
        lines += ["The printed rules are the model, on hard 0/1 concepts.", "Not covered:"]
        return "\n".join([*lines, *(f"- {sentence}" for sentence in self.does_not_cover)])
