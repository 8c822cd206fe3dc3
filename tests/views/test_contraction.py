"""Contractions are exact: equal to the same sums over Python's integers, however long."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tetraodon.views.domain_count import EXACT, ContractionOrder, contract, order, primes_below

NETWORKS = [
    (["ab", "bc", "cd"], ""),
    (["ab", "bc", "ca"], "a"),
    (["abz", "bcz", "z", "cz"], "bc"),
    (["a", "b"], ""),
    (["ab"], "b"),
    (["ab", "ab", "a"], "ba"),
    (["abc", "cde", "eaf"], "f"),
    (["", "a"], "a"),
]


@pytest.mark.parametrize(("indices", "output"), NETWORKS)
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_sum_of_products(indices: list[str], output: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tetraodon.views.domain_count.EXACT", 2**20)  # so that primes of ten bits are needed at once
    rng = np.random.default_rng(seed)
    sizes = {i: 2 if i == "z" else int(rng.integers(1, 7)) for i in "abcdefz"}
    tables = [rng.integers(-1, 2, [sizes[i] for i in one]) for one in indices]
    steps = order(indices, sizes, output)
    bound = math.prod(sizes[i] for i in set("".join(indices)))
    found = contract(tables, indices, sizes, output, steps, bound)
    truth = np.einsum(",".join(indices) + "->" + output, *tables)
    assert found.shape == truth.shape
    assert (found == truth).all()


def test_long_numbers() -> None:
    ones = [np.ones((100, 100))] * 30
    indices = [chr(97 + n) + chr(98 + n) for n in range(25)]
    found = contract(
        ones[:25],
        indices,
        dict.fromkeys("abcdefghijklmnopqrstuvwxyz", 100),
        "",
        order(indices, dict.fromkeys("abcdefghijklmnopqrstuvwxyz", 100), ""),
        100**26,
    )
    assert found.item() == 100**26


def test_no_table_at_all() -> None:
    assert contract([], [], {}, "", order([], {}, ""), 1).item() == 1


def test_primes() -> None:
    found = primes_below(1000, 10**20)
    assert math.prod(found) > 10**20
    assert all(all(prime % d for d in range(2, prime)) for prime in found)
    with pytest.raises(OverflowError):
        primes_below(10, 10**6)


def test_what_is_too_much_is_known_beforehand() -> None:
    sizes = dict.fromkeys("abcd", 10_000)
    assert order(["ab", "bc"], sizes, "").fits(10**12)
    assert not order(["ab", "bc", "cd", "da", "ac", "bd"], sizes, "").fits(10**16)
    assert ContractionOrder((), 0, 1, 1).limit ** 2 <= EXACT
