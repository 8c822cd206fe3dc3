"""A published view: tuples of the domain, some of them records, and everything needed to count with it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tetraodon.domain import Domain
from tetraodon.errors import ReleaseError
from tetraodon.foreign import plain_file
from tetraodon.inference.estimate import CONFIDENCE, Estimate
from tetraodon.policy.load import stated_policy
from tetraodon.publishing.channel import CopyChannel, SetChannel, ViewChannel
from tetraodon.publishing.drawn import PARTS, TUPLES
from tetraodon.rational import Number, stated_number
from tetraodon.releasing.manifest import read_manifest

if TYPE_CHECKING:
    from tetraodon.publishing.estimate import Groups

MANIFEST = "view.json"


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
    rows:    the Parquet file of the tuples, one column for each attribute (`publish/columns.py`).
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

    def ask(self, sql: str, *, confidence: Number = CONFIDENCE, sample: int = 0) -> Estimate | Groups:
        """The unbiased estimate of a count, sum or average, with an interval that holds the truth with `confidence`.

        A bare condition asks how many records satisfy it. With `group by`, one estimate for each group of the domain.
        `sample` is how many tuples may be drawn when counting over the whole domain would cost too much.
        """
        from tetraodon.publishing.estimate import ask
        from tetraodon.publishing.later import ask_later

        later = self.seen is not None
        found = (
            ask_later(self, sql, confidence=confidence)
            if later
            else ask(self, sql, confidence=confidence, sample=sample)
        )
        if isinstance(found, Estimate):
            return found.of(self.name)
        return {group: estimate.of(self.name) for group, estimate in found.items()}


def channel_document(channel: ViewChannel) -> dict[str, Any]:
    """A channel as JSON; the probabilities are exact fractions."""
    rows = "distinct" if isinstance(channel, SetChannel) else "repeated"
    numbers = {"keep": channel.keep, "noise": channel.noise, "added_per_tuple": channel.added_per_tuple}
    return {"rows": rows, **{name: str(number) for name, number in numbers.items()}}


def channel_from(document: Mapping[str, Any]) -> ViewChannel:
    """The channel that a document describes."""
    keep, noise = stated_number(document["keep"]), stated_number(document["noise"])
    match document["rows"]:
        case "distinct":
            return SetChannel(keep, noise)
        case "repeated":
            return CopyChannel(keep, noise)
        case _:
            raise ReleaseError("the view is of an unknown kind", fix="upgrade tetraodon")


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
