"""Commands on saved models: `verify`, `export`, `diff` and `report`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from logiclens.cli.options import TableSource
from logiclens.cli.output import STANDARD, Printer, check_outputs, check_page_name, print_error, write_json, write_text
from logiclens.errors import LogicLensError, quoted
from logiclens.export.registry import ExportFormat, format_named
from logiclens.formula.diff import (
    MAX_DIFF_CUBES,
    CubeChange,
    always,
    changed_answer,
    impossible,
    in_one_language,
    regions,
)
from logiclens.formula.dnf import DNF, Complement, Cube, Literal
from logiclens.formula.english import TableFacts, category_unions, region_words, union_words
from logiclens.formula.model_record import open_record, read_record
from logiclens.formula.rule_set import RuleSet
from logiclens.formula.text import format_formula
from logiclens.storage import RESULT, open_folder, write_whole
from logiclens.verify import VerificationError, verify

if TYPE_CHECKING:
    from logiclens.metrics.rule_statistics import StatisticsRecord
    from logiclens.storage import ModelFolder

MOST_REGIONS = 10
"""The largest number of regions that `diff` prints of what a class gained or lost; `--json` has all."""


def verify_model(folder: Path, *, json: str | None, quiet: bool) -> int:
    """Check the certificate of a model folder; print it and return the exit code."""
    check_outputs(json)
    try:
        report = verify(folder)
    except VerificationError as error:
        return _refused(folder, error, json)
    write_json(
        {
            "model": str(folder),
            "verified": True,
            "classes": [asdict(entry) for entry in report.classes],
            "meanings": report.meanings,
            "columns": report.columns,
            "target": report.target,
            "decides": report.decides,
            "history": report.history,
            "does_not_cover": report.does_not_cover,
        },
        json,
    )
    Printer(quiet=quiet or json == STANDARD).say(str(report))
    return 0


def _refused(folder: Path, error: VerificationError, json: str | None) -> int:
    """Print why a model is not verified, and return the exit code."""
    refuted = error.exit_code == 1
    write_json({"model": str(folder), "verified": False, "refuted": refuted, "reason": str(error)}, json)
    print_error(f"{'refuted' if refuted else 'not verified'}: {error}")
    return error.exit_code


def export_rules(
    folder: Path, form: str, *, dialect: str, table: str, out: str | None, json: str | None, quiet: bool
) -> None:
    """Write the rules of a saved model in another format, to a file or to standard output."""
    check_outputs(out, json)
    opened = open_folder(folder)
    model = read_record(opened)
    if model.rules is None:
        raise LogicLensError(f"{folder} holds no rules.")
    printer, asked, text = Printer(quiet=quiet), format_named(form), None
    if out not in (None, STANDARD):
        _check_suffix(asked, str(out))
    rules = RuleSet.from_dict(opened.content["rules"])
    if not asked.is_binary or out in (None, STANDARD):
        text = asked.text(rules, dialect=dialect, table=table)
    content = asked.content(rules, statistics=_statistics(opened, rules)) if text is None else b""
    if not model.exact:
        printer.note("note: these rules are about the model, they are not the model: it was not made exact.")
    if text is None:
        write_whole(str(out), content)
    elif json is None or out is not None:
        write_text(text if text.endswith("\n") else f"{text}\n", out or STANDARD)
    write_json({"model": str(folder), "to": form, "exact": model.exact, "text": text}, json)
    if out not in (None, STANDARD):
        printer.note(f"The rules are in {out}.")


def _check_suffix(asked: ExportFormat, out: str) -> None:
    """Refuse a name that makes a program take text for a workbook, or a workbook for text."""
    from logiclens.tables.formats import WORKBOOK

    path = Path(out)
    suffix = path.suffix.lower()
    if asked.is_binary and suffix != asked.suffix and (path.is_file() or not path.exists()):
        raise LogicLensError(f"cannot write {out}: it would hold {asked.title}; its name must end in {asked.suffix}.")
    if not asked.is_binary and suffix in WORKBOOK:
        raise LogicLensError(f"cannot write {out}: it would hold {asked.title}; say --to xlsx, or name another file.")


def _statistics(opened: ModelFolder, rules: RuleSet) -> StatisticsRecord | None:
    """Return what was measured of the rules when they were learned; None for rules that were edited since."""
    if RESULT not in opened.files:
        return None
    # Imported here, because only sheets need it.
    from logiclens.report.result import read_result

    result = read_result(opened.result())
    return result.statistics if [*result.rules.formulas] == [*rules.formulas] else None


def diff_models(before: Path, after: Path, *, reading: TableSource | None, json: str | None, quiet: bool) -> bool:
    """Print what changed per class and on which rows of a table; return whether anything changed."""
    check_outputs(json)
    content: dict[str, Any] = {"before": str(before), "after": str(after)}
    old, new = RuleSet.load(before), RuleSet.load(after)
    _check_targets(before, after)
    content |= compared(old, new, reading)
    write_json(content, json)
    _print(Printer(quiet=quiet or json == STANDARD), content, (new if old.facts.target is None else old).class_heading)
    return bool(content["changed"])


def _check_targets(before: Path, after: Path) -> None:
    """Refuse models of different targets; exported rules do not know theirs."""
    targets = [open_record(folder).target for folder in (before, after) if folder.is_dir()]
    if len(targets) == 2 and None not in targets and targets[0] != targets[1]:
        raise LogicLensError(
            f"the models answer different questions, {quoted(targets[0])} and {quoted(targets[1])}: compare models of "
            "one target."
        )


def compared(before: RuleSet, after: RuleSet, reading: TableSource | None = None) -> dict[str, Any]:
    """Return what changed, as plain data."""
    old, new = in_one_language(before, after)
    common = [name for name in old.names if name in new.names]
    if not common or old.multilabel != new.multilabel:
        raise LogicLensError(
            f"the models have nothing in common to compare: they know the classes {', '.join(old.names[:8])} and "
            f"{', '.join(new.names[:8])}."
        )
    never, holds = impossible([old, new]), always([old, new])
    content: dict[str, Any] = {
        "only_before": [name for name in old.names if name not in new.names],
        "only_after": [name for name in new.names if name not in old.names],
        "classes": [_class(name, old, new, never, holds) for name in common],
        "otherwise": {"before": _otherwise(old), "after": _otherwise(new)},
        "resolve": {"before": old.resolve, "after": new.resolve},
        "order": {"before": _order(old), "after": _order(new)},
        "swapped": [] if old.multilabel else _swapped(old, new, never),
        "rows": None if reading is None else _rows(before, after, reading),
    }
    differs = bool(
        content["only_before"]
        or content["only_after"]
        or any(not entry["equivalent"] for entry in content["classes"])
        or content["otherwise"]["before"] != content["otherwise"]["after"]
        or (None not in content["order"].values() and content["order"]["before"] != content["order"]["after"])
        or content["swapped"]
    )
    example, decided = None, old.multilabel or "none" in (old.resolve, new.resolve)
    if differs and not decided:
        # Rules may differ where other rules decide: only an answer that changes is a change.
        try:
            example, decided = changed_answer(old, new), False
        except LogicLensError:
            # The rule sets disagree on the kind of a column.
            decided = True
    changed = differs and (decided or example is not None)
    content["example"] = None if example is None else asdict(example)
    content["differs"] = differs
    content["changed"] = bool(changed or (content["rows"] or {}).get("differing"))
    return content


def _class(
    name: str, old: RuleSet, new: RuleSet, never: Callable[[Cube], bool], holds: Callable[[DNF], bool]
) -> dict[str, Any]:
    found = old.rule(name).formula.diff(new.rule(name).formula)
    gained, lost = (_possible(formula, never, holds) for formula in (found.gained, found.lost))
    same = found.equivalent or (gained == DNF.false and lost == DNF.false)
    now_also, no_longer = (None if one is None else _in_words(one, old, new) for one in (gained, lost))
    untold = [words for words, told in (("gained", now_also), ("lost", no_longer)) if told is None]
    return {
        "class": name,
        "before": format_formula(found.before, "unicode"),
        "after": format_formula(found.after, "unicode"),
        "identical": found.before == found.after,
        "equivalent": same,
        "otherwise": {"before": isinstance(found.before, Complement), "after": isinstance(found.after, Complement)},
        "changes": [] if same else _changes(_paired(found.changes, old, new), name, old, new),
        "gained": None if gained is None else format_formula(gained, "unicode"),
        "lost": None if lost is None else format_formula(lost, "unicode"),
        "now_also": now_also or [],
        "no_longer": no_longer or [],
        "remark": f"what is {' and '.join(untold)} takes more than {MAX_DIFF_CUBES:,} cubes to say" if untold else "",
    }


def _in_words(formula: DNF | Complement, *rules: RuleSet) -> list[str] | None:
    """Return the regions of a difference in words; None if they are too many to be told."""
    found = regions(formula, rules)
    if found is None:
        return None
    known = {concept: one.predicate(concept) for one in reversed(rules) for concept in one.concepts}
    facts = _common_facts(rules)
    return region_words(found.cubes, known, facts)


def _common_facts(rules: Sequence[RuleSet]) -> TableFacts:
    """Return what is known of a column from every rule set that uses it."""
    columns = dict.fromkeys(column for one in rules for column in one.columns)
    users = {column: [one.facts for one in rules if column in one.columns] for column in columns}
    return TableFacts(
        whole=tuple(column for column in columns if all(column in facts.whole for facts in users[column])),
        complete=tuple(column for column in columns if all(column in facts.complete for facts in users[column])),
        categories={
            column: users[column][0].categories[column]
            for column in columns
            if len({frozenset(facts.categories.get(column, ())) for facts in users[column]}) == 1
            and column in users[column][0].categories
        },
    )


def _possible(
    formula: DNF | Complement | None, never: Callable[[Cube], bool], holds: Callable[[DNF], bool]
) -> DNF | Complement | None:
    """Return the part of a difference that some possible row can show."""
    if isinstance(formula, Complement):
        return DNF.false if holds(formula.of) else formula
    return None if formula is None else DNF(cube for cube in formula if not never(cube))


def _order(rules: RuleSet) -> list[str] | None:
    """Return the classes in the order in which they decide; None if no order decides or there is only one formula."""
    if rules.resolve != "order" or rules.multilabel or len(rules.order) < 2:
        return None
    return [rules.names[place] for place in rules.order]


def _paired(changes: Sequence[CubeChange], old: RuleSet, new: RuleSet) -> list[CubeChange]:
    """Pair a removed rule with an added one that has the same comparisons on the same columns."""
    came = [change.after for change in changes if change.before is None and change.after is not None]
    paired = []
    for change in changes:
        if change.before is not None and change.after is None:
            asks = _asks(change.before, old)
            partner = next((cube for cube in came if _asks(cube, new) == asks), None)
            if partner is not None:
                came.remove(partner)
                change = CubeChange(change.before, partner)
        if change.before is not None:
            paired.append(change)
    return [*paired, *(CubeChange(None, cube) for cube in came)]


def _asks(cube: Cube, rules: RuleSet) -> list[tuple[str, str, bool]]:
    return sorted(_asked(literal, rules) for literal in cube)


def _asked(literal: Literal, rules: RuleSet) -> tuple[str, str, bool]:
    """Return column, operator and sign of a literal: all but its value."""
    predicate = rules.predicate(literal.concept)
    return predicate.column, predicate.operator, literal.positive


def _changes(changes: Sequence[CubeChange], name: str, old: RuleSet, new: RuleSet) -> list[str]:
    """Return a line for each change; cubes that differ in one category only and change alike are one rule."""
    alike: dict[Any, dict[Cube, CubeChange]] = {}
    for change in changes:
        (cube,) = [one for one in (change.before, change.after) if one is not None][:1]
        kind = "gone" if change.after is None else "new" if change.before is None else "changed"
        steps = (change.dropped, change.added) if kind == "changed" else ()
        alike.setdefault((kind, steps), {})[cube] = change
    known = {**new.predicates, **old.predicates}
    unions = [[of[cube] for cube in union] for of in alike.values() for union in category_unions(list(of), known)]
    place = {id(change): at for at, change in enumerate(changes)}
    return [_told(union, name, old, new) for union in sorted(unions, key=lambda union: place[id(union[0])])]


def _told(changes: Sequence[CubeChange], name: str, old: RuleSet, new: RuleSet) -> str:
    """Return changes of one rule as one line; a new rule says how often it is found again, if that is known."""
    before = [change.before for change in changes if change.before is not None]
    after = [change.after for change in changes if change.after is not None]
    if not after:
        return f"gone: {_shown(before, old)}"
    rule, [change, *_] = new.rule(name), changes
    recurrence = rule.recurrence_of(after) if set(after) <= set(rule.cubes) else ""
    recurrence = f" ({recurrence})" if recurrence else ""
    if not before:
        return f"new: {_shown(after, new)}{recurrence}"
    steps, added = [], list(change.added)
    for literal in change.dropped:
        moved = next((other for other in added if _asked(other, new) == _asked(literal, old)), None)
        if moved is None:
            steps.append(f"without {_shown([Cube([literal])], old)}")
        else:
            added.remove(moved)
            steps.append(f"{_shown([Cube([literal])], old)} becomes {_shown([Cube([moved])], new)}")
    steps += [f"with {_shown([Cube([literal])], new)}" for literal in added]
    return f"changed: {_shown(before, old)}: {', '.join(steps)}{recurrence}"


def _shown(union: Sequence[Cube], rules: RuleSet) -> str:
    """Return a cube, or cubes that differ in one category only, in words."""
    return union_words(union, rules.predicates, rules.facts)


def _otherwise(rules: RuleSet) -> str | None:
    """Return the class of rows on which no formula fires."""
    return None if rules.otherwise is None or rules.resolve == "none" else rules.names[rules.otherwise]


def _swapped(old: RuleSet, new: RuleSet, never: Callable[[Cube], bool]) -> list[dict[str, Any]]:
    """Return pairs of rules of different classes that can fire together and whose order of deciding changed."""
    order = [[(rules.names[line.rule], line.cube) for line in rules.decisions] for rules in (old, new)]
    now = {line: at for at, line in enumerate(order[1])}
    kept = [line for line in order[0] if line in now]
    pairs = [(first, then) for at, then in enumerate(kept) for first in kept[at + 1 :] if now[first] < now[then]]
    return [
        {
            "first": {"class": first[0], "rule": _shown([first[1]], new)},
            "then": {"class": then[0], "rule": _shown([then[1]], old)},
        }
        for first, then in pairs
        if first[0] != then[0] and not first[1].excludes(then[1]) and not never(Cube([*first[1], *then[1]]))
    ]


def _rows(old: RuleSet, new: RuleSet, reading: TableSource) -> dict[str, Any]:
    # Imported here, because it loads pandas.
    from logiclens.cli.tables import check_columns

    file = reading.table()
    check_columns(file.frame, dict.fromkeys([*old.columns, *new.columns]), file.name, ", which the models need")
    first, second = old.predict(file.frame), new.predict(file.frame)
    if first.shape[1:] != second.shape[1:]:
        raise LogicLensError("the models give another number of labels: their rows cannot be compared.")
    differ = np.flatnonzero((first != second).reshape(len(first), -1).any(axis=1))
    return {"data": file.name, "total": len(first), "differing": (differ + 1).tolist()}


def _print(printer: Printer, content: dict[str, Any], heading: Callable[[str], str]) -> None:
    for key, words in (("only_before", "no longer a class"), ("only_after", "a new class")):
        for name in content[key]:
            printer.say(f"{words}: {heading(name)}", style="bold")
    for told in content["classes"]:
        printer.say(heading(told["class"]), style="bold")
        turned = told["otherwise"]
        if turned["before"] != turned["after"]:
            now, then = ("otherwise", "a formula") if turned["after"] else ("a formula", "otherwise")
            printer.say(f"  now {now}, before {then}")
        if told["equivalent"]:
            printer.say("  the same formula" if told["identical"] else "  written differently, the same meaning")
            continue
        if turned["before"] and turned["after"]:
            printer.say("  otherwise: it changes with the other class")
            continue
        for line in [*told["changes"], *([told["remark"]] if told["remark"] else [])]:
            printer.say(f"  {line}")
        for words, cubes in (("now also where", told["now_also"]), ("no longer where", told["no_longer"])):
            if cubes:
                more = f"; and {len(cubes) - MOST_REGIONS:,} more" if len(cubes) > MOST_REGIONS else ""
                printer.say(f"  {words} {'; or where '.join(cubes[:MOST_REGIONS])}{more}")

    def answer(name: str | None) -> str:
        return "undecided" if name is None else heading(name)

    before, after = content["otherwise"]["before"], content["otherwise"]["after"]
    if before != after:
        printer.say(f"where no rule fires: {answer(after)}, before {answer(before)}")
    before, after = content["order"]["before"], content["order"]["after"]
    if before != after:
        for words, order in (("before", before), ("now", after)):
            named = (
                "no order"
                if order is None
                else f"{', then '.join(map(heading, order))}; the first that applies decides"
            )
            printer.say(f"the order of the classes {words}: {named}")
    for pair in content["swapped"]:
        first, then = pair["first"], pair["then"]
        now, before = (f"{rule['rule']} ({heading(rule['class'])})" for rule in (first, then))
        printer.say(f"where both fire, {now} decides now, not {before}")
    example = content["example"]
    if example is not None:
        before, after = answer(example["before"]), answer(example["after"])
        printer.say(f"\nfor example where {example['where'] or 'any row'}: {before} before, {after} now")
    elif content["differs"] and not content["changed"]:
        printer.say("\nthe rules differ, but every possible row gets the same answer as before")
    if content["rows"] is not None:
        rows = content["rows"]
        printer.say(f"\n{len(rows['differing']):,} of {rows['total']:,} rows of {rows['data']} get another answer.")
        if rows["differing"]:
            shown = ", ".join(map(str, rows["differing"][:10]))
            printer.say(f"  rows {shown}" + (" …" if len(rows["differing"]) > 10 else ""))


def write_report(folder: Path, out: str, *, json: str | None, quiet: bool) -> None:
    """Write the report page, and as JSON its place and its hash."""
    check_outputs(out, json)
    check_page_name(out)
    opened = open_folder(folder)
    read_record(opened)
    result = opened.result()
    # Imported after the folder was checked, because it loads slowly.
    from logiclens.report import read_result, render

    page = render(read_result(result))
    write_text(page, out)
    digest = hashlib.sha256(page.encode("utf-8")).hexdigest()
    write_json({"model": str(folder), "report": out, "sha256": digest}, json)
    if out != STANDARD:
        Printer(quiet=quiet).note(f"The report is in {out}.")
