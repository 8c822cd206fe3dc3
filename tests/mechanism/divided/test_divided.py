"""Parts that are divided: when they are planned, released, read back, verified and asked."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import tetraodon as td
from tetraodon.cli.plan_words import notes
from tetraodon.errors import ReleaseError
from tetraodon.mechanism.adaptive_partition import mean_variance
from tetraodon.mechanism.registry import proposals
from tetraodon.mechanism.strategy import Scaled
from tetraodon.query.adaptive_partition import Divided
from tetraodon.query.kinds import cdf, ranges, rectangles
from tetraodon.query.query import Query
from tetraodon.releases.simulated import simulate


def policy(*items: dict[str, Any], **changes: Any) -> td.Policy:
    document = {
        "dataset": "d",
        "individuals": "one row each",
        "presence": "public",
        "attributes": {
            "x": {"integer": [0, 1499]},
            "y": {"integer": [0, 63]},
            "z": {"integer": [0, 63]},
            "s": ["f", "m"],
        },
        "secrets": {"s": "public"},
        "budget": {"epsilon": 1},
        "release": list(items),
    }
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
        ({"ranges": "x", "error": 100}, {}, "hierarchical"),
        ({"ranges": "x", "where": "s = 'f'"}, {}, "hierarchical"),
        ({"ranges": "x", "shape": ""}, {}, "hierarchical"),
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
        {
            "dataset": "d",
            "presence": presence,
            "attributes": {name: {"integer": [0, size - 1]} for name in "xy"[:sides]},
            "budget": {"epsilon": 1},
        }
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
