"""The relation between classes: whole, without a common factor, and true."""

from __future__ import annotations

import itertools
import math
import random

from tetraodon.certificate.relation import relation
from tetraodon.certificate.zero_sum import independent_coordinates


def test_it_is_a_relation() -> None:
    rng, found = random.Random(7), 0
    cube = list(itertools.product((0, 1), repeat=4))
    while found < 40:
        vectors = tuple(rng.sample(cube, 6))
        if len(independent_coordinates([[1] * 6, *([v[k] for v in vectors] for k in range(4))])) < 5:
            continue
        r = relation(vectors)
        assert sum(r) == 0
        assert all(sum(c * v[k] for c, v in zip(r, vectors, strict=True)) == 0 for k in range(4))
        assert math.gcd(*r) == 1
        found += 1


def test_the_square() -> None:
    assert relation(((0, 0), (0, 1), (1, 0), (1, 1))) in ((1, -1, -1, 1), (-1, 1, 1, -1))
