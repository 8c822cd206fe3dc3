"""Attacks on a release that was made: priced by the kernel for others, played with the same noise."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

import tetraodon as td
from tetraodon.attacks.on_release import ENOUGH, Finding, at_most_one, attack_release, expected_records, reconstruct
from tetraodon.certificate.correlated_records import certify_release
from tetraodon.noise import gaussian_pmf, laplace_pmf
from tetraodon.noise.laws import GAUSSIAN, LAPLACE, NoiseLaw
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, Measurement, Split

# -- on release -------------------------------------------------------------------------------------

BASE: dict[str, Any] = {
    "dataset": "town",
    "presence": "public",
    "attributes": {"age": {"integer": [0, 19]}, "ill": ["no", "yes"]},
    "secrets": {"age": {"within": 4}},
    "budget": {"epsilon": 1},
    "release": [{"name": "ages", "histogram": ["age"]}, {"name": "illness", "count": "ill = 'yes'"}],
}


def released(tmp_path: Path, **changes: Any) -> td.Release:
    document = {**BASE, **changes}
    table = tmp_path / "town.csv"
    table.write_text("age,ill\n" + "".join(f"{n % 20},{'yes' if n % 3 else 'no'}\n" for n in range(200)))
    with td.Ledger(tmp_path / "ledger.db") as book:
        book.open("town", 10, document)
    return td.release(document, table, ledger=tmp_path / "ledger.db", out=tmp_path / "out")


def by_name(found: tuple[Finding, ...]) -> dict[str, Finding]:
    return {one.name: one for one in found}


def test_each_attacker_is_priced_as_the_policy_that_names_them(tmp_path: Path) -> None:
    release = released(tmp_path)
    found = by_name(attack_release(release, household=3))
    measured = [measurement for item in release.plan for measurement in item.measurements]

    def price(**changes: Any) -> Fraction | float:
        return certify_release(td.load_policy({**BASE, **changes}), measured).epsilon

    assert found["promised"].epsilon == release.plan.certificate.epsilon == 1
    assert found["household"].epsilon == price(attackers=[{"groups": "home", "at most": 3}])
    assert found["household"].epsilon >= 3
    assert found["membership"].epsilon == price(presence="secret")
    assert found["averaging"].epsilon == 10
    assert found["known figures"].epsilon == price(known=[{"marginal": ["ill"]}])
    far = {key: part for key, part in BASE.items() if key != "secrets"}
    assert found["any two records"].epsilon == certify_release(td.load_policy(far), measured).epsilon


def test_nobody_is_right_more_often_than_promised(tmp_path: Path) -> None:
    for one in attack_release(released(tmp_path)):
        assert one.most is not None
        assert one.got is None or 0.5 - 0.02 < one.got <= one.most + 0.02  # 20,000 draws: 0.02 is more than 5 sigma


def test_what_is_played_is_the_best_test_of_a_count(tmp_path: Path) -> None:
    """Two counts that differ by one: half of one and the distance of the two laws."""
    changes: dict[str, Any] = {"presence": "secret", "release": [{"name": "illness", "count": "ill = 'yes'"}]}
    found = by_name(attack_release(released(tmp_path, **changes)))
    chances = [laplace_pmf(Fraction(1), k) for k in range(-60, 61)]
    apart = sum(abs(a - b) for a, b in zip([*chances, 0.0], [0.0, *chances], strict=True)) / 2
    assert found["promised"].got == pytest.approx((1 + apart) / 2, abs=0.02)
    assert "membership" not in found  # it is what is promised


def test_what_cannot_be_priced_says_why(tmp_path: Path) -> None:
    release = released(tmp_path)
    (one,) = [each for each in attack_release(release, known=[{"marginal": ["home"]}]) if each.name == "known figures"]
    assert one.epsilon is one.most is one.got is None
    assert "home" in one.why
    assert one.document()["epsilon_exact"] is None
    member = by_name(attack_release(release))["membership"]
    assert member.document()["epsilon_exact"] == "infinite"
    assert (member.most, member.got, member.why != "") == (1.0, 1.0, True)


@pytest.mark.parametrize(
    "item",
    [
        {"ranges": "age", "shape": "sparse"},
        {"median": "age", "bounds": False},
        {"total": "pay", "noise": "levels"},
        {"total": "pay", "noise": "each record"},
    ],
)
def test_what_is_not_played_is_priced(tmp_path: Path, item: dict[str, Any]) -> None:
    """What was told before decides what is measured, or each record has noise: nothing is to be evaluated there."""
    changes: dict[str, Any] = {
        "attributes": {"age": {"integer": [0, 99]}, "pay": {"integer": [100, 999], "missing": 100}},
        "secrets": {"pay": {"within": "10%"}},
        "release": [{"name": "one", **item}],
    }
    table = tmp_path / "pay.csv"
    table.write_text("age,pay\n" + "".join(f"{n % 100},{100 + n}\n" for n in range(200)))
    with td.Ledger(tmp_path / "ledger.db") as book:
        book.open("town", 10, {**BASE, **changes})
    found = by_name(attack_release(td.release({**BASE, **changes}, table, ledger=tmp_path / "ledger.db")))
    assert found["promised"].epsilon == 1
    assert found["promised"].got is None
    assert found["averaging"].epsilon == 10


@pytest.mark.parametrize(("rows", "item"), [(2, {"count": "all"}), (3, {"people": "all"}), (1, {"histogram": "age"})])
def test_a_household_of_people_with_several_rows(tmp_path: Path, rows: int, item: dict[str, Any]) -> None:
    """Three people who are alike move the answer three times as far as one of them does, with all their rows."""
    changes = {"individuals": {"key": "ill", "at most": rows}, "attributes": {"age": {"integer": [0, 19]}}}
    release = released(tmp_path, **changes, secrets={}, release=[{"name": "one", **item}])
    found = by_name(attack_release(release, household=3))
    assert found["promised"].epsilon == 1
    assert found["household"].epsilon == 3
    assert found["household"].key == f"individuals: {{key: COLUMN, at most: {3 * rows} rows}}"


def test_all_rows_of_a_person_are_played(tmp_path: Path) -> None:
    """Two rows of a person on a count of scale 2: as easily told apart as one row at scale 1."""
    changes: dict[str, Any] = {"individuals": {"key": "ill", "at most": 2}, "attributes": {"age": {"integer": [0, 19]}}}
    release = released(tmp_path, **changes, secrets={}, release=[{"name": "one", "count": "age = 3"}])
    chances = [laplace_pmf(Fraction(2), k) for k in range(-90, 91)]
    apart = sum(abs(a - b) for a, b in zip([*chances, 0.0, 0.0], [0.0, 0.0, *chances], strict=True)) / 2
    assert by_name(attack_release(release))["promised"].got == pytest.approx((1 + apart) / 2, abs=0.02)


def test_what_is_known_and_told_exactly_is_no_breach(tmp_path: Path) -> None:
    """A known table may be told exactly; households beside it have no price, which is not an infinite one."""
    known = {"known": [{"marginal": ["ill"]}], "release": [{"name": "both", "histogram": ["age", "ill"]}]}
    found = by_name(attack_release(released(tmp_path, **known)))["household"]
    assert found.epsilon is None
    assert "beside one known count" in found.why


AGES: dict[str, Any] = {"x": ["a", "b"], "age": {"integer": [0, 19]}}


@pytest.mark.parametrize(
    "changes",
    [
        {"presence": "public", "secrets": {"age": {"within": 2}, "x": "public"}},
        {"budget": {"epsilon": 50}},
        {"budget": {"epsilon": 3, "delta": "1e-6"}},
        {"individuals": {"key": "who", "at most": 2}},
        {"presence": "public", "known": [{"marginal": ["x"]}]},
    ],
)
def test_every_policy_that_it_advises_can_be_loaded(tmp_path: Path, changes: dict[str, Any]) -> None:
    items = [{"name": "both", "histogram": ["x", "age"]}]
    base = {"dataset": "d", "attributes": AGES, "budget": {"epsilon": 9}, "release": items}
    policy = td.load_policy({**base, **changes})
    table = pl.DataFrame(
        {"x": ["a", "b"] * 200, "age": [n % 20 for n in range(400)], "who": [n // 2 for n in range(400)]}
    )
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("d", 100, policy)
        made = td.release(td.plan(policy), table, ledger=book, out=tmp_path / "out")
    keys = {one.key for one in (*attack_release(made), *reconstruct(made))}
    advised = [key for key in keys if key and not key.startswith("none: ")]
    assert advised
    for key in advised:
        document = dict(policy.document)
        for name, part in yaml.safe_load(key.replace("COLUMN", "who")).items():
            match part:
                case dict() if part:
                    document[name] = {**document.get(name, {}), **part}
                case list():
                    document[name] = [*document.get(name, []), *part]
                case _:
                    document[name] = part
        td.load_policy(document)


# -- reconstructing ---------------------------------------------------------------------------------
# Records read off published tables: beliefs are Bayes' rule, written out, and are right as often as they say.

QUERY = LinearQuery(One(), (Split("a"),))


@pytest.mark.parametrize(("law", "pmf"), [(LAPLACE, laplace_pmf), (GAUSSIAN, gaussian_pmf)])
def test_beliefs_are_bayes_rule_written_out(law: NoiseLaw, pmf: object) -> None:
    scale, told, expected = Fraction(3, 2), np.array([-4, 0, 1, 2, 7]), np.array([0.1, 0.5, 0.3, 2.0, 6.0])
    found = at_most_one(told, expected, Measurement(QUERY, scale, law))
    assert found is not None
    for z, mean, (none, one) in zip(told.tolist(), expected, found, strict=True):
        before = [1.0, *(mean / (n * (n + 1)) for n in range(1, 80))]
        parts = [belief * pmf(scale, z - n) for n, belief in enumerate(before)]  # type: ignore[operator]
        assert (none, one) == pytest.approx((parts[0] / sum(parts), parts[1] / sum(parts)), rel=1e-9)


def test_what_is_told_exactly_is_believed() -> None:
    found = at_most_one(np.array([0, 1, 2]), np.ones(3), Measurement(QUERY, Fraction(0)))
    assert found is not None
    assert found.tolist() == [[1, 0], [0, 1], [0, 0]]


def test_beliefs_are_right_as_often_as_they_say() -> None:
    """A table as the attacker expects it, Laplace noise of scale 1/3: 40,000 cells, by the same dice in every run."""
    rng, scale = np.random.default_rng(2), Fraction(1, 3)
    expected = rng.uniform(0.02, 2, 40_000)
    truth = np.where(rng.random(40_000) < expected / (1 + expected), 1 / rng.random(40_000), 0).astype(int)
    p = 1 - math.exp(-3)
    noisy = truth + rng.geometric(p, 40_000) - rng.geometric(p, 40_000)
    found = at_most_one(noisy, expected, Measurement(QUERY, scale))
    assert found is not None
    for number in (0, 1):
        for those in np.array_split(np.argsort(found[:, number]), 4):
            assert np.mean(truth[those] == number) == pytest.approx(found[those, number].mean(), abs=0.015)


def test_expected_records_are_those_of_the_margins() -> None:
    found = expected_records(np.array([[6, 2], [-3, 0]]))
    assert found.sum() == pytest.approx(8, rel=0.1)
    assert found[0, 0] == pytest.approx(6)
    assert (found > 0).all()
    assert expected_records(np.array([3, 0, 0])).tolist() == [1, 1, 1]


def test_a_release_is_read(tmp_path: Path) -> None:
    items = [{"name": "both", "histogram": ["age", "ill"]}, {"name": "ill", "histogram": ["ill"]}]
    loud = released(tmp_path, release=items)
    both, ill = reconstruct(loud)
    assert (both.item, both.cells, ill.item) == ("both", 40, "ill")
    assert both.new <= both.named <= both.cells
    assert both.key == ""  # no even belief in one record reaches 90%
    assert both.strongest < 0.9
    assert ill.document()["strongest"] == ill.strongest


def test_what_has_too_little_noise_says_which_epsilon_has_enough(tmp_path: Path) -> None:
    (found,) = reconstruct(released(tmp_path, budget={"epsilon": 8}, release=[{"name": "ages", "histogram": ["age"]}]))
    assert found.strongest > 0.9
    least = Fraction(found.key.removeprefix("budget: {epsilon: ").removesuffix("}"))
    (again := tmp_path / "again").mkdir()
    (quiet,) = reconstruct(
        released(again, budget={"epsilon": str(least)}, release=[{"name": "ages", "histogram": ["age"]}])
    )
    assert (quiet.key, quiet.strongest < 0.9, least < 8) == ("", True, True)
    assert 1 / (1 + math.exp(-1 / float(ENOUGH))) < 0.9


def test_what_is_public_is_read_off(tmp_path: Path) -> None:
    secrets = {"age": {"within": 4}, "ill": "public"}
    (found,) = reconstruct(released(tmp_path, secrets=secrets, release=[{"name": "ill", "histogram": ["ill"]}]))
    assert (found.named, found.strongest, found.key) == (2, 1.0, "secrets: {ill: everything}")
