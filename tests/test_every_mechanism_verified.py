"""Every mechanism, as it would run, against the verdict on every output of a small world.

Each is verified at the epsilon that its certificate states, and shown to fail at 0.99 of it where the certificate says
that it is the loss itself. An exact answer is written as noise so small that any change of it would show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tetraodon as td
from tetraodon import pufferfish as pf
from tetraodon.certificate.correlated_records import certify_release
from tetraodon.mechanism.kmeans.plan import plan_kmeans
from tetraodon.mechanism.one_scale import EXACT
from tetraodon.mechanism.ranks import RANKS
from tetraodon.mechanism.registry import MECHANISMS, proposals
from tetraodon.mechanism.strategy import Strategy
from tetraodon.policy.policy import Policy
from tetraodon.pufferfish import Additive, DiscreteLaplace
from tetraodon.pufferfish.scenarios import Scenario
from tetraodon.query.contribution import One, WeightedSums
from tetraodon.query.counts import Count, Histogram
from tetraodon.query.kinds import linear
from tetraodon.query.kmeans import KMeans
from tetraodon.query.linear import LinearQuery, Measurement, splits
from tetraodon.query.moments import Mean, Total, Variance
from tetraodon.query.query import Query
from tetraodon.query.ranges import Cdf, Quantiles, Ranges, Rectangles
from tetraodon.query.weighted_margins import WeighedMargins

HUSHED = Fraction(1, 10_000)
QUERIES: dict[str, Query] = {
    "count": Count("x >= 2"),
    "histogram": Histogram(("x",)),
    "two attributes": Histogram(("x", "sex")),
    "bins": Histogram(("x",), (("x", ((0, 1), (2, 4))),)),
    "cdf": Cdf("x"),
    "cdf by sex": Cdf("x", by=("sex",)),
    "quantiles": Quantiles("x", (Fraction(1, 2),)),
    "ranges": Ranges("x"),
    "named ranges": Ranges("x", (("low", 0, 2), ("middle", 1, 3))),
    "total": Total("x"),
    "mean": Mean("x"),
    "variance": Variance("x"),
}
SECRETS: dict[str, dict[str, Any]] = {
    "everything": {},
    "within 1": {"secrets": {"x": {"within": 1}, "sex": "public"}},
    "within 2, one at a time": {"secrets": {"x": {"within": 2}}, "together": "one attribute at a time"},
    "blocks": {"secrets": {"x": {"blocks": [[0, 1], [2, 4]]}, "sex": "public"}},
    "a tree of pairs": {"secrets": {"x": {"pairs": [[0, 2], [2, 4], [2, 3]]}, "sex": "public"}},
    "a ring of pairs": {"secrets": {"x": {"pairs": [[0, 2], [2, 4], [4, 0]]}, "sex": "public"}},
    "secret presence": {"presence": "secret", "secrets": {"x": {"within": 1}}},
}


def policy(**changes: Any) -> Policy:
    base = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"x": {"integer": [0, 4]}, "sex": ["f", "m"]},
        "budget": {"epsilon": 1},
    }
    return td.load_policy(base | changes)


def run_on(measurements: Sequence[Measurement], here: Policy, world: pf.World) -> Additive:
    """What is measured, with the noise that a release would add."""

    def query(dataset: Any) -> tuple[int, ...]:
        records = [here.domain.codes(record) for record in dataset if record is not td.research.ABSENT]
        codes = np.array(records, np.int64).reshape(-1, len(here.domain.names))
        answers: list[int] = []
        for m in measurements:
            columns = codes[:, [here.domain.position(name) for name in m.query.names]]
            answers += m.query.evaluate(here.domain, columns, np.ones(len(codes), np.int64)).ravel().tolist()
        return tuple(answers)

    noise: list[DiscreteLaplace] = []
    for m in measurements:
        noise += [DiscreteLaplace(m.scale or HUSHED)] * m.query.size(here.domain)
    return Additive(query, tuple(noise), world)


def check(mechanism: Additive, here: Policy, epsilon: Fraction, scenario: Scenario, *, exact: bool) -> None:
    def holds(factor: Fraction | int) -> bool:
        definition = pf.Definition(pf.pairs.graph(here), scenario, epsilon=factor * epsilon)
        return bool(pf.verify(mechanism, definition).holds)

    assert holds(1)
    if exact and epsilon:
        assert not holds(Fraction(99, 100))


def strategies() -> list[tuple[str, str, Strategy]]:
    found = []
    for secrets, changes in SECRETS.items():
        for name, query in QUERIES.items():
            here = policy(**changes)
            for strategy in proposals(query, here):
                unit = certify_release(here, strategy.measurements(Fraction(1)))
                if unit.finite and strategy.mechanism is not RANKS:
                    found.append((secrets, name, strategy if unit.epsilon else EXACT.of(strategy)))
    return found


STRATEGIES = strategies()


def test_every_mechanism_is_among_them() -> None:
    """Those for longer attributes and for maps have tests of their own below; noise that flows along the steps of a map
    is not noise on each answer, and is held to all that is told in `tests/certificate/test_edge_noise.py`;
    values chosen by rank in `test_rank_loss.py`, parts that are divided in `test_divided_loss.py`, tables that
    are chosen in `test_choice_loss.py`, values with noise on each record or level in `test_shown_loss.py`.
    """
    further = {
        "chosen",
        "disguise",
        "levels",
        "ranks",
        "divided",
        "hierarchical",
        "weighted",
        "grid",
        "edges",
        "synopsis",
        "margins",
    }
    assert {strategy.mechanism.name for _, _, strategy in STRATEGIES} | further == set(MECHANISMS)


@pytest.mark.parametrize(
    ("secrets", "strategy"),
    [(secrets, strategy) for secrets, _, strategy in STRATEGIES],
    ids=[f"{secrets}, {name}, {strategy.mechanism}" for secrets, name, strategy in STRATEGIES],
)
def test_mechanisms_of_plans(secrets: str, strategy: Strategy) -> None:
    here = policy(**SECRETS[secrets])
    measurements = strategy.measurements(Fraction(7, 2))
    certificate = certify_release(here, measurements)
    world = pf.World.of_domain(here.domain, individuals=1, absent=here.graph.absent)
    mechanism = run_on(measurements, here, world)
    check(mechanism, here, Fraction(certificate.epsilon), pf.scenarios.independent(), exact=certificate.exact)


@pytest.mark.parametrize("reach", [8, 20])
@pytest.mark.parametrize("presence", ["public", "secret"])
def test_smoothed_counts(reach: int, presence: str) -> None:
    """The hierarchical mechanism is for longer attributes."""
    here = policy(
        attributes={"x": {"integer": [0, 31]}},
        secrets={"x": {"within": reach}},
        presence=presence,
        budget={"epsilon": 1},
    )
    found = [strategy for strategy in proposals(Cdf("x"), here) if strategy.mechanism.name == "hierarchical"]
    assert found
    each_is_certified(found, here, Fraction(5))


def each_is_certified(strategies: list[Strategy], here: td.Policy, scale: Fraction) -> None:
    world = pf.World.of_domain(here.domain, individuals=1, absent=here.graph.absent)
    for strategy in strategies:
        measurements = strategy.measurements(scale)
        certificate = certify_release(here, measurements)
        mechanism = run_on(measurements, here, world)
        loss, exact = Fraction(certificate.epsilon), certificate.exact
        check(mechanism, here, loss, pf.scenarios.independent(), exact=exact)


MAPS: dict[str, dict[str, Any]] = {
    "everything": {},
    "within 2, one at a time": {
        "secrets": {"x": {"within": 2}, "y": {"within": 2}},
        "together": "one attribute at a time",
    },
    "secret presence": {"presence": "secret"},
}


@pytest.mark.parametrize("secrets", MAPS)
@pytest.mark.parametrize(
    ("query", "wanted"),
    [(Rectangles(("x", "y")), {"identity", "ordered", "grid"}), (KMeans(("x", "y"), 2), {"synopsis"})],
    ids=["rectangles", "clusters"],
)
def test_maps(secrets: str, query: Query, wanted: set[str]) -> None:
    here = policy(attributes={"x": {"integer": [0, 5]}, "y": {"integer": [0, 5]}}, **MAPS[secrets])
    found = [strategy for strategy in proposals(query, here) if strategy.mechanism.name != "edges"]
    assert {strategy.mechanism.name for strategy in found} <= wanted
    assert "grid" not in wanted or secrets != "within 2, one at a time" or "grid" in {s.mechanism.name for s in found}
    each_is_certified(found, here, Fraction(7, 2))


def test_a_whole_plan_of_two_people() -> None:
    here = policy(
        attributes={"x": {"integer": [0, 3]}},
        secrets={"x": {"within": 1}},
        release=[{"name": "a", "cdf": "x"}, {"name": "b", "histogram": "x"}, {"name": "c", "total": "x"}],
    )
    made = td.plan(here)
    world = pf.World.of_domain(here.domain, individuals=2)
    mechanism = run_on([m for item in made for m in item.measurements], here, world)
    check(mechanism, here, made.epsilon, pf.scenarios.independent(), exact=made.certificate.exact)


def test_people_with_several_rows() -> None:
    here = policy(attributes={"x": {"integer": [0, 1]}}, individuals={"key": "who", "at most": 2})
    measurements = [Measurement(linear(Histogram(("x",)), here.domain), Fraction(3))]
    certificate = certify_release(here, measurements)
    world = pf.World.product([(0,), (1,), td.research.ABSENT], individuals=2)
    mechanism = run_on(measurements, here, world)
    together = pf.Definition(pf.pairs.values(), pf.scenarios.groups([(0, 1)]), epsilon=certificate.epsilon)
    assert pf.verify(mechanism, together).holds


def test_a_histogram_given_a_published_univariate_histogram() -> None:
    """[KM12] section 9.3: the table by x and sex, when that of sex is known."""
    here = policy(attributes={"x": {"integer": [0, 1]}, "sex": ["f", "m"]}, known=[{"marginal": ["sex"]}])
    made = td.plan(td.load_policy({**here.document, "release": [{"name": "t", "histogram": ["x", "sex"]}]}))
    measurements = [m for m in made["t"].measurements if m.scale]
    world = pf.World.of_domain(here.domain, individuals=3)
    known = pf.scenarios.known_sums(lambda record: (int(record[1] == "f"), int(record[1] == "m")))
    certificate = certify_release(here, measurements)
    check(run_on(measurements, here, world), here, Fraction(certificate.epsilon), known, exact=certificate.exact)


@pytest.mark.parametrize("secrets", SECRETS)
def test_tables_with_weighed_margins(secrets: str) -> None:
    """With Laplace noise, which no plan gives them: their loss is the sum of what they move all the same."""
    here = policy(**SECRETS[secrets])
    margins = LinearQuery(WeighedMargins(("sex", "x"), (2, 5), (2, -3, -1, 20), Fraction(1, 20)))
    measurements = [Measurement(margins, Fraction(90)), Measurement(LinearQuery(One(), splits(["x"])), Fraction(5))]
    world = pf.World.of_domain(here.domain, individuals=1, absent=here.graph.absent)
    mechanism, certificate = run_on(measurements, here, world), certify_release(here, measurements)
    assert certificate.exact
    check(mechanism, here, Fraction(certificate.epsilon), pf.scenarios.independent(), exact=True)


@pytest.mark.parametrize("secrets", SECRETS)
def test_weighted_sums(secrets: str) -> None:
    only = {key: value for key, value in SECRETS[secrets].items() if key != "together"}
    if "secrets" in only:
        only["secrets"] = {"x": only["secrets"]["x"]}
    here = policy(attributes={"x": {"integer": [0, 4]}}, **only)
    rows = np.array([[3, 2, 0, 0, 1], [0, 1, 1, 2, 3]])
    sums = LinearQuery(WeightedSums("x", np.array([4, 3, 3, 2, 4]), rows, Fraction(1, 4)))
    measurements = [Measurement(sums, Fraction(30))]
    world = pf.World.of_domain(here.domain, individuals=1, absent=here.graph.absent)
    mechanism, certificate = run_on(measurements, here, world), certify_release(here, measurements)
    check(mechanism, here, Fraction(certificate.epsilon), pf.scenarios.independent(), exact=certificate.exact)


@pytest.mark.parametrize(
    ("changes", "tight"),
    [
        ({}, True),
        ({"secrets": {"x": {"within": 2}, "y": {"within": 2}}, "together": "one attribute at a time"}, True),
        ({"together": {"metric": "l1", "over": ["x", "y"], "within": 2}}, False),
        ({"secrets": {"x": {"blocks": [[0, 2], [3, 5]]}}}, False),
        ({"presence": "secret", "secrets": {"x": {"within": 2}, "y": {"within": 2}}}, False),
    ],
)
def test_k_means(changes: dict[str, Any], tight: bool) -> None:
    grid = {"x": {"integer": [0, 5]}, "y": {"integer": [0, 5]}}
    here = policy(attributes=grid, **changes)
    made = plan_kmeans(here, 1, 2, rows=1000, method="synopsis")
    assert made.synopsis is not None
    world = pf.World.of_domain(here.domain, individuals=1, absent=here.graph.absent)
    spread: Callable[[Any], Any] = made.synopsis.spread

    def query(dataset: Any) -> tuple[int, ...]:
        records = [here.domain.codes(record) for record in dataset if record is not td.research.ABSENT]
        table = spread(np.array(records, np.int64).reshape(-1, 2))
        return tuple(table.ravel().tolist())

    noise = (DiscreteLaplace(made.scale),) * made.synopsis.cells
    check(Additive(query, noise, world), here, made.epsilon, pf.scenarios.independent(), exact=tight)
