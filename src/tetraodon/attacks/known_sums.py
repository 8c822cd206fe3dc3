"""Sums of adjacent counts are known, and average the noise away."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tetraodon.attacks.attack import Attack, Story
from tetraodon.attacks.picture import lines, rounded
from tetraodon.certificate.sensitivity import sensitivity
from tetraodon.noise.dice import Dice
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy
from tetraodon.questions import histogram

Numbers: TypeAlias = NDArray[Any]

SIZES = (4, 8, 16, 32, 64, 128)
TURNS = 200


def recover(noisy: Numbers, sums: Numbers) -> Numbers:
    """All counts, from noisy ones and the known sums of neighbours.

    Why   c1 = a1 - c2 = a1 - a2 + c3 = ...: every noisy count, carried along the sums, is one more estimate of the
          first, and their average is as good as k of them ([HMD14] section 3.2).
    """
    signs = (-1) ** np.arange(noisy.shape[-1])
    offsets = np.concatenate([[0], np.cumsum(signs[:-1] * sums)])
    first = (offsets + signs * noisy).mean(axis=-1, keepdims=True)
    return np.asarray(signs * (first - offsets))


def policy(k: int, *, known: bool) -> Policy:
    """Values 1..k, all of them secret, with or without the sums of neighbours known."""
    sums = [{"count": f"r in ({i}, {i + 1})"} for i in range(1, k)] if known else []
    return load_policy(
        {
            "dataset": "sums",
            "presence": "public",
            "attributes": {"r": {"integer": [1, k]}},
            "known": sums,
            "budget": {"epsilon": 1},
        }
    )


def run() -> Story:
    dice = Dice(1)
    rows, read, right, error = [], {}, {}, {}
    for known, name in ((False, "noise of plain differential privacy"), (True, "noise where the sums are declared")):
        for k in SIZES:
            counts = np.arange(k) % 7
            scale = sensitivity(policy(k, known=known), histogram("r")).value
            found = recover(counts + dice.laplace(scale, (TURNS, k)), counts[:-1] + counts[1:])
            error[known] = float(np.sqrt(np.mean((found - counts) ** 2)))
            rows.append({"values": k, "error left to the attacker": rounded(error[known]), "noise": name})
            read[known] = float(np.mean(np.rint(found) == counts))
            right[known] = float(np.mean(found[:, 0] < counts[0] + 0.5))
    one_noise = math.sqrt(np.var(Dice(2).laplace(2, (100_000,))))
    return Story(
        words=f"The counts of {k} values are published with noise at epsilon 1, and the sums of adjacent counts are "
        f"known exactly. Each noisy count, carried along the sums, is another estimate of the first one. The average "
        f"reads {read[False]:.0%} of the counts exactly. Only one other table with counts next to these fits the sums: "
        "one person more and one fewer, in turn. Whoever wonders which of the two it is guesses right "
        f"{right[False]:.0%} of the time.",
        defence="List the sums under `known:`. The sensitivity then is k, and the noise outgrows what averaging "
        "takes away.",
        measure="how often a guess between two tables is right",
        attacked=right[False],
        allowed=math.e / (1 + math.e),
        defended=right[True],
        numbers={
            "values": k,
            "counts read exactly, without the defence": rounded(read[False]),
            "standard deviation of the noise": rounded(one_noise),
            "attacker's error without the defence": rounded(error[False]),
            "attacker's error with the defence": rounded(error[True]),
        },
        chart=lines(rows, x="values", y="error left to the attacker", colour="noise", log="xy"),
    )


ATTACK = Attack("known-sums", "Known sums of adjacent counts", "[HMD14] section 3.2", run)
