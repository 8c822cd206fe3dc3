"""What a series of views keeps between one and the next: a folder with the terms, and a view in it for each number.

series/series.json   the terms of all views, and how many were begun
series/view-1/ ...   the views; what they show is all that the next one needs to know
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tetraodon.domain import Domain
from tetraodon.engine import open_table
from tetraodon.errors import Refused, ReleaseError
from tetraodon.gate.output_folder import OutputFolder, write_whole
from tetraodon.ledger import document_hash
from tetraodon.untrusted_files import plain_file, read_json
from tetraodon.views import MANIFEST
from tetraodon.views.channel import channel_document, channel_from
from tetraodon.views.plan import ViewPlan
from tetraodon.views.sampling import Cells
from tetraodon.views.series import Series
from tetraodon.views.tuple_files import cells_of

STATE = "series.json"


@dataclass(frozen=True, slots=True)
class Turn:
    """The next view of a series: its number, the terms, and every cell that earlier views have shown."""

    folder: Path
    number: int
    series: Series
    seen: Cells

    @property
    def target(self) -> Path:
        """Where the view goes."""
        return view_folder(self.folder, self.number)


def view_folder(folder: Path, number: int) -> Path:
    """Where a view of a series is."""
    return folder / f"view-{number}"


def next_number(folder: Path, *, resume: bool) -> int:
    """The number of the view whose turn it is: one that waits to be finished, else the next.

    Why  to `resume` means not to begin another. So with nothing to be finished, it is the last one that is there.
    """
    if not (folder / STATE).exists():
        return 1
    try:
        begun = int(_read(folder)["begun"])
    except (KeyError, TypeError, ValueError):
        raise ReleaseError(f"{STATE} does not fit together", fix="restore it", where=str(folder)) from None
    last = OutputFolder.of(view_folder(folder, begun), MANIFEST)
    waits = os.path.lexists(last.pending) or (resume and (last.path / MANIFEST).is_file())
    return begun if waits else begun + 1


def next_turn(folder: Path, number: int, plan: ViewPlan) -> Turn:
    """The turn of a plan's next view. Refuses other terms than those of the first, and more views than planned.

    Why  a view that was begun and not finished counts, although nothing of it was published: the number is what was
         promised. A view that is there counts as shown, whether it was noted or not.
    """
    assert plan.series is not None
    if not (folder / STATE).exists():
        if folder.exists() and any(not path.name.endswith(".pending") for path in folder.iterdir()):
            raise ReleaseError(
                "the output folder is not a series of views", fix="choose another folder", where=str(folder)
            )
        return Turn(folder, 1, plan.series, np.zeros(0, np.uint64))
    state = _read(folder)
    try:
        if state["terms"] != _terms(plan):
            raise Refused(
                "the domain or the adversary is not that of the earlier views of this series",
                fix="publish with the policy of the first view; another policy needs a series of its own",
                where=str(folder),
            )
        series = Series(channel_from(state["fresh"]), channel_from(state["seen"]), int(state["views"]))
        done = [int(found) for found in state["published"]]
    except (KeyError, TypeError, ValueError):
        raise ReleaseError(f"{STATE} does not fit together", fix="restore it", where=str(folder)) from None
    if number > series.views:
        raise Refused(
            f"all {series.views} planned views have been published: one more would break their promise",
            fix="keep to the views there are; a new plan needs a data set of its own",
            where=str(folder),
        )
    if not series.withstands(plan.adversary, plan.prior):
        raise Refused(
            "the number of records has grown, and with it the prior that the series was planned for",
            fix="state the adversary by d, or keep the number of records that the series began with",
            where=str(folder),
        )
    missing = [found for found in done if not (folder / f"view-{found}" / MANIFEST).is_file()]
    if missing:
        raise ReleaseError(
            f"view {missing[0]} of the series is missing, and the next must know what it showed",
            fix="put it back",
            where=str(folder),
        )
    return Turn(folder, number, series, shown_cells(folder, plan.policy.domain, but=number))


def begin(turn: Turn, plan: ViewPlan) -> None:
    """Note that a view is about to be drawn, before it is."""
    turn.folder.mkdir(parents=True, exist_ok=True)
    old = _read(turn.folder)["published"] if (turn.folder / STATE).exists() else []
    _write(
        turn.folder,
        {
            "tetraodon_series": 1,
            "terms": _terms(plan),
            "fresh": channel_document(turn.series.fresh),
            "seen": channel_document(turn.series.seen),
            "views": turn.series.views,
            "begun": turn.number,
            "published": old,
        },
    )


def finish(folder: Path, number: int) -> None:
    """Note that a view is there."""
    state = _read(folder)
    if number not in state["published"]:
        _write(folder, {**state, "published": [*state["published"], number]})


def shown_cells(folder: Path, domain: Domain, *, but: int = 0) -> Cells:
    """Every cell that a view of the series shows, once, in order; `but` for one view."""
    found = []
    for path in sorted(set(folder.glob("view-*/tuples.parquet")) - {view_folder(folder, but) / "tuples.parquet"}):
        with open_table(path, domain) as engine:
            found.append(cells_of(domain, engine.counts([domain.names])[0].codes))
    return np.unique(np.concatenate(found)) if found else np.zeros(0, np.uint64)


def _terms(plan: ViewPlan) -> dict[str, Any]:
    """What must be the same for every view."""
    document = plan.policy.document
    adversary = {key: value for key, value in plan.adversary.document().items() if key != "records"}
    parts = {key: document[key] for key in ("dataset", "attributes", "individuals")}
    return {"policy_sha256": document_hash(parts), "adversary": adversary}


def _read(folder: Path) -> dict[str, Any]:
    try:
        state = read_json(plain_file(folder, STATE))
    except (OSError, ValueError):
        state = None
    if not isinstance(state, dict):
        raise ReleaseError(f"{STATE} cannot be read", fix="restore it", where=str(folder))
    return state


def _write(folder: Path, state: Mapping[str, Any]) -> None:
    write_whole(folder / STATE, (json.dumps(state, indent=1, sort_keys=True) + "\n").encode())
