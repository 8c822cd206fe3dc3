"""Noise from a source: every tuple with exactly its probability, an unbiased estimate, and the priors it protects."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import tetraodon as td
from tests.noise.walk import Script
from tetraodon.attacks.on_view import link
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import PolicyError, Refused
from tetraodon.noise.coins import system_coins
from tetraodon.policy.adversary import Adversary
from tetraodon.query.condition.read import read_condition
from tetraodon.query.condition.syntax import Names
from tetraodon.views.channel import SetChannel, SourceChannel, channel_document, channel_from
from tetraodon.views.domain_count import weights_by
from tetraodon.views.estimate_sql import estimate_sql
from tetraodon.views.exposure import Parts, _tuples, shown, suspect
from tetraodon.views.interval import count_interval, sum_interval
from tetraodon.views.plan import plan_view
from tetraodon.views.report import plan_in_words, what_it_is
from tetraodon.views.side_tables import Sandbox
from tetraodon.views.source_noise import _below_ratio, draw_view, source_channel, withstands_source

F = Fraction
DOMAIN = Domain((Attribute("a", Integers(0, 2)), Attribute("b", Integers(0, 1))))
CHANNEL = SourceChannel(((5, 3, 2), (4, 1)), F(1, 4), F(3, 2))
CELLS = list(itertools.product(range(3), range(2)))


def test_probabilities_are_products() -> None:
    assert CHANNEL.source((0, 0)) == CHANNEL.likeliest == F(2, 5)
    assert CHANNEL.source((2, 1)) == CHANNEL.rarest == F(1, 25)
    assert CHANNEL.inserted((1, 1)) == F(3, 2) * F(3, 50)
    assert sum(CHANNEL.source(codes) for codes in itertools.product(range(3), range(2))) == 1


def test_the_loss_is_that_of_enumeration() -> None:
    """Of every view, between every table and any with one record more, or another in place of one of its own."""

    def chance(table: frozenset[int], view: frozenset[int]) -> Fraction:
        shown = [CHANNEL.inserted(CELLS[cell]) + (CHANNEL.keep if cell in table else 0) for cell in range(6)]
        return math.prod((p if cell in view else 1 - p for cell, p in enumerate(shown)), start=F(1))

    views = [frozenset(some) for n in range(7) for some in itertools.combinations(range(6), n)]
    presence = replaced = F(1)
    for table in (frozenset(some) for n in (0, 1, 2) for some in itertools.combinations(range(6), n)):
        laws = [chance(table, view) for view in views]
        for more in set(range(6)) - table:
            for other in (table | {more}, *((table - {less}) | {more} for less in table)):
                ratios = [chance(other, view) / law for view, law in zip(views, laws, strict=True)]
                worst = max(*ratios, 1 / min(ratios))
                presence = max(presence, worst) if len(other) > len(table) else presence
                replaced = max(replaced, worst) if len(other) == len(table) else replaced
    assert (CHANNEL.presence_ratio, CHANNEL.replace_ratio) == (presence, replaced)


@pytest.mark.parametrize("asked", ["a < 2 and b = 0", "a + b = 2 or a = 0", "b = 1"])
def test_tuples_are_counted_by_weight(asked: str) -> None:
    sandbox = Sandbox(DOMAIN)
    truth = read_condition(asked, Names(DOMAIN))
    held = [codes for codes in CELLS if eval(asked.replace(" = ", " == "), {}, dict(zip("ab", codes, strict=True)))]
    assert weights_by(sandbox, truth, (), CHANNEL.weights).item() * CHANNEL.noise == sum(map(CHANNEL.inserted, held))
    by = weights_by(sandbox, truth, (1, 0), CHANNEL.weights)
    assert {(a, b) for b in range(2) for a in range(3) if by[b, a]} == set(held)
    assert all(by[b, a] == CHANNEL.weights[0][a] * CHANNEL.weights[1][b] for a, b in held)
    assert weights_by(sandbox, None, (1,), CHANNEL.weights).tolist() == [40, 10]


def test_every_tuple_is_inserted_with_its_probability() -> None:
    """Inclusion of each tuple, of each pair, and of records; false alarms below 1e-9 in all (Hoeffding)."""
    rounds, table = 4000, np.array([1, 4], np.uint64)
    shown = np.zeros((rounds, 6), bool)
    for row in shown:
        row[draw_view(CHANNEL, DOMAIN, table, system_coins()).astype(np.int64)] = True
    chances = []
    for cell in range(6):
        noise = CHANNEL.inserted(DOMAIN.codes_of(cell))
        chances.append(float(noise + (CHANNEL.keep if cell in (1, 4) else 0)))
    reach = math.sqrt(math.log(2 * 21 * 1e9) / (2 * rounds))
    assert (abs(shown.mean(axis=0) - chances) < reach).all()
    for one, other in itertools.combinations(range(6), 2):
        assert abs((shown[:, one] & shown[:, other]).mean() - chances[one] * chances[other]) < reach
    whole = [float(CHANNEL.estimate(int(row[:3].sum()), 5 * 5 + 3 * 4)) for row in shown]
    assert abs(np.mean(whole) - 1) < 7 * np.std(whole) / math.sqrt(rounds)


@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.999"])
def test_the_interval_holds_for_every_table(confidence: str) -> None:
    """By enumeration of all tables, questions and views of a domain of six tuples."""
    noise = [CHANNEL.inserted(DOMAIN.codes_of(cell)) for cell in range(6)]
    tight = F(1)
    for asked in (range(6), range(3), (0, 5)):
        mass = sum((noise[cell] for cell in asked), F(0))
        weight, half = int(mass / CHANNEL.noise), (1 - F(confidence)) / 2
        ends = [count_interval(CHANNEL, n, (weight, weight), (half, half)) for n in range(len(asked) + 1)]
        for table in itertools.product((0, 1), repeat=len(asked)):
            law = {0: F(1)}
            for held, cell in zip(table, asked, strict=True):
                chance = noise[cell] + held * CHANNEL.keep
                law = {n: law.get(n, 0) * (1 - chance) + law.get(n - 1, F(0)) * chance for n in range(len(law) + 1)}
            holds = sum((law[n] for n in law if ends[n][0] <= sum(table) <= ends[n][1]), F(0))
            tight = min(tight, holds)
    assert F(confidence) <= tight


@pytest.mark.parametrize("values", [(1.0, 5.0, 9.0), (-3.0, 0.0, 2.0)])
def test_the_interval_of_a_sum_holds_for_every_table(values: tuple[float, ...]) -> None:
    """By enumeration of all tables and views: the probability of a miss is at most a fifth."""
    views = np.array(list(itertools.product((0, 1), repeat=6)))
    in_view, of = views.reshape(-1, 3, 2).sum(axis=2).astype(float), np.repeat(values, 2)
    weights = np.broadcast_to(5.0 * np.array(CHANNEL.weights[0]), in_view.shape)
    low, high = sum_interval(CHANNEL, in_view, weights, np.broadcast_to(values, in_view.shape), 6.0, F(1, 5))
    noise = np.array([float(CHANNEL.inserted(codes)) for codes in CELLS])
    for table in views:
        shown_with = noise + float(CHANNEL.keep) * table
        law = np.where(views, shown_with, 1 - shown_with).prod(axis=1)
        truth = float(table @ of)
        assert law[(truth < low - 1e-9) | (high + 1e-9 < truth)].sum() <= 0.2


def test_the_interval_is_of_the_width_of_the_noise() -> None:
    domain = Domain((Attribute("a", Integers(0, 999_999)),))
    channel = SourceChannel(((1,) * 10**6,), F(1, 2), F(10_000))
    assert domain.size == channel.over(1)
    low, high = count_interval(channel, 10_500, (10**6, 10**6), (F(1, 40), F(1, 40)))
    assert low < 1000 < high
    assert (
        high - low < 3 * 2 * 2 * 101
    )  # two standard deviations of the noise, over keep, both ways; half as much again


def test_the_coin_on_the_bar_is_settled_exactly() -> None:
    b, exponent = F(1, 4), F(1, 3)
    bar = 0.25 / (1 - math.exp(-1 / 3))
    word = int(bar * 2**64)
    assert _below_ratio(b, exponent, word - 2**12, system_coins())
    assert not _below_ratio(b, exponent, word + 2**12, system_coins())
    exact = 0
    for shift in range(-(2**12), 2**12, 2**9):  # somewhere between the two it changes, once
        exact += _below_ratio(b, exponent, word + shift, Script([2**63] * 4))
    assert 0 < exact < 16


def test_the_priors_it_protects_are_tight() -> None:
    gamma = F(1, 2)
    for codes in itertools.product(range(3), range(2)):
        d, b = CHANNEL.protected_prior(codes, gamma), CHANNEL.inserted(codes)
        assert d * (CHANNEL.keep + b) / (d * (CHANNEL.keep + b) + (1 - d) * b) == gamma


SIZES = (10, 20, 30)
WIDE = Domain(tuple(Attribute(f"a{i}", Integers(1, size)) for i, size in enumerate(SIZES)))
SOURCE = {"a0": [1 + (7 * i) % 5 for i in range(10)], "a2": [1 + (7 * i) % 5 for i in range(30)]}


def test_the_planned_channel_withstands_its_adversary() -> None:
    adversary = Adversary(k=3, gamma="0.5", records=100, rows="distinct", source=SOURCE)
    channel = source_channel(WIDE, adversary)
    assert adversary.prior(WIDE.size) == 300 * channel.likeliest
    for codes in itertools.product(*(range(0, size, 3) for size in SIZES)):
        prior = 300 * channel.source(codes)
        assert channel.protected_prior(codes, F(1, 2)) >= prior
        b = channel.inserted(codes)
        assert (1 - channel.keep - b) / (1 - b) >= prior / F(1, 2)
    assert channel.loss_presence <= channel.loss_replace
    assert withstands_source(channel, WIDE, adversary)
    assert not withstands_source(replace(channel, keep=channel.keep * F(101, 100)), WIDE, adversary)
    assert not withstands_source(replace(channel, scale=channel.scale * F(99, 100)), WIDE, adversary)
    assert not withstands_source(channel, WIDE, Adversary(k=3, gamma="0.5", records=100, rows="distinct"))
    assert channel_from(channel_document(channel)) == channel


@pytest.mark.parametrize(
    "changes",
    [{"kind": "exclusive"}, {"rows": "repeated"}, {"views": 2}, {"k": None, "d": "0.1"}, {"source": {"a": [0]}}],
)
def test_what_makes_no_source_is_refused(changes: dict[str, Any]) -> None:
    good = {"k": 3, "gamma": "0.5", "records": 100, "rows": "distinct", "source": SOURCE}
    with pytest.raises(PolicyError, match="source"):
        Adversary(**{**good, **changes})


def test_what_makes_no_channel_is_refused() -> None:
    with pytest.raises(PolicyError, match="weight of at least 1"):
        SourceChannel(((5, 3, 0), (4, 1)), F(1, 4), F(1))
    with pytest.raises(PolicyError, match="not probabilities"):
        SourceChannel(((5, 3, 2), (4, 1)), F(1, 2), F(2))
    with pytest.raises(PolicyError, match="does not fit"):
        source_channel(DOMAIN, Adversary(k=3, gamma="0.5", records=1, rows="distinct", source={"a": [1, 2]}))
    with pytest.raises(PolicyError, match="not above the prior"):
        source_channel(DOMAIN, Adversary(k=1, gamma="0.5", records=10, rows="distinct", source={"a": [5, 3, 2]}))


# -- the way of a policy ------------------------------------------------------------------------------

PEOPLE = {
    "dataset": "people",
    "presence": "public",
    "attributes": {"age": {"integer": [1, 40]}, "home": {"integer": [1, 30]}, "job": {"integer": [1, 20]}},
    "budget": {"epsilon": 12},
    "adversary": {
        "prior": {"k": 2, "source": {"age": [1 + 3 * (n < 10) for n in range(40)], "job": [9] * 5 + [2] * 15}},
        "posterior": "0.5",
        "rows": "distinct",
        "records": 600,
    },
}


def test_the_journey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """False-alarm rate below 1e-9: estimates are looked at within 8 standard deviations."""
    monkeypatch.chdir(tmp_path)
    policy = td.load_policy(PEOPLE)
    assert td.load_policy(policy.document).adversary == policy.adversary
    assert "chance by the public source, which weighs the values of age and job" in td.explain(policy).text
    plan = plan_view(policy)
    assert plan.noise_tuples == plan.channel.scale
    assert "times its probability under the public source" in " ".join(plan_in_words(plan)) + what_it_is(plan)
    cells = np.random.default_rng(4).choice(40 * 30 * 20, 600, replace=False)
    age, home, job = np.unravel_index(cells, (40, 30, 20))
    table = pl.DataFrame({"age": 1 + age, "home": 1 + home, "job": 1 + job})
    with td.Ledger("sqlite:///ledger.db") as ledger:
        ledger.open("people", 100, policy.document)
    view = td.publish(policy, table, ledger="sqlite:///ledger.db", out="view", accept_exposure=True)
    assert all(check.passed for check in td.verify("view"))
    for asked, held in (("age < 11", table["age"] < 11), ("age > job", table["age"] > table["job"])):
        found, truth = td.load_view("view").ask(asked), int(held.sum())
        assert found.lower <= max(found.value, 0) <= found.upper
        assert abs(found.value - truth) < 8 * plan.error()
        assert found == view.ask(asked)
    table.head(2).write_csv("known.csv")
    with pytest.raises(Refused, match="noise from a source"):
        link(view, "known.csv", secret=["job"])
    groups = view.ask("select job, avg(age) from people group by job")
    assert len(groups) == 20
    with td.Ledger("sqlite:///ledger.db") as ledger:
        assert ledger.account("people").left == 100 - plan.loss


def test_beliefs_from_the_view_alone_know_how_common_noise_is() -> None:
    """One attribute, and every tuple shown: what is expected there is what is shown less its noise."""
    domain = Domain((Attribute("a", Integers(0, 3)),))
    channel, shown_once = SourceChannel(((1, 2, 3, 4),), F(1, 2), F(1)), shown([np.arange(4, dtype=np.uint64)])
    found = suspect(domain, channel, shown_once, records=2)
    for code, (before, after) in enumerate(zip(found.before, found.after, strict=True)):
        b = channel.inserted((code,))
        odds = before / (1 - before) * float((channel.keep + b) / b)
        assert after == pytest.approx(odds / (1 + odds))
    parts = Parts.of(np.arange(4, dtype=np.uint64), 4, 2)
    assert _tuples(parts, 0, channel, 4).tolist() == [3, 7]
    assert _tuples(parts, 0, SetChannel(F(1, 2), F(1, 10)), 4) == 2


def test_the_script_for_duckdb_counts_by_weight(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        pl.DataFrame({"a": [0, 2], "b": [0, 1]}).write_parquet(tmp_path / "tuples.parquet")
        script = estimate_sql("t", DOMAIN, CHANNEL).replace("'tuples.parquet'", f"'{tmp_path / 'tuples.parquet'}'")
        connection.execute(script)
        [(weight,)] = connection.execute('SELECT sum(weight) * 5 FROM "values of a" WHERE a < 2').fetchall()
        [(found,)] = connection.execute(f"SELECT estimate(1, {weight})").fetchall()
    assert weight == 40
    assert found == pytest.approx(float(CHANNEL.estimate(1, 40)))


def test_a_source_of_another_domain_is_refused() -> None:
    wrong = {**PEOPLE, "adversary": {**PEOPLE["adversary"], "prior": {"k": 2, "source": {"age": [1, 2]}}}}
    with pytest.raises(PolicyError, match="one weight for each value"):
        td.load_policy(wrong)
