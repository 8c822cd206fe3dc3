"""The promise of a policy in plain words: secrets, known facts and attackers, with odds and example pairs."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias, assert_never

import numpy as np

from tetraodon.display import Displayed, Sentences
from tetraodon.domain import Attribute, Categories, Dates, Domain, Grid, Integers
from tetraodon.errors import Refused
from tetraodon.exact.rational import decimal_text
from tetraodon.policy.adversary import Adversary
from tetraodon.policy.attackers import Attackers, TableSecret
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
from tetraodon.policy.known import CountWhere, Fact, Known, Marginal, Rectangle
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.policy.policy import Policy, side_tables
from tetraodon.policy.secret_graph import ABSENT, Factor
from tetraodon.wording import listing, number_of

# -- numbers in words -------------------------------------------------------------------------------
# What is said to be 'at most' is rounded up, never down.

WORTHLESS, HOPELESS = Decimal(1000), Decimal("1e+100")
"""Odds beyond which a bound is no protection worth the name, and beyond which there is no sense in writing it out."""
EXACT = Context(prec=40)


def _exact(number: Fraction) -> Decimal:
    return EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))


def odds(epsilon: Fraction, steps: int) -> Decimal:
    """e^(epsilon * steps), to forty digits: how many times the odds between two values can grow ([HMD14] Eq. 9).

    Post  infinite beyond e^1000, where there is nothing left to tell.
    """
    loss = epsilon * steps
    if loss > 1000:
        return Decimal("Infinity")
    return EXACT.exp(_exact(loss))


def chance(epsilon: Fraction, steps: int) -> Decimal:
    """e^(epsilon * steps) / (1 + e^(epsilon * steps)): how often a direct question would get a truthful answer."""
    factor = odds(epsilon, steps)
    if factor.is_infinite():
        return Decimal(1)
    return EXACT.divide(factor, EXACT.add(factor, Decimal(1)))


def times(factor: Decimal) -> str:
    """A factor below e^1000, rounded up: `1.65`, `22,027` or `1.3e+9`.

    >>> times(odds(Fraction(1, 2), 1)), times(odds(Fraction(1), 10)), times(odds(Fraction(1), 21))
    ('1.65', '22,027', '1.4e+9')
    """
    if factor < 100:
        return str(factor.quantize(Decimal("0.01"), ROUND_CEILING))
    if factor < 1_000_000:
        return f"{int(factor.to_integral_value(ROUND_CEILING)):,}"
    return str(Context(prec=2, rounding=ROUND_CEILING).plus(factor)).replace("E", "e")


def moves(factor: Decimal) -> str:
    """How far odds move: `at most 1.65 times`, or `more than 1e+100 times` where that is all there is to say."""
    return f"at most {times(factor)} times" if factor <= HOPELESS else "more than 1e+100 times"


def one_in(delta: Fraction) -> str:
    """A small probability, rounded up: `1 in 1,000,000`.

    >>> one_in(Fraction(1, 10**6)), one_in(Fraction(3, 10**7))
    ('1 in 1,000,000', '1 in 3,333,333')
    """
    return f"1 in {delta.denominator // delta.numerator:,}"


def percent(share: Decimal) -> str:
    """A share rounded up to a tenth of a percent, or to as many digits as keep it from looking like all.

    >>> percent(chance(Fraction(1), 1)), percent(chance(Fraction(1), 9)), percent(chance(Fraction(1), 90))
    ('73.2%', '99.99%', '100%')
    """
    for digits in range(1, 7):
        shown = (share * 100).quantize(Decimal(1).scaleb(-digits), ROUND_CEILING)
        if shown < 100:
            return f"{shown}%"
    return "100%"


def length(attribute: Attribute, positions: int) -> str:
    """How far apart two values are that lie some positions apart: `5`, `100 USD`, `3 days`, `1 rank`."""
    if isinstance(attribute.values, Dates):
        return number_of(positions, "day")
    if isinstance(attribute.values, Categories):
        return number_of(positions, "rank")
    far = positions * attribute.step
    return f"{decimal_text(far)} {attribute.unit_of(far)}".strip()


def valued(attributes: Sequence[Attribute], codes: Sequence[int], *, most: int = 6) -> str:
    """Values with their units, and with their names if there are several: `age 34, loss 100 USD`."""
    texts = [attribute.measured(code) for attribute, code in zip(attributes, codes, strict=True)]
    if len(texts) == 1:
        return texts[0]
    words = [f"{attribute.name} {text}" for attribute, text in zip(attributes, texts, strict=True)]
    return ", ".join(words[:most]) + (", ..." if len(words) > most else "")


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
    epsilon: Fraction

    @property
    def odds(self) -> Decimal | None:
        return None if self.steps is None else odds(self.epsilon, self.steps)

    @property
    def chance(self) -> Decimal | None:
        return None if self.steps is None else chance(self.epsilon, self.steps)

    @property
    def sentence(self) -> str:
        return said.one("example", self)

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
    found: dict[tuple[Codes, Codes], Example] = {}
    for x, y in _pairs(factor, domain.project(factor.names).shape):
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
    start, near, far = (list(given or (0,) * len(domain.names)) for _ in "xyz")
    moved = []
    for factor in graph.factors:
        shape = domain.project(factor.names).shape
        if (edge := _edge(factor, shape)) is not None:
            moved.append(factor)
            for name, a, b, size in zip(factor.names, *edge, shape, strict=True):
                place = domain.position(name)
                start[place], near[place], far[place] = a, b, size - 1 if a < size - 1 else 0
    if len(moved) < 2:
        return ()
    names = tuple(name for factor in moved for name in factor.names)
    examples = [_example(policy, names, tuple(start), tuple(end)) for end in (near, far)]
    return tuple(dict.fromkeys(example for example in examples if example is not None))


def presence_example(policy: Policy, start: Codes | None = None) -> Example:
    """Being in the data rather than not. Pre: that is a secret of a record such as `start`."""
    record = start or (0,) * len(policy.domain.names)
    steps = int(policy.graph.distance(policy.domain.value_of(record), ABSENT))
    rows = ("having a row", "not having it") if policy.every_row else ("having rows", "having none")
    x, y = rows if policy.key else ("being in the data", "not being in it")
    return Example((), x, y, record, None, steps, policy.epsilon)


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
        policy.epsilon,
    )


def _pairs(factor: Factor, shape: Codes) -> Iterator[tuple[Codes, Codes]]:
    """Candidates: one step, the edge of the secret, just beyond it, and from end to end."""
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
    return tuple(int(code) for code in np.unravel_index(cell, graph.shape))


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
    for pair in _pairs(factor, shape):
        x, y = (int(np.ravel_multi_index(codes, shape)) for codes in pair)
        if x < y and factor.graph.is_edge(x, y):
            return pair
    return None


# -- sentences --------------------------------------------------------------------------------------
# All of them are in `templates/promise.txt`; here is what they are filled with.


def shown_epsilon(epsilon: Fraction) -> str:
    """An epsilon that was typed, as it was; one that follows from a rho, to four digits."""
    text = decimal_text(epsilon)
    return text if len(text) < 10 else f"{float(epsilon):.4g}"


said = Sentences(
    Path(__file__).parent / "templates" / "promise.txt",
    decimal_text=decimal_text,
    listing=listing,
    number_of=number_of,
    one_in=one_in,
    shown_epsilon=shown_epsilon,
    moves=moves,
    odds=odds,
    chance=chance,
    percent=percent,
    WORTHLESS=WORTHLESS,
)


def only_presence_is_secret(policy: Policy) -> bool:
    """Whether nothing is a secret about a person but whether they are in the data."""
    graph = policy.graph
    return policy.presence == "secret" and graph.groups is None and not any(map(has_secrets, graph.factors))


def secret_sentences(policy: Policy, factor: Factor) -> tuple[str, ...]:
    """What must stay indistinguishable in the attributes of a factor."""
    graph, absent, joint = factor.graph, policy.graph.absent, listing(factor.names)
    others = "Any other two values"
    if isinstance(graph, JointMetric):
        globe = graph.metric == "great circle km"
        apart = "km apart on the globe" if globe else f"apart in the {graph.metric} metric"
        told = said("joint", joint, f"at most {decimal_text(graph.within)} {apart}")
        wide = zip(factor.names, graph.steps, graph.shape, strict=True)
        for name in (name for name, step, size in wide if size > 1 and step > graph.within and not globe):
            told += said("too_wide", name)
        others = "Points further apart"
    elif isinstance(graph, JointGraph):
        assert isinstance(graph, Regions)
        cells = (number_of(size, "cell") for size in graph.sizes)
        shown = [f"{name} ({number})" for name, number in zip(graph.names, cells, strict=True)]
        told, others = said("regions", joint, _first_few(shown)), "Any other two cells"
    else:
        attribute = policy.domain[factor.names[0]]
        if attribute.size == 1 or factor.complete or not has_secrets(factor):
            if attribute.size == 1:
                return said("one_value", attribute.name)
            return said("wholly_secret", joint) if factor.complete else said("no_secret", joint, policy)
        told = _values(attribute, graph)
    if not absent:
        return told
    return *told[: 2 if isinstance(graph, WithinOrMissing) else 1], *said("two_steps", others, policy)


def _values(attribute: Attribute, graph: AttributeGraph) -> tuple[str, ...]:
    """What the secrets among the values of an attribute say, then what is farther apart. Pre: some are, and not all."""
    match graph:
        case WithinShare():
            return said("within_share", attribute.name, f"{decimal_text(100 * graph.share)}%")
        case Within():
            return said("within", attribute.name, length(attribute, graph.reach))
        case WithinOrMissing():
            return said("within_or_missing", attribute.name, length(attribute, graph.reach))
        case Blocks():
            members: dict[int, list[int]] = {}
            for code, block in enumerate(graph.blocks):
                members.setdefault(block, []).append(code)
            return said("blocks", attribute.name, _first_few([_group(attribute, codes) for codes in members.values()]))
        case Pairs():
            pairs = [f"{attribute.text(x)} and {attribute.text(y)}" for x, y in sorted(graph.pairs)]
            return said("pairs", attribute.name, _first_few(pairs))
        case Everything() | Public():
            raise AssertionError("graphs of all pairs or of none are worded above")
        case _:
            assert_never(graph)


def has_secrets(factor: Factor) -> bool:
    """Whether any two values of the factor are a secret. A joint metric is said to have some."""
    return isinstance(factor.graph, JointMetric) or factor.graph.edge_count > 0


def _first_few(texts: Sequence[str]) -> str:
    return "; ".join([*texts[:8], f"and {len(texts) - 8:,} more"] if len(texts) > 8 else texts)


def _group(attribute: Attribute, codes: Sequence[int]) -> str:
    numbers = isinstance(attribute.values, Integers | Grid | Dates) and not attribute.separate
    row = numbers and codes[-1] - codes[0] + 1 == len(codes)
    if row and len(codes) > 2:
        return f"{attribute.text(codes[0])} to {attribute.text(codes[-1])}"
    return listing(attribute.text(code) for code in codes)


def forgiven(policy: Policy) -> tuple[str, str]:
    """How likely it is that the odds are passed between values two steps apart, and that they are passed twice over.

    Why   with loss the log of the odds' move, P(loss > epsilon + t) (1 - e^-t) <= delta, here for t = log 2. And k
          steps keep (k epsilon, delta (1 + e^epsilon + ... + e^((k-1) epsilon))).
    """
    if not policy.delta:
        return "", ""
    chain = min(Fraction(1), policy.delta * (1 + Fraction(min(odds(policy.epsilon, 1), Decimal(10**9)))))
    return one_in(chain), one_in(2 * policy.delta)


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


def known_in_words(known: Known, domain: Domain) -> str:
    """What is known of a fact: its exact answer, or that it is at most or at least so much."""
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
    """A fact as what is known: "the exact table by sex", "how many records there are"."""
    match fact:
        case CountWhere():
            return f"how many records satisfy {fact.where}" if fact.where else "how many records there are"
        case Marginal():
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
    records = number_of(secret.records, "record")
    shown: list[tuple[str, str]] = []
    if secret.drawn:
        low = min(Fraction(3, 10), 1 - secret.within)
        highs = [low + steps * secret.within for steps in (1, 2)]
        few, *many = (f"{decimal_text(100 * chance)}%" for chance in (low, *highs) if chance <= 1)
        shown = [(few, f"{one} as the chance of {secret.share}") for one in many]
    else:
        fewer = min(3 * secret.records // 10, secret.records - secret.differ)
        counts = [count for steps in range(3) if (count := fewer + steps * secret.differ) <= secret.records]
        few, *many = (f"{count:,} ({float(Fraction(100 * count, secret.records)):.3g}%)" for count in counts)
        shown = [(few, f"{one} of all {records} with {secret.share}") for one in many]
    examples = [Example((), x, y, (), None, steps, policy.epsilon) for steps, (x, y) in enumerate(shown, 1)]
    return said("whole_table", secret, f"{decimal_text(100 * secret.within)}%", records), tuple(examples)


def less_than_it_says(attackers: Attackers) -> str:
    """What plain differential privacy would not do against attackers who are more than independent."""
    return said("less_than_it_says", attackers.kind)[0]


def view_sentences(policy: Policy) -> tuple[str, ...]:
    """What the policy promises of a published view; nothing where it names no adversary."""
    adversary = policy.adversary
    if adversary is None:
        return ()
    stated = adversary.d is not None or adversary.records is not None
    return (
        *said("view"),
        *beliefs(adversary, adversary.prior(policy.domain.size) if stated else None),
        *said("view_holds", policy, adversary),
        *said("limits", adversary),
        *said("view_costs", policy),
        *(table.sentence for table in side_tables(policy).values()),
    )


def limits(adversary: Adversary) -> tuple[str, ...]:
    """What is not promised to hold, whatever the prior and the posterior."""
    return said("limits", adversary)


def beliefs(adversary: Adversary, prior: Fraction | None) -> tuple[str, ...]:
    """How far beliefs can move, for priors up to the given one; None where it depends on the number of records.

    Post  the prior is rounded down and what may be believed after is rounded up, so that no more is said than holds.
    """
    most = f"{decimal_text(adversary.k or Fraction(0))} n/m" if prior is None else short(prior, ROUND_FLOOR)
    least = "" if prior is None else short(prior / adversary.gamma, ROUND_FLOOR)
    return said("beliefs", adversary, most, f"{short(100 * adversary.gamma, ROUND_CEILING)}%", least)


def short(number: Fraction, rounding: str) -> str:
    """A number to four digits, rounded one way."""
    context = Context(prec=4, rounding=rounding)
    return f"{float(context.divide(Decimal(number.numerator), Decimal(number.denominator))):.4g}"


# -- other readings ---------------------------------------------------------------------------------
# The promise read in other ways: by a tester who may be wrong so often, and as a change of what is believed after.

ALARM = Fraction(1, 20)
"""How often the tester may be wrong."""


def other_readings(policy: Policy) -> tuple[str, ...]:
    """Two sentences that follow from the same epsilon; none where it is no protection worth the name ([MK15])."""
    if not policy.graph.has_edges or odds(policy.epsilon, 1) > WORTHLESS:
        return ()
    found = percent(power(policy.epsilon, policy.delta, ALARM))
    return said("other_readings", policy, found, percent(changed_belief(policy.epsilon)).removesuffix("%"))


def power(epsilon: Fraction, delta: Fraction, alarm: Fraction) -> Decimal:
    """How often a test finds one of two values that are a step apart, which mistakes the other for it so often at most.

    Why   a test is a set of outputs, and each of the two chances of a set is at most e^epsilon times the other plus
          delta; so are those of what is outside it ([KM12] section 2 reads it for delta = 0).

    >>> [percent(power(Fraction(loss), Fraction(0), Fraction(1, 20))) for loss in (0, 1, 9)]
    ['5.0%', '13.6%', '99.99%']
    """
    factor, excess = odds(epsilon, 1), _exact(delta)
    if factor.is_infinite():
        return Decimal(1)
    found = EXACT.add(EXACT.multiply(factor, _exact(alarm)), excess)
    missed = EXACT.divide(max(Decimal(0), 1 - excess - _exact(alarm)), factor)
    return min(Decimal(1), found, EXACT.subtract(Decimal(1), missed))


def changed_belief(epsilon: Fraction) -> Decimal:
    """The most by which any chance that anybody sees after a release would be another, had one record been a step off.

    Why   tanh(epsilon / 2). What is believed after an output is in proportion to the belief before times the chance of
          the output, which changes by a factor between e^-epsilon and e^epsilon for each dataset. So the odds of any
          event change by e^(2 epsilon) at most, and a chance by the most where it goes from 1 / (1 + e^epsilon) to
          e^epsilon / (1 + e^epsilon).

    >>> percent(changed_belief(Fraction(1)))
    '46.3%'
    """
    return EXACT.subtract(EXACT.multiply(chance(epsilon, 1), Decimal(2)), Decimal(1))


# -- explain ----------------------------------------------------------------------------------------

WIDTH = 100
UNPROTECTED = "What is not protected"
"""The title of the part that says so."""


@dataclass(frozen=True, slots=True)
class Part:
    """A few sentences under a title, and examples that bear them out."""

    title: str
    sentences: tuple[str, ...]
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation(Displayed):
    """The promise of a policy: plain text for people, a document for programs."""

    dataset: str
    parts: tuple[Part, ...]

    def __repr__(self) -> str:
        return f"<Explanation of {self.dataset}: {listing(part.title for part in self.parts)}>"

    @property
    def examples(self) -> tuple[Example, ...]:
        return tuple(example for part in self.parts for example in part.examples)

    @property
    def text(self) -> str:
        lines: list[str] = []
        for part in self.parts:
            lines += [part.title, "-" * len(part.title)]
            for sentence in part.sentences:
                lines += textwrap.wrap(sentence, WIDTH, break_long_words=False)
            for example in part.examples:
                lines += textwrap.wrap(
                    example.sentence, WIDTH, initial_indent="  - ", subsequent_indent="    ", break_long_words=False
                )
            lines.append("")
        return "\n".join(lines)

    @property
    def document(self) -> dict[str, Any]:
        parts = [
            {
                "title": part.title,
                "sentences": list(part.sentences),
                "examples": [example.document for example in part.examples],
            }
            for part in self.parts
        ]
        return {"dataset": self.dataset, "parts": parts}


def explain(policy: AnyPolicy) -> Explanation:
    """What a policy promises to each person in the data.

    Post  every sentence follows from the policy's graph and budget, and every number from d_G; what is
          said to be 'at most' is rounded up.
    """
    policy = load_policy(policy)
    groups = policy.graph.groups
    secrets = _secrets(policy) if groups is None else [part for own in people(policy) for part in _secrets_of(own)]
    costs, examples = _costs(policy)
    whole, shares = share_in_words(policy)
    facts = [known_in_words(entry, policy.domain) for entry in policy.known]
    parts = [
        Part("The promise", _promise(policy)),
        Part("What is known already", said("known", facts) if facts else ()),
        Part("The whole table", whole, shares),
        *secrets,
        Part("Names that nobody listed", said("names", policy)),
        Part("What this costs", costs, examples),
        Part("A published view", view_sentences(policy)),
        Part("The promise read in other ways", other_readings(policy)),
        Part("What is assumed", _assumed(policy)),
        Part("Values that should not be there", said("stand_ins", policy, bool(policy.adversary) and not policy.items)),
        Part("What stays learnable, by design", said("by_design")),
    ]
    return Explanation(policy.dataset, tuple(part for part in parts if part.sentences))


def _secrets_of(own: People) -> list[Part]:
    if not own.policy.graph.has_edges:
        return [Part("Those who do not mind", said("those_who_do_not_mind", own))]
    return [Part(f"{part.title}, for {own.whom}", part.sentences, part.examples) for part in _secrets(own.policy, own)]


def _secrets(policy: Policy, own: People | None = None) -> list[Part]:
    """What is secret, attribute by attribute, and what is not, for people who have the same secrets."""
    start, by = (None, "") if own is None else (own.one, own.by)
    factors = [
        Part(listing(factor.names), secret_sentences(policy, factor), factor_examples(policy, factor, start))
        for factor in policy.graph.factors
        if by not in factor.names
    ]
    parts = [*factors, _record(policy, start), _open(policy, by)]
    if not policy.steps_join:
        parts = [*(_edges_only(part, first_only=True) for part in parts[:-1]), _edges_only(parts[-1], first_only=False)]
    return [part for part in parts if part.sentences]


def _promise(policy: Policy) -> tuple[str, ...]:
    epsilon = policy.epsilon
    one, two = (moves(odds(epsilon, steps)) for steps in (1, 2))
    return said("promise", policy, one, two, only_presence_is_secret(policy), *forgiven(policy))


def _edges_only(part: Part, *, first_only: bool) -> Part:
    """A part without what it says about more than one step."""
    kept = tuple(example if example.steps in (None, 1) else replace(example, steps=None) for example in part.examples)
    return Part(part.title, part.sentences[:1] if first_only else part.sentences, kept)


def _record(policy: Policy, start: tuple[int, ...] | None) -> Part:
    factors, most = len(policy.graph.factors), policy.graph.at_most
    if factors == 1:
        return Part("Several attributes at once", ())
    return Part("Several attributes at once", said("several", policy, factors, most), record_examples(policy, start))


def _open(policy: Policy, by: str) -> Part:
    """What is not protected at all."""
    found = []
    for factor in policy.graph.factors:
        if policy.domain.project(factor.names).size == 1:
            continue
        regions = isinstance(factor.graph, Regions)
        blocks = regions or (isinstance(factor.graph, Blocks) and not factor.complete)
        if blocks and has_secrets(factor):
            found.append((listing(factor.names), True, "are" if regions else "is"))
        elif not has_secrets(factor):
            found.append((factor.names[0], False, ""))
    return Part(UNPROTECTED, said("unprotected", policy, by, found))


def _costs(policy: Policy) -> tuple[tuple[str, ...], tuple[Example, ...]]:
    minding = [] if policy.graph.groups is None else [own.one for own in people(policy) if own.policy.graph.absent]
    if policy.graph.groups is not None and not minding:
        return (), ()
    dependence = said(f"cost_of_{policy.attackers.kind}", policy.attackers, len(policy.known))
    examples = (presence_example(policy, *minding[:1]),) if policy.graph.absent else ()
    return (*said("costs", policy), *said("cost_of_rows", policy), *dependence), examples


def _assumed(policy: Policy) -> tuple[str, ...]:
    most, attackers = number_of(policy.rows_per_person, "row"), policy.attackers.kind
    rows = said("whose_rows", policy, most) if policy.key else said("rows_are", attackers == "chain")
    against = said(f"against_{attackers}", policy.attackers, len(policy.known))
    return (*against, *rows, *said("nothing_else_known", policy), *said("over_time", policy, attackers))
