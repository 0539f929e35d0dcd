"""Rules outside Python's memory: SQL, Python source, JSON, PMML, sympy and LaTeX."""

from logiclens.export.json import from_dict as from_dict
from logiclens.export.json import from_json as from_json
from logiclens.export.json import rules_schema as rules_schema
from logiclens.export.json import to_dict as to_dict
from logiclens.export.json import to_json as to_json
from logiclens.export.latex import to_latex as to_latex
from logiclens.export.pmml import to_pmml as to_pmml
from logiclens.export.python import to_python as to_python
from logiclens.export.sql import sql_condition as sql_condition
from logiclens.export.sql import to_sql as to_sql
from logiclens.export.sympy import to_sympy as to_sympy
