"""The attack on a view by itself: its beliefs are Bayes' own, and hold on real records."""

from __future__ import annotations

import math
from fractions import Fraction
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars
import pytest

import tetraodon as td
from benchmarks.data import real
from reproduce.exposed import attacked, drawn
from reproduce.fig_boundary import ADVERSARY, ROWS, policy, rows
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.gate import release_transaction as permit
from tetraodon.noise.repeatable_coins import Dice
from tetraodon.policy.adversary import Adversary
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy
from tetraodon.views.channel import CopyChannel, SetChannel, ViewChannel
from tetraodon.views.exposure import (
    BELIEF,
    MOST_EXPOSED,
    Exposure,
    Learner,
    beliefs,
    exposure,
    is_dense,
    named_from,
    shown,
)
from tetraodon.views.plan import plan_view

CHANNEL = CopyChannel(Fraction(4, 5), Fraction(1, 50))


def by_enumeration(channel: CopyChannel, expected: float, copies: int) -> tuple[float, float]:
    """Belief and expected kept copies: over every number of records, of kept ones, and the noise that is left."""
    keep, noise = float(channel.keep), float(channel.noise)
    weights = {}
    for records in range(80):
        for kept in range(min(records, copies) + 1):
            prior = math.exp(-expected) * expected**records / math.factorial(records)
            chosen = math.comb(records, kept) * keep**kept * (1 - keep) ** (records - kept)
            weights[records, kept] = prior * chosen * (1 - noise) * noise ** (copies - kept)
    total = sum(weights.values())
    belief = sum(weight for (records, _), weight in weights.items() if records) / total
    return belief, sum(kept * weight for (_, kept), weight in weights.items()) / total


@pytest.mark.parametrize("expected", [1e-6, 0.01, 0.7, 3.0, 9.0])
@pytest.mark.parametrize("copies", [1, 2, 7])
def test_beliefs_are_those_of_an_enumeration(expected: float, copies: int) -> None:
    found = beliefs(CHANNEL, np.array([expected]), np.array([copies]), np.ones(1))
    assert [part[0] for part in found] == pytest.approx(by_enumeration(CHANNEL, expected, copies), rel=1e-9)


def test_many_copies_of_a_common_tuple_do_not_overflow() -> None:
    belief, kept = beliefs(CHANNEL, np.array([1e5, 1e5]), np.array([3, 80_000]), np.ones(2))
    assert belief.tolist() == [1, 1]
    assert kept[0] == pytest.approx(3, rel=1e-3)
    assert 70_000 < kept[1] <= 80_000


def test_beliefs_of_distinct_rows() -> None:
    channel = SetChannel(Fraction(2, 5), Fraction(1, 10))
    before = 1 - math.exp(-0.3)
    after = before * 0.5 / (before * 0.5 + (1 - before) * 0.1)
    assert beliefs(channel, np.array([0.3]), np.array([1]), np.array([5.0]))[0][0] == pytest.approx(after)


@pytest.mark.parametrize("channel", [CHANNEL, SetChannel(Fraction(2, 5), Fraction(1, 10))])
def test_how_common_a_tuple_must_be(channel: ViewChannel) -> None:
    expected = named_from(channel)
    assert beliefs(channel, np.array([expected]), np.array([1]), np.array([float(channel.ratio_up)]))[0][
        0
    ] == pytest.approx(BELIEF)
    assert is_dense(channel) == (1 - math.exp(-expected) > 0.5)


def test_an_empty_view_exposes_nobody() -> None:
    domain = Domain((Attribute("a", Integers(0, 9)),))
    nothing = shown([])
    assert exposure(domain, CHANNEL, nothing) == Exposure(0, 0.0, 0.0, 0, 0.0)


def test_a_document_reads_back_and_is_compared() -> None:
    found = Exposure(named=100, right=0.95, records=0.3, new=90, new_records=0.25)
    assert Exposure.of(found.document()) == found
    assert found.agrees({**found.document(), "right": 0.950001})
    assert not found.agrees({**found.document(), "named": 101})
    assert not found.agrees({**found.document(), "before": 0.6})
    assert not found.agrees({**found.document(), "named": 110})
    assert not found.agrees({**found.document(), "new_records": 0.2})


def attack(made: Policy, adversary: Adversary, codes: np.ndarray) -> tuple[Exposure, float, float]:
    """The attacker's own reckoning from a view, and the truth: the share that is right, and of all records.

    The coins are seeded: nothing here can raise a false alarm. `reproduce boundary` draws with secret ones.
    """
    plan = plan_view(made, adversary)
    found = attacked(plan, codes, drawn(plan, codes, Dice(2007)))
    return found.found, found.right / found.named, found.records


@pytest.mark.skipif(real("adult.parquet") is None, reason="the Adult data set does not lie beside the project")
def test_the_adult_experiment_gives_most_records_away() -> None:
    """At the paper's own setting."""
    codes, _ = rows()
    found, right, held = attack(policy(), ADVERSARY, codes)
    assert found.named > 12_000
    assert right > 0.93
    assert held > 0.72
    assert abs(found.right - right) < 0.03  # the attacker knows how often they are right
    assert abs(found.records - held) < 0.05
    assert found.new_records > MOST_EXPOSED
    assert len(codes) == ROWS


def test_the_bundled_extract_is_given_away_too() -> None:
    """As above, on the 12,000 rows that come with the package."""
    table = polars.read_parquet(str(files("tetraodon.demo") / "adult.parquet"))
    made = load_policy(files("tetraodon.demo") / "adult.policy.yaml")
    codes = np.stack(
        [
            np.array([attribute.code(value) for value in table[attribute.name].to_list()], np.int64)
            for attribute in made.domain
        ],
        axis=1,
    )
    made = load_policy({**made.document, "budget": {"epsilon": 30}})
    found, right, held = attack(made, Adversary(k=10, gamma="0.2", records=len(codes)), codes)
    assert found.new_records > MOST_EXPOSED
    assert right > 0.9
    assert abs(found.right - right) < 0.1
    assert abs(found.records - held) < 0.1


def test_in_the_dense_regime_hardly_anybody_is_newly_exposed() -> None:
    """Sixteen records to ten tuples; ages and hours in bands. Nothing moves far, whatever is learnt from the view."""
    table = polars.read_parquet(str(files("tetraodon.demo") / "adult.parquet"))
    made = load_policy(
        {
            "dataset": "dense",
            "attributes": {"age": {"integer": [0, 14]}, "sex": ["Female", "Male"], "schooling": {"integer": [1, 16]}},
            "budget": {"epsilon": 10},
        }
    )
    male = (table["sex"] == "Male").to_numpy()
    codes = np.stack([(table["age"].to_numpy() - 17) // 5, male, table["schooling"].to_numpy() - 1], axis=1)
    adversary = Adversary(d="0.05", gamma="0.2", records=len(codes))
    assert is_dense(plan_view(made, adversary).channel)
    found, right, _ = attack(made, adversary, codes.astype(np.int64))
    assert found.new_records < 0.005
    assert right > 0.9


# -- exposure accepted -------------------------------------------------------------------------------
# A view that exposes too many is drawn once, charged once, and published only if that is accepted.
#
# What a view exposes depends on its coins, which are seeded here: nothing can raise a false alarm.

POLICY = {
    "dataset": "town",
    "presence": "public",
    "attributes": {name: {"integer": [0, 29]} for name in "abcd"},
    "budget": {"epsilon": 20},
    "adversary": {"prior": {"k": 10}, "posterior": 0.9},
}
DICE = np.random.default_rng(5)
TABLE = polars.DataFrame({name: DICE.integers(0, 14, 3000) for name in "abcd"})
"""People have the first fourteen values only: 38,416 of 810,000 tuples, which the attacker is not taken to know."""


@pytest.fixture(autouse=True)
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permit, "system_coins", lambda: Dice(17))


@pytest.fixture
def book(tmp_path: Path) -> td.Ledger:
    ledger = td.Ledger(tmp_path / "ledger.db")
    ledger.open("town", 100, td.load_policy(POLICY).document)
    return ledger


def publish(book: td.Ledger, out: Path, *, accept: bool = False, resume: bool = False, **other: object) -> td.View:
    policy = td.load_policy({**POLICY, **other})
    return td.publish(policy, TABLE, ledger=book, accept_exposure=accept, resume=resume, out=out)


def test_it_is_held_back_and_published_when_accepted(tmp_path: Path, book: td.Ledger) -> None:
    out = tmp_path / "view"
    with pytest.raises(td.errors.Refused, match="held back") as caught:
        publish(book, out)
    assert "--accept-exposure" in str(caught.value)
    with pytest.raises(td.errors.Refused, match="held back"):  # nothing is drawn again, and nothing charged
        publish(book, out, resume=True)
    assert [entry.state for entry in book.entries("town")] == ["reserved"]
    assert not out.exists()
    [drawn] = [path.read_bytes() for path in tmp_path.glob(".*/**/tuples.parquet")][:1]
    view = publish(book, out, resume=True, accept=True)
    assert view.rows.read_bytes() == drawn
    assert [entry.state for entry in book.entries("town")] == ["settled"]
    assert all(check.passed for check in td.verify(out))


def test_who_accepts_beforehand_gets_it_at_once(tmp_path: Path, book: td.Ledger) -> None:
    publish(book, tmp_path / "view", accept=True)
    assert [entry.state for entry in book.entries("town")] == ["settled"]


def test_a_view_of_a_series(tmp_path: Path, book: td.Ledger) -> None:
    out, several = tmp_path / "series", {"adversary": {"prior": {"d": "0.001"}, "posterior": 0.9, "views": 2}}
    for number in (1, 2):
        with pytest.raises(td.errors.Refused, match="held back"):
            publish(book, out, **several)
        publish(book, out, resume=True, accept=True, **several)
        assert all(check.passed for check in td.verify(out / f"view-{number}"))
    assert [entry.state for entry in book.entries("town")] == ["settled"] * 2


# -- commonness --------------------------------------------------------------------------------------

QUIET = CopyChannel(Fraction(1, 2), Fraction(1, 10**6))
"""Hardly any noise: what is seen is what is there."""


def domain(*sizes: int) -> Domain:
    return Domain(tuple(Attribute(f"a{n}", Integers(1, size)) for n, size in enumerate(sizes)))


def test_margins_are_multiplied() -> None:
    copies = np.array([30, 10, 15, 5])  # (0, 0), (0, 1), (1, 0), (1, 1): independent
    learner = Learner(domain(2, 2), np.arange(4, dtype=np.uint64))
    assert learner.from_margins(copies, QUIET, 120.0) == pytest.approx(2.0 * copies, rel=1e-3)


def test_noise_is_not_taken_for_people() -> None:
    noisy = CopyChannel(Fraction(1, 2), Fraction(1, 2))
    learner = Learner(domain(4), np.arange(4, dtype=np.uint64))
    assert learner.from_margins(np.array([2, 1, 1, 0]), noisy, 8.0) == pytest.approx([2.0] * 4)
    clear = learner.from_margins(np.array([21, 1, 2, 1]), noisy, 43.0)
    assert clear == pytest.approx([40, 1, 1, 1])


def test_ties_are_learnt() -> None:
    """Of two attributes that are always equal, with three hundred times as much seen as is assumed."""
    cells = np.repeat(np.array([0, 3], np.uint64), 50_000)
    learner = Learner(domain(2, 2), cells)
    assert learner.from_ties(np.ones(100_000), 10_000.0) == pytest.approx(np.full(100_000, 5000), rel=0.01)
    apart = learner.from_margins(np.ones(100_000, np.int64), QUIET, 10_000.0)
    assert apart == pytest.approx(np.full(100_000, 2500), rel=0.01)


def test_a_tuple_is_no_evidence_for_itself() -> None:
    cells = np.array([0] * 1000 + [1], np.uint64)
    expected = Learner(domain(2), cells).from_ties(np.ones(1001), 1001.0)
    assert expected[0] > 999
    assert expected[-1] < 1


def test_wide_attributes_are_taken_in_parts() -> None:
    wide = domain(10**6)
    cells = np.array([0, 1, 999_999], np.uint64)
    expected = Learner(wide, cells).from_margins(np.array([500, 500, 1]), QUIET, 1000.0)
    assert expected[0] == expected[1] > 100 * expected[2]
