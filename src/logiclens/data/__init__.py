"""From a table to concepts. This package itself needs NumPy only; splits and cuts are imported by name."""

from logiclens.data.concepts import ConceptTable as ConceptTable
from logiclens.data.concepts import as_table as as_table
