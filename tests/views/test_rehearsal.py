"""Views of made-up tables: what they expose is what views of real tables of these kinds do."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from reproduce.exposed import attacked, drawn
from tests.views.test_publish import POLICY
from tetraodon.noise.repeatable_coins import Dice
from tetraodon.policy.adversary import Adversary
from tetraodon.policy.load import load_policy
from tetraodon.views import exposure as rehearsal
from tetraodon.views.exposure import MOST_EXPOSED, is_dense, rehearse
from tetraodon.views.plan import plan_view

PLAN = plan_view(load_policy(POLICY))


def test_a_dense_view_may_be_held_back_and_the_plan_knows() -> None:
    """The coins are seeded: nothing here can raise a false alarm."""
    assert is_dense(PLAN.channel)
    independent, repeated = rehearse(PLAN)
    assert (independent.repeated, repeated.repeated) == (0, Fraction(1, 2))
    for found in (independent, repeated):
        assert found.shares[0] <= MOST_EXPOSED < found.shares[-1]
        assert 0 < found.held_back < len(found.shares) == 20
    assert rehearse(PLAN) == (independent, repeated)


def test_a_real_table_of_that_kind_is_exposed_as_much() -> None:
    made = load_policy({**POLICY, "budget": {"epsilon": 20}})
    plan = plan_view(made, Adversary(d="0.2", gamma="0.9", records=600))
    found = rehearse(plan)[1].shares
    random = np.random.default_rng(3)
    truth = []
    for number in range(10):
        columns = [1 / np.arange(1.0, size + 1) for size in made.domain.shape]
        codes = np.stack([random.choice(len(p), 600, p=p / p.sum()) for p in columns], axis=1)
        codes[:300] = codes[300:][random.integers(0, 300, 300)]
        truth.append(attacked(plan, codes, drawn(plan, codes, Dice(number))).found.new_records)
    assert np.mean(truth) == pytest.approx(np.mean(found), rel=0.25)


def test_what_is_not_played(monkeypatch: pytest.MonkeyPatch) -> None:
    several = load_policy({**POLICY, "adversary": {"prior": {"d": "0.02"}, "posterior": 0.9, "views": 2}})
    assert rehearse(plan_view(several)) == ()
    distinct = plan_view(load_policy(POLICY), Adversary(d="0.1", gamma="0.5", rows="distinct", records=120))
    assert [one.repeated for one in rehearse(distinct)] == [0]
    monkeypatch.setattr(rehearsal, "MOST_ROWS", 10)
    assert rehearse(PLAN) == ()
    assert rehearse(replace(PLAN, records=0)) == ()
