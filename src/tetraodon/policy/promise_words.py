"""Secrets, facts about the table, and attackers in plain words, with example pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, TypeAlias, assert_never

import numpy as np

from tetraodon.display import listing, number_of
from tetraodon.domain import Attribute, Dates, Domain, Grid, Integers
from tetraodon.errors import Refused
from tetraodon.exact.rational import decimal_text
from tetraodon.policy.adversary import Adversary
from tetraodon.policy.attackers import Attackers, Chain, Contacts, DependentGroups, Independent, TableSecret
from tetraodon.policy.attribute_graph import (
    AttributeGraph,
    Blocks,
    Everything,
    Pairs,
    Public,
    Within,
    WithinOrMissing,
    WithinShare,
)
from tetraodon.policy.joint_graph import JointGraph, JointMetric, Regions
from tetraodon.policy.known import Fact, Known, Rectangle
from tetraodon.policy.policy import Policy
from tetraodon.policy.public_tables import side_tables
from tetraodon.policy.secret_graph import ABSENT, Factor
from tetraodon.policy.words import HOPELESS, WORTHLESS, chance, length, moves, odds, one_in, percent, times, valued
from tetraodon.query.kinds import Count, Histogram

# -- examples ---------------------------------------------------------------------------------------
# Pairs of values, near and far, that show what a policy promises. No attribute is ever written out for them.

Codes: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """Two records, how many steps they are apart (None: no chain of steps), and what that allows.

    `first` and `second` are the positions of the two records, None for a person who is not in the data;
    `x` and `y` say what differs.
    """

    names: tuple[str, ...]
    x: str
    y: str
    first: Codes
    second: Codes | None
    steps: int | None
    odds: Decimal | None
    chance: Decimal | None

    @property
    def sentence(self) -> str:
        name = f"{self.names[0]} " if len(self.names) == 1 else ""
        if self.steps is None or self.odds is None or self.chance is None:
            return f"{name}{self.x} rather than {self.y}: not protected, whatever epsilon is"
        told = f"{name}{self.x} rather than {self.y}: the odds move {moves(self.odds)} ({steps_text(self.steps)}"
        if self.odds > WORTHLESS:
            return f"{told}), which is no protection worth the name"
        return f"{told}, {percent(self.chance)} truthful)"

    @property
    def document(self) -> dict[str, Any]:
        """Plain data; null where there is no bound."""
        bound = None if self.odds is None or self.odds > HOPELESS else float(self.odds)
        return {
            "attributes": list(self.names),
            "x": self.x,
            "y": self.y,
            "steps": self.steps,
            "odds": bound,
            "odds_at_most": None if bound is None or self.odds is None else times(self.odds),
            "truthful": None if self.chance is None else float(self.chance),
            "truthful_at_most": None if self.chance is None else percent(self.chance),
        }


def factor_examples(policy: Policy, factor: Factor, start: Codes | None = None) -> tuple[Example, ...]:
    """Records that differ only in the attributes of one factor, nearest first; the others are as in `start`."""
    domain = policy.domain
    attributes = [domain[name] for name in factor.names]
    found: dict[tuple[Codes, Codes], Example] = {}
    for x, y in _pairs(factor, attributes):
        first, second = (list(start or (0,) * len(domain.names)) for _ in "xy")
        for name, a, b in zip(factor.names, x, y, strict=True):
            first[domain.position(name)], second[domain.position(name)] = a, b
        example = _example(policy, factor.names, tuple(first), tuple(second))
        if x != y and example is not None:
            found.setdefault((x, y), example)
    return tuple(sorted(found.values(), key=lambda example: math.inf if example.steps is None else example.steps))


def record_examples(policy: Policy, given: Codes | None = None) -> tuple[Example, ...]:
    """Records that differ in everything that has secrets: by one secret each, and from end to end; the rest is as
    given."""
    domain, graph = policy.domain, policy.graph
    moved = [factor for factor in graph.factors if _edge(factor, domain.project(factor.names).shape)]
    if len(moved) < 2:
        return ()
    start, near, far = (list(given or (0,) * len(domain.names)) for _ in "xyz")
    for factor in moved:
        shape = domain.project(factor.names).shape
        edge = _edge(factor, shape)
        assert edge is not None
        for name, a, b, size in zip(factor.names, *edge, shape, strict=True):
            place = domain.position(name)
            start[place], near[place], far[place] = a, b, size - 1 if a < size - 1 else 0
    names = tuple(name for factor in moved for name in factor.names)
    examples = [_example(policy, names, tuple(start), tuple(end)) for end in (near, far)]
    return tuple(dict.fromkeys(example for example in examples if example is not None))


def presence_example(policy: Policy, start: Codes | None = None) -> Example:
    """Being in the data rather than not. Pre: that is a secret of a record such as `start`."""
    record = start or (0,) * len(policy.domain.names)
    steps = int(policy.graph.distance(policy.domain.value_of(record), ABSENT))
    rows = ("having a row", "not having it") if policy.every_row else ("having rows", "having none")
    x, y = rows if policy.key else ("being in the data", "not being in it")
    return Example((), x, y, record, None, steps, odds(policy.epsilon, steps), chance(policy.epsilon, steps))


def _example(policy: Policy, names: tuple[str, ...], first: Codes, second: Codes) -> Example | None:
    """None when the number of steps is too long to count: nothing is then said."""
    domain = policy.domain
    try:
        distance = policy.graph.distance(domain.value_of(first), domain.value_of(second))
    except Refused:
        return None
    steps = None if math.isinf(distance) else int(distance)
    places = [domain.position(name) for name in sorted(names, key=domain.position)]
    shown = [domain.attributes[place] for place in places]
    return Example(
        names,
        valued(shown, [first[place] for place in places]),
        valued(shown, [second[place] for place in places]),
        first,
        second,
        steps,
        None if steps is None else odds(policy.epsilon, steps),
        None if steps is None else chance(policy.epsilon, steps),
    )


def _pairs(factor: Factor, attributes: list[Attribute]) -> Iterator[tuple[Codes, Codes]]:
    """Candidates: one step, the edge of the secret, just beyond it, and from end to end."""
    shape = tuple(attribute.size for attribute in attributes)
    if isinstance(factor.graph, JointMetric):
        middle = tuple((size - 1) // 2 for size in shape)
        for axis, (size, step) in enumerate(zip(shape, factor.graph.steps, strict=True)):
            reach = int(factor.graph.within / step) if factor.graph.metric != "great circle km" else 1
            for gap in (1, reach, reach + 1):
                if middle[axis] + gap < size:
                    yield middle, (*middle[:axis], middle[axis] + gap, *middle[axis + 1 :])
        yield (0,) * len(shape), tuple(size - 1 for size in shape)
        return
    if isinstance(factor.graph, JointGraph):
        for x, y in _line_pairs(Blocks(tuple(factor.graph.components().tolist())), factor.graph.size):
            yield _places(factor.graph, x), _places(factor.graph, y)
        return
    for x, y in _line_pairs(factor.graph, shape[0]):
        if 0 <= x < shape[0] and 0 <= y < shape[0]:
            yield (x,), (y,)


def _places(graph: JointGraph, cell: int) -> Codes:
    return tuple(int(code) for code in graph.codes(cell))


def _line_pairs(graph: AttributeGraph, size: int) -> Iterator[tuple[int, int]]:
    middle = (size - 1) // 2
    match graph:
        case WithinShare():
            yield from graph.telling_pairs()
        case Within() | WithinOrMissing():
            for gap in (1, graph.reach, graph.reach + 1, 2 * graph.reach + 1):
                yield (middle, middle + gap) if middle + gap < size else (0, gap)
        case Blocks():
            first_of: dict[int, int] = {}
            for code, block in enumerate(graph.blocks):
                if first_of.setdefault(block, code) < code:
                    yield first_of[block], code
                    break
            yield 0, next((code for code, block in enumerate(graph.blocks) if block != graph.blocks[0]), 0)
        case Pairs():
            yield from sorted(graph.pairs)[:2]
        case _:
            yield middle, middle + 1
    yield 0, size - 1


def _edge(factor: Factor, shape: Codes) -> tuple[Codes, Codes] | None:
    """One secret of a factor, as positions, if it has any that is easy to find."""
    graph = factor.graph
    if isinstance(graph, JointGraph) and not isinstance(graph, JointMetric):
        first = next(graph.edges(), None)
        return None if first is None else (_places(graph, int(first[0][0])), _places(graph, int(first[1][0])))
    if isinstance(graph, JointMetric):
        zero = (0,) * len(shape)
        for axis, size in enumerate(shape):
            unit = tuple(int(other == axis) for other in range(len(shape)))
            if size > 1 and graph.is_edge(0, int(np.ravel_multi_index(unit, shape))):
                return zero, unit
        return None
    for x, y in _line_pairs(graph, shape[0]):
        if 0 <= x < y < shape[0] and graph.is_edge(x, y):
            return (x,), (y,)
    return None


def steps_text(distance: float) -> str:
    """A number of steps in words."""
    if math.isinf(distance):
        return "no chain of steps"
    return "one step" if distance == 1 else f"{int(distance)} steps"


# -- secrets in words -------------------------------------------------------------------------------
# What the secrets of an attribute say, as sentences that the graph implies and nothing more.


def why_two_steps(policy: Policy) -> str:
    """The reason why any two records are at most two steps apart."""
    if policy.presence == "secret":
        return "because it is a secret whether a person is in the data"
    return "because it is a secret how many rows a person has"


def only_presence_is_secret(policy: Policy) -> bool:
    """Whether nothing is a secret about a person but whether they are in the data."""
    graph = policy.graph
    return policy.presence == "secret" and graph.groups is None and not any(map(has_secrets, graph.factors))


def secret_sentences(policy: Policy, factor: Factor) -> list[str]:
    """What cannot be told apart in the attributes of a factor."""
    graph, domain = factor.graph, policy.domain
    if isinstance(graph, JointMetric):
        return _joint(policy, factor, graph)
    if isinstance(graph, JointGraph):
        assert isinstance(graph, Regions)
        return _regions(policy, factor, graph)
    attribute = domain[factor.names[0]]
    name, absent = attribute.name, policy.graph.absent
    if attribute.size == 1:
        return [f"{name} has a single value: there is nothing to tell apart."]
    if factor.complete:
        return [f"Any two values of {name} are a secret: one step apart."]
    if not has_secrets(factor):
        if not absent:
            return [f"{name} is not protected: anyone may learn it from a release."]
        return [
            f"No two values of {name} are a secret by themselves.",
            f"They are still only two steps apart, {why_two_steps(policy)}: {name} is not released exactly.",
        ]
    match graph:
        case WithinShare():
            share = f"{decimal_text(100 * graph.share)}%"
            told = [
                f"Two values of {name} of which the larger is at most {share} more than the smaller are a secret: one "
                "step apart."
            ]
            further = (
                f"Values further apart are protected less: every further {share} of the smaller one, or part of it, is "
                "one more step."
            )
        case Within():
            reach = length(attribute, graph.reach)
            told = [f"Two values of {name} that are at most {reach} apart are a secret: one step apart."]
            further = (
                f"Values further apart are protected less: every further {reach}, or part of it, is one more step."
            )
        case WithinOrMissing():
            reach = length(attribute, graph.reach)
            told = [
                f"Two values of {name} that are at most {reach} apart are a secret: one step apart.",
                "Whether it is missing is a secret too: a missing value is one step from every other.",
            ]
            further = "So any other two values are two steps apart."
        case Blocks():
            blocks = "; ".join(_block_texts(attribute, graph))
            told = [f"Two values of {name} in the same block are a secret: one step apart. The blocks are: {blocks}."]
            further = "Which of the blocks a person is in is not protected: anyone may learn it from a release."
        case Pairs():
            pairs = "; ".join(_pair_texts(attribute, graph))
            told = [f"These pairs of values of {name} are secrets, one step apart: {pairs}."]
            further = (
                "Two values joined by a chain of such pairs are as many steps apart as the shortest chain is long; "
                "values that no chain joins are not protected from being told apart."
            )
        case Everything() | Public():
            raise AssertionError("a graph of all pairs or of none was told above")
        case _:
            assert_never(graph)
    return [*told, f"Any other two values are two steps apart, {why_two_steps(policy)}." if absent else further]


def has_secrets(factor: Factor) -> bool:
    """Whether any two values of the factor are a secret. A joint metric is said to have some."""
    return isinstance(factor.graph, JointMetric) or factor.graph.edge_count > 0


def _regions(policy: Policy, factor: Factor, graph: Regions) -> list[str]:
    names = listing(factor.names)
    shown = [
        f"{name} ({size:,} {'cell' if size == 1 else 'cells'})"
        for name, size in zip(graph.names, graph.sizes, strict=True)
    ]
    blocks = "; ".join([*shown[:8], f"and {len(shown) - 8:,} more"] if len(shown) > 8 else shown)
    told = [
        f"{names} are one secret together. Two cells in the same block are one step apart. The blocks are: {blocks}.",
    ]
    if policy.graph.absent:
        return [*told, f"Any other two cells are two steps apart, {why_two_steps(policy)}."]
    return [*told, "Which of the blocks a person is in is not protected: anyone may learn it from a release."]


def _pair_texts(attribute: Attribute, graph: Pairs) -> list[str]:
    texts = [f"{attribute.text(x)} and {attribute.text(y)}" for x, y in sorted(graph.pairs)[:8]]
    return [*texts, f"and {len(graph.pairs) - 8:,} more"] if len(graph.pairs) > 8 else texts


def _block_texts(attribute: Attribute, graph: Blocks) -> list[str]:
    members: dict[int, list[int]] = {}
    for code, block in enumerate(graph.blocks):
        members.setdefault(block, []).append(code)
    texts = [_group(attribute, codes) for codes in list(members.values())[:8]]
    return [*texts, f"and {len(members) - 8:,} more"] if len(members) > 8 else texts


def _group(attribute: Attribute, codes: Sequence[int]) -> str:
    numbers = isinstance(attribute.values, Integers | Grid | Dates) and not attribute.separate
    row = numbers and codes[-1] - codes[0] + 1 == len(codes)
    if row and len(codes) > 2:
        return f"{attribute.text(codes[0])} to {attribute.text(codes[-1])}"
    return listing(attribute.text(code) for code in codes)


def _joint(policy: Policy, factor: Factor, graph: JointMetric) -> list[str]:
    names = listing(factor.names)
    if graph.metric == "great circle km":
        near = f"at most {decimal_text(graph.within)} km apart on the globe"
    else:
        near = f"at most {decimal_text(graph.within)} apart in the {graph.metric} metric"
    told = [f"{names} are measured together. Two points {near} are a secret: one step apart."]
    if policy.graph.absent:
        return [*told, f"Points further apart are two steps apart, {why_two_steps(policy)}."]
    told.append(
        "Points further apart are as many steps apart as it takes to walk there by such steps, if it can be done."
    )
    if graph.metric != "great circle km":
        told += [
            f"No step changes {name}, whose grid is wider than that: {name} is not protected."
            for name, step, size in zip(factor.names, graph.steps, graph.shape, strict=True)
            if size > 1 and step > graph.within
        ]
    return told


def shown_epsilon(epsilon: Fraction) -> str:
    """An epsilon that was typed, as it was; one that follows from a rho, to four digits."""
    text = decimal_text(epsilon)
    return text if len(text) < 10 else f"{float(epsilon):.4g}"


def forgiven(policy: Policy) -> str:
    """What delta takes back of the promise.

    Why   with loss the log of the odds' move, P(loss > epsilon + t) (1 - e^-t) <= delta, here for t = log 2. And k
          steps keep (k epsilon, delta (1 + e^epsilon + ... + e^((k-1) epsilon))).
    """
    budget = f"The budget is rho {decimal_text(policy.rho)} in zCDP. " if policy.rho is not None else ""
    alone = " One release takes all of the delta; after it none can have Gaussian noise."
    once = alone if policy.once else ""
    chain = min(Fraction(1), policy.delta * (1 + Fraction(min(odds(policy.epsilon, 1), Decimal(10**9)))))
    further = "" if policy.known else f" Between values two steps apart delta grows to {one_in(chain)}, and so on."
    return (
        f"{budget}Delta is {one_in(policy.delta)}, so these odds may be passed. Precisely: no set of outputs is more "
        f"likely under one of the two values than e^epsilon times its chance under the other, plus delta. Outputs that "
        f"move the odds more than twice as far as said come up with a chance of at most {one_in(2 * policy.delta)}, "
        f"and there is no limit to what they tell.{further} A release with Laplace noise makes no use of delta; "
        f"`tetraodon plan` says which noise it is.{once}"
    )


@dataclass(frozen=True, slots=True)
class People:
    """The people of some groups, in words, and the policy as it is for them."""

    whom: str
    by: str
    codes: tuple[int, ...]
    policy: Policy

    @property
    def one(self) -> tuple[int, ...]:
        """The codes of a record that one of them may have."""
        names = self.policy.domain.names
        return tuple(self.codes[0] if name == self.by else 0 for name in names)


def people(policy: Policy) -> tuple[People, ...]:
    """Who has which secrets, where groups have their own; first those with a rule."""
    graph, groups = policy.graph, policy.graph.groups
    assert groups is not None
    attribute = graph.domain[groups.by]
    own = {code for code, _ in groups.own}
    found = []
    for one, codes in sorted(graph.by_graph, key=lambda entry: entry[1][0] not in own):
        named = listing((attribute.text(code) for code in codes), word="or")
        whom = f"people whose {groups.by} is {named}" if codes[0] in own else "everybody else"
        found.append(People(whom, groups.by, codes, replace(policy, graph=one)))
    return tuple(found)


# -- table in words ---------------------------------------------------------------------------------
# What a policy says of the table, in sentences: several rows per person, values that do not belong, known figures.


def rows_in_a_step(policy: Policy) -> str:
    """What one step does to the rows of a person. Pre: there is a key."""
    if policy.every_row:
        return (
            f"One step changes at most {number_of(policy.rows_per_person, 'row')} of a person, however many they have: "
            "each along one secret, or it comes, or it goes. What more rows of theirs say together is protected less: "
            "it takes more steps to change them all."
        )
    return (
        f"One step may change every row of a person, up to {number_of(policy.rows_per_person, 'row')}, each along one "
        "secret; and rows of theirs may come, or rows may go. The examples below hold even if every row of the person "
        "says the same."
    )


def cost_of_rows(policy: Policy) -> list[str]:
    """What several rows per person cost, beyond one."""
    if policy.rows_per_person == 1:
        return []
    if policy.every_row:
        return [
            f"{number_of(policy.rows_per_person, 'row')} of a person may change in one step: the loss, and with it the "
            f"noise, is {policy.rows_per_person:,} times that of one row."
        ]
    return [
        f"A person has up to {number_of(policy.rows_per_person, 'row')}, and all of them may change in one step: "
        f"the loss, and with it the noise, is {policy.rows_per_person:,} times that of one row."
    ]


def whose_rows(policy: Policy) -> str:
    """Which rows are whose, and which of them are used. Pre: there is a key."""
    if policy.every_row:
        return f"The column {policy.key} says whose row it is. Every row is used."
    more = f"more than {number_of(policy.rows_per_person, 'row')}"
    if policy.cuts_rows:
        used = f"Of a person with {more} only that many are used, the first in the order of their values."
    else:
        used = (
            f"A person with {more} is left out with all of them: were some used, a secret could decide which, and so "
            "show what else they say."
        )
    return f"The column {policy.key} says whose row it is. {used}"


def names_sentences(policy: Policy) -> tuple[str, ...]:
    """What is promised about columns of open text."""
    told = [
        f"{column.name} is text of up to {number_of(column.longest, 'character')}. Nobody has listed its values, and "
        + (
            "any two of them are a secret: one step may change a person's name to any other."
            if column.secret
            else "what it says is not protected by itself; whether a person's row is there is."
        )
        for column in policy.open
    ]
    if policy.names:
        told.append(
            "A name in them is published only if enough people have it, and with noise on how many. One that a single "
            f"person has is published with a chance of at most delta, {float(policy.delta):g}; and so is whatever "
            "tells more than epsilon allows."
        )
    return tuple(told)


def stand_in_sentences(policy: Policy) -> tuple[str, ...]:
    """How missing values and those outside the declared ones are read; a view refuses the latter."""
    only_view = policy.adversary is not None and not policy.items
    told = tuple(_stand_in(attribute, refused=only_view) for attribute in policy.domain)
    if policy.adversary is None or only_view:
        return told
    return (
        "This is how a release reads them. For a view, a missing value counts as below too, but a table with a value "
        "that is not listed, or beyond the ends, is refused.",
        *told,
    )


def reading_sentences(policy: Policy) -> tuple[str, ...]:
    """How days are written in a text, and around which texts blanks do not count."""
    days = [
        f"{a.name}: days are written {a.format}; those written otherwise are missing."
        for a in policy.domain
        if a.format
    ]
    trimmed = [a.name for a in policy.domain if a.trim]
    return (*days, *([f"Blanks around the texts of {listing(trimmed)} do not count."] if trimmed else []))


def _stand_in(attribute: Attribute, *, refused: bool) -> str:
    missing = "a value of its own" if attribute.separate else attribute.text(attribute.missing)
    if refused:
        what = "beyond the ends" if attribute.other is None else "that is not listed"
        return f"{attribute.name}: a missing value counts as {missing}; a table with a value {what} is refused."
    if attribute.other is None:
        return (
            f"{attribute.name}: a missing value counts as {missing}; a value beyond the ends counts as the nearer end."
        )
    other = attribute.text(attribute.other)
    if attribute.other == attribute.missing:
        return f"{attribute.name}: a missing value, and one that is not listed, count as {missing}."
    return f"{attribute.name}: a missing value counts as {missing}; one that is not listed counts as {other}."


def known_in_words(known: Known, domain: Domain) -> str:
    """What somebody knows of a fact: all of it, or that it is at most or at least so much."""
    ends = [f"{word} {end:,}" for word, end in (("at least", known.least), ("at most", known.most)) if end is not None]
    asked = fact_in_words(known.fact, domain)
    if not ends:
        return asked
    told = asked.removeprefix("how many ")
    if (known.least if known.most is None else known.most) == 1:
        told = told.replace("records satisfy", "record satisfies", 1).replace("records have", "record has", 1)
        told = told.replace("records there are", "record there is", 1)
    return f"that {listing(ends)} {told}"


def fact_in_words(fact: Fact, domain: Domain) -> str:
    """A fact as what somebody knows: "the exact table by sex", "how many records there are"."""
    match fact:
        case Count():
            return f"how many records satisfy {fact.where}" if fact.where else "how many records there are"
        case Histogram():
            grouped = {name for name, _ in fact.bins}
            names = [f"groups of {name}" if name in grouped else name for name in fact.attributes]
            return f"the exact table by {listing(names)}"
        case Rectangle():
            sides = [
                f"{name} {domain[name].text(domain[name].code(low))} to {domain[name].text(domain[name].code(high))}"
                for name, low, high in fact.sides
            ]
            return f"how many records have {listing(sides)}"
        case _:
            assert_never(fact)


def share_in_words(policy: Policy) -> tuple[tuple[str, ...], tuple[Example, ...]]:
    """What is promised about a share of the whole table, with shares one step and two apart; nothing if none is secret.

    Why  a step is as many records as may differ, and the loss is at most in proportion to these.
    """
    secret = policy.attackers
    if not isinstance(secret, TableSecret):
        return (), ()
    within, records = f"{decimal_text(100 * secret.within)}%", number_of(secret.records, "record")
    if secret.drawn:
        told = (
            f"With what chance each of the {records} has {secret.share} is a secret: two chances at most {within} "
            "apart are one step apart.",
            f"Chances further apart are protected less: every further {within}, or part of it, is one more step.",
            "Single records are protected too, with the same epsilon, as follows.",
        )
        low = min(Fraction(3, 10), 1 - secret.within)
        return told, tuple(
            _shares(
                policy, f"{decimal_text(100 * low)}%", f"{decimal_text(100 * high)}% as the chance of {secret.share}", n
            )
            for n in (1, 2)
            if (high := low + n * secret.within) <= 1
        )
    told = (
        f"For how many of all {records} {secret.share} holds is a secret: two shares at most {within} apart, which is "
        f"{number_of(secret.differ, 'record')}, are one step apart.",
        f"Shares further apart are protected less: every further {within}, or part of it, is one more step.",
        "Single records are protected too, with the same epsilon, as follows.",
    )
    examples, fewer = [], min(3 * secret.records // 10, secret.records - secret.differ)
    for steps in (1, 2):
        if (more := fewer + steps * secret.differ) <= secret.records:
            few, many = (f"{count:,} ({float(Fraction(100 * count, secret.records)):.3g}%)" for count in (fewer, more))
            examples.append(_shares(policy, few, f"{many} of all {records} with {secret.share}", steps))
    return told, tuple(examples)


def _shares(policy: Policy, one: str, other: str, steps: int) -> Example:
    return Example((), one, other, (), None, steps, odds(policy.epsilon, steps), chance(policy.epsilon, steps))


# -- attackers in words -----------------------------------------------------------------------------


def less_than_it_says(attackers: Attackers) -> str:
    """What plain differential privacy would not do against attackers who are more than independent."""
    if isinstance(attackers, TableSecret):
        return "It hides single records, and not what is true of the whole table, so it promises less than this policy."
    return (
        "It takes people to be independent, so against the attackers of this policy it would promise less than it says."
    )


def against_whom(attackers: Attackers, known: int = 0) -> str:
    """Whom the promise is kept against, and what is not covered, where so many counts are known."""
    match attackers:
        case Independent():
            return (
                "The promise is kept against anybody to whom the records of different people are independent, "
                "whatever else they believe. If one person's record says something about another's, as in a family or "
                "an outbreak, what is learnt that way is not covered."
            )
        case DependentGroups(column, rows):
            most = number_of(rows, "row")
            counted = (
                f"A table in which a {column} has more than {most}, or a row has none, is refused, for what is known "
                "counts all rows."
                if known
                else f"Of a {column} with more than {most} only that many are counted. Rows without a {column} are not "
                "counted."
            )
            return (
                f"The promise is kept against anybody to whom rows with different {column} are independent, whatever "
                f"they believe about rows that share it: those may depend on each other in any way. {counted} What one "
                f"{column} says about another is not covered."
            )
        case Chain():
            which = "a Markov chain" if len(attackers.transitions) == 1 else "one of several Markov chains"
            start = "started long ago" if not attackers.starts else "starts as stated"
            return (
                f"The promise is kept against anybody to whom the rows, in the order of {attackers.along}, are states "
                f"of {which} with the transition probabilities of this file (source: {attackers.source}), which "
                f"{start}, and against anybody to whom they are independent. If rows depend on each other more than "
                f"that, what is learnt that way is not covered. Of rows with the same {attackers.along} one is counted."
            )
        case Contacts(contacts, influence):
            return (
                "The promise is kept against anybody to whom people are joined in some network in which nobody has "
                f"more than {number_of(contacts, 'contact')}, in the data or not, and in which the record of one "
                "contact moves the odds between two values of a person's own by a factor of at most "
                f"{decimal_text(influence)}, whatever everybody else's records are (source: {attackers.source}). They "
                "may know the network. If people depend on each other more than that, what is learnt that way is not "
                "covered."
            )
        case TableSecret(share=share, source=source):
            whom = (
                f"about the chance of {share} is kept against anybody to whom records are independent, each having "
                f"{share} with that chance, and all else with the chances of this file (source: {source}), whatever "
                "they believe of that chance."
                if attackers.drawn
                else f"about the share with {share} is kept against anybody to whom records are independent, given "
                f"which of them have {share}, with the chances of this file (source: {source}), whatever they believe "
                "of how many and whose those are."
            )
            return (
                f"The promise {whom} If columns go together otherwise, or records depend on each "
                "other, what is learnt that way is not covered. The promise about single records is kept against "
                "anybody to whom the records of different people are independent, whatever else they believe."
            )
        case _:
            assert_never(attackers)


def cost_of_dependence(attackers: Attackers, known: int = 0) -> tuple[str, ...]:
    """What it costs that rows may depend on each other, where so many counts are known."""
    match attackers:
        case Independent():
            return ()
        case DependentGroups(column, rows):
            return (
                f"All rows of a {column}, up to {rows:,}, may change together with one person's secret, and each of "
                f"them in any way, whatever `secrets` says: the loss, and with it the noise, is that of "
                f"{number_of(attackers.rows_together(known), 'row')} of which any two values must not be told apart"
                + (f", in every {column} that makes up for another as the known count asks for." if known else "."),
            )
        case Chain():
            return (
                "What a row says shows in its neighbours. Noise hides all rows nearby, each of which may change in any "
                "way; how many those are, and how much the rows beyond still tell, follows from the chain.",
            )
        case Contacts():
            return (
                "What a person's record is shows in those of their contacts, of the contacts' contacts, and so on, "
                "ever less. The loss, and with it the noise, is at most "
                f"{decimal_text(attackers.rows)} times that of one row of which any two values must not be told apart.",
            )
        case TableSecret():
            which = (
                f"All {number_of(attackers.records, 'record')} tell of the chance that is a secret."
                if attackers.drawn
                else f"Up to {number_of(attackers.differ, 'record')} may differ between two shares that are a secret."
            )
            return (
                f"{which} Noise hides what all of these would tell, less what the chance of the records hides already; "
                "and never less than any change of one record.",
            )
        case _:
            assert_never(attackers)


def how_releases_add_up(attackers: Attackers) -> str:
    """What several releases from the same data cost together."""
    if isinstance(attackers, TableSecret):
        return (
            "What several releases tell of a whole table does not add up: the ledger takes one, and refuses any other."
        )
    if isinstance(attackers, Chain):
        return (
            "The epsilons of several releases from the same data do not simply add up; the ledger computes the loss of "
            "all of them together, and keeps the total."
        )
    return "The epsilons of all releases from the same data add up; the ledger keeps the total."


GO_TOGETHER = (
    "Somebody who knows that records go together, such as two members of a family, may learn more: seeing both is no "
    "accident."
)

LEARNS = (
    "The view itself tells how common values are. Somebody who learns that from it believes more of common tuples than "
    "was assumed, and may then tell records from noise. How many is computed for every view that is drawn, and told "
    "with it."
)

LINKS = (
    "Somebody who knows a person but for one attribute may read that one: of the few tuples that are left, the one "
    "that is shown is likely to be theirs. `kind: exclusive` with a high prior names such an attacker."
)


def limits(adversary: Adversary) -> tuple[str, ...]:
    """What is not promised to hold, whatever the prior and the posterior."""
    return (GO_TOGETHER, LEARNS) if adversary.kind == "exclusive" else (GO_TOGETHER, LEARNS, LINKS)


def view_sentences(policy: Policy) -> tuple[str, ...]:
    """What the policy promises of a published view; nothing where it names no adversary."""
    adversary = policy.adversary
    if adversary is None:
        return ()
    stated = adversary.d is not None or adversary.records is not None
    told = [
        "`tetraodon publish` would show a view of the whole table: records among tuples that nobody has. It "
        "makes a promise of its own, about whether the table has a given record at all.",
        *beliefs(adversary, adversary.prior(policy.domain.size) if stated else None),
    ]
    if adversary.source:
        told.append(
            f"That is for the likeliest tuple. For any other the prior is {decimal_text(adversary.k or Fraction(0))} "
            f"times the number of records times its chance by the public source, which weighs the values of "
            f"{listing([name for name, _ in adversary.source])}; noise follows the same chances. Somebody whose "
            "beliefs follow another source is not withstood."
        )
    elif adversary.k is not None:
        told.append(
            f"That prior is {decimal_text(adversary.k)} times n/m, the average chance of a tuple: "
            f"{'the number of' if adversary.records is None else f'{adversary.records:,}'} records, divided by "
            f"{number_of(policy.domain.size, 'possible tuple')}."
        )
    if adversary.views > 1:
        told.append(f"That holds for all {adversary.views:,} planned views together.")
    if adversary.rows == "distinct":
        told.append("It is taken to be known that no two records of the table are equal.")
    return (
        *told,
        *limits(adversary),
        f"What a view loses as the odds above are counted is charged to the ledger, and may be up to epsilon "
        f"{shown_epsilon(policy.epsilon)}; `tetraodon plan` says how much it is.",
        *(table.sentence for table in side_tables(policy).values()),
    )


def beliefs(adversary: Adversary, prior: Fraction | None) -> list[str]:
    """How far beliefs can move, for priors up to the given one; None where it depends on the number of records.

    Post  the prior is rounded down and what may be believed after is rounded up, so that no more is said than holds.
    """
    most = f"{decimal_text(adversary.k or Fraction(0))} n/m" if prior is None else short(prior, ROUND_FLOOR)
    after = f"{short(100 * adversary.gamma, ROUND_CEILING)}%"
    if adversary.kind == "exclusive":
        return [
            f"Somebody who knows groups of tuples of which exactly one is in the table, and believed before in each of "
            f"them with probability at most {most}, will not believe in any with more than {after} after.",
            "Their belief in the other tuples of a group may fall: that cannot be excluded.",
        ]
    told = [
        f"Somebody who believed before, with probability at most {most}, that the table has some record, and to whom "
        f"records are independent of each other, will not believe it with more than {after} after."
    ]
    if prior is not None:
        told.append(
            f"Nor will their belief in it fall below {short(prior / adversary.gamma, ROUND_FLOOR)} of what it was."
        )
    return told


def short(number: Fraction, rounding: str) -> str:
    """A number to four digits, rounded one way."""
    context = Context(prec=4, rounding=rounding)
    return f"{float(context.divide(Decimal(number.numerator), Decimal(number.denominator))):.4g}"
