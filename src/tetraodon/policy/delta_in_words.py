"""What a delta takes back of the promise, in words."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from tetraodon.policy.policy import Policy
from tetraodon.policy.words import odds, one_in
from tetraodon.rational import decimal_text


def shown_epsilon(epsilon: Fraction) -> str:
    """An epsilon that was typed, as it was; one that follows from a rho, to four digits."""
    text = decimal_text(epsilon)
    return text if len(text) < 10 else f"{float(epsilon):.4g}"


def forgiven(policy: Policy) -> str:
    """What delta takes back of the promise.

    Why   with loss the log of the odds' move, P(loss > epsilon + t) (1 - e^-t) <= delta, here for t = log 2. And k
          steps keep (k epsilon, delta (1 + e^epsilon + ... + e^((k-1) epsilon))).
    """
    budget = f"The budget is rho {decimal_text(policy.rho)} in zCDP. " if policy.rho is not None else ""
    chain = min(Fraction(1), policy.delta * (1 + Fraction(min(odds(policy.epsilon, 1), Decimal(10**9)))))
    further = "" if policy.known else f" Between values two steps apart delta grows to {one_in(chain)}, and so on."
    return (
        f"{budget}Delta is {one_in(policy.delta)}, so these odds may be passed. Precisely: no set of outputs is more "
        f"likely under one of the two values than e^epsilon times its chance under the other, plus delta. Outputs that "
        f"move the odds more than twice as far as said come up with a chance of at most {one_in(2 * policy.delta)}, "
        f"and there is no limit to what they tell.{further} A release with Laplace noise makes no use of delta; "
        f"`tetraodon plan` says which noise it is."
    )
