"""One noisy view is safe; a fresh one every month is not."""

from __future__ import annotations

import math
from fractions import Fraction

from tetraodon.attacks.attack import Attack, Story
from tetraodon.attacks.exact_bayes import strongest_belief
from tetraodon.attacks.noisy_view import IN, OUT, keeping_half, views
from tetraodon.attacks.picture import lines, rounded
from tetraodon.policy.adversary import Adversary
from tetraodon.publishing.series import best_series
from tetraodon.pufferfish import Prior, Secret, named, verify

D, GAMMA = Fraction(1, 20), Fraction(3, 10)
ONCE, SIX_TIMES = keeping_half(Fraction(1, 16)), keeping_half(Fraction(9, 25))
MONTHS = 6
SERIES = Adversary(d=D, gamma=GAMMA, rows="distinct", records=1000, views=MONTHS)


def run() -> Story:
    promise = named.dgamma(d=D, gamma=GAMMA)
    thinks = Prior.of({(IN,): D, (OUT,): 1 - D}, "the attacker")
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
    series = best_series(SERIES, D, Fraction(1000), 20_000)
    odds = float(series.ratio_up(MONTHS) * D / (1 - D))
    made_for = odds / (1 + odds)
    return Story(
        words="A view keeps half of the table's tuples and invents 1 in 16 of all others. Once, it is (d, "
        f"gamma)-private for d = {float(D):g} and gamma = {float(GAMMA):g}. Made afresh every month, a tuple that is "
        f"shown in all {MONTHS} views was hardly invented each time: a belief of {float(D):.0%} becomes "
        f"{strongest[ONCE, MONTHS]:.2%}.",
        defence=f"Say in the policy how many views there will be, `adversary: {{views: {MONTHS}}}`. The probabilities "
        "are then chosen from the exact odds over all of them, and a tuple that was shown once gets more noise from "
        f"then on: the belief stays at {made_for:.1%}. Fresh views hold the promise if 9 in 25 are invented, by "
        f"`verify`; estimates from one then err {dearer:.1f} times as much.",
        measure=f"belief after {MONTHS} views",
        attacked=strongest[ONCE, MONTHS],
        allowed=float(GAMMA),
        defended=made_for if series.withstands(SERIES, D) and safe.holds else 1.0,
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


ATTACK = Attack("repeated-views", "A fresh noisy view every month", "[RS07] section 4.4", run)
