"""Two parts of a condition compared as what they are: numbers with numbers, dates with dates, words with words."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from tetraodon.domain import Attribute, Booleans, Categories, Dates
from tetraodon.domain.values import label_text
from tetraodon.errors import DomainError, QueryError
from tetraodon.workload.condition.nodes import Always, Constant, NumberComparison, Sign, Truth, as_number
from tetraodon.workload.condition.numbers import TURNED, Ratio, compared, number
from tetraodon.workload.condition.texts import measured, words_in
from tetraodon.workload.condition.values import (
    LIKE_WITH_LIKE,
    TRUTHS,
    Day,
    Nothing,
    Plain,
    Span,
    Value,
    Words,
    day_in,
    number_in,
    read_number,
    truth_in,
    values_of,
)

UNORDERED: Final = ("=", "<>")


def compare(sign: Sign, left: Value, right: Value) -> Truth:
    """Two values compared as what they are. A quoted word is what the other side makes of it."""
    if isinstance(left, Nothing) or isinstance(right, Nothing):
        return Always(None)
    if _constant(left) is not None and _constant(right) is None:
        return compare(TURNED[sign], right, left)
    if isinstance(right, Plain) and not isinstance(left, Plain):
        return compare(TURNED[sign], right, left)
    match left:
        case Plain(Attribute(values=Categories())) if not isinstance(right, Words) or right.place is None:
            return _with_category(sign, left, right)
        case Plain(Attribute(values=Booleans())):
            return _with_truth(sign, left, right)
        case Plain(Attribute(values=Dates())) | Day():
            return _with_day(sign, left, right)
        case Plain(Attribute(values=Categories())) | Words():
            return _with_words(sign, left, right)
        case Plain() | Ratio():
            return compared(sign, number_in(left), _number_or_word(right))
        case Span():
            raise QueryError("a number of days is compared", fix="add it to a date")
        case _:
            return _with_truth(sign, left, right)


def _constant(value: Value) -> Fraction | str | None:
    match value:
        case Words((word,), None):
            return word
        case Ratio():
            return value.constant
        case _:
            return None


def _number_or_word(value: Value) -> Ratio:
    if isinstance(value, Words) and value.place is None and value.words[0] is not None:
        return number(read_number(value.words[0]))
    if isinstance(value, TRUTHS):
        raise QueryError("a number is compared with what is not true or false", fix=LIKE_WITH_LIKE)
    return number_in(value)


def _with_category(sign: Sign, left: Plain, right: Value) -> Truth:
    attribute = left.attribute
    if isinstance(right, Plain):
        if right.attribute.values == attribute.values:
            _require_order(sign, attribute)
            return NumberComparison(sign, left.code, right.code)
        if not right.attribute.adds_up:
            raise QueryError(
                "two attributes with different values are compared",
                fix="compare like with like, or their texts: `lower(one) = lower(other)`",
            )
    word = _constant(right)
    if word is None:
        raise QueryError(f"{attribute.name} is not a number", fix=values_of(attribute))
    _require_order(sign, attribute)
    try:
        code = attribute.code(word if isinstance(word, str) else label_text(word))
    except DomainError:
        fix = values_of(attribute, str(word))
        raise QueryError(f"a word is not a value of {attribute.name}", fix=fix, where="condition") from None
    if attribute.separate and code == attribute.missing:
        raise QueryError(f"a missing {attribute.name} equals nothing", fix=f"write `{attribute.name} is missing`")
    return NumberComparison(sign, left.code, Constant(code))


def _with_truth(sign: Sign, left: Value, right: Value) -> Truth:
    for side in (left, right):
        if isinstance(side, Plain) and isinstance(side.attribute.values, Booleans):
            _require_order(sign, side.attribute)
    match left, right:
        case Plain(attribute), Plain(other) if other.adds_up or isinstance(other.values, Booleans):
            if other.adds_up:
                raise QueryError(f"{attribute.name} is not a number", fix=values_of(attribute))
        case Plain(attribute), Plain(other):
            raise QueryError("two attributes with different values are compared", fix=LIKE_WITH_LIKE)
        case Plain(attribute), Words((_,), None):
            words = right.words if isinstance(right, Words) else ()
            if words[0] is None or words[0].lower() not in ("true", "false"):
                fix = values_of(attribute)
                raise QueryError(f"a word is not a value of {attribute.name}", fix=fix, where="condition")
            right = Always(words[0].lower() == "true")
        case Plain(attribute), Ratio() | Words() | Day() | Span():
            raise QueryError(f"{attribute.name} is not a number", fix=values_of(attribute))
    if sign not in UNORDERED:
        raise QueryError("true and false have no order", fix="use = or <>")
    return NumberComparison(sign, as_number(truth_in(left)), as_number(truth_in(right)))


def _with_day(sign: Sign, left: Value, right: Value) -> Truth:
    name, fix = "a date", "compare it with a date such as '2020-01-31'"
    if isinstance(left, Plain):
        name, fix = left.attribute.name, values_of(left.attribute)
    match right:
        case Ratio():
            raise QueryError(f"{name} is not a number", fix=fix)
        case Plain(attribute) if attribute.numeric:
            raise QueryError(f"{name} is not a number", fix=fix)
        case Plain(attribute) if not isinstance(attribute.values, Dates):
            raise QueryError("two attributes with different values are compared", fix=LIKE_WITH_LIKE)
        case _:
            return compared(sign, Ratio(day_in(left).days), Ratio(day_in(right, name).days))


def _with_words(sign: Sign, left: Value, right: Value) -> Truth:
    if isinstance(right, Plain) and not isinstance(right.attribute.values, Categories):
        raise QueryError(f"{right.attribute.name} is compared with a text", fix=values_of(right.attribute))
    if not isinstance(right, Words | Plain):
        raise QueryError("a text is compared with something else", fix="put the word in quotes")
    a, b = words_in(left), words_in(right)
    if a.place is None and b.place is None:
        raise QueryError("two words are compared with each other", fix="compare an attribute with a word")
    if sign not in UNORDERED:
        raise QueryError("texts have no order", fix="compare with = or in")
    numbered = {word: place for place, word in enumerate(dict.fromkeys((*a.words, *b.words))) if word is not None}
    one, other = (measured(side, numbered.__getitem__) for side in (a, b))
    return NumberComparison(sign, one, other)


def _require_order(sign: Sign, attribute: Attribute) -> None:
    if sign not in UNORDERED and not attribute.values.ordered:
        raise QueryError(f"the values of {attribute.name} have no order", fix="compare with = or in")
