"""Days in every form of table, as types and as text: every engine finds what plain Python finds."""

from __future__ import annotations

import datetime as dt

import pytest
from tests.engine.oracle import tally
from tests.engine.tables import check, found, table

from tetraodon.domain import Attribute, Dates, Domain
from tetraodon.engine import open_table


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMPTZ", "VARCHAR"])
def test_dates(form, kind, tmp_path):
    days = Dates(dt.date(2020, 2, 28), dt.date(2020, 3, 1))
    attributes = [Attribute("a", days), Attribute("b", days, missing=2, other=1)]
    zone = dt.timezone(-dt.timedelta(hours=5))
    late = dt.datetime(2020, 2, 28, 23, 30, 59, 900000)
    match kind:
        case "DATE":
            values = [late.date(), dt.date(2020, 2, 29), dt.date(1969, 12, 31), dt.date(9999, 12, 31), None]
        case "TIMESTAMP":
            values = [late, dt.datetime(1969, 12, 31, 23, 59), dt.datetime(2020, 3, 2), None]
        case "TIMESTAMPTZ":
            values = [late.replace(tzinfo=zone), late.replace(tzinfo=dt.UTC), None]
        case _:
            values = [
                late.replace(tzinfo=zone).isoformat(" "),
                "2020-02-29",
                "2020-02-28T10:00:00Z",
                "2020-02-28 23:59",
            ]
    records = [(value, value) for value in values]
    if kind != "VARCHAR":
        check(form, tmp_path, attributes, [kind] * 2, records)
        return
    read = [
        late.replace(tzinfo=zone),
        dt.date(2020, 2, 29),
        dt.date(2020, 2, 28),
        dt.date(2020, 2, 28),
        None,
        None,
        None,
        None,
    ]
    written = [*values, "2020-02-30", "29/02/2020", "soon", "2020-02-28 25:00"]
    odd = ["2020-02-29T23:30:00.5-00:30", "2020-03-01T00:30:00+01", "2021-02-29", "0000-02-29", "2100-02-29T00:00:00Z"]
    written, read = [*written, *odd], [*read, dt.date(2020, 3, 1), dt.date(2020, 2, 29), None, None, None]
    domain = Domain(tuple(attributes))
    rows = [(value, value) for value in written]
    with table(form, tmp_path, {"a": kind, "b": kind}, rows) as source, open_table(source, domain) as engine:
        assert found(engine.counts([("a", "b")])[0]) == tally([(day, day) for day in read], domain, ("a", "b"))
        assert [report.unreadable for report in engine.dry_run()] == [7, 7]


@pytest.mark.parametrize(
    ("written", "texts"),
    [
        ("DD.MM.YYYY", ["29.02.2020", "01.03.2020", "28.02.2021", "31.02.2020", "1.3.2020", "2020-02-29", "soon", " "]),
        ("D/M/YYYY", ["29/2/2020", "1/03/2020", "28/02/2021", "31/2/2020", "01.3.2020", "1/3/20", "1/13/2020", "NA"]),
        ("YYYYMMDD", ["20200229", "20200301", "20210228", "20200231", "2020-02-29", "20201301", "20200300", "2020"]),
        ("M-D-YYYY", ["2-29-2020", "03-1-2020", "2-28-2021", "2-31-2020", "2/29/2020", "0-1-2020", "1-0-2020", "-"]),
    ],
)
def test_days_in_national_forms(form, written, texts, tmp_path):
    """The first is the second of three days, the second the last, the third is beyond, and the others are no days."""
    days = Dates(dt.date(2020, 2, 28), dt.date(2020, 3, 1))
    domain = Domain((Attribute("a", days, other=0, missing=0, format=written), Attribute("b", days, format=written)))
    rows = [(text, text) for text in texts]
    with table(form, tmp_path, {"a": "VARCHAR", "b": "VARCHAR"}, rows) as source, open_table(source, domain) as engine:
        assert found(engine.counts([("a", "b")])[0]) == {(0, 0): 5, (0, 2): 1, (1, 1): 1, (2, 2): 1}
