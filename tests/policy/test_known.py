"""Known facts: what they count, and everything that is wrong with one is told with its fix."""

from __future__ import annotations

import numpy as np
import pytest

from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.errors import PolicyError
from tetraodon.policy.known import CountWhere, Known, Marginal, Rectangle, check_known, known_names, known_query, labels

DOMAIN = Domain(
    (
        Attribute("x", Integers(1, 6)),
        Attribute("y", Integers(1, 4)),
        Attribute("sex", Categories(("Female", "Male")), other=0),
    )
)
CELLS = np.arange(DOMAIN.size)


def test_every_cell_is_counted_in_one_row_of_a_table_and_in_no_row_outside_a_count() -> None:
    for known in (Known(Marginal(("sex", "x"))), Known(CountWhere("x = 1 or y = 2")), Known(Rectangle((("x", 2, 3),)))):
        query = known_query(known, DOMAIN)
        label = labels(known, DOMAIN, CELLS)
        matrix, _ = query.matrix(DOMAIN)
        for row in range(len(matrix)):
            assert (matrix[row] == (label == row)).all()


def test_only_the_attributes_that_are_looked_at_matter() -> None:
    assert known_names([Known(CountWhere("y = 2")), Known(Marginal(("sex",)))], DOMAIN) == ("y", "sex")


def test_answers_fit_their_question() -> None:
    with pytest.raises(PolicyError, match="3 answers where the domain has 2"):
        check_known([Known(Marginal(("sex",)), (1, 2, 3))], DOMAIN)
    with pytest.raises(PolicyError, match="below zero"):
        Known(CountWhere("x = 1"), (-1,))
    with pytest.raises(PolicyError, match="once"):
        Rectangle(())


@pytest.mark.parametrize(
    "known",
    [
        [Known(Marginal(("sex",)), (4, 5)), Known(Marginal(("y",)), (1, 1, 1, 1))],
        [Known(CountWhere("x <= 3"), (2,)), Known(CountWhere("x <= 2"), (3,))],
        [Known(CountWhere("x = 1 and x = 2"), (1,))],
        [Known(Marginal(("sex",)), (0, 5)), Known(CountWhere("sex = 'Female' and x = 1"), (1,))],
    ],
)
def test_contradictions_are_found(known: list[Known]) -> None:
    with pytest.raises(PolicyError, match="contradict"):
        check_known(known, DOMAIN)


def test_figures_that_fit_are_accepted() -> None:
    check_known(
        [Known(Marginal(("sex",)), (4, 5)), Known(CountWhere("x = 1"), (4,)), Known(CountWhere(""), (9,))], DOMAIN
    )
