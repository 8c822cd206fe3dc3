"""From the `attackers` list of a policy file to the attackers that the policy is priced for."""

from __future__ import annotations

from typing import Any

from tetraodon.domain import Domain
from tetraodon.errors import PolicyError, Refused
from tetraodon.policy.attackers import (
    INDEPENDENT,
    Attackers,
    Chain,
    Contacts,
    DependentGroups,
    Independent,
    TableSecret,
    distribution,
    transition_matrix,
)
from tetraodon.policy.document import PolicyDocument
from tetraodon.policy.problems import Problems
from tetraodon.policy.section import STATIONARY, AttackersSection, ChainSection
from tetraodon.rational import decimal_text


def build_attackers(document: PolicyDocument, domain: Domain, problems: Problems) -> Attackers:
    """The attackers whose price is the highest of those listed. Stops with every problem of the list.

    Why  the others cost at least what independent people cost: a group may have one row, a person no contact, and
         next to a row on which nothing depends there is the row itself. So whoever lists `independent` beside another
         has the other.
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
            "nobody is absent from a chain: its rows follow each other",
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


def attackers_document(attackers: Attackers) -> list[Any]:
    """The list as it is written in a policy file, every number exact."""
    if isinstance(attackers, Independent | TableSecret):  # a secret of the whole table stands among the secrets
        return ["independent"]
    if isinstance(attackers, DependentGroups):
        return [{"groups": attackers.column, "at most": attackers.at_most}]
    if isinstance(attackers, Contacts):
        said = {"at most": attackers.at_most, "influence": decimal_text(attackers.influence)}
        return [{"contacts": {**said, "source": attackers.source}}]
    matrices = [[[decimal_text(number) for number in row] for row in matrix] for matrix in attackers.transitions]
    starts = [[decimal_text(number) for number in start] for start in attackers.starts]
    return [
        {
            "chain": {
                "along": attackers.along,
                "states": attackers.states,
                "transition": matrices[0] if len(matrices) == 1 else matrices,
                "start": (starts[0] if len(starts) == 1 else starts) or STATIONARY,
                "source": attackers.source,
                **({"length": attackers.length} if attackers.length else {}),
            }
        }
    ]
