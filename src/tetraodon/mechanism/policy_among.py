"""The policy that mechanisms are asked under where a question is about some of the records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tetraodon.certificate.kernel import sensitivity_of
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything, Pairs, Public, Within, WithinOrMissing
from tetraodon.policy.joint_graph import JointGraph
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery
from tetraodon.workload.records_where import Kept, RecordsWhere


def policy_among(those: RecordsWhere, policy: Policy) -> Policy:
    """A policy over what these records can be like, which says about what is measured there.

    Post  their number is public if no secret changes it. It is a hint: the kernel certifies what is measured over all
          records, under the policy itself, and refuses what this one got wrong.
    """
    graph = policy.graph
    number = those.lifted(LinearQuery(One()))
    still = policy.presence == "public" and sensitivity_of(graph, number).value == 0
    if those.kept:
        factors = tuple(left for factor in graph.factors for left in _left(factor, those))
        inside = SecretGraph(those.inside, factors, graph.at_most, graph.absent or not still)
    else:
        inside = replace(graph, absent=graph.absent or not still, known=())
    return replace(policy, domain=those.inside, graph=inside, presence="public" if still else "secret")


def _left(factor: Factor, those: RecordsWhere) -> list[Factor]:
    """The secrets of some attributes among values that are kept."""
    if not those.kept.keys() & set(factor.names):
        return [factor]
    if isinstance(factor.graph, JointGraph):
        return [Factor((name,), Everything(those.inside[name].size)) for name in factor.names]
    [name] = factor.names
    return [Factor((name,), _among(factor.graph, those.kept[name]))]


def _among(graph: AttributeGraph, kept: Kept) -> AttributeGraph:
    codes = np.array(kept.listed or range(kept.first, kept.last + 1))
    match graph:
        case Everything():
            return Everything(len(codes))
        case Public():
            return Public(len(codes))
        case Within():
            return Within(len(codes), graph.reach)
        case WithinOrMissing():
            kind = WithinOrMissing if kept.last == graph.size - 1 and len(codes) > 1 else Within
            return kind(len(codes), graph.reach)
        case Blocks():
            return Blocks(tuple(np.unique(graph.components()[codes], return_inverse=True)[1].tolist()))
        case Pairs():
            place = {int(code): number for number, code in enumerate(codes)}
            return Pairs(
                len(codes), frozenset((place[x], place[y]) for x, y in graph.pairs if x in place and y in place)
            )
