"""RuleSet: the formulas of all classes, which predict from a raw table without a network and answer questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from logiclens.codec import OwnForm
from logiclens.errors import LogicLensError
from logiclens.formula import edits, record
from logiclens.formula.check import Check, Property, check
from logiclens.formula.column_kinds import Scalar
from logiclens.formula.dnf import Cube
from logiclens.formula.edits import Note
from logiclens.formula.edits import RuleId as RuleId
from logiclens.formula.edits import RuleName as RuleName
from logiclens.formula.flip import Flip, flip
from logiclens.formula.model_record import open_rules
from logiclens.formula.packed_rows import RowsLike
from logiclens.formula.rules import Decision as Decision
from logiclens.formula.rules import DecisionRules
from logiclens.formula.rules import Edit as Edit
from logiclens.formula.rules import Figures as Figures
from logiclens.formula.rules import Firing as Firing
from logiclens.formula.rules import Resolve as Resolve
from logiclens.formula.rules import Rule as Rule
from logiclens.formula.rules import no_class as no_class
from logiclens.formula.rules import who_decides as who_decides
from logiclens.formula.why import Why, why
from logiclens.words import for_reading

if TYPE_CHECKING:
    from logiclens.metrics.measured_table import Measured, MeasuredTable


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
        history: the edits that made these rules of others, in order.
        measured: what was measured of these rules; None if nothing was since the last edit.
        previous: the rules before the last edit if nothing was measured of them, so that `measure` can do so later;
            not saved.

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
        """Return the rules of a model folder or of an exported JSON file. Neither torch nor scikit-learn is needed.

        Args:
            place: the folder or the file.
        """
        return cls.from_dict(open_rules(place))

    @classmethod
    def from_dict(cls, content: Any) -> RuleSet:
        """Return rules made of dictionaries and lists.

        Args:
            content: what `export.to_dict` gives.
        """
        return record.from_dict(content, cls)

    def why(self, row: Any) -> Why:
        """Return the reasons of the answer on one row: which cube decided, which fired, and what each other cube lacks.

        Args:
            row: a dictionary from column to value, a Series, or a table with one row.
        """
        return why(self, row)

    def flip(self, row: Any, *, frozen: Sequence[str] = (), to: Scalar | None = None, of: Scalar | None = None) -> Flip:
        """Return a smallest change of one row that changes the answer.

        Args:
            row: as in `why`.
            frozen: columns and concepts that do not change. Default: none.
            to: the class to reach. Default: None, any other.
            of: the class whose formula must change its answer; needed if a row can have several labels. Default: None.
        """
        return flip(self, row, frozen=frozen, to=to, of=of)

    def check(self, wanted: Property | str, *, of: Scalar | None = None) -> Check:
        """Return whether the formula of each class has a property on all possible rows.

        Args:
            wanted: a property, such as `"never uses 'gender'"`.
            of: the one class to check. Default: None, all.
        """
        return check(self, wanted, of=of)

    # Edits: each returns new rules ----------------------------------------------------------------------------------

    @property
    def rule_ids(self) -> tuple[RuleId, ...]:
        """The names of all rules, class by class; a rule is one cube of one class."""
        return edits.rule_ids(self)

    def cube(self, rule: RuleName) -> Cube:
        """Return the conditions of a rule.

        Args:
            rule: its name: `RuleId("died", 2)`, `"died#2"`, or `"died: age >= 80 & sepsis"`. Numbers count the rules of
                a class from 1, and move up when one is removed.

        >>> from logiclens.formula import parse
        >>> RuleSet((Rule("ill", parse("(old & smoker) | sepsis"), (0.9, 0.8)),)).cube("ill#2")
        Cube('sepsis')
        """
        place, at = edits.found(self, rule)
        return self.rules[place].cubes[at]

    def knowing(self, table: RowsLike, names: Sequence[str] | None = None) -> RuleSet:
        """Return the same rules, which now know the columns of a table, so that new conditions can be about them.

        Args:
            table: a raw table.
            names: the columns of a matrix. Default: None.

        >>> from logiclens.formula import parse
        >>> rules = RuleSet((Rule("ill", parse("smoker"), (0.9,)),)).knowing({"smoker": [1, 0], "age": [70, 30]})
        >>> print(rules.with_rule("ill", "age >= 60"))
        A row is ill if smoker is true, or if age is at least 60.
        """
        return edits.knowing(self, table, names)

    def without(
        self, rule: RuleName, *, why: str | None = None, who: str | None = None, when: datetime | str | None = None
    ) -> RuleSet:
        """Return the rules without one of them, and with a line in their history.

        A class may lose all its rules: then it never fires.

        Args:
            rule: its name; see `cube`.
            why: the reason, for the history. Default: None.
            who: the person, for the history. Default: None.
            when: the moment, for the history; nothing reads a clock. Default: None.

        Raises:
            LogicLensError: if there is no such rule, or it is pinned.

        >>> from logiclens.formula import parse
        >>> rules = RuleSet((Rule("ill", parse("(old & smoker) | sepsis"), (0.9, 0.8)),))
        >>> fewer = rules.without("ill#2", why="not known at admission")
        >>> str(fewer.rules[0].formula), str(fewer.history[0])
        ('old & smoker', 'removed ill#2 (sepsis), because: not known at admission')
        """
        return edits.without(self, rule, Note(why, who, when))

    def with_rule(
        self,
        label: Scalar,
        conditions: str,
        *,
        why: str | None = None,
        who: str | None = None,
        when: datetime | str | None = None,
    ) -> RuleSet:
        """Return the rules with one more rule of a class; its confidence is 0 until it is measured.

        The class that was all the rest, the complement of the other, gets a formula of its own that decides first; it
        stays the class of rows on which nothing fires.

        Args:
            label: the class.
            conditions: such as `"age >= 80 & not smoker"`, `"unit is MICU"`, `"bmi is missing"`,
                `"admitted >= 2021-03-01"` or `"weekday of admitted >= 6"`. A missing value makes a comparison false
                and its negation true. Names with other signs stand in double quotes.
            why: as in `without`.
            who: as in `without`.
            when: as in `without`.

        Raises:
            LogicLensError: if a column is unknown, a value is of another kind, no row can satisfy all conditions, or
                the rule is there already.

        >>> from logiclens.formula import Predicate, parse
        >>> rules = RuleSet((Rule("ill", parse("old"), (0.9,)),), {"old": Predicate("age", ">=", 60)})
        >>> print(rules.with_rule("ill", "age >= 40 & age < 50").rules[0].formula)
        old | ("age >= 40" & "age < 50")
        """
        return edits.with_rule(self, label, conditions, Note(why, who, when))

    def with_condition(
        self,
        rule: RuleName,
        condition: str,
        *,
        why: str | None = None,
        who: str | None = None,
        when: datetime | str | None = None,
    ) -> RuleSet:
        """Return the rules with one more condition, or several, in one of them.

        Args:
            rule: its name; see `cube`.
            condition: as in `with_rule`.
            why: as in `without`.
            who: as in `without`.
            when: as in `without`.

        >>> from logiclens.formula import Predicate, parse
        >>> rules = RuleSet((Rule("ill", parse("old"), (0.9,)),), {"old": Predicate("age", ">=", 60)})
        >>> print(rules.with_condition("ill#1", "age < 90").rules[0].formula)
        old & "age < 90"
        """
        return edits.with_condition(self, rule, condition, Note(why, who, when))

    def without_condition(
        self,
        rule: RuleName,
        condition: str,
        *,
        why: str | None = None,
        who: str | None = None,
        when: datetime | str | None = None,
    ) -> RuleSet:
        """Return the rules without one condition of one of them; the last one stays.

        Args:
            rule: its name; see `cube`.
            condition: one of its conditions.
            why: as in `without`.
            who: as in `without`.
            when: as in `without`.

        >>> from logiclens.formula import parse
        >>> rules = RuleSet((Rule("ill", parse("old & ~smoker"), (0.9,)),))
        >>> print(rules.without_condition("ill#1", "not smoker").rules[0].formula)
        old
        """
        return edits.without_condition(self, rule, condition, Note(why, who, when))

    def with_threshold(
        self,
        condition: str,
        value: Any,
        *,
        rule: RuleName | None = None,
        why: str | None = None,
        who: str | None = None,
        when: datetime | str | None = None,
    ) -> RuleSet:
        """Return the rules with another threshold of a condition; rules that become equal become one.

        Args:
            condition: a condition that rules use, such as `"age >= 72.5"`.
            value: the new threshold: a number, or for dates and durations a text.
            rule: the one rule to change; see `cube`. Default: None, all that use the condition or its negation.
            why: as in `without`.
            who: as in `without`.
            when: as in `without`.

        >>> from logiclens.formula import Predicate, parse
        >>> rules = RuleSet((Rule("ill", parse('"age >= 72.5" & smoker'), (0.9,)),),
        ...                 {"age >= 72.5": Predicate("age", ">=", 72.5)})
        >>> rounded = rules.with_threshold("age >= 72.5", 70)
        >>> str(rounded.rules[0].formula), rounded.rules[0].recurrence
        ('"age >= 70" & smoker', ('edited by hand',))
        """
        return edits.with_threshold(self, condition, value, rule, Note(why, who, when))

    def reorder(
        self, *order: Any, why: str | None = None, who: str | None = None, when: datetime | str | None = None
    ) -> RuleSet:
        """Return the rules in another order.

        Args:
            order: the classes with rules in the order in which they decide, which makes `resolve` `"order"`; or all
                rules of one class, whose order changes no answer.
            why: as in `without`.
            who: as in `without`.
            when: as in `without`.

        >>> from logiclens.formula import parse
        >>> rules = RuleSet((Rule("ill", parse("old"), (0.9,)), Rule("well", parse("~smoker"), (0.8,))))
        >>> rules.reorder("well", "ill").order
        (1, 0)
        """
        return edits.reorder(self, order, Note(why, who, when))

    def pin(
        self, rule: RuleName, *, why: str | None = None, who: str | None = None, when: datetime | str | None = None
    ) -> RuleSet:
        """Return the rules with one of them pinned: it stays when rules are edited or searched again.

        Args:
            rule: its name; see `cube`.
            why: as in `without`.
            who: as in `without`.
            when: as in `without`.

        >>> from logiclens.formula import parse
        >>> rules = RuleSet((Rule("ill", parse("old"), (0.9,)),)).pin("ill#1")
        >>> rules.without("ill#1")
        Traceback (most recent call last):
        logiclens.errors.LogicLensError: ill#1 (old) is pinned and cannot be removed: unpin it first.
        """
        return edits.pin(self, rule, True, Note(why, who, when))

    def unpin(
        self, rule: RuleName, *, why: str | None = None, who: str | None = None, when: datetime | str | None = None
    ) -> RuleSet:
        """Return the rules with a pinned one that can be changed again.

        Args:
            rule: its name; see `cube`.
            why: as in `without`.
            who: as in `without`.
            when: as in `without`.
        """
        return edits.pin(self, rule, False, Note(why, who, when))

    def measure(
        self, table: RowsLike | MeasuredTable, target: Any = None, *, weight: Any = None, by: Any = None
    ) -> Measured:
        """Return the statistics of every rule and every class on some rows.

        Args:
            table: a raw table, or a `metrics.MeasuredTable`, which answers many measurements of one table fast.
            target: the name of the column with the classes, or the class of each row. Default: None, for a
                `MeasuredTable`, which knows it.
            weight: what each row counts for. Default: 1.
            by: a column, by name or by its values, by which subgroups are told apart. Default: None.

        Returns:
            The statistics, the confusion matrix, and the same rules with the measured confidences.

        >>> from logiclens.formula import parse
        >>> rules = RuleSet((Rule("ill", parse("old"), (0.0,)), Rule("well", parse("~old"), (0.0,))))
        >>> measured = rules.measure({"old": [1, 1, 0, 0], "state": ["ill", "ill", "well", "ill"]}, "state")
        >>> measured.accuracy, measured.rules.history
        (0.75, ())
        """
        # Statistics are made of rules, as drawings are.
        from logiclens.metrics.measured_table import MeasuredTable

        return MeasuredTable.of(table, target, weight=weight, by=by).measure(self)

    def plot(self, rows: RowsLike | None = None, *, names: Sequence[str] | None = None, ax: Any = None) -> Any:
        """Plot the share of rows that each rule covers, and how far it overlaps with others.

        A bar per rule: the rows on which it fires alone, with others of its class, and with those of other classes,
        where `resolve` decides. Cubes that differ in one category only are one rule. The last bar shows the rows on
        which none fires.

        Args:
            rows: a raw table or rows of concepts; a matrix needs `names`. Rules have no rows of their own.
            names: the columns of a matrix. Default: None.
            ax: axes to draw on. Default: those of a new figure of pyplot, which `plt.show()` displays.

        Returns:
            The axes.

        Raises:
            LogicLensError: if there are no rows, or a column that the rules use is missing.
        """
        # Drawing is no part of logic either; see below.
        from logiclens.render.figures import plot_rules

        if rows is None:
            raise LogicLensError(
                "plot counts rows, and rules have none of their own: pass a table, such as rules.plot(table)."
            )
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
