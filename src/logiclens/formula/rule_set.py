"""RuleSet: the formulas of all classes, which predict from a raw table without a network and answer questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from logiclens.codec import OwnForm
from logiclens.errors import LogicLensError
from logiclens.formula import record
from logiclens.formula.check import Check, Property, check
from logiclens.formula.column_kinds import Scalar
from logiclens.formula.flip import Flip, flip
from logiclens.formula.model_record import open_rules
from logiclens.formula.packed_rows import RowsLike
from logiclens.formula.rules import Decision as Decision
from logiclens.formula.rules import DecisionRules
from logiclens.formula.rules import Firing as Firing
from logiclens.formula.rules import Resolve as Resolve
from logiclens.formula.rules import Rule as Rule
from logiclens.formula.rules import no_class as no_class
from logiclens.formula.rules import who_decides as who_decides
from logiclens.formula.why import Why, why
from logiclens.words import for_reading


@dataclass(frozen=True)
class RuleSet(DecisionRules):
    """The formulas of all classes and what their concepts mean: everything that is needed to predict.

    Args:
        rules: one per class.
        predicates: what concepts mean on the raw table. A concept without a predicate is a column, true from 0.5 on.
        groups: which concepts exclude or imply each other.
        resolve: how to decide if not exactly one formula fires. `"order"`: the first class in `order` whose formula
            fires. `"confidence"`: the class of the fired cube with the highest confidence. Both give the class
            `otherwise` if no formula fires. `"none"`: undecided; the answer is None.
        otherwise: the place of the class for rows on which no formula fires.
        multilabel: whether each formula is an answer of its own, so that a row may have several labels.
        order: with `resolve="order"`, the places of the classes in the order in which they decide.
        facts: what is known of the training table, such as the name of the target; it changes words, never answers.

    With two classes, one may be the complement of the other. Then exactly one fires on every row, and `resolve` has no
    effect.

    >>> from logiclens.formula import Predicate, parse
    >>> rules = RuleSet((Rule("ill", parse("old & smoker"), (0.9,)), Rule("well", parse("~old"), (0.8,))),
    ...                 {"old": Predicate("age", ">=", 60)}, otherwise=1)
    >>> table = {"age": [70, 70, 30, None], "smoker": [1, 0, 1, 1]}
    >>> rules.predict(table)
    array(['ill', 'well', 'well', 'well'], dtype='<U4')
    >>> print(rules.firing(table))
    of 4 rows, 3 (75.0%) fire exactly one formula, 1 (25.0%) none and 0 (0.0%) several
    """

    @for_reading
    def __str__(self) -> str:
        """Return one sentence per class; `export.to_english` also says which class decides.

        >>> from logiclens.formula import parse
        >>> print(RuleSet((Rule("ill", parse("old & ~smoker"), (0.9,)), Rule("well", parse("~old"), (0.8,)))))
        A row is ill if old is true and smoker is not true.
        A row is well if old is not true.
        """
        return "\n".join(self.sentences)

    @classmethod
    def load(cls, place: str | Path) -> RuleSet:
        """Read the rules of a model folder or of an exported JSON file. Neither torch nor scikit-learn is needed."""
        return cls.from_dict(open_rules(place))

    @classmethod
    def from_dict(cls, content: Any) -> RuleSet:
        """Make rules of the dictionaries and lists that `export.to_dict` gives; see `record.from_dict`."""
        return record.from_dict(content, cls)

    def why(self, row: Any) -> Why:
        """Explain the answer on one row: which cube decided, which fired, and what each other cube lacks."""
        return why(self, row)

    def flip(self, row: Any, *, frozen: Sequence[str] = (), to: Scalar | None = None, of: Scalar | None = None) -> Flip:
        """Find a smallest change of one row that changes the answer, to the class `to` if given.

        Columns and concepts in `frozen` do not change. With `of`, change whether the formula of that class fires.
        """
        return flip(self, row, frozen=frozen, to=to, of=of)

    def check(self, wanted: Property | str, *, of: Scalar | None = None) -> Check:
        """Check whether each class, or the class `of`, has a property such as `"never uses 'gender'"`."""
        return check(self, wanted, of=of)

    def plot(self, rows: RowsLike, *, names: Sequence[str] | None = None, ax: Any = None) -> Any:
        """Plot the share of rows that each condition covers, and how far it overlaps with others.

        A bar per cube: the rows on which it fires alone, with others of its class, and with those of other classes,
        where `resolve` decides. The last bar shows the rows on which none fires.

        Args:
            rows: a raw table or rows of concepts; a matrix needs `names`.
            names: the columns of a matrix. Default: None.
            ax: axes to draw on. Default: those of a new figure of pyplot, which `plt.show()` displays.

        Returns:
            The axes.

        Raises:
            LogicLensError: if there are no rows, or a column that the rules use is missing.
        """
        # Drawing is no part of logic either; see below.
        from logiclens.render.figures import plot_rules

        packed = self.pack(rows, names)
        if packed.n_rows == 0:
            raise LogicLensError("there are no rows to plot the rules on.")
        return plot_rules(self, packed, ax)

    def _repr_html_(self) -> str:
        # The one import from a higher layer: a notebook asks the object itself, and HTML is no part of logic.
        from logiclens.render.html import rules_html

        return rules_html(self)


RulesRecord = Annotated[RuleSet, OwnForm(write=record.to_dict, read=RuleSet.from_dict)]
"""Rules in a dataclass that is written as JSON."""
