"""An earlier table in a CSV file: read with its answers, refused where it does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.errors import PolicyError
from tetraodon.policy import known_table
from tetraodon.policy.known import Known
from tetraodon.policy.known_table import read_known_table
from tetraodon.workload.query import Histogram

DOMAIN = Domain(
    (
        Attribute("x", Integers(1, 6)),
        Attribute("y", Integers(1, 4)),
        Attribute("sex", Categories(("Female", "Male")), other=0),
    )
)


def test_an_earlier_table(tmp_path: Path) -> None:
    (tmp_path / "earlier.csv").write_text("sex,x,count\nFemale,1..3,5\nMale,1..3,2\nFemale,4..6,0\nMale,4..6,9\n")
    known = read_known_table(tmp_path / "earlier.csv", DOMAIN)
    assert known == Known(Histogram(("sex", "x"), (("x", ((1, 3), (4, 6))),)), (5, 0, 2, 9))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "not a table"),
        ("sex\nMale\n", "called count"),
        ("age,count\n3,1\n", "no attribute 'age'"),
        ("sex,count\nMale,3\n", "leave"),
        ("sex,count\nMale,3\nOther,4\n", "not a value"),
        ("sex,count\nMale,3\nMale,4\nFemale,1\n", "twice"),
        ("sex,count\nMale,3\nFemale,-1\n", "not a whole number"),
        ("sex,count\nMale,3\nFemale\n", "same length"),
        ("x,count\n1..3,3\n2..6,1\n", "overlap"),
        ("sex,x,count\nFemale,1..6,3\n", "leave"),
    ],
)
def test_a_table_that_does_not_fit_the_domain(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "earlier.csv").write_text(text)
    with pytest.raises(PolicyError, match=what):
        read_known_table(tmp_path / "earlier.csv", DOMAIN)


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot be read"):
        read_known_table(tmp_path / "earlier.csv", DOMAIN)


def test_a_small_file_over_a_billion_cells_is_refused_before_they_are_listed(tmp_path: Path) -> None:
    names = ("a", "b", "c")
    domain = Domain(tuple(Attribute(name, Integers(0, 999)) for name in names))
    rows = "".join(f"{k},{k},{k},1\n" for k in range(1000))
    (tmp_path / "diagonal.csv").write_text("a,b,c,count\n" + rows)
    with pytest.raises(PolicyError, match="cells are left out"):
        read_known_table(tmp_path / "diagonal.csv", domain)


def test_only_a_plain_file_of_a_reasonable_size_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PolicyError, match="cannot be read"):
        read_known_table(Path("/dev/zero"), DOMAIN)
    monkeypatch.setattr(known_table, "SIZE_LIMIT", 2_000_000)
    (tmp_path / "long.csv").write_text("sex,count\n" + "Male,1\n" * 300_000)
    with pytest.raises(PolicyError, match="larger than 2 MB"):
        read_known_table(tmp_path / "long.csv", DOMAIN)
