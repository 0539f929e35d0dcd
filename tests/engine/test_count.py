"""Counting in an engine gives the cuts, counts and formulas of the same rows in memory."""

from __future__ import annotations

import re
import sqlite3
from contextlib import nullcontext
from pathlib import Path

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens import EntropyClassifier
from logiclens.concepts.booleaniser import Booleaniser
from logiclens.concepts.cuts import Tally
from logiclens.engine.count import TooManyRows, classes_of, count_rows
from logiclens.engine.histogram import tallies
from logiclens.engine.lake import in_engine
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.formula.counted_rows import CountedRows
from logiclens.tables.formats import is_lake
from logiclens.tables.frames import columns_of
from tests.examples import examples


def frame(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Every kind of column, with gaps, and a target that depends on three of them."""
    rng = np.random.default_rng(seed)
    made = pd.DataFrame({
        "age": rng.normal(50, 15, n).round(1),
        "fine": rng.normal(size=n),
        "visits": rng.integers(0, 9, n),
        "stays": pd.array(rng.integers(0, 4, n), dtype="Int64"),
        "flag": rng.random(n) < 0.3,
        "unit": rng.choice(np.array(["CCU", "MICU", "SICU", "it's \"x\""], dtype=object), n),
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900 * 24, n), "h"),
    })  # fmt: skip
    ill = (made.age > 60) & (made.unit == "MICU") | (made.visits > 6)
    made["y"] = np.where(ill ^ (rng.random(n) < 0.05), "ill", "well")
    for name in ("age", "stays", "unit", "since"):
        made.loc[rng.random(n) < 0.05, name] = None
    made.loc[rng.random(n) < 0.1, "fine"] = 0.0
    made.loc[rng.random(n) < 0.1, "fine"] = -0.0
    return made


def in_duckdb(table: pd.DataFrame):
    connection = ibis.duckdb.connect()
    return connection.create_table("rows", pa.Table.from_pandas(table, preserve_index=False))


def both(table: pd.DataFrame, cuts: Booleaniser | None = None) -> tuple[Booleaniser, Booleaniser]:
    """What is found in memory, and in the engine."""
    there = in_duckdb(table)
    classes, _ = classes_of(there, "y")
    names = [name for name in table.columns if name != "y"]
    codes = np.searchsorted(classes, table["y"].to_numpy())[:, None]
    here = [Tally.of(c, np.ones(len(table))) for c in columns_of(table[names])]
    cuts = cuts or Booleaniser()
    found = Booleaniser(**cuts.get_params()).fit_tallies(list(tallies(there, names, len(table))))
    assert count_rows(there, found.cutting_, "y", classes) == CountedRows.of(
        found.cutting_.values(columns_of(table[names])), list(found.predicates_), np.eye(len(classes))[codes[:, 0]]
    )
    return Booleaniser(**cuts.get_params()).fit_tallies(here), found


@examples(15)
@given(st.integers(0, 10_000), st.sampled_from(["round", "quantile", "uniform"]), st.integers(30, 300))
def test_cuts_and_counts_are_those_of_memory(seed, how, n):
    here, there = both(frame(n, seed), Booleaniser(how))
    assert dict(here.predicates_) == dict(there.predicates_)
    assert here.groups_ == there.groups_
    assert here.dropped_ == there.dropped_


def test_bins_of_many_values_are_those_of_memory():
    table = frame(5_000)
    assert table["fine"].nunique() > 3_000
    here, there = both(table)
    assert dict(here.predicates_) == dict(there.predicates_)


def test_identifiers_and_many_categories_are_treated_alike():
    table = frame(300)
    table["patient_id"] = np.arange(300) * 3
    table["note"] = [f"text {i}" for i in range(300)]
    table["place"] = [f"place {i % 50}" for i in range(300)]
    here, there = both(table)
    assert {"patient_id", "note"} <= set(here.dropped_)
    assert here.dropped_ == there.dropped_
    assert here.notes_ == there.notes_
    assert dict(here.predicates_) == dict(there.predicates_)


def test_more_concepts_than_a_word_holds():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"x{j}": rng.random(200) < 0.5 for j in range(130)})
    table["y"] = np.where(table.x0 ^ table.x129, "a", "b")
    here, there = both(table)
    assert len(there.predicates_) == 130
    assert here.groups_ == there.groups_


def in_parts(folder: Path) -> Path:
    table = frame(2_000)
    for k in range(4):
        table.iloc[k::4].to_parquet(folder / f"part{k}.parquet", index=False)
    return folder


@pytest.fixture
def lake(tmp_path):
    return in_parts(tmp_path)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model of the rows of `lake`, in a folder that nothing is written to."""
    folder = in_parts(tmp_path_factory.mktemp("fitted"))
    return EntropyClassifier(set_aside=0.2).fit(f"{folder}/*.parquet", target="y")


def test_a_lakes_model_equals_the_model_of_its_rows(lake, model):
    table = frame(2_000)
    settings = {"set_aside": 0.2}
    twin = EntropyClassifier(**settings, cuts_on="all").fit(table.drop(columns="y"), table.y)
    assert model.table_.counted() == twin.table_.counted()
    assert model.set_aside_.table.counted() == twin.set_aside_.table.counted()
    assert str(model.explain()) == str(twin.explain())
    assert model.n_rows_ == 2_000
    assert list(model.classes_) == ["ill", "well"]
    assert list(model.predict(table.drop(columns="y"))) == list(twin.predict(table.drop(columns="y")))
    assert str(model.statistics()) == str(twin.statistics())


@pytest.mark.parametrize("kind", ["folder", "ibis", "csv", "json", "sqlite"])
def test_any_source_gives_the_same_rules(lake, model, kind, tmp_path):
    table = frame(2_000)
    source = lake
    if kind == "ibis":
        source = in_duckdb(table)
    elif kind == "csv":
        (tmp_path / "csv").mkdir()
        table.to_csv(tmp_path / "csv" / "rows.csv", index=False)
        source = tmp_path / "csv"
    elif kind == "json":
        (tmp_path / "json").mkdir()
        table.to_json(tmp_path / "json" / "rows.jsonl", orient="records", lines=True, date_format="iso")
        source = tmp_path / "json"
    elif kind == "sqlite":
        with sqlite3.connect(tmp_path / "rows.db") as database:
            table.drop(columns="since").to_sql("rows", database, index=False)
        source = in_engine(tmp_path / "rows.db")
    # JSON has no dates: they are texts there, too many and too rare to be of use.
    texts = pytest.warns(LogicLensWarning, match="different texts|constant") if kind == "json" else nullcontext()
    with texts:
        twin = EntropyClassifier(set_aside=0.2).fit(source, target="y")
    if kind in ("folder", "ibis"):
        assert twin.table_.counted() == model.table_.counted()
    assert twin.n_rows_ == 2_000
    assert twin.score(source, "y") > 0.9


def test_scores_and_statistics_are_those_of_the_rows(lake, model):
    table = frame(2_000)
    rows, pattern = table.drop(columns="y"), f"{lake}/*.parquet"
    assert model.score(pattern, "y") == pytest.approx(model.score(rows, table.y))
    there = model.statistics(pattern, "y", by="unit").records()
    here = model.statistics(rows, table.y, by="unit").records()
    assert [r["subgroup"] for r in there] == [r["subgroup"] for r in here]
    for one, other in zip(there, here, strict=True):
        assert one["fires_in_class"] == other["fires_in_class"]
        assert one["confidence"] == pytest.approx(other["confidence"], nan_ok=True)
    assert str(model.explain(pattern)) == str(model.explain(rows))


def test_drift_is_told_month_by_month(lake, model):
    table = frame(2_000)
    found = model.statistics(f"{lake}/*.parquet", "y", by="since")
    months = table.since.dt.strftime("%Y-%m")
    assert set(found.subgroups) == {*months.dropna(), "missing"}
    assert found.subgroups["2020-03"][0].whole.support.total == (months == "2020-03").sum()


def test_answers_are_written_by_the_engine(lake, model, tmp_path):
    table = frame(2_000)
    out = tmp_path / "answers.parquet"
    written = model.predict_into(f"{lake}/part*.parquet", out)
    assert written == out
    answers = pd.read_parquet(out)
    assert len(answers) == 2_000
    assert list(answers.prediction) == list(model.rules_.predict(answers.drop(columns=["y", "prediction"])))
    there = in_duckdb(table)
    assert model.predict_into(there, "answered") == "answered"
    assert there.get_backend().table("answered").count().execute() == 2_000
    with pytest.raises(LogicLensError, match="not collected: use predict_into"):
        model.predict(f"{lake}/*.parquet")


def test_what_is_no_lake_is_read(tmp_path, lake):
    assert not is_lake(lake / "part0.parquet")
    assert not is_lake(frame(5))
    assert is_lake(lake)
    assert is_lake(str(lake / "*.parquet"))


@pytest.mark.parametrize(("spoil", "message"), [
    ("corrupt", r"part2.parquet cannot be read as Parquet"),
    ("type", r"the column 'visits' holds string in .*part2.parquet and int64 in .*part0.parquet"),
    ("lacking", r"part2.parquet lacks the column 'visits' that .*part0.parquet has"),
    ("more", r"part2.parquet has a column 'new' that .*part0.parquet lacks"),
])  # fmt: skip
def test_a_file_that_does_not_fit_is_named(lake, spoil, message):
    file = lake / "part2.parquet"
    table = pd.read_parquet(file)
    if spoil == "corrupt":
        file.write_bytes(file.read_bytes()[:-100])
    elif spoil == "type":
        table.assign(visits=table.visits.astype(str)).to_parquet(file, index=False)
    elif spoil == "lacking":
        table.drop(columns="visits").to_parquet(file, index=False)
    else:
        table.assign(new=1).to_parquet(file, index=False)
    with pytest.raises(LogicLensError, match=message):
        EntropyClassifier().fit(f"{lake}/*.parquet", target="y")


@pytest.mark.parametrize(("change", "message"), [
    ({"target": "z"}, "'z'"),
    ({"target": None}, "requires y to be passed"),
    ({"target": "age"}, "missing in"),
    ({"target": "visits", "booleanise": "soft"}, "nothing to count"),
    ({"target": "y", "booleanise": None}, "set booleanise"),
    ({"target": "y", "sample_weight": [1.0]}, "leave out sample_weight"),
])  # fmt: skip
def test_what_cannot_be_counted_is_refused(lake, change, message):
    fitting = {key: value for key, value in change.items() if key in ("target", "sample_weight")}
    settings = {key: value for key, value in change.items() if key not in fitting}
    with pytest.raises(LogicLensError, match=message):
        EntropyClassifier(**settings).fit(f"{lake}/*.parquet", **fitting)


def test_targets_that_are_no_classes_are_refused(tmp_path):
    rows = frame(30).assign(half=0.5, one="same", many=np.arange(30) / 7)
    there = in_duckdb(rows)
    for target, message in (("one", "all rows have one class"), ("many", "numbers with decimals")):
        with pytest.raises(LogicLensError, match=message):
            classes_of(there, target)
    with pytest.raises(LogicLensError, match="no rows"):
        classes_of(there.limit(0), "y")
    with pytest.raises(LogicLensError, match="no file matches"):
        in_engine(f"{tmp_path}/*.parquet")
    with pytest.raises(LogicLensError, match="engine must be one of"):
        in_engine(tmp_path, "sparkle")


def test_infinite_numbers_are_refused():
    rows = frame(30)
    rows.loc[3, "fine"] = np.inf
    with pytest.raises(LogicLensError, match="'fine' is infinite"):
        both(rows)


def test_no_more_rows_travel_than_may():
    rows = frame(300)
    there = in_duckdb(rows)
    classes, _ = classes_of(there, "y")
    found = Booleaniser().fit_tallies(list(tallies(there, [c for c in rows if c != "y"], len(rows))))
    n = len(count_rows(there, found.cutting_, "y", classes))
    assert len(count_rows(there, found.cutting_, "y", classes, at_most=n)) == n
    with pytest.raises(TooManyRows, match=f"more than {n - 1} distinct rows"):
        count_rows(there, found.cutting_, "y", classes, at_most=n - 1)


def test_a_table_of_another_kind_is_refused_by_its_column(model, lake):
    rows = frame(50).assign(visits="many")
    with pytest.raises(LogicLensError, match="'visits' held numbers in training and holds text now"):
        model.score(in_duckdb(rows), "y")
    with pytest.raises(LogicLensError, match="lacks the column"):
        model.score(in_duckdb(frame(50).drop(columns="visits")), "y")
    with pytest.raises(LogicLensError, match="'dead' was not among the training labels"):
        model.score(in_duckdb(frame(50).assign(y="dead")), "y")


def test_parquet_files_of_nulls_fit_any_type(lake):
    table = pd.read_parquet(lake / "part2.parquet")
    nulls = pa.Table.from_pandas(table.drop(columns="unit"), preserve_index=False)
    pq.write_table(
        nulls.append_column("unit", pa.nulls(len(table))).select(list(table.columns)), lake / "part2.parquet"
    )
    fitted = EntropyClassifier().fit(f"{lake}/*.parquet", target="y")
    assert fitted.n_rows_ == 2_000


def test_beyond_the_budget_a_sample_chooses_and_all_rows_count(monkeypatch):
    monkeypatch.setattr("logiclens.estimator.on_engine.SAMPLE", 1_000)
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({f"x{j:02}": rng.random(4_000) < 0.5 for j in range(16)})
    rows["y"] = np.where(rows.x03 & rows.x07 | rows.x11, "yes", "no")
    with pytest.warns(LogicLensWarning, match="more than 500 distinct rows of 16 concepts") as told:
        model = EntropyClassifier(epochs=60, set_aside=0.25, max_distinct=500).fit(in_duckdb(rows), target="y")
    note = next(str(one.message) for one in told if "distinct rows" in str(one.message))
    assert "x11 100%" in note
    assert "all 4,000 rows are counted" in note
    assert 900 < int(re.search(r"a sample of ([\d,]+)", note)[1].replace(",", "")) < 1_100
    assert {"x03", "x07", "x11"} <= set(model.schema_.names)
    assert model.n_rows_ == 4_000
    kept = list(model.schema_.names)
    here = CountedRows.of(rows[kept].to_numpy(), kept, np.eye(2)[(rows.y == "yes").astype(int)])
    assert model.table_.counted().merge(model.set_aside_.table.counted()) == here
    assert set(model.explain()["yes"].formula.concepts) == {"x03", "x07", "x11"}
    assert model.score(in_duckdb(rows), "y") == 1.0


def test_no_row_that_chose_concepts_is_set_aside(monkeypatch):
    """Where nothing is to be learned, the best of 40 columns of noise must not look good on rows held out."""
    monkeypatch.setattr("logiclens.estimator.on_engine.SAMPLE", 200)
    right = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rows = pd.DataFrame({f"x{j:02}": rng.random(400) < 0.5 for j in range(40)})
        rows["y"] = np.where(rng.random(400) < 0.5, "yes", "no")
        # Against labels alone, concepts are chosen that fit the noise of the sample.
        model = EntropyClassifier(epochs=60, set_aside=0.3, max_distinct=60, random_state=seed)
        with pytest.warns(LogicLensWarning, match="No row of the sample is held out"):
            model.fit(in_duckdb(rows), target="y")
        aside, kept = model.set_aside_.table, list(model.schema_.names)
        assert aside.n_counted == pytest.approx(120, abs=2)
        cells = np.column_stack(
            [~rows[name[:3]] if name.endswith(" is False") else rows[name] for name in kept]
        )  # fmt: skip
        everything = CountedRows.of(cells, kept, np.eye(2)[(rows.y == "yes").astype(int)])
        assert model.table_.counted().merge(aside.counted()) == everything
        answers = model.predict(aside) == model.classes_[np.asarray(aside.labels)]
        right.append(aside.weight[answers].sum() / aside.weight.sum())
    # With rows of the sample among them it is 0.58.
    assert np.mean(right) < 0.55


@pytest.mark.parametrize("budget", [1, 0.5, True])
def test_a_budget_is_a_whole_number(budget):
    with pytest.raises(LogicLensError, match="max_distinct must be a whole number of at least 2"):
        EntropyClassifier(max_distinct=budget).fit(in_duckdb(frame(50)), target="y")


def test_names_that_look_like_patterns_are_names(tmp_path):
    for name, n in (("a[1].parquet", 40), ("a1.parquet", 10)):
        frame(n).to_parquet(tmp_path / name, index=False)
    assert in_engine(tmp_path).count().execute() == 50


def test_text_files_write_gaps_as_they_do_in_memory(tmp_path):
    (tmp_path / "rows.csv").write_text('x,note,y\n1,"say ""hi"", ok",a\n2,NA,b\n,n/a,a\nNA,plain,b\n', encoding="utf-8")
    table = in_engine(tmp_path)
    assert str(table.schema()["x"]) == "int64"
    found = table.to_pyarrow().to_pydict()
    assert found["x"] == [1, 2, None, None]
    assert found["note"] == ['say "hi", ok', None, None, "plain"]


@pytest.mark.parametrize("value", [1e19, -1e300, 2.0**63])
def test_numbers_beyond_whole_ones_are_cut_alike(value):
    rows = frame(200)
    rows.loc[::7, "fine"] = value
    here, there = both(rows)
    assert dict(here.predicates_) == dict(there.predicates_)


def test_columns_may_be_called_like_ours():
    rows = frame(200).rename(
        columns={"age": "v", "fine": "n", "visits": "n0", "stays": "w0", "flag": "g", "unit": "bin"}
    )
    here, there = both(rows.assign(**{"two words": rows.n0, 'quo"ted': rows.v, "select": rows.g}))
    assert dict(here.predicates_) == dict(there.predicates_)


def test_targets_of_other_types_are_classes_or_refused():
    rows = frame(200)
    whole = EntropyClassifier().fit(in_duckdb(rows.assign(y=(rows.y == "ill"))), target="y")
    assert whole.classes_.tolist() == [False, True]
    numbers = EntropyClassifier().fit(in_duckdb(rows.assign(y=(rows.y == "ill").astype(int) + 1)), target="y")
    assert numbers.classes_.tolist() == [1, 2]
    for bad in (np.inf, 0.5):
        with pytest.raises(LogicLensError, match="numbers with decimals"):
            classes_of(in_duckdb(rows.assign(y=np.where(rows.y == "ill", bad, 1.0))), "y")
    with pytest.raises(LogicLensError, match="which cannot be compared"):
        classes_of(in_duckdb(rows.assign(y=[[1]] * 200)), "y")


def test_answers_are_never_lost_or_written_over_what_is_read(lake, model, tmp_path):
    with pytest.raises(LogicLensError, match=r"into a Parquet file: call it .*answers.parquet"):
        model.predict_into(lake, tmp_path / "answers.csv")
    with pytest.raises(LogicLensError, match="is among the files that are read"):
        model.predict_into(lake, lake / "part0.parquet")
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(LogicLensError, match="is a folder already"):
        model.predict_into(lake, tmp_path / "folder.parquet")
    there = in_duckdb(frame(50))
    with pytest.raises(LogicLensError, match="rows was not written"):
        model.predict_into(there, "rows")
    with pytest.raises(LogicLensError, match="held numbers in training and holds text now"):
        model.predict_into(in_duckdb(frame(50).assign(visits="many")), "answers")
    with pytest.raises(LogicLensError, match="was not written"):
        model.predict_into(there, tmp_path / "nowhere" / "answers.parquet")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "folder.parquet",
        *(f"part{k}.parquet" for k in range(4)),
    ]


def test_a_disk_that_is_full_leaves_nothing_behind(lake, model, tmp_path, monkeypatch):
    def fail(answered, path):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ibis.expr.types.core.Expr.to_parquet", fail)
    with pytest.raises(LogicLensError, match=r"answers.parquet was not written: .*No space left on device"):
        model.predict_into(lake, tmp_path / "answers.parquet")
    assert not [path for path in tmp_path.iterdir() if "answers" in path.name]


@pytest.mark.parametrize("n", [900, 1_500])
def test_histograms_are_those_of_memory_bin_by_bin(n):
    rows = frame(n)[["fine"]]
    [found] = tallies(in_duckdb(rows), ["fine"], n)
    here = Tally.of(columns_of(rows)[0], np.ones(n))
    for part in ("low", "high", "weight"):
        assert np.array_equal(getattr(found.histogram, part), getattr(here.histogram, part))


def test_no_row_is_in_two_parts(lake):
    ready = EntropyClassifier(set_aside=0.25)._begin_counting(in_engine(lake), "y", None, None).ready
    table = frame(2_000)
    bits = ready.schema.cutting.values(columns_of(table.drop(columns="y")))
    everything = CountedRows.of(bits, ready.schema.names, np.eye(2)[(table.y == "well").astype(int)])
    assert ready.table.counted().merge(ready.aside.table.counted()) == everything
    assert (ready.table.n_counted, ready.aside.table.n_counted, ready.validation) == (1_500, 500, None)


def test_a_file_that_is_read_is_known_by_any_name(lake, model, monkeypatch):
    monkeypatch.chdir(lake)
    for name in ("part0.parquet", f"../{lake.name}/part0.parquet"):
        with pytest.raises(LogicLensError, match="is among the files that are read"):
            model.predict_into(lake, name)


def test_nan_is_above_no_cut_where_training_had_none():
    rows = frame(400).drop(columns=["stays", "unit", "since"]).dropna()
    model = EntropyClassifier(epochs=60).fit(in_duckdb(rows), target="y")
    assert any(predicate.column == "age" for predicate in model.schema_.predicates.values())
    rows["age"] = np.where(np.arange(len(rows)) % 3 == 0, np.nan, rows["age"])
    arrow = pa.table({name: pa.array(rows[name].to_numpy(), from_pandas=False) for name in rows})
    there = ibis.duckdb.connect().create_table("rows", arrow)
    assert there.age.isnan().sum().execute() > 100
    cutting = model.schema_.cutting
    here = CountedRows.of(cutting.values(columns_of(rows.drop(columns="y"))), list(cutting.predicates))
    assert count_rows(there, cutting) == here
    assert model.score(there, "y") == model.score(rows.drop(columns="y"), rows.y)


def test_cuts_are_compared_to_the_last_digit():
    low, high = -0.9011201503953836, -0.9011201503953835
    rows = frame(200).assign(close=np.where(np.arange(200) % 2, high, low))
    rows["y"] = np.where(rows.close == high, "ill", "well")
    here, there = both(rows)
    assert f"close >= {high}" in there.predicates_
    assert dict(here.predicates_) == dict(there.predicates_)


def test_count_rows_takes_a_booleaniser_and_finds_the_classes():
    rows = frame(300)
    cuts = Booleaniser().fit(rows.drop(columns="y"), rows.y)
    counted = count_rows(in_duckdb(rows), cuts, "y")
    bits, codes = cuts.transform(rows.drop(columns="y")), (rows.y == "well").astype(int)
    assert counted == CountedRows.of(bits, list(cuts.predicates_), np.eye(2)[codes])
    assert count_rows(in_duckdb(rows), cuts) == CountedRows.of(bits, list(cuts.predicates_))


@pytest.mark.parametrize(("column", "nulls"), [("unit", pa.int32()), ("unit", pa.float64()), ("age", pa.string())])
def test_a_column_without_values_is_missing_whatever_its_type(model, column, nulls):
    rows = frame(300).assign(**{column: None})
    arrow = pa.Table.from_pandas(rows, preserve_index=False)
    place = arrow.column_names.index(column)
    there = ibis.duckdb.connect().create_table("rows", arrow.set_column(place, column, pa.nulls(300, nulls)))
    rows[column] = rows[column].astype(object)
    assert model.score(there, "y") == model.score(rows.drop(columns="y"), rows.y)
    model.predict_into(there, "answers")
    answers = there.get_backend().table("answers").to_pandas()
    assert list(answers.prediction) == list(model.rules_.predict(rows.drop(columns="y")))


def test_files_may_begin_with_a_column_of_nulls(tmp_path):
    for name, values in (("a", pa.nulls(20)), ("b", pa.array(np.arange(20) / 4)), ("c", pa.nulls(20))):
        pq.write_table(pa.table({"x": values, "y": ["p", "q"] * 10}), tmp_path / f"{name}.parquet")
    assert in_engine(tmp_path).x.sum().execute() == pytest.approx(np.arange(20).sum() / 4)
    pq.write_table(pa.table({"x": ["text"] * 20, "y": ["p", "q"] * 10}), tmp_path / "d.parquet")
    with pytest.raises(LogicLensError, match=r"'x' holds string in .*d.parquet and double in .*b.parquet"):
        in_engine(tmp_path)
    pq.write_table(pa.table({"x": [1.0], "X": [2.0], "y": ["p"]}), tmp_path / "a.parquet")
    with pytest.raises(LogicLensError, match=r"a.parquet has columns whose names differ in case alone"):
        in_engine(tmp_path)


def test_hidden_folders_hold_no_rows(tmp_path):
    (tmp_path / ".ipynb_checkpoints").mkdir()
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "2026").mkdir()
    for folder in (".ipynb_checkpoints", "_temporary", "2026"):
        frame(30).to_parquet(tmp_path / folder / "a.parquet", index=False)
    assert in_engine(tmp_path).count().execute() == 30


def test_columns_called_like_our_count_are_columns():
    rows = frame(200).assign(logiclens_count=np.arange(200), LOGICLENS_COUNT2=1)
    here, there = both(rows)
    assert dict(here.predicates_) == dict(there.predicates_)


def test_what_is_counted_must_be_among_the_classes():
    there = in_duckdb(frame(60))
    cuts = Booleaniser("quantile").fit(frame(60).drop(columns="y"))
    with pytest.raises(LogicLensError, match=r"the target holds .(ill|well)., which is none of the classes"):
        count_rows(there, cuts, "y", ["else"])
    gaps = in_duckdb(frame(60).assign(y=[None, "a"] * 30))
    with pytest.raises(LogicLensError, match="the target holds None"):
        count_rows(gaps, cuts, "y", ["a"])
    with pytest.raises(LogicLensError, match="no classes: make it text"):
        classes_of(there, "since")


@pytest.mark.parametrize("value", [1e19, 1.7e308])
def test_cuts_beyond_the_numbers_of_a_column(value):
    narrow = in_duckdb(pd.DataFrame({"x": np.arange(50, dtype=np.int8), "y": ["a", "b"] * 25}))
    cuts = Booleaniser({"x": [value]}).fit(pd.DataFrame({"x": [0.0, 1e308]}), ["a", "b"])
    assert not count_rows(narrow, cuts).bits().any()
