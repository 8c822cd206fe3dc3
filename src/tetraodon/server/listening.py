"""How connections are served: a client that is slow to say what it wants, or to take its answer, is not waited for.

Why  a connection costs its client nothing, and there are only so many of them: whoever opens all and sends a letter a
     minute would shut everybody out.
"""

from __future__ import annotations

import asyncio
import math
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS, TAKING_SECONDS = 10.0, 60.0
"""How long a client may take for all of its headers, and for taking a part of an answer that waits for it."""
MOST_CONNECTIONS = 500


class PromptProtocol(H11Protocol):
    """HTTP, with a limit on the time that headers take, and on the time for which nothing of an answer is taken."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait(HEADER_SECONDS)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._done()
        elif self._waiting is None:  # the first part of another call, or what is left of a body that nobody reads
            self._wait(HEADER_SECONDS)

    def on_response_complete(self) -> None:
        if not self.flow.write_paused:
            self._done()  # how long it may be silent now is uvicorn's limit
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._done()
        self._look_again()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._done()

    def connection_lost(self, exc: Exception | None) -> None:
        self._done()
        super().connection_lost(exc)

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


def listening(app: Any) -> uvicorn.Config:
    """How uvicorn is to serve an app."""
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
        limit_concurrency=MOST_CONNECTIONS,
    )
