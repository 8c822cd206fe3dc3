"""Pushes of moves are what the rows of the queries say, and the bounds are never below them."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from tests.known_worlds import random_case, random_query

from tetraodon.certificate.known.push import answer_space
from tetraodon.certificate.known.sequences import classes_of
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import Refused
from tetraodon.policy.attribute_graph import Everything
from tetraodon.policy.known import Known, Marginal
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.linear import LinearQuery
from tetraodon.query.weighted_margins import WeighedMargins


def test_one_move_pushes_the_answers_by_what_their_rows_say() -> None:
    rng = random.Random(6)
    for _ in range(80):
        case = random_case(rng)
        domain = case.graph.domain
        asked = [(random_query(rng, domain), Fraction(rng.randint(1, 5), rng.randint(1, 3))) for _ in range(2)]
        classes = classes_of(case.graph, case.known, domain.names)
        space = answer_space(classes, asked)
        rows = np.concatenate([q.matrix(domain)[0] * int(w * space.common) for q, w in asked])
        rows = np.concatenate([rows, np.zeros((len(rows), int(case.graph.absent)), np.int64)], axis=1)
        cells = np.arange(rows.shape[1])
        x, y = np.repeat(cells, len(cells)), np.tile(cells, len(cells))
        truth = np.abs(rows[:, x] - rows[:, y]).sum(axis=0)
        assert (space.apart(x, y) == truth).all()
        assert (np.abs(space.columns[:, x] - space.columns[:, y]).sum(axis=0) == truth).all()
        for a in range(classes.count):
            for b in range(classes.count):
                here = (classes.class_of[x] == a) & (classes.class_of[y] == b)
                assert space.widest[a, b] == truth[here].max()


def test_long_weights_are_refused() -> None:
    case = random_case(random.Random(1))
    query = random_query(random.Random(1), case.graph.domain)
    classes = classes_of(case.graph, case.known, case.graph.domain.names)
    with pytest.raises(Refused, match="too long"):
        answer_space(classes, [(query, Fraction(1, 3)), (query, Fraction(2**60, 7))])


def test_tables_weighed_with_their_margins_are_pushed_by_what_their_rows_say() -> None:
    domain = Domain((Attribute("a", Integers(0, 1)), Attribute("b", Integers(0, 2))))
    graph = SecretGraph(domain, (Factor(("a",), Everything(2)), Factor(("b",), Everything(3))), 2)
    query = LinearQuery(WeighedMargins(("a", "b"), (2, 3), (1, -2, -3, 16)))
    space = answer_space(classes_of(graph, (Known(Marginal(("a",))),), ("a", "b")), [(query, Fraction(1))])
    x, y = np.repeat(np.arange(6), 6), np.tile(np.arange(6), 6)
    rows = query.matrix(domain)[0]
    assert space.apart(x, y).tolist() == np.abs(rows[:, x] - rows[:, y]).sum(axis=0).tolist()
