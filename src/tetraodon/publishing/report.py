"""The report of a view: one page that opens offline, and the same words as a text."""

from __future__ import annotations

from collections.abc import Sequence

from tetraodon.publishing import words
from tetraodon.publishing.exposure import Exposure
from tetraodon.publishing.plan import ViewPlan
from tetraodon.report.page import PageTable, page_html


def sections(plan: ViewPlan, tuples: int, charged: str, exposed: Exposure) -> list[tuple[str, Sequence[str]]]:
    """The report: titles and sentences."""
    return [
        ("What this is", [words.what_it_is(plan), f"The view has {tuples:,} rows."]),
        ("What it promises", words.promise(plan)),
        ("Whom it exposes", [words.exposed(exposed)]),
        ("What it costs", [words.cost(plan, charged)]),
        (
            "How to count with it",
            [
                "Any condition can be asked about. Count the rows of the view that satisfy it, and the tuples of the "
                "domain that do, whether anybody has them or not; then the estimate is",
                words.estimator(plan.channel),
                "It is unbiased: right on average over all views that could have been drawn. It may be below zero for "
                "counts that are small; do not cut it off before adding up. estimate.sql does this in DuckDB.",
            ],
        ),
        ("How far off it is", [words.against_the_paper(plan), "By size of the question, one standard deviation:"]),
    ]


def report_text(plan: ViewPlan, tuples: int, charged: str, exposed: Exposure) -> str:
    """The report as Markdown."""
    parts = [f"# {plan.policy.title or plan.policy.dataset}: a published view"]
    parts += [f"## {title}\n\n" + "\n\n".join(told) for title, told in sections(plan, tuples, charged, exposed)]
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


def report_html(plan: ViewPlan, tuples: int, charged: str, exposed: Exposure) -> str:
    """The report as a page."""
    head, *rows = words.errors(plan)
    return page_html(
        "view.html.j2",
        title=plan.policy.title or plan.policy.dataset,
        sections=sections(plan, tuples, charged, exposed),
        errors=PageTable("Expected errors of counts, by size", head, rows, (False, True, True)),
    )
