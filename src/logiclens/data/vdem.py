"""V-Dem: which countries are electoral democracies, told from mid-level indices, themselves told from indicators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from logiclens.data.bins import GivenConcepts
from logiclens.data.concepts import ConceptTable
from logiclens.data.dataset import Dataset
from logiclens.data.provenance import checked

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
"""The largest share of rows on which an indicator may be missing."""
REMARKS = (
    "The target, polyarchy, is by definition half api plus half mpi, so the concepts all but define it.",
    "These are version 12 of V-Dem and its indicators on their continuous scale; the paper used version 10.",
    "A country has about 20 near-identical years, so folds drawn at random flatter every method; folds of whole "
    "countries do not.",
)


def vdem(folder: Path) -> Dataset:
    """3,260 country-years from 2001 to 2021, 14 indices above 0.5; the inputs are low-level indicators, with gaps."""
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
    """The low-level indicators of these country-years: V-Dem's own columns that are not indices."""
    key = ["country_text_id", "year"]
    rows = indices[key].merge(everything, on=key, how="left", validate="one_to_one")
    # Every index starts with v2x, every indicator with v2; the rest says which country and year, or was added later.
    names = [name for name in rows.columns if name.startswith("v2") and not name.startswith("v2x")]
    numbers = rows[names].select_dtypes("number")
    return numbers.loc[:, numbers.isna().mean() <= MISSING]
