"""Every attack of the gallery succeeds, every defence holds, and every picture is the one that is shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.attacks.stories import story

from tetraodon.attacks import GALLERY, find
from tetraodon.attacks.attack import svg
from tetraodon.errors import QueryError
from tetraodon.papers import PAPERS

DOCS = Path(__file__).parent.parent.parent / "docs"
NAMES = [attack.name for attack in GALLERY]


@pytest.mark.parametrize("name", NAMES)
def test_the_attack_succeeds_and_the_defence_holds(name: str) -> None:
    played = story(name)
    assert played.succeeded
    assert played.held
    assert played.words.endswith(".")
    assert played.defence.endswith(".")


def marks(picture: str) -> list[str]:
    """What a picture says of its marks and axes: numbers and names, but not where a font puts them."""
    return re.findall(r'aria-label="([^"]*)"', picture)


@pytest.mark.parametrize("name", NAMES)
def test_the_picture_is_the_one_that_is_shown(name: str) -> None:
    """After a change: `tetraodon attack NAME --chart docs/img/attacks/NAME.svg`."""
    shown = (DOCS / "img" / "attacks" / f"{name}.svg").read_text("utf-8")
    assert len(marks(shown)) > 3
    assert marks(svg(story(name).chart)) == marks(shown)


def test_the_page_tells_every_attack_in_order() -> None:
    page = (DOCS / "gallery.md").read_text("utf-8")
    assert re.findall(r"`tetraodon attack ([a-z][\w-]+)`", page) == NAMES
    assert re.findall(r"\(img/attacks/([\w-]+)\.svg\)", page) == NAMES
    assert sorted(path.stem for path in (DOCS / "img" / "attacks").glob("*.svg")) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_table_says_what_was_measured(name: str) -> None:
    told = story(name)
    numbers = " | ".join(f"{number:.4g}" for number in (told.attacked, told.allowed, told.defended))
    assert f"| `{name}` | {told.measure} | {numbers} |" in (DOCS / "gallery.md").read_text("utf-8")


def test_papers_are_cited_by_their_keys() -> None:
    for attack in GALLERY:
        assert set(re.findall(r"\[(\w+)\]", attack.paper)) <= set(PAPERS)
        assert "[" in attack.paper


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    assert find("exam") is GALLERY[1]
    with pytest.raises(QueryError, match="did you mean 'brothers'"):
        find("brother")
