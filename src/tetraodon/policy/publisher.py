"""Whose publication it is: the office's own words for the report, which change nothing that is promised."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Annotated, Any

from pydantic import Field, PlainValidator, WithJsonSchema

from tetraodon.errors import PolicyError, did_you_mean
from tetraodon.policy.section import Section
from tetraodon.policy.typed import Paragraph, Text, refuse, shown

OURS = "en"
"""The language that our own sentences are written in."""
LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}")
NOISY = (
    "Random noise protects the people behind these numbers. Each comes with an interval that holds the true number "
    "with a probability of at least 95%."
)
EXACT = "These numbers are exact: what the policy calls a secret changes none of them."
PHRASES = (
    "Source",
    "Contact",
    "Licence",
    "On this page",
    NOISY,
    EXACT,
    "The numbers",
    "How it was made and how sure it is",
    "The promise",
    "The whole promise in words",
    "The release as a whole",
    "How to read and check it",
    "A published view: records among noise",
    "How far off it is",
    "What it promises",
    "Whom it exposes",
    "How it was chosen",
    "How to count with it",
    "What it costs",
)
"""What stands on a page whatever is released: an office may say it in its own language."""


@dataclass(frozen=True, slots=True)
class Publisher:
    """An office: its name, where the data come from, whom to ask, under which licence, and in which language it writes.

    `words` are pairs of a phrase of ours and the same in the office's language.

    >>> Publisher(name="Statistics Office", language="de").document()
    {'name': 'Statistics Office', 'language': 'de'}
    """

    name: str = ""
    source: str = ""
    contact: str = ""
    licence: str = ""
    language: str = OURS
    words: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not LANGUAGE.fullmatch(self.language):
            raise PolicyError("this is not the tag of a language", fix="write one such as en, de or pt-BR")
        for phrase, _ in self.words:
            if phrase not in PHRASES:
                raise PolicyError("a report has no such phrase", fix=did_you_mean(phrase, PHRASES))

    @property
    def lines(self) -> tuple[str, ...]:
        """What the office says of itself, a line each."""
        told = (("Source", self.source), ("Contact", self.contact), ("Licence", self.licence))
        said = dict(self.words)
        return (*filter(None, [self.name]), *(f"{said.get(word, word)}: {text}" for word, text in told if text))

    def document(self) -> dict[str, Any]:
        """What differs from the defaults, as the policy file says it."""
        told = {field.name: getattr(self, field.name) for field in fields(self)}
        told["words"] = dict(self.words)
        return {name: said for name, said in told.items() if said and (name, said) != ("language", OURS)}


NOBODY = Publisher()
"""Who says nothing of themselves."""


def _language(value: object) -> str:
    if not isinstance(value, str) or not LANGUAGE.fullmatch(value):
        refuse(f"{shown(value)} is not the tag of a language", "write one such as en, de or pt-BR")
    return value


def _phrase(value: object) -> str:
    if value not in PHRASES:
        refuse(f"{shown(value)} is no phrase of a report", did_you_mean(str(value), PHRASES))
    return str(value)


class PublisherSection(Section):
    """Whose publication it is."""

    name: Text | None = None
    source: Text | None = None
    contact: Text | None = None
    licence: Text | None = None
    language: Annotated[str, PlainValidator(_language), WithJsonSchema({"type": "string"})] = OURS
    words: dict[Annotated[str, PlainValidator(_phrase), WithJsonSchema({"enum": list(PHRASES)})], Paragraph] = Field(
        default_factory=dict
    )

    def publisher(self) -> Publisher:
        """What was said, understood."""
        said = {name: told for name, told in self if told is not None}
        return Publisher(**said | {"words": tuple(sorted(self.words.items()))})
