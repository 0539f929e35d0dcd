"""Conditions, formulas and recurrence counts in English; reports, exports and the command line use it.

This is the only module that puts a condition into words, such as "age is at least 70" in prose and lists. `Predicate`
writes the form `age >= 70` of formulas and concept names. The literals of a cube on one column are one condition
("age from 40 to 59", "job is neither clerk nor cook"), and so are cubes that differ in one category only ("job is nurse
or cook"); `complexity` still counts literals.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from logiclens.formula.column_kinds import KINDS, NUMBER, ORDERS, Scalar
from logiclens.formula.dnf import DNF, Complement, Cube, Literal
from logiclens.formula.predicate import Predicate
from logiclens.words import enumeration

RECURS = 0.5
"""Smallest share of the bags in which a choice must be found to count as recurring."""

FOUND_LEAST = " with the category found least"
"""What follows the recurrence of cubes that are read as one rule, where not all of them recur as often."""

_WORD = re.compile(r"[^\W\d][\w-]*")
_TAKEN = ("true", "false", "missing", "not", "and", "or", "if", "is")


@dataclass(frozen=True)
class TableFacts:
    """What is known of the table that the rules were learned from. It changes words, never answers.

    Args:
        target: name of the column that is predicted. Default: None, it has no name.
        whole: columns that held whole numbers only, or dates without a time of day.
        complete: columns that had no missing value.
        kinds: the kind of each column that a condition can be about; see `formula.condition`.
        categories: all values of columns of texts, where they are known.
    """

    target: str | None = None
    whole: tuple[str, ...] = ()
    complete: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def has_all(self, columns: Collection[str]) -> bool:
        """Return whether none of the columns had a missing value."""
        return all(column in self.complete for column in columns)

    def pair(self, column: str) -> tuple[str, ...]:
        """Return both values of a column of texts that had two and no missing value; nothing of any other column."""
        values = self.categories.get(column, ())
        return values if len(values) == 2 and column in self.complete else ()

    def opposite(self, predicate: Predicate) -> Predicate | None:
        """Return the comparison with the other value of a column that had two; None of any other predicate.

        >>> facts = TableFacts(complete=("sex",), categories={"sex": ("man", "woman")})
        >>> print(facts.opposite(Predicate("sex", "==", "man")))
        sex is woman
        """
        pair = self.pair(predicate.column)
        if predicate.operator != "==" or predicate.value not in pair:
            return None
        return Predicate(predicate.column, "==", next(value for value in pair if value != predicate.value))

    def class_words(self, label: Scalar) -> str:
        """Return the statement that a row has a class: `died is yes`, or without a target `the class is yes`."""
        return f"{'the class' if self.target is None else self.target} is {label}"


NO_FACTS = TableFacts()
"""Nothing is known of the table, as for rules that were written by hand."""


def english(
    formula: DNF | Complement | Cube | Literal,
    predicates: Mapping[str, Predicate] | None = None,
    *,
    head: str = "a match",
    subject: str | None = None,
    facts: TableFacts = NO_FACTS,
) -> str:
    """Return a formula as a sentence about rows of the raw table.

    A missing value makes a comparison false. The sentence adds "(or missing)" to a negated comparison because readers
    would not expect that a missing value satisfies it.

    Args:
        formula: the formula.
        predicates: meanings of its concepts; a concept without one is a Boolean column.
        head: description of a row on which the formula is true, or of `subject` on such a row.
        subject: name of the target. Default: that of `facts`; if that has none, the sentence is about "a row".
        facts: what is known of the training table; columns without missing values there need no "(or missing)".

    >>> formula = (Literal("old") & ~Literal("smoker")) | Literal("sepsis")
    >>> print(english(formula, {"old": Predicate("age", ">=", 72.5)}, head="ill"))
    A row is ill if age is at least 72.5 and smoker is not true, or if sepsis is true.
    >>> print(english(~Literal("old"), {"old": Predicate("age", ">=", 72.5)}, head="well"))
    A row is well if age is below 72.5 (or missing).
    >>> print(english(~Literal("new") | Literal("bare"),
    ...               {"new": Predicate("admitted", ">=", "2021-03-01"), "bare": Predicate("bmi", "missing")}))
    A row is a match if admitted is before 2021-03-01 (or missing), or if bmi is missing.
    >>> print(english(DNF.true, head="ill"), english(DNF.false, head="well"))
    Every row is ill. No row is well.
    >>> print(english(Literal("sepsis"), head="yes", subject="died"))
    died is yes if sepsis is true.
    >>> print(english(Complement(formula), {"old": Predicate("age", ">=", 72.5)}, head="well"))
    A row is well otherwise, that is unless one of these holds:
    age is at least 72.5 and smoker is not true; sepsis is true.
    """
    is_complement = isinstance(formula, Complement)
    subject = facts.target if subject is None else subject
    cubes = formula.of.cubes if isinstance(formula, Complement) else (formula | DNF.false).cubes
    if any(len(cube) == 0 for cube in cubes) or not cubes:
        if bool(cubes) != is_complement:
            return f"Every row is {head}." if subject is None else f"{subject} is always {head}."
        return f"No row is {head}." if subject is None else f"{subject} is never {head}."
    meant = predicates or {}
    conditions = [union_words(union, meant, facts) for union in category_unions(cubes, meant)]
    if is_complement and len(cubes) == 1 and not any(literal.positive for literal in cubes[0]):
        # What is not "neither of two" is one of the two.
        turned = DNF(Cube([literal.negated]) for literal in cubes[0])
        return english(turned, meant, head=head, subject=subject, facts=facts)
    if is_complement:
        listed = conditions[0] if len(conditions) == 1 else "one of these holds: " + "; ".join(conditions)
        return f"{subject or 'A row'} is {head} otherwise, that is unless {listed}."
    return f"{subject or 'A row'} is {head} if " + ", or if ".join(conditions) + "."


def cube_words(cube: Cube, predicates: Mapping[str, Predicate], facts: TableFacts = NO_FACTS) -> str:
    """Return a cube in words: one condition for each column; `always` for the empty cube.

    Args:
        cube: the cube.
        predicates: meanings of concepts; a concept without one is a Boolean column.
        facts: what is known of the training table. Default: nothing.

    >>> ages = {"a": Predicate("age", ">=", 40), "b": Predicate("age", ">=", 60), "c": Predicate("job", "==", "cook"),
    ...         "d": Predicate("job", "==", "clerk")}
    >>> cube = Cube([Literal("a"), Literal("c", False), Literal("b", False), Literal("d", False)])
    >>> print(cube_words(cube, ages))
    age from 40 to below 60 and job is neither cook nor clerk
    >>> print(cube_words(cube, ages, TableFacts(whole=("age",))))
    age from 40 to 59 and job is neither cook nor clerk
    """
    return " and ".join(conditions(cube, predicates, facts)) or "always"


def conditions(cube: Cube, predicates: Mapping[str, Predicate], facts: TableFacts = NO_FACTS) -> tuple[str, ...]:
    """Return the conditions of a cube in words, as `cube_words` joins them: one for each column where possible."""
    return tuple(words for words, _ in condition_groups(cube, predicates, facts))


def condition_groups(
    cube: Cube, predicates: Mapping[str, Predicate], facts: TableFacts = NO_FACTS
) -> tuple[tuple[str, tuple[Literal, ...]], ...]:
    """Return the conditions of a cube in words, each with the literals that make it."""
    # Where another condition excludes missing values, no condition on the column needs "(or missing)".
    within = replace(facts, complete=(*facts.complete, *sorted(_known_columns(cube, predicates))))
    columns: dict[tuple[str, bool], list[Literal]] = {}
    for literal in cube:
        predicate = predicates.get(literal.concept)
        # A concept without a predicate is a column of its own, whatever other columns are called.
        key = (literal.concept, False) if predicate is None else (predicate.column, True)
        columns.setdefault(key, []).append(literal)
    groups: list[tuple[str, tuple[Literal, ...]]] = []
    for literals in columns.values():
        words = _of_one_column(literals, predicates, within)
        joined = [tuple(literals)] if len(words) == 1 else [(literal,) for literal in literals]
        groups += zip(words, joined, strict=True)
    return tuple(groups)


def category_unions(cubes: Sequence[Cube], predicates: Mapping[str, Predicate]) -> list[tuple[Cube, ...]]:
    """Return the cubes in groups; those of a group are equal but for one category of the same column.

    A group stands where its first cube stood. Cubes that differ in more stand alone.

    >>> jobs = {job: Predicate("job", "==", job) for job in ("cook", "clerk")}
    >>> old, rich = Literal("old"), Literal("rich")
    >>> cubes = [Cube([Literal("cook"), old]), Cube([rich]), Cube([Literal("clerk"), old])]
    >>> [[str(cube) for cube in union] for union in category_unions(cubes, jobs)]
    [['cook & old', 'clerk & old'], ['rich']]
    """
    alike: dict[tuple[str, frozenset[Literal]], list[Cube]] = {}
    for cube in cubes:
        for key in _but_for_a_category(cube, predicates):
            alike.setdefault(key, []).append(cube)
    left, unions = dict.fromkeys(cubes), []
    for cube in cubes:
        if cube not in left:
            continue
        found: list[list[Cube]] = [
            [cube],
            *([one for one in alike[key] if one in left] for key in _but_for_a_category(cube, predicates)),
        ]
        union = max(found, key=len)
        unions.append(tuple(union))
        for one in union:
            del left[one]
    return unions


def printed_order(cubes: Sequence[Cube], predicates: Mapping[str, Predicate]) -> tuple[Cube, ...]:
    """Return the cubes of a class in the order of their lines in print; see `category_unions`."""
    return tuple(cube for union in category_unions(cubes, predicates) for cube in union)


def union_words(union: Sequence[Cube], predicates: Mapping[str, Predicate], facts: TableFacts = NO_FACTS) -> str:
    """Return a group of cubes that `category_unions` made as one condition in words.

    >>> jobs = {job: Predicate("job", "==", job) for job in ("cook", "clerk", "nurse")}
    >>> print(union_words([Cube([Literal("old"), Literal(job)]) for job in jobs], jobs))
    old is true and job is cook, clerk or nurse
    """
    return " and ".join(words for words, _ in union_conditions(union, predicates, facts)) or "always"


def union_conditions(
    union: Sequence[Cube], predicates: Mapping[str, Predicate], facts: TableFacts = NO_FACTS
) -> tuple[tuple[str, tuple[tuple[Literal, ...], ...]], ...]:
    """Return the conditions of a group of cubes in words, each with its alternatives: one of them must hold whole.

    A condition that all cubes share has one alternative; the one that names several categories has one for each.
    """
    first = union[0]
    if len(union) == 1:
        return _without_alternatives(first, predicates, facts)
    common, chosen = common_and_chosen(union)
    # The condition stands where the first cube has its category.
    place = list(first).index(chosen[0])
    before = len(condition_groups(Cube(list(first)[:place]), predicates, facts))
    others = _without_alternatives(common, predicates, facts)
    values = [_value(predicates[literal.concept]) for literal in chosen]
    said = f"{predicates[chosen[0].concept].column} is {enumeration(values, last='or')}"
    return (*others[:before], (said, tuple((literal,) for literal in chosen)), *others[before:])


def common_and_chosen(union: Sequence[Cube]) -> tuple[Cube, tuple[Literal, ...]]:
    """Return what several cubes of a group have in common, and the category that each of them asks for.

    >>> common, chosen = common_and_chosen([Cube([Literal("old"), Literal(job)]) for job in ("cook", "clerk")])
    >>> print(common, *chosen)
    old cook clerk
    """
    common = set.intersection(*(set(cube) for cube in union))
    chosen = tuple(next(literal for literal in cube if literal not in common) for cube in union)
    return Cube(literal for literal in union[0] if literal in common), chosen


def _without_alternatives(
    cube: Cube, predicates: Mapping[str, Predicate], facts: TableFacts
) -> tuple[tuple[str, tuple[tuple[Literal, ...], ...]], ...]:
    return tuple((words, (literals,)) for words, literals in condition_groups(cube, predicates, facts))


def literal_words(literal: Literal, predicates: Mapping[str, Predicate], facts: TableFacts = NO_FACTS) -> str:
    """Return a literal in words.

    Args:
        literal: the literal.
        predicates: meanings of concepts; a concept without one is a Boolean column.
        facts: what is known of the training table. "(or missing)" is added to a negated comparison of a column that
            had missing values, or of which nothing is known. Default: nothing.
    """
    predicate = predicates.get(literal.concept)
    if predicate is None:
        return f"{literal.concept} is {'true' if literal.positive else 'not true'}"
    # A missing value satisfies a negated comparison. Readers expect this of "is not", but not of an order.
    unexpected = not literal.positive and predicate.operator in ORDERS and not facts.has_all(predicate.sources)
    return f"{predicate.subject} is {comparison_words(predicate, literal.positive)}" + " (or missing)" * unexpected


def condition_words(literal: Literal, predicates: Mapping[str, Predicate], facts: TableFacts = NO_FACTS) -> str:
    """Return a literal that stands outside the rules in words; of a column with two values, the one that it asks for.

    A rule that says "is not" also holds for values not seen in training, so rules are told by `literal_words`.

    Args:
        literal: the literal.
        predicates: meanings of concepts; a concept without one is a Boolean column.
        facts: what is known of the training table. Default: nothing.

    >>> facts = TableFacts(complete=("sex",), categories={"sex": ("man", "woman")})
    >>> condition_words(Literal("m", False), {"m": Predicate("sex", "==", "man")}, facts)
    'sex is woman'
    """
    predicate = predicates.get(literal.concept)
    opposite = None if predicate is None or literal.positive else facts.opposite(predicate)
    if opposite is not None:
        return literal_words(Literal(literal.concept), {literal.concept: opposite}, facts)
    return literal_words(literal, predicates, facts)


def region_words(cubes: Sequence[Cube], predicates: Mapping[str, Predicate], facts: TableFacts = NO_FACTS) -> list[str]:
    """Return cubes that stand outside the rules in words, those that differ in one category only as one.

    Of a column with two values each cube names the one that it asks for, as `condition_words` does, unless it is about
    rows that have neither.

    Args:
        cubes: the cubes.
        predicates: meanings of concepts; a concept without one is a Boolean column.
        facts: what is known of the training table. Default: nothing.

    >>> facts = TableFacts(complete=("sex",), categories={"sex": ("man", "woman")})
    >>> region_words([Cube([Literal("m", False), Literal("old")])], {"m": Predicate("sex", "==", "man")}, facts)
    ['sex is woman and old is true']
    """
    meant = dict(predicates)

    def turned(literal: Literal, cube: Cube) -> Literal:
        predicate = predicates.get(literal.concept)
        opposite = None if predicate is None or literal.positive else facts.opposite(predicate)
        if opposite is None or any(predicates.get(one.concept) == opposite for one in cube):
            return literal
        name = next((concept for concept, one in meant.items() if one == opposite), str(opposite))
        while meant.setdefault(name, opposite) != opposite:
            name += "'"
        return Literal(name)

    asked = [Cube(dict.fromkeys(turned(literal, cube) for literal in cube)) for cube in cubes]
    return [union_words(union, meant, facts) for union in category_unions(asked, meant)]


def gap_words(formulas: Sequence[DNF | Complement], predicates: Mapping[str, Predicate]) -> list[str]:
    """Return the sentence that says which conditions a missing value or an unseen category satisfies.

    Args:
        formulas: the formulas of all classes.
        predicates: meanings of their concepts. Without any there is no sentence: concepts have no missing values.

    >>> old, cook = Literal("old"), Literal("cook")
    >>> meant = {"old": Predicate("age", ">=", 60), "cook": Predicate("job", "==", "cook")}
    >>> for formula in (old | DNF.false, ~old & ~cook | DNF.false):
    ...     print(*gap_words([formula], meant))
    A missing value satisfies none of these conditions.
    A missing value satisfies "below" and "is not" only; a category not seen in training satisfies "is not" only.
    """
    cubes = [cube for formula in formulas if isinstance(formula, DNF) for cube in formula]
    used = {predicates[literal.concept] for cube in cubes for literal in cube if literal.concept in predicates}
    if not used:
        return []
    satisfied: dict[str, None] = {}
    unseen: dict[str, None] = {}
    for cube in cubes:
        meant = [(literal, predicates[literal.concept]) for literal in cube if literal.concept in predicates]
        known = _known_columns(cube, predicates)
        chosen = {p.column for literal, p in meant if literal.positive and p.operator == "=="}
        if any(not literal.positive and literal.concept not in predicates for literal in cube):
            satisfied['"is not"'] = None
        for literal, predicate in meant:
            if predicate.operator == "==":
                several = sum(p.column == predicate.column and p.operator == "==" for _, p in meant) > 1
                words = '"is neither"' if several else '"is not"'
                # A category not seen in training satisfies what is negated, unless the cube asks for another one.
                if isinstance(predicate.value, str) and predicate.column not in chosen:
                    unseen[words] = None
            elif predicate.operator == "missing":
                words = '"is missing"'
            elif predicate.origin is not None:
                words = f'"{comparison_words(predicate, literal.positive)}"'
            else:
                template = predicate.kind.sentences[predicate.operator][not literal.positive]
                words = f'"{template.format("").strip()}"'
            # A missing value satisfies what is negated, unless the cube also asks for a value of the column.
            if not known.issuperset(predicate.sources):
                satisfied[words] = None
    has_categories = any(predicate.operator == "==" and isinstance(predicate.value, str) for predicate in used)
    if not satisfied and not unseen:
        who = "A missing value or a category not seen in training" if has_categories else "A missing value"
        return [f"{who} satisfies none of these conditions."]
    if has_categories and set(satisfied) == set(unseen):
        return [f"A missing value or a category not seen in training satisfies {_only(satisfied)}."]
    said = [f"A missing value satisfies {_only(satisfied)}"]
    said += [f"a category not seen in training satisfies {_only(unseen)}"] * has_categories
    return ["; ".join(said) + "."]


def _only(words: Collection[str]) -> str:
    return f"{enumeration(list(words))} only" if words else "none of these conditions"


@dataclass(frozen=True)
class GapCondition:
    """A condition of a cube that a missing value satisfies too.

    Attributes:
        subject: the column, or the part of a date.
        words: what a value that satisfies it is, such as "below 7".
        sources: the columns of the table that it is about.
    """

    subject: str
    words: str
    sources: tuple[str, ...]


def gap_conditions(cube: Cube, predicates: Mapping[str, Predicate], facts: TableFacts) -> tuple[GapCondition, ...]:
    """Return the conditions of a cube that a missing value satisfies too, of columns that had one in training.

    >>> gap_conditions(Cube([Literal("old", False)]), {"old": Predicate("age", ">=", 72.5)}, NO_FACTS)
    (GapCondition(subject='age', words='below 72.5', sources=('age',)),)
    """
    within = replace(facts, complete=(*facts.complete, *_known_columns(cube, predicates)))
    by_subject: dict[str, list[Literal]] = {}
    for literal in cube:
        if literal.concept in predicates and not within.has_all(predicates[literal.concept].sources):
            by_subject.setdefault(predicates[literal.concept].subject, []).append(literal)
    conditions = []
    for subject, literals in by_subject.items():
        if any(literal.positive for literal in literals):
            # Only the condition that the value is missing is left, which no value satisfies.
            continue
        sources = predicates[literals[0].concept].sources
        words = _of_one_column(literals, predicates, replace(facts, complete=sources))
        conditions.append(GapCondition(subject, " and ".join(words).removeprefix(f"{subject} is "), sources))
    return tuple(conditions)


def _known_columns(cube: Cube, predicates: Mapping[str, Predicate]) -> set[str]:
    """Return the columns of which a cube excludes missing values: it asks for a value, or that it is not missing."""
    meant = [(literal, predicates[literal.concept]) for literal in cube if literal.concept in predicates]
    asked = [p.sources for literal, p in meant if literal.positive == (p.operator != "missing")]
    return {column for sources in asked for column in sources}


@dataclass(frozen=True)
class _Bound:
    """One end of an interval: its value, whether the value itself is left out, and the literal that states it."""

    number: float
    strict: bool
    literal: Literal
    predicate: Predicate


def _of_one_column(literals: Sequence[Literal], predicates: Mapping[str, Predicate], facts: TableFacts) -> list[str]:
    """Return the literals of a cube on one column as one condition, or each as its own where they do not join."""
    meant = [(literal, predicates[literal.concept]) for literal in literals if literal.concept in predicates]
    if len(meant) > 1:
        absent = ["missing"] * any(predicate.operator == "missing" for _, predicate in meant)
        compared = [(literal, predicate) for literal, predicate in meant if predicate.operator != "missing"]
        joins = not any(literal.positive and predicate.operator == "missing" for literal, predicate in meant)
        if joins and all(predicate.operator == "==" and not literal.positive for literal, predicate in compared):
            values = [_value(predicate) for _, predicate in compared]
            return [f"{meant[0][1].subject} is {none_of([*values, *absent])}"]
        kinds = {predicate.kind.name for _, predicate in compared if predicate.operator in ORDERS}
        if joins and len(kinds) == 1 and all(predicate.operator in ORDERS for _, predicate in compared):
            words = _interval_words(compared, facts)
            if words is not None:
                is_said = not absent or any(literal.positive for literal, _ in compared)
                return [words if is_said else f"{words} and not missing"]
    return [literal_words(literal, predicates, facts) for literal in literals]


def _interval_words(compared: Sequence[tuple[Literal, Predicate]], facts: TableFacts) -> str | None:
    """Return several comparisons of one column by order in words; None if no value satisfies all of them."""
    lower, upper = None, None
    for literal, predicate in compared:
        is_lower = (predicate.operator in (">=", ">")) == literal.positive
        strict = (predicate.operator in (">", "<")) == literal.positive
        bound = _Bound(predicate.kind.number(predicate.value), strict, literal, predicate)
        if is_lower and (lower is None or (bound.number, bound.strict) > (lower.number, lower.strict)):
            lower = bound
        if not is_lower and (upper is None or (bound.number, not bound.strict) < (upper.number, not upper.strict)):
            upper = bound
    predicate = compared[0][1]
    column, kind = predicate.subject, predicate.kind
    gaps = "" if facts.has_all(predicate.sources) else " (or missing)"
    ends = [comparison_words(end.predicate, end.literal.positive) for end in (lower, upper) if end is not None]
    if lower is None or upper is None:
        return f"{column} is {ends[0]}{gaps}"
    if lower.number > upper.number or (lower.number == upper.number and (lower.strict or upper.strict)):
        return None
    if predicate.origin is not None or column in facts.whole:
        return _whole_interval(predicate, lower, upper, gaps)
    if lower.strict:
        return f"{column} is {' and '.join(ends)}{gaps}"
    first, last = (end.predicate.shown_value for end in (lower, upper))
    return f"{column} from {first} to {kind.sentences['<'][0].format(last) if upper.strict else last}{gaps}"


def _whole_interval(predicate: Predicate, lower: _Bound, upper: _Bound, gaps: str) -> str | None:
    """Return an interval of whole numbers, or of whole days, by its first and last value; None if there is none."""
    column, kind, origin = predicate.subject, predicate.kind, predicate.origin
    step = 1.0 if kind is NUMBER else timedelta(days=1).total_seconds()
    first = math.floor(lower.number / step) + 1 if lower.strict else math.ceil(lower.number / step)
    last = math.ceil(upper.number / step) - 1 if upper.strict else math.floor(upper.number / step)
    if first > last:
        return None
    if origin is not None:
        return f"{column} is {origin.interval(first, last)}{gaps}"
    if kind is NUMBER:
        shown = [str(first), str(last)]
    else:
        day = KINDS["date"].point("1970-01-01")
        shown = [kind.shown_cell(day + timedelta(days=place)) for place in (first, last)]
    return f"{column} is {shown[0]}{gaps}" if first == last else f"{column} from {shown[0]} to {shown[1]}{gaps}"


def _but_for_a_category(cube: Cube, predicates: Mapping[str, Predicate]) -> list[tuple[str, frozenset[Literal]]]:
    """Return for each category that a cube asks for its column, and the other literals."""
    return [
        (predicates[literal.concept].column, frozenset(cube) - {literal})
        for literal in cube
        if literal.positive and literal.concept in predicates and predicates[literal.concept].operator == "=="
    ]


def comparison_words(predicate: Predicate, positive: bool = True) -> str:
    """Return a predicate or its negation in words, without its `subject`, the name of the column.

    Args:
        predicate: the predicate.
        positive: False for the negation. Default: True.

    >>> comparison_words(Predicate("age", ">=", 72.5)), comparison_words(Predicate("unit", "==", "MICU"), False)
    ('at least 72.5', 'not MICU')
    """
    if predicate.operator == "missing":
        return "missing" if positive else "not missing"
    if predicate.origin is not None:
        return predicate.origin.words(predicate.operator, float(predicate.value), positive)
    if predicate.operator == "==":
        return f"{'' if positive else 'not '}{_value(predicate)}"
    return predicate.kind.sentences[predicate.operator][not positive].format(predicate.shown_value)


def none_of(values: Sequence[str]) -> str:
    """Return the words for a column that has none of the values, without the name of the column.

    Args:
        values: at least one value, as text.

    >>> none_of(["MICU"]), none_of(["MICU", "CCU"])
    ('not MICU', 'neither MICU nor CCU')
    """
    return f"not {values[0]}" if len(values) == 1 else f"neither {enumeration(values, last='nor')}"


def recurs(count: int, total: int) -> bool:
    """Return whether a choice was found in at least half of the bags.

    Args:
        count: number of bags in which it was found.
        total: number of bags.
    """
    return count >= RECURS * total


def recurrence_words(count: int, total: int, drawn: str = "") -> str:
    """Return in words how many bags found a choice again, and whether that is less than half of them.

    Args:
        count: number of bags in which it was found.
        total: number of bags.
        drawn: plural noun for them, such as `"bags"`. Default: no noun.

    >>> recurrence_words(7, 10), recurrence_words(3, 10, "bags")
    ('found again in 7 of 10', 'found again in only 3 of 10 bags, less than half')
    """
    if not count:
        return f"found again in none of {total} {drawn}".rstrip()
    times = f"{count} of {total} {drawn}".rstrip()
    return f"found again in {times}" if recurs(count, total) else f"found again in only {times}, less than half"


def _value(predicate: Predicate) -> str:
    """Return the value as text; quoted if it is a text that could be overlooked or misread."""
    if isinstance(predicate.value, bool):
        return str(predicate.value).lower()
    if isinstance(predicate.value, str) and (not _WORD.fullmatch(predicate.value) or predicate.value in _TAKEN):
        return f'"{predicate.value}"'
    return predicate.shown_value
