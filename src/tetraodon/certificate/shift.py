"""The privacy loss of one whole number with noise, from how far a secret moves it."""

from __future__ import annotations

from fractions import Fraction

from tetraodon.certificate.certificate import Computed, certifying
from tetraodon.noise.laws import Currency, NoiseLaw


@certifying
def certify_shift(steps: int, law: NoiseLaw, scale: Fraction, *, method: str, exact: bool) -> Computed:
    """The loss of a number that no secret moves by more than `steps`, with noise of a law at a scale.

    Pre   `steps` bounds what the number moves by for whoever the definition calls an attacker, as `method` says: the
          Wasserstein mechanism, a sum of independent records. `exact` says whether somebody attains it.
    Post  steps times the law's rate; 0 where nothing moves, whatever the scale.
    """
    if steps == 0:
        return Computed(Fraction(0), None, method, exact)
    if law.currency is not Currency.PURE:
        raise law.unknown("privacy loss without a delta")
    return Computed(steps * law.rate(scale), None, method, exact)
