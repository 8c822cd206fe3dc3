"""Plans: which method a policy gets, what it costs, and everything that is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from tetraodon.certificate import edge_loss as combinations
from tetraodon.certificate import oracle
from tetraodon.domain import Attribute, Categories, Domain, Grid, Integers
from tetraodon.errors import DomainError, PolicyError, QueryError, Refused, TetraodonError
from tetraodon.mechanism.kmeans import lloyd as certificates
from tetraodon.mechanism.kmeans.lloyd import certify_records, certify_synopsis, dearer_by
from tetraodon.mechanism.kmeans.plan import plan_kmeans
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything, Public, Within
from tetraodon.policy.joint_graph import JointMetric
from tetraodon.policy.known import Known
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.kinds import count, histogram

UNIT = Grid(Fraction(0), Fraction(1), Fraction(1, 100))


def policy_of(*graphs: AttributeGraph, at_most: int = 1, absent: bool = False, **more: Any) -> Policy:
    domain = Domain(tuple(Attribute(f"x{i}", Integers(0, g.size - 1)) for i, g in enumerate(graphs)))
    factors = tuple(Factor((a.name,), g) for a, g in zip(domain, graphs, strict=True))
    graph = SecretGraph(domain, factors, at_most, absent, **more)
    return Policy("tiny", domain, graph, Fraction(1), (), "secret" if absent else "public")


def l1(theta: str, columns: int = 4) -> Policy:
    domain = Domain(tuple(Attribute(f"x{i}", UNIT) for i in range(columns)))
    metric = JointMetric("l1", Fraction(theta), domain.shape, (Fraction(0),) * columns, (UNIT.step,) * columns)
    return Policy("t", domain, SecretGraph(domain, (Factor(domain.names, metric),), 1), Fraction(1), (), "public")


POLICIES = {
    "full": policy_of(Everything(50), Everything(50), at_most=2),
    "attribute": policy_of(Everything(50), Everything(50)),
    "within": policy_of(Within(50, 3), Within(50, 3)),
    "l1": l1("1/10"),
    "secret presence": policy_of(Within(50, 3), Everything(50), absent=True),
    "a block and a line": policy_of(Blocks((0, 0, 1, 1)), Within(50, 9), at_most=2),
    "blocks, secret presence": policy_of(Blocks((0, 0, 1, 1)), Public(50), absent=True),
    "rows of one person": Policy(
        "t",
        POINTS := Domain((Attribute("x", Integers(0, 9)),)),
        SecretGraph(POINTS, (Factor(("x",), Everything(10)),), 1, True),
        Fraction(1),
        (),
        key="id",
        rows_per_person=3,
    ),
}


@pytest.mark.parametrize("kind", POLICIES)
@pytest.mark.parametrize("method", ["auto", "synopsis", "refined", "steps"])
@pytest.mark.parametrize("epsilon", ["0.1", "7/3"])
def test_the_budget_is_spent_and_not_overspent(kind: str, method: Any, epsilon: str) -> None:
    plan = plan_kmeans(POLICIES[kind], epsilon, 3, rows=1000, method=method)
    assert plan.epsilon <= Fraction(epsilon)
    # parts of a refined plan may have different worst steps, and then lose less together than each by itself
    assert plan.epsilon == Fraction(epsilon) or method == "refined"
    assert plan.noise > 0 or plan.steps is not None


def test_a_shorter_theta_needs_less_noise() -> None:
    noise = [plan_kmeans(l1(theta), 1, 4, rows=1000).noise for theta in ("1/10", "1/4", "1")]
    assert noise == sorted(noise)
    assert noise[-1] == 2


def test_partitions_are_exact_and_free() -> None:
    for method in ("exact", "auto", "table"):
        plan = plan_kmeans(
            policy_of(Blocks(tuple(x // 5 for x in range(100))), Public(5), at_most=2), 1, 2, method=method
        )
        assert (plan.method, plan.epsilon, plan.scale) == ("exact", 0, 0)
        assert plan.synopsis is not None
        assert plan.synopsis.shape == (20, 5)


@pytest.mark.parametrize("method", ["auto", "table"])
def test_coarse_blocks_are_cut_with_noise_and_their_totals_are_exact(method: Any) -> None:
    policy = policy_of(Blocks(tuple(x // 50 for x in range(100))), Blocks(tuple(x // 30 for x in range(90))), at_most=2)
    plan = plan_kmeans(policy, 1, 4, rows=10_000, method=method)
    assert (plan.method, plan.epsilon) == ("synopsis", 1)
    assert plan.synopsis is not None
    assert plan.totals is not None
    assert plan.totals.shape == (2, 3)
    assert certify_synopsis(policy, plan.totals, Fraction(0)).epsilon == 0
    assert all(fine > coarse for fine, coarse in zip(plan.synopsis.shape, plan.totals.shape, strict=True))
    few = plan_kmeans(policy, "0.01", 4, rows=10, method=method)
    assert (few.method, few.epsilon) == ("exact", 0)  # too few to learn more than the blocks say


def test_totals_stay_exact_where_steps_are_too_many_to_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combinations, "COMBINATION_LIMIT", 1)
    halves = Blocks(tuple(x // 20 for x in range(40)))
    plan = plan_kmeans(policy_of(*[halves] * 4, at_most=3), 1, 4, rows=10_000, method="synopsis")
    assert plan.epsilon == 1
    assert plan.totals is not None


def test_where_somebody_may_be_absent_no_total_is_exact() -> None:
    plan = plan_kmeans(POLICIES["blocks, secret presence"], 1, 3, rows=1000)
    assert plan.totals is None


def test_a_policy_without_free_tables_cannot_be_exact() -> None:
    with pytest.raises(Refused, match="Fix: use method='auto'"):
        plan_kmeans(POLICIES["full"], 1, 2, method="exact")
    with pytest.raises(Refused, match="exact"):
        plan_kmeans(POLICIES["blocks, secret presence"], 1, 2, method="exact")


def test_many_columns_or_rows_are_clustered_by_steps() -> None:
    policy = policy_of(*[Everything(101)] * 16, at_most=16)
    assert plan_kmeans(policy, 1, 4, rows=1_000_000).method in ("steps", "refined")
    assert plan_kmeans(POLICIES["full"], 1, 4, rows=1_000).method == "synopsis"
    assert plan_kmeans(POLICIES["full"], 1, 4, rows=1_000_000).method == "refined"


def test_a_synopsis_of_some_columns_is_a_better_beginning_than_none() -> None:
    policy = policy_of(*[Everything(101)] * 16, at_most=16)
    plan = plan_kmeans(policy, 1, 4, rows=5_000)
    assert plan.method == "refined"
    assert plan.synopsis is not None
    assert 1 in plan.synopsis.shape


def test_cells_without_numbers_are_no_trouble() -> None:
    policy = policy_of(*[Within(101, 5)] * 16)
    assert plan_kmeans(policy, 1, 4, rows=5_000, method="synopsis").epsilon == 1
    assert plan_kmeans(policy, 1, 4, rows=5_000).epsilon == 1


@pytest.mark.parametrize("graph", [Everything(101), Within(101, 5)])
@pytest.mark.parametrize("at_most", [1, 10, 20])
def test_many_columns_that_change_together_are_priced_exactly(graph: AttributeGraph, at_most: int) -> None:
    policy = policy_of(*[graph] * 20, at_most=at_most)
    for method in ("soft", "steps", "refined", "auto"):
        assert plan_kmeans(policy, 1, 4, rows=5_000, method=method).epsilon == 1


def test_some_columns_of_many() -> None:
    domain = Domain((Attribute("name", Categories(("a", "b")), other=0), Attribute("x", UNIT), Attribute("y", UNIT)))
    factors = tuple(Factor((a.name,), Everything(a.size)) for a in domain)
    policy = Policy("t", domain, SecretGraph(domain, factors, 3), Fraction(1), (), "public")
    assert plan_kmeans(policy, 1, 3, names=["y", "x"]).names == ("y", "x")
    with pytest.raises(DomainError, match="Fix: name integer or real columns"):
        plan_kmeans(policy, 1, 3)
    with pytest.raises(DomainError, match="did you mean"):
        plan_kmeans(policy, 1, 3, names=["yy", "x"])
    for names in ([], ["x", "x"]):
        with pytest.raises(QueryError, match="Fix: "):
            plan_kmeans(policy, 1, 3, names=names)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"epsilon": 0}, PolicyError),
        ({"epsilon": -1}, PolicyError),
        ({"epsilon": float("nan")}, PolicyError),
        ({"epsilon": "much"}, PolicyError),
        ({"clusters": 0}, QueryError),
        ({"clusters": -2}, QueryError),
        ({"clusters": 2.5}, QueryError),
        ({"clusters": True}, QueryError),
        ({"clusters": 2501}, QueryError),
        ({"rows": 0}, QueryError),
        ({"rows": 1.5}, QueryError),
        ({"rounds": 0}, QueryError),
        ({"method": "magic"}, QueryError),
    ],
)
def test_bad_arguments(changed: dict[str, Any], error: type[TetraodonError]) -> None:
    given: dict[str, Any] = {"epsilon": 1, "clusters": 3, **changed}
    with pytest.raises(error, match="Fix: "):
        plan_kmeans(POLICIES["full"], given.pop("epsilon"), given.pop("clusters"), **given)


def test_as_many_clusters_as_points_are_allowed() -> None:
    assert plan_kmeans(policy_of(Everything(3), Everything(2), at_most=2), 1, 6).clusters == 6


KNOWN = {
    "a count": policy_of(Within(4, 1), Everything(2), known=(Known(count("x0 > 1")),)),
    "a table": policy_of(Within(4, 1), Everything(2), known=(Known(histogram("x1")),)),
    "and presence": policy_of(Everything(3), Public(2), absent=True, known=(Known(histogram("x1")),)),
    "presence alone": policy_of(Public(4), Public(2), absent=True),
}


@pytest.mark.parametrize("kind", KNOWN)
def test_known_counts_and_presence_alone_are_priced_as_the_oracle_does(kind: str) -> None:
    policy = KNOWN[kind]
    near = oracle.changes(oracle.world(policy.graph, policy.known, 3 if policy.known else 1))
    assert near
    for clusters, epsilon in ((2, 4), (3, 50)):
        plan = plan_kmeans(policy, epsilon, clusters, method="table")
        assert plan.synopsis is not None
        moved = oracle.largest(near, plan.synopsis.query, policy.domain)
        assert plan.certificate.exact
        assert plan.epsilon == moved / plan.scale == epsilon


@pytest.mark.parametrize("method", ["auto", "refined", "steps", "synopsis"])
def test_every_table_that_a_record_adds_one_to_is_priced_where_counts_are_known(method: Any) -> None:
    """A known count of who is far: two records change, so that twice the noise is needed."""
    plain = policy_of(Within(20, 3), Within(20, 3))
    aware = replace(plain, graph=replace(plain.graph, known=(Known(count("x0 > 9")),)))
    plan = plan_kmeans(aware, 1, 3, method=method)
    assert 0 < plan.epsilon <= 1
    assert certify_records(aware, aware.domain.names, [Fraction(1)]).epsilon == 4
    assert certify_records(plain, plain.domain.names, [Fraction(1)]).epsilon == 2
    assert (dearer_by(aware, aware.domain.names), dearer_by(plain, plain.domain.names)) == (2, 1)


def test_shares_are_refused_where_counts_are_known() -> None:
    policy = policy_of(Everything(5), known=(Known(count("x0 = 1")),))
    with pytest.raises(Refused, match="shares of records are not certified"):
        plan_kmeans(policy, 1, 2, method="soft")


def test_what_is_known_stays_known_where_every_pair_is_taken_for_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = policy_of(Within(6, 1), known=(Known(count("x0 > 2")),))
    priced, tried = certificates.certify_measurements, []

    def refuses_first(graph: SecretGraph, measured: Any, **rest: Any) -> Any:
        tried.append(graph)
        if len(tried) == 1:
            raise Refused("too many", fix="none")
        return priced(graph, measured, **rest)

    monkeypatch.setattr(certificates, "certify_measurements", refuses_first)
    assert certify_records(policy, ["x0"], [Fraction(1)]).epsilon == 4
    assert [graph.known for graph in tried] == [policy.known] * 2
