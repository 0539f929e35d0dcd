"""The page of a fitted model, from Python."""

from __future__ import annotations

import os
from pathlib import Path

from logiclens.errors import LogicLensError
from logiclens.estimators.classifier import EntropyClassifier
from logiclens.explain.result import Explanation
from logiclens.report.measured import Source
from logiclens.report.page import render, require_report
from logiclens.report.result import result_of


def write_report(
    model: EntropyClassifier,
    path: str | Path,
    explanation: Explanation | None = None,
    *,
    title: str = "a table",
    by: str | None = None,
) -> Path:
    """Write the page of a model that was fitted with `set_aside`; an explanation at hand is not made again.

    `title` names the data, `by` is a column whose values are shown apart.
    """
    require_report()
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise LogicLensError(f"a report is an HTML page: the name must end in .html, got {target.name!r}.")
    told = model.explain() if explanation is None else explanation
    known = Source(title, model.n_rows_, model.n_features_in_, model.target_name_ or "class")
    text = render(result_of(model, told, known, by=by))
    return write_whole(target, text.encode("utf-8"))


def write_whole(target: Path, content: bytes) -> Path:
    """Write under a temporary name, then rename: an interrupted run leaves no broken file."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        os.replace(part, target)
    except OSError as error:
        raise LogicLensError(f"cannot write {target}: {error.strerror or error}.") from None
    finally:
        part.unlink(missing_ok=True)
    return target
