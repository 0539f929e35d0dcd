"""Pure functions from values to figures and text fragments."""
