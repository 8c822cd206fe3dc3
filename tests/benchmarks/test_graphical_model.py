"""The model is the distribution that its terms make: everything beside a table of all records."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from benchmarks.peers.graphical_model import Codes, Floats, Model, Noisy, Places, cliques_of, downward, megabytes

SIZES = (2, 3, 2, 4, 3, 2)
TABLES: dict[str, list[Places]] = {
    "nothing": [(0,)],
    "a chain": [(0, 1), (1, 2), (2, 3), (3, 4)],
    "a ring": [(0, 1), (1, 2), (2, 3), (0, 3), (4,)],
    "two parts": [(0, 1, 2), (1, 2), (3, 4), (4, 5)],
    "a star of three-way tables": [(0, 1, 2), (0, 3), (0, 4, 5), (2, 3)],
}


def terms_of(tables: list[Places], seed: int = 1) -> dict[Places, Floats]:
    rng = np.random.default_rng(seed)
    return {one: rng.normal(0, 1, [SIZES[place] for place in one]) for one in tables}


def listed(terms: dict[Places, Floats]) -> Floats:
    """The share of every record there can be, one by one."""
    found = np.ones(SIZES)
    for record in np.ndindex(*SIZES):
        found[record] = np.exp(sum(float(term[tuple(record[p] for p in one)]) for one, term in terms.items()))
    return found / found.sum()


def counted(shares: Floats, places: Places) -> Floats:
    return shares.sum(axis=tuple(place for place in range(len(SIZES)) if place not in places))


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_that_of_all_records(name: str) -> None:
    terms = terms_of(TABLES[name])
    model, shares = Model(SIZES, terms, 10.0), listed(terms)
    for many in range(1, len(SIZES) + 1):
        for places in combinations(range(len(SIZES)), many):
            assert model.counts(places) == pytest.approx(10 * counted(shares, places), abs=1e-9)


def test_exact_counts_are_fitted_where_a_model_has_them() -> None:
    terms = terms_of(TABLES["a ring"], 2)
    truth = 1000 * listed(terms)
    noisy = [Noisy(one, counted(truth, one), 1.0) for one in terms]
    model = Model(SIZES, {one: np.zeros_like(term) for one, term in terms.items()}, 1000.0).fit(noisy)
    for one in terms:
        assert model.counts(one) == pytest.approx(counted(truth, one), abs=1.0)
    assert model.counts((0, 2)) == pytest.approx(counted(truth, (0, 2)), abs=2.0)  # nobody measured it


def test_noise_is_weighed_by_its_deviation() -> None:
    noisy = [Noisy((0,), np.array([80.0, 20.0]), 1.0), Noisy((0,), np.array([20.0, 80.0]), 3.0)]
    assert Model((2,), {(0,): np.zeros(2)}, 100.0).fit(noisy).counts((0,)) == pytest.approx([74, 26], abs=0.2)


def test_records_have_the_counts_of_the_model() -> None:
    terms = terms_of(TABLES["a star of three-way tables"])
    codes: Codes = Model(SIZES, terms, 1.0).drawn(20_000, np.random.default_rng(3))
    found = np.zeros(SIZES)
    np.add.at(found, tuple(codes.T), 1 / len(codes))
    assert np.abs(found - listed(terms)).sum() / 2 < 0.03


def test_a_ring_is_cut_into_triangles() -> None:
    assert sorted(map(len, cliques_of(TABLES["a ring"], SIZES))) == [1, 1, 3, 3]
    assert megabytes([(0, 1)], (1024, 1024)) == 8
    assert downward([(0, 1), (1, 2)]) == [(0,), (1,), (2,), (0, 1), (1, 2)]
