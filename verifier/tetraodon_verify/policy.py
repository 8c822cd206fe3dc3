"""A policy in its normal form, read again: the values of a record, which pairs of them are secret, and conditions."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from math import floor
from typing import Any

LISTED = 5_000_000  # codes of one attribute that may be listed


class Unsupported(Exception):
    """What this verifier does not compute, by name."""


class Malformed(Exception):
    """A document that does not have the stated form."""


def exact(value: Any) -> Fraction:
    """The number that a document states: a whole number, a decimal text or a quotient, of no absurd length."""
    text = repr(value) if isinstance(value, float) else str(value)
    found = re.fullmatch(r"(-?\d{1,2000}(\.\d{0,2000})?)(?:[eE]([+-]?\d{1,3}))?(?:/(\d{1,2000}))?", text)
    if isinstance(value, bool) or not found or (found[4] and not int(found[4])):
        raise Malformed(f"no exact number: {text[:40]!r}")
    return Fraction(found[1]) * Fraction(10) ** int(found[3] or 0) / int(found[4] or 1)


@dataclass(frozen=True)
class Attribute:
    """The values of one attribute in their order; a code is a place in it. A missing value that stands apart is last."""

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
        """Integers and reals as they are, dates as days, categories as ranks."""
        return self.low + self.step * code

    def code(self, value: Any) -> int:
        """The code of a value as documents write it."""
        if value == "missing" and self.missing:
            return self.values
        if self.words:
            word = str(value).lower() if isinstance(value, bool) else value
            if word in self.words:
                return self.words.index(word)
        elif self.kind in ("integer", "real", "date"):
            number = Fraction(date.fromisoformat(value).toordinal()) if self.kind == "date" else exact(value)
            code = (number - self.low) / self.step
            if code.denominator == 1 and 0 <= code < self.values:
                return int(code)
        raise Malformed(f"{str(value)[:40]!r} is no value of {self.name}")

    def value(self, code: int) -> Any:
        """What answers hold for a code."""
        if self.missing and code == self.values:
            return "missing"
        if self.kind == "boolean":
            return bool(code)
        if self.words:
            return self.words[code]
        number = self.number(code)
        return {"integer": int, "real": float, "date": lambda day: date.fromordinal(int(day)).isoformat()}[self.kind](number)


def leaves(branches: Any) -> Iterator[str]:
    for branch in branches:
        if isinstance(branch, str):
            yield branch
        else:
            yield from leaves(branch[1])


def read_attribute(entry: dict[str, Any]) -> Attribute:
    name, missing = entry["name"], entry.get("missing") == "separate"
    for kind in ("integer", "real", "date"):
        if kind in entry:
            low, high = (date.fromisoformat(end).toordinal() if kind == "date" else exact(end) for end in entry[kind])
            step = exact(entry.get("step", 1))
            count = (Fraction(high) - low) / step + 1
            if step <= 0 or count < 1 or count.denominator != 1 or count > 10**18:
                raise Malformed(f"attribute {name}: no range of values")
            return Attribute(name, kind, int(count), missing, Fraction(low), step)
    for kind in ("categories", "ordered", "tree", "boolean", "open"):
        if kind in entry:
            words = {"boolean": ("false", "true"), "open": ("",)}.get(kind) or tuple(leaves(entry[kind]))
            return Attribute(name, kind, len(words), missing, words=words)
    raise Unsupported(f"attribute {name}")


@dataclass(frozen=True)
class Rule:
    """The secret pairs of one attribute: two codes of one block that are at most `reach` apart, or of a list of pairs."""

    attribute: Attribute
    kind: str  # public, everything, within, share, blocks, pairs
    reach: Fraction = Fraction(0)
    blocks: tuple[int, ...] = ()
    pairs: frozenset[tuple[int, int]] = frozenset()

    def furthest(self, code: int) -> int:
        """The largest code, missing values apart, that a step leads to from this one, blocks and pairs apart."""
        last = self.attribute.values - 1
        if self.kind == "within":
            return min(last, code + int(self.reach))
        if self.kind == "share":
            most = self.attribute.number(code) * (1 + self.reach)
            return min(last, floor((most - self.attribute.low) / self.attribute.step))
        return last

    def edge(self, x: int, y: int) -> bool:
        x, y = min(x, y), max(x, y)
        if x == y or self.kind == "public":
            return False
        if self.kind == "pairs":
            return (x, y) in self.pairs
        if self.kind == "blocks":
            return self.blocks[x] == self.blocks[y]
        return y <= self.furthest(x) or y == self.attribute.values

    def borders(self) -> set[int]:
        """Codes at which another block begins."""
        return {code for code in range(1, len(self.blocks)) if self.blocks[code] != self.blocks[code - 1]}


def read_rule(attribute: Attribute, form: Any) -> Rule:
    if form in ("everything", "public"):
        return Rule(attribute, form)
    if "within" in form:
        reach = str(form["within"])
        if reach.endswith("%"):
            return Rule(attribute, "share", exact(reach[:-1].strip()) / 100)
        return Rule(attribute, "within", Fraction(floor(exact(reach) / attribute.step)))
    if attribute.size > LISTED:
        raise Unsupported(f"blocks or pairs of more than {LISTED} values")
    if "pairs" in form:
        pairs = {tuple(sorted(attribute.code(value) for value in pair)) for pair in form["pairs"]}
        return Rule(attribute, "pairs", pairs=frozenset(pairs))  # type: ignore[arg-type]
    if "blocks" in form:
        blocks = [-1] * attribute.size
        for number, codes in enumerate(read_groups(attribute, form["blocks"])):
            for code in codes:
                blocks[code] = number
        if -1 in blocks:
            raise Malformed(f"blocks of {attribute.name} leave a value out")
        return Rule(attribute, "blocks", blocks=tuple(blocks))
    raise Unsupported(f"secrets of the form {sorted(form)}")


def read_groups(attribute: Attribute, groups: Any) -> Iterator[range | list[int]]:
    """Groups of values, each [low, high] of numbers and dates or a list of values, as ranges and lists of codes."""
    for group in groups:
        values = [attribute.code(value) for value in group]
        if attribute.words or len(group) != 2 or values[-1] == attribute.values:
            yield values
        else:
            yield range(values[0], values[1] + 1)


@dataclass
class Policy:
    """What a policy promises: the attributes, by group the rules and how many attributes a step changes, and so on."""

    document: dict[str, Any]
    attributes: dict[str, Attribute]
    rules: dict[str, Rule]
    at_most: int
    presence: bool  # whether it is a secret
    joint: tuple[tuple[str, ...], str, Fraction] | None = None  # attributes, metric, reach
    groups: list[tuple[str, int, dict[str, Rule] | None, int]] = field(default_factory=list)
    rows: int = 1

    def alike(self) -> "Policy":
        """The same domain, any two records a secret."""
        rules = {name: Rule(attribute, "everything") for name, attribute in self.attributes.items()}
        return Policy(self.document, self.attributes, rules, len(rules), self.presence, rows=self.rows)


def read_policy(document: dict[str, Any]) -> Policy:
    attributes = {entry["name"]: read_attribute(entry) for entry in document["attributes"]}
    secrets, together = document["secrets"], document.get("together", "all at once")
    if secrets == "none but presence":
        secrets = dict.fromkeys(attributes, "public")
    if "table" in secrets and "table" not in attributes:
        raise Unsupported("a share of the whole table as a secret")
    joint = None
    if isinstance(together, dict) and "over" in together:
        over = tuple(together["over"])
        if "metric" not in together:
            raise Unsupported("blocks of cells")
        joint = (over, together["metric"], exact(together["within"]))
        secrets = {**secrets, **dict.fromkeys(over, "everything")}
    rules = read_rules(attributes, secrets)
    policy = Policy(document, attributes, rules, read_at_most(together, len(rules)), document["presence"] == "secret", joint)
    groups = document.get("groups")
    if groups:
        by = attributes[groups["by"]]
        for code in range(by.values):
            rule = groups["rules"].get(by.value(code)) if by.words else groups["rules"].get(str(by.value(code)))
            if rule == "none":
                policy.groups.append((by.name, code, None, 0))
            elif rule is None:
                policy.groups.append((by.name, code, rules, policy.at_most))
            else:
                changed = read_rules(attributes, rule.get("secrets", secrets))
                policy.groups.append((by.name, code, changed, read_at_most(rule.get("together", together), len(rules))))
    people = document.get("individuals", "one row each")
    if people != "one row each":
        policy.rows = int(exact(people.get("at most", people.get("secret"))))
        policy.presence = True
    return policy


def read_rules(attributes: dict[str, Attribute], secrets: dict[str, Any]) -> dict[str, Rule]:
    return {name: read_rule(attribute, secrets.get(name, "everything")) for name, attribute in attributes.items()}


def read_at_most(together: Any, attributes: int) -> int:
    if isinstance(together, dict) and "at most" in together:
        return int(exact(together["at most"]))
    return 1 if together == "one attribute at a time" else attributes


# Conditions: a tree of "and", "or", "not" over atoms. An atom looks at one attribute or more and is true, false or
# unknown (None); where it looks at one, it is constant on segments of codes, which is what a loss is computed from.

TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d{1,3})?)|'((?:[^']|'')*)'|\"((?:[^\"]|\"\")*)\"|([^\W\d]\w*)|(<>|<=|>=|!=|[-+*/()=<>,]))")
Value = Fraction | str | bool | None
Record = dict[str, int]
Expression = tuple[Callable[[Record], Any], frozenset[str]]


class Condition:
    """A condition of a policy file, parsed: where it holds, and at which codes of an attribute it may change."""

    def __init__(self, text: str, attributes: dict[str, Attribute]) -> None:
        self.attributes, self.tokens, self.place, self.atoms = attributes, [], 0, []
        position, text = 0, text.strip()
        if len(text) > 100_000:
            raise Unsupported("a condition of more than 100,000 characters")
        while position < len(text):
            found = TOKEN.match(text, position)
            if not found:
                raise Unsupported(f"conditions with {text[position : position + 1]!r}")
            self.tokens.append((found.lastindex, found[found.lastindex or 0]))
            position = found.end()
        self.tree, self.names = self.either()
        if self.place < len(self.tokens):
            raise Unsupported(f"conditions with {self.tokens[self.place][1]!r}")
        self.names = frozenset(self.names)

    def holds(self, record: Record) -> bool:
        return self.tree(record) is True

    def segments(self, name: str) -> set[int]:
        """Codes of the attribute at which some part of the condition begins to say something else."""
        borders: set[int] = set()
        attribute = self.attributes[name]
        for test, names, cuts in self.atoms:
            if name not in names:
                continue
            if cuts is not None:
                borders.update(cuts)
            elif attribute.size > 100_000:
                raise Unsupported("conditions that compute with an attribute of more than 100,000 values")
            elif len(names) > 1:
                borders.update(range(1, attribute.size))
            else:
                said = [test({name: code}) for code in range(attribute.size)]
                borders.update(code for code in range(1, len(said)) if said[code] is not said[code - 1])
        return borders

    def word(self, *words: str) -> bool:
        """Whether the next token is one of these words or signs; if so it is taken."""
        if self.place < len(self.tokens):
            kind, text = self.tokens[self.place]
            if kind in (4, 5) and text.lower() in words:
                self.place += 1
                return True
        return False

    def need(self, word: str) -> None:
        if not self.word(word):
            raise Unsupported(f"conditions written like this: no {word!r} where one is expected")

    def either(self) -> Expression:
        found = self.both()
        while self.word("or"):
            found = self.join(found, self.both(), True)
        return found

    def both(self) -> Expression:
        found = self.negated()
        while self.word("and"):
            found = self.join(found, self.negated(), False)
        return found

    def join(self, left: Expression, right: Expression, one: bool) -> Expression:
        def test(record: Record) -> bool | None:
            a, b = left[0](record), right[0](record)
            return one if a is one or b is one else None if a is None or b is None else not one

        return test, left[1] | right[1]

    def negated(self) -> Expression:
        if self.word("not"):
            inner, names = self.negated()
            return (lambda record: None if (said := inner(record)) is None else not said), names
        return self.compared()

    def compared(self) -> Expression:
        start = self.place
        if self.word("("):  # either a condition in brackets or a number
            try:
                found = self.either()
                self.need(")")
                following = self.tokens[self.place][1].lower() if self.place < len(self.tokens) else ""
                if following not in ("=", "<>", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/", "between", "in", "is"):
                    return found
            except Unsupported:
                pass
            self.place = start
        left = self.sum()
        for sign in ("=", "<>", "!=", "<=", ">=", "<", ">"):
            if self.word(sign):
                return self.atom(sign, left, [self.sum()])
        if self.word("is"):
            wanted = not self.word("not")
            if self.word("null", "missing"):
                found = self.atom("missing", left, [])
            elif self.word("true"):
                found = self.atom("true", left, [])
            elif self.word("false"):
                found = self.atom("false", left, [])
            else:
                raise Unsupported("conditions with `is` and other words")
            return found if wanted else ((lambda record: not found[0](record)), found[1])
        wanted = not self.word("not")
        if self.word("between"):
            low = self.sum()
            self.need("and")
            found = self.join(self.atom(">=", left, [low]), self.atom("<=", left, [self.sum()]), False)
        elif self.word("in"):
            self.need("(")
            among = [self.sum()]
            while self.word(","):
                among.append(self.sum())
            self.need(")")
            found = self.atom("=", left, among)
        elif wanted:
            return self.atom("holds", left, [])
        else:
            raise Unsupported("conditions with `not` after a value")
        return found if wanted else ((lambda record: None if (said := found[0](record)) is None else not said), found[1])

    def atom(self, sign: str, left: Expression, right: list[Expression]) -> Expression:
        names = frozenset().union(left[1], *(other[1] for other in right))
        attribute = self.attributes[next(iter(names))] if len(names) == 1 else None

        def read(value: Any, kin: Any) -> Any:
            """A word beside an attribute of words or days is a value of it."""
            if attribute is not None and isinstance(value, str) and not isinstance(kin, str):
                return attribute.number(attribute.code(value)) if attribute.kind == "date" else value
            return value

        def test(record: Record) -> bool | None:
            value = left[0](record)
            if sign in ("missing", "true", "false"):
                return value is None if sign == "missing" else value is (sign == "true")
            if sign == "holds":
                if value is not None and not isinstance(value, bool):
                    raise Unsupported("conditions with a value where a comparison is expected")
                return value
            unknown = value is None
            for other in right:
                compared = other[0](record)
                if value is None or compared is None:
                    unknown = True
                    continue
                a, b = read(value, compared), read(compared, value)
                if attribute is not None and attribute.words and sign not in ("=", "<>", "!="):
                    if attribute.kind != "ordered":
                        raise Unsupported(f"an order among the values of {attribute.name}")
                    a, b = Fraction(attribute.code(a)), Fraction(attribute.code(b))
                if type(a) is not type(b):
                    raise Unsupported("conditions that compare values of two kinds")
                if {"=": a == b, "<>": a != b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[sign]:
                    return True
            return None if unknown else False

        cuts = None
        if attribute is not None and not attribute.words and left in self.bare and all(not other[1] for other in right):
            cuts = {attribute.values} if attribute.missing else set()
            if sign not in ("missing", "holds", "true", "false"):
                for other in right:
                    place = (Fraction(read(other[0]({}), Fraction(0))) - attribute.low) / attribute.step
                    cuts |= {cut for cut in (floor(place), floor(place) + 1, -floor(-place)) if 0 < cut < attribute.size}
        self.atoms.append((test, names, cuts))
        return test, names

    @property
    def bare(self) -> list[Expression]:
        return self.__dict__.setdefault("_bare", [])

    def sum(self) -> Expression:
        found = self.product()
        while True:
            sign = "+" if self.word("+") else "-" if self.word("-") else ""
            if not sign:
                return found
            found = self.compute(sign, found, self.product())

    def product(self) -> Expression:
        found = self.single()
        while True:
            sign = "*" if self.word("*") else "/" if self.word("/") else ""
            if not sign:
                return found
            found = self.compute(sign, found, self.single())

    def compute(self, sign: str, left: Expression, right: Expression) -> Expression:
        def value(record: Record) -> Value:
            a, b = left[0](record), right[0](record)
            if a is None or b is None or (sign == "/" and b == 0):
                return None
            if not (isinstance(a, Fraction) and isinstance(b, Fraction)):
                raise Unsupported("conditions that compute with words or days")
            return {"+": a + b, "-": a - b, "*": a * b, "/": a / (b or 1)}[sign]

        return value, left[1] | right[1]

    def single(self) -> Expression:
        if self.word("-"):
            return self.compute("-", (lambda _: Fraction(0), frozenset()), self.single())
        if self.word("("):
            found = self.sum()
            self.need(")")
            return found
        if self.place >= len(self.tokens):
            raise Unsupported("conditions that end early")
        kind, text = self.tokens[self.place]
        following = self.tokens[self.place + 1] if self.place + 1 < len(self.tokens) else (0, "")
        self.place += 1
        if kind == 1:
            number = exact(text)
            return (lambda _: number), frozenset()
        if kind == 2:
            word = text.replace("''", "'")
            return (lambda _: word), frozenset()
        if kind == 4 and text.lower() in ("true", "false"):
            truth = text.lower() == "true"
            return (lambda _: truth), frozenset()
        if kind == 4 and text.lower() == "date" and following[0] == 2:
            return self.single()
        name = text.replace('""', '"') if kind == 3 else text
        alike = [known for known in self.attributes if known.lower() == name.lower()]
        name = name if name in self.attributes else alike[0] if len(alike) == 1 else name
        if kind not in (3, 4) or name not in self.attributes or following[1] == "(":
            raise Unsupported(f"conditions with {text!r}")
        attribute = self.attributes[name]

        def value(record: Record) -> Value:
            code = record[name]
            if attribute.missing and code == attribute.values:
                return None
            if attribute.words:
                return bool(code) if attribute.kind == "boolean" else attribute.words[code]
            return attribute.number(code)

        self.bare.append((value, frozenset({name})))
        return self.bare[-1]


def last_of(codes: list[int], code: int) -> int:
    """The number of the segment, of those that begin at `codes`, that a code is in."""
    return bisect_right(codes, code) - 1
