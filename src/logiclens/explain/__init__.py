"""Formulas from networks: explain all classes, one class or one row, or compile formulas into a network."""

from logiclens.explain.certificate import Certificate as Certificate
from logiclens.explain.classwise import explain_all as explain_all
from logiclens.explain.classwise import explain_bottleneck as explain_bottleneck
from logiclens.explain.classwise import explain_class as explain_class
from logiclens.explain.exact import compile_formulas as compile_formulas
from logiclens.explain.exact import explain_exact as explain_exact
from logiclens.explain.gap import SplitSuggestion as SplitSuggestion
from logiclens.explain.length import FormulaLimits as FormulaLimits
from logiclens.explain.local import LocalExplanation as LocalExplanation
from logiclens.explain.local import explain_local as explain_local
from logiclens.explain.paper_method import TraceStep as TraceStep
from logiclens.explain.reading import Reading as Reading
from logiclens.explain.reading import read as read
from logiclens.explain.result import ClassExplanation as ClassExplanation
from logiclens.explain.result import Explanation as Explanation
