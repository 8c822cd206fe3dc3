"""The plan of a view: its probabilities, its size, its errors and its loss, before any data is seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.correlated_records import require_independent
from tetraodon.certificate.direct_losses import certify_view
from tetraodon.domain import Domain
from tetraodon.errors import PolicyError, Refused
from tetraodon.ledger import shown_above
from tetraodon.policy.adversary import Adversary
from tetraodon.policy.policy import Policy
from tetraodon.views.channel import SetChannel, ViewChannel, best_channel, channel_document, paper_channel
from tetraodon.views.series import Series, best_series
from tetraodon.views.source_noise import source_channel
from tetraodon.views.tuple_files import require_numbered


@dataclass(frozen=True, slots=True)
class ViewPlan:
    """What will be published, and what it promises.

    Attributes
    ----------
    prior:   the adversary's largest prior, d.
    records: the public number of records; None where it is not public.
    channel: the probabilities that withstand the adversary: the least loss within 3% of the least error.
    paper:   the choice of [RS07], for comparison; None where it has none.
    series:  the probabilities of all views, where several are planned; `channel` is that of the first.
    """

    policy: Policy
    adversary: Adversary
    prior: Fraction
    records: int | None
    channel: ViewChannel
    paper: SetChannel | None
    series: Series | None = None

    @property
    def tuples(self) -> int:
        """Tuples of the domain."""
        return self.policy.domain.size

    @property
    def noise_tuples(self) -> Fraction:
        """Noise tuples to be expected in the view."""
        return self.channel.over(self.tuples) * self.channel.added_per_tuple

    @property
    def most_records(self) -> Fraction:
        """The public number of records, or the most that priors up to d leave room for."""
        return Fraction(self.records) if self.records is not None else self.prior * self.tuples

    @property
    def loss(self) -> Fraction:
        """Epsilon of one view under the policy, rounded up in the twelfth decimal."""
        return Fraction(self.certificate(self.policy).epsilon)

    def certificate(self, policy: Policy) -> Certificate:
        """The loss of one view under a policy; of the tuples that cost most, where some were shown before."""
        return certify_view(policy, self.channel.loss_presence, self.channel.loss_replace)

    def error(self, share: Fraction = Fraction(1), channel: ViewChannel | None = None) -> float:
        """The standard deviation of a count over a share of the domain that holds the same share of the records."""
        chosen = channel or self.channel
        tuples = chosen.over(self.tuples)
        variance = self.most_records * chosen.variance_per_record + tuples * chosen.variance_per_tuple
        return math.sqrt(share * variance) / float(chosen.keep)

    @property
    def worst_error(self) -> float:
        """The standard deviation of a count of everything: of the last view, where several are planned."""
        if self.series is None:
            return self.error()
        return math.sqrt(self.series.variance(self.series.views, self.most_records, self.tuples))

    def document(self) -> dict[str, Any]:
        """The plan as JSON, for the ledger, the view folder and `--json`."""
        return {
            "adversary": self.adversary.document(),
            "prior": str(self.prior),
            "records": self.records,
            "tuples": self.tuples,
            "channel": channel_document(self.channel),
            "noise_tuples": float(self.noise_tuples),
            "loss_presence": str(self.channel.loss_presence),
            "loss_replace": str(self.channel.loss_replace),
            "epsilon": str(self.loss),
            "errors": [{"share": float(share), "error": self.error(share)} for share in SHARES],
            "paper": None
            if self.paper is None
            else {**channel_document(self.paper), "error": self.error(channel=self.paper)},
            **({} if self.series is None else {"seen": channel_document(self.series.seen)}),
        }


FACTORS = (Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(10))
"""How many times as much as the attacker of a policy those know to whom a plan compares them."""
COARSE = 200
"""Steps of the search for each of them: epsilon and error are about those of a plan."""
SHARES = tuple(Fraction(1, 10**power) for power in range(7))
"""Sizes of questions, as shares of the domain, for which a plan and a report say the expected error."""


def plan_view(
    policy: Policy, adversary: Adversary | None = None, *, records: int | None = None, over_budget: bool = False
) -> ViewPlan:
    """The view that withstands the adversary with the least loss within 3% of the least error. It never sees the data.

    `records` is a public number of records that the adversary does not state.
    Raises Refused where the count of everything would be off by more than everything, and where the view loses more
    than the policy asks for, unless it may be `over_budget`, to be looked at.
    """
    require_independent(policy, "a published view")
    found = adversary or policy.adversary
    if found is None:
        raise PolicyError(
            "the policy does not say whom a view must withstand",
            fix="add `adversary: {prior: {d: 1e-4}, posterior: 0.2}`",
            where="adversary",
        )
    if found.records is None and records is not None:
        stated = {"k": found.k} if found.k is not None else {"d": found.d}
        found = Adversary(
            gamma=found.gamma,
            kind=found.kind,
            records=records,
            rows=found.rows,
            views=found.views,
            source=found.source,
            **stated,
        )
    require_numbered(policy.domain)
    cells = policy.domain.size
    prior = found.prior(cells)
    share = Fraction(found.records, cells) if found.records is not None else prior
    series = best_series(found, prior, share * cells, cells) if found.views > 1 else None
    made = ViewPlan(
        policy=replace(policy, adversary=found),
        adversary=found,
        prior=prior,
        records=found.records,
        channel=_channel(policy.domain, found, prior, share) if series is None else series.fresh,
        paper=paper_channel(found, prior) if series is None and not found.source else None,
        series=series,
    )
    if made.worst_error > made.most_records:
        below, above = nearest_possible(made)
        nearest = [
            *([] if below is None else [f"a prior of at most {float(below):.3g}"]),
            *([] if above is None else [f"a posterior of at least {float(above):.3g}"]),
        ]
        raise Refused(
            f"a prior of {float(made.prior):.3g} stays at a posterior of {float(found.gamma):.3g} only under so much "
            f"noise that a count of all {float(made.most_records):,.0f} records among {cells:,} possible tuples is "
            f"off by about {made.worst_error:,.0f}",
            fix=f"take {' or '.join(nearest) or 'another prior or posterior'}, or declare fewer or coarser attributes",
            where="adversary",
        )
    if not over_budget:
        require_within_budget(made)
    return made


def _channel(domain: Domain, adversary: Adversary, prior: Fraction, share: Fraction) -> ViewChannel:
    return source_channel(domain, adversary) if adversary.source else best_channel(adversary, prior, share)


@dataclass(frozen=True, slots=True)
class OtherAttacker:
    """What a view would lose and err that withstands another attacker; None where none would be of use."""

    prior: Fraction
    gamma: Fraction
    epsilon: Fraction | None
    error: float | None

    def document(self) -> dict[str, Any]:
        epsilon = None if self.epsilon is None else str(self.epsilon)
        return {"prior": str(self.prior), "posterior": str(self.gamma), "epsilon": epsilon, "error": self.error}


def other_attackers(plan: ViewPlan) -> list[list[OtherAttacker]]:
    """The same view for attackers who know less and more, a row for each prior, who may learn less and more.

    Of a series there are none, since each takes a search of its own, and none where noise follows a source.
    """
    found = plan.adversary
    gammas = [found.gamma / 2, found.gamma, (1 + found.gamma) / 2]
    priors = [] if plan.series is not None or found.source else [plan.prior * factor for factor in FACTORS]

    def one(prior: Fraction, gamma: Fraction) -> OtherAttacker:
        made = _against(plan, prior, gamma)
        return OtherAttacker(prior, gamma, *((made.loss, made.error()) if made else (None, None)))

    return [[one(prior, gamma) for gamma in gammas] for prior in priors]


def _against(plan: ViewPlan, prior: Fraction, gamma: Fraction) -> ViewPlan | None:
    """The same view for an attacker with another prior and posterior; None where no such view is of use."""
    found, made = plan.adversary, plan
    if prior >= gamma:
        return None
    if (prior, gamma) != (plan.prior, found.gamma):
        other = Adversary(d=prior, gamma=gamma, kind=found.kind, rows=found.rows)
        try:
            made = replace(plan, channel=best_channel(other, prior, plan.most_records / plan.tuples, COARSE))
        except Refused:
            return None
    return None if made.error() > plan.most_records else made


def nearest_possible(plan: ViewPlan) -> tuple[Fraction | None, Fraction | None]:
    """The largest prior at the plan's posterior, and the least posterior at its prior, for which a view is of use.

    Each is within a few per cent of the edge, on its safe side; None where there is none, or no search for it: of a
    series, of noise from a source, and where n is not public, which then depends on the prior.
    """
    if plan.series is not None or plan.adversary.source or plan.records is None:
        return None, None
    gamma = plan.adversary.gamma

    def edge(start: Fraction, attacker: Callable[[Fraction], tuple[Fraction, Fraction]]) -> Fraction | None:
        """The largest number that is possible, from a number on or below it: doubled, then halved in between."""

        def possible(number: Fraction) -> bool:
            return _against(plan, *attacker(number)) is not None

        low = next((start / 2**k for k in range(13) if possible(start / 2**k)), None)
        if low is None:
            return None
        while possible(2 * low):
            low *= 2
        high = 2 * low
        for _ in range(5):
            middle = Fraction(math.sqrt(low * high))
            low, high = (middle, high) if possible(middle) else (low, middle)
        return _digits(low, math.floor)

    prior = edge(plan.prior, lambda d: (d, gamma))
    odds_against = edge((1 - gamma) / gamma, lambda odds: (plan.prior, 1 / (1 + odds)))
    return prior, None if odds_against is None else _digits(1 / (1 + odds_against), math.ceil)


def _digits(number: Fraction, rounded: Callable[[Fraction], int]) -> Fraction:
    """A number above zero with three digits, rounded to one side."""
    unit = Fraction(10) ** (math.floor(math.log10(number)) - 2)
    return rounded(number / unit) * unit


def require_within_budget(plan: ViewPlan) -> None:
    """Refuse a view that loses more than its policy asks for."""
    asked = plan.policy.epsilon
    if plan.loss > asked:
        raise Refused(
            f"the view loses epsilon {shown_above(plan.loss)}, more than the {shown_above(asked)} that the policy asks "
            "for",
            fix=f"write `budget: {{epsilon: {math.ceil(plan.loss)}}}` if that is meant, or a smaller posterior",
            where="budget",
        )
