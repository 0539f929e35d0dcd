"""Sentences that say what to do: packages to install, and names that were probably meant."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import logiclens
from logiclens.errors import LogicLensError, MissingPackage, nearest, quoted, require_extra

SOURCE = Path(logiclens.__file__).parent


def told(module: str) -> str:
    with pytest.raises(MissingPackage) as caught, require_extra("report", "the page"):
        importlib.import_module(module)
    assert isinstance(caught.value, LogicLensError)
    return str(caught.value)


@pytest.mark.parametrize("module", ["nothing_here", "nothing_here.inner"])
def test_a_package_that_is_not_installed_is_named(module):
    assert told(module) == "the page needs nothing_here: pip install 'logiclens[report]'."


def test_a_package_hidden_from_python_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert told("jinja2") == "the page needs jinja2: pip install 'logiclens[report]'."


def test_a_package_that_lacks_one_of_its_own_names_that(tmp_path, monkeypatch):
    (tmp_path / "has_a_need.py").write_text("import nothing_here\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert told("has_a_need") == "the page needs nothing_here: pip install 'logiclens[report]'."


@pytest.mark.parametrize("source", ["from json import nothing", "raise ImportError('wrong libc', name='damaged')"])
def test_a_package_that_is_broken_is_told_apart(tmp_path, monkeypatch, source):
    (tmp_path / "damaged.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "damaged", raising=False)
    said = told("damaged")
    assert "which is installed but cannot be imported (" in said
    assert said.endswith("): pip install -U 'logiclens[report]'.")


def test_other_errors_pass_unchanged():
    with pytest.raises(ZeroDivisionError), require_extra("report", "the page"):
        1 / 0  # noqa: B018


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("smokr", ["age", "smoker"], "smoker"),
        ("AGE", ["sex", "age"], "age"),
        ("age", ["Age", "AGE"], "Age"),
        ("zzz", ["age", "sex"], None),
        ("age", [], None),
    ],
)
def test_the_nearest_name_is_found_in_any_case(name, known, meant):
    assert nearest(name, known) == meant


def test_a_higher_cutoff_asks_for_more():
    assert nearest("abcd", ["abxy"], cutoff=0.5) == "abxy"
    assert nearest("abcd", ["abxy"], cutoff=0.6) is None


@pytest.mark.parametrize("text", ["difflib", "pip install 'logiclens["])
def test_these_sentences_are_made_in_errors_alone(text):
    files = [path for path in SOURCE.rglob("*.py") if text in path.read_text(encoding="utf-8")]
    assert [str(path.relative_to(SOURCE)) for path in files] == ["errors.py"]


@pytest.mark.parametrize("value", ["a" * 81, "'" * 500, "\x1b" * 60, b"\xff" * 90, ["a" * 300]])
def test_a_message_quotes_at_most_80_characters(value):
    text = quoted(value)
    assert len(text) <= 80
    assert "…" in text
    assert text.isprintable()


def test_short_values_are_quoted_as_they_are():
    assert quoted("it's") == '"it\'s"'
    assert quoted(10**20) == "100000000000000000000"
    assert quoted(10**5000) == "a number of more than 4,300 digits"
