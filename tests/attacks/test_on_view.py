"""Linking with a view: beliefs by Bayes' rule over all tables of a tiny world, and files that do not fit."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import tetraodon as td
from tetraodon.attacks.on_view import link
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import DomainError, QueryError, Refused, TableError
from tetraodon.publishing.channel import CopyChannel, SetChannel, ViewChannel
from tetraodon.publishing.tuple_files import write_tuples
from tetraodon.publishing.view import View

DOMAIN = td.load_policy(
    {"dataset": "town", "attributes": {"sex": ["F", "M"], "ill": "boolean"}, "budget": {"epsilon": 1}}
).domain
SETS, COPIES = SetChannel(Fraction(1, 2), Fraction(1, 10)), CopyChannel(Fraction(1, 2), Fraction(1, 10))


def shown(tmp_path: Path, cells: list[int], channel: ViewChannel = SETS) -> View:
    path = tmp_path / "tuples.parquet"
    write_tuples(DOMAIN, [np.array(cells, np.uint64)], path)
    return View("town", DOMAIN, channel, path, 1)


def known(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize("cells", [[], [0], [1], [0, 1], [0, 3]])
def test_beliefs_are_those_of_bayes(tmp_path: Path, cells: list[int]) -> None:
    """A woman, ill or not, is the only record; every view of four tuples has the chance that the channel gives it."""
    likelihood = []
    for record in (0, 1):  # F and not ill, F and ill
        chance = Fraction(1)
        for cell in range(4):
            each = SETS.shown if cell == record else SETS.noise
            chance *= each if cell in cells else 1 - each
        likelihood.append(chance)
    found = link(shown(tmp_path, cells), known(tmp_path, "sex\nF\n"))
    assert found.strongest == pytest.approx(float(max(likelihood) / sum(likelihood)))
    assert (found.before, found.secret) == (0.5, ("ill",))


def test_copies_count_as_one_more_record_does(tmp_path: Path) -> None:
    found = link(shown(tmp_path, [0, 0], COPIES), known(tmp_path, "sex\nF\n"))
    up, down = float(COPIES.ratio_up), float(COPIES.ratio_down)
    assert found.strongest == pytest.approx(up / (up + down))


def test_it_is_scored_where_the_file_knows_the_truth(tmp_path: Path) -> None:
    people = known(tmp_path, "sex,ill\nF,true\nF,false\nM,true\n")
    found = link(shown(tmp_path, [1]), people, secret=["ill"], posterior=Fraction(3, 5))
    assert (found.people, found.above, found.right) == (3, 2, 0.5)
    assert found.document()["key"] == "adversary: {kind: exclusive, prior: {d: 1/2}, posterior: 0.6}"
    everybody = link(shown(tmp_path, [1]), people, secret=["ill", "sex"])
    assert everybody.before == 0.25
    assert everybody.right == pytest.approx(1 / 3)


def test_no_view_names_more_than_it_shows() -> None:
    """Whatever is shown, a belief never exceeds what the channel's ratios allow from one half."""
    most = SETS.ratio_up / (SETS.ratio_up + SETS.ratio_down)
    for pattern in itertools.product((0, 1), repeat=2):
        weights = [SETS.ratio_up if there else SETS.ratio_down for there in pattern]
        assert max(weights) / sum(weights) <= most


def test_refusals(tmp_path: Path) -> None:
    view = shown(tmp_path, [0])
    with pytest.raises(QueryError, match="nothing to be found out"):
        link(view, known(tmp_path, "sex,ill\nF,true\n"))
    with pytest.raises(QueryError, match="no attribute 'il'"):
        link(view, known(tmp_path, "sex,ill\nF,true\n"), secret=["il"])
    with pytest.raises(DomainError, match="value of sex"):
        link(view, known(tmp_path, "sex\nwoman\n"))
    with pytest.raises(TableError, match="nobody"):
        link(view, known(tmp_path, "sex\n"))
    with pytest.raises(TableError, match="cannot be read"):
        link(view, tmp_path / "nothing.csv")
    wide = Domain(tuple(Attribute(f"a{n}", Integers(0, 7)) for n in range(6)))
    write_tuples(wide, [np.zeros(1, np.uint64)], tmp_path / "wide.parquet")
    with pytest.raises(Refused, match="more than 65,536"):
        link(View("town", wide, SETS, tmp_path / "wide.parquet", 1), known(tmp_path, "b\n1\n"))
