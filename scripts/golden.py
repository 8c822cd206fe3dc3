"""Golden figures: the plans, certificates and expected errors of some 450 policies over all features.

    python -m scripts.golden                 # plan every recorded policy again, and list what differs
    python -m scripts.golden --write         # record the figures as they are now
    python -m scripts.golden --make --write  # draw the policies anew, too

A change that should only move code keeps every figure. A change that improves a plan shows here which ones, and by how
much; it records the new figures and says why in the change log. `tests/test_golden.py` compares them.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import tetraodon as td
from scripts.audit.worlds import make_world
from scripts.fuzz.plans import policy as any_policy
from tetraodon.releases.codec import certificate_document
from tetraodon.views.plan import ViewPlan, plan_view

Document = dict[str, Any]
FILE = Path(__file__).parent.parent / "tests" / "data" / "golden.jsonl"
DIGITS = 9
"""Errors agree to so many digits; certificates and scales agree exactly."""
DESCENT = 1e-3
"""How far, relatively, errors may be apart that follow from weights found by descent: their digits depend on the
processor, while scales, weights in whole numbers and certificates follow from each other exactly."""


def figures(document: Document) -> Document:
    """What is planned and certified for a policy, or the error that refuses it."""
    try:
        policy = td.load_policy(document)
        if policy.adversary is not None:
            return _view(plan_view(policy))
        plan = td.plan(policy)
    except td.errors.TetraodonError as refusal:
        return {"refused": type(refusal).__name__}
    return {
        "certificate": _certificate(plan.certificate, plan.policy.domain),
        "items": [
            {
                "mechanism": item.mechanism,
                "scale": str(item.scale),
                "measurements": len(item.measurements),
                "certificate": _certificate(item.certificate, plan.policy.domain),
                "error": f"{item.expected_error:.{DIGITS}g}",
                "baseline": f"{item.baseline_error:.{DIGITS}g}",
            }
            for item in plan
        ],
    }


def _certificate(certificate: Any, domain: Any) -> Document:
    document = certificate_document(certificate, domain)
    return {key: document[key] for key in ("epsilon_exact", "rho_exact", "delta", "exact") if key in document}


def _view(plan: ViewPlan) -> Document:
    odds = [str(plan.channel.keep), str(plan.channel.added_per_tuple)]
    return {"view": odds, "certificate": _certificate(plan.certificate(plan.policy), plan.policy.domain)}


# -- which policies ----------------------------------------------------------------------------------


def policies() -> Iterator[Document]:
    """Random policies of the plan fuzzer and of the audit, and a grid over what they draw too rarely."""
    dice = random.Random("golden")
    for _ in range(230):
        yield any_policy(dice)
    for _ in range(150):
        yield make_world(dice).document
    yield from grid()


def grid() -> Iterator[Document]:
    """One attribute of 200 values, a map, and twelve binary attributes, under every kind of secret and budget."""
    secrets: list[Document] = [{"x": "everything"}, {"x": {"within": 1}}, {"x": {"within": 25}}]
    budgets: list[Document] = [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}]
    for secret, budget, presence, item in product(
        secrets, budgets, ("public", "secret"), ({"histogram": "x"}, {"cdf": "x"}, {"ranges": "x"}, {"median": "x"})
    ):
        yield _policy({"x": {"integer": [0, 199]}}, secret, [item], budget=budget, presence=presence)
    places = {"lat": {"integer": [0, 31]}, "lon": {"integer": [0, 31]}}
    for within, budget in product((1, 4), budgets):
        near = {"metric": "l1", "over": ["lat", "lon"], "within": within}
        yield _policy(places, {}, [{"rectangles": ["lat", "lon"]}], budget=budget, together=near)
    pairs = [{"histogram": [f"a{i}", f"a{j}"]} for i in range(6) for j in range(i)]
    for budget, together in product(budgets, ("one attribute at a time", "all at once")):
        yield _policy({f"a{i}": {"boolean": True} for i in range(6)}, {}, pairs, budget=budget, together=together)
    people = {"age": {"integer": [0, 99]}, "ward": ["a", "b", "c"], "ill": {"boolean": True}}
    shown = [{"histogram": ["ward", "ill"]}, {"mean": "age", "by": "ward"}]
    beside: list[Document] = [
        {"attackers": [{"contacts": {"at most": 5, "influence": "1.2", "source": "a survey"}}]},
        {"attackers": [{"groups": "home", "at most": 4}]},
        {"individuals": {"key": "person", "at most": 3}},
        {"individuals": {"key": "person", "secret": "2 rows"}},
        {"known": [{"marginal": ["ward"]}]},
        {"known": [{"count": "ill"}, {"marginal": ["ward"]}]},
        {"known": [{"count": "ward = 'a'", "at most": 100}]},
        {"known": [{"count": "ward = 'a'", "at most": 100}, {"count": "ward = 'b'", "at most": 50}]},
        {"secrets": {"age": {"within": "10%"}}},
        {"secrets": {"age": {"within": 5}, "ward": "public"}, "groups": {"by": "ward", "rules": {"c": "none"}}},
        {"adversary": {"prior": {"k": 2}, "posterior": "0.5", "records": 120}, "release": []},
        {"adversary": {"prior": {"d": "0.01"}, "posterior": "0.2", "views": 3}, "release": []},
    ]
    for more, budget in product(beside, budgets):
        yield _policy(people, {}, shown, budget=budget) | more


def _policy(attributes: Document, secrets: Document, items: list[Document], **rest: Any) -> Document:
    named = [{"name": f"item{number}", **item} for number, item in enumerate(items)]
    return {"dataset": "d", "attributes": attributes, "secrets": secrets, "release": named} | rest


# -- recorded and compared ---------------------------------------------------------------------------


def recorded() -> list[tuple[Document, Document]]:
    """Every recorded policy with its figures."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return [(one["policy"], one["figures"]) for one in map(json.loads, lines)]


def agree(before: Document, now: Document) -> bool:
    """Whether the figures of a policy are as they were recorded."""
    if len(before.get("items", ())) != len(now.get("items", ())):
        return False
    by_descent = [
        (old, new)
        for old, new in zip(before.get("items", ()), now.get("items", ()), strict=True)
        if old["mechanism"] == new["mechanism"] == "weighted"
    ]
    for old, new in by_descent:
        if not all(math.isclose(float(old[key]), float(new[key]), rel_tol=DESCENT) for key in ("error", "baseline")):
            return False
        new |= {key: old[key] for key in ("error", "baseline")}
    return before == now


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--make", action="store_true", help="draw the policies anew")
    parser.add_argument("--write", action="store_true", help="record the figures as they are now")
    options = parser.parse_args()
    before = [(document, None) for document in policies()] if options.make else recorded()
    now = [(document, figures(document)) for document, _ in before]
    for (document, old), (_, new) in zip(before, now, strict=True):
        if old is not None and not agree(old, new):
            print(json.dumps({"policy": document, "before": old, "now": new}, default=str))
    if options.write:
        lines = [json.dumps({"policy": document, "figures": found}, default=str) for document, found in now]
        FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    refused = sum("refused" in found for _, found in now)
    print(f"{len(now)} policies, {refused} of them refused")


if __name__ == "__main__":
    main()
