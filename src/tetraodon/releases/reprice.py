"""Past releases priced again under another policy about the same data.

The measurements of every release are in the ledger. They are certified again, exactly, under the other policy; nothing
is multiplied by distances in a graph. What was told exactly and moves there costs infinity.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.correlated_records import certify_release
from tetraodon.domain import Attribute, Domain
from tetraodon.errors import LedgerError, Refused
from tetraodon.ledger import Entry, Ledger, opened
from tetraodon.ledger.account import ALONE, ReleaseLoss, composed
from tetraodon.noise.laws import LAPLACE
from tetraodon.policy.attackers import TableSecret
from tetraodon.policy.load import USUAL_DELTA, AnyPolicy, load_policy, stated_policy
from tetraodon.policy.policy import Item, Policy
from tetraodon.query.linear import Measurement
from tetraodon.releases.codec import measurement_from

# -- same data --------------------------------------------------------------------------------------
# Whether two policies mean the same data: what a record is, how it is read, who may attack.


def check_same_data(asked: Policy, governing: Policy) -> None:
    """Refuse policies under which a record is not the same thing.

    Why  the table is read as the governing policy says, and priced as it says; a file that says otherwise would be told
         of other records than it asked for. What it leaves out is looked at all the same where it decides what counts.
    """
    wrong = next(_differences(asked, governing), None)
    if wrong is not None:
        raise Refused(wrong[0], fix=wrong[1], where=asked.dataset)


def _differences(asked: Policy, governing: Policy) -> Iterator[tuple[str, str]]:
    """What two policies say otherwise about what a record is, each with what to do."""
    for attribute in asked.domain:
        if attribute.name not in governing.domain.names:
            yield (
                f"the governing policy does not know the attribute {attribute.name}",
                "declare the attributes that the governing policy declares",
            )
        elif not _alike(attribute, governing.domain[attribute.name]):
            yield (
                f"{attribute.name} is declared otherwise in the governing policy",
                "declare it as the governing policy does",
            )
    open_there = {column.name: replace(column, secret=True) for column in governing.open}
    for column in asked.open:
        if open_there.get(column.name) != replace(column, secret=True):
            yield (
                f"{column.name} is not declared as open text in the same way in the governing policy",
                "declare it as the governing policy does",
            )
    if any(fact not in governing.known for fact in asked.known):
        yield (
            "`known` lists something that the governing policy does not know",
            "list the same facts; what one file calls known is known to every attacker",
        )
    if any(getattr(asked, name) != getattr(governing, name) for name in ("key", "rows_per_person", "every_row")):
        yield "`individuals` is not what the governing policy says", "write it as there"
    if asked.key and not asked.every_row and asked.cuts_rows and not governing.cuts_rows:  # to leave people out is safe
        yield (
            "of people with more rows than allowed this policy counts some, and the governing policy none, because any "
            "two records are a secret here and not there",
            "write `secrets` and `together` as there",
        )
    if asked.table_hints != governing.table_hints:
        yield (
            "`table` is not what the governing policy says, so that the same file would be read as other records",
            "write it as there; `tetraodon ledger show` prints it",
        )
    if asked.attackers != governing.attackers:
        if TableSecret in map(type, (asked.attackers, governing.attackers)):
            yield (
                "the secret of the whole table is not that of the governing policy",
                "write `secrets: {table: ...}` as there, or leave it out as there",
            )
        yield (
            "`attackers` are not those of the governing policy, which decide what is counted",
            "write them as there",
        )


def _alike(one: Attribute, other: Attribute) -> bool:
    """Whether two attributes differ in how they are called at most."""
    return replace(one, unit="", singular="") == replace(other, unit="", singular="")


def check_same_size(asked: Policy, governing: Policy) -> None:
    """Refuse a view whose noise and manifest would tell a number of records that the governing policy keeps secret."""
    if asked.size_is_public and not governing.size_is_public:
        raise Refused(
            "the number of records is public here and a secret in the governing policy",
            fix="write `presence` as there",
            where=asked.dataset,
        )


# -- reprice ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Repriced:
    """One release and its loss under the other policy."""

    id: int
    when: str
    items: tuple[str, ...]
    charged: Fraction
    certificate: Certificate


@dataclass(frozen=True, slots=True)
class Repricing:
    """All releases of a data set under another policy.

    `together` is the loss of everything at once: never more than the sum, since no single pair of neighbours need be
    the worst for each release. `total` is that of the ledger, by which Gaussian losses are added up.
    """

    dataset: str
    releases: tuple[Repriced, ...]
    together: Certificate
    total: Fraction

    @property
    def charged(self) -> Fraction:
        """What the releases were charged when they were made, each by itself."""
        return sum((release.charged for release in self.releases), Fraction(0))

    @property
    def added_up(self) -> Fraction | float:
        """The losses of the releases, one after the other ([HMD14] Thm 4.1)."""
        found = [release.certificate for release in self.releases]
        if not all(certificate.finite for certificate in found):
            return math.inf
        delta = max((certificate.delta for certificate in found), default=Fraction(0))
        return composed([_loss(one) for one in found], delta, self.total)


def _loss(one: Certificate) -> ReleaseLoss:
    return ReleaseLoss(Fraction(one.epsilon), one.rho, Fraction(0) if one.rho is not None else one.delta)


def reprice(ledger: Ledger | str | os.PathLike[str], policy: AnyPolicy) -> Repricing:
    """What the releases of a policy's data set, as they stand in a ledger, lose under that policy instead.

    Nothing is changed. An exact answer that moves under the other policy costs infinity. Of a population, one wave is
    meant: what several tables lose together is no maximum over the records of one.
    """
    other = load_policy(policy)
    with opened(ledger) as book:
        mine = [entry for entry in book.entries(other.dataset) if entry.wave == other.dataset]
        return repriced(mine, other, book.account(other.dataset).total)


def repriced(entries: Sequence[Entry], policy: Policy, total: Fraction) -> Repricing:
    """What the releases behind some entries of the ledger lose under another policy.

    Pre   the attributes they measured mean the same in both policies. The noise of different releases is independent.
    Post  every certificate is what the kernel says of the stored measurements under `policy`. Releases with Gaussian
          noise are priced at the policy's delta, or at the usual one if it has none.
    """
    releases: list[Repriced] = []
    everything: list[Measurement] = []
    delta = policy.delta or USUAL_DELTA
    policy = replace(policy, once=policy.once and sum(entry.delta > 0 for entry in entries) <= 1)
    for entry in entries:
        if entry.wave != policy.dataset:
            raise Refused(
                f"the policy is for data set {policy.dataset!r}",
                fix="name the data set of the releases in it",
                where=entry.wave,
            )
        if entry.composition == ALONE:
            raise Refused(
                f"entry {entry.id} is about records that a query made, which cannot be priced together with others",
                fix="price the policy of each such release with `tetraodon plan`, and add up",
            )
        measured = entry_measurements(entry, policy)
        names = tuple(str(document["name"]) for document in entry.document["plan"]["queries"])
        releases.append(
            Repriced(entry.id, entry.when, names, entry.charged, certify_release(policy, measured, delta=delta))
        )
        everything += measured
    return Repricing(policy.dataset, tuple(releases), certify_release(policy, everything, delta=delta), total)


def merged(measurements: Sequence[Measurement]) -> list[Measurement]:
    """The same loss with fewer measurements: those that were made again and again with Laplace noise are one each.

    Why   k answers with noise of scale b lose what one with noise of scale b / k does, exactly, and of exact answers
          the second tells nothing. Releases of one plan share their measurements, so that a look at who they are is
          enough: a hundred of them are priced as fast as one.
    """
    times, found = Counter(map(id, measurements)), list[Measurement]()
    for one in {id(one): one for one in measurements}.values():
        if not one.scale:
            found.append(one)
        elif one.noise is LAPLACE and one.on_each:
            found.append(replace(one, scale=one.scale / times[id(one)]))
        else:
            found += [one] * times[id(one)]
    return found


@lru_cache(maxsize=256)
def entry_measurements(entry: Entry, policy: Policy) -> tuple[Measurement, ...]:
    """What was measured, as the entry's own policy says, on attributes that mean the same in both policies.

    Why   remembered, since every release that is priced together with earlier ones asks for all of them again.
    """
    if "view" in entry.document["plan"] or "perturbation" in entry.document["plan"]:
        raise Refused(
            f"entry {entry.id} is a published view or table, which cannot be priced together with released answers",
            fix="plan the view under the other policy with `tetraodon plan`, and add its epsilon",
        )
    if "names" in entry.document["plan"]:
        raise Refused(
            f"entry {entry.id} tells names that nobody listed, which cannot be priced together with other releases yet",
            fix="plan the same items under the other policy with `tetraodon plan`",
        )
    try:
        texts = (json.dumps(entry.document[part], sort_keys=True) for part in ("policy", "plan"))
        asked, measured = _stated(*texts)
        check_same_data(replace(asked, graph=replace(asked.graph, known=())), policy)  # it may know less, or more
        return measured
    except (KeyError, TypeError):
        raise LedgerError(
            f"entry {entry.id} does not say what was measured", fix="restore the ledger from a backup"
        ) from None


@lru_cache(maxsize=256)
def _stated(policy: str, plan: str) -> tuple[Policy, tuple[Measurement, ...]]:
    """The policy of an entry and what was measured, from their texts; releases of one plan share them."""
    asked = stated_policy(json.loads(policy))
    items = {item.name: item for item in asked.items}
    return asked, tuple(
        _measured(measured, items[document["name"]], asked.domain)
        for document in json.loads(plan)["queries"]
        for measured in document["measurements"]
    )


def _measured(document: dict[str, Any], item: Item, domain: Domain) -> Measurement:
    found = measurement_from(document, item.query, item.inside(domain))
    those = item.among(domain)
    return found if those is None else replace(found, query=those.lifted(found.query))
