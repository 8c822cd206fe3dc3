"""Published numbers from measured ones: rows and columns, and estimates as the least squares that they must be."""

from collections import Counter
from collections.abc import Callable
from itertools import accumulate, product
from math import exp, isfinite, prod
from typing import Any

from tetraodon_verify.folder import read_parquet
from tetraodon_verify.loss import Item
from tetraodon_verify.policy import Malformed, Record, Unsupported, exact, fail_if, leave_if

COUNTS = {"count": "count", "histogram": "count", "rectangles": "count", "cdf": "at_most", "ranges": "at_most"}
OTHERS = ["total", "mean", "proportion", "ratio", "variance", "covariance", "standard deviation", "correlation"]
COLUMN = COUNTS | {kind: kind.replace(" ", "_") for kind in OTHERS}
NEAR, WORK = 1e-4, 40_000_000  # how near estimates have to be, and how many products a fit may take


def size(item: Item, axis: dict[str, Any]) -> int:
    return max(axis["bins"]) + 1 if axis.get("bins") else item.count(axis["attribute"])


class Matrix:
    """A measurement over the cells of a domain: what each cell adds to which number, running sums taken afterwards."""

    def __init__(self, item: Item, plan: dict[str, Any], cells: list[Record]) -> None:
        self.item, self.by, counts = item, plan["by"], plan["counts"]
        self.running = counts["kind"] in ("running", "smooth running")
        self.length, adds = self.added(plan, counts)
        self.rows = prod(size(item, axis) for axis in self.by) * self.length
        bins = item.split(self.by)
        self.cells: list[list[tuple[int, Any]]] = []
        for record in cells:
            place = 0
            for axis in self.by:
                split, code = bins[axis["attribute"]], record[axis["attribute"]]
                place = place * size(item, axis) + (split[code] if split else item.place(axis["attribute"], code))
            self.cells.append([(place * self.length + row, times) for row, times in adds(record) if row < self.length])

    def added(self, plan: Any, counts: Any) -> tuple[int, Callable[[Record], list[tuple[int, Any]]]]:
        item, kind, name = self.item, counts["kind"], counts.get("attribute", "")
        if kind in ("running", "smooth bins", "smooth running", "weighted sums"):
            curve = item.curve(counts, False)
            return curve.length, lambda record: curve.adds(record[name])
        leave_if(kind not in ("records", "asked", "sum", "squares", "answerers"), f"numbers measured as {kind}")
        terms = item.terms({**plan, "by": []})

        def each(record: Record) -> list[tuple[int, Any]]:
            held = [(i, term) for i, term in enumerate(terms) if all(part.holds(record) for part in term.where)]
            return [(i, prod(scalar(record[one]) for one, (_, scalar) in term.scalars.items())) for i, term in held]

        return len(terms), each

    def times(self, cells: list[float]) -> list[float]:
        found = [0.0] * self.rows
        for number, adds in zip(cells, self.cells, strict=True):
            for row, amount in adds:
                found[row] += amount * number
        pieces = (found[i : i + self.length] for i in range(0, self.rows, max(1, self.length)))
        return [one for piece in pieces for one in accumulate(piece)] if self.running else found

    def back(self, rows: list[float]) -> list[float]:
        if self.running:
            pieces = [rows[i : i + self.length] for i in range(0, self.rows, max(1, self.length))]
            rows = [one for piece in pieces for one in [*accumulate(piece[::-1])][::-1]]
        return [sum(amount * rows[row] for row, amount in adds) for adds in self.cells]


class Answer:
    """One item: what was measured for it, and its rows in Parquet."""

    def __init__(self, item: Item, query: dict[str, Any], measured: bytes, rows: bytes) -> None:
        self.item, self.query, self.rows = item, query, read_parquet(rows)
        numbers = read_parquet(measured)
        self.name, self.where, self.plans = query["name"], item.item.get("where"), query["measurements"]
        self.kind = next((kind for kind in (*COLUMN, "quantiles") if kind in item.item), "another kind")
        self.numbers: list[list[int]] = [[] for _ in self.plans]
        places = numbers["measurement"]
        if set(numbers) != {"measurement", "value"} or places != sorted(places) or min(places, default=0) < 0:
            raise Malformed("measurements are not in the order of the plan")
        for place, value in zip(places, numbers["value"], strict=True):
            self.numbers[place].append(value)
        for plan, found in zip(self.plans, self.numbers, strict=True):
            if plan["counts"]["kind"] in ("records", "running", "smooth bins", "smooth running"):
                wanted = Matrix(item, plan, []).rows
                if len(found) != wanted or (plan["noise"] is None and min(found, default=0) < 0):
                    raise Malformed(f"{wanted} measured numbers are expected, exact ones not below zero")
        self.exact = {axis["attribute"] for plan in self.plans if not plan["noise"] for axis in plan["by"]}

    @property
    def names(self) -> set[str]:
        return {name for plan in self.plans for term in self.item.terms(plan) for name in term.names}

    def check_rows(self) -> str:
        """One row for every combination of values, in order; numbers in their intervals, counts whole."""
        item, quantiles = self.item, self.kind == "quantiles"
        by = [{"attribute": name} for name in item.item.get("by", [])]
        column = item.item["quantiles"] if quantiles else COLUMN.get(self.kind, "")
        leave_if(not column or isinstance(item.item.get("ranges"), dict), "rows of this kind of item")
        heads: list[tuple[str, Any]] = []
        for axis in by if quantiles or not self.query["table"] else self.query["table"]:
            attribute = item.attributes[axis["attribute"]]
            fail_if(item.count(attribute.name) > 20_000_000, "so many rows")
            codes = [code for start, end, _ in item.segments(attribute.name) for code in range(start, end + 1)]
            heads.append((attribute.name, axis["labels"] if axis.get("bins") else map(attribute.value, codes)))
        heads += [("quantile", [float(exact(share)) for share in item.item["at"]])] if quantiles else []
        names = [*(name for name, _ in heads), column, "lower", "upper"]
        leave_if(len(set(names)) < len(names) or "measured" in names, "attributes that are called like a column")
        fail_if(list(self.rows) not in (names, [*names, "measured"]), f"columns are {list(self.rows)}")
        there = list(zip(*(self.rows[name] for name, _ in heads), strict=True)) or [()] * len(self.rows[column])
        wanted = list(product(*(found for _, found in heads)))
        if there != wanted or any(list(map(type, a)) != list(map(type, b)) for a, b in zip(there, wanted, strict=True)):
            raise Malformed("there is not one row for every combination of values, in order")
        numbers = [row for row in zip(*map(self.rows.get, names[-3:]), strict=True) if not isinstance(row[0], str)]
        wrong = any(not low <= number <= high or not isfinite(high - low) for number, low, high in numbers)
        fail_if(wrong, "a number is not in its interval")
        broken = any(type(number) is not int or min(number, low) < 0 for number, low, _ in numbers)
        fail_if("measured" in self.rows and broken, "a count is not whole, or below zero")
        return f"{len(there)} rows"

    def published(self) -> list[float] | None:
        risen = self.kind in ("cdf", "ranges") and any(plan["noise"] for plan in self.plans)
        if self.kind not in COUNTS or ("measured" not in self.rows and risen) or "weight" in self.item.item:
            return None
        return [float(number) for number in self.rows.get("measured", self.rows.get(COLUMN[self.kind], []))]

    def plan(self) -> dict[str, Any]:
        table, first = self.query["table"], self.plans[0]
        if self.kind in ("cdf", "ranges") and table:
            rows = {"kind": "running", "attribute": table[-1]["attribute"], "rows": size(self.item, table[-1])}
            return {"counts": rows, "by": table[:-1], "noise": None}
        return {"counts": {"kind": "records"} if table else first["counts"], "by": table or first["by"], "noise": None}


def variance(noise: dict[str, Any]) -> float:
    if noise["law"] == "discrete gaussian":
        return float(exact(noise["sigma"])) ** 2
    ratio = exp(-1 / float(exact(noise["scale"])))
    return 2 * ratio / (1 - ratio) ** 2


def grouped(answers: list[Answer]) -> list[list[Answer]]:
    """Items about the same records that look at the same attributes, but for those whose counts both have exactly."""
    found: list[list[Answer]] = []
    for new in answers:
        alike = [old for old in answers if old.where == new.where]
        linked = {id(old) for old in alike if old.names & new.names - (old.exact & new.exact)}
        near = [group for group in found if any(id(old) in linked for old in group)]
        found = [group for group in found if group not in near] + [[*(old for group in near for old in group), new]]
    return found


def check_least_squares(answers: list[Answer]) -> str:
    """Fit all that was measured of the same records by conjugate gradients, and compare what was published."""
    item, names = answers[0].item, sorted(set().union(*(answer.names for answer in answers)))
    leave_if(prod(map(item.count, names)) > 20_000, "so many cells")
    codes = [[code for start, end, _ in item.segments(name) for code in range(start, end + 1)] for name in names]
    cells = [dict(zip(names, one, strict=True)) for one in product(*codes)]
    cells = [record for record in cells if all(part.holds(record) for part in item.where)]
    each = [(a.item, plan, y) for a in answers for plan, y in zip(a.plans, a.numbers, strict=True)]
    plans = [(Matrix(one, plan, cells), plan["noise"], y) for one, plan, y in each]
    noisy = [(matrix, 1 / variance(noise), y) for matrix, noise, y in plans if noise]
    fixed = [("an exact total", matrix, y) for matrix, noise, y in plans if not noise]
    stated = [(a.name, Matrix(a.item, a.plan(), cells), a.published()) for a in answers if a.published() is not None]
    leave_if(not stated, "no estimates are published")
    _, whole, told = max(fixed, key=lambda one: one[1].rows, default=("", None, [0]))
    blocks = [adds[0][0] for adds in whole.cells] if whole else [0] * len(cells)
    sizes = Counter(blocks)
    for _, matrix, _ in fixed:
        if len({(block, adds[0][0]) for block, adds in zip(blocks, matrix.cells, strict=True)}) > len(sizes):
            raise Unsupported("exact tables that cross")

    def kept(change: list[float], totals: list[float]) -> list[float]:
        off = [t - s for t, s in zip(totals, whole.times(change), strict=True)] if whole else [0.0]
        return [one + off[block] / sizes[block] for one, block in zip(change, blocks, strict=True)]

    def slope_of(rests: list[list[float]]) -> list[float]:
        backs = [m.back([weight * r for r in rest]) for (m, weight, _), rest in zip(noisy, rests, strict=True)]
        return kept([sum(one) for one in zip([0.0] * len(cells), *backs, strict=True)], [0.0] * len(told))

    _, first, wanted = max(stated, key=lambda one: one[1].rows)  # the largest published table is where to begin
    steps = [one - (wanted[i - 1] if first.running and i % first.length else 0) for i, one in enumerate(wanted)]
    share = Counter(row for adds in first.cells for row, _ in adds)
    x = kept([sum(steps[row] / share[row] for row, _ in adds) for adds in first.cells], told)
    largest = sum(one * one for one in slope_of([list(map(float, y)) for _, _, y in noisy]))
    slope = slope_of([[a - b for a, b in zip(y, matrix.times(x), strict=True)] for matrix, _, y in noisy])
    way, square = slope, sum(one * one for one in slope)
    work = sum(len(adds) for matrix, _, _ in noisy for adds in matrix.cells)
    for step in range(len(cells) + 50):
        if square <= largest * 1e-22:
            break
        leave_if(step * work > WORK, "a fit that takes so long")
        bent = slope_of([matrix.times(way) for matrix, _, _ in noisy])
        length = square / sum(a * b for a, b in zip(way, bent, strict=True))
        x = [one + length * other for one, other in zip(x, way, strict=True)]
        slope = [one - length * other for one, other in zip(slope, bent, strict=True)]
        square, before = sum(one * one for one in slope), square
        way = [one + square / before * other for one, other in zip(slope, way, strict=True)]
    for name, matrix, wanted in [*fixed, *stated]:
        for a, b in zip(matrix.times(x), wanted, strict=True):
            fail_if(abs(a - b) > NEAR * max(1.0, abs(a)), f"{name} is {b:.9g}, least squares gives {a:.9g}")
    return f"{sum(len(one[2]) for one in stated)} estimates are those of least squares"
