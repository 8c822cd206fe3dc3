"""Data sets: opened by another curator than proposed them, with a total that nobody can raise."""

from __future__ import annotations

from tests.server.conftest import POLICY, PROPOSAL, World


def test_it_takes_two_curators_to_open_a_data_set(world: World) -> None:
    world.call("carl", "POST", "/v1/datasets", PROPOSAL, 201)
    assert world.call("carl", "GET", "/v1/datasets/people")["left"] is None
    world.call("carl", "POST", "/v1/datasets/people/open", expect=403)
    world.call("cyd", "POST", "/v1/datasets/people/open", expect=404)
    world.call("carl", "PUT", "/v1/datasets/people/allotments/ann", {"amount": 1}, 409)
    world.call("carl", "POST", "/v1/datasets/people/plan", {"items": [{"name": "n", "count": "all"}]}, 409)
    assert world.call("cora", "POST", "/v1/datasets/people/open")["state"] == "open"
    world.call("cora", "POST", "/v1/datasets/people/open", expect=409)
    assert world.told()[-2:] == ["proposed", "opened"]


def test_nobody_raises_a_total(open_world: World) -> None:
    open_world.call("carl", "POST", "/v1/datasets", PROPOSAL | {"total": "30"}, 409)
    assert open_world.office.ledger.account("people").total == 3
    found = open_world.call("carl", "PUT", "/v1/datasets/people/allotments/ann", {"amount": "100"})
    assert (found["amount"], found["left"]) == ("100", "3")


def test_a_name_that_the_ledger_has_with_other_terms_is_not_opened(world: World) -> None:
    world.office.ledger.open("people", 1, POLICY)
    world.call("carl", "POST", "/v1/datasets", PROPOSAL, 201)
    error = world.call("cora", "POST", "/v1/datasets/people/open", expect=409)["error"]
    assert "already open" in error["what"]
    assert world.office.ledger.account("people").total == 1


IMPOSSIBLE: tuple[dict[str, object], ...] = (
    {"curators": ["carl"]},
    {"curators": ["ann"]},
    {"curators": ["nobody"]},
    {"total": "-1"},
    {"total": "inf"},
    {"policy": POLICY | {"dataset": "a/b"}},
    {"policy": POLICY | {"population": "all"}},
    {"policy": "x"},
    {"rows": 0},
)


def test_proposals_that_cannot_be(world: World) -> None:
    for change in IMPOSSIBLE:
        world.call("carl", "POST", "/v1/datasets", PROPOSAL | change, 422)
    assert world.call("carl", "GET", "/v1/datasets")["datasets"] == []


def test_an_analyst_sees_what_is_allotted_to_them_alone(open_world: World) -> None:
    open_world.office.accounts.add("root", "abe", "analyst", "")
    open_world.call("carl", "PUT", "/v1/datasets/people/allotments/cora", {"amount": 1}, 404)
    found = open_world.call("ann", "GET", "/v1/datasets/people")
    assert found["allotment"]["user"] == "ann"
    assert "curators" not in found
    open_world.call(
        "carl", "PUT", "/v1/datasets/people/allotments/ann", {"amount": 1, "expires": "2020-01-01T00:00:00Z"}
    )
    assert open_world.call("ann", "GET", "/v1/datasets/people")["allotment"]["left"] == "0"
