"""Who may come in: the browser that was given the one-time address, and no page of another origin."""

from __future__ import annotations

import pytest

from tetraodon.web.auth import LoopbackAuth

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
