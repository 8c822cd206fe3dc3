"""From the sections of a policy file to the domain, the secret graph, known facts, attackers and queries."""

from __future__ import annotations

import csv
import datetime as dt
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers, Values
from tetraodon.domain.domain import MISSING
from tetraodon.domain.values import TreeLevel
from tetraodon.errors import DomainError, PolicyError, QueryError, Refused, did_you_mean
from tetraodon.exact.rational import decimal_text
from tetraodon.policy.attackers import (
    INDEPENDENT,
    Attackers,
    Chain,
    Chances,
    Contacts,
    DependentGroups,
    Independent,
    TableSecret,
    cells_having,
    distribution,
    joint_chances,
    transition_matrix,
)
from tetraodon.policy.attribute_graph import (
    AttributeGraph,
    Blocks,
    Everything,
    Pairs,
    Public,
    Within,
    WithinOrMissing,
    WithinShare,
)
from tetraodon.policy.document import (
    KEYS,
    TABLE,
    AttributeSection,
    Branches,
    ItemSection,
    PolicyDocument,
    Rule,
    SecretSection,
    Together,
)
from tetraodon.policy.joint_graph import JointMetric, Regions
from tetraodon.policy.known import (
    FACT_LIMIT,
    CountWhere,
    Fact,
    Known,
    Marginal,
    Rectangle,
    check_known,
    known_query,
    overlap,
)
from tetraodon.policy.policy import USUAL_LENGTH, Item, NamesItem, OpenText
from tetraodon.policy.secret_graph import Factor, Groups, SecretGraph, no_secrets
from tetraodon.policy.section import (
    AttackersSection,
    BlocksOf,
    ChainSection,
    ChancesSection,
    KnownSection,
    Percentage,
    TableSecretSection,
    exact,
    shown,
)
from tetraodon.policy.source import Problems, sibling_file
from tetraodon.query.bins import Bins
from tetraodon.query.contribution import Table
from tetraodon.query.counts import SECRET_BLOCKS
from tetraodon.query.kinds import KINDS
from tetraodon.query.linear import LinearQuery
from tetraodon.query.query import TypedBins
from tetraodon.query.records_where import records_where

# -- domain -----------------------------------------------------------------------------------------
# From the `attributes` of a policy file to the domain.

VALUES_LIMIT = 10**18
LABEL_LIMIT = 1000
SEPARATE = "separate"
"""What `missing` says where missing values have a cell of their own."""
LISTED_LIMIT = 5_000_000
"""The most values an attribute can have if each of them is put into a block or bin."""


def build_domain(document: PolicyDocument, problems: Problems) -> Domain:
    """The declared domain. Stops with every problem of the attributes."""
    attributes = []
    if not document.attributes:
        problems.add(("attributes",), PolicyError("there is no attribute", fix="declare at least one attribute"))
    for name, section in document.attributes.items():
        with problems.at("attributes", name):
            attributes.append(_attribute(name, section))
            taken = [*document.attributes, *(level.name for one in attributes[:-1] for level in one.levels)]
            if twice := [level.name for level in attributes[-1].levels if level.name in taken]:
                raise PolicyError(
                    f"a level is called {twice[0]!r}, and so is something else", fix="rename it in `levels`"
                )
    problems.stop()
    return Domain(tuple(attributes))


def _attribute(name: str, section: AttributeSection) -> Attribute:
    if section.name not in (None, name):
        raise PolicyError("the name is not the key", fix="drop `name:` here")
    values = _values(section)
    if values.size > VALUES_LIMIT:
        raise PolicyError("this attribute has more than 10^18 values", fix="use a narrower range or a wider step")
    if section.step is not None and section.kind != "real":
        raise PolicyError("only real attributes have a step", fix="drop `step:`, or write {real: [low, high], step: 1}")
    clamps = isinstance(values, Integers | Grid | Dates)
    if section.levels and section.kind != "tree":
        raise PolicyError("only trees have levels", fix="drop `levels:`, or write {tree: {East: [ON, QC]}}")
    if section.format is not None and section.kind != "date":
        raise PolicyError("only dates have a format", fix="drop `format:`")
    if section.trim and isinstance(values, Categories) and any(label != label.strip(" ") for label in values.labels):
        raise PolicyError("a category has blanks around it, and they are trimmed", fix="write it without the blanks")
    bare = Attribute(name, values, other=None if clamps else 0)
    listed = isinstance(values, Categories) and SEPARATE in values.codes
    separate = section.missing == SEPARATE and not listed
    missing = values.size if separate else 0 if section.missing is None else code_of(bare, section.missing)
    other = bare.other if section.other is None else code_of(bare, section.other)
    declared = tuple(role for role in ("missing", "other") if getattr(section, role) is not None)
    return Attribute(
        name,
        values,
        missing,
        other,
        section.unit[-1] if section.unit else "",
        section.format or "",
        trim=section.trim,
        separate=separate,
        singular=section.unit[0] if len(section.unit) > 1 else "",
        declared=declared,
    )


def _values(section: AttributeSection) -> Values:
    match section.kind:
        case "integer":
            low, high = section.integer
            return Integers(low, high)
        case "real":
            if section.step is None:
                raise PolicyError("a real attribute needs a grid", fix="add `step:`, such as step: 0.1")
            bottom, top = section.real
            return Grid(bottom, top, section.step)
        case "date":
            first, last = section.date
            return Dates(_day(first), _day(last))
        case "ordered":
            return Categories(_labels(section.ordered), ordered=True)
        case "categories":
            return Categories(_labels(section.categories))
        case "tree":
            _labels([label for path in section.tree for label in path])
            return categories_of(section.tree, section.levels)
        case _:
            if not section.boolean:
                raise PolicyError("`boolean: false` says nothing", fix="write `boolean`")
            return Booleans()


def categories_of(paths: Sequence[Branches], names: Sequence[str]) -> Categories:
    """The categories of a tree, with its levels, the coarsest first; without names they are `level 1` and so on."""
    depth = len(paths[0]) - 1
    called = tuple(names) or tuple(f"level {number + 1}" for number in range(depth))
    if len(called) != depth or len(set(called)) < depth:
        raise PolicyError(
            f"this tree has {depth} levels above its values, and `levels` does not name each of them once",
            fix=f"write {depth} names, the coarsest level first, or leave `levels` out",
        )
    for level in range(depth):
        above = {path[: level + 1] for path in paths}
        if len({path[level] for path in above}) < len(above):
            raise PolicyError(
                f"two branches at {called[level]} share a name", fix="give each branch of a level a name of its own"
            )
    levels = tuple(TreeLevel(name, tuple(path[n] for path in paths)) for n, name in enumerate(called))
    return Categories(tuple(path[-1] for path in paths), levels=levels)


def branches_of(attribute: Attribute, level: str) -> tuple[int, ...]:
    """The branch of each value, at a level of an attribute's tree."""
    if attribute.separate:
        raise Refused(
            f"missing values of {attribute.name} stand apart, and are in no branch of its tree",
            fix="list groups of values, or write `missing:` one of the other values",
        )
    places = {one.name: one.places for one in attribute.levels}
    if level not in places:
        fix = did_you_mean(level, places) if places else "declare it as {tree: {East: [ON, QC], West: [BC]}}"
        raise PolicyError(f"{attribute.name} has no level {level!r}", fix=fix)
    return places[level]


def _labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Labels that every engine, file and report can hold: a release that was paid for must not fail over one."""
    for label in labels:
        if len(label) > LABEL_LIMIT:
            raise PolicyError(
                f"the category {shown(label)} has more than {LABEL_LIMIT:,} characters",
                fix="write a short one here and in the table",
            )
        if "\0" in label or any("\ud800" <= character <= "\udfff" for character in label):
            raise PolicyError(
                f"the category {shown(label)} holds a character that no database can store",
                fix="remove the character",
            )
    return tuple(labels)


def _day(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise PolicyError(f"{shown(text)} is not a day", fix="write days as 2026-01-31") from None


def code_of(attribute: Attribute, text: str) -> int:
    """The position of a value that was typed in the policy file; a number must lie on the grid."""
    try:
        if not attribute.adds_up or (attribute.separate and text == MISSING):
            return attribute.code(text)
        number = exact(text)
        code = attribute.code(number)
        if attribute.number(code) == number:
            return code
    except (DomainError, PydanticCustomError):  # `exact` speaks to pydantic, and may be asked by others
        pass
    raise PolicyError(f"{shown(text)} is not a value of {attribute.name}", fix=_nearest(attribute, text))


def _nearest(attribute: Attribute, text: str) -> str:
    match attribute.values:
        case Categories(labels):
            return did_you_mean(text, labels)
        case Booleans():
            return "write true or false"
        case _:
            step = f" in steps of {attribute.step}" if isinstance(attribute.values, Grid) else ""
            return f"use values from {attribute.text(0)} to {attribute.text(attribute.values.size - 1)}{step}"


# -- open text --------------------------------------------------------------------------------------
# Columns without a list of values, such as postcodes or words, and the items that publish names from them.

ONLY_SECRETS = ("everything", "public")


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


# -- build joint ------------------------------------------------------------------------------------
# From `together` to the secrets of several attributes as one: a metric, or blocks of whole cells.


def joint_factor(together: Together, domain: Domain) -> list[Factor]:
    """The factor of the attributes that are a secret together, if there are such."""
    if together.at_most is not None and together.at_most < 1:
        raise PolicyError("`at most` is below one", fix="let at least one attribute change")
    if together.blocks:
        return [_regions(together, domain)]
    if together.metric is None:
        if together.over or together.within is not None:
            raise PolicyError(
                "the metric is missing", fix="add `metric: l1`, l2, linf or great circle km; or `blocks` or `cells`"
            )
        return []
    if together.at_most is not None:
        raise PolicyError("`metric` and `at most` cannot be combined yet", fix="drop one of them")
    if not together.over or together.within is None:
        raise PolicyError(
            "a joint metric needs `over` and `within`", fix="write {metric: l1, over: [x, y], within: 10}"
        )
    axes = _axes(together, domain)
    for axis in axes:
        if axis.separate:
            raise _apart(axis)
        if not axis.numeric:
            raise PolicyError(f"{axis.name} is not a number", fix="measure integer or real attributes together")
    if domain.project(together.over).size > VALUES_LIMIT:
        raise PolicyError("these attributes have more than 10^18 values together", fix="use coarser grids")
    if together.metric == "great circle km":
        _check_degrees(axes)
    metric = JointMetric(
        together.metric,
        together.within,
        tuple(axis.size for axis in axes),
        tuple(axis.number(0) for axis in axes),
        tuple(axis.step for axis in axes),
    )
    if together.metric == "great circle km" and not _reaches(metric):
        raise PolicyError("`within` reaches no other value", fix="widen it beyond one step of the grid")
    return [Factor(tuple(together.over), metric)]


def _axes(together: Together, domain: Domain) -> list[Attribute]:
    if len(set(together.over)) < len(together.over):
        raise PolicyError("an attribute is named twice in `over`", fix="name each one once")
    return [domain[name] for name in together.over]


def _regions(together: Together, domain: Domain) -> Factor:
    """Blocks of whole cells: a row of them for each value of the first attribute, as long as the others have cells."""
    if together.metric is not None or together.within is not None or together.at_most is not None:
        raise PolicyError(
            "blocks of cells cannot be combined with `metric`, `within` or `at most` yet", fix="drop one of them"
        )
    axes = _axes(together, domain)
    if len(axes) < 2:
        raise PolicyError(
            "blocks of cells are for two or more attributes", fix="name them in `over`, or write blocks under `secrets`"
        )
    shape = tuple(axis.size for axis in axes)
    if len(together.blocks) != shape[0] or any(len(row) != math.prod(shape[1:]) for row in together.blocks):
        raise PolicyError(
            f"the blocks are not a table of {' x '.join(f'{size:,}' for size in shape)} cells",
            fix=f"write a row for each value of {axes[0].name}, with a block for each value of the others",
        )
    return Factor(tuple(together.over), regions(shape, list(chain.from_iterable(together.blocks))))


def regions(shape: tuple[int, ...], owners: Sequence[str]) -> Regions:
    """The blocks of cells that are named for each cell, row by row."""
    names = {name: number for number, name in enumerate(dict.fromkeys(owners))}
    if len(names) == len(owners):
        raise PolicyError("no two cells are in the same block", fix="write `public` if no two values need protection")
    return Regions(shape, tuple(names[name] for name in owners), tuple(names))


def _check_degrees(axes: list[Attribute]) -> None:
    if len(axes) != 2:
        raise PolicyError("great-circle distance needs two attributes", fix="write `over: [latitude, longitude]`")
    for axis, limit, role in zip(axes, (90, 360), ("latitude", "longitude"), strict=True):
        low, high = axis.number(0), axis.number(axis.size - 1)
        if low < -limit or high > limit or high - low > 360:
            raise PolicyError(
                f"{axis.name} goes beyond the degrees of a {role}",
                fix="write `over: [latitude, longitude]`, with latitudes from -90 to 90",
            )


def _reaches(metric: JointMetric) -> bool:
    """Whether a great-circle metric has any secret. Why: neighbours on a meridian, or on the parallels nearest the
    poles, are nearest, unless the map closes around the globe."""
    rows, columns = metric.shape
    corners = [(0, 0, 1, 0)] if rows > 1 else []
    for row in (0, rows - 1):
        corners += [(row, 0, row, column) for column in {1, columns - 1} if 0 < column < columns]
    return any(metric.is_edge(a * columns + b, c * columns + d) for a, b, c, d in corners)


def _apart(attribute: Attribute) -> Refused:
    return Refused(
        f"missing values of {attribute.name} stand apart, so that no distance to them is known",
        fix=f"write everything, blocks or pairs, where `{MISSING}` is a value; or `missing:` one of the other values",
    )


# -- build graph ------------------------------------------------------------------------------------

GROUPS_LIMIT = 1000


def build_graph(document: PolicyDocument, domain: Domain, problems: Problems) -> SecretGraph:
    """The secret graph, with those of groups that have their own. Stops with every problem of the secrets.

    Why  whatever is left out gets the strongest protection: an attribute that is not named is wholly secret.
    """
    absent = document.presence == "secret" or document.individuals is not None
    graph = secret_graph(document.secrets, document.together, absent, domain, problems)
    groups = build_groups(document, graph, problems) if document.groups else None
    problems.stop()
    return replace(graph, groups=groups)


def build_groups(document: PolicyDocument, graph: SecretGraph, problems: Problems) -> Groups | None:
    """The graphs of groups that have their own; a rule says only what is not as the policy says.

    Pre   the document has a `groups` section.
    """
    section, domain = document.groups, graph.domain
    assert section is not None
    with problems.at("groups"):
        if document.individuals is not None:
            raise Refused(
                "groups are for people with one row each: several rows of a person might be in several groups",
                fix="use a table with one row for each person, or drop `groups`",
            )
    with problems.at("groups", "by"):
        if domain[section.by].size > GROUPS_LIMIT:
            raise PolicyError(f"{section.by} has more than {GROUPS_LIMIT:,} values", fix="use a coarser attribute")
        if not isinstance(graph.factor_of(section.by).graph, Public):
            raise PolicyError(
                f"{section.by} is a secret, so that it cannot say whose secrets are which",
                fix=f"write `{section.by}: public` under `secrets` if anyone may learn it, or use another attribute",
            )
    problems.stop()
    rules: dict[int, tuple[str, Rule]] = {}
    for value, rule in section.rules.items():
        with problems.at("groups", "rules", value):
            code = code_of(domain[section.by], value)
            if code in rules:
                raise PolicyError("this group is named twice", fix="give each group one rule")
            _check_rule(rule, section.by)
            rules[code] = (value, rule)
    problems.stop()
    own = [
        (code, _own_graph(rule, document, graph, problems, ("groups", "rules", value)))
        for code, (value, rule) in sorted(rules.items())
    ]
    different = tuple((code, one) for code, one in own if one != graph)
    return Groups(section.by, different) if different else None


def _check_rule(rule: Rule, by: str) -> None:
    if rule.none and (rule.secrets or rule.together):
        raise PolicyError("`none` is said together with secrets", fix="write none alone, or drop it")
    if not rule.none and not rule.secrets and rule.together is None:
        raise PolicyError("this rule says nothing", fix="write its `secrets` or `together`, or none")
    if by in rule.secrets and rule.secrets[by].kind != "public":
        raise PolicyError(f"{by} is what the groups are named after, and is public", fix=f"drop {by} here")
    if rule.together and by in rule.together.over:
        raise PolicyError(f"{by} is what the groups are named after, and is public", fix=f"drop {by} from `over`")


def _own_graph(
    rule: Rule, document: PolicyDocument, graph: SecretGraph, problems: Problems, here: tuple[str, ...]
) -> SecretGraph:
    if rule.none:
        return no_secrets(graph.domain)
    together = rule.together or document.together
    rest = {name: secret for name, secret in document.secrets.items() if name not in together.over}
    return secret_graph({**rest, **rule.secrets}, together, graph.absent, graph.domain, problems, here)


def secret_graph(
    secrets: Mapping[str, SecretSection],
    together: Together,
    absent: bool,
    domain: Domain,
    problems: Problems,
    here: tuple[str, ...] = (),
) -> SecretGraph:
    """The graph that some secrets make together; problems are reported at `here`."""
    factors: list[Factor] = []
    with problems.at(*here, "together"):
        factors += joint_factor(together, domain)
    for name in secrets:
        with problems.at(*here, "secrets", name):
            domain.position(name)
            if factors and name in together.over:
                raise PolicyError(
                    f"{name} is measured by `together` already", fix="name it here or there, and not in both"
                )
    for attribute in domain:
        if attribute.name not in together.over:
            with problems.at(*here, "secrets", attribute.name):
                graph = _attribute_graph(secrets.get(attribute.name), attribute)
                factors.append(Factor((attribute.name,), graph))
    problems.stop()
    limit = len(factors) if together.at_most is None else min(together.at_most, len(factors))
    return SecretGraph(domain, tuple(factors), limit, absent)


def _attribute_graph(section: SecretSection | None, attribute: Attribute) -> AttributeGraph:
    if section is None:
        return Everything(attribute.size)
    match section.kind:
        case "everything" | "public" as word:
            if not getattr(section, word):
                raise PolicyError(f"`{word}: false` says nothing", fix="write everything or public")
            return Everything(attribute.size) if word == "everything" else Public(attribute.size)
        case "within":
            return _within(section, attribute)
        case "blocks":
            return Blocks(partition(attribute, section.blocks, "block"))
        case "level":
            return Blocks(branches_of(attribute, section.level))
    return _pairs(section, attribute)


def _within(section: SecretSection, attribute: Attribute) -> Within | WithinOrMissing:
    if section.within is None:
        raise PolicyError("`within` is empty", fix="write a distance, or `public` if no two values need protection")
    if not attribute.values.ordered:
        raise PolicyError(
            f"the values of {attribute.name} have no order",
            fix="write blocks or pairs, or declare it as {ordered: [...]}",
        )
    if isinstance(section.within, Percentage):
        return _within_share(section.within.share, attribute)
    if section.within < attribute.step:
        raise PolicyError(
            "`within` is below zero" if section.within < 0 else "`within` reaches no other value",
            fix=f"write at least {attribute.step}, or `public` if no two values need protection",
        )
    reach = min(int(section.within / attribute.step), max(1, attribute.values.size - 1))
    return WithinOrMissing(attribute.size, reach) if attribute.separate else Within(attribute.size, reach)


def _within_share(share: Fraction, attribute: Attribute) -> WithinShare:
    """Secrets of numbers above zero to within a share of themselves.

    Why   the least number must have a neighbour: otherwise it would be published exactly, unnoticed.
    """
    if not attribute.numeric:
        raise PolicyError(
            f"a share of {attribute.name} means nothing" + (", missing values among it" if attribute.separate else ""),
            fix="write a distance; or declare an integer or real attribute, and which number missing ones count as",
        )
    least, unit = attribute.number(0), math.lcm(attribute.number(0).denominator, attribute.step.denominator)
    if share <= 0 or least <= 0 or share * least < attribute.step:
        what = f"that share of the least {attribute.name}, {decimal_text(least)}, reaches no other value"
        enough = math.ceil(attribute.step / share) if share > 0 else "a number above zero, and write a share like 10%"
        raise PolicyError(what, fix=f"let its values begin at {enough}; smaller ones then count as that")
    return WithinShare.of(attribute.size, share, first=int(least * unit), stride=int(attribute.step * unit))


def _pairs(section: SecretSection, attribute: Attribute) -> Pairs:
    if not section.pairs:
        raise PolicyError("the list of pairs is empty", fix="write `public` if no two values need protection")
    pairs = set()
    for pair in section.pairs:
        if len(pair) != 2:
            raise PolicyError("a pair does not have two values", fix="write each pair as [one, other]")
        x, y = sorted(code_of(attribute, value) for value in pair)
        pairs.add((x, y))
    return Pairs(attribute.size, frozenset(pairs))


def partition(attribute: Attribute, groups: Sequence[Sequence[str]], word: str) -> tuple[int, ...]:
    """The group of each code: [low, high] for numbers and dates, lists for the rest, either for ordered labels.

    Post  every value is in exactly one group, and groups are numbered in the order of their first values.
    """
    if attribute.size > LISTED_LIMIT:
        raise PolicyError(
            f"{attribute.name} has more than {LISTED_LIMIT:,} values, too many for {word}s",
            fix="use a coarser attribute",
        )
    owner = np.full(attribute.size, -1, np.int64)
    listed = [members(attribute, group) for group in groups]
    for number, codes in enumerate(spanned(listed, attribute)):
        place = slice(codes.start, codes.stop) if isinstance(codes, range) else codes
        taken = owner[place] >= 0
        if taken.any():
            twice = attribute.text(codes[int(taken.argmax())])
            raise PolicyError(
                f"two {word}s of {attribute.name} overlap at {twice}", fix=f"put each value in one {word}"
            )
        owner[place] = number
    if (owner < 0).any():
        left = attribute.text(int((owner < 0).argmax()))
        raise PolicyError(f"the {word}s of {attribute.name} leave {left} out", fix=f"put each value in one {word}")
    _, first, group_of = np.unique(owner, return_index=True, return_inverse=True)
    return tuple(np.argsort(np.argsort(first))[group_of].tolist())


def members(attribute: Attribute, group: Sequence[str]) -> range | list[int]:
    """The codes of a group as it was typed."""
    codes = [code_of(attribute, value) for value in group]
    if not codes:
        raise PolicyError("a group of values is empty", fix="list its values, or drop it")
    if by_ends(attribute):
        if attribute.separate and attribute.missing in codes and set(codes) != {attribute.missing}:
            raise PolicyError(
                f"a group of {attribute.name} has missing values and others", fix=f"write [{MISSING}] as its own group"
            )
        if len(codes) > 2 or codes[0] > codes[-1]:
            raise PolicyError(
                f"a group of {attribute.name} is not a range", fix="write [low, high], the smaller end first"
            )
        return range(codes[0], codes[-1] + 1)
    if len(set(codes)) < len(codes):
        raise PolicyError(f"a group of {attribute.name} lists a value twice", fix="list each value once")
    return codes


def spanned(listed: Sequence[Sequence[int]], attribute: Attribute) -> list[Sequence[int]]:
    """Groups of ordered labels, where two labels may be the ends of a range.

    Why   if the groups as listed have every value once, any range that is longer than its two ends would overlap
          another group. So at most one reading has every value once, and nothing is ambiguous.
    """
    found: list[Sequence[int]] = list(listed)
    if not attribute.ordered or sum(map(len, listed)) >= attribute.size:
        return found
    return [range(codes[0], codes[1] + 1) if len(codes) == 2 and codes[0] < codes[1] else codes for codes in found]


def by_ends(attribute: Attribute) -> bool:
    """Whether groups of values are written as [low, high]."""
    return isinstance(attribute.values, Integers | Grid | Dates)


# -- build attackers --------------------------------------------------------------------------------
# From the `attackers` list of a policy file to the attackers that the policy is priced for.


def build_attackers(document: PolicyDocument, domain: Domain, problems: Problems) -> Attackers:
    """The attackers whose price is the highest of those listed. Stops with every problem of the list.

    Why  the others cost at least what independent people cost: a group may have one row, a person no contact, and
         next to a row on which nothing depends there is the row itself. So `independent` adds nothing to it.
    """
    found: list[Attackers] = []
    for number, section in enumerate(document.attackers):
        with problems.at("attackers", number):
            found.append(_one(section, document, domain))
    problems.stop()
    others = [attackers for attackers in found if not isinstance(attackers, Independent)]
    with problems.at("attackers"):
        if not found:
            raise PolicyError("no attacker is listed, so nothing would be protected", fix="write [independent]")
        if len(others) > 1:
            raise Refused(
                "two kinds of dependence at once are not priced in this version",
                fix="list one of them; `independent` may stand beside it",
            )
    problems.stop()
    return others[0] if others else INDEPENDENT


def _one(section: AttackersSection, document: PolicyDocument, domain: Domain) -> Attackers:
    if section.kind == "independent":
        if not section.independent:
            raise PolicyError("`independent: false` says nothing", fix="name the groups or the chain")
        return INDEPENDENT
    if document.known and section.kind != "groups":
        raise Refused(
            f"known counts have no price beside {'contacts' if section.kind == 'contacts' else 'a chain'}: everybody "
            "would depend on everybody",
            fix="name `groups` that are independent of each other, which have one beside one known count; leaving out "
            "what is known would not make it unknown",
        )
    if document.individuals:
        raise Refused(
            "people with several rows are priced for attackers to whom people are independent only",
            fix="name the larger unit, all of whose rows may depend on each other, as the individual: {key: "
            "household_id, at most: 15 rows}",
        )
    if document.groups:
        raise Refused(
            "people with secrets of their own are priced for attackers to whom people are independent only",
            fix="drop the key `groups`, and let `secrets` say all that anybody hides"
            if section.kind == "contacts"
            else "drop the key `groups`: under these attackers every change of a row is priced for everybody",
        )
    if section.kind == "contacts" and (document.budget.delta or document.budget.rho):
        raise Refused(
            "a delta is not priced for attackers who know of contacts",
            fix="write a budget in epsilon alone, or use `groups`, which have a price at a delta",
        )
    if section.kind == "chain" and (document.budget.delta or document.budget.rho) and not document.budget.once:
        raise Refused(
            "several releases at a delta are not priced for attackers who know a chain",
            fix="drop delta, or write {epsilon: 1, delta: 1e-6, once: true} for one release",
        )
    if section.kind == "groups":
        if section.at_most is None:
            raise PolicyError("`at most` is missing", fix="add how large a group can be: `at most: 5`")
        groups = DependentGroups(section.groups, section.at_most)
        groups.rows_together(sum(1 if known.kind in ("count", "rectangle") else 2 for known in document.known))
        return groups
    if section.kind == "contacts":
        if section.contacts is None:
            raise PolicyError("`contacts` is empty", fix="write {contacts: {at most: 5, influence: 1.2, source: ...}}")
        said = section.contacts
        return Contacts(said.at_most, said.influence, from_elsewhere(said.source, document))
    if section.chain is None:
        raise PolicyError("`chain` is empty", fix="write {chain: {along: time, transition: [[...]], source: ...}}")
    return _chain(section.chain, document, domain)


def _chain(section: ChainSection, document: PolicyDocument, domain: Domain) -> Chain:
    if document.presence != "public":
        raise Refused(
            "no one is absent from a chain: its rows follow each other",
            fix="write `presence: public`; what each row says stays a secret",
        )
    if len(domain.names) != 1:
        raise Refused(
            "the states of a chain are the values of one attribute, and this policy has several",
            fix="declare the attribute that moves along the chain, and no other",
        )
    (attribute,) = domain
    if section.states is not None and section.states != attribute.size:
        raise PolicyError(
            f"the chain has {section.states} states and {attribute.name} has {attribute.size} values",
            fix="let each value be a state",
        )
    matrices = tuple(transition_matrix(matrix) for matrix in section.transition)
    if any(len(matrix) != attribute.size for matrix in matrices):
        raise PolicyError(
            f"the transition matrix does not have one row for each of the {attribute.size} values of {attribute.name}",
            fix="write them in the order of the values",
        )
    starts = tuple(distribution(start, name="the start") for start in section.start)
    return Chain(section.along, matrices, starts, from_elsewhere(section.source, document), section.length)


def from_elsewhere(stated: str, document: PolicyDocument) -> str:
    """A source that is not the data set itself."""
    name, source = document.dataset.casefold(), stated.casefold()
    if source.strip() == name or (not name.isalpha() and name in source):  # a plain word may mean something else
        raise Refused(
            "what attackers know was estimated from the protected table, so publishing under it would leak",
            fix="take the numbers from another source than this data set",
        )
    return stated


# -- build items ------------------------------------------------------------------------------------
# From the `release` list of a policy file to the questions it asks.

BINS_LIMIT = 4 * LISTED_LIMIT
"""The most values of which bins are made in one policy, added up."""


@dataclass(frozen=True)
class DeclaredValues:
    """What a policy declares that a question may be about."""

    graph: SecretGraph
    domain: Domain
    """What the records can be like that the question is about."""
    rows_each: int = 0

    def code(self, attribute: Attribute, typed: str) -> int:
        """The code of a value as it was typed."""
        return code_of(attribute, typed)

    def bins(self, attribute: Attribute, typed: TypedBins) -> tuple[Bins, tuple[str, ...]]:
        """Bins as groups of values, in the order of their first values, and their names, if they have any."""
        names: tuple[str, ...] = ()
        if isinstance(typed, list):
            owner = partition(attribute, typed, "bin")
        elif isinstance(typed, dict):
            owner = partition(attribute, list(typed.values()), "bin")
            names = tuple(sorted(typed, key=lambda name: min(code_of(attribute, value) for value in typed[name])))
        elif typed in [level.name for level in attribute.levels]:
            owner = branches_of(attribute, typed)
            names = next(level.branches for level in attribute.levels if level.name == typed)
        elif typed == SECRET_BLOCKS:
            secrets = self.graph.factor_of(attribute.name).graph
            if not isinstance(secrets, Blocks):
                raise PolicyError(
                    f"the secrets of {attribute.name} are not blocks", fix="list the bins, or give it blocks"
                )
            owner, whole = secrets.blocks, self.graph.domain[attribute.name]
            if attribute != whole:
                owner = tuple(owner[whole.code(attribute.value(code))] for code in range(attribute.size))
        else:
            owner = _by_width(exact(typed), attribute)
        return groups_of(attribute, owner), names


def build_items(document: PolicyDocument, graph: SecretGraph, problems: Problems) -> tuple[Item, ...]:
    """The items to release. Stops with every problem of the list."""
    items: list[Item] = []
    names: set[str] = set()
    listed, rows_each = 0, (document.individuals.at_most or 0) if document.individuals else 0
    for number, section in enumerate(document.release):
        if listed > BINS_LIMIT:
            break
        if section.kind == "names":
            continue
        with problems.at("release", number):
            binned = section.written().get("bins", {})
            listed += sum(graph.domain[name].size for name in binned if name in graph.domain.names)
            if listed > BINS_LIMIT:
                raise PolicyError(
                    f"the bins up to here are of more than {BINS_LIMIT:,} values together",
                    fix="ask for fewer bins, or use coarser attributes",
                )
            items.append(_item(section, graph, rows_each))
            if section.name in names:
                raise PolicyError(f"two items are called {section.name!r}", fix="give each its own name")
            names.add(section.name)
    problems.stop()
    return tuple(items)


def _item(section: ItemSection, graph: SecretGraph, rows_each: int) -> Item:
    kind, written = section.asks, section.written()
    for option in KEYS:
        foreign = option in section.model_fields_set and option not in kind.keys
        if foreign and getattr(section, option) is not False:
            users = [other.words[0] for other in KINDS if option in other.keys]
            raise PolicyError(f"`{option}` means nothing for `{section.kind}`", fix=f"use it with {users[0]}")
    part = records_where(section.condition, (), graph.domain)
    query = kind.read(written, DeclaredValues(graph, graph.domain if part is None else part.inside, rows_each))
    heading = section.title or "", section.notes
    whole = written.get("whole", False)
    item = Item(section.name, query, section.share, whole, *heading, section.condition, section.error)
    if (those := item.among(graph.domain)) is not None:
        if not query.of_parts:
            raise Refused(f"`{section.kind}` is about all records", fix="leave `where` out, or use it with mean")
        those.check_cells(query.table(those.inside))
    require_possible(query.linear(item.inside(graph.domain)))
    item.linear(graph.domain)
    return item


def require_possible(asked: LinearQuery) -> None:
    """Refuse a condition that holds for no record, whatever the data are."""
    if isinstance(asked.contribution, Table) and not asked.contribution.matrix.any():
        raise PolicyError(
            "no record can satisfy this condition: none of the declared values does",
            fix="correct the condition, or declare the values that it is about under `attributes`",
        )


def _by_width(width: Fraction, attribute: Attribute) -> tuple[int, ...]:
    """The bin of each code, where bins are so wide."""
    steps = width / attribute.step
    if not by_ends(attribute) or steps < 1 or steps.denominator != 1:
        raise PolicyError(
            f"{width} is not a width of bins of {attribute.name}",
            fix=f"write a multiple of {attribute.step}" if by_ends(attribute) else "list the bins",
        )
    if attribute.size > LISTED_LIMIT:
        partition(attribute, [], "bin")
    return tuple((np.arange(attribute.size) // int(steps)).tolist())


def groups_of(attribute: Attribute, owner: tuple[int, ...]) -> Bins:
    """Groups of values in the form they are typed: [low, high] for numbers and dates, lists for the rest."""
    if by_ends(attribute):  # ranges, numbered in their order
        first = np.unique(np.asarray(owner), return_index=True)[1]
        last = np.append(first[1:], len(owner)) - 1
        ends = zip(first.tolist(), last.tolist(), strict=True)
        return tuple((attribute.value(low), attribute.value(high)) for low, high in ends)
    codes: dict[int, list[int]] = {}
    for code, group in enumerate(owner):
        codes.setdefault(group, []).append(code)
    return tuple(tuple(attribute.value(code) for code in group) for group in codes.values())


# -- build known ------------------------------------------------------------------------------------
# From the `known` list of a policy file to facts about the data.

COUNT = "count"
ROW_LIMIT = 1_000_000
SIZE_LIMIT = 50_000_000
"""The bytes of the largest file."""
BETWEEN = ".."


def read_known_table(path: Path, domain: Domain) -> Known:
    """The marginal in a CSV file: one column for each attribute, and `count`.

    A cell is a value, or `17..29` for a range of an ordered attribute: a bucketised table. Every cell of the table
    must be there, with 0 for an empty one: a cell that is left out might as well be unknown.
    """
    header, rows = read_rows(path)
    if COUNT not in header or len(set(header)) < len(header) or len(header) < 2:
        raise unfit(path, "it does not have one column for each attribute and one called count")
    names = [name for name in header if name != COUNT]
    for name in names:
        if name not in domain.names:
            raise unfit(path, f"there is no attribute {name!r}")
    texts = {name: list(dict.fromkeys(row[header.index(name)] for row in rows)) for name in names}
    parts = {name: _groups(path, domain[name], texts[name]) for name in names}
    answers: dict[tuple[int, ...], int] = {}
    for row in rows:
        cell = tuple(parts[name][1][row[header.index(name)]] for name in names)
        if cell in answers:
            raise unfit(path, "a cell is listed twice")
        answers[cell] = _count(path, row[header.index(COUNT)])
    sizes = [max(parts[name][1].values()) + 1 for name in names]
    if math.prod(sizes) != len(answers):  # asked before any cell is made: three columns have a billion in a small file
        raise unfit(path, "cells are left out", fix="add a row for every cell, with 0 for an empty one")
    cells = itertools.product(*(range(size) for size in sizes))
    bins = {
        name: groups_of(domain[name], parts[name][0]) for name in names if len(set(parts[name][0])) < domain[name].size
    }
    return Known(Marginal(tuple(names), tuple(bins.items())), tuple(answers[cell] for cell in cells))


def read_rows(path: Path) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a CSV file in the policy's folder."""
    if path.is_file() and path.stat().st_size > SIZE_LIMIT:
        raise unfit(path, f"it is larger than {SIZE_LIMIT // 10**6} MB", fix="give a coarser table")
    try:
        if not path.is_file():
            raise OSError
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(itertools.islice(csv.reader(file), ROW_LIMIT + 1))
    except (OSError, ValueError, csv.Error):
        raise unfit(path, "it cannot be read", fix="name a CSV file in the folder of the policy file") from None
    rows = [[part.strip() for part in row] for row in rows if row]
    if not rows or len(rows) > ROW_LIMIT or any(len(row) != len(rows[0]) for row in rows):
        raise unfit(path, "it is not a table with a header and rows of the same length")
    return rows[0], rows[1:]


def _groups(path: Path, attribute: Attribute, texts: list[str]) -> tuple[tuple[int, ...], dict[str, int]]:
    """The group of every code, and the group that each text of the table means."""
    typed = [text.split(BETWEEN) if by_ends(attribute) and BETWEEN in text else [text] for text in texts]
    with _fitting(path):
        owner = partition(attribute, typed, "row")
        return owner, {text: owner[members(attribute, group)[0]] for text, group in zip(texts, typed, strict=True)}


@contextmanager
def _fitting(path: Path) -> Iterator[None]:
    """Say of a value that does not fit in which table it is."""
    try:
        yield
    except PolicyError as error:
        raise unfit(path, error.what, fix=error.fix) from None
    except PydanticCustomError as error:
        context = error.context or {}
        raise unfit(path, str(context["what"]), fix=str(context["fix"])) from None


def _count(path: Path, text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise unfit(path, "a count is not a whole number")
    return int(text)


def unfit(path: Path, why: str, *, fix: str = "give an exact table over attributes of this policy") -> PolicyError:
    """The error for a table in the policy's folder."""
    return PolicyError(f"the table {path.name} does not fit: {why}", fix=fix)


MOST_ENTRIES = 200
"""Entries of `known`: what neighbours look like takes a time that grows with their square, and more."""


def build_known(
    sections: Sequence[KnownSection], domain: Domain, folder: Path | None, problems: Problems
) -> tuple[Known, ...]:
    """The known facts. Stops with every problem of the list. Tables are looked for in the policy's folder."""
    if len(sections) > MOST_ENTRIES:
        with problems.at("known"):
            raise PolicyError(
                f"more than {MOST_ENTRIES} entries are known, too many to be compared with each other",
                fix="list counts that make up a table as one `marginal` or as `blocks`",
            )
        problems.stop()
    known: list[Known] = []
    cells = 0
    for number, section in enumerate(sections):
        if cells > FACT_LIMIT:
            break
        with problems.at("known", number):
            entry = known_from(section, domain, folder)
            query = known_query(entry, domain)
            cells += query.contribution.matrix.size if isinstance(query.contribution, Table) else 0
            if cells > FACT_LIMIT:
                raise PolicyError(
                    f"the known counts up to here are about more than {FACT_LIMIT:,} cells",
                    fix="know fewer counts, about fewer or coarser attributes, or write them as a marginal with bins",
                )
            require_possible(query)
            known.append(entry)
            check_known([entry], domain)
    problems.stop()
    with problems.at("known"):
        if len(known) > 1 and any(entry.bounded for entry in known) and overlap(known, domain):
            raise Refused(
                "a known inequality is priced beside counts of other records only, and these count some of them twice",
                fix="list counts that share no record, or exact counts only, with `is:` or without it",
            )
        check_known(known, domain)
    problems.stop()
    once: dict[Fact, Known] = {}
    for entry in known:  # what is listed twice is known once, with its answer if either has it
        if entry.fact not in once or once[entry.fact].answers is None:
            once[entry.fact] = entry
    return tuple(once.values())


def known_from(section: KnownSection, domain: Domain, folder: Path | None) -> Known:
    """One entry as a fact with its answers."""
    if section.bins and section.kind != "marginal":
        raise PolicyError(f"`bins` means nothing for `{section.kind}`", fix="use it with marginal")
    if section.kind == "table":
        if "answers" in section.model_fields_set:
            raise PolicyError("a known table has its answers in its file", fix="drop `is`")
        return read_known_table(sibling_file(folder, section.table), domain)
    answers = section.answers if "answers" in section.model_fields_set else None
    return Known(_fact(section, domain), answers, section.at_least, section.at_most)


def _fact(section: KnownSection, domain: Domain) -> Fact:
    match section.kind:
        case "count":
            return CountWhere("" if section.count == "all" else section.count)
        case "marginal":
            return _marginal(section.marginal, section.bins, domain)
        case "blocks":
            return _marginal(tuple(section.blocks), section.blocks, domain)
        case _:
            return _rectangle(section, domain)


def _marginal(names: Sequence[str], bins: BlocksOf, domain: Domain) -> Marginal:
    if not names or len(set(names)) < len(names):
        raise PolicyError("a known marginal does not name each attribute once", fix="write {marginal: [sex, region]}")
    for name in bins:
        if name not in names:
            raise PolicyError(f"`bins` names {name!r}, which the marginal does not have", fix="name it there too")
    for name in names:
        _known_attribute(name, domain)
        if domain[name].size > FACT_LIMIT:
            raise PolicyError(
                f"a known marginal is about {name}, which has more than {FACT_LIMIT:,} values",
                fix="use a coarser attribute",
            )
    grouped = {
        name: groups_of(domain[name], partition(domain[name], bins[name], "block")) for name in names if name in bins
    }
    return Marginal(tuple(names), tuple(grouped.items()))


def _rectangle(section: KnownSection, domain: Domain) -> Rectangle:
    sides = []
    for name, ends in section.rectangle.items():
        _known_attribute(name, domain)
        attribute = domain[name]
        if len(ends) != 2:
            raise PolicyError(f"the side {name} of a rectangle does not have two ends", fix="write x: [low, high]")
        low, high = (code_of(attribute, end) for end in ends)
        sides.append((name, attribute.value(low), attribute.value(high)))
    order = {name: place for place, name in enumerate(domain.names)}
    return Rectangle(tuple(sorted(sides, key=lambda side: order[side[0]])))


def _known_attribute(name: str, domain: Domain) -> None:
    try:
        domain.position(name)
    except DomainError as error:
        raise QueryError(error.what, fix=error.fix) from None


# -- cells file -------------------------------------------------------------------------------------


def with_cells(document: PolicyDocument, domain: Domain, folder: Path | None, problems: Problems) -> PolicyDocument:
    """The document with the blocks of cells in place of the name of their file, so that it is whole by itself."""
    together = document.together
    if together.cells is None:
        return document
    with problems.at("together", "cells"):
        if together.blocks:
            raise PolicyError("the blocks are given twice", fix="write `blocks` or `cells`, and not both")
        blocks = _blocks(sibling_file(folder, together.cells), together, domain)
        together = together.model_copy(update={"blocks": blocks, "cells": None})
    problems.stop()
    return document.model_copy(update={"together": together})


def _blocks(path: Path, together: Together, domain: Domain) -> tuple[tuple[str, ...], ...]:
    axes = [domain[name] for name in together.over]
    shape = [axis.size for axis in axes]
    if not axes or math.prod(shape) > ROW_LIMIT:
        raise PolicyError(
            f"a file of cells is for up to {ROW_LIMIT:,} cells of the attributes in `over`",
            fix="use coarser attributes",
        )
    header, rows = read_rows(path)
    names = [axis.name for axis in axes]
    others = [place for place, name in enumerate(header) if name not in names]
    if len(header) != len(names) + 1 or len(others) != 1 or not {*names} <= {*header}:
        raise unfit(
            path,
            "it does not have one column for each attribute and one for the block",
            fix=f"give it the columns {', '.join(names)} and one more",
        )
    owner = np.full(math.prod(shape), None, dtype=object)
    codes: list[dict[str, int]] = [{} for _ in axes]
    for row in rows:
        cell = 0
        for axis, known in zip(axes, codes, strict=True):
            text = row[header.index(axis.name)]
            if text not in known:
                with _fitting(path):
                    known[text] = code_of(axis, text)
            cell = cell * axis.size + known[text]
        if owner[cell] is not None:
            raise unfit(path, "a cell is listed twice", fix="give each cell one block")
        owner[cell] = row[others[0]]
    if (left := sum(one is None for one in owner)) > 0:
        raise unfit(
            path,
            f"{left:,} of {len(owner):,} cells are left out",
            fix="add a row for every cell; those that must be empty may share a block of their own",
        )
    return tuple(map(tuple, owner.reshape(shape[0], -1).tolist()))


# -- table ------------------------------------------------------------------------------------------
# From `secrets: {table: ...}` of a policy file to a secret of the whole table, and what is not priced with one.

HERE = ("secrets", TABLE)
ALONE = "is not priced beside a secret of the whole table"


def take_table(data: dict[str, Any], problems: Problems) -> tuple[dict[str, Any], TableSecretSection | None]:
    """The data of a file without the secret of its whole table, and that, if there is one."""
    secrets, declared = data.get("secrets"), data.get("attributes") or ()
    names = (
        [part.get("name") for part in declared if isinstance(part, dict)] if isinstance(declared, list) else declared
    )
    if not isinstance(secrets, dict) or TABLE not in secrets or TABLE in names:
        return data, None
    rest = data | {"secrets": {name: secret for name, secret in secrets.items() if name != TABLE}}
    try:
        return rest, TableSecretSection.model_validate(secrets[TABLE])
    except ValidationError as error:
        problems.add_shape_errors(error, HERE)
        return rest, None


def build_table(
    section: TableSecretSection,
    document: PolicyDocument,
    domain: Domain,
    opened: Sequence[OpenText],
    problems: Problems,
) -> TableSecret:
    """The secret of the whole table. Stops with every problem of it, and with all that is not priced with it.

    Why  records are wholly secret then, so that `secrets` may say that of attributes, and nothing else.
    """
    _check_alone(document, domain, opened, problems)
    chances = []
    for name in sorted(section.chances, key=lambda name: domain.places.get(name, -1)):
        with problems.at(*HERE, "chances", name):
            chances.append(_chances_of(name, section.chances[name], domain))
    problems.stop()
    with problems.at(*HERE):
        source = from_elsewhere(section.source, document)
        asked, drawn = section.share or section.chance, section.kind == "chance"
        secret = TableSecret(asked, section.within, section.records, tuple(chances), source, drawn)
    problems.stop()
    with problems.at(*HERE, section.kind):
        if not 0 < joint_chances(secret, domain)[cells_having(secret, domain)].sum() < 1:
            raise PolicyError("it holds for every record, or for none", fix="check the condition and its chances")
    problems.stop()
    return secret


def _chances_of(name: str, section: ChancesSection, domain: Domain) -> Chances:
    given = [domain[other].name for other in section.given]
    if len({name, *given}) < len(given) + 1:
        raise PolicyError("`given` names an attribute twice, or the one it is about", fix="name each other one once")
    rows = tuple(distribution(row, name=f"row {n} of {name}") for n, row in enumerate(section.are, 1))
    wanted = math.prod(domain[other].size for other in given)
    if len(rows) != wanted or any(len(row) != domain[name].size for row in rows):
        raise PolicyError(
            f"there are not {domain[name].size} chances in each of {wanted} rows",
            fix="write one for each value, in the order of the values, and a row for each combination of those given",
        )
    return Chances(name, tuple(given), rows)


def _check_alone(document: PolicyDocument, domain: Domain, opened: Sequence[OpenText], problems: Problems) -> None:
    """Refuse all else in the file that has no price with it."""
    others = [name for name, secret in document.secrets.items() if secret.kind != "everything"]
    dependent = any(entry.kind != "independent" for entry in document.attackers)
    budget = document.budget
    said = {
        ("secrets", *others[:1]): bool(others) and "drop it: records are wholly secret beside it",
        ("together",): document.together != Together() and "drop it: records are wholly secret beside it",
        ("groups",): document.groups and "drop it: records are wholly secret beside it",
        ("individuals",): document.individuals and "use a table with one row for each person",
        ("presence",): document.presence != "public" and "write `presence: public`: a share is one of a known number",
        ("known",): document.known and "drop it if nothing exact was published; else there is no price yet",
        ("attackers",): dependent and "write [independent] if that is true of the records",
        ("adversary",): document.adversary and "publish a view from a policy and a data set of its own",
        ("population",): document.population and "leave it out, and release from one data set",
        ("attributes", *(column.name for column in opened[:1])): bool(opened) and "drop the columns of open text",
        ("budget", "delta"): (budget.delta or budget.rho) and "write {epsilon: 1, once: true}",
    }
    for place, fix in said.items():
        if fix:
            problems.add(place, Refused(f"`{place[0]}` of this kind {ALONE}", fix=str(fix)))
    if not budget.once:
        what = "what several releases tell of a whole table does not add up, so that there is one"
        problems.add(("budget",), Refused(what, fix="write {epsilon: 1, once: true}"))
    for attribute in domain:
        if attribute.separate:
            what = f"a missing value of {attribute.name} that stands apart {ALONE}"
            problems.add(("attributes", attribute.name), Refused(what, fix="write `missing:` one of the other values"))
    problems.stop()


def check_one_number(secret: TableSecret, items: Sequence[Item], domain: Domain, problems: Problems) -> None:
    """Refuse items other than one number about attributes whose chances are stated."""
    if len(items) > 1:
        what = "several items are not priced under a secret of the whole table: what they tell does not add up"
        problems.add(("release",), Refused(what, fix="ask for one count or total"))
    for number, item in enumerate(items):
        with problems.at("release", number):
            asked = item.query.linear(domain)
            if item.where or asked.by or asked.size(domain) != 1:
                raise Refused(f"this {ALONE}: one number is", fix="ask for a count with its condition, or for a total")
            if unsaid := [name for name in asked.names if name not in secret.names]:
                raise PolicyError(
                    f"the chances of {unsaid[0]} are not stated, so the loss of this number is unknown",
                    fix=f"state them under `chances` of `secrets: {{{TABLE}: ...}}`",
                )
    problems.stop()
