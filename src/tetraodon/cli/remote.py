"""`tetraodon --server URL`: plan, release and ask on a server, with the same words and the same output."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tetraodon.cli.console import WrongUse, emit, listed, say, working

if TYPE_CHECKING:
    from fractions import Fraction

    from tetraodon.client import RemoteData, Server
    from tetraodon.releases.plan import Plan

TOKEN = "TETRAODON_TOKEN"
SERVED = ("plan", "release", "ask")
_chosen: list[str] = []


def choose(url: str | None, command: str | None) -> None:
    """Remember the server that this call of the command line is about. Refused for commands that have no such way."""
    _chosen[:] = [] if url is None else [url]
    if url is not None and command not in SERVED:
        raise typer.BadParameter(f"--server is for: {', '.join(SERVED)}")


def server() -> Server | None:
    """The server, if one was chosen. The token comes by the environment: options are seen by other users."""
    if not _chosen:
        return None
    token = os.environ.get(TOKEN, "")
    if not token:
        raise WrongUse("a server wants a token", fix=f"set {TOKEN} in the environment")
    from tetraodon.client import connect

    return connect(_chosen[0], token=token)


def _asked(chosen: Server, policy: str, epsilon: Fraction | None) -> tuple[RemoteData, list[dict[str, object]], str]:
    """The data set that a policy file names, its items, and its epsilon."""
    from tetraodon.policy.load import load_policy

    read = load_policy(policy).with_budget(epsilon)
    return chosen.dataset(read.dataset), list(read.document["release"]), str(read.epsilon)


def plan(chosen: Server, policy: str, epsilon: Fraction | None, show: Callable[[Plan], None], *, as_json: bool) -> None:
    """The items and the budget of a policy file, planned under the policy that governs the data set on the server."""
    with working("planning"):
        people, items, price = _asked(chosen, policy, epsilon)
        found, quote = people.plan(items, epsilon=price), people.quote(items, epsilon=price)
    if as_json:
        emit(quote)
        return
    show(found)
    fits = "it fits" if quote["fits"] else f"it does not fit: {quote['ledger']['why_not']}"
    left = "" if quote["allotment_left"] is None else f", {quote['allotment_left']} is left for you"
    listed([f"On the server this would be charged epsilon {quote['charge']}{left}, and {fits}."])


def release(chosen: Server, policy: str, purpose: str | None, out: Path, *, as_json: bool) -> None:
    """Ask for a release, wait for a curator and for the end of its slot, fetch it and verify it here."""
    if not purpose:
        raise WrongUse("a request on a server says what it is for", fix="give --purpose TEXT")
    if out.exists():
        raise WrongUse("the output folder exists", fix="choose another", where=str(out))
    with working("waiting for a curator"):
        people, items, price = _asked(chosen, policy, None)
        made = people.release(items, epsilon=price, purpose=purpose, out=out)
    if as_json:
        report = str(out / "report.html")
        emit({"dataset": people.name, "folder": str(out), "report": report, "charged": made.charged})
        return
    say(f"Released {', '.join(made)} to {out}, verified.")
    say(f"Charged epsilon {made.charged} to {people.name}.")
