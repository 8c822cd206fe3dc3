"""An attack that can be run: what it is, and the story of one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tetraodon.report.marks import Spec


@dataclass(frozen=True, slots=True)
class Story:
    """What happened: the attack in words and numbers, and what happened to the same attacker under a defence.

    `measure` says what `attacked`, `allowed` and `defended` measure, more being worse: what the attacker got, the most
    that the promise allows, and what is left to get where the defence is in place.
    """

    words: str
    defence: str
    measure: str
    attacked: float
    allowed: float
    defended: float
    numbers: Mapping[str, float | bool]
    chart: Spec

    @property
    def succeeded(self) -> bool:
        """Whether the attacker got more than the promise allows."""
        return self.attacked > self.allowed

    @property
    def held(self) -> bool:
        """Whether the defence left the attacker with no more than the promise allows."""
        return self.defended <= self.allowed


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack of the gallery. `run` plays it on made-up data and comes to the same end every time."""

    name: str
    title: str
    paper: str
    run: Callable[[], Story]

    def document(self, story: Story | None = None) -> dict[str, Any]:
        """The attack as plain data, with the story of a run if there is one."""
        listed: dict[str, Any] = {"name": self.name, "title": self.title, "paper": self.paper}
        if story is None:
            return listed
        return listed | {
            "words": story.words,
            "defence": story.defence,
            "measure": story.measure,
            "attacked": story.attacked,
            "allowed": story.allowed,
            "defended": story.defended,
            "succeeded": story.succeeded,
            "held": story.held,
            "numbers": dict(story.numbers),
            "chart": story.chart,
        }
