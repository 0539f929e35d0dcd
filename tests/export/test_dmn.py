"""Decision tables decide as the rules do."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given

from logiclens.export import to_dmn
from logiclens.formula import Complement, Predicate, Rule, RuleSet, parse
from tests.examples import examples
from tests.export_cases import CONCEPTS, DATES, PART_PREDICATES, expected_classes, rows_of, rule_sets, table
from tests.feel import SPACE, decide

ROWS = table(120)


@given(rule_sets(CONCEPTS))
@examples(60)
def test_dmn_decides_as_the_rules_do(rules: RuleSet) -> None:
    answers = [decide(to_dmn(rules), row) for row in rows_of(ROWS)]
    if rules.multilabel:
        fires = rules.fires(ROWS)
        assert [set(map(str, answer)) for answer in answers] == [
            {rule.name for rule, one in zip(rules.rules, row, strict=True) if one} for row in fires
        ]
    else:
        assert [None if answer is None else str(answer) for answer in answers] == [
            None if label is None else str(label) for label in expected_classes(rules, ROWS)
        ]


@pytest.mark.parametrize("predicate", PART_PREDICATES, ids=str)
def test_dmn_takes_parts_of_dates(predicate: Predicate) -> None:
    name = str(predicate)
    ill = parse(f'"{name}"')
    rules = RuleSet((Rule("a", ill, (0.5,)), Rule("b", Complement(ill), (0.5,))), {name: predicate}, otherwise=1)
    assert [decide(to_dmn(rules), row) for row in rows_of(DATES)] == rules.predict(DATES).tolist()


def test_comments_stand_beside_the_rules() -> None:
    rules = RuleSet((Rule("ill", parse("old | smoker"), (0.9, 0.8)),)).pin("ill#1", why="guideline").pin("ill#2")
    texts = [one.text for one in ET.fromstring(to_dmn(rules)).iterfind(".//dmn:annotationEntry/dmn:text", SPACE)]
    assert texts[1::3] == ["guideline", "pinned"]
