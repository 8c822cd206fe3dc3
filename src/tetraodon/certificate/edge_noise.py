"""Noise along the steps of a map, priced by queries that stand in for it.

A table x of counts is told as x + L eta, with independent whole noises eta. If L z = e_v - e_u for whole numbers z, a
record that is v in place of u changes what is told as much as eta + z in place of eta does: nobody who sees it can do
better than somebody who sees eta or eta + z, and that costs sum |z_i| / b_i, or sum z_i^2 / (2 s_i^2). With L the steps
of the graph it is what [HMD16] call transformational equivalence; docs/edge-noise.md has the proof.

For `Flows` such a z is at hand: for every border that a way from u to v crosses, one step more at its place, and its
share more in every bin of places. That is what one running count for each border moves by, so running counts stand in
for flows; a step that changes the number of records has no z, and the exact total stands in for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from tetraodon.certificate.nonlinear_loss import (
    counts_of_shown,
    dominated,
    presence_alone,
    with_choices,
    without_choices,
)
from tetraodon.errors import Refused
from tetraodon.noise.laws import Currency
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.query.contribution import Among, One, Prefix
from tetraodon.query.edge_flows import Flows
from tetraodon.query.linear import LinearQuery, Measurement


def standing_in(
    measurements: Sequence[Measurement], graph: SecretGraph | None = None, *, alone: bool = False
) -> list[Measurement]:
    """The measurements, with running counts in place of flows, and counts in place of what is chosen.

    Pre   without a graph, `alone` only for a record that comes or goes.
    Post  for any two records, what these lose is what `z` costs, or more.
    Why   neighbours under known counts differ in several records, whose running counts may cancel where their flows do
          not. So there flows are refused.
    """
    found: list[Measurement] = []
    if graph is not None and graph.known and with_choices(measurements):
        raise Refused(
            "tables that are chosen are not priced beside known counts", fix="release histograms, or no `synthetic`"
        )
    alone = alone if graph is None else presence_alone(graph)
    for one in without_choices(dominated(counts_of_shown(measurements, graph)), alone=alone):
        given = one.query.contribution
        if isinstance(given, Among) and isinstance(given.inner, Flows):
            raise Refused("noise along steps is priced for all records only", fix="ask without `where`")
        if not isinstance(given, Flows):
            found.append(one)
            continue
        if graph is not None and graph.known:
            raise Refused("noise along steps is not priced beside known counts", fix="plan under that policy")
        found += _running(one, given)
    return found


def _running(measurement: Measurement, flows: Flows) -> Iterator[Measurement]:
    """One running count for every border and kind of noise, by what a step adds to it.

    Why   a step is in bins that add up to `width` units, of which the squares add up to `width`^2 at most.
    """
    for name, line, size in zip(flows.names, (flows.first, flows.second), flows.shape, strict=True):
        running = LinearQuery(Prefix(name, size, size - 1))
        for scale, units in zip(line.scales, (1, line.width), strict=False):
            yield Measurement(running, measurement.scale * scale / units, measurement.noise)


def total_of_flows(measurements: Sequence[Measurement]) -> list[Measurement]:
    """What flows tell exactly, in whatever cells they are: the number of records."""
    there = any(isinstance(one.query.contribution, Flows) for one in measurements)
    return [Measurement(LinearQuery(One()), Fraction(0))] if there else []


def flows_attain(measurements: Sequence[Measurement]) -> bool:
    """Whether what stands in loses no more than what it stands in for.

    Why   without bins, the straight way is the cheapest under Laplace noise: a potential that falls by 1 / b across
          each border shows it. Gaussian noise would rather take all ways at once, and bins may be cheaper together.
    """
    return not any(
        one.noise.currency is not Currency.PURE or flows.first.width or flows.second.width
        for one in measurements
        if isinstance(flows := one.query.contribution, Flows)
    )
