"""A role that may charge can do nothing else, whatever it was granted before, and is refused where it could still."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url
from tests.ledger.test_postgres import address as address  # the fixture
from tests.ledger.test_schema import CHANGES, ITEM, fill
from tests.services import needs_postgres

from tetraodon.errors import LedgerError
from tetraodon.ledger import Ledger
from tetraodon.ledger.charging import Bill
from tetraodon.ledger.schema import tables


def did(address: str, *statements: str) -> None:
    with psycopg.connect(address.replace("+psycopg", ""), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)  # type: ignore[arg-type]


@needs_postgres
def test_a_role_that_charges_can_change_and_delete_nothing(
    address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fill(address, monkeypatch, tmp_path)
    role, owner = "charger of " + "".join(filter(str.isalnum, address))[-12:], address.replace("+psycopg", "")
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'secret'").format(sql.Identifier(role)))
    with Ledger(address) as book:
        book.grant(role)
    theirs = make_url(address).set(username=role, password="secret")
    with Ledger(theirs.render_as_string(hide_password=False)) as book:
        made = book.reserve("adult", Bill(asked=1, charged=Fraction(1, 2), item=ITEM, owner="ann"))
        book.settle(made, manifest_hash="cd")
        book.record_refusal("adult", "table-refused")
        assert (book.left("adult"), book.audit().holds) == (Fraction(1, 2), True)
        governing: list[Callable[[], object]] = [
            lambda: book.grant("postgres"),
            lambda: book.allot("adult", "bob", 1),
            lambda: book.open("other", 9, {}),
            lambda: book.correct("panel", 9),
            book.new_key,
        ]
        for deed in governing:
            with pytest.raises(LedgerError):
                deed()
    tries = [*CHANGES, "DROP TABLE running", "DROP TRIGGER entries_keep ON entries", "UPDATE meta SET value = '9'"]
    tries += [f"INSERT INTO {name} SELECT * FROM {name}" for name in ("accounts", "corrections", "allotments", "keys")]
    tries += ["ALTER TABLE entries DISABLE TRIGGER ALL", "UPDATE accounts SET opened = ''", "DELETE FROM entries"]
    refused = psycopg.errors.InsufficientPrivilege, psycopg.errors.IntegrityConstraintViolation
    plain = {"host": theirs.host, "port": theirs.port, "user": role, "password": "secret", "dbname": theirs.database}
    with psycopg.connect(**plain, autocommit=True) as connection:  # type: ignore[arg-type]
        for change in tries:
            with pytest.raises(refused):
                connection.execute(sql.SQL(change))  # type: ignore[arg-type]


def test_a_file_has_no_roles(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match=r"a file has no roles.*Fix: keep the ledger on a Postgres server"):
        ledger.grant("charger")


WIDER = (
    "GRANT ALL ON ALL TABLES IN SCHEMA public TO {}",
    "GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {}",
    "GRANT UPDATE (total), INSERT (total) ON accounts TO {}",
)


@needs_postgres
def test_what_a_role_was_granted_before_is_taken_away(address: str) -> None:
    role = f"wider_{secrets.token_hex(4)}"
    with Ledger(address) as book:
        book.open("adult", 1, {})
        did(address, f"CREATE ROLE {role}", *(words.format(role) for words in WIDER))
        book.grant(role)
    with psycopg.connect(address.replace("+psycopg", "")) as connection:
        having = "SELECT has_any_column_privilege(%s, %s, %s)"
        for name in (table.name for table in tables.sorted_tables):
            for deed in ("DELETE", "TRUNCATE", "TRIGGER"):
                asked = connection.execute("SELECT has_table_privilege(%s, %s, %s)", [role, name, deed]).fetchone()
                assert asked == (False,), (name, deed)
        for name in ("accounts", "allotments", "corrections", "keys", "meta"):
            assert connection.execute(having, [role, name, "INSERT"]).fetchone() == (False,), name
        numbers = connection.execute("SELECT has_sequence_privilege(%s, 'keys_id_seq', 'USAGE')", [role]).fetchone()
        assert numbers == (False,)


@needs_postgres
@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["CREATE ROLE {0}_group", "GRANT DELETE ON entries TO {0}_group", "GRANT {0}_group TO {0}"], "DELETE entries"),
        (["GRANT INSERT (total) ON accounts TO PUBLIC"], "INSERT accounts.total"),
        (["ALTER ROLE {0} SUPERUSER"], "owner of"),
        (["ALTER ROLE {0} NOINHERIT", "GRANT owner TO {0}"], "owner of"),
    ],
    ids=["group", "everybody", "superuser", "owner"],
)
def test_more_from_elsewhere_is_refused(address: str, more: list[str], told: str) -> None:
    role = f"more_{secrets.token_hex(4)}"
    with Ledger(address) as book:
        book.open("adult", 1, {})
        did(address, f"CREATE ROLE {role}", *(words.format(role) for words in more))
        with pytest.raises(LedgerError, match=rf"may do more than charge.*{told}.*Fix: use a role of its own"):
            book.grant(role)
