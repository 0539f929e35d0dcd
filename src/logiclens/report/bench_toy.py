"""The toy comparison of entropy and L1: the heat maps of one seed, and how many formulas are recovered over seeds."""

from __future__ import annotations

import numpy as np

from logiclens.experiments.results import FORMULA
from logiclens.report.bench_blocks import Block, Cell, Picture, Row, Section, Shown, Table
from logiclens.report.bench_figures import heat_map_picture
from logiclens.report.bench_names import TOY, method_title
from logiclens.report.bench_summary import Bench, Entry, FoldRun
from logiclens.report.bench_tables import NOTHING

MODELS = {
    "A": ("weight:", "A: plain layer, L1", "Weights of the first layer of A, a plain layer trained with L1."),
    "B": ("relevance:", "B: entropy layer, L1", "Relevance in B, the entropy layer trained with L1."),
    "C": (
        "relevance:",
        "C: entropy layer and loss",
        "Relevance in C, the entropy layer with the entropy loss.",
    ),
}
RECOVERED = "recovered:"
N_FORMULAS = 4


def toy(bench: Bench) -> Section:
    """What there is of the toy comparison, under every protocol."""
    protocols = [protocol for protocol in bench.protocols if any(bench.good(Entry(TOY, protocol, m)) for m in MODELS)]
    blocks = tuple(block for protocol in protocols for block in _blocks(bench, protocol))
    return Section("toy", "Toy comparison of entropy and L1", blocks)


def _blocks(bench: Bench, protocol: str) -> list[Block]:
    blocks: list[Block] = []
    for model in MODELS:
        runs = bench.good(Entry(TOY, protocol, model))
        blocks += _heat_map(runs[0], model, protocol) if runs else []
    entry = Entry(TOY, protocol, "C")
    blocks += [table for table in (_recovered(bench, entry), _formulas(bench, entry)) if table.rows]
    return blocks


def _heat_map(run: FoldRun, model: str, protocol: str) -> list[Picture]:
    begins, title, caption = MODELS[model]
    named = {name: text for name, text in run.metrics.items() if name.startswith(begins)}
    places = {tuple(name.split(":", 2)[1:]): float(text) for name, text in named.items()}
    rows, columns = (list(dict.fromkeys(place[axis] for place in places)) for axis in (0, 1))
    if not places:
        return []
    matrix = np.array([[places.get((row, column), np.nan) for column in columns] for row in rows])
    told = f"{caption} Seed {run.fold}."
    return [heat_map_picture(matrix, rows, columns, key=f"toy-{protocol}-{model}", title=title, caption=told)]


def _recovered(bench: Bench, entry: Entry) -> Table:
    """How many of the four formulas each way of extracting finds, seed by seed."""
    runs = bench.good(entry)
    ways = list(dict.fromkeys(name for run in runs for name in run.metrics if name.startswith(RECOVERED)))
    rows = [
        Row(f"seed {run.fold}", tuple(Cell(_of_four(run.metrics.get(way))) for way in ways)) for run in runs if ways
    ]
    if rows:
        whole = [sum(_of_four(run.metrics.get(way)) == f"{N_FORMULAS} of {N_FORMULAS}" for run in runs) for way in ways]
        rows.append(Row("seeds with all four", tuple(Cell(f"{count} of {len(runs)}", best=True) for count in whole)))
    caption = f"Formulas of C that mean what they should, of {N_FORMULAS}, by seed and by how they are extracted."
    heads = [method_title(way.removeprefix(RECOVERED)) for way in ways]
    return Table(f"toy-{entry.protocol}-recovered", caption, ("seed", *heads), tuple(rows))


def _of_four(text: str | None) -> str:
    return NOTHING if text is None else f"{float(text):g} of {N_FORMULAS}"


def _formulas(bench: Bench, entry: Entry) -> Table:
    """The formulas of the first seed, class by class."""
    run = next(iter(bench.good(entry)), None)
    texts = {} if run is None else {n: t for n, t in run.metrics.items() if n.startswith(FORMULA) and n.count(":") > 1}
    ways, classes = (list(dict.fromkeys(name.split(":", 2)[axis] for name in texts)) for axis in (1, 2))
    rows = []
    for klass in classes:
        held = [texts.get(f"{FORMULA}{way}:{klass}") for way in ways]
        found = [None if text is None else bench.formula(entry, text) for text in held]
        cells = [Cell(NOTHING) if f is None else Cell(formula=Shown(f, f.n_literals)) for f in found]
        rows.append(Row(klass, tuple(cells)))
    caption = f"Formulas of C, seed {run.fold if run else 0}."
    heads = [method_title(way) for way in ways]
    return Table(f"toy-{entry.protocol}-formulas", caption, ("class", *heads), tuple(rows), wide=True)
