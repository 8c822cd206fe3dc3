"""Browsers on other people's pages are turned away, and nobody tries passwords without end."""

from __future__ import annotations

from tests.web.conftest import World

from tetraodon.web.auth import COOKIE, MAX_NAMES, TokenBuckets, cookie_for

PASSWORD = "correct horse battery"


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
    world.context.accounts.add("root", "eve", "analyst", PASSWORD)
    answer = world.http.post("/v1/session", json={"name": "eve", "password": PASSWORD})
    cookie = answer.headers["set-cookie"].partition(";")[0]
    headers = {"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}
    assert world.http.get("/v1/me", headers=headers).json()["name"] == "eve"
    assert world.http.delete("/v1/session", headers=headers).status_code == 200
    assert world.http.get("/v1/me", headers=headers).status_code == 401
    sent = {"Origin": "https://evil.example"}
    assert world.http.post("/v1/session", json={"name": "eve", "password": PASSWORD}, headers=sent).status_code == 403


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
