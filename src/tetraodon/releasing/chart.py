"""One chart per answer. Only released numbers are in it."""

from __future__ import annotations

from tetraodon.policy.words import listing, number_of
from tetraodon.questions import KMeans
from tetraodon.questions.answered import column_name
from tetraodon.questions.query import titled
from tetraodon.releasing.answer import Answer
from tetraodon.releasing.answer_picture import picture_of
from tetraodon.report.chart import chart, standing_alone
from tetraodon.report.marks import CONFIG, PALETTE, Spec

CLUSTERS_HEIGHT = 320


def chart_spec(answer: Answer) -> Spec | None:
    """The chart of an answer, or None where only a table makes sense.

    Post  `description` says what is drawn, for those who cannot see it; `usermeta.caption` how to read it.
    """
    query = answer.item.item.query
    return _clusters(answer, query) if isinstance(query, KMeans) else chart(picture_of(answer))


def chart_svg(answer: Answer) -> str | None:
    """The chart as a picture that scales."""
    spec = chart_spec(answer)
    if spec is None:
        return None
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(standing_alone(spec))
    return svg


def chart_png(answer: Answer, *, scale: float = 2) -> bytes | None:
    """The chart as a picture of pixels."""
    spec = chart_spec(answer)
    if spec is None:
        return None
    import vl_convert

    png: bytes = vl_convert.vegalite_to_png(standing_alone(spec), scale=scale)
    return png


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
