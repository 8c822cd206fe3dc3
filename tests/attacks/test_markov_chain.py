"""The loss of an hour grows with the chain's memory."""

from __future__ import annotations

from fractions import Fraction

from tests.attacks.stories import story

from tetraodon.attacks.on_mechanisms import HOURS, day
from tetraodon.pufferfish import Additive, Definition, Laplace, World, pairs, verify


def test_the_scale_that_was_found_is_the_smallest_on_the_grid() -> None:
    scale = Fraction(story("markov-chain").numbers["smallest scale that verifies, a day"])
    world = World.product((0, 1), individuals=HOURS)
    promise = Definition(pairs.values(), day(Fraction(9, 10)), epsilon=1)
    assert verify(Additive(sum, Laplace(scale), world), promise).holds
    assert verify(Additive(sum, Laplace(scale - Fraction(1, 8)), world), promise).holds is False
    assert 1 < scale < HOURS


def test_the_plan_knows_of_the_chain() -> None:
    numbers = story("markov-chain").numbers
    assert numbers["smallest scale that verifies, a day"] <= numbers["scale of the plan, a day"] <= HOURS
    assert 1 < numbers["scale of the plan, any length"] < 100


def test_independent_hours_lose_what_was_meant() -> None:
    losses = [row for row in story("markov-chain").chart["data"]["values"] if row["noise"] == "scale 1"]
    assert losses[0]["epsilon"] == 1
    assert [row["epsilon"] for row in losses] == sorted(row["epsilon"] for row in losses)
