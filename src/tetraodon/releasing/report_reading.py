"""The end of the report: what holds for all answers together, how to read the numbers, and how to check them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tetraodon.policy.words import listing
from tetraodon.releasing.release import Release
from tetraodon.releasing.report_element import Html, element
from tetraodon.releasing.report_words import epsilon_text, proof, witness


def together(release: Release) -> Iterator[Html]:
    """The certificate of the whole release, and why the answers' own need not add up to it."""
    plan = release.plan
    domain = plan.policy.domain
    yield element("h2", "The release as a whole", id="together")
    told = f"This is the certificate of all answers together. {proof(plan.certificate)}"
    yield element("p", f"{told} {witness(plan.certificate, domain)}".strip())
    alone = sum((item.epsilon for item in plan), Fraction(0))
    if len(plan) > 1 and alone > plan.epsilon and not plan.certificate.delta:
        yield element(
            "p",
            f"Each released alone, the answers would lose {epsilon_text(alone)} when added up, which is more. "
            "They need not add up: the step that is worst for one answer may hardly touch another. The "
            "certificate is computed for all answers at once, over every step that the policy protects.",
        )
    if release.charged != epsilon_text(plan.epsilon):
        yield element(
            "p",
            f"{release.charged} was charged to the data set's budget: the loss of this release under the policy "
            "that governs the data set.",
        )


def reading(release: Release) -> Iterator[Html]:
    """What the intervals mean, what was adjusted, and how to check everything."""
    yield element("h2", "How to read and check it", id="reading")
    yield element("h3", "The 95% intervals")
    yield element(
        "p",
        "Every number comes with a lower and an upper end. The true number lies between them with a probability "
        "of at least 95%. That holds for each number alone, not for all of them at the same time: of many "
        "numbers, up to one in twenty can be expected to lie outside.",
    )
    yield element(
        "p",
        "The intervals are about the noise that was added, and about nothing else: not about who was asked, who "
        "answered, or what they said.",
    )
    yield element("h3", "Numbers that agree")
    yield element(
        "p",
        "Answers were made consistent: tables that share a total agree on it, and running counts never fall. "
        "That uses only the noisy numbers, so it costs no privacy. It is why a number need not lie in the middle "
        "of its interval, and need not be whole.",
    )
    yield from _whole(release)
    yield element("h3", "Checking it")
    yield element(
        "p",
        element("code", "tetraodon verify FOLDER"),
        " recomputes every certificate, every answer from its noisy measurements, and the hash of every file, "
        "without the data. The hashes, and the whole mechanism with its parameters, are in ",
        element("code", "release.json"),
        "; the policy is in ",
        element("code", "policy.yaml"),
        ".",
    )


def _whole(release: Release) -> Iterator[Html]:
    names = [answer.name for answer in release if answer.item.item.whole and answer.item.strategy.noisy]
    if names:
        yield element("h3", "Whole numbers and their bias")
        yield element(
            "p",
            f"In {listing(names)}, whole numbers and none below zero were asked for. Where noise had made a count "
            "negative it became zero, and where that left too many, the surplus was taken from the other counts. "
            "So small counts are too large on average, and large ones too small; and totals that are shared with other "
            "answers may differ a little. Do not add up many small counts, and do not take a small count as a "
            "sign that there is anybody.",
            class_="warn",
        )
