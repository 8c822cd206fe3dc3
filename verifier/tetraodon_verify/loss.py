"""The loss of a plan, computed anew: the most that one step of the policy moves all noisy numbers, in parts of their noise.

A term is one measurement: what a record adds to it is a vector in one cell. Attributes that no term looks at together move
apart, so what a step moves is a sum over such components. In a component the steps of each attribute are reduced to a
few kinds, those at which a sum of convex or of monotone moves is largest; all combinations of kinds are tried. Where
there are too many, the sum over terms of what each may move by itself is a bound from above, and `exact` is false.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
import re
from decimal import Decimal, localcontext
from math import gcd, isqrt, lcm, log, prod
from typing import Any

from tetraodon_verify.policy import Condition, Malformed, Policy, Rule, Unsupported, exact, last_of, read_policy

TRIED = 400_000  # pairs or combinations that are tried one by one
ABSENT = ("absent", "not in the data")


class TooMany(Exception):
    """More pairs than are tried one by one: a bound is computed."""


@dataclass
class Loss:
    """What a plan loses: at most `upper`, and at least `lower`, on `pair`."""

    upper: Fraction | None  # None: no bound
    lower: Fraction
    pair: Any = None
    exact: bool = False
    notes: list[str] = field(default_factory=list)


@dataclass
class Curve:
    """What a record adds along one attribute: how far two codes are apart, and how far one is from no record."""

    name: str
    shape: str  # affine, monotone, stationary or any
    move: Callable[[int, int], Any]
    size: Callable[[int], Any]


class Answered:
    """The condition that a value is not missing."""

    def __init__(self, name: str, missing: int) -> None:
        self.names, self.missing = frozenset({name}), missing

    def holds(self, record: dict[str, int]) -> bool:
        return all(record[name] != self.missing for name in self.names)

    def segments(self, name: str) -> set[int]:
        return {self.missing} if name in self.names else set()


@dataclass
class Term:
    weight: Fraction | None  # None: exact
    square: bool
    cells: dict[str, list[int] | None] = field(default_factory=dict)
    scalars: dict[str, tuple[str, Callable[[int], Any]]] = field(default_factory=dict)
    curve: Curve | None = None
    where: list[Any] = field(default_factory=list)
    whole: bool = True  # False: a stand-in whose price is a bound
    margins: tuple[list[str], list[int], dict[str, int]] | None = None  # weighed margins: attributes, weights, sizes
    known: dict[Any, int] = field(default_factory=dict)

    @property
    def conditions(self) -> frozenset[str]:
        return frozenset().union(*(part.names for part in self.where))

    @property
    def names(self) -> frozenset[str]:
        """The attributes that decide what a record adds."""
        curve = {self.curve.name} if self.curve else set()
        return self.conditions | set(self.cells) | set(self.scalars) | curve | set(self.margins[0] if self.margins else ())

    def roles(self, name: str, x: int, y: int) -> tuple[Any, ...]:
        """What a change of one attribute from x to y is to this term."""
        bins = self.cells.get(name, 0)
        changed: Any = name in self.cells and (x != y if bins is None else bins[x] != bins[y])  # type: ignore[index]
        if self.margins and name in self.margins[0] and x != y:
            changed = 2 << self.margins[0].index(name)
        scalars = (self.scalars[name][1](x), self.scalars[name][1](y)) if name in self.scalars else (1, 1)
        if self.curve and self.curve.name == name:
            return (changed, *scalars, self.curve.move(x, y) if x != y else 0, self.curve.size(x), self.curve.size(y))
        return (changed, *scalars, None, 1, 1)

    def cost(self, holds_x: bool, holds_y: bool, roles: Iterable[tuple[Any, ...]]) -> Any:
        """The distance, or its square, of what two records add."""
        if not (holds_x or holds_y):
            return 0
        changed, a, b, move, size_x, size_y = False, 1, 1, None, 1, 1
        for role in roles:
            changed = changed | role[0]
            a, b, size_x, size_y = a * role[1], b * role[2], size_x * role[4], size_y * role[5]
            move = role[3] if role[3] is not None else move
        if self.margins:
            if changed & 1 and holds_x and holds_y:
                return 2 * self.weighed(0, True, False)
            return self.weighed(changed >> 1, holds_x, holds_y)
        if holds_x and holds_y and not changed:
            if move is None:
                return (a - b) ** 2 if self.square else abs(a - b)
            if a != b:
                raise Unsupported("weights beside running counts")
            return move * (a * a if self.square else abs(a))
        a, b = (a * a, b * b) if self.square else (abs(a), abs(b))
        return (a * size_x if holds_x else 0) + (b * size_y if holds_y else 0)


    def weighed(self, changed: int, holds_x: bool, holds_y: bool) -> int:
        """The distance of weighed margins, where a record changes these attributes: summed over how a cell may agree."""
        attributes, times, sizes = self.margins or ([], [], {})
        if (changed, holds_x and holds_y) in self.known:
            return self.known[changed, holds_x and holds_y]
        ways = []  # for each attribute: bits of agreement with x and with y, and how many cells are so
        for i, name in enumerate(attributes):
            apart = changed >> i & 1
            rest = (0, 0, sizes[name] - 1 - apart)
            ways.append([(1 << i, 0, 1), (0, 1 << i, 1), rest] if apart else [(1 << i, 1 << i, 1), rest])
        below = [sum(times[part] for part in range(len(times)) if part & ~agree == 0) for agree in range(len(times))]
        total = 0
        for combined in product(*ways):
            x, y, cells = sum(way[0] for way in combined), sum(way[1] for way in combined), prod(way[2] for way in combined)
            move = below[x] * holds_x - below[y] * holds_y
            total += cells * (move * move if self.square else abs(move))
        return self.known.setdefault((changed, holds_x and holds_y), total)


class Component:
    """Terms that look at some attributes together, and what steps along these move."""

    def __init__(self, terms: list[Term], names: list[str], rules: dict[str, Rule], pins: dict[str, int]) -> None:
        self.terms, self.names, self.rules, self.pins = terms, names, rules, pins
        self.scale = lcm(*((term.weight or 1).denominator for term in terms))
        self.weights = [int((1 if term.weight is None else term.weight) * self.scale) for term in terms]
        self.moving = {name for name in names if rules[name].kind != "public" and name not in pins}
        self.starts = {name: self.segments(name) for name in names}
        self.held: dict[Any, list[bool]] = {}

    def segments(self, name: str) -> list[int]:
        rule = self.rules[name]
        borders = {0} | rule.borders()
        if rule.attribute.missing:
            borders.add(rule.attribute.values)
        for term in self.terms:
            for part in term.where:
                borders |= part.segments(name)
            bins = term.cells.get(name)
            if bins is not None:
                changes = {code for code in range(1, len(bins)) if bins[code] != bins[code - 1]}
                borders |= changes if len(changes) <= 400 else set()
            if name in term.scalars and term.scalars[name][0] == "square":
                middle = (rule.attribute.values - 1) // 2
                borders |= {middle, middle + 1}
        return sorted(border for border in borders if border < rule.attribute.size)

    def mode(self, name: str) -> str:
        """Which steps of the attribute have to be tried: corners, or the longest from each code as well, or all."""
        corners, line, static, stationary = True, True, True, True
        on = [term for term in self.terms if name in term.names]
        for term in on:
            others = self.moving & term.names - {name}
            lonely = not others and name not in term.conditions
            bins = term.cells.get(name)
            if bins is not None:
                changes = [code for code in range(1, len(bins)) if bins[code] != bins[code - 1]]
                if len(changes) > 400:
                    corners = False
                    line = line and all(bins[code] > bins[code - 1] for code in changes)
            static = static and not (term.margins and name in term.margins[0])
            shapes = [term.scalars[name][0]] if name in term.scalars else []
            shapes += [term.curve.shape] if term.curve and term.curve.name == name else []
            for shape in shapes:
                static = False
                stationary = stationary and lonely and shape in ("affine", "stationary")
                corners = corners and (shape == "affine" or (shape == "square" and lonely and len(on) == 1))
                line = line and lonely and shape in ("affine", "monotone")
            stationary = stationary and name not in term.conditions and bins is None
        if corners:
            return "static" if static else "corners"
        return "line" if line else "stationary" if stationary else "all"

    def pairs(self, name: str) -> Iterator[tuple[int, int]]:
        """Steps x < y of one attribute among which is one that moves the most, whatever the others do."""
        rule, mode = self.rules[name], self.mode(name)
        last, size = rule.attribute.values - 1, rule.attribute.size
        if rule.kind == "pairs":
            yield from rule.pairs
            return
        if rule.kind == "share" and (mode not in ("static", "corners") or len(self.starts[name]) > 1) and size > 1_000_000:
            raise TooMany
        if mode == "all":
            if size > 10_000 and (rule.kind != "within" or size * rule.reach > TRIED):
                raise TooMany
            longest = max((rule.furthest(x) - x for x in range(0, size, max(1, size // 100))), default=0)
            if size * min(size, longest + 2) > 4 * TRIED:
                raise TooMany
            for x in range(size):
                for y in range(x + 1, min(rule.furthest(x), last) + 1):
                    if rule.kind != "blocks" or rule.blocks[x] == rule.blocks[y]:
                        yield x, y
                if rule.attribute.missing and x <= last and rule.edge(x, last + 1):
                    yield x, last + 1
            return
        if (mode == "line" or rule.kind == "share") and size > 2_000_000:
            raise TooMany
        starts = self.starts[name]
        ends = [*(start - 1 for start in starts[1:]), size - 1]
        if len(starts) ** 2 > 4 * TRIED:
            raise TooMany
        for i, (a, b) in enumerate(zip(starts, ends, strict=True)):
            for c, d in zip(starts[i:], ends[i:], strict=True):
                if rule.kind == "blocks" and rule.blocks[a] != rule.blocks[c]:
                    continue
                apart = c > last and rule.attribute.missing  # the missing value, next to all or to its block
                if not apart and c > max(rule.furthest(b), b):
                    break
                if mode == "static":
                    if a == c < b or (a < c and (apart or c <= rule.furthest(b))):
                        yield (a, a + 1) if a == c else (b, c)
                    continue
                if mode == "stationary" and not apart:
                    yield from ((a, a + k) for k in range(1, rule.furthest(a) - a + 1) if c <= a + k <= d)
                    continue
                if mode == "line" and rule.kind in ("within", "share") and not apart:
                    xs: Iterable[int] = range(a, b + 1)
                elif apart:
                    xs = range(a, b + 1) if mode == "line" else (a, b)
                elif rule.kind == "share":
                    best = max(range(a, b + 1), key=lambda x: min(d, rule.furthest(x)) - x) if size <= 1_000_000 else -1
                    top = int(last / (1 + rule.reach))
                    xs = {a, b, best, *range(max(a, top - 2), min(b, top + 3))} if best < 0 else range(a, b + 1)
                else:
                    reach = int(rule.reach) if rule.kind == "within" else size
                    xs = {x for x in (a, b, c - 1, d - 1, c - reach, d - reach) if a <= x <= b}
                for x in xs:
                    for y in {max(c, x + 1), d if apart else min(d, rule.furthest(x))}:
                        if c <= y <= d and x < y and (apart or y <= rule.furthest(x)):
                            yield x, y

    def points(self, name: str, alone: bool) -> Iterable[int]:
        """Values that an attribute keeps, or (alone) has in a record that comes or goes."""
        if name in self.pins:
            return [self.pins[name]]
        starts, size = self.starts[name], self.rules[name].attribute.size
        mode = self.mode(name)
        if mode in ("static", "corners") or (mode in ("line", "stationary") and not alone):
            return {code for start, end in zip(starts, [*starts[1:], size], strict=True) for code in (start, end - 1)}
        if size > TRIED * 3:
            raise TooMany
        return range(size)

    def kinds(self, name: str, alone: bool, steps: bool) -> list[tuple[int, int, Any, int]]:
        """Changes of one attribute, one for each way to count: from, to, what they are to the terms, and if they move."""
        found: dict[Any, tuple[int, int, Any, int]] = {}
        starts = self.starts[name]
        on = [term for term in self.terms if name in term.names]
        plain = not any(name in replace(term, cells={}).names for term in on)
        careless = len(self.names) == 1  # sizes count only where a record comes, or a cell or a condition changes
        careless = careless and not alone and not any(name in term.cells and term.curve or term.where for term in on)

        def add(x: int, y: int) -> None:
            roles = tuple(term.roles(name, x, y) for term in on)
            key: Any = tuple(role[:4] for role in roles) if careless else roles
            key = (key, last_of(starts, x), last_of(starts, y), x == y) if not plain else (roles, x == y)
            found.setdefault(key, (x, y, roles, int(x != y)))

        for x in self.points(name, alone):
            add(x, x)
        if steps and name in self.moving:
            for x, y in self.pairs(name):
                add(x, y)
                if not careless and not plain:
                    add(y, x)
        if plain and len(found) > 2:  # of changes that alter cells only, the largest
            sets = {key: {i for i, role in enumerate(kind[2]) if role[0]} for key, kind in found.items() if kind[3]}
            for key in list(sets):
                if any(key != other and sets[key] <= sets[other] for other in sets):
                    del sets[key], found[key]
        return list(found.values())

    def holds(self, codes: tuple[int, ...]) -> list[bool]:
        key = tuple(last_of(self.starts[name], code) for name, code in zip(self.names, codes, strict=True))
        if key not in self.held:
            record = dict(zip(self.names, codes, strict=True))
            self.held[key] = [all(part.holds(record) for part in term.where) for term in self.terms]
        return self.held[key]

    def largest(self, most: int, alone: bool) -> dict[int, tuple[Fraction, Any]]:
        """By how many attributes move, or (alone) for a record that comes or goes: the largest loss and where it is."""
        kinds = [self.kinds(name, alone, not alone) for name in self.names]
        if prod(map(len, kinds)) * len(self.terms) > 4 * TRIED:
            raise TooMany
        place = {name: i for i, name in enumerate(self.names)}
        where: list[list[tuple[int, int]]] = []
        for number, term in enumerate(self.terms):
            on = [name for name in self.names if name in term.names]
            where.append([(place[name], [i for i, t in enumerate(self.terms) if name in t.names].index(number)) for name in on])
        best: dict[int, tuple[int, Any]] = {0: (0, None)}
        for combined in product(*kinds):
            moved = sum(kind[3] for kind in combined)
            if moved > most or (not alone and not moved):
                continue
            xs, ys = tuple(kind[0] for kind in combined), tuple(kind[1] for kind in combined)
            held_x, held_y = self.holds(xs), self.holds(ys)
            lost = 0
            for number, term in enumerate(self.terms):
                roles = [combined[i][2][j] for i, j in where[number]]
                lost += self.weights[number] * term.cost(held_x[number], held_y[number] and not alone, roles)
            if moved not in best or lost > best[moved][0]:
                best[moved] = (lost, (xs, ys))
        return {moved: (Fraction(lost) / self.scale, pair) for moved, (lost, pair) in best.items()}

    def peak(self, term: Term) -> Fraction:
        """More than what one record adds to a term, whichever it is."""
        top: Any = 1
        for name, (shape, scalar) in term.scalars.items():
            size = self.rules[name].attribute.size
            codes = range(size) if shape == "any" and size <= TRIED else (0, size - 1, max(0, size - 2))
            top *= max(abs(scalar(code)) for code in codes)
        if term.curve:
            size = self.rules[term.curve.name].attribute.size
            if term.curve.shape == "any" and size > TRIED:
                raise Unsupported("a measurement of so many values")
            codes = (0, size - 1) if term.curve.shape in ("affine", "monotone") else range(size)
            top *= max(term.curve.size(code) for code in codes) if not term.square else max(map(term.curve.size, codes))
        return Fraction(top * top if term.square and not term.curve else top) * (1 if term.weight is None else term.weight)


def bound(component: Component, most: int, alone: bool) -> tuple[dict[int, Fraction], bool, dict[int, Any]]:
    """The largest loss by how many attributes move, whether it is exact, and where it is."""
    try:
        found = component.largest(most, alone)
        best, pairs, so_far = {}, {}, (Fraction(0), None)
        for moved in range(0, min(most, len(component.names)) + 1):
            so_far = max(so_far, found.get(moved, so_far), key=lambda one: one[0])
            best[moved], pairs[moved] = so_far
        return best, all(term.whole for term in component.terms), pairs
    except TooMany:
        pass
    total = dict.fromkeys(range(0, min(most, len(component.names)) + 1), Fraction(0))
    for term in component.terms:
        names = [name for name in component.names if name in term.names]
        single = Component([term], names, component.rules, component.pins)
        if len(component.terms) > 1:
            part = bound(single, most, alone)[0]
        else:
            part = {moved: (2 - alone) * single.peak(term) if moved or alone else Fraction(0) for moved in total}
        for moved in total:
            total[moved] += part[min(moved, max(part))]
    return total, False, {}


def split(terms: list[Term], moving: set[str]) -> list[tuple[list[Term], list[str]]]:
    """Terms by components. Attributes that stay as they are, and only say in which cell a record is, join nothing."""
    parts: list[tuple[list[Term], set[str]]] = []
    for term in terms:
        stay = {name for name in term.cells if name not in moving and name not in term.scalars and name not in term.conditions}
        names = {name for name in term.names if not (name in stay and not (term.curve and term.curve.name == name))}
        joined, rest = ([term], names), []
        for part in parts:
            if part[1] & joined[1]:
                joined = (part[0] + joined[0], part[1] | joined[1])
            else:
                rest.append(part)
        parts = [*rest, joined]
    return [(part, sorted(names)) for part, names in parts]


def worst(terms: list[Term], policy: Policy, rules: dict[str, Rule], most: int, pins: dict[str, int]) -> Loss:
    """The largest loss over the steps of one group, for records in a box of joint steps."""
    result = Loss(Fraction(0), Fraction(0), exact=True)
    moving = {name for name, rule in rules.items() if rule.kind != "public" and name not in pins}
    table = [Fraction(0)]
    there, records = True, Fraction(0)
    for part, names in split(terms, moving):
        thin = [replace(term, cells={name: bins for name, bins in term.cells.items() if name in names}) for term in part]
        component = Component(thin, names, rules, pins)
        found, sure, _ = bound(component, min(most, len(names)), False) if names else ({0: Fraction(0)}, True, {})
        result.exact = result.exact and sure
        longer = [Fraction(0)] * min(most + 1, len(table) + max(found))
        for i, before in enumerate(table):
            for moved, lost in found.items():
                if i + moved < len(longer):
                    longer[i + moved] = max(longer[i + moved], before + lost)
        table = longer
        if policy.presence:
            found, sure, _ = bound(component, 0, True) if names else ({0: sum((t.weight or 1) for t in thin)}, True, {})
            records += found[0]
            there = there and sure
    result.upper = max(table)
    if policy.presence and records > result.upper:
        result.upper, result.exact = records, there
    result.exact = result.exact and there
    return result


class Item:
    """One item of a release: the records it is about, the codes these can have, and its measurements as terms."""

    def __init__(self, item: dict[str, Any], policy: Policy) -> None:
        self.item, self.policy = item, policy
        self.where: list[Any] = []
        if "where" in item:
            self.where.append(Condition(item["where"], policy.attributes))
        for name in self.computed():
            if policy.attributes[name].missing:
                self.where.append(Answered(name, policy.attributes[name].values))
        self.codes: dict[str, list[tuple[int, int, int]]] = {}

    def computed(self) -> list[str]:
        """The attributes that a record must have a value of to be counted."""
        found: list[str] = []
        for kind in ("cdf", "ranges", "quantiles", "rectangles", "covariance", "correlation", "ratio", "regression", "on", "weight"):
            asked = self.item.get(kind, [])
            found += [asked] if isinstance(asked, str) else list(asked)
        if "weight" in self.item and isinstance(self.item.get("total", self.item.get("mean")), str):
            found.append(self.item.get("total") or self.item["mean"])
        return [name for name in dict.fromkeys(found) if name in self.policy.attributes]

    def segments(self, name: str) -> list[tuple[int, int, int]]:
        """Segments of codes that the item's records can have: first, last, and place of the first among all of them."""
        if name in self.codes:
            return self.codes[name]
        attribute = self.policy.attributes[name]
        names = sorted({name}.union(*(part.names for part in self.where)))
        cuts = {n: sorted({0}.union(*(part.segments(n) for part in self.where))) for n in names}
        if prod(map(len, cuts.values())) > TRIED:
            raise Unsupported("a condition of so many parts")
        possible = set()
        for codes in product(*(cuts[n] for n in names)):
            record = dict(zip(names, codes, strict=True))
            if record[name] not in possible and all(part.holds(record) for part in self.where):
                possible.add(record[name])
        ends = dict(zip(cuts[name], [*(cut - 1 for cut in cuts[name][1:]), attribute.size - 1], strict=True))
        parts = [(start, ends[start]) for start in sorted(possible)]
        if attribute.kind in ("integer", "real", "date", "ordered", "boolean") and parts:
            values = [(start, min(end, attribute.values - 1)) for start, end in parts if start < attribute.values]
            lost = [(attribute.values, attribute.values)] if parts[-1][1] >= attribute.values else []
            parts = ([(values[0][0], values[-1][1])] if values else []) + lost
        found, place = [], 0
        for start, end in parts:
            found.append((start, end, place))
            place += end - start + 1
        self.codes[name] = found
        return found

    def place(self, name: str, code: int) -> int:
        """The place of a code among those that the item's records can have; 0 for others."""
        for start, end, place in self.segments(name):
            if start <= code <= end:
                return place + code - start
        return 0

    def count(self, name: str) -> int:
        return sum(end - start + 1 for start, end, _ in self.segments(name))

    def split(self, axes: list[dict[str, Any]]) -> dict[str, list[int] | None]:
        cells: dict[str, list[int] | None] = {}
        for axis in axes:
            bins = axis.get("bins")
            name = axis["attribute"]
            if bins is not None and (len(bins) != self.count(name) or name in cells):
                raise Malformed(f"bins of {name} are {len(bins)}, not {self.count(name)}")
            cells[name] = bins and [bins[self.place(name, code)] for code in range(self.policy.attributes[name].size)]
        return cells

    def value(self, name: str, unit: Fraction, middle: bool) -> tuple[str, Callable[[int], Any]]:
        """A number of an attribute in units; whole where it can be, since that is faster."""
        attribute = self.policy.attributes[name]
        if attribute.kind not in ("integer", "real", "boolean"):
            raise Unsupported(f"sums of {attribute.kind} values")
        low, step = attribute.low / unit, attribute.step / unit
        if middle:
            low -= (low + low + step * (attribute.values - 1)) / 2
        missing = attribute.values if attribute.missing else -1
        if low.denominator == step.denominator == 1:
            first, by = int(low), int(step)
            return "affine", lambda code: 0 if code == missing else first + by * code
        return "affine", lambda code: 0 if code == missing else low + step * code

    def terms(self, measured: dict[str, Any]) -> list[Term]:
        """A measurement as terms: what it is, or what stands in for it."""
        noise, counts = measured["noise"], measured["counts"]
        kind, attributes = counts["kind"], self.policy.attributes
        square = noise is not None and noise["law"] == "discrete gaussian"
        if noise is not None and noise["law"] not in ("discrete gaussian", "discrete laplace"):
            raise Unsupported(f"noise of the law {noise['law']}")
        scale = None if noise is None else exact(noise["sigma" if square else "scale"])
        if scale is not None and scale <= 0:
            raise Malformed("noise of no positive scale")

        def term(times: Fraction = Fraction(1), most: Fraction = Fraction(1), **parts: Any) -> Term:
            """A term with noise of so many times the scale, measured so many times."""
            weight = None
            if scale is not None:
                weight = most / (2 * (scale * times) ** 2 if square else scale * times)
            where = [*self.where, *parts.pop("where", [])]
            return Term(weight, square, {**self.split(measured["by"]), **parts.pop("cells", {})}, where=where, **parts)

        name = counts.get("attribute")
        unit = exact(counts["unit"]) if "unit" in counts else Fraction(1)
        if kind == "records":
            return [term()]
        if kind == "answerers":
            return [term(where=[Answered(name, attributes[name].values)] if attributes[name].missing else [])]
        if kind in ("sum", "squares"):
            middle = counts.get("from") == "middle" or kind == "squares"
            if kind == "squares":
                _, number = self.value(name, Fraction(1), True)
                missing = attributes[name].values if attributes[name].missing else -1
                scalars = {name: ("square", lambda code: 0 if code == missing else number(code) ** 2 / unit)}
            elif counts.get("times", name) == name and "times" in counts:
                raise Unsupported("products of an attribute with itself")
            elif "times" in counts:
                other = self.unit(counts["times"], middle)
                scalars = {name: self.value(name, unit / other, middle), counts["times"]: self.value(counts["times"], other, middle)}
            else:
                scalars = {name: self.value(name, unit, middle)}
            return [term(scalars=scalars)]
        if kind == "asked":
            return self.asked(term)
        if kind == "running":
            return [term(curve=self.running(name, counts["rows"]))]
        if kind in ("smooth bins", "smooth running"):
            return [term(curve=self.smooth(name, counts["width"], kind == "smooth running", square))]
        if kind in ("weighted sums", "smooth sums", "running sums"):
            return [term(curve=self.weighted(kind, counts, square))]
        if kind == "weighed margins":
            names = counts["attributes"]
            return [term(margins=(names, counts["times"], {name: self.count(name) for name in names}))]
        if kind == "beyond":
            parents = counts["parents"]
            return [term(curve=Curve(name, "any", *tree(parents)))]
        if kind == "ranks":
            shares = [exact(share) for share in counts["shares"]]
            gap = min(b - a for a, b in zip([Fraction(0), *shares], [*shares, Fraction(1)], strict=True))
            found = [term(Fraction(1, 2), cells={name: None}, whole=False)]
            return found + ([term(1 / (2 - 4 * gap), whole=False)] if gap < Fraction(1, 2) else [])
        if kind == "divided":
            return self.divided(term, counts["attributes"])
        if kind == "flows":
            found = [Term(None, square)]
            for name, border in zip(counts["attributes"], counts["borders"], strict=True):
                curve = self.running(name, self.count(name) - 1)
                plain = not square and not border["width"]
                found.append(term(exact(border["steps"]), curve=curve, whole=plain))
                if border["width"]:
                    found.append(term(exact(border["smooth"]) / border["width"], curve=curve, whole=False))
            return found
        if kind == "chosen tables":
            return self.chosen(term, counts, square)
        raise Unsupported(f"measurements of the kind {kind}")

    def unit(self, name: str, middle: bool) -> Fraction:
        """The largest number of which all values are multiples, or half a step from the middle."""
        attribute = self.policy.attributes[name]
        if middle:
            return attribute.step / 2 if attribute.values % 2 == 0 else attribute.step
        common = lcm(attribute.low.denominator, attribute.step.denominator)
        return Fraction(gcd(int(attribute.low * common), int(attribute.step * common)), common)

    def asked(self, term: Callable[..., Term]) -> list[Term]:
        item, scalars = self.item, {}
        if "weight" in item:
            scalars = {item["weight"]: self.value(item["weight"], self.unit(item["weight"], False), False)}
        for kind in ("count", "proportion"):
            if kind in item:
                part = [] if item[kind] == "all" else [Condition(item[kind], self.policy.attributes)]
                return [term(scalars=scalars, where=part)]
        if isinstance(item.get("ranges"), dict):
            [(name, ranges)] = item["ranges"].items()
            attribute = self.policy.attributes[name]
            found = []
            for one in ranges:
                low, high = (attribute.code(end) for end in (one["range"] if isinstance(one, dict) else one))
                found.append(term(scalars=scalars, where=[Between(name, low, high)]))
            return found
        raise Unsupported("the item's own question of this kind")

    def running(self, name: str, rows: int) -> Curve:
        parts = [part for part in self.segments(name) if part[0] < self.policy.attributes[name].values]
        count = sum(end - start + 1 for start, end, _ in parts)
        missing = self.policy.attributes[name].values

        def height(code: int) -> int:
            return 0 if code >= missing else max(0, rows - self.place(name, code))

        shape = "affine" if len(parts) == 1 and rows >= count - 1 else "monotone"
        return Curve(name, shape, lambda x, y: abs(height(x) - height(y)), height)

    def smooth(self, name: str, width: int, running: bool, square: bool) -> Curve:
        last = self.count(name) - 1
        bins = -(-last // width)  # all but the last

        def size(code: int) -> int:
            q, r = divmod(self.place(name, code), width)
            if not running:
                return (width - r) ** 2 + r * r if square else width
            if not square:
                return width * bins - q * width - r
            return (width - r) ** 2 * (q < bins) + max(0, bins - q - 1) * width * width

        def move(x: int, y: int) -> int:
            (p, a), (q, b) = sorted((divmod(self.place(name, x), width), divmod(self.place(name, y), width)))
            if running and not square:
                return (q - p) * width + b - a
            if running and p == q:
                return (b - a) ** 2
            if running:
                return a and (width - a) ** 2 + (q - p - 1) * width * width + b * b or (q - p) * width * width + b * b
            moves = [a - b, b - a] if p == q else [width - a, a - width + b, b] if q == p + 1 else [width - a, a, width - b, b]
            return sum(step * step for step in moves) if square else sum(map(abs, moves))

        if any(part.names & {name} for part in self.where) and len(self.segments(name)) > 1:
            raise Unsupported("smooth counts over values with gaps")
        return Curve(name, "affine" if running and not square else "any" if square and not running else "monotone", move, size)

    def weighted(self, kind: str, counts: dict[str, Any], square: bool) -> Curve:
        name, width, power = counts["attribute"], counts.get("width", 1), 2 if square else 1
        kernel = numbers(counts.get("kernel", ""))
        count = self.count(name)
        if kind == "running sums":
            if not square:
                raise Unsupported("running sums with noise of the law discrete laplace")
            alike = [sum(a * b for a, b in zip(kernel, kernel[lag:], strict=False)) for lag in range(len(kernel))]
            length = [0]
            step, change = alike[0], 0
            for k in range(count):
                change += 2 * alike[k] if 0 < k < len(alike) else 0
                length.append(length[-1] + step + change)
            return Curve(
                name,
                "stationary",
                lambda x, y: length[abs(self.place(name, x) - self.place(name, y))],
                lambda x: length[max(0, count - 1 - self.place(name, x))],
            )
        single, rows = numbers(counts["single"]), [numbers(row) for row in counts["rows"]]
        if len(single) != count or count * len(rows) > 4 * TRIED:
            raise Unsupported("weighted sums of this size") if len(single) == count else Malformed("weights of another number")
        columns: list[list[int]] = []
        for code in range(count):
            q, r = divmod(code, width)
            if kind == "weighted sums":
                columns.append([row[code] for row in rows])
            else:
                weights = [(width - r) * row[q] + (r * row[q + 1] if r else 0) for row in rows]
                columns.append([single[code] * weight for weight in weights])
        if kind == "weighted sums":
            kernel, width = [1], 1
        if count * count * len(rows) > 60_000_000:
            raise Unsupported(f"weighted sums of {count} values")

        def apart(x: int, y: int) -> int:
            """What the bumps of two codes move."""
            a, b, lag = single[x] * width, single[y] * width, abs(x - y)
            if lag >= len(kernel):
                return sum(abs(c * a) ** power + abs(c * b) ** power for c in kernel)
            first = [c * (a if x < y else b) for c in kernel] + [0] * lag
            second = [0] * lag + [c * (b if x < y else a) for c in kernel]
            return sum(abs(c - d) ** power for c, d in zip(first, second, strict=True))

        def move(x: int, y: int) -> int:
            x, y = self.place(name, x), self.place(name, y)
            return sum(abs(a - b) ** power for a, b in zip(columns[x], columns[y], strict=True)) + apart(x, y)

        def size(x: int) -> int:
            x = self.place(name, x)
            return sum(abs(a) ** power for a in columns[x]) + sum(abs(c * single[x] * width) ** power for c in kernel)

        return Curve(name, "any", move, size)

    def divided(self, term: Callable[..., Term], names: list[str]) -> list[Term]:
        factor, longest = 8 if len(names) == 1 else 4, max(map(self.count, names))
        widths = [1]
        while 2 * factor * widths[-1] < longest:
            widths.append(widths[-1] * factor)
        widths.reverse()
        total = 1 + (len(widths) - 1) * len(names)
        found = []
        for number, width in enumerate(widths):
            cells = {name: self.parts(name, width) for name in names}
            found.append(term(Fraction(total, 1 if number == 0 else len(names)), cells=cells))
        return found

    def parts(self, name: str, width: int) -> list[int] | None:
        if width == 1:
            return None
        return [self.place(name, code) // width for code in range(self.policy.attributes[name].size)]

    def chosen(self, term: Callable[..., Term], counts: dict[str, Any], square: bool) -> list[Term]:
        free, tables, most = counts["free"], counts["tables"], counts["most"]
        splits = self.split([axis for axis in counts["of"]])
        noisy = {name: bins for name, bins in splits.items() if name not in [f["attribute"] if isinstance(f, dict) else f for f in free]}
        found = [term(Fraction(2 if square else 4), cells={name: bins}, whole=False) for name, bins in noisy.items()]
        times = Fraction(1)
        if most:
            found += [term(most=Fraction(most), cells={name: bins}, whole=False) for name, bins in noisy.items()]
            raise Unsupported("chosen tables of which some share an attribute")
        found.append(term(most=Fraction(tables), cells=noisy, whole=False))
        often = tables if square and self.policy.presence and all(r.kind == "public" for r in self.policy.rules.values()) else 2 * tables
        found.append(term((Fraction(5, 2) if square else 9) * times, most=Fraction(often), cells=noisy, whole=False))
        if counts["total"]:
            found.append(Term(None, square, {name: bins for name, bins in splits.items() if name not in noisy}))
        return found


class Between(Answered):
    """The condition that an attribute is between two codes."""

    def __init__(self, name: str, low: int, high: int) -> None:
        self.names, self.low, self.high = frozenset({name}), low, high

    def holds(self, record: dict[str, int]) -> bool:
        return all(self.low <= record[name] <= self.high for name in self.names)

    def segments(self, name: str) -> set[int]:
        return {self.low, self.high + 1} if name in self.names else set()


def numbers(text: str) -> list[int]:
    if len(text) > 20_000_000 or not re.fullmatch(r"[-0-9 ]*", text):
        raise Malformed("weights that are no whole numbers")
    return [int(word) for word in text.split()]


def tree(parents: list[int]) -> tuple[Callable[[int, int], int], Callable[[int], int]]:
    """How many steps lead from one value of a forest to another, or to none: those that a count is beyond."""

    def way(code: int) -> set[int]:
        found = set()
        while parents[code] != code and code not in found:
            found.add(code)
            code = parents[code]
        return found

    return lambda x, y: len(way(x) ^ way(y)), lambda x: len(way(x))


def joint_boxes(policy: Policy) -> tuple[list[dict[str, Rule]], bool]:
    """Boxes whose steps together are those of a joint metric, or (False) more than these."""
    if policy.joint is None:
        return [{}], True
    names, metric, reach = policy.joint
    attributes = [policy.attributes[name] for name in names]
    if metric not in ("l1", "l2", "linf") or len(names) > 2:
        return [{}], False
    if metric == "linf" or len(names) == 1:
        return [{a.name: Rule(a, "within", Fraction(reach // a.step)) for a in attributes}], True
    first, second = attributes
    corners = []
    for a in range(min(int(reach / first.step), first.values - 1) + 1):
        left = reach - a * first.step if metric == "l1" else reach * reach - (a * first.step) ** 2
        b = int(left / second.step) if metric == "l1" else isqrt(int(left / second.step**2))
        corners.append((a, min(b, second.values - 1)))
    kept = [corner for i, corner in enumerate(corners) if i + 1 == len(corners) or corners[i + 1][1] < corner[1]]
    sure = len(kept) <= 300
    if not sure:  # boxes that cover several corners each
        groups = [kept[i : i + len(kept) // 150 + 1] for i in range(0, len(kept), len(kept) // 150 + 1)]
        kept = [(group[-1][0], group[0][1]) for group in groups]
    return [{n.name: Rule(n, "within", Fraction(k)) if k else Rule(n, "public") for n, k in zip((first, second), c, strict=True)} for c in kept], sure


def is_step(policy: Policy, x: Any, y: Any) -> bool:
    """Whether two records are one step apart."""
    if x is None or y is None:
        there = y if x is None else x
        spared = there is not None and any(there[by] == code and rules is None for by, code, rules, _ in policy.groups)
        return policy.presence and there is not None and not spared
    rules, most = policy.rules, policy.at_most
    for by, code, changed, often in policy.groups:
        if x[by] == code:
            if changed is None or y[by] != code:
                return False
            rules, most = changed, often
    moved = [name for name in x if x[name] != y[name]]
    if policy.joint:
        names, metric, reach = policy.joint
        steps = [abs(x[name] - y[name]) * policy.attributes[name].step for name in names]
        if metric not in ("l1", "l2", "linf"):
            raise Unsupported(f"the metric {metric}")
        far = max(steps) if metric == "linf" else sum(steps) if metric == "l1" else sum(step * step for step in steps)
        if far > (reach * reach if metric == "l2" else reach):
            return False
        most, moved = len(x), [name for name in moved if name not in names]
        return any(steps) or bool(moved) if all(rules[name].edge(x[name], y[name]) for name in moved) else False
    return 0 < len(moved) <= most and all(rules[name].edge(x[name], y[name]) for name in moved)


def distance(terms: list[Term], names: list[str], x: dict[str, int] | None, y: dict[str, int] | None) -> Fraction:
    """The loss of terms between two records, either of which may be absent."""
    total = Fraction(0)
    here, there = x or y or {}, y or x or {}
    for term in terms:
        holds_x = x is not None and all(part.holds(x) for part in term.where)
        holds_y = y is not None and all(part.holds(y) for part in term.where)
        cost = term.cost(holds_x, holds_y, [term.roles(name, here[name], there[name]) for name in names if name in term.names])
        if term.weight is None and cost:
            raise Malformed("a witness that moves what is exact")
        total += cost * (term.weight or 0)
    return total


def steps_of_terms(terms: list[Term], policy: Policy) -> Loss:
    """The largest loss over all steps of a policy: over its groups, and over the boxes of a joint metric."""
    used = frozenset().union(*(term.names for term in terms if term.names)) if terms else frozenset()
    groups: list[tuple[dict[str, Rule], int, dict[str, int]]] = [(policy.rules, policy.at_most, {})]
    if policy.groups:
        matters = any(policy.groups[0][0] in term.names - set(term.cells) for term in terms)
        groups, seen = [], []
        for by, code, rules, most in policy.groups:
            if rules is not None and (matters or (rules, most) not in seen):
                seen.append((rules, most))
                groups.append((rules, most, {by: code}))
    boxes, sure = joint_boxes(policy)
    best = Loss(Fraction(0), Fraction(0), exact=sure)
    for rules, most, pins in groups:
        for box in boxes:
            changed = {**rules, **{name: rule for name, rule in box.items() if name in used}}
            if policy.joint:
                most = len(changed)
            found = worst(terms, policy, changed, most, pins)
            if found.upper > best.upper or (found.upper == best.upper and not found.exact):
                best.upper, best.exact = found.upper, sure and found.exact
    return best


def price(policy: Policy, measured: list[tuple[Item, list[dict[str, Any]]]], witness: Any) -> tuple[Loss, bool]:
    """The loss of measurements (epsilon, or rho with Gaussian noise), and whether the noise is Gaussian."""
    terms, free, people = [], [], Fraction(0)
    for item, measurements in measured:
        for measurement in measurements:
            if measurement["counts"]["kind"] in ("people", "capped sum"):
                people += person(item, measurement)
                continue
            for term in item.terms(measurement):
                (free if term.weight is None else terms).append(term)
    if len({term.square for term in terms}) > 1 or (people and any(term.square for term in terms)):
        raise Unsupported("Laplace and Gaussian noise in one release")
    gaussian = any(term.square for term in terms)
    factor, alike = Fraction(policy.rows), False
    for attacker in policy.document.get("attackers", ["independent"]):
        if attacker == "independent":
            continue
        if set(attacker) != {"groups", "at most"}:
            raise Unsupported(f"attackers with {min(set(attacker) - {'at most'})}")
        factor, alike = exact(attacker["at most"]), True
    if policy.document.get("known"):
        raise Unsupported("known figures")
    seen = policy.alike() if alike else policy
    loss = steps_of_terms(terms, seen)
    for term in free:
        moved = steps_of_terms([replace(term, weight=Fraction(1))], seen)
        if moved.upper and not moved.exact:
            raise Unsupported("an exact measurement of this kind")
        if moved.upper:
            return Loss(None, Fraction(0), notes=["a secret changes what is published exactly"]), gaussian
    times = factor * factor if gaussian else factor
    loss.upper = loss.upper * times + people
    loss.exact = loss.exact and not people
    if witness is not None and isinstance(witness, list) and len(witness) == 2 and all(w in ABSENT or isinstance(w, dict) for w in witness):
        x, y = (None if record in ABSENT else {n: a.code(record[n]) for n, a in policy.attributes.items()} for record in witness)
        loss.pair = witness
        if is_step(seen, x, y):
            loss.lower = distance([term for term in terms if term.whole], list(policy.attributes), x, y) * times
        else:
            loss.notes.append("the stated worst pair is not one step apart")
    return loss, gaussian


def person(item: Item, measured: dict[str, Any]) -> Fraction:
    """The most that one person moves a measurement of people, in parts of its noise."""
    counts, scale, rows = measured["counts"], exact(measured["noise"]["scale"]), item.policy.rows
    if counts["kind"] == "people":
        return (1 if counts["rows"] == 1 else 2) / scale
    attribute = item.policy.attributes[counts["attribute"]]
    top = attribute.number(attribute.values - 1) / item.unit(attribute.name, False)
    return min(Fraction(counts["cap"]), rows * top) / scale


def items_of(policy: Policy, plan: dict[str, Any]) -> list[tuple[Item, list[dict[str, Any]]]]:
    asked = {item["name"]: item for item in policy.document["release"]}
    return [(Item(asked[query["name"]], policy), query["measurements"]) for query in plan["queries"]]


def loss(policy: dict[str, Any], plan: dict[str, Any]) -> Loss:
    """An upper bound on what a plan loses (epsilon; rho with Gaussian noise) and what its stated worst pair loses.

    Raises Unsupported with the name of a feature that is not computed. Both documents are those of release.json.
    """
    read = read_policy(policy)
    return price(read, items_of(read, plan), plan["certificate"].get("witness"))[0]


def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """No less than the epsilon that rho is at delta, by [CKS20] Cor. 13 at one order: every order is a bound."""
    if rho == 0:
        return Fraction(0)
    order, best = 1.0, float("inf")
    goal, low, high = log(1 / float(delta)), 1e-9, 1e9
    for _ in range(300):  # the order less one, on a logarithmic scale
        a, b = low ** (2 / 3) * high ** (1 / 3), low ** (1 / 3) * high ** (2 / 3)
        ends = [(1 + x) * float(rho) + (goal - log(1 + x)) / x + log(x / (1 + x)) for x in (a, b)]
        low, high, order, best = (low, b, a, ends[0]) if ends[0] < ends[1] else (a, high, b, ends[1])
    with localcontext() as context:
        context.prec = 60
        x = Decimal(order)
        logs = (-(Decimal(delta.numerator) / delta.denominator).ln() - (1 + x).ln()) / x + (x / (1 + x)).ln()
        return (1 + Fraction(x)) * rho + Fraction(logs) + Fraction(1, 10**40)
