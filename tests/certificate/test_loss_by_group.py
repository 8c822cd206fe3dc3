"""Groups with their own secrets: the worst group decides, and those who do not mind still count."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest
from tests.known_worlds import _random_graph, _random_known

from tetraodon.certificate import oracle
from tetraodon.certificate.certificate import Dataset
from tetraodon.certificate.kernel import certify_measurements, losses_by_group, sensitivity_of
from tetraodon.certificate.known.push import largest_push
from tetraodon.certificate.pair_loss import loss_of_pair, rho_of_pair
from tetraodon.certificate.sensitivity import certify
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import Refused
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.policy.attribute_graph import Everything, Public, Within
from tetraodon.policy.known import CountWhere, Known
from tetraodon.policy.load import load_policy
from tetraodon.policy.secret_graph import ABSENT, Factor, Groups, SecretGraph, no_secrets
from tetraodon.queries import cdf, count, histogram
from tetraodon.query.contribution import AllRanges, One, Prefix
from tetraodon.query.kinds import linear
from tetraodon.query.linear import LinearQuery, Measurement, Split, splits
from tetraodon.query.number import Number


def random_groups(rng: random.Random, sizes: Sequence[int], *, absent: bool) -> SecretGraph:
    """`g` says which group a record is in; each group has the policy's graph, its own, or none."""
    domain = Domain(tuple(Attribute(name, Integers(0, size - 1)) for name, size in zip("gab", sizes, strict=False)))

    def graph() -> SecretGraph:
        rest = [Factor((a.name,), _random_graph(rng, a.size)) for a in domain if a.name != "g"]
        return SecretGraph(domain, (Factor(("g",), Public(sizes[0])), *rest), rng.randint(1, len(domain.names)), absent)

    own = []
    for code in range(sizes[0]):
        match rng.randrange(3):
            case 0:
                own.append((code, graph()))
            case 1:
                own.append((code, no_secrets(domain)))
    return replace(graph(), groups=Groups("g", tuple(own)))


def some_query(rng: random.Random, domain: Domain) -> LinearQuery:
    g, a = domain["g"], domain["a"]
    condition = f"g = {rng.randrange(g.size)} and a <= {rng.randrange(a.size)}"
    return rng.choice(
        [
            LinearQuery(One(), splits(domain.names)),
            LinearQuery(One(), (Split("a"),)),
            LinearQuery(Prefix("a", a.size, a.size), (Split("g"),)),
            LinearQuery(Prefix("g", g.size, g.size), (Split("a"),)),
            LinearQuery(Number(a, times=g)),
            LinearQuery(Number(g, times=a)),
            LinearQuery(Number(g), (Split("a"),)),
            LinearQuery(AllRanges("g", g.size), (Split("a"),)),
            linear(count(condition), domain),
            linear(count(condition, by=["b"]) if "b" in domain.names else count(condition), domain),
        ]
    )


def test_without_known_counts_it_is_what_the_oracle_finds() -> None:
    rng = random.Random(4)
    for _ in range(400):
        graph = random_groups(rng, rng.choice([(2, 3), (3, 2), (2, 2, 2), (3, 3)]), absent=rng.random() < 0.3)
        query = some_query(rng, graph.domain)
        truth = oracle.largest(oracle.changes(oracle.world(graph, (), 1)), query, graph.domain)
        found = sensitivity_of(graph, query)
        assert (found.value, found.exact) == (truth, True)


def test_the_witness_attains_the_loss_of_all_measurements_together() -> None:
    rng = random.Random(5)
    for _ in range(200):
        graph = random_groups(rng, rng.choice([(2, 3), (3, 3)]), absent=rng.random() < 0.3)
        asked = [Measurement(some_query(rng, graph.domain), Fraction(rng.randint(1, 4))) for _ in range(3)]
        found = certify_measurements(graph, asked)
        if found.witness is not None:
            assert loss_of_pair(graph.domain, asked, found.witness) == found.epsilon
            assert graph.is_edge(*found.witness)
        losses = losses_by_group(graph, asked)
        assert max(one.epsilon for _, one in losses) == found.epsilon
        assert sorted(code for codes, _ in losses for code in codes) == list(range(graph.domain["g"].size))


def test_squares_of_every_edge_are_looked_at() -> None:
    """Gaussian noise: rho is the maximum over the edges of every group."""
    rng = random.Random(8)
    for _ in range(100):
        graph = random_groups(rng, rng.choice([(2, 3), (3, 3)]), absent=rng.random() < 0.3)
        asked = [Measurement(some_query(rng, graph.domain), Fraction(rng.randint(1, 4)), GAUSSIAN) for _ in range(2)]
        records = [graph.domain.value(cell) for cell in range(graph.domain.size)] + [ABSENT] * graph.absent
        edges = [pair for pair in itertools.combinations(records, 2) if graph.is_edge(*pair)]
        truth = max((rho_of_pair(graph.domain, asked, pair) for pair in edges), default=0)
        found = certify_measurements(graph, asked, delta=Fraction(1, 10**6))
        assert (found.rho or 0) == truth
        losses = losses_by_group(graph, asked, delta=Fraction(1, 10**6))
        assert max(one.epsilon for _, one in losses) == found.epsilon


def test_with_known_counts_it_is_what_the_oracle_finds() -> None:
    rng = random.Random(6)
    moved = 0
    for _ in range(200):
        graph = random_groups(rng, rng.choice([(2, 2), (2, 2), (2, 3)]), absent=rng.random() < 0.25)
        known = tuple({_random_known(rng, graph.domain) for _ in range(rng.randint(1, 2))})
        query = some_query(rng, graph.domain)
        truth = oracle.largest(oracle.changes(oracle.world(graph, known, 3)), query, graph.domain)
        found = largest_push(graph, known, [(query, query.contribution.unit)], most=3)
        if not graph.has_edges:
            assert truth == 0
            continue
        assert found.value == truth
        moved += truth > 0
    assert moved > 60


def test_it_is_the_worst_case_over_who_is_in_which_group() -> None:
    """Attackers may know everybody's group: then only datasets in which people keep theirs are compared."""
    rng = random.Random(7)
    for _ in range(40):
        graph = random_groups(rng, (2, 2), absent=False)
        known = (_random_known(rng, graph.domain),)
        query = some_query(rng, graph.domain)
        world = oracle.world(graph, known, 3)
        group = [graph.domain.codes_of(cell)[0] for cell in range(graph.domain.size)]
        keeping = {
            tuple(second.count(v) - first.count(v) for v in range(world.size))
            for first, second in oracle.pairs(world)
            if all(group[x] == group[y] for x, y in zip(first, second, strict=True))
        }
        assert oracle.largest(keeping, query, graph.domain) <= sensitivity_of(replace(graph, known=known), query).value


def test_people_who_do_not_mind_carry_the_secrets_of_others() -> None:
    """Group 1 does not mind. Without known counts a table of its own people alone is exact; with them it moves."""
    domain = Domain((Attribute("g", Integers(0, 1)), Attribute("a", Integers(0, 2))))
    graph = SecretGraph(domain, (Factor(("g",), Public(2)), Factor(("a",), Everything(3))), 2)
    graph = replace(graph, groups=Groups("g", ((1, no_secrets(domain)),)))
    theirs = linear(count("g = 1 and a = 0"), domain)
    assert sensitivity_of(graph, theirs).value == 0
    assert certify_measurements(graph, [Measurement(theirs, Fraction(0))]).epsilon == 0
    knowing = replace(graph, known=(Known(CountWhere("a = 0")),))
    moved = sensitivity_of(knowing, theirs)
    assert moved.value == 1
    assert moved.witness is not None
    first, second = moved.witness
    assert isinstance(first, Dataset)
    assert any(x[0] == 1 and x != y for x, y in zip(first.records, second.records, strict=True))
    assert not certify_measurements(knowing, [Measurement(theirs, Fraction(0))]).finite


def test_groups_that_no_query_shares_do_not_add_up() -> None:
    """Parallel composition over groups ([HMD14] Thm 4.2) comes out of the certificate, and is off with known counts."""
    domain = Domain((Attribute("g", Integers(0, 1)), Attribute("a", Integers(0, 2))))
    graph = SecretGraph(domain, (Factor(("g",), Public(2)), Factor(("a",), Everything(3))), 2)
    graph = replace(graph, groups=Groups("g", ((1, replace(graph, factors=(graph.factors[0], line()))),)))
    asked = [Measurement(linear(count(f"g = {g} and a = 0"), domain), Fraction(2)) for g in (0, 1)]
    assert certify_measurements(graph, asked).epsilon == Fraction(1, 2)
    knowing = replace(graph, known=(Known(CountWhere("a = 0")),))
    assert certify_measurements(knowing, asked).epsilon == 1


def line() -> Factor:
    return Factor(("a",), Within(3, 1))


def test_a_matrix_of_rows_knows_the_groups() -> None:
    policy = load_policy(
        {
            "dataset": "d",
            "attributes": {"g": {"integer": [0, 1]}, "a": {"integer": [0, 2]}},
            "secrets": {"g": "public"},
            "groups": {"by": "g", "rules": {"1": "none"}},
            "budget": {"epsilon": 1},
        }
    )
    rows = [[1, 2, 3, 90, 80, 70]]
    assert certify(policy, rows, 1).epsilon == 3
    nobody = load_policy({**policy.document, "groups": {"by": "g", "rules": {"1": "none", "0": "none"}}})
    assert certify(nobody, rows, 1).epsilon == 0


def test_several_rows_per_person_are_refused() -> None:
    graph = random_groups(random.Random(1), (2, 2), absent=False)
    with pytest.raises(Refused, match="one row each"):
        sensitivity_of(graph, linear(histogram("a"), graph.domain), rows_per_person=2)


@pytest.mark.parametrize("query", [cdf("a"), histogram("a", "g")])
def test_all_pairs_of_records_in_one_group_are_looked_at(query: object) -> None:
    domain = Domain((Attribute("g", Integers(0, 1)), Attribute("a", Integers(0, 4))))
    wide = SecretGraph(domain, (Factor(("g",), Public(2)), Factor(("a",), Within(5, 3))), 1)
    graph = replace(wide, factors=(wide.factors[0], Factor(("a",), Within(5, 1))), groups=Groups("g", ((1, wide),)))
    asked = linear(query, domain)  # type: ignore[arg-type]
    records = [domain.value(cell) for cell in range(domain.size)]
    edges = [pair for pair in itertools.combinations(records, 2) if graph.is_edge(*pair)]
    truth = max(loss_of_pair(domain, [Measurement(asked, Fraction(1))], pair) for pair in edges)
    assert sensitivity_of(graph, asked).value == truth
