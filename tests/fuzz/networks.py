"""Doors of networks and plots: names of every kind in `explain_all`, which only name, and in the labels of a plot."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import torch
from hypothesis import strategies as st

from logiclens.explain import Explanation, explain_all
from logiclens.formula.rule_set import RuleSet
from logiclens.nn import EntropyNet
from tests.fuzz import exports, hostile
from tests.fuzz.judge import Failure, Outcome, Place, Refused, attempt
from tests.fuzz.samples import decided

Document = dict[str, Any]
NO_NAMES = ({"make": "text"}, {"make": "number"}, {"make": "array"}, {"make": "numbers"}, {"make": "nested"})
"""What may be passed in place of a list of names; only an array of texts is one."""

# Cases ---------------------------------------------------------------------------------------------------------------


@st.composite
def cases(draw: st.DrawFn) -> Document:
    """Draw names, class names, labels and the form of the rows, right and wrong."""
    names = st.lists(hostile.texts(lone=True), min_size=3, max_size=3, unique=True)
    classes = st.lists(hostile.names(), min_size=2, max_size=2, unique=True)
    odd = st.lists(hostile.texts(lone=True), max_size=4) | st.sampled_from(NO_NAMES)
    return {
        "names": draw(st.none() | names | names | odd),
        "class_names": draw(st.none() | classes | classes | odd),
        "labels": draw(st.sampled_from([None, "right", "matrix", "short", "text", "many", "nan"])),
        "rows": draw(
            st.sampled_from(["tensor", "tensor", "array", "frame", "lists", "empty", "wide", "beyond", "nan"])
        ),
        "method": draw(st.sampled_from(["search", "paper", "nothing"])),
        "progress": draw(st.sampled_from([None, False, "collect", "text"])),
    }


def plot_cases() -> st.SearchStrategy[Document]:
    """Draw a rule set and rows as the door of exports does."""
    return exports.cases()


# Checks --------------------------------------------------------------------------------------------------------------


@cache
def _network() -> EntropyNet:
    """A small network that predicts both classes; nobody trained it."""
    return EntropyNet(3, 2, generator=torch.Generator().manual_seed(14)).eval()


def _rows() -> torch.Tensor:
    grid = [[a, b, c] for a in (0.0, 1.0) for b in (0.0, 1.0) for c in (0.0, 1.0)]
    return torch.tensor(grid * 4)


def _names(given: Any) -> Any:
    if not isinstance(given, dict):
        return given
    return {
        "text": "abc", "number": 3, "array": np.array(["a", "b", "c"]), "numbers": [1, 2, 3], "nested": [["a"], ["b"]],
    }[given["make"]]  # fmt: skip


def _labels(kind: str | None, n_rows: int) -> Any:
    half = [row % 2 for row in range(n_rows)]
    return {
        None: None, "right": half, "matrix": np.array([[n, 1 - n] for n in half]), "short": half[1:],
        "text": ["x"] * n_rows, "many": [7] * n_rows, "nan": [float("nan")] * n_rows,
    }[kind]  # fmt: skip


def _given(kind: str) -> Any:
    rows = _rows()
    return {
        "tensor": rows, "array": rows.numpy(), "frame": pd.DataFrame(rows.numpy(), columns=["a", "b", "c"]),
        "lists": rows.tolist(), "empty": rows[:0], "wide": rows.repeat(1, 2), "beyond": rows * 2, "nan": rows * np.nan,
    }[kind]  # fmt: skip


@cache
def _unnamed(method: str) -> Explanation:
    return explain_all(_network(), _rows(), method=method, progress=False)  # type: ignore[arg-type]


def check(case: Document, place: Place) -> Outcome:
    """Explain the network: its formulas are those without names, under the names given."""
    names, states = _names(case["names"]), []
    shown = {None: None, False: False, "collect": states.append, "text": "bar"}[case["progress"]]
    explained = attempt(
        explain_all, _network(), _given(case["rows"]), _labels(case["labels"], 32), names=names,
        class_names=_names(case["class_names"]), method=case["method"], progress=shown,
    )  # fmt: skip
    if isinstance(explained, Refused):
        usual = case["rows"] in ("tensor", "array") and case["labels"] in (None, "right")
        if usual and [case[given] for given in ("names", "class_names", "method", "progress")] == [
            None,
            None,
            "search",
            None,
        ]:
            raise Failure("a network is not explained", explained.message)
        return Outcome.refused
    if case["rows"] in ("empty", "wide", "beyond", "nan") or case["labels"] in ("short", "text", "many", "nan"):
        raise Failure(f"a network is explained on what is no table ({case['rows']}, {case['labels']})")
    if case["labels"] == "matrix":
        # Several labels per row are answered by thresholds.
        return Outcome.agreed
    own = ["a", "b", "c"] if case["rows"] == "frame" else ["x0", "x1", "x2"]
    meant = own if names is None else [str(name) for name in names]
    for found, plain in zip(explained.classes, _unnamed(case["method"]).classes, strict=True):
        renamed = {frozenset((meant[int(name[1:])], sign) for name, sign in cube.items()) for cube in _cubes(plain)}
        if {frozenset(cube.items()) for cube in _cubes(found)} != renamed:
            raise Failure("names change a formula", f"{found.formula} instead of {plain.formula}")
    str(explained)
    return Outcome.agreed


def _cubes(explained: Any) -> list[dict[str, bool]]:
    return [
        {literal.concept: literal.positive for literal in cube.literals}
        for cube in getattr(explained.formula, "cubes", ())
    ]


def check_plot(case: Document, place: Place) -> Outcome:
    """Plot the rules on their rows, draw the figure, and compare the share of rows on which no rule fires."""
    import matplotlib.pyplot as plt

    rules = attempt(RuleSet.from_dict, case["rules"])
    if isinstance(rules, Refused):
        return Outcome.refused
    table = exports.table_of(case)
    axes = attempt(rules.plot, table)
    try:
        if isinstance(axes, Refused):
            return Outcome.refused
        with warnings.catch_warnings():
            # No font has every letter.
            warnings.filterwarnings("ignore", "Glyph")
            axes.figure.canvas.draw()
        rows = [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)]
        entries = case["rules"]["classes"]
        if case["rules"]["multilabel"] and not any("complement_of" in entry for entry in entries):
            silent = sum(not any(decided(case["rules"], row)) for row in rows) / len(rows)
            widths = [bar.get_width() for bar in axes.patches]
            if not any(abs(width - silent) < 1e-9 for width in widths):
                raise Failure("no bar has the share of rows without a rule", f"{silent} in {widths}")
    finally:
        plt.close("all")
    return Outcome.agreed
