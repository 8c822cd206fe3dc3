"""A policy as plain data in normal form: every default written out, every number exact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

import numpy as np

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Grid, Integers
from tetraodon.exact.rational import decimal_text
from tetraodon.policy.attackers import TableSecret
from tetraodon.policy.attribute_graph import (
    AttributeGraph,
    Blocks,
    Everything,
    Pairs,
    Public,
    Within,
    WithinOrMissing,
    WithinShare,
    tree_document,
)
from tetraodon.policy.build import SEPARATE, groups_of
from tetraodon.policy.document import ALL_AT_ONCE, NOTHING, ONE_AT_A_TIME, ONE_ROW_EACH, TABLE, VERSION
from tetraodon.policy.joint_graph import JointGraph, JointMetric, Regions
from tetraodon.policy.known import CountWhere, Known, Marginal, Rectangle
from tetraodon.policy.policy import Item, NamesItem, OpenText, Policy
from tetraodon.policy.secret_graph import Groups, SecretGraph, no_secrets
from tetraodon.query.query import Json, plain


def canonical(policy: Policy, hints: Mapping[str, object]) -> Json:
    """The document of a policy: loading it gives an equal policy, and equal policies have equal documents.

    Why  attributes and named ranges are lists, so that their order survives wherever the keys of maps are sorted.
    """
    return {
        "tetraodon": VERSION,
        "dataset": policy.dataset,
        **({"population": policy.population} if policy.population else {}),
        **({"title": policy.title} if policy.title else {}),
        **({"publisher": policy.publisher.document()} if policy.publisher.document() else {}),
        "individuals": _individuals(policy),
        "presence": policy.presence,
        "attributes": [*(_attribute(attribute) for attribute in policy.domain), *map(_open, policy.open)],
        **_all_secrets(policy),
        **({"groups": _groups(policy.graph, policy.graph.groups)} if policy.graph.groups else {}),
        "known": [_known(entry) for entry in policy.known],
        "attackers": policy.attackers.document(),
        "budget": policy.budget,
        **({"adversary": policy.adversary.document()} if policy.adversary else {}),
        **({"public": dict(policy.public)} if policy.public else {}),
        **({"table": {name: plain(hint) for name, hint in hints.items()}} if hints else {}),
        "release": [*(_item(item) for item in policy.items), *map(_names, policy.names)],
    }


def _individuals(policy: Policy) -> str | Json:
    if not policy.key:
        return ONE_ROW_EACH
    return {"key": policy.key, "secret" if policy.every_row else "at most": policy.rows_per_person}


def _all_secrets(policy: Policy) -> Json:
    found = _secrets(policy.graph)
    found["secrets"] |= {column.name: "everything" if column.secret else "public" for column in policy.open}
    if isinstance(policy.attackers, TableSecret):
        found["secrets"] |= {TABLE: policy.attackers.secret_document()}
    return found


def _open(column: OpenText) -> Json:
    return {"name": column.name, "open": "text", "longest": column.longest, **({"trim": True} if column.trim else {})}


def _names(item: NamesItem) -> Json:
    return {"name": item.name, **_told(item), "names": item.column, "share": plain(item.share)}


def _secrets(graph: SecretGraph) -> Json:
    domain = graph.domain
    named = {f.names[0]: _secret(domain[f.names[0]], f.graph) for f in graph.factors if _single(f.graph)}
    return {"secrets": named, "together": _together(graph)}


def _groups(graph: SecretGraph, groups: Groups) -> Json:
    attribute = graph.domain[groups.by]
    none = no_secrets(graph.domain)
    rules = {attribute.text(code): NOTHING if own == none else _secrets(own) for code, own in groups.own}
    return {"by": groups.by, "rules": rules}


def _single(graph: object) -> bool:
    return not isinstance(graph, JointGraph)


def _attribute(attribute: Attribute) -> Json:
    values = attribute.values
    match values:
        case Integers():
            form: Json = {"integer": [values.low, values.high]}
        case Grid():
            form = {"real": [plain(values.low), plain(values.high)], "step": plain(values.step)}
        case Dates():
            form = {"date": [plain(values.first), plain(values.last)]}
        case Categories():
            named = {"ordered" if values.ordered else "categories": list(values.labels)}
            form = tree_document(values) if values.levels else named
        case Booleans():
            form = {"boolean": True}
        case _:
            assert_never(values)
    form = {"name": attribute.name, **form, "missing": _missing(attribute)}
    if attribute.other is not None:
        form["other"] = plain(attribute.value(attribute.other))
    form |= {"format": attribute.format} if attribute.format else {}
    form |= {"trim": True} if attribute.trim else {}
    unit = [attribute.singular, attribute.unit] if attribute.singular else attribute.unit
    return {**form, "unit": unit} if unit else form


def _missing(attribute: Attribute) -> Any:
    return SEPARATE if attribute.separate else plain(attribute.value(attribute.missing))


def _secret(attribute: Attribute, graph: AttributeGraph | JointGraph) -> str | Json:
    match graph:
        case Everything():
            return "everything"
        case Public():
            return "public"
        case WithinShare():
            return {"within": f"{decimal_text(100 * graph.share)}%"}
        case Within() | WithinOrMissing():
            return {"within": plain(graph.reach * attribute.step)}
        case Blocks():
            return {"blocks": _listed(groups_of(attribute, graph.blocks))}
        case Pairs():
            ends = [[attribute.value(x), attribute.value(y)] for x, y in sorted(graph.pairs)]
            return {"pairs": _listed(ends)}
        case JointGraph():
            raise AssertionError("what several attributes share is written under `together`")
        case _:
            assert_never(graph)


def _listed(groups: Any) -> list[list[Any]]:
    return [[plain(value) for value in group] for group in groups]


def _together(graph: SecretGraph) -> str | Json:
    for factor in graph.factors:
        if isinstance(factor.graph, JointMetric):
            return {"metric": factor.graph.metric, "over": list(factor.names), "within": plain(factor.graph.within)}
        if isinstance(factor.graph, Regions):
            blocks = np.array(factor.graph.names)[factor.graph.components()].reshape(factor.graph.shape[0], -1)
            return {"over": list(factor.names), "blocks": blocks.tolist()}
    if graph.at_most >= len(graph.factors):
        return ALL_AT_ONCE
    return ONE_AT_A_TIME if graph.at_most == 1 else {"at most": graph.at_most}


def _known(entry: Known) -> Json:
    answers: Json = {}
    if entry.answers is not None:
        answers = {"is": list(entry.answers) if isinstance(entry.fact, Marginal) else entry.answers[0]}
    answers |= {word: end for word, end in (("at least", entry.least), ("at most", entry.most)) if end is not None}
    match entry.fact:
        case CountWhere():
            return {"count": entry.fact.where or "all", **answers}
        case Marginal():
            bins = {name: _listed(groups) for name, groups in entry.fact.bins}
            return {"marginal": list(entry.fact.attributes), **({"bins": bins} if bins else {}), **answers}
        case Rectangle():
            return {"rectangle": {n: [plain(low), plain(high)] for n, low, high in entry.fact.sides}, **answers}
        case _:
            assert_never(entry.fact)


def _item(item: Item) -> Json:
    by: Json = {"by": list(item.query.by)} if item.query.by else {}
    where: Json = {"where": item.where} if item.where else {}
    rest: Json = {**where, "share": plain(item.share), "whole": item.whole}
    rest |= {"error": item.error.document()} if item.error else {}
    return {"name": item.name, **_told(item), **item.query.document(), **by, **rest}


def _told(item: Item | NamesItem) -> Json:
    return ({"title": item.title} if item.title else {}) | ({"notes": list(item.notes)} if item.notes else {})
