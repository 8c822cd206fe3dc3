"""Authentication: accounts, sessions, tokens, cross-origin requests, rate limits, the studio's secret path."""

from __future__ import annotations

from typing import Any

import argon2
import pytest
from sqlalchemy import select
from tests.web.conftest import World

from tetraodon.web.auth import (
    COOKIE,
    MAX_NAMES,
    MAX_TOKENS,
    SCOPES,
    SESSION_SECONDS,
    LoopbackAuth,
    Person,
    TokenBuckets,
    cookie_for,
)
from tetraodon.web.http_errors import HttpError
from tetraodon.web.state import sessions

LONG_ENOUGH = "correct horse battery"


CELLS: dict[tuple[str | None, str | None], tuple[int, int]] = {
    ("same-origin", "own"): (200, 201),
    ("none", None): (200, 403),
    ("cross-site", "https://evil.example"): (403, 403),
    ("same-site", None): (403, 403),
    ("same-origin", "https://evil.example"): (403, 403),
    (None, "own"): (200, 201),
    (None, None): (200, 403),
    (None, "null"): (403, 403),
}
"""What a browser says of where it comes from, and whether it may read and write."""


def test_a_cookie_counts_on_our_own_pages_alone(world: World) -> None:
    secret, found = world.context.accounts.begin("ann", "sign-in"), {}
    for site, origin in CELLS:
        said = {"Sec-Fetch-Site": site, "Origin": world.origin if origin == "own" else origin}
        headers = {"Cookie": f"{COOKIE}={secret}"} | {name: value for name, value in said.items() if value}
        body = {"label": "x", "scopes": ["read"]}
        read = world.http.get("/v1/me", headers=headers).status_code
        found[site, origin] = (read, world.http.post("/v1/tokens", json=body, headers=headers).status_code)
    assert found == CELLS


def test_the_cookie_is_for_this_host_over_tls_and_not_for_scripts() -> None:
    assert cookie_for("s").startswith("__Host-tetraodon=s; ")
    assert {"Path=/", "Secure", "HttpOnly", "SameSite=Strict"} <= set(cookie_for("s").split("; "))
    assert "Domain" not in cookie_for("s")
    assert "Max-Age=0;" in cookie_for("")


def test_signing_in_by_the_route_and_out_again(world: World) -> None:
    world.context.accounts.add("root", "eve", "analyst", LONG_ENOUGH)
    answer = world.http.post("/v1/session", json={"name": "eve", "password": LONG_ENOUGH})
    cookie = answer.headers["set-cookie"].partition(";")[0]
    headers = {"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}
    assert world.http.get("/v1/me", headers=headers).json()["name"] == "eve"
    assert world.http.delete("/v1/session", headers=headers).status_code == 200
    assert world.http.get("/v1/me", headers=headers).status_code == 401
    sent = {"Origin": "https://evil.example"}
    assert (
        world.http.post("/v1/session", json={"name": "eve", "password": LONG_ENOUGH}, headers=sent).status_code == 403
    )


def test_passwords_are_not_tried_without_end_for_names_that_are_there_or_not(world: World) -> None:
    object.__setattr__(world.service.authenticator, "sign_ins", TokenBuckets(rate=0, burst=2))
    for name in ("ann", "nobody"):
        seen = [world.http.post("/v1/session", json={"name": name, "password": "x"}).status_code for _ in range(3)]
        assert seen == [401, 401, 429]


def test_calls_are_limited_for_each_by_themselves(world: World) -> None:
    buckets = TokenBuckets(rate=0, burst=2)
    object.__setattr__(world.service.authenticator, "calls", buckets)
    world.call("ann", "GET", "/v1/me")
    world.call("ann", "GET", "/v1/me")
    world.call("ann", "GET", "/v1/me", expect=429)
    world.call("amy", "GET", "/v1/me")


def test_buckets_fill_with_time_and_memory_is_bounded() -> None:
    now = [0.0]
    buckets = TokenBuckets(2, 3, clock=lambda: now[0])
    assert [buckets.take("a") for _ in range(4)] == [True, True, True, False]
    now[0] = 0.5
    assert [buckets.take("a") for _ in range(2)] == [True, False]
    now[0] = 1000.0
    assert [buckets.take("a") for _ in range(4)] == [True, True, True, False]
    for number in range(MAX_NAMES + 5):
        buckets.take(str(number))
    assert len(buckets._left) == MAX_NAMES


# -- accounts --------------------------------------------------------------------------------------


PASSWORD = "correct horse battery"


@pytest.fixture
def peopled(world: World) -> World:
    world.context.accounts.add("root", "eve", "analyst", PASSWORD)
    return world


def test_a_password_that_is_wrong_and_an_account_that_is_not_there_cost_the_same_work(
    peopled: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One verification of argon2id with the same parameters each, and the same words."""
    seen: list[str] = []
    verify = argon2.PasswordHasher.verify

    def counted(self: argon2.PasswordHasher, kept: str, given: str) -> bool:
        seen.append(kept.rpartition("$")[0].rpartition("$")[0])
        return bool(verify(self, kept, given))

    monkeypatch.setattr(argon2.PasswordHasher, "verify", counted)
    told = []
    for name, password in (("eve", "wrong wrong wrong"), ("nobody", PASSWORD), ("ann", PASSWORD)):
        with pytest.raises(HttpError) as refused:
            peopled.context.accounts.sign_in(name, password)
        told.append((refused.value.status, str(refused.value)))
    assert len(set(told)) == 1
    assert len(seen) == 3
    assert len(set(seen)) == 1
    assert seen[0].startswith("$argon2id$")


def test_a_session_ends_in_time_and_with_the_password_it_began_with(peopled: World) -> None:
    accounts = peopled.context.accounts
    secret = accounts.sign_in("eve", PASSWORD)
    person = accounts.of_session(secret)
    assert person is not None
    assert (person.name, person.token) == ("eve", "")
    peopled.clock.ahead += SESSION_SECONDS
    assert accounts.of_session(secret) is None
    peopled.clock.ahead -= SESSION_SECONDS
    accounts.change("root", "eve", password="another horse battery")
    assert accounts.of_session(secret) is None
    again = accounts.sign_in("eve", "another horse battery")
    accounts.sign_out(again)
    assert accounts.of_session(again) is None


def test_any_change_of_an_account_ends_its_sessions_and_tokens_and_is_written_down(peopled: World) -> None:
    accounts, eve = peopled.context.accounts, Person("eve", "analyst", frozenset(SCOPES))
    changes: list[dict[str, Any]] = [{"password": "another horse battery"}, {"disabled": False}]
    for change in changes:
        secret, token = accounts.begin("eve", "sign-in"), accounts.new_token(eve, "t", ["read"], 30)["token"]
        peopled.call("root", "PUT", "/v1/accounts/eve", change)
        assert (accounts.of_session(secret), accounts.of_token(token)) == (None, None)
    assert accounts.of_token(peopled.tokens["ann"]) is not None  # of others none ends
    peopled.call("root", "PUT", "/v1/accounts/eve", {"disabled": True, "password": "yet another horse"})
    assert [one for one in peopled.told() if one.startswith(("password-", "account-d", "account-e"))] == [
        "password-changed",
        "account-enabled",
        "password-changed",
        "account-disabled",
    ]


def test_secrets_are_kept_as_hashes(peopled: World) -> None:
    secret = peopled.context.accounts.sign_in("eve", PASSWORD)
    kept = (peopled.folder / "ledger.db").read_bytes()
    for one in (secret, PASSWORD, peopled.tokens["ann"]):
        assert one.encode() not in kept


def test_a_token_expires_is_scoped_and_can_be_removed(world: World) -> None:
    accounts, ann = world.context.accounts, world.person("ann")
    made = accounts.new_token(ann, "short", ["read"], 1)
    found = accounts.of_token(made["token"])
    assert found is not None
    assert found.scopes == {"read"}
    with pytest.raises(HttpError, match="your own scopes"):
        accounts.new_token(found, "more", ["govern"], 1)
    world.clock.ahead += 86400
    assert accounts.of_token(made["token"]) is None
    world.clock.ahead -= 86400
    with pytest.raises(HttpError, match="no such token"):
        accounts.remove_token(world.person("amy"), made["id"])
    world.clock.ahead -= 86_400
    later = accounts.new_token(found, "later", ["read"], 30)  # with a token of a day, none that lives longer
    assert later["expires"] == found.expires < accounts.new_token(ann, "own", ["read"], 30)["expires"]
    with pytest.raises(HttpError, match="no such token"):
        accounts.remove_token(found, later["id"])
    accounts.remove_token(found, made["id"])
    made = accounts.new_token(ann, "short", ["read"], 1)
    accounts.remove_token(ann, made["id"])
    assert accounts.of_token(made["token"]) is None


def test_a_disabled_account_cannot_sign_in(peopled: World) -> None:
    token = peopled.tokens["ann"]
    peopled.context.accounts.change("root", "eve", disabled=True)
    peopled.context.accounts.change("root", "ann", disabled=True)
    with pytest.raises(HttpError, match="wrong"):
        peopled.context.accounts.sign_in("eve", PASSWORD)
    assert peopled.context.accounts.of_token(token) is None
    peopled.context.accounts.change("root", "ann", disabled=False)
    assert peopled.context.accounts.of_token(token) is None


def test_accounts_that_cannot_be(world: World) -> None:
    wrong = (("Ann", "analyst", ""), ("x" * 33, "analyst", ""), ("new", "king", ""), ("new", "analyst", "short"))
    for name, role, password in (*wrong, ("ann", "admin", "")):
        with pytest.raises(HttpError):
            world.context.accounts.add("root", name, role, password)


def test_removing_a_token_removes_those_made_with_it(world: World) -> None:
    accounts, ann = world.context.accounts, world.person("ann")
    chain = [accounts.new_token(ann, "first", ["read"], 30)]
    for _ in range(2):
        made_with = accounts.of_token(chain[-1]["token"])
        assert made_with is not None
        chain.append(accounts.new_token(made_with, "later", ["read"], 30))
    other = accounts.new_token(ann, "other", ["read"], 30)
    accounts.remove_token(ann, chain[0]["id"])
    assert [accounts.of_token(one["token"]) for one in chain] == [None] * 3
    assert accounts.of_token(other["token"]) is not None
    assert world.told()[-3:] == ["token-removed"] * 3


def test_a_session_that_ended_meanwhile_makes_no_token(peopled: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that was let in, or a password that was compared, before the token was removed or the password changed."""
    accounts, ann, world = peopled.context.accounts, peopled.person("ann"), peopled
    token = accounts.new_token(ann, "first", ["read"], 30)
    session = accounts.begin("ann", "sign-in")
    callers = [accounts.of_token(token["token"]), accounts.of_session(session)]
    accounts.remove_token(ann, token["id"])
    accounts.sign_out(session)
    for caller in callers:
        assert caller is not None
        with pytest.raises(HttpError, match="any more"):
            accounts.new_token(caller, "later", ["read"], 30)
    assert [one["label"] for one in accounts.own_tokens(ann)] == ["test"]
    verify = argon2.PasswordHasher.verify

    def overtaken(self: argon2.PasswordHasher, kept: str, given: str) -> bool:
        monkeypatch.setattr(argon2.PasswordHasher, "verify", verify)
        found = bool(verify(self, kept, given))
        accounts.change("root", "eve", **changes.pop())
        return found

    changes: list[dict[str, Any]] = [{"password": "another horse"}, {"disabled": True}] * 2
    while changes:
        accounts.change("root", "eve", password=PASSWORD, disabled=False)
        monkeypatch.setattr(argon2.PasswordHasher, "verify", overtaken)
        new = ("a thief's horse",) if len(changes) > 2 else ()
        with pytest.raises(HttpError, match="wrong"):
            (accounts.change_own if new else accounts.sign_in)("eve", PASSWORD, *new)
    accounts.change("root", "eve", disabled=True)
    with pytest.raises(HttpError, match="wrong"):  # vouched for elsewhere
        accounts.begin("eve", "sign-in-elsewhere")
    with world.context.state.reading() as connection:
        assert connection.execute(select(sessions)).all() == []


def test_expired_tokens_do_not_count_towards_the_limit(world: World) -> None:
    accounts, ann = world.context.accounts, world.person("ann")
    for number in range(MAX_TOKENS - 1):  # one is there
        accounts.new_token(ann, f"t{number}", ["read"], 1)
    with pytest.raises(HttpError, match="too many"):
        accounts.new_token(ann, "one more", ["read"], 1)
    world.clock.ahead += 86_401
    accounts.new_token(ann, "one more", ["read"], 1)
    assert {one["label"] for one in accounts.own_tokens(ann)} == {"test", "one more"}


def test_people_change_their_own_password_at_a_limited_rate(peopled: World) -> None:
    accounts = peopled.context.accounts
    cookie = accounts.sign_in("eve", PASSWORD)
    token = peopled.context.accounts.new_token(Person("eve", "analyst", frozenset(SCOPES)), "t", ["read"], 1)["token"]
    headers = {"Cookie": f"{COOKIE}={cookie}", "Sec-Fetch-Site": "same-origin", "Origin": peopled.origin}
    for old, new, status in (("wrong", "another horse battery", 401), (PASSWORD, "short", 422)):
        answer = peopled.http.post("/password", data={"password": old, "new": new}, headers=headers)
        assert (answer.status_code, "Your password" in answer.text) == (status, True)
    answer = peopled.http.post("/password", data={"password": PASSWORD, "new": "another horse"}, headers=headers)
    assert (answer.status_code, answer.headers["location"]) == (303, "/account")
    assert (accounts.of_session(cookie), accounts.of_token(token)) == (None, None)
    secret = answer.headers["set-cookie"].partition(";")[0].partition("=")[2]
    assert accounts.of_session(secret) is not None
    assert accounts.sign_in("eve", "another horse")
    headers["Cookie"] = f"{COOKIE}={secret}"
    tried = [peopled.http.post("/password", data={"password": "x"}, headers=headers).status_code for _ in range(12)]
    assert 429 in tried


# -- loopback auth ---------------------------------------------------------------------------------


HERE = {"host": "127.0.0.1:4000", "sec-fetch-site": "same-origin", "origin": "http://127.0.0.1:4000"}


@pytest.fixture
def auth() -> LoopbackAuth:
    return LoopbackAuth(4000)


def test_the_address_works_once(auth: LoopbackAuth) -> None:
    target = auth.address.removeprefix("http://127.0.0.1:4000")
    assert not any(auth.redeem(one) for one in ("/", "/?token=", "/?token=x", "/?token=é"))
    assert auth.redeem(target)
    assert not any(auth.redeem(one) for one in (target, "/?token=None"))
    for method in ("GET", "POST"):
        assert auth.allows(method, f"{auth.root}columns?a=b", HERE)
    assert auth.name(f"{auth.root}columns?a=b") == "columns"
    assert len(auth.root) > 40


@pytest.mark.parametrize(
    "change",
    [
        {"host": "evil.example:4000"},
        {"host": "127.0.0.1:4001"},
        {"host": ""},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://127.0.0.1:4001"},
        {"origin": "null"},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_pages_of_other_origins_stay_out(auth: LoopbackAuth, method: str, change: dict[str, str]) -> None:
    target = f"{auth.root}set"
    assert auth.allows(method, target, HERE)
    assert not auth.allows(method, target, HERE | change)


@pytest.mark.parametrize("target", ["/set", "/", "", "//set", "/guess/set", "/é/set", "http://127.0.0.1:4000/set"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_without_the_secret_path_there_is_no_way_in(auth: LoopbackAuth, method: str, target: str) -> None:
    assert not auth.allows(method, target, HERE)
    assert not auth.allows(method, auth.root.rstrip("/")[:-1] + target, HERE)


def test_an_address_typed_by_hand_reads_and_changes_nothing(auth: LoopbackAuth) -> None:
    headers = HERE | {"sec-fetch-site": "none"}
    assert auth.allows("GET", auth.root, headers)
    assert not auth.allows("POST", auth.root, headers)
