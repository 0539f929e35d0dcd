"""Where networks become formulas."""

from logiclens.explain.bottleneck import explain_bottleneck as explain_bottleneck
from logiclens.explain.certificate import Certificate as Certificate
from logiclens.explain.certified import explain_exact as explain_exact
from logiclens.explain.classwise import explain_all as explain_all
from logiclens.explain.classwise import explain_class as explain_class
from logiclens.explain.compiler import compile_formulas as compile_formulas
from logiclens.explain.contradictions import SplitSuggestion as SplitSuggestion
from logiclens.explain.extract import Reading as Reading
from logiclens.explain.extract import read as read
from logiclens.explain.length import FormulaLimits as FormulaLimits
from logiclens.explain.local import LocalExplanation as LocalExplanation
from logiclens.explain.local import explain_local as explain_local
from logiclens.explain.result import ClassExplanation as ClassExplanation
from logiclens.explain.result import Explanation as Explanation
from logiclens.explain.selection import TraceStep as TraceStep
