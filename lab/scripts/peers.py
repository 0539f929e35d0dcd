"""Our exact rules and their peers on a raw table, with the same training and unseen rows for all.

Used by `planted.py` and `domination.py`. Peers that learn from Boolean concepts get those that `Booleaniser` cuts on
the training rows. If a table has numbers or categories, RIPPER and FIGS also run on the raw columns (`ripper-raw`,
`figs-raw`), so that no peer depends on our cuts alone. With two classes a rule learner gives one formula, and the other
class is its complement, which counts the same literals. The class with the formula is the one whose formula has the
higher macro-F1 on the training rows.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from lab.peers.column_generation import ColumnGeneration
from lab.peers.learner import global_seed, require
from lab.peers.rule_learners import Figs, Ripper
from logiclens import EntropyClassifier
from logiclens.concepts.booleaniser import Booleaniser
from logiclens.concepts.concept_table import ConceptTable
from logiclens.explain.candidates import best_literal
from logiclens.formula.dnf import DNF, Complement, Cube
from logiclens.formula.minimisation import minimise
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import Rule, RuleSet
from logiclens.formula.truth_table import TruthTable
from logiclens.metrics.scores import macro_f1

SHARE_THAT_CHOOSES = 0.2
"""Share of the training rows on which a peer chooses its settings."""


@dataclass(frozen=True, eq=False)
class Split:
    """The rows that a method learns from and the unseen rows that it is scored on."""

    train: pd.DataFrame
    train_labels: NDArray[Any]
    test: pd.DataFrame
    test_labels: NDArray[Any]
    seed: int

    @property
    def is_boolean(self) -> bool:
        """Return whether every column holds only 0 and 1."""
        return all(self.train[name].isin([0, 1]).all() for name in self.train)


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer of a method on one split.

    Args:
        predicted: the class of each unseen row.
        seconds: CPU seconds of learning, formulas included.
        literals: literals per class; None for a black box.
        rules: the rules with the meaning of their concepts, where they are formulas.
    """

    predicted: NDArray[Any]
    seconds: float
    literals: float | None = None
    rules: RuleSet | None = None

    def macro_f1(self, split: Split) -> float:
        """The mean over classes of the F1 of the predictions on the unseen rows."""
        return float(f1_score(split.test_labels, self.predicted, average="macro"))


Method = Callable[[Split], Answer]


def run_ours(split: Split) -> Answer:
    """Run `EntropyClassifier(exact=True)` with its defaults; its rules predict."""
    begun = time.process_time()
    rules = EntropyClassifier(exact=True).fit(split.train, split.train_labels).rules_
    seconds = time.process_time() - begun
    literals = float(np.mean([formula.n_literals for formula in rules.formulas]))
    return Answer(rules.predict(split.test), seconds, literals, rules)


def run_boosting(split: Split) -> Answer:
    """Run scikit-learn's HistGradientBoosting with its defaults and native categories."""
    train, test = _categories(split.train, split.train), _categories(split.test, split.train)
    begun = time.process_time()
    model = HistGradientBoostingClassifier(random_state=split.seed, categorical_features="from_dtype")
    model.fit(train, split.train_labels)
    seconds = time.process_time() - begun
    return Answer(model.predict(test), seconds)


@dataclass(frozen=True)
class RunLearner:
    """A learner of concept tables. With two classes one formula decides; the other class is its complement.

    Args:
        learner: such as `Ripper()`. One that has something to choose chooses it on a fifth of the training rows; the
            others learn from all of them.
    """

    learner: Any

    def __call__(self, split: Split) -> Answer:
        """Cut the columns on the training rows, and learn."""
        begun = time.process_time()
        concepts = Concepts.of(split)
        train, held = concepts.parts(split.seed)
        learned = self.learner(train, held, seed=split.seed)
        seconds = time.process_time() - begun
        if len(concepts.classes) == 2:
            return concepts.one_formula(learned.formulas, seconds)
        literals = float(np.mean([formula.n_literals for formula in learned.formulas]))
        return Answer(concepts.classes[learned.predict(concepts.test)], seconds, literals)


def run_one_literal(split: Split) -> Answer:
    """Run the literal with the highest macro-F1 on the training rows; with more classes, a tree of one split."""
    begun = time.process_time()
    concepts = Concepts.of(split)
    if len(concepts.classes) != 2:
        return RunTree(2)(split)
    formulas = [DNF([Cube([best_literal(concepts.train, target)])]) for target in range(2)]
    return concepts.one_formula(formulas, time.process_time() - begun)


@dataclass(frozen=True)
class RunTree:
    """scikit-learn's decision tree on the raw columns, categories as 0/1 columns.

    The formula of a class joins the paths to its leaves, bounds on one column in one direction merged. With two classes
    the shorter of the two formulas counts, since the other class is its complement.
    """

    n_leaves: int
    class_weight: str | None = None

    def __call__(self, split: Split) -> Answer:
        """Grow the tree."""
        train, test = (
            one_column_per_category(split.train, split.train),
            one_column_per_category(split.test, split.train),
        )
        begun = time.process_time()
        tree = DecisionTreeClassifier(
            max_leaf_nodes=self.n_leaves, class_weight=self.class_weight, random_state=split.seed
        )
        tree.fit(train, split.train_labels)
        seconds = time.process_time() - begun
        literals = leaf_literals(tree)
        return Answer(tree.predict(test), seconds, float(min(literals) if len(literals) == 2 else np.mean(literals)))


def leaf_literals(tree: DecisionTreeClassifier) -> list[int]:
    """Return the literals of the paths to the leaves of each class."""
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
    with global_seed(split.seed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
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
    train, test = one_column_per_category(split.train, split.train), one_column_per_category(split.test, split.train)
    classes, numbers = np.unique(split.train_labels, return_inverse=True)
    begun = time.process_time()
    model = require("imodels").FIGSClassifier(max_rules=Figs().max_rules, random_state=split.seed)
    with global_seed(split.seed):
        model.fit(train.to_numpy(dtype=float), numbers)
    literals = min(formula.n_literals for formula in threshold_formulas(model, train.shape[1]))
    seconds = time.process_time() - begun
    said = np.asarray(model.predict(test.to_numpy(dtype=float)), dtype=np.intp)
    return Answer(classes[said], seconds, float(literals))


def threshold_formulas(model: Any, n_columns: int) -> tuple[DNF, DNF]:
    """Return the formulas of no and yes of a sum of trees, over concepts such as `3 > 0.5` for column 3.

    It answers every cell between its thresholds; cells that no row can have are don't-cares.
    """
    cuts: dict[int, list[float]] = {}
    for column, threshold in sorted({test for tree in model.trees_ for test in _tests(tree)}):
        cuts.setdefault(column, []).append(threshold)
    if not cuts:
        said = bool(model.predict(np.zeros((1, n_columns)))[0])
        return (DNF.false, DNF.true) if said else (DNF.true, DNF.false)
    inside = [[of[0] - 1.0, *((a + b) / 2 for a, b in pairwise(of)), of[-1] + 1.0] for of in cuts.values()]
    cells = np.array(list(product(*inside)))
    rows = np.zeros((len(cells), n_columns))
    rows[:, list(cuts)] = cells
    concepts = {f"{column} > {cut}": rows[:, column] > cut for column, of in cuts.items() for cut in of}
    bits, yes = np.stack(list(concepts.values()), axis=1), np.asarray(model.predict(rows)) == 1
    no_formula, yes_formula = (minimise(TruthTable.of(bits, list(concepts), said)).formula for said in (~yes, yes))
    return no_formula, yes_formula


METHODS: dict[str, Method] = {
    "ours": run_ours,
    "ripper": RunLearner(Ripper()),
    "ripper-raw": run_raw_ripper,
    "figs": RunLearner(Figs()),
    "figs-raw": run_raw_figs,
    "boosting": run_boosting,
    "one literal": run_one_literal,
    **{f"tree, {leaves} leaves": RunTree(leaves) for leaves in range(2, 9)},
    **{f"balanced tree, {leaves} leaves": RunTree(leaves, "balanced") for leaves in range(2, 9)},
    "column generation": RunLearner(ColumnGeneration()),
}
"""Methods by their name in tables and on the command line."""
RAW = {"ripper": "ripper-raw", "figs": "figs-raw"}
"""Peers that also run on the raw columns, where these are not Boolean and there are two classes."""


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
        names = list(cuts.get_feature_names_out())
        classes, numbers = np.unique(split.train_labels, return_inverse=True)
        train = ConceptTable(cuts.transform(split.train), names, numbers, [str(label) for label in classes])
        return cls(classes, train, ConceptTable(cuts.transform(split.test), names), dict(cuts.predicates_))

    def parts(self, seed: int) -> tuple[ConceptTable, ConceptTable]:
        """Split the training rows into rows to learn from and rows to choose on."""
        rows = np.arange(len(self.train))
        parts = train_test_split(rows, test_size=SHARE_THAT_CHOOSES, stratify=self.train.labels, random_state=seed)
        return self.train.take(parts[0]), self.train.take(parts[1])

    def one_formula(self, formulas: Sequence[DNF], seconds: float) -> Answer:
        """Return the answer of the better of two formulas on the training rows; the other class is its complement."""
        packed = PackedRows.of(self.train.boolean(), self.train.names)
        scores = [macro_f1(self.train.labels == k, formula.evaluate(packed)) for k, formula in enumerate(formulas)]
        # If both are equally good, the shorter one.
        target = max(range(2), key=lambda k: (round(scores[k], 12), -formulas[k].n_literals))
        formula = formulas[target]
        label, other = (_scalar(self.classes[k]) for k in (target, 1 - target))
        stated, rest = Rule(label, formula, (0.5,) * len(formula.cubes)), Rule(other, Complement(formula), (0.5,))
        rules = RuleSet((stated, rest), self.predicates, otherwise=1)
        fires = formula.evaluate(PackedRows.of(self.test.boolean(), self.test.names))
        return Answer(self.classes[np.where(fires, target, 1 - target)], seconds, float(formula.n_literals), rules)


class Lines:
    """The results of a benchmark in a JSON file, one dictionary per run, so that a stopped run can continue."""

    def __init__(self, file: str | None, keys: tuple[str, ...]) -> None:
        """Read the file; `keys` are the fields that identify a run."""
        self.path, self.keys = (None if file is None else Path(file)), keys
        self.lines: dict[tuple[Any, ...], dict[str, Any]] = {}
        if self.path is not None and self.path.exists():
            for line in json.loads(self.path.read_text()):
                self.lines[tuple(line[key] for key in keys)] = line

    def drop(self, key: str, values: list[str]) -> None:
        """Drop the runs that are to be repeated."""
        self.lines = {run: line for run, line in self.lines.items() if line[key] not in values}

    def get(self, *run: Any) -> dict[str, Any] | None:
        return self.lines.get(run)

    def add(self, line: dict[str, Any]) -> dict[str, Any]:
        """Add a run and write the file."""
        self.lines[tuple(line[key] for key in self.keys)] = line
        if self.path is not None:
            unfinished = self.path.with_suffix(self.path.suffix + ".part")
            unfinished.write_text(json.dumps(list(self.lines.values()), indent=1) + "\n")
            unfinished.replace(self.path)
        return line


def _categories(frame: pd.DataFrame, train: pd.DataFrame) -> pd.DataFrame:
    """Return text columns as categories of the training rows."""
    kinds = {name: pd.CategoricalDtype(sorted(train[name].dropna().unique())) for name in _texts(train)}
    return frame.astype(kinds)


def one_column_per_category(frame: pd.DataFrame, train: pd.DataFrame) -> pd.DataFrame:
    """Return text columns as one 0/1 column per category of the training rows."""
    return pd.get_dummies(_categories(frame, train), columns=_texts(train))


def _texts(frame: pd.DataFrame) -> list[str]:
    return [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name].dtype)]


def _tests(node: Any) -> Iterator[tuple[int, float]]:
    """Return the columns and thresholds on which a tree of FIGS splits."""
    if node.left is not None:
        yield int(node.feature), float(node.threshold)
        yield from _tests(node.left)
        yield from _tests(node.right)


def _bounds(value: Any) -> int:
    """Return the literals of a condition on a number: two for a bin such as '0.3-0.7', one for '<0.3' or 0.3."""
    return 2 if isinstance(value, str) and value[0] not in "<>" and "-" in value.lstrip("-") else 1


def _scalar(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
