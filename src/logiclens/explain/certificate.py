"""Certificate: the claim that every head is its formula, with what was checked and what is not claimed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from logiclens.errors import LogicLensError
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.groups import Groups

KIND, SCHEMA = "logiclens certificate", 1
NOT_COVERED = (
    "Concepts between 0 and 1, such as scores of an encoder: the claim is about concepts cut to 0 and 1.",
    "What the network's training made of the data: rule and network are one, which does not make them right.",
    "Who decides where not exactly one formula fires, whether a concept's name says what its cut is, and the metrics: "
    "only the hashes guard these.",
    "Arithmetic less precise than float32, such as TF32, bfloat16 or quantised weights.",
)
RULED_OUT = "Rows that the declared groups rule out, where a domain names groups."


@dataclass(frozen=True)
class Refit:
    """A head that was trained to equal a formula: how well it did before and does after, on the rows that chose it."""

    accuracy_before: float
    accuracy_after: float
    f1_before: float
    f1_after: float


@dataclass(frozen=True)
class HeadCertificate:
    """One head and its formula.

    Attributes:
        name: the class.
        head: which head of the network.
        concepts: what the head keeps, in the order of the network's inputs.
        formula: what it equals.
        groups: the rows that are ruled out of the domain; without groups the domain is all 2^m rows.
        rows_checked: the rows of the domain.
        smallest_logit: the smallest distance of an answer from changing.
        rounding_bound: how far float32 can be off in any order of summation; below `smallest_logit`.
        proved_minimal: whether it is proved that no formula with fewer literals equals the head on the domain.
        refit: set where the rule was distilled into the head.
        note: where the budget of literals could not be kept.
    """

    name: str
    head: int
    concepts: tuple[str, ...]
    formula: DNF
    groups: Groups
    rows_checked: int
    smallest_logit: float
    rounding_bound: float
    proved_minimal: bool
    refit: Refit | None
    note: str | None = None

    @property
    def domain(self) -> str:
        """The domain in words."""
        concepts = "its one concept" if len(self.concepts) == 1 else f"its {len(self.concepts)} concepts"
        rows = f"all {self.rows_checked:,} rows of {concepts}"
        return rows if self.groups.is_empty else f"{rows} that the groups allow"

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> HeadCertificate:
        """The claim that an entry of `certificate.json` makes."""
        domain, refit = entry["domain"], entry["refit_to_formula"]
        return cls(
            entry["class"],
            entry["head"],
            tuple(entry["concepts"]),
            DNF(Cube(Literal(concept, holds) for concept, holds in cube.items()) for cube in entry["formula"]),
            Groups(domain.get("exclusive", ()), domain.get("implied", ())),
            entry["rows_checked"],
            entry["smallest_logit"],
            entry["rounding_bound"],
            entry["proved_minimal"],
            None if refit is None else Refit(**refit),
            entry["note"],
        )

    def as_dict(self) -> dict[str, Any]:
        """The entry in `certificate.json`."""
        domain: dict[str, Any] = {"rows": "all"}
        if not self.groups.is_empty:
            domain = {
                "rows": "possible",
                "exclusive": [list(group) for group in self.groups.exclusive],
                "implied": [list(chain) for chain in self.groups.implied],
            }
        refit = None if self.refit is None else vars(self.refit)
        return {
            "class": self.name,
            "head": self.head,
            "concepts": list(self.concepts),
            "formula": [{literal.concept: literal.positive for literal in cube} for cube in self.formula],
            "domain": domain,
            "rows_checked": self.rows_checked,
            "smallest_logit": self.smallest_logit,
            "rounding_bound": self.rounding_bound,
            "refit_to_formula": refit,
            "proved_minimal": self.proved_minimal,
            "note": self.note,
        }


@dataclass(frozen=True)
class Certificate:
    """The claims for all heads of a network."""

    heads: tuple[HeadCertificate, ...]

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Certificate:
        """The claims of a `certificate.json`; whether they are true is for `logiclens verify` to say."""
        return cls(tuple(HeadCertificate.from_dict(entry) for entry in content["classes"]))

    @property
    def names_groups(self) -> bool:
        """Whether a domain leaves out rows that groups rule out."""
        return not all(head.groups.is_empty for head in self.heads)

    def as_dict(self, *, version: str, model_sha256: str, weights_sha256: str) -> dict[str, Any]:
        """The content of `certificate.json`, sealed by its own hash."""
        content = {
            "kind": KIND,
            "schema": SCHEMA,
            "logiclens": version,
            "model_sha256": model_sha256,
            "weights_sha256": weights_sha256,
            "classes": [head.as_dict() for head in self.heads],
            "does_not_cover": [*NOT_COVERED, *([RULED_OUT] if self.names_groups else [])],
        }
        return {**content, "certificate_sha256": _seal(content)}


def check_seal(content: Mapping[str, Any], name: str) -> None:
    """Refuse a certificate of another kind or schema, or one whose content is not what was sealed."""
    if content.get("kind") != KIND or content.get("schema") != SCHEMA:
        raise LogicLensError(f"{name} is not a logiclens certificate of schema {SCHEMA}.")
    rest = {key: value for key, value in content.items() if key != "certificate_sha256"}
    if content.get("certificate_sha256") != _seal(rest):
        raise LogicLensError(f"{name} was changed after it was made: its sha256 differs.")


def _seal(content: Mapping[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()
