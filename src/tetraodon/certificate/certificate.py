"""What a certificate says, and why nobody but the kernel can write one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, TypeAlias

from tetraodon.zcdp import epsilon_at

Witness: TypeAlias = tuple[Any, Any]
"""Two values of one record, or two `Dataset`s; everything else is the same in both."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """Records of several people, in the order of the people: under known counts neighbours differ in all of them."""

    records: tuple[Any, ...]


_SEAL: Final = object()


@dataclass(frozen=True, slots=True)
class Certificate:
    """The privacy loss of a set of measurements over the worst pair of neighbouring datasets.

    `epsilon` is a Fraction, or infinity when some pair can be told apart for certain. `witness` is the pair of
    values that attains it (None when nothing moves). `exact` is False when epsilon is a proven upper
    bound rather than the loss itself; `method` says how it was found.

    With Gaussian noise `rho` is the loss, in zCDP, over the worst pair, and `exact` speaks of it; `epsilon` is what
    [CKS20] Cor. 13 makes of it at `delta`, never too small, and infinite where no delta is allowed.
    """

    epsilon: Fraction | float
    witness: Witness | None
    method: str
    exact: bool
    seal: object = field(repr=False, compare=False)
    rho: Fraction | None = None
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.seal is not _SEAL:
            raise TypeError("a certificate is computed by tetraodon.certificate.certify and by nothing else")

    @property
    def finite(self) -> bool:
        return not math.isinf(self.epsilon)


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """S(f, P): the most that one neighbouring step moves the answers, in total ([HMD14] Def. 5.1)."""

    value: Fraction
    witness: Witness | None
    exact: bool
    method: str


def seal(epsilon: Fraction | float, witness: Witness | None, method: str, exact: bool) -> Certificate:
    """For the kernel only."""
    return Certificate(epsilon, witness, method, exact, _SEAL)


def seal_rho(rho: Fraction, delta: Fraction, witness: Witness | None, method: str, exact: bool) -> Certificate:
    """For the kernel only: a loss in zCDP, and the epsilon that follows at `delta`."""
    if rho == 0:
        return seal(rho, witness, method, exact)
    epsilon = epsilon_at(rho, delta) if delta else math.inf
    return Certificate(epsilon, witness, method, exact, _SEAL, rho, delta)
