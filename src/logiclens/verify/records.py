"""Contents of `model.json` and `certificate.json` as typed values; their form is checked here, their truth in `claim`.

`claim` and the modules that it calls use these values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from .files import AGAIN, Fields, Unusable, finite, shown

MOST_CONCEPTS = 20
"""Maximum number of concepts of a head whose rows are enumerated; 2^20 rows take some seconds.

A head with more concepts can be certified only if it was compiled from its formula. It is proved unit by unit.
"""
COMPILED, TRAINED = "compiled from the formula", "trained"
"""Origins of the weights of a head, as written in a certificate of schema 2."""
RESOLVES = ("order", "confidence", "none")
"""Ways to decide between classes if not exactly one formula fires."""
TEMPERATURES = (2.0**-126, 2.0**126)
"""Smallest and largest τ for which τ and 1/τ are both normal float32 numbers, as the rounding bound assumes."""

ORDERS = (">=", ">", "<=", "<")
OPERATORS = (*ORDERS, "==", "missing")

Cube = tuple[tuple[str, bool], ...]
"""Conjunction: each concept with the value that it must have."""
Formula = tuple[Cube, ...]
"""Disjunction of cubes. () is False, ((),) is True."""
Groups = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Predicate:
    """Meaning of a concept on the raw table: a comparison of a column with a value, or that its value is missing.

    A text that is compared by order is a date or a duration. With the operator `missing`, the value is always true and
    has no meaning.
    """

    column: str
    operator: str
    value: bool | int | float | str


@dataclass(frozen=True)
class Model:
    """The part of `model.json` that a certificate refers to."""

    concepts: tuple[str, ...]
    hidden: tuple[int, ...]
    temperature: float
    class_names: tuple[str, ...]
    predicates: Mapping[str, Predicate]
    exclusive: Groups
    implied: Groups
    rules: Mapping[str, Formula]
    complements: Mapping[str, str]
    """Maps each class that is a complement to the class whose formula it negates."""


@dataclass(frozen=True)
class Domain:
    """Rows that a claim covers: all rows, or the rows that the groups allow."""

    exclusive: Groups = ()
    implied: Groups = ()


@dataclass(frozen=True)
class Claim:
    """One entry of the certificate: on every row of the domain the head gives the answer of the formula.

    If `complement_of` names another head, the formula is that of the other head, and this head answers yes where the
    formula is false.

    Attributes:
        name: class of the head.
        head: index of the head.
        concepts: concepts that the head keeps.
        formula: the stated formula.
        domain: rows that the claim covers.
        rows: number of rows checked; None for a head of more than `MOST_CONCEPTS` concepts.
        smallest_logit: stated smallest |logit|.
        bound: stated bound on float32 rounding.
        complement_of: index of the head whose formula this head negates, if any.
        agreement: stated agreement of the rules with the committee; None for a trained head.
    """

    name: str
    head: int
    concepts: tuple[str, ...]
    formula: Formula
    domain: Domain
    rows: int | None
    smallest_logit: float
    bound: float
    complement_of: int | None = None
    agreement: float | None = None

    @property
    def is_compiled(self) -> bool:
        """Whether the claim says that the head was compiled from the formula; only then it states an agreement."""
        return self.agreement is not None

    @property
    def is_complement(self) -> bool:
        """Whether the head answers yes where its formula is false."""
        return self.complement_of is not None


@dataclass(frozen=True)
class Resolution:
    """Decision between classes if not exactly one formula fires.

    Attributes:
        resolve: one of `RESOLVES`.
        order: names of the classes, in the order in which they decide.
        otherwise: class of a row on which no formula fires; None if such a row is not decided.
        multilabel: whether a row can have several labels.
    """

    resolve: str
    order: tuple[str, ...]
    otherwise: str | None
    multilabel: bool


@dataclass(frozen=True)
class Certificate:
    """Contents of `certificate.json`; `resolution` is None in schema 1, which does not state it."""

    claims: tuple[Claim, ...]
    does_not_cover: tuple[str, ...]
    resolution: Resolution | None = None


def read_model(fields: Fields) -> Model:
    """Read `model.json` and check its form.

    Args:
        fields: the parsed file.

    Raises:
        Unusable: a field is missing or malformed.
    """
    fields.text("logiclens")
    concepts = fields.names("concepts")
    network = fields.inner("network")
    hidden, temperature = _read_network(network)
    if network.whole("n_concepts") != len(concepts) or not concepts:
        raise network.refuse("n_concepts", f"the number of concepts, {len(concepts)}, and at least 1")
    class_names = fields.names("class_names")
    if network.whole("n_heads") != len(class_names) or not class_names:
        raise network.refuse("n_heads", f"the number of class names, {len(class_names)}, and at least 1")
    known = frozenset(concepts)
    rules, complements = _read_rules(fields.inner("rules"), known)
    return Model(
        concepts,
        hidden,
        temperature,
        class_names,
        _read_predicates(fields, known),
        _read_groups(fields, "exclusive", known),
        _read_groups(fields, "implied", known),
        rules,
        complements,
    )


def read_certificate(fields: Fields, model: Model) -> Certificate:
    """Read `certificate.json`, and check its form and that the model has the concepts and heads it names.

    Args:
        fields: the parsed file.
        model: the model that the certificate is about.

    Raises:
        Unusable: a field is missing or malformed, or names an unknown concept or head.
    """
    fields.text("logiclens")
    known = frozenset(model.concepts)
    read = _read_claim if fields.whole("schema") == 1 else _read_claim_of_schema_2
    claims = fields.each("classes", lambda entry: read(entry, known, len(model.class_names)))
    heads = [claim.head for claim in claims]
    if len(set(heads)) < len(heads):
        twice = next(head for head in heads if heads.count(head) > 1)
        raise Unusable(f"classes in {fields.file} must name each head once, got head {twice} twice. {AGAIN}")
    stated = {claim.head: claim.formula for claim in claims if not claim.is_complement}
    for claim in claims:
        if claim.is_complement and claim.complement_of not in stated:
            raise Unusable(
                f"class {shown(claim.name)} in {fields.file} is the complement of head {claim.complement_of}, of which "
                f"that file has no formula. {AGAIN}"
            )
    claims = tuple(
        claim if claim.complement_of is None else replace(claim, formula=stated[claim.complement_of])
        for claim in sorted(claims, key=lambda claim: claim.head)
    )
    # Only the model stores whether a row can have several labels.
    resolution = None
    if fields.whole("schema") > 1:
        resolution = _read_resolution(fields, model.class_names, fields.wholes("order"), False)
    return Certificate(claims, fields.texts("does_not_cover"), resolution)


def read_resolution(fields: Fields) -> Resolution:
    """Read from `model.json` how the rules decide between classes.

    Args:
        fields: the parsed file.

    Raises:
        Unusable: a field is missing or malformed.
    """
    rules = fields.inner("rules")
    names = rules.each("classes", lambda entry: entry.label("class"))
    # Rules of schema 1 have no order.
    order = rules.wholes("order") if "order" in rules.record else ()
    return _read_resolution(rules, names, order, rules.flag("multilabel"))


def _read_resolution(fields: Fields, names: tuple[str, ...], order: tuple[int, ...], multilabel: bool) -> Resolution:
    resolve = fields.text("resolve")
    if resolve not in RESOLVES:
        raise fields.refuse("resolve", f"one of {', '.join(map(repr, RESOLVES))}")
    if len(set(order)) < len(order) or not all(place < len(names) for place in order):
        raise fields.refuse("order", f"a list of classes, counted from 0 to {len(names) - 1}, each at most once")
    otherwise = None
    if fields.value("otherwise") is not None:
        otherwise = fields.whole("otherwise")
        if otherwise >= len(names):
            raise fields.refuse("otherwise", f"null or one of the {len(names)} classes, counted from 0")
    return Resolution(
        resolve,
        tuple(names[place] for place in order),
        None if otherwise is None else names[otherwise],
        multilabel,
    )


def _read_network(network: Fields) -> tuple[tuple[int, ...], float]:
    hidden = network.wholes("hidden")
    if not hidden or 0 in hidden:
        raise network.refuse("hidden", "a list of at least one width, each at least 1")
    temperature = network.number("temperature")
    if not TEMPERATURES[0] <= temperature <= TEMPERATURES[1]:
        raise network.refuse("temperature", "a number above 0 that float32 can hold")
    if network.text("activation") != "relu":
        raise network.refuse("activation", "'relu', the only one whose heads are verified")
    return hidden, temperature


def _read_predicates(fields: Fields, known: frozenset[str]) -> dict[str, Predicate]:
    if "predicates" not in fields.record:
        return {}
    table = fields.inner("predicates")
    predicates = {}
    for concept in table.record:
        _check_known(concept, known, table)
        predicates[concept] = _read_predicate(table.inner(concept))
    return predicates


def _read_predicate(fields: Fields) -> Predicate:
    column, operator, value = fields.text("column"), fields.text("operator"), fields.value("value")
    # The meaning of an unknown operator cannot be checked.
    if operator not in OPERATORS:
        raise fields.refuse("operator", f"one of {' '.join(OPERATORS)}")
    if not isinstance(value, bool | int | float | str):
        raise fields.refuse("value", "a number, a string, true or false")
    if operator == "missing" and value is not True:
        raise fields.refuse("value", "true beside the operator missing")
    # Keep whole numbers as int: above 2^53, two of them can be the same float.
    if isinstance(value, int | float) and not isinstance(value, bool) and finite(value) is None:
        raise fields.refuse("value", "a finite number")
    if operator in ORDERS and (isinstance(value, bool) or (isinstance(value, str) and as_point(value) is None)):
        text = "a date such as '2021-03-01' or a duration such as '2 days'"
        raise fields.refuse("value", f"a number or {text} beside the operator {operator}")
    return Predicate(column, operator, value)


_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)?")


def as_moment(text: str) -> datetime | None:
    """Parse a date in ISO format; without a time it is midnight. Return None if the text is not a date.

    >>> as_moment("2021-03-01") == as_moment("2021-03-01T00:00"), as_moment("2021-02-30")
    (True, None)
    """
    if not _DATE.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


_DURATION = re.compile(r"(-?[0-9]{1,8}) days?(?: [+]?([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])(?:\.([0-9]{1,6}))?)?")


def as_duration(text: str) -> timedelta | None:
    """Parse a duration such as `2 days 06:00:00`; the time is added to the days. Return None if it is not a duration.

    >>> as_duration("2 days 06:00:00") == as_duration("2 days 06:00:00.0"), as_duration("-1 days +18:00:00")
    (True, datetime.timedelta(days=-1, seconds=64800))
    """
    if (parts := _DURATION.fullmatch(text)) is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in parts.group(1, 2, 3, 4))
    fraction = int((parts[5] or "0").ljust(6, "0"))
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, microseconds=fraction)


def as_point(text: str) -> datetime | timedelta | None:
    """Parse a date or a duration; return None if the text is neither."""
    moment = as_moment(text)
    return as_duration(text) if moment is None else moment


def _read_groups(fields: Fields, key: str, known: frozenset[str]) -> Groups:
    """Read lists of concepts; an omitted key means that there are none."""
    if key not in fields.record:
        return ()
    groups = fields.groups(key)
    for name in (name for group in groups for name in group):
        _check_known(name, known, fields)
    return groups


def _read_rules(rules: Fields, known: frozenset[str]) -> tuple[dict[str, Formula], dict[str, str]]:
    """Return the formula of each class that has one, and for each other class the class that it is a complement of."""

    def read(entry: Fields) -> tuple[str, Formula | int]:
        if "complement_of" in entry.record:
            return entry.label("class"), entry.whole("complement_of")
        return entry.label("class"), entry.each("cubes", lambda cube: _read_cube(cube.inner("if"), known))

    pairs = rules.each("classes", read)
    if len(dict(pairs)) < len(pairs):
        raise Unusable(f"rules.classes in {rules.file} must hold each class once, got one of them twice. {AGAIN}")
    formulas = {name: formula for name, formula in pairs if not isinstance(formula, int)}
    complements = {}
    for name, place in ((name, place) for name, place in pairs if isinstance(place, int)):
        if place >= len(pairs) or pairs[place][0] not in formulas:
            raise Unusable(
                f"rules.classes in {rules.file} has {shown(name)} as the complement of class number {place}, which has "
                f"no formula. {AGAIN}"
            )
        complements[name] = pairs[place][0]
    return formulas, complements


def _read_cube(cube: Fields, known: frozenset[str]) -> Cube:
    for concept in cube.record:
        _check_known(concept, known, cube)
    return tuple((concept, cube.flag(concept)) for concept in cube.record)


def _read_claim(entry: Fields, known: frozenset[str], n_heads: int) -> Claim:
    concepts = _read_concepts(entry, known)
    if len(concepts) > MOST_CONCEPTS:
        raise entry.refuse("concepts", f"a list of at most {MOST_CONCEPTS} concepts, for 2^{MOST_CONCEPTS} rows")
    formula = entry.each("formula", lambda cube: _read_cube(cube, known))
    return _claim(entry, known, n_heads, formula, entry.whole("rows_checked"))


def _read_claim_of_schema_2(entry: Fields, known: frozenset[str], n_heads: int) -> Claim:
    """Read a claim of schema 2, which adds origins of weights, complements and heads of more than 20 concepts."""
    origin, complement_of, agreement = entry.text("origin"), None, None
    if origin not in (COMPILED, TRAINED):
        raise entry.refuse("origin", f"{COMPILED!r} or {TRAINED!r}")
    if origin == COMPILED:
        agreement = entry.number("agreement")
        if not 0 <= agreement <= 1:
            raise entry.refuse("agreement", "a share from 0 to 1")
    elif entry.value("agreement") is not None:
        raise entry.refuse("agreement", f"null for a head that is {TRAINED}")
    if entry.value("complement_of") is None:
        formula = entry.each("formula", lambda cube: _read_cube(cube, known))
    else:
        complement_of, formula = entry.whole("complement_of"), ()
        if entry.value("formula") is not None:
            raise entry.refuse("formula", "null for a complement, which has the formula of the head that it names")
    rows = None
    if len(_read_concepts(entry, known)) <= MOST_CONCEPTS:
        rows = entry.whole("rows_checked")
    elif origin != COMPILED:
        raise entry.refuse("concepts", f"a list of at most {MOST_CONCEPTS} concepts for a head that is {TRAINED}")
    elif entry.value("rows_checked") is not None:
        raise entry.refuse("rows_checked", f"null where there are more than {MOST_CONCEPTS} concepts")
    claim = _claim(entry, known, n_heads, formula, rows)
    return replace(claim, complement_of=complement_of, agreement=agreement)


def _read_concepts(entry: Fields, known: frozenset[str]) -> tuple[str, ...]:
    concepts = entry.names("concepts")
    for concept in concepts:
        _check_known(concept, known, entry)
    return concepts


def _claim(entry: Fields, known: frozenset[str], n_heads: int, formula: Formula, rows: int | None) -> Claim:
    head = entry.whole("head")
    if head >= n_heads:
        raise entry.refuse("head", f"one of the model's {n_heads} heads, counted from 0")
    if entry.value("refit_to_formula") is not None:
        refit = entry.inner("refit_to_formula")
        for figure in ("accuracy_before", "accuracy_after"):
            if not 0 <= refit.number(figure) <= 1:
                raise refit.refuse(figure, "a share from 0 to 1")
    entry.flag("proved_minimal")
    return Claim(
        entry.text("class"),
        head,
        _read_concepts(entry, known),
        formula,
        _read_domain(entry.inner("domain"), known),
        rows,
        entry.number("smallest_logit"),
        entry.number("rounding_bound"),
    )


def _read_domain(domain: Fields, known: frozenset[str]) -> Domain:
    rows = domain.text("rows")
    if rows not in ("all", "possible"):
        raise domain.refuse("rows", "'all' or 'possible'")
    # An unknown key might restrict the rows further than this module checks.
    understood = {"rows"} if rows == "all" else {"rows", "exclusive", "implied"}
    if set(domain.record) - understood:
        unknown = shown(sorted(set(domain.record) - understood)[0])
        raise Unusable(f"{domain.path} in {domain.file} has the key {unknown}, which {rows!r} rows do not. {AGAIN}")
    return Domain(_read_groups(domain, "exclusive", known), _read_groups(domain, "implied", known))


def _check_known(concept: str, known: frozenset[str], fields: Fields) -> None:
    if concept not in known:
        where = f"{fields.path} in {fields.file}" if fields.path else fields.file
        raise Unusable(f"{where} names the concept {shown(concept)}, which the model does not have. {AGAIN}")
