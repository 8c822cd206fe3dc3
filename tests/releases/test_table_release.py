"""A share of the whole table that is a secret, from the plan to the folder, the ledger and the pages."""

from __future__ import annotations

import json
from pathlib import Path

import pandas
import pytest
from tests.policy.test_build_table import clinic
from tests.releases.made import kept

import tetraodon as td
from tetraodon.attacks.on_release import attack_release
from tetraodon.cli.plan_words import pair_in_words
from tetraodon.errors import Refused
from tetraodon.ledger.account import JOINTLY
from tetraodon.policy.policy import Policy
from tetraodon.releases.pricing import reprice

ROWS = pandas.DataFrame({"smoker": [True, False] * 20, "ill": [True, True, False, False] * 10})


@pytest.fixture(scope="module")
def policy() -> Policy:
    return clinic({"records": 40, "within": "25%"})


def test_it_is_released_verified_and_told(tmp_path: Path, policy: Policy) -> None:
    made = td.plan(policy)
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("clinic", 2, policy.document)
        told = td.release(made, ROWS, ledger=book, out=tmp_path / "out")
        (entry,) = book.entries("clinic")
        assert (entry.charged, entry.composition) == (made.epsilon, JOINTLY)
        assert reprice(book, policy).together.epsilon == made.epsilon
    assert all(check.passed for check in td.verify(tmp_path / "out"))
    stated = json.loads((tmp_path / "out" / "release.json").read_text("utf-8"))
    pair = [{"share": "smoker = true", "records": n, "of": 40} for n in (15, 25)]
    assert pair in [part["certificate"]["witness"] for part in stated["plan"]["queries"]]
    assert pair_in_words(pair) == "15 rather than 25 of all 40 records with smoker = true"
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "The worst pair: 15 rather than 25 of all 40 records have smoker = true" in page
    assert "two shares at most 25% apart, which is 10 records" in page
    found = {one.name: one for one in attack_release(told)}
    assert found["promised"].epsilon == made.epsilon
    assert "two shares or chances of the whole table" in found["promised"].who
    got, most = found["promised"].got, found["promised"].most
    assert got is not None
    assert most is not None
    assert 0.53 < got < most  # played with the same dice every time
    assert "averaging" not in found  # what several releases tell does not add up, and there is one
    assert found["membership"].epsilon is None
    assert "is not priced beside a secret of the whole table" in found["membership"].why


def test_a_chance_is_released_and_told(tmp_path: Path, policy: Policy) -> None:
    secret = {key: value for key, value in policy.document["secrets"]["table"].items() if key != "share"}
    chance = td.load_policy({**policy.document, "secrets": {"table": {**secret, "chance": "smoker = true"}}})
    made = td.plan(chance)
    told = kept(made, ROWS, tmp_path)
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "each of the 40 records has smoker = true with a chance of 0% rather than 25%" in page
    stated = json.loads((tmp_path / "out" / "release.json").read_text("utf-8"))["plan"]["certificate"]["witness"]
    assert pair_in_words(stated) == "smoker = true with a chance of 0 rather than 0.25, for each of all records"
    promised = attack_release(told)[0]
    assert promised.got is not None
    assert promised.most is not None
    assert 0.53 < promised.got < promised.most
    part = td.explain(chance).parts[1]
    assert part.sentences[0].startswith("With what chance each of the 40 records has smoker = true is a secret: two")
    assert part.examples[0].sentence.startswith("30% rather than 55% as the chance of smoker = true: the odds move at")
    assert "each having smoker = true with that chance" in " ".join(td.explain(chance).text.split())


def test_there_is_one_release(tmp_path: Path, policy: Policy) -> None:
    made = td.plan(policy)
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("clinic", 100, policy.document)
        td.release(made, ROWS, ledger=book)
        for again in (made, td.plan(policy, epsilon="0.01")):
            with pytest.raises(Refused, match="a price for one release, which was made"):
                td.release(again, ROWS, ledger=book)
        assert len(book.entries("clinic")) == 1


def test_another_table_another_promise_and_other_records_are_refused(tmp_path: Path, policy: Policy) -> None:
    weaker = {**policy.document, "secrets": {}, "budget": {"epsilon": 1}}
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("clinic", 5, policy.document)
        with pytest.raises(Refused, match="secret of the whole table is not that of the governing policy"):
            td.release(td.plan(weaker), ROWS, ledger=book)
        with pytest.raises(td.errors.TetraodonError, match="as many rows as `records`"):
            td.release(td.plan(policy), ROWS[:39], ledger=book)
        ROWS.to_csv(tmp_path / "rows.csv", index=False)
        with pytest.raises(Refused, match="not priced beside a secret of the whole table"):
            td.release(td.plan(policy), f"select * from '{tmp_path}/rows.csv' where smoker", ledger=book)
        assert not book.entries("clinic")


def test_it_is_told_in_words(policy: Policy) -> None:
    told = next(part for part in td.explain(policy).parts if part.title == "The whole table")
    assert told.sentences[0] == (
        "For how many of all 40 records smoker = true holds is a secret: two shares at most 25% apart, which is 10 "
        "records, are one step apart."
    )
    assert [example.sentence for example in told.examples] == [
        "12 (30%) rather than 22 (55%) of all 40 records with smoker = true: the odds move at most 1.65 times (one "
        "step, 62.3% truthful)",
        "12 (30%) rather than 32 (80%) of all 40 records with smoker = true: the odds move at most 2.72 times (2 "
        "steps, 73.2% truthful)",
    ]
    text = td.explain(policy).text
    assert "the ledger takes one, and refuses any" in text
    assert "whatever they believe of how many and whose those are" in " ".join(text.split())
    assert td.explain({**policy.document, "secrets": {}, "budget": {"epsilon": 1}}).parts[1].title == "smoker"
