"""Mechanisms by their words, and nowhere else; quick ways never promise more than slow ones."""

from __future__ import annotations

import ast
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tetraodon as td
from tetraodon.errors import ReleaseError
from tetraodon.mechanism.registry import MECHANISMS, mechanism_named, proposals
from tetraodon.mechanism.strategy import Mechanism, Scaled

SOURCE = Path(td.__file__).parent
SURE = Fraction(95, 100)


def test_every_mechanism_is_found_by_its_word_and_no_other() -> None:
    for name, mechanism in MECHANISMS.items():
        assert mechanism_named(name) is mechanism
        assert (mechanism.name, str(mechanism)) == (name, name)
    for stranger in ("haar", "", None, 3, ["identity"]):
        with pytest.raises(ReleaseError, match=r"mechanism.*Fix:"):
            mechanism_named(stranger)


def test_no_room_above_compares_the_word_of_a_mechanism() -> None:
    """A mechanism that somebody adds would fall through such a comparison: the object is asked instead."""
    for path in SOURCE.rglob("*.py"):
        if path.is_relative_to(SOURCE / "mechanism") or path.is_relative_to(SOURCE / "pufferfish"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            about = [node.subject] if isinstance(node, ast.Match) else []
            about = [node.left, *node.comparators] if isinstance(node, ast.Compare) else about
            assert not any(isinstance(part, ast.Attribute) and part.attr == "mechanism" for part in about), path
            words = {part.value for part in about if isinstance(part, ast.Constant)}
            assert not words & {"identity", "ordered", "hierarchical", "grid", "synopsis"}, path


def policy(**changes: Any) -> td.Policy:
    document = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"x": {"integer": [0, 11]}, "y": {"integer": [0, 7]}, "p": ["a", "b"]},
        "secrets": {"x": {"within": 2}, "y": {"within": 1}, "p": "public"},
        "together": "one attribute at a time",
        "budget": {"epsilon": 1},
    }
    return td.load_policy(document | changes)


@pytest.mark.parametrize("presence", ["public", "secret"])
@pytest.mark.parametrize(
    "query",
    [td.queries.histogram("x", "p"), td.queries.cdf("x"), td.queries.cdf("x", by="p"), td.queries.rectangles("x", "y")],
    ids=str,
)
def test_quick_ways_never_promise_more(query: Any, presence: str) -> None:
    """Of boxes of all sizes, and of single cells: shorter than one by one is wrong, and some are just as short."""
    here = policy(presence=presence)
    seen = set()
    for strategy in proposals(query, here):
        at = Scaled(strategy, Fraction(5), here.domain)
        seen.add(strategy.mechanism.name)
        ends = np.sort(np.random.default_rng(1).integers(0, np.array(at.shape)[:, None, None], (len(at.shape), 30, 2)))
        low, high = tuple(ends[..., 0]), tuple(ends[..., 1])
        quick = strategy.mechanism.box_reach(at, low, high, SURE)
        slow = Mechanism.box_reach(strategy.mechanism, at, low, high, SURE)
        assert quick.shape == slow.shape
        assert (quick >= slow - 1e-6).all()
        cells = np.ix_(*map(np.arange, at.shape))
        assert strategy.mechanism.box_reach(at, cells, cells, SURE).shape == at.shape
    assert seen & {"identity", "ordered"}
