"""What a kind of query states about itself: its linear query, its columns, its words.

The rooms above ask a question for its parts and never which kind it is: the policy file for its keys, mechanisms for
what must be measured and what is read off a table of counts, releases for columns, pages for words and pictures.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.errors import QueryError, Refused
from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.exact.rational import decimal_text
from tetraodon.query.bins import Bins
from tetraodon.query.contribution import Answerers, One
from tetraodon.query.linear import LinearQuery, Split, split_by
from tetraodon.query.local_log_noise import Disguised
from tetraodon.wording import listing

# -- answered ---------------------------------------------------------------------------------------
# What was released about an item, as its question sees it, and how that becomes named columns.

Columns: TypeAlias = dict[str, NDArray[Any]]


class Interval(Protocol):
    """A number between two ends."""

    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...
    def __float__(self) -> float: ...


class CountTable(Protocol):
    """A released table of counts, with intervals that hold the truth with 95% probability unless they say otherwise."""

    @property
    def values(self) -> Floats: ...

    @property
    def unbiased(self) -> Floats:
        """The counts as all measurements together tell them, neither rounded nor kept above zero."""

    @property
    def quantile_confidence(self) -> Fraction:
        """What running counts must be known with, so that a quantile read from them is known with 95%."""

    def add_up(self, mask: Bools) -> Interval:
        """The number of records in some cells."""

    def cells(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of every cell."""

    def running(self, confidence: Fraction = ...) -> tuple[Floats, Floats, Floats]:
        """Running counts along the last attribute, with their lower and upper ends."""


@dataclass(frozen=True, eq=False)
class MeasuredSum:
    """A sum that was measured, one number for each cell of its splits, in multiples of `unit`.

    `numbers` are estimates without bias, and `reach(failures)` is how far off each is, in units, but for a chance of 5%
    divided by so many. `told` are the published numbers, where those differ.
    """

    numbers: Floats | Ints
    unit: Fraction
    exact: bool
    reach: Callable[[int], Floats | float]
    told: Floats | None = None
    ends: tuple[Ints, ...] = ()
    """Lower and upper ends of intervals, where these do not lie as far as `reach` around the numbers."""

    def off(self, failures: int) -> Floats:
        """`reach` for the only number of every cell."""
        return np.broadcast_to(self.reach(failures), np.shape(self.numbers))[..., 0]

    @property
    def published(self) -> Floats:
        """The numbers that answers are computed from, in units."""
        return np.asarray(self.numbers if self.told is None else self.told, np.float64)


class Answered(Protocol):
    """What was released about an item."""

    @property
    def domain(self) -> Domain: ...

    @property
    def whole(self) -> bool:
        """Whether counts are to be whole and not negative."""

    @property
    def noisy(self) -> bool:
        """Whether there is any noise in it."""

    @property
    def averaged(self) -> bool:
        """Whether it was inferred as version 0.1 did."""

    @property
    def axes(self) -> tuple[Split, ...]:
        """The axes of the table of counts."""

    @property
    def table(self) -> CountTable | None:
        """The table of counts behind the answer, if there is one."""

    @property
    def sums(self) -> tuple[MeasuredSum, ...]:
        """What was measured itself, in the order of `Query.sums`."""

    def clusters(self) -> tuple[Floats, Floats]:
        """Centres of clusters and their sizes, where clusters were asked for."""

    def made_up(self, n: int) -> dict[str, Ints]:
        """The codes of so many synthetic records, by attribute, where such were asked for."""


# -- columns -----------------------------------------------------------------------------------


MEASURED = "measured"
"""Beside whole counts, the column of what they were before they were rounded and kept above zero."""
ROUNDING = 1e-6
"""What floats may have added to an end of an interval."""


def with_interval(word: str, values: NDArray[Any], lower: NDArray[Any], upper: NDArray[Any]) -> Columns:
    """The columns of an answer and of its interval."""
    return {word: values.ravel(), "lower": lower.ravel(), "upper": upper.ravel()}


def with_counts(
    word: str, values: Floats, interval: tuple[Floats, Floats], unbiased: Floats, answered: Answered
) -> Columns:
    """The columns of counts; whole ones that are not exact have the measured numbers in a further column."""
    if not answered.whole:
        return with_interval(word, values, *interval)
    whole = (np.rint(part).astype(np.int64) for part in (values, *interval))
    return with_interval(word, *whole) | ({MEASURED: unbiased.ravel()} if answered.noisy else {})


def possible_ends(
    centre: Floats, reach: Floats | float, values: Floats, most: Floats | float = math.inf
) -> tuple[Floats, Floats]:
    """Ends of intervals of counts: whole, from 0 to the most there can be, and around the published counts.

    Pre   with some probability the truth is no farther from `centre` than `reach`.
    Post  with at least that probability it lies between the ends. None of them is shorter than its reach unless that
          is more than there can be.
    Why   where noise has pushed a centre out of what is possible, the nearest possible number is no farther from the
          truth, and takes its place: so an interval that lies below zero does not become the point zero.

    >>> possible_ends(np.array([-9.5, 3.2, 98.0]), 4.0, np.array([0.0, 3.0, 97.0]), 99)
    (array([ 0.,  0., 94.]), array([ 4.,  7., 99.]))
    """
    centre = np.clip(centre, 0.0, most)
    lower = np.maximum(np.ceil(centre - reach - ROUNDING), 0.0)
    upper = np.minimum(np.floor(centre + reach + ROUNDING), most)
    return np.minimum(lower, values), np.maximum(upper, values)


def ends_of_counts(
    centre: Floats, reach: Floats | float, values: Floats, *, averaged: bool = False
) -> tuple[Floats, Floats]:
    """As `possible_ends`, where counts are published as they were estimated: not rounded, and maybe below zero.

    Post  no end is below zero, where no count can be, even if the published number is; but for releases of version 0.1,
          which averaged margins: their ends stay as they were published.

    >>> ends_of_counts(np.array([-9.5, 3.25]), 4.0, np.array([-8.5, 3.0]))
    (array([0., 0.]), array([4.  , 7.25]))
    """
    if averaged:
        return np.minimum(np.maximum(centre - reach, 0.0), values), np.maximum(np.maximum(centre + reach, 0.0), values)
    centre = np.maximum(centre, 0.0)
    lower = np.maximum(centre - reach, 0.0)
    return np.minimum(lower, np.maximum(values, 0.0)), np.maximum(centre + reach, values)


def counted(table: CountTable, answered: Answered) -> Columns:
    """A table of counts as columns."""
    counts = with_counts("count", table.values, table.cells(), table.unbiased, answered)
    return labels(answered.axes, answered.domain) | counts


def measured_counts(measured: MeasuredSum, answered: Answered, whole: bool) -> Columns:
    """Counts that were measured themselves, as columns."""
    unit = float(measured.unit)
    number, value = (np.asarray(one, np.float64) * unit for one in (measured.numbers, measured.published))
    reach = measured.reach(1) * unit
    if whole:
        value = np.maximum(np.rint(value), 0.0)
        return with_counts("count", value, possible_ends(number, reach, value), number, answered)
    return with_interval("count", value, *ends_of_counts(number, reach, value, averaged=answered.averaged))


def labels(splits: Sequence[Split], domain: Domain, extra: int = 1, beside: str = "") -> Columns:
    """One column of values per split, in the order of the table's cells, each repeated `extra` times.

    `beside` is the column of the answer, where it is not among those of `OURS`.
    """
    shape = [split.size(domain) for split in splits]
    columns: Columns = {}
    for axis, split in enumerate(splits):
        view = [1] * (len(shape) + 1)
        view[axis] = -1
        column = split_values(split, domain[split.name]).reshape(view)
        columns[column_name(split.name, beside)] = np.broadcast_to(column, (*shape, extra)).ravel()
    return columns


OURS = frozenset(
    "at_most cluster count high low lower mean measured quantile range records term total upper".split()  # noqa: SIM905
)
"""Names that no attribute's column has in any answer, so that all tables of a release call it the same."""


def column_name(attribute: str, beside: str = "") -> str:
    """The column an attribute is written in: its name, unless an answer's own column is called that."""
    return f"{attribute}_value" if attribute in OURS or attribute == beside else attribute


def split_values(split: Split, attribute: Attribute) -> NDArray[Any]:
    """The values, or the names of the bins, of a split."""
    if split.bins is not None:
        named = split.labels or tuple(f"bin {number}" for number in range(max(split.bins) + 1))
        return np.array(named, object)
    return attribute_values(attribute)


def attribute_values(attribute: Attribute) -> NDArray[Any]:
    """All values of an attribute as an array of the natural type; as texts where missing ones stand among them."""
    if attribute.separate:
        return np.array(attribute.labels, object)
    match attribute.values:
        case Integers(low=low, high=high):
            return np.arange(low, high + 1, dtype=np.int64 if max(abs(low), abs(high)) < 2**62 else object)
        case Grid(low=low, step=step):
            return np.array([float(low + code * step) for code in range(attribute.size)])
        case Dates(first=first):
            return np.array([first + dt.timedelta(days=d) for d in range(attribute.size)], "datetime64[D]")
        case Booleans():
            return np.array([False, True])
        case Categories(labels=names):
            return np.array(names, object)
        case _:
            assert_never(attribute.values)


# -- query ------------------------------------------------------------------------------------------

Json: TypeAlias = dict[str, Any]
TypedBins: TypeAlias = str | list[list[str]] | dict[str, list[str]]


@dataclass(frozen=True)
class Key:
    """A key of an item in the policy file. `form` is the form of its value: one of the usual forms, or what reads it.

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
    """Running counts along the last attribute of a table; or what is read off them, quantiles at rising `shares`.

    Quantiles may have intervals, with `bounds`. Neither makes other counts of these.
    """

    shares: tuple[Fraction, ...] = field(default=(), compare=False)
    bounds: bool = field(default=False, compare=False)


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


@dataclass(frozen=True)
class Wording:
    """What a kind of question says in words: templates that its fields fill in, from `templates/questions.toml`.

    `{attribute}` is a field; `{attribute:in}` adds its unit in a sentence, `{attribute:titled}` over an axis, and
    `{attribute:unit}` is the unit alone. A part in angle brackets is left out where one of its fields is empty, or is
    what stands behind a bar in it.
    `off` is how far off answers are: by `{off}` of the `{unit}`, with `{each}` for `Each number`, or `The number`.
    `title` is what a chart's numbers are, `head` what it shows; a kind without a title has a chart of its own, or none.
    """

    asked: str
    sentence: str
    unit: str = "records"
    off: str = "{each} is typically off by {off} {unit}"
    title: str = ""
    head: str = ""

    @staticmethod
    def filled(template: str, phrases: Mapping[str, Any]) -> str:
        """A template with its fields filled in.

        >>> Wording.filled("mean of {it}< by {by}|, for all><, {how}>", {"it": "age", "by": "", "how": "<rounded>"})
        'mean of age, for all, <rounded>'
        """
        parts = re.split("<(.*?)>", template)
        for place in range(1, len(parts), 2):
            part, _, otherwise = parts[place].partition("|")
            parts[place] = part if all(phrases[name] for name in re.findall(r"{(\w+)", part)) else otherwise
        return "".join(part.format_map(phrases) for part in parts)

    @staticmethod
    @cache
    def of(kind: type[Query]) -> Wording:
        """What a kind says, and where it says nothing, the kind that it is made from."""
        said: dict[str, str] = {}
        for one in reversed(kind.__mro__):
            said |= _templates().get(one.__dict__.get("words", ("",))[0], {})
        return Wording(**said)


@cache
def _templates() -> dict[str, dict[str, str]]:
    return tomllib.loads((Path(__file__).parent / "templates" / "questions.toml").read_text(encoding="utf-8"))


class _Name(str):
    """A name in a template, with the unit of the attribute that it may be."""

    unit: str

    def __new__(cls, name: str, domain: Domain | None) -> _Name:
        found = super().__new__(cls, name)
        found.unit = domain[name].unit if domain is not None and name in domain.names else ""
        return found

    def __format__(self, form: str) -> str:
        if form == "unit" or not form:
            return self.unit if form else str(self)
        return f"{self}{(f' in {self.unit}' if form == 'in' else f' ({self.unit})') if self.unit else ''}"


class _Names(tuple[_Name, ...]):
    """Several names in a template."""

    __slots__ = ()

    def __format__(self, form: str) -> str:
        return listing([format(name, form) for name in self], most=len(self))


class Query(ABC):
    """A question. A kind is a frozen dataclass with these methods; its first field is what its own key names."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    words: ClassVar[tuple[str, ...]]
    """Its key in the policy file, then others that mean the same."""
    keys: ClassVar[Mapping[str, Key]]
    """Its keys in the policy file besides `name` and `share`, its own key first."""
    instead: ClassVar[Mapping[str, str]] = {}
    """Keys that are none of its own, and what people mean who write them: how to write it."""
    needed: ClassVar[tuple[str, ...]] = ()
    """Fields that name attributes without which a record does not count."""
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
    def wording(self) -> Wording:
        """What it says in words: templates that its fields fill in."""
        return Wording.of(type(self))

    @property
    def by(self) -> tuple[str, ...]:
        """The attributes for each cell of which it is asked."""
        return ()

    @property
    def shape(self) -> str:
        """What the curator says that everybody knows of where records are; nothing, or `sparse`."""
        return ""

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> Query:  # noqa: ARG003
        """The question that an item asks; `written` has every key, by default what was left out."""
        own, *rest = (one.name for one in fields(cls))
        asked = {own: next((written[word] for word in cls.words if written[word]), written[cls.words[0]])}
        return cls(**asked, **{name: written[name] for name in rest if name in cls.keys})

    def document(self) -> Json:
        """The item's keys again, every default written out, except `by`."""
        own, *rest = fields(self)
        found = {self.words[0]: plain(getattr(self, own.name))}
        for one in rest:
            value = getattr(self, one.name)
            if one.name in self.keys and one.name != "by" and value != one.default:
                found[one.name] = plain(value)
        return found

    @abstractmethod
    def linear(self, domain: Domain) -> LinearQuery:
        """What is counted or added up, as a linear query over the domain."""

    def needs(self) -> tuple[str, ...]:
        """Attributes without which a record does not count, where missing values of them stand apart."""
        return tuple(name for field in self.needed for name in names_of(getattr(self, field) or ()))

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

    def phrases(self, domain: Domain | None) -> dict[str, Any]:
        """What fills in the templates of `wording`: the fields, and what a kind adds. Units are in the domain."""
        found: dict[str, Any] = {"by": _Names(_Name(name, domain) for name in self.by), "weight": ""}
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, str):
                found[one.name] = _Name(value, domain)
            elif isinstance(value, tuple) and all(isinstance(part, str) for part in value):
                found[one.name] = _Names(_Name(name, domain) for name in value)
            else:
                found[one.name] = value
        own = found.get("attribute")
        found["missing"] = own if domain is not None and own in domain.names and domain[own].separate else ""
        return found

    def asked(self) -> str:
        """What is asked for, in a few words, without `by`."""
        return self._said(self.wording.asked, None)

    def sentence(self, domain: Domain) -> str:
        """What is asked for, as a sentence."""
        return self._said(self.wording.sentence, domain)

    def unit(self, domain: Domain) -> str:
        """What the expected error is counted in."""
        return self._said(self.wording.unit, domain).lstrip()

    def off_by(self, off: str, each: str, domain: Domain) -> str:
        """How far off the answers are, as a sentence. `each` is `Each number`, or `The number`."""
        return self._said(self.wording.off, domain, off=off, each=each, unit=self.unit(domain)).rstrip() + "."

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing | None:  # noqa: ARG002
        """What a chart shows, from the axes of the table that was read; None where it has a chart of its own."""
        title = self._said(self.wording.title, domain)
        head = self._said(self.wording.head, domain) or title.capitalize()
        return Drawing(splits_of(self.by, domain), title, head) if title else None

    def _said(self, template: str, domain: Domain | None, **more: str) -> str:
        return Wording.filled(template, {**self.phrases(domain), **more})


def asked_in_words(query: Query) -> str:
    """What an item asks for.

    >>> from tetraodon.query.counts import histogram
    >>> from tetraodon.query.moments import total
    >>> asked_in_words(histogram("age", "sex")), asked_in_words(total("loss", by="sex"))
    ('counts by age and sex', 'sum of loss by sex')
    """
    return query.asked() + (f" by {listing(query.by, most=len(query.by))}" if query.by else "")


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


def _apart(name: str) -> Refused:
    what = f"missing values of {name} stand apart, and this question has no place for them yet"
    return Refused(what, fix="leave the weight out, or write `missing:` one of its other values")


def splits_of(names: Sequence[str], domain: Domain) -> tuple[Split, ...]:
    """Splits by every value of attributes that the domain has, or by the branches of their trees."""
    return tuple(split_by(name, domain) for name in names)


def names_of(names: Sequence[str]) -> tuple[str, ...]:
    """One name or several."""
    return (names,) if isinstance(names, str) else tuple(names)


def plain(value: object) -> Any:
    """A value of the domain, a number, or several, in the types that JSON has."""
    if isinstance(value, tuple):
        return [plain(one) for one in value]
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else decimal_text(value)
    return value.isoformat() if isinstance(value, dt.date) else value


# -- data shape -------------------------------------------------------------------------------------
# What a curator may say that everybody knows of where records are. Nothing is looked at to check it.

SPARSE = "sparse"
"""Most records are in few places."""


def shape_of(value: object) -> str:
    """A shape as it is written; empty where nothing is known.

    >>> shape_of("sparse"), shape_of("")
    ('sparse', '')
    """
    if value not in ("", SPARSE):
        raise QueryError("this is no shape of data that is known", fix=f"write `shape: {SPARSE}`, or leave it out")
    return str(value)


SHAPE = Key(shape_of, "", {"enum": [SPARSE]})
