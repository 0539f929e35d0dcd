"""The data sets by name: the four of the paper, read from a folder, and small ones that need no files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lab.datasets.dataset import Dataset, checked, sources
from lab.datasets.images import cub, mnist
from lab.datasets.tabular import (
    breast_cancer,
    digits_parity,
    iris,
    mimic2,
    mimic2_early,
    parity,
    random_dnf,
    vdem,
    wine,
    xor,
)
from logiclens.errors import LogicLensError, quoted, unknown

_FROM_FOLDER: dict[str, Callable[[Path], Dataset]] = {
    "mimic2": mimic2,
    "mimic2-early": mimic2_early,
    "vdem": vdem,
    "mnist": mnist,
    "cub": cub,
}
_AT_HAND: dict[str, Callable[[], Dataset]] = {
    "breast-cancer": breast_cancer,
    "wine": wine,
    "iris": iris,
    "digits-parity": digits_parity,
    "xor": xor,
    "parity": parity,
    "random-dnf": random_dnf,
}


def names() -> tuple[str, ...]:
    """Return the names of the data sets, first those that are read from a folder."""
    return (*_FROM_FOLDER, *_AT_HAND)


def load(name: str, folder: str | Path | None = None) -> Dataset:
    """Load a data set by name; `folder` holds the files of those that need some, which are checked by their hash.

    >>> iris = load("iris")
    >>> len(iris), iris.class_names
    (150, ('setosa', 'versicolor', 'virginica'))
    >>> iris.concepts(iris.all_rows).names[:3]
    ('sepal_length_cm_LOW', 'sepal_length_cm_NORMAL', 'sepal_length_cm_HIGH')
    """
    place = _place(name, folder)
    return _AT_HAND[name]() if place is None else _FROM_FOLDER[name](place)


def check(name: str, folder: str | Path | None = None) -> None:
    """Raise, before any long work, if a file of a data set is missing or altered."""
    place = _place(name, folder)
    for file in () if place is None else sources()[name.removesuffix("-early")]["files"]:
        checked(Path(str(place)), file)


def _place(name: str, folder: str | Path | None) -> Path | None:
    """Return the folder that a data set is read from, or None if it needs none."""
    if name in _AT_HAND:
        return None
    if name not in _FROM_FOLDER:
        raise LogicLensError(unknown("data set", name, names()))
    if folder is None:
        raise LogicLensError(
            f"the data set {quoted(name)} is read from files, and no folder was given: name the one that holds them "
            f"with --data DIR, or as load({quoted(name)}, folder)."
        )
    place = Path(folder).expanduser()
    if not place.is_dir():
        raise LogicLensError(f"the folder of the data sets must be there to read {quoted(name)}; {place} is no folder.")
    return place
