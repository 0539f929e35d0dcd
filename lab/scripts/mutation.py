"""Mutation testing: change one place of a module at a time, and see whether its tests notice.

    python -m lab.scripts.mutation.py src/logiclens/verify/*.py --tests tests/verify src/logiclens/verify --sample 1000
    python -m lab.scripts.mutation.py src/logiclens/storage.py --tests tests/test_storage.py tests/faults

Each mutant is one change of the syntax tree: a comparison, an operator, a constant, a condition, a returned value, a
`raise` that is left out, or a call whose result is ignored. Not changed are docstrings, annotations, `__all__`,
messages (texts of more than three words, and texts inside a `raise`), and `strict=True` of `zip`, which only guards
against mistakes in the module itself. A mutant is killed if a test fails or takes too long. It survives if all tests
pass.

pytest collects the tests once and runs them twice: once with every statement of the modules compiled again but
unchanged, to see how long each test takes and that compiling again breaks none, and once to see which lines each test
runs. Then one process is forked per mutant. It puts the changed code into the loaded module and runs the tests that run
the changed lines, the quickest first, up to the first failure. Tests slower than `--slowest` are left out, and a test
that starts another process does not see the change there, so the share of killed mutants is a lower bound.

The shares and the survivors are written to `lab/results/mutation.json`, with the explanations that
`lab/scripts/mutation_survivors.json` has for survivors: why the change is none that a test could see, or is accepted.
Without `--sample` every mutant is tried; with it, a number of them drawn by a seed.
"""

from __future__ import annotations
import __future__

import argparse
import ast
import copy
import importlib
import inspect
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
RESULT = ROOT / "lab" / "results" / "mutation.json"
EXPLANATIONS = ROOT / "lab" / "mutation_survivors.json"

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
        statement: source of the changed statement of the module: a function, a class or an assignment.
        lines: the lines of which a test must run one to see the change; None if loading the module runs them.
    """

    module: str
    line: int
    words: str
    statement: str
    lines: range | None


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: killed or not, by a time limit or not, and how many tests run its lines."""

    mutant: Mutant
    killed: bool
    slow: bool
    tests: int


# Mutants -------------------------------------------------------------------------------------------------------------


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
    """Return whether changes inside a node would be no changes of behaviour, or of messages."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return True
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) > 3:
        return True
    return isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr)


def places(node: ast.AST, *, in_message: bool = False) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Yield every node that may change, as its parent, the field and the place in the field.

    Texts inside an error or a call that makes one are messages, which are left alone.
    """
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "bases"):
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
                yield node, name, place
            yield from places(child, in_message=message)


def mutants(path: Path) -> list[Mutant]:
    """Return all mutants of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    module = str(path.resolve().relative_to(ROOT))
    found = []
    for statement in tree.body:
        holder = ast.Module([statement], [])
        within = {id(node): lines for node, lines in _running_lines(statement, None)}
        for parent, name, place in list(places(holder)):
            value = getattr(parent, name)
            child = value if place is None else value[place]
            for words, other in changes(child):
                _put(parent, name, place, ast.copy_location(other, child))
                source = ast.unparse(ast.fix_missing_locations(holder))
                _put(parent, name, place, child)
                line = getattr(child, "lineno", 0)
                # The same change in two places of a line.
                before = sum(made.line == line and made.words.split(" (")[0] == words for made in found)
                words = f"{words} ({before + 1})" if before else words
                found.append(Mutant(module, line, words, source, within[id(child)]))
    return found


def _running_lines(node: ast.AST, lines: range | None) -> Iterator[tuple[ast.AST, range | None]]:
    """Yield every node below a statement with the lines that run when it does: of its statement, or its function."""
    inside = lines
    if isinstance(node, ast.FunctionDef):
        lines = inside = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
    elif isinstance(node, ast.stmt) and lines is not None:
        last = node.body[0].lineno - 1 if getattr(node, "body", None) else node.end_lineno
        inside = range(node.lineno, max(node.lineno, last or node.lineno) + 1)
    yield node, inside
    for child in ast.iter_child_nodes(node):
        yield from _running_lines(child, inside)


def _put(parent: ast.AST, name: str, place: int | None, node: ast.AST) -> None:
    if place is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[place] = node


# Changed code in loaded modules --------------------------------------------------------------------------------------


def loaded_module(path: str) -> ModuleType:
    """Return the module of a path such as `src/logiclens/storage.py`."""
    return importlib.import_module(".".join(Path(path).relative_to("src").with_suffix("").parts))


def put_in(module: ModuleType, source: str) -> None:
    """Run one changed statement of a loaded module, so that all who use its functions and values see the change.

    Functions and methods keep their identity and get new code. Other values are bound again wherever the old value has
    the same name, as are the values that later assignments of the module compute from them.
    """
    kept, space = dict(vars(module)), vars(module)
    (statement,) = ast.parse(source).body
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        made = dict(space)
        exec(_compiled(source), made)  # noqa: S102 - the code is this repository's
        _graft(kept[statement.name], made[statement.name])
        later = _assignments(module, lambda assigned: statement.name in ast.unparse(assigned))
    else:
        exec(_compiled(source), space)  # noqa: S102 - the code is this repository's
        is_changed = isinstance(statement, ast.Assign | ast.AnnAssign)
        later = _assignments(module, lambda assigned: is_changed and _names(assigned) == _names(statement))[1:]
    for assigned in later:
        exec(_compiled(ast.unparse(assigned)), space)  # noqa: S102 - the code is this repository's
    for name, old in kept.items():
        new = space.get(name)
        if new is old or _is_equal(new, old):
            space[name] = old
            continue
        for other in [m for key, m in sys.modules.items() if key.split(".")[0] in ("logiclens", "tests")]:
            if vars(other).get(name) is old:
                setattr(other, name, new)


def _assignments(module: ModuleType, is_first: Callable[[Any], bool]) -> list[ast.Assign | ast.AnnAssign]:
    """Return the assignments of a module from the first that fits."""
    body = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8")).body
    found = [statement for statement in body if isinstance(statement, ast.Assign | ast.AnnAssign)]
    return found[next((place for place, statement in enumerate(found) if is_first(statement)), len(found)) :]


def _names(statement: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def _is_equal(one: Any, other: Any) -> bool:
    return type(one) is type(other) and repr(one) == repr(other) and bool(one == other)


def _compiled(source: str) -> Any:
    return compile(source, "<mutant>", "exec", __future__.annotations.compiler_flag, dont_inherit=True)


def _graft(old: Any, new: Any) -> None:
    """Give an old function, or the methods and values of an old class, what the new one has."""
    if isinstance(old, type):
        for name, value in vars(new).items():
            before = vars(old).get(name)
            if _functions(before) and len(_functions(before)) == len(_functions(value)):
                _graft(before, value)
            elif not name.startswith("__") and not inspect.isdatadescriptor(value) and not _is_equal(before, value):
                setattr(old, name, value)
        return
    for one, other in zip(_functions(old), _functions(new), strict=True):
        one.__code__, one.__defaults__, one.__kwdefaults__ = other.__code__, other.__defaults__, other.__kwdefaults__
    if hasattr(old, "cache_clear"):
        old.cache_clear()


def _functions(value: Any) -> list[FunctionType]:
    """Return the plain functions inside a function, method, property or wrapper."""
    if isinstance(value, property):
        return [function for part in (value.fget, value.fset) for function in _functions(part)]
    value = getattr(value, "__func__", getattr(value, "func", value))
    value = inspect.unwrap(value) if callable(value) else value
    return [value] if isinstance(value, FunctionType) else []


# Tests ---------------------------------------------------------------------------------------------------------------


@dataclass
class Campaign:
    """A pytest plugin that runs the collected tests on many mutants.

    Attributes:
        modules: paths of the modules, relative to the repository.
        chosen: the mutants to try.
        jobs: number of mutants tried at a time.
        slowest: seconds above which a test is left out.
        end: time, by `time.monotonic`, after which no mutant is started.
        outcomes: what became of the mutants.
    """

    modules: Sequence[str]
    chosen: Sequence[Mutant]
    jobs: int
    slowest: float
    end: float
    outcomes: list[Outcome] = field(default_factory=list)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests on the unchanged modules, then on every mutant."""
        with tempfile.TemporaryDirectory() as made:
            self.place = Path(made)
            self._try_all(session)
        return True

    def _try_all(self, session: pytest.Session) -> None:
        items = session.items
        for module in self.modules:
            loaded_module(module)
        share_fixtures(session, items)
        timed = self._baseline(session, items, self._compile_again, trace=False)
        seconds = {entry["test"]: entry["seconds"] for entry in timed}
        items = [item for item in items if seconds[item.nodeid] <= self.slowest]
        items.sort(key=lambda item: seconds[item.nodeid])
        traced = self._baseline(session, items, lambda: None)
        seen = {entry["test"]: [set(lines) for lines in entry["lines"]] for entry in traced}
        total = sum(seconds[item.nodeid] for item in items)
        print(f"{len(items)} of {len(seconds)} tests, {total:.1f} s", flush=True)
        place = {module: number for number, module in enumerate(self.modules)}
        waiting, running = list(reversed(self.chosen)), []
        while running or (waiting and time.monotonic() < self.end):
            while waiting and len(running) < self.jobs and time.monotonic() < self.end:
                mutant = waiting.pop()
                here = [
                    item for item in items
                    if mutant.lines is None or not seen[item.nodeid][place[mutant.module]].isdisjoint(mutant.lines)
                ]  # fmt: skip
                limit = 5 + 4 * sum(seconds[item.nodeid] for item in here)
                run = Run(session, here, lambda mutant=mutant: put_in(loaded_module(mutant.module), mutant.statement))
                running.append((mutant, run, run.start(self.place, limit)))
            time.sleep(0.005)
            for entry in list(running):
                mutant, run, _ = entry
                if (code := run.code()) is not None:
                    running.remove(entry)
                    self._take(mutant, run, code)

    def _take(self, mutant: Mutant, run: Run, code: int) -> None:
        if code == NOT_MADE:
            print(f"cannot be made: {mutant.module}:{mutant.line}: {mutant.words}", flush=True)
            return
        self.outcomes.append(Outcome(mutant, code != 0, code == -signal.SIGKILL, len(run.items)))
        if code == 0:
            print(f"survived: {mutant.module}:{mutant.line}: {mutant.words} ({len(run.items)} tests)", flush=True)
        if len(self.outcomes) % 50 == 0:
            print(f"{len(self.outcomes)} of {len(self.chosen)} tried", flush=True)
        if code == -signal.SIGKILL:
            print(f"slow: {mutant.module}:{mutant.line}: {mutant.words}", flush=True)

    def _compile_again(self) -> None:
        for name in self.modules:
            for statement in ast.parse((ROOT / name).read_text(encoding="utf-8")).body:
                if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign):
                    put_in(loaded_module(name), ast.unparse(statement))

    def _baseline(
        self, session: pytest.Session, items: list[pytest.Item], prepare: Callable[[], None], *, trace: bool = True
    ) -> list[dict[str, Any]]:
        """Run all tests in a child; return what each runs, and how long it takes. End the program if one fails."""
        files = [str(ROOT / module) for module in self.modules] if trace else []
        log = self.place / "log.jsonl"
        run = Run(session, items, prepare, files, log)
        run.start(self.place, 3600)
        while (code := run.code()) is None:
            time.sleep(0.05)
        if code != 0:
            last = log.read_text().splitlines()[-1][:300] if log.exists() else ""
            pytest.exit(f"the tests fail on the unchanged modules: mend that first. {last}", 1)
        entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        log.unlink()
        return entries


NOT_MADE = 77


def share_fixtures(session: pytest.Session, items: Sequence[pytest.Item]) -> None:
    """Set the fixtures of the whole session up before the first fork, by running one test for each of them."""
    done: set[str] = set()
    for item in items:
        names = {
            name for name, found in item._fixtureinfo.name2fixturedefs.items() if found[-1].scope in ("session",)
        } - done  # fmt: skip
        if names:
            done |= names
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=item)
            session._setupstate.teardown_exact(session)  # type: ignore[arg-type]
    if session.testsfailed:
        pytest.exit("a test fails on the unchanged modules: mend that first.", 1)


@dataclass
class Run:
    """A child process that runs tests up to the first failure, after a change of the loaded modules."""

    session: pytest.Session
    items: Sequence[pytest.Item]
    prepare: Callable[[], None]
    files: Sequence[str] = ()
    log: Path | None = None

    def start(self, place: Path, limit: float) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=place))
        self.end = time.monotonic() + limit
        self.child = os.fork()
        if self.child == 0:
            code = 1
            try:
                os.setsid()
                silent = os.open(os.devnull, os.O_RDWR)
                for stream in (0, 1, 2):
                    os.dup2(silent, stream)
                code = self._run()
            finally:
                os._exit(code)

    def code(self) -> int | None:
        """Return the exit code of the child, None while it runs. Kill it after its time."""
        done, status = os.waitpid(self.child, os.WNOHANG)
        if not done and time.monotonic() > self.end:
            os.killpg(self.child, signal.SIGKILL)
            done, status = os.waitpid(self.child, 0)
        if not done:
            return None
        shutil.rmtree(self.folder, ignore_errors=True)
        return os.waitstatus_to_exitcode(status)

    def _run(self) -> int:
        session = self.session
        session.config._tmp_path_factory._basetemp = self.folder  # type: ignore[attr-defined]
        try:
            self.prepare()
        except Exception:
            return NOT_MADE
        for item, following in zip(self.items, [*self.items[1:], None], strict=True):
            lines: list[set[int]] = [set() for _ in self.files]
            self._trace(lines)
            start = time.perf_counter()
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following or item)
            seconds = time.perf_counter() - start
            sys.settrace(None)
            if self.log is not None:
                entry = {"test": item.nodeid, "seconds": seconds, "lines": [sorted(part) for part in lines]}
                with self.log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(entry) + "\n")
            if session.testsfailed:
                return 1
        return 0

    def _trace(self, lines: list[set[int]]) -> None:
        if not self.files:
            return
        place = dict(zip(self.files, lines, strict=True))

        def called(frame: Any, event: str, argument: Any) -> Any:
            part = place.get(frame.f_code.co_filename)
            if part is None:
                return None

            def line(frame: Any, event: str, argument: Any) -> Any:
                part.add(frame.f_lineno)
                return line

            return line

        threading.settrace(called)
        sys.settrace(called)


# Results -------------------------------------------------------------------------------------------------------------


def summary(outcomes: Sequence[Outcome], totals: dict[str, int], explanations: dict[str, str]) -> dict[str, Any]:
    """Return per module how many mutants there are, were tried, were killed, and survive with an explanation."""
    table = {}
    for module in sorted({outcome.mutant.module for outcome in outcomes}):
        here = [outcome for outcome in outcomes if outcome.mutant.module == module]
        killed = sum(outcome.killed for outcome in here)
        explained = sum(key_of(outcome.mutant) in explanations for outcome in here if not outcome.killed)
        table[module] = {
            "mutants": totals[module], "tried": len(here), "killed": killed, "share": round(killed / len(here), 4),
            "explained": explained,
        }  # fmt: skip
    return table


def key_of(mutant: Mutant) -> str:
    """Return what names a mutant in the file of explanations, whatever its line number."""
    line = (ROOT / mutant.module).read_text(encoding="utf-8").splitlines()[mutant.line - 1].strip()
    return f"{Path(mutant.module).name}: {line}: {mutant.words}"


def place_of(mutant: Mutant) -> tuple[str, int, str]:
    """Return what names a mutant in the file of results."""
    return mutant.module, mutant.line, key_of(mutant).split(": ", 1)[1]


def update_results(path: Path, outcomes: Sequence[Outcome], explanations: dict[str, str]) -> None:
    """Count the old survivors of the file that were killed this time. Only tests may have been added meanwhile."""
    content = json.loads(path.read_text(encoding="utf-8"))
    killed = {place_of(outcome.mutant) for outcome in outcomes if outcome.killed}
    left = []
    for entry in content["survived"]:
        name = f"{Path(entry['module']).name}: {entry['change']}"
        if (entry["module"], entry["line"], entry["change"]) in killed:
            content["modules"][entry["module"]]["killed"] += 1
        else:
            left.append(entry | {"explanation": explanations.get(name, "")})
    for module, row in content["modules"].items():
        row["share"] = round(row["killed"] / row["tried"], 4)
        row["explained"] = sum(bool(entry["explanation"]) for entry in left if entry["module"] == module)
    content["survived"] = left
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def write_results(path: Path, table: dict[str, Any], outcomes: Sequence[Outcome], explanations: dict[str, str]) -> None:
    """Put the results of the tried modules into the file, beside those of other modules."""
    content = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"modules": {}, "survived": []}
    content["modules"] = dict(sorted((content["modules"] | table).items()))
    others = [entry for entry in content["survived"] if entry["module"] not in table]
    here = [
        {"module": o.mutant.module, "line": o.mutant.line, "change": key_of(o.mutant).split(": ", 1)[1],
         "tests": o.tests, "explanation": explanations.get(key_of(o.mutant), "")}
        for o in outcomes if not o.killed
    ]  # fmt: skip
    content["survived"] = sorted(others + here, key=lambda entry: (entry["module"], entry["line"], entry["change"]))
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Change modules in one place at a time and run their tests.")
    parser.add_argument("modules", nargs="+", type=Path)
    parser.add_argument("--tests", nargs="+", required=True, help="test files or folders")
    parser.add_argument("--sample", type=int, help="number of mutants drawn from all; default: all of them")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the sample")
    parser.add_argument("--jobs", type=int, default=2, help="number of mutants tried at a time, at most 2")
    parser.add_argument("--slowest", type=float, default=1, help="leave out tests that take more seconds")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no mutant after this time")
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--again", action="store_true", help="try only the survivors that the result file names")
    given = parser.parse_args()
    end = time.monotonic() + 60 * given.minutes
    every = [mutant for module in given.modules for mutant in mutants(module)]
    totals = {str(path.resolve().relative_to(ROOT)): 0 for path in given.modules}
    for mutant in every:
        totals[mutant.module] += 1
    # In random order, so that what `--minutes` leaves out is random too.
    chosen = random.Random(given.seed).sample(every, min(len(every), given.sample or len(every)))
    if given.again:
        old = json.loads(given.out.read_text(encoding="utf-8"))["survived"]
        survivors = {(entry["module"], entry["line"], entry["change"]) for entry in old}
        chosen = [mutant for mutant in every if place_of(mutant) in survivors]
    print(f"{len(chosen)} of {len(every)} mutants", flush=True)
    os.environ["OMP_NUM_THREADS"] = "1"
    os.chdir(ROOT)
    sys.path[:0] = [str(SOURCE), str(ROOT)]
    campaign = Campaign(list(totals), chosen, min(given.jobs, 2), given.slowest, end)
    options = ["-q", "-p", "no:cacheprovider", "--capture=sys", "-p", "no:randomly"]
    code = pytest.main([*options, *given.tests], plugins=[campaign])
    if code != 0 or not campaign.outcomes:
        sys.exit(f"pytest ended with {code}, {len(campaign.outcomes)} mutants tried.")
    explanations = json.loads(EXPLANATIONS.read_text(encoding="utf-8")) if EXPLANATIONS.is_file() else {}
    table = summary(campaign.outcomes, totals, explanations)
    for module, row in table.items():
        row |= {"tests": " ".join(given.tests), "seed": given.seed}
        print(f"{module}: {row['killed']} of {row['tried']} killed ({row['share']:.0%}); {row['mutants']} mutants")
    killed, tried = sum(outcome.killed for outcome in campaign.outcomes), len(campaign.outcomes)
    print(f"all: {killed} of {tried} killed ({killed / tried:.1%})")
    if given.again:
        update_results(given.out, campaign.outcomes, explanations)
    else:
        write_results(given.out, table, campaign.outcomes, explanations)


if __name__ == "__main__":
    main()
