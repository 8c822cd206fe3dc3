"""How far sequences of moves push the answers at most, from how far single moves do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.certificate.known.classes import Classes


class PushBounds(ABC):
    """The largest pushes of single moves between classes of values, and what follows for many of them."""

    @property
    @abstractmethod
    def classes(self) -> Classes: ...

    @property
    @abstractmethod
    def widest(self) -> Ints:
        """The largest push of one move, for every pair of classes, and of a move inside each on the diagonal."""

    @property
    @abstractmethod
    def secret_moves(self) -> Mapping[tuple[int, int], int]:
        """The largest push of one secret move, for pairs of classes that one joins."""

    @property
    def diameters(self) -> Ints:
        """The largest push of a move inside each class."""
        return np.diagonal(self.widest)

    @property
    def widest_move(self) -> int:
        """The largest push of any one move."""
        return int(self.widest.max())

    def most_in_a_cycle(self) -> int:
        """A bound on the push of a cycle through all classes with a secret move in it.

        Why  the moves of a cycle are changes inside each class. Let the secret move go from x in class a to y in
             class b; then all that changes in a and b is a move between two of their values, and the secret move.
             In other classes it is at most the diameter; in a and b at most theirs, too.
        """
        inside = self.diameters
        rest = int(inside.sum())
        return max(
            rest - int(inside[a] + inside[b]) + min(int(inside[a] + inside[b]), int(self.widest[a, b]) + moved)
            for (a, b), moved in self.secret_moves.items()
        )

    def most_in_a_flow(self, balance: Sequence[int]) -> int:
        """A bound on the push of a flow between classes without cycles.

        Why  the flow is a number of paths from classes that lose records to classes that gain them. On each path all
             that changes is a move from its first value to its last, and changes inside the classes between. A
             class is passed by no more paths than neither start nor end there.
        """
        paths = sum(entry for entry in balance if entry > 0)
        gains = [c for c, entry in enumerate(balance) if entry > 0]
        loses = [c for c, entry in enumerate(balance) if entry < 0]
        passing = sum((paths - abs(entry)) * int(self.diameters[c]) for c, entry in enumerate(balance))
        return paths * int(self.widest[np.ix_(loses, gains)].max()) + passing

    def most_in(self, length: int) -> int:
        """A bound on the push of so many moves, one of them secret."""
        return (length - 1) * self.widest_move + max(self.secret_moves.values())
