"""`tetraodon attack`: the gallery of attacks, listed or run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tetraodon.cli.command_boundary import Edge, WrongUse
from tetraodon.cli.drawing import Chart, draw, drawable
from tetraodon.cli.output import Json, emit, heading, say, table, working, wrapped
from tetraodon.wording import shown_number

if TYPE_CHECKING:
    from tetraodon.attacks import Attack, Story


def attack(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The attack to run; all are listed without it.")
    ] = None,
    chart: Chart = None,
    as_json: Json = False,
) -> None:
    """Run an attack of the gallery on made-up data: what the attacker gets, and what defends.

    \b
    Examples:
      tetraodon attack
      tetraodon attack exam --chart exam.svg

    \b
    --json gives {"attacks": [{"name", "title", "paper"}]}, or with NAME {"name", "title", "paper", "words", "defence",
      "measure", "attacked", "allowed", "defended", "succeeded", "held", "numbers", "chart"}.
    """
    with Edge(as_json):
        drawable(chart)
        if name is None and chart is not None:
            raise WrongUse("--chart needs the attack to draw", fix="write tetraodon attack NAME --chart FILE")
        from tetraodon.attacks import GALLERY, find

        if name is None:
            if as_json:
                emit({"attacks": [one.document() for one in GALLERY]})
                return
            table(["attack", "what", "paper"], [[one.name, one.title, one.paper] for one in GALLERY])
            return
        found = find(name)
        with working(f"running {name}"):
            story = found.run()
        if chart is not None:
            draw(story.chart, chart)
        if as_json:
            emit(found.document(story))
            return
        _show(found, story)


def _show(found: Attack, story: Story) -> None:
    heading(f"{found.title} ({found.paper})")
    say()
    wrapped(story.words)
    say()
    wrapped(f"What defends: {story.defence}")
    say()
    wrapped(f"{story.measure[0].upper()}{story.measure[1:]}:")
    rows = [
        ["got by the attack", _number(story.attacked)],
        ["allowed by the promise", _number(story.allowed)],
        ["left with the defence", _number(story.defended)],
    ]
    table(["", "number"], [*rows, *([key, _number(value)] for key, value in story.numbers.items())], right=["number"])


def _number(value: float | bool) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return shown_number(value)
