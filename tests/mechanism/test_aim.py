"""Made-up records as an item: planned, certified, drawn, verified; and nearer to the truth than independent ones."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.policies import public_policy

import tetraodon as td
from tetraodon.errors import Refused
from tetraodon.mechanism.aim import AIM, draw_tables
from tetraodon.noise.laws import LAPLACE
from tetraodon.query.aim import ChosenTables
from tetraodon.query.linear import LinearQuery, Measurement, Split

POLICY: dict[str, Any] = public_policy(
    attributes={name: {"integer": [0, 3]} for name in "abcde"},
    budget={"epsilon": 2},
    release=[{"name": "people", "synthetic": {"records": 500}}],
)


def tables_of(plan: td.Plan) -> ChosenTables:
    found = plan["people"].strategy.noisy[0].contribution
    assert isinstance(found, ChosenTables)
    return found


def people(n: int = 4000) -> pl.DataFrame:
    """b follows a, c follows b; d and e follow nothing."""
    rng = np.random.default_rng(1)
    a = rng.integers(0, 4, n)
    b = np.where(rng.random(n) < 0.85, a, rng.integers(0, 4, n))
    c = np.where(rng.random(n) < 0.85, 3 - b, rng.integers(0, 4, n))
    return pl.DataFrame({"a": a, "b": b, "c": c, "d": rng.integers(0, 4, n), "e": rng.integers(0, 2, n)})


def off(one: pl.DataFrame, other: pl.DataFrame, x: str, y: str) -> float:
    """Total variation between two tables of two attributes."""
    shares = []
    for frame in (one, other):
        table = np.zeros((4, 4))
        np.add.at(table, (frame[x].to_numpy(), frame[y].to_numpy()), 1 / len(frame))
        shares.append(table)
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def test_a_release_is_planned_charged_written_and_verified(tmp_path: Path) -> None:
    """Records are made up with the pairs that go together; a false alarm would need noise of eight deviations."""
    book, out = f"sqlite:///{tmp_path / 'l.db'}", tmp_path / "out"
    policy = td.load_policy(POLICY)
    with td.Ledger(book) as ledger:
        ledger.open("d", 2, policy.document)
    real = people()
    released = td.release(policy, real, ledger=book, out=out)
    with td.Ledger(book) as ledger:
        assert ledger.account("d").left == 0
    made = released["people"].to_polars()
    assert made.columns == ["record", *"abcde"]
    assert len(made) == 500
    mixed = real.with_columns(pl.col("b").shuffle(seed=0))
    assert off(made, real, "a", "b") < off(mixed, real, "a", "b") / 2
    assert off(made, real, "b", "c") < 0.3
    assert all(check.passed for check in td.verify(out))
    assert td.load_release(out)["people"].to_polars().equals(made)
    assert "every record is made up" in (out / "report.html").read_text(encoding="utf-8")


def test_without_noise_what_goes_together_is_chosen_first() -> None:
    tables = ChosenTables(tuple(map(Split, "abcde")), (4,) * 5, 2, total=True)
    real = people().to_numpy()
    domain = td.load_policy(POLICY).domain
    counted = LinearQuery(tables).counted(domain, real, np.ones(len(real), np.int64))
    given, chosen = tables.tables(AIM.without_noise(Measurement(LinearQuery(tables), Fraction(10)), counted))
    assert chosen[0][0] == (0, 1, 2)
    cells = np.ravel_multi_index(tuple(real[:, :3].T), (4, 4, 4))
    assert chosen[0][1].tolist() == np.bincount(cells, minlength=64).tolist()
    assert [cells.tolist() for _, cells in given[:2]] == [[4000], np.bincount(real[:, 0], minlength=4).tolist()]


def test_nothing_is_left_to_choose() -> None:
    tables = ChosenTables(tuple(map(Split, "ab")), (2, 2), 1, 1, total=True)
    wide = ChosenTables(tuple(map(Split, "abc")), (2, 2, 2), 3, 1, total=True)
    for one, pairs in ((tables, 1), (wide, 1)):
        measured = Measurement(LinearQuery(one), Fraction(1))
        told = AIM.without_noise(measured, np.zeros((0, len(one.sizes) + 1), np.int64))
        assert one.could_tell(told, Fraction(1))
        assert len(one.tables(told)[1]) == pairs


def test_everything_that_is_told_has_noise_of_its_scale() -> None:
    tables = ChosenTables(tuple(map(Split, "abc")), (2, 3, 2), 2, 0, (0,), True)
    drawn = []

    def draw(law: Any, scale: Fraction, shape: tuple[int, ...]) -> np.ndarray:
        drawn.append((law, scale, shape))
        return np.ones(shape, np.int64)

    counted = np.array([[1, 2, 0, 5]])
    scales = []

    def choose(scores: Any, scale: Fraction) -> int:
        scales.append((len(scores), scale))
        return 0

    told = draw_tables(Measurement(LinearQuery(tables), Fraction(3)), counted, draw, choose)
    assert scales == [(4, 81), (3, 81)]  # scores are three times what a table of three attributes is off
    assert drawn[:2] == [(LAPLACE, 12, (3,)), (LAPLACE, 12, (2,))]
    assert [one[:2] for one in drawn[2:]] == [(LAPLACE, 3)] * 2
    given, chosen = tables.tables(told)
    assert [cells.tolist() for _, cells in given] == [[5], [0, 5], [1, 1, 6], [6, 1]]
    assert all(cells.sum() == 5 + len(cells) for _, cells in chosen)


def test_a_policy_with_fewer_secrets_has_less_noise() -> None:
    everything, one = td.plan(POLICY), td.plan(POLICY | {"together": "one attribute at a time"})
    public = td.plan(POLICY | {"secrets": dict.fromkeys("abc", "public")})
    assert (tables_of(everything).most, tables_of(one).most) == (0, 4)
    assert one["people"].expected_error < everything["people"].expected_error * 0.6
    assert one["people"].baseline_error == everything["people"].expected_error
    assert tables_of(public).free == (0, 1, 2)
    assert {plan.epsilon for plan in (everything, one, public)} == {2}


def test_blocks_as_bins_are_free() -> None:
    blocks = {"secrets": {"a": {"blocks": [[0, 1], [2, 3]]}}}
    item = {"name": "people", "synthetic": {"records": 5}, "bins": {"a": "secret blocks"}}
    assert tables_of(td.plan(POLICY | blocks | {"release": [item]})).free == (0,)
    assert tables_of(td.plan(POLICY | blocks)).free == ()


def test_gaussian_noise_where_many_tables_are_chosen() -> None:
    budget = {"budget": {"epsilon": 1, "delta": "1e-5"}}
    wide = {"attributes": {f"x{n}": {"integer": [0, 3]} for n in range(14)}}
    many = td.plan(POLICY | budget | wide)
    assert many["people"].strategy.noise.name == "gaussian"
    assert many.epsilon <= 1


@pytest.mark.parametrize(
    "changes",
    [
        {"secrets": dict.fromkeys("abcde", "public")},
        {"known": [{"marginal": "a"}]},
    ],
    ids=["nothing is secret", "known counts"],
)
def test_what_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        td.plan(POLICY | changes)


def test_wide_attributes_need_bins() -> None:
    wide = {"attributes": {"a": {"integer": [0, 10**8]}, "b": {"integer": [0, 3]}}}
    with pytest.raises(Refused, match="give `bins`"):
        td.plan(POLICY | wide)


def test_simulations_show_it() -> None:
    found = td.editor.simulate(td.plan(POLICY), n=300, times=1)
    assert [len(r["people"].columns["record"]) for r in (*found.releases, found.truth)] == [500, 500]


def test_beside_known_counts_it_says_what_is_possible_and_that_is(tmp_path: Path) -> None:
    document = {**POLICY, "known": [{"marginal": ["a"]}]}
    with pytest.raises(Refused, match=r"release histograms .* `tetraodon synthesize`"):
        td.plan(td.load_policy(document))
    tables = [{"name": "ab", "histogram": ["a", "b"]}, {"name": "bc", "histogram": ["b", "c"]}]
    plan = td.plan(td.load_policy({**document, "release": tables}))
    with td.Ledger(f"sqlite:///{tmp_path / 'l.db'}") as ledger:
        ledger.open("d", 2, plan.policy)
        made = td.synthesize(td.release(plan, people(), ledger=ledger, out=tmp_path / "out"), 100)
    assert len(made) == 100
    assert {*made.codes} == {"a", "b", "c"}
