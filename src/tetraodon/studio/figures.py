"""Figures of a text: what it promises and costs, and releases that could come out of it, as numbers to draw."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tetraodon.errors import TetraodonError
from tetraodon.exact.rational import decimal_text
from tetraodon.policy.words import chance, odds, times
from tetraodon.releases.answer import Answer
from tetraodon.releases.plan import Plan
from tetraodon.releases.planning import error_in_words
from tetraodon.releases.report import value_column
from tetraodon.releases.simulated import simulate
from tetraodon.studio.workbench import held_of, plan_of

MOST_POINTS = 300
"""How many numbers of an answer are drawn."""


def figures(text: str, folder: Path = Path()) -> dict[str, Any]:
    """What a text promises and costs: odds and guesses of one step, and the error of every item beside plain DP."""
    for problem in held_of(text, folder).problems:
        if problem.path[:1] == ("budget",):  # an epsilon that was filled in would be taken for the file's
            return {"items": [], "problem": f"{problem.what}. Fix: {problem.fix}.", "epsilon": None}
    found = plan_of(text, folder)
    if found is None or isinstance(found, TetraodonError):
        return {"items": [], "problem": "" if found is None else str(found), "epsilon": None}
    policy = found.policy
    return {
        "problem": "",
        "epsilon": decimal_text(policy.epsilon),
        "odds": times(odds(policy.epsilon, 1)),
        "guessers": guessers(policy.epsilon),
        "items": [
            {
                "name": item.name,
                "asked": item.item.asked,
                "error": item.expected_error,
                "plain": item.baseline_error,
                "told": error_in_words(item.expected_error, item.item.query.unit(policy.domain)),
                "told_plain": error_in_words(item.baseline_error, ""),
            }
            for item in found
        ],
    }


def guessers(epsilon: Fraction) -> int:
    """Of a hundred people who guess between two values one step apart, how many can be right at most.

    >>> guessers(Fraction(1))
    74
    """
    return math.ceil(100 * chance(epsilon, 1))


def simulated(plan: Plan, shape: str, n: int) -> dict[str, Any]:
    """Three releases that could come out, and the truth about the made-up people, as numbers to draw."""
    found = simulate(plan, shape, n)
    items = []
    for name in found.truth.answers:
        drawn = [_numbers(one[name]) for one in (found.truth, *found.releases)]
        every = max(1, -(-len(drawn[0]) // MOST_POINTS))
        truth, *releases = (numbers[::every] for numbers in drawn)
        items.append({"name": name, "truth": truth, "releases": releases})
    return {"people": n, "shape": shape, "items": items}


def _numbers(answer: Answer) -> list[float]:
    """What is drawn of an answer: its numbers; of histograms and running counts the table, which needs no interval."""
    values = answer.values
    if values is None or answer.kind not in ("histogram", "cdf"):
        return [float(number) for number in answer.columns[value_column(answer.columns)]]
    longest = int(np.argmax(values.shape))
    along = np.moveaxis(values, longest, -1)  # one line for each group, one behind the other
    drawn = np.cumsum(along, axis=-1) if answer.kind == "cdf" else along
    return [float(number) for number in drawn.ravel()]
