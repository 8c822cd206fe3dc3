"""How much more noise a plan needs because something is known about the data already."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from tetraodon.certificate.kernel import certify_measurements
from tetraodon.releasing.plan import Plan
from tetraodon.zcdp import sqrt_above


def price_of_known(plan: Plan) -> dict[str, Fraction | float]:
    """How many times larger the noise of every item is because of what is known; infinity if there would be none.

    Why  losses are inversely proportional to scales, or in zCDP to their squares; so this is the loss, or its root,
         divided by that of the same noise if nothing were known.
    """
    policy = plan.policy
    unknowing = replace(policy.graph, known=())
    found: dict[str, Fraction | float] = {}
    for item in plan:
        noisy = [m for m in item.measurements if m.scale]
        if not noisy:
            continue
        after, before = (certify_measurements(graph, noisy) for graph in (policy.graph, unknowing))
        if not before.epsilon:
            found[item.name] = math.inf if after.epsilon else Fraction(1)
        elif before.rho is not None and after.rho is not None:
            found[item.name] = sqrt_above(after.rho / before.rho)
        else:
            found[item.name] = Fraction(after.epsilon) / Fraction(before.epsilon)
    return found
