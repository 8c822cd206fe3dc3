"""Sampling refutes what is false, at the stated false-alarm rate, by events that can be seen."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from tetraodon.errors import PolicyError
from tetraodon.pufferfish import Definition, Prior, Secret, World, named, pairs, scenarios, verify
from tetraodon.pufferfish.sampled import Event, best_event, features


def test_what_can_be_seen_of_an_output():
    assert features(3.5) == {"the output": 3.5}
    assert features(np.array([1, 2])) == features((1, 2))
    assert features((1, "slow")) == {"part 0": 1, "part 1": "slow"}


def test_a_planted_threshold_is_found():
    chance = random.Random(0)
    low, high = ([shift + chance.random() for _ in range(500)] for shift in (0, 0.5))
    found = {event.forward: event for _, event in best_event(low, high)}
    assert found[True].happens(0.1)
    assert not found[True].happens(1.4)
    assert found[False].happens(1.4)


def test_a_planted_atom_is_found():
    chance = random.Random(0)
    one = [0.25 if chance.random() < 0.3 else chance.gauss(0, 1) for _ in range(500)]
    other = [chance.gauss(0, 1) for _ in range(500)]
    event = max((entry for entry in best_event(one, other) if entry[1].forward), key=lambda entry: entry[0])[1]
    assert event == Event("the output", "is", 0.25, True)
    assert repr(event) == "the output is 0.25"
    assert not event.happens((1, 2))


BITS = World.product((0, 1), individuals=2)
CLAIM = named.indistinguishability(epsilon=1)


def laplace(chance, scale):
    return chance.expovariate(1 / scale) - chance.expovariate(1 / scale)


def half_the_noise(chance):
    """A count with half the scale that epsilon = 1 needs."""
    return lambda dataset: sum(dataset) + laplace(chance, 0.5)


def reused_noise(chance):
    """Two counts at epsilon = 1/2 each, from one draw of the noise: their difference has none."""

    def release(dataset):
        noise = laplace(chance, 2)
        return dataset[0] + noise, sum(dataset) + noise

    return release


def rounded_to_the_truth(chance):
    """Enough noise, and now and then the truth."""
    return lambda dataset: float(sum(dataset)) if chance.random() < 0.1 else sum(dataset) + laplace(chance, 1) + 0.5


def timing(chance):
    """The answer is noisy; a second output, how long it took, is not."""
    return lambda dataset: (sum(dataset) + laplace(chance, 1), "slow" if dataset[0] else "fast")


BROKEN = [half_the_noise, reused_noise, rounded_to_the_truth, timing]


@pytest.mark.parametrize("broken", BROKEN)
def test_broken_mechanisms_are_rejected(broken):
    verdict = verify(broken(random.Random(1)), CLAIM, world=BITS, samples=20_000)
    assert verdict.holds is False
    assert verdict.lower > 1
    assert verdict.upper == math.inf
    assert not verdict.exact
    assert "sampling never proves" in verdict.text


def printed_k_means(chance, sensitivity):
    """One step of k-means on 0..10 with centroids 2 and 8: noisy sums of both clusters, epsilon = 1.

    The printed Lemma 6.1 of [HMD14] says that they move by 2 when a value moves by 1; between 5 and 6 one cluster loses
    5 and the other gains 6 (docs/errata.md).
    """

    def release(dataset):
        low = sum(x for x in dataset if x <= 5)
        high = sum(x for x in dataset if x > 5)
        return low + laplace(chance, sensitivity), high + laplace(chance, sensitivity)

    return release


def one_step(world):
    return named.neighbours(world, lambda x, y: abs(x[0] - y[0]) == 1, epsilon=1)


def test_the_printed_k_means_is_rejected_and_the_corrected_one_is_not():
    world = World.product(range(11), individuals=1)
    assert verify(printed_k_means(random.Random(2), 2), one_step(world), world=world).holds is False
    assert verify(printed_k_means(random.Random(2), 11), one_step(world), world=world, samples=4_000).holds is None


def test_sound_mechanisms_are_not_rejected():
    for seed in range(3):
        chance = random.Random(seed)
        verdict = verify(lambda d, c=chance: sum(d) + laplace(c, 1), CLAIM, world=BITS, samples=4_000)
        assert verdict.holds is None
        assert 0 <= verdict.lower <= 1


def test_correlation_is_sampled_too():
    """Noise for one record, twins in the data: the sampled attacker sees both."""
    chance = random.Random(4)
    twins = scenarios.explicit([Prior.of({(0, 0): "1/2", (1, 1): "1/2"})])
    definition = Definition(pairs.values(), twins, epsilon=1)
    assert verify(lambda d: sum(d) + laplace(chance, 1), definition, world=BITS).holds is False


def test_nothing_in_doubt_is_no_loss():
    sure = Definition(pairs.values(), scenarios.explicit([{(0, 0): 1}]), epsilon=1)
    assert verify(sum, sure, world=BITS).holds is True


def test_a_function_needs_a_world():
    with pytest.raises(PolicyError, match="false-alarm rate"):
        verify(sum, CLAIM, world=BITS, alarm=0)
    with pytest.raises(PolicyError, match=r"no mechanism.*world="):
        verify(sum, CLAIM)


def test_nobody_is_credited_with_knowing_more_than_the_attackers_do() -> None:
    """Draws from one law: whoever knew which two neighbours it is between would tell them apart by ln 18 = 2.9."""
    world = World.product((0, 1), individuals=3)
    chance = random.Random(5)
    definition = Definition(pairs.explicit([(Secret.value(0, 0), Secret.value(0, 1))]), scenarios.iid(), epsilon=2)
    verdict = verify(lambda dataset: chance.random() < (0.9 if dataset == (0, 0, 1) else 0.05), definition, world=world)
    assert verdict.holds is None  # the worst law is fair, and its loss ln 5.25 = 1.66
    assert verdict.lower <= math.log(5.25)
    assert verdict.lower > 1


def test_what_delta_forgives_is_not_held_against_a_mechanism() -> None:
    chance = random.Random(6)
    world = World.product((0, 1), individuals=1)

    def sometimes(dataset: tuple[int, ...]) -> int | None:
        return dataset[0] if chance.random() < 0.2 else None

    assert verify(sometimes, named.indistinguishability(epsilon=1, delta="0.25"), world=world).holds is None
    assert verify(sometimes, named.indistinguishability(epsilon=1, delta="0.1"), world=world).holds is False
