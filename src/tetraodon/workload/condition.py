"""Conditions on a record, written as SQL expressions, parsed and checked and never pasted into a database.

A condition becomes a truth table over the cells of the attributes it names. Attributes are compared
as what they are: numbers with numbers, dates with 'YYYY-MM-DD', categories with their labels.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain
from tetraodon.domain.values import label_text, number_of
from tetraodon.errors import DomainError, QueryError, did_you_mean
from tetraodon.workload.like import like
from tetraodon.workload.sql import parsed

CELL_LIMIT = 20_000_000
COMPARISONS: Final[dict[type[exp.Expression], Callable[[Any, Any], Any]]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
ARITHMETIC: Final[dict[type[exp.Expression], Callable[[Any, Any], Any]]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
}
PARTS: Final = {"this", "expression", "expressions", "low", "high", "is_string"}
FIX = "use comparisons, between, in, like, and, or, not, + - * over the policy's attributes"


@dataclass(frozen=True)
class _Column:
    """An attribute that has not met what it is compared with yet."""

    attribute: Attribute
    codes: NDArray[np.int64]


@dataclass(frozen=True)
class _Text:
    """A quoted word: a label or a date, once it is known which attribute it belongs to."""

    word: str


def truth_table(condition: str | exp.Expression, domain: Domain) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    """The attributes a condition names, in the domain's order, and whether it holds in each of their cells.

    >>> from tetraodon.domain import Integers
    >>> domain = Domain((Attribute("age", Integers(0, 3)),))
    >>> truth_table("age between 1 and 2", domain)[1].tolist()
    [False, True, True, False]
    """
    tree = parse_condition(condition) if isinstance(condition, str) else condition
    try:
        return _table(tree, domain)
    except RecursionError:
        raise QueryError("the condition is nested too deeply", fix="split it, or use `in` and `between`") from None


def _table(tree: exp.Expression, domain: Domain) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    named = {_name(column, domain) for column in tree.find_all(exp.Column)}
    names = tuple(name for name in domain.names if name in named)
    shape = tuple(domain[name].size for name in names)
    if math.prod(shape) > CELL_LIMIT:
        raise QueryError("the condition looks at too many cells", fix="name fewer or coarser attributes in it")
    axes = {}
    for position, name in enumerate(names):
        view = [1] * len(names)
        view[position] = -1
        axes[name] = np.arange(domain[name].size).reshape(view)
    holds = _truth(_evaluate(tree, domain, axes))
    if not names:
        raise QueryError(
            "the condition names no attribute",
            fix="compare an attribute; to count all records leave the condition out, or ask a release for `true`",
        )
    return names, np.broadcast_to(holds, shape).ravel().copy()


def parse_condition(condition: str) -> exp.Expression:
    """The syntax tree of a condition, or a QueryError."""
    written = "write it like `age > 30 and sex = 'Male'`"
    statements = parsed(f"select 1 where {condition}", what="the condition", fix=written)
    select = statements[0] if len(statements) == 1 else None
    where = select.args.get("where") if isinstance(select, exp.Select) else None
    extra = (
        {key for key, value in select.args.items() if value and key not in ("expressions", "where", "kind")}
        if select
        else {""}
    )
    if where is None or extra:
        raise QueryError("the condition is more than a condition", fix=written)
    tree = where.this
    assert isinstance(tree, exp.Expression)
    return tree


def _name(column: exp.Expression, domain: Domain) -> str:
    if column.args.get("table"):
        raise QueryError("a condition names a table", fix="use attribute names alone")
    try:
        return domain[column.name].name
    except DomainError as error:
        raise QueryError(error.what, fix=error.fix, where="condition") from None


def _evaluate(node: exp.Expression, domain: Domain, axes: dict[str, NDArray[np.int64]]) -> Any:
    def value(child: exp.Expression) -> Any:
        return _evaluate(child, domain, axes)

    def truth(child: exp.Expression) -> NDArray[np.bool_]:
        return _truth(value(child))

    kind = type(node)
    unread = {part for part, given in node.args.items() if given} - PARTS - ({"negate"} if kind is exp.Like else set())
    if unread:  # a part of the syntax tree that nobody below looks at would be dropped in silence
        raise QueryError(f"`{node.key}` with `{min(unread)}` is not offered in a condition", fix=FIX)
    if kind in COMPARISONS:
        return _compare(COMPARISONS[kind], value(node.this), value(node.expression))
    if kind in ARITHMETIC:
        return _arithmetic(ARITHMETIC[kind], _numbers(value(node.this)), _numbers(value(node.expression)))
    match node:
        case exp.Paren():
            return value(node.this)
        case exp.And():
            return np.asarray(truth(node.this) & truth(node.expression))
        case exp.Or():
            return np.asarray(truth(node.this) | truth(node.expression))
        case exp.Not():
            return np.asarray(~truth(node.this))
        case exp.Neg():
            return _arithmetic(operator.sub, np.array(0), _numbers(value(node.this)))
        case exp.Between():
            middle = value(node.this)
            low = _compare(operator.ge, middle, value(node.args["low"]))
            return np.asarray(low & _compare(operator.le, middle, value(node.args["high"])))
        case exp.In() if node.expressions:
            left = value(node.this)
            options = [_compare(operator.eq, left, value(option)) for option in node.expressions]
            return np.asarray(np.logical_or.reduce(np.broadcast_arrays(*options)))
        case exp.Like():
            alike = _like(value(node.this), value(node.expression))
            return ~alike if node.args.get("negate") else alike
        case exp.Boolean():
            return np.array(bool(node.this))
        case exp.Literal():
            return _Text(node.this) if node.is_string else _constant(node.this)
        case exp.Column():
            attribute = domain[node.name]
            return _Column(attribute, axes[attribute.name])
        case _:
            raise QueryError(f"`{node.key}` is not offered in a condition", fix=FIX)


def _truth(value: Any) -> NDArray[np.bool_]:
    if isinstance(value, _Column) and isinstance(value.attribute.values, Booleans):
        return np.asarray(value.codes == 1)
    if not isinstance(value, np.ndarray) or value.dtype != np.bool_:
        raise QueryError("the condition is not true or false", fix="compare something, as in `age > 30`")
    return value


def _constant(text: str) -> Any:
    try:
        number = number_of(text)
    except DomainError:
        raise QueryError("a number cannot be read", fix="write a finite number such as 3, 0.1 or 1e-6") from None
    return np.array(int(number) if number.denominator == 1 else number, object)


def _compare(compare: Callable[[Any, Any], Any], left: Any, right: Any) -> NDArray[np.bool_]:
    if isinstance(left, _Text) and isinstance(right, _Text):
        raise QueryError("two words are compared with each other", fix="compare an attribute with a word")
    if isinstance(right, _Text) and isinstance(left, _Column):
        return _with_word(compare, left, right.word)
    if isinstance(left, _Text) and isinstance(right, _Column):
        return _with_word(lambda code, word: compare(word, code), right, left.word)
    if (isinstance(left, np.ndarray) and left.dtype == np.bool_) or (
        isinstance(right, np.ndarray) and right.dtype == np.bool_
    ):
        return _with_truth(compare, left, right)
    if isinstance(left, _Column) and isinstance(right, _Column) and not left.attribute.numeric:
        if left.attribute.values != right.attribute.values:
            raise QueryError("two attributes with different values are compared", fix="compare like with like")
        _check_order(compare, left.attribute)
        return np.asarray(compare(left.codes, right.codes), np.bool_)
    if isinstance(left, _Column) and isinstance(left.attribute.values, Categories):
        return _with_number_as_label(compare, left, right)
    if isinstance(right, _Column) and isinstance(right.attribute.values, Categories):
        return _with_number_as_label(lambda code, word: compare(word, code), right, left)
    return np.asarray(compare(_numbers(left), _numbers(right)), np.bool_)


def _with_word(compare: Callable[[Any, Any], Any], column: _Column, word: str) -> NDArray[np.bool_]:
    attribute = column.attribute
    _check_order(compare, attribute)
    if attribute.numeric:
        return np.asarray(compare(_numbers(column), _constant(word)), np.bool_)
    try:
        code = attribute.code(word)
    except DomainError:
        raise QueryError(
            f"a word is not a value of {attribute.name}", fix=nearest_value(attribute, word), where="condition"
        ) from None
    return np.asarray(compare(column.codes, code), np.bool_)


def nearest_value(attribute: Attribute, word: str) -> str:
    """A clause for `Fix:` that names the value that may be meant; values are public, the word may not be."""
    if isinstance(attribute.values, Categories):
        return did_you_mean(word, attribute.values.labels)
    return "use a value that the policy lists"


def _check_order(compare: Callable[[Any, Any], Any], attribute: Attribute) -> None:
    has_direction = compare(0, 1) != compare(1, 0)
    if has_direction and not attribute.ordered:
        raise QueryError(f"the values of {attribute.name} have no order", fix="compare with = or in")


def _with_number_as_label(compare: Callable[[Any, Any], Any], column: _Column, other: Any) -> NDArray[np.bool_]:
    if not isinstance(other, np.ndarray) or other.ndim:
        raise QueryError(f"{column.attribute.name} is not a number", fix="compare it with one of its values")
    return _with_word(compare, column, label_text(other.item()))


def _with_truth(compare: Callable[[Any, Any], Any], left: Any, right: Any) -> NDArray[np.bool_]:
    sides = []
    for side in (left, right):
        sides.append(_truth(side))
    if compare not in (operator.eq, operator.ne):
        raise QueryError("true and false have no order", fix="use = or <>")
    return np.asarray(compare(*sides), np.bool_)


def _numbers(value: Any) -> Any:
    if isinstance(value, _Column):
        attribute = value.attribute
        if not attribute.numeric:
            hint = (
                "compare it with a date such as '2020-01-31'"
                if isinstance(attribute.values, Dates)
                else "use its values"
            )
            raise QueryError(f"{attribute.name} is not a number", fix=hint)
        first, last, step = attribute.number(0), attribute.number(attribute.size - 1), attribute.step
        if first.denominator == step.denominator == 1 and max(abs(first), abs(last)) < 2**62:
            return int(first) + int(step) * value.codes
        return np.array([attribute.number(code) for code in range(attribute.size)], object)[value.codes]
    if isinstance(value, np.ndarray) and value.dtype != np.bool_:
        return value
    raise QueryError("a number is needed here", fix="compare numbers with numbers and words with words")


def _arithmetic(operate: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Exact: in int64 where the result surely fits, in Python numbers otherwise."""
    whole: Any = object
    if left.dtype == right.dtype == np.int64:
        largest = [int(np.abs(side).max(initial=0)) for side in (left, right)]
        if (math.prod(largest) if operate is operator.mul else sum(largest)) < 2**62:
            whole = np.int64
    return np.asarray(operate(left.astype(whole), right.astype(whole)), whole)


def _like(left: Any, right: Any) -> NDArray[np.bool_]:
    if not isinstance(left, _Column) or not isinstance(right, _Text):
        raise QueryError("`like` needs an attribute and a pattern", fix="write it as name like 'A%'")
    return np.asarray(like(left.attribute.labels, right.word)[left.codes])
