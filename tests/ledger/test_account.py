"""Accounts: terms, amounts, documents, how they stand."""

from __future__ import annotations

import hashlib
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Select
from sqlalchemy.dialects import postgresql

import tetraodon as td
from tetraodon.errors import LedgerError
from tetraodon.ledger import Ledger, allotment
from tetraodon.ledger import charging as standing
from tetraodon.ledger.account import (
    LONGEST_NAME,
    Account,
    Entry,
    RecordedRefusal,
    ReleaseLoss,
    Reservation,
    dataset_name,
)
from tetraodon.ledger.amount import (
    MOST_DIGITS,
    amount,
    amount_from_text,
    amount_text,
    canonical_text,
    document_from_text,
    document_hash,
    exact_amount,
    shown_above,
    shown_below,
)
from tetraodon.ledger.charging import Bill, locked
from tetraodon.policy.load import load_policy
from tetraodon.releases.pricing import governing_policy

# -- account ----------------------------------------------------------------------------------------
# What the ledger remembers of a data set: its account, charges, and refusals that depended on the data.


NOW = "2025-01-01T00:00:00+00:00"


def entry(**changes: Any) -> Entry:
    fields = {"id": 1, "dataset": "adult", "asked": Fraction(1), "charged": Fraction(1)}
    return Entry(
        **{
            **fields,
            "state": "reserved",
            "when": NOW,
            "document": {"policy": {}, "plan": {}, "certificate": {}},
            **changes,
        }
    )


def test_both_states_can_be_kept() -> None:
    assert entry().state == "reserved"
    assert entry(state="settled", settled=NOW, manifest_hash="ab").manifest_hash == "ab"


@pytest.mark.parametrize(
    "changes",
    [{"state": "refunded"}, {"state": "settled"}, {"settled": NOW, "manifest_hash": "ab"}],
)
def test_a_state_that_we_would_not_write_is_damage(changes: dict[str, Any]) -> None:
    with pytest.raises(LedgerError, match="did not write"):
        entry(**changes)


def test_a_release_with_a_delta_states_its_rho_or_that_the_delta_is_its_own() -> None:
    delta = Fraction(1, 10**6)
    parts: dict[str, Any] = {"policy": {}, "plan": {}}
    counted = entry(delta=delta, document=parts | {"certificate": {"delta": str(delta), "rho_exact": "1/50"}})
    assert counted.loss == ReleaseLoss(Fraction(1), Fraction(1, 50))
    alone = entry(delta=delta, document=parts | {"certificate": {"delta": str(delta)}})
    assert alone.loss == ReleaseLoss(Fraction(1), delta=delta)
    for damaged in ({}, {"delta": "1/1000"}):
        with pytest.raises(LedgerError, match="did not write"):
            assert entry(delta=delta, document=parts | {"certificate": damaged}).loss


@pytest.mark.parametrize("part", ["asked", "charged"])
@pytest.mark.parametrize("number", [Fraction(-1), 0.5])
def test_amounts_are_checked(part: str, number: object) -> None:
    with pytest.raises(LedgerError, match=r"negative|exact"):
        entry(**{part: number})
    fields: dict[str, Any] = {"asked": Fraction(1), "charged": Fraction(1), part: number}
    with pytest.raises(LedgerError, match=r"negative|exact"):
        Reservation(1, "adult", when=NOW, **fields)


@pytest.mark.parametrize("kind", ["no-convergence", "table_error", "refused"])
def test_a_kind_is_a_word(kind: str) -> None:
    assert RecordedRefusal("adult", kind, NOW).kind == kind


@pytest.mark.parametrize("kind", ["", "17 rows", "rows-17", "Bad", "a b", "a-", "-a", "a\n", "x" * 41])
def test_a_kind_cannot_carry_detail(kind: str) -> None:
    with pytest.raises(LedgerError, match="not a fixed word"):
        RecordedRefusal("adult", kind, NOW)


def account(total: Fraction = Fraction(1), charged: Fraction = Fraction(0), digest: str = "") -> Account:
    return Account("adult", total, charged, {}, digest or document_hash({}), "2025-01-01T00:00:00+00:00")


def test_left_is_exact() -> None:
    assert account(charged=Fraction(1, 3)).left == Fraction(2, 3)


def test_it_can_be_hashed_although_a_policy_cannot() -> None:
    assert len({account(), account()}) == 1


def test_a_negative_total_is_refused() -> None:
    with pytest.raises(LedgerError, match="total is negative"):
        account(total=Fraction(-1))


def test_negative_charges_are_refused() -> None:
    with pytest.raises(LedgerError, match="sum of charges"):
        account(charged=Fraction(-1))


def test_a_policy_other_than_the_hashed_one_is_refused() -> None:
    with pytest.raises(LedgerError, match="does not match its hash"):
        account(digest=document_hash({"a": 1}))


@pytest.mark.parametrize("name", ["adult", "Haushalte 2025", "人口", "a/b:c", "x" * LONGEST_NAME])
def test_ordinary_names_are_kept(name: str) -> None:
    assert dataset_name(name) == name


@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb", "a\x00", "\ud800", "x" * (LONGEST_NAME + 1)])
def test_names_that_cannot_be_told_apart_or_shown_are_refused(name: str) -> None:
    with pytest.raises(LedgerError, match="cannot be kept"):
        dataset_name(name)


def test_a_name_is_text() -> None:
    with pytest.raises(LedgerError, match="not text"):
        dataset_name(3)  # type: ignore[arg-type]


def test_the_governing_policy_is_understood_once() -> None:
    document = {"dataset": "d", "attributes": {"x": ["a", "b"]}, "budget": {"epsilon": 1}}
    first = Account("d", Fraction(1), Fraction(0), document, document_hash(document), "")
    again = Account("d", Fraction(2), Fraction(1), dict(reversed(document.items())), document_hash(document), "")
    assert governing_policy(first) == load_policy(document)
    assert governing_policy(again) is governing_policy(first)


# -- amount -----------------------------------------------------------------------------------------


amounts = st.fractions(min_value=0)
# Up to the limit and in lowest terms or not: what a certificate may come up with.
long_amounts = st.builds(
    Fraction,
    st.integers(0, 10**MOST_DIGITS - 1),
    st.integers(1, 10**MOST_DIGITS - 1),
)


@given(amounts | long_amounts)
def test_text_loses_nothing(exact: Fraction) -> None:
    assert amount_from_text(amount_text(amount(exact, name="it"))) == exact


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0.1",
        "-1",
        "1/0",
        "2/6",
        "+1",
        " 1",
        "1 ",
        "01",
        "1e3",
        "inf",
        "nan",
        "1/-3",
        "1/1",
        "٣",
        "1\n",
        pytest.param("9" * 5000, id="long"),
    ],
)
def test_text_that_we_would_not_write_is_damage(text: str) -> None:
    with pytest.raises(LedgerError, match="did not write"):
        amount_from_text(text)


def test_whole_numbers_are_amounts() -> None:
    assert amount(0, name="it") == 0
    assert type(amount(2, name="it")) is Fraction


@pytest.mark.parametrize("number", [0.1, 1.0, math.nan, True, "1/3", Decimal("0.1"), None])
def test_what_may_have_been_rounded_is_refused(number: object) -> None:
    with pytest.raises(LedgerError, match="the charge is not an exact number"):
        amount(number, name="the charge")


def test_infinite_is_refused_with_its_own_remedy() -> None:
    with pytest.raises(LedgerError, match=r"infinite.*Fix: change the policy or the plan"):
        amount(math.inf, name="the charge")


def test_negative_is_refused() -> None:
    with pytest.raises(LedgerError, match="negative"):
        amount(Fraction(-1, 10**9), name="the charge")


@pytest.mark.parametrize("exact", [Fraction(10**MOST_DIGITS), Fraction(1, 10**MOST_DIGITS)])
def test_too_long_to_print_is_refused(exact: Fraction) -> None:
    with pytest.raises(LedgerError, match="digits"):
        amount(exact, name="the charge")


@given(amounts | long_amounts)
def test_what_is_shown_errs_on_the_safe_side(exact: Fraction) -> None:
    assert Fraction(shown_below(exact)) <= exact <= Fraction(shown_above(exact))


def test_a_sum_too_long_to_print_can_still_be_shown() -> None:
    long = Fraction(1, 3**10000)
    assert shown_above(1 + long) == "1.000000000001"
    assert shown_below(1 - long) == "0.999999999999"


# -- document ---------------------------------------------------------------------------------------


text = st.text(st.characters(exclude_categories=["Cs"]))
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
values = st.recursive(leaves, lambda v: st.lists(v) | st.dictionaries(text, v), max_leaves=8)
documents = st.dictionaries(text, values, max_size=4)


@given(documents)
def test_a_document_reads_back_as_it_was(document: dict[str, object]) -> None:
    kept = canonical_text(document)
    assert document_from_text(kept) == document
    assert canonical_text(document_from_text(kept)) == kept


def test_order_and_kind_of_mapping_do_not_matter() -> None:
    one = {"a": [1, 2], "b": {"d": 1, "c": 2}}
    other = MappingProxyType({"b": MappingProxyType({"c": 2, "d": 1}), "a": (1, 2)})
    assert canonical_text(one) == canonical_text(other)


def test_the_hash_is_of_the_text() -> None:
    assert document_hash({"é": 1}) == hashlib.sha256('{"é":1}'.encode()).hexdigest()


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, Fraction(1, 3), {1: "a"}, {"a", "b"}, b"a", "\ud800", object(), [10**5000]],
)
def test_what_json_would_change_is_refused(value: object) -> None:
    with pytest.raises(LedgerError, match="JSON cannot keep"):
        canonical_text({"a": [value]})


def test_a_document_inside_itself_is_refused() -> None:
    document: dict[str, object] = {}
    document["itself"] = document
    with pytest.raises(LedgerError, match="JSON cannot keep"):
        canonical_text(document)


def test_only_mappings_are_documents() -> None:
    with pytest.raises(LedgerError, match="not a mapping"):
        canonical_text([1])  # type: ignore[arg-type]


@pytest.mark.parametrize("kept", ["", "[1]", "{", "null", pytest.param("[" * 100_000, id="deep")])
def test_text_that_we_would_not_write_is_damage_of_document(kept: str) -> None:
    with pytest.raises(LedgerError, match="did not write"):
        document_from_text(kept)


# -- opening terms ----------------------------------------------------------------------------------
# A data set is opened with the numbers and policies that people have in hand.


DOCUMENT: dict[str, Any] = {"dataset": "d", "attributes": {"x": ["a", "b"]}, "budget": {"epsilon": 1}}


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("12.35", Fraction(247, 20)),
        (0.5, Fraction(1, 2)),
        (0.1, Fraction(1, 10)),
        (Decimal("0.1"), Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        (2, Fraction(2)),
        (Fraction(1, 3), Fraction(1, 3)),
    ],
)
def test_numbers_mean_what_was_written(tmp_path: Path, given: Any, meant: Fraction) -> None:
    assert exact_amount(given, "the total") == meant
    with td.Ledger(tmp_path / "l.db") as ledger:
        assert ledger.open("d", given, DOCUMENT).total == meant


@pytest.mark.parametrize("given", [-1, "-0.5", float("inf"), float("nan"), "much", True, None, "1e999999999", 10**1001])
def test_what_is_no_amount_is_refused(given: Any) -> None:
    with pytest.raises(LedgerError, match="the total"):
        exact_amount(given, "the total")


def test_delta_is_exact_too(tmp_path: Path) -> None:
    with td.Ledger(tmp_path / "l.db") as ledger:
        assert ledger.open("d", "12.35", DOCUMENT, delta=1e-6).delta == Fraction(1, 10**6)
        with pytest.raises(LedgerError, match="not a probability"):
            ledger.open("e", 1, DOCUMENT, delta=1)


def test_a_policy_its_path_and_its_document_do(tmp_path: Path) -> None:
    policy = td.load_policy(DOCUMENT)
    (tmp_path / "d.policy.yaml").write_text("dataset: d\nattributes: {x: [a, b]}\nbudget: {epsilon: 1}\n")
    given: list[Any] = [policy, policy.document, tmp_path / "d.policy.yaml", str(tmp_path / "d.policy.yaml")]
    for one in given:
        with td.Ledger(tmp_path / "l.db") as ledger:
            assert ledger.open("d", 1, one).policy == policy.document
    with td.Ledger(tmp_path / "l.db") as ledger, pytest.raises(td.errors.TetraodonError):
        ledger.open("d", 1, str(tmp_path / "missing.yaml"))


# -- standing ---------------------------------------------------------------------------------------
# How accounts stand, and the lock that whoever charges takes first.


Item = dict[str, object]


def test_an_account_stands_as_it_was_corrected_and_charged(ledger: Ledger, item: Item) -> None:
    ledger.correct("adult", 3)
    ledger.reserve("adult", Bill(asked=1, charged=Fraction(1, 3), item=item))
    account = ledger.account("adult")
    assert (account.total, account.charged, account.left) == (3, Fraction(1, 3), Fraction(8, 3))
    assert (account.spent.pure, account.spent.last) == (Fraction(1, 3), 1)
    with pytest.raises(LedgerError, match=r"'adlt' was never opened.*did you mean 'adult'\?"):
        ledger.account("adlt")


def test_a_server_locks_the_account_first() -> None:
    assert str(locked("adult").compile(dialect=postgresql.dialect())).endswith("FOR UPDATE")


def test_the_account_is_locked_and_then_the_allotment(
    ledger: Ledger, item: Item, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []

    def watched(name: str) -> Select[Any]:
        taken.append(name)
        return locked(name)

    real = allotment.allotment_of

    def allotted(*args: Any, lock: bool = False) -> Any:
        taken.extend(["ann"] if lock else [])
        return real(*args, lock=lock)

    ledger.allot("adult", "ann", 1)
    monkeypatch.setattr(standing, "locked", watched)
    monkeypatch.setattr(allotment, "allotment_of", allotted)
    ledger.check("adult", Bill(asked=1, charged=1, item=item, owner="ann"))
    assert taken == []
    ledger.reserve("adult", Bill(asked=1, charged=1, item=item, owner="ann"))
    assert taken == ["adult", "ann"]
