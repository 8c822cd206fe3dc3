"""Published numbers from measured ones: rows and columns, agreement of the files, and least squares by its conditions."""

from collections.abc import Callable
from itertools import accumulate, product
from math import exp, isfinite, prod
from typing import Any

from tetraodon_verify.loss import Item, numbers
from tetraodon_verify.policy import Malformed, Unsupported, exact

COLUMN = {
    "count": "count",
    "histogram": "count",
    "cdf": "at_most",
    "ranges": "at_most",
    "rectangles": "count",
    "total": "total",
}
COLUMN |= {
    "mean": "mean",
    "proportion": "proportion",
    "ratio": "ratio",
    "variance": "variance",
    "covariance": "covariance",
}
COLUMN |= {"standard deviation": "standard_deviation", "correlation": "correlation"}
NEAR = 1e-6  # of the largest number at hand: how far estimates may be from solving their equations


def kind_of(item: dict[str, Any]) -> str:
    kinds = [kind for kind in (*COLUMN, "quantiles", "regression", "kmeans", "synthetic", "people") if kind in item]
    if len(kinds) != 1:
        raise Unsupported("items of this kind")
    return kinds[0]


def axis_values(item: Item, axis: dict[str, Any]) -> list[Any]:
    """What the rows of an answer say along an axis."""
    name, attribute = axis["attribute"], item.policy.attributes[axis["attribute"]]
    if axis.get("bins"):
        return axis["labels"] if axis["labels"] else list(range(max(axis["bins"]) + 1))
    codes = [code for start, end, _ in item.segments(name) for code in range(start, end + 1)]
    missing = any(getattr(part, "missing", -1) == attribute.values and name in part.names for part in item.where)
    return [attribute.value(code) for code in codes if code < attribute.values or not missing]


def size(item: Item, axis: dict[str, Any]) -> int:
    return max(axis["bins"]) + 1 if axis.get("bins") else item.count(axis["attribute"])


def along(
    item: Item, measured: dict[str, Any]
) -> tuple[int, Callable[[list[float]], list[float]], Callable[[list[float]], list[float]]]:
    """How many numbers a measurement has in a cell of `by`; what they are of counts along its attribute, and back."""
    counts = measured["counts"]
    kind, name = counts["kind"], counts.get("attribute")
    if kind in ("records", "answerers", "sum", "squares"):
        return 1, lambda table: table, lambda rows: rows
    if kind == "running":
        rows, n = counts["rows"], item.count(name)
        back = lambda r: list(accumulate([*r, *[0.0] * (n - rows)][::-1]))[::-1]  # noqa: E731
        return rows, lambda table: list(accumulate(table))[:rows], back
    if kind in ("smooth bins", "smooth running"):
        width, n = counts["width"], item.count(name)
        bins = -(-(n - 1) // width) + 1

        def forward(table: list[float]) -> list[float]:
            found = [0.0] * (bins + 1)
            for x, number in enumerate(table):
                q, r = divmod(x, width)
                found[q] += number * (width - r)
                found[q + 1] += number * r
            return found[:bins] if kind == "smooth bins" else list(accumulate(found[:bins]))[:-1]

        def back(rows: list[float]) -> list[float]:
            if kind == "smooth running":
                rows = list(accumulate([*rows, 0.0][::-1]))[::-1]
            rows = [*rows, 0.0]
            return [rows[x // width] * (width - x % width) + rows[x // width + 1] * (x % width) for x in range(n)]

        return bins if kind == "smooth bins" else bins - 1, forward, back
    if kind == "weighted sums":
        single, weights = numbers(counts["single"]), [numbers(row) for row in counts["rows"]]

        def sums(table: list[float]) -> list[float]:
            return [a * b for a, b in zip(single, table, strict=True)] + [
                sum(map(float.__mul__, map(float, w), table)) for w in weights
            ]

        def unsum(rows: list[float]) -> list[float]:
            n = len(single)
            return [
                single[x] * rows[x] + sum(w[x] * r for w, r in zip(weights, rows[n:], strict=True)) for x in range(n)
            ]

        return len(single) + len(weights), sums, unsum
    if kind == "asked" and isinstance(item.item.get("ranges"), dict):
        return len(next(iter(item.item["ranges"].values()))), lambda table: table, lambda rows: rows
    if kind == "asked" and "rectangles" not in item.item:
        return 1, lambda table: table, lambda rows: rows
    raise Unsupported(f"numbers measured as {kind}")


class Answer:
    """One item: its measured numbers, its rows in Parquet, and what can be said of them."""

    def __init__(
        self, item: Item, query: dict[str, Any], measured: dict[str, list[Any]], rows: dict[str, list[Any]]
    ) -> None:
        self.item, self.query, self.rows, self.kind = item, query, rows, kind_of(item.item)
        self.measured: list[list[int]] = [[] for _ in query["measurements"]]
        places = measured["measurement"]
        if (
            set(measured) != {"measurement", "value"}
            or places != sorted(places)
            or not set(places) <= set(range(len(self.measured)))
        ):
            raise Malformed("measurements are not in the order of the plan")
        for place, value in zip(places, measured["value"], strict=True):
            self.measured[place].append(value)
        for plan, values in zip(query["measurements"], self.measured, strict=True):
            cells = prod(size(item, axis) for axis in plan["by"])
            try:
                wanted = cells * along(item, plan)[0]
            except Unsupported:
                continue
            if len(values) != wanted:
                raise Malformed(f"{len(values)} measured numbers where the plan has {wanted}")
            if plan["noise"] is None and plan["counts"]["kind"] == "records" and min(values, default=0) < 0:
                raise Malformed("an exact count below zero")

    def axes(self) -> list[dict[str, Any]]:
        if self.query["table"] and self.kind != "quantiles":
            return self.query["table"]
        return [{"attribute": name} for name in self.item.item.get("by", [])]

    def check_rows(self) -> str:
        """One row for every combination of values, in order, with the stated columns."""
        axes = self.axes()
        tail: list[tuple[str, list[Any]]] = []
        value = COLUMN.get(self.kind, "")
        if self.kind == "ranges" and isinstance(self.item.item["ranges"], dict):
            raise Unsupported("rows of named ranges")
        if self.kind == "quantiles":
            value = self.item.item["quantiles"]
            tail = [("quantile", [float(exact(share)) for share in self.item.item["at"]])]
        if not value:
            raise Unsupported(f"rows of {self.kind}")
        if any(axis.get("bins") and not axis.get("labels") for axis in axes):
            raise Unsupported("bins without names")
        if self.kind != "quantiles" and not self.query["table"] and self.item.item.get("by"):
            axes = self.query["measurements"][0]["by"]
        heads = [(axis["attribute"], axis_values(self.item, axis)) for axis in axes] + tail
        names = [name for name, _ in heads] + [value, "lower", "upper"]
        others = {value, "lower", "upper", "measured", "quantile"}
        if len(set(names)) != len(names) or any(name in others for name, _ in heads if name != "quantile"):
            raise Unsupported("attributes that are called like a column")
        found = list(self.rows)
        if found not in (names, [*names, "measured"]):
            raise Malformed(f"columns are {found}")
        wanted = product(*(values for _, values in heads))
        rows = list(zip(*(self.rows[name] for name, _ in heads), strict=True)) if heads else [()]
        count = len(self.rows[value])
        if count != prod(len(values) for _, values in heads) or any(
            not same(a, b) for row, want in zip(rows, wanted, strict=True) for a, b in zip(row, want, strict=True)
        ):
            raise Malformed("there is not one row for every combination of values, in order")
        whole = "measured" in found
        for number, lower, upper in zip(self.rows[value], self.rows["lower"], self.rows["upper"], strict=True):
            if self.kind != "quantiles" or not isinstance(number, str):
                if not all(map(isfinite, (number, lower, upper))) or not lower <= number <= upper:
                    raise Malformed(f"{number} is not in its interval from {lower} to {upper}")
                if whole and (not isinstance(number, int) or min(number, lower) < 0):
                    raise Malformed(f"{number} is no whole count that is not negative")
        return f"{count} rows"

    def estimates(self) -> list[float]:
        """Counts in the cells of the item's table, as least squares found them."""
        column = "measured" if "measured" in self.rows else COLUMN[self.kind]
        found = [float(number) for number in self.rows[column]]
        if self.kind in ("cdf", "ranges"):
            length = size(self.item, self.query["table"][-1])
            found = [found[i] - (found[i - 1] if i % length else 0.0) for i in range(len(found))]
        return found

    def fits(self) -> list[tuple[dict[str, Any], list[float], list[float]]]:
        """For each measurement: what was measured, and what the estimates say it should be."""
        table = self.query["table"]
        if self.kind not in ("histogram", "cdf", "ranges", "rectangles", "count") or isinstance(
            self.item.item.get("ranges"), dict
        ):
            raise Unsupported(f"sums behind {self.kind}")
        found = []
        values = self.estimates()
        for plan, measured in zip(self.query["measurements"], self.measured, strict=True):
            if not table:
                found.append((plan, [float(value) for value in measured], values))
                continue
            count, forward, _ = along(self.item, plan)
            names = [axis["attribute"] for axis in table]
            curve = plan["counts"].get("attribute")
            keep = [*plan["by"], *([{"attribute": curve}] if curve else [])]
            sums = [0.0] * prod(size(self.item, axis) for axis in keep)
            axes = [self.project(table[names.index(axis["attribute"])], axis) for axis in keep]
            where = [names.index(axis["attribute"]) for axis in keep]
            for cell, number in zip(product(*(range(size(self.item, axis)) for axis in table)), values, strict=True):
                place = 0
                for axis, i, to in zip(keep, where, axes, strict=True):
                    place = place * size(self.item, axis) + to[cell[i]]
                sums[place] += number
            length = size(self.item, keep[-1]) if curve else 1
            pieces = [forward(sums[i : i + length]) for i in range(0, len(sums), length)]
            found.append((plan, [float(value) for value in measured], [number for piece in pieces for number in piece]))
        return found

    def project(self, fine: dict[str, Any], coarse: dict[str, Any]) -> list[int]:
        """The bin of the coarser axis that each bin of the finer one lies in."""
        count = self.item.count(fine["attribute"])
        to: dict[int, int] = {}
        for code in range(count):
            a = fine["bins"][code] if fine.get("bins") else code
            b = coarse["bins"][code] if coarse.get("bins") else code
            if to.setdefault(a, b) != b:
                raise Unsupported("bins that overlap crosswise")
        return [to[i] for i in range(len(to))]


def same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b


def variance(noise: dict[str, Any]) -> float:
    if noise["law"] == "discrete gaussian":
        return float(exact(noise["sigma"])) ** 2
    ratio = exp(-1 / float(exact(noise["scale"])))
    return 2 * ratio / (1 - ratio) ** 2


def check_least_squares(answers: list[Answer]) -> str:
    """Whether the estimates of items about the same records solve the normal equations of all their measurements.

    What was measured, less what is estimated, weighed by the noise and carried back to the cells of the domain, must be
    the same in all cells that no exact total tells apart, since only moving records between such cells is possible.
    """
    names: list[str] = []
    carried: list[tuple[list[Any], list[float], float]] = []
    totals: list[tuple[Answer, list[dict[str, Any]]]] = []
    top = 0.0
    for answer in answers:
        for plan, measured, fitted in answer.fits():
            if plan["noise"] is None:
                worst = max((abs(a - b) for a, b in zip(measured, fitted, strict=True)), default=0.0)
                if worst > NEAR * max(1.0, *map(abs, measured)):
                    raise Malformed(f"{answer.query['name']} misses an exact total by {worst:.3g}")
                totals.append((answer, plan["by"]))
                names += [axis["attribute"] for axis in plan["by"]]
                continue
            weight = 1 / variance(plan["noise"])
            rest = [(a - b) * weight for a, b in zip(measured, fitted, strict=True)]
            top = max(top, *(abs(a) * weight for a in measured), 1e-12)
            axes: list[Any] = [(answer, axis) for axis in plan["by"]]
            if plan["counts"]["kind"] == "asked":
                conditions = [term.where for term in answer.item.terms(plan)]
                axes.append((answer, conditions[0]))
                names += [name for part in conditions[0] for name in part.names]
                carried.append((axes, rest, 1.0))
            else:
                count, _, back = along(answer.item, plan)
                pieces = [back(rest[i : i + count]) for i in range(0, len(rest), count)]
                if "attribute" in plan["counts"]:
                    axes.append((answer, {"attribute": plan["counts"]["attribute"]}))
                carried.append(
                    (axes, [number for piece in pieces for number in piece], max(map(abs, back([1.0] * count))))
                )
            names += [axis[1]["attribute"] for axis in axes if isinstance(axis[1], dict)]
    return solve(answers, sorted(set(names)), carried, totals, top)


def solve(answers: list[Answer], names: list[str], carried: Any, totals: Any, top: float) -> str:
    item = answers[0].item
    codes = {name: [c for start, end, _ in item.segments(name) for c in range(start, end + 1)] for name in names}
    # Attributes that nothing looks at together are told apart, so that no product of all of them is listed.
    parts: list[set[str]] = [set() for _ in carried]
    groups: list[set[str]] = []
    for i, (axes, _, _) in enumerate(carried):
        for _, axis in axes:
            parts[i] |= (
                {axis["attribute"]} if isinstance(axis, dict) else {name for part in axis for name in part.names}
            )
    exact_names = {axis["attribute"] for _, by in totals for axis in by}
    for part in [*parts, *({axis["attribute"] for axis in by} for _, by in totals)]:
        part = set(part)
        for group in [group for group in groups if group & part]:
            groups.remove(group)
            part |= group
        groups.append(part)
    spread = 0.0
    for group in filter(None, groups):
        listed = sorted(group)
        if prod(len(codes[name]) for name in listed) * (len(carried) + 1) > 6_000_000:
            raise Unsupported("normal equations over so many cells")
        cells: dict[Any, tuple[float, float]] = {}
        mine = [entry for entry, part in zip(carried, parts, strict=True) if part <= group]
        kept = [(answer, by) for answer, by in totals if {axis["attribute"] for axis in by} <= group]
        lookups = [[lookup(answer, axis) for answer, axis in axes] for axes, _, _ in mine]
        shown = [[lookup(answer, axis) for axis in by] for answer, by in kept]
        if len({tuple(sorted(axis["attribute"] for axis in by)) for _, by in kept if by}) > 1:
            raise Unsupported("several exact tables")
        for values in product(*(codes[name] for name in listed)):
            record = dict(zip(listed, values, strict=True))
            if not all(part.holds(record) for part in item.where if part.names <= group):
                continue
            total = 0.0
            for (_, numbers_, _), finds in zip(mine, lookups, strict=True):
                place = 0
                for find, length in finds:
                    at = find(record)
                    if at < 0:
                        break
                    place = place * length + at
                else:
                    total += numbers_[place]
            key = tuple(find(record) for finds in shown for find, _ in finds)
            low, high = cells.get(key, (total, total))
            cells[key] = min(low, total), max(high, total)
        for low, high in cells.values():
            if not totals:
                low, high = min(low, 0.0), max(high, 0.0)
            spread = max(spread, high - low)
    reach = max((entry[2] for entry in carried), default=1.0)
    if spread > NEAR * top * max(1.0, reach):
        raise Malformed(f"the estimates do not solve the normal equations: off by {spread:.3g} of {top * reach:.3g}")
    return f"{sum(len(entry[1]) for entry in carried)} equations hold within {NEAR:g}"


def lookup(answer: Answer, axis: Any) -> tuple[Callable[[dict[str, int]], int], int]:
    """Where a record is along an axis, or (-1) that a condition does not hold for it; and the length of the axis."""
    if isinstance(axis, list):
        return lambda record: 0 if all(part.holds(record) for part in axis) else -1, 1
    name, bins = axis["attribute"], axis.get("bins")
    attribute = answer.item.policy.attributes[name]
    table = [answer.item.place(name, code) for code in range(attribute.size)]
    if bins:
        table = [bins[place] for place in table]
    return lambda record: table[record[name]], size(answer.item, axis)
