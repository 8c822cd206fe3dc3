"""A policy file while it is written: what is wrong with it, and as much of a policy as can be looked at already."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from tetraodon.errors import PolicyError, Problem, TetraodonError
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy
from tetraodon.policy.source import KeyPath, Plain, read_source

FILLED_IN: dict[str, Plain] = {"dataset": "unnamed", "budget": {"epsilon": "1"}}
"""What a draft is looked at with where it does not say."""
BESIDE = ("title", "publisher", "table", "population")
"""Keys that change neither the promise nor an answer's error."""


@dataclass(frozen=True, slots=True)
class Held:
    """A file that may not be finished.

    problems: all that is wrong with it.
    policy:   what it says without the columns and questions that are not finished; None where what is wrong concerns
              the promise itself, which would look better without it.
    left_out: the paths of the file that `policy` lacks, or has filled in; none if it is the policy of the file.
    """

    problems: tuple[Problem, ...]
    policy: Policy | None
    left_out: tuple[KeyPath, ...] = ()


def hold(source: str | Path, *, folder: Path | None = None) -> Held:
    """A policy file, or its text, as far as it goes.

    Why  nothing is ever released from it: releases read the file with `load_policy`, which takes all of it or none.

    >>> held = hold("attributes:\\n  age: {integer: [CONFIRM, 99]}\\n  sex: [F, M]\\nbudget: {epsilon: 1}\\n")
    >>> [problem.path for problem in held.problems], held.policy.domain.names, held.left_out
    ([('attributes', 'age', 'integer', 0)], ('sex',), (('attributes', 'age'), ('dataset',)))
    """
    try:
        return Held((), load_policy(source, folder=folder))
    except TetraodonError as error:
        first = error.problems or (Problem((), 1, error.what, error.fix),)
    try:
        data = read_source(source).data
    except PolicyError:
        return Held(first, None)
    problems, left_out = first, list[KeyPath]()
    while isinstance(data, dict):
        found = [_unfinished(_original(problem.path, data, left_out), left_out) for problem in problems]
        more = [path for path in dict.fromkeys(found) if path is not None and path not in left_out]
        if None in found or not more:
            break
        left_out += more
        try:
            return Held(first, load_policy(_without(data, left_out), folder=folder), tuple(left_out))
        except TetraodonError as error:
            problems = error.problems
    return Held(first, None)


def _unfinished(path: KeyPath, left_out: Collection[KeyPath]) -> KeyPath | None:
    """What can be left out where something is wrong at a path; None where the promise rests on it."""
    match path:
        case ("attributes" | "release" as key, str() | int() as which, *_):
            return key, which
        case ("secrets", name, *_) if ("attributes", name) in left_out:
            return "secrets", name
        case (str() as key, *_) if key in FILLED_IN or key in BESIDE:
            return (key,)
    return None


def _without(data: dict[str, Plain], left_out: Collection[KeyPath]) -> dict[str, Plain]:
    kept: dict[str, Plain] = {}
    for key, value in data.items():
        if (key,) in left_out:
            continue
        if isinstance(value, dict):
            value = {name: child for name, child in value.items() if (key, name) not in left_out}
        elif isinstance(value, list):
            value = [child for number, child in enumerate(value) if (key, number) not in left_out]
        kept[key] = value
    return kept | {key: value for key, value in FILLED_IN.items() if (key,) in left_out}


def _original(path: KeyPath, data: dict[str, Plain], left_out: Collection[KeyPath]) -> KeyPath:
    """A path of what is kept as a path of the file: positions in lists count those that were left out."""
    if len(path) < 2 or not isinstance(path[1], int):
        return path
    listed = data.get(str(path[0]))
    kept = [n for n in range(len(listed or ())) if (path[0], n) not in left_out]
    return (path[0], kept[path[1]], *path[2:]) if path[1] < len(kept) else path
