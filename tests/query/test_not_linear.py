"""What is no sum over records is never asked what a record adds: each says so, and what to do."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tetraodon.domain import Attribute, Integers
from tetraodon.errors import QueryError, Refused, TetraodonError
from tetraodon.query.adaptive_partition import Divided
from tetraodon.query.aim import ChosenTables
from tetraodon.query.contribution import NotLinear
from tetraodon.query.edge_flows import FlowLine, Flows
from tetraodon.query.linear import Split
from tetraodon.query.local_log_noise import Disguised
from tetraodon.query.number import EachPerson
from tetraodon.query.ranks import Ranks

LINE = FlowLine(4, Fraction(1))
ONE_OF_EACH: dict[type[NotLinear], tuple[NotLinear, type[TetraodonError], str]] = {
    Ranks: (Ranks("x", 9, (Fraction(1, 2),)), QueryError, "chosen by rank"),
    Divided: (Divided(("x",), (9,)), QueryError, "divided parts"),
    ChosenTables: (ChosenTables((Split("x"), Split("y")), (2, 3), 1), QueryError, "tables that are chosen"),
    Disguised: (Disguised(Attribute("x", Integers(1, 9))), QueryError, "shown with noise"),
    EachPerson: (EachPerson(), Refused, "no matter of single rows"),
    Flows: (Flows(("x", "y"), LINE, LINE), Refused, "all records only"),
}


def test_all_are_here() -> None:
    assert set(NotLinear.__subclasses__()) == set(ONE_OF_EACH)


@pytest.mark.parametrize("kind", ONE_OF_EACH)
def test_what_a_record_adds_has_no_meaning(kind: type[NotLinear]) -> None:
    one, error, words = ONE_OF_EACH[kind]
    x = np.zeros(1, np.int64)
    for ask in (lambda: one.alone(x), lambda: one.apart(x, x), lambda: one.potential(x), one.columns):
        with pytest.raises(error, match=f"{words}.* Fix: ") as refused:
            ask()
        assert type(refused.value) is error
