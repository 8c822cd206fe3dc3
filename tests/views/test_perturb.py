"""A perturbed table: charged before it is drawn, readable by itself, and asked without bias."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy import stats

from tetraodon.errors import BudgetExhausted, Refused, ReleaseError, TetraodonError
from tetraodon.ledger import Ledger
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy
from tetraodon.views.perturb import certificate_of, load_perturbed, matrices_of, perturb

SECRETS = {"age": {"within": 2}, "sex": "everything", "region": "public"}


def policy_of(**changed: Any) -> Policy:
    document = {
        "dataset": "people",
        "individuals": "one row each",
        "presence": "public",
        "attributes": {
            "age": {"integer": [0, 9]},
            "sex": {"categories": ["f", "m"], "other": "f"},
            "region": {"categories": ["north", "south"], "other": "north"},
        },
        "secrets": SECRETS,
        "together": "one attribute at a time",
        "budget": {"epsilon": 3},
    }
    return load_policy(document | changed)


@pytest.fixture
def table() -> pl.DataFrame:
    rng = np.random.default_rng(2)
    return pl.DataFrame(
        {
            "age": rng.integers(0, 10, 4000),
            "sex": rng.choice(["f", "m"], 4000, p=[0.7, 0.3]),
            "region": rng.choice(["north", "south"], 4000),
        }
    )


def test_one_record_does_not_decide_how_others_are_shown(tmp_path: Path) -> None:
    """Its region differs by a capital from that of all others, which is public and shown as it is."""
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE people (age INTEGER, sex VARCHAR, region VARCHAR COLLATE NOCASE)")
        connection.execute("INSERT INTO people VALUES (4, 'f', 'South')")
        connection.execute("INSERT INTO people SELECT 4, 'f', 'south' FROM range(1999)")
    policy = policy_of()
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open(policy.dataset, policy.epsilon, policy.document)
        made = perturb(policy, f"{path}#people", epsilon=2, ledger=ledger, out=tmp_path / "out")
    assert pl.read_parquet(made.rows)["region"].value_counts(sort=True).rows() == [("south", 1999), ("north", 1)]


def test_it_is_charged_written_and_asked(tmp_path: Path, table: pl.DataFrame) -> None:
    policy = policy_of()
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open(policy.dataset, policy.epsilon, policy.document)
        made = perturb(policy, table, epsilon=2, ledger=ledger, out=tmp_path / "out")
        left = ledger.account("people").left
        assert Fraction(1) - Fraction(1, 10**9) <= left <= 1
        with pytest.raises(BudgetExhausted):
            perturb(policy, table, epsilon=2, ledger=ledger, out=tmp_path / "again")
        assert not (tmp_path / "again").exists()
    again = load_perturbed(tmp_path / "out")
    rows = pl.read_parquet(again.rows)
    assert len(rows) == 4000
    assert (rows["region"] == "south").sum() == (table["region"] == "south").sum()
    for condition, truth in [
        ("sex = 'm'", (table["sex"] == "m").sum()),
        ("age < 4", (table["age"] < 4).sum()),
        ("age < 4 and sex = 'm'", ((table["age"] < 4) & (table["sex"] == "m")).sum()),
    ]:
        found = again.ask(condition, confidence="0.999999999")  # a false alarm once in a billion each
        assert found == made.ask(condition, confidence="0.999999999")
        assert found.lower <= truth <= found.upper
        assert found.upper - found.lower < 4000
    south = again.ask("region = 'south'")
    assert south.value == (table["region"] == "south").sum()


def test_losses_under_policies() -> None:
    policy = policy_of()
    matrices = matrices_of(policy, Fraction(2))
    assert float(certificate_of(policy, matrices).epsilon) == pytest.approx(2, abs=1e-9)
    both = policy_of(together="all at once")
    assert float(certificate_of(both, matrices).epsilon) == pytest.approx(4, abs=1e-9)
    assert float(certificate_of(both, matrices_of(both, Fraction(3))).epsilon) == pytest.approx(2, abs=1e-9)
    nearer = policy_of(secrets={**SECRETS, "age": {"within": 1}, "sex": "public"})
    assert float(certificate_of(nearer, matrices).epsilon) == pytest.approx(1, abs=1e-9)
    stricter = policy_of(secrets={**SECRETS, "region": "everything"})
    with pytest.raises(Refused, match="for certain"):
        certificate_of(stricter, matrices)
    with pytest.raises(Refused, match="presence is a secret"):
        certificate_of(policy_of(presence="secret"), matrices)


def test_the_order_of_rows_tells_nothing(tmp_path: Path, table: pl.DataFrame) -> None:
    policy = policy_of()
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open(policy.dataset, policy.epsilon, policy.document)
        made = perturb(policy, table, epsilon=1, ledger=ledger, out=tmp_path / "out")
    ages = pl.read_parquet(made.rows)["age"].to_numpy()
    assert (np.diff(ages) >= 0).all()


def test_it_is_unbiased(table: pl.DataFrame) -> None:
    """The mean of a hundred estimates is within 6.2 standard errors: a false alarm once in a billion."""
    policy = policy_of()
    made = matrices_of(policy, Fraction(1))["age"]
    codes = table["age"].to_numpy()
    true = np.bincount(codes, minlength=10)
    found = [float(made.count(np.bincount(made.draw(codes), minlength=10).tolist(), [0, 1, 2])) for _ in range(100)]
    spread = float(made.variance(true.tolist(), [0, 1, 2])) ** 0.5 / 10
    assert abs(np.mean(found) - true[:3].sum()) < stats.norm.isf(5e-10) * spread


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="cannot be read"):
        load_perturbed(tmp_path)
    (tmp_path / "perturbed.json").write_text('{"policy": {}, "matrices": {}}')
    with pytest.raises(TetraodonError):
        load_perturbed(tmp_path)
