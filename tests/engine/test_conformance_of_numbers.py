"""Numbers in every form of table, however large or fine: every engine finds what plain Python finds."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from tests.engine.oracle import tally
from tests.engine.tables import AGE, check, found, table

from tetraodon.domain import Attribute, Domain, Grid, Integers
from tetraodon.engine import open_table
from tetraodon.errors import TableError

NARROW = ("toy", "postgres", "spark")
"""Forms whose engine does not multiply whole numbers of more than 64 bits exactly."""


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


@pytest.mark.parametrize("kind", ["DOUBLE", "DECIMAL(9,2)", "FLOAT", "VARCHAR", "INTEGER"])
def test_decimals_where_whole_numbers_are_declared(form, kind, tmp_path):
    texts = ["1", "2.5", "3.00", "-0.25", "70", "71.5", "0", None]
    if kind == "VARCHAR":
        texts += ["4.", "25e-1", "1e400", "x", " 7.5 ", "NA"]
    if kind in ("DOUBLE", "FLOAT"):
        texts += ["1e30", "-1e30"]
    make = {"DOUBLE": float, "FLOAT": float, "VARCHAR": str, "INTEGER": lambda text: int(float(text))}.get(
        kind, Decimal
    )
    records = [(None if text is None else make(text),) * 2 for text in texts]
    domain = Domain((AGE, Attribute("grid", Grid(Fraction(0), Fraction(9), Fraction(1)))))
    with table(form, tmp_path, {"age": kind, "grid": kind}, records) as source, open_table(source, domain) as engine:
        age, grid = engine.dry_run()
    assert (age.fractional, grid.fractional) == ({"INTEGER": 0, "VARCHAR": 5}.get(kind, 3), 0)
    assert not age.fits


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
