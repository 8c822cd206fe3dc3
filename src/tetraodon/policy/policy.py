"""What a curator has said: the data, what is secret about it, the budget, and what is to be released."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from tetraodon.display import Displayed
from tetraodon.domain import Domain
from tetraodon.errors import PolicyError
from tetraodon.exact.rational import Exact, Number, decimal_text, rational
from tetraodon.exact.zcdp import epsilon_at
from tetraodon.policy.adversary import Adversary
from tetraodon.policy.attackers import INDEPENDENT, Attackers, Chain
from tetraodon.policy.known import Known
from tetraodon.policy.publication import NOBODY, ErrorTarget, Publisher
from tetraodon.policy.secret_graph import SecretGraph, complete_graph
from tetraodon.policy.source import sibling_file
from tetraodon.query.linear import LinearQuery
from tetraodon.query.moments import Derived
from tetraodon.query.query import Query, asked_in_words
from tetraodon.query.records_where import RecordsWhere, records_where
from tetraodon.wording import listing, number_of

LEAST, MOST = Fraction(1, 10**9), 10**6
"""Budgets that can mean something: below, nothing is learnt; above, nothing is protected."""
UNREADABLE = Fraction(1, 100)
"""The share of a column that may be unreadable where the policy does not say."""


USUAL_LENGTH, LONGEST = 100, 1000
"""The most characters of a name where the policy does not say, and the most that it may say."""


@dataclass(frozen=True, slots=True)
class OpenText:
    """A column of text. It is no attribute of the domain: nothing is known of its values but how long they may be.

    A value that is missing, longer than `longest` or has characters that cannot be printed names no one.
    """

    name: str
    longest: int = USUAL_LENGTH
    trim: bool = False
    secret: bool = True
    """Whether any two values are a secret; otherwise none are."""

    def __post_init__(self) -> None:
        if not 1 <= self.longest <= LONGEST:
            raise PolicyError(
                f"`longest` is not between 1 and {LONGEST:,}", fix="write how many characters a name has at most"
            )


@dataclass(frozen=True, slots=True)
class NamesItem:
    """One thing to release: the names in a column of open text that enough people have."""

    name: str
    column: str
    share: Fraction = Fraction(1)
    title: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_item(self.name, self.share)


def check_item(name: str, share: Fraction) -> None:
    """Refuse a name that no file can have, and a share that is none."""
    if not re.fullmatch(r"\w[\w.-]{0,63}", name) or len(name.encode()) > 200:
        raise PolicyError(f"{name!r} cannot be the name of a file", fix="name items with letters, digits, - and _")
    if share <= 0:
        raise PolicyError(f"the share of {name} is not positive", fix="write a share above zero")


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to release. `whole` counts are whole and not negative, at the price of a bias.

    `title` and `notes` are the office's words for the report, where there are any.
    Where there is a `where`, the question is about the records for which that condition holds, and about values that
    they can have.
    """

    name: str
    query: Query
    share: Fraction = Fraction(1)
    whole: bool = True
    title: str = ""
    notes: tuple[str, ...] = ()
    where: str = ""
    error: ErrorTarget | None = None
    """How far off it may be; a release that would not keep it is refused."""

    def __post_init__(self) -> None:
        check_item(self.name, self.share)
        if self.error is not None and isinstance(self.query, Derived) and self.error.records is None:
            raise PolicyError(
                f"how far {self.name} may be off depends on how many records it is over",
                fix="say how many at least, as in {within: 0.5, records: 5000}",
            )

    def among(self, domain: Domain) -> RecordsWhere | None:
        """The records that it is about; None if it is about all of them."""
        answered = tuple(name for name in self.query.needs() if domain[name].separate)
        return records_where(self.where, answered, domain) if self.where or answered else None

    def inside(self, domain: Domain) -> Domain:
        """What those records can be like."""
        those = self.among(domain)
        return domain if those is None else those.inside

    def linear(self, domain: Domain) -> LinearQuery:
        """What is counted or added up, as a linear query over all records."""
        those = self.among(domain)
        return self.query.linear(domain) if those is None else those.lifted(self.query.linear(those.inside))

    @property
    def asked(self) -> str:
        """What it asks for, in a few words."""
        return asked_in_words(self.query) + self.among_whom

    @property
    def among_whom(self) -> str:
        """The end of a few words about it, where it is not about all records."""
        return f", among those with {self.where}" if self.where else ""

    def sentence(self, domain: Domain) -> str:
        """What it asks for, in a sentence or two."""
        those = self.among(domain)
        answered = () if those is None else those.answered
        only = [*([self.where] if self.where else []), *(f"{name} that is not missing" for name in answered)]
        only_these = f" Only records with {listing(only)} count." if only else ""
        return self.query.sentence(self.inside(domain)) + only_these


@dataclass(frozen=True, slots=True)
class Policy(Displayed):
    """A policy file, understood. `document` is the file as plain data; equal policies have equal documents."""

    dataset: str
    domain: Domain
    graph: SecretGraph
    epsilon: Fraction
    items: tuple[Item, ...]
    presence: Literal["public", "secret"] = "secret"
    key: str = ""
    rows_per_person: int = 1
    """How many rows of a person one step may change: all they may have, unless `every_row` counts."""
    every_row: bool = False
    """Whether a person may have any number of rows, of which a step changes `rows_per_person` at most."""
    title: str = ""
    publisher: Publisher = NOBODY
    population: str = ""
    """The people that this data set and others are about, with one account for all of them; empty if it is alone."""
    adversary: Adversary | None = None
    public: tuple[tuple[str, str], ...] = ()
    attackers: Attackers = INDEPENDENT
    document: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    source: str = field(default="", compare=False)
    folder: Path | None = field(default=None, compare=False, repr=False)
    delta: Fraction = Fraction(0)
    """Above zero, Gaussian noise may be used: the odds are then kept but for this probability."""
    rho: Fraction | None = None
    """The budget where it is given in zCDP; `epsilon` is then what follows at `delta`."""
    open: tuple[OpenText, ...] = ()
    names: tuple[NamesItem, ...] = ()
    """The items that publish names from columns of open text."""
    once: bool = False
    """Whether one release takes all of the delta, so that its Gaussian noise is priced by itself and not in zCDP."""

    def __post_init__(self) -> None:
        if not 0 <= self.delta < 1:
            raise PolicyError("delta is not a probability", fix="write a small one, such as 1e-6", where="budget")
        for name in ("epsilon", "delta"):
            object.__setattr__(self, name, Exact(getattr(self, name)))
        if self.epsilon <= 0:
            raise PolicyError("epsilon is not positive", fix="write a budget above zero", where="budget")
        if not LEAST <= self.epsilon <= MOST:
            raise PolicyError(
                "epsilon is out of all proportion",
                fix=f"write a budget from {float(LEAST):g} to {MOST:,}",
                where="budget",
            )
        names = [*(item.name for item in self.items), *(item.name for item in self.names)]
        twice = sorted(name for name, times in Counter(names).items() if times > 1)
        if twice:
            raise PolicyError(f"two items are called {twice[0]!r}", fix="give each its own name", where="release")

    @property
    def account(self) -> str:
        """Whose total in the ledger pays for releases: that of the population, or of the data set alone."""
        return self.population or self.dataset

    @property
    def known(self) -> tuple[Known, ...]:
        """What is public about the data already. It travels with the graph, where every certificate sees it."""
        return self.graph.known

    @property
    def steps_join(self) -> bool:
        """Whether a chain of steps bounds the odds between its ends: all of it must be possible to an attacker."""
        return not self.known and not (isinstance(self.attackers, Chain) and not self.attackers.always_possible)

    @property
    def size_is_public(self) -> bool:
        """Whether the number of rows is known: presence is public and everybody has exactly one row."""
        return self.presence == "public" and not self.key

    @property
    def table_hints(self) -> dict[str, str]:
        """How a CSV file is written, as far as the policy says it."""
        hints = (self.document.get("table") or {}).items()
        return {str(name): str(hint) for name, hint in hints if name != "unreadable"}

    @property
    def unreadable(self) -> Fraction:
        """The share of a column's rows that may be unreadable or become a value that the table does not hold."""
        stated = (self.document.get("table") or {}).get("unreadable")
        return UNREADABLE if stated is None else rational(stated)

    @property
    def cuts_rows(self) -> bool:
        """Whether the first rows of a person with more than allowed are used; otherwise none of them are.

        Why  which rows come first may change with any of them. So a row may take any other's place, which is one step
             where any two records are a secret, and more than a step anywhere else (docs/promise.md).
        """
        return self.graph.complete

    @property
    def budget(self) -> dict[str, int | str]:
        """The budget as it is written in a policy file, every number exact."""
        amount = {"epsilon": self.epsilon} if self.rho is None else {"rho": self.rho}
        both = amount | ({"delta": self.delta} if self.delta else {})
        found: dict[str, int | str] = {n: int(a) if a.denominator == 1 else decimal_text(a) for n, a in both.items()}
        return found | ({"once": True} if self.once else {})

    def with_epsilon(self, epsilon: Number) -> Policy:
        """The same promise at another price."""
        return self.with_budget(epsilon)

    def with_budget(self, epsilon: Number | None = None, delta: Number | None = None) -> Policy:
        """The same promise at another price, where one is given. Numbers are exact: 0.1 is one tenth."""
        forgiven = self.delta if delta is None else rational(delta, name="delta")
        if epsilon is None and self.rho is not None:
            return self.with_rho(self.rho, forgiven)
        price = self.epsilon if epsilon is None else rational(epsilon, name="epsilon")
        return self._priced(price, forgiven, None)

    def with_rho(self, rho: Number, delta: Number) -> Policy:
        """The same promise at a price in zCDP."""
        spent, forgiven = rational(rho, name="rho"), rational(delta, name="delta")
        return self._priced(epsilon_at(spent, forgiven), forgiven, spent)

    def _priced(self, epsilon: Fraction, delta: Fraction, rho: Fraction | None) -> Policy:
        priced = replace(self, epsilon=epsilon, delta=delta, rho=rho)
        return replace(priced, document={**self.document, "budget": priced.budget}) if self.document else priced

    def plain(self) -> Policy:
        """Plain differential privacy with the same epsilon and presence: any two records are a secret, and people are
        independent.
        """
        return replace(self, graph=complete_graph(self.graph), attackers=INDEPENDENT)

    def __repr__(self) -> str:
        size = f"{number_of(len(self.domain.names), 'attribute')}, {number_of(len(self.items), 'item')}"
        return f"<Policy {self.dataset}: {size}, epsilon {decimal_text(self.epsilon)}>"


# -- public tables ----------------------------------------------------------------------------------
# Public tables that travel with a view: files in the policy's folder, named by it, and what their columns are.

READ_WHOLE = (".csv", ".parquet")


@dataclass(frozen=True, slots=True)
class SideTable:
    """A file that is copied into a view folder as it is, for conditions to read."""

    name: str
    path: Path
    columns: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What will be copied, in words."""
        return (
            f"The public table {self.name} ({self.path.name}) is copied into the folder as it is, with its columns "
            f"{listing(self.columns)}."
        )


def side_tables(policy: Policy) -> dict[str, SideTable]:
    """The policy's public tables, looked for in the folder of its file.

    Refuses what is no plain CSV or Parquet file, and any path that leads out of the policy's folder: a view copies
    these files, and a policy from another author must not make it copy others.
    """
    return {name: _side_table(policy, name, file) for name, file in policy.public}


def _side_table(policy: Policy, name: str, file: str) -> SideTable:
    where = f"public {name}"
    if name == policy.dataset:
        raise PolicyError("a public table is called like the data set", fix="rename it", where=where)
    try:
        path = sibling_file(policy.folder, file)
    except PolicyError as error:
        raise error.at(where) from None
    columns: tuple[str, ...] = ()
    if path.suffix.lower() in READ_WHOLE and path.is_file():
        columns = _columns(path)
    if not columns:
        raise PolicyError(f"the public table {name} is not a CSV or Parquet file", fix="check its path", where=where)
    return SideTable(name, path, columns)


def _columns(path: Path) -> tuple[str, ...]:
    import duckdb  # a plan needs no database

    from tetraodon.engine.duckdb_source import text

    reader = "read_parquet" if path.suffix.lower() == ".parquet" else "read_csv"
    with suppress(duckdb.Error), duckdb.connect() as connection:  # DuckDB's words may quote the file
        rows = connection.execute(f"DESCRIBE SELECT * FROM {reader}({text(str(path))})").fetchall()
        return tuple(str(row[0]) for row in rows)
    return ()
