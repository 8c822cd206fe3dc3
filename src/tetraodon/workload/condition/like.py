"""Patterns of SQL's `like` as regular expressions, which RE2 matches in a time that grows with the text alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from tetraodon.arrays import Bools
from tetraodon.errors import QueryError

LONGEST = 1000
"""The letters of the longest pattern."""


def like_regex(pattern: str, escape: str = "") -> str:
    """A `like` pattern as a regular expression in which `.` is any letter: `%` is anything, `_` one letter.

    Why   backtracking takes a time exponential in the number of `%`, in Python's `re` and in DuckDB's `like`. RE2 does
          not backtrack. Of a run of wildcards only how many `_` and whether a `%` is in it matters.

    >>> like_regex("a%_%_b.")
    'a...*b\\\\.'
    >>> like_regex("50!%", "!")
    '50%'
    """
    if len(pattern) > LONGEST or len(escape) > 1:
        raise QueryError("the pattern of `like` is too long", fix=f"write at most {LONGEST:,} letters")
    letters, rest = [], iter(pattern)
    for letter in rest:
        escaped = escape and letter == escape
        letters.append((next(rest, letter), False) if escaped else (letter, letter in "%_"))
    parts = []
    for wild, run in groupby(letters, key=lambda pair: pair[1]):
        text = "".join(letter for letter, _ in run)
        parts.append("." * text.count("_") + ".*" * ("%" in text) if wild else re.escape(text))
    return "".join(parts)


def like(texts: Sequence[str], pattern: str, escape: str = "") -> Bools:
    """Which of some texts are like a pattern.

    >>> like(["Bonn", "Berlin"], "B%n_").tolist()
    [True, False]
    """
    import pyarrow
    from pyarrow import compute

    regex = rf"(?s)\A(?:{like_regex(pattern, escape)})\z"
    found = compute.match_substring_regex(pyarrow.array(texts, pyarrow.string()), regex)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.bool_)
