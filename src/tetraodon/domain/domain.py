"""The set of all values one record can have: a product of attributes, of any size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tetraodon.domain.attribute import Attribute
from tetraodon.domain.values import Value
from tetraodon.errors import DomainError, did_you_mean


@dataclass(frozen=True, slots=True)
class Domain:
    """A product of attributes. A *cell* is one value of the product, numbered row by row.

    >>> from tetraodon.domain import Attribute, Categories, Integers
    >>> domain = Domain((Attribute("age", Integers(0, 99)), Attribute("id", Integers(1, 10**12))))
    >>> domain.size
    100000000000000
    >>> domain.cell((3, 5)), domain.value(3 * 10**12 + 4)
    (3000000000004, (3, 5))
    """

    attributes: tuple[Attribute, ...]
    places: Mapping[str, int] = field(init=False, repr=False, compare=False)
    shape: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.attributes:
            raise DomainError("the domain has no attribute", fix="declare at least one attribute")
        object.__setattr__(self, "places", {attribute.name: place for place, attribute in enumerate(self.attributes)})
        object.__setattr__(self, "shape", tuple(attribute.size for attribute in self.attributes))
        if len(self.places) != len(self.attributes):
            raise DomainError("two attributes share a name", fix="give each its own name")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.places)

    @property
    def size(self) -> int:
        """How many cells there are. Ask before enumerating."""
        return math.prod(self.shape)

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __getitem__(self, name: str) -> Attribute:
        return self.attributes[self.position(name)]

    def position(self, name: str) -> int:
        """Where an attribute stands among the attributes."""
        try:
            return self.places[name]
        except (KeyError, TypeError):
            raise DomainError(f"there is no attribute {name!r}", fix=did_you_mean(name, self.names)) from None

    def project(self, names: Sequence[str]) -> Domain:
        """The domain of some of the attributes, in the order asked."""
        return Domain(tuple(self[name] for name in names))

    def codes(self, value: object) -> tuple[int, ...]:
        """Positions of one record's values; a bare value will do for a single attribute."""
        parts = value if isinstance(value, tuple | list) else (value,)
        if len(parts) != len(self.attributes):
            raise DomainError(
                f"a value has {len(parts)} parts where the domain has {len(self.attributes)}",
                fix=f"give one value for each of: {', '.join(self.names)}",
            )
        return tuple(attribute.code(part) for attribute, part in zip(self, parts, strict=True))

    def cell(self, value: object) -> int:
        """Number of the cell that holds a value."""
        return self.cell_of(self.codes(value))

    def cell_of(self, codes: Sequence[int]) -> int:
        """Number of the cell at given positions."""
        cell = 0
        for code, size in zip(codes, self.shape, strict=True):
            cell = cell * size + code
        return cell

    def cell_among(self, names: Sequence[str], codes: Sequence[int]) -> int:
        """Number of the cell of some attributes, at given positions of all."""
        cell = 0
        for place in map(self.position, names):
            cell = cell * self.shape[place] + codes[place]
        return cell

    def codes_of(self, cell: int) -> tuple[int, ...]:
        """Positions of a cell, the inverse of `cell_of`."""
        if not 0 <= cell < self.size:
            raise DomainError("a cell is outside the domain", fix="use 0..size-1")
        codes: list[int] = []
        for size in reversed(self.shape):
            cell, code = divmod(cell, size)
            codes.append(code)
        return tuple(reversed(codes))

    def value(self, cell: int) -> tuple[Value, ...]:
        """The value a cell stands for."""
        return self.value_of(self.codes_of(cell))

    def value_of(self, codes: Sequence[int]) -> tuple[Value, ...]:
        """The value at given positions."""
        return tuple(attribute.value(code) for attribute, code in zip(self, codes, strict=True))
