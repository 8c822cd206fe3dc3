"""Whether a table is what its policy says everybody knows of it: known counts, and how long a series is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tetraodon.engine import Counts, DataRefusal
from tetraodon.policy.attackers import Chain
from tetraodon.policy.known import Known, known_query
from tetraodon.policy.policy import Policy


def told_facts(policy: Policy, governing: Policy) -> dict[Known, str]:
    """The known facts with answers that a table must agree with, each with the place where it is declared.

    Those of the governing policy count too if the file at hand leaves them out, as far as it declares their attributes.
    """
    found: dict[Known, str] = {}
    for whose, place in ((policy, ""), (governing, " in the policy that governs the data")):
        for number, entry in enumerate(whose.known, 1):
            if entry.answers is not None and set(known_query(entry, whose.domain).names) <= set(policy.domain.names):
                found.setdefault(entry, f"entry {number} of `known`{place}")
    return found


def check_not_empty(governing: Policy, counts: Iterable[Counts]) -> None:
    """Refuse an empty table where the number of records is public.

    Why  where it is a secret, so is whether anybody is in the table, or has few enough rows to count.
    """
    if governing.size_is_public and any(counted.total == 0 for counted in counts):
        raise DataRefusal("the table has no rows", fix="check that this is the right table")


def known_groups(policy: Policy, facts: Iterable[Known]) -> set[tuple[str, ...]]:
    """The attributes that have to be counted together to look."""
    return {known_query(entry, policy.domain).names for entry in facts}


def check_known_data(policy: Policy, facts: Mapping[Known, str], counts: Mapping[tuple[str, ...], Counts]) -> None:
    """Refuse a table that contradicts what is declared to be known; nothing has been spent yet.

    Why  the price holds only if attackers know what the data really say. The answers are public, so refusing tells
         nobody anything but that the policy and the table do not belong together. So is the number of rows of a
         chain, whose presence is public.
    """
    if isinstance(policy.attackers, Chain) and policy.attackers.length:
        rows = max((int(found.counts.sum()) for found in counts.values()), default=0)
        if rows > policy.attackers.length:
            raise DataRefusal(
                "the table has more rows than the `length` of the chain says, and noise was planned for that many",
                fix="write the number of rows as `length`, or leave it out",
                where="attackers",
            )
    for entry, place in facts.items():
        query = known_query(entry, policy.domain)
        found = query.evaluate(policy.domain, counts[query.names].codes, counts[query.names].counts)
        if found.ravel().tolist() != list(entry.answers or ()):
            raise DataRefusal(
                f"the table does not have the counts that {place} declares",
                fix="correct the answers in the policy, or name the table that they were published from",
                where="known",
            )
