"""No noise: the policy lets the answer be told as it is, since its sensitivity is zero ([HMD14] section 5)."""

# ruff: noqa: ARG002 - every mechanism is asked in the same way, whatever it needs to know

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tetraodon.arrays import Bools, Floats
from tetraodon.mechanism.strategy import Ends, Measured, Mechanism, Scaled, Strategy
from tetraodon.policy.policy import Policy
from tetraodon.questions.query import Query
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery


@dataclass(frozen=True)
class Exact(Mechanism):
    """What the kernel finds that nothing moves; nobody proposes it."""

    name = "exact"
    words = "exact, no noise"
    tells_answers = True

    def of(self, strategy: Strategy) -> Strategy:
        """A strategy without its noise."""
        return Strategy(self, (), (*strategy.noisy, *strategy.exact), strategy.table, among=strategy.among)

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        yield from ()

    def expected_error(self, query: Query, at: Scaled) -> float:
        return 0.0

    def largest_error(self, query: Query, at: Scaled, confidence: Fraction) -> float:
        return 0.0

    def sentence(self, at: Scaled, noise: str, size: str) -> str:
        return "Published exactly: no secret changes it, so no noise was needed."

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        if at.strategy.exact[0] != LinearQuery(One(), at.strategy.table):
            raise self.no_table()
        return measured[0][..., 0].astype(np.float64)

    def reach(self, at: Scaled, mask: Bools, confidence: Fraction) -> float:
        return 0.0

    def box_reach(self, at: Scaled, low: Ends, high: Ends, confidence: Fraction) -> Floats:
        return np.zeros(np.broadcast_shapes(*(ends.shape for ends in (*low, *high))))


EXACT = Exact()
