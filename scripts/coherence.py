"""Pairs of policies whose plans must be in a known order, and the pairs whose plans are not.

    python -m scripts.coherence --pairs 1000 --seed 1

Every relation draws policies from a seed and plans both of a pair. A weaker promise never errs more, the same promise
has the same plan, and no item errs more than alone with its share. A pair breaks its relation where an error is above
what it may be by more than 1%.

Of several items under a weaker promise one may err more than under the stronger one, where others gain: under one
attribute at a time two items may each have the whole budget, and where presence alone is a secret they share it. So
what is compared is the objective of the planner (docs/how-it-works.md), and only where the plan of the stronger
promise is one that it may take: no item errs more than alone under the weaker promise.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import tetraodon as td

Document: TypeAlias = dict[str, Any]
Errors: TypeAlias = dict[str, tuple[float, float]]
"""The error of every item of a plan, and alone with its share."""
TOLERANCE = 1.01
"""What an error may be of what it is compared with."""
CATEGORIES = {"c": 4, "d": 2}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two policies. For each item of the first, the items of the second that bound its error, by name.

    With `together`, errors may be exchanged for those of others: compared is the objective.
    """

    first: Document
    second: Document
    bounds: tuple[tuple[str, str], ...]
    together: bool = False


@dataclass(frozen=True, slots=True)
class Violation:
    """A pair that breaks its relation: by how much, at which item, and both errors."""

    relation: str
    ratio: float
    what: str
    pair: Pair


# -- policies ---------------------------------------------------------------------------------------


def attributes(dice: random.Random) -> Document:
    """Two numbers and two categories; the first number may be long."""
    return {
        "a": {"integer": [0, dice.choice([5, 12, 40, 100, 300, 1000]) - 1]},
        "b": {"integer": [0, dice.choice([3, 8, 20]) - 1]},
        **{name: [f"{name}{n}" for n in range(dice.randint(2, many))] for name, many in CATEGORIES.items()},
    }


def item(dice: random.Random) -> Document:
    """One question."""
    kinds: tuple[Callable[[], Document], ...] = (
        *(lambda: {"histogram": sorted(dice.sample("abcd", dice.choice([1, 1, 2, 2, 3])))},) * 4,
        lambda: {"cdf": "a"},
        lambda: {"ranges": "a"},
        lambda: {"cdf": dice.choice("ab"), "by": [dice.choice("cd")]},
        lambda: {"count": dice.choice(["all", "a > 2", "c = 'c0' and b < 2"])},
        lambda: {dice.choice(["total", "mean"]): dice.choice("ab")},
        lambda: {"median": "a"},
        lambda: {"quantiles": "a", "at": [0.1, 0.5, 0.9]},
        lambda: {"rectangles": ["a", "b"]},
    )
    return dice.choice(kinds)()


def policy(dice: random.Random, *, items: int, tables: bool = False) -> Document:
    """A policy that asks some questions, of `tables` only if wanted."""
    declared = attributes(dice)
    secrets: Document = {}
    for name in declared:
        top = declared[name]["integer"][1] if name in "ab" else 0
        near = [{"within": within} for within in (1, 2, 5, 20) if within < top]
        secrets[name] = dice.choice(["everything", "everything", "public", *near])
    if all(secret == "public" for secret in secrets.values()):
        secrets["a"] = "everything"
    asked = [item(dice) for _ in range(items)]
    if tables:
        declared["a"]["integer"][1] = min(declared["a"]["integer"][1], 39)
        asked = [{"histogram": sorted(dice.sample("abcd", dice.choice([1, 1, 2, 2, 3])))} for _ in range(items)]
    return {
        "dataset": "d",
        "attributes": declared,
        "secrets": dice.choice([secrets, secrets, secrets, "none but presence"]) if items else secrets,
        "together": dice.choice(["all at once", "one attribute at a time"]),
        "presence": dice.choice(["public", "secret"]),
        "budget": dice.choice([{"epsilon": 1}, {"epsilon": 1}, {"rho": "1/2"}]),
        "release": [{"name": f"q{number}", **one} for number, one in enumerate(asked)],
    }


def well_formed(document: Document) -> Document:
    """The same with presence as its secrets imply."""
    if document["secrets"] == "none but presence":
        document = {key: one for key, one in document.items() if key not in ("presence", "together")}
    return document


def drawn(dice: random.Random) -> Document:
    """A policy with one question, or now and then with several, or with several tables."""
    if dice.random() < 0.2:
        return policy(dice, items=dice.choice([2, 3, 4]), tables=True)
    return policy(dice, items=dice.choice([1, 1, 1, 2, 3]))


def same(document: Document) -> tuple[tuple[str, str], ...]:
    """Every item bounds the one of its name."""
    return tuple((one["name"], one["name"]) for one in document["release"])


def ordered(weaker: Document, stronger: Document) -> Pair:
    """A weaker promise, and a stronger one with the same questions."""
    several = len(weaker["release"]) > 1
    return Pair(well_formed(weaker), well_formed(stronger), same(weaker), together=several)


def singles(document: Document) -> list[Document]:
    """Every item by itself, with its share of the budget and those of its copies."""
    (unit, budget), *more = document["budget"].items()
    whole, asked = Fraction(0), list[tuple[Document, Document, Fraction]]()
    for item_ in document["release"]:
        share = Fraction(item_.get("share", 1))
        whole += share
        asked.append((item_, {key: one for key, one in item_.items() if key not in ("name", "share")}, share))
    found = []
    for item_, question, _ in asked:
        own = sum(share for _, other, share in asked if other == question)
        less = {unit: str(Fraction(budget) * own / whole), **dict(more)}
        found.append(document | {"release": [item_], "budget": less})
    return found


# -- relations --------------------------------------------------------------------------------------


def public_attribute(dice: random.Random) -> Iterator[Pair]:
    """An attribute that is public, or secret."""
    strong = drawn(dice)
    if isinstance(strong["secrets"], dict):
        names = [name for name, secret in strong["secrets"].items() if secret != "public"]
        yield ordered(strong | {"secrets": strong["secrets"] | {dice.choice(names): "public"}}, strong)


def public_presence(dice: random.Random) -> Iterator[Pair]:
    """Presence that is public, or secret."""
    strong = drawn(dice) | {"presence": "secret"}
    if isinstance(strong["secrets"], dict):
        yield ordered(strong | {"presence": "public"}, strong)


def presence_alone(dice: random.Random) -> Iterator[Pair]:
    """Presence as the only secret, or with attributes."""
    strong = drawn(dice) | {"presence": "secret"}
    if isinstance(strong["secrets"], dict):
        yield ordered(strong | {"secrets": "none but presence"}, strong)


def one_at_a_time(dice: random.Random) -> Iterator[Pair]:
    """One attribute at a time, or all at once."""
    strong = drawn(dice) | {"together": "all at once"}
    if isinstance(strong["secrets"], dict):
        yield ordered(strong | {"together": "one attribute at a time"}, strong)


def with_delta(dice: random.Random) -> Iterator[Pair]:
    """A budget with a delta, or without."""
    strong = drawn(dice) | {"budget": {"epsilon": 1}}
    yield ordered(strong | {"budget": {"epsilon": 1, "delta": "1e-6"}}, strong)


def shorter_steps(dice: random.Random) -> Iterator[Pair]:
    """Values that are near each other as secrets, or values that are farther apart."""
    strong = drawn(dice)
    if isinstance(strong["secrets"], dict):
        reaches = dice.sample([1, 2, 3, 5, 8, 20, 50, 2000], 2)
        top = strong["attributes"]["a"]["integer"][1]
        less, more = ({"within": reach} if reach < top else "everything" for reach in sorted(reaches))
        yield ordered(
            strong | {"secrets": strong["secrets"] | {"a": less}},
            strong | {"secrets": strong["secrets"] | {"a": more}},
        )


def known_facts(dice: random.Random) -> Iterator[Pair]:
    """Known counts that no secret changes, or none."""
    plain = policy(dice, items=dice.choice([1, 2, 3, 4]), tables=dice.random() < 0.5) | {"presence": "public"}
    if isinstance(plain["secrets"], dict):
        open_ = [name for name, secret in plain["secrets"].items() if secret == "public"]
        facts = [{"count": "all"}, *([{"marginal": [dice.choice(open_)]}] if open_ else [])]
        known = plain | {"known": [dice.choice(facts)]}
        yield Pair(known, plain, same(plain))
        yield Pair(plain, known, same(plain))


def asked_twice(dice: random.Random) -> Iterator[Pair]:
    """A table that is asked twice, or once with a share of 2."""
    once = policy(dice, items=dice.choice([1, 1, 2, 3]), tables=dice.random() < 0.7)
    first, *rest = once["release"]
    twice = once | {"release": [first, {**first, "name": "again"}, *rest]}
    once = once | {"release": [{**first, "share": 2}, *rest]}
    yield Pair(well_formed(twice), well_formed(once), (*same(once), ("again", first["name"])))


def order(dice: random.Random) -> Iterator[Pair]:
    """Items, and attributes, in another order."""
    one = policy(dice, items=dice.choice([2, 3, 4]), tables=dice.random() < 0.5)
    turned = dict(reversed(list(one["attributes"].items())))
    yield Pair(well_formed(one | {"release": one["release"][::-1]}), well_formed(one), same(one))
    yield Pair(well_formed(one | {"attributes": turned}), well_formed(one), same(one))


def names(dice: random.Random) -> Iterator[Pair]:
    """Other names of items and of the data set."""
    one = policy(dice, items=dice.choice([1, 2, 3]))
    called = [{**asked, "name": f"z{9 - n}"} for n, asked in enumerate(one["release"])]
    bounds = tuple((f"z{9 - n}", f"q{n}") for n in range(len(called)))
    yield Pair(well_formed(one | {"dataset": "other", "release": called}), well_formed(one), bounds)


def unused(dice: random.Random) -> Iterator[Pair]:
    """One more attribute, public or secret, that no item looks at."""
    one = policy(dice, items=dice.choice([1, 2, 3]))
    more = one | {"attributes": one["attributes"] | {"e": ["x", "y", "z"]}}
    if isinstance(one["secrets"], dict):
        more = more | {"secrets": one["secrets"] | {"e": dice.choice(["everything", "public"])}}
    yield Pair(well_formed(more), well_formed(one), same(one))
    yield Pair(well_formed(one), well_formed(more), same(one))


def alone(dice: random.Random) -> Iterator[Pair]:
    """Each item beside others, or alone with its share of the budget."""
    several = policy(dice, items=dice.choice([2, 3, 4, 5]), tables=dice.random() < 0.7)
    if dice.random() < 0.3:
        for one in several["release"]:
            one["share"] = dice.choice([1, 2, "1/2"])
    for single in singles(several):
        (one,) = single["release"]
        yield Pair(well_formed(several), well_formed(single), ((one["name"], one["name"]),))


def noise_laws(dice: random.Random) -> Iterator[Pair]:
    """A plan with any noise, or with that of one law: `noise` in a policy of this script is the law of its plan."""
    free = drawn(dice) | {"budget": {"epsilon": 1, "delta": dice.choice(["1e-6", "1e-3"])}}
    for law in ("laplace", "gaussian"):
        yield ordered(free, free | {"noise": law})


RELATIONS: dict[str, Callable[[random.Random], Iterator[Pair]]] = {
    "attribute public or secret": public_attribute,
    "presence public or secret": public_presence,
    "presence alone or with attributes": presence_alone,
    "one attribute at a time or all at once": one_at_a_time,
    "delta or none": with_delta,
    "shorter or longer steps": shorter_steps,
    "known facts that no secret changes": known_facts,
    "a table asked twice": asked_twice,
    "order": order,
    "names": names,
    "unused attributes": unused,
    "beside others or alone": alone,
    "any noise or one law": noise_laws,
}


# -- comparing --------------------------------------------------------------------------------------


@dataclass(slots=True)
class Planner:
    """Plans policies, each once, and remembers what the slowest took."""

    slowest: float = 0.0
    slowest_policy: str = ""

    def errors(self, document: Document) -> Errors | None:
        """What every item is compared by, its error or the reach of its intervals, also alone; None if refused."""
        start = time.process_time()
        try:
            law = document.get("noise")
            found = td.plan({key: one for key, one in document.items() if key != "noise"}, noise=law)
            errors: Errors | None = {one.name: (one.compared_error, one.alone_error) for one in found}
        except td.errors.TetraodonError:
            errors = None
        taken = time.process_time() - start
        if taken > self.slowest:
            self.slowest, self.slowest_policy = taken, json.dumps(document)
        return errors


def compared(relation: str, pair: Pair, planner: Planner) -> Violation | None:
    """What breaks the relation, if anything; a pair whose bound is refused says nothing."""
    bound = planner.errors(pair.second)
    if bound is None:
        return None
    found = planner.errors(pair.first)
    if found is None:
        return Violation(relation, math.inf, "refused", pair)
    worst = max(ratio(found[one][0], bound[other][0]) for one, other in pair.bounds)
    what = "; ".join(f"{one} {found[one][0]:.4g} for {bound[other][0]:.4g}" for one, other in pair.bounds)
    if pair.together and worst > TOLERANCE:
        worst = objective_ratio(pair.first, found, bound)
    return Violation(relation, worst, what, pair) if worst > TOLERANCE else None


def objective_ratio(document: Document, found: Errors, other: Errors) -> float:
    """By what a plan errs more than an `other` one, in the objective of the first policy.

    0 where the other plan lets an item err more than alone, so that it is none to choose.
    """
    total_found = total_other = 0.0
    for asked in document["release"]:
        share, name = float(Fraction(asked.get("share", 1))), asked["name"]
        (error, alone_), (bound, also) = found[name], other[name]
        if ratio(bound, min(alone_, also)) > TOLERANCE:
            return 0.0
        total_found += share * ratio(error, min(alone_, also)) ** 2
        total_other += share * ratio(bound, min(alone_, also)) ** 2
    return ratio(math.sqrt(total_found), math.sqrt(total_other))


def ratio(error: float, bound: float) -> float:
    """An error over its bound; what is exact is as good as it can be."""
    if error <= 1e-9:
        return 0.0 if bound > 1e-9 else 1.0
    return error / bound if bound > 1e-9 else math.inf


def check(relation: str, pairs: int, seed: int, planner: Planner | None = None) -> tuple[int, list[Violation]]:
    """How many pairs of a relation were compared, and those that break it."""
    planner, compared_, broken, number = planner or Planner(), 0, list[Violation](), 0
    while compared_ < pairs:
        dice = random.Random(f"{seed} {relation} {number}")
        number += 1
        for pair in RELATIONS[relation](dice):
            violation = compared(relation, pair, planner)
            compared_ += 1
            if violation is not None:
                broken.append(violation)
    return compared_, broken


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare pairs of every relation; print counts, and what is broken, the worst first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1000, help="pairs, over all relations")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="relations that contain this text")
    parser.add_argument("--show", type=int, default=3, help="broken pairs that are printed for each relation")
    told = parser.parse_args(arguments)
    chosen = [one for one in RELATIONS if not told.only or told.only in one]
    total, planner = 0, Planner()
    for relation in chosen:
        many, broken = check(relation, -(-told.pairs // len(chosen)), told.seed, planner)
        total += len(broken)
        print(f"{relation}: {len(broken)} of {many} broken", flush=True)
        for one in sorted(broken, key=lambda one: -one.ratio)[: told.show]:
            both = "\n    ".join(json.dumps(each) for each in (one.pair.first, one.pair.second))
            print(f"  {one.ratio:.3f}: {one.what}\n    {both}")
    print(f"{total} broken; the slowest plan took {planner.slowest:.1f} s:\n  {planner.slowest_policy}")
    raise SystemExit(total > 0)


if __name__ == "__main__":
    main()
