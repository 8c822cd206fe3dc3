"""Slow clients, which do not finish headers or do not read an answer, lose the connection."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack, suppress

import pytest
from tests.web.conftest import World

from tetraodon.web import slow_client_limits as listening_module

HEAD = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n"


def ended(client: socket.socket) -> bytes:
    """What is said until the connection ends."""
    told = b""
    try:
        while part := client.recv(65536):
            told += part
    except ConnectionResetError:
        pass
    return told


@pytest.fixture
def hasty(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(listening_module, "HEADER_SECONDS", 0.3)
    monkeypatch.setattr(listening_module, "TAKING_SECONDS", 0.3)
    return world


@pytest.mark.parametrize("sent", [b"", b"GE", HEAD, HEAD + b"\r\n" + HEAD], ids=["none", "word", "head", "second"])
def test_headers_that_do_not_end_are_not_waited_for(hasty: World, sent: bytes) -> None:
    """A letter from time to time does not help; nor does a first call that was whole."""
    with socket.create_connection(("127.0.0.1", hasty.port), timeout=20) as slow:
        slow.sendall(sent)
        begun = time.monotonic()
        with suppress(ConnectionError):
            while time.monotonic() < begun + 10:
                slow.sendall(b"X")
                time.sleep(0.1)
        assert time.monotonic() < begun + 10


def test_a_prompt_client_is_served_and_may_call_again(hasty: World) -> None:
    """Headers in two parts, a second call on the same connection: the limit is for each call by itself."""
    with socket.create_connection(("127.0.0.1", hasty.port), timeout=20) as client:
        for _ in range(3):
            client.sendall(HEAD)
            time.sleep(0.15)
            client.sendall(b"\r\n")
            told = client.recv(65536)
            assert told.startswith(b"HTTP/1.1 200")
            while b'"securitySchemes"' not in told:
                told += client.recv(65536)


def test_an_unread_answer_is_dropped(hasty: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow reader gets it whole, as long as they take some of it."""
    monkeypatch.setattr(hasty.service, "_document", b"x" * 20_000_000)
    for taking in (False, True):
        with socket.create_connection(("127.0.0.1", hasty.port), timeout=20) as client:
            client.sendall(HEAD + b"Connection: close\r\n\r\n")
            told = 0
            for _ in range(8):
                told += len(client.recv(2_000_000)) if taking else 0
                time.sleep(0.1)
            told += len(ended(client))
        assert (told > 20_000_000) == taking


def test_many_who_are_slow_do_not_shut_others_out(hasty: World) -> None:
    slow = [socket.create_connection(("127.0.0.1", hasty.port), timeout=20) for _ in range(520)]
    for client in slow:
        client.sendall(HEAD)
    time.sleep(0.8)
    assert hasty.http.get("/openapi.json").status_code == 200
    for client in slow:
        client.close()


def test_half_open_connections_of_one_address_do_not_shut_others_out(world: World) -> None:
    """More than there may be in all: the oldest of the address give way, and a call is answered at once."""
    with ExitStack() as opened:
        clients = [
            opened.enter_context(socket.create_connection(("127.0.0.1", world.port), timeout=20)) for _ in range(520)
        ]
        body = b"POST /v1/session HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n{"
        for number, client in enumerate(clients):
            with suppress(ConnectionError):
                client.sendall((b"", HEAD, body)[number % 3])
        begun = time.monotonic()
        assert world.http.get("/healthz").status_code == 200
        assert time.monotonic() < begun + listening_module.HEADER_SECONDS / 2
        clients[0].settimeout(5)
        assert ended(clients[0]) == b""
        clients[-3].settimeout(0.2)
        with pytest.raises(TimeoutError):
            clients[-3].recv(1)
