"""Policies read from files or dicts, whole or as far as they are finished, and written back in normal form."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias, assert_never

import numpy as np
from pydantic import ValidationError

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.errors import PolicyError, Problem, Refused, TetraodonError
from tetraodon.exact.rational import decimal_text
from tetraodon.policy.adversary import Adversary
from tetraodon.policy.attackers import Attackers, Chain, DependentGroups, TableSecret
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
from tetraodon.policy.build import (
    SEPARATE,
    build_attackers,
    build_domain,
    build_graph,
    build_items,
    build_known,
    build_names,
    build_open,
    build_table,
    check_one_number,
    groups_of,
    take_table,
    with_cells,
)
from tetraodon.policy.document import (
    ALL_AT_ONCE,
    NONE_BUT_PRESENCE,
    NOTHING,
    ONE_AT_A_TIME,
    ONE_ROW_EACH,
    TABLE,
    VERSION,
    Branches,
    Budget,
    PolicyDocument,
    only_presence,
)
from tetraodon.policy.joint_graph import JointGraph, JointMetric, Regions
from tetraodon.policy.known import CountWhere, Known, Marginal, Rectangle
from tetraodon.policy.policy import LEAST, MOST, Item, NamesItem, OpenText, Policy
from tetraodon.policy.secret_graph import Groups, SecretGraph, no_secrets
from tetraodon.policy.section import TableSecretSection
from tetraodon.policy.source import KeyPath, Plain, Problems, Source, is_text, parse, read_source
from tetraodon.query.query import Json, plain
from tetraodon.wording import listing

# -- load -------------------------------------------------------------------------------------------

USUAL_DELTA = Fraction(1, 10**6)
"""The delta at which a budget in zCDP is shown as odds where the file states none."""
LEAST_DELTA, MOST_DELTA = Fraction(1, 10**100), Fraction(1, 100)
"""Beyond one in a hundred, releasing a few records as they are would pass."""

PLACEHOLDER = "CONFIRM"
"""What a new policy file has wherever only public knowledge can say what belongs there."""


AnyPolicy: TypeAlias = Policy | str | os.PathLike[str] | Mapping[str, Any]
"""A policy in any form that `load_policy` takes."""


def load_policy(source: AnyPolicy, *, folder: Path | None = None) -> Policy:
    """The policy in a YAML file, in the text of one, or in a dict of the same form; a policy stays what it is.

    Files that it names are in `folder`: left out, that of the file, and for a text or a dict the one we work in.

    Post  `load_policy(policy.document) == policy`. Whatever takes a policy takes any of these in its place.
    Raises PolicyError with the line of everything that is wrong, and Refused for what has no safe meaning yet.

    >>> policy = load_policy({"dataset": "d", "attributes": {"age": {"integer": [0, 99]}}, "budget": {"epsilon": 0.1}})
    >>> policy.epsilon, policy.presence, policy.graph.is_edge(3, 77)
    (0.1, 'secret', True)
    """
    if isinstance(source, Policy):
        return source
    read = read_source(source)
    if folder is None:
        folder = Path() if isinstance(source, Mapping) or is_text(source) else Path(source).parent
    return _understood(read, folder)


def _understood(read: Source, folder: Path | None) -> Policy:
    """The policy in what was read. The files that it names are in `folder`; where there is none, none is opened."""
    problems = Problems(read)
    document, table = _document(read, problems)
    problems.stop()
    document, opened = build_open(document, problems)
    domain = build_domain(document, problems)
    _check_promises(document, problems, once=table is not None)
    with problems.part():
        _check_apart(document, domain, problems)
    with problems.part():
        known = build_known(document.known, domain, folder, problems)
    with problems.part():
        adversary = _adversary(document, domain, problems)
    with problems.part():
        document = with_cells(document, domain, folder, problems)
        graph = build_graph(document, domain, problems)
        problems.unread = False
    with problems.part():
        attackers = build_attackers(document, domain, problems)
        if table is not None:
            attackers = build_table(table, document, domain, opened, problems)
        if not problems.unread:
            _check_owner(document, attackers, graph, problems)
    if not problems.unread:
        with problems.part():
            items = build_items(document, graph, problems)
        with problems.part():
            names = build_names(document, opened, problems)
    problems.stop()
    if isinstance(attackers, TableSecret):
        check_one_number(attackers, items, domain, problems)
    graph = replace(graph, known=known)
    budget = document.budget
    policy = Policy(
        dataset=document.dataset,
        domain=domain,
        graph=graph,
        epsilon=budget.epsilon or Fraction(1),  # replaced below where the budget is a rho
        items=items,
        attackers=attackers,
        presence=document.presence,
        key=document.individuals.key if document.individuals else "",
        rows_per_person=document.individuals.rows if document.individuals else 1,
        every_row=document.individuals is not None and document.individuals.secret is not None,
        title=document.title or "",
        publisher=document.publisher,
        population=document.population or "",
        adversary=adversary,
        public=tuple(sorted(document.public.items())),
        open=opened,
        names=names,
        once=budget.once,
        source=read.name,
        folder=folder,
    )
    if budget.kind == "rho":
        policy = policy.with_rho(budget.rho, budget.delta or USUAL_DELTA)
    elif budget.delta:
        policy = policy.with_budget(delta=budget.delta)
    hints = {name: hint for name, hint in document.table or () if hint is not None}
    return replace(policy, document=canonical(policy, hints))


def _check_apart(document: PolicyDocument, domain: Domain, problems: Problems) -> None:
    """Refuse what is not priced yet where missing values stand apart."""
    apart = [attribute.name for attribute in domain if attribute.separate]
    dependent = any(entry.kind != "independent" for entry in document.attackers)
    for place, there in (("known", document.known), ("attackers", dependent), ("adversary", document.adversary)):
        if apart and there:
            what = f"missing values of {listing(apart)} stand apart, which is not priced together with this yet"
            problems.add((place,), Refused(what, fix="write `missing:` one of the other values"))
    problems.stop()


def _check_owner(document: PolicyDocument, attackers: Attackers, graph: SecretGraph, problems: Problems) -> None:
    """Refuse a column that says whose row it is and may be changed by a secret: the row would change its owner."""
    columns: list[tuple[KeyPath, str]] = []
    if document.individuals:
        columns.append((("individuals", "key"), document.individuals.key))
    if isinstance(attackers, Chain | DependentGroups):
        columns.append((("attackers",), attackers.along if isinstance(attackers, Chain) else attackers.column))
    for place, column in columns:
        if column in graph.domain.names and not isinstance(graph.factor_of(column).graph, Public):
            what = f"{column} says which rows belong together, and is a secret itself"
            fix = f"write `{column}: public` under `secrets`, or drop it from `attributes`"
            problems.add(place, Refused(what, fix=fix))
    problems.stop()


def stated_policy(stated: object) -> Policy:
    """The policy that a stranger states, as plain data or as text: as `load_policy`, but no file is opened for it.

    Raises PolicyError where it is none, or would have a file read: what we write has every known table written out.
    """
    if isinstance(stated, str):
        return _understood(parse(stated.encode("utf-8", "replace"), "the text"), None)
    if not isinstance(stated, Mapping):
        raise PolicyError("the stated policy is not a map of keys", fix="ask for a new copy")
    return _understood(read_source(stated), None)


def _adversary(document: PolicyDocument, domain: Domain, problems: Problems) -> Adversary | None:
    """The adversary of a view; its prior is checked as far as the file alone can tell."""
    found = None
    with problems.at("adversary"):
        found = None if document.adversary is None else document.adversary.adversary()
        for name, weights in () if found is None else found.source:
            if name not in domain.names or domain[name].size != len(weights):
                raise PolicyError(
                    f"the source does not have one weight for each value of an attribute {name}",
                    fix="name an attribute, and give a whole number for each of its values, in their order",
                )
        if found is not None and (found.d is not None or found.records is not None):
            found.prior(domain.size)
    for name in document.public:
        if not re.fullmatch(r"[A-Za-z_]\w{0,63}", name):
            what = f"{name!r} cannot be the name of a table"
            problems.add(("public", name), PolicyError(what, fix="use letters, digits and _"))
    problems.stop()
    return found


def _document(source: Source, problems: Problems) -> tuple[PolicyDocument, TableSecretSection | None]:
    """The file in its shape, and a secret of its whole table; version and placeholders come first: they explain it."""
    if not isinstance(source.data, dict):
        raise PolicyError("a policy is a map of keys", fix="start one with `tetraodon init`", where=source.where(()))
    version = source.data.get("tetraodon")
    if isinstance(version, str) and version.isascii() and version.isdigit() and int(version[:9]) > VERSION:
        raise PolicyError(
            f"the policy is written for version {version[:9]} of the format, and this release reads {VERSION}",
            fix="upgrade tetraodon",
            where=source.where(("tetraodon",)),
        )
    for path in _placeholders(source.data, ()):
        what = f"{PLACEHOLDER} still stands here"
        problems.add(path, PolicyError(what, fix="put in its place what is publicly known, never what the data show"))
    problems.stop()
    data = {key: value for key, value in source.data.items() if value is not None}
    if data.get("secrets") == NONE_BUT_PRESENCE:
        if data.get("presence") == "public":
            what = "presence is the only secret here, and it is said to be public"
            problems.add(("secrets",), PolicyError(what, fix="write `presence: secret`, or name other secrets"))
        data |= {"secrets": {**only_presence(data.get("attributes"))}}
    data, table = take_table(data, problems)
    try:
        return PolicyDocument.model_validate(data), table
    except ValidationError as error:
        problems.add_shape_errors(error)
    problems.stop()
    raise AssertionError("unreachable")


def _placeholders(data: Plain, path: KeyPath) -> list[KeyPath]:
    if isinstance(data, str):
        return [path] if data == PLACEHOLDER else []
    pairs = list(data.items()) if isinstance(data, dict) else list(enumerate(data or []))
    found = [(*path, key) for key, _ in pairs if key == PLACEHOLDER]
    return found + [place for key, child in pairs for place in _placeholders(child, (*path, key))]


def _check_promises(document: PolicyDocument, problems: Problems, *, once: bool) -> None:
    """Refuse what this version cannot keep, and budgets that are none; `once` says that one release is all there is."""
    if document.tetraodon != VERSION:
        problems.add(("tetraodon",), PolicyError("there is no such version", fix=f"write `tetraodon: {VERSION}`"))
    if document.known and document.individuals:  # a known count may be of rows that are left out of a release
        what = "known counts are priced for people with one row each only"
        fix = "use a table with one row for each person, without a key; do not just drop what is known"
        problems.add(("known",), Refused(what, fix=fix))
    if document.individuals and (document.individuals.at_most is None) == (document.individuals.secret is None):
        what = "`individuals` does not say how many rows of a person are a secret, or says it twice"
        fix = "write `at most: 3 rows` if a person has no more and all are a secret, or `secret: 3 rows` of any number"
        problems.add(("individuals",), PolicyError(what, fix=fix))
    _check_population(document, problems)
    _check_budget(document.budget, problems, once=once)
    for number, item in enumerate(document.release):
        if item.share <= 0:
            problems.add(
                ("release", number, "share"), PolicyError("the share is not positive", fix="write one above zero")
            )
    if document.table:
        _check_hints(document, problems)


def _check_population(document: PolicyDocument, problems: Problems) -> None:
    """Refuse waves of a population that could not be distinguished from it, or whose losses are not known to add up."""
    if document.population == document.dataset:
        what = "the population has the name of this data set, which is one of its waves"
        problems.add(("population",), PolicyError(what, fix="give each wave a name of its own, such as panel-2026-01"))
    if document.population and any(entry.kind != "independent" for entry in document.attackers):
        what = "what waves lose together is not known where people are not independent"
        fix = "leave `population` out, and release from one data set; or write `attackers: [independent]` if that is so"
        problems.add(("population",), Refused(what, fix=fix))


def _check_budget(budget: Budget, problems: Problems, *, once: bool) -> None:
    amount = budget.epsilon if budget.kind == "epsilon" else budget.rho
    if amount <= 0:
        what = f"{budget.kind} is not positive"
        problems.add(("budget", budget.kind), PolicyError(what, fix="write a budget above zero"))
    if not LEAST / 1000 <= budget.rho <= MOST and budget.rho > 0:
        problems.add(("budget", "rho"), PolicyError("rho is out of all proportion", fix="write one such as 0.1"))
    if budget.delta and not LEAST_DELTA <= budget.delta <= MOST_DELTA:
        what = "delta is not a small probability"
        fix = f"write 1e-6 or less, down to {float(LEAST_DELTA):g}: it is the chance that the promise fails altogether"
        problems.add(("budget", "delta"), PolicyError(what, fix=fix))
    if budget.once and not once and (budget.kind == "rho" or not budget.delta):
        what = "`once` is about one release with an epsilon and a delta, or of a secret of the whole table"
        problems.add(("budget", "once"), PolicyError(what, fix="write {epsilon: 1, delta: 1e-6, once: true}"))


def _check_hints(document: PolicyDocument, problems: Problems) -> None:
    assert document.table is not None
    separator, encoding = document.table.separator, document.table.encoding
    if separator is not None and (len(separator) != 1 or separator == document.table.decimal):
        problems.add(
            ("table", "separator"), PolicyError("the separator is not one character", fix='write ";" or "\\t"')
        )
    if encoding is not None:
        try:
            codecs.lookup(encoding)
        except (LookupError, ValueError):
            problems.add(("table", "encoding"), PolicyError("there is no such encoding", fix="write utf-8 or latin-1"))


# -- held -------------------------------------------------------------------------------------------
# A policy file while it is written: what is wrong with it, and as much of a policy as can be looked at already.

FILLED_IN: dict[str, Plain] = {"dataset": "unnamed", "budget": {"epsilon": "1"}}
"""What a draft is looked at with where it does not say."""
BESIDE = ("title", "publisher", "table", "population")
"""Keys that change neither the promise nor an answer's error."""


@dataclass(frozen=True, slots=True)
class Held:
    """A file that may not be finished.

    problems: all that is wrong with it.
    policy:   what it says without the columns and questions that are not finished; None where what is wrong concerns
              the promise itself, which would look better without it.
    left_out: the paths of the file that `policy` lacks, or has filled in; none if it is the policy of the file.
    """

    problems: tuple[Problem, ...]
    policy: Policy | None
    left_out: tuple[KeyPath, ...] = ()


def parse_partial(source: str | Path, *, folder: Path | None = None) -> Held:
    """A policy file, or its text, as far as it goes.

    Why  nothing is ever released from it: releases read the file with `load_policy`, which takes all of it or none.

    >>> held = parse_partial("attributes:\\n  age: {integer: [CONFIRM, 99]}\\n  sex: [F, M]\\nbudget: {epsilon: 1}\\n")
    >>> [problem.path for problem in held.problems], held.policy.domain.names, held.left_out
    ([('attributes', 'age', 'integer', 0)], ('sex',), (('attributes', 'age'), ('dataset',)))
    """
    try:
        return Held((), load_policy(source, folder=folder))
    except TetraodonError as error:
        first = error.problems or (Problem((), 1, error.what, error.fix),)
    try:
        data = read_source(source).data
    except PolicyError:
        return Held(first, None)
    problems, left_out = first, list[KeyPath]()
    while isinstance(data, dict):
        found = [_unfinished(_original(problem.path, data, left_out), left_out) for problem in problems]
        more = [path for path in dict.fromkeys(found) if path is not None and path not in left_out]
        if None in found or not more:
            break
        left_out += more
        try:
            return Held(first, load_policy(_without(data, left_out), folder=folder), tuple(left_out))
        except TetraodonError as error:
            problems = error.problems
    return Held(first, None)


def _unfinished(path: KeyPath, left_out: Collection[KeyPath]) -> KeyPath | None:
    """What can be left out where something is wrong at a path; None where the promise rests on it."""
    match path:
        case ("attributes" | "release" as key, str() | int() as which, *_):
            return key, which
        case ("secrets", name, *_) if ("attributes", name) in left_out:
            return "secrets", name
        case (str() as key, *_) if key in FILLED_IN or key in BESIDE:
            return (key,)
    return None


def _without(data: dict[str, Plain], left_out: Collection[KeyPath]) -> dict[str, Plain]:
    kept: dict[str, Plain] = {}
    for key, value in data.items():
        if (key,) in left_out:
            continue
        if isinstance(value, dict):
            value = {name: child for name, child in value.items() if (key, name) not in left_out}
        elif isinstance(value, list):
            value = [child for number, child in enumerate(value) if (key, number) not in left_out]
        kept[key] = value
    return kept | {key: value for key, value in FILLED_IN.items() if (key,) in left_out}


def _original(path: KeyPath, data: dict[str, Plain], left_out: Collection[KeyPath]) -> KeyPath:
    """A path of what is kept as a path of the file: positions in lists count those that were left out."""
    if len(path) < 2 or not isinstance(path[1], int):
        return path
    listed = data.get(str(path[0]))
    kept = [n for n in range(len(listed or ())) if (path[0], n) not in left_out]
    return (path[0], kept[path[1]], *path[2:]) if path[1] < len(kept) else path


# -- canonical form ---------------------------------------------------------------------------------
# A policy as plain data in normal form: every default written out, every number exact.


def canonical(policy: Policy, hints: Mapping[str, object]) -> Json:
    """The document of a policy: loading it gives an equal policy, and equal policies have equal documents.

    Why  attributes and named ranges are lists, so that their order survives wherever the keys of maps are sorted.
    """
    groups = policy.graph.groups
    document = {
        "tetraodon": VERSION,
        "dataset": policy.dataset,
        "population": policy.population or None,
        "title": policy.title or None,
        "publisher": policy.publisher.document() or None,
        "individuals": _individuals(policy),
        "presence": policy.presence,
        "attributes": [*(_attribute(attribute) for attribute in policy.domain), *map(_open, policy.open)],
        **_all_secrets(policy),
        "groups": groups and _groups(policy.graph, groups),
        "known": [_known(entry) for entry in policy.known],
        "attackers": policy.attackers.document(),
        "budget": policy.budget,
        "adversary": policy.adversary and policy.adversary.document(),
        "public": dict(policy.public) or None,
        "table": {name: plain(hint) for name, hint in hints.items()} or None,
        "release": [*map(_item, policy.items), *map(_names, policy.names)],
    }
    return {key: said for key, said in document.items() if said is not None}


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


def _secrets(graph: SecretGraph) -> Json:
    domain = graph.domain
    named = {
        f.names[0]: _secret(domain[f.names[0]], f.graph) for f in graph.factors if not isinstance(f.graph, JointGraph)
    }
    return {"secrets": named, "together": _together(graph)}


def _groups(graph: SecretGraph, groups: Groups) -> Json:
    attribute = graph.domain[groups.by]
    none = no_secrets(graph.domain)
    rules = {attribute.text(code): NOTHING if own == none else _secrets(own) for code, own in groups.own}
    return {"by": groups.by, "rules": rules}


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
    missing = SEPARATE if attribute.separate else plain(attribute.value(attribute.missing))
    form = {"name": attribute.name, **form, "missing": missing}
    if attribute.other is not None:
        form["other"] = plain(attribute.value(attribute.other))
    form |= {"format": attribute.format} if attribute.format else {}
    form |= {"trim": True} if attribute.trim else {}
    unit = [attribute.singular, attribute.unit] if attribute.singular else attribute.unit
    return {**form, "unit": unit} if unit else form


def tree_document(values: Categories) -> dict[str, Any]:
    """The tree in normal form. Pre: there is one."""
    paths = list(zip(*(level.of for level in values.levels), values.labels, strict=True))
    return {"tree": _nested(paths), "levels": [level.name for level in values.levels]}


def _nested(paths: Sequence[Branches]) -> list[Any]:
    if len(paths[0]) == 1:
        return [path[0] for path in paths]
    branches = groupby(paths, key=lambda path: path[0])
    return [[name, _nested([path[1:] for path in below])] for name, below in branches]


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
        case JointMetric() | Regions():
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


def _names(item: NamesItem) -> Json:
    return {"name": item.name, **_told(item), "names": item.column, "share": plain(item.share)}


def _told(item: Item | NamesItem) -> Json:
    return ({"title": item.title} if item.title else {}) | ({"notes": list(item.notes)} if item.notes else {})
