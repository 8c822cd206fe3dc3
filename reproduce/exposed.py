"""What views of the same people give away by themselves: one over a dense domain, one over a sparse one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reproduce.figure import Check, Table
from tetraodon.domain import Domain
from tetraodon.noise.coins import Coins, system_coins
from tetraodon.views.exposure import BELIEF, MOST_EXPOSED, Exposure, exposure, shown, suspect
from tetraodon.views.plan import ViewPlan
from tetraodon.views.sampling import Cells, view_cells
from tetraodon.views.tuple_files import cells_of

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Linked:
    """Of people who are alone with what is known of them: whose last attribute is read rightly, wrongly or not."""

    right: int
    wrong: int
    undecided: int


@dataclass(frozen=True)
class Attacked:
    """What the attacker reckons from a view alone, and the truth.

    Attributes
    ----------
    found:   their own reckoning.
    named:   tuples that they name.
    right:   those of them that are records.
    records: the share of all records among these.
    """

    found: Exposure
    named: int
    right: int
    records: float


def drawn(plan: ViewPlan, codes: Ints, coins: Coins) -> Cells:
    """The tuples of a view, in their order."""
    cells, counts = np.unique(cells_of(plan.policy.domain, codes), return_counts=True)
    return np.concatenate(list(view_cells(plan.channel, plan.tuples, cells, counts, coins=coins)))


def attacked(plan: ViewPlan, codes: Ints, view: Cells) -> Attacked:
    """Play the attack on a view, and look up in the table what came of it."""
    domain, seen = plan.policy.domain, shown([view])
    cells, counts = np.unique(cells_of(domain, codes), return_counts=True)
    named = seen.cells[suspect(domain, plan.channel, seen, records=len(codes)).after >= BELIEF]
    right = named[np.isin(named, cells)]
    held = float(counts[np.searchsorted(cells, right)].sum() / len(codes))
    return Attacked(exposure(domain, plan.channel, seen, records=len(codes)), len(named), len(right), held)


def linked(domain: Domain, codes: Ints, view: Cells) -> Linked:
    """Look up both tuples of everybody who is alone with all attributes but the last: the one that is shown is theirs.

    Why  the last attribute has two values, and is the last binary digit of the number of a tuple.
    """
    assert domain.shape[-1] == 2
    _, which, many = np.unique(codes[:, :-1], axis=0, return_inverse=True, return_counts=True)
    own = cells_of(domain, codes[many[which.ravel()] == 1])
    true, other = np.isin(own, view), np.isin(own ^ np.uint64(1), view)
    right, wrong = int((true & ~other).sum()), int((other & ~true).sum())
    return Linked(right, wrong, len(own) - right - wrong)


def beside(dense: tuple[ViewPlan, Ints], sparse: tuple[ViewPlan, Ints], repeats: Iterable[int]) -> tuple[Table, Check]:
    """The two views, attacked some times: averages, and for linking the least and the most."""
    found = [[_both_attacks(plan, codes) for plan, codes in (dense, sparse)] for _ in repeats]
    columns = [_column(plan, [pair[at] for pair in found]) for at, (plan, _) in enumerate((dense, sparse))]
    table = Table(
        f"What {len(found)} views give away by themselves",
        ("", "dense", "sparse, the paper's setting"),
        tuple((name, *(column[name] for column in columns)) for name in columns[0]),
    )
    holds = all(one.found.new_records <= MOST_EXPOSED < other.found.new_records for (one, _), (other, _) in found)
    return table, Check("every sparse view is held back for what it exposes, and no dense one", holds)


def _both_attacks(plan: ViewPlan, codes: Ints) -> tuple[Attacked, Linked]:
    view = drawn(plan, codes, system_coins())
    return attacked(plan, codes, view), linked(plan.policy.domain, codes, view)


def _column(plan: ViewPlan, views: Sequence[tuple[Attacked, Linked]]) -> dict[str, object]:
    alone, links = zip(*views, strict=True)
    right = sum(one.right for one in alone) / max(1, sum(one.named for one in alone))
    return {
        "possible tuples": plan.tuples,
        "epsilon": float(plan.loss),
        "error of a count of everything": float(plan.error()),
        "tuples named as records with a belief of 90% or more": _mean(one.named for one in alone),
        "of these right": f"{right:.1%}",
        "of these newly exposed": _mean(one.found.new for one in alone),
        "newly exposed records": _share(one.found.new_records for one in alone),
        "all records among the tuples named": _share(one.records for one in alone),
        "people alone with all attributes but income": sum(vars(links[0]).values()),
        "income read rightly": _span(one.right for one in links),
        "read wrongly": _span(one.wrong for one in links),
        "undecided": _span(one.undecided for one in links),
    }


def _mean(numbers: Iterable[int]) -> int:
    return round(float(np.mean(list(numbers))))


def _share(numbers: Iterable[float]) -> str:
    return f"{float(np.mean(list(numbers))):.1%}"


def _span(numbers: Iterable[int]) -> str:
    found = sorted(numbers)
    return f"{found[0]:,} to {found[-1]:,}"
