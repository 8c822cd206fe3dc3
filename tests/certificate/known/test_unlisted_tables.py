"""Two rows for every class: when tables have them, and when not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from tests.known_worlds import one_at_a_time

from tetraodon.certificate.known.sequences import classes_of
from tetraodon.certificate.known.unlisted import UnlistedSpace, of_tables, two_rows
from tetraodon.policy.known import Known, Marginal
from tetraodon.query.contribution import One, Prefix
from tetraodon.query.linear import LinearQuery, Split, splits

CASE = one_at_a_time((2, 3, 2), Known(Marginal(("a1", "a2"))))
CLASSES = classes_of(CASE.graph, CASE.known)


def test_a_table_that_splits_by_more_than_what_is_known_has_two_rows_for_every_class() -> None:
    rows = two_rows(CLASSES, [LinearQuery(One(), splits(("a1", "a2", "a3")))])
    assert rows is not None
    found = of_tables(rows, Fraction(3))
    assert (found.value, found.exact) == (3 * 2 * 6, True)
    assert rows.other(0, CLASSES.codes(0)) == {"a1": 0, "a2": 0, "a3": 1}


def test_tables_that_do_not_tell_the_classes_apart_or_nothing_more_have_not() -> None:
    assert two_rows(CLASSES, [LinearQuery(One(), splits(("a1", "a3")))]) is None
    assert two_rows(CLASSES, [LinearQuery(One(), splits(("a1", "a2")))]) is None
    assert two_rows(CLASSES, [LinearQuery(One(), (*splits(("a1", "a2")), Split("a3", (0, 0))))]) is None
    assert two_rows(CLASSES, [LinearQuery(Prefix("a3", 2, 2), splits(("a1", "a2")))]) is None


def test_what_one_move_does_is_told_for_all_alike() -> None:
    space = UnlistedSpace(CLASSES, 1, 5, 3)
    assert space.diameters.tolist() == [1] * 6
    assert np.asarray(space.widest).shape == (6, 6)
    assert (space.most_in_a_cycle(), space.most_in(4)) == (6, 18)
