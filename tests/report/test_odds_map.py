"""Maps of a promise: their steps are those of the secret graph, for every pair of places."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.policies import public_policy

import tetraodon as td
from tetraodon.errors import QueryError
from tetraodon.policy.explain import odds
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy
from tetraodon.report.odds import (
    MOST_CHIPS,
    MOST_MOVES,
    OddsMap,
    OddsStrip,
    odds_maps,
    odds_strip,
    odds_strips,
    picture,
)


def mapped(metric: str, within: str, **changes: Any) -> td.Policy:
    base = public_policy(
        attributes={"x": {"integer": [0, 6]}, "y": {"real": [0, 3], "step": "0.5"}, "sex": ["f", "m"]},
        secrets={"sex": "public"},
        together={"metric": metric, "over": ["x", "y"], "within": within},
        budget={"epsilon": "1/2"},
    )
    return load_policy(base | changes)


def apart(policy: td.Policy, *places: tuple[int, int]) -> float:
    """The steps between two places by the graph itself, which knows of no picture."""
    x, y = policy.domain["x"], policy.domain["y"]
    return policy.graph.distance(*((x.number(first), y.number(second), "f") for first, second in places))


@pytest.mark.parametrize("presence", ["public", "secret"])
@pytest.mark.parametrize(
    ("metric", "within"),
    [
        ("l1", "1"),
        ("l1", "2.5"),
        ("l2", "1"),
        ("l2", "2.5"),
        ("linf", "2"),
        ("linf", "0.5"),
        ("l2", "0.5"),
        ("l1", "0.7"),
    ],
)
def test_steps_are_those_of_the_graph(metric: str, within: str, presence: str) -> None:
    policy = mapped(metric, within, presence=presence)
    (drawn,) = odds_maps(policy)
    first, second = (codes.ravel() for codes in np.meshgrid(np.arange(7), np.arange(7), indexing="ij"))
    for chosen in ((0, 0), (3, 2), (6, 6)):
        found = drawn.steps(chosen, first, second)
        meant = [apart(policy, chosen, (int(x), int(y))) for x, y in zip(first, second, strict=True)]
        assert found.tolist() == meant


def test_on_the_globe_one_step_is_drawn_and_no_more() -> None:
    policy = mapped(
        "great circle km", "300", attributes={"x": {"integer": [40, 50]}, "y": {"integer": [0, 10]}, "sex": ["f", "m"]}
    )
    (drawn,) = odds_maps(policy)
    codes = np.arange(11)
    for other in range(11):
        found = drawn.steps((5, 5), codes, np.full(11, other))
        for code, away in zip(codes, found, strict=True):
            true = apart(policy, (5, 5), (int(code), other))
            assert away == (true if true <= 1 else np.inf)


def test_known_figures_end_chains_of_steps() -> None:
    (drawn,) = odds_maps(mapped("l1", "1", known=[{"marginal": ["sex"]}]))
    assert drawn.steps((0, 0), np.array([0, 1, 2]), np.array([0, 0, 0])).tolist() == [0, 1, np.inf]


def test_groups_have_maps_of_their_own() -> None:
    own = {"metric": "l1", "over": ["x", "y"], "within": "3"}
    found = odds_maps(mapped("l1", "1", groups={"by": "sex", "rules": {"m": {"together": own}}}))
    assert sorted(float(one.graph.within) for one in found) == [1, 3]
    assert all(one.whom for one in found)


def test_a_picture_is_a_strip_or_a_map_and_plain_data() -> None:
    policy = mapped("l2", "2.5")
    for names, kind in ((("x",), OddsStrip), (("x", "y"), OddsMap)):
        found = td.editor.picture(policy, *names)
        assert isinstance(found, kind)
        assert json.loads(json.dumps(found.document(), allow_nan=False)) == found.document()
    for names in (("y", "x"), ("sex",), ("x", "sex"), ()):
        with pytest.raises(QueryError, match="Fix:"):
            picture(policy, *names)


# -- odds strip --------------------------------------------------------------------------------------
# Strips of a promise: their steps are those of the secret graph, their odds those of the promise, for every pair.

SECRETS: dict[str, Any] = {
    "age": {"within": 3},
    "sex": "public",
    "region": {"blocks": [["n", "s"], ["e", "w", "u"]]},
    "grade": {"within": 1},
    "shift": {"pairs": [["a", "b"], ["b", "c"], ["d", "e"]]},
    "day": {"within": 2},
    "pay": "everything",
    "band": {"blocks": [[0, 1], [2, 4]]},
}
ATTRIBUTES: dict[str, Any] = {
    "age": {"integer": [10, 19], "unit": "years"},
    "sex": ["f", "m"],
    "region": ["n", "e", "s", "w", "u"],
    "grade": {"ordered": ["low", "middle", "high"]},
    "shift": ["a", "b", "c", "d", "e", "f"],
    "day": {"date": ["2026-01-01", "2026-01-05"]},
    "pay": {"real": [0, 1], "step": "0.5", "missing": "separate"},
    "band": {"integer": [0, 4]},
}


def policy_with(**changes: Any) -> Policy:
    base = {"dataset": "d", "presence": "public", "attributes": ATTRIBUTES, "secrets": SECRETS}
    return load_policy(base | {"together": "one attribute at a time", "budget": {"epsilon": "1/2"}} | changes)


POLICIES = {
    "one at a time": policy_with(),
    "at most two": policy_with(together={"at most": 2}),
    "all at once": policy_with(together="all at once"),
    "secret presence": policy_with(presence="secret"),
    "three rows": policy_with(individuals={"key": "id", "at most": 3}),
    "l2": policy_with(together={"metric": "l2", "over": ["age", "band"], "within": "2.5"}, secrets={}),
    "l1, one axis fixed": policy_with(together={"metric": "l1", "over": ["band", "wide"], "within": 2}, secrets={},
                                      attributes=ATTRIBUTES | {"wide": {"integer": [0, 9]} | {}}),
}  # fmt: skip


@pytest.mark.parametrize("name", POLICIES)
def test_steps_and_odds_are_those_of_the_graph(name: str) -> None:
    policy = POLICIES[name]
    strips = odds_strips(policy)
    assert strips
    for strip in strips:
        place = policy.domain.position(strip.attribute.name)
        codes = np.arange(strip.attribute.size)
        for chosen in codes.tolist():
            found = strip.steps(chosen, codes).tolist()
            for other in codes.tolist():
                x, y = ([0] * len(policy.domain.names) for _ in "xy")
                x[place], y[place] = chosen, other
                wanted = policy.graph.distance(policy.domain.value_of(x), policy.domain.value_of(y))
                assert found[other] == wanted, (strip.attribute.name, chosen, other)
                move = None if math.isinf(wanted) else odds(policy.epsilon, int(wanted))
                assert strip.moves(chosen, other) == move


def test_every_attribute_with_secrets_has_a_strip() -> None:
    names = [strip.attribute.name for strip in odds_strips(policy_with())]
    assert names == [name for name in ATTRIBUTES if name != "sex"]
    assert "sex" in [strip.attribute.name for strip in odds_strips(policy_with(presence="secret"))]


def test_nothing_is_drawn_beyond_one_step_where_nothing_is_promised_there() -> None:
    attributes = {"age": ATTRIBUTES["age"], "sex": ATTRIBUTES["sex"]}
    secrets = {"age": {"within": 3}, "sex": "public"}
    known = [{"count": "age < 12", "is": 3}]
    strip = odds_strip(policy_with(attributes=attributes, secrets=secrets, known=known), "age")
    assert strip.steps(0, np.arange(5)).tolist() == [0, 1, 1, 1, math.inf]
    assert len(strip.document()["moves"]) == 1


def test_groups_have_strips_of_their_own() -> None:
    policy = policy_with(groups={"by": "sex", "rules": {"m": {"secrets": {"age": {"within": 1}}}}})
    ages = [strip for strip in odds_strips(policy) if strip.attribute.name == "age"]
    assert [(strip.whom, strip.moves(0, 3) == odds(Fraction(1, 2), 3)) for strip in ages] == [
        ("people whose sex is m", True),
        ("everybody else", False),
    ]


def test_what_has_no_secret_has_no_strip() -> None:
    with pytest.raises(QueryError, match="no strip of 'sex'"):
        odds_strip(policy_with(), "sex")
    attributes = {"lat": {"integer": [0, 5]}, "lon": {"integer": [0, 5]}}
    globe = {"metric": "great circle km", "over": ["lat", "lon"], "within": 200}
    assert odds_strips(policy_with(attributes=attributes, secrets={}, together=globe)) == ()


# -- what is drawn -------------------------------------------------------------------------------------


def test_odds_are_told_until_they_protect_nothing() -> None:
    told = odds_strip(policy_with(budget={"epsilon": 3}), "age").document()
    assert [move[:2] for move in told["moves"]] == [["20.09", "95.3%"], ["404", "99.8%"]]
    assert [float(move[0].replace(",", "")) >= math.exp(3 * (n + 1)) for n, move in enumerate(told["moves"])] == [
        True
    ] * 2
    assert told["worthless"]
    shades = [move[2] for move in told["moves"]]
    assert shades == sorted(shades, reverse=True)
    none = odds_strip(policy_with(budget={"epsilon": 30}), "age").document()
    assert none["moves"] == []
    assert none["worthless"]
    faint = odds_strip(policy_with(budget={"epsilon": "1e-6"}, attributes={"age": {"integer": [0, 10**6]}},
                                   secrets={"age": {"within": 1}}), "age").document()  # fmt: skip
    assert len(faint["moves"]) == MOST_MOVES
    assert not faint["worthless"]


def test_long_attributes_cost_nothing_to_describe() -> None:
    attributes = {"x": {"integer": [0, 10**17]}, "y": {"real": [0, 10**6], "step": "1/3"}}
    secrets = {"x": {"within": 5}, "y": {"within": 1}}
    for strip in odds_strips(policy_with(attributes=attributes, secrets=secrets)):
        assert len(json.dumps(strip.document(), allow_nan=False)) < 5000
        assert strip.document()["texts"] is None
        assert strip.ruler


def test_names_are_drawn_word_by_word_and_of_many_only_some() -> None:
    towns = [f"t{n}" for n in range(200)]
    strip = odds_strip(policy_with(attributes={"town": towns}, secrets={"town": "everything"}), "town")
    told = strip.document()
    assert not strip.ruler
    assert (len(told["texts"]), told["left"]) == (MOST_CHIPS, 200 - MOST_CHIPS)
    blocks = odds_strip(policy_with(), "region").document()
    assert blocks["texts"] == ["n", "s", "e", "w", "u"]
    assert blocks["steps"][0] == [0, 1, -1, -1, -1]


def test_a_strip_is_plain_data() -> None:
    for strip in odds_strips(policy_with()):
        assert isinstance(strip, OddsStrip)
        assert json.loads(json.dumps(strip.document(), allow_nan=False)) == strip.document()
