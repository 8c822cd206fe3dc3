"""Who has which secrets, where groups of people have their own."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tetraodon.policy.policy import Policy
from tetraodon.policy.words import listing


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
