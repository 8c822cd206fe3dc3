"""What chosen tables lose: the mechanism itself is run on neighbouring tables, and made to tell the same of both."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

import tetraodon as td
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.pair_loss import standing_in
from tetraodon.errors import Refused
from tetraodon.mechanism.aim import draw_tables
from tetraodon.noise.laws import GAUSSIAN, LAPLACE, NoiseLaw
from tetraodon.query.aim import ChosenTables, four_squares
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, Measurement, Split

SIZES = (2, 3, 2)
NAMES = ("a", "b", "c")
SCALE = Fraction(3)
OTHERS = np.array([[0, 1, 1, 2], [1, 2, 0, 1]], np.int64)
"""Codes of records that everybody may know, and how many have them."""
POLICIES: dict[str, dict[str, Any]] = {
    "everything": {"presence": "public"},
    "one at a time": {"presence": "public", "together": "one attribute at a time"},
    "a public attribute": {"presence": "public", "secrets": {"a": "public"}},
    "neighbouring values": {"presence": "public", "secrets": {"b": {"within": 1}}, "together": {"at most": 2}},
    "presence": {"presence": "secret"},
    "presence alone": {"secrets": "none but presence"},
}


def policy(**changes: Any) -> td.Policy:
    values = {name: {"integer": [0, size - 1]} for name, size in zip(NAMES, SIZES, strict=True)}
    return td.load_policy({"dataset": "d", "attributes": values, "budget": {"epsilon": 1, "delta": "1e-6"}, **changes})


def chosen(rounds: int, most: int = 0, free: tuple[int, ...] = (), total: bool = True) -> ChosenTables:
    return ChosenTables(tuple(map(Split, NAMES)), SIZES, rounds, most, free, total)


def certified(tables: ChosenTables, under: td.Policy, law: NoiseLaw = LAPLACE) -> Any:
    return certify_measurements(under.graph, [Measurement(LinearQuery(tables), SCALE, law)], delta=under.delta)


def tables_for(name: str) -> Iterator[ChosenTables]:
    free = (0,) if name == "a public attribute" else ()
    for rounds, most in ((1, 0), (2, 0), (2, 1), (3, 2)):
        yield chosen(rounds, most, free, not name.startswith("presence"))


def edges(under: td.Policy) -> Iterator[tuple[Any, Any]]:
    """Every two records that are a secret, by listing all pairs; None for nobody."""
    records = list(product(*map(range, SIZES)))
    yield from ((x, y) for x, y in product(records, records) if x != y and under.graph.is_edge(x, y))
    if under.graph.absent:
        yield from ((x, None) for x in records)
        yield from ((None, x) for x in records)


def with_record(record: tuple[int, ...] | None) -> np.ndarray:
    return OTHERS if record is None else np.vstack([OTHERS, [[*record, 1]]])


def counted(rows: np.ndarray, places: Sequence[int]) -> np.ndarray:
    """A table by a loop of its own."""
    found = np.zeros([SIZES[place] for place in places], np.int64)
    for row in rows.tolist():
        found[tuple(row[place] for place in places)] += row[-1]
    return found.ravel()


class Play:
    """One run: what is drawn, and the scores of each choice, are noted."""

    def __init__(self, tables: ChosenTables, rows: np.ndarray, seed: int, like: Play | None = None) -> None:
        self.tables, self.rows, self.like = tables, rows, like
        self.rng, self.noises, self.choices = np.random.default_rng(seed), list[Any](), list[Any]()
        self.order = [places for places in tables.given if not set(places) <= set(tables.free)]
        self.told = draw_tables(Measurement(LinearQuery(tables), SCALE), rows, self.draw, self.choose)

    def draw(self, _: NoiseLaw, scale: Fraction, shape: tuple[int, ...]) -> np.ndarray:
        """Noise; in the second run what makes it tell what the first one told."""
        noise = self.rng.integers(-2, 3, shape)
        if self.like is not None:
            at = len(self.noises)
            places = self.order[at] if at < len(self.order) else self.chosen[at - len(self.order)]
            noise = counted(self.like.rows, places) + self.like.noises[at][1] - counted(self.rows, places)
        self.noises.append((scale, noise))
        return noise

    @property
    def chosen(self) -> list[tuple[int, ...]]:
        found: list[tuple[int, ...]] = []
        for place, *_ in self.choices:
            found.append(self.tables.open(found)[place])
        return found

    def choose(self, scores: Sequence[int], scale: Fraction) -> int:
        place = int(self.rng.integers(len(scores))) if self.like is None else self.like.choices[len(self.choices)][0]
        self.choices.append((place, list(scores), scale))
        return place

    def likelihood(self) -> float:
        """The log of the probability of what was told, up to what is the same for all tables."""
        found = -sum(float(np.abs(noise).sum() / scale) for scale, noise in self.noises)
        for place, scores, scale in self.choices:
            weights = [score / float(scale) for score in scores]
            most = max(weights)
            found += weights[place] - most - math.log(sum(math.exp(weight - most) for weight in weights))
        return found


@pytest.mark.parametrize("name", POLICIES)
def test_no_output_tells_more_than_is_certified(name: str) -> None:
    under = policy(**POLICIES[name])
    pairs = list(edges(under))
    for tables in tables_for(name):
        certificate = certified(tables, under)
        assert not certificate.exact
        some = np.random.default_rng(7).permutation(len(pairs))[:5]
        most = 0.0
        for seed, (x, y) in enumerate(pairs[place] for place in some):
            first = Play(tables, with_record(x), seed)
            second = Play(tables, with_record(y), seed, like=first)
            assert np.array_equal(first.told, second.told)
            most = max(most, abs(first.likelihood() - second.likelihood()))
        assert 0 < most <= float(certificate.epsilon) + 1e-9


def by_loops(tables: ChosenTables, under: td.Policy) -> Fraction:
    """The loss in its own words: the worst edge of the worst tables that can be chosen, and 2 H / b for a choice."""
    alone, choice = (SCALE * wider for wider in tables.wider(LAPLACE))
    worst = Fraction(0)
    for x, y in edges(under):
        one, other = with_record(x), with_record(y)

        def moved(places: Sequence[int], one: np.ndarray = one, other: np.ndarray = other) -> int:
            return int(np.abs(counted(one, places) - counted(other, places)).sum())

        ways = combinations(tables.candidates, tables.rounds)
        able = [way for way in ways if all(tables.most == 0 or touched(way, a) <= tables.most for a in tables.secret)]
        measured = max(sum(map(moved, way)) for way in able) / SCALE if able else Fraction(0)
        singles = sum(moved((place,)) for place in tables.secret) / alone
        worst = max(worst, singles + measured + 2 * tables.rounds * moved(tables.secret) / choice)
    return worst


def touched(way: Sequence[tuple[int, ...]], place: int) -> int:
    return sum(place in table for table in way)


@pytest.mark.parametrize(
    ("name", "rounds", "most", "tight"),
    [
        ("everything", 1, 0, True),
        ("everything", 3, 0, True),
        ("one at a time", 2, 0, True),
        ("one at a time", 3, 0, True),
        ("one at a time", 4, 0, False),
        ("one at a time", 3, 2, True),
        ("neighbouring values", 3, 0, True),
        ("a public attribute", 3, 0, True),
        ("presence", 3, 0, True),
        ("presence", 3, 2, False),
        ("presence alone", 3, 0, True),
    ],
)
def test_the_price_is_that_of_the_worst_tables(name: str, rounds: int, most: int, tight: bool) -> None:
    under, free = policy(**POLICIES[name]), (0,) if name == "a public attribute" else ()
    tables = chosen(rounds, most, free, not name.startswith("presence"))
    price, truth = certified(tables, under).epsilon, by_loops(tables, under)
    assert (price == truth) is tight
    assert price >= truth


def test_what_is_free_must_not_move() -> None:
    assert certified(chosen(1, free=(0,)), policy(**POLICIES["everything"])).epsilon == math.inf
    assert certified(chosen(1), policy(**POLICIES["presence"])).epsilon == math.inf
    unpriced = [Measurement(LinearQuery(chosen(1)), Fraction(0))]
    assert certify_measurements(policy(presence="public").graph, unpriced).epsilon == math.inf


def test_known_counts_are_refused() -> None:
    known = policy(presence="public", known=[{"marginal": "a"}])
    with pytest.raises(Refused, match="beside known counts"):
        certified(chosen(1), known)


# -- zCDP ------------------------------------------------------------------------------------------


def renyi(one: np.ndarray, other: np.ndarray, order: float) -> float:
    return float(np.log((one**order * other ** (1 - order)).sum()) / (order - 1))


@pytest.mark.parametrize("moved", [1, 2])
def test_a_choice_is_as_concentrated_as_is_said(moved: int) -> None:
    """Of scores that move by H at most, whatever they are: a divergence of a (H / b)^2 / 2 at order a, or less."""
    rng, scale = np.random.default_rng(3), 2.5
    for _ in range(300):
        scores = rng.integers(-5, 6, 4)
        both = scores, scores + rng.integers(-moved, moved + 1, 4)
        one, other = (np.exp(s / scale) / np.exp(s / scale).sum() for s in both)
        for order in (1.001, 2.0, 7.0, 60.0):
            assert renyi(one, other, order) <= order * (moved / scale) ** 2 / 2 + 1e-12


@pytest.mark.parametrize("name", ["everything", "presence", "presence alone", "one at a time"])
def test_gaussian_noise_is_priced_by_squares(name: str) -> None:
    under, total = policy(**POLICIES[name]), not name.startswith("presence")
    for tables in (chosen(3, 0, (), total), chosen(3, 2, (), total)):
        alone, choice = (SCALE * wider for wider in tables.wider(GAUSSIAN))
        wanted = Fraction(0)
        for x, y in edges(under):
            one, other = with_record(x), with_record(y)
            squares = [int(((counted(one, [p]) - counted(other, [p])) ** 2).sum()) for p in range(3)]
            whole = int(((counted(one, [0, 1, 2]) - counted(other, [0, 1, 2])) ** 2).sum())
            times = 3 if name == "presence alone" else 6  # H is 1 there, and so is its square
            step = sum(squares) / alone**2 + times * whole / choice**2
            step += 2 * sum(squares) / SCALE**2 if tables.most else 3 * whole / SCALE**2
            wanted = max(wanted, step / 2)
        found = certified(tables, under, GAUSSIAN).rho
        assert found == wanted


def test_other_measurements_stay() -> None:
    plain = Measurement(LinearQuery(One(), (Split("a"),)), SCALE)
    assert standing_in([plain], policy().graph) == [plain]


def test_every_number_is_four_squares() -> None:
    for number in range(1, 2000):
        found = four_squares(number)
        assert len(found) <= 4
        assert sum(part**2 for part in found) == number


def test_a_plan_with_gaussian_noise_beside_what_is_exact_ends() -> None:
    """A loss that is rounded is no line in the square of the noise, and the planner looked for its end without end."""
    asked = {"synthetic": {"records": 8, "attributes": ["x", "y"], "tables": 3}, "share": 3}
    document = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"x": "boolean", "y": ["a", "b", "c"]},
        "secrets": {"x": {"pairs": [[False, True]]}},
        "together": "all at once",
        "budget": {"epsilon": 2, "delta": "1e-6"},
        "release": [{"name": "n", "count": "all"}, {"name": "s", **asked}],
    }
    assert td.plan(document).certificate.epsilon <= 2
