"""The command line: argument parsing and printing only."""

from logiclens.cli.app import main as main
