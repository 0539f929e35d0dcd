"""Logic as values: literals, cubes and formulas; packed rows, truth tables and their minimisation; rules; text."""

from logiclens.formula.check import check_formula as _check
from logiclens.formula.check import monotone_in as monotone_in
from logiclens.formula.check import never_uses as never_uses
from logiclens.formula.counted_rows import CountedRows as CountedRows
from logiclens.formula.diff import diff as _diff
from logiclens.formula.dnf import DNF as DNF
from logiclens.formula.dnf import Complement as Complement
from logiclens.formula.dnf import Cube as Cube
from logiclens.formula.dnf import Literal as Literal
from logiclens.formula.english import english as english
from logiclens.formula.groups import Groups as Groups
from logiclens.formula.minimisation import Minimum as Minimum
from logiclens.formula.minimisation import minimise as minimise
from logiclens.formula.minimisation import minimise_complete as minimise_complete
from logiclens.formula.packed_rows import PackedRows as PackedRows
from logiclens.formula.predicate import Predicate as Predicate
from logiclens.formula.rule_set import RuleId as RuleId
from logiclens.formula.rule_set import RuleSet as RuleSet
from logiclens.formula.rules import Edit as Edit
from logiclens.formula.rules import Figures as Figures
from logiclens.formula.rules import Rule as Rule
from logiclens.formula.text import format_first_order as format_first_order
from logiclens.formula.text import format_formula as format_formula
from logiclens.formula.text import parse as parse
from logiclens.formula.truth_table import Contradiction as Contradiction
from logiclens.formula.truth_table import TruthTable as TruthTable

# What these methods answer is made of formulas, so `dnf` cannot import the modules that answer.
DNF.diff = Complement.diff = _diff  # type: ignore[assignment, method-assign]
DNF.check = Complement.check = _check  # type: ignore[assignment, method-assign]
