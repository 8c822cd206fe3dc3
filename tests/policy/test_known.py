"""Known facts, their tables and files of cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tetraodon as td
from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.errors import PolicyError
from tetraodon.policy import build as known_table
from tetraodon.policy.build import read_known_table
from tetraodon.policy.joint_graph import Regions
from tetraodon.policy.known import CountWhere, Known, Marginal, Rectangle, check_known, known_names, known_query, labels

# -- known ------------------------------------------------------------------------------------------
# Known facts: what they count, and everything that is wrong with one is told with its fix.


DOMAIN = Domain(
    (
        Attribute("x", Integers(1, 6)),
        Attribute("y", Integers(1, 4)),
        Attribute("sex", Categories(("Female", "Male")), other=0),
    )
)
CELLS = np.arange(DOMAIN.size)


def test_every_cell_is_counted_in_one_row_of_a_table_and_in_no_row_outside_a_count() -> None:
    for known in (Known(Marginal(("sex", "x"))), Known(CountWhere("x = 1 or y = 2")), Known(Rectangle((("x", 2, 3),)))):
        query = known_query(known, DOMAIN)
        label = labels(known, DOMAIN, CELLS)
        matrix, _ = query.matrix(DOMAIN)
        for row in range(len(matrix)):
            assert (matrix[row] == (label == row)).all()


def test_only_the_attributes_that_are_looked_at_matter() -> None:
    assert known_names([Known(CountWhere("y = 2")), Known(Marginal(("sex",)))], DOMAIN) == ("y", "sex")


def test_answers_fit_their_question() -> None:
    with pytest.raises(PolicyError, match="3 answers where the domain has 2"):
        check_known([Known(Marginal(("sex",)), (1, 2, 3))], DOMAIN)
    with pytest.raises(PolicyError, match="below zero"):
        Known(CountWhere("x = 1"), (-1,))
    with pytest.raises(PolicyError, match="once"):
        Rectangle(())


@pytest.mark.parametrize(
    "known",
    [
        [Known(Marginal(("sex",)), (4, 5)), Known(Marginal(("y",)), (1, 1, 1, 1))],
        [Known(CountWhere("x <= 3"), (2,)), Known(CountWhere("x <= 2"), (3,))],
        [Known(CountWhere("x = 1 and x = 2"), (1,))],
        [Known(Marginal(("sex",)), (0, 5)), Known(CountWhere("sex = 'Female' and x = 1"), (1,))],
    ],
)
def test_contradictions_are_found(known: list[Known]) -> None:
    with pytest.raises(PolicyError, match="contradict"):
        check_known(known, DOMAIN)


def test_figures_that_fit_are_accepted() -> None:
    check_known(
        [Known(Marginal(("sex",)), (4, 5)), Known(CountWhere("x = 1"), (4,)), Known(CountWhere(""), (9,))], DOMAIN
    )


# -- build known ------------------------------------------------------------------------------------
# From the `known` list of a policy file to facts about the data.


def test_an_earlier_table(tmp_path: Path) -> None:
    (tmp_path / "earlier.csv").write_text("sex,x,count\nFemale,1..3,5\nMale,1..3,2\nFemale,4..6,0\nMale,4..6,9\n")
    known = read_known_table(tmp_path / "earlier.csv", DOMAIN)
    assert known == Known(Marginal(("sex", "x"), (("x", ((1, 3), (4, 6))),)), (5, 0, 2, 9))


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


POLICY = """\
dataset: d
attributes: {sex: [F, M], age: {integer: [0, 9]}}
budget: {epsilon: 1}
known:
"""


def load(tmp_path: Path, *entries: str) -> td.Policy:
    path = tmp_path / "p.yaml"
    path.write_text(POLICY + "".join(f"  - {entry}\n" for entry in entries))
    return td.load_policy(path)


def test_reading_and_writing_back(tmp_path: Path) -> None:
    (tmp_path / "earlier.csv").write_text("sex,count\nF,4\nM,6\n")
    policy = load(
        tmp_path,
        "{count: all, is: 10}",
        "{count: \"sex = 'F' or age = 3\"}",
        "{marginal: [age, sex], bins: {age: [[0, 4], [5, 9]]}}",
        "{rectangle: {age: [2, 5]}, is: 3}",
        "{table: earlier.csv}",
    )
    assert [entry.answers for entry in policy.known] == [(10,), None, None, (3,), (4, 6)]
    again = td.load_policy(policy.document)
    assert again == policy
    assert again.known == policy.known


@pytest.mark.parametrize(
    ("entries", "what"),
    [
        (["{count: wage > 3}"], "line 5: known.1: there is no attribute 'wage'"),
        (["{count: age > 3}", "{marginal: region}"], "line 6: known.2: there is no attribute 'region'"),
        (["{count: age > 3, at most: 7}", "{count: age > 4}"], "count some of them twice"),
        (["{counts: age > 3}"], "the key 'counts' is not known here"),
        (["{count: age > 3, marginal: sex}"], "this says both `count` and `marginal`"),
        (["{count: age > 3, is: many}"], "not a finite number"),
        (["{count: age > 3, is: 4}", "{count: age > 2, is: 3}"], "contradict each other"),
        (["{marginal: sex, is: [1, 2, 3]}"], "3 answers where the domain has 2 cells"),
        (["{count: age = 10}"], "line 5: known.1: no record can satisfy this condition"),
        (["{count: age > 3}", "{count: age > 10, is: 0}"], "line 6: known.2: no record can satisfy this condition"),
        (["{table: nowhere.csv}"], "cannot be read"),
        (["{blocks: {age: 5}}"], "a list is expected here"),
        (["{blocks: age}"], "a map of keys and values"),
    ],
)
def test_mistakes(tmp_path: Path, entries: list[str], what: str) -> None:
    with pytest.raises((td.errors.PolicyError, td.errors.Refused)) as error:
        load(tmp_path, *entries)
    assert what in str(error.value)


def test_what_is_listed_twice_is_known_once() -> None:
    def known(*entries: dict[str, object]) -> td.Policy:
        domain = {"x": {"integer": [0, 3]}}
        return td.load_policy({"dataset": "d", "attributes": domain, "budget": {"epsilon": 1}, "known": list(entries)})

    twice = known({"count": "x = 1"}, {"count": "x = 1", "is": 4})
    assert twice.known == known({"count": "x = 1", "is": 4}).known
    with pytest.raises(td.errors.PolicyError, match="contradict"):
        known({"count": "x = 1", "is": 3}, {"count": "x = 1", "is": 4})


def test_a_thousand_known_counts_are_refused_at_once() -> None:
    """They took 16 seconds and a gigabyte, or had no end."""
    import tetraodon as td

    document = {
        "dataset": "d",
        "attributes": {"x": {"integer": [0, 1999]}},
        "budget": {"epsilon": 1},
        "known": [{"count": f"x < {k}"} for k in range(1, 1001)],
        "release": [{"name": "h", "histogram": "x"}],
    }
    with pytest.raises(td.errors.PolicyError, match="more than 200 entries are known"):
        td.load_policy(document)


# -- cells file -------------------------------------------------------------------------------------
# What is wrong with a file of cells is said, with its name.


HEADER = "lon,county,lat"
CELLS_FILE_CELLS = ["0,A,0", "1,A,0", "0,B,1", "1,A,1"]


def load_of_cells_file(folder: Path, rows: list[str], **together: Any) -> td.Policy:
    (folder / "cells.csv").write_text("\n".join(rows))
    parts = {"over": "[lat, lon]", "cells": "cells.csv", **together}
    (folder / "p.yaml").write_text(
        "dataset: d\nattributes: {lat: {integer: [0, 1]}, lon: {integer: [0, 1]}}\nbudget: {epsilon: 1}\n"
        f"together: {{{', '.join(f'{key}: {value}' for key, value in parts.items() if value)}}}\n"
    )
    return td.load_policy(folder / "p.yaml")


def test_cells_are_read_in_any_order(tmp_path: Path) -> None:
    for rows in (CELLS_FILE_CELLS, CELLS_FILE_CELLS[::-1]):
        assert load_of_cells_file(tmp_path, [HEADER, *rows]).graph.factors[0].graph == Regions(
            (2, 2), (0, 0, 1, 0), ("A", "B")
        )


@pytest.mark.parametrize(
    ("rows", "together", "what"),
    [
        ([HEADER, *CELLS_FILE_CELLS[1:]], {}, "1 of 4 cells are left out"),
        ([HEADER, *CELLS_FILE_CELLS, CELLS_FILE_CELLS[0]], {}, "listed twice"),
        ([HEADER, *CELLS_FILE_CELLS[1:], "5,A,0"], {}, "cells.csv does not fit"),
        ([HEADER, *CELLS_FILE_CELLS[1:], "x,A,0"], {}, "cells.csv does not fit"),
        (["lon,lat", "0,0"], {}, "one for the block"),
        (["lon,county,height", *CELLS_FILE_CELLS], {}, "one for the block"),
        ([HEADER, *CELLS_FILE_CELLS], {"cells": "other.csv"}, "cannot be read"),
        ([HEADER, *CELLS_FILE_CELLS], {"cells": "../cells.csv"}, "outside the policy's folder"),
        ([HEADER, *CELLS_FILE_CELLS], {"cells": "/cells.csv"}, "outside the policy's folder"),
        ([HEADER, *CELLS_FILE_CELLS], {"blocks": "[[A, B], [A, B]]"}, "given twice"),
        ([HEADER, *CELLS_FILE_CELLS], {"over": ""}, "in `over`"),
        ([HEADER, *(f"{cell[0]},{n},{cell[-1]}" for n, cell in enumerate(CELLS_FILE_CELLS))], {}, "no two cells"),
        ([HEADER, *CELLS_FILE_CELLS], {"metric": "l1", "within": "1"}, "cannot be combined"),
        ([HEADER, *CELLS_FILE_CELLS], {"over": "[lat, lat]"}, "one for the block"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, rows: list[str], together: dict[str, str], what: str) -> None:
    with pytest.raises(PolicyError, match=what):
        load_of_cells_file(tmp_path, rows, **together)
