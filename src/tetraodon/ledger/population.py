"""Populations: people who stay, and the data sets about them, the waves, which have one account together.

A person may be in every wave, and what they hide may show in each. So whatever is lost in any wave is taken from one
total, under one governing policy: losses of waves are added up, as those of releases of one table are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select

from tetraodon.errors import LedgerError
from tetraodon.ledger.account import dataset_name
from tetraodon.ledger.chain import append
from tetraodon.ledger.schema import accounts, holds, waves

_POPULATION = select(waves.c.population).where(waves.c.dataset == bindparam("wave"))
KEY = "population"
"""What a policy calls it by."""


def population_in(document: Mapping[str, Any]) -> str:
    """The population that a policy names; empty if its data set stands alone."""
    named = document.get(KEY) if isinstance(document, Mapping) else None
    return dataset_name(named) if named else ""


def governing_document(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The policy that governs every wave, from the file of one: about the population, whichever wave came first."""
    named = population_in(document)
    return {name: part for name, part in document.items() if name != KEY} | {"dataset": named} if named else document


def standing_for(connection: Connection, name: str) -> str:
    """The account that a name means: a wave stands for its population."""
    if not holds(connection, waves):
        return name
    found = connection.execute(_POPULATION, {"wave": name}).scalar_one_or_none()
    return name if found is None else str(found)


def waves_of(connection: Connection, population: str) -> tuple[str, ...]:
    """The waves of a population, in the order in which they joined."""
    if not holds(connection, waves):
        return ()
    mine = select(waves.c.dataset).where(waves.c.population == population)
    return tuple(str(name) for name in connection.execute(mine.order_by(waves.c.joined_at, waves.c.dataset)).scalars())


def check_wave(connection: Connection, charged: str, document: Mapping[str, Any]) -> str:
    """The wave that a policy is about, empty where it names no population. `charged` is the name to be charged.

    Raises LedgerError where it belongs elsewhere: the data set has an account of its own or is a wave of another
           population, or its release is to be charged to another account. What is lost there is not counted here.
    """
    named = population_in(document)
    if not named:
        if (population := standing_for(connection, charged)) != charged:
            raise LedgerError(
                f"data set {charged!r} is a wave of the population {population!r}, and the policy does not say so",
                fix=f"write `{KEY}: {population}` in it",
            )
        return ""
    wave = dataset_name(document["dataset"])
    if (above := standing_for(connection, named)) != named:
        raise LedgerError(f"{named!r} is itself a wave of {above!r}", fix=f"write `{KEY}: {above}`")
    if named != standing_for(connection, charged):
        raise LedgerError(f"{wave!r} is a wave of {named!r}, and not of {charged!r}", fix=f"charge {named!r}")
    if wave in connection.execute(select(accounts.c.dataset)).scalars().all():
        raise LedgerError(
            f"data set {wave!r} has a total of its own here, so it cannot be a wave of {named!r} as well",
            fix="leave `population` out: what was lost under its own total is not counted in that of the population",
        )
    if standing_for(connection, wave) not in (wave, named):
        raise LedgerError(
            f"data set {wave!r} is a wave of another population than {named!r}",
            fix=f"write `{KEY}: {standing_for(connection, wave)}`, as before",
        )
    return wave


def join(connection: Connection, charged: str, document: Mapping[str, Any], when: str) -> None:
    """Note the wave that a policy is about, if it is one and is not noted yet. Pre: nobody else can write."""
    wave = check_wave(connection, charged, document)
    if wave and standing_for(connection, wave) == wave:
        connection.execute(insert(waves).values(dataset=wave, population=population_in(document), joined_at=when))
        append(connection, "joined", wave)
