"""`tetraodon ask`: one question to a release or to a view."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tetraodon.cli import remote_commands
from tetraodon.cli.command_boundary import Edge, WrongUse, existing
from tetraodon.cli.output import Json, emit, say, table, working

if TYPE_CHECKING:
    from tetraodon.inference.answered import Answered
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

    Both also answer SELECT of counts with WHERE, GROUP BY, HAVING, ORDER BY and LIMIT; a view also of sums, averages
    and numbers of distinct values, of expressions too, and with JOIN of public tables.

    \b
    Examples:
      tetraodon ask release/ "age between 30 and 39"
      tetraodon ask release/ "age < 30 and sex = 'Female'"
      tetraodon ask release/ "select sex, count(*) as n from people group by sex order by n desc"
      tetraodon ask view/ "select sex, count(*), avg(score) from people where score < 3 * age group by sex"

    \b
    --json gives {"condition", "item", "value", "lower", "upper", "confidence"} or
      {"condition", "item", "groups": [{"group", "value", "lower", "upper", "confidence"}]}; where
      several aggregates are selected a group has {"group", "row": {NAME: {"value", "lower", "upper", "confidence"}}}.
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
            found = load_release(folder).ask(question, confidence=CONFIDENCE if confidence is None else confidence)
        _answer(question, found, as_json)


def _ask_view(folder: str, question: str, confidence: str | None, sample: int, as_json: bool) -> None:
    from tetraodon.inference.estimate import CONFIDENCE
    from tetraodon.publishing.view import load_view

    with working("reading the view"):
        sure = CONFIDENCE if confidence is None else confidence
        found = load_view(folder).ask(question, confidence=sure, sample=sample)
    _answer(question, found, as_json)


def _answer(question: str, found: Answered, as_json: bool) -> None:
    from tetraodon.inference.answered import answer_document
    from tetraodon.inference.estimate import Estimate

    if as_json:
        emit(answer_document(question, found))
    elif isinstance(found, Estimate):
        say(answer_in_words(found))
    else:
        _show_groups(found)


def _show_groups(found: Mapping[Any, Any]) -> None:
    """One row for each group, or for each aggregate where there are no groups."""
    rows, names = [], [""]
    for key, one in list(found.items())[:MOST_ROWS]:
        several = one if isinstance(one, dict) else {"": one}
        names = list(several)
        group = ", ".join(str(part) for part in (key if isinstance(key, tuple) else (key,)))
        rows.append([group, *(text for estimate in several.values() for text in estimate.rounded)])
    heads = [f"{name} {end}".strip() for name in names for end in ("about", "from", "to")]
    table(["group", *heads], rows, right=heads)
    if len(found) > MOST_ROWS:
        say(f"{len(found) - MOST_ROWS} more groups; --json gives all.")


def answer_in_words(estimate: Estimate) -> str:
    """The answer to a condition in words."""
    return f"{estimate.words}, from {estimate.source!r}"
