"""What a comparison of promises found: errors against protection, as a table, as data and as a picture."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tetraodon.certificate.certificate import Certificate
from tetraodon.mechanism.strategy import Mechanism
from tetraodon.rational import decimal_text
from tetraodon.zcdp import epsilon_at


@dataclass(frozen=True, slots=True)
class Variant:
    """One item under one policy. `odds` bounds how far an observer's odds between the pair of values can move.

    `budget` is the epsilon that was asked for; `epsilon` is less where the guarantee was matched.
    """

    item: str
    theta: str
    epsilon: Fraction
    budget: Fraction
    matched: bool
    steps: float
    mechanism: Mechanism
    expected_error: float
    certificate: Certificate | None = field(default=None, repr=False)

    @property
    def odds(self) -> float:
        """With Gaussian noise, at the policy's delta: k steps lose k^2 times as much rho."""
        exponent = float(self.epsilon) * self.steps
        if self.certificate is not None and self.certificate.rho is not None and math.isfinite(self.steps):
            exponent = float(epsilon_at(self.certificate.rho * int(self.steps) ** 2, self.certificate.delta))
        return math.exp(exponent) if exponent < 700 else math.inf

    def document(self) -> dict[str, Any]:
        return {
            "item": self.item,
            "theta": self.theta,
            "epsilon": float(self.epsilon),
            "epsilon_exact": decimal_text(self.epsilon),
            "budget": float(self.budget),
            "comparison": "matched guarantee" if self.matched else "equal epsilon",
            "steps": self.steps if math.isfinite(self.steps) else None,
            "odds": self.odds if math.isfinite(self.odds) else None,
            "mechanism": self.mechanism.name,
            "expected_error": self.expected_error,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Expected error against protection, with what is worth saying in words."""

    attribute: str
    pair: tuple[str, str]
    variants: tuple[Variant, ...]
    remarks: tuple[str, ...]

    def __iter__(self) -> Iterator[Variant]:
        return iter(self.variants)

    def __len__(self) -> int:
        return len(self.variants)

    def document(self) -> dict[str, Any]:
        """Everything as plain data, for `--json` and for charts."""
        return {
            "attribute": self.attribute,
            "pair": list(self.pair),
            "variants": [variant.document() for variant in self.variants],
            "remarks": list(self.remarks),
        }

    def __str__(self) -> str:
        head = ("item", "theta", "epsilon", "comparison", "odds", "mechanism", "expected error")
        rows = [head]
        for variant in self.variants:
            how = "matched guarantee" if variant.matched else "equal epsilon"
            numbers = (f"{float(variant.epsilon):g}", how, f"{variant.odds:.3g}", variant.mechanism.name)
            rows.append((variant.item, variant.theta, *numbers, f"{variant.expected_error:.4g}"))
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        told = f"Odds are those between {self.pair[0]} and {self.pair[1]} of {self.attribute}."
        return "\n".join([*lines, told, *self.remarks])

    def chart(self) -> dict[str, Any]:
        """A Vega-Lite picture: error against theta, a line for each epsilon, both ways of comparing."""
        order = list(dict.fromkeys(variant.theta for variant in self.variants))
        return {
            "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
            "title": "Expected error against protection",
            "data": {"values": [variant.document() for variant in self.variants]},
            "facet": {
                "row": {"field": "item", "title": None},
                "column": {"field": "comparison", "title": None},
            },
            "spec": {
                "width": 260,
                "height": 200,
                "mark": {"type": "line", "point": True, "tooltip": {"content": "data"}},
                "encoding": {
                    "x": {"field": "theta", "type": "ordinal", "sort": order, "title": f"theta of {self.attribute}"},
                    "y": {
                        "field": "expected_error",
                        "type": "quantitative",
                        "scale": {"type": "symlog"},
                        "title": "expected error",
                    },
                    "color": {"field": "budget", "type": "nominal", "title": "epsilon, if not matched"},
                },
            },
        }
