"""What a kind of question says about itself. Each kind is one file of this room, and one line of its table `KINDS`.

The rooms above ask a question for its parts and never which kind it is: the policy file for its keys, mechanisms for
what must be measured and what is read off a table of counts, releases for columns, pages for words and pictures.
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

from tetraodon.domain import Attribute, Domain
from tetraodon.errors import QueryError, Refused
from tetraodon.questions.answered import Answered, Columns
from tetraodon.rational import decimal_text
from tetraodon.wording import listing
from tetraodon.workload.contribution import Answerers, One
from tetraodon.workload.disguised import Disguised
from tetraodon.workload.linear import ANSWER_LIMIT, LinearQuery, Split, split_by

Json: TypeAlias = dict[str, Any]
Bins: TypeAlias = tuple[tuple[object, ...], ...]
"""Groups of values: [low, high] for ordered attributes, lists of values for categories."""
TypedBins: TypeAlias = str | list[list[str]] | dict[str, list[str]]


@dataclass(frozen=True)
class Key:
    """A key of an item in the policy file. `form` says what stands there: one of the usual forms, or what reads it.

    What reads a form of its own gets plain data (text, lists, maps) and raises QueryError; `schema` tells editors.
    """

    form: Literal["text", "names", "numbers", "whole number", "truth"] | Callable[[object], Any]
    default: Any = None
    schema: Json | None = None


BY = Key("names", ())
WHOLE = Key("truth", True)
WEIGHT = Key("text", "")


class Declared(Protocol):
    """What a policy file declares that a question may be about."""

    @property
    def domain(self) -> Domain: ...

    @property
    def rows_each(self) -> int:
        """How many rows a person may have; 0 where no column says whose row it is."""

    def code(self, attribute: Attribute, typed: str) -> int:
        """The code of a value as it was typed."""

    def bins(self, attribute: Attribute, typed: TypedBins) -> tuple[Bins, tuple[str, ...]]:
        """Groups of values and their names, if any: from a list or map, a width, a level, or secret blocks."""


@dataclass(frozen=True)
class Cells:
    """The cells of a table, each by itself."""


@dataclass(frozen=True)
class RunningCounts:
    """Running counts along the last attribute of a table; of `shares` alone, if given: rising, of the records."""

    shares: tuple[Fraction, ...] = ()


@dataclass(frozen=True)
class EveryRange:
    """Any range of the last attribute of a table."""


@dataclass(frozen=True)
class ListedRanges:
    """Some ranges of the last attribute of a table, by the codes of their ends."""

    ends: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class EveryRectangle:
    """Any rectangle of a table of two attributes."""


Reading: TypeAlias = Cells | RunningCounts | EveryRange | ListedRanges | EveryRectangle
"""What the answers add up in a table of counts: all that a mechanism need know about a question."""


@dataclass(frozen=True)
class Places:
    """Places along a side of a chart that are no values of an attribute: names."""

    title: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Drawing:
    """What a chart shows. `title` is what the numbers are, `head` what is drawn; `names_sides` adds the sides to it.

    `running` numbers belong to the last side and never fall; `adds_up` says that neighbours may be drawn together; `of`
    is the attribute that the numbers are values of.
    """

    sides: tuple[Split | Places, ...]
    title: str
    head: str
    names_sides: bool = False
    running: bool = False
    adds_up: bool = False
    of: Attribute | None = None


class Query(ABC):
    """A question. A kind is a frozen dataclass with these methods."""

    __slots__ = ()

    words: ClassVar[tuple[str, ...]]
    """Its key in the policy file, then others that mean the same."""
    keys: ClassVar[Mapping[str, Key]]
    """What may stand beside `name` and `share` in the policy file, its own key first."""
    instead: ClassVar[Mapping[str, str]] = {}
    """Keys that are none of its own, and what people mean who write them: how to write it."""
    column: ClassVar[str]
    """The column of the answer; its kind, where the answers are values of an attribute."""
    more_columns: ClassVar[tuple[str, ...]] = ()
    numbers: ClassVar[bool] = True
    """Whether the column holds numbers with an interval."""
    shaped_by_budget: ClassVar[bool] = False
    """Whether what is best to measure depends on how much may be spent."""
    of_parts: ClassVar[bool] = True
    """Whether it may be asked about some of the records only."""
    if_too_long: ClassVar[str] = "ask about fewer values: named `ranges`, or an attribute with a larger `step`"

    @property
    def by(self) -> tuple[str, ...]:
        """The attributes for each cell of which it is asked."""
        return ()

    @property
    def shape(self) -> str:
        """What the curator says that everybody knows of where records are; nothing, or `sparse`."""
        return ""

    @classmethod
    @abstractmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> Query:
        """The question that an item asks; `written` has every key, by default what was left out."""

    @abstractmethod
    def document(self) -> Json:
        """The item's keys again, every default written out, except `by`."""

    @abstractmethod
    def linear(self, domain: Domain) -> LinearQuery:
        """What is counted or added up, as a linear query over the domain."""

    def needs(self) -> tuple[str, ...]:
        """Attributes without which a record does not count, where missing values of them stand apart."""
        return ()

    def table(self, domain: Domain) -> tuple[Split, ...]:  # noqa: ARG002
        """Axes of a table of counts that the answers can be read from, an order last; none if there is no such."""
        return ()

    def reading(self, domain: Domain) -> Reading | None:  # noqa: ARG002
        """What is read there."""
        return None

    def shown(self, domain: Domain) -> Disguised | None:  # noqa: ARG002
        """The values that are shown with noise on each of them, and added up; None where noise goes elsewhere."""
        return None

    def sums(self, domain: Domain) -> tuple[LinearQuery, ...]:  # noqa: ARG002
        """What could be measured instead of a table, the most important first; the answer is computed from these."""
        return ()

    @abstractmethod
    def columns(self, answered: Answered) -> Columns:
        """Attributes first, then the answer, then `lower` and `upper`, which hold the truth with 95% probability."""

    @abstractmethod
    def asked(self) -> str:
        """What is asked for, in a few words, without `by`."""

    @abstractmethod
    def sentence(self, domain: Domain) -> str:
        """What is asked for, as a sentence."""

    def unit(self, domain: Domain) -> str:  # noqa: ARG002
        """What the expected error is counted in."""
        return "records"

    def off_by(self, off: str, each: str, domain: Domain) -> str:
        """How far off the answers are, as a sentence. `each` is `Each number`, or `The number`."""
        return f"{each} is typically off by {off} {self.unit(domain)}".rstrip() + "."

    @abstractmethod
    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing | None:
        """What a chart shows, from the axes of the table that was read; None where it has a chart of its own."""


def asked_in_words(query: Query) -> str:
    """What an item asks for.

    >>> from tetraodon.questions import histogram, total
    >>> asked_in_words(histogram("age", "sex")), asked_in_words(total("loss", by="sex"))
    ('counts by age and sex', 'sum of loss by sex')
    """
    return query.asked() + (f" by {listing(query.by, most=len(query.by))}" if query.by else "")


def for_each(by: Sequence[str]) -> str:
    """The end of a sentence about every cell."""
    return f", for each {listing(by)}" if by else ""


def with_unit(attribute: Attribute) -> str:
    """A name with its unit, in a sentence."""
    return f"{attribute.name} in {attribute.unit}" if attribute.unit else attribute.name


def titled(attribute: Attribute) -> str:
    """A name with its unit, over an axis."""
    return f"{attribute.name} ({attribute.unit})" if attribute.unit else attribute.name


def ordered(domain: Domain, name: str) -> Attribute:
    """The attribute, if 'at most' means something for it."""
    attribute = domain[name]
    if attribute.separate:
        raise _apart(name)
    if not attribute.ordered:
        fix = "declare it as {ordered: [...]} or ask for a histogram"
        raise QueryError(f"the values of {name} have no order", fix=fix)
    return attribute


def numeric(domain: Domain, name: str) -> Attribute:
    """The attribute, if its values can be added up."""
    attribute = domain[name]
    if attribute.separate and attribute.adds_up:
        raise _apart(name)
    if not attribute.numeric:
        raise QueryError(f"{name} is not a number", fix="add up an integer or real attribute")
    return attribute


def addable(domain: Domain, name: str) -> Attribute:
    """The attribute, if the values of those who answered can be added up."""
    return domain[name] if domain[name].adds_up else numeric(domain, name)


def records_of(attribute: Attribute) -> One | Answerers:
    """Who is counted where an attribute is added up: everybody, or those who answered."""
    return Answerers((attribute.name,), attribute.size) if attribute.separate else One()


def over_whom(attribute: Attribute) -> str:
    """The end of a sentence about a sum, where missing values stand apart."""
    return f", over those whose {attribute.name} is not missing" if attribute.separate else ""


def _apart(name: str) -> Refused:
    what = f"missing values of {name} stand apart, and this question has no place for them yet"
    return Refused(what, fix="leave the weight out, or write `missing:` one of its other values")


def listable(attribute: Attribute) -> Attribute:
    """The attribute, if it has so few values that each of them can be looked at."""
    if attribute.size > ANSWER_LIMIT:
        raise Refused(f"{attribute.name} has more than {ANSWER_LIMIT:,} values", fix="use a coarser one, or a cdf")
    return attribute


def splits_of(names: Sequence[str], domain: Domain) -> tuple[Split, ...]:
    """Splits by every value of attributes that the domain has, or by the branches of their trees."""
    return tuple(split_by(name, domain) for name in names)


def names_of(names: Sequence[str]) -> tuple[str, ...]:
    """One name or several."""
    return (names,) if isinstance(names, str) else tuple(names)


def plain(value: object) -> Any:
    """A value of the domain, or a number, in the types that JSON has."""
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else decimal_text(value)
    return value.isoformat() if isinstance(value, dt.date) else value
