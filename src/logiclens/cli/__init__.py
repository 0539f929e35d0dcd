"""The command line: argument parsing and printing only."""

from logiclens.cli.main import main as main
