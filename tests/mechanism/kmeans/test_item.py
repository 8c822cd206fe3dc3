"""Clusters as an item of a release, from the policy file to the folder and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tetraodon as td
from tetraodon.errors import Refused
from tetraodon.mechanism.kmeans import SYNOPSIS, synopsis_of
from tetraodon.query.kinds import cdf, kmeans

CENTRES = np.array([[20, 20], [60, 70], [80, 15]])


def policy(**changes: Any) -> td.Policy:
    document: dict[str, Any] = {
        "dataset": "taxis",
        "presence": "public",
        "attributes": {"x": {"integer": [0, 99]}, "y": {"integer": [0, 79]}, "kind": ["day", "night"]},
        "secrets": {"kind": "public"},
        "budget": {"epsilon": 1},
        "release": [{"name": "k", "kmeans": ["x", "y"], "clusters": 3}],
    }
    return td.load_policy(document | changes)


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    coins = np.random.default_rng(7)
    points = np.concatenate([coins.normal(centre, 4, (700, 2)) for centre in CENTRES])
    points = np.clip(np.rint(points), 0, [99, 79]).astype(np.int64)
    return pl.DataFrame({"x": points[:, 0], "y": points[:, 1], "kind": ["day", "night"] * (len(points) // 2)})


def released(asked: td.Policy, table: pl.DataFrame, folder: Path) -> td.Release:
    book = td.Ledger(f"sqlite:///{folder}/ledger.db")
    book.open(asked.dataset, 10, asked.document)
    made = td.release(td.plan(asked), table, ledger=book, out=folder / "release")
    book.close()
    return made


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"presence": "secret"},
        {"secrets": {"x": {"within": 5}, "kind": "public"}, "together": "one attribute at a time"},
        {"secrets": {"x": {"blocks": [[n, n + 9] for n in range(0, 100, 10)]}, "kind": "public"}},
        {"secrets": {"x": {"blocks": [[0, 49], [50, 99]]}, "y": {"blocks": [[0, 39], [40, 79]]}, "kind": "public"}},
    ],
)
def test_a_release_finds_the_clusters_and_verifies(
    changes: dict[str, Any], table: pl.DataFrame, tmp_path: Path
) -> None:
    """Centres are off by more than 15 with probability far below 1e-9: noise is a few records in cells of hundreds."""
    made = released(policy(**changes), table, tmp_path)
    columns = made["k"].columns
    assert list(columns) == ["cluster", "x", "y", "records"]
    found = np.stack([columns["x"], columns["y"]], axis=1)
    gaps = np.abs(found[:, None, :] - CENTRES).sum(axis=2)
    assert gaps.min(axis=0).max() < 15
    assert (np.diff(columns["records"]) <= 0).all()
    assert all(check.passed for check in td.verify(tmp_path / "release"))
    again = td.load_release(tmp_path / "release")["k"]
    assert np.allclose(again.columns["x"], columns["x"])
    page = (tmp_path / "release" / "report.html").read_text("utf-8")
    assert "Centres of 3 clusters" in page


def test_blocks_are_clustered_exactly(table: pl.DataFrame, tmp_path: Path) -> None:
    blocks = {name: {"blocks": [[n, n + 4] for n in range(0, size, 5)]} for name, size in (("x", 100), ("y", 80))}
    asked = policy(secrets=blocks | {"kind": "public"})
    plan = td.plan(asked)
    assert plan["k"].mechanism == "exact"
    assert plan.epsilon == 0
    made = released(asked, table, tmp_path)
    assert made["k"].columns["records"].sum() == len(table)


def test_coarse_blocks_are_totals_of_a_table_with_noise() -> None:
    halves = {"x": {"blocks": [[0, 49], [50, 99]]}, "y": {"blocks": [[0, 39], [40, 79]]}}
    asked = policy(secrets=halves | {"kind": "public"})
    found = td.plan(asked)["k"]
    assert (found.mechanism, found.epsilon) == ("synopsis", 1)
    [totals] = found.strategy.exact
    assert totals.shape(asked.domain) == (2, 2, 1)


def test_it_is_priced_together_with_other_items() -> None:
    counts = {"name": "c", "histogram": "kind"}
    asked = policy(
        secrets={"kind": "everything"},
        together="one attribute at a time",
        release=[{"name": "k", "kmeans": ["x", "y"], "clusters": 3}, counts],
    )
    plan = td.plan(asked)
    assert plan.epsilon == 1
    assert plan["k"].epsilon == plan["c"].epsilon == 1  # no step changes both
    both = td.plan(policy(secrets={}, release=[{"name": "k", "kmeans": ["x", "y"], "clusters": 3}, counts]))
    assert both.epsilon == 1
    assert both["k"].epsilon + both["c"].epsilon == 1


def test_a_larger_share_gives_a_finer_table() -> None:
    sizes = []
    for share in (1, 99):
        release = [
            {"name": "k", "kmeans": ["x", "y"], "clusters": 3, "share": share},
            {"name": "c", "histogram": "x"},
        ]
        [noisy] = td.plan(policy(release=release))["k"].strategy.noisy
        sizes.append(noisy.size(policy().domain))
    assert sizes[0] < sizes[1]


def test_near_secrets_need_less_noise() -> None:
    near = {"x": {"within": 2}, "y": {"within": 2}, "kind": "public"}
    found = td.plan(policy(secrets=near, together="one attribute at a time"))["k"]
    assert found.expected_error < 0.8 * found.baseline_error


def test_what_is_known_is_priced(table: pl.DataFrame, tmp_path: Path) -> None:
    """What no secret changes costs nothing; how many are far makes two records change at once."""
    plain, free, dear = (
        td.plan(policy(known=known))["k"] for known in ([], [{"marginal": ["kind"]}], [{"count": "x > 49"}])
    )
    assert free.expected_error == plain.expected_error
    assert dear.expected_error > plain.expected_error
    found = released(policy(known=[{"count": "x > 49"}]), table, tmp_path)
    assert len(found["k"].columns["x"]) == 3
    assert all(check.passed for check in td.verify(tmp_path / "release"))


def test_too_small_a_budget_is_refused() -> None:
    with pytest.raises(Refused, match="too small"):
        td.plan(policy(budget={"epsilon": "0.00001"}))


def test_the_table_is_read_back_from_its_measurement() -> None:
    asked = policy()
    query = kmeans("y", "x", clusters=2)
    [found] = SYNOPSIS.propose(query, asked)
    table = synopsis_of(found.noisy[0], query, asked.domain)
    assert table.names == ("y", "x")
    assert table.query == found.noisy[0]
    assert not list(SYNOPSIS.propose(cdf("x"), asked))
    one = kmeans("x", clusters=2)
    [line] = SYNOPSIS.propose(one, asked)
    assert synopsis_of(line.noisy[0], one, asked.domain).shape == line.noisy[0].shape(asked.domain)
