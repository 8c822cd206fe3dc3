"""Everything a call may need, in one place: what the web process holds. No source of data is among it."""

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
    """The server without its doors: accounts, data sets, requests, and the folder that workers put releases in."""

    state: State
    ledger: Ledger
    accounts: Accounts
    planner: Planner
    datasets: Datasets
    requests: Requests
    releases: Path

    @classmethod
    def at(cls, ledger: str, releases: Path, clock: Callable[[], float] = time.time) -> AppContext:
        """Open the server's database, which is made if it is not there."""
        state, book = State(ledger, clock), Ledger(ledger)
        accounts, planner = Accounts(state), Planner(ledger)
        datasets = Datasets(state, book, accounts, planner)
        return cls(state, book, accounts, planner, datasets, Requests(state, datasets, planner), releases)

    def close(self) -> None:
        self.planner.close()
        self.ledger.close()
        self.state.close()
