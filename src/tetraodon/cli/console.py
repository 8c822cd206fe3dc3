"""Where a command meets the terminal: options, output, charts of characters, errors and exit codes."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from itertools import pairwise
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from tetraodon import __version__
from tetraodon.database_url import may_hold_password
from tetraodon.errors import TetraodonError

if TYPE_CHECKING:
    from rich.console import Console


# -- output -----------------------------------------------------------------------------------------
# What a command prints: JSON alone on standard output, or text for people; everything else on standard error.

WIDTH = 100
"""Columns of text where the output is not a terminal."""

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that a terminal obeys instead of showing: they move the cursor, hide text or turn it round."""


def harmless(text: str) -> str:
    """A text as it may be shown: what a terminal would obey is spelt out. Whatever we print goes through here.

    >>> print(harmless("a" + chr(27) + "[2Jb"))
    a\\x1b[2Jb
    """
    return UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def emit(document: Any) -> None:
    """Print a document as JSON."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(document, indent=2, ensure_ascii=not utf8, allow_nan=False, default=_day)
    sys.stdout.write(UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def _day(value: object) -> str:
    """Dates are the only values of an answer that JSON does not know."""
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")


def note(text: str, *, colour: str | None = None) -> None:
    """Print a line for the person at the terminal, on standard error."""
    typer.secho(harmless(text), fg=colour, err=True)


def say(text: str = "") -> None:
    """Print text on standard output, as it is."""
    typer.echo(harmless(text))


def wrapped(text: str) -> None:
    """Print a paragraph."""
    _fill(text, "", "")


def listed(texts: Iterable[str]) -> None:
    """Print paragraphs as a list, after an empty line."""
    say()
    for text in texts:
        _fill(text, "- ", "  ")


def _fill(text: str, first: str, rest: str) -> None:
    import textwrap

    width = min(console().width, WIDTH)
    say(textwrap.fill(text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False))


def console() -> Console:
    """Rich on standard output: no markup and no highlights, for names may look like either."""
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False, width=None if sys.stdout.isatty() else WIDTH)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Print a table; the columns named in `right` are numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        shown.add_column(Text(harmless(name)), justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(Text(harmless(cell)) for cell in row))
    console().print(shown)


def heading(text: str) -> None:
    """Print a heading."""
    typer.secho(harmless(text), bold=True)


@contextmanager
def working(text: str) -> Iterator[Callable[[str], None]]:
    """A spinner on standard error while something takes its time, if somebody is watching."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(text)) as status:
        yield lambda stage: status.update(Text(stage))


# -- command boundary -------------------------------------------------------------------------------
# Where a command meets the terminal: errors become one message and an exit code, never a traceback.
#
# Exit codes, the same for every command:
#
#       0  done
#       1  refused: what was asked is not safe, not possible or not allowed; or a check failed
#       2  wrong use: an unknown option, a number that is none, a path that does not exist
#      70  internal error: a bug; only its type and place in our code are shown, for its text may hold data
#     130  stopped by Ctrl-C
#
# With `--json`, an error is `{"error": {"type", "what", "where", "fix"}}` on standard output; `"all"` lists every
# problem of a policy file as text, `"notes"` what there is to say about them, and `"depends_on_data"` is true where
# only the curator may see the refusal. What the parser itself finds wrong (an unknown option) stays text on standard
# error.

REFUSED, WRONG_USE, INTERNAL, INTERRUPTED = 1, 2, 70, 130
OTHER_VERSION, NO_KEY = 3, 4
"""Of `verify`: only pages of another version fail; no key was named, and --strict wants one."""
DEBUG = "TETRAODON_DEBUG"


class WrongUse(TetraodonError):
    """The command was not given what it needs."""


class CliErrorHandler:
    """Turns an error of a command into one message and an exit code. `state` says what has been done so far.

    Why  a context manager sees every error without a blind `except`, and DuckDB turns Ctrl-C into an error of
         its own, so the signal is noted when it comes.
    """

    def __init__(self, as_json: bool, **extra: Any) -> None:
        self.as_json = as_json
        self.extra: Mapping[str, Any] = extra
        self.state = "Nothing was changed."
        self._stopped = False
        self._before: Any = None

    def __enter__(self) -> Self:
        before = signal.getsignal(signal.SIGINT)
        if before is signal.default_int_handler:  # a job in the background ignores Ctrl-C, and goes on doing so
            with suppress(ValueError):  # only the main thread hears signals
                signal.signal(signal.SIGINT, self._stop)
                self._before = before
        return self

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopped = True
        signal.default_int_handler(number, frame)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if error is None or isinstance(error, typer.Exit | SystemExit | GeneratorExit | BrokenPipeError):
            return
        if self._stopped or isinstance(error, KeyboardInterrupt):
            self._report("Interrupted", "stopped by Ctrl-C", fix=self.state, code=INTERRUPTED)
        if isinstance(error, TetraodonError):
            self._refuse(error)
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            self._refuse(WrongUse("a path is too long", fix="use a shorter name"))
        if os.environ.get(DEBUG):
            return
        self._internal(error)

    def _refuse(self, error: TetraodonError) -> None:
        code = WRONG_USE if isinstance(error, WrongUse) else REFUSED
        document = error.document()
        if self.as_json:
            emit({**self.extra, "error": document})
            raise typer.Exit(code) from None
        for line in _told(error):
            note(line, colour="red")
        for line in document["notes"]:
            note(line)
        if document["depends_on_data"]:
            note("This depends on the data, so it is for the curator only: do not pass it on.")
        raise typer.Exit(code) from None

    def _internal(self, error: BaseException) -> None:
        self._report(
            "InternalError",
            f"internal error: {type(error).__name__} in {_place(error)}",
            fix=f"{self.state} Report it with this line, the command and the version ({__version__}), "
            f"never with data; {DEBUG}=1 shows a traceback, which may hold data",
            code=INTERNAL,
        )

    def _report(self, kind: str, what: str, *, fix: str, code: int) -> None:
        if self.as_json:
            emit({**self.extra, "error": {"type": kind, "what": what, "where": "", "fix": fix}})
        else:
            note(f"{what[0].upper()}{what[1:]}. {fix}", colour="red")
        raise typer.Exit(code) from None


def _told(error: TetraodonError) -> list[str]:
    """All problems; one that occurs in several places is printed once, with its places below."""
    lines = str(error).splitlines()
    tail = f": {error.what}. Fix: {error.fix}."
    places = [line.removesuffix(tail) for line in lines if line.endswith(tail)]
    if len(places) < 2:
        return ["Error: " + "\n       ".join(lines)]
    rest = [f"Error: {line}" for line in lines if not line.endswith(tail)]
    return [f"Error{tail}", *(f"       {place}" for place in places), *rest]


def _place(error: BaseException) -> str:
    """The innermost place in our own code: a file and a line, which hold no data."""
    home = Path(__file__).parent.parent
    found = "the command line"
    for frame, line in traceback.walk_tb(error.__traceback__):
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(home):
            found = f"{path.relative_to(home.parent).as_posix()} line {line}"
    return found


def existing(path: str | Path, *, option: str, folder: bool = False) -> Path:
    """The path, if something is there; otherwise wrong use."""
    found = Path(path)
    if may_hold_password(str(path)) and not found.exists():
        raise WrongUse("this is no path", fix=f"give the path of a {'folder' if folder else 'file'} as {option}")
    if folder and found.is_file():
        raise WrongUse("this is a file, not a folder", fix=f"give the path of a folder as {option}", where=str(path))
    if not found.exists():
        raise WrongUse(f"there is no such {'folder' if folder else 'file'}", fix=f"check {option}", where=str(path))
    if not folder and found.is_dir():
        raise WrongUse("this is a folder, not a file", fix=f"give the path of a file as {option}", where=str(path))
    return found


TABLES = (".csv", ".tsv", ".gz", ".parquet", ".pq", ".duckdb", ".xlsx", ".sav", ".dta", ".sas7bdat")
POLICIES = (".yaml", ".yml")
"""How the names of tables end, and those of policy files."""


def existing_policy(policy: str, table: str | None = None) -> Path:
    """The policy file, if there is one; wrong use where it is the table, or the table the policy file."""
    if table is not None and table.lower().endswith(POLICIES):
        if policy.lower().endswith(POLICIES):
            raise WrongUse("this is a policy file, not a table", fix="give the table as TABLE")
        raise WrongUse("POLICY and TABLE are in each other's place", fix="give the policy file first, then the table")
    if policy.lower().endswith(TABLES) and not may_hold_password(policy):
        fix = "give a policy file as POLICY; `tetraodon init TABLE` drafts one"
        raise WrongUse("this is a table, not a policy file", fix=fix, where=policy)
    return existing(policy, option="POLICY")


def existing_table(table: str) -> str:
    """The table as given, if its file is there. `file.duckdb#table` and patterns of Parquet files are tables too."""
    from glob import glob

    from tetraodon.engine.open_table import ADDRESSES, is_query, local_path, read_query
    from tetraodon.errors import TableError

    if is_query(table):
        existing_table(read_query(table).origin)
        return table
    if table.startswith(ADDRESSES):
        return table

    try:
        plain = local_path(table)
    except TableError as error:
        raise WrongUse(error.what, fix=error.fix) from None
    if not (os.path.exists(plain) or os.path.exists(plain.partition("#")[0]) or glob(plain, recursive=True)):
        raise WrongUse("there is no such file", fix="check TABLE", where=table)
    if os.path.isdir(plain):
        raise WrongUse("this is a folder, not a file", fix="give a file, or a pattern such as 'folder/*.parquet'")
    return table


def typed_number(
    text: str | None, *, option: str, least: int | None = None, above: int | None = None, below: int | None = None
) -> Any:
    """An exact number typed as an option, between its ends; None stays None."""
    if text is None:
        return None
    from tetraodon.errors import PolicyError
    from tetraodon.exact.rational import rational

    try:
        found = rational(text, name=option)
    except PolicyError as error:
        raise WrongUse(error.what, fix=error.fix) from None
    ends = []
    if least is not None:
        ends.append((f"{least} or more", found >= least))
    if above is not None:
        ends.append((f"above {above}", found > above))
    if below is not None:
        ends.append((f"below {below}", found < below))
    if not all(kept for _, kept in ends):
        wanted = " and ".join(words for words, _ in ends)
        raise WrongUse(f"{option} is not {wanted}", fix=f"write a number that is {wanted}")
    return found


def fail(code: int = REFUSED) -> None:
    """End with the exit code of a refusal, or another, after the command has said why."""
    sys.stdout.flush()
    raise typer.Exit(code)


# -- drawing ----------------------------------------------------------------------------------------

BLOCKS = "▁▂▃▄▅▆▇█"
EIGHTHS = " ▏▎▍▌▋▊▉"


def sparkline(values: Sequence[float], *, top: float | None = None) -> str:
    """One character per value, as high as the value is large.

    >>> sparkline([0, 1, 2, 4, 8])
    '▁▁▂▄█'
    """
    largest = max(values, default=0.0) if top is None else top
    if largest <= 0:
        return BLOCKS[0] * len(values)
    steps = len(BLOCKS) - 1
    return "".join(BLOCKS[min(steps, max(0, int(value / largest * steps)))] for value in values)


def bar(value: float, top: float, *, width: int = 20) -> str:
    """A bar as long as the value is large.

    >>> bar(5, 10, width=4), bar(0, 10, width=4)
    ('██', '')
    """
    if top <= 0 or value <= 0:
        return ""
    eighths = round(min(1.0, value / top) * width * 8)
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()


def squeezed(values: Sequence[float], width: int, *, running: bool) -> list[float]:
    """At most `width` values: the last of each group for running counts, else the mean.

    >>> squeezed([1, 3, 5, 7], 2, running=False), squeezed([1, 3, 5, 7], 2, running=True)
    ([2.0, 6.0], [3, 7])
    """
    if len(values) <= width:
        return list(values)
    ends = [round(place * len(values) / width) for place in range(width + 1)]
    groups = [values[first:last] for first, last in pairwise(ends)]
    return [group[-1] if running else sum(group) / len(group) for group in groups]


Chart = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a picture, .svg or .json.", show_default=False)]


def drawable(path: Path | None) -> None:
    """Refuses a file that is neither a picture nor a description."""
    if path is not None and path.suffix not in (".svg", ".json"):
        raise WrongUse("--chart names neither an .svg nor a .json file", fix="end its name in .svg or .json")


def draw(chart: dict[str, Any], path: Path) -> None:
    """Write a chart to a file."""
    import json

    if path.suffix == ".json":
        text = json.dumps(chart, indent=2) + "\n"
    else:
        import vl_convert

        text = vl_convert.vegalite_to_svg(chart)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise WrongUse(
            f"the picture cannot be written ({error.strerror})", fix="name a file in a folder that exists"
        ) from None
