"""Views in words."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

from tests.views.test_publish import POLICY
from tetraodon.policy.adversary import Adversary
from tetraodon.policy.load import load_policy
from tetraodon.views.channel import CopyChannel
from tetraodon.views.exposure import Exposure
from tetraodon.views.plan import plan_view
from tetraodon.views.report import error_rows as errors
from tetraodon.views.report import estimator, exposure_ahead, plan_in_words, what_it_is
from tetraodon.views.report import exposure_in_words as exposed

PLAN = plan_view(load_policy(POLICY))


def test_the_plan_for_the_terminal() -> None:
    told = " ".join(plan_in_words(PLAN))
    for words in ("1,200 possible tuples", "keep 1413/2500", "(repeated rows)", "more than 50% after", "n/sqrt(m)"):
        assert words in told


def test_a_number_that_is_not_public_is_not_made_up() -> None:
    plan = plan_view(load_policy(POLICY), Adversary(d="0.1", gamma="0.5"))
    assert "not public" in plan_in_words(plan)[-1]
    assert errors(plan)[0][1] == "records at most"


def test_errors_stop_at_single_tuples() -> None:
    assert [row[0] for row in errors(PLAN)[1:]] == ["100% of all", "10% of all", "1% of all", "0.1% of all"]


def test_the_formula() -> None:
    told = estimator(CopyChannel(Fraction(1, 2), Fraction(1, 101)))
    assert told == "(rows of the view - 0.01 * tuples of the domain) / 0.5"


def test_a_chance_below_one_does_not_read_as_certainty() -> None:
    plan = plan_view(load_policy(POLICY))
    nearly = replace(plan, channel=CopyChannel(Fraction(99997, 100000), Fraction(1, 10**6)))
    assert "probability 99.997%," in what_it_is(nearly)
    closer = replace(plan, channel=CopyChannel(1 - Fraction(1, 10**9), Fraction(1, 10**6)))
    assert "probability more than 99.9999%," in what_it_is(closer)


def test_what_is_exposed() -> None:
    told = exposed(Exposure(named=13900, right=0.9843, records=0.7985, new=10170, new_records=0.4))
    for words in ("names 13,900 of its tuples", "98.4% of these", "79.8% of all records", "10,170 of the tuples"):
        assert words in told
    assert "can name none" in exposed(Exposure(0, 0.0, 0.0, 0, 0.0))


def test_what_can_be_said_of_it_beforehand() -> None:
    told = exposure_ahead(PLAN)
    assert "dense regime" in told[0]
    assert "Several copies may" in told[0]
    assert re.search(
        r"20 made-up tables .* attributes are independent, .* expose 0% to .* and \d+ would be held", told[1]
    )
    assert re.search(r"half of the records repeat another, .* and \d+ would be held back", told[2])
    assert "a smaller view is charged by itself" in told[-1]
    sparse = plan_view(load_policy({**POLICY, "budget": {"epsilon": 20}}), Adversary(d="0.001", gamma="0.5"))
    assert "--accept-exposure" in exposure_ahead(sparse)[-1]
