"""Conditions written as SQL with the same thing said in Python, over a small domain with every kind of attribute."""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers

ODD = ("O'Brien", "Zoë", '"quoted"', "50%", "a_b", "x; drop table t --", "")
GRADES = ("low", "middle", "high")
DAYS = [dt.date(2020, 2, 27) + dt.timedelta(days=n) for n in range(5)]
DOMAIN = Domain(
    (
        Attribute("age", Integers(-2, 4)),
        Attribute("pay", Grid(Fraction("-0.2"), Fraction("0.3"), Fraction("0.1"))),
        Attribute("name", Categories(ODD), other=0),
        Attribute("grade", Categories(GRADES, ordered=True), other=0),
        Attribute("level", Categories(("1", "2.5", "10"), ordered=True), other=0),
        Attribute("day", Dates(DAYS[0], DAYS[-1])),
        Attribute("ill", Booleans(), other=0),
        Attribute("old", Booleans(), other=0),
        Attribute("best", Categories(GRADES, ordered=True), other=0),
        Attribute("nick", Categories(ODD), other=0),
    )
)
Test = Callable[[dict[str, Any]], Any]
Said = tuple[str, Test]
SIGNS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
signs = st.sampled_from(sorted(SIGNS))
equality = st.sampled_from(["=", "<>"])
numbers = st.one_of(
    st.integers(-3, 5), st.fractions(-1, 1, max_denominator=20).filter(lambda f: 20 % f.denominator == 0)
)


def quoted(word: str) -> str:
    return "'" + word.replace("'", "''") + "'"


def spelt(number: Fraction | int) -> str:
    return str(number) if Fraction(number).denominator == 1 else str(float(number))


@st.composite
def sums(draw: st.DrawFn, depth: int = 2) -> Said:
    """Arithmetic over the numeric attributes."""
    kind = draw(st.sampled_from(["age", "pay", "number", "neg", "op"] if depth else ["age", "pay", "number"]))
    if kind in ("age", "pay"):
        return kind, lambda r: r[kind]
    if kind == "number":
        number = draw(numbers)
        return spelt(number), lambda _: number
    left, value = draw(sums(depth - 1))
    if kind == "neg":
        return f"-({left})", lambda r: -value(r)
    sign, operate = draw(st.sampled_from([("+", operator.add), ("-", operator.sub), ("*", operator.mul)]))
    right, other = draw(sums(depth - 1))
    return f"({left}) {sign} ({right})", lambda r: operate(value(r), other(r))


def ranked(labels: tuple[str, ...], name: str) -> Test:
    return lambda r: labels.index(r[name])


@st.composite
def comparisons(draw: st.DrawFn) -> Said:
    kind = draw(
        st.sampled_from(["sums", "between", "in", "name", "names", "grade", "grades", "level", "day", "bool", "bools"])
    )
    sign = draw(signs)
    compare = SIGNS[sign]
    flip = draw(st.booleans())

    def around(column: str, value: Test, word: str, other: Any) -> Said:
        if flip:
            return f"{word} {sign} {column}", lambda r: compare(other, value(r))
        return f"{column} {sign} {word}", lambda r: compare(value(r), other)

    match kind:
        case "sums":
            (left, x), (right, y) = draw(sums()), draw(sums())
            return f"{left} {sign} {right}", lambda r: compare(x(r), y(r))
        case "between":
            (middle, x), low, high = draw(sums(1)), draw(numbers), draw(numbers)
            return f"{middle} between {spelt(low)} and {spelt(high)}", lambda r: low <= x(r) <= high
        case "in":
            options = draw(st.lists(numbers, min_size=1, max_size=3))
            listed = ", ".join(spelt(option) for option in options)
            return (
                f"pay not in ({listed})" if flip else f"age in ({listed})",
                lambda r: (r["pay"] not in options) if flip else (r["age"] in options),
            )
        case "name":
            sign = draw(equality)
            compare = SIGNS[sign]
            word = draw(st.sampled_from(ODD))
            return around("name", lambda r: r["name"], quoted(word), word)
        case "names":
            sign = draw(equality)
            return f"name {sign} nick", lambda r: SIGNS[sign](r["name"], r["nick"])
        case "grade":
            word = draw(st.sampled_from(GRADES))
            return around("grade", ranked(GRADES, "grade"), quoted(word), GRADES.index(word))
        case "grades":
            return f"grade {sign} best", lambda r: compare(ranked(GRADES, "grade")(r), ranked(GRADES, "best")(r))
        case "level":
            words = ("1", "2.5", "10")
            word = draw(st.sampled_from(words))
            return around(
                "level", ranked(words, "level"), draw(st.sampled_from([word, quoted(word)])), words.index(word)
            )
        case "day":
            day = draw(st.sampled_from(DAYS))
            return around("day", lambda r: r["day"], quoted(str(day)), day)
        case "bool":
            return draw(
                st.sampled_from(
                    [
                        ("ill", lambda r: r["ill"]),
                        ("ill = true", lambda r: r["ill"]),
                        ("false = ill", lambda r: not r["ill"]),
                        ("ill <> 'true'", lambda r: not r["ill"]),
                    ]
                )
            )
        case _:
            sign = draw(equality)
            return f"ill {sign} old", lambda r: SIGNS[sign](r["ill"], r["old"])


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> Said:
    kind = draw(st.sampled_from(["plain", "and", "or", "not"])) if depth else "plain"
    if kind == "plain":
        return draw(comparisons())
    left, x = draw(conditions(depth - 1))
    if kind == "not":
        return f"not ({left})", lambda r: not x(r)
    right, y = draw(conditions(depth - 1))
    if kind == "and":
        return f"({left}) and ({right})", lambda r: x(r) and y(r)
    return f"({left}) OR ({right})", lambda r: x(r) or y(r)


def in_python(names: tuple[str, ...], test: Test) -> list[bool]:
    part = DOMAIN.project(names)
    return [bool(test(dict(zip(names, part.value(cell), strict=True)))) for cell in range(part.size)]
