"""Repeated rows are queried once, with the same cuts, counts and formulas as all rows."""

from __future__ import annotations

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from logiclens import EntropyClassifier
from logiclens.engine import query as condensing
from logiclens.engine.count import classes_of, count_rows
from logiclens.engine.histogram import tallies
from logiclens.engine.query import COUNT
from tests.engine.test_count import frame


@pytest.fixture
def rows() -> pd.DataFrame:
    """Every kind of column, each row there some fifty times."""
    return frame(60).sample(3_000, replace=True, random_state=0, ignore_index=True)


@pytest.fixture
def table(rows):
    connection = ibis.duckdb.connect()
    return connection.create_table("rows", pa.Table.from_pandas(rows, preserve_index=False))


def test_rows_that_repeat_are_condensed(table, rows):
    found = condensing.condensed(table, table.columns).to_pyarrow().to_pandas()
    assert len(found) <= 60
    assert found[COUNT].sum() == 3_000
    alone = condensing.condensed(table.limit(20), table.columns)
    assert COUNT not in alone.columns


def test_tallies_and_counts_are_those_of_all_rows(table):
    n_of_class = classes_of(table, "y")[1]
    names = [name for name in table.columns if name != "y"]
    plain = list(tallies(table, names, 3_000))
    with condensing.kept(table, table.columns) as few:
        assert classes_of(few, "y")[1].tolist() == n_of_class.tolist()
        for one, other in zip(plain, tallies(few, names, 3_000), strict=True):
            for part in ("missing", "counts"):
                assert np.array_equal(getattr(one, part), getattr(other, part))
            for part in ("name", "kind", "n_rows", "n_values", "categories", "whole"):
                assert getattr(one, part) == getattr(other, part)
            if one.histogram is not None:
                for part in ("low", "high", "weight"):
                    assert np.array_equal(getattr(one.histogram, part), getattr(other.histogram, part))


def test_a_model_of_repeated_rows_equals_that_of_all_rows(table, rows):
    model = EntropyClassifier(epochs=60, set_aside=0.2).fit(table, target="y")
    twin = EntropyClassifier(epochs=60, set_aside=0.2, cuts_on="all").fit(rows.drop(columns="y"), rows.y)
    assert model.table_.counted() == twin.table_.counted()
    assert model.set_aside_.table.counted() == twin.set_aside_.table.counted()
    assert str(model.explain()) == str(twin.explain())
    assert model.n_rows_ == 3_000


def test_nothing_is_left_in_the_engine(table):
    before = table.get_backend().list_tables()
    with condensing.kept(table, table.columns) as few:
        assert COUNT in few.columns
        assert len(table.get_backend().list_tables()) == len(before) + 1
    assert table.get_backend().list_tables() == before
    with pytest.raises(KeyError), condensing.kept(table, table.columns):
        raise KeyError
    assert table.get_backend().list_tables() == before


def test_without_permission_for_a_table_all_rows_are_queried(table, monkeypatch):
    def refuse(self):
        raise PermissionError("you may not")

    model = EntropyClassifier(epochs=20).fit(table, target="y")
    monkeypatch.setattr("ibis.expr.types.relations.Table.cache", refuse)
    with condensing.kept(table, table.columns) as all_rows:
        assert COUNT not in all_rows.columns
    assert EntropyClassifier(epochs=20).fit(table, target="y").table_.counted() == model.table_.counted()


def test_a_sample_of_condensed_rows_keeps_what_each_counts_for(monkeypatch):
    monkeypatch.setattr("logiclens.estimator.on_engine.SAMPLE", 400)
    rng = np.random.default_rng(0)
    distinct = pd.DataFrame({f"x{j:02}": rng.random(700) < 0.5 for j in range(16)})
    distinct["y"] = np.where(distinct.x03 & distinct.x07 | distinct.x11, "yes", "no")
    rows = distinct.sample(20_000, replace=True, random_state=0)
    there = ibis.duckdb.connect().create_table("rows", pa.Table.from_pandas(rows, preserve_index=False))
    with pytest.warns(UserWarning, match="more than 300 distinct rows of 16 concepts") as told:
        model = EntropyClassifier(epochs=60, max_distinct=300).fit(there, target="y")
    note = next(str(one.message) for one in told if "distinct rows" in str(one.message))
    assert "all 20,000 rows are counted" in note
    assert {"x03", "x07", "x11"} <= set(model.schema_.names)
    cutting = model.schema_.cutting
    assert count_rows(there, cutting, "y", ["no", "yes"]).total.sum() == 20_000
