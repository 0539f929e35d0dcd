"""The data sets of the comparison: the four of the paper, and small ones that need no files."""
