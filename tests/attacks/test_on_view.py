"""Linking with a view: beliefs by Bayes' rule over all tables of a tiny world, and files that do not fit."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import yaml

import tetraodon as td
from tetraodon.attacks.on_view import link
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import DomainError, QueryError, TableError
from tetraodon.views.channel import CopyChannel, SetChannel, ViewChannel
from tetraodon.views.tuple_files import write_tuples
from tetraodon.views.view import View

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
    alone = Domain((*DOMAIN, Attribute("one", Integers(1, 1))))
    with pytest.raises(QueryError, match="nothing to be found out"):
        link(View("town", alone, SETS, tmp_path / "none", 1), known(tmp_path, "sex,ill\nF,true\n"))


def test_it_is_what_looking_at_every_person_by_himself_finds(tmp_path: Path) -> None:
    dice = np.random.default_rng(5)
    domain = Domain(tuple(Attribute(f"a{n}", Integers(0, size - 1)) for n, size in enumerate((3, 4, 2, 3))))
    for channel, number in itertools.product((SETS, COPIES), range(10)):
        cells = np.sort(dice.integers(0, domain.size, 30).astype(np.uint64))
        write_tuples(domain, [cells[:17], cells[17:]], tmp_path / "tuples.parquet")
        people = dice.integers(0, domain.shape, (40, 4))
        hidden = [f"a{place}" for place in range(4) if number >> place & 1] or list(domain.names)
        text = "\n".join([",".join(domain.names), *(",".join(map(str, row)) for row in people.tolist())])
        view = View("town", domain, channel, tmp_path / "tuples.parquet", 1)
        found = link(view, known(tmp_path, text + "\n"), secret=hidden, posterior=Fraction(1, 3))
        beliefs, right = [], []
        up, down = float(channel.ratio_up), float(channel.ratio_down)
        for row in people:
            ranges = [range(a.size) if a.name in hidden else [row[n]] for n, a in enumerate(domain)]
            tuples = list(itertools.product(*ranges))
            weights = [up if np.ravel_multi_index(one, domain.shape) in cells else down for one in tuples]
            beliefs.append(max(weights) / sum(weights))
            right.append(tuples[int(np.argmax(weights))] == tuple(row))
        named = np.array(beliefs) > 1 / 3
        assert found.strongest == pytest.approx(max(beliefs))
        assert found.above == named.sum()
        assert found.right == (pytest.approx(np.array(right)[named].mean()) if named.any() else None)


@pytest.mark.parametrize("posterior", ["0.3", "1/2", "0.5000001", "0.9"])
@pytest.mark.parametrize("size", [2, 3, 2000, 70_000])
def test_every_policy_that_it_advises_can_be_loaded(tmp_path: Path, posterior: str, size: int) -> None:
    attributes = {"sex": ["F", "M"], "code": {"integer": [1, size]}}
    document = {"dataset": "town", "attributes": attributes, "budget": {"epsilon": 50}}
    domain = td.load_policy(document).domain
    write_tuples(domain, [np.array([1], np.uint64)], tmp_path / "tuples.parquet")
    view = View("town", domain, SETS, tmp_path / "tuples.parquet", 1)
    found = link(view, known(tmp_path, "sex\nF\nM\n"), posterior=Fraction(posterior))
    advised = td.load_policy({**document, **yaml.safe_load(found.key)}).adversary
    assert advised is not None
    assert (advised.kind, advised.d) == ("exclusive", Fraction(1, size))
    assert advised.gamma == Fraction(posterior) or Fraction(posterior) <= Fraction(1, size) < advised.gamma
