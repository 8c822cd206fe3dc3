"""Known inequalities against attackers in tiny worlds: many to whom three records are independent, given that a count
is at most, or at least, so much; among them those who get the most. Noise halves from number to number, so that a loss
of d is a ratio of 2^d.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import polars
import pytest

import tetraodon as td
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.oracle import neighbours
from tetraodon.exact.arrays import Floats
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.policy.known import labels
from tetraodon.queries import cdf, count, histogram, total
from tetraodon.query.kinds import linear
from tetraodon.query.linear import Measurement
from tetraodon.query.query import Query

VALUES, PEOPLE, RARE = 4, 3, 1e-5
WORLD = np.array(list(product(range(VALUES), repeat=PEOPLE)))
QUESTIONS = [histogram("x"), cdf("x"), count("x = 1"), count("x >= 2"), total("x")]
BOUNDS = [{"at most": 1}, {"at least": 2}, {"at least": 1, "at most": 2}, {"at most": 2}]


def policy(secret: object, **known: Any) -> td.Policy:
    document = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"x": {"integer": [0, VALUES - 1]}},
        "secrets": {"x": secret},
        "budget": {"epsilon": 1},
    }
    return td.load_policy(document | ({"known": [{"count": "x >= 2", **known}]} if known else {}))


def chances(here: td.Policy, question: Query) -> Floats:
    """Of every output, a column each, in every data set; but for a constant."""
    counts = np.stack([(value == WORLD).sum(axis=1) for value in range(VALUES)], axis=1)
    rows = np.array([[float(entry) for entry in row] for row in linear(question, here.domain).matrix(here.domain)[0]])
    answers = counts @ rows.T
    grid = [np.unique(column) for column in answers.T]
    outputs = np.stack([axis.ravel() for axis in np.meshgrid(*grid, indexing="ij")], axis=1)
    return 0.5 ** np.abs(answers[:, None, :] - outputs[None]).sum(axis=2)


def attackers() -> Floats:
    """What two people may be thought to have: nearly surely one value or another, or anything."""
    one = np.eye(VALUES)
    nearly = [one[u] * (1 - RARE) + one[v] * RARE for u, v in product(range(VALUES), repeat=2)]
    extreme = np.array([[first, second] for first, second in product(nearly, repeat=2)])
    return np.concatenate([extreme, np.random.default_rng(3).dirichlet([0.3] * VALUES, (100, 2))])


def largest_odds(here: td.Policy, question: Query) -> float:
    """How far any of them moves their odds between two values of the first person that are a secret."""
    possible = np.ones(len(WORLD), np.bool_)
    for entry in here.known:
        counted = labels(entry, here.domain, np.arange(VALUES))[WORLD] >= 0
        possible &= np.array([entry.allows([int(many)]) for many in counted.sum(axis=1)])
    prior, told, worst = attackers(), chances(here, question), 1.0
    likely = possible * prior[:, 0, WORLD[:, 1]] * prior[:, 1, WORLD[:, 2]]
    mine = [likely * (WORLD[:, 0] == value) for value in range(VALUES)]
    for x, y in product(range(VALUES), repeat=2):
        both = (mine[x].sum(axis=1) > 0) & (mine[y].sum(axis=1) > 0)
        if both.any() and here.graph.is_edge((x,), (y,)):
            one, other = (m[both] @ told / m[both].sum(axis=1, keepdims=True) for m in (mine[x], mine[y]))
            worst = max(worst, float((one / other).max()))
    return worst


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
@pytest.mark.parametrize("secret", ["everything", {"within": 1}, {"blocks": [[0, 2], [3, 3]]}], ids=str)
@pytest.mark.parametrize("known", BOUNDS[:3], ids=str)
def test_the_price_is_what_the_worst_attacker_gets(question: Query, secret: object, known: dict[str, int]) -> None:
    here = policy(secret, **known)
    found = certify_measurements(here.graph, [Measurement(linear(question, here.domain), Fraction(1))])
    if found.epsilon == 0:
        assert largest_odds(here, question) == pytest.approx(1)
        return
    assert found.exact
    odds = largest_odds(here, question)
    assert odds <= 2 ** float(found.epsilon) * (1 + 1e-9)
    assert odds >= 0.99 * 2 ** float(found.epsilon)


SEVERAL = [
    [{"count": "x = 1", "at most": 1}, {"count": "x = 2", "at most": 1}],
    [{"count": "x = 0", "at most": 1}, {"count": "x >= 2", "at least": 1}],
    [{"count": "x = 0", "at most": 1}, {"count": "x = 1", "at most": 1}, {"count": "x >= 2", "at most": 2}],
    [{"count": "x = 0", "is": 1}, {"count": "x = 3", "at most": 1}],
]


@pytest.mark.parametrize("question", QUESTIONS[:3], ids=str)
@pytest.mark.parametrize("secret", ["everything", {"within": 1}], ids=str)
@pytest.mark.parametrize("known", SEVERAL, ids=str)
def test_several_about_disjoint_sets(question: Query, secret: object, known: list[dict[str, Any]]) -> None:
    here = td.load_policy({**policy(secret).document, "known": known})
    found = certify_measurements(here.graph, [Measurement(linear(question, here.domain), Fraction(1))])
    odds = largest_odds(here, question)
    assert found.exact
    assert odds <= 2 ** float(found.epsilon) * (1 + 1e-9)
    assert odds >= 0.99 * 2 ** float(found.epsilon)


def test_it_is_the_larger_of_an_exact_count_and_of_none() -> None:
    for question in QUESTIONS:
        for secret in ("everything", {"within": 1}):
            least, exact, nothing = (
                certify_measurements(here.graph, [Measurement(linear(question, here.domain), Fraction(1))]).epsilon
                for here in (policy(secret, **BOUNDS[3]), policy(secret, **{"is": 2}), policy(secret))
            )
            assert least == max(exact, nothing)


def test_gaussian_noise_is_priced_alike() -> None:
    def rho(here: td.Policy) -> Fraction | None:
        measured = Measurement(linear(histogram("x"), here.domain), Fraction(2), GAUSSIAN)
        return certify_measurements(here.graph, [measured], delta=Fraction(1, 1000)).rho

    exact, nothing = rho(policy("everything", **{"is": 1})), rho(policy("everything"))
    assert (exact, nothing) == (Fraction(1, 2), Fraction(1, 4))
    assert rho(policy("everything", **BOUNDS[0])) == exact


def test_the_journey(tmp_path: Any) -> None:
    here = policy({"within": 1}, **{"at most": 5})
    here = td.load_policy({**here.document, "release": [{"name": "h", "histogram": "x"}]})
    assert here.document["known"] == [{"count": "x >= 2", "at most": 5}]
    assert td.load_policy(here.document) == here
    assert "Everybody is taken to know that at most 5 records satisfy x >= 2." in td.explain(here).text
    with td.Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open("d", 10, here.document)
        made = td.release(here, polars.DataFrame({"x": [0, 1, 2, 3, 3]}), ledger=ledger, out=tmp_path / "out")
        assert len(made["h"].columns["count"]) == VALUES
        with pytest.raises(td.errors.TetraodonError, match="does not have the counts"):
            td.release(here, polars.DataFrame({"x": [2, 2, 2, 3, 3, 3]}), ledger=ledger)
    assert all(check.passed for check in td.verify(tmp_path / "out"))


def test_the_judge_does_not_list_their_neighbours() -> None:
    with pytest.raises(td.errors.Refused, match="no list of neighbours"):
        neighbours(policy("everything", **BOUNDS[0]), 2)


@pytest.mark.parametrize(
    ("known", "what"),
    [
        ([{"count": "x >= 2", "at most": 1}, {"count": "x <= 2"}], "count some of them twice"),
        ([{"count": "x >= 2", "at most": 1}, {"count": "x < 3", "at most": 1}], "count some of them twice"),
        ([{"count": "x >= 2", "at most": 1}, {"count": "x >= 2", "at least": 1}], "count some of them twice"),
        ([{"count": "x >= 2", "at most": 1}, {"marginal": "x"}], "count some of them twice"),
        ([{"count": "x >= 2", "at most": 1}, {"count": "all", "at most": 9}], "count some of them twice"),
        ([{"marginal": "x", "at most": 1}], "are about one count"),
        ([{"count": "x >= 2", "is": 1, "at most": 1}], "are about one count"),
        ([{"count": "x >= 2", "at least": 3, "at most": 1}], "no count is between"),
        ([{"count": "x >= 2", "at most": -1}], "no count is between"),
        ([{"count": "x >= 2", "at most": "many"}], "not a finite number"),
    ],
)
def test_what_is_not_priced_is_refused_with_the_reason(known: list[dict[str, Any]], what: str) -> None:
    document = policy("everything").document
    with pytest.raises((td.errors.PolicyError, td.errors.Refused), match=what):
        td.load_policy({**document, "known": known})
