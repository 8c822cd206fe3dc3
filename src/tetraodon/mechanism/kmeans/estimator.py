"""k-means under a policy as a scikit-learn estimator ([HMD14] section 6, corrected), and its plan."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from tetraodon.certificate.certificate import Certificate
from tetraodon.domain import Attribute
from tetraodon.errors import DomainError, PolicyError, QueryError, Refused, TableError, did_you_mean
from tetraodon.exact.arrays import Floats, Ints
from tetraodon.exact.rational import Number, rational
from tetraodon.gate import Permit, without_ledger
from tetraodon.mechanism.kmeans.lloyd import (
    NARROW,
    SHARPNESSES,
    SoftSteps,
    Steps,
    certify_nothing,
    certify_synopsis,
    dearer_by,
    expected_noise,
    expected_score,
    first_centres,
    plan_soft,
    plan_steps,
    require_same_secrets,
)
from tetraodon.mechanism.kmeans.synopsis import (
    KMeansColumn,
    Synopsis,
    choose_grid,
    cluster,
    coarseness,
    columns_of,
    finest,
    totals_of,
    weighted_points,
)
from tetraodon.noise.laws import LAPLACE
from tetraodon.policy.joint_graph import JointMetric
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.policy.policy import Policy

# -- plan -------------------------------------------------------------------------------------------
# What a private k-means will do, and what it will cost, before it sees any data.

Method: TypeAlias = Literal["auto", "exact", "synopsis", "table", "refined", "steps", "soft"]
"""`auto` is the best of all, and `table` of those that look at the data once: `exact` and `synopsis`."""
USUAL_ROWS = 10_000
USUAL_ROUNDS = 4
REFINING_ROUNDS = 2
REFINING_SHARE = Fraction(1, 2)
BLIND = 0.1
"""What it costs, in the score of `choose_grid`, to begin Lloyd's steps at fixed centres."""
LEFT_OVER = 0.4
"""How much of a synopsis's score is left after refining: what was grouped wrongly stays so."""
SPARED = 0.01 * NARROW
"""What it is worth to spend nothing: one percent of the objective."""


@dataclass(frozen=True)
class KMeansPlan:
    """How the centres will be found. `scale` is the noise on a cell of the synopsis, in parts of a record.

    Beside a table with noise, `totals` are counted exactly: connected parts of the graph, or the number of records.

    exact     a table of the connected parts of the graph, which no secret moves ([HMD14] Lemma 5.2), clustered.
    synopsis  a table of soft bins with noise on every cell, clustered.
    refined   the same with half the budget, then noisy Lloyd's steps from the centres found; for many rows or columns.
    steps     noisy Lloyd's steps from fixed centres, where no grid of any of the columns is worth its noise.
    soft      the same with soft assignments, for many columns and secrets that reach a little way only.
    public    centres that do not depend on the data: the budget is too small to learn anything from so few rows.
    """

    method: Literal["exact", "synopsis", "refined", "steps", "soft", "public"]
    names: tuple[str, ...]
    clusters: int
    certificate: Certificate
    synopsis: Synopsis | None = None
    scale: Fraction = Fraction(0)
    totals: Synopsis | None = None
    steps: Steps | SoftSteps | None = None

    @property
    def epsilon(self) -> Fraction:
        """What running it loses."""
        return Fraction(self.certificate.epsilon)

    @property
    def noise(self) -> float:
        """The scale of the noise on one cell of the synopsis, in records."""
        return float(self.scale / self.synopsis.units) if self.synopsis else 0.0


def plan_kmeans(
    policy: Policy,
    epsilon: Number,
    clusters: int,
    *,
    names: Sequence[str] | None = None,
    rows: int | None = None,
    method: Method = "auto",
    rounds: int = USUAL_ROUNDS,
) -> KMeansPlan:
    """The best way we have to cluster under a policy, certified. No data is looked at.

    Pre   `rows` is about how many rows to expect; it decides how fine the grid is, and nothing else.
    Post  the certificate's epsilon is at most the one asked for, and 0 where the policy lets us be exact.
    """
    price = rational(epsilon, name="epsilon")
    if price <= 0:
        raise PolicyError("epsilon is not positive", fix="give a budget above zero")
    chosen = _names(policy, names)
    _check_clusters(policy, clusters, chosen)
    rows = _whole(rows, "rows", USUAL_ROWS)
    rounds = _whole(rounds, "rounds", USUAL_ROUNDS)
    if method not in get_args(Method):
        raise QueryError(f"there is no method {method!r}", fix=did_you_mean(str(method), get_args(Method)))
    require_same_secrets(policy)
    columns = columns_of(policy, chosen)
    found = []
    if method in ("auto", "table", "exact"):
        plan = _exact(policy, columns, chosen, clusters)
        if plan is not None and plan.synopsis is not None:
            found.append((coarseness(columns, plan.synopsis.shape) - SPARED, plan))
        if method == "exact" and plan is None:
            raise Refused("the policy does not let any table be exact", fix="use method='auto'")
        if plan is not None and (method == "exact" or found[0][0] <= 0):
            return plan
    found.extend(_candidates(policy, columns, price, clusters, rows, rounds, method))
    # shares help where a record moves little; pricing them looks at every set of columns that may change at once
    near = _at_once(policy) == 1 and min((score for score, _ in found), default=0.0) > BLIND
    if method == "soft" or (method == "auto" and near and not policy.known):
        found.append(_soft(policy, chosen, price, clusters, rows, rounds))
    return min(found, key=lambda one: one[0])[1]


def _candidates(
    policy: Policy,
    columns: Sequence[KMeansColumn],
    price: Fraction,
    clusters: int,
    rows: int,
    rounds: int,
    method: Method,
) -> Iterator[tuple[float, KMeansPlan]]:
    """Plans with their expected scores."""
    names = tuple(column.attribute.name for column in columns)
    sizes = [column.attribute.size for column in columns]
    if method in ("auto", "refined"):
        steps = plan_steps(policy, names, price * REFINING_SHARE, REFINING_ROUNDS)
        score, plan = _with_synopsis(policy, columns, price * (1 - REFINING_SHARE), clusters, rows, steps)
        # a synopsis of some columns is a better beginning than none, however many columns it leaves out
        left = LEFT_OVER * score if plan.synopsis is None else min(LEFT_OVER * score, BLIND)
        yield left + expected_noise(steps, sizes, clusters, rows), _checked(plan, price)
    if method in ("auto", "steps"):
        steps = plan_steps(policy, names, price, rounds)
        plan = KMeansPlan("steps", names, clusters, steps.certificate(policy, names), steps=steps)
        yield BLIND + expected_noise(steps, sizes, clusters, rows), _checked(plan, price)
    if method in ("auto", "table", "synopsis"):
        score, plan = _with_synopsis(policy, columns, price, clusters, rows, None)
        yield score, _checked(plan, price)


def _soft(
    policy: Policy, names: tuple[str, ...], price: Fraction, clusters: int, rows: int, rounds: int
) -> tuple[float, KMeansPlan]:
    softly = [plan_soft(policy, names, clusters, price, rounds, sharp) for sharp in SHARPNESSES]
    soft = min(softly, key=lambda one: expected_score(one, rows))
    plan = KMeansPlan("soft", names, clusters, soft.certificate(policy, names), steps=soft)
    return BLIND + expected_score(soft, rows), _checked(plan, price)


def _with_synopsis(
    policy: Policy, columns: Sequence[KMeansColumn], price: Fraction, clusters: int, rows: int, steps: Steps | None
) -> tuple[float, KMeansPlan]:
    names = tuple(column.attribute.name for column in columns)
    free = policy.size_is_public
    synopsis, score = choose_grid(columns, _at_once(policy), price / dearer_by(policy, names), rows, free=free)
    if synopsis.cells == 1:
        return score, KMeansPlan("public", names, clusters, certify_nothing(policy))
    totals = totals_of(columns, synopsis) if free else None
    one = certify_synopsis(policy, synopsis, Fraction(1), totals=totals)
    if not one.finite:  # the kernel took every pair of records for a secret, and then no part is free
        totals, one = None, certify_synopsis(policy, synopsis, Fraction(1))
    scale = Fraction(one.epsilon) / price
    certificate = certify_synopsis(policy, synopsis, scale, totals=totals, further=steps.scales if steps else ())
    kind: Literal["refined", "synopsis"] = "refined" if steps else "synopsis"
    return score, KMeansPlan(kind, names, clusters, certificate, synopsis, scale, totals, steps)


def _checked(plan: KMeansPlan, price: Fraction) -> KMeansPlan:
    if not plan.certificate.finite or plan.epsilon > price:
        raise Refused("the plan does not keep its budget", fix="report this: the kernel and the planner disagree")
    return plan


def _exact(policy: Policy, columns: Sequence[KMeansColumn], names: tuple[str, ...], clusters: int) -> KMeansPlan | None:
    """A plan without noise, where every column falls into parts that no secret joins.

    Why   a column that is one connected part would not be told at all; noise is then worth its price.
    """
    if any(column.labels is None and column.attribute.size > 1 for column in columns):
        return None
    synopsis = finest(columns)
    certificate = certify_synopsis(policy, synopsis, Fraction(0))
    return KMeansPlan("exact", names, clusters, certificate, synopsis) if certificate.epsilon == 0 else None


def _at_once(policy: Policy) -> int:
    """How many columns one secret changes by its whole length."""
    factors = policy.graph.factors
    if len(factors) == 1 and isinstance(factors[0].graph, JointMetric) and factors[0].graph.metric in ("l1", "l2"):
        return 1
    return 1 if policy.graph.at_most == 1 and all(len(f.names) == 1 for f in factors) else len(policy.domain.names)


def _names(policy: Policy, names: Sequence[str] | None) -> tuple[str, ...]:
    chosen = policy.domain.names if names is None else tuple(names)
    if not chosen or len(set(chosen)) < len(chosen):
        raise QueryError("the columns to cluster are not named once each", fix="name at least one column, each once")
    for name in chosen:
        if not policy.domain[name].numeric:
            raise DomainError(
                f"{name} is not a number", fix="name integer or real columns with columns=[...]", where=name
            )
    return chosen


def _check_clusters(policy: Policy, clusters: int, names: tuple[str, ...]) -> None:
    if isinstance(clusters, bool) or not isinstance(clusters, Integral) or clusters < 1:
        raise QueryError("n_clusters is not a whole number above zero", fix="ask for at least one cluster")
    if clusters > policy.domain.project(names).size:
        raise QueryError("there are more clusters than points in the domain", fix="ask for fewer clusters")


def _whole(number: int | None, name: str, usual: int) -> int:
    if number is None:
        return usual
    if isinstance(number, bool) or not isinstance(number, Integral) or number < 1:
        raise QueryError(f"{name} is not a whole number above zero", fix=f"give {name} a number such as {usual}")
    return int(number)


# -- estimator --------------------------------------------------------------------------------------


class BadTable(TableError, ValueError):
    """A table that cannot be clustered; also a ValueError, as users of scikit-learn expect."""


def matrix_of(X: Any, names: Sequence[str], *, fitted: int | None = None) -> Floats:
    """X as a matrix of finite numbers, one column for each name.

    Raises BadTable, without telling any value, where that cannot be.
    """
    labels = getattr(X, "columns", None)
    if labels is not None and 0 < len(set(names) & set(labels)) < len(names):
        missing = sorted(set(names) - set(labels))
        raise BadTable(f"X has no column {missing[0]!r}", fix=f"give columns named {', '.join(names)}, or no names")
    if labels is not None and list(labels) != list(names) and set(names) <= set(labels):
        X = X[list(names)]  # a data frame with the columns in another order, or with more of them
    if hasattr(X, "toarray"):
        raise BadTable("X is sparse", fix="give a dense table")
    table = np.asarray(X)
    if table.dtype.kind == "c":
        raise BadTable("Complex data not supported", fix="give real numbers")
    if table.dtype.kind not in "biuf":
        try:
            table = table.astype(np.float64)
        except (TypeError, ValueError):
            raise BadTable("a column does not hold numbers", fix="give numeric columns") from None
    if table.ndim != 2:
        raise BadTable(
            f"Expected 2D array, got {'scalar' if table.ndim == 0 else f'{table.ndim}D'} array instead",
            fix="Reshape your data: one row for each record, one column for each attribute",
        )
    if table.shape[1] != len(names):
        wanted = len(names) if fitted is None else fitted
        raise BadTable(
            f"X has {table.shape[1]} features, but PolicyKMeans is expecting {wanted} features as input",
            fix=f"give one column for each of: {', '.join(names)}",
        )
    if not len(table):
        raise BadTable("Found array with 0 sample(s) while a minimum of 1 is required", fix="give at least one row")
    numbers = table.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise BadTable("Input X contains NaN or infinity", fix="drop or fill in missing values first")
    return numbers


def codes_of(table: Floats, attributes: Sequence[Attribute]) -> Ints:
    """Positions on the declared grids; values outside go to the nearer end."""
    codes = np.empty(table.shape, np.int64)
    for column, attribute in enumerate(attributes):
        low, step = float(attribute.number(0)), float(attribute.step)
        place = np.clip((table[:, column] - low) / step, 0, attribute.size - 1)
        codes[:, column] = np.floor(place + 0.5)
    return codes


# -- what makes an object an estimator: scikit-learn's own base where it is installed, the least of it where not ----


class Parameters:
    """The parameters of a constructor, to read and to set, where scikit-learn is not installed."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's signature
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> Parameters:
        for name, value in params.items():
            if name not in self.get_params():
                raise QueryError(f"there is no parameter {name!r}", fix="use a parameter of the constructor")
            setattr(self, name, value)
        return self


def bases() -> tuple[type, ...]:
    """The classes to inherit from."""
    try:
        base = import_module("sklearn.base")
    except ImportError:
        return (Parameters,)
    return (base.TransformerMixin, base.ClusterMixin, base.BaseEstimator)


def not_fitted() -> Exception:
    """The error for a model that has no centres yet: scikit-learn's own where there is one."""
    what = "the centres are not known yet. Fix: call fit first."
    try:
        kind = import_module("sklearn.exceptions").NotFittedError
    except ImportError:
        return AttributeError(what)
    error = kind(what)
    assert isinstance(error, Exception)
    return error


if TYPE_CHECKING:

    class _Estimator:
        """What scikit-learn adds, as the type check sees it."""

        def __sklearn_tags__(self) -> Any: ...

else:
    _Estimator = type("Estimator", bases(), {"__doc__": "An estimator.", "__module__": __name__})


class PolicyKMeans(_Estimator):
    """Cluster centres that keep a policy's promise at a price of epsilon.

    Columns of X are the policy's attributes in order, or those named in `columns`. Values outside the declared range
    are taken to be at its nearer end. Every call of `fit` spends epsilon again; no ledger is charged.

    There is no `labels_`: which cluster each record of the training data fell into is not private. `predict` assigns
    the rows it is given to the public centres, and its answer is as secret as those rows.

    `rows` is a public guess of the number of rows; it only sets how fine the grid is. Where the policy says that
    the number of rows is known, the true number is used. `n_init` and `max_iter` cost no privacy.

    >>> import numpy as np
    >>> from fractions import Fraction
    >>> from tetraodon.domain import Attribute, Domain, Integers
    >>> from tetraodon.policy.attribute_graph import Blocks
    >>> from tetraodon.policy.secret_graph import Factor, SecretGraph
    >>> domain = Domain((Attribute("x", Integers(0, 9)),))
    >>> tens = SecretGraph(domain, (Factor(("x",), Blocks((0, 0, 0, 0, 0, 1, 1, 1, 1, 1))),), 1)
    >>> policy = Policy("tiny", domain, tens, Fraction(1), (), "public")
    >>> model = PolicyKMeans(policy, epsilon=1, n_clusters=2).fit([[1], [2], [8], [9], [9]])
    >>> sorted(model.cluster_centers_.ravel().tolist()), model.certificate_.epsilon
    ([2.0, 7.0], Fraction(0, 1))
    """

    n_features_in_: int
    cluster_centers_: Floats
    n_iter_: int
    certificate_: Certificate
    plan_: KMeansPlan

    def __init__(
        self,
        policy: AnyPolicy,
        epsilon: Number = 1,
        n_clusters: int = 8,
        *,
        columns: Sequence[str] | None = None,
        rows: int | None = None,
        method: Method = "auto",
        n_init: int = 10,
        max_iter: int = 25,
    ) -> None:
        self.policy = policy
        self.epsilon = epsilon
        self.n_clusters = n_clusters
        self.columns = columns
        self.rows = rows
        self.method = method
        self.n_init = n_init
        self.max_iter = max_iter

    def plan(self, rows: int | None = None) -> KMeansPlan:
        """What `fit` would do and lose, for about this many rows. It looks at no data and spends nothing."""
        for name, number in (("n_init", self.n_init), ("max_iter", self.max_iter)):
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise QueryError(f"{name} is not a whole number above zero", fix=f"give {name} a number such as 10")
        policy = self._policy()
        return plan_kmeans(
            policy,
            self.epsilon,
            self.n_clusters,
            names=self.columns,
            rows=self.rows if rows is None else rows,
            method=self.method,
        )

    def fit(self, X: Any, y: object = None) -> PolicyKMeans:  # noqa: ARG002
        """Find the centres. Everything that can be refused is refused before any noise is drawn."""
        table = matrix_of(X, self._names())
        plan = self.plan(len(table) if self._policy().size_is_public else None)
        attributes = [self._policy().domain[name] for name in plan.names]
        codes = codes_of(table, attributes)
        self._remember(X, table)
        self.plan_, self.certificate_ = plan, plan.certificate
        self.cluster_centers_, self.n_iter_ = self._centres(plan, codes, without_ledger(plan.certificate))
        return self

    def _centres(self, plan: KMeansPlan, codes: Ints, permit: Permit) -> tuple[Floats, int]:
        attributes = [self._policy().domain[name] for name in plan.names]
        lows = np.array([float(a.number(0)) for a in attributes])
        steps = np.array([float(a.step) for a in attributes])
        sizes = [a.size for a in attributes]
        if plan.synopsis is None:
            centres, rounds = lows + steps * first_centres(plan.clusters, sizes), 1
        else:
            points, weight = self._points(plan, plan.synopsis, attributes, codes, permit)
            centres, rounds = cluster(points, weight, plan.clusters, starts=self.n_init, rounds=self.max_iter)
        if plan.steps is not None:
            centres = lows + steps * plan.steps.run(codes, sizes, steps, (centres - lows) / steps, permit)
            rounds = plan.steps.rounds
        return np.asarray(centres), rounds

    def _points(
        self, plan: KMeansPlan, synopsis: Synopsis, attributes: Sequence[Attribute], codes: Ints, permit: Permit
    ) -> tuple[Floats, Floats]:
        """Weighted points that stand for the data: exact blocks, or what explains the noisy table."""
        table = synopsis.spread(codes)
        if plan.scale:
            table = table + permit.noise(LAPLACE, plan.scale, table.shape)
        known = (plan.totals, plan.totals.spread(codes)) if plan.totals else None
        return weighted_points(synopsis, attributes, table, plan.noise, known)

    def predict(self, X: Any) -> Ints:
        """The nearest centre of each row. Rows are compared as they are, without clamping."""
        self._check_fitted()
        table = matrix_of(X, self._names(), fitted=self.n_features_in_)
        self._compare(X)
        centres = self.cluster_centers_
        gaps = (centres**2).sum(axis=1) - 2 * table @ centres.T
        return np.asarray(gaps.argmin(axis=1))

    def transform(self, X: Any) -> Floats:
        """The distance of each row from each centre."""
        self._check_fitted()
        table = matrix_of(X, self._names(), fitted=self.n_features_in_)
        self._compare(X)
        return np.asarray(np.sqrt(((table[:, None, :] - self.cluster_centers_) ** 2).sum(axis=2)))

    def fit_predict(self, X: Any, y: object = None) -> Ints:  # noqa: ARG002
        """Fit, then tell the holder of X which centre each row is nearest to. The answer is not private."""
        return self.fit(X).predict(X)

    def score(self, X: Any, y: object = None) -> float:  # noqa: ARG002
        """Minus the sum of squared distances to the nearest centre; as secret as X."""
        return -float((self.transform(X).min(axis=1) ** 2).sum())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # noise has no seed
        return tags

    def _policy(self) -> Policy:
        return load_policy(self.policy)

    def _names(self) -> tuple[str, ...]:
        return self._policy().domain.names if self.columns is None else tuple(self.columns)

    def _remember(self, X: Any, table: Floats) -> None:
        self.n_features_in_ = table.shape[1]
        names = getattr(X, "columns", None)
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.asarray(list(names), dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _compare(self, X: Any) -> None:
        """Refuse named columns that are not those of `fit`."""
        names, known = getattr(X, "columns", None), getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and list(names) != list(known):
            raise TableError("the columns are not those that the centres were found on", fix="give the same columns")

    def _check_fitted(self) -> None:
        if not hasattr(self, "cluster_centers_"):
            raise not_fitted()
