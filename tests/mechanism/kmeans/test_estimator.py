"""The estimator: what is run is what was certified, nothing is spent on bad input, and scikit-learn's checks."""

from __future__ import annotations

import pickle
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import polars as pl
import pytest

from tetraodon.certificate import Certificate
from tetraodon.domain import Attribute, Domain, Grid, Integers
from tetraodon.errors import PolicyError, TableError, TetraodonError
from tetraodon.mechanism.kmeans.estimator import PolicyKMeans
from tetraodon.noise.laws import LaplaceNoise
from tetraodon.policy.attribute_graph import Blocks, Everything, Within
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import Factor, SecretGraph

UNIT = Grid(Fraction(0), Fraction(1), Fraction(1, 100))


def policy_of(columns: int = 2, *, absent: bool = False, values: Grid = UNIT) -> Policy:
    domain = Domain(tuple(Attribute(f"x{i}", values) for i in range(columns)))
    factors = tuple(Factor((a.name,), Everything(a.size)) for a in domain)
    graph = SecretGraph(domain, factors, columns, absent)
    return Policy("tiny", domain, graph, Fraction(1), (), "secret" if absent else "public")


def two_groups(rows: int = 4000) -> np.ndarray:
    coins = np.random.default_rng(7)
    return np.concatenate([coins.normal(0.25, 0.05, (rows // 2, 2)), coins.normal(0.7, 0.08, (rows // 2, 2))])


@pytest.mark.parametrize("absent", [False, True])
@pytest.mark.parametrize("method", ["synopsis", "refined", "steps"])
def test_it_finds_the_groups(absent: bool, method: Any) -> None:
    """False-alarm rate far below 1e-12: the noise would have to be a hundred times its scale."""
    model = PolicyKMeans(policy_of(absent=absent), 50, 2, method=method).fit(two_groups())
    assert np.abs(np.sort(model.cluster_centers_, axis=0) - [[0.25, 0.25], [0.7, 0.7]]).max() < 0.05
    assert model.certificate_.epsilon == 50
    assert isinstance(model.certificate_, Certificate)
    near = model.cluster_centers_[model.predict([[0.2, 0.3], [0.8, 0.7], [9.0, 9.0]])]
    assert np.abs(near - [[0.25, 0.25], [0.7, 0.7], [0.7, 0.7]]).max() < 0.05


def test_what_is_run_is_what_was_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[Fraction, Any]] = []

    def recorded(_: LaplaceNoise, scale: Fraction, size: Any) -> Any:
        drawn.append((scale, size))
        return np.zeros(size, np.int64)

    monkeypatch.setattr(LaplaceNoise, "draw", recorded)
    model = PolicyKMeans(policy_of(), "0.3", 2, method="synopsis").fit(two_groups(100))
    plan = model.plan_
    assert plan == model.plan(100)
    assert plan.synopsis is not None
    assert drawn == [(plan.scale, plan.synopsis.shape)]
    assert plan.scale == 2 * plan.synopsis.units / Fraction(3, 10)
    drawn.clear()
    for method in ("steps", "refined"):
        plan = PolicyKMeans(policy_of(), "0.3", 2, method=method).fit(two_groups(100)).plan_  # type: ignore[arg-type]
        steps = plan.steps
        assert steps is not None
        table = [(plan.scale, plan.synopsis.shape)] if plan.synopsis else []
        rounds = [(steps.count_scale, 2), (steps.sum_scales[0], 2), (steps.sum_scales[1], 2)] * steps.rounds
        assert drawn == table + rounds
        lost = 2 * steps.rounds * (1 / steps.count_scale + sum(25 / scale for scale in steps.sum_scales))
        lost += 2 * plan.synopsis.units / plan.scale if plan.synopsis else 0
        assert lost == plan.epsilon == Fraction(3, 10)
        drawn.clear()


def test_the_plan_depends_on_the_number_of_rows_only_where_it_is_public() -> None:
    few, many = two_groups(20), two_groups(4000)
    secret = PolicyKMeans(policy_of(absent=True), 1, 2)
    shapes = [secret.fit(X).plan_.synopsis.shape for X in (few, many)]  # type: ignore[union-attr]
    assert shapes[0] == shapes[1]
    public = PolicyKMeans(policy_of(), 1, 2)
    shapes = [public.fit(X).plan_.synopsis.shape for X in (few, many)]  # type: ignore[union-attr]
    assert sum(shapes[0]) < sum(shapes[1])
    assert PolicyKMeans(policy_of(), 1, 2, rows=20).plan() == PolicyKMeans(policy_of(), 1, 2).plan(20)


def test_partitions_are_clustered_without_noise() -> None:
    domain = Domain((Attribute("x", Integers(0, 99)), Attribute("y", Integers(0, 99))))
    tens = Blocks(tuple(x // 10 for x in range(100)))
    graph = SecretGraph(domain, (Factor(("x",), tens), Factor(("y",), tens)), 2)
    model = PolicyKMeans(Policy("t", domain, graph, Fraction(1), (), "public"), 1, 2)
    rows = [[3, 4], [8, 1], [93, 77], [99, 71], [91, 70]]
    first, second = model.fit(rows).cluster_centers_, model.fit(rows).cluster_centers_
    assert np.array_equal(first, second)
    assert sorted(first.tolist()) == [[4.5, 4.5], [94.5, 74.5]]
    assert model.certificate_.epsilon == 0


def test_a_hopeless_budget_gives_public_centres() -> None:
    model = PolicyKMeans(policy_of(absent=True), "1e-9", 3, rows=5)
    first, second = (model.fit(X).cluster_centers_ for X in (two_groups(10), two_groups(20) / 2))
    assert np.array_equal(first, second)
    assert (model.plan_.method, model.certificate_.epsilon) == ("public", 0)
    assert PolicyKMeans(policy_of(), "1e-9", 1).fit([[0.1, 0.1]]).cluster_centers_.tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize(
    ("table", "changed"),
    [
        ([[np.nan, 0.5]], {}),
        ([[0.5]], {}),
        ([], {}),
        ([[0.5, 0.5]], {"epsilon": 0}),
        ([[0.5, 0.5]], {"n_clusters": 0}),
        ([[0.5, 0.5]], {"n_clusters": 101 * 101 + 1}),
        ([[0.5, 0.5]], {"n_init": 0}),
        ([[0.5, 0.5]], {"max_iter": 1.5}),
        ([[0.5, 0.5]], {"policy": "full"}),
        ([[0.5, 0.5]], {"columns": ["x0", "nobody"]}),
        ([[0.5, 0.5]], {"method": "magic"}),
    ],
)
def test_bad_input_spends_nothing(table: Any, changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def spent(*_: object) -> None:
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(LaplaceNoise, "draw", spent)
    model = PolicyKMeans(policy_of(), 1, 2)
    for name, value in changed.items():
        setattr(model, name, value)
    with pytest.raises(TetraodonError, match="Fix: "):
        model.fit(table)
    assert not hasattr(model, "cluster_centers_")


def test_labels_of_the_training_data_are_not_kept() -> None:
    model = PolicyKMeans(policy_of(), 50, 2)
    labels = model.fit_predict(two_groups(200))
    assert np.array_equal(labels, model.predict(two_groups(200)))
    assert not hasattr(model, "labels_")
    assert not hasattr(model, "inertia_")


def test_a_model_remembers_nothing_of_its_rows() -> None:
    model = PolicyKMeans(policy_of(), 50, 2, n_init=1).fit(two_groups(2000))
    assert len(pickle.dumps({k: v for k, v in vars(model).items() if k.endswith("_") and k != "plan_"})) < 2000


def test_columns_by_name() -> None:
    frame = pl.DataFrame({"x1": [0.1, 0.9] * 50, "x0": [0.2, 0.8] * 50})
    model = PolicyKMeans(policy_of(), 1000, 2).fit(frame)
    assert sorted(model.cluster_centers_.round(1).tolist()) == [[0.2, 0.1], [0.8, 0.9]]
    with pytest.raises(TableError, match="columns are not those"):
        model.predict(frame[["x0", "x1"]])
    one = PolicyKMeans(policy_of(), 1000, 2, columns=["x1"]).fit(frame)
    assert sorted(one.cluster_centers_.round(1).ravel().tolist()) == [0.1, 0.9]


def test_scores_and_distances() -> None:
    model = PolicyKMeans(policy_of(), 50, 2).fit(two_groups(400))
    rows = two_groups(40)
    assert model.transform(rows).shape == (40, 2)
    assert model.score(rows) == pytest.approx(-(model.transform(rows).min(axis=1) ** 2).sum())


def test_before_fit_there_is_nothing_to_predict() -> None:
    with pytest.raises((AttributeError, ValueError), match="Fix: call fit first"):
        PolicyKMeans(policy_of(), 1, 2).predict([[0.5, 0.5]])


def test_a_short_theta_is_worth_something() -> None:
    domain = policy_of().domain
    graph = SecretGraph(domain, tuple(Factor((a.name,), Within(a.size, 5)) for a in domain), 1)
    near = PolicyKMeans(Policy("t", domain, graph, Fraction(1), (), "public"), 1, 2).plan(1000)
    assert near.noise < PolicyKMeans(policy_of(), 1, 2).plan(1000).noise / 2


# -- scikit-learn ---------------------------------------------------------------------------------

EXPECTED = {
    "check_clustering": "needs labels_, which would not be private",
    "check_dtype_object": "wants a TypeError; our refusal is a TableError that is also a ValueError",
    "check_fit_idempotent": "noise has no seed, so that two fits differ",
    "check_estimators_empty_data_messages": "wants the number of rows in the message; errors hold no counts",
}


class AnyWidth(PolicyKMeans):
    """A policy for as many columns as the check happens to bring."""

    def __init__(
        self,
        policy: Any = None,
        epsilon: Any = 1,
        n_clusters: int = 3,
        *,
        columns: Any = None,
        rows: Any = None,
        method: Any = "auto",
        n_init: int = 2,
        max_iter: int = 10,
    ) -> None:
        super().__init__(
            policy, epsilon, n_clusters, columns=columns, rows=rows, method=method, n_init=n_init, max_iter=max_iter
        )

    def fit(self, X: Any, y: object = None) -> PolicyKMeans:
        shape = np.asarray(X).shape
        self.width_ = max(1, shape[1]) if len(shape) == 2 else 2
        return super().fit(X, y)

    def _policy(self) -> Policy:
        return policy_of(getattr(self, "width_", 2), values=Grid(Fraction(-10), Fraction(10), Fraction(1, 5)))


@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn() -> None:
    checks = import_module("sklearn.utils.estimator_checks")
    results = checks.check_estimator(AnyWidth(), expected_failed_checks=EXPECTED, on_fail=None, on_skip=None)
    failed = {result["check_name"]: repr(result["exception"]) for result in results if result["status"] == "failed"}
    assert failed == {}
    as_expected = {result["check_name"] for result in results if result["status"] == "xfail"}
    assert as_expected == set(EXPECTED)  # strictly: a gap that closes must leave the list
    assert sum(result["status"] == "passed" for result in results) >= 35


def test_in_a_pipeline_and_cloned() -> None:
    base, pipeline = import_module("sklearn.base"), import_module("sklearn.pipeline")
    scaling = import_module("sklearn.preprocessing")
    public = scaling.FunctionTransformer(lambda X: X / 10)  # a public change of unit, not one learnt from the data
    model = pipeline.make_pipeline(public, PolicyKMeans(policy_of(), 50, 2)).fit(two_groups() * 10)
    assert set(model.predict(np.array([[2.0, 3.0], [8.0, 7.0]])).tolist()) == {0, 1}
    twin = base.clone(model[-1]).set_params(epsilon="1/2")
    assert not hasattr(twin, "cluster_centers_")
    assert twin.plan(100).epsilon == Fraction(1, 2)


def test_wrong_arguments_say_how_to_put_it_right() -> None:
    with pytest.raises(PolicyError, match="Fix: give the path of a policy file"):
        PolicyKMeans(None, 1, 2).plan()  # type: ignore[arg-type]


@pytest.mark.parametrize("secrets", [{}, {"x": {"blocks": [[0, 4], [5, 9]]}}, {"x": {"pairs": [[0, 1]]}}])
def test_fitting_does_not_change_the_policy(secrets: dict[str, Any]) -> None:
    """Scikit-learn compares what parameters pickle to, and what a policy has remembered is no part of it."""
    written = {"x": {"integer": [0, 9]}, "y": {"integer": [0, 9]}}
    policy = load_policy({"dataset": "d", "attributes": written, "secrets": secrets, "budget": {"epsilon": 1}})
    before = pickle.dumps(policy)
    PolicyKMeans(policy, 1, 2).fit(np.tile(np.arange(10.0)[:, None], (1, 2)))
    assert pickle.loads(pickle.dumps(policy)) == pickle.loads(before) == policy
    assert set(vars(pickle.loads(pickle.dumps(policy)).graph)) == set(vars(pickle.loads(before).graph))
