"""The chart of an answer to k-means: centres on the first two attributes, drawn as large as their clusters are."""

from __future__ import annotations

from tetraodon.policy.words import listing, number_of
from tetraodon.releasing.answer import Answer
from tetraodon.releasing.columns import column_name
from tetraodon.releasing.report_marks import CONFIG, PALETTE, Spec
from tetraodon.releasing.report_picture import titled
from tetraodon.workload.areas import KMeans

HEIGHT = 320


def clusters_spec(answer: Answer, query: KMeans) -> Spec:
    """Centres as circles in the whole of the declared ranges."""
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
        "height": HEIGHT if len(shown) == 2 else HEIGHT // 3,
        "layer": [
            {
                "mark": {"type": "point", "filled": True, "opacity": 0.55, "color": PALETTE[0]},
                "encoding": sides | {"size": size, "tooltip": told},
            },
            {"mark": {"type": "text"}, "encoding": sides | {"text": {"field": "n"}}},
        ],
    }
