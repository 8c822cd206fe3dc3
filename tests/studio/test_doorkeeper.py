"""Who may come in: the browser that was given the one-time address, and no page of another origin."""

from __future__ import annotations

import pytest

from tetraodon.studio.doorkeeper import Doorkeeper

HERE = {"Host": "127.0.0.1:4000", "Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:4000"}


@pytest.fixture
def door() -> Doorkeeper:
    return Doorkeeper(4000)


def test_the_address_works_once(door: Doorkeeper) -> None:
    target = door.address.removeprefix("http://127.0.0.1:4000")
    assert not any(door.welcome(one) for one in ("/", "/?token=", "/?token=x", "/?token=é"))
    assert door.welcome(target)
    assert not any(door.welcome(one) for one in (target, "/?token=None"))
    for method in ("GET", "POST"):
        assert door.lets_in(method, f"{door.root}columns?a=b", HERE)
    assert door.name(f"{door.root}columns?a=b") == "columns"
    assert len(door.root) > 40


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
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_pages_of_other_origins_stay_out(door: Doorkeeper, method: str, change: dict[str, str]) -> None:
    target = f"{door.root}set"
    assert door.lets_in(method, target, HERE)
    assert not door.lets_in(method, target, HERE | change)


@pytest.mark.parametrize("target", ["/set", "/", "", "//set", "/guess/set", "/é/set", "http://127.0.0.1:4000/set"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_without_the_secret_path_there_is_no_way_in(door: Doorkeeper, method: str, target: str) -> None:
    assert not door.lets_in(method, target, HERE)
    assert not door.lets_in(method, door.root.rstrip("/")[:-1] + target, HERE)


def test_an_address_typed_by_hand_reads_and_changes_nothing(door: Doorkeeper) -> None:
    headers = HERE | {"Sec-Fetch-Site": "none"}
    assert door.lets_in("GET", door.root, headers)
    assert not door.lets_in("POST", door.root, headers)
