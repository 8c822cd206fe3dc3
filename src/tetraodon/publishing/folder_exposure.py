"""The attack of `exposure.py` on the files of a view, of a later view of a series too."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.publishing.channel import SetChannel
from tetraodon.publishing.exposure import BEFORE, BELIEF, MOST_EXPOSED, Exposure, exposure
from tetraodon.publishing.plan import ViewPlan
from tetraodon.publishing.sampling import Cells
from tetraodon.publishing.series import Series
from tetraodon.publishing.shown import Shown, shown
from tetraodon.publishing.writing import read_tuples


def folder_exposure(folder: Path, plan: ViewPlan, later: Mapping[str, Any] | None = None) -> Exposure:
    """What an attacker who has nothing but this folder finds. It is a function of what is published.

    `later` names the parts of a later view of a series, as view.json does.
    """
    domain = plan.policy.domain
    if later is None or plan.series is None:
        seen = shown(read_tuples(domain, folder / "tuples.parquet"))
        return exposure(domain, plan.channel, seen, records=plan.records)
    fresh, again, before = (_once(domain, folder / later[name]) for name in ("fresh", "rows", "before"))
    return exposure(domain, *_all_views(plan.series, int(later["number"]), fresh, again, before), records=plan.records)


def refuse_exposure(found: Exposure) -> None:
    """Refuse to publish a view that exposes too many by itself. It is kept as it was drawn, and can be published later.

    Why  it depends on the view alone; so whether it happens tells no more than the view does.
    """
    if found.new_records > MOST_EXPOSED:
        raise Refused(
            f"the view is drawn and paid for, and held back: it alone names {found.new:,} of its tuples as records "
            f"with a belief of {BELIEF:.0%}, where how common their values are left at most {BEFORE:.0%}; they are "
            f"about {100 * found.new_records:.3g}% of all records, and more than {MOST_EXPOSED:.0%} is not published "
            "unasked",
            fix="publish it with --resume --accept-exposure at no further charge if that is acceptable "
            "(resume=True, accept_exposure=True in Python), or plan a view of fewer or coarser attributes, or release "
            "tables",
        )


def _all_views(series: Series, number: int, fresh: Cells, again: Cells, before: Cells) -> tuple[SetChannel, Shown]:
    """Everything that so many views have shown, as if by one view.

    Why  a tuple is shown by some view with the chance that not all of them leave it out. One that is shown again now
         is favoured once more, one that is not is cleared a little.
    """
    quiet = float(1 - series.fresh.noise) ** number
    record = quiet * float(1 - series.fresh.keep) ** number
    channel = SetChannel(Fraction(quiet - record), Fraction(1 - quiet))
    cells = np.union1d(before, fresh)
    back, old = np.isin(cells, again), np.isin(cells, before)
    lift = np.where(back, float(series.seen.ratio_up), np.where(old, float(series.seen.ratio_down), 1.0))
    return channel, Shown(cells, np.ones(len(cells), np.int64), lift, back | ~old)


def _once(domain: Domain, path: Path) -> Cells:
    return np.unique(np.concatenate([np.zeros(0, np.uint64), *read_tuples(domain, path)]))
