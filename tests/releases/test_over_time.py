"""Releases one after the other are charged what they lose together, computed here from tables, edge by edge."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from tests.gate.ways import TABLE, VIEW
from tests.policies import public_policy

import tetraodon as td
from tetraodon.ledger.account import ADDS_UP, JOINTLY
from tetraodon.releases import pricing
from tetraodon.releases.counting import count
from tetraodon.releases.pricing import governing_policy

Record = tuple[int, str]
RECORDS: list[Record] = list(itertools.product(range(3), "fm"))
PEOPLE = pl.DataFrame({"a": [n % 3 for n in range(30)], "sex": ["fm"[n % 2] for n in range(30)]})
ITEMS: dict[str, dict[str, Any]] = {
    "a": {"histogram": "a"},
    "sex": {"histogram": "sex"},
    "both": {"histogram": ["a", "sex"]},
    "few": {"count": "a >= 1"},
    "women": {"histogram": "a", "where": "sex = 'f'"},
    "men": {"histogram": "a", "where": "sex = 'm'"},
    "sum": {"total": "a"},
}


def wish(item: str, epsilon: str = "1", **more: Any) -> td.Policy:
    return td.load_policy(
        public_policy(
            dataset="tiny",
            attributes={"a": {"integer": [0, 2]}, "sex": ["f", "m"]},
            budget={"epsilon": epsilon},
            release=[{"name": item, **ITEMS[item]}],
        )
        | more
    )


Answers = list[tuple[Fraction, list[int]]]


def answers(plan: td.Plan) -> dict[Record, Answers]:
    """The scale of each noisy measurement, and what it is on a table of one record and somebody else's, exactly."""
    found = {}
    for record in RECORDS:
        a, sex = zip(record, RECORDS[0], strict=True)
        exact = count(plan, pl.DataFrame({"a": a, "sex": sex}), plan.policy)
        told = [array.ravel().tolist() for arrays in exact.values() for array in arrays]
        scales = [measurement.scale for item in plan for measurement in item.measurements]
        found[record] = [(scale, numbers) for scale, numbers in zip(scales, told, strict=True) if scale]
    return found


def lost(told: list[dict[Record, Answers]], x: Record, y: Record) -> Fraction:
    """What all of them tell of whether somebody is x or y."""
    moved = ((one, two) for each in told for one, two in zip(each[x], each[y], strict=True))
    return sum(
        (sum(abs(p - q) for p, q in zip(one[1], two[1], strict=True)) / one[0] for one, two in moved), Fraction(0)
    )


def edges(policy: td.Policy) -> list[tuple[Record, Record]]:
    return [(x, y) for x, y in itertools.combinations(RECORDS, 2) if policy.graph.distance(x, y) == 1]


def run(ledger: td.Ledger, *wishes: td.Policy, table: Any = PEOPLE) -> list[Fraction]:
    """Release one after the other; what was charged in all after each."""
    spent = []
    for one in wishes:
        td.release(one, table, ledger=ledger, allow_dearer=True)
        spent.append(ledger.account(one.dataset).charged)
    return spent


@pytest.fixture
def book(tmp_path: Path) -> td.Ledger:
    return td.Ledger(tmp_path / "ledger.db")


SECRETS: list[dict[str, Any]] = [
    {"together": "one attribute at a time"},
    {"together": "all at once"},
    {"together": "one attribute at a time", "secrets": {"a": {"within": 1}, "sex": "public"}},
    {"secrets": {"a": {"blocks": [[0, 1], [2]]}, "sex": "everything"}, "together": "one attribute at a time"},
]


@pytest.mark.parametrize("secrets", SECRETS)
@pytest.mark.parametrize("asked", [["a", "sex", "both", "few"], ["women", "men", "sum"]], ids="-".join)
def test_what_is_charged_is_what_the_worst_edge_loses(
    book: td.Ledger, secrets: dict[str, Any], asked: list[str]
) -> None:
    wishes = [wish(item, epsilon, **secrets) for item, epsilon in zip(asked, ["1", "1/2", "2", "1/3"], strict=False)]
    told = [answers(td.plan(one)) for one in wishes]
    book.open("tiny", 100, wishes[0])
    worst = [max(lost(told[: n + 1], x, y) for x, y in edges(wishes[0])) for n in range(len(told))]
    spent = run(book, *wishes)
    assert spent == worst
    assert book.audit().holds


def test_disjoint_parts_cost_what_one_of_them_does(book: td.Ledger) -> None:
    secrets = {"secrets": {"sex": "public"}}
    book.open("tiny", 5, wish("women", **secrets))
    assert run(book, wish("women", **secrets), wish("men", **secrets), wish("women", **secrets)) == [1, 1, 2]
    assert [entry.composition for entry in book.entries("tiny")] == [ADDS_UP, JOINTLY, ADDS_UP]
    assert pricing.quote(td.plan(wish("men", **secrets)), book).charge == 0


def test_whoever_chooses_what_is_next_by_what_was_answered_learns_no_more(tmp_path: Path) -> None:
    """Every transcript, over a window of outputs that holds the worst one: the exponent of its odds, exactly."""
    secrets = {"together": "one attribute at a time"}
    policy = wish("few", **secrets)
    first, choices = td.plan(policy), [td.plan(wish("few", "1/2", **secrets)), td.plan(wish("sex", **secrets))]
    totals = []
    for number, then in enumerate(choices):
        with td.Ledger(tmp_path / f"{number}.db") as ledger:
            ledger.open("tiny", 9, policy)
            totals.append(run(ledger, policy, then.policy)[-1])
    assert totals == [Fraction(3, 2), 1]
    worst, told, then = [Fraction(0), Fraction(0)], answers(first), [answers(plan) for plan in choices]
    for x, y in [*edges(policy), *((y, x) for x, y in edges(policy))]:
        for output in range(-3, 6):
            odds, path = exponent(told, x, y, [output]), output % 2  # what is asked next is chosen by the answer
            size = sum(len(numbers) for _, numbers in then[path][x])
            for more in itertools.product(range(-1, 4), repeat=size):
                worst[path] = max(worst[path], odds + exponent(then[path], x, y, more))
    assert worst == totals


def exponent(told: dict[Record, Answers], x: Record, y: Record, outputs: Sequence[int]) -> Fraction:
    """The logarithm of how much likelier the noisy outputs are for a table with x than for one with y."""
    found, output = Fraction(0), iter(outputs)
    for (scale, one), (_, two) in zip(told[x], told[y], strict=True):
        for p, q in zip(one, two, strict=True):
            seen = next(output)
            found += (abs(seen - q) - abs(seen - p)) / scale
    return found


def test_a_view_in_between_is_added_up(tmp_path: Path) -> None:
    with td.Ledger(tmp_path / "l.db") as ledger:
        ages = {**{k: v for k, v in VIEW.items() if k != "adversary"}, "budget": {"epsilon": 1}}
        ages |= {"together": "one attribute at a time", "presence": "public"}
        ledger.open("people", 100, ages)
        one = td.load_policy({**ages, "release": [{"name": "h", "histogram": "age"}]})
        two = td.load_policy({**ages, "release": [{"name": "n", "histogram": "nation"}]})
        td.release(one, TABLE, ledger=ledger)
        adversary = td.load_policy({**VIEW, "together": "one attribute at a time", "presence": "public"})
        td.publish(adversary, TABLE, ledger=ledger, out=tmp_path / "view", accept_exposure=True, allow_dearer=True)
        before = ledger.account("people").charged
        td.release(two, TABLE, ledger=ledger)
        assert ledger.account("people").charged == before
        td.release(one, TABLE, ledger=ledger)
        assert ledger.account("people").charged == before + 1


@pytest.mark.parametrize("change", ["unreadable", "too many", "rows are cut"])
def test_where_it_cannot_be_computed_losses_add_up(
    book: td.Ledger, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    secrets = {"secrets": {"sex": "public"}}
    policies = [wish(item, **secrets) for item in ("women", "men", "men")]
    book.open("tiny", 9, policies[0])
    run(book, *policies[:2])
    plan, account = td.plan(policies[2]), book.account("tiny")
    certificate = pricing.governing_certificate(plan, account)
    entries = list(book.entries("tiny"))
    assert pricing.charge_for(plan, certificate, account, lambda _: entries).amount == 1
    if change == "too many":
        monkeypatch.setattr(pricing, "MOST_TOGETHER", 1)
    if change == "rows are cut":
        governing = replace(governing_policy(account), key="who")
        monkeypatch.setattr(pricing, "governing_policy", lambda _: governing)
        monkeypatch.setattr(td.Policy, "cuts_rows", True)
    if change == "unreadable":  # what was charged nothing because of others cannot be left out
        entries[1].document["plan"]["queries"][0].pop("measurements")  # type: ignore[attr-defined]
    found = pricing.charge_for(plan, certificate, account, lambda _: entries)
    assert (found.amount, found.composition, found.after) == (1, ADDS_UP, None)


def test_whoever_is_overtaken_is_priced_again(book: td.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two who ask for the men at once, after the women: the second pays, although each alone would add nothing."""
    secrets = {"secrets": {"sex": "public"}}
    book.open("tiny", 9, wish("women", **secrets))
    run(book, wish("women", **secrets))
    real, asked = td.Ledger.charge, []

    def overtaken(self: td.Ledger, dataset: str, bill: Any) -> Any:
        asked.append((bill.charged, bill.after))
        if len(asked) == 1:
            run(self, wish("men", **secrets))
        return real(self, dataset, bill)

    monkeypatch.setattr(td.Ledger, "charge", overtaken)
    run(book, wish("men", **secrets))
    assert asked == [(0, 1), (0, 1), (1, None)]
    assert book.account("tiny").charged == 2


def test_waves_are_added_up_and_releases_of_one_wave_are_priced_together(book: td.Ledger) -> None:
    secrets = {"secrets": {"sex": "public"}, "population": "panel"}
    waves = [wish("women", dataset=name, **secrets) for name in ("jan", "feb")]
    book.open("jan", 9, waves[0])
    for one in waves:
        td.release(one, PEOPLE, ledger=book)
    assert book.account("panel").charged == 2
    td.release(wish("men", dataset="feb", **secrets), PEOPLE, ledger=book)
    assert book.account("panel").charged == 2


GAUSSIAN: dict[str, Any] = {"budget": {"rho": "0.02", "delta": "1e-6"}}


def squares(told: list[dict[Record, Answers]], x: Record, y: Record) -> Fraction:
    """The rho of all of them on one pair: half the sum of squared moves over squared widths ([CKS20] Thm 4)."""
    pairs = ((one, two) for each in told for one, two in zip(each[x], each[y], strict=True))
    return sum(
        (
            Fraction(sum((p - q) ** 2 for p, q in zip(one[1], two[1], strict=True))) / (2 * one[0] ** 2)
            for one, two in pairs
        ),
        Fraction(0),
    )


@pytest.mark.parametrize(
    ("secrets", "asked"), [*zip(SECRETS, [["a", "sex", "both"], ["women", "men", "sum"]] * 2, strict=True)]
)
def test_with_gaussian_noise_the_rho_of_the_worst_edge_is_charged(
    book: td.Ledger, secrets: dict[str, Any], asked: list[str]
) -> None:
    wishes = [wish(item, **secrets, **GAUSSIAN) for item in asked]
    plans = [td.plan(one) for one in wishes]
    assert all(plan.certificate.rho or not plan.certificate.epsilon for plan in plans)
    told = [answers(plan) for plan in plans]
    book.open("tiny", 100, wishes[0], delta="1e-6")
    worst = [max(squares(told[: n + 1], x, y) for x, y in edges(wishes[0])) for n in range(len(told))]
    spent = []
    for one in wishes:
        td.release(one, PEOPLE, ledger=book)
        spent.append(book.account("tiny").spent.rho)
    assert spent == worst
    assert sum(entry.loss.rho or 0 for entry in book.entries("tiny")) == worst[-1]
    assert book.audit().holds


def moments(told: Answers, others: Answers, order: int) -> list[NDArray[np.float64]]:
    """For each noisy number and each output, its part of the moment of the odds: e^(order (order - 1) rho) in all."""
    seen, found = np.arange(-70, 71), []
    for (width, one), (_, two) in zip(told, others, strict=True):
        for p, q in zip(one, two, strict=True):
            near, far = (np.exp(-((seen - c) ** 2) / (2 * float(width) ** 2)) for c in (p, q))
            found.append((near / near.sum()) ** order * (far / far.sum()) ** (1 - order))
    return found


def test_with_gaussian_noise_whoever_chooses_by_what_was_answered_learns_no_more(tmp_path: Path) -> None:
    """The moments of the odds over all transcripts, at two orders: of the worst way to choose, and of one by parity."""
    secrets = {"together": "one attribute at a time"}
    first = td.plan(wish("few", **secrets, **GAUSSIAN))
    choices = [td.plan(wish(item, **secrets, **GAUSSIAN)) for item in ("few", "sex")]
    paid = []
    for number, then in enumerate(choices):
        with td.Ledger(tmp_path / f"{number}.db") as ledger:
            ledger.open("tiny", 9, first.policy, delta="1e-6")
            run(ledger, first.policy, then.policy)
            paid.append(ledger.account("tiny").spent.rho)
    assert paid[1] < paid[0]
    told, later = answers(first), [answers(plan) for plan in choices]
    for order in (2, 3):
        worst, chosen = [0.0, 0.0], 0.0
        for x, y in [*edges(first.policy), *((y, x) for x, y in edges(first.policy))]:
            (begun,) = moments(told[x], told[y], order)
            ends = [math.prod(float(one.sum()) for one in moments(then[x], then[y], order)) for then in later]
            worst = [max(most, float(begun.sum()) * end) for most, end in zip(worst, ends, strict=True)]
            chosen = max(chosen, sum(float(begun[path::2].sum()) * end for path, end in enumerate(ends)))
        allowed = [math.exp(order * (order - 1) * float(rho)) for rho in paid]
        assert worst == pytest.approx(allowed, rel=1e-9)
        assert allowed[1] < chosen < allowed[0]


def test_pure_and_gaussian_releases_are_compared_with_their_own_kind(book: td.Ledger) -> None:
    """Each sum covers every pair: the men are free beside the women, in either currency, and of no use to the other."""
    secrets = {"secrets": {"sex": "public"}}
    book.open("tiny", 9, wish("women", **secrets), delta="1e-6")
    spent = []
    for item, more in (("women", {}), ("women", GAUSSIAN), ("men", {}), ("men", GAUSSIAN), ("men", GAUSSIAN)):
        td.release(wish(item, **secrets, **more), PEOPLE, ledger=book)
        spent.append(book.account("tiny").spent)
    rho = spent[1].rho
    assert [(one.pure, one.rho) for one in spent] == [(1, 0), (1, rho), (1, rho), (1, rho), (1, 2 * rho)]
    kinds = [entry.composition for entry in book.entries("tiny")]
    assert kinds == [ADDS_UP, ADDS_UP, JOINTLY, JOINTLY, ADDS_UP]
    assert book.audit().holds


@pytest.mark.parametrize("more", [{}, GAUSSIAN], ids=["laplace", "gaussian"])
def test_of_dependent_groups_every_change_of_their_rows_is_priced_together(
    book: td.Ledger, more: dict[str, Any]
) -> None:
    """Two rows of a home change, each from any record to any other: the worst pair of tables is found by listing."""
    homes = {"attackers": [{"groups": "home", "at most": 2}], **more}
    table = PEOPLE.with_columns(home=pl.Series([n // 2 for n in range(30)]))
    wishes = [wish(item, **homes) for item in ("women", "men", "a")]
    told = [answers(replace(plan, policy=wish("a", **more))) for plan in map(td.plan, wishes)]
    book.open("tiny", 100, wishes[0], **({"delta": "1e-6"} if more else {}))
    any_change = list(itertools.permutations(RECORDS, 2))
    each = [max((squares if more else lost)(told[: n + 1], x, y) for x, y in any_change) for n in range(3)]
    spent = []
    for one in wishes:
        td.release(one, table, ledger=book)
        spent.append(book.account("tiny").spent)
    assert [one.rho if more else one.pure for one in spent] == [(4 if more else 2) * worst for worst in each]
    assert book.entries("tiny")[1].composition == JOINTLY
