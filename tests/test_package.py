"""The package as a whole: what an import loads, what the source must not call, and how the tests are arranged."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import logiclens

SOURCE = Path(logiclens.__file__).parent
TESTS = Path(__file__).parent
LONGEST_NAME = 10
NOT_PACKAGES = {"oracles", "folders", "browser", "lab", "fuzz", "faults", "__pycache__"}


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_the_package_loads_nothing_heavy():
    heavy = "{'torch', 'numpy', 'pandas', 'sklearn', 'scipy', 'matplotlib'}"
    assert python(f"import sys, logiclens; print(sorted({heavy} & set(sys.modules)))") == "[]"


@pytest.mark.parametrize("package", [f"logiclens.{name}" for name in ("formula", "metrics", "concepts", "verify")])
def test_logic_and_data_load_neither_torch_nor_scikit_learn(package):
    code = f"import sys, {package}; print(sorted({{'torch', 'sklearn', 'pandas', 'scipy'}} & set(sys.modules)))"
    assert python(code) == "[]"


def test_network_and_training_need_torch_numpy_and_jaxtyping_alone():
    # Whatever else is installed is hidden, as on a machine that only has these.
    code = """
import sys
for name in ('sklearn', 'scipy', 'pandas', 'matplotlib', 'rich', 'typer'):
    sys.modules[name] = None
import logiclens.nn, logiclens.train, logiclens.formula, torch
from logiclens.concepts import ConceptTable
net = logiclens.nn.EntropyNet(2, 2)
logiclens.train.fit(net, ConceptTable([[0, 1], [1, 0]], labels=[0, 1]), logiclens.train.TrainConfig(epochs=1))
print('ran')
"""
    assert python(code) == "ran"


def test_public_names_exist_and_none_is_a_subpackage():
    subpackages = {module.name for module in pkgutil.iter_modules([str(SOURCE)])}
    for name in logiclens.__all__:
        assert getattr(logiclens, name) is not None
        assert name not in subpackages
    assert set(logiclens.__all__) <= set(dir(logiclens))
    for package in subpackages - {"__main__", "cli"}:
        assert getattr(logiclens, package) is importlib.import_module(f"logiclens.{package}")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        logiclens.nothing  # noqa: B018


# Imports inside formula --------------------------------------------------------------------------------------------


class Imports(ast.NodeVisitor):
    """Modules of ours that a module imports, and from where: its top level, a function, or for annotations only."""

    def __init__(self, source: str) -> None:
        self.place, self.found = "top", []
        self.visit(ast.parse(source))

    def within(self, place: str, nodes: list[ast.stmt]) -> None:
        before, self.place = self.place, place
        for node in nodes:
            self.visit(node)
        self.place = before

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.within("function", node.body)

    def visit_If(self, node: ast.If) -> None:
        self.within("annotations" if ast.unparse(node.test) == "TYPE_CHECKING" else self.place, node.body)
        self.within(self.place, node.orelse)

    def visit_Import(self, node: ast.Import) -> None:
        self.found += [(self.place, alias.name) for alias in node.names if alias.name.startswith("logiclens.")]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module and node.module.split(".")[0] == "logiclens":
            parts = [SOURCE.joinpath(*node.module.split(".")[1:], f"{alias.name}.py") for alias in node.names]
            names = [f"{node.module}.{part.stem}" if part.exists() else node.module for part in parts]
            self.found += [(self.place, name) for name in dict.fromkeys(names)]


FORMULA = {
    f"logiclens.formula.{path.stem}".removesuffix(".__init__"): Imports(path.read_text(encoding="utf-8")).found
    for path in (SOURCE / "formula").glob("*.py")
}


def test_modules_of_formula_form_no_cycle():
    graph = {name: {other for place, other in found if place != "annotations"} for name, found in FORMULA.items()}
    order = list(TopologicalSorter(graph).static_order())
    assert order.index("logiclens.formula.dnf") < order.index("logiclens.formula.rule_set")


def test_formula_imports_in_functions_for_notebooks_and_measuring_only():
    hidden = {(name, other) for name, found in FORMULA.items() for place, other in found if place == "function"}
    assert hidden == {
        ("logiclens.formula.rule_set", "logiclens.render.html"),
        ("logiclens.formula.rule_set", "logiclens.render.figures"),
        ("logiclens.formula.rule_set", "logiclens.metrics.measured_table"),
    }


def test_only_dnf_and_rule_set_of_formula_import_for_annotations():
    assert {name for name, found in FORMULA.items() for place, _ in found if place == "annotations"} == {
        "logiclens.formula.dnf",
        "logiclens.formula.rule_set",
    }


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from logiclens.formula import cover", [("top", "logiclens.formula.cover")]),
        ("from logiclens.formula import DNF", [("top", "logiclens.formula")]),
        ("def f():\n    from logiclens.formula.dnf import DNF", [("function", "logiclens.formula.dnf")]),
        ("class A:\n    def f(self):\n        import logiclens.formula.dnf", [("function", "logiclens.formula.dnf")]),
        ("if TYPE_CHECKING:\n    from logiclens.errors import X", [("annotations", "logiclens.errors")]),
        ("import numpy", []),
    ],
)
def test_the_graph_of_imports_sees_where_they_are(source, found):
    assert Imports(source).found == found


# What the source must never do -------------------------------------------------------------------------------------

FORBIDDEN = {
    "eval", "exec", "builtins.eval", "builtins.exec", "pickle.load", "pickle.loads", "pickle.Unpickler",
    "cloudpickle.load", "cloudpickle.loads", "joblib.load", "dill.load", "dill.loads", "marshal.loads", "shelve.open",
    "pandas.read_pickle", "pandas.eval",
}  # fmt: skip


def forbidden_calls(source: str) -> list[str]:
    """Calls that evaluate text as code or unpickle, by the names that the imports of a module give them."""
    tree, origin = ast.parse(source), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                origin[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                origin[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    found = []
    for node in ast.walk(tree):
        # A function that is only named can be called elsewhere, so naming it is enough.
        if isinstance(node, ast.Name | ast.Attribute):
            name = dotted(node, origin)
            if name in FORBIDDEN or name.split(".")[-1] in {"sympify", "parse_expr"}:
                found.append(name)
        if isinstance(node, ast.Call):
            name, keywords = dotted(node.func, origin), {k.arg: ast.unparse(k.value) for k in node.keywords}
            if name == "torch.load" and keywords.get("weights_only") != "True":
                found.append(name)
            if name == "numpy.load" and keywords.get("allow_pickle", "False") != "False":
                found.append(name)
    return found


def dotted(node: ast.expr, origin: dict[str, str]) -> str:
    """The name of an expression as its module knows it: `p.loads` after `import pickle as p` is `pickle.loads`."""
    if isinstance(node, ast.Name):
        return origin.get(node.id, node.id)
    return f"{dotted(node.value, origin)}.{node.attr}" if isinstance(node, ast.Attribute) else "?"


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_source_evaluates_text_or_loads_pickles(path):
    assert forbidden_calls(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "eval('1')", "exec('x = 1')", "import builtins\nbuiltins.eval('1')", "import pickle\npickle.load(f)",
        "import pickle as p\np.loads(b)", "from pickle import loads\nloads(b)", "from pickle import loads as j\nj(b)",
        "import sympy\nsympy.sympify('x')", "from sympy import sympify as s\ns('x')", "import torch\ntorch.load(f)",
        "import torch as t\nt.load(f, weights_only=False)", "from torch import load\nload(f)", "run = eval",
        "import numpy as np\nnp.load(f, allow_pickle=True)",
        "from sympy.parsing.sympy_parser import parse_expr\nparse_expr(t)",
    ],
)  # fmt: skip
def test_the_check_of_the_source_sees_what_it_looks_for(source):
    assert forbidden_calls(source)


@pytest.mark.parametrize(
    "source",
    [
        "import json\njson.loads(t)", "network.eval()", "import torch\ntorch.load(f, weights_only=True)",
        "from safetensors.numpy import load_file\nload_file(p)", "import numpy as np\nnp.load(f)", "store.load(f)",
    ],
)  # fmt: skip
def test_the_check_of_the_source_lets_the_rest_pass(source):
    assert forbidden_calls(source) == []


def test_folders_of_tests_are_packages_of_the_source():
    folders = {path.name for path in TESTS.iterdir() if path.is_dir()} - NOT_PACKAGES
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert folders <= packages


def test_names_of_tests_have_ten_words_at_most():
    long = [name for path in TESTS.rglob("test_*.py") for name in long_names(path.read_text(encoding="utf-8"))]
    assert long == []


def test_a_long_name_of_a_test_is_seen():
    words = "_".join("abcdefghij")
    source = f"class TestIt:\n    def test_{words}(self): ...\ndef test_{words}_k(): ...\ndef made_{words}_k(): ..."
    assert long_names(source) == [f"test_{words}_k"]


def long_names(source: str) -> list[str]:
    """Return the names of the tests in a module that have too many words; `test` does not count."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    tests = [function.name for function in functions if function.name.startswith("test_")]
    return [name for name in tests if len(name.removeprefix("test_").split("_")) > LONGEST_NAME]


def test_the_audit_installs_every_extra():
    root = Path(__file__).parent.parent
    extras = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    workflow = (root / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    (audited,) = re.findall(r"product/bin/pip install .*'\.\[(.*)\]'", workflow)
    assert set(audited.split(",")) == set(extras) - {"dev"}


@pytest.mark.parametrize("page", ["README.md", "docs/getting_started.md"])
def test_the_pages_name_every_extra_and_no_other(page):
    root = Path(__file__).parent.parent
    extras = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (table,) = re.findall(r"^\| extra \|.*\n\|[- |]+\n((?:\|.*\n)+)", (root / page).read_text(encoding="utf-8"), re.M)
    first_cells = [line.split("|")[1] for line in table.splitlines()]
    named = [name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(set(named) - {"dev"}) == sorted(set(extras) - {"dev"})
    assert len(named) == len(set(named))
