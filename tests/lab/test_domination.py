"""Which peers dominate our rules: the verdict on hand-made figures, and the peers on raw tables."""

from __future__ import annotations

import json
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from tests.scripts import benchmark_script

domination = benchmark_script("domination")
peers = benchmark_script("peers")


def figures(**methods: tuple[list[float | None], float]) -> pd.DataFrame:
    """Macro-F1 for each fold and literals of some methods."""
    return pd.DataFrame(
        {"table": "t", "fold": fold, "method": name, "macro_f1": score, "literals": literals, "seconds": 1.0,
         "status": "ok" if score is not None else "stopped after 1 s"}
        for name, (scores, literals) in methods.items()
        for fold, score in enumerate(scores)
    )  # fmt: skip


def dominating(**methods: tuple[list[float | None], float]) -> list[str]:
    return domination.report("t", figures(**methods))


def test_domination_needs_no_more_literals_and_one_standard_error():
    ours = ([0.7, 0.8, 0.9, 0.8], 3.0)
    # Differences of 0.01, 0.02, 0.03 and 0.02: a mean of 0.02, a standard error of 0.0041.
    better = [0.71, 0.82, 0.93, 0.82]
    assert dominating(ours=ours, peer=(better, 3.0)) == ["peer"]
    assert dominating(ours=ours, peer=(better, 3.1)) == []
    assert dominating(ours=ours, peer=(ours[0], 1.0)) == []
    # Differences of -0.1, 0.12, -0.1 and 0.12: a mean of 0.01, a standard error of 0.064.
    assert dominating(ours=ours, peer=([0.6, 0.92, 0.8, 0.92], 1.0)) == []


def test_the_error_is_that_of_the_paired_difference():
    # Far apart from fold to fold, but always better by the same.
    ours, peer = [0.1, 0.9, 0.5], [0.11, 0.91, 0.51]
    (found,) = domination.comparisons(figures(ours=(ours, 2.0), peer=(peer, 2.0)))
    assert found.gain == pytest.approx(0.01)
    assert found.error == pytest.approx(0, abs=1e-12)
    assert found.dominates(2.0)


def test_a_peer_without_a_result_on_a_fold_is_excluded(capsys):
    assert dominating(ours=([0.5, 0.5], 9.0), peer=([0.9, None], 1.0), other=([None, None], 1.0)) == []
    said = capsys.readouterr().out
    assert "1 folds without a result" in said
    assert "stopped after 1 s" in said
    assert "not dominated" in said


def mixed_split(seed: int = 0) -> peers.Split:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"x": random.random(300).round(2), "y": random.normal(size=300), "kind": random.choice(list("abc"), 300)}
    )
    labels = np.where((frame["x"] > 0.6) | ((frame["kind"] == "a") & (frame["y"] > 0)), "yes", "no")
    return domination.folded(frame, labels, 0)[seed % domination.N_FOLDS]


def test_folds_hold_every_row_once():
    frame = pd.DataFrame({"x": np.arange(50)})
    splits = domination.folded(frame, np.arange(50) % 2, 0)
    assert sorted(row for split in splits for row in split.test["x"]) == list(range(50))
    assert [split.seed for split in splits] == list(range(5))
    again = domination.folded(frame, np.arange(50) % 2, 1)
    assert [split.seed for split in again] == list(range(5, 10))
    assert any(set(one.test["x"]) != set(other.test["x"]) for one, other in zip(splits, again, strict=True))


def test_runs_that_fail_or_take_too_long_are_said_to(monkeypatch):
    def fail(split: peers.Split) -> peers.Answer:
        raise ValueError("no rows")

    def wait(split: peers.Split) -> peers.Answer:
        begun = time.process_time()
        while time.process_time() < begun + 5:
            pass
        return pytest.fail("not stopped")

    monkeypatch.setitem(domination.METHODS, "fails", fail)
    monkeypatch.setitem(domination.METHODS, "waits", wait)
    assert domination.measured("t", mixed_split(), "fails", 60)["status"] == "failed: ValueError: no rows"
    stopped = domination.measured("t", mixed_split(), "waits", 0.2)
    assert (stopped["status"], stopped["macro_f1"]) == ("stopped after 0.2 s", None)


@pytest.mark.parametrize("method", domination.PEERS)
def test_every_peer_learns_from_a_table_of_numbers_and_categories(method):
    if "ripper" in method:
        pytest.importorskip("wittgenstein")
    if "figs" in method:
        pytest.importorskip("imodels")
    split = mixed_split()
    line = domination.measured("t", split, method, 60)
    assert line["status"] == "ok", line
    assert line["macro_f1"] > 0.6
    assert line["literals"] >= 1


def test_a_tree_has_the_literals_of_its_shorter_class():
    split = mixed_split()
    wide = peers.one_column_per_category(split.train, split.train)
    tree = DecisionTreeClassifier(max_leaf_nodes=5, random_state=0).fit(wide.to_numpy(), split.train_labels)
    # By the rows: each leaf's path as the columns and directions that decide it, from scikit-learn itself.
    paths: dict[int, tuple[str, set]] = {}
    for row, leaf in zip(wide.to_numpy(dtype=np.float32), tree.apply(wide.to_numpy()), strict=True):
        visited = tree.decision_path(row[None]).indices
        bounds = {
            (tree.tree_.feature[node], row[tree.tree_.feature[node]] > tree.tree_.threshold[node])
            for node in visited
            if tree.tree_.feature[node] >= 0
        }
        paths[leaf] = (tree.predict(row[None])[0], bounds)
    expected = [sum(len(bounds) for said, bounds in paths.values() if said == label) for label in tree.classes_]
    assert peers.leaf_literals(tree) == expected
    assert peers.RunTree(5)(split).literals == min(expected)


@pytest.mark.parametrize("seed", range(3))
def test_threshold_formulas_answer_as_their_sum_of_trees(seed):
    imodels = pytest.importorskip("imodels")
    random = np.random.default_rng(seed)
    rows = random.random((300, 4)).round(2)
    yes = (rows[:, 0] > 0.5) ^ (rows[:, 1] > 0.3) | (rows[:, 0] > 0.8)
    model = imodels.FIGSClassifier(max_rules=6, random_state=0).fit(rows, yes.astype(int))
    unseen = random.random((2000, 4))
    said = model.predict(unseen) == 1
    for formula, answers in zip(peers.threshold_formulas(model, 4), (~said, said), strict=True):
        concepts = {}
        for concept in formula.concepts:
            column, cut = concept.split(" > ")
            concepts[concept] = unseen[:, int(column)] > float(cut)
        assert (formula.evaluate(concepts) == answers).all()


def test_bins_of_numbers_count_both_ends():
    ends = {"0.3-0.7": 2, "-0.5--0.2": 2, "-0.5-0.2": 2, "<0.3": 1, ">0.7": 1, "<-0.3": 1, ">-0.7": 1, "3": 1, "-3": 1}
    assert {value: peers._bounds(value) for value in ends} == ends
    assert peers._bounds(3.0) == 1


def test_the_command_goes_on_from_its_file(monkeypatch, capsys, tmp_path):
    asked = []

    def ours(split: peers.Split) -> peers.Answer:
        asked.append(split.seed)
        return peers.RunTree(8)(split)

    monkeypatch.setitem(domination.METHODS, "ours", ours)
    splits = [mixed_split(seed) for seed in range(2)]
    monkeypatch.setattr(domination, "tables", lambda: [domination.Table("mixed", lambda partition: splits)])
    file = tmp_path / "domination.json"
    monkeypatch.setattr("sys.argv", ["d", "--methods", "ours", "tree, 2 leaves", "one literal", "--json", str(file)])
    domination.main()
    first = capsys.readouterr().out
    assert len(json.loads(file.read_text())) == 6
    domination.main()
    assert asked == [0, 1]
    assert capsys.readouterr().out == first
    assert "of 1 tables." in first
