"""Packages of other people: asked for by name, and kept from moving this process's random numbers."""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import numpy as np

from logiclens.errors import LogicLensError


class MissingPackage(LogicLensError):
    """A compared method is made of a package that is not installed; the other methods run without it."""


def require(module: str) -> ModuleType:
    """The module, or a sentence that says how to install it.

    >>> require("math").sqrt(4)
    2.0
    """
    try:
        # Importing some packages draws random numbers, too.
        with _kept_generators():
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # A package may be there and lack one of its own: both are put right by the same command.
        raise MissingPackage(
            f"this method needs the package {error.name!r}, which is not installed: pip install 'logiclens[bench]'."
        ) from error
    except ImportError as error:
        raise MissingPackage(
            f"the package {module!r} is installed but cannot be imported ({error}): pip install -U 'logiclens[bench]'."
        ) from error


@contextmanager
def global_seed(seed: int) -> Iterator[None]:
    """Seed the generators of `random` and NumPy inside, for packages that take no other; outside they go on as before.

    >>> before = random.getstate()
    >>> with global_seed(0):
    ...     _ = random.random()
    >>> random.getstate() == before
    True
    """
    with _kept_generators():
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        yield


@contextmanager
def _kept_generators() -> Iterator[None]:
    plain, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(plain)
        np.random.set_state(legacy)  # noqa: NPY002
