"""Our rules and their peers on a raw table, with the same training and unseen rows for all.

Peers that learn from Boolean concepts get those that `Booleaniser` cuts on the training rows. If a table has numbers or
categories, RIPPER and FIGS also run on the raw columns (`ripper-raw`, `figs-raw`), so that no peer depends on our cuts
alone. With two classes a rule learner gives one formula, and the other class is its complement, which counts the same
literals. The class with the formula is the one whose formula has the higher macro-F1 on the training rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.tree import DecisionTreeClassifier

from lab.peers.column_generation import ColumnGeneration
from lab.peers.learner import Learner, firing, global_seed, require
from lab.peers.rule_learners import Figs, Ripper
from logiclens import Booleaniser, EntropyClassifier
from logiclens.concepts.concept_table import ConceptTable
from logiclens.explain.candidates import best_literal
from logiclens.formula.dnf import DNF, Complement, Cube
from logiclens.formula.minimisation import minimise
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import Rule, RuleSet
from logiclens.formula.truth_table import TruthTable
from logiclens.metrics.scores import macro_f1

N_FOLDS, SEED = 5, 42
SHARE_THAT_CHOOSES = 0.2
"""Share of the training rows on which a peer chooses its settings."""


@dataclass(frozen=True, eq=False)
class Split:
    """The rows that a method learns from and the unseen rows that it is scored on; `seed` numbers the fold."""

    train: pd.DataFrame
    train_labels: NDArray[Any]
    test: pd.DataFrame
    test_labels: NDArray[Any]
    seed: int

    @property
    def is_boolean(self) -> bool:
        return all(self.train[name].isin([0, 1]).all() for name in self.train)


def folded(frame: pd.DataFrame, labels: NDArray[Any], partition: int = 0) -> list[Split]:
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=SEED + partition).split(frame, labels)
    return [
        Split(frame.iloc[train], labels[train], frame.iloc[test], labels[test], N_FOLDS * partition + fold)
        for fold, (train, test) in enumerate(folds)
    ]


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer of a method on one split."""

    predicted: NDArray[Any]
    seconds: float
    literals: float | None = None
    rules: RuleSet | None = None

    def scores(self, split: Split) -> dict[str, Any]:
        return {
            "macro_f1": float(f1_score(split.test_labels, self.predicted, average="macro")),
            "accuracy": float(accuracy_score(split.test_labels, self.predicted)),
            "literals": self.literals,
            "seconds": round(self.seconds, 3),
        }


Method = Callable[[Split], Answer]


def run_ours(split: Split, **settings: Any) -> Answer:
    """Run `EntropyClassifier(exact=True)`; its rules predict. `settings` differ from the defaults."""
    begun = time.process_time()
    rules = EntropyClassifier(**{"exact": True, **settings}).fit(split.train, split.train_labels).rules_
    seconds = time.process_time() - begun
    literals = float(np.mean([formula.n_literals for formula in rules.formulas]))
    return Answer(rules.predict(split.test), seconds, literals, rules)


def run_network(split: Split) -> Answer:
    """Run `EntropyClassifier(exact=False)`; its network predicts, and the literals are those of the rules it states."""
    begun = time.process_time()
    model = EntropyClassifier(exact=False).fit(split.train, split.train_labels)
    literals = float(np.mean([formula.n_literals for formula in model.rules_.formulas]))
    seconds = time.process_time() - begun
    return Answer(model.predict(split.test), seconds, literals)


def run_boosting(split: Split) -> Answer:
    """Run scikit-learn's HistGradientBoosting with its defaults and native categories."""
    train, test = _categories(split.train, split.train), _categories(split.test, split.train)
    begun = time.process_time()
    model = HistGradientBoostingClassifier(random_state=split.seed, categorical_features="from_dtype")
    model.fit(train, split.train_labels)
    return Answer(model.predict(test), time.process_time() - begun)


def run_learner(split: Split, learner: Learner) -> Answer:
    """Run a learner of concept tables, which chooses its settings on a fifth of the training rows."""
    begun = time.process_time()
    concepts = Concepts.of(split)
    parts = train_test_split(
        np.arange(len(split.train)), test_size=SHARE_THAT_CHOOSES, stratify=concepts.train.labels,
        random_state=split.seed,
    )  # fmt: skip
    learned = learner(*(concepts.train.take(part) for part in parts), seed=split.seed)
    seconds = time.process_time() - begun
    formulas: Any = learned.formulas
    if len(concepts.classes) == 2:
        return concepts.one_formula(formulas, seconds)
    literals = float(np.mean([formula.n_literals for formula in formulas]))
    return Answer(concepts.classes[learned.predict(concepts.test)], seconds, literals)


def run_one_literal(split: Split) -> Answer:
    """Run the literal with the highest macro-F1 on the training rows; with more classes, a tree of one split."""
    begun = time.process_time()
    concepts = Concepts.of(split)
    if len(concepts.classes) != 2:
        return run_tree(split, max_leaf_nodes=2)
    formulas = [DNF([Cube([best_literal(concepts.train, target)])]) for target in range(2)]
    return concepts.one_formula(formulas, time.process_time() - begun)


def run_tree(split: Split, **settings: Any) -> Answer:
    """Run scikit-learn's decision tree on the raw columns, categories as 0/1 columns.

    The formula of a class joins the paths to its leaves, bounds on one column in one direction merged. With two classes
    the shorter of the two formulas counts, since the other class is its complement.
    """
    train, test = (one_column_per_category(part, split.train) for part in (split.train, split.test))
    begun = time.process_time()
    tree = DecisionTreeClassifier(**settings, random_state=split.seed).fit(train, split.train_labels)
    seconds = time.process_time() - begun
    literals = leaf_literals(tree)
    return Answer(tree.predict(test), seconds, float(min(literals) if len(literals) == 2 else np.mean(literals)))


def leaf_literals(tree: DecisionTreeClassifier) -> list[int]:
    nodes = tree.tree_
    literals = [0] * len(tree.classes_)

    def walk(node: int, bounds: frozenset[tuple[int, bool]]) -> None:
        left, right = nodes.children_left[node], nodes.children_right[node]
        if left == right:
            literals[int(nodes.value[node][0].argmax())] += len(bounds)
            return
        feature = int(nodes.feature[node])
        walk(left, bounds | {(feature, False)})
        walk(right, bounds | {(feature, True)})

    walk(0, frozenset())
    return literals


def run_raw_ripper(split: Split) -> Answer:
    """Run wittgenstein's RIPPER on the raw columns with its own bins, for the better of two classes."""
    labels = np.unique(split.train_labels)
    begun = time.process_time()
    models, scores = [], []
    with global_seed(split.seed):
        for label in labels:
            model = require("wittgenstein").RIPPER(random_state=split.seed)
            model.fit(split.train, y=split.train_labels.tolist(), pos_class=label)
            models.append(model)
            scores.append(macro_f1(split.train_labels == label, np.asarray(model.predict(split.train), dtype=bool)))
        seconds = time.process_time() - begun
        best = int(np.argmax(scores))
        fired = np.asarray(models[best].predict(split.test), dtype=np.bool_)
    texts = _texts(split.train)
    conditions = [condition for rule in models[best].ruleset_.rules for condition in rule.conds]
    literals = sum(1 if condition.feature in texts else _bounds(condition.val) for condition in conditions)
    return Answer(labels[np.where(fired, best, 1 - best)], seconds, float(literals))


def run_raw_figs(split: Split) -> Answer:
    """Run imodels' FIGS on the raw columns of two classes, with categories as 0/1 columns.

    As in `Figs`, its literals are those of the shortest formula for its answers, here over the thresholds it uses.
    """
    train, test = (one_column_per_category(part, split.train) for part in (split.train, split.test))
    classes, numbers = np.unique(split.train_labels, return_inverse=True)
    begun = time.process_time()
    model = require("imodels").FIGSClassifier(max_rules=Figs().max_rules, random_state=split.seed)
    with global_seed(split.seed):
        model.fit(train.to_numpy(dtype=float), numbers)
    literals = min(formula.n_literals for formula in threshold_formulas(model, train.shape[1]))
    seconds = time.process_time() - begun
    answers = np.asarray(model.predict(test.to_numpy(dtype=float)), dtype=np.intp)
    return Answer(classes[answers], seconds, float(literals))


def threshold_formulas(model: Any, n_columns: int) -> tuple[DNF, DNF]:
    """Return the formulas of no and yes of a sum of trees, over concepts such as `3 > 0.5` for column 3.

    It answers every cell between its thresholds; cells that no row can have are don't-cares.
    """
    cuts: dict[int, list[float]] = {}
    for column, threshold in sorted({test for tree in model.trees_ for test in figs_splits(tree)}):
        cuts.setdefault(column, []).append(threshold)
    if not cuts:
        yes = bool(model.predict(np.zeros((1, n_columns)))[0])
        return (DNF.false, DNF.true) if yes else (DNF.true, DNF.false)
    inside = [[of[0] - 1.0, *((a + b) / 2 for a, b in pairwise(of)), of[-1] + 1.0] for of in cuts.values()]
    cells = np.array(list(product(*inside)))
    rows = np.zeros((len(cells), n_columns))
    rows[:, list(cuts)] = cells
    concepts = {f"{column} > {cut}": rows[:, column] > cut for column, of in cuts.items() for cut in of}
    bits, answers = np.stack(list(concepts.values()), axis=1), np.asarray(model.predict(rows)) == 1
    no, yes_formula = (minimise(TruthTable.of(bits, list(concepts), each)).formula for each in (~answers, answers))
    return no, yes_formula


METHODS: dict[str, Method] = {
    "ours": run_ours,
    "network": run_network,
    "ripper": partial(run_learner, learner=Ripper()),
    "ripper-raw": run_raw_ripper,
    "figs": partial(run_learner, learner=Figs()),
    "figs-raw": run_raw_figs,
    "boosting": run_boosting,
    "one literal": run_one_literal,
    "tree, depth 3": partial(run_tree, max_depth=3),
    "balanced tree, depth 3": partial(run_tree, max_depth=3, class_weight="balanced"),
    "tree, depth 5": partial(run_tree, max_depth=5),
    **{f"tree, {n} leaves": partial(run_tree, max_leaf_nodes=n) for n in range(2, 9)},
    **{f"balanced tree, {n} leaves": partial(run_tree, max_leaf_nodes=n, class_weight="balanced") for n in range(2, 9)},
    "column generation": partial(run_learner, learner=ColumnGeneration()),
}
"""Methods by their name in tables and on the command line."""
RAW = {"ripper": "ripper-raw", "figs": "figs-raw"}
"""Peers that also run on the raw columns, where these are not Boolean and there are two classes."""


def suited(methods: Sequence[str], split: Split) -> list[str]:
    two_classes = len(np.unique(split.train_labels)) == 2
    return [name for name in methods if name not in RAW.values() or (two_classes and not split.is_boolean)]


@dataclass(frozen=True, eq=False)
class Concepts:
    """A split as Boolean concepts, cut on the training rows."""

    classes: NDArray[Any]
    train: ConceptTable
    test: ConceptTable
    predicates: dict[str, Predicate]

    @classmethod
    def of(cls, split: Split) -> Concepts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cuts = Booleaniser().fit(split.train, split.train_labels)
        names = [str(name) for name in cuts.get_feature_names_out()]
        classes, numbers = np.unique(split.train_labels, return_inverse=True)
        train = ConceptTable(cuts.transform(split.train), names, numbers, [str(label) for label in classes])
        return cls(classes, train, ConceptTable(cuts.transform(split.test), names), dict(cuts.predicates_))

    def one_formula(self, formulas: Sequence[DNF], seconds: float) -> Answer:
        """Return the answer of the better of two formulas on the training rows; the other class is its complement."""
        fires = firing(formulas, self.train)
        scores = [macro_f1(self.train.labels == k, fires[:, k]) for k in range(2)]
        # If both are equally good, the shorter one.
        target = max(range(2), key=lambda k: (round(scores[k], 12), -formulas[k].n_literals))
        formula = formulas[target]
        label, other = (_scalar(self.classes[k]) for k in (target, 1 - target))
        stated, rest = Rule(label, formula, (0.5,) * len(formula.cubes)), Rule(other, Complement(formula), (0.5,))
        rules = RuleSet((stated, rest), self.predicates, otherwise=1)
        predicted = self.classes[np.where(firing([formula], self.test)[:, 0], target, 1 - target)]
        return Answer(predicted, seconds, float(formula.n_literals), rules)


def one_column_per_category(frame: pd.DataFrame, train: pd.DataFrame) -> pd.DataFrame:
    return pd.get_dummies(_categories(frame, train), columns=_texts(train))


def figs_splits(node: Any) -> Iterator[tuple[int, float]]:
    if node.left is not None:
        yield int(node.feature), float(node.threshold)
        yield from figs_splits(node.left)
        yield from figs_splits(node.right)


def _categories(frame: pd.DataFrame, train: pd.DataFrame) -> pd.DataFrame:
    kinds = {name: pd.CategoricalDtype(sorted(train[name].dropna().unique())) for name in _texts(train)}
    return frame.astype(kinds)


def _texts(frame: pd.DataFrame) -> list[str]:
    return [str(name) for name in frame if not pd.api.types.is_numeric_dtype(frame[name].dtype)]


def _bounds(value: Any) -> int:
    return 2 if isinstance(value, str) and value[0] not in "<>" and "-" in value.lstrip("-") else 1


def _scalar(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
