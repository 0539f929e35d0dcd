"""Fitting from a file and a target column by name, compared with fitting from a frame."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from logiclens.concepts.booleaniser import Booleaniser
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.estimator import EntropyClassifier
from logiclens.tables.frames import column_names, opened, parted

RNG = np.random.default_rng(2)
FRAME = pd.DataFrame({"age": RNG.integers(20, 90, 120), "unit": RNG.choice(["CCU", "MICU"], 120)})
FRAME["ill"] = np.where(FRAME["age"] >= 60, "yes", "no")
ROWS = FRAME.drop(columns="ill")


@pytest.fixture(params=["csv", "parquet", "jsonl"])
def file(request, tmp_path):
    path = tmp_path / f"patients.{request.param}"
    if request.param == "csv":
        FRAME.to_csv(path, index=False)
    elif request.param == "parquet":
        FRAME.to_parquet(path)
    else:
        FRAME.to_json(path, orient="records", lines=True)
    return path


def test_a_file_is_fitted_as_its_frame(file):
    by_frame = EntropyClassifier(epochs=10).fit(ROWS, FRAME["ill"])
    by_file = EntropyClassifier(epochs=10).fit(str(file), "ill")
    assert (by_file.predict_proba(file) == by_frame.predict_proba(ROWS)).all()
    assert by_file.target_name_ == by_frame.target_name_ == "ill"
    assert list(by_file.feature_names_in_) == ["age", "unit"]


def test_a_booleaniser_takes_a_file_and_leaves_its_target_out(file):
    by_frame = Booleaniser().fit(ROWS, FRAME["ill"])
    by_file = Booleaniser().fit(file, "ill")
    assert dict(by_file.predicates_) == dict(by_frame.predicates_)
    assert (by_file.transform(file) == by_frame.transform(ROWS)).all()


@pytest.mark.parametrize("table", [FRAME, pl.from_pandas(FRAME), pl.from_pandas(FRAME).lazy(), FRAME.to_dict("list")])
def test_a_target_is_parted_from_any_table(table):
    rows, target = parted(table, "ill")
    assert list(target) == FRAME["ill"].tolist()
    assert column_names(rows) == ["age", "unit"]
    # What was given stays as it was.
    assert column_names(table) == ["age", "unit", "ill"]


def test_what_is_no_file_stays_as_it_is():
    assert opened(FRAME) is FRAME
    rows, target = parted(ROWS, RNG)
    assert rows is ROWS
    assert target is RNG


def test_columns_that_are_not_there_are_named(file):
    with pytest.raises(LogicLensError, match="has no column 'il'; did you mean 'ill'"):
        EntropyClassifier().fit(file, "il")
    with pytest.raises(LogicLensError, match="has no column 'weight'; its columns are 'age', 'unit', 'ill'"):
        EntropyClassifier().fit(file, "weight")
    with pytest.raises(LogicLensError, match="a matrix has no column 'ill'"):
        EntropyClassifier().fit(np.zeros((4, 2)), "ill")
    model = EntropyClassifier(epochs=3).fit(file, "ill")
    other = file.with_name("other.csv")
    ROWS.rename(columns={"age": "ages"}).to_csv(other, index=False)
    with pytest.raises(LogicLensError, match=r"other\.csv has no column 'age'; did you mean 'ages'"):
        model.predict(other)


def test_a_matrix_model_takes_frames_by_position_with_scikits_warning(tmp_path):
    matrix = ROWS[["age"]].to_numpy()
    model = EntropyClassifier(epochs=5).fit(matrix, FRAME["ill"])
    expected = model.predict_proba(matrix)
    with pytest.warns(UserWarning, match="X has feature names, but EntropyClassifier was fitted without"):
        assert (model.predict_proba(ROWS[["age"]]) == expected).all()
    loaded = EntropyClassifier.load(model.save(tmp_path / "model"))
    assert (loaded.predict_proba(matrix) == expected).all()


@pytest.mark.parametrize("holder", [pl.from_pandas, lambda frame: pl.from_pandas(frame).lazy(), pa.Table.from_pandas])
def test_rules_and_models_take_polars_and_arrow_tables(holder):
    model = EntropyClassifier(exact=True, epochs=30).fit(ROWS, FRAME["ill"])
    expected = model.predict(ROWS)
    assert (model.predict(holder(ROWS)) == expected).all()
    assert (model.rules_.predict(holder(ROWS)) == expected).all()


def test_fitting_warns_about_what_is_left_out():
    table = ROWS.assign(name=[f"p{i}" for i in range(len(ROWS))])
    with pytest.warns(LogicLensWarning, match="the column 'name' is left out") as caught:
        EntropyClassifier(epochs=2).fit(table, FRAME["ill"])
    assert caught[0].filename == __file__
    with pytest.warns(LogicLensWarning, match="the column 'name' is left out") as caught:
        Booleaniser().fit(table, FRAME["ill"])
    assert caught[0].filename == __file__
