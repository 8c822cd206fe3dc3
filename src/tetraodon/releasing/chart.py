"""One chart per answer: what there is to draw of it, and the drawing. Only released numbers are in it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.domain import Domain
from tetraodon.policy.words import listing, number_of
from tetraodon.questions import KMeans
from tetraodon.questions.answered import Columns, column_name
from tetraodon.questions.query import Places, titled
from tetraodon.releasing.answer import Answer
from tetraodon.releasing.names_answer import NamesAnswer
from tetraodon.report.chart import chart, standing_alone
from tetraodon.report.marks import CONFIG, PALETTE, Spec
from tetraodon.report.picture import DrawnAxis, Picture
from tetraodon.workload.linear import Split

CLUSTERS = "records"
"""The last column of an answer that has no intervals: about how many records a cluster has."""
CLUSTERS_HEIGHT = 320


def chart_spec(answer: Answer) -> Spec | None:
    """The chart of an answer, or None where only a table makes sense.

    Post  `description` says what is drawn, for those who cannot see it; `usermeta.caption` how to read it.
    """
    query = answer.item.item.query
    if isinstance(query, KMeans):
        return _clusters(answer, query)
    drawn = query.drawing(answer.domain, answer.item.strategy.table) is not None
    return chart(picture_of(answer)) if drawn else None


def chart_svg(answer: Answer) -> str | None:
    """The chart as a picture that scales."""
    spec = chart_spec(answer)
    if spec is None:
        return None
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(standing_alone(spec))
    return svg


def _clusters(answer: Answer, query: KMeans) -> Spec:
    """Centres as circles as large as their clusters, in the declared ranges of the first two attributes."""
    columns, domain = answer.columns, answer.domain
    shown = query.attributes[:2]
    rows = [
        {"n": int(number), "r": round(float(size), 1)}
        | {f"a{place}": float(columns[column_name(name)][row]) for place, name in enumerate(query.attributes)}
        for row, (number, size) in enumerate(zip(columns["cluster"], columns["records"], strict=True))
    ]
    sides: Spec = {}
    for word, (place, name) in zip(("x", "y"), enumerate(shown), strict=False):
        attribute = domain[name]
        ends = [float(attribute.number(0)), float(attribute.number(attribute.size - 1))]
        scale = {"domain": ends, "nice": False, "zero": False}
        sides[word] = {"field": f"a{place}", "type": "quantitative", "title": titled(attribute), "scale": scale}
    size = {"field": "r", "type": "quantitative", "title": "records, about", "scale": {"range": [60, 1500]}}
    told = [{"field": "n", "title": "cluster"}, {"field": "r", "title": "records, about", "format": ",.0f"}]
    told += [{"field": f"a{p}", "title": name, "format": ".6~g"} for p, name in enumerate(query.attributes)]
    rest = f" Only {listing(shown)} are drawn." if len(query.attributes) > 2 else ""
    return {
        "description": f"Centres of {number_of(query.clusters, 'cluster')} of {listing(query.attributes)}.",
        "usermeta": {"caption": f"Circles show the released centres, as large as their clusters.{rest}"},
        "background": "transparent",
        "config": CONFIG,
        "data": {"values": rows},
        "width": "container",
        "height": CLUSTERS_HEIGHT if len(shown) == 2 else CLUSTERS_HEIGHT // 3,
        "layer": [
            {
                "mark": {"type": "point", "filled": True, "opacity": 0.55, "color": PALETTE[0]},
                "encoding": sides | {"size": size, "tooltip": told},
            },
            {"mark": {"type": "text"}, "encoding": sides | {"text": {"field": "n"}}},
        ],
    }


def names_chart(answer: NamesAnswer) -> Spec | None:
    """A bar for each of the most common names that passed; none where no two did."""
    if len(answer.told) < 2:
        return None
    column = answer.item.above.column
    names = tuple(name for name, _ in answer.told)
    values, lower, upper = (answer.columns[name] for name in ("count", "lower", "upper"))

    def sums(starts: Sequence[Ints]) -> tuple[Floats, Floats]:
        """Ends of sums: those of their parts, added up."""
        blocks = (np.add.reduceat(ends, starts[0][:-1]).astype(np.float64) for ends in (lower, upper))
        return next(blocks), next(blocks)

    what = f"Names in {column}"
    return chart(Picture(what, (DrawnAxis(column, names),), "people", values, lower, upper, sums=sums))


def value_column(columns: Columns) -> str:
    """The column with the answers: the one before `lower` and `upper`, or `records`; the first where there is none."""
    names = list(columns)
    if "lower" in columns:
        return names[names.index("lower") - 1]
    return CLUSTERS if CLUSTERS in columns else names[0]


def picture_of(answer: Answer) -> Picture:
    """The whole of an answer, nothing left out. Axes with a single position are dropped."""
    query, columns = answer.item.item.query, answer.columns
    drawing = query.drawing(answer.domain, answer.item.strategy.table)
    assert drawing is not None, "it has no such chart"
    axes = tuple(axis for side in drawing.sides if (axis := axis_of(side, answer.domain)).size > 1)
    head = drawing.head + (f" by {listing(query.by)}" if query.by else "")
    if drawing.names_sides and axes:
        head += f" of {listing(axis.title for axis in axes)}"
    head += answer.item.item.among_whom
    shape = tuple(axis.size for axis in axes)
    values, lower, upper = (columns[name].reshape(shape) for name in (value_column(columns), "lower", "upper"))
    return Picture(
        head,
        axes,
        drawing.title,
        values,
        lower,
        upper,
        exact=not answer.item.strategy.noisy,
        running=drawing.running,
        sums=partial(block_intervals, answer) if drawing.adds_up else None,
        of=drawing.of,
    )


def axis_of(side: Split | Places, domain: Domain) -> DrawnAxis:
    """The axis of a side: the values of a split, the names of its bins, or names."""
    if isinstance(side, Places):
        return DrawnAxis(side.title, side.names)
    attribute = domain[side.name]
    if side.bins is not None:
        return DrawnAxis(titled(attribute), side.labels or tuple(f"group {n + 1}" for n in range(side.size(domain))))
    codes = np.arange(attribute.size, dtype=np.int64)
    return DrawnAxis(titled(attribute), (), attribute, codes, codes)


def block_intervals(answer: Answer, starts: Sequence[Ints]) -> tuple[Floats, Floats]:
    """The 95% interval of the sum over every block of a table; `starts` as in `Picture.sums`.

    Why   it is that of the noisy numbers in the block, added up. A side of the table with a single value has no axis.
    """
    raw, values, drawn = answer.table.raw, answer.table.values, iter(starts)
    every = [next(drawn) if size > 1 else np.array([0, 1]) for size in raw.shape]
    for place, at in enumerate(every):
        raw, values = (np.add.reduceat(counts, at[:-1], axis=place) for counts in (raw, values))
    low, high = np.ix_(*(at[:-1] for at in every)), np.ix_(*(at[1:] - 1 for at in every))
    lower, upper = answer.table.boxes(low, high, raw, values)
    shape = [len(at) - 1 for at in starts]
    return lower.reshape(shape), upper.reshape(shape)
