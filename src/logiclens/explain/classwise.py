"""Explain the classes of a network by formula search or by the paper's method.

`explain_all` and `explain_class` are the public entry points. A constant formula comes with its reason.
`explain_bottleneck` explains a network on raw inputs: its encoder predicts the
concepts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, quoted, quoted_names, warn
from logiclens.explain.forward import check_rows, read
from logiclens.explain.learned import Constant, learned_class
from logiclens.explain.length import FormulaLimits
from logiclens.explain.own_teacher import FoundFormula, OwnTeacher, ScoreAgainst, notes_of
from logiclens.explain.paper_method import Judge, Selection, select_paper
from logiclens.explain.reading import Answer, Reading
from logiclens.explain.result import ClassExplanation, Explanation
from logiclens.formula.counted_rows import CountedRows
from logiclens.formula.dnf import DNF
from logiclens.formula.minimisation import spelled_out
from logiclens.formula.packed_rows import as_array, places
from logiclens.formula.truth_table import TruthTable
from logiclens.nn.bottleneck import ConceptBottleneck
from logiclens.nn.outputs import Output, Select
from logiclens.progress import Progress, Shown, working
from logiclens.train.bottleneck import predict_concepts

Method = Literal["search", "paper"]

EXPLAINING = "explaining classes"
"""What progress calls the extraction of formulas, class by class."""
MANY_HEADS = 8
"""Number of heads from which heads are explained in parallel threads."""


def explain_class(
    network: nn.Module,
    rows: Any,
    labels: Any = None,
    names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    *,
    target: int | str,
    validation: Any = None,
    method: Method = "search",
    score_against: ScoreAgainst = "network",
    limits: FormulaLimits | None = None,
    answer: Answer | None = None,
    output: Output = "auto",
    select: Select | None = None,
    multilabel: bool = False,
    exclusive: bool = True,
    progress: Shown = None,
) -> ClassExplanation:
    """Return the formula of one class.

    Args:
        network: a trained network with an entropy layer.
        rows: the rows whose answers are explained: concepts in [0, 1] as an array, a tensor, a frame or a
            `ConceptTable`. A table has its own labels and names.
        labels: class numbers, one-hot rows, or texts among `class_names`; with `multilabel`, 0/1 `[rows, classes]`.
            Required for `score_against="labels"`. They never change how the network is read. Default: None, no labels.
        names: names of the concepts. Default: the columns of a frame, or `x0`, `x1`, ….
        class_names: names of the classes. Default: their numbers.
        target: the class, by number or by name. If there are two classes, its formula may be the complement of the
            other.
        validation: further rows, or a pair of rows and labels. `"search"` chooses formulas on them as well as on
            `rows`. `"paper"` chooses among the candidates on them alone. Default: None, `rows` only.
        method: `"search"` (search cubes that match the answers, and choose their number by cross-validation inside the
            rows), or `"paper"` (take distinct rows by support, OR them while the score improves, then simplify).
            Default: `"search"`.
        score_against: what formulas match: the answers of the network, or the labels. Default: `"network"`.
        limits: limits on the formulas, for `"search"` only. Default: no limits.
        answer: `"argmax"` or `"threshold"`; see `logiclens.explain.read`. Default: `"threshold"` for a single head and
            with `multilabel`, else `"argmax"`.
        output: what the outputs of the network are: `"logits"`, `"probabilities"`, `"log-probabilities"` or `"labels"`.
            Default: `"auto"`, by its last operation; see `logiclens.explain.read`.
        select: a function that takes the outputs from what the network returns, such as `lambda out: out["y"]`.
            Default: None, the network returns its outputs.
        multilabel: whether a row may have several classes. Default: False.
        exclusive: whether a formula may rely on the exclusive groups (`three`), or spells them out (`three & ~one &
            ~two …`). Default: True.
        progress: a function that is called with a `logiclens.ProgressState` as the search proceeds. Default: None, a
            bar in a terminal or a notebook; False: none.

    Returns:
        The formula of the class with its fidelity and score.

    Raises:
        LogicLensError: if an option is not valid, there is no such class, the validation rows have other concepts, or
            labels are required and missing.

    >>> import torch
    >>> from logiclens import ConceptTable
    >>> from logiclens.nn import EntropyNet
    >>> from logiclens.train import TrainConfig, fit
    >>> rows = ConceptTable([[0, 0], [0, 1], [1, 0], [1, 1]] * 10, ["a", "b"], labels=[0, 0, 0, 1] * 10)
    >>> network = EntropyNet(2, 2, generator=torch.Generator().manual_seed(0))
    >>> trained = fit(network, rows, TrainConfig(epochs=200))
    >>> print(explain_class(network, rows, target=1).formula)
    a & b
    """
    how = _How(method, score_against, limits or FormulaLimits(), exclusive)
    table = _named_table(rows, labels, names, class_names, multilabel)
    readout = _Readout(answer or ("threshold" if multilabel else None), output, select)
    reading, judged = _readings(network, table, validation, readout, method, multilabel)
    head = reading.head(target)
    if method == "paper":
        explained = _paper_class(reading, judged, head, how)
    else:
        with working(progress):
            found = _searched(OwnTeacher(judged, score_against, how.limits), [head])
        explained = _searched_class(reading, judged, head, found.get(head), how)
        for note in notes_of(found, reading.class_names):
            warn(note, stacklevel=2)
    _warn_of_unvarying([explained])
    return explained


def explain_all(
    network: nn.Module,
    rows: Any,
    labels: Any = None,
    names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    *,
    validation: Any = None,
    method: Method = "search",
    score_against: ScoreAgainst = "network",
    limits: FormulaLimits | None = None,
    answer: Answer | None = None,
    output: Output = "auto",
    select: Select | None = None,
    multilabel: bool = False,
    exclusive: bool = True,
    progress: Shown = None,
) -> Explanation:
    """Return the formulas of all classes, from one pass of the rows through the network.

    Errors are those of `explain_class`.

    Args:
        network: a trained network with an entropy layer.
        rows: the rows whose answers are explained: concepts in [0, 1] as an array, a tensor, a frame or a
            `ConceptTable`. A table has its own labels and names.
        labels: class numbers, one-hot rows, or texts among `class_names`; with `multilabel`, 0/1 `[rows, classes]`.
            Required for `score_against="labels"`. They never change how the network is read. Default: None, no labels.
        names: names of the concepts. Default: the columns of a frame, or `x0`, `x1`, ….
        class_names: names of the classes. Default: their numbers.
        validation: further rows, or a pair of rows and labels. `"search"` chooses formulas on them as well as on
            `rows`. `"paper"` chooses among the candidates on them alone. Default: None, `rows` only.
        method: `"search"` (search cubes that match the answers, and choose their number by cross-validation inside the
            rows), or `"paper"` (take distinct rows by support, OR them while the score improves, then simplify).
            Default: `"search"`.
        score_against: what formulas match: the answers of the network, or the labels. Default: `"network"`.
        limits: limits on the formulas, for `"search"` only. Default: no limits.
        answer: `"argmax"` or `"threshold"`; see `logiclens.explain.read`. Default: `"threshold"` for a single head and
            with `multilabel`, else `"argmax"`.
        output: what the outputs of the network are: `"logits"`, `"probabilities"`, `"log-probabilities"` or `"labels"`.
            Default: `"auto"`, by its last operation; see `logiclens.explain.read`.
        select: a function that takes the outputs from what the network returns, such as `lambda out: out["y"]`.
            Default: None, the network returns its outputs.
        multilabel: whether a row may have several classes. Default: False.
        exclusive: whether a formula may rely on the exclusive groups (`three`), or spells them out (`three & ~one &
            ~two …`). Default: True.
        progress: a function that is called with a `logiclens.ProgressState` as the search proceeds. Default: None, a
            bar in a terminal or a notebook; False: none.

    >>> from logiclens.nn import EntropyNet
    >>> from logiclens.train import TrainConfig, fit
    >>> x = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]] * 5).float()
    >>> y = (x[:, 0] * x[:, 1]).long()
    >>> network = EntropyNet(2, 2, generator=torch.Generator().manual_seed(0))
    >>> _ = fit(network, ConceptTable(x, labels=y), TrainConfig(epochs=200))
    >>> print(explain_all(network, x, y, names=["left", "right"], class_names=["not both", "both"])["both"])
    ∀x: both(x) ↔ left(x) ∧ right(x)
    """
    how = _How(method, score_against, limits or FormulaLimits(), exclusive)
    table = _named_table(rows, labels, names, class_names, multilabel)
    readout = _Readout(answer or ("threshold" if multilabel else None), output, select)
    reading, judged = _readings(network, table, validation, readout, method, multilabel)
    heads = range(reading.n_heads)
    notes: tuple[str, ...] = ()
    if method == "paper":
        with working(progress):
            classes = _side_by_side(lambda head: _paper_class(reading, judged, head, how), heads, (reading, judged))
    else:
        with working(progress):
            found = _searched(OwnTeacher(judged, score_against, how.limits), heads)
        classes = [_searched_class(reading, judged, head, found.get(head), how) for head in heads]
        notes = notes_of(found, reading.class_names)
    _warn_of_unvarying(classes)
    each_alone = multilabel or (reading.answer == "threshold" and reading.n_heads > 1)
    return Explanation(tuple(classes), notes, multilabel=each_alone)


def _searched(teacher: OwnTeacher, heads: Sequence[int]) -> dict[int, FoundFormula]:
    """Search the formulas of some heads. Heads whose answer never changes are left out."""
    reading = teacher.reading
    varying = [head for head in heads if _constant(reading, head) is None]
    if teacher.one_decides_both and varying:
        return dict(enumerate(teacher.both()))
    if teacher.chooses_together and varying:
        found = teacher.many()
        return {head: found[head] for head in varying}
    # Compute the shared cached values before the threads start.
    _ = teacher.order, teacher.copies
    found = _side_by_side(teacher.one, varying, (reading,))
    return dict(zip(varying, found, strict=True))


def _searched_class(
    reading: Reading, judged: Reading, head: int, found: FoundFormula | None, how: _How
) -> ClassExplanation:
    constant = _constant(judged, head)
    if constant is not None:
        found = FoundFormula(constant.formula, None, proved_minimal=True)
    if found is None:
        raise LogicLensError(f"there is no formula for {quoted(reading.class_names[head])}.")
    return learned_class(reading, head, found, how.exclusive, how.score_against, constant)


_Made = TypeVar("_Made")


def _side_by_side(make: Callable[[int], _Made], heads: Sequence[int], shared: Sequence[Reading]) -> list[_Made]:
    """Apply `make` to each head; many heads run in parallel, on as many threads as torch may use."""
    n_threads = min(torch.get_num_threads(), len(heads))
    made: list[_Made] = []
    if len(heads) < MANY_HEADS or n_threads == 1:
        with Progress(len(heads), EXPLAINING) as progress:
            for head in heads:
                made.append(make(head))
                progress.update(len(made))
        return made
    # Compute the shared cached values before the threads start.
    for reading in shared:
        _ = reading.seen, reading.bits
    with ThreadPoolExecutor(n_threads) as pool, Progress(len(heads), EXPLAINING) as progress:
        try:
            # Only this thread tells the progress; those of the pool know of no work.
            for one in pool.map(make, heads):
                made.append(one)
                progress.update(len(made))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return made


@dataclass(frozen=True)
class _Readout:
    """How to read a network; see `read`."""

    answer: Answer | None
    output: Output
    select: Select | None


def _readings(
    network: nn.Module, table: ConceptTable, validation: Any, readout: _Readout, method: Method, multilabel: bool
) -> tuple[Reading, Reading]:
    """Read the network on the rows to explain, and on the rows that choose formulas."""
    for sentence in table.group_warnings():
        warn(f"{sentence} No formula is made from them.", stacklevel=3)
    reading = read(network, table, readout.answer, output=readout.output, select=readout.select)
    if validation is None:
        return reading, reading
    validation_table = _validation_table(validation, table, multilabel)
    if validation_table.names != table.names:
        raise LogicLensError("the validation rows must have the same concepts as the rows explained, in one order.")
    return reading, reading.of_rows(validation_table if method == "paper" else _together(table, validation_table))


def _named_table(
    rows: Any, labels: Any, names: Sequence[str] | None, class_names: Sequence[str] | None, multilabel: bool
) -> ConceptTable:
    """Return the rows as a table with the labels and names given."""
    if isinstance(rows, ConceptTable):
        if labels is not None or names is not None or class_names is not None:
            raise LogicLensError(
                "a ConceptTable has its own labels and names: leave out labels, names and class_names, or pass the "
                "values alone. Further rows are passed as validation=..."
            )
        return _labelled(rows, multilabel)
    check_rows(rows)
    if isinstance(labels, ConceptTable):
        raise LogicLensError("labels must be the class of each row, got a ConceptTable: pass it as validation=...")
    return ConceptTable(rows, names, *_labels_and_classes(labels, class_names, multilabel))


def _labelled(table: ConceptTable, multilabel: bool) -> ConceptTable:
    """Return a table whose labels are read as `_labels_and_classes` reads them."""
    if not table.is_multilabel or multilabel:
        return table
    labels, _ = _labels_and_classes(table.labels, table.class_names, multilabel)
    return table.with_labels(labels)


def _labels_and_classes(
    labels: Any, class_names: Sequence[str] | None, multilabel: bool
) -> tuple[Any, Sequence[str] | None]:
    """Return labels as class numbers, or with `multilabel` as a 0/1 matrix, and the names of the classes.

    Raises:
        LogicLensError: if the labels do not say one class per row, although no row may have several.
    """
    if labels is None or isinstance(class_names, str) or not isinstance(class_names, Iterable | None):
        # ConceptTable says what names must be.
        return labels, class_names
    class_names = None if class_names is None else [str(name) for name in class_names]
    try:
        array = as_array(labels)
    except ValueError:
        # Rows of several lengths: ConceptTable says so.
        return labels, class_names
    if array.ndim == 2 and hasattr(labels, "columns") and (multilabel or array.shape[1] > 1):
        array, class_names = _columns_in_order(array, [str(column) for column in labels.columns], class_names)
    if multilabel:
        if array.ndim != 2:
            raise LogicLensError(
                f"with multilabel=True labels must be a matrix of 0 and 1, one column for each class, got shape "
                f"{array.shape}."
            )
        return array, class_names
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 2 and array.dtype.kind in "biuf" and bool(((array == 0) | (array == 1)).all()):
        if not bool((array.sum(axis=1) == 1).all()):
            raise LogicLensError(
                "labels are a matrix of 0 and 1 in which some rows have no 1, or several: if a row may have several "
                "classes, pass multilabel=True."
            )
        return array.argmax(axis=1), class_names or [str(klass) for klass in range(array.shape[1])]
    if array.ndim != 1:
        return array, class_names
    if array.dtype.kind == "O" and all(isinstance(label, Integral) for label in array):
        array = array.astype(np.int64)
    if class_names is not None and len(class_names) == 1:
        # The name of a single head, which says yes or no.
        class_names = [f"not {class_names[0]}", *class_names]
    if array.dtype.kind in "OUST":
        return _numbers_of(array, class_names), class_names
    if class_names is None and array.dtype.kind in "biu" and len(array) and array.max() < 1:
        # No row of class 1: a single head is asked about it all the same.
        class_names = ["0", "1"]
    return array, class_names


def _columns_in_order(
    matrix: NDArray[Any], columns: Sequence[str], class_names: Sequence[str] | None
) -> tuple[NDArray[Any], Sequence[str]]:
    """Return a frame of labels in the order of the classes, and their names; columns without names stay in order."""
    if class_names is None or columns == [str(place) for place in range(len(columns))]:
        return matrix, class_names or columns
    if sorted(columns) != sorted(class_names):
        raise LogicLensError(
            f"the columns of the labels are {quoted_names(columns)}, the classes {quoted_names(class_names)}: they "
            "must be the same."
        )
    return matrix[:, places(class_names, columns)], class_names


def _numbers_of(labels: NDArray[Any], class_names: Sequence[str] | None) -> Any:
    """Return texts as class numbers, by the names of the classes."""
    if class_names is None:
        raise LogicLensError(
            "labels must be class numbers; of texts the network does not know the order: pass class_names=..., one for "
            "each head."
        )
    number = {name: place for place, name in enumerate(class_names)}
    for label in labels.tolist():
        if label not in number:
            raise LogicLensError(f"there is no class {quoted(label)}; class_names has {quoted_names(class_names)}.")
    return np.array([number[label] for label in labels.tolist()])


def _validation_table(validation: Any, table: ConceptTable, multilabel: bool) -> ConceptTable:
    """Return validation rows, or a pair of rows and labels, as a table with the concepts of another one."""
    if isinstance(validation, ConceptTable):
        return _labelled(validation, multilabel)
    rows, labels = validation if isinstance(validation, tuple) and len(validation) == 2 else (validation, None)
    names = None if hasattr(rows, "columns") else table.names
    return _named_table(rows, labels, names, table.class_names or None, multilabel)


def _together(table: ConceptTable, other: ConceptTable) -> ConceptTable:
    """Return the union of two tables: a row that is in both counts once, with the larger of its weights.

    Rows are equal if their values and labels are. The labels are kept if both tables have them.
    """
    labelled = table.labels is not None and other.labels is not None
    parts = [
        np.column_stack([one.values, *([np.asarray(one.labels)] if labelled else [])]).astype(np.float64)
        for one in (table, other)
    ]
    _, first, group = np.unique(np.concatenate(parts), axis=0, return_index=True, return_inverse=True)
    weight, other_weight = (
        np.bincount(rows, one.weight, minlength=len(first))
        for one, rows in zip((table, other), np.split(group.ravel(), [len(table)]), strict=True)
    )
    # Each added row stands for the weight by which the other table has more of it.
    rows_to_add = np.flatnonzero(other_weight > weight)
    if not len(rows_to_add):
        return table
    last = np.empty(len(first), dtype=np.intp)
    last[group.ravel()[len(table) :]] = np.arange(len(other))
    added = other.take(last[rows_to_add])
    return ConceptTable(
        np.concatenate([table.values, added.values]),
        table.names,
        np.concatenate([np.asarray(table.labels), np.asarray(added.labels)]) if labelled else None,
        table.class_names or None,
        table.exclusive,
        np.concatenate([table.weight, (other_weight - weight)[rows_to_add]]),
        table.groups.implied,
    )


@dataclass(frozen=True)
class _How:
    """How formulas are chosen and written."""

    method: Method
    score_against: ScoreAgainst
    limits: FormulaLimits
    exclusive: bool

    def __post_init__(self) -> None:
        if self.method not in ("search", "paper"):
            raise LogicLensError(f"method must be 'search' or 'paper', got {quoted(self.method)}.")
        if self.score_against not in ("labels", "network"):
            raise LogicLensError(f"score_against must be 'labels' or 'network', got {quoted(self.score_against)}.")
        if not isinstance(self.limits, FormulaLimits):
            raise LogicLensError(f"limits must be a logiclens.explain.FormulaLimits, got {quoted(self.limits)}.")
        if self.method == "paper" and self.limits != FormulaLimits():
            raise LogicLensError("limits need method='search' (--method search): the paper's method has none.")


def _paper_class(reading: Reading, judged: Reading, head: int, how: _How) -> ClassExplanation:
    table = reading.truth_table(head)
    judge = Judge(_judge_rows(judged, head, table, how.score_against))
    constant = _constant(reading, head) or _untold(table)
    if constant is None:
        chosen = select_paper(table, judge)
    else:
        equals_table = bool((constant.formula.evaluate(table.rows) == table.outcome)[table.cared].all())
        chosen = Selection(constant.formula, judge.score(constant.formula), (), proved_minimal=equals_table)
    if not how.exclusive:
        chosen = replace(chosen, formula=spelled_out(chosen.formula, table), proved_minimal=False)
    fired = chosen.formula.evaluate(table.rows)
    equal = bool((chosen.formula.evaluate(reading.seen.bits, reading.table.names) == reading.seen.yes[:, head]).all())
    relevant = sorted(reading.relevant(head), key=lambda j: -reading.relevance[head, j])
    return ClassExplanation(
        name=reading.class_names[head],
        head=head,
        formula=chosen.formula,
        relevance={reading.table.names[j]: float(reading.relevance[head, j]) for j in relevant},
        table=table,
        fidelity=float(table.rows.counts[np.arange(len(fired)), fired.astype(int)].sum() / table.support.sum()),
        equals_network=equal,
        score=chosen.score,
        scored_against=how.score_against,
        method="paper",
        trace=chosen.trace,
        proved_minimal=chosen.proved_minimal and equal,
        reason=None if constant is None else constant.reason,
        remedy=None if constant is None else constant.remedy,
        reading=reading,
    )


def _judge_rows(judged: Reading, head: int, table: TruthTable, score_against: ScoreAgainst) -> CountedRows:
    """Return the validation rows on the concepts of the table, with the answers to compare with."""
    seen, columns = judged.seen, places(table.names, judged.table.names)
    if score_against == "network":
        yes = seen.weight * seen.yes[:, head]
    else:
        # `targets()` raises the error for missing labels.
        yes = (judged.targets() if seen.labels is None else seen.labels)[:, head]
    return CountedRows.of(seen.bits[:, columns], table.names, np.stack([seen.weight - yes, yes], axis=1), seen.weight)


def _warn_of_unvarying(classes: Iterable[ClassExplanation]) -> None:
    """Warn of a class that the network never or always predicts. A line in the result would be overlooked."""
    for explained in classes:
        said = explained.reading.seen.yes[:, explained.head]
        if explained.reason is not None and (said.all() or not said.any()):
            warn(explained.reason, stacklevel=3)


def _constant(reading: Reading, head: int) -> Constant | None:
    """Return the constant of a head whose answer never changes, on all rows or on those that respect the groups."""
    name, seen = reading.class_names[head], reading.seen
    yes, n_rows = seen.yes[:, head], reading.table.n_counted
    if yes.all() or not yes.any():
        reason = f"the network {'always' if yes.all() else 'never'} predicts {quoted(name)} on these {n_rows:,} rows."
        remedy = (
            "Explain other rows, or train with more rows, epochs, or weight (class_weight) for the class."
            if not yes.any()
            else "Explain rows of other classes too."
        )
        return Constant(DNF.true if yes.all() else DNF.false, reason, remedy)
    possible = reading.table.groups.allows(seen.bits, reading.table.names) & (seen.weight > 0)
    if possible.any() and (yes[possible].all() or not yes[possible].any()):
        always = bool(yes[possible].all())
        return Constant(
            DNF.true if always else DNF.false,
            f"every row answered {'no' if always else 'yes'} breaks a group and is left out.",
            "Check the groups: at most one of an exclusive group is true; in a chain each implies the one before.",
        )
    return None


def _untold(table: TruthTable) -> Constant | None:
    """Return the constant of a head whose relevant concepts do not separate its rows."""
    if len(table.on) and len(table.off):
        return None
    concepts = ", ".join(repr(concept) for concept in table.names[:5]) or "none"
    most = "yes" if len(table.on) else "no"
    return Constant(
        DNF.true if len(table.on) else DNF.false,
        f"the concepts this class depends on ({concepts}) do not tell its rows apart: most answers are {most}.",
        "A higher temperature, such as 2, keeps more concepts; contradictions and suggest_splits() show more.",
    )


def bottleneck_table(
    model: ConceptBottleneck,
    inputs: Any,
    labels: Any = None,
    names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    *,
    multilabel: bool = False,
    device: str | None = None,
) -> ConceptTable:
    """Return the concepts g(x) of raw inputs as the network sees them (0 and 1 where they are hard), with the labels.

    Args:
        model: a trained bottleneck.
        inputs: images of uint8 or a matrix of floats, in the same form as for training.
        labels: see `explain_class`. Default: None, no labels.
        names: names of the concepts. Default: the names of the model, or `x0`, `x1`, … if it has none.
        class_names: names of the classes.
        multilabel: whether a row may have several classes. Default: False.
        device: device of the encoder. Default: a CUDA device if there is one.

    Returns:
        The concepts as a table. If the concepts of the model are exclusive, they form one exclusive group.

    Raises:
        LogicLensError: if `model` is not a `ConceptBottleneck`.
    """
    if not isinstance(model, ConceptBottleneck):
        raise LogicLensError(f"expected a ConceptBottleneck, got {type(model).__name__}: pass others to explain_all.")
    check_rows(inputs)
    values = predict_concepts(model, inputs, device=device)
    named = names or model.names or [f"x{i}" for i in range(values.shape[1])]
    labels, class_names = _labels_and_classes(labels, class_names, multilabel)
    return ConceptTable(values, named, labels, class_names, [tuple(named)] if model.exclusive else ())


def explain_bottleneck(
    model: ConceptBottleneck,
    inputs: Any,
    labels: Any = None,
    names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    *,
    validation: Any = None,
    method: Method = "search",
    score_against: ScoreAgainst = "network",
    limits: FormulaLimits | None = None,
    answer: Answer | None = None,
    output: Output = "auto",
    select: Select | None = None,
    multilabel: bool = False,
    device: str | None = None,
    progress: Shown = None,
) -> Explanation:
    """Return the formulas of all classes on raw inputs, ∀x: φ(g(x)) ↔ f(g(x)), the last equation of the paper's method.

    `logiclens.explain.explain_class` says more of each option.

    Args:
        model: a trained bottleneck.
        inputs: the raw inputs whose answers are explained.
        labels: labels of the inputs; required for `score_against="labels"`.
        names: names of the concepts. Default: the names of the model.
        class_names: names of the classes.
        validation: further raw inputs, or a pair of raw inputs and their labels.
        method: method that chooses the formulas. Default: `"search"`.
        score_against: what the formulas are compared with. Default: the answers of the network.
        limits: limits on the formulas. Default: no limits.
        answer: rule that turns the outputs of the network into answers.
        output: what the outputs of the network behind the encoder are. Default: `"auto"`.
        select: a function that takes the outputs from what that network returns. Default: None.
        multilabel: whether a row may have several classes. Default: False.
        device: device of the encoder. Default: a CUDA device if there is one.
        progress: see `explain_class`.

    Returns:
        The explanation of all classes.

    Raises:
        LogicLensError: if `model` is not a `ConceptBottleneck`, or an option is not valid.

    >>> import torch
    >>> from logiclens.explain import compile_formulas
    >>> from logiclens.formula import parse
    >>> from logiclens.nn import ConceptBottleneck
    >>> inputs = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> network = compile_formulas([parse("tall & ~dark")], ["tall", "dark"])
    >>> encoder = torch.nn.Identity()
    >>> model = ConceptBottleneck(encoder, network, hard=True, names=("tall", "dark"), output="logits")
    >>> explanation = explain_bottleneck(model, inputs.repeat(10, 1) * 20 - 10, class_names=["alarm"], device="cpu")
    >>> print(explanation["alarm"].formula)
    tall & ~dark
    """
    table = bottleneck_table(model, inputs, labels, names, class_names, multilabel=multilabel, device=device)
    others = None
    if validation is not None:
        is_pair = isinstance(validation, tuple) and len(validation) == 2
        more_inputs, more_labels = validation if is_pair else (validation, None)
        classes = table.class_names or None
        others = bottleneck_table(
            model, more_inputs, more_labels, table.names, classes, multilabel=multilabel, device=device
        )
    return explain_all(
        model.network,
        table,
        validation=others,
        method=method,
        score_against=score_against,
        limits=limits,
        answer=answer,
        output=output,
        select=select,
        multilabel=multilabel,
        progress=progress,
    )
