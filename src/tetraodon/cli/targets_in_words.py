"""Errors that are wanted, in words and in JSON: whether they are kept, what they cost, and for whose sake."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from tetraodon.rational import decimal_text
from tetraodon.releasing.error_targets import USUAL, Wanted, bounds, in_unit, missed
from tetraodon.releasing.least_epsilon import driven_by
from tetraodon.releasing.plan import Plan
from tetraodon.wording import listing

DOUBT = 99
"""Who thinks something one chance in a hundred thinks the rest so many times likelier."""


def targets_in_words(plan: Plan, wanted: Wanted, least: Plan | None, why_not: str = "") -> list[str]:
    """Whether a plan keeps what is wanted, and the least epsilon that does, or why there is none."""
    lost = missed(plan, wanted)
    if lost:
        told = f"The errors that are wanted are not kept at this budget, so a release is refused: {listing(lost)}."
    else:
        told = _kept(plan, wanted)
    if least is None:
        return [f"{told} {why_not}".strip()]
    return [f"{told} {_would_do(least, wanted)}", *no_protection(least.epsilon)]


def _kept(plan: Plan, wanted: Wanted) -> str:
    stated = [(item, one) for item, one in zip(plan, wanted, strict=True) if one is not None]
    parts = [
        f"{item.name} within {in_unit(one.allowed, item, plan.policy)}" + (f" ({one})" if one.least is not None else "")
        for item, one in stated
    ]
    sure = listing(sorted({percent(one.confidence or USUAL) for _, one in stated}))
    return f"Every answer is as close to the truth as is wanted, with {sure} confidence: {listing(parts)}."


def _would_do(least: Plan, wanted: Wanted) -> str:
    epsilon = decimal_text(least.policy.epsilon)
    delta = f", delta: {decimal_text(least.policy.delta)}" if least.policy.delta else ""
    delta += ", once: true" if least.policy.once else ""
    names = driven_by(least, wanted)
    drives = ""
    if 0 < len(names) < sum(one is not None for one in wanted):
        drives = f", and {listing(names)} {'needs' if len(names) == 1 else 'need'} it: the others would do with less"
    return (
        f"The least epsilon that keeps this is {epsilon}{drives}. To use it, write "
        f"`budget: {{epsilon: {epsilon}{delta}}}`."
    )


def no_protection(epsilon: Fraction) -> list[str]:
    """A warning where somebody who thought one chance in a hundred of a secret may think it likelier than not."""
    if epsilon <= math.log(DOUBT):
        return []
    after = 1 / (1 + DOUBT * math.exp(-min(float(epsilon), 700)))
    shown = f"{100 * after:.0f}%" if after < 0.99 else "more than 99%"
    return [
        f"Epsilon {decimal_text(epsilon)} is no protection worth the name: whoever gave a secret one chance in a "
        f"hundred may be {shown} sure of it after the release. Allow larger errors, or ask for fewer answers."
    ]


def percent(level: Fraction) -> str:
    """A confidence as people say it."""
    return f"{decimal_text(100 * level)}%"


def target_document(plan: Plan, wanted: Wanted, least: Plan | None) -> dict[str, Any]:
    """What is wanted, as JSON: `error` and `confidence` where they are the same for all."""
    errors = {None if one is None else one.allowed for one in wanted}
    levels = {one.confidence or USUAL for one in wanted if one is not None}
    common, level = next(iter(errors)), next(iter(levels))
    items = [
        {
            "name": item.name,
            "within": str(one),
            "allowed": float(one.allowed),
            "bound": bound,
            "confidence": float(100 * (one.confidence or USUAL)),
            "records": one.records,
            "kept": bound <= one.allowed,
        }
        for item, one, bound in zip(plan, wanted, bounds(plan, wanted), strict=True)
        if one is not None
    ]
    return {
        "error": float(common) if len(errors) == 1 and common is not None else None,
        "confidence": float(100 * level) if len(levels) == 1 else None,
        "epsilon": None if least is None else float(least.policy.epsilon),
        "driven_by": [] if least is None else driven_by(least, wanted),
        "items": items,
    }
