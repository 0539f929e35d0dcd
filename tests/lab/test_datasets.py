"""The data sets: their files are checked, their bins are those of scikit-learn, and made ones have their truth."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import KBinsDiscretizer

from lab.datasets import dataset as module
from lab.datasets.catalogue import _AT_HAND, _FROM_FOLDER, check, load, random_dnf, read_idx
from lab.datasets.dataset import BinnedConcepts, Bins, identifier, sources
from logiclens.errors import LogicLensError

SHAPES = {
    "breast-cancer": (569, 90), "wine": (178, 39), "iris": (150, 12), "digits-parity": (1797, 64), "xor": (2000, 6),
    "parity": (2000, 10), "random-dnf": (2000, 30),
}  # fmt: skip


@pytest.mark.parametrize("name", list(_AT_HAND))
def test_sets_at_hand_have_one_concept_row_per_row(name):
    data = load(name)
    table = data.concepts(data.all_rows)
    assert table.values.shape == SHAPES[name]
    assert len(data) == len(data.inputs) == len(table)
    assert (np.asarray(table.labels) == data.labels).all()
    for group in table.exclusive:
        columns = [table.names.index(concept) for concept in group]
        assert (table.values[:, columns].sum(axis=1) == 1).all()


@pytest.mark.parametrize("name", ["xor", "parity", "random-dnf"])
def test_the_truth_decides_all_labels_but_noise(name):
    data = load(name)
    bits = data.inputs.to_numpy(dtype=bool)
    yes = data.truth[1].evaluate(bits, list(data.inputs))
    assert (data.truth[0].evaluate(bits, list(data.inputs)) == ~yes).all()
    flipped = (yes != data.labels).mean()
    assert 0.03 < flipped < 0.07 if name == "random-dnf" else flipped == 0


def test_noise_flips_labels_and_leaves_the_rows():
    clean, noisy = (random_dnf(noise=noise, seed=3) for noise in (0.0, 0.1))
    assert clean.inputs.equals(noisy.inputs)
    assert clean.truth == noisy.truth
    assert (clean.labels != noisy.labels).any()


@pytest.mark.parametrize("edges", ["uniform", "quantile"])
def test_bins_are_those_of_scikit_learn(edges):
    values = np.random.default_rng(0).normal(size=(200, 3))
    frame = pd.DataFrame(values, columns=list("abc"))
    judge = KBinsDiscretizer(3, encode="ordinal", strategy=edges, subsample=None, quantile_method="linear").fit(values)
    unseen = np.random.default_rng(1).normal(size=(500, 3))
    expected = judge.transform(unseen).astype(int)
    bits = Bins.fit(frame, edges=edges).transform(pd.DataFrame(unseen, columns=list("abc"))).reshape(500, 3, 3)
    assert (bits.argmax(axis=2) == expected).all()
    assert (bits.sum(axis=2) == 1).all()


def test_a_missing_flag_gets_the_majority_of_given_rows():
    frame = pd.DataFrame({"flag": [1.0, 1.0, 0.0, np.nan, 0.0, 0.0]})
    concepts = BinnedConcepts(frame, np.zeros(6, dtype=np.int64), ("only",), ("flag",))
    assert concepts(np.arange(3)).values[3, 0] == 1
    assert concepts(np.arange(2, 6)).values[3, 0] == 0


def test_identifiers_need_no_quotes():
    assert identifier("bill_shape::curved_(up_or_down)") == "bill_shape_curved_up_or_down"
    assert identifier("mean radius (cm)") == "mean_radius_cm"


def test_a_missing_file_is_named_with_its_source(tmp_path):
    with pytest.raises(
        LogicLensError, match=r"mimic2/full_cohort_data\.csv\.gz is not in the folder .*PhysioNet.*ODC-By"
    ):
        check("mimic2", tmp_path)
    with pytest.raises(LogicLensError, match="LOGICLENS_DATA"):
        load("vdem")
    with pytest.raises(LogicLensError, match="iris"):
        load("irs")


def test_an_altered_file_is_refused_and_a_repacked_one_taken(tmp_path, monkeypatch):
    content = b"a,b\n1,2\n"
    known = {
        "files": {"mimic2/t.csv.gz": ["0" * 64, module.hashlib.sha256(content).hexdigest()]},
        "where": "W",
        "terms": "T",
    }
    monkeypatch.setattr(module, "sources", lambda: {"mimic2": known})
    file = tmp_path / "mimic2" / "t.csv.gz"
    file.parent.mkdir()
    file.write_bytes(gzip.compress(content))
    assert module.checked(tmp_path, "mimic2/t.csv.gz") == file
    for other in (gzip.compress(b"other"), b"no gzip", gzip.compress(content)[:-4]):
        file.write_bytes(other)
        with pytest.raises(LogicLensError, match="has been altered"):
            module.checked(tmp_path, "mimic2/t.csv.gz")


def test_idx_files_are_read(tmp_path):
    array = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    file = tmp_path / "x.gz"
    file.write_bytes(gzip.compress(bytes([0, 0, 8, 3]) + np.array([2, 3, 4], ">u4").tobytes() + array.tobytes()))
    assert (read_idx(file) == array).all()


@pytest.mark.data
@pytest.mark.parametrize("name", list(_FROM_FOLDER))
def test_real_files_have_the_published_hashes(data_folder, name):
    check(name, data_folder)


@pytest.mark.data
@pytest.mark.parametrize(("name", "rows", "concepts", "share"), [
    ("mimic2", 1776, 90, 0.28), ("mimic2-early", 1776, 81, 0.28), ("vdem", 3260, 14, 0.57), ("mnist", 60_000, 10, 0.51),
])  # fmt: skip
def test_real_tables_have_the_papers_sizes(data_folder, name, rows, concepts, share):
    data = load(name, data_folder)
    table = data.concepts(data.all_rows)
    assert table.values.shape == (rows, concepts)
    assert data.labels.mean() == pytest.approx(share, abs=0.02)


@pytest.mark.data
def test_bare_carriage_returns_do_not_split_rows(data_folder, tmp_path):
    for folder in sources():
        assert (Path(data_folder) / folder).is_dir()
    shutil.copytree(Path(data_folder) / "mimic2", tmp_path / "mimic2")
    assert len(load("mimic2", tmp_path)) == 1776
