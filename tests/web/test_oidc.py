"""OpenID Connect against a local provider: a callback that does not match its attempt is refused."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey
from tests.web.conftest import World

from tetraodon.errors import PolicyError
from tetraodon.web.http_errors import HttpError
from tetraodon.web.oidc import OidcClient, Provider


class Vouching:
    """A provider: it gives a code for whoever is sent to it, and an ID token for the code."""

    def __init__(self) -> None:
        self.key = ECKey.generate_key("P-256", {"kid": "1", "alg": "ES256"})
        self.signing, self.claims, self.asked = self.key, dict[str, Any](), dict[str, str]()
        self.described: dict[str, Any] = {}
        outer = self

        class Answering(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None: ...

            def do_GET(self) -> None:
                if self.path == "/elsewhere":
                    self.send_response(302)
                    self.send_header("Location", f"{outer.issuer}/keys")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                documents = {
                    "/.well-known/openid-configuration": {
                        "issuer": outer.issuer,
                        "authorization_endpoint": f"{outer.issuer}/authorize",
                        "token_endpoint": f"{outer.issuer}/token",
                        "jwks_uri": f"{outer.issuer}/keys",
                        **outer.described,
                    },
                    "/keys": {"keys": [outer.key.as_dict(private=False)]},
                }
                self.tell(documents[self.path])

            def do_POST(self) -> None:
                sent = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                challenge = urlsafe_b64encode(hashlib.sha256(sent["code_verifier"][0].encode()).digest()).rstrip(b"=")
                if challenge.decode() != outer.asked["code_challenge"] or sent["code"] != ["the code"]:
                    self.tell({"error": "invalid_grant"})
                    return
                self.tell({"id_token": outer.token()})

            def tell(self, document: dict[str, Any]) -> None:
                body = json.dumps(document).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self.issuer = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def token(self) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": "us", "sub": "1", "iat": now, "exp": now + 60, "preferred_username": "ann"}
        claims |= {"nonce": self.asked["nonce"]} | self.claims
        kept = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode({"alg": "ES256", "kid": "1"}, kept, self.signing)

    def send(self, address: str) -> dict[str, str]:
        """What a browser brings back that was sent to an address of the provider."""
        self.asked = {name: found[0] for name, found in parse_qs(urlsplit(address).query).items()}
        assert self.asked["code_challenge_method"] == "S256"
        return {"code": "the code", "state": self.asked["state"]}


@pytest.fixture
def vouching() -> Iterator[Vouching]:
    made = Vouching()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_a_callback_gives_its_subject_once(vouching: Vouching) -> None:
    client = OidcClient(Provider(vouching.issuer, "us", "hush"), "https://here/oidc/back")
    secret, address = client.begin()
    back = vouching.send(address)
    assert client.subject(secret, back) == "1"
    with pytest.raises(HttpError, match="not vouched"):
        client.subject(secret, back)


def test_a_callback_that_does_not_match_its_attempt_is_refused(vouching: Vouching) -> None:
    client = OidcClient(Provider(vouching.issuer, "us", "hush"), "https://here/oidc/back")
    wrong: list[dict[str, Any]] = [
        {"iss": "https://evil.example"},
        {"aud": "others"},
        {"nonce": "another"},
        {"nonce": None},
        {"exp": 1},
        {"sub": None},
        {"sub": ""},
        {"sub": 1},
        {"azp": "others"},
        {"aud": ["us", "others"]},
        {"aud": ["us", "others"], "azp": "others"},
    ]
    for claims in wrong:
        vouching.claims = claims
        secret, address = client.begin()
        with pytest.raises(HttpError, match="not vouched"):
            client.subject(secret, vouching.send(address))
    vouching.claims, vouching.signing = {}, ECKey.generate_key("P-256", {"kid": "1"})
    secret, address = client.begin()
    with pytest.raises(HttpError, match="not vouched"):
        client.subject(secret, vouching.send(address))
    vouching.signing = vouching.key
    for change in ({"state": "another"}, {"state": "é"}, {"code": "another"}):
        secret, address = client.begin()
        with pytest.raises(HttpError, match="not vouched"):
            client.subject(secret, vouching.send(address) | change)
    for claims in ({"azp": "us"}, {"aud": ["us"]}, {"aud": ["us", "others"], "azp": "us"}):
        vouching.claims = claims
        secret, address = client.begin()
        assert client.subject(secret, vouching.send(address)) == "1"
    secret, address = client.begin()
    with pytest.raises(HttpError, match="not vouched"):
        client.subject("another browser", vouching.send(address))


@pytest.mark.parametrize("name", ["authorization_endpoint", "token_endpoint", "jwks_uri"])
@pytest.mark.parametrize(
    "value",
    [
        *(None, 1, "", "http://evil.example/x", "file:///etc/passwd", "https://", "http://[", {}),
        *(
            "https://例え.example/x",
            "https://id.example/\ud800",
            "https://id.example/\r\nX: y",
            "https://id.example/#x",
        ),
        *("https://id.example:x/", f"https://id.example/{'x' * 3000}", "https://id.example/a b"),
    ],
)
def test_endpoints_that_are_missing_or_without_tls_are_refused(vouching: Vouching, name: str, value: Any) -> None:
    client = OidcClient(Provider(vouching.issuer, "us", "hush"), "https://here/oidc/back")
    secret, address = client.begin()
    back = vouching.send(address)
    vouching.described = {name: value}
    with pytest.raises(HttpError, match=f"names no {name}"):
        client.begin() if name == "authorization_endpoint" else client.subject(secret, back)


def test_a_redirect_of_the_provider_is_not_followed(vouching: Vouching) -> None:
    client = OidcClient(Provider(vouching.issuer, "us", "hush"), "https://here/oidc/back")
    secret, address = client.begin()
    vouching.described = {"jwks_uri": f"{vouching.issuer}/elsewhere"}
    with pytest.raises(HttpError, match="cannot be reached"):
        client.subject(secret, vouching.send(address))


def test_the_file_of_a_provider(tmp_path: Path) -> None:
    path = tmp_path / "oidc.yaml"
    path.write_text("issuer: https://id.example\nclient_id: us\nclient_secret: hush\n")
    read = Provider.read(path)
    assert "hush" not in repr(read)
    for text in ("issuer: https://id.example\n", "issuer: http://id.example\nclient_id: us\nclient_secret: x\n"):
        path.write_text(text)
        with pytest.raises(PolicyError):
            Provider.read(path)


def test_a_browser_is_sent_away_and_signed_in_when_it_comes_back(vouching: Vouching, world: World) -> None:
    assert world.http.get("/oidc/start").status_code == 404  # nobody is configured
    assert "/oidc/start" not in world.http.get("/sign-in").text
    world.service.oidc = OidcClient(Provider(vouching.issuer, "us", "hush"), f"{world.origin}/oidc/back")
    assert "/oidc/start" in world.http.get("/sign-in").text
    sent = world.http.get("/oidc/start")
    cookie = {"Cookie": sent.headers["set-cookie"].partition(";")[0]}
    back = world.http.get("/oidc/back", params=vouching.send(sent.headers["location"]), headers=cookie)
    assert (back.status_code, f"issuer {vouching.issuer}, subject 1" in back.text) == (403, True)  # ann is but a name
    identity = {"identity": {"issuer": vouching.issuer, "subject": "1"}}
    world.call("root", "PUT", "/v1/accounts/ann", identity)
    world.call("root", "PUT", "/v1/accounts/amy", identity, 409)
    assert world.http.get("/oidc/back?state=é").status_code == 401
    sent = world.http.get("/oidc/start")
    cookie = {"Cookie": sent.headers["set-cookie"].partition(";")[0]}
    assert world.http.get("/oidc/back?state=é", headers=cookie).status_code == 401
    vouching.claims = {"preferred_username": "carl"}
    sent = world.http.get("/oidc/start")
    cookie = {"Cookie": sent.headers["set-cookie"].partition(";")[0]}
    back = world.http.get("/oidc/back", params=vouching.send(sent.headers["location"]), headers=cookie)
    assert back.status_code == 200
    session = {"Cookie": back.headers["set-cookie"].partition(";")[0]}
    assert world.http.get("/v1/me", headers=session).json()["name"] == "ann"
    vouching.claims = {"sub": "2", "preferred_username": "ann"}
    sent = world.http.get("/oidc/start")
    cookie = {"Cookie": sent.headers["set-cookie"].partition(";")[0]}
    back = world.http.get("/oidc/back", params=vouching.send(sent.headers["location"]), headers=cookie)
    assert (back.status_code, "set-cookie" in back.headers) == (403, False)
