"""Data sets: one curator proposes, another opens, and the total cannot be raised."""

from __future__ import annotations

from tests.web.conftest import ITEMS, POLICY, PROPOSAL, World


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


def test_a_total_cannot_be_raised(open_world: World) -> None:
    open_world.call("carl", "POST", "/v1/datasets", PROPOSAL | {"total": "30"}, 409)
    assert open_world.context.ledger.account("people").total == 3
    found = open_world.call("carl", "PUT", "/v1/datasets/people/allotments/ann", {"amount": "100"})
    assert (found["amount"], found["left"]) == ("100", "3")


def test_a_name_that_the_ledger_has_with_other_terms_is_not_opened(world: World) -> None:
    world.context.ledger.open("people", 1, POLICY)
    world.call("carl", "POST", "/v1/datasets", PROPOSAL, 201)
    error = world.call("cora", "POST", "/v1/datasets/people/open", expect=409)["error"]
    assert "already open" in error["what"]
    assert world.context.ledger.account("people").total == 1


IMPOSSIBLE: tuple[dict[str, object], ...] = (
    {"curators": ["carl"]},
    {"curators": ["ann"]},
    {"curators": ["nobody"]},
    {"total": "-1"},
    {"total": "inf"},
    {"policy": POLICY | {"dataset": "a/b"}},
    {"policy": POLICY | {"population": "a/b"}},
    {"policy": "x"},
    {"rows": 0},
)


def test_proposals_that_cannot_be(world: World) -> None:
    for change in IMPOSSIBLE:
        world.call("carl", "POST", "/v1/datasets", PROPOSAL | change, 422)
    assert world.call("carl", "GET", "/v1/datasets")["datasets"] == []


def test_an_analyst_sees_only_their_own_allotments(open_world: World) -> None:
    open_world.context.accounts.add("root", "abe", "analyst", "")
    open_world.call("carl", "PUT", "/v1/datasets/people/allotments/cora", {"amount": 1}, 404)
    found = open_world.call("ann", "GET", "/v1/datasets/people")
    assert found["allotment"]["user"] == "ann"
    assert "curators" not in found
    open_world.call(
        "carl", "PUT", "/v1/datasets/people/allotments/ann", {"amount": 1, "expires": "2020-01-01T00:00:00Z"}
    )
    assert open_world.call("ann", "GET", "/v1/datasets/people")["allotment"]["left"] == "0"


def wave(name: str, **more: object) -> dict[str, object]:
    return PROPOSAL | {"policy": POLICY | {"dataset": name, "population": "panel"}} | more


def test_waves_of_a_population_have_one_total_and_one_allotment(world: World) -> None:
    world.sources.write_text(f"jan: {world.table}\nfeb: {world.table.with_name('feb.csv')}\n")
    world.table.with_name("feb.csv").write_bytes(world.table.read_bytes())
    for name in ("jan", "feb"):
        world.call("carl", "POST", "/v1/datasets", wave(name), 201)
        world.call("cora", "POST", f"/v1/datasets/{name}/open")
    world.call("carl", "PUT", "/v1/datasets/jan/allotments/ann", {"amount": "2"})
    body = {"items": ITEMS, "epsilon": "1.5", "purpose": "to know"}
    made = world.call("ann", "POST", "/v1/datasets/feb/requests", body, 202, **{"Idempotency-Key": "k"})
    world.call("cora", "POST", f"/v1/requests/{made['id']}/approve")
    assert world.call("ann", "GET", "/v1/datasets/jan")["left"] == "1.5"  # what is approved of one is taken from all
    assert world.worker().step()
    assert world.call("ann", "GET", "/v1/datasets/jan")["left"] == "1.5"
    world.clock.ahead += 700
    assert world.state_of(made["id"])["state"] == "done"
    for name in ("jan", "feb"):
        found = world.call("ann", "GET", f"/v1/datasets/{name}")
        assert (found["left"], found["allotment"]["left"]) == ("1.5", "0.5")
    world.call("ann", "POST", "/v1/datasets/jan/requests", body, 409, **{"Idempotency-Key": "k2"})
    assert [entry.wave for entry in world.context.ledger.entries("panel")] == ["feb"]


def test_the_account_of_a_population_has_no_other_name(world: World) -> None:
    world.call("carl", "POST", "/v1/datasets", wave("jan"), 201)
    world.call("cora", "POST", "/v1/datasets/jan/open")
    for others in (["cora", "cyd"], ["cyd"]):  # more curators, or others, would allot what is not theirs
        world.call("carl", "POST", "/v1/datasets", wave("feb", curators=others), 409)
    world.call("cyd", "POST", "/v1/datasets", wave("feb", curators=["carl", "cora"]), 409)
    world.call("cyd", "POST", "/v1/datasets", PROPOSAL | {"policy": POLICY | {"dataset": "panel"}}, 409)
    strange = {"policy": POLICY | {"dataset": "mar", "population": "jan"}}
    world.call("cyd", "POST", "/v1/datasets", PROPOSAL | strange, 409)
    world.call("carl", "POST", "/v1/datasets", wave("feb", total="30"), 201)
    error = world.call("cora", "POST", "/v1/datasets/feb/open", expect=409)["error"]
    assert "already open with another total" in error["what"]
    assert world.context.ledger.account("jan").total == 3
