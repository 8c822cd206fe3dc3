"""Verification: the smallest epsilon at which a mechanism keeps a definition, with the attacker who shows it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from tetraodon.errors import Refused
from tetraodon.pufferfish.blocks import for_blocks
from tetraodon.pufferfish.channel import Channel
from tetraodon.pufferfish.definition import Definition
from tetraodon.pufferfish.exponent import log_above, log_below
from tetraodon.pufferfish.extreme import Peak, Peaks, for_prior
from tetraodon.pufferfish.likelihood import Table
from tetraodon.pufferfish.pair import Masks, masks_of
from tetraodon.pufferfish.scenario_sets import Anything, Blocks, Given, SharedLaw, check_product
from tetraodon.pufferfish.verdict import Verdict, Witness


def verify(mechanism: Channel, definition: Definition) -> Verdict:
    """Whether a mechanism keeps a definition: the smallest epsilon, exact or enclosed, and the worst attacker.

    >>> from tetraodon.pufferfish import Channel, Definition, pairs, scenarios
    >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], datasets=[(0,), (1,)], outputs=[0, 1])
    >>> verdict = verify(coin, Definition(pairs.values(), scenarios.independent(), odds=("1/3", 3)))
    >>> verdict.odds, verdict.exact, verdict.holds
    (Fraction(3, 1), True, True)
    """
    table = Table(mechanism.world, tuple(mechanism.outputs), mechanism.matrix)
    return judge(table, definition)


def judge(table: Table, definition: Definition) -> Verdict:
    """The verdict on a table of exact likelihoods."""
    scenario = definition.scenarios
    if isinstance(scenario, Given) and scenario.priors(table.world) is None:
        table = table.restricted(scenario.restrict(table.world))
        scenario = scenario.scenario
    pairs = definition.pairs.on(table.world)
    masks = masks_of(pairs, table.world)
    priors = definition.scenarios.priors(table.world)
    if priors is not None:
        peaks = None
        for prior in priors:
            found = for_prior(table, masks, prior)
            peaks = found if peaks is None else peaks.joined(found)
        assert peaks is not None
        return conclude(table, definition, masks, peaks, "every listed attacker")
    if isinstance(scenario, Anything):
        return conclude(
            table, definition, masks, for_blocks(table, masks, [None] * len(pairs)), "all pairs of datasets"
        )
    if isinstance(scenario, SharedLaw) and scenario.informed >= table.world.individuals - 1:
        scenario = Blocks()
    if isinstance(scenario, Blocks):
        groups = [scenario.fits(pair.about, table.world) for pair in pairs]
        if None not in groups and not isinstance(definition.scenarios, Given):
            check_product(table.world)
            return conclude(table, definition, masks, for_blocks(table, masks, groups), "all neighbouring datasets")
    raise Refused("no exact method is known for these attackers", fix="use a finite list of attackers")


def conclude(table: Table, definition: Definition, masks: Masks, peaks: Peaks, method: str) -> Verdict:
    """A verdict from exact extremes."""
    skipped = tuple(masks.pairs[n] for n in peaks.skipped)
    if peaks.forward is None or peaks.backward is None:
        zero = Fraction(0)
        return Verdict(
            definition, zero, zero, True, True, None, f"{method}: nothing to tell apart", Fraction(1), skipped=skipped
        )
    forward, backward = peaks.forward.odds, peaks.backward.odds
    best = peaks.forward if forward >= backward else peaks.backward
    odds = best.odds
    low, high = log_range(odds)
    return Verdict(
        definition,
        low,
        high,
        True,
        definition.allows(forward, backward),
        witness_of(table, masks, best, definition),
        method,
        odds,
        forward,
        backward,
        skipped,
    )


def log_range(odds: Fraction | float) -> tuple[Fraction | float, Fraction | float]:
    """Bounds on the logarithm of exact odds of at least 1."""
    if isinstance(odds, float):
        return math.inf, math.inf
    return log_below(odds), log_above(odds)


def witness_of(table: Table, masks: Masks, peak: Peak, definition: Definition) -> Witness:
    """The attacker behind an odds ratio, with the odds before and after."""
    pair = masks.pairs[peak.pair]
    before = peak.prior.probability(pair.first) / peak.prior.probability(pair.second)
    after: Any = before * peak.first / peak.second if peak.second else math.inf
    return Witness(pair, peak.prior, table.outputs[peak.output], before, after, definition.scenarios.text)
