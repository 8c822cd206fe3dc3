"""Publishing: count, charge, draw, write. The order is that of a release, and so is what a crash can lose: budget."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tetraodon.certificate.certificate import Certificate
from tetraodon.engine import Counts, DataRefusal, Source
from tetraodon.errors import Refused
from tetraodon.ledger import Ledger, shown_above
from tetraodon.policy.adversary import Adversary
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.policy.policy import Policy
from tetraodon.publishing.columns import cells_of
from tetraodon.publishing.folder import Later, fill_folder, side_tables
from tetraodon.publishing.later import fresh_cells, seen_cells
from tetraodon.publishing.plan import ViewPlan, plan_view
from tetraodon.publishing.sampling import view_cells
from tetraodon.publishing.series_state import Turn, begin, finish, next_turn
from tetraodon.publishing.view import MANIFEST, View, load_view
from tetraodon.releasing.charge import check_same_data, check_same_size
from tetraodon.releasing.folder import check_target, written_folder
from tetraodon.releasing.known_data import check_known_data, known_groups, told_facts
from tetraodon.releasing.quote import Quote, checked
from tetraodon.releasing.run import DEFAULT_LEDGER, open_policy_table


def publish(
    policy: AnyPolicy,
    table: Source,
    *,
    adversary: Adversary | None = None,
    ledger: Ledger | str | os.PathLike[str] = DEFAULT_LEDGER,
    out: str | os.PathLike[str] = "view",
    force: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> View:
    """Publish a view of a table that withstands the adversary of its policy, charging the ledger first.

    The table is counted, and refused if its domain does not cover it, before anything is spent. The view's exact loss
    under the governing policy is committed before a tuple is drawn. With an adversary of several `views`, `out` is the
    folder of the series: each call publishes the next one into it, and none beyond the planned number.
    """
    policy = load_policy(policy)
    if not isinstance(ledger, Ledger):
        with Ledger(ledger) as book:
            return publish(policy, table, adversary=adversary, ledger=book, out=out, force=force, progress=progress)
    side = side_tables(policy)
    chosen = adversary or policy.adversary
    several = chosen is not None and chosen.views > 1
    if not several:
        check_target(Path(out), force=force, manifest=MANIFEST)
    if chosen is not None and not (policy.size_is_public and chosen.k is not None and chosen.records is None):
        plan_view(policy, chosen)  # whatever can be refused without the data is refused without it
    governing = load_policy(ledger.account(policy.dataset).policy)
    check_same_data(policy, governing)
    check_same_size(policy, governing)
    progress("counting")
    try:
        counts = _counts(policy, table, governing)
        plan = plan_view(policy, chosen, records=counts.total if policy.size_is_public else None)
        _check_distinct(plan, counts)
        _check_records(plan, counts)
    except DataRefusal:
        ledger.record_refusal(policy.dataset, "table-refused")
        raise
    turn = next_turn(Path(out), plan) if several else None
    if turn is not None and turn.series != plan.series:
        plan = replace(plan, series=turn.series, channel=turn.series.fresh)  # n may have changed; the terms may not
    progress("charging the ledger")
    told = _terms(plan, plan.certificate(governing))
    reservation = ledger.reserve(policy.dataset, **told)
    progress("adding noise")
    target = Path(out) if turn is None else turn.target
    if turn is not None:
        begin(turn, plan)
    with written_folder(target, force=force and turn is None, manifest=MANIFEST) as draft:
        digest = _draw(draft, plan, counts, turn, side, shown_above(reservation.charged))
        progress("writing the report")
    if turn is not None:
        finish(turn)
    ledger.settle(reservation, manifest_hash=digest)
    return load_view(target)


def _draw(draft: Path, plan: ViewPlan, counts: Counts, turn: Turn | None, side: dict[str, Path], charged: str) -> str:
    """Draw the view and fill its folder; the hash of view.json."""
    cells = cells_of(plan.policy.domain, counts.codes)
    when = dt.datetime.now(dt.UTC).date().isoformat()
    if turn is None or turn.number == 1:
        parts = view_cells(plan.channel, plan.tuples, cells, counts.counts)
        return fill_folder(draft, plan, parts, side=side, charged=charged, when=when)
    fresh = fresh_cells(turn.series, plan.tuples, cells, counts.counts, turn.seen)
    rows = seen_cells(turn.series, cells, counts.counts, turn.seen)
    later = Later(turn.number, turn.series, rows, turn.seen)
    return fill_folder(draft, plan, fresh, side=side, charged=charged, when=when, later=later)


def quote_view(plan: ViewPlan, ledger: Ledger) -> Quote:
    """What a view of this plan would be charged now, and whether it would be refused. Nothing is charged."""
    account = ledger.account(plan.policy.dataset)
    governing = load_policy(account.policy)
    try:
        check_same_data(plan.policy, governing)
        check_same_size(plan.policy, governing)
        certificate = plan.certificate(governing)
    except Refused as refusal:
        return Quote(account, None, refusal)
    return checked(account, ledger, _terms(plan, certificate))


def _terms(plan: ViewPlan, certificate: Certificate) -> dict[str, Any]:
    """What the ledger is told of a view, and keeps of it."""
    item = {
        "policy": {**plan.policy.document, "adversary": plan.adversary.document()},
        "plan": {"view": plan.document()},
        "certificate": certificate,
    }
    return {"asked": plan.loss, "charged": Fraction(certificate.epsilon), "item": item}


def _counts(policy: Policy, table: Source, governing: Policy) -> Counts:
    """How many records each tuple has. Refuses a table with values outside the declared ones, or other known counts."""
    facts = told_facts(policy, governing)
    with open_policy_table(policy, table, governing) as engine:
        for report in engine.dry_run():
            if report.name in policy.domain.names and report.outside:
                raise DataRefusal(
                    "the declared values do not cover the data, and a view would show what nobody has",
                    fix="declare every value, or bring the column into its range first",
                    where=report.name,
                )
        groups = [policy.domain.names, *sorted(known_groups(policy, facts) - {policy.domain.names})]
        counted = dict(zip(groups, engine.counts(groups), strict=True))
    check_known_data(policy, facts, counted)
    return counted[policy.domain.names]


def _check_distinct(plan: ViewPlan, counts: Counts) -> None:
    if plan.adversary.rows == "distinct" and int(np.max(counts.counts)) > 1:
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
