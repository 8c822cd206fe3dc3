"""Random tiny worlds: domains, graphs and queries small enough to enumerate."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from tetraodon.domain import Attribute, Domain, Grid, Integers
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything, Pairs, Public, Within
from tetraodon.policy.joint_graph import JointMetric
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.contribution import AllRanges, Contribution, One, Prefix, Table
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.query.number import Number
from tetraodon.query.smooth import Hats, Ramps
from tetraodon.query.soft_bins import Product, Soft

positive = st.fractions(min_value=Fraction(1, 9), max_value=9, max_denominator=9)


@st.composite
def attributes(draw: st.DrawFn, name: str, largest: int = 5) -> Attribute:
    size = draw(st.integers(1, largest))
    low = draw(st.integers(-3, 3))
    if draw(st.booleans()):
        return Attribute(name, Integers(low, low + size - 1))
    step = draw(st.sampled_from([Fraction(1, 2), Fraction(2), Fraction(1, 3)]))
    return Attribute(name, Grid(Fraction(low, 2), Fraction(low, 2) + (size - 1) * step, step))


@st.composite
def attribute_graphs(draw: st.DrawFn, size: int) -> AttributeGraph:
    kind = draw(st.sampled_from(["everything", "public", "within", "blocks", "pairs"]))
    if kind == "everything":
        return Everything(size)
    if kind == "within":
        return Within(size, draw(st.integers(1, size + 1)))
    if kind == "blocks":
        return Blocks(tuple(draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))))
    if kind == "pairs" and size > 1:
        pair = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)).filter(lambda p: p[0] != p[1])
        return Pairs(size, frozenset(draw(st.lists(pair, max_size=6))))
    return Public(size)


@st.composite
def graphs(draw: st.DrawFn, most: int = 3) -> SecretGraph:
    count = draw(st.integers(1, most))
    domain = Domain(tuple(draw(attributes(name, 5 if count < 3 else 3)) for name in "abc"[:count]))
    if count > 1 and draw(st.integers(0, 4)) == 0:
        pair = domain.attributes[:2]
        metric = JointMetric(
            draw(st.sampled_from(["l1", "l2", "linf"])),
            max(min(a.step for a in pair), draw(positive)),
            tuple(a.size for a in pair),
            tuple(a.number(0) for a in pair),
            tuple(a.step for a in pair),
        )
        factors: tuple[Factor, ...] = (Factor(("a", "b"), metric),)
        rest = domain.attributes[2:]
    else:
        factors, rest = (), domain.attributes
    factors += tuple(Factor((a.name,), draw(attribute_graphs(a.size))) for a in rest)
    return SecretGraph(domain, factors, draw(st.integers(1, len(factors))), draw(st.booleans()))


@st.composite
def soft_bins(draw: st.DrawFn, attribute: Attribute) -> Soft:
    units, tread = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    starts, start = [], draw(st.integers(-1, 2))
    for _ in range(draw(st.integers(0, 2))):
        starts.append(start)
        start += units * tread + draw(st.integers(0, 1))
    return Soft(attribute.name, attribute.size, units, tuple(starts), tread)


@st.composite
def queries(draw: st.DrawFn, domain: Domain) -> LinearQuery:
    names = list(draw(st.permutations(domain.names)))
    kind = draw(
        st.sampled_from(
            [
                "one",
                "prefix",
                "short prefix",
                "number",
                "squares",
                "weighted",
                "centred",
                "covariance",
                "table",
                "ranges",
                "hats",
                "ramps",
                "soft",
                "product",
            ]
        )
    )
    main = domain[names[0]]
    contribution: Contribution
    match kind:
        case "prefix":
            contribution = Prefix(main.name, main.size, main.size)
        case "short prefix" if main.size > 1:
            contribution = Prefix(main.name, main.size, main.size - 1)
        case "number":
            contribution = Number(main)
        case "squares":
            contribution = Number(main, squared=True)
        case "weighted" if len(names) > 1:
            contribution = Number(main, domain[names[1]])
        case "centred":
            contribution = Number(main, centred=True)
        case "covariance" if len(names) > 1:
            contribution = Number(main, domain[names[1]], centred=True)
        case "table":
            over = tuple(names[: draw(st.integers(1, min(2, len(names))))])
            cells = domain.project(over).size
            row = st.lists(st.integers(-2, 2), min_size=cells, max_size=cells)
            matrix = draw(st.lists(row, min_size=1, max_size=3))
            contribution = Table(over, np.array(matrix, np.int64))
        case "ranges":
            contribution = AllRanges(main.name, main.size)
        case "hats" if main.size > 1:
            contribution = Hats(main.name, main.size, draw(st.integers(1, 4)))
        case "ramps" if main.size > 1:
            contribution = Ramps(main.name, main.size, draw(st.integers(1, 4)))
        case "soft":
            contribution = draw(soft_bins(main))
        case "product" if len(names) > 1:
            contribution = Product(tuple(draw(soft_bins(domain[name])) for name in names[:2]))
        case _:
            contribution = One()
    rest = [name for name in names if name not in contribution.names]
    by = []
    for name in rest[: draw(st.integers(0, len(rest)))]:
        size = domain[name].size
        bins = None
        if draw(st.booleans()):
            labels = draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))
            bins = tuple(np.unique(labels, return_inverse=True)[1].tolist())
        by.append(Split(name, bins))
    return LinearQuery(contribution, tuple(by))
