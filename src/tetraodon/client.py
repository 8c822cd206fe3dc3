"""A client for the server: the same plans and releases as from a local table, checked on arrival."""

from __future__ import annotations

import json
import secrets
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from tetraodon.errors import (
    BudgetExhausted,
    LedgerError,
    PolicyError,
    QueryError,
    Refused,
    ReleaseError,
    TetraodonError,
)
from tetraodon.exact.rational import Number
from tetraodon.inference.estimate import answer_from
from tetraodon.releases.codec import asked_plan, plan_document
from tetraodon.releases.folder import load_release
from tetraodon.releases.plan import Plan
from tetraodon.releases.release import Release
from tetraodon.releases.verify import same_numbers
from tetraodon.views.verify import verify

Item = Mapping[str, Any]
"""What is asked, as under `release` of a policy file."""
SECONDS = 120.0
MOST_BYTES = 2**30
TRIES = 3
"""How often a call is made again that the server was too busy for, after as long as it says."""
_KINDS = {kind.__name__: kind for kind in (BudgetExhausted, LedgerError, PolicyError, QueryError, Refused)}


class _Stays(HTTPRedirectHandler):
    """Follows no redirect: the token is for this server."""

    def redirect_request(self, *_: Any) -> None:
        return None


def connect(url: str, *, token: str) -> Server:
    """A server, to which one's own token is shown. Over TLS, or on this machine.

    >>> connect("http://statistics.example.org", token="td_...")
    Traceback (most recent call last):
        ...
    tetraodon.errors.PolicyError: the token would be readable on the way. Fix: use https, or a server on this machine.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")):
        raise PolicyError("the token would be readable on the way", fix="use https, or a server on this machine")
    return Server(url.rstrip("/"), token)


@dataclass(frozen=True)
class Server:
    """A server and who calls it."""

    url: str
    token: str = field(repr=False)

    @cached_property
    def _opener(self) -> OpenerDirector:
        return build_opener(_Stays)

    def dataset(self, name: str) -> RemoteData:
        """A data set of the server, that one may see."""
        return RemoteData(self, name, self.call("GET", f"/v1/datasets/{quote(name, safe='')}")["policy"])

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """One call of its routes, with JSON there and back. What it refuses is raised as if it were refused here."""
        return json.loads(self.fetch(method, path, body, **headers))

    def fetch(self, method: str, path: str, body: Any = None, **headers: str) -> bytes:
        """One call, and the bytes that come back."""
        content = None if body is None else json.dumps(body, default=str).encode()
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **headers}
        request = Request(self.url + path, content, sent, method=method)
        tries = TRIES
        while True:
            try:
                with self._opener.open(request, timeout=SECONDS) as answer:
                    return bytes(answer.read(MOST_BYTES))
            except HTTPError as error:
                pause = error.headers.get("Retry-After", "") if error.code == 429 else ""
                if not tries or not pause.isdecimal() or len(pause) > 2:
                    raise _refusal(error.read(MOST_BYTES)) from None
                tries -= 1
                time.sleep(int(pause))
            except (URLError, OSError):
                raise LedgerError("the server cannot be reached", fix="check its address and the network") from None


def _refusal(content: bytes) -> TetraodonError:
    """What the server refused with, as an error of the same kind."""
    try:
        refusal = json.loads(content)["error"]
        kind = _KINDS.get(refusal["type"], Refused)
        return kind(str(refusal["what"]), fix=str(refusal["fix"]), where=str(refusal["where"]))
    except (ValueError, KeyError, TypeError):
        return LedgerError("the server answered in another way than it should", fix="tell its administrator")


@dataclass(frozen=True)
class RemoteData:
    """A data set on a server. `policy` is the document of the policy that governs it."""

    server: Server
    name: str
    policy: Mapping[str, Any] = field(repr=False)

    @property
    def _path(self) -> str:
        return f"/v1/datasets/{quote(self.name, safe='')}"

    def plan(
        self,
        items: Sequence[Item],
        *,
        epsilon: Number | None = None,
        error: Any = None,
        confidence: Number | None = None,
        records: int | None = None,
    ) -> Plan:
        """The plan of some items; free. It is worked out here too, and refused where the server's is another."""
        asked = _asked(items, epsilon, error, confidence, records)
        theirs = self.quote(**asked)
        mine = asked_plan(self.policy, asked)
        stated = plan_document(mine)
        if not all(same_numbers(stated[part], theirs.get(part)) for part in ("epsilon", "certificate")):
            raise ReleaseError("the server plans this in another way", fix="use the server's version of tetraodon")
        return mine

    def quote(self, items: Sequence[Item], **asked: Any) -> dict[str, Any]:
        """The server's own document of a plan: with `charge`, whether it `fits`, and its `slot`."""
        found: dict[str, Any] = self.server.call("POST", f"{self._path}/plan", {"items": list(items)} | asked)
        return found

    def release(
        self,
        items: Sequence[Item],
        *,
        purpose: str,
        epsilon: Number | None = None,
        error: Any = None,
        confidence: Number | None = None,
        records: int | None = None,
        out: str | Path | None = None,
        key: str | None = None,
        seconds: float = 7 * 86400.0,
    ) -> Release:
        """Ask for a release, wait until a curator has decided and its slot has ended, fetch it, and verify it here.

        With `key`, a text of one's own, the same request is found again instead of being made a second time.
        """
        body = _asked(items, epsilon, error, confidence, records) | {"purpose": purpose}
        sent = {"Idempotency-Key": key or secrets.token_hex(16)}
        made = self.server.call("POST", f"{self._path}/requests", body, **sent)
        return self.wait(made["id"], out=out, seconds=seconds)

    def wait(self, request: str, *, out: str | Path | None = None, seconds: float = 7 * 86400.0) -> Release:
        """The release of a request, once there is one. Raises what it was refused with, if it was."""
        end, pause = time.monotonic() + seconds, 0.5
        while True:
            found = self.server.call("GET", f"/v1/requests/{quote(request, safe='')}")
            if found["state"] == "done":
                return self.fetch(found["release"], out)
            if found["state"] == "refused":
                raise _refusal(json.dumps(found).encode())
            if time.monotonic() >= end:
                raise Refused("the request has no answer yet", fix=f"wait for request {request} again later")
            pause = min(pause * 1.5, 30.0)
            if found["ready_at"] is not None:
                pause = max(0.2, (datetime.fromisoformat(found["ready_at"]) - datetime.now(UTC)).total_seconds() + 0.2)
            time.sleep(min(pause, 30.0, max(end - time.monotonic(), 0.0)))

    def fetch(self, release: str, out: str | Path | None = None) -> Release:
        """A release that is out: its folder, verified here; in `out`, or for as long as this process needs it."""
        held = None if out is not None else tempfile.TemporaryDirectory()
        folder = Path(out if held is None else held.name)  # type: ignore[arg-type]
        folder.mkdir(parents=True, exist_ok=True)
        path = f"/v1/releases/{quote(release, safe='')}"
        for name in self.server.call("GET", path)["files"]:
            parts = PurePosixPath(name).parts
            if not parts or any(part in ("..", "/") for part in parts) or len(parts) > 2:
                raise ReleaseError("the server names a file outside of the release", fix="tell its administrator")
            folder.joinpath(*parts).parent.mkdir(exist_ok=True)
            folder.joinpath(*parts).write_bytes(self.server.fetch("GET", f"{path}/files/{quote(name)}"))
        wrong = [check.what for check in verify(folder).failed if not check.other_version]
        if wrong:
            raise ReleaseError(f"the release does not verify: {wrong[0]}", fix="do not use it; tell a curator")
        found = load_release(folder)
        if held is not None:
            held.cleanup()
        return found

    def ask(self, question: str, *, confidence: Number | None = None) -> Any:
        """As `Release.ask`, from the newest release that one may see; free. Values of groups are texts."""
        listed = self.server.call("GET", "/v1/requests")["requests"]
        mine = [one["release"] for one in listed if one["dataset"] == self.name and one["release"]]
        if not mine:
            raise QueryError("there is no release of this data set for you", fix="ask for one")
        body = {"question": question} | ({} if confidence is None else {"confidence": str(confidence)})
        answer = self.server.call("POST", f"/v1/releases/{mine[0]}/ask", body)
        return answer_from(answer)


def _asked(
    items: Sequence[Item], epsilon: Number | None, error: Any, confidence: Number | None, records: int | None
) -> dict[str, Any]:
    given = {"epsilon": epsilon, "error": error, "confidence": confidence, "records": records}
    return {"items": [dict(item) for item in items]} | {name: said for name, said in given.items() if said is not None}
