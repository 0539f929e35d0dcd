"""What importing costs and what the source must never do."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import logiclens

SOURCE = Path(logiclens.__file__).parent


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_the_package_loads_nothing_heavy():
    heavy = "{'torch', 'numpy', 'pandas', 'sklearn', 'scipy', 'matplotlib'}"
    assert python(f"import sys, logiclens; print(sorted({heavy} & set(sys.modules)))") == "[]"


@pytest.mark.parametrize("package", ["logiclens.formula", "logiclens.metrics", "logiclens.data"])
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
from logiclens.data import ConceptTable
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
    for package in subpackages - {"cli"}:
        assert getattr(logiclens, package) is importlib.import_module(f"logiclens.{package}")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        logiclens.nothing  # noqa: B018


def test_no_source_evaluates_text_or_loads_pickles():
    forbidden = {"eval", "exec", "sympify", "load", "loads"}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                # `network.eval()` sets a mode; only the builtin evaluates text.
                if isinstance(node.func, ast.Attribute) and name == "eval":
                    continue
                assert name not in forbidden, f"{path}:{node.lineno}"
