"""Running a plan: count, charge, add noise, infer; through the gate, where data, budget and noise meet."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import assert_never

from tetraodon.arrays import Ints
from tetraodon.engine import CsvFormat, Engine, Individuals, Source, open_table
from tetraodon.gate import COMPLETE, Passage, Permit, Place
from tetraodon.ledger import Ledger, document_hash, shown_above
from tetraodon.mechanism.strategy import Measured
from tetraodon.policy.attackers import Chain, DependentGroups, Independent
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.policy.policy import Policy
from tetraodon.releasing.charge import governing_certificate
from tetraodon.releasing.documents import plan_document
from tetraodon.releasing.exact_answer import added_by, exact_answer, group_of
from tetraodon.releasing.folder import MANIFEST, fill_folder, load_release
from tetraodon.releasing.known_data import check_known_data, check_not_empty, known_groups, told_facts
from tetraodon.releasing.measured import read_measured, write_measured
from tetraodon.releasing.plan import Plan
from tetraodon.releasing.plan import plan as planned
from tetraodon.releasing.quote import terms
from tetraodon.releasing.release import Release
from tetraodon.whole_sums import with_noise

DEFAULT_LEDGER = "sqlite:///tetraodon.db"


def release(
    plan: Plan | AnyPolicy,
    table: Source,
    *,
    ledger: Ledger | str | os.PathLike[str] = DEFAULT_LEDGER,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    resume: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Release:
    """Release a plan's answers for a table, charging the ledger first; with `out`, write the release folder.

    `plan` is what `td.plan` made, or a policy or the path of its file, which is then planned.

    The order matters. The folder is made and tried, and the table is counted, and refused if it does not fit, before
    anything is spent. The charge is committed before noise is drawn. A crash after that loses nothing: with `resume`, a
    release to `out` that was charged and not finished is finished under the same charge, with the same numbers if they
    were drawn; and what was finished already is read back.
    """
    if not isinstance(plan, Plan):
        plan = planned(load_policy(plan))
    if not isinstance(ledger, Ledger):
        with Ledger(ledger) as book:
            return release(plan, table, ledger=book, out=out, force=force, resume=resume, progress=progress)
    place = None if out is None else Place.of(Path(out), MANIFEST)
    request, dataset = document_hash(plan_document(plan)), plan.policy.dataset
    with Passage(ledger, dataset, request=request, place=place, force=force, resume=resume) as way:
        if way.complete and place is not None:
            progress(COMPLETE)
            return load_release(place.path)
        if way.drawn is None:
            measured = _measure(plan, table, ledger, way, progress)
        else:
            measured = read_measured(way.drawn, plan)
        return _finish(plan, measured, way, place, progress)


def _measure(
    plan: Plan, table: Source, ledger: Ledger, way: Passage, progress: Callable[[str], None]
) -> Mapping[str, Measured]:
    """Count, charge, draw, and keep what was drawn."""
    account = ledger.account(plan.policy.dataset)
    certificate = governing_certificate(plan, account)
    progress("counting")
    with way.counting():
        exact = _count(plan, table, load_policy(account.policy))
    progress("charging the ledger")
    permit = way.spend(terms(plan, certificate, account, lambda: ledger.entries(account.dataset)))
    progress("adding noise")
    measured = {item.name: _noisy(plan, item.name, exact[item.name], permit) for item in plan}
    way.keep(lambda folder: write_measured(folder, measured))
    return measured


def _finish(
    plan: Plan, measured: Mapping[str, Measured], way: Passage, place: Place | None, progress: Callable[[str], None]
) -> Release:
    """Publish noisy numbers that are paid for, and settle."""
    assert way.entry is not None
    made = Release(plan, measured, dt.datetime.now(dt.UTC).date().isoformat(), shown_above(way.entry.charged))
    if place is None:
        way.settle(document_hash(plan_document(plan)))
    else:
        progress("writing the report")
        way.finish(lambda folder, _: fill_folder(made, folder))
    return made


def open_policy_table(policy: Policy, table: Source, governing: Policy | None = None) -> Engine:
    """The table as the policy that governs it describes it; without one, as the policy itself does.

    Pre   the two mean the same by a record (`charge.check_same_data`); `policy` may leave attributes out.
    Post  all columns of the governing policy are there; those that are not asked for are not read.
    Why   its columns say what separates those of a CSV file, and which rows of a person come first where some are cut.
    """
    reading = governing or policy
    csv = CsvFormat(**reading.table_hints) if reading.table_hints else None
    return open_table(table, reading.domain, _individuals(policy), csv=csv)


def _individuals(policy: Policy) -> Individuals:
    """Which rows belong together: those of a person, those that depend on each other, or those of one moment."""
    match policy.attackers:
        case DependentGroups(column, rows):
            return Individuals(column, rows, cut=True)  # every change of a group's rows is priced
        case Chain(along=column):
            return Individuals(column, 1, cut=True)
        case Independent():
            if not policy.key:
                return Individuals()
            return Individuals(policy.key, policy.rows_per_person, cut=policy.cuts_rows)
        case _:
            assert_never(policy.attackers)


def _count(plan: Plan, table: Source, governing: Policy | None = None) -> Mapping[str, tuple[Ints, ...]]:
    """Exact answers to everything the plan measures, in units, from one look at the table."""
    domain = plan.policy.domain
    queries = [m.query for item in plan for m in item.measurements]
    facts = told_facts(plan.policy, governing or plan.policy)
    groups = sorted({group_of(query) for query in queries} | known_groups(plan.policy, facts))
    with open_policy_table(plan.policy, table, governing) as engine:
        counts = dict(zip(groups, engine.counts(groups, added_by(queries)), strict=True))
    check_not_empty(governing or plan.policy, counts.values())
    check_known_data(plan.policy, facts, counts)
    return {
        item.name: tuple(exact_answer(m.query, domain, counts[group_of(m.query)]) for m in item.measurements)
        for item in plan
    }


def _noisy(plan: Plan, name: str, exact: tuple[Ints, ...], permit: Permit) -> Measured:
    """Every measurement with its own fresh noise, as certified."""
    item = plan[name]
    measured = []
    for measurement, array in zip(item.measurements, exact, strict=True):
        if measurement.scale == 0:
            measured.append(array)
            continue
        measured.append(with_noise(array, permit.noise(measurement.noise, measurement.scale, array.shape)))
    return tuple(measured)
