"""What notebooks show: a policy as its promise, a plan as a table, a release as charts, an estimate with its interval.

It is HTML without a script, and nothing in it comes from anywhere else. Charts are pictures inside of the page, so that
a release of somebody else's can show no more than a picture.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tetraodon.inference.estimate import Estimate
from tetraodon.ledger import shown_above
from tetraodon.policy.explain import Explanation, explain
from tetraodon.policy.policy import Policy
from tetraodon.releases.answer import Answer
from tetraodon.releases.codec import PLAN_HEADS, plan_rows
from tetraodon.releases.counting import CURATOR_ONLY, Checked
from tetraodon.releases.names import NamesAnswer
from tetraodon.releases.plan import Plan
from tetraodon.releases.release import Release
from tetraodon.releases.report import answer_table, chart_spec, chart_svg, error, names_table, proof, witness
from tetraodon.report.page import PageTable, page_html
from tetraodon.report.picture import date_text

MOST_ROWS = 12
MOST_CHARTS = 12
"""Charts take a tenth of a second each."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A chart as a data address, and what it shows in words."""

    address: str
    words: str
    caption: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of what is shown: sentences, a picture and a table under a title; the details are `folded`."""

    title: str
    sentences: Sequence[str] = ()
    picture: Drawn | None = None
    table: PageTable | None = None
    folded: bool = False


def html(value: object) -> str:
    """A value as HTML that stands alone; every text in it is escaped."""
    return page_html("cell.html.j2", pieces=list(_pieces(value)))


def _pieces(value: object) -> Iterator[Piece]:
    match value:
        case Policy():
            yield from _promise(explain(value), value.title)
        case Explanation():
            yield from _promise(value, "")
        case Plan():
            yield _plan(value)
        case Release():
            yield from _release(value)
        case Answer():
            yield from _answer(value)
        case NamesAnswer():
            yield Piece(value.item.item.title or value.name, [value.item.sentence], table=names_table(value, MOST_ROWS))
        case Estimate():
            yield Piece("", [value.words + (f", from {value.source}" if value.source else "")])
        case Checked():
            yield from _checked(value)
        case _:
            raise TypeError(f"a {type(value).__name__} is not shown as HTML")


def _promise(explanation: Explanation, title: str) -> Iterator[Piece]:
    """The promise itself, and folded below it what it means for each attribute."""
    whose = title or explanation.dataset
    for place, part in enumerate(explanation.parts):
        head = part.title if place else f"{whose}: {part.title[0].lower()}{part.title[1:]}"
        examples = [example.sentence for example in part.examples]
        yield Piece(head, [*part.sentences, *examples], folded=place > 0)


def _plan(plan: Plan) -> Piece:
    policy = plan.policy
    rows = plan_rows(plan)
    heads = PLAN_HEADS[: len(rows[0])]
    caption = "Errors are root mean squared errors per answer."
    table = PageTable(caption, heads, rows, [n > 2 for n in range(len(heads))])
    sentences = [f"{proof(plan.certificate)} {witness(plan.certificate, policy.domain)}".strip()]
    return Piece(f"Plan for {policy.title or policy.dataset}: no data was touched", sentences, table=table)


def _release(release: Release) -> Iterator[Piece]:
    policy = release.plan.policy
    released = f"Released on {date_text(release.when)}. It lost epsilon {shown_above(release.plan.epsilon)}."
    yield Piece(policy.title or policy.dataset, [released])
    for place, answer in enumerate(release.values()):
        yield from _answer(answer, release.joint_errors.get(answer.name), drawn=place < MOST_CHARTS)
    for named in release.names.values():
        yield from _pieces(named)


def _answer(answer: Answer, together: float | None = None, *, drawn: bool = True) -> Iterator[Piece]:
    item, domain = answer.item, answer.domain
    picture = _picture(answer) if drawn else None
    sentences = [answer.sentence, error(item, domain, together), *([answer.remark] if answer.remark else [])]
    table = answer_table(answer, MOST_ROWS)
    yield Piece(item.item.title or answer.name, sentences, picture, table if picture is None else None)
    if picture is not None:
        yield Piece("The numbers", table=table, folded=True)


def _picture(answer: Answer) -> Drawn | None:
    spec, svg = chart_spec(answer), chart_svg(answer)
    if spec is None or svg is None:
        return None
    address = f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
    return Drawn(address, spec["description"], spec["usermeta"]["caption"])


def _checked(found: Checked) -> Iterator[Piece]:
    heads = ["item", "one person moves it by"]
    rows = [[name, f"{float(one.value):,.6g}"] for name, one in found.sensitivities.items()]
    yield Piece(f"The policy of {found.policy.dataset} is valid", table=PageTable("", heads, rows, [False, True]))
    if found.columns:
        heads = ["column", "rows", "missing", "unreadable", "outside"]
        figures = [[c.name, *(f"{n:,}" for n in (c.rows, c.missing, c.unreadable, c.outside))] for c in found.columns]
        table = PageTable(CURATOR_ONLY, heads, figures, [n > 0 for n in range(5)])
        yield Piece("How the table fits", [*found.becomes, *map(str, found.refusals)], table=table)
