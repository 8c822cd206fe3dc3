"""The report of a release: one page that opens offline, with a chart for each answer.

Nothing on it comes from anywhere but the policy, the plan and the released answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tetraodon.certificate.certificate import Certificate, Dataset, TableChance, TableShare
from tetraodon.display import Sentences
from tetraodon.domain import Domain
from tetraodon.exact.arrays import Floats, Ints
from tetraodon.exact.rational import decimal_text, stated_number
from tetraodon.inference.consistency import EstimatedTable
from tetraodon.inference.controlled_rounding import differing
from tetraodon.ledger import shown_above
from tetraodon.ledger.signing import hash_in_words
from tetraodon.policy.attackers import Independent
from tetraodon.policy.explain import (
    HOPELESS,
    UNPROTECTED,
    WORTHLESS,
    Example,
    Explanation,
    Part,
    explain,
    less_than_it_says,
    percent,
    times,
)
from tetraodon.policy.policy import Policy
from tetraodon.policy.publication import EXACT, NOISY, OURS
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.query.contribution import One
from tetraodon.query.kmeans import KMeans
from tetraodon.query.linear import Split
from tetraodon.query.query import MEASURED, Columns, Places, column_name, titled
from tetraodon.releases.answer import Answer
from tetraodon.releases.names import NamesAnswer
from tetraodon.releases.plan import PlannedItem
from tetraodon.releases.release import Release
from tetraodon.report.chart import CONFIG, PALETTE, Spec, chart, standing_alone
from tetraodon.report.odds import odds_strips
from tetraodon.report.page import PageTable, page_html, page_script, vega_bundle
from tetraodon.report.picture import (
    DrawnAxis,
    Numbers,
    Picture,
    about,
    date_text,
    decimal_above,
    places,
    rounded,
    shown,
)
from tetraodon.wording import listing, number_of, of_one

# -- words ------------------------------------------------------------------------------------------
# A planned item in words: what was asked, how it was answered, how far off that is, and what proves the promise.


WORDS = Sentences(
    Path(__file__).parent / "templates" / "words.txt", about=about, decimal_text=decimal_text, listing=listing
)


def mechanism(item: PlannedItem, domain: Domain) -> str:
    """How it was answered, as a sentence or two."""
    strategy = item.strategy
    if not strategy.noisy:
        return strategy.mechanism.sentence(item.scaled(domain), "", "")
    first = strategy.noisy[0]
    noise = WORDS.text("noise", strategy.noise, float(item.scale * first.contribution.unit))
    size = first.size(domain)
    told = strategy.mechanism.sentence(item.scaled(domain), noise, f", {size:,} numbers in all" if size > 1 else "")
    totals = [query.by for query in strategy.exact if isinstance(query.contribution, One)]
    return " ".join([told, *(WORDS.text("exact_total", _groups(by, domain)) for by in totals)])


def _groups(by: tuple[Split, ...], domain: Domain) -> list[str]:
    """What a total is split by; nothing where it is that of all records."""
    if all(split.size(domain) == 1 for split in by):
        return []
    return [f"groups of {split.name}" if split.bins is not None else split.name for split in by]


def error(item: PlannedItem, domain: Domain, together: float | None = None) -> str:
    """How far off it is expected to be, in plain words; `together` where other items make it better."""
    strategy = item.strategy
    if not strategy.noisy:
        return "None: these are the true numbers."
    off = about(item.expected_error)
    each = "The number" if not strategy.table and strategy.noisy[0].size(domain) == 1 else "Each number"
    told = item.item.query.off_by(off, each, domain)
    if off == "1":  # the question wrote of several
        units = {"records": of_one("records")} | {a.unit: a.unit_of(Fraction(1)) for a in domain if a.unit}
        for several, one in units.items():
            told = told.replace(f" 1 {several}", f" 1 {one}")
    reach = item.interval_reach
    if reach is not None:
        told = f"{told} Their intervals are expected to reach about {about(reach)} records either way."
    if strategy.mechanism.remark:
        return f"{told} {strategy.mechanism.remark}"
    return told if together is None else f"{told} {WORDS.text('error_together', item.expected_error, together)}"


def baseline(item: PlannedItem, policy: Policy) -> str:
    """What plain differential privacy at the same epsilon would have cost, and what it would have bought."""
    independent = isinstance(policy.attackers, Independent)
    same = independent and policy.graph == policy.plain().graph
    shares = sum((other.share for other in policy.items), Fraction(0))
    price = epsilon_text(item.epsilon or policy.epsilon * item.item.share / shares)
    less = "" if independent else less_than_it_says(policy.attackers)
    return WORDS.text("baseline", item, policy, price, independent, same, less)


def proof(certificate: Certificate) -> str:
    """What a certificate says: the loss, and whether it is the loss itself or a bound."""
    return WORDS.text("proof", certificate, epsilon_text(Fraction(certificate.epsilon)))


def witness(certificate: Certificate, domain: Domain) -> str:
    """The worst step in words."""
    if certificate.witness is None:
        return ""
    x, y = certificate.witness
    match x:
        case Dataset():
            return WORDS.text("worst_neighbours", len(x.records))
        case TableShare():
            return WORDS.text("worst_share", x, y)
        case TableChance():
            return WORDS.text("worst_chance", x, y)
    if x is ABSENT or y is ABSENT:
        present = zip(domain, y if x is ABSENT else x, strict=True)
        return WORDS.text("worst_presence", [f"{a.name} {a.measured(a.code(value))}" for a, value in present])
    both = [(a, a.code(p), a.code(q)) for a, p, q in zip(domain, x, y, strict=True)]
    moved = [f"{a.name} from {a.text(p)} to {a.measured(q)}" for a, p, q in both if p != q]
    return WORDS.text("worst_step", moved, [f"{a.name} {a.measured(p)}" for a, p, q in both if p == q])


def epsilon_text(epsilon: Fraction) -> str:
    """An epsilon in decimals: exact where that is short, and rounded up where it is not.

    >>> epsilon_text(Fraction(1, 4)), epsilon_text(Fraction(1, 3))
    ('0.25', '0.3334')
    """
    text = shown_above(epsilon)
    return text if "/" not in text and len(text) < 10 else decimal_above(epsilon)


# -- chart ------------------------------------------------------------------------------------------
# One chart per answer: what there is to draw of it, and the drawing. Only released numbers are in it.

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
    raw, values, drawn = answer.counts.raw, answer.counts.values, iter(starts)
    every = [next(drawn) if size > 1 else np.array([0, 1]) for size in raw.shape]
    for place, at in enumerate(every):
        raw, values = (np.add.reduceat(counts, at[:-1], axis=place) for counts in (raw, values))
    low, high = np.ix_(*(at[:-1] for at in every)), np.ix_(*(at[1:] - 1 for at in every))
    lower, upper = answer.counts.boxes(low, high, raw, values)
    shape = [len(at) - 1 for at in starts]
    return lower.reshape(shape), upper.reshape(shape)


# -- names report -----------------------------------------------------------------------------------
# What the page of a release shows of names that nobody listed.

MOST_NAMES = 200
_NAMES_HEADINGS = {"count": "people, about", "lower": "lower (95%)", "upper": "upper (95%)"}


def named_answer(answer: NamesAnswer) -> dict[str, Any]:
    """What the page shows of an item that tells names, in the parts of any answer."""
    item = answer.item
    none = {"label": "", "number": "No name", "unit": "", "sure": "was shared by enough people to appear"}
    return {
        "figures": [] if answer.told else [none],
        "chart": names_chart(answer),
        "table": names_table(answer),
        "facts": {
            "How it was answered": WORDS.text("names_answered", item),
            "Expected error": WORDS.text("names_error", item),
            "Certificate": f"{proof(item.certificate)} {WORDS.text('names_chance', item)}",
        },
    }


def names_table(answer: NamesAnswer, most: int = MOST_NAMES) -> PageTable:
    """The most common names."""
    rows = len(answer.told)
    told = f"the first {most} of {rows:,} names" if rows > most else "all names that passed"
    columns = {name: column[:most] for name, column in answer.columns.items()}
    texts = [[shown(value) for value in column] for column in columns.values()]
    return _page_table(f"{answer.name}: {told}.", [_NAMES_HEADINGS.get(name, name) for name in columns], columns, texts)


def _page_table(caption: str, heads: Sequence[str], columns: Columns, texts: Sequence[Sequence[str]]) -> PageTable:
    return PageTable(caption, heads, list(zip(*texts, strict=True)), [*map(_is_number, columns.values())], long=True)


# -- report -----------------------------------------------------------------------------------------

MOST_ROWS, MOST_FIGURES = 200, 6
_HEADINGS = {
    "records": "records, about",
    "at_most": "at most this value",
    "lower": "lower (95%)",
    "upper": "upper (95%)",
    "quantile": "share",
}
_PLACES = {"promise": "The promise", "together": "The release as a whole", "reading": "How to read and check it"}
_EXAMPLES = ("One record says", "another says", "steps apart", "odds move at most", "truthful answer, at most")


def report_html(release: Release) -> str:
    """The whole page.

    Post  it refers to nothing outside its folder; no text of the policy file is ever read as HTML or as a script.
    """
    policy = release.plan.policy
    answers = (*release.values(), *release.names.values())
    parts = {answer.name: _answer(release, answer) for answer in release.values()}
    parts |= {answer.name: named_answer(answer) for answer in release.names.values()}
    drawing = [vega_bundle()] if any(part["chart"] for part in parts.values()) else []
    whole = [answer for answer in release.values() if answer.item.item.whole and answer.item.strategy.noisy]
    return page_html(
        "release.html.j2",
        [*drawing, page_script()],
        publisher=policy.publisher,
        title=policy.title or policy.dataset,
        day=release.when,
        released=date_text(release.when) if policy.publisher.language == OURS else release.when,
        lede=NOISY if release.names or any(answer.item.strategy.noisy for answer in release.values()) else EXACT,
        facts=_facts(release),
        links=[
            *((f"answer-{answer.name}", answer.title, bool(answer.item.item.title)) for answer in answers),
            *((place, text, False) for place, text in _PLACES.items()),
        ],
        answers=answers,
        made=parts,
        promise=_promise(policy, explain(policy)),
        together=list(_together(release)),
        whole=bool(whole),
        others=_listed(a.name for a in release.values() if not a.item.item.whole and a.values is not None),
        differ=_differing(whole),
        chained=hash_in_words(release.chained),
    )


def _differing(whole: Sequence[Answer]) -> str:
    """The attributes by which tables of whole counts about the same records do not agree."""
    told = []
    for those in dict.fromkeys(answer.item.strategy.among for answer in whole):
        same = [a for a in whole if a.table is not None and a.item.strategy.among == those]
        tables = [EstimatedTable(a.axes, a.counts.values, 1.0) for a in same]
        differ = differing(tables, same[0].domain) if same else []
        told += [" and ".join(name for name, _ in one.groups) for one in differ]
    return _listed(dict.fromkeys(told))


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    return listing(found) if found else ""


def _facts(release: Release) -> dict[str, str]:
    plan, delta = release.plan, release.plan.certificate.delta
    return {
        "Data set": plan.policy.dataset,
        "Released": date_text(release.when),
        "Epsilon of the release": epsilon_text(plan.epsilon) + (f" at delta {float(delta):g}" if delta else ""),
        "Charged to the budget": epsilon_text(stated_number(release.charged)),
        **_exactly(f"epsilon {plan.epsilon}, charged {release.charged}"),
        "Answers": str(len(release) + len(release.names)),
    }


def _exactly(told: str) -> dict[str, str]:
    """The exact figures behind what is shown in decimals, where that is not all of them."""
    return {"Exactly": told} if "/" in told else {}


def _answer(release: Release, answer: Answer) -> dict[str, Any]:
    """What the page shows of one answer."""
    item, domain, whole = answer.item, answer.domain, release.plan.policy.domain
    return {
        "figures": _figures(answer),
        "chart": chart_spec(answer),
        "table": answer_table(answer),
        "facts": {
            "How it was answered": mechanism(item, domain),
            "Expected error": error(item, domain, release.joint_errors.get(answer.name)),
            "Plain differential privacy": baseline(item, release.plan.policy),
            "Certificate": f"{proof(item.certificate)} {witness(item.certificate, whole)}".strip(),
            **_exactly(f"epsilon {item.epsilon}, scale of the noise {item.scale}"),
        },
    }


def _figures(answer: Answer) -> list[dict[str, str]]:
    """The answer itself and how sure it is, where it is a few numbers."""
    columns, query = answer.columns, answer.item.item.query
    word = value_column(columns)
    if "lower" not in columns or len(columns[word]) > MOST_FIGURES:
        return []
    drawing = query.drawing(answer.domain, answer.item.strategy.table)
    title = "" if drawing is None else drawing.title
    decimals = places(columns["lower"], columns["upper"]) if query.numbers else None
    texts = {name: _cells(name, column, word, decimals) for name, column in columns.items()}
    found = []
    for place, number in enumerate(texts[word]):
        label = ", ".join(texts[name][place] for name in columns if name not in (word, "lower", "upper", MEASURED))
        unit = "" if len(texts[word]) > 1 else of_one(title) if number == "1" else title
        low, high = texts["lower"][place], texts["upper"][place]
        sure = f"between {low} and {high} with 95% confidence" if low != high else "with 95% confidence"
        told = {"label": label, "number": number, "unit": unit}
        found.append({**told, "sure": sure if answer.item.strategy.noisy else "exactly"})
    return found


def answer_table(answer: Answer, most: int = MOST_ROWS) -> PageTable:
    """The first rows of an answer."""
    columns = answer.columns
    word = value_column(columns)
    rows = len(columns[word])
    head = {name: column[:most] for name, column in columns.items() if name != MEASURED}
    decimals = places(columns["lower"], columns["upper"]) if answer.item.item.query.numbers else None
    texts = [_cells(name, column, word, decimals) for name, column in head.items()]
    told = f"the first {most} of {rows:,} rows" if rows > most else "all rows" if rows > 1 else "one row"
    rounding = "intervals are rounded outwards" if "lower" in columns else "every record is made up"
    rounding = "records are rounded" if word == CLUSTERS else rounding
    rounding = "the files hold what was measured as well" if MEASURED in columns else rounding
    heads = []
    for name in head:
        unit, title = answer.domain[name].unit if name in answer.domain.names else "", _HEADINGS.get(name, name)
        heads.append(f"{title} ({unit})" if unit else title)
    return _page_table(f"{answer.name}: {told}; {rounding}.", heads, head, texts)


def _cells(name: str, column: Numbers, word: str, decimals: int | None) -> list[str]:
    if name == "quantile":
        return [f"{100 * share:.6g}%" for share in column.tolist()]
    if word == CLUSTERS and name != "cluster":
        return [f"{value:,.0f}" if name == word else f"{value:.6g}" for value in column.tolist()]
    if decimals is not None and name in (word, "lower", "upper") and _is_number(column):
        up = {"lower": False, "upper": True}.get(name)
        return [rounded(float(value), decimals, up=up) for value in column.tolist()]
    return [shown(value) for value in column]


def _is_number(column: Numbers) -> bool:
    return bool(np.issubdtype(column.dtype, np.number))


def _promise(policy: Policy, told: Explanation) -> dict[str, Any]:
    """The promise: what everybody should read, a picture, and the rest."""
    first, *parts = told.parts
    unprotected = [part for part in parts if part.title == UNPROTECTED]
    return {
        "head": first.sentences,
        "strips": odds_strips(policy),
        "open": unprotected,
        "parts": [_part(part) for part in parts if part not in unprotected],
    }


def _part(part: Part) -> dict[str, Any]:
    """A part of the promise, its examples as a table."""
    rows = [_example(example) for example in part.examples]
    table = PageTable(f"{part.title}: examples, near and far", _EXAMPLES, rows) if rows else None
    return {"title": part.title, "sentences": part.sentences, "examples": table}


def _example(example: Example) -> tuple[str, ...]:
    if example.steps is None or example.odds is None or example.chance is None:
        return example.x, example.y, "no chain of steps", "not protected", "not protected"
    odds = f"{times(example.odds)} times" if example.odds <= HOPELESS else "more than 1e+100 times"
    share = percent(example.chance) if example.odds <= WORTHLESS else "no protection worth the name"
    return example.x, example.y, str(example.steps), odds.replace("e+", " × 10^"), share


def _together(release: Release) -> Iterator[str]:
    """The certificate of the whole release, and why the answers' own need not add up to it."""
    plan = release.plan
    yield WORDS.text("whole_release", proof(plan.certificate), witness(plan.certificate, plan.policy.domain))
    alone = sum((item.epsilon for item in plan), Fraction(0))
    if len(plan) > 1 and alone > plan.epsilon and not plan.certificate.delta:
        yield WORDS.text("added_up", epsilon_text(alone))
    charged = stated_number(release.charged)
    if charged != plan.epsilon:
        yield WORDS.text("charged", epsilon_text(charged))
