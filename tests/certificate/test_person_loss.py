"""Answers about people: what one person's step costs, against every pair of bags of rows of small worlds."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from typing import Any

import pytest

import tetraodon as td
from tetraodon.certificate.correlated_records import certify_release
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.pair_loss import person_loss
from tetraodon.domain import Attribute, Integers
from tetraodon.noise.laws import GAUSSIAN, LAPLACE, NoiseLaw
from tetraodon.queries import histogram, mean_per_person, people, total_per_person
from tetraodon.query.kinds import linear
from tetraodon.query.linear import LinearQuery, Measurement
from tetraodon.query.number import EachPerson

Bag = tuple[int, ...]


def policy(rows: int, low: int = 0, high: int = 2, **changes: Any) -> td.Policy:
    base = {
        "dataset": "d",
        "presence": "public",
        "individuals": {"key": "who", "at most": rows},
        "attributes": {"x": {"integer": [low, high]}},
        "budget": {"epsilon": 1},
    }
    return td.load_policy(base | changes)


def steps(here: td.Policy) -> Iterator[tuple[Bag, Bag]]:
    """Bags of one person that are one step apart, as docs/promise.md says, with up to one row too many."""
    values = range(here.domain["x"].size)
    bags = [bag for n in range(here.rows_per_person + 2) for bag in combinations_with_replacement(values, n)]

    def joined(a: int, b: int) -> bool:
        return a == b or here.graph.is_edge((here.domain["x"].value(a),), (here.domain["x"].value(b),))

    for x, y in product(bags, repeat=2):
        small, large = sorted((x, y), key=len)
        if x != y and any(all(map(joined, small, part)) for part in permutations(large, len(small))):
            yield x, y


def counted(bag: Bag, here: td.Policy) -> Bag:
    """The codes of the rows that count."""
    if len(bag) <= here.rows_per_person:
        return bag
    return tuple(sorted(bag))[: here.rows_per_person] if here.cuts_rows else ()


def told(bag: Bag, asked: EachPerson, here: td.Policy) -> list[int]:
    """What a person adds to each answer, in units."""
    rows = counted(bag, here)
    if asked.attribute is not None:
        return [min(asked.cap, sum(int(here.domain["x"].number(code)) for code in rows))]
    if asked.rows == 1:
        return [int(bool(rows))]
    return [int(len(rows) == number) for number in range(1, asked.rows + 1)]


def worst(here: td.Policy, measured: list[Measurement], power: int) -> Fraction:
    """The largest sum over all answers of how far a step moves them, in multiples of their scales."""
    found = Fraction(0)
    for x, y in steps(here):
        cost = Fraction(0)
        for one in measured:
            asked = one.query.contribution
            assert isinstance(asked, EachPerson)
            moves = zip(told(x, asked, here), told(y, asked, here), strict=True)
            cost += sum((Fraction(abs(a - b)) / one.scale) ** power for a, b in moves)
        found = max(found, cost)
    return found


def measurements(here: td.Policy, caps: tuple[int, ...], law: NoiseLaw = LAPLACE) -> dict[str, Measurement]:
    queries = {"people": people(), "by rows": people(by_rows=here.rows_per_person)}
    queries |= {f"sum to {cap}": total_per_person("x", cap=cap) for cap in caps}
    return {
        name: Measurement(linear(query, here.domain), Fraction(scale), law)
        for scale, (name, query) in enumerate(queries.items(), 2)
    }


SECRETS = ({}, {"secrets": {"x": "public"}}, {"secrets": {"x": {"within": 1}}})


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=str)
@pytest.mark.parametrize("secrets", SECRETS, ids=["everything", "public", "within 1"])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_each_answer_costs_what_the_worst_step_moves_it(rows: int, secrets: dict[str, Any], law: NoiseLaw) -> None:
    here = policy(rows, **secrets)
    for one in measurements(here, (1, 3, 100), law).values():
        found = certify_measurements(here.graph, [one], rows_per_person=rows, delta=Fraction(1, 1000))
        assert found.exact
        if law is LAPLACE:
            assert found.epsilon == worst(here, [one], 1)
        else:
            assert found.rho == worst(here, [one], 2) / 2


@pytest.mark.parametrize("low", [0, 1])
@pytest.mark.parametrize("secrets", SECRETS, ids=["everything", "public", "within 1"])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_several_answers_cost_what_the_worst_step_moves_together(rows: int, secrets: dict[str, Any], low: int) -> None:
    here = policy(rows, low, low + 2, **secrets)
    every = list(measurements(here, (2, 5)).values())
    for chosen in (every[:2], every[::2], every[1:], every):
        found = certify_measurements(here.graph, chosen, rows_per_person=rows)
        truth = worst(here, chosen, 1)
        assert found.epsilon == truth if found.exact else found.epsilon >= truth


def test_a_change_of_rows_may_cost_more_than_a_person_who_goes() -> None:
    by_rows = EachPerson(rows=3)
    once, twice, half = (
        Measurement(LinearQuery(by_rows), scale) for scale in (Fraction(1), Fraction(1, 2), Fraction(2))
    )
    assert person_loss([once], 3) == (2, True)
    assert person_loss([Measurement(LinearQuery(EachPerson(rows=1)), Fraction(1)), once], 3) == (2, True)
    hours = Measurement(LinearQuery(EachPerson(Attribute("x", Integers(1, 4)), 6)), Fraction(1))
    assert person_loss([hours, twice], 3) == (5 + 4, False)
    assert person_loss([hours, half], 3) == (Fraction(13, 2), True)


def test_beside_answers_about_rows_losses_add_up() -> None:
    here = policy(3)
    row = Measurement(linear(histogram("x"), here.domain), Fraction(6))
    person = Measurement(linear(people(), here.domain), Fraction(4))
    both = certify_release(here, [row, person])
    assert both.epsilon == Fraction(3 * 2, 6) + Fraction(1, 4)
    assert not both.exact
    exact = Measurement(LinearQuery(EachPerson()), Fraction(0))
    assert not certify_release(here, [row, exact]).finite


def test_a_mean_gives_its_sums_the_same_price() -> None:
    item = td.plan(policy(3).document | {"release": [{"name": "m", "mean per person": "x", "cap": 5}]})["m"]
    summed, number = item.measurements
    assert summed.scale / number.scale == 5
    assert item.epsilon == 1


def test_without_a_key_nobody_is_told_apart() -> None:
    for presence in ("public", "secret"):
        here = td.load_policy(
            {"dataset": "d", "presence": presence, "attributes": {"x": {"integer": [0, 2]}}, "budget": {"epsilon": 1}}
        )
        for query in (people(), total_per_person("x", cap=3), mean_per_person("x", cap=3)):
            with pytest.raises(td.errors.Refused, match="whose row is whose"):
                certify_release(here, [Measurement(linear(query, here.domain), Fraction(1))])


def test_dependent_rows_are_refused() -> None:
    here = td.load_policy(
        {
            "dataset": "d",
            "presence": "secret",
            "individuals": {"key": "who", "at most": 2},
            "attributes": {"x": {"integer": [0, 2]}},
            "budget": {"epsilon": 1},
        }
    )
    from dataclasses import replace

    from tetraodon.policy.attackers import DependentGroups

    dependent = replace(here, attackers=DependentGroups("house", 2))
    with pytest.raises(td.errors.Refused, match="independent only"):
        certify_release(dependent, [Measurement(linear(people(), here.domain), Fraction(1))])
