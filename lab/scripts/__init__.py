"""The scripts that measure, one command each."""
