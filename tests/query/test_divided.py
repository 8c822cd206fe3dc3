"""Parts that are divided where they are large: what each round looks at, and with how much noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Ints
from tetraodon.noise.laws import LAPLACE, NoiseLaw
from tetraodon.query.adaptive_partition import LARGE, Divided, pooled, spread

SCALE = Fraction(3)


def silence(_: NoiseLaw, __: Fraction, shape: tuple[int, ...]) -> Ints:
    return np.zeros(shape, np.int64)


def test_every_round_has_an_equal_part_and_small_parts_get_what_is_left() -> None:
    drawn: list[tuple[Fraction, int]] = []

    def draw(law: NoiseLaw, scale: Fraction, shape: tuple[int, ...]) -> Ints:
        assert law is LAPLACE
        drawn.append((scale, shape[0]))
        return np.zeros(shape, np.int64)

    cells = np.zeros(512, np.int64)
    cells[70] = 10_000
    Divided(("x",), (512,)).measure(cells, SCALE, draw)
    assert drawn == [(9, 8), (Fraction(9, 2), 7), (9, 8), (9, 7), (9, 8)]
    for place in range(2):  # a part that is told no more has spent as much as one that is
        spent = [1 / scale for scale, _ in drawn[: 2 * place + 2]]
        assert sum(spent[::2]) + spent[-1] == sum(1 / scale for scale, _ in drawn[::2]) == 1 / SCALE


def test_what_was_told_is_read_back() -> None:
    parts = Divided(("x", "y"), (40, 9))
    cells = np.random.default_rng(1).poisson(3, (2, 40, 9))
    measured = parts.measure(cells, SCALE, lambda law, scale, shape: law.draw(scale, shape))
    assert measured.shape == (2, parts.rows)
    rounds = list(parts.told(measured, SCALE))
    assert [one.width for one in rounds] == [16, 4, 1]
    covered = sum(spread(one.settled, one.width, parts.sizes).astype(int) for one in rounds)
    assert np.array_equal(covered, np.ones((2, 40, 9)))
    silent = list(parts.told(parts.measure(cells, Fraction(1, 100), silence), Fraction(1, 100)))
    assert np.array_equal(silent[0].counts, pooled(cells, 16, 2))
    assert np.array_equal(silent[-1].counts[silent[-1].active], cells[silent[-1].active])


def test_a_part_is_divided_above_the_limit_alone() -> None:
    parts = Divided(("x",), (64,))
    for count, divided in ((2 * LARGE[1] * 3, False), (2 * LARGE[1] * 3 + 1, True)):
        cells = np.zeros(64, np.int64)
        cells[3] = count
        first, _ = parts.told(parts.measure(cells, SCALE, silence), SCALE)
        assert first.divided[0, 0] == divided
        assert not first.divided[0, 1:].any()


def test_numbers_that_do_not_fit_together_are_refused() -> None:
    parts = Divided(("x",), (64,))
    measured = parts.measure(np.zeros(64, np.int64), SCALE, silence)
    measured[0, -1] = 5
    with pytest.raises(QueryError, match="was not there to be counted"):
        list(parts.told(measured, SCALE))


def test_parts_are_of_one_or_two_attributes() -> None:
    for names, sizes in ((("x",), (3, 4)), (("x", "y", "z"), (9, 9, 9)), (("x",), (0,))):
        with pytest.raises(QueryError, match="one or two attributes"):
            Divided(names, sizes)
