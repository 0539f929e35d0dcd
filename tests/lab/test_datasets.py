"""Data sets: which files are read, where values are cut, and messages for missing or altered files."""

from __future__ import annotations

import gzip
import hashlib
import io
import itertools
import pickle
import struct
import sys
import zipfile
import zlib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets as sklearn_datasets
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler

from lab.datasets import catalogue as datasets
from lab.datasets import dataset as dataset_module
from lab.datasets import images
from lab.datasets.dataset import LEVELS, BinnedConcepts, Bins, DataFile, Origin, identifier
from lab.datasets.images import read_idx
from lab.datasets.tabular import CONCEPTS, FLAGS, LATE, NUMBERS, random_dnf
from logiclens.errors import LogicLensError
from logiclens.formula.dnf import DNF, Literal
from logiclens.formula.minimisation import minimise_complete
from logiclens.formula.text import format_formula, parse

AT_HAND = ("breast-cancer", "wine", "iris", "digits-parity", "xor", "parity", "random-dnf")
FROM_FOLDER = ("mimic2", "mimic2-early", "vdem", "mnist", "cub")


@pytest.fixture
def known(monkeypatch, tmp_path):
    """Writes files and makes them the known ones of their source."""

    def write(files: dict[str, bytes]) -> Path:
        listed = []
        for path, content in files.items():
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_bytes(content)
            listed.append(DataFile(path, hashlib.sha256(content).hexdigest()))
        name = next(iter(files)).split("/")[0]
        monkeypatch.setitem(dataset_module.SOURCES, name, Origin("the attic", "free", tuple(listed)))
        return tmp_path

    return write


def packed_csv(frame: pd.DataFrame) -> bytes:
    return gzip.compress(frame.to_csv(index=False).encode())


# By name


def test_every_name_is_listed_once():
    assert datasets.names() == (*FROM_FOLDER, *AT_HAND)


@pytest.mark.parametrize("name", AT_HAND)
def test_sets_at_hand_say_who_they_are_and_hang_together(name):
    made = datasets.load(name)
    table = made.concepts(made.all_rows)
    assert made.name == name
    assert made.title.endswith("?")
    assert (len(made.inputs), len(table)) == (len(made), len(made))
    assert table.labels.tolist() == made.labels.tolist()
    assert table.class_names == made.class_names
    assert set(made.labels.tolist()) == set(range(len(made.class_names)))
    assert table.is_boolean
    assert not made.annotated


@pytest.mark.parametrize("name", AT_HAND)
def test_bundled_sets_are_reproducible_and_can_be_pickled(name):
    one, other = datasets.load(name), pickle.loads(pickle.dumps(datasets.load(name, "/nowhere")))
    rows = np.arange(0, len(one), 3)
    assert (one.concepts(rows).values == other.concepts(rows).values).all()
    assert (one.labels == other.labels).all()


@pytest.mark.parametrize("name", AT_HAND)
def test_formulas_show_the_concepts_without_quotes(name):
    made = datasets.load(name)
    for concept in made.concepts(made.all_rows).names:
        assert format_formula(Literal(concept)) == concept
        assert parse(concept) == DNF.false | Literal(concept)


def test_an_unknown_name_is_answered_with_the_nearest_and_all():
    with pytest.raises(LogicLensError) as caught:
        datasets.load("mimic-2")
    assert str(caught.value).startswith("there is no data set 'mimic-2', did you mean 'mimic2'? There are mimic2, ")
    assert str(caught.value).endswith(", ".join((*FROM_FOLDER, *AT_HAND)) + ".")
    with pytest.raises(LogicLensError, match=r"no data set 'zzzzzz'\. There are mimic2, mimic2-early, "):
        datasets.load("zzzzzz")


@pytest.mark.parametrize("name", FROM_FOLDER)
def test_a_set_of_files_needs_a_folder(name, tmp_path):
    with pytest.raises(LogicLensError) as caught:
        datasets.load(name)
    assert str(caught.value) == (
        f"the data set '{name}' is read from files, and no folder was given: name the one that holds them with "
        f"--data DIR, or as load('{name}', folder)."
    )
    with pytest.raises(LogicLensError, match=f"must be there to read '{name}'; .*gone is no folder"):
        datasets.load(name, tmp_path / "gone")


def test_the_folder_may_be_named_from_home(known, monkeypatch):
    folder = known({"mimic2/full_cohort_data.csv.gz": packed_csv(small_mimic())})
    monkeypatch.setenv("HOME", str(folder.parent))
    assert len(datasets.load("mimic2", f"~/{folder.name}")) == 6


# Where files come from


@pytest.mark.parametrize(
    ("name", "path", "words"),
    [
        ("mimic2", "mimic2/full_cohort_data.csv.gz", ["PhysioNet", "mimic2-iaccd 1.0", "ODC-By 1.0", "af8d4edbaf6a"]),
        ("mimic2-early", "mimic2/full_cohort_data.csv.gz", ["PhysioNet"]),
        ("vdem", "vdem/vdem_concepts_2001_2021.csv.gz", ["V-Dem", "CC BY-SA 4.0", "Coppedge", "Pemstein", "10c531ae6"]),
        ("mnist", "mnist/t10k-images-idx3-ubyte.gz", ["LeCun, Cortes and Burges", "8d422c7b0a1c"]),
        ("cub", "cub/class_attribute_labels_continuous.txt.gz", ["Wah et al. 2011", "research and education only"]),
    ],
)
def test_a_missing_file_is_named_with_its_source_and_terms(name, path, words, tmp_path):
    with pytest.raises(LogicLensError) as caught:
        datasets.load(name, str(tmp_path))
    said = str(caught.value)
    assert said.startswith(f"the file {path} is not in the folder {tmp_path}: expected one with sha256 ")
    assert "found none. Get it from " in said
    assert said.endswith("nothing is downloaded for you.")
    assert all(word in said for word in words)


def test_an_altered_file_is_named_with_both_hashes(tmp_path):
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / "t10k-images-idx3-ubyte.gz").write_bytes(b"abc")
    with pytest.raises(LogicLensError) as caught:
        datasets.load("mnist", tmp_path)
    # The sha256 of "abc" is the first example of FIPS 180-2.
    assert (
        f"the file mnist/t10k-images-idx3-ubyte.gz in the folder {tmp_path} has been altered: expected sha256 "
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6, found "
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad. Get it anew from MNIST by LeCun"
    ) in str(caught.value)


def test_a_repacked_file_is_recognised_by_its_contents(monkeypatch, tmp_path):
    content = b"a,b\r1,2\r"
    file = DataFile("attic/table.csv.gz", "0" * 64, unpacked=hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(dataset_module.SOURCES, "attic", Origin("the attic", "free", (file,)))
    path = tmp_path / "attic" / "table.csv.gz"
    path.parent.mkdir()
    for level in (1, 9):
        path.write_bytes(gzip.compress(content, level))
        assert dataset_module.checked(tmp_path, "attic/table.csv.gz") == path
    whole = gzip.compress(content)
    damaged = whole[:10] + b"\xff" + whole[11:]
    for bad in (gzip.compress(b"a,b\r1,3\r"), content, whole[:-9], damaged, b""):
        path.write_bytes(bad)
        with pytest.raises(LogicLensError, match=f"altered: .* found {hashlib.sha256(bad).hexdigest()}. Get it anew"):
            dataset_module.checked(tmp_path, "attic/table.csv.gz")
    with pytest.raises(zlib.error):
        gzip.decompress(damaged)


def test_every_source_lists_files_in_its_folder_with_hashes():
    for name, source in dataset_module.SOURCES.items():
        for file in source.files:
            assert file.path.startswith(name + "/")
            assert len(bytes.fromhex(file.sha256)) == 32


# Bins


def gappy(seed: int, n_rows: int = 60) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": random.normal(size=n_rows), "b": random.integers(0, 10, n_rows) * 1.0})
    return frame.mask(random.random(frame.shape) < 0.1)


@pytest.mark.parametrize("seed", range(5))
def test_uniform_bins_are_those_of_scikit_learn_after_min_max(seed):
    frame, other = gappy(seed), gappy(seed + 100)
    filler, scaler = SimpleImputer(), MinMaxScaler()
    judge = KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform")
    judge.fit(scaler.fit_transform(filler.fit_transform(frame)))
    bins = Bins.fit(frame)
    for rows in (frame, other):
        expected = judge.transform(scaler.transform(filler.transform(rows)))
        assert (bins.transform(rows) == (expected == 1)).all()


@pytest.mark.parametrize("seed", range(5))
def test_uniform_bins_are_those_of_pandas_cut(seed):
    column = gappy(seed)["a"].dropna()
    expected = pd.cut(column, 3, labels=list(LEVELS), right=False)
    made = Bins.fit(column.to_frame()).transform(column.to_frame())
    assert [LEVELS[level] for level in made.argmax(axis=1)] == expected.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_quantile_bins_are_those_of_pandas_qcut(seed):
    column = gappy(seed)["a"]
    _, edges = pd.qcut(column, 3, retbins=True)
    bins = Bins.fit(column.to_frame(), edges="quantile")
    assert bins.cuts[0] == pytest.approx(edges[1:-1], abs=1e-12)
    sizes = bins.transform(column.dropna().to_frame()).sum(axis=0)
    assert sizes.max() - sizes.min() <= 1


def test_values_at_or_beyond_the_cuts_get_the_right_bin():
    bins = Bins.fit(pd.DataFrame({"x": [0, 3]}))
    levels = bins.transform(pd.DataFrame({"x": [-5.0, 0.999, 1.0, 1.999, 2.0, 99.0]})).argmax(axis=1)
    assert levels.tolist() == [0, 0, 1, 1, 2, 2]


def test_columns_with_one_value_or_none_break_nothing():
    frame = pd.DataFrame({"same": [4.0, 4.0, np.nan], "never": [np.nan] * 3, "int": [1, 2, 4]})
    for edges in ("uniform", "quantile"):
        bins = Bins.fit(frame, edges=edges)
        assert bins.cuts[:2] == ((), ())
        made = bins.transform(pd.DataFrame({"int": [1, 4], "never": [np.nan, 7.0], "same": [np.nan, 9.0]}))
        assert made.astype(int).tolist() == [[1, 0, 0, 0, 0, 0, 1, 0, 0], [1, 0, 0, 1, 0, 0, 0, 0, 1]]


def test_bins_name_three_concepts_for_each_column():
    bins = Bins.fit(pd.DataFrame({"age": [1, 2], "bmi": [3, 4]}))
    assert bins.names == ("age_LOW", "age_NORMAL", "age_HIGH", "bmi_LOW", "bmi_NORMAL", "bmi_HIGH")
    assert bins.exclusive == (bins.names[:3], bins.names[3:])


@pytest.mark.parametrize(
    ("frame", "edges", "message"),
    [
        ({"x": [1, 2]}, "equal", "edges must be 'uniform' or 'quantile', got 'equal'."),
        ({"x": []}, "uniform", "bins need at least one row to be fitted on, got none."),
        ({"x": ["1", "2"]}, "uniform", "only numbers can be binned; the column 'x' holds '1'."),
        ({"x": [1, np.inf]}, "uniform", "only finite numbers can be binned; the column 'x' is infinite in row 1."),
    ],
)
def test_what_cannot_be_binned_is_refused(frame, edges, message):
    with pytest.raises(LogicLensError) as caught:
        Bins.fit(pd.DataFrame(frame), edges=edges)
    assert str(caught.value) == message


def test_a_column_that_is_gone_is_named():
    with pytest.raises(LogicLensError, match=r"the table has no column 'age', which was binned; did you mean 'Age'\?"):
        Bins.fit(pd.DataFrame({"age": [1, 2]})).transform(pd.DataFrame({"Age": [1]}))


@pytest.mark.parametrize("edges", ["uniform", "quantile"])
def test_cuts_come_from_the_given_rows_only(edges):
    frame = gappy(0).assign(flag=np.arange(60) % 3 == 0)
    frame["flag"] = frame["flag"].astype(float).mask(np.arange(60) % 7 == 0)
    labels, rows = np.zeros(60, dtype=np.int64), np.arange(0, 60, 2)
    elsewhere = frame.copy()
    elsewhere.iloc[1::2] = elsewhere.iloc[1::2].fillna(5.0) * 1000 + 1
    one = BinnedConcepts(frame, labels, ("all",), ("flag",), edges)(rows)
    other = BinnedConcepts(elsewhere, labels, ("all",), ("flag",), edges)(rows)
    assert (one.values[rows] == other.values[rows]).all()
    assert (one.values[1::2] != other.values[1::2]).any()
    everything = BinnedConcepts(elsewhere, labels, ("all",), ("flag",), edges)(np.arange(60))
    assert (everything.values[rows] != other.values[rows]).any()


@pytest.mark.parametrize(("present", "filled"), [([1, 1, 0], 1), ([1, 0, 0], 0), ([1, 0], 1), ([np.nan], 0)])
def test_a_missing_flag_gets_the_majority_of_given_rows(present, filled):
    # The last row, which is not given, would turn the balance.
    column = [np.nan, *present, *[1 - filled] * 9]
    frame = pd.DataFrame({"flag": column, "x": np.arange(len(column))})
    table = BinnedConcepts(frame, np.zeros(len(frame), dtype=np.int64), ("all",), ("flag",))(
        np.arange(len(present) + 1)
    )
    assert table.names == ("flag", "x_LOW", "x_NORMAL", "x_HIGH")
    assert table.values[0, 0] == filled


def test_identifiers_hold_letters_digits_and_single_underscores():
    assert identifier("has_size::large_(16_-_32_in)") == "has_size_large_16_32_in"
    assert identifier("od280/od315 (cm)") == "od280_od315_cm"


# MIMIC-II


def small_mimic() -> pd.DataFrame:
    frame = pd.DataFrame(0.0, index=range(6), columns=[*FLAGS, *NUMBERS])
    frame["age"] = [20.0, 30.0, 50.0, 80.0, np.nan, 71.0]
    frame["chf_flg"] = [0, 1, 0, 1, 0, 0]
    outcomes = {"day_28_flg": [0, 1, 0, 0, 0, 0], "hosp_exp_flg": [0, 0, 1, 0, 0, 0], "icu_exp_flg": [0, 0, 0, 1, 0, 0]}
    frame = frame.assign(**outcomes, censor_flg=[1, 1, 1, 1, 0, 1], mort_day_censored=3.0, hospital_los_day=[9] * 6)
    return frame.assign(service_unit="MICU", day_icu_intime="Friday   ")


def test_mimic_is_read_with_its_bare_carriage_returns(known):
    content = small_mimic().to_csv(index=False).replace("\n", "\r").encode()
    folder = known({"mimic2/full_cohort_data.csv.gz": gzip.compress(content)})
    made = datasets.load("mimic2", folder)
    assert made.class_names == ("lives", "dies")
    assert made.labels.tolist() == [0, 1, 1, 1, 1, 0]
    assert list(made.inputs.columns) == [*FLAGS, *NUMBERS]
    assert made.inputs["age"].isna().sum() == 1
    table = made.concepts(made.all_rows)
    assert table.names == (*FLAGS, *(f"{name}_{level}" for name in NUMBERS for level in ("LOW", "NORMAL", "HIGH")))
    assert table.exclusive == tuple(tuple(f"{name}_{level}" for level in LEVELS) for name in NUMBERS)
    # From 20 to 80, so cut at 40 and 60; the mean, for the missing one, is 50.2.
    assert table.with_columns(["age_LOW", "age_NORMAL", "age_HIGH"]).values.argmax(axis=1).tolist() == [
        0,
        0,
        1,
        2,
        1,
        2,
    ]
    assert table.with_columns(["chf_flg"]).values[:, 0].tolist() == [0, 1, 0, 1, 0, 0]
    # Without the 20 and the 80, cut at 43.7 and 57.3.
    table = made.concepts(np.array([1, 2, 5]))
    assert table.with_columns(["age_LOW", "age_NORMAL", "age_HIGH"]).values.argmax(axis=1).tolist() == [
        0,
        0,
        1,
        2,
        1,
        2,
    ]
    assert made.concepts(np.array([2, 5])).with_columns(["age_LOW"]).values[:, 0].tolist() == [1, 1, 1, 0, 0, 0]


def test_early_mimic_leaves_out_what_is_known_late(known):
    folder = known({"mimic2/full_cohort_data.csv.gz": packed_csv(small_mimic())})
    whole, early = datasets.load("mimic2", folder), datasets.load("mimic2-early", folder)
    assert (
        set(whole.inputs.columns) - set(early.inputs.columns) == set(LATE) == {"icu_los_day", "iv_day_1", "abg_count"}
    )
    assert early.concepts(early.all_rows).n_concepts == 81
    assert early.name == "mimic2-early"
    assert early.labels.tolist() == whole.labels.tolist()
    assert all(name in said.remarks[0] for name in LATE for said in (whole, early))


# V-Dem


def small_vdem() -> tuple[pd.DataFrame, pd.DataFrame]:
    indices = pd.DataFrame({index: np.linspace(0, 1, 5) for index in CONCEPTS.values()})
    indices.insert(0, "country_text_id", ["AAA", "AAA", "BBB", "BBB", "CCC"])
    indices.insert(1, "year", [2001, 2002, 2001, 2002, 2001])
    indices["v2x_polyarchy"] = [0.2, 0.5, 0.51, 0.9, 0.9]
    indices.loc[3, "v2x_suffr"] = np.nan
    indices["v2x_api_v15"] = np.nan
    low = pd.DataFrame(
        {
            "gwcode": [2, 2, 3, 4, 5],
            "country_name": "x",
            "country_text_id": ["CCC", "BBB", "AAA", "AAA", "AAA"],
            "year": [2001, 2001, 2002, 2001, 1999],
            "is_elec": 1,
            "v2x_liberal": 0.5,
            "v2xel_frefair": 0.5,
            "v2elvotbuy": [3.0, 2.0, 1.0, 0.0, 9.0],
            "v2exbribe": [np.nan, 2.0, 1.0, 0.0, 9.0],
            "v2cltext": "word",
        }
    )
    return indices, low


def test_vdem_joins_indices_and_indicators_on_country_and_year(known, monkeypatch):
    indices, low = small_vdem()
    folder = known(
        {
            "vdem/vdem_concepts_2001_2021.csv.gz": packed_csv(indices),
            "vdem/vdem_v12_1970_2021.csv.gz": packed_csv(low),
        }
    )
    made = datasets.load("vdem", folder)
    assert made.class_names == ("non_electoral_democracy", "electoral_democracy")
    # The row without v2x_suffr is gone; exactly 0.5 is not above it.
    assert made.labels.tolist() == [0, 0, 1, 1]
    assert made.groups.tolist() == ["AAA", "AAA", "BBB", "CCC"]
    assert made.annotated
    table = made.concepts(np.array([0]))
    assert table.names == (
        "freexp_altinf", "frassoc_thick", "frefair", "elecoff", "rol", "cspart", "delib", "egal", "eqprotec",
        "eqaccess", "eqdr", "suffr", "api", "mpi",
    )  # fmt: skip
    assert table.values[:, 0].tolist() == [0, 0, 0, 1]
    assert table.labels.tolist() == made.labels.tolist()
    # v2exbribe is missing on one of these four rows, which is more than 5%.
    assert made.inputs.to_dict("list") == {"v2elvotbuy": [0.0, 1.0, 2.0, 3.0]}
    monkeypatch.setattr("lab.datasets.tabular.MISSING", 0.25)
    with_gap = datasets.load("vdem", folder).inputs
    assert list(with_gap.columns) == ["v2elvotbuy", "v2exbribe"]
    assert with_gap["v2exbribe"].isna().tolist() == [False, False, False, True]
    assert "half api plus half mpi" in made.remarks[0]
    assert "version 12" in made.remarks[1]
    assert "about 20 near-identical years" in made.remarks[2]


def test_vdem_keeps_a_country_year_without_indicators(known, monkeypatch):
    indices, low = small_vdem()
    monkeypatch.setattr("lab.datasets.tabular.MISSING", 0.25)
    folder = known(
        {
            "vdem/vdem_concepts_2001_2021.csv.gz": packed_csv(indices),
            "vdem/vdem_v12_1970_2021.csv.gz": packed_csv(low[low["country_text_id"] != "BBB"]),
        }
    )
    made = datasets.load("vdem", folder)
    assert len(made.inputs) == len(made) == 4
    assert made.inputs["v2elvotbuy"].isna().tolist() == [False, False, True, False]


# MNIST


def idx(array: np.ndarray) -> bytes:
    return gzip.compress(struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes())


def test_mnist_is_read_from_idx_files(known):
    train, test = np.arange(24, dtype=np.uint8).reshape(4, 2, 3), np.arange(6, dtype=np.uint8).reshape(1, 2, 3)
    folder = known(
        {
            "mnist/train-images-idx3-ubyte.gz": idx(train),
            "mnist/train-labels-idx1-ubyte.gz": idx(np.array([0, 3, 8, 9], dtype=np.uint8)),
            "mnist/t10k-images-idx3-ubyte.gz": idx(test),
            "mnist/t10k-labels-idx1-ubyte.gz": idx(np.array([7], dtype=np.uint8)),
        }
    )
    made = datasets.load("mnist", folder)
    assert (made.inputs[:, 0] == train).all()
    assert made.inputs.shape == (4, 1, 2, 3)
    assert made.inputs.dtype == np.uint8
    assert made.labels.tolist() == [0, 1, 0, 1]
    assert made.class_names == ("even", "odd")
    assert made.annotated
    table = made.concepts(made.all_rows)
    assert table.names == ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    assert [table.names[place] for place in table.values.argmax(axis=1)] == ["zero", "three", "eight", "nine"]
    assert table.values.sum(axis=1).tolist() == [1, 1, 1, 1]
    assert table.exclusive == (table.names,)
    assert made.final is not None
    assert (made.final.inputs[:, 0] == test).all()
    assert (made.final.labels.tolist(), made.final.final) == ([1], None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"must be an idx file of bytes, which starts with 00 00 08; it starts with nothing\."),
        (b"\x00\x00\x0d\x01\x00\x00\x00\x01\x05", r"it starts with 00 00 0d\."),
        (b"\x00\x00\x08\x01\x00\x00\x00\x03\x05\x06", r"must hold 11 bytes by its header, got 10\."),
        (b"\x00\x00\x08\x01\x00\x00\x00\x01\x05\x06", r"must hold 9 bytes by its header, got 10\."),
        (b"\x00\x00\x08\x02\x00\x00\x00\x03", r"must start with a header of 12 bytes, got 8\."),
        (b"\x00\x00\x08\x01\x00\x00", r"must start with a header of 8 bytes, got 6\."),
    ],
)
def test_what_is_no_idx_file_is_refused(content, message, tmp_path):
    (tmp_path / "x.gz").write_bytes(gzip.compress(content))
    with pytest.raises(LogicLensError, match=message):
        read_idx(tmp_path / "x.gz")


# CUB


def webp(colour: tuple[int, int, int]) -> bytes:
    image = pytest.importorskip("PIL.Image")
    content = io.BytesIO()
    picture = image.new("RGB", (128, 128), colour)
    picture.putpixel((5, 2), (255, 255, 255))
    picture.save(content, "WEBP", lossless=True)
    return content.getvalue()


def small_cub() -> dict[str, bytes]:
    shares = np.zeros((12, 3))
    shares[:9, 0] = 100
    shares[:10, 1] = 50.1
    shares[:, 2] = 60
    shares[11, 2] = 50
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for number in (12, 5, 7):
            file.writestr(f"{number:05d}.webp", webp((10 * number, 20, 30)))
    return {
        "cub/attributes.txt": b"1 has_size::big\n2 has_bill_shape::curved_(up_or_down)\n3 has_size::small_(5_-_9_in)\n",
        "cub/class_attribute_labels_continuous.txt.gz": gzip.compress(
            "\n".join(" ".join(f"{cell}" for cell in row) for row in shares).encode()
        ),
        "cub/classes.txt": "\n".join(f"{i + 1} {i + 1:03d}.Bird_{i}" for i in range(12)).encode(),
        "cub/cub_images_128.zip": archive.getvalue(),
        "cub/image_class_labels.txt.gz": gzip.compress(b"5 12\n7 1\n12 11\n"),
    }


def test_cub_keeps_the_attributes_of_ten_species(known):
    made = datasets.load("cub", known(small_cub()))
    assert made.labels.tolist() == [11, 0, 10]
    assert made.class_names == tuple(f"Bird_{i}" for i in range(12))
    table = made.concepts(np.array([0]))
    assert table.names == ("bill_shape_curved_up_or_down", "size_small_5_9_in")
    # More than 50, not 50 itself.
    assert table.values.tolist() == [[0, 0], [1, 1], [0, 1]]
    assert made.annotated
    assert made.inputs.shape == (3, 3, 128, 128)
    assert made.inputs.dtype == np.uint8
    assert made.inputs[:, :, 0, 0].tolist() == [[50, 20, 30], [70, 20, 30], [120, 20, 30]]
    # The third row from the top, the sixth column.
    assert (made.inputs[:, :, 2, 5] == 255).all()
    assert "train equals test" in made.remarks[0]


def test_cub_says_how_to_install_what_reads_images(known, monkeypatch):
    folder = known(small_cub())
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(LogicLensError) as caught:
        datasets.load("cub", folder)
    assert str(caught.value) == "reading the images of cub needs PIL: pip install 'logiclens[images]'."


@pytest.mark.parametrize("path", list(small_cub()))
def test_every_file_of_cub_is_checked(path, known):
    files = small_cub()
    folder = known(files)
    (folder / path).write_bytes(files[path] + b"\n")
    with pytest.raises(LogicLensError, match=f"the file {path} .* has been altered"):
        datasets.load("cub", folder)


# Sets that come with scikit-learn


@pytest.mark.parametrize(
    ("name", "loader", "shape"),
    [
        ("breast-cancer", "load_breast_cancer", (569, 90)),
        ("wine", "load_wine", (178, 39)),
        ("iris", "load_iris", (150, 12)),
    ],
)
def test_embedded_tables_are_cut_in_thirds(name, loader, shape):
    made, judge = datasets.load(name), getattr(sklearn_datasets, loader)()
    table = made.concepts(made.all_rows)
    assert table.values.shape == shape
    assert (made.inputs.to_numpy() == judge.data).all()
    assert [made.class_names[label] for label in made.labels] == [judge.target_names[label] for label in judge.target]
    assert not table.broken_groups()
    for rows in (made.all_rows, np.flatnonzero(made.labels == 0)):
        binned = made.concepts(rows).boolean().reshape(len(made), -1, 3)
        for place, column in enumerate(judge.data.T):
            low, high = (exact_quantile(column[rows], third) for third in (1, 2))
            assert binned[:, place].argmax(axis=1).tolist() == [(value >= low) + (value >= high) for value in column]


def exact_quantile(column: np.ndarray, third: int) -> Fraction:
    """The linear quantile in fractions, which never round."""
    values = sorted(Fraction(value) for value in column)
    place, rest = divmod(third * (len(values) - 1), 3)
    return values[place] + Fraction(rest, 3) * (values[min(place + 1, len(values) - 1)] - values[place])


def test_digits_are_told_from_inked_pixels():
    made, judge = datasets.load("digits-parity"), sklearn_datasets.load_digits()
    assert (made.concepts(made.all_rows).boolean().reshape(-1, 8, 8) == (judge.images >= 8)).all()
    assert made.concepts(made.all_rows).names[9] == "pixel_1_1"
    assert [made.class_names[label] for label in made.labels[:3]] == ["even", "odd", "even"]
    assert (made.labels == judge.target % 2).all()


# Data made from a formula


@pytest.mark.parametrize(("name", "n_odd", "n_concepts"), [("xor", 2, 6), ("parity", 4, 10)])
def test_parity_counts_the_first_concepts(name, n_odd, n_concepts):
    made = datasets.load(name)
    table = made.concepts(made.all_rows)
    assert table.values.shape == (2000, n_concepts)
    assert (made.labels == table.values[:, :n_odd].sum(axis=1) % 2).all()
    assert set(made.truth[1].concepts) == {f"x{i + 1}" for i in range(n_odd)}
    assert abs(table.values.mean() - 0.5) < 0.05


@pytest.mark.parametrize("name", ["xor", "parity", "random-dnf"])
def test_the_truth_of_the_classes_splits_all_rows(name):
    made = datasets.load(name)
    no, yes = made.truth
    concepts = yes.concepts
    rows = np.array(list(itertools.product((False, True), repeat=len(concepts))))
    # Judged literal by literal, without the evaluation of formulas.
    by_hand = np.array(
        [
            any(all(row[concepts.index(lit.concept)] == lit.positive for lit in cube) for cube in yes.cubes)
            for row in rows
        ]
    )
    assert (no.evaluate(rows, concepts) == ~by_hand).all()
    # Nothing shorter says the same.
    assert minimise_complete(by_hand, concepts).formula.n_literals == yes.n_literals


def test_noise_flips_labels_and_leaves_rows_and_truth():
    quiet, noisy = random_dnf(noise=0.0), random_dnf(noise=0.1)
    table = quiet.concepts(quiet.all_rows)
    assert (quiet.labels == quiet.truth[1].evaluate(table.boolean(), table.names)).all()
    assert (table.values == noisy.concepts(noisy.all_rows).values).all()
    assert quiet.truth == noisy.truth
    n_flipped = int((quiet.labels != noisy.labels).sum())
    assert 150 <= n_flipped <= 250
    # Of both classes alike.
    assert all(0.05 < (noisy.labels != quiet.labels)[quiet.labels == label].mean() < 0.15 for label in (0, 1))
    assert f"{n_flipped} of 2000 are flipped" in noisy.remarks[1]
    assert len(quiet.remarks) == 1


def test_a_random_formula_has_the_shape_that_was_asked_for():
    made = random_dnf(n_rows=50, n_concepts=12, n_cubes=5, width=2, noise=0.2, seed=7)
    assert made.inputs.shape == (50, 12)
    assert [len(cube) for cube in made.truth[1].cubes] == [2] * 5
    assert len({frozenset(cube.concepts) for cube in made.truth[1].cubes}) == 5
    assert f"{12 - len(made.truth[1].concepts)} of 12 concepts have no part in it" in made.remarks[0]
    again, other = (random_dnf(n_rows=50, n_concepts=12, n_cubes=5, width=2, noise=0.2, seed=s) for s in (7, 8))
    assert again.truth == made.truth
    assert (again.labels == made.labels).all()
    assert other.truth != made.truth
    for seed in range(5):
        full = random_dnf(n_rows=1, n_concepts=3, n_cubes=3, width=2, seed=seed).truth[1]
        pairs = itertools.combinations(("x1", "x2", "x3"), 2)
        assert {frozenset(cube.concepts) for cube in full} == {frozenset(pair) for pair in pairs}
    signs = [lit.positive for seed in range(20) for cube in random_dnf(n_rows=1, seed=seed).truth[1] for lit in cube]
    assert 80 < sum(signs) < 160


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"n_rows": 0}, "n_rows must be at least 1, got 0."),
        ({"n_concepts": 0}, "n_concepts must be at least 1, got 0."),
        ({"n_cubes": 0}, "n_cubes must be at least 1, got 0."),
        ({"width": 0}, "width must be at least 1, got 0."),
        ({"noise": 0.5}, "noise must be at least 0 and less than 0.5, got 0.5."),
        ({"noise": -0.1}, "noise must be at least 0 and less than 0.5, got -0.1."),
        ({"n_concepts": 3, "width": 4}, "width must be at most the number of concepts, 3, got 4."),
        (
            {"n_concepts": 3, "width": 2, "n_cubes": 4},
            "n_cubes must be at most 3, the ways to choose 2 of 3 concepts; got 4.",
        ),
    ],
)
def test_a_formula_that_cannot_be_drawn_is_refused(asked, message):
    with pytest.raises(LogicLensError) as caught:
        random_dnf(**asked)
    assert str(caught.value) == message


# The real files


@pytest.mark.data
def test_every_known_file_is_the_real_one(data_folder):
    for source in dataset_module.SOURCES.values():
        for file in source.files:
            content = (data_folder / file.path).read_bytes()
            assert hashlib.sha256(content).hexdigest() == file.sha256
            if file.unpacked is not None:
                assert hashlib.sha256(gzip.decompress(content)).hexdigest() == file.unpacked


@pytest.mark.data
def test_real_mimic(data_folder):
    made = datasets.load("mimic2", data_folder)
    table = made.concepts(made.all_rows)
    assert table.values.shape == (1776, 90)
    assert int((made.labels == 1).sum()) == 497
    assert table.constant_concepts() == ("sepsis_flg", "service_num_NORMAL", "temp_1st_NORMAL", "spo2_1st_NORMAL")
    filled = SimpleImputer().fit_transform(made.inputs)
    judge = KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform")
    assert (table.values[:, 12:] == judge.fit_transform(filled[:, 12:])).all()
    # After min-max the same, but for values on a cut that rounding pushes below it.
    scaled = judge.fit_transform(MinMaxScaler().fit_transform(filled[:, 12:]))
    off = np.argwhere((table.values[:, 12:] != scaled).reshape(1776, 26, 3).any(axis=2))
    assert {(NUMBERS[place], filled[row, 12 + place]) for row, place in off} == {
        ("sodium_first", 145.0),
        ("pco2_first", 58.0),
    }
    assert (table.values[:, :12] == (filled[:, :12] >= 0.5)).all()
    assert datasets.load("mimic2-early", data_folder).concepts(made.all_rows).values.shape == (1776, 81)


@pytest.mark.data
def test_real_vdem(data_folder):
    made = datasets.load("vdem", data_folder)
    table = made.concepts(made.all_rows)
    assert table.values.shape == (3260, 14)
    assert len(table.counted()) == 211
    assert len(set(made.groups)) == 163
    assert made.inputs.shape == (3260, 131)
    assert (made.inputs.isna().mean() <= 0.05).all()
    # A high-level agreement that a wrong join would break: free and fair elections, by experts, and the index of them.
    assert np.corrcoef(made.inputs["v2elfrfair"], table.with_columns(["frefair"]).values[:, 0])[0, 1] > 0.6


@pytest.mark.data
def test_real_mnist(data_folder):
    made = datasets.load("mnist", data_folder)
    assert made.inputs.shape == (60000, 1, 28, 28)
    assert made.concepts(made.all_rows).values.sum(axis=0).tolist() == [
        5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949,
    ]  # fmt: skip
    assert made.final is not None
    assert made.final.inputs.shape == (10000, 1, 28, 28)
    # Mean and deviation as every tutorial gives them.
    assert (made.inputs.mean() / 255, made.inputs.std() / 255) == pytest.approx((0.1307, 0.3081), abs=1e-4)


@pytest.mark.data
def test_real_cub_has_108_concepts_and_200_distinct_species(data_folder, monkeypatch):
    monkeypatch.setattr(images, "_unzipped", lambda path, numbers: np.zeros((len(numbers), 1), dtype=np.uint8))
    made = datasets.load("cub", data_folder)
    table = made.concepts(made.all_rows)
    assert table.values.shape == (11788, 108)
    assert len(set(made.class_names)) == 200
    assert made.class_names[0] == "Black_footed_Albatross"
    assert len(table.counted()) == 200
    assert len(np.unique(np.column_stack([table.values, made.labels]), axis=0)) == 200
    assert (np.bincount(made.labels).min(), np.bincount(made.labels).max()) == (41, 60)
    assert all(format_formula(Literal(name)) == name for name in table.names)


@pytest.mark.data
@pytest.mark.slow
def test_real_cub_images(data_folder):
    image = pytest.importorskip("PIL.Image")
    made = datasets.load("cub", data_folder)
    assert made.inputs.shape == (11788, 3, 128, 128)
    with zipfile.ZipFile(data_folder / "cub" / "cub_images_128.zip") as archive:
        for row in (0, 777, 11787):
            alone = image.open(archive.open(f"{row + 1:05d}.webp"))
            assert (made.inputs[row].transpose(1, 2, 0) == np.asarray(alone)).all()
