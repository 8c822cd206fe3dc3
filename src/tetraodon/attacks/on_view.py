"""Linking with a published view: who is known but for some attributes, and what the view makes of the rest.

Somebody whose known attributes leave m tuples possible has one of them. The view favours each tuple that it shows over
each that it does not, by ratios that the channel states; Bayes' rule gives what is believed after. Nothing but the
folder and the attacker's own file is read.
"""

from __future__ import annotations

import csv
import itertools
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tetraodon.domain import Domain
from tetraodon.errors import DomainError, QueryError, Refused, TableError, did_you_mean
from tetraodon.exact.arrays import Ints
from tetraodon.views.channel import SourceChannel
from tetraodon.views.tuple_files import codes_of, read_tuples
from tetraodon.views.view import View

MOST_PEOPLE = 100_000


@dataclass(frozen=True, slots=True)
class LinkingFound:
    """What linking finds: of how many people, how strong beliefs become, and how often rightly if that is known.

    Attributes
    ----------
    people:    rows of the attacker's file.
    before:    the belief in the likeliest value that a person's known attributes leave, before the view.
    strongest: the largest belief after it.
    above:     how many people's likeliest value is believed in with more than `allowed`, the posterior of the policy.
    right:     of those, the share that is right, where the file says so.
    """

    people: int
    secret: tuple[str, ...]
    before: float
    strongest: float
    allowed: float
    above: int
    right: float | None

    @property
    def key(self) -> str:
        """What a policy would say to withstand this attacker."""
        prior = Fraction(1, round(1 / self.before))
        allowed = self.allowed if self.allowed > prior else float((1 + prior) / 2)  # no view takes a belief back
        return f"adversary: {{kind: exclusive, prior: {{d: {prior}}}, posterior: {allowed}}}"

    def document(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {name: getattr(self, name) for name in self.__slots__} | {"secret": list(self.secret), "key": self.key}


def link(
    view: View, people: str | os.PathLike[str], *, secret: Sequence[str] = (), posterior: Fraction = Fraction(1, 2)
) -> LinkingFound:
    """Link a file of people with a view. Attributes that the file lacks, and those in `secret`, are to be found out.

    Where the file has a `secret` attribute, it is used to tell how often the likeliest value is the right one.
    """
    if view.seen is not None:
        raise Refused("a later view of a series has two parts", fix="attack the first view of the series")
    names = view.domain.names
    if unknown := [name for name in secret if name not in names]:
        raise QueryError(f"the view has no attribute {unknown[0]!r}", fix=did_you_mean(unknown[0], names))
    rows, columns = _read(Path(people))
    hidden = tuple(name for name in names if name in secret or name not in columns)
    size = math.prod(view.domain[name].size for name in hidden)
    if size == 1:
        raise QueryError(
            "the file leaves nothing to be found out", fix=f"say what is secret: {names[-1]}, for instance"
        )
    if isinstance(view.channel, SourceChannel):
        raise Refused(
            "a view with noise from a source favours every tuple otherwise, and is not linked here",
            fix="read what it exposes by itself in its report",
        )
    known = tuple(name for name in names if name not in hidden)
    codes = _codes(view, rows, [name for name in names if name in columns])
    wanted, place = np.unique(_numbered(view.domain, known, codes, len(rows)), return_inverse=True)
    fits = _shown_of(view, known, hidden, wanted)
    groups, starts, counts = np.unique(fits // size, return_index=True, return_counts=True)
    first, many = np.zeros((2, len(wanted)), np.int64)
    first[groups], many[groups] = fits[starts] % size, counts
    up, down = float(view.channel.ratio_up), float(view.channel.ratio_down)
    believed = (np.where(many, up, down) / (many * up + (size - many) * down))[place]
    named = believed > float(posterior)
    right = None
    if named.any() and all(name in columns for name in hidden):
        truth = _numbered(view.domain, hidden, codes, len(rows))
        right = float((first[place] == truth)[named].mean())
    return LinkingFound(len(rows), hidden, 1 / size, float(believed.max()), float(posterior), int(named.sum()), right)


def _shown_of(view: View, known: Sequence[str], hidden: Sequence[str], wanted: Ints) -> Ints:
    """The tuples of the view that fit what is known of somebody, each once, in rising order.

    A tuple is numbered by the place of its known part among `wanted`, times the possible hidden parts, plus its own.
    """
    domain, found = view.domain, [np.zeros(0, np.int64)]
    for cells in read_tuples(domain, view.rows):
        codes = dict(zip(domain.names, codes_of(domain, cells), strict=True))
        own = _numbered(domain, known, codes, len(cells))
        place = np.minimum(np.searchsorted(wanted, own), len(wanted) - 1)
        fits = wanted[place] == own
        found.append(_numbered(domain, hidden, codes, len(cells), place)[fits])
    return np.unique(np.concatenate(found))


def _numbered(domain: Domain, names: Sequence[str], codes: Mapping[str, Any], rows: int, start: Ints | int = 0) -> Ints:
    """One number for the codes of some attributes, row by row, continued from `start`."""
    found = np.full(rows, start, np.int64)
    for name in names:
        found = found * domain[name].size + codes[name].astype(np.int64)
    return found


def _read(path: Path) -> tuple[list[dict[str, str]], list[str]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            rows = list(itertools.islice(reader, MOST_PEOPLE + 1))
            columns = list(reader.fieldnames or ())
    except (OSError, UnicodeDecodeError, csv.Error):
        raise TableError("what the attacker knows cannot be read", fix="give a CSV file", where=str(path)) from None
    if not rows or len(rows) > MOST_PEOPLE:
        raise TableError(
            f"what the attacker knows is of nobody, or of more than {MOST_PEOPLE:,} people",
            fix="give a CSV file with a header and a row for each person",
            where=str(path),
        )
    return rows, columns


def _codes(view: View, rows: Sequence[Mapping[str, str | None]], names: Sequence[str]) -> dict[str, Ints]:
    """The codes of some attributes of the people in the file."""
    found = {}
    for name in names:
        column = [row[name] for row in rows]
        code = {text: _code(view, name, text) for text in {*column}}
        found[name] = np.array([code[text] for text in column], np.int64)
    return found


def _code(view: View, name: str, text: str | None) -> int:
    try:
        return view.domain[name].code(text)
    except DomainError:
        raise DomainError(
            f"the attacker's file has a value of {name} that the view does not know",
            fix="write values as the policy lists them",
        ) from None
