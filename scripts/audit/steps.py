"""What one secret step of one record is, from the words of `docs/policy-file.md`."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from scripts.audit.values import Attribute, decimals, literal

Record = tuple[Any, ...]
Joined = Callable[[Any, Any], bool]


@dataclass(frozen=True, slots=True)
class Secret:
    """Which two different values of one attribute are a secret, and how a policy file says so."""

    joined: Joined
    declared: Any


@dataclass(frozen=True, slots=True)
class Steps:
    """Which records are one step apart. `metric` is (name, attributes, within), with `at_most` unbounded then."""

    attributes: tuple[Attribute, ...]
    secrets: Mapping[str, Secret]
    at_most: int
    metric: tuple[str, tuple[str, ...], Fraction] | None = None
    together: Any = None
    by: str = ""
    rules: Mapping[Any, Steps | None] = field(default_factory=dict)

    def edge(self, x: Record, y: Record) -> bool:
        """Whether two records are a secret."""
        if x == y:
            return False
        names = [a.name for a in self.attributes]
        if self.by:
            here, there = x[names.index(self.by)], y[names.index(self.by)]
            if here != there:
                return False
            if here in self.rules:
                rule = self.rules[here]
                return rule is not None and rule.edge(x, y)
        changed = {a.name: (u, v) for a, u, v in zip(self.attributes, x, y, strict=True) if u != v}
        jointly = self.metric[1] if self.metric else ()
        if any(not self.secrets[name].joined(*pair) for name, pair in changed.items() if name not in jointly):
            return False
        if self.metric is None:
            return len(changed) <= self.at_most
        gaps = [
            abs(Fraction(changed[name][0]) - Fraction(changed[name][1])) if name in changed else 0 for name in jointly
        ]
        kind, _, within = self.metric
        if kind == "l2":
            return sum(gap**2 for gap in gaps) <= within**2
        return (sum(gaps) if kind == "l1" else max(gaps)) <= within

    def minds(self, x: Record) -> bool:
        """Whether a record is of somebody who has secrets at all, such as being in the data."""
        if not self.by:
            return True
        return self.rules.get(x[[a.name for a in self.attributes].index(self.by)], self) is not None


def make_secret(dice: random.Random, attribute: Attribute) -> Secret:
    """The secrets of one attribute, in any form."""
    forms = ["everything", "public", "blocks", "pairs", *["within"] * 3 * attribute.ordered]
    form, values = dice.choice(forms), attribute.values
    if form == "everything":
        return Secret(lambda _, __: True, dice.choice(["everything", {"everything": True}]))
    if form == "public":
        return Secret(lambda _, __: False, dice.choice(["public", {"public": True}]))
    if form == "within":
        reach = attribute.step * dice.randint(1, len(values)) * dice.choice([1, 1, Fraction(3, 2)])
        if not attribute.numeric:
            reach = Fraction(math.floor(reach))
        return Secret(lambda x, y: abs(attribute.number(x) - attribute.number(y)) <= reach, {"within": decimals(reach)})
    if form == "pairs":
        every = [(x, y) for n, x in enumerate(values) for y in values[n + 1 :]]
        pairs = dice.sample(every, dice.randint(1, min(3, len(every))))
        found = {frozenset(pair) for pair in pairs}
        return Secret(lambda x, y: frozenset((x, y)) in found, {"pairs": [list(map(literal, pair)) for pair in pairs]})
    blocks = make_blocks(dice, attribute)
    shown = [block_in_file(attribute, block) for block in blocks]
    return Secret(lambda x, y: any(x in block and y in block for block in blocks), {"blocks": shown})


def block_in_file(attribute: Attribute, block: tuple[Any, ...]) -> list[Any]:
    """A block as a policy file has it: numbers and dates by their ends."""
    if attribute.numeric or attribute.kind == "date":
        return [literal(block[0]), literal(block[-1])]
    return list(block)


def make_blocks(dice: random.Random, attribute: Attribute) -> list[tuple[Any, ...]]:
    """All values of an attribute in one or two blocks; of those with an order, runs of them."""
    values = list(attribute.values)
    if not attribute.ordered:
        dice.shuffle(values)
    cut = dice.randint(1, len(values) - 1)
    return [tuple(values[:cut]), tuple(values[cut:])]


def make_steps(dice: random.Random, attributes: tuple[Attribute, ...]) -> Steps:
    """Secrets of all attributes, and how many of them change together."""
    secrets = {a.name: make_secret(dice, a) for a in attributes}
    for name in list(secrets):  # left out of the file: wholly secret
        if dice.random() < 0.15:
            secrets[name] = Secret(lambda _, __: True, None)
    count = len(attributes)
    numeric = [a.name for a in attributes if a.numeric]
    if len(numeric) > 1 and dice.random() < 0.35:
        over = tuple(dice.sample(numeric, dice.randint(2, len(numeric))))
        least = min(a.step for a in attributes if a.name in over)
        within, kind = least * dice.randint(1, 4), dice.choice(["l1", "l2", "linf"])
        for name in over:
            secrets[name] = Secret(lambda _, __: False, None)
        told: Any = {"metric": kind, "over": list(over), "within": decimals(within)}
        return Steps(attributes, secrets, count, (kind, over, within), told)
    at_most = dice.randint(1, count)
    told = {1: "one attribute at a time", count: "all at once"}.get(at_most, {"at most": at_most})
    if at_most == count:
        told = dice.choice(["all at once", None])
    return Steps(attributes, secrets, at_most, None, told)


def with_groups(dice: random.Random, steps: Steps) -> tuple[Steps, Any]:
    """People with secrets of their own, by one of the attributes, which becomes public; and the key `groups`."""
    free = [a for a in steps.attributes if not (steps.metric and a.name in steps.metric[1])]
    if not free:
        return steps, None
    by = dice.choice(free)
    secrets = {**steps.secrets, by.name: Secret(lambda _, __: False, "public")}
    base = replace(steps, secrets=secrets)
    rules: dict[Any, Steps | None] = {}
    told: dict[Any, Any] = {}
    for value in dice.sample(by.values, dice.randint(1, min(2, len(by.values)))):
        shown = str(literal(value)).lower() if isinstance(value, bool) else str(literal(value))
        if dice.random() < 0.3:
            rules[value], told[shown] = None, "none"
            continue
        own, changed = dict(secrets), {}
        for attribute in free:
            if attribute is not by and dice.random() < 0.7:
                own[attribute.name] = made = make_secret(dice, attribute)
                changed[attribute.name] = made.declared
        at_most, rule = steps.at_most, {"secrets": changed} if changed else {}
        if steps.metric is None and dice.random() < 0.4:
            at_most = dice.randint(1, len(steps.attributes))
            rule["together"] = {"at most": at_most}
        if rule:
            rules[value], told[shown] = replace(base, secrets=own, at_most=at_most), rule
    if not told:
        return steps, None
    return replace(base, by=by.name, rules=rules), {"by": by.name, "rules": told}


def in_file(steps: Steps) -> dict[str, Any]:
    """The key `secrets` of the file."""
    return {name: secret.declared for name, secret in steps.secrets.items() if secret.declared is not None}
