"""`tetraodon release`, `show` and `verify`: making a release, and reading one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tetraodon.cli import remote_commands
from tetraodon.cli.command_boundary import (
    NO_KEY,
    OTHER_VERSION,
    REFUSED,
    Edge,
    WrongUse,
    existing,
    existing_policy,
    existing_table,
    fail,
)
from tetraodon.cli.ledger_commands import DEFAULT, LedgerUrl, ledger_name
from tetraodon.cli.output import Json, emit, listed, note, say, table, working, wrapped
from tetraodon.cli.policy_commands import PolicyPath

Folder = Annotated[str, typer.Argument(metavar="FOLDER", help="A release or view folder.", show_default=False)]
AllowDearer = Annotated[
    bool, typer.Option("--allow-dearer", help="Pay what the governing policy makes dearer than the file asks for.")
]
COMPLETE = "nothing to do"
"""What the gate says where there is nothing to resume; written out here, since importing it takes long."""
STATES = {
    "counting": "Nothing was charged, and nothing was written.",
    "charging the ledger": "It may have been charged; nothing was written. --resume asks the ledger, and finishes it.",
    "adding noise": "The charge stands; nothing was written. --resume finishes it at no further charge.",
    "writing the report": "The charge stands; the output folder is as it was, or whole. --resume finishes it at no "
    "further charge.",
    COMPLETE: "Nothing was changed.",
}
"""What stands if a release ends while it is doing this."""


def follow(edge: Edge, progress: Callable[[str], None]) -> Callable[[str], None]:
    """Show what a release is doing, and keep in mind what stands if it ends there."""

    def reached(stage: str) -> None:
        edge.state = STATES.get(stage, "The charge may stand (`tetraodon ledger show` tells).")
        progress(stage)

    return reached


def charged_in_words(edge: Edge, charged: str, dataset: str, left: str) -> str:
    """What was charged, now or before."""
    if edge.state == STATES[COMPLETE]:
        return f"It was complete already: nothing was charged now, epsilon {charged} before; {left} left."
    return f"Charged epsilon {charged} to {dataset}; {left} left."


def note_unsigned(folder: Path) -> None:
    """Say of a folder that was just written that nobody signed it, if so."""
    from tetraodon.ledger.signature import SIGNATURE

    if not (folder / SIGNATURE).exists():
        note("Not signed: the private key of the ledger is not at hand. `tetraodon ledger key` says why.")


def release(
    policy: PolicyPath,
    data: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="A file, or the address of a table.", show_default=False)
    ] = None,
    out: Annotated[Path, typer.Option(help="The release folder to write.")] = Path("release"),
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier release folder.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Finish a release that was charged and interrupted.")
    ] = False,
    allow_dearer: AllowDearer = False,
    purpose: Annotated[
        str | None, typer.Option(metavar="TEXT", help="On a server: what it is for.", show_default=False)
    ] = None,
    owner: Annotated[
        str, typer.Option(metavar="NAME", help="Charge it to their allotment as well.", show_default=False)
    ] = "",
    ledger: LedgerUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Release a table's statistics: count, charge the ledger, add noise, write the folder.

    The charge is made before noise is drawn and is never taken back. Whatever goes wrong before it costs nothing;
    whatever goes wrong after it leaves no half-written folder, and --resume finishes it at no further charge.

    TABLE is a CSV or Parquet file or pattern, file.duckdb#table, a file of Excel, SPSS, Stata or SAS,
    postgresql://USER@HOST/DATABASE#schema.table, spark:catalog.table or spark:MASTER#catalog.table; or a query of its
    rows, "select age, sex from 'people.parquet' where age >= 18".

    \b
    Example:
      tetraodon release people.policy.yaml people.csv --out release/

    \b
    --json gives {"dataset", "folder", "report", "ledger", "epsilon", "epsilon_exact", "charged", "left",
      "queries": [{"name", "kind", "mechanism", "epsilon", "expected_error", "rows"}]};
    "charged" and "left" are texts, rounded up and down where exact ones would be long.
    """
    with Edge(as_json) as edge:
        edge.state = STATES["counting"]
        existing_policy(policy, data)
        if (chosen := remote_commands.server()) is not None:
            remote_commands.release(chosen, policy, purpose, out, as_json=as_json)
            return
        if data is None:
            raise WrongUse("there is no table to release from", fix="give a TABLE, or a --server before the command")
        source = existing_table(data)
        from tetraodon.ledger import Ledger, shown_below
        from tetraodon.policy.load import load_policy
        from tetraodon.rational import decimal_text
        from tetraodon.releasing.documents import number
        from tetraodon.releasing.run import release

        read = load_policy(policy)
        with working("planning") as progress, Ledger(ledger) as book:
            made = release(
                read,
                source,
                ledger=book,
                out=out,
                force=force,
                resume=resume,
                allow_dearer=allow_dearer,
                owner=owner,
                progress=follow(edge, progress),
                warn=(lambda _: None) if as_json else note,
            )
            left = shown_below(book.account(read.account).left)
        note_unsigned(out)
        if as_json:
            epsilon = made.plan.epsilon
            emit(
                {
                    "dataset": read.dataset,
                    "folder": str(out),
                    "report": str(out / "report.html"),
                    "ledger": ledger_name(ledger),
                    "epsilon": number(epsilon),
                    "epsilon_exact": decimal_text(epsilon),
                    "charged": made.charged,
                    "left": left,
                    "queries": [
                        {
                            "name": answer.name,
                            "kind": answer.kind,
                            "mechanism": answer.item.mechanism,
                            "epsilon": number(answer.item.epsilon),
                            "expected_error": answer.item.expected_error,
                            "rows": len(next(iter(answer.columns.values()))),
                        }
                        for answer in made
                    ],
                }
                | (
                    {"names": [{"name": a.name, "rows": len(a.told)} for a in made.names.values()]}
                    if made.names
                    else {}
                )
            )
            return
        say(f"Released {', '.join([*(answer.name for answer in made), *made.names])} to {out}.")
        say(charged_in_words(edge, made.charged, read.account, left))
        say(f"The report: {out / 'report.html'}")


def show(
    folder: Folder,
    item: Annotated[str | None, typer.Option(metavar="NAME", help="Only this item.", show_default=False)] = None,
    rows: Annotated[
        int | None, typer.Option(min=0, help="How many rows of each answer.", show_default="10; all with --json")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a release: its promise, and each answer with its 95% intervals. Or a view: what it promises and costs.

    \b
    Examples:
      tetraodon show release/
      tetraodon show release/ --item ages --rows 50

    \b
    --json gives {"dataset", "title", "date", "epsilon", "charged", "promise", "confidence",
      "answers": [{"name", "kind", "mechanism", "rows", "columns": {NAME: [VALUE]}}], and where names that nobody
      listed were told, "names": [{"name", "threshold", "rows", "columns"}]}; of a view,
      {"dataset", "title", "date", "charged", "tuples", "exposure", "n", "m", "channel",
      "plan"}.
    """
    with Edge(as_json):
        existing(folder, option="FOLDER", folder=True)
        from tetraodon.cli.show_release import release_document, show_release
        from tetraodon.publishing.view import MANIFEST
        from tetraodon.releasing.folder import load_release

        if (Path(folder) / MANIFEST).exists():
            if item is not None or rows is not None:
                raise WrongUse("a view has no items", fix="leave out --item and --rows")
            _show_view(Path(folder), as_json)
            return

        with working("reading the release"):
            found = load_release(folder)
        named = [answer for answer in found.names.values() if item in (None, answer.name)]
        answers = list(found) if item is None else [] if named else [found[item]]
        if as_json:
            emit(release_document(found, answers, named, rows))
        else:
            show_release(found, answers, named, 10 if rows is None else rows)


def _show_view(folder: Path, as_json: bool) -> None:
    """A view: what it promises, what it costs and how far off it is, as its own text says."""
    from tetraodon.errors import ReleaseError
    from tetraodon.publishing.view import load_view
    from tetraodon.releasing.manifest import read_manifest

    load_view(folder)
    try:
        manifest, text = read_manifest(folder, "view"), (folder / "README.md").read_text(encoding="utf-8")
        names = ("title", "date", "charged", "tuples", "n", "m", "channel", "plan")
        document = {"dataset": manifest["name"]} | {name: manifest[name] for name in names}
        document["exposure"] = manifest.get("exposure")
    except (KeyError, OSError, ValueError):
        raise ReleaseError("the view does not fit together", fix="ask for a new copy", where=str(folder)) from None
    if as_json:
        emit(document)
        return
    for line in text.splitlines():
        if line[:1].isalpha():
            wrapped(line)
        else:
            say(line)


def verify(
    folder: Folder,
    key: Annotated[
        str | None, typer.Option(metavar="KEY", help="The public key it must be signed with.", show_default=False)
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail where no key is named.")] = False,
    as_json: Json = False,
) -> None:
    """Recompute every certificate and hash of a release, and its answers, or of a view, without the data.

    Exit code 0 if everything holds, 1 if anything does not, and 3 if all that fails are pages which another version is
    said to have written, and this one would write otherwise. It is said who signed the folder; with --key, a public
    key, a file with one or its fingerprint, it must be signed with that key. Without, anybody may have made the folder,
    and with --strict the exit code is then 4.

    \b
    Examples:
      tetraodon verify release/ --key office.pem
      tetraodon verify view/

    \b
    --json gives {"verified", "key_named", "checks": [{"what", "passed", "detail", "other_version"}],
    "not_checked": [TEXT]}.
    """
    with Edge(as_json, verified=False):
        existing(folder, option="FOLDER", folder=True)
        from tetraodon.releasing.verify import NOT_CHECKED
        from tetraodon.verifying import verify

        with working("verifying"):
            checks = verify(folder, key=key)
        good = all(check.passed for check in checks)
        if as_json:
            told = [asdict(check) for check in checks]
            emit({"verified": good, "key_named": key is not None, "checks": told, "not_checked": NOT_CHECKED})
        else:
            files = sum(check.passed and check.what.startswith("file ") for check in checks)
            rows = [["ok", f"hashes of {files} files", ""]] if files else []
            rows += [
                ["ok" if check.passed else "FAILED", check.what, str(check.detail)[:64]]
                for check in checks
                if not (check.passed and check.what.startswith("file "))
            ]
            table(["", "what was checked", ""], rows)
            failed = sum(not check.passed for check in checks)
            say(f"All {len(checks)} checks hold." if good else f"{failed} of {len(checks)} checks FAILED.")
            if any(check.other_version for check in checks):
                wrapped(
                    "Another version is said to have written this folder, and this one would write some of its pages "
                    "otherwise. So do not rely on them, nor run them: take the numbers from the CSV and Parquet files, "
                    "or verify the folder with that version."
                )
            say("Not checked, for no folder can show it:")
            listed(NOT_CHECKED)
            if key is None:
                wrapped("No key was named: anybody could have made and signed this folder. Name the curator's: --key.")
        if not good:
            fail(REFUSED if any(not (check.passed or check.other_version) for check in checks) else OTHER_VERSION)
        if strict and key is None:
            fail(NO_KEY)
