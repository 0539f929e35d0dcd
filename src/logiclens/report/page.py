"""The explanation report: one self-contained HTML file, rendered from a `Result` alone."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import Any

from logiclens.errors import require_extra
from logiclens.report.charts import MOST_BARS, accuracy_chart, loss_chart, relevance_chart
from logiclens.report.result import Result
from logiclens.report.view import bar, class_views, confusions, deciding, differing, shade, standing, summary
from logiclens.words import as_sentence, count_text, count_with_noun, figure, interval, percent, share_words

# Text in the embedded JSON must neither end its script element nor be read as markup.
_ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def render(result: Result) -> str:
    """Return the page of a result as HTML text. The same result gives the same text.

    `result` is what `result_of` measured, or what `read_result` reads from a model folder. The page loads nothing and
    runs one script, whose hash its security policy names. Names and values that contain markup are shown as text.
    """
    jinja2 = require_report()
    files = {name: _file(name) for name in ("page.html", "parts.html")}
    pages = jinja2.Environment(
        loader=jinja2.DictLoader(files),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    pages.filters.update(
        as_sentence=as_sentence,
        count_text=count_text,
        count_with_noun=count_with_noun,
        percent=percent,
        share=share_words,
    )
    pages.globals.update(figure=figure, interval=interval, bar=bar, shade=shade, most_bars=MOST_BARS)
    raw = jinja2.utils.markupsafe.Markup
    script = _file("page.js")
    text: str = pages.get_template("page.html").render(
        result=result,
        classes=class_views(result),
        confusions=confusions(result),
        summary=summary(result),
        standing=standing(result),
        deciding=deciding(result),
        differing=differing(result),
        groups=_groups(result),
        relevance=[raw(chart) for chart in _relevance(result)],
        history=[raw(chart) for chart in _history(result)],
        policy=_policy(script),
        style=raw(_file("page.css")),
        script=raw(script),
        data=raw(_embedded(_for_script(result))),
    )
    return text


def require_report() -> Any:
    """Return jinja2. Raise if it or matplotlib is not installed; call this before long work."""
    with require_extra("report", "the report"):
        import jinja2
        import matplotlib  # noqa: F401
    return jinja2


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8").replace("\r\n", "\n")


def _policy(script: str) -> str:
    """Return the security policy of the page: use its own styles and run this one script."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _embedded(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)


def _for_script(result: Result) -> dict[str, Any]:
    """Return the data of the "Try it" panel. Concepts are referred to by position, so no name is ever a key."""
    place = {concept.name: i for i, concept in enumerate(result.concepts)}
    rules = result.rules
    # A column with a switch for missing values does not need "or missing" in its other conditions.
    switched = {predicate.column for predicate in rules.predicates.values() if predicate.operator == "missing"}
    return {
        "words": [
            [
                concept.words_not.removesuffix(" (or missing)" if concept.column in switched else "\0"),
                concept.words,
            ]
            for concept in result.concepts
        ],
        "exclusive": [[place[name] for name in group] for group in result.exclusive],
        "implied": [[place[name] for name in chain] for chain in result.implied],
        "classes": [entry.name for entry in result.classes],
        "cubes": [
            {
                "of": i,
                "if": [[place[lit.concept], int(lit.positive)] for lit in cube],
                "trust": trust,
                "trust_words": percent(trust),
            }
            for i, rule in enumerate(rules.rules)
            for cube, trust in zip(rule.cubes, rule.confidence if rule.cubes else (), strict=True)
        ],
        "order": rules.order,
        "resolve": rules.resolve,
        "otherwise": rules.otherwise,
        "complement": any(rule.is_complement for rule in rules.rules),
        "multilabel": rules.multilabel,
        "rows": [[row.row, row.label, row.network, row.rules, row.bits] for row in result.rows],
    }


def _groups(result: Result) -> list[tuple[str, list[tuple[int, str]]]]:
    """Return the concepts to switch, by column; concepts that are alone in their column form the last group."""
    columns: dict[str, list[tuple[int, str]]] = {}
    for i, concept in enumerate(result.concepts):
        columns.setdefault(concept.column, []).append((i, concept.words))
    several = [(column, held) for column, held in columns.items() if len(held) > 1]
    single = [held[0] for held in columns.values() if len(held) == 1]
    if not single:
        return several
    return [*several, ("Other conditions" if several else "Conditions", single)]


def _relevance(result: Result) -> list[str]:
    return [
        relevance_chart(entry.relevance, key=f"relevance-{i}", label=f"Relevance of the conditions for {entry.name}")
        for i, entry in enumerate(result.classes)
    ]


def _history(result: Result) -> list[str]:
    history = result.history
    if history is None or not history.loss:
        return []
    said = f"over {count_with_noun(len(history.loss), 'epoch')}; epoch {history.best_epoch} was kept"
    return [
        loss_chart(history, key="loss", label=f"Loss in training and validation {said}"),
        accuracy_chart(history, key="accuracy", label=f"Accuracy in training and validation {said}"),
    ]
