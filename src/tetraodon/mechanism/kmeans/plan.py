"""What a private k-means will do, and what it costs, before it reads any data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Literal, TypeAlias, get_args

from tetraodon.certificate.certificate import Certificate
from tetraodon.errors import DomainError, PolicyError, QueryError, Refused, did_you_mean
from tetraodon.exact.rational import Number, rational
from tetraodon.mechanism.kmeans.lloyd import (
    NARROW,
    SHARPNESSES,
    SoftSteps,
    Steps,
    certify_records,
    certify_synopsis,
    dearer_by,
    expected_score,
    plan_soft,
    plan_steps,
    require_same_secrets,
)
from tetraodon.mechanism.kmeans.synopsis import (
    KMeansColumn,
    Synopsis,
    choose_grid,
    coarseness,
    columns_of,
    finest,
    totals_of,
)
from tetraodon.policy.joint_graph import JointMetric
from tetraodon.policy.policy import Policy

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
    _whole(clusters, "n_clusters", 1)
    if clusters > policy.domain.project(chosen).size:
        raise QueryError("there are more clusters than points in the domain", fix="ask for fewer clusters")
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
        yield left + steps.expected_noise(sizes, clusters, rows), _checked(plan, price)
    if method in ("auto", "steps"):
        steps = plan_steps(policy, names, price, rounds)
        plan = KMeansPlan("steps", names, clusters, steps.certificate(policy, names), steps=steps)
        yield BLIND + steps.expected_noise(sizes, clusters, rows), _checked(plan, price)
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
        return score, KMeansPlan("public", names, clusters, certify_records(policy, names, []))
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


def _whole(number: int | None, name: str, usual: int) -> int:
    if number is None:
        return usual
    if isinstance(number, bool) or not isinstance(number, Integral) or number < 1:
        raise QueryError(f"{name} is not a whole number above zero", fix=f"give {name} a number such as {usual}")
    return int(number)
