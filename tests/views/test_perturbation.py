"""Matrices along the graph: certified exactly, unbiased exactly, drawn exactly."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.noise.walk import Script
from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.errors import PolicyError, Refused
from tetraodon.exact.exponent import is_at_most_exp
from tetraodon.noise.coins import Words
from tetraodon.policy.adversary import Adversary
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything, Pairs, Public, Within
from tetraodon.pufferfish import verify
from tetraodon.views.perturbation import Frapp, Loss, Perturbation, frapp, geometric, inverse_of, perturbation

F = Fraction
AGE = Attribute("age", Integers(0, 5))
GRAPHS: list[AttributeGraph] = [
    Everything(6),
    Within(6, 1),
    Within(6, 2),
    Blocks((0, 0, 1, 1, 1, 2)),
    Pairs(6, ((0, 1), (1, 2), (3, 4))),
]


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: type(graph).__name__)
@pytest.mark.parametrize("loss", [None, "absolute", "wrong"])
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_the_loss_is_certified(graph: AttributeGraph, loss: Loss | None, epsilon: str) -> None:
    made = perturbation(AGE, graph, epsilon, loss)
    assert made.ratio is not None
    assert is_at_most_exp(made.ratio, F(epsilon))
    assert made.loss <= F(epsilon) + F(1, 10**11)
    verdict = verify(made.channel, made.definition(epsilon))
    assert verdict.holds
    assert verdict.odds == made.ratio


@pytest.mark.parametrize("graph", GRAPHS[:4], ids=lambda graph: type(graph).__name__)
def test_the_usual_matrices_use_their_epsilon_up(graph: AttributeGraph) -> None:
    assert float(perturbation(AGE, graph, "1.5").loss) == pytest.approx(1.5, abs=1e-9)


def test_blocks_are_never_left_and_public_values_are_shown() -> None:
    made = perturbation(AGE, Blocks((0, 0, 1, 1, 1, 2)), 1)
    assert all(
        (p > 0) == (a == b)
        for row, a in zip(made.matrix, (0, 0, 1, 1, 1, 2), strict=True)
        for p, b in zip(row, (0, 0, 1, 1, 1, 2), strict=True)
    )
    assert perturbation(AGE, Public(6), 1).matrix == tuple(tuple(F(int(x == w)) for w in range(6)) for x in range(6))
    assert perturbation(AGE, Public(6), 1, "wrong").loss == 0


def test_weaker_secrets_blur_less() -> None:
    """At equal epsilon, a distance threshold loses fewer values' worth of error than the full domain."""
    wide, near = (perturbation(AGE, graph, 1, "absolute") for graph in (Everything(6), Within(6, 1)))

    def error(made: Perturbation) -> float:
        return sum(float(p) * abs(x - w) for x, row in enumerate(made.matrix) for w, p in enumerate(row))

    assert error(near) < 0.7 * error(wide)
    assert error(near) <= error(perturbation(AGE, Within(6, 1), 1)) + 1e-9


@pytest.mark.parametrize("graph", GRAPHS[:4], ids=lambda graph: type(graph).__name__)
def test_estimates_are_unbiased_with_the_variance_stated(graph: AttributeGraph) -> None:
    """By listing everything that two records can show."""
    made = perturbation(AGE, graph, 1)
    true = [0, 1, 0, 1, 0, 0]
    for codes in ([1], [0, 1, 5], [3, 4]):
        mean = second = F(0)
        for first, other in itertools.product(range(6), repeat=2):
            weight = made.matrix[1][first] * made.matrix[3][other]
            shown = [int(first == w) + int(other == w) for w in range(6)]
            found = made.count(shown, codes)
            assert found == sum(made.histogram(shown)[code] for code in codes)
            mean += weight * found
            second += weight * found**2
        truth = sum(true[code] for code in codes)
        assert mean == truth
        assert second - mean**2 == made.variance(true, codes)


def test_draws_follow_the_matrix() -> None:
    """A chi-squared test for each row, at a false-alarm rate of one in a billion each."""
    made = perturbation(AGE, Within(6, 2), 1)
    codes = np.repeat(np.arange(6), 20_000)
    shown = made.draw(codes)
    for code in range(6):
        expected = [20_000 * float(p) for p in made.matrix[code]]
        assert stats.chisquare(np.bincount(shown[codes == code], minlength=6), expected).pvalue > 1e-9


class Fixed:
    """Coins that were thrown already."""

    def __init__(self, words: list[int]) -> None:
        self.words = words

    def draw(self, count: int, bits: int) -> Words:
        assert bits == 64
        return np.array([self.words.pop(0) for _ in range(count)], np.uint64)


def test_draws_at_a_border_go_on_until_they_are_decided() -> None:
    third = Perturbation(Attribute("x", Integers(0, 2)), Everything(3), [["1/3", "1/3", "1/3"]] * 3)
    first = 2**64 // 3
    assert third.draw(np.array([0]), coins=Fixed([first - 1])).tolist() == [0]
    assert third.draw(np.array([0]), coins=Fixed([first + 1])).tolist() == [1]
    assert third.draw(np.array([0]), coins=Fixed([first, first, 0])).tolist() == [0]
    assert third.draw(np.array([0]), coins=Fixed([first, 2**64 - 1])).tolist() == [1]
    half = Perturbation(Attribute("x", Integers(0, 1)), Everything(2), [["1/2", "1/2"]] * 2)
    assert half.draw(np.array([0, 0]), coins=Fixed([2**63, 2**63 - 1])).tolist() == [1, 0]
    sure = Perturbation(Attribute("x", Integers(0, 1)), Public(2), [[1, 0], [0, 1]])
    assert sure.draw(np.array([0, 1]), coins=Fixed([2**64 - 1, 0])).tolist() == [0, 1]


def test_categories_and_a_loss_of_ones_own() -> None:
    job = Attribute("job", Categories(("nurse", "doctor", "clerk")), other=0)
    made = perturbation(
        job, Everything(3), 1, lambda true, shown: 5 * (true == "clerk") * (shown != "clerk") + (true != shown)
    )
    assert made.matrix[2][2] > made.matrix[0][0]


@pytest.mark.parametrize(
    ("matrix", "what"),
    [
        ([["1/2", "1/2"]], "does not fit"),
        ([["1/2", "1/3"], ["1/2", "1/2"]], "no probability"),
        ([["3/2", "-1/2"], ["1/2", "1/2"]], "no probability"),
    ],
)
def test_matrices_must_be_probabilities(matrix: Any, what: str) -> None:
    with pytest.raises(PolicyError, match=what):
        Perturbation(Attribute("x", Integers(0, 1)), Everything(2), matrix)


def test_what_is_refused() -> None:
    sure = Perturbation(Attribute("x", Integers(0, 1)), Everything(2), [[1, 0], [0, 1]])
    assert sure.ratio is None
    with pytest.raises(Refused, match="for certain"):
        _ = sure.loss
    with pytest.raises(PolicyError, match="not positive"):
        perturbation(AGE, Everything(6), 0)
    with pytest.raises(Refused, match="too many values"):
        perturbation(Attribute("x", Integers(1, 10**6)), Everything(10**6), 1)
    with pytest.raises(PolicyError, match="one count"):
        sure.histogram([1])
    assert math.isclose(float(perturbation(AGE, Everything(6), "0.7").loss), 0.7, abs_tol=1e-9)


# -- frapp -------------------------------------------------------------------------------------------
# FRAPP: its law, its reconstruction and its error, by enumeration of what records can become.


def line(size: int) -> Domain:
    return Domain((Attribute("x", Integers(1, size)),))


def test_the_matrix_is_gamma_diagonal() -> None:
    method = Frapp(line(4), F(1, 3))
    matrix = [[method.retain if p == q else method.elsewhere for q in range(4)] for p in range(4)]
    assert all(max(row) / min(row) == method.ratio == 3 for row in matrix)
    assert all(sum(column) == 1 for column in zip(*matrix, strict=True))
    assert float(method.condition) == pytest.approx(np.linalg.cond(np.array(matrix, float)))
    assert 0 <= float(method.loss) - math.log(3) < 2e-12


def test_estimate_and_variance_are_those_of_every_outcome() -> None:
    method, table, asked = Frapp(line(4), F(1, 3)), (0, 0, 2), {0, 1}
    mean = square = F(0)
    for shown in itertools.product(range(4), repeat=3):
        chance = math.prod(
            (method.retain if a == b else method.elsewhere for a, b in zip(table, shown, strict=True)), start=F(1)
        )
        value = method.estimate(sum(s in asked for s in shown), len(asked), 3)
        mean += chance * value
        square += chance * value**2
    assert mean == 2
    assert square - mean**2 == method.variance(2, 2, 3)


def test_records_are_perturbed_on_their_own() -> None:
    method, cells = Frapp(line(10), F(1, 2)), np.array([7, 7, 7], np.uint64)
    words = Script([0, 2**63, 2**64 - 1, 1, 2, 23])  # stays, is drawn anew twice; then the numbers drawn
    assert method.perturb(cells, coins=words).tolist() == [7, 2, 3]


def test_the_adult_experiment_retains_one_in_41() -> None:
    adult = Domain(tuple(Attribute(f"a{i}", Integers(1, s)) for i, s in enumerate((72, 7, 16, 7, 14, 5, 2, 41, 2))))
    method = frapp(adult, adversary=Adversary(k=10, gamma="0.2", records=30162))
    assert float(method.keep) == pytest.approx(1 / 41, rel=3e-3)


@pytest.mark.parametrize(("m", "n", "k", "gamma"), [(5, 2, "0.5", "0.5"), (6, 3, "1", "0.9"), (4, 3, "1/2", "0.8")])
def test_which_tuples_show_up_keeps_the_adversary_s_bounds(m: int, n: int, k: str, gamma: str) -> None:
    """Enumerated: somebody has the tuple 0 or 1, the others have other tuples; what shows is which tuples come out."""
    adversary = Adversary(k=k, gamma=gamma, records=n)
    method, prior = frapp(line(m), adversary=adversary), adversary.prior(m)
    shown = [F(0), F(0)]
    for mine, chance in enumerate(shown):
        table = (mine, *(1 + i % (m - 1) for i in range(n - 1)))
        for out in itertools.product(range(m), repeat=n):
            if 0 in out:
                entries = (method.retain if a == b else method.elsewhere for a, b in zip(table, out, strict=True))
                chance += math.prod(entries, start=F(1))
        shown[mine] = chance
    with_it, without = shown
    assert prior * with_it / (prior * with_it + (1 - prior) * without) <= adversary.gamma
    assert (1 - with_it) / (1 - without) >= prior / adversary.gamma


def test_it_is_asked_for_in_one_way() -> None:
    assert frapp(line(4), keep="1/3") == Frapp(line(4), F(1, 3))
    with pytest.raises(PolicyError, match="neither or both"):
        frapp(line(4))
    with pytest.raises(PolicyError, match="number is not given"):
        frapp(line(4), adversary=Adversary(d="0.1", gamma="0.2"))
    with pytest.raises(PolicyError, match="between 0 and 1"):
        frapp(line(4), keep=1)


# -- exact inverse -----------------------------------------------------------------------------------


def product(a: tuple[tuple[Fraction, ...], ...], b: tuple[tuple[Fraction, ...], ...]) -> list[list[Fraction]]:
    return [
        [sum((x * y for x, y in zip(row, column, strict=True)), F(0)) for column in zip(*b, strict=True)] for row in a
    ]


@pytest.mark.parametrize(
    "matrix",
    [
        geometric(F(2, 3), 7),
        geometric(F(1, 3), 1),
        geometric(F(1, 3), 2),
        tuple(tuple(F(1, 2) if x == w else F(1, 6) for w in range(4)) for x in range(4)),
        ((F(0), F(1), F(0)), (F(1), F(0), F(0)), (F(0), F(0), F(1))),
        ((F(1, 2), F(1, 2), F(0)), (F(0), F(1, 3), F(2, 3)), (F(1, 4), F(1, 4), F(1, 2))),
    ],
)
def test_it_undoes(matrix: tuple[tuple[Fraction, ...], ...]) -> None:
    size = len(matrix)
    assert all(sum(row) == 1 for row in matrix)
    assert product(matrix, inverse_of(matrix)) == [[F(int(x == w)) for w in range(size)] for x in range(size)]


def test_what_has_none() -> None:
    with pytest.raises(PolicyError, match="cannot be inverted"):
        inverse_of(((F(1, 2), F(1, 2)), (F(1, 2), F(1, 2))))
    with pytest.raises(Refused, match="too large"):
        inverse_of(tuple(tuple(F(1, 100) for _ in range(100)) for _ in range(100)))


def test_more_values_of_a_band_than_elimination_takes() -> None:
    assert inverse_of(geometric(F(9, 10), 100))[5][7] == 0
