"""The model folder: loading returns what was saved, and refuses changed, cut or mixed files."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.torch import load_file, save_file

from logiclens.concepts.booleaniser import Booleaniser
from logiclens.errors import LogicLensError
from logiclens.estimator import EntropyClassifier
from logiclens.formula import RuleSet
from logiclens.storage import check_model_target
from logiclens.verify import Refuted, Unusable, verify
from tests.folder_edits import edit_folder, parent_of, places
from tests.folder_edits import reseal as sealed_again

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {"age": RNG.integers(20, 95, 300), "crp": RNG.normal(10, 4, 300), 'odd "name"; --': RNG.random(300)}
)
RISK = np.where((FRAME["age"] >= 60) & (FRAME["crp"] >= 10), "high", "low")


@pytest.fixture(scope="module")
def exact() -> EntropyClassifier:
    return EntropyClassifier(Booleaniser("quantile", n_cuts=2), exact=True, epochs=60).fit(FRAME, RISK)


@pytest.fixture(scope="module")
def soft() -> EntropyClassifier:
    return EntropyClassifier(Booleaniser("quantile", n_cuts=2), exact=False, epochs=30, hidden=(8, 4)).fit(FRAME, RISK)


@pytest.fixture
def folder(exact, tmp_path) -> Path:
    return exact.save(tmp_path / "model")


def read(folder: Path, name: str = "model.json") -> dict:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def write(folder: Path, name: str, content: dict) -> None:
    (folder / name).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def reseal(folder: Path) -> None:
    """Recompute every hash, as someone would who wants a change to go unnoticed."""

    def digest(name: str) -> str:
        return hashlib.sha256((folder / name).read_bytes()).hexdigest()

    model = read(folder)
    model["weights_sha256"] = digest("weights.safetensors")
    model.pop("content_sha256", None)
    text = json.dumps(model, sort_keys=True, separators=(",", ":"))
    model["content_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    write(folder, "model.json", model)
    claim = read(folder, "certificate.json")
    claim.update(model_sha256=digest("model.json"), weights_sha256=digest("weights.safetensors"))
    claim.pop("certificate_sha256")
    text = json.dumps(claim, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    claim["certificate_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    write(folder, "certificate.json", claim)


def test_an_exact_model_predicts_after_loading_as_before(exact, folder):
    loaded = EntropyClassifier.load(folder)
    np.testing.assert_array_equal(loaded.predict(FRAME), exact.predict(FRAME))
    np.testing.assert_array_equal(loaded.predict_proba(FRAME), exact.predict_proba(FRAME))
    assert loaded.rules_ == exact.rules_
    assert loaded.certificate_ == exact.certificate_
    assert [e.formula for e in loaded.explain(FRAME)] == [e.formula for e in exact.explain()]
    np.testing.assert_array_equal(loaded.classes_, exact.classes_)


def test_a_soft_model_predicts_after_loading_as_before(soft, tmp_path):
    loaded = EntropyClassifier.load(soft.save(tmp_path / "soft"))
    np.testing.assert_array_equal(loaded.predict_proba(FRAME), soft.predict_proba(FRAME))
    assert [str(e.formula) for e in loaded.explain(FRAME)] == [str(e.formula) for e in soft.explain(FRAME)]
    assert not (tmp_path / "soft" / "certificate.json").exists()
    with pytest.raises(Unusable, match="certificate"):
        verify(tmp_path / "soft")


@pytest.mark.parametrize("labels", [[0, 1], [False, True], [1.0, 2.0], ["x", "y"]])
@pytest.mark.parametrize("exact", [False, True])
def test_labels_of_any_kind_come_back_as_they_were(labels, exact, tmp_path):
    rows = np.array([[0, 1], [1, 0], [1, 1], [0, 0]] * 10, dtype=float)
    y = np.array(labels)[rows[:, 0].astype(int)]
    model = EntropyClassifier(None, exact=exact, epochs=20).fit(rows, y)
    loaded = EntropyClassifier.load(model.save(tmp_path / "model"))
    assert loaded.predict(rows).dtype == model.predict(rows).dtype
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
    if exact:
        assert len(verify(tmp_path / "model").classes) == 2


def test_several_labels_and_groups_come_back(tmp_path):
    from logiclens.concepts.concept_table import ConceptTable

    rows = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]] * 10, dtype=float)
    table = ConceptTable(rows, ["a", "b", "c"], exclusive=[["a", "b", "c"]])
    model = EntropyClassifier(None, exact=True, epochs=30).fit(table, rows[:, :2].astype(int))
    loaded = EntropyClassifier.load(model.save(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
    assert loaded.schema_ == model.schema_
    assert loaded.schema_.groups.exclusive == (("a", "b", "c"),)
    assert verify(tmp_path / "model").classes[0].rows < 8


def test_no_row_of_the_data_is_in_the_folder(folder):
    text = (folder / "model.json").read_text() + (folder / "certificate.json").read_text()
    assert str(FRAME["crp"].iloc[0]) not in text
    assert "data_sha256" in text
    with pytest.raises(LogicLensError, match="keeps no rows: pass the rows to explain"):
        EntropyClassifier.load(folder).explain()


def test_the_data_hash_tells_data_apart(exact, folder, tmp_path):
    quick = EntropyClassifier(Booleaniser("quantile", n_cuts=2), exact=True, epochs=5)
    turned = quick.fit(FRAME.iloc[::-1], RISK[::-1]).save(tmp_path / "turned")
    # The order of the rows is no part of the data; one label more or less is.
    assert read(turned)["data_sha256"] == read(folder)["data_sha256"]
    changed = np.where(np.arange(len(RISK)) == 7, np.where(RISK == "high", "low", "high"), RISK)
    assert read(quick.fit(FRAME, changed).save(tmp_path / "other"))["data_sha256"] != read(folder)["data_sha256"]
    again = exact.save(tmp_path / "again")
    assert read(again)["data_sha256"] == read(folder)["data_sha256"]


def test_saving_replaces_a_model_and_nothing_else(exact, folder, tmp_path):
    exact.save(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["certificate.json", "model.json", "weights.safetensors"]
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    with pytest.raises(LogicLensError, match=r"mine exists and is not a model folder alone \(it holds 'thesis.txt'\)"):
        exact.save(mine)
    assert (mine / "thesis.txt").read_text() == "years of work"
    (folder / "notes.txt").write_text("keep me")
    with pytest.raises(LogicLensError, match="is not a model folder"):
        exact.save(folder)
    (tmp_path / "file").write_text("a file")
    with pytest.raises(LogicLensError, match="is not a model folder"):
        exact.save(tmp_path / "file")


def test_a_failed_save_keeps_the_old_model_and_no_remains(exact, folder, tmp_path, monkeypatch):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def fail(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", fail)
    with pytest.raises(LogicLensError, match=r"cannot be written to .*model \(no space left on device\)"):
        exact.save(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert os.listdir(tmp_path) == ["model"]
    with pytest.raises(LogicLensError, match="no space left"):
        exact.save(tmp_path / "new")
    assert os.listdir(tmp_path) == ["model"]


def test_a_loaded_model_is_not_saved_again(folder, tmp_path):
    with pytest.raises(LogicLensError, match="already in a folder: copy that"):
        EntropyClassifier.load(folder).save(tmp_path / "copy")


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("booleanise", ["round", "soft", {"age": [50, 70], "day": ["2021-01-01"], "unit": ["b"]}])
def test_columns_of_every_kind_come_back(booleanise, exact, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(200) < 0.1, np.nan, rng.integers(20, 95, 200)),
            "unit": rng.choice(np.array(["a", "b", "c", None], dtype=object), 200),
            "ward": pd.Categorical(rng.choice([1, 2, 3], 200)),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 200), unit="D"),
            "smoker": rng.random(200) < 0.5,
        }
    )
    label = np.where((frame["age"] >= 60) & (frame["unit"] == "b") | (frame["ward"].astype(int) == 2), "ill", "well")
    model = EntropyClassifier(booleanise, exact=exact, epochs=40).fit(frame, label)
    loaded = EntropyClassifier.load(model.save(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    pd.testing.assert_frame_equal(loaded.concepts(frame), model.concepts(frame))
    assert loaded.schema_.predicates == model.schema_.predicates
    assert loaded.schema_.groups == model.schema_.groups
    new = frame.assign(unit="z", ward=pd.Categorical([9] * 200), day=pd.NaT, age=None)
    np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))


# Folders of older versions -----------------------------------------------------------------------------------------

# What is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [{"kind": "recipe"}, {"schema": 9}, {"does_not_cover": []}])
def test_a_certificate_that_was_changed_is_refused(folder, change):
    write(folder, "certificate.json", {**read(folder, "certificate.json"), **change})
    with pytest.raises(LogicLensError, match=r"certificate\.json (is not a logiclens certificate|was changed after)"):
        EntropyClassifier.load(folder)


def test_an_unwritable_place_is_named_before_the_work(exact, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LogicLensError, match=r"cannot be made: .*file is not a folder that can be written to"):
        check_model_target(tmp_path / "file" / "model")
    with pytest.raises(LogicLensError, match="cannot be"):
        exact.save("/proc/nowhere/model")


# Verification of what the estimator saves -------------------------------------------------------------------------


def test_what_the_estimator_saves_verifies(exact, folder):
    report = verify(folder)
    for found, claimed in zip(report.classes, exact.certificate_.heads, strict=True):
        assert found.name == claimed.name
        assert found.rows == claimed.rows_checked
        # The two bounds are computed independently; both must leave room.
        assert found.bound < found.smallest_logit
        assert claimed.rounding_bound < claimed.smallest_logit


def test_a_certificate_beside_a_soft_model_is_refused(folder):
    write(folder, "model.json", {**read(folder), "exact": False})
    reseal(folder)
    with pytest.raises(Refuted, match="it says that the model is not exact, and there is a certificate"):
        verify(folder)


# The typed reader of the folder -------------------------------------------------------------------------------------

UNSORTED = (
    FRAME.rename(columns={"age": "zeta", "crp": "beta"})
    .drop(columns='odd "name"; --')
    .assign(
        unit=RNG.choice(["MICU", "CCU", "12"], 300),
        day=pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(300), "D"),
    )
)


@pytest.fixture(scope="module")
def unsorted(tmp_path_factory) -> dict[str, Path]:
    """Models whose columns are not in the order of the alphabet: soft, exact, and with several labels per row."""
    place = tmp_path_factory.mktemp("unsorted")
    quick = {"epochs": 200}
    several = np.column_stack([RISK == "high", UNSORTED["unit"] == "12"]).astype(int)
    made = {
        "soft": EntropyClassifier(exact=False, **quick).fit(UNSORTED, RISK),
        "exact": EntropyClassifier(exact=True, **quick).fit(UNSORTED, RISK),
        "several": EntropyClassifier({"zeta": "soft", "beta": [9.5]}, **quick).fit(UNSORTED, several),
    }
    return {name: model.save(place / name) for name, model in made.items()}


def answers(folder: Path) -> list:
    """What the network and the rules of a folder say."""
    model, rules = EntropyClassifier.load(folder), RuleSet.load(folder)
    return [model.predict(UNSORTED).tolist(), model.predict_proba(UNSORTED).tolist(), rules.predict(UNSORTED).tolist()]


def sorted_keys(content: dict, reverse: bool) -> dict:
    return json.loads(json.dumps(content), object_pairs_hook=lambda pairs: dict(sorted(pairs, reverse=reverse)))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", ["soft", "exact", "several"])
def test_the_order_of_keys_changes_no_answer(unsorted, tmp_path, name, reverse):
    folder = shutil.copytree(unsorted[name], tmp_path / "model")
    sealed_again(folder, {"model.json": sorted_keys(read(folder), reverse)})
    assert answers(folder) == answers(unsorted[name])


CHANGES = {
    "predicates lacks": lambda m: m.pop("predicates"),
    "unknown field 'more'": lambda m: m.update(more=1),
    "'network.hidden' .* must be a list": lambda m: m["network"].update(hidden=20),
    "'exact' .* must be true or false": lambda m: m.update(exact=0),
    "'network.n_concepts' is 1000000000": lambda m: m["network"].update(n_concepts=10**9),
    "setting 'hidden'": lambda m: m["network"].update(hidden=[10**9]),
    "does not fit the network": lambda m: (m["network"].update(hidden=[10**9]), m["settings"].update(hidden=[10**9])),
    "setting 'temperature'": lambda m: m["network"].update(temperature=2.0),
    "activation": lambda m: m["network"].update(activation="tanh"),
    "'cutting' and the setting 'booleanise'": lambda m: m.update(cutting=None),
    "needs 'cutting', which is null": lambda m: (
        m.update(cutting=None, columns=[]),
        m["settings"].update(booleanise=None),
    ),
    "are not the class names": lambda m: m["labels"].reverse(),
    "of one kind and in order": lambda m: (m["labels"].reverse(), m["class_names"].reverse()),
    "must number the classes": lambda m: m.update(multilabel=True),
    "must be a number from 0 to 1": lambda m: m["rules"]["classes"][0]["cubes"][0].update(confidence=1e308),
    "at the wrong place|order of": lambda m: m["concepts"].reverse(),
    "is not what its predicate says": lambda m: m["predicates"]["unit is MICU"].update(value="micu"),
    "rules and model differ in what": lambda m: m["rules"]["predicates"].clear(),
    "the rules are of the classes": lambda m: m["rules"]["classes"][0].update({"class": "other"}),
    "'resolve' must be": lambda m: m["rules"].update(resolve="first"),
    "must be the class of rows on which nothing fires": lambda m: m["rules"].update(otherwise=9),
    "no kind of a column": lambda m: m["cutting"]["kinds"].update(zeta="colour"),
    "cannot be asked of a column": lambda m: m["cutting"]["kinds"].update(zeta="text"),
    "'cutting.scales'": lambda m: m["cutting"]["scales"].update({"unit is MICU": [0, 1]}),
    "'settings' lacks 'epochs'": lambda m: m["settings"].pop("epochs"),
    "settings that this version does not know": lambda m: m["settings"].update(colour=1),
    "must be 'order'": lambda m: m["settings"].update(resolve="first"),
    "'metrics.rows'": lambda m: m["metrics"].update(rows="many"),
}


@pytest.mark.parametrize("said", CHANGES)
def test_a_model_that_contradicts_itself_is_refused(unsorted, tmp_path, said):
    folder = shutil.copytree(unsorted["soft"], tmp_path / "model")
    content = read(folder)
    CHANGES[said](content)
    sealed_again(folder, {"model.json": content})
    with pytest.raises(LogicLensError, match=said.replace("predicates lacks", "lacks 'predicates'")) as told:
        EntropyClassifier.load(folder)
    assert len(str(told.value).replace(str(folder), "")) < 250


def test_an_unknown_setting_is_quoted_without_control_characters(unsorted, tmp_path):
    folder = shutil.copytree(unsorted["soft"], tmp_path / "model")
    content = read(folder)
    content["settings"]["\x1b[31m\u202e"] = 1
    sealed_again(folder, {"model.json": content})
    with pytest.raises(LogicLensError, match="settings that this version does not know") as told:
        EntropyClassifier.load(folder)
    assert str(told.value).isprintable()


@pytest.mark.parametrize(
    ("part", "value"), [("resolve", "none"), ("otherwise", None), ("order", [0, 1]), ("classes", [])]
)
def test_rules_that_the_certificate_does_not_state_are_refused(unsorted, tmp_path, part, value):
    folder = shutil.copytree(unsorted["exact"], tmp_path / "model")
    sealed_again(folder, {"certificate.json": {**read(folder, "certificate.json"), part: value}})
    for load in (EntropyClassifier.load, RuleSet.load):
        with pytest.raises(LogicLensError, match=r"certificate\.json"):
            load(folder)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_refused(unsorted, tmp_path, wrong):
    folder = shutil.copytree(unsorted["soft"], tmp_path / "model")
    weights = load_file(folder / "weights.safetensors")
    next(tensor for tensor in weights.values() if tensor.is_floating_point()).view(-1)[0] = wrong
    save_file(weights, folder / "weights.safetensors")
    digest = hashlib.sha256((folder / "weights.safetensors").read_bytes()).hexdigest()
    sealed_again(folder, {"model.json": {**read(folder), "weights_sha256": digest}})
    with pytest.raises(LogicLensError, match=r"holds a weight in .* that is not finite"):
        EntropyClassifier.load(folder)


@pytest.mark.parametrize("name", ["model.json", "weights.safetensors", "certificate.json", "result.json"])
def test_what_is_no_regular_file_is_not_read(unsorted, tmp_path, name):
    folder = shutil.copytree(unsorted["exact"], tmp_path / "model")
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    with pytest.raises(LogicLensError, match=f"{name} is not a regular file"):
        RuleSet.load(folder)
    (folder / name).unlink()
    (folder / name).symlink_to("/dev/zero")
    with pytest.raises(LogicLensError, match=f"{name} is not a regular file"):
        EntropyClassifier.load(folder)


@pytest.mark.parametrize("labels", [[1, 2**64 - 1], [2**63 + 1, 2**63 + 3], [0, 7]])
@pytest.mark.parametrize("exact", [False, True])
def test_unsigned_labels_come_back_as_they_were(labels, exact, tmp_path):
    rows = np.array([[0, 1], [1, 0], [1, 1], [0, 0]] * 10, dtype=float)
    y = np.array(labels, dtype=np.uint64)[rows[:, 0].astype(int)]
    model = EntropyClassifier(None, exact=exact, epochs=20).fit(rows, y)
    loaded = EntropyClassifier.load(model.save(tmp_path / "model"))
    assert loaded.predict(rows).tolist() == model.predict(rows).tolist() == y.tolist()
    assert loaded.rules_.predict(pd.DataFrame(rows, columns=["x0", "x1"])).tolist() == y.tolist()
    assert loaded.score(rows, y) == 1


N_EDITS = 150
OWN_RULES = ("rules", "classes")
"""Rules of a model that is not exact: nothing repeats their cubes, so other cubes are another model's."""


def test_random_edits_are_refused_or_change_no_answer(unsorted, tmp_path):
    before = {name: answers(folder) for name, folder in unsorted.items()}
    changed = []
    for number in range(N_EDITS):
        name = list(unsorted)[number % len(unsorted)]
        folder = shutil.copytree(unsorted[name], tmp_path / "model")
        edit = edit_folder(folder, random.Random(number))
        try:
            if answers(folder) != before[name] and not (name != "exact" and edit.path[:2] == OWN_RULES):
                changed.append(f"{name}: {edit}")
        except LogicLensError:
            pass
        shutil.rmtree(folder)
    assert changed == []


def long_texts(content: dict) -> Iterator[dict]:
    """Yield copies of a content in which one value, or the name of one field, is a text of 2,000 characters."""
    long = "x" * 2000
    for path in places(content):
        if path[0] == "content_sha256" or (isinstance(path[-1], int) and path[-1] > 1):
            continue
        copy = json.loads(json.dumps(content))
        parent_of(copy, path)[path[-1]] = long
        yield copy
        copy = json.loads(json.dumps(content))
        holder = parent_of(copy, path)
        if isinstance(holder, dict):
            holder[long] = holder.pop(path[-1])
            yield copy


def test_messages_about_a_folder_are_never_as_long_as_it(soft, tmp_path):
    folder = soft.save(tmp_path / "soft", rules=soft.explain(FRAME, RISK).rules)
    told = []
    for changed in long_texts(read(folder)):
        sealed_again(folder, {"model.json": changed})
        try:
            EntropyClassifier.load(folder)
        except LogicLensError as error:
            told.append(str(error))
    assert len(told) > 100
    assert [message[:200] for message in told if len(message) > 500] == []


@pytest.mark.parametrize("unit", ["datetime64[ns]", "datetime64[D]", "timedelta64[ns]"])
def test_labels_that_would_be_read_as_numbers_are_not_saved(unit, tmp_path):
    rows = np.array([[0.0], [1.0]] * 30)
    model = EntropyClassifier(None, epochs=2).fit(rows, np.array([0, 1] * 30).astype(unit))
    assert model.predict(rows).dtype.kind in "mM"
    with pytest.raises(LogicLensError, match="cannot be saved: write them as text before the fit"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
