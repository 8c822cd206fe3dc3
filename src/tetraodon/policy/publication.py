"""What a policy says of the publication: its publisher, and the errors it may have."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Annotated, Any

from pydantic import Field, PlainValidator, WithJsonSchema

from tetraodon.errors import PolicyError, did_you_mean
from tetraodon.exact.rational import Number, confidence_level, decimal_text, rational
from tetraodon.policy.section import Exact, Paragraph, Section, Short, Text, exact, refuse, share, shown, whole

# -- error target -----------------------------------------------------------------------------------
# How far off an answer may be, as people state it: in its own unit, or as a share of answers from some size on.

_TEXT = re.compile(r"\s*(\S+?)\s*(?:\bfrom\s+(\S+)\s*)?")
FORMS = "50, or 5% from 1000 for answers of 1,000 and more"


@dataclass(frozen=True, slots=True)
class ErrorTarget:
    """Within so much of the truth, with so much confidence; `least` makes it a share of answers of at least that size.

    `records` is the least number of records behind a mean or the like, without which its error is not known beforehand.

    >>> str(ErrorTarget(Fraction(50))), str(ErrorTarget(Fraction(1, 20), least=Fraction(1000)))
    ('±50', '±5% of answers from 1000 on')
    """

    within: Fraction
    least: Fraction | None = None
    records: int | None = None
    confidence: Fraction | None = None

    def __post_init__(self) -> None:
        if self.within <= 0:
            raise PolicyError("the error is not positive", fix="write an error above zero")
        if self.least is not None and self.least <= 0:
            raise PolicyError("`from` is not positive", fix="write the size from which on answers matter")
        if self.records is not None and self.records < 1:
            raise PolicyError("`records` is not positive", fix="write how many records there are at least")

    @property
    def allowed(self) -> Fraction:
        """The distance that answers may be off: a share of the smallest answer that it is about."""
        return self.within if self.least is None else self.within * self.least

    def filled(self, records: int | None, confidence: Fraction) -> ErrorTarget:
        """The same, with what it leaves open."""
        return replace(self, records=self.records or records, confidence=self.confidence or confidence)

    def __str__(self) -> str:
        if self.least is None:
            return f"±{decimal_text(self.within)}"
        return f"±{decimal_text(100 * self.within)}% of answers from {decimal_text(self.least)} on"

    def document(self) -> dict[str, Any]:
        """As it is written in a policy file."""
        relative = self.least is not None
        within = f"{decimal_text(100 * self.within)}%" if relative else decimal_text(self.within)
        found: dict[str, Any] = {"within": within}
        found |= {"from": decimal_text(self.least)} if self.least is not None else {}
        found |= {"records": self.records} if self.records is not None else {}
        return found | ({"confidence": decimal_text(self.confidence)} if self.confidence is not None else {})


def _split(value: object) -> object:
    """`5% from 1000` as a map."""
    if not isinstance(value, str):
        return value
    found = _TEXT.fullmatch(value)
    if found is None:
        refuse("this does not say how large an error may be", f"write {FORMS}")
    return {"within": found[1]} | ({"from": found[2]} if found[2] else {})


def _within(value: object) -> tuple[Fraction, bool]:
    """A number, or a share with a percent sign."""
    relative = isinstance(value, str) and value.rstrip().endswith("%")
    return (share(value) if relative else exact(value)), relative


def _confidence(value: object) -> Fraction:
    try:
        return confidence_level(value if isinstance(value, str) else "")
    except PolicyError as error:
        refuse(error.what, error.fix)


_SHARE = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": "^[0-9.eE_/+-]+ *%?$"}]}


class ErrorSection(Section):
    """How far off an answer may be."""

    within: Annotated[tuple[Fraction, bool], PlainValidator(_within), WithJsonSchema(_SHARE)]
    least: Exact | None = Field(default=None, alias="from")
    records: Annotated[int, PlainValidator(whole), WithJsonSchema({"type": "integer", "minimum": 1})] | None = None
    confidence: Annotated[Fraction, PlainValidator(_confidence), WithJsonSchema(_SHARE)] | None = None

    def target(self) -> ErrorTarget:
        """What it says."""
        within, relative = self.within
        _require_whose(relative, self.least)
        return ErrorTarget(within, self.least, self.records, self.confidence)


ErrorEntry = Annotated[ErrorSection, Short(_split, {"type": ["number", "string"]})]


def error_target(given: Number | ErrorTarget) -> ErrorTarget:
    """An error target typed on the command line or in Python.

    >>> error_target(50).allowed, error_target("5% from 1000").allowed
    (Fraction(50, 1), Fraction(50, 1))
    """
    if isinstance(given, ErrorTarget):
        return given
    if not isinstance(given, str):
        return ErrorTarget(rational(given, name="the error"))
    found = _TEXT.fullmatch(given)
    if found is None:
        raise PolicyError("this does not say how large an error may be", fix=f"write {FORMS}")
    relative = found[1].endswith("%")
    within = rational(found[1].removesuffix("%"), name="the error") / (100 if relative else 1)
    least = rational(found[2], name="`from`") if found[2] else None
    _require_whose(relative, least)
    return ErrorTarget(within, least)


def _require_whose(relative: bool, least: Fraction | None) -> None:
    """Refuse a share that is not said of which answers, and a size of answers without a share of them."""
    if relative != (least is not None):
        what = "a share is not said of which answers" if relative else "`from` stands without a share"
        raise PolicyError(what, fix=f"write {FORMS}")


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
        lines = (("Source", self.source), ("Contact", self.contact), ("Licence", self.licence))
        said = dict(self.words)
        return (*filter(None, [self.name]), *(f"{said.get(word, word)}: {text}" for word, text in lines if text))

    def document(self) -> dict[str, Any]:
        """What differs from the defaults, as the policy file says it."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values["words"] = dict(self.words)
        return {name: said for name, said in values.items() if said and (name, said) != ("language", OURS)}


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
        said = {name: value for name, value in self if value is not None}
        return Publisher(**said | {"words": tuple(sorted(self.words.items()))})
