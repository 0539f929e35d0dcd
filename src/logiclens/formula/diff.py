"""Differences between two versions of a formula: in their cubes, in their meaning, and on given rows.

Two rule sets may cut a column differently: `in_one_language`, `impossible` and `always` know how such concepts relate,
and `regions` tells a difference in as few of them as it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from logiclens.errors import FormulaTooLarge, LogicLensError
from logiclens.formula import cover
from logiclens.formula.column_states import linked, packed_row, told, units_of
from logiclens.formula.dnf import DNF, Complement, Cube, Literal, as_masks, implied_by
from logiclens.formula.flip import PossibleRows, ask_answer
from logiclens.formula.groups import Groups
from logiclens.formula.minimisation import simplify
from logiclens.formula.packed_rows import RowsLike, pack
from logiclens.formula.possible_dates import dates_exist
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import RuleSet
from logiclens.formula.text import format_formula
from logiclens.words import for_reading

MAX_DIFF_CUBES = 500
"""The largest number of cubes to say what is gained or lost; nobody would read more."""
MINIMISED_LITERALS = 300
"""The largest number of literals that is minimised; longer differences are only absorbed."""
SHORTENED_LITERALS = 100
"""The largest number of literals of which `regions` asks one by one whether the columns make them superfluous."""


@dataclass(frozen=True)
class CubeChange:
    """A cube of one version and the most similar cube of the other; None if there is none."""

    before: Cube | None
    after: Cube | None

    @property
    def dropped(self) -> tuple[Literal, ...]:
        """The literals that were removed."""
        return _missing_in(self.before, self.after)

    @property
    def added(self) -> tuple[Literal, ...]:
        """The literals that were added."""
        return _missing_in(self.after, self.before)

    @for_reading
    def __str__(self) -> str:
        """One line."""
        if self.before is None or self.after is None:
            return f"new: {self.after}" if self.before is None else f"gone: {self.before}"
        steps = [f"without {literal}" for literal in self.dropped] + [f"with {literal}" for literal in self.added]
        return f"changed: {self.before} to {self.after}, {' and '.join(steps)}"


@dataclass(frozen=True, eq=False)
class RowsDiff:
    """The numbers of the rows on which two formulas differ: `gained` turned to yes, `lost` to no."""

    total: int
    gained: NDArray[np.intp]
    lost: NDArray[np.intp]

    @property
    def differing(self) -> NDArray[np.intp]:
        """All rows that differ, in order."""
        return np.sort(np.concatenate([self.gained, self.lost]))

    def __str__(self) -> str:
        """A sentence."""
        counts = f"{len(self.gained):,} turn to yes and {len(self.lost):,} to no"
        return f"{len(self.gained) + len(self.lost):,} of {self.total:,} rows differ: {counts}"


@dataclass(frozen=True, eq=False)
class Diff:
    """The differences between `before` and `after`.

    `gained` holds where `after` holds and `before` does not; `lost` is the opposite. Either is None if it needs more
    than 500 cubes, and `remark` says so. `rows` is None if no rows were given.

    For two complements, `changes` compares the formulas that they refer to. If only one version is a complement, cubes
    cannot be compared: `changes` is empty, and `gained` or `lost` may be a complement.
    """

    before: DNF | Complement
    after: DNF | Complement
    changes: tuple[CubeChange, ...]
    gained: DNF | Complement | None
    lost: DNF | Complement | None
    equivalent: bool
    remark: str = ""
    rows: RowsDiff | None = None

    @property
    def same_kind(self) -> bool:
        """Whether both versions are formulas, or both complements."""
        return isinstance(self.before, Complement) == isinstance(self.after, Complement)

    @for_reading
    def __str__(self) -> str:
        """A line for each thing that differs."""
        if not self.same_kind:
            turned = f"before {_kind(self.before)}, now {_kind(self.after)}"
            lines = [turned, *(["both mean the same"] if self.equivalent else self._meaning())]
        elif not self.changes:
            lines = ["both versions have the same cubes"]
        else:
            lines = [*map(str, self.changes), *(["both mean the same"] if self.equivalent else self._meaning())]
        lines += [self.remark] if self.remark else []
        return "\n".join(lines if self.rows is None else [*lines, str(self.rows)])

    def _meaning(self) -> list[str]:
        told = [("now also", self.gained), ("no longer", self.lost)]
        return [
            f"{words}: {format_formula(formula)}"
            for words, formula in told
            if formula is not None and formula != DNF.false
        ]


def diff(
    before: DNF | Complement,
    other: DNF | Complement,
    rows: RowsLike | None = None,
    names: Sequence[str] | None = None,
) -> Diff:
    """Return what changed between a formula and a later version of it.

    Args:
        before: the formula; as a method, `DNF.diff`, the formula itself.
        other: the later version.
        rows: rows on which to compare both. Default: None.
        names: the columns of a matrix. Default: None.

    >>> from logiclens.formula import parse
    >>> print(diff(parse("(old & smoker) | sepsis"), parse("old | sepsis"),
    ...            [[1, 0, 0], [0, 0, 1]], names=["old", "smoker", "sepsis"]))
    changed: old & smoker to old, without smoker
    now also: old & ~smoker & ~sepsis
    1 of 2 rows differ: 1 turn to yes and 0 to no
    """
    if not isinstance(other, DNF | Complement):
        raise LogicLensError(f"expected another DNF, got {type(other).__name__}: read text by parse() first.")
    concepts = tuple(dict.fromkeys((*before.concepts, *other.concepts)))
    gained, lost = _without(other, before, concepts), _without(before, other, concepts)
    untold = [words for words, formula in (("gained", gained), ("lost", lost)) if formula is None]
    remark = f"what is {' and '.join(untold)} takes more than {MAX_DIFF_CUBES:,} cubes to say" if untold else ""
    return Diff(
        before,
        other,
        _changes(before, other),
        gained,
        lost,
        equivalent=implied_by(before, other) and implied_by(other, before),
        remark=remark,
        rows=None if rows is None else _on_rows(before, other, rows, names),
    )


def _kind(formula: DNF | Complement) -> str:
    """Return a version in words."""
    if isinstance(formula, Complement):
        return f"otherwise, where this does not hold: {format_formula(formula.of)}"
    return f"this formula: {format_formula(formula)}"


def _changes(before: DNF | Complement, after: DNF | Complement) -> tuple[CubeChange, ...]:
    if isinstance(before, Complement) and isinstance(after, Complement):
        return _paired(before.of, after.of)
    return _paired(before, after) if isinstance(before, DNF) and isinstance(after, DNF) else ()


def _without(formula: DNF | Complement, other: DNF | Complement, concepts: Sequence[str]) -> DNF | Complement | None:
    """Return where `formula` holds and `other` does not, without expanding complements; None if it is too long."""
    if isinstance(formula, Complement) and isinstance(other, Complement):
        return _beyond(other.of, formula.of, concepts)
    if isinstance(formula, Complement):
        # Neither formula holds; `&` absorbs contained cubes.
        return Complement((formula.of | other) & DNF.true) if isinstance(other, DNF) else None
    if isinstance(other, Complement):
        try:
            both = formula & other.of
        except FormulaTooLarge:
            return None
        return both if len(both) <= MAX_DIFF_CUBES else None
    return _beyond(formula, other, concepts)


def _missing_in(these: Cube | None, those: Cube | None) -> tuple[Literal, ...]:
    kept = () if those is None else tuple(those)
    return () if these is None else tuple(literal for literal in these if literal not in kept)


def _paired(before: DNF, after: DNF) -> tuple[CubeChange, ...]:
    """Pair the cubes that only one version has, the most similar first."""
    gone = [cube for cube in before if cube not in after.cubes]
    new = [cube for cube in after if cube not in before.cubes]
    # Most literals in common first, then fewest that differ; the sort keeps the written order of equals.
    alike = sorted(
        ((i, j) for i in range(len(gone)) for j in range(len(new)) if _common(gone[i], new[j])),
        key=lambda pair: (-_common(gone[pair[0]], new[pair[1]]), len(gone[pair[0]]) + len(new[pair[1]])),
    )
    partner: dict[int, int] = {}
    for i, j in alike:
        if i not in partner and j not in partner.values():
            partner[i] = j
    changes = [CubeChange(cube, new[partner[i]] if i in partner else None) for i, cube in enumerate(gone)]
    changes += [CubeChange(None, cube) for j, cube in enumerate(new) if j not in partner.values()]
    return tuple(changes)


def _common(left: Cube, right: Cube) -> int:
    return len(set(left.literals) & set(right.literals))


def _beyond(formula: DNF, other: DNF, concepts: Sequence[str]) -> DNF | None:
    """Return where `formula` holds and `other` does not; None if it needs too many cubes."""
    place = {concept: i for i, concept in enumerate(concepts)}
    mine, theirs = ([as_masks(cube, place) for cube in part] for part in (formula, other))
    try:
        beyond = cover.difference(mine, theirs, limit=MAX_DIFF_CUBES)
        found = DNF(
            Cube(Literal(concepts[i], bool(p >> i & 1)) for i in range(len(concepts)) if (p | n) >> i & 1)
            for p, n in beyond
        )
        shortest = simplify(found).formula if found.n_literals <= MINIMISED_LITERALS else found
        # Literals in the order of the formulas, since the minimiser may change it.
        return DNF(Cube(sorted(cube, key=lambda literal: place[literal.concept])) for cube in shortest)
    except (FormulaTooLarge, RecursionError):
        return None


def _on_rows(
    before: DNF | Complement, after: DNF | Complement, rows: RowsLike, names: Sequence[str] | None
) -> RowsDiff:
    packed = pack(rows, names, only=tuple(dict.fromkeys((*before.concepts, *after.concepts))))
    then, now = before.evaluate(packed), after.evaluate(packed)
    return RowsDiff(packed.n_rows, np.flatnonzero(now & ~then), np.flatnonzero(then & ~now))


def in_one_language(before: RuleSet, after: RuleSet) -> tuple[RuleSet, RuleSet]:
    """Rename the concepts of the second rule set so that equal names and equal meanings agree with the first.

    Args:
        before: the first rule set, which keeps its names.
        after: the second rule set.

    Returns:
        The first rule set and the renamed second one.

    >>> from logiclens.formula import Rule, parse
    >>> old, new = (RuleSet((Rule("ill", parse(name), (0.9,)),), {name: Predicate("age", ">=", cut)})
    ...             for name, cut in (("old", 60), ("aged", 60)))
    >>> print(in_one_language(old, new)[1].rules[0].formula)
    old
    """
    meant = {before.predicate(concept): concept for concept in reversed(_concepts(before))}
    taken = set(_concepts(before))
    names: dict[str, str] = {}
    for concept in _concepts(after):
        predicate = after.predicate(concept)
        # Use each name once: two names with one meaning in the second rule set stay distinct.
        name = meant.pop(predicate, None)
        if name is None:
            # If the name has another meaning in the first rule set, name the concept after its predicate.
            name = concept if concept not in taken else str(predicate)
            while name in taken:
                name += "'"
        taken.add(name)
        names[concept] = name
    return before, _renamed(after, names)


def impossible(rules: Iterable[RuleSet]) -> Callable[[Cube], bool]:
    """Return a function that tests whether no row can satisfy a cube, by the groups and the values of each column.

    Args:
        rules: rule sets that use the same names; see `in_one_language`.

    >>> from logiclens.formula import Rule, parse
    >>> old, new = (RuleSet((Rule("ill", parse(f'"age >= {cut}"'), (0.9,)),),
    ...                     {f"age >= {cut}": Predicate("age", ">=", cut)}) for cut in (60, 72))
    >>> never = impossible([old, new])
    >>> never(Cube([Literal("age >= 72"), Literal("age >= 60", False)]))
    True
    >>> never(Cube([Literal("age >= 60"), Literal("age >= 72", False)]))
    False
    """
    every = _meant_by_all(rules)
    known: dict[tuple[str, ...], set[tuple[bool, ...]] | None] = {}

    def never(cube: Cube) -> bool:
        if every.groups.apart(cube, Cube([])):
            return True
        conditions = [(every.predicate(literal.concept), literal.positive) for literal in cube]
        dates = {column for one, _ in conditions if one.origin is not None for column in one.sources}
        if dates and not dates_exist([one for one in conditions if dates.issuperset(one[0].sources)]):
            return True
        columns: dict[str, list[Literal]] = {}
        for literal in cube:
            columns.setdefault(every.predicate(literal.concept).column, []).append(literal)
        for literals in columns.values():
            concepts = tuple(literal.concept for literal in literals)
            if concepts not in known:
                known[concepts] = _patterns(every, concepts)
            patterns = known[concepts]
            if patterns is not None and tuple(literal.positive for literal in literals) not in patterns:
                return True
        return False

    return never


def always(rules: Iterable[RuleSet]) -> Callable[[DNF], bool]:
    """Return a function that tests whether a formula is true on every possible row, also with missing values.

    Args:
        rules: rule sets that use the same names; see `in_one_language`.

    >>> from logiclens.formula import Rule, parse
    >>> old, new = (RuleSet((Rule("ill", parse(f'"age >= {cut}"'), (0.9,)),),
    ...                     {f"age >= {cut}": Predicate("age", ">=", cut)}) for cut in (60, 72))
    >>> holds = always([old, new])
    >>> holds(parse('"age >= 60" | ~"age >= 72"')), holds(parse('"age >= 72" | ~"age >= 60"'))
    (True, False)
    """
    every = _meant_by_all(rules)

    def test(formula: DNF) -> bool:
        concepts = linked(every, formula.concepts)
        try:
            units = units_of(every, concepts)
        except LogicLensError:
            # The rule sets disagree on the kind of the column: dates in one, numbers in the other.
            return DNF.true.implies(formula)
        missing = {concept: every.predicate(concept).operator == "missing" for concept in concepts}
        program = PossibleRows(units, concepts, also=missing, may_miss=None)
        program.respect(every.groups)
        for cube in formula:
            program.forbid(cube)
        return program.solve(dict.fromkeys(program.place.values(), 1.0)) is None

    return test


def regions(difference: DNF | Complement, rules: Sequence[RuleSet]) -> DNF | None:
    """Return the cubes of a difference that some possible row shows, without what the columns make superfluous.

    On every possible row they hold where the difference holds.

    Args:
        difference: what `diff` calls gained or lost. A complement is expanded.
        rules: rule sets that use the same names; see `in_one_language`.

    Returns:
        The cubes; None if a complement takes more than 500.

    >>> from logiclens.formula import Rule, parse
    >>> old, new = (RuleSet((Rule("ill", parse(f'"age >= {cut}"'), (0.9,)),),
    ...                     {f"age >= {cut}": Predicate("age", ">=", cut)}) for cut in (60, 72))
    >>> regions(parse('"age >= 72" | ("age >= 60" & "age >= 72" & ill)'), [old, new])
    DNF('"age >= 72"')
    >>> regions(Complement(parse('"age >= 60" | "age >= 72"')), [old, new])
    DNF('~"age >= 60"')
    """
    found = _beyond(DNF.true, difference.of, difference.concepts) if isinstance(difference, Complement) else difference
    if found is None:
        return None
    never, holds = impossible(rules), always(rules)
    cubes = [cube for cube in found if not never(cube)]
    if sum(map(len, cubes)) > SHORTENED_LITERALS:
        return DNF(cubes)
    whole = DNF(cubes)
    for at, cube in enumerate(cubes):
        for literal in cube:
            shorter = cubes[at].without(literal)
            if holds(_denied(shorter) | whole):
                cubes[at] = shorter
    kept = sorted(dict.fromkeys(cubes), key=len)
    for cube in reversed(tuple(kept)):
        others = [other for other in kept if other != cube]
        if holds(_denied(cube) | DNF(others)):
            kept = others
    return DNF(cube for cube in cubes if cube in kept)


def _denied(cube: Cube) -> DNF:
    """Return where a cube does not hold."""
    return DNF(Cube([literal.negated]) for literal in cube)


@dataclass(frozen=True)
class ChangedAnswer:
    """A possible row that two rule sets answer differently, in words, with both answers; None is undecided."""

    where: str
    before: str | None
    after: str | None


def changed_answer(old: RuleSet, new: RuleSet) -> ChangedAnswer | None:
    """Return a possible row that gets another answer, or None if every possible row gets the same.

    Both rule sets must use the same names (see `in_one_language`) and decide on one class, by order or confidence.

    >>> from logiclens.formula import Rule, parse
    >>> old, new = (RuleSet((Rule("ill", parse(f'"age >= {cut}"'), (0.9,)), Rule("well", DNF.false, ())),
    ...                     {f"age >= {cut}": Predicate("age", ">=", cut)}, otherwise=1) for cut in (60, 72))
    >>> found = changed_answer(old, new)
    >>> found.before, found.after
    ('ill', 'well')
    """
    every = _meant_by_all([old, new])
    used = tuple(dict.fromkeys((*old.concepts, *new.concepts)))
    concepts = linked(every, used)
    units = units_of(every, concepts)
    names = [(place, old.names[place] if place >= 0 else None) for place in range(-1, len(old.rules))]
    for place, name in names:
        others = {at for at, other in enumerate(new.names) if other != name} | (set() if name is None else {-1})
        program = PossibleRows(units, concepts, missing=True)
        program.respect(every.groups)
        ask_answer(program, old, {place})
        ask_answer(program, new, others)
        found = program.solve(dict.fromkeys(program.place.values(), 1.0))
        if found is not None:
            row = packed_row(found)
            at = int(new.predict_places(row)[0])
            return ChangedAnswer(" and ".join(told(every, used, found)), name, new.names[at] if at >= 0 else None)
    return None


def _meant_by_all(rules: Iterable[RuleSet]) -> RuleSet:
    """Return the first rule set with the predicates and groups of all rule sets."""
    given = list(rules)
    return replace(
        given[0],
        predicates={concept: one.predicate(concept) for one in given for concept in _concepts(one)},
        groups=Groups(
            [group for one in given for group in one.groups.exclusive],
            [chain for one in given for chain in one.groups.implied],
        ),
    )


def _patterns(rules: RuleSet, concepts: tuple[str, ...]) -> set[tuple[bool, ...]] | None:
    """Return the patterns that the values of a column and a missing value produce; None if they are unknown."""
    try:
        (unit,) = units_of(rules, concepts)
    except LogicLensError:
        # The rule sets disagree on the kind of the column: dates in one, numbers in the other.
        return None
    missing = tuple(rules.predicate(concept).operator == "missing" for concept in concepts)
    return {state.pattern for state in unit.states} | {missing}


def _concepts(rules: RuleSet) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*rules.predicates, *rules.concepts, *rules.groups.concepts]))


def _renamed(rules: RuleSet, names: dict[str, str]) -> RuleSet:
    """Return the rules with renamed concepts."""
    predicates: dict[str, Predicate] = {names[concept]: meant for concept, meant in rules.predicates.items()}
    groups = Groups(
        *(
            [[names[concept] for concept in group] for group in kind]
            for kind in (rules.groups.exclusive, rules.groups.implied)
        )
    )

    def formula(given: DNF | Complement) -> DNF | Complement:
        if isinstance(given, Complement):
            return Complement(DNF(cube(part) for part in given.of))
        return DNF(map(cube, given))

    def cube(given: Cube) -> Cube:
        return Cube(Literal(names[x.concept], x.positive) for x in given)

    renamed = [
        replace(
            rule,
            formula=formula(rule.formula),
            recurs={cube(counted): count for counted, count in rule.recurs.items() if counted in rule.cubes},
        )
        for rule in rules.rules
    ]
    return replace(rules, rules=tuple(renamed), predicates=predicates, groups=groups)
