"""Runs with a protocol: cross-validation, the paper's tasks beside every peer, its grid and its toy comparison."""
