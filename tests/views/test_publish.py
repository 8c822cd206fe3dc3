"""Publishing from end to end: what is charged, what is written, what is refused and what a crash leaves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import polars
import pytest

import tetraodon as td
from tetraodon.engine import DataRefusal
from tetraodon.releases.folder import file_hash
from tetraodon.releases.pricing import reprice
from tetraodon.views.channel import CopyChannel, SetChannel
from tetraodon.views.plan import plan_view
from tetraodon.views.publish import quote_view

POLICY: dict[str, Any] = {
    "dataset": "people",
    "attributes": {"age": {"integer": [20, 39]}, "nation": ["A", "B", "I"], "score": {"integer": [81, 100]}},
    "budget": {"epsilon": 20},
    "adversary": {"prior": {"k": 2}, "posterior": 0.5, "records": 120},
}


def people(count: int = 120) -> polars.DataFrame:
    return polars.DataFrame(
        {
            "age": [20 + i * 7 % 20 for i in range(count)],
            "nation": ["ABI"[i * i % 3] for i in range(count)],
            "score": [81 + i * 11 % 20 for i in range(count)],
        }
    )


@pytest.fixture
def book(tmp_path: Path) -> Iterator[td.Ledger]:
    with td.Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open("people", 10, td.load_policy(POLICY).document)
        yield ledger


def test_what_is_quoted_is_charged(tmp_path: Path, book: td.Ledger) -> None:
    policy = td.load_policy(POLICY)
    plan = plan_view(policy)
    found = quote_view(plan, book)
    assert (found.charge, found.refusal) == (plan.loss, None)
    while quote_view(plan, book).refusal is None:
        td.publish(policy, people(), ledger=book, accept_exposure=True, out=tmp_path / "view", force=True)
    assert all(entry.charged == found.charge for entry in book.entries("people"))
    with pytest.raises(td.errors.BudgetExhausted) as refused:
        td.publish(policy, people(), ledger=book, accept_exposure=True, out=tmp_path / "view", force=True)
    assert str(refused.value) == str(quote_view(plan, book).refusal)
    other = plan_view(td.load_policy({**POLICY, "attributes": {**POLICY["attributes"], "age": {"integer": [20, 49]}}}))
    assert isinstance(quote_view(other, book).refusal, td.errors.Refused)


def test_a_view_is_charged_written_and_read_back(tmp_path: Path, book: td.Ledger) -> None:
    policy, stages = td.load_policy(POLICY), []
    view = td.publish(
        policy, people(), ledger=book, accept_exposure=True, out=tmp_path / "view", progress=stages.append
    )
    [entry] = book.entries("people")
    plan = plan_view(policy)
    assert entry.charged == plan.loss == plan.channel.loss_replace
    assert entry.state == "settled"
    assert entry.manifest_hash == file_hash(tmp_path / "view" / "view.json")
    assert stages == ["counting", "charging the ledger", "adding noise", "writing the report"]
    assert (view.channel, view.n, view.name) == (plan.channel, 120, "people")
    assert isinstance(view.channel, CopyChannel)
    rows = polars.read_parquet(view.rows)
    assert rows.columns == ["age", "nation", "score"]
    assert rows.equals(polars.read_csv(tmp_path / "view" / "tuples.csv"))
    manifest = json.loads((tmp_path / "view" / "view.json").read_text())
    assert manifest["tuples"] == len(rows)
    for name, digest in manifest["files"].items():
        assert file_hash(tmp_path / "view" / name) == digest
    assert td.load_view(tmp_path / "view") == view
    assert td.load_policy(tmp_path / "view" / "policy.yaml") == policy


def test_the_rows_are_sorted_so_their_order_tells_nothing(tmp_path: Path, book: td.Ledger) -> None:
    view = td.publish(td.load_policy(POLICY), people(), ledger=book, accept_exposure=True, out=tmp_path / "view")
    rows = polars.read_parquet(view.rows)
    cells = [view.domain.cell(row) for row in rows.iter_rows()]
    assert cells == sorted(cells)


def test_the_script_estimates_like_the_channel(tmp_path: Path, book: td.Ledger) -> None:
    view = td.publish(td.load_policy(POLICY), people(), ledger=book, accept_exposure=True, out=tmp_path / "view")
    script = (tmp_path / "view" / "estimate.sql").read_text()
    with duckdb.connect() as connection:
        connection.execute(script.replace("tuples.parquet", str(view.rows)))
        found, error, n_v = connection.execute(
            """SELECT estimate(v, d), standard_error(v, d), v FROM
            (SELECT count(*) AS v FROM people WHERE score < 3 * age),
            (SELECT count(*) * 3 AS d FROM "values of age", "values of score" WHERE score < 3 * age)"""
        ).fetchall()[0]
    assert found == pytest.approx(float(view.channel.estimate(n_v, 549)))
    assert error == pytest.approx(float(view.channel.variance(max(Fraction(found), Fraction(0)), 549)) ** 0.5)


def test_distinct_rows_and_an_adversary_in_python(tmp_path: Path, book: td.Ledger) -> None:
    adversary = td.research.Adversary(k=2, gamma="0.5", records=60, rows="distinct")
    table = people().unique()
    view = td.publish(
        td.load_policy(POLICY), table, adversary=adversary, ledger=book, accept_exposure=True, out=tmp_path / "view"
    )
    assert isinstance(view.channel, SetChannel)
    rows = polars.read_parquet(view.rows)
    assert len(rows.unique()) == len(rows)
    doubled = polars.concat([table, table])
    with pytest.raises(DataRefusal, match="repeats rows"):
        td.publish(
            td.load_policy(POLICY),
            doubled,
            adversary=adversary,
            ledger=book,
            accept_exposure=True,
            out=tmp_path / "other",
        )
    assert len(book.entries("people")) == 1
    assert [refusal.kind for refusal in book.refusals("people")] == ["table-refused"]


def test_a_domain_that_does_not_cover_the_data_costs_nothing(tmp_path: Path, book: td.Ledger) -> None:
    table = people().with_columns(age=polars.lit(17))
    with pytest.raises(DataRefusal, match="do not cover") as caught:
        td.publish(td.load_policy(POLICY), table, ledger=book, accept_exposure=True, out=tmp_path / "view")
    assert "17" not in str(caught.value)
    assert not book.entries("people")
    assert not (tmp_path / "view").exists()


def test_what_stands_for_missing_and_other_values_is_honoured(tmp_path: Path, book: td.Ledger) -> None:
    table = people().with_columns(
        age=polars.when(polars.col("age") == 20).then(17).otherwise(polars.col("age")),
        nation=polars.when(polars.col("nation") == "A").then(polars.lit("Z")).otherwise(polars.col("nation")),
        score=polars.when(polars.col("score") == 81).then(None).otherwise(polars.col("score")),
    )
    with pytest.raises(DataRefusal) as caught:
        td.publish(POLICY, table, ledger=book, accept_exposure=True, out=tmp_path / "view")
    assert str(caught.value) == (
        "attributes: the declared values do not cover the data, and a view would show what nobody has: "
        "age (outside), nation (outside), score (missing or unreadable). "
        "Fix: declare every value, or what stands for the rest, with `missing:` and `other:`."
    )
    said = {
        "age": {"integer": [20, 39], "other": 20},
        "nation": {"categories": ["A", "B", "I"], "other": "A"},
        "score": {"integer": [81, 100], "missing": 81},
    }
    governed = {**POLICY, "dataset": "said", "attributes": said}
    book.open("said", 10, td.load_policy(governed).document)
    view = td.publish(governed, table, ledger=book, accept_exposure=True, out=tmp_path / "view")
    assert view.n == 120


def test_a_table_without_the_known_counts_costs_nothing(tmp_path: Path, book: td.Ledger) -> None:
    known = [{"count": "nation = 'B'", "is": 80}, {"marginal": "nation", "is": [40, 80, 0]}]
    for wrong in (0, 1):
        answers = [{**known[0], "is": 81}, {**known[1], "is": [41, 79, 0]}]
        policy = td.load_policy({**POLICY, "dataset": f"d{wrong}", "known": [answers[wrong]]})
        book.open(policy.dataset, 10, policy.document)
        with pytest.raises(DataRefusal, match="does not have the counts") as caught:
            td.publish(policy, people(), ledger=book, accept_exposure=True, out=tmp_path / "view")
        assert "80" not in str(caught.value)
        assert not book.entries(policy.dataset)
    policy = td.load_policy({**POLICY, "dataset": "right", "known": known})
    book.open("right", 100, policy.document)
    td.publish(policy, people(), ledger=book, accept_exposure=True, out=tmp_path / "view")


def test_public_presence_makes_the_number_public(tmp_path: Path, book: td.Ledger) -> None:
    said = {**POLICY, "presence": "public", "adversary": {"prior": {"k": 2}, "posterior": 0.5}}
    with pytest.raises(td.errors.Refused, match="number of records is public here and a secret"):
        td.publish(td.load_policy(said), people(), ledger=book, accept_exposure=True, out=tmp_path / "view")
    assert book.account("people").charged == 0
    with td.Ledger(tmp_path / "public.db") as public:
        public.open("people", 10, td.load_policy(said).document)
        view = td.publish(td.load_policy(said), people(), ledger=public, accept_exposure=True, out=tmp_path / "view")
    assert view.n == 120
    secret = {**said, "presence": "secret"}
    with pytest.raises(td.errors.PolicyError, match="public number"):
        td.publish(td.load_policy(secret), people(), ledger=book, accept_exposure=True, out=tmp_path / "other")


def test_a_view_of_nobody_is_like_any_other_where_presence_is_a_secret(tmp_path: Path, book: td.Ledger) -> None:
    td.publish(td.load_policy(POLICY), people().clear(), ledger=book, accept_exposure=True, out=tmp_path / "view")
    assert book.account("people").charged > 0
    assert all(check.passed for check in td.verify(tmp_path / "view"))


def test_side_tables_travel_with_the_view(tmp_path: Path, book: td.Ledger) -> None:
    (tmp_path / "regions.csv").write_text("country,gdp\nI,5000\n")
    (tmp_path / "policy.yaml").write_text(json.dumps({**POLICY, "public": {"regions": "regions.csv"}}))
    view = td.publish(
        td.load_policy(tmp_path / "policy.yaml"), people(), ledger=book, accept_exposure=True, out=tmp_path / "view"
    )
    assert view.public["regions"].read_text() == "country,gdp\nI,5000\n"
    (tmp_path / "regions.csv").unlink()
    with pytest.raises(td.errors.PolicyError, match="public table regions"):
        td.publish(
            td.load_policy(tmp_path / "policy.yaml"),
            people(),
            ledger=book,
            accept_exposure=True,
            out=tmp_path / "other",
        )


def test_a_crash_after_the_charge_leaves_no_folder(
    tmp_path: Path, book: td.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> str:
        raise OSError(28, "no space")

    monkeypatch.setattr("tetraodon.views.publish.fill_folder", full)
    with pytest.raises(td.errors.ReleaseError, match="disk is full"):
        td.publish(td.load_policy(POLICY), people(), ledger=book, accept_exposure=True, out=tmp_path / "view")
    assert [entry.state for entry in book.entries("people")] == ["reserved"]
    assert {path.name for path in tmp_path.iterdir()} == {"ledger.db", "ledger.key", ".view.pending"}


def test_the_total_is_kept(tmp_path: Path, book: td.Ledger) -> None:
    policy = td.load_policy(POLICY)
    for number in range(4):
        td.publish(policy, people(), ledger=book, accept_exposure=True, out=tmp_path / f"view{number}")
    with pytest.raises(td.errors.BudgetExhausted):
        td.publish(policy, people(), ledger=book, accept_exposure=True, out=tmp_path / "one-too-many")
    assert not (tmp_path / "one-too-many").exists()


def test_repricing_says_that_a_view_is_no_table_of_answers(tmp_path: Path, book: td.Ledger) -> None:
    policy = td.load_policy(POLICY)
    td.publish(policy, people(), ledger=book, accept_exposure=True, out=tmp_path / "view")
    with pytest.raises(td.errors.Refused, match="published view"):
        reprice(book, policy)


def test_a_wrong_public_number_of_records_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    policy = td.load_policy({**POLICY, "presence": "public"})
    with td.Ledger(tmp_path / "ledger.db") as book:
        book.open("people", 10, policy.document)
        with pytest.raises(DataRefusal, match="number of records that the policy states"):
            td.publish(policy, people(121), ledger=book, accept_exposure=True, out=tmp_path / "view")
        assert book.account("people").left == 10
        assert td.publish(policy, people(120), ledger=book, accept_exposure=True, out=tmp_path / "view").n == 120
