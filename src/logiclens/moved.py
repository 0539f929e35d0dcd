"""Import of documented modules under their old names, with a `DeprecationWarning`, for one more release.

Importing `logiclens` appends a finder to Python's own finders. Python calls it only for modules that the others do not
find.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MOVED = {
    "logiclens.baselines": "logiclens.bench.baselines",
    "logiclens.baselines.tree": "logiclens.bench.baselines.simple_rules",
    "logiclens.data": "logiclens.concepts",
    "logiclens.data.booleanise": "logiclens.concepts.booleaniser",
    "logiclens.data.concepts": "logiclens.concepts.concept_table",
    "logiclens.data.datasets": "logiclens.bench.datasets.catalogue",
    "logiclens.data.lake": "logiclens.engine.lake",
    "logiclens.data.splits": "logiclens.concepts.splits",
    "logiclens.estimators": "logiclens.estimator",
    "logiclens.estimators.classifier": "logiclens.estimator.classifier",
    "logiclens.explain.compiler": "logiclens.explain.exact",
    "logiclens.experiments": "logiclens.estimator.cross_validation",
    "logiclens.explain.rules": "logiclens.explain.decision",
    "logiclens.explain.sharpening": "logiclens.explain.thresholds",
    "logiclens.formula.minimise": "logiclens.formula.minimisation",
    "logiclens.metrics.statistics": "logiclens.metrics.rule_statistics",
    "logiclens.nn.networks": "logiclens.nn.layers",
    "logiclens.train.batched": "logiclens.train.fit_many",
}
"""Maps the old name of each moved module to its new name. To be removed in the next release."""


class _MovedModule(ModuleType):
    """A moved module. Its package may have a function of the same name, which Python replaces by the module."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call the function of the same name."""
        return getattr(self, self.__name__.rpartition(".")[2])(*args, **options)


class _MovedModules(MetaPathFinder, Loader):
    """Finder and loader of moved modules: warn once and copy the names of the new module."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        is_package = any(name.startswith(f"{fullname}.") for name in MOVED)
        return ModuleSpec(fullname, self, is_package=is_package) if fullname in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return an empty module that can stand in for a function of its name."""
        return _MovedModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        old, new = module.__name__, MOVED[module.__name__]
        # `warn` skips the frames of the import system, so the warning points to the import statement.
        warnings.warn(
            f"{old} has moved: import from {new} instead; the old name goes away in the next release.",
            DeprecationWarning,
            stacklevel=2,
        )
        there = importlib.import_module(new)
        own = set(vars(module))
        vars(module).update({name: value for name, value in vars(there).items() if name not in own})


def install() -> None:
    """Make the old names importable. Further calls have no effect."""
    if not any(isinstance(finder, _MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(_MovedModules())
