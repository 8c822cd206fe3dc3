"""Names above a threshold: the closed form against every output of small worlds, and what is not priced."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import pytest

import tetraodon as td
from tetraodon.certificate.correlated_records import certify_release
from tetraodon.certificate.partition_selection import (
    FEW,
    NamesAbove,
    certify_names,
    chance_of_any,
    least_threshold,
    names_moved,
    open_text,
    told_alone_at_most,
)
from tetraodon.queries import histogram
from tetraodon.query.kinds import linear
from tetraodon.query.linear import Measurement

SILENT = None
Law = dict[int | None, Fraction]


def policy(**changes: Any) -> td.Policy:
    base = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"x": {"integer": [0, 3]}, "word": {"open": "text"}},
        "budget": {"epsilon": 1, "delta": "1e-6"},
    }
    return td.load_policy(base | changes)


def law(truth: int, ratio: Fraction, most: int) -> Law:
    """What is seen of one name that so many people have: a count, or nothing."""
    weights = {noise: ratio ** abs(noise) for noise in range(-most, most + 1)}
    whole = sum(weights.values())
    seen: Law = {}
    for noise, weight in weights.items():
        shown = truth + noise if truth + noise > most else SILENT
        seen[shown] = seen.get(shown, Fraction(0)) + weight / whole
    return seen


def excess(first: tuple[int, ...], second: tuple[int, ...], ratio: Fraction, most: int, factor: Fraction) -> Fraction:
    """The hockey stick: the sum over outputs of what P has above `factor` times Q; names are independent."""
    laws = [(law(a, ratio, most), law(b, ratio, most)) for a, b in zip(first, second, strict=True)]
    found = Fraction(0)
    for output in product(*({*p, *q} for p, q in laws)):
        p = q = Fraction(1)
        for shown, (here, there) in zip(output, laws, strict=True):
            p, q = p * here.get(shown, Fraction(0)), q * there.get(shown, Fraction(0))
        found += max(Fraction(0), p - factor * q)
    return found


def told_alone(ratio: Fraction, threshold: int) -> Fraction:
    """The chance that a name which one person has is told, where noise falls by `ratio` from number to number."""
    power = ratio**threshold
    return power * (1 - ratio) / (1 + ratio - 2 * power * ratio)


def tables(people: int, most: int) -> Iterator[tuple[int, ...]]:
    """Counts of two names before a step: every table up to where nothing is new."""
    return product(range(2 * most + 3), repeat=people)


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("ratio", [Fraction(1, 3), Fraction(1, 2), Fraction(4, 5)])
def test_one_name_is_the_worst_of_all_tables(ratio: Fraction, most: int) -> None:
    worst = max(
        excess((n,), (n + sign,), ratio, most, 1 / ratio)
        for (n,) in tables(1, most)
        for sign in (-1, 1)
        if n + sign >= 0
    )
    assert worst == told_alone(ratio, most) == law(1, ratio, most)[most + 1]


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("ratio", [Fraction(1, 3), Fraction(1, 2)])
def test_two_names_are_the_worst_of_all_tables(ratio: Fraction, most: int) -> None:
    """A name that changes: one loses a person and another gains them, or two rows come or go."""
    steps = [step for step in product((-1, 0, 1), repeat=2) if any(step)]
    worst = max(
        excess(here, (here[0] + a, here[1] + b), ratio, most, 1 / ratio**2)
        for here in tables(2, most)
        for a, b in steps
        if here[0] + a >= 0 and here[1] + b >= 0
    )
    assert worst == chance_of_any(told_alone(ratio, most), 2)


def test_less_than_the_stated_epsilon_would_need_more_delta() -> None:
    """So neither of the two is stated too large: at any smaller factor some table needs more."""
    ratio, most = Fraction(1, 2), 2
    less = max(excess((n,), (n + 1,), ratio, most, 2 * Fraction(99, 100)) for n in range(2 * most + 3))
    less = max(less, *(excess((n + 1,), (n,), ratio, most, 2 * Fraction(99, 100)) for n in range(2 * most + 3)))
    assert less > told_alone(ratio, most)


def test_a_name_that_nobody_has_is_never_told() -> None:
    assert law(0, Fraction(1, 2), 3) == {SILENT: 1}


@pytest.mark.parametrize(("scale", "most"), [(Fraction(1), 14), (Fraction(7, 2), 40), (Fraction(500), 6000)])
def test_the_chance_is_rounded_up_by_next_to_nothing(scale: Fraction, most: int) -> None:
    with localcontext(prec=120):
        ratio = (Decimal(-1) * scale.denominator / scale.numerator).exp()
        power = ratio**most
        truth = Fraction(power * (1 - ratio) / (1 + ratio - 2 * power * ratio))
    assert truth <= told_alone_at_most(scale, most) <= truth * (1 + Fraction(1, 10**30))


@pytest.mark.parametrize("moved", [1, 2, 6, 2 * FEW])
@pytest.mark.parametrize("delta", [Fraction(1, 1000), Fraction(1, 10**6), Fraction(1, 10**12)])
def test_no_lower_threshold_would_do(moved: int, delta: Fraction) -> None:
    scale = Fraction(5, 2)
    found = least_threshold(scale, moved, delta)
    assert chance_of_any(told_alone_at_most(scale, found), moved) <= delta
    assert chance_of_any(told_alone_at_most(scale, found - 1), moved) > delta * (1 - Fraction(1, 10**11))


def test_many_names_are_added_up() -> None:
    assert chance_of_any(Fraction(1, 10), 3) == 1 - Fraction(9, 10) ** 3
    assert 1 - (1 - Fraction(1, 10**6)) ** (FEW + 1) < chance_of_any(Fraction(1, 10**6), FEW + 1) < Fraction(1, 1000)
    assert chance_of_any(Fraction(1, 2), FEW + 1) == 1


# -- what a step of a policy moves ---------------------------------------------------------------------


def neighbours(rows: int, *, secret: bool) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Bags of names of one person, as docs/promise.md has them: rows may be replaced by others where that is secret,
    and others come or go.
    """
    bags = [tuple(sorted(bag)) for size in range(rows + 2) for bag in set(product("abcd", repeat=size))]
    for x, y in product(set(bags), repeat=2):
        small, large = sorted((x, y), key=len)
        if x != y and (secret or all(small.count(name) <= large.count(name) for name in "abcd")):
            yield x, y


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("secret", [True, False])
def test_names_moved_is_the_most_of_all_steps(rows: int, secret: bool) -> None:
    def told(bag: tuple[str, ...]) -> set[str]:
        return set(bag) if len(bag) <= rows else set()

    most = max(len(told(x) ^ told(y)) for x, y in neighbours(rows, secret=secret))
    asked = policy(individuals={"key": "who", "at most": rows}, secrets={"word": "everything" if secret else "public"})
    assert names_moved(asked, open_text(asked, "word")) == most


def test_without_a_key_a_name_changes_or_a_row_comes() -> None:
    assert names_moved(policy(), open_text(policy(), "word")) == 2
    going = policy(presence="secret", secrets={"word": "public"})
    assert names_moved(going, open_text(going, "word")) == 1


def test_the_certificate_is_the_closed_form() -> None:
    found = certify_names(policy(), [NamesAbove("word", Fraction(4), 50)])
    truth = chance_of_any(told_alone_at_most(Fraction(4), 50), 2)
    assert found.epsilon == Fraction(1, 2)
    assert truth <= found.delta <= truth * (1 + Fraction(1, 10**11))
    assert found.exact
    assert found.rho is None


def test_two_items_need_both_their_deltas() -> None:
    one = NamesAbove("word", Fraction(4), 50)
    both, alone = certify_names(policy(), [one, one]), certify_names(policy(), [one])
    assert both.epsilon == 2 * Fraction(alone.epsilon)
    assert alone.delta < both.delta <= 2 * alone.delta


def test_beside_other_answers_losses_add_up() -> None:
    here = policy()
    measured = [Measurement(linear(histogram("x"), here.domain), Fraction(4))]
    names = [NamesAbove("word", Fraction(4), 50)]
    together = certify_release(here, measured, names=names)
    assert together.epsilon == Fraction(1, 2) + Fraction(1, 2)
    assert together.delta == certify_names(here, names).delta
    assert not together.exact
    assert certify_release(here, [], names=names).epsilon == Fraction(1, 2)


# -- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "changes"),
    [
        ("known", {"known": [{"count": "x = 1"}]}),
        ("groups", {"presence": "secret", "secrets": {"x": "public"}, "groups": {"by": "x", "rules": {"1": "none"}}}),
        ("attackers", {"attackers": [{"groups": "house", "at most": 2}], "budget": {"epsilon": 1}}),
    ],
)
def test_what_is_not_priced_is_refused(place: str, changes: dict[str, Any]) -> None:
    with pytest.raises(td.errors.Refused, match=f"not priced together with `{place}`"):
        certify_names(policy(**changes), [NamesAbove("word", Fraction(4), 50)])


def test_names_that_no_secret_changes_are_refused() -> None:
    with pytest.raises(td.errors.Refused, match="no secret changes"):
        certify_names(policy(secrets={"word": "public"}), [NamesAbove("word", Fraction(4), 50)])


def test_a_column_that_is_not_open_there_is_refused() -> None:
    with pytest.raises(td.errors.Refused, match="not declared as open text"):
        certify_names(policy(), [NamesAbove("street", Fraction(4), 50)])


@pytest.mark.parametrize(("scale", "most"), [(Fraction(0), 5), (1.5, 5), (Fraction(1), 0), (Fraction(1), 2.5)])
def test_noise_or_thresholds_that_are_none_are_refused(scale: Any, most: Any) -> None:
    with pytest.raises(td.errors.QueryError):
        NamesAbove("word", scale, most)


def test_a_budget_that_tells_no_name_is_refused() -> None:
    with pytest.raises(td.errors.Refused, match="none is told"):
        least_threshold(Fraction(10**9), 2, Fraction(1, 10**6))


def test_gaussian_noise_beside_names_is_refused() -> None:
    from tetraodon.noise.laws import GAUSSIAN

    measured = [Measurement(linear(histogram("x"), policy().domain), Fraction(4), GAUSSIAN)]
    with pytest.raises(td.errors.Refused, match="Gaussian"):
        certify_release(policy(), measured, names=[NamesAbove("word", Fraction(4), 50)])


def test_every_pair_of_items_is_tried() -> None:
    """The closed form for several items does not depend on their order."""
    items = [NamesAbove("word", Fraction(n), 20 * n) for n in (1, 2, 3)]
    for a, b in combinations(items, 2):
        assert certify_names(policy(), [a, b]) == certify_names(policy(), [b, a])
