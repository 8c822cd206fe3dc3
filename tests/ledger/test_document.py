from __future__ import annotations

import hashlib
import math
from fractions import Fraction
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.errors import LedgerError
from tetraodon.ledger.amount import canonical_text, document_from_text, document_hash

text = st.text(st.characters(exclude_categories=["Cs"]))
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
values = st.recursive(leaves, lambda v: st.lists(v) | st.dictionaries(text, v), max_leaves=8)
documents = st.dictionaries(text, values, max_size=4)


@given(documents)
def test_a_document_reads_back_as_it_was(document: dict[str, object]) -> None:
    kept = canonical_text(document)
    assert document_from_text(kept) == document
    assert canonical_text(document_from_text(kept)) == kept


def test_order_and_kind_of_mapping_do_not_matter() -> None:
    one = {"a": [1, 2], "b": {"d": 1, "c": 2}}
    other = MappingProxyType({"b": MappingProxyType({"c": 2, "d": 1}), "a": (1, 2)})
    assert canonical_text(one) == canonical_text(other)


def test_the_hash_is_of_the_text() -> None:
    assert document_hash({"é": 1}) == hashlib.sha256('{"é":1}'.encode()).hexdigest()


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, Fraction(1, 3), {1: "a"}, {"a", "b"}, b"a", "\ud800", object(), [10**5000]],
)
def test_what_json_would_change_is_refused(value: object) -> None:
    with pytest.raises(LedgerError, match="JSON cannot keep"):
        canonical_text({"a": [value]})


def test_a_document_inside_itself_is_refused() -> None:
    document: dict[str, object] = {}
    document["itself"] = document
    with pytest.raises(LedgerError, match="JSON cannot keep"):
        canonical_text(document)


def test_only_mappings_are_documents() -> None:
    with pytest.raises(LedgerError, match="not a mapping"):
        canonical_text([1])  # type: ignore[arg-type]


@pytest.mark.parametrize("kept", ["", "[1]", "{", "null", pytest.param("[" * 100_000, id="deep")])
def test_text_that_we_would_not_write_is_damage(kept: str) -> None:
    with pytest.raises(LedgerError, match="did not write"):
        document_from_text(kept)
