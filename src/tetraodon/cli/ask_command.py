"""`tetraodon ask`: one question to a release or to a view."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tetraodon.cli import remote_commands
from tetraodon.cli.command_boundary import Edge, WrongUse, existing
from tetraodon.cli.output import Json, emit, say, table, working

if TYPE_CHECKING:
    from tetraodon.inference.estimate import Estimate

MOST_ROWS = 100


def ask(
    folder: Annotated[
        str,
        typer.Argument(metavar="FOLDER", help="A release or view folder; on a server, a data set.", show_default=False),
    ],
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help='Such as "age between 30 and 39".', show_default=False)
    ],
    confidence: Annotated[
        str | None,
        typer.Option(metavar="PERCENT", help="How often the interval holds.", show_default="95%"),
    ] = None,
    sample: Annotated[
        int, typer.Option(min=0, metavar="N", help="Of a view: draw N tuples where counting all is too costly.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Ask a release or a view how many records satisfy a condition. It costs nothing, however often.

    A view also answers SELECT of one count(*), sum(attribute) or avg(attribute), with WHERE and GROUP BY.

    \b
    Examples:
      tetraodon ask release/ "age between 30 and 39"
      tetraodon ask release/ "age < 30 and sex = 'Female'"
      tetraodon ask view/ "select sex, count(*) from people where score < 3 * age group by sex"

    \b
    --json gives {"condition", "item", "value", "lower", "upper", "confidence"} or
      {"condition", "item", "groups": [{"group", "value", "lower", "upper", "confidence"}]}.
    """
    with Edge(as_json):
        if not question.strip():
            raise WrongUse("the question is empty", fix='write one such as "age between 30 and 39"')
        if (chosen := remote_commands.server()) is not None:
            _answer(question, chosen.dataset(folder).ask(question, confidence=confidence), as_json)
            return
        existing(folder, option="FOLDER", folder=True)
        from tetraodon.publishing.view import MANIFEST

        if (Path(folder) / MANIFEST).exists():
            _ask_view(folder, question, confidence, sample, as_json)
            return
        if sample:
            raise WrongUse("a release is asked as a whole", fix="leave out --sample")
        from tetraodon.inference.estimate import CONFIDENCE
        from tetraodon.releasing.folder import load_release

        with working("reading the release"):
            estimate = load_release(folder).ask(question, confidence=CONFIDENCE if confidence is None else confidence)
        _answer(question, estimate, as_json)


def _ask_view(folder: str, question: str, confidence: str | None, sample: int, as_json: bool) -> None:
    from tetraodon.inference.estimate import CONFIDENCE, Estimate
    from tetraodon.publishing.view import load_view

    with working("reading the view"):
        view = load_view(folder)
        found = view.ask(question, confidence=CONFIDENCE if confidence is None else confidence, sample=sample)
    if isinstance(found, Estimate):
        _answer(question, found, as_json)
        return
    groups = [([str(part) for part in (key if isinstance(key, tuple) else (key,))], one) for key, one in found.items()]
    if as_json:
        listed = [{"group": group} | estimate.document() for group, estimate in groups]
        emit({"condition": question, "item": view.name, "groups": listed})
        return
    rows = [[", ".join(group), *estimate.rounded] for group, estimate in groups[:MOST_ROWS]]
    table(["group", "about", "from", "to"], rows, right=["about", "from", "to"])
    if len(groups) > MOST_ROWS:
        say(f"{len(groups) - MOST_ROWS} more groups; --json gives all.")


def _answer(question: str, estimate: Estimate, as_json: bool) -> None:
    if as_json:
        emit(answer_document(question, estimate))
    else:
        say(answer_in_words(estimate))


def answer_document(condition: str, estimate: Estimate) -> dict[str, Any]:
    """The answer to a condition as JSON."""
    return {"condition": condition, "item": estimate.source} | estimate.document()


def answer_in_words(estimate: Estimate) -> str:
    """The answer to a condition in words."""
    return f"{estimate.words}, from {estimate.source!r}"
