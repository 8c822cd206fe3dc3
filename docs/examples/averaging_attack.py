"""The attack of [HMD14] section 3.2, played out, and a picture of it.

The counts of k values are released with noise, and the sums of adjacent counts are known: k-1 equations for k numbers.
Every noisy count, carried along the sums, is one more estimate of the first; their average recovers the whole table.

python docs/examples/averaging_attack.py docs/img/averaging-attack.svg
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import vl_convert
from numpy.typing import NDArray

import tetraodon as td
from tetraodon.noise import discrete_laplace

SIZES = (4, 8, 16, 32, 64, 128)
TURNS = 400


def attack(noisy: NDArray[Any], sums: NDArray[Any]) -> NDArray[Any]:
    """All counts, from noisy ones and the known sums of neighbours: c1 = a1 - c2 = a1 - a2 + c3 = ..., averaged."""
    signs = (-1) ** np.arange(len(noisy))
    offsets = np.concatenate([[0], np.cumsum(signs[:-1] * sums)])
    return np.asarray(signs * (np.mean(offsets + signs * noisy) - offsets))


def policy(k: int, *, known: bool) -> td.Policy:
    """Values 1..k, all of them secret, with or without the sums of neighbours known."""
    sums = [{"count": f"r in ({i}, {i + 1})"} for i in range(1, k)] if known else []
    return td.load_policy(
        {
            "dataset": "sums",
            "presence": "public",
            "attributes": {"r": {"integer": [1, k]}},
            "known": sums,
            "budget": {"epsilon": 1},
        }
    )


def error_after_attack(k: int, scale: Fraction) -> float:
    """The root mean squared error that the attacker is left with, measured."""
    counts = np.arange(k) % 7
    sums = counts[:-1] + counts[1:]
    noisy = counts + discrete_laplace(scale, (TURNS, k))
    found = np.array([attack(row, sums) for row in noisy])
    return float(np.sqrt(np.mean((found - counts) ** 2)))


def rows() -> list[dict[str, Any]]:
    """One row for every size and promise."""
    found = []
    for k in SIZES:
        for known, name in ((False, "plain differential privacy"), (True, "the sums are declared as known")):
            scale = policy(k, known=known).sensitivity(td.histogram("r")).value
            found.append({"k": k, "promise": name, "error": error_after_attack(k, scale)})
    return found


def chart(data: list[dict[str, Any]]) -> dict[str, Any]:
    """A Vega-Lite chart of what the attacker is left with."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": data},
        "width": 480,
        "height": 260,
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {"field": "k", "type": "quantitative", "scale": {"type": "log", "base": 2}, "title": "values"},
            "y": {
                "field": "error",
                "type": "quantitative",
                "scale": {"type": "log"},
                "title": "attacker's error of a count (epsilon 1)",
            },
            "color": {"field": "promise", "type": "nominal", "title": None, "legend": {"orient": "top"}},
        },
    }


if __name__ == "__main__":
    table = rows()
    for row in table:
        print(f"{row['k']:4} values, {row['promise']}: error {row['error']:.2f}")
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(vl_convert.vegalite_to_svg(chart(table)), encoding="utf-8")
