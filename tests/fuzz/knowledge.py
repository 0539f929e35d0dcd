"""Door of files of knowledge: TOML texts that are well formed, mutated, or hostile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from hypothesis import strategies as st

from logiclens.formula.knowledge import ClassKnowledge, Knowledge, TableColumns, prove, read_knowledge
from tests.fuzz import hostile, possible
from tests.fuzz.judge import Failure, Outcome, Place, Refused, attempt
from tests.fuzz.samples import SAMPLES, Row, cube_holds, fitted, predicate_holds, sample

Record = Mapping[str, Any]

KINDS = {"unit": "text", "age": "number", "flag": "boolean", "dose": "number", "admitted": "date"}
"""The columns of the samples."""
LISTS = ("forbidden_columns", "late_columns", "preferred_columns", "protected_columns", "forbidden")
PIECES = (
    "[classes.died]",
    "=",
    "[",
    "]",
    "'",
    '"',
    "\n",
    "{",
    "}",
    "1e999",
    "nan",
    "miss",
    "inf",
    "2021-01-01",
    "\x00",
)
TEXTS = ("age >= 70", "age < 1", "unit is A", "not x", "a & b", "a &", "&", "is", "x is missing", "x > 3", "")


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the lines of a file, and pieces put into it."""
    texts = st.sampled_from(TEXTS) | hostile.texts(lone=False)
    lines = [
        f"{draw(st.sampled_from(LISTS))} = {draw(st.lists(texts, max_size=2))!r}"
        for _ in range(draw(st.integers(0, 3)))
    ]
    if draw(st.booleans()):
        number = draw(st.sampled_from(["1", "-1", "0", "nan", "'x'", "1e400", "true"]))
        lines += ["[classes.died]", f"required_rules = {draw(st.lists(texts, max_size=2))!r}", f"miss = {number}"]
    text = "\n".join(lines)
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(PIECES)) + text[at:]
    return {"text": text, "asked": draw(questions())}


@st.composite
def questions(draw: st.DrawFn) -> dict[str, Any]:
    """Draw what somebody knows of the table of a sample, of which its rules may know nothing."""
    name = draw(st.sampled_from([name for name in SAMPLES if name != "hostile"]))
    classes = [str(entry["class"]) for entry in sample(name).rules["classes"]]
    conditions = [f"age >= {draw(st.integers(20, 90))}", f"dose < {draw(st.integers(1, 8))}", "unit is MICU", "flag"]
    return {
        "sample": name,
        "class": draw(st.sampled_from(classes)),
        "part": draw(
            st.sampled_from(["forbidden_columns", "forbidden", "required_conditions", "increasing", "decreasing"])
        ),
        "column": draw(st.sampled_from(["age", "dose", "admitted", "flag"])),
        "conditions": draw(st.lists(st.sampled_from(conditions), min_size=1, max_size=2, unique=True)),
    }


def check(case: dict[str, Any], place: Place) -> Outcome:
    """Prove what is asked; read the file: it is refused in one sentence, or survives its own dictionary."""
    file = place.write("known.toml", case["text"].encode("utf-8", "replace"))
    place.seal()
    _check_proof(case["asked"])
    known = attempt(read_knowledge, file)
    if isinstance(known, Refused):
        return Outcome.refused
    if Knowledge.from_dict(known.to_dict()) != known:
        raise Failure("knowledge changes when it is written", repr(known)[:200])
    return Outcome.agreed


# Proofs --------------------------------------------------------------------------------------------------------------


def _check_proof(asked: dict[str, Any]) -> None:
    """Compare the proof of one constraint with all possible rows, listed one by one."""
    rules, fitted_rules = sample(asked["sample"]).rules, fitted(asked["sample"]).rules_
    names = [str(entry["class"]) for entry in rules["classes"]]
    place, part, text = names.index(asked["class"]), asked["part"], " & ".join(asked["conditions"])
    columns = TableColumns(KINDS, frozenset(), frozenset(), tuple(names), bool(rules["multilabel"]))
    value = {"forbidden": [text], "required_conditions": asked["conditions"]}.get(part, [asked["column"]])
    if part in ("forbidden_columns", "forbidden"):
        known = Knowledge(**{part: tuple(value)})
    else:
        known = Knowledge(classes={asked["class"]: ClassKnowledge(**{part: tuple(value)})})
    bound = attempt(known.bound_to, columns)
    if isinstance(bound, Refused):
        return
    proofs = prove(fitted_rules, bound)
    if part == "required_conditions":
        expected = [_each_implies(rules, place, [one]) for one in asked["conditions"]]
    elif part == "forbidden":
        expected = [not _some_implies(rules, asked["conditions"])]
    elif part == "forbidden_columns":
        expected = [not any(possible.mentions(rules, at, asked["column"]) for at in range(len(names)))]
    else:
        expected = [_keeps(rules, place, asked["column"], rises=part == "increasing")]
    if [proof.holds for proof in proofs] != expected:
        raise Failure("a proof of knowledge is wrong", f"{asked}: {[str(proof) for proof in proofs]}")


def _rows(rules: Record, conditions: Sequence[str]) -> list[Row]:
    """The possible rows that rules or conditions tell apart."""
    told = {text: _meant(text) for text in conditions}
    predicates = {**rules["predicates"], **{text: meant for text, (meant, _) in told.items()}}
    return possible.rows({**rules, "predicates": predicates})[0]


def _meant(text: str) -> tuple[Record, bool]:
    if text == "flag":
        return {"column": "flag", "operator": "==", "value": True}, True
    if text == "unit is MICU":
        return {"column": "unit", "operator": "==", "value": "MICU"}, True
    column, sign, value = text.split()
    # Below is the negation of at least, also where the value is missing.
    return {"column": column, "operator": ">=", "value": float(value)}, sign == ">="


def _all_hold(conditions: Sequence[str], row: Row) -> bool:
    meant = [_meant(text) for text in conditions]
    return all(predicate_holds(one, row[one["column"]]) == holds for one, holds in meant)


def _implies(rules: Record, cube: Record, conditions: Sequence[str]) -> bool:
    rows = _rows(rules, conditions)
    return all(_all_hold(conditions, row) for row in rows if cube_holds(rules, cube, row))


def _some_implies(rules: Record, conditions: Sequence[str]) -> bool:
    own = [cube for entry in rules["classes"] for cube in entry.get("cubes", ())]
    rest = [
        cube
        for entry in rules["classes"] if "complement_of" in entry
        for cube in _rest_of(rules["classes"][entry["complement_of"]]["cubes"])
    ]  # fmt: skip
    return any(_implies(rules, cube, conditions) for cube in (*own, *rest))


def _rest_of(cubes: Sequence[Record]) -> list[Record]:
    """The shortest cubes of the rows on which none of some cubes holds: each breaks one condition of every cube."""
    broken: list[frozenset[tuple[str, bool]]] = []
    for choice in product(*(cube["if"].items() for cube in cubes)):
        asked = frozenset((name, not positive) for name, positive in choice)
        if len(dict(asked)) == len(asked):
            broken.append(asked)
    return [{"if": dict(asked)} for asked in broken if not any(other < asked for other in broken)]


def _each_implies(rules: Record, place: int, conditions: Sequence[str]) -> bool:
    entry = rules["classes"][place]
    return "cubes" in entry and all(_implies(rules, cube, conditions) for cube in entry["cubes"])


def _keeps(rules: Record, place: int, column: str, *, rises: bool) -> bool:
    """Whether a class only gains rows by a step of a column, and the others only lose them."""
    if not possible.rises(rules, place, column, increasing=rises):
        return False
    others = [at for at in range(len(rules["classes"])) if at != place]
    if rules["multilabel"]:
        return True
    return all(possible.rises(rules, at, column, increasing=not rises) for at in others)
