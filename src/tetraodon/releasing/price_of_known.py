"""How much more noise a plan needs because something is known about the data already."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from tetraodon.certificate.kernel import certify_measurements
from tetraodon.releasing.plan import Plan


def price_of_known(plan: Plan) -> dict[str, Fraction]:
    """For every item with noise, its loss divided by the loss that the same noise would have if nothing were known.

    Why  losses are inversely proportional to scales, so that is also how much larger the noise has to be.
    """
    policy = plan.policy
    unknowing = replace(policy.graph, known=())
    found = {}
    for item in plan:
        noisy = [m for m in item.measurements if m.scale]
        before = certify_measurements(unknowing, noisy).epsilon
        after = certify_measurements(policy.graph, noisy).epsilon
        if before:
            found[item.name] = Fraction(after) / Fraction(before)
    return found
