"""Figures are read back as they were written, and their pages hold every number."""

from __future__ import annotations

import json

import numpy as np

from reproduce.figure import Check, Figure, Table, figure_of, lines, mean_over_ranges
from reproduce.page import table_lines


def test_a_figure_survives_its_document():
    chart = lines("n", "t", [{"a": 1, "b": 2, "c": "x"}], x="a", y="b", series="c")
    figure = Figure("made up", (Table("t", ("a", "b"), ((1, 2.5),)),), (chart,), (Check("so", True),))
    assert figure_of(json.loads(json.dumps(figure.document()))) == figure


def test_the_error_of_ranges_is_that_of_their_sums():
    wrong = np.array([1.0, -2.0, 4.0])
    ends = np.array([[0, 0], [0, 2], [1, 2]])
    assert mean_over_ranges(wrong, ends) == (1 + 9 + 4) / 3


def test_numbers_are_shown_with_the_digits_that_count():
    assert table_lines(Table("t", ("a", "b"), ((12345, 0.123456),)))[-1] == "| 12,345 | 0.1235 |"
