"""The attack on a view by itself: its beliefs are Bayes' own, and hold on real records."""

from __future__ import annotations

import math
from fractions import Fraction
from importlib.resources import files

import numpy as np
import polars
import pytest

from benchmarks.data import real
from reproduce.exposed import attacked, drawn
from reproduce.fig_boundary import ADVERSARY, ROWS, policy, rows
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.noise.repeatable_coins import Dice
from tetraodon.policy.adversary import Adversary
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy
from tetraodon.views.channel import CopyChannel, SetChannel, ViewChannel
from tetraodon.views.exposure import BELIEF, MOST_EXPOSED, Exposure, beliefs, exposure, is_dense, named_from, shown
from tetraodon.views.plan import plan_view

CHANNEL = CopyChannel(Fraction(4, 5), Fraction(1, 50))


def by_enumeration(channel: CopyChannel, expected: float, copies: int) -> tuple[float, float]:
    """Belief and expected kept copies: over every number of records, of kept ones, and the noise that is left."""
    keep, noise = float(channel.keep), float(channel.noise)
    weights = {}
    for records in range(80):
        for kept in range(min(records, copies) + 1):
            prior = math.exp(-expected) * expected**records / math.factorial(records)
            chosen = math.comb(records, kept) * keep**kept * (1 - keep) ** (records - kept)
            weights[records, kept] = prior * chosen * (1 - noise) * noise ** (copies - kept)
    total = sum(weights.values())
    belief = sum(weight for (records, _), weight in weights.items() if records) / total
    return belief, sum(kept * weight for (_, kept), weight in weights.items()) / total


@pytest.mark.parametrize("expected", [1e-6, 0.01, 0.7, 3.0, 9.0])
@pytest.mark.parametrize("copies", [1, 2, 7])
def test_beliefs_are_those_of_an_enumeration(expected: float, copies: int) -> None:
    found = beliefs(CHANNEL, np.array([expected]), np.array([copies]), np.ones(1))
    assert [part[0] for part in found] == pytest.approx(by_enumeration(CHANNEL, expected, copies), rel=1e-9)


def test_many_copies_of_a_common_tuple_do_not_overflow() -> None:
    belief, kept = beliefs(CHANNEL, np.array([1e5, 1e5]), np.array([3, 80_000]), np.ones(2))
    assert belief.tolist() == [1, 1]
    assert kept[0] == pytest.approx(3, rel=1e-3)
    assert 70_000 < kept[1] <= 80_000


def test_beliefs_of_distinct_rows() -> None:
    channel = SetChannel(Fraction(2, 5), Fraction(1, 10))
    before = 1 - math.exp(-0.3)
    after = before * 0.5 / (before * 0.5 + (1 - before) * 0.1)
    assert beliefs(channel, np.array([0.3]), np.array([1]), np.array([5.0]))[0][0] == pytest.approx(after)


@pytest.mark.parametrize("channel", [CHANNEL, SetChannel(Fraction(2, 5), Fraction(1, 10))])
def test_how_common_a_tuple_must_be(channel: ViewChannel) -> None:
    expected = named_from(channel)
    assert beliefs(channel, np.array([expected]), np.array([1]), np.array([float(channel.ratio_up)]))[0][
        0
    ] == pytest.approx(BELIEF)
    assert is_dense(channel) == (1 - math.exp(-expected) > 0.5)


def test_an_empty_view_exposes_nobody() -> None:
    domain = Domain((Attribute("a", Integers(0, 9)),))
    nothing = shown([])
    assert exposure(domain, CHANNEL, nothing) == Exposure(0, 0.0, 0.0, 0, 0.0)


def test_a_document_reads_back_and_is_compared() -> None:
    found = Exposure(named=100, right=0.95, records=0.3, new=90, new_records=0.25)
    assert Exposure.of(found.document()) == found
    assert found.agrees({**found.document(), "right": 0.950001})
    assert not found.agrees({**found.document(), "named": 101})
    assert not found.agrees({**found.document(), "before": 0.6})
    assert not found.agrees({**found.document(), "named": 110})
    assert not found.agrees({**found.document(), "new_records": 0.2})


def attack(made: Policy, adversary: Adversary, codes: np.ndarray) -> tuple[Exposure, float, float]:
    """The attacker's own reckoning from a view, and the truth: the share that is right, and of all records.

    The coins are seeded: nothing here can raise a false alarm. `reproduce boundary` draws with secret ones.
    """
    plan = plan_view(made, adversary)
    found = attacked(plan, codes, drawn(plan, codes, Dice(2007)))
    return found.found, found.right / found.named, found.records


@pytest.mark.skipif(real("adult.parquet") is None, reason="the Adult data set does not lie beside the project")
def test_the_adult_experiment_gives_most_records_away() -> None:
    """At the paper's own setting."""
    codes, _ = rows()
    found, right, held = attack(policy(), ADVERSARY, codes)
    assert found.named > 12_000
    assert right > 0.93
    assert held > 0.72
    assert abs(found.right - right) < 0.03  # the attacker knows how often they are right
    assert abs(found.records - held) < 0.05
    assert found.new_records > MOST_EXPOSED
    assert len(codes) == ROWS


def test_the_bundled_extract_is_given_away_too() -> None:
    """As above, on the 12,000 rows that come with the package."""
    table = polars.read_parquet(str(files("tetraodon.demo") / "adult.parquet"))
    made = load_policy(files("tetraodon.demo") / "adult.policy.yaml")
    codes = np.stack(
        [
            np.array([attribute.code(value) for value in table[attribute.name].to_list()], np.int64)
            for attribute in made.domain
        ],
        axis=1,
    )
    made = load_policy({**made.document, "budget": {"epsilon": 30}})
    found, right, held = attack(made, Adversary(k=10, gamma="0.2", records=len(codes)), codes)
    assert found.new_records > MOST_EXPOSED
    assert right > 0.9
    assert abs(found.right - right) < 0.1
    assert abs(found.records - held) < 0.1


def test_in_the_dense_regime_hardly_anybody_is_newly_exposed() -> None:
    """Sixteen records to ten tuples; ages and hours in bands. Nothing moves far, whatever is learnt from the view."""
    table = polars.read_parquet(str(files("tetraodon.demo") / "adult.parquet"))
    made = load_policy(
        {
            "dataset": "dense",
            "attributes": {"age": {"integer": [0, 14]}, "sex": ["Female", "Male"], "schooling": {"integer": [1, 16]}},
            "budget": {"epsilon": 10},
        }
    )
    male = (table["sex"] == "Male").to_numpy()
    codes = np.stack([(table["age"].to_numpy() - 17) // 5, male, table["schooling"].to_numpy() - 1], axis=1)
    adversary = Adversary(d="0.05", gamma="0.2", records=len(codes))
    assert is_dense(plan_view(made, adversary).channel)
    found, right, _ = attack(made, adversary, codes.astype(np.int64))
    assert found.new_records < 0.005
    assert right > 0.9
