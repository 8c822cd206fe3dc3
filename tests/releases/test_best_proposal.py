"""Of what mechanisms propose, the proposal with the least error at its price is taken."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tetraodon as td
from tetraodon.errors import Refused
from tetraodon.noise.laws import LAPLACE
from tetraodon.releases import proposals as best_proposal
from tetraodon.releases.proposals import Limit, choose, expected, offered

LIMIT = Limit(LAPLACE, Fraction(1, 2))


def policy(asked: dict[str, Any]) -> td.Policy:
    return td.load_policy(
        {
            "dataset": "d",
            "presence": "public",
            "attributes": {"x": {"integer": [0, 40]}, "y": {"integer": [0, 9]}},
            "secrets": {"x": {"within": 3}},
            "budget": {"epsilon": 1},
            "release": [{"name": "i", **asked}],
        }
    )


@pytest.mark.parametrize("asked", [{"cdf": "x"}, {"cdf": "x", "where": "y > 3"}, {"histogram": ["x", "y"]}])
def test_the_least_error_is_taken(asked: dict[str, Any]) -> None:
    made = policy(asked)
    [item] = made.items
    found, too_long = offered(item, made, LIMIT)
    assert not too_long
    strategy, scale = choose(item, made, LIMIT)
    errors = [expected(item, one, loss / LIMIT.amount, made) for one, loss in found]
    assert len(errors) > 1
    assert expected(item, strategy, scale, made) == min(errors)


def test_what_cannot_be_certified_for_a_part_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    made = policy({"cdf": "x", "where": "y > 3"})
    [item] = made.items
    whole = best_proposal.certify_measurements

    def only_one(*args: Any, **more: Any) -> Any:
        if len(args[1]) > 1:
            raise Refused("too many", fix="fewer")
        return whole(*args, **more)

    monkeypatch.setattr(best_proposal, "certify_measurements", only_one)
    assert {one.mechanism.name for one, _ in offered(item, made, LIMIT)[0]} == {"identity", "weighted"}
    monkeypatch.setattr(best_proposal, "certify_measurements", lambda *_, **__: only_one(None, [1, 2]))
    with pytest.raises(Refused, match="too many"):
        offered(item, made, LIMIT)


SECRETS: list[Any] = ["public", "everything", {"within": 1}, {"within": 5}, {"blocks": [[0, 6], [7, 19]]}]
ASKED = [{"cdf": "x"}, {"ranges": "x"}, {"ranges": {"x": [[0, 3], [2, 15]]}}, {"histogram": "x"}]


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(SECRETS), st.sampled_from(ASKED), st.sampled_from(["public", "secret"]), st.booleans())
def test_who_promises_less_never_errs_more(secret: Any, asked: dict[str, Any], presence: str, where: bool) -> None:
    """Certified errors, beside those of plain differential privacy with the same presence."""
    some = {"where": "y > 3"} if where else {}
    document = policy({**asked, **some}).document | {
        "presence": presence,
        "attributes": {"x": {"integer": [0, 19]}, "y": {"integer": [0, 9]}},
    }
    less, more = (td.load_policy(document | {"secrets": secrets}) for secrets in ({"x": secret, "y": "public"}, {}))
    errors = [td.plan(one)["i"].expected_error for one in (less, more)]
    assert errors[0] <= errors[1] * (1 + 1e-9)
    if presence == "secret":
        alone = td.load_policy(document | {"secrets": {"x": "public", "y": "public"}})
        assert td.plan(alone)["i"].expected_error <= errors[0] * (1 + 1e-9)


def planned(asked: dict[str, Any], attributes: dict[str, Any], **changes: Any) -> float:
    document = {"dataset": "d", "presence": "public", "attributes": attributes, "budget": {"epsilon": 1}, **changes}
    return td.plan(document | {"release": [{"name": "i", **asked}]})["i"].expected_error


@settings(max_examples=8, deadline=None)
@given(st.integers(1, 4), st.integers(5, 12), st.sampled_from(["l1", "linf"]))
def test_near_cells_of_a_map_never_cost_more_than_all(theta: int, side: int, metric: str) -> None:
    sides = {"x": {"integer": [0, side - 1]}, "y": {"integer": [0, 7]}}
    near = {"metric": metric, "over": ["x", "y"], "within": theta}
    less, more = (planned({"rectangles": ["x", "y"]}, sides, together=one) for one in (near, "all at once"))
    assert less <= more * (1 + 1e-9)


@settings(max_examples=8, deadline=None)
@given(st.lists(st.integers(0, 100), min_size=3, max_size=12), st.sampled_from(["histogram", "cdf"]))
def test_a_tree_of_secrets_never_costs_more_than_all(above: list[int], asked: str) -> None:
    """Value n + 1 hangs on one of the values up to n."""
    values = {"x": {"integer": [0, len(above)]}}
    pairs = [[parent % (child + 1), child + 1] for child, parent in enumerate(above)]
    less, more = (planned({asked: "x"}, values, secrets={"x": one}) for one in ({"pairs": pairs}, "everything"))
    assert less <= more * (1 + 1e-9)


@settings(max_examples=6, deadline=None)
@given(st.integers(1, 4), st.integers(20, 90), st.sampled_from(["cdf", "ranges"]))
def test_near_values_of_a_line_never_cost_more_than_all(theta: int, size: int, asked: str) -> None:
    values = {"x": {"integer": [0, size - 1]}}
    less, more = (planned({asked: "x"}, values, secrets={"x": one}) for one in ({"within": theta}, "everything"))
    assert less <= more * (1 + 1e-9)
