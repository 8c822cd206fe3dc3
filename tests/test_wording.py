"""Lists and numbers of things in words."""

from __future__ import annotations

from tetraodon.wording import listing, number_of, of_one


def test_listings() -> None:
    assert [listing("abc"[:n]) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
    assert listing("abcde", most=3) == "a, b, c and 2 more"
    assert listing("ab", word="or") == "a or b"


def test_one_and_many() -> None:
    assert [number_of(n, "row") for n in (1, 0, 2000)] == ["1 row", "0 rows", "2,000 rows"]


def test_units_of_one() -> None:
    told = {"years": "year", "hours a week": "hour a week", "records": "record", "day": "day", "USD": "USD", "": ""}
    assert {unit: of_one(unit) for unit in told} == told
    assert [of_one(unit) for unit in ("glass", "address", "s", "lens")] == ["glass", "address", "s", "lens"]
