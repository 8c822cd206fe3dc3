"""[KM12] Examples 9.1 and 9.2: Laplace(1/epsilon) noise on an exam in a known order, for 1 to 50 students."""

from __future__ import annotations

import math
from fractions import Fraction

from reproduce.figure import Check, Figure, Progress, Table, lines
from tetraodon.attacks.on_mechanisms import EXAM_EPSILON as EPSILON
from tetraodon.attacks.on_mechanisms import sitting
from tetraodon.pufferfish import Additive, Definition, Laplace, Prior, pairs, scenarios, verify

PRINTED, SAFE = "scale 1/epsilon", "scale n/epsilon, every prior"


def closed_form(students: int, epsilon: Fraction) -> float:
    """Worst odds under the uniform prior, from the corrected density: e^eps (e^(n eps) - 1) / (n (e^eps - 1))."""
    growth = math.exp(epsilon)
    return growth * (math.exp(students * epsilon) - 1) / (students * (growth - 1))


def run(quick: bool, progress: Progress) -> Figure:
    """Both noises, verified student by student."""
    points, rows = [], []
    for students in progress(range(1, 11 if quick else 51), "students"):
        world = sitting(students)
        promise = Definition(pairs.values(), scenarios.explicit([Prior.uniform(world)]), epsilon=EPSILON)
        odds = float(verify(Additive(sum, Laplace(1 / EPSILON), world), promise).odds or 1)
        anybody = promise.against(scenarios.anything())
        safe = math.exp(verify(Additive(sum, Laplace(students / EPSILON), world), anybody).epsilon)
        points += [
            {"students": students, "odds": odds, "noise": PRINTED},
            {"students": students, "odds": safe, "noise": SAFE},
        ]
        rows.append((students, odds, closed_form(students, EPSILON), safe))
    chosen = tuple(row for row in rows if row[0] in (1, 2, 5, 10, 20, 30, 40, 50))
    columns = ("students", "verified odds, 1/epsilon", "closed form", "verified odds, n/epsilon, every prior")
    table = Table("By how much the odds of one student's secret move, epsilon 1/2", columns, chosen)
    chart = lines("exam", "Worst odds", points, x="students", y="odds", series="noise")
    allowed = math.exp(EPSILON) * (1 + 1e-9)
    checks = (
        Check("the verified odds are those of the closed form", all(math.isclose(row[1], row[2]) for row in rows)),
        Check("with two or more students they exceed e^epsilon", all(row[1] > allowed for row in rows[1:])),
        Check(
            "scale n/epsilon keeps them within e^epsilon, whatever the prior", all(row[3] <= allowed for row in rows)
        ),
    )
    return Figure("none: a world of all sittings", (table,), (chart,), checks)
