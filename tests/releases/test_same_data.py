"""The same bytes are the same records in every release of a data set, whoever asks."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl
import pytest
from tests.releases.conftest import POLICY

import tetraodon as td
from tetraodon.releases.counting import open_policy_table
from tetraodon.releases.reprice import check_same_data

READ_OTHERWISE = {
    "decimal": {"table": {"decimal": ","}},
    "separator": {"table": {"separator": ";"}},
    "encoding": {"table": {"encoding": "latin-1"}},
    "bounds": {"attributes": {**POLICY["attributes"], "age": {"integer": [19, 29]}}},
    "step": {"attributes": {**POLICY["attributes"], "income": {"real": [0, 5], "step": "0.25"}}},
    "missing": {"attributes": {**POLICY["attributes"], "age": {"integer": [20, 29], "missing": 25}}},
    "other": {"attributes": {**POLICY["attributes"], "age": {"integer": [20, 29], "other": 25}}},
    "kind": {"attributes": {**POLICY["attributes"], "sex": {"ordered": ["Female", "Male"]}}},
    "order of values": {"attributes": {**POLICY["attributes"], "sex": ["Male", "Female"]}},
    "another column": {"attributes": {**POLICY["attributes"], "height": {"integer": [0, 9]}}},
    "key": {"individuals": {"key": "id", "at most": 1}},
    "attackers": {"attackers": [{"groups": "home", "at most": 1}]},
}


@pytest.mark.parametrize("what", READ_OTHERWISE)
def test_a_file_that_reads_the_table_otherwise_is_refused(what: str, table: pl.DataFrame, tmp_path: Path) -> None:
    """The same bytes must be the same records in every release of a data set, and nothing is spent on others."""
    here = {"release": [{"name": "h", "histogram": ["age"]}], "secrets": {}, "together": "all at once"}
    table.write_csv(tmp_path / "table.csv")
    with td.Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open("survey", 10, td.load_policy({**POLICY, **here}).document)
        with pytest.raises(td.errors.Refused):
            td.release(
                td.plan(td.load_policy({**POLICY, **here, **READ_OTHERWISE[what]})),
                tmp_path / "table.csv",
                ledger=ledger,
            )
        assert ledger.account("survey").charged == 0
        td.release(
            td.plan(td.load_policy({**POLICY, **here, "title": "another"})), tmp_path / "table.csv", ledger=ledger
        )
        assert ledger.account("survey").charged == 1


@pytest.mark.parametrize("what", ["decimal", "separator", "encoding", "missing"])
def test_views_and_perturbed_tables_are_read_as_the_governing_policy_says(what: str, tmp_path: Path) -> None:
    view = {"prior": {"d": "0.01"}, "posterior": "0.5"}
    here = {"release": [], "secrets": {}, "together": "all at once", "budget": {"epsilon": 20}, "adversary": view}
    asked = td.load_policy({**POLICY, **here, **READ_OTHERWISE[what]})
    with td.Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open("survey", 10, td.load_policy({**POLICY, **here}).document)
        for publish in (td.publish, partial(td.perturb, epsilon=1)):
            with pytest.raises(td.errors.Refused, match="governing policy"):
                publish(asked, tmp_path / "there is none.csv", ledger=ledger, out=tmp_path / "out")


def test_which_rows_of_a_person_are_cut_is_decided_by_all_attributes_of_the_governing_policy() -> None:
    """A file that leaves attributes out, or names them in another order, counts the same rows."""
    whole = {
        "dataset": "d",
        "individuals": {"key": "p", "at most": 1},
        "attributes": {"a": {"integer": [0, 1]}, "b": {"integer": [0, 1]}},
        "budget": {"epsilon": 1},
        "release": [{"name": "h", "histogram": "b"}],
    }
    governing = td.load_policy(whole)
    rows = pl.DataFrame({"p": ["me", "me"], "a": [0, 1], "b": [1, 0]})
    for names in ("ab", "ba", "b"):
        asked = td.load_policy({**whole, "attributes": {name: whole["attributes"][name] for name in names}})
        check_same_data(asked, governing)
        with open_policy_table(asked, rows, governing) as engine:
            assert engine.counts([("b",)])[0].codes.tolist() == [[1]]


def test_columns_that_a_file_leaves_out_still_say_how_the_table_is_read(tmp_path: Path) -> None:
    """A header that holds one column with commas and the other with semicolons is no table of the governing policy."""
    whole = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"x": {"integer": [0, 9]}, "z": {"integer": [0, 9]}},
        "budget": {"epsilon": 1},
    }
    governing = td.load_policy(whole)
    (tmp_path / "table.csv").write_text("x,y;z\n1,2;3\n4,5;6\n")
    for name in "xz":
        asked = td.load_policy({**whole, "attributes": {name: whole["attributes"][name]}})
        check_same_data(asked, governing)
        with open_policy_table(asked, tmp_path / "table.csv"):
            pass
        with pytest.raises(td.errors.TableError):
            open_policy_table(asked, tmp_path / "table.csv", governing)


def test_people_with_more_rows_are_cut_only_where_the_governing_policy_allows_it() -> None:
    keyed = {"individuals": {"key": "p", "at most": 1}, "together": "all at once", "release": []}
    finer, plain = (td.load_policy({**POLICY, **keyed, "secrets": s}) for s in (POLICY["secrets"], {}))
    assert (finer.cuts_rows, plain.cuts_rows) == (False, True)
    check_same_data(finer, plain)  # leaving people out is safe wherever cutting is
    with pytest.raises(td.errors.Refused, match="more rows than allowed"):
        check_same_data(plain, finer)
