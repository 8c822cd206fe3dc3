"""The report of a view, and its promise in words."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction

from tetraodon.display import number_of
from tetraodon.ledger.signing import hash_in_words
from tetraodon.policy.explain import beliefs, limits, short
from tetraodon.policy.public_tables import side_tables
from tetraodon.report.page import PageTable, page_html
from tetraodon.report.picture import about
from tetraodon.views.channel import CopyChannel, SourceChannel, ViewChannel
from tetraodon.views.exposure import BEFORE, BELIEF, MOST_EXPOSED, Exposure, Rehearsal, is_dense, named_from, rehearse
from tetraodon.views.plan import SHARES, ViewPlan, boundary, other_attackers

# -- words ------------------------------------------------------------------------------------------
# What a view is, what it promises and how far off it is, in words.


def what_it_is(plan: ViewPlan) -> str:
    """What the rows of a view are."""
    channel = plan.channel
    if isinstance(channel, CopyChannel):
        told = (
            f"Every record was kept with probability {_percent(channel.keep)}, independently. To every one of the "
            f"{plan.tuples:,} possible tuples a random number of copies was added, {_small(channel.added_per_tuple)} "
            "on average"
        )
    elif isinstance(channel, SourceChannel):
        told = (
            f"A tuple that nobody has is in the view with {_small(channel.scale)} times its chance by the public "
            f"source, which is from {_small(channel.rarest)} to {_small(channel.likeliest)}; a record with "
            f"{_percent(channel.keep)} more than that"
        )
    else:
        told = (
            f"A record is in the view with probability {_percent(channel.shown)}; each of the other "
            f"{plan.tuples:,} possible tuples with probability {_small(channel.noise)}"
        )
    return f"{told}: about {about(float(plan.noise_tuples))} noise tuples in all."


def view_promise(plan: ViewPlan) -> list[str]:
    """Whom the view withstands, and what it does not promise."""
    told = [*beliefs(plan.adversary, plan.prior)]
    if plan.series is not None:
        told.append(
            f"That holds for all {plan.series.views} planned views together, whenever the record was in the table. A "
            "tuple that one view has shown gets much more noise in the next, so that showing up again tells little."
        )
    return [*told, *limits(plan.adversary)]


def exposure_in_words(found: Exposure) -> str:
    """What the view gives away by itself."""
    whom = "somebody who has nothing but this view, and learns from it how common values are,"
    if not found.named:
        return f"By their own reckoning, {whom} can name none of its tuples as a record with a belief of {BELIEF:.0%}."
    return (
        f"By their own reckoning, {whom} names {found.named:,} of its tuples as records, each with a belief of at "
        f"least {BELIEF:.0%}: {_share(found.right)} of these are to be expected to be records, and they are "
        f"{_share(found.records)} of all records. {found.new:,} of the tuples, with {_share(found.new_records)} of all "
        f"records, are newly exposed: how common their values are left a belief of at most {BEFORE:.0%}."
    )


def exposure_ahead(plan: ViewPlan) -> list[str]:
    """What can be said of it before anything is drawn: how common a tuple must be to be given away, and some plays."""
    if plan.series is not None or isinstance(plan.channel, SourceChannel):
        return []
    if is_dense(plan.channel):
        told = [
            "This is the dense regime: one copy of a tuple takes nobody from a belief of at most "
            f"{BEFORE:.0%} to one of {BELIEF:.0%}, however common its values are. Several copies may."
        ]
    else:
        expected = named_from(plan.channel)
        average = float(plan.most_records) / plan.tuples
        told = [
            "But somebody who learns from the view how common values are names a tuple that it shows, with a belief of "
            f"{BELIEF:.0%}, if {_small(Fraction(expected))} records or more were to be expected there: "
            f"{about(expected / average)} times the average. Most tables have many such tuples."
        ]
    return [
        *told,
        *map(_rehearsed, rehearse(plan)),
        f"`publish` counts who is exposed once the view is drawn, and holds it back if more than {MOST_EXPOSED:.0%} of "
        "the records are, unless --accept-exposure is given. The charge stands either way, and a smaller view is "
        "charged by itself: that a view is held back depends on the records, and tells of them.",
    ]


def _rehearsed(found: Rehearsal) -> str:
    """What views of made-up tables expose, and how often they would be held back."""
    kind = "half of the records repeat another" if found.repeated else "attributes are independent"
    return (
        f"Of {len(found.shares)} made-up tables of this size in which {kind}, views newly expose "
        f"{_share(found.shares[0])} to {_share(found.shares[-1])} of the records, and {found.held_back} would be held "
        "back. Views of your table may expose more or less."
    )


def cost_in_words(plan: ViewPlan, charged: str) -> str:
    """What the view costs, in the currency of the ledger."""
    return (
        f"As differential privacy counts, one record more or less changes the odds of any view by at most "
        f"e^{float(plan.channel.loss_presence):.3g}, one record replaced by e^{float(plan.channel.loss_replace):.3g}. "
        f"Epsilon {charged} was charged under the policy that governs the data."
    )


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
    told = [head]
    for row in rows:
        times = row[0].prior / plan.prior
        prior = _small(row[0].prior) if k is None else f"k {_small(k * times)}"
        told.append([prior, *(_cell(one.epsilon, one.error) for one in row)])
    return told


def _cell(epsilon: Fraction | None, error: float | None) -> str:
    return "none of use" if epsilon is None or error is None else f"epsilon {float(epsilon):.3g}, off by {about(error)}"


def against_the_paper(plan: ViewPlan) -> str:
    """The chosen probabilities beside the paper's choice."""
    if plan.series is not None:
        return (
            f"A count of all records is off by about {about(plan.error())} in the first of {plan.series.views} views, "
            f"and by {about(plan.worst_error)} in the last."
        )
    if isinstance(plan.channel, SourceChannel):
        return (
            f"A count of all records is off by about {about(plan.error())}. Noise follows the source, as in section "
            "4.4.2 of the paper."
        )
    if plan.paper is None:
        return "The choice in the paper (keep + noise = 1/2) does not exist for this adversary."
    ours, theirs = plan.error(), plan.error(channel=plan.paper)
    return (
        f"A count of all records is off by about {about(ours)}. The choice in the paper, keep "
        f"{_small(plan.paper.keep)} and noise {_small(plan.paper.noise)}, would be off by {about(theirs)}: "
        f"{about(theirs / ours)} times as much."
    )


def plan_in_words(plan: ViewPlan) -> list[str]:
    """A plan for the terminal."""
    channel, n = plan.channel, plan.records
    told = [
        f"A view of {number_of(plan.tuples, 'possible tuple')}, with about {about(float(plan.noise_tuples))} of noise.",
        f"keep {_exact(channel.keep)}, noise {_exact(channel.noise)} ({plan.adversary.rows} rows).",
        *view_promise(plan),
        *exposure_ahead(plan),
        *(table.sentence for table in side_tables(plan.policy).values()),
        f"It loses epsilon {float(plan.loss):.6g} under this policy.",
        against_the_paper(plan),
        f"For comparison: {boundary(plan)}.",
    ]
    if n is None:
        told.append("The number of records is not public, so errors are for the most that the priors leave room for.")
    return told


def estimator(channel: ViewChannel) -> str:
    """How a count is estimated, as a formula."""
    added, keep = (f"{float(number):.9g}" for number in (channel.added_per_tuple, channel.keep))
    what = "weight of the tuples" if isinstance(channel, SourceChannel) else "tuples"
    return f"(rows of the view - {added} * {what} of the domain) / {keep}"


def exact_estimator(channel: ViewChannel) -> str:
    """The two numbers in it, where they are short; view.json holds them anyway."""
    told = f"Exactly, these are {_exact(channel.added_per_tuple)} and {_exact(channel.keep)}"
    return f"{told}; view.json holds them as fractions."


def beliefs_before_and_after(plan: ViewPlan) -> list[dict[str, str]]:
    """How far a belief can move, as two bars: the prior rounded down, what may be believed after rounded up."""
    before, after = float(plan.prior), float(plan.adversary.gamma)
    told = {
        f"Before: at most {short(100 * plan.prior, ROUND_FLOOR)}%": before,
        f"After seeing the view: at most {short(100 * plan.adversary.gamma, ROUND_CEILING)}%": after,
    }
    return [{"told": words, "percent": f"{100 * belief:.4f}"} for words, belief in told.items()]


def _exact(number: Fraction) -> str:
    text = str(number)
    return text if len(text) <= 24 else f"{float(number):.9g}"


def _percent(number: Fraction) -> str:
    """A share in per cent; one that is not all or nothing never reads as if it were.

    >>> _percent(Fraction(99997, 100000)), _percent(Fraction(1)), _percent(Fraction(99999999, 10**8))
    ('99.997%', '100%', 'more than 99.9999%')
    """
    for digits in range(4, 7):
        told = f"{float(100 * number):.{digits}g}%"
        if told != "100%" or number >= 1:
            return told
    return "more than 99.9999%"


def _share(number: float) -> str:
    return f"{100 * number:.3g}%" if number < 0.9995 else "nearly all"


def _small(number: Fraction) -> str:
    return f"{float(number):.3g}"


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
        ("What it costs", [cost_in_words(plan, charged), *hash_in_words(chained)]),
        (
            "How to count with it",
            [
                "Any condition can be asked about. Count the rows of the view that satisfy it, and the tuples of the "
                "domain that do, whether anybody has them or not; then the estimate is",
                estimator(plan.channel),
                exact_estimator(plan.channel),
                "It is unbiased: right on average over all views that could have been drawn. It may be below zero for "
                "counts that are small; do not cut it off before adding up. estimate.sql does this in DuckDB.",
            ],
        ),
        ("How far off it is", [against_the_paper(plan), "By size of the question, one standard deviation:"]),
    ]


def report_text(plan: ViewPlan, tuples: int, charged: str, exposed: Exposure, chained: str = "") -> str:
    """The report as Markdown."""
    parts = [f"# {plan.policy.title or plan.policy.dataset}: a published view"]
    told_parts = sections(plan, tuples, charged, exposed, chained)
    parts += [f"## {title}\n\n" + "\n\n".join(told) for title, told in told_parts]
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
    told = dict(sections(plan, tuples, charged, exposed, chained))
    chosen, by_size = told.pop("How far off it is")
    return page_html(
        "view.html.j2",
        publisher=plan.policy.publisher,
        title=plan.policy.title or plan.policy.dataset,
        figures=[
            {"label": "", "number": f"{tuples:,}", "unit": "row" if tuples == 1 else "rows", "sure": "in this view"},
            {"label": "", "number": f"±{about(plan.worst_error)}", "unit": "expected error", "sure": OF_ALL},
        ],
        lede=" ".join(told.pop("What this is")),
        off=[by_size],
        errors=PageTable("Expected errors of counts, by size", head, rows, (False, True, True)),
        beliefs=beliefs_before_and_after(plan),
        promise=told.pop("What it promises"),
        exposed=told.pop("Whom it exposes"),
        folded=[*told.items(), ("How it was chosen", [chosen])],
    )
