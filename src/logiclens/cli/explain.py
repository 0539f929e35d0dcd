"""Printing of `logiclens explain`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console

from logiclens.estimators.classifier import EntropyClassifier
from logiclens.estimators.store import checked_target
from logiclens.experiments.bundled import breast_cancer
from logiclens.experiments.crossvalidate import (
    ClassReport,
    CrossValidation,
    FoldResult,
    class_reports,
    cross_validate,
    summarise,
)
from logiclens.explain.certificate import HeadCertificate
from logiclens.explain.classwise import Method
from logiclens.formula.text import format_formula
from logiclens.render.text import bar
from logiclens.train.progress import Progress

LEGEND = """
How to read this: ∧ is and, ∨ is or (⊕ where no two can hold at once), ¬ is not; an and-group is a cube, its parts
are literals, and complexity counts them. ↔ means that formula and network agree on every row they were made from, ≈
that they agree on the share given. Fidelity is how often they agree; F1 is how well the formula alone finds the class
(macro-F1). Consistency: how often a column that one fold's formula uses is used in another's; 100% is always.
Relevance is 1 for the concept a head leans on most; a concept can matter to the network and still not be worth its
place in a short formula. A contradiction is a combination of concepts that the network answers both ways. Other
machines and seeds may find another formula that is about as good."""
EXACT_LEGEND = """
Exact: ↔ here means equal on every row that the concepts of a class can have. Where a rule was distilled, a head was
trained to equal a short formula. A row has the class of the fired cube with the highest confidence (Wilson's lower
bound of how often it was right), which is the per cent behind a row; where no formula fires, the class that such rows
had most often. Model accuracy counts these decisions; explanation accuracy is the mean F1 of the formulas alone."""


def explain_bundled(
    console: Console,
    *,
    n_folds: int,
    seed: int,
    method: Method,
    exact: bool,
    max_literals: int | None,
    save: Path | None,
) -> None:
    """Cross-validate on the bundled example, then show the first fit class by class."""
    if save is not None:
        checked_target(save)
    raw = breast_cancer()
    estimator = EntropyClassifier(exact=exact, max_literals=max_literals, method=method, random_state=seed)
    console.print(f"{raw.title}: {len(raw.frame)} rows, {raw.frame.shape[1]} columns")
    results: list[FoldResult] = []
    with Progress(n_folds, "folds") as progress:
        for result in cross_validate(raw.frame, raw.labels, estimator=estimator, n_folds=n_folds):
            results.append(result)
            progress.update(len(results))
    _print_metrics(console, summarise(results))
    _print_fit(console, results[0], n_folds)
    if save is not None:
        folder = results[0].model.save(save)
        check = f" Check it with: logiclens verify {folder}" if exact else ""
        console.print(f"\nThe model of fold 1 is in {folder}.{check}")


def _print_metrics(console: Console, validated: CrossValidation) -> None:
    console.print(
        f"\nOver {len(validated.folds)} folds, on rows that neither trained the network nor chose a cut or a rule:\n"
    )
    for metric in validated.metrics():
        error = "" if np.isnan(metric.standard_error) else f" ± {metric.standard_error:.2f}"
        console.print(f"  {metric.name:<31}{f'{metric.mean:.2f}':>7}{error} {metric.unit}")


def _print_fit(console: Console, fold: FoldResult, n_folds: int) -> None:
    model = fold.model
    n_rows, n_trained = model.table_.n_counted, model.train_result_.n_rows
    console.print(
        f"\nThe network of fold 1 of {n_folds} in its own words: {len(model.concept_names_)} concepts, {n_trained} rows"
        f" to train on, {n_rows - n_trained} to choose the epoch, {len(fold.test)} unseen. "
        f"Formulas explain the first {n_rows}."
    )
    for note in fold.explanation.notes:
        console.print(f"note: {note}")
    for report in class_reports(fold):
        _print_class(console, report)
    console.print(f"\nOn unseen rows: {fold.explanation.firing(fold.test)}.")
    console.print(LEGEND)
    if fold.explanation.certificate is not None:
        console.print(EXACT_LEGEND)


def _print_class(console: Console, report: ClassReport) -> None:
    explained = report.explained
    formula, contradictions = explained.formula, len(explained.contradictions)
    console.print(f"\n{explained.name}", style="bold")
    console.print(f"  {explained}")
    console.print(
        f"  on unseen rows F1 {100 * report.f1:.1f}%, fidelity {100 * report.fidelity:.1f}%; "
        f"{_counted(formula.n_literals, 'literal')} in {_counted(len(formula), 'cube')}"
        + (", proved minimal" if explained.proved_minimal else "")
        + (f"; {_counted(contradictions, 'contradiction')}" if contradictions else "")
    )
    if explained.certificate is not None:
        _print_certificate(console, explained.certificate)
    simplest = format_formula(report.simplest, "unicode")
    console.print(
        f"  for comparison, the best single literal: {simplest}, F1 {100 * report.simplest_f1:.1f}% on unseen rows"
    )
    console.print("  relevant concepts")
    width = max((len(name) for name in explained.relevance), default=0)
    for name, relevance in explained.relevance.items():
        used = "" if name in formula.concepts else "   (not in the formula)"
        console.print(f"    {name:<{width}}  {bar(relevance)} {relevance:.2f}{used}")
    if taken_in := [name for name in explained.taken_in if name in formula.concepts]:
        console.print(f"  and of the other class's: {', '.join(taken_in)}")
    if report.rows:
        console.print("  why these rows")
    for row, local in report.rows:
        console.print(f"    row {row}: {local}")


def _print_certificate(console: Console, certificate: HeadCertificate) -> None:
    console.print(
        f"  the formula is the network on {certificate.domain}: smallest |logit| {certificate.smallest_logit:.2g}, "
        f"rounding at most {certificate.rounding_bound:.1g}"
    )
    if certificate.refit is not None:
        refit = certificate.refit
        console.print(
            f"  the rule was distilled into the network: accuracy {100 * refit.accuracy_before:.1f}% before, "
            f"{100 * refit.accuracy_after:.1f}% after, on the rows it was made from"
        )


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" + "s" * (number != 1)
