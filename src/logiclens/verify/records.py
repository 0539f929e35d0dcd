"""Contents of `model.json` and `certificate.json` as typed values, read strictly.

An object must have exactly the fields of its schema, each of its type. What the fields say of each other is checked in
`consistency`, what they say of the weights in `claim`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from .files import AGAIN, Fields, Label, Unusable, finite, is_label, shown
from .settings import read_settings

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

MOST_PAIRS = 10**7
"""Maximum number of pairs of concepts in all groups of a kind; more would take too long to check."""
KINDS = ("number", "boolean", "text", "date", "timedelta")
"""Kinds of columns, as `model.json` names them."""
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
class Membership:
    """A concept that is true of several categories of a column. Networks see it, and no rule may name it."""

    column: str
    values: tuple[Label, ...]


@dataclass(frozen=True)
class Cutting:
    """How the columns of a raw table become concepts.

    Attributes:
        columns: columns of the table, in the order of training.
        positional: whether the columns are taken by their position, because they had no names.
        kinds: kind of each column that a concept is about.
        scales: for a rescaled column, the value that becomes 0.5, and the distance from there to 0 and 1.
        memberships: concepts that no rule may name.
    """

    columns: tuple[str, ...]
    positional: bool
    kinds: Mapping[str, str]
    scales: Mapping[str, tuple[float, float]]
    memberships: Mapping[str, Membership]


@dataclass(frozen=True)
class ClassRule:
    """The stored rule of one class: the cubes of its formula, or the place of the class that it is a complement of.

    Attributes:
        label: the class, as predictions give it.
        formula: the cubes; empty for a complement.
        confidence: the stated confidence of each cube; of a complement, its one confidence.
        complement_of: place of the class whose formula this one negates, if any.
    """

    label: Label
    formula: Formula
    confidence: tuple[float, ...]
    complement_of: int | None = None


@dataclass(frozen=True)
class Rules:
    """The rules in `model.json`, which predict.

    Attributes:
        classes: the rule of each class, in the order of the heads.
        predicates: copies of those predicates that the rules use.
        exclusive: groups that follow from the model's, for the concepts that the rules use.
        implied: chains that follow from the model's, for the concepts that the rules use.
        resolve: how to decide if not exactly one formula fires; one of `RESOLVES`.
        order: places of the classes, in the order in which they decide.
        otherwise: place of the class of a row on which no formula fires, if any.
        multilabel: whether a row can have several labels.
    """

    classes: tuple[ClassRule, ...]
    predicates: Mapping[str, Predicate]
    exclusive: Groups
    implied: Groups
    resolve: str
    order: tuple[int, ...]
    otherwise: int | None
    multilabel: bool


@dataclass(frozen=True)
class Model:
    """What `model.json` says, as far as a prediction or a certificate depends on it."""

    concepts: tuple[str, ...]
    hidden: tuple[int, ...]
    temperature: float
    class_names: tuple[str, ...]
    labels: tuple[Label, ...]
    multilabel: bool
    predicates: Mapping[str, Predicate]
    exclusive: Groups
    implied: Groups
    rules: Rules
    target: str | None
    cutting: Cutting | None
    """None if the columns of the table are the concepts."""

    @property
    def formulas(self) -> dict[str, Formula]:
        """The formula of each class that has one."""
        return {
            name: rule.formula
            for name, rule in zip(self.class_names, self.rules.classes, strict=False)
            if rule.complement_of is None
        }

    @property
    def used(self) -> tuple[str, ...]:
        """The concepts that any formula uses, in the order of the network's inputs."""
        named = {name for rule in self.rules.classes for cube in rule.formula for name, _ in cube}
        return tuple(name for name in self.concepts if name in named)


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
class Certificate:
    """Contents of `certificate.json`.

    `resolve`, `order` and `otherwise` are copies of what the rules say; None in schema 1, which does not state them.
    """

    claims: tuple[Claim, ...]
    decision: tuple[str, tuple[int, ...], int | None] | None = None


_MODEL_FIELDS = (
    "kind", "schema", "logiclens", "network", "concepts", "predicates", "exclusive", "implied", "class_names", "labels",
    "multilabel", "exact", "rules", "settings", "metrics", "data_sha256", "weights_sha256",
)  # fmt: skip
_MODEL_FIELDS_2 = (*_MODEL_FIELDS, "columns", "positional", "cutting", "target", "content_sha256")
_CERTIFICATE_FIELDS = (
    "kind", "schema", "logiclens", "model_sha256", "weights_sha256", "classes", "does_not_cover", "certificate_sha256",
)  # fmt: skip
_CLAIM_FIELDS = (
    "class", "head", "concepts", "formula", "domain", "rows_checked", "smallest_logit", "rounding_bound",
    "refit_to_formula", "proved_minimal", "note",
)  # fmt: skip


def read_model(fields: Fields) -> Model:
    """Read `model.json` and check its form: unknown, missing and mistyped fields are refused.

    Args:
        fields: the parsed file.

    Raises:
        Unusable: a field is unknown, missing or malformed.
    """
    schema = fields.whole("schema")
    if schema == 1:
        fields.check_keys((*_MODEL_FIELDS, "raw_columns"), ("content_sha256",))
    else:
        fields.check_keys(_MODEL_FIELDS_2)
    fields.text("logiclens")
    concepts = fields.names("concepts")
    network = fields.inner("network")
    hidden, temperature = _read_network(network, schema)
    if network.whole("n_concepts") != len(concepts) or not concepts:
        raise network.refuse("n_concepts", f"the number of concepts, {len(concepts)}, and at least 1")
    class_names = fields.texts("class_names")
    if len(set(class_names)) < len(class_names):
        raise fields.refuse("class_names", "a list of strings that differ from each other")
    if network.whole("n_heads") != len(class_names) or not class_names:
        raise network.refuse("n_heads", f"the number of class names, {len(class_names)}, and at least 1")
    labels = fields.value("labels")
    if not isinstance(labels, list) or not all(map(is_label, labels)):
        raise fields.refuse("labels", "a list of strings, finite numbers, or true and false")
    if fields.flag("exact") is not True:
        raise fields.refuse("exact", "true where there is a certificate")
    read_settings(fields, schema)
    known = frozenset(concepts)
    predicates = _read_predicates(fields, known)
    return Model(
        concepts,
        hidden,
        temperature,
        class_names,
        tuple(labels),
        fields.flag("multilabel"),
        predicates,
        _read_groups(fields, "exclusive", known),
        _read_groups(fields, "implied", known),
        _read_rules(fields.inner("rules"), known, schema),
        None if schema == 1 or fields.value("target") is None else fields.text("target"),
        _read_cutting(fields, known, predicates) if schema > 1 else _old_cutting(fields, predicates),
    )


def read_certificate(fields: Fields, model: Model) -> Certificate:
    """Read `certificate.json`, and check its form and that the model has the concepts and heads it names.

    `does_not_cover` is not interpreted: what is not covered is known to the checker itself (see `report`).

    Args:
        fields: the parsed file.
        model: the model that the certificate is about.

    Raises:
        Unusable: a field is unknown, missing or malformed, or names an unknown concept or head.
    """
    fields.text("logiclens")
    fields.texts("does_not_cover")
    known, first = frozenset(model.concepts), fields.whole("schema") == 1
    decision = None
    if first:
        fields.check_keys(_CERTIFICATE_FIELDS)
    else:
        fields.check_keys((*_CERTIFICATE_FIELDS, "resolve", "order", "otherwise"))
        decision = _read_decision(fields, len(model.class_names))
    read = _read_claim if first else _read_claim_of_schema_2
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
    return Certificate(claims, decision)


def _read_decision(fields: Fields, n_classes: int) -> tuple[str, tuple[int, ...], int | None]:
    """Read `resolve`, `order` and `otherwise`."""
    resolve, order, otherwise = fields.choice("resolve", RESOLVES), fields.wholes("order"), None
    if len(set(order)) < len(order) or not all(place < n_classes for place in order):
        raise fields.refuse("order", f"a list of classes, counted from 0 to {n_classes - 1}, each at most once")
    if fields.value("otherwise") is not None:
        otherwise = fields.whole("otherwise")
        if otherwise >= n_classes:
            raise fields.refuse("otherwise", f"null or one of the {n_classes} classes, counted from 0")
    return resolve, order, otherwise


def _read_network(network: Fields, schema: int) -> tuple[tuple[int, ...], float]:
    required = ("n_concepts", "n_heads", "hidden", "shared_tail", "temperature", "activation")
    # Earlier versions had no committees.
    network.check_keys((*required, "members") if schema == 3 else required, ("members",) if schema == 2 else ())
    if network.flag("shared_tail") or network.record.get("members") is not None:
        field = "shared_tail" if network.flag("shared_tail") else "members"
        raise network.refuse(field, "false" if field == "shared_tail" else "null, since a committee is not certified")
    hidden = network.wholes("hidden")
    if not hidden or 0 in hidden:
        raise network.refuse("hidden", "a list of at least one width, each at least 1")
    temperature = network.number("temperature")
    if not TEMPERATURES[0] <= temperature <= TEMPERATURES[1]:
        raise network.refuse("temperature", "a number above 0 that float32 can hold")
    if network.text("activation") != "relu":
        raise network.refuse("activation", "'relu', the only one whose heads are verified")
    return hidden, temperature


def _read_cutting(fields: Fields, known: frozenset[str], predicates: Mapping[str, Predicate]) -> Cutting | None:
    columns, positional = fields.names("columns"), fields.flag("positional")
    if fields.value("cutting") is None:
        if columns:
            raise fields.refuse("columns", "empty, since without cuts the columns are the concepts")
        return None
    cutting = fields.inner("cutting")
    # Earlier versions had no concepts that only networks see.
    cutting.check_keys(("kinds", "scales"), ("memberships",))
    if fields.whole("schema") == 3:
        cutting.value("memberships")
    kinds, scales = cutting.inner("kinds"), cutting.inner("scales")
    for concept in scales.record:
        _check_known(concept, known, scales)
    memberships = {}
    if "memberships" in cutting.record:
        table = cutting.inner("memberships")
        for concept in table.record:
            _check_known(concept, known, table)
            memberships[concept] = _read_membership(table.inner(concept))
    return Cutting(
        columns,
        positional,
        {column: kinds.choice(column, KINDS) for column in kinds.record},
        {concept: _read_scale(scales, concept) for concept in scales.record},
        memberships,
    )


def _old_cutting(fields: Fields, predicates: Mapping[str, Predicate]) -> Cutting | None:
    """Return the cuts of schema 1, which had numbers and truth values and stored only whether columns are cut."""
    if not fields.flag("raw_columns"):
        return None
    kinds = {meant.column: "boolean" if meant.operator == "==" else "number" for meant in predicates.values()}
    return Cutting(tuple(kinds), False, kinds, {}, {})


def _read_scale(scales: Fields, concept: str) -> tuple[float, float]:
    scale = scales.value(concept)
    numbers = [finite(number) for number in scale] if isinstance(scale, list) else []
    if len(numbers) != 2 or numbers[0] is None or numbers[1] is None or not numbers[1] > 0:
        raise scales.refuse(concept, "two finite numbers, the second above 0")
    return numbers[0], numbers[1]


def _read_membership(fields: Fields) -> Membership:
    fields.check_keys(("column", "values"))
    values = fields.value("values")
    is_text = isinstance(values, list) and all(isinstance(value, str) for value in values)
    is_number = isinstance(values, list) and all(finite(value) is not None for value in values)
    if not isinstance(values, list) or not values or not (is_text or is_number) or len(set(values)) < len(values):
        raise fields.refuse("values", "a list of strings or of finite numbers that differ from each other")
    return Membership(fields.text("column"), tuple(values))


def _read_predicates(fields: Fields, known: frozenset[str]) -> dict[str, Predicate]:
    table = fields.inner("predicates")
    predicates = {}
    for concept in table.record:
        _check_known(concept, known, table)
        predicates[concept] = _read_predicate(table.inner(concept))
    return predicates


def _read_predicate(fields: Fields) -> Predicate:
    fields.check_keys(("column", "operator", "value"))
    column, value = fields.text("column"), fields.value("value")
    # The meaning of an unknown operator cannot be checked.
    operator = fields.choice("operator", OPERATORS)
    if not column:
        raise fields.refuse("column", "the name of a column")
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
    groups = fields.groups(key)
    for name in (name for group in groups for name in group):
        _check_known(name, known, fields)
    if sum(len(group) ** 2 for group in groups) > MOST_PAIRS:
        raise Unusable(f"{key} in {fields.file} holds groups that are too large to be checked. {AGAIN}")
    return groups


_RULES_FIELDS = (
    "kind", "schema", "classes", "predicates", "exclusive", "implied", "resolve", "otherwise", "multilabel",
)  # fmt: skip


def _read_rules(rules: Fields, known: frozenset[str], model_schema: int) -> Rules:
    if rules.text("kind") != "logiclens rules":
        raise rules.refuse("kind", "'logiclens rules'")
    schema, schemas = rules.whole("schema"), {1: (1,), 2: (1, 2), 3: (2,)}[model_schema]
    if schema not in schemas:
        raise rules.refuse("schema", " or ".join(map(str, schemas)))
    rules.check_keys(_RULES_FIELDS if schema == 1 else (*_RULES_FIELDS, "order"))
    classes = rules.each("classes", lambda entry: _read_rule(entry, known, schema))
    _check_bags(rules)
    if len({str(rule.label) for rule in classes}) < len(classes):
        raise Unusable(f"rules.classes in {rules.file} must hold each class once, got one of them twice. {AGAIN}")
    for rule in classes:
        other = rule.complement_of
        if other is not None and (other >= len(classes) or classes[other].complement_of is not None):
            raise Unusable(
                f"rules.classes in {rules.file} has {shown(rule.label)} as the complement of class number {other}, "
                f"which has no formula. {AGAIN}"
            )
    # Rules of schema 1 have no order.
    with_order = rules if schema > 1 else replace(rules, record={**rules.record, "order": []})
    return Rules(
        classes,
        _read_predicates(rules, known),
        _read_groups(rules, "exclusive", known),
        _read_groups(rules, "implied", known),
        *_read_decision(with_order, len(classes)),
        rules.flag("multilabel"),
    )


def _read_rule(entry: Fields, known: frozenset[str], schema: int) -> ClassRule:
    if schema > 1 and "complement_of" in entry.record:
        entry.check_keys(("class", "complement_of", "confidence"))
        return ClassRule(entry.label("class"), (), (entry.share("confidence"),), entry.whole("complement_of"))
    entry.check_keys(("class", "cubes"), ("bags",) if schema > 1 else ())
    counted = ("recurs",) if "bags" in entry.record else ()

    def read(cube: Fields) -> tuple[Cube, float]:
        cube.check_keys(("if", "confidence"), counted)
        return _read_cube(cube.inner("if"), known), cube.share("confidence")

    cubes = entry.each("cubes", read)
    if len({frozenset(cube) for cube, _ in cubes}) < len(cubes):
        raise entry.refuse("cubes", "a list of cubes that differ from each other")
    return ClassRule(
        entry.label("class"), tuple(cube for cube, _ in cubes), tuple(confidence for _, confidence in cubes)
    )


def _check_bags(rules: Fields) -> None:
    """Check the counts of recurrence: out of the same number of bags in all classes."""
    bags = set()

    def read(entry: Fields) -> None:
        if "bags" in entry.record:
            bags.add(most := entry.whole("bags"))
            if most == 0:
                raise entry.refuse("bags", "a whole number, 1 or more")
            entry.each("cubes", lambda cube: check(cube, most))

    def check(cube: Fields, most: int) -> None:
        if "recurs" in cube.record and cube.whole("recurs") > most:
            raise cube.refuse("recurs", f"a whole number, at most the {most} bags")

    rules.each("classes", read)
    if len(bags) > 1:
        raise rules.refuse("classes", "counted on the same number of bags")


def _read_cube(cube: Fields, known: frozenset[str]) -> Cube:
    for concept in cube.record:
        _check_known(concept, known, cube)
    return tuple((concept, cube.flag(concept)) for concept in cube.record)


def _read_claim(entry: Fields, known: frozenset[str], n_heads: int) -> Claim:
    entry.check_keys(_CLAIM_FIELDS)
    concepts = _read_concepts(entry, known)
    if len(concepts) > MOST_CONCEPTS:
        raise entry.refuse("concepts", f"a list of at most {MOST_CONCEPTS} concepts, for 2^{MOST_CONCEPTS} rows")
    formula = entry.each("formula", lambda cube: _read_cube(cube, known))
    return _claim(entry, known, n_heads, formula, entry.whole("rows_checked"))


def _read_claim_of_schema_2(entry: Fields, known: frozenset[str], n_heads: int) -> Claim:
    """Read a claim of schema 2, which adds origins of weights, complements and heads of more than 20 concepts."""
    entry.check_keys((*_CLAIM_FIELDS, "origin", "complement_of", "agreement"))
    origin, complement_of, agreement = entry.choice("origin", (COMPILED, TRAINED)), None, None
    if origin == COMPILED:
        agreement = entry.share("agreement")
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
        figures = ("accuracy_before", "accuracy_after", "f1_before", "f1_after")
        refit.check_keys(figures)
        for figure in figures:
            refit.share(figure)
    entry.flag("proved_minimal")
    if entry.value("note") is not None:
        entry.text("note")
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
    rows = domain.choice("rows", ("all", "possible"))
    # An unknown key might restrict the rows further than this module checks.
    domain.check_keys(("rows",) if rows == "all" else ("rows", "exclusive", "implied"))
    if rows == "all":
        return Domain()
    return Domain(_read_groups(domain, "exclusive", known), _read_groups(domain, "implied", known))


def _check_known(concept: str, known: frozenset[str], fields: Fields) -> None:
    if concept not in known:
        where = f"{fields.path} in {fields.file}" if fields.path else fields.file
        raise Unusable(f"{where} names the concept {shown(concept)}, which the model does not have. {AGAIN}")
