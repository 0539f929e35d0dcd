"""Printed figures are those of the decisions: on ten tables they equal those of every way to apply the rules.

scikit-learn computes them from the answers of `logiclens predict --rules`, the exported SQL in DuckDB, the exported
Python and the exported PMML, all on rows that the model has not seen.
"""

from __future__ import annotations

import json
import re
import shutil
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
import sklearn.metrics

from logiclens import EntropyClassifier
from logiclens.cli.output import Printer
from logiclens.cli.sheet import print_sheet
from logiclens.codec import to_plain
from logiclens.explain.result import Explanation
from logiclens.export import to_pmml, to_python, to_sql
from logiclens.formula import DNF, Complement, Cube
from logiclens.formula.rule_set import RuleSet
from logiclens.report import Result, Source, render, result_of
from tests.cli_runs import logiclens, patients, place, with_states

TARGET = "outcome"


def bundled(name: str) -> pd.DataFrame:
    found = getattr(sklearn.datasets, f"load_{name}")(as_frame=True)
    columns = list(found.data.columns[:6])
    names = [str(label) for label in found.target_names]
    return found.data[columns].assign(**{TARGET: [names[label] for label in found.target]})


def digits_parity() -> pd.DataFrame:
    found = sklearn.datasets.load_digits(as_frame=True)
    columns = list(found.data.columns[10:30])
    return found.data[columns].iloc[:500].assign(**{TARGET: np.where(found.target[:500] % 2, "odd", "even")})


def generated(kind: str) -> pd.DataFrame:
    """Planted rules with noise, on Booleans, floats and categories."""
    rng = np.random.default_rng(3)
    n = 500
    flags = {f"f{i}": rng.integers(0, 2, n) for i in range(6)}
    floats = {f"x{i}": rng.normal(0, 1, n).round(3) for i in range(3)}
    unit = rng.choice(["A", "B", "C and D"], n)
    noise = rng.random(n) < 0.04
    if kind == "dnf":
        truth = (flags["f0"] & flags["f1"]) | (flags["f2"] & (1 - flags["f3"]))
        return pd.DataFrame({**flags, TARGET: np.where(truth.astype(bool) ^ noise, "yes", "no")})
    if kind == "xor":
        truth = (flags["f0"] ^ flags["f1"]).astype(bool)
        return pd.DataFrame({**flags, TARGET: (truth ^ noise).astype(int)})
    if kind == "rare":
        truth = (floats["x0"] > 1.0) & (unit != "B")
        return pd.DataFrame({**floats, "unit": unit, TARGET: np.where(truth ^ (rng.random(n) < 0.01), "rare", "other")})
    grade = np.select([floats["x0"] + floats["x1"] > 0.8, unit == "A", floats["x2"] > 0], ["p", "q", "r"], "s")
    grade = np.where(noise, rng.choice(["p", "q", "r", "s"], n), grade)
    frame = pd.DataFrame({**floats, "unit": unit, TARGET: grade})
    frame.loc[rng.random(n) < 0.08, "x0"] = np.nan
    return frame


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    "iris": lambda: bundled("iris"),
    "wine": lambda: bundled("wine"),
    "breast cancer": lambda: bundled("breast_cancer"),
    "digits": digits_parity,
    "patients": lambda: patients(400).drop(columns=["id", "admitted"]).rename(columns={"died": TARGET}),
    "states": lambda: with_states(patients(400)).rename(columns={"state": TARGET}),
    "dnf": lambda: generated("dnf"),
    "xor": lambda: generated("xor"),
    "rare": lambda: generated("rare"),
    "grades": lambda: generated("grades"),
}
CONFIDENT = ("wine", "patients", "xor")
"""Tables that keep one formula per class, decided by confidence; the others have a complement or an order."""


@dataclass(frozen=True)
class Made:
    """A table, a model with its rules, and the rows that it has not seen, as a file."""

    name: str
    rules: RuleSet
    result: Result
    folder: Path
    unseen: Path
    truth: list[Any]


@cache
def made(name: str) -> Made:
    frame = TABLES[name]()
    model = EntropyClassifier(set_aside=0.35, exact=name not in CONFIDENT, epochs=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(frame.drop(columns=TARGET), frame[TARGET])
        explanation = decided_otherwise(model.explain(), name)
        rows = len(frame)
        source = Source("table.csv", rows, frame.shape[1] - 1, TARGET)
        result = result_of(model, explanation, source)
        folder = place() / f"figures-{name.replace(' ', '-')}"
        model.save(folder, result, rules=explanation.rules)
    unseen = frame.iloc[[row.row - 1 for row in result.rows]]
    path = folder.with_suffix(".csv")
    unseen.to_csv(path, index=False)
    return Made(name, explanation.rules, result, folder, path, unseen[TARGET].tolist())


def decided_otherwise(explanation: Explanation, name: str) -> Explanation:
    """The explanation as it is, with a complement or an order; or one formula per class, decided by confidence."""
    if name not in CONFIDENT:
        return explanation
    classes = [
        # In place of the complement one literal of it: on some rows no formula fires, or both do.
        replace(one, formula=DNF([Cube([next(iter(next(iter(~one.formula.of))))])])) if is_rest(one.formula) else one
        for one in explanation.classes
    ]
    return replace(explanation, resolve="confidence", classes=tuple(classes), model_rules=None)


def is_rest(formula: DNF | Complement) -> bool:
    return isinstance(formula, Complement)


# Four ways to apply the rules -----------------------------------------------------------------------------------


def by_command(case: Made) -> list[Any]:
    run = logiclens("predict", case.folder, case.unseen, "--rules", "--json", "-")
    assert (run.returncode, run.stderr) == (0, "")
    return [row[f"predicted {TARGET}"] for row in json.loads(run.stdout)["rows"]]


def by_sql(case: Made) -> list[Any]:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE rows AS SELECT * FROM read_csv('{case.unseen}', header=true)")
    connection.execute("ALTER TABLE rows ADD COLUMN place INTEGER")
    connection.execute("UPDATE rows SET place = rowid")
    query = to_sql(case.rules, table="rows")
    return [row[0] for row in connection.execute(f"SELECT prediction FROM ({query}) ORDER BY place").fetchall()]


def records(case: Made) -> list[dict[str, Any]]:
    frame = pd.read_csv(case.unseen).astype(object)
    return frame.where(frame.notna(), None).to_dict("records")


def by_python(case: Made) -> list[Any]:
    names: dict[str, Any] = {}
    exec(to_python(case.rules), names)
    return [names["predict"](row) for row in records(case)]


@pytest.fixture(scope="module")
def pmml() -> Iterator[Callable[[Made], list[Any]]]:
    pypmml = pytest.importorskip("pypmml", reason="needs pypmml: pip install pypmml")
    if shutil.which("java") is None:
        pytest.skip("pypmml needs Java, and there is no java on PATH")

    def answers(case: Made) -> list[Any]:
        model = pypmml.Model.fromString(to_pmml(case.rules))
        used = set(case.rules.columns)
        rows = [{name: cell for name, cell in row.items() if name in used} for row in records(case)]
        return [next(iter(model.predict(row).values())) for row in rows]

    yield answers
    pypmml.Model.close()


# What is printed ------------------------------------------------------------------------------------------------

FIGURES = re.compile(
    r"decided on ([\d,]+) of ([\d,]+) rows; precision ([\d.]+%|unknown)(?: \([\d.–]+%\))?, "
    r"recall ([\d.]+%|unknown)(?: \([\d.–]+%\))?, F1 ([\d.]+%|unknown)"
)


def says(text: str, figure: int | float | None) -> bool:
    """Whether a printed figure is this one, rounded to the decimals that it is printed with."""
    if figure is None or isinstance(figure, int):
        return text == ("unknown" if figure is None else str(figure))
    decimals = len(text.rstrip("%").partition(".")[2])
    lies = float(text.rstrip("%")) in (0, 100) and figure not in (0, 1)
    return text == f"{100 * figure:.{decimals}f}%" and not lies


def agree(told: list[tuple[str, ...]], figures: list[tuple[Any, ...]]) -> bool:
    """Whether each class is told its figures; the one that is "otherwise" comes last on the sheet."""
    told, figures = sorted(told, key=lambda row: int(row[0])), sorted(figures, key=lambda row: row[0])
    pairs = [zip(texts, row, strict=True) for texts, row in zip(told, figures, strict=True)]
    return all(says(text, figure) for row in pairs for text, figure in row)


def wanted(case: Made, answers: list[Any]) -> list[tuple[Any, ...]]:
    """The figures that must be printed of each class, from scikit-learn on some answers."""
    truth, said = [list(map(str, values)) for values in (case.truth, answers)]
    figures = []
    for name in case.rules.names:
        is_class, given = [[value == name for value in values] for values in (truth, said)]
        n_given, n_class = sum(given), sum(is_class)
        precision = sklearn.metrics.precision_score(is_class, given, zero_division=0)
        recall = sklearn.metrics.recall_score(is_class, given, zero_division=0)
        f1 = sklearn.metrics.f1_score(is_class, given, zero_division=0)
        figures.append(
            (
                n_given,
                len(truth),
                float(precision) if n_given else None,
                float(recall) if n_class else None,
                float(f1) if n_given or n_class else None,
            )
        )
    return figures


def printed(text: str) -> list[tuple[str, ...]]:
    return FIGURES.findall(re.sub(r"\s+", " ", text))


@pytest.mark.parametrize("name", TABLES)
def test_figures_equal_those_of_every_way_to_apply_rules(name: str, pmml: Any, capsys: Any) -> None:
    case = made(name)
    ways = {"predict --rules": by_command, "SQL": by_sql, "Python": by_python, "PMML": pmml}
    answers = {way: list(map(str, apply(case))) for way, apply in ways.items()}
    for way, said in answers.items():
        assert said == answers["predict --rules"], way
    figures = wanted(case, answers["SQL"])
    print_sheet(Printer(), case.result)
    sheet = capsys.readouterr().out
    assert agree(printed(sheet), figures)
    run = logiclens("score", case.folder, case.unseen, "--json", case.folder.with_suffix(".json"))
    assert (run.returncode, run.stderr) == (0, "")
    assert agree(printed(run.stdout), figures)
    assert printed(run.stdout) == printed(sheet)
    told = json.loads(case.folder.with_suffix(".json").read_text())
    counts = sklearn.metrics.confusion_matrix(
        list(map(str, case.truth)), answers["PMML"], labels=list(case.rules.names)
    ).tolist()
    assert told["confusion_of_rules"]["counts"] == to_plain(case.result.confusion_of_rules.counts) == counts
    assert re.sub(r"\s+", " ", render(case.result)).count("The rules decide for ") == len(case.rules.names)
    for klass, (decided, *_, f1) in zip(told["statistics"]["classes"], figures, strict=True):
        assert klass["decision"]["decided"]["hits"] == decided
        assert klass["decision"]["f1"] == (None if f1 is None else pytest.approx(f1))


def test_both_ways_to_decide_are_among_the_tables() -> None:
    kinds = {name: made(name).rules for name in TABLES}
    assert sum(any(rule.is_complement for rule in rules.rules) for rules in kinds.values()) >= 3
    assert sum(rules.resolve == "order" and len(rules.order) > 2 for rules in kinds.values()) >= 3
    assert sum(rules.resolve == "confidence" for rules in kinds.values()) == len(CONFIDENT)
    # The figures by firing differ from those of the decision somewhere: the judge can tell the two apart.
    assert any(
        klass.whole.confidence.value != klass.decision.precision.value
        for name in TABLES
        for klass in made(name).result.statistics.classes
    )
