"""The formula of each class: truth table, candidates, choice; and the reason where there is none to choose."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from logiclens.data.concepts import as_table
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.explain.extract import Answer, Reading, read
from logiclens.explain.length import Choice
from logiclens.explain.result import ClassExplanation, Explanation
from logiclens.explain.selection import Judge, Limits, Selection, select_minimal, select_paper, select_short
from logiclens.formula.bits import places
from logiclens.formula.counted import CountedRows
from logiclens.formula.dnf import DNF, Complement
from logiclens.formula.minimise import spelled_out
from logiclens.formula.table import TruthTable
from logiclens.metrics.scores import macro_f1_of_counts

Method = Literal["minimal", "paper"]
ScoreAgainst = Literal["labels", "network"]

MANY_HEADS = 8
"""From so many heads on they are explained side by side."""
IDLE_SPREAD = 1e-3
"""A head is idle when its output varies by less than this share of what the best of the other heads varies by."""


def explain_class(
    network: nn.Module,
    rows: Any,
    validation: Any = None,
    *,
    target: int | str,
    method: Method = "minimal",
    score_against: ScoreAgainst = "network",
    limits: Limits | None = None,
    answer: Answer | None = None,
    exclusive: bool = True,
) -> ClassExplanation:
    """The formula of one class.

    Args:
        network: a trained network with an entropy layer.
        rows: the rows whose answers fill the truth table; labels never do.
        validation: the rows that choose among candidate cubes; `rows` where not given.
        target: the class, by number or by name.
        method: `"minimal"` (prime cubes with don't-cares, chosen by score minus a price per literal), or `"paper"`
            (distinct rows by support, OR-ed while the score improves, then simplified).
        score_against: what validation rows are compared with: the network's answers, or their labels.
        limits: how long the formula may get; for `"minimal"`.
        answer: `"argmax"` or `"threshold"`; see `logiclens.explain.read`.
        exclusive: whether a formula may rely on the exclusive groups (`three`), or spells them out
            (`three & ~one & ~two …`).
    """
    reading, judged = _readings(network, rows, validation, answer)
    how = _How(method, score_against, limits or Limits(), exclusive)
    explained = _explain_head(reading, judged, reading.head(target), how)
    _warn_of_unvarying([explained])
    return explained


def explain_all(
    network: nn.Module,
    rows: Any,
    validation: Any = None,
    *,
    method: Method = "minimal",
    score_against: ScoreAgainst = "network",
    limits: Limits | None = None,
    answer: Answer | None = None,
    exclusive: bool = True,
) -> Explanation:
    """The formulas of all classes, from one pass of the rows through the network. See `explain_class`."""
    reading, judged = _readings(network, rows, validation, answer)
    how = _How(method, score_against, limits or Limits(), exclusive)
    classes = _explain_heads(reading, judged, how)
    _warn_of_unvarying(classes)
    return Explanation(classes)


def explain_learned(
    network: nn.Module,
    rows: Any,
    formulas: Sequence[DNF | Complement],
    choices: Sequence[Choice] = (),
    *,
    answer: Answer | None = None,
    exclusive: bool = True,
) -> Explanation:
    """Formulas that were searched, one for each class, and how they stand on some rows beside the network.

    Args:
        network: the committee that taught the search.
        rows: the rows that are told about; with labels, formulas are scored against these.
        formulas: one for each class.
        choices: how formulas were chosen, where that is known.
        answer: `"argmax"` or `"threshold"`; see `logiclens.explain.read`.
        exclusive: whether a formula may rely on the exclusive groups, or spells them out.
    """
    reading = read(network, as_table(rows), answer)
    by_class = {choice.klass: choice for choice in choices}
    classes = [
        _learned_class(reading, head, formula, by_class.get(head), exclusive) for head, formula in enumerate(formulas)
    ]
    return Explanation(tuple(classes))


def _learned_class(
    reading: Reading, head: int, formula: DNF | Complement, choice: Choice | None, exclusive: bool
) -> ClassExplanation:
    place = {name: j for j, name in enumerate(reading.table.names)}
    used = np.array([place[concept] for concept in formula.concepts], dtype=np.intp)
    table = reading.truth_table(head, np.setdiff1d(used, reading.relevant(head)))
    if not exclusive and isinstance(formula, DNF):
        formula = spelled_out(formula, table)
    seen, name = reading.seen, reading.class_names[head]
    fires = formula.evaluate(seen.bits, reading.table.names)
    agrees = fires == seen.yes[:, head]
    labelled = seen.labels is not None
    truth = seen.labels[:, head] if seen.labels is not None else seen.weight * seen.yes[:, head]
    hit, wrong = float(truth[fires].sum()), float((seen.weight - truth)[fires].sum())
    score = macro_f1_of_counts(hit, float(truth.sum()) - hit, wrong, float((seen.weight - truth).sum()) - wrong)
    reason = remedy = None
    if formula.is_constant and isinstance(formula, DNF):
        reason = f"no cube for {name!r} is right on enough rows and more often than chance."
        remedy = "Gather more rows of the class, or ask for less support (min_support)."
    relevant = sorted(reading.relevant(head), key=lambda j: -reading.relevance[head, j])
    return ClassExplanation(
        name=name,
        head=head,
        formula=formula,
        relevance={reading.table.names[j]: float(reading.relevance[head, j]) for j in relevant},
        taken_in=(),
        table=table,
        fidelity=float(seen.weight[agrees].sum() / seen.weight.sum()),
        equals_network=bool(agrees.all()),
        score=float(score),
        scored_against="labels" if labelled else "network",
        method="search",
        trace=(),
        proved_minimal=False,
        idle=False,
        reason=reason,
        remedy=remedy,
        reading=reading,
        path=() if choice is None else choice.points,
    )


def _explain_heads(reading: Reading, judged: Reading, how: _How) -> tuple[ClassExplanation, ...]:
    """Head by head; many heads side by side, on as many threads as torch may use."""

    def explain(head: int) -> ClassExplanation:
        return _explain_head(reading, judged, head, how)

    heads = range(reading.n_heads)
    n_threads = min(torch.get_num_threads(), reading.n_heads)
    if reading.n_heads < MANY_HEADS or n_threads == 1:
        return tuple(map(explain, heads))
    # What all heads read is made before they start.
    for shared in (reading, judged):
        _ = shared.seen, shared.bits
    with ThreadPoolExecutor(n_threads) as pool:
        return tuple(pool.map(explain, heads))


def _readings(network: nn.Module, rows: Any, validation: Any, answer: Answer | None) -> tuple[Reading, Reading]:
    table = as_table(rows)
    for sentence in table.group_warnings():
        warnings.warn(f"{sentence} No formula is made from them.", LogicLensWarning, stacklevel=3)
    reading = read(network, table, answer)
    if validation is None:
        return reading, reading
    held = as_table(validation, like=table.names)
    if held.names != table.names:
        raise LogicLensError("the validation rows must have the same concepts as the rows explained, in one order.")
    return reading, read(network, held, reading.answer)


@dataclass(frozen=True)
class _How:
    """How formulas are chosen and written."""

    method: Method
    score_against: ScoreAgainst
    limits: Limits
    exclusive: bool

    def __post_init__(self) -> None:
        if self.method not in ("minimal", "paper"):
            raise LogicLensError(f"method must be 'minimal' or 'paper', got {self.method!r}.")
        if self.score_against not in ("labels", "network"):
            raise LogicLensError(f"score_against must be 'labels' or 'network', got {self.score_against!r}.")


def _explain_head(reading: Reading, judged: Reading, head: int, how: _How) -> ClassExplanation:
    # The paper's truth table knows the head's own concepts only.
    taken_in = reading.taken_in(head) if how.method == "minimal" else np.zeros(0, dtype=np.intp)
    table = reading.truth_table(head, taken_in)
    judge = Judge(_judge_rows(judged, head, table, how.score_against))
    chosen, constant = _choose(reading, head, table, judge, how.method, how.limits)
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
        taken_in=tuple(reading.table.names[j] for j in taken_in.tolist()),
        table=table,
        fidelity=float(table.rows.counts[np.arange(len(fired)), fired.astype(int)].sum() / table.support.sum()),
        equals_network=equal,
        score=chosen.score,
        scored_against=how.score_against,
        method=how.method,
        trace=chosen.trace,
        proved_minimal=chosen.proved_minimal and equal,
        idle=constant is not None and constant.idle,
        reason=None if constant is None else constant.reason,
        remedy=None if constant is None else constant.remedy,
        reading=reading,
    )


def _choose(
    reading: Reading, head: int, table: TruthTable, judge: Judge, method: Method, limits: Limits
) -> tuple[Selection, _Constant | None]:
    """The formula of a head; and what is wrong with the head, where no formula can be chosen."""
    constant = _constant(reading, head, table)
    if constant is None:
        return select_paper(table, judge) if method == "paper" else select_minimal(table, judge, limits), None
    if constant.retry and method == "minimal":
        short = select_short(table, judge, limits, constant.formula)
        if short is not None:
            return short, None
    score = judge.score(constant.formula)
    equals_table = bool((constant.formula.evaluate(table.rows) == table.outcome)[table.cared].all())
    return Selection(constant.formula, score, (), proved_minimal=equals_table and not constant.idle), constant


def _judge_rows(judged: Reading, head: int, table: TruthTable, score_against: ScoreAgainst) -> CountedRows:
    """The validation rows on the concepts of the table, with what they should be compared with."""
    seen, columns = judged.seen, places(table.names, judged.table.names)
    if score_against == "network":
        yes = seen.weight * seen.yes[:, head]
    else:
        # Without labels, asking for them says so.
        yes = (judged.targets() if seen.labels is None else seen.labels)[:, head]
    return CountedRows.of(seen.bits[:, columns], table.names, np.stack([seen.weight - yes, yes], axis=1), seen.weight)


def _is_idle(reading: Reading, head: int) -> bool:
    """Whether a head's output hardly varies beside the best of the others, and at its mean gives the same answers."""
    logits = reading.seen.logits
    spread = np.ptp(logits[:, head])
    # The others vary by no more than all of them together: most heads are told from idle ones by that.
    if spread > IDLE_SPREAD * reading.spread:
        return False
    rivals = np.delete(logits, head, axis=1).max(axis=1)
    if spread > IDLE_SPREAD * np.ptp(rivals):
        return False
    held = logits.copy()
    # The mean is that of all rows, however often each is there.
    held[:, head] = reading.logits[:, head].mean()
    return bool((held.argmax(axis=1) == logits.argmax(axis=1)).all())


def _warn_of_unvarying(classes: Iterable[ClassExplanation]) -> None:
    """A class that is never predicted, or always, is worth more than a line in the result."""
    for explained in classes:
        said = explained.reading.seen.yes[:, explained.head]
        if said.all() or not said.any():
            warnings.warn(str(explained.reason), LogicLensWarning, stacklevel=3)


@dataclass(frozen=True)
class _Constant:
    """A head that has no formula to choose: what it is instead, why, and what to do about it."""

    formula: DNF
    reason: str
    remedy: str
    idle: bool = False
    retry: bool = False
    """Whether a short cube may still say more than the constant."""


def _constant(reading: Reading, head: int, table: TruthTable) -> _Constant | None:
    """What a head is whose answer never changes, is made by others, or cannot be told from its concepts."""
    name, yes, n_rows = reading.class_names[head], reading.seen.yes[:, head], reading.table.n_counted
    varies = yes.any() and not yes.all()
    if varies and reading.answer == "argmax" and _is_idle(reading, head):
        others = "the other head decides" if reading.n_heads == 2 else "the other heads decide"
        return _Constant(
            DNF.false,
            f"this head is idle: {others}; its own output hardly varies and no answer depends on it.",
            "Read the other formula, or train again with a higher temperature or another seed.",
            idle=True,
        )
    if not varies:
        reason = f"the network {'always' if yes.all() else 'never'} predicts {name!r} on these {n_rows:,} rows."
        remedy = (
            "Explain other rows, or train with more rows, epochs, or weight (class_weight) for the class."
            if not yes.any()
            else "Explain rows of other classes too."
        )
        return _Constant(DNF.true if yes.all() else DNF.false, reason, remedy)
    if len(table.on) == 0 or len(table.off) == 0:
        concepts = ", ".join(repr(concept) for concept in table.names[:5]) or "none"
        most = "yes" if len(table.on) else "no"
        if table.outcome.any() and not table.outcome.all():
            return _Constant(
                DNF.true if len(table.on) else DNF.false,
                f"every row answered {'no' if len(table.on) else 'yes'} breaks a group and is left out.",
                "Check the groups: at most one of an exclusive group is true; in a chain each implies the one before.",
            )
        return _Constant(
            DNF.true if len(table.on) else DNF.false,
            f"the concepts this class depends on ({concepts}) do not tell its rows apart: most answers are {most}.",
            "A higher temperature, such as 2, keeps more concepts; contradictions and suggest_splits() show more.",
            retry=True,
        )
    return None
