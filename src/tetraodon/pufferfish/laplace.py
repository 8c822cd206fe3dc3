"""The exact loss of Laplace noise: a rational epsilon against whole sets, a sum of exponentials against one prior."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Bools
from tetraodon.errors import Refused
from tetraodon.exponent import display, exp_above, exp_below, sign_of_sum
from tetraodon.pufferfish.additive import Additive, Exponents
from tetraodon.pufferfish.definition import Definition, SpelledOut
from tetraodon.pufferfish.largest_odds import OddsPeak, Peaks, for_blocks, for_priors, near
from tetraodon.pufferfish.likelihood import Likelihoods, SecretSums, whole_weights
from tetraodon.pufferfish.pair import Masks
from tetraodon.pufferfish.prior import Prior
from tetraodon.pufferfish.verdict import Verdict, log_range, no_loss, witness_of


def judge_laplace(mechanism: Additive, question: SpelledOut) -> Verdict:
    """The smallest epsilon of added Laplace or discrete Laplace noise.

    Pre   without priors, the supremum is over datasets that agree outside a pair's group.
    Post  exact: against sets epsilon is a Fraction; against priors it is known to forty digits, and whether it
          exceeds the definition's is decided without rounding.
    """
    definition, masks = question.definition, question.masks
    if question.priors is None:
        table = mechanism.table(mechanism.points).restricted(question.world)
        return _against_sets(mechanism, definition, table, masks, for_blocks(table, masks, question.groups))
    table = mechanism.table(mechanism.outputs).restricted(question.world)
    peaks = for_priors(table, masks, question.priors)
    return _against_priors(mechanism, definition, table, masks, peaks, question.priors)


def _against_sets(
    mechanism: Additive, definition: Definition, table: Likelihoods, masks: Masks, peaks: Peaks
) -> Verdict:
    """Two datasets are told apart by exactly sum |f(x) - f(y)| / scale, at the output f(x)."""
    skipped = tuple(masks.pairs[n] for n in peaks.skipped)
    method = "all neighbouring datasets, at their true answers"
    if peaks.forward is None or peaks.backward is None:
        return no_loss(definition, method, skipped)
    losses = [_loss(mechanism, peak) for peak in (peaks.forward, peaks.backward)]
    best = peaks.forward if losses[0] >= losses[1] else peaks.backward
    epsilon = max(losses)
    # different losses are at least 1 / unit apart, which the table must be able to see
    rates = mechanism.rates
    unit = math.lcm(*((a * r).denominator for row in mechanism.answers for a, r in zip(row, rates, strict=True)))
    if unit * table.error * 8 >= 1:
        raise Refused("the scales and answers have too many digits", fix="round them to about fifteen digits")
    holds = _within(definition, losses[0], losses[1])
    witness = witness_of(table, masks, best, definition)
    odds = display(exp_below(epsilon)) if epsilon else Fraction(1)
    return Verdict(definition, epsilon, epsilon, True, holds, witness, method, odds, skipped=skipped)


def _loss(mechanism: Additive, peak: OddsPeak) -> Fraction:
    places = [mechanism.world.index[dataset] for dataset, _ in peak.prior.weights]
    exponents = mechanism.exponents([mechanism.points[peak.output]])
    return Fraction(abs(int(exponents.steps[places[0], 0]) - int(exponents.steps[places[1], 0])), exponents.unit)


def _within(definition: Definition, forward: Fraction, backward: Fraction) -> bool:
    if definition.odds is None:
        return max(forward, backward) <= (definition.epsilon or 0)
    low, high = definition.odds
    return _at_most(forward, high) and (low == 0 or _at_most(backward, 1 / low))


def _at_most(epsilon: Fraction, bound: Fraction) -> bool:
    """Whether e^epsilon <= bound, exactly."""
    terms = {epsilon: Fraction(1), Fraction(0): -bound} if epsilon else {Fraction(0): 1 - bound}
    return sign_of_sum(terms) <= 0


def _against_priors(
    mechanism: Additive,
    definition: Definition,
    table: Likelihoods,
    masks: Masks,
    peaks: Peaks,
    priors: tuple[Prior, ...],
) -> Verdict:
    skipped = tuple(masks.pairs[n] for n in peaks.skipped)
    method = "every listed attacker, at the true answers"
    if peaks.forward is None or peaks.backward is None:
        return no_loss(definition, method, skipped)
    best = peaks.forward if peaks.forward.odds >= peaks.backward.odds else peaks.backward
    slack = 1 + 4 * table.error
    assert isinstance(best.odds, Fraction)
    low, high = log_range(best.odds / slack)[0], log_range(best.odds * slack)[1]
    exponents = mechanism.exponents(mechanism.outputs)
    holds = all(_prior_holds(exponents, definition, table, masks, prior) for prior in priors)
    witness = witness_of(table, masks, best, definition)
    return Verdict(definition, low, high, True, holds, witness, method, display(best.odds), skipped=skipped)


def _prior_holds(exponents: Exponents, definition: Definition, table: Likelihoods, masks: Masks, prior: Prior) -> bool:
    weights = prior.on(table.world)
    sums, (whole, _) = SecretSums(table, masks.masks, weights), whole_weights(weights)
    return all(
        _direction_holds(exponents, definition, table.error, masks, sums, whole, forward) for forward in (True, False)
    )


def _direction_holds(
    exponents: Exponents,
    definition: Definition,
    error: Fraction,
    masks: Masks,
    sums: SecretSums,
    weights: NDArray[Any],
    forward: bool,
) -> bool:
    """Whether no output exceeds the bound; likelihoods too near to it are compared as sums of exponentials."""
    if definition.odds is None:
        power, factor = definition.epsilon or Fraction(0), Fraction(1)
        bound = exp_above(power)
    else:
        low, high = definition.odds
        if not forward and low == 0:
            return True
        power, factor = Fraction(0), high if forward else 1 / low
        bound = factor
    sides = (masks.first, masks.second) if forward else (masks.second, masks.first)
    for pair, output, odds in near(sums, masks, forward, bound / (1 + 8 * error)):
        if isinstance(odds, float) or odds > bound * (1 + 8 * error):
            return False
        one, other = (masks.masks[side[pair]] for side in sides)
        terms = _weight_by_exponent(exponents, weights, one, output, 1 / Fraction(weights[one].sum()))
        for exponent, weight in _weight_by_exponent(
            exponents, weights, other, output, -factor / Fraction(weights[other].sum())
        ).items():
            terms[exponent + power] = terms.get(exponent + power, Fraction(0)) + weight
        if sign_of_sum(terms) > 0:
            return False
    return True


def _weight_by_exponent(
    exponents: Exponents, weights: NDArray[Any], secret: Bools, output: int, factor: Fraction
) -> dict[Fraction, Fraction]:
    """P(output and secret) times a factor, as a sum of exponentials: exponents and their weights."""
    steps, places = np.unique(exponents.steps[secret, output], return_inverse=True)
    sums = np.zeros(len(steps), object)
    np.add.at(sums, places, weights[secret])
    return {Fraction(-int(n), exponents.unit): weight * factor for n, weight in zip(steps, sums, strict=True) if weight}
