"""From raw columns to concepts. This package itself needs NumPy only; cuts and splits are imported by name."""

from logiclens.concepts.concept_table import ConceptTable as ConceptTable
from logiclens.concepts.concept_table import as_table as as_table
