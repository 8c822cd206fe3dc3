"""Attackers before and after a view: closed forms against enumeration, positive and negative leakage apart."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from tetraodon.errors import PolicyError, Refused
from tetraodon.pufferfish.view_attackers import Attacker, all_tables, exclusive, independent, likelihood
from tetraodon.pufferfish.view_privacy import after
from tetraodon.views.channel import SetChannel

F = Fraction
CHANNEL = SetChannel(F(2, 5), F(1, 10))


def test_likelihoods_sum_to_one() -> None:
    for table in all_tables("abc"):
        assert sum(likelihood(CHANNEL, "abc", table, view) for view in all_tables("abc")) == 1


def test_independent_attackers_learn_of_each_tuple_from_that_tuple_alone() -> None:
    attacker = independent({"a": "1/20", "b": "1/3", "c": 1})
    assert attacker.independent
    assert attacker.bounded(F(1, 3))
    assert not attacker.bounded(F(1, 4))
    for view in all_tables("abc"):
        found = attacker.posterior(CHANNEL, view)
        for one in "ab":
            ratio = CHANNEL.ratio_up if one in view else CHANNEL.ratio_down
            assert found[one] == after(attacker.prior(one), ratio)
        assert found["c"] == 1


def test_leakage_of_independent_attackers() -> None:
    attacker = independent(dict.fromkeys("abc", F(1, 50)))
    leak = attacker.leakage(CHANNEL)
    assert leak.posterior == after(F(1, 50), CHANNEL.ratio_up)
    assert leak.raised in leak.raised_by
    assert leak.fall == after(F(1, 50), CHANNEL.ratio_down) * 50
    assert not leak.positive(F(1, 5))
    assert leak.positive(F(1, 20))
    assert leak.negative(F(1, 4), F(1, 4))


@pytest.mark.parametrize("size", [2, 3, 5])
def test_exclusive_attackers_meet_theorem_6_3_with_equality(size: int) -> None:
    """The worst view shows one tuple of the group and no other: the ratio is that of replacing a record."""
    d = F(1, size)
    attacker = exclusive([{f"joe{i}": d for i in range(size)}, {"jim0": "1/2", "jim1": "1/2"}])
    groups = [[f"joe{i}" for i in range(size)], ["jim0", "jim1"]]
    assert attacker.exclusive(groups)
    assert not attacker.exclusive([[*groups[0], *groups[1]]])
    assert not attacker.independent
    for view in all_tables(groups[0]):
        found = attacker.posterior(CHANNEL, view)
        assert sum(found[one] for one in groups[0]) == 1
    alone = attacker.posterior(CHANNEL, {"joe0"})
    assert alone["joe0"] == after(d, CHANNEL.replace_ratio)
    # Example 6.4: what Joe does not have falls by more than any independent attacker would see.
    assert alone["joe1"] / d < CHANNEL.ratio_down


def test_two_brothers() -> None:
    """[RS07] 6.1: correlation multiplies what two tuples tell, and the independent bound does not hold."""
    d = F(1, 100)
    alone = independent({"Joe": d, "Jim": d})
    brothers = Attacker(("Joe", "Jim"), {frozenset(): 1 - d, frozenset({"Joe", "Jim"}): d})
    assert brothers.bounded(d)
    assert brothers.prior("Joe") == alone.prior("Joe") == d
    both = {"Joe", "Jim"}
    assert alone.posterior(CHANNEL, both)["Joe"] == after(d, CHANNEL.ratio_up)
    assert brothers.posterior(CHANNEL, both)["Joe"] == after(d, CHANNEL.ratio_up**2)
    assert alone.leakage(CHANNEL).posterior < F(1, 15)
    assert brothers.leakage(CHANNEL).posterior > F(1, 5)


def test_every_attacker_is_judged_by_bayes_rule() -> None:
    attacker = Attacker((1, 2, 3), {frozenset({1}): "1/2", frozenset({2, 3}): "1/3", frozenset(): "1/6"})
    for view in all_tables((1, 2, 3)):
        joint = {t: p * likelihood(CHANNEL, (1, 2, 3), t, view) for t, p in attacker.tables.items()}
        for one in (1, 2, 3):
            assert attacker.posterior(CHANNEL, view)[one] == sum((p for t, p in joint.items() if one in t), F(0)) / sum(
                joint.values()
            )


@pytest.mark.parametrize(
    ("tuples", "tables"),
    [
        (("a",), {frozenset(): "1/2"}),
        (("a",), {frozenset("b"): 1}),
        (("a", "a"), {frozenset(): 1}),
        ((), {frozenset(): 1}),
        (("a",), {frozenset(): 2, frozenset("a"): -1}),
    ],
)
def test_beliefs_must_make_sense(tuples: tuple[str, ...], tables: dict[frozenset[str], object]) -> None:
    with pytest.raises(PolicyError):
        Attacker(tuples, tables)


def test_nothing_to_learn_and_too_much_to_list() -> None:
    with pytest.raises(PolicyError, match="nothing to learn"):
        independent({"a": 1}).leakage(CHANNEL)
    with pytest.raises(Refused):
        independent(dict.fromkeys(itertools.islice(itertools.count(), 30), F(1, 2)))
    assert independent({"a": 1}).independent
