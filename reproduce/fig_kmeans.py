"""[HMD14] Figure 1 and [MK15] Figure 2: k-means under full, attribute, distance and partition policies.

Two series each: the noise that Lemma 6.1 of [HMD14] prints, which is too small to keep the promise, and our certified
mechanism. A figure is the objective over that of plain k-means after ten steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from reproduce.figure import Chart, Check, Figure, Progress, Table, lines
from reproduce.points import DATA, Floats, Points
from reproduce.printed_kmeans import (
    ATTRIBUTE,
    CLUSTERS,
    FULL,
    Kind,
    distance,
    partition,
    plain_kmeans,
    policy_of,
    printed_kmeans_not_private,
)
from tetraodon.gate import without_ledger
from tetraodon.mechanism.kmeans.estimator import PolicyKMeans

REPEATS, FEWER = 50, 8
"""Runs of both series at every point, as in the paper; and when only the orderings are checked."""
PRINTED, OURS = "printed lemma, NOT PRIVATE", "certified"
OBJECTIVE = "objective over that of plain k-means"
Point = dict[str, Any]


@cache
def plain(name: str) -> float:
    """The mean objective of ten plain steps from random centres, as the papers compare with."""
    data = DATA[name]()
    return float(np.mean([data.objective(plain_kmeans(data, np.random.default_rng(seed))) for seed in range(REPEATS)]))


def certified(data: Points, kind: Kind, epsilon: str, repeats: int) -> Iterator[Floats]:
    """Centres of our mechanism, in the data's own units. It is planned once; every run draws its own noise."""
    model = PolicyKMeans(policy_of(data, kind), epsilon, CLUSTERS)
    plan = model.plan(len(data.codes))
    low = np.array([float(attribute.number(0)) for attribute in data.domain])
    steps = np.array([float(attribute.step) for attribute in data.domain])
    for _ in range(repeats if plan.epsilon else 1):  # without noise every run is the same
        centres, _ = model._centres(plan, data.codes, without_ledger(plan.certificate))
        yield (centres - low) / steps * data.scale


def measured(task: tuple[str, Kind, str, int]) -> list[Point]:
    """Both series at one point: mean, quartiles and the standard error of the mean over the repeats."""
    name, kind, epsilon, repeats = task
    data, reference = DATA[name](), plain(name)
    seeds = [np.random.default_rng(seed) for seed in range(repeats)]
    series = {
        PRINTED: [printed_kmeans_not_private(data, kind, float(epsilon), coins) for coins in seeds],
        OURS: list(certified(data, kind, epsilon, repeats)),
    }
    points = []
    for calibration, centres in series.items():
        ratios = np.array([data.objective(one) for one in centres]) / reference
        points.append(
            {
                "data": name,
                "policy": kind.word,
                "epsilon": float(epsilon),
                "calibration": calibration,
                OBJECTIVE: float(ratios.mean()),
                "lower": float(np.quantile(ratios, 0.25)),
                "upper": float(np.quantile(ratios, 0.75)),
                "standard error": float(ratios.std() / math.sqrt(len(ratios))),
            }
        )
    return points


PANELS: tuple[tuple[str, str, tuple[str, ...], tuple[Kind, ...]], ...] = (
    ("a", "tweets, distance", ("tweets",), (FULL, *(distance(km, " km") for km in ("2000", "1000", "500", "100")))),
    (
        "b",
        "one percent of Skin, distance; with one attribute at a time, Figure 2 of the article of 2015",
        ("SKIN01",),
        (FULL, ATTRIBUTE, *(distance(theta) for theta in ("256", "128", "64", "32"))),
    ),
    ("c", "synthetic, distance", ("synthetic",), (FULL, *(distance(theta) for theta in ("1", "0.5", "0.25", "0.1")))),
    (
        "d",
        "what theta = 128 gains over the full policy, Skin in three sizes",
        ("SKIN", "SKIN10", "SKIN01"),
        (FULL, distance("128")),
    ),
    (
        "e",
        "what secrets of one attribute at a time gain over the full policy",
        ("tweets", "SKIN01", "synthetic"),
        (FULL, ATTRIBUTE),
    ),
    (
        "f",
        "tweets, partitions",
        ("tweets",),
        (FULL, partition(4, 3), partition(10, 10), partition(40, 25), partition(400, 300)),
    ),
)


def run(quick: bool, progress: Progress) -> Figure:
    """Every panel; a point that two panels share is measured once."""
    epsilons = ("0.1", "1") if quick else tuple(f"{k / 10:g}" for k in range(1, 11))
    wanted = dict.fromkeys(
        (name, kind, epsilon, FEWER if quick else REPEATS)
        for _, _, names, kinds in PANELS
        for name in names
        if not quick or name in ("SKIN01", "synthetic")
        for kind in kinds
        for epsilon in epsilons
    )
    tasks = list(wanted)
    # fresh processes: one that is forked from a process with threads may wait for ever; one thread each is enough
    with ProcessPoolExecutor(2, get_context("spawn"), threadpool_limits, (1,)) as pool:
        found = list(progress(_Results(pool.map(measured, tasks), len(tasks)), "points"))
    points = [point for both in found for point in both]
    charts = tuple(chart for panel in PANELS for chart in _chart(*panel, points))
    at = {e: {_key(point): point for point in points if point["epsilon"] == e} for e in (0.1, 1.0)}
    rows = tuple(
        (name, word, *(at[e][name, word, series][OBJECTIVE] for e in at for series in (PRINTED, OURS)))
        for name, word, series in at[1.0]
        if series == OURS
    )
    columns = ("data", "policy", "printed, 0.1", "certified, 0.1", "printed, 1", "certified, 1")
    sources = "; ".join(dict.fromkeys(f"{name}: {DATA[name]().source}" for name, *_ in tasks))
    data = f"{sources}; {FEWER if quick else REPEATS} runs of both series at every point"
    title = "Objective over that of plain k-means, at epsilon 0.1 and 1 (the printed series is not private)"
    return Figure(data, (Table(title, columns, rows),), charts, tuple(_checks(at[0.1])))


class _Results(Sequence[list[Point]]):
    """Results as they come, with their number known beforehand, for the progress bar."""

    def __init__(self, results: Iterator[list[Point]], size: int) -> None:
        self._results, self._size = results, size

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[list[Point]]:
        return self._results

    def __getitem__(self, place: object) -> list[Point]:  # type: ignore[override]
        raise TypeError("results come in their order only")


def _key(point: Point) -> tuple[str, str, str]:
    return point["data"], point["policy"], point["calibration"]


def _chart(letter: str, title: str, names: Sequence[str], kinds: Sequence[Kind], points: list[Point]) -> list[Chart]:
    """A panel: a line for each policy; or, where it compares data sets, what they gain by the last policy."""
    words = [kind.word for kind in kinds]
    shown = [point for name in names for point in points if point["data"] == name and point["policy"] in words]
    if not shown:
        return []
    where: dict[str, Any] = {"x": "epsilon", "panels": "calibration"}
    if len(names) == 1:
        how = {"y": OBJECTIVE, "series": "policy", "low": "lower", "high": "upper"}
        return [lines(f"kmeans-{letter}", f"({letter}) {title}", shown, **where, **how)]
    gain = f"objective, full over {words[-1]}"
    full = {(_key(p)[0], _key(p)[2], p["epsilon"]): p[OBJECTIVE] for p in shown if p["policy"] == FULL.word}
    gains = [
        {**p, gain: full[p["data"], p["calibration"], p["epsilon"]] / p[OBJECTIVE]}
        for p in shown
        if p["policy"] == words[-1]
    ]
    return [lines(f"kmeans-{letter}", f"({letter}) {title}", gains, y=gain, series="data", **where)]


def _checks(at: dict[tuple[str, str, str], Point]) -> list[Check]:
    """Orderings at epsilon 0.1. Six standard errors of the difference are left to chance."""

    def below(one: tuple[str, str, str], other: tuple[str, str, str]) -> bool:
        chance = 6 * math.hypot(at[one]["standard error"], at[other]["standard error"])
        return bool(at[one][OBJECTIVE] <= at[other][OBJECTIVE] + chance)

    names = {name for name, _, _ in at}
    smallest = [(name, word) for name, word, series in at if word in ("theta = 0.1", "theta = 32") and series == OURS]
    better = all(below((name, FULL.word, OURS), (name, FULL.word, PRINTED)) for name in names)
    gains = all(below((name, word, OURS), (name, FULL.word, OURS)) for name, word in smallest)
    printed = all(
        2 * at[name, word, PRINTED][OBJECTIVE] < at[name, FULL.word, PRINTED][OBJECTIVE] for name, word in smallest
    )
    return [
        Check("with the full policy, where the printed noise is right up to a constant, ours errs less", better),
        Check("a small theta costs us no more than the full policy does (epsilon 0.1)", gains),
        Check("the printed calibration halves its error by a small theta, as the figure shows", printed),
    ]
