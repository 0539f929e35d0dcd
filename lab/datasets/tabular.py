"""The tabular data sets: MIMIC-II and V-Dem from files, small ones that come with scikit-learn, and ones
made from a known formula.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from lab.datasets.dataset import BinnedConcepts, Dataset, GivenConcepts, checked, identifier
from logiclens.concepts.concept_table import ConceptTable
from logiclens.formula.dnf import DNF, Cube, Literal

INK = 8
"""A pixel, from 0 to 16, counts as inked from this value on."""


def breast_cancer() -> Dataset:
    """Load 569 tumours with 30 measurements of their cell nuclei."""
    title = "Breast cancer, Wisconsin diagnostic: is a tumour malignant or benign?"
    return _binned("breast-cancer", title, load_breast_cancer(as_frame=True))


def wine() -> Dataset:
    return _binned("wine", "Wine: which of three growers made it?", load_wine(as_frame=True))


def iris() -> Dataset:
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


CLASSES = ("no", "yes")


def xor() -> Dataset:
    """Make 2,000 rows with 6 concepts; the class is whether exactly one of the first two is true."""
    return _made(
        "xor", "Exclusive or: is just one of x1 and x2 true?", _odd(2), _rows(np.random.default_rng(0), 2000, 6)
    )


def parity() -> Dataset:
    """Make 2,000 rows with 10 concepts; the class is whether an odd number of the first four is true."""
    return _made(
        "parity",
        "Parity: is an odd number of x1, x2, x3 and x4 true?",
        _odd(4),
        _rows(np.random.default_rng(0), 2000, 10),
    )


def random_dnf(
    *, n_rows: int = 2000, n_concepts: int = 30, n_cubes: int = 4, width: int = 3, noise: float = 0.05, seed: int = 0
) -> Dataset:
    """Make rows labelled by a random formula, with a share of the labels flipped.

    Args:
        n_rows: number of rows; each concept is true on half of them, independent of the others.
        n_concepts: number of concepts; those that the formula does not name are distractors.
        n_cubes: number of cubes in the formula of `yes`. The formula of `no` is its negation, which is refused if
            it has more than 10,000 cubes.
        width: number of literals per cube.
        noise: probability that a label is flipped; `truth` refers to the labels before.
        seed: random seed.

    >>> made = random_dnf(n_cubes=2, width=2, seed=1)
    >>> made.truth[1]
    DNF('(x14 & ~x16) | (~x5 & ~x25)')
    """
    random = np.random.default_rng(seed)
    # No two cubes over the same concepts: a & b | a & ~b would be a.
    cubes: dict[frozenset[str], Cube] = {}
    while len(cubes) < n_cubes:
        chosen = random.choice(n_concepts, width, replace=False)
        literals = [Literal(f"x{place + 1}", bool(random.integers(2))) for place in chosen]
        cubes.setdefault(frozenset(literal.concept for literal in literals), Cube(literals))
    title = f"A random formula of {n_cubes} cubes over {n_concepts} concepts: is it true?"
    bits = _rows(random, n_rows, n_concepts)
    return _made("random-dnf", title, DNF(cubes.values()), bits, random.random(n_rows) < noise)


def _odd(n: int) -> DNF:
    """Return the formula that an odd number of the first concepts is true."""
    signs = [sign for sign in product((True, False), repeat=n) if sum(sign) % 2]
    return DNF(Cube(Literal(f"x{place + 1}", positive) for place, positive in enumerate(sign)) for sign in signs)


def _rows(random: np.random.Generator, n_rows: int, n_concepts: int) -> NDArray[np.bool_]:
    """Draw concepts that are true on half of the rows, independent of each other."""
    return random.integers(2, size=(n_rows, n_concepts)).astype(np.bool_)


def _made(
    name: str, title: str, yes: DNF, bits: NDArray[np.bool_], flipped: NDArray[np.bool_] | None = None
) -> Dataset:
    n_rows, n_concepts = bits.shape
    names = tuple(f"x{place + 1}" for place in range(n_concepts))
    labels = yes.evaluate(bits, names).astype(np.int64)
    unused = n_concepts - len(yes.concepts)
    remarks = [f"The rows were made from a known formula; {unused} of {n_concepts} concepts have no part in it."]
    if flipped is not None and flipped.any():
        labels ^= flipped
        remarks.append(f"Of the labels {flipped.sum()} of {n_rows} are flipped, which no formula can foresee.")
    return Dataset(
        name,
        title,
        pd.DataFrame(bits, columns=list(names)),
        labels,
        CLASSES,
        GivenConcepts(ConceptTable(bits, names, labels, CLASSES)),
        truth=(~yes, yes),
        remarks=tuple(remarks),
    )
