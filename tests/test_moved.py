"""Modules that moved: the old names still import and warn at the importing line."""

from __future__ import annotations

import importlib
import sys
import warnings

import pytest

from logiclens.moved import MOVED


@pytest.fixture(autouse=True)
def forget_old_modules():
    yield
    for name in MOVED:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("old", sorted(MOVED))
def test_an_old_name_gives_the_new_module(old):
    sys.modules.pop(old, None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module = importlib.import_module(old)
    there = importlib.import_module(MOVED[old])
    names = [name for name in vars(there) if not name.startswith("__")]
    assert all(getattr(module, name) is getattr(there, name) for name in names)
    said = [str(one.message) for one in caught if one.category is DeprecationWarning]
    assert any(f"{old} has moved: import from {MOVED[old]} instead" in text for text in said)


def test_the_warning_points_at_the_import():
    sys.modules.pop("logiclens.nn.networks", None)
    with pytest.warns(DeprecationWarning, match="logiclens.nn.networks has moved") as caught:
        from logiclens.nn.networks import EntropyNet

    from logiclens.nn.layers import EntropyNet as Moved

    assert EntropyNet is Moved
    assert caught[0].filename == __file__


def test_a_function_with_the_old_name_stays_callable():
    import logiclens.formula

    old = "logiclens.formula.minimise"
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match="minimise has moved"):
        importlib.import_module(old)
    table = logiclens.formula.TruthTable.of([[0, 0], [1, 1]], ["a", "b"], [False, True])
    assert logiclens.formula.minimise(table).formula.n_literals == 1


def test_an_old_package_is_still_an_attribute():
    import logiclens

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert logiclens.estimators.EntropyClassifier is logiclens.EntropyClassifier


def test_a_module_that_never_was_stays_unknown():
    with pytest.raises(ModuleNotFoundError, match="nothing_of_the_kind"):
        importlib.import_module("logiclens.nothing_of_the_kind")
