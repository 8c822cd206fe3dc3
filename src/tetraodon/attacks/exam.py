"""An exam in a known order: one student's record says a lot about all others."""

from __future__ import annotations

import math
from fractions import Fraction

from tetraodon.attacks.attack import Attack, Story
from tetraodon.attacks.picture import lines, rounded
from tetraodon.policy.words import number_of
from tetraodon.pufferfish import Additive, Definition, Laplace, Prior, World, pairs, scenarios, verify

EPSILON = Fraction(1, 2)
STUDENTS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50)


def sitting(students: int) -> World:
    """The students take the exam one after the other, so only the number who have taken it is in doubt."""
    return World.of([(1,) * taken + (0,) * (students - taken) for taken in range(students + 1)])


def run() -> Story:
    rows, odds, safe = [], {}, {}
    for n in STUDENTS:
        world = sitting(n)
        promise = Definition(pairs.values(), scenarios.explicit([Prior.uniform(world)]), epsilon=EPSILON)
        odds[n] = float(verify(Additive(sum, Laplace(1 / EPSILON), world), promise).odds or 1)
        anybody = verify(Additive(sum, Laplace(n / EPSILON), world), promise.against(scenarios.anything()))
        safe[n] = math.exp(anybody.epsilon)
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


ATTACK = Attack("exam", "The exam in a known order", "[KM12] Examples 9.1 and 9.2", run)
