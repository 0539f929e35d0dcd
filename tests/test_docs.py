"""The documentation: what it must contain. `tests/browser/test_docs.py` opens the built site."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import logiclens

DOCS = Path(__file__).parent.parent / "docs"
PACKAGES = ["logiclens"] + [
    f"logiclens.{name}"
    for name in ("concepts", "estimator", "explain", "export", "formula", "metrics", "nn", "report", "train", "verify")
]
RETURNED = {
    "Certificate", "ClassExplanation", "ClassReport", "Consistency", "Contradiction", "Explanation", "Fidelity",
    "Figures", "History", "Intervention", "LocalExplanation", "Measured", "Metric", "Minimum", "Reading", "Report",
    "Result", "SplitSuggestion", "TraceStep", "TrainResult",
}  # fmt: skip
"""Results, which nobody makes by hand: their fields are in the reference."""
PAGES = ["getting_started", "guides", "why", "method", "results_overview", "glossary", "api", "faq", "contributing"]


def public() -> dict[str, Any]:
    """Classes and functions that a package exports, each under its shortest name."""
    found: dict[int, tuple[str, Any]] = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]:
            value = getattr(module, name)
            is_ours = str(getattr(value, "__module__", "")).startswith("logiclens")
            if is_ours and (inspect.isclass(value) or inspect.isfunction(value)):
                found.setdefault(id(value), (f"{package}.{name}", value))
    return dict(found.values())


PUBLIC = public()
METHODS = {
    f"{name}.{method}": value
    for name, owner in PUBLIC.items()
    if inspect.isclass(owner)
    for base in reversed(owner.__mro__)
    if base.__module__.startswith("logiclens")
    for method, value in vars(base).items()
    if not method.startswith("_") and inspect.isfunction(getattr(value, "__func__", value))
}
"""Public methods of public classes and of our own bases, without those that scikit-learn and torch define."""
CALLED = {
    name: value
    for name, value in PUBLIC.items()
    if name.split(".")[-1] not in RETURNED and not (inspect.isclass(value) and issubclass(value, Exception))
}


def unnamed(value: Any, *, bound: bool = False) -> list[str]:
    """Return the parameters that a docstring lacks; `bound` leaves out `self` or `cls`."""
    # Decorators keep the docstring and the signature of what they wrap.
    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    parameters = list(inspect.signature(function).parameters.values())[bound and not isinstance(value, staticmethod) :]
    names = [one.name for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    text = function.__doc__ or ""
    return [name for name in names if not re.search(rf"^\s+(\w+, )*{name}(, \w+)*: ", text, re.MULTILINE)]


def listed() -> set[str]:
    """Names in the tables of the reference."""
    names = set()
    for part in (DOCS / "api.md").read_text(encoding="utf-8").split(".. currentmodule:: ")[1:]:
        package, rest = part.split("\n", 1)
        names |= {
            f"{package}.{line.strip()}" for line in rest.split("```")[0].splitlines() if re.match(r"   \w+$", line)
        }
    return names


def test_the_reference_lists_exactly_the_public_names():
    assert listed() == set(PUBLIC)
    assert {name for name in PUBLIC if name.count(".") == 1} == {f"logiclens.{name}" for name in logiclens.__all__[1:]}


@pytest.mark.parametrize("name", CALLED)
def test_what_is_called_documents_its_parameters_with_an_example(name):
    assert unnamed(CALLED[name]) == []


def test_every_method_names_its_parameters():
    assert len(METHODS) > 100
    assert {name: lacking for name, value in METHODS.items() if (lacking := unnamed(value, bound=True))} == {}


class Documented:
    def good(self, rows, *more, names=None, **other):
        """Return `rows`.

        Args:
            rows, names: see `lacking`.
        """

    def lacking(self, rows, names=None):
        """Return rows: those with `names`.

        Args:
            names: of columns.
        """

    @classmethod
    def bare(cls, rows): ...

    @staticmethod
    def first(rows):
        """Return the first of `rows`."""


def test_a_parameter_that_a_method_does_not_name_is_seen():
    found = {name: unnamed(vars(Documented)[name], bound=True) for name in ("good", "lacking", "bare", "first")}
    assert found == {"good": [], "lacking": ["rows"], "bare": ["rows"], "first": ["rows"]}


@pytest.mark.parametrize("name", PUBLIC)
def test_everything_public_has_an_example(name):
    assert ">>> " in (PUBLIC[name].__doc__ or "")


def test_the_navigation_has_the_pages_in_order():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    entries = index.split(":maxdepth: 1\n\n")[1].split("```")[0].strip().splitlines()
    assert [entry.split("<")[-1].rstrip(">") for entry in entries] == PAGES


def test_six_notebooks_are_text_and_listed():
    names = sorted(path.stem for path in (DOCS / "notebooks").glob("*.md"))
    index = (DOCS / "notebooks.md").read_text(encoding="utf-8")
    assert len(names) == 6
    assert sorted(re.findall(r"^notebooks/(\w+)$", index, re.MULTILINE)) == names
    for name in names:
        assert "{code-cell}" in (DOCS / "notebooks" / f"{name}.md").read_text(encoding="utf-8")


def test_each_word_is_defined_once():
    glossary = (DOCS / "glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^(\S.*)\n: ", glossary, re.MULTILINE)
    assert len(words) == len(set(words)) > 40
