"""Axioms, the generic template ([MK15] Def. 4), and composition ([KM12])."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from tetraodon.errors import PolicyError, Refused
from tetraodon.exact.exponent import display
from tetraodon.exact.rational import rational
from tetraodon.pufferfish.additive import Additive
from tetraodon.pufferfish.channel import Channel, mixture
from tetraodon.pufferfish.definition import Definition, SpelledOut, Verdict
from tetraodon.pufferfish.scenarios import Composable, Finite, Prior
from tetraodon.pufferfish.verification import ask, verify
from tetraodon.pufferfish.world import World

# -- axioms -----------------------------------------------------------------------------------------

Proposal = Callable[[Channel], bool]
SEARCH_LIMIT = 200_000


@dataclass(frozen=True)
class Counterexample:
    """Mechanisms that a proposal accepts, and what is made of them that it does not."""

    axiom: Literal["post-processing", "convexity"]
    accepted: tuple[Channel, ...]
    rejected: Channel
    how: str

    @property
    def text(self) -> str:
        return f"not closed under {self.axiom}: {self.how}"


def channels(world: World, outputs: Sequence[Any], grain: int = 1) -> Iterator[Channel]:
    """Every channel whose probabilities are multiples of 1/grain; 1 gives the deterministic ones."""
    rows = [
        tuple(Fraction(part, grain) for part in parts)
        for parts in itertools.product(range(grain + 1), repeat=len(outputs))
        if sum(parts) == grain
    ]
    if len(rows) ** world.size > SEARCH_LIMIT:
        raise Refused(
            "there are too many channels to try them all", fix="take fewer datasets, outputs or a smaller grain"
        )
    for matrix in itertools.product(rows, repeat=world.size):
        yield Channel(matrix, world.datasets, outputs, world.names)


def post_processing_counterexample(
    proposal: Proposal, world: World, outputs: Sequence[Any], *, grain: int = 1
) -> Counterexample | None:
    """An accepted channel and a map of its outputs whose result is not accepted, by exact search; None if all pass."""
    maps = [dict(zip(outputs, images, strict=True)) for images in itertools.product(outputs, repeat=len(outputs))]
    for channel in channels(world, outputs, grain):
        if not proposal(channel):
            continue
        for post in maps:
            after = channel.then(post.__getitem__)
            if not proposal(after):
                used = [w for n, w in enumerate(outputs) if any(row[n] for row in channel.matrix)]
                how = ", ".join(f"{w!r} becomes {post[w]!r}" for w in used if post[w] != w)
                return Counterexample("post-processing", (channel,), after, how)
    return None


def convexity_counterexample(
    proposal: Proposal, world: World, outputs: Sequence[Any], *, grain: int = 1, weight: Fraction = Fraction(1, 2)
) -> Counterexample | None:
    """Two accepted channels whose mixture is not accepted, by exact search; None if all pass."""
    accepted = [channel for channel in channels(world, outputs, grain) if proposal(channel)]
    if len(accepted) ** 2 > SEARCH_LIMIT:
        raise Refused("there are too many pairs of channels to try them all", fix="take a smaller world or grain")
    for one, other in itertools.combinations(accepted, 2):
        both = mixture([(weight, one), (1 - weight, other)])
        if not proposal(both):
            how = f"one of two accepted mechanisms, the first with probability {weight}"
            return Counterexample("convexity", (one, other), both, how)
    return None


def k_anonymity(k: int, quasi_identifier: Callable[[Any], Any] = lambda record: record) -> Proposal:
    """Accepts what publishes only tables where k records share each quasi-identifier ([MK15] Def. 2)."""

    def anonymous(table: Any) -> bool:
        keys = [quasi_identifier(record) for record in table]
        return all(keys.count(key) >= k for key in keys)

    def accepts(channel: Channel) -> bool:
        used = [w for n, w in enumerate(channel.outputs) if any(row[n] for row in channel.matrix)]
        return all(anonymous(table) for table in used)

    return accepts


# -- template ---------------------------------------------------------------------------------------
# The generic template ([MK15] Def. 4): a definition as linear constraints on P(M(D) = w), the same for every w.

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
    listed = definition.scenarios.arguments if isinstance(definition.scenarios, Finite) else ()
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


# -- composition ------------------------------------------------------------------------------------
# Several releases at once: their joint loss, and a sum of losses only where that is proved ([KM12] section 8).

Relation = Callable[[Any], Mapping[Any, Any]]
Kind = Literal["adds up", "verified jointly"]


@dataclass(frozen=True)
class Composition:
    """What two releases cost together, and how that is known.

    `adds up`: the losses may be summed, for these and for any later releases. `verified jointly`: they may not; the
    joint loss of these two was computed. `charge` is what a ledger must book, an upper bound on the joint epsilon.
    """

    kind: Kind
    charge: Fraction | float
    joint: Verdict
    parts: tuple[Verdict, ...]
    why: Composable
    mechanism: Channel | Additive

    @property
    def text(self) -> str:
        total = sum(display(part.upper) for part in self.parts)
        parts = " and ".join(f"{display(part.upper):.6g}" for part in self.parts)
        if self.kind == "adds up":
            return f"The losses {parts} add up to {total:.6g}, because {self.why.reason}."
        beyond = "more than" if self.joint.lower > sum(part.upper for part in self.parts) else "not proved to be"
        return (
            f"The losses {parts} do not add up ({self.why.reason}). Together the releases cost "
            f"{display(self.charge):.6g}, which is {beyond} their sum {total:.6g}."
        )


def compose(
    first: Channel | Additive,
    second: Channel | Additive,
    definition: Definition,
    *,
    relation: Relation | Sequence[Relation] | None = None,
) -> Composition:
    """Two releases with independent coins: of one dataset, or of two related ones ([KM12] Eq. 14).

    `relation` gives the law of the other party's dataset for each of ours; of a list of them any may be true, and
    the worst counts. Without it both look at the same data.
    Refuses what it can neither sum nor verify: nothing is ever just added.
    """
    if relation is not None and not callable(relation):
        if not relation:
            raise PolicyError("no relation is listed", fix="list at least one, or leave it out")
        each = [compose(first, second, definition, relation=one) for one in relation]
        return max(each, key=lambda found: found.charge)
    if definition.delta:
        raise Refused(
            "(epsilon, delta) is not composed here",
            fix="compose at delta = 0, or verify the joint channel at its own epsilon and delta",
        )
    other = second if relation is None else averaged(second, relation, first)
    if isinstance(first, Channel) and isinstance(other, Channel):
        joint: Channel | Additive = first.with_(other)
    elif isinstance(first, Additive) and isinstance(other, Additive):
        joint = first.with_(other)
    else:
        raise Refused(
            "a channel and added noise cannot be verified together exactly",
            fix="write both as channels, or both as added noise",
        )
    why = definition.scenarios.composability(definition.pairs, joint.world)
    parts = (verify(first, definition), verify(other, definition))
    together = verify(joint, definition)
    total = sum((part.upper for part in parts), Fraction(0))
    if why.adds_up and relation is None and math.isfinite(total):
        return Composition("adds up", total, together, parts, why, joint)
    if math.isinf(together.upper) and not together.exact:
        raise Refused("the joint loss is not known", fix="list the attackers, or release only one of the two")
    return Composition("verified jointly", together.upper, together, parts, why, joint)


def averaged(second: Channel | Additive, relation: Relation, first: Channel | Additive) -> Channel:
    """The other party's release as a function of our data: E[P(A(Bob) = w) | Alice] ([KM12] Eq. 14)."""
    if not isinstance(second, Channel):
        raise Refused("a related release must be a finite channel", fix="write it as a Channel")
    rows = []
    for dataset in first.world.datasets:
        law = {other: rational(chance, name="a probability") for other, chance in relation(dataset).items()}
        if sum(law.values()) != 1 or any(chance < 0 for chance in law.values()):
            raise PolicyError(f"the relation does not sum to 1 on {dataset!r}", fix="write exact fractions")
        row = [Fraction(0)] * len(second.outputs)
        for other, chance in law.items():
            if other not in second.world.index:
                raise PolicyError("the relation leads to a dataset that the other channel does not know", fix="list it")
            for n, number in enumerate(second.matrix[second.world.index[other]]):
                row[n] += chance * number
        rows.append(row)
    return Channel(rows, first.world.datasets, second.outputs, first.world.names)
