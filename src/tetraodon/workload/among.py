"""What a contribution adds for some of the records: those for which a condition holds; all others add nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tetraodon.arrays import Bools, Ints
from tetraodon.workload.number import writable

if TYPE_CHECKING:
    from fractions import Fraction

    from tetraodon.workload.contribution import Contribution


@dataclass(frozen=True)
class Among:
    """A contribution of the records for which a condition holds.

    `names` are the attributes of `inner`, and then those that the condition alone looks at; `sizes` how many values
    each has. `held` are the attributes of the condition, and `truth` says for each of their cells, a byte each, whether
    it holds. `inner` is about values that such records can have: along its attributes its codes begin at `first`, and
    there are `within` of them.

    >>> from tetraodon.workload.contribution import Prefix
    >>> grown = Among(Prefix("age", 2, 2), ("age", "sex"), (3, 2), ("age",), bytes([0, 1, 1]), (1,), (2,))
    >>> grown.alone(np.arange(6)).tolist(), grown.apart(np.array([0, 2]), np.array([4, 4])).tolist()
    ([0, 0, 2, 2, 1, 1], [1, 1])
    """

    inner: Contribution
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    held: tuple[str, ...]
    truth: bytes
    first: tuple[int, ...]
    within: tuple[int, ...]

    @property
    def rows(self) -> int:
        return self.inner.rows

    @property
    def unit(self) -> Fraction:
        return self.inner.unit

    @cached_property
    def table(self) -> Bools:
        """Whether the condition holds, with one axis for each of its attributes."""
        return np.frombuffer(self.truth, np.bool_).reshape([self.sizes[self.names.index(name)] for name in self.held])

    def holds(self, codes: Sequence[Ints]) -> Bools:
        """Whether the condition holds for records with these codes, an array for each of `names`."""
        return np.asarray(self.table[tuple(codes[self.names.index(name)] for name in self.held)])

    def inner_codes(self, codes: Sequence[Ints]) -> list[Ints]:
        """The codes of records along the attributes of `inner`, as that counts them; any where nothing holds."""
        own = zip(codes[: len(self.first)], self.first, self.within, strict=True)
        return [np.clip(np.asarray(code) - first, 0, size - 1) for code, first, size in own]

    def _seen(self, x: Ints) -> tuple[Bools, Ints]:
        codes = np.unravel_index(np.asarray(x), self.sizes)
        own = self.inner_codes(codes)
        cell = np.ravel_multi_index(own, self.within) if own else np.zeros(np.shape(x), np.int64)
        return self.holds(codes), np.asarray(cell)

    def alone(self, x: Ints) -> Ints:
        holds, cell = self._seen(x)
        return np.where(holds, self.inner.alone(cell), 0)

    def apart(self, x: Ints, y: Ints) -> Ints:
        """Why  where the condition holds for one of two records only, all that this one adds is moved."""
        (here, a), (there, b) = self._seen(x), self._seen(y)
        moved = np.where(here & there, self.inner.apart(a, b), 0)
        return np.where(here & ~there, self.inner.alone(a), np.where(there & ~here, self.inner.alone(b), moved))

    def potential(self, x: Ints) -> Ints | None:  # noqa: ARG002
        return None

    def columns(self) -> Ints:
        inner, size = self.inner.columns(), math.prod(self.sizes)
        writable(len(inner) * size)
        holds, cell = self._seen(np.arange(size))
        return np.asarray(inner[:, cell] * holds)

    # -- less of it ----------------------------------------------------------------------------

    def at(self, name: str, code: int) -> Contribution | None:
        """The same for records with one code of an attribute that `inner` does not look at; None if none has it."""
        table = np.asarray(self.table.take(code, self.held.index(name)) if name in self.held else self.table)
        sizes = zip(self.names, self.sizes, strict=True)
        return self._with({other: size for other, size in sizes if other != name}, table)

    def about(self, inner: Contribution, keep: Sequence[str]) -> Contribution | None:
        """Another contribution, of those of its attributes that are kept, where the condition holds for any others."""
        kept = tuple(name for name in self.names if name in keep)
        others = tuple(axis for axis, name in enumerate(self.held) if name not in kept)
        own = [place for place, name in enumerate(self.names[: len(self.first)]) if name in kept]
        first, within = (tuple(part[place] for place in own) for part in (self.first, self.within))
        sizes = {name: self.sizes[self.names.index(name)] for name in kept}
        return replace(self, inner=inner, first=first, within=within)._with(
            sizes, np.asarray(self.table.any(axis=others))
        )

    def also(self, name: str, there: Bools) -> Contribution | None:
        """The same for records that have one of some codes of an attribute, too."""
        held = self.held if name in self.held else (*self.held, name)
        table = self.table if name in self.held else self.table[..., None]
        table = table & there.reshape([-1 if other == name else 1 for other in held])
        return replace(self, held=held)._with(dict(zip(self.names, self.sizes, strict=True)), table)

    def _with(self, sizes: dict[str, int], table: Bools) -> Contribution | None:
        if table.all():
            return self.inner
        if not table.any():
            return None
        held = tuple(name for name in self.held if name in sizes)
        return replace(
            self,
            names=tuple(sizes),
            sizes=tuple(sizes.values()),
            held=held,
            truth=np.ascontiguousarray(table).tobytes(),
        )


def among_all(contribution: Contribution, sizes: tuple[int, ...]) -> Among:
    """A contribution of all records, written as one of those for which a condition holds."""
    return Among(contribution, contribution.names, sizes, (), b"\x01", (0,) * len(sizes), sizes)
