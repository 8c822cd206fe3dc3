"""Verdicts in words: what was decided, how sure it is, who shows it."""

from fractions import Fraction

from tetraodon.pufferfish import Channel, Definition, named, pairs, scenarios, verify

COIN = Channel([["3/4", "1/4"], ["1/4", "3/4"]], [(0,), (1,)], [0, 1])


def test_an_exact_verdict_says_so():
    verdict = verify(COIN, named.indistinguishability(epsilon=2))
    assert verdict.text.splitlines() == [
        "Holds: epsilon-indistinguishability: which of two values an individual has: attackers to whom the records are "
        "independent must not move the odds by more than e^2.",
        "Smallest epsilon: 1.09861, exactly (all neighbouring datasets).",
        "Witness: the attacker who knows it is (0,) or (1,) thinks “individual 0 has 0” 1 times as likely as "
        "“individual 0 has 1”, and 3 times as likely on seeing 0.",
    ]
    assert bool(verdict)
    assert round(verdict.epsilon, 5) == 1.09861
    assert 0 < verdict.upper - verdict.lower < Fraction(1, 10**30)


def test_a_failure_says_so():
    verdict = verify(COIN, named.indistinguishability(epsilon=1))
    assert verdict.text.startswith("Fails: ")
    assert not verdict


def test_the_witness_starts_from_the_attackers_own_odds():
    prior = scenarios.explicit([{(0,): "1/10", (1,): "9/10"}])
    witness = verify(COIN, Definition(pairs.values(), prior, epsilon=2)).witness
    assert witness.prior_odds == Fraction(1, 9)
    assert witness.posterior_odds in (Fraction(1, 3), Fraction(1, 27))
    assert witness.scenario.startswith("one attacker")
