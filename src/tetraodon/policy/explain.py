"""The promise of a policy in plain words, with odds and example pairs."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from tetraodon.display import Displayed, listing
from tetraodon.policy.attackers import Chain
from tetraodon.policy.attribute_graph import Blocks
from tetraodon.policy.joint_graph import Regions
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.policy.policy import Policy
from tetraodon.policy.promise_words import (
    Example,
    People,
    against_whom,
    cost_of_dependence,
    cost_of_rows,
    factor_examples,
    forgiven,
    has_secrets,
    how_releases_add_up,
    known_in_words,
    names_sentences,
    only_presence_is_secret,
    people,
    presence_example,
    reading_sentences,
    record_examples,
    rows_in_a_step,
    secret_sentences,
    share_in_words,
    shown_epsilon,
    stand_in_sentences,
    view_sentences,
    whose_rows,
    why_two_steps,
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
    tester = (
        "To a tester: somebody sees the release and has to say which of two values, one step apart, a person has. "
        "Whoever takes the first for the second in at most 5 of 100 cases recognises the second in at most "
        f"{found} of cases; guessing does so in 5%."
    )
    if policy.delta or policy.known:
        return (tester,)
    apart = percent(changed_belief(policy.epsilon)).removesuffix("%")
    return (
        tester,
        "From belief to belief: whatever chance anybody gives to anything after the release, about this person or "
        f"others, they would give it the same chance, up to {apart} percentage points more or less, had this person's "
        "record been one step off.",
    )


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
    view = Part("A published view", view_sentences(policy))
    stand_ins = Part("Values that should not be there", stand_in_sentences(policy) + reading_sentences(policy))
    named = Part("Names that nobody listed", names_sentences(policy))
    otherwise = Part("The promise read in other ways", other_readings(policy))
    ends = [_costs(policy), view, otherwise, _assumed(policy), stand_ins]
    whole = Part("The whole table", *share_in_words(policy))
    parts = [_promise(policy), _known(policy), whole, *secrets, named, *ends]
    return Explanation(policy.dataset, tuple(part for part in [*parts, _by_design()] if part.sentences))


def _secrets_of(own: People) -> list[Part]:
    if not own.policy.graph.has_edges:
        told = [f"These are {own.whom}. Nothing is promised about what their records say."]
        if own.policy.known:
            told.append(
                "They still count: somebody else's secret may need theirs to change with it, for the known counts to "
                "stay as they are, and the noise allows for that."
            )
        return [Part("Those who do not mind", tuple(told))]
    return [Part(f"{part.title}, for {own.whom}", part.sentences, part.examples) for part in _secrets(own.policy, own)]


def _secrets(policy: Policy, own: People | None = None) -> list[Part]:
    """What is secret, attribute by attribute, and what is not, for people who have the same secrets."""
    start, by = (None, "") if own is None else (own.one, own.by)
    factors = [
        Part(listing(factor.names), tuple(secret_sentences(policy, factor)), factor_examples(policy, factor, start))
        for factor in policy.graph.factors
        if by not in factor.names
    ]
    parts = [*factors, _record(policy, start), _open(policy, by)]
    if not policy.steps_join:
        parts = [*(_edges_only(part, first_only=True) for part in parts[:-1]), _edges_only(parts[-1], first_only=False)]
    return [part for part in parts if part.sentences]


def _promise(policy: Policy) -> Part:
    epsilon = policy.epsilon
    one, two = (moves(odds(epsilon, steps)) for steps in (1, 2))
    whom = "sets of rows one person has" if policy.key else "values one person's record has"
    sentences = [
        f"Somebody who wonders which of two {whom} sees the release, and changes their mind. "
        f"Two values that must not be told apart are one step apart, and for them the odds between the two move "
        f"{one}." + (f" For two values that two steps join, they move {two}, and so on." if policy.steps_join else ""),
        f"That is what epsilon {shown_epsilon(epsilon)} means for the whole release. {as_if(epsilon)}",
    ]
    if only_presence_is_secret(policy):
        sentences.append(
            "Presence is the only secret: what is released would be about as likely if any one person had not been in "
            "the data. That is differential privacy as libraries mean it that add or remove one record."
        )
    if policy.delta:
        sentences.append(forgiven(policy))
    if policy.key:
        sentences.append(rows_in_a_step(policy))
    if not policy.known and not policy.steps_join:
        sentences.append(
            "Nothing is promised about values that are further apart than one step: with the start that this file "
            "states, a value between them may be impossible, and no chain of steps leads over it."
        )
    if policy.graph.groups is not None:
        sentences.append(
            f"What is secret about a person depends on their {policy.graph.groups.by}, which is not protected. The "
            "promise is kept to each by the secrets of their own group."
        )
    if not policy.graph.has_edges and not any(column.secret for column in policy.open):
        sentences = ["This policy has no secret: it protects nothing, and every answer may be released exactly."]
    return Part("The promise", tuple(sentences))


def _known(policy: Policy) -> Part:
    if not policy.known:
        return Part("What is known already", ())
    facts = [known_in_words(entry, policy.domain) for entry in policy.known]
    return Part(
        "What is known already",
        (
            *(f"Everybody is taken to know {fact}." for fact in facts),
            "The promise holds against them all the same: noise is larger where knowing this would give away more. "
            "It is for values one step apart only. Nothing is promised about values that are further apart, since a "
            "chain of steps may lead over data that contradict what is known.",
        ),
    )


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
    if most >= factors:
        told = "One step may change all attributes at once, each along a secret of its own."
        walk = "Two records are as many steps apart as the attribute that needs the most steps."
    elif most == 1:
        told = "One step changes one attribute only."
        walk = "Two records are as many steps apart as all their attributes need together, so the odds multiply."
    else:
        told = f"One step changes at most {most} attributes, each along a secret of its own."
        walk = (
            f"Two records are as many steps apart as the attribute that needs the most steps, or as all their steps "
            f"together divided by {most} and rounded up, whichever is more."
        )
    if policy.graph.absent:
        walk = f"But no two records are more than two steps apart, {why_two_steps(policy)}."
    return Part("Several attributes at once", (told, walk), record_examples(policy, start))


def _open(policy: Policy, by: str) -> Part:
    """What is not protected at all."""
    if policy.graph.absent and policy.known:
        return Part(UNPROTECTED, ("Values that are more than one step apart.",))
    if policy.graph.absent and by:
        told = f"Their {by}. Two records with the same {by} are at most two steps apart, {why_two_steps(policy)}."
        return Part(UNPROTECTED, (told,))
    if policy.graph.absent:
        told = (
            f"Any two records are at most two steps apart, {why_two_steps(policy)}: "
            "nothing about a person is left wholly unprotected."
        )
        return Part(UNPROTECTED, (told,))
    sentences = ["The number of records is not protected: it is taken to be known."]
    for factor in policy.graph.factors:
        size = policy.domain.project(factor.names).size
        if size == 1:
            continue
        if not has_secrets(factor):
            sentences.append(f"{factor.names[0]} is not protected.")
        elif isinstance(factor.graph, Blocks) and not factor.complete:
            sentences.append(f"The block that a person's {factor.names[0]} is in is not protected.")
        elif isinstance(factor.graph, Regions):
            sentences.append(f"The block that a person's {listing(factor.names)} are in is not protected.")
    sentences.append("What this policy file says is public: the attributes, their lists of values and their bounds.")
    return Part(UNPROTECTED, tuple(sentences))


def _costs(policy: Policy) -> Part:
    minding = [] if policy.graph.groups is None else [own.one for own in people(policy) if own.policy.graph.absent]
    if policy.graph.groups is not None and not minding:
        return Part("What this costs", ())
    sentences = []
    if policy.presence == "secret":
        sentences.append(
            "It is a secret whether a person is in the data: 'not in the data' is one step from every record. So a "
            "count moves by one when a person comes or goes, and none is released exactly, not even of a public "
            "attribute. If the number of records is known anyway, `presence: public` may need less noise."
        )
    elif policy.key:
        sentences.append(
            "It is a secret how many rows a person has: 'no row' is one step from every row. So no count of rows is "
            "released exactly, not even of a public attribute."
        )
    sentences.extend(cost_of_rows(policy))
    sentences.extend(cost_of_dependence(policy.attackers, len(policy.known)))
    examples = (presence_example(policy, *minding[:1]),) if policy.graph.absent else ()
    return Part("What this costs", tuple(sentences), examples)


def _assumed(policy: Policy) -> Part:
    if policy.key:
        rows = whose_rows(policy)
    elif isinstance(policy.attackers, Chain):
        rows = "Every row is a moment of its own, and what it says is a secret of its own."
    else:
        rows = "Every row is about a different person."
    sentences = [
        against_whom(policy.attackers, len(policy.known)),
        rows,
        f"No {'other ' if policy.known else ''}exact figure about these data is known from elsewhere"
        + (", except the number of records." if policy.size_is_public else "."),
        how_releases_add_up(policy.attackers)
        + (" With a delta it keeps what they lose together at that delta." if policy.delta else ""),
    ]
    if policy.population:
        sentences.append(
            f"These data are one wave of the population {policy.population}: a person may be in every wave, with "
            "secrets in each. What releases from all its waves lose adds up, out of one total."
        )
    return Part("What is assumed", tuple(sentences))


def _by_design() -> Part:
    return Part(
        "What stays learnable, by design",
        (
            "What is true of people in general can be learnt, and is meant to be. If smoking causes cancer, a release "
            "may show it, and anybody may then draw conclusions about a person who smokes, whether or not that "
            "person is in the data. The promise is about what one person's own record adds.",
        ),
    )
