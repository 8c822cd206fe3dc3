"""Linking on Adult: whose income is read off a view follows a law that is known exactly.

Of somebody who is alone with all attributes but the last, the other tuple is held by nobody, and shown by noise alone.
Nobody depends on anybody else, so the numbers read are binomial. Each is compared with the quantiles of its law at 1e-9
and 1 - 1e-9, so that a view raises a false alarm with at most 4e-9.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import tetraodon as td
from benchmarks.data import real
from reproduce.exposed import Linked, drawn, linked
from reproduce.fig_boundary import ADVERSARY, ROWS, dense, policy, rows
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.noise.coins import system_coins
from tetraodon.views.channel import CopyChannel
from tetraodon.views.plan import ViewPlan, plan_view
from tetraodon.views.tuple_files import cells_of

adult = pytest.mark.skipif(real("adult.parquet") is None, reason="the Adult data set does not lie beside the project")
RARE = 1e-9


def read(plan: ViewPlan, codes: np.ndarray) -> Linked:
    """What is read off a view that is drawn with secret coins."""
    return linked(plan.policy.domain, codes, drawn(plan, codes, system_coins()))


def by_law(plan: ViewPlan, people: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """The least and the most who are read rightly, and wrongly."""
    assert isinstance(plan.channel, CopyChannel)
    keep, noise = float(plan.channel.keep), float(plan.channel.noise)
    hidden = (1 - keep) * (1 - noise)
    chances = (1 - hidden) * (1 - noise), hidden * noise
    right, wrong = (tuple(map(float, binom.ppf((RARE, 1 - RARE), people, chance))) for chance in chances)
    return (right[0], right[1]), (wrong[0], wrong[1])


def test_linking_by_hand() -> None:
    domain = Domain((Attribute("street", Integers(0, 4)), Attribute("sick", Integers(0, 1))))
    codes = np.array([[0, 1], [1, 0], [2, 1], [3, 0], [4, 1], [4, 0]])  # two people live in street 4
    view = cells_of(domain, np.array([[0, 1], [1, 1], [2, 0], [2, 1], [4, 1]]))
    assert linked(domain, codes, view) == Linked(right=1, wrong=1, undecided=2)


@adult
def test_eight_attributes_tell_the_ninth() -> None:
    codes, _ = rows()
    plan = plan_view(policy(), ADVERSARY)
    found = read(plan, codes)
    right, wrong = by_law(plan, 14_021)
    assert right[0] > 13_000
    assert wrong[1] < 15
    assert right[0] <= found.right <= right[1]
    assert wrong[0] <= found.wrong <= wrong[1]
    assert found.right + found.wrong + found.undecided == 14_021


@adult
def test_the_dense_view_does_not_withstand_linking_either() -> None:
    plan, codes = dense()
    found = read(plan, codes)
    right, wrong = by_law(plan, 1046)
    assert right[0] > 560
    assert right[0] <= found.right <= right[1]
    assert wrong[0] <= found.wrong <= wrong[1]


def test_whoever_links_can_be_named_over_a_dense_domain_only() -> None:
    """The errors of plans, which need no data."""
    linking = td.research.Adversary(d="0.5", gamma="0.6", kind="exclusive", records=ROWS)
    plan, _ = dense()
    assert plan.error() == pytest.approx(163.9, abs=0.05)
    assert plan_view(plan.policy, linking).error() == pytest.approx(1257, abs=0.5)
    with pytest.raises(td.errors.Refused, match="off by about"):
        plan_view(policy(), linking)
