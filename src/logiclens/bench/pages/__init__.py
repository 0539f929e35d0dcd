"""The pages of the comparison: tables, figures and texts from the table of results."""
