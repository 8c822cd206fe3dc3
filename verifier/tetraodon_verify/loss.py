"""The loss of a plan, computed anew: the most that one step of the policy moves noisy numbers, in parts of their noise.

A term is one measurement: what a record adds to it is a vector in one cell. Attributes that no term looks at together
move apart, so what a step moves is a sum over components. In a component the changes of each attribute are reduced to
those where a sum of convex, or of monotone, moves is largest, and all combinations are tried. Where there are too many,
the sum over terms of what each may move by itself is a bound from above, and `exact` is false.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise, product
from math import exp, gcd, isqrt, lcm, log, prod
from typing import Any

from tetraodon_verify.policy import WRONG, Condition, Policy, Rule, Unsupported, exact, fail_if, leave_if, read_policy

ABSENT = "not in the data"
Pins = dict[str, tuple[int, int]]  # codes between which attributes stay
Region = tuple[dict[str, Rule], int, Pins]  # rules, how many attributes move at most, and where some stay


@dataclass
class Loss:
    """What a plan loses: at most `upper` (None: without limit), which is attained if `exact`; at least `lower`."""

    upper: Fraction | None
    lower: Fraction = Fraction(0)
    exact: bool = True
    gaussian: bool = False  # then it is rho
    stated: Fraction | None = None  # what the stated worst pair loses, if there is one
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Curve:
    """What a record adds along an attribute: so much to which of so many numbers, or to these and all after them."""

    name: str
    shape: str  # of distances: affine; monotone, with sizes that do not grow with codes; or any
    adds: Callable[[int], list[tuple[int, int]]]
    length: int
    running: bool = False
    period: int = 0  # of distances between codes as far apart; sizes are then affine

    def far(self, power: int, x: int, y: int | None = None) -> int:
        steps = Counter(dict(self.adds(x)))
        steps.subtract(dict(self.adds(y) if y is not None else ()))
        if not self.running:
            return sum(abs(step) ** power for step in steps.values())
        rows, total, height = sorted(row for row in steps if row < self.length), 0, 0
        for row, until in pairwise([*rows, self.length]):
            height += steps[row]
            total += (until - row) * abs(height) ** power
        return total


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
    def names(self) -> set[str]:
        along = {self.curve.name} if self.curve else set()
        return along.union(self.cells, self.scalars, self.margins, *(part.names for part in self.where))

    def roles(self, name: str, x: int, y: int) -> tuple[Any, ...]:
        """What a change of an attribute is to this term: cell or margin, factors of both records, move and sizes."""
        bins = self.cells.get(name)
        changed = int(name in self.cells and x != y and (bins is None or bins[x] != bins[y]))
        if name in self.margins and x != y:
            changed = 2 << list(self.margins).index(name)
        a, b = map(self.scalars[name][1], (x, y)) if name in self.scalars else (1, 1)
        if self.curve and self.curve.name == name:
            power, far = 1 + self.square, self.curve.far
            return changed, a, b, far(power, x, y) if x != y else 0, far(power, x), far(power, y)
        return changed, a, b, None, 1, 1

    def cost(self, here: bool, there: bool, roles: Iterable[tuple[Any, ...]]) -> Any:
        """How far apart two records are (the square of it for Gaussian noise), where they are counted at all."""
        flags, one, other, moved, size_x, size_y = zip((0, 1, 1, None, 1, 1), *roles, strict=True)
        changed, a, b, move = sum(set(flags)), prod(one), prod(other), next((m for m in moved if m is not None), None)
        if self.margins and here and there and changed & 1:
            return 2 * self.weighed(0, True, False)
        if self.margins:
            return self.weighed(changed >> 1, here, there)
        if here and there and not changed:
            if move is None:
                return (a - b) ** 2 if self.square else abs(a - b)
            leave_if(a != b, "weights beside running counts")
            return move * (a * a if self.square else abs(a))
        a, b = (a * a, b * b) if self.square else (abs(a), abs(b))
        return a * prod(size_x) * here + b * prod(size_y) * there

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


def moving(rules: dict[str, Rule], pins: Pins) -> set[str]:
    return {n for n, rule in rules.items() if rule.kind != "public" and (n not in pins or pins[n][0] < pins[n][1])}


def changes(bins: Iterable[int] | None) -> list[int]:
    return [i for i, (a, b) in enumerate(pairwise(bins or ()), 1) if a != b]


class Component:
    """Terms that look at some attributes together, and what steps along these move."""

    def __init__(self, terms: list[Term], names: list[str], rules: dict[str, Rule], pins: Pins, tried: int) -> None:
        self.terms, self.names, self.rules, self.pins, self.tried = terms, names, rules, pins, tried
        self.scale = lcm(*((term.weight or 1).denominator for term in terms))
        self.weights = [int((term.weight or 1) * self.scale) for term in terms]
        self.moving = moving(rules, pins) & set(names)
        self.on = {name: [term for term in terms if name in term.names] for name in names}
        self.starts = {name: self.segments(name) for name in names}

    def segments(self, name: str) -> list[int]:
        rule = self.rules[name]
        low, high = self.pins.get(name, (0, rule.attribute.size - 1))
        borders = {0, rule.attribute.values, low, high + 1, *changes(rule.blocks)}
        for term in self.on[name]:
            cuts = changes(term.cells.get(name))
            borders = borders.union(*(part.segments(name) for part in term.where), cuts if len(cuts) <= 400 else ())
        return sorted(border for border in borders if 0 <= border < rule.attribute.size)

    def mode(self, name: str) -> str:
        """Which changes have to be tried: any, those at corners, the longest from each code as well, or all."""
        static = corners = line = True
        for term in self.on[name]:
            bins = term.cells.get(name)
            if len(changes(bins)) > 400:
                static = corners = False
                line = line and bins == sorted(bins or ())
            lost = said(name, "is not missing") if term.curve else ""
            known = all(name not in part.names or part.text == lost for part in term.where)
            lonely = known and not self.moving & term.names - {name}
            shapes = [term.scalars[name][0]] if name in term.scalars else []
            for shape in [*shapes, *([term.curve.shape] if term.curve and term.curve.name == name else [])]:
                static, corners = False, corners and shape == "affine"
                line = line and lonely and shape in ("affine", "monotone")
        return "static" if static else "corners" if corners else "line" if line else "all"

    def pairs(self, name: str) -> Iterator[tuple[int, int]]:
        """Steps x < y of an attribute among which is one that moves the most, whatever the others do."""
        rule, mode, starts, on = self.rules[name], self.mode(name), self.starts[name], self.on[name]
        last, size = rule.attribute.values - 1, rule.attribute.size
        reach = int(rule.reach) if rule.kind == "within" else size
        even = rule.kind != "share" and not any(len(changes(term.cells.get(name))) > 400 for term in on)
        period = lcm(*(term.curve.period for term in on if term.curve and term.curve.name == name)) if even else 0
        every = range(size) if (mode == "line" and rule.kind == "within") or rule.kind == "share" else range(0)
        if rule.kind == "pairs":
            yield from rule.pairs
        elif mode == "all":
            if size * min(size, reach + 2) > self.tried:
                raise OverflowError
            for x in range(size):
                others = (*range(x + 1, rule.furthest(x) + 1), *range(max(x, last) + 1, size))
                yield from ((x, y) for y in others if rule.kind != "blocks" or rule.blocks[x] == rule.blocks[y])
        elif len(starts) ** 2 > 4 * self.tried or (every and (period or size) > 4 * self.tried):
            raise OverflowError
        else:
            parts = list(zip(starts, [*(start - 1 for start in starts[1:]), size - 1], strict=True))
            for (a, b), (c, d) in ((parts[i], part) for i in range(len(parts)) for part in parts[i:]):
                lost = c > last  # the missing value: next to all values, or to its block
                if not (rule.edge(b, c) or a == c < b):
                    continue
                if mode == "static":
                    yield (a, a + 1) if a == c else (b, c)
                else:
                    xs = {x for x in (a, b, c - 1, d - 1, c - reach, d - reach) if a <= x <= b}
                    first = a if lost or not period else max(a, c - reach)
                    xs.update(every[first : min(b, first + (period or size)) + 1])
                    for x in xs | set(range(a, b + 1) if lost and mode == "line" else ()):
                        for y in {max(c, x + 1), d if lost else min(d, rule.furthest(x))}:
                            if x < y and c <= y <= d and rule.edge(x, y):
                                yield x, y

    def points(self, name: str, alone: bool) -> Iterable[int]:
        starts, size, mode = self.starts[name], self.rules[name].attribute.size, self.mode(name)
        sizes = alone and any(term.curve.period == 0 for term in self.on[name] if term.curve)
        if mode in ("static", "corners") or (mode == "line" and not sizes):
            return {code for start, end in zip(starts, [*starts[1:], size], strict=True) for code in (start, end - 1)}
        if size > 4 * self.tried:
            raise OverflowError
        return range(size)

    def kinds(self, name: str, alone: bool) -> list[tuple[int, int, Any, int]]:
        """Changes of an attribute, one for each way to count: from, to, what they are to the terms, if they move."""
        found: dict[Any, tuple[int, int, Any, int]] = {}
        on, starts = self.on[name], self.starts[name]
        low, high = self.pins.get(name, (0, self.rules[name].attribute.size - 1))
        plain = not any(name in replace(term, cells={}).names for term in on)
        steps = self.pairs(name) if name in self.moving and not alone else ()
        for x, y in [*((code, code) for code in self.points(name, alone)), *steps]:
            for one, other in ((x, y), (y, x))[: 1 if plain or x == y or len(self.names) == 1 else 2]:
                if low <= x and y <= high:
                    roles = tuple(term.roles(name, one, other) for term in on)
                    place = () if plain else (bisect_right(starts, one), bisect_right(starts, other))
                    found.setdefault((roles, place, x == y), (one, other, roles, int(x != y)))
        return list(found.values())

    def largest(self, most: int, alone: bool) -> list[Fraction]:
        """By how many attributes may move, or (alone) for a record that comes or goes: the largest loss."""
        kinds = [self.kinds(name, alone) for name in self.names]
        if prod(map(len, kinds)) * len(self.terms) > 4 * self.tried:
            raise OverflowError
        where: list[list[tuple[int, int]]] = []
        for term in self.terms:
            on = [(i, self.on[name]) for i, name in enumerate(self.names) if name in term.names]
            where.append([(i, next(j for j, one in enumerate(terms) if one is term)) for i, terms in on])
        held: dict[Any, list[bool]] = {}

        def holds(codes: list[int]) -> list[bool]:
            key = tuple(bisect_right(self.starts[name], code) for name, code in zip(self.names, codes, strict=True))
            if key not in held:
                record = dict(zip(self.names, codes, strict=True))
                held[key] = [all(part.holds(record) for part in term.where) for term in self.terms]
            return held[key]

        best = [0] * (most + 1)
        for combined in product(*kinds):
            moved = sum(kind[3] for kind in combined)
            if moved <= most and (alone or moved):
                here = holds([kind[0] for kind in combined])
                there = here if alone else holds([kind[1] for kind in combined])
                lost = 0
                for term, weight, places, x, y in zip(self.terms, self.weights, where, here, there, strict=True):
                    if x or y:
                        lost += weight * term.cost(x, y and not alone, [combined[i][2][j] for i, j in places])
                best[moved] = max(best[moved], lost)
        return [Fraction(max(best[: moved + 1]), self.scale) for moved in range(most + 1)]

    def bound(self, most: int, alone: bool) -> tuple[list[Fraction], bool]:
        """The largest loss by how many attributes may move, and whether it is exact; else the sum over terms."""
        try:
            return self.largest(most, alone), all(term.whole for term in self.terms)
        except OverflowError:
            if len(self.terms) == 1:
                raise Unsupported("a measurement with so many different values") from None
        total = [Fraction(0)] * (most + 1)
        for term in self.terms:
            names = [name for name in self.names if name in term.names]
            single = Component([term], names, self.rules, self.pins, self.tried)
            part = single.bound(min(most, len(names)), alone)[0]
            total = [so_far + part[min(m, len(part) - 1)] for m, so_far in enumerate(total)]
        return total, False


def worst(terms: list[Term], policy: Policy, region: Region) -> tuple[Fraction, bool]:
    """The largest loss over steps of a region, of a record that comes or goes as well; whether it is exact."""
    rules, most, pins = region
    apart = moving(rules, pins)
    parts: list[tuple[list[Term], set[str]]] = []
    for term in terms:  # an attribute that stays, and only says in which cell a record is, joins nothing
        thin = replace(term, cells={name: bins for name, bins in term.cells.items() if name in apart})
        joined = [part for part in parts if part[1] & thin.names]
        parts = [part for part in parts if part not in joined]
        parts.append(([thin, *(t for part in joined for t in part[0])], set(thin.names).union(*(p[1] for p in joined))))
    table, records, sure, there = [Fraction(0)], Fraction(0), True, True
    for part, names in parts:
        component = Component(part, sorted(names), rules, pins, policy.tried)
        by_moved, exactly = component.bound(min(most, len(names)), False)
        longer = [Fraction(0)] * min(most + 1, len(table) + len(names))
        for i, before in enumerate(table):
            for moved, lost in enumerate(by_moved[: len(longer) - i]):
                longer[i + moved] = max(longer[i + moved], before + lost)
        table, sure = longer, sure and exactly
        if policy.presence:
            found, exactly = component.bound(0, True)
            records, there = records + found[0], there and exactly
    return max(*table, records), sure and there


class Item:
    """One item of a release: the records it is about, the codes these can have, and its measurements as terms."""

    def __init__(self, item: dict[str, Any], policy: Policy) -> None:
        self.item, self.policy, self.attributes = item, policy, policy.attributes
        self.where: list[Any] = [Condition(item["where"], self.attributes)] if "where" in item else []
        keys = ["cdf", "ranges", "quantiles", "rectangles", "covariance", "correlation", "ratio", "regression", "on"]
        asked: list[Any] = []
        for key in [*keys, *(["weight", "total", "mean"] if "weight" in item else [])]:
            asked += [item[key]] if isinstance(item.get(key), str) else list(item.get(key, []))
        lost = [name for name in dict.fromkeys(asked) if self.attributes[name].missing]
        self.where += [Condition(said(name, "is not missing"), self.attributes) for name in lost]
        self.parts: dict[str, list[tuple[int, int, int]]] = {}

    def segments(self, name: str) -> list[tuple[int, int, int]]:
        if name not in self.parts:
            attribute = self.attributes[name]
            names = sorted({name}.union(*(part.names for part in self.where)))
            cuts = {n: sorted({0}.union(*(part.segments(n) for part in self.where))) for n in names}
            leave_if(prod(map(len, cuts.values())) > self.policy.tried, "a condition of so many parts")
            records = (dict(zip(names, codes, strict=True)) for codes in product(*cuts.values()))
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
        return next((place + code - start for start, end, place in self.segments(name) if start <= code <= end), 0)

    def count(self, name: str) -> int:
        return sum(end - start + 1 for start, end, _ in self.segments(name))

    def split(self, axes: list[dict[str, Any]]) -> dict[str, list[int] | None]:
        cells: dict[str, list[int] | None] = {}
        for axis in axes:
            name, bins = axis["attribute"], axis.get("bins")
            fail_if(name in cells or (bins is not None and len(bins) != self.count(name)), f"bins of {name}")
            cells[name] = bins and [bins[self.place(name, code)] for code in range(self.attributes[name].size)]
        return cells

    def value(self, name: str, unit: Any, middle: bool) -> tuple[str, Callable[[int], Any]]:
        attribute = self.attributes[name]
        leave_if(attribute.kind not in ("integer", "real", "boolean"), f"sums of {attribute.kind} values")
        low, step = attribute.low / unit, attribute.step / unit
        if middle:
            codes = [code for part in self.segments(name) for code in part[:2] if code < attribute.values]
            low = -step * Fraction(codes[0] + codes[-1], 2)
        whole = (int(low), int(step)) if low.denominator == step.denominator == 1 else (low, step)
        return "affine", lambda code: 0 if code == attribute.values else whole[0] + whole[1] * code

    def terms(self, measured: dict[str, Any]) -> list[Term]:
        noise, counts = measured["noise"], measured["counts"]
        kind, name = counts["kind"], counts.get("attribute")
        law = "discrete laplace" if noise is None else noise["law"]
        square = law == "discrete gaussian"
        leave_if(law not in ("discrete gaussian", "discrete laplace"), f"noise of the law {law}")
        scale = Fraction(1) if noise is None else exact(noise["sigma" if square else "scale"])
        fail_if(scale <= 0, "noise of no positive scale")

        def term(wider: Any = 1, **parts: Any) -> Term:
            weight = None if noise is None else 1 / (2 * (scale * wider) ** 2 if square else scale * wider)
            where = [*self.where, *parts.pop("where", [])]
            return Term(weight, square, self.split(measured["by"]) | parts.pop("cells", {}), where=where, **parts)

        if kind == "records":
            return [term()]
        if kind == "answerers":
            return [term(where=[Condition(said(name, "is not missing"), self.attributes)])]
        if kind == "sum":
            names = [(name, exact(counts["unit"])), *([(counts["times"], 1)] if "times" in counts else [])]
            middle = counts.get("from") == "middle"
            return [term(scalars={one: self.value(one, unit, middle) for one, unit in names})]
        if kind == "squares":
            unit, (_, number) = exact(counts["unit"]), self.value(name, 1, True)
            return [term(scalars={name: ("any", lambda code: number(code) ** 2 / unit)})]
        if kind == "asked":
            return self.asked(term)
        if kind in ("running", "smooth bins", "smooth running", "weighted sums"):
            return [term(curve=self.curve(counts, square))]
        if kind == "weighed margins":
            leave_if(len(counts["attributes"]) > 8, "weighed margins of more than 8 attributes")
            return [term(margins={one: self.count(one) for one in counts["attributes"]}, times=counts["times"])]
        if kind == "ranks":
            gap = min(b - a for a, b in pairwise([Fraction(0), *map(exact, counts["shares"]), Fraction(1)]))
            total = [term(1 / (2 - 4 * gap), whole=False)] if gap < Fraction(1, 2) else []
            return [term(Fraction(1, 2), cells={name: None}, whole=False), *total]
        if kind == "divided":
            return self.divided(term, counts["attributes"])
        raise Unsupported(f"measurements of the kind {kind}")

    def asked(self, term: Callable[..., Term]) -> list[Term]:
        item, scalars = self.item, {}
        if "weight" in item:  # in units of which all its values are multiples
            low, step = self.attributes[item["weight"]].low, self.attributes[item["weight"]].step
            common = lcm(low.denominator, step.denominator)
            unit = Fraction(gcd(int(low * common), int(step * common)), common)
            scalars = {item["weight"]: self.value(item["weight"], unit, False)}
        for kind in {"count", "proportion"} & set(item):
            part = [] if item[kind] == "all" else [Condition(item[kind], self.attributes)]
            return [term(scalars=scalars, where=part)]
        if isinstance(item.get("ranges"), dict):
            [(name, ranges)] = item["ranges"].items()
            ends = [[str(end).replace("'", "''") for end in one["range"]] for one in ranges]
            texts = [said(name, f"between '{low}' and '{high}'") for low, high in ends]
            return [term(scalars=scalars, where=[Condition(text, self.attributes)]) for text in texts]
        raise Unsupported("an item's own question of this kind")

    def divided(self, term: Callable[..., Term], names: list[str]) -> list[Term]:
        """Every part of every width, as if all of them were counted."""
        widths, factor = [1], 8 if len(names) == 1 else 4
        while 2 * factor * widths[0] < max(map(self.count, names)):
            widths.insert(0, widths[0] * factor)
        leave_if(max(self.attributes[name].size for name in names) > 5_000_000, "partitions of so many values")
        found, often = [], 1 + (len(widths) - 1) * len(names)
        for i, width in enumerate(widths):
            parts = {n: [self.place(n, x) // width for x in range(self.attributes[n].size)] for n in names}
            cells: Any = parts if width > 1 else dict.fromkeys(names)
            found.append(term(Fraction(often, len(names) if i else 1), cells=cells))
        return found

    def curve(self, counts: dict[str, Any], square: bool) -> Curve:
        kind, name, width = counts["kind"], counts["attribute"], counts.get("width", 1)
        last = self.count(name) - 1
        if kind == "weighted sums":
            single, *rows = ([int(one) for one in row.split()] for row in (counts["single"], *counts["rows"]))
            many = len(single) != last + 1 or len(single) ** 2 * len(rows) > 25 * self.policy.tried
            leave_if(many, f"weighted sums of {len(single)} values")
            columns = [[(x, one), *enumerate((row[x] for row in rows), last + 1)] for x, one in enumerate(single)]
            return Curve(name, "any", lambda x: columns[self.place(name, x)], last + 1 + len(rows))
        running, bins = kind != "smooth bins", -(-last // width)
        leave_if(counts.get("rows", last) < last, "running counts of some values")

        def adds(code: int) -> list[tuple[int, int]]:
            q, r = divmod(self.place(name, code), width)
            return [(q, width - r), (q + 1, r)] if r else [(q, width)]

        steady = running and (width == 1 or not square)  # then a sum moves by what codes move
        shape = "affine" if steady else "any" if square and not running else "monotone"
        length = counts.get("rows", bins + (kind == "smooth bins"))
        return Curve(name, shape, adds, length, running, 1 if steady else 0 if square else width)


def said(name: str, what: str) -> str:
    return '"' + name.replace('"', '""') + f'" {what}'


def regions(policy: Policy) -> tuple[list[Region], bool]:
    """Steps by groups, and by boxes that make up a joint metric or, if not sure, hold more than it."""
    boxes, sure = [dict[str, Rule]()], True
    if policy.joint is not None:
        names, metric, reach = policy.joint
        every, sure = [policy.attributes[name] for name in names], metric == "linf"
        if metric in ("l1", "l2") and len(names) == 2 and reach <= 150 * every[0].step:
            one, other, sure, power = *every, True, int(metric[1])
            boxes = []
            for a in range(int(reach / one.step) + 1):
                left = int((reach**power - (a * one.step) ** power) / other.step**power)
                ends = [(one, a), (other, left if power == 1 else isqrt(left))]
                boxes.append({at.name: Rule(at, "within" if k else "public", Fraction(k)) for at, k in ends})
        else:  # far along each, which is all that one box can say
            boxes = [{one.name: Rule(one, "within", Fraction(reach // one.step)) for one in every}]
            boxes = boxes if metric in ("l1", "l2", "linf") else [{one.name: Rule(one, "everything") for one in every}]
    groups: list[Region] = [(r, most, {by: (code, code)}) for by, code, r, most in policy.groups if r is not None]
    groups = groups if policy.groups else [(policy.rules, policy.at_most, {})]
    return [(rules | box, most, pins) for rules, most, pins in groups for box in boxes], sure


def is_step(policy: Policy, x: dict[str, int] | None, y: dict[str, int] | None) -> bool:
    one, (found, sure) = x or y or {}, regions(policy)
    leave_if(not sure, "pairs under a metric of so many steps")
    found = [region for region in found if all(a <= one[name] <= b for name, (a, b) in region[2].items())]
    if x is None or y is None:
        return policy.presence and bool(one and found)
    moved = [name for name in x if x[name] != y[name]]
    steps = ([rules[name].edge(x[name], y[name]) for name in moved] for rules, most, _ in found if len(moved) <= most)
    return bool(moved) and any(map(all, steps))


def largest(terms: list[Term], policy: Policy, gaussian: bool) -> tuple[Fraction, bool]:
    """The largest loss over steps and whether it is exact; where a table is known, a bound over neighbours."""
    if policy.document.get("known"):
        # Neighbours differ along a cycle of moves through classes of values, each passed once: in a class one record
        # leaves and one arrives. So they lose at most the sum over classes of what any change inside a class moves.
        fact, alike = policy.document["known"][0], policy.alike()
        other = policy.groups or policy.joint or len(policy.document["known"]) > 1 or "marginal" not in fact
        leave_if(other, "known figures of this kind, or beside groups or metrics")
        leave_if(prod(policy.attributes[name].values for name in fact["marginal"]) > 5000, "a known table so large")
        sides = []
        for one in (policy.attributes[name] for name in fact["marginal"]):
            groups = fact.get("bins", {}).get(one.name)
            codes = [sorted(map(one.code, g)) for g in groups] if groups else [[code] for code in range(one.values)]
            sides.append([(one.name, (group[0], group[-1])) for group in codes])
        kept, names = [dict(cell) for cell in product(*sides)], set(fact["marginal"])
        if policy.presence or any(policy.rules[name].kind != "public" for name in names):
            alike.presence = False  # whoever is absent is in a class of their own
            each = [worst(terms, alike, (alike.rules, alike.at_most, box))[0] for box in kept]
            apart = all(name in term.cells and term.cells[name] is None for term in terms for name in names)
            return sum(each, Fraction(0)) * (1 if apart or not gaussian else sum(map(bool, each))), False
    found, sure = regions(policy)
    seen, best = list[Any](), Fraction(0)
    for rules, most, pins in found:
        if [rules, most] not in seen or any(name in replace(term, cells={}).names for term in terms for name in pins):
            seen.append([rules, most])
            lost, attained = worst(terms, policy, (rules, most, pins))
            best, sure = max(best, lost), sure and attained
    return best, sure


def price(policy: Policy, measured: list[tuple[Item, list[Any]]], witness: Any) -> Loss:
    """The loss of measurements: epsilon or, with Gaussian noise, rho."""
    terms = [term for item, all_ in measured for one in all_ for term in item.terms(one)]
    noisy, free = [term for term in terms if term.weight], [term for term in terms if term.weight is None]
    gaussian = any(term.square for term in noisy)
    leave_if(gaussian and not all(term.square for term in noisy), "Laplace and Gaussian noise in one release")
    factor, seen = Fraction(policy.rows), policy
    for attacker in policy.document.get("attackers", []):
        if attacker != "independent":
            other = set(attacker) != {"groups", "at most"} or policy.document.get("known")
            leave_if(other, f"attackers with {', '.join(attacker)}, or beside known figures")
            secret = policy.presence or any(rule.kind != "public" for rule in policy.rules.values())
            factor, seen = exact(attacker["at most"]), policy.alike() if secret else policy
    for term in free:
        moved, sure = largest([replace(term, weight=Fraction(1))], seen, gaussian)
        leave_if(moved and not sure, "an exact measurement of this kind")
        if moved:
            return Loss(None, gaussian=gaussian, notes=["a secret changes what is published exactly"])
    upper, attained = largest(noisy, seen, gaussian)
    factor = factor**2 if gaussian else factor
    loss = Loss(upper * factor, upper * factor if attained else Fraction(0), attained, gaussian)
    if isinstance(witness, list) and all(isinstance(one, str | dict) for one in witness):
        x, y = (None if one == ABSENT else {n: a.code(one[n]) for n, a in policy.attributes.items()} for one in witness)
        loss.notes += [] if is_step(seen, x, y) else ["the stated worst pair is not one step apart"]
        loss.stated = factor * sum(apart(term, x, y) for term in noisy if term.whole)
        loss.lower = max(loss.lower, loss.stated)
    return loss


def apart(term: Term, x: dict[str, int] | None, y: dict[str, int] | None) -> Fraction:
    here, there = (one is not None and all(part.holds(one) for part in term.where) for one in (x, y))
    a, b = x or y or {}, y or x or {}
    return (term.weight or 0) * term.cost(here, there, [term.roles(name, a[name], b[name]) for name in term.names])


def items_of(policy: Policy, plan: dict[str, Any]) -> list[tuple[Item, list[Any]]]:
    asked = {item["name"]: item for item in policy.document["release"]}
    leave_if(plan.get("names"), "names above a threshold")
    return [(Item(asked[query["name"]], policy), query["measurements"]) for query in plan["queries"]]


def loss(policy: dict[str, Any], plan: dict[str, Any], tried: int = 400_000) -> Loss:
    """What a plan loses, from the two documents of release.json. It raises nothing but Unsupported and Malformed."""
    try:
        read = read_policy(policy, tried)
        return price(read, items_of(read, plan), plan["certificate"].get("witness"))
    except WRONG as error:
        raise Unsupported(f"documents of this form ({type(error).__name__})") from None


def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """No less than the epsilon that rho is at delta, by [CKS20] Cor. 13 at one order: every order is a bound."""
    goal, low, high = log(1 / float(delta)), -20.0, 20.0
    bound = lambda x: (1 + exp(x)) * float(rho) + (goal - log(1 + exp(x))) / exp(x) - log(1 + exp(-x))  # noqa: E731
    for _ in range(200):  # the logarithm of the order less one
        a, b = (2 * low + high) / 3, (low + 2 * high) / 3
        low, high = (low, b) if bound(a) < bound(b) else (a, high)
    with localcontext() as context:
        context.prec = 60
        x = Decimal(exp(low))
        logs = (-(Decimal(delta.numerator) / delta.denominator).ln() - (1 + x).ln()) / x + (x / (1 + x)).ln()
        return (1 + Fraction(x)) * rho + Fraction(logs) + Fraction(1, 10**40)
