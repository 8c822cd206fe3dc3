"""Every attack of the gallery, in the order in which the documentation tells them."""

from __future__ import annotations

from typing import Final

from tetraodon.attacks import (
    all_or_none,
    brothers,
    everything_at_once,
    exam,
    floating_point,
    from_the_view,
    gaussian_tail,
    known_sums,
    linking,
    low_prior,
    markov_chain,
    minimality,
    random_record,
    reconstruction,
    repeated_views,
    timing,
    two_hospitals,
)
from tetraodon.attacks.attack import Attack
from tetraodon.errors import QueryError, did_you_mean

GALLERY: Final[tuple[Attack, ...]] = (
    known_sums.ATTACK,
    exam.ATTACK,
    two_hospitals.ATTACK,
    minimality.ATTACK,
    low_prior.ATTACK,
    reconstruction.ATTACK,
    everything_at_once.ATTACK,
    random_record.ATTACK,
    gaussian_tail.ATTACK,
    all_or_none.ATTACK,
    floating_point.ATTACK,
    timing.ATTACK,
    repeated_views.ATTACK,
    brothers.ATTACK,
    markov_chain.ATTACK,
    from_the_view.ATTACK,
    linking.ATTACK,
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
