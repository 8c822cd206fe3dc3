"""An estimate with its interval, and the answer to a SELECT."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from tetraodon.display import Displayed
from tetraodon.domain import Attribute, Domain, Grid, Value
from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Ints
from tetraodon.exact.rational import rational
from tetraodon.query.condition.nodes import evaluate
from tetraodon.query.condition.read import checked
from tetraodon.query.condition.select import Question
from tetraodon.query.condition.syntax import Names

# -- estimate ---------------------------------------------------------------------------------------

CONFIDENCE = Fraction(95, 100)
"""Every released interval holds the true answer with at least this probability, one number at a time."""


class Estimate(Displayed, float):
    """A number with its interval: it is a float, and knows `lower`, `upper` and `confidence`, 1 where it is certain.

    The interval holds the number too, unless noise took that below zero where the truth cannot be.

    `source` names what was asked: the table of a release that answered, or the view; it is empty elsewhere.

    >>> Estimate(12, 8, 15).of("ages").source
    'ages'
    """

    __slots__ = ("confidence", "lower", "source", "upper")
    lower: float
    upper: float
    confidence: Fraction
    source: str

    def __new__(cls, value: float, lower: float, upper: float, confidence: Fraction = CONFIDENCE) -> Estimate:
        made = super().__new__(cls, value)
        made.lower = float(min(lower, max(value, 0.0) if lower >= 0 else value))
        made.upper = float(max(upper, value))
        made.confidence = confidence
        made.source = ""
        return made

    def of(self, source: str) -> Estimate:
        """The same estimate, which says what it was read from."""
        made = Estimate(float(self), self.lower, self.upper, self.confidence)
        made.source = source
        return made

    @classmethod
    def certain(cls, value: float) -> Estimate:
        """A number that is known exactly."""
        return cls(value, value, value, Fraction(1))

    @property
    def value(self) -> float:
        """The number itself."""
        return float(self)

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end, holding the truth with at least the probability `confidence`."""
        return self.lower, self.upper

    @property
    def words(self) -> str:
        """The number and its interval as a person reads them; the interval is rounded outwards.

        >>> Estimate(12964.6, 12854.2, 13103.5).words, Estimate.certain(5).words
        ('about 12,965 (95%: 12,854 to 13,104)', 'exactly 5')
        """
        if self.confidence == 1:
            return f"exactly {self.value:,.0f}"
        value, lower, upper = self.rounded
        return f"about {value} ({float(100 * self.confidence):.4g}%: {lower} to {upper})"

    @property
    def rounded(self) -> tuple[str, str, str]:
        """Value and ends as whole numbers, the ends rounded outwards; with decimals where the interval is short."""
        if self.upper - self.lower < 5 and self.value != round(self.value):
            lower, upper = math.floor(100 * self.lower) / 100, math.ceil(100 * self.upper) / 100
            return f"{self.value:,.2f}", f"{lower:,.2f}", f"{upper:,.2f}"
        return f"{self.value:,.0f}", f"{math.floor(self.lower):,}", f"{math.ceil(self.upper):,}"

    def document(self) -> dict[str, Any]:
        return {"value": float(self), "lower": self.lower, "upper": self.upper, "confidence": float(self.confidence)}

    def __repr__(self) -> str:
        return f"Estimate({float(self):g}, {self.lower:g}..{self.upper:g})"


# -- answered ---------------------------------------------------------------------------------------
# The answer to a SELECT: its groups, chosen and in order, each with one estimate or several.

GROUPS = 100_000
STEP = Fraction(1, 10**6)
"""`having` looks at estimates in such steps."""
Row: TypeAlias = dict[str, Estimate]
"""Several estimates, under the names that they were selected with."""
Groups: TypeAlias = dict[Value | tuple[Value, ...], Any]
"""One estimate or row for each value of the attribute grouped by, or for each combination of values."""
Answered: TypeAlias = Estimate | Row | Groups


def number_of_groups(question: Question, domain: Domain) -> int:
    """How many groups of the domain a question has; refused where they are too many."""
    groups = math.prod(domain.shape[place] for place in question.by)
    if groups > GROUPS:
        raise QueryError("there are too many groups", fix="group by fewer or coarser attributes")
    return groups


def miss(question: Question, domain: Domain, confidence: Fraction) -> Fraction:
    """How often one interval of the answer may miss the truth.

    Why  where estimates decide which groups are shown, those that chance has moved are shown most, and their intervals
         would miss more often. If all intervals of all groups hold together, those that are shown do.
    """
    alpha = 1 - confidence
    if not question.chosen_by_looking:
        return alpha
    return alpha / (number_of_groups(question, domain) * len(question.aggregates))


def needed(question: Question, domain: Domain) -> list[int]:
    """The groups whose aggregates decide the answer, by their places: all where estimates choose or order them."""
    groups = number_of_groups(question, domain)
    if question.having is not None or any(order.column is not None for order in question.order):
        return list(range(groups))
    return [int(at) for at in _chosen(question, (), _codes(question, domain))]


def answered(question: Question, domain: Domain, columns: Sequence[Mapping[int, Estimate]]) -> Answered:
    """The groups that were asked for, given every aggregate of the groups that are `needed`."""
    named = question.aggregates[: question.shown]

    def row(at: int) -> Estimate | Row:
        if len(named) == 1:
            return columns[0][at]
        return {one.name: column[at] for one, column in zip(named, columns, strict=False)}

    if not question.by:
        return row(0)
    codes = _codes(question, domain)
    groups = domain.project([domain.names[place] for place in question.by])
    found: Groups = {}
    for at in _chosen(question, columns, codes):
        value = groups.value_of(codes[at].tolist())
        found[value[0] if len(value) == 1 else value] = row(int(at))
    return found


def _codes(question: Question, domain: Domain) -> Ints:
    """The codes of each group."""
    return np.array(list(np.ndindex(*(domain.shape[place] for place in question.by))), np.int64)


def _chosen(question: Question, columns: Sequence[Mapping[int, Estimate]], codes: Ints) -> Ints:
    """The places of the groups that are shown, in their order."""
    values = np.array([[one.value for _, one in sorted(column.items())] for column in columns], np.float64)
    chosen = np.arange(len(codes))
    if question.having is not None:
        chosen = chosen[_having(question, values)]
    for order in reversed(question.order):
        key = codes[:, question.by.index(order.place)] if order.place is not None else values[order.column]
        chosen = chosen[np.argsort(-key[chosen] if order.descending else key[chosen], kind="stable")]
    return np.asarray(chosen[: question.limit], np.int64)


def _having(question: Question, values: Any) -> Any:
    """Where `having` is true: a condition on a table of groups, whose attributes are the estimates."""
    assert question.having is not None
    attributes, codes = [], {}
    for place, column in enumerate(values):
        low, high = math.floor(column.min()), math.ceil(column.max()) + 1
        attributes.append(Attribute(f"a{place}", Grid(Fraction(low), Fraction(high), STEP)))
        codes[place] = np.rint((column - low) / float(STEP)).astype(np.int64)
    true, _ = evaluate(checked(question.having, Names(Domain(tuple(attributes)))), codes)
    return np.broadcast_to(true, values.shape[1])


def with_source(found: Answered, source: str) -> Answered:
    """The same answer, whose estimates say what they were read from."""
    if isinstance(found, Estimate):
        return found.of(source)
    return {key: with_source(one, source) for key, one in found.items()}


def answer_document(question: str, found: Answered) -> dict[str, Any]:
    """An answer as JSON: of one estimate, of several, or of groups."""
    if isinstance(found, Estimate):
        return {"condition": question, "item": found.source} | found.document()
    groups = [
        {"group": list(map(str, key if isinstance(key, tuple) else (key,)))} | _told(one) for key, one in found.items()
    ]
    return {"condition": question, "item": ", ".join(sorted(_sources(found))), "groups": groups}


def answer_from(document: Mapping[str, Any]) -> Answered:
    """The answer that a document holds; the values of groups are texts."""
    if "groups" not in document:
        return _estimate(document, document["item"])
    found: Groups = {}
    for one in document["groups"]:
        key = one["group"][0] if len(one["group"]) == 1 else tuple(one["group"])
        row = {name: _estimate(cell, document["item"]) for name, cell in one.get("row", {}).items()}
        found[key] = row or _estimate(one, document["item"])
    return found


def _estimate(document: Mapping[str, Any], source: str) -> Estimate:
    sure = rational(float(document["confidence"]), name="the confidence")
    return Estimate(document["value"], document["lower"], document["upper"], sure).of(source)


def _told(one: Estimate | Row) -> dict[str, Any]:
    return (
        one.document() if isinstance(one, Estimate) else {"row": {name: cell.document() for name, cell in one.items()}}
    )


def _sources(found: Answered) -> set[str]:
    if isinstance(found, Estimate):
        return {found.source}
    return {source for one in found.values() for source in _sources(one)}
