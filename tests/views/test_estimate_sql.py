"""The script knows every kind of attribute: its lists of values are those of the domain."""

from __future__ import annotations

from fractions import Fraction

import duckdb
import numpy as np

from tests.views.test_tuple_files import OF_ALL_TYPES as DOMAIN
from tetraodon.views.channel import SetChannel
from tetraodon.views.estimate_sql import estimate_sql
from tetraodon.views.tuple_files import column


def test_the_values_of_every_attribute_are_listed() -> None:
    script = estimate_sql("it", DOMAIN, SetChannel(Fraction(2, 3), Fraction(1, 150)))
    lines = [line for line in script.split(";\n") if "values of" in line and "CREATE" in line]
    with duckdb.connect() as connection:
        for attribute in DOMAIN:
            [line] = [line for line in lines if f'"values of {attribute.name}"' in line]
            connection.execute(line)
            found = connection.execute(f'SELECT * FROM "values of {attribute.name}"').fetchall()
            expected = column(attribute, np.arange(attribute.size)).to_pylist()
            assert [value for (value,) in found] == expected
        macros = [part for part in script.split(";\n") if "MACRO" in part]
        for macro in macros:
            connection.execute(macro)
        assert connection.execute("SELECT round(estimate(6, 549), 2)").fetchall() == [(3.51,)]
