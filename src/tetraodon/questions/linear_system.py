"""Solutions of small linear systems whose numbers are known between ends."""

from __future__ import annotations

import numpy as np

from tetraodon.arrays import Bools, Floats
from tetraodon.questions.moments import Between

SINGULAR = 1e12
"""Systems whose condition is above this are not solved: floating-point numbers would not do."""


def solved(matrix: Between, right: Between, most: Floats) -> Between:
    """The solution b of A b = c for every cell, where no entry of b is beyond `most`.

    Pre   the last axes are those of the system; those before them are cells.
    Post  the interval holds b for any A and c between their ends; it reaches up to `most` where A might be singular.
    Why   let R be the inverse of the centre of A. Then b - Rc' = R (e - E b) for distances e and E from the centres, so
          that d = |b - Rc'| <= u + M d with M = |R| rad A and u = |R| (rad c + rad A |Rc'|). If no eigenvalue of M
          reaches 1, no A is singular, and d <= (1 - M)^-1 u, for the inverse has no negative entry.
    """
    size = right.value.shape[-1]
    inverse, regular = _inverse(matrix.centre)
    centre = _times(inverse, right.centre)
    far = np.abs(inverse) @ matrix.radius
    regular &= np.abs(np.linalg.eigvals(far)).max(axis=-1) < 1 - 1e-9
    spread = _times(np.abs(inverse), right.radius + _times(matrix.radius, np.abs(centre)))
    left = np.where(regular[..., None, None], np.eye(size) - far, np.eye(size))
    reach = np.linalg.solve(left, spread[..., None])[..., 0]
    known = regular[..., None]
    lower, upper = np.where(known, centre - reach, -most), np.where(known, centre + reach, most)
    own, solvable = _inverse(matrix.value)
    value = np.where(solvable[..., None], _times(own, right.value), np.where(known, centre, 0.0))
    return Between(np.clip(value, lower, upper), lower, upper).within(-most, most)


def _inverse(matrices: Floats) -> tuple[Floats, Bools]:
    """The inverse of every matrix that has one, zeros for the others, and which have."""
    good = np.asarray(np.linalg.cond(matrices) < SINGULAR)
    safe = np.where(good[..., None, None], matrices, np.eye(matrices.shape[-1]))
    return np.where(good[..., None, None], np.linalg.inv(safe), 0.0), good


def _times(matrices: Floats, vectors: Floats) -> Floats:
    return np.asarray((matrices @ vectors[..., None])[..., 0])
