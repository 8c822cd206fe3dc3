"""One record decides nothing about how others are read: a table's counts are the sum of those of its rows.

Tables of random types, values and sizes in the forms that need no server. Postgres, Spark, spreadsheets and files of
statistics packages are held to the same by `tests/engine/test_conformance_of_rows.py`.

python -m scripts.audit.reading --cases 5000 --seed 3
"""

from __future__ import annotations

import datetime as dt
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pandas

from scripts.audit.audit import Finding, run_cases
from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.engine import open_table
from tetraodon.errors import TetraodonError

FORMS = ("csv", "parquet", "pandas", "polars", "lazy", "arrow", "duckdb", "relation")
COLLATIONS = ("", " COLLATE NOCASE", " COLLATE NOACCENT", " COLLATE NOCASE.NOACCENT")
TEXTS = (
    *("a", "A", "e", "é", "E", " a", "a ", "ß", "ss", "", "'", '"', ",", "\n", "a\x00b", "\u200b"),
    *("1", "1.0", "01", "1e0", "+1", "-0", "9" * 40, "0x1F", "nan", "inf", "true", "TRUE", "yes"),
    *("2020-01-02", "2020-1-2", "2020-02-30"),
)
ALIKE = (("a", "A", " a", "a "), ("e", "é", "E"), ("1", "1.0", "01", "1e0"), ("true", "TRUE", "yes"), ("ss", "ß"))
"""Texts that some collation, or some reader, takes for one."""
INTEGERS = (0, 1, 2, 9, 10, -1, 255, 2**31, 2**53 + 1, 2**63 - 1, -(2**63))
REALS = (0.0, -0.0, 0.1, 0.05, 1.0, 1.5, 2.0, 1e15, 1e16, 1e308, -1e308, 5e-324, float("nan"), float("inf"))
DECIMALS = tuple(map(Decimal, ("0", "1", "1.00", "1.50", "-1", "0.01", "2", "99999.99")))
DAYS = (dt.date(2020, 1, 2), dt.date(2020, 1, 9), dt.date.max, dt.date.min, dt.date(1969, 12, 31))
MOMENTS = (dt.datetime(2020, 1, 2, 12), dt.datetime(2020, 1, 2), dt.datetime(2262, 4, 12), dt.datetime(1, 1, 1, 1))
Row = Sequence[Any]


def column(dice: random.Random) -> tuple[str, Sequence[Any]]:
    """A type of DuckDB, and values for it."""
    kinds: list[tuple[str, Sequence[Any]]] = [
        (f"VARCHAR{dice.choice(COLLATIONS)}", dice.choice([TEXTS, *ALIKE])),
        ("BIGINT", INTEGERS),
        ("DOUBLE", REALS),
        ("FLOAT", [x for x in REALS if not 1e38 < abs(x) < float("inf")]),
        ("DECIMAL(9,2)", DECIMALS),
        ("BOOLEAN", (True, False)),
        ("DATE", DAYS),
        ("TIMESTAMP", MOMENTS),
        ("TIMESTAMPTZ", [moment.replace(tzinfo=dt.UTC) for moment in MOMENTS]),
    ]
    kind, values = dice.choice([*kinds[:1] * 6, *kinds])
    return kind, dice.sample(values, min(4, len(values)))


def attribute(dice: random.Random, name: str) -> Attribute:
    """What the values are read as."""
    labels = tuple(dice.sample(("a", "e", "A", "1", "2", "true", "yes", "ss"), dice.randint(1, 4)))
    size = len(labels)
    trim = dice.random() < 0.5
    categories = Attribute(name, Categories((*labels, "none", "other")), missing=size, other=size + 1, trim=trim)
    return dice.choice(
        [
            *[categories] * 5,
            Attribute(name, Integers(0, 9), missing=9),
            Attribute(name, Integers(-(2**62), 2**62), missing=0),
            Attribute(name, Grid(Fraction(0), Fraction(2), Fraction(1, 10)), missing=20),
            Attribute(name, Booleans(), missing=0, other=0, separate=False),
            Attribute(name, Dates(DAYS[0], DAYS[1]), missing=7),
        ]
    )


@contextmanager
def table(form: str, folder: Path, kinds: Sequence[str], rows: Sequence[Row]) -> Iterator[Any]:
    """A table in one of the forms, as a source for `open_table`."""
    file = folder / f"table.{form}"
    file.unlink(missing_ok=True)
    with duckdb.connect(str(file) if form == "duckdb" else ":memory:") as connection:
        names = ", ".join(f"c{place} {kind}" for place, kind in enumerate(kinds))
        connection.execute(f"CREATE TABLE made ({names})")
        marks = ", ".join("(" + ", ".join("?" for _ in row) + ")" for row in rows)
        if rows:
            connection.execute(f"INSERT INTO made VALUES {marks}", [value for row in rows for value in row])
        made = connection.sql("SELECT * FROM made")
        match form:
            case "csv" | "parquet":
                connection.execute(f"COPY made TO '{file}' (FORMAT {form}{', HEADER' if form == 'csv' else ''})")
                yield file
            case "pandas":  # with types that no missing value changes
                yield made.to_arrow_table().to_pandas(types_mapper=pandas.ArrowDtype)
            case "polars":
                yield made.pl()
            case "lazy":
                yield made.pl().lazy()
            case "arrow":
                yield made.to_arrow_table()
            case "relation":
                yield made
    if form == "duckdb":
        yield f"{file}#made"


def counted(source: Any, domain: Domain) -> Counter[tuple[str, Any]]:
    """How many rows have each code of each attribute, and are amiss in each way; or that the table is refused."""
    found: Counter[tuple[str, Any]] = Counter()
    with open_table(source, domain) as engine:
        for counts in engine.counts([(), *((name,) for name in domain.names)]):
            for code, number in zip(counts.codes.tolist(), counts.counts.tolist(), strict=True):
                found["".join(counts.names), tuple(code)] += number
        for report in engine.dry_run():
            for part in ("missing", "unreadable", "outside", "fractional"):
                found[report.name, part] += getattr(report, part)
    return +found


def case(dice: random.Random, folder: Path) -> Counter[str]:
    """Make a table, and look at what one record more adds, wherever it is inserted."""
    form, looked = dice.choice(FORMS), Counter[str](cases=1)
    columns = [column(dice) for _ in range(dice.randint(1, 3))]
    domain = Domain(tuple(attribute(dice, f"c{place}") for place in range(len(columns))))
    kinds = [kind for kind, _ in columns]
    rows = [tuple(_value(dice, values) for _, values in columns) for _ in range(dice.randint(1, 6))]
    odd = tuple(_value(dice, values) for _, values in columns)

    def of(made: Sequence[Row]) -> Counter[tuple[str, Any]] | None:
        try:
            with table(form, folder, kinds, made) as source:
                return counted(source, domain)
        except TetraodonError:
            return None

    alone = [of([row]) for row in (*rows, odd)]
    place = dice.randint(0, len(rows))
    together = of([*rows[:place], odd, *rows[place:]])
    if together is None and all(one is None for one in alone):
        looked["refused by type"] += 1
        return looked
    parts = [one for one in alone if one is not None]
    if together is None or len(parts) < len(alone) or together != sum(parts, Counter[tuple[str, Any]]()):
        raise Finding(f"{form} {kinds} {domain.attributes}\n{rows}\n{odd} at {place}\n{together}\n{alone}")
    looked[form] += 1
    return looked


def _value(dice: random.Random, values: Sequence[Any]) -> Any:
    return None if dice.random() < 0.1 else dice.choice(values)


if __name__ == "__main__":
    sys.exit(run_cases(case, __doc__ or "", nullcontext))
