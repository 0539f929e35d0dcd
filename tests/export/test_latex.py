"""LaTeX: the text of a block with all classes."""

from __future__ import annotations

from dataclasses import replace

from logiclens.export import to_latex
from logiclens.formula import DNF, parse
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import Rule, RuleSet

RULES = RuleSet(
    (
        Rule(
            "ill", parse("(old & ~smoker_50%) | (in & ~dosed) | flag".replace("smoker_50%", '"smoker_50%"')), (0.9,) * 3
        ),
        Rule("well & fit", parse("~old"), (0.8,)),
        Rule(3, DNF.true, (0.1,)),
        Rule("", DNF.false, ()),
    ),
    {
        "old": Predicate("age", ">=", 72.5),
        "in": Predicate("unit", "==", "MICU"),
        "dosed": Predicate("dose", "<", 1e-7),
        "flag": Predicate("mal_flg", "==", True),
    },
    otherwise=1,
)


def test_all_classes() -> None:
    assert (
        to_latex(RULES) + "\n"
        == r"""\begin{align*}
  \text{ill} &\leftarrow (\text{age} \geq 72.5 \land \lnot \text{smoker\_50\%}) \\
  &\phantom{{}\leftarrow{}} \lor (\text{unit} = \text{MICU} \land \lnot (\text{dose} < 1 \times 10^{-7})) \\
  &\phantom{{}\leftarrow{}} \lor \text{mal\_flg} = \text{True} \\
  \text{well\ \&\ fit} &\leftarrow \lnot (\text{age} \geq 72.5) \\
  \text{3} &\leftarrow \top \\
  \text{} &\leftarrow \bot \\
  \text{well\ \&\ fit} &\phantom{{}\leftarrow{}} \text{otherwise}
\end{align*}
"""
    )


def test_where_nobody_decides_nothing_is_said_of_other_rows() -> None:
    assert "otherwise" not in to_latex(replace(RULES, resolve="none"))


def test_dates_and_missing_values() -> None:
    rules = RuleSet(
        (Rule("ill", parse("new & ~late | bare | ~bare"), (0.9,) * 3),),
        {
            "new": Predicate("admitted", ">=", "2021-03-01"),
            "late": Predicate("admitted", ">", "2021-03-01T12:30"),
            "bare": Predicate("body_mass", "missing"),
        },
    )
    assert to_latex(rules).splitlines()[1:-1] == [
        r"  \text{ill} &\leftarrow (\text{admitted} \geq \text{2021{-}03{-}01} \land "
        r"\lnot (\text{admitted} > \text{2021{-}03{-}01T12:30})) \\",
        r"  &\phantom{{}\leftarrow{}} \lor \text{body\_mass\ is\ missing} \\",
        r"  &\phantom{{}\leftarrow{}} \lor \lnot (\text{body\_mass\ is\ missing})",
    ]
