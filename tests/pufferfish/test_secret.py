"""Secrets are values: equal, hashable, in words, and closed under not and and."""

from tetraodon.policy.secret_graph import ABSENT
from tetraodon.pufferfish import Secret, pairs


def test_secrets_compare_print_and_combine():
    assert Secret.value(0, 1) == Secret.value(0, 1) != Secret.value(1, 1)
    assert len({Secret.present(0), Secret.present(0)}) == 1
    assert Secret.value(0, ABSENT) == Secret.absent(0)
    both = Secret.present(0) & ~Secret.value(0, 1)
    assert [both.holds(d) for d in ((0,), (1,), (ABSENT,))] == [True, False, False]
    assert both.about == {0}
    assert (Secret.that("odd", lambda d: sum(d) % 2) & Secret.present(0)).about is None
    assert Secret.agree(0, 1).holds((2, 2))
    assert not Secret.agree(0, 1).holds((ABSENT, ABSENT))
    assert Secret.agree(0, 1, attribute=1).holds(((0, 5), (1, 5)))
    assert Secret.one_of(0, {5}, attribute=1).holds(((0, 5),))
    assert Secret.between(0, 1, 2).text == "individual 0 lies in [1, 2)"
    assert Secret.aggregate("total", sum, 1, 3).holds((1, 1))
    assert Secret.near((0, 0), 2, pairs.hamming, beyond=1).holds((1, 1))
    assert not Secret.between(0, 1, 2).holds((ABSENT,))
