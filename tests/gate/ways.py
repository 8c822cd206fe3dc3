"""Every way out of the house, on small made-up data: what to run, and what it published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl

import tetraodon as td
from tetraodon.engine import DataRefusal
from tetraodon.pufferfish import absolute_sum
from tetraodon.releases.pufferfish_number import release_number

ATTRIBUTES = {"age": {"integer": [20, 39]}, "nation": ["A", "B", "I"], "score": {"integer": [81, 100]}}
TABLE = pl.DataFrame(
    {
        "age": [20 + i * 7 % 20 for i in range(120)],
        "nation": ["ABI"[i * i % 3] for i in range(120)],
        "score": [81 + i * 11 % 20 for i in range(120)],
    }
)
POLICY = {
    "dataset": "people",
    "presence": "public",
    "attributes": ATTRIBUTES,
    "budget": {"epsilon": 1},
    "release": [{"name": "ages", "histogram": ["age"]}, {"name": "few", "count": "nation = 'A'"}],
}
VIEW = {
    "dataset": "people",
    "attributes": ATTRIBUTES,
    "budget": {"epsilon": 20},
    "adversary": {"prior": {"k": 2}, "posterior": 0.5, "records": 120},
}
SERIES = {**VIEW, "adversary": {"prior": {"d": "0.02"}, "posterior": 0.6, "views": 2}}
NUMBER = absolute_sum(individual=5, epsilon=1)


@dataclass(frozen=True)
class Way:
    """`run` takes the keywords `ledger`, `out`, `force` and `resume`; `terms` open the ledger's account."""

    name: str
    terms: dict[str, Any]
    run: Callable[..., Any]
    refused: Callable[..., Any]
    folder: str = ""
    numbers: tuple[str, ...] = ()

    def open(self, path: Path) -> td.Ledger:
        """A ledger with room for a few."""
        ledger = td.Ledger(path)
        ledger.open("people", Fraction(100), self.terms)
        return ledger

    def published(self, out: Path) -> dict[str, bytes]:
        """The numbers that were published, byte by byte."""
        folder = out / self.folder
        return {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for pattern in self.numbers
            for path in sorted(folder.glob(pattern))
        }


def _of(function: Callable[..., Any], policy: Any, **more: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """A way on the table, and on one that is refused for what is in it: nobody, or for a view values of nobody's."""
    wrong = TABLE.with_columns(age=pl.lit(999)) if function is td.publish else TABLE.head(0)
    return (lambda **given: function(policy, TABLE, **more, **given)), (
        lambda **given: function(policy, wrong, **more, **given)
    )


def _number(data: list[float]) -> Callable[..., Any]:
    def broken(_: Any) -> int:
        raise DataRefusal("the data cannot be summed", fix="give others")

    mechanism = NUMBER if data else type(NUMBER)(**{**vars(NUMBER), "answer": broken})
    return lambda **given: release_number(mechanism, data, dataset="people", **given)


PLAN = td.plan(POLICY)
WAYS = (
    Way("release", dict(td.load_policy(POLICY).document), *_of(td.release, PLAN), numbers=("measurements/*.parquet",)),
    Way(
        "view", dict(td.load_policy(VIEW).document), *_of(td.publish, VIEW, accept_exposure=True), numbers=("tuples.*",)
    ),
    Way(
        "series",
        dict(td.load_policy(SERIES).document),
        *_of(td.publish, SERIES, accept_exposure=True),
        folder="view-1",
        numbers=("tuples.*",),
    ),
    Way(
        "perturbed",
        dict(td.load_policy(POLICY).document),
        *_of(td.perturb, POLICY, epsilon=2),
        numbers=("tuples.parquet",),
    ),
    Way("number", NUMBER.document(), _number([1000.5, 2000]), _number([]), numbers=("number.json",)),
)
