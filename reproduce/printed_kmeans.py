"""The policies that [HMD14] clusters under, and its k-means with the noise that Lemma 6.1 prints: NOT PRIVATE."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from reproduce.points import Floats, Points
from tetraodon.policy.attribute_graph import Blocks, Everything
from tetraodon.policy.joint_graph import JointMetric
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import Factor, SecretGraph

CLUSTERS, STEPS = 4, 10


@dataclass(frozen=True)
class Kind:
    """A policy by its name: full, attribute, a distance, or a partition into so many cells a column."""

    word: str
    theta: Fraction | None = None
    cells: tuple[int, ...] | None = None
    one_at_a_time: bool = False


FULL = Kind("full")
ATTRIBUTE = Kind("one attribute at a time", one_at_a_time=True)


def distance(theta: str, unit: str = "") -> Kind:
    return Kind(f"theta = {theta}{unit}", Fraction(theta))


def partition(*cells: int) -> Kind:
    return Kind(f"partition {int(np.prod(cells)):,}", cells=cells)


def policy_of(data: Points, kind: Kind) -> Policy:
    domain = data.domain
    if kind.theta is not None:
        zeros = (Fraction(0),) * len(domain.names)
        metric = JointMetric("l1", kind.theta, domain.shape, zeros, data.lengths)
        graph = SecretGraph(domain, (Factor(domain.names, metric),), 1)
    else:
        lines = [
            Everything(size) if kind.cells is None else Blocks(tuple(x * kind.cells[k] // size for x in range(size)))
            for k, size in enumerate(domain.shape)
        ]
        factors = tuple(Factor((name,), line) for name, line in zip(domain.names, lines, strict=True))
        graph = SecretGraph(domain, factors, 1 if kind.one_at_a_time else len(factors))
    return Policy("figure", domain, graph, Fraction(1), (), "public")


def printed_sum_sensitivity_not_private(data: Points, kind: Kind) -> float:
    """What Lemma 6.1 says that the sums move by. It is false: see the page on errata."""
    if kind.one_at_a_time:
        return 2 * float(data.widths.max())
    if kind.theta is not None:
        return 2 * min(float(kind.theta), float(data.widths.sum()))
    if kind.cells is not None:
        sides = [size // cells - 1 for size, cells in zip(data.domain.shape, kind.cells, strict=True)]
        return 2 * sum(float(length) * max(0, side) for length, side in zip(data.lengths, sides, strict=True))
    return 2 * float(data.widths.sum())


def printed_kmeans_not_private(data: Points, kind: Kind, epsilon: float, coins: np.random.Generator) -> Floats:
    """SuLQ k-means with the printed calibration: ten steps, each with half of its budget for sizes, half for sums.

    Why   nothing brings a centre back that noise throws out of the domain: the paper does not say that it does, and
          only so do its largest ratios come out.
    """
    share = epsilon / STEPS / 2
    moved = printed_sum_sensitivity_not_private(data, kind)
    noise = (2 / share if moved else 0.0), moved / share
    return _lloyd(data, noise, coins)


def plain_kmeans(data: Points, coins: np.random.Generator) -> Floats:
    """Ten steps from random centres, without noise."""
    return _lloyd(data, (0.0, 0.0), coins)


def _lloyd(data: Points, noise: tuple[float, float], coins: np.random.Generator) -> Floats:
    """Ten steps; the noise of the sizes, then of the sums."""
    places, weight = data.distinct
    centres = coins.random((CLUSTERS, places.shape[1])) * data.widths
    for _ in range(STEPS):
        owner = data.nearest(centres)
        sizes = np.bincount(owner, weight, CLUSTERS)
        sums = np.stack([np.bincount(owner, weight * column, CLUSTERS) for column in places.T], axis=1)
        if any(noise):
            sizes, sums = sizes + coins.laplace(0, noise[0], CLUSTERS), sums + coins.laplace(0, noise[1], sums.shape)
        centres = np.where(sizes[:, None] >= 1, sums / np.maximum(sizes, 1)[:, None], centres)
    return centres
