"""Mutation testing: change one place of a module at a time, and see whether its tests notice.

A mutant is one change of the syntax tree: a comparison, an operator, a constant, a condition, a returned value, or a
`raise` that is left out. Docstrings, annotations and messages are not changed. Each runs the tests in a process of its
own, on a copy of the source. It is killed if a test fails or takes too long, and survives if all tests pass.
"""

from __future__ import annotations

import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lab.pages.markdown import read_json, write
from lab.runs.results import RESULTS, ROOT

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
}  # fmt: skip


def mutants(tree: ast.Module) -> Iterator[tuple[int, str, ast.Module]]:
    """Yield line, description and changed tree of each mutant."""
    places = [node for node in ast.walk(tree) if _changed(copy.deepcopy(node)) is not None]
    hidden = {id(inner) for node in ast.walk(tree) for part in _hidden(node) for inner in ast.walk(part)}
    for place, node in enumerate(places):
        if id(node) not in hidden:
            twin = copy.deepcopy(tree)
            target = [each for each in ast.walk(twin) if _changed(copy.deepcopy(each)) is not None][place]
            words = _changed(target)
            yield getattr(node, "lineno", 0), str(words), ast.fix_missing_locations(twin)


def _hidden(node: ast.AST) -> list[ast.AST]:
    """Return what of a node says nothing that a test must see: annotations and the text of an error."""
    parts = [getattr(node, name, None) for name in ("annotation", "returns")]
    parts += [node.exc] if isinstance(node, ast.Raise) else []
    return [part for part in parts if part is not None]


def _changed(node: ast.AST) -> str | None:
    """Change a node in place and say how; None if there is nothing to change in it."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            node.ops = [COMPARISONS[type(op)]()]
            return f"{type(op).__name__} becomes {type(node.ops[0]).__name__}"
        case ast.BinOp(op=op) if type(op) in OPERATORS:
            node.op = OPERATORS[type(op)]()
            return f"{type(op).__name__} becomes {type(node.op).__name__}"
        case ast.BoolOp(op=op):
            node.op = ast.Or() if isinstance(op, ast.And) else ast.And()
            return f"{type(op).__name__} becomes {type(node.op).__name__}"
        case ast.Constant(value=bool() as value):
            node.value = not value
            return f"{value} becomes {not value}"
        case ast.Constant(value=int() as value):
            node.value = value + 1
            return f"{value} becomes {value + 1}"
        case ast.If(test=test) | ast.IfExp(test=test):
            node.test = ast.UnaryOp(ast.Not(), test)
            return "condition negated"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            node.value = ast.Constant(None)
            return "returns None"
        case ast.Raise():
            node.exc = ast.Name("RuntimeError", ast.Load())
            return "raises another error"
    return None


def measure(modules: Sequence[str], tests: Sequence[str], sample: int, seed: int, seconds: float) -> None:
    """Try a sample of the mutants of each module, and add the shares to `lab/results/mutation.json`."""
    result: dict[str, Any] = {"modules": {}, **read_json("mutation.json")}
    for module in modules:
        source = (ROOT / module).read_text(encoding="utf-8")
        listed = list(mutants(ast.parse(source)))
        chosen = random.Random(seed).sample(listed, min(sample, len(listed)))
        survivors = [
            f"{source.splitlines()[line - 1].strip()}: {words}"
            for line, words, tree in chosen
            if not _is_killed(module, ast.unparse(tree), tests, seconds)
        ]
        result["modules"][module] = {
            "mutants": len(listed), "tried": len(chosen), "killed": len(chosen) - len(survivors),
            "share": round(1 - len(survivors) / max(len(chosen), 1), 4), "survivors": survivors,
            "tests": " ".join(tests), "seed": seed,
        }  # fmt: skip
        write(RESULTS / "mutation.json", json.dumps(result, indent=1) + "\n")


def _is_killed(module: str, source: str, tests: Sequence[str], seconds: float) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "src", Path(folder, "src"), ignore=shutil.ignore_patterns("__pycache__"))
        Path(folder, module).write_text(source, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        environment = {**os.environ, "PYTHONPATH": str(Path(folder, "src"))}
        try:
            return subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, timeout=seconds, check=False
            ).returncode != 0  # fmt: skip
        except subprocess.TimeoutExpired:
            return True
