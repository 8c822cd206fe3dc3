"""The counts of a table are the sum of those of its rows, in every form: no record decides how another is read.

Rows that are usual stand beside odd ones in every order, and in tables of their own.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pyreadstat
import pytest
from tests.engine.tables import postgres_table, table
from tests.services import forms

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.engine import Individuals, open_table
from tetraodon.engine.frames import spelt

Row = Sequence[Any]
Build = Callable[[list[Row]], AbstractContextManager[Any]]
DAYS = Dates(dt.date(2020, 1, 1), dt.date(2020, 1, 9))
DAY, NOON = dt.date(2020, 1, 2), dt.datetime(2020, 1, 2, 12)
FAR = 2**62


def label(*labels: str) -> Attribute:
    size = len(labels)
    return Attribute("x", Categories((*labels, "none", "other")), missing=size, other=size + 1)


LETTER, ONE = label("a", "e"), label("1", "2")
WHOLE = Attribute("x", Integers(0, 9), missing=9)
GRID = Attribute("x", Grid(Fraction(0), Fraction(2), Fraction(1, 10)), missing=20)
TRUTH = Attribute("x", Booleans(), missing=0, other=0, separate=False)
DATE = Attribute("x", DAYS, missing=8)


def counted(source: Any, domain: Domain, apart: int) -> Counter[tuple[str, Any]]:
    """How many rows have each code of each attribute, and how many are amiss in each way.

    The first ones are counted on their own: beside others, values that are taken for one may be apart all the same.
    """
    found: Counter[tuple[str, Any]] = Counter()
    with open_table(source, domain) as engine:
        singles = [(name,) for name in domain.names]
        found_alone = [engine.counts([group])[0] for group in singles[:apart]]
        for counts in found_alone + engine.counts([(), *singles[apart:]]):
            for code, number in zip(counts.codes.tolist(), counts.counts.tolist(), strict=True):
                found["".join(counts.names), tuple(code)] += number
        for report in engine.dry_run():
            for part in ("missing", "unreadable", "outside"):
                found[report.name, part] += getattr(report, part)
    return +found


def check_sum(build: Build, attributes: Sequence[Attribute], usual: list[Row], odd: list[Row], apart: int = 99) -> None:
    """The odd rows in front, in the middle and at the end add what they count as in tables of their own."""
    domain = Domain(tuple(Attribute(**_fields(one) | {"name": f"c{place}"}) for place, one in enumerate(attributes)))

    def of(rows: list[Row]) -> Counter[tuple[str, Any]]:
        with build(rows) as source:
            return counted(source, domain, apart)

    alone = sum((of([row]) for row in [*usual, *odd]), Counter())
    half = len(usual) // 2
    for rows in ([*odd, *usual], [*usual[:half], *odd, *usual[half:]], [*usual, *odd]):
        assert of(rows) == alone


def _fields(attribute: Attribute) -> dict[str, Any]:
    return {field: getattr(attribute, field) for field in ("values", "missing", "other", "separate")}


COLUMNS: list[tuple[str, Attribute, list[Any], list[Any]]] = [
    ("VARCHAR COLLATE NOCASE", LETTER, ["a", "a", "e"], ["A", "a ", None]),
    ("VARCHAR COLLATE NOACCENT", LETTER, ["e", "e", "a"], ["é", "E", ""]),
    ("VARCHAR COLLATE NOCASE", TRUTH, ["yes", "no", "1"], ["YES", "yes ", "TRUE"]),
    ("VARCHAR COLLATE NOCASE", WHOLE, ["1", "2", "3"], ["1e0", "0x1F", "9" * 400]),
    ("VARCHAR COLLATE NOACCENT", DATE, ["2020-01-02", "2020-01-02t10:00", "2020-01-09"], ["2020-02-30", "-", "2020"]),
    ("CHAR(5)", LETTER, ["a", "a", "e"], ["a ", " a", "A"]),
    ("NUMERIC", ONE, [Decimal(1), Decimal(1), Decimal(2)], [Decimal("1.0"), Decimal("2.00"), Decimal("1.5")]),
    ("NUMERIC", TRUTH, [Decimal(1), Decimal(0), Decimal(1)], [Decimal("1.0"), Decimal("0.00"), Decimal("0.5")]),
    ("NUMERIC", GRID, [Decimal(1), Decimal("0.1"), Decimal(2)], [Decimal("1.0"), Decimal("0.10"), Decimal(-99)]),
    ("DECIMAL(9,2)", ONE, [Decimal(1), Decimal(2), None], [Decimal("1.50"), Decimal("-1"), Decimal("1.00")]),
    ("BIGINT", WHOLE, [1, 2, 3], [2**63 - 1, -(2**63), None]),
    ("BIGINT", ONE, [1, 2, 1], [2**63 - 1, 0, -1]),
    ("DOUBLE", GRID, [0.1, 1.0, 2.0], [float("nan"), float("inf"), -0.0]),
    ("DOUBLE", ONE, [1.0, 2.0, 1.0], [float("nan"), -1e308, 5e-324]),
    ("FLOAT", GRID, [0.5, 1.0, 2.0], [float("-inf"), 3e38, -0.0]),
    ("BOOLEAN", TRUTH, [True, False, True], [None, True, False]),
    ("DATE", DATE, [DAY, DAY, None], [dt.date.max, dt.date.min, DAY]),
    ("TIMESTAMP", DATE, [NOON, NOON, None], [dt.datetime.max, dt.datetime(1, 1, 1), NOON]),
    (
        "TIMESTAMPTZ",
        DATE,
        [NOON.replace(tzinfo=dt.UTC), NOON.replace(tzinfo=dt.timezone(dt.timedelta(hours=-13))), None],
        [NOON.replace(year=9999, tzinfo=dt.UTC), NOON.replace(year=2, tzinfo=dt.UTC), NOON.replace(tzinfo=dt.UTC)],
    ),
]


def test_every_type_in_every_form(form: str, tmp_path: Path) -> None:
    kinds = {f"c{place}": kind for place, (kind, *_) in enumerate(COLUMNS)}

    @contextmanager
    def build(rows: list[Row]) -> Iterator[Any]:
        folder = tmp_path / str(sum(1 for _ in tmp_path.iterdir()))
        folder.mkdir()
        with table(form, folder, kinds, rows) as source:
            yield source

    usual, odd = (list(zip(*(column[part] for column in COLUMNS), strict=True)) for part in (2, 3))
    attributes = [attribute for _, attribute, *_ in COLUMNS]
    if form == "spark":  # a cluster takes its time for every query
        check_sum(build, attributes, usual[:1], odd[:1], apart=2)
    else:
        check_sum(build, attributes, usual, odd)


def test_collations_of_a_connection_and_of_a_key() -> None:
    """Texts that a relation's connection calls equal are different values, keys and names."""
    with duckdb.connect() as connection:
        connection.execute("SET default_collation = 'NOCASE'")
        words = ["a", "A", "A", "b", "B"]
        made = connection.sql(f"SELECT x, x AS who, x IN ('b') AS sure FROM (SELECT unnest({words}) AS x)")
        domain = Domain((label("a", "b"), Attribute("sure", Categories(("true", "TRUE", "false")), other=1)))
        with open_table(made, domain, open_text=["who"]) as engine:
            assert engine.counts([("x",)])[0].counts.tolist() == [1, 1, 3]
            assert engine.counts([("sure",)])[0].codes.tolist() == [[0], [2]]
            assert engine.names("who", longest=9, trim=False) == {"a": 1, "A": 2, "b": 1, "B": 1}
        with open_table(made, domain, Individuals("who", 1), open_text=["who"]) as engine:
            assert engine.counts([("x",)])[0].counts.tolist() == [1, 1, 1]
            assert engine.names("who", longest=9, trim=False) == {"a": 1, "b": 1, "B": 1}


@pytest.mark.parametrize("form", forms("duckdb", "relation", "postgres", "spark"))
def test_keys_are_compared_byte_by_byte(form: str, tmp_path: Path) -> None:
    records = [("Ann", 1), ("ann", 2), ("Bob", 3), ("Bob", 4)]
    columns = {"who": "VARCHAR COLLATE NOCASE", "x": "INTEGER"}
    with table(form, tmp_path, columns, records) as source, open_table(source, Domain((WHOLE,)), ALONE) as engine:
        assert engine.counts([("x",)])[0].codes.tolist() == [[1], [2]]


ALONE = Individuals("who", 1)
BROKEN = b"\xff\xfe"


def strings(cells: Sequence[bytes | None]) -> pyarrow.Array:
    """Texts as they are, UTF-8 or not."""
    made = pyarrow.array(cells, pyarrow.binary())
    return pyarrow.StringArray.from_buffers(len(cells), *made.buffers()[1:], made.buffers()[0])


def moments(unit: str, zone: str | None = None) -> Callable[[Sequence[Any]], pyarrow.Array]:
    return of_type(pyarrow.timestamp(unit, zone))


POSTGRES: list[tuple[str, Attribute, list[str], list[str]]] = [
    ("date", DATE, ["2020-01-02", "2020-01-02"], ["infinity", "-infinity", "5874897-12-31", "4713-01-01 BC"]),
    (
        "timestamp",
        DATE,
        ["2020-01-02", "2020-01-02"],
        ["infinity", "-infinity", "294276-12-31 23:59:59.999999", "1-1-1 BC"],
    ),
    (
        "timestamptz",
        DATE,
        ["2020-01-02", "2020-01-02"],
        ["infinity", "-infinity", "294276-12-31 23:59:59Z", "1-1-1 BC"],
    ),
    ("numeric", GRID, ["1", "0.1"], ["NaN", "Infinity", "1e9999", "1e-9999"]),
    ("numeric", ONE, ["1", "1"], ["NaN", "-Infinity", "1.000", "9e9999"]),
    ("numeric(9, 2)", TRUTH, ["1", "0"], ["NaN", "1.00", "0.5", "-1"]),
    ("numeric(20, 0)", WHOLE, ["1", "2"], ["NaN", "99999999999999999999", "-1", "0"]),
    ("float8", ONE, ["1", "1"], ["NaN", "-0", "1e308", "-Infinity"]),
    ("float4", GRID, ["1", "0.1"], ["NaN", "-0", "3e38", "Infinity"]),
    ("char(5)", LETTER, ["a", "a"], ["a  ", " a", "A", ""]),
    ("text COLLATE house.noaccent", LETTER, ["e", "e"], ["é", "E", "e ", ""]),
    ("text", WHOLE, ["1", "2"], ["1e-400", "9" * 9999, "infinity", "1e+99999"]),
]


@pytest.mark.parametrize("_", forms("postgres"))
def test_values_that_postgres_alone_has(_: str) -> None:
    def build(rows: list[Row]) -> AbstractContextManager[Any]:
        return nullcontext(postgres_table({f"c{place}": kind for place, (kind, *_) in enumerate(POSTGRES)}, rows))

    usual, odd = (list(zip(*(column[part] for column in POSTGRES), strict=True)) for part in (2, 3))
    check_sum(build, [attribute for _, attribute, *_ in POSTGRES], usual, odd)


def of_type(kind: pyarrow.DataType) -> Callable[[Sequence[Any]], pyarrow.Array]:
    return lambda cells: pyarrow.array(cells, kind)


SECOND = 1_577_923_200
"""2020-01-02, since 1970."""
ARROW: list[tuple[Callable[[Sequence[Any]], Any], Attribute, list[Any], list[Any]]] = [
    (strings, LETTER, [b"a", b"e", None], [BROKEN, b"a" + BROKEN, b"A"]),
    (lambda cells: strings(cells).dictionary_encode(), LETTER, [b"a", b"e", None], [BROKEN, b"A", None]),
    (lambda cells: strings(cells).cast(pyarrow.large_string()), LETTER, [b"a", b"e", b"a"], [BROKEN, b"\xc3", b""]),
    *((moments("s", zone), DATE, [SECOND, SECOND, None], [FAR, -FAR, 2**63 - 1]) for zone in (None, "UTC")),
    *((moments("ms", z), DATE, [SECOND * 10**3, None, 0], [FAR, -FAR, -(2**63)]) for z in (None, "Asia/Tokyo")),
    *((moments("ms", zone), DATE, [SECOND * 10**3, None, -(2**63) + 1], [FAR, 2**63 - 1, 0]) for zone in (None, "UTC")),
    *((moments("us", z), DATE, [SECOND * 10**6, None, 0], [2**63 - 2, -(2**63) + 2, 2**63 - 1]) for z in (None, "UTC")),
    *((moments("ns", zone), DATE, [SECOND * 10**9, None, 0], [2**63 - 1, -(2**63), 1]) for zone in (None, "UTC")),
    (
        lambda ticks: pyarrow.array(ticks, pyarrow.int64()).cast(pyarrow.date64(), safe=False),
        DATE,
        [SECOND * 10**3, None, 0],
        [FAR // 86_400_000 * 86_400_000, 86_400_000 * 2**32, -FAR // 86_400_000 * 86_400_000],
    ),
    (of_type(pyarrow.decimal128(9, 2)), GRID, [Decimal("0.1"), None, Decimal(1)], [Decimal(-1), None, Decimal("1.95")]),
    (of_type(pyarrow.uint64()), WHOLE, [1, None, 2], [2**64 - 1, 0, None]),
    (of_type(pyarrow.bool_()), TRUTH, [True, None, False], [True, None, False]),
    (of_type(pyarrow.float32()), GRID, [0.1, None, 1.0], [float("inf"), float("nan"), -0.0]),
    (of_type(pyarrow.float64()), ONE, [1.0, None, 2.0], [float("inf"), float("nan"), 1e300]),
    (of_type(pyarrow.string()), GRID, ["0.5", None, "1"], ["0x1", "nan", "1e999"]),
    (of_type(pyarrow.date32()), DATE, [18263, None, 0], [2**31 - 1, -(2**31), 2**31 - 2]),
    (of_type(pyarrow.float16()), GRID, [0.5, None, 1.0], [float("nan"), 65504.0, -0.0]),
    (
        of_type(pyarrow.decimal256(76, 1)),
        GRID,
        [Decimal("0.5"), None, Decimal(1)],
        [Decimal(10**70), Decimal("-0.1"), Decimal("1.0")],
    ),
]


NOT_IN_PARQUET = ("timestamp[s]", "timestamp[s, tz=UTC]", "date64[ms]", "decimal256(76, 1)")


def arrow(columns: Sequence[Any], rows: list[Row]) -> pyarrow.Table:
    cells = zip(*rows, strict=True)
    made = [make(list(values)) for (make, *_), values in zip(columns, cells, strict=True)]
    return pyarrow.table({f"c{place}": column for place, column in enumerate(made)})


@pytest.mark.parametrize("form", ["arrow", "parquet", "files"])
def test_cells_that_duckdb_cannot_read(form: str, tmp_path: Path) -> None:
    kinds = arrow(ARROW, [[usual[0] for *_, usual, _ in ARROW]]).schema.types
    columns = [
        one for one, kind in zip(ARROW, kinds, strict=True) if form == "arrow" or str(kind) not in NOT_IN_PARQUET
    ]

    def build(rows: list[Row]) -> AbstractContextManager[Any]:
        if form == "arrow":
            return nullcontext(arrow(columns, rows))
        folder = tmp_path / str(sum(1 for _ in tmp_path.iterdir()))
        folder.mkdir()
        for place, part in enumerate([rows] if form == "parquet" else [[row] for row in rows]):
            pyarrow.parquet.write_table(arrow(columns, part), folder / f"{place}.parquet")
        return nullcontext(str(folder / "*.parquet"))

    usual, odd = (list(zip(*(column[part] for column in columns), strict=True)) for part in (2, 3))
    check_sum(build, [attribute for _, attribute, *_ in columns], usual, odd)


def test_moments_beyond_microseconds_in_a_table_of_duckdb(tmp_path: Path) -> None:
    columns = [one for one in ARROW if one[1] is DATE]
    usual, odd = (list(zip(*(column[part] for column in columns), strict=True)) for part in (2, 3))
    kept = [place for place, kind in enumerate(arrow(columns, usual).schema.types) if getattr(kind, "tz", None) is None]
    columns, usual = [columns[p] for p in kept], [[row[p] for p in kept] for row in usual]

    def build(rows: list[Row]) -> AbstractContextManager[Any]:
        path = tmp_path / f"{sum(1 for _ in tmp_path.iterdir())}.duckdb"
        with duckdb.connect(str(path)) as connection:
            given = arrow(columns, rows)  # noqa: F841
            connection.execute("CREATE TABLE people AS SELECT * FROM given")
        return nullcontext(f"{path}#people")

    check_sum(build, [DATE] * len(columns), usual, [[row[p] for p in kept] for row in odd])


@pytest.mark.parametrize("lazy", [False, True])
def test_numbers_and_moments_of_polars(lazy: bool) -> None:
    schema = {"c0": polars.Int128, "c1": polars.UInt128, "c2": polars.Int128, "c3": polars.Datetime("ms")}
    schema |= {"c4": polars.Datetime("ms", "UTC"), "c5": polars.Categorical, "c6": polars.Float16}
    usual: list[Row] = [(1, 2, 1, SECOND * 10**3, SECOND * 10**3, "a", 0.5), (3, 4, 2, None, None, "e", 1.0)]
    odd: list[Row] = [(2**127 - 1, 2**128 - 1, -(2**127), FAR, -FAR, "A", 65504.0), (None,) * 7]

    def build(rows: list[Row]) -> AbstractContextManager[Any]:
        ticks = {name: polars.Int64 if isinstance(kind, polars.Datetime) else kind for name, kind in schema.items()}
        frame = polars.DataFrame(rows, schema=ticks, orient="row").cast(schema)
        return nullcontext(frame.lazy() if lazy else frame)

    check_sum(build, [WHOLE, WHOLE, ONE, DATE, DATE, LETTER, GRID], usual, odd)


def test_cells_of_pandas() -> None:
    whole = [10**5000, -(10**5000), 2**70]
    fixed = [Decimal("sNaN"), Decimal("1e999999999"), Decimal("-1e-999999999")]
    assert [spelt(cell) for cell in (*fixed, Decimal("0e999"), Decimal("-Infinity"))] == [
        None,
        "1e400",
        "0",
        "0",
        "-1e400",
    ]
    usual: list[Row] = [(1, 1, SECOND, SECOND, "a", 1), (2, Decimal(2), None, None, "e", 2)]
    odd: list[Row] = list(zip(whole, fixed, [FAR, -FAR, 0], [FAR, -FAR, 0], ["A", "\ud800", None], "xyz", strict=True))

    def build(rows: list[Row]) -> AbstractContextManager[Any]:
        first, second, third, fourth, fifth, sixth = (list(cells) for cells in zip(*rows, strict=True))
        naive = pandas.Series(third, dtype="Int64").astype("int64[pyarrow]").astype(pandas.ArrowDtype(SECONDS))
        zoned = pandas.Series(fourth, dtype="Int64").astype("int64[pyarrow]").astype(pandas.ArrowDtype(IN_UTC))
        objects = (pandas.Series(cells, dtype=object) for cells in (first, second, fifth))
        made = [*objects, naive, zoned, pandas.Series(pandas.Categorical(sixth))]
        return nullcontext(pandas.DataFrame({f"c{place}": series for place, series in enumerate(made)}))

    check_sum(build, [WHOLE, GRID, LETTER, DATE, DATE, ONE], usual, odd)


SECONDS, IN_UTC = pyarrow.timestamp("s"), pyarrow.timestamp("s", "UTC")


def sheet(path: Path, rows: list[Row]) -> Path:
    book = openpyxl.Workbook()
    for place, title in enumerate(("c0", "c1", "c2")):
        book.active.cell(1, place + 1, title)
    for number, row in enumerate(rows, 2):
        for place, (cell, form) in enumerate(row, 1):
            book.active.cell(number, place, cell).number_format = form
    book.save(path)
    return path


def test_rows_of_a_sheet(tmp_path: Path) -> None:
    """Blank rows, and moments and durations beyond those of Python: a blank row is no record wherever it is."""
    plain, day, long = "General", "yyyy-mm-dd", "[h]:mm"
    usual: list[Row] = [((1, plain), (DAY, day), ("a", plain)), ((2, plain), (None, day), (None, plain))]
    odd: list[Row] = [
        ((None, plain),) * 3,
        ((1e300, plain), (1e12, day), (1e12, long)),
        ((None, plain), (-5, day), (" ", plain)),
        ((None, day),) * 3,
        ((None, plain), (None, plain), ("A", plain)),
        ((None, plain),) * 3,
    ]
    names = iter(range(99))
    check_sum(
        lambda rows: nullcontext(str(sheet(tmp_path / f"{next(names)}.xlsx", rows))),
        [WHOLE, DATE, LETTER],
        usual,
        odd,
    )


WRITERS: dict[str, Callable[..., None]] = {
    "sav": partial(pyreadstat.write_sav, variable_format={"c0": "DATE11", "c1": "DATETIME20", "c2": "F8.2"}),
    "dta": partial(pyreadstat.write_dta, variable_format={"c0": "%td", "c1": "%tc", "c2": "%9.0g"}),
    "old.dta": partial(pyreadstat.write_dta, version=12, variable_format={"c0": "%td", "c1": "%tc"}),
    "xpt": partial(pyreadstat.write_xport, variable_format={"c0": "DATE", "c1": "DATETIME"}),
}
SINCE = {"sav": (13_797_129_600.0, 13_797_129_600.0)} | dict.fromkeys(
    ("dta", "old.dta"), (21916.0, 1_893_542_400_000.0)
)
SINCE |= {"xpt": (21916.0, 1_893_542_400.0)}
"""2020-01-02 in these files, as a day and as a moment."""


LARGEST = {"sav": 1.7e308, "dta": 8.9e307, "old.dta": 8.9e307, "xpt": 1e70}


@pytest.mark.parametrize("ending", WRITERS)
def test_cells_of_statistics_files(ending: str, tmp_path: Path) -> None:
    """Days beyond the year 9999, and texts that are not in the file's encoding: 0x81 is no letter of any."""
    day, moment = SINCE[ending]
    usual: list[Row] = [(day, moment, 1.0, "a", "ab"), (None, None, None, "e", "ü"), (day, moment, 2.0, "", "ü")]
    odd: list[Row] = [
        (1e9, LARGEST[ending], 1e300, "##", "##"),
        (-1e9, -1e300, -5.0, "A", None),
        (day, moment, 0.5, None, "##"),
    ]
    names = iter(range(99))

    def build(rows: list[Row]) -> AbstractContextManager[Any]:
        path = tmp_path / f"{next(names)}.{ending}"
        columns = dict(zip(("c0", "c1", "c2", "c3", "c4"), zip(*rows, strict=True), strict=True))
        frame = polars.DataFrame(columns, schema_overrides=dict.fromkeys(("c0", "c1", "c2"), polars.Float64))
        WRITERS[ending](frame.cast({"c3": polars.String, "c4": polars.String}), str(path))
        path.write_bytes(path.read_bytes().replace(b"##", b"\x81\xfe"))
        return nullcontext(str(path))

    written = "ü" if ending != "old.dta" else "ü".encode().decode("cp1252")
    check_sum(build, [DATE, DATE, WHOLE, LETTER, label("ab", written)], usual, odd)
