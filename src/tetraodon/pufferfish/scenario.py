"""Sets of attackers: how the data may have come about, and what may be known of it ([KM12] section 3)."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from tetraodon.pufferfish.pair import Pairs, masks_of
from tetraodon.pufferfish.prior import Prior
from tetraodon.pufferfish.world import Dataset, World

BY_HAND = "stated by the analyst"


@dataclass(frozen=True)
class Composable:
    """Whether losses add up under a set of attackers, and why.

    `universally` is the condition of [KM12] Thm 8.1. `adds_up` is True where linear self-composition is proved,
    and None where nothing is proved either way.
    """

    universally: bool
    adds_up: bool | None
    reason: str


class Scenario(ABC):
    """A set of distributions over datasets. Numbers in it come from somewhere other than the protected table."""

    source: str = BY_HAND

    @property
    @abstractmethod
    def text(self) -> str:
        """The attackers, in words."""

    def priors(self, world: World) -> tuple[Prior, ...] | None:  # noqa: ARG002 - for the finite kinds
        """Every attacker, when there are finitely many; None when there are not."""
        return None

    @abstractmethod
    def draw(self, world: World, chance: random.Random) -> Prior:
        """One attacker of the set."""

    def sample(self, world: World, chance: random.Random) -> Dataset:
        """A dataset as one of the attackers imagines it."""
        return self.draw(world, chance).sample(chance)

    @abstractmethod
    def composability(self, pairs: Pairs, world: World) -> Composable:
        """Whether the losses of several releases add up for these attackers and pairs."""


def universally_composable(prior: Prior, pairs: Pairs, world: World) -> Composable:
    """Whether one attacker fits [KM12] Thm 8.1: each secret of a possible pair leaves a single dataset."""
    restricted = World(tuple(dataset for dataset, _ in prior.weights), world.names)
    masks = masks_of(pairs.on(world), restricted)
    counts = masks.masks.sum(axis=1)
    for pair, one, other in zip(masks.pairs, masks.first, masks.second, strict=True):
        if counts[one] and counts[other] and counts[one] + counts[other] > 2:
            loose = pair.first if counts[one] > 1 else pair.second
            reason = f"under {prior.name}, “{loose.text}” leaves more than one dataset possible ([KM12] Thm 8.1)"
            return Composable(False, None, reason)
    reason = f"under {prior.name}, every secret of a possible pair leaves one dataset ([KM12] Thm 8.1)"
    return Composable(True, True, reason)


def random_simplex(size: int, chance: random.Random, grain: int = 1000) -> list[Fraction]:
    """A random exact distribution on `size` outcomes, none impossible."""
    weights = [1 + chance.randrange(grain) for _ in range(size)]
    return [Fraction(weight, sum(weights)) for weight in weights]
