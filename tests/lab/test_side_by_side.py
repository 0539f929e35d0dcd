"""Six ways to explain a table: what is counted as printed, on small tables made by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.scripts import benchmark_script

side = benchmark_script("side_by_side")
peers = benchmark_script("peers")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 90, 300), "unit": rng.choice(["CCU", "MICU"], 300)})
    labels = np.where((frame["age"] >= 60) & (frame["unit"] == "MICU"), "yes", "no")
    return side.Table("patients", frame, labels, "died", "yes")


@pytest.fixture(scope="module")
def split(table):
    return side.folded(table.frame, table.labels, 0)[0]


def test_categories_are_joined_as_they_were():
    words = ["own", "rent", "own", "free"]
    others = [(column, i) for column in side.CREDIT if column != "housing" for i in range(len(side.CREDIT[column]))]
    wide = pd.DataFrame({f"{column}_{i}.0": [int(i == 0)] * len(words) for column, i in others})
    for i, word in enumerate(side.CREDIT["housing"]):
        wide[f"housing_{i}.0"] = [int(one == word) for one in words]
    joined = side.joined_categories(wide.assign(age=40))
    assert list(joined["housing"]) == words
    assert list(joined.columns) == ["age", *side.CREDIT]


def test_a_category_counts_as_its_column(split):
    assert side.origin("unit_MICU", split) == "unit"
    assert side.origin("age", split) == "age"


def test_a_list_names_its_five_most_important():
    text, first = side.ranked({f"c{i}": float(i) for i in range(12)}, "column", "weight")
    assert first == {"c11", "c10", "c9", "c8", "c7"}
    assert text.splitlines()[1].split() == ["c11", "11.0000"]
    assert text.splitlines()[-1] == "… and 2 more columns"


@pytest.mark.parametrize("method", ["logiclens", "tree", "ripper", "figs"])
def test_what_states_conditions_finds_the_two_columns(method, split, table):
    printed = side.METHODS[method](split, table)
    assert printed.columns == {"age", "unit"}
    assert np.mean(printed.predicted == split.test_labels) > 0.9
    assert printed.length >= len(printed.conditions) >= 2
    assert "age" in printed.text
    assert "unit" in printed.text


def test_a_forest_with_shap_gives_each_column_one_number(split, table):
    pytest.importorskip("shap")
    printed = side.METHODS["shap"](split, table)
    assert (printed.length, printed.columns, printed.conditions) == (2, {"age", "unit"}, None)
