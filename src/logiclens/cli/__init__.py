"""The command line: argument parsing and printing only."""

from logiclens.cli.run import main as main
