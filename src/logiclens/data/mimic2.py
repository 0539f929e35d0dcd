"""MIMIC-II: patients of an intensive care unit with or without an arterial catheter; who dies?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from logiclens.data.bins import BinnedConcepts
from logiclens.data.dataset import Dataset
from logiclens.data.provenance import checked

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
"""In the order of the file. `service_num` is binary, and binned all the same, as in the paper's experiments."""
LATE = ("icu_los_day", "iv_day_1", "abg_count")
"""What may be known only after admission."""
DEATHS = ("day_28_flg", "hosp_exp_flg", "icu_exp_flg")


def mimic2(folder: Path) -> Dataset:
    """1,776 patients, 90 concepts: 12 flags, and 26 numbers as LOW, NORMAL and HIGH."""
    late = f"{', '.join(LATE)} may be known only after admission; mimic2-early leaves them out."
    return _read(folder, "mimic2", NUMBERS, late)


def mimic2_early(folder: Path) -> Dataset:
    """The same patients without what may be known only after admission: 81 concepts."""
    late = f"{', '.join(LATE)}, which may be known only after admission, are left out."
    return _read(folder, "mimic2-early", tuple(name for name in NUMBERS if name not in LATE), late)


def _read(folder: Path, name: str, numbers: tuple[str, ...], late: str) -> Dataset:
    table = pd.read_csv(checked(folder, "mimic2/full_cohort_data.csv.gz"))
    # censor_flg is 0 where a death is on record, however long after the stay.
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
