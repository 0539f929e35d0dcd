"""The page of the studio: one shell, and for each stage the part that it shows, made with the parts of the report."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from logiclens.export.registry import FORMATS
from logiclens.progress import ProgressState, duration
from logiclens.report import page
from logiclens.studio.session import Session
from logiclens.studio.work import DAYS, kept_works

if TYPE_CHECKING:
    import jinja2

STEPS = {"start": "Table", "columns": "Columns", "learning": "Learn", "rules": "Rules"}
"""The stages and what the page calls them."""
EXPORTS = ("sql", "python", "pmml")
"""The export formats that the page offers; the registry has the others."""


def script() -> str:
    """Return the script of the page."""
    return _file("studio.js")


def style() -> str:
    """Return the style sheet: that of the report, and what the studio adds."""
    return page.page_style() + _file("studio.css")


@cache
def _templates() -> jinja2.Environment:
    names = ("shell.html", *(f"{stage}.html" for stage in STEPS), "tried.html", "below.html")
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
    works = [(kept, STEPS[kept.stage], duration(kept.seconds)) for kept in kept_works(session.root)]
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
        guessed=chosen is None and view.guess,
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
    result = session.result()
    return render(
        "rules.html",
        record=session.opened("rules").record,
        result=result,
        classes=page.class_views(result),
        colors={entry.name: place % page.N_COLORS for place, entry in enumerate(result.classes)},
        confusions=page.confusions(result),
        asked="" if result.multilabel else f"{result.data.target} is ",
        lead=page.lead(result),
        tiles=page.tiles(result),
        deciding=page.deciding(result),
        fields=session.fields(),
        formats=[entry for entry in FORMATS if entry.name in EXPORTS],
    )


_PARTS = {"start": _start, "columns": _columns, "learning": _learning, "rules": _rules}


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8").replace("\r\n", "\n")
