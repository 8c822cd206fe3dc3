"""A policy in its normal form, read again: the values of a record, which pairs of them are secret, and conditions."""

import ast
import re
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from math import floor
from typing import Any

LISTED = 5_000_000  # codes of one attribute that may be listed
Record = dict[str, int]


class Unsupported(Exception):
    """What this verifier does not compute, by name."""


class Malformed(Exception):
    """A document that does not have the stated form."""


def exact(value: Any) -> Fraction:
    """The number that a document states: a whole number, a decimal text or a quotient, of no absurd length."""
    text = repr(value) if isinstance(value, float) else str(value)
    found = re.fullmatch(r"(-?\d{1,2000}(?:\.\d{0,2000})?)(?:[eE]([+-]?\d{1,3}))?(?:/(\d{1,2000}))?", text, re.ASCII)
    if isinstance(value, bool) or not found or (found[3] and not int(found[3])):
        raise Malformed(f"no exact number: {text[:40]!r}")
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
        """Integers and reals as they are, days counted, the rank of a word."""
        return self.low + self.step * code

    def code(self, value: Any) -> int:
        """The code of a value as documents write it."""
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
        """What an answer holds for a code."""
        if code == self.values or self.words:
            return "missing" if code == self.values else bool(code) if self.kind == "boolean" else self.words[code]
        number = self.number(code)
        if self.kind == "date":
            return int(number) - date(1970, 1, 1).toordinal()
        return int(number) if self.kind == "integer" else float(number)


def leaves(branches: Any) -> list[str]:
    return [leaf for one in branches for leaf in ([one] if isinstance(one, str) else leaves(one[1]))]


def read_attribute(entry: dict[str, Any]) -> Attribute:
    name, missing = entry["name"], entry.get("missing") == "separate"
    for kind in {"integer", "real", "date"} & set(entry):
        ends = [Fraction(date.fromisoformat(end).toordinal()) if kind == "date" else exact(end) for end in entry[kind]]
        step = exact(entry.get("step", 1))
        count = (ends[1] - ends[0]) / step + 1 if step > 0 else Fraction(0)
        if not 1 <= count <= 10**18 or count.denominator != 1:
            raise Malformed(f"attribute {name}: no range of values")
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
        """The largest code, missing values, blocks and pairs apart, that a step leads to from this one."""
        if self.kind == "share":
            most = (self.attribute.number(code) * (1 + self.reach) - self.attribute.low) / self.attribute.step
            return min(self.attribute.values - 1, floor(most))
        return min(
            self.attribute.values - 1, code + int(self.reach) if self.kind == "within" else self.attribute.values
        )

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
    if -1 in blocks:
        raise Malformed(f"blocks of {attribute.name} leave a value out")
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

    def alike(self) -> "Policy":
        """The same domain, any two records a secret."""
        rules = {name: Rule(attribute, "everything") for name, attribute in self.attributes.items()}
        return Policy(self.document, self.attributes, rules, len(rules), self.presence, rows=self.rows)


def read_policy(document: dict[str, Any]) -> Policy:
    attributes = {entry["name"]: read_attribute(entry) for entry in document["attributes"]}
    secrets, together, joint = document["secrets"], document["together"], None
    if "table" in secrets and "table" not in attributes:
        raise Unsupported("a share of the whole table as a secret")
    if isinstance(together, dict) and "over" in together:
        if "metric" not in together:
            raise Unsupported("blocks of cells")
        joint = (together["over"], together["metric"], exact(together["within"]))

    def rules_of(secrets: Any) -> dict[str, Rule]:
        return {name: read_rule(attribute, secrets.get(name, "everything")) for name, attribute in attributes.items()}

    def most_of(together: Any) -> int:
        if isinstance(together, dict):
            return int(exact(together.get("at most", len(attributes))))
        return {"one attribute at a time": 1, "all at once": len(attributes)}[together]

    policy = Policy(document, attributes, rules_of(secrets), most_of(together), document["presence"] == "secret", joint)
    if "groups" in document:
        by, rules = attributes[document["groups"]["by"]], document["groups"]["rules"]
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


NUMBER, WORDS, SIGN = r"\d+\.?\d*(?:[eE][+-]?\d{1,3})?", r"'(?:[^']|'')*'", r"<>|<=|>=|!=|[-+*/()=<>,]"
TOKEN = re.compile(rf'\s*(?:({NUMBER})|({WORDS})|("(?:[^"]|"")*")|([^\W\d]\w*)|({SIGN}))\s*')


class Condition:
    """A condition of a policy file. It becomes an expression of Python, in which names stand for what it names."""

    def __init__(self, text: str, attributes: dict[str, Attribute]) -> None:
        self.meant: dict[str, Any] = {}
        self.attributes = attributes
        try:
            self.tree = ast.parse(self.translate(text[:100_000]), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise Unsupported(f"conditions like {text[:60]!r}") from None
        self.names = self.named(self.tree)

    def translate(self, text: str) -> str:
        said, place, betweens, lists, depth = [], 0, [], [], 0
        while place < len(text):
            token = TOKEN.match(text, place)
            if not token:
                raise Unsupported(f"conditions with {text[place : place + 10]!r}")
            number, words, quoted, name, sign = token.groups()
            place, word = token.end(), (name or "").lower()
            if betweens and betweens[-1] == (depth, True) and (word in ("and", "or") or sign == ")"):
                said.append("]")
                betweens.pop()
            if word == "between":
                said.append("in [")
                betweens.append((depth, False))
            elif word == "and" and betweens and betweens[-1] == (depth, False):
                said.append(",")
                betweens[-1] = (depth, True)
            elif word in ("and", "or", "not", "in", "is"):
                said.append(word)
            elif word in ("null", "missing", "true", "false"):
                said.append({"true": "True", "false": "False"}.get(word, "None"))
            elif sign:
                depth += {"(": 1, ")": -1}.get(sign, 0)
                if sign == "(" and said and said[-1] == "in":
                    lists.append(depth)
                elif sign == ")" and lists and lists[-1] == depth + 1:
                    lists.pop()
                    said.append(",")
                said.append({"=": "==", "<>": "!="}.get(sign, sign))
            elif not (word == "date" and text[place : place + 1] == "'"):
                self.meant[f"n{len(self.meant)}"] = self.meaning(number, words, quoted, name)
                said.append(f"n{len(self.meant) - 1}")
        return " ".join(said) + "]" * len(betweens)

    def meaning(self, number: str, words: str, quoted: str, name: str) -> Any:
        if number or words:
            return exact(number) if number else words[1:-1].replace("''", "'")
        name = quoted[1:-1].replace('""', '"') if quoted else name
        alike = [known for known in self.attributes if known.lower() == name.lower()]
        if name not in self.attributes and len(alike) != 1:
            raise Unsupported(f"conditions with {name!r}")
        return self.attributes[name if name in self.attributes else alike[0]]

    def named(self, tree: ast.AST) -> frozenset[str]:
        meant = [self.meant.get(node.id) for node in ast.walk(tree) if isinstance(node, ast.Name)]
        return frozenset(one.name for one in meant if isinstance(one, Attribute))

    def holds(self, record: Record) -> bool:
        return self.value(self.tree, record) is True

    def value(self, node: Any, record: Record, kin: Attribute | None = None) -> Any:
        """What a part of the condition is for a record: true, false, a number, or None for unknown."""
        if isinstance(node, ast.BoolOp):
            said = [self.value(part, record) for part in node.values]
            one = isinstance(node.op, ast.Or)
            return one if one in said else None if None in said else not one
        if isinstance(node, ast.UnaryOp):
            value = self.value(node.operand, record)
            return None if value is None else not value if isinstance(node.op, ast.Not) else -value
        if isinstance(node, ast.Constant) and node.value in (True, False, None):
            return node.value
        if isinstance(node, ast.Name):
            meant = self.meant[node.id]
            if isinstance(meant, Attribute):
                code = record[meant.name]
                return None if code == meant.values else bool(code) if meant.kind == "boolean" else meant.number(code)
            if isinstance(meant, str):
                if kin is None or not (kin.words or kin.kind == "date"):
                    raise Unsupported("conditions that compare words with anything but an attribute of words or days")
                return Fraction(kin.code(meant) if kin.words else date.fromisoformat(meant).toordinal())
            return meant
        if isinstance(node, ast.BinOp):
            a, b = self.value(node.left, record), self.value(node.right, record)
            if a is None or b is None or (isinstance(node.op, ast.Div) and b == 0):
                return None
            done = {ast.Add: a + b, ast.Sub: a - b, ast.Mult: a * b, ast.Div: a / (b or 1)}
            return done[type(node.op)]
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self.compare(type(node.ops[0]), node.left, node.comparators[0], record)
        raise Unsupported("conditions of this form")

    def compare(self, sign: Any, left: Any, right: Any, record: Record) -> bool | None:
        meant = [self.meant.get(node.id) for node in (left, right) if isinstance(node, ast.Name)]
        kin = next((one for one in meant if isinstance(one, Attribute)), None)
        a = self.value(left, record, kin)
        if isinstance(right, ast.List | ast.Tuple):
            b = [self.value(one, record, kin) for one in right.elts]
            if isinstance(right, ast.List):
                said = None if None in (a, *b) else b[0] <= a <= b[1]
            else:
                said = None if a is None else True if a in b else None if None in b else False
            return said if sign is ast.In or said is None else not said
        b = self.value(right, record, kin)
        if sign in (ast.Is, ast.IsNot):
            return (a is b) is (sign is ast.Is)
        if (
            kin
            and kin.words
            and (
                kin.kind != "ordered"
                and sign not in (ast.Eq, ast.NotEq)
                or len(self.named(left) | self.named(right)) > 1
            )
        ):
            raise Unsupported(f"an order among the values of {kin.name}, or with those of another attribute")
        if a is None or b is None:
            return None
        if sign in (ast.Eq, ast.NotEq):
            return (a == b) is (sign is ast.Eq)
        return {ast.Lt: a < b, ast.LtE: a <= b, ast.Gt: a > b, ast.GtE: a >= b}[sign]

    def segments(self, name: str) -> set[int]:
        """Codes of the attribute at which some comparison begins to say something else."""
        attribute, borders = self.attributes[name], set()
        for node in ast.walk(self.tree):
            names = self.named(node)
            if (
                not isinstance(node, ast.Compare)
                and not (isinstance(node, ast.Name) and node is self.tree)
                or name not in names
            ):
                continue
            simple = (
                isinstance(node, ast.Compare)
                and isinstance(node.left, ast.Name)
                and not self.named(node.comparators[0])
            )
            if simple and not attribute.words and not isinstance(node.ops[0], ast.Is | ast.IsNot):
                right = node.comparators[0]
                for one in getattr(right, "elts", [right]):
                    place = (self.value(one, {}, attribute) - attribute.low) / attribute.step
                    borders |= {floor(place), floor(place) + 1, -floor(-place)}
            elif attribute.size > 100_000:
                raise Unsupported("conditions that compute with an attribute of more than 100,000 values")
            elif len(names) > 1:
                borders.update(range(attribute.size))
            else:
                said = [self.value(node, {name: code}) for code in range(attribute.size)]
                borders.update(code for code in range(1, attribute.size) if said[code] is not said[code - 1])
        if attribute.missing:
            borders.add(attribute.values)
        if (
            any(isinstance(node, ast.Name) and self.meant[node.id] == attribute for node in ast.walk(self.tree))
            and attribute.kind == "boolean"
        ):
            borders.add(1)
        return {border for border in borders if 0 < border < attribute.size}
