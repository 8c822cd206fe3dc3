"""Response timing: the budget shown to analysts changes at an approval and at the end of its slot, and never else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.services import needs_postgres
from tests.web.conftest import ITEMS, POLICY, PROPOSAL, World
from tests.web.test_pages import browser
from tests.web.test_worker import fresh_database

import tetraodon as td
from tetraodon.web.response_timing import SLOTS, public_at, slot_of

PLAN = "/v1/datasets/people/plan"


def seen(world: World, name: str) -> list[Any]:
    """All that an analyst can read about money, by every way there is."""
    found = world.call(name, "GET", "/v1/datasets/people")
    plans = [world.call(name, "POST", PLAN, {"items": ITEMS, "epsilon": price}) for price in ("0.5", "2")]
    page = world.http.get("/datasets/people", headers=browser(world, name)).text
    own = world.call(name, "GET", "/v1/requests")["requests"]
    remote = td.connect(world.origin, token=world.tokens[name]).dataset("people").quote(ITEMS, epsilon="0.5")
    told = [(one["ledger"], one["charge"], one["fits"], one["allotment_left"]) for one in (*plans, remote)]
    return [found["left"], found["allotment"], told, page[page.index("Of a total") :].partition("</p>")[0], own]


def left(world: World) -> Any:
    return world.call("amy", "GET", "/v1/datasets/people")["left"]


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=needs_postgres)])
def test_nothing_moves_when_a_job_begins_or_ends(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No figure, and no plan has to be worked out anew, which takes longer; nor does the release tell when it began."""
    world = World(tmp_path, fresh_database() if kind == "postgres" else "").opened()
    before = seen(world, "amy")
    assert before[0] == "3"
    key = world.asked(approve=False)
    assert seen(world, "amy") == before
    world.call("carl", "POST", f"/v1/requests/{key}/approve")
    approved, hers = seen(world, "amy"), seen(world, "ann")
    assert (approved[0], approved[1]["left"], hers[1]["left"]) == ("2", "2", "1")
    assert "1 is taken until" in approved[3]
    assert "taken" not in before[3]
    assert world.worker().step()
    assert world.context.ledger.account("people").left == 2
    monkeypatch.setattr("tetraodon.web.limited_process.LimitedProcess.run", None)  # nothing can be worked out any more
    assert seen(world, "amy") == approved
    assert seen(world, "ann") == hers
    [entry] = world.context.ledger.entries("people")
    folder = world.context.releases / key
    assert all(entry.when[:16] not in path.read_text(errors="replace") for path in folder.rglob("*.*"))
    world.clock.ahead += 10
    assert left(world) == approved[0]
    world.close()


def test_an_uncharged_amount_returns_at_the_end_of_the_slot(open_world: World) -> None:
    world = open_world
    world.sources.write_text("others: x.csv\n")
    world.asked()
    assert left(world) == "2"
    assert world.worker().step()
    assert left(world) == "2"
    world.clock.ahead += 10
    assert left(world) == "3"


def test_the_largest_possible_charge_counts_until_the_end_of_the_slot(world: World) -> None:
    """Of two releases about other people the second costs nothing, beside one that may be known; never is more told to
    be left than there is.
    """
    policy = POLICY | {"secrets": {"age": {"within": 5}, "sex": "public"}, "presence": "public"}
    world.call("carl", "POST", "/v1/datasets", PROPOSAL | {"policy": policy}, 201)
    world.call("cora", "POST", "/v1/datasets/people/open")
    for name in ("ann", "amy"):
        world.call("carl", "PUT", f"/v1/datasets/people/allotments/{name}", {"amount": "3"})
    bodies = [
        {"items": [{"name": sex, "histogram": "age", "where": f"sex = '{sex}'"}], "epsilon": 1, "purpose": "p"}
        for sex in ("Female", "Male")
    ]
    path, keys = "/v1/datasets/people/requests", []
    for number, body in enumerate(bodies):
        made = world.call("ann", "POST", path, body, 202, **{"Idempotency-Key": str(number)})
        keys.append(made["id"])
        world.call("carl", "POST", f"/v1/requests/{made['id']}/approve")
    told = [left(world)]
    for _ in keys:
        assert world.worker().step()
        told.append(left(world))
        plan = {key: bodies[0][key] for key in ("items", "epsilon")}
        assert world.call("amy", "POST", PLAN, plan)["charge"] == "1"  # no earlier one may be known yet
    assert told == ["1"] * 3
    assert world.context.ledger.account("people").charged == 1
    world.clock.ahead += 10
    assert left(world) == "2"


def test_approved_requests_count_as_spent_for_others(open_world: World) -> None:
    world = open_world
    world.asked(epsilon="2")
    plan = world.call("amy", "POST", PLAN, {"items": ITEMS, "epsilon": "1.5"})
    assert (plan["fits"], plan["allotment_left"], plan["ledger"]["left"]) == (False, "1", "1")
    body = {"items": ITEMS, "epsilon": "1.5", "purpose": "to know"}
    error = world.call("amy", "POST", "/v1/datasets/people/requests", body, 409, **{"Idempotency-Key": "k"})["error"]
    assert error["type"] == "BudgetExhausted"
    assert "has 1 left of 3" in error["what"]
    assert "counts as spent" in error["fix"]


# -- slots -----------------------------------------------------------------------------------------


def test_the_slot_grows_with_the_declared_rows_and_the_cells() -> None:
    plan = td.plan(POLICY | {"release": ITEMS})
    assert [slot_of(plan, rows) for rows in (1, 1000, 5_000_000, 10**9)] == [10, 10, 60, 600]
    wide = POLICY | {"attributes": {"pay": {"integer": [0, 499_999]}}, "secrets": {"pay": {"within": 9}}}
    assert slot_of(td.plan(wide | {"release": [{"name": "pays", "histogram": "pay"}]}), 1) == 60


@pytest.mark.parametrize("slot", SLOTS)
def test_an_answer_is_public_at_the_end_of_its_slot(slot: int) -> None:
    begins = 0
    for late, end in enumerate([*(one for one in SLOTS if one >= slot), 1200, 1800, 2400]):
        for finished in (begins + 0.001, (begins + end) / 2, float(end)):
            assert public_at(100.0, slot, 100 + finished) == (100 + end, late)
        begins = end
