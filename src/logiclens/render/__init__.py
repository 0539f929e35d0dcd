"""Figures and notebook fragments, made by pure functions from values."""
