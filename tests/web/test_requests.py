"""Requests: made once, decided once, within allotment and total, and answered at the end of their slot."""

from __future__ import annotations

import threading

from tests.web.conftest import ITEMS, World

BODY = {"items": ITEMS, "epsilon": "1", "purpose": "to know"}
PATH = "/v1/datasets/people/requests"


def test_the_same_key_makes_one_request_however_often_and_at_once(open_world: World) -> None:
    found: list[str] = []

    def send() -> None:
        made = open_world.call("ann", "POST", PATH, BODY, 202, **{"Idempotency-Key": "same"})
        found.append(made["id"])

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1
    assert open_world.told().count("requested") == 1
    open_world.call("ann", "POST", PATH, BODY | {"purpose": "other"}, 409, **{"Idempotency-Key": "same"})
    open_world.call("ann", "POST", PATH, BODY, 400)
    other = open_world.call("amy", "POST", PATH, BODY, 202, **{"Idempotency-Key": "same"})
    assert other["id"] not in found


def test_an_allotment_is_not_exceeded_and_the_total_wins_over_allotments(open_world: World) -> None:
    """ann and amy may use 2 each, of 3 in all: together they get 3."""
    plan = open_world.call("ann", "POST", "/v1/datasets/people/plan", {"items": ITEMS, "epsilon": "2.5"})
    assert (plan["fits"], plan["allotment_left"]) == (False, "2")
    open_world.call("ann", "POST", PATH, BODY | {"epsilon": "2.5"}, 409, **{"Idempotency-Key": "a"})
    keys = [open_world.asked(name, key=name, epsilon="2", approve=False) for name in ("ann", "amy")]
    open_world.approve(keys[0])
    open_world.clock.ahead += 1  # jobs approved at the same moment are taken in the order of their random ids
    open_world.approve(keys[1])
    worker = open_world.worker()
    assert worker.step()
    assert worker.step()
    open_world.clock.ahead += 10
    assert open_world.state_of(keys[0])["state"] == "done"
    refused = open_world.state_of(keys[1], "amy")
    assert (refused["state"], refused["error"]["type"]) == ("refused", "BudgetExhausted")
    assert open_world.context.ledger.account("people").charged == 2
    assert not (open_world.context.releases / keys[1]).exists()


def test_a_decision_is_final(open_world: World) -> None:
    key = open_world.asked(approve=False)
    assert open_world.call("cora", "POST", f"/v1/requests/{key}/reject")["state"] == "refused"
    open_world.call("carl", "POST", f"/v1/requests/{key}/approve", expect=409)
    told = open_world.state_of(key)
    assert (told["state"], told["decided_by"], told["ready_at"]) == ("refused", "cora", None)
    assert not open_world.worker().step()


def test_a_clock_that_is_set_back_tells_later_and_one_set_forward_nothing_that_is_not_there(open_world: World) -> None:
    key = open_world.asked()
    open_world.clock.ahead += 30
    assert open_world.state_of(key)["state"] == "running"  # the worker has not come to it
    open_world.clock.ahead -= 60
    assert open_world.worker().step()
    assert open_world.state_of(key)["state"] == "running"
    open_world.clock.ahead += 30 + 10
    assert open_world.state_of(key)["state"] == "done"
