"""Whole pages: the explanation report as one HTML file.

A page is made from a saved result without torch; making the result itself (`result_of`) needs the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logiclens.report.page import render
from logiclens.report.result import Result, read_result

if TYPE_CHECKING:
    from logiclens.report.measurement import Source, result_of, write_report

__all__ = ["Result", "Source", "read_result", "render", "result_of", "write_report"]


def __getattr__(name: str) -> Any:
    """Load what needs the model on first use."""
    if name in ("Source", "result_of", "write_report"):
        from logiclens.report import measurement

        return getattr(measurement, name)
    raise AttributeError(f"module 'logiclens.report' has no attribute {name!r}")
