"""Neither the order of columns, nor a column that learning leaves out, changes what is learned."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from logiclens import EntropyClassifier, Knowledge
from tests.cli_runs import logiclens


def clinic() -> tuple[pd.DataFrame, np.ndarray]:
    """Texts, dates, gaps and whole numbers."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["man", "woman"], 300),
            "age": rng.integers(18, 90, 300),
            "unit": rng.choice(["CCU", "MICU", "SICU"], 300),
            "moved": pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 700, 300), "D"),
            "lab": np.where(rng.random(300) < 0.1, np.nan, rng.normal(size=300).round(2)),
        }
    )
    frame["admitted"] = frame["moved"] - pd.to_timedelta(rng.integers(1, 20, 300), "D")
    return frame, np.where((frame["age"] > 60) & (frame["unit"] != "CCU") ^ (rng.random(300) < 0.1), "ill", "well")


def answers() -> tuple[pd.DataFrame, np.ndarray]:
    """Texts of three values, so that rows are equal."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: rng.choice(list("xyz"), 400) for name in "psrq"})
    return frame, np.where((frame["p"] == "x") | (frame["q"] == "y") ^ (rng.random(400) < 0.15), "yes", "no")


def of_sklearn(load) -> tuple[pd.DataFrame, np.ndarray]:
    bunch = load(as_frame=True)
    return bunch.data.iloc[:, :6], bunch.target_names[bunch.target]


TABLES = {
    "clinic": clinic,
    "answers": answers,
    "cancer": lambda: of_sklearn(load_breast_cancer),
    "wine": lambda: of_sklearn(load_wine),
    "iris": lambda: of_sklearn(load_iris),
}


# The larger tables, and all but one file, take long.
SOME = [pytest.param(name, marks=pytest.mark.slow) if name in ("cancer", "wine") else name for name in TABLES]
FILES = [name if name == "answers" else pytest.param(name, marks=pytest.mark.slow) for name in TABLES]


def changed(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The same table in other forms, from which the same is to be learned."""
    rng, n_rows = np.random.default_rng(2), len(frame)
    return {
        "other order": frame[list(rng.permutation(frame.columns))],
        "identifier": frame.assign(key=[f"P{place:05d}" for place in range(n_rows)]),
        "renumbered": frame.assign(key=[f"P{place:05d}" for place in rng.permutation(n_rows)]),
        "row number": frame.assign(aa_id=np.arange(n_rows) + 1),
        "constant": frame.assign(hospital="north"),
        "comment": frame.assign(comment=[f"note {place // 2}" for place in range(n_rows)]),
    }


@pytest.mark.filterwarnings("ignore::logiclens.errors.LogicLensWarning")
@pytest.mark.parametrize("name", SOME)
def test_the_same_is_learned_from_every_form_of_a_table(name):
    frame, labels = TABLES[name]()
    settings = {"set_aside": 0.25, "epochs": 30, "verbose": False}
    usual = EntropyClassifier(**settings).fit(frame, labels)
    for form, table in changed(frame).items():
        model = EntropyClassifier(**settings).fit(table, labels)
        assert set(model.set_aside_.places) == set(usual.set_aside_.places), form
        assert str(model.rules_) == str(usual.rules_), form
        np.testing.assert_array_equal(model.predict_proba(table), usual.predict_proba(frame), form)
    forbidden = frame.assign(secret=np.arange(len(frame)) % 7)
    knowing = EntropyClassifier(**settings, knowledge=Knowledge(forbidden_columns=["secret"])).fit(forbidden, labels)
    assert set(knowing.set_aside_.places) == set(usual.set_aside_.places)
    uncut = EntropyClassifier({"secret": []}, **settings).fit(forbidden, labels)
    assert set(uncut.set_aside_.places) == set(usual.set_aside_.places)
    # A table whose columns have no names has their order.
    numbers = frame.select_dtypes("number")
    if numbers.shape[1] > 1:
        bare = numbers.to_numpy()
        with_more = np.column_stack([np.ones(len(bare)), bare])
        places = [set(EntropyClassifier(**settings).fit(rows, labels).set_aside_.places) for rows in (bare, with_more)]
        assert places[0] == places[1]


@pytest.mark.parametrize("name", FILES)
def test_the_command_line_learns_the_same_from_every_file(name, tmp_path):
    frame, labels = TABLES[name]()
    told = {}
    for form, table in {"usual": frame, **changed(frame)}.items():
        table.assign(outcome=labels).to_csv(tmp_path / "table.csv", index=False)
        run = logiclens("explain", "table.csv", "--target", "outcome", "--json", "result.json", "--quiet", cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        result = json.loads((tmp_path / "result.json").read_text())
        told[form] = [one["english"] for one in result["classes"]], [row["row"] for row in result["rows"]]
    for form, found in told.items():
        assert found == told["usual"], form


@pytest.mark.filterwarnings("ignore:the column 'ward' is left out")
def test_subgroups_are_of_columns_that_learning_leaves_out():
    frame, labels = answers()
    ward = np.random.default_rng(3).choice(["north", "south"], len(frame))
    table = frame.assign(ward=ward)
    model = EntropyClassifier({"ward": []}, set_aside=0.25, epochs=5, verbose=False).fit(table, labels)
    by_name, by_values = model.statistics(by="ward"), model.statistics(by=ward)
    for place in ("north", "south"):
        n_rows = int((ward[model.set_aside_.places] == place).sum())
        assert by_name.subgroups[place][0].prevalence.total == by_values.subgroups[place][0].prevalence.total == n_rows
