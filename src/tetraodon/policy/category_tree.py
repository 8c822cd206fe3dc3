"""Categories in a named hierarchy, as a policy file writes them: `{East: [ON, QC], West: {Coast: [BC], ...}}`.

In normal form maps are lists of pairs, `[[East, [ON, QC]], ...]`: their order survives wherever keys are sorted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Annotated, Any

from pydantic import PlainValidator, WithJsonSchema

from tetraodon.domain import Attribute, Categories
from tetraodon.domain.values import TreeLevel
from tetraodon.errors import PolicyError, Refused, did_you_mean
from tetraodon.policy.section import refuse

FIX = "write {East: [ON, QC], West: [BC, AB]}, deeper where you need it, and every list of values as deep as the others"
Path = tuple[str, ...]


def read_tree(value: object) -> tuple[Path, ...]:
    """The values of a tree in their order, each below the names of its branches.

    >>> read_tree({"East": ["ON", "QC"], "West": ["BC"]})
    (('East', 'ON'), ('East', 'QC'), ('West', 'BC'))
    """
    found = tuple(_leaves(value, ()))
    if len({len(path) for path in found}) != 1 or len(found[0]) < 2:
        refuse("the branches of this tree are not equally deep, or there are none", FIX)
    return found


def _leaves(value: object, above: Path) -> Iterator[Path]:
    if len(above) > 10:
        refuse("this tree is too deep", "write at most ten levels")
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        yield from ((*above, label) for label in value)
        return
    pairs = list(value.items()) if isinstance(value, dict) else value
    if not isinstance(pairs, list) or not pairs:
        refuse("this is no tree of categories", FIX)
    names = [pair[0] for pair in pairs if isinstance(pair, list | tuple) and pair]
    if len({str(name) for name in names}) < len(names):
        refuse("two branches share a name", "give each branch of a level a name of its own")
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not isinstance(pair[0], str) or not pair[0].strip():
            refuse("this is no tree of categories", FIX)
        yield from _leaves(pair[1], (*above, pair[0]))


_SCHEMA = {"anyOf": [{"type": "object", "minProperties": 1}, {"type": "array", "minItems": 1}]}
Tree = Annotated[tuple[Path, ...], PlainValidator(read_tree), WithJsonSchema(_SCHEMA)]


def categories_of(paths: Sequence[Path], names: Sequence[str]) -> Categories:
    """The categories of a tree, with its levels, the coarsest first; without names they are `level 1` and so on."""
    depth = len(paths[0]) - 1
    called = tuple(names) or tuple(f"level {number + 1}" for number in range(depth))
    if len(called) != depth or len(set(called)) < depth:
        raise PolicyError(
            f"this tree has {depth} levels above its values, and `levels` does not name each of them once",
            fix=f"write {depth} names, the coarsest level first, or leave `levels` out",
        )
    for level in range(depth):
        above = {path[: level + 1] for path in paths}
        if len({path[level] for path in above}) < len(above):
            raise PolicyError(
                f"two branches at {called[level]} share a name", fix="give each branch of a level a name of its own"
            )
    levels = tuple(TreeLevel(name, tuple(path[n] for path in paths)) for n, name in enumerate(called))
    return Categories(tuple(path[-1] for path in paths), levels=levels)


def branches_of(attribute: Attribute, level: str) -> tuple[int, ...]:
    """The branch of each value, at a level of an attribute's tree."""
    if attribute.separate:
        raise Refused(
            f"missing values of {attribute.name} stand apart, and are in no branch of its tree",
            fix="list groups of values, or write `missing:` one of the other values",
        )
    places = {one.name: one.places for one in attribute.levels}
    if level not in places:
        fix = did_you_mean(level, places) if places else "declare it as {tree: {East: [ON, QC], West: [BC]}}"
        raise PolicyError(f"{attribute.name} has no level {level!r}", fix=fix)
    return places[level]


def tree_document(values: Categories) -> dict[str, Any]:
    """The tree in normal form. Pre: there is one."""
    paths = list(zip(*(level.of for level in values.levels), values.labels, strict=True))
    return {"tree": _nested(paths), "levels": [level.name for level in values.levels]}


def _nested(paths: Sequence[Path]) -> list[Any]:
    if len(paths[0]) == 1:
        return [path[0] for path in paths]
    branches = groupby(paths, key=lambda path: path[0])
    return [[name, _nested([path[1:] for path in below])] for name, below in branches]
