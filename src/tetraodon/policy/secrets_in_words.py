"""What the secrets of an attribute say, as sentences that the graph implies and nothing more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import assert_never

from tetraodon.domain import Attribute, Dates, Grid, Integers
from tetraodon.policy.attribute_graph import Blocks, Everything, Pairs, Public, Within, WithinOrMissing
from tetraodon.policy.joint_graph import JointGraph, Regions
from tetraodon.policy.joint_metric import JointMetric
from tetraodon.policy.policy import Policy
from tetraodon.policy.relative_graph import WithinShare
from tetraodon.policy.secret_graph import Factor
from tetraodon.policy.words import length, listing, odds, one_in
from tetraodon.rational import decimal_text


def why_two_steps(policy: Policy) -> str:
    """The reason why any two records are at most two steps apart."""
    if policy.presence == "secret":
        return "because it is a secret whether a person is in the data"
    return "because it is a secret how many rows a person has"


def only_presence_is_secret(policy: Policy) -> bool:
    """Whether nothing is a secret about a person but whether they are in the data."""
    graph = policy.graph
    return policy.presence == "secret" and graph.groups is None and not any(map(has_secrets, graph.factors))


def secret_sentences(policy: Policy, factor: Factor) -> list[str]:
    """What cannot be told apart in the attributes of a factor."""
    graph, domain = factor.graph, policy.domain
    if isinstance(graph, JointMetric):
        return _joint(policy, factor, graph)
    if isinstance(graph, JointGraph):
        assert isinstance(graph, Regions)
        return _regions(policy, factor, graph)
    attribute = domain[factor.names[0]]
    name, absent = attribute.name, policy.graph.absent
    if attribute.size == 1:
        return [f"{name} has a single value: there is nothing to tell apart."]
    if factor.complete:
        return [f"Any two values of {name} are a secret: one step apart."]
    if not has_secrets(factor):
        if not absent:
            return [f"{name} is not protected: anyone may learn it from a release."]
        return [
            f"No two values of {name} are a secret by themselves.",
            f"They are still only two steps apart, {why_two_steps(policy)}: {name} is not released exactly.",
        ]
    match graph:
        case WithinShare():
            share = f"{decimal_text(100 * graph.share)}%"
            told = [
                f"Two values of {name} of which the larger is at most {share} more than the smaller are a secret: one "
                "step apart."
            ]
            further = (
                f"Values further apart are protected less: every further {share} of the smaller one, or part of it, is "
                "one more step."
            )
        case Within():
            reach = length(attribute, graph.reach)
            told = [f"Two values of {name} that are at most {reach} apart are a secret: one step apart."]
            further = (
                f"Values further apart are protected less: every further {reach}, or part of it, is one more step."
            )
        case WithinOrMissing():
            reach = length(attribute, graph.reach)
            told = [
                f"Two values of {name} that are at most {reach} apart are a secret: one step apart.",
                "Whether it is missing is a secret too: a missing value is one step from every other.",
            ]
            further = "So any other two values are two steps apart."
        case Blocks():
            blocks = "; ".join(_block_texts(attribute, graph))
            told = [f"Two values of {name} in the same block are a secret: one step apart. The blocks are: {blocks}."]
            further = "Which of the blocks a person is in is not protected: anyone may learn it from a release."
        case Pairs():
            pairs = "; ".join(_pair_texts(attribute, graph))
            told = [f"These pairs of values of {name} are secrets, one step apart: {pairs}."]
            further = (
                "Two values joined by a chain of such pairs are as many steps apart as the shortest chain is long; "
                "values that no chain joins are not protected from being told apart."
            )
        case Everything() | Public():
            raise AssertionError("a graph of all pairs or of none was told above")
        case _:
            assert_never(graph)
    return [*told, f"Any other two values are two steps apart, {why_two_steps(policy)}." if absent else further]


def has_secrets(factor: Factor) -> bool:
    """Whether any two values of the factor are a secret. A joint metric is said to have some."""
    return isinstance(factor.graph, JointMetric) or factor.graph.edge_count > 0


def _regions(policy: Policy, factor: Factor, graph: Regions) -> list[str]:
    names = listing(factor.names)
    shown = [
        f"{name} ({size:,} {'cell' if size == 1 else 'cells'})"
        for name, size in zip(graph.names, graph.sizes, strict=True)
    ]
    blocks = "; ".join([*shown[:8], f"and {len(shown) - 8:,} more"] if len(shown) > 8 else shown)
    told = [
        f"{names} are one secret together. Two cells in the same block are one step apart. The blocks are: {blocks}.",
    ]
    if policy.graph.absent:
        return [*told, f"Any other two cells are two steps apart, {why_two_steps(policy)}."]
    return [*told, "Which of the blocks a person is in is not protected: anyone may learn it from a release."]


def _pair_texts(attribute: Attribute, graph: Pairs) -> list[str]:
    texts = [f"{attribute.text(x)} and {attribute.text(y)}" for x, y in sorted(graph.pairs)[:8]]
    return [*texts, f"and {len(graph.pairs) - 8:,} more"] if len(graph.pairs) > 8 else texts


def _block_texts(attribute: Attribute, graph: Blocks) -> list[str]:
    members: dict[int, list[int]] = {}
    for code, block in enumerate(graph.blocks):
        members.setdefault(block, []).append(code)
    texts = [_group(attribute, codes) for codes in list(members.values())[:8]]
    return [*texts, f"and {len(members) - 8:,} more"] if len(members) > 8 else texts


def _group(attribute: Attribute, codes: Sequence[int]) -> str:
    numbers = isinstance(attribute.values, Integers | Grid | Dates) and not attribute.separate
    row = numbers and codes[-1] - codes[0] + 1 == len(codes)
    if row and len(codes) > 2:
        return f"{attribute.text(codes[0])} to {attribute.text(codes[-1])}"
    return listing(attribute.text(code) for code in codes)


def _joint(policy: Policy, factor: Factor, graph: JointMetric) -> list[str]:
    names = listing(factor.names)
    if graph.metric == "great circle km":
        near = f"at most {decimal_text(graph.within)} km apart on the globe"
    else:
        near = f"at most {decimal_text(graph.within)} apart in the {graph.metric} metric"
    told = [f"{names} are measured together. Two points {near} are a secret: one step apart."]
    if policy.graph.absent:
        return [*told, f"Points further apart are two steps apart, {why_two_steps(policy)}."]
    told.append(
        "Points further apart are as many steps apart as it takes to walk there by such steps, if it can be done."
    )
    if graph.metric != "great circle km":
        told += [
            f"No step changes {name}, whose grid is wider than that: {name} is not protected."
            for name, step, size in zip(factor.names, graph.steps, graph.shape, strict=True)
            if size > 1 and step > graph.within
        ]
    return told


def shown_epsilon(epsilon: Fraction) -> str:
    """An epsilon that was typed, as it was; one that follows from a rho, to four digits."""
    text = decimal_text(epsilon)
    return text if len(text) < 10 else f"{float(epsilon):.4g}"


def forgiven(policy: Policy) -> str:
    """What delta takes back of the promise.

    Why   with loss the log of the odds' move, P(loss > epsilon + t) (1 - e^-t) <= delta, here for t = log 2. And k
          steps keep (k epsilon, delta (1 + e^epsilon + ... + e^((k-1) epsilon))).
    """
    budget = f"The budget is rho {decimal_text(policy.rho)} in zCDP. " if policy.rho is not None else ""
    alone = " One release takes all of the delta; after it none can have Gaussian noise."
    once = alone if policy.once else ""
    chain = min(Fraction(1), policy.delta * (1 + Fraction(min(odds(policy.epsilon, 1), Decimal(10**9)))))
    further = "" if policy.known else f" Between values two steps apart delta grows to {one_in(chain)}, and so on."
    return (
        f"{budget}Delta is {one_in(policy.delta)}, so these odds may be passed. Precisely: no set of outputs is more "
        f"likely under one of the two values than e^epsilon times its chance under the other, plus delta. Outputs that "
        f"move the odds more than twice as far as said come up with a chance of at most {one_in(2 * policy.delta)}, "
        f"and there is no limit to what they tell.{further} A release with Laplace noise makes no use of delta; "
        f"`tetraodon plan` says which noise it is.{once}"
    )


@dataclass(frozen=True, slots=True)
class People:
    """The people of some groups, in words, and the policy as it is for them."""

    whom: str
    by: str
    codes: tuple[int, ...]
    policy: Policy

    @property
    def one(self) -> tuple[int, ...]:
        """The codes of a record that one of them may have."""
        names = self.policy.domain.names
        return tuple(self.codes[0] if name == self.by else 0 for name in names)


def people(policy: Policy) -> tuple[People, ...]:
    """Who has which secrets, where groups have their own; first those with a rule."""
    graph, groups = policy.graph, policy.graph.groups
    assert groups is not None
    attribute = graph.domain[groups.by]
    own = {code for code, _ in groups.own}
    found = []
    for one, codes in sorted(graph.by_graph, key=lambda entry: entry[1][0] not in own):
        named = listing((attribute.text(code) for code in codes), word="or")
        whom = f"people whose {groups.by} is {named}" if codes[0] in own else "everybody else"
        found.append(People(whom, groups.by, codes, replace(policy, graph=one)))
    return tuple(found)
