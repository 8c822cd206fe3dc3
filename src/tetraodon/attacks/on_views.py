"""Attacks on published views and coarsened tables."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np

from tetraodon.attacks.attack import Attack, Story, bars, belief, lines, noisy_count, rounded, strongest_belief
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.exact.arrays import Ints
from tetraodon.noise.repeatable_coins import Dice
from tetraodon.policy.adversary import Adversary
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.pufferfish import (
    Additive,
    Channel,
    Definition,
    DiscreteLaplace,
    Prior,
    Secret,
    World,
    compose,
    named,
    pairs,
    posterior,
    scenarios,
    verify,
)
from tetraodon.pufferfish.scenarios import product_prior
from tetraodon.releases.plan import plan
from tetraodon.views.channel import SetChannel, ViewChannel, best_channel
from tetraodon.views.exposure import BEFORE, BELIEF, shown, suspect
from tetraodon.views.sampling import Cells, view_cells
from tetraodon.views.series import best_series
from tetraodon.views.tuple_files import cells_of

# -- noisy view -------------------------------------------------------------------------------------
# A view of a table in the way of the alpha-beta algorithm ([RS07] Algorithm 1), written out for a few tuples.

IN, OUT = "in", ABSENT
"""A tuple is in the table, or is not."""


def keeping_half(noise: Fraction) -> SetChannel:
    """Half of the table's tuples are shown, and of all others a share of `noise`."""
    return SetChannel(Fraction(1, 2) - noise, noise)


def view(channel: SetChannel, *, people: int) -> Channel:
    """A view as the verifier sees it: for each of some people, whether their tuple is shown.

    >>> view(keeping_half(Fraction(1, 16)), people=1).probability((OUT,), (True,))
    Fraction(1, 16)
    """
    world = World.product((IN,), individuals=people, absent=True)

    def law(dataset: Any) -> dict[tuple[bool, ...], Fraction]:
        chances = [channel.shown if record == IN else channel.noise for record in dataset]
        return {
            shown: math.prod((p if one else 1 - p) for one, p in zip(shown, chances, strict=True))  # type: ignore[misc]
            for shown in itertools.product((True, False), repeat=people)
        }

    return Channel.of(law, world)


def views(number: int, channel: SetChannel) -> Channel:
    """The same tuple in several views, each made afresh; the output says in how many it is shown."""
    one = view(channel, people=1)

    def law(dataset: Any) -> dict[int, Fraction]:
        p = one.probability(dataset, (True,))
        return {k: math.comb(number, k) * p**k * (1 - p) ** (number - k) for k in range(number + 1)}

    return Channel.of(law, one.world)


# -- brothers ---------------------------------------------------------------------------------------
# Two brothers, and a view that protects one tuple at a time.

D, BROTHERS_GAMMA = Fraction(1, 20), Fraction(3, 10)
ALONE, TOGETHER = keeping_half(Fraction(1, 16)), keeping_half(Fraction(9, 50))
STEPS = 10
LOSS = Fraction(209, 100)
"""The epsilon that takes a belief of d to gamma at most."""
POLICY = {
    "dataset": "clinic",
    "presence": "public",
    "attributes": {"ill": "boolean"},
    "attackers": [{"groups": "family", "at most": 2}],
    "budget": {"epsilon": LOSS},
    "release": [{"name": "ill", "count": "ill"}],
}


def _ill(dataset: Any) -> int:
    return sum(record == IN for record in dataset)


def family(correlation: Fraction) -> Prior:
    """Each of two brothers has diabetes with probability d, and their records are correlated."""
    both = D * (D + correlation * (1 - D))
    weights = {(IN, IN): both, (IN, OUT): D - both, (OUT, IN): D - both, (OUT, OUT): 1 - 2 * D + both}
    return Prior.of(weights, "the attacker who knows the family")


def run_brothers() -> Story:
    rows, last = [], {}
    joe, both = Secret.present(0), (True, True)
    alone, together = (view(channel, people=2) for channel in (ALONE, TOGETHER))
    for written, name in ((alone, "one tuple at a time"), (together, "the two together")):
        for step in range(STEPS + 1):
            correlation = Fraction(step, STEPS)
            last[name] = float(belief(family(correlation), written, joe, both))
            rows.append(
                {
                    "correlation of the brothers": float(correlation),
                    "belief that Joe has diabetes": rounded(last[name]),
                    "parameters for": name,
                }
            )
    promise = named.dgamma(d=D, gamma=BROTHERS_GAMMA)
    family_promise = promise.against(scenarios.groups([[0, 1]]))
    broken, safe = verify(alone, family_promise), verify(together, family_promise)
    scale = plan(POLICY)["ill"].scale
    count = Additive(_ill, DiscreteLaplace(scale), alone.world)
    kept = verify(count, Definition(pairs.presence(), scenarios.groups([[0, 1]]), epsilon=LOSS))
    odds = math.exp(float(kept.upper))
    counted = float(D) * odds / (1 - float(D) + float(D) * odds)
    return Story(
        words="A view keeps half of the tuples and invents 1 in 16. It is (d, gamma)-private against attackers to whom "
        "tuples are independent. Joe and Jim are brothers: if one has diabetes, so has the other, the attacker thinks. "
        "Both tuples are in the view. That both were invented is so unlikely that a belief of "
        f"{float(D):.0%} becomes {last['one tuple at a time']:.0%}.",
        defence="Say in the policy who may be correlated, `attackers: [{groups: family, at most: 2}]`, and release the "
        f"number of those who have it: at epsilon {float(LOSS):g} the belief stays at {counted:.1%}, whatever the "
        "family. Views are refused beside that key. `verify` finds this one broken, and one that invents 9 in 50 good "
        "for every correlation inside the family.",
        measure="belief that Joe has diabetes, both tuples shown",
        attacked=last["one tuple at a time"],
        allowed=float(BROTHERS_GAMMA),
        defended=counted if kept.holds else 1.0,
        numbers={
            "promise kept against independent tuples": bool(verify(alone, promise)),
            "odds against the family": float(broken.odds or 0),
            "odds with more noise": float(safe.odds or 0),
            "belief with more noise": rounded(last["the two together"]),
            "scale of the noise of a count": float(scale),
            "odds allowed": rounded(float(promise.high)),
        },
        chart=lines(rows, x="correlation of the brothers", y="belief that Joe has diabetes", colour="parameters for"),
    )


BROTHERS = Attack("brothers", "Two brothers in one view", "[RS07] section 6.1", run_brothers)


# -- from the view ----------------------------------------------------------------------------------
# A view alone, and how common values are: most of what it shows where people are many is no noise.

PEOPLE = 3000
SPARSE, DENSE = (30, 30, 30, 30), (30, 30)
FROM_THE_VIEW_GAMMA = Fraction(9, 10)


def town(sizes: tuple[int, ...], dice: Dice) -> tuple[Domain, Ints]:
    """People who have the lower half of every attribute's values, as people have."""
    domain = Domain(tuple(Attribute(f"a{n}", Integers(0, size - 1)) for n, size in enumerate(sizes)))
    return domain, np.stack([dice.random.integers(0, size // 2, PEOPLE) for size in sizes], axis=1)


def played(sizes: tuple[int, ...], adversary: Adversary, dice: Dice) -> tuple[float, float, float]:
    """The share of people whose tuple is newly exposed, of tuples named that are right, and as the attacker thinks."""
    domain, people = town(sizes, dice)
    prior = adversary.prior(domain.size)
    channel: ViewChannel = best_channel(adversary, prior, Fraction(PEOPLE, domain.size))
    cells, counts = np.unique(cells_of(domain, people), return_counts=True)
    view: Cells = np.concatenate(list(view_cells(channel, domain.size, cells, counts, coins=dice)))
    seen = shown([view])
    found = suspect(domain, channel, seen, records=PEOPLE)
    named = (found.after >= BELIEF) & (found.before <= BEFORE)
    right = np.isin(seen.cells[named], cells)
    exposed = counts[np.searchsorted(cells, seen.cells[named][right])].sum() / PEOPLE
    thinks = float(found.after[named].mean()) if named.any() else 0.0
    return float(exposed), float(right.mean()) if named.any() else 0.0, thinks


def run_from_the_view() -> Story:
    dice = Dice(7)
    sparse, right, thinks = played(SPARSE, Adversary(k=10, gamma=FROM_THE_VIEW_GAMMA, records=PEOPLE), dice)
    dense, _, _ = played(DENSE, Adversary(d="0.05", gamma="0.2", records=PEOPLE), dice)
    rows = [
        {"share of people": rounded(share), "view": view}
        for view, share in (("sparse: 810,000 tuples", sparse), ("dense: 900 tuples", dense))
    ]
    return Story(
        words=f"{PEOPLE:,} people live in the lower half of each of four attributes. A view over all 810,000 tuples "
        f"withstands everybody who believes in no tuple with more than {30 / 810:.1%} before. But the view itself "
        f"shows where people live. Whoever looks names {sparse:.0%} of them with a belief of {BELIEF:.0%} or more, "
        f"and is right about {right:.1%} of the tuples named, as they know: they expect {thinks:.1%}.",
        defence="Publish views of dense domains only. Over two of the attributes, with 900 tuples, the same attacker "
        f"newly names {dense:.1%} of the people. `publish` plays this attack on every view and holds it back where "
        "more than 1% are exposed.",
        measure="share of people newly named by the view alone",
        attacked=sparse,
        allowed=0.01,
        defended=dense,
        numbers={"named rightly": rounded(right), "expected to be right": rounded(thinks)},
        chart=bars(rows, x="view", y="share of people", colour="view"),
    )


FROM_THE_VIEW = Attack(
    "from-the-view", "A view that tells how common values are", "[RS07] section 2; [CL68]", run_from_the_view
)


# -- linking ----------------------------------------------------------------------------------------
# Linking: all attributes of a person but one are known, and the view shows the last.


def read(adversary: Adversary, prior: Fraction, dice: Dice) -> tuple[float, float]:
    """Of people who are alone with what is known of them: the share whose secret bit is read, and read wrongly."""
    _, known = town(SPARSE, dice)
    domain = Domain((*(Attribute(f"a{n}", Integers(0, size - 1)) for n, size in enumerate(SPARSE)), BIT))
    people = np.column_stack([known, dice.random.integers(0, 2, PEOPLE)])
    channel = best_channel(adversary, prior, Fraction(PEOPLE, domain.size))
    cells, counts = np.unique(cells_of(domain, people), return_counts=True)
    view = np.unique(np.concatenate(list(view_cells(channel, domain.size, cells, counts, coins=dice))))
    _, which, many = np.unique(known, axis=0, return_inverse=True, return_counts=True)
    own = cells_of(domain, people[many[which.ravel()] == 1])
    true, other = np.isin(own, view), np.isin(own ^ np.uint64(1), view)  # the bit is the last digit of a cell
    return float(np.mean(true & ~other)), float(np.mean(other & ~true))


BIT = Attribute("bit", Integers(0, 1))


def run_linking() -> Story:
    dice = Dice(11)
    size = 2 * int(np.prod(SPARSE))
    strangers = Adversary(k=10, gamma="0.9", records=PEOPLE)
    right, wrong = read(strangers, strangers.prior(size), dice)
    linkers = Adversary(d="0.5", gamma="0.6", kind="exclusive", records=PEOPLE)
    safe, mistaken = read(linkers, Fraction(1, 2), dice)
    allowed = 0.6
    defended = safe / (safe + mistaken)
    rows = [
        {"read": what, "share of people": rounded(share), "view": view}
        for view, pair in (("made for strangers", (right, wrong)), ("made for those who link", (safe, mistaken)))
        for what, share in zip(("rightly", "wrongly"), pair, strict=True)
    ]
    return Story(
        words=f"{PEOPLE:,} people have four attributes that a neighbour knows, and a secret bit. A view withstands "
        "strangers. The neighbour looks up the two tuples that a person can have: where one of them is shown it is "
        f"theirs. The bit is read rightly for {right:.0%} of those who are alone with what is known of them, and "
        f"wrongly for {wrong:.1%}.",
        defence="Name the attacker who links: `kind: exclusive`, with a prior of one half and a posterior of 0.6. "
        f"There is then so much noise that of the bits which are read {defended:.0%} are right.",
        measure="share of the bits read that are right",
        attacked=right / (right + wrong),
        allowed=allowed,
        defended=defended,
        numbers={"read rightly": rounded(right), "read wrongly": rounded(wrong)},
        chart=bars(rows, x="view", y="share of people", colour="read"),
    )


LINKING = Attack("linking", "All attributes known but one, which the view shows", "[RS07] section 6.2", run_linking)


# -- low prior --------------------------------------------------------------------------------------
# A diverse group, and an attacker who knows what is unlikely.

SCORES = range(81, 101)
GROUP = (99, 97, 82)
"""The scores of those below 30 in the published table; one of them is Joe's."""
LIKELY, UNLIKELY = Fraction(33, 500), Fraction(1, 500)
LOW_PRIOR_GAMMA = Fraction(1, 5)


def of_joe(score: int) -> Fraction:
    """What the attacker believes of Joe before: scores above 95 are very unlikely, no other is likely."""
    return UNLIKELY if score > 95 else LIKELY


def after_the_table() -> dict[int, Fraction]:
    """Beliefs about Joe's score, who is one of three, the others being anybody."""
    uniform = Fraction(1, len(SCORES))
    weights = dict.fromkeys(GROUP, Fraction(0))
    for joe, *others in itertools.permutations(GROUP):
        weights[joe] += of_joe(joe) * uniform ** len(others)
    return {score: weight / sum(weights.values()) for score, weight in weights.items()}


def run_low_prior() -> Story:
    after = after_the_table()
    channel = view(keeping_half(Fraction(3, 20)), people=1)
    promise = verify(channel, named.dgamma(d=LIKELY, gamma=LOW_PRIOR_GAMMA))
    thinks = Prior.of({(IN,): LIKELY, (OUT,): 1 - LIKELY}, "the attacker")
    seen = belief(thinks, channel, Secret.present(0), (True,))
    rows = []
    for score in GROUP:
        rows.append({"score of Joe": str(score), "belief": rounded(float(of_joe(score))), "stage": "before"})
        rows.append({"score of Joe": str(score), "belief": rounded(float(after[score])), "stage": "diverse table"})
    rows.append({"score of Joe": "82", "belief": rounded(float(seen)), "stage": "a view that keeps the promise"})
    return Story(
        words="A table is 3-anonymous and 2-diverse: Joe is one of three people below 30, whose scores are 99, 97 and "
        f"82. An attacker who only knows that Joe is no star gave 82 a probability of {float(LIKELY):.1%}, and now "
        f"gives it {float(after[82]):.1%}.",
        defence="Promise it for every such prior: (d, gamma)-privacy says that no belief of at most d passes gamma. A "
        f"view that keeps half of the records and invents 3 in 20 of all others holds it, by `verify`, and leaves "
        f"{float(seen):.1%}.",
        measure="belief in Joe's score",
        attacked=float(after[82]),
        allowed=float(LOW_PRIOR_GAMMA),
        defended=float(seen) if promise.holds else 1.0,
        numbers={
            "d": float(LIKELY),
            "gamma": float(LOW_PRIOR_GAMMA),
            "after the diverse table": rounded(float(after[82])),
        },
        chart=bars(rows, x="score of Joe", y="belief", colour="stage"),
    )


LOW_PRIOR = Attack(
    "low-prior", "Diversity against somebody who knows what is unlikely", "[RS07] section 2.4", run_low_prior
)


# -- minimality -------------------------------------------------------------------------------------
# A table that was coarsened only because it had to be tells why it had to be.

STREET, MINIMALITY_PEOPLE = 2, 6
"""The first two people live in one street, the other four in another."""
SICK = Fraction(1, 4)


def publish(people: Any) -> tuple[str, tuple[int, ...]]:
    """The sick of each street if at most half of each are, else of both streets together, else nothing.

    Groups have at least two members and at most half of them are sick: the table is 2-anonymous and diverse.
    """
    one, other = sum(people[:STREET]), sum(people[STREET:])
    if 2 * one <= STREET and 2 * other <= MINIMALITY_PEOPLE - STREET:
        return "by street", (one, other)
    if 2 * (one + other) <= MINIMALITY_PEOPLE:
        return "both streets", (one + other,)
    return "nothing", ()


def run_minimality() -> Story:
    world = World.product((0, 1), individuals=MINIMALITY_PEOPLE)
    prior = product_prior(world, [{0: 1 - SICK, 1: SICK}] * MINIMALITY_PEOPLE, "one in four is sick")
    sick = Secret.value(0, 1)
    coarse = Channel.of(lambda people: {publish(people): 1}, world)
    seen = ("both streets", (2,))
    known = belief(prior, coarse, sick, seen)
    noisy = Channel.of(lambda people: noisy_count(sum(people[:STREET]), STREET, Fraction(3, 8)), world)
    verdict = verify(noisy, named.indistinguishability(epsilon=1))
    safe = strongest_belief(prior, noisy, sick)
    stages = {
        "before": SICK,
        "reads the table": Fraction(2, MINIMALITY_PEOPLE),
        "knows the method too": known,
        "noisy counts": safe,
    }
    return Story(
        words="A curator publishes the number of sick people by street, and puts two streets together only if more "
        "than half of one are sick. The table says: 2 of 6 in both streets. Who reads it thinks 1 in 3. Who knows the "
        "method reasons that no other two could have forced the streets together: both people of the small street are "
        f"sick, with probability {float(known):g}.",
        defence="A promise must be about the method, not about its output. `verify` finds an infinite loss in this "
        f"method, and epsilon {verdict.epsilon:.3f} in counts with geometric noise, where no output leads to more "
        f"than {float(safe):.1%}.",
        measure="the strongest belief that a person is sick",
        attacked=float(known),
        allowed=posterior(SICK, 1),
        defended=float(safe),
        numbers={
            "belief of who reads the table only": rounded(2 / MINIMALITY_PEOPLE),
            "epsilon of the coarsened table is infinite": math.isinf(
                verify(coarse, named.indistinguishability(epsilon=1)).epsilon
            ),
            "epsilon of noisy counts": rounded(verdict.epsilon),
        },
        chart=bars(
            [{"who": stage, "belief": rounded(float(number))} for stage, number in stages.items()],
            x="who",
            y="belief",
            colour="who",
        ),
    )


MINIMALITY = Attack("minimality", "Coarsened no more than needed", "[WFWP07]; [MK15] Post-processing", run_minimality)


# -- repeated views ---------------------------------------------------------------------------------
# One noisy view is safe; a fresh one every month is not.

REPEATED_D, REPEATED_VIEWS_GAMMA = Fraction(1, 20), Fraction(3, 10)
ONCE, SIX_TIMES = keeping_half(Fraction(1, 16)), keeping_half(Fraction(9, 25))
MONTHS = 6
SERIES = Adversary(d=REPEATED_D, gamma=REPEATED_VIEWS_GAMMA, rows="distinct", records=1000, views=MONTHS)


def run_repeated_views() -> Story:
    promise = named.dgamma(d=REPEATED_D, gamma=REPEATED_VIEWS_GAMMA)
    thinks = Prior.of({(IN,): REPEATED_D, (OUT,): 1 - REPEATED_D}, "the attacker")
    joe = Secret.present(0)
    rows, strongest = [], {}
    for channel, name in ((ONCE, "parameters for one view"), (SIX_TIMES, "parameters for six views")):
        for month in range(1, MONTHS + 1):
            strongest[channel, month] = float(strongest_belief(thinks, views(month, channel), joe))
            shown = rounded(strongest[channel, month])
            rows.append({"views": month, "belief that the tuple is in the table": shown, "view": name})
    first, all_six = (verify(views(n, ONCE), promise) for n in (1, MONTHS))
    safe = verify(views(MONTHS, SIX_TIMES), promise)
    dearer = math.sqrt(SIX_TIMES.variance(0, 1) / ONCE.variance(0, 1))
    series = best_series(SERIES, REPEATED_D, Fraction(1000), 20_000)
    odds = float(series.ratio_up(MONTHS) * REPEATED_D / (1 - REPEATED_D))
    made_for = odds / (1 + odds)
    return Story(
        words="A view keeps half of the table's tuples and invents 1 in 16 of all others. Once, it is (d, "
        f"gamma)-private for d = {float(REPEATED_D):g} and gamma = {float(REPEATED_VIEWS_GAMMA):g}. "
        f"Made afresh every month, a tuple that is shown in all {MONTHS} views was hardly invented each time: a belief "
        f"of {float(REPEATED_D):.0%} becomes {strongest[ONCE, MONTHS]:.2%}.",
        defence=f"Say in the policy how many views there will be, `adversary: {{views: {MONTHS}}}`. The probabilities "
        "are then chosen from the exact odds over all of them, and a tuple that was shown once gets more noise from "
        f"then on: the belief stays at {made_for:.1%}. Fresh views hold the promise if 9 in 25 are invented, by "
        f"`verify`; estimates from one then err {dearer:.1f} times as much.",
        measure=f"belief after {MONTHS} views",
        attacked=strongest[ONCE, MONTHS],
        allowed=float(REPEATED_VIEWS_GAMMA),
        defended=made_for if series.withstands(SERIES, REPEATED_D) and safe.holds else 1.0,
        numbers={
            "belief after one view": rounded(strongest[ONCE, 1]),
            "odds of one view": float(first.odds or 0),
            "odds of six views": float(all_six.odds or 0),
            "odds allowed": rounded(float(promise.high)),
            "belief after six fresh views with more noise": rounded(strongest[SIX_TIMES, MONTHS]),
            "error of an estimate, times": rounded(dearer),
        },
        chart=lines(rows, x="views", y="belief that the tuple is in the table", colour="view"),
    )


REPEATED_VIEWS = Attack("repeated-views", "A fresh noisy view every month", "[RS07] section 4.4", run_repeated_views)


# -- two hospitals ----------------------------------------------------------------------------------

DISEASES = ("none", "stroke", "flu", "cancer", "cold", "rash")
FIRST = ("none", "stroke", "flu", "cancer")
SECOND = ("cold", "stroke", "rash")
BOB = "stroke"
PLAYS = 1000


def likelihood(table: tuple[str, ...], bob: str) -> Fraction:
    """How likely a group of patients is, if Bob has `bob` and the others have any disease, independently."""
    others = Counter(table)
    if not others[bob]:
        return Fraction(0)
    others[bob] -= 1
    ways = math.factorial(others.total()) // math.prod(map(math.factorial, others.values()))
    return Fraction(ways, len(DISEASES) ** others.total())


def beliefs(*tables: tuple[str, ...]) -> dict[str, Fraction]:
    """What somebody believes of Bob who sees his group in each table, and thought every disease equally likely."""
    weights = {disease: math.prod(likelihood(table, disease) for table in tables) for disease in DISEASES}
    total = sum(weights.values())
    return {disease: Fraction(weight) / total for disease, weight in weights.items()}


def counts(table: tuple[str, ...], world: World) -> Additive:
    """A table's diseases, counted with noise that costs epsilon 1/2, as a function of Bob's."""
    others = Counter(table)
    others[BOB] -= 1
    return Additive(lambda d: [others[x] + (d[0] == x) for x in DISEASES], DiscreteLaplace(4), world)


def run_two_hospitals() -> Story:
    world = World.of([(disease,) for disease in DISEASES])
    first, second = counts(FIRST, world), counts(SECOND, world)
    both = compose(first, second, named.indistinguishability(epsilon=1))
    joint = first.with_(second)
    answers = np.array([[float(part) for part in answer] for answer in joint.answers])
    noisy = answers[DISEASES.index(BOB)] + Dice(3).laplace(4, (PLAYS, answers.shape[1]))
    weights = np.exp(-np.abs(noisy[:, None, :] - answers).sum(axis=2) / 4)
    plays = weights / weights.sum(axis=1, keepdims=True)
    strongest = float(plays.max())
    before = Fraction(1, len(DISEASES))
    stages: dict[str, dict[str, Any]] = {
        "before": dict.fromkeys(DISEASES, before),
        "after the first table": beliefs(FIRST),
        "after both tables": beliefs(FIRST, SECOND),
        "after two noisy tables, on average": dict(zip(DISEASES, plays.mean(axis=0), strict=True)),
    }
    rows = [
        {"Bob has": disease, "belief": rounded(float(number)), "stage": stage}
        for stage, law in stages.items()
        for disease, number in law.items()
    ]
    return Story(
        words="One hospital publishes a 4-anonymous table, another a 3-anonymous one. Bob was in both, and the "
        "attacker knows his postcode and age, so he is in one group of each. Each table alone leaves several diseases. "
        f"Only one is in both: the belief that he had a stroke goes from {float(before):.0%} over "
        f"{float(beliefs(FIRST)[BOB]):.0%} to {float(beliefs(FIRST, SECOND)[BOB]):.0%}.",
        defence="Promises about outputs do not add up; promises about probabilities do. Two noisy counts at epsilon "
        f"1/2 cost {float(both.charge):g} together, and in {PLAYS:,} plays no belief passed {strongest:.1%}.",
        measure="the strongest belief about Bob",
        attacked=float(max(beliefs(FIRST, SECOND).values())),
        allowed=posterior(before, 1),
        defended=posterior(before, both.charge),
        numbers={
            "belief in a stroke before": rounded(float(before)),
            "after the first table": float(beliefs(FIRST)[BOB]),
            "after both": float(beliefs(FIRST, SECOND)[BOB]),
            "epsilon of both noisy tables": float(both.charge),
            "strongest belief in 1,000 plays with noise": rounded(strongest),
        },
        chart=bars(rows, x="Bob has", y="belief", colour="stage"),
    )


TWO_HOSPITALS = Attack("two-hospitals", "Two k-anonymous hospital tables", "[MK15] Composition", run_two_hospitals)
