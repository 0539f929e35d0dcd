"""The rule sheet on a terminal: the same result that the page shows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from logiclens.experiments.crossvalidate import Metric
from logiclens.render.text import bar

LEGEND = """
How to read this: a rule fires on a row when all of its conditions hold. "right" is the share of the rows it fires on
that have the class, "finds" the share of the rows of the class that it fires on, each with an interval of 95% (Wilson).
In the formula ∧ is and, ∨ is or (⊕ where no two can hold at once), ¬ is not; ↔ means that formula and network agree on
every row they were made from, ≈ that they agree on the share given. Fidelity is how often they agree; F1 how well the
formula alone finds the class. Relevance is 1 for what the network leans on most. Another seed may find another formula
that is about as good: --stability 20 shows which parts recur."""
EXACT_LEGEND = """
Exact: the rules are the model. ↔ means equal on every row that the concepts of a class can have. Where several rules
fire, the one with the highest confidence decides; where none does, the class that such rows had most often."""


def print_sheet(console: Console, result: Mapping[str, Any]) -> None:
    """Everything a reader needs to judge the rules."""
    data, parts = result["data"], result["parts"]
    console.print(f"{data['name']}: {data['rows']:,} rows, {data['columns']:,} columns; target {data['target']!r}")
    console.print(
        f"{parts['train']:,} rows train, {parts['validation']:,} choose the epoch, {parts['set_aside']:,} are set "
        "aside: the numbers below are measured on these."
    )
    for note in result["notes"]:
        console.print(f"note: {note}")
    console.print()
    for metric in result["metrics"]:
        interval = "" if metric["low"] is None else f" ({metric['low']:.1f}-{metric['high']:.1f})"
        console.print(f"  {metric['name']:<38}{metric['value']:>6.1f}{interval} {metric['unit']}")
    counted = {entry["name"]: entry for entry in result["statistics"]["classes"]}
    for told in result["classes"]:
        _print_class(console, told, counted[told["name"]], result)
    for group in result["statistics"]["subgroups"]:
        _print_subgroup(console, group, result["statistics"]["by"])
    if result["stability"] is not None:
        _print_stability(console, result["stability"])
    console.print(f"\n{_firing(result['firing'])}")
    console.print(EXACT_LEGEND + LEGEND if result["exact"] else LEGEND)


def print_metrics(console: Console, metrics: Sequence[Metric], n_folds: int) -> None:
    """Mean and standard error over folds."""
    console.print(f"Over {n_folds} folds, on rows that neither trained the network nor chose a cut or a rule:\n")
    for metric in metrics:
        error = "" if math.isnan(metric.standard_error) else f" ± {metric.standard_error:.2f}"
        console.print(f"  {metric.name:<31}{f'{metric.mean:.2f}':>7}{error} {metric.unit}")
    console.print()


def _print_class(
    console: Console, told: Mapping[str, Any], counted: Mapping[str, Any], result: Mapping[str, Any]
) -> None:
    console.print(f"\n{told['name']}", style="bold")
    console.print(f"  {told['english']}")
    if told["reason"] is not None:
        console.print(f"  {told['reason']} {told['remedy']}")
    words = {concept["name"]: concept for concept in result["concepts"]}
    for cube in counted["cubes"]:
        text = " and ".join(
            words[literal["concept"]]["words" if literal["positive"] else "words_not"] for literal in cube["literals"]
        )
        console.print(f"  • {text or 'always'}")
        console.print(f"      {_numbers(cube)}")
    if len(counted["cubes"]) > 1:
        console.print(f"  • together: {_numbers(counted['whole'])}")
    console.print(f"  {told['formula']}")
    simplest = told["simplest"]
    alone = f"the best single condition, {simplest['text']}, has F1 {100 * simplest['f1']:.1f}%"
    console.print(f"  F1 {100 * told['f1']:.1f}%; {alone}")
    if told["certified"] is not None:
        certified = told["certified"]
        console.print(
            f"  the formula is the network on {certified['domain']}: smallest |logit| {certified['smallest_logit']:.2g}"
            f", rounding at most {certified['rounding_bound']:.1g}"
            + ("; the rule was distilled into the network" if certified["refit"] else "")
        )
    _print_relevance(console, told["relevance"])


def _print_relevance(console: Console, relevance: Sequence[Mapping[str, Any]], most: int = 8) -> None:
    """What the network leans on, with what the formula uses wherever it stands."""
    shown = [entry for place, entry in enumerate(relevance) if place < most or entry["used"]]
    if not shown:
        return
    console.print("  what the network leans on")
    width = max(len(entry["concept"]) for entry in shown)
    for entry in shown:
        used = "" if entry["used"] else "   (not in the formula)"
        console.print(f"    {entry['concept']:<{width}}  {bar(entry['relevance'])} {entry['relevance']:.2f}{used}")
    if len(relevance) > len(shown):
        console.print(f"    and {len(relevance) - len(shown)} more")


def _numbers(cube: Mapping[str, Any]) -> str:
    """What a rule is worth, in one line."""
    fires = cube["support"]
    lift = "" if cube["lift"] is None else f"; {cube['lift']:.1f} times the average"
    return (
        f"fires on {fires['hits']:,.6g} of {fires['total']:,.6g} rows; right {_share(cube['confidence'])}{lift}; "
        f"finds {_share(cube['coverage'])}"
    )


def _share(share: Mapping[str, Any]) -> str:
    if share["value"] is None:
        return "unknown"
    return f"{100 * share['value']:.0f}% ({100 * share['low']:.0f}-{100 * share['high']:.0f})"


def _print_subgroup(console: Console, group: Mapping[str, Any], by: str) -> None:
    console.print(f"\nwhere {by} is {group['name']}")
    for counted in group["classes"]:
        console.print(f"  {counted['name']}: {_numbers(counted['whole'])}")


def _print_stability(console: Console, stability: Mapping[str, Any]) -> None:
    console.print(f"\nchosen in how many of {stability['resamples']} resamples")
    for name in dict.fromkeys(entry["class"] for entry in (*stability["concepts"], *stability["cubes"])):
        console.print(f"  {name}")
        for entry in [entry for entry in stability["concepts"] if entry["class"] == name][:8]:
            console.print(f"    {entry['frequency']:>4.0%}  {entry['concept']}")
        for entry in [
            e for e in stability["cubes"] if e["class"] == name and (e["in_formula"] or e["frequency"] >= 0.3)
        ]:
            console.print(
                f"    {entry['frequency']:>4.0%}  the rule {entry['text']}" + " (above)" * entry["in_formula"]
            )


def _firing(firing: Mapping[str, int]) -> str:
    total = max(sum(firing.values()), 1)
    parts = ", ".join(f"{100 * firing[name] / total:.1f}% {name}" for name in ("one", "none", "several"))
    return f"Of the rows set aside, how many formulas fire: {parts}."
