"""The loss of a plan, computed anew: the most that one step of the policy moves noisy numbers, in parts of their noise.

A term is one measurement: what a record adds to it is a vector in one cell. Attributes that no term looks at together
move apart, so what a step moves is a sum over components. In a component the changes of each attribute are reduced to
those where a sum of convex, or of monotone, moves is largest, and all combinations of these are tried. Where there are
too many, the sum over terms of what each may move by itself is a bound from above, and `exact` is false.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import exp, gcd, isqrt, lcm, log, prod
from operator import mul, sub
from typing import Any

from tetraodon_verify.policy import (
    Attribute,
    Condition,
    Malformed,
    Policy,
    Record,
    Rule,
    Unsupported,
    exact,
    read_policy,
)

TRIED = 400_000  # pairs of codes, and quarters of combinations, that are tried one by one
ABSENT = "not in the data"


class TooMany(Exception):
    """More pairs than are tried one by one."""


@dataclass
class Loss:
    """What a plan loses: at most `upper` (None: without limit), which is attained if `exact`; `lower` on the pair."""

    upper: Fraction | None
    lower: Fraction = Fraction(0)
    exact: bool = True
    gaussian: bool = False
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Span:
    """The condition that the code of an attribute is between two ends."""

    name: str
    low: int
    high: int

    @property
    def names(self) -> frozenset[str]:
        return frozenset({self.name})

    def holds(self, record: Record) -> bool:
        return self.low <= record[self.name] <= self.high

    def segments(self, name: str) -> set[int]:
        return {self.low, self.high + 1} if name == self.name else set()


@dataclass(frozen=True)
class Curve:
    """What a record adds along an attribute: how far two codes are apart, and how far one is from no record."""

    name: str
    shape: str  # affine, monotone, stationary or any
    move: Callable[[int, int], int]
    size: Callable[[int], int]
    period: int = 0  # of moves by the same number of codes; sizes are then as even as codes are


@dataclass
class Term:
    weight: Fraction | None  # None: exact
    square: bool
    cells: dict[str, list[int] | None] = field(default_factory=dict)
    scalars: dict[str, tuple[str, Callable[[int], Any]]] = field(default_factory=dict)
    curve: Curve | None = None
    where: list[Any] = field(default_factory=list)
    whole: bool = True  # False: a stand-in whose price is a bound
    margins: dict[str, int] = field(default_factory=dict)  # attributes and sizes of weighed margins
    times: list[int] = field(default_factory=list)  # and their weights
    found: dict[Any, int] = field(default_factory=dict)

    @property
    def conditions(self) -> frozenset[str]:
        return frozenset().union(*(part.names for part in self.where))

    @property
    def names(self) -> frozenset[str]:
        """The attributes that decide what a record adds."""
        along = {self.curve.name} if self.curve else set()
        return self.conditions.union(self.cells, self.scalars, self.margins, along)

    @property
    def simple(self) -> bool:
        """Whether one attribute has a say, and in one way only."""
        return not self.where and not self.margins and len(self.cells) + len(self.scalars) + bool(self.curve) == 1

    def roles(self, name: str, x: int, y: int) -> tuple[Any, ...]:
        """What a change of an attribute is to this term: cell or margin, factors of both records, move and sizes."""
        bins = self.cells.get(name)
        changed = int(name in self.cells and x != y and (bins is None or bins[x] != bins[y]))
        if name in self.margins and x != y:
            changed = 2 << list(self.margins).index(name)
        a, b = map(self.scalars[name][1], (x, y)) if name in self.scalars else (1, 1)
        if self.curve and self.curve.name == name:
            return changed, a, b, self.curve.move(x, y) if x != y else 0, self.curve.size(x), self.curve.size(y)
        return changed, a, b, None, 1, 1

    def moved(self, name: str) -> Callable[[int, int], Any]:
        """How far a change of an attribute moves this term, where nothing else changes or has a say."""
        if self.curve:
            return self.curve.move
        power, bins = 2 if self.square else 1, self.cells.get(name)
        if name in self.scalars:
            number = self.scalars[name][1]
            return lambda x, y: abs(number(x) - number(y)) ** power
        return lambda x, y: 2 * (bins is None or bins[x] != bins[y])

    def cost(self, here: bool, there: bool, roles: Iterable[tuple[Any, ...]]) -> Any:
        """How far apart two records are (the square of it for Gaussian noise), where they are counted at all."""
        changed, a, b, move, size_x, size_y = 0, 1, 1, None, 1, 1
        for role in roles:
            changed, a, b, size_x, size_y = (
                changed | role[0],
                a * role[1],
                b * role[2],
                size_x * role[4],
                size_y * role[5],
            )
            move = role[3] if role[3] is not None else move
        if self.margins:
            if changed & 1 and here and there:
                return 2 * self.weighed(0, True, False)
            return self.weighed(changed >> 1, here, there)
        if here and there and not changed:
            if move is None:
                return (a - b) ** 2 if self.square else abs(a - b)
            if a != b:
                raise Unsupported("weights beside running counts")
            return move * (a * a if self.square else abs(a))
        a, b = (a * a, b * b) if self.square else (abs(a), abs(b))
        return a * size_x * here + b * size_y * there

    def weighed(self, changed: int, here: bool, there: bool) -> int:
        """How far weighed margins move if a record changes these attributes: a sum over how cells agree with both."""
        if (changed, here, there) not in self.found:
            ways = []  # of a cell to agree with x and with y in an attribute, and how many cells do
            for i, size in enumerate(self.margins.values()):
                apart = changed >> i & 1
                same = [(1 << i, 0, 1), (0, 1 << i, 1)] if apart else [(1 << i, 1 << i, 1)]
                ways.append([*same, (0, 0, size - 1 - apart)])
            subsets = range(len(self.times))
            below = [sum(self.times[part] for part in subsets if part & ~agree == 0) for agree in subsets]
            total = 0
            for way in product(*ways):
                move = below[sum(w[0] for w in way)] * here - below[sum(w[1] for w in way)] * there
                total += prod(w[2] for w in way) * (move * move if self.square else abs(move))
            self.found[changed, here, there] = total
        return self.found[changed, here, there]


def changes(bins: list[int] | None) -> list[int]:
    return [code for code in range(1, len(bins)) if bins[code] != bins[code - 1]] if bins else []


class Component:
    """Terms that look at some attributes together, and what steps along these move."""

    def __init__(self, terms: list[Term], names: list[str], rules: dict[str, Rule], pins: Record) -> None:
        self.terms, self.names, self.rules, self.pins = terms, names, rules, pins
        self.scale = lcm(*((term.weight or 1).denominator for term in terms))
        self.weights = [int((term.weight or 1) * self.scale) for term in terms]
        self.moving = {name for name in names if rules[name].kind != "public" and name not in pins}
        self.on = {name: [term for term in terms if name in term.names] for name in names}
        self.starts = {name: self.segments(name) for name in names}
        self.held: dict[Any, list[bool]] = {}

    def segments(self, name: str) -> list[int]:
        """Where a segment of codes begins in which conditions, blocks and all but fine bins stay the same."""
        rule = self.rules[name]
        borders = {0, rule.attribute.values, *changes(list(rule.blocks))}
        for term in self.on[name]:
            borders = borders.union(*(part.segments(name) for part in term.where))
            cuts = changes(term.cells.get(name))
            borders |= set(cuts) if len(cuts) <= 400 else set()
            if name in term.scalars and term.scalars[name][0] == "square":
                borders |= {(rule.attribute.values - 1) // 2, (rule.attribute.values + 1) // 2}
        return sorted(border for border in borders if 0 <= border < rule.attribute.size)

    def mode(self, name: str) -> str:
        """Which changes have to be tried: any, those at corners, the longest from each code as well, or all."""
        static = corners = line = stationary = True
        for term in self.on[name]:
            lonely = name not in term.conditions and not self.moving & term.names - {name}
            cuts, bins = changes(term.cells.get(name)), term.cells.get(name)
            if len(cuts) > 400:
                static = corners = stationary = False
                line = line and all(bins[code] > bins[code - 1] for code in cuts)
            stationary = stationary and name not in term.conditions and bins is None
            shapes = [term.scalars[name][0]] if name in term.scalars else []
            shapes += [term.curve.shape] if term.curve and term.curve.name == name else []
            static = static and not shapes
            for shape in shapes:
                corners = corners and (shape == "affine" or (shape == "square" and lonely and len(self.on[name]) == 1))
                line = line and lonely and shape in ("affine", "monotone")
                stationary = stationary and lonely and shape in ("affine", "stationary")
        found = {"static": static, "corners": corners, "line": line, "stationary": stationary, "all": True}
        return next(mode for mode, fits in found.items() if fits)

    def pairs(self, name: str) -> Iterator[tuple[int, int]]:
        """Steps x < y of an attribute among which is one that moves the most, whatever the others do."""
        rule, mode, starts = self.rules[name], self.mode(name), self.starts[name]
        last, size = rule.attribute.values - 1, rule.attribute.size
        if rule.kind == "pairs":
            yield from rule.pairs
            return
        every = (mode == "line" and rule.kind == "within") or rule.kind == "share"
        on = self.on[name]
        even = rule.kind != "share" and not any(len(changes(term.cells.get(name))) > 400 for term in on)
        periods = [term.curve.period if even else 0 for term in on if term.curve and term.curve.name == name]
        period = (lcm(*periods) or size) if even else size
        reach = int(rule.reach) if rule.kind == "within" else size
        if mode == "all":
            if size * min(size, reach + 2) > 4 * TRIED:
                raise TooMany
            for x in range(size):
                longest = [*range(x + 1, rule.furthest(x) + 1), *range(max(x, last) + 1, size)]
                yield from ((x, y) for y in longest if rule.kind != "blocks" or rule.blocks[x] == rule.blocks[y])
            return
        if len(starts) ** 2 > 4 * TRIED or (every and period > 5 * TRIED):
            raise TooMany
        parts = list(zip(starts, [*(start - 1 for start in starts[1:]), size - 1], strict=True))
        for i, (a, b) in enumerate(parts):
            for c, d in parts[i:]:
                lost = c > last  # the missing value: next to all values, or to its block
                if not lost and c > max(rule.furthest(b), b):
                    break
                if not rule.edge(b, c) and (a != c or a == b):
                    continue
                if mode == "static":
                    yield (a, a + 1) if a == c else (b, c)
                elif mode == "stationary" and not lost:
                    yield from ((a, y) for y in range(max(a + 1, c), min(d, rule.furthest(a)) + 1))
                else:
                    xs = {x for x in (a, b, c - 1, d - 1, c - reach, d - reach) if a <= x <= b}
                    if every or (lost and mode == "line"):
                        first = max(a, c - reach) if even and not lost else a
                        xs.update(range(first, min(b, first + period) + 1))
                    for x in xs:
                        for y in {max(c, x + 1), d if lost else min(d, rule.furthest(x))}:
                            if x < y and c <= y <= d and rule.edge(x, y):
                                yield x, y

    def points(self, name: str, alone: bool) -> Iterable[int]:
        """Values that an attribute keeps, or (alone) has in a record that comes or goes."""
        starts, size, mode = self.starts[name], self.rules[name].attribute.size, self.mode(name)
        if name in self.pins:
            return [self.pins[name]]
        sizes = alone and any(not term.curve.period for term in self.on[name] if term.curve and term.curve.name == name)
        if mode in ("static", "corners") or (mode in ("line", "stationary") and not sizes):
            return {code for start, end in zip(starts, [*starts[1:], size], strict=True) for code in (start, end - 1)}
        if size > 3 * TRIED:
            raise TooMany
        return range(size)

    def kinds(self, name: str, alone: bool) -> list[tuple[int, int, Any, int]]:
        """Changes of an attribute, one for each way to count: from, to, what they are to the terms, if they move."""
        found: dict[Any, tuple[int, int, Any, int]] = {}
        on, starts = self.on[name], self.starts[name]
        plain = not any(name in replace(term, cells={}).names for term in on)

        def add(x: int, y: int) -> None:
            roles = tuple(term.roles(name, x, y) for term in on)
            place = () if plain else (bisect_right(starts, x), bisect_right(starts, y))
            found.setdefault((roles, place, x == y), (x, y, roles, int(x != y)))

        for x in self.points(name, alone):
            add(x, x)
        if not alone and name in self.moving:
            for x, y in self.pairs(name):
                add(x, y)
                if not plain:
                    add(y, x)
        if plain:  # of changes that alter cells only, the largest
            sets = {key: {i for i, role in enumerate(kind[2]) if role[0]} for key, kind in found.items() if kind[3]}
            for key in list(sets):
                if any(key != other and sets[key] <= sets[other] for other in sets):
                    del sets[key], found[key]
        return list(found.values())

    def holds(self, codes: tuple[int, ...]) -> list[bool]:
        key = tuple(bisect_right(self.starts[name], code) for name, code in zip(self.names, codes, strict=True))
        if key not in self.held:
            record = dict(zip(self.names, codes, strict=True))
            self.held[key] = [all(part.holds(record) for part in term.where) for term in self.terms]
        return self.held[key]

    def largest(self, most: int, alone: bool) -> list[Fraction]:
        """By how many attributes may move, or (alone) for a record that comes or goes: the largest loss."""
        if len(self.names) == 1 and not alone and all(term.simple for term in self.terms):
            [name] = self.names
            moved = [(weight, term.moved(name)) for weight, term in zip(self.weights, self.terms, strict=True)]
            rule = self.rules[name]
            if rule.kind == "everything" and all(term.scalars for term in self.terms) and not self.terms[0].square:
                return [Fraction(0), *[Fraction(self.spread(name), self.scale)] * most]
            pairs = self.pairs(name) if name in self.moving else ()
            top = max((sum(weight * move(x, y) for weight, move in moved) for x, y in pairs), default=0)
            return [Fraction(0), *[Fraction(top, self.scale)] * most]
        kinds = [self.kinds(name, alone) for name in self.names]
        if prod(map(len, kinds)) * len(self.terms) > 4 * TRIED:
            raise TooMany
        where: list[list[tuple[int, int]]] = []
        for term in self.terms:
            on = [(i, self.on[name]) for i, name in enumerate(self.names) if name in term.names]
            where.append([(i, next(j for j, one in enumerate(terms) if one is term)) for i, terms in on])
        best = [0] * (most + 1)
        for combined in product(*kinds):
            moved = sum(kind[3] for kind in combined)
            if moved <= most and (alone or moved):
                here = self.holds(tuple(kind[0] for kind in combined))
                there = here if alone else self.holds(tuple(kind[1] for kind in combined))
                lost = 0
                for term, weight, places, x, y in zip(self.terms, self.weights, where, here, there, strict=True):
                    if x or y:
                        lost += weight * term.cost(x, y and not alone, [combined[i][2][j] for i, j in places])
                best[moved] = max(best[moved], lost)
        return [Fraction(max(best[: moved + 1]), self.scale) for moved in range(most + 1)]

    def spread(self, name: str) -> Any:
        """The largest sum of absolute differences over all pairs: some signs make it the spread of a signed sum."""
        numbers = [term.scalars[name][1] for term in self.terms]
        if self.mode(name) == "corners":
            codes: Iterable[int] = self.points(name, True)
        elif (codes := range(self.rules[name].attribute.size)).stop << len(numbers) > 20 * TRIED:
            raise TooMany
        best = 0
        for signs in product((1, -1), repeat=len(numbers) - 1):
            weights = [w * sign for w, sign in zip(self.weights, (1, *signs), strict=True)]
            sums = [sum(w * number(code) for w, number in zip(weights, numbers, strict=True)) for code in codes]
            best = max(best, max(sums) - min(sums))
        return best

    def peak(self, term: Term) -> Fraction:
        """No less than what one record adds to a term, whichever it is."""
        top: Any = 1
        for name, (shape, scalar) in term.scalars.items():
            size = self.rules[name].attribute.size
            ends = {0, size - 1, max(0, size - 2)}  # where squares and affine values are largest
            top *= max(abs(scalar(code)) for code in (range(size) if shape == "any" else ends))
        top = top * top if term.square else top
        if term.curve:
            size = self.rules[term.curve.name].attribute.size
            if size > 5 * TRIED and term.curve.shape != "affine":
                raise Unsupported("a measurement of so many values")
            top *= max(map(term.curve.size, (0, size - 1) if term.curve.shape == "affine" else range(size)))
        return (top if not term.margins else term.weighed(0, True, False)) * (term.weight or Fraction(1))


def bound(component: Component, most: int, alone: bool) -> tuple[list[Fraction], bool]:
    """The largest loss by how many attributes may move, and whether it is exact; else the sum over terms."""
    try:
        return component.largest(most, alone), all(term.whole for term in component.terms)
    except TooMany:
        if len(component.terms) == 1:
            return [(2 - alone) * component.peak(component.terms[0]) * (m > 0 or alone) for m in range(most + 1)], False
    total = [Fraction(0)] * (most + 1)
    for term in component.terms:
        names = [name for name in component.names if name in term.names]
        part = bound(Component([term], names, component.rules, component.pins), min(most, len(names)), alone)[0]
        total = [so_far + part[min(m, len(names))] for m, so_far in enumerate(total)]
    return total, False


def split(terms: list[Term], moving: set[str]) -> list[tuple[list[Term], list[str]]]:
    """Terms by components. An attribute that stays as it is, and only says in which cell a record is, joins nothing."""
    parts: list[tuple[list[Term], set[str]]] = []
    for term in terms:
        thin = replace(term, cells={name: bins for name, bins in term.cells.items() if name in moving})
        joined, rest = ([thin], set(thin.names)), []
        for part in parts:
            if part[1] & joined[1]:
                joined = part[0] + joined[0], part[1] | joined[1]
            else:
                rest.append(part)
        parts = [*rest, joined]
    return [(part, sorted(names)) for part, names in parts]


def worst(terms: list[Term], rules: dict[str, Rule], most: int, presence: bool, pins: Record) -> tuple[Fraction, bool]:
    """The largest loss over steps along these rules, of a record that comes or goes as well; whether it is exact."""
    moving = {name for name, rule in rules.items() if rule.kind != "public" and name not in pins}
    table, records, sure, there = [Fraction(0)], Fraction(0), True, True
    for part, names in split(terms, moving):
        component = Component(part, names, rules, pins)
        by_moved, exactly = bound(component, min(most, len(names)), False)
        longer = [Fraction(0)] * min(most + 1, len(table) + len(names))
        for i, before in enumerate(table):
            for moved, lost in enumerate(by_moved[: len(longer) - i]):
                longer[i + moved] = max(longer[i + moved], before + lost)
        table, sure = longer, sure and exactly
        if presence:
            found, exactly = bound(component, 0, True)
            records, there = records + found[0], there and exactly
    return max(*table, records), sure and there


class Item:
    """One item of a release: the records it is about, the codes these can have, and its measurements as terms."""

    def __init__(self, item: dict[str, Any], policy: Policy) -> None:
        self.item, self.policy, self.attributes = item, policy, policy.attributes
        self.where: list[Any] = [Condition(item["where"], self.attributes)] if "where" in item else []
        asked: list[Any] = [item["total"], item["weight"]] if "total" in item and "weight" in item else []
        asked += [item["mean"], item["weight"]] if "mean" in item and "weight" in item else []
        for key in (
            "cdf",
            "ranges",
            "quantiles",
            "rectangles",
            "covariance",
            "correlation",
            "ratio",
            "regression",
            "on",
            "weight",
        ):
            asked += [item[key]] if isinstance(item.get(key), str) else list(item.get(key, []))
        self.answered = [self.attributes[name] for name in dict.fromkeys(asked) if self.attributes[name].missing]
        self.where += [Span(one.name, 0, one.values - 1) for one in self.answered]
        self.parts: dict[str, list[tuple[int, int, int]]] = {}

    def segments(self, name: str) -> list[tuple[int, int, int]]:
        """Segments of codes that the item's records can have: first, last, and place of the first among all of them."""
        if name not in self.parts:
            attribute = self.attributes[name]
            names = sorted({name}.union(*(part.names for part in self.where)))
            cuts = {n: sorted({0}.union(*(part.segments(n) for part in self.where))) for n in names}
            if prod(map(len, cuts.values())) > TRIED:
                raise Unsupported("a condition of so many parts")
            records = (dict(zip(names, codes, strict=True)) for codes in product(*(cuts[n] for n in names)))
            possible = {record[name] for record in records if all(part.holds(record) for part in self.where)}
            ends = dict(zip(cuts[name], [*(cut - 1 for cut in cuts[name][1:]), attribute.size - 1], strict=True))
            parts = [(start, ends[start]) for start in sorted(possible)]
            if attribute.kind not in ("categories", "tree") and parts:
                values = [(start, min(end, attribute.values - 1)) for start, end in parts if start < attribute.values]
                lost = [(attribute.values,) * 2] if parts[-1][1] == attribute.values else []
                parts = ([(values[0][0], values[-1][1])] if values else []) + lost
            places = [sum(end - start + 1 for start, end in parts[:i]) for i in range(len(parts))]
            self.parts[name] = [(*part, place) for part, place in zip(parts, places, strict=True)]
        return self.parts[name]

    def place(self, name: str, code: int) -> int:
        """The place of a code among those that the item's records can have; 0 for others."""
        return next((place + code - start for start, end, place in self.segments(name) if start <= code <= end), 0)

    def count(self, name: str) -> int:
        return sum(end - start + 1 for start, end, _ in self.segments(name))

    def split(self, axes: list[dict[str, Any]]) -> dict[str, list[int] | None]:
        cells: dict[str, list[int] | None] = {}
        for axis in axes:
            name, bins = axis["attribute"], axis.get("bins")
            if name in cells or (bins is not None and len(bins) != self.count(name)):
                raise Malformed(f"bins of {name} are not one for each of {self.count(name)} values")
            cells[name] = bins and [bins[self.place(name, code)] for code in range(self.attributes[name].size)]
        return cells

    def value(self, name: str, unit: Fraction, middle: bool) -> Callable[[int], Any]:
        """A number of an attribute in units, or its distance from the middle; 0 where it is missing."""
        attribute = self.attributes[name]
        if attribute.kind not in ("integer", "real", "boolean"):
            raise Unsupported(f"sums of {attribute.kind} values")
        low, step = attribute.low / unit, attribute.step / unit
        low = -step * (attribute.values - 1) / 2 if middle else low
        whole = (int(low), int(step)) if low.denominator == step.denominator == 1 else (low, step)
        return lambda code: 0 if code == attribute.values else whole[0] + whole[1] * code

    def unit(self, name: str, middle: bool) -> Fraction:
        """The largest number of which all values are multiples; of distances from the middle, half a step."""
        attribute = self.attributes[name]
        if middle:
            return attribute.step / 2 if attribute.values % 2 == 0 else attribute.step
        common = lcm(attribute.low.denominator, attribute.step.denominator)
        return Fraction(gcd(int(attribute.low * common), int(attribute.step * common)), common)

    def terms(self, measured: dict[str, Any]) -> list[Term]:
        """A measurement as terms: what it is, or what stands in for it."""
        noise, counts = measured["noise"], measured["counts"]
        kind, name = counts["kind"], counts.get("attribute")
        square = noise is not None and noise["law"] == "discrete gaussian"
        if noise is not None and noise["law"] not in ("discrete gaussian", "discrete laplace"):
            raise Unsupported(f"noise of the law {noise['law']}")
        scale = Fraction(1) if noise is None else exact(noise["sigma" if square else "scale"])
        if scale <= 0:
            raise Malformed("noise of no positive scale")

        def term(widen: Any = 1, **parts: Any) -> Term:
            """A term with noise of so many times the scale, in the cells of `by` and of those that are given."""
            weight = None if noise is None else 1 / (2 * (scale * widen) ** 2 if square else scale * widen)
            where = [*self.where, *parts.pop("where", [])]
            return Term(weight, square, self.split(measured["by"]) | parts.pop("cells", {}), where=where, **parts)

        if kind == "records":
            return [term()]
        if kind == "answerers":
            return [term(where=[Span(name, 0, self.attributes[name].values - 1)])]
        if kind == "sum":
            middle, names = counts.get("from") == "middle", [name, *([counts["times"]] if "times" in counts else [])]
            units = [exact(counts["unit"]), Fraction(1)]
            return [
                term(
                    scalars={n: ("affine", self.value(n, unit, middle)) for n, unit in zip(names, units, strict=False)}
                )
            ]
        if kind == "squares":
            unit, number = exact(counts["unit"]), self.value(name, Fraction(1), True)
            return [term(scalars={name: ("square", lambda code: number(code) ** 2 / unit)})]
        if kind == "asked":
            return self.asked(term)
        if kind == "running":
            return [term(curve=self.running(name, counts["rows"]))]
        if kind in ("smooth bins", "smooth running"):
            return [term(curve=self.smooth(name, counts["width"], kind == "smooth running", square))]
        if kind in ("weighted sums", "smooth sums", "running sums"):
            return [term(curve=self.weighted(kind, counts, square))]
        if kind == "weighed margins":
            return [term(margins={one: self.count(one) for one in counts["attributes"]}, times=counts["times"])]
        if kind == "beyond":
            return [term(curve=beyond(name, counts["parents"]))]
        if kind == "ranks":
            shares = [Fraction(0), *map(exact, counts["shares"]), Fraction(1)]
            gap = min(b - a for a, b in zip(shares, shares[1:], strict=False))
            total = [term(1 / (2 - 4 * gap), whole=False)] if gap < Fraction(1, 2) else []
            return [term(Fraction(1, 2), cells={name: None}, whole=False), *total]
        if kind == "divided":
            names, widths = counts["attributes"], [1]
            factor = 8 if len(names) == 1 else 4
            while 2 * factor * widths[0] < max(map(self.count, names)):
                widths.insert(0, widths[0] * factor)
            weights = [1, *[len(names)] * (len(widths) - 1)]
            each = zip(widths, weights, strict=True)
            return [
                term(Fraction(sum(weights), one), cells={n: self.tiles(n, width) for n in names}) for width, one in each
            ]
        if kind == "flows":
            found = [Term(None, square)]
            for name, border in zip(counts["attributes"], counts["borders"], strict=True):
                curve = self.running(name, self.count(name) - 1)
                plain = not square and not border["width"]
                found.append(term(exact(border["steps"]), curve=curve, whole=plain))
                if border["width"]:
                    found.append(term(exact(border["smooth"]) / border["width"], curve=curve, whole=False))
            return found
        raise Unsupported(f"measurements of the kind {kind}")

    def tiles(self, name: str, width: int) -> list[int] | None:
        return None if width == 1 else [self.place(name, code) // width for code in range(self.attributes[name].size)]

    def asked(self, term: Callable[..., Term]) -> list[Term]:
        item, scalars = self.item, {}
        if "weight" in item:
            unit = self.unit(item["weight"], False)
            scalars = {item["weight"]: ("affine", self.value(item["weight"], unit, False))}
        for kind in {"count", "proportion"} & set(item):
            part = [] if item[kind] == "all" else [Condition(item[kind], self.attributes)]
            return [term(scalars=scalars, where=part)]
        if isinstance(item.get("ranges"), dict):
            [(name, ranges)] = item["ranges"].items()
            ends = [[self.attributes[name].code(end) for end in one["range"]] for one in ranges]
            return [term(scalars=scalars, where=[Span(name, low, high)]) for low, high in ends]
        raise Unsupported("an item's own question of this kind")

    def running(self, name: str, rows: int) -> Curve:
        missing = self.attributes[name].values
        parts = [part for part in self.segments(name) if part[0] < missing]

        def size(code: int) -> int:
            return 0 if code == missing else max(0, rows - self.place(name, code))

        affine = len(parts) == 1 and rows >= parts[0][1] - parts[0][0]
        return Curve(name, "affine" if affine else "monotone", lambda x, y: abs(size(x) - size(y)), size, int(affine))

    def smooth(self, name: str, width: int, running: bool, square: bool) -> Curve:
        """Smooth bins: code q w + r is w - r in bin q and r in the next. Their running sums move by what codes move."""
        bins = -(-(self.count(name) - 1) // width)  # all but the last
        if running and not square:
            place = lambda code: width * bins - self.place(name, code)  # noqa: E731
            return Curve(name, "affine", lambda x, y: abs(place(x) - place(y)), place, 1)

        def size(code: int) -> int:
            q, r = divmod(self.place(name, code), width)
            if running:
                return (width - r) ** 2 * (q < bins) + max(0, bins - q - 1) * width * width
            return (width - r) ** 2 + r * r if square else width

        def move(x: int, y: int) -> int:
            (p, a), (q, b) = sorted((divmod(self.place(name, x), width), divmod(self.place(name, y), width)))
            if running:
                return (b - a) ** 2 if p == q else (width - a) ** 2 + (q - p - 1) * width * width + b * b
            steps = (
                [b - a, a - b]
                if p == q
                else [width - a, a + b - width, b]
                if q == p + 1
                else [width - a, a, width - b, b]
            )
            return sum(step * step for step in steps) if square else sum(map(abs, steps))

        return Curve(name, "any" if square and not running else "monotone", move, size, 0 if square else width)

    def weighted(self, kind: str, counts: dict[str, Any], square: bool) -> Curve:
        name = counts["attribute"]
        count, width, kernel = self.count(name), counts.get("width", 1), numbers(counts.get("kernel", "1"))
        alike = [sum(a * b for a, b in zip(kernel, kernel[lag:], strict=False)) for lag in range(len(kernel))]
        if kind == "running sums":
            if not square:
                raise Unsupported("running sums with Laplace noise")
            length, step = [0], alike[0]
            for k in range(count):
                step += 2 * alike[k] if 0 < k < len(alike) else 0
                length.append(length[-1] + step)
            apart = lambda x, y: length[abs(self.place(name, x) - self.place(name, y))]  # noqa: E731
            return Curve(name, "stationary", apart, lambda x: length[count - 1 - self.place(name, x)])
        single, rows = numbers(counts["single"]), [numbers(row) for row in counts["rows"]]
        if (
            max(count, len(rows[0])) ** 2 * len(rows) > 50_000_000
            or (kind == "smooth sums") != square
            or min(single) < 0
        ):
            raise Unsupported(f"{kind} of {count} values")
        columns = list(zip(*rows, strict=True))
        places = {code: self.place(name, code) for code in range(self.attributes[name].size)}
        if kind == "weighted sums":
            part = lambda x, y: sum(map(abs, map(sub, columns[places[x]], columns[places[y]])))  # noqa: E731
            top = {code: sum(map(abs, columns[x])) + single[x] for code, x in places.items()}
            return Curve(name, "any", lambda x, y: part(x, y) + single[places[x]] + single[places[y]], top.__getitem__)
        dots = [[sum(map(mul, one, other)) for other in columns] for one in columns]

        def dot(x: int, y: int) -> int:
            """The product of what two codes add: between knots, and on bumps."""
            (p, a), (q, b) = divmod(x, width), divmod(y, width)
            total = (width - a) * ((width - b) * dots[p][q] + (b and b * dots[p][q + 1]))
            total += a and a * ((width - b) * dots[p + 1][q] + (b and b * dots[p + 1][q + 1]))
            total += alike[abs(x - y)] * width * width if abs(x - y) < len(alike) else 0
            return single[x] * single[y] * total

        size = {code: dot(x, x) for code, x in places.items()}
        return Curve(name, "any", lambda x, y: size[x] + size[y] - 2 * dot(places[x], places[y]), size.__getitem__)


def numbers(text: str) -> list[int]:
    if len(text) > 20_000_000:
        raise Malformed("weights of absurd length")
    return [int(word) for word in text.split(" ")]


def beyond(name: str, parents: list[int]) -> Curve:
    """Counts beyond the steps of a forest: a record counts at each step on its way to the root."""

    def way(code: int) -> set[int]:
        found: set[int] = set()
        while parents[code] != code and code not in found:
            found.add(code)
            code = parents[code]
        return found

    return Curve(name, "any", lambda x, y: len(way(x) ^ way(y)), lambda x: len(way(x)))


def boxes(policy: Policy) -> tuple[list[dict[str, Rule]], bool]:
    """Boxes whose steps together are those of a joint metric or, if not sure, more than these."""
    if policy.joint is None:
        return [{}], True
    names, metric, reach = policy.joint
    attributes = [policy.attributes[name] for name in names]
    if metric not in ("l1", "l2", "linf") or (metric != "linf" and len(names) > 2):
        return [{name: Rule(policy.attributes[name], "everything") for name in names}], False
    if metric == "linf" or len(names) == 1:
        return [{one.name: Rule(one, "within", reach // one.step) for one in attributes}], True  # type: ignore[arg-type]
    first, second = attributes
    corners: list[tuple[int, int]] = []
    for a in range(min(int(reach / first.step), first.values - 1, TRIED), -1, -1):
        left = reach - a * first.step if metric == "l1" else reach**2 - (a * first.step) ** 2
        b = int(left / second.step) if metric == "l1" else isqrt(int(left / second.step**2))
        if not corners or min(b, second.values - 1) > corners[-1][1]:
            corners.append((a, min(b, second.values - 1)))
    every = len(corners) // 150 + 1  # of many corners, boxes that hold several
    kept = [(corners[i][0], corners[min(i + every, len(corners)) - 1][1]) for i in range(0, len(corners), every)]
    sides = [
        [Rule(one, "within", Fraction(k)) if k else Rule(one, "public") for one, k in zip(attributes, c, strict=True)]
        for c in kept
    ]
    return [dict(zip(names, side, strict=True)) for side in sides], every == 1


def is_step(policy: Policy, x: Record | None, y: Record | None) -> bool:
    """Whether two records are one step apart."""
    if x is None or y is None:
        there = y if x is None else x
        return (
            policy.presence
            and there is not None
            and all(there[by] != code or rules for by, code, rules, _ in policy.groups)
        )
    rules, most = policy.rules, policy.at_most
    for by, code, own, often in policy.groups:
        if x[by] == code:
            rules, most = own or {}, often
    moved = [name for name in x if x[name] != y[name]]
    if policy.joint:
        names, metric, reach = policy.joint
        far = [abs(x[name] - y[name]) * policy.attributes[name].step for name in names]
        power = 2 if metric == "l2" else 1
        if metric not in ("l1", "l2", "linf"):
            raise Unsupported(f"the metric {metric}")
        if (max(far) if metric == "linf" else sum(step**power for step in far)) > reach**power:
            return False
        rules = rules | {name: Rule(policy.attributes[name], "everything") for name in names}
    return 0 < len(moved) <= most and all(name in rules and rules[name].edge(x[name], y[name]) for name in moved)


def steps(terms: list[Term], policy: Policy) -> tuple[Fraction, bool]:
    """The largest loss over all steps of a policy: over its groups, and over the boxes of a joint metric."""
    groups: list[tuple[dict[str, Rule], int, Record]] = []
    for by, code, rules, most in policy.groups:
        seen = any(one[:2] == (rules, most) for one in groups)
        if rules is not None and not (seen and all(by not in replace(term, cells={}).names for term in terms)):
            groups.append((rules, most, {by: code}))
    if not policy.groups:
        groups = [(policy.rules, policy.at_most, {})]
    squares, sure = boxes(policy)
    best, exactly = Fraction(0), True
    for rules, most, pins in groups:
        for box in squares:
            lost, attained = worst(terms, rules | box, most, policy.presence, pins)
            best, exactly = max(best, lost), exactly and attained
    return best, exactly and sure


def distance(terms: list[Term], x: Record | None, y: Record | None) -> Fraction:
    """The loss of terms between two records, either of which may be absent."""
    total = Fraction(0)
    for term in terms:
        here, there = (one is not None and all(part.holds(one) for part in term.where) for one in (x, y))
        a, b = x or y or {}, y or x or {}
        total += (term.weight or 0) * term.cost(
            here, there, [term.roles(name, a[name], b[name]) for name in term.names]
        )
    return total


def price(policy: Policy, measured: list[tuple[Item, list[dict[str, Any]]]], witness: Any) -> Loss:
    """The loss of measurements: epsilon or, with Gaussian noise, rho."""
    terms: list[Term] = []
    people = Fraction(0)
    for item, measurements in measured:
        for one in measurements:
            if one["counts"]["kind"] in ("people", "capped sum"):
                people += person(item, one)
            else:
                terms += item.terms(one)
    noisy, free = [term for term in terms if term.weight], [term for term in terms if term.weight is None]
    gaussian = any(term.square for term in noisy)
    if gaussian and (people or not all(term.square for term in noisy)):
        raise Unsupported("Laplace and Gaussian noise in one release")
    factor, seen = Fraction(policy.rows), policy
    for attacker in policy.document.get("attackers", []):
        if attacker != "independent":
            if set(attacker) != {"groups", "at most"}:
                raise Unsupported(f"attackers with {min(set(attacker) - {'at most'})}")
            factor, seen = exact(attacker["at most"]), policy.alike()
    if policy.document.get("known"):
        raise Unsupported("known figures")
    upper, attained = steps(noisy, seen)
    for term in free:
        moved, sure = steps([replace(term, weight=Fraction(1))], seen)
        if moved and not sure:
            raise Unsupported("an exact measurement of this kind")
        if moved:
            return Loss(None, gaussian=gaussian, notes=["a secret changes what is published exactly"])
    factor = factor**2 if gaussian else factor
    loss = Loss(upper * factor + people, exact=attained and not people, gaussian=gaussian)
    if (
        isinstance(witness, list)
        and len(witness) == 2
        and all(one == ABSENT or isinstance(one, dict) for one in witness)
    ):
        x, y = (None if one == ABSENT else {n: a.code(one[n]) for n, a in policy.attributes.items()} for one in witness)
        if not is_step(seen, x, y):
            loss.notes.append("the stated worst pair is not one step apart")
        loss.lower = distance([term for term in noisy if term.whole], x, y) * factor
    return loss


def person(item: Item, measured: dict[str, Any]) -> Fraction:
    """The most that one person moves a measurement of people, in parts of its noise."""
    counts, scale, rows = measured["counts"], exact(measured["noise"]["scale"]), item.policy.rows
    if counts["kind"] == "people":
        return (1 if counts["rows"] == 1 else 2) / scale
    attribute = item.attributes[counts["attribute"]]
    return (
        min(Fraction(counts["cap"]), rows * attribute.number(attribute.values - 1) / item.unit(attribute.name, False))
        / scale
    )


def items_of(policy: Policy, plan: dict[str, Any]) -> list[tuple[Item, list[dict[str, Any]]]]:
    asked = {item["name"]: item for item in policy.document["release"]}
    return [(Item(asked[query["name"]], policy), query["measurements"]) for query in plan["queries"]]


def loss(policy: dict[str, Any], plan: dict[str, Any]) -> Loss:
    """What a plan loses, from the two documents of release.json: epsilon or, with Gaussian noise, rho.

    Raises Unsupported with the name of a feature that is not computed, and Malformed where a document is wrong.
    """
    read = read_policy(policy)
    return price(read, items_of(read, plan), plan["certificate"].get("witness"))


def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """No less than the epsilon that rho is at delta, by [CKS20] Cor. 13 at one order: every order is a bound."""
    goal, low, high = log(1 / float(delta)), -20.0, 20.0
    bound_at = lambda x: (1 + exp(x)) * float(rho) + (goal - log(1 + exp(x))) / exp(x) - log(1 + exp(-x))  # noqa: E731
    for _ in range(200):  # the logarithm of the order less one
        a, b = (2 * low + high) / 3, (low + 2 * high) / 3
        low, high = (low, b) if bound_at(a) < bound_at(b) else (a, high)
    with localcontext() as context:
        context.prec = 60
        x = Decimal(exp(low))
        logs = (-(Decimal(delta.numerator) / delta.denominator).ln() - (1 + x).ln()) / x + (x / (1 + x)).ln()
        return (1 + Fraction(x)) * rho + Fraction(logs) + Fraction(1, 10**40)
