"""Events that tell two samples apart: planted differences are found, in the right direction."""

import random

import numpy as np

from tetraodon.pufferfish.features import Event, best_event, features


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
