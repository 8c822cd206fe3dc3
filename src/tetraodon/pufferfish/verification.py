"""Verification: the smallest epsilon at which a mechanism keeps a definition, with the attacker who shows it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tetraodon.errors import PolicyError, QueryError, Refused
from tetraodon.pufferfish.additive import Additive, Gaussian
from tetraodon.pufferfish.attacker_search import search
from tetraodon.pufferfish.channel import Channel
from tetraodon.pufferfish.definition import Definition, SpelledOut
from tetraodon.pufferfish.derived_mechanism import Mixed, Processed, attacked, likelihoods, no_more_than
from tetraodon.pufferfish.gaussian import judge_gaussian
from tetraodon.pufferfish.hockey_stick import judge_delta
from tetraodon.pufferfish.known_sums import KnownSums
from tetraodon.pufferfish.laplace import judge_laplace
from tetraodon.pufferfish.largest_odds import for_blocks, for_priors
from tetraodon.pufferfish.likelihood import Likelihoods
from tetraodon.pufferfish.pair import masks_of
from tetraodon.pufferfish.sampled import judge_samples
from tetraodon.pufferfish.scenario import Anything, Given, IndependentGroups, SharedLaw, check_product
from tetraodon.pufferfish.verdict import Verdict, bracketed, concluded
from tetraodon.pufferfish.world import World

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
    table = likelihoods(mechanism)
    if table is None or (question.priors is None and not question.exact):
        return above
    sharp = len({part.noises for part in mechanism.parts}) == 1
    if question.priors is None:
        table = table.restricted(question.world)
        return attacked(above, table, question.masks, for_blocks(table, question.masks, question.groups), sharp=sharp)
    return attacked(above, table, question.masks, for_priors(table, question.masks, question.priors), sharp=sharp)


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
    if isinstance(scenario, KnownSums):
        found = scenario.neighbours(pairs, world)
        return SpelledOut(
            definition, priors, world, found, [None] * len(found.pairs), True, "all neighbours under the known sums"
        )
    everybody: list[frozenset[int] | None] = [None] * len(pairs)
    if isinstance(scenario, SharedLaw):
        if not known:
            scenario.check(world)
        if scenario.informed < world.individuals - 1:
            groups = everybody if known else [_merged(IndependentGroups(), pair.about) for pair in pairs]
            uninformed = tuple(range(scenario.informed, world.individuals))
            return SpelledOut(
                definition, priors, world, masks, groups, False, "search, and all neighbouring datasets", uninformed
            )
        scenario = IndependentGroups()
    if isinstance(scenario, IndependentGroups) and not known:
        check_product(world)
        groups = [_merged(scenario, pair.about) for pair in pairs]
        fits = all(scenario.fits(pair.about, world) is not None for pair in pairs)
        return SpelledOut(
            definition,
            priors,
            world,
            masks,
            groups,
            fits,
            "all neighbouring datasets" if fits else "search, and neighbours",
        )
    if isinstance(scenario, IndependentGroups):
        return SpelledOut(
            definition, priors, world, masks, everybody, False, "search, and all pairs of possible datasets"
        )
    if isinstance(scenario, Anything) or scenario.priors(world) is not None:
        return SpelledOut(definition, priors, world, masks, everybody, True, "all pairs of possible datasets")
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
    if below.forward is None or below.backward is None:
        return bracketed(table, definition, masks, None, above, question.method)
    return bracketed(table, definition, masks, below, above, question.method)
