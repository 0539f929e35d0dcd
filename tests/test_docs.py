"""The documentation: what it must contain. `tests/browser/test_docs.py` opens the built site."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from typing import Any

import pytest

import logiclens
from tests.scripts import ROOT, benchmark_script

why_page = benchmark_script("why_page")
DOCS = ROOT / "docs"
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


# Side by side ------------------------------------------------------------------------------------------------------


def runs(table: str, method: str, **other: Any) -> list[dict[str, Any]]:
    """Two folds of a method on a table."""
    told = {"rows": 10, "n_columns": 2, "majority": 0.6, "package": "1.0", "accuracy": 0.5, "macro_f1": 0.4,
            "length": 3, "seconds": 0.1, "columns": ["age"], "conditions": ["age >= 60"]}  # fmt: skip
    common = {"table": table, "method": method, **told, **other}
    return [{**common, "fold": 0, "text": f"{method} says"}, {**common, "fold": 1, "text": None, "accuracy": 0.7}]


LINES = [line for table in ("easy", "hard") for method in why_page.NAMES for line in runs(table, method)]


def test_overlap_is_shared_members_over_all_members():
    assert why_page.similarity([["a", "b"], ["b", "c"], ["a", "b"]]) == pytest.approx(100 * (1 / 3 + 1 + 1 / 3) / 3)
    assert why_page.similarity([[], []]) == 100


def test_figures_are_means_over_folds():
    found = why_page.figures(LINES, "hard", "tree")
    assert (found.accuracy, found.macro_f1, found.length, found.text) == (pytest.approx(60), 40, 3, "tree says")
    assert (found.same_columns, found.same_conditions) == (100, 100)
    without = why_page.figures(runs("easy", "ebm", conditions=None), "easy", "ebm")
    assert without.same_conditions is None


def test_the_page_prints_what_each_method_prints():
    page = why_page.page(LINES)
    assert all(page.count(f"```text\n{method} says\n```") == 2 for method in why_page.NAMES)
    assert "| tree of depth 3 | 60.0 | 40.0 | 3.0 splits | 100% | 100% | 0.10 |" in page


def test_the_page_says_where_a_constant_answer_is_better():
    ours = runs("easy", "logiclens", majority=0.9)
    others = [
        line for method in why_page.NAMES if method != "logiclens" for line in runs("easy", method, accuracy=0.95)
    ]
    page = why_page.page(ours + others)
    assert "Our rule is 22.5 points of accuracy behind the best. It is less accurate than a constant answer" in page
    assert "less accurate than a constant answer, which" not in why_page.page(LINES[:12])


def test_the_readme_gets_its_table_between_the_markers():
    before = f"a\n{why_page.BEGIN}\nold\n{why_page.END}\nb\n"
    after = why_page.readme_with(before, LINES)
    assert after == f"a\n{why_page.BEGIN}\n\n{why_page.readme_table(LINES)}\n\n{why_page.END}\nb\n"
    assert why_page.readme_with(after, LINES) == after
    assert why_page.readme_with("no marker", LINES) == "no marker"
    # A line of dashes, the methods, and the constant answer with what it is worth on both tables.
    assert why_page.readme_table(LINES).count("\n| ") == 1 + len(why_page.NAMES) + 1
    assert "\n| always the most frequent class | nothing | 60 · 60 | 37 · 37 |" in why_page.readme_table(LINES)


def test_the_published_page_says_what_the_file_says():
    lines = json.loads((ROOT / "lab" / "results" / "side_by_side.json").read_text(encoding="utf-8"))
    assert {(line["table"], line["method"], line["fold"]) for line in lines} == {
        (table, method, fold)
        for table in ("breast cancer", "German credit", "MIMIC-II")
        for method in why_page.NAMES
        for fold in range(5)
    }
    assert (DOCS / "why.md").read_text(encoding="utf-8") == why_page.page(lines)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert why_page.readme_with(readme, lines) == readme
