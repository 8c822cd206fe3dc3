"""Counting a table for a plan: what the engine is asked, the exact answers, and whether the table fits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from tetraodon.certificate.certificate import Sensitivity
from tetraodon.certificate.sensitivity import sensitivity
from tetraodon.display import Displayed
from tetraodon.domain import Attribute, Dates, Domain, Grid, Integers
from tetraodon.domain.values import EXAMPLES
from tetraodon.engine import ColumnReport, Counts, CsvFormat, DataRefusal, Engine, Individuals, Source, open_table
from tetraodon.engine.counting import LONGEST_SUM
from tetraodon.engine.open_table import RowQuery, is_query, read_query
from tetraodon.errors import Refused, TableError
from tetraodon.exact.arrays import Ints
from tetraodon.policy.attackers import Chain, Contacts, DependentGroups, Independent, TableSecret
from tetraodon.policy.known import Known, known_query
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.policy.policy import Policy
from tetraodon.query.linear import LinearQuery
from tetraodon.query.number import EachPerson, Number
from tetraodon.query.records_where import records_where
from tetraodon.releases.plan import Plan
from tetraodon.wording import listing, number_of

# -- selection --------------------------------------------------------------------------------------
# Selecting rows of a table: a query's condition becomes `where` of every item.
#
# The policy speaks of the whole table: what is known, how many rows a person has and which of them count is said of
# it before any condition. A release `from 'T' where C` is then one of items about the records with C, priced like any
# other, also beside releases about the whole table or other parts of it.


def selected(policy: Policy, table: Source) -> tuple[Policy, Source]:
    """The policy whose items are about the rows that a query selects, and the table that these are rows of.

    Whatever is no query stays as it is. Raises TableError and Refused for queries that do not fit the policy.
    """
    if not isinstance(table, str) or not is_query(table):
        return policy, table
    query = read_query(table)
    _check_columns(policy, query)
    return (_about(policy, query.condition) if query.condition else policy), query.origin


def whole_table(policy: Policy, table: Source, what: str) -> Source:
    """The table that a query without a condition reads. `what` cannot be about some of the rows."""
    if not isinstance(table, str) or not is_query(table):
        return table
    query = read_query(table)
    _check_columns(policy, query)
    if query.condition:
        raise Refused(
            f"{what} is about all rows of its table, and the query has a condition",
            fix="make a table of these rows, with a data set of its own, and name that",
        )
    return query.origin


def _check_columns(policy: Policy, query: RowQuery) -> None:
    """Refuse a query that leaves out a column the policy needs."""
    match policy.attackers:
        case DependentGroups(column=column) | Chain(along=column):
            wanted = {policy.key, column}
        case _:
            wanted = {policy.key}
    wanted |= {*policy.domain.names, *(column.name for column in policy.open)}
    missing = sorted(wanted - {""} - query.columns) if query.columns is not None else []
    if missing:
        raise TableError(
            f"the query does not select {missing[0]!r}, which the policy declares", fix="select it, or write SELECT *"
        )


def _about(policy: Policy, condition: str) -> Policy:
    """The policy with a condition on every item; as it is where that holds for every record."""
    if records_where(condition, (), policy.domain) is None:
        return policy
    if policy.names:
        raise Refused("names are about all rows of the table", fix="leave the condition out, or the names")
    items = [
        item | {"where": f"({condition}) and ({item['where']})" if "where" in item else condition}
        for item in policy.document["release"]
    ]
    return load_policy({**policy.document, "release": items}, folder=policy.folder)


# -- readable ---------------------------------------------------------------------------------------
# Whether a table can be read as its policy says, before anything is charged: what becomes what, and how much may.
#
# What a value becomes that is missing, unreadable or not listed is part of the policy. Where nobody wrote it down, or
# where a text is no number or day at all, the statistics would be wrong in silence: such values are counted here, and
# too many of them are refused.


@dataclass(frozen=True, slots=True)
class Fitness:
    """How a column fits its attribute. Exact, hence for the curator's eyes only; never published."""

    attribute: Attribute
    report: ColumnReport

    @property
    def amiss(self) -> int:
        """Rows that cannot be read, and those that become a value although nobody wrote down which."""
        found = self.report.unreadable
        if "missing" not in self.attribute.declared:
            found += self.report.missing
        if "other" not in self.attribute.declared and self.attribute.other is not None:
            found += self.report.outside
        return found

    def sentences(self) -> Iterator[str]:
        """What share becomes what."""
        attribute, report = self.attribute, self.report
        absent = "a value of its own" if attribute.separate else attribute.text(attribute.missing)
        for rows, what in ((report.missing, "are missing"), (report.unreadable, "cannot be read")):
            if rows:
                yield f"{attribute.name}: {self._share(rows)} {what} and count as {absent}."
        if report.fractional:
            share = self._share(report.fractional)
            yield f"{attribute.name}: {share} have decimals and count as the nearest whole number."
        if report.outside and attribute.other is None:
            yield f"{attribute.name}: {self._share(report.outside)} are beyond the ends and count as the nearer end."
        elif report.outside:
            assert attribute.other is not None
            other = attribute.text(attribute.other)
            yield f"{attribute.name}: {self._share(report.outside)} are not listed and count as {other}."

    def refusal(self, most: Fraction) -> DataRefusal | None:
        """Why the table is refused where at most such a share of a column may be amiss."""
        if self.amiss <= most * self.report.rows:
            return None
        return DataRefusal(
            "more values than the policy allows cannot be read, or become another value that nobody wrote down",
            fix=self._fix(),
            where=self.attribute.name,
        )

    def _share(self, rows: int) -> str:
        share = 100 * rows / self.report.rows
        return f"{share:.1f}% of the rows" if share >= 0.1 else "less than 0.1% of the rows"

    def _fix(self) -> str:
        attribute, report = self.attribute, self.report
        allow = "or allow more with `table: {unreadable: 5%}`"
        if report.unreadable >= max(1, self.amiss - report.unreadable):
            match attribute.values:
                case Dates():
                    return f"say how days are written, with `format:` {EXAMPLES}; {allow}"
                case Integers() | Grid():
                    return f"say under `table` how numbers are written, or declare it as what it holds; {allow}"
        unlisted = report.outside and "other" not in attribute.declared and attribute.other is not None
        roles = ["`missing:`"] * bool(report.missing and "missing" not in attribute.declared) + ["`other:`"] * bool(
            unlisted
        )
        trim = ", add `trim: true` if blanks stand around words" if unlisted and not attribute.trim else ""
        told = f"write down what they count as, with {listing(roles)}" if roles else "correct the column"
        return f"{told}{trim}; {allow}"


def fitness(policy: Policy, reports: Iterable[ColumnReport]) -> list[Fitness]:
    """How the columns of attributes fit them; the column that tells people apart is left out. For the curator only."""
    return [Fitness(policy.domain[report.name], report) for report in reports if report.name in policy.domain.names]


def check_readable(policy: Policy, found: Sequence[Fitness]) -> None:
    """Refuse a table of which too much would be wrong in silence; nothing has been spent yet.

    Why  the refusal depends on the records, so it is the curator's, as every DataRefusal is; it names columns and no
         figure. With `unreadable: 100%` nothing is refused, and whether a release is made depends on no record.
    """
    refused = [refusal for one in found if (refusal := one.refusal(policy.unreadable))]
    if refused:
        first = refused[0]
        where = listing([refusal.where for refusal in refused])
        raise DataRefusal(first.what, fix=first.fix, where=where)


# -- counting ---------------------------------------------------------------------------------------


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
    if added := _added(query):
        return query.evaluate_sums(domain, counts.codes, counts.counts, counts.sums[added])
    return query.counted(domain, counts.codes, counts.counts)


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


# -- checking ---------------------------------------------------------------------------------------
# Checking a policy before anything is spent: how far one person moves each answer, and how a table fits.

CURATOR_ONLY = "For the curator only: these counts are exact. Do not publish them or pass them on."


@dataclass(frozen=True, slots=True)
class Checked(Displayed):
    """What was found. Whatever is about a table is exact, hence for the curator only; never published.

    `sensitivities` says of every item how far one person can move it; `columns` counts what does not fit.
    """

    policy: Policy
    sensitivities: Mapping[str, Sensitivity]
    columns: tuple[ColumnReport, ...] = ()

    @property
    def fitness(self) -> tuple[Fitness, ...]:
        """How the columns of attributes fit them."""
        return tuple(fitness(self.policy, self.columns))

    @property
    def becomes(self) -> tuple[str, ...]:
        """What share of each column becomes what, in words."""
        return tuple(sentence for one in self.fitness for sentence in one.sentences())

    @property
    def refusals(self) -> tuple[DataRefusal, ...]:
        """Why the table would be refused, column by column; empty if it would not."""
        return tuple(refusal for one in self.fitness if (refusal := one.refusal(self.policy.unreadable)))

    def __repr__(self) -> str:
        return f"<Checked {self.policy.dataset}: {number_of(len(self.sensitivities), 'item')}>"


def check(policy: AnyPolicy, table: Source | None = None) -> Checked:
    """How far one person can move each answer of a policy and, with a table, how many of its values do not fit.

    Nothing is released, and no ledger is asked. What is said of a table is the curator's alone.

    Raises PolicyError for a file that is no policy, and TableError for a table that cannot be opened.
    """
    read, table = selected(load_policy(policy), table)
    found = {item.name: sensitivity(read, item.query, where=item.where) for item in read.items}
    if table is None:
        return Checked(read, found)
    with open_policy_table(read, table) as engine:
        return Checked(read, found, tuple(engine.dry_run()))
