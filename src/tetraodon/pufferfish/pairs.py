"""What must not be told apart: `td.pufferfish.pairs`, one function for each family."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tetraodon.errors import PolicyError
from tetraodon.exact.rational import Number, rational
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.pufferfish.pair import (
    AggregateIntervals,
    Balls,
    Edges,
    Explicit,
    Intervals,
    Membership,
    Pair,
    Presence,
    Relative,
    SecretPairs,
    Values,
    as_pair,
    hamming,
    l1,
)
from tetraodon.pufferfish.world import Metric, Secret

__all__ = [
    "Pair",
    "SecretPairs",
    "aggregate",
    "all_values",
    "balls",
    "explicit",
    "graph",
    "hamming",
    "intervals",
    "l1",
    "membership",
    "presence",
    "relative",
    "values",
]


def presence() -> SecretPairs:
    """In the data with value t, or not in the data, for every individual and t ([KM12] Eq. 6)."""
    return Presence()


def membership() -> SecretPairs:
    """In the data or not, for every individual ([KM12] Eq. 4)."""
    return Membership()


def all_values() -> SecretPairs:
    """Value t or value t', for every individual; presence is not protected ([HMD14] the full domain)."""
    return Values()


def values() -> SecretPairs:
    """Value t or value t', and presence where the world allows absence ([KM12] Eq. 16)."""
    return Presence() | Values()


def intervals(attribute: str | int | None = None, *, k: Number) -> SecretPairs:
    """Neighbouring intervals of width 2k: nobody's number is inferred to within k ([KM12] Eq. 8-9)."""
    return Intervals(attribute, rational(k, name="k"))


def relative(attribute: str | int | None = None, *, c: Number) -> SecretPairs:
    """Neighbouring intervals [cy, y/c) of positive numbers ([KM12] section 7.1.2). Within 10% is c = 0.9."""
    return Relative(attribute, rational(c, name="c"))


def balls(metric: Metric = l1, *, delta: Number) -> SecretPairs:
    """Within delta of D, or between delta and 2 delta away, for every dataset D ([KM12] Eq. 12-13)."""
    return Balls(metric, rational(delta, name="delta"))


def aggregate(function: Callable[[Any], Any] = sum, *, k: Number, name: str = "total") -> SecretPairs:
    """Neighbouring intervals of width 2k of an aggregate of the whole dataset ([KM12] section 7.2)."""
    return AggregateIntervals(function, rational(k, name="k"), name)


def graph(secrets: Policy | SecretGraph) -> SecretPairs:
    """The edges of a Blowfish secret graph, for every individual ([HMD14] Def. 3.1)."""
    if isinstance(secrets, Policy):
        secrets = secrets.graph
    if not isinstance(secrets, SecretGraph):
        raise PolicyError("there is no secret graph here", fix="give a Policy or a SecretGraph")
    return Edges(secrets)


def explicit(listed: Iterable[tuple[Secret, Secret]]) -> SecretPairs:
    """Pairs written out one by one."""
    pairs = tuple(as_pair(pair) for pair in listed)
    if not pairs:
        raise PolicyError("no pair is listed, so nothing would be protected", fix="list at least one pair")
    return Explicit(pairs)
