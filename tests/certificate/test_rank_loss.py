"""What values chosen by rank lose, against their exact distribution on all neighbouring tables of tiny worlds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, pairwise, product
from typing import Any

import numpy as np
import pytest

import tetraodon as td
from tetraodon.certificate.correlated_records import certify_release
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.pair_loss import standing_in
from tetraodon.errors import Refused
from tetraodon.exact.exponent import exp_above, log_below, sign_of_sum
from tetraodon.noise.laws import GAUSSIAN, LAPLACE
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.queries import histogram
from tetraodon.query.contribution import One
from tetraodon.query.kinds import linear
from tetraodon.query.linear import LinearQuery, Measurement, Split
from tetraodon.query.ranks import RankEnds, Ranks
from tetraodon.query.records_where import records_where

SIZE, PLACES = 3, 2
SCALE = Fraction(2)
SHARES = [(Fraction(1, 2),), (Fraction(1, 4),), (Fraction(1, 4), Fraction(1, 2)), (Fraction(0), Fraction(2, 3))]
Sums = dict[Fraction, Fraction]
"""A sum of c * e^r, by r."""


def policy(**changes: Any) -> td.Policy:
    document = {
        "dataset": "d",
        "individuals": "one row each",
        "presence": "public",
        "attributes": {"x": {"integer": [0, SIZE - 1]}, "s": ["f", "m"]},
        "budget": {"epsilon": 1},
    }
    return td.load_policy({**document, **changes})


ENDS = [None, RankEnds(Fraction(1, 2), Fraction(1, 2)), RankEnds(Fraction(2), Fraction(3))]


def chosen(shares: tuple[Fraction, ...], by: tuple[str, ...] = (), ends: RankEnds | None = None) -> LinearQuery:
    return LinearQuery(Ranks("x", SIZE, shares, ends=ends), tuple(map(Split, by)))


# -- the law, cut by cut --------------------------------------------------------------------------


@cache
def weights(places: tuple[int, ...], ranks: Ranks) -> dict[tuple[int, ...], Sums]:
    """The weight of every outcome, as an exact sum of exponentials, where records lie at given places."""
    found: dict[tuple[int, ...], Sums] = defaultdict(lambda: defaultdict(Fraction))
    beyond = pairwise((Fraction(0), *ranks.beyond(SCALE), Fraction(0)))
    wanted = [gap * len(places) + b - a for gap, (a, b) in zip(ranks.gaps, beyond, strict=True)]
    for cuts in combinations_with_replacement(range(SIZE * PLACES), len(ranks.cuts)):
        ranks = [0, *(sum(place < cut for place in places) for cut in cuts), len(places)]
        off = sum((abs(b - a - w) for (a, b), w in zip(pairwise(ranks), wanted, strict=True)), Fraction(0))
        found[tuple(cut // PLACES for cut in cuts)][-off / SCALE] += 1
    return found


def times(one: Sums, other: Sums) -> Sums:
    found: Sums = defaultdict(Fraction)
    for (r, c), (s, d) in product(one.items(), other.items()):
        found[r + s] += c * d
    return found


def total(sums: list[Sums]) -> Sums:
    found: Sums = defaultdict(Fraction)
    for one in sums:
        for power, factor in one.items():
            found[power] += factor
    return found


def loses_at_most(one: tuple[int, ...], other: tuple[int, ...], ranks: Ranks, allowed: Fraction) -> bool:
    """Whether every outcome is at most e^loss times as likely with records at some places as with them at others.

    P(o) / P'(o) = w(o) Z' / (w'(o) Z), compared in whole numbers: no float decides. The counts that follow the codes
    may turn out so that they lose how far they are apart over the scale of their noise.
    """
    here, there = weights(one, ranks), weights(other, ranks)
    whole, their_whole = total(list(here.values())), total(list(there.values()))
    for outcome in here:
        loss = allowed
        if ranks.ends is not None:
            borders = ranks.ends.borders(np.array(outcome), SIZE)
            tables = [
                np.bincount(np.searchsorted(borders, np.array(end) // PLACES, side="right"), minlength=len(borders) + 1)
                for end in (one, other)
            ]
            loss -= int(np.abs(tables[0] - tables[1]).sum()) / (SCALE * ranks.ends.noise)
        left = times(here[outcome], their_whole)
        right = times(there[outcome], whole)
        if sign_of_sum(total([left, {power + loss: -factor for power, factor in right.items()}])) > 0:
            return False
    return True


def places_of(*values: Any) -> Iterator[tuple[int, ...]]:
    """All ways in which records may lie in their codes."""
    return product(*(range(value[0] * PLACES, (value[0] + 1) * PLACES) for value in values if value is not ABSENT))


def neighbours(here: td.Policy, people: int) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Where records lie in tables that differ in one person: all others lie at the same places in both."""
    there = list(product(range(SIZE), "fm"))
    values = [*there, *([ABSENT] if here.graph.absent else [])]
    steps = [(x, y) for x, y in product(values, repeat=2) if x != y and here.graph.is_edge(x, y)]
    ends = {pair for x, y in steps for pair in product(places_of(x), places_of(y)) if pair[0] != pair[1]}
    others = {tuple(sorted(rest)) for table in product(there, repeat=people - 1) for rest in places_of(*table)}
    return {((*rest, *one), (*rest, *other)) for one, other in ends for rest in others}


POLICIES: list[dict[str, Any]] = [
    {},
    {"secrets": {"x": {"within": 1}, "s": "public"}},
    {"secrets": {"x": {"blocks": [[0, 1], [2, 2]]}, "s": "public"}},
    {"presence": "secret"},
    {"presence": "secret", "secrets": {"x": "public", "s": "public"}},
]


@pytest.mark.parametrize("changes", POLICIES)
@pytest.mark.parametrize(
    ("shares", "ends"), [*((one, None) for one in SHARES), *((SHARES[n], ENDS[n + 1]) for n in (0, 1))]
)
def test_no_outcome_of_any_neighbours_says_more(
    changes: dict[str, Any], shares: tuple[Fraction, ...], ends: RankEnds | None
) -> None:
    here, query = policy(**changes), chosen(shares, ends=ends)
    loss = certify_measurements(here.graph, [Measurement(query, SCALE)])
    assert not loss.exact
    for one, other in neighbours(here, 3 if shares == SHARES[0] and ends is None else 2):
        assert loses_at_most(one, other, query.contribution, Fraction(loss.epsilon))


@pytest.mark.parametrize(
    ("changes", "drawn", "counted"),
    [
        ({}, 4, 2),
        ({"presence": "secret", "secrets": {"x": "public", "s": "public"}}, 4, 1),
        ({"presence": "secret"}, 4, 2),
    ],
)
def test_ends_cost_what_is_drawn_and_what_is_counted(changes: dict[str, Any], drawn: int, counted: int) -> None:
    """A record that comes or goes may be the only one that a gap should not have: that is two, as one that moves."""
    ends = RankEnds(Fraction(5), Fraction(1, 3))
    found = certify_release(policy(**changes), [Measurement(chosen(SHARES[0], ends=ends), SCALE)])
    assert found.epsilon == drawn / SCALE + counted / (SCALE * ends.noise)


@pytest.mark.parametrize(
    ("changes", "shares", "expected"),
    [
        ({}, SHARES[0], 4),
        ({"secrets": {"x": {"within": 1}}}, SHARES[2], 4),
        ({"presence": "secret", "secrets": {"x": "public", "s": "public"}}, SHARES[0], 2),
        ({"presence": "secret", "secrets": {"x": "public", "s": "public"}}, SHARES[1], 3),
        ({"presence": "secret", "secrets": {"x": "public", "s": "public"}}, SHARES[3], 4),
        ({"secrets": {"x": "public"}}, SHARES[0], 0),
        ({"individuals": {"key": "p", "at most": "3 rows"}, "presence": "secret"}, SHARES[0], 12),
    ],
)
def test_a_record_that_moves_costs_four_and_one_that_goes_twice_what_lies_elsewhere(
    changes: dict[str, Any], shares: tuple[Fraction, ...], expected: int
) -> None:
    here = policy(**changes)
    found = certify_release(here, [Measurement(chosen(shares), SCALE)])
    assert found.epsilon == Fraction(expected) / SCALE


def test_a_move_between_cells_goes_from_one_and_comes_to_the_other() -> None:
    public, secret = policy(secrets={"s": "public"}), policy()
    asked = [Measurement(chosen(SHARES[1], ("s",)), SCALE)]
    assert certify_measurements(public.graph, asked).epsilon == 4 / SCALE
    assert certify_measurements(secret.graph, asked).epsilon == 2 * 3 / SCALE


def test_a_part_of_the_records_is_left_and_entered() -> None:
    here = policy(together="one attribute at a time")
    women = records_where("s = 'f'", (), here.domain)
    high = records_where("x > 0", (), here.domain)
    assert women is not None
    assert high is not None
    asked = Measurement(women.lifted(chosen(SHARES[1])), SCALE)
    assert certify_measurements(here.graph, [asked]).epsilon == 4 / SCALE
    going = policy(secrets={"x": "public"})
    assert certify_measurements(going.graph, [asked]).epsilon == 3 / SCALE
    inner = LinearQuery(Ranks("x", SIZE - 1, SHARES[1]))
    assert certify_measurements(here.graph, [Measurement(high.lifted(inner), SCALE)]).epsilon == 4 / SCALE


def test_others_are_priced_beside_it_step_by_step() -> None:
    """Steps of one attribute at a time: what is chosen along x costs nothing where s changes."""
    here = policy(together="one attribute at a time")
    ranks = Measurement(chosen(SHARES[0]), Fraction(4))
    counts = Measurement(linear(histogram("s"), here.domain), Fraction(2))
    assert certify_measurements(here.graph, [ranks, counts]).epsilon == 1
    assert certify_measurements(policy().graph, [ranks, counts]).epsilon == 2


def test_a_tenth_less_would_be_noticed() -> None:
    """One of two records of the least value becomes the largest: a long stretch between has the right rank then."""
    size = 60
    here, there = [0, 0, 1, size - 1], [0, 1, size - 1, size - 1]
    found = [_single(places, size) for places in (here, there)]
    ratio = max(a / b for a, b in zip(*found, strict=True))
    wide = td.load_policy({**dict(policy().document), "attributes": {"x": {"integer": [0, size - 1]}, "s": ["f", "m"]}})
    ranks = LinearQuery(Ranks("x", size, SHARES[0]))
    bound = Fraction(certify_measurements(wide.graph, [Measurement(ranks, SCALE)]).epsilon)
    assert Fraction(19, 20) * bound < log_below(ratio)
    assert ratio <= exp_above(bound)


def _single(places: list[int], size: int) -> list[Fraction]:
    """Chances of the median's cut, but for their last digits."""
    ranks = [sum(place < cut for place in places) for cut in range(size)]
    found = [exp_above(-abs(2 * rank - len(places)) / SCALE) for rank in ranks]
    return [one / sum(found) for one in found]


def test_other_laws_are_not_priced() -> None:
    graph = policy().graph
    assert not certify_measurements(graph, [Measurement(chosen(SHARES[0]), SCALE, GAUSSIAN)]).finite
    assert not certify_measurements(graph, [Measurement(chosen(SHARES[0]), Fraction(0))]).finite
    mixed = [Measurement(chosen(SHARES[0]), SCALE), Measurement(LinearQuery(One(), (Split("x"),)), SCALE, GAUSSIAN)]
    with pytest.raises(Refused, match="Gaussian"):
        certify_measurements(graph, mixed, delta=Fraction(1, 10**6))


def test_known_counts_are_priced_as_those_of_the_counts_that_dominate() -> None:
    here = policy(known=[{"marginal": ["s"]}])
    asked = [Measurement(chosen(SHARES[0]), SCALE)]
    instead = standing_in(asked, here.graph)
    assert certify_measurements(here.graph, asked).epsilon == certify_measurements(here.graph, instead).epsilon
    assert all(one.noise is LAPLACE for one in instead)
