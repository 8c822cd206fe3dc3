"""Everything a call may need, in one place: what the web process holds. No source of data is among it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tetraodon.ledger import Ledger
from tetraodon.server.accounts import Accounts
from tetraodon.server.holdings import Holdings
from tetraodon.server.petitions import Petitions
from tetraodon.server.planner import Planner
from tetraodon.server.state import State


@dataclass(frozen=True)
class Office:
    """The server without its doors: accounts, data sets, requests, and the folder that workers put releases in."""

    state: State
    ledger: Ledger
    accounts: Accounts
    planner: Planner
    holdings: Holdings
    petitions: Petitions
    releases: Path

    @classmethod
    def at(cls, ledger: str, releases: Path, clock: Callable[[], float] = time.time) -> Office:
        """Open the server's database, which is made if it is not there."""
        state, book = State(ledger, clock), Ledger(ledger)
        accounts, planner = Accounts(state), Planner(ledger)
        holdings = Holdings(state, book, accounts, planner)
        return cls(state, book, accounts, planner, holdings, Petitions(state, holdings, planner), releases)

    def close(self) -> None:
        self.planner.close()
        self.ledger.close()
        self.state.close()
