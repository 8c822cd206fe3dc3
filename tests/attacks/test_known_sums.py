"""Averaging along known sums beats the noise, until the noise knows of them."""

from __future__ import annotations

import numpy as np
from tests.attacks.stories import story

from tetraodon.attacks.on_mechanisms import policy, recover
from tetraodon.certificate import sensitivity
from tetraodon.query.kinds import histogram


def test_without_noise_the_table_comes_back() -> None:
    counts = np.array([3, 1, 4, 1, 5, 9])
    assert np.allclose(recover(counts, counts[:-1] + counts[1:]), counts)


def test_the_price_of_what_is_known() -> None:
    assert sensitivity(policy(16, known=False), histogram("r")).value == 2
    assert sensitivity(policy(16, known=True), histogram("r")).value == 16


def test_averaging_and_its_end() -> None:
    numbers = story("known-sums").numbers
    assert numbers["attacker's error without the defence"] < numbers["standard deviation of the noise"] / 8
    assert numbers["attacker's error with the defence"] > 5 * numbers["standard deviation of the noise"]
