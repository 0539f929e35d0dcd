"""Literals, cubes and formulas in disjunctive normal form, as frozen values.

A formula is compared by value (`==`: the same set of cubes) or by meaning (`equivalent`, `implies`). Text is
read and written by `logiclens.formula.text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from logiclens.errors import FormulaTooLarge, LogicLensError, quoted
from logiclens.formula import cover
from logiclens.formula.cover import is_installed
from logiclens.formula.notation import format_cubes, format_negation
from logiclens.formula.packed_rows import PackedRows, RowsLike, pack

if TYPE_CHECKING:
    # For annotations only: the results of `diff` and `check` hold formulas, so their modules import this one.
    from logiclens.formula.check import Check, Property
    from logiclens.formula.diff import Diff
    from logiclens.formula.groups import Groups

    Formula: TypeAlias = "Literal" | "Cube" | "DNF"

MAX_CUBES = 10_000
"""The largest number of cubes that `&` and `~` build before they raise `FormulaTooLarge`."""
MAX_CELLS = 1 << 31
"""The largest number of cubes × concepts that is compared, 256 MB of bits."""


class _NoTruth:
    """What is a formula, and so neither true nor false by itself."""

    __slots__ = ()

    def __bool__(self) -> bool:
        """Raise `LogicLensError`: whether a formula is true depends on the row."""
        raise LogicLensError(
            "a formula is neither true nor false by itself: evaluate it on rows, or compare it with DNF.true."
        )


class _Operators(_NoTruth):
    """`&`, `|` and `~` for literals, cubes and DNFs alike; the result is always a `DNF`."""

    __slots__ = ()

    def __and__(self, other: Formula) -> DNF:
        """Return the conjunction: cubes joined pairwise, without contradictions and contained cubes."""
        return conjunction([_as_dnf(self), _as_dnf(other)]) if _is_formula(other) else NotImplemented

    def __or__(self, other: Formula) -> DNF:
        """Return the disjunction: the union of the cubes."""
        return DNF((*_as_dnf(self).cubes, *_as_dnf(other).cubes)) if _is_formula(other) else NotImplemented

    def __invert__(self) -> DNF:
        """Return the negation in disjunctive normal form."""
        return _negation(_as_dnf(self))


class _Questions(_NoTruth):
    """What a `DNF` and a `Complement` are asked alike."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def cubes(self) -> tuple[Cube, ...]:
            """The cubes in order."""

        @property
        def concepts(self) -> tuple[str, ...]:
            """The concepts in order of first appearance."""

        @property
        def n_literals(self) -> int:
            """The number of literals."""

        def evaluate_packed(self, rows: PackedRows) -> NDArray[np.uint64]:
            """Return what `evaluate` does, packed 64 rows to a word."""

        # `formula/__init__` adds these methods to the class.
        def diff(
            self, other: DNF | Complement, rows: RowsLike | None = None, names: Sequence[str] | None = None
        ) -> Diff:
            """Return what changed between this formula and a later version, and on which of the `rows`."""

        def check(self, wanted: Property | str, *, groups: Groups | None = None) -> Check:
            """Say whether the formula has a property such as `"never uses 'gender'"` on all rows `groups` allow."""

    def __len__(self) -> int:
        """The number of cubes."""
        return len(self.cubes)

    def __iter__(self) -> Iterator[Cube]:
        """The cubes in order."""
        return iter(self.cubes)

    @property
    def is_constant(self) -> bool:
        """Whether the formula is always true or always false because it has no literals."""
        return self.n_literals == 0

    def implies(self, other: Formula | Complement) -> bool:
        """Return whether `other` holds on every row on which this formula holds.

        Hard questions are given to a SAT solver if `python-sat` is installed (the extra `sat`). Raises
        `FormulaTooLarge` if the answer takes too many steps.

        Args:
            other: another formula.

        >>> (Literal("a") & Literal("b")).implies(Literal("a"))
        True
        """
        return implied_by(as_formula(self), as_formula(other))

    def equivalent(self, other: Formula | Complement) -> bool:
        """Return whether both formulas hold on the same rows, however they are written; raises like `implies`.

        Args:
            other: another formula.

        >>> a, b = Literal("a"), Literal("b")
        >>> ((a & b) | (a & ~b)).equivalent(a)
        True
        """
        return self.implies(other) and implied_by(as_formula(other), as_formula(self))

    def evaluate(self, rows: RowsLike, names: Sequence[str] | None = None) -> NDArray[np.bool_]:
        """Return on which rows the formula holds, one Boolean per row.

        Args:
            rows: packed rows, a table whose columns are the concepts (a DataFrame or a dictionary of Boolean columns),
                or a Boolean matrix.
            names: the columns of a matrix. Default: None.

        >>> (Literal("a") & ~Literal("b")).evaluate([[1, 0], [1, 1]], names=["a", "b"])
        array([ True, False])
        """
        packed = rows if isinstance(rows, PackedRows) else pack(rows, names, only=self.concepts)
        return packed.unpack(self.evaluate_packed(packed))

    def fired(self, rows: RowsLike, names: Sequence[str] | None = None) -> NDArray[np.bool_]:
        """Return which cube fires on which row: a Boolean matrix `[rows, cubes]`.

        Args:
            rows: as in `evaluate`.
            names: as in `evaluate`.

        >>> xor = (Literal("a") & ~Literal("b")) | (~Literal("a") & Literal("b"))
        >>> xor.fired([[1, 0], [1, 1]], names=["a", "b"])
        array([[ True, False],
               [False, False]])
        """
        packed = pack(rows, names, only=self.concepts)
        fired = np.zeros((packed.n_rows, len(self.cubes)), dtype=np.bool_)
        for column, cube in enumerate(self.cubes):
            fired[:, column] = DNF([cube]).evaluate(packed)
        return fired


@dataclass(frozen=True, slots=True)
class Literal(_Operators):
    """A concept or its negation.

    Args:
        concept: name of the concept.
        positive: False for the negation. Default: True.

    >>> Literal("age_high") & ~Literal("smoker")
    DNF('age_high & ~smoker')
    """

    concept: str
    positive: bool = True

    def __post_init__(self) -> None:
        """Check that the concept has a name."""
        if not isinstance(self.concept, str) or not self.concept:
            raise LogicLensError(f"a literal needs the name of a concept, got {quoted(self.concept)}.")

    @classmethod
    def of_checked(cls, concept: str, positive: bool) -> Literal:
        """Return a literal without checking its name; parsing a long text makes millions.

        Args:
            concept: name of the concept.
            positive: False for the negation.
        """
        made = object.__new__(cls)
        _SET_CONCEPT(made, concept)
        _SET_POSITIVE(made, positive)
        return made

    @property
    def negated(self) -> Literal:
        """The opposite literal."""
        return Literal(self.concept, not self.positive)

    def __str__(self) -> str:
        """The ascii text."""
        return str(_as_dnf(self))


# The slots themselves set a field of a frozen value in a third of the time of `object.__setattr__`.
_SET_CONCEPT, _SET_POSITIVE = Literal.__dict__["concept"].__set__, Literal.__dict__["positive"].__set__


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Cube(_Operators):
    """A conjunction of literals; without literals it is always true.

    Args:
        literals: the literals; their order does not matter. Default: none.

    >>> Cube([Literal("a"), Literal("b", False)])
    Cube('a & ~b')
    """

    literals: tuple[Literal, ...]

    def __init__(self, literals: Iterable[Literal] = ()) -> None:
        """Keep the given order and drop duplicates. Raise `LogicLensError` for a concept and its negation."""
        unique = tuple(dict.fromkeys(literals))
        if not all(isinstance(literal, Literal) for literal in unique):
            raise LogicLensError("a cube is made of literals, such as Literal('age_high').")
        concepts = [literal.concept for literal in unique]
        if len(set(concepts)) < len(concepts):
            clash = next(c for i, c in enumerate(concepts) if c in concepts[:i])
            raise LogicLensError(f"a cube cannot hold both {quoted(clash)} and its negation.")
        object.__setattr__(self, "literals", unique)

    @classmethod
    def of_checked(cls, literals: tuple[Literal, ...]) -> Cube:
        """Return a cube without checking its literals; parsing a long text checks them itself.

        Args:
            literals: literals whose concepts are known to differ.
        """
        made = object.__new__(cls)
        _SET_LITERALS(made, literals)
        return made

    def __eq__(self, other: object) -> bool:
        """Compare the sets of literals."""
        return set(self.literals) == set(other.literals) if isinstance(other, Cube) else NotImplemented

    def __hash__(self) -> int:
        """Agrees with `==`."""
        return hash(frozenset(self.literals))

    def __len__(self) -> int:
        """The number of literals."""
        return len(self.literals)

    def __iter__(self) -> Iterator[Literal]:
        """The literals in order."""
        return iter(self.literals)

    @property
    def concepts(self) -> tuple[str, ...]:
        """The concepts in order."""
        return tuple(literal.concept for literal in self.literals)

    def without(self, literal: Literal) -> Cube:
        """Return the cube without one literal.

        Args:
            literal: the literal to leave out.
        """
        return Cube(kept for kept in self.literals if kept != literal)

    def excludes(self, other: Cube) -> bool:
        """Return whether a literal of one cube is negated in the other, so that no row satisfies both.

        Args:
            other: the other cube.
        """
        opposite = {literal.negated for literal in other.literals}
        return any(literal in opposite for literal in self.literals)

    def __str__(self) -> str:
        """The ascii text."""
        return str(_as_dnf(self))

    def __repr__(self) -> str:
        """The class and the ascii text."""
        return f"Cube({str(self)!r})"


_SET_LITERALS = Cube.__dict__["literals"].__set__


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class DNF(_Operators, _Questions):
    """A disjunction of cubes. `DNF.false` has none; `DNF.true` has the empty cube.

    Args:
        cubes: the cubes; their order does not matter. Default: none.

    >>> a, b = Literal("a"), Literal("b")
    >>> xor = (a & ~b) | (~a & b)
    >>> xor
    DNF('(a & ~b) | (~a & b)')
    >>> ~xor
    DNF('(a & b) | (~a & ~b)')
    >>> (~~xor).equivalent(xor)
    True
    """

    cubes: tuple[Cube, ...]
    false: ClassVar[DNF]
    true: ClassVar[DNF]

    def __init__(self, cubes: Iterable[Cube] = ()) -> None:
        """Keep the given order and drop duplicates."""
        unique = tuple(dict.fromkeys(cubes))
        if not all(issubclass(kind, Cube) for kind in set(map(type, unique))):
            raise LogicLensError("a DNF is made of cubes; join literals and cubes with &, | and ~ instead.")
        object.__setattr__(self, "cubes", unique)

    def __eq__(self, other: object) -> bool:
        """Compare the sets of cubes. For equality by meaning see `equivalent`."""
        return set(self.cubes) == set(other.cubes) if isinstance(other, DNF) else NotImplemented

    def __hash__(self) -> int:
        """Agrees with `==`."""
        return hash(frozenset(self.cubes))

    @property
    def concepts(self) -> tuple[str, ...]:
        """The concepts in order of first appearance."""
        return tuple(dict.fromkeys([literal.concept for cube in self.cubes for literal in cube.literals]))

    @property
    def n_literals(self) -> int:
        """The number of literals in all cubes, the paper's complexity; 0 for `DNF.true` and `DNF.false`."""
        return sum(len(cube) for cube in self.cubes)

    def evaluate_packed(self, rows: PackedRows) -> NDArray[np.uint64]:
        """Return what `evaluate` does, packed 64 rows to a word. Bits after the last row are 0.

        Args:
            rows: the packed rows.
        """
        lengths = [len(cube.literals) for cube in self.cubes]
        if 0 in lengths:
            return rows.valid.copy()
        literals = [literal for cube in self.cubes for literal in cube.literals]
        return rows.any_of([lit.concept for lit in literals], [lit.positive for lit in literals], lengths)

    def given(self, assignment: Mapping[str, bool]) -> DNF:
        """Return what remains of the formula if some concepts are known.

        Args:
            assignment: whether each known concept is true.

        >>> ((Literal("a") & Literal("b")) | ~Literal("a")).given({"a": True})
        DNF('b')
        """
        kept = [cube for cube in self.cubes if all(assignment.get(x.concept, x.positive) == x.positive for x in cube)]
        return DNF(Cube(literal for literal in cube if literal.concept not in assignment) for cube in kept)

    def __str__(self) -> str:
        """The ascii text."""
        return format_cubes(self.cubes)

    def __repr__(self) -> str:
        """The class and the ascii text."""
        return f"DNF({str(self)!r})"


DNF.false = DNF()
DNF.true = DNF([Cube()])


@dataclass(frozen=True, slots=True)
class Complement(_Questions):
    """The rows on which a formula does not hold, such as the "otherwise" of two classes.

    It refers to the formula and prints as `~(...)`, which `parse` reads back. Whoever reads it reads the formula, so it
    counts the literals of the formula. It is expanded into cubes only if they are asked for: by `cubes`, `len`, `fired`
    and iteration, which raise `FormulaTooLarge` above 10,000 cubes.

    `&` and `|` join it with any other formula; the result is a `DNF` or a `Complement`, whichever is short.

    Args:
        of: the formula.

    >>> otherwise = Complement(Literal("a") & Literal("b"))
    >>> otherwise.evaluate([[1, 1], [1, 0]], names=["a", "b"])
    array([False,  True])
    >>> otherwise.n_literals
    2
    >>> print(otherwise, ~otherwise, otherwise & Literal("a"), otherwise | Literal("c"), sep=", ")
    ~(a & b), a & b, a & ~b, ~(a & b & ~c)
    """

    of: DNF

    def __post_init__(self) -> None:
        """Raise `LogicLensError` for what is no formula, or a complement itself."""
        object.__setattr__(self, "of", _as_dnf(self.of))

    def __and__(self, other: Formula | Complement) -> DNF | Complement:
        """Return the conjunction. Raises `FormulaTooLarge` if neither a DNF nor a complement can state it."""
        if isinstance(other, Complement):
            return Complement(self.of | other.of)
        return _without(_as_dnf(other), self.of) if _is_formula(other) else NotImplemented

    def __or__(self, other: Formula | Complement) -> DNF | Complement:
        """Return the disjunction; raises like `&`."""
        if isinstance(other, Complement):
            return Complement(self.of & other.of)
        if not _is_formula(other):
            return NotImplemented
        neither = _without(self.of, _as_dnf(other))
        return ~neither if isinstance(neither, Complement) else Complement(neither)

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> DNF:
        """Return the formula."""
        return self.of

    @property
    def cubes(self) -> tuple[Cube, ...]:
        """The cubes of the negated formula. Raises `FormulaTooLarge` if they are too many."""
        return _negation(self.of).cubes

    @property
    def concepts(self) -> tuple[str, ...]:
        """The concepts of the formula."""
        return self.of.concepts

    @property
    def n_literals(self) -> int:
        """The literals of the formula."""
        return self.of.n_literals

    def evaluate_packed(self, rows: PackedRows) -> NDArray[np.uint64]:
        """Return what `evaluate` does, packed 64 rows to a word. Bits after the last row are 0.

        Args:
            rows: the packed rows.
        """
        return ~self.of.evaluate_packed(rows) & rows.valid

    def given(self, assignment: Mapping[str, bool]) -> Complement:
        """Return what remains of the complement if some concepts are known; see `DNF.given`.

        Args:
            assignment: whether each known concept is true.
        """
        return Complement(self.of.given(assignment))

    def __str__(self) -> str:
        """The ascii text."""
        return format_negation(self.of.cubes)

    def __repr__(self) -> str:
        """The class and the ascii text of the formula."""
        return f"Complement({str(self.of)!r})"


def written(formula: DNF | Complement) -> DNF:
    """Return the formula itself, or the formula that a complement refers to."""
    return formula.of if isinstance(formula, Complement) else formula


def implied_by(premise: DNF | Complement, conclusion: DNF | Complement) -> bool:
    """Return whether `conclusion` holds on every row on which `premise` does. Complements are not expanded.

    >>> a, b = DNF([Cube([Literal("a")])]), DNF([Cube([Literal("b")])])
    >>> implied_by(Complement(a | b), Complement(a)), implied_by(Complement(a), a | b), implied_by(Complement(a), ~a)
    (True, False, True)
    """
    if isinstance(premise, Complement) and isinstance(conclusion, Complement):
        return implied_by(conclusion.of, premise.of)
    mine, theirs = _as_masks(written(premise), written(conclusion))
    try:
        if isinstance(premise, Complement):
            # True if one of the two formulas holds on every row.
            return cover.implies([(0, 0)], mine + theirs)
        if isinstance(conclusion, Complement):
            # True if no cube of one formula can hold together with a cube of the other.
            return cover.disjoint(mine, theirs)
        return cover.implies(mine, theirs)
    except cover.OutOfSteps:
        raise undecided("whether one formula implies the other", written(premise), written(conclusion)) from None


def undecided(question: str, *formulas: DNF) -> FormulaTooLarge:
    """Return the error for a question about formulas that takes more than its limit of steps.

    Args:
        question: the question, as the subject of the sentence.
        formulas: the formulas that are asked about.
    """
    cubes = " and ".join(f"{len(formula):,}" for formula in formulas)
    concepts = len({concept for formula in formulas for concept in formula.concepts})
    limit = f"{cover.CONFLICTS:,} conflicts of the SAT solver"
    advice = "Compare the answers of evaluate() on your rows instead, or use fewer cubes."
    if not is_installed():
        limit = f"{cover.STEPS:,} steps"
        advice = f"Install the extra 'sat' of logiclens, a SAT solver, or c{advice[1:]}"
    return FormulaTooLarge(
        f"{question} ({cubes} cubes over {concepts:,} concepts) is not decided within {limit}. {advice}"
    )


def as_formula(value: object) -> DNF | Complement:
    """Return a literal or a cube as a DNF, and any other formula itself; raise `LogicLensError` for anything else."""
    return value if isinstance(value, Complement) else _as_dnf(value)


def _is_formula(value: object) -> bool:
    return isinstance(value, Literal | Cube | DNF)


def _as_dnf(value: object) -> DNF:
    if isinstance(value, DNF):
        return value
    if isinstance(value, Cube):
        return DNF([value])
    if isinstance(value, Literal):
        return DNF([Cube([value])])
    raise LogicLensError(f"expected a Literal, a Cube or a DNF, got {type(value).__name__}.")


def _as_masks(*formulas: DNF) -> list[list[cover.Masks]]:
    """Return the cubes of each formula as pairs of integers over the concepts of all formulas."""
    place = {concept: i for i, concept in enumerate(dict.fromkeys(c for formula in formulas for c in formula.concepts))}
    n_cubes = sum(map(len, formulas))
    if n_cubes * len(place) > MAX_CELLS:
        raise FormulaTooLarge(
            f"{n_cubes:,} cubes over {len(place):,} concepts are too many to compare: at most {MAX_CELLS:,} cubes × "
            "concepts are. Compare or combine the answers of evaluate() instead."
        )
    return [[as_masks(cube, place) for cube in formula.cubes] for formula in formulas]


def as_masks(cube: Cube, place: Mapping[str, int]) -> cover.Masks:
    """Return a cube as a pair of integers, given the bit of each concept."""
    positive = negative = 0
    for literal in cube.literals:
        if literal.positive:
            positive |= 1 << place[literal.concept]
        else:
            negative |= 1 << place[literal.concept]
    return positive, negative


def _from_masks(cubes: Iterable[cover.Masks], concepts: Sequence[str]) -> DNF:
    return DNF(
        Cube(
            Literal(concept, bool(positive >> i & 1))
            for i, concept in enumerate(concepts)
            if (positive | negative) >> i & 1
        )
        for positive, negative in cubes
    )


def conjunction(parts: Sequence[DNF]) -> DNF:
    """Return the conjunction of several formulas; its literals are in the order of their first appearance."""
    concepts = tuple(dict.fromkeys(concept for part in parts for concept in part.concepts))
    sizes = " and ".join(f"{len(part):,}" for part in parts[:8]) + (" …" if len(parts) > 8 else "")
    masks = _as_masks(*parts)
    try:
        return _from_masks(cover.conjunction(masks, limit=MAX_CUBES), concepts)
    except cover.OutOfSteps:
        raise FormulaTooLarge(
            f"the conjunction of {sizes} cubes takes more than {cover.STEPS:,} steps. "
            "Combine the answers of evaluate() instead."
        ) from None
    except FormulaTooLarge:
        raise FormulaTooLarge(
            f"the conjunction of {sizes} cubes has more than {MAX_CUBES:,} cubes. "
            "Combine the answers of evaluate() instead."
        ) from None


def _negation(formula: DNF) -> DNF:
    subject = f"the negation of this formula ({len(formula)} cubes over {len(formula.concepts)} concepts)"
    advice = "Negate the answers of evaluate() instead, or use Complement(formula), which is not expanded."
    return _difference(DNF.true, formula, MAX_CUBES, subject, advice)


def _without(formula: DNF, other: DNF) -> DNF | Complement:
    """Return where `formula` holds and `other` does not: a DNF if that is short, otherwise a complement if possible."""
    short = len(formula) + len(other)
    subject, advice = f"the result of joining {short:,} cubes", "Combine the answers of evaluate() instead."
    try:
        return _difference(formula, other, short, subject, advice)
    except FormulaTooLarge:
        pass
    try:
        return Complement(other | _negation(formula))
    except FormulaTooLarge:
        return _difference(formula, other, MAX_CUBES, subject, advice)


def _difference(formula: DNF, other: DNF, limit: int, subject: str, advice: str) -> DNF:
    """Return where `formula` holds and `other` does not; `subject` and `advice` are those of the error."""
    mine, theirs = _as_masks(formula, other)
    concepts = tuple(dict.fromkeys((*formula.concepts, *other.concepts)))
    try:
        return _from_masks(cover.difference(mine, theirs, limit), concepts)
    except cover.OutOfSteps:
        raise FormulaTooLarge(f"{subject} takes more than {cover.STEPS:,} steps. {advice}") from None
    except (FormulaTooLarge, RecursionError):
        raise FormulaTooLarge(f"{subject} has more than {limit:,} cubes. {advice}") from None
