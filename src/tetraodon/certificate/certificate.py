"""What a certificate says, and why nobody but the kernel can write one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import InitVar, dataclass
from fractions import Fraction
from functools import wraps
from typing import Any, Final, ParamSpec, TypeAlias

from tetraodon.errors import Refused
from tetraodon.exact.effort import bounded_effort
from tetraodon.exact.rational import exact_or_infinite
from tetraodon.exact.zcdp import epsilon_at

Witness: TypeAlias = tuple[Any, Any]
"""Two values of one record, or two `Dataset`s, and the rest the same in both; or two secrets of a whole table."""
P = ParamSpec("P")
ROOM = "tetraodon.certificate."


@dataclass(frozen=True, slots=True)
class Dataset:
    """Records of several people, in the order of the people: under known counts neighbours differ in all of them."""

    records: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class TableShare:
    """How many of a table's records a condition holds for: a secret of the whole table."""

    having: int
    records: int
    condition: str


@dataclass(frozen=True, slots=True)
class TableChance:
    """With what chance a condition holds for each of a table's records: a secret of the whole table."""

    chance: Fraction
    records: int
    condition: str


_SEAL: Final = object()


@dataclass(frozen=True, slots=True)
class Certificate:
    """The privacy loss of a set of measurements over the worst pair of neighbouring datasets.

    `epsilon` is a Fraction, or infinity when some pair can be told apart for certain. `witness` is the pair of
    values that attains it (None when nothing moves). `exact` is False when epsilon is a proven upper
    bound rather than the loss itself; `method` says how it was found.

    With Gaussian noise `rho` is the loss, in zCDP, over the worst pair, and `exact` speaks of it; `epsilon` is what
    [CKS20] Cor. 13 makes of it at `delta`, never too small, and infinite where no delta is allowed.

    Where names that nobody listed are told, `delta` is what they need beside `epsilon`, and there is no rho.
    """

    epsilon: Fraction | float
    witness: Witness | None
    method: str
    exact: bool
    seal: InitVar[object]
    rho: Fraction | None = None
    delta: Fraction = Fraction(0)

    def __post_init__(self, seal: object) -> None:
        if seal is not _SEAL:
            raise TypeError("a certificate is computed by a function of tetraodon.certificate and by nothing else")
        for name in ("epsilon", "rho", "delta"):
            object.__setattr__(self, name, exact_or_infinite(getattr(self, name)))

    @property
    def finite(self) -> bool:
        return not math.isinf(self.epsilon)


@dataclass(frozen=True, slots=True)
class Computed:
    """A loss that a certifying function has found: an epsilon, or a rho with the delta at which it is read."""

    loss: Fraction | float
    witness: Witness | None
    method: str
    exact: bool
    delta: Fraction | None = None
    """Given where the loss is a rho."""
    chance: Fraction = Fraction(0)
    """With which the loss, an epsilon, may not hold."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """S(f, P): the most that one neighbouring step moves the answers, in total ([HMD14] Def. 5.1)."""

    value: Fraction
    witness: Witness | None
    exact: bool
    method: str


CERTIFYING: dict[str, Callable[..., Certificate]] = {}
"""Every function that makes certificates. `tests/certificate/test_certifying.py` holds each to an oracle, and fails
where one of them returns a tenth less."""


def certifying(compute: Callable[P, Computed | Certificate]) -> Callable[P, Certificate]:
    """Make a function of this room that computes a loss into one that certifies it: the only way to a certificate.

    Why   a seal that could be called from anywhere would be decoration. Here it is given to what a function computed,
          the functions are listed in `CERTIFYING`, and they live in one room whose imports a test walks.
    """
    if not compute.__module__.startswith(ROOM):
        raise TypeError(f"losses are certified in {ROOM[:-1]} only, not in {compute.__module__}")

    @wraps(compute)
    def certified(*args: P.args, **kwargs: P.kwargs) -> Certificate:
        found = bounded_effort(compute)(*args, **kwargs)
        if isinstance(found, Certificate):  # that of another certifying function
            return found
        if not found.loss >= 0:  # nor is it where it is no number
            raise Refused("what was computed is no loss", fix="give scales and rates of noise above zero")
        if found.delta is None or not found.loss:
            chance = found.chance
            return Certificate(found.loss, found.witness, found.method, found.exact, _SEAL, delta=chance)
        rho = Fraction(found.loss)
        epsilon = epsilon_at(rho, found.delta) if found.delta else math.inf
        return Certificate(epsilon, found.witness, found.method, found.exact, _SEAL, rho, found.delta)

    CERTIFYING[f"{compute.__module__.removeprefix(ROOM)}.{compute.__name__}"] = certified
    return certified
