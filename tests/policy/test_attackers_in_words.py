"""Who the promise is kept against, in the explanation of a policy."""

from __future__ import annotations

from tests.policy.test_build_attackers import CHAIN, read

from tetraodon.policy.attackers_in_words import against_whom, cost_of_dependence, how_releases_add_up
from tetraodon.policy.explain import explain


def test_every_kind_says_what_is_not_covered() -> None:
    for entry in ("independent", {"groups": "home", "at most": 5}, {"chain": CHAIN}):
        attackers = read([entry]).attackers
        assert "not covered" in against_whom(attackers)
        assert against_whom(attackers) in explain(read([entry])).document["parts"][-3]["sentences"]


def test_groups_and_chains_say_what_they_cost() -> None:
    assert cost_of_dependence(read(["independent"]).attackers) == ()
    assert "5 rows" in cost_of_dependence(read([{"groups": "home", "at most": 5}]).attackers)[0]
    (told,) = cost_of_dependence(read([{"chain": CHAIN}]).attackers)
    assert told in " ".join(explain(read([{"chain": CHAIN}])).text.split())


def test_only_what_adds_up_is_said_to_add_up() -> None:
    assert "do not simply add up" in how_releases_add_up(read([{"chain": CHAIN}]).attackers)
    assert "all releases from the same data add up" in how_releases_add_up(read(["independent"]).attackers)
