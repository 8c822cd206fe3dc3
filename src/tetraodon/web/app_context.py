"""The app context: everything that a call may need. No source of data is among it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tetraodon.ledger import Ledger
from tetraodon.web.auth import Accounts
from tetraodon.web.datasets import Datasets
from tetraodon.web.planner import Planner
from tetraodon.web.requests import Requests
from tetraodon.web.state import State


@dataclass(frozen=True)
class AppContext:
    """State, ledger and services of the server, and the folder that workers write releases to."""

    state: State
    ledger: Ledger
    accounts: Accounts
    planner: Planner
    datasets: Datasets
    requests: Requests
    releases: Path

    @classmethod
    def at(cls, ledger: str, releases: Path, clock: Callable[[], float] = time.time) -> AppContext:
        """Open the server's database, and create it if it does not exist."""
        state, book = State(ledger, clock), Ledger(ledger)
        accounts, planner = Accounts(state), Planner(ledger)
        datasets = Datasets(state, book, accounts, planner)
        return cls(state, book, accounts, planner, datasets, Requests(state, datasets, planner), releases)

    def close(self) -> None:
        self.planner.close()
        self.ledger.close()
        self.state.close()
