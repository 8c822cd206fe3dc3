"""Signing in elsewhere: OpenID Connect, authorisation code with PKCE, for accounts that are here already."""

from __future__ import annotations

import json
import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from tetraodon.errors import PolicyError
from tetraodon.policy.source import read_source
from tetraodon.server.refusal import Turned

ALGORITHMS = ["RS256", "ES256", "PS256", "EdDSA"]
"""Signatures with public keys alone: no shared secret, and not none."""
MOST_WAITING, MOST_BYTES, SECONDS = 10_000, 1_000_000, 15.0
KEYS = {"issuer", "client_id", "client_secret", "claim"}


@dataclass(frozen=True, slots=True)
class Provider:
    """Who vouches for people. `claim` is what it calls them by, which is the name of their account here."""

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    claim: str = "preferred_username"

    def __post_init__(self) -> None:
        parts = urlsplit(self.issuer)
        if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "localhost"):
            raise PolicyError("the issuer is not reached over TLS", fix="write an https address")

    @classmethod
    def read(cls, path: Path) -> Provider:
        """From a file with the lines `issuer`, `client_id`, `client_secret` and perhaps `claim`."""
        said = read_source(path).data
        if not isinstance(said, dict) or not KEYS - {"claim"} <= set(said) <= KEYS:
            raise PolicyError("this does not describe a provider", fix=f"write the keys {', '.join(sorted(KEYS))}")
        return cls(**{key: str(value) for key, value in said.items()})


@dataclass(frozen=True, slots=True)
class Attempt:
    """Somebody who was sent away to sign in: what must come back with them."""

    state: str
    nonce: str
    verifier: str


class Elsewhere:
    """Sends people to the provider, and knows them when they come back, to our address `back`."""

    def __init__(self, provider: Provider, back: str) -> None:
        self._provider, self._back = provider, back
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, Attempt] = OrderedDict()

    def begin(self) -> tuple[str, str]:
        """A secret for the browser's cookie, and where to send it."""
        known = self._call(f"{self._provider.issuer.rstrip('/')}/.well-known/openid-configuration")
        secret, attempt = secrets.token_urlsafe(32), Attempt(*(secrets.token_urlsafe(48) for _ in range(3)))
        with self._lock:
            self._waiting[secret] = attempt
            while len(self._waiting) > MOST_WAITING:
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
        return secret, f"{known['authorization_endpoint']}?{urlencode(asked)}"

    def known(self, secret: str, query: Mapping[str, str]) -> str:
        """The name of whoever comes back, once. Refused where anything is not as it was sent."""
        with self._lock:
            attempt = self._waiting.pop(secret, None)
        if attempt is None or not secrets.compare_digest(query.get("state", ""), attempt.state):
            raise _refused()
        known = self._call(f"{self._provider.issuer.rstrip('/')}/.well-known/openid-configuration")
        if known.get("issuer") != self._provider.issuer:
            raise _refused()
        sent = {
            "grant_type": "authorization_code",
            "code": query.get("code", ""),
            "redirect_uri": self._back,
            "client_id": self._provider.client_id,
            "client_secret": self._provider.client_secret,
            "code_verifier": attempt.verifier,
        }
        token = self._call(known["token_endpoint"], sent).get("id_token")
        return self._name(token, attempt, self._call(known["jwks_uri"]))

    def _name(self, token: Any, attempt: Attempt, keys: Mapping[str, Any]) -> str:
        wanted = {"iss": {"essential": True, "value": self._provider.issuer}}
        wanted["aud"] = {"essential": True, "value": self._provider.client_id}
        try:
            read = jwt.decode(str(token), KeySet.import_key_set(dict(keys)), algorithms=ALGORITHMS)  # type: ignore[arg-type]
            claims = CodeIDToken(read.claims, read.header, wanted, {"nonce": attempt.nonce})
            claims.validate(leeway=60)
            name = claims[self._provider.claim]
        except (JoseError, KeyError, ValueError, TypeError):
            raise _refused() from None
        if not claims.get("nonce") or not isinstance(name, str):
            raise _refused()
        return name

    @staticmethod
    def _call(address: str, sent: Mapping[str, str] | None = None) -> dict[str, Any]:
        request = Request(str(address), None if sent is None else urlencode(sent).encode())
        try:
            with urlopen(request, timeout=SECONDS) as answer:
                found = json.loads(answer.read(MOST_BYTES))
        except (URLError, OSError, ValueError):
            raise Turned(502, "whoever vouches for you cannot be reached", fix="try again later") from None
        if not isinstance(found, dict):
            raise _refused()
        return found


def _refused() -> Turned:
    return Turned(401, "you were not vouched for", fix="sign in again")
