"""Every engine, from every form of table, finds what plain Python finds."""

from __future__ import annotations

import datetime as dt
import math
import random
import tempfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engine.oracle import tally
from tests.engine.tables import found, table

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.engine import Individuals, open_table
from tetraodon.errors import TableError

NARROW = ("toy", "postgres", "spark")
"""Forms whose engine does not multiply whole numbers of more than 64 bits exactly."""
AGE = Attribute("age", Integers(18, 65), missing=3)


def check(form, folder, attributes, kinds, records) -> None:
    """Compare one engine with the oracle: by all attributes, by each, and in total."""
    domain = Domain(tuple(attributes))
    columns = dict(zip(domain.names, kinds, strict=True))
    groups = [domain.names, *((name,) for name in domain.names), ()]
    with table(form, folder, columns, records) as source, open_table(source, domain) as engine:
        for group, counts in zip(groups, engine.counts(groups), strict=True):
            assert counts.names == tuple(group)
            assert found(counts) == tally(records, domain, group)


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


def test_words_for_nothing_are_missing_where_missing_values_stand_apart(form, tmp_path):
    attributes = [
        Attribute("apart", Categories(("f", "m", "None")), missing=3, other=0, separate=True),
        Attribute("told", Booleans(), missing=2, other=1, separate=True),
        Attribute("mapped", Categories(("f", "m")), missing=1, other=0),
    ]
    words = ["NA", "n/a", "none", "None", "-", "nobody", "f", None, " NA "]
    records = [(word, word if word != "f" else "yes", word) for word in words]
    check(form, tmp_path, attributes, ["VARCHAR"] * 3, records)


def test_unicode_and_hostile_names(form, tmp_path):
    labels = (
        "Zürich",
        "東京",
        "'; DROP TABLE made; --",
        'a"b',
        "Zu\u0308rich",
        "back\\slash",
        "a,b;c",
        "two lines" if form == "csv" else "two\nlines",  # a line of a CSV file is a record
        " x ",
        "%",
        "😀",
        "\\' OR 1=1 --",
        "$$ {x} %s :y ?",
    )
    names = ("place \"of' birth", "x); DROP TABLE made; --", "select", "größe", "`; --\\", "a.b", "c0")
    attributes = [Attribute(name, Categories(labels), missing=0, other=9) for name in names]
    draw = random.Random(1)
    records = [tuple(draw.choice((*labels, None, "zürich", "x", "nowhere")) for _ in names) for _ in range(40)]
    check(form, tmp_path, attributes, ["VARCHAR"] * len(names), records)


def test_many_labels(form, tmp_path):
    labels = tuple(f"label {number}" for number in range(1500))
    attribute = Attribute("label", Categories(labels), missing=7, other=1499)
    check(
        form, tmp_path, [attribute], ["VARCHAR"], [(label,) for label in (*labels[::50], None, "label", "label 1500")]
    )


def test_numbers_as_categories(form, tmp_path):
    labels = Categories(("1", "2", "3", "1.5", "true", "2020-02-29", "none"))
    attributes = [Attribute(name, labels, missing=6, other=6) for name in "abcde"]
    kinds = ["INTEGER", "DOUBLE", "DECIMAL(6,2)", "BOOLEAN", "DATE"]
    day = dt.date(2020, 2, 29)
    records = [
        (1, 1.0, Decimal("1.00"), True, day),
        (2, 1.5, Decimal("1.50"), False, day),
        (None,) * 5,
        (3, 3.0, Decimal("3"), None, None),
    ]
    if form in ("csv", "pandas"):  # text and objects are taken at their word
        truth = [record[3] if form == "csv" else None for record in records]
        records = [(record[0], None, None, true, record[4]) for record, true in zip(records, truth, strict=True)]
    check(form, tmp_path, attributes, kinds, records)


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


def test_blanks_around_words(form, tmp_path):
    sex = Categories(("f", "m", "none", "other"))
    trimmed = Attribute("a", sex, missing=2, other=3, trim=True)
    domain = Domain((trimmed, Attribute("b", sex, missing=2, other=3), Attribute("c", Integers(0, 9), trim=True)))
    rows = [(" f", " f", " 3"), ("m  ", "m", "4 "), (" m m ", "f", "5"), ("   ", "f", "x"), ("F", "f", "na")]
    columns = dict.fromkeys("abc", "VARCHAR")
    with table(form, tmp_path, columns, rows) as source, open_table(source, domain) as engine:
        counts = found(engine.counts([("a", "b", "c")])[0])
        assert counts == {(0, 3, 3): 1, (1, 1, 4): 1, (3, 0, 5): 1, (2, 0, 0): 1, (3, 0, 0): 1}
        reports = [(r.missing, r.unreadable, r.outside) for r in engine.dry_run()]
        assert reports == [(1, 0, 2), (0, 0, 1), (1, 1, 0)]
        assert [r.name for r in engine.dry_run({"c"})] == ["c"]


def test_the_ends_of_32_and_64_bits(form, tmp_path):
    wide = Attribute("wide", Integers(0, 2**63 - 1))
    signed = Attribute("signed", Integers(-(2**62), 2**62 - 1))
    small = Attribute("small", Integers(-(2**31), 2**31 - 1), other=0)
    values = [0, 1, -1, 2**31, -(2**31) - 1, 2**53 + 1, 2**62, 2**63 - 1, 2**63 - 2, -(2**63)]
    values += [] if form == "pandas" else [None]  # it would make doubles of them
    if form in ("ibis", "spark"):
        check(form, tmp_path, [wide, signed, small], ["BIGINT"] * 3, [(value,) * 3 for value in values])
    else:
        values += [2**64 - 1, 2**100, -(2**100)] if form not in ("parquet", "pandas", "polars", "lazy") else []
        kind = "HUGEINT" if 2**100 in values else "BIGINT"
        check(form, tmp_path, [wide, signed, small], [kind] * 3, [(value,) * 3 for value in values])


def test_unsigned_numbers(form, tmp_path):
    check(
        form,
        tmp_path,
        [Attribute("a", Integers(0, 2**63 - 1)), Attribute("b", Integers(5, 9))],
        ["UBIGINT"] * 2,
        [(value, value) for value in (0, 2**63, 2**64 - 1, 7)],
    )


def test_huge_doubles(form, tmp_path):
    records = [
        (value,) * 3
        for value in (1e308, -1e308, 1e19, -1e19, 0.49999999999999994, 17.5, -0.5, 2.5, 64.5, 65.4, 65.5, None)
    ]
    if form != "csv":
        records += [(math.inf,) * 3, (-math.inf,) * 3, (math.nan,) * 3]
    grid = Attribute("grid", Grid(Fraction(-1), Fraction(100), Fraction(1, 10)), other=7)
    narrow = Attribute("narrow", Integers(-1, 3), other=2)
    check(form, tmp_path, [AGE, grid, narrow], ["DOUBLE"] * 3, records)


@pytest.mark.parametrize("kind", ["DOUBLE", "DECIMAL(9,2)", "FLOAT", "DECIMAL(38,20)", "INTEGER"])
def test_grids(form, kind, tmp_path):
    tenths = Attribute("tenths", Grid(Fraction(0), Fraction(1), Fraction(1, 10)))
    thirds = Attribute("thirds", Grid(Fraction(1, 3), Fraction(7, 3), Fraction(1, 3)), missing=2, other=6)
    halves = Attribute("halves", Grid(Fraction(1, 2), Fraction(9, 2), Fraction(1, 2)))
    texts = ["0", "0.05", "0.15", "0.25", "0.35", "0.45", "0.949", "0.95", "1.05", "-3", "2.33", "0.33", "0.34", "7"]
    make = {"DOUBLE": float, "FLOAT": float, "INTEGER": lambda text: int(float(text))}.get(kind, Decimal)
    if kind == "DECIMAL(9,2)":
        texts.remove("0.949")
    records = [(value,) * 3 for value in (*map(make, texts), None)]
    if kind == "DECIMAL(38,20)" and form in NARROW:
        with pytest.raises(TableError, match="too wide or too fine for this engine"):
            check(form, tmp_path, [tenths, thirds, halves], [kind] * 3, records)
        return
    check(form, tmp_path, [tenths, thirds, halves], [kind] * 3, records)


def test_truths(form, tmp_path):
    yes = [Attribute(name, Booleans(), missing=1, other=0) for name in "abcd"]
    words = ["true", "FALSE", "t", "F", "yes", "No", "1", "0", "maybe", None]
    numbers = [1, 0, 2, None, -1, 1, 1, 0, 0, 1]
    records = [
        (w, n, None if n is None else float(n), None if n is None else Decimal(n))
        for w, n in zip(words, numbers, strict=True)
    ]
    if form in ("csv", "pandas"):
        records = [(word, number, None, None) for word, number, _, _ in records]
    check(form, tmp_path, yes, ["VARCHAR", "INTEGER", "DOUBLE", "DECIMAL(4,1)"], records)


def test_text_that_holds_numbers(form, tmp_path):
    domain = Domain((Attribute("n", Integers(0, 2000), missing=5),))
    written = [
        "1",
        " 2 ",
        "3.5",
        "1e3",
        "+4",
        ".5",
        "1e400",
        "-7",
        "1_000",
        "0x1F",
        "inf",
        "nan",
        "12abc",
        "1,5",
        "--1",
        "1 2",
    ]
    read = [1, 2, 3.5, 1000, 4, 0.5, math.inf, -7, *[None] * 8]
    written += [
        "\t7\t",
        "5.",
        "1e-99999",
        "1e99999",
        "0" * 300 + "9",
        "9" * 400,
        "-" + "9" * 400,
        "." + "0" * 400 + "1",
        "1." + "0" * 300,
    ]
    read += [7, 5, 0, math.inf, 9, math.inf, -math.inf, 0, 1]
    rows = [(text,) for text in written]
    with table(form, tmp_path, {"n": "VARCHAR"}, rows) as source, open_table(source, domain) as engine:
        assert found(engine.counts([("n",)])[0]) == tally([(value,) for value in read], domain, ("n",))
        (report,) = engine.dry_run()
    assert (report.rows, report.missing, report.unreadable, report.outside) == (25, 1, 7, 5)


@pytest.mark.parametrize("kind", ["VARCHAR", "DOUBLE"])
def test_whole_numbers_beyond_those_of_doubles(form, kind, tmp_path):
    """Text keeps its digits, and a real that is out of range is clamped to the end of it, not before."""
    numbers = [5 * 10**16 + 1 if kind == "VARCHAR" else 5 * 10**16, 10**17, 10**18, 0, -(10**18), 3, 10**25]
    domain = Domain((Attribute("a", Integers(0, 10**17)), Attribute("b", Integers(-(10**17), 10**17), other=7)))
    rows = [(str(number) if kind == "VARCHAR" else float(number),) * 2 for number in numbers]
    with table(form, tmp_path, dict.fromkeys("ab", kind), rows) as source, open_table(source, domain) as engine:
        assert found(engine.counts([("a", "b")])[0]) == tally([(number,) * 2 for number in numbers], domain, ("a", "b"))


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
