"""Adaptive partitions: proposals, fit and intervals."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from tests.policies import policy_document, public_policy

import tetraodon as td
from tetraodon.cli.plan_words import notes
from tetraodon.errors import ReleaseError
from tetraodon.exact.arrays import Ints
from tetraodon.gate import without_ledger
from tetraodon.mechanism.adaptive_partition import LastNumbers, fitted, known_totals, mean_variance
from tetraodon.mechanism.registry import proposals
from tetraodon.mechanism.strategy import Measured, Scaled
from tetraodon.noise.laws import LAPLACE
from tetraodon.queries import cdf, ranges, rectangles
from tetraodon.query.adaptive_partition import Divided
from tetraodon.query.query import Query
from tetraodon.releases.plan import Plan
from tetraodon.releases.run import noisy
from tetraodon.releases.simulated import simulate

# -- divided ----------------------------------------------------------------------------------------
# Parts that are divided: when they are planned, released, read back, verified and asked.


def policy(*items: dict[str, Any], **changes: Any) -> td.Policy:
    document = public_policy(
        attributes={"x": {"integer": [0, 1499]}, "y": {"integer": [0, 63]}, "z": {"integer": [0, 63]}, "s": ["f", "m"]},
        secrets={"s": "public"},
        release=list(items),
    )
    return td.load_policy({**document, **changes})


TABLE = polars.DataFrame(
    {
        "x": np.repeat([3, 500, 777], [4000, 900, 100]),
        "y": np.repeat([7, 8, 50], [4000, 900, 100]),
        "z": np.repeat([60, 8, 50], [4000, 900, 100]),
        "s": np.where(np.arange(5000) % 3, "f", "m"),
    }
)


def released(asked: td.Policy, out: str | None = None) -> td.Release:
    with td.Ledger("sqlite:///ledger.db") as ledger:
        ledger.open("d", 1000, asked.document)
    return td.release(td.plan(asked), TABLE, ledger="sqlite:///ledger.db", out=out)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


SPARSE = {"name": "r", "shape": "sparse"}


@pytest.mark.parametrize(
    ("item", "changes", "mechanism"),
    [
        ({"ranges": "x"}, {}, "divided"),
        ({"cdf": "x", "by": "s"}, {}, "divided"),
        ({"rectangles": ["y", "z"]}, {}, "divided"),
        ({"ranges": "x"}, {"presence": "secret", "secrets": "none but presence"}, "divided"),
        ({"ranges": "x"}, {"secrets": {"x": {"within": 1}, "s": "public"}}, "ordered"),
        ({"ranges": "x"}, {"secrets": {"x": "public", "s": "public"}}, "exact"),
        ({"ranges": "x", "error": 100}, {}, "weighted"),
        ({"ranges": "x", "where": "s = 'f'"}, {}, "weighted"),
        ({"ranges": "x", "shape": ""}, {}, "weighted"),
    ],
)
def test_it_is_planned_where_the_file_says_sparse_and_nothing_else_is_much_better(
    item: dict[str, Any], changes: dict[str, Any], mechanism: str
) -> None:
    given = {**SPARSE, **item}
    made = td.plan(policy({key: value for key, value in given.items() if value != ""}, **changes))
    assert made["r"].mechanism == mechanism
    assert made.epsilon == (0 if mechanism == "exact" else 1)
    assert made.certificate.exact


def test_a_release_is_read_back_verified_and_asked() -> None:
    asked = policy({**SPARSE, "ranges": "x"}, {**SPARSE, "name": "m", "rectangles": ["y", "z"]}, budget={"epsilon": 8})
    made = released(asked, "out")
    again = td.load_release("out")
    assert np.array_equal(again["r"].values, made["r"].values)
    assert all(check.passed for check in td.verify("out"))
    found = again["r"].between(400, 600)
    assert found.lower <= 900 <= found.upper
    box = again["m"].rectangle(y=(0, 40), z=(20, 63))
    assert box.lower <= 4000 <= box.upper
    assert again.ask("x between 400 and 600").source == "r"
    report = Path("out/report.html").read_text()
    assert "is shown as even inside" in report
    assert "no plan can know it" in report
    assert any("no plan can know it" in note for note in notes(made.plan, None))
    many = again["r"].between_many([0, 400], [1499, 600])
    assert (many["lower"][0], many["upper"][0]) == (5000, 5000)


def test_made_up_people_may_be_sparse_too() -> None:
    found = simulate(td.plan(policy({**SPARSE, "ranges": "x"})), "long tail", 20_000, times=1)
    assert found.truth["r"].values.sum() == found.releases[0]["r"].values.sum() == 20_000


def test_numbers_that_were_never_drawn_are_refused() -> None:
    released(policy({**SPARSE, "ranges": "x"}), "out")
    file = Path("out/measurements/r.parquet")
    table = polars.read_parquet(file)
    values = table["value"].to_numpy().copy()
    values[-2] += 12_345
    table.with_columns(value=values).write_parquet(file)
    with pytest.raises(ReleaseError):
        td.load_release("out")


SCALE = Fraction(3)


def answers(query: Query, size: int) -> np.ndarray[Any, Any]:
    """All answers, a row of weights each."""
    codes = np.arange(size)
    lines = [(a <= codes) & (codes <= b) for a, b in combinations_with_replacement(codes, 2)]
    if query == cdf("x", shape="sparse"):
        return np.tri(size)
    if query == rectangles("x", "y", shape="sparse"):
        return np.array([np.outer(one, other).ravel() for one in lines for other in lines], float)
    if query == ranges("x", [[3, 20], [8, 9]], shape="sparse"):
        return np.array([(codes >= 3) & (codes <= 20), (codes >= 8) & (codes <= 9)], float)
    return np.array(lines, float)


@pytest.mark.parametrize("presence", ["public", "secret"])
@pytest.mark.parametrize(
    ("query", "size"),
    [
        (cdf("x", shape="sparse"), 64),
        (ranges("x", shape="sparse"), 64),
        (ranges("x", [[3, 20], [8, 9]], shape="sparse"), 64),
        (rectangles("x", "y", shape="sparse"), 16),
    ],
)
def test_it_is_the_error_of_least_squares_if_all_parts_are_divided(query: Query, size: int, presence: str) -> None:
    sides = 2 if query == rectangles("x", "y", shape="sparse") else 1
    policy = td.load_policy(
        policy_document(presence=presence, attributes={name: {"integer": [0, size - 1]} for name in "xy"[:sides]})
    )
    (strategy,) = (one for one in proposals(query, policy) if one.mechanism.name == "divided")
    parts = strategy.noisy[0].contribution
    assert isinstance(parts, Divided)
    precise = np.zeros((size**sides, size**sides))
    for place, width in enumerate(parts.widths):
        line = np.kron(np.eye(size // width), np.ones(width))
        rows = line if sides == 1 else np.kron(line, line)
        precise += rows.T @ rows / strategy.noise.variance(parts.scale_of(SCALE, place))
    if presence == "public":
        precise += np.ones_like(precise) * 1e7
    asked = answers(query, size)
    variance = (asked @ np.linalg.inv(precise) * asked).sum(axis=1)
    assert mean_variance(query, Scaled(strategy, SCALE, policy.domain)) == pytest.approx(variance.mean(), rel=1e-4)


# -- intervals --------------------------------------------------------------------------------------
# Intervals from divided parts: they hold the truth, however uneven parts are inside.

SURE = Fraction(19, 20)


def planned(sides: int, presence: str, size: int) -> Plan:
    names = ["x", "y"][:sides]
    asked = {"rectangles": names} if sides == 2 else {"ranges": "x"}
    return td.plan(
        policy_document(
            presence=presence,
            attributes={name: {"integer": [0, size - 1]} for name in names},
            release=[{"name": "r", "shape": "sparse", **asked}],
        )
    )


def uneven(sides: int, size: int) -> Ints:
    """Most records at few places, and others at the ends of parts, too few for these to be divided."""
    cells = np.zeros((size,) * sides, np.int64)
    cells[(size // 3,) * sides], cells[(size // 2,) * sides] = 3000, 700
    cells[(0,) * sides], cells[(size - 1,) * sides] = 25, 40
    cells[(size // 8,) * sides] = 30
    return cells


def drawn(plan: Plan, cells: Ints) -> Measured:
    exact = (cells[..., None], *(np.array([cells.sum()]) for _ in plan["r"].strategy.exact))
    return noisy(plan["r"], exact, without_ledger(plan.certificate))


@pytest.mark.parametrize("presence", ["public", "secret"])
@pytest.mark.parametrize(("sides", "size"), [(1, 300), (2, 40)])
def test_intervals_hold_the_truth_as_often_as_they_say(sides: int, size: int, presence: str) -> None:
    """A false alarm below 1e-9 for each: of 600 boxes, one in each of 600 releases, 30 may miss on average, and the
    chance that more than 72 do is less (Chernoff).
    """
    plan, cells, rng = planned(sides, presence, size), uneven(sides, size), np.random.default_rng(4)
    assert plan["r"].mechanism == "divided"
    at, missed = plan["r"].scaled(plan.policy.domain), 0
    for _ in range(600):
        low, high = np.sort(rng.integers(0, size, (2, sides)), axis=0)
        ends = tuple(np.array([end]) for end in low), tuple(np.array([end]) for end in high)
        found = at.mechanism.box_intervals(at, drawn(plan, cells), *ends, SURE)
        assert found is not None
        truth = cells[tuple(slice(a, b + 1) for a, b in zip(low, high, strict=True))].sum()
        missed += int(abs(truth - found[0][0]) > found[1][0] + 1e-9)
    assert missed <= 72


@pytest.mark.parametrize(("sides", "size"), [(1, 100), (2, 20)])
def test_many_boxes_are_as_one_by_one(sides: int, size: int) -> None:
    plan, cells = planned(sides, "public", size), uneven(sides, size)
    at, measured = plan["r"].scaled(plan.policy.domain), drawn(plan, cells)
    rng = np.random.default_rng(5)
    ends = np.sort(rng.integers(0, size, (2, 40, sides)), axis=0)
    low, high = (tuple(end[:, axis] for axis in range(sides)) for end in ends)
    many = at.mechanism.box_intervals(at, measured, low, high, SURE)
    assert many is not None
    for place in range(40):
        mask = np.zeros((size,) * sides, np.bool_)
        mask[tuple(slice(a[place], b[place] + 1) for a, b in zip(low, high, strict=True))] = True
        alone = at.mechanism.interval(at, measured, mask, SURE)
        assert alone == pytest.approx((many[0][place], many[1][place]))


def test_last_numbers_are_those_of_parts_inside_and_of_all_that_touch() -> None:
    plan, cells = planned(1, "public", 100), uneven(1, 100)
    at = plan["r"].scaled(plan.policy.domain)
    last = LastNumbers.of(at, drawn(plan, cells))
    assert [one.width for one in last.levels] == [8, 1]
    whole = np.ones(100, np.bool_)
    for touching, (first, end) in product((False, True), ((0, 99), (3, 70), (64, 99))):
        mask = (np.arange(100) >= first) & (np.arange(100) <= end)
        by_hand = sum(
            float(one.counts[part])
            for one in last.levels
            for part in np.flatnonzero(one.there)
            if (there := mask[part * one.width : (part + 1) * one.width]).all() or (touching and there.any())
        )
        assert last.over(mask, touching=touching)[0] == pytest.approx(by_hand)
    found = at.mechanism.interval(at, drawn(plan, cells), whole, SURE)
    assert found == (cells.sum(), 0.0)


# -- rounds fit -------------------------------------------------------------------------------------
# Tables from divided parts, against least squares written out for the parts that were divided.

ROUNDS_FIT_SCALE = Fraction(1)


@pytest.mark.parametrize("presence", ["public", "secret"])
def test_all_rounds_are_put_together_as_well_as_can_be(presence: str) -> None:
    policy = td.load_policy(
        policy_document(
            presence=presence, attributes={"x": {"integer": [0, 99]}, "s": ["f", "m"]}, secrets={"s": "public"}
        )
    )
    query = cdf("x", by=("s",), shape="sparse")
    (strategy,) = (one for one in proposals(query, policy) if one.mechanism.name == "divided")
    at, parts = Scaled(strategy, ROUNDS_FIT_SCALE, policy.domain), strategy.noisy[0].contribution
    assert isinstance(parts, Divided)
    cells = np.zeros((2, 100), np.int64)
    cells[:, 10], cells[:, 66], cells[1, 90:] = 500, 200, 30
    measured = parts.measure(cells, ROUNDS_FIT_SCALE, lambda law, scale, shape: law.draw(scale, shape))
    exact = [np.array([[700], [1000]])] if presence == "public" else []
    table = fitted(at, (measured, *exact, *(np.zeros(0, np.int64) for _ in strategy.exact[1:])))
    totals = known_totals(at, (measured, *exact))
    assert (totals is None) == (presence == "secret")
    for line in range(2):
        rows, told, precise = [], [], []
        for place, one in enumerate(parts.told(measured[line], ROUNDS_FIT_SCALE)):
            again = None if place == parts.rounds - 1 else parts.scale_again(ROUNDS_FIT_SCALE, place)
            for part in np.flatnonzero(one.active[0]):
                row = (np.arange(100) // one.width == part).astype(float)
                rows.append(row)
                told.append(one.counts[0, part])
                precise.append(1 / LAPLACE.variance(ROUNDS_FIT_SCALE * parts.rounds))
                if again is not None and one.settled[0, part]:
                    rows.append(row)
                    told.append(one.again[0, part])
                    precise.append(1 / LAPLACE.variance(again))
        if totals is not None:
            rows, told, precise = [*rows, np.ones(100)], [*told, totals[line]], [*precise, 1e6]
        root = np.sqrt(np.array(precise))[:, None]
        best = np.linalg.lstsq(np.array(rows) * root, np.array(told) * root[:, 0], rcond=None)[0]
        assert table[line] == pytest.approx(best, abs=1e-3)  # of all that fit, the evenest is the shortest
