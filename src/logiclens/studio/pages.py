"""The page of the studio: one shell, and for each stage the part that it shows, made with the parts of the report."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from logiclens.export.registry import format_named
from logiclens.formula.rule_set import who_decides
from logiclens.metrics.rule_statistics import Share, shown_confusions
from logiclens.progress import ProgressState, duration
from logiclens.report import page
from logiclens.report.result import Result
from logiclens.studio.editing import Editor
from logiclens.studio.session import Session
from logiclens.studio.work import DAYS
from logiclens.words import count_with_noun, percent

if TYPE_CHECKING:
    import jinja2

STEPS = {"start": "Table", "columns": "Columns", "learning": "Learn", "rules": "Rules"}
"""The stages and what the page calls them."""
SIGN_WORDS = {
    "at_least": "is at least", "below": "is below", "is": "is", "is_not": "is not", "missing": "is missing",
    "known": "is not missing",
}  # fmt: skip
"""How the page words the comparisons of a new condition."""
EXPORTS = ("xlsx", "sql", "python", "pmml", "dmn")
"""The export formats that the page offers; the registry has the others."""


def script() -> str:
    """Return the script of the page."""
    return _file("studio.js")


def style() -> str:
    """Return the style sheet: that of the report, and what the studio adds."""
    return page.page_style() + _file("studio.css")


@cache
def _templates() -> jinja2.Environment:
    names = (
        "shell.html",
        *(f"{stage}.html" for stage in STEPS),
        "tried.html",
        "compared.html",
        "editing.html",
        "close.html",
        "below.html",
    )
    return page.environment({f"studio/{name}": _file(name) for name in names})


def render(name: str, **content: Any) -> str:
    """Return a template of the studio as text."""
    return _templates().get_template(f"studio/{name}").render(**content)


def shell(session: Session) -> str:
    """Return the whole page."""
    return render("shell.html", main=main(session), revision=session.revision, stage=session.stage, steps=STEPS)


def main(session: Session) -> str:
    """Return the part of the page that the stage decides."""
    return _PARTS[session.stage](session)


def _start(session: Session) -> str:
    works = [(kept, STEPS[kept.stage], duration(kept.seconds)) for kept in session.kept()]
    return render("start.html", works=works, days=DAYS)


def _columns(session: Session) -> str:
    work, view = session.opened("columns"), session.view()
    chosen = work.record.choices
    target = view.guess if chosen is None else chosen.target
    excluded = [column.name for column in view.columns if column.doubt] if chosen is None else chosen.excluded
    return render(
        "columns.html",
        record=work.record,
        view=view,
        target=target,
        excluded=excluded,
        above="" if chosen is None or chosen.above is None else f"{chosen.above:g}",
        by="" if chosen is None or chosen.by is None else chosen.by,
        positive="" if chosen is None or chosen.positive is None else chosen.positive,
        guessed=chosen is None and view.guess,
        can_return=session.can_return,
        edits=session.edits if session.can_return else 0,
    )


def _learning(session: Session) -> str:
    work = session.opened("learning")
    return render("learning.html", record=work.record, told=progress_words(session))


def progress_words(session: Session) -> dict[str, Any]:
    """Return how far the worker is: a sentence, and a share of the step if it is known."""
    learning = session.learning
    state: ProgressState | None = None if learning is None else learning.state
    if state is None:
        return {"words": "reading the table", "share": None}
    return {"words": str(state) if state.total > 1 else state.step, "share": round(state.share, 3)}


def _rules(session: Session) -> str:
    record, result = session.opened("rules").record, session.shown()
    editor = session.editor() if record.suffix else None
    return render(
        "rules.html",
        record=record,
        result=result,
        editor=editor,
        history=() if editor is None else editor.history(),
        changes={} if editor is None else editor.rule_views(),
        columns=() if editor is None else [str(column) for column in editor.frame.columns],
        signs=SIGN_WORDS,
        can_order=editor is not None and sum(not rule.is_complement for rule in editor.rules.rules) > 1,
        classes=_in_order(page.class_views(result, apart=True), result),
        colors={entry.name: place % page.N_COLORS for place, entry in enumerate(result.classes)},
        confusions=shown_confusions(result.confusion, result.confusion_of_rules),
        measured_rows=page.counted_rows(result),
        protected_columns=page.protected_views(result),
        asked="" if result.multilabel else f"{result.data.target} is ",
        learned=page.lead(session.result()),
        edits=session.edits,
        first=result.rules.order[0] if result.rules.resolve == "order" and result.rules.order else None,
        tiles=page.tiles(result) if editor is None else _tiles(editor),
        deciding=" ".join([who_decides(result.rules)]),
        fields=session.fields(),
        formats=[format_named(name) for name in EXPORTS],
    )


def _in_order(classes: tuple[page.ClassView, ...], result: Result) -> list[page.ClassView]:
    """Return the classes in the order in which they decide; the one that is the rest comes last."""
    order = result.rules.order if result.rules.resolve == "order" else ()
    return sorted(classes, key=lambda one: order.index(one.place) if one.place in order else len(order))


def _tiles(editor: Editor) -> list[page.Tile]:
    """Return the numbers of the version that is shown, and on the held-out rows if there are any."""
    measured, first = editor.measured(), editor.measured(0)
    before = "" if editor.at == 0 else f"; {percent(first.accuracy, 1)} as learned"
    cubes = [cube for rule in editor.rules.rules for cube in rule.cubes]
    conditions = count_with_noun(sum(map(len, cubes)), "condition")
    tiles = [
        _right(editor.rows_words, measured.accuracy, measured.statistics.n_rows, f"of {editor.counted_rows}{before}"),
        page.Tile("To read", count_with_noun(len(cubes), "rule"), f"with {conditions}"),
    ]
    if not editor.has_held_out:
        return tiles
    known = editor.held_out_right()
    if known is None:
        held = page.Tile("Right on the held-out rows", "not measured", "for this version", is_text=True)
    else:
        when = "" if editor.at else ", known from learning"
        held = _right("the held-out rows", *known, f"of {count_with_noun(known[1], 'row')}{when}")
    looks = page.Tile(
        "Looks at the held-out rows", str(editor.looks), "the fewer, the more their figure can be trusted"
    )
    return [tiles[0], held, tiles[1], looks]


def _right(on: str, share: float, total: int, note: str) -> page.Tile:
    bar = page.bar(Share(round(share * total), total), None)
    return page.Tile(f"Right on {on}", percent(share, 1), note, bar)


_PARTS = {"start": _start, "columns": _columns, "learning": _learning, "rules": _rules}


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8").replace("\r\n", "\n")
