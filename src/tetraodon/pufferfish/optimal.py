"""The best mechanism for a finite definition and a loss, by linear programming, made exact afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tetraodon.errors import PolicyError, Refused
from tetraodon.exact.arrays import Floats
from tetraodon.exact.rational import rational
from tetraodon.pufferfish.axioms import Template, compiled, world_of
from tetraodon.pufferfish.channel import Channel
from tetraodon.pufferfish.definition import Definition
from tetraodon.pufferfish.scenarios import Prior
from tetraodon.pufferfish.world import World

Loss = Callable[[Any, Any], Any]
UNIT = 2**44
VARIABLE_LIMIT = 250_000


@dataclass(frozen=True, repr=False)
class Optimal(Channel):
    """A channel that keeps a definition exactly and loses next to nothing against the best one.

    `loss` is its exact expected (or worst) loss; `bound` is the linear program's optimum for a rational just below
    e^epsilon, a float that no channel can beat by more than the solver's tolerance.
    """

    loss: Fraction = Fraction(0)
    bound: float = 0.0


def optimal_mechanism(
    definition: Definition,
    loss: Loss | Sequence[Sequence[Any]],
    *,
    world: World | Iterable[Any] | None = None,
    outputs: Sequence[Any] | None = None,
    prior: Prior | None = None,
    worst: bool = False,
) -> Optimal:
    """The channel of least expected loss(dataset, output) among all that keep a definition.

    The expectation is under `prior`, uniform unless given; with `worst`, the loss on the worst dataset counts instead.
    Outputs are the datasets themselves unless listed. A loss may be a matrix: a row for each dataset, a column for each
    output. `world`, or any list of datasets, is needed where the definition's attackers do not list them.

    Post  every probability is a Fraction and the template holds exactly.
    Why   the solution of the linear program breaks constraints by rounding errors; every constraint holds with room to
          spare for the channel that answers at random, so a tiny share of it, computed exactly, repairs them all.
    """
    world = world_of(definition) if world is None else world if isinstance(world, World) else World.of(world)
    choices = world.datasets if outputs is None else tuple(outputs)
    if world.size * len(choices) > VARIABLE_LIMIT:
        raise Refused("the linear program would be too large", fix="take fewer datasets or outputs")
    template = compiled(definition, world)
    table = [[loss(d, w) for w in choices] for d in world.datasets] if callable(loss) else list(loss)
    if len(table) != world.size or any(isinstance(row, str) or len(row) != len(choices) for row in table):
        raise PolicyError("the loss does not fit", fix="give loss(dataset, output), or a row for each dataset")
    costs = [[rational(_plain(cost), name="a loss") for cost in row] for row in table]
    weights = (Prior.uniform(world) if prior is None else prior).on(world)
    if any(sum((c for _, c in constraint), Fraction(0)) >= 0 for constraint in template.constraints):
        matrix, bound = _constant(template, costs, weights, worst), None
    else:
        solved, bound = _solve(template, costs, weights, worst)
        matrix = repaired(template, _exact(solved))
    if template.check(Channel(matrix, world.datasets, choices)) is not None:
        raise Refused("no exact mechanism was found", fix="allow a larger epsilon")
    value = _value(matrix, costs, weights, worst)
    return Optimal(matrix, world.datasets, choices, world.names, value, float(value) if bound is None else bound)


def repaired(template: Template, matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    """The channel with just enough of a random answer mixed in to keep every constraint exactly."""
    outputs = len(matrix[0])
    share = Fraction(0)
    for constraint in template.constraints:
        room = sum((c for _, c in constraint), Fraction(0)) / outputs
        for w in range(outputs):
            amount = sum((c * matrix[n][w] for n, c in constraint), Fraction(0))
            if amount > 0:
                share = max(share, amount / (amount - room))
    if not share:
        return matrix
    return [[(1 - share) * number + share / outputs for number in row] for row in matrix]


def _solve(
    template: Template, costs: list[list[Fraction]], weights: list[Fraction], worst: bool
) -> tuple[Floats, float]:
    """The linear program over K(d, w), one variable for each dataset and output, and one for the worst loss."""
    datasets, outputs = len(costs), len(costs[0])
    size = datasets * outputs
    cost = np.array([[float(c) for c in row] for row in costs])
    entries: list[tuple[int, int, float]] = []
    row = 0
    for constraint in template.constraints:
        for w in range(outputs):
            entries += [(row, n * outputs + w, float(c)) for n, c in constraint]
            row += 1
    if worst:
        for n in range(datasets):
            entries += [(row, n * outputs + w, cost[n, w]) for w in range(outputs)]
            entries.append((row, size, -1.0))
            row += 1
    rows, columns, numbers = zip(*entries, strict=True)
    width = size + int(worst)
    above = coo_array((numbers, (rows, columns)), shape=(row, width)).tocsr()
    spots = np.arange(size)
    sums = coo_array((np.ones(size), (spots // outputs, spots)), shape=(datasets, width)).tocsr()
    goal = np.zeros(width)
    if worst:
        goal[size] = 1.0
    else:
        goal[:size] = (np.array([float(w) for w in weights])[:, None] * cost).ravel()
    found = linprog(goal, A_ub=above, b_ub=np.zeros(row), A_eq=sums, b_eq=np.ones(datasets), method="highs")
    if found.status != 0:
        raise Refused(f"the linear program was not solved: {found.message}", fix="check the loss and the definition")
    return np.asarray(found.x)[:size].reshape(datasets, outputs), float(found.fun)


def _exact(solved: Floats) -> list[list[Fraction]]:
    """Rows of short fractions that sum to one."""
    rows = []
    for row in solved.tolist():
        whole = [max(0, round(number * UNIT)) for number in row]
        rows.append([Fraction(number, sum(whole)) for number in whole])
    return rows


def _constant(
    template: Template, costs: list[list[Fraction]], weights: list[Fraction], worst: bool
) -> list[list[Fraction]]:
    """The best there is at epsilon = 0: one answer for all datasets that must look the same.

    Why   constraints on two datasets at a time force equal rows, and the rows of different classes are free.
    """
    if any(len(constraint) != 2 for constraint in template.constraints):
        raise Refused(
            "at epsilon = 0 the best mechanism against listed attackers is not found exactly",
            fix="ask for a small epsilon above zero",
        )
    links = np.array([[n for n, _ in constraint] for constraint in template.constraints])
    graph = coo_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(len(costs), len(costs)))
    labels = connected_components(graph, directed=False)[1]
    matrix = [[Fraction(0)] * len(costs[0]) for _ in costs]
    for label in set(labels.tolist()):
        members = np.flatnonzero(labels == label).tolist()

        def value(w: int, members: list[int] = members) -> Fraction:
            column = [costs[n][w] if worst else weights[n] * costs[n][w] for n in members]
            return max(column) if worst else sum(column, Fraction(0))

        best = min(range(len(costs[0])), key=value)
        for n in members:
            matrix[n][best] = Fraction(1)
    return matrix


def _value(matrix: list[list[Fraction]], costs: list[list[Fraction]], weights: list[Fraction], worst: bool) -> Fraction:
    each = [
        sum((k * c for k, c in zip(row, cost, strict=True)), Fraction(0))
        for row, cost in zip(matrix, costs, strict=True)
    ]
    return max(each) if worst else sum((p * value for p, value in zip(weights, each, strict=True)), Fraction(0))


def _plain(number: Any) -> Any:
    if hasattr(number, "item"):
        number = number.item()
    if isinstance(number, bool):  # a loss of one for a wrong answer: lambda d, w: d != w
        return int(number)
    if isinstance(number, complex):
        raise PolicyError("a loss is not a real number", fix="return a number")
    return number
