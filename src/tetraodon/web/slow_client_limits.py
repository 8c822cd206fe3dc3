"""Slow client limits: connections whose client is slow to send headers, or to read its answer, are closed.

Why  a connection costs its client nothing, and the server has a limited number: one client that opened all of them and
     sent a byte a minute would lock out the others (Slowloris).
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from ipaddress import IPv6Address, ip_address
from typing import Any, ClassVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS, TAKING_SECONDS = 10.0, 60.0
"""How long a client may take for all of its headers, and for taking a part of an answer that waits for it."""
MAX_CONNECTIONS, MAX_IDLE = 500, 100
"""Connections in all; and of one address, those on which the server waits for the client."""


class PromptProtocol(H11Protocol):
    """HTTP, with a limit on the time that headers take, and on the time for which nothing of an answer is taken."""

    _waiting: asyncio.TimerHandle | None = None
    _idle: ClassVar[dict[str, OrderedDict[PromptProtocol, None]]] = {}
    _address = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._address = "" if self.client is None else _network(self.client[0])
        self._wait(HEADER_SECONDS)
        self._count()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._count()
        if self.cycle is not None and not self.cycle.response_complete:
            self._done()
        elif self._waiting is None:  # the first part of another call, or the rest of an unread body
            self._wait(HEADER_SECONDS)

    def on_response_complete(self) -> None:
        if not self.flow.write_paused:
            self._done()  # how long it may be silent now is uvicorn's limit
        super().on_response_complete()
        self._count()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._done()
        self._look_again()
        self._count()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._done()
        self._count()

    def connection_lost(self, exc: Exception | None) -> None:
        self._done()
        self._served()
        super().connection_lost(exc)

    def _count(self) -> None:
        """Count the connection while the server waits for its client; too many of an address lose the oldest."""
        here = self.cycle
        if here is not None and not here.response_complete and not here.more_body and not self.flow.write_paused:
            self._served()
            return
        idle = self._idle.setdefault(self._address, OrderedDict())
        idle.setdefault(self)
        if len(idle) > MAX_IDLE:
            oldest, _ = idle.popitem(last=False)
            oldest.transport.abort()

    def _served(self) -> None:
        """Count the connection no more."""
        idle = self._idle.get(self._address, OrderedDict())
        idle.pop(self, None)
        if not idle:
            self._idle.pop(self._address, None)

    def _wait(self, seconds: float) -> None:
        self._waiting = self.loop.call_later(seconds, self.transport.abort)

    def _look_again(self, before: float = math.inf) -> None:
        """Go on as long as some of what waits was taken meanwhile."""
        left = self.transport.get_write_buffer_size()
        if left >= before:
            self.transport.abort()
        else:
            self._waiting = self.loop.call_later(TAKING_SECONDS, self._look_again, left)

    def _done(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def _network(address: str) -> str:
    """The address of one client: of IPv6 the first half, since a client has all of the second.

    >>> _network("192.0.2.1"), _network("2001:db8::1:2:3")
    ('192.0.2.1', '2001:db8::')
    """
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(IPv6Address(int(found) >> 64 << 64)) if found.version == 6 else address


def uvicorn_config(app: Any) -> uvicorn.Config:
    """The configuration of uvicorn for an app."""
    return uvicorn.Config(
        app,
        http=PromptProtocol,
        log_config=None,
        log_level="critical",  # a traceback may hold anything
        ws="none",
        lifespan="off",
        access_log=False,
        server_header=False,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=5,
        limit_concurrency=MAX_CONNECTIONS,
    )
