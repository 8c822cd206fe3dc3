"""What noise on each record's value loses, against the chances of everything that can be shown in tiny worlds.

Noise falls by the same factor a from place to place, and everything here holds for any a: so worlds are enumerated with
a = 1/2, in fractions, and a loss of d/b is a ratio of 2^d.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

import tetraodon as td
from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.correlated_records import certify_release
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.pair_loss import standing_in
from tetraodon.errors import Refused
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.queries import count
from tetraodon.query.contribution import One
from tetraodon.query.kinds import linear
from tetraodon.query.levels import LevelSums
from tetraodon.query.linear import LinearQuery, Measurement, Split
from tetraodon.query.local_log_noise import Disguised
from tetraodon.query.records_where import records_where

HALF = Fraction(1, 2)
WAGES = {"integer": [1000, 1006]}


def policy(share: str = "0.3%", **changes: Any) -> td.Policy:
    document = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"wage": WAGES, "s": ["f", "m"]},
        "secrets": {"wage": {"within": share}, "s": "public"},
        "budget": {"epsilon": 1},
    }
    return td.load_policy({**document, **changes})


def shown(policy: td.Policy, *by: str) -> LinearQuery:
    return LinearQuery(Disguised(policy.domain["wage"]), tuple(map(Split, by)))


def certified(policy: td.Policy, *by: str) -> Certificate:
    return certify_release(policy, [Measurement(shown(policy, *by), Fraction(1))])


# -- everything that can be shown -------------------------------------------------------------------


def chance(places: int, own: int, told: int) -> Fraction:
    """That a record at a place is shown at another, where noise halves from place to place."""
    within = Fraction(1, 3) * HALF ** abs(own - told)
    return within * 2 if told in (0, places - 1) else within


def chances(policy: td.Policy, records: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    """Of every table that can be shown of records with these codes: places, sorted."""
    scale = Disguised(policy.domain["wage"])
    own = scale.places(np.array(records)).tolist()
    found: dict[tuple[int, ...], Fraction] = dict.fromkeys(
        combinations_with_replacement(range(scale.rows), len(records)), Fraction(0)
    )
    for told in product(range(scale.rows), repeat=len(records)):
        likely = Fraction(1)
        for place, at in zip(own, told, strict=True):
            likely *= chance(scale.rows, place, at)
        found[tuple(sorted(told))] += likely
    return found


def largest_ratio(policy: td.Policy, pairs: Iterator[tuple[tuple[int, ...], tuple[int, ...]]]) -> Fraction:
    worst = Fraction(1)
    for one, other in pairs:
        first, second = chances(policy, one), chances(policy, other)
        assert sum(first.values()) == 1
        worst = max(worst, *(first[told] / second[told] for told in first), *(second[t] / first[t] for t in first))
    return worst


def one_step(policy: td.Policy, n: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All tables of n records, with one of them moved along a secret."""
    graph = policy.graph.factor_of("wage").graph
    for others in combinations_with_replacement(range(graph.size), n - 1):
        for x, y in product(range(graph.size), repeat=2):
            if x < y and graph.is_edge(x, y):
                yield (x, *others), (y, *others)


# -- levels -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("wage", [{"integer": [10, 90]}, {"integer": [64, 256]}, {"real": [1, 9], "step": "0.25"}])
@pytest.mark.parametrize("share", ["25%", "33%", "120%"])
def test_levels_lose_what_the_worst_step_moves(wage: dict[str, Any], share: str) -> None:
    here = policy(share, attributes={"wage": wage, "s": ["f", "m"]})
    sums, graph = LevelSums(here.domain["wage"]), here.graph.factor_of("wage").graph
    added = sums.added(np.arange(graph.size))
    edges = [(x, y) for x, y in product(range(graph.size), repeat=2) if x < y and graph.is_edge(x, y)]
    worst = max(int(np.abs(added[:, x] - added[:, y]).sum()) for x, y in edges)
    found = certify_release(here, [Measurement(LinearQuery(sums, (Split("s"),)), Fraction(7))])
    assert found.exact
    assert found.epsilon == Fraction(worst, 7)
    first, second = (here.domain.codes(end)[0] for end in found.witness)
    assert here.graph.is_edge(*found.witness)
    assert int(np.abs(added[:, first] - added[:, second]).sum()) == worst
    rows = [[*line.tolist()] for line in np.repeat(added, 2, axis=1)]
    assert td.certify(here, rows, 7).epsilon >= found.epsilon
    whole = policy(attributes={"wage": wage, "s": ["f", "m"]}, secrets={"wage": "everything", "s": "public"})
    assert certify_release(whole, [Measurement(LinearQuery(sums), Fraction(7))]).epsilon == Fraction(sums.length, 7)


# -- tests ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", ["0.1%", "0.2%", "0.3%", "0.5%", "1%"])
def test_a_step_loses_what_some_output_tells(share: str) -> None:
    here = policy(share)
    found = certified(here)
    assert found.exact
    assert 2**found.epsilon == largest_ratio(here, one_step(here, 1))
    first, second = found.witness
    pair = tuple(here.domain.codes(first)[:1]), tuple(here.domain.codes(second)[:1])
    assert here.graph.is_edge(first, second)
    assert largest_ratio(here, iter([pair])) == 2**found.epsilon


def test_two_records_lose_no_more() -> None:
    here = policy()
    assert largest_ratio(here, one_step(here, 2)) == 2 ** certified(here).epsilon


def test_rows_of_a_group_may_all_change_in_any_way() -> None:
    """Two rows of a household, each from any value to any other."""
    here = policy(
        attackers=[{"groups": "home", "at most": 2}], attributes={"wage": WAGES}, secrets={"wage": {"within": "0.1%"}}
    )
    ends = list(combinations_with_replacement((0, 3, 6), 2))
    pairs = combinations_with_replacement(ends, 2)
    assert largest_ratio(here, iter(pairs)) == 2 ** certified(here).epsilon == 2**12


def test_known_counts_are_priced_for_any_change_of_all_records_that_differ() -> None:
    known = policy(known=[{"count": "wage < 1003"}])
    found = certified(known)
    assert not found.exact
    swapped = [((0, 6), (3, 2)), ((2, 3), (3, 2)), ((0, 5), (6, 2)), ((2, 6), (3, 0))]
    assert largest_ratio(known, iter(swapped)) <= 2**found.epsilon


def test_a_price_for_the_whole_scale_is_a_bound_where_no_secret_is_as_long() -> None:
    """What is known is about people that no secret changes: one record changes, by three places of six."""
    for kind in (Disguised, LevelSums):
        here = policy(known=[{"count": "s = 'f'"}])
        found = certify_release(here, [Measurement(LinearQuery(kind(here.domain["wage"])), Fraction(1))])
        alone = certify_release(policy(), [Measurement(LinearQuery(kind(here.domain["wage"])), Fraction(1))])
        assert alone.exact
        assert not found.exact
        assert alone.epsilon < found.epsilon == kind(here.domain["wage"]).length


def test_the_worst_group_counts() -> None:
    rules = {"by": "s", "rules": {"m": {"secrets": {"wage": {"within": "0.5%"}}}}}
    assert certified(policy(groups=rules)).epsilon == certified(policy("0.5%")).epsilon == 5
    none = {"by": "s", "rules": {"f": "none", "m": "none"}}
    assert certified(policy(groups=none)).epsilon == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"presence": "secret"},
        {"individuals": {"key": "person", "at most": 2}},
        {"individuals": {"key": "person", "secret": 2}},
    ],
)
def test_how_many_records_there_are_shows(changes: dict[str, Any]) -> None:
    assert not certified(policy(**changes)).finite


def test_cells_must_be_public() -> None:
    assert certified(policy(), "s").epsilon == 3
    assert not certified(policy(secrets={"wage": {"within": "0.3%"}}), "s").finite


def test_any_other_secret_is_priced_for_the_whole_scale() -> None:
    for secret in ("everything", {"within": 1}, {"blocks": [[1000, 1003], [1004, 1006]]}):
        assert certified(policy(secrets={"wage": secret, "s": "public"})).epsilon == 6
        found = certified(policy(secrets={"wage": secret, "s": "public"}))
        assert found.exact == (secret == "everything")  # some step is as long as the scale
        assert not found.exact or found.witness == ((1000, "f"), (1006, "f"))
    assert certified(policy(secrets={"wage": "public", "s": "public"})).epsilon == 0


def test_beside_other_items_losses_of_a_step_add_up() -> None:
    here = policy()
    low = linear(count("wage < 1003"), here.domain)
    both = [Measurement(shown(here), Fraction(1)), Measurement(low, Fraction(2))]
    found = certify_release(here, both)
    assert found.epsilon == Fraction(7, 2)
    assert found.exact == (certify_release(here, both[1:]).epsilon == HALF)


def test_what_is_not_priced_is_refused() -> None:
    here = policy()
    beside = Measurement(linear(count("wage < 1003"), here.domain), Fraction(1), GAUSSIAN)
    with pytest.raises(Refused, match="beside Gaussian noise"):
        certify_measurements(here.graph, [Measurement(shown(here), Fraction(1)), beside])
    those = records_where("s = 'f'", (), here.domain)
    part = Measurement(those.lifted(shown(here)), Fraction(1))
    with pytest.raises(Refused, match="for all records only"):
        certify_measurements(here.graph, [part])
    assert not certify_measurements(here.graph, [Measurement(shown(here), Fraction(0))]).finite
    assert not certify_measurements(here.graph, [Measurement(shown(here), Fraction(1), GAUSSIAN)]).finite


def test_a_histogram_stands_in() -> None:
    here = policy()
    exact, counts = standing_in([Measurement(shown(here), Fraction(6))], here.graph)
    assert (exact.query, exact.scale) == (LinearQuery(One()), 0)
    assert (counts.query, counts.scale) == (LinearQuery(One(), (Split("wage"),)), 4)
