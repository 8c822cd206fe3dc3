"""The report of a view: one page that opens offline, and the same words as a text."""

from __future__ import annotations

from collections.abc import Sequence

from tetraodon.ledger.signature import hash_in_words
from tetraodon.publishing import words
from tetraodon.publishing.exposure import Exposure
from tetraodon.publishing.plan import ViewPlan
from tetraodon.report.page import PageTable, page_html
from tetraodon.report.rounding import about
from tetraodon.wording import number_of

OF_ALL = "of a count of all records"


def sections(
    plan: ViewPlan, tuples: int, charged: str, exposed: Exposure, chained: str
) -> list[tuple[str, Sequence[str]]]:
    """The report: titles and sentences."""
    return [
        ("What this is", [words.what_it_is(plan), f"The view has {number_of(tuples, 'row')}."]),
        ("What it promises", words.promise(plan)),
        ("Whom it exposes", [words.exposed(exposed)]),
        ("What it costs", [words.cost(plan, charged), *hash_in_words(chained)]),
        (
            "How to count with it",
            [
                "Any condition can be asked about. Count the rows of the view that satisfy it, and the tuples of the "
                "domain that do, whether anybody has them or not; then the estimate is",
                words.estimator(plan.channel),
                words.exact_estimator(plan.channel),
                "It is unbiased: right on average over all views that could have been drawn. It may be below zero for "
                "counts that are small; do not cut it off before adding up. estimate.sql does this in DuckDB.",
            ],
        ),
        ("How far off it is", [words.against_the_paper(plan), "By size of the question, one standard deviation:"]),
    ]


def report_text(plan: ViewPlan, tuples: int, charged: str, exposed: Exposure, chained: str = "") -> str:
    """The report as Markdown."""
    parts = [f"# {plan.policy.title or plan.policy.dataset}: a published view"]
    told_parts = sections(plan, tuples, charged, exposed, chained)
    parts += [f"## {title}\n\n" + "\n\n".join(told) for title, told in told_parts]
    head, *rows = words.errors(plan)
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
    head, *rows = words.errors(plan)
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
        beliefs=words.beliefs_before_and_after(plan),
        promise=told.pop("What it promises"),
        exposed=told.pop("Whom it exposes"),
        folded=[*told.items(), ("How it was chosen", [chosen])],
    )
