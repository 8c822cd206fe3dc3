"""Networks of contacts: every network of up to four people and some of five, with random dependence within the bound.

The law of the noisy answer is summed over all records, given each value of each person.
"""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import polars
import pytest
from tests.policy.test_build_attackers import read

import tetraodon as td
from tetraodon.certificate.correlated_records import adds_up, certify_release, priced_for_each
from tetraodon.exact.arrays import Floats
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.policy.attackers import Contacts
from tetraodon.policy.policy import Policy
from tetraodon.queries import cdf, histogram, total
from tetraodon.query.kinds import linear
from tetraodon.query.linear import Measurement
from tetraodon.query.query import Query

SCALE = Fraction(2)


def contacts(most: int, influence: object = "1.5") -> list[Any]:
    return [{"contacts": {"at most": most, "influence": influence, "source": "a study"}}]


def policy(most: int, influence: object, values: int = 2, secret: object = "everything") -> Policy:
    attributes = {"x": {"integer": [0, values - 1]}}
    return read(contacts(most, influence), attributes=attributes, secrets={"x": secret})


def networks(people: int) -> list[tuple[tuple[int, int], ...]]:
    pairs = list(combinations(range(people), 2))
    return [tuple(p for n, p in enumerate(pairs) if bits >> n & 1) for bits in range(1, 2 ** len(pairs))]


def degree(network: tuple[tuple[int, int], ...]) -> int:
    return max(sum(person in pair for pair in network) for person in range(9))


def bounded(influence: float, values: int, random: np.random.Generator, *, extreme: bool) -> Floats:
    """How two contacts go together: odds between two values of one move by `influence` at most with the other's."""
    half = math.log(influence) / 4
    signs = random.uniform(-half, half, (values, values))
    return np.exp(np.where(signs > 0, half, -half) if extreme else signs)


def law(network: tuple[tuple[int, int], ...], people: int, values: int, influence: float, seed: int) -> Floats:
    """The probability of all records, an axis for each person, up to a constant; some values are all but impossible."""
    random = np.random.default_rng(seed)
    found = np.ones((values,) * people)
    for person in range(people):
        belief = np.exp(random.normal(0, random.choice([0.1, 1, 6]), values))
        found = found * belief.reshape([values if axis == person else 1 for axis in range(people)])
    for one, other in network:
        table = bounded(influence, values, random, extreme=bool(seed % 2))
        found = found * table.reshape([values if axis in (one, other) else 1 for axis in range(people)])
    return found


def chances(here: Policy, question: Query, people: int) -> Floats:
    """Of every output, the last axis, for all records; up to a constant of the output."""
    values = here.domain.size
    records = np.array(list(product(range(values), repeat=people)))
    counts = np.stack([(records == value).sum(axis=1) for value in range(values)], axis=1)
    rows = np.array([[float(entry) for entry in row] for row in linear(question, here.domain).matrix(here.domain)[0]])
    answers = counts @ rows.T
    outputs = np.array(list(product(*(np.unique(column) for column in answers.T))))
    told = np.exp(-np.abs(answers[:, None, :] - outputs[None]).sum(axis=2) / float(SCALE))
    return told.reshape((values,) * people + (len(outputs),))


def lost(joint: Floats, told: Floats, pairs: list[tuple[int, int]]) -> float:
    """The most that an output moves the odds between two secret values of anybody, as a logarithm."""
    most = 0.0
    for person in range(joint.ndim):
        given = [(np.take(joint, v, person), np.take(told, v, person)) for v in range(joint.shape[0])]
        likely = [np.tensordot(w / w.sum(), t, w.ndim) for w, t in given]
        most = max(most, *(float(np.log(likely[x] / likely[y]).max()) for x, y in pairs))
    return most


def priced(here: Policy, question: Query) -> float:
    return float(certify_release(here, [Measurement(linear(question, here.domain), SCALE)]).epsilon)


@pytest.mark.parametrize("influence", ["1.2", "2", "3"])
def test_no_network_of_up_to_five_people_loses_more(influence: str) -> None:
    every = {people: networks(people) for people in (2, 3, 4)} | {5: networks(5)[::41]}
    question, prices = total("x"), {}
    share = (math.sqrt(float(influence)) - 1) / (math.sqrt(float(influence)) + 1)
    for most in range(1, 5):
        if most * share < 1:
            prices[most] = priced(policy(most, influence), question)
        else:
            with pytest.raises(td.errors.Refused, match="does not die away"):
                policy(most, influence)
    for people, some in every.items():
        told = chances(policy(1, "1"), question, people)
        for network in some:
            for seed in range(4) if degree(network) in prices else ():
                joint = law(network, people, 2, float(influence), seed)
                assert lost(joint, told, [(0, 1), (1, 0)]) <= prices[degree(network)] * (1 + 1e-9)


@pytest.mark.parametrize("secret", ["everything", {"within": 1}, {"blocks": [[0, 1], [2, 2]]}])
@pytest.mark.parametrize("question", [histogram("x"), cdf("x"), total("x")], ids=str)
def test_three_values_and_fewer_secrets(secret: object, question: Query) -> None:
    here = policy(2, "2", 3, secret)
    told, price = chances(here, question, 3), priced(here, question)
    pairs = [(x, y) for x, y in permutations(range(3), 2) if here.graph.is_edge((x,), (y,))]
    for network in networks(3):
        for seed in range(6):
            assert lost(law(network, 3, 3, 2.0, seed), told, pairs) <= price * (1 + 1e-9)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_contacts_who_tell_as_much_as_they_may_cost_nearly_all_of_it(most: int) -> None:
    """A person with all their contacts, who have no others: c of what each contact moves, where little is told."""
    half, people = math.log(2.25) / 4, most + 1
    joint = np.ones((2,) * people)
    for other in range(1, people):
        table = np.exp(half * np.array([[1, -1], [-1, 1]]))
        joint = joint * table.reshape([2 if axis in (0, other) else 1 for axis in range(people)])
    here, small = policy(most, "2.25"), 1e-4
    answers = sum(np.indices((2,) * people))
    told = np.exp(-small * np.abs(answers[..., None] - np.array([0, people])))
    share = here.attackers.passed_on
    assert share == Fraction(1, 5)
    assert lost(joint, told, [(0, 1), (1, 0)]) / small == pytest.approx(1 + most * 0.2, rel=1e-3)
    assert 1 + most * share <= here.attackers.rows <= 1 / (1 - most * share)


def test_rows_are_the_weight_of_walks_that_never_come_back() -> None:
    """In the tree in which everybody has three contacts, to a depth that no longer matters."""
    found, (most, share) = Contacts(3, Fraction("1.44"), "a study"), (3, Fraction(1, 11))
    assert found.passed_on == share
    weights, total_weight = np.zeros(60), 1.0
    weights[1] = most * float(share)
    while weights.sum() > 1e-12:
        total_weight += weights.sum()
        after = np.zeros(60)
        after[1:] += weights[:-1] * (most - 1) * float(share)
        after[1:-1] += weights[2:] * float(share)
        weights = after
    assert float(found.rows) == pytest.approx(total_weight, abs=1e-3)
    assert float(found.rows) >= total_weight
    assert Contacts(3, Fraction(1), "a study").rows == 1


@pytest.mark.parametrize("secret", ["everything", {"within": 1}, {"blocks": [[0, 1], [2, 2]]}])
def test_a_plan_spends_all_of_its_budget(secret: object) -> None:
    here = policy(4, "1.5", 3, secret)
    items = [{"name": "h", "histogram": "x"}, {"name": "t", "total": "x"}]
    plan = td.plan({**here.document, "release": items})
    assert plan.epsilon == 1
    assert not plan.certificate.exact
    assert plan.certificate.method == "upper bound over all networks of contacts"
    assert adds_up(here.attackers)


def test_sensitivity_counts_one_row_along_its_secrets_and_others_in_any_way() -> None:
    whole, near = policy(1, "9", 3), policy(1, "9", 3, {"within": 1})
    assert td.sensitivity(whole, total("x")).value == 3
    assert td.sensitivity(near, total("x")).value == 2


def test_the_journey(tmp_path: Any) -> None:
    here = td.load_policy({**policy(5, "1.2", 3).document, "release": [{"name": "h", "histogram": "x"}]})
    assert td.load_policy(here.document) == here
    said = " ".join(td.explain(here).text.split())
    assert "nobody has more than 5 contacts" in said
    assert f"at most {float(here.attackers.rows)} times that of one row" in said
    with td.Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open("power", 3, here.document)
        table = polars.DataFrame({"x": [0, 1, 2, 2]})
        td.release(here, table, ledger=ledger, out=tmp_path / "out")
        td.release(here, table, ledger=ledger)
        assert ledger.account("power").left == 1
    assert all(check.passed for check in td.verify(tmp_path / "out"))


def test_gaussian_noise_has_no_price() -> None:
    here = policy(2, "1.2")
    with pytest.raises(td.errors.Refused, match="who know of contacts"):
        certify_release(here, [Measurement(linear(histogram("x"), here.domain), SCALE, GAUSSIAN)], delta=Fraction(1, 9))
    with pytest.raises(td.errors.Refused, match="who know of contacts"):
        priced_for_each(dataclasses.replace(here, delta=Fraction(1, 1000)), GAUSSIAN)
