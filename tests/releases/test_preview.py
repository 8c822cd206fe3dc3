"""A preview is the plan, whatever changed before it and whatever was remembered."""

from random import Random
from typing import Any

import pytest

import tetraodon as td
from benchmarks.edits import KINDS, demo, edit, edits, ten_attributes
from tetraodon.releases import proposals as best_proposal
from tetraodon.releases.codec import plan_document


def figures(plan: td.Plan) -> object:
    """All that a plan says: what is measured and with which noise, every error and every certificate."""
    told = [(i.item, i.scale, i.certificate, i.expected_error, i.baseline_error, i.baseline.name) for i in plan]
    return plan_document(plan), plan.certificate, plan.policy, told


@pytest.mark.parametrize("base", [demo(), ten_attributes()], ids=["demo", "ten"])
def test_a_preview_is_the_plan_after_any_change(base: dict[str, Any]) -> None:
    last, seen = td.plan(base), set()
    for kind, changed in edits(base, 20, seed=11):
        last = td.preview(changed, previous=last)
        assert figures(last) == figures(td.plan(changed))
        seen.add(kind)
    assert seen == {*KINDS}


SMALL = {
    "dataset": "d",
    "presence": "public",
    "attributes": {"x": {"integer": [0, 11]}, "y": {"integer": [0, 4]}, "g": ["a", "b", "c"]},
    "secrets": {"x": {"within": 2}, "g": "public"},
    "budget": {"epsilon": 1},
    "release": [
        {"name": "xs", "ranges": "x"},
        {"name": "both", "histogram": ["x", "y"]},
        {"name": "some", "cdf": "x", "where": "y > 1"},
        {"name": "few", "count": "x < 3 and g = 'a'"},
    ],
}
UNLIKE: dict[str, dict[str, Any]] = {
    "presence": {"presence": "secret"},
    "delta": {"budget": {"epsilon": 1, "delta": 1e-6}},
    "rho": {"budget": {"rho": 0.5}},
    "rows": {"individuals": {"key": "id", "at most": 2}},
    "together": {"together": {"at most": 2}},
    "secrets elsewhere": {"secrets": {"x": {"within": 2}, "y": {"within": 1}, "g": "public"}},
    "domain": {"attributes": {"x": {"integer": [1, 12]}, "y": {"integer": [0, 4]}, "g": ["a", "b", "c"]}},
    "groups": {"groups": {"by": "g", "rules": {"a": {"secrets": {"x": "everything"}}, "b": "none"}}},
    "error": {"release": [{**SMALL["release"][0], "error": {"within": 1000}}]},  # type: ignore[dict-item]
    "known": {"known": [{"marginal": ["g"]}], "release": SMALL["release"][:1]},  # type: ignore[index]
    "attackers": {"attackers": [{"groups": "family", "at most": 2}]},
}


@pytest.mark.parametrize("change", UNLIKE, ids=list(UNLIKE))
def test_nothing_is_taken_from_a_plan_with_another_promise(change: str) -> None:
    """There and back again, so that both sides are remembered when the other is looked for."""
    base, last = dict(SMALL), td.plan(SMALL)
    changed = base | UNLIKE[change]
    for now in (changed, base, changed):
        last = td.preview(now, previous=last)
        assert figures(last) == figures(td.plan(now))


def test_what_did_not_change_is_not_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first = td.plan(SMALL)
    looked: list[str] = []
    whole = best_proposal.offered
    monkeypatch.setattr(
        best_proposal, "offered", lambda item, *a, **k: looked.append(item.name) or whole(item, *a, **k)
    )
    second = td.preview({**SMALL, "budget": {"epsilon": 2}}, previous=first)
    assert looked == []
    td.preview({**SMALL, "secrets": {"x": {"within": 2}, "y": {"within": 1}, "g": "public"}}, previous=second)
    assert {*looked} == {"both", "some"}  # who looks at y
    looked.clear()
    td.preview(SMALL)
    assert {*looked} == {"xs", "both", "some", "few"}


def test_no_more_is_remembered_than_of_the_plan_before() -> None:
    base, last = dict(SMALL), td.plan(SMALL)
    for theta in (3, 4, 5):
        now = base | {"secrets": {"x": {"within": theta}, "g": "public"}}
        last = td.preview(now, previous=last)
        alone = td.plan(now)._offers
        assert last._offers.found.keys() == alone.found.keys()
        assert last._offers.names.keys() == alone.names.keys()
        assert last._offers.before is not None
        assert last._offers.before.before is None


def test_changes_are_one_of_each_kind_and_leave_the_policy_as_it_was() -> None:
    base = ten_attributes()
    changed = {edit(base, Random(seed))[0] for seed in range(60)}
    assert changed == {*KINDS}
    assert base == ten_attributes()
