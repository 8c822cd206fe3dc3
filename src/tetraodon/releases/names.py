"""Names that nobody listed: drawn with a permit, kept, checked, and told with their intervals."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tetraodon.engine import Source
from tetraodon.errors import ReleaseError
from tetraodon.noise.laws import LAPLACE
from tetraodon.policy.policy import Policy
from tetraodon.query.linear import ANSWER_LIMIT
from tetraodon.query.query import Columns, column_name, with_interval
from tetraodon.releases.answer import AnswerColumns
from tetraodon.releases.counting import open_policy_table
from tetraodon.releases.plan import Plan, PlannedNames
from tetraodon.releases.untrusted_parquet import parquet_rows, read_columns
from tetraodon.untrusted_files import plain_file

if TYPE_CHECKING:
    from tetraodon.gate import Permit

Told: TypeAlias = tuple[tuple[str, int], ...]
"""Names with their noisy counts, the most common first."""
DRAWN = "names.json"
"""What was drawn, kept until it is published."""


@dataclass(frozen=True, eq=False)
class NamesAnswer(AnswerColumns):
    """The released answer to an item that tells names."""

    item: PlannedNames
    told: Told

    kind = "names"

    @property
    def sentence(self) -> str:
        return self.item.sentence

    @cached_property
    def columns(self) -> Columns:
        """The names, about how many people have each, and the ends of its 95% interval."""
        counts = np.array([count for _, count in self.told], np.int64)
        names = np.array([name for name, _ in self.told], object)
        return {column_name(self.item.above.column): names} | with_interval(
            "count", counts, *self.item.intervals(counts)
        )

    def __repr__(self) -> str:
        return f"<Answer {self.name}: names, {len(self.told)} rows>"


def count_names(plan: Plan, table: Source, governing: Policy) -> dict[str, Mapping[str, int]]:
    """How many people have each name of every column of open text that is asked about."""
    columns = {item.above.column for item in plan.names}
    if not columns:
        return {}
    asked = {column.name: column for column in plan.policy.open if column.name in columns}
    with open_policy_table(plan.policy, table, governing) as engine:
        counts = {name: engine.names(name, longest=column.longest, trim=column.trim) for name, column in asked.items()}
    return {item.name: counts[item.above.column] for item in plan.names}


def draw_names(item: PlannedNames, counts: Mapping[str, int], permit: Permit) -> Told:
    """The names that pass, each with fresh noise, as certified. Names that nobody has could not pass.

    Post  in an order that tells nothing but what is told: by count, then by name.
    """
    names = sorted(counts)
    noisy = np.array([counts[name] for name in names], np.int64)
    waiting = np.arange(len(names))
    noise = np.zeros(len(names), np.int64)
    while len(waiting):  # noise beyond the threshold is drawn again
        noise[waiting] = permit.noise(LAPLACE, item.above.scale, (len(waiting),))
        waiting = waiting[np.abs(noise[waiting]) > item.above.threshold]
    noisy += noise
    passed = np.flatnonzero(noisy > item.above.threshold)
    return tuple(sorted(((names[place], int(noisy[place])) for place in passed), key=_place))


def _place(told: tuple[str, int]) -> tuple[int, str]:
    return -told[1], told[0]


def names_columns(told: Told) -> Columns:
    """What was told as columns of a file."""
    return {
        "name": np.array([name for name, _ in told], object),
        "count": np.array([count for _, count in told], np.int64),
    }


def stated_names(folder: Path, plan: Plan) -> dict[str, Told]:
    """What a folder says was told. Raises ReleaseError where no release by this plan would have told it."""
    found = {}
    for item in plan.names:
        path = plain_file(folder, f"measurements/{item.name}.parquet")
        rows = parquet_rows(path)
        if rows > ANSWER_LIMIT:
            raise _unfit(item)
        columns = read_columns(path, {"name": "O", "count": "i"}, rows) if rows else names_columns(())
        pairs = zip(columns["name"].tolist(), columns["count"].tolist(), strict=True)
        found[item.name] = _checked(tuple(pairs), item, plan.policy)
    return found


def _checked(told: Told, item: PlannedNames, policy: Policy) -> Told:
    longest = next(column.longest for column in policy.open if column.name == item.above.column)
    good = all(1 <= len(name) <= longest and name.isprintable() and n > item.above.threshold for name, n in told)
    if not good or len(dict(told)) < len(told) or list(told) != sorted(told, key=_place):
        raise _unfit(item)
    return told


def _unfit(item: PlannedNames) -> ReleaseError:
    return ReleaseError("the names do not fit the plan", fix="ask for a new copy", where=item.name)


def keep_names(folder: Path, names: Mapping[str, Told]) -> None:
    """Keep what was drawn as a file, if there is anything to keep."""
    if names:
        (folder / DRAWN).write_text(json.dumps(names), encoding="utf-8")


def kept_names(folder: Path, plan: Plan) -> dict[str, Told]:
    """Read it back; refused if it is not what the plan asks for."""
    if not plan.names:
        return {}
    try:
        kept: Mapping[str, Sequence[Any]] = json.loads((folder / DRAWN).read_text(encoding="utf-8"))
        told = {item.name: tuple((str(name), int(n)) for name, n in kept[item.name]) for item in plan.names}
        return {item.name: _checked(told[item.name], item, plan.policy) for item in plan.names}
    except (OSError, ValueError, KeyError, TypeError):
        raise ReleaseError(
            "the names that were drawn cannot be read",
            fix="restore them from a backup, or remove what is left and release again, which is charged again",
            where=str(folder),
        ) from None
