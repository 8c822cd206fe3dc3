"""Whether a table is what its policy says everybody knows of it: known counts, and how long a series is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tetraodon.engine import Counts, DataRefusal
from tetraodon.policy.attackers import Chain
from tetraodon.policy.known import known_query
from tetraodon.policy.policy import Policy


def known_groups(policy: Policy) -> set[tuple[str, ...]]:
    """The attributes that have to be counted together to look."""
    told = [entry for entry in policy.known if entry.answers is not None]
    return {known_query(entry, policy.domain).names for entry in told}


def check_known_data(policy: Policy, counts: Mapping[tuple[str, ...], Counts]) -> None:
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
    for number, entry in enumerate(policy.known, 1):
        if entry.answers is None:
            continue
        query = known_query(entry, policy.domain)
        found = query.evaluate(policy.domain, counts[query.names].codes, counts[query.names].counts)
        if not np.array_equal(found.ravel(), np.array(entry.answers, np.int64)):
            raise DataRefusal(
                f"the table does not have the counts that entry {number} of `known` declares",
                fix="correct the answers in the policy, or name the table that they were published from",
                where="known",
            )
