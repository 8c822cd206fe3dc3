"""[RS07] Figures 2 and 3 and Example 4.1: estimates from a published view of Adult beside those from FRAPP.

Nine attributes of the 30,162 complete training rows, d = 10 n/m, gamma = 0.2, selections on up to three attributes.
Beside it what the paper does not show: what such a view exposes, and what tables of counts of the same loss answer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

import tetraodon as td
from benchmarks.data import real
from reproduce.exposed import beside
from reproduce.figure import Chart, Check, Figure, Progress, Table, lines
from reproduce.three_way import compared
from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.noise.coins import system_coins
from tetraodon.views.channel import SetChannel
from tetraodon.views.plan import ViewPlan, plan_view
from tetraodon.views.sampling import view_cells
from tetraodon.views.tuple_files import cells_of, codes_of

NAMES = ("age", "workclass", "education", "marital_status", "occupation", "race", "sex", "native_country", "income")
SIZES = (72, 7, 16, 7, 14, 5, 2, 41, 2)
ROWS = 30_162
ADVERSARY = td.research.Adversary(k=10, gamma="0.2", records=ROWS)
LIMITS = (0, 1, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
SHOWN, MOST = 100, 3000
VIEW, KNOWN, FRAPP = "view", "view, public n used", "FRAPP"
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def people() -> tuple[pl.DataFrame, str]:
    """The nine columns of every row as they are, and where they are from."""
    path = real("adult.parquet")
    if path is None:
        coins = np.random.default_rng(2007)
        made = {
            name: np.minimum(coins.geometric(2 / size, ROWS) - 1, size - 1)
            for name, size in zip(NAMES, SIZES, strict=True)
        }
        return pl.DataFrame(made).with_columns(pl.col("age") + 17), "made-up rows of the same shape (stand-in)"
    table = pl.read_parquet(path).filter(pl.col("split") == "train").select(NAMES)
    table = table.filter(pl.all_horizontal(pl.col(name) != "?" for name in NAMES[1:]))
    return table, f"Adult, {len(table):,} complete training rows, {table.n_unique():,} of them distinct"


def rows() -> tuple[Ints, str]:
    """The nine attributes of every row, numbered by the values that occur."""
    table, source = people()
    return np.stack([numbered(table[name]) for name in NAMES], axis=1), source


def numbered(column: pl.Series) -> Ints:
    """Values by their order among those that occur, from zero."""
    return column.rank("dense").to_numpy().astype(np.int64) - 1


def run(quick: bool, progress: Progress) -> Figure:
    """Views and perturbed tables, every selection estimated from each."""
    held, data = rows()
    true, found = estimates(held, progress(range(1 if quick else 10), "views"))
    mean = mean_errors(true, found)
    curve = [
        {"true count at least": max(limit, 0.5), "average error": value, "method": name}
        for name, values in mean.items()
        for limit, value in zip(LIMITS, values, strict=True)
    ]
    figure_3 = lines(
        "boundary-3",
        "Figure 3: average error over all queries with at least so many rows",
        curve,
        x="true count at least",
        y="average error",
        series="method",
        x_log=True,
    )
    table = Table(
        "Average error by true count",
        ("true count at least", "queries", VIEW, KNOWN, FRAPP, "FRAPP / view", "FRAPP / view, public n used"),
        tuple(_table_row(at, limit, true, mean) for at, limit in enumerate(LIMITS)),
    )
    hundred = LIMITS.index(100)
    example = _example()
    repeats, both = range(1 if quick else 10), {"dense": dense(), "sparse": (plan_view(policy(), ADVERSARY), held)}
    answered, better = zip(
        *(
            compared(
                *both[where],
                progress(repeats, f"{where} tables of counts"),
                where=where,
                times=times,
                slack=2 if quick else 1,
            )
            for where, times in (("sparse", 3), ("dense", 1))
        ),
        strict=True,
    )
    exposed, held_back = beside(both["dense"], both["sparse"], progress(repeats, "attacks"))
    checks = (
        Check(
            "the view errs at least six times less than FRAPP, over all queries and over those of 100 rows or more",
            all(mean[FRAPP][at] >= (5 if quick else 6) * mean[KNOWN][at] for at in (0, hundred)),
        ),
        *better,
        held_back,
        Check("Example 4.1: 549 tuples of the domain, an estimate of 3.51", example.rows[0][1:3] == (549, "3.51")),
    )
    charts = (_scatter(true, {name: all_[0] for name, all_ in found.items() if name != VIEW}), figure_3)
    return Figure(data, (table, *answered, exposed, example), charts, checks)


def estimates(held: Ints, views: Iterable[int]) -> tuple[Floats, dict[str, list[Floats]]]:
    """The true count of every selection on up to three attributes, and its estimates from each of some views."""
    domain = Domain(tuple(Attribute(name, Integers(1, size)) for name, size in zip(NAMES, SIZES, strict=True)))
    sets = [names for size in (1, 2, 3) for names in itertools.combinations(range(9), size)]
    true = np.concatenate([_table(held, names) for names in sets]).astype(float)
    found: dict[str, list[Floats]] = {VIEW: [], KNOWN: [], FRAPP: []}
    for _ in views:
        for name, made in _estimates(domain, held, sets).items():
            found[name].append(made)
    return true, found


def mean_errors(true: Floats, found: dict[str, list[Floats]]) -> dict[str, list[float]]:
    """The average error of each method over the selections whose true count is at least each of the limits."""
    errors = {name: np.mean([abs(one - true) for one in all_], axis=0) for name, all_ in found.items()}
    return {name: [float(error[true >= limit].mean()) for limit in LIMITS] for name, error in errors.items()}


def policy() -> td.Policy:
    """Nine attributes, numbered by the values that occur."""
    return td.load_policy(
        {
            "dataset": "adult",
            "attributes": {name: {"integer": [1, size]} for name, size in zip(NAMES, SIZES, strict=True)},
            "budget": {"epsilon": 13},
        }
    )


def dense() -> tuple[ViewPlan, Ints]:
    """A view over a dense domain, six of the attributes with age in bands of five years, and its table."""
    table, _ = people()
    names = ("workclass", "education", "race", "sex", "income")
    codes = np.stack([table["age"].to_numpy() // 5 - 3, *(numbered(table[name]) for name in names)], axis=1)
    sizes = {"age": 16, **{name: SIZES[NAMES.index(name)] for name in names}}
    attributes = {name: {"integer": [1, size]} for name, size in sizes.items()}
    made = td.load_policy({"dataset": "adult", "attributes": attributes, "budget": {"epsilon": 13}})
    return plan_view(made, td.research.Adversary(d="0.05", gamma="0.2", records=ROWS)), codes


def _estimates(domain: Domain, held: Ints, sets: list[tuple[int, ...]]) -> dict[str, Floats]:
    channel, frapp = plan_view(policy(), ADVERSARY).channel, td.research.frapp(domain, adversary=ADVERSARY)
    cells, counts = np.unique(cells_of(domain, held), return_counts=True)
    view = _codes(domain, np.concatenate(list(view_cells(channel, domain.size, cells, counts, coins=system_coins()))))
    moved = _codes(domain, frapp.perturb(np.repeat(cells, counts)))
    added, keep, stays = (float(number) for number in (channel.added_per_tuple, channel.keep, frapp.keep))
    whole = (len(view) - domain.size * added) / keep - ROWS
    made: dict[str, list[Floats]] = {VIEW: [], KNOWN: [], FRAPP: []}
    for names in sets:
        cells_asked = int(np.prod([SIZES[name] for name in names]))
        ours = (_table(view, names) - domain.size / cells_asked * added) / keep
        made[VIEW].append(ours)
        made[KNOWN].append(ours - whole / cells_asked)
        made[FRAPP].append((_table(moved, names) - ROWS * (1 - stays) / cells_asked) / stays)
    return {name: np.concatenate(parts) for name, parts in made.items()}


def _table_row(at: int, limit: int, true: Floats, mean: dict[str, list[float]]) -> tuple[object, ...]:
    view, known, frapp = (mean[name][at] for name in (VIEW, KNOWN, FRAPP))
    return (f"{limit:,}", int((true >= limit).sum()), view, known, frapp, frapp / view, frapp / known)


def _codes(domain: Domain, cells: NDArray[np.uint64]) -> Ints:
    return np.stack([part.astype(np.int64) for part in codes_of(domain, cells)], axis=1)


def _table(table: Ints, names: tuple[int, ...]) -> Ints:
    place = np.zeros(len(table), np.int64)
    for name in names:
        place = place * SIZES[name] + table[:, name]
    return np.bincount(place, minlength=int(np.prod([SIZES[name] for name in names])))


def _scatter(true: Floats, found: dict[str, Floats]) -> Chart:
    """Figure 2: a point for each of some queries, as many of every size."""
    coins, sizes = np.random.default_rng(0), np.floor(np.log2(np.maximum(true, 1)))
    near = [np.flatnonzero((true > 0) & (true <= MOST) & (sizes == size)) for size in np.unique(sizes)]
    chosen = np.concatenate([coins.permutation(places)[:SHOWN] for places in near])
    points = [
        {"true count": float(true[at]), "estimate": float(values[at]), "method": name}
        for name, values in found.items()
        for at in chosen
    ]
    across = {"field": "true count", "type": "quantitative"}
    layers = [
        {
            "mark": {"type": "line", "strokeDash": [4, 3], "color": "#666"},
            "encoding": {"x": across, "y": {**across, "title": "estimate"}},
        },
        {
            "mark": {"type": "point", "size": 6, "opacity": 0.5},
            "encoding": {"x": across, "y": {"field": "estimate", "type": "quantitative"}},
        },
    ]
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": points},
        "facet": {"field": "method", "type": "nominal", "title": None},
        "spec": {"width": 300, "height": 300, "layer": layers},
    }
    return Chart(
        "boundary-2",
        "Figure 2: estimates against true counts, one point a query; on the dashed line they are exact",
        spec,
    )


def _example() -> Table:
    """Example 4.1 with its numbers put right: six tuples of the printed view satisfy score < 3 age."""
    domain = Domain(
        (
            Attribute("age", Integers(20, 39)),
            Attribute("nationality", Categories(("American", "British", "Indian")), other=0),
            Attribute("score", Integers(81, 100)),
        )
    )
    tuples = td.research.domain_count(domain, "score < 3 * age")
    estimate = SetChannel(Fraction(2, 3), Fraction(1, 150)).estimate(6, tuples)
    columns = ("", "tuples of the domain", "estimate", "truth")
    printed = ("as printed", 190, "7.1", 4)
    return Table("Example 4.1: score < 3 age", columns, (("put right", tuples, f"{float(estimate):.2f}", 3), printed))
