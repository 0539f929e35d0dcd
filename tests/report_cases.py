"""Results of small tables, in the form that the estimator saves, for the tests of the report page."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from logiclens.export.json import to_dict
from logiclens.formula import DNF, Complement, parse
from logiclens.formula.column_kinds import CATEGORY
from logiclens.formula.date_parts import DatePart
from logiclens.formula.english import english
from logiclens.formula.groups import Groups
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import Rule, RuleSet
from logiclens.formula.rules import FoundAgain
from logiclens.formula.text import format_first_order, format_formula
from logiclens.metrics.rule_statistics import wilson_interval
from tests.rulesets import answer

Bits = Any


@dataclass(frozen=True)
class Case:
    """Rules, the rows they are measured on (raw columns), the true labels, and what else the result says."""

    rules: RuleSet
    table: dict[str, Any]
    labels: Any
    network: Any
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def concepts(self) -> tuple[str, ...]:
        return self.rules.concepts

    @property
    def bits(self) -> Bits:
        return np.column_stack([self.rules.holds(name, self.table) for name in self.concepts] or [[]])


def result_of(case: Case) -> dict[str, Any]:
    """The whole result, counted row by row in plain NumPy."""
    rules, names = case.rules, list(case.rules.names)
    n = len(case.labels)
    bits = case.bits if case.concepts else np.zeros((n, 0), dtype=bool)
    fires = np.column_stack([_fires(formula, bits, case.concepts) for formula in rules.formulas])
    truth = (
        np.asarray(case.labels)
        if rules.multilabel
        else np.array([[label == k for k in names] for label in case.labels])
    )
    answers, said = _answers(rules, case, fires), said_of(rules, fires, bits, case.concepts)
    among = rules.groups.among(case.concepts)
    labels = [_several(names, row) for row in truth]
    firing = fires.sum(axis=1)
    result: dict[str, Any] = {
        "kind": "logiclens result",
        "schema": 2,
        "logiclens": "0.1.0",
        "title": "died: rules from patients.csv",
        "command": "logiclens explain patients.csv --target died",
        "data": {
            "name": "patients.csv", "rows": 5 * n, "columns": len(case.table), "sha256": _hash("data"),
            "target": "died",
            "dropped": [{"column": "id", "reason": "every row has another value"}],
        },
        "model_sha256": _hash("model"),
        "versions": {"logiclens": "0.1.0", "python": "3.11.7", "torch": "2.13.0", "numpy": "2.3.1"},
        "seed": 0,
        "parts": {"train": 4 * n, "set_aside": n},
        "exact": False,
        "resolve": rules.resolve,
        "multilabel": rules.multilabel,
        "concepts": [
            {
                "name": name,
                "column": rules.predicate(name).column,
                "words": _words(name, True, rules),
                "words_not": _words(name, False, rules),
            }
            for name in case.concepts
        ],
        "exclusive": [list(group) for group in among.exclusive],
        "implied": [list(chain) for chain in among.implied],
        "rules": to_dict(rules),
        "classes": [_class(rule, truth[:, i], said[:, i], case, bits) for i, rule in enumerate(rules.rules)],
        "statistics": {
            "source": f"{n} rows held out before training",
            "n_rows": n,
            "weight": float(n),
            "by": None,
            "macro_f1": 0.5,
            "classes": statistics(rules, bits, case.concepts, truth),
            "subgroups": [],
        },
        "metrics": [
            {"name": "model accuracy", "value": 77.34, "low": 72.9, "high": 81.2, "unit": "%"},
            {"name": "explanation accuracy", "value": 74.1, "low": None, "high": None, "unit": "%"},
            {"name": "complexity", "value": 3.0, "low": None, "high": None, "unit": "literals"},
            {"name": "fidelity", "value": 95.5, "low": 92.8, "high": 97.2, "unit": "%"},
        ],
        "confusion": _confusion(names, labels, answers) if not rules.multilabel else None,
        "confusion_of_rules": _confusion(names, labels, answers) if not rules.multilabel else None,
        "firing": {
            "none": int((firing == 0).sum()), "one": int((firing == 1).sum()), "several": int((firing > 1).sum()),
        },
        "gap": {
            "agree": 1 - 16 / (2 * n),
            "steps": [
                {"name": "change when the network sees its relevant concepts only", "rows": 11.0},
                {"name": "change when those answers are summed up in a short formula", "rows": 5.0},
            ],
        },
        "history": _history(180),
        "rows": [
            {
                "row": 5 * i + 3, "label": labels[i], "network": str(case.network[i]), "rules": answers[i],
                "bits": "".join(map(str, bits[i].astype(int))),
            }
            for i in range(n)
        ],
        "rows_shown": n,
        "rows_total": n,
        "notes": ["12 rows have no value in bmi; a missing value makes no condition true."],
        "headline": _headline(names, labels, answers) if not rules.multilabel else None,
        "inputs": [
            {"column": column, "categories": sorted({cell for cell in case.table[column] if cell is not None})}
            for column in dict.fromkeys(p.column for p in rules.predicates.values() if p.kind is CATEGORY)
        ],
    }  # fmt: skip
    return {**result, **case.more}


def statistics(rules: RuleSet, bits: Bits, concepts: Sequence[str], truth: Bits) -> list[dict[str, Any]]:
    """Per class what `RuleStatistics.to_dict` holds."""
    fires = np.column_stack([_fires(formula, bits, concepts) for formula in rules.formulas])
    told, said = [], said_of(rules, fires, bits, concepts)
    for i, rule in enumerate(rules.rules):
        here, cubes = truth[:, i], [_fires(DNF([cube]), bits, concepts) for cube in rule.cubes]
        others = np.delete(fires, i, axis=1).any(axis=1)
        told.append(
            {
                "name": rule.name,
                "label": rule.label,
                "formula": str(rule.formula),
                "prevalence": share(here.sum(), len(here)),
                "decision": _decision(said[:, i], here),
                "whole": {
                    **_measured(None, fires[:, i], fires[:, i] & ~others, here),
                    "decided": _decision(said[:, i], here)["precision"],
                },
                "cubes": [
                    {
                        **_measured(cube, held, held & (np.sum(cubes, axis=0) == 1), here),
                        "decided": share((held & said[:, i] & here).sum(), (held & said[:, i]).sum()),
                    }
                    for cube, held in zip(rule.cubes, cubes, strict=True)
                ],
            }
        )
    return told


def _decision(said: Bits, here: Bits) -> dict[str, Any]:
    right, wrong, missed = (float(rows.sum()) for rows in (said & here, said & ~here, ~said & here))
    both = 2 * right + wrong + missed
    return {
        "decided": share(said.sum(), len(said)),
        "precision": share(right, said.sum()),
        "recall": share(right, here.sum()),
        "f1": 2 * right / both if both else None,
        "table": {"right": right, "wrong": wrong, "missed": missed, "rest": len(said) - right - wrong - missed},
    }


def said_of(rules: RuleSet, fires: Bits, bits: Bits, concepts: Sequence[str]) -> Bits:
    """Which row gets which class."""
    if rules.multilabel:
        return fires
    rows = [dict(zip(concepts, map(bool, row), strict=True)) for row in bits]
    answers = [answer(rules, row) for row in rows]
    return np.array([[said == rule.label for rule in rules.rules] for said in answers], dtype=bool)


def share(hits: float, total: float) -> dict[str, Any]:
    low, high = wilson_interval(float(hits), float(total))
    value = float(hits / total) if total else None
    return {"hits": float(hits), "total": float(total), "value": value, "low": float(low), "high": float(high)}


def _measured(cube: Any, held: Bits, alone: Bits, here: Bits) -> dict[str, Any]:
    confidence, base = share((held & here).sum(), held.sum()), here.mean()
    known = confidence["value"] is not None and base > 0
    return {
        "literals": None if cube is None else [{"concept": lit.concept, "positive": lit.positive} for lit in cube],
        "text": "whole formula" if cube is None else format_formula(cube, "unicode"),
        "support": share(held.sum(), len(held)),
        "coverage": share((held & here).sum(), here.sum()),
        "unique_coverage": share((alone & here).sum(), here.sum()),
        "confidence": confidence,
        "lift": float(confidence["value"] / base) if known else None,
        "lift_low": float(confidence["low"] / base) if known else None,
        "lift_high": float(confidence["high"] / base) if known else None,
        "table": {
            "fires_in_class": float((held & here).sum()),
            "fires_elsewhere": float((held & ~here).sum()),
            "silent_in_class": float((~held & here).sum()),
            "silent_elsewhere": float((~held & ~here).sum()),
        },
    }


def _fires(formula: DNF | Complement, bits: Bits, concepts: Sequence[str]) -> Bits:
    """Read off the definition, row by row."""
    if isinstance(formula, Complement):
        return ~_fires(formula.of, bits, concepts)
    place = {name: i for i, name in enumerate(concepts)}
    held = np.zeros(len(bits), dtype=bool)
    for cube in formula:
        held |= np.array([all(row[place[lit.concept]] == lit.positive for lit in cube) for row in bits], dtype=bool)
    return held


def _answers(rules: RuleSet, case: Case, fires: Bits) -> list[str]:
    if rules.multilabel:
        return [_several(rules.names, row) for row in fires]
    return ["undecided" if answer is None else str(answer) for answer in rules.predict(case.table)]


def _several(names: Sequence[str], held: Bits) -> str:
    return ", ".join(name for name, here in zip(names, held, strict=True) if here) or "none"


def _words(name: str, positive: bool, rules: RuleSet) -> str:
    literal = parse(f'"{_quoted(name)}"') if positive else parse(f'~"{_quoted(name)}"')
    sentence = english(literal, {name: rules.predicates[name]} if name in rules.predicates else {}, head="x")
    return sentence.removeprefix("A row is x if ").removesuffix(".")


def _quoted(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')


def _headline(names: Sequence[str], labels: Sequence[str], answers: Sequence[str]) -> dict[str, Any]:
    most = max(names, key=labels.count)
    right = sum(label == answer for label, answer in zip(labels, answers, strict=True))
    return {"right": share(right, len(labels)), "always": most, "always_right": share(labels.count(most), len(labels))}


def _class(rule: Rule, truth: Bits, said: Bits, case: Case, bits: Bits) -> dict[str, Any]:
    decision = _decision(said, truth)
    used = rule.formula.concepts
    extra = [f"{column} >= {cut}" for column, cut in (("creatinine", 1.4), ("white cell count at admission", 11.2))]
    size = max(len(case.concepts), 1)
    relevance = {name: 1.0 - 0.7 * i / size for i, name in enumerate([*used, *extra])}
    return {
        "name": rule.name,
        "formula": format_first_order(rule.formula, rule.name, fidelity=0.955),
        "english": english(rule.formula, case.rules.predicates, head=rule.name),
        "fidelity": 0.955,
        "equals_network": False,
        "certified": None,
        "reason": None,
        "remedy": None,
        "precision": decision["precision"],
        "recall": decision["recall"],
        "f1": decision["f1"],
        "simplest": {"text": "age is at least 61", "f1": 0.702},
        "relevance": [
            {"concept": name, "relevance": float(value), "used": name in used} for name, value in relevance.items()
        ],
    }


def _confusion(names: Sequence[str], labels: Sequence[str], answers: Sequence[str]) -> dict[str, Any]:
    predicted = [*names, "undecided"] if "undecided" in answers else list(names)
    pairs = list(zip(labels, answers, strict=True))
    counts = [[float(pairs.count((truth, said))) for said in predicted] for truth in names]
    return {"labels": list(names), "predicted": predicted, "counts": counts, "of": "the rules"}


def _history(epochs: int) -> dict[str, Any]:
    steps = np.arange(epochs)
    noise = np.random.default_rng(5).normal(0, 0.004, epochs)
    loss = 0.35 + 0.4 * np.exp(-steps / 30)
    return {
        "loss": loss.tolist(),
        "penalty": (0.2 * np.exp(-steps / 60)).tolist(),
        "train_accuracy": (0.82 - 0.25 * np.exp(-steps / 25) + noise).tolist(),
        "validation_loss": (loss + 0.03 + 0.0004 * steps + noise).tolist(),
        "validation_accuracy": (0.78 - 0.25 * np.exp(-steps / 25) + 2 * noise).tolist(),
        "best_epoch": epochs * 3 // 4,
    }


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# The cases -------------------------------------------------------------------------------------------------------


def cohort(n: int, seed: int = 1) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {
        "age": random.normal(62, 17, n).round(1).clip(18, 99),
        "bmi": np.where(random.random(n) < 0.05, np.nan, random.normal(27, 5, n).round(1)),
        "unit": random.choice(["MICU", "CCU", "SICU"], n),
        "smoker": random.integers(0, 2, n),
        "sepsis": (random.random(n) < 0.2).astype(int),
    }


PREDICATES = {
    "age >= 66": Predicate("age", ">=", 66),
    "age >= 78": Predicate("age", ">=", 78),
    "bmi >= 30": Predicate("bmi", ">=", 30),
    "unit is MICU": Predicate("unit", "==", "MICU"),
    "unit is CCU": Predicate("unit", "==", "CCU"),
}
GROUPS = Groups(exclusive=[["unit is MICU", "unit is CCU"]], implied=[["age >= 66", "age >= 78"]])


def _labelled(rules: RuleSet, table: dict[str, Any], seed: int = 2) -> tuple[list[str], list[str]]:
    """True labels and a network's answers: what the rules say, with slips."""
    random = np.random.default_rng(seed)
    said = [rules.names[0] if answer is None else str(answer) for answer in rules.predict(table)]
    slips = [[str(random.choice(rules.names)) if random.random() < rate else s for s in said] for rate in (0.4, 0.08)]
    return slips[0], slips[1]


def patients(n: int = 356) -> Case:
    """Two classes decided by confidence, cuts that imply each other, units that exclude each other."""
    died = parse('"age >= 78" | ("age >= 66" & sepsis) | ("bmi >= 30" & smoker & ~"unit is CCU")')
    lived = parse('(~"age >= 66" & ~sepsis) | ("unit is CCU" & ~smoker)')
    rules = RuleSet(
        (Rule("died", died, (0.74, 0.71, 0.52)), Rule("survived", lived, (0.81, 0.71))), PREDICATES, GROUPS, otherwise=1
    )
    table = cohort(n)
    return Case(rules, table, *_labelled(rules, table))


def one_formula(n: int = 120) -> Case:
    """Two classes, of which the first is what the formula of the other leaves."""
    died = parse('"age >= 78" | ("age >= 66" & sepsis)')
    rules = RuleSet(
        (Rule("survived", Complement(died), (0.83,)), Rule("died", died, (0.74, 0.71))),
        PREDICATES,
        GROUPS.among(died.concepts),
        "order",
        otherwise=0,
    )
    table = cohort(n, seed=6)
    return Case(rules, table, *_labelled(rules, table))


def categories(n: int = 300) -> Case:
    """Two classes; one rule names several categories, which are one cube each, and recur differently often."""
    jobs = {f"job is {job}": Predicate("job", "==", job) for job in ("cook", "nurse", "clerk")}
    ill = parse('"age >= 66" & "job is cook" | sepsis | "age >= 66" & "job is nurse" | "age >= 66" & "job is clerk"')
    counts = dict(zip(ill.cubes, map(FoundAgain, (9, 10, 1, 4)), strict=True))
    rules = RuleSet(
        (Rule("ill", ill, (0.7, 0.8, 0.6, 0.5), counts, 10), Rule("well", Complement(ill), (0.8,))),
        {"age >= 66": PREDICATES["age >= 66"], **jobs},
        Groups(exclusive=[list(jobs)]),
        "order",
        otherwise=1,
    )
    table = {**cohort(n, seed=11), "job": np.random.default_rng(12).choice([*"abc", "cook", "nurse", "clerk"], n)}
    return Case(rules, table, *_labelled(rules, table))


def in_order(n: int = 120) -> Case:
    """Three classes, decided in an order that is not that of the confidences."""
    rules = RuleSet(
        (
            Rule("low", parse('~"age >= 66"'), (0.8,)),
            Rule("middle", parse('"age >= 66" | smoker'), (0.6, 0.5)),
            Rule("high", parse('("age >= 78" & smoker) | sepsis'), (0.4, 0.7)),
        ),
        PREDICATES,
        GROUPS.among(["age >= 66", "age >= 78"]),
        "order",
        otherwise=1,
        order=(2, 1, 0),
    )
    table = cohort(n, seed=8)
    return Case(rules, table, *_labelled(rules, table))


def certified(n: int = 240) -> Case:
    """Three classes in exact mode, nobody to decide between them, with subgroups."""
    rules = RuleSet(
        (
            Rule("low", parse('~"age >= 66" & ~smoker'), (0.8,)),
            Rule("middle", parse('("age >= 66" & ~"age >= 78") | (~"age >= 66" & smoker)'), (0.6, 0.5)),
            Rule("high", parse('("age >= 78" & smoker) | sepsis'), (0.9, 0.7)),
        ),
        PREDICATES,
        GROUPS,
        "none",
    )
    table = cohort(n, seed=4)
    case = Case(rules, table, *_labelled(rules, table))
    base = result_of(case)
    classes = [
        {
            **entry, "fidelity": 1.0, "equals_network": True, "relevance": [],
            "formula": entry["formula"].replace("≈", "↔").partition("   [")[0],
            "certified": {
                "domain": "all 8 rows of its 3 concepts", "smallest_logit": 2.31,
                "rounding_bound": 4e-6, "origin": "compiled from the formula",
            },
        }
        for entry in base["classes"]
    ]  # fmt: skip
    gender = np.random.default_rng(9).choice(["female", "male"], n)
    truth = np.array([[label == k for k in rules.names] for label in case.labels])
    subgroups = [
        {"name": name, "classes": statistics(rules, case.bits[gender == name], case.concepts, truth[gender == name])}
        for name in ("female", "male")
    ]
    more = {
        "title": "risk: rules from risk.csv", "exact": True, "classes": classes, "gap": None, "history": None,
        "statistics": {**base["statistics"], "by": "gender", "subgroups": subgroups},
    }  # fmt: skip
    return Case(rules, table, case.labels, case.network, more)


def several_labels(n: int = 80) -> Case:
    """Each label on its own."""
    rules = RuleSet(
        (
            Rule("sepsis later", parse('"age >= 66" & "unit is MICU"'), (0.7,)),
            Rule("long stay", parse('"bmi >= 30" | "age >= 78"'), (0.6, 0.5)),
        ),
        PREDICATES,
        GROUPS,
        multilabel=True,
    )
    table = cohort(n, seed=6)
    fires = rules.predict(table).astype(bool)
    truth = fires ^ (np.random.default_rng(3).random(fires.shape) < 0.1)
    return Case(rules, table, truth, [_several(rules.names, row) for row in fires])


MARKUP = (
    "<img src=x onerror=alert(1)>",
    "</script><script>window.pwned=1</script>",
    '"><svg onload=window.pwned=2>',
    "<!--<script> $\\frac{1}{0}$ {{ 7*7 }} & ' \u2028",
)


def hostile(n: int = 40) -> Case:
    """Columns, values and classes that would be markup, a formula of TeX or a template if anyone let them."""
    first, second, third, fourth = MARKUP
    predicates = {f"{third} is {first}": Predicate(third, "==", first), first: Predicate(first, ">=", 3)}
    formula = DNF(
        [*parse(f'"{_quoted(first)}" & ~"{_quoted(second)}"'), *parse(f'"{_quoted(third)} is {_quoted(first)}"')]
    )
    rules = RuleSet(
        (Rule(second, formula, (0.6, 0.5)), Rule(fourth, parse(f'"{_quoted(fourth)}"'), (0.4,))),
        predicates,
        otherwise=1,
    )
    random = np.random.default_rng(8)
    table = {
        first: random.integers(0, 7, n), second: random.integers(0, 2, n), third: random.choice([first, "b"], n),
        fourth: random.integers(0, 2, n),
    }  # fmt: skip
    case = Case(rules, table, *_labelled(rules, table))
    data = {
        "name": first,
        "rows": n,
        "columns": 4,
        "sha256": None,
        "target": second,
        "dropped": [{"column": first, "reason": third}],
    }
    more = {
        "title": f"{second}: rules from {first}",
        "command": f"logiclens explain '{first}' --target {third}", "data": data,
        "notes": list(MARKUP), "versions": {first: third},
    }  # fmt: skip
    return Case(rules, table, case.labels, case.network, more)


def bare(n: int = 12) -> Case:
    """As little as a result can hold: constant formulas, no rows, no history."""
    rules = RuleSet((Rule("common", DNF.true, (0.9,)), Rule("rare", DNF.false, ())), otherwise=0)
    table = {"smoker": np.arange(n) % 2}
    labels = ["common"] * n
    case = Case(rules, table, labels, labels)
    classes = result_of(case)["classes"]
    rare = {
        **classes[1], "relevance": [], "simplest": None,
        "reason": "the network never predicts 'rare' on these 12 rows",
        "remedy": "weigh the class, or gather more of its rows",
    }  # fmt: skip
    more = {
        "classes": [{**classes[0], "equals_network": True}, rare], "history": None, "rows": [], "rows_shown": 0,
        "gap": None, "confusion": None, "confusion_of_rules": None, "metrics": [], "command": None, "notes": [],
    }  # fmt: skip
    return Case(rules, table, labels, labels, more)


def kinds(n: int = 90) -> Case:
    """Three classes over columns of every kind and all operators, with missing values."""
    predicates = {
        "old": Predicate("age", ">=", 66.5), "young": Predicate("age", "<", 30), "dose 5": Predicate("dose", "==", 5),
        "heavy": Predicate("bmi", ">", 30), "light": Predicate("bmi", "<=", 18.5),
        "no bmi": Predicate("bmi", "missing"),
        "north": Predicate("unit", "==", "north ward"), "south": Predicate("unit", "==", "south"),
        "late": Predicate("admitted", ">=", "2021-03-01"), "early": Predicate("admitted", "<", "2020-06-15"),
        "noon": Predicate("seen", ">", "2021-03-01T12:30"), "long": Predicate("stay", ">=", "2 days 06:00:00"),
        "smokes": Predicate("smoker", "==", True), "unknown": Predicate("insurer", "missing"),
    }  # fmt: skip
    formulas = {
        "high": 'old & heavy | "no bmi" & smokes | late & icu & ~noon | "dose 5" & long',
        "middle": "young & ~north | light & south | unknown & early | sepsis & long",
        "low": "early & ~long | north & ~smokes & ~sepsis",
    }
    rules = RuleSet(
        (
            Rule("high", parse(formulas["high"]), (0.9, 0.8, 0.5, 0.61)),
            Rule("middle", parse(formulas["middle"]), (0.7, 0.6, 0.55, 0.5)),
            Rule("low", parse(formulas["low"]), (0.65, 0.4)),
        ),
        predicates,
        Groups(exclusive=[["north", "south"], ["sepsis", "icu"]]),
        otherwise=2,
    )
    random = np.random.default_rng(12)

    def column(*values: Any) -> Any:
        return np.array([values[i] for i in random.integers(0, len(values), n)], dtype=object)

    table = {
        "age": column(20.0, 30.0, 66.5, 80.25, None), "dose": column(4.0, 5.0, None),
        "bmi": column(18.5, 30.0, 31.0, None), "unit": column("north ward", "south", "west", None),
        "admitted": column("2020-01-01", "2021-03-01", "2022-05-05", None),
        "seen": column("2021-03-01T12:30", "2021-03-01T12:31", None), "stay": column("1 day", "2 days 06:00:00", None),
        "smoker": column(True, False, None), "insurer": column("A", None), "sepsis": column(0, 1), "icu": column(0, 1),
    }  # fmt: skip
    return Case(rules, table, *_labelled(rules, table))


def dates(n: int = 60) -> Case:
    """Three classes over dates and their parts, with missing values and times of day."""
    month, weekday, hour, ended_on = (
        DatePart(kind, (column,))
        for kind, column in (("month", "begun"), ("weekday", "begun"), ("hour", "begun"), ("weekday", "ended"))
    )
    stay = DatePart("days", ("begun", "ended"))
    predicates = {
        "winter": Predicate(month.name, ">=", 12, month), "spring": Predicate(month.name, "<", 6, month),
        "weekend": Predicate(weekday.name, ">=", 6, weekday), "monday": Predicate(weekday.name, "==", 1, weekday),
        "evening": Predicate(hour.name, ">=", 18, hour), "long": Predicate(stay.name, ">=", 3, stay),
        "very long": Predicate(stay.name, ">", 29.5, stay), "back": Predicate(stay.name, "<", 0, stay),
        "left on a weekend": Predicate(ended_on.name, ">", 5, ended_on),
        "recent": Predicate("begun", ">=", "2021-03-01"), "new": Predicate("begun", ">", "2021-12-24T17:30:00"),
        "open": Predicate("ended", "missing"), "old": Predicate("age", ">=", 66.5),
        "born late": Predicate("born", "<", "1960-05-01"),
    }  # fmt: skip
    formulas = {
        "high": 'weekend & evening | winter & ~new & "very long" | open & old | "left on a weekend" & recent & ~long',
        "middle": 'monday & ~recent | spring & long & "born late" | back',
        "low": 'weekend & winter & "left on a weekend" | evening & ~old',
    }
    rules = RuleSet(
        (
            Rule("high", parse(formulas["high"]), (0.9, 0.85, 0.5, 0.61)),
            Rule("middle", parse(formulas["middle"]), (0.7, 0.6, 0.55)),
            Rule("low", parse(formulas["low"]), (0.65, 0.4)),
        ),
        predicates,
        Groups(implied=[["long", "very long"]]),
        otherwise=2,
    )
    random = np.random.default_rng(14)

    def column(*values: Any) -> Any:
        return np.array([values[i] for i in random.integers(0, len(values), n)], dtype=object)

    table = {
        "begun": column("2020-02-29T19:15", "2021-12-24T17:30", "2021-12-25T18:00", "2022-05-02", None),
        "ended": column("2020-03-02", "2021-12-27T23:59:59", "2022-06-04T08:00", None),
        "age": column(20.0, 80.25, None), "born": column("1950-01-01", "1990-07-07", None),
    }  # fmt: skip
    return Case(rules, table, *_labelled(rules, table))


def large() -> Case:
    """Ten classes over sixty long-named concepts, a thousand rows."""
    names = [f"the share of households with access to service number {i}" for i in range(60)]
    random = np.random.default_rng(11)
    rules = []
    for k in range(10):
        cubes = [
            " & ".join(("~" if random.random() < 0.3 else "") + f'"{names[j]}"' for j in random.choice(60, 4, False))
            for _ in range(6)
        ]
        formula = parse(" | ".join(f"({cube})" for cube in cubes))
        rules.append(Rule(f"regime type {k}", formula, tuple(random.random(len(formula)).round(3).tolist())))
    table = {name: random.integers(0, 2, 1000) for name in names}
    ruleset = RuleSet(tuple(rules), otherwise=3)
    case = Case(ruleset, table, *_labelled(ruleset, table))
    return Case(ruleset, table, case.labels, case.network, {"rows_total": 25000, "history": _history(1000)})


CASES = {
    "patients": patients, "certified": certified, "several_labels": several_labels, "hostile": hostile, "bare": bare,
    "large": large, "one_formula": one_formula, "in_order": in_order,
    "kinds": kinds, "dates": dates, "categories": categories,
}  # fmt: skip
