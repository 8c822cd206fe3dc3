"""Attacks on a release of one's own: reconstruction, and what undeclared attackers would learn.

Everything is worked out from the published folder. What was measured is certified again for attackers that the policy
does not name; what one who sees the noisy numbers gets on average is played with the same noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, assert_never

import numpy as np

from tetraodon.certificate.certificate import Certificate, Dataset, TableChance, TableShare
from tetraodon.certificate.correlated_records import certify_release
from tetraodon.certificate.table_secret_loss import record_laws
from tetraodon.errors import TetraodonError
from tetraodon.exact.arrays import Floats, Ints
from tetraodon.exact.exponent import display
from tetraodon.exact.zcdp import epsilon_at
from tetraodon.noise.laws import GAUSSIAN, LAPLACE
from tetraodon.noise.repeatable_coins import Dice
from tetraodon.policy.attackers import Attackers, Chain, Contacts, DependentGroups, Independent, TableSecret
from tetraodon.policy.load import USUAL_DELTA, load_policy
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import ABSENT, complete_graph
from tetraodon.query.contribution import One
from tetraodon.query.linear import Measurement
from tetraodon.query.number import EachPerson
from tetraodon.releases.plan import PlannedItem
from tetraodon.releases.release import Release
from tetraodon.views.exposure import BEFORE, BELIEF

# -- reconstructing ---------------------------------------------------------------------------------
# Records read off the published tables, by somebody who has nothing else.
#
# They take from a table how common each value is, and expect as many records in a cell as there would be if values went
# together by chance. What the noise left of the cell then tells, by Bayes' rule, whether somebody is there, and whether
# exactly one person is. Nothing but the folder is read.

MOST_TERMS = 200_000_000
BLOCK = 2_000_000
FAR = 40
"""So many scales away noise does not matter."""
ENOUGH = Fraction(1000, 2197)
"""A scale of Laplace noise above 1 / ln 9, that takes no even belief in one record to 90%."""


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """What a table of counts tells of its cells.

    Attributes
    ----------
    named:     cells in which somebody is, by a belief of at least 90%.
    new:       of these, how many had a belief of at most 50% from how common their values are.
    lone:      cells that exactly one record is in, by a belief of at least 90%; before it is never above 50%.
    strongest: the most that a cell makes of an even belief between nobody and one record.
    key:       what in the policy would stop that one record is named so; empty where nothing needs to.
    """

    item: str
    cells: int
    named: int
    new: int
    lone: int
    strongest: float
    key: str

    def document(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


def reconstruct(release: Release) -> tuple[Reconstruction, ...]:
    """What the largest table of every item tells that was measured cell by cell; other items are left out."""
    found = (max(_tables(release, item), key=lambda one: one.cells, default=None) for item in release.plan)
    return tuple(one for one in found if one is not None)


def _tables(release: Release, item: PlannedItem) -> Iterator[Reconstruction]:
    for measurement, answers in zip(item.measurements, release.measured[item.name], strict=False):
        query = measurement.query
        known = measurement.noise in (LAPLACE, GAUSSIAN) or measurement.scale == 0
        if not isinstance(query.contribution, One) or not query.by or not known:
            continue
        noisy = np.asarray(answers[..., 0], np.int64)
        expected = expected_records(noisy)
        few = at_most_one(noisy.ravel(), expected.ravel(), measurement)
        if few is None:
            continue
        before = expected.ravel() / (1 + expected.ravel())
        hidden, named, lone = before <= BEFORE, few[:, 0] <= 1 - BELIEF, few[:, 1] >= BELIEF
        yield Reconstruction(
            item.name,
            noisy.size,
            int(named.sum()),
            int((named & hidden).sum()),
            int(lone.sum()),
            _strongest(measurement),
            _key(release, measurement),
        )


def expected_records(table: Ints) -> Floats:
    """How many records each cell has if values go together by chance, as common as the table says; above 0.

    >>> expected_records(np.array([[6, 2], [3, 1]])).tolist()
    [[6.0, 2.0], [3.0, 1.0]]
    """
    counts = np.maximum(table, 0).astype(np.float64)
    total = max(1.0, float(counts.sum()))
    if counts.ndim == 1:
        return np.full(counts.shape, total / counts.size)
    found = np.full(counts.shape, total)
    for axis in range(counts.ndim):
        margin = counts.sum(axis=tuple(other for other in range(counts.ndim) if other != axis), keepdims=True)
        found = found * np.maximum(margin, 0.5) / total
    return found


def at_most_one(noisy: Ints, expected: Floats, measurement: Measurement) -> Floats | None:
    """For each cell the beliefs that nobody is there, and exactly one; None where that would take too long.

    Why  before, somebody is there with p = expected / (1 + expected), and how many is left open: n with p / (n (n+1)).
         After, each number gains as much belief as the noise makes the published number likely.
    """
    scale = float(measurement.scale)
    if scale == 0:
        return np.stack([noisy == 0, noisy == 1], axis=1).astype(np.float64)
    near = noisy < (FAR + 10) * scale + 10  # elsewhere somebody is there, and more than one
    most = int(max(noisy[near].max(initial=0), 0) + FAR * scale + FAR)
    if near.sum() * most > MOST_TERMS:
        return None
    found, places = np.zeros((noisy.size, 2)), np.flatnonzero(near)
    numbers = np.arange(most + 1)
    step = max(1, BLOCK // (most + 1))
    for start in range(0, len(places), step):
        those = places[start : start + step]
        off = np.abs(noisy[those, None] - numbers)
        noise = -off / scale if measurement.noise == LAPLACE else -(off**2) / (2 * scale**2)
        log = np.where(
            numbers == 0, 0.0, np.log(expected[those, None]) - np.log(np.maximum(numbers * (numbers + 1), 1))
        )
        log = log + noise
        weights = np.exp(log - log.max(axis=1, keepdims=True))
        found[those] = weights[:, :2] / weights.sum(axis=1, keepdims=True)
    return found


def _strongest(measurement: Measurement) -> float:
    if measurement.scale == 0 or measurement.noise == GAUSSIAN:
        return 1.0
    return 1 / (1 + math.exp(-1 / float(measurement.scale)))


def _key(release: Release, measurement: Measurement) -> str:
    """For tables that are told exactly, the secrets; for those with little noise, the epsilon at which it suffices."""
    if measurement.scale == 0:
        graphs = {name: factor.graph for factor in release.plan.policy.graph.factors for name in factor.names}
        public = [name for name in measurement.query.names if not graphs[name].has_edges]
        return f"secrets: {{{public[0]}: everything}}" if public else "presence: secret"
    if measurement.noise != LAPLACE or measurement.scale >= ENOUGH:
        return ""
    least = release.plan.epsilon * measurement.scale / ENOUGH
    return f"budget: {{epsilon: {math.floor(1000 * least) / 1000:g}}}"


# -- on release -------------------------------------------------------------------------------------

DRAWS = 20_000
MOST_ANSWERS = 1_000_000
UNPRICED = "none: a policy for this attacker is refused"


@dataclass(frozen=True, slots=True)
class Finding:
    """One attacker. `epsilon` is what they are promised, or what the release loses to them where nothing is promised.

    `got` is how often they guess right between the two worst possibilities, each as likely as the other before, where
    that was played. `why` says why there is no price, or none that is finite.
    """

    name: str
    who: str
    key: str
    epsilon: Fraction | float | None
    exact: bool = False
    got: float | None = None
    why: str = ""

    @property
    def most(self) -> float | None:
        """The most that any output makes of an even belief."""
        if self.epsilon is None:
            return None
        loss = display(self.epsilon)
        return 1.0 if math.isinf(loss) else 1 / (1 + math.exp(-loss))

    def document(self) -> dict[str, Any]:
        """The finding as plain data."""
        loss = None if self.epsilon is None else "infinite" if isinstance(self.epsilon, float) else str(self.epsilon)
        return {
            "name": self.name,
            "who": self.who,
            "key": self.key,
            "epsilon_exact": loss,
            "exact": self.exact,
            "most": self.most,
            "got": self.got,
            "why": self.why,
        }


def attack_release(
    release: Release, *, household: int = 3, again: int = 10, known: Sequence[dict[str, Any]] = ()
) -> tuple[Finding, ...]:
    """Every attacker that can be priced on a release: the one it is made for first, then those it is not.

    `known` are facts as a policy lists them, which somebody is thought to know; without any, the exact table of each
    attribute by itself is tried.
    """
    plan, policy = release.plan, release.plan.policy
    measured = [measurement for item in plan for measurement in item.measurements]
    return tuple(_findings(policy, measured, plan.certificate, household, again, known))


def _findings(
    policy: Policy,
    measured: Sequence[Measurement],
    own: Certificate,
    household: int,
    again: int,
    known: Sequence[dict[str, Any]],
) -> Iterator[Finding]:
    whole = isinstance(policy.attackers, TableSecret)
    yield Finding(
        "promised",
        _whom(policy.attackers),
        "none: this is what the release promises",
        own.epsilon,
        own.exact,
        played(policy, measured, own),
    )

    def priced(name: str, who: str, key: str, change: Callable[[], Policy]) -> Finding:
        try:
            other = change()
            found = certify_release(other, measured, delta=other.delta or policy.delta or USUAL_DELTA)
        except TetraodonError as refusal:
            return Finding(name, who, UNPRICED, None, why=str(refusal))
        why = "an exact answer gives away what this attacker must not see" if not found.finite else ""
        return Finding(name, who, key, found.epsilon, found.exact, played(other, measured, found), why)

    document = policy.document
    if policy.key:
        yield _household_of_keys(policy, measured, household)
    elif isinstance(policy.attackers, Independent):
        yield priced(
            "household",
            f"knows that {household} people are alike in every way, such as a family or an outbreak",
            "attackers: [{groups: COLUMN, at most: " + str(household) + "}]",
            lambda: replace(policy, attackers=DependentGroups("household", household)),
        )
    if policy.presence == "public":
        yield priced(
            "membership",
            "has a list of candidates, and wonders who of them is in the data",
            "presence: secret",
            lambda: load_policy({**document, "presence": "secret"}),
        )
    if not _everything_secret(policy):
        yield priced(
            "any two records",
            "wonders between any two records somebody may have, near or far, in what is secret and in what is not",
            "secrets: {}",
            lambda: load_policy({**document, "secrets": {}}),
        )
    facts = list(known) or [{"marginal": [name]} for name in _named(measured)]
    for fact in facts:
        text = ", ".join(f"{key}: {value}" for key, value in fact.items())
        yield priced(
            "known figures",
            f"knows an exact figure from elsewhere ({text})",
            "known: [{" + text + "}]",
            partial(_knowing, document, fact),
        )
    if own.rho is None and not own.delta and own.finite and not whole:
        yield Finding(
            "averaging",
            f"sees {again} such releases of the same data, and averages them",
            "none: the ledger adds them up, and refuses beyond the total",
            own.epsilon * again,
            own.exact,
            played(policy, list(measured) * again, own),
        )


def _whom(attackers: Attackers) -> str:
    """The attacker that a release is made for."""
    wonders = "wonders which of two values that are a secret somebody's is"
    match attackers:
        case Independent():
            return f"knows everybody else's record, and {wonders}"
        case DependentGroups(column):
            return (
                f"knows everybody with another {column}, and how rows with the same {column} go together, and {wonders}"
            )
        case Chain(along):
            return f"knows the chain that rows follow in the order of {along}, and {wonders}"
        case Contacts():
            return f"knows who is a contact of whom, and how contacts go together, and {wonders}"
        case TableSecret():
            return (
                "knows how columns go together, and wonders which of two shares or chances of the whole table is true"
            )
        case _:
            assert_never(attackers)


def _household_of_keys(policy: Policy, measured: Sequence[Measurement], people: int) -> Finding:
    """People with several rows each who are alike: so many times what any change of all rows of one person costs.

    Why   `attackers` has no groups of people with several rows; their household may be named as the individual.
    """
    most = people * policy.rows_per_person
    who = f"knows that {people} people are alike in every way, such as a family or an outbreak"
    key = "individuals: {key: COLUMN, " + ("secret" if policy.every_row else "at most") + f": {most} rows" + "}"
    delta = policy.delta or USUAL_DELTA
    try:
        alone = replace(policy, graph=complete_graph(policy.graph), once=False)
        one = certify_release(alone, measured, delta=delta)
    except TetraodonError as refusal:
        return Finding("household", who, UNPRICED, None, why=str(refusal))
    together = people * one.epsilon if one.rho is None else epsilon_at(people**2 * one.rho, delta)
    return Finding("household", who, key, together if one.finite else one.epsilon)


def _knowing(document: Mapping[str, Any], fact: Mapping[str, Any]) -> Policy:
    return load_policy({**document, "known": [*document.get("known", []), fact]})


def _everything_secret(policy: Policy) -> bool:
    return all(factor.complete for factor in policy.graph.factors) and policy.graph.at_most >= len(policy.graph.factors)


def _named(measured: Sequence[Measurement]) -> list[str]:
    """The attributes that were measured, each once."""
    return list(dict.fromkeys(name for measurement in measured for name in measurement.query.names))


def played(policy: Policy, measured: Sequence[Measurement], certificate: Certificate) -> float | None:
    """How often somebody is right who decides between the two worst possibilities by the likelihood of all answers.

    Post  None where the kernel names no pair, or where noise or answers are not of the kind that is played here.
    Why   by Neyman and Pearson no other way of deciding is right more often, both being as likely before.
    """
    if certificate.witness is None or not certificate.finite:
        return None if certificate.finite else 1.0
    if isinstance(policy.attackers, TableSecret) and isinstance(certificate.witness[0], TableShare | TableChance):
        return _shares_told(policy, policy.attackers, measured, certificate.witness)
    dice = Dice(0)
    evidence = np.zeros(DRAWS)
    for measurement in measured:
        moved = _moved(policy, measurement, certificate.witness)
        if moved is None or (len(moved) and measurement.noise not in (LAPLACE, GAUSSIAN)):
            return None
        for step in moved:
            evidence += _evidence(measurement, float(step), dice)
    return float((evidence > 0).mean() + (evidence == 0).mean() / 2)


def _shares_told(
    policy: Policy, secret: TableSecret, measured: Sequence[Measurement], pair: tuple[Any, Any]
) -> float | None:
    """How often somebody is right who takes a noisy count for the nearer of what two shares of a table would give.

    Post  None for what is not a count.
    Why   the ratio of the two laws of the noisy count rises, so that the best way of deciding is a line between them.
    """
    noisy = [one for one in measured if one.scale]
    laws = record_laws(secret, noisy[0].query, policy.domain)
    if laws.values != (0, 1):
        return None
    having, lacking = float(laws.having[1]), float(laws.lacking[1])
    dice, counts = Dice(0), []
    expected = 0.0
    for one in pair:
        drawn = isinstance(one, TableChance)
        have = dice.random.binomial(one.records, float(one.chance), DRAWS) if drawn else np.full(DRAWS, one.having)
        drawn_counts = dice.random.binomial(have, having) + dice.random.binomial(one.records - have, lacking)
        expected += float(have.mean()) * having + (one.records - float(have.mean())) * lacking
        counts.append(drawn_counts + dice.laplace(noisy[0].scale, (DRAWS,)))
    line = expected / 2
    right = ((counts[0] < line).mean() + (counts[1] > line).mean()) / 2 + sum(
        (one == line).mean() for one in counts
    ) / 4
    return float(max(right, 1 - right))


def _moved(policy: Policy, measurement: Measurement, pair: tuple[Any, Any]) -> Floats | None:
    """By how much the answers differ, those that do; None where what is measured is no sum with noise on each."""
    query, domain = measurement.query, policy.domain
    added_up = measurement.on_each and not isinstance(query.contribution, EachPerson)
    if not added_up or query.size(domain) > MOST_ANSWERS:
        return None
    places = [domain.position(name) for name in query.names]
    answers = []
    for side in pair:
        records = side.records if isinstance(side, Dataset) else () if side is ABSENT else (side,)
        there = [domain.codes(record) for record in records if record is not ABSENT]
        codes = np.array([[code[place] for place in places] for code in there], np.int64)
        answers.append(query.evaluate(domain, codes.reshape(len(there), len(places)), np.ones(len(there), np.int64)))
    rows = 1 if isinstance(pair[0], Dataset) else policy.rows_per_person  # all rows of a person may move alike
    apart = rows * (answers[0] - answers[1]).ravel()
    return np.asarray(apart[apart != 0], np.float64)


def _evidence(measurement: Measurement, step: float, dice: Dice) -> Floats:
    """The logarithm of how much more likely an answer is under the truth, for many draws of its noise."""
    scale = float(measurement.scale)
    if measurement.noise == LAPLACE:
        noise = dice.laplace(measurement.scale, (DRAWS,))
        return np.asarray((np.abs(noise + step) - np.abs(noise)) / scale, np.float64)
    near = np.rint(dice.random.normal(0, scale, DRAWS))
    return np.asarray(((near + step) ** 2 - near**2) / (2 * scale**2), np.float64)
