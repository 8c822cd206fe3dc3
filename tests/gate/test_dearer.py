"""What the governing policy makes dearer than asked is refused with both figures, before any charge, unless allowed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.gate.ways import ATTRIBUTES, PLAN, POLICY, TABLE, VIEW

import tetraodon as td
from tetraodon.errors import Refused
from tetraodon.gate import ReleaseTransaction, Terms, require_not_dearer
from tetraodon.ledger.charging import Bill
from tetraodon.releases.codec import plan_document
from tetraodon.releases.pricing import quote
from tetraodon.views.plan import plan_view
from tetraodon.views.publish import quote_view

NARROW = {"secrets": {"age": {"within": 2}, "nation": "public", "score": "public"}}
ASKED = {**POLICY, **NARROW, "release": [{"name": "years", "total": "age"}]}
NARROW_VIEW = {**VIEW, "presence": "public"}
WAYS = {
    "release": lambda **given: td.release(td.plan(ASKED), TABLE, **given),
    "view": lambda **given: td.publish(NARROW_VIEW, TABLE, accept_exposure=True, **given),
    "perturbed": lambda **given: td.perturb({**POLICY, **NARROW}, TABLE, epsilon=1, **given),
}
GOVERNING = {
    "release": {**POLICY, "secrets": {**NARROW["secrets"], "age": {"within": 4}}},
    "view": {"dataset": "people", "attributes": ATTRIBUTES, "budget": {"epsilon": 1}, "presence": "public"},
    "perturbed": {**POLICY, "secrets": {**NARROW["secrets"], "age": {"within": 4}}},
}

FIGURES = {
    "release": r"costs epsilon 2, and its own file asks for 1\. Fix: pass --allow-dearer",
    "perturbed": r"costs epsilon 0\.66\d*, and its own file asks for 0\.33\d*\. Fix: pass --allow-dearer",
}


def book(tmp_path: Path, way: str) -> td.Ledger:
    ledger = td.Ledger(tmp_path / "ledger.db")
    ledger.open("people", Fraction(100), GOVERNING[way])
    return ledger


@pytest.mark.parametrize("way", ["release", "perturbed"])
def test_it_is_refused_with_both_figures_unless_allowed(tmp_path: Path, way: str) -> None:
    with book(tmp_path, way) as ledger:
        with pytest.raises(td.errors.Refused, match=FIGURES[way]):
            WAYS[way](ledger=ledger, out=tmp_path / "out")
        assert ledger.entries("people") == ()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.db", "ledger.key"]
        WAYS[way](ledger=ledger, out=tmp_path / "out", allow_dearer=True)
        (entry,) = ledger.entries("people")
        assert (round(entry.charged / entry.asked, 9), entry.state) == (2, "settled")


def test_views_too(tmp_path: Path) -> None:
    """A view is asked for its own loss. Where the governing policy has other secrets, its price there may be higher."""
    own = plan_view(td.load_policy(NARROW_VIEW))
    with book(tmp_path, "view") as ledger:
        found = quote_view(own, ledger)
        assert found.charge == own.loss
        assert found.refusal is None
    secret = {**GOVERNING["view"], "presence": "secret"}
    public = {**VIEW, "presence": "secret", "secrets": dict.fromkeys(ATTRIBUTES, "public")}
    asked = plan_view(td.load_policy(public))
    with td.Ledger(tmp_path / "other.db") as ledger:
        ledger.open("people", 100, secret)
        found = quote_view(asked, ledger)
        assert found.charge is not None
        assert found.charge > asked.loss
        assert "asks for" in str(found.refusal)
        with pytest.raises(td.errors.Refused, match="asks for"):
            td.publish(public, TABLE, ledger=ledger, out=tmp_path / "view", accept_exposure=True)
        assert ledger.entries("people") == ()
        td.publish(public, TABLE, ledger=ledger, out=tmp_path / "view", accept_exposure=True, allow_dearer=True)
        assert ledger.entries("people")[0].charged == found.charge


def test_before_the_table_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def counted(*_: Any) -> None:
        raise AssertionError("the table was counted")

    monkeypatch.setattr("tetraodon.releases.run.count", counted)
    with book(tmp_path, "release") as ledger, pytest.raises(td.errors.Refused, match="asks for 1"):
        WAYS["release"](ledger=ledger)


def test_a_plan_tells_it(tmp_path: Path) -> None:
    with book(tmp_path, "release") as ledger:
        found = quote(td.plan(ASKED), ledger)
        assert found.charge == 2
        assert "costs epsilon 2, and its own file asks for 1" in str(found.refusal)
        assert quote(PLAN, ledger).refusal is None


def test_what_was_charged_is_finished_without_asking_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with book(tmp_path, "release") as ledger:
        with monkeypatch.context() as patch:
            patch.setattr("tetraodon.gate.output_folder.Pending.draft", _stopped)
            with pytest.raises(KeyboardInterrupt):
                WAYS["release"](ledger=ledger, out=tmp_path / "out", allow_dearer=True)
        WAYS["release"](ledger=ledger, out=tmp_path / "out", resume=True)
        assert [(entry.charged, entry.state) for entry in ledger.entries("people")] == [(2, "settled")]


def test_only_what_is_dearer_is_refused() -> None:
    require_not_dearer(Bill(1, 1, {}), "people")
    require_not_dearer(Bill(1, 0, {}), "people")
    with pytest.raises(td.errors.Refused, match=r"'people' .* 1\.1, .* asks for 1"):
        require_not_dearer(Bill(1, Fraction(11, 10), {}), "people")


def _stopped(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_certificate_below_an_independent_computation_is_refused_before_the_charge(tmp_path: Path) -> None:
    """Whatever kernel made it: the verifier reads policy and plan, and finds the loss of their worst pair itself."""
    policy = {
        "dataset": "people",
        "presence": "public",
        "attributes": {"age": {"integer": [0, 9]}},
        "budget": {"epsilon": 1},
        "release": [{"name": "ages", "histogram": "age"}],
    }
    plan = td.plan(policy)
    document = plan_document(plan)
    low = {**document, "certificate": {**document["certificate"], "epsilon": 0.5, "epsilon_exact": "0.5"}}
    with td.Ledger(tmp_path / "ledger.db") as book:
        book.open("people", 10, policy)
        with ReleaseTransaction(book, "people", request="low") as way, pytest.raises(Refused, match="independent"):
            way.spend(Terms(plan.certificate, Fraction(1), plan.policy.document, low))
        assert book.account("people").charged == 0
        with ReleaseTransaction(book, "people", request="right") as way:
            way.spend(Terms(plan.certificate, Fraction(1), plan.policy.document, document))
        assert book.account("people").charged == 1
