"""The first draft of a policy file, from the names and types of columns and never from their values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, TypeAlias

from tetraodon.policy.document import NONE_BUT_PRESENCE
from tetraodon.policy.load import PLACEHOLDER

Kind: TypeAlias = Literal["integer", "real", "text", "date", "boolean", "unknown"]
UNKNOWN: Literal["unknown"] = "unknown"
"""What the columns of a CSV file are, which has no types."""

_TOP = f"""\
# A draft. Wherever it says {PLACEHOLDER}, only you can say what belongs there, and it must come from public
# knowledge: a questionnaire, a code book, a law. Never take a bound or a category from the data themselves; the
# smallest and the largest value that occur are somebody's values. `tetraodon check` refuses the file until then.
tetraodon: 1
"""
Promise: TypeAlias = Literal["everything", "presence"]
"""What a draft promises until somebody says otherwise: that any two records are a secret, or presence alone."""
_SECRETS: dict[Promise, str] = {
    "everything": """
# What must not be told apart. Whatever is not named here is wholly secret, which is the strongest protection. E.g.
#   age: {within: 5}                  ages at most 5 years apart
#   region: {blocks: [[a, b], [c]]}   values of the same block
#   sex: public                       not protected at all
secrets: {}
together: all at once                 # or: one attribute at a time
""",
    "presence": f"""
# Whether a person is in the data is a secret, and nothing else: differential privacy as libraries mean it that add or
# remove one record. Any two values of a person are two steps apart. For a stronger promise, drop this line.
secrets: {NONE_BUT_PRESENCE}
""",
}
_MIDDLE = """\
budget: {epsilon: 1}                  # smaller is safer; `tetraodon explain` says what it means

# What to release; `share` is a relative weight of the budget. Also: cdf, ranges, total, mean, quantiles.
release:
  - {name: records, count: all}
"""
_NAMED: tuple[tuple[str, str, str], ...] = (
    ("age|years old", "{integer: [?, ?], missing: separate}", "in full years; for example [0, 120]"),
    (
        "sex|gender",
        "{categories: [?, ?], missing: separate, other: ?, trim: true}",
        "the answers that could be given; for example [Female, Male, other]",
    ),
    ("year", "{integer: [?, ?], missing: separate}", "for example [1900, 2030]"),
    ("month", "{integer: [?, ?], missing: separate}", "for example [1, 12]"),
    (
        "lat|latitude",
        "{real: [?, ?], step: ?, missing: separate}",
        "in degrees; for example [-90, 90] in steps of 0.01",
    ),
    (
        "lon|lng|longitude",
        "{real: [?, ?], step: ?, missing: separate}",
        "in degrees; for example [-180, 180] in steps of 0.01",
    ),
    (
        "zip|zipcode|postcode|postal",
        "{categories: [?, ?], missing: separate, other: ?, trim: true}",
        "the list of all postal areas, from the post office",
    ),
)
_TYPED: dict[Kind, tuple[str, str]] = {
    "integer": ("{integer: [?, ?], missing: separate}", "the smallest and the largest value there can be"),
    "real": ("{real: [?, ?], step: ?, missing: separate}", "the ends that are possible, and the step to round to"),
    "date": ("{date: [?, ?], missing: separate}", "the first and the last day there can be, such as 2026-01-01"),
    "boolean": ("{boolean: true, missing: separate}", ""),
    "text": (
        "{categories: [?, ?], missing: separate, other: ?, trim: true}",
        "every value there can be; other is among them",
    ),
    "unknown": (
        "?",
        "{integer: [0, 9], missing: separate}, {real: [0, 9], step: 0.1, missing: separate}, "
        "{date: [2026-01-01, 2026-12-31], format: DD.MM.YYYY}, boolean or [a, b]",
    ),
}
NOTHING: Mapping[str, str] = MappingProxyType({})
_IDENTITY = re.compile(r"(^|_)(id|key|ssn|nr|no|number|uuid)$|^(id|key)_", re.IGNORECASE)


def starter(
    columns: Iterable[tuple[str, Kind]],
    dataset: str,
    *,
    told: Mapping[str, str] = NOTHING,
    key: str = "",
    rows: str = "",
    remarks: Sequence[str] = (),
    promise: Promise = "everything",
) -> str:
    """Text of a new policy file for a table with these columns.

    What somebody else `told` about the columns, `remarks` about the table, and how many `rows` a person has at most by
    the `key`, stand in comments.

    Post  holds no value of the table: bounds and categories are placeholders that `check` refuses.

    >>> print(starter([("age", "integer"), ("person_id", "text")], "people").splitlines()[8])
      age: {integer: [CONFIRM, CONFIRM], missing: separate}   # in full years; for example [0, 120]
    """
    kinds = dict(columns)
    keys = [key] if key else [name for name in kinds if _IDENTITY.search(name)]
    lines = [f"dataset: {_quoted(dataset)}                       # the name of the data in the ledger"]
    if keys:
        lines.append(
            f"individuals: {{key: {_quoted(keys[0])}, at most: {PLACEHOLDER}}}   # rows that one person can have"
            + (f"; the metadata say {_comment(rows)}" if rows else "")
        )
    else:
        lines.append("individuals: one row each             # or {key: COLUMN, at most: 3 rows}")
    or_public = "" if promise == "presence" else "                      # or public, if the number of records is known"
    lines.append(f"presence: secret{or_public}")
    lines.append("attributes:")
    drafted = [_attribute(name, kind, told.get(name, "")) for name, kind in kinds.items() if name not in keys]
    lines += drafted or [f"  {PLACEHOLDER}: [{PLACEHOLDER}]"]
    lines += [f"  # {_quoted(name)} tells people apart, and is left out" for name in keys]
    lines += [f"# {_comment(remark)}" for remark in remarks]
    return _TOP + "\n".join(lines) + "\n" + _SECRETS[promise] + _MIDDLE


def _comment(text: str) -> str:
    """A text that stays on its line."""
    return " ".join(re.sub(r"[^\w\s.,:;()`'-]", "?", text).split())[:300]


def _attribute(name: str, kind: Kind, told: str = "") -> str:
    form, hint = _TYPED[kind]
    if kind != "boolean":
        words = re.sub(r"[^a-z]+", " ", name.lower())
        for pattern, named, comment in _NAMED:
            if re.search(rf"\b({pattern})\b", words) and _fits(kind, named):
                form, hint = named, comment
                break
    said = "; ".join(part for part in (hint, _comment(told)) if part)
    return f"  {_quoted(name)}: {form.replace('?', PLACEHOLDER)}" + (f"   # {said}" if said else "")


def _fits(kind: Kind, form: str) -> bool:
    """Whether a guess from the name agrees with the type of the column, if it has one."""
    return kind == UNKNOWN or {"integer": kind in ("integer", "real"), "real": kind in ("integer", "real")}.get(
        form[1:].split(":")[0], kind in ("integer", "text")
    )


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[^\W\d][\w-]*", name) else json.dumps(name, ensure_ascii=False)
