"""What a policy says of the table, in sentences: several rows per person, values that do not belong, known figures."""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

from tetraodon.domain import Attribute, Domain
from tetraodon.policy.attackers import TableSecret
from tetraodon.policy.examples import Example
from tetraodon.policy.known import Fact, Known, Rectangle
from tetraodon.policy.policy import Policy
from tetraodon.policy.words import chance, listing, number_of, odds
from tetraodon.questions import Count, Histogram
from tetraodon.rational import decimal_text


def rows_in_a_step(policy: Policy) -> str:
    """What one step does to the rows of a person. Pre: there is a key."""
    if policy.every_row:
        return (
            f"One step changes at most {number_of(policy.rows_per_person, 'row')} of a person, however many they have: "
            "each along one secret, or it comes, or it goes. What more rows of theirs say together is protected less: "
            "it takes more steps to change them all."
        )
    return (
        f"One step may change every row of a person, up to {number_of(policy.rows_per_person, 'row')}, each along one "
        "secret; and rows of theirs may come, or rows may go. The examples below hold even if every row of the person "
        "says the same."
    )


def cost_of_rows(policy: Policy) -> list[str]:
    """What several rows per person cost, beyond one."""
    if policy.rows_per_person == 1:
        return []
    if policy.every_row:
        return [
            f"{number_of(policy.rows_per_person, 'row')} of a person may change in one step: the loss, and with it the "
            f"noise, is {policy.rows_per_person:,} times that of one row."
        ]
    return [
        f"A person has up to {number_of(policy.rows_per_person, 'row')}, and all of them may change in one step: "
        f"the loss, and with it the noise, is {policy.rows_per_person:,} times that of one row."
    ]


def whose_rows(policy: Policy) -> str:
    """Which rows are whose, and which of them are used. Pre: there is a key."""
    if policy.every_row:
        return f"The column {policy.key} says whose row it is. Every row is used."
    more = f"more than {number_of(policy.rows_per_person, 'row')}"
    if policy.cuts_rows:
        used = f"Of a person with {more} only that many are used, the first in the order of their values."
    else:
        used = (
            f"A person with {more} is left out with all of them: were some used, a secret could decide which, and so "
            "show what else they say."
        )
    return f"The column {policy.key} says whose row it is. {used}"


def names_sentences(policy: Policy) -> tuple[str, ...]:
    """What is promised about columns of open text."""
    told = [
        f"{column.name} is text of up to {number_of(column.longest, 'character')}. Nobody has listed its values, and "
        + (
            "any two of them are a secret: one step may change a person's name to any other."
            if column.secret
            else "what it says is not protected by itself; whether a person's row is there is."
        )
        for column in policy.open
    ]
    if policy.names:
        told.append(
            "A name in them is published only if enough people have it, and with noise on how many. One that a single "
            f"person has is published with a chance of at most delta, {float(policy.delta):g}; and so is whatever "
            "tells more than epsilon allows."
        )
    return tuple(told)


def stand_in_sentences(policy: Policy) -> tuple[str, ...]:
    """How missing values and those outside the declared ones are read; a view refuses the latter."""
    only_view = policy.adversary is not None and not policy.items
    told = tuple(_stand_in(attribute, refused=only_view) for attribute in policy.domain)
    if policy.adversary is None or only_view:
        return told
    return (
        "This is how a release reads them. For a view, a missing value counts as below too, but a table with a value "
        "that is not listed, or beyond the ends, is refused.",
        *told,
    )


def reading_sentences(policy: Policy) -> tuple[str, ...]:
    """How days are written in a text, and around which texts blanks do not count."""
    days = [
        f"{a.name}: days are written {a.format}; those written otherwise are missing."
        for a in policy.domain
        if a.format
    ]
    trimmed = [a.name for a in policy.domain if a.trim]
    return (*days, *([f"Blanks around the texts of {listing(trimmed)} do not count."] if trimmed else []))


def _stand_in(attribute: Attribute, *, refused: bool) -> str:
    missing = "a value of its own" if attribute.separate else attribute.text(attribute.missing)
    if refused:
        what = "beyond the ends" if attribute.other is None else "that is not listed"
        return f"{attribute.name}: a missing value counts as {missing}; a table with a value {what} is refused."
    if attribute.other is None:
        return (
            f"{attribute.name}: a missing value counts as {missing}; a value beyond the ends counts as the nearer end."
        )
    other = attribute.text(attribute.other)
    if attribute.other == attribute.missing:
        return f"{attribute.name}: a missing value, and one that is not listed, count as {missing}."
    return f"{attribute.name}: a missing value counts as {missing}; one that is not listed counts as {other}."


def known_in_words(known: Known, domain: Domain) -> str:
    """What somebody knows of a fact: all of it, or that it is at most or at least so much."""
    ends = [f"{word} {end:,}" for word, end in (("at least", known.least), ("at most", known.most)) if end is not None]
    asked = fact_in_words(known.fact, domain)
    if not ends:
        return asked
    told = asked.removeprefix("how many ")
    if (known.least if known.most is None else known.most) == 1:
        told = told.replace("records satisfy", "record satisfies", 1).replace("records have", "record has", 1)
        told = told.replace("records there are", "record there is", 1)
    return f"that {listing(ends)} {told}"


def fact_in_words(fact: Fact, domain: Domain) -> str:
    """A fact as what somebody knows: "the exact table by sex", "how many records there are"."""
    match fact:
        case Count():
            return f"how many records satisfy {fact.where}" if fact.where else "how many records there are"
        case Histogram():
            grouped = {name for name, _ in fact.bins}
            names = [f"groups of {name}" if name in grouped else name for name in fact.attributes]
            return f"the exact table by {listing(names)}"
        case Rectangle():
            sides = [
                f"{name} {domain[name].text(domain[name].code(low))} to {domain[name].text(domain[name].code(high))}"
                for name, low, high in fact.sides
            ]
            return f"how many records have {listing(sides)}"
        case _:
            assert_never(fact)


def share_in_words(policy: Policy) -> tuple[tuple[str, ...], tuple[Example, ...]]:
    """What is promised about a share of the whole table, with shares one step and two apart; nothing if none is secret.

    Why  a step is as many records as may differ, and the loss is at most in proportion to these.
    """
    secret = policy.attackers
    if not isinstance(secret, TableSecret):
        return (), ()
    within, records = f"{decimal_text(100 * secret.within)}%", number_of(secret.records, "record")
    if secret.drawn:
        told = (
            f"With what chance each of the {records} has {secret.share} is a secret: two chances at most {within} "
            "apart are one step apart.",
            f"Chances further apart are protected less: every further {within}, or part of it, is one more step.",
            "Single records are protected too, with the same epsilon, as follows.",
        )
        low = min(Fraction(3, 10), 1 - secret.within)
        return told, tuple(
            _shares(
                policy, f"{decimal_text(100 * low)}%", f"{decimal_text(100 * high)}% as the chance of {secret.share}", n
            )
            for n in (1, 2)
            if (high := low + n * secret.within) <= 1
        )
    told = (
        f"For how many of all {records} {secret.share} holds is a secret: two shares at most {within} apart, which is "
        f"{number_of(secret.differ, 'record')}, are one step apart.",
        f"Shares further apart are protected less: every further {within}, or part of it, is one more step.",
        "Single records are protected too, with the same epsilon, as follows.",
    )
    examples, fewer = [], min(3 * secret.records // 10, secret.records - secret.differ)
    for steps in (1, 2):
        if (more := fewer + steps * secret.differ) <= secret.records:
            few, many = (f"{count:,} ({float(Fraction(100 * count, secret.records)):.3g}%)" for count in (fewer, more))
            examples.append(_shares(policy, few, f"{many} of all {records} with {secret.share}", steps))
    return told, tuple(examples)


def _shares(policy: Policy, one: str, other: str, steps: int) -> Example:
    return Example((), one, other, (), None, steps, odds(policy.epsilon, steps), chance(policy.epsilon, steps))
