"""The real tables of two of the paper's experiments, split into clean folds: every cut comes from the training part."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from logiclens.data.splits import folds

VDEM_CONCEPTS = (
    "v2x_freexp_altinf", "v2x_frassoc_thick", "v2xel_frefair", "v2x_elecoff", "v2xcl_rol", "v2x_cspart", "v2xdl_delib",
    "v2x_egal", "v2xeg_eqprotec", "v2xeg_eqaccess", "v2xeg_eqdr", "v2x_suffr", "v2x_api_formula", "v2x_mpi_formula",
)  # fmt: skip
MIMIC_FLAGS = (
    "aline_flg", "gender_num", "sepsis_flg", "chf_flg", "afib_flg", "renal_flg", "liver_flg", "copd_flg", "cad_flg",
    "stroke_flg", "mal_flg", "resp_flg",
)  # fmt: skip
MIMIC_OUTCOMES = ("day_28_flg", "hosp_exp_flg", "icu_exp_flg", "censor_flg")
MIMIC_DROPPED = ("day_icu_intime", "service_unit", "hospital_los_day", "mort_day_censored", *MIMIC_OUTCOMES)


@dataclass(frozen=True, eq=False)
class Part:
    """Rows as concepts, with their labels."""

    concepts: pd.DataFrame
    labels: np.ndarray


@dataclass(frozen=True, eq=False)
class Fold:
    """The rows that train, those that choose, and those that are only scored."""

    train: Part
    validation: Part
    test: Part


def data_folder() -> Path:
    """The folder that $LOGICLENS_DATA names."""
    folder = os.environ.get("LOGICLENS_DATA")
    if not folder or not Path(folder).is_dir():
        sys.exit("these tables are read from the folder that LOGICLENS_DATA names; it is not set, or not there.")
    return Path(folder)


def vdem() -> Iterator[Fold]:
    """3,260 country-years, 14 indices above 0.5, democracy by polyarchy above 0.5 (two of them all but define it)."""
    frame = pd.read_csv(data_folder() / "vdem" / "vdem_concepts_2001_2021.csv.gz")
    frame = frame.dropna(subset=[*VDEM_CONCEPTS, "v2x_polyarchy"])
    labels = np.where(frame["v2x_polyarchy"] > 0.5, "democracy", "autocracy")
    concepts = (frame[list(VDEM_CONCEPTS)] > 0.5).astype(float)
    for fold in folds(labels):
        parts = (Part(concepts.iloc[rows], labels[rows]) for rows in (fold.train, fold.validation, fold.test))
        yield Fold(*parts)


def mimic() -> Iterator[Fold]:
    """1,776 patients, 90 concepts: 12 flags and 26 numbers in three equal bins of the training part's range."""
    frame = pd.read_csv(data_folder() / "mimic2" / "full_cohort_data.csv.gz")
    died = (frame[list(MIMIC_OUTCOMES[:3])] == 1).any(axis=1) | (frame["censor_flg"] == 0)
    labels = np.where(died, "dies", "lives")
    numeric = [
        column
        for column in frame.columns
        if column not in (*MIMIC_FLAGS, *MIMIC_DROPPED) and pd.api.types.is_numeric_dtype(frame[column])
    ]
    for fold in folds(labels):
        train = frame.iloc[fold.train][numeric]
        filled = train.fillna(train.mean())
        low, width = filled.min(), filled.max() - filled.min()
        parts = []
        for rows in (fold.train, fold.validation, fold.test):
            part = frame.iloc[rows]
            bins = np.clip(3 * (part[numeric].fillna(train.mean()) - low) / width, 0, 2).astype(int)
            columns = {flag: (part[flag] == 1).astype(float) for flag in MIMIC_FLAGS}
            for column in numeric:
                for place, name in enumerate(("LOW", "NORMAL", "HIGH")):
                    columns[f"{column}_{name}"] = (bins[column] == place).astype(float)
            parts.append(Part(pd.DataFrame(columns), labels[rows]))
        yield Fold(*parts)


def breast_cancer() -> Iterator[Fold]:
    """569 tumours, 30 measurements cut at two quantiles of the training part."""
    from logiclens.data.booleanise import Booleaniser
    from logiclens.experiments.bundled import breast_cancer as bundled

    raw = bundled()
    for fold in folds(raw.labels):
        cuts = Booleaniser("quantile", n_cuts=2).set_output(transform="pandas").fit(raw.frame.iloc[fold.train])
        parts = (
            Part(cuts.transform(raw.frame.iloc[rows]).astype(float), raw.labels[rows])
            for rows in (fold.train, fold.validation, fold.test)
        )
        yield Fold(*parts)


TABLES = {"vdem": vdem, "mimic": mimic, "breast_cancer": breast_cancer}
