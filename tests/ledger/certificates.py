"""Certificates to be charged for: a ledger takes no others than those of the kernel."""

from __future__ import annotations

from fractions import Fraction

import tetraodon as td
from tetraodon.certificate import Certificate, certify_measurements
from tetraodon.certificate.partition_selection import NamesAbove, certify_names, least_threshold
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.queries import count
from tetraodon.query.kinds import linear
from tetraodon.query.linear import Measurement

POLICY = td.load_policy({"dataset": "adult", "attributes": {"sex": ["f", "m"]}, "budget": {"epsilon": 1}})

FREE = td.certify(POLICY, [[0, 0]], 1)
"""Of a release that loses nothing, so that any charge covers it."""


def pure(epsilon: Fraction | int) -> Certificate:
    """A loss of exactly this epsilon: one record more or less moves a count by one."""
    return td.certify(POLICY, [[1, 1]], 1 / Fraction(epsilon))


def gaussian(delta: Fraction) -> Certificate:
    """A loss of rho 1/50: a count with Gaussian noise of scale 5."""
    query = linear(count(), POLICY.domain)
    return certify_measurements(POLICY.graph, [Measurement(query, Fraction(5), GAUSSIAN)], delta=delta)


def named(delta: Fraction) -> Certificate:
    """A loss of epsilon 1, with a delta up to this one: names above a threshold."""
    policy = td.load_policy(
        {"dataset": "d", "attributes": {"x": ["a"], "word": {"open": "text"}}, "budget": {"epsilon": 1}}
    )
    return certify_names(policy, [NamesAbove("word", Fraction(2), least_threshold(Fraction(2), 2, delta))])
