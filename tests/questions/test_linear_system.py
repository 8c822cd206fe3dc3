"""Solutions lie between their ends for every system between its own."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.questions.linear_system import solved
from tetraodon.questions.moments import Between

MOST = np.array([50.0, 50.0])
seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.floats(0, 0.4))
def test_any_system_between_the_ends_is_solved_between_the_ends(seed: int, far: float) -> None:
    rng = np.random.default_rng(seed)
    matrix, right = rng.uniform(-1, 1, (7, 2, 2)), rng.uniform(-1, 1, (7, 2))
    about = [Between(part, part - far * rng.uniform(0, 1, part.shape), part + far) for part in (matrix, right)]
    found = solved(about[0], about[1], MOST)
    assert (found.lower <= found.value).all()
    assert (found.value <= found.upper).all()
    for _ in range(20):
        left, column = (rng.uniform(part.lower, part.upper) for part in about)
        truth = np.linalg.solve(left, column[..., None])[..., 0]
        inside = (found.lower - 1e-6 <= truth) & (truth <= found.upper + 1e-6)
        assert (inside | (np.abs(truth) > MOST)).all()


def test_what_may_be_singular_has_any_solution() -> None:
    matrix = np.array([[[1.0, 1.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]])
    right = np.ones((2, 2))
    found = solved(Between(matrix, matrix, matrix), Between(right, right, right), MOST)
    assert (found.lower == -MOST).all()
    assert (found.upper == MOST).all()
