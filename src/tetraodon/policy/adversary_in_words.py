"""Whom a published view withstands, in sentences."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from tetraodon.policy.adversary import Adversary
from tetraodon.policy.delta_in_words import shown_epsilon
from tetraodon.policy.policy import Policy
from tetraodon.policy.side_table import side_tables
from tetraodon.policy.words import number_of
from tetraodon.rational import decimal_text

GO_TOGETHER = (
    "Somebody who knows that records go together, such as two members of a family, may learn more: seeing both is no "
    "accident."
)

LEARNS = (
    "The view itself tells how common values are. Somebody who learns that from it believes more of common tuples than "
    "was assumed, and may then tell records from noise. How many is computed for every view that is drawn, and told "
    "with it."
)

LINKS = (
    "Somebody who knows a person but for one attribute may read that one: of the few tuples that are left, the one "
    "that is shown is likely to be theirs. `kind: exclusive` with a high prior names such an attacker."
)


def limits(adversary: Adversary) -> tuple[str, ...]:
    """What is not promised to hold, whatever the prior and the posterior."""
    return (GO_TOGETHER, LEARNS) if adversary.kind == "exclusive" else (GO_TOGETHER, LEARNS, LINKS)


def view_sentences(policy: Policy) -> tuple[str, ...]:
    """What the policy promises of a published view; nothing where it names no adversary."""
    adversary = policy.adversary
    if adversary is None:
        return ()
    stated = adversary.d is not None or adversary.records is not None
    told = [
        "`tetraodon publish` would show a view of the whole table: records among tuples that nobody has. It "
        "makes a promise of its own, about whether the table has a given record at all.",
        *beliefs(adversary, adversary.prior(policy.domain.size) if stated else None),
    ]
    if adversary.k is not None:
        told.append(
            f"That prior is {decimal_text(adversary.k)} times n/m, the average chance of a tuple: "
            f"{'the number of' if adversary.records is None else f'{adversary.records:,}'} records, divided by "
            f"{number_of(policy.domain.size, 'possible tuple')}."
        )
    if adversary.views > 1:
        told.append(f"That holds for all {adversary.views:,} planned views together.")
    if adversary.rows == "distinct":
        told.append("It is taken to be known that no two records of the table are equal.")
    return (
        *told,
        *limits(adversary),
        f"What a view loses as the odds above are counted is charged to the ledger, and may be up to epsilon "
        f"{shown_epsilon(policy.epsilon)}; `tetraodon plan` says how much it is.",
        *(table.sentence for table in side_tables(policy).values()),
    )


def beliefs(adversary: Adversary, prior: Fraction | None) -> list[str]:
    """How far beliefs can move, for priors up to the given one; None where it depends on the number of records.

    Post  the prior is rounded down and what may be believed after is rounded up, so that no more is said than holds.
    """
    most = f"{decimal_text(adversary.k or Fraction(0))} n/m" if prior is None else _short(prior, ROUND_FLOOR)
    after = f"{_short(100 * adversary.gamma, ROUND_CEILING)}%"
    if adversary.kind == "exclusive":
        return [
            f"Somebody who knows groups of tuples of which exactly one is in the table, and believed before in each of "
            f"them with probability at most {most}, will not believe in any with more than {after} after.",
            "Their belief in the other tuples of a group may fall: that cannot be excluded.",
        ]
    told = [
        f"Somebody who believed before, with probability at most {most}, that the table has some record, and to whom "
        f"records are independent of each other, will not believe it with more than {after} after."
    ]
    if prior is not None:
        told.append(
            f"Nor will their belief in it fall below {_short(prior / adversary.gamma, ROUND_FLOOR)} of what it was."
        )
    return told


def _short(number: Fraction, rounding: str) -> str:
    context = Context(prec=4, rounding=rounding)
    return f"{float(context.divide(Decimal(number.numerator), Decimal(number.denominator))):.4g}"
