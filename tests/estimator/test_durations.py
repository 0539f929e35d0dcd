"""Durations from end to end: every way out of a fitted model answers as the model does."""

from __future__ import annotations

import json
from datetime import timedelta

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pytest

from logiclens import Booleaniser, EntropyClassifier
from logiclens.errors import LogicLensError
from logiclens.export import from_json, rules_schema, to_json, to_latex, to_pmml, to_python, to_sql
from logiclens.formula.english import english
from logiclens.verify import verify
from logiclens.verify.predicates import excludes, implies, predicate_name
from logiclens.verify.records import Predicate as Asked

jsonschema = pytest.importorskip("jsonschema")


@pytest.fixture(scope="module")
def stays() -> pd.DataFrame:
    random = np.random.default_rng(0)
    hours = random.integers(-12, 200, 300).astype(float)
    stay = pd.Series(pd.to_timedelta(hours, unit="h")).mask(random.random(300) < 0.1)
    ill = (stay >= pd.Timedelta("2 days 12:00:00")) & (stay < pd.Timedelta(days=5))
    return pd.DataFrame({"stay": stay, "age": random.integers(20, 90, 300), "ill": np.where(ill, "yes", "no")})


@pytest.fixture(scope="module")
def model(stays: pd.DataFrame) -> EntropyClassifier:
    fitted = EntropyClassifier().fit(stays[["stay", "age"]], stays["ill"])
    fitted.explain()
    return fitted


@pytest.fixture(scope="module")
def answers(model: EntropyClassifier, stays: pd.DataFrame) -> list[str]:
    return [str(answer) for answer in model.rules_.predict(stays)]


def test_rules_find_the_planted_durations(model, stays, answers):
    cuts = {p.value for p in model.rules_.predicates.values() if p.column == "stay" and p.operator == ">="}
    assert cuts == {"2 days 12:00:00", "5 days"}
    assert answers == stays["ill"].tolist() == model.predict(stays[["stay", "age"]]).tolist()
    text = english(model.rules_.rules[1].formula, model.rules_.predicates) if len(model.rules_.rules) > 1 else ""
    assert "2 days 12:00:00" in text + english(model.rules_.rules[0].formula, model.rules_.predicates)


def test_a_saved_model_loads_verifies_and_answers_alike(model, stays, answers, tmp_path):
    model.save(tmp_path / "model")
    assert json.loads((tmp_path / "model" / "model.json").read_text())["cutting"]["kinds"]["stay"] == "timedelta"
    verify(tmp_path / "model")
    loaded = EntropyClassifier.load(tmp_path / "model")
    assert loaded.rules_ == model.rules_
    assert [str(answer) for answer in loaded.rules_.predict(stays)] == answers


def test_the_checker_reads_durations_by_its_own_code():
    day, days, three = (Asked("stay", ">=", text) for text in ("1 day 00:00:00", "10 days", "3 days 06:00:00"))
    assert implies(days, three)
    assert implies(three, day)
    assert not implies(three, days)
    assert excludes(Asked("stay", "<", "-1 days +18:00:00"), day)
    assert not excludes(day, days)
    assert excludes(Asked("stay", ">=", "2021-03-01"), day)
    assert not implies(Asked("stay", ">=", 5), day)
    assert predicate_name(day) == "stay >= 1 day 00:00:00"


def test_json_keeps_durations(model):
    assert from_json(to_json(model.rules_)) == model.rules_
    jsonschema.validate(json.loads(to_json(model.rules_)), rules_schema())


@pytest.mark.parametrize("form", ["pandas", "numpy", "python", "text"])
def test_exported_python_agrees_on_every_row(model, stays, answers, form):
    space: dict[str, object] = {}
    exec(to_python(model.rules_), space)
    made = {
        "pandas": list(stays["stay"]),
        "numpy": list(stays["stay"].to_numpy()),
        "python": [None if pd.isna(cell) else cell.to_pytimedelta() for cell in stays["stay"]],
        "text": [None if pd.isna(cell) else str(cell) for cell in stays["stay"]],
    }[form]
    rows = [{"stay": stay, "age": age} for stay, age in zip(made, stays["age"], strict=True)]
    assert [space["predict"](row) for row in rows] == answers


def test_exported_python_refuses_what_is_no_duration(model):
    space: dict[str, object] = {}
    exec(to_python(model.rules_), space)
    with pytest.raises(ValueError, match="stay holds 5 where a duration such as 2 days 06:00:00 is needed"):
        space["predict"]({"stay": 5, "age": 50})


def test_sql_agrees_on_every_row_in_duckdb(model, stays, answers):
    rows = stays  # noqa: F841, DuckDB finds it by its name
    assert [row[0] for row in duckdb.sql(f"SELECT prediction FROM ({to_sql(model.rules_)})").fetchall()] == answers


@pytest.mark.parametrize("dialect", ["sqlite", "spark", "snowflake"])
def test_other_dialects_refuse_durations_in_one_sentence(model, dialect):
    with pytest.raises(
        LogicLensError, match=f"the SQL of {dialect} cannot compare durations such as '2 days 12:00:00'"
    ):
        to_sql(model.rules_, dialect=dialect)


def test_pmml_refuses_and_latex_shows_durations(model):
    with pytest.raises(LogicLensError, match=r"PMML has no type for durations, which 'stay' holds\."):
        to_pmml(model.rules_)
    assert r"\geq \text{2\ days\ 12:00:00}" in to_latex(model.rules_)


@pytest.mark.parametrize("form", ["polars", "arrow", "dictionary", "objects", "text"])
def test_other_tables_give_the_same_concepts(model, stays, form):
    columns = stays[["stay", "age"]]
    table = {
        "polars": lambda: pl.from_pandas(columns),
        "arrow": lambda: pl.from_pandas(columns).to_arrow(),
        "dictionary": lambda: {"stay": columns["stay"].to_numpy(), "age": columns["age"].to_numpy()},
        "objects": lambda: columns.assign(stay=columns["stay"].astype(object)),
        "text": lambda: columns.assign(stay=columns["stay"].astype(str).where(columns["stay"].notna(), None)),
    }[form]()
    assert model.predict(table).tolist() == model.predict(columns).tolist()
    if form != "text":
        cuts = [Booleaniser("quantile").fit(given).predicates_ for given in (table, columns)]
        assert cuts[0] == cuts[1]


def test_own_and_soft_cuts_of_durations():
    table = {"stay": [timedelta(hours=hours) for hours in range(48)]}
    own = Booleaniser({"stay": [timedelta(days=1), "06:00:00"]})
    with pytest.raises(LogicLensError, match="a duration such as '2 days 06:00:00' also by order"):
        own.fit(table)
    own = Booleaniser({"stay": [timedelta(days=1), "0 days 06:00:00", np.timedelta64(90, "m")]}).fit(table)
    assert list(own.predicates_) == ["stay >= 0 days 01:30:00", "stay >= 0 days 06:00:00", "stay >= 1 day"]
    with pytest.raises(LogicLensError, match="the cuts of 'stay' must be durations, got 5"):
        Booleaniser({"stay": [5]}).fit(table)
    soft = Booleaniser("soft").fit(table)
    assert ((soft.transform(table)[:, 0] >= 0.5) == soft.predicates_[soft.cutting_.names[0]].holds(table["stay"])).all()


def test_texts_are_not_taken_for_durations_in_training():
    texts = Booleaniser("quantile").fit({"stay": ["1 days", "2 days", "3 days", "1 days"]})
    assert set(texts.cutting_.kinds.values()) == {"text"}


def test_numbers_in_place_of_durations_are_refused(model, stays):
    with pytest.raises(LogicLensError, match="'stay' held durations in training and holds numbers now"):
        model.predict(pd.DataFrame({"stay": [1.0, 2.0], "age": [30, 40]}))


def test_duckdb_counts_intervals_as_memory_does(stays):
    connection = ibis.duckdb.connect()
    connection.con.register("given", stays)
    connection.con.execute("CREATE TABLE stays AS SELECT * FROM given")
    there = EntropyClassifier().fit(connection.table("stays"), "ill")
    round_cuts = Booleaniser().fit(stays[["stay", "age"]]).predicates_
    assert there.schema_.predicates == round_cuts
    assert "stay >= 2 days" in there.rules_.concepts
    answers = np.array([str(answer) for answer in there.rules_.predict(stays)])
    assert there.score(connection.table("stays"), "ill") == (answers == stays["ill"]).mean()
