"""From `together` to the secrets of several attributes as one: a metric, or blocks of whole cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

from tetraodon.domain import Attribute, Domain
from tetraodon.domain.attribute import MISSING
from tetraodon.errors import PolicyError, Refused
from tetraodon.policy.build_domain import VALUES_LIMIT
from tetraodon.policy.document import Together
from tetraodon.policy.joint_graph import Regions
from tetraodon.policy.joint_metric import JointMetric
from tetraodon.policy.secret_graph import Factor


def joint_factor(together: Together, domain: Domain) -> list[Factor]:
    """The factor of the attributes that are a secret together, if there are such."""
    if together.at_most is not None and together.at_most < 1:
        raise PolicyError("`at most` is below one", fix="let at least one attribute change")
    if together.blocks:
        return [_regions(together, domain)]
    if together.metric is None:
        if together.over or together.within is not None:
            raise PolicyError(
                "the metric is missing", fix="add `metric: l1`, l2, linf or great circle km; or `blocks` or `cells`"
            )
        return []
    if together.at_most is not None:
        raise PolicyError("`metric` and `at most` cannot be combined yet", fix="drop one of them")
    if not together.over or together.within is None:
        raise PolicyError(
            "a joint metric needs `over` and `within`", fix="write {metric: l1, over: [x, y], within: 10}"
        )
    axes = _axes(together, domain)
    for axis in axes:
        if axis.separate:
            raise _apart(axis)
        if not axis.numeric:
            raise PolicyError(f"{axis.name} is not a number", fix="measure integer or real attributes together")
    if domain.project(together.over).size > VALUES_LIMIT:
        raise PolicyError("these attributes have more than 10^18 values together", fix="use coarser grids")
    if together.metric == "great circle km":
        _check_degrees(axes)
    metric = JointMetric(
        together.metric,
        together.within,
        tuple(axis.size for axis in axes),
        tuple(axis.number(0) for axis in axes),
        tuple(axis.step for axis in axes),
    )
    if together.metric == "great circle km" and not _reaches(metric):
        raise PolicyError("`within` reaches no other value", fix="widen it beyond one step of the grid")
    return [Factor(tuple(together.over), metric)]


def _axes(together: Together, domain: Domain) -> list[Attribute]:
    if len(set(together.over)) < len(together.over):
        raise PolicyError("an attribute is named twice in `over`", fix="name each one once")
    return [domain[name] for name in together.over]


def _regions(together: Together, domain: Domain) -> Factor:
    """Blocks of whole cells: a row of them for each value of the first attribute, as long as the others have cells."""
    if together.metric is not None or together.within is not None or together.at_most is not None:
        raise PolicyError(
            "blocks of cells cannot be combined with `metric`, `within` or `at most` yet", fix="drop one of them"
        )
    axes = _axes(together, domain)
    if len(axes) < 2:
        raise PolicyError(
            "blocks of cells are for two or more attributes", fix="name them in `over`, or write blocks under `secrets`"
        )
    shape = tuple(axis.size for axis in axes)
    if len(together.blocks) != shape[0] or any(len(row) != math.prod(shape[1:]) for row in together.blocks):
        raise PolicyError(
            f"the blocks are not a table of {' x '.join(f'{size:,}' for size in shape)} cells",
            fix=f"write a row for each value of {axes[0].name}, with a block for each value of the others",
        )
    return Factor(tuple(together.over), regions(shape, list(chain.from_iterable(together.blocks))))


def regions(shape: tuple[int, ...], owners: Sequence[str]) -> Regions:
    """The blocks of cells that are named for each cell, row by row."""
    names = {name: number for number, name in enumerate(dict.fromkeys(owners))}
    if len(names) == len(owners):
        raise PolicyError("no two cells are in the same block", fix="write `public` if no two values need protection")
    return Regions(shape, tuple(names[name] for name in owners), tuple(names))


def _check_degrees(axes: list[Attribute]) -> None:
    if len(axes) != 2:
        raise PolicyError("great-circle distance needs two attributes", fix="write `over: [latitude, longitude]`")
    for axis, limit, role in zip(axes, (90, 360), ("latitude", "longitude"), strict=True):
        low, high = axis.number(0), axis.number(axis.size - 1)
        if low < -limit or high > limit or high - low > 360:
            raise PolicyError(
                f"{axis.name} goes beyond the degrees of a {role}",
                fix="write `over: [latitude, longitude]`, with latitudes from -90 to 90",
            )


def _reaches(metric: JointMetric) -> bool:
    """Whether a great-circle metric has any secret. Why: neighbours on a meridian, or on the parallels nearest the
    poles, are nearest, unless the map closes around the globe."""
    rows, columns = metric.shape
    corners = [(0, 0, 1, 0)] if rows > 1 else []
    for row in (0, rows - 1):
        corners += [(row, 0, row, column) for column in {1, columns - 1} if 0 < column < columns]
    return any(metric.is_edge(a * columns + b, c * columns + d) for a, b, c, d in corners)


def _apart(attribute: Attribute) -> Refused:
    return Refused(
        f"missing values of {attribute.name} stand apart, so that no distance to them is known",
        fix=f"write everything, blocks or pairs, where `{MISSING}` is a value; or `missing:` one of the other values",
    )
