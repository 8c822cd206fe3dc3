"""AIM (McKenna, Mullins, Sheldon and Miklau, PVLDB 2022) in plain floating point, after its paper.

All tables of three attributes are asked for. Counts by each attribute come first, with Gaussian noise. Then, round by
round, a table of one to three attributes is drawn by the exponential mechanism: its score is how far the model is off,
less what noise alone would add, times how much it has in common with what is asked. It is measured, and the model is
fitted to all that was told, by mirror descent with a line search. Where that changes less than noise would, later
rounds get half the noise and twice the epsilon for their choice. Nine tenths of rho are for counts, one tenth for
choices; the last round takes what is left. A table may be chosen while the model stays within so many megabytes, eight
bytes a cell, times the share of rho that is spent. Add or remove one record. The junction tree is that of
`tetraodon/inference/graphical_model.py`. Nothing here is private: floats are not, nor is the generator.

Two shortcuts: scores that even the farthest model could not raise to within reach of the best one are not worked out,
which changes the choice with a chance below 1e-9; and a descent ends where it hardly moves, if that is before its 1,000
steps.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from benchmarks.peers.tree_method import rho_of
from tetraodon.exact.arrays import Floats, Ints
from tetraodon.inference.graphical_model import GraphicalModel, JunctionTree, NoisyTable
from tetraodon.query.aim import Places, cells_of

STEPS, PATIENCE, ENOUGH = 1000, 25, 1e-4
"""Steps of a fit at most; it ends before if so many steps in a row lower its loss by less than this part of it."""
WAYS = 3
"""How many attributes the tables have that are asked for."""
NEVER = 45.0
"""A score that is so many units of its mechanism below another is drawn with a chance of e^-45 of the other's."""


def adaptive(codes: Ints, sizes: list[int], epsilon: float, delta: float, most: float, seed: int) -> Ints:
    """As many made-up records as there are, from a model of `most` megabytes."""
    rng, many = np.random.default_rng(seed), len(sizes)
    rho = rho_of(epsilon, delta)
    asked = list(combinations(range(many), min(WAYS, many)))
    every = {part for table in asked for ways in range(1, WAYS + 1) for part in combinations(table, ways)}
    weights = {one: float(sum(len(set(one) & set(table)) for table in asked)) for one in sorted(every)}
    truth = {one: table_of(codes, sizes, one) for one in weights}
    sigma = math.sqrt(16 * many / (2 * 0.9 * rho))
    choice = math.sqrt(8 * 0.1 * rho / (16 * many))
    noisy = [_measured(truth, (place,), sigma, rng) for place in range(many)]
    spent = many / (2 * sigma**2)
    model = _fitted(None, noisy, sizes)
    while spent < rho * (1 - 1e-9):
        left = rho - spent
        if left < 2 * (1 / (2 * sigma**2) + choice**2 / 8):
            sigma, choice = math.sqrt(1 / (2 * 0.9 * left)), math.sqrt(8 * 0.1 * left)
        spent += 1 / (2 * sigma**2) + choice**2 / 8
        able = _able(list(weights), model, most * spent / rho)
        one = _chosen({table: weights[table] for table in able}, truth, model, sigma, choice, rng)
        noisy.append(_measured(truth, one, sigma, rng))
        before = model.counts(one)
        model = _fitted(model, noisy, sizes)
        if np.abs(model.counts(one) - before).sum() <= math.sqrt(2 / math.pi) * sigma * before.size:
            sigma, choice = sigma / 2, 2 * choice
    return model.drawn(len(codes), rng)


def table_of(codes: Ints, sizes: list[int], places: Places) -> Floats:
    """The exact counts of a table."""
    shape = [sizes[place] for place in places]
    cells = np.ravel_multi_index(tuple(codes[:, place] for place in places), shape)
    return np.bincount(cells, minlength=math.prod(shape)).reshape(shape).astype(np.float64)


def _measured(truth: dict[Places, Floats], one: Places, sigma: float, rng: np.random.Generator) -> NoisyTable:
    return NoisyTable(one, truth[one] + rng.normal(0, sigma, truth[one].shape), sigma)


def _fitted(model: GraphicalModel | None, noisy: list[NoisyTable], sizes: list[int]) -> GraphicalModel:
    """The best fit to all that was told, from where the last one ended. The total is what tells it best."""
    sure = [1 / (one.counts.size * one.deviation**2) for one in noisy]
    total = max(1.0, sum(s * float(one.counts.sum()) for s, one in zip(sure, noisy, strict=True)) / sum(sure))
    terms = {one.places: np.zeros_like(one.counts) for one in noisy} | dict(model.terms if model else {})
    tree, size = JunctionTree([*terms], sizes), min(one.deviation for one in noisy) ** 2 / total
    loss, slopes = tree.off(tree.propagated(terms), noisy, total)
    trace = [loss]
    while len(trace) <= STEPS and not (len(trace) > PATIENCE and trace[-PATIENCE - 1] - loss < ENOUGH * loss):
        tried = {one: term - size * slopes[one] for one, term in terms.items()}
        there, steep = tree.off(tree.propagated(tried), noisy, total)
        if there > loss:
            size /= 2
            continue
        terms, loss, slopes, size = tried, there, steep, 1.2 * size
        trace.append(loss)
    return GraphicalModel(tree, terms, total)


def _able(tables: list[Places], model: GraphicalModel, most: float) -> list[Places]:
    """What can be measured without making the model too large."""
    there, sizes = model.tree.cliques, model.tree.sizes
    inside = [set(one) for one in there]
    return [
        one
        for one in tables
        if any(set(one) <= part for part in inside) or cells_of([*there, one], sizes) <= most * 2**17
    ]


def _chosen(
    weights: dict[Places, float],
    truth: dict[Places, Floats],
    model: GraphicalModel,
    sigma: float,
    choice: float,
    rng: np.random.Generator,
) -> Places:
    """One of the tables, by the exponential mechanism."""
    noise = {one: math.sqrt(2 / math.pi) * sigma * truth[one].size for one in weights}
    unit = 2 * max(weights.values()) / choice
    farthest = {one: (truth[one].sum() + model.total - noise[one]) * weight for one, weight in weights.items()}
    scores: dict[Places, float] = {}
    for one in sorted(weights, key=lambda one: -farthest[one]):
        if scores and farthest[one] < max(scores.values()) - NEVER * unit:
            break
        scores[one] = weights[one] * (float(np.abs(truth[one] - model.counts(one)).sum()) - noise[one])
    tables, values = list(scores), np.array(list(scores.values())) / unit
    chances = np.exp(values - values.max())
    return tables[rng.choice(len(tables), p=chances / chances.sum())]
