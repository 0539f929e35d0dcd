"""Sentences that say what to do: packages to install, and names that were probably meant."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import logiclens
from logiclens.errors import (
    LogicLensError,
    MissingPackage,
    OutOfMemory,
    nearest,
    out_of_memory,
    quoted,
    require_extra,
    within_memory,
)

SOURCE = Path(logiclens.__file__).parent


def told(module: str) -> str:
    with pytest.raises(MissingPackage) as caught, require_extra("scale", "the page"):
        importlib.import_module(module)
    assert isinstance(caught.value, LogicLensError)
    return str(caught.value)


@pytest.mark.parametrize("module", ["nothing_here", "nothing_here.inner"])
def test_a_package_that_is_not_installed_is_named(module):
    assert told(module) == "the page needs nothing_here: pip install 'logiclens[scale]'."


def test_a_package_hidden_from_python_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert told("jinja2") == "the page needs jinja2: pip install 'logiclens[scale]'."


def test_a_package_that_lacks_one_of_its_own_names_that(tmp_path, monkeypatch):
    (tmp_path / "has_a_need.py").write_text("import nothing_here\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert told("has_a_need") == "the page needs nothing_here: pip install 'logiclens[scale]'."


@pytest.mark.parametrize("source", ["from json import nothing", "raise ImportError('wrong libc', name='damaged')"])
def test_a_package_that_is_broken_is_told_apart(tmp_path, monkeypatch, source):
    (tmp_path / "damaged.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "damaged", raising=False)
    said = told("damaged")
    assert "which is installed but cannot be imported (" in said
    assert said.endswith("): pip install -U 'logiclens[scale]'.")


def test_other_errors_pass_unchanged():
    with pytest.raises(ZeroDivisionError), require_extra("scale", "the page"):
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


# Memory ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "needed"),
    [
        (MemoryError(), "memory; take"),
        (MemoryError("Unable to allocate 7.28 TiB for an array with shape (9, 9)"), "memory: 7.28 TiB were needed"),
        (MemoryError("malloc of size 3221225472 failed"), "memory: 3.0 GiB were needed"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 2048 bytes."), "2.0 KiB were"),
        (ValueError("Out of Memory Error: could not allocate block of size 256.0 KiB"), "256.0 KiB were needed"),
        (ImportError("_fblas.so: failed to map segment from shared object"), "memory; take"),
    ],
)
def test_a_failed_allocation_says_what_was_needed(error, needed):
    sentence = str(out_of_memory(error))
    assert needed in sentence
    assert "--engine duckdb" in sentence
    assert out_of_memory(ValueError("something else")) is None


def test_a_package_without_memory_to_load_is_not_broken():
    with pytest.raises(OutOfMemory, match="not enough memory"), require_extra("scale", "the page"):
        raise ImportError("_fblas.so: failed to map segment from shared object")


def test_real_allocation_errors_are_recognised():
    import numpy as np
    import pyarrow
    import torch

    for allocate in (lambda: np.ones(2**55), lambda: torch.empty(2**50), lambda: pyarrow.allocate_buffer(2**55)):
        with pytest.raises((MemoryError, RuntimeError)) as caught:
            allocate()
        assert "iB were needed at once" in str(out_of_memory(caught.value))


def test_a_failed_allocation_is_an_error_of_both_kinds():
    @within_memory()
    def fill() -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 2048 bytes.")

    with pytest.raises(OutOfMemory, match=r"2\.0 KiB were needed at once") as caught:
        fill()
    assert isinstance(caught.value, LogicLensError)
    assert isinstance(caught.value, MemoryError)
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize(
    "error", [LogicLensError("the engine is out of memory: give it more."), OutOfMemory("known"), KeyError("a")]
)
def test_other_errors_pass_through_unchanged(error):
    with pytest.raises(type(error)) as caught, within_memory():
        raise error
    assert caught.value is error
