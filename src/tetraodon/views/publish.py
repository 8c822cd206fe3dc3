"""Publishing: count, charge, draw, write; through the gate, like a release."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tetraodon.domain import Domain
from tetraodon.engine import ColumnReport, Counts, DataRefusal, Source
from tetraodon.errors import Refused, ReleaseError
from tetraodon.gate import COMPLETE, OutputFolder, Permit, ReleaseTransaction, Terms
from tetraodon.ledger import Entry, Ledger, document_hash, opened, shown_above
from tetraodon.policy.adversary import Adversary
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.policy.policy import Policy, SideTable, side_tables
from tetraodon.releases.counting import (
    check_known_data,
    check_not_empty,
    known_groups,
    open_policy_table,
    stated_facts,
    whole_table,
)
from tetraodon.releases.pricing import Quote, check_same_data, check_same_size, checked, governing_policy
from tetraodon.views import MANIFEST
from tetraodon.views.channel import SourceChannel
from tetraodon.views.folder import fill_folder, stated_plan
from tetraodon.views.plan import ViewPlan, plan_view
from tetraodon.views.sampling import view_cells
from tetraodon.views.series import fresh_cells, seen_cells
from tetraodon.views.series_state import Turn, begin, finish, next_number, next_turn, view_folder
from tetraodon.views.side_tables import check_side_tables, refuse_the_table, shared_names
from tetraodon.views.source_noise import draw_view
from tetraodon.views.tuple_files import cells_of, write_later, write_view
from tetraodon.views.view import View, load_view


def publish(
    policy: AnyPolicy,
    table: Source,
    *,
    adversary: Adversary | None = None,
    ledger: Ledger | str | os.PathLike[str],
    out: str | os.PathLike[str] = "view",
    force: bool = False,
    resume: bool = False,
    allow_dearer: bool = False,
    accept_exposure: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> View:
    """Publish a view of a table that withstands the adversary of its policy, charging the ledger first.

    The table is counted, and refused if its domain does not cover it, before anything is spent. The view's exact loss
    under the governing policy is committed before a tuple is drawn. With an adversary of several `views`, `out` is the
    folder of the series: each call publishes the next one into it, and none beyond the planned number. With `resume`, a
    view that was charged and not finished is finished, with the same tuples if they were drawn. What the governing
    policy makes dearer than the view is under its own is refused unless `allow_dearer` says otherwise.

    A view that is drawn is attacked with what it tells by itself (`views/exposure.py`). If that exposes too many,
    Refused is raised, and the view waits: `accept_exposure` with `resume` publishes it under the same charge.
    """
    policy = load_policy(policy)
    table = whole_table(policy, table, "a view")
    side = side_tables(policy)
    refuse_the_table(side, table)
    chosen = adversary or policy.adversary
    if chosen is not None and not (policy.size_is_public and chosen.k is not None and chosen.records is None):
        plan_view(policy, chosen)  # whatever can be refused without the data is refused without it
    with opened(ledger) as book:
        governing = governing_policy(book.account(policy.account))
        check_same_data(policy, governing)
        check_same_size(policy, governing)
        several = chosen is not None and chosen.views > 1
        series, number = (Path(out), next_number(Path(out), resume=resume)) if several else (None, 1)
        folder = Path(out) if series is None else view_folder(series, number)
        place = OutputFolder.of(folder, MANIFEST)
        request = document_hash({"policy": policy.document, "adversary": chosen.document() if chosen else None})
        again = force and not several
        with ReleaseTransaction(
            book, policy.account, request=request, place=place, force=again, resume=resume, allow_dearer=allow_dearer
        ) as way:
            if way.complete:
                progress(COMPLETE)
            else:
                plan = None if way.entry is None else charged_plan(way.entry)
                if plan is None or way.drawn is None:
                    plan = _draw(way, policy, chosen, table, governing, plan, side, (series, number), progress)
                _finish(way, plan, side, number, accept_exposure, progress)
    if series is not None:
        finish(series, number)
    return load_view(folder)


def _draw(
    way: ReleaseTransaction,
    policy: Policy,
    chosen: Adversary | None,
    table: Source,
    governing: Policy,
    charged: ViewPlan | None,
    side: dict[str, SideTable],
    where: tuple[Path | None, int],
    progress: Callable[[str], None],
) -> ViewPlan:
    """Count, charge, draw, and keep what was drawn. A plan that is `charged` already is kept to."""
    progress("counting")
    with way.counting():
        counts = _counts(policy, table, governing, side)
        n = counts.total if policy.size_is_public else None
        plan = charged or plan_view(policy, chosen, records=n)
        _check_distinct(plan, counts)
        _check_records(plan, counts)
    series, number = where
    turn = None if series is None else next_turn(series, number, plan)
    if turn is not None and turn.series != plan.series:
        plan = replace(plan, series=turn.series, channel=turn.series.fresh)  # n may have changed; the terms may not
    progress("charging the ledger")
    permit = way.spend(_terms(plan, governing))
    if turn is not None:
        begin(turn, plan)
    progress("adding noise")
    way.keep(lambda folder: _write(folder, plan, counts, turn, permit))
    return plan


def _write(folder: Path, plan: ViewPlan, counts: Counts, turn: Turn | None, permit: Permit) -> None:
    """Draw the view into its files."""
    domain, coins = plan.policy.domain, permit.coins
    cells = cells_of(domain, counts.codes)
    if isinstance(plan.channel, SourceChannel):
        write_view(folder, domain, [draw_view(plan.channel, domain, cells, coins)])
        return
    if turn is None or turn.number == 1:
        write_view(folder, domain, view_cells(plan.channel, plan.tuples, cells, counts.counts, coins=coins))
        return
    fresh = fresh_cells(turn.series, plan.tuples, cells, counts.counts, turn.seen, coins=coins)
    rows = seen_cells(turn.series, cells, counts.counts, turn.seen, coins=coins)
    write_later(folder, domain, fresh, rows, turn.seen)


def _finish(
    way: ReleaseTransaction,
    plan: ViewPlan,
    side: dict[str, SideTable],
    number: int,
    accept: bool,
    progress: Callable[[str], None],
) -> None:
    """Publish what was drawn and is paid for, and settle."""
    progress("writing the report")
    when = dt.datetime.now(dt.UTC).date().isoformat()

    def fill(folder: Path, entry: Entry) -> str:
        assert way.drawn is not None
        return fill_folder(
            folder,
            plan,
            way.drawn,
            side=side,
            charged=shown_above(entry.charged),
            when=when,
            chained=way.chained,
            number=number,
            accept_exposure=accept,
        )

    way.finish(fill)


def charged_plan(entry: Entry) -> ViewPlan:
    """The plan of a view that was charged and not finished, as the ledger has it."""
    try:
        view = entry.document["plan"]["view"]
        return stated_plan({"policy": entry.document["policy"], "channel": view["channel"], "plan": view})
    except (KeyError, TypeError):
        raise ReleaseError(
            "the interrupted release was no view", fix="choose another folder", where=entry.dataset
        ) from None


def quote_view(plan: ViewPlan, ledger: Ledger) -> Quote:
    """What a view of this plan would be charged now, and whether it would be refused. Nothing is charged."""
    account = ledger.account(plan.policy.account)
    governing = governing_policy(account)
    try:
        check_same_data(plan.policy, governing)
        check_same_size(plan.policy, governing)
        asked = _terms(plan, governing)
    except Refused as refusal:
        return Quote(account, None, refusal)
    return checked(account, ledger, asked)


def _terms(plan: ViewPlan, governing: Policy) -> Terms:
    """What is charged for a view."""
    document = {**plan.policy.document, "adversary": plan.adversary.document()}
    return Terms(plan.certificate(governing), plan.loss, document, {"view": plan.document()})


def _counts(policy: Policy, table: Source, governing: Policy, side: dict[str, SideTable]) -> Counts:
    """How many records each tuple has. Refuses a table with values outside the declared ones, or other known counts."""
    facts = stated_facts(governing)
    with open_policy_table(policy, table, governing) as engine:
        _check_covered(policy.domain, engine.dry_run())
        shared = {shared_names(policy.domain, one) for one in side.values()} - {()}
        groups = [policy.domain.names, *sorted((known_groups(governing, facts) | shared) - {policy.domain.names})]
        counted = dict(zip(groups, engine.counts(groups), strict=True))
    check_not_empty(governing, counted.values())
    check_known_data(governing, facts, counted)
    check_side_tables(policy.domain, side, counted)
    return counted[policy.domain.names]


def _check_covered(domain: Domain, reports: Sequence[ColumnReport]) -> None:
    """Refuse columns with values for which nothing that is declared stands, all of them at once."""
    wrong = []
    for report in reports:
        if report.name not in domain.names:
            continue
        declared = domain[report.name].declared
        if (report.missing or report.unreadable) and "missing" not in declared:
            wrong.append(f"{report.name} (missing or unreadable)")
        if report.outside and "other" not in declared:
            wrong.append(f"{report.name} (outside)")
    if wrong:
        raise DataRefusal(
            "the declared values do not cover the data, and a view would show what nobody has: " + ", ".join(wrong),
            fix="declare every value, or what stands for the rest, with `missing:` and `other:`",
            where="attributes",
        )


def _check_distinct(plan: ViewPlan, counts: Counts) -> None:
    if plan.adversary.rows == "distinct" and int(np.max(counts.counts, initial=0)) > 1:
        raise DataRefusal(
            "the table repeats rows, and the policy says that it does not",
            fix="write `rows: repeated` under `adversary`",
        )


def _check_records(plan: ViewPlan, counts: Counts) -> None:
    """Refuse a wrong number of records where it is public: estimates and intervals rest on it."""
    if plan.policy.size_is_public and plan.records != counts.total:
        raise DataRefusal(
            "the table does not have the number of records that the policy states",
            fix="correct `records` under `adversary`, or leave it out: it is public, and will be counted",
        )
