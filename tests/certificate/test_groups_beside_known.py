"""Groups of dependent rows beside one known count, against every way in which groups make up for each other."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from tests.policy.test_build_attackers import read

import tetraodon as td
from tetraodon.certificate.correlated_records import certify_release
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.policy.attackers import DependentGroups
from tetraodon.policy.policy import Policy
from tetraodon.queries import cdf, count, histogram, total
from tetraodon.query.kinds import linear
from tetraodon.query.linear import Measurement
from tetraodon.query.query import Query

VALUES = 4
HALF = {"count": "x >= 2"}


def policy(rows: int, **changes: Any) -> Policy:
    attributes = {"x": {"integer": [0, VALUES - 1]}}
    return read([{"groups": "home", "at most": rows}], **({"attributes": attributes, "known": [HALF]} | changes))


def sequences(most: int, *, ends: bool) -> list[tuple[int, ...]]:
    """What groups add to a count, one after the other, by definition: no part lies on the way but all of them."""
    found = []
    for size in range(1, 2 * most + 2):
        for one in combinations_with_replacement([n for n in range(-most, most + 1) if n], size):
            whole = sum(one)
            parts = {sum(some) for k in range(1, size) for some in combinations(one, k)}
            if (ends or whole == 0) and not any(min(0, whole) <= part <= max(0, whole) for part in parts):
                found.append(one)
    return found


@pytest.mark.parametrize("most", [1, 2, 3])
def test_so_many_groups_make_up_for_each_other(most: int) -> None:
    exact, ends = (max(map(len, sequences(most, ends=ends))) for ends in (False, True))
    assert exact * most == DependentGroups("home", most).rows_together(1)
    assert ends <= exact


@pytest.mark.parametrize("question", [histogram("x"), total("x"), cdf("x"), count("x = 1")], ids=str)
@pytest.mark.parametrize("known", [HALF, HALF | {"at most": 3}, HALF | {"at least": 2}], ids=str)
def test_no_neighbours_of_three_groups_of_two_lose_more(question: Query, known: dict[str, Any]) -> None:
    """Every change of three groups that adds up to nothing, or lies on the way, while no part does."""
    here = policy(2, known=[known])
    matrix = np.array([[float(entry) for entry in row] for row in linear(question, here.domain).matrix(here.domain)[0]])
    pairs = list(product(range(VALUES), repeat=2))
    answers = np.array([matrix[:, list(pair)].sum(axis=1) for pair in pairs])
    counted = np.array([sum(value >= 2 for value in pair) for pair in pairs])
    moves = {
        added: np.unique([(answers[:, None] - answers[None])[counted[:, None] - counted[None] == added]][0], axis=0)
        for added in range(-2, 3)
    }
    worst = max(float(np.abs(moves[0]).sum(axis=1).max()), 0.0)
    for some in sequences(2, ends=known != HALF):
        total_moves = np.zeros((1, matrix.shape[0]))
        for added in some:
            total_moves = np.unique((total_moves[:, None] + moves[added][None]).reshape(-1, matrix.shape[0]), axis=0)
        worst = max(worst, float(np.abs(total_moves).sum(axis=1).max()))
    measured = [Measurement(linear(question, here.domain), Fraction(1))]
    price = certify_release(here, measured).epsilon
    assert worst <= price
    assert price == 6 * certify_release(policy(1, known=[]), measured).epsilon
    if question == histogram("x") and known == HALF:
        assert worst == price  # three groups of which all rows change


@pytest.mark.parametrize("known", [HALF | {"is": 2}, HALF | {"at most": 2}], ids=str)
def test_attackers_who_believe_anything_about_three_homes_of_two(known: dict[str, Any]) -> None:
    """Of the total with noise that halves from number to number, summed over all records that fit what is known."""
    here, random, worst = policy(2, known=[known]), np.random.default_rng(5), 0.0
    records = np.array(list(product(range(VALUES), repeat=6)))
    possible = np.array([here.known[0].allows([int(many)]) for many in (records >= 2).sum(axis=1)])
    outputs = 0.5 ** np.abs(records.sum(axis=1)[:, None] - np.arange(0, 19, 3))
    homes = records[:, ::2] * VALUES + records[:, 1::2]
    either = np.zeros((3, VALUES**2))  # two more in one home, one fewer in each of the others, or as it was
    either[0, [0, VALUES**2 - 1]] = either[1:, [2 * VALUES, VALUES + 1]] = 1 / 2
    some = [random.dirichlet([alpha] * VALUES**2, 3) for alpha in (0.05, 0.5) for _ in range(30)]
    for prior in (either, *some):
        likely = possible * np.prod([prior[home][homes[:, home]] for home in range(3)], axis=0)
        given = [likely * (records[:, 0] == value) for value in range(VALUES)]
        told = [one @ outputs / one.sum() for one in given if one.sum() > 1e-12]
        worst = max([worst, *(float(np.log2(one / other).max()) for one, other in product(told, repeat=2))])
    price = certify_release(here, [Measurement(linear(total("x"), here.domain), Fraction(1))]).epsilon
    assert 3 < worst <= price  # more than one row can move alone


def test_a_plan_spends_its_budget_and_gaussian_noise_costs_the_square() -> None:
    here = policy(3, release=[{"name": "h", "histogram": "x"}])
    plan = td.plan(here)
    assert plan.epsilon == 1
    assert plan["h"].scale == 2 * 3 * 5
    assert not plan.certificate.exact
    assert "15 rows" in " ".join(td.explain(here).text.split())
    measured = [Measurement(linear(histogram("x"), here.domain), Fraction(90), GAUSSIAN)]
    with_delta = policy(3, budget={"epsilon": 1, "delta": "1e-6"})
    assert certify_release(with_delta, measured).rho == 15**2 * Fraction(2, 2 * 90**2)
    assert td.sensitivity(here, total("x")).value == 15 * 3
    assert not td.sensitivity(here, total("x")).exact


def test_a_table_whose_groups_are_cut_is_refused(tmp_path: Path) -> None:
    here = policy(2, release=[{"name": "h", "histogram": "x"}])
    good = polars.DataFrame({"x": [0, 1, 2, 3], "home": ["a", "a", "b", "b"]})
    large, nameless = (
        good.with_columns(home=polars.Series(["a", "a", "a", "b"])),
        good.with_columns(home=polars.Series(["a", "a", "b", None])),
    )
    with td.Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open("power", 9, here.document)
        td.release(here, good, ledger=ledger)
        for table in (large, nameless):
            with pytest.raises(td.errors.TetraodonError, match="some rows would not be counted"):
                td.release(here, table, ledger=ledger)
        assert ledger.account("power").left == 8


MANY = [[HALF, {"count": "x = 0"}], [{"marginal": "x"}], [{"blocks": {"x": [[0, 1], [2, 3]]}}]]


@pytest.mark.parametrize("known", MANY, ids=str)
def test_more_than_one_count_is_refused(known: list[dict[str, Any]]) -> None:
    with pytest.raises(td.errors.Refused, match="beside one known count"):
        policy(2, known=known)
    alone = read(["independent"], attributes={"x": {"integer": [0, VALUES - 1]}}, known=known)
    bypassed = dataclasses.replace(alone, attackers=DependentGroups("home", 2))
    with pytest.raises(td.errors.Refused, match="beside one known count"):
        certify_release(bypassed, [Measurement(linear(total("x"), alone.domain), Fraction(1))])
