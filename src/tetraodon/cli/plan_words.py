"""A plan and its error targets in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from tetraodon.domain.domain import MISSING, Attribute
from tetraodon.exact.rational import decimal_text
from tetraodon.policy.attackers import Independent
from tetraodon.releases.least_epsilon import USUAL, Wanted, bounds, driven_by, in_unit, missed
from tetraodon.releases.plan import Plan
from tetraodon.releases.planning import error_in_words
from tetraodon.wording import listing, shown_number

# -- targets in words -------------------------------------------------------------------------------
# Errors that are wanted, in words and in JSON: whether they are kept, what they cost, and for whose sake.

DOUBT = 99
"""Who thinks something one chance in a hundred thinks the rest so many times likelier."""


def targets_in_words(plan: Plan, wanted: Wanted, least: Plan | None, why_not: str = "") -> list[str]:
    """Whether a plan keeps what is wanted, and the least epsilon that does, or why there is none."""
    lost = missed(plan, wanted)
    if lost:
        words = f"The errors that are wanted are not kept at this budget, so a release is refused: {listing(lost)}."
    else:
        words = _kept(plan, wanted)
    if least is None:
        return [f"{words} {why_not}".strip()]
    return [f"{words} {_would_do(least, wanted)}", *no_protection(least.epsilon)]


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


# -- plan in words ----------------------------------------------------------------------------------

EXACT_ENOUGH = 1e-9


def pair_in_words(pair: Sequence[Any], units: Mapping[str, Attribute] | None = None) -> str:
    """The worst pair: only what differs between the two records.

    >>> pair_in_words([{"age": 17, "sex": "Male"}, {"age": 22, "sex": "Male"}])
    "one person's age 17 rather than 22"
    """
    first, second = pair
    if isinstance(first, list):
        return f"{len(first)} people's records, of which the known counts allow no fewer to change"
    if not (isinstance(first, Mapping) and isinstance(second, Mapping)):
        present = first if isinstance(first, Mapping) else second
        return f"a person with {_record(present, units)} in the data rather than not"
    if first.keys() == {"chance", "is", "of"}:
        return f"{first['chance']} with a chance of {first['is']} rather than {second['is']}, for each of all records"
    if first.keys() == {"share", "records", "of"}:
        fewer, more, every = first["records"], second["records"], first["of"]
        return f"{fewer:,} rather than {more:,} of all {every:,} records with {first['share']}"
    differing = [name for name in first if first[name] != second[name]]
    if len(differing) == 1:
        (name,) = differing
        return f"one person's {name} {first[name]} rather than {_with_unit(second[name], (units or {}).get(name))}"
    return f"one person with {_record(first, units, differing)} rather than {_record(second, units, differing)}"


def _record(
    record: Mapping[str, Any], units: Mapping[str, Attribute] | None, names: Sequence[str] = (), most: int = 6
) -> str:
    wanted = list(names or record)
    parts = [f"{name} {_with_unit(record[name], (units or {}).get(name))}" for name in wanted[:most]]
    return ", ".join(parts) + (", ..." if len(wanted) > most else "")


def _with_unit(value: Any, attribute: Attribute | None) -> str:
    """A value as a document has it, with its unit: `1 year`, `2 years`; a missing value has none."""
    if attribute is None or not attribute.unit or (attribute.separate and value == MISSING):
        return str(value)
    return f"{value} {attribute.unit_of(Fraction(str(value) == '1'))}"


def _and(parts: Sequence[str]) -> str:
    return listing(parts, most=len(parts))


def notes(plan: Plan, if_public: Mapping[str, float] | None) -> list[str]:
    """Everything a curator should know that does not fit into the table."""
    named = [f"{item.name}: {item.sentence}" for item in plan.names]
    named += [f"The error of {item.name}: {remark}" for item in plan if (remark := item.strategy.mechanism.remark)]
    rest = [*_exact(plan), *_presence(plan, if_public), *_gain(plan)]
    return [*_total(plan), *_groups(plan), *_known(plan), *named, *rest]


def _groups(plan: Plan) -> list[str]:
    """What each group of people with secrets of their own loses; the worst of them is what the release loses."""
    from tetraodon.certificate.kernel import losses_by_group
    from tetraodon.ledger import shown_above
    from tetraodon.policy.explain import people

    if plan.policy.graph.groups is None:
        return []
    measured = [m for item in plan for m in item.measurements]
    losses = dict(losses_by_group(plan.policy.graph, measured, delta=plan.certificate.delta))
    parts = []
    for own in people(plan.policy):
        loss = shown_above(Fraction(losses[own.codes].epsilon))
        verb = "loses" if own.whom.startswith("everybody") else "lose"
        parts.append(f"{own.whom} {verb} {loss}" if own.policy.graph.has_edges else f"{own.whom} do not mind")
    return [f"By {plan.policy.graph.groups.by}: {'; '.join(parts)}. The worst of them is the loss of the release."]


def _known(plan: Plan) -> list[str]:
    """What knowing exact counts costs, item by item."""
    if not plan.policy.known:
        return []
    from tetraodon.policy.explain import known_in_words
    from tetraodon.releases.pricing import price_of_known

    facts = _and([known_in_words(entry, plan.policy.domain) for entry in plan.policy.known])
    prices = price_of_known(plan)
    exact = [name for name, ratio in prices.items() if math.isinf(ratio)]
    larger = [
        f"the noise of {name} is {shown_number(float(ratio))} times larger"
        for name, ratio in prices.items()
        if ratio != 1 and name not in exact
    ]
    parts = [f"{_and(larger)} than if nothing were known"] if larger else []
    parts += [f"noise is needed for {_and(exact)}, which would be exact if nothing were known"] if exact else []
    price = "; ".join(parts) or "nothing costs more than if nothing were known"
    return [f"Because everybody knows {facts}, {price}."]


def _total(plan: Plan) -> list[str]:
    from tetraodon.ledger import shown_above
    from tetraodon.releases.codec import certificate_document

    whole = plan.certificate
    if not whole.epsilon:
        return ["The release as a whole loses nothing: no secret changes any answer."]
    units = {attribute.name: attribute for attribute in plan.policy.domain}
    worst = certificate_document(whole, plan.policy.domain)["witness"]
    pair = f", for the worst pair that there is: {pair_in_words(worst, units)}" if worst else ""
    at = f" at delta {float(whole.delta):g}" if whole.delta else ""
    bound = "" if whole.exact else " at most; this is a proven bound"
    found = [
        f"The release as a whole loses epsilon {shown_above(plan.epsilon)}{at}{bound}{pair}. "
        f"Nobody's secrets lose more ({whole.method}).",
        *_kind_of_noise(plan),
    ]
    added = sum((item.epsilon for item in plan), Fraction(0))
    if added > plan.epsilon and not whole.delta:
        found.append(
            f"One by one the items lose {shown_above(added)} in all. They need not add up: no single secret moves "
            "all of them as far as each can be moved, and what counts is the worst secret for all of them together."
        )
    return found


def _kind_of_noise(plan: Plan) -> list[str]:
    if plan.certificate.rho is not None:
        why = "" if plan.policy.rho else ", whose errors are smaller for these items than those of Laplace noise"
        return [
            f"The noise is Gaussian{why}: the loss is rho {float(plan.certificate.rho):.4g} in zCDP, and epsilon is "
            f"what follows from it at delta {float(plan.certificate.delta):g}."
        ]
    if plan.certificate.delta and not plan.names:
        return [
            "The noise is Gaussian, whose errors are smaller for these items than those of Laplace noise. This is the "
            f"one release that takes all of delta {float(plan.certificate.delta):g}: no other of these data can "
            "have Gaussian noise or tell names."
        ]
    if plan.policy.delta and not plan.names:
        return ["The noise is Laplace noise: for these items its errors are smaller, and no delta is used."]
    return []


def _exact(plan: Plan) -> list[str]:
    return [f"{item.name} is published exactly: no secret changes it." for item in plan if not item.strategy.noisy]


def _presence(plan: Plan, if_public: Mapping[str, float] | None) -> list[str]:
    if plan.policy.key and plan.policy.presence == "public":
        return [
            "It is a secret how many rows a person has, even though presence is public: so no count of rows is "
            "published exactly. `individuals: one row each` would allow it, if that is true of the table."
        ]
    if if_public is None or not plan.items:
        return []
    words = "Whether a person is in the data is secret here"
    changed = [i for i in plan if i.expected_error - if_public[i.name] > EXACT_ENOUGH * (i.expected_error or 1)]
    if not changed:
        return [f"{words}, and that costs nothing: the errors would be the same if it were public."]
    parts = [
        f"{item.name} {error_in_words(if_public[item.name], '')} rather than {error_in_words(item.expected_error, '')}"
        for item in changed
    ]
    return [
        f"{words}. That costs accuracy: if it were public (`presence: public`, a weaker promise), the expected errors "
        f"at the same epsilon would be: {'; '.join(parts)}."
    ]


IGNORES_WHAT_IS_KNOWN = "It takes nothing for known, so with what is known here it would promise less than it says."


def _gain(plan: Plan) -> list[str]:
    noisy = [item for item in plan if item.baseline_error > 0]
    if not noisy:
        return []
    if not isinstance(plan.policy.attackers, Independent):
        from tetraodon.policy.explain import less_than_it_says

        return [
            "Plain differential privacy is the error at the same epsilon if every row were independent of all others. "
            + less_than_it_says(plan.policy.attackers)
        ]
    nothing_gained = all(item.baseline_error <= item.expected_error * (1 + EXACT_ENOUGH) for item in noisy)
    if nothing_gained and not plan.policy.known:
        return [
            "This policy buys nothing over plain differential privacy for these items: no expected error is smaller, "
            "so the stronger promise, that any two records cannot be told apart, could be had for nothing."
        ]
    return [
        "Plain differential privacy is the error at the same epsilon if any two records had to be indistinguishable. "
        + (IGNORES_WHAT_IS_KNOWN if plan.policy.known else "Its promise is stronger than this policy's.")
    ]
