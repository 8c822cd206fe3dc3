"""k-means under a policy as a scikit-learn estimator ([HMD14] section 6, corrected)."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from tetraodon.certificate.certificate import Certificate
from tetraodon.domain import Attribute
from tetraodon.errors import QueryError, TableError
from tetraodon.exact.arrays import Floats, Ints
from tetraodon.exact.rational import Number
from tetraodon.gate import Permit, without_ledger
from tetraodon.mechanism.kmeans.lloyd import first_centres
from tetraodon.mechanism.kmeans.plan import KMeansPlan, Method, plan_kmeans
from tetraodon.mechanism.kmeans.synopsis import Synopsis, cluster, weighted_points
from tetraodon.noise.laws import LAPLACE
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.policy.policy import Policy


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

    def get_params(self, deep: bool = True) -> dict[str, Any]:
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
    ([2.0, 7.0], 0)
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

    def fit(self, X: Any, y: object = None) -> PolicyKMeans:
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

    def fit_predict(self, X: Any, y: object = None) -> Ints:
        """Fit, then tell the holder of X which centre each row is nearest to. The answer is not private."""
        return self.fit(X).predict(X)

    def score(self, X: Any, y: object = None) -> float:
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
