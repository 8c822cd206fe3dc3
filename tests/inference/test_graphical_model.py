"""Records from a graphical model."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.exact.arrays import Floats
from tetraodon.inference import graphical_model
from tetraodon.inference.graphical_model import (
    GraphicalModel,
    JunctionTree,
    NoisyTable,
    TargetTable,
    bring_all_nearer,
    fit_model,
    make_up,
)
from tetraodon.query.aim import Places
from tetraodon.query.linear import Split

# -- graphical model --------------------------------------------------------------------------------
# The model is the distribution that its terms make: everything beside a table of all records.

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


def modelled(terms: dict[Places, Floats], total: float) -> GraphicalModel:
    return GraphicalModel(JunctionTree([*terms], SIZES), terms, total)


def counted(shares: Floats, places: Places) -> Floats:
    return shares.sum(axis=tuple(place for place in range(len(SIZES)) if place not in places))


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_that_of_all_records(name: str) -> None:
    terms = terms_of(TABLES[name])
    model, shares = modelled(terms, 10.0), listed(terms)
    for many in range(1, len(SIZES) + 1):
        for places in combinations(range(len(SIZES)), many):
            assert model.counts(places) == pytest.approx(10 * counted(shares, places), abs=1e-9)


def test_a_fit_begins_anew_where_another_one_leaves_no_shares() -> None:
    """Two tables, of whose cells with any share none agree: all products round to zero, in silence."""
    here, there = np.array([[0.0, -2000.0]] * 2), np.array([[-2000.0] * 2, [0.0] * 2])
    tables: list[Places] = [(0, 1), (1, 2)]
    before = GraphicalModel(JunctionTree(tables, (2, 2, 2)), dict(zip(tables, (here, there), strict=True)), 100.0)
    noisy = [NoisyTable(one, np.full((2, 2), 25.0), 1.0) for one in tables]
    model = fit_model(noisy, (2, 2, 2), 100.0, before)
    assert model.counts((0, 1)) == pytest.approx(np.full((2, 2), 25), abs=2)


def test_exact_counts_are_fitted_where_a_model_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphical_model, "ENOUGH", 0.0)  # there is no noise to follow
    terms = terms_of(TABLES["a ring"], 2)
    truth = 1000 * listed(terms)
    model = fit_model([NoisyTable(one, counted(truth, one), 1.0) for one in terms], SIZES, 1000.0)
    for one in terms:
        assert model.counts(one) == pytest.approx(counted(truth, one), abs=3.0)
    assert model.counts((0, 2)) == pytest.approx(counted(truth, (0, 2)), abs=5.0)  # nobody measured it


def test_a_fit_is_nearer_to_the_truth_than_what_was_told() -> None:
    """And no nearer to what was told than the truth is, or a little."""
    terms, rng = terms_of(TABLES["a star of three-way tables"], 3), np.random.default_rng(4)
    truth = 2000 * listed(terms)
    tables = [*terms, *((place,) for place in range(len(SIZES)))]
    noisy = [
        NoisyTable(one, counted(truth, one) + rng.normal(0, 20, counted(truth, one).shape), 20.0) for one in tables
    ]
    model = fit_model(noisy, SIZES, 2000.0)
    told, found = (
        sum(float(np.abs(each - counted(truth, one.places)).sum()) for one, each in pairs)
        for pairs in ([(one, one.counts) for one in noisy], [(one, model.counts(one.places)) for one in noisy])
    )
    assert found < 0.9 * told
    cells = sum(one.counts.size for one in noisy)
    assert model.tree.off(model.beliefs, noisy, 2000.0)[0] > 0.2 * cells / 2
    again = fit_model(noisy, SIZES, 2000.0)
    assert all(np.array_equal(again.terms[one], term) for one, term in model.terms.items())


def test_noise_is_weighed_by_its_deviation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphical_model, "ENOUGH", 0.0)
    noisy = [NoisyTable((0,), np.array([80.0, 20.0]), 1.0), NoisyTable((0,), np.array([20.0, 80.0]), 3.0)]
    assert fit_model(noisy, (2,), 100.0).counts((0,)) == pytest.approx([74, 26], abs=0.5)


@pytest.mark.parametrize("counts", [[0.0, 0.0], [-5.0, -9.0], [1e18, -1e18]])
def test_whatever_was_told_there_is_a_model(counts: list[float]) -> None:
    noisy = [NoisyTable((0,), np.array(counts), 1.0), NoisyTable((0, 1), np.array([counts, counts]).T, 1.0)]
    codes = fit_model(noisy, (2, 2), 1.0).drawn(10, np.random.default_rng(1))
    assert set(codes.ravel().tolist()) <= {0, 1}


def test_records_have_the_counts_of_the_model() -> None:
    terms = terms_of(TABLES["a star of three-way tables"])
    codes = modelled(terms, 1.0).drawn(20_000, np.random.default_rng(3))
    found = np.zeros(SIZES)
    np.add.at(found, tuple(codes.T), 1 / len(codes))
    assert np.abs(found - listed(terms)).sum() / 2 < 0.03


# -- made up records --------------------------------------------------------------------------------
# Made-up records follow tables of counts.

DOMAIN = Domain((Attribute("a", Integers(0, 3)), Attribute("b", Integers(0, 1)), Attribute("c", Integers(0, 2))))
BOTH = np.array([[40.0, 0.0], [0.0, 20.0], [0.0, 20.0], [20.0, 0.0]])


def test_records_have_the_counts_of_all_tables() -> None:
    tables = [
        TargetTable("ab", (Split("a"), Split("b")), BOTH),
        TargetTable("bc", (Split("b"), Split("c")), np.array([[30.0, 30.0, 0.0], [0.0, 0.0, 40.0]])),
    ]
    codes = make_up(tables, DOMAIN, 1000)
    assert [len(codes[name]) for name in "abc"] == [1000] * 3
    assert all(table.distance(codes, 1000) <= 0.01 for table in tables)
    again = make_up(tables, DOMAIN, 1000)
    assert all((codes[name] == again[name]).all() for name in "abc")


def test_only_attributes_of_some_table_are_made_up() -> None:
    assert set(make_up([TargetTable("ab", (Split("a"), Split("b")), BOTH)], DOMAIN, 10)) == {"a", "b"}


def test_each_turn_comes_nearer() -> None:
    table = TargetTable("ab", (Split("a"), Split("b")), BOTH)
    codes = {"a": np.zeros(500, np.int64), "b": np.zeros(500, np.int64)}
    rng, far = np.random.default_rng(0), [table.distance(codes, 500)]
    for _ in range(6):
        bring_all_nearer(codes, [table], DOMAIN, 0.7, rng)
        far.append(table.distance(codes, 500))
    assert far[0] > 0.5
    assert far[-1] < 0.01
    assert far == sorted(far, reverse=True)


def test_nobody_counted_is_everybody_alike() -> None:
    table = TargetTable("ab", (Split("a"), Split("b")), np.zeros((4, 2)))
    codes = make_up([table], DOMAIN, 800)
    assert table.distance(codes, 800) <= 0.01


def test_terms_that_leave_no_shares_warn_of_nothing() -> None:
    """They give no numbers, in silence: a fit begins anew there."""
    tree = JunctionTree([(0, 1), (1, 2)], [2, 2, 2])
    terms = {(0, 1): np.array([[0.0, -2e3], [-2e3, -2e3]]), (1, 2): np.array([[-2e3, -2e3], [-2e3, 0.0]])}
    assert any(np.isnan(shares).all() for shares in tree.propagated(terms).values())
