"""k-means as an estimator and as an item."""

from __future__ import annotations

import builtins
import importlib
import pickle
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from tests.policies import public_policy

import tetraodon as td
from tetraodon.certificate import Certificate
from tetraodon.domain import Attribute, Domain, Grid, Integers
from tetraodon.errors import PolicyError, QueryError, Refused, TableError, TetraodonError
from tetraodon.mechanism.kmeans import SYNOPSIS, estimator, synopsis_of
from tetraodon.mechanism.kmeans.estimator import BadTable, PolicyKMeans, codes_of, matrix_of
from tetraodon.noise.laws import LaplaceNoise
from tetraodon.policy.attribute_graph import Blocks, Everything, Within
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.queries import cdf, kmeans

# -- estimator --------------------------------------------------------------------------------------
# The estimator: what is run is what was certified, nothing is spent on bad input, and scikit-learn's checks.

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


# -- estimator bases --------------------------------------------------------------------------------
# Without scikit-learn an estimator still has parameters.


class Model(estimator.Parameters):
    def __init__(self, width: int = 1, *, height: int = 2) -> None:
        self.width, self.height = width, height


def test_parameters_are_read_and_set() -> None:
    model = Model(5)
    assert model.get_params() == {"width": 5, "height": 2}
    assert model.set_params(height=7) is model
    assert model.get_params()["height"] == 7
    with pytest.raises(QueryError, match="no parameter 'depth'"):
        model.set_params(depth=1)


def test_without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(estimator, "import_module", missing)
    assert estimator.bases() == (estimator.Parameters,)
    assert isinstance(estimator.not_fitted(), AttributeError)


def test_with_scikit_learn() -> None:
    pytest.importorskip("sklearn")
    assert importlib.import_module("sklearn.base").BaseEstimator in estimator.bases()
    assert isinstance(estimator.not_fitted(), builtins.ValueError)


# -- input table ------------------------------------------------------------------------------------
# Tables to be clustered: read, refused without telling a value, and put on the grid.

SECRET = 31337.5


@pytest.mark.parametrize(
    "table",
    [
        [[SECRET, np.nan]],
        [[SECRET, np.inf]],
        [[SECRET]],
        [[SECRET, 1, 2]],
        [],
        np.empty((0, 2)),
        [SECRET, SECRET],
        SECRET,
        [[[SECRET, 1]]],
        [["a", "b"]],
        [[{"a": SECRET}, 1]],
        [[1j, 2]],
        [[None, 1]],
        scipy.sparse.csr_array([[SECRET, 1]]),
    ],
)
def test_bad_tables(table: Any) -> None:
    with pytest.raises(BadTable, match="Fix: ") as told:
        matrix_of(table, ("a", "b"))
    assert "31337" not in str(told.value)
    assert isinstance(told.value, ValueError)


def test_frames_are_read_by_name_where_names_fit() -> None:
    frame = pl.DataFrame({"b": [1, 2], "extra": [0, 0], "a": [3, 4]})
    assert matrix_of(frame, ("a", "b")).tolist() == [[3, 1], [4, 2]]
    assert matrix_of(pl.DataFrame({"p": [1], "q": [2]}), ("a", "b")).tolist() == [[1, 2]]


def test_a_misspelt_column_is_not_taken_by_position() -> None:
    with pytest.raises(BadTable, match="no column 'b'"):
        matrix_of(pl.DataFrame({"a": [1], "bb": [2]}), ("a", "b"))


def test_numbers_as_text_and_truth_values_are_numbers() -> None:
    assert matrix_of([["1.5", "2"]], ("a", "b")).tolist() == [[1.5, 2]]
    assert matrix_of(np.array([[True, False]]), ("a", "b")).tolist() == [[1, 0]]


@given(st.integers(-5, 5), st.integers(1, 40), st.data())
def test_codes_are_those_of_the_attribute(low: int, size: int, data: st.DataObject) -> None:
    step = data.draw(st.sampled_from([Fraction(1), Fraction(1, 4), Fraction(1, 100), Fraction(3)]))
    attribute = Attribute("x", Grid(Fraction(low), low + (size - 1) * step, step))
    code = data.draw(st.integers(0, size - 1))
    assert codes_of(np.array([[float(attribute.number(code))]]), [attribute]).tolist() == [[code]]


def test_values_outside_are_clamped_and_between_are_rounded() -> None:
    attribute = Attribute("x", Integers(0, 10))
    column = np.array([[-1e300], [1e300], [3.4], [3.5], [-0.2]])
    assert codes_of(column, [attribute]).ravel().tolist() == [0, 10, 3, 4, 0]


# -- item -------------------------------------------------------------------------------------------
# Clusters as an item of a release, from the policy file to the folder and back.

CENTRES = np.array([[20, 20], [60, 70], [80, 15]])


def policy(**changes: Any) -> td.Policy:
    document: dict[str, Any] = public_policy(
        dataset="taxis",
        attributes={"x": {"integer": [0, 99]}, "y": {"integer": [0, 79]}, "kind": ["day", "night"]},
        secrets={"kind": "public"},
        release=[{"name": "k", "kmeans": ["x", "y"], "clusters": 3}],
    )
    return td.load_policy(document | changes)


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    coins = np.random.default_rng(7)
    points = np.concatenate([coins.normal(centre, 4, (700, 2)) for centre in CENTRES])
    points = np.clip(np.rint(points), 0, [99, 79]).astype(np.int64)
    return pl.DataFrame({"x": points[:, 0], "y": points[:, 1], "kind": ["day", "night"] * (len(points) // 2)})


def released(asked: td.Policy, table: pl.DataFrame, folder: Path) -> td.Release:
    book = td.Ledger(f"sqlite:///{folder}/ledger.db")
    book.open(asked.dataset, 10, asked.document)
    made = td.release(td.plan(asked), table, ledger=book, out=folder / "release")
    book.close()
    return made


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"presence": "secret"},
        {"secrets": {"x": {"within": 5}, "kind": "public"}, "together": "one attribute at a time"},
        {"secrets": {"x": {"blocks": [[n, n + 9] for n in range(0, 100, 10)]}, "kind": "public"}},
        {"secrets": {"x": {"blocks": [[0, 49], [50, 99]]}, "y": {"blocks": [[0, 39], [40, 79]]}, "kind": "public"}},
    ],
)
def test_a_release_finds_the_clusters_and_verifies(
    changes: dict[str, Any], table: pl.DataFrame, tmp_path: Path
) -> None:
    """Centres are off by more than 15 with probability far below 1e-9: noise is a few records in cells of hundreds."""
    made = released(policy(**changes), table, tmp_path)
    columns = made["k"].columns
    assert list(columns) == ["cluster", "x", "y", "records"]
    found = np.stack([columns["x"], columns["y"]], axis=1)
    gaps = np.abs(found[:, None, :] - CENTRES).sum(axis=2)
    assert gaps.min(axis=0).max() < 15
    assert (np.diff(columns["records"]) <= 0).all()
    assert all(check.passed for check in td.verify(tmp_path / "release"))
    again = td.load_release(tmp_path / "release")["k"]
    assert np.allclose(again.columns["x"], columns["x"])
    page = (tmp_path / "release" / "report.html").read_text("utf-8")
    assert "Centres of 3 clusters" in page


def test_blocks_are_clustered_exactly(table: pl.DataFrame, tmp_path: Path) -> None:
    blocks = {name: {"blocks": [[n, n + 4] for n in range(0, size, 5)]} for name, size in (("x", 100), ("y", 80))}
    asked = policy(secrets=blocks | {"kind": "public"})
    plan = td.plan(asked)
    assert plan["k"].mechanism == "exact"
    assert plan.epsilon == 0
    made = released(asked, table, tmp_path)
    assert made["k"].columns["records"].sum() == len(table)


def test_coarse_blocks_are_totals_of_a_table_with_noise() -> None:
    halves = {"x": {"blocks": [[0, 49], [50, 99]]}, "y": {"blocks": [[0, 39], [40, 79]]}}
    asked = policy(secrets=halves | {"kind": "public"})
    found = td.plan(asked)["k"]
    assert (found.mechanism, found.epsilon) == ("synopsis", 1)
    [totals] = found.strategy.exact
    assert totals.shape(asked.domain) == (2, 2, 1)


def test_it_is_priced_together_with_other_items() -> None:
    counts = {"name": "c", "histogram": "kind"}
    asked = policy(
        secrets={"kind": "everything"},
        together="one attribute at a time",
        release=[{"name": "k", "kmeans": ["x", "y"], "clusters": 3}, counts],
    )
    plan = td.plan(asked)
    assert plan.epsilon == 1
    assert plan["k"].epsilon == plan["c"].epsilon == 1  # no step changes both
    both = td.plan(policy(secrets={}, release=[{"name": "k", "kmeans": ["x", "y"], "clusters": 3}, counts]))
    assert both.epsilon == 1
    assert both["k"].epsilon + both["c"].epsilon == 1


def test_a_larger_share_gives_a_finer_table() -> None:
    sizes = []
    for share in (1, 99):
        release = [
            {"name": "k", "kmeans": ["x", "y"], "clusters": 3, "share": share},
            {"name": "c", "histogram": "x"},
        ]
        [noisy] = td.plan(policy(release=release))["k"].strategy.noisy
        sizes.append(noisy.size(policy().domain))
    assert sizes[0] < sizes[1]


def test_near_secrets_need_less_noise() -> None:
    near = {"x": {"within": 2}, "y": {"within": 2}, "kind": "public"}
    found = td.plan(policy(secrets=near, together="one attribute at a time"))["k"]
    assert found.expected_error < 0.8 * found.baseline_error


def test_what_is_known_is_priced(table: pl.DataFrame, tmp_path: Path) -> None:
    """What no secret changes costs nothing; how many are far makes two records change at once."""
    plain, free, dear = (
        td.plan(policy(known=known))["k"] for known in ([], [{"marginal": ["kind"]}], [{"count": "x > 49"}])
    )
    assert free.expected_error == plain.expected_error
    assert dear.expected_error > plain.expected_error
    found = released(policy(known=[{"count": "x > 49"}]), table, tmp_path)
    assert len(found["k"].columns["x"]) == 3
    assert all(check.passed for check in td.verify(tmp_path / "release"))


def test_too_small_a_budget_is_refused() -> None:
    with pytest.raises(Refused, match="too small"):
        td.plan(policy(budget={"epsilon": "0.00001"}))


def test_the_table_is_read_back_from_its_measurement() -> None:
    asked = policy()
    query = kmeans("y", "x", clusters=2)
    [found] = SYNOPSIS.proposals(query, asked)
    table = synopsis_of(found.noisy[0], query, asked.domain)
    assert table.names == ("y", "x")
    assert table.query == found.noisy[0]
    assert not list(SYNOPSIS.proposals(cdf("x"), asked))
    one = kmeans("x", clusters=2)
    [line] = SYNOPSIS.proposals(one, asked)
    assert synopsis_of(line.noisy[0], one, asked.domain).shape == line.noisy[0].shape(asked.domain)
