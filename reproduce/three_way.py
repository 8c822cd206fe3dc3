"""A view beside tables of counts over every three attributes, at the same loss: how far off are the same questions?"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

import tetraodon as td
from reproduce.figure import Check, Table
from tetraodon.inference.estimate import Estimate
from tetraodon.noise.coins import system_coins
from tetraodon.views.plan import ViewPlan
from tetraodon.views.sampling import Cells, view_cells
from tetraodon.views.tuple_files import cells_of, codes_of, write_tuples
from tetraodon.views.view import View

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bounds = list[tuple[int, int, int]]
Errors = dict[str, list[Floats]]
"""By the kind of a question: the errors of the view and of the tables, in two columns."""
KINDS = {
    f"{what}, {count} attribute{'s' * (count > 1)}": (what, count)
    for what in ("one value of each", "a range of each")
    for count in (1, 2, 3)
}
EVERY = "not random: every value of every three attributes"
EACH = 100
"""Questions of each kind to a view and a release."""


def tables_plan(view: ViewPlan) -> td.Plan:
    """The plan of all tables over three attributes of a view's policy that loses what the view does."""
    items = [{"name": "_".join(three), "histogram": list(three)} for three in _triples(view)]
    return td.plan({**view.policy.document, "release": items}, epsilon=view.loss)


def compared(
    view: ViewPlan, held: Ints, repeats: Iterable[int], *, where: str, times: int, slack: float = 1
) -> tuple[Table, Check]:
    """Both are drawn anew for every repeat and asked the same questions. Values are codes, in the policy from one.

    `where` names the domain, and `times` says how much more than the tables the view must at least err: by so much
    divided by `slack`, for few repeats say little. One error, that of the whole count, is in all answers of a view.
    """
    plan = tables_plan(view)
    errors: Errors = {name: [] for name in (*KINDS, EVERY)}
    for repeat in repeats:
        with tempfile.TemporaryDirectory() as name:
            _ask_both(view, plan, held, np.random.default_rng(repeat), Path(name), errors)
    whole = _row("all of these", [each for name in KINDS for each in errors[name]])
    both = f"a view and of {len(plan)} tables over the {where} domain, both at epsilon {float(view.loss):.2f}"
    table = Table(
        f"Root mean squared error of {both}",
        ("random questions", "asked", "view", f"{len(plan)} tables", "view / tables"),
        (*(_row(name, errors[name]) for name in KINDS), whole, _row(EVERY, errors[EVERY])),
    )
    words = f"over the {where} domain a view errs more than {times} times as much as tables of the same loss"
    return table, Check(words.replace("more than 1 times as much as", "more than"), whole[-1] > times / slack)


def _triples(view: ViewPlan) -> list[tuple[str, ...]]:
    return list(itertools.combinations([attribute.name for attribute in view.policy.domain], 3))


def _row(name: str, errors: list[Floats]) -> tuple[str, int, float, float, float]:
    both = np.concatenate(errors)
    view, tables = (float(each) for each in np.sqrt(np.mean(both**2, axis=0)))
    return name, len(both), view, tables, view / tables


def _ask_both(
    view: ViewPlan, plan: td.Plan, held: Ints, coins: np.random.Generator, folder: Path, errors: Errors
) -> None:
    domain, dataset = view.policy.domain, view.policy.dataset
    names = [attribute.name for attribute in domain]
    with td.Ledger(folder / "ledger.db") as book:
        book.open(dataset, view.loss, view.policy.document)
        release = td.release(plan, pl.DataFrame(dict(zip(names, held.T + 1, strict=True))), ledger=book)
    cells, counts = np.unique(cells_of(domain, held), return_counts=True)
    shown = np.concatenate(list(view_cells(view.channel, domain.size, cells, counts, coins=system_coins())))
    write_tuples(domain, [shown], folder / "tuples.parquet")
    published = View(dataset, domain, view.channel, folder / "tuples.parquet", view.records)
    for name, (what, count) in KINDS.items():
        for bounds in _questions(what, count, domain.shape, coins):
            asked = " and ".join(f"{names[at]} between {low} and {high}" for at, low, high in bounds)
            true, found = _inside(held, bounds), published.ask(asked)
            assert isinstance(found, Estimate)
            errors[name].append(np.array([[found.value - true, _told(release, names, bounds) - true]]))
    errors[EVERY] += _every_cell(view, release, held, shown)


def _questions(what: str, count: int, sizes: tuple[int, ...], coins: np.random.Generator) -> Iterator[Bounds]:
    """Attributes, any as likely as another, and two values of each, likewise; or the same value twice."""
    for _ in range(EACH):
        bounds = []
        for at in coins.choice(len(sizes), count, replace=False):
            low, high = sorted(int(value) for value in coins.integers(1, sizes[at] + 1, 2))
            bounds.append((int(at), low, high) if what == "a range of each" else (int(at), high, high))
        yield bounds


def _inside(held: Ints, bounds: Bounds) -> int:
    return int(np.all([(held[:, at] + 1 >= low) & (held[:, at] + 1 <= high) for at, low, high in bounds], axis=0).sum())


def _told(release: td.Release, names: Sequence[str], bounds: Bounds) -> float:
    """What a release answers, from the first table that knows it: tables agree, and intervals are not looked at."""
    wanted = {names[at]: slice(low - 1, high) for at, low, high in bounds}
    table = next(answer.table for answer in release.values() if wanted.keys() <= {*answer.table.names})
    return float(table.values[tuple(wanted.get(name, slice(None)) for name in table.names)].sum())


def _every_cell(view: ViewPlan, release: td.Release, held: Ints, shown: Cells) -> list[Floats]:
    """The errors of every cell of every table."""
    domain, channel = view.policy.domain, view.channel
    codes = np.stack([part.astype(np.int64) for part in codes_of(domain, shown)], axis=1)
    pairs = []
    for at, three in zip(itertools.combinations(range(len(domain.shape)), 3), _triples(view), strict=True):
        sizes = tuple(domain.shape[place] for place in at)
        true, seen = (
            np.bincount(np.ravel_multi_index(tuple(rows[:, at].T), sizes), minlength=int(np.prod(sizes)))
            for rows in (held, codes)
        )
        noise = domain.size / len(true) * float(channel.added_per_tuple)
        tables = np.asarray(release["_".join(three)].values, np.float64).ravel()
        pairs.append(np.stack([(seen - noise) / float(channel.keep) - true, tables - true], axis=1))
    return pairs
