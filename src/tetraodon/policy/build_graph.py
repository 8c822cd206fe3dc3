"""From `secrets`, `together`, `groups` and `presence` of a policy file to the secret graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain

import numpy as np

from tetraodon.domain import Attribute, Dates, Domain, Grid, Integers
from tetraodon.domain.domain import MISSING
from tetraodon.errors import PolicyError, Refused
from tetraodon.exact.rational import decimal_text
from tetraodon.policy.attribute_graph import (
    AttributeGraph,
    Blocks,
    Everything,
    Pairs,
    Public,
    Within,
    WithinOrMissing,
    WithinShare,
    branches_of,
)
from tetraodon.policy.build_domain import LISTED_LIMIT, VALUES_LIMIT, code_of
from tetraodon.policy.document import PolicyDocument, Rule, SecretSection, Together
from tetraodon.policy.joint_graph import JointMetric, Regions
from tetraodon.policy.secret_graph import Factor, Groups, SecretGraph, no_secrets
from tetraodon.policy.section import Percentage
from tetraodon.policy.source import Problems

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
    """The graph that some secrets make together; problems are told at `here`."""
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

    Why   the least number must have a neighbour: it would be told exactly otherwise, and nobody would notice.
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
