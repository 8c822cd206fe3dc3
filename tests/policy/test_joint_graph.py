"""Graphs over cells, and those of blocks: against their definition, prices against all edges, and a release."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tetraodon as td
from tetraodon.errors import PolicyError, Refused
from tetraodon.policy import attribute_graph
from tetraodon.policy.joint_graph import JointGraph, JointMetric, Regions
from tetraodon.views.perturb import matrices_of

ONE = Fraction(1)


@pytest.mark.parametrize(
    "graph",
    [
        JointMetric("l1", ONE, (3, 2), (ONE, ONE), (ONE, ONE)),
        Regions((3, 2), (0, 1, 0, 2, 1, 0), ("a", "b", "c")),
    ],
)
def test_cells_and_pairs(graph: JointGraph) -> None:
    assert graph.size == 6
    cells = np.arange(6)
    near = graph.adjacent(cells[:, None], cells[None, :])
    assert [[graph.is_edge(x, y) for y in range(6)] for x in range(6)] == near.tolist()
    assert graph.has_edges
    assert graph.edge_count == near.sum() // 2 > 0


def random_regions(rng: random.Random) -> Regions:
    shape = rng.choice([(2, 3), (3, 3), (2, 2, 2), (4, 2)])
    owners = [rng.randrange(3) for _ in range(math.prod(shape))]
    order = list(dict.fromkeys(owners))
    return Regions(shape, tuple(order.index(one) for one in owners), tuple("abc"[: len(order)]))


def test_edges_and_distances_are_as_defined(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    for at_once in (2_000, 2):
        monkeypatch.setattr(attribute_graph, "AT_ONCE", at_once)
        for _ in range(20):
            one = random_regions(rng)
            pairs = list(itertools.product(range(one.size), repeat=2))
            wanted = {(x, y) for x, y in pairs if x != y and one.blocks[x] == one.blocks[y]}
            listed = [(int(a), int(b)) for xs, ys in one.edges() for a, b in zip(xs, ys, strict=True)]
            assert {*listed, *((y, x) for x, y in listed)} == wanted
            assert len(listed) == one.edge_count == len(wanted) // 2
            assert one.has_edges == bool(wanted)
            x, y = np.array(pairs).T
            assert one.adjacent(x, y).tolist() == [pair in wanted for pair in pairs]
            for x, y in pairs:
                assert one.is_edge(x, y) == ((x, y) in wanted)
                assert one.distance(x, y) == (0 if x == y else 1 if (x, y) in wanted else math.inf)


@pytest.mark.parametrize(
    ("shape", "blocks", "names"), [((2, 2), (0, 0, 1), ("a", "b")), ((1, 2), (1, 0), ("a", "b")), ((1, 2), (0, 0), ())]
)
def test_blocks_of_other_cells_are_no_blocks(shape: Any, blocks: Any, names: Any) -> None:
    with pytest.raises(PolicyError, match="all cells"):
        Regions(shape, blocks, names)


def county_policy(rows: list[list[str]], **more: Any) -> td.Policy:
    return td.load_policy(
        {
            "dataset": "cabs",
            "presence": "public",
            "attributes": {
                "lat": {"integer": [0, len(rows) - 1]},
                "hour": {"integer": [0, 2]},
                "lon": {"integer": [0, len(rows[0]) - 1]},
            },
            "secrets": {"hour": {"within": 1}},
            "together": {"over": ["lat", "lon"], "blocks": rows},
            "budget": {"epsilon": 1},
            **more,
        }
    )


def test_prices_are_the_largest_over_all_edges() -> None:
    rng = random.Random(8)
    queries = [
        td.queries.histogram("lat", "lon"),
        td.queries.histogram("lat"),
        td.queries.histogram("lon", "hour"),
        td.queries.total("lat"),
        td.queries.total("lon", by=["hour"]),
        td.queries.cdf("lat", by=["lon"]),
        td.queries.count("lat > lon"),
        td.queries.count("lat = 1 and hour = 2"),
        td.queries.rectangles("lat", "lon"),
    ]
    for presence in ("public", "secret", "public", "public"):
        rows = [[rng.choice("ABC") for _ in range(3)] for _ in range(3)]
        policy = county_policy(rows, presence=presence)
        assert td.load_policy(policy.document) == policy
        for query in queries:
            found = td.sensitivity(policy, query)
            assert found.exact
            assert found.value == td.research.oracle.sensitivity(policy, query, 1), (rows, query)


def test_blocks_with_a_known_count_are_what_the_oracle_says() -> None:
    policy = county_policy([["A", "A"], ["B", "A"]], known=[{"count": "lat = 1"}])
    query = td.queries.histogram("lat", "lon")
    found = td.sensitivity(policy, query)
    assert found.exact
    assert found.value == td.research.oracle.sensitivity(policy, query, 2) > 0


def words(policy: td.Policy) -> str:
    return " ".join(td.explain(policy).text.split())


def test_they_are_explained() -> None:
    text = words(county_policy([["A", "A"], ["B", "A"]]))
    assert "Two cells in the same block are one step apart. The blocks are: A (3 cells); B (1 cell)." in text
    assert "The block that a person's lat and lon are in is not protected." in text
    hidden = words(county_policy([["A", "A"], ["B", "A"]], presence="secret"))
    assert "Any other two cells are two steps apart" in hidden
    many = [[str(row * 6 + column) for column in range(5)] + [str(row * 6)] for row in range(3)]
    assert "and 7 more" in words(county_policy(many))


def test_a_map_of_counties_is_released_and_verified(tmp_path: Path) -> None:
    rng = random.Random(5)
    cells = [f"{lat},{lon},{'Kern' if lat + lon < 4 else 'Inyo'}" for lat in range(4) for lon in range(5)]
    (tmp_path / "counties.csv").write_text("\n".join(["lat,lon,county", *cells]))
    (tmp_path / "cabs.yaml").write_text(
        "dataset: cabs\npresence: public\nattributes: {lat: {integer: [0, 3]}, lon: {integer: [0, 4]}}\n"
        "together: {over: [lat, lon], cells: counties.csv}\nbudget: {epsilon: 1}\n"
        "release: [{name: map, histogram: [lat, lon]}, {name: north, mean: lat}]\n"
    )
    policy = td.load_policy(tmp_path / "cabs.yaml")
    rows = [f"{rng.randrange(4)},{rng.randrange(5)}" for _ in range(300)]
    (tmp_path / "cabs.csv").write_text("\n".join(["lat,lon", *rows]))
    ledger = f"sqlite:///{tmp_path}/ledger.db"
    with td.Ledger(ledger) as opened:
        opened.open(policy.dataset, 1, policy.document)
    release = td.release(td.plan(policy), tmp_path / "cabs.csv", ledger=ledger, out=tmp_path / "out")
    assert sum(release["map"].columns["count"]) == 300
    (tmp_path / "counties.csv").unlink()  # the release says by itself what the blocks are
    assert all(check.passed for check in td.verify(tmp_path / "out"))
    assert "Kern (10 cells)" in " ".join((tmp_path / "out" / "report.html").read_text().split())


def test_attributes_of_one_secret_are_not_replaced_one_by_one() -> None:
    with pytest.raises(Refused, match="measured together"):
        matrices_of(county_policy([["A", "A"], ["B", "A"]]), Fraction(1))
