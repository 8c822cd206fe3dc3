"""Conditions on a record, written as SQL expressions: parsed, checked part by part, and never pasted into a database.

Every part of a syntax tree is on a list, with what it may hold, or it is refused. What comes out is a tree of few nodes
(`nodes.py`) that means the same wherever it is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp

from tetraodon.domain import Dates, Domain
from tetraodon.domain.domain import MISSING
from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Bools
from tetraodon.query.condition import values as exact
from tetraodon.query.condition.functions import called
from tetraodon.query.condition.nodes import Always, Constant, Negation, Sign, Truth, cells_where, together
from tetraodon.query.condition.public_tables import reading
from tetraodon.query.condition.syntax import CONDITION_PARTS, Names, bare, parse_condition, quoted, require_offered
from tetraodon.query.condition.values import (
    Day,
    Nothing,
    Plain,
    Ratio,
    Span,
    Value,
    Words,
    compare,
    day_in,
    number,
    number_in,
    read_number,
    truth_in,
    unknown,
)

CELL_LIMIT = 20_000_000
SIGNS: Final[dict[type[exp.Expression], Sign]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
OPERATIONS: Final[dict[type[exp.Expression], Callable[[Ratio, Ratio], Ratio]]] = {
    exp.Mul: exact.multiplied,
    exp.Div: exact.divided,
    exp.IntDiv: exact.cut_off,
    exp.Mod: lambda left, right: exact.added(left, right, "%"),
    exp.Pow: exact.power,
}
FIX: Final = (
    "use comparisons, between, in, like, is null, case, and, or, not, + - * / // % over the policy's attributes"
)


def read_condition(text: str, names: Names) -> Truth:
    """What a condition says of a record; a QueryError if any part of it is not offered.

    >>> from tetraodon.domain import Attribute, Integers
    >>> read_condition("Age % 2 = 0", Names(Domain((Attribute("age", Integers(0, 9)),)))).places
    (0,)
    """
    return checked(parse_condition(text, names.unread(text)), names)


def checked(tree: exp.Expression, names: Names) -> Truth:
    """What a syntax tree says of a record."""
    try:
        return _Checker(names).truth(tree)
    except RecursionError:
        raise QueryError("the condition is nested too deeply", fix="split it, or use `in` and `between`") from None


def read_value(tree: exp.Expression, names: Names) -> Value:
    """What a syntax tree stands for in a record: a number, say."""
    try:
        return _Checker(names).value(tree)
    except RecursionError:
        raise QueryError("the question is nested too deeply", fix="ask something simpler") from None


def truth_table(condition: str | Truth, domain: Domain) -> tuple[tuple[str, ...], Bools]:
    """The attributes a condition names, in the domain's order, and whether it holds in each of their cells.

    >>> from tetraodon.domain import Attribute, Integers
    >>> domain = Domain((Attribute("age", Integers(0, 3)),))
    >>> truth_table("age between 1 and 2", domain)[1].tolist()
    [False, True, True, False]
    """
    truth = read_condition(condition, Names(domain)) if isinstance(condition, str) else condition
    if not truth.places:
        raise QueryError(
            "the condition names no attribute",
            fix="compare an attribute; to count all records leave the condition out, or ask a release for `true`",
        )
    sizes = [domain.shape[place] for place in truth.places]
    if math.prod(sizes) > CELL_LIMIT:
        raise QueryError("the condition looks at too many cells", fix="name fewer or coarser attributes in it")
    return tuple(domain.names[place] for place in truth.places), cells_where(truth, truth.places, sizes).ravel()


@dataclass(frozen=True)
class _Checker:
    """Syntax trees as what they stand for, with names resolved."""

    names: Names

    def truth(self, node: Any) -> Truth:
        if isinstance(node, exp.And | exp.Or):
            kind = exp.And if isinstance(node, exp.And) else exp.Or
            return together(kind is exp.And, [self.truth(part) for part in node.flatten(unnest=False)])
        return truth_in(self.value(node))

    def number(self, node: Any) -> Ratio:
        return number_in(self.value(node))

    def value(self, node: Any) -> Value:
        self._require_offered(node)
        kind = type(node)
        if kind in SIGNS:
            if isinstance(node.this, exp.Subquery) or isinstance(node.expression, exp.Subquery):
                return reading(node, self.names, self.value)
            return compare(SIGNS[kind], self.value(node.this), self.value(node.expression))
        if kind in OPERATIONS:
            return OPERATIONS[kind](self.number(node.this), self.number(node.expression))
        match node:
            case exp.Paren():
                return self.value(node.this)
            case exp.And() | exp.Or():
                return self.truth(node)
            case exp.Not():
                return Negation(self.truth(node.this))
            case exp.Add() | exp.Sub():
                return self._sum(node)
            case exp.Between():
                middle = self.value(node.this)
                low, high = self.value(node.args["low"]), self.value(node.args["high"])
                return together(True, [compare(">=", middle, low), compare("<=", middle, high)])
            case exp.In() if node.args.get("query") is not None:
                return reading(node, self.names, self.value)
            case exp.In() if node.expressions:
                left = self.value(node.this)
                return together(False, [compare("=", left, self.value(option)) for option in node.expressions])
            case exp.Exists():
                return reading(node, self.names, self.value)
            case exp.Is():
                return self._is(node)
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                same = self._same(self.value(node.this), self.value(node.expression))
                return same if isinstance(node, exp.NullSafeEQ) else Negation(same)
            case exp.Boolean():
                return Always(bool(node.this))
            case exp.Null():
                return Nothing()
            case exp.Literal():
                return Words((node.this,)) if node.is_string else number(read_number(node.this))
            case exp.Column():
                place = self.names.column(node)
                return Plain(self.names.domain.attributes[place], place)
            case _:
                found = called(node, self.value)
                if found is None:
                    raise QueryError(f"`{node.key}` is not offered in a condition", fix=FIX)
                return found

    def _says_missing(self, node: Any) -> bool:
        there = isinstance(node, exp.Column) and not node.table and node.name.lower() == MISSING
        return there and MISSING not in map(str.lower, self.names.domain.names)

    def _require_offered(self, node: Any) -> None:
        if not isinstance(node, exp.Expression):  # a function without what it is a function of
            raise QueryError("a part of the condition is missing", fix=FIX)
        said = node.sql("duckdb").lower()
        same = (name for name in self.names.domain.names if name.lower() == said and not bare(name))
        name = None if type(node) in CONDITION_PARTS else next(same, None)
        fix = FIX if name is None else f"write {quoted(name)}, in double quotes, for the attribute"
        require_offered(node, CONDITION_PARTS, fix)

    def _sum(self, node: Any) -> Value:
        left, right = self.value(node.this), self.value(node.expression)
        sign = "+" if isinstance(node, exp.Add) else "-"
        if sign == "+" and isinstance(left, Span):
            left, right = right, left
        if not (isinstance(left, Day) or (isinstance(left, Plain) and isinstance(left.attribute.values, Dates))):
            return exact.added(number_in(left), number_in(right), "+" if sign == "+" else "-")
        days = Ratio(day_in(left).days)
        if isinstance(right, Day) or (isinstance(right, Plain) and isinstance(right.attribute.values, Dates)):
            if sign == "+":
                raise QueryError("two dates are added up", fix="add a number of days to a date")
            return exact.added(days, Ratio(day_in(right).days), "-")
        more = right.days if isinstance(right, Span) else number_in(right)
        if more.under != Constant(1):
            raise QueryError("a date is moved by a part of a day", fix="add a whole number of days")
        return Day(exact.added(days, more, "+" if sign == "+" else "-").over)

    def _is(self, node: Any) -> Truth:
        match node.expression:
            case exp.Null():
                return unknown(self.value(node.this))
            case exp.Column() if self._says_missing(node.expression):  # reads better than `is null`
                return unknown(self.value(node.this))
            case exp.Boolean():
                return self._same(self.truth(node.this), Always(bool(node.expression.this)))
            case _:
                raise QueryError("`is` of this is not offered", fix="use `is missing`, `is true` or `is false`")

    def _same(self, left: Value, right: Value) -> Truth:
        """True or false: whether both are NULL, or neither is and they are equal."""
        missing = [unknown(left), unknown(right)]
        if isinstance(left, Nothing) or isinstance(right, Nothing):
            return together(True, missing)
        equal = together(True, [*(Negation(one) for one in missing), compare("=", left, right)])
        return together(False, [together(True, missing), equal])
