"""`tetraodon init`, `check`, `explain` and `schema`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from tetraodon.cli.console import (
    REFUSED,
    CliErrorHandler,
    Json,
    WrongUse,
    emit,
    existing,
    existing_policy,
    existing_table,
    heading,
    say,
    table,
    working,
    wrapped,
)

if TYPE_CHECKING:
    from tetraodon.engine import ColumnReport
    from tetraodon.releases.counting import Checked


# -- policy commands --------------------------------------------------------------------------------
# `tetraodon check`, `explain` and `schema`: what a policy file says, before any data is touched.

PolicyPath = Annotated[str, typer.Argument(metavar="POLICY", help="The policy file.", show_default=False)]


def check(
    policy: PolicyPath,
    data: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="Also say how the table fits.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a policy file and say how much one person can move each answer.

    With a TABLE it is the curator's own dry run: how many values are missing, unreadable or outside, per column, and
    what they count as. That output is exact, so it is for the curator only. A table of which more cannot be read than
    the policy allows is refused, as `release` refuses it.

    \b
    Examples:
      tetraodon check people.policy.yaml
      tetraodon check people.policy.yaml people.csv

    \b
    --json gives {"valid": true, "dataset", "epsilon", "epsilon_exact", "table",
      "queries": [{"name", "kind", "sensitivity", "sensitivity_exact", "method", "witness", "exact"}]}
    where "table" is null or {"curator_only": true,
      "columns": [{"name", "rows", "missing", "unreadable", "outside"}], "becomes": [TEXT],
      "refused": [{"what", "where", "fix"}]}, with exit code 1 if it is refused;
    and for a file that is not valid {"valid": false, "error"}, with exit code 1.
    """
    with CliErrorHandler(as_json, valid=False):
        existing_policy(policy, data)
        source = None if data is None else existing_table(data)
        from tetraodon.exact.rational import decimal_text
        from tetraodon.releases.codec import number
        from tetraodon.releases.counting import check

        with working("finding the worst case of each item"):
            found = check(policy, source)
        read, queries = found.policy, _queries(found)
        if as_json:
            emit(
                {
                    "valid": True,
                    "dataset": read.dataset,
                    "epsilon": number(read.epsilon),
                    "epsilon_exact": decimal_text(read.epsilon),
                    "queries": queries,
                    "table": None if source is None else _table_document(found),
                }
            )
            if found.refusals:
                raise typer.Exit(REFUSED)
            return
        say(f"{policy} is valid: data set {read.dataset}, epsilon {decimal_text(read.epsilon)}.")
        say()
        if queries:
            table(
                ["item", "kind", "one person moves it by", "worst case"],
                [[q["name"], q["kind"], f"{q['sensitivity']:,}", _worst(q)] for q in queries],
                right=["one person moves it by"],
            )
        for item in read.names:
            wrapped(f"{item.name} tells names in {item.column}: `tetraodon plan` says how many people must share one.")
        if not queries and not read.names and read.adversary is None:
            wrapped("Nothing is released yet: list items under `release`.")
        if read.adversary is not None:
            wrapped("It names an adversary, so a view can be published: `tetraodon plan` says how far off it would be.")
        if source is not None:
            _show_reports(found)
            from tetraodon.releases.counting import check_readable

            check_readable(read, found.fitness)


def _queries(found: Checked) -> list[dict[str, Any]]:
    from tetraodon.releases.codec import certificate_document

    policy = found.policy
    return [
        {"name": item.name, "kind": item.query.words[0]}
        | certificate_document(found.sensitivities[item.name], policy.domain)
        for item in policy.items
    ]


def _worst(query: dict[str, Any]) -> str:
    from tetraodon.cli.plan_words import pair_in_words

    if not query["sensitivity"]:
        return "no secret changes it"
    bound = "" if query["exact"] else " (an upper bound)"
    return (pair_in_words(query["witness"]) if query["witness"] else query["method"]) + bound


def _table_document(found: Checked) -> dict[str, Any]:
    return {
        "curator_only": True,
        "columns": [_report_document(report) for report in found.columns],
        "becomes": list(found.becomes),
        "refused": [{"what": r.what, "where": r.where, "fix": r.fix} for r in found.refusals],
    }


def _report_document(report: ColumnReport) -> dict[str, Any]:
    return {
        "name": report.name,
        "rows": report.rows,
        "missing": report.missing,
        "unreadable": report.unreadable,
        "outside": report.outside,
    }


def _show_reports(found: Checked) -> None:
    from tetraodon.releases.counting import CURATOR_ONLY

    reports = found.columns
    say()
    heading("Dry run")
    wrapped(CURATOR_ONLY)
    say()
    names = ["column", "rows", "missing", "unreadable", "outside"]
    rows = [[r.name, *(f"{n:,}" for n in (r.rows, r.missing, r.unreadable, r.outside))] for r in reports]
    table(names, rows, right=names[1:])
    if any(report.rows == 0 for report in reports):
        wrapped("The table has no rows.")
    for one in found.fitness:
        if one.report.another_type:
            wrapped(
                f"No value of {one.attribute.name} can be read: the column holds another type than the policy expects. "
                "Declare the attribute as what the column holds, or say under `table` how its numbers are written."
            )
        for sentence in one.sentences():
            wrapped(sentence)
    if any(not report.fits for report in reports):
        wrapped(
            "Nothing that is published shows whether this happened. Words must match to the letter: `male` is not "
            "`Male`, and neither is ` Male`, unless the attribute says `trim: true`."
        )


def explain(policy: PolicyPath, as_json: Json = False) -> None:
    """Say in words what a policy promises, what it does not, and what is assumed.

    \b
    Example:
      tetraodon explain people.policy.yaml

    \b
    --json gives {"dataset", "parts": [{"title", "sentences": [TEXT], "examples": [{"attributes", "x", "y",
      "steps", "odds", "odds_at_most", "truthful", "truthful_at_most"}]}]}.
    """
    with CliErrorHandler(as_json):
        existing_policy(policy)
        from tetraodon.policy.explain import explain
        from tetraodon.policy.load import load_policy

        found = explain(load_policy(policy))
        if as_json:
            emit(found.document)
        else:
            say(found.text.rstrip("\n"))


def schema(as_json: Json = False) -> None:
    """Print the JSON Schema of policy files, for editors that complete and check them.

    The schema is JSON with or without --json.

    \b
    Example:
      tetraodon schema > policy.schema.json
    """
    with CliErrorHandler(as_json):
        from tetraodon.policy.document import policy_schema

        emit(policy_schema())


# -- init command -----------------------------------------------------------------------------------


def init(
    table: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="A file, or the address of a table.", show_default=False)
    ] = None,
    metadata: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Metadata of SmartNoise or OpenDP.", show_default=False),
    ] = None,
    promise: Annotated[
        str, typer.Option(metavar="NAME", help="What is secret to begin with: everything, or presence alone.")
    ] = "everything",
    out: Annotated[Path | None, typer.Option(help="Where to write it.", show_default="NAME.policy.yaml, here")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    as_json: Json = False,
) -> None:
    """Write the first draft of a policy file, from the names and types of a table's columns.

    No bound and no category is read from the data: each is a placeholder that `check` refuses until you have put
    in its place what is publicly known.

    With --from, the columns are those that a file of metadata describes: SmartNoise's YAML, or columns and margins as
    OpenDP has them. What it says stands in comments; every placeholder stays.

    \b
    Examples:
      tetraodon init people.csv
      tetraodon init --from smartnoise.yaml
      tetraodon init people.csv --promise presence

    \b
    --json gives {"policy", "dataset", "columns": [{"name", "kind"}], "left_out": [NAME], "placeholders",
      "notes": [TEXT]}.
    """
    with CliErrorHandler(as_json) as handler:
        handler.state = "The policy file is as it was, or whole."
        from tetraodon.errors import PolicyError
        from tetraodon.policy.draft import Promise, init
        from tetraodon.policy.load import PLACEHOLDER
        from tetraodon.wording import number_of

        if (table is None) == (metadata is None):
            raise WrongUse("there is not one source of a draft", fix="give TABLE, or --from FILE")
        if promise not in get_args(Promise):
            raise WrongUse("--promise is not one that a draft begins with", fix=f"use {' or '.join(get_args(Promise))}")
        source = None if table is None else existing_table(table)
        given = None if metadata is None else existing(metadata, option="--from")
        with working("reading the names of the columns"):
            draft = init(source, metadata=given, promise=cast(Promise, promise))
        target = out or Path(f"{draft.dataset}.policy.yaml")
        if target.exists() and not force:
            raise PolicyError("the policy file exists", fix="pass --force to replace it, or --out", where=str(target))
        draft.write(target, force=force)
        if as_json:
            emit(
                {
                    "policy": str(target),
                    "dataset": draft.dataset,
                    "columns": [{"name": column, "kind": kind} for column, kind in draft.columns],
                    "left_out": list(draft.left_out),
                    "placeholders": draft.placeholders,
                    "notes": list(draft.notes),
                }
            )
            return
        found, places = number_of(len(dict(draft.columns)), "column"), draft.placeholders
        says = "1 place that says" if places == 1 else f"{places} places that say"
        wrapped(f"Wrote {target}: {found}, {says} {PLACEHOLDER}.")
        for sentence in draft.notes:
            wrapped(sentence)
        say("Put what is publicly known in those places, never what the data show. Then:")
        say(f"  tetraodon check {_quoted(target)}")


def _quoted(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))
