"""A story says who won."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from tests.attacks.stories import story

from tetraodon.attacks import find
from tetraodon.attacks.attack import bars, belief, dots, lines, noisy_count, strongest_belief, svg
from tetraodon.pufferfish import Channel, Prior, Secret, World, named, verify

# -- attack -----------------------------------------------------------------------------------------


def test_who_won() -> None:
    played = story("gaussian-tail")
    assert (played.succeeded, played.held) == (True, True)
    assert not replace(played, attacked=played.allowed).succeeded
    assert not replace(played, defended=played.allowed * 2).held


def test_as_plain_data() -> None:
    attack = find("gaussian-tail")
    assert set(attack.document()) == {"name", "title", "paper"}
    told = attack.document(story("gaussian-tail"))
    assert told["numbers"]["published"] == 10
    assert told["succeeded"] is True


# -- picture ----------------------------------------------------------------------------------------
# Pictures hold every row, and colours are told apart by name.

ROWS = [{"n": 1, "odds": 2.0, "who": "a"}, {"n": 10, "odds": 200.0, "who": "b"}]


def test_lines_and_points() -> None:
    chart = lines(ROWS, x="n", y="odds", colour="who", log="xy")
    assert chart["encoding"]["x"]["scale"] == chart["encoding"]["y"]["scale"] == {"type": "log", "nice": False}
    assert chart["encoding"]["color"]["scale"]["domain"] == ["a", "b"]
    assert "scale" not in dots(ROWS, x="n", y="odds", colour="who")["encoding"]["x"]
    assert svg(chart).startswith("<svg")


def test_bars_stand_side_by_side_unless_their_colour_is_their_place() -> None:
    assert "xOffset" in bars(ROWS, x="n", y="odds", colour="who")["encoding"]
    alone = bars(ROWS, x="who", y="odds", colour="who")["encoding"]
    assert "xOffset" not in alone
    assert alone["color"]["legend"] is None


# -- exact bayes ------------------------------------------------------------------------------------
# Beliefs by Bayes' rule, and the law of a noisy count.

WORLD = World.product((0, 1), individuals=2)


def test_the_law_sums_to_one_and_loses_its_ratio() -> None:
    ratio = Fraction(2, 3)
    assert all(sum(noisy_count(count, 4, ratio).values()) == 1 for count in range(5))
    channel = Channel.of(lambda people: noisy_count(sum(people), 2, ratio), WORLD)
    assert verify(channel, named.indistinguishability(epsilon=1)).odds == 1 / ratio


def test_beliefs_are_bayes_rule() -> None:
    channel = Channel.of(lambda people: noisy_count(sum(people), 2, Fraction(1, 2)), WORLD)
    prior = Prior.of({(0, 0): "1/2", (1, 0): "1/4", (1, 1): "1/4"})
    one = Secret.value(0, 1)
    joint = {dataset: weight * channel.probability(dataset, 2) for dataset, weight in prior.weights}
    assert belief(prior, channel, one, 2) == (joint[1, 0] + joint[1, 1]) / sum(joint.values())
    assert strongest_belief(prior, channel, one) == max(belief(prior, channel, one, w) for w in range(3))
