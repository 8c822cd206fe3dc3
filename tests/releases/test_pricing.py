"""What a release costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas
import polars as pl
import pytest
from tests.policies import public_policy
from tests.policy.test_build_attackers import CHAIN, read
from tests.releases.conftest import POLICY

import tetraodon as td
from tetraodon.certificate.correlated_records import certify_release
from tetraodon.cli.plan_words import notes
from tetraodon.errors import LedgerError, Refused
from tetraodon.ledger import Account, Entry, document_hash
from tetraodon.ledger.account import ADDS_UP, ALONE, JOINTLY
from tetraodon.ledger.charging import Bill
from tetraodon.policy.policy import Policy
from tetraodon.releases import pricing, run
from tetraodon.releases.pricing import (
    charge_for,
    governing_certificate,
    price_of_known,
    quote,
    reprice,
    terms,
)
from tetraodon.releases.report import baseline

# -- pricing ----------------------------------------------------------------------------------------
# What a release costs is decided by the policy that governs the data.


def account(**changes: Any) -> Account:
    document = td.load_policy({**POLICY, "release": [], **changes}).document
    return Account("survey", Fraction(10), Fraction(0), document, document_hash(document), "2026-01-01T00:00:00Z")


def asked(**changes: Any) -> td.Plan:
    return td.plan(td.load_policy({**POLICY, "release": [{"name": "h", "histogram": ["age"]}], **changes}))


def test_the_same_policy_charges_what_was_planned() -> None:
    plan = asked()
    assert governing_certificate(plan, account()).epsilon == plan.certificate.epsilon


def test_a_weaker_governing_policy_charges_less() -> None:
    plan = asked(release=[{"name": "t", "total": "age"}])
    narrower = account(secrets={**POLICY["secrets"], "age": {"within": 1}})
    assert governing_certificate(plan, narrower).epsilon == plan.certificate.epsilon / 2


def test_a_secret_presence_makes_a_known_total_infinitely_dear() -> None:
    with pytest.raises(td.errors.Refused, match="governs"):
        governing_certificate(asked(), account(presence="secret"))


def test_attributes_may_be_left_out_but_not_redeclared() -> None:
    few = {name: POLICY["attributes"][name] for name in ("age", "sex")}
    secrets = {name: POLICY["secrets"][name] for name in ("age", "sex")}
    assert governing_certificate(asked(attributes=few, secrets=secrets), account()).finite
    with pytest.raises(td.errors.Refused, match="declared otherwise"):
        governing_certificate(asked(attributes={**POLICY["attributes"], "age": {"integer": [19, 29]}}), account())


def test_a_price_is_worked_out_again_only_after_a_charge(ledger: td.Ledger, table: object) -> None:
    plan = asked(budget={"epsilon": "0.1"})
    for _ in range(2):
        td.release(plan, table, ledger=ledger)
    looked_at: list[str] = []

    class Watched(td.Ledger):
        def entries(self, dataset: str | None = None, **some: Any) -> tuple[Entry, ...]:
            looked_at.append(str(dataset))
            return ledger.entries(dataset, **some)

        def account(self, dataset: str) -> Account:
            return ledger.account(dataset)

    now = ledger.account("survey")
    price = terms(plan, governing_certificate(plan, now), now, Watched("unused.db")).price
    assert price is not None
    first = price(False)
    assert (price(False), looked_at) == (first, ["survey"])
    td.release(plan, table, ledger=ledger)
    assert price(True) == first  # the same questions again: what they lose adds up
    assert looked_at == ["survey", "survey"]


def test_a_plan_is_certified_once_under_a_governing_policy() -> None:
    plan = asked(release=[{"name": "t", "total": "age"}])
    narrower = account(secrets={**POLICY["secrets"], "age": {"within": 1}})
    first = governing_certificate(plan, account())
    assert governing_certificate(plan, account()) is first
    assert governing_certificate(plan, narrower).epsilon == Fraction(first.epsilon) / 2


def test_of_a_long_ledger_no_more_is_read_than_is_priced_together(
    ledger: td.Ledger, table: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where some of the newest are not priced together with others, all are read, as before."""
    monkeypatch.setattr(pricing, "MOST_TOGETHER", 2)
    plan = asked(budget={"epsilon": "0.1"})
    for _ in range(5):
        td.release(plan, table, ledger=ledger)
    now, read = ledger.account("survey"), list[tuple[int | None, int]]()

    def earlier(newest: int | None) -> tuple[Entry, ...]:
        found = ledger.entries("survey", up_to=4, newest=newest)
        read.append((newest, len(found)))
        return found

    charge = charge_for(plan, governing_certificate(plan, now), now, earlier)
    assert (charge.composition, read) == (ADDS_UP, [(3, 3)])
    assert [entry.id for entry in ledger.entries("survey", up_to=4, newest=3)] == [2, 3, 4]
    monkeypatch.setattr(Entry, "composition", property(lambda entry: ALONE if entry.id > 2 else ADDS_UP))
    charge_for(plan, governing_certificate(plan, now), now, earlier)
    assert read[1:] == [(3, 3), (None, 4)]


# -- quote ------------------------------------------------------------------------------------------
# What the ledger would say to a release is what it then says.


@pytest.fixture
def book(tmp_path: Path) -> Iterator[td.Ledger]:
    with td.Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open("survey", 1, td.load_policy(POLICY).document)
        yield ledger


def test_what_is_quoted_is_charged_and_then_refused(book: td.Ledger, table: pl.DataFrame) -> None:
    plan = asked(budget={"epsilon": 0.75})
    found = quote(plan, book)
    assert (found.charge, found.refusal) == (plan.epsilon, None)
    assert book.entries("survey") == ()
    td.release(plan, table, ledger=book)
    assert book.entries("survey")[0].charged == found.charge
    after = quote(plan, book)
    assert after.charge == found.charge
    with pytest.raises(td.errors.BudgetExhausted) as refused:
        td.release(plan, table, ledger=book)
    assert str(after.refusal) == str(refused.value)
    assert len(book.entries("survey")) == 1


def test_what_the_governing_policy_cannot_price_is_refused(book: td.Ledger, table: pl.DataFrame) -> None:
    plan = asked(secrets={**POLICY["secrets"], "age": "public"})
    found = quote(plan, book)
    assert found.charge is None
    with pytest.raises(td.errors.Refused) as refused:
        td.release(plan, table, ledger=book)
    assert str(found.refusal) == str(refused.value)


def test_a_dearer_governing_policy_decides_the_price(book: td.Ledger) -> None:
    plan = asked(release=[{"name": "t", "total": "age"}], secrets={**POLICY["secrets"], "age": {"within": 1}})
    found = quote(plan, book)
    assert found.charge is not None
    assert found.charge > plan.epsilon
    assert isinstance(found.refusal, td.errors.BudgetExhausted)


def test_where_losses_do_not_add_up_the_past_counts(tmp_path: Path) -> None:
    chained = read([{"chain": CHAIN}], release=[{"name": "h", "histogram": "on"}])
    table = pandas.DataFrame({"on": [True, False] * 50, "time": range(100)})
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("power", 5, chained.document)
        plan = td.plan(chained)
        for _ in range(2):
            found = quote(plan, book)
            td.release(plan, table, ledger=book)
            assert book.entries("power")[-1].charged == found.charge


def test_a_file_with_fewer_attributes_is_priced_by_the_worst_records_of_the_governing_one(
    book: td.Ledger, table: pl.DataFrame
) -> None:
    few, secrets = ({name: POLICY[part][name] for name in ("age", "sex")} for part in ("attributes", "secrets"))
    plan = asked(attributes=few, secrets=secrets)
    found = quote(plan, book)
    assert (found.charge, found.refusal) == (plan.epsilon, None)
    td.release(plan, table, ledger=book)
    [entry] = book.entries("survey")
    assert {"region"} <= set(entry.document["witness"][0])


# -- price of known ---------------------------------------------------------------------------------
# What knowing a table costs, said in words with the plan.

KNOWING = public_policy(
    attributes={"sex": ["F", "M"], "region": ["N", "S"], "age": {"integer": [0, 9]}},
    together="one attribute at a time",
    known=[{"marginal": ["sex", "region"]}],
    release=[{"name": "all", "histogram": ["sex", "region", "age"]}, {"name": "known", "histogram": ["sex"]}],
)


def test_a_known_table_multiplies_the_noise_by_its_size() -> None:
    plan = td.plan(td.load_policy(KNOWING))
    assert price_of_known(plan) == {"all": Fraction(4)}
    told = " ".join(notes(plan, None))
    assert "Because everybody knows the exact table by sex and region, the noise of all is 4 times larger than" in told
    assert plan["known"].mechanism == "exact"
    assert "buys nothing" not in told  # plain differential privacy would promise less here, not more
    assert "It takes nothing for known" in told
    words = baseline(plan["all"], plan.policy)
    assert "only. But it takes nothing for known" in words
    assert "about the same" not in words


def test_knowing_nothing_costs_nothing() -> None:
    plan = td.plan(td.load_policy({**KNOWING, "known": []}))
    assert set(price_of_known(plan).values()) == {1}
    assert "Because everybody knows" not in " ".join(notes(plan, None))
    still = {**KNOWING, "known": [{"count": "all"}], "release": [{"name": "ages", "histogram": ["age"]}]}
    assert "nothing costs more" in " ".join(notes(td.plan(td.load_policy(still)), None))


def test_gaussian_noise_of_several_items_has_its_price_too() -> None:
    items = [
        *KNOWING["release"],
        {"name": "older", "cdf": "age"},
        {"name": "sum", "total": "age", "by": ["sex"]},
    ]
    plan = td.plan(td.load_policy({**KNOWING, "budget": {"rho": 0.3}, "release": items}))
    assert plan.certificate.rho <= Fraction(3, 10)
    prices = price_of_known(plan)
    assert set(prices) == {"all", "older", "sum"}
    assert all(price > 1 for price in prices.values())
    assert "the noise of all is" in " ".join(notes(plan, None))
    still = {**KNOWING, "known": [{"count": "all"}], "budget": {"rho": 0.3}}
    plan = td.plan(td.load_policy(still))
    assert plan.certificate.exact
    assert set(price_of_known(plan).values()) == {1}


def test_what_would_be_exact_if_nothing_were_known() -> None:
    policy = {
        **KNOWING,
        "attributes": {"v": {"integer": [0, 3]}},
        "secrets": {"v": {"blocks": [[0, 1], [2, 3]]}},
        "together": "all at once",
        "known": [{"count": "v in (1, 2)"}],
        "release": [{"name": "blocks", "histogram": ["v"], "bins": {"v": [[0, 1], [2, 3]]}}],
    }
    told = " ".join(notes(td.plan(td.load_policy(policy)), None))
    assert "noise is needed for blocks, which would be exact if nothing were known." in told
    assert "nothing costs more" not in told


# -- charged first ----------------------------------------------------------------------------------
# A release for an owner is charged before anything reads the table, and tells them nothing of what goes wrong.


@pytest.fixture
def allotted(policy: td.Policy, ledger: td.Ledger) -> td.Ledger:
    ledger.allot(policy.dataset, "ann", 10)
    return ledger


def test_it_is_charged_to_its_owner(policy: td.Policy, table: pl.DataFrame, allotted: td.Ledger) -> None:
    td.release(td.plan(policy), table, ledger=allotted, owner="ann")
    (entry,) = allotted.entries(policy.dataset)
    assert (entry.owner, entry.state) == ("ann", "settled")
    assert allotted.allotments(policy.dataset)[0].spent == entry.charged == policy.epsilon


def test_the_charge_is_on_the_disk_before_the_table_is_read(
    policy: td.Policy, table: pl.DataFrame, allotted: td.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, real = [], run.count

    def looking(*args: object, **named: object) -> object:
        seen.append(len(allotted.entries(policy.dataset)))
        return real(*args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(run, "count", looking)
    for owner in ("", "ann"):
        td.release(td.plan(policy), table, ledger=allotted, owner=owner)
    assert seen == [0, 2]  # a curator's is counted first


def broken_tables(table: pl.DataFrame, folder: Path) -> dict[str, object]:
    (folder / "cut.parquet").write_bytes(b"PAR1")
    return {
        "empty": table.head(0),
        "a column less": table.drop("age"),
        "not there": str(folder / "gone.csv"),
        "damaged": str(folder / "cut.parquet"),
    }


@pytest.mark.parametrize("which", ["empty", "a column less", "not there", "damaged"])
def test_whatever_is_wrong_with_the_table_they_are_told_the_same(
    policy: td.Policy, table: pl.DataFrame, allotted: td.Ledger, tmp_path: Path, which: str
) -> None:
    plan, out = td.plan(policy), tmp_path / "out"
    with pytest.raises(td.errors.FailedAfterCharge) as told:
        td.release(plan, broken_tables(table, tmp_path)[which], ledger=allotted, out=out, owner="ann")
    assert str(told.value) == (
        "this release is charged, and could not be finished. Fix: ask your curator, who can finish it."
    )
    assert isinstance(told.value.__cause__, td.errors.TetraodonError)
    (entry,) = allotted.entries(policy.dataset)
    assert (entry.owner, entry.state) == ("ann", "reserved")
    td.release(plan, table, ledger=allotted, out=out, owner="ann", resume=True)
    (finished,) = allotted.entries(policy.dataset)
    assert (finished.id, finished.state) == (entry.id, "settled")


def test_what_is_refused_before_the_charge_says_why(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, tmp_path: Path
) -> None:
    with pytest.raises(td.errors.BudgetExhausted, match=r"nothing of data set .* is allotted to 'ann'"):
        td.release(td.plan(policy), table.head(0), ledger=ledger, out=tmp_path / "out", owner="ann")
    assert ledger.entries(policy.dataset) == ()
    assert ledger.refusals(policy.dataset) == ()
    assert not (tmp_path / ".out.pending").exists()


def test_only_its_owner_finishes_it(
    policy: td.Policy, table: pl.DataFrame, allotted: td.Ledger, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with pytest.raises(td.errors.FailedAfterCharge):
        td.release(td.plan(policy), table.head(0), ledger=allotted, out=out, owner="ann")
    with pytest.raises(td.errors.ReleaseError, match="another policy, plan or owner"):
        td.release(td.plan(policy), table, ledger=allotted, out=out, resume=True)


# -- joint charge -----------------------------------------------------------------------------------
# Charges that add up, charges that are computed together, and releases whose composition nobody knows.

TABLE = pandas.DataFrame(
    {"on": [True, False, True, True] * 25, "time": range(100), "home": [n // 3 for n in range(100)]}
)
ITEMS = [{"name": "h", "histogram": "on"}]


@pytest.fixture
def chained() -> Policy:
    return read([{"chain": CHAIN}], release=ITEMS)


def test_under_a_chain_the_joint_loss_is_charged(tmp_path: Path, chained: Policy) -> None:
    made = td.plan(chained)
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("power", 5, chained.document)
        for _ in range(3):
            td.release(made, TABLE, ledger=book)
        entries = book.entries("power")
        together = certify_release(chained, [m for item in made for m in item.measurements] * 3).epsilon
        assert sum(entry.charged for entry in entries) == together == book.account("power").charged
        assert entries[0].charged > entries[1].charged  # less than the sum of the losses
        assert {entry.composition for entry in entries} == {JOINTLY}
        assert reprice(book, chained).together.epsilon == together


def test_groups_add_up(tmp_path: Path) -> None:
    grouped = read([{"groups": "home", "at most": 2}], release=ITEMS)
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("power", 5, grouped.document)
        for _ in range(2):
            td.release(td.plan(grouped), TABLE, ledger=book)
        assert [entry.charged for entry in book.entries("power")] == [1, 1]
        assert {entry.composition for entry in book.entries("power")} == {ADDS_UP}


def test_at_most_so_many_rows_of_a_group_are_counted(tmp_path: Path) -> None:
    grouped = read([{"groups": "home", "at most": 2}], release=ITEMS, budget={"epsilon": 1000})
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("power", 1000, grouped.document)
        released = td.release(td.plan(grouped), TABLE, ledger=book)
    assert released["h"].columns["count"].sum() == 67  # 33 groups of three keep two each; the last has one


def test_what_cannot_be_read_again_is_refused(tmp_path: Path, chained: Policy) -> None:
    made = td.plan(chained)
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("power", 5, chained.document)
        td.release(made, TABLE, ledger=book)
        account, (entry,) = book.account("power"), book.entries("power")
        strange = replace(entry, document={**entry.document, "plan": {"views": []}})
        certificate = governing_certificate(made, account)
        with pytest.raises(Refused, match="how this release composes with entry 1"):
            charge_for(made, certificate, account, lambda _: [strange])


def test_a_release_priced_before_another_came_in_is_refused(tmp_path: Path, chained: Policy) -> None:
    made = td.plan(chained)
    with td.Ledger(tmp_path / "l.db") as book:
        account = book.open("power", 5, chained.document)
        charge = charge_for(made, governing_certificate(made, account), account, lambda _: book.entries("power"))
        assert charge.after == 0
        td.release(made, TABLE, ledger=book)
        item = {"policy": {}, "plan": {}, "certificate": made.certificate}
        with pytest.raises(LedgerError, match="while this one was priced"):
            book.reserve("power", Bill(asked=1, charged=charge.amount, after=charge.after, item=item))


def test_other_attackers_than_the_governing_ones_are_refused(tmp_path: Path, chained: Policy) -> None:
    alone = read(["independent"], release=ITEMS)
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("power", 5, chained.document)
        with pytest.raises(Refused, match="attackers"):
            td.release(td.plan(alone), TABLE, ledger=book)
        assert book.account("power").charged == Fraction(0)


def test_with_a_delta_there_is_one_release_under_a_chain(tmp_path: Path, chained: Policy) -> None:
    """What is released beside it, before or after, is refused: what they lose together is not known."""
    budget = {"epsilon": 1, "delta": "1e-6", "once": True}
    once = read([{"chain": CHAIN}], release=ITEMS, budget=budget)
    gaussian, pure = td.plan(once, noise="gaussian"), td.plan(chained)
    assert (gaussian.certificate.rho, gaussian.certificate.delta) == (None, once.delta)
    assert Fraction(99, 100) < gaussian.epsilon <= 1
    for first, second in ((gaussian, pure), (pure, gaussian), (gaussian, gaussian)):
        with td.Ledger(tmp_path / f"{id(first)}-{id(second)}.db") as book:
            book.open("power", 5, once.document, delta=once.delta)
            td.release(first, TABLE, ledger=book)
            assert book.account("power").charged == first.epsilon
            with pytest.raises(Refused, match="with Gaussian noise there is one release"):
                td.release(second, TABLE, ledger=book)
