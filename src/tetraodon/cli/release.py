"""`tetraodon release`, `show`, `verify`, `ask`, `publish` and `synthesize`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tetraodon.cli import remote as remote_commands
from tetraodon.cli.console import (
    NO_KEY,
    OTHER_VERSION,
    REFUSED,
    CliErrorHandler,
    Json,
    WrongUse,
    bar,
    emit,
    existing,
    existing_policy,
    existing_table,
    fail,
    heading,
    listed,
    note,
    say,
    sparkline,
    squeezed,
    table,
    working,
    wrapped,
)
from tetraodon.cli.ledger import DEFAULT, LedgerUrl, ledger_name
from tetraodon.cli.policy import PolicyPath
from tetraodon.wording import number_of, shown_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tetraodon.inference.estimate import Answered, Estimate
    from tetraodon.releases.answer import Answer
    from tetraodon.releases.names import NamesAnswer
    from tetraodon.releases.release import Release


# -- show release -----------------------------------------------------------------------------------
# A release as people read it: the promise, then each answer with a picture and its first rows.

PICTURE_WIDTH = 72
MOST_PICTURES = 6


def promise_of(release: Release) -> str:
    """What the release promises, in one paragraph."""
    from tetraodon.policy.explain import explain

    return " ".join(explain(release.plan.policy).parts[0].sentences)


def release_document(
    release: Release, answers: Sequence[Answer], named: Sequence[NamesAnswer], rows: int | None
) -> dict[str, Any]:
    """A release as JSON, with the first rows of each answer, or with all."""
    from tetraodon.inference.estimate import CONFIDENCE
    from tetraodon.releases.codec import number

    policy = release.plan.policy
    return {
        "dataset": policy.dataset,
        "title": policy.title,
        "date": release.when,
        "epsilon": number(release.plan.epsilon),
        "charged": release.charged,
        "promise": promise_of(release),
        "confidence": float(CONFIDENCE),
        "answers": [
            {
                "name": answer.name,
                "kind": answer.kind,
                "mechanism": answer.item.mechanism,
                "rows": _length(answer),
                "columns": {name: column[:rows] for name, column in answer.document().items()},
            }
            for answer in answers
        ],
        **({"names": [_names_document(answer, rows) for answer in named]} if named else {}),
    }


def _names_document(answer: NamesAnswer, rows: int | None) -> dict[str, Any]:
    return {
        "name": answer.name,
        "threshold": answer.item.above.threshold,
        "rows": len(answer.told),
        "columns": {name: column[:rows] for name, column in answer.document().items()},
    }


def show_release(release: Release, answers: Sequence[Answer], named: Sequence[NamesAnswer], rows: int) -> None:
    """Print a release."""
    policy = release.plan.policy
    heading(policy.title or policy.dataset)
    say(f"Released on {release.when} from {policy.dataset}, charged epsilon {release.charged}.")
    for line in policy.publisher.lines:
        say(line)
    say()
    wrapped(promise_of(release))
    for answer in answers:
        say()
        _show_answer(answer, rows)
    for one in named:
        say()
        _show_names(one, rows)


def _show_names(answer: NamesAnswer, rows: int) -> None:
    heading(f"{answer.name}: {answer.item.asked}")
    wrapped(answer.item.sentence)
    document = answer.document()
    top = float(max(document["count"], default=0))
    shown = [
        [*(_cell(column[place]) for column in document.values()), bar(float(document["count"][place]), top, width=16)]
        for place in range(min(rows, len(answer.told)))
    ]
    table([*document, ""], shown, right=list(document)[1:])
    if len(answer.told) > rows:
        say(f"... {number_of(len(answer.told) - rows, 'more row')}; --rows {len(answer.told)} shows all")


def _how(answer: Answer) -> str:
    bounds = ", 95% bounds" if "lower" in answer.columns else ""
    return answer.item.strategy.mechanism.words + bounds


def _length(answer: Answer) -> int:
    return len(answer)


def _show_answer(answer: Answer, rows: int) -> None:
    from tetraodon.query.query import MEASURED
    from tetraodon.releases.report import value_column
    from tetraodon.report.picture import places, rounded

    planned = answer.item
    heading(f"{answer.name}: {planned.item.title or planned.item.asked}")
    say("published exactly" if not planned.strategy.noisy else _how(answer))
    _show_picture(answer)
    if rows == 0:
        return
    document = answer.document()
    length = _length(answer)
    names = [name for name in document if name != MEASURED]
    query, word = planned.item.query, value_column(answer.columns)
    drawn = word in (query.column, *query.more_columns)
    numeric = [name for name in names if name in (word if drawn else "", "lower", "upper", "quantile")]
    top = max((abs(float(value)) for value in document[word]), default=0.0) if drawn else 0.0
    decimals = places(answer.columns["lower"], answer.columns["upper"]) if drawn and "lower" in names else None
    shown = []
    for place in range(min(rows, length)):
        cells = [
            rounded(float(value), decimals, up={"lower": False, "upper": True}.get(name))
            if decimals is not None and name in numeric and name != "quantile" and isinstance(value, int | float)
            else _cell(value)
            for name in names
            for value in (document[name][place],)
        ]
        shown.append([*cells, bar(float(document[word][place]), top, width=16) if drawn else ""])
    table([*names, ""], shown, right=numeric)
    if length > rows:
        say(f"... {number_of(length - rows, 'more row')}; --rows {length} shows all")
    for sentence in (answer.remark, *planned.item.notes):
        if sentence:
            wrapped(sentence)


def _cell(value: Any) -> str:
    return shown_number(value) if isinstance(value, float) else str(value)


def _show_picture(answer: Answer) -> None:
    """One line of blocks per group: along the attribute with the most values, for each value of the others."""
    from tetraodon.releases.report import value_column

    query, splits = answer.item.item.query, answer.item.strategy.table
    drawing = query.drawing(answer.domain, splits)
    if answer.values is None or drawing is None or not (drawing.running or drawing.adds_up):
        return
    if answer.kind == "rectangles":
        return  # a map does not fit on a few lines
    running = drawing.running
    sizes = [split.size(answer.domain) for split in splits]
    axis = len(sizes) - 1 if running else max(range(len(sizes)), key=lambda place: sizes[place])
    if sizes[axis] < 4:
        return
    document = answer.document()
    values = document[value_column(answer.columns)]
    stride = 1
    for size in sizes[axis + 1 :]:
        stride *= size
    others = [split.name for place, split in enumerate(splits) if place != axis]
    starts = [place for place in range(len(values)) if place // stride % sizes[axis] == 0][:MOST_PICTURES]
    top = max(values, default=0.0)
    labels = [document[splits[axis].name][place] for place in (starts[0], starts[0] + (sizes[axis] - 1) * stride)]
    lines = [
        (
            ", ".join(str(document[name][start]) for name in others),
            squeezed(values[start : start + sizes[axis] * stride : stride], PICTURE_WIDTH, running=running),
        )
        for start in starts
    ]
    highest = max(max(line) for _, line in lines) if lines else top
    wide = max(len(label) + bool(label) for label, _ in lines)
    for label, line in lines:
        say(f"  {label.ljust(wide)}{sparkline(line, top=highest)}".rstrip())
    ends = f"{splits[axis].name} from {labels[0]} to {labels[1]}"
    say(f"  {' ' * wide}{ends}, highest {shown_number(top)}")


# -- release commands -------------------------------------------------------------------------------
# `tetraodon release`, `show` and `verify`: making a release, and reading one.

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


def follow(handler: CliErrorHandler, progress: Callable[[str], None]) -> Callable[[str], None]:
    """Show what a release is doing, and keep in mind what stands if it ends there."""

    def reached(stage: str) -> None:
        handler.state = STATES.get(stage, "The charge may stand (`tetraodon ledger show` tells).")
        progress(stage)

    return reached


def charged_in_words(handler: CliErrorHandler, charged: str, dataset: str, left: str) -> str:
    """What was charged, now or before."""
    if handler.state == STATES[COMPLETE]:
        return f"It was complete already: nothing was charged now, epsilon {charged} before; {left} left."
    return f"Charged epsilon {charged} to {dataset}; {left} left."


def note_unsigned(folder: Path) -> None:
    """Warn if the folder just written is not signed."""
    from tetraodon.ledger.signing import SIGNATURE

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
    with CliErrorHandler(as_json) as handler:
        handler.state = STATES["counting"]
        existing_policy(policy, data)
        if (chosen := remote_commands.server()) is not None:
            remote_commands.release(chosen, policy, purpose, out, as_json=as_json)
            return
        if data is None:
            raise WrongUse("there is no table to release from", fix="give a TABLE, or a --server before the command")
        source = existing_table(data)
        from tetraodon.exact.rational import decimal_text
        from tetraodon.ledger import Ledger, shown_below
        from tetraodon.policy.load import load_policy
        from tetraodon.releases.codec import number
        from tetraodon.releases.run import release

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
                progress=follow(handler, progress),
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
                            "rows": len(answer),
                        }
                        for answer in made.values()
                    ],
                }
                | (
                    {"names": [{"name": a.name, "rows": len(a.told)} for a in made.names.values()]}
                    if made.names
                    else {}
                )
            )
            return
        say(f"Released {', '.join([*made, *made.names])} to {out}.")
        say(charged_in_words(handler, made.charged, read.account, left))
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
      "answers": [{"name", "kind", "mechanism", "rows", "columns": {NAME: [VALUE]}}], and of items
      that publish names, "names": [{"name", "threshold", "rows", "columns"}]}; of a view,
      {"dataset", "title", "date", "charged", "tuples", "exposure", "n", "m", "channel",
      "plan"}.
    """
    with CliErrorHandler(as_json):
        existing(folder, option="FOLDER", folder=True)
        from tetraodon.releases.folder import load_release
        from tetraodon.views import is_view

        if is_view(Path(folder)):
            if item is not None or rows is not None:
                raise WrongUse("a view has no items", fix="leave out --item and --rows")
            _show_view(Path(folder), as_json)
            return

        with working("reading the release"):
            found = load_release(folder)
        named = [answer for answer in found.names.values() if item in (None, answer.name)]
        answers = list(found.values()) if item is None else [] if named else [found[item]]
        if as_json:
            emit(release_document(found, answers, named, rows))
        else:
            show_release(found, answers, named, 10 if rows is None else rows)


def _show_view(folder: Path, as_json: bool) -> None:
    """A view: what it promises, what it costs and how far off it is, as its own text says."""
    from tetraodon.errors import ReleaseError
    from tetraodon.releases.folder import read_manifest
    from tetraodon.views.view import load_view

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
    key, a file with one or its fingerprint, it must be signed with that key. Without, anyone may have made the folder,
    and with --strict the exit code is then 4.

    \b
    Examples:
      tetraodon verify release/ --key office.pem
      tetraodon verify view/

    \b
    --json gives {"verified", "key_named", "checks": [{"what", "passed", "detail", "other_version"}],
    "not_checked": [TEXT]}.
    """
    with CliErrorHandler(as_json, verified=False):
        existing(folder, option="FOLDER", folder=True)
        from tetraodon.releases.verify import NOT_CHECKED
        from tetraodon.views.verify import verify

        with working("verifying"):
            checks = verify(folder, key=key)
        good = bool(checks)
        if as_json:
            listing = [asdict(check) for check in checks]
            emit({"verified": good, "key_named": key is not None, "checks": listing, "not_checked": NOT_CHECKED})
        else:
            files = sum(check.passed and check.what.startswith("file ") for check in checks)
            rows = [["ok", f"hashes of {files} files", ""]] if files else []
            rows += [
                ["ok" if check.passed else "FAILED", check.what, str(check.detail)[:64]]
                for check in checks
                if not (check.passed and check.what.startswith("file "))
            ]
            table(["", "what was checked", ""], rows)
            say(f"All {len(checks)} checks hold." if good else f"{len(checks.failed)} of {len(checks)} checks FAILED.")
            if any(check.other_version for check in checks):
                wrapped(
                    "Another version is said to have written this folder, and this one would write some of its pages "
                    "otherwise. So do not rely on them, nor run them: take the numbers from the CSV and Parquet files, "
                    "or verify the folder with that version."
                )
            say("Not checked, for no folder can show it:")
            listed(NOT_CHECKED)
            if key is None:
                wrapped("No key was named: anyone could have made and signed this folder. Name the curator's: --key.")
        if not good:
            fail(OTHER_VERSION if all(check.other_version for check in checks.failed) else REFUSED)
        if strict and key is None:
            fail(NO_KEY)


# -- ask command ------------------------------------------------------------------------------------
# `tetraodon ask`: one question to a release or to a view.

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
    with CliErrorHandler(as_json):
        if not question.strip():
            raise WrongUse("the question is empty", fix='write one such as "age between 30 and 39"')
        if (chosen := remote_commands.server()) is not None:
            _answer(question, chosen.dataset(folder).ask(question, confidence=confidence), as_json)
            return
        existing(folder, option="FOLDER", folder=True)
        from tetraodon.releases.folder import load_release
        from tetraodon.views import is_view

        if is_view(Path(folder)):
            _ask_view(folder, question, confidence, sample, as_json)
            return
        if sample:
            raise WrongUse("a release is asked as a whole", fix="leave out --sample")
        from tetraodon.inference.estimate import CONFIDENCE

        with working("reading the release"):
            found = load_release(folder).ask(question, confidence=CONFIDENCE if confidence is None else confidence)
        _answer(question, found, as_json)


def _ask_view(folder: str, question: str, confidence: str | None, sample: int, as_json: bool) -> None:
    from tetraodon.inference.estimate import CONFIDENCE
    from tetraodon.views.view import load_view

    with working("reading the view"):
        sure = CONFIDENCE if confidence is None else confidence
        found = load_view(folder).ask(question, confidence=sure, sample=sample)
    _answer(question, found, as_json)


def _answer(question: str, found: Answered, as_json: bool) -> None:
    from tetraodon.inference.estimate import Estimate, answer_document

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


# -- publish command --------------------------------------------------------------------------------
# `tetraodon publish`: a view of a whole table, records hidden among tuples that no record has.


def publish(
    policy: PolicyPath,
    data: Annotated[
        str, typer.Argument(metavar="TABLE", help="CSV or Parquet file, or file.duckdb#table.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="The view folder to write.")] = Path("view"),
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier view folder.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Finish a view that was charged and interrupted.")] = False,
    accept_exposure: Annotated[
        bool, typer.Option("--accept-exposure", help="Publish it however many records it gives away by itself.")
    ] = False,
    allow_dearer: AllowDearer = False,
    ledger: LedgerUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Publish a view of a whole table: its records, some left out, hidden among tuples that no record has.

    The policy's `adversary` says whom it must withstand. The view's exact loss is charged before a tuple is drawn,
    large as it is, and never taken back; --resume finishes what was interrupted after it, at no further charge.
    `tetraodon plan` tells everything beforehand, without data.

    The view is then attacked with what it tells by itself about how common values are. If that newly exposes more than
    1% of the records it is held back; --resume --accept-exposure publishes it under the same charge.

    \b
    Example:
      tetraodon publish people.policy.yaml people.csv --out view/

    \b
    --json gives {"dataset", "folder", "report", "ledger", "keep", "noise", "rows", "tuples", "charged", "left",
      "exposure": {"belief", "before", "named", "right", "records", "new", "new_records"}};
    "keep" and "noise" are exact fractions, "rows" the rows of the view, "tuples" those of the domain.
    """
    with CliErrorHandler(as_json) as handler:
        handler.state = STATES["counting"]
        existing_policy(policy, data)
        source = existing_table(data)
        from tetraodon.ledger import Ledger, shown_below
        from tetraodon.policy.load import load_policy
        from tetraodon.policy.policy import side_tables
        from tetraodon.releases.folder import read_manifest
        from tetraodon.views.exposure import Exposure
        from tetraodon.views.publish import publish
        from tetraodon.views.report import exposure_in_words as exposed

        read = load_policy(policy)
        with working("planning") as progress, Ledger(ledger) as book:
            made = publish(
                read,
                source,
                ledger=book,
                out=out,
                force=force,
                resume=resume,
                allow_dearer=allow_dearer,
                accept_exposure=accept_exposure,
                progress=follow(handler, progress),
            )
            left = shown_below(book.account(read.account).left)
        folder = made.rows.parent if made.seen is None else made.rows.parent.parent
        manifest = read_manifest(folder, "view")
        note_unsigned(folder)
        if as_json:
            emit(
                {
                    "dataset": read.dataset,
                    "folder": str(folder),
                    "report": str(folder / "report.html"),
                    "ledger": ledger_name(ledger),
                    "keep": str(made.channel.keep),
                    "noise": str(made.channel.noise),
                    "rows": manifest["tuples"],
                    "tuples": made.domain.size,
                    "charged": manifest["charged"],
                    "left": left,
                    "exposure": manifest["exposure"],
                }
            )
            return
        say(f"Published {manifest['tuples']:,} rows to {folder}, records hidden among tuples that no record has.")
        say(exposed(Exposure.of(manifest["exposure"])))
        for table in side_tables(read).values():
            say(table.sentence.replace("is copied", "was copied"))
        say(charged_in_words(handler, manifest["charged"], read.account, left))
        say(f"The report: {folder / 'report.html'}")


# -- synthesize command -----------------------------------------------------------------------------

ENDINGS = (".csv", ".parquet")


def synthesize(
    folder: Annotated[str, typer.Argument(metavar="RELEASE", help="A release folder.", show_default=False)],
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="Where to: .csv or .parquet.")] = "synthetic.csv",
    records: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="How many records.", show_default="as many as the release tells of"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    as_json: Json = False,
) -> None:
    """Write a table of made-up records whose counts are about those of a release. It costs nothing.

    Only what was released is used. What no table of it tells, such as how attributes go together that were never
    released together, is made up and means nothing. Attributes without any table are left out.

    \b
    Examples:
      tetraodon synthesize release/
      tetraodon synthesize release/ --records 1000 --out people.parquet

    \b
    --json gives {"file", "records", "columns": [NAME], "left_out": [NAME], "distance": {ITEM: SHARE}}.
    """
    with CliErrorHandler(as_json):
        existing(folder, option="RELEASE", folder=True)
        target = Path(out)
        if target.suffix.lower() not in ENDINGS:
            raise WrongUse("the file is neither .csv nor .parquet", fix="write --out synthetic.csv", where=out)
        if target.exists() and not force:
            raise WrongUse("the file exists", fix="pass --force to replace it, or another --out", where=out)
        from tetraodon.releases.folder import load_release
        from tetraodon.releases.simulated import synthesize as made_up
        from tetraodon.releases.simulated import write_table

        with working("reading the release") as progress:
            release = load_release(folder)
            found = made_up(release, records, progress=progress)
            write_table(found, target)
        if as_json:
            written = {"file": str(target), "records": len(found), "columns": [*found.codes]}
            emit(written | {"left_out": list(found.left_out), "distance": dict(found.distance)})
            return
        say(f"{target} has {len(found):,} made-up records.")
        rows = [[name, f"{100 * share:.1f}%"] for name, share in found.distance.items()]
        table(["item", "records off"], rows, right=["records off"])
        say("So many records would have to move for the counts of that item to be those released.")
        if found.left_out:
            say(f"Left out, because no table of the release is about them: {', '.join(found.left_out)}.")
