"""Named edits of saved models with right hashes: each is refuted or refused, and says why."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from logiclens import EntropyClassifier
from logiclens.errors import LogicLensError
from logiclens.storage import sealed
from logiclens.verify import Unusable, VerificationError, consistency, reader, verify
from logiclens.verify.records import Predicate
from tests.oracles.certified import sealed as certificate_of
from tests.verify.edits import Case, Edit, at, replaced_everywhere, write_edited

Model = dict[str, Any]


def edit(change: Callable[[Model, Model], object]) -> Edit:
    def changed(model: Model, certificate: Model) -> tuple[Model, Model]:
        change(model, certificate)
        return model, certificate

    return Edit("", changed)


def both(name: str, **fields: Any) -> Callable[[Model, Model], object]:
    """Change a predicate in both of its copies."""

    def change(model: Model, _: Model) -> None:
        for predicates in (model["predicates"], model["rules"]["predicates"]):
            if name in predicates:
                predicates[name].update(fields)

    return change


def decide(**fields: Any) -> Callable[[Model, Model], object]:
    return lambda model, certificate: (model["rules"].update(fields), certificate.update(fields))


def model_of(**fields: Any) -> Callable[[Model, Model], object]:
    return lambda model, _: model.update(fields)


def inner(*path: Any, to: Any) -> Callable[[Model, Model], object]:
    def change(model: Model, _: Model) -> None:
        place: Any = model
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = to

    return change


def uncut(model: Model, _: Model) -> None:
    model.update(cutting=None, columns=[])
    model["settings"]["booleanise"] = None


EDITS: list[tuple[str, Callable[[Model, Model], object], int, str]] = [
    ("two", both("unit is MICU", value="XICU"), 1, "the concept 'unit is MICU' means 'unit is XICU'"),
    ("two", both("unit is MICU", column="smoker"), 1, "cannot"),
    ("two", model_of(cutting=None), 2, "columns in model.json must be empty"),
    ("two", uncut, 1, "the columns of its table are the concepts, and yet"),
    ("two", decide(otherwise=1), 1, "is a complement, and yet rows on which nothing fires get 'yes'"),
    ("two", model_of(labels=["yes", "no"]), 1, "are not its class names"),
    ("two", model_of(labels=["no"]), 1, "are not its class names"),
    ("two", model_of(multilabel=True), 1, "differ in whether a row may have several labels"),
    ("two", inner("rules", "classes", 0, "confidence", to=1e308), 2, "must be a number from 0 to 1"),
    ("two", inner("rules", "classes", 0, "confidence", to=-0.1), 2, "must be a number from 0 to 1"),
    ("two", inner("rules", "classes", 1, "class", to="maybe"), 1, "prints no rules for it"),
    ("two", lambda m, c: m["rules"]["classes"].reverse(), 2, "complement of class number 1, which has no formula"),
    ("two", lambda m, c: m["rules"]["predicates"].clear(), 1, "rules and model differ in what"),
    ("two", inner("rules", "kind", to="rules"), 2, "rules.kind in model.json must be 'logiclens rules'"),
    ("two", inner("rules", "schema", to=1), 2, "rules.schema in model.json must be 2"),
    ("two", inner("rules", "more", to=1), 2, "rules in model.json has the unknown field 'more'"),
    ("two", inner("network", "rules", to=1), 2, "network.rules in model.json must be 0"),
    ("two", inner("cutting", "kinds", "age", to="text"), 1, "cannot be asked of 'age', a column of kind text"),
    ("two", inner("cutting", "kinds", "age", to="float"), 2, "cutting.kinds.age in model.json must be one of"),
    ("two", inner("cutting", "kinds", "more", to="text"), 1, "the column 'more' must have a kind, and concepts"),
    ("two", model_of(columns=["age", "unit"]), 1, "'smoker' is not among its columns"),
    ("two", model_of(positional=True), 1, "must be called x0, x1 and so on"),
    ("two", model_of(exclusive=[["unit is SICU", "unit is CCU"]]), 1, "in the order of `concepts`"),
    ("two", model_of(exclusive=[["unit is SICU"]]), 1, "must be several concepts"),
    ("two", inner("rules", "exclusive", to=[["unit is MICU", "smoker"]]), 1, "as exclusive, which the model does not"),
    ("two", inner("rules", "implied", to=[["unit is MICU", "smoker"]]), 1, "as a chain, which the model does not"),
    ("two", model_of(target=3), 2, "target in model.json must be a string"),
    ("two", lambda m, c: c.update(more=1), 2, "certificate.json has the unknown field 'more'"),
    ("three", decide(resolve="confidence", order=[0]), 1, "must name each class with a formula once"),
    ("three", lambda m, c: m["rules"]["classes"].reverse(), 1, "prints rules in another order"),
    ("dates", inner("labels", to=["0", "1", "2"]), 1, "are not those of its rules"),
    ("dates", inner("labels", to=[0.0, 1, 2]), 1, "of several types"),
    ("labels", model_of(labels=[1, 2, 3]), 1, "must count its class names from 0"),
    ("labels", decide(otherwise=0), 1, "and a row can have several labels"),
    ("soft", lambda m, c: m["cutting"]["scales"].clear(), 2, "exactly if settings.booleanise is soft"),
    *(
        ("two", inner(*path, "more", to=1), 2, "the unknown field 'more'")
        for path in [
            ("network",),
            ("cutting",),
            ("predicates", "unit is MICU"),
            ("rules", "classes", 0),
            ("rules", "classes", 1),
            ("rules", "classes", 1, "cubes", 0),
        ]
    ),
    ("two", model_of(more=1), 2, "the unknown field 'more'"),
    ("two", lambda m, c: c["classes"][1].update(more=1), 2, "the unknown field 'more'"),
    ("own", inner("predicates", "smoker", "column", to="in icu"), 1, "and yet 'smoker' means 'in icu is True'"),
]


@pytest.mark.parametrize(
    ("name", "change", "code", "words"), EDITS, ids=[f"{e[0]}-{e[3][:40]}-{n}" for n, e in enumerate(EDITS)]
)
def test_a_consistent_looking_edit_is_refused(cases, tmp_path, name, change, code, words):
    with pytest.raises(VerificationError) as caught:
        verify(write_edited(cases[name], edit(change), tmp_path))
    assert words in str(caught.value)
    assert caught.value.exit_code == code


def test_scales_of_columns_are_checked(cases, tmp_path):
    def middle(model: Model, _: Model) -> None:
        scale = next(iter(model["cutting"]["scales"].values()))
        scale[0] += 1

    def reach(model: Model, _: Model) -> None:
        next(iter(model["cutting"]["scales"].values()))[1] = 0

    for name, change, words in [
        ("soft", middle, "is rescaled around another value"),
        ("soft", reach, "must be two finite numbers, the second above 0"),
    ]:
        with pytest.raises(VerificationError, match=words):
            verify(write_edited(cases[name], edit(change), tmp_path / name))


def test_another_model_is_described_as_what_it_is(cases, tmp_path):
    def otherwise(model: Model, certificate: Model) -> None:
        model["rules"]["otherwise"] = certificate["otherwise"] = 0
        model["target"] = "group"
        model["rules"]["classes"][0]["cubes"][0]["confidence"] = 0.123456

    text = str(verify(write_edited(cases["three"], edit(otherwise), tmp_path)))
    assert "; otherwise old." in text
    assert "They predict group." in text
    assert "confidence 0.1235" in text
    assert "Columns, by position: x0 (number), x1 (number)." in str(verify(cases["none"].folder))
    assert "Where not exactly one formula fires, nobody decides." in str(verify(cases["none"].folder))
    assert "Every label is decided by its own formula." in str(verify(cases["labels"].folder))
    assert "The columns are the concepts: old (true from 0.5 on), smoker (true or false)," in str(
        verify(cases["own"].folder)
    )


def test_texts_that_look_like_numbers_are_quoted_labels(cases, tmp_path):
    def as_texts(model: Model, _: Model) -> None:
        model["labels"] = model["class_names"]
        for rule, name in zip(model["rules"]["classes"], model["class_names"], strict=True):
            rule["class"] = name

    assert str(verify(cases["dates"].folder)).startswith("0: equal on")
    assert str(verify(write_edited(cases["dates"], edit(as_texts), tmp_path))).startswith('"0": equal on')


"""Knowledge of every kind."""


def rename(model: Model, certificate: Model, old: str, new: str) -> None:
    for document in (model, certificate):
        changed = replaced_everywhere(document, old, new)
        document.clear()
        document.update(changed)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("own", lambda m, c: m.update(positional=True), "positional in model.json must be false"),
        ("two", lambda m, c: m["settings"].update(booleanise=None), "cutting in model.json must be null exactly if"),
    ],
)
def test_what_cannot_be_loaded_is_not_verified(cases, tmp_path, name, change, words):
    folder = write_edited(cases[name], edit(change), tmp_path)
    with pytest.raises(LogicLensError):
        EntropyClassifier.load(folder)
    with pytest.raises(VerificationError, match=re.escape(words)):
        verify(folder)


def objects(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all objects in a document, with its root."""
    if isinstance(value, dict):
        yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from objects(item, (*path, key))


OPTIONAL = ("recurs", "cuts", "bags", "table")
"""Fields that may be absent: words about the table, and recurrence."""


@pytest.mark.parametrize("name", ["two", "three", "soft", "cities"])
@pytest.mark.parametrize("file", ["model", "certificate"])
def test_no_object_may_have_a_field_more_or_less(cases, tmp_path, name, file):
    case = cases[name]
    root = case.model if file == "model" else case.certificate
    for path in objects(root):
        # Nothing that is verified depends on how the model was trained, or on what is known of its table.
        if {"settings", "metrics", "table"} & {*path}:
            continue
        for key in ["unknown", *at(root, path)]:
            if "sha256" in key or key in OPTIONAL:
                continue

            def change(model: Model, certificate: Model, path=path, key=key) -> None:
                place = at(model if file == "model" else certificate, path)
                if key in place:
                    del place[key]
                else:
                    place[key] = {}

            with pytest.raises(VerificationError):
                pytest.fail(f"{path} {key}: {verify(write_edited(case, edit(change), tmp_path))}")


def test_groups_that_take_too_long_are_refused(saved, tmp_path, monkeypatch):
    for most, is_read in ((4, True), (3, False)):
        monkeypatch.setattr(reader, "MOST_PAIRS", most)
        if is_read:
            assert verify(saved.write(tmp_path)).classes
        else:
            with pytest.raises(Unusable, match="holds groups that are too large to be checked"):
                verify(saved.write(tmp_path))


def test_weights_that_only_the_model_denies_are_refused(saved, tmp_path):
    folder = saved.write(tmp_path)
    model, weights = json.loads((folder / "model.json").read_bytes()), (folder / "weights.safetensors").read_bytes()
    for change, words in (({"weights_sha256": "0" * 64}, "names other weights"), ({}, "has been changed since it was")):
        rest = {key: value for key, value in model.items() if key != "content_sha256"} | change
        content = sealed(rest) if change else {**rest, "content_sha256": "0" * 64}
        (folder / "model.json").write_text(json.dumps(content))
        certificate = certificate_of(saved.certificate, (folder / "model.json").read_bytes(), weights)
        (folder / "certificate.json").write_text(json.dumps(certificate))
        with pytest.raises(Unusable, match=words):
            verify(folder)


def test_names_do_not_depend_on_the_version_of_python(tmp_path):
    # Unicode 15, of Python 3.12, has this character; Unicode 14, of Python 3.11, does not. The other is in neither.
    heart, unknown = "\U0001fa77", "\u0378"
    table = pd.DataFrame({"sign": [heart, unknown, "x"] * 40, "old": [True, False, False, True] * 30})
    model = EntropyClassifier(exact=True).fit(table, table["sign"].isin([heart, unknown]))
    case = Case(model.save(tmp_path / "saved"), table)
    assert {f"sign is {heart}", f"sign is {unknown}"} <= set(case.model["concepts"])
    assert verify(case.folder).classes
    for number, spelled in enumerate((f"'{heart}'", r"'\U0001fa77'", f"'{heart} '", r"'\U0001FA77'", f'"{heart}"')):
        renamed = edit(lambda m, c, name=f"sign is {spelled}": rename(m, c, f"sign is {heart}", name))
        folder = write_edited(case, renamed, tmp_path / str(number))
        if number < 2:  # as earlier versions wrote it
            assert verify(folder).classes
            assert EntropyClassifier.load(folder).predict(table).tolist() == model.predict(table).tolist()
            continue
        with pytest.raises(VerificationError, match="means"):
            verify(folder)
        with pytest.raises(LogicLensError, match="is not what its predicate says"):
            EntropyClassifier.load(folder)


def test_chains_made_from_cuts_hold_lower_limits_only():
    for operator, is_right in ((">=", True), (">", False)):
        predicates = {name: Predicate("a", operator, value) for value, name in enumerate(("x", "y"))}
        model: Any = SimpleNamespace(concepts=("x", "y"), exclusive=(), implied=(("x", "y"),), predicates=predicates)
        with nullcontext() if is_right else pytest.raises(VerificationError, match="no lower limit of a column"):
            consistency._check_made_groups(model)
    model.predicates = {}
    with pytest.raises(VerificationError, match="no lower limit of a column"):
        consistency._check_made_groups(model)


def test_a_bound_equal_to_the_smallest_logit_is_refuted(saved, tmp_path):
    other = saved.copy()
    other.entry()["rounding_bound"] = other.entry()["smallest_logit"]
    with pytest.raises(VerificationError, match="must be above 0 and below its smallest_logit"):
        verify(other.write(tmp_path))
