"""Logic as values: literals, cubes and formulas; packed rows, truth tables and their minimisation; text."""

from logiclens.formula.bits import PackedRows as PackedRows
from logiclens.formula.counted import CountedRows as CountedRows
from logiclens.formula.dnf import DNF as DNF
from logiclens.formula.dnf import Cube as Cube
from logiclens.formula.dnf import Literal as Literal
from logiclens.formula.minimise import Minimum as Minimum
from logiclens.formula.minimise import minimise as minimise
from logiclens.formula.table import Contradiction as Contradiction
from logiclens.formula.table import TruthTable as TruthTable
from logiclens.formula.text import format_first_order as format_first_order
from logiclens.formula.text import format_formula as format_formula
from logiclens.formula.text import parse as parse
