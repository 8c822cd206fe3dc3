"""The promise of a policy in plain words, with odds and example pairs."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from tetraodon.display import Displayed, listing, number_of
from tetraodon.policy.attribute_graph import Blocks
from tetraodon.policy.joint_graph import Regions
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.policy.policy import Policy
from tetraodon.policy.promise_words import (
    Example,
    People,
    against_whom,
    cost_of_dependence,
    factor_examples,
    forgiven,
    has_secrets,
    known_in_words,
    only_presence_is_secret,
    people,
    presence_example,
    record_examples,
    said,
    secret_sentences,
    share_in_words,
    view_sentences,
)
from tetraodon.policy.words import WORTHLESS, as_if, chance, moves, odds, percent

# -- other readings ---------------------------------------------------------------------------------
# The promise read in other ways: by a tester who may be wrong so often, and as a change of what is believed after.

EXACT = Context(prec=40)
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


def _exact(number: Fraction) -> Decimal:
    return EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))


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
    parts = [
        Part("The promise", _promise(policy)),
        Part("What is known already", _known(policy)),
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
    return said("promise", policy, one, two, as_if(epsilon), only_presence_is_secret(policy), *forgiven(policy))


def _known(policy: Policy) -> tuple[str, ...]:
    return said("known", [known_in_words(entry, policy.domain) for entry in policy.known]) if policy.known else ()


def _edges_only(part: Part, *, first_only: bool) -> Part:
    """A part without what it says about more than one step."""
    kept = tuple(
        example if example.steps in (None, 1) else replace(example, steps=None, odds=None, chance=None)
        for example in part.examples
    )
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
    dependence = cost_of_dependence(policy.attackers, len(policy.known))
    examples = (presence_example(policy, *minding[:1]),) if policy.graph.absent else ()
    return (*said("costs", policy), *said("cost_of_rows", policy), *dependence), examples


def _assumed(policy: Policy) -> tuple[str, ...]:
    most, attackers = number_of(policy.rows_per_person, "row"), policy.attackers.kind
    rows = said("whose_rows", policy, most) if policy.key else said("rows_are", attackers == "chain")
    against = against_whom(policy.attackers, len(policy.known))
    return (against, *rows, *said("nothing_else_known", policy), *said("over_time", policy, attackers))
