"""The report of a view, and its promise in words."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from pathlib import Path

from tetraodon.display import Sentences
from tetraodon.ledger.signing import hash_in_words
from tetraodon.policy.explain import beliefs, limits, short
from tetraodon.policy.policy import side_tables
from tetraodon.report.page import PageTable, page_html
from tetraodon.report.picture import about
from tetraodon.views.channel import SourceChannel, ViewChannel
from tetraodon.views.exposure import BEFORE, BELIEF, MOST_EXPOSED, Exposure, is_dense, named_from, rehearse
from tetraodon.views.plan import SHARES, ViewPlan, nearest_possible, other_attackers
from tetraodon.wording import number_of

# -- words ------------------------------------------------------------------------------------------
# All sentences are in `templates/view.txt`; here is what they are filled with.


def _exactly(number: Fraction) -> str:
    text = str(number)
    return text if len(text) <= 24 else f"{float(number):.9g}"


def _percent(number: Fraction) -> str:
    """A share in per cent; one that is not all or nothing never reads as if it were.

    >>> _percent(Fraction(99997, 100000)), _percent(Fraction(1)), _percent(Fraction(99999999, 10**8))
    ('99.997%', '100%', 'more than 99.9999%')
    """
    for digits in range(4, 7):
        text = f"{float(100 * number):.{digits}g}%"
        if text != "100%" or number >= 1:
            return text
    return "more than 99.9999%"


def _share(number: float) -> str:
    return f"{100 * number:.3g}%" if number < 0.9995 else "nearly all"


def _small(number: Fraction | float) -> str:
    return f"{float(number):.3g}"


def estimator(channel: ViewChannel) -> str:
    """How a count is estimated, as a formula."""
    added, keep = (f"{float(number):.9g}" for number in (channel.added_per_tuple, channel.keep))
    what = "weight of the tuples" if isinstance(channel, SourceChannel) else "tuples"
    return f"(rows of the view - {added} * {what} of the domain) / {keep}"


WORDS = Sentences(
    Path(__file__).parent / "templates" / "view.txt",
    about=lambda number: about(float(number)),
    before=f"{BEFORE:.0%}",
    belief=f"{BELIEF:.0%}",
    estimator=estimator,
    exactly=_exactly,
    kind=lambda channel: type(channel).__name__,
    most_exposed=f"{MOST_EXPOSED:.0%}",
    number_of=number_of,
    percent=_percent,
    share=_share,
    small=_small,
)


def what_it_is(plan: ViewPlan) -> str:
    """What the rows of a view are."""
    return WORDS.one("what_it_is", plan)


def view_promise(plan: ViewPlan) -> list[str]:
    """Whom the view withstands, and what it does not promise."""
    series = () if plan.series is None else WORDS("series_promise", plan.series.views)
    return [*beliefs(plan.adversary, plan.prior), *series, *limits(plan.adversary)]


def exposure_in_words(found: Exposure) -> str:
    """What the view gives away by itself."""
    return WORDS.one("exposure", found)


def exposure_ahead(plan: ViewPlan) -> tuple[str, ...]:
    """What a view is expected to expose before it is drawn: how common a tuple must be to be named, and rehearsals."""
    if plan.series is not None or isinstance(plan.channel, SourceChannel):
        return ()
    expected, average = named_from(plan.channel), float(plan.most_records) / plan.tuples
    return WORDS("exposure_ahead", is_dense(plan.channel), expected, expected / average, rehearse(plan))


def error_rows(plan: ViewPlan) -> list[tuple[str, str, str]]:
    """Expected errors of counts by size: the share of the domain asked for, records there, and the error."""
    word = "records, if spread evenly" if plan.records is not None else "records at most"
    rows = [("tuples asked about", word, "expected error")]
    for share in SHARES:
        if share * plan.tuples < 1:
            break
        rows.append((f"{_percent(share)} of all", about(float(share * plan.most_records)), about(plan.error(share))))
    return rows


def by_attacker(plan: ViewPlan) -> list[list[str]]:
    """What views for other attackers lose and err: a row for each prior, a column for each posterior."""
    rows = other_attackers(plan)
    if not rows:
        return []
    k = plan.adversary.k
    head = ["prior up to", *(f"posterior {short(100 * one.gamma, ROUND_CEILING)}%" for one in rows[0])]
    return [head] + [
        [
            _small(row[0].prior) if k is None else f"k {_small(k * row[0].prior / plan.prior)}",
            *(_cell(one.epsilon, one.error) for one in row),
        ]
        for row in rows
    ]


def _cell(epsilon: Fraction | None, error: float | None) -> str:
    return "none of use" if epsilon is None or error is None else f"epsilon {float(epsilon):.3g}, off by {about(error)}"


def boundary(plan: ViewPlan) -> str:
    """Which attackers no view withstands: by [RS07] Theorem 3.3, and of views as they are made here.

    Why   the theorem leaves a constant open and lets m grow, so that it rules out no (d, gamma) of one table. Of the
          views that are made here it is known: those whose count of all records is off by more than there are.
    """
    edge, nearest = float(plan.most_records / Fraction(plan.tuples) ** Fraction(1, 2)), nearest_possible(plan)
    return WORDS.one("boundary", edge, edge >= 1, nearest if None not in nearest else None, plan)


def plan_in_words(plan: ViewPlan) -> list[str]:
    """A plan for the terminal."""
    return [
        *WORDS("size", plan),
        *view_promise(plan),
        *exposure_ahead(plan),
        *(table.sentence for table in side_tables(plan.policy).values()),
        *WORDS("price", plan, WORDS.one("against_the_paper", plan), boundary(plan)),
    ]


def beliefs_before_and_after(plan: ViewPlan) -> list[dict[str, str]]:
    """How far a belief can move, as two bars: the prior rounded down, what may be believed after rounded up."""
    ends = (
        (f"Before: at most {short(100 * plan.prior, ROUND_FLOOR)}%", plan.prior),
        (f"After seeing the view: at most {short(100 * plan.adversary.gamma, ROUND_CEILING)}%", plan.adversary.gamma),
    )
    return [{"words": words, "percent": f"{100 * float(belief):.4f}"} for words, belief in ends]


# -- report -----------------------------------------------------------------------------------------

OF_ALL = "of a count of all records"


def sections(
    plan: ViewPlan, tuples: int, charged: str, exposed: Exposure, chained: str
) -> list[tuple[str, Sequence[str]]]:
    """The report: titles and sentences."""
    return [
        ("What this is", [what_it_is(plan), f"The view has {number_of(tuples, 'row')}."]),
        ("What it promises", view_promise(plan)),
        ("Whom it exposes", [exposure_in_words(exposed)]),
        ("What it costs", [*WORDS("cost", plan, charged), *hash_in_words(chained)]),
        ("How to count with it", WORDS("how_to_count", plan.channel)),
        (
            "How far off it is",
            [*WORDS("against_the_paper", plan), "By size of the question, one standard deviation:"],
        ),
    ]


def report_text(plan: ViewPlan, tuples: int, charged: str, exposed: Exposure, chained: str = "") -> str:
    """The report as Markdown."""
    parts = [f"# {plan.policy.title or plan.policy.dataset}: a published view"]
    listed = sections(plan, tuples, charged, exposed, chained)
    parts += [f"## {title}\n\n" + "\n\n".join(sentences) for title, sentences in listed]
    head, *rows = error_rows(plan)
    lines = [head, ("---", "---:", "---:"), *rows]
    parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    parts.append(
        '## How to use it\n\n    import tetraodon as td\n    view = td.load_view(".")\n'
        '    view.ask("a condition, as in SQL")\n\n'
        '`tetraodon ask . "a condition"` does the same, and `tetraodon verify .` checks the folder. Without Tetraodon: '
        "`duckdb -init estimate.sql`. `view.json` holds the probabilities as exact fractions, "
        "the domain and a hash of every file."
    )
    return "\n\n".join(parts) + "\n"


def report_html(plan: ViewPlan, tuples: int, charged: str, exposed: Exposure, chained: str = "") -> str:
    """The report as a page: how far off counts are and what is promised, the rest folded."""
    head, *rows = error_rows(plan)
    parts = dict(sections(plan, tuples, charged, exposed, chained))
    chosen, by_size = parts.pop("How far off it is")
    return page_html(
        "view.html.j2",
        publisher=plan.policy.publisher,
        title=plan.policy.title or plan.policy.dataset,
        figures=[
            {"label": "", "number": f"{tuples:,}", "unit": "row" if tuples == 1 else "rows", "sure": "in this view"},
            {"label": "", "number": f"±{about(plan.worst_error)}", "unit": "expected error", "sure": OF_ALL},
        ],
        lede=" ".join(parts.pop("What this is")),
        off=[by_size],
        errors=PageTable("Expected errors of counts, by size", head, rows, (False, True, True)),
        beliefs=beliefs_before_and_after(plan),
        promise=parts.pop("What it promises"),
        exposed=parts.pop("Whom it exposes"),
        folded=[*parts.items(), ("How it was chosen", [chosen])],
    )
