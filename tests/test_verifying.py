"""`verify` tells a folder from a mechanism."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import tetraodon as td
from tetraodon.pufferfish import named


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(td.ReleaseError, match=r"no release\.json"):
        td.verify(tmp_path)
    with pytest.raises(td.ReleaseError, match=r"no release\.json"):
        td.verify(str(tmp_path))


def test_a_mechanism() -> None:
    """Randomised response that lies one time in three keeps odds of two to one."""
    world = td.World.product(("no", "yes"), individuals=1)
    truth = Fraction(2, 3)
    channel = td.Channel([[truth, 1 - truth], [1 - truth, truth]], world.datasets, ("no", "yes"))
    verdict = td.verify(channel, named.indistinguishability(epsilon=1))
    assert verdict.odds == 2
    assert verdict.exact


def test_neither() -> None:
    with pytest.raises(td.QueryError, match="definition"):
        td.verify(lambda data: data)


def test_a_mechanism_is_verified_by_the_words_of_the_signature_and_nothing_but_a_definition_is_one() -> None:
    coin = td.Channel([[0.75, 0.25], [0.25, 0.75]], [(0,), (1,)], ["no", "yes"])
    level = td.Definition(td.pairs.values(), td.scenarios.independent(), epsilon=1)
    assert td.verify(mechanism=coin, definition=level).odds == 3
    with pytest.raises(td.QueryError, match="no definition"):
        td.verify(coin, 3)  # type: ignore[arg-type]
