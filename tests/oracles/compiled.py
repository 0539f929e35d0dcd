"""A hand-made saved model with compiled heads and its certificate, in the format of schema 2."""

from __future__ import annotations

from typing import Any

import numpy as np

from logiclens import EntropyClassifier
from logiclens.concepts.concept_table import ConceptTable
from logiclens.explain.exact import CompiledNetwork, compiled_network
from logiclens.formula.dnf import DNF, Complement, Cube, Literal, written
from tests.oracles.certified import Saved

METRICS = {
    "rows": 1, "best_epoch": None, "accuracy_on_these_rows": 1.0, "teacher": None, "fidelity_to_the_teacher": None,
}  # fmt: skip


def settings() -> dict[str, Any]:
    given = EntropyClassifier(None, exact=True, hidden=[20]).get_params(deep=False)
    return {name: value for name, value in given.items() if name != "verbose"}


def random_formula(rng: np.random.Generator, names: list[str], n_cubes: int, longest: int) -> DNF:
    """Distinct random cubes; together they use every concept where their literals suffice."""
    cubes: dict[Cube, None] = {}
    unused = list(rng.permutation(len(names)))
    while len(cubes) < n_cubes:
        size = int(rng.integers(min(3, longest, len(names)), min(longest, len(names)) + 1))
        chosen = {int(unused.pop()) for _ in range(min(size, len(unused)))}
        while len(chosen) < size:
            chosen.add(int(rng.integers(len(names))))
        cubes[Cube(Literal(names[j], bool(rng.integers(2))) for j in sorted(chosen))] = None
    return DNF(cubes)


def compiled(formulas: list[DNF | Complement], names: list[str], class_names: list[str]) -> CompiledNetwork:
    table = ConceptTable(np.zeros((1, len(names)), dtype=bool), names, class_names=class_names)
    return compiled_network(formulas, table)


def saved_compiled(
    formulas: list[DNF | Complement],
    names: list[str],
    *,
    resolve: str = "order",
    order: list[int] | None = None,
    otherwise: int | None = None,
    multilabel: bool = False,
) -> Saved:
    """The three files of a compiled model; the rules are written without the library's writer."""
    class_names = [f"class {i}" for i in range(len(formulas))]
    made = compiled(formulas, names, class_names)
    classes = []
    for head, formula in zip(made.certificate.heads, formulas, strict=True):
        if isinstance(formula, Complement):
            classes.append({"class": head.name, "complement_of": head.complement_of, "confidence": 0.8})
        else:
            cubes = [{"if": literals(cube), "confidence": 0.9} for cube in written(formula)]
            classes.append({"class": head.name, "cubes": cubes})
    stated = [i for i, formula in enumerate(formulas) if isinstance(formula, DNF)]
    if order is None:
        order = stated if resolve == "order" and not multilabel else []
    complements = [i for i in range(len(formulas)) if i not in stated]
    if otherwise is None and not multilabel:
        otherwise = complements[0] if complements else len(formulas) - 1
    deciding = {"resolve": resolve, "order": order, "otherwise": otherwise}
    sizes = made.weights.sizes
    model = {
        "kind": "logiclens model", "schema": 3, "logiclens": "0.1.0",
        "network": {
            "n_concepts": sizes.n_concepts, "n_heads": sizes.n_heads, "hidden": list(sizes.hidden),
            "temperature": sizes.temperature, "activation": "relu", "rules": 0,
        },
        "concepts": list(names), "predicates": {}, "columns": [], "positional": False, "cutting": None,
        "exclusive": [], "implied": [], "class_names": class_names,
        "labels": list(range(len(class_names))) if multilabel else class_names, "multilabel": multilabel, "exact": True,
        "rules": {
            "kind": "logiclens rules", "schema": 2, "classes": classes, "predicates": {}, "exclusive": [],
            "implied": [], "multilabel": multilabel, **deciding,
        },
        "settings": settings(), "metrics": dict(METRICS), "data_sha256": "0" * 64, "target": None,
    }  # fmt: skip
    certificate = {
        "kind": "logiclens certificate", "schema": 2, "logiclens": "0.1.0",
        "classes": [head.as_dict() for head in made.certificate.heads], **deciding, "does_not_cover": [],
    }  # fmt: skip
    return Saved(model, dict(made.weights.arrays), certificate)


def literals(cube: Cube) -> dict[str, bool]:
    return {literal.concept: literal.positive for literal in cube}
