"""Every mechanism and every kind of contribution: its certificate, against an enumeration of the steps of tiny worlds.

What a step loses is worked out here without the kernel: from the exact answers that a release computes for each of the
two datasets, and for what is not linear from the chances of what can be told. No step may lose more than is certified;
where a certificate is exact, some step loses that much. A mechanism, or a contribution, without a case fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scripts.audit.chosen import chosen_loss
from scripts.audit.counting import _along_steps
from scripts.audit.ranks import rank_loss

import tetraodon as td
from tetraodon.certificate.correlated_records import certify_release
from tetraodon.mechanism.one_scale import EXACT
from tetraodon.mechanism.registry import MECHANISMS, proposals
from tetraodon.noise.laws import GAUSSIAN, LAPLACE, NoiseLaw
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.query.adaptive_partition import FAN, Divided
from tetraodon.query.aim import ChosenTables
from tetraodon.query.contribution import (
    AddedUp,
    AllRanges,
    AlongOne,
    Among,
    Answerers,
    Beyond,
    Contribution,
    NotLinear,
    One,
    Prefix,
    Table,
    WeightedSums,
)
from tetraodon.query.edge_flows import PARTS, FlowLine, Flows
from tetraodon.query.levels import LevelSums
from tetraodon.query.linear import LinearQuery, Measurement, Split
from tetraodon.query.local_log_noise import Disguised
from tetraodon.query.number import EachPerson, Number
from tetraodon.query.ranks import RankEnds, Ranks
from tetraodon.query.records_where import records_where
from tetraodon.query.smooth import Hats, Ramps, SmoothRunning, SmoothSums, WrittenOut
from tetraodon.query.soft_bins import Product, Soft
from tetraodon.query.weighted_margins import WeighedMargins

Rows = tuple[tuple[int, ...], ...]
"""A dataset: the codes of its records."""
DELTA = Fraction(1, 10**6)


def policy(**changes: Any) -> td.Policy:
    document = {
        "dataset": "d",
        "individuals": "one row each",
        "presence": "public",
        "attributes": {"x": {"integer": [0, 4]}, "s": ["f", "m"]},
        "budget": {"epsilon": 1},
    }
    return td.load_policy(document | changes)


# -- what a step loses, worked out from what is told ------------------------------------------------


def loss(here: td.Policy, measured: Sequence[Measurement], one: Rows, two: Rows) -> Fraction | float:
    """What tells two datasets apart: epsilon for Laplace noise, rho for Gaussian."""
    return sum((of_measurement(here, each, one, two) for each in measured), Fraction(0))


def codes_of(query: LinearQuery, here: td.Policy, rows: Rows) -> np.ndarray:
    places = [here.domain.position(name) for name in query.names]
    return np.array([[row[place] for place in places] for row in rows], np.int64).reshape(len(rows), len(places))


def of_measurement(here: td.Policy, one: Measurement, first: Rows, second: Rows) -> Fraction | float:
    query, pure = one.query, one.noise is LAPLACE
    ends = [codes_of(query, here, rows) for rows in (first, second)]
    match query.contribution:
        case Ranks() as ranks:
            cells = [query.occupied(here.domain, end, np.ones(len(end), np.int64)).ravel() for end in ends]
            before, after = ([_pairs(cell) for cell in end] for end in cells)
            return rank_loss(ranks, before, after, one.scale)
        case ChosenTables() as tables:
            there, other = ([(*row, 1) for row in _binned(tables, here, end)] for end in (first, second))
            return chosen_loss(tables, there, other, one.scale, one.noise)
        case LevelSums() as sums:
            added = sums.added(np.arange(sums.attribute.size))
            levels = [_table(query, here, end, added) for end in ends]
            return _lost(levels[0] - levels[1], one)
        case Disguised() as shown:
            return _of_places(query, shown, ends) / one.scale
        case Divided() as parts:
            sizes = parts.sizes
            cells = [_table(query, here, end, np.eye(math.prod(sizes), dtype=np.int64)) for end in ends]
            gap = (cells[0] - cells[1]).reshape(-1, *sizes)
            return sum((_of_parts(parts, one.scale, 0, cell) for cell in gap), Fraction(0))
    answers = [query.evaluate(here.domain, end, np.ones(len(end), np.int64)).ravel() for end in ends]
    if isinstance(query.contribution, Flows):
        moved = [Fraction(int(a - b), PARTS) for a, b in zip(*answers, strict=True)]
        if sum(moved):
            return math.inf  # how many records there are is told exactly
        return _along_steps(query.contribution, moved, one.scale, laplace=pure)
    return _lost(answers[0] - answers[1], one)


def _lost(moved: np.ndarray, one: Measurement) -> Fraction | float:
    gaps = [abs(int(gap)) for gap in moved.ravel()]
    if not one.scale:
        return math.inf if any(gaps) else Fraction(0)
    if one.noise is LAPLACE:
        return Fraction(sum(gaps)) / one.scale
    return Fraction(sum(gap**2 for gap in gaps)) / (2 * one.scale**2)


def _pairs(cell: np.ndarray) -> list[tuple[int, int]]:
    return [(int(code), int(many)) for code, many in cell]


def _table(query: LinearQuery, here: td.Policy, codes: np.ndarray, added: np.ndarray) -> np.ndarray:
    """What records add, for each cell of `by`: rows of `added`, by the cells of the contribution's attributes."""
    given, shape = query.contribution, query.shape(here.domain)[:-1]
    sizes = [here.domain[name].size for name in given.names]
    found = np.zeros((*shape, len(added)), np.int64)
    for row in codes:
        at = tuple(int(split.of(row[axis : axis + 1])[0]) for axis, split in enumerate(query.by))
        own = [int(row[query.names.index(name)]) for name in given.names]
        found[at] += added[:, np.ravel_multi_index(own, sizes)]
    return found


def _binned(tables: ChosenTables, here: td.Policy, rows: Rows) -> list[tuple[int, ...]]:
    places = [here.domain.position(split.name) for split in tables.splits]
    return [
        tuple(int(split.of(np.array(row[place]))) for split, place in zip(tables.splits, places, strict=True))
        for row in rows
    ]


def _of_places(query: LinearQuery, shown: Disguised, ends: Sequence[np.ndarray]) -> Fraction | float:
    """How many places one record moves, all others staying.

    Why   a record at a place u is shown at w with a chance that falls by e^(-1/b) for each place between, and at the
          ends with what lies beyond, so that the ratio for places u and v is e^(|u - v| / b), and attained.
    """
    split = len(query.by)
    cells = [
        sorted((*map(int, row[:split]), int(shown.places(np.array([row[split]]))[0])) for row in end) for end in ends
    ]
    if sorted(cell[:-1] for cell in cells[0]) != sorted(cell[:-1] for cell in cells[1]):
        return math.inf
    return Fraction(sum(abs(a[-1] - b[-1]) for a, b in zip(*cells, strict=True)))


def _of_parts(parts: Divided, scale: Fraction, place: int, gap: np.ndarray) -> Fraction:
    """What the rounds from one on lose about cells that differ by `gap`, over all ways of dividing them.

    A part is told as more than any count, and divided; or as less, and told once more. Either has a chance.
    """
    if not gap.any():
        return Fraction(0)
    width, found = parts.widths[place], Fraction(0)
    rate = 1 / parts.scale_of(scale, place)
    for corner in product(*(range(0, size, width) for size in gap.shape)):
        inside = gap[tuple(slice(low, low + width) for low in corner)]
        moved = int(inside.sum())
        if place == parts.rounds - 1:
            found += abs(moved) * rate
            continue
        again = abs(moved) / parts.scale_again(scale, place)
        found += max(moved * rate + _of_parts(parts, scale, place + 1, inside), again - moved * rate)
    return found


def steps(here: td.Policy) -> list[tuple[Rows, Rows]]:
    """All pairs of datasets of one record, or of none where presence is a secret, that one secret joins."""
    domain = here.domain
    values = [domain.codes(domain.value(cell)) for cell in range(domain.size)]
    found: list[tuple[Rows, Rows]] = []
    for x, y in product(values, repeat=2):
        if x != y and here.graph.is_edge(domain.value_of(x), domain.value_of(y)):
            found.append(((tuple(x),), (tuple(y),)))
    if here.graph.absent:
        for x in values:
            if here.graph.is_edge(domain.value_of(x), ABSENT):
                found += [((tuple(x),), ()), ((), (tuple(x),))]
    return found


def check(here: td.Policy, measured: Sequence[Measurement], others: Sequence[Rows] = ((),)) -> bool:
    """The certificate against every step, beside some other records. Returns whether it is exact."""
    made = certify_release(here, measured, delta=DELTA)
    certified = made.epsilon if made.rho is None else made.rho
    worst: Fraction | float = 0
    for one, two in steps(here):
        for rest in others:
            worst = max(worst, loss(here, measured, rest + one, rest + two))
    assert worst <= certified
    if made.exact:
        assert worst == certified
    if made.exact and made.finite and made.witness is not None and worst:
        first, second = (() if end is ABSENT else (tuple(here.domain.codes(end)),) for end in made.witness)
        assert here.graph.is_edge(*made.witness)
        assert loss(here, measured, first, second) == certified
    return bool(made.exact)


def test_a_certificate_that_understates_a_loss_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    here, measured = policy(), [Measurement(LinearQuery(Prefix("x", 5, 5)), Fraction(2))]
    assert check(here, measured)
    low = SimpleNamespace(epsilon=Fraction(19, 10), rho=None, exact=False)
    monkeypatch.setitem(globals(), "certify_release", lambda *_, **__: low)
    with pytest.raises(AssertionError):
        check(here, measured)


# -- mechanisms -------------------------------------------------------------------------------------

TREE = {"secrets": {"x": {"pairs": [[0, 2], [2, 4], [2, 3], [1, 2]]}, "s": "public"}}
LONG: dict[str, Any] = {"attributes": {"x": {"integer": [0, 31]}}, "secrets": {"x": {"within": 8}}}
MAP: dict[str, Any] = {
    "attributes": {"x": {"integer": [0, 5]}, "y": {"integer": [0, 5]}},
    "secrets": {"x": {"within": 2}, "y": {"within": 2}},
    "together": "one attribute at a time",
}
WAGES: dict[str, Any] = {
    "attributes": {"x": {"integer": [10, 40]}, "s": ["f", "m"]},
    "secrets": {"x": {"within": "20%"}, "s": "public"},
}
CASES: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {
    "exact": [({"secrets": {"x": "public"}}, {"histogram": "x"})],
    "identity": [({}, {"histogram": ["x", "s"]}), ({"presence": "secret"}, {"cdf": "x", "by": "s"})],
    "ordered": [({"secrets": {"x": {"within": 2}}}, {"cdf": "x"}), ({"presence": "secret"}, {"quantiles": "x"})],
    "branches": [(TREE, {"histogram": "x"}), (TREE, {"histogram": ["x", "s"]})],
    "hierarchical": [(LONG, {"cdf": "x"}), ({**LONG, "presence": "secret"}, {"cdf": "x"})],
    "weighted": [(LONG, {"ranges": "x"}), ({**LONG, "secrets": {}}, {"ranges": "x"})],
    "direct": [({}, {"mean": "x"}), ({"presence": "secret"}, {"total": "x", "by": "s"}), ({}, {"variance": "x"})],
    "grid": [(MAP, {"rectangles": ["x", "y"]})],
    "edges": [(MAP, {"rectangles": ["x", "y"]})],
    "ranks": [
        ({}, {"quantiles": "x", "at": ["1/2"], "bounds": False}),
        ({"presence": "secret"}, {"quantiles": "x", "at": ["1/4"], "bounds": False}),
    ],
    "disguise": [
        (WAGES, {"total": "x", "noise": "each record"}),
        (WAGES, {"mean": "x", "noise": "each record", "by": "s"}),
    ],
    "levels": [(WAGES, {"total": "x", "noise": "levels"})],
    "divided": [
        (LONG, {"ranges": "x", "shape": "sparse"}),
        ({**LONG, "presence": "secret"}, {"cdf": "x", "shape": "sparse"}),
    ],
    "synopsis": [({**MAP, "secrets": {}}, {"kmeans": ["x", "y"], "clusters": 2})],
    "chosen": [
        ({"attributes": {n: {"integer": [0, 2]} for n in "xyz"}}, {"synthetic": {"records": 9, "tables": 2}}),
        (
            {"attributes": {n: {"integer": [0, 1]} for n in "xyz"}, "presence": "secret"},
            {"synthetic": {"records": 9, "tables": 2}},
        ),
    ],
    "margins": [],
}
"""Policies and questions under which a mechanism is proposed; margins come from searches over several tables."""


def test_every_mechanism_has_a_case() -> None:
    assert CASES.keys() == MECHANISMS.keys()


def others_for(name: str, here: td.Policy) -> list[Rows]:
    """Records that both datasets have: they matter where losses depend on the data."""
    if name not in ("ranks", "divided"):  # the rest loses the same beside any other records
        return [()]
    last = tuple(a.size - 1 for a in here.domain)
    return [(), ((0,) * len(last),), (last, (0,) * len(last)), (last, last)]


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
@pytest.mark.parametrize(
    ("name", "changes", "asked"),
    [(name, *case) for name, cases in CASES.items() for case in cases],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_no_step_loses_more_than_is_certified(
    name: str, changes: dict[str, Any], asked: dict[str, Any], law: NoiseLaw
) -> None:
    budget = {"budget": {"epsilon": 1} if law is LAPLACE else {"epsilon": 1, "delta": str(DELTA)}}
    here = policy(**changes, **budget, release=[{"name": "q", **asked}])
    [item] = here.items
    found = list(proposals(item.query, here))
    found = [EXACT.of(one) for one in found] if name == "exact" else [o for o in found if o.mechanism.name == name]
    able = [one for one in found if one.made_for in (None, law)]
    assert found or law is GAUSSIAN
    for one in able:
        measured = [
            each if not each.scale else Measurement(each.query, each.scale, law)
            for each in one.measurements(Fraction(7, 2))
        ]
        if law is GAUSSIAN and name in ("ranks", "divided", "disguise", "levels"):
            assert not certify_release(here, measured, delta=DELTA).finite
            continue
        check(here, measured, others_for(name, here))


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "1/2"}])
@pytest.mark.parametrize("presence", ["public", "secret"])
def test_tables_that_are_planned_together(budget: dict[str, Any], presence: str) -> None:
    tables = [["x", "s"], ["x", "t"], ["s", "t"]]
    here = policy(
        attributes={"x": {"integer": [0, 2]}, "s": ["f", "m"], "t": ["a", "b", "c"]},
        presence=presence,
        budget=budget,
        release=[{"name": "".join(one), "histogram": one} for one in tables],
    )
    made = td.plan(here)
    assert "rho" not in budget or {item.strategy.mechanism.name for item in made} == {"margins"}
    check(here, [m for item in made for m in item.measurements])


# -- contributions ----------------------------------------------------------------------------------

SECRETS: dict[str, dict[str, Any]] = {
    "everything": {},
    "within 1, one at a time": {"secrets": {"x": {"within": 1}}, "together": "one attribute at a time"},
    "blocks": {"secrets": {"x": {"blocks": [[0, 1], [2, 4]]}, "s": "public"}},
    "pairs": {"secrets": {"x": {"pairs": [[0, 2], [2, 4], [1, 3]]}}},
    "secret presence": {"presence": "secret", "secrets": {"x": {"within": 2}, "s": "public"}},
    "missing values": {"attributes": {"x": {"integer": [0, 3], "missing": "separate"}, "s": ["f", "m"]}},
}
SOFT = Soft("x", 5, 2, (0, 2), 1)
SIMPLE = policy().domain
"""Five values of x, and two of s."""


def whole(*contributions: Any) -> Callable[[], list[LinearQuery]]:
    return lambda: [LinearQuery(one) for one in contributions]


def conditions() -> list[LinearQuery]:
    found = []
    for where in ("x > 1", "s = 'f'", "x > 1 and s = 'f'", "x > 1 or s = 'f'"):
        those = records_where(where, (), SIMPLE)
        assert those is not None
        size = those.inside["x"].size
        for inner in (One(), Prefix("x", size, size), Number(those.inside["x"])):
            found.append(those.lifted(LinearQuery(inner)))
    return found


def asked_as(*queries: LinearQuery) -> Callable[[], list[LinearQuery]]:
    return lambda: list(queries)


CONTRIBUTIONS: dict[Any, Callable[[], list[LinearQuery]]] = {
    One: asked_as(
        LinearQuery(One()), LinearQuery(One(), (Split("x"),)), LinearQuery(One(), (Split("x", (0, 0, 1, 1, 1)),))
    ),
    Answerers: whole(Answerers(("x",), 5)),
    Prefix: asked_as(*(LinearQuery(Prefix("x", 5, rows), (Split("s"),)) for rows in (4, 5))),
    Number: whole(Number(SIMPLE["x"]), Number(SIMPLE["x"], squared=True), Number(SIMPLE["x"], centred=True)),
    Table: whole(Table(("x",), np.array([[1, 0, -2, 1, 3]])), Table(("x", "s"), np.arange(10).reshape(1, 10) % 4)),
    AllRanges: whole(AllRanges("x", 5)),
    Hats: whole(Hats("x", 5, 2)),
    Ramps: whole(Ramps("x", 5, 2)),
    Soft: asked_as(LinearQuery(SOFT), LinearQuery(SOFT, (Split("s"),))),
    Product: whole(Product((SOFT, Soft("s", 2, 1, (0,), 1)))),
    Flows: whole(Flows(("x", "s"), FlowLine(2, Fraction(2)), FlowLine(5, Fraction(3)))),
    WeighedMargins: whole(WeighedMargins(("s", "x"), (2, 5), (2, -3, -1, 20), Fraction(1, 20))),
    Among: conditions,
    EachPerson: whole(),
    Ranks: whole(
        Ranks("x", 5, (Fraction(1, 2),)),
        Ranks("x", 5, (Fraction(1, 4), Fraction(1, 2))),
        Ranks("x", 5, (Fraction(1, 4),), ends=RankEnds(Fraction(1, 2), Fraction(2, 3))),
    ),
    ChosenTables: whole(ChosenTables((Split("x"), Split("s")), (5, 2), 1, 0, (), False)),
    Divided: whole(Divided(("x",), (5,)), Divided(("x", "s"), (5, 2))),
    Disguised: whole(),
    SmoothRunning: whole(SmoothRunning("x", 5, np.array([1, 3]), Fraction(1, 4))),
    SmoothSums: whole(
        SmoothSums("x", 5, 1, np.ones((1, 5), np.int64), np.array([5]), np.ones(5, np.int64), Fraction(1, 8))
    ),
}
"""What is added up: each person's rows are enumerated in `test_person_loss.py`, values with noise on each above."""


def test_every_contribution_has_a_case() -> None:
    bases = {Contribution, NotLinear, AddedUp, AlongOne, WrittenOut}

    def kinds(of: type) -> set[type]:
        return {of} | {kind for one in of.__subclasses__() for kind in kinds(one)}

    found = {one for one in kinds(Contribution) if not one.__name__.startswith("_")}
    assert CONTRIBUTIONS.keys() == found - bases - {
        Beyond,
        LevelSums,
        WeightedSums,
    }  # tables, and a kind of `Disguised`


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("secrets", SECRETS)
@pytest.mark.parametrize("kind", CONTRIBUTIONS, ids=lambda one: one.__name__)
def test_every_contribution_moves_as_far_as_its_certificate_says(
    kind: Any, secrets: str, law: NoiseLaw, monkeypatch: pytest.MonkeyPatch
) -> None:
    for sides in FAN:  # parts of five values are divided twice
        monkeypatch.setitem(FAN, sides, 2)
    here = policy(**SECRETS[secrets])
    for query in CONTRIBUTIONS[kind]():
        measured = Measurement(query, Fraction(7, 2), law)
        if kind in (Ranks, Divided) and law is GAUSSIAN:
            assert not certify_release(here, [measured], delta=DELTA).finite
            continue
        if kind is ChosenTables and here.graph.absent:
            assert not check(here, [measured])
            continue
        exact = check(here, [measured], others_for(kind.__name__.lower(), here))
        assert exact or kind in (Ranks, ChosenTables, Product, Divided) or (kind is Flows and law is GAUSSIAN)
