"""Linking with a published view: who is known but for some attributes, and what the view makes of the rest.

Somebody whose known attributes leave m tuples possible has one of them. The view favours each tuple that it shows over
each that it does not, by ratios that the channel states; Bayes' rule gives what is believed after. Nothing but the
folder and the attacker's own file is read.
"""

from __future__ import annotations

import csv
import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tetraodon.errors import DomainError, QueryError, Refused, TableError, did_you_mean
from tetraodon.publishing.channel import SourceChannel
from tetraodon.publishing.columns import cells_of
from tetraodon.publishing.tuple_files import read_tuples
from tetraodon.publishing.view import View

MOST_TUPLES = 1 << 16
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
        prior = Fraction(self.before).limit_denominator(1000)
        return f"adversary: {{kind: exclusive, prior: {{d: {prior}}}, posterior: {self.allowed:g}}}"

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
    if not hidden:
        raise QueryError(
            "the file leaves nothing to be found out", fix=f"say what is secret: {names[-1]}, for instance"
        )
    if isinstance(view.channel, SourceChannel):
        raise Refused(
            "a view with noise from a source favours every tuple otherwise, and is not linked here",
            fix="read what it exposes by itself in its report",
        )
    spaces = [range(view.domain[name].size) for name in hidden]
    size = int(np.prod([len(space) for space in spaces], dtype=object))
    if size > MOST_TUPLES:
        raise Refused(
            f"what is known of a person leaves more than {MOST_TUPLES:,} tuples", fix="let the attacker know more"
        )
    shown = np.unique(np.concatenate([np.zeros(0, np.uint64), *read_tuples(view.domain, view.rows)]))
    rest = np.array(list(itertools.product(*spaces)), np.int64)
    up, down = float(view.channel.ratio_up), float(view.channel.ratio_down)
    beliefs, hits = [], []
    for row in rows:
        codes = np.empty((size, len(names)), np.int64)
        for place, name in enumerate(names):
            codes[:, place] = rest[:, hidden.index(name)] if name in hidden else _code(view, name, row[name])
        weights = np.where(np.isin(cells_of(view.domain, codes), shown), up, down)
        best = int(weights.argmax())
        beliefs.append(float(weights[best] / weights.sum()))
        if all(name in columns for name in hidden):
            hits.append(all(rest[best, n] == _code(view, name, row[name]) for n, name in enumerate(hidden)))
    believed = np.array(beliefs)
    named = believed > float(posterior)
    right = float(np.array(hits)[named].mean()) if hits and named.any() else None
    return LinkingFound(len(rows), hidden, 1 / size, float(believed.max()), float(posterior), int(named.sum()), right)


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


def _code(view: View, name: str, text: str | None) -> int:
    try:
        return view.domain[name].code(text)
    except DomainError:
        raise DomainError(
            f"the attacker's file has a value of {name} that the view does not know",
            fix="write values as the policy lists them",
        ) from None
