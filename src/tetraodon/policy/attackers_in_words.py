"""Who might attack, in words: what rows depend on, and what a view's attacker may come to believe."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import assert_never

from tetraodon.policy.adversary import Adversary
from tetraodon.policy.attackers import Attackers, Chain, Contacts, DependentGroups, Independent, TableSecret
from tetraodon.policy.policy import Policy
from tetraodon.policy.secrets_in_words import shown_epsilon
from tetraodon.policy.side_table import side_tables
from tetraodon.policy.words import number_of
from tetraodon.rational import decimal_text
from tetraodon.wording import listing


def less_than_it_says(attackers: Attackers) -> str:
    """What plain differential privacy would not do against attackers who are more than independent."""
    if isinstance(attackers, TableSecret):
        return "It hides single records, and not what is true of the whole table, so it promises less than this policy."
    return (
        "It takes people to be independent, so against the attackers of this policy it would promise less than it says."
    )


def against_whom(attackers: Attackers, known: int = 0) -> str:
    """Whom the promise is kept against, and what is not covered, where so many counts are known."""
    match attackers:
        case Independent():
            return (
                "The promise is kept against anybody to whom the records of different people are independent, "
                "whatever else they believe. If one person's record says something about another's, as in a family or "
                "an outbreak, what is learnt that way is not covered."
            )
        case DependentGroups(column, rows):
            most = number_of(rows, "row")
            counted = (
                f"A table in which a {column} has more than {most}, or a row has none, is refused, for what is known "
                "counts all rows."
                if known
                else f"Of a {column} with more than {most} only that many are counted. Rows without a {column} are not "
                "counted."
            )
            return (
                f"The promise is kept against anybody to whom rows with different {column} are independent, whatever "
                f"they believe about rows that share it: those may depend on each other in any way. {counted} What one "
                f"{column} says about another is not covered."
            )
        case Chain():
            which = "a Markov chain" if len(attackers.transitions) == 1 else "one of several Markov chains"
            start = "started long ago" if not attackers.starts else "starts as stated"
            return (
                f"The promise is kept against anybody to whom the rows, in the order of {attackers.along}, are states "
                f"of {which} with the transition probabilities of this file (source: {attackers.source}), which "
                f"{start}, and against anybody to whom they are independent. If rows depend on each other more than "
                f"that, what is learnt that way is not covered. Of rows with the same {attackers.along} one is counted."
            )
        case Contacts(contacts, influence):
            return (
                "The promise is kept against anybody to whom people are joined in some network in which nobody has "
                f"more than {number_of(contacts, 'contact')}, in the data or not, and in which the record of one "
                "contact moves the odds between two values of a person's own by a factor of at most "
                f"{decimal_text(influence)}, whatever everybody else's records are (source: {attackers.source}). They "
                "may know the network. If people depend on each other more than that, what is learnt that way is not "
                "covered."
            )
        case TableSecret(share=share, source=source):
            whom = (
                f"about the chance of {share} is kept against anybody to whom records are independent, each having "
                f"{share} with that chance, and all else with the chances of this file (source: {source}), whatever "
                "they believe of that chance."
                if attackers.drawn
                else f"about the share with {share} is kept against anybody to whom records are independent, given "
                f"which of them have {share}, with the chances of this file (source: {source}), whatever they believe "
                "of how many and whose those are."
            )
            return (
                f"The promise {whom} If columns go together otherwise, or records depend on each "
                "other, what is learnt that way is not covered. The promise about single records is kept against "
                "anybody to whom the records of different people are independent, whatever else they believe."
            )
        case _:
            assert_never(attackers)


def cost_of_dependence(attackers: Attackers, known: int = 0) -> tuple[str, ...]:
    """What it costs that rows may depend on each other, where so many counts are known."""
    match attackers:
        case Independent():
            return ()
        case DependentGroups(column, rows):
            return (
                f"All rows of a {column}, up to {rows:,}, may change together with one person's secret, and each of "
                f"them in any way, whatever `secrets` says: the loss, and with it the noise, is that of "
                f"{number_of(attackers.rows_together(known), 'row')} of which any two values must not be told apart"
                + (f", in every {column} that makes up for another as the known count asks for." if known else "."),
            )
        case Chain():
            return (
                "What a row says shows in its neighbours. Noise hides all rows nearby, each of which may change in any "
                "way; how many those are, and how much the rows beyond still tell, follows from the chain.",
            )
        case Contacts():
            return (
                "What a person's record is shows in those of their contacts, of the contacts' contacts, and so on, "
                "ever less. The loss, and with it the noise, is at most "
                f"{decimal_text(attackers.rows)} times that of one row of which any two values must not be told apart.",
            )
        case TableSecret():
            which = (
                f"All {number_of(attackers.records, 'record')} tell of the chance that is a secret."
                if attackers.drawn
                else f"Up to {number_of(attackers.differ, 'record')} may differ between two shares that are a secret."
            )
            return (
                f"{which} Noise hides what all of these would tell, less what the chance of the records hides already; "
                "and never less than any change of one record.",
            )
        case _:
            assert_never(attackers)


def how_releases_add_up(attackers: Attackers) -> str:
    """What several releases from the same data cost together."""
    if isinstance(attackers, TableSecret):
        return (
            "What several releases tell of a whole table does not add up: the ledger takes one, and refuses any other."
        )
    if isinstance(attackers, Chain):
        return (
            "The epsilons of several releases from the same data do not simply add up; the ledger computes the loss of "
            "all of them together, and keeps the total."
        )
    return "The epsilons of all releases from the same data add up; the ledger keeps the total."


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
    if adversary.source:
        told.append(
            f"That is for the likeliest tuple. For any other the prior is {decimal_text(adversary.k or Fraction(0))} "
            f"times the number of records times its chance by the public source, which weighs the values of "
            f"{listing([name for name, _ in adversary.source])}; noise follows the same chances. Somebody whose "
            "beliefs follow another source is not withstood."
        )
    elif adversary.k is not None:
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
    most = f"{decimal_text(adversary.k or Fraction(0))} n/m" if prior is None else short(prior, ROUND_FLOOR)
    after = f"{short(100 * adversary.gamma, ROUND_CEILING)}%"
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
            f"Nor will their belief in it fall below {short(prior / adversary.gamma, ROUND_FLOOR)} of what it was."
        )
    return told


def short(number: Fraction, rounding: str) -> str:
    """A number to four digits, rounded one way."""
    context = Context(prec=4, rounding=rounding)
    return f"{float(context.divide(Decimal(number.numerator), Decimal(number.denominator))):.4g}"
