"""Strict reader of `model.json` and `certificate.json`.

An object must have exactly the fields of its schema, each of its type. What the fields say of each other is checked in
`consistency`, what they say of the weights in `claim`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from .files import AGAIN, Fields, Refuted, Unusable, finite, is_label, shown
from .records import (
    MOST_CONCEPTS,
    OPERATORS,
    ORDERS,
    PARTS,
    Certificate,
    Claim,
    ClassRule,
    Cube,
    Cutting,
    Edit,
    Formula,
    Groups,
    Model,
    Part,
    Predicate,
    Rules,
    as_point,
)

TEMPERATURES = (2.0**-126, 2.0**126)
"""Smallest and largest τ for which τ and 1/τ are both normal float32 numbers, as the rounding bound assumes."""
MOST_PAIRS = 10**7
"""Maximum number of pairs of concepts in all groups of a kind; more would take too long to check."""
KINDS = ("number", "boolean", "text", "date", "timedelta")
"""Kinds of columns, as `model.json` names them."""
RESOLVES = ("order", "confidence", "none")
"""Ways to decide between classes if not exactly one formula fires."""
COMPILED, EDITED = "compiled from the formula", "compiled from the edited formula"
"""Origins of the weights of a head, as written in a certificate."""

_MODEL_FIELDS = (
    "kind", "schema", "logiclens", "network", "concepts", "predicates", "exclusive", "implied", "class_names", "labels",
    "multilabel", "exact", "rules", "settings", "metrics", "data_sha256", "weights_sha256", "columns", "positional",
    "cutting", "target", "content_sha256",
)  # fmt: skip
_CERTIFICATE_FIELDS = (
    "kind", "schema", "logiclens", "model_sha256", "weights_sha256", "classes", "does_not_cover", "certificate_sha256",
    "resolve", "order", "otherwise",
)  # fmt: skip
_CLAIM_FIELDS = (
    "class", "head", "concepts", "formula", "rows_checked", "smallest_logit", "rounding_bound", "proved_minimal",
    "origin", "complement_of",
)  # fmt: skip


def read_model(fields: Fields) -> Model:
    """Read `model.json` and check its form: unknown, missing and mistyped fields are refused.

    Args:
        fields: the parsed file.

    Raises:
        Unusable: a field is unknown, missing or malformed.
    """
    fields.check_keys(_MODEL_FIELDS, ("target_cuts",))
    fields.text("logiclens")
    concepts = fields.names("concepts")
    network = fields.inner("network")
    hidden, temperature = _read_network(network)
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
    if not fields.flag("exact"):
        raise Refuted(
            "model.json contradicts itself: it says that the model is not exact, and there is a certificate. "
            "Save the model again to have it made from one source."
        )
    _check_target_cuts(fields, class_names)
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
        _read_rules(fields.inner("rules"), known),
        None if fields.value("target") is None else fields.text("target"),
        _read_cutting(fields, known, predicates),
    )


def _check_target_cuts(fields: Fields, class_names: tuple[str, ...]) -> None:
    """Check that the classes of a target that was cut are named after its cuts."""
    settings = fields.inner("settings").record
    above, quantiles = settings.get("above"), settings.get("quantiles")
    cuts = fields.record.get("target_cuts")
    if cuts is None:
        if above is not None or quantiles is not None:
            raise fields.refuse("target_cuts", "the cuts of the target, as the settings ask for")
        return
    numbers = isinstance(cuts, list) and cuts and all(is_label(cut) and type(cut) in (int, float) for cut in cuts)
    if not isinstance(cuts, list) or not numbers or sorted(set(cuts)) != cuts or (above is None) == (quantiles is None):
        raise fields.refuse("target_cuts", "rising numbers, for a model with the setting 'above' or 'quantiles'")
    texts = [str(int(cut)) if float(cut).is_integer() and abs(cut) < 1e15 else repr(float(cut)) for cut in cuts]
    between = [f"from {low} to below {high}" for low, high in pairwise(texts)]
    if sorted(class_names) != sorted([f"below {texts[0]}", *between, f"at least {texts[-1]}"]):
        raise fields.refuse("target_cuts", "the cuts that the class names state")
    if (above is not None and cuts != [above]) or quantiles not in (None, len(cuts) + 1):
        raise fields.refuse("target_cuts", "the cuts that the settings ask for")


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
    known = frozenset(model.concepts)
    fields.check_keys(_CERTIFICATE_FIELDS, ("history",))
    history = read_history(fields) if "history" in fields.record else ()
    decision = _read_decision(fields, len(model.class_names))
    claims = fields.each("classes", lambda entry: _read_claim(entry, known, len(model.class_names)))
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
    return Certificate(claims, decision, history)


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


def _read_network(network: Fields) -> tuple[tuple[int, ...], float]:
    required = ("n_concepts", "n_heads", "hidden", "temperature", "activation", "rules")
    network.check_keys(required)
    if network.whole("rules") != 0:
        raise network.refuse("rules", "0, since a certified network sees concepts only")
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
        if positional:
            raise fields.refuse("positional", "false, since without cuts the columns are the concepts")
    if (fields.value("cutting") is None) != (fields.inner("settings").value("booleanise") is None):
        raise fields.refuse("cutting", "null exactly if settings.booleanise is")
    if fields.value("cutting") is None:
        return None
    cutting = fields.inner("cutting")
    cutting.check_keys(("kinds", "scales"))
    kinds, scales = cutting.inner("kinds"), cutting.inner("scales")
    for concept in scales.record:
        _check_known(concept, known, scales)
    for concept, predicate in predicates.items():
        if (concept in scales.record) != (predicate.operator in ORDERS and _cut_softly(fields, predicate.column)):
            raise Unusable(
                f"{scales.path} in {scales.file} must have {shown(concept)} exactly if settings.booleanise is soft for "
                f"its column. {AGAIN}"
            )
    return Cutting(
        columns,
        positional,
        {column: kinds.choice(column, KINDS) for column in kinds.record},
        {concept: _read_scale(scales, concept) for concept in scales.record},
    )


def _cut_softly(fields: Fields, column: str) -> bool:
    """Return whether a column was rescaled, by the setting `booleanise`."""
    cuts = fields.inner("settings").value("booleanise")
    cuts = cuts.get("cuts") if isinstance(cuts, dict) else cuts
    return (cuts.get(column) if isinstance(cuts, dict) else cuts) == "soft"


def _read_scale(scales: Fields, concept: str) -> tuple[float, float]:
    scale = scales.value(concept)
    numbers = [finite(number) for number in scale] if isinstance(scale, list) else []
    if len(numbers) != 2 or numbers[0] is None or numbers[1] is None or not numbers[1] > 0:
        raise scales.refuse(concept, "two finite numbers, the second above 0")
    return numbers[0], numbers[1]


def _read_predicates(fields: Fields, known: frozenset[str]) -> dict[str, Predicate]:
    table = fields.inner("predicates")
    predicates = {}
    for concept in table.record:
        _check_known(concept, known, table)
        predicates[concept] = _read_predicate(table.inner(concept))
    return predicates


def _read_predicate(fields: Fields) -> Predicate:
    fields.check_keys(("column", "operator", "value"), ("origin",))
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
    return Predicate(column, operator, value, _read_part(fields, column, operator, value))


def _read_part(fields: Fields, column: str, operator: str, value: object) -> Part | None:
    """Return the part of a date that a predicate compares, if it compares one."""
    if "origin" not in fields.record:
        return None
    origin = fields.inner("origin")
    origin.check_keys(("part", "columns"))
    part = Part(origin.choice("part", tuple(PARTS)), origin.names("columns"))
    if len(part.columns) != (2 if part.kind == "days" else 1) or not all(part.columns):
        raise origin.refuse("columns", "the column of one date, or for days of two")
    if column != part.name:
        raise fields.refuse("column", f"{part.name!r}, after its origin")
    if operator == "missing" or isinstance(value, bool | str):
        raise fields.refuse("value", "a number, compared with one that is taken from a date")
    return part


def _read_groups(fields: Fields, key: str, known: frozenset[str]) -> Groups:
    groups = fields.groups(key)
    for name in (name for group in groups for name in group):
        _check_known(name, known, fields)
    if sum(len(group) ** 2 for group in groups) > MOST_PAIRS:
        raise Unusable(f"{key} in {fields.file} holds groups that are too large to be checked. {AGAIN}")
    return groups


_RULES_FIELDS = (
    "kind", "schema", "classes", "predicates", "exclusive", "implied", "resolve", "otherwise", "multilabel", "order",
)  # fmt: skip


def _read_rules(rules: Fields, known: frozenset[str]) -> Rules:
    if rules.text("kind") != "logiclens rules":
        raise rules.refuse("kind", "'logiclens rules'")
    if rules.whole("schema") != 2:
        raise rules.refuse("schema", "2")
    # Rules also say what is known of the table and who edited them. Only words depend on that, so nothing is checked
    # but its form.
    rules.check_keys(_RULES_FIELDS, ("table", "history"))
    if "table" in rules.record:
        rules.inner("table")
    classes = rules.each("classes", lambda entry: _read_rule(entry, known))
    if len({str(rule.label) for rule in classes}) < len(classes):
        raise Unusable(f"rules.classes in {rules.file} must hold each class once, got one of them twice. {AGAIN}")
    for rule in classes:
        other = rule.complement_of
        if other is not None and (other >= len(classes) or classes[other].complement_of is not None):
            raise Unusable(
                f"rules.classes in {rules.file} has {shown(rule.label)} as the complement of class number {other}, "
                f"which has no formula. {AGAIN}"
            )
    return Rules(
        classes,
        _read_predicates(rules, known),
        _read_groups(rules, "exclusive", known),
        _read_groups(rules, "implied", known),
        *_read_decision(rules, len(classes)),
        rules.flag("multilabel"),
        read_history(rules) if "history" in rules.record else (),
    )


def read_history(fields: Fields) -> tuple[Edit, ...]:
    """Read the history of rules that people edited.

    Args:
        fields: the object that holds `history`.
    """
    if not fields.value("history"):
        raise fields.refuse("history", "a list of at least one edit")
    return fields.each("history", _read_edit)


def _read_edit(entry: Fields) -> Edit:
    entry.check_keys(("what", "why", "who", "when", "before", "after"))
    told = {key: None if entry.value(key) is None else entry.text(key) for key in ("why", "who", "when")}
    measured: list[object] = []
    for key in ("before", "after"):
        measured.append(entry.value(key) is None)
        if entry.value(key) is not None:
            figures = entry.inner(key)
            figures.check_keys(("source", "rows", "accuracy", "macro_f1"))
            figures.text("source")
            figures.whole("rows")
            for share in ("accuracy", "macro_f1"):
                if figures.value(share) is not None:
                    figures.share(share)
            measured += [figures.value(figure) for figure in ("source", "rows", "accuracy", "macro_f1")]
    return Edit(entry.text("what"), told["why"], told["who"], told["when"], tuple(measured))


def _check_range(cut: Fields) -> None:
    """Check the form of the lowest and the highest threshold of a condition in the bags."""
    cut.check_keys(("column", "low", "high"))
    cut.text("column")
    cut.label("low")
    cut.label("high")


def _read_rule(entry: Fields, known: frozenset[str]) -> ClassRule:
    if "complement_of" in entry.record:
        entry.check_keys(("class", "complement_of", "confidence"))
        return ClassRule(entry.label("class"), (), (entry.share("confidence"),), entry.whole("complement_of"))
    entry.check_keys(("class", "cubes"), ("bags",))
    optional = ("recurs", "cuts") if "bags" in entry.record else ()
    marks = ("edited", "pinned")

    def read(cube: Fields) -> tuple[Cube, float]:
        cube.check_keys(("if", "confidence"), (*optional, *marks, "reason"))
        for mark in marks:
            if mark in cube.record and not cube.flag(mark):
                raise cube.refuse(mark, "true, or left out")
        if "reason" in cube.record:
            cube.text("reason")
        if "recurs" in cube.record:
            cube.whole("recurs")
        if "cuts" in cube.record:
            cube.each("cuts", _check_range)
        return _read_cube(cube.inner("if"), known), cube.share("confidence")

    cubes = entry.each("cubes", read)
    if len({frozenset(cube) for cube, _ in cubes}) < len(cubes):
        raise entry.refuse("cubes", "a list of cubes that differ from each other")
    return ClassRule(
        entry.label("class"), tuple(cube for cube, _ in cubes), tuple(confidence for _, confidence in cubes)
    )


def _read_cube(cube: Fields, known: frozenset[str]) -> Cube:
    for concept in cube.record:
        _check_known(concept, known, cube)
    return tuple((concept, cube.flag(concept)) for concept in cube.record)


def _read_claim(entry: Fields, known: frozenset[str], n_heads: int) -> Claim:
    entry.check_keys(_CLAIM_FIELDS)
    origin, complement_of = entry.choice("origin", (COMPILED, EDITED)), None
    if entry.value("complement_of") is None:
        formula = entry.each("formula", lambda cube: _read_cube(cube, known))
    else:
        complement_of, formula = entry.whole("complement_of"), ()
        if entry.value("formula") is not None:
            raise entry.refuse("formula", "null for a complement, which has the formula of the head that it names")
    rows = None
    if len(_read_concepts(entry, known)) <= MOST_CONCEPTS:
        rows = entry.whole("rows_checked")
    elif entry.value("rows_checked") is not None:
        raise entry.refuse("rows_checked", f"null where there are more than {MOST_CONCEPTS} concepts")
    claim = _claim(entry, known, n_heads, formula, rows)
    return replace(claim, complement_of=complement_of, is_edited=origin == EDITED)


def _read_concepts(entry: Fields, known: frozenset[str]) -> tuple[str, ...]:
    concepts = entry.names("concepts")
    for concept in concepts:
        _check_known(concept, known, entry)
    return concepts


def _claim(entry: Fields, known: frozenset[str], n_heads: int, formula: Formula, rows: int | None) -> Claim:
    head = entry.whole("head")
    if head >= n_heads:
        raise entry.refuse("head", f"one of the model's {n_heads} heads, counted from 0")
    entry.flag("proved_minimal")
    return Claim(
        entry.text("class"),
        head,
        _read_concepts(entry, known),
        formula,
        rows,
        entry.number("smallest_logit"),
        entry.number("rounding_bound"),
    )


def _check_known(concept: str, known: frozenset[str], fields: Fields) -> None:
    if concept not in known:
        where = f"{fields.path} in {fields.file}" if fields.path else fields.file
        raise Unusable(f"{where} names the concept {shown(concept)}, which the model does not have. {AGAIN}")
