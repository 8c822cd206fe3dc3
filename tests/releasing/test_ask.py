"""A condition is answered by the released table that answers it best."""

from __future__ import annotations

import polars as pl
import pytest
from tests.releasing.made import release_with, silent

import tetraodon as td


def test_the_shortest_interval_wins(policy: td.Policy, table: pl.DataFrame) -> None:
    release = release_with(policy, table, silent)
    for condition in ("age between 22 and 26", "age <= 23", "age = 20"):
        name, found = release.ask(condition)
        rivals = [release[n].count(condition) for n in ("ages", "older", "bands", "middle")]
        assert found.upper - found.lower == min(rival.upper - rival.lower for rival in rivals)
        assert found == release[name].count(condition)


def test_only_a_table_that_knows_all_attributes_is_asked(policy: td.Policy, table: pl.DataFrame) -> None:
    release = release_with(policy, table, silent)
    assert release.ask("sex = 'Male' and age < 25")[0] == "ages"


def test_a_public_attribute_is_known_exactly(policy: td.Policy, table: pl.DataFrame) -> None:
    _, found = release_with(policy, table, lambda _: 7).ask("sex = 'Male'")
    assert found == table.filter(pl.col("sex") == "Male").height
    assert (found.interval, found.confidence) == ((found.value, found.value), 1)


@pytest.mark.parametrize(
    "everybody", ["true", " TRUE ", "age >= 0", "SELECT count(*) FROM people;", "sex in ('Female', 'Male')"]
)
def test_the_public_number_of_records_is_known_exactly(policy: td.Policy, table: pl.DataFrame, everybody: str) -> None:
    release = release_with(policy, table, lambda _: 7)
    _, found = release.ask(everybody)
    assert (found, found.confidence) == (table.height, 1)
    if "FROM" not in everybody:
        assert release["ages"].count(everybody) == table.height


def in_bands(policy: td.Policy, table: pl.DataFrame) -> td.Release:
    bands = [{"name": "decades", "histogram": ["sex", "age"], "bins": {"age": [[20, 24], [25, 29]]}}]
    return release_with(td.load_policy({**policy.document, "release": bands}), table, silent)


def test_whole_bins_can_be_asked_about(policy: td.Policy, table: pl.DataFrame) -> None:
    name, found = in_bands(policy, table).ask("age < 25 and sex = 'Male'")
    assert name == "decades"
    assert found == pytest.approx(table.filter((pl.col("age") < 25) & (pl.col("sex") == "Male")).height)


def test_a_part_of_a_bin_cannot_be_told(policy: td.Policy, table: pl.DataFrame) -> None:
    with pytest.raises(td.QueryError, match=r"age was released in bins. Fix: ask about whole bins: 20.*24; 25.*29"):
        in_bands(policy, table).ask("age < 23")


def test_what_no_table_knows_is_told_with_what_they_know(policy: td.Policy, table: pl.DataFrame) -> None:
    with pytest.raises(td.QueryError, match=r"knows age and sex and region together. Fix: .* decades \(sex, age\)"):
        in_bands(policy, table).ask("age < 25 and region = 'north' and sex = 'Male'")


def test_a_question_in_sql_asks_for_its_condition(policy: td.Policy, table: pl.DataFrame) -> None:
    release = release_with(policy, table, silent)
    assert release.ask("select count(*) from people where age < 25") == release.ask("age < 25")
    with pytest.raises(td.QueryError, match="more than a condition"):
        release.ask("select count(*) from people where age < 25 group by sex")
    with pytest.raises(td.QueryError, match="cannot be read"):
        release.ask("select sum(age) from people")
