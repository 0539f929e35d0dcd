"""Certificate: the claim that every head equals its formula, with what was checked and what is not claimed.

`explain.exact` makes certificates; `logiclens verify` checks them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from logiclens.codec import to_plain
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.explain.reading import Reading, read_formulas
from logiclens.formula.dnf import DNF, Complement, Cube, Literal
from logiclens.formula.rule_set import RuleSet
from logiclens.storage import json_sha256

KIND, SCHEMA = "logiclens certificate", 2
COMPILED, EDITED = "compiled from the formula", "compiled from the edited formula"
"""Origins of the weights of a head."""
NOT_COVERED = (
    "Concepts between 0 and 1, such as scores of an encoder: the claim is about concepts cut to 0 and 1.",
    "Whether the rules are right about the world: measure that on rows that were not trained on.",
    "Who made the folder: hashes show that its files belong together, and only a signature shows who made them.",
    "Confidences, recurrence and metrics: they are repeated as stated and not checked.",
    "Figures in result.json, which `logiclens report` shows: that file is not read.",
    "Arithmetic less precise than float32, such as TF32, bfloat16 or quantised weights.",
)
"""For those who read the file. `logiclens verify` prints its own copy of these sentences; a test compares them."""
NOT_WATCHED = "Who edited the rules, when and why: the history is repeated as stated and not checked."


@dataclass(frozen=True)
class HeadCertificate:
    """The claim for one head and its formula.

    Attributes:
        name: the class.
        head: index of the head in the network.
        concepts: concepts that the head keeps, in the order of the network's inputs.
        formula: the formula that the head equals.
        rows_checked: number of rows of its concepts; None if there are too many to enumerate, and the claim is proved
            unit by unit.
        smallest_logit: smallest distance of an answer from changing; for a compiled head, a lower bound of it.
        rounding_bound: maximum error of float32 in any order of summation; below `smallest_logit`. For a compiled head,
            how much float32 can reduce the distance of an answer that is nearest to changing.
        proved_minimal: whether it is proved that no formula with fewer literals equals the head on the domain. A
            complement is as short as the formula that it refers to.
        complement_of: index of the head whose formula this one is the complement of.
        is_edited: whether the head was compiled from rules that a person edited.
    """

    name: str
    head: int
    concepts: tuple[str, ...]
    formula: DNF | Complement
    rows_checked: int | None
    smallest_logit: float
    rounding_bound: float
    proved_minimal: bool
    complement_of: int | None = None
    is_edited: bool = False

    @property
    def origin(self) -> str:
        """Origin of the weights, in words."""
        return EDITED if self.is_edited else COMPILED

    @property
    def domain(self) -> str:
        """The domain in words."""
        if not self.concepts:
            return "every row, whatever its concepts"
        concepts = "its one concept" if len(self.concepts) == 1 else f"its {len(self.concepts)} concepts"
        count = f"2^{len(self.concepts)}" if self.rows_checked is None else f"{self.rows_checked:,}"
        return f"all {count} rows of {concepts}"

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any], formulas: Mapping[int, DNF] | None = None) -> HeadCertificate:
        """Return the claim of one entry of `certificate.json`.

        Args:
            entry: the entry.
            formulas: formulas by head; required if the entry is the complement of one of them.
        """
        other = entry.get("complement_of")
        return cls(
            entry["class"],
            entry["head"],
            tuple(entry["concepts"]),
            _formula(entry) if other is None else Complement((formulas or {})[other]),
            entry["rows_checked"],
            entry["smallest_logit"],
            entry["rounding_bound"],
            entry["proved_minimal"],
            other,
            entry.get("origin") == EDITED,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the entry for `certificate.json`."""
        cubes = None
        if isinstance(self.formula, DNF):
            cubes = [{literal.concept: literal.positive for literal in cube} for cube in self.formula]
        return {
            "class": self.name,
            "head": self.head,
            "concepts": list(self.concepts),
            "formula": cubes,
            "complement_of": self.complement_of,
            "origin": self.origin,
            "rows_checked": self.rows_checked,
            "smallest_logit": self.smallest_logit,
            "rounding_bound": self.rounding_bound,
            "proved_minimal": self.proved_minimal,
        }


def _formula(entry: Mapping[str, Any]) -> DNF:
    return DNF(Cube(Literal(concept, holds) for concept, holds in cube.items()) for cube in entry["formula"])


@dataclass(frozen=True)
class Certificate:
    """The claims for all heads of a network.

    >>> from logiclens import EntropyClassifier
    >>> rows = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10
    >>> model = EntropyClassifier(booleanise=None, exact=True).fit(rows, [0, 0, 0, 1] * 10)
    >>> print(model.certificate_.heads[1].formula, model.certificate_.heads[1].domain)
    x0 & x1 all 4 rows of its 2 concepts
    """

    heads: tuple[HeadCertificate, ...]

    @property
    def formulas(self) -> tuple[DNF | Complement, ...]:
        """The formula of each head."""
        return tuple(head.formula for head in self.heads)

    def reading(self, rows: ConceptTable) -> Reading:
        """Return what the certified network answers on rows, from its formulas.

        Args:
            rows: the rows.
        """
        return read_formulas(self.formulas, [head.name for head in self.heads], rows)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Certificate:
        """Return the claims of a `certificate.json`. This does not check them; `logiclens verify` does.

        Args:
            content: the content of the file.
        """
        entries = content["classes"]
        formulas = {entry["head"]: _formula(entry) for entry in entries if entry.get("complement_of") is None}
        return cls(tuple(HeadCertificate.from_dict(entry, formulas) for entry in entries))

    def as_dict(
        self, *, version: str, model_sha256: str, weights_sha256: str, rules: RuleSet | None = None
    ) -> dict[str, Any]:
        """Return the content of `certificate.json`, sealed by its own hash.

        Args:
            version: version of logiclens.
            model_sha256: hash of the model.
            weights_sha256: hash of the weights.
            rules: the rules, which define how the classes are decided. Default: None, no decision is stated.
        """
        not_covered = [*NOT_COVERED]
        history = () if rules is None else rules.history
        if history:
            not_covered.append(NOT_WATCHED)
        content = {
            "kind": KIND,
            "schema": SCHEMA,
            "logiclens": version,
            "model_sha256": model_sha256,
            "weights_sha256": weights_sha256,
            "classes": [head.as_dict() for head in self.heads],
            "resolve": None if rules is None else rules.resolve,
            "order": [] if rules is None else list(rules.order),
            "otherwise": None if rules is None else rules.otherwise,
            **({"history": to_plain(history)} if history else {}),
            "does_not_cover": not_covered,
        }
        return {**content, "certificate_sha256": json_sha256(content, ensure_ascii=False)}


def check_seal(content: Mapping[str, Any], name: str) -> None:
    """Check the kind, the schema and the hash of a certificate.

    Args:
        content: content of `certificate.json`.
        name: name of the certificate for messages.

    Raises:
        LogicLensError: if the kind or schema is another, or the content differs from what was sealed.
    """
    if content.get("kind") != KIND or content.get("schema") != SCHEMA:
        raise LogicLensError(f"{name} is not a logiclens certificate of schema {SCHEMA}.")
    rest = {key: value for key, value in content.items() if key != "certificate_sha256"}
    if content.get("certificate_sha256") != json_sha256(rest, ensure_ascii=False):
        raise LogicLensError(f"{name} was changed after it was made: its sha256 differs.")
