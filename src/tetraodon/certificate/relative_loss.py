"""Whether what was certified for secrets to within a share of the value itself is attained.

They are priced as `Within` the most positions that two of them are apart, which has all of their edges and more: at the
top a share is as far as that. So the largest loss is a bound, and a maximum where a pair that is a secret attains it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from tetraodon.certificate.certificate import Dataset
from tetraodon.certificate.edge_loss import Loss
from tetraodon.certificate.loss_of_pair import loss_of_pair, rho_of_pair
from tetraodon.certificate.shown_loss import counts_of_shown, places_apart
from tetraodon.policy.relative_graph import WithinShare
from tetraodon.policy.secret_graph import ABSENT, SecretGraph
from tetraodon.workload.disguised import Disguised, disguised_of
from tetraodon.workload.linear import Measurement


def attained(graph: SecretGraph, loss: Loss, measurements: Sequence[Measurement], *, squares: bool = False) -> Loss:
    """A loss as a maximum only where a pair of records attains it that is a secret, which is shown then.

    Pre   `measurements` are those that were certified, values shown with noise among them.
    Why   a histogram that stands in for values shown with noise moves as far for any change, near or far.
    """
    relative = [f for f in graph.factors if isinstance(f.graph, WithinShare)]
    shown = [one for m in measurements if (one := disguised_of(m.query))]
    if not loss.value or not loss.exact or not (relative or shown or graph.groups):
        return loss
    if graph.groups is not None:
        own = [f.graph for one, _ in graph.by_graph for f in one.factors]
        return loss.bound_unless(not shown and not any(isinstance(one, WithinShare) for one in own))
    if loss.witness is None or any(isinstance(end, Dataset) for end in loss.witness):
        return replace(loss, exact=False)
    noisy = [m for m in counts_of_shown(measurements, graph) if m.scale > 0]
    for pair in _candidates(graph, loss.witness, shown):
        if graph.is_edge(*pair) and _as_far(graph, shown, pair):
            found = 2 * rho_of_pair(graph.domain, noisy, pair) if squares else loss_of_pair(graph.domain, noisy, pair)
            if found == loss.value:
                return replace(loss, witness=pair)
    return replace(loss, exact=False)


def _as_far(graph: SecretGraph, shown: Sequence[Disguised], pair: tuple[object, object]) -> bool:
    """Whether values shown with noise are as far apart in two records as they are priced for, or the same in both."""
    if ABSENT in pair:
        return not shown
    first, second = (graph.domain.codes(end) for end in pair)
    for one in shown:
        x, y = (codes[graph.domain.position(one.attribute.name)] for codes in (first, second))
        if x != y and one.between(x, y) != places_apart(one, graph):
            return False
    return True


def _candidates(
    graph: SecretGraph, witness: tuple[object, object], shown: Sequence[Disguised]
) -> Iterator[tuple[object, object]]:
    """Pairs that may attain a loss: values shown with noise are as many places apart as a secret goes, others as far
    apart as they were, or at the end of the attribute.
    """
    if ABSENT in witness:
        yield witness
        return
    first, second = (list(graph.domain.codes(end)) for end in witness)
    ways: list[list[tuple[int, int]]] = []
    for place, name in enumerate(graph.domain.names):
        pair, own = (first[place], second[place]), graph.factor_of(name).graph
        disguised = [one for one in shown if one.attribute.name == name]
        if pair[0] == pair[1] or not (disguised or isinstance(own, WithinShare)):
            ways.append([pair])
            continue
        far, last = abs(pair[0] - pair[1]), graph.domain[name].size - 1
        if disguised:
            ends = [one.farthest(own.share)[1] if isinstance(own, WithinShare) else (0, last) for one in disguised]
            ways.append([*ends, *(end[::-1] for end in ends)])
        else:
            ways.append([pair, (last - far, last), (last, last - far)])
    for codes in product(*ways):
        one, other = zip(*codes, strict=True)
        yield graph.domain.value_of(one), graph.domain.value_of(other)
