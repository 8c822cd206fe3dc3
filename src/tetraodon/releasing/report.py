"""The report: one page that opens offline, with the promise in words and every answer with its error bars.

Nothing on it comes from anywhere but the policy, the plan and the released answers. The page may run only the scripts
whose hashes it names, and may load nothing: whatever a policy file calls its categories stays text.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from tetraodon.policy.examples import Example
from tetraodon.policy.explain import Explanation, Part, explain
from tetraodon.policy.words import HOPELESS, WORTHLESS, percent, times
from tetraodon.releasing.answer import Answer
from tetraodon.releasing.chart import chart_spec
from tetraodon.releasing.release import Release
from tetraodon.releasing.report_element import Html, data_block, element, joined, script
from tetraodon.releasing.report_marks import Spec
from tetraodon.releasing.report_reading import reading, together
from tetraodon.releasing.report_table import answer_table, date_text, headline
from tetraodon.releasing.report_vega import vega_bundle
from tetraodon.releasing.report_words import baseline, epsilon_text, error, mechanism, proof, question, witness

_FOLDER = Path(__file__).parent


def report_html(release: Release) -> str:
    """The whole page.

    Post  it refers to nothing outside its folder; no text of the policy file is ever read as HTML or as a script.
    """
    policy = release.plan.policy
    title = policy.title or policy.dataset
    specs = {answer.name: chart_spec(answer) for answer in release}
    parts = [_promise(explain(policy)), _answers(release, specs), together(release), reading(release)]
    drawing = [vega_bundle()] if any(spec is not None for spec in specs.values()) else []
    codes = [*drawing, _file("report.js")]
    body = [_header(release, title), element("main", *(piece for part in parts for piece in part))]
    return page(title, body, codes)


def page(title: str, body: Sequence[Html], codes: Sequence[str] = ()) -> str:
    """A page that loads nothing and runs only the given scripts."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_rules(codes)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Html(_file("report.css"))),
    )
    footer = element("footer", element("p", "This page loads nothing from the network and sends nothing anywhere."))
    whole = element("html", head, element("body", *body, footer, *map(script, codes)), lang="en")
    return f"<!doctype html>\n{whole}\n"


def _file(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _rules(codes: Sequence[str]) -> str:
    """What a browser may do with the page: run these scripts, and nothing else."""
    hashes = (base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in codes)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes) or "'none'"
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"


def _at_delta(delta: Fraction) -> str:
    return f" at delta {float(delta):g}" if delta else ""


def _header(release: Release, title: str) -> Html:
    plan, policy = release.plan, release.plan.policy
    facts = {
        "Data set": policy.dataset,
        "Released": date_text(release.when),
        "Epsilon of the release": epsilon_text(plan.epsilon) + _at_delta(plan.certificate.delta),
        "Charged to the budget": release.charged,
        "Answers": str(len(release)),
    }
    links = [("promise", "The promise"), *((f"answer-{answer.name}", answer.name) for answer in release)]
    links += [("together", "The release as a whole"), ("reading", "How to read and check it")]
    boxes = (element("div", element("dt", word), element("dd", fact)) for word, fact in facts.items())
    return element(
        "header",
        element("p", "A release that keeps a privacy promise, made with Tetraodon", class_="over"),
        element("h1", title),
        element("dl", *boxes, class_="facts"),
        element(
            "nav",
            element("ul", *(element("li", element("a", text, href=f"#{place}")) for place, text in links)),
            aria_label="On this page",
        ),
    )


def _promise(explanation: Explanation) -> Iterator[Html]:
    for number, part in enumerate(explanation.parts):
        yield element("h2", part.title, id="promise") if number == 0 else element("h3", part.title)
        yield from (element("p", sentence) for sentence in part.sentences)
        if part.examples:
            yield _examples(part)


def _examples(part: Part) -> Html:
    heads = ("One record says", "another says", "steps apart", "odds move at most", "truthful answer, at most")
    rows = joined(element("tr", *(element("td", cell) for cell in _example(example))) for example in part.examples)
    label = f"{part.title}: examples, near and far"
    table = element(
        "table",
        element("caption", label),
        element("thead", element("tr", *(element("th", head, scope="col") for head in heads))),
        element("tbody", rows),
    )
    return element("div", table, class_="scroll short", tabindex="0", role="region", aria_label=label)


def _example(example: Example) -> tuple[str, ...]:
    if example.steps is None or example.odds is None or example.chance is None:
        return example.x, example.y, "no chain of steps", "not protected", "not protected"
    odds = f"{times(example.odds)} times" if example.odds <= HOPELESS else "more than 1e+100 times"
    share = percent(example.chance) if example.odds <= WORTHLESS else "no protection worth the name"
    return example.x, example.y, str(example.steps), odds.replace("e+", " × 10^"), share


def _answers(release: Release, specs: Mapping[str, Spec | None]) -> Iterator[Html]:
    for answer in release:
        spec = specs[answer.name]
        closes = False if spec is None else "closes"
        yield element(
            "section",
            element("h2", f"Answer: {answer.name}"),
            element("p", question(answer.item.item.query, answer.domain)),
            *headline(answer),
            _figure(answer.name, spec),
            element("details", element("summary", "The numbers"), answer_table(answer), class_=closes, open=True),
            _facts(release, answer),
            id=f"answer-{answer.name}",
        )


def _facts(release: Release, answer: Answer) -> Html:
    item, domain = answer.item, answer.domain
    facts = {
        "How it was answered": mechanism(item, domain),
        "Expected error": error(item, domain),
        "Plain differential privacy": baseline(item, release.plan.policy),
        "Certificate": f"{proof(item.certificate)} {witness(item.certificate, domain)}".strip(),
    }
    return element("dl", *(joined([element("dt", k), element("dd", v)]) for k, v in facts.items()), class_="about")


def _figure(name: str, spec: Spec | None) -> Html:
    if spec is None:
        return element("p", "This answer has too many attributes or values for a chart; the table holds the numbers.")
    place = f"spec-{name}"
    return element(
        "figure",
        data_block(spec, id=place),
        element("div", class_="chart", data_spec=place, role="img", aria_label=str(spec["description"])),
        element("noscript", element("p", "The chart needs JavaScript; the table below holds the same numbers.")),
        element("figcaption", str(spec["usermeta"]["caption"])),
    )
