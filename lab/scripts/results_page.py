"""Write docs/results.md from lab/results.

    .venv/bin/python lab/results_page.py

Only the sentences on why a figure does not reproduce are written by hand (`reasons.py`); each belongs to one figure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from lab.pages.names import METRICS, method_title, task_title
from lab.pages.sections import comparisons, estimate_text, published_text
from lab.pages.summary import Bench, Entry, front, points, read_bench
from lab.scripts.reasons import DIFFERS, REASONS
from logiclens.formula.text import parse
from logiclens.metrics.scores import Metric, metric_named

ROOT = Path(__file__).parents[2]
RESULTS, PAGE = ROOT / "lab" / "results", ROOT / "docs" / "results.md"
SIX = {metric.key: metric for metric in METRICS}
FINAL = metric_named("final_model_accuracy"), metric_named("final_explanation_accuracy")
CONCEPTS = metric_named("concept_accuracy")
SHOWN = ("minimal", "exact", "labels", "joint", "torch_explain", "authors", "tree", "brl", "psi", "ripper",
         "column-generation", "figs", "rule-list", "rrl", "stump", "tree-3", "tree-4", "best-3", "forest", "logistic",
         "mlp", "ebm", "direct")  # fmt: skip
OURS = ("minimal", "exact", "labels")
TASKS = ("mimic2", "mimic2-early", "vdem", "vdem-given", "vdem-countries", "mnist", "cub")
SMALL = ("breast-cancer", "wine", "iris", "digits-parity", "xor", "parity", "random-dnf")
TRAINED_ON = (
    "Image encoders were trained on an NVIDIA H200, and so were CUB's networks where the table names that device. On "
    "images, some methods used the concepts of an earlier training of the same encoders: torch_explain, BRL and column "
    "generation, and on CUB also psi networks and the paper's extraction. torch_explain, BRL and column generation "
    "were timed in a separate run."
)


def page(bench: Bench) -> str:
    """Return the whole page."""
    parts = [
        "# Results",
        _begun(bench),
        *(_task(bench, task) for task in TASKS if bench.methods("clean", [task])),
        _small(bench),
        _leak(bench),
        _reproduction(bench),
        _sweep(bench),
        _toy(bench),
        "## What differs from the original\n\n" + "\n".join(f"- {line}" for line in DIFFERS),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _begun(bench: Bench) -> str:
    header = bench.header
    machine, versions = header.get("machine", {}), header.get("versions", {})
    n_runs = sum(len(bench.good(entry)) for entry in bench.entries)
    seed, begun = header.get("seed"), str(header.get("started"))[:10]
    return (
        "`lab/results_page.py` writes this page from [lab/results](../lab/results). All tables "
        "and figures of the paper are in [the report](../lab/results/report/report.md). [bench.md](bench.md) "
        "describes the methods, the protocols and the metrics.\n\n"
        f"The results hold {n_runs:,} successful runs. They were started on {begun} on {machine.get('cores')} cores "
        f"({machine.get('processor')}) with Python {versions.get('python')} and torch {versions.get('torch')}. The "
        f"random seed of folds and splits is {seed}; that of the networks of fold k is {seed} + k. {TRAINED_ON} Other "
        "work shared the two cores, so compare ratios of times, not times.\n\n"
        'Figures are mean ± standard error over five folds unless the number of folds is given. "Level" means a '
        "difference within two combined standard errors. A method dominates another if its mean is at least as good in "
        "every metric and better in one."
    )


def _task(bench: Bench, task: str) -> str:
    """Return the six metrics of the main methods on a task, with the conclusions."""
    methods = [method for method in SHOWN if bench.good(Entry(task, "clean", method))]
    lines = [f"## {task_title(task)}, clean", "", _table(bench, task, methods), ""]
    lines += [f"- {sentence}" for sentence in _verdicts(bench, task, methods)]
    return "\n".join(lines)


def _table(bench: Bench, task: str, methods: Sequence[str]) -> str:
    heads = ["model acc. %", "explanation %", "literals", "fidelity %", "consistency %", "seconds"]
    lines = ["| | " + " | ".join(heads) + " |", "| --- " * (len(heads) + 1) + "|"]
    for method in methods:
        entry = Entry(task, "clean", method)
        cells = [estimate_text(bench.estimate(entry, metric), metric) for metric in METRICS]
        few = len(bench.good(entry))
        planned = bench.planned(entry)
        name = method_title(method) + (f" ({few} of {planned} folds)" if few < planned else "")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _verdicts(bench: Bench, task: str, methods: Sequence[str]) -> Iterator[str]:
    for ours in (one for one in OURS if one in methods):
        if "torch_explain" in methods:
            yield f"**{method_title(ours)} against torch_explain 1.5.1**: {_beside(bench, task, ours, 'torch_explain')}"
        better = [other for other in methods if other not in OURS and _dominates(bench, task, other, ours)]
        by = "; ".join(method_title(other) for other in better)
        yield f"{method_title(ours)}: " + (f"it is dominated by {by}." if by else "no method dominates it.")
    shown = [point for point in points(bench, task, "clean") if point.method != "joint"]
    kept = "; ".join(method_title(point.method) for point in front(shown))
    yield f"By literals and explanation accuracy alone (without jointly trained concepts), not dominated: {kept}."
    if "joint" in methods:
        apart, bent = (bench.estimate(Entry(task, "clean", one), CONCEPTS) for one in ("minimal", "joint"))
        if apart and bent:
            yield (
                f"Joint training leaves {bent.mean:.1f}% of the concepts right, sequential training {apart.mean:.1f}%: "
                "the rules gain what the concepts lose by drifting away from their names."
            )
    if task == "mnist":
        yield from _mnist(bench)


def _beside(bench: Bench, task: str, ours: str, other: str) -> str:
    groups: dict[str, list[str]] = {"ahead in": [], "level in": [], "behind in": [], "no standard error for": []}
    for metric in METRICS:
        mine, theirs = (bench.estimate(Entry(task, "clean", one), metric) for one in (ours, other))
        if mine is None or theirs is None:
            continue
        told = f"{metric.title.lower()} ({_short(mine.mean, metric)} against {_short(theirs.mean, metric)})"
        if mine.standard_error is None or theirs.standard_error is None:
            # Such a figure may move by any amount with other folds.
            groups["no standard error for"].append(told)
            continue
        gain = (theirs.mean - mine.mean) if metric.lower_is_better else (mine.mean - theirs.mean)
        spread = math.hypot(mine.standard_error, theirs.standard_error)
        word = "level in" if gain == 0 or abs(gain) <= 2 * spread else "ahead in" if gain > 0 else "behind in"
        groups[word].append(told)
    return "; ".join(f"{word} {', '.join(found)}" for word, found in groups.items() if found) + "."


def _short(value: float, metric: Metric) -> str:
    return f"{value:.2g}" if metric.unit == "s" else f"{value:.1f}"


def _dominates(bench: Bench, task: str, other: str, ours: str) -> bool:
    """Return whether a method is as good in every metric that ours has, and better in one."""
    better = False
    for metric in METRICS:
        mine, theirs = (bench.estimate(Entry(task, "clean", one), metric) for one in (ours, other))
        if mine is None:
            continue
        if theirs is None:
            return False
        gain = (mine.mean - theirs.mean) if metric.lower_is_better else (theirs.mean - mine.mean)
        if gain < 0:
            return False
        better |= gain > 0
    return better


def _mnist(bench: Bench) -> Iterator[str]:
    for protocol in ("clean", "paper"):
        for method in ("minimal", "exact", "authors"):
            entry = Entry("mnist", protocol, method)
            runs = bench.good(entry)
            if runs:
                found = sum(_is_parity(bench.formula_texts(run)) for run in runs)
                told = f"the formulas mean odd and even in {found} of {len(runs)} folds"
                yield f"{method_title(method)}, protocol {protocol}: {told}."
    entry = Entry("mnist", "clean", "minimal")
    last = [bench.estimate(entry, metric) for metric in FINAL]
    if all(last):
        yield (
            f"On the official 10,000 test images, which no fold uses: model accuracy {last[0].mean:.2f}%, explanation "
            f"accuracy {last[1].mean:.2f}%."
        )


def _is_parity(texts: dict[str, str]) -> bool:
    """Return whether both formulas are right on each of the ten digits, the only rows that occur."""
    digits = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    rows = [[row == column for column in range(10)] for row in range(10)]
    said = {name: parse(text).evaluate(rows, digits).tolist() for name, text in texts.items()}
    odd = [bool(digit % 2) for digit in range(10)]
    return said == {"odd": odd, "even": [not one for one in odd]}


def _small(bench: Bench) -> str:
    tasks = [task for task in SMALL if bench.good(Entry(task, "clean", "minimal"))]
    if not tasks:
        return ""
    shown = ("minimal", "exact", "stump", "tree-4", "best-3", "tree", "ripper", "forest")
    told = "Explanation accuracy in %, with literals per class in brackets. For the forest: model accuracy in %."
    lines = ["## Small tables and synthetic tasks, clean", "", told, ""]
    lines += ["| | " + " | ".join(method_title(method) for method in shown) + " |", "| --- " * (len(shown) + 1) + "|"]
    for task in tasks:
        cells = [_brief(bench, Entry(task, "clean", method)) for method in shown]
        lines.append(f"| {task_title(task)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _brief(bench: Bench, entry: Entry) -> str:
    truth, literals = (bench.estimate(entry, SIX[name]) for name in ("explanation_accuracy", "complexity"))
    accuracy = bench.estimate(entry, SIX["model_accuracy"])
    if truth and literals:
        return f"{truth.mean:.1f} ({literals.mean:.1f})"
    return f"{accuracy.mean:.1f}" if accuracy else "–"


def _leak(bench: Bench) -> str:
    heads = "| | accuracy, paper | accuracy, clean | concepts right, paper | concepts right, clean |"
    lines = ["## How much leaking encoders flatter the figures", "", heads, "| --- | --- | --- | --- | --- |"]
    for task in ("vdem", "mnist", "cub"):
        cells = []
        for metric in (SIX["model_accuracy"], CONCEPTS):
            for protocol in ("paper", "clean"):
                cells.append(estimate_text(bench.estimate(Entry(task, protocol, "minimal"), metric), metric))
        lines.append(f"| {task_title(task)} | " + " | ".join(cells) + " |")
    lines += [
        "",
        "The method is `Entropy net, logiclens`. Under 'paper' CUB's encoder has seen most test images; under 'clean' "
        "it has seen none. In both cases it is a ResNet10 trained from scratch on 128 × 128 pixels.",
    ]
    return "\n".join(lines)


def _reproduction(bench: Bench) -> str:
    every = [(metric, one) for metric in METRICS for one in comparisons(bench, metric) if metric.key != "seconds"]
    judged = [(metric, one) for metric, one in every if one.in_errors is not None]
    far = [(metric, one) for metric, one in judged if one.is_far]
    if not judged:
        return ""
    lines = [
        "## Does it reproduce?", "",
        f"Under 'paper', {len(judged) - len(far)} of {len(judged)} figures with a standard error lie within two "
        "combined standard errors of the paper's. Times are left out because the machines differ. The others:", "",
        "| figure | ours | paper | in combined errors | why |", "| --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    for metric, one in far:
        key = (metric.key, one.task, one.method)
        name = f"{metric.title}, {task_title(one.task)}, {method_title(one.method)}"
        apart = "–" if one.in_errors is None or math.isinf(one.in_errors) else f"{one.in_errors:+.1f}"
        figures = [estimate_text(one.ours, metric), published_text(one.theirs, metric), apart]
        lines.append("| " + " | ".join([name, *figures, REASONS.get(key, "not explained")]) + " |")
    return "\n".join(lines)


def _sweep(bench: Bench) -> str:
    lines = []
    for protocol in ("paper", "clean"):
        settings = bench.methods(protocol, ["sweep:vdem"])
        every = [(_chosen_by(bench, protocol, setting), setting) for setting in settings]
        scored = [(score, setting) for score, setting in every if score is not None]
        if scored:
            best = max(scored)[1]
            entry = Entry("sweep:vdem", protocol, best)
            told = [f"{SIX[name].title.lower()} {estimate_text(bench.estimate(entry, SIX[name]), SIX[name])}"
                    for name in ("model_accuracy", "explanation_accuracy", "complexity")]  # fmt: skip
            spread = _spread(bench, protocol, settings)
            where = f"- Protocol {protocol}: {best} is best on validation rows. On test rows it has {', '.join(told)}."
            lines.append(f"{where} {spread}")
    return "\n".join(["## The grid of temperature and penalty on V-Dem", "", *lines]) if lines else ""


def _chosen_by(bench: Bench, protocol: str, setting: str) -> float | None:
    entry = Entry("sweep:vdem", protocol, setting)
    both = [bench.values(entry, name) for name in ("validation_accuracy", "validation_explanation_accuracy")]
    return sum(math.fsum(values) / len(values) for values in both) if all(both) else None


def _spread(bench: Bench, protocol: str, settings: Iterable[str]) -> str:
    found = [bench.estimate(Entry("sweep:vdem", protocol, one), SIX["explanation_accuracy"]) for one in settings]
    means = [one.mean for one in found if one]
    return f"Over the grid, explanation accuracy ranges from {min(means):.1f} to {max(means):.1f}%."


def _toy(bench: Bench) -> str:
    entry = Entry("toy", "paper", "C")
    lines = []
    for method in ("minimal", "paper"):
        counts = bench.values(entry, f"recovered:{method}")
        if counts:
            whole = sum(count == 4 for count in counts)
            lines.append(f"- `{method}` recovers all four formulas in {whole} of {len(counts)} seeds.")
    return "\n".join(["## The toy comparison", "", *lines]) if lines else ""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(read_bench(RESULTS)), encoding="utf-8")


if __name__ == "__main__":
    main()
