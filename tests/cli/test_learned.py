"""What the sheet says of rules that are no better than chance, judged by permuted answers."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from tests.cli_runs import logiclens

RNG = np.random.default_rng(0)
N = 1_000


def table() -> pd.DataFrame:
    return pd.DataFrame(
        {"age": RNG.integers(20, 80, N), "debt": RNG.normal(size=N).round(2), "job": RNG.choice(list("pqrs"), N)}
    )


def explained(frame: pd.DataFrame, tmp_path) -> tuple[str, pd.DataFrame]:
    """Return the sheet, and the confusion matrix of the rules on the held-out rows."""
    frame.to_csv(tmp_path / "rows.csv", index=False)
    run = logiclens("explain", "rows.csv", "--target", "y", "--json", "result.json", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    made = json.loads((tmp_path / "result.json").read_text())["confusion_of_rules"]
    return run.stdout, pd.DataFrame(made["counts"], index=made["labels"], columns=made["predicted"])


def beats_permuted_answers(confusion: pd.DataFrame) -> bool:
    """Whether the answers are right more often than 97.5% of their permutations."""
    places = [(row, column) for row in range(len(confusion)) for column in range(confusion.shape[1])]
    repeats = confusion.to_numpy().ravel().astype(int)
    truth, said = np.repeat(np.array(places), repeats, axis=0).T
    permuted = [(truth == RNG.permutation(said)).mean() for _ in range(2_000)]
    return bool((truth == said).mean() > np.quantile(permuted, 0.975))


@pytest.mark.parametrize("n_classes", [2, 40])
def test_random_classes_are_one_sentence(n_classes, tmp_path):
    frame = table().assign(y=[f"c{klass}" for klass in RNG.integers(0, n_classes, N)])
    sheet, confusion = explained(frame, tmp_path)
    assert not beats_permuted_answers(confusion)
    lines = sheet.splitlines()
    assert sum("Nothing was learned" in line for line in lines) == 1
    assert "not measurably more often than chance" in sheet
    assert len(lines) < 20
    assert "•" not in sheet


def test_rules_that_beat_chance_are_printed(tmp_path):
    frame = table()
    frame["y"] = [f"c{age // 10}{job}" for age, job in zip(frame.age, frame.job, strict=True)]
    frame.loc[::3, "y"] = RNG.permutation(frame.loc[::3, "y"])
    sheet, confusion = explained(frame, tmp_path)
    assert beats_permuted_answers(confusion)
    assert "Nothing was learned" not in sheet
    assert "•" in sheet


def test_rules_of_a_rare_class_are_printed(tmp_path):
    frame = table()
    rare = (frame.age >= 74).to_numpy() & (RNG.random(N) < 0.45)
    sheet, confusion = explained(frame.assign(y=np.where(rare, "yes", "no")), tmp_path)
    assert beats_permuted_answers(confusion)
    assert "Nothing was learned" not in sheet
    assert "•" in sheet


def test_a_class_told_from_noise_has_its_rule(tmp_path):
    rng = np.random.default_rng(3)
    frame = table().assign(age=rng.integers(20, 80, N))
    frame["y"] = np.where((frame.age >= 76) & (frame.debt > 0), "x", rng.choice(["y", "z"], N))
    sheet, confusion = explained(frame, tmp_path)
    # The class is told from the others, however often these are taken for one another.
    assert confusion.loc["x", "x"] >= 0.8 * confusion["x"].sum() > 0
    assert "Nothing was learned" not in sheet
    assert "age is at least 76" in sheet


def test_rules_no_better_than_chance_are_one_line(tmp_path):
    rng = np.random.default_rng(1)
    frame = table().assign(age=rng.integers(20, 80, N))
    # Nothing tells the eight classes of the younger apart.
    frame["y"] = np.where(frame.age >= 65, "old", [f"c{klass}" for klass in rng.integers(0, 8, N)])
    sheet, confusion = explained(frame, tmp_path)
    cards = {
        part.split("\n")[0].removeprefix("y is "): part for part in sheet.split("\n\n") if part.startswith("y is ")
    }
    unshown = [name for name, card in cards.items() if "no better than chance and are not shown" in card]
    assert unshown
    for name in unshown:
        got, share = int(confusion[name].sum()), confusion.loc[name].sum() / confusion.to_numpy().sum()
        # A coin of this share would be right as often, in more than one of fifty trials.
        by_chance = rng.binomial(got, share, 2_000)
        assert (by_chance >= confusion.loc[name, name]).mean() > 0.02
        assert "•" not in cards[name]
    assert "• age is at least 65" in cards["old"]
