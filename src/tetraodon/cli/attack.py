"""`tetraodon attack`: the gallery of attacks, listed or run; and attacks on a folder that is published."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated

import typer

from tetraodon.cli.console import (
    Chart,
    CliErrorHandler,
    Json,
    WrongUse,
    draw,
    drawable,
    emit,
    existing,
    heading,
    say,
    table,
    working,
    wrapped,
)
from tetraodon.wording import shown_number

if TYPE_CHECKING:
    from fractions import Fraction
    from pathlib import Path

    from tetraodon.attacks import Attack, Story
    from tetraodon.attacks.on_release import Reconstruction
    from tetraodon.views.exposure import Exposure


def attack(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The attack to run; all are listed without it.")
    ] = None,
    on: Annotated[
        str | None, typer.Option("--on", metavar="FOLDER", help="Attack a release or view that is published.")
    ] = None,
    knows: Annotated[
        str | None,
        typer.Option("--knows", metavar="FILE", help="A view: people and what is known of them, as CSV."),
    ] = None,
    secret: Annotated[
        list[str] | None, typer.Option("--secret", metavar="ATTRIBUTE", help="A view: what is to be found out.")
    ] = None,
    household: Annotated[
        int, typer.Option("--household", metavar="N", help="A release: how many people are alike.", min=2)
    ] = 3,
    chart: Chart = None,
    as_json: Json = False,
) -> None:
    """Run an attack of the gallery on made-up data; or, with --on, attack a release or a view of your own.

    On a release: who would get more than it promises, by how much, and which key of the policy would stop them; and
    which records can be read off its tables. On a view: what it tells by itself, or, with --knows, what linking with a
    file of people finds. All of it reads the published folder and no protected table.

    \b
    Examples:
      tetraodon attack
      tetraodon attack exam --chart exam.svg
      tetraodon attack --on release
      tetraodon attack --on view
      tetraodon attack --on view --knows neighbours.csv --secret income

    \b
    --json gives {"attacks": [{"name", "title", "paper"}]}, or with NAME {"name", "title", "paper", "words", "defence",
      "measure", "attacked", "allowed", "defended", "succeeded", "held", "numbers", "chart"}. With --on it is {"on",
      "attackers": [{"name", "who", "key", "epsilon_exact", "exact", "most", "got", "why"}], "tables": [{"item",
      "cells", "named", "new", "lone", "strongest", "key"}]} of a release, {"on", "exposure": {"belief", "before",
      "named", "right", "records", "new", "new_records"}} of a view, and with --knows {"on", "linking": {"people",
      "secret", "before", "strongest", "allowed", "above", "right", "key"}}.
    """
    with CliErrorHandler(as_json):
        if on is not None:
            if name is not None or chart is not None:
                raise WrongUse("--on attacks a folder by all that fits", fix="leave out the name and --chart")
            _attack_folder(on, knows, secret or [], household, as_json)
            return
        if knows is not None or secret:
            raise WrongUse("--knows and --secret need a view", fix="write --on FOLDER")
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


def _attack_folder(on: str, knows: str | None, secret: list[str], household: int, as_json: bool) -> None:
    from tetraodon.views import is_view

    folder = existing(on, option="--on", folder=True)
    if is_view(folder / "view-1"):
        raise WrongUse("this folder holds several views of a series", fix="name one of them, such as its view-1")
    if is_view(folder):
        _attack_view(folder, knows, secret, as_json)
        return
    if knows is not None or secret:
        raise WrongUse("--knows and --secret are for views", fix="leave them out for a release")
    from tetraodon.attacks.on_release import attack_release, reconstruct
    from tetraodon.releases.folder import load_release

    with working("attacking"):
        release = load_release(folder)
        found, read = attack_release(release, household=household), reconstruct(release)
    if as_json:
        emit({"on": on, "attackers": [one.document() for one in found], "tables": [one.document() for one in read]})
        return
    allowed = _share(found[0].most)
    heading("Who would get more than this release promises")
    say()
    wrapped(
        f"Somebody to whom two possibilities are equally likely may believe in one with {allowed} after the release. "
        "That is promised for the first attacker below. The others know more, or want to know more, than the policy "
        "says: how far they may get, how often they are right on average, and what to write in the policy so that the "
        "next release is made for them."
    )
    say()
    rows = [[one.name, _loss(one.epsilon), _share(one.most), _share(one.got), one.key] for one in found]
    table(["attacker", "epsilon", "belief at most", "right on average", "key"], rows)
    for one in found:
        say()
        wrapped(f"{one.name}: {one.who}." + (f" {_why(one.why)}" if one.why else ""))
    if read:
        say()
        _show_tables(read, allowed)


def _why(said: str) -> str:
    """Why there is no price, or none that is finite, as a sentence: a refusal begins with where it is in the policy."""
    return f"No price: {said}" if "Fix: " in said else f"{said[0].upper()}{said[1:]}."


def _show_tables(read: Sequence[Reconstruction], allowed: str) -> None:
    heading("Records read off the published tables")
    say()
    wrapped(
        "Somebody who has nothing but the tables takes from each how common its values are, and names the cells in "
        "which somebody must be, with a belief of 90%. New are those that they did not expect, with 50% at most; alone "
        "those that they then believe to hold exactly one record. The last columns say what one cell makes of an even "
        f"belief in one record, where {allowed} is promised, and what in the policy keeps that below 90%."
    )
    say()
    rows = [
        [
            one.item,
            *(f"{number:,}" for number in (one.cells, one.named, one.new, one.lone)),
            _share(one.strongest),
            one.key,
        ]
        for one in read
    ]
    heads = ["table", "cells", "named", "new", "alone", "one record", "key"]
    table(heads, rows, right=heads[1:6])


def _attack_view(folder: Path, knows: str | None, secret: list[str], as_json: bool) -> None:
    from tetraodon.attacks.on_view import link
    from tetraodon.policy.load import stated_policy
    from tetraodon.releases.folder import read_manifest
    from tetraodon.views.exposure import Exposure
    from tetraodon.views.view import load_view

    manifest = read_manifest(folder, "view")
    if knows is None:
        if secret:
            raise WrongUse("--secret is what linking is to find out", fix="write --knows people.csv beside it")
        _show_exposure(folder, Exposure.of(manifest["exposure"]), as_json)
        return
    adversary = stated_policy(manifest["policy"]).adversary
    assert adversary is not None
    with working("linking"):
        found = link(load_view(folder), existing(knows, option="--knows"), secret=secret, posterior=adversary.gamma)
    if as_json:
        emit({"on": str(folder), "linking": found.document()})
        return
    heading("What linking finds in this view")
    say()
    right = "" if found.right is None else f" {found.right:.0%} of these are right."
    wrapped(
        f"Of {found.people:,} people everything is known but {', '.join(found.secret)}. Before the view any value is "
        f"believed in with {found.before:.1%}; after it the strongest belief is {found.strongest:.1%}. "
        f"The policy allows {found.allowed:.0%} to the attacker it names, and {found.above:,} people's value is "
        f"believed in with more than that.{right}"
    )
    if found.above:
        say()
        wrapped(f"A view made for this attacker has, in its policy: {found.key}")


def _show_exposure(folder: Path, found: Exposure, as_json: bool) -> None:
    """What the view tells by itself: the attack that was played when it was drawn."""
    from tetraodon.views.report import exposure_in_words as exposed

    if as_json:
        emit({"on": str(folder), "exposure": found.document()})
        return
    heading("What this view tells by itself")
    say()
    wrapped(exposed(found))
    say()
    wrapped(
        "That was played when the view was drawn, and `tetraodon verify` plays it again. What the view makes of what "
        "somebody knows of people: --knows people.csv --secret ATTRIBUTE."
    )


def _loss(epsilon: Fraction | float | None) -> str:
    if epsilon is None:
        return "not priced"
    return "infinite" if isinstance(epsilon, float) else shown_number(float(epsilon))


def _share(belief: float | None) -> str:
    from tetraodon.policy.explain import percent

    return "-" if belief is None else percent(Decimal(belief))


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
