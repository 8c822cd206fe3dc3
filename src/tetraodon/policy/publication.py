"""What a policy says of the publication: its publisher, and the errors it may have."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any

from pydantic import ConfigDict, Field, PlainValidator, WithJsonSchema, model_validator

from tetraodon.errors import PolicyError, did_you_mean
from tetraodon.exact.rational import Number, confidence_level, decimal_text, rational
from tetraodon.policy.section import SHARE, Exact, Paragraph, Section, Short, Text, Whole, read_as, refuse, share, shown

# -- error target -----------------------------------------------------------------------------------
# How far off an answer may be, as people state it: in its own unit, or as a share of answers from some size on.

_TEXT = re.compile(r"\s*(\S+?)\s*(?:\bfrom\s+(\S+)\s*)?")
FORMS = "50, or 5% from 1000 for answers of 1,000 and more"


def _split(value: object) -> object:
    """`5% from 1000` as a map."""
    if not isinstance(value, str):
        return value
    found = _TEXT.fullmatch(value)
    if found is None:
        refuse("this does not say how large an error may be", f"write {FORMS}")
    return {"within": found[1]} | ({"from": found[2]} if found[2] else {})


def _confidence(value: object) -> Fraction:
    try:
        return value if isinstance(value, Fraction) else confidence_level(value if isinstance(value, str) else "")
    except PolicyError as error:
        refuse(error.what, error.fix)


class ErrorTarget(Section):
    """Within so much of the truth, with so much confidence; `least` makes it a share of answers of at least that size.

    `records` is the least number of records behind a mean or the like, without which its error is not known beforehand.

    >>> str(error_target(50)), str(error_target("5% from 1000"))
    ('±50', '±5% of answers from 1000 on')
    """

    model_config = ConfigDict(populate_by_name=True)

    within: Annotated[Exact, WithJsonSchema(SHARE)]
    least: Exact | None = Field(default=None, alias="from")
    records: Annotated[Whole, WithJsonSchema({"type": "integer", "minimum": 1})] | None = None
    confidence: Annotated[Fraction, PlainValidator(_confidence), WithJsonSchema(SHARE)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_which_answers(cls, given: Any) -> Any:
        """Refuse a share that is not said of which answers, and a size of answers without a share of them."""
        within = given.get("within") if isinstance(given, dict) else None
        if not isinstance(within, str):
            return given
        relative = within.rstrip().endswith("%")
        if relative != (given.get("from") is not None):
            refuse(
                "a share is not said of which answers" if relative else "`from` stands without a share",
                f"write {FORMS}",
            )
        return {**given, "within": share(within) if relative else within}

    @model_validator(mode="after")
    def _positive(self) -> ErrorTarget:
        if self.within <= 0:
            refuse("the error is not positive", "write an error above zero")
        if self.least is not None and self.least <= 0:
            refuse("`from` is not positive", "write the size from which on answers matter")
        if self.records is not None and self.records < 1:
            refuse("`records` is not positive", "write how many records there are at least")
        return self

    @property
    def allowed(self) -> Fraction:
        """The distance that answers may be off: a share of the smallest answer that it is about."""
        return self.within if self.least is None else self.within * self.least

    def filled(self, records: int | None, confidence: Fraction) -> ErrorTarget:
        """The same, with what it leaves open."""
        return self.model_copy(update={"records": self.records or records, "confidence": self.confidence or confidence})

    def __str__(self) -> str:
        if self.least is None:
            return f"±{decimal_text(self.within)}"
        return f"±{decimal_text(100 * self.within)}% of answers from {decimal_text(self.least)} on"

    def document(self) -> dict[str, Any]:
        """As it is written in a policy file."""
        within = self.within if self.least is None else f"{decimal_text(100 * self.within)}%"
        said = {"within": within, "from": self.least, "records": self.records, "confidence": self.confidence}
        return {
            key: decimal_text(value) if isinstance(value, Fraction) else value
            for key, value in said.items()
            if value is not None
        }


ErrorEntry = Annotated[ErrorTarget, Short(_split, {"type": ["number", "string"]})]


def error_target(given: Number | ErrorTarget) -> ErrorTarget:
    """An error target typed on the command line or in Python.

    >>> error_target(50).allowed, error_target("5% from 1000").allowed
    (Fraction(50, 1), Fraction(50, 1))
    """
    if isinstance(given, ErrorTarget):
        return given
    written = given if isinstance(given, str) else {"within": rational(given, name="the error")}
    found: ErrorTarget = read_as(ErrorEntry, written)
    return found


# -- publisher --------------------------------------------------------------------------------------

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
"""Phrases on every page, which an office may translate into its own language."""


def _language(value: object) -> str:
    if not isinstance(value, str) or not LANGUAGE.fullmatch(value):
        refuse(f"{shown(value)} is not the tag of a language", "write one such as en, de or pt-BR")
    return value


def _phrase(value: object) -> str:
    if value not in PHRASES:
        refuse(f"{shown(value)} is no phrase of a report", did_you_mean(str(value), PHRASES))
    return str(value)


Phrase = Annotated[str, PlainValidator(_phrase), WithJsonSchema({"enum": list(PHRASES)})]


class Publisher(Section):
    """An office: its name, where the data come from, whom to ask, under which licence, and in which language it writes.

    `words` are phrases of ours and the same in the office's language.

    >>> Publisher(name="Statistics Office", language="de").document()
    {'name': 'Statistics Office', 'language': 'de'}
    """

    name: Text = ""
    source: Text = ""
    contact: Text = ""
    licence: Text = ""
    language: Annotated[str, PlainValidator(_language), WithJsonSchema({"type": "string"})] = OURS
    words: dict[Phrase, Paragraph] = Field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(repr(self))

    @property
    def lines(self) -> tuple[str, ...]:
        """What the office says of itself, a line each."""
        lines = (("Source", self.source), ("Contact", self.contact), ("Licence", self.licence))
        return (*filter(None, [self.name]), *(f"{self.words.get(word, word)}: {text}" for word, text in lines if text))

    def document(self) -> dict[str, Any]:
        """What differs from the defaults, as the policy file says it."""
        return self.model_dump(exclude_defaults=True)


NOBODY = Publisher()
"""Who says nothing of themselves."""
