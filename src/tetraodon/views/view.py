"""A published view: tuples of the domain, some of them records, and everything needed to count with it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from tetraodon.domain import Domain
from tetraodon.errors import QueryError, ReleaseError
from tetraodon.exact.rational import Number, rational
from tetraodon.inference.estimate import CONFIDENCE, Answered, Estimate, with_source
from tetraodon.policy.load import stated_policy
from tetraodon.query.condition.public_tables import beside
from tetraodon.query.condition.select import read_question
from tetraodon.releases.folder import read_manifest
from tetraodon.untrusted_files import plain_file
from tetraodon.views import MANIFEST
from tetraodon.views.channel import SourceChannel, ViewChannel, channel_from
from tetraodon.views.estimate import Asked, Earlier, TupleFile, level
from tetraodon.views.series import Series
from tetraodon.views.tuple_files import PARTS, TUPLES
from tetraodon.wording import listing


@dataclass(frozen=True, slots=True)
class Seen:
    """The part of a later view of a series that is among tuples which earlier views have shown.

    `rows` are the tuples of this view among them, `before` all of them, each once.
    """

    channel: ViewChannel
    rows: Path
    before: Path


@dataclass(frozen=True, slots=True)
class View:
    """What an analyst has: the tuples, the domain they are from, and the channel they came through.

    Attributes
    ----------
    name:    the table's name, for `select count(*) from NAME`.
    domain:  the product of the declared attributes.
    channel: the probabilities of the view, exact.
    rows:    the Parquet file of the tuples, one column for each attribute (`columns.py`).
    n:       the number of records, where it is public.
    public:  side tables that conditions may read, by name: Parquet or CSV files.
    seen:    for a later view of a series, its other part; `rows` are then the tuples that no view has shown before.
    """

    name: str
    domain: Domain
    channel: ViewChannel
    rows: Path
    n: int | None = None
    public: Mapping[str, Path] = field(default_factory=dict, hash=False)
    seen: Seen | None = None

    def __repr__(self) -> str:
        return f"<View {self.name}: {listing(self.domain.names, most=4)}>"

    def ask(self, sql: str, *, confidence: Number = CONFIDENCE, sample: int = 0) -> Answered:
        """The estimates of counts, sums and averages, each with an interval that holds the truth with `confidence`.

        A bare condition asks how many records satisfy it. Several aggregates are a dict by their names. With `group by`
        there is one answer for each group of the domain; where `having` or `limit` choose groups by their estimates,
        all intervals hold together. `sample` is how many tuples may be drawn when counting over the whole domain would
        cost too much.
        """
        file = TupleFile(self.domain, self.rows, tuple(self.public.items()))
        sure = level(confidence)
        question = read_question(sql, beside(self.domain, self.name, file.held().public))
        earlier = None
        if self.seen is not None:
            again, before = replace(file, path=self.seen.rows), replace(file, path=self.seen.before)
            earlier = Earlier(self.seen.channel, again, before)
        asked = Asked(file, self.channel, self.n, question, sure, earlier)
        return with_source(asked.answer(sample), self.name)


def combined(views: Sequence[View], sql: str, *, confidence: Number = CONFIDENCE) -> Estimate:
    """The best estimate from all views of a table that did not change between them.

    Why  given all earlier views, each estimate is unbiased; so their errors are uncorrelated, and the best weights are
         those of their variances. These are planned ones, which depend on the question and not on what was drawn.
         Every interval may miss 1/v as often, so that all hold together, and so does their weighted mean.
    """
    if not views:
        raise QueryError("there is no view to ask", fix="give the views of a series")
    sure = 1 - (1 - rational(confidence, name="confidence")) / len(views)
    found: list[Any] = [view.ask(sql, confidence=sure) for view in views]
    if not all(isinstance(estimate, Estimate) for estimate in found):
        raise QueryError("several views answer single counts only", fix="ask count(*) without `group by`")
    precision = [1 / planned_variance(view, number) for number, view in enumerate(views, 1)]
    weights = [part / sum(precision, Fraction(0)) for part in precision]
    value, lower, upper = (
        sum(float(w) * getattr(e, end) for w, e in zip(weights, found, strict=True))
        for end in ("value", "lower", "upper")
    )
    return Estimate(value, lower, upper, rational(confidence, name="confidence"))


def planned_variance(view: View, number: int) -> Fraction:
    """About the variance of a count of everything from the view of this number, for weights."""
    tuples, records = view.domain.size, Fraction(view.n or 0)
    if view.seen is None:
        return view.channel.variance(records, tuples)
    return Series(view.channel, view.seen.channel, number).variance(number, records, tuples)


def load_view(path: str | os.PathLike[str]) -> View:
    """A view folder, read back. Its files are plain ones, and those that a view has."""
    folder = Path(path)
    manifest = read_manifest(folder, "view")
    try:
        domain = stated_policy(manifest["policy"]).domain
        n = manifest["n"]
        if n is not None and (type(n) is not int or not 0 <= n < 2**63):
            raise ValueError
        public = {name: plain_file(folder, _public(name, file)) for name, file in manifest["public"].items()}
        channel = channel_from(manifest["channel"])
        if isinstance(channel, SourceChannel) and tuple(map(len, channel.weights)) != domain.shape:
            raise ValueError
        rows, seen = _named(folder, manifest["rows"], TUPLES), None
        if (later := manifest.get("seen")) is not None:
            rows, again, before = (_named(folder, later[name], file) for name, file in PARTS.items())
            seen = Seen(channel_from(later["channel"]), again, before)
        return View(str(manifest["name"]), domain, channel, rows, n, public, seen)
    except OSError:
        raise ReleaseError("a file of the view is missing", fix="ask for a new copy", where=str(folder)) from None
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError):
        raise ReleaseError("the view does not fit together", fix="ask for a new copy", where=str(folder)) from None


def _named(folder: Path, stated: object, name: str) -> Path:
    """A file of the folder that can have only this name."""
    if stated != name:
        raise _foreign(folder)
    return plain_file(folder, name)


def _public(name: str, file: object) -> str:
    """Where a view keeps a public table."""
    if not re.fullmatch(r"[A-Za-z_]\w{0,63}", name) or file not in (f"public/{name}.csv", f"public/{name}.parquet"):
        raise _foreign(Path(MANIFEST))
    return str(file)


def _foreign(where: Path) -> ReleaseError:
    return ReleaseError("the view names a file that is not its own", fix="ask for a new copy", where=str(where))
