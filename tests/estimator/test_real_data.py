"""The classifier on real tables; needs the folder named by $LOGICLENS_DATA."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from logiclens.concepts import ConceptTable
from logiclens.concepts.splits import folds
from logiclens.errors import LogicLensWarning
from logiclens.estimator import EntropyClassifier
from logiclens.estimator.cross_validation import score_formulas

pytestmark = pytest.mark.data

MID_LEVEL = (
    "v2x_freexp_altinf", "v2x_frassoc_thick", "v2xel_frefair", "v2x_elecoff", "v2xcl_rol", "v2x_cspart", "v2xdl_delib",
    "v2x_egal", "v2xeg_eqprotec", "v2xeg_eqaccess", "v2xeg_eqdr", "v2x_suffr", "v2x_api_formula", "v2x_mpi_formula",
)  # fmt: skip
OUTCOMES = ["day_28_flg", "hosp_exp_flg", "icu_exp_flg", "censor_flg"]
DROPPED = ["day_icu_intime", "service_unit", "hospital_los_day", "mort_day_censored", *OUTCOMES]


@pytest.fixture(scope="module")
def vdem(data_folder) -> tuple[pd.DataFrame, np.ndarray]:
    frame = pd.read_csv(data_folder / "vdem" / "vdem_concepts_2001_2021.csv.gz")
    columns = list(MID_LEVEL)
    complete = frame.dropna(subset=[*columns, "v2x_polyarchy"])
    return complete[columns] > 0.5, np.where(complete["v2x_polyarchy"] > 0.5, "democracy", "autocracy")


def test_vdem_trains_on_its_distinct_rows_only(vdem):
    concepts, labels = vdem
    table = ConceptTable(concepts, list(concepts.columns), (labels == "democracy").astype(int))
    assert len(table) == 3260
    held = (concepts, labels)
    model = EntropyClassifier(None, epochs=1, method="paper").fit(concepts, labels, held_out=held)
    assert model.train_result_.counted
    assert model.train_result_.n_trained_rows == len(table.counted()) == len(concepts.drop_duplicates())


def test_vdem_formula_is_short_and_true_on_unseen_rows(vdem):
    concepts, labels = vdem
    fold = next(folds(labels))
    model = EntropyClassifier(None).fit(concepts.iloc[fold.train], labels[fold.train])
    explanation = model.explain()
    scores = score_formulas(explanation.formulas, model.read(concepts.iloc[fold.test], labels[fold.test]))
    # torch_explain on such folds: F1 84.8, fidelity 85.6, 3.5 literals; one literal alone has F1 93.0.
    assert scores["explanation_accuracy"] > 0.92
    assert scores["fidelity"] > 0.95
    assert scores["complexity"] <= 5


def test_mimic_names_its_four_constant_concepts(data_folder):
    frame = pd.read_csv(data_folder / "mimic2" / "full_cohort_data.csv.gz")
    died = (frame[OUTCOMES[:3]] == 1).any(axis=1) | (frame["censor_flg"] == 0)
    assert int(died.sum()) == 497
    flags = [c for c in frame.columns if c.endswith("_flg") and c not in OUTCOMES] + ["gender_num"]
    concepts = {flag: frame[flag].fillna(0) == 1 for flag in flags}
    for column in frame.columns.difference([*flags, *DROPPED]):
        values = frame[column].fillna(frame[column].mean())
        scaled = (values - values.min()) / (values.max() - values.min())
        binned = np.minimum((scaled * 3).astype(int), 2)
        concepts |= {f"{column}_{name}": binned == i for i, name in enumerate(("LOW", "NORMAL", "HIGH"))}
    table = pd.DataFrame(concepts)
    assert table.shape == (1776, 90)
    with pytest.warns(LogicLensWarning, match="are constant on the training rows"):
        model = EntropyClassifier(None, max_literals=1).fit(table, died.to_numpy())
    note = next(note for note in model.explain().notes if "constant" in note)
    for name in ("sepsis_flg", "service_num_NORMAL", "temp_1st_NORMAL", "spo2_1st_NORMAL"):
        assert name in note
