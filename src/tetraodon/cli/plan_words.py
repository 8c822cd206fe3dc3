"""A plan and its error targets in words: the facts. The sentences are in `templates/plan.txt`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from tetraodon.certificate.kernel import losses_by_group
from tetraodon.display import Sentences
from tetraodon.domain.domain import MISSING, Attribute
from tetraodon.exact.rational import decimal_text
from tetraodon.ledger import shown_above
from tetraodon.policy.attackers import Independent
from tetraodon.policy.explain import known_in_words, less_than_it_says, people
from tetraodon.releases.codec import certificate_document, error_in_words
from tetraodon.releases.least_epsilon import USUAL, Wanted, bounds, driven_by, in_unit, missed
from tetraodon.releases.plan import Plan
from tetraodon.wording import listing, shown_number

EXACT_ENOUGH = 1e-9
DOUBT = 99
"""An attacker who gave a secret one chance in a hundred gave the rest so many times more."""
WORDS = Sentences(
    Path(__file__).parent / "templates" / "plan.txt",
    above=shown_above,
    decimal=decimal_text,
    every=lambda parts: listing(parts, most=len(parts)),
    ignores_what_is_known=(
        "It takes nothing for known, so with what is known here it would promise less than it says."
    ),
    listing=listing,
    short=lambda number: f"{float(number):g}",
)

# -- targets ----------------------------------------------------------------------------------------


def targets_in_words(plan: Plan, wanted: Wanted, least: Plan | None, why_not: str = "") -> list[str]:
    """Whether a plan keeps what is wanted, and the least epsilon that does, or why there is none."""
    stated = [(item, one) for item, one in zip(plan, wanted, strict=True) if one is not None]
    kept = [
        f"{item.name} within {in_unit(one.allowed, item, plan.policy)}" + (f" ({one})" if one.least is not None else "")
        for item, one in stated
    ]
    sure = sorted({percent(one.confidence or USUAL) for _, one in stated})
    drivers = [] if least is None else driven_by(least, wanted)
    drivers = drivers if len(drivers) < len(stated) else []
    found = WORDS("targets", missed(plan, wanted), kept, sure, why_not, least and least.policy, drivers)
    return [*found, *([] if least is None else no_protection(least.epsilon))]


def no_protection(epsilon: Fraction) -> list[str]:
    """A warning where a secret that had one chance in a hundred may end up likelier than not."""
    if epsilon <= math.log(DOUBT):
        return []
    after = 1 / (1 + DOUBT * math.exp(-min(float(epsilon), 700)))
    return list(WORDS("no_protection", epsilon, f"{100 * after:.0f}%" if after < 0.99 else "more than 99%"))


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


# -- notes ------------------------------------------------------------------------------------------


def notes(plan: Plan, if_public: Mapping[str, float] | None) -> list[str]:
    """Everything a curator should know that does not fit into the table."""
    about_items = WORDS("items", plan)
    return [*_total(plan), *_groups(plan), *_known(plan), *about_items, *_presence(plan, if_public), *_gain(plan)]


def _total(plan: Plan) -> tuple[str, ...]:
    units = {attribute.name: attribute for attribute in plan.policy.domain}
    worst = certificate_document(plan.certificate, plan.policy.domain)["witness"]
    added = sum((item.epsilon for item in plan), Fraction(0))
    return WORDS("total", plan, worst and pair_in_words(worst, units), added)


def _groups(plan: Plan) -> tuple[str, ...]:
    """What each group of people with secrets of their own loses; the worst of them is what the release loses."""
    graph = plan.policy.graph
    if graph.groups is None:
        return ()
    measured = [m for item in plan for m in item.measurements]
    losses = dict(losses_by_group(graph, measured, delta=plan.certificate.delta))
    parts = []
    for own in people(plan.policy):
        loss = shown_above(Fraction(losses[own.codes].epsilon))
        verb = "loses" if own.whom.startswith("everybody") else "lose"
        parts.append(f"{own.whom} {verb} {loss}" if own.policy.graph.has_edges else f"{own.whom} do not mind")
    return WORDS("groups", graph.groups.by, parts)


def _known(plan: Plan) -> tuple[str, ...]:
    """What knowing exact counts costs, item by item."""
    if not plan.policy.known:
        return ()
    from tetraodon.releases.pricing import price_of_known  # with SQLAlchemy, which other plans do without

    prices = price_of_known(plan)
    exact = [name for name, ratio in prices.items() if math.isinf(ratio)]
    larger = [
        f"the noise of {name} is {shown_number(float(ratio))} times larger"
        for name, ratio in prices.items()
        if ratio != 1 and name not in exact
    ]
    facts = [known_in_words(entry, plan.policy.domain) for entry in plan.policy.known]
    return WORDS("known", facts, larger, exact)


def _presence(plan: Plan, if_public: Mapping[str, float] | None) -> tuple[str, ...]:
    keyed = bool(plan.policy.key) and plan.policy.presence == "public"
    if not keyed and (if_public is None or not plan.items):
        return ()
    changed = [
        f"{item.name} {error_in_words(public, '')} rather than {error_in_words(item.expected_error, '')}"
        for item in plan
        for public in ([] if if_public is None else [if_public[item.name]])
        if item.expected_error - public > EXACT_ENOUGH * (item.expected_error or 1)
    ]
    return WORDS("presence", keyed, changed)


def _gain(plan: Plan) -> tuple[str, ...]:
    noisy = [item for item in plan if item.baseline_error > 0]
    if not noisy:
        return ()
    independent = isinstance(plan.policy.attackers, Independent)
    nothing_gained = all(item.baseline_error <= item.expected_error * (1 + EXACT_ENOUGH) for item in noisy)
    dependent = "" if independent else less_than_it_says(plan.policy.attackers)
    return WORDS("gain", dependent, nothing_gained and not plan.policy.known, plan.policy.known)
