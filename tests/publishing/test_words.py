"""Views in words."""

from __future__ import annotations

from fractions import Fraction

from tests.publishing.test_run import POLICY
from tetraodon.policy.adversary import Adversary
from tetraodon.policy.load import load_policy
from tetraodon.publishing.channel import CopyChannel
from tetraodon.publishing.plan import plan_view
from tetraodon.publishing.words import errors, estimator, plan_in_words

PLAN = plan_view(load_policy(POLICY))


def test_the_plan_for_the_terminal() -> None:
    told = " ".join(plan_in_words(PLAN))
    for words in ("1,200 possible tuples", "keep 3/5", "(repeated rows)", "more than 50% after", "n/sqrt(m)"):
        assert words in told


def test_a_number_that_is_not_public_is_not_made_up() -> None:
    plan = plan_view(load_policy(POLICY), Adversary(d="0.1", gamma="0.5"))
    assert "not public" in plan_in_words(plan)[-1]
    assert errors(plan)[0][1] == "records at most"


def test_errors_stop_at_single_tuples() -> None:
    assert [row[0] for row in errors(PLAN)[1:]] == ["100% of all", "10% of all", "1% of all", "0.1% of all"]


def test_the_formula() -> None:
    told = estimator(CopyChannel(Fraction(1, 2), Fraction(1, 101)))
    assert told == "(rows of the view - 1/100 * tuples of the domain) / (1/2)"
