"""The model folder without the network, and two rule sets in a common language."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.errors import LogicLensError
from logiclens.estimator import EntropyClassifier
from logiclens.formula import DNF, Cube, Literal, Rule, RuleSet, parse
from logiclens.formula.column_facts import impossible, in_one_language
from logiclens.formula.folder import open_model, open_result, sealed
from logiclens.formula.predicate import Predicate
from logiclens.report.result import Source, result_of

ROWS = pd.DataFrame({"age": [20.0, 35, 50, 61, 72, 90] * 12, "unit": ["A", "B", "C"] * 24})
LABELS = np.where((ROWS["age"] >= 60) & (ROWS["unit"] != "A"), "ill", "well")


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[EntropyClassifier, Path]:
    model = EntropyClassifier(exact=True, set_aside=0.25, epochs=40).fit(ROWS, pd.Series(LABELS, name="state"))
    result = result_of(model, model.explain(), Source("rows.csv", len(ROWS), 2, "state"))
    return model, model.save(tmp_path_factory.mktemp("folder") / "model", result)


@pytest.fixture
def folder(made, tmp_path) -> Path:
    return shutil.copytree(made[1], tmp_path / "model")


def edit(path: Path, change, *, seal: bool = False) -> None:
    content = json.loads(path.read_text())
    change(content)
    if seal:
        content = sealed({key: value for key, value in content.items() if key != "content_sha256"})
    path.write_text(json.dumps(content))


# The folder -------------------------------------------------------------------------------------------------------


def test_the_rules_of_a_folder_predict_what_the_model_does(made, folder):
    rules = RuleSet.load(folder)
    assert rules == made[0].rules_
    assert rules.predict(ROWS).tolist() == made[0].predict(ROWS).tolist()
    assert rules.predict(ROWS.to_dict("list")).tolist() == rules.predict(ROWS).tolist()


def test_loading_and_predicting_needs_no_torch_scikit_learn_or_pandas(folder):
    code = f"""
import sys
for name in ('torch', 'sklearn', 'scipy', 'pandas', 'narwhals', 'safetensors'):
    sys.modules[name] = None
from logiclens import RuleSet
rules = RuleSet.load({str(folder)!r})
print(list(rules.predict({{"age": [90, 20, None], "unit": ["B", "B", None]}})))
print(sorted({{'torch', 'sklearn', 'scipy', 'pandas'}} & {{name for name, module in sys.modules.items() if module}}))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    expected = RuleSet.load(folder).predict({"age": [90, 20, None], "unit": ["B", "B", None]})
    assert run.stdout.splitlines() == [str([np.str_(label) for label in expected]), "[]"]


def test_the_seal_is_the_hash_of_the_content(folder):
    content = open_model(folder)
    told = content.pop("content_sha256")
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    assert told == hashlib.sha256(text.encode()).hexdigest()
    assert open_result(folder)["model_sha256"] == hashlib.sha256((folder / "model.json").read_bytes()).hexdigest()


@pytest.mark.parametrize("name", ["model.json", "certificate.json", "result.json"])
@pytest.mark.parametrize("left", [0, 0.5, 0.99])
def test_what_was_cut_short_is_refused(folder, name, left):
    text = (folder / name).read_bytes()
    (folder / name).write_bytes(text[: int(left * len(text))])
    with pytest.raises(LogicLensError, match=rf"{name} cannot be read as JSON: it may be cut short"):
        open_result(folder) if name == "result.json" else RuleSet.load(folder)


def test_weights_that_were_cut_short_or_changed_are_refused(folder):
    weights = (folder / "weights.safetensors").read_bytes()
    for other in (weights[:-7], weights[:-1] + bytes([weights[-1] ^ 1])):
        (folder / "weights.safetensors").write_bytes(other)
        with pytest.raises(
            LogicLensError, match=r"is not the file that model\.json was saved with: its sha256 differs"
        ):
            open_model(folder)
    (folder / "weights.safetensors").unlink()
    with pytest.raises(LogicLensError, match="the weights are missing"):
        open_model(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["rules"]["classes"][0]["cubes"][0].update(confidence=0.123),
        lambda content: content["rules"].update(otherwise=1 - content["rules"]["otherwise"]),
        lambda content: content.update(target="another"),
        lambda content: content["settings"].update(epochs=41),
        lambda content: content.update(extra=1),
        lambda content: content.pop("metrics"),
    ],
)
def test_a_change_of_the_model_is_refused(folder, change):
    edit(folder / "model.json", change)
    with pytest.raises(LogicLensError, match=r"model\.json was changed after it was saved"):
        open_model(folder)
    # Who seals it again meets the certificate.
    edit(folder / "model.json", lambda content: None, seal=True)
    with pytest.raises(LogicLensError, match=r"certificate\.json is for another model"):
        open_model(folder)


@pytest.mark.parametrize("schema", [0, 4, 99, None, "2", [1], True])
def test_a_schema_that_is_not_known_is_refused(folder, schema):
    edit(folder / "model.json", lambda content: content.update(schema=schema), seal=True)
    with pytest.raises(LogicLensError, match=r"this version reads schema 1 to 3"):
        open_model(folder)


def test_a_changed_result_or_one_of_another_model_is_refused(folder):
    edit(folder / "result.json", lambda content: content["metrics"][0].update(value=12.5))
    with pytest.raises(LogicLensError, match=r"result\.json was changed after it was saved"):
        open_result(folder)
    edit(folder / "result.json", lambda content: content.update(model_sha256="0" * 64), seal=True)
    with pytest.raises(LogicLensError, match=r"result\.json is of another model"):
        open_result(folder)
    (folder / "result.json").unlink()
    with pytest.raises(LogicLensError, match="holds no result: save it with `logiclens explain"):
        open_result(folder)


def test_what_is_no_model_is_named(folder, tmp_path):
    with pytest.raises(LogicLensError, match="there is no folder"):
        RuleSet.load(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(LogicLensError, match=r"there is no .*model\.json"):
        RuleSet.load(tmp_path / "empty")
    edit(folder / "model.json", lambda content: content.update(kind="a cake"))
    with pytest.raises(LogicLensError, match="does not describe a logiclens model"):
        RuleSet.load(folder)
    (folder / "model.json").write_text("[1, 2]")
    with pytest.raises(LogicLensError, match="does not hold what was saved there"):
        RuleSet.load(folder)
    with pytest.raises(LogicLensError, match="holds no result"):
        open_result(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["schema1_exact", "schema1_soft"])
def test_a_folder_of_schema_1_is_read(name):
    content = open_model(Path(__file__).parents[1] / "folders" / name)
    assert content["schema"] == 1


# Concepts of two rule sets ----------------------------------------------------------------------------------------

PREDICATES = (
    Predicate("age", ">=", 40), Predicate("age", ">=", 60), Predicate("age", ">", 60), Predicate("age", "<", 50),
    Predicate("age", "<=", 30), Predicate("age", "==", 60), Predicate("age", "missing"), Predicate("unit", "==", "A"),
    Predicate("unit", "==", "B"), Predicate("unit", "missing"), Predicate("seen", ">=", "2021-03-01"),
    Predicate("seen", "<", "2020-01-01"), Predicate("flag", "==", True), Predicate("flag", "missing"),
)  # fmt: skip
VALUES = {
    "age": [None, 10, 30, 35, 40, 45, 50, 55, 60, 61, 99], "unit": [None, "A", "B", "other"],
    "seen": [None, "2019-05-05", "2020-01-01", "2020-06-01", "2021-03-01", "2022-01-01"], "flag": [None, 0, 1],
}  # fmt: skip


def named(predicates) -> RuleSet:
    return RuleSet((Rule("x", DNF.true, (0.5,)),), {str(predicate): predicate for predicate in predicates})


def can_be(cube: Cube, predicates) -> bool:
    """Whether some value of each column makes the literals about it true, tried one by one."""
    for column, values in VALUES.items():
        asked = [literal for literal in cube if predicates[literal.concept].column == column]
        cells = [
            all(bool(predicates[literal.concept].holds([value])[0]) == literal.positive for literal in asked)
            for value in values
        ]
        if not any(cells):
            return False
    return True


@given(st.dictionaries(st.sampled_from(PREDICATES), st.booleans(), max_size=6), st.integers(0, 2**14 - 1))
def test_a_cube_is_impossible_where_no_value_makes_it_true(signs, split):
    cube = Cube(Literal(str(predicate), positive) for predicate, positive in signs.items())
    halves = [[p for i, p in enumerate(PREDICATES) if (split >> i & 1) == side] for side in (0, 1)]
    never = impossible(in_one_language(named(halves[0]), named(halves[1])))
    assert never(cube) == (not can_be(cube, {str(predicate): predicate for predicate in PREDICATES}))


def test_declared_groups_count_too():
    rules = RuleSet((Rule("x", parse("a & b"), (0.5,)),))
    grouped = replace(rules, groups=type(rules.groups)([["a", "b"]]))
    cube = Cube([Literal("a"), Literal("b")])
    assert not impossible([rules])(cube)
    assert impossible([rules, grouped])(cube)


def test_a_column_of_dates_and_of_numbers_excludes_nothing():
    never = impossible([named([Predicate("when", ">=", "2021-01-01")]), named([Predicate("when", ">=", 3)])])
    for signs in product([True, False], repeat=2):
        names = ("when >= 2021-01-01", "when >= 3")
        assert not never(Cube(Literal(name, sign) for name, sign in zip(names, signs, strict=True)))


@given(st.permutations(["a", "b", "c", "d"]), st.lists(st.sampled_from(PREDICATES[:6]), min_size=4, max_size=4))
def test_a_common_language_keeps_meanings_and_makes_names_unique(names, meant):
    first = RuleSet((Rule("x", parse("a | (b & ~c)"), (0.5, 0.6)),), dict(zip("abc", PREDICATES[:3], strict=True)))
    second = RuleSet((Rule("x", parse("(a & ~b) | c | d"), (0.5, 0.6, 0.7)),), dict(zip(names, meant, strict=True)))
    old, new = in_one_language(first, second)
    table = {"age": VALUES["age"]}
    assert old.fires(table).tolist() == first.fires(table).tolist()
    assert new.fires(table).tolist() == second.fires(table).tolist()
    for concept in set(old.concepts) & set(new.concepts):
        assert old.predicate(concept) == new.predicate(concept)
    shared = {old.predicate(c) for c in old.concepts} & {new.predicate(c) for c in new.concepts}
    for predicate in shared:
        assert {c for c in old.concepts if old.predicate(c) == predicate} & set(new.concepts)


def test_a_name_with_another_meaning_is_replaced_by_its_meaning():
    first, second = (
        RuleSet((Rule("x", parse("old"), (0.5,)),), {"old": Predicate("age", ">=", cut)}) for cut in (60, 70)
    )
    assert str(in_one_language(first, second)[1].formulas[0]) == '"age >= 70"'
