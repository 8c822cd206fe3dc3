"""Noise that can be added to an answer, as a description: Laplace, discrete Laplace, Gaussian."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from tetraodon.errors import NoiseError
from tetraodon.rational import rational


@dataclass(frozen=True, init=False)
class Laplace:
    """Density e^(-|x| / scale) / (2 scale)."""

    scale: Fraction

    def __init__(self, scale: Any) -> None:
        object.__setattr__(self, "scale", _positive(scale, "scale"))

    @property
    def text(self) -> str:
        return f"Laplace noise of scale {self.scale}"


@dataclass(frozen=True, init=False)
class DiscreteLaplace:
    """Whole numbers k with probability proportional to e^(-|k| / scale)."""

    scale: Fraction

    def __init__(self, scale: Any) -> None:
        object.__setattr__(self, "scale", _positive(scale, "scale"))

    @property
    def text(self) -> str:
        return f"discrete Laplace noise of scale {self.scale}"


@dataclass(frozen=True, init=False)
class Gaussian:
    """Density proportional to e^(-x^2 / (2 sigma^2))."""

    sigma: Fraction

    def __init__(self, sigma: Any) -> None:
        object.__setattr__(self, "sigma", _positive(sigma, "sigma"))

    @property
    def text(self) -> str:
        return f"Gaussian noise of standard deviation {self.sigma}"


Noise: TypeAlias = Laplace | DiscreteLaplace | Gaussian


def _positive(number: Any, name: str) -> Fraction:
    exact = rational(number, name=name)
    if exact <= 0:
        raise NoiseError(f"the {name} of the noise is not positive", fix="write a number above zero")
    return exact
