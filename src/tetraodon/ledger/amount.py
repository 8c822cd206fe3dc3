"""Amounts of privacy loss, exact in memory and as text, and the documents a ledger keeps."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from tetraodon.errors import LedgerError, PolicyError
from tetraodon.exact.rational import Number, decimal_text, rational, rounded_up


def damage(held: str = "") -> LedgerError:
    """The error for a ledger that is damaged, or holds something that Tetraodon did not write."""
    what = f"the ledger holds {held} that Tetraodon did not write" if held else "the ledger is damaged"
    return LedgerError(what, fix="restore the ledger from a backup")


# -- document ---------------------------------------------------------------------------------------
# JSON documents kept for later readers: one text per document, and one hash per text.

_FIX = (
    "use only mappings with text keys, lists, text, whole or finite numbers, true, false and null; "
    "write an exact amount as text such as '1/3'"
)


def _plain(value: object) -> object:
    """The value in the types that JSON reads back; refuses what JSON would quietly change."""
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(part) for key, part in value.items()}
    raise LedgerError("the document holds something that JSON cannot keep", fix=_FIX)


def canonical_text(document: Mapping[str, Any]) -> str:
    """The one text of a document: keys sorted, no spaces.

    Post  equal documents have equal texts, and the text reads back as the document.

    >>> canonical_text({"b": (1, 2), "a": None})
    '{"a":null,"b":[1,2]}'
    """
    if not isinstance(document, Mapping):
        raise LedgerError("the document is not a mapping", fix=_FIX)
    try:
        text = json.dumps(_plain(document), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        text.encode()
    except (ValueError, RecursionError):  # broken text, a giant integer, or a document in itself
        raise LedgerError("the document holds something that JSON cannot keep", fix=_FIX) from None
    return text


def document_hash(document: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical text, in hexadecimal.

    >>> document_hash({"a": 1, "b": 2}) == document_hash({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(canonical_text(document).encode()).hexdigest()


def document_from_text(text: object) -> dict[str, Any]:
    """The document that was stored as this text.

    >>> document_from_text('{"a":[1]}')
    {'a': [1]}
    """
    try:
        document = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise damage("a document")
    return document


# -- amount -----------------------------------------------------------------------------------------

# Python refuses to print an integer of more than 4300 digits; we stop well before.
MOST_DIGITS = 1000
_LIMIT = 10**MOST_DIGITS
_TEXT = re.compile(r"[0-9]+(/[0-9]+)?")
_SHORT_DENOMINATOR = 10**6


def amount(number: object, *, name: str) -> Fraction:
    """An amount as given by a caller, or a refusal.

    Pre   a Fraction or an int. A float is refused even when it is whole: it may have been rounded down
          on its way here.
    Post  finite and at least zero, with at most `MOST_DIGITS` digits above and below the line.

    >>> amount(3, name="the total")
    Fraction(3, 1)
    """
    if isinstance(number, float) and math.isinf(number):
        raise LedgerError(
            f"{name} is infinite, and no total covers that",
            fix="change the policy or the plan so that the loss is finite under the governing policy",
        )
    if isinstance(number, bool) or not isinstance(number, (Fraction, int)):
        raise LedgerError(f"{name} is not an exact number", fix="give a Fraction or an int")
    exact = Fraction(number)
    if exact < 0:
        raise LedgerError(f"{name} is negative", fix="give zero or more: nothing is ever paid back")
    if exact.numerator >= _LIMIT or exact.denominator >= _LIMIT:
        raise LedgerError(f"{name} has more than {MOST_DIGITS} digits", fix="round it up to fewer decimals first")
    return exact


def exact_amount(number: Number, name: str) -> Fraction:
    """An amount as its writer meant it.

    >>> exact_amount("12.35", "the total"), exact_amount(0.1, "the total")
    (Fraction(247, 20), Fraction(1, 10))
    """
    try:
        return amount(rational(number, name=name), name=name)
    except PolicyError as error:
        raise LedgerError(error.what, fix=error.fix) from None


def amount_text(exact: Fraction) -> str:
    """How an amount is stored.

    >>> amount_text(Fraction(2, 6)), amount_text(Fraction(3))
    ('1/3', '3')
    """
    return str(exact)


def amount_from_text(text: object) -> Fraction:
    """The amount that was stored as this text; anything that we would not have stored is damage.

    >>> amount_from_text("1/3")
    Fraction(1, 3)
    """
    if isinstance(text, str) and _TEXT.fullmatch(text) and len(text) <= 2 * MOST_DIGITS + 1:
        top, _, bottom = text.partition("/")
        below = int(bottom or "1")
        if below and amount_text(exact := Fraction(int(top), below)) == text:
            return exact
    raise damage("an amount")


def shown_above(exact: Fraction) -> str:
    """A short text for a cost: exact when that is short, else rounded up.

    >>> shown_above(Fraction(1, 3)), shown_above(Fraction(1, 10**20))
    ('1/3', '0.000000000001')
    """
    if exact.denominator <= _SHORT_DENOMINATOR:
        return decimal_text(exact)
    return decimal_text(rounded_up(exact))


def shown_below(exact: Fraction) -> str:
    """A short text for what is left: exact when that is short, else rounded down.

    >>> shown_below(Fraction(1, 10)), shown_below(1 - Fraction(1, 10**20))
    ('0.1', '0.999999999999')
    """
    if exact.denominator <= _SHORT_DENOMINATOR:
        return decimal_text(exact)
    return decimal_text(-rounded_up(-exact))
