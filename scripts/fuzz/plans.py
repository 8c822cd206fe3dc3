"""Policies that somebody might write, planned: every kind of question x secrets x budgets x wanted errors.

Every plan ends within thirty seconds of processor time, or is refused with what to change.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tetraodon as td
from scripts.fuzz.cases import main

Document = dict[str, Any]
NUMBERS = ("age", "pay", "share", "zero")
ORDERED = (*NUMBERS, "day", "grade")
WORDS = ("sex", "region", "ill")
GROUPED = {
    "count",
    "histogram",
    "cdf",
    "total",
    "mean",
    "variance",
    "standard deviation",
    "proportion",
    "ratio",
    "median",
}
"""Kinds of question that are mostly asked by groups; others now and then, to be refused."""
WEIGHTED = {"count", "histogram", "total", "mean", "proportion"}
WHOLE_TABLE = {"people", "synthetic", "kmeans"}
PER_PERSON = {"people", "total per person", "mean per person"}


def attributes(dice: random.Random) -> Document:
    """Five to eight attributes of all types, small and large."""
    top = dice.choice([1, 9, 99, 1000, 10**5])
    step = dice.choice(["0.01", "0.1", "0.5", "1"])
    return {
        "age": {"integer": [dice.choice([0, 1, 17]), 17 + dice.choice([1, 9, 73, 983])]},
        "pay": {"integer": [dice.choice([0, 1, -5]), top + 1]},
        "share": {"real": [0, dice.choice([1, 50])], "step": step},
        "zero": {"integer": [0, dice.choice([0, 0, 1])]},
        "day": {"date": ["2026-01-01", dice.choice(["2026-01-07", "2026-12-31"])]},
        "grade": {"ordered": ["low", "middle", "high"]},
        "sex": ["f", "m"],
        "region": {"tree": {"East": ["on", "qc"], "West": ["bc", "ab"]}, "levels": ["side"]},
        "ill": {"boolean": True},
    }


def secret(dice: random.Random, name: str, declared: Any) -> Any:
    """A secret that the attribute may have; now and then one that it may not."""
    forms: list[Any] = ["everything", "everything", "public"]
    if name in ("age", "pay", "share"):
        forms += [{"within": dice.choice([1, 2, 5, 50])}, {"within": dice.choice(["10%", "50%", "200%"])}]
    if name == "day":
        forms.append({"within": dice.choice([1, 30])})
    if name == "grade":
        forms += [{"within": 1}, {"pairs": [["low", "middle"]]}]
    if name == "region":
        forms += [{"level": "side"}, {"blocks": [["on", "bc"], ["qc", "ab"]]}]
    if name == "age":
        low, high = declared["integer"]
        forms.append({"blocks": [[low, low], [low + 1, high]]})
    return dice.choice(forms)


def condition(dice: random.Random) -> str:
    forms = (
        "sex = 'f'",
        "age > 17",
        "pay >= 1",
        "ill = true",
        "region in ('on', 'bc')",
        "grade <> 'low'",
        "share < 0.5",
    )
    one, two = dice.choice(forms), dice.choice(forms)
    return dice.choice([one, one, f"{one} and {two}", f"{one} or not {two}", "zero = 0"])


def item(dice: random.Random, name: str) -> Document:
    """One question of any kind, with some of its options."""
    some, other = dice.sample(NUMBERS if dice.random() < 0.2 else NUMBERS[:3], 2)
    shape: Document = dice.choice([{}, {}, {"shape": "sparse"}])
    few = dice.sample((*ORDERED, *WORDS, "side"), dice.choice([1, 1, 2, 2, 3, 4]))
    kinds: tuple[Callable[[], Document], ...] = (
        lambda: {"count": dice.choice(["all", condition(dice)])},
        lambda: {"histogram": few},
        lambda: {"histogram": "age", "bins": {"age": dice.choice([1, 2, 10])}},
        lambda: {"cdf": dice.choice(ORDERED), **shape},
        lambda: {"ranges": dice.choice(ORDERED), **shape},
        lambda: {dice.choice(["total", "mean", "variance", "standard deviation"]): some},
        lambda: {dice.choice(["total", "mean"]): some, "noise": dice.choice(["each record", "levels"])},
        lambda: {"proportion": condition(dice)},
        lambda: {"ratio": [some, other]},
        lambda: {dice.choice(["covariance", "correlation"]): [some, other]},
        lambda: {"regression": some, "on": [other, "sex"][: dice.randint(1, 2)]},
        lambda: {"median": dice.choice(ORDERED), **dice.choice([{}, {"bounds": False}])},
        lambda: {"quantiles": dice.choice(ORDERED), "at": dice.choice([[0.5], [0.1, 0.5, 0.9], [0, 1]])},
        lambda: {"rectangles": [some, dice.choice(ORDERED)], **shape},
        lambda: {"kmeans": [some, other], "clusters": dice.choice([1, 4])},
        lambda: {"synthetic": {"records": dice.choice([1, 1000]), "attributes": few, "tables": dice.choice([1, 2])}},
        lambda: {"people": dice.choice(["all", "by rows"])},
        lambda: {dice.choice(["total per person", "mean per person"]): some, "cap": dice.choice([1, 80])},
    )
    made = {"name": name, **dice.choice(kinds)()}
    if dice.random() < (0.5 if GROUPED & made.keys() else 0.02):
        made["by"] = dice.sample((*WORDS, "side", "grade", "zero"), dice.choice([1, 1, 2]))
    if dice.random() < (0.02 if WHOLE_TABLE & made.keys() else 0.25):
        made["where"] = condition(dice)
    if dice.random() < 0.2:
        made["share"] = dice.choice([2, "1/3", 1000])
    if dice.random() < (0.2 if WEIGHTED & made.keys() else 0.01):
        made["weight"] = some
    if dice.random() < 0.05:
        made["whole"] = False
    if dice.random() < 0.05:
        made["error"] = dice.choice([50, "5% from 1000", {"within": "0.5", "records": 500}])
    return made


def policy(dice: random.Random) -> Document:
    """A policy over all keys that change a plan."""
    declared = attributes(dice)
    for one in declared.values():
        if isinstance(one, dict) and dice.random() < 0.1:
            one["missing"] = "separate"
    items = [item(dice, f"item{number}") for number in range(dice.choice([1, 1, 1, 2, 3, 5]))]
    keyed = any(PER_PERSON & one.keys() for one in items)
    made: Document = {"dataset": "d", "attributes": declared, "release": items}
    if dice.random() < 0.6:
        made["secrets"] = {name: secret(dice, name, one) for name, one in declared.items() if dice.random() < 0.8}
    elif dice.random() < 0.3:
        made["secrets"] = "none but presence"
    if dice.random() < 0.6:
        made["together"] = dice.choice(["one attribute at a time", "all at once", {"at most": 2}])
    elif dice.random() < 0.2:
        made["together"] = {"metric": dice.choice(["l1", "l2", "linf"]), "over": ["age", "share"], "within": 2}
        made["secrets"] = {"sex": "public"}
    made["presence"] = dice.choice(["public", "secret", "secret"])
    beside = dice.random()
    if beside < 0.2 or (keyed and beside < 0.95):
        made["individuals"] = {"key": "person", dice.choice(["at most", "at most", "secret"]): dice.choice([1, 2, 100])}
    elif beside < 0.35:
        made["attackers"] = [{"groups": "home", "at most": dice.choice([1, 3])}]
    elif beside < 0.5:
        made["known"] = dice.choice(
            [[{"count": "all"}], [{"marginal": ["sex"]}], [{"marginal": ["sex", "ill"]}], [{"count": condition(dice)}]]
        )
    elif beside < 0.65:
        rules = {"f": dice.choice(["none", {"secrets": {"age": {"within": dice.choice([20, "20%"])}}}])}
        made["secrets"] = {**(made["secrets"] if isinstance(made.get("secrets"), dict) else {}), "sex": "public"}
        made["groups"] = {"by": "sex", "rules": rules}
    made["budget"] = dice.choice(
        [
            {"epsilon": 1},
            {"epsilon": "0.001"},
            {"epsilon": 20},
            {"epsilon": 1, "delta": "1e-6"},
            {"epsilon": 1, "delta": "1e-6", "once": True},
            {"rho": "0.1"},
        ]
    )
    return made


def case(dice: random.Random, folder: Path) -> object:  # noqa: ARG001
    """One policy, planned for its budget or for a wanted error."""
    read = td.load_policy(policy(dice))
    if dice.random() < 0.3:
        error = dice.choice([50, 0.5, 10**6, "5% from 1000", "50% from 3"])
        return td.plan_for_error(read, error, records=dice.choice([None, 1, 5000]))
    return td.plan(read)


if __name__ == "__main__":
    main(case, __doc__ or "", seconds=30, megabytes=2000)
