"""How long it takes to measure one edit of rules on rows in memory, beside a plain evaluation in pandas.

Run: python -m lab.scripts.edit_speed.py [ROWS]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from logiclens.formula import Complement, Predicate, Rule, RuleSet, parse
from logiclens.metrics import MeasuredTable

REPEATS = 7
LIMIT_MS = 50


def table(n_rows: int) -> pd.DataFrame:
    """Return rows of numbers, a category and a truth value, with gaps, and classes that depend on them."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.normal(60, 15, n_rows).round(1) for name in ("age", "weight", "pulse", "lactate")})
    frame["sepsis"] = rng.random(n_rows) < 0.2
    frame["unit"] = rng.choice(["MICU", "CCU", "SICU"], n_rows)
    frame["code"] = rng.choice([f"c{number}" for number in range(200)], n_rows)
    frame["admitted"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n_rows), unit="D")
    frame["discharged"] = frame.admitted + pd.to_timedelta(rng.integers(0, 30, n_rows), unit="D")
    frame.loc[rng.random(n_rows) < 0.05, "lactate"] = np.nan
    risk = (frame.age >= 70).to_numpy() & frame.sepsis.to_numpy() | (frame.lactate >= 80).to_numpy()
    frame["outcome"] = np.where(risk ^ (rng.random(n_rows) < 0.1), "died", "lived")
    return frame


def first_rules() -> RuleSet:
    """Return five rules of one class and the rest."""
    cuts = {f"{name} >= {cut}": Predicate(name, ">=", float(cut)) for name, cut in
            (("age", 72), ("age", 50), ("weight", 80), ("pulse", 90), ("lactate", 78))}  # fmt: skip
    meant = {**cuts, "sepsis": Predicate("sepsis", "==", True), "unit is MICU": Predicate("unit", "==", "MICU")}
    died = parse(
        '("age >= 72" & sepsis) | "lactate >= 78" | ("age >= 50" & "pulse >= 90" & "unit is MICU") | '
        '("weight >= 80" & ~"age >= 50" & sepsis) | ("pulse >= 90" & ~sepsis & "unit is MICU" & ~"weight >= 80")'
    )
    rules = (Rule("died", died, (0.5,) * len(died)), Rule("lived", Complement(died), (0.5,)))
    return RuleSet(rules, meant, otherwise=1)


def in_pandas(rules: RuleSet, frame: pd.DataFrame) -> dict[str, float]:
    """Measure the rules as someone would write it in pandas: each condition, each rule, the decision."""
    labels, found = frame["outcome"] == "died", {}
    fires = pd.Series(False, index=frame.index)
    for number, cube in enumerate(rules.rule("died").cubes, 1):
        holds = pd.Series(True, index=frame.index)
        for literal in cube:
            meant = rules.predicate(literal.concept)
            column = frame.get(meant.column)
            if meant.origin is not None and meant.origin.kind == "weekday":
                column = frame[meant.origin.columns[0]].dt.weekday + 1
            elif meant.origin is not None:
                start, end = (frame[name] for name in meant.origin.columns)
                column = (end - start).dt.days
            true = column >= meant.value if meant.operator == ">=" else column == meant.value
            holds &= true if literal.positive else ~true
        found[f"died#{number}"] = float((holds & labels).sum() / max(holds.sum(), 1))
        fires |= holds
    found["accuracy"] = float((fires == labels).mean())
    return found


def milliseconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the median time of some work."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1000 * float(np.median(times))


def main() -> None:
    """Print a table of times."""
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    frame = table(n_rows)
    rules = first_rules().knowing(frame.drop(columns="outcome"))
    start = time.perf_counter()
    rows = MeasuredTable(frame, "outcome")
    rows.measure(rules)
    first = 1000 * (time.perf_counter() - start)
    start = time.perf_counter()
    rows.prepare()
    prepared = 1000 * (time.perf_counter() - start)
    cuts = iter(np.arange(60, 60 + 3 * REPEATS, 0.5))
    edits: dict[str, Callable[[], RuleSet]] = {
        "a rule less": lambda: rules.without("died#3"),
        "a condition more": lambda: rules.with_condition("died#2", "sepsis"),
        "a new threshold": lambda: rules.with_threshold("age >= 72", float(next(cuts))),
    }
    more = (
        ("a text", ["unit is CCU", "unit is SICU"]), ("one of 200 texts", ["code is c7", "code is c9"]),
        ("a date", ["admitted >= 2021-03-01", "admitted >= 2021-04-01"]),
        ("a weekday", ["weekday of admitted >= 6", "weekday of admitted >= 5"]),
        ("days between", ["days from admitted to discharged >= 4", "days from admitted to discharged >= 5"]),
    )  # fmt: skip
    print(f"{n_rows:,} rows, {len(rules.rule_ids)} rules; the rules are measured first in {first:,.0f} ms")
    print(f"columns are prepared once, in the background of the studio, in {prepared:,.0f} ms")
    print(f"{'first condition on':<24}{'unprepared':>12}{'prepared':>12}{'later':>12}")
    for name, conditions in more:
        one, two = (rules.with_condition("died#1", condition) for condition in conditions)
        cold = MeasuredTable(frame, "outcome")
        cold.measure(rules)
        times = [milliseconds(lambda t=t, r=r: t.measure(r), 1) for t, r in ((cold, one), (rows, one), (rows, two))]
        slow = "" if max(times[1:]) < LIMIT_MS else f"  more than {LIMIT_MS} ms"
        print(f"{name:<24}" + "".join(f"{one:>9.1f} ms" for one in times) + slow)
    print(f"{'edit, later':<18}{'measured':>12}{'pandas':>12}")
    for name, edit in edits.items():
        edited = edit()
        told, plain = rows.measure(edited), in_pandas(edited, frame)
        shares = [one.confidence.value for one in told.statistics["died"].cubes]
        if not np.allclose([*shares, told.accuracy], list(plain.values())):
            raise SystemExit(f"{name}: pandas measures something else")
        ours, theirs = (
            milliseconds(lambda edit=edit: rows.measure(edit())),
            milliseconds(lambda e=edited: in_pandas(e, frame)),
        )
        print(f"{name:<18}{ours:>9.1f} ms{theirs:>9.1f} ms{'' if ours < LIMIT_MS else f'  more than {LIMIT_MS} ms'}")


if __name__ == "__main__":
    main()
