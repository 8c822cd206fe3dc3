"""What a number tells of a share of the whole table, beside the listing of every table that there can be."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from tests.policy.test_build_table import TABLE, clinic

import tetraodon as td
from tetraodon import pufferfish as pf
from tetraodon.certificate.added_noise import certify_added_noise
from tetraodon.certificate.certificate import TableChance, TableShare
from tetraodon.certificate.correlated_records import adds_up, certify_release, priced_for_each
from tetraodon.certificate.direct_losses import certify_replacement, certify_view
from tetraodon.certificate.table_secret_loss import RecordLaws, record_laws, record_loss, share_budget
from tetraodon.errors import Refused
from tetraodon.exact.exponent import exp_above, exp_below, log_above, log_below
from tetraodon.exact.rational import rounded_up
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.policy.attackers import TableSecret
from tetraodon.policy.policy import Policy
from tetraodon.queries import count, histogram
from tetraodon.query.kinds import linear
from tetraodon.query.linear import Measurement

LINKED = [["0.9", "0.1"], ["0.2", "0.8"]]


def tiny(records: int, differ: int, chances: Sequence[Sequence[str]] = LINKED, **changes: Any) -> Policy:
    links = {"smoker": ["0.7", "0.3"], "ill": {"given": "smoker", "are": chances}}
    return clinic({"records": records, "within": str(Fraction(differ, records)), "chances": links}, **changes)


def listed_loss(
    records: int, differ: int, rate: Fraction, cells: Sequence[tuple[bool, int, Sequence[Fraction]]]
) -> tuple[Fraction, Fraction]:
    """Bounds on the largest |log| of odds over all tables: cells are (has it, what it adds, chance in each record)."""
    laws: dict[int, dict[int, Fraction]] = {}
    for table in itertools.product(cells, repeat=records):
        chance = math.prod((cell[2][place] for place, cell in enumerate(table)), start=Fraction(1))
        law = laws.setdefault(sum(cell[0] for cell in table), {})
        told = sum(cell[1] for cell in table)
        law[told] = law.get(told, Fraction(0)) + chance
    low = high = Fraction(0)
    least, most = (records * end(cell[1] for cell in cells) for end in (min, max))
    for one, other in itertools.permutations(laws, 2):
        if abs(one - other) > differ:
            continue
        for w in range(least - 2, most + 3):
            ends = []
            for law in (laws[one], laws[other]):
                total = sum(law.values())
                blurred = [sum(p * e(-rate * abs(w - s)) for s, p in law.items()) for e in (exp_below, exp_above)]
                ends.append([Fraction(number) / total for number in blurred])
            low = max(low, log_below(ends[0][0] / ends[1][1]))
            high = max(high, log_above(ends[0][1] / ends[1][0]))
    return low, high


def four_cells(chances: Sequence[Sequence[str]], smoking: Sequence[str]) -> list[tuple[bool, int, list[Fraction]]]:
    return [
        (bool(a), b, [(Fraction(p) if a else 1 - Fraction(p)) * Fraction(chances[a][b]) for p in smoking])
        for a in (0, 1)
        for b in (0, 1)
    ]


@pytest.mark.parametrize(
    "chances", [LINKED, [["0.2", "0.8"], ["0.9", "0.1"]], [[1, 0], [0, 1]], [["0.5", "0.5"], [0, 1]]]
)
@pytest.mark.parametrize(("records", "differ", "scale"), [(4, 1, 2), (4, 3, "7/2"), (3, 2, "1/2")])
def test_the_loss_is_that_of_all_tables(chances: Any, records: int, differ: int, scale: Any) -> None:
    policy, at = tiny(records, differ, chances), Fraction(scale)
    found = certify_release(policy, [Measurement(linear(count("ill = true"), policy.domain), at)])
    low, high = listed_loss(records, differ, 1 / at, four_cells(chances, ["0.3"] * records))
    assert high - low < Fraction(1, 10**30)
    assert rounded_up(Fraction(found.epsilon)) == rounded_up(max(low, 1 / at))
    assert found.exact


def test_it_does_not_matter_what_is_believed_of_who_has_it() -> None:
    policy, rate = tiny(4, 2), Fraction(1, 2)
    found = certify_release(policy, [Measurement(linear(count("ill = true"), policy.domain), 1 / rate)])
    low, high = listed_loss(4, 2, rate, four_cells(LINKED, ["0.3", "0.01", "0.99", "0.5"]))
    assert found.epsilon == rounded_up(low) == rounded_up(high)
    assert found.witness == (TableShare(1, 4, "smoker = true"), TableShare(3, 4, "smoker = true"))


@pytest.mark.parametrize(
    "given", [[["0.1", "0.8", "0.1"], ["0.5", "0", "0.5"]], [["0.6", "0.3", "0.1"], ["0.1", "0.3", "0.6"]]]
)
def test_totals_are_bounded_and_exact_where_it_is_said(given: list[list[str]]) -> None:
    policy = clinic(
        {
            "records": 3,
            "within": "2/3",
            "chances": {"smoker": ["0.7", "0.3"], "visits": {"given": "smoker", "are": given}},
        },
        attributes={"smoker": "boolean", "visits": {"integer": [0, 2]}},
        release=[{"name": "visits", "total": "visits"}],
    )
    rate = Fraction(1)
    found = certify_release(policy, [Measurement(policy.items[0].linear(policy.domain), 1 / rate)])
    prior = [(bool(a), v, [Fraction(("0.7", "0.3")[a]) * Fraction(given[a][v])] * 3) for a in (0, 1) for v in range(3)]
    low, high = listed_loss(3, 2, rate, prior)
    assert found.epsilon >= rounded_up(high)
    assert found.epsilon == rounded_up(low) or not found.exact or found.epsilon == 2 * rate


@pytest.mark.parametrize("chances", [LINKED, [["0.2", "0.8"], ["0.9", "0.1"]]])
def test_chances_of_records_lose_what_all_tables_tell_of_them(chances: Any) -> None:
    """Of chances that are at most eight tenths apart those at an end lose the most, and all that is certified."""
    rate, records = Fraction(1, 2), 4
    links = {"smoker": ["0.7", "0.3"], "ill": {"given": "smoker", "are": chances}}
    policy = drawn(records, links, "80%")
    found = certify_release(policy, [Measurement(linear(count("ill = true"), policy.domain), 1 / rate)])
    laws = {}
    for tenth in (0, 1, 2, 5, 8, 9, 10):
        cells = four_cells(chances, [str(Fraction(tenth, 10))] * records)
        law: dict[int, Fraction] = {}
        for table in itertools.product(cells, repeat=records):
            told = sum(cell[1] for cell in table)
            law[told] = law.get(told, Fraction(0)) + math.prod((cell[2][0] for cell in table), start=Fraction(1))
        laws[tenth] = law
    losses = {}
    for one, other in itertools.permutations(laws, 2):
        for w in range(-2, records + 3):
            low, high = (
                sum(p * bound(-rate * abs(w - s)) for s, p in laws[place].items())
                for place, bound in ((one, exp_below), (other, exp_above))
            )
            if abs(one - other) <= 8:
                losses[one, other] = max(losses.get((one, other), Fraction(0)), log_below(Fraction(low) / high))
    worst = max(losses, key=lambda pair: losses[pair])
    assert rounded_up(losses[worst]) == found.epsilon
    assert found.exact
    assert found.witness == tuple(TableChance(Fraction(end, 10), records, "smoker = true") for end in sorted(worst))


def drawn(records: int, chances: dict[str, Any], within: str, **changes: Any) -> Policy:
    table = {key: value for key, value in TABLE.items() if key != "share"}
    table |= {"chance": "smoker = true", "records": records, "chances": chances, "within": within}
    return clinic(secrets={"table": table}, **changes)


def test_a_plan_hides_a_chance_and_fails_with_less_noise() -> None:
    policy = drawn(1000, TABLE["chances"], "5%")
    plan = td.plan(policy)
    assert Fraction(1, 2) - Fraction(1, 10**5) < plan.epsilon <= Fraction(1, 2)
    query = policy.items[0].linear(policy.domain)
    less = certify_release(policy, [Measurement(query, plan["ill"].scale * Fraction(99, 100))])
    assert less.epsilon > Fraction(1, 2)
    assert td.plan(clinic())["ill"].scale < plan["ill"].scale  # a share of as many records tells a little less
    for epsilon in ("1e-3", "20"):
        assert td.plan(policy, epsilon=epsilon).epsilon <= Fraction(epsilon)


def test_one_record_alone_loses_what_its_two_laws_tell() -> None:
    laws = RecordLaws(
        (0, 1, 4), (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)), (Fraction(1, 8), Fraction(7, 8), Fraction(0))
    )
    prior = [
        (side, v, [p])
        for side, law in ((True, laws.having), (False, laws.lacking))
        for v, p in zip(laws.values, law, strict=True)
    ]
    for rate in (Fraction(1, 3), Fraction(2)):
        low, high = listed_loss(1, 1, rate, prior)
        assert rounded_up(record_loss(laws, rate).loss) == rounded_up(low) == rounded_up(high)


def test_what_it_loses_does_not_add_up() -> None:
    """Two numbers with noise of their own lose beyond all answers what one with half of the noise does."""
    laws, rate = (
        RecordLaws((0, 1), (Fraction(7, 10), Fraction(3, 10)), (Fraction(19, 20), Fraction(1, 20))),
        Fraction(1, 2),
    )
    one, both = record_loss(laws, rate).loss, record_loss(laws, 2 * rate).loss
    assert both > 2 * one
    secret = tiny(4, 1).attackers
    assert isinstance(secret, TableSecret)
    assert not adds_up(secret)


def test_the_plan_takes_the_least_noise_and_never_less_than_one_record_needs() -> None:
    policy = clinic(
        {
            "records": 200,
            "within": "5%",
            "chances": {"smoker": ["0.5", "0.5"], "ill": {"given": "smoker", "are": [["0.9", "0.1"], ["0.1", "0.9"]]}},
        },
        budget={"epsilon": 1, "once": True},
    )
    plan = td.plan(policy)
    known = pf.least_noise_on(
        pf.secret_share(200, [["0.45", "0.05"], ["0.05", "0.45"]], within=10), epsilon=1, promise="x"
    )
    assert known.scale * (1 - Fraction(1, 1000)) <= plan["ill"].scale <= known.scale
    assert 1 - Fraction(1, 10**5) < plan.epsilon <= 1
    assert plan.certificate.exact
    loose = td.plan(tiny(4, 1, [["0.5", "0.5"], ["0.49", "0.51"]], budget={"epsilon": 1, "once": True}))
    assert (loose["ill"].scale, loose.epsilon) == (1, 1)
    assert not isinstance(loose.certificate.witness[0], TableShare)
    everything = tiny(4, 2, [[1, 0], [0, 1]])
    assert share_budget(everything, everything.attackers) == everything.epsilon / 2  # type: ignore[arg-type]


def test_networks_are_multiplied_out() -> None:
    """A condition on two attributes, of which one rests on the other: what is added follows from all of them."""
    chances = {
        "age": ["0.5", "0.3", "0.2"],
        "smoker": {"given": "age", "are": [["0.9", "0.1"], ["0.6", "0.4"], ["0.8", "0.2"]]},
        "ill": {"given": ["smoker", "age"], "are": [[f"{1 - Fraction(n, 10)}", f"{n}/10"] for n in range(1, 7)]},
    }
    policy = clinic(
        {"share": "smoker = true and age >= 1", "chances": chances},
        attributes={"ill": "boolean", "age": {"integer": [0, 2]}, "smoker": "boolean"},
    )
    assert isinstance(policy.attackers, TableSecret)
    laws = record_laws(policy.attackers, policy.items[0].linear(policy.domain), policy.domain)
    ages, smoking = (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)), (Fraction(1, 10), Fraction(2, 5), Fraction(1, 5))
    mass = {True: [Fraction(0)] * 2, False: [Fraction(0)] * 2}
    for age, smoker, ill in itertools.product(range(3), range(2), range(2)):
        sick = Fraction(1 + 3 * smoker + age, 10)
        chance = ages[age] * (smoking[age] if smoker else 1 - smoking[age]) * (sick if ill else 1 - sick)
        mass[smoker == 1 and age >= 1][ill] += chance
    assert laws.values == (0, 1)
    assert laws.having == tuple(part / sum(mass[True]) for part in mass[True])
    assert laws.lacking == tuple(part / sum(mass[False]) for part in mass[False])


def test_everything_else_is_refused() -> None:
    policy = tiny(4, 1)
    ill, whole = (linear(count(where), policy.domain) for where in ("ill = true", ""))
    one = Measurement(ill, Fraction(2))
    for several in (
        [one, one],
        [one, Measurement(linear(count("smoker = true"), policy.domain), Fraction(2))],
        [Measurement(linear(histogram("ill"), policy.domain), Fraction(2))],
        [Measurement(ill, Fraction(2), GAUSSIAN)],
    ):
        with pytest.raises(Refused, match="priced for one release of one number with Laplace noise"):
            certify_release(policy, several)
    assert certify_release(policy, [Measurement(whole, Fraction(0))]).epsilon == 0  # the number of records is public
    assert certify_release(policy, [Measurement(ill, Fraction(0))]).epsilon == math.inf
    assert td.sensitivity(policy, count("ill = true")).value == 1
    near = certify_release(policy, [Measurement(ill, Fraction(1, 5000))])
    assert (near.epsilon, near.exact) == (5000, True)  # what one record loses, which differs here
    with pytest.raises(Refused, match="an epsilon above 1,000 hides nothing"):
        td.plan(policy, epsilon=1001)
    with pytest.raises(Refused, match="no price for Gaussian noise"):
        priced_for_each(policy.with_budget(delta="1e-6"), GAUSSIAN)
    assert td.plan(policy, delta="1e-6")["ill"].strategy.noise != GAUSSIAN
    for refused in (
        lambda: td.certify(policy, [[1, 0, 0, 0]], 1),
        lambda: certify_view(policy, Fraction(1), Fraction(1)),
        lambda: certify_replacement(policy, {}),
        lambda: certify_added_noise(policy, [[1, 0, 0, 0]], [1]),
    ):
        with pytest.raises(Refused, match=r"whole table is a secret|depend on each other"):
            refused()
