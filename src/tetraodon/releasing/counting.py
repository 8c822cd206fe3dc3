"""Counting a table for a plan: what an engine is asked for, the exact answers, and whether the table fits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import assert_never

from tetraodon.arrays import Ints
from tetraodon.certificate.choice_loss import choices_of
from tetraodon.certificate.divided_loss import begun_with
from tetraodon.certificate.rank_loss import ranks_of
from tetraodon.domain import Domain
from tetraodon.engine import Counts, CsvFormat, DataRefusal, Engine, Individuals, Source, open_table
from tetraodon.engine.passes import LONGEST_SUM
from tetraodon.policy.attackers import Chain, Contacts, DependentGroups, Independent, TableSecret
from tetraodon.policy.known import Known, known_query
from tetraodon.policy.policy import Policy
from tetraodon.releasing.plan import Plan
from tetraodon.releasing.readable import check_readable, fitness
from tetraodon.wording import listing
from tetraodon.workload.disguised import disguised_of
from tetraodon.workload.each_person import EachPerson
from tetraodon.workload.linear import LinearQuery
from tetraodon.workload.number import Number


def count(
    plan: Plan,
    table: Source,
    governing: Policy | None = None,
    warn: Callable[[str], None] = lambda _: None,
    *,
    owned: bool = False,
) -> Mapping[str, tuple[Ints, ...]]:
    """Exact answers to everything the plan measures, in units; refused where the table is not as the policy says.

    `warn` is told which columns hold values that count as others, for the curator only. With `owned`, the release is
    for somebody who may not see the table: how much of it can be read is not looked at, and what is left to refuse
    depends on the table and its governing policy alone, on nothing that they ask for or write into their file.
    """
    domain, governing = plan.policy.domain, governing or plan.policy
    every = [m.query for item in plan for m in item.measurements]
    queries = [query for query in every if not isinstance(query.contribution, EachPerson)]
    facts = stated_facts(governing)
    groups = sorted({group_of(query) for query in queries} | known_groups(governing, facts))
    with open_policy_table(plan.policy, table, governing) as engine:
        counts = dict(zip(groups, engine.counts(groups, added_by(queries)), strict=True))
        if not owned:  # one record may decide it
            asked = {name for names in (*groups, *(query.names for query in every)) for name in names}
            check_fit(plan.policy, engine, asked & set(domain.names), warn)
        check_groups(governing, engine)
        people = {one: _people(one, engine) for q in every if isinstance(one := q.contribution, EachPerson)}
    check_not_empty(governing, counts.values())
    check_known_data(governing, facts, counts)
    return {
        item.name: tuple(
            people[one]
            if isinstance(one := m.query.contribution, EachPerson)
            else exact_answer(m.query, domain, counts[group_of(m.query)])
            for m in item.measurements
        )
        for item in plan
    }


def _people(asked: EachPerson, engine: Engine) -> Ints:
    """The exact answer to what is asked about people, in units."""
    if asked.attribute is None:
        found = engine.per_person()
    else:
        first, step = asked.line
        found = engine.per_person(asked.attribute.name, first=first, step=step, cap=asked.cap)
    return asked.answer(found.rows, found.people, found.totals)


def check_fit(policy: Policy, engine: Engine, names: Collection[str], warn: Callable[[str], None]) -> None:
    """Refuse a table of which more than the policy allows cannot be read; with `unreadable: 100%` nobody looks."""
    if policy.unreadable == 1 or not names:
        return
    found = fitness(policy, engine.dry_run(names))
    check_readable(policy, found)
    if replaced := [one.attribute.name for one in found if one.amiss or one.report.fractional]:
        warn(
            f"Some values of {listing(replaced)} cannot be read, are rounded to whole numbers, or count as others "
            "although nobody wrote it down. `tetraodon check POLICY TABLE` says how many. This is for the curator only."
        )


def open_policy_table(policy: Policy, table: Source, governing: Policy | None = None) -> Engine:
    """The table as the policy that governs it describes it; without one, as the policy itself does.

    Pre   the two mean the same by a record (`same_data.check_same_data`); `policy` may leave attributes out.
    Post  all columns of the governing policy are there; those that are not asked for are not read.
    Why   its columns say what separates those of a CSV file, and which rows of a person come first where some are cut.
    """
    reading = governing or policy
    csv = CsvFormat(**reading.table_hints) if reading.table_hints else None
    opened = [column.name for column in reading.open]
    return open_table(table, reading.domain, _individuals(policy), csv=csv, open_text=opened)


def _individuals(policy: Policy) -> Individuals:
    """Which rows belong together: those of a person, those that depend on each other, or those of one moment."""
    match policy.attackers:
        case DependentGroups(column, rows):
            return Individuals(column, rows, cut=True)  # every change of a group's rows is priced
        case Chain(along=column):
            return Individuals(column, 1, cut=True)
        case Contacts():
            return Individuals()
        case Independent() | TableSecret():
            if not policy.key or policy.every_row:
                return Individuals()
            return Individuals(policy.key, policy.rows_per_person, cut=policy.cuts_rows)
        case _:
            assert_never(policy.attackers)


# -- what an engine is asked for ----------------------------------------------------------------------


def group_of(query: LinearQuery) -> tuple[str, ...]:
    """The attributes that the engine counts by."""
    return tuple(name for name in query.names if name != _added(query))


def added_by(queries: Iterable[LinearQuery]) -> dict[tuple[str, ...], list[str]]:
    """By group, the attributes that the engine adds up itself, so that sums come back and not counts of values."""
    found: dict[tuple[str, ...], list[str]] = {}
    for query in queries:
        if (name := _added(query)) and name not in found.setdefault(group_of(query), []):
            found[group_of(query)].append(name)
    return found


def exact_answer(query: LinearQuery, domain: Domain, counts: Counts) -> Ints:
    """The answer, in units, from the counts by `group_of(query)`; the cells themselves for what is not linear."""
    if (tables := choices_of(query)) is not None:
        return tables.counted(counts.codes, counts.counts)
    if ranks_of(query) or disguised_of(query):
        return query.occupied(domain, counts.codes, counts.counts)
    if added := _added(query):
        return query.evaluate_sums(domain, counts.codes, counts.counts, counts.sums[added])
    return begun_with(query).evaluate(domain, counts.codes, counts.counts)


def _added(query: LinearQuery) -> str:
    match query.contribution:
        case Number(attribute, None, squared=False) if attribute.size <= LONGEST_SUM and not attribute.separate:
            return attribute.name
        case _:
            return ""


# -- whether the table is what its policy says everybody knows of it -----------------------------------


def stated_facts(governing: Policy) -> dict[Known, str]:
    """The known facts whose answers the governing policy states, each with its place there. A table agrees with all.

    Why  a file may know nothing that this policy does not (`check_same_data`). One that leaves a fact or its attributes
         out is held to it too: what is refused must not depend on the file.
    """
    return {entry: f"entry {number} of `known`" for number, entry in enumerate(governing.known, 1) if entry.told}


def check_groups(governing: Policy, engine: Engine) -> None:
    """Refuse a table with rows that are cut off a group, or that have none, where a count of all rows is known.

    Why  what is known counts them, and a group that they belong to may then have to make up for more than was priced.
    """
    if governing.known and isinstance(governing.attackers, DependentGroups):
        column = engine.dry_run()[-1]
        if column.missing or column.outside:
            raise DataRefusal(
                "some rows would not be counted, of groups that are larger than `at most` or have no name, and a count "
                "of all rows is known",
                fix="write the size of the largest group as `at most`, and leave out rows without a group",
                where="attackers",
            )


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
    stated = policy.attackers.records if isinstance(policy.attackers, TableSecret) else None
    if stated is not None and any(int(found.counts.sum()) != stated for found in counts.values()):
        raise DataRefusal(
            "the table does not have as many rows as `records` of the secret of the whole table says",
            fix="write its number of rows there, which is public; noise was planned for that many",
            where="secrets",
        )
    for entry, place in facts.items():
        query = known_query(entry, policy.domain)
        found = query.evaluate(policy.domain, counts[query.names].codes, counts[query.names].counts)
        if not entry.allows(found.ravel().tolist()):
            raise DataRefusal(
                f"the table does not have the counts that {place} declares",
                fix="correct the answers in the policy, or name the table that they were published from",
                where="known",
            )
