"""Every attack of the gallery, in the order in which the documentation tells them."""

from __future__ import annotations

from typing import Final

from tetraodon.attacks.attack import Attack
from tetraodon.attacks.on_mechanisms import (
    ALL_OR_NONE,
    EVERYTHING_AT_ONCE,
    EXAM,
    FLOATING_POINT,
    GAUSSIAN_TAIL,
    KNOWN_SUMS,
    MARKOV_CHAIN,
    RANDOM_RECORD,
    RECONSTRUCTION,
    TIMING,
)
from tetraodon.attacks.on_views import (
    BROTHERS,
    FROM_THE_VIEW,
    LINKING,
    LOW_PRIOR,
    MINIMALITY,
    REPEATED_VIEWS,
    TWO_HOSPITALS,
)
from tetraodon.errors import QueryError, did_you_mean

GALLERY: Final[tuple[Attack, ...]] = (
    KNOWN_SUMS,
    EXAM,
    TWO_HOSPITALS,
    MINIMALITY,
    LOW_PRIOR,
    RECONSTRUCTION,
    EVERYTHING_AT_ONCE,
    RANDOM_RECORD,
    GAUSSIAN_TAIL,
    ALL_OR_NONE,
    FLOATING_POINT,
    TIMING,
    REPEATED_VIEWS,
    BROTHERS,
    MARKOV_CHAIN,
    FROM_THE_VIEW,
    LINKING,
)


def find(name: str) -> Attack:
    """The attack of that name.

    >>> find("exam").title
    'The exam in a known order'
    """
    for attack in GALLERY:
        if attack.name == name:
            return attack
    known = [attack.name for attack in GALLERY]
    raise QueryError(f"there is no attack {name!r}", fix=did_you_mean(name, known))
