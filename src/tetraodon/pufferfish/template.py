"""The generic template ([MK15] Def. 4): a definition as linear constraints on P(M(D) = w), the same for every w."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from tetraodon.errors import PolicyError, Refused
from tetraodon.pufferfish.channel import Channel
from tetraodon.pufferfish.definition import Definition, SpelledOut
from tetraodon.pufferfish.prior import Prior
from tetraodon.pufferfish.scenario_models import Listed
from tetraodon.pufferfish.verification import ask
from tetraodon.pufferfish.world import World

ROW_LIMIT = 200_000


@dataclass(frozen=True)
class Violation:
    """A constraint that a channel breaks: the weighted sum of an output's probabilities is above zero."""

    constraint: int
    output: Any
    amount: Fraction


@dataclass(frozen=True)
class Template:
    """Constraints sum over D of c(D) P(M(D) = w) <= 0 for every output w. Zero coefficients are left out.

    `sufficient` says that the constraints ask for more than the definition: what passes is private, what fails may be.
    """

    world: World
    constraints: tuple[tuple[tuple[int, Fraction], ...], ...] = field(repr=False)
    sufficient: bool = False

    def check(self, channel: Channel) -> Violation | None:
        """The first constraint that a channel breaks, exactly; None when it keeps all."""
        if tuple(channel.datasets) != self.world.datasets:
            raise PolicyError("the channel is about other datasets", fix="list the template's datasets in its order")
        for number, constraint in enumerate(self.constraints):
            for place, output in enumerate(channel.outputs):
                amount = sum((c * channel.matrix[n][place] for n, c in constraint), Fraction(0))
                if amount > 0:
                    return Violation(number, output, amount)
        return None


def compiled(definition: Definition, world: World | None = None) -> Template:
    """A definition as the template's linear constraints, with a rational just below e^epsilon.

    >>> from tetraodon.pufferfish import pairs, scenarios
    >>> coin = World.product((0, 1), individuals=1)
    >>> compiled(Definition(pairs.values(), scenarios.independent(), odds=("1/2", 2)), coin).constraints[0]
    ((0, Fraction(1, 1)), (1, Fraction(-2, 1)))
    """
    if definition.delta:
        raise Refused("(epsilon, delta) bounds events, not single outputs", fix="set delta = 0")
    world = world_of(definition) if world is None else world
    question = ask(definition, world)
    priors = definition.scenarios.priors(world)
    if priors is None and question.world != world:
        raise Refused("the constraint leaves only part of this world", fix="give world= as that part")
    rows = _against_datasets(question) if priors is None else _against_priors(question, priors, world)
    kept: dict[tuple[tuple[int, Fraction], ...], None] = {}
    for one, other in rows:
        kept[_row(one, other, definition.high)] = None
        if definition.low:
            kept[_row(other, one, 1 / definition.low)] = None
        if len(kept) > ROW_LIMIT:
            raise Refused("the definition has too many constraints to write out", fix="take a smaller world")
    return Template(world, tuple(kept), sufficient=priors is None and not question.exact)


def world_of(definition: Definition) -> World:
    """The datasets that a definition's own list of priors mentions."""
    listed = definition.scenarios.listed if isinstance(definition.scenarios, Listed) else ()
    priors = [prior for prior in listed if isinstance(prior, Prior)]
    if not priors:
        raise PolicyError("the definition does not list its datasets", fix="give world=World.product(...)")
    return World(tuple(dict.fromkeys(d for prior in priors for d, _ in prior.weights)))


def _row(one: dict[int, Fraction], other: dict[int, Fraction], factor: Fraction) -> tuple[tuple[int, Fraction], ...]:
    terms = dict(one)
    for n, weight in other.items():
        terms[n] = terms.get(n, Fraction(0)) - factor * weight
    return tuple(sorted((n, c) for n, c in terms.items() if c))


def _against_priors(
    question: SpelledOut, priors: Sequence[Any], world: World
) -> Iterator[tuple[dict[int, Fraction], dict[int, Fraction]]]:
    for prior in priors:
        weights = prior.on(world)
        for a, b in zip(question.masks.first.tolist(), question.masks.second.tolist(), strict=True):
            sides = []
            for secret in (a, b):
                inside = {int(n): weights[n] for n in np.flatnonzero(question.masks.masks[secret]) if weights[n]}
                mass = sum(inside.values(), Fraction(0))
                sides.append({n: weight / mass for n, weight in inside.items()})
            if sides[0] and sides[1]:
                yield sides[0], sides[1]


def _against_datasets(question: SpelledOut) -> Iterator[tuple[dict[int, Fraction], dict[int, Fraction]]]:
    one = Fraction(1)
    for number in range(len(question.groups)):
        for x, y in question.neighbours(number):
            yield {x: one}, {y: one}
