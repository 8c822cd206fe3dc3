"""Who may come in: the browser that was given the one-time address, and no page of anybody else's."""

from __future__ import annotations

import pytest

from tetraodon.studio.doorkeeper import Doorkeeper

HERE = {"Host": "127.0.0.1:4000", "Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:4000"}


@pytest.fixture
def door() -> Doorkeeper:
    return Doorkeeper(4000)


def test_the_address_works_once(door: Doorkeeper) -> None:
    target = door.address.removeprefix("http://127.0.0.1:4000")
    assert door.welcome("/") == door.welcome("/?token=") == door.welcome("/?token=x") == ""
    cookie = door.welcome(target)
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert door.welcome(target) == door.welcome("/?token=None") == ""
    headers = HERE | {"Cookie": cookie.split(";")[0]}
    assert door.lets_in("GET", headers)
    assert door.lets_in("POST", headers)


@pytest.mark.parametrize(
    "change",
    [
        {"Host": "evil.example:4000"},
        {"Host": "127.0.0.1:4001"},
        {"Host": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://127.0.0.1:4001"},
        {"Origin": "null"},
        {"Cookie": ""},
        {"Cookie": "tetraodon_studio=guess"},
        {"Cookie": "tetraodon_studio"},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_everybody_else_stays_out(door: Doorkeeper, method: str, change: dict[str, str]) -> None:
    cookie = door.welcome(door.address).split(";")[0]
    headers = HERE | {"Cookie": cookie}
    assert door.lets_in(method, headers)
    assert not door.lets_in(method, headers | change)


def test_an_address_typed_by_hand_reads_and_changes_nothing(door: Doorkeeper) -> None:
    headers = {**HERE, "Cookie": door.welcome(door.address).split(";")[0], "Sec-Fetch-Site": "none"}
    assert door.lets_in("GET", headers)
    assert not door.lets_in("POST", headers)
