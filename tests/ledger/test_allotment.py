"""Allotments: leave to spend, which sets nothing aside; the total of the data set wins."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.ledger.certificates import FREE, gaussian, pure
from tests.ledger.conftest import at_once
from tests.ledger.test_postgres import address as address  # the fixture
from tests.services import needs_postgres

import tetraodon as td
from tetraodon.errors import BudgetExhausted, LedgerError
from tetraodon.ledger import Ledger
from tetraodon.ledger.allotment import (
    Allotment,
    check_wave,
    governing_document,
    join,
    population_in,
    standing_for,
    waves_of,
)
from tetraodon.ledger.charging import Bill
from tetraodon.ledger.database import Database

ITEM = {"policy": {}, "plan": {}, "certificate": FREE}
HALF, TENTH = Fraction(1, 2), Fraction(1, 10)
SOON = datetime(2999, 1, 1, tzinfo=UTC)


def spend(ledger: Ledger, amount: Fraction | int, owner: str = "") -> None:
    ledger.reserve("adult", Bill(asked=amount, charged=amount, item=ITEM, owner=owner))


def test_an_owner_spends_their_allotment_and_no_more(ledger: Ledger) -> None:
    made = ledger.allot("adult", "ann", HALF, SOON)
    assert (made.amount, made.spent, made.expires) == (HALF, 0, "2999-01-01T00:00:00.000000+00:00")
    spend(ledger, Fraction(2, 5), "ann")
    assert ledger.left("adult", "ann") == TENTH
    for use in (ledger.reserve, ledger.check):
        with pytest.raises(BudgetExhausted, match=r"costs epsilon 0\.2, and the allotment of 'ann'.* has 0\.1 left"):
            use("adult", Bill(asked=1, charged=Fraction(1, 5), item=ITEM, owner="ann"))
    spend(ledger, TENTH, "ann")
    assert (ledger.left("adult", "ann"), ledger.left("adult")) == (0, HALF)
    assert [entry.owner for entry in ledger.entries("adult")] == ["ann", "ann"]
    assert ledger.audit().holds


def test_who_has_none_spends_nothing_and_a_curator_needs_none(ledger: Ledger) -> None:
    with pytest.raises(BudgetExhausted, match=r"nothing of data set 'adult' is allotted to 'bob'.*Fix: ask a curator"):
        spend(ledger, 0, "bob")
    assert ledger.left("adult", "bob") == 0
    spend(ledger, HALF)
    assert ledger.left("adult") == HALF


def test_allotments_may_be_more_than_the_total_which_wins(ledger: Ledger) -> None:
    for owner in ("ann", "bob", "eve"):
        ledger.allot("adult", owner, Fraction(4, 5))
    spend(ledger, Fraction(4, 5), "ann")
    assert ledger.left("adult", "bob") == Fraction(1, 5)
    with pytest.raises(BudgetExhausted, match=r"data set 'adult' has 0\.2 left of 1"):
        spend(ledger, HALF, "bob")
    spend(ledger, Fraction(1, 5), "eve")
    assert [ledger.left("adult", owner) for owner in ("ann", "bob", "eve")] == [0, 0, 0]
    assert {one.owner: one.spent for one in ledger.allotments("adult")} == {
        "ann": Fraction(4, 5),
        "bob": 0,
        "eve": Fraction(1, 5),
    }


def test_a_new_one_takes_the_place_of_the_old_and_what_was_spent_stays(ledger: Ledger) -> None:
    ledger.allot("adult", "ann", HALF)
    spend(ledger, Fraction(2, 5), "ann")
    assert ledger.allot("adult", "ann", TENTH).left("2026") == 0
    with pytest.raises(BudgetExhausted):
        spend(ledger, TENTH, "ann")
    ledger.allot("adult", "ann", "0.9")
    assert ledger.left("adult", "ann") == HALF
    assert [(one.owner, one.amount) for one in ledger.allotments("adult")] == [("ann", Fraction(9, 10))]


def test_one_that_has_expired_is_worth_nothing(ledger: Ledger) -> None:
    ledger.allot("adult", "ann", HALF, datetime.now(UTC) - timedelta(seconds=1))
    assert ledger.left("adult", "ann") == 0
    with pytest.raises(BudgetExhausted, match="has 0 left"):
        spend(ledger, TENTH, "ann")
    found = Allotment("adult", "ann", HALF, Fraction(0), "2026-06-01", "2026-01-01")
    assert (found.left("2026-05-31"), found.left("2026-06-01")) == (HALF, 0)


def test_with_gaussian_noise_owners_pay_what_they_add(ledger: Ledger) -> None:
    """Losses do not add up one by one; what everybody pays does add up to what is spent."""
    delta = Fraction(1, 10**6)
    certificate = gaussian(delta)
    ledger.open("births", 9, {}, delta=delta)
    for owner in ("ann", "bob"):
        ledger.allot("births", owner, 9)
    for owner in ("ann", "bob", "ann"):
        item = {**ITEM, "certificate": certificate}
        ledger.reserve("births", Bill(asked=9, charged=Fraction(certificate.epsilon), item=item, owner=owner))
    ann, bob = ledger.allotments("births")
    assert ann.spent + bob.spent == ledger.account("births").charged
    assert ann.spent > bob.spent > 0
    assert ledger.audit().holds


def test_waves_of_a_population_share_one(ledger: Ledger) -> None:
    for wave in ("jan", "feb"):
        ledger.open("jan", 1, {"dataset": "jan", "population": "panel"})
        ledger.allot("panel", "ann", HALF)
        item = {**ITEM, "policy": {"dataset": wave, "population": "panel"}, "certificate": pure(Fraction(1, 5))}
        ledger.reserve("panel", Bill(asked=1, charged=Fraction(1, 5), item=item, owner="ann"))
    assert ledger.left("jan", "ann") == ledger.left("panel", "ann") == TENTH


@pytest.mark.parametrize(
    ("owner", "amount", "expires", "words"),
    [
        ("", 1, None, "the name of the owner cannot be kept"),
        ("a\nb", 1, None, "the name of the owner cannot be kept"),
        (7, 1, None, "the name of the owner is not text"),
        ("ann", -1, None, "the allotment is negative"),
        ("ann", "some", None, "the allotment"),
        ("ann", 1, datetime(2026, 1, 1), "is no moment"),
        ("ann", 1, "2026", "is no moment"),
    ],
)
def test_what_is_no_allotment_is_refused(
    ledger: Ledger, owner: str, amount: int, expires: datetime | None, words: str
) -> None:
    with pytest.raises(LedgerError, match=words):
        ledger.allot("adult", owner, amount, expires)
    assert ledger.allotments("adult") == ()


def test_nothing_is_allotted_of_what_was_never_opened(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="never opened"):
        ledger.allot("births", "ann", 1)


# -- population --------------------------------------------------------------------------------------
# People who stay: data sets about them share one total and one governing policy, whoever releases from which.

OLD = Path(__file__).parent.parent / "data" / "0.1" / "ledger.db"
BASE: dict[str, Any] = {
    "population": "panel",
    "presence": "public",
    "attributes": {"pay": {"integer": [0, 9]}, "sex": ["f", "m"]},
    "together": "one attribute at a time",
    "budget": {"epsilon": "1/2"},
    "release": [{"name": "pays", "histogram": "pay"}],
}
TABLE = pl.DataFrame({"pay": [1, 2, 3] * 20, "sex": ["f", "m", "f"] * 20})


def policy(wave: str, **changes: Any) -> dict[str, Any]:
    return {"dataset": wave, **BASE, **changes}


def bill(wave: str, charged: Fraction | int, population: str = "panel") -> Bill:
    document = {"dataset": wave, "population": population} if population else {"dataset": wave}
    return Bill(asked=1, charged=charged, item={"policy": document, "plan": {}, "certificate": FREE})


@pytest.fixture
def panel(path: Path) -> Any:
    with Ledger(path) as ledger:
        ledger.open("jan", 1, td.load_policy(policy("jan")))
        yield ledger


def test_waves_share_one_total_and_one_governing_policy(panel: Ledger) -> None:
    account = panel.account("panel")
    assert (account.dataset, account.total, account.policy["dataset"]) == ("panel", 1, "panel")
    assert "population" not in account.policy
    for wave in ("jan", "feb"):
        td.release(policy(wave), TABLE, ledger=panel)
    assert panel.account("panel").left == 0
    assert panel.account("feb") == panel.account("panel")
    assert [(entry.dataset, entry.wave) for entry in panel.entries("panel")] == [("panel", "jan"), ("panel", "feb")]
    assert panel.waves("panel") == ("jan", "feb")
    with pytest.raises(BudgetExhausted, match="'panel' has 0 left of 1"):
        td.release(policy("mar"), TABLE, ledger=panel)
    assert panel.waves("panel") == ("jan", "feb")
    assert panel.audit().holds


def test_losses_of_waves_add_up_although_no_step_of_one_table_is_the_worst_for_both(panel: Ledger) -> None:
    """In one table no step moves pay and sex at once. In two tables a person may have changed one in each."""
    sexes = [{"name": "sexes", "histogram": "sex"}]
    together = td.plan(policy("jan", release=[*BASE["release"], *sexes]))
    assert together.epsilon == Fraction(1, 2)
    td.release(policy("jan"), TABLE, ledger=panel)
    td.release(policy("feb", release=sexes), TABLE, ledger=panel)
    assert panel.account("panel").charged == 1


def test_the_governing_policy_prices_every_wave(panel: Ledger) -> None:
    public = policy("feb", secrets={"pay": "public"})
    with pytest.raises(td.errors.Refused, match="tell for certain"):
        td.release(public, TABLE, ledger=panel)
    assert panel.account("panel").charged == 0


def test_a_folder_says_which_wave_and_whose_total(panel: Ledger, tmp_path: Path) -> None:
    td.release(policy("feb"), TABLE, ledger=panel, out=tmp_path / "out")
    assert all(check.passed for check in td.verify(tmp_path / "out"))
    path = tmp_path / "out" / "release.json"
    manifest = json.loads(path.read_text())
    assert (manifest["ledger"]["dataset"], manifest["ledger"]["population"]) == ("feb", "panel")
    manifest["ledger"]["population"] = "other"
    path.write_text(json.dumps(manifest))
    failed = [check.what for check in td.verify(tmp_path / "out") if not check.passed]
    assert "the ledger's entry fits the manifest" in failed


def test_views_and_perturbed_tables_are_waves_too(panel: Ledger, tmp_path: Path) -> None:
    td.perturb(policy("feb"), TABLE, epsilon="1/4", ledger=panel, out=tmp_path / "perturbed")
    view = policy(
        "mar", budget={"epsilon": 50}, adversary={"prior": {"d": "0.2"}, "posterior": 0.5, "records": 60}, release=[]
    )
    with pytest.raises(td.errors.LedgerError, match="'panel' has"):
        td.publish(view, TABLE, ledger=panel, out=tmp_path / "view", accept_exposure=True)
    assert [(entry.wave, entry.charged) for entry in panel.entries("panel")] == [("feb", Fraction(1, 4))]


def test_a_data_set_belongs_to_one_account(panel: Ledger) -> None:
    with pytest.raises(LedgerError, match=r"'jan' is a wave of the population 'panel'.*population: panel"):
        panel.open("jan", 5, {"dataset": "jan"})
    with pytest.raises(LedgerError, match=r"'jan' is a wave of the population 'panel'.*population: panel"):
        panel.reserve("jan", bill("jan", 0, population=""))
    panel.open("alone", 5, {"dataset": "alone"})
    for use in (panel.reserve, panel.check):
        with pytest.raises(LedgerError, match="'alone' has a total of its own"):
            use("panel", bill("alone", 0))
    panel.open("x", 5, {"dataset": "x", "population": "others"})
    for use in (panel.reserve, panel.check):
        with pytest.raises(LedgerError, match=r"'x' is a wave of another population than 'panel'.*population: others"):
            use("panel", bill("x", 0))
        with pytest.raises(LedgerError, match="'y' is a wave of 'others', and not of 'panel'"):
            use("panel", bill("y", 0, population="others"))
    with pytest.raises(LedgerError, match="'jan' is itself a wave of 'panel'"):
        panel.open("z", 5, {"dataset": "z", "population": "jan"})
    assert panel.entries() == ()
    assert panel.audit().holds


def test_opening_for_a_further_wave_changes_nothing_or_is_refused(panel: Ledger) -> None:
    before = panel.account("panel")
    assert panel.open("feb", 1, td.load_policy(policy("feb"))) == before
    assert panel.waves("panel") == ("jan", "feb")
    with pytest.raises(
        LedgerError, match=r"'panel' is already open with another total.*further wave .* needs no opening"
    ):
        panel.open("mar", 2, td.load_policy(policy("mar")))
    assert panel.waves("panel") == ("jan", "feb")


def test_a_release_of_a_wave_is_found_and_refusals_are_kept_by_its_name(panel: Ledger) -> None:
    panel.reserve("jan", bill("jan", Fraction(1, 4)))
    assert len(panel.entries("jan")) == len(panel.entries("panel")) == 1
    panel.record_refusal("jan", "table-refused")
    assert len(panel.refusals("jan")) == len(panel.refusals("panel")) == 1


def test_repricing_is_of_one_wave(panel: Ledger) -> None:
    for wave in ("jan", "feb"):
        td.release(policy(wave), TABLE, ledger=panel)
    found = td.reprice(panel, policy("feb"))
    assert [one.id for one in found.releases] == [2]
    assert found.together.epsilon == Fraction(1, 2)


@pytest.mark.parametrize("attackers", [[{"groups": "home", "at most": 2}]])
def test_dependent_people_are_refused(attackers: Any) -> None:
    with pytest.raises(td.errors.Refused, match="what waves lose together is not known"):
        td.load_policy(policy("jan", attackers=attackers))


def test_a_population_is_not_called_as_its_wave() -> None:
    with pytest.raises(td.errors.PolicyError, match="name of this data set"):
        td.load_policy(policy("panel"))
    read = td.load_policy(policy("jan"))
    assert (read.account, read.population) == ("panel", "panel")
    assert td.load_policy(read.document) == read
    assert td.load_policy({**policy("jan"), "population": "p"}) != read
    assert "one wave of the population panel" in " ".join(td.explain(read).text.split())


def test_the_parts_one_by_one(panel: Ledger) -> None:
    assert (population_in({}), population_in({"population": "p"})) == ("", "p")
    alone = {"dataset": "d"}
    assert governing_document(alone) == alone
    assert governing_document({"dataset": "d", "population": "p"}) == {"dataset": "p"}
    database: Database = panel._database
    with database.writing() as connection:
        assert standing_for(connection, "jan") == "panel"
        assert check_wave(connection, "panel", {"dataset": "feb", "population": "panel"}) == "feb"
        join(connection, "panel", {"dataset": "feb", "population": "panel"}, "2026-01-01")
        assert set(waves_of(connection, "panel")) == {"jan", "feb"}


def test_an_old_ledger_is_read_as_it_is_and_takes_waves_once_it_is_written(path: Path) -> None:
    shutil.copy(OLD, path)
    path.chmod(0o600)
    with Ledger(path) as ledger:
        before = path.read_bytes()
        assert ledger.waves("people") == ledger.corrections("people") == ()
        assert ledger.account("people").charged == 3
        assert path.read_bytes() == before
        ledger.open("jan", 1, td.load_policy(policy("jan")))
        assert ledger.waves("panel") == ("jan",)
        assert ledger.audit().holds


def test_a_ledger_of_version_two_gets_what_it_lacks(panel: Ledger, path: Path) -> None:
    raw = sqlite3.connect(path)
    raw.executescript(
        "DROP TRIGGER chain_keep; DELETE FROM chain WHERE kind = 'joined'; DROP TABLE waves; DROP TABLE corrections;"
        "DROP TABLE running; DROP TABLE allotments;"
        "UPDATE meta SET value = '2' WHERE key = 'version'"
    )
    raw.close()
    assert panel.waves("panel") == ()
    assert panel.account("panel").left == 1
    td.release(policy("feb"), TABLE, ledger=panel)
    assert panel.waves("panel") == ("feb",)


def test_a_total_is_corrected_while_nothing_is_spent(panel: Ledger) -> None:
    panel.correct("panel", 3)
    assert panel.account("jan").total == 3
    panel.correct("panel", 3)
    panel.correct("jan", "2.5", delta=1e-6)
    assert [(one.total, one.delta) for one in panel.corrections("panel")] == [
        (3, 0),
        (Fraction(5, 2), Fraction(1, 10**6)),
    ]
    assert panel.open("jan", "2.5", td.load_policy(policy("jan")), delta=1e-6).left == Fraction(5, 2)
    assert panel.audit().holds
    panel.reserve("panel", bill("jan", 2))
    with pytest.raises(BudgetExhausted, match=r"0\.5 left of 2\.5"):
        panel.reserve("panel", bill("jan", 1))
    with pytest.raises(LedgerError, match="was released from already, so its total stands"):
        panel.correct("panel", 30)
    with pytest.raises(LedgerError, match="never opened"):
        panel.correct("other", 1)
    assert len(panel.corrections("panel")) == 2


def test_a_correction_that_was_taken_out_shows(panel: Ledger, path: Path) -> None:
    panel.correct("panel", 3)
    raw = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="only ever added to"):
        raw.execute("UPDATE corrections SET total = '9'")
    raw.executescript("DROP TRIGGER corrections_keep; DELETE FROM corrections")
    raw.close()
    assert any("corrected" in problem for problem in panel.audit().problems)


SPENDING = """
import sys
from fractions import Fraction
from tetraodon.errors import BudgetExhausted
from tetraodon.ledger import Ledger
from tetraodon.ledger.charging import Bill
from tests.ledger.certificates import FREE
wave = sys.argv[2]
item = {"policy": {"dataset": wave, "population": "panel"}, "plan": {}, "certificate": FREE}
ledger, won = Ledger(sys.argv[1]), 0
print("ready", flush=True)
sys.stdin.readline()
for _ in range(8):  # 24 tries for 20 places: none is left out
    try:
        ledger.reserve("panel", Bill(asked=1, charged=Fraction(1, 10), item=item))
        won += 1
    except BudgetExhausted:
        pass
print(won)
"""

RELEASING = """
import sys
import tetraodon as td
from tests.ledger.test_allotment import TABLE, policy
plan = td.plan(policy(sys.argv[2]))
print("ready", flush=True)
sys.stdin.readline()
try:
    td.release(plan, TABLE, ledger=sys.argv[1])
    print(1)
except td.errors.BudgetExhausted:
    print(0)
"""


def together(start: Callable[..., Any], script: str, place: object) -> int:
    """How often processes that spend on three waves at once were let through."""
    return sum(map(int, at_once([start(script, place, wave) for wave in ("jan", "feb", "mar")])))


def test_waves_at_once_never_overspend(panel: Ledger, path: Path, start: Callable[..., Any]) -> None:
    panel.correct("panel", 2)
    assert together(start, SPENDING, path) == 20
    assert panel.account("panel").left == 0
    assert set(panel.waves("panel")) == {"jan", "feb", "mar"}
    assert panel.audit().holds


def test_releases_of_waves_at_once_never_overspend(panel: Ledger, path: Path, start: Callable[..., Any]) -> None:
    assert together(start, RELEASING, path) == 2
    assert panel.account("panel").left == 0
    assert {entry.state for entry in panel.entries("panel")} == {"settled"}


@needs_postgres
def test_on_a_server_too(address: str, start: Callable[..., Any]) -> None:
    with Ledger(address) as ledger:
        ledger.open("jan", 1, td.load_policy(policy("jan")))
        ledger.correct("panel", 2)
        assert together(start, SPENDING, address) == 20
        assert ledger.account("mar").left == 0
        assert set(ledger.waves("panel")) == {"jan", "feb", "mar"}
        with pytest.raises(LedgerError, match="its total stands"):
            ledger.correct("panel", 3)
        assert ledger.audit().holds
