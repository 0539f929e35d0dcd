"""Runs with a protocol: cross-validation with the six metrics, the paper's toy comparison, the bundled example."""
