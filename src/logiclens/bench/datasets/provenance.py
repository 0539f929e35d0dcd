"""Where the files of the data sets come from, under which terms, and whether a file is the one that is known.

Nothing is ever downloaded: files are read from the folder that the user names.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path

from logiclens.errors import LogicLensError
from logiclens.storage import sha256


@dataclass(frozen=True)
class DataFile:
    """A file that a data set is read from.

    Args:
        path: where it lies in the folder that the user names.
        sha256: of the file as it lies there, in hex.
        unpacked: of what is in it, where its source publishes it unpacked: programs pack the same bytes differently.
    """

    path: str
    sha256: str
    unpacked: str | None = None


@dataclass(frozen=True)
class Source:
    """Files of one origin: where to get them, and what one may do with them, in words."""

    where: str
    terms: str
    files: tuple[DataFile, ...]


SOURCES: dict[str, Source] = {
    "mimic2": Source(
        "PhysioNet, mimic2-iaccd 1.0 (https://physionet.org/content/mimic2-iaccd/1.0/, open access): "
        "full_cohort_data.csv, packed with gzip",
        "ODC-By 1.0: use it freely and name the source",
        (
            DataFile(
                "mimic2/full_cohort_data.csv.gz",
                "af8d4edbaf6a03c86ddb6aa1a45f42c759d6201ba74a899bd2e936e1ac39b7d8",
                unpacked="c8c5ee99cb2e00a5e3c5e65a21024fd324c2966d4746e5a058f5d1dde988a770",
            ),
        ),
    ),
    "vdem": Source(
        "the V-Dem Institute (https://www.v-dem.net), version 12, as in its GitHub repository vdeminstitute/demspaces "
        "(2022-update/outcome-v2/data/states-v12-mod.rds), with api and mpi computed by V-Dem's formulas",
        "CC BY-SA 4.0; cite Coppedge et al., V-Dem Dataset v12, and Pemstein et al., The V-Dem Measurement Model",
        (
            DataFile(
                "vdem/vdem_concepts_2001_2021.csv.gz",
                "10c531ae61ae6f4e6190e0f57499b14d9a52d9c59ae992bb2dc93a39ea2a6160",
            ),
            DataFile(
                "vdem/vdem_v12_1970_2021.csv.gz",
                "7f3cc706cd5697dc0ba1dd7acfdfff91332100e4e90591d5bdfc5ce98d199c44",
            ),
        ),
    ),
    "mnist": Source(
        "MNIST by LeCun, Cortes and Burges (http://yann.lecun.com/exdb/mnist/): the four well-known idx files, packed",
        "no formal licence, commonly given as CC BY-SA 3.0; name LeCun, Cortes and Burges",
        (
            DataFile(
                "mnist/train-images-idx3-ubyte.gz", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"
            ),
            DataFile(
                "mnist/train-labels-idx1-ubyte.gz", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"
            ),
            DataFile(
                "mnist/t10k-images-idx3-ubyte.gz", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"
            ),
            DataFile(
                "mnist/t10k-labels-idx1-ubyte.gz", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"
            ),
        ),
    ),
    "cub": Source(
        "Caltech-UCSD Birds-200-2011 (https://www.vision.caltech.edu/datasets/cub_200_2011/): its annotation texts, "
        "and its images squashed to 128 x 128 as WebP of quality 50",
        "for research and education only, the photographs belong to their owners; cite Wah et al. 2011, "
        "CNS-TR-2011-001",
        (
            DataFile("cub/attributes.txt", "d5b158c197a8548071114150b2384c55cbd8881b32e57816c6ccc1437e946a1a"),
            DataFile(
                "cub/class_attribute_labels_continuous.txt.gz",
                "a67e90290be08980e5a28ee46aea820063b97bc189e407b64f9be47438fb5c7c",
            ),
            DataFile("cub/classes.txt", "66a884364a73edde6c71eeb7fd5d8bb791e80979b64759bd6a5d5d209bdc02ba"),
            DataFile("cub/cub_images_128.zip", "1a2d54c7b515938af75fb97baa8a98c02de05bfae5789afd40af548533ed97a0"),
            DataFile(
                "cub/image_class_labels.txt.gz", "7ce9aa53567e2187dc6b346ee92664d0775876ba3efa9e717142059687267309"
            ),
        ),
    ),
}
"""By the folder their files lie in. Only files that are read are listed."""


def checked(folder: Path, path: str) -> Path:
    """The file `path` in a folder, if it is there and is the one that is known."""
    source = SOURCES[path.split("/")[0]]
    known = next(file for file in source.files if file.path == path)
    here = folder / path
    get = f"from {source.where} (terms: {source.terms}); nothing is downloaded for you."
    if not here.is_file():
        raise LogicLensError(
            f"the file {path} is not in the folder {folder}: expected one with sha256 {known.sha256}, found none. "
            f"Get it {get}"
        )
    found = sha256(here)
    if found != known.sha256 and (known.unpacked is None or _sha256_unpacked(here) != known.unpacked):
        raise LogicLensError(
            f"the file {path} in the folder {folder} has been altered: expected sha256 {known.sha256}, found {found}. "
            f"Get it anew {get}"
        )
    return here


def _sha256_unpacked(path: Path) -> str | None:
    """The sha256 of what a gzip file holds; None where it is not one, or is cut short."""
    with gzip.open(path, "rb") as file:
        try:
            return hashlib.sha256(file.read()).hexdigest()
        except (gzip.BadGzipFile, EOFError, zlib.error):
            return None
