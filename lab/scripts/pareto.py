"""Compare the formulas of `pareto()` with a small tree on unseen rows.

    LOGICLENS_DATA=... python -m lab.scripts.pareto.py [--task mimic2] [--peer "balanced tree, 4 leaves"] [--most 5]

Five folds of a task of `logiclens bench`, as in `domination.py`. Of the formulas of the path with at most five literals
two are shown: the one that cross-validation inside the training rows scores best, and the one that is best on the
unseen rows. Nobody can choose the second without these rows: it says what the path holds. Errors are those of the
paired difference over folds.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.metrics import f1_score

from lab.scripts.domination import CONCEPT_TASKS, concept_splits
from lab.scripts.peers import METHODS, Split
from logiclens import EntropyClassifier
from logiclens.metrics.scores import standard_error


def held_scores(split: Split, most: int) -> tuple[float, float]:
    """Return the macro-F1 on unseen rows of the formula that cross-validation prefers, and of the best one held."""
    model = EntropyClassifier(None, exact=True).fit(split.train, split.train_labels)
    stated = next(explained for explained in model.explain() if explained.path)
    rows, names = split.test.to_numpy(dtype=bool), tuple(split.test.columns)
    short = [(score, formula) for formula, score in stated.path if formula.n_literals <= most]
    scores = [
        float(f1_score(split.test_labels == stated.name, formula.evaluate(rows, names), average="macro"))
        for _, formula in short
    ]
    preferred = max(range(len(short)), key=lambda place: (short[place][0], -short[place][1].n_literals))
    return scores[preferred], max(scores)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="mimic2", choices=CONCEPT_TASKS)
    parser.add_argument("--peer", default="balanced tree, 4 leaves", choices=sorted(METHODS), metavar="NAME")
    parser.add_argument("--most", type=int, default=5, help="literals of the formulas")
    asked = parser.parse_args()
    splits = concept_splits(asked.task, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = np.array([held_scores(split, asked.most) for split in splits])
        peer = np.array([METHODS[asked.peer](split).macro_f1(split) for split in splits])
    print(f"{asked.task}, {len(splits)} folds; {asked.peer}: macro-F1 {100 * peer.mean():.1f}")
    for own, name in zip(ours.T, ("preferred by cross-validation", "best of those that pareto() holds"), strict=True):
        gain, error = (own - peer).mean(), standard_error(own - peer)
        verdict = "not below by more than one standard error" if gain >= -error else "below"
        print(f"  {name:<34}{100 * own.mean():.1f}  {100 * gain:+.1f} ± {100 * error:.1f}  {verdict}")


if __name__ == "__main__":
    main()
