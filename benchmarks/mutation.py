"""Mutation testing: change one place of a module at a time, and see whether its tests notice.

    python benchmarks/mutation.py src/logiclens/verify/*.py --tests tests/verify {source}/logiclens/verify --sample 200
    python benchmarks/mutation.py src/logiclens/storage.py --tests tests/test_storage.py

Each mutant is one change of the syntax tree: a comparison, an operator, a constant, a condition, a returned value, a
`raise` that is left out, or a call whose result is ignored. A mutant is killed if a test fails or takes too long. It
survives if all tests pass. The share of killed mutants per module is printed and written to
`benchmarks/results/mutation.json`. Docstrings, annotations, messages and `__all__` are not changed.

The tests run in one forked process per mutant, with a copy of the package in front of `sys.path`. In `--tests`,
`{source}` stands for that copy, for its doctests. Without `--sample` every mutant is tried; with it, a number of them
drawn by a seed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
RESULT = ROOT / "benchmarks" / "results" / "mutation.json"

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.MatMult: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of a module.

    Attributes:
        module: path of the module, relative to the repository.
        line: line of the change.
        words: the change, in words.
        source: the changed module.
    """

    module: str
    line: int
    words: str
    source: str


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: killed or not, by a time limit or not."""

    module: str
    line: int
    words: str
    killed: bool
    slow: bool


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield what a node can become, with words for it."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            other = copy.deepcopy(node)
            other.ops[place] = COMPARISONS[type(operator)]()
            yield f"{type(operator).__name__} becomes {type(other.ops[place]).__name__}", other
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        other = copy.deepcopy(node)
        other.op = OPERATORS[type(node.op)]()
        yield f"{type(node.op).__name__} becomes {type(other.op).__name__}", other
    elif isinstance(node, ast.BoolOp):
        other = copy.deepcopy(node)
        other.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield f"{type(node.op).__name__} becomes {type(other.op).__name__}", other
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield f"without {type(node.op).__name__}", node.operand
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield f"{node.value} becomes {not node.value}", ast.Constant(not node.value)
        elif isinstance(node.value, int | float):
            yield f"{node.value} becomes {node.value + 1}", ast.Constant(node.value + 1)
        elif isinstance(node.value, str):
            yield f"the text {node.value[:20]!r} changes", ast.Constant(f"{node.value}#")
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        other = copy.deepcopy(node)
        other.test = ast.Constant(False)
        yield "the condition is never true", other
    elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield "returns None", ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Raise):
        yield "does not raise", ast.Pass()
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "is not called", ast.Pass()


def is_left_alone(node: ast.AST) -> bool:
    """Return whether changes inside a node would be no changes of behaviour: annotations, documentation, imports."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    return isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr)


def places(node: ast.AST, *, in_message: bool = False) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Yield every node that may change, as its parent, the field and the place in the field.

    Texts inside an error or a call that makes one are messages, which are left alone.
    """
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params", "bases"):
            continue
        for place, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or is_left_alone(child):
                continue
            if isinstance(child, ast.Assign) and any(
                getattr(target, "id", "") == "__all__" for target in child.targets
            ):
                continue
            message = in_message or isinstance(child, ast.Raise)
            if not (message and isinstance(child, ast.Constant) and isinstance(child.value, str)):
                yield node, field, place
            yield from places(child, in_message=message)


def mutants(path: Path) -> list[Mutant]:
    """Return all mutants of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []
    module = str(path.resolve().relative_to(ROOT))
    for parent, field, place in list(places(tree)):
        value = getattr(parent, field)
        child = value if place is None else value[place]
        for words, other in changes(child):
            new = ast.copy_location(other, child)
            _put(parent, field, place, new)
            source = ast.unparse(ast.fix_missing_locations(tree))
            _put(parent, field, place, child)
            found.append(Mutant(module, getattr(child, "lineno", 0), words, source))
    return found


def _put(parent: ast.AST, field: str, place: int | None, node: ast.AST) -> None:
    if place is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[place] = node


def tried(mutant: Mutant, folder: Path, tests: Sequence[str], limit: float) -> Outcome:
    """Run the tests on one mutant, in a copy of the package that only this worker uses."""
    target = folder / Path(mutant.module).relative_to("src")
    kept = target.read_text(encoding="utf-8")
    target.write_text(mutant.source, encoding="utf-8")
    try:
        code = run_tests(folder, tests, limit)
    finally:
        target.write_text(kept, encoding="utf-8")
    return Outcome(mutant.module, mutant.line, mutant.words, code != 0, code is None)


def run_tests(folder: Path, tests: Sequence[str], limit: float) -> int | None:
    """Run the tests in a child process with the package in a folder; return the exit code, None if it took too long.

    The child is forked, so that it need not load the libraries again. `{source}` in a name stands for the folder.
    """
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setsid()
            silent = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(silent, stream)
            os.chdir(ROOT)
            os.environ["PYTHONPATH"] = str(folder)
            sys.path[:0] = [str(folder), str(ROOT)]
            sys.dont_write_bytecode = True
            import pytest

            options = [
                "-x",
                "-q",
                "-W",
                "ignore::pytest.PytestAssertRewriteWarning",
                "-p",
                "no:cacheprovider",
                f"--rootdir={ROOT}",
                "-c",
                str(ROOT / "pyproject.toml"),
            ]
            code = int(pytest.main([*options, *(test.replace("{source}", str(folder)) for test in tests)]))
        finally:
            os._exit(code)
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def load_libraries() -> None:
    """Load what every child needs, but nothing of the package that is changed."""
    for name in ("torch", "pandas", "scipy.optimize", "sklearn.ensemble", "narwhals.stable.v2", "safetensors.torch",
                 "hypothesis", "pyarrow", "jaxtyping", "beartype", "pytest", "typer", "rich.console"):  # fmt: skip
        importlib.import_module(name)
    assert not any(name.split(".")[0] == "logiclens" for name in sys.modules)


def campaign(
    chosen: Sequence[Mutant], tests: Sequence[str], *, jobs: int, limit: float, seconds: float
) -> list[Outcome]:
    """Try mutants for so many seconds, several at a time, each worker with its own copy of the package."""
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as made:
        folders = [Path(made) / str(worker) for worker in range(jobs)]
        for folder in folders:
            shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("__pycache__"))
        start = time.monotonic()
        if run_tests(folders[0], tests, 3600) != 0:
            sys.exit("the tests fail on the unchanged modules: mend that first.")
        limit = max(limit, 3 * (time.monotonic() - start))
        shares = [chosen[worker::jobs] for worker in range(jobs)]

        def work(worker: int) -> list[Outcome]:
            outcomes = []
            for mutant in shares[worker]:
                if time.monotonic() > end:
                    break
                outcomes.append(tried(mutant, folders[worker], tests, limit))
                last = outcomes[-1]
                if not last.killed:
                    print(f"survived: {last.module}:{last.line}: {last.words}", flush=True)
            return outcomes

        with ThreadPoolExecutor(jobs) as pool:
            return [outcome for outcomes in pool.map(work, range(jobs)) for outcome in outcomes]


def summary(outcomes: Sequence[Outcome], totals: dict[str, int]) -> dict[str, dict[str, float]]:
    """Return per module how many mutants there are, how many were tried, and how many were killed."""
    table = {}
    for module in sorted({outcome.module for outcome in outcomes}):
        here = [outcome for outcome in outcomes if outcome.module == module]
        killed = sum(outcome.killed for outcome in here)
        table[module] = {
            "mutants": totals[module], "tried": len(here), "killed": killed, "share": round(killed / len(here), 4),
        }  # fmt: skip
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description="Change modules in one place at a time and run their tests.")
    parser.add_argument("modules", nargs="+", type=Path)
    parser.add_argument("--tests", nargs="+", required=True, help="test files or folders; other options go to pytest")
    parser.add_argument("--sample", type=int, help="number of mutants drawn from all; default: all of them")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the sample")
    parser.add_argument("--jobs", type=int, default=2, help="number of mutants tried at a time, at most 2")
    parser.add_argument("--limit", type=float, default=20, help="least time limit of one mutant in seconds")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no mutant after this time")
    parser.add_argument("--out", type=Path, default=RESULT)
    given, options = parser.parse_known_args()
    given.tests += options
    every = [mutant for module in given.modules for mutant in mutants(module)]
    totals = {str(path.resolve().relative_to(ROOT)): len(mutants(path)) for path in given.modules}
    chosen = every
    if given.sample is not None and given.sample < len(every):
        chosen = random.Random(given.seed).sample(every, given.sample)
    print(f"{len(chosen)} of {len(every)} mutants", flush=True)
    os.environ["OMP_NUM_THREADS"] = "1"
    load_libraries()
    outcomes = campaign(chosen, given.tests, jobs=min(given.jobs, 2), limit=given.limit, seconds=60 * given.minutes)
    table, killed = summary(outcomes, totals), sum(outcome.killed for outcome in outcomes)
    for module, row in table.items():
        print(f"{module}: {row['killed']} of {row['tried']} killed ({row['share']:.0%}); {row['mutants']} mutants")
    print(f"all: {killed} of {len(outcomes)} killed ({killed / len(outcomes):.1%})")
    content = (
        json.loads(given.out.read_text(encoding="utf-8")) if given.out.is_file() else {"modules": {}, "survived": []}
    )
    content["modules"] |= {
        module: {**row, "tests": " ".join(given.tests), "seed": given.seed} for module, row in table.items()
    }
    content["modules"] = dict(sorted(content["modules"].items()))
    others = [entry for entry in content["survived"] if entry["module"] not in table]
    here = [{k: v for k, v in asdict(o).items() if k in ("module", "line", "words")} for o in outcomes if not o.killed]
    content["survived"] = sorted(others + here, key=lambda entry: (entry["module"], entry["line"], entry["words"]))
    given.out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
