"""Every function that certifies is held to an oracle that would notice a tenth less."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import math
import pkgutil
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import tetraodon as td
from tetraodon import certificate
from tetraodon.certificate.certificate import _SEAL, CERTIFYING, Certificate
from tetraodon.certificate.partition_selection import NamesAbove
from tetraodon.certificate.table_secret_loss import AnswerLaw, LawPair
from tetraodon.noise.laws import GAUSSIAN, LAPLACE, Currency, NoiseLaw
from tetraodon.queries import histogram
from tetraodon.query.kinds import linear
from tetraodon.query.linear import Measurement

Certify = Callable[..., Certificate]
SOURCE = Path(td.__file__).parent
for module in pkgutil.walk_packages(certificate.__path__, f"{certificate.__name__}."):
    importlib.import_module(module.name)  # every certifying function is registered when imported


def policy(**changes: Any) -> td.Policy:
    document = {
        "dataset": "d",
        "individuals": "one row each",
        "presence": "public",
        "attributes": {"x": {"integer": [0, 2]}},
        "budget": {"epsilon": 1},
    }
    return td.load_policy({**document, **changes})


def log_ratios(first: tuple[int, ...], second: tuple[int, ...], scale: Fraction) -> Iterator[float]:
    """Of every noisy outcome between two exact answers; further out nothing is new."""
    for outcome in product(range(min(*first, *second), max(*first, *second) + 1), repeat=len(first)):
        yield sum(
            log_chance(scale, o - a) - log_chance(scale, o - b) for o, a, b in zip(outcome, first, second, strict=True)
        )


@cache
def log_chance(scale: Fraction, k: int) -> float:
    return math.log(LAPLACE.pmf(scale, k))


def counts(table: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(table.count(value) for value in range(3))


def measured(certify: Certify) -> tuple[float, Certificate]:
    """Two people, values up to one apart are a secret, a histogram with noise of scale 2."""
    here, scale = policy(secrets={"x": {"within": 1}}), Fraction(2)
    tables = list(product(range(3), repeat=2))
    near = [(a, b) for a in tables for b in tables if sum(map(_apart, a, b)) == 1]
    truth = max(max(log_ratios(counts(a), counts(b), scale)) for a, b in near)
    return truth, certify(here.graph, [Measurement(linear(histogram("x"), here.domain), scale)])


def _apart(x: int, y: int) -> int:
    return abs(x - y)


def released(certify: Certify) -> tuple[float, Certificate]:
    """Two people of one household, about whom everything may change together."""
    here = policy(attackers=[{"groups": "house", "at most": 2}])
    tables, scale = list(product(range(3), repeat=2)), Fraction(2)
    truth = max(max(log_ratios(counts(a), counts(b), scale)) for a in tables for b in tables)
    return truth, certify(here, [Measurement(linear(histogram("x"), here.domain), scale)])


def listed(certify: Certify) -> tuple[float, Certificate]:
    """Rows of one's own: a weighted sum."""
    rows, scale = [[0, 3, 5]], Fraction(4)
    truth = max(max(log_ratios((a,), (b,), scale)) for a in rows[0] for b in rows[0])
    return truth, certify(policy(), rows, [scale])


def viewed(certify: Certify) -> tuple[float, Certificate]:
    """One record that is kept with chance 1/2, among noise tuples of which each value has k with chance 2^-(k+1)."""
    keep, ratio = 0.5, 0.5

    def chance(shown: int, there: int) -> float:
        noise = (1 - ratio) * ratio**shown
        kept = (1 - ratio) * ratio ** (shown - 1) if shown else 0.0
        return (1 - keep) * noise + keep * kept if there else noise

    both = list(product(range(12), repeat=2))
    truth = max(math.log(chance(a, 1) * chance(b, 0) / (chance(a, 0) * chance(b, 1))) for a, b in both)
    alone = max(abs(math.log(chance(a, 1) / chance(a, 0))) for a in range(12))
    upper = [Fraction(math.ceil(loss * 10**9), 10**9) for loss in (alone, truth)]
    return truth, certify(policy(), *upper)


def replaced(certify: Certify) -> tuple[float, Certificate]:
    """Every value is kept with chance 3/5, and becomes either other with chance 1/5."""
    matrix = [[Fraction(3 if x == y else 1, 5) for y in range(3)] for x in range(3)]
    truth = max(math.log(matrix[x][o] / matrix[y][o]) for x, y, o in product(range(3), repeat=3))
    return truth, certify(policy(), {"x": matrix})


def shifted(certify: Certify) -> tuple[float, Certificate]:
    truth = max(log_ratios((0,), (3,), Fraction(5)))
    return truth, certify(3, LAPLACE, Fraction(5), method="test", exact=True)


def mixed(certify: Certify) -> tuple[float, Certificate]:
    """0 or 3 under one secret, 1 or 2 under the other: the worst ratio of the two mixtures."""
    scale, laws = Fraction(3), ({0: Fraction(1, 4), 3: Fraction(3, 4)}, {1: Fraction(1, 2), 2: Fraction(1, 2)})

    def chance(law: dict[int, Fraction], told: int) -> float:
        return sum(float(p) * math.exp(log_chance(scale, told - answer)) for answer, p in law.items())

    truth = max(abs(math.log(chance(laws[0], told) / chance(laws[1], told))) for told in range(-3, 7))
    return truth, certify([LawPair(*map(AnswerLaw.of, laws), "test")], LAPLACE, scale, method="test")


def named(certify: Certify) -> tuple[float, Certificate]:
    """Two names of which one may become the other: the worst ratio of outputs that both tables allow."""
    scale, most = Fraction(2), 3

    def chance(seen: int, there: int) -> float:
        weights = {n: math.exp(-abs(n) / scale) for n in range(-most, most + 1)}
        passed = {n + there: w for n, w in weights.items() if n + there > most}
        weight = sum(weights.values()) - sum(passed.values()) if seen == 0 else passed.get(seen, 0.0)
        return weight / sum(weights.values())

    def worst(first: int, second: int) -> float:
        shared = [s for s in range(40) if chance(s, first) and chance(s, second) and s]
        return max(math.log(chance(s, first) / chance(s, second)) for s in shared)

    here = policy(attributes={"x": {"integer": [0, 2]}, "word": {"open": "text"}})
    return worst(9, 8) + worst(8, 9), certify(here, [NamesAbove("word", scale, most)])


def added(certify: Certify) -> tuple[float, Certificate]:
    """Noise along both steps of a line: what is told is as likely as the one pair of noises that tells it."""
    here, scales = policy(secrets={"x": {"within": 1}}), (Fraction(2), Fraction(3))
    tables = list(product(range(3), repeat=2))
    near = [(a, b) for a in tables for b in tables if sum(map(_apart, a, b)) == 1]

    def chance(table: tuple[int, ...], told: tuple[int, int]) -> float:
        first, second, _ = counts(table)
        noises = told[0] - first, told[0] + told[1] - first - second
        return sum(log_chance(scale, k) for scale, k in zip(scales, noises, strict=True))

    everything = list(product(range(-3, 6), repeat=2))
    truth = max(chance(a, told) - chance(b, told) for a, b in near for told in everything)
    return truth, certify(here, [[1, 0], [-1, 1], [0, -1]], scales)


ORACLES: dict[str, Callable[[Certify], tuple[float, Certificate]]] = {
    "kernel.certify_measurements": measured,
    "correlated_records.certify_release": released,
    "sensitivity.certify": listed,
    "added_noise.certify_added_noise": added,
    "direct_losses.certify_view": viewed,
    "direct_losses.certify_replacement": replaced,
    "direct_losses.certify_shift": shifted,
    "table_secret_loss.certify_laws": mixed,
    "partition_selection.certify_names": named,
}


def holds(truth: float, found: Certificate) -> bool:
    """Not below the truth, nor far above it."""
    return truth * (1 - 1e-9) <= float(found.epsilon) <= truth * (1 + 1e-6)


def test_every_certifying_function_has_an_oracle() -> None:
    assert CERTIFYING.keys() == ORACLES.keys()


@pytest.mark.parametrize("name", ORACLES)
def test_it_is_the_truth_and_a_tenth_less_is_noticed(name: str) -> None:
    real = CERTIFYING[name]
    assert holds(*ORACLES[name](real))

    def mutant(*args: Any, **kwargs: Any) -> Certificate:
        found = real(*args, **kwargs)
        return dataclasses.replace(found, epsilon=found.epsilon * Fraction(9, 10), seal=_SEAL)

    assert not holds(*ORACLES[name](mutant))


def test_a_tenth_less_delta_is_noticed() -> None:
    """One person's name becomes another: either of two names may show what the other table cannot."""
    here = policy(attributes={"x": {"integer": [0, 2]}, "word": {"open": "text"}})
    found = CERTIFYING["partition_selection.certify_names"](here, [NamesAbove("word", Fraction(2), 3)])
    weights = [math.exp(-abs(n) / 2) for n in range(-3, 4)]
    truth = 1 - (1 - weights[0] / sum(weights)) ** 2
    assert truth * (1 - 1e-9) <= float(found.delta) <= truth * (1 + 1e-9)


def test_a_rho_is_held_to_its_square() -> None:
    here, scale = policy(), Fraction(3)
    asked = [Measurement(linear(histogram("x"), here.domain), scale, GAUSSIAN)]
    found = CERTIFYING["kernel.certify_measurements"](here.graph, asked, delta=Fraction(1, 1000))
    assert found.rho == Fraction(2, 2 * 9)  # one cell falls by one and another rises
    with pytest.raises(td.errors.NoiseError, match="without a delta"):
        CERTIFYING["direct_losses.certify_shift"](3, GAUSSIAN, scale, method="test", exact=True)


def test_only_the_room_of_certificates_certifies() -> None:
    """Whoever imports the way to a certificate is in its room."""
    for path in SOURCE.rglob("*.py"):
        names = {
            alias.name
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("certificate.certificate")
            for alias in node.names
        }
        inside = path.parent.name == "certificate"
        assert inside or not names & {"certifying", "Computed", "_SEAL", "CERTIFYING"}, path
        assert "_SEAL" not in names, path


def test_a_certificate_cannot_be_changed_into_another() -> None:
    found = CERTIFYING["kernel.certify_measurements"](
        policy().graph, [Measurement(linear(histogram("x"), policy().domain), Fraction(2))]
    )
    with pytest.raises((TypeError, ValueError)):
        dataclasses.replace(found, epsilon=Fraction(0))
    assert not hasattr(found, "seal")


class Strange(NoiseLaw):
    """A law whose loss nobody has worked out, though it says something."""

    __slots__ = ("told", "unit")

    def __init__(self, unit: Any, told: Any) -> None:
        super().__init__("strange", "strange noise")
        object.__setattr__(self, "unit", unit)
        object.__setattr__(self, "told", told)

    @property
    def currency(self) -> Any:
        return self.unit

    def rate(self, scale: Fraction) -> Any:  # noqa: ARG002
        return self.told


@pytest.mark.parametrize(
    ("unit", "told"), [("renyi", Fraction(1, 2)), (Currency.PURE, Fraction(0)), (Currency.PURE, Fraction(-1))]
)
def test_a_law_with_a_loss_that_is_none_is_refused(unit: Any, told: Any) -> None:
    query = linear(histogram("x"), policy().domain)
    with pytest.raises(td.errors.NoiseError):
        CERTIFYING["kernel.certify_measurements"](
            policy().graph, [Measurement(query, Fraction(2), Strange(unit, told))]
        )


@pytest.mark.parametrize("scale", [math.nan, 0.5, math.inf])
def test_a_scale_that_is_no_exact_number_is_refused(scale: Any) -> None:
    with pytest.raises(td.errors.QueryError, match="no exact number"):
        Measurement(linear(histogram("x"), policy().domain), scale)


def test_nothing_moves_by_less_than_nothing() -> None:
    with pytest.raises(td.errors.Refused, match="less than nothing"):
        CERTIFYING["direct_losses.certify_shift"](-3, LAPLACE, Fraction(1), method="m", exact=True)
