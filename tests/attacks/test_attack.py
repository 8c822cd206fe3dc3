"""A story says who won."""

from __future__ import annotations

from dataclasses import replace

from tests.attacks.stories import story

from tetraodon.attacks import find


def test_who_won() -> None:
    played = story("gaussian-tail")
    assert (played.succeeded, played.held) == (True, True)
    assert not replace(played, attacked=played.allowed).succeeded
    assert not replace(played, defended=played.allowed * 2).held


def test_as_plain_data() -> None:
    attack = find("gaussian-tail")
    assert set(attack.document()) == {"name", "title", "paper"}
    told = attack.document(story("gaussian-tail"))
    assert told["numbers"]["published"] == 10
    assert told["succeeded"] is True
