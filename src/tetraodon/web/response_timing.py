"""Response timing: request status and remaining budget, updated only at public times.

How long a release takes depends a little on the records. So a request counts as running from its approval to the end of
a slot, which plan and declared size fix before any data is read. The budget shown to analysts falls at the approval, by
the most that the request can cost, and is corrected at the end of the slot. Nothing visible changes when a job begins
or ends.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Final

from sqlalchemy import Connection, Row, or_, select, update

from tetraodon.exact.rational import rational
from tetraodon.ledger.account import Account
from tetraodon.ledger.allotment import Allotment, allotment_of, standing_for
from tetraodon.ledger.amount import amount_from_text
from tetraodon.ledger.charging import account_of
from tetraodon.ledger.entries import newest_of
from tetraodon.releases.plan import Plan
from tetraodon.web.state import OPEN, STOPPED, State, datasets, requests

# -- slots -----------------------------------------------------------------------------------------

SLOTS: Final = (10, 60, 600)
"""Seconds. A late answer waits for the end of the next slot; after the last, for further multiples of it."""
MARGIN = 3
"""How many times longer than expected a release may take before it is late."""
ROWS_A_SECOND, CELLS_A_SECOND, AT_LEAST = 2_000_000, 50_000, 2.0
"""Careful figures for one core: rows that are counted for one measurement, numbers that are estimated and written."""


def slot_of(plan: Plan, rows: int) -> int:
    """The slot of a release, by what it measures and by how many rows its data set is declared to have."""
    measured = [measurement for item in plan for measurement in item.measurements]
    cells = sum(measurement.query.size(plan.policy.domain) for measurement in measured)
    passes = len(measured) + len(plan.names)
    seconds = AT_LEAST + passes * rows / ROWS_A_SECOND + cells / CELLS_A_SECOND
    return next((slot for slot in SLOTS if slot >= MARGIN * seconds), SLOTS[-1])


def public_at(begun: float, slot: int, finished: float) -> tuple[float, int]:
    """When the end of a request becomes public, and how many slots late that is.

    >>> public_at(0.0, 10, 4.0), public_at(0.0, 10, 10.5), public_at(0.0, 60, 601.0)
    ((10.0, 0), (60.0, 1), (1200.0, 2))
    """
    late = 0
    for end in (one for one in SLOTS if one >= slot):
        if finished <= begun + end:
            return begun + end, late
        late += 1
    whole = SLOTS[-1]
    more = max(int(-(-(finished - begun - whole) // whole)), 1)
    return begun + whole * (1 + more), late + more - 1


# -- what analysts see -----------------------------------------------------------------------------

WAITING, REJECTED, APPROVED, RUNNING, DONE, REFUSED, FAILED = (
    "waiting",
    "rejected",
    "approved",
    "running",
    "done",
    "refused",
    "failed",
)
"""The stored states of a request. `public_state` derives the visible one from them and the clock."""
NOTHING = Fraction(0)
MAX_OVERRUNS = 3


def public_state(row: Row[Any], now: float) -> tuple[str, float | None]:
    """The visible state of a request, and when its answer is or was due.

    Why  the start and end of a job depend on other jobs and on the data.
    """
    if row.state in (WAITING, REJECTED):
        return (WAITING if row.state == WAITING else REFUSED), None
    ended = row.finished
    at, _ = public_at(row.decided, row.slot, now if ended is None else ended)
    if ended is None or now < at:
        return RUNNING, at
    return (DONE if row.state == DONE else REFUSED), at


@dataclass(frozen=True, slots=True)
class Standing:
    """An account as analysts may see it.

    Attributes
    ----------
    account:   as it is in the ledger, for its terms.
    upto:      the last public entry: plans are priced with the entries up to it.
    taken:     the most that approved requests within their slots can cost.
    left:      of the total; never more than there is.
    allotment: the viewer's, and `mine`, its remainder; None without an allotment.
    """

    account: Account
    upto: int
    taken: Fraction
    left: Fraction
    allotment: Allotment | None
    mine: Fraction | None


def standing_of(connection: Connection, name: str, owner: str, now: float) -> Standing:
    """The public budget of a data set, for an analyst.

    Post  the same before and after the charge of an approved request within its slot.
    Why   all is counted up to the last entry of the account as it was looked at: on a server each statement sees what
          was committed before it, and a charge may come in between. Where noise is Gaussian a release may add more
          than it costs by itself: then the remainder in the ledger is shown, which is less.
    """
    within_slot, named = _within_slot(connection, now), standing_for(connection, name)
    waiting = [row for row in within_slot if standing_for(connection, row.dataset) == named]
    account = account_of(connection, name)
    hidden = {who: _hidden(connection, account, who, waiting) for who in {row.person for row in waiting}}
    first = min((entry for charged in hidden.values() for entry in charged), default=account.spent.last + 1)
    upto = account_of(connection, name, upto=first - 1).spent.last if any(hidden.values()) else account.spent.last
    taken = sum(map(most_of, waiting), NOTHING)
    unseen = sum((added for charged in hidden.values() for added in charged.values()), NOTHING)
    left = max(min(account.left, account.total - account.charged + unseen - taken), NOTHING)
    found = allotment_of(connection, account, owner)
    mine = None
    if found is not None:
        theirs = sum((most_of(row) for row in waiting if row.person == owner), NOTHING)
        free = found.left(datetime.now(UTC).isoformat(timespec="microseconds"))
        shown = min(free, free + sum(hidden.get(owner, {}).values(), NOTHING) - theirs)
        mine = max(min(shown, left), NOTHING)
    return Standing(account, upto, taken, left, found, mine)


def _within_slot(connection: Connection, now: float) -> list[Row[Any]]:
    """Approved requests whose slot has not ended. No slot is longer than the last one."""
    live = or_(requests.c.state.in_((APPROVED, RUNNING)), requests.c.finished > now - SLOTS[-1])
    return [row for row in connection.execute(select(requests).where(live)) if public_state(row, now)[0] == RUNNING]


def _hidden(connection: Connection, account: Account, owner: str, waiting: Sequence[Row[Any]]) -> dict[int, Fraction]:
    """The charges of an owner's requests within their slots: what each added, by the number of its entry.

    Why   an entry names the folder of its release, which has the id of its request. As many of the newest entries are
          searched as requests were approved since the first of these.
    """
    mine = [row for row in waiting if row.person == owner]
    since = min(row.decided for row in mine)
    later = select(requests.c.id).where(requests.c.person == owner, requests.c.decided >= since)
    many = len(connection.execute(later).all())
    names = {row.id for row in mine}
    found = newest_of(connection, account.dataset, owner, upto=account.spent.last, many=many)
    return {entry: added for entry, folder, added in found if folder in names}


def most_of(row: Row[Any]) -> Fraction:
    """The most that a request can be charged: the epsilon it asked for, or its planned cost."""
    budget = json.loads(row.policy).get("budget", {})
    return max(amount_from_text(row.charge), rational(budget.get("epsilon", 0)))


def record_overruns(state: State) -> None:
    """Record late jobs. The third late one stops its data set until a curator reopens it.

    Why  every view of a data set calls this as well as workers, which would notice only at the end of a job.
    """
    now = state.clock()
    live = (requests.c.state.in_((APPROVED, RUNNING))) & requests.c.decided.is_not(None)
    for row in state.all(requests, live):
        _, late = public_at(row.decided, row.slot, now)
        if late <= row.moved:
            continue
        with state.writing() as connection:
            mine = update(requests).where(requests.c.id == row.id, requests.c.moved == row.moved)
            if connection.execute(mine.values(moved=late)).rowcount == 0:
                continue
            state.note(connection, "server", "overrun", row.dataset, row.id)
            here = datasets.c.name == row.dataset
            connection.execute(update(datasets).where(here).values(overruns=datasets.c.overruns + late - row.moved))
            stop = update(datasets).where(here, datasets.c.overruns >= MAX_OVERRUNS, datasets.c.state == OPEN)
            if connection.execute(stop.values(state=STOPPED)).rowcount:
                state.note(connection, "server", "stopped", row.dataset)
