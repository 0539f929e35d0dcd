"""The one formatter of shares and intervals never prints all for less, nor nothing for some."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens import EntropyClassifier
from logiclens.formula import parse
from logiclens.formula.dnf import written
from logiclens.metrics.rule_statistics import Share
from logiclens.words import MOST_DECIMALS, figure, interval, percent, readable, share_words, shortened

SOURCE = Path(__file__).parent.parent / "src" / "logiclens"
FORMATS = re.compile(r":[<>]?\d*\.\d%\}|:[<>]?\d*\.\df\}%|\{100 \*")
"""How a share would be formatted by hand."""


@given(st.floats(0, 1), st.integers(0, 3))
def test_only_all_is_100_percent_and_only_none_0(share, digits):
    text = percent(share, digits)
    assert (float(re.sub(r"[^\d.]", "", text)) == 100) == (share == 1)
    assert (float(re.sub(r"[^\d.]", "", text)) == 0) == (share == 0)
    if number := re.fullmatch(r"([\d.]+)%", text):
        assert abs(float(number.group(1)) - 100 * share) <= 0.5 / 10**digits + 1e-9


@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 2))
def test_intervals_keep_their_ends(a, b, digits):
    low, high = sorted((a, b))
    ends = [float(end) for end in interval(low, high, digits).removesuffix("%").split("–")]
    narrow = max(digits, 1) if high - low < 0.02 else digits
    assert ends == pytest.approx([100 * low, 100 * high], abs=max(0.5 / 10**narrow, 0.1**MOST_DECIMALS) + 1e-9)
    assert [end in (0, 100) for end in ends] == [end in (0, 1) for end in (low, high)]


@given(st.integers(0, 10**7), st.integers(1, 10**7))
def test_a_share_of_counts_has_one_style(hits, total):
    share = Share(min(hits, total), total)
    told = r"(over |under )?[\d.]+%"
    assert re.fullmatch(rf"{told} \([\d.]+–[\d.]+%\)", share_words(share))
    assert str(share).startswith(share_words(share, digits=1))


def test_996_of_1000_is_printed_as_such():
    assert percent(996 / 1000) == percent(996 / 1000, digits=1) == figure(99.6, "%") == "99.6%"


def test_what_is_unknown_is_called_so():
    assert {percent(None), percent(float("nan")), figure(None, "%"), share_words(Share(0, 0))} == {"unknown"}


@given(st.text(max_size=80))
def test_a_shortened_text_fits_and_can_be_drawn(text):
    label = shortened(text, 20)
    assert len(label) <= 20
    assert label.isprintable()


def test_no_other_module_formats_shares():
    modules = {path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    assert {name for name, text in modules.items() if FORMATS.search(text)} == {"words.py"}


def test_readable_escapes_every_control_and_format_character():
    for code in range(0x110000):
        letter = chr(code)
        if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            assert (readable(letter) == letter) == (letter in "\t\n"), hex(code)
    assert readable("grüß é 漢字 ← 😀 −5") == "grüß é 漢字 ← 😀 −5"


def results_of_an_odd_table():
    """Yield the results that a reader prints, of a table whose names, cells and labels would colour a terminal."""
    n_rows, odd = 120, "\x1b[31m"
    age = np.arange(n_rows) % 60
    rows = pd.DataFrame({f"{odd}age": age, f"{odd}unit": [f"{odd}{'AB'[k % 2]}" for k in range(n_rows)]})
    labels = pd.Series(np.where((age > 30) & (np.arange(n_rows) % 2 == 0), f"{odd}ill", f"{odd}well"), name=f"{odd}y")
    model = EntropyClassifier().fit(rows, labels)
    explained, rules = model.explain(rows, labels), model.rules_
    reasons = model.why(rows.iloc[[0]])
    yield from (explained, *explained, *explained.notes, explained.gap(), explained.stability)
    yield from (reasons, *reasons.classes, *(cube for reason in reasons.classes for cube in reason.cubes))
    yield from (rules, rules.flip(rows.iloc[[0]]), model.explain_local(rows.iloc[[0]]))
    yield from (rules.check(f"never uses '{odd}age'"), rules.check(f"increasing in '{odd}age'"))
    yield model.statistics(rows, labels, by=rows[f"{odd}unit"])
    formulas = [rule.formula for rule in rules.rules]
    yield from (*formulas, written(formulas[0]).diff(parse("a")), *replace(explained, notes=(f"{odd}",)))


def test_printed_results_cannot_control_a_terminal():
    for result in results_of_an_odd_table():
        text = str(result)
        assert "\x1b" not in text, type(result)
        assert text == readable(text)
