"""What a notebook or a log shows of a mechanism, a definition or a verdict fits on a screen."""

from __future__ import annotations

from fractions import Fraction

from tetraodon.pufferfish import (
    Additive,
    Channel,
    Definition,
    Laplace,
    Prior,
    World,
    chain_model,
    compiled,
    epidemic,
    gaussian_wasserstein,
    least_noise,
    least_noise_on,
    named,
    optimal_mechanism,
    pairs,
    scenarios,
    tree_laws,
    verify,
    wasserstein,
)

LONGEST = 1_500


def test_nothing_lists_its_datasets_or_laws():
    world = World.product((0, 1), individuals=8)
    spread = scenarios.contagion(8, introduced=Fraction(1, 10), spread=Fraction(1, 4))
    level = Definition(pairs.values(), scenarios.groups([range(8)], spread, source="a study"), epsilon=1)
    listed = level.against(scenarios.explicit([Prior.uniform(world)]))
    forgiving = Definition(level.pairs, level.scenarios, epsilon=1, delta="0.001")
    noisy = Additive(sum, Laplace(2), world)
    counts = World.of(range(31))
    near = named.neighbours(counts, lambda a, b: abs(a - b) == 1, epsilon=1)
    weather = chain_model([["0.9", "0.1"], ["0.2", "0.8"]], start=["2/3", "1/3"], length=60)
    infected = least_noise_on(epidemic(300, introduced="0.01", spread="0.01"), epsilon=1, promise="who is infected")
    shown = [
        *(world, level, listed, near, noisy, infected, weather, tree_laws(weather)[0]),
        *(verify(noisy, level), Channel.of(lambda dataset: {dataset: 1}, world)),
        *(wasserstein(sum, level, world)[0], least_noise(sum, level, world)),
        *(gaussian_wasserstein(sum, forgiving, world), compiled(near, counts)),
        optimal_mechanism(near, lambda count, output: abs(count - output), world=counts),
    ]
    assert {type(one).__name__: len(repr(one)) for one in shown if len(repr(one)) > LONGEST} == {}
