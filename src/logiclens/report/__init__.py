"""Whole pages: the explanation report as one HTML file."""

from __future__ import annotations

from logiclens.report.page import check_result, render
from logiclens.report.result import Source, result_of

__all__ = ["Source", "check_result", "render", "result_of"]
