"""Views are independent from tuple to tuple and from month to month, and lose what their channel says."""

from __future__ import annotations

import itertools
from fractions import Fraction

from tests.attacks.stories import story

from tetraodon.attacks.on_views import (
    BOB,
    BROTHERS_GAMMA,
    DISEASES,
    FIRST,
    IN,
    ONCE,
    OUT,
    SCORES,
    SECOND,
    SIX_TIMES,
    STREET,
    after_the_table,
    beliefs,
    family,
    keeping_half,
    likelihood,
    of_joe,
    publish,
    view,
    views,
)
from tetraodon.attacks.on_views import MINIMALITY_PEOPLE as PEOPLE
from tetraodon.attacks.on_views import REPEATED_D as D
from tetraodon.attacks.on_views import REPEATED_VIEWS_GAMMA as GAMMA
from tetraodon.attacks.on_views import D as BROTHERS_D
from tetraodon.pufferfish import Secret, named, verify

# -- noisy view -------------------------------------------------------------------------------------

SIXTEENTH = keeping_half(Fraction(1, 16))


def test_tuples_are_shown_one_by_one() -> None:
    two = view(SIXTEENTH, people=2)
    assert two.probability((IN, OUT), (True, False)) == Fraction(1, 2) * Fraction(15, 16)
    assert sum(two.matrix[0]) == 1


def test_the_verifier_finds_the_loss_that_the_room_of_views_states() -> None:
    verdict = verify(view(SIXTEENTH, people=2), named.differential_privacy(epsilon=3))
    assert verdict.odds == SIXTEENTH.presence_ratio
    assert (verdict.forward, verdict.backward) == (SIXTEENTH.ratio_up, 1 / SIXTEENTH.ratio_down)


def test_several_views_are_the_views_together() -> None:
    one = view(SIXTEENTH, people=1)
    joint = one.with_(one).then(lambda both: sum(shown for (shown,) in both))
    for dataset in one.datasets:
        for number in range(3):
            assert joint.probability(dataset, number) == views(2, SIXTEENTH).probability(dataset, number)


# -- two hospitals ----------------------------------------------------------------------------------
# Either table leaves several diseases; both leave one.


def test_the_likelihood_counts_the_others() -> None:
    for table, bob in itertools.product(((*FIRST,), SECOND, ("flu", "flu", "cold")), DISEASES):
        others = itertools.product(DISEASES, repeat=len(table) - 1)
        ways = sum(sorted((bob, *rest)) == sorted(table) for rest in others)
        assert likelihood(table, bob) == Fraction(ways, len(DISEASES) ** (len(table) - 1))


def test_both_tables_leave_one_disease() -> None:
    assert beliefs(FIRST)[BOB] == Fraction(1, 4)
    assert beliefs(SECOND)[BOB] == Fraction(1, 3)
    assert beliefs(FIRST, SECOND)[BOB] == 1


def test_two_noisy_tables_add_up() -> None:
    played = story("two-hospitals")
    assert played.numbers["epsilon of both noisy tables"] == 1
    assert played.numbers["strongest belief in 1,000 plays with noise"] <= played.allowed + 1e-4


# -- minimality -------------------------------------------------------------------------------------
# The method tells what its output hides.


def test_what_is_published_is_diverse() -> None:
    for people in itertools.product((0, 1), repeat=PEOPLE):
        what, sick = publish(people)
        sizes = {"by street": (STREET, PEOPLE - STREET), "both streets": (PEOPLE,), "nothing": ()}[what]
        assert all(2 * number <= size for number, size in zip(sick, sizes, strict=True))


def test_two_in_both_streets_are_the_small_street() -> None:
    seen = [people for people in itertools.product((0, 1), repeat=PEOPLE) if publish(people) == ("both streets", (2,))]
    assert seen == [(1, 1, 0, 0, 0, 0)]
    played = story("minimality")
    assert played.attacked == 1
    assert played.numbers["epsilon of the coarsened table is infinite"] is True
    assert played.numbers["epsilon of noisy counts"] < 1


# -- low prior --------------------------------------------------------------------------------------
# What is unlikely is ruled out, and what is left is nearly certain.


def test_the_attackers_prior_is_one_and_never_large() -> None:
    assert sum(map(of_joe, SCORES)) == 1
    assert max(map(of_joe, SCORES)) == Fraction(33, 500)


def test_the_belief_by_hand() -> None:
    assert after_the_table()[82] == Fraction(33, 35)
    assert sum(after_the_table().values()) == 1
    assert story("low-prior").attacked == float(Fraction(33, 35))


def test_less_noise_would_break_the_promise() -> None:
    promise = named.dgamma(d=Fraction(33, 500), gamma=Fraction(1, 5))
    assert verify(view(keeping_half(Fraction(3, 20)), people=1), promise).holds
    assert verify(view(keeping_half(Fraction(14, 100)), people=1), promise).holds is False


# -- repeated views ---------------------------------------------------------------------------------
# Each view keeps the promise, six do not, unless they were made for it.


def test_the_odds_multiply() -> None:
    numbers = story("repeated-views").numbers
    assert numbers["odds of one view"] == 8
    assert numbers["odds of six views"] == 8**6
    assert numbers["belief after one view"] <= float(GAMMA)


def test_what_holds_and_what_does_not() -> None:
    promise = named.dgamma(d=D, gamma=GAMMA)
    assert verify(views(1, ONCE), promise).holds
    assert verify(views(2, ONCE), promise).holds is False
    assert verify(views(6, SIX_TIMES), promise).holds


# -- brothers ---------------------------------------------------------------------------------------
# Correlation breaks what protects one tuple at a time.


def test_the_family_keeps_its_margins() -> None:
    for correlation in (Fraction(0), Fraction(1, 3), Fraction(1)):
        prior = family(correlation)
        assert prior.probability(Secret.present(0)) == prior.probability(Secret.present(1)) == BROTHERS_D
    assert dict(family(Fraction(1)).weights) == {(IN, IN): BROTHERS_D, (OUT, OUT): 1 - BROTHERS_D}


def test_the_belief_by_hand_in_brothers() -> None:
    kept, invented = Fraction(1, 4), Fraction(1, 256)
    by_hand = BROTHERS_D * kept / (BROTHERS_D * kept + (1 - BROTHERS_D) * invented)
    played = story("brothers")
    assert played.attacked == float(by_hand)
    assert played.numbers["promise kept against independent tuples"] is True
    assert played.numbers["odds against the family"] == 64
    assert played.defended < float(BROTHERS_GAMMA)


# -- from the view ----------------------------------------------------------------------------------
# A sparse view names most people by itself, rightly; a dense one nobody.


def test_the_attacker_is_right_and_knows_how_often() -> None:
    told = story("from-the-view")
    assert told.attacked > 0.5
    assert told.defended < 0.01
    assert abs(told.numbers["named rightly"] - told.numbers["expected to be right"]) < 0.03


# -- linking ----------------------------------------------------------------------------------------
# Whoever knows all but one bit of a person reads it off a view that was made for strangers.


def test_nearly_all_bits_are_read_and_hardly_one_wrongly() -> None:
    told = story("linking")
    assert told.numbers["read rightly"] > 0.9
    assert told.numbers["read wrongly"] < 0.01
    assert 0.5 < told.defended <= told.allowed
