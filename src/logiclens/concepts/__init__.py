"""From raw columns to concepts. Importing the package loads NumPy only; import cuts and splits by their module."""

from logiclens.concepts.concept_table import ConceptTable as ConceptTable
from logiclens.concepts.concept_table import as_table as as_table
