"""What is known already, as tables of locked cells; who depends on whom; and attacks on those who leave it out."""

from __future__ import annotations

from typing import Any

import pytest
from tests.web.studio_fixtures import POLICY, Visitor

import tetraodon as td
from tetraodon.attacks.gallery import find
from tetraodon.errors import QueryError
from tetraodon.web.studio_figures import MOST_COLUMNS, fitting_attacks, household, locked_cells, played


def knowing(*known: dict[str, Any]) -> td.Policy:
    return td.load_policy(
        {
            "dataset": "d",
            "presence": "public",
            "attributes": {"age": {"integer": [0, 29]}, "sex": ["F", "M"], "area": ["n", "s", "e"]},
            "budget": {"epsilon": 1},
            "known": list(known),
        }
    )


@pytest.mark.parametrize(
    ("fact", "heads", "first", "cells"),
    [
        ({"marginal": ["sex", "area"], "is": [1, 2, 3, 4, 5, 6]}, ("n", "s", "e"), ("F", ("1", "2", "3")), 6),
        ({"marginal": ["area"]}, ("n", "s", "e"), ("records", ("", "", "")), 3),
        ({"count": "age < 10", "is": 1200}, ("",), ("records", ("1,200",)), 1),
        ({"blocks": {"age": [[0, 9], [10, 29]]}}, ("0..9", "10..29"), ("records", ("", "")), 2),
        ({"rectangle": {"age": [3, 5]}}, ("",), ("records", ("",)), 1),
        ({"marginal": ["sex", "area", "age"]}, tuple("01234567"), ("F and n", ("",) * MOST_COLUMNS), 180),
    ],
)
def test_a_known_figure_is_drawn_as_what_it_is(
    fact: dict[str, Any], heads: tuple[str, ...], first: tuple[str, tuple[str, ...]], cells: int
) -> None:
    policy = knowing(fact)
    drawn = locked_cells(policy.known[0], policy.domain)
    assert (drawn.heads, drawn.rows[0], drawn.cells) == (heads, first, cells)
    assert drawn.left == cells - sum(len(row) for _, row in drawn.rows)
    assert (drawn.left > 0) is (cells > 6)


def test_known_figures_are_seen_and_taken_out_by_themselves(visitor: Visitor) -> None:
    editor = visitor.studio.editor
    editor.replace(POLICY + "known:\n- {marginal: [sex]}  # yearbook\n- {count: age < 30}\n")
    page = visitor.see("/known")
    assert page.count('class="lock"') == 3
    assert page.index("Everybody is taken to know the exact table by sex: 2 locked cells") < page.index(
        "satisfy age &lt; 30: 1 locked cell."
    )
    assert visitor.send("remove", path='["known", 0]', back="known")[0] == 303
    assert editor.text == POLICY + "known:\n- {count: age < 30}\n"
    editor.replace(POLICY + "known:\n- {count: nonsense}\n")
    assert "1 known figure of the file cannot be drawn yet" in visitor.see("/known")


def test_a_household_is_drawn_with_all_its_rows(visitor: Visitor) -> None:
    assert visitor.see("/known").count("<circle") == 1
    assert visitor.send("attackers", who="groups", column="home", most="5", back="known")[0] == 303
    page = visitor.see("/known")
    assert page.count("<circle") == 5
    assert "all 5 rows of a home" in page
    assert household(td.load_policy(visitor.studio.editor.path)) == 5
    assert visitor.send("attackers", who="groups", column="home", most="500", back="known")[0] == 303
    assert "12 are drawn" in visitor.see("/known")
    assert visitor.send("attackers", who="groups", back="known")[0] == 400
    assert visitor.send("attackers", who="independent", back="known")[0] == 303
    assert household(td.load_policy(visitor.studio.editor.path)) == household(None) == 1


def test_the_attack_that_fits_is_played_and_told_as_the_gallery_does(visitor: Visitor) -> None:
    assert [attack.name for attack in fitting_attacks(None)] == ["known-sums", "all-or-none"]
    story = find("all-or-none").run()
    page = visitor.see("/attack?name=all-or-none")
    assert f"{story.attacked:.3g}" in page
    assert f"{story.defended:.3g}" in page
    got, allowed, left = (share for _, _, share in played("all-or-none")["bars"])
    assert got == 100
    assert left <= allowed < got
    with pytest.raises(QueryError):
        played("nonsense")
    assert visitor.ask("GET", "/attack?name=nonsense")[0] == 400
