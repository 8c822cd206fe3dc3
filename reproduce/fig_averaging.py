"""[HMD14] section 3.2: known sums of adjacent counts average the noise away."""

from __future__ import annotations

from collections.abc import Sequence

from reproduce.figure import Chart, Check, Figure, Progress, Table
from tetraodon.attacks.attack import Attack
from tetraodon.attacks.on_mechanisms import KNOWN_SUMS as ATTACK


def run(quick: bool, progress: Progress) -> Figure:  # noqa: ARG001 - the attack is quick as it is
    """The attack of the gallery, as a figure."""
    once: Sequence[Attack] = [ATTACK]
    (story,) = [attack.run() for attack in progress(once, "attack")]
    rows = tuple((name, value) for name, value in story.numbers.items())
    outcome = ((story.measure, story.attacked), ("the most that the promise allows", story.allowed))
    table = Table(
        "The attack and its defence",
        ("what", "number"),
        (*outcome, ("the same, with the sums declared", story.defended), *rows),
    )
    checks = (
        Check("plain differential privacy: averaging reads more than the promise allows", story.succeeded),
        Check("with the sums declared under `known:` the attacker is left with no more than allowed", story.held),
    )
    return Figure("none: made-up counts", (table,), (Chart("averaging", ATTACK.title, dict(story.chart)),), checks)
