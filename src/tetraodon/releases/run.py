"""Running a plan: count, charge, add noise, infer; through the gate, where data, budget and noise meet."""

from __future__ import annotations

import datetime as dt
import os
import zipfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from tetraodon.engine import Source
from tetraodon.errors import Refused, ReleaseError
from tetraodon.exact.arrays import Ints
from tetraodon.gate import COMPLETE, OutputFolder, Permit, ReleaseTransaction
from tetraodon.ledger import Ledger, opened, shown_above
from tetraodon.mechanism.strategy import Measured
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.query.linear import ANSWER_LIMIT
from tetraodon.releases.codec import plan_hash
from tetraodon.releases.counting import count, selected
from tetraodon.releases.folder import MANIFEST, fill_folder, load_release
from tetraodon.releases.least_epsilon import require_targets
from tetraodon.releases.names import Told, count_names, draw_names, keep_names, kept_names
from tetraodon.releases.plan import Plan, PlannedItem
from tetraodon.releases.plan import plan as planned
from tetraodon.releases.pricing import governing_certificate, governing_policy, terms
from tetraodon.releases.release import Release, infer

DRAWN = "measured.npz"
"""The noisy numbers, kept between drawing and publishing them."""


def release(
    plan: Plan | AnyPolicy,
    table: Source,
    *,
    ledger: Ledger | str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    resume: bool = False,
    allow_dearer: bool = False,
    owner: str = "",
    progress: Callable[[str], None] = lambda _: None,
    warn: Callable[[str], None] = lambda _: None,
) -> Release:
    """Release a plan's answers for a table, charging the ledger first; with `out`, write the release folder.

    `plan` is what `td.plan` made, or a policy or the path of its file, which is then planned. Where `table` is a query
    with a condition, its items are about the rows for which that holds.

    The order matters. The folder is made and tried, and the table is counted, and refused if it does not fit, before
    anything is spent. The charge is committed before noise is drawn. A crash after that loses nothing: with `resume`, a
    release to `out` that was charged and not finished is finished under the same charge, with the same numbers if they
    were drawn; and what was finished already is read back.

    What the governing policy makes dearer than the plan's own policy asks for is refused, with both figures, unless
    `allow_dearer` says otherwise.

    With an `owner` the release is for somebody who may not see the table: it is charged out of their allotment, before
    the table is looked at, so that no refusal is a free answer. Whatever goes wrong then is `FailedAfterCharge` to
    them; its cause is for the curator, and `resume` finishes it under the same charge.

    `warn` is told which columns hold values that cannot be read, or count as others although nobody wrote it down. That
    depends on the records, so it is for the curator only. More of it than the policy allows is refused.
    """
    policy = plan.policy if isinstance(plan, Plan) else load_policy(plan)
    asked, table = selected(policy, table)
    if not isinstance(plan, Plan):
        plan = planned(asked)
    elif asked is not policy:
        raise Refused(
            "the plan is about all rows of its table, and the query has a condition",
            fix="give the policy in place of the plan, or write the condition as `where` of its items",
        )
    require_targets(plan)
    place = None if out is None else OutputFolder.of(Path(out), MANIFEST)
    dataset = plan.policy.account
    again = {"force": force, "resume": resume, "allow_dearer": allow_dearer}
    with (
        opened(ledger) as book,
        ReleaseTransaction(book, dataset, request=plan_hash(plan), place=place, **again) as way,
    ):
        if way.complete and place is not None:
            progress(COMPLETE)
            return load_release(place.path)
        with way.charged_first() if owner else nullcontext():
            if way.drawn is None:
                measured, names = _measure(plan, table, book, way, owner, progress, warn)
            else:
                measured, names = read_measured(way.drawn, plan), kept_names(way.drawn, plan)
            return _finish(book, plan, measured, names, way, place, progress)


def _measure(
    plan: Plan,
    table: Source,
    ledger: Ledger,
    way: ReleaseTransaction,
    owner: str,
    progress: Callable[[str], None],
    warn: Callable[[str], None],
) -> tuple[Mapping[str, Measured], Mapping[str, Told]]:
    """Count, charge, draw, and keep what was drawn; for an owner, charge first."""
    for item in plan:
        if item.too_long:
            what = f"the answer has more than {ANSWER_LIMIT:,} numbers"
            raise Refused(what, fix=item.item.query.if_too_long, where=item.name)
    account = ledger.account(plan.policy.account)
    certificate = governing_certificate(plan, account)
    asked = terms(plan, certificate, account, ledger)
    way.check_price(asked)
    if owner:
        progress("charging the ledger")
        permit = way.spend(asked, owner=owner)
    progress("counting")
    with way.counting():
        exact = count(plan, table, governing_policy(account), warn, owned=bool(owner))
        named = count_names(plan, table, governing_policy(account))
    if not owner:
        progress("charging the ledger")
        permit = way.spend(asked)
    progress("adding noise")
    measured = {item.name: noisy(item, exact[item.name], permit) for item in plan}
    names = {item.name: draw_names(item, named[item.name], permit) for item in plan.names}

    def keep(folder: Path) -> None:
        write_measured(folder, measured)
        keep_names(folder, names)

    way.keep(keep)
    return measured, names


def _finish(
    book: Ledger,
    plan: Plan,
    measured: Mapping[str, Measured],
    names: Mapping[str, Told],
    way: ReleaseTransaction,
    place: OutputFolder | None,
    progress: Callable[[str], None],
) -> Release:
    """Infer the answers from noisy numbers that are paid for, publish them, and settle."""
    assert way.entry is not None
    day, charged = dt.datetime.now(dt.UTC).date().isoformat(), shown_above(book.taken(way.entry))
    made = infer(plan, measured, day, charged, names, chained=way.chained)
    if place is None:
        way.settle(plan_hash(plan))
    else:
        progress("writing the report")
        way.finish(lambda folder, _: fill_folder(made, folder))
    return made


def noisy(item: PlannedItem, exact: tuple[Ints, ...], permit: Permit) -> Measured:
    """Every measurement with its own fresh noise, as certified."""
    draw = item.strategy.mechanism.draw
    both = zip(item.measurements, exact, strict=True)
    return tuple(draw(one, array, permit) if one.scale else array for one, array in both)


def without_noise(item: PlannedItem, exact: tuple[Ints, ...]) -> Measured:
    """What would be measured if all noise were zero."""
    silent = item.strategy.mechanism.without_noise
    both = zip(item.measurements, exact, strict=True)
    return tuple(silent(one, array) if one.scale else array for one, array in both)


def write_measured(folder: Path, measured: Mapping[str, Measured]) -> None:
    """Keep noisy numbers as a file."""
    arrays = {f"{name}/{place}": array for name, parts in measured.items() for place, array in enumerate(parts)}
    with (folder / DRAWN).open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def read_measured(folder: Path, plan: Plan) -> Mapping[str, Measured]:
    """Read them back; refused if they are not those of the plan."""
    try:
        with np.load(folder / DRAWN, allow_pickle=False) as arrays:
            found = {i.name: tuple(arrays[f"{i.name}/{place}"] for place in range(len(i.measurements))) for i in plan}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        found = {}
    for item in plan:
        shapes = [measurement.query.shape(plan.policy.domain) for measurement in item.measurements]
        if [array.shape for array in found.get(item.name, ())] != shapes:
            raise ReleaseError(
                "the numbers that were drawn cannot be read",
                fix="restore them from a backup, or remove what is left and release again, which is charged again",
                where=str(folder),
            )
    return found
