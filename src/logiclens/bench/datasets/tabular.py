"""The tabular data sets: MIMIC-II and V-Dem from files, and small ones that come with scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from logiclens.bench.datasets.dataset import BinnedConcepts, Dataset, GivenConcepts, checked, identifier
from logiclens.concepts.concept_table import ConceptTable

INK = 8
"""A pixel, from 0 to 16, counts as inked from this value on."""


def breast_cancer() -> Dataset:
    """Load 569 tumours with 30 measurements of their cell nuclei."""
    title = "Breast cancer, Wisconsin diagnostic: is a tumour malignant or benign?"
    return _binned("breast-cancer", title, load_breast_cancer(as_frame=True))


def wine() -> Dataset:
    """Load 178 wines with 13 measurements."""
    return _binned("wine", "Wine: which of three growers made it?", load_wine(as_frame=True))


def iris() -> Dataset:
    """Load 150 flowers with 4 measurements."""
    return _binned("iris", "Iris: of which of three species is a flower?", load_iris(as_frame=True))


def digits_parity() -> Dataset:
    """Load 1,797 handwritten digits of 8 x 8 pixels; each pixel is a concept: inked or not."""
    bunch = load_digits(as_frame=True)
    labels = bunch.target.to_numpy().astype(np.int64) % 2
    class_names = ("even", "odd")
    return Dataset(
        "digits-parity",
        "Digits: is a handwritten digit even or odd, told from its pixels?",
        bunch.data,
        labels,
        class_names,
        GivenConcepts(ConceptTable(bunch.data.to_numpy() >= INK, tuple(bunch.data.columns), labels, class_names)),
        remarks=("A pixel means little by itself: long formulas are to be expected.",),
    )


def _binned(name: str, title: str, bunch: Any) -> Dataset:
    """Return a table of numbers, each as LOW, NORMAL and HIGH with a third of the fitted rows in each."""
    frame: pd.DataFrame = bunch.data.rename(columns=identifier)
    labels = bunch.target.to_numpy().astype(np.int64)
    class_names = tuple(str(klass) for klass in bunch.target_names)
    concepts = BinnedConcepts(frame, labels, class_names, edges="quantile")
    return Dataset(name, title, frame, labels, class_names, concepts)


FLAGS = (
    "aline_flg", "gender_num", "sepsis_flg", "chf_flg", "afib_flg", "renal_flg", "liver_flg", "copd_flg", "cad_flg",
    "stroke_flg", "mal_flg", "resp_flg",
)  # fmt: skip
NUMBERS = (
    "icu_los_day", "age", "weight_first", "bmi", "sapsi_first", "sofa_first", "service_num", "day_icu_intime_num",
    "hour_icu_intime", "map_1st", "hr_1st", "temp_1st", "spo2_1st", "abg_count", "wbc_first", "hgb_first",
    "platelet_first", "sodium_first", "potassium_first", "tco2_first", "chloride_first", "bun_first",
    "creatinine_first", "po2_first", "pco2_first", "iv_day_1",
)  # fmt: skip
"""The numbers, in file order. `service_num` is binary and binned all the same, as in the paper's experiments."""
LATE = ("icu_los_day", "iv_day_1", "abg_count")
"""Columns that may be known only after admission."""
DEATHS = ("day_28_flg", "hosp_exp_flg", "icu_exp_flg")


def mimic2(folder: Path) -> Dataset:
    """Load 1,776 patients with 90 concepts: 12 flags, and 26 numbers as LOW, NORMAL and HIGH."""
    late = f"{', '.join(LATE)} may be known only after admission; mimic2-early leaves them out."
    return _read(folder, "mimic2", NUMBERS, late)


def mimic2_early(folder: Path) -> Dataset:
    """Load the same patients without columns that may be known only after admission: 81 concepts."""
    late = f"{', '.join(LATE)}, which may be known only after admission, are left out."
    return _read(folder, "mimic2-early", tuple(name for name in NUMBERS if name not in LATE), late)


def _read(folder: Path, name: str, numbers: tuple[str, ...], late: str) -> Dataset:
    table = pd.read_csv(checked(folder, "mimic2/full_cohort_data.csv.gz"))
    # censor_flg is 0 if a death is on record, however long after the stay.
    died = (table[list(DEATHS)] == 1).any(axis=1) | (table["censor_flg"] == 0)
    labels = died.to_numpy().astype(np.int64)
    inputs = table[[*FLAGS, *numbers]]
    class_names = ("lives", "dies")
    return Dataset(
        name,
        "MIMIC-II: does a patient of the intensive care unit die, during the stay or after?",
        inputs,
        labels,
        class_names,
        BinnedConcepts(inputs, labels, class_names, FLAGS),
        remarks=(
            late,
            "Four concepts are constant on all rows: sepsis_flg, and the NORMAL bins of service_num, temp_1st and "
            "spo2_1st.",
        ),
    )


CONCEPTS = {
    "freexp_altinf": "v2x_freexp_altinf",
    "frassoc_thick": "v2x_frassoc_thick",
    "frefair": "v2xel_frefair",
    "elecoff": "v2x_elecoff",
    "rol": "v2xcl_rol",
    "cspart": "v2x_cspart",
    "delib": "v2xdl_delib",
    "egal": "v2x_egal",
    "eqprotec": "v2xeg_eqprotec",
    "eqaccess": "v2xeg_eqaccess",
    "eqdr": "v2xeg_eqdr",
    "suffr": "v2x_suffr",
    "api": "v2x_api_formula",
    "mpi": "v2x_mpi_formula",
}
"""The concepts, and the mid-level index that each one cuts."""
TARGET = "v2x_polyarchy"
CUT = 0.5
MISSING = 0.05
"""The largest share of missing values of an indicator."""
REMARKS = (
    "The target, polyarchy, is by definition half api plus half mpi, so the concepts all but define it.",
    "These are version 12 of V-Dem and its indicators on their continuous scale; the paper used version 10.",
    "A country has about 20 near-identical years, so folds drawn at random flatter every method; folds of whole "
    "countries do not.",
)


def vdem(folder: Path) -> Dataset:
    """Load 3,260 country-years from 2001 to 2021: 14 indices cut at 0.5; inputs are low-level indicators with gaps."""
    indices = pd.read_csv(checked(folder, "vdem/vdem_concepts_2001_2021.csv.gz"))
    indices = indices.dropna(subset=[*CONCEPTS.values(), TARGET])
    labels = (indices[TARGET] > CUT).to_numpy().astype(np.int64)
    class_names = ("non_electoral_democracy", "electoral_democracy")
    values = indices[list(CONCEPTS.values())].to_numpy() > CUT
    return Dataset(
        "vdem",
        "V-Dem: is a country an electoral democracy in a year?",
        _indicators(pd.read_csv(checked(folder, "vdem/vdem_v12_1970_2021.csv.gz")), indices),
        labels,
        class_names,
        GivenConcepts(ConceptTable(values, tuple(CONCEPTS), labels, class_names)),
        annotated=True,
        groups=indices["country_text_id"].to_numpy(dtype=object),
        remarks=REMARKS,
    )


def _indicators(everything: pd.DataFrame, indices: pd.DataFrame) -> pd.DataFrame:
    """Return the low-level indicators of these country-years: V-Dem's own columns that are not indices."""
    key = ["country_text_id", "year"]
    rows = indices[key].merge(everything, on=key, how="left", validate="one_to_one")
    # Every index starts with v2x, every indicator with v2; the other columns identify rows or were added later.
    names = [name for name in rows.columns if name.startswith("v2") and not name.startswith("v2x")]
    numbers = rows[names].select_dtypes("number")
    return numbers.loc[:, numbers.isna().mean() <= MISSING]
