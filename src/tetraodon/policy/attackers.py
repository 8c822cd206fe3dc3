"""Who might attack, as a policy file can say it: what an attacker may believe about how rows depend on each other."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Domain
from tetraodon.errors import PolicyError, Refused
from tetraodon.exact.arrays import Bools
from tetraodon.exact.rational import Number, decimal_text, probabilities, rounded_up, row_reduced
from tetraodon.exact.zcdp import sqrt_above
from tetraodon.query import condition

Vector: TypeAlias = tuple[Fraction, ...]
Matrix: TypeAlias = tuple[Vector, ...]
MOST_RECORDS = 10**12
STATIONARY = "stationary"
"""The start of a chain in the distribution that it keeps."""


def distribution(numbers: Sequence[Number], *, name: str) -> Vector:
    """Exact probabilities that sum to one, or a refusal that says what they sum to."""
    exact = probabilities(numbers, name=f"a probability of {name}")
    if any(number < 0 for number in exact):
        raise PolicyError(f"a probability of {name} is negative", fix="write probabilities of at least zero")
    if sum(exact) != 1:
        total = decimal_text(sum(exact, Fraction(0)))
        raise PolicyError(
            f"the probabilities of {name} sum to {total}, not to 1", fix="write exact fractions such as 1/3"
        )
    return exact


def transition_matrix(rows: Sequence[Sequence[Number]]) -> Matrix:
    """A square matrix whose rows are distributions: row x, column y is P(next = y | now = x)."""
    matrix = tuple(distribution(row, name=f"row {n} of the transition matrix") for n, row in enumerate(rows))
    if not matrix or any(len(row) != len(matrix) for row in matrix):
        raise PolicyError("a transition matrix is not square", fix="give one row and one column for each state")
    return matrix


def stationary(matrix: Matrix) -> Vector:
    """The one distribution that the chain keeps, exactly. Refuses a chain that keeps several.

    >>> stationary(transition_matrix([["0.9", "0.1"], ["0.4", "0.6"]]))
    (Fraction(4, 5), Fraction(1, 5))
    """
    size = len(matrix)
    rows = [[matrix[x][y] - (x == y) for x in range(size)] + [Fraction(0)] for y in range(size)]
    rows.append([Fraction(1)] * size + [Fraction(1)])
    reduced, leading = row_reduced(rows, size)
    if len(leading) < size:
        raise PolicyError(
            "the chain has more than one stationary distribution: some states never reach others",
            fix="give the start as a list of probabilities, or add the transitions that are missing",
        )
    return tuple(reduced[n][size] for n in range(size))


def is_ergodic(matrix: Matrix) -> bool:
    """Whether the chain forgets where it was: after some number of steps every state is possible from every state.

    Why   a matrix of n states whose powers ever become positive has done so by the power (n - 1)^2 + 1 (Wielandt), and
          a positive matrix stays positive.

    >>> is_ergodic(transition_matrix([["0.9", "0.1"], ["0.4", "0.6"]])), is_ergodic(transition_matrix([[0, 1], [1, 0]]))
    (True, False)
    """
    possible = np.array([[number > 0 for number in row] for row in matrix])
    power = 1
    while power < (len(matrix) - 1) ** 2 + 1:
        possible = (possible.astype(np.int64) @ possible.astype(np.int64)) > 0
        power *= 2
    return bool(possible.all())


def _texts(numbers: Vector) -> list[str]:
    return [decimal_text(number) for number in numbers]


@dataclass(frozen=True, slots=True)
class Independent:
    """The records of different people are independent ([KM12] Example 3.3)."""

    kind: ClassVar = "independent"

    def document(self) -> list[Any]:
        """The list as a policy file says it, every number exact."""
        return ["independent"]


@dataclass(frozen=True, slots=True)
class DependentGroups:
    """Rows with the same value of a column may depend on each other in any way; different groups are independent.

    At most `at_most` rows of a group are counted, so at most that many change together.
    """

    column: str
    at_most: int

    kind: ClassVar = "groups"

    def document(self) -> list[Any]:
        return [{"groups": self.column, "at most": self.at_most}]

    def __post_init__(self) -> None:
        if not 1 <= self.at_most <= 1_000_000:
            raise PolicyError("`at most` is not between 1 and 1,000,000", fix="write the largest group, such as 5")

    def rows_together(self, known: int = 0) -> int:
        """How many rows change at once where so many counts are known: those of all groups that make up for each other.

        Why   groups are independent, so neighbours under one known count, of m rows a group, are sequences of whole
              numbers from -m to m that add up to zero, or lie on the way, while no part does. They have at most
              2 m - 1 members, or 2 if m is 1 (docs/attackers.md).
        """
        if known > 1:
            raise Refused(
                "groups of dependent rows are priced beside one known count, and more are known",
                fix="write `attackers: [independent]` if that is true: no price of both is known",
            )
        return self.at_most * max(2, 2 * self.at_most - 1) if known else self.at_most


@dataclass(frozen=True, slots=True)
class Chain:
    """The rows, in the order of a column, are successive states of a Markov chain: one of those listed.

    No `starts` means that each chain starts in the distribution it settles in. `length` is the public number of rows,
    0 where any number must be covered.
    """

    along: str
    transitions: tuple[Matrix, ...]
    starts: tuple[Vector, ...]
    source: str
    length: int = 0

    kind: ClassVar = "chain"

    def document(self) -> list[Any]:
        matrices = [[_texts(row) for row in matrix] for matrix in self.transitions]
        starts = [_texts(start) for start in self.starts]
        said = {
            "along": self.along,
            "states": self.states,
            "transition": matrices[0] if len(matrices) == 1 else matrices,
            "start": (starts[0] if len(starts) == 1 else starts) or STATIONARY,
            "source": self.source,
        }
        return [{"chain": said | ({"length": self.length} if self.length else {})}]

    def __post_init__(self) -> None:
        checked_source(self.source)
        sizes = {len(matrix) for matrix in self.transitions} | {len(start) for start in self.starts}
        if len(sizes) != 1:
            raise PolicyError("the matrices and starts of a chain differ in size", fix="use one list of states")
        if not all(is_ergodic(matrix) for matrix in self.transitions):
            raise Refused(
                "the chain is not ergodic: it never forgets some state it was in, so that any two rows, however far "
                "apart, may tell each other",
                fix="write a small probability for every transition that is merely unlikely, or use `groups`",
            )

    @property
    def states(self) -> int:
        return len(self.transitions[0])

    @property
    def always_possible(self) -> bool:
        """Whether every state is possible at every moment: no start leaves one out, and an ergodic chain keeps all."""
        return all(min(start) > 0 for start in self.starts)


@dataclass(frozen=True, slots=True)
class Contacts:
    """People are joined in some network, and each record depends on those of the person's contacts.

    A person has at most `at_most` contacts. Given all other records, one contact's record moves the odds between any
    two values of the person's own by a factor of at most `influence`.
    """

    at_most: int
    influence: Fraction
    source: str

    kind: ClassVar = "contacts"

    def document(self) -> list[Any]:
        said = {"at most": self.at_most, "influence": decimal_text(self.influence), "source": self.source}
        return [{"contacts": said}]

    def __post_init__(self) -> None:
        checked_source(self.source)
        if not 1 <= self.at_most <= 1_000_000:
            raise PolicyError(
                "`at most` is not between 1 and 1,000,000", fix="write the most contacts that anybody has"
            )
        if not 1 <= self.influence <= 1_000_000:
            raise PolicyError(
                "`influence` is not between 1 and 1,000,000", fix="write the factor on the odds, such as 1.2"
            )
        if self.at_most * self.passed_on >= 1:
            raise Refused(
                "what one contact tells about another does not die away along such a network: no bound is known",
                fix="write fewer contacts or less influence if that is true, or use `groups` for all who hang together",
            )

    @property
    def passed_on(self) -> Fraction:
        """Of what an answer tells about a person, the share that it tells about each contact: never too small.

        Why   with F the influence it is (sqrt F - 1) / (sqrt F + 1): so far apart are two laws at most, in total
              variation, whose odds differ by a factor of F at most (docs/attackers.md).
        """
        root = sqrt_above(self.influence)
        return (root - 1) / (root + 1)

    @property
    def rows(self) -> Fraction:
        """How many rows' worth of noise hides one person, whatever the network: never too small (after [GK17]).

        Why   the weight of all walks that leave a person and never come back, each step weighing c = `passed_on`. They
              are most in the tree in which everybody has d contacts. Let s be the weight of the walks there that end
              with the first step from a child to its parent: s = c + (d - 1) c s^2. All walks from the root weigh
              1 / (1 - d c), and each is some number of returns, of weight d c s each, and a walk that never comes back.

        >>> Contacts(1, Fraction(9), "a study").rows, Contacts(5, Fraction("1.44"), "a study").rows
        (Fraction(3, 2), Fraction(351, 200))
        """
        most, share = self.at_most, self.passed_on
        returned = 2 * share / (1 + sqrt_above(1 - 4 * share**2 * (most - 1)))
        return rounded_up((1 - most * share * returned) / (1 - most * share), digits=3)  # a number to be read


@dataclass(frozen=True, slots=True)
class Chances:
    """How likely each value of an attribute is, given those of others: a row for each of their combinations."""

    name: str
    given: tuple[str, ...]
    rows: Matrix


@dataclass(frozen=True, slots=True)
class TableSecret:
    """Records are independent, with `chances` that a Bayesian network has, and a share of the whole table is a secret.

    Two shares of the `records` with `share`, at most `within` apart, must stay indistinguishable; or, where records are
    `drawn`, two chances with which each of them has it: [ZOC22]'s privacy of a data set's attribute, and of that of its
    distribution.

    >>> smokers = Chances("smoker", (), ((Fraction(4, 5), Fraction(1, 5)),))
    >>> TableSecret("smoker = true", Fraction(1, 20), 1000, (smokers,), "a survey").differ
    50
    """

    share: str
    within: Fraction
    records: int
    chances: tuple[Chances, ...]
    source: str
    drawn: bool = False

    kind: ClassVar = "table"

    def document(self) -> list[Any]:
        """The list as a policy file says it: the secret itself is among the secrets, see `secret_document`."""
        return INDEPENDENT.document()

    def secret_document(self) -> dict[str, Any]:
        """The secret as a policy file says it, every number exact."""
        chances = {
            one.name: ({"given": list(one.given)} if one.given else {}) | {"are": [_texts(row) for row in one.rows]}
            for one in self.chances
        }
        return {
            "chance" if self.drawn else "share": self.share,
            "within": f"{decimal_text(100 * self.within)}%",
            "records": self.records,
            "chances": chances,
            "source": self.source,
        }

    def __post_init__(self) -> None:
        checked_source(self.source)
        if not 1 <= self.records <= MOST_RECORDS:
            raise PolicyError("this is no number of records", fix="write the public number of records of the table")
        if not 0 < self.within <= 1 or (self.differ < 1 and not self.drawn):
            raise PolicyError(
                "`within` is less than one record, or more than all", fix="write a share such as 5%, up to 100%"
            )
        placed: set[str] = set()
        while more := {one.name for one in self.chances if one.name not in placed and placed >= {*one.given}}:
            placed |= more
        if left := [one.name for one in self.chances if one.name not in placed]:
            raise PolicyError(
                f"the chances of {left[0]} rest on themselves, or on an attribute without any",
                fix="let `given` name attributes whose chances are stated, none of which rests on this one",
            )

    @property
    def differ(self) -> int:
        """In how many records two indistinguishable shares may differ."""
        return int(self.within * self.records)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes whose chances are stated."""
        return tuple(one.name for one in self.chances)


Attackers: TypeAlias = Independent | DependentGroups | Chain | Contacts | TableSecret
INDEPENDENT = Independent()
OWN_DATA = re.compile(
    r"\b(protected|secret|confidential|same|this|our|own|"
    r"(estimated|fitted|learned|learnt|computed|counted|derived) (from|to|on|in) the) "
    r"(table|data|data ?set|file|records)\b",
    re.IGNORECASE,
)
"""How people write that numbers come from the table that is to be protected."""


def checked_source(source: str) -> str:
    """Where a scenario's numbers come from. Refuses the protected table itself and an empty answer."""
    if not source.strip():
        raise Refused("a scenario does not say where its numbers come from", fix="name the study or the judgement")
    if OWN_DATA.search(source):
        raise Refused(
            "a scenario was estimated from the protected table, so publishing under it would leak",
            fix="take the numbers from another study, or protect against a whole set of scenarios",
        )
    return source


# -- whole table ------------------------------------------------------------------------------------
# A secret of the whole table: for what share of its records a condition holds, or with what chance ([ZOC22]).
#
# Somebody who knows how the columns of a table go together learns from one number about another: from how many are ill,
# how many smoke. The file says which share is the secret, and how likely values are given others: a Bayesian network.

MOST_CELLS = 4096
"""Of the attributes that chances are stated of."""


def joint_chances(secret: TableSecret, domain: Domain) -> NDArray[Any]:
    """The exact chance of every cell of the attributes whose chances are stated, one axis for each."""
    shape = domain.project(secret.names).shape
    if math.prod(shape) > MOST_CELLS:
        raise Refused(
            f"the attributes with chances have more than {MOST_CELLS:,} cells together",
            fix="state the chances of fewer or coarser attributes",
        )
    found = np.full(shape, Fraction(1), object)
    for one in secret.chances:
        axes = [secret.names.index(name) for name in (*one.given, one.name)]
        table = np.array(one.rows, object).reshape([shape[axis] for axis in axes])
        sizes = [size if axis in axes else 1 for axis, size in enumerate(shape)]
        found = found * table.transpose(np.argsort(axes)).reshape(sizes)
    return found


def cells_having(secret: TableSecret, domain: Domain) -> Bools:
    """In which of these cells the condition of the secret holds."""
    cells = domain.project(secret.names)
    names, holds = condition.truth_table(secret.share, cells)
    sizes = [size if name in names else 1 for name, size in zip(cells.names, cells.shape, strict=True)]
    return np.asarray(np.broadcast_to(holds.reshape(sizes), cells.shape))
