"""FRAPP: its law, its reconstruction and its error, by enumeration of what records can become."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tests.noise.walk import Script
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import PolicyError
from tetraodon.policy.adversary import Adversary
from tetraodon.views.perturbation import Frapp, frapp

F = Fraction


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
