"""A policy in its normal form, read again: the values of a record, which pairs of them are secret, and conditions."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from math import floor
from operator import eq, ge, gt, le, lt, ne
from typing import Any

LISTED = 5_000_000  # codes of one attribute that may be listed
WRONG = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
Record = dict[str, int]


class Unsupported(Exception):
    """What this verifier does not compute, by name."""


class Malformed(Exception):
    """A document that does not have the stated form."""


def fail_if(wrong: Any, why: str) -> None:
    if wrong:
        raise Malformed(why)


def leave_if(beyond: Any, what: str) -> None:
    if beyond:
        raise Unsupported(what)


def exact(value: Any) -> Fraction:
    text = repr(value) if isinstance(value, float) else str(value)
    found = re.fullmatch(r"(-?\d{1,2000}(?:\.\d{0,2000})?)(?:[eE]([+-]?\d{1,3}))?(?:/(\d{1,2000}))?", text, re.ASCII)
    fail_if(isinstance(value, bool) or not found or (found[3] and not int(found[3])), f"no exact number: {text[:40]!r}")
    return Fraction(found[1]) * Fraction(10) ** int(found[2] or 0) / int(found[3] or 1)


@dataclass(frozen=True)
class Attribute:
    """The values of an attribute in their order; a code is a place in it. A missing value that stands apart is last."""

    name: str
    kind: str
    values: int
    missing: bool
    low: Fraction = Fraction(0)
    step: Fraction = Fraction(1)
    words: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return self.values + self.missing

    def number(self, code: int) -> Fraction:
        return self.low + self.step * code

    def code(self, value: Any) -> int:
        if value == "missing" and self.missing:
            return self.values
        word = str(value).lower() if isinstance(value, bool) else value
        if word in self.words:
            return self.words.index(word)
        if not self.words:
            number = Fraction(date.fromisoformat(value).toordinal()) if self.kind == "date" else exact(value)
            code = (number - self.low) / self.step
            if code.denominator == 1 and 0 <= code < self.values:
                return int(code)
        raise Malformed(f"{str(value)[:40]!r} is no value of {self.name}")

    def value(self, code: int) -> Any:
        if code == self.values or self.words:
            return "missing" if code == self.values else bool(code) if self.kind == "boolean" else self.words[code]
        number = self.number(code)
        if self.kind == "date":
            return date.fromordinal(int(number)).isoformat()
        return int(number) if self.kind == "integer" else float(number)


def read_attribute(entry: dict[str, Any]) -> Attribute:
    leaves = lambda tree: [leaf for one in tree for leaf in ([one] if isinstance(one, str) else leaves(one[1]))]  # noqa: E731
    name, missing = entry["name"], entry.get("missing") == "separate"
    for kind in {"integer", "real", "date"} & set(entry):
        ends = [Fraction(date.fromisoformat(end).toordinal()) if kind == "date" else exact(end) for end in entry[kind]]
        step = exact(entry.get("step", 1))
        count = (ends[1] - ends[0]) / step + 1 if step > 0 else Fraction(0)
        fail_if(not 1 <= count <= 10**18 or count.denominator != 1, f"attribute {name}: no range of values")
        return Attribute(name, kind, int(count), missing, ends[0], step)
    for kind in {"categories", "ordered", "tree", "boolean", "open"} & set(entry):
        fixed = {"boolean": ("false", "true"), "open": ("",)}
        words = fixed[kind] if kind in fixed else tuple(leaves(entry[kind]))
        return Attribute(name, kind, len(words), missing, words=words)
    raise Unsupported(f"attribute {name}")


@dataclass(frozen=True)
class Rule:
    """The secret pairs of an attribute: codes of one block that are at most `reach` apart, or listed pairs."""

    attribute: Attribute
    kind: str  # public, everything, within, share, blocks, pairs
    reach: Fraction = Fraction(0)
    blocks: tuple[int, ...] = ()
    pairs: frozenset[tuple[int, int]] = frozenset()

    def furthest(self, code: int) -> int:
        attribute, last = self.attribute, self.attribute.values - 1
        if self.kind == "share":
            return min(last, floor((attribute.number(code) * (1 + self.reach) - attribute.low) / attribute.step))
        return min(last, code + int(self.reach)) if self.kind == "within" else last

    def edge(self, x: int, y: int) -> bool:
        x, y = min(x, y), max(x, y)
        if x == y or self.kind in ("public", "pairs"):
            return (x, y) in self.pairs
        if self.kind == "blocks":
            return self.blocks[x] == self.blocks[y]
        return y <= self.furthest(x) or y == self.attribute.values


def read_rule(attribute: Attribute, form: Any) -> Rule:
    if form in ("everything", "public"):
        return Rule(attribute, form)
    if "within" in form:
        reach = str(form["within"])
        if reach.endswith("%"):
            return Rule(attribute, "share", exact(reach[:-1].strip()) / 100)
        return Rule(attribute, "within", Fraction(floor(exact(reach) / attribute.step)))
    if attribute.size > LISTED or not {"pairs", "blocks"} & set(form):
        raise Unsupported(f"secrets of {attribute.name} of the form {sorted(form)}")
    if "pairs" in form:
        pairs = [sorted(attribute.code(value) for value in pair) for pair in form["pairs"]]
        return Rule(attribute, "pairs", pairs=frozenset((x, y) for x, y in pairs))
    blocks = [-1] * attribute.size
    for number, group in enumerate(form["blocks"]):
        codes = [attribute.code(value) for value in group]
        between = not attribute.words and len(codes) == 2 and codes[1] < attribute.values
        for code in range(codes[0], codes[1] + 1) if between else codes:
            blocks[code] = number
    fail_if(-1 in blocks, f"blocks of {attribute.name} leave a value out")
    return Rule(attribute, "blocks", blocks=tuple(blocks))


@dataclass
class Policy:
    """What a policy promises: who may differ how in one step. Groups have rules of their own, or none at all."""

    document: dict[str, Any]
    attributes: dict[str, Attribute]
    rules: dict[str, Rule]
    at_most: int
    presence: bool  # whether it is a secret
    joint: tuple[list[str], str, Fraction] | None = None  # attributes, metric, reach
    groups: list[tuple[str, int, dict[str, Rule] | None, int]] = field(default_factory=list)
    rows: int = 1
    tried: int = 400_000  # pairs of codes that may be tried one by one

    def alike(self) -> "Policy":
        rules = {name: Rule(attribute, "everything") for name, attribute in self.attributes.items()}
        return Policy(self.document, self.attributes, rules, len(rules), self.presence, tried=self.tried)


def read_policy(document: dict[str, Any], tried: int = 400_000) -> Policy:
    attributes = {entry["name"]: read_attribute(entry) for entry in document["attributes"]}
    secrets, together, joint = document["secrets"], document["together"], None
    leave_if("table" in secrets and "table" not in attributes, "a share of the whole table as a secret")
    if isinstance(together, dict) and "over" in together:
        leave_if("metric" not in together, "blocks of cells")
        joint = (together["over"], together["metric"], exact(together["within"]))

    def rules_of(secrets: Any) -> dict[str, Rule]:
        return {name: read_rule(attribute, secrets.get(name, "everything")) for name, attribute in attributes.items()}

    def most_of(together: Any) -> int:
        if isinstance(together, dict):
            return int(exact(together.get("at most", len(attributes))))
        return {"one attribute at a time": 1, "all at once": len(attributes)}[together]

    presence = {"secret": True, "public": False}[document["presence"]]
    policy = Policy(document, attributes, rules_of(secrets), most_of(together), presence, joint)
    policy.tried = tried
    if "groups" in document:
        by, rules = attributes[document["groups"]["by"]], document["groups"]["rules"]
        leave_if(by.values > 1000, "more than 1,000 groups")
        own = {by.code(value) if by.words else by.code(str(value)): rule for value, rule in rules.items()}
        for code in range(by.values):
            rule = own.get(code, {})
            if rule == "none":
                policy.groups.append((by.name, code, None, 0))
                continue
            changed = rules_of(rule["secrets"]) if "secrets" in rule else policy.rules
            policy.groups.append((by.name, code, changed, most_of(rule.get("together", together))))
    people = document.get("individuals", "one row each")
    if people != "one row each":
        policy.rows, policy.presence = int(exact(people.get("at most", people.get("secret")))), True
    return policy


TOKEN = r"""\d+\.?\d*(?:[eE][+-]?\d{1,3})?|'(?:[^']|'')*'|"(?:[^"]|"")*"|[^\W\d]\w*|<>|<=|>=|!=|[-()=<>,]"""
COMPARED: dict[str, Callable[[Any, Any], bool]] = {"=": eq, "<>": ne, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


class Condition:
    """A condition of a policy file: and, or, not, and comparisons of one attribute with values."""

    def __init__(self, text: str, attributes: dict[str, Attribute]) -> None:
        if len(text) > 100_000 or not re.fullmatch(rf"(?:\s*(?:{TOKEN}))*\s*", text):
            raise Unsupported(f"conditions like {text[:60]!r}")
        self.text, self.attributes, self.tokens, self.place = text, attributes, re.findall(TOKEN, text), 0
        self.leaves: list[tuple[Attribute, list[Fraction]]] = []
        self.said = self.parse("or")
        self.names = frozenset(attribute.name for attribute, _ in self.leaves)
        if self.place < len(self.tokens):
            raise Unsupported(f"conditions with {self.tokens[self.place]!r}")

    def holds(self, record: Record) -> bool:
        return self.said(record) is True

    def segments(self, name: str) -> set[int]:
        borders: set[int] = set()
        for attribute, values in self.leaves:
            if attribute.name == name:
                places = [(value - attribute.low) / attribute.step for value in values]
                borders.update({attribute.values}, *({floor(one), floor(one) + 1, -floor(-one)} for one in places))
        return {border for border in borders if 0 < border < self.attributes[name].size}

    def take(self, *words: str) -> str:
        token = self.tokens[self.place].lower() if self.place < len(self.tokens) else ""
        self.place += token in words
        return token if token in words else ""

    def need(self, word: str) -> None:
        leave_if(not self.take(word), f"conditions without {word!r} where one is expected")

    def parse(self, level: str) -> Callable[[Record], bool | None]:
        if level in ("or", "and"):
            parts, one = [self.parse("and" if level == "or" else "not")], level == "or"
            while self.take(level):
                parts.append(self.parse("and" if level == "or" else "not"))

            def joined(record: Record) -> bool | None:
                said = [part(record) for part in parts]
                return one if one in said else None if None in said else not one

            return joined
        if self.take("not"):
            inner = self.parse("not")
            return lambda record: None if (said := inner(record)) is None else not said
        if self.take("("):
            inner = self.parse("or")
            self.need(")")
            return inner
        left, values, test = self.operand(), [Fraction(1)], eq
        leave_if(not isinstance(left, Attribute), "conditions that do not begin with an attribute")
        if self.take("is"):
            wanted, what = not self.take("not"), self.take("null", "missing", "true", "false")
            code = left.values if what in ("null", "missing") else int(what == "true")
            self.leaves.append((left, [Fraction(code)]))
            return lambda record: (record[left.name] == code) is wanted
        wanted = not self.take("not")
        if self.take("between"):
            values = [self.number(left, "<")]
            self.need("and")
            values.append(self.number(left, "<"))
            test = lambda value, _: values[0] <= value <= values[1]  # noqa: E731
        elif self.take("in"):
            self.need("(")
            values = [self.number(left, "=")]
            while self.take(","):
                values.append(self.number(left, "="))
            self.need(")")
            test = lambda value, _: value in values  # noqa: E731
        elif sign := self.take(*COMPARED):
            values, test = [self.number(left, sign)], COMPARED[sign]
        elif left.kind != "boolean":
            raise Unsupported("conditions with a value where a comparison is expected")
        self.leaves.append((left, values))

        def said(record: Record) -> bool | None:
            code = record[left.name]
            return None if code == left.values else test(left.number(code), values[0]) is wanted

        return said

    def operand(self) -> Any:
        token, self.place = "".join(self.tokens[self.place : self.place + 1]), self.place + 1
        if token == "-":
            return -self.operand()
        if token[:1].isdigit():
            return exact(token)
        if token[:1] == "'":
            return token[1:-1].replace("''", "'")
        if token.lower() in ("true", "false"):
            return token.lower() == "true"
        if token.lower() == "date" and "".join(self.tokens[self.place : self.place + 1])[:1] == "'":
            return self.operand()
        name = token[1:-1].replace('""', '"') if token[:1] == '"' else token
        alike = [one for one in self.attributes if one.lower() == name.lower()]
        alike = [name] if name in alike else alike
        leave_if(len(alike) != 1, f"conditions with {token!r}")
        return self.attributes[alike[0]]

    def number(self, attribute: Attribute, sign: str) -> Fraction:
        value = self.operand()
        if isinstance(value, Attribute) or isinstance(value, bool) is not (attribute.kind == "boolean"):
            raise Unsupported("conditions that compare values of two kinds")
        if attribute.words and attribute.kind not in ("ordered", "boolean") and sign not in ("=", "<>", "!="):
            raise Unsupported(f"an order among the values of {attribute.name}")
        if attribute.kind == "date":
            return Fraction(date.fromisoformat(value).toordinal())
        return Fraction(attribute.code(value)) if attribute.words else exact(value)
