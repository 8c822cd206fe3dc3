"""The report of a release: one page that opens offline, with every answer, its error bars, and the promise in words.

Nothing on it comes from anywhere but the policy, the plan and the released answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tetraodon.inference.meeting import EstimatedTable
from tetraodon.inference.whole_tables import differing
from tetraodon.ledger.signature import hash_in_words
from tetraodon.policy.examples import Example
from tetraodon.policy.explain import UNPROTECTED, Explanation, Part, explain
from tetraodon.policy.policy import Policy
from tetraodon.policy.publisher import EXACT, NOISY, OURS
from tetraodon.policy.words import HOPELESS, WORTHLESS, listing, percent, times
from tetraodon.questions.answered import MEASURED
from tetraodon.rational import stated_number
from tetraodon.releasing.answer import Answer
from tetraodon.releasing.chart import CLUSTERS, chart_spec, value_column
from tetraodon.releasing.names_report import named_answer
from tetraodon.releasing.release import Release
from tetraodon.releasing.words import baseline, epsilon_text, error, mechanism, proof, witness
from tetraodon.report.odds_strip import odds_strips
from tetraodon.report.page import PageTable, page_html, page_script
from tetraodon.report.picture import Numbers
from tetraodon.report.rounding import date_text, places, rounded, shown
from tetraodon.report.vega_bundle import vega_bundle
from tetraodon.wording import of_one

MOST_ROWS, MOST_FIGURES = 200, 6
_HEADINGS = {
    "records": "records, about",
    "at_most": "at most this value",
    "lower": "lower (95%)",
    "upper": "upper (95%)",
    "quantile": "share",
}
_PLACES = {
    "promise": "The promise",
    "together": "The release as a whole",
    "reading": "How to read and check it",
}
_EXAMPLES = ("One record says", "another says", "steps apart", "odds move at most", "truthful answer, at most")


def report_html(release: Release) -> str:
    """The whole page.

    Post  it refers to nothing outside its folder; no text of the policy file is ever read as HTML or as a script.
    """
    policy = release.plan.policy
    answers = [_answer(release, answer) for answer in release]
    answers += [named_answer(answer) for answer in release.names.values()]
    told = explain(policy)
    drawing = [vega_bundle()] if any(answer["chart"] for answer in answers) else []
    whole = [answer for answer in release if answer.item.item.whole and answer.item.strategy.noisy]
    return page_html(
        "release.html.j2",
        [*drawing, page_script()],
        publisher=policy.publisher,
        title=policy.title or policy.dataset,
        day=release.when,
        released=date_text(release.when) if policy.publisher.language == OURS else release.when,
        lede=NOISY if release.names or any(answer.item.strategy.noisy for answer in release) else EXACT,
        facts=_facts(release),
        links=[
            *((f"answer-{answer['name']}", answer["title"], answer["theirs"]) for answer in answers),
            *((place, text, False) for place, text in _PLACES.items()),
        ],
        answers=answers,
        promise=_promise(policy, told),
        together=list(_together(release)),
        whole=bool(whole),
        others=_listed(a.name for a in release if not a.item.item.whole and a.values is not None),
        differ=_differing(whole),
        chained=hash_in_words(release.chained),
    )


def _differing(whole: Sequence[Answer]) -> str:
    """The attributes by which tables of whole counts about the same records do not agree."""
    told = []
    for those in dict.fromkeys(answer.item.strategy.among for answer in whole):
        same = [a for a in whole if a.values is not None and a.item.strategy.among == those]
        tables = [EstimatedTable(a.table.item.strategy.table, a.table.values, 1.0) for a in same]
        told += (
            [" and ".join(name for name, _ in one.groups) for one in differing(tables, same[0].domain)] if same else []
        )
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
    asked = item.item.asked
    figures, chart = _figures(answer), chart_spec(answer)
    return {
        "name": answer.name,
        "title": item.item.title or asked[:1].upper() + asked[1:],
        "theirs": bool(item.item.title),
        "question": answer.sentence,
        "notes": item.item.notes,
        "remark": answer.remark,
        "figures": figures,
        "short": len(figures) == 1 and chart is None,
        "chart": chart,
        "table": answer_table(answer),
        "facts": {
            "How it was answered": mechanism(item, domain),
            "Expected error": error(item, domain, release.errors_together.get(answer.name)),
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
    return PageTable(
        f"{answer.name}: {told}; {rounding}.",
        [_heading(answer, name) for name in head],
        list(zip(*texts, strict=True)),
        [_is_number(column) for column in head.values()],
        long=True,
    )


def _cells(name: str, column: Numbers, word: str, decimals: int | None) -> list[str]:
    if name == "quantile":
        return [f"{100 * share:.6g}%" for share in column.tolist()]
    if word == CLUSTERS and name != "cluster":
        return [f"{value:,.0f}" if name == word else f"{value:.6g}" for value in column.tolist()]
    if decimals is not None and name in (word, "lower", "upper") and _is_number(column):
        up = {"lower": False, "upper": True}.get(name)
        return [rounded(float(value), decimals, up=up) for value in column.tolist()]
    return [shown(value) for value in column]


def _heading(answer: Answer, name: str) -> str:
    unit = answer.domain[name].unit if name in answer.domain.names else ""
    title = _HEADINGS.get(name, name)
    return f"{title} ({unit})" if unit else title


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
    told = f"This is the certificate of all answers together. {proof(plan.certificate)}"
    yield f"{told} {witness(plan.certificate, plan.policy.domain)}".strip()
    alone = sum((item.epsilon for item in plan), Fraction(0))
    if len(plan) > 1 and alone > plan.epsilon and not plan.certificate.delta:
        yield (
            f"Each released alone, the answers would lose {epsilon_text(alone)} when added up, which is more. "
            "They need not add up: the step that is worst for one answer may hardly touch another. The "
            "certificate is computed for all answers at once, over every step that the policy protects."
        )
    charged = stated_number(release.charged)
    if charged != plan.epsilon:
        yield (
            f"{epsilon_text(charged)} was charged to the data set's budget: what this release adds to the loss of "
            "those before it, under the policy that governs the data set."
        )
