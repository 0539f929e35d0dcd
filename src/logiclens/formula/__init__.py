"""Logic as values: literals, cubes and formulas; packed rows, truth tables and their minimisation; rules; text."""

from logiclens.formula.bits import PackedRows as PackedRows
from logiclens.formula.counted import CountedRows as CountedRows
from logiclens.formula.dnf import DNF as DNF
from logiclens.formula.dnf import Complement as Complement
from logiclens.formula.dnf import Cube as Cube
from logiclens.formula.dnf import Literal as Literal
from logiclens.formula.english import english as english
from logiclens.formula.groups import Groups as Groups
from logiclens.formula.minimise import Minimum as Minimum
from logiclens.formula.minimise import minimise as minimise
from logiclens.formula.minimise import minimise_complete as minimise_complete
from logiclens.formula.predicate import Predicate as Predicate
from logiclens.formula.properties import monotone_in as monotone_in
from logiclens.formula.properties import never_uses as never_uses
from logiclens.formula.ruleset import Rule as Rule
from logiclens.formula.ruleset import RuleSet as RuleSet
from logiclens.formula.table import Contradiction as Contradiction
from logiclens.formula.table import TruthTable as TruthTable
from logiclens.formula.text import format_first_order as format_first_order
from logiclens.formula.text import format_formula as format_formula
from logiclens.formula.text import parse as parse
