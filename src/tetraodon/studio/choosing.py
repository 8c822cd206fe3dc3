"""The questions that lead to a policy: how much may be learnt, how much the decision needs, and both side by side."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from tetraodon.errors import PolicyError, TetraodonError
from tetraodon.exact.rational import decimal_text, rational
from tetraodon.pufferfish.meaning import choose_epsilon
from tetraodon.releases.least_epsilon import driven_by, least_plan, wanted_of
from tetraodon.studio.workbench import held_of

_DOWN = Context(prec=3, rounding=ROUND_FLOOR)


@dataclass(frozen=True, slots=True)
class BeliefAllowed:
    """How sure somebody may become: from one belief to another, between values so many steps apart, after so many
    releases.

    Why  odds move by at most e^(epsilon * steps) in each release, so that epsilon * steps * releases = logit after -
         logit before is the most that keeps to it.

    >>> BeliefAllowed(Fraction(1, 10), Fraction(1, 4), 2, 1).allowed_text
    '0.549'
    """

    before: Fraction
    after: Fraction
    steps: int = 1
    releases: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.before < self.after < 1:
            raise PolicyError(
                "a belief does not grow from above 0 to below 100%", fix="write two shares, the second one larger"
            )
        if self.steps < 1 or self.releases < 1:
            raise PolicyError("steps and releases are counted from one", fix="write 1 or more")

    @classmethod
    def read(cls, before: str, after: str, steps: str, releases: str) -> BeliefAllowed:
        """What a form says: beliefs in percent, and whole numbers."""
        counts = [steps or "1", releases or "1"]
        if not all(count.isascii() and count.isdigit() and len(count) < 7 for count in counts):
            raise PolicyError("steps and releases are whole numbers", fix="write numbers such as 1 or 4")
        low, high = (rational(share, name="a belief") / 100 for share in (before, after))
        return cls(low, high, *(int(count) for count in counts))

    @property
    def allowed(self) -> Decimal:
        """The most epsilon of one release, rounded down to three digits."""
        most = choose_epsilon(prior=self.before, posterior=self.after)
        return _DOWN.divide(Decimal(most.numerator), Decimal(most.denominator * self.steps * self.releases))

    @property
    def allowed_text(self) -> str:
        return decimal_text(Fraction(self.allowed))

    def __str__(self) -> str:
        """The reason that is left in the file."""
        before, after = (f"{decimal_text(100 * share)}%" for share in (self.before, self.after))
        return (
            f"belief may grow from {before} to {after} between values {self.steps} step(s) apart, "
            f"after {self.releases} such release(s)"
        )


@lru_cache(maxsize=32)
def needed(text: str, folder: Path = Path()) -> dict[str, Any]:
    """The least epsilon that keeps every `error:` of a file, which items need it, and what the file allows."""
    held = held_of(text, folder)
    policy = held.policy
    if policy is None or held.left_out:
        return {"problem": "The file is not finished.", "needed": None}
    if not any(item.error for item in policy.items):
        return {"problem": "", "needed": None}
    try:
        wanted = wanted_of(policy)
        plan = least_plan(policy, wanted)
    except TetraodonError as error:
        return {"problem": str(error), "needed": None}
    return {
        "problem": "",
        "needed": decimal_text(plan.policy.epsilon),
        "allowed": decimal_text(policy.epsilon),
        "enough": plan.policy.epsilon <= policy.epsilon,
        "driven": driven_by(plan, wanted),
    }
