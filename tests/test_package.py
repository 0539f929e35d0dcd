"""The package as a whole: what an import loads, what the source must not call, and how the tests are arranged."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import logiclens

SOURCE = Path(logiclens.__file__).parent
TESTS = Path(__file__).parent
LONGEST_NAME = 10
NOT_PACKAGES = {"oracles", "browser", "fuzz", "faults", "lab", "__pycache__"}


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


CODE_FROM_DATA = re.compile(
    r"(?<![.\w])(eval|exec)\b|\b(pickle|cloudpickle|dill|joblib)\.(load|Unpickler)"
    r"|\bfrom (pickle|cloudpickle|dill) import"
    r"|\b(marshal|shelve|read_pickle|sympify|parse_expr)\b|\b(pd|pandas)\.eval\b|allow_pickle=True"
    r"|torch\.load\((?!.*weights_only=True)"
)
"""What evaluates text as code or unpickles."""


def test_no_source_evaluates_text_or_loads_pickles():
    sources = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    assert [str(path) for path, text in sources.items() if CODE_FROM_DATA.search(text)] == []


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
