"""`tetraodon serve`, `work`, `account` and `studio`."""

from __future__ import annotations

import getpass
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from tetraodon.cli.console import CliErrorHandler, Json, WrongUse, emit, existing, existing_table, say
from tetraodon.cli.ledger import DEFAULT, LedgerUrl

# -- serve command ----------------------------------------------------------------------------------
# `tetraodon serve`, `work` and `account`: the server, its workers, and its first accounts.

Releases = Annotated[Path, typer.Option(help="The folder that releases are written to.")]
Sources = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Where the tables are; read by workers.", show_default=False)
]
REPLACED_SECONDS = 2.0
"""How long a worker that died is missing."""
SERVER = "TETRAODON_SERVER"
"""Tells a worker which process is its server."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    ledger: LedgerUrl = DEFAULT,
    releases: Releases = Path("releases"),
    sources: Sources = None,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8420,
    address: Annotated[
        str | None, typer.Option(metavar="URL", help="Its address for browsers, behind a proxy.", show_default=False)
    ] = None,
    oidc: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Who else vouches for people (OIDC).", show_default=False)
    ] = None,
    workers: Annotated[int, typer.Option(min=0, max=64, help="Workers to start beside it.")] = 1,
    as_json: Json = False,
) -> None:
    """Serve data sets to analysts, within budgets that no request can exceed. It ends with Ctrl-C.

    The web process never opens FILE: it is read by workers, which are processes of their own. Start them elsewhere with
    `tetraodon work`, and this with `--workers 0`, where they must not share a user.

    \b
    Examples:
      tetraodon account ann --role admin
      tetraodon serve --sources sources.yaml
      tetraodon serve --ledger postgresql://server@db/ledger --workers 0 --address https://statistics.example.org

    \b
    --json gives {"address"}, once, before it serves.
    """
    with CliErrorHandler(as_json):
        uvicorn = _uvicorn()
        if host not in LOOPBACK and not (address or "").startswith("https://"):
            raise WrongUse(
                "other machines would reach this server without TLS",
                fix="put a proxy that speaks TLS before it, and give --address https://...",
            )
        if workers and sources is None:
            raise WrongUse("workers must know where the tables are", fix="give --sources FILE, or --workers 0")
        from tetraodon.web.app import to_stderr
        from tetraodon.web.app_context import AppContext
        from tetraodon.web.oidc import Provider
        from tetraodon.web.server import ServerApp
        from tetraodon.web.slow_client_limits import uvicorn_config

        provider = None if oidc is None else Provider.read(existing(oidc, option="--oidc"))
        make_private(releases)
        context = AppContext.at(ledger, releases.resolve())
        listener = _listen(host, port)
        origin = (address or f"http://{host}:{listener.getsockname()[1]}").rstrip("/")
        config = uvicorn_config(ServerApp(context, origin, to_stderr, provider).app)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # after it, too, workers are ended
        with closing(context), _workers(workers, ledger, releases, sources):
            if as_json:
                emit({"address": origin})
            else:
                say(f"Serving at {origin}. Ctrl-C ends it.")
            sys.stdout.flush()
            uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket, so that its port is known before the address is printed."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise WrongUse(f"nothing can listen there ({error.strerror})", fix="choose another --host or --port") from None


def make_private(releases: Path) -> None:
    """Make the folder of releases, or close it to all who are neither its owner nor of its group."""
    releases.mkdir(mode=0o750, parents=True, exist_ok=True)
    if releases.stat().st_uid == os.geteuid():
        releases.chmod(releases.stat().st_mode & 0o770)


def _uvicorn(what: str = "the server") -> ModuleType:
    """The server library, if the extra `web` is installed."""
    try:
        import argon2  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn
    except ImportError:
        raise WrongUse(f"{what} is not installed", fix="run `pip install 'tetraodon[web]'`") from None
    return uvicorn


@contextmanager
def _workers(number: int, ledger: str, releases: Path, sources: Path | None) -> Iterator[None]:
    """Workers beside the server: one that dies is replaced, and all end with the server, however that ends.

    Why  requests would be running for ever if the only worker was killed. The ledger's address may hold a password, so
         it goes by the environment.
    """
    environment = os.environ | {"TETRAODON_LEDGER": ledger, SERVER: str(os.getpid())}
    words = ["work", "--releases", str(releases), "--sources", str(sources)]
    command = [sys.executable, "-m", "tetraodon.cli.main", *words]

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)

    def replace_dead() -> None:
        while not ending.wait(REPLACED_SECONDS):
            for place, process in enumerate(started):
                if process.poll() is not None:
                    with suppress(OSError):  # no memory or no process is left: tried again
                        started[place] = start()

    ending, started = threading.Event(), [start() for _ in range(number)]
    watcher = threading.Thread(target=replace_dead, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ending.set()
        watcher.join()
        for process in started:
            process.terminate()
        for process in started:
            process.wait()


def work(
    ledger: LedgerUrl = DEFAULT,
    releases: Releases = Path("releases"),
    sources: Sources = None,
    seconds: Annotated[int, typer.Option(min=1, help="How long a job may take.")] = 3600,
    megabytes: Annotated[int, typer.Option(min=256, help="How much memory a job may have.")] = 8192,
    as_json: Json = False,
) -> None:
    """Run what curators approved on a server, one job after the other. It ends with Ctrl-C, or when it is terminated.

    FILE has a line for each data set, `people: data/people.parquet`, with any address that `release` takes.

    \b
    Example:
      tetraodon work --sources sources.yaml

    \b
    --json gives {"releases"}, once, before it works.
    """
    with CliErrorHandler(as_json):
        _uvicorn()
        if sources is None:
            raise WrongUse("a worker must know where the tables are", fix="give --sources FILE")
        existing(sources, option="--sources")
        from tetraodon.web.limited_process import Limits
        from tetraodon.web.state import State
        from tetraodon.web.worker import Worker

        signal.signal(signal.SIGTERM, signal.default_int_handler)
        state = State(ledger)
        make_private(releases)
        if as_json:
            emit({"releases": str(releases)})
        worker = Worker(state, ledger, releases.resolve(), sources, Limits(seconds, megabytes))
        server = os.environ.get(SERVER)
        worker.serve(lambda: server in (None, str(os.getppid())))  # a killed server cannot stop its workers


def account(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name to sign in with.", show_default=False)],
    role: Annotated[str, typer.Option(help="analyst, curator, auditor or admin.")] = "analyst",
    reset: Annotated[bool, typer.Option("--reset", help="Another password for an account that is there.")] = False,
    ledger: LedgerUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Make an account on a server's database. The password is asked for, or read from standard input.

    For the first admin, and whoever administers by script; others are made by an admin on the server. With --reset an
    account that is there gets another password, which ends all its sessions and tokens, and keeps its role.

    \b
    Examples:
      tetraodon account ann --role admin
      tetraodon account ann --reset

    \b
    --json gives {"name", "role"}.
    """
    with CliErrorHandler(as_json):
        _uvicorn()
        from tetraodon.web.auth import Accounts
        from tetraodon.web.state import State

        password = getpass.getpass("Password: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
        state = State(ledger)
        accounts = Accounts(state)
        if reset:
            accounts.change("command line", name, password=password)
            role = accounts.role_of(name)
        else:
            accounts.add("command line", name, role, password)
        state.close()
        if as_json:
            emit({"name": name, "role": role})
        else:
            say(f"{name} may sign in, as {role}.")


# -- studio command ---------------------------------------------------------------------------------


def studio(
    policy: Annotated[str, typer.Argument(metavar="POLICY", help="The policy file; drafted if it is not there.")],
    data: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="The table to release from.", show_default=False)
    ] = None,
    ledger: LedgerUrl = DEFAULT,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port on 127.0.0.1; 0 takes a free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, and open nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Open a page on this machine that shows what a policy promises and costs while you make it.

    It writes the policy file that all other commands read. Of the table it reads the names and types of its columns,
    when it drafts the file, and nothing else before you release. It ends with Ctrl-C.

    \b
    Examples:
      tetraodon studio people.policy.yaml
      tetraodon studio people.policy.yaml people.csv

    \b
    --json gives {"address", "file"}, once, before it serves; the address works for one browser, once.
    """
    with CliErrorHandler(as_json):
        _uvicorn("the studio")
        path = Path(policy)
        table = "" if data is None else existing_table(data)
        if not path.exists():
            if not table:
                raise WrongUse(
                    "there is no such file", fix="give a TABLE too, to draft it from its columns", where=policy
                )
            from tetraodon.policy.draft import init

            init(table).write(path)
        from tetraodon.web.policy_editor import PolicyEditor
        from tetraodon.web.studio import Studio

        opened = Studio(PolicyEditor(path, table, ledger), port)
        if as_json:
            emit({"address": opened.address, "file": str(path)})
        else:
            say(f"The studio is at {opened.address}")
            say("Ctrl-C ends it. What you change is in the file at once.")
        if not no_browser:
            import webbrowser

            webbrowser.open(opened.address)
        try:
            opened.serve()
        finally:
            opened.close()
