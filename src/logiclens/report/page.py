"""The explanation report: one HTML file that needs nothing else, made from a saved result and nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

from logiclens.errors import require_extra
from logiclens.metrics.rule_statistics import Share
from logiclens.report.charts import MOST_BARS, accuracy_chart, loss_chart, relevance_chart
from logiclens.report.schema import check_result
from logiclens.report.view import bar, class_views, confusions, deciding, differing, shade, standing, summary
from logiclens.words import as_sentence, count_text, count_with_noun, figure, interval, percent, share_words

__all__ = ["check_result", "render", "require_report"]

# A text in JSON must not end its own script element, nor be read as markup by anything that looks for it.
_ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def render(result: Mapping[str, Any]) -> str:
    """The page of a result, as HTML text. The same result gives the same text.

    `result` is what `result.json` in the folder of a model holds. The page loads nothing, runs one script whose hash
    it names itself, and shows names and values as they are, markup included.
    """
    jinja2 = require_report()
    check_result(result)
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
        share=lambda share: share_words(Share.from_dict(share)),
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
    """Say plainly what is missing, before any long work starts."""
    with require_extra("report", "the report"):
        import jinja2
        import matplotlib  # noqa: F401
    return jinja2


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8").replace("\r\n", "\n")


def _policy(script: str) -> str:
    """What the page may do: use its own styles and run this one script."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _embedded(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)


def _for_script(result: Mapping[str, Any]) -> dict[str, Any]:
    """What the "Try it" panel needs: concepts by their place, so that no name is ever a key."""
    place = {concept["name"]: i for i, concept in enumerate(result["concepts"])}
    rules = result["rules"]
    # Where a panel has a switch for missing values, "below 80" is not "or missing".
    meant = rules["predicates"].values()
    switched = {entry["column"] for entry in meant if entry["operator"] == "missing"}
    return {
        "words": [
            [
                concept["words_not"].removesuffix(" (or missing)" if concept["column"] in switched else "\0"),
                concept["words"],
            ]
            for concept in result["concepts"]
        ],
        "exclusive": [[place[name] for name in group] for group in result["exclusive"]],
        "implied": [[place[name] for name in chain] for chain in result["implied"]],
        "classes": [entry["name"] for entry in result["classes"]],
        "cubes": [
            {
                "of": i,
                "if": [[place[concept], int(holds)] for concept, holds in cube["if"].items()],
                "trust": cube["confidence"],
            }
            for i, entry in enumerate(rules["classes"])
            for cube in entry.get("cubes", ())
        ],
        "order": rules.get("order", []),
        "resolve": rules["resolve"],
        "otherwise": rules["otherwise"],
        "complement": any("complement_of" in entry for entry in rules["classes"]),
        "multilabel": rules["multilabel"],
        "rows": [[row["row"], row["label"], row["network"], row["rules"], row["bits"]] for row in result["rows"]],
    }


def _groups(result: Mapping[str, Any]) -> list[tuple[str, list[tuple[int, str]]]]:
    """The concepts to switch, by column; those that are alone in their column stand together at the end."""
    columns: dict[str, list[tuple[int, str]]] = {}
    for i, concept in enumerate(result["concepts"]):
        columns.setdefault(concept["column"], []).append((i, concept["words"]))
    several = [(column, held) for column, held in columns.items() if len(held) > 1]
    single = [held[0] for held in columns.values() if len(held) == 1]
    if not single:
        return several
    return [*several, ("Other conditions" if several else "Conditions", single)]


def _relevance(result: Mapping[str, Any]) -> list[str]:
    return [
        relevance_chart(
            entry["relevance"], key=f"relevance-{i}", label=f"Relevance of the conditions for {entry['name']}"
        )
        for i, entry in enumerate(result["classes"])
    ]


def _history(result: Mapping[str, Any]) -> list[str]:
    history = result["history"]
    if history is None or not history["loss"]:
        return []
    said = f"over {count_with_noun(len(history['loss']), 'epoch')}; epoch {history['best_epoch']} was kept"
    return [
        loss_chart(history, key="loss", label=f"Loss in training and validation {said}"),
        accuracy_chart(history, key="accuracy", label=f"Accuracy in training and validation {said}"),
    ]
