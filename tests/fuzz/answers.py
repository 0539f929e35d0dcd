"""What commands answer, compared with rules, networks and rows that are evaluated one by one."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from logiclens.estimator import EntropyClassifier
from logiclens.verify import verify
from tests.fuzz import possible
from tests.fuzz.judge import Failure, Refused, attempt
from tests.fuzz.possible import Unreadable
from tests.fuzz.samples import Row, Sample, by_network, decided, fired, rows_of

Record = Mapping[str, Any]

ASKED = {"age": 70.0, "unit": "MICU", "flag": True, "dose": 5, "admitted": "2021-08-02"}
"""The row that `why` and `flip` are asked about without a table."""
READING = {"--delimiter", "--missing", "--sheet"}
"""Options that change what a table holds, so that its rows are not those that were written."""


@dataclass(frozen=True)
class Answered:
    """A command that ended well: what it was asked, and what it wrote.

    Attributes:
        command: its name.
        origin: the sample whose folder it was given.
        content: `model.json` of that folder.
        is_edited: whether the folder was changed.
        options: the options, as words.
        frame: the rows of its table; None if they are not known.
        by_engine: whether an engine answers.
        out: what it printed.
        code: how it ended.
    """

    command: str
    origin: Sample
    content: Record
    is_edited: bool
    options: list[str]
    frame: pd.DataFrame | None
    by_engine: bool
    out: str
    code: int

    def value(self, option: str) -> str | None:
        """The value of an option; the last one counts."""
        places = [place for place, word in enumerate(self.options[:-1]) if word == option]
        return self.options[places[-1] + 1] if places else None

    @property
    def json(self) -> Any:
        """What was written as JSON; None if nothing was."""
        to = self.value("--json")
        if to is None or (to == "-" and self.value("-o") == "-"):
            return None
        return json.loads(self.out if to == "-" else Path(to).read_text("utf-8"))

    @property
    def rules(self) -> Record:
        """The rules of the folder."""
        rules: Record = self.content["rules"]
        return rules

    @property
    def rows(self) -> list[Row]:
        """The rows of the table."""
        return [] if self.frame is None else rows_of(self.frame)

    def answers(self) -> list[Any] | None:
        """The answers to the rows, recomputed; None if that cannot be done."""
        if self.origin.exact or "--rules" in self.options or self.by_engine:
            return [decided(self.rules, row) for row in self.rows]
        return by_network(self.origin, self.content, self.rows)


def check(asked: Answered) -> None:
    """Compare what a command says with a recomputation."""
    if asked.command in CHECKS and not READING & {*asked.options}:
        try:
            CHECKS[asked.command](asked)
        except (KeyError, TypeError, IndexError) as error:
            if not asked.is_edited:
                raise
            raise Failure("a folder that means nothing is answered", f"{type(error).__name__}: {error}") from None


# Predictions ---------------------------------------------------------------------------------------------------------


def _check_predict(asked: Answered) -> None:
    rows, form = _written(asked)
    expected = asked.answers() if asked.frame is not None else None
    if rows is None or expected is None or (form == "xlsx" and asked.origin.name == "hostile"):
        return
    names = [name for name in (rows[0] if rows else ()) if name.startswith("predicted ")]
    got = [[_cell(row[name], form) for name in names] for row in rows]
    keeps = "--keep-formulas" in asked.options
    wanted = [
        [_shown(answer, form, keeps) for answer in (answers if isinstance(answers, list) else [answers])]
        for answers in expected
    ]
    if asked.by_engine:
        # An engine may give the rows in any order.
        got, wanted = sorted(got, key=str), sorted(wanted, key=str)
    if got != wanted:
        raise Failure("predict writes other answers", f"{got} instead of {wanted}"[:600])
    if asked.value("--keep") == "unit" and not asked.by_engine:
        kept = [_shown(row["unit"], form, keeps) for row in asked.rows]
        if [_cell(row["unit"], form) for row in rows] != kept:
            raise Failure("predict keeps another column")
    for row in rows:
        trust = row.get("probability")
        if trust not in (None, "") and not 0 <= float(trust) <= 1:
            raise Failure("predict writes a probability that is not from 0 to 1", str(trust))


def _written(asked: Answered) -> tuple[list[Record] | None, str]:
    """The rows that `predict` wrote, read by other libraries than the product's, and their format."""
    out = asked.value("-o")
    if out is None or out == "-":
        if asked.value("--json") is not None:
            return (None, "") if out else (asked.json["rows"], "json")
        return list(csv.DictReader(io.StringIO(asked.out, newline=""))), "csv"
    if out.endswith(".csv"):
        return list(csv.DictReader(io.StringIO(Path(out).read_text("utf-8"), newline=""))), "csv"
    if out.endswith(".jsonl.gz"):
        return [json.loads(line) for line in gzip.decompress(Path(out).read_bytes()).splitlines()], "json"
    if out.endswith(".parquet"):
        return pd.read_parquet(out).astype(object).to_dict("records"), "json"
    if out.endswith(".xlsx"):
        frame = pd.read_excel(out, dtype=str, keep_default_na=False, engine="openpyxl")
        return frame.to_dict("records"), "xlsx"
    return None, ""


def _cell(value: Any, form: str) -> Any:
    if form == "xlsx":
        return value.lstrip("'")
    return None if form == "json" and pd.isna(value) else value


def _shown(answer: Any, form: str, keeps_formulas: bool) -> Any:
    if form == "json":
        return answer
    if answer is None:
        return ""
    text = str(answer)
    is_formula = isinstance(answer, str) and text[:1] in ("=", "+", "-", "@")
    return f"'{text}" if is_formula and form == "csv" and not keeps_formulas else text


def _check_score(asked: Answered) -> None:
    content, expected = asked.json, asked.answers() if asked.frame is not None else None
    if content is None or expected is None or asked.frame is None:
        return
    target = asked.value("--target") or asked.content["target"]
    labels = [None if pd.isna(label) else label for label in asked.frame[target].tolist()]
    known = [place for place, label in enumerate(labels) if label is not None]
    by_rules = [decided(asked.rules, row) for row in asked.rows]
    if content["rows"] != len(known) or content["left_out"] != len(labels) - len(known):
        raise Failure("score counts other rows", f"{content['rows']} of {len(known)}")
    # By an engine, rows count by their concepts, and the network decides where there is one.
    model = by_network(asked.origin, asked.content, asked.rows) if not asked.origin.exact else by_rules
    for name, answers in (("accuracy", model), ("accuracy_of_the_rules", by_rules)):
        if content[name] is None or answers is None:
            continue
        hits = sum(answers[place] == labels[place] for place in known)
        if (content[name]["hits"], content[name]["total"]) != (hits, len(known)):
            raise Failure(f"score has another {name.replace('_', ' ')}", f"{content[name]} instead of {hits}")


# Questions about rows ------------------------------------------------------------------------------------------------


def _asked_rows(asked: Answered) -> list[tuple[Record, Row]]:
    """What is told about each row, with the row."""
    content = asked.json
    if content is None:
        return []
    if "--row" in asked.options:
        is_whole = [word for word in asked.options if word.startswith("age=70,")] == [row_text()]
        return [(told, dict(ASKED)) for told in content["rows"] if is_whole and len(content["rows"]) == 1]
    return [] if asked.frame is None else [(told, asked.rows[told["row"] - 1]) for told in content["rows"]]


def row_text() -> str:
    """The row that is asked about, as the command line takes it."""
    return ",".join(f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
                    for name, value in ASKED.items())  # fmt: skip


def _check_why(asked: Answered) -> None:
    for told, row in _asked_rows(asked):
        if told["answer"] != decided(asked.rules, row):
            raise Failure("why gives another answer", f"{told['answer']} to {row}")
        fires = fired(asked.rules, row)
        if [entry["fires"] for entry in told["classes"]] != fires:
            raise Failure("why says that another class fires")
        for place, entry in enumerate(told["classes"]):
            holds = [possible.cube_holds(asked.rules, cube, row) for cube in possible.cubes_of(asked.rules, place)]
            if [rule["fires"] for rule in entry["rules"]] != holds:
                raise Failure("why says that another rule fires")
            if any(bool(rule["lacks"]) == rule["fires"] for rule in entry["rules"]):
                raise Failure("why names what a rule lacks that fires, or not what it lacks")
            for rule in entry["rules"] if _is_plain(asked) else ():
                if any(possible.says(lack["wanted"], row) for lack in rule["lacks"]):
                    raise Failure("why says that a row lacks what it has", str(rule["lacks"]))


def _is_plain(asked: Answered) -> bool:
    """Whether the names of the sample can be told from the words around them."""
    return not asked.is_edited and asked.origin.name != "hostile"


def _check_flip(asked: Answered) -> None:
    of, to = asked.value("--of"), asked.value("--to")
    frozen = {word for option, word in itertools.pairwise(asked.options) if option == "--freeze"}
    names = [str(entry["class"]) for entry in asked.rules["classes"]]

    def answer(row: Row) -> Any:
        return decided(asked.rules, row) if of is None else fired(asked.rules, row)[names.index(of)]

    for told, row in _asked_rows(asked):
        before, after = told["before"], told["after"]
        if before != answer(row):
            raise Failure("flip starts from another answer", f"{before} of {row}")
        changed = [name for change in told["changes"] for name in change["columns"]]
        free = [name for name in possible.columns(asked.rules) if name not in frozen]
        if not {*changed} <= {*free}:
            raise Failure("flip changes a column that is frozen", str(changed))
        wanted = [after] if changed else [label for label in _others(asked, before) if to in (None, str(label))]
        for fewer in itertools.combinations(free, max(len(changed) - 1, 0) if changed else len(free)):
            if possible.asks_parts(asked.rules) or asked.is_edited or (not changed and str(before) == to):
                break
            goal = wanted if to is not None or not changed else _others(asked, before)
            if any(answer(other) in goal for other in possible.changed_rows(asked.rules, row, fewer)):
                raise Failure("flip misses a smaller change", f"{fewer} of {row}")
        if not changed:
            continue
        if after == before or (to is not None and str(after) != to):
            raise Failure("flip reaches another answer than it was asked for")
        found = [
            other
            for other in possible.changed_rows(asked.rules, row, changed)
            if not _is_plain(asked) or all(possible.says(change["wanted"], other) for change in told["changes"])
        ]
        reached = [answer(other) == after for other in found]
        if not any(reached) or (_is_plain(asked) and not all(reached)):
            raise Failure("the change that flip names does not give the answer", f"{told} of {row}")


def _others(asked: Answered, before: Any) -> list[Any]:
    if isinstance(before, bool):
        return [not before]
    return [entry["class"] for entry in asked.rules["classes"] if entry["class"] != before]


# Properties and differences ------------------------------------------------------------------------------------------


def _check_check(asked: Answered) -> None:
    content = asked.json
    if content is None or possible.asks_parts(asked.rules):
        return
    of, rules = asked.value("--of"), asked.rules
    names = [str(entry["class"]) for entry in rules["classes"]]
    for told in content["properties"]:
        text = told["property"]
        both = re.fullmatch(r"never both(?: '(.+)' and '(.+)')?", text)
        if both:
            places = [names.index(name) for name in both.groups()] if both[1] else range(len(names))
            if told["holds"] == possible.meet(rules, places):
                raise Failure("check is wrong about classes that never both fire", text)
            if not told["holds"]:
                _check_met(asked, told["reason"], names)
            continue
        for entry in told["classes"]:
            place = names.index(str(entry["class"]))
            holds = _has(rules, place, text)
            if holds is not None and entry["holds"] != holds:
                raise Failure("check is wrong about a property", f"{text} of {names[place]}: {entry}")
            if not entry["holds"]:
                _check_counterexample(asked, place, text, entry["reason"])
        if told["holds"] != all(entry["holds"] for entry in told["classes"]):
            raise Failure("check does not say of all classes what it says of each")
        if of is None and len(told["classes"]) != len(names):
            raise Failure("check leaves out a class")


def _has(rules: Record, place: int, text: str) -> bool | None:
    """Whether the formula of a class has a property on every possible row."""
    match = re.fullmatch(r"(never uses|increasing in|decreasing in) '(.+)'", text)
    if match is None:
        formula = _formula(text)
        return None if formula is None else possible.implied(rules, place, formula)
    if match[1] == "never uses":
        return not possible.mentions(rules, place, match[2])
    if match[2] not in possible.columns(rules):
        return None
    return possible.rises(rules, place, match[2], increasing=match[1] == "increasing in")


def _formula(text: str) -> list[dict[str, bool]] | None:
    match = re.fullmatch(r'implies (~?)(?:"([^"\\]+)"|(\w+))', text)
    return None if match is None else [{match[2] or match[3]: not match[1]}]


def _check_counterexample(asked: Answered, place: int, text: str, reason: str) -> None:
    """Fail unless a row as the reason says breaks the property."""
    formula = _formula(text)
    match = re.fullmatch(r"it fires where (.+), and .+ does not hold there", reason)
    if not _is_plain(asked) or formula is None or match is None:
        return
    known = possible.conditions(asked.rules)
    also = [concept for cube in formula for concept in cube if concept not in known]
    found = [row for row in possible.rows(asked.rules, also=also)[0] if possible.says(match[1], row)]
    broken = [
        fired(asked.rules, row)[place]
        and not any(possible.cube_holds(asked.rules, {"if": cube}, row) for cube in formula)
        for row in found
    ]
    if not broken or not all(broken):
        raise Failure("the counterexample of check is none", f"{text}: {reason}")


def _check_met(asked: Answered, reason: str, names: Sequence[str]) -> None:
    match = re.fullmatch(r"the rules of (.+) and of (.+) fire where (.+)", reason)
    if not _is_plain(asked) or match is None:
        return
    found = [row for row in possible.rows(asked.rules)[0] if possible.says(match[3], row)]
    both = [all(fired(asked.rules, row)[names.index(name)] for name in match.groups()[:2]) for row in found]
    if not both or not all(both):
        raise Failure("the counterexample of check is none", reason)


def _check_diff(asked: Answered) -> None:
    """Compare what differs from the sample, on the rows of the table and on every possible row."""
    content, old = asked.json, asked.origin.rules
    if content is None:
        return
    if content["changed"] != (asked.code == 1):
        raise Failure("diff ends in another code than it says")
    if not asked.is_edited and (content["differs"] or content["changed"]):
        raise Failure("a model differs from itself")
    if content["rows"] is not None and asked.frame is not None:
        differ = [n for n, row in enumerate(asked.rows, 1) if decided(asked.rules, row) != decided(old, row)]
        if content["rows"]["differing"] != differ:
            raise Failure("diff names other rows", f"{content['rows']['differing']} instead of {differ}")
    cells = {
        name: [*possible.values(old, name), *possible.values(asked.rules, name)]
        for name in {*possible.columns(old), *possible.columns(asked.rules)}
    }
    rows = [dict(zip(cells, row, strict=True)) for row in itertools.islice(itertools.product(*cells.values()), 3000)]
    try:
        other = [row for row in rows if decided(asked.rules, row) != decided(old, row)]
    except (TypeError, ValueError):
        # Both ask a column for values of different kinds.
        return
    if other and not content["changed"] and all(possible.allowed(rules, other[0]) for rules in (old, asked.rules)):
        raise Failure("diff misses a change", str(other[0]))


# New models ----------------------------------------------------------------------------------------------------------


def _check_edit(asked: Answered) -> None:
    """Verify the edited model, and compare its answers with its own rules."""
    out = asked.value("-o")
    if out is None:
        return
    path = Path(out)
    if isinstance(report := attempt(verify, path), Refused):
        raise Failure("an edited model is not verified", report.message)
    new = json.loads((path / "model.json").read_text("utf-8"))["rules"]
    frame = asked.origin.frame
    if EntropyClassifier.load(path).predict(frame).tolist() != [decided(new, row) for row in rows_of(frame)]:
        raise Failure("an edited model does not answer as its rules")


def check_edited(old: Record, entries: Sequence[Record], folder: Path) -> None:
    """Compare the rules of an edited model with an edit of their JSON, where that is simple."""
    rules = json.loads(json.dumps(old))
    for entry in entries:
        if entry["do"] == "without":
            name, _, number = entry["rule"].rpartition("#")
            found = [one for one in rules["classes"] if str(one["class"]) == name]
            del found[0]["cubes"][int(number) - 1]
        elif entry["do"] == "with_threshold":
            rules["predicates"][entry["condition"]]["value"] = entry["value"]
        else:
            return
    new = json.loads((folder / "model.json").read_text("utf-8"))["rules"]
    for row in (*possible.rows(rules)[0], *possible.rows(old)[0]):
        if decided(rules, row) != decided(new, row):
            raise Failure("an edit does something else", f"{entries} on {row}")


def check_known(text: str, folder: Path) -> None:
    """Check on every possible row that a model which was learned within knowledge keeps to it."""
    import tomllib

    known = tomllib.loads(text)
    rules = json.loads((folder / "model.json").read_text("utf-8"))["rules"]
    names = [str(entry["class"]) for entry in rules["classes"]]
    removed = {*known.get("forbidden_columns", ()), *known.get("late_columns", ())}
    if used := removed & {*possible.columns(rules)}:
        raise Failure("rules use a column that knowledge forbids", str(used))
    for name, entry in known.get("classes", {}).items():
        for column in entry.get("increasing", ()):
            if not possible.rises(rules, names.index(name), column):
                raise Failure("a class falls with a column with which it must rise", f"{name}, {column}")


CHECKS = {
    "predict": _check_predict, "score": _check_score, "why": _check_why, "flip": _check_flip, "check": _check_check,
    "diff": _check_diff, "edit": _check_edit,
}  # fmt: skip
__all__ = ["Answered", "Unreadable", "check", "check_edited", "check_known", "row_text"]
