"""Whether two policies mean the same data: what a record is, how it is read, who may attack."""

from __future__ import annotations

from dataclasses import replace

from tetraodon.errors import Refused
from tetraodon.policy.attackers import TableSecret
from tetraodon.policy.policy import Policy


def check_same_data(asked: Policy, governing: Policy) -> None:
    """Refuse policies under which a record is not the same thing.

    Why  the table is read as the governing policy says, and priced as it says; a file that says otherwise would be told
         of other records than it asked for. What it leaves out is looked at all the same where it decides what counts.
    """
    for attribute in asked.domain:
        if attribute.name not in governing.domain.names:
            raise Refused(
                f"the governing policy does not know the attribute {attribute.name}",
                fix="declare the attributes that the governing policy declares",
                where=asked.dataset,
            )
        theirs = governing.domain[attribute.name]
        if replace(attribute, unit="", singular="") != replace(theirs, unit="", singular=""):
            raise Refused(
                f"{attribute.name} is declared otherwise in the governing policy",
                fix="declare it as the governing policy does",
                where=asked.dataset,
            )
    open_there = {column.name: replace(column, secret=True) for column in governing.open}
    for column in asked.open:
        if open_there.get(column.name) != replace(column, secret=True):
            raise Refused(
                f"{column.name} is not declared as open text in the same way in the governing policy",
                fix="declare it as the governing policy does",
                where=asked.dataset,
            )
    if any(fact not in governing.known for fact in asked.known):
        raise Refused(
            "`known` lists something that the governing policy does not know",
            fix="list the same facts; what one file calls known is known to every attacker",
            where=asked.dataset,
        )
    if any(getattr(asked, name) != getattr(governing, name) for name in ("key", "rows_per_person", "every_row")):
        raise Refused(
            "`individuals` is not what the governing policy says", fix="write it as there", where=asked.dataset
        )
    if (
        asked.key and not asked.every_row and asked.cuts_rows and not governing.cuts_rows
    ):  # leaving people out is safe under both
        raise Refused(
            "of people with more rows than allowed this policy counts some, and the governing policy none, because any "
            "two records are a secret here and not there",
            fix="write `secrets` and `together` as there",
            where=asked.dataset,
        )
    if asked.table_hints != governing.table_hints:
        raise Refused(
            "`table` is not what the governing policy says, so that the same file would be read as other records",
            fix="write it as there; `tetraodon ledger show` prints it",
            where=asked.dataset,
        )
    if asked.attackers != governing.attackers and TableSecret in map(type, (asked.attackers, governing.attackers)):
        raise Refused(
            "the secret of the whole table is not that of the governing policy",
            fix="write `secrets: {table: ...}` as there, or leave it out as there",
            where=asked.dataset,
        )
    if asked.attackers != governing.attackers:
        raise Refused(
            "`attackers` are not those of the governing policy, which decide what is counted",
            fix="write them as there",
            where=asked.dataset,
        )


def check_same_size(asked: Policy, governing: Policy) -> None:
    """Refuse a view whose noise and manifest would tell a number of records that the governing policy keeps secret."""
    if asked.size_is_public and not governing.size_is_public:
        raise Refused(
            "the number of records is public here and a secret in the governing policy",
            fix="write `presence` as there",
            where=asked.dataset,
        )
