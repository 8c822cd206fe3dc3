"""OpenID Connect sign-in: authorisation code with PKCE, for accounts that exist already."""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from tetraodon.errors import PolicyError
from tetraodon.policy.source import read_source
from tetraodon.web.http_errors import HttpError

ALGORITHMS = ["RS256", "ES256", "PS256", "EdDSA"]
"""Signatures with public keys alone: no shared secret, and not none."""
MAX_WAITING, MAX_BYTES, SECONDS = 10_000, 1_000_000, 15.0
ADDRESS = re.compile(r"[!-\"$-~]{1,2000}")
"""What a header can hold, without a fragment."""
KEYS = {"issuer", "client_id", "client_secret"}
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class Provider:
    """An OpenID provider, and our client there. It identifies a person by its issuer and a subject."""

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)

    def __post_init__(self) -> None:
        if not _private(self.issuer):
            raise PolicyError("the issuer is not reached over TLS", fix="write an https address")

    @classmethod
    def read(cls, path: Path) -> Provider:
        """From a file with the lines `issuer`, `client_id` and `client_secret`."""
        said = read_source(path).data
        if not isinstance(said, dict) or set(said) != KEYS:
            raise PolicyError("this does not describe a provider", fix=f"write the keys {', '.join(sorted(KEYS))}")
        return cls(**{key: str(value) for key, value in said.items()})


@dataclass(frozen=True, slots=True)
class Attempt:
    """A sign-in that has begun: the values that its callback must match."""

    state: str
    nonce: str
    verifier: str


class OidcClient:
    """OIDC client: redirects to the provider, and validates the callback at the address `back`."""

    def __init__(self, provider: Provider, back: str) -> None:
        self.issuer = provider.issuer
        self._provider, self._back = provider, back
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, Attempt] = OrderedDict()

    def begin(self) -> tuple[str, str]:
        """A secret for the browser's cookie, and where to send it."""
        address = _endpoint(self._discovered(), "authorization_endpoint")
        secret, attempt = secrets.token_urlsafe(32), Attempt(*(secrets.token_urlsafe(48) for _ in range(3)))
        with self._lock:
            self._waiting[secret] = attempt
            while len(self._waiting) > MAX_WAITING:
                self._waiting.popitem(last=False)
        asked = {
            "response_type": "code",
            "client_id": self._provider.client_id,
            "redirect_uri": self._back,
            "scope": "openid profile",
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": create_s256_code_challenge(attempt.verifier),
            "code_challenge_method": "S256",
        }
        return secret, f"{address}{'&' if urlsplit(address).query else '?'}{urlencode(asked)}"

    def subject(self, secret: str, query: Mapping[str, str]) -> str:
        """The subject of a callback, once. Refused unless state, nonce and token are those of the attempt."""
        with self._lock:
            attempt = self._waiting.pop(secret, None)
        if attempt is None or not secrets.compare_digest(query.get("state", "").encode(), attempt.state.encode()):
            raise _refused()
        known = self._discovered()
        sent = {
            "grant_type": "authorization_code",
            "code": query.get("code", ""),
            "redirect_uri": self._back,
            "client_id": self._provider.client_id,
            "client_secret": self._provider.client_secret,
            "code_verifier": attempt.verifier,
        }
        token = self._call(_endpoint(known, "token_endpoint"), sent).get("id_token")
        return self._validated(token, attempt, self._call(_endpoint(known, "jwks_uri")))

    def _validated(self, token: Any, attempt: Attempt, keys: Mapping[str, Any]) -> str:
        """The subject of an ID token that was issued to this client alone, in this attempt."""
        wanted = {"iss": {"essential": True, "value": self._provider.issuer}}
        wanted["aud"] = {"essential": True, "value": self._provider.client_id}
        try:
            read = jwt.decode(str(token), KeySet.import_key_set(dict(keys)), algorithms=ALGORITHMS)  # type: ignore[arg-type]
            claims = CodeIDToken(read.claims, read.header, wanted, {"nonce": attempt.nonce})
            claims.validate(leeway=60)
        except (JoseError, KeyError, ValueError, TypeError, AttributeError):
            raise _refused() from None
        others = claims["aud"] not in (self._provider.client_id, [self._provider.client_id])
        party = claims.get("azp", None if others else self._provider.client_id)
        subject = claims.get("sub")
        if not claims.get("nonce") or party != self._provider.client_id or not isinstance(subject, str) or not subject:
            raise _refused()
        return subject

    def _discovered(self) -> dict[str, Any]:
        """The provider's discovery document."""
        found = self._call(f"{self._provider.issuer.rstrip('/')}/.well-known/openid-configuration")
        if found.get("issuer") != self._provider.issuer:
            raise _refused()
        return found

    @staticmethod
    def _call(address: str, sent: Mapping[str, str] | None = None) -> dict[str, Any]:
        try:
            request = Request(address, None if sent is None else urlencode(sent).encode())
            with build_opener(_NoRedirects).open(request, timeout=SECONDS) as answer:
                found = json.loads(answer.read(MAX_BYTES))
        except (OSError, HTTPException, ValueError, RecursionError):
            raise _unusable("cannot be reached") from None
        if not isinstance(found, dict):
            raise _refused()
        return found


class _NoRedirects(HTTPRedirectHandler):
    """Follows no redirect, because it could lead to an address without TLS."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _private(address: str) -> bool:
    """Whether an address is reached over TLS, or on this machine."""
    try:
        parts = urlsplit(address)
        here = parts.port != 0 and parts.hostname in LOOPBACK  # a port that is none is a ValueError
        private = parts.scheme == "https" or (parts.scheme == "http" and here)
        return bool(parts.hostname and private and ADDRESS.fullmatch(address))
    except ValueError:
        return False


def _endpoint(discovered: Mapping[str, Any], name: str) -> str:
    found = discovered.get(name)
    if not isinstance(found, str) or not _private(found):
        raise _unusable(f"names no {name} with an https address")
    return found


def _unusable(what: str) -> HttpError:
    return HttpError(502, f"the OpenID provider {what}", fix="try again later, or ask the operator of the server")


def _refused() -> HttpError:
    return HttpError(401, "you were not vouched for", fix="sign in again")
