from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest

from tetraodon.domain import Attribute, Categories, Domain, Grid, Integers
from tetraodon.engine import open_table
from tetraodon.exact.arrays import LARGEST
from tetraodon.query.kinds import histogram, linear, total
from tetraodon.releases.counting import added_by, exact_answer, group_of

AMOUNT = Attribute("amount", Grid(Fraction(-1), Fraction(3), Fraction(1, 4)), missing=2)
HUGE = Attribute("huge", Integers(0, 2**40))
DOMAIN = Domain((AMOUNT, Attribute("sex", Categories(("f", "m")), other=0), HUGE))
TABLE = pl.DataFrame(
    {"amount": [0.25, -9.0, None, 2.75, 3.0], "sex": ["f", "m", "f", "m", "m"], "huge": [2**35, 0, 1, 2, 2**40]}
)


@pytest.mark.parametrize(
    "query", [total("amount"), total("amount", by=["sex"]), total("huge", by=["sex"]), histogram("sex"), total("huge")]
)
def test_sums_made_by_the_engine_are_those_of_the_counts(query):
    asked = linear(query, DOMAIN)
    with open_table(TABLE, DOMAIN) as engine:
        [plain] = engine.counts([asked.names])
        [counts] = engine.counts([group_of(asked)], added_by([asked]))
    assert exact_answer(asked, DOMAIN, counts).tolist() == asked.evaluate(DOMAIN, plain.codes, plain.counts).tolist()


def test_what_the_engine_adds_up():
    assert added_by(linear(q, DOMAIN) for q in (total("amount"), total("huge"), histogram("sex"))) == {(): ["amount"]}
    assert group_of(linear(total("amount", by=["sex"]), DOMAIN)) == ("sex",)
    assert group_of(linear(total("huge", by=["sex"]), DOMAIN)) == ("sex", "huge")


def test_a_sum_that_is_too_long_is_cut_off():
    wide = Attribute("wide", Grid(Fraction(10**18), Fraction(10**18 + 10), Fraction(1)))
    domain = Domain((wide,))
    asked = linear(total("wide"), domain)
    with open_table(pl.DataFrame({"wide": [10**18] * 5}), domain) as engine:
        [counts] = engine.counts([()], {(): ["wide"]})
    assert exact_answer(asked, domain, counts).tolist() == [LARGEST]
