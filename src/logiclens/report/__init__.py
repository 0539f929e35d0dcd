"""Whole pages: the explanation report as one HTML file.

A page is made from a saved result without torch; making the result itself (`result_of`) needs the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logiclens.report.page import check_result, render

if TYPE_CHECKING:
    from logiclens.report.result import Source, result_of, write_report

__all__ = ["Source", "check_result", "render", "result_of", "write_report"]


def __getattr__(name: str) -> Any:
    """Load what needs the model on first use."""
    if name == "Source":
        from logiclens.report.result import Source

        return Source
    if name == "result_of":
        from logiclens.report.result import result_of

        return result_of
    if name == "write_report":
        from logiclens.report.result import write_report

        return write_report
    raise AttributeError(f"module 'logiclens.report' has no attribute {name!r}")
