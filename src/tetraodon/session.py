"""A session for notebooks: one policy, the table it speaks of, and the ledger that pays."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from tetraodon.engine import Source
from tetraodon.errors import QueryError
from tetraodon.exact.rational import Exact, Number
from tetraodon.inference.estimate import CONFIDENCE
from tetraodon.ledger import Ledger
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.query.query import Query
from tetraodon.releases.plan import Plan
from tetraodon.releases.planning import asked_plan
from tetraodon.releases.release import Release
from tetraodon.releases.run import release

Asked = Sequence[Mapping[str, Any]] | Mapping[str, Query] | None
"""Items as under `release` of a policy file, or queries by the names of their items; None asks for the policy's own."""


class Session:
    """Plans, releases and answers about one table, under one policy, paid from one ledger.

    `plan` costs nothing and reads no table; `release` charges the ledger first; `ask` answers from the newest release,
    and costs nothing.

    ledger: an open ledger, or the address of one, which the session opens and closes.
    total:  the epsilon that the data set may spend in all; opens its account where the ledger has none yet.

    >>> policy = {
    ...     "dataset": "ages",
    ...     "attributes": {"age": {"integer": [0, 9]}},
    ...     "secrets": {"age": {"within": 2}},
    ...     "budget": {"epsilon": 1},
    ... }
    >>> import polars
    >>> from tetraodon.query.counts import histogram
    >>> table = polars.DataFrame({"age": [3, 4, 4, 5] * 50})
    >>> with Session(policy, table, ledger="ages.db", total=2) as session:
    ...     made = session.release({"ages": histogram("age")}, epsilon="0.5")
    ...     session.ask("age >= 4").upper > 100, session.left
    (True, 1.5)
    """

    def __init__(
        self,
        policy: AnyPolicy,
        table: Source,
        *,
        ledger: Ledger | str | os.PathLike[str],
        total: Number | None = None,
    ) -> None:
        self.policy, self.table = load_policy(policy), table
        self._own = not isinstance(ledger, Ledger)
        self.ledger = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
        self.releases: list[Release] = []
        """The releases made in this session, the oldest first."""
        try:
            if total is not None:
                self.ledger.open(self.policy.account, total, self.policy)
            self.ledger.account(self.policy.account)
        except BaseException:
            self.close()
            raise

    def plan(self, items: Asked = None, *, epsilon: Number | None = None) -> Plan:
        """The plan of some items at an epsilon, that of the policy unless given."""
        return asked_plan(self.policy.document, {"items": self._items(items), "epsilon": epsilon})

    def release(
        self, items: Asked = None, *, epsilon: Number | None = None, out: str | os.PathLike[str] | None = None
    ) -> Release:
        """Charge the ledger and release some items; with `out`, write the release folder."""
        made = release(self.plan(items, epsilon=epsilon), self.table, ledger=self.ledger, out=out)
        self.releases.append(made)
        return made

    def ask(self, question: str, *, confidence: Number = CONFIDENCE) -> Any:
        """Answer a question from the newest release, as `Release.ask`."""
        if not self.releases:
            raise QueryError("nothing was released in this session", fix="call release first")
        return self.releases[-1].ask(question, confidence=confidence)

    @property
    def left(self) -> Fraction:
        """The epsilon that is left of the total of the data set."""
        return Exact(self.ledger.left(self.policy.account))

    def _items(self, items: Asked) -> list[dict[str, Any]]:
        if items is None:
            return list(self.policy.document["release"])
        if isinstance(items, Mapping):
            by = {name: {"by": list(query.by)} if query.by else {} for name, query in items.items()}
            return [{"name": name, **query.document(), **by[name]} for name, query in items.items()]
        return [dict(item) for item in items]

    def close(self) -> None:
        """Close the ledger, if the session opened it."""
        if self._own:
            self.ledger.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Session {self.policy.account}: {len(self.releases)} releases>"
