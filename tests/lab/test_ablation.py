"""The ablation of the defaults: its variants, its figures on hand-made lines, and the published page."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from logiclens import EntropyClassifier
from logiclens.explain.length import SearchConfig
from tests.scripts import ROOT, benchmark_script

ablation = benchmark_script("ablation")
ablation_page = benchmark_script("ablation_page")
planted = benchmark_script("planted")


def line(table: str, fold: int, variant: str, macro_f1: float, **other: object) -> dict[str, object]:
    told = {"planted": False, "literals": 2.0, "concepts": [["a"], ["a"]], "exact": None, "seconds": 1.0}
    return {"table": table, "fold": fold, "variant": variant, "macro_f1": macro_f1, **told, **other}


@pytest.fixture(scope="module")
def split():
    drawn = planted.families()["dnf-2x2"](0).split(0)
    return replace(drawn, train=drawn.train.iloc[:200], train_labels=drawn.train_labels[:200])


def test_the_default_variant_is_what_fit_gives(split):
    answer = ablation.SearchTable.of(split, None).answer(ablation.VARIANTS["default"], split)
    assert answer.rules == EntropyClassifier().fit(split.train, split.train_labels).rules_
    alone = ablation.SearchTable.of(split, 1).answer(ablation.VARIANTS["committee of 1"], split)
    assert alone.rules == EntropyClassifier(committee=1).fit(split.train, split.train_labels).rules_


def test_every_variant_changes_one_part():
    model = EntropyClassifier()
    for name, variant in ablation.VARIANTS.items():
        changed = [variant.committee is not None, variant.config(model) != SearchConfig(), variant.stable]
        assert sum(changed) == (name != "default")
        assert name == "default" or variant.part in ablation_page.PARTS


def test_the_page_compares_only_tables_that_ran_everywhere():
    lines = [line("t", fold, "default", score) for fold, score in enumerate((0.5, 0.7))]
    lines += [line("t", fold, "share 1", score, concepts=[["a"], ["b"]]) for fold, score in enumerate((0.6, 0.8))]
    lines += [line("u", 0, "default", 0.9, planted=True, exact=True), line("u", 0, "share 1", 0.9, planted=True,
                                                                         exact=False)]  # fmt: skip
    lines += [line("t", 0, "share 0", 1.0)]
    found = ablation_page.Ablation.of(lines)
    assert found.variants == ["default", "share 1"]
    # Differences of 10 and 0 points: a mean of 5, a standard error of 5.
    gain = found.difference("share 1", "macro-F1")
    assert (gain.mean, gain.error) == pytest.approx((5, 5))
    assert not gain.is_clear
    assert found.won_and_lost("share 1") == (1, 0)
    assert found.means("default", "exact") == [100.0]
    assert found.means("share 1", "exact") == [0.0]
    assert found.means("default", "consistency") == [100.0]
    assert "t (2)" in ablation_page.page(lines)


def test_consistency_counts_the_folds_that_use_a_concept():
    runs = ablation_page.Runs({
        0: line("t", 0, "default", 1.0, concepts=[["a", "b"], []]),
        1: line("t", 1, "default", 1.0, concepts=[["a"], []]),
    })  # fmt: skip
    assert runs.consistency == pytest.approx(75.0)


def test_the_published_page_says_what_was_measured():
    lines = json.loads((ROOT / "lab" / "results" / "ablation.json").read_text(encoding="utf-8"))
    assert (ROOT / "docs" / "ablation.md").read_text(encoding="utf-8") == ablation_page.page(lines)
    assert {each["variant"] for each in lines} == set(ablation.VARIANTS)
