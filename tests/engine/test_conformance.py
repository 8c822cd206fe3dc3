"""Every engine, from every form of table, finds what plain Python finds.

Words, numbers and days of all sorts are in test_conformance_of_words.py, _of_numbers.py and _of_days.py.
"""

from __future__ import annotations

import datetime as dt
import random
import tempfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engine.oracle import tally
from tests.engine.tables import AGE, check, found, table

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.engine import Individuals, open_table


def test_missing_and_outside(form, tmp_path):
    other = Attribute("other", Integers(0, 9), missing=1, other=5)
    sex = Attribute("sex", Categories(("f", "m", "x")), missing=1, other=2)
    yes = Attribute("yes", Booleans(), missing=0, other=1)
    records = [
        (17, 10, "f", True),
        (66, -1, "d", False),
        (None, None, None, None),
        (40, 9, "F", True),
        (18, 0, "m", None),
    ]
    check(form, tmp_path, [AGE, other, sex, yes], ["INTEGER", "SMALLINT", "VARCHAR", "BOOLEAN"], records)


def test_how_columns_fit_is_the_same_from_counts(form, tmp_path):
    """With groups that are counted together, and with ones that are not; of a column that was not counted, too."""
    wide = Integers(0, 2**20)
    domain = Domain(
        (
            Attribute("a", wide, missing=1, other=5),
            Attribute("b", wide),
            Attribute("sex", Categories(("f", "m")), missing=0, other=1, separate=False),
            Attribute("day", Dates(dt.date(2020, 1, 1), dt.date(2020, 1, 9)), missing=9, separate=True),
            Attribute("real", Grid(Fraction(0), Fraction(1), Fraction(1, 2))),
        )
    )
    kinds = {"a": "INTEGER", "b": "BIGINT", "sex": "VARCHAR", "day": "DATE", "real": "DOUBLE"}
    days = [dt.date(2020, 1, 3), dt.date(2021, 1, 3), None]
    rows = [(-(k % 3), 2**21 * (k % 2), ("f", "x", None, "m")[k % 4], days[k % 3], k / 8) for k in range(24)]
    with table(form, tmp_path, kinds, rows) as source:
        with open_table(source, domain) as engine:
            before = engine.dry_run()
        for groups in ([("a", "sex"), ("b", "day")], [("sex",), ("day",), ("real",)], [("a",)], [()]):
            with open_table(source, domain) as engine:
                engine.counts(groups)
                assert engine.dry_run() == before
    assert [(one.missing, one.unreadable, one.outside) for one in before[1:4]] == [(0, 0, 12), (6, 0, 6), (8, 0, 8)]


def test_missing_values_apart(form, tmp_path):
    attributes = [
        Attribute("age", Integers(18, 65), missing=48, separate=True),
        Attribute("grid", Grid(Fraction(0), Fraction(1), Fraction(1, 2)), missing=3, other=1, separate=True),
        Attribute("sex", Categories(("f", "m")), missing=2, other=0, separate=True),
        Attribute("yes", Booleans(), missing=2, other=1, separate=True),
        Attribute("day", Dates(dt.date(2020, 1, 1), dt.date(2020, 1, 9)), missing=9, separate=True),
    ]
    records = [
        (17, 0.5, "f", True, dt.date(2020, 1, 2)),
        (66, 7.0, "d", False, dt.date(2021, 1, 2)),
        (None, None, None, None, None),
        (40, None, "m", None, dt.date(2020, 1, 9)),
    ]
    check(form, tmp_path, attributes, ["INTEGER", "DOUBLE", "VARCHAR", "BOOLEAN", "DATE"], records)


def test_the_dry_run_counts_what_was_replaced(form, tmp_path):
    sex = Attribute("sex", Categories(("f", "m", "x")), missing=2, other=2)
    records = [(17, "f"), (None, "q"), (40, None), (70, "m"), (20, "q")]
    columns, domain = {"age": "INTEGER", "sex": "VARCHAR"}, Domain((AGE, sex))
    with table(form, tmp_path, columns, records) as source, open_table(source, domain) as engine:
        reports = engine.dry_run()
    assert [(r.name, r.rows, r.missing, r.unreadable, r.outside) for r in reports] == [
        ("age", 5, 1, 0, 2),
        ("sex", 5, 1, 0, 2),
    ]


def test_groups_too_fine_to_be_added_up(form, tmp_path):
    domain = Domain(tuple(Attribute(name, Integers(0, 10**6 - 1)) for name in "abcd"))
    draw = random.Random(4)
    records = [tuple(draw.choice([1, 5, 999_999, None]) for _ in "abcd") for _ in range(50)]
    groups = [("d", "a"), ("b",), (), ("c", "b"), ("a", "b", "c", "d"), ("b", "a")]
    with (
        table(form, tmp_path, dict.fromkeys("abcd", "INTEGER"), records) as source,
        open_table(source, domain) as engine,
    ):
        for asked in (groups, [("a", "b"), ("c", "d"), ("a",)], [("c",), ("a",)], [()], []):
            for group, counts in zip(asked, engine.counts(asked), strict=True):
                assert found(counts) == tally(records, domain, group)


GRID = Attribute("grid", Grid(Fraction(-5), Fraction(5), Fraction(1, 4)), missing=1)
WORD = Attribute("word", Categories(("a", "b ", "'", "")), missing=0, other=3)
DAY = Attribute("day", Dates(dt.date(2000, 1, 1), dt.date(2000, 12, 31)), other=9)
COLUMNS = {"age": "BIGINT", "grid": "DOUBLE", "word": "VARCHAR", "day": "DATE"}
RECORDS = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(15, 70),
    st.none() | st.integers(-(10**8), 10**8).map(lambda number: number / 10**6),
    st.none()
    | st.sampled_from(["a", "b ", "b", "'", "''"])
    | st.text(st.characters(min_codepoint=33, codec="utf-8"), min_size=1, max_size=3),
    st.none() | st.dates(dt.date(1999, 12, 1), dt.date(2001, 2, 1)),
)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=st.lists(RECORDS, min_size=1, max_size=12))
def test_it_is_what_plain_python_finds(form, records):
    with tempfile.TemporaryDirectory() as folder:
        check(form, Path(folder), [AGE, GRID, WORD, DAY], COLUMNS.values(), records)


@pytest.mark.parametrize("who_counts", [Individuals(), Individuals("who", 20), Individuals("who", 2, cut=True)])
def test_sums_are_whole_numbers_of_steps(form, who_counts, tmp_path):
    """Decimals and reals on a grid: every engine adds up the same codes, in whatever order it likes."""
    cents = Grid(Fraction(0), Fraction(5), Fraction(1, 100))
    amount = Attribute("amount", cents, missing=7)
    domain = Domain((amount, Attribute("real", cents), Attribute("n", Integers(-5, 5), other=3)))
    draw = random.Random(6)
    values = [draw.choice([None, Decimal(draw.randrange(-100, 700)) / 100]) for _ in range(60)]
    records = [(value, None if value is None else float(value), draw.choice([None, -9, 0, 4])) for value in values]
    who = [draw.choice("abc") for _ in records]
    columns = {"amount": "DECIMAL(9,2)", "real": "DOUBLE", "n": "INTEGER", "who": "VARCHAR"}
    rows = [(*record, person) for record, person in zip(records, who, strict=True)]
    most = who_counts.at_most if who_counts.key else 0
    kept = tally(records, domain, domain.names, most, who, who_counts.cut)
    assert 0 < sum(kept.values()) < 60 or not most
    with table(form, tmp_path, columns, rows) as source, open_table(source, domain, who_counts) as engine:
        whole, by_n = engine.counts([(), ("n",)], dict.fromkeys([(), ("n",)], domain.names))
    for place, name in enumerate(domain.names):
        assert whole.sums[name].tolist() == [sum(cell[place] * count for cell, count in kept.items())]
        for (code,), total in zip(by_n.codes.tolist(), by_n.sums[name].tolist(), strict=True):
            assert total == sum(cell[place] * count for cell, count in kept.items() if cell[2] == code)
