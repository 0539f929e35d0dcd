"""Histograms of columns with very many values: counting by refinement equals sorting all values."""

from __future__ import annotations

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.concepts.booleaniser import Booleaniser
from logiclens.concepts.cuts import Tally
from logiclens.engine import histogram as looking
from logiclens.engine.histogram import tallies
from logiclens.tables.frames import columns_of
from tests.examples import examples

RNG = np.random.default_rng(0)
N = 6_000
SHAPES = {
    "normal": RNG.normal(size=N),
    "skewed": RNG.lognormal(0, 4, N),
    "steep": 2.0 ** -RNG.integers(0, 900, N) * RNG.choice([-1.0, 1.0], N),
    "one far away": np.append(RNG.normal(size=N - 1), 1e300),
    "beyond the range": np.append(RNG.normal(size=N - 2), [1.7e308, -1.7e308]),
    "very close": 1.0 + RNG.integers(0, 3_000, N) * 2.0**-52,
    "tiny": RNG.integers(0, 3_000, N) * 5e-324,
    "one value often": np.where(RNG.random(N) < 0.7, 0.25, RNG.normal(size=N)),
    "few values": RNG.choice(RNG.normal(size=900), N),
    "with gaps": np.where(RNG.random(N) < 0.2, np.nan, RNG.normal(size=N)),
    "wide whole numbers": RNG.integers(-(2**62), 2**62, N),
    "whole with gaps": np.where(RNG.random(N) < 0.2, np.nan, RNG.integers(0, 10**9, N).astype(float)),
    "moments": (np.datetime64("1999-12-31T23:59:59.5", "us") + RNG.integers(0, 10**15, N).astype("timedelta64[us]")),
    "moments of a second": np.datetime64("2020-01-01", "us") + RNG.integers(0, 10**6, N).astype("timedelta64[us]"),
    "days": np.datetime64("2020-01-01", "s") + RNG.integers(0, 900, N).astype("timedelta64[D]"),
}


@pytest.fixture
def few_parts(monkeypatch):
    """So that several looks are needed."""
    set_most(monkeypatch, parts=4_096, values=2_000)


def set_most(monkeypatch, parts: int, values: int) -> None:
    monkeypatch.setattr(looking, "PARTS", parts)
    monkeypatch.setattr(looking, "FEW_VALUES", values)


def both(values) -> tuple[Tally, Tally]:
    """The tally that memory makes, and the one that an engine makes."""
    rows = pd.DataFrame({"x": values})
    table = ibis.duckdb.connect().create_table("rows", pa.Table.from_pandas(rows, preserve_index=False))
    [there] = tallies(table, ["x"], len(rows))
    return Tally.of(columns_of(rows)[0], np.ones(len(rows))), there


def check(here: Tally, there: Tally) -> None:
    for part in ("low", "high", "weight"):
        assert np.array_equal(getattr(there.histogram, part), getattr(here.histogram, part)), part
    assert np.array_equal(there.missing, here.missing)
    assert (there.n_rows, there.whole, there.loose) == (here.n_rows, here.whole, None)


@pytest.mark.parametrize("shape", SHAPES)
def test_bins_are_those_of_memory(shape):
    check(*both(SHAPES[shape]))


@pytest.mark.parametrize("shape", SHAPES)
def test_however_many_looks_are_needed(few_parts, monkeypatch, shape):
    looks = []
    for look in ("_again", "_by_value"):
        taken = getattr(looking.Parting, look)
        monkeypatch.setattr(
            looking.Parting, look, lambda self, *given, taken=taken: looks.append(1) or taken(self, *given)
        )
    here, there = both(SHAPES[shape])
    expected = {"normal": 2, "skewed": 3, "steep": 16, "one far away": 3, "beyond the range": 3, "with gaps": 2}
    assert len(looks) == expected.get(shape, 0 if shape in ("very close", "tiny", "days") else 1)
    # Powers of two are in one part with all smaller ones, look after look.
    check(here, there)


@examples(40)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=400), st.integers(1, 40))
def test_any_numbers_are_told_apart(values, copies):
    with pytest.MonkeyPatch.context() as patch:
        set_most(patch, parts=16, values=30_000)
        check(*both(np.repeat(np.array(values), copies)))


def test_cuts_that_may_be_off_say_by_how_much(monkeypatch):
    set_most(monkeypatch, parts=64, values=5)
    monkeypatch.setattr(looking, "LOOKS", 3)
    values = SHAPES["skewed"]
    here, there = both(values)
    assert there.loose is not None
    assert there.loose.max() < N
    assert there.histogram.weight.sum() == N
    # What is claimed of a border holds: so many rows lie between it and the one of all values in order.
    for place in np.flatnonzero(there.loose):
        below = (values < there.histogram.low[place]).sum()
        exact = [(values < low).sum() for low in here.histogram.low]
        assert min(abs(below - rank) for rank in exact) <= there.loose[place]
    found = Booleaniser("quantile").fit_tallies([there])
    [note] = found.notes_
    told = ", ".join(found.predicates_)
    assert f"{there.loose.max() / N:.2%} of the rows are in one bin, by which its cuts ({told}) may be off" in note
    assert not Booleaniser("quantile").fit_tallies([here]).notes_


def test_identifiers_are_known_among_whole_numbers_of_many_values(few_parts):
    numbers = RNG.permutation(200_000)[:N]
    names = np.append(numbers[:-1], numbers[0])
    for values, all_different in ((numbers, True), (names, False), (numbers * 1_000_003, True)):
        here, there = both(values)
        assert (there.n_values == there.n_rows) == (here.n_values == here.n_rows) == all_different


def test_columns_of_few_values_are_counted_together(monkeypatch):
    rows = pd.DataFrame({f"x{j}": RNG.integers(-2, 3, 500) for j in range(9)})
    rows["gaps"] = pd.array(RNG.integers(0, 3, 500), dtype="Int64")
    rows.loc[::7, "gaps"] = None
    rows["flag"] = RNG.random(500) < 0.5
    rows["day"] = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 9, 500), "D")).dt.date
    rows["none"] = pd.array([None] * 500, dtype="Int64")
    rows["nan"] = np.nan
    arrow = pa.Table.from_pandas(rows, preserve_index=False)
    # Of pandas NaN is a gap, of an engine it is a number.
    place = arrow.column_names.index("nan")
    arrow = arrow.set_column(place, "nan", pa.array(np.full(500, np.nan), from_pandas=False))
    table = ibis.duckdb.connect().create_table("rows", arrow)
    looks = []
    asked = looking.fetched
    monkeypatch.setattr(looking, "fetched", lambda query: looks.append(query) or asked(query))
    there = list(tallies(table, list(rows), len(rows)))
    # Two for the ranges, of which one is among what is no NaN; 6 ** 6 rows are few, 6 ** 7 are not.
    assert len(looks) == 2 + 2
    for column, found in zip(columns_of(rows), there, strict=True):
        check(Tally.of(column, np.ones(500)), found)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [1, 12, 20])
def test_tails_however_heavy_are_told_apart(spread):
    check(*both(np.random.default_rng(0).lognormal(0, spread, 1_300_000)))
