"""What is timed computes the same thing on both sides."""

from __future__ import annotations

import numpy as np
import pytest

from lab.peers.torch_explain import interpreter
from lab.runs import scale
from lab.speed import ours, page, reference, sizes
from lab.speed.rows import SHAPES, generate, planted_formula
from logiclens.errors import MissingPackage


@pytest.mark.parametrize("name", list(SHAPES))
def test_generated_rows_have_the_shape_and_repeat(name):
    shape = SHAPES[name]
    train, held = generate(shape)
    assert len(train) + len(held) == shape.rows
    assert train.n_concepts == shape.concepts
    assert set(np.unique(train.labels)) == set(range(shape.classes))
    assert (generate(shape)[0].values == train.values).all()
    # Equal rows are counted together only where the shape says so.
    assert bool(np.isin(train.values, (0, 1)).all()) == shape.counted


def test_a_formula_is_evaluated_alike_in_three_ways():
    shape = SHAPES["mimic"]
    result = ours.formula(shape)
    train, held = generate(shape)
    bits = train.append(held).boolean()
    cubes = planted_formula(shape.concepts, cubes=5, literals=4)
    fires = np.zeros(len(bits), dtype=bool)
    for cube in cubes:
        fires |= np.logical_and.reduce([bits[:, j] == positive for j, positive in cube])
    assert result["fired"] == fires.sum()


def test_both_sides_measure_one_shape():
    try:
        interpreter()
    except MissingPackage as error:
        pytest.skip(str(error))
    result = reference.measure(1, 5, ["mimic"])
    assert {line["what"] for line in result["lines"]} >= {"epoch mimic, own heads", "extract mimic, all classes"}
    assert all(line["ours"] and line["reference"] for line in result["lines"])


def test_evaluation_and_growth_run_on_small_sizes():
    lines = page.evaluation([1000], 1)
    assert {line["what"] for line in lines} >= {page.NUMPY, page.PACKED, page.COPY}
    seconds = sizes.timed({**sizes.START, "rows": 300, "distinct": 50})
    assert set(seconds) == set(sizes.PARTS)
    assert min(seconds.values()) >= 0


def test_counting_in_an_engine_finds_the_distinct_rows(tmp_path):
    pytest.importorskip("duckdb")
    scale.generate(tmp_path, 3000, "few")
    pattern = str(tmp_path / "*.parquet")
    distinct = {name: scale.WORK[name][0](pattern, 1, "duckdb")() for name in ("group by", "pandas")}
    assert distinct["group by"] == distinct["pandas"]
    assert scale.merged([{"wall_s": 1.0, "distinct": 5}, {"wall_s": 3.0, "distinct": 5}]) == {
        "wall_s": 2.0, "distinct": 5, "fastest_s": 1.0, "slowest_s": 3.0,
    }  # fmt: skip
