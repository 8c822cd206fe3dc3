"""What a policy says of the publication: publisher, error targets, public tables."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars
import pytest

import tetraodon as td
from tetraodon.errors import PolicyError
from tetraodon.policy.explain import explain
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy, side_tables
from tetraodon.policy.publication import PHRASES, ErrorTarget, Publisher, error_target

# -- publisher --------------------------------------------------------------------------------------
# An office's own words: what it can say, what is refused, and that they survive the policy file.


BASE: dict[str, Any] = {"dataset": "d", "attributes": {"x": {"integer": [0, 9]}}, "budget": {"epsilon": 1}}
WORDS = {"name": "Office", "source": "Survey", "contact": "a@b.example", "licence": "CC BY 4.0", "language": "pt-BR"}


def test_it_survives_the_policy_file() -> None:
    policy = load_policy(BASE | {"publisher": WORDS})
    assert policy.publisher == Publisher(**WORDS)
    assert policy.document["publisher"] == WORDS
    assert load_policy(policy.document) == policy


def test_an_office_that_says_nothing_is_not_written_down() -> None:
    for said in ({}, {"publisher": {}}, {"publisher": {"language": "en"}}):
        policy = load_policy(BASE | said)
        assert policy.publisher == Publisher()
        assert "publisher" not in policy.document


@pytest.mark.parametrize("tag", ["german", "d", "de_DE", "de-", "<b>", "", "DE"])
def test_languages_that_are_none(tag: str) -> None:
    with pytest.raises(PolicyError, match="language"):
        load_policy(BASE | {"publisher": {"language": tag}})


def test_phrases_may_be_said_otherwise_and_others_are_refused() -> None:
    said = {"The numbers": "Die Zahlen", "Source": "Quelle"}
    policy = load_policy(BASE | {"publisher": {"language": "de", "words": said}})
    assert dict(policy.publisher.words) == said
    assert load_policy(policy.document) == policy
    with pytest.raises(PolicyError, match=r"is no phrase of a report.*The numbers"):
        load_policy(BASE | {"publisher": {"words": {"The number": "Die Zahl"}}})


def test_every_phrase_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "policy-file.md").read_text(encoding="utf-8")
    assert [phrase for phrase in PHRASES if f"\n- {phrase}\n" not in page] == []


def test_unknown_words_are_refused() -> None:
    with pytest.raises(PolicyError, match="licence"):
        load_policy(BASE | {"publisher": {"license": "CC0"}})


# -- error target -----------------------------------------------------------------------------------
# Errors as people state them, in files and on the command line.


ERROR_TARGET_BASE: dict[str, Any] = {
    "dataset": "d",
    "attributes": {"pay": {"integer": [0, 99], "unit": "EUR"}},
    "budget": {"epsilon": 1},
}


def target(written: Any, **item: Any) -> ErrorTarget | None:
    asks = item or {"histogram": "pay"}
    return td.load_policy({**ERROR_TARGET_BASE, "release": [{"name": "i", **asks, "error": written}]}).items[0].error


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("50", ErrorTarget(within=Fraction(50))),
        (50, ErrorTarget(within=Fraction(50))),
        (0.5, ErrorTarget(within=Fraction(1, 2))),
        ("5% from 1000", ErrorTarget(within=Fraction(1, 20), least=Fraction(1000))),
        ({"within": "5%", "from": 1000}, ErrorTarget(within=Fraction(1, 20), least=Fraction(1000))),
        ({"within": 3, "confidence": 99}, ErrorTarget(within=Fraction(3), confidence=Fraction(99, 100))),
        ({"within": 3, "confidence": "99%"}, ErrorTarget(within=Fraction(3), confidence=Fraction(99, 100))),
        ({"within": 3, "confidence": 0.99}, ErrorTarget(within=Fraction(3), confidence=Fraction(99, 100))),
    ],
)
def test_forms(written: Any, meant: ErrorTarget) -> None:
    assert target(written) == meant
    policy = td.load_policy({**ERROR_TARGET_BASE, "release": [{"name": "i", "histogram": "pay", "error": written}]})
    assert td.load_policy(policy.document) == policy
    assert policy.document["release"][0]["error"] == meant.document()
    if not isinstance(written, dict):
        assert error_target(written) == meant


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (0, "not positive"),
        (-1, "not positive"),
        ("much", "not a finite number"),
        ("5%", "of which answers"),
        ("5 from 1000", "without a share"),
        ("5% from 0", "`from` is not positive"),
        ({"within": 5, "of": 3}, "'of' is not known here"),
        ({"within": 5, "records": 0}, "`records` is not positive"),
        ({"within": 5, "confidence": 100}, "between 0 and 100%"),
        ("5 % of 3", "how large an error"),
        ([5], "Fix:"),
    ],
)
def test_what_is_no_error_is_refused(written: Any, told: str) -> None:
    with pytest.raises(td.errors.PolicyError, match=told):
        target(written)


@pytest.mark.parametrize("written", ["5%", "5 from 3", "x", "0", "", "1e999999999"])
def test_typed_ones_too(written: str) -> None:
    with pytest.raises(td.errors.PolicyError, match="Fix:"):
        error_target(written)


def test_a_mean_needs_to_know_how_many_records_there_are() -> None:
    with pytest.raises(td.errors.PolicyError, match="how many records it is over"):
        target(0.5, mean="pay")
    found = target({"within": 0.5, "records": 5000}, mean="pay")
    assert found == ErrorTarget(within=Fraction(1, 2), records=5000)


def test_what_it_leaves_open() -> None:
    filled = ErrorTarget(within=Fraction(1)).filled(30, Fraction(9, 10))
    assert filled == ErrorTarget(within=Fraction(1), records=30, confidence=Fraction(9, 10))
    assert filled.filled(40, Fraction(1, 2)) == filled
    assert (
        ErrorTarget(within=Fraction(1, 20), least=Fraction(1000)).allowed,
        ErrorTarget(within=Fraction(3)).allowed,
    ) == (50, 3)


# -- side table -------------------------------------------------------------------------------------
# Public tables are plain files in the policy's folder, and what is copied is said with its columns.


POLICY: dict[str, Any] = {
    "dataset": "people",
    "attributes": {"nation": ["A", "B"]},
    "budget": {"epsilon": 3},
    "adversary": {"prior": {"d": "0.1"}, "posterior": 0.5},
}


def policy(folder: Path, **public: str) -> Policy:
    folder.mkdir(exist_ok=True)
    (folder / "policy.yaml").write_text(json.dumps({**POLICY, "public": public}))
    return load_policy(folder / "policy.yaml")


def test_names_and_columns(tmp_path: Path) -> None:
    (tmp_path / "regions.csv").write_text("country,gdp\nA,5000\n")
    polars.DataFrame({"country": ["A"], "head": ["x"]}).write_parquet(tmp_path / "heads.parquet")
    found = side_tables(policy(tmp_path, regions="regions.csv", heads="heads.parquet"))
    assert {name: table.columns for name, table in found.items()} == {
        "regions": ("country", "gdp"),
        "heads": ("country", "head"),
    }
    told = " ".join(explain(policy(tmp_path, regions="regions.csv")).text.split())
    assert "The public table regions (regions.csv) is copied into the folder as it is, with its columns" in told
    assert "country and gdp." in told


@pytest.mark.parametrize("file", ["../secret.csv", "inner/../../secret.csv", "ABSOLUTE", "link.csv"])
def test_nothing_outside_the_folder(tmp_path: Path, file: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("name,disease\nJoe,flu\n")
    inside = tmp_path / "policy"
    (inside / "inner").mkdir(parents=True)
    (inside / "link.csv").symlink_to(secret)
    with pytest.raises(PolicyError, match="outside the policy's folder") as caught:
        side_tables(policy(inside, raw=file.replace("ABSOLUTE", str(secret))))
    assert "disease" not in str(caught.value)


@pytest.mark.parametrize("public", [{"regions": "nowhere.csv"}, {"regions": "x.txt"}, {"people": "x.csv"}])
def test_side_tables_that_cannot_be_used(tmp_path: Path, public: dict[str, str]) -> None:
    (tmp_path / "x.txt").touch()
    (tmp_path / "x.csv").write_text("a\n1\n")
    with pytest.raises(PolicyError, match="public"):
        side_tables(policy(tmp_path, **public))
