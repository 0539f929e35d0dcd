"""What `model.json` holds, as frozen dataclasses: every field is typed, and all of them fit together.

This is the one reader of `model.json`: loading a model, its rules or a command on a saved model all read through it. It
needs no torch. `logiclens.estimator.persistence` writes the file and reads the weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from logiclens.codec import OwnForm, from_plain, to_plain
from logiclens.errors import LogicLensError, quoted
from logiclens.formula import record
from logiclens.formula.column_kinds import KINDS, ORDERS, ColumnKind
from logiclens.formula.date_parts import PART_KINDS
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.groups import Groups
from logiclens.formula.packed_rows import check_names
from logiclens.formula.predicate import Predicate, is_name_of
from logiclens.formula.rules import DecisionRules
from logiclens.formula.target_cuts import TargetCuts
from logiclens.storage import CERTIFICATE, MODEL, RESULT, ModelFolder, checked_path, open_folder, read_json


@dataclass(frozen=True)
class NetworkRecord:
    """The sizes of the network, without its weights; `rules` is the number of rules that it sees beside concepts."""

    n_concepts: int
    n_heads: int
    hidden: tuple[int, ...]
    temperature: float
    activation: str
    rules: int = 0

    def __post_init__(self) -> None:
        """Refuse sizes that no network has."""
        if not self.hidden or min(self.n_concepts, self.n_heads, *self.hidden) < 1:
            raise LogicLensError("the sizes of the network must be 1 or more")
        if self.temperature <= 0:
            raise LogicLensError(f"the temperature of the network must be above 0, got {self.temperature:g}")
        if self.activation != "relu":
            raise LogicLensError(f"the activation of the network must be 'relu', got {quoted(self.activation)}")
        if self.rules < 0:
            raise LogicLensError(f"a network sees no rules or more, got {self.rules}")


@dataclass(frozen=True)
class MetricsRecord:
    """What was measured when the model was saved; nothing is decided by it."""

    rows: int
    best_epoch: int | None
    accuracy_on_these_rows: float | None
    teacher: str | None = None
    fidelity_to_the_teacher: Mapping[str, float] | None = None


@dataclass(frozen=True)
class CuttingRecord:
    """How raw columns become concepts, beside the predicates; see `logiclens.concepts.booleaniser.Cutting`."""

    kinds: Mapping[str, str]
    scales: Mapping[str, tuple[float, ...]]


def _read_predicate(entry: Any) -> Predicate:
    """Return a predicate; its own checks refuse operators and values that do not fit."""
    if not isinstance(entry, Mapping) or set(entry) - {"origin"} != {"column", "operator", "value"}:
        raise LogicLensError(f"a predicate needs a column, an operator and a value, got {quoted(entry)}")
    if not isinstance(entry["operator"], str):
        raise LogicLensError(f"the operator of a predicate must be a text, got {quoted(entry['operator'])}")
    return record.predicate_from_dict(entry)


PredicateForm = Annotated[Predicate, OwnForm(record.predicate_to_dict, _read_predicate)]
RulesForm = Annotated[DecisionRules, OwnForm(record.to_dict, lambda content: record.from_dict(content, DecisionRules))]


@dataclass(frozen=True)
class ModelRecord:
    """The content of `model.json`.

    Raises:
        LogicLensError: if its parts contradict each other.
    """

    kind: str
    schema: int
    logiclens: str
    network: NetworkRecord
    concepts: tuple[str, ...]
    predicates: Mapping[str, PredicateForm]
    columns: tuple[str, ...]
    positional: bool
    cutting: CuttingRecord | None
    exclusive: tuple[tuple[str, ...], ...]
    implied: tuple[tuple[str, ...], ...]
    class_names: tuple[str, ...]
    labels: tuple[str | bool | int | float, ...]
    multilabel: bool
    exact: bool
    rules: RulesForm | None
    settings: Mapping[str, Any]
    metrics: MetricsRecord
    data_sha256: str
    target: str | None
    weights_sha256: str
    content_sha256: str
    target_cuts: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together, and put concepts in the order of the network's inputs."""
        check_names(self.concepts, len(self.concepts))
        check_names(self.class_names, len(self.class_names), "class")
        # Whatever the order of keys in JSON: `concepts` says which input of the network each one is.
        places = {name: place for place, name in enumerate(self.concepts)}
        unknown = [name for name in self.predicates if name not in places]
        if unknown:
            raise LogicLensError(f"'predicates' names {quoted(unknown[0])}, which is not among the concepts")
        in_order = {name: self.predicates[name] for name in self.concepts if name in self.predicates}
        object.__setattr__(self, "predicates", in_order)
        self.groups.check(self.concepts)
        for check in (_check_sizes, _check_labels, _check_columns, _check_rules, _check_settings):
            check(self)

    @cached_property
    def groups(self) -> Groups:
        """Which concepts exclude or imply each other."""
        return Groups(self.exclusive, self.implied)

    @cached_property
    def cuts_of_target(self) -> TargetCuts | None:
        """The cuts of a target of numbers; None if the target holds classes."""
        return None if self.target_cuts is None else TargetCuts(self.target_cuts)

    @property
    def needed_columns(self) -> tuple[str, ...]:
        """The columns of the table that the network needs: those that a concept is about."""
        if self.cutting is None:
            return self.concepts
        return tuple(column for column in self.columns if column in self.cutting.kinds)


# What must fit together ----------------------------------------------------------------------------------------------


def _check_sizes(model: ModelRecord) -> None:
    for name, size, entries in (
        ("n_concepts", model.network.n_concepts, model.concepts),
        ("n_heads", model.network.n_heads, model.class_names),
    ):
        if size != len(entries):
            raise LogicLensError(f"'network.{name}' is {size}, but {len(entries)} are named")


def _check_labels(model: ModelRecord) -> None:
    """Check that labels are the classes: in order, and by their names; several labels per row are numbered."""
    expected = [str(label) for label in model.labels]
    if model.multilabel:
        if model.labels != tuple(range(len(model.class_names))) or any(type(label) is bool for label in model.labels):
            raise LogicLensError("'labels' of a model with several labels per row must number the classes from 0 on")
        return
    settings = (model.settings.get("above"), model.settings.get("quantiles"))
    if (model.cuts_of_target is None) != (settings == (None, None)):
        raise LogicLensError("'target_cuts' and the settings 'above' or 'quantiles' must both be there or both be null")
    if model.cuts_of_target is not None and sorted(model.cuts_of_target.names) != expected:
        raise LogicLensError(f"'target_cuts' do not give the classes {quoted(expected)}")
    if settings[0] is not None and model.target_cuts != (settings[0],):
        raise LogicLensError("'target_cuts' is not the setting 'above'")
    if settings[1] is not None and len(model.target_cuts or ()) + 1 != settings[1]:
        raise LogicLensError("'target_cuts' has another number of classes than the setting 'quantiles'")
    if expected != list(model.class_names):
        raise LogicLensError(f"'labels' {quoted(expected)} are not the class names {quoted(list(model.class_names))}")
    in_order: list[Any] = list(model.labels)
    if len({isinstance(label, str) for label in in_order}) > 1 or in_order != sorted(in_order):
        raise LogicLensError("'labels' must be of one kind and in order")


def _check_columns(model: ModelRecord) -> None:
    """Check that each concept says by its name what it means, and that its column has values of that kind."""
    if (model.cutting is None) != (model.settings.get("booleanise") is None):
        raise LogicLensError("'cutting' and the setting 'booleanise' must both be there or both be null")
    if model.cutting is None:
        if model.columns or model.positional:
            raise LogicLensError("'columns' and 'positional' are for models that cut raw columns; 'cutting' is null")
        for name, predicate in model.predicates.items():
            if predicate != Predicate(name, "==", True):
                raise LogicLensError(f"the predicate of {quoted(name)} needs 'cutting', which is null")
        return
    kinds = model.cutting.kinds
    check_names(model.columns, len(model.columns), "column")
    if model.positional and model.columns != tuple(f"x{place}" for place in range(len(model.columns))):
        raise LogicLensError("columns that are taken by position are named x0, x1 and so on")
    parts = {one.column: one.origin for one in model.predicates.values() if one.origin is not None}
    for one in model.predicates.values():
        if parts.get(one.column) != one.origin:
            raise LogicLensError(f"{quoted(one.column)} must have one origin, and concepts of it have two")
    for part in parts.values():
        if part.name in model.columns:
            raise LogicLensError(f"{quoted(part.name)} is a column of its own, and not taken from dates")
        for column in part.columns:
            if kinds.get(column) != "date":
                raise LogicLensError(
                    f"{quoted(part.name)} is taken from {quoted(column)}, which must be a column of dates"
                )
    for column, name in kinds.items():
        if (column not in model.columns and column not in parts) or name not in KINDS:
            raise LogicLensError(
                f"'cutting.kinds' says {quoted(name)} of {quoted(column)}, which is no kind of a column"
            )
    if model.concepts != tuple(model.predicates):
        raise LogicLensError("'concepts' must list those of 'predicates'")
    for name, predicate in model.predicates.items():
        _check_predicate(name, predicate, _kind(kinds, predicate.column))
    _check_order(model)
    _check_scales(model, model.cutting.scales)
    _check_groups(model)


def _kind(kinds: Mapping[str, str], column: str) -> ColumnKind:
    if column not in kinds:
        raise LogicLensError(f"'cutting.kinds' lacks the column {quoted(column)} of a concept")
    return KINDS[kinds[column]]


def _check_predicate(name: str, predicate: Predicate, kind: ColumnKind) -> None:
    is_truth_value = (predicate.operator, predicate.value) == ("==", True) and predicate.value is True
    if not is_name_of(name, predicate) and not (is_truth_value and name == predicate.column):
        raise LogicLensError(f"the concept {quoted(name)} is not what its predicate says: {quoted(str(predicate))}")
    if predicate.operator != "missing" and (predicate.kind is not kind or predicate.operator not in kind.operators):
        raise LogicLensError(f"{predicate} cannot be asked of a column of {kind.plural}")


def _are_in_order(model: ModelRecord, columns: Sequence[str]) -> bool:
    place = {column: (number, 0, 0) for number, column in enumerate(columns)}
    # Parts of a date come behind the date, in the order of the kinds of parts.
    for part in (one.origin for one in model.predicates.values() if one.origin is not None):
        number, rank = place[part.subject][0], 1 + list(PART_KINDS).index(part.kind)
        place[part.name] = (number, rank, place[part.columns[0]][0])
    order = [place[one.column] for one in model.predicates.values()]
    return order == sorted(order)


def _check_order(model: ModelRecord) -> None:
    """Check that concepts are in the order of their columns, and thresholds rise, as they do when columns are cut."""
    # Columns without names are cut in the order of the table.
    if not any(_are_in_order(model, columns) for columns in (sorted(model.columns), model.columns)):
        raise LogicLensError("'concepts' must be in the order of the names of 'columns'")
    names, meant = list(model.predicates), list(model.predicates.values())
    for name, one, after in zip(names[1:], meant[:-1], meant[1:], strict=True):
        if one.column != after.column:
            continue
        rises = one.operator != "missing"
        if rises and one.operator in ORDERS and after.operator in ORDERS:
            numbers = [(meant.kind.number(meant.value), ORDERS.index(meant.operator)) for meant in (one, after)]
            rises = numbers[0] < numbers[1]
        if not rises:
            raise LogicLensError(f"'concepts' has {quoted(name)} at the wrong place: its cuts must rise")


def _check_scales(model: ModelRecord, scales: Mapping[str, tuple[float, ...]]) -> None:
    """Check that exactly the columns that are rescaled have a scale, and that its middle is the threshold."""
    settings: Any = model.settings["booleanise"]
    cuts = settings.get("cuts") if isinstance(settings, Mapping) else settings
    for name in scales:
        if name not in model.predicates:
            raise LogicLensError(f"'cutting.scales' names {quoted(name)}, which has no predicate")
    for name, predicate in model.predicates.items():
        how = cuts.get(predicate.column) if isinstance(cuts, Mapping) else cuts
        if (name in scales) != (how == "soft" and predicate.operator in ORDERS):
            raise LogicLensError(f"'cutting.scales' must have an entry for {quoted(name)} if it is cut 'soft'")
        if name in scales:
            middle_and_reach = scales[name]
            if len(middle_and_reach) != 2 or not middle_and_reach[1] > 0:
                raise LogicLensError(f"the scale of {quoted(name)} must be a middle and a reach above 0")
            if middle_and_reach[0] != predicate.kind.number(predicate.value):
                raise LogicLensError(f"the middle of the scale of {quoted(name)} is not its threshold")


def _check_groups(model: ModelRecord) -> None:
    """Check that groups of concepts on raw columns follow from the predicates."""
    place = {name: number for number, name in enumerate(model.concepts)}
    for group in (*model.exclusive, *model.implied):
        if [place[name] for name in group] != sorted(place[name] for name in group):
            raise LogicLensError(f"the group {quoted(list(group))} is not in the order of the concepts")
        if len({model.predicates[name].column for name in group if name in model.predicates}) != 1:
            raise LogicLensError(f"the group {quoted(list(group))} must be about one column")
    for chain in model.implied:
        meant = [model.predicates.get(name) for name in chain]
        numbers = [one.kind.number(one.value) for one in meant if one is not None and one.operator == ">="]
        if len(numbers) < len(chain) or numbers != sorted(set(numbers)):
            raise LogicLensError(f"the chain {quoted(list(chain))} must list rising thresholds of a column")
    for group in model.exclusive:
        meant = [model.predicates.get(name) for name in group]
        if None in meant or sum(one is not None and one.operator in ORDERS for one in meant) > 1:
            raise LogicLensError(f"the concepts {quoted(list(group))} do not exclude each other")


def _check_rules(model: ModelRecord) -> None:
    """Check that the rules are about the same classes and concepts, and mean the same by them."""
    rules = model.rules
    if rules is None:
        return
    labels = model.class_names if model.multilabel else model.labels
    found = tuple(rule.label for rule in rules.rules)
    if found != tuple(labels) or list(map(type, found)) != list(map(type, labels)):
        raise LogicLensError(
            f"the rules are of the classes {quoted(list(found))}, the model is of {quoted(list(labels))}"
        )
    if rules.multilabel != model.multilabel:
        raise LogicLensError("rules and model differ in 'multilabel'")
    for concept in (*rules.concepts, *rules.predicates, *rules.groups.concepts):
        if concept not in model.concepts:
            raise LogicLensError(f"the rules name {quoted(concept)}, which no rule of this model can")
        if concept in (*rules.concepts, *rules.predicates):
            meant, by_rules = (one.predicates.get(concept) for one in (model, rules))
            if meant != by_rules or type(getattr(meant, "value", None)) is not type(getattr(by_rules, "value", None)):
                raise LogicLensError(f"rules and model differ in what {quoted(concept)} means")


_NEEDED = (
    "booleanise", "class_weight", "epochs", "exact", "hidden", "learning_rate", "max_literals", "method",
    "penalty_weight", "random_state", "resolve", "temperature", "validation",
)  # fmt: skip
"""Settings that are always there."""


def _check_settings(model: ModelRecord) -> None:
    """Check the settings that the model repeats; the estimator checks the others."""
    settings, network = model.settings, model.network
    for name in _NEEDED:
        if name not in settings:
            raise LogicLensError(f"'settings' lacks {quoted(name)}")
    if settings["exact"] is not model.exact:
        raise LogicLensError("the setting 'exact' and 'exact' differ")
    if not model.exact:
        for name, built in (
            ("hidden", list(network.hidden)),
            ("temperature", network.temperature),
        ):
            if settings[name] != built or isinstance(settings[name], bool) != isinstance(built, bool):
                raise LogicLensError(f"the setting {quoted(name)} is {quoted(settings[name])}, the network has {built}")
    elif network.rules:
        raise LogicLensError("the network of an exact model sees concepts only")
    if model.exact and model.rules is None:
        raise LogicLensError("an exact model needs rules")


# Reading -------------------------------------------------------------------------------------------------------------


def read_record(folder: ModelFolder) -> ModelRecord:
    """Return what `model.json` of a folder holds.

    Raises:
        LogicLensError: in one sentence, if a field is missing, unknown or of another type, or if fields contradict
            each other, the result or the certificate.
    """
    name = str(folder.path / MODEL)
    found = read_content(folder.content, name)
    if folder.certificate is not None and found.rules is not None:
        _check_certificate(found, found.rules, folder.certificate, str(folder.path / CERTIFICATE))
    if RESULT in folder.files:
        # Its hashes and its rules are checked.
        folder.result()
    return found


def read_content(content: Mapping[str, Any], name: str) -> ModelRecord:
    """Return the record of the content of `model.json`; `name` is what messages call it."""
    try:
        return from_plain(ModelRecord, dict(content), name)
    except LogicLensError as error:
        reason = str(error).removesuffix(".")
        known = reason if name in reason else f"{name} contradicts itself or is incomplete: {reason}"
        raise LogicLensError(f"{known}.") from None
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise LogicLensError(f"{name} is incomplete or does not hold what was saved there ({error!r:.80}).") from None


def open_record(folder: str | Path) -> ModelRecord:
    """Open a model folder and return what its `model.json` holds."""
    return read_record(open_folder(folder))


def open_rules(place: str | Path) -> Mapping[str, Any]:
    """Return the record of the rules of a model folder, or of a JSON file that `logiclens export --to json` wrote."""
    path = checked_path(place)
    if path.is_file():
        return read_json(path)
    folder = open_folder(path)
    if read_record(folder).rules is None:
        raise LogicLensError(f"{path} holds no rules.")
    rules: Mapping[str, Any] = folder.content["rules"]
    return rules


def _check_certificate(model: ModelRecord, rules: DecisionRules, certificate: Mapping[str, Any], name: str) -> None:
    """Check that the certificate is about the rules of the model, and about how they decide."""
    try:
        entries = certificate["classes"]
        heads = [(entry["head"], entry["class"]) for entry in entries]
        formulas = {entry["head"]: _formula(entry) for entry in entries}
        others = {entry["head"]: entry.get("complement_of") for entry in entries}
        decided = {part: certificate[part] for part in ("resolve", "order", "otherwise")}
    except (KeyError, TypeError, AttributeError) as error:
        raise LogicLensError(f"{name} is incomplete or does not hold what was saved there ({error!r:.80}).") from None
    except LogicLensError as error:
        raise LogicLensError(f"{name} has no formula: {error}") from None
    if sorted(heads, key=str) != sorted(enumerate(model.class_names), key=str):
        raise LogicLensError(f"{name} is not about the classes of {MODEL}.")
    for place, rule in enumerate(rules.rules):
        stated = 1 - place if rule.is_complement else None
        if others[place] != stated or (stated is None and formulas[place] != rule.formula):
            raise LogicLensError(f"{name} has another formula of {quoted(rule.label)} than {MODEL}.")
    said = {"resolve": rules.resolve, "order": list(rules.order), "otherwise": rules.otherwise}
    if certificate.get("history", []) != to_plain(rules.history):
        raise LogicLensError(f"{name} and {MODEL} differ in the history of the rules.")
    for part, value in decided.items():
        if value != said[part]:
            raise LogicLensError(f"{name} and {MODEL} differ in {quoted(part)} of the rules.")


def _formula(entry: Mapping[str, Any]) -> DNF | None:
    if entry["formula"] is None:
        return None
    return DNF(Cube(Literal(concept, holds) for concept, holds in cube.items()) for cube in entry["formula"])
