"""The report: one page that opens offline, with the promise in words and every answer with its error bars.

Nothing on it comes from anywhere but the plan, the released answers and the policy. The page may run only the scripts
whose hashes it names, and may load nothing: what the policy file calls its categories stays text.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path

from tetraodon.policy.examples import Example
from tetraodon.policy.explain import Explanation, Part, explain
from tetraodon.policy.words import listing, percent, times
from tetraodon.releasing.answer import Answer
from tetraodon.releasing.chart import chart_spec
from tetraodon.releasing.release import Release
from tetraodon.releasing.report_element import Html, data_block, element, joined, script
from tetraodon.releasing.report_table import answer_table, date_text
from tetraodon.releasing.report_vega import vega_bundle
from tetraodon.releasing.report_words import baseline, epsilon_text, error, mechanism, proof, question

_FOLDER = Path(__file__).parent


def report_html(release: Release) -> str:
    """The whole page.

    Post  it refers to nothing outside its folder; no text of the policy file is ever read as HTML or as a script.
    """
    policy = release.plan.policy
    title = policy.title or policy.dataset
    specs = {answer.name: chart_spec(answer) for answer in release}
    main = element("main", *_promise(explain(policy)), *_answers(release), *_together(release), *_reading(release))
    scripts = []
    if any(spec is not None for spec in specs.values()):
        scripts.append(vega_bundle())
    scripts.append((_FOLDER / "report.js").read_text(encoding="utf-8"))
    made = [script(code) for code in scripts]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_rules(made)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Html((_FOLDER / "report.css").read_text(encoding="utf-8"))),
    )
    body = element("body", _header(release, title), main, _footer(), *made)
    return "<!doctype html>\n" + element("html", head, body, lang="en")


def _rules(scripts: list[Html]) -> str:
    """What a browser may do with the page: run these scripts, and nothing else."""
    codes = [text[len("<script>") : -len("</script>")] for text in scripts]
    hashes = [base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in codes]
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"


def _header(release: Release, title: str) -> Html:
    plan, policy = release.plan, release.plan.policy
    facts = {
        "Data set": policy.dataset,
        "Released": date_text(release.when),
        "Epsilon of the release": epsilon_text(plan.epsilon),
        "Charged to the budget": release.charged,
        "Answers": str(len(release)),
    }
    links = [("promise", "The promise"), *((f"answer-{a.name}", a.name) for a in release)]
    links += [("together", "The release as a whole"), ("reading", "How to read and check it")]
    return element(
        "header",
        element("p", "A privacy-protected release, made with Tetraodon", class_="over"),
        element("h1", title),
        element("dl", *(element("div", element("dt", k), element("dd", v)) for k, v in facts.items()), class_="facts"),
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
    heads = ("One record says", "another says", "steps apart", "odds move at most", "truthful answer at most")
    rows = joined(element("tr", *(element("td", cell) for cell in _example(example))) for example in part.examples)
    table = element(
        "table",
        element("caption", f"{part.title}: examples, near and far"),
        element("thead", element("tr", *(element("th", head, scope="col") for head in heads))),
        element("tbody", rows),
    )
    return element(
        "div", table, class_="scroll short", tabindex="0", role="region", aria_label=f"Examples: {part.title}"
    )


def _example(example: Example) -> tuple[str, ...]:
    if example.steps is None or example.odds is None or example.chance is None:
        return example.x, example.y, "no chain of steps", "not protected", "not protected"
    return example.x, example.y, str(example.steps), f"{times(example.odds)} times", percent(example.chance)


def _answers(release: Release) -> Iterator[Html]:
    policy = release.plan.policy
    for answer in release:
        item, domain = answer.item, answer.domain
        facts = {
            "How it was answered": mechanism(item, domain),
            "Expected error": error(item, domain),
            "Plain differential privacy": baseline(item, policy),
            "Certificate": proof(item.certificate, domain),
        }
        yield element(
            "section",
            element("h2", f"Answer: {answer.name}"),
            element("p", question(item.item.query, domain)),
            _figure(answer),
            element(
                "details", element("summary", "Table of the numbers"), answer_table(answer), class_="closes", open=True
            ),
            element("dl", *(Html(element("dt", k) + element("dd", v)) for k, v in facts.items()), class_="about"),
            id=f"answer-{answer.name}",
        )


def _figure(answer: Answer) -> Html:
    spec = chart_spec(answer)
    if spec is None:
        return element("p", "This answer has too many attributes for a chart; the table below holds the numbers.")
    place = f"spec-{answer.name}"
    told = str(spec["description"])
    return element(
        "figure",
        data_block(spec, id=place),
        element("div", class_="chart", data_spec=place, role="img", aria_label=told),
        element("noscript", element("p", "The chart needs JavaScript; the table below holds the same numbers.")),
        element("figcaption", told),
    )


def _together(release: Release) -> Iterator[Html]:
    plan = release.plan
    domain = plan.policy.domain
    yield element("h2", "The release as a whole", id="together")
    yield element("p", f"All answers together: {proof(plan.certificate, domain)}")
    alone = sum((item.epsilon for item in plan), start=plan.epsilon * 0)
    if len(plan) > 1 and alone > plan.epsilon:
        yield element(
            "p",
            f"The epsilons of the answers, each released alone, add up to {epsilon_text(alone)}, which is more. They need "
            "not add up: the step that is worst for one answer may not touch another. The certificate is computed for all "
            "answers at once, over every step that the policy protects.",
        )
    if release.charged != epsilon_text(plan.epsilon):
        yield element(
            "p",
            f"{release.charged} was charged to the data set's budget: that is the loss of this release under the policy "
            "that governs the data set.",
        )


def _reading(release: Release) -> Iterator[Html]:
    yield element("h2", "How to read and check it", id="reading")
    yield element("h3", "The 95% intervals")
    yield element(
        "p",
        "Every number comes with a lower and an upper end. The true number lies between them with a probability of at "
        "least 95%. That holds for each number alone: of many numbers, about one in twenty may lie outside.",
    )
    yield element(
        "p",
        "The intervals are about the noise that was added, and about nothing else: not about who was asked, who answered, "
        "or what they said.",
    )
    yield element("h3", "Numbers that agree")
    yield element(
        "p",
        "Answers that share a total were adjusted so that they agree on it, and running counts so that they never fall. "
        "The adjustment uses only the noisy numbers, so it costs no privacy. It is why a number need not lie in the middle "
        "of its interval, and need not be whole.",
    )
    whole = [answer.name for answer in release if answer.item.item.whole and answer.item.strategy.noisy]
    if whole:
        yield element("h3", "Whole numbers and their bias")
        yield element(
            "p",
            f"{listing(whole)}: whole numbers, none below zero, were asked for. Negative counts became zero and the surplus "
            "was taken from the others. So small counts are too large on average and large ones too small: do not add up "
            "many small counts, and do not test whether a count is zero.",
            class_="warn",
        )
    yield element("h3", "Checking it")
    yield element(
        "p",
        element("code", "tetraodon verify FOLDER"),
        " recomputes every certificate, every answer from its noisy measurements, and the hash of every file, without the "
        "data. The hashes, and the whole mechanism with its parameters, are in ",
        element("code", "release.json"),
        "; the policy is in ",
        element("code", "policy.yaml"),
        ".",
    )


def _footer() -> Html:
    return element("footer", element("p", "This page loads nothing from the network and sends nothing anywhere."))
