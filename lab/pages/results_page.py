"""The page docs/results.md, from the runs of the paper's comparison.

Only the sentences on why a figure does not reproduce are written by hand; each belongs to one figure.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from lab.pages.markdown import table
from lab.pages.names import METRICS, WORDS, method_title, task_title
from lab.pages.report import FAR, SWEPT, chosen_setting, figure_text
from lab.pages.summary import Bench, comparisons, front, points
from logiclens.formula.text import parse
from logiclens.metrics.scores import Metric, metric_named

SHOWN = ("minimal", "exact", "labels", "joint", "torch_explain", "authors", "tree", "brl", "psi", "ripper",
         "column-generation", "figs", "rule-list", "rrl", "stump", "tree-3", "tree-4", "best-3", "forest", "logistic",
         "mlp", "ebm", "direct")  # fmt: skip
OURS = ("minimal", "exact", "labels")
TASKS = ("mimic2", "mimic2-early", "vdem", "vdem-given", "vdem-countries", "mnist", "cub")
SMALL = ("breast-cancer", "wine", "iris", "digits-parity", "xor", "parity", "random-dnf")
REASONS = {tuple(figure): each["reason"] for each in WORDS["reasons"] for figure in each["figures"]}
"""The reason of each metric, task and method."""


def page(bench: Bench) -> str:
    parts = [
        "# Results",
        _begun(bench),
        *(_task(bench, task) for task in TASKS if bench.methods("clean", [task])),
        _small(bench),
        _leak(bench),
        _reproduction(bench),
        _sweep(bench),
        _toy(bench),
        "## What differs from the original\n\n" + "\n".join(f"- {line}" for line in WORDS["differs"]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _begun(bench: Bench) -> str:
    header = bench.about
    machine, versions = header.get("machine", {}), header.get("versions", {})
    n_runs = sum(len(bench.good(entry)) for entry in bench.entries)
    seed, begun = header.get("seed"), str(header.get("started"))[:10]
    return (
        "`python -m lab pages` writes this page from [lab/results](../lab/results). All tables "
        "and figures of the paper are in [the report](../lab/results/report/report.md). [bench.md](bench.md) "
        "describes the methods, the protocols and the metrics.\n\n"
        f"The results hold {n_runs:,} successful runs. They were started on {begun} on {machine.get('cores')} cores "
        f"({machine.get('processor')}) with Python {versions.get('python')} and torch {versions.get('torch')}. The "
        f"random seed of folds and splits is {seed}; that of the networks of fold k is {seed} + k. "
        f"{WORDS['trained_on']} Other work shared the two cores, so compare ratios of times, not times.\n\n"
        'Figures are mean ± standard error over five folds unless the number of folds is given. "Level" means a '
        "difference within two combined standard errors. A method dominates another if its mean is at least as good in "
        "every metric and better in one."
    )


def _task(bench: Bench, task: str) -> str:
    methods = [method for method in SHOWN if bench.good((task, "clean", method))]
    lines = [f"## {task_title(task)}, clean", "", _table(bench, task, methods), ""]
    lines += [f"- {sentence}" for sentence in _verdicts(bench, task, methods)]
    return "\n".join(lines)


def _table(bench: Bench, task: str, methods: Sequence[str]) -> str:
    rows = [["", "model acc. %", "explanation %", "literals", "fidelity %", "consistency %", "seconds"]]
    for method in methods:
        entry, few = (task, "clean", method), len(bench.good((task, "clean", method)))
        name = method_title(method) + (f" ({few} of {bench.planned} folds)" if few < bench.planned else "")
        rows.append([name, *(figure_text(bench.estimate(entry, metric), metric) for metric in METRICS)])
    return table(rows)


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
        apart, bent = (bench.estimate((task, "clean", one), "concept_accuracy") for one in ("minimal", "joint"))
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
        mine, theirs = (bench.estimate((task, "clean", one), metric) for one in (ours, other))
        if mine is None or theirs is None:
            continue
        apart = mine.apart(theirs)
        if apart is None:
            # Such a figure may move by any amount with other folds.
            word = "no standard error for"
        else:
            ahead = (apart < 0) == metric.lower_is_better
            word = "level in" if abs(apart) <= FAR else "ahead in" if ahead else "behind in"
        figures = f"{_short(mine.mean, metric)} against {_short(theirs.mean, metric)}"
        groups[word].append(f"{metric.title.lower()} ({figures})")
    return "; ".join(f"{word} {', '.join(listed)}" for word, listed in groups.items() if listed) + "."


def _short(value: float, metric: Metric) -> str:
    return f"{value:.2g}" if metric.unit == "s" else f"{value:.1f}"


def _dominates(bench: Bench, task: str, other: str, ours: str) -> bool:
    better = False
    for metric in METRICS:
        mine, theirs = (bench.estimate((task, "clean", one), metric) for one in (ours, other))
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
            if runs := bench.good(("mnist", protocol, method)):
                right = sum(_is_parity(run["formulas"]) for run in runs)
                yield (
                    f"{method_title(method)}, protocol {protocol}: the formulas mean odd and even in {right} of "
                    f"{len(runs)} folds."
                )
    last = [bench.estimate(("mnist", "clean", "minimal"), f"final_{name}") for name in SWEPT[:2]]
    if last[0] and last[1]:
        yield (
            f"On the official 10,000 test images, which no fold uses: model accuracy {last[0].mean:.2f}%, explanation "
            f"accuracy {last[1].mean:.2f}%."
        )


def _is_parity(texts: dict[str, str]) -> bool:
    digits = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    rows = [[row == column for column in range(10)] for row in range(10)]
    said = {name: parse(text).evaluate(rows, digits).tolist() for name, text in texts.items()}
    odd = [bool(digit % 2) for digit in range(10)]
    return said == {"odd": odd, "even": [not one for one in odd]}


def _small(bench: Bench) -> str:
    tasks = [task for task in SMALL if bench.good((task, "clean", "minimal"))]
    if not tasks:
        return ""
    shown = ("minimal", "exact", "stump", "tree-4", "best-3", "tree", "ripper", "forest")
    intro = "Explanation accuracy in %, with literals per class in brackets. For the forest: model accuracy in %."
    rows = [["", *map(method_title, shown)]]
    rows += [[task_title(task), *(_brief(bench, task, method) for method in shown)] for task in tasks]
    return f"## Small tables and synthetic tasks, clean\n\n{intro}\n\n{table(rows)}"


def _brief(bench: Bench, task: str, method: str) -> str:
    accuracy, truth, literals = (bench.estimate((task, "clean", method), name) for name in SWEPT)
    if truth and literals:
        return f"{truth.mean:.1f} ({literals.mean:.1f})"
    return f"{accuracy.mean:.1f}" if accuracy else "–"


def _leak(bench: Bench) -> str:
    rows = [["", "accuracy, paper", "accuracy, clean", "concepts right, paper", "concepts right, clean"]]
    for task in ("vdem", "mnist", "cub"):
        metrics = [metric_named(name) for name in ("model_accuracy", "concept_accuracy")]
        pairs = [(metric, (task, protocol, "minimal")) for metric in metrics for protocol in ("paper", "clean")]
        rows.append(
            [task_title(task), *(figure_text(bench.estimate(entry, metric), metric) for metric, entry in pairs)]
        )
    return (
        f"## How much leaking encoders flatter the figures\n\n{table(rows)}\n\nThe method is `Entropy net, logiclens`. "
        "Under 'paper' CUB's encoder has seen most test images; under 'clean' it has seen none. In both cases it is a "
        "ResNet10 trained from scratch on 128 × 128 pixels."
    )


def _reproduction(bench: Bench) -> str:
    judged, rows = 0, [["figure", "ours", "paper", "in combined errors", "why"]]
    for metric in (metric for metric in METRICS if metric.key != "seconds"):
        for task, method, ours, theirs in comparisons(bench, metric):
            apart = ours.apart(theirs)
            judged += apart is not None
            if apart is not None and abs(apart) > FAR:
                name = f"{metric.title}, {task_title(task)}, {method_title(method)}"
                reason = REASONS.get((metric.key, task, method), "not explained")
                figures = [figure_text(one, metric) for one in (ours, theirs)]
                rows.append([name, *figures, "–" if math.isinf(apart) else f"{apart:+.1f}", reason])
    if not judged:
        return ""
    return (
        f"## Does it reproduce?\n\nUnder 'paper', {judged - len(rows) + 1} of {judged} figures with a standard error "
        "lie within two combined standard errors of the paper's. Times are left out because the machines differ. The "
        f"others:\n\n{table(rows)}"
    )


def _sweep(bench: Bench) -> str:
    lines = []
    for protocol in ("paper", "clean"):
        if best := chosen_setting(bench, "sweep:vdem", protocol):
            figures = [
                f"{metric_named(name).title.lower()} "
                f"{figure_text(bench.estimate(('sweep:vdem', protocol, best), name), metric_named(name))}"
                for name in SWEPT
            ]
            settings = bench.methods(protocol, ["sweep:vdem"])
            estimates = (bench.estimate(("sweep:vdem", protocol, one), "explanation_accuracy") for one in settings)
            means = [estimate.mean for estimate in estimates if estimate]
            lines.append(
                f"- Protocol {protocol}: {best} is best on validation rows. On test rows it has {', '.join(figures)}. "
                f"Over the grid, explanation accuracy ranges from {min(means):.1f} to {max(means):.1f}%."
            )
    return "\n".join(["## The grid of temperature and penalty on V-Dem", "", *lines]) if lines else ""


def _toy(bench: Bench) -> str:
    runs = bench.good(("toy", "paper", "C"))
    lines = [
        f"- `{way}` recovers all four formulas in {sum(run['recovered'][way] == 4 for run in runs)} of {len(runs)} "
        "seeds."
        for way in (runs[0]["recovered"] if runs else ())
    ]
    return "\n".join(["## The toy comparison", "", *lines]) if lines else ""


def exact_cost(bench: Bench) -> str:
    names = ("model_accuracy", "fidelity", "complexity")
    heads = {"model_accuracy": "accuracy %", "fidelity": "fidelity %", "complexity": "literals"}
    rows = [["", *(f"{heads[name]}, {mode}" for name in names for mode in ("soft", "exact"))]]
    for task in ("vdem-given", "mimic2", "breast-cancer"):
        pairs = [(name, (task, "clean", method)) for name in names for method in ("minimal", "exact")]
        estimates = [bench.estimate(entry, name) for name, entry in pairs]
        rows.append([task_title(task), *("–" if one is None else one.text() for one in estimates)])
    return table(rows)
