"""What a table of soft bins costs under a policy, computed by the kernel.

The kernel judges sums over single attributes and tables of cells; a product of soft bins is neither. Two things that
it can judge lose at least as much, each for its own reason, and the smaller loss is certified:

* *cells*: sharing a record out among cells, in shares that add up to one, never moves more than moving the
  record itself. So the table of the values that the shares are computed from loses at least as much.
* *axes*: |p q - p' q'| <= |p - p'| q + p' |q - q'|, so a table of products moves no more than the tables of its axes
  do in total. Where somebody may be absent, that step is judged by the cells.

A joint metric is replaced by steps along the axes (see `along_axes`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.dependent import require_independent
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.errors import Refused
from tetraodon.mechanism.kmeans_synopsis import Synopsis
from tetraodon.policy.attribute_graph import AttributeGraph, Everything, Public, Within
from tetraodon.policy.joint_metric import JointMetric
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import Factor, SecretGraph, complete_graph
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery, Measurement, Split


def certify_synopsis(
    policy: Policy, synopsis: Synopsis, scale: Fraction, *, further: Sequence[Fraction] = ()
) -> Certificate:
    """The loss of the table, each cell with discrete Laplace noise of `scale` parts of a record; 0 means exactly.

    `further` are the scales of other tables that are released as well, as in `certify_records`.

    Post  an upper bound on the loss over every pair of neighbours; the loss itself for one attribute at a time, for
          the L1 metric with equal steps whose ramps are not shorter than theta, for partitions and for plain
          differential privacy, as the tests find by enumeration.
    """
    refuse_known(policy)
    splits = tuple(Split(axis.name, None if axis.units > 1 else tuple(axis.first.tolist())) for axis in synopsis.axes)
    whole = Measurement(LinearQuery(One(), splits), scale / synopsis.units)
    records = LinearQuery(One(), tuple(Split(axis.name) for axis in synopsis.axes))
    others = [Measurement(records, other) for other in further]
    by_cells = _certify(policy, _without_metric(policy.graph), [whole, *others])
    if scale == 0 or by_cells.epsilon == 0 or _moves_wholly(policy.graph, synopsis):
        return by_cells
    by_axes = _certify(
        policy,
        along_axes(policy.graph, synopsis),
        [
            Measurement(LinearQuery(axis.contribution), scale * axis.units / synopsis.units)
            for axis in synopsis.axes
            if axis.bins > 1
        ]
        + others,
    )
    if policy.graph.absent:
        by_axes = max(by_axes, _certify(policy, _absence(policy.graph), [whole, *others]), key=_loss)
    return min(by_axes, by_cells, key=_loss)


def certify_records(policy: Policy, names: Sequence[str], scales: Sequence[Fraction]) -> Certificate:
    """The loss of several tables, each with its noise, in which every record adds at most one in total.

    Why   whatever a record adds, changing it moves such a table by at most 2, as it moves the table of its values.
    """
    refuse_known(policy)
    query = LinearQuery(One(), tuple(Split(name) for name in names))
    return _certify(policy, _without_metric(policy.graph), [Measurement(query, scale) for scale in scales])


def certify_nothing(policy: Policy) -> Certificate:
    """The loss of looking at no data."""
    return _certify(policy, policy.graph, [])


def refuse_known(policy: Policy) -> None:
    """Stop where steps change several records, since something is known or people are not independent, and where groups
    have secrets of their own: nothing here says so."""
    require_independent(policy, "k-means")
    if getattr(policy, "known", ()) or getattr(policy.graph, "known", ()):
        raise Refused(
            "k-means is not certified for data about which something is known",
            fix="drop `known` from the policy, or release counts instead",
        )
    if policy.graph.groups is not None:
        raise Refused(
            "k-means is not certified for people with secrets of their own",
            fix="drop `groups` and give everybody the strictest secrets, or release counts instead",
        )


def along_axes(graph: SecretGraph, synopsis: Synopsis) -> SecretGraph:
    """A graph of steps along axes on which the axes' tables move at least as much as on the policy's own.

    Why   let the metric be L1 and every ramp longer than theta. A step that moves t_i on axis i takes at most
          2 t_i / w_i with it there, and the t_i add up to at most theta: no more in total than theta along the axis
          with the shortest ramp, which is a step of the graph returned. (On a staircase, axis i moves as if by
          t_i and almost a tread more; the treads are added to theta.) L2 lies within L1 at sqrt(d) theta, and the
          maximum norm moves every axis. Ramps that are shorter than theta lose 2 here, and the cells then lose no more.
    """
    metrics = [factor for factor in graph.factors if isinstance(factor.graph, JointMetric)]
    if not metrics:
        return replace(graph, absent=False)
    alone = len(graph.factors) == 1
    factors: list[Factor] = []
    for factor in graph.factors:
        if isinstance(factor.graph, JointMetric):
            reach = _reach(factor.names, factor.graph, synopsis) if alone else None
            if reach is None:
                alone, reach = False, _each(factor.graph)
            factors += [
                Factor((name,), _line(size, steps))
                for name, size, steps in zip(factor.names, factor.graph.shape, reach, strict=True)
            ]
        else:
            factors.append(factor)
    return SecretGraph(graph.domain, tuple(factors), 1 if alone else len(factors))


def _reach(names: Sequence[str], metric: JointMetric, synopsis: Synopsis) -> list[int] | None:
    """How far one axis may move alone, in steps, so that it stands for every move; None where it cannot."""
    axes = {axis.name: axis for axis in synopsis.axes if axis.bins > 1}
    looked_at = [(axes[name], step) for name, step in zip(names, metric.steps, strict=True) if name in axes]
    match metric.metric:
        case "l1":
            theta = metric.within
        case "l2":
            theta = metric.within * _root_above(max(1, len(looked_at)))
        case _:
            return None
    slack = sum(((axis.tread - 1) * step for axis, step in looked_at), Fraction(0))
    even = not slack and len({step for _, step in looked_at}) <= 1
    reach = []
    for name, size, step in zip(names, metric.shape, metric.steps, strict=True):
        steps = (theta + slack) / step
        reach.append(int(steps) if even else math.ceil(steps))
        if name in axes and reach[-1] > size - 1:
            return None  # this axis is shorter than theta, and another could use what is left of it
    return reach


def _moves_wholly(graph: SecretGraph, synopsis: Synopsis) -> bool:
    """Whether some axis by itself moves a whole record, so that the axes cannot lose less than the cells."""
    return any(axis.bins > 1 and isinstance(graph.factor_of(axis.name).graph, Everything) for axis in synopsis.axes)


def _each(metric: JointMetric) -> list[int]:
    """How far each axis may move at most, in steps."""
    if metric.metric == "great circle km":
        return [size - 1 for size in metric.shape]
    return [min(size - 1, int(metric.within / step)) for size, step in zip(metric.shape, metric.steps, strict=True)]


def _line(size: int, reach: int) -> AttributeGraph:
    return Within(size, reach) if reach > 0 and size > 1 else Public(size)


def _root_above(number: int) -> Fraction:
    """A rational number that is not below the square root."""
    root = math.isqrt(number)
    return Fraction(root) if root * root == number else Fraction(math.isqrt(number * 10**12) + 1, 10**6)


def _without_metric(graph: SecretGraph) -> SecretGraph:
    return complete_graph(graph) if any(isinstance(f.graph, JointMetric) for f in graph.factors) else graph


def _absence(graph: SecretGraph) -> SecretGraph:
    """Nothing is secret but who is in the data."""
    return SecretGraph(graph.domain, tuple(Factor((a.name,), Public(a.size)) for a in graph.domain), 1, absent=True)


def _certify(policy: Policy, graph: SecretGraph, measurements: Sequence[Measurement]) -> Certificate:
    return certify_measurements(graph, measurements, rows_per_person=policy.rows_per_person)


def _loss(certificate: Certificate) -> Fraction | float:
    return certificate.epsilon
