"""The laws of noise there are, by name. A law is added by a file of its own and its place in this table."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from tetraodon.errors import NoiseError, did_you_mean
from tetraodon.noise.laws.gaussian import GAUSSIAN
from tetraodon.noise.laws.laplace import LAPLACE
from tetraodon.noise.laws.noise_law import Currency, NoiseLaw
from tetraodon.rational import stated_number

LAWS: Mapping[str, NoiseLaw] = MappingProxyType({law.name: law for law in (LAPLACE, GAUSSIAN)})

__all__ = ["GAUSSIAN", "LAPLACE", "LAWS", "Currency", "NoiseLaw", "law_from", "law_named"]


def law_named(name: str | NoiseLaw) -> NoiseLaw:
    """The law of a name; a law is itself.

    >>> law_named("gaussian").width
    'standard deviation'
    """
    if isinstance(name, NoiseLaw):
        return name
    if name not in LAWS:
        raise NoiseError(f"there is no noise called {name!r}", fix=did_you_mean(name, LAWS))
    return LAWS[name]


def law_from(document: Mapping[str, Any] | None) -> tuple[Fraction, NoiseLaw]:
    """The scale and the law that a manifest states; None is no noise."""
    if document is None:
        return Fraction(0), LAPLACE
    law = next((law for law in LAWS.values() if law.words.lower() == document["law"]), None)
    if law is None or document.keys() != {"law", law.field}:
        raise NoiseError("unknown kind of noise", fix="upgrade tetraodon")
    return stated_number(document[law.field]), law
