"""Attributes, and the domain: the product of their values, of any size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tetraodon.domain.values import Categories, Dates, Grid, Integers, TreeLevel, Value, Values, written_days
from tetraodon.errors import DomainError, did_you_mean
from tetraodon.exact.rational import rational
from tetraodon.wording import of_one

# -- attribute --------------------------------------------------------------------------------------
# One column of the table: its name, its values, and what stands in for values it should not have.

MISSING = "missing"
"""What the cell of missing values is called where it stands apart."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column with a declared, public set of values.

    `missing` is the code that stands for an absent or unreadable value. `other` is the code that stands
    for a value outside the set; None clamps a number or date to the nearer end, and is not
    possible for categories. Both happen in silence: nothing that is published depends on whether they did. `declared`
    names those of the two that the policy file says itself: a view, which shows records, takes no others.

    With `separate`, missing and unreadable values have a code of their own, the last one, called `missing`. It has no
    number and no place in an order: sums are over those who answered, and the attribute is neither ordered nor numeric.

    `format` says how days are written in text, and `trim` that blanks around a text do not count. `unit` stands after
    numbers, and `singular` in its place after one; where only the unit is given, that of times is known.
    """

    name: str
    values: Values
    missing: int = 0
    other: int | None = None
    unit: str = ""
    format: str = ""
    trim: bool = False
    separate: bool = False
    singular: str = ""
    declared: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.name:
            raise DomainError("an attribute has no name", fix="name every attribute")
        if self.format:
            if not isinstance(self.values, Dates):
                raise DomainError(f"{self.name} holds no dates", fix="drop `format:`, or declare it as a date")
            written_days(self.format)
        if self.separate and self.missing != self.values.size:
            raise DomainError(f"missing values of {self.name} do not stand apart", fix="give them the last code")
        if self.separate and isinstance(self.values, Categories) and MISSING in self.values.codes:
            raise DomainError(
                f"{self.name} has a category called {MISSING}", fix=f"write `missing: {MISSING}` instead of separate"
            )
        for role, code in (("missing", self.missing), ("other", self.other)):
            if code is not None and not 0 <= code < self.values.size + (self.separate and role == "missing"):
                raise DomainError(f"`{role}` of {self.name} is not one of its values", fix="choose a listed value")
        if self.other is None and not isinstance(self.values, Integers | Grid | Dates):
            raise DomainError(
                f"{self.name} does not say what stands for other values", fix="give `other:` one of the listed values"
            )

    @property
    def size(self) -> int:
        """How many values there are, that of missing ones included if they stand apart."""
        return self.values.size + self.separate

    @property
    def ordered(self) -> bool:
        """Whether 'less than' means something."""
        return self.values.ordered and not self.separate

    @property
    def numeric(self) -> bool:
        """Whether every value is a number."""
        return self.adds_up and not self.separate

    @property
    def adds_up(self) -> bool:
        """Whether values can be added up; where missing ones stand apart, over those who answered."""
        return isinstance(self.values, Integers | Grid)

    @property
    def step(self) -> Fraction:
        """The distance between one value and the next; one rank for ordered categories."""
        return self.values.step

    def code(self, value: object) -> int:
        """Position of a value. Raises DomainError, naming the attribute and not the value."""
        if self.separate and value == MISSING:
            return self.missing
        try:
            return self.values.code(value)
        except DomainError as error:
            raise DomainError(error.what, fix=error.fix, where=self.name) from None

    def code_from(self, value: object) -> int:
        """The first position at or above a value, which need not lie on the grid."""
        code = self.code(value)
        if isinstance(self.values, Grid) and self.number(code) < rational(value, name=self.name):  # type: ignore[arg-type]
            return code + 1
        return code

    def code_up_to(self, value: object) -> int:
        """The last position at or below a value, which need not lie on the grid."""
        code = self.code(value)
        if isinstance(self.values, Grid) and self.number(code) > rational(value, name=self.name):  # type: ignore[arg-type]
            return code - 1
        return code

    def value(self, code: int) -> Value:
        """The value at a position."""
        if not 0 <= code < self.size:
            raise DomainError("a code is outside the attribute", fix="use 0..size-1", where=self.name)
        return MISSING if self._apart(code) else self.values.value(code)

    def text(self, code: int) -> str:
        """The value at a position, as a person writes it."""
        return MISSING if self._apart(code) else self.values.text(code)

    def number(self, code: int) -> Fraction:
        """The value at a position as a number: days for dates, ranks for ordered categories."""
        if self._apart(code):
            raise DomainError("a missing value has no number", fix="leave it out", where=self.name)
        return self.values.number(code)

    def unit_of(self, number: Fraction) -> str:
        """The unit as it stands after a number.

        >>> hours = Attribute("work", Integers(0, 99), unit="hours a week")
        >>> hours.unit_of(Fraction(1)), hours.unit_of(Fraction(2))
        ('hour a week', 'hours a week')
        """
        if number != 1:
            return self.unit
        return self.singular or of_one(self.unit)

    def measured(self, code: int) -> str:
        """The value at a position with its unit: `1 hour`, `2 hours`."""
        if self._apart(code) or not self.unit:
            return self.text(code)
        number = self.number(code) if self.adds_up else Fraction(0)
        return f"{self.text(code)} {self.unit_of(number)}"

    def _apart(self, code: int) -> bool:
        return self.separate and code == self.missing

    @property
    def levels(self) -> tuple[TreeLevel, ...]:
        """The levels of the tree that its values are the leaves of, the coarsest first; none without a tree."""
        return self.values.levels if isinstance(self.values, Categories) else ()

    @property
    def labels(self) -> tuple[str, ...]:
        """All values as text. Ask `size` first."""
        if isinstance(self.values, Categories) and not self.separate:
            return self.values.labels
        return tuple(self.text(code) for code in range(self.size))


# -- domain -----------------------------------------------------------------------------------------


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
