"""Verification: the least epsilon or delta at which a mechanism satisfies a definition, and who attains it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from tetraodon.errors import PolicyError, QueryError, Refused
from tetraodon.exact.exponent import exp_above, exp_below
from tetraodon.pufferfish.additive import Additive, Gaussian, judge_laplace
from tetraodon.pufferfish.attacker_search import search
from tetraodon.pufferfish.channel import Channel
from tetraodon.pufferfish.definition import Definition, SpelledOut, Verdict, Witness, bracketed, concluded
from tetraodon.pufferfish.derived_mechanism import Mixed, Processed, attacked, likelihoods, no_more_than
from tetraodon.pufferfish.gaussian import judge_gaussian
from tetraodon.pufferfish.largest_odds import SLACK, Likelihoods, SecretSums, for_blocks, for_priors
from tetraodon.pufferfish.pairs import Masks, masks_of
from tetraodon.pufferfish.sampled import judge_samples
from tetraodon.pufferfish.scenarios import (
    Anything,
    Given,
    IndependentGroups,
    KnownSums,
    Prior,
    SharedLaw,
    check_product,
)
from tetraodon.pufferfish.world import World, classes_of

# -- hockey stick -----------------------------------------------------------------------------------
# (epsilon, delta): the probability that has to be forgiven for the odds to stay within e^epsilon ([MK15] Def. 3).


@dataclass(frozen=True)
class _Worst:
    low: Fraction
    high: Fraction
    pair: int
    prior: Prior
    first: Sequence[Fraction]
    second: Sequence[Fraction]
    forward: bool


def excess(one: Sequence[Fraction], other: Sequence[Fraction], factor: Fraction) -> Fraction:
    """The sum of max(0, P - factor * Q): the largest P(B) - factor * Q(B) over all events B.

    >>> half = Fraction(1, 2)
    >>> excess([Fraction(1), Fraction(0)], [half, half], Fraction(1))
    Fraction(1, 2)
    """
    return sum((max(Fraction(0), a - factor * b) for a, b in zip(one, other, strict=True)), Fraction(0))


def judge_delta(table: Likelihoods, question: SpelledOut) -> Verdict:
    """The smallest delta at the definition's epsilon.

    Post  enclosed by the rationals next to e^epsilon, forty digits apart; exact at epsilon = 0.
    Why   the excess is jointly convex in (P, Q), so against a set of attackers it is largest at single datasets, as
          the odds are in `for_blocks`. Where the set allows less than the groups say, the number is an upper bound.
    """
    definition, masks, priors = question.definition, question.masks, question.priors
    epsilon = definition.epsilon or Fraction(0)
    low, high = exp_below(epsilon), exp_above(epsilon)
    worst: _Worst | None = None
    seen = set()
    for pair, prior, one, other in (
        _given_datasets(table, masks, question.groups, high) if priors is None else _given_priors(table, masks, priors)
    ):
        seen.add(pair)
        for forward, a, b in ((True, one, other), (False, other, one)):
            found = _Worst(excess(a, b, high), excess(a, b, low), pair, prior, a, b, forward)
            if worst is None or found.high > worst.high:
                worst = found
    skipped = tuple(pair for number, pair in enumerate(masks.pairs) if number not in seen)
    if worst is None:
        zero = Fraction(0)
        return Verdict(
            definition, zero, zero, True, True, None, "no pair is in doubt", skipped=skipped, delta=(zero, zero)
        )
    real = question.exact or priors is not None  # else the two datasets may be more than any of these attackers knows
    attained = worst.low if real else Fraction(0)
    holds = definition.allows_delta(attained, worst.high)
    gains = [a - high * b for a, b in zip(worst.first, worst.second, strict=True)]
    output = max(range(len(gains)), key=gains.__getitem__)
    witness = _witness(table, masks, worst, output, definition) if real else None
    method = "largest excess over all events"
    delta = (attained, worst.high)
    return Verdict(definition, epsilon, epsilon, real, holds, witness, method, skipped=skipped, delta=delta)


def _given_priors(
    table: Likelihoods, masks: Masks, priors: tuple[Prior, ...]
) -> Iterator[tuple[int, Prior, list[Fraction], list[Fraction]]]:
    for prior in priors:
        sums = SecretSums(table, masks.masks, prior.on(table.world))
        for pair, (a, b) in enumerate(zip(masks.first.tolist(), masks.second.tolist(), strict=True)):
            if sums.mass[a] and sums.mass[b]:
                outputs = range(len(table.outputs))
                one = [sums.exact(a, output) / sums.mass[a] for output in outputs]
                yield pair, prior, one, [sums.exact(b, output) / sums.mass[b] for output in outputs]


def _given_datasets(
    table: Likelihoods, masks: Masks, groups: Sequence[frozenset[int] | None], factor: Fraction
) -> Iterator[tuple[int, Prior, list[Fraction], list[Fraction]]]:
    """The worst neighbours of each pair, chosen by floats among ties that make no difference beyond them."""
    half, floats, bound = Fraction(1, 2), table.floats, float(factor)
    for pair, group in enumerate(groups):
        labels = classes_of(table.world, group)
        one, other = masks.masks[masks.first[pair]], masks.masks[masks.second[pair]]
        found: list[tuple[float, int, int]] = []
        for label in np.intersect1d(labels[one], labels[other]):
            for x in np.flatnonzero(one & (labels == label)).tolist():
                ys = np.flatnonzero(other & (labels == label))
                there = np.maximum(0, floats[x] - bound * floats[ys]).sum(axis=1)
                back = np.maximum(0, floats[ys] - bound * floats[x]).sum(axis=1)
                found += zip(np.maximum(there, back).tolist(), [x] * len(ys), ys.tolist(), strict=True)
        top = max((score for score, _, _ in found), default=-math.inf)
        ranks = table.distinct[1]
        near = {(ranks[x].tobytes(), ranks[y].tobytes()): (x, y) for score, x, y in found if score >= top - SLACK}
        for x, y in near.values():
            prior = Prior(((table.world.datasets[x], half), (table.world.datasets[y], half)), "an informed attacker")
            yield pair, prior, table.row(x), table.row(y)


def _witness(table: Likelihoods, masks: Masks, worst: _Worst, output: int, definition: Definition) -> Witness:
    pair = masks.pairs[worst.pair]
    before = worst.prior.probability(pair.first) / worst.prior.probability(pair.second)
    a, b = worst.first[output], worst.second[output]
    a, b = (a, b) if worst.forward else (b, a)
    after: Fraction | float = before * a / b if b else math.inf
    return Witness(pair, worst.prior, table.outputs[output], before, after, definition.scenarios.text)


# -- verification -----------------------------------------------------------------------------------

DRAWN = 20
"""How many attackers of a set that no formula exhausts are tried by sampling."""


def verify(
    mechanism: Channel | Additive | Processed | Mixed | Callable[[Any], Any],
    definition: Definition,
    *,
    world: World | None = None,
    samples: int = 20_000,
    alarm: Any = "1e-6",
) -> Verdict:
    """Whether a mechanism keeps a definition: the smallest epsilon, exact or enclosed, and the worst attacker.

    Any Python function of a dataset can be verified by sampling in a `world`: that proves failures, at a false-alarm
    rate of at most `alarm`, and never proves that a definition holds.

    >>> from tetraodon.pufferfish import Channel, Definition, pairs, scenarios
    >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], datasets=[(0,), (1,)], outputs=[0, 1])
    >>> verdict = verify(coin, Definition(pairs.values(), scenarios.independent(), odds=("1/3", 3)))
    >>> verdict.odds, verdict.exact, verdict.holds
    (Fraction(3, 1), True, True)
    """
    if not isinstance(definition, Definition):
        raise QueryError("this is no definition", fix="write Definition(pairs, scenarios, epsilon=1)")
    if isinstance(mechanism, Channel):
        return judge(Likelihoods.of(mechanism.world, tuple(mechanism.outputs), mechanism.matrix), definition)
    if isinstance(mechanism, Additive):
        question = ask(definition, mechanism.world)
        if any(isinstance(noise, Gaussian) for noise in mechanism.noises):
            return judge_gaussian(mechanism, question)
        if definition.delta:
            raise PolicyError("delta is computed for channels and Gaussian noise", fix="ask for delta = 0")
        if question.priors is None and not question.exact:
            return _enclose(mechanism.table(mechanism.points).restricted(question.world), question)
        return judge_laplace(mechanism, question)
    if isinstance(mechanism, Processed | Mixed):
        how = "post-processing" if isinstance(mechanism, Processed) else "mixing"
        above = no_more_than([verify(part, definition) for part in mechanism.parts], f"{how} never adds to a loss")
        return above if isinstance(mechanism, Processed) else _attack_mixture(mechanism, above)
    if not callable(mechanism) or world is None:
        raise PolicyError(
            "this is no mechanism that can be verified",
            fix="give a Channel, an Additive, or a function together with world=World.product(...)",
        )
    question = ask(definition, world)
    if question.priors is None and not question.exact:  # neighbours may be more than any of these attackers knows
        chance = random.Random(0)
        question = replace(question, priors=tuple(definition.scenarios.draw(world, chance) for _ in range(DRAWN)))
    return judge_samples(mechanism, question, samples, alarm)


def _attack_mixture(mechanism: Mixed, above: Verdict) -> Verdict:
    """The bound of a mixture's parts, with the best attacker at the true answers where the attackers are known."""
    question = ask(above.definition, mechanism.world)
    table, masks = likelihoods(mechanism), question.masks
    if table is None or (question.priors is None and not question.exact):
        return above
    sharp = len({part.noises for part in mechanism.parts}) == 1
    if question.priors is not None:
        return attacked(above, table, masks, for_priors(table, masks, question.priors), sharp=sharp)
    table = table.restricted(question.world)
    return attacked(above, table, masks, for_blocks(table, masks, question.groups), sharp=sharp)


def judge(table: Likelihoods, definition: Definition) -> Verdict:
    """The verdict on a table of exact likelihoods."""
    question = ask(definition, table.world)
    if definition.delta:
        return judge_delta(table.restricted(question.world), question)
    if question.priors is not None:
        peaks = for_priors(table, question.masks, question.priors)
        return concluded(table, definition, question.masks, peaks, "every listed attacker")
    table = table.restricted(question.world)
    if not question.exact:
        return _enclose(table, question)
    peaks = for_blocks(table, question.masks, question.groups)
    return concluded(table, definition, question.masks, peaks, question.method)


def ask(definition: Definition, world: World) -> SpelledOut:
    """What a definition asks in a world."""
    scenario, known = definition.scenarios, False
    priors = scenario.priors(world)
    while isinstance(scenario, Given) and scenario.priors(world) is None:
        world, scenario, known = scenario.restrict(world), scenario.scenario, True
    pairs = definition.pairs.on(world)
    if not pairs:
        raise PolicyError(
            "this world has no pair of secrets, so nothing would be protected",
            fix="give the world more values, let individuals be absent, or choose other pairs",
        )
    masks = masks_of(pairs, world)

    def spelled_out(
        groups: Sequence[frozenset[int] | None], exact: bool, method: str, shared: tuple[int, ...] = ()
    ) -> SpelledOut:
        return SpelledOut(definition, priors, world, masks, groups, exact, method, shared)

    everybody: list[frozenset[int] | None] = [None] * len(pairs)
    match scenario:
        case KnownSums():
            masks = scenario.neighbours(pairs, world)
            return spelled_out([None] * len(masks.pairs), True, "all neighbours under the known sums")
        case SharedLaw(informed) if informed < world.individuals - 1:
            uninformed = tuple(range(informed, world.individuals))
            method = "search, and all neighbouring datasets"
            if known:
                return spelled_out(everybody, False, method, uninformed)
            scenario.check(world)
            return spelled_out([_merged(IndependentGroups(), pair.about) for pair in pairs], False, method, uninformed)
        case SharedLaw() | IndependentGroups() if known:
            return spelled_out(everybody, False, "search, and all pairs of possible datasets")
        case SharedLaw() | IndependentGroups():
            if isinstance(scenario, SharedLaw):
                scenario.check(world)
            check_product(world)
            independent = scenario if isinstance(scenario, IndependentGroups) else IndependentGroups()
            fits = all(independent.fits(pair.about, world) is not None for pair in pairs)
            method = "all neighbouring datasets" if fits else "search, and neighbours"
            return spelled_out([_merged(independent, pair.about) for pair in pairs], fits, method)
        case _ if isinstance(scenario, Anything) or scenario.priors(world) is not None:
            return spelled_out(everybody, True, "all pairs of possible datasets")
    raise Refused("no method is known for this kind of attackers", fix="list their priors, or use scenarios.*")


def _merged(scenario: IndependentGroups, about: frozenset[int] | None) -> frozenset[int] | None:
    """Everybody who may be correlated with somebody the pair is about."""
    if about is None:
        return None
    return frozenset[int]().union(*(scenario.group_of(i) for i in about))


def _enclose(table: Likelihoods, question: SpelledOut) -> Verdict:
    """A bracket: an attacker found by search, and the bound of all datasets that agree outside a pair's group.

    Why   merging the groups that a pair touches, or taking everybody, allows more correlation and so more attackers,
          and for those `for_blocks` is exact.
    """
    definition, masks = question.definition, question.masks
    above = for_blocks(table, masks, question.groups)
    if above.forward is None or above.backward is None:
        return concluded(table, definition, masks, above, question.method)
    spots = list(dict.fromkeys((peak.pair, peak.output) for peak in (above.forward, above.backward)))
    below = for_priors(table, masks, list(search(table, masks, spots, question.shared)))
    return bracketed(table, definition, masks, below, above, question.method)
