"""Records read off published tables: beliefs are Bayes' rule, written out, and are right as often as they say."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.attacks.test_on_release import released

from tetraodon.attacks.on_release import ENOUGH, at_most_one, expected_records, reconstruct
from tetraodon.noise import gaussian_pmf, laplace_pmf
from tetraodon.noise.laws import GAUSSIAN, LAPLACE, NoiseLaw
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, Measurement, Split

QUERY = LinearQuery(One(), (Split("a"),))


@pytest.mark.parametrize(("law", "pmf"), [(LAPLACE, laplace_pmf), (GAUSSIAN, gaussian_pmf)])
def test_beliefs_are_bayes_rule_written_out(law: NoiseLaw, pmf: object) -> None:
    scale, told, expected = Fraction(3, 2), np.array([-4, 0, 1, 2, 7]), np.array([0.1, 0.5, 0.3, 2.0, 6.0])
    found = at_most_one(told, expected, Measurement(QUERY, scale, law))
    assert found is not None
    for z, mean, (none, one) in zip(told.tolist(), expected, found, strict=True):
        before = [1.0, *(mean / (n * (n + 1)) for n in range(1, 80))]
        parts = [belief * pmf(scale, z - n) for n, belief in enumerate(before)]  # type: ignore[operator]
        assert (none, one) == pytest.approx((parts[0] / sum(parts), parts[1] / sum(parts)), rel=1e-9)


def test_what_is_told_exactly_is_believed() -> None:
    found = at_most_one(np.array([0, 1, 2]), np.ones(3), Measurement(QUERY, Fraction(0)))
    assert found is not None
    assert found.tolist() == [[1, 0], [0, 1], [0, 0]]


def test_beliefs_are_right_as_often_as_they_say() -> None:
    """A table as the attacker expects it, Laplace noise of scale 1/3: 40,000 cells, by the same dice in every run."""
    rng, scale = np.random.default_rng(2), Fraction(1, 3)
    expected = rng.uniform(0.02, 2, 40_000)
    truth = np.where(rng.random(40_000) < expected / (1 + expected), 1 / rng.random(40_000), 0).astype(int)
    p = 1 - math.exp(-3)
    noisy = truth + rng.geometric(p, 40_000) - rng.geometric(p, 40_000)
    found = at_most_one(noisy, expected, Measurement(QUERY, scale))
    assert found is not None
    for number in (0, 1):
        for those in np.array_split(np.argsort(found[:, number]), 4):
            assert np.mean(truth[those] == number) == pytest.approx(found[those, number].mean(), abs=0.015)


def test_expected_records_are_those_of_the_margins() -> None:
    found = expected_records(np.array([[6, 2], [-3, 0]]))
    assert found.sum() == pytest.approx(8, rel=0.1)
    assert found[0, 0] == pytest.approx(6)
    assert (found > 0).all()
    assert expected_records(np.array([3, 0, 0])).tolist() == [1, 1, 1]


def test_a_release_is_read(tmp_path: Path) -> None:
    items = [{"name": "both", "histogram": ["age", "ill"]}, {"name": "ill", "histogram": ["ill"]}]
    loud = released(tmp_path, release=items)
    both, ill = reconstruct(loud)
    assert (both.item, both.cells, ill.item) == ("both", 40, "ill")
    assert both.new <= both.named <= both.cells
    assert both.key == ""  # no even belief in one record reaches 90%
    assert both.strongest < 0.9
    assert ill.document()["strongest"] == ill.strongest


def test_what_has_too_little_noise_says_which_epsilon_has_enough(tmp_path: Path) -> None:
    (found,) = reconstruct(released(tmp_path, budget={"epsilon": 8}, release=[{"name": "ages", "histogram": ["age"]}]))
    assert found.strongest > 0.9
    least = Fraction(found.key.removeprefix("budget: {epsilon: ").removesuffix("}"))
    (again := tmp_path / "again").mkdir()
    (quiet,) = reconstruct(
        released(again, budget={"epsilon": str(least)}, release=[{"name": "ages", "histogram": ["age"]}])
    )
    assert (quiet.key, quiet.strongest < 0.9, least < 8) == ("", True, True)
    assert 1 / (1 + math.exp(-1 / float(ENOUGH))) < 0.9


def test_what_is_public_is_read_off(tmp_path: Path) -> None:
    secrets = {"age": {"within": 4}, "ill": "public"}
    (found,) = reconstruct(released(tmp_path, secrets=secrets, release=[{"name": "ill", "histogram": ["ill"]}]))
    assert (found.named, found.strongest, found.key) == (2, 1.0, "secrets: {ill: everything}")
