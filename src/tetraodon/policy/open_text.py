"""Columns whose values nobody has listed, such as postcodes or words, and items that tell the names in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from tetraodon.errors import PolicyError, did_you_mean
from tetraodon.policy.document import AttributeSection, PolicyDocument
from tetraodon.policy.source import Problems

USUAL_LENGTH, LONGEST = 100, 1000
"""The most characters of a name where the policy does not say, and the most that it may say."""
ONLY_SECRETS = ("everything", "public")


@dataclass(frozen=True, slots=True)
class OpenText:
    """A column of text. It is no attribute of the domain: nothing is known of its values but how long they may be.

    A value that is missing, longer than `longest` or has characters that cannot be printed is nobody's name.
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


def build_open(document: PolicyDocument, problems: Problems) -> tuple[PolicyDocument, tuple[OpenText, ...]]:
    """The columns of open text, and the document without what it says of them. Stops with every problem of theirs."""
    found = []
    for name, section in document.attributes.items():
        if section.kind != "open":
            continue
        secret = True
        with problems.at("secrets", name):
            secret = _secret(document, name)
        with problems.at("attributes", name):
            found.append(_open_text(name, section, document, secret=secret))
    problems.stop()
    names = {column.name for column in found}
    closed = {name: section for name, section in document.attributes.items() if name not in names}
    secrets = {name: section for name, section in document.secrets.items() if name not in names}
    return document.model_copy(update={"attributes": closed, "secrets": secrets}), tuple(found)


def _open_text(name: str, section: AttributeSection, document: PolicyDocument, *, secret: bool) -> OpenText:
    strange = section.model_fields_set - {"name", "open", "longest", "trim"}
    if strange:
        raise PolicyError(f"open text has no {min(strange)}", fix=f"drop `{min(strange)}:`")
    if document.individuals and document.individuals.key == name:
        raise PolicyError(f"{name} says whose row it is, and would be published", fix="drop it from `attributes`")
    return OpenText(name, USUAL_LENGTH if section.longest is None else section.longest, section.trim, secret)


def _secret(document: PolicyDocument, name: str) -> bool:
    kind = document.secrets[name].kind if name in document.secrets else "everything"
    if kind not in ONLY_SECRETS:
        raise PolicyError(f"{name} is open text, of which all or nothing is secret", fix="write everything, or public")
    return kind == "everything"


def build_names(document: PolicyDocument, columns: tuple[OpenText, ...], problems: Problems) -> tuple[NamesItem, ...]:
    """The items that tell names. Stops with every problem of theirs."""
    items = []
    for number, section in enumerate(document.release):
        if section.kind != "names":
            continue
        with problems.at("release", number):
            named = section.model_fields_set - {"name", "title", "notes", "names", "share"}
            if named:
                raise PolicyError(f"`{min(named)}` means nothing for `names`", fix="drop it")
            known = [column.name for column in columns]
            if section.names not in known:
                raise PolicyError(
                    f"{section.names} is not declared as open text",
                    fix=did_you_mean(section.names, known)
                    if known
                    else f"write `{section.names}: {{open: text}}` under `attributes`",
                )
            items.append(NamesItem(section.name, section.names, section.share, section.title or "", section.notes))
    problems.stop()
    return tuple(items)
