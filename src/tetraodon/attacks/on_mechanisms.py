"""Attacks on noise, samplers and definitions."""

from __future__ import annotations

import math
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow
from numpy.typing import NDArray
from scipy.special import ndtr

from tetraodon.attacks.attack import Attack, Story, bars, dots, lines, rounded, strongest_belief
from tetraodon.certificate.sensitivity import sensitivity
from tetraodon.errors import BudgetExhausted
from tetraodon.ledger import Ledger
from tetraodon.noise import laplace_pmf
from tetraodon.noise.repeatable_coins import Dice
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy
from tetraodon.pufferfish import (
    Additive,
    Channel,
    Definition,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Prior,
    Scenario,
    Secret,
    World,
    if_the_scenario_is_wrong,
    named,
    pairs,
    posterior,
    scenarios,
    verify,
)
from tetraodon.query.counts import histogram
from tetraodon.releases.plan import plan
from tetraodon.releases.run import release
from tetraodon.wording import number_of

# -- all or none ------------------------------------------------------------------------------------
# Restricted sensitivity, where everybody is known to have the same answer.

EPSILON = Fraction(1, 2)
ALL_OR_NONE_SIZES = (1, 2, 4, 6, 8, 10, 15, 20)


def run_all_or_none() -> Story:
    odds: dict[tuple[str, int], float] = {}
    for n in ALL_OR_NONE_SIZES:
        world = World.of([(0,) * n, (1,) * n])
        [none, everybody] = world.datasets
        restricted = Fraction(abs(sum(none) - sum(everybody)), n)  # type: ignore[call-overload]  # over n changed records
        promise = Definition(pairs.values(), scenarios.anything(), epsilon=EPSILON)
        for name, scale in (("restricted sensitivity", restricted / EPSILON), ("induced neighbours", n / EPSILON)):
            odds[name, n] = math.exp(verify(Additive(sum, Laplace(scale), world), promise).epsilon)
    rows = [{"people": n, "odds move by": rounded(number), "noise for the": name} for (name, n), number in odds.items()]
    return Story(
        words="All members of a club vote alike, and everybody knows it: the table is all 0 or all 1. The restricted "
        "sensitivity of the number of ones is 1, the change of the answer over the number of changed records. Noise "
        f"for it, at epsilon 1/2, moves the odds of any member's vote by {odds['restricted sensitivity', 10]:.1f} "
        "with 10 members.",
        defence="The two tables that are possible are neighbours, however many records differ. Noise of scale "
        "n/epsilon keeps the promise, and for known counts the certificate finds such neighbours by itself.",
        measure="the most by which the odds move, 10 people",
        attacked=odds["restricted sensitivity", 10],
        allowed=math.exp(0.5),
        defended=odds["induced neighbours", 10],
        numbers={f"odds, {n} people": rounded(odds["restricted sensitivity", n]) for n in (1, 10, 20)},
        chart=lines(rows, x="people", y="odds move by", colour="noise for the", log="y"),
    )


ALL_OR_NONE = Attack("all-or-none", "Restricted sensitivity on all or none", "[HMD14] section 4.4", run_all_or_none)


# -- everything at once -----------------------------------------------------------------------------
# Nothing, nearly always; the whole table, now and then: that is (epsilon, delta) too.

DELTA = Fraction(1, 1000)
RELEASES = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)


def run_everything_at_once() -> Story:
    world = World.product((0, 1), individuals=3)
    leak = Channel.of(lambda people: {"nothing": 1 - DELTA, people: DELTA}, world)
    accepted = verify(leak, named.indistinguishability(epsilon=0, delta=DELTA))
    pure = verify(leak, named.indistinguishability(epsilon=1))
    noisy = verify(Additive(sum, DiscreteLaplace(1), world), named.indistinguishability(epsilon=1))
    leaked = {n: float(1 - (1 - DELTA) ** n) for n in RELEASES}
    best_guess = (1 + math.tanh(float(noisy.epsilon) / 2)) / 2  # of the likelier of two counts one apart
    chance = "chance that the table is out"
    rows = [{"releases": n, chance: rounded(p), "mechanism": "all with probability delta"} for n, p in leaked.items()]
    rows += [{"releases": n, chance: 0.0, "mechanism": "discrete Laplace noise"} for n in leaked]
    return Story(
        words=f"A mechanism publishes nothing, and with probability delta = {float(DELTA):g} the whole table. `verify` "
        "confirms that it is (0, delta)-private. After 1,000 releases the table is out with probability "
        f"{leaked[1000]:.0%}. A guess of one person's bit is then right in {(1 + leaked[1000]) / 2:.0%} of cases, "
        "where a loss of epsilon 1 allows 73%.",
        defence="Ask at delta = 0. There the loss of this mechanism is infinite, and that of a count with discrete "
        f"Laplace noise is {noisy.epsilon:g}, of one release or of all that a ledger lets pass: no output ever rules "
        "out a dataset. Where delta is used, let it be far below one over the number of people and releases, and let "
        "it come from a noise whose failures are mild.",
        measure="how often a guess about a person's bit is right after 1,000 releases",
        attacked=(1 + leaked[1000]) / 2 if accepted.holds and math.isinf(pure.epsilon) else 0.5,
        allowed=math.e / (1 + math.e),
        defended=best_guess if noisy.holds else 1.0,
        numbers={
            "delta": float(DELTA),
            "chance that the table is out": rounded(leaked[1000]),
            "accepted at that delta": bool(accepted),
            "epsilon of discrete Laplace noise at delta 0": noisy.epsilon,
        },
        chart=lines(rows, x="releases", y=chance, colour="mechanism", log="x"),
    )


EVERYTHING_AT_ONCE = Attack(
    "everything-at-once",
    "All, with probability delta",
    "[MK15] Minimizing probabilistic failure",
    run_everything_at_once,
)


# -- exam -------------------------------------------------------------------------------------------
# An exam in a known order: one student's record says a lot about all others.

EXAM_EPSILON = Fraction(1, 2)
STUDENTS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50)


def sitting(students: int) -> World:
    """The students take the exam one after the other, so only the number who have taken it is in doubt."""
    return World.of([(1,) * taken + (0,) * (students - taken) for taken in range(students + 1)])


def run_exam() -> Story:
    rows, odds, safe = [], {}, {}
    for n in STUDENTS:
        world = sitting(n)
        promise = Definition(pairs.values(), scenarios.explicit([Prior.uniform(world)]), epsilon=EXAM_EPSILON)
        odds[n] = float(verify(Additive(sum, Laplace(1 / EXAM_EPSILON), world), promise).odds or 1)
        any_prior = verify(Additive(sum, Laplace(n / EXAM_EPSILON), world), promise.against(scenarios.anything()))
        safe[n] = math.exp(any_prior.epsilon)
        rows.append({"students": n, "odds move by": rounded(odds[n]), "noise": "scale 1/epsilon"})
    rows += [{"students": n, "odds move by": rounded(safe[n]), "noise": "scale n/epsilon"} for n in STUDENTS]
    return Story(
        words="Students take an exam in a known order, and the number who have taken it is published with "
        "Laplace(1/epsilon) noise. That is differentially private; but if the first has not taken it, nobody has. "
        f"With 10 students and epsilon 1/2 the odds that the first has taken it move by {odds[10]:.3f}, not by "
        f"{math.exp(0.5):.2f}.",
        defence="Say what is known of the order, and verify. Noise of scale n/epsilon keeps the odds within e^epsilon "
        "for every prior on the sittings.",
        measure="the most by which the odds move, 10 students",
        attacked=odds[10],
        allowed=math.exp(0.5),
        defended=safe[10],
        numbers={f"odds, {number_of(n, 'student')}": rounded(odds[n]) for n in (1, 10, 50)},
        chart=lines(rows, x="students", y="odds move by", colour="noise", log="y"),
    )


EXAM = Attack("exam", "The exam in a known order", "[KM12] Examples 9.1 and 9.2", run_exam)


# -- floating point ---------------------------------------------------------------------------------
# Laplace noise in floating-point numbers: the last bits tell the true answer.

GRAIN = 1 << 53
TRIES = 4000
REACH = 12
"""How many neighbouring random numbers are looked at; a logarithm in floats is off by less."""


def textbook(number: int, sign: int, answer: float) -> float:
    """The answer plus Laplace noise of scale 1, by the textbook: a uniform number in (0, 1] and its logarithm."""
    return answer + sign * -math.log(number / GRAIN)


def possible(published: float, answer: float) -> bool:
    """Whether some uniform number of 53 bits turns this answer into what was published ([Mir12])."""
    noise = published - answer
    sign = 1 if noise >= 0 else -1
    middle = round(GRAIN * math.exp(-abs(noise)))
    near = range(max(1, middle - REACH), min(GRAIN, middle + REACH) + 1)
    return any(textbook(number, sign, answer) == published for number in near)


def run_floating_point() -> Story:
    dice = Dice(5)
    numbers, signs = dice.draw(TRIES, 53), dice.draw(TRIES, 1)
    certain = {0: 0, 1: 0}
    for truth in (0, 1):
        for number, sign in zip(numbers.tolist(), signs.tolist(), strict=True):
            published = textbook(number + 1, 1 if sign else -1, float(truth))
            certain[truth] += not possible(published, float(1 - truth))
    share = sum(certain.values()) / (2 * TRIES)
    exact = verify(
        Additive(sum, DiscreteLaplace(1), World.product((0, 1), individuals=1)), named.indistinguishability(epsilon=1)
    )
    wholly = sum(1 for k in range(-50, 51) if not (laplace_pmf(1, k) and laplace_pmf(1, k - 1)))
    stage, number_out = "noise", "share of releases that give the answer away"
    rows = [
        {stage: f"floats, the answer is {truth}", number_out: rounded(number / TRIES)}
        for truth, number in certain.items()
    ]
    rows.append({stage: "whole numbers", number_out: float(wholly)})
    return Story(
        words="A count of 0 or 1 is published with Laplace noise, computed in the textbook way with floating-point "
        "numbers. Of those, only some can come out for 0, others for 1. The attacker tries the few random numbers that "
        f"could have led to what was published: in {share:.0%} of {2 * TRIES:,} releases one answer is impossible, and "
        "the other certain.",
        defence="Noise in whole numbers, drawn exactly. Every whole number can come out for both answers, and the loss "
        f"is epsilon = {exact.epsilon:g}, to the last bit.",
        measure="share of releases that give the answer away",
        attacked=share,
        allowed=0.0,
        defended=float(wholly) if exact.upper == Fraction(1) else 1.0,
        numbers={"releases": 2 * TRIES, "given away": sum(certain.values()), "epsilon of exact noise": exact.epsilon},
        chart=bars(rows, x=stage, y=number_out, colour=stage),
    )


FLOATING_POINT = Attack(
    "floating-point", "The last bits of noise in floats", "[Mir12]; [MK15] Implementation concerns", run_floating_point
)


# -- gaussian tail ----------------------------------------------------------------------------------
# A Gaussian release that is 13,000 times as likely for one value as for the other.

SEEN = 10


def run_gaussian_tail() -> Story:
    world = World.product((0, 1), individuals=1)
    normal = Additive(sum, Gaussian(1), world)
    pure = verify(normal, named.indistinguishability(epsilon=1))
    forgiven = verify(normal, named.indistinguishability(epsilon=1, delta="0.127"))
    double = verify(Additive(sum, Laplace(1), world), named.indistinguishability(epsilon=1))
    ratio = "times as likely for 1 as for 0"
    outputs = [n / 2 for n in range(-4, 2 * SEEN + 1)]
    rows = [{"published": y, ratio: rounded(math.exp(y - 0.5)), "noise": "Gaussian, deviation 1"} for y in outputs]
    rows += [
        {"published": y, ratio: rounded(math.exp(abs(y) - abs(y - 1))), "noise": "Laplace, scale 1"} for y in outputs
    ]
    odds = math.exp(SEEN - 0.5)
    assert forgiven.delta is not None
    return Story(
        words=f"Bob's bit is published with standard Gaussian noise, and the result happens to be {SEEN}. That is "
        f"{odds:,.0f} times as likely if the bit is 1 as if it is 0. The odds grow without bound: at delta = 0 no "
        "epsilon holds.",
        defence=f"Laplace noise of scale 1 never moves the odds by more than e = {math.exp(double.epsilon):.3f}, "
        "whatever is published. Or state delta: at epsilon 1 this Gaussian noise needs "
        f"{float(forgiven.delta[1]):.4f}, the part of such outputs that e^epsilon does not cover.",
        measure="belief that the bit is 1, from one half",
        attacked=odds / (1 + odds) if math.isinf(pure.epsilon) else 0.5,
        allowed=math.e / (1 + math.e),
        defended=math.exp(double.epsilon) / (1 + math.exp(double.epsilon)),
        numbers={
            "published": SEEN,
            "times as likely for 1 as for 0": rounded(odds),
            "chance of that or more, bit 1": rounded(float(ndtr(1 - SEEN))),
            "smallest delta at epsilon 1": rounded(float(forgiven.delta[1])),
        },
        chart=lines(rows, x="published", y=ratio, colour="noise", log="y", points=False),
    )


GAUSSIAN_TAIL = Attack(
    "gaussian-tail", "A Gaussian release far out", "[MK15] Minimizing probabilistic failure", run_gaussian_tail
)


# -- known sums -------------------------------------------------------------------------------------
# Sums of adjacent counts are known, and average the noise away.

Numbers: TypeAlias = NDArray[Any]

KNOWN_SUMS_SIZES = (4, 8, 16, 32, 64, 128)
KNOWN_SUMS_TURNS = 200


def recover(noisy: Numbers, sums: Numbers) -> Numbers:
    """All counts, from noisy ones and the known sums of neighbours.

    Why   c1 = a1 - c2 = a1 - a2 + c3 = ...: every noisy count, carried along the sums, is one more estimate of the
          first, and their average is as good as k of them ([HMD14] section 3.2).
    """
    signs = (-1) ** np.arange(noisy.shape[-1])
    offsets = np.concatenate([[0], np.cumsum(signs[:-1] * sums)])
    first = (offsets + signs * noisy).mean(axis=-1, keepdims=True)
    return np.asarray(signs * (first - offsets))


def policy(k: int, *, known: bool) -> Policy:
    """Values 1..k, all of them secret, with or without the sums of neighbours known."""
    sums = [{"count": f"r in ({i}, {i + 1})"} for i in range(1, k)] if known else []
    return load_policy(
        {
            "dataset": "sums",
            "presence": "public",
            "attributes": {"r": {"integer": [1, k]}},
            "known": sums,
            "budget": {"epsilon": 1},
        }
    )


def run_known_sums() -> Story:
    dice = Dice(1)
    rows, read, right, error = [], {}, {}, {}
    for known, name in ((False, "noise of plain differential privacy"), (True, "noise where the sums are declared")):
        for k in KNOWN_SUMS_SIZES:
            counts = np.arange(k) % 7
            scale = sensitivity(policy(k, known=known), histogram("r")).value
            found = recover(counts + dice.laplace(scale, (KNOWN_SUMS_TURNS, k)), counts[:-1] + counts[1:])
            error[known] = float(np.sqrt(np.mean((found - counts) ** 2)))
            rows.append({"values": k, "error left to the attacker": rounded(error[known]), "noise": name})
            read[known] = float(np.mean(np.rint(found) == counts))
            right[known] = float(np.mean(found[:, 0] < counts[0] + 0.5))
    one_noise = math.sqrt(np.var(Dice(2).laplace(2, (100_000,))))
    return Story(
        words=f"The counts of {k} values are published with noise at epsilon 1, and the sums of adjacent counts are "
        f"known exactly. Each noisy count, carried along the sums, is another estimate of the first one. The average "
        f"reads {read[False]:.0%} of the counts exactly. Only one other table with counts next to these fits the sums: "
        "one person more and one fewer, in turn. Whoever wonders which of the two it is guesses right "
        f"{right[False]:.0%} of the time.",
        defence="List the sums under `known:`. The sensitivity then is k, and the noise outgrows what averaging "
        "takes away.",
        measure="how often a guess between two tables is right",
        attacked=right[False],
        allowed=math.e / (1 + math.e),
        defended=right[True],
        numbers={
            "values": k,
            "counts read exactly, without the defence": rounded(read[False]),
            "standard deviation of the noise": rounded(one_noise),
            "attacker's error without the defence": rounded(error[False]),
            "attacker's error with the defence": rounded(error[True]),
        },
        chart=lines(rows, x="values", y="error left to the attacker", colour="noise", log="xy"),
    )


KNOWN_SUMS = Attack("known-sums", "Known sums of adjacent counts", "[HMD14] section 3.2", run_known_sums)


# -- markov chain -----------------------------------------------------------------------------------
# Differential privacy on a Markov chain: today says what yesterday was.

HOURS = 8
STAYS = tuple(Fraction(n, 100) for n in (50, 60, 70, 80, 90, 95, 99))
STAY = Fraction(9, 10)
GRID = 8
"""The defence tries scales in eighths."""


def day(stay: Fraction) -> Scenario:
    """A person is active or not in each hour, and goes on as before with probability `stay`."""
    leave = 1 - stay
    return scenarios.chain(transition=[[stay, leave], [leave, stay]], source="a made-up study")


def planned_scale(length: int | None) -> Fraction:
    """The scale that a plan takes where the policy file states the chain, for a series of a stated length or of any."""
    rows = [[str(STAY), str(1 - STAY)], [str(1 - STAY), str(STAY)]]
    chain = {"along": "hour", "states": 2, "transition": rows, "start": "stationary", "source": "a made-up study"}
    policy = load_policy(
        {
            "dataset": "day",
            "presence": "public",
            "attributes": {"active": {"integer": [0, 1]}},
            "attackers": [{"chain": chain | ({} if length is None else {"length": length})}],
            "budget": {"epsilon": 1},
            "release": [{"name": "hours", "total": "active"}],
        }
    )
    return plan(policy)["hours"].scale


def smallest_scale(world: World, promise: Definition) -> Fraction:
    """The least scale, in eighths, at which a noisy sum keeps a promise."""
    low, high = GRID, GRID * HOURS  # one hour's scale fails, that of the whole day holds
    while high - low > 1:
        middle = (low + high) // 2
        holds = verify(Additive(sum, Laplace(Fraction(middle, GRID)), world), promise).holds
        low, high = (low, middle) if holds else (middle, high)
    return Fraction(high, GRID)


def run_markov_chain() -> Story:
    world = World.product((0, 1), individuals=HOURS)
    promise = Definition(pairs.values(), day(STAY), epsilon=1)
    scale = smallest_scale(world, promise)
    loss = {}
    planned = planned_scale(HOURS)
    for size in (Fraction(1), scale, planned):
        name, noise = f"scale {float(size):g}", Laplace(size)
        found = if_the_scenario_is_wrong(Additive(sum, noise, world), promise, day, STAYS)
        loss[name] = {stay: verdict.epsilon for stay, verdict in found}
    rows = [
        {"chance to go on as before": float(stay), "epsilon": rounded(number), "noise": name}
        for name, each in loss.items()
        for stay, number in each.items()
    ]
    attacked, _, defended = (each[STAY] for each in loss.values())
    return Story(
        words=f"The number of active hours of a day of {HOURS} is published with Laplace noise of scale 1, which hides "
        "any one hour if hours are independent. A person goes on as before nine times in ten. An attacker who knows "
        f"that learns about each hour from all others: the loss is {attacked:.2f}, not 1.",
        defence=f"State the chain under `attackers:`. The plan then takes scale {float(planned):g} for a day, which is "
        f"that of all hours together, and {float(planned_scale(None)):.1f} for a series of any length. `verify` finds "
        f"that {float(scale):g} would do for a day. If the chain is stickier than was said, the picture shows what is "
        "lost.",
        measure="epsilon of an hour, chance to go on 0.9",
        attacked=attacked,
        allowed=1.0,
        defended=defended,
        numbers={
            "scale of the plan, a day": float(planned),
            "scale of the plan, any length": rounded(float(planned_scale(None))),
            "smallest scale that verifies, a day": float(scale),
            "odds move by at most": rounded(math.exp(attacked)),
        },
        chart=lines(rows, x="chance to go on as before", y="epsilon", colour="noise"),
    )


MARKOV_CHAIN = Attack("markov-chain", "Differential privacy on a Markov chain", "[KM12] Theorem 6.2", run_markov_chain)


# -- random record ----------------------------------------------------------------------------------
# One record, chosen at random, in full: (epsilon, delta) with delta one over the number of people.

RANDOM_RECORD_SIZES = (2, 3, 4, 5, 6, 7)
HALF = Fraction(1, 2)


def one_of_them(people: Any) -> dict[Any, Fraction]:
    """The record of a random person."""
    return {(i, record): Fraction(1, len(people)) for i, record in enumerate(people)}


def run_random_record() -> Story:
    rows = []
    needed: dict[int, Fraction] = {}
    for n in RANDOM_RECORD_SIZES:
        world = World.product((0, 1), individuals=n)
        verdict = verify(Channel.of(one_of_them, world), named.indistinguishability(epsilon=1, delta=HALF))
        assert verdict.delta is not None
        needed[n] = Fraction(verdict.delta[1])
        rows.append({"people": n, "number": rounded(float(needed[n])), "what": "smallest delta that holds"})
    rows += [{"people": n, "number": 1.0, "what": "people whose record is published"} for n in RANDOM_RECORD_SIZES]
    world = World.product((0, 1), individuals=3)
    pure = verify(Channel.of(one_of_them, world), named.indistinguishability(epsilon=1))
    coin = Channel.of(
        lambda people: {
            (i, out): Fraction(1, 3) * (Fraction(3, 4) if out == record else Fraction(1, 4))
            for i, record in enumerate(people)
            for out in (0, 1)
        },
        world,
    )
    safe = verify(coin, named.indistinguishability(epsilon="1.1"))
    return Story(
        words="A mechanism publishes the record of one random person, in full, every time it is run. With n people it "
        "is (epsilon, 1/n)-private, by `verify`: a delta that looks small when there are many people always costs "
        "somebody everything. A belief of one half in their bit becomes certainty, where odds of 3 allow 75%.",
        defence="Ask at delta = 0, where the loss is infinite, or at a delta far below 1/n. Let the chosen person "
        f"answer with a coin, the truth three times in four, and the loss is ln {safe.odds} at delta 0.",
        measure="belief in the bit of the person who is published",
        attacked=1.0 if pure.holds is False and all(needed[n] == Fraction(1, n) for n in RANDOM_RECORD_SIZES) else 0.5,
        allowed=0.75,
        defended=float((safe.odds or 0) / (1 + (safe.odds or 0))) if safe.holds else 1.0,
        numbers={f"smallest delta, {n} people": rounded(float(needed[n])) for n in RANDOM_RECORD_SIZES},
        chart=lines(rows, x="people", y="number", colour="what"),
    )


RANDOM_RECORD = Attack(
    "random-record", "One random record in full", "[MK15] Minimizing probabilistic failure", run_random_record
)


# -- reconstruction ---------------------------------------------------------------------------------
# Too many answers, each with a little noise: the whole table by least squares.

PEOPLE = 100
QUESTIONS = (25, 50, 100, 200, 400, 800)
TURNS = 2
EACH = 2
"""The scale of the noise on one answer at epsilon 1/2."""


def recovered(secret: np.ndarray, questions: int, scale: int, dice: Dice) -> float:
    """The share of secret bits that least squares finds from noisy counts of random groups ([DN03])."""
    groups = dice.random.integers(0, 2, (questions, len(secret)))
    answers = groups @ secret + dice.laplace(scale, (questions,))
    centred = answers - groups.sum(axis=1) / 2  # without an answer, a bit is as likely 0 as 1
    found = np.linalg.solve(groups.T @ groups + np.eye(len(secret)), groups.T @ centred)
    return float(np.mean((found > 0) == secret))


def answers_before_the_ledger_refuses() -> int:
    """How many counts at epsilon 1/2 a real ledger with a total of 1 pays for."""
    policy = load_policy(
        {
            "dataset": "bits",
            "attributes": {"bit": ["no", "yes"]},
            "budget": {"epsilon": "1/2"},
            "release": [{"name": "yes", "count": "bit = 'yes'"}],
        }
    )
    table = pyarrow.table({"bit": ["no", "yes"] * (PEOPLE // 2)})
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "ledger.db") as ledger:
        ledger.open(policy.dataset, 1, policy.document)
        for made in range(max(QUESTIONS)):
            try:
                release(plan(policy), table, ledger=ledger)
            except BudgetExhausted:
                return made
    return max(QUESTIONS)


def run_reconstruction() -> Story:
    dice = Dice(4)
    secret = dice.random.integers(0, 2, PEOPLE)
    rows, last = [], {}
    for name in ("epsilon 1/2 for every answer", "epsilon 1 for all answers"):
        for number in QUESTIONS:
            scale = EACH if name.endswith("every answer") else number
            last[name] = float(np.mean([recovered(secret, number, scale, dice) for _ in range(TURNS)]))
            rows.append({"answers": number, "share of records read": rounded(last[name]), "noise": name})
    paid = answers_before_the_ledger_refuses()
    every, together = last.values()
    return Story(
        words=f"{PEOPLE} people have a secret bit. Counts of random groups are answered with Laplace noise, epsilon "
        f"1/2 each, and nobody adds up. From {QUESTIONS[-1]:,} answers least squares reads {every:.0%} of the bits.",
        defence=f"The ledger adds up. With a total of 1 it pays for {paid} such answers and refuses the next; or all "
        f"{QUESTIONS[-1]:,} share it, and the same attacker reads {together:.0%}, hardly better than guessing.",
        measure="share of records read",
        attacked=every,
        allowed=math.e / (1 + math.e),
        defended=together,
        numbers={"people": PEOPLE, "answers": QUESTIONS[-1], "answers that a ledger of 1 pays for": paid},
        chart=lines(rows, x="answers", y="share of records read", colour="noise", log="x"),
    )


RECONSTRUCTION = Attack(
    "reconstruction", "Reconstruction from too many answers", "[DN03]; [RS07] section 2.4", run_reconstruction
)


# -- timing -----------------------------------------------------------------------------------------

RATIO = Fraction(19, 21)
"""A step of the naive sampler goes on with this probability: a count costs ln(21/19), about 0.1."""
FAR = 40
PLAYS = 60


def naive(dice: Dice) -> tuple[int, int]:
    """Two-sided geometric noise by counting, and how many steps that took."""
    steps = 0
    while True:
        sign = 1 if dice.draw(1, 1)[0] else -1
        size = 0
        while dice.random.random() < RATIO:
            size += 1
        steps += size + 1
        if size or sign > 0:  # there is one zero, not two
            return sign * size, steps


def watched(people: Any) -> dict[tuple[int, int], Fraction]:
    """The law of a noisy count with the number of steps, both cut off far out; one round, without the second zero."""
    law: dict[tuple[int, int], Fraction] = {}
    for noise in range(-FAR, FAR + 1):
        tail = 1 if abs(noise) == FAR else 1 - RATIO
        shown = min(max(sum(people) + noise, 1 - FAR), FAR), abs(noise)
        law[shown] = law.get(shown, Fraction(0)) + RATIO ** abs(noise) * tail / (1 + RATIO)
    return law


def run_timing() -> Story:
    world = World.product((0, 1), individuals=1)
    with_clock = Channel.of(watched, world)
    without = with_clock.then(lambda shown: shown[0])
    prior, one = Prior.uniform(world), Secret.value(0, 1)
    promise = named.indistinguishability(epsilon="0.1002")
    kept, broken = verify(without, promise), verify(with_clock, promise)
    dice = Dice(6)
    rows = []
    for truth in (0, 1):
        for _ in range(PLAYS):
            noise, steps = naive(dice)
            rows.append({"steps of the sampler": steps, "published": truth + noise, "count": f"the count is {truth}"})
    words = Dice(7)
    words.laplace(10, (100_000,))
    return Story(
        words="A count of 0 or 1 is published with geometric noise of epsilon 0.1, drawn by counting coins until one "
        "falls the other way. How long that takes tells the size of the noise. Published number and clock together "
        f"make an attacker who was undecided {float(strongest_belief(prior, with_clock, one)):.0%} sure.",
        defence="Nobody may watch the clock: without it nobody who was undecided gets more than "
        f"{float(strongest_belief(prior, without, one)):.1%} sure. Here noise is looked up in a table, all of a batch "
        f"at once, with {words.drawn / 100_000:.2f} random words for a value whatever its size. Counting a table takes "
        "a time that depends on it, so time stays outside the promise.",
        measure="belief in the count",
        attacked=float(strongest_belief(prior, with_clock, one)) if broken.holds is False else 0.0,
        allowed=posterior("0.5", "0.1002"),
        defended=float(strongest_belief(prior, without, one)) if kept.holds else 1.0,
        numbers={
            "epsilon without the clock": rounded(kept.epsilon),
            "random words for a value from the table": rounded(words.drawn / 100_000),
        },
        chart=dots(rows, x="steps of the sampler", y="published", colour="count"),
    )


TIMING = Attack("timing", "A clock beside the noise", "[MK15] Implementation concerns", run_timing)
