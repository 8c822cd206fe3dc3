"""Known counts over more cells than can be listed, and known inequalities."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest
from tests.certificate.test_loss_by_group import random_groups
from tests.known_worlds import Case, _random_graph, _random_known, is_star_neighbour, one_at_a_time, random_query

import tetraodon as td
from tetraodon.certificate import oracle
from tetraodon.certificate.certificate import Certificate, Dataset
from tetraodon.certificate.kernel import certify_measurements, sensitivity_of
from tetraodon.certificate.known import sequences as classes
from tetraodon.certificate.known import unlisted as unlisted_domain
from tetraodon.certificate.known.push import largest_push
from tetraodon.certificate.known.sequences import classes_of
from tetraodon.certificate.known.unlisted import LISTED, UnlistedSpace, is_unlisted, of_tables, two_rows, unlisted_push
from tetraodon.certificate.pair_loss import loss_of_pair
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import Refused
from tetraodon.noise.laws import GAUSSIAN, LAPLACE, NoiseLaw
from tetraodon.policy.joint_graph import METRICS, JointGraph, JointMetric, Regions
from tetraodon.policy.known import CountWhere, Known, Marginal, Rectangle
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.queries import cdf, count, histogram, total
from tetraodon.query.contribution import One, Prefix
from tetraodon.query.kinds import linear
from tetraodon.query.linear import LinearQuery, Measurement, Split, splits
from tetraodon.query.query import Query

# -- unlisted tables ------------------------------------------------------------------------------


CASE = one_at_a_time(
    (2, 3, 2),
    Known(
        Marginal(
            (
                "a1",
                "a2",
            )
        )
    ),
)
CLASSES = classes_of(CASE.graph, CASE.known)


def test_a_table_that_splits_by_more_than_what_is_known_has_two_rows_for_every_class() -> None:
    rows = two_rows(CLASSES, [LinearQuery(One(), splits(("a1", "a2", "a3")))])
    assert rows is not None
    found = of_tables(rows, Fraction(3))
    assert (found.value, found.exact) == (3 * 2 * 6, True)
    assert rows.other(0, CLASSES.codes(0)) == {"a1": 0, "a2": 0, "a3": 1}


def test_tables_that_do_not_tell_the_classes_apart_or_nothing_more_have_not() -> None:
    assert two_rows(CLASSES, [LinearQuery(One(), splits(("a1", "a3")))]) is None
    assert two_rows(CLASSES, [LinearQuery(One(), splits(("a1", "a2")))]) is None
    assert two_rows(CLASSES, [LinearQuery(One(), (*splits(("a1", "a2")), Split("a3", (0, 0))))]) is None
    assert two_rows(CLASSES, [LinearQuery(Prefix("a3", 2, 2), splits(("a1", "a2")))]) is None


def test_what_one_move_does_is_told_for_all_alike() -> None:
    space = UnlistedSpace(CLASSES, 1, 5, 3)
    assert space.diameters.tolist() == [1] * 6
    assert np.asarray(space.widest).shape == (6, 6)
    assert (space.most_in_a_cycle(), space.most_in(4)) == (6, 18)


# -- limits ---------------------------------------------------------------------------------------


def wards(beds: int, *others: dict[str, Any], only: tuple[int, ...] | None = None, **how: Any) -> Policy:
    """Seven wards and something else; so many of them have limits, or are known otherwise."""
    known = [{"count": f"ward = {ward}", **how} for ward in (range(beds) if only is None else only)]
    return td.load_policy(
        {
            "dataset": "hospital",
            "presence": "public",
            "attributes": {"ward": {"integer": [0, 6]}, "stay": {"integer": [1, 3]}},
            "budget": {"epsilon": 1},
            "known": [*known, *others],
        }
    )


def priced(here: Policy, question: Query, law: NoiseLaw = LAPLACE) -> Certificate:
    measured = Measurement(linear(question, here.domain), Fraction(2), law)
    return certify_measurements(here.graph, [measured], delta=Fraction(1, 1000) if law == GAUSSIAN else Fraction(0))


def loss(found: Certificate) -> Fraction:
    return Fraction(found.epsilon) if found.rho is None else found.rho


QUESTIONS = [histogram("ward", "stay"), histogram("ward"), cdf("ward"), total("stay"), count("ward < 2 and stay = 1")]


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=str)
@pytest.mark.parametrize("question", QUESTIONS, ids=str)
@pytest.mark.parametrize("beds", [2, LISTED + 1])
def test_the_worst_over_those_that_are_reached(beds: int, question: Query, law: NoiseLaw) -> None:
    every = chain.from_iterable(combinations(range(beds), size) for size in range(beds + 1))
    worst = max(loss(priced(wards(beds, only=some), question, law)) for some in every)
    found = priced(wards(beds, **{"at most": 5}), question, law)
    assert loss(found) >= worst
    if found.exact:
        assert loss(found) == worst
    assert found.exact or beds > LISTED or law == GAUSSIAN


def test_tables_are_exact_however_many_wards_have_limits() -> None:
    full = wards(7, **{"at most": 5})
    assert (priced(full, QUESTIONS[0]).epsilon, priced(full, QUESTIONS[0]).exact) == (7, True)
    assert (priced(full, QUESTIONS[1]).epsilon, priced(full, QUESTIONS[1]).exact) == (1, True)
    most = wards(5, **{"at most": 5})
    assert (priced(most, QUESTIONS[1]).epsilon, priced(most, QUESTIONS[1]).exact) == (1, True)
    assert (priced(full, cdf("ward")).epsilon, priced(full, cdf("ward")).exact) == (3, True)


def test_exact_counts_beside_them_are_always_reached() -> None:
    beside = wards(1, {"count": "ward = 4"}, {"count": "ward > 4", "is": 3}, **{"at most": 5})
    both = [wards(1, {"count": "ward = 4"}, {"count": "ward > 4"}, only=some) for some in ((), (0,))]
    for question in QUESTIONS:
        assert priced(beside, question).epsilon == max(priced(one, question).epsilon for one in both)
    assert priced(beside, count("ward = 4")).epsilon == 0
    assert priced(beside, count("ward = 0")).epsilon == Fraction(1, 2)


def test_conditions_about_several_attributes() -> None:
    sets = [{"count": f"ward < 3 and stay = {stay}", "at most": 9} for stay in (1, 2, 3)]
    here = wards(0, *sets, {"count": "ward = 5 and stay > 1", "at least": 2}, {"count": "ward = 6", "at most": 1})
    found = priced(here, cdf("ward"))
    assert not found.exact
    assert found.method == "upper bound over paths through all known counts"
    assert found.epsilon == 6 * Fraction(6, 2)  # from one end to the other, and through five sets


# -- unlisted domain ------------------------------------------------------------------------------


def random_wide(rng: random.Random) -> Case:
    """Known counts on a and b; c is what they do not look at."""
    shape = rng.choice([(2, 2, 2), (3, 2, 2), (2, 2, 3), (4, 1, 2), (3, 1, 3)])
    domain = Domain(tuple(Attribute(n, Integers(0, s - 1)) for n, s in zip("abc", shape, strict=True)))
    factors = tuple(Factor((a.name,), _random_graph(rng, a.size)) for a in domain)
    graph = SecretGraph(domain, factors, rng.randint(1, 3), rng.random() < 0.3)
    part = domain.project(("a", "b"))
    known = {_random_known(rng, part) for _ in range(rng.randint(1, 3))}
    return Case(graph, tuple(sorted(known, key=repr)), 3)


def some(rng: random.Random, case: Case) -> list[tuple[LinearQuery, Fraction]]:
    domain = case.graph.domain
    tables = [("a", "b", "c"), ("a", "c"), ("c",), ("a", "b"), ("b",)]
    wanted = rng.choice([1, 1, 2])
    if rng.random() < 0.6:
        return [
            (LinearQuery(One(), splits(rng.choice(tables[:3]))), Fraction(rng.randint(1, 3))) for _ in range(wanted)
        ]
    chosen = [random_query(rng, domain) for _ in range(wanted)]
    return [(query, query.contribution.unit * rng.randint(1, 3)) for query in chosen]


def test_it_is_what_listing_finds_or_a_bound() -> None:
    rng = random.Random(31)
    exact = bounds = 0
    for _ in range(1500):
        case, asked = random_wide(rng), []
        asked = some(rng, case)
        graph = replace(case.graph, known=case.known)
        if not graph.has_edges:
            continue
        truth = largest_push(graph, case.known, asked)
        found = unlisted_push(graph, asked)
        assert found.value >= truth.value or not truth.exact
        if found.exact:
            exact += 1
            assert found.value == truth.value if truth.exact else found.value <= truth.value
            if found.witness is not None:
                check_witness(graph, asked, found.witness, found.value)
        else:
            bounds += 1
    assert exact > 500
    assert bounds > 200


def check_witness(graph: SecretGraph, asked: list, witness: tuple, value: Fraction) -> None:
    """The two attain the loss, and are neighbours by the literal check of N*."""
    domain = graph.domain
    assert loss_of_pair(domain, [Measurement(query, 1 / weight) for query, weight in asked], witness) == value
    first, second = ([one] if not isinstance(one, Dataset) else list(one.records) for one in witness)
    world = oracle.world(graph, graph.known, 1)
    place = {domain.value(cell): cell for cell in range(domain.size)}
    cells = [tuple(place.get(record, domain.size) for record in records) for records in (first, second)]
    assert is_star_neighbour(world, *cells)


def test_groups_of_people_too() -> None:
    rng = random.Random(32)
    for _ in range(150):
        graph = random_groups(rng, (2, 2, 2), absent=rng.random() < 0.3)
        known = (_random_known(rng, graph.domain.project(("g", "a"))),)
        graph = replace(graph, known=known)
        asked = [(LinearQuery(One(), splits(("g", "a", "b"))), Fraction(1))]
        if not graph.has_edges:
            continue
        truth, found = largest_push(graph, known, asked), unlisted_push(graph, asked)
        assert found.value == truth.value if found.exact else found.value >= truth.value


@pytest.mark.parametrize("absent", [False, True])
def test_a_long_known_table_is_what_listing_finds(monkeypatch: pytest.MonkeyPatch, absent: bool) -> None:
    rng = random.Random(33)
    monkeypatch.setattr(unlisted_domain, "LISTED_CLASSES", 1)
    exact = 0
    for _ in range(300):
        case = random_wide(rng)
        name = rng.choice(["a", "b"])
        size = case.graph.domain[name].size
        if size < 2:
            continue
        bins = ((name, (tuple(range(size // 2)), tuple(range(size // 2, size)))),) if rng.random() < 0.4 else ()
        graph = replace(case.graph, known=(Known(Marginal((name,), bins)),), absent=absent)
        asked = some(rng, case)
        if not graph.has_edges:
            continue
        truth, found = largest_push(graph, graph.known, asked), unlisted_push(graph, asked)
        assert found.value >= truth.value
        if found.exact and truth.exact:
            assert found.value == truth.value
            exact += 1
    assert exact > 50


def test_a_domain_that_cannot_be_listed() -> None:
    """Known by sex and state, asked by age as well: 10,000 cells, exactly 2 size(C)."""
    policy = td.load_policy(
        {
            "dataset": "d",
            "presence": "public",
            "attributes": {"sex": ["F", "M"], "state": {"integer": [1, 50]}, "age": {"integer": [0, 99]}},
            "known": [{"marginal": ["sex", "state"]}],
            "budget": {"epsilon": 1},
            "release": [{"name": "ages", "histogram": ["age", "sex", "state"]}, {"name": "older", "cdf": "age"}],
        }
    )
    found = td.sensitivity(policy, td.queries.histogram("age", "sex", "state"))
    assert (found.value, found.exact) == (200, True)
    assert found.witness is not None
    assert isinstance(found.witness[0], Dataset)
    assert len(found.witness[0].records) == 100
    assert td.sensitivity(policy, td.queries.histogram("sex", "state")).value == 0
    older = td.sensitivity(policy, td.queries.cdf("age"))
    assert (older.value, older.exact) == (100 * 99, False)
    assert td.plan(policy).epsilon == 1
    one = one_at_a_time(
        (2, 3, 3),
        Known(
            Marginal(
                (
                    "a1",
                    "a2",
                )
            )
        ),
    )
    small = largest_push(one.graph, one.known, [(LinearQuery(One(), splits(one.graph.domain.names)), Fraction(1))])
    assert small.value == 2 * 6


def test_what_no_secret_changes_costs_what_it_costs_unknown() -> None:
    policy = td.load_policy(
        {
            "dataset": "d",
            "presence": "public",
            "attributes": {"sex": ["F", "M"], "state": {"integer": [1, 50]}, "age": {"integer": [0, 99]}},
            "secrets": {"sex": "public", "state": "public", "age": {"within": 5}},
            "known": [{"marginal": ["sex", "state"]}],
            "budget": {"epsilon": 1},
        }
    )
    found = td.sensitivity(policy, td.queries.cdf("age", by=["sex", "state"]))
    assert (found.value, found.exact) == (5, True)
    assert found.witness is not None


def test_rectangles_of_a_large_map() -> None:
    policy = td.load_policy(
        {
            "dataset": "d",
            "presence": "public",
            "attributes": {"x": {"integer": [0, 999]}, "y": {"integer": [0, 999]}},
            "secrets": {"x": {"within": 3}, "y": {"within": 3}},
            "known": [{"rectangle": {"x": [10 * k, 10 * k + 4], "y": [0, 99]}} for k in range(5)],
            "budget": {"epsilon": 1},
        }
    )
    found = td.sensitivity(policy, td.queries.histogram("x", "y"))
    assert (found.value, found.exact) == (2 * (5 + 1), True)


@pytest.mark.parametrize("metric", ["l1", "l2", "linf"])
def test_rectangles_of_a_large_map_under_a_joint_metric(metric: str) -> None:
    """2 (p + 1) bounds the histogram for any graph; the places are too many to be listed."""
    policy = td.load_policy(
        {
            "dataset": "d",
            "presence": "public",
            "attributes": {"x": {"integer": [0, 99]}, "y": {"integer": [0, 99]}},
            "together": {"metric": metric, "over": ["x", "y"], "within": 3},
            "known": [{"rectangle": {"x": [10 * k, 10 * k + 4], "y": [0, 50]}} for k in range(5)],
            "budget": {"epsilon": 1},
            "release": [{"name": "places", "histogram": ["x", "y"]}],
        }
    )
    found = td.sensitivity(policy, td.queries.histogram("x", "y"))
    assert (found.value, found.exact, found.witness) == (2 * (5 + 1), False, None)
    assert td.plan(policy)["places"].scale == 2 * (5 + 1)


def random_map(rng: random.Random) -> SecretGraph:
    """One or two known rectangles that share no cell, on a tiny map with a joint metric or with blocks of cells."""
    shape = rng.choice([(4, 2), (2, 4), (3, 3), (5, 2)])
    domain = Domain(tuple(Attribute(n, Integers(0, s - 1)) for n, s in zip("ab", shape, strict=True)))
    metric, within, start, step = rng.choice(METRICS[:3]), Fraction(rng.randint(1, 3)), Fraction(0), Fraction(1)
    joint: JointGraph = JointMetric(metric, within, shape, (start,) * 2, (step,) * 2)
    if rng.random() < 0.3:
        blocks = np.unique([rng.randrange(3) for _ in range(domain.size)], return_inverse=True)[1]
        order = list(dict.fromkeys(blocks.tolist()))
        joint = Regions(shape, tuple(order.index(block) for block in blocks), tuple(map(str, order)))
    cut = rng.randint(1, shape[0] - 1)
    sides = [(0, cut - 1), (cut, rng.randint(cut, shape[0] - 1))][: rng.randint(1, 2)]
    tall = rng.randint(0, shape[1] - 1)
    known = tuple(Known(Rectangle((("a", *side), ("b", 0, tall)))) for side in sides)
    return SecretGraph(domain, (Factor(("a", "b"), joint),), 1, rng.random() < 0.2, known)


def test_attributes_measured_together_are_bounded_by_the_complete_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(34)
    bounds = formula = attained = 0
    for _ in range(120):
        graph = random_map(rng)
        known, domain = graph.known, graph.domain
        near = oracle.changes(oracle.world(graph, known, 3))
        listed = classes_of(graph, known)
        table = LinearQuery(One(), splits(("a", "b")))
        with monkeypatch.context() as patch:
            patch.setattr(classes, "MATRIX_LIMIT", domain.size - 1)
            try:
                found = unlisted_push(graph, [(table, Fraction(1))])
                query = random_query(rng, domain)
                other = unlisted_push(graph, [(query, query.contribution.unit)])
            except Refused:  # the known counts tell all values of a and b apart
                continue
        assert other.value >= oracle.largest(near, query, domain)
        truth = oracle.largest(near, table, domain)
        assert found.value >= truth
        assert (found.exact, found.witness) == (False, None)
        assert found.value <= 2 * (len(known) + 1)
        bounds += 1
        if listed.count == len(known) + 1 and listed.sizes.min() > 1 and not graph.absent:
            assert found.value == 2 * (len(known) + 1)
            formula += 1
            attained += found.value == truth
    assert min(bounds, formula, attained) > 20, (bounds, formula, attained)


def test_too_much_is_refused_with_its_reason() -> None:
    domain = Domain(tuple(Attribute(n, Integers(0, 99)) for n in "abc"))
    graph = SecretGraph(domain, tuple(Factor((a.name,), _random_graph(random.Random(1), 100)) for a in domain), 1)
    graph = replace(
        graph,
        known=(
            Known(
                Marginal(
                    (
                        "a",
                        "b",
                    )
                )
            ),
            Known(
                Marginal(
                    (
                        "b",
                        "c",
                    )
                )
            ),
        ),
    )
    with pytest.raises(Refused, match="cells of a, b, c would have to be compared"):
        sensitivity_of(graph, LinearQuery(One(), (Split("a"),)))
    long = replace(graph, known=(Known(CountWhere("a = 1")),))
    heavy = [Measurement(LinearQuery(One(), (Split("b"), Split("c"))), Fraction(1, 2**60))]
    assert is_unlisted(long, [(heavy[0].query, Fraction(1))])
    with pytest.raises(Refused, match="too long to be compared"):
        certify_measurements(long, heavy)
