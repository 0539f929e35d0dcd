"""Display names of tasks, methods, protocols and metrics, and the remarks that accompany the figures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lab.runs.paper import SWEEP
from logiclens.metrics import scores
from logiclens.metrics.scores import Metric

CLEAN, PAPER = "clean", "paper"
OURS = "minimal"
"""The method whose rules the report shows in full."""


METRICS: tuple[Metric, ...] = tuple(metric for metric in scores.METRICS if metric.main)
"""The metrics that have tables of their own."""

WORDS: dict[str, Any] = json.loads(Path(__file__).with_name("results_words.json").read_text(encoding="utf-8"))
"""What is written by hand: titles, remarks on data and scripts, why figures do not reproduce, what differs."""
TASKS: Mapping[str, str] = WORDS["tasks"]
METHODS: Mapping[str, str] = WORDS["methods"]
PROTOCOLS: Mapping[str, str] = WORDS["protocols"]
"""Titles in the order in which they are shown. An id that is not here is shown as it is, after these."""
STUDIES = ("mimic2", "vdem", "mnist", "cub")
"""The four tasks of the paper."""

BLACK_BOXES = frozenset({"mlp", "direct", "forest", "logistic", "ebm"})

_OF_PAPER = ("minimal", "exact", "labels", "soft", "paper", "authors", "torch_explain", "joint", "tree", "brl",
             "psi", "mlp", "direct", "forest")  # fmt: skip
_SMALL = ("oner", "stump", *(f"tree-{leaves}" for leaves in range(2, 9)), "best-3")
FAMILIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("the paper's methods", _OF_PAPER),
    ("single rules and small trees", _SMALL),
    ("further methods", tuple(method for method in METHODS if method not in {*_OF_PAPER, *_SMALL})),
)
"""The methods of each table, so that no table is too wide; unknown methods go into the last."""

_COLUMNS = {"entropy_net": "authors", "tree": "tree", "brl": "brl", "psi_net": "psi", "random_forest": "forest"}
_NEURAL = {"mimic2": "mlp", "vdem": "mlp", "mnist": "direct", "cub": "direct"}


def columns_of_paper(task: str) -> dict[str, str]:
    neural = {"neural_network": _NEURAL[task]} if task in _NEURAL else {}
    return {**_COLUMNS, **neural}


def task_title(task: str) -> str:
    return TASKS.get(task.removeprefix(SWEEP), task.removeprefix(SWEEP))


def method_title(method: str) -> str:
    return METHODS.get(method, method)


def in_order(names: Iterable[str], listed: Iterable[str]) -> tuple[str, ...]:
    place = {name: i for i, name in enumerate(listed)}
    return tuple(sorted(set(names), key=lambda name: (place.get(name, len(place)), name)))


def family(method: str) -> str:
    return next((title for title, members in FAMILIES if method in members), FAMILIES[-1][0])
