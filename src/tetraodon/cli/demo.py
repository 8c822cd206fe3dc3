"""`tetraodon demo`: the bundled example from end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tetraodon.cli.console import CliErrorHandler, Json, emit, heading, listed, say, working, wrapped

QUESTION = "age between 30 and 39"
SURVEY = "people.csv"
"""A made-up survey that the documentation goes on with."""


def demo(
    out: Annotated[Path, typer.Option(help="The folder to work in.")] = Path("demo"),
    force: Annotated[
        bool, typer.Option("--force", help="Begin anew in the folder of an earlier demonstration.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Release the bundled census extract, and verify and question the release: a look at everything at once.

    \b
    Example:
      tetraodon demo --out demo

    \b
    --json gives {"folder", "policy", "table", "ledger", "release", "report", "epsilon", "charged", "left", "verified",
      "answer": {"condition", "item", "value", "lower", "upper", "confidence"}}.
    """
    with CliErrorHandler(as_json) as handler:
        import shutil

        from tetraodon.cli.plan import show_plan
        from tetraodon.cli.plan_words import notes
        from tetraodon.cli.release import answer_in_words, follow
        from tetraodon.errors import ReleaseError
        from tetraodon.inference.estimate import answer_document
        from tetraodon.ledger import Ledger, shown_below
        from tetraodon.policy.explain import explain
        from tetraodon.policy.load import load_policy
        from tetraodon.releases.codec import number
        from tetraodon.releases.plan import plan
        from tetraodon.releases.run import release
        from tetraodon.releases.verify import verify

        if out.exists() and not force:
            raise ReleaseError("the folder exists", fix="choose another --out, or pass --force", where=str(out))
        bundled = Path(__file__).parent.parent / "demo"
        handler.state = f"There may be a beginning in {out}."
        policy_file, table_file = out / "adult.policy.yaml", out / "adult.parquet"
        ledger_file, folder = out / "ledger.db", out / "release"
        try:
            out.mkdir(parents=True, exist_ok=True)
            for name in (policy_file.name, table_file.name, SURVEY):
                shutil.copyfile(bundled / name, out / name)
            ledger_file.unlink(missing_ok=True)  # a demonstration begins anew; a real ledger is kept for good
        except OSError:
            raise ReleaseError("the folder cannot be written", fix="choose another --out", where=str(out)) from None
        policy = load_policy(policy_file)
        with working("planning") as progress:
            planned = plan(policy)
            with Ledger(ledger_file) as book:
                book.open(policy.dataset, policy.epsilon, policy.document, delta=policy.delta)
                release_made = release(
                    planned,
                    table_file,
                    ledger=book,
                    out=folder,
                    force=force,
                    progress=follow(handler, progress),
                )
                account = book.account(policy.dataset)
            progress("verifying")
            checks = verify(folder)
        verified = bool(checks)
        estimate = release_made.ask(QUESTION)
        report = folder / "report.html"
        if as_json:
            emit(
                {
                    "folder": str(out),
                    "policy": str(policy_file),
                    "table": str(table_file),
                    "ledger": str(ledger_file),
                    "release": str(folder),
                    "report": str(report),
                    "epsilon": number(planned.epsilon),
                    "charged": release_made.charged,
                    "left": shown_below(account.left),
                    "verified": verified,
                    "answer": answer_document(QUESTION, estimate),
                }
            )
            return
        for part in explain(policy).parts[:2]:
            heading(part.title)
            for sentence in part.sentences:
                wrapped(sentence)
            say()
        show_plan(planned)
        listed(notes(planned, None))
        say()
        good = "all good" if verified else "FAILED"
        say(f"Charged epsilon {release_made.charged}; {shown_below(account.left)} left in {ledger_file}.")
        say(f"Verified {len(checks)} hashes, certificates and answers: {good}.")
        say(f"How many with {QUESTION}? {answer_in_words(estimate)}.")
        say(f"To try things out, change {policy_file}; the table is {table_file}.")
        say("Or see what is secret and what it costs, on a page of this machine:")
        say(f"  tetraodon studio {policy_file} {table_file} --ledger {ledger_file}")
        say()
        heading(f"The report: {report}")
